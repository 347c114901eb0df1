//! Documentation of names, modules, and the whole library.

use crate::Session;
use crate::limits::docs::READABLE;
use adl_interp::fault;
use adl_prim::{Prim, Typing};
use adl_syntax::ast::ItemKind;
use adl_syntax::span::FileId;
use adl_syntax::symbol::Symbol;
use adl_typing::env::Env;
pub use adl_typing::errors::nearest;

/// A documented name.
#[derive(Clone, Debug)]
pub struct DocEntry {
    /// The name without its module: `adam`.
    pub name: String,
    /// Its type, or the declaration of a type.
    pub signature: String,
    /// Markdown text without the examples.
    pub text: String,
    /// Expressions with their expected echoes.
    pub examples: Vec<(String, String)>,
    /// Its source, if it is written in adl.
    pub source: Option<String>,
}

/// A chapter of the library.
#[derive(Clone, Debug)]
pub struct DocModule {
    /// `optim`; `builtins` for names in scope without a module.
    pub name: String,
    /// The purpose of the module: the comment at its head.
    pub text: String,
    /// In source order.
    pub entries: Vec<DocEntry>,
}

impl DocEntry {
    fn new(name: &str, signature: String, doc: &str, source: Option<String>) -> DocEntry {
        let mut in_example = false;
        let mut words = Vec::new();
        for l in doc.lines() {
            in_example = l.trim_start().starts_with(">>>") || in_example && !l.trim().is_empty();
            if !in_example {
                words.push(l);
            }
        }
        DocEntry {
            name: name.to_owned(),
            signature,
            text: words.join("\n").trim().to_owned(),
            examples: crate::test_runner::examples(doc),
            source,
        }
    }

    /// As text for a terminal. `name` is the name as the user wrote it.
    pub fn plain(&self, name: &str) -> String {
        let head = if self.signature.starts_with("type ") {
            self.signature.clone()
        } else {
            format!("{name} : {}", self.signature)
        };
        let text = if self.text.is_empty() { "(no documentation)" } else { &self.text };
        let examples: String = self.examples.iter().map(|(e, w)| format!("\n\n>>> {e}\n{w}")).collect();
        format!("{head}\n\n{text}{}", examples.trim_end())
    }

    /// The first sentence.
    pub fn summary(&self) -> &str {
        summary(&self.text)
    }
}

/// The first sentence of a documentation text.
pub fn summary(text: &str) -> &str {
    let line = text.lines().next().unwrap_or("");
    // The dots in `lo .. hi`, `0, 1, 2, ...`, and after an initial do not end a sentence.
    let ends = |i: &usize| {
        let (before, after) = (&line[..*i], line[*i + 1..].trim_start());
        let initial =
            before.chars().rev().take_while(|c| c.is_alphabetic()).count() < 2 && before.ends_with(char::is_uppercase);
        let al = before.ends_with("et al") || before.ends_with("e.g") || before.ends_with("i.e");
        !before.ends_with([' ', '.']) && !initial && !al && after.starts_with(|c: char| !c.is_lowercase())
    };
    let end = line.match_indices(". ").map(|(i, _)| i).find(ends);
    let line = end.map_or(line, |i| &line[..i]);
    line.strip_suffix('.').filter(|l| !l.ends_with('.')).unwrap_or(line)
}

impl Session {
    /// Documentation of a name or a module: type, text and examples.
    pub fn doc(&mut self, name: &str) -> Option<String> {
        self.guarded(|s| s.doc_text(name).map(|text| text + &s.see_also(name))).unwrap_or_else(|d| Some(d.message))
    }

    /// Additions to a library name's documentation: its derivative and related names.
    fn see_also(&mut self, name: &str) -> String {
        if self.env.values.contains_key(&Symbol::new(name)) {
            return String::new();
        }
        let rule =
            Prim::by_name(name).and_then(adl_prim::rule::derivative).map_or(String::new(), |r| format!("\n\n{r}"));
        match self.related(name) {
            names if names.is_empty() => rule,
            names => format!("{rule}\n\nSee also: {}", names.join(", ")),
        }
    }

