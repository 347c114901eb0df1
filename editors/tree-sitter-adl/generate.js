// Writes src/grammar.json from grammar.js, for tools that make the parser of it: `node generate.js`. The command of
// tree-sitter does the same.
"use strict";

const fs = require("node:fs");
const path = require("node:path");

const wrap = (value) => {
  if (typeof value === "string") return { type: "STRING", value };
  if (value instanceof RegExp) return { type: "PATTERN", value: value.source };
  if (value && value.symbol) return { type: "SYMBOL", name: value.symbol };
  return value;
};
const level = (kind) => (number, rule) =>
  rule === undefined
    ? { type: kind, value: 0, content: wrap(number) }
    : { type: kind, value: number, content: wrap(rule) };

global.seq = (...all) => ({ type: "SEQ", members: all.map(wrap) });
global.choice = (...all) => ({ type: "CHOICE", members: all.map(wrap) });
global.repeat = (one) => ({ type: "REPEAT", content: wrap(one) });
global.repeat1 = (one) => ({ type: "REPEAT1", content: wrap(one) });
global.optional = (one) => choice(one, { type: "BLANK" });
global.field = (name, one) => ({ type: "FIELD", name, content: wrap(one) });
global.alias = (one, as) => ({ type: "ALIAS", content: wrap(one), named: true, value: as.symbol });
global.prec = level("PREC");
global.prec.left = level("PREC_LEFT");
global.prec.right = level("PREC_RIGHT");
global.token = (one) => ({ type: "TOKEN", content: wrap(one) });
global.token.immediate = (one) => ({ type: "IMMEDIATE_TOKEN", content: wrap(one) });

const $ = new Proxy({}, { get: (_, name) => ({ symbol: name }) });
global.grammar = (g) => ({
  name: g.name,
  word: wrap(g.word($)).name,
  rules: Object.fromEntries(Object.entries(g.rules).map(([name, rule]) => [name, wrap(rule($))])),
  extras: g.extras($).map(wrap),
  conflicts: g.conflicts($).map((c) => c.map((s) => s.symbol)),
  precedences: [],
  externals: g.externals($).map(wrap),
  inline: [],
  supertypes: [],
});

const made = require(path.join(__dirname, "grammar.js"));
fs.writeFileSync(path.join(__dirname, "src", "grammar.json"), JSON.stringify(made, null, 1) + "\n");
