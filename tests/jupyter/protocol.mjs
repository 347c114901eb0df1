// What JupyterLab shows of the kernel's messages, in a real browser: node protocol.mjs PLAYWRIGHT CHROMIUM URL DIRECTORY
import { createRequire } from "node:module";
import { strict as assert } from "node:assert";
import { writeFileSync } from "node:fs";
import { closeDialogs, connected } from "./lab.mjs";

const [playwright, chromium, url, directory] = process.argv.slice(2);
const { chromium: browsers } = createRequire(import.meta.url)(playwright);

const book = (...codes) => ({
  nbformat: 4,
  nbformat_minor: 5,
  metadata: { kernelspec: { name: "adl", display_name: "adl", language: "adl" } },
  cells: codes.map((source, i) => ({ cell_type: "code", id: `c${i}`, metadata: {}, outputs: [], execution_count: null, source })),
});

const browser = await browsers.launch({ executablePath: chromium, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
const page = await browser.newPage({ viewport: { width: 1400, height: 1300 } });
page.setDefaultTimeout(60_000);
await closeDialogs(page);

// Changes a setting of JupyterLab.
const set = (plugin, value) =>
  page.evaluate(
    async ([to, raw]) => {
      const token = /_xsrf=([^;]+)/.exec(document.cookie)?.[1] ?? "";
      const put = await fetch(to, { method: "PUT", headers: { "X-XSRFToken": token, "Content-Type": "application/json" }, body: JSON.stringify({ raw }) });
      if (!put.ok) throw new Error(await put.text());
    },
    [`${url}/lab/api/settings/${plugin}`, JSON.stringify(value)],
  );

async function open(name, notebook) {
  writeFileSync(`${directory}/${name}`, JSON.stringify(notebook));
  await page.goto(`${url}/lab/tree/${name}?reset`);
  await connected(page);
}

async function runAll() {
  await page.click(".lm-MenuBar-itemLabel:text-is('Run')");
  await page.click(".lm-Menu-itemLabel:text-is('Run All Cells')");
}

// Runs all cells until there is an output: JupyterLab sends nothing while its session still connects.
async function runUntilShown(selector) {
  for (let i = 0; i < 6; i++) {
    await runAll();
    const shown = await page.waitForSelector(selector, { timeout: 8_000 }).catch(() => null);
    if (shown) return;
  }
  assert.fail(`no ${selector}`);
}

// The contrast of each piece of text in an error with what it stands on.
const contrasts = () =>
  page.evaluate(() => {
    const parse = (c) => (c.match(/[\d.]+/g) ?? []).map(Number);
    const over = ([r, g, b, a = 1], under) => [r, g, b].map((x, i) => a * x + (1 - a) * under[i]);
    const light = (c) => c.map((x) => x / 255).map((x) => (x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4)).reduce((s, x, i) => s + x * [0.2126, 0.7152, 0.0722][i], 0);
    const ground = (e) => {
      const parents = [];
      for (let p = e; p; p = p.parentElement) parents.unshift(parse(getComputedStyle(p).backgroundColor));
      return parents.reduce((under, c) => over(c, under), [255, 255, 255]);
    };
    const pre = document.querySelector(".jp-OutputArea-output pre");
    return [pre, ...pre.querySelectorAll("span")].map((e) => {
      const under = ground(e);
      const [a, b] = [light(over(parse(getComputedStyle(e).color), under)), light(under)];
      return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    });
  });

try {
  // After the fastest error no cell below runs.
  await open("run_all.ipynb", book("1 // 0", ...[0, 1, 2, 3, 4, 5].map((i) => `print ${i}`)));
  for (let i = 0; i < 3; i++) {
    await runUntilShown(".jp-OutputArea-output pre");
    await page.waitForTimeout(700);
    assert.equal(await page.locator(".jp-OutputArea-output").count(), 1);
    assert.deepEqual((await page.locator(".jp-CodeCell .jp-InputPrompt").allInnerTexts()).slice(1), Array(6).fill("[ ]:"));
  }
  // A cell that is run after the error runs.
  await page.locator(".jp-Cell .cm-content").nth(1).click();
  await page.keyboard.press("Shift+Enter");
  await page.waitForFunction(() => document.querySelectorAll(".jp-OutputArea-output").length === 2);

  // Errors can be read in both themes.
  for (const theme of ["JupyterLab Light", "JupyterLab Dark"]) {
    await set("@jupyterlab/apputils-extension:themes", { theme, "adaptive-theme": false });
    await page.goto(`${url}/lab/tree/run_all.ipynb?reset`);
    await page.waitForFunction((t) => document.body.dataset.jpThemeName === t, theme);
    await connected(page);
    await runUntilShown(".jp-OutputArea-output pre span");
    const all = await contrasts();
    assert.ok(all.length > 3 && Math.min(...all) >= 4.5, `${theme}: ${all}`);
  }

  await set("@jupyterlab/apputils-extension:themes", {});

  // Comments are comments: one colour, without reserved words in them.
  await open("colours.ipynb", book("--| The end of a loop, for σ × τ\nlet x = 1 -- of the\nx"));
  await runUntilShown(".jp-OutputArea-executeResult");
  const pieces = await page.locator(".jp-Cell .cm-line").first().locator("span").allInnerTexts();
  assert.deepEqual(pieces, ["--| The end of a loop, for σ × τ"]);

  // A function with sliders: its outputs are drawn anew at each move, and the value at the start is hidden meanwhile.
  const source = `let half n =
  print f"n is {n}"
  12 // n
interact half |> controls.int_slider "n" 0 4 3`;
  await open("interact.ipynb", book(source));
  await runUntilShown(".adl-interact .noUi-handle");
  const area = page.locator(".adl-interact .jp-OutputArea");
  const says = (text) => page.waitForFunction((t) => document.querySelector(".adl-interact .jp-OutputArea")?.innerText.includes(t), text);
  await says("4 : Int");
  const still = page.locator(".jp-OutputArea-executeResult").filter({ hasText: "4 : Int" });
  assert.equal(await still.last().isVisible(), false);
  assert.equal(await page.locator(".adl-interact .widget-label").first().innerText(), "n");
  await page.locator(".adl-interact .noUi-handle").first().focus();
  await page.keyboard.press("ArrowLeft");
  await says("6 : Int");
  assert.match(await area.innerText(), /n is 2/);
  await page.keyboard.press("Home");
  await says("E0704");
  await page.keyboard.press("End");
  await says("3 : Int");
  assert.doesNotMatch(await area.innerText(), /E0704/);
  await page.screenshot({ path: `${directory}/interact.png` });
  // Saved, and opened without a kernel: the parameters at the start and the value there are seen.
  await page.keyboard.press("Control+s");
  await page.waitForTimeout(1000);
  await page.evaluate(async () => {
    const token = /_xsrf=([^;]+)/.exec(document.cookie)?.[1];
    for (const s of await (await fetch("/api/sessions")).json()) await fetch(`/api/sessions/${s.id}`, { method: "DELETE", headers: token ? { "X-XSRFToken": token } : {} });
  });
  await page.goto(`${url}/lab/tree/interact.ipynb?reset`);
  await page.waitForFunction(() => [...document.querySelectorAll(".jp-OutputArea-output")].some((e) => e.innerText.trim() === "n = 3"));
  assert.equal(await page.locator(".jp-OutputArea-executeResult").filter({ hasText: "4 : Int" }).last().isVisible(), true);
  console.log("JupyterLab shows what the kernel says");
} catch (e) {
  await page.screenshot({ path: `${directory}/failed_protocol.png` });
  throw e;
} finally {
  await browser.close();
}