    pub(crate) fn doc_text(&mut self, name: &str) -> Option<String> {
        fault::point(fault::PanicPoint::Inspection);
        if let Some(g) = self.env.values.get(&Symbol::new(name)).cloned() {
            let source = self.source_of(name);
            let shapes: Vec<String> = self.shapes_of(&g.scheme).iter().map(|t| format!("\n  as in {t}")).collect();
            return Some(
                DocEntry::new(
                    name,
                    self.type_text(&g.scheme) + &shapes.concat(),
                    g.doc.as_deref().unwrap_or(""),
                    source,
                )
                .plain(name),
            );
        }
        if self.declares(name) {
            return self.declared(name);
        }
        if let Some(p) = Prim::by_name(name) {
            return Some(prim_entry(p).plain(name));
        }
        if adl_std::source(name).is_some() {
            return self.doc_module(name).map(|m| m.plain());
        }
        let (module, member) = match name.rsplit_once('.') {
            Some((m, n)) => (m, n),
            None => (adl_std::home(name).unwrap_or("prelude"), name),
        };
        let documented = self.doc_module(module).and_then(|m| m.entries.into_iter().find(|e| e.name == member));
        if let Some(e) = documented {
            return Some(e.plain(name));
        }
        if let Some(text) = self.declared(name) {
            return Some(text);
        }
        let g = self.module_named(module)?.values.get(&Symbol::new(member))?.clone();
        let ty = self.readable(&g.scheme);
        Some(DocEntry::new(member, ty, g.doc.as_deref().unwrap_or(""), None).plain(name))
    }

    /// A type for documentation: of an elementwise function of many operations, whose constraints would not be read, what it is of numbers
    /// and of arrays.
    fn readable(&mut self, scheme: &adl_typing::ty::Scheme) -> String {
        let text = self.type_text(scheme);
        match (text.len() > READABLE).then(|| self.shapes_of(scheme)) {
            Some(shapes) if !shapes.is_empty() => shapes.join("\n  or "),
            _ => text,
        }
    }

    /// Information about a name: origin, type, documentation.
    pub fn info(&mut self, name: &str) -> Option<String> {
        let text = self.doc(name)?;
        let symbol = Symbol::new(name);
        let origin = match (self.env.values.get(&symbol), Prim::by_name(name)) {
            (Some(g), _) => format!("defined at {}", adl_syntax::render::place(g.span, &self.sources)),
            (None, Some(_)) => "built in".to_owned(),
            (None, None) if self.declares(name) => {
                if self.env.types.contains_key(&symbol) { "a type of yours" } else { "a constructor of yours" }
                    .to_owned()
            }
            (None, None) if adl_std::source(name).is_some() => "a standard module".to_owned(),
            (None, None) => match name.rsplit_once('.').map(|(m, _)| m).or_else(|| adl_std::home(name)) {
                Some(m) => format!("of the standard module {m}"),
                None => "of the prelude".to_owned(),
            },
        };
        let bytes = self
            .bytes_of(name)
            .map_or(String::new(), |b| format!(", {}", adl_interp::ir::derive::residuals_report::size(b)));
        Some(format!("{name}: {origin}{bytes}\n{text}"))
    }

    /// A standard module's documentation; `prelude` has the prelude names that are written in adl.
    pub fn doc_module(&mut self, name: &str) -> Option<DocModule> {
        let source = if name == "prelude" { adl_std::PRELUDE } else { adl_std::source(name)? };
        let env = if name == "prelude" { self.env.base.clone()? } else { self.module_named(name)? };
        Some(self.chapter(name, source, &env, false))
    }

