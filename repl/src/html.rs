//! `adl doc --html DIR`: the library's documentation as HTML pages.

use crate::Global;
use crate::commands::{io_text, session};
use crate::host::say;
use adl_session::docs::{DocEntry, DocModule};
use adl_syntax::highlight::{escape, html as code};
use adl_syntax::render::quote;
use std::io::Write;
use std::path::Path;

const STYLE: &str = "\
:root { --fg: #1b1f24; --bg: #ffffff; --soft: #59636e; --line: #d8dee4; --code: #f4f6f8; --link: #0b5cad; }
@media (prefers-color-scheme: dark) {
  :root { --fg: #e6e9ec; --bg: #14171a; --soft: #9aa4ae; --line: #2d3339; --code: #1d2125; --link: #7ab7f5; }
}
* { box-sizing: border-box; }
body { margin: 0; color: var(--fg); background: var(--bg); font: 16px/1.55 system-ui, sans-serif; }
main { max-width: 52rem; margin: 0 auto; padding: 1.5rem 1.25rem 5rem; }
header { border-bottom: 1px solid var(--line); }
header nav { max-width: 52rem; margin: 0 auto; padding: .7rem 1.25rem; display: flex; flex-wrap: wrap; gap: .3rem 1.1rem; }
a { color: var(--link); text-decoration: none; }
a:hover, a:focus { text-decoration: underline; }
nav b { color: var(--fg); }
h1 { font-size: 1.7rem; margin: .6rem 0; }
h2 { font-size: 1.05rem; margin: 2.2rem 0 .3rem; padding-top: .8rem; border-top: 1px solid var(--line); }
h2 code { font-size: 1rem; }
h2 .sig { color: var(--soft); font-weight: normal; }
p { margin: .5rem 0; }
pre, code { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; font-size: .9rem; }
p code, li code { background: var(--code); padding: .1em .3em; border-radius: 3px; }
pre { background: var(--code); padding: .7rem .9rem; border-radius: 6px; overflow-x: auto; margin: .6rem 0; }
pre .out { color: var(--soft); }
ul.index { list-style: none; padding: 0; columns: 2 22rem; column-gap: 2rem; }
ul.index li { break-inside: avoid; padding: .12rem 0; }
ul.index span { color: var(--soft); font-size: .9rem; }
details { margin: .4rem 0; }
summary { color: var(--soft); cursor: pointer; font-size: .9rem; }
#search { font: inherit; width: 100%; padding: .3rem .6rem; color: inherit; background: var(--code); border: 1px solid var(--line); border-radius: 6px; }
#found { width: 100%; list-style: none; margin: 0; padding: 0; }
#found li { padding: .12rem 0; }
#found span { color: var(--soft); font-size: .9rem; }
.k { color: #a0359b; } .n { color: #0a7d8c; } .s { color: #2a7a2a; } .c { color: #7b858f; } .t { color: #9a6700; }
@media (prefers-color-scheme: dark) {
  .k { color: #d694d2; } .n { color: #6cc7d3; } .s { color: #8ccf8c; } .t { color: #e0b455; }
}
";

/// Searches names, types and descriptions. Exact names come first, then prefixes, then mentions. `/` focuses the search
/// field.
const SEARCH: &str = "\
const field = document.getElementById('search'), list = document.getElementById('found');
const rank = (e, w) => e.name === w ? 0 : e.name.startsWith(w) ? 1 : e.name.includes(w) ? 2 : (e.sig + ' ' + e.text).toLowerCase().includes(w) ? 3 : 9;
function show() {
  const words = field.value.toLowerCase().split(/\\s+/).filter(w => w);
  const worst = e => Math.max(...words.map(w => rank({ ...e, name: e.name.toLowerCase() }, w)));
  const hits = words.length ? NAMES.map(e => [worst(e), e]).filter(h => h[0] < 9).sort((a, b) => a[0] - b[0]).slice(0, 20) : [];
  list.replaceChildren(...hits.map(([, e]) => {
    const item = document.createElement('li'), link = document.createElement('a'), code = document.createElement('code'), about = document.createElement('span');
    link.href = e.page;
    code.textContent = e.name;
    about.textContent = ' : ' + e.sig + '   ' + e.text;
    link.append(code);
    item.append(link, about);
    return item;
  }));
}
field.addEventListener('input', show);
field.addEventListener('keydown', e => {
  if (e.key === 'Enter' && list.querySelector('a')) location.href = list.querySelector('a').href;
  if (e.key === 'Escape') { field.value = ''; show(); field.blur(); }
});
document.addEventListener('keydown', e => {
  if (e.key === '/' && document.activeElement !== field) { e.preventDefault(); field.focus(); }
});
show();
";

/// The search index with the search script. It is a script rather than a data file, because pages opened from a disk
/// may load scripts.
fn search(library: &[DocModule]) -> String {
    let global = |m: &DocModule| m.name == "builtins" || m.name == "prelude";
    let entry = |m: &DocModule, e: &DocEntry| {
        let name = if global(m) { e.name.clone() } else { format!("{}.{}", m.name, e.name) };
        let page = format!("{}.html#{}", m.name, anchor(&e.name));
        let sig = e.signature.lines().next().unwrap_or("");
        format!(
            "  {{name: {}, page: {}, sig: {}, text: {}}}",
            quote(&name),
            quote(&page),
            quote(sig),
            quote(e.summary())
        )
    };
    let entries: Vec<String> = library.iter().flat_map(|m| m.entries.iter().map(move |e| entry(m, e))).collect();
    format!("const NAMES = [\n{}\n];\n{SEARCH}", entries.join(",\n"))
}

/// Writes the pages and returns the exit code.
pub fn write(global: &Global, dir: &str) -> u8 {
    let library = session(global, Vec::new()).library();
    match pages(&library, Path::new(dir)) {
        Ok(n) => {
            say(&format!("{n} pages in {dir}, from index.html\n"));
            0
        }
        Err(e) => {
            let _ = writeln!(std::io::stderr(), "error[E0801]: {dir}: {}", io_text(&e));
            1
        }
    }
}

fn pages(library: &[DocModule], dir: &Path) -> std::io::Result<usize> {
    std::fs::create_dir_all(dir)?;
    adl_files::write(dir.join("style.css"), STYLE)?;
    adl_files::write(dir.join("search.js"), search(library))?;
    adl_files::write(dir.join("index.html"), index(library))?;
    for m in library {
        adl_files::write(dir.join(format!("{}.html", m.name)), module(m, library))?;
    }
    Ok(library.len() + 1)
}

fn page(title: &str, here: &str, library: &[DocModule], body: &str) -> String {
    let links: Vec<String> = std::iter::once("index")
        .chain(library.iter().map(|m| m.name.as_str()))
        .map(|n| if n == here { format!("<b>{n}</b>") } else { format!("<a href=\"{n}.html\">{n}</a>") })
        .collect();
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n<link rel=\"stylesheet\" href=\"style.css\">\n</head>\n<body>\n<header><nav>{}\n<input id=\"search\" type=\"search\" placeholder=\"Search ( / )\" aria-label=\"Search\"><ul id=\"found\"></ul></nav></header>\n\
         <main>\n{body}</main>\n<script src=\"search.js\"></script>\n</body>\n</html>\n",
        links.join(" ")
    )
}

fn index(library: &[DocModule]) -> String {
    let mut body = format!("<h1>The adl library</h1>\n<p>Version {}.</p>\n", env!("CARGO_PKG_VERSION"));
    for m in library {
        body += &format!("<h2><a href=\"{0}.html\">{0}</a></h2>\n{1}", m.name, prose(&m.text));
        body += "<ul class=\"index\">\n";
        let mut entries: Vec<&DocEntry> = m.entries.iter().collect();
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        for e in entries {
            body += &format!(
                "<li><a href=\"{}.html#{2}\"><code>{1}</code></a> <span>{3}</span></li>\n",
                m.name,
                escape(&e.name),
                anchor(&e.name),
                inline(e.summary())
            );
        }
        body += "</ul>\n";
    }
    page("The adl library", "index", library, &body)
}

fn module(m: &DocModule, library: &[DocModule]) -> String {
    let mut body = format!("<h1>{}</h1>\n{}", m.name, prose(&m.text));
    for e in &m.entries {
        body += &entry(e);
    }
    page(&format!("{} - adl", m.name), &m.name, library, &body)
}

fn entry(doc_entry: &DocEntry) -> String {
    let mut out = match doc_entry.signature.starts_with("type ") {
        true => format!(
            "<h2 id=\"{}\"><code>type {}</code></h2>\n<pre>{}</pre>\n",
            anchor(&doc_entry.name),
            escape(&doc_entry.name),
            code(&doc_entry.signature)
        ),
        false => format!(
            "<h2 id=\"{0}\"><a href=\"#{0}\"><code>{1}</code></a> <code class=\"sig\">: {2}</code></h2>\n",
            anchor(&doc_entry.name),
            escape(&doc_entry.name),
            escape(&doc_entry.signature)
        ),
    };
    out += &prose(&doc_entry.text);
    if !doc_entry.examples.is_empty() {
        let lines: Vec<String> = doc_entry
            .examples
            .iter()
            .map(|(x, want)| format!("{}\n<span class=\"out\">{}</span>", code(x), escape(want)))
            .collect();
        out += &format!("<pre>{}</pre>\n", lines.join("\n"));
    }
    if let Some(source) = &doc_entry.source {
        out += &format!("<details><summary>source</summary><pre>{}</pre></details>\n", code(source));
    }
    out
}

/// A name as an anchor.
pub fn anchor(name: &str) -> String {
    name.chars()
        .map(|c| if c.is_ascii_alphanumeric() || c == '_' { c.to_string() } else { format!("-{:x}", c as u32) })
        .collect()
}

/// Converts paragraphs, and code blocks indented by four.
fn prose(text: &str) -> String {
    text.split("\n\n")
        .filter(|p| !p.trim().is_empty())
        .map(|p| match p.lines().all(|l| l.starts_with("    ")) {
            true => format!("<pre>{}</pre>\n", code(&p.lines().map(|l| &l[4..]).collect::<Vec<_>>().join("\n"))),
            false => format!("<p>{}</p>\n", inline(p)),
        })
        .collect()
}

/// Converts text with `code` in it.
pub fn inline(text: &str) -> String {
    let mut parts = text.split('`');
    let mut out = escape(parts.next().unwrap_or(""));
    let mut inside = true;
    for p in parts {
        out += &if inside { format!("<code>{}</code>", escape(p)) } else { escape(p) };
        inside = !inside;
    }
    out
}
