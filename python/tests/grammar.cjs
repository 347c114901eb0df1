// Reads programs, one JSON text a line, and writes the classes of their characters by the grammar of JupyterLab's extension.
const path = require("node:path");
const { grammar, tables } = require(path.resolve(__dirname, "../adl.data/data/share/jupyter/labextensions/adl-jupyterlab/static/remoteEntry.js"));

// A line as CodeMirror gives it to a grammar.
class Line {
  constructor(string) {
    this.string = string;
    this.pos = 0;
  }
  sol() {
    return this.pos === 0;
  }
}

function tokens(text) {
  const state = grammar.startState();
  const out = [];
  let offset = 0;
  for (const line of text.split("\n")) {
    const stream = new Line(line);
    let current = state;
    while (stream.pos < line.length) {
      const start = stream.pos;
      // Editors copy states at will.
      Object.assign(current, grammar.copyState(current));
      const kind = grammar.token(stream, current);
      if (kind) out.push([offset + start, offset + Math.min(stream.pos, line.length), kind]);
    }
    offset += line.length + 1;
  }
  return out;
}

const lines = require("node:fs").readFileSync(0, "utf8").split("\n").filter((l) => l);
process.stdout.write(JSON.stringify({ tables, found: lines.map((l) => tokens(JSON.parse(l))) }));