    /// The documentation of a source whose names are in `env`; `all` includes undocumented definitions.
    pub(crate) fn chapter(&mut self, name: &str, source: &str, env: &Env, all: bool) -> DocModule {
        let (program, _) = adl_syntax::parse(FileId::default(), source);
        let mut entries = Vec::new();
        for item in &program.items {
            let Some(doc) = item.doc.as_deref().or(all.then_some("")) else { continue };
            let text = source.get(item.span.lo as usize..item.span.hi as usize).unwrap_or("");
            let names = crate::item_words::defined_names(item);
            match &item.kind {
                ItemKind::Types(_) => {
                    entries.extend(names.first().map(|n| DocEntry::new(n.as_str(), text.to_owned(), doc, None)));
                }
                ItemKind::Import { .. } => {}
                _ => entries.extend(names.iter().filter_map(|n| {
                    let g = env.values.get(n)?.clone();
                    // An alias of a built-in has no source worth showing.
                    let source = g.alias.is_none().then(|| text.to_owned());
                    Some(DocEntry::new(n.as_str(), self.readable(&g.scheme), doc, source))
                })),
            }
        }
        DocModule { name: name.to_owned(), text: head_comment(source), entries }
    }

    /// The documentation of the whole library: built-ins, prelude, standard modules.
    pub fn library(&mut self) -> Vec<DocModule> {
        let names = ["prelude"].into_iter().chain(adl_std::MODULES.iter().map(|(n, _)| *n));
        std::iter::once(builtins()).chain(names.filter_map(|n| self.doc_module(n))).collect()
    }
}

impl DocModule {
    /// One line per name, for a terminal.
    pub fn plain(&self) -> String {
        let head = if self.text.is_empty() {
            format!("module {}", self.name)
        } else {
            format!("module {}: {}", self.name, self.text)
        };
        format!("{head}\n\n{}", self.lines(&format!("{}.", self.name)))
    }

    /// All definitions with their full documentation, for a file of the user.
    pub fn page(&self) -> String {
        let whole = |e: &DocEntry| e.plain(&e.name).trim_end_matches("(no documentation)").trim_end().to_owned();
        let head = (!self.text.is_empty()).then(|| format!("{}: {}", self.name, self.text));
        head.into_iter().chain(self.entries.iter().map(whole)).collect::<Vec<_>>().join("\n\n")
    }

    fn lines(&self, before: &str) -> String {
        let line = |e: &DocEntry| {
            let declared = e.signature.starts_with("type ");
            let head = if declared { e.signature.clone() } else { format!("{before}{} : {}", e.name, e.signature) };
            let about = if e.summary().is_empty() { String::new() } else { format!("\n    {}", e.summary()) };
            head.replace('\n', "\n    ") + &about
        };
        self.entries.iter().map(line).collect::<Vec<_>>().join("\n")
    }
}

/// The documentation of the built-ins.
pub(crate) fn builtins() -> DocModule {
    let named = Prim::ALL.iter().filter(|p| p.name().starts_with(char::is_alphabetic));
    DocModule {
        name: "builtins".into(),
        text: "What is in scope everywhere.".into(),
        entries: named.map(|p| prim_entry(*p)).collect(),
    }
}

fn prim_entry(p: Prim) -> DocEntry {
    let row = p.row();
    let examples =
        row.examples.iter().filter_map(|e| e.split_once(" => ")).map(|(e, w)| (e.to_owned(), w.to_owned())).collect();
    DocEntry {
        name: row.name.to_owned(),
        signature: prim_type(p).to_owned(),
        text: row.doc.to_owned(),
        examples,
        source: None,
    }
}

/// The comment at the head of a module that belongs to no definition.
pub(crate) fn head_comment(source: &str) -> String {
    let source = if source.starts_with("#!") { source.split_once('\n').map_or("", |(_, rest)| rest) } else { source };
    let lines = source
        .lines()
        .take_while(|l| l.starts_with("--"))
        .map(|l| l.trim_start_matches("--|").trim_start_matches("--").trim());
    let followed = source.lines().find(|l| !l.starts_with("--")).is_some_and(|l| l.trim().is_empty());
    if followed { lines.collect::<Vec<_>>().join(" ").trim().to_owned() } else { String::new() }
}

/// The type of a built-in as stated in its row.
pub(crate) fn prim_type(p: Prim) -> &'static str {
    let (Typing::Scheme(t) | Typing::Elementwise(t) | Typing::Special(t)) = p.row().typing;
    t
}
