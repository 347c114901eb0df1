// Colours of adl in JupyterLab: a grammar for CodeMirror 6, as a prebuilt extension without a build.
//
// JupyterLab loads this script, gives `init` the modules that it shares, and asks `get` for the plugin. The tables are those of
// adl's lexer, and the classes of tokens are compared with the lexer's on every program of the repository
// (`python/tests/test_jupyterlab.py`).
(function () {
  "use strict";

  const RESERVED = ["let", "rec", "and", "in", "if", "then", "else", "match", "with", "when", "as", "fun", "lin", "for", "loop", "while", "do", "type", "import", "true", "false"];
  // Longest first among those with a common beginning.
  const OPERATORS = ["[|", "|]", "(", ")", "[", "]", "{", "}", ";;", ";", ",", ".||", ".&&", ".==", ".!=", ".<=", ".<", ".>=", ".>", "..", ".", "::", ":=", ":", "==", "=>", "=", "->", "-", "|>", "||", "|", "<|", "<=", "<>", "<", ">>", ">=", ">", "&&", "&", "!=", "!", "++", "+", "**", "*", "//", "/", "%", "@", "^", "\\", "$"];
  const OPENING = ["(", "[", "{", "[|"];
  const CLOSING = [")", "]", "}", "|]"];
  const BRACKETS = [...OPENING, ...CLOSING, ",", ";", ";;"];

  // Themes that do not know the first word, such as JupyterLab's own, take the second.
  const CONSTRUCTOR = "className atom";
  const TYPE = "typeName variableName.standard";

  const NAME = /[\p{XID_Start}_∂∇][\p{XID_Continue}_∂∇'₀-₉]*/uy;
  const NUMBER = /0[xX][\da-fA-F][\da-fA-F_]*|0[oO][0-7][0-7_]*|0[bB][01][01_]*|\d[\d_]*(?:\.(?![.])(?:[\d_]*(?:[eE][+-]?\d[\d_]*)?)(?![\p{XID_Start}_∂∇'])|\.(?=[\d])[\d_]*)?(?:[eE][+-]?\d[\d_]*)?(?:f32)?/uy;
  const COMPONENT = /\d[\d_]*/y;
  const COMMAND = /:[a-z][A-Za-z0-9_]*/y;
  const ITEM = /^(?:let|type|test|bench|import) /;
  const BEFORE_STRING = /\s*"/y;

  function read(pattern, text, at) {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    return found ? found[0] : "";
  }

  // Where types are expected: after `:` up to `=` or the end of its level, and in declarations except for the constructors that
  // they declare. The same as `TypeTracker` in the lexer.
  const NOWHERE = { depth: 0, since: null, declaration: false, declares: false };

  function step(types, word, isConstructor, atStart) {
    if (atStart && !OPERATORS.includes(word) && word !== "and") Object.assign(types, NOWHERE);
    const declares = types.declares;
    types.declares = false;
    const here = (types.since !== null || types.declaration) && !(declares && isConstructor);
    const end = (ends) => {
      if (types.since !== null && ends(types.since, types.depth)) types.since = null;
    };
    if (word === "type") types.declaration = true;
    else if (OPENING.includes(word)) types.depth += 1;
    else if (CLOSING.includes(word)) {
      types.depth = Math.max(0, types.depth - 1);
      end((since, depth) => depth < since);
    } else if (word === ":") types.since = types.since ?? types.depth;
    else if (word === ",") end((since, depth) => depth <= since && since > 0);
    else if (word === "=") {
      end((since, depth) => depth <= since);
      types.declares = types.declaration;
    } else if (word === "|") types.declares = types.declaration && types.depth === 0;
    return here;
  }

  // A token in a line: its end and its class. `state` goes from line to line.
  function token(line, at, state) {
    if (state.comment > 0) return comment(line, at, state);
    if (state.text.length > 0 && state.text.at(-1).inside) return text(line, at, state);
    if (at === 0) {
      const command = read(COMMAND, line, 0);
      if (command) return [command.length, "meta"];
    }
    const rest = line.slice(at);
    if (/^\s/.test(rest)) return [at + /^\s+/.exec(rest)[0].length, null];
    if (rest.startsWith("--")) return [line.length, rest.startsWith("--|") ? "docComment" : "comment"];
    if (rest.startsWith("(*") && !rest.startsWith("(*)")) return comment(line, at, state);
    if (at === 0 && rest.startsWith("#!")) return [line.length, null];
    if (rest[0] === '"' || rest.startsWith('f"')) {
      state.text.push({ interpolated: rest[0] === "f", inside: true, open: 0 });
      step(state.types, '"', false, at === 0);
      state.last = "text";
      return [at + (rest[0] === "f" ? 2 : 1), "string"];
    }
    if (/^\d/.test(rest)) {
      const number = read(state.last === "." ? COMPONENT : NUMBER, line, at);
      step(state.types, number, false, at === 0);
      state.last = "number";
      return [at + number.length, "number"];
    }
    const name = read(NAME, line, at);
    if (name) return named(line, at, name, state);
    return punctuation(line, at, state);
  }

  function named(line, at, name, state) {
    const first = [...name].find((c) => c !== "_");
    const isConstructor = first !== undefined && /\p{Lu}/u.test(first) && !name.startsWith("_");
    const here = step(state.types, name, isConstructor, at === 0);
    state.last = "name";
    const end = at + name.length;
    if (name === "true" || name === "false") return [end, CONSTRUCTOR];
    if (RESERVED.includes(name)) return [end, "keyword"];
    if (isConstructor) return [end, here ? TYPE : CONSTRUCTOR];
    const item = (name === "test" || name === "bench") && line.slice(0, at).trim() === "" && read(BEFORE_STRING, line, end);
    return [end, item || (name === "alias" && here) ? "keyword" : "variableName"];
  }

  function punctuation(line, at, state) {
    const within = state.text.at(-1);
    if (within && (line[at] === "{" || line[at] === "}")) {
      if (line[at] === "{") within.open += 1;
      else if (within.open > 0) within.open -= 1;
      else within.inside = true;
    }
    const word = OPERATORS.find((o) => line.startsWith(o, at));
    if (!word) {
      state.last = "unknown";
      return [at + String.fromCodePoint(line.codePointAt(at)).length, null];
    }
    // Braces of interpolations are not those of records.
    if (!(within && within.inside)) step(state.types, word, false, at === 0);
    state.last = word;
    return [at + word.length, BRACKETS.includes(word) ? "bracket" : "operator"];
  }

  function comment(line, at, state) {
    let i = at;
    while (i < line.length) {
      if (line.startsWith("(*)", i) && state.comment > 0) i += 3;
      else if (line.startsWith("(*", i)) {
        state.comment += 1;
        i += 2;
      } else if (line.startsWith("*)", i)) {
        state.comment -= 1;
        i += 2;
        if (state.comment === 0) break;
      } else i += 1;
    }
    return [i, "comment"];
  }

  // Text up to its end, or to an expression in it.
  function text(line, at, state) {
    const within = state.text.at(-1);
    if (within.interpolated && line[at] === "{" && line[at + 1] !== "{") {
      within.inside = false;
      return [at + 1, "bracket"];
    }
    let i = at;
    while (i < line.length) {
      if (line[i] === "\\") i += 2;
      else if (line[i] === '"') {
        state.text.pop();
        return [i + 1, "string"];
      } else if (within.interpolated && line[i] === "{" && line[i + 1] !== "{") return [i, "string"];
      else if (within.interpolated && (line[i] === "{" || line[i] === "}")) i += 2;
      else i += 1;
    }
    return [Math.min(i, line.length), "string"];
  }

  // A text goes on below unless an item begins there, or a line ends in an expression of it.
  function newline(line, state) {
    if (state.text.length > 0 && (!state.text.at(-1).inside || ITEM.test(line))) state.text = [];
  }

  const grammar = {
    name: "adl",
    startState: () => ({ comment: 0, text: [], last: "", types: { ...NOWHERE } }),
    copyState: (s) => ({ ...s, text: s.text.map((t) => ({ ...t })), types: { ...s.types } }),
    token(stream, state) {
      if (stream.sol()) newline(stream.string, state);
      const [end, kind] = token(stream.string, stream.pos, state);
      stream.pos = Math.max(end, stream.pos + 1);
      return kind;
    },
    languageData: { commentTokens: { line: "--", block: { open: "(*", close: "*)" } } },
  };

  const tables = { RESERVED, OPERATORS };
  if (typeof module !== "undefined") {
    module.exports = { grammar, tables };
    return;
  }

  // The newest version of a module that JupyterLab shares.
  async function shared(scope, name) {
    const versions = Object.entries(scope[name] ?? {}).sort(([a], [b]) => a.localeCompare(b, undefined, { numeric: true }));
    if (versions.length === 0) throw new Error(`JupyterLab shares no ${name}`);
    return (await versions.at(-1)[1].get())();
  }

  let scope = {};
  async function plugin() {
    const { IEditorLanguageRegistry } = await shared(scope, "@jupyterlab/codemirror");
    const activate = (app, languages) => {
      languages.addLanguage({
        name: "adl",
        displayName: "adl",
        mime: "text/x-adl",
        extensions: ["adl"],
        load: async () => {
          const { LanguageSupport, StreamLanguage } = await shared(scope, "@codemirror/language");
          return new LanguageSupport(StreamLanguage.define(grammar));
        },
      });
      app.docRegistry.addFileType({ name: "adl", displayName: "adl file", extensions: [".adl"], mimeTypes: ["text/x-adl"] });
    };
    return { id: "adl-jupyterlab:grammar", autoStart: true, requires: [IEditorLanguageRegistry], activate };
  }

  window._JUPYTERLAB = window._JUPYTERLAB || {};
  window._JUPYTERLAB["adl-jupyterlab"] = {
    init(given) {
      scope = given;
    },
    async get() {
      const made = await plugin();
      return () => ({ __esModule: true, default: made });
    },
  };
})();
