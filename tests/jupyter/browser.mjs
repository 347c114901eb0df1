// The live table of residuals in JupyterLab, in a real browser: node browser.mjs PLAYWRIGHT CHROMIUM URL DIRECTORY
import { createRequire } from "node:module";
import { strict as assert } from "node:assert";

const [playwright, chromium, url, directory] = process.argv.slice(2);
const { chromium: browsers } = createRequire(import.meta.url)(playwright);

const browser = await browsers.launch({ executablePath: chromium, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
const page = await browser.newPage({ viewport: { width: 1400, height: 1300 } });
page.setDefaultTimeout(60_000);
try {
  await page.goto(`${url}/lab/tree/live.ipynb?reset`);
  await page.waitForSelector(".jp-Notebook .cm-content");
  // Colours: tokens of the first cell have classes of their own.
  await page.waitForFunction(() => document.querySelectorAll(".jp-Cell .cm-line span").length > 5);
  await page.waitForFunction(() => document.querySelector(".jp-Notebook-ExecutionIndicator")?.dataset.status === "idle");
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
  await page.screenshot({ path: `${directory}/live.png`, fullPage: false });

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
  console.log("the live table works");
} catch (e) {
  await page.screenshot({ path: `${directory}/failed.png` });
  throw e;
} finally {
  await browser.close();
}
