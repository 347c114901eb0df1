// The live table of residuals in JupyterLab, in a real browser: node browser.mjs PLAYWRIGHT CHROMIUM URL DIRECTORY
import { createRequire } from "node:module";
import { strict as assert } from "node:assert";
import { closeDialogs, connected } from "./lab.mjs";

const [playwright, chromium, url, directory] = process.argv.slice(2);
const { chromium: browsers } = createRequire(import.meta.url)(playwright);

const browser = await browsers.launch({ executablePath: chromium, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
const page = await browser.newPage({ viewport: { width: 1400, height: 1300 } });
page.setDefaultTimeout(60_000);
await closeDialogs(page);
try {
  await page.goto(`${url}/lab/tree/live.ipynb?reset`);
  await connected(page);
  // Colours: tokens of the first cell have classes of their own.
  await page.waitForFunction(() => document.querySelectorAll(".jp-Cell .cm-line span").length > 5);
  await page.click(".jp-Cell .cm-content");
  await page.keyboard.press("Shift+Enter");
  await page.keyboard.press("Shift+Enter");
  await page.waitForSelector(".widget-checkbox input");

  const summary = () => page.locator(".adl-residuals").first().innerText();
  const changed = (before) => page.waitForFunction((b) => document.querySelector(".adl-residuals")?.innerText !== b, before);
  const bytes = (text) => Number(/predicted .*?\((\d+) bytes\)/.exec(text)[1]);
  const picture = () => page.locator("img[alt='memory and extra work of plans']").first().getAttribute("src");

  const first = await summary();
  assert.match(first, /under store_all/);
  const [before, drawn] = [bytes(first), await picture()];
  const switches = page.locator(".widget-checkbox input:not([disabled])");
  assert.ok((await switches.count()) >= 2);
  // A row is switched to be recomputed: less is stored.
  await switches.last().click();
  await changed(first);
  const second = await summary();
  assert.match(second, /under by_hand/);
  assert.ok(bytes(second) < before, second);
  assert.notEqual(await picture(), drawn);
  assert.match(second, /not measured yet/);

  // Applied, what was foretold is what is measured.
  await page.click("button:has-text('Apply')");
  await changed(second);
  const third = await summary();
  const measured = Number(/measured .*?\((\d+) bytes\)/.exec(third)[1]);
  assert.equal(measured, bytes(third));
  assert.match(third, /applied: gradients of energy follow by_hand/);

  // A plan from the list sets the switches.
  await page.locator(".widget-dropdown select").first().selectOption("recompute_all");
  await changed(third);
  assert.match(await summary(), /under recompute_all/);
  assert.equal(await switches.last().isChecked(), false);

  // The budget: the keyboard moves the slider to the least.
  const fourth = await summary();
  await page.locator(".widget-slider .noUi-handle").first().focus();
  await page.keyboard.press("Home");
  await changed(fourth);
  const fifth = await summary();
  assert.match(fifth, /under budget|no plan/);
  // Slider, list and switches agree: the slider says the size of the plan that is taken from the list.
  const list = page.locator(".widget-dropdown select").first();
  for (const plan of ["sqrt", "store_all"]) {
    const text = await summary();
    await list.selectOption(plan);
    await changed(text);
    const size = /peak ([\d.]+ k?B)/.exec(await summary())[1];
    await page.waitForFunction((t) => document.querySelector(".widget-slider .widget-readout").innerText === t, size);
  }
  // Rows that cannot be recomputed are disabled, and say why.
  assert.ok((await page.locator(".widget-checkbox input[disabled]").count()) >= 4);

  // Layout: words are level with their switch, heads stand over their columns, nothing is cut at a width of 800 pixels.
  const layout = () => page.evaluate(() => {
    const box = (e) => e.getBoundingClientRect();
    const grids = [...document.querySelectorAll(".jp-OutputArea div[style*='display:grid']")];
    const lines = grids.map((g) => [...g.children].map((c) => box(c)));
    const rows = [...document.querySelectorAll(".widget-checkbox")].map((c) => {
      const row = c.closest(".widget-hbox").querySelector("div[style*='display:grid']");
      const [a, b] = [box(c.querySelector("input")), box(row)];
      return Math.abs((a.top + a.bottom - b.top - b.bottom) / 2);
    });
    const columns = lines[0].map((h, k) => Math.max(...lines.map((l) => Math.max(Math.abs(l[k].left - h.left), Math.abs(l[k].right - h.right)))));
    const area = box(document.querySelector(".jp-OutputArea-output .widget-vbox").closest(".jp-OutputArea-output"));
    const button = document.querySelector(".widget-vbox button.widget-button");
    const wide = Math.max(...lines.flat().map((c) => c.right));
    const rolls = document.querySelector(".adl-rows");
    const scrolls = getComputedStyle(rolls).overflowX === "auto" && rolls.scrollWidth > rolls.clientWidth && box(rolls).right <= area.right;
    const last = grids.map((g) => g.lastElementChild).filter((c) => c.scrollWidth > c.clientWidth + 1).length;
    return { off: Math.max(...rows), columns: Math.max(...columns), apply: button.scrollWidth <= button.clientWidth && box(button).right <= area.right, inside: wide <= area.right || scrolls, cut: last };
  });
  for (const width of [1400, 800]) {
    await page.setViewportSize({ width, height: 1300 });
    await page.waitForTimeout(300);
    const seen = await layout();
    assert.ok(seen.off <= 1.5 && seen.columns <= 1 && seen.apply && seen.inside && seen.cut === 0, `${width}: ${JSON.stringify(seen)}`);
    await page.screenshot({ path: `${directory}/live-${width}.png`, fullPage: false });
  }
  await page.setViewportSize({ width: 1400, height: 1300 });
  // The table that the notebook keeps is hidden while its controls are there.
  assert.equal(await page.locator(".adl-still").first().isVisible(), false);

  // The session goes on.
  await page.locator(".jp-Cell .cm-content").nth(2).click();
  await page.keyboard.press("Shift+Enter");
  await page.waitForFunction(() => [...document.querySelectorAll(".jp-OutputArea-executeResult")].some((e) => e.innerText.includes("true : Bool")));

  // Commands act on the same residuals, and the table follows.
  const sixth = await summary();
  await page.locator(".jp-Cell .cm-content").nth(3).click();
  await page.keyboard.press("Shift+Enter");
  await changed(sixth);
  assert.match(await summary(), /under sqrt/);
  await page.waitForFunction(() => [...document.querySelectorAll(".jp-OutputArea-output")].some((e) => e.innerText.includes("grad_with Sqrt")));
  // A table of a definition that is no more is still.
  const seventh = await summary();
  await page.locator(".jp-Cell .cm-content").nth(0).click();
  await page.keyboard.press("Shift+Enter");
  await changed(seventh);
  assert.match(await summary(), /energy has been redefined/);
  // The button is a message of its own, behind that of the summary.
  await page.waitForSelector(".widget-vbox button.widget-button[disabled]");

  // Saved, and opened again when no kernel has its controls: the table is seen.
  await page.keyboard.press("Control+s");
  await page.waitForTimeout(1000);
  await page.evaluate(async () => {
    const token = /_xsrf=([^;]+)/.exec(document.cookie)?.[1];
    for (const s of await (await fetch("/api/sessions")).json()) await fetch(`/api/sessions/${s.id}`, { method: "DELETE", headers: token ? { "X-XSRFToken": token } : {} });
  });
  await page.goto(`${url}/lab/tree/live.ipynb?reset`);
  await page.waitForSelector(".adl-still");
  await page.waitForTimeout(3000);
  assert.equal(await page.locator(".adl-still").first().isVisible(), true);
  assert.match(await page.locator(".adl-still").first().innerText(), /what a loop carries/);
  await page.screenshot({ path: `${directory}/reopened.png` });
  console.log("the live table works");
} catch (e) {
  await page.screenshot({ path: `${directory}/failed.png` });
  throw e;
} finally {
  await browser.close();
}
