//! Checks programs as a session does, without running them.
#![allow(dead_code)]

use adl_syntax::ast::{ImportSource, ItemKind};
use adl_syntax::diag::Diagnostic;
use adl_syntax::span::{FileId, SourceMap, Span};
use adl_typing::core::Item;
use adl_typing::env::{CheckHost, Column, Env, NoHeader, Tables};
use adl_typing::{CheckedItem, check_item};
use std::collections::HashMap;
use std::rc::Rc;

/// Loaded standard modules, and the texts that messages quote.
struct ModuleHost<'a> {
    std: &'a HashMap<&'static str, Rc<Env>>,
    sources: &'a SourceMap,
}

impl CheckHost for ModuleHost<'_> {
    fn table_header(&mut self, _reader: adl_prim::IoFn, path: &str) -> Result<Vec<(String, Column)>, NoHeader> {
        Err(("E0801", format!("{path}: there are no files here")))
    }
    fn npy_header(&mut self, path: &str) -> Result<Vec<(String, Column, Vec<u64>)>, NoHeader> {
        Err(("E0801", format!("{path}: there are no files here")))
    }
    fn std_module(&mut self, name: &str) -> Option<Rc<Env>> {
        self.std.get(name).cloned()
    }
    fn line(&self, span: Span, _: Span) -> String {
        format!("line {}", self.sources.line_of(span))
    }
    fn text(&self, span: Span) -> &str {
        self.sources.text(span)
    }
    fn rest(&self, _: Span) -> &str {
        ""
    }
    fn std_modules(&self) -> Vec<&'static str> {
        adl_std::MODULES.iter().map(|(n, _)| *n).collect()
    }
    fn std_homes(&self, name: &str) -> Vec<&'static str> {
        adl_std::with_member(name).collect()
    }
    fn prelude_home(&mut self, name: &str) -> Option<&'static str> {
        adl_std::home(name)
    }
}

/// The environment of the standard library.
pub struct Checker {
    std: HashMap<&'static str, Rc<Env>>,
    base: Env,
    pub tables: Tables,
    sources: SourceMap,
}

/// A checked text: its items, the resulting environment, and its messages.
pub struct CheckedText {
    pub items: Vec<Item>,
    pub env: Env,
    pub diags: Vec<Diagnostic>,
}

impl CheckedText {
    /// The codes of the errors.
    pub fn errors(&self) -> Vec<&'static str> {
        self.diags.iter().filter(|d| d.is_error()).map(|d| d.code).collect()
    }

    /// The type of a definition as it is shown.
    pub fn type_of(&self, name: &str) -> String {
        let g = self.env.value(adl_syntax::symbol::Symbol::new(name)).unwrap_or_else(|| panic!("no {name}"));
        adl_typing::print::scheme(&g.scheme)
    }
}

impl Checker {
    /// A checker with the prelude and all standard modules, loaded in dependency order.
    pub fn new() -> Checker {
        let mut checker = Checker {
            std: HashMap::new(),
            base: Env::default(),
            tables: Tables::default(),
            sources: SourceMap::default(),
        };
        let prelude = checker.library(adl_std::PRELUDE);
        checker.base = Env { base: Some(Rc::new(prelude)), ..Env::default() };
        // A module is checked after the modules that it names.
        let mut left: Vec<(&'static str, &'static str)> = adl_std::MODULES.to_vec();
        while !left.is_empty() {
            let before = left.len();
            left.retain(|(name, text)| {
                let out = checker.check_from(checker.base.clone(), text, true);
                let done = out.errors().is_empty();
                if done {
                    checker.std.insert(name, Rc::new(out.env));
                }
                !done
            });
            assert!(
                left.len() < before,
                "modules that need each other: {:?}",
                left.iter().map(|(name, _)| name).collect::<Vec<_>>()
            );
        }
        checker
    }

    fn library(&mut self, text: &str) -> Env {
        let out = self.check_from(self.base.clone(), text, true);
        assert_eq!(out.errors(), Vec::<&str>::new(), "{:?}", out.diags.first());
        out.env
    }

    /// Checks a text item by item; items with errors are skipped.
    pub fn check(&mut self, text: &str) -> CheckedText {
        self.check_from(self.base.clone(), text, false)
    }

    pub fn check_from(&mut self, mut env: Env, text: &str, internal: bool) -> CheckedText {
        let file: FileId = self.sources.add("<text>", text);
        let (program, mut diags) = adl_syntax::parse(file, text);
        let mut items = Vec::new();
        self.tables.looked_for = 0;
        for item in &program.items {
            if let ItemKind::Import { what: ImportSource::Std(name), alias: Some(alias) } = &item.kind {
                if let Some(module) = self.std.get(name.name.as_str()) {
                    env.modules.insert_mut(alias.name, module.clone());
                }
                continue;
            }
            let mut host = ModuleHost { std: &self.std, sources: &self.sources };
            let CheckedItem { item, env: after, diags: more, .. } =
                check_item(&env, item, &mut self.tables, &mut host, internal);
            env = after;
            diags.extend(more);
            items.extend(item);
        }
        CheckedText { items, env, diags }
    }
}
