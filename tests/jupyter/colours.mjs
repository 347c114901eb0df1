// The colours of adl in JupyterLab by the extension of the Python package: `node colours.mjs PLAYWRIGHT BROWSER URL DIR`.
import { createRequire } from "node:module";
const [playwright, executablePath, url] = process.argv.slice(2);
const { chromium } = createRequire(import.meta.url)(playwright);

const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
const page = await browser.newPage();
const problems = [];
page.on("pageerror", (e) => problems.push(String(e)));
await page.goto(`${url}/lab/tree/colours.adl?reset`);
const editor = page.locator(".cm-content").first();
await editor.waitFor({ timeout: 60000 });
await page.waitForFunction(() => document.querySelector(".cm-line span"), null, { timeout: 60000 });

// For each word its colour on the page.
const colours = await page.evaluate(() => {
  const out = {};
  for (const span of document.querySelectorAll(".cm-line span")) out[span.textContent.trim()] = getComputedStyle(span).color;
  out.plain = getComputedStyle(document.querySelector(".cm-line")).color;
  return out;
});
const differ = (a, b) => {
  if (!(a in colours) || !(b in colours) || colours[a] === colours[b]) throw new Error(`${a} and ${b}: ${JSON.stringify(colours)}`);
};
differ("let", "plain");
differ("1.5", "let");
differ("-- a comment", "let");
differ('"text"', "1.5");
differ("Float", "plain");
differ(":plan", "plain");
differ("Some", "plain");
if (colours["let"] !== colours["in"]) throw new Error(`keywords differ: ${JSON.stringify(colours)}`);
await browser.close();
if (problems.some((p) => p.includes("adl"))) throw new Error(problems.join("\n"));
console.log("JupyterLab colours adl");
