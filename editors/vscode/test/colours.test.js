// The colours of sample programs. `UPDATE=1 npm test` writes the snapshots.
"use strict";

const assert = require("node:assert");
const fs = require("node:fs");
const path = require("node:path");
const { test } = require("node:test");
const oniguruma = require("vscode-oniguruma");
const textmate = require("vscode-textmate");

const root = path.join(__dirname, "..");

async function grammar() {
  const wasm = fs.readFileSync(require.resolve("vscode-oniguruma/release/onig.wasm"));
  await oniguruma.loadWASM(wasm.buffer.slice(wasm.byteOffset, wasm.byteOffset + wasm.byteLength));
  const file = path.join(root, "syntaxes", "adl.tmLanguage.json");
  const registry = new textmate.Registry({
    onigLib: Promise.resolve({
      createOnigScanner: (patterns) => new oniguruma.OnigScanner(patterns),
      createOnigString: (text) => new oniguruma.OnigString(text),
    }),
    loadGrammar: async () => textmate.parseRawGrammar(fs.readFileSync(file, "utf8"), file),
  });
  return registry.loadGrammar("source.adl");
}

function colours(rules, text) {
  const out = [];
  let state = textmate.INITIAL;
  for (const line of text.split("\n")) {
    const result = rules.tokenizeLine(line, state);
    state = result.ruleStack;
    out.push(`> ${line}`);
    for (const token of result.tokens) {
      const part = line.slice(token.startIndex, token.endIndex);
      const scopes = token.scopes.slice(1).join(" ");
      if (part.trim() !== "" && scopes !== "") {
        out.push(`${part.trim()}  ${scopes}`);
      }
    }
  }
  return out.join("\n") + "\n";
}

test("samples are coloured as before", async () => {
  const rules = await grammar();
  const samples = fs.readdirSync(__dirname).filter((f) => f.endsWith(".adl"));
  assert.ok(samples.length > 0);
  for (const sample of samples) {
    const found = colours(rules, fs.readFileSync(path.join(__dirname, sample), "utf8"));
    const snapshot = path.join(__dirname, sample.replace(".adl", ".snap"));
    if (process.env.UPDATE) {
      fs.writeFileSync(snapshot, found);
    }
    assert.strictEqual(found, fs.readFileSync(snapshot, "utf8"), sample);
  }
});
