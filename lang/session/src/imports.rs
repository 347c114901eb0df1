//! Imported files. They are checked together with the importing text, and run once, when the import is reached.

use crate::Session;
use crate::item_words::{defined_names, mentions};
use crate::run::CheckedText;
use adl_syntax::ast;
use adl_syntax::diag::Diagnostic;
use adl_syntax::field_order;
use adl_syntax::span::{FileId, Span};
use adl_syntax::symbol::Symbol;
use adl_typing::core::Item;
use adl_typing::env::Env;
use std::cell::{Cell, RefCell};
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;

/// A step of running a checked text.
pub(crate) enum RunStep {
    /// Evaluates an item.
    Item(Item),
    /// Runs a file, unless it has run already.
    Run(Rc<Module>),
}

/// One item of a checked text.
pub(crate) struct CheckedEntry {
    pub step: RunStep,
    pub doc: Option<String>,
    pub span: Span,
}

/// An imported file.
pub(crate) struct Module {
    /// A canonical path, equal for all spellings of the file.
    pub identity: String,
    /// The text that was checked.
    pub text: String,
    /// Its definitions.
    pub env: RefCell<Rc<Env>>,
    /// The steps of running it.
    pub entries: Vec<CheckedEntry>,
    /// The orders of record fields that it writes, for an importer that has forgotten them.
    pub orders: field_order::Log,
    /// The warnings that checking it gave.
    pub warnings: Vec<Diagnostic>,
    /// Whether it has run or is running.
    pub ran: Cell<bool>,
}

impl Module {
    /// Whether any file that it imports, directly or indirectly, is in `changed`.
    pub fn imports_any(&self, changed: &[String]) -> bool {
        self.entries.iter().any(|e| match &e.step {
            RunStep::Run(m) => changed.contains(&m.identity) || stacker_guard(|| m.imports_any(changed)),
            RunStep::Item(_) => false,
        })
    }
}

fn stacker_guard<T>(f: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, f)
}

/// A path without `.` and `dir/..`: the identity of a file for hosts without a better one.
pub fn normal(path: &str) -> String {
    let mut out = PathBuf::new();
    for part in Path::new(path).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if matches!(out.components().next_back(), Some(Component::Normal(_))) => {
                out.pop();
            }
            other => out.push(other),
        }
    }
    out.to_string_lossy().into_owned()
}

impl Session {
    /// Checks an import in a text. After an error, errors of items that mention the module are suppressed.
    pub(crate) fn check_import(&mut self, out: &mut CheckedText, item: &ast::Item, file: FileId) {
        match self.import(&out.env.clone(), item, file) {
            Ok((env, module)) => {
                out.env = env;
                out.entries.extend(module.map(|m| CheckedEntry { step: RunStep::Run(m), doc: None, span: item.span }));
            }
            Err(diags) => {
                out.diags.extend(diags);
                if let ast::ItemKind::Import { alias: Some(a), .. } = &item.kind {
                    out.unreadable.push(a.name);
                }
            }
        }
    }

    /// Resolves an import. Returns the environment extended by the module, and the file to run.
    pub(crate) fn import(
        &mut self,
        env: &Env,
        item: &ast::Item,
        from: FileId,
    ) -> Result<(Env, Option<Rc<Module>>), Vec<Diagnostic>> {
        let ast::ItemKind::Import { what, alias } = &item.kind else { return Ok((env.clone(), None)) };
        let mut env = env.clone();
        match what {
            ast::ImportSource::Std(name) => {
                self.load_std(name.name.as_str());
                let Some(module) = self.std.get(name.name.as_str()).cloned() else {
                    let known: Vec<&str> = adl_std::MODULES.iter().map(|(n, _)| *n).collect();
                    let d = Diagnostic::error("E0202", name.span, format!("unknown standard module `{}`", name.name));
                    if adl_typing::errors::foreign_names::is_library(name.name.as_str()) {
                        return Err(vec![d.hint("functions of numbers and arrays need no import: `exp x`, `sum xs`, `linspace 0.0 1.0 n`, `plot.line xs ys`")]);
                    }
                    return Err(vec![
                        d.hint(format!("there are {}; a file is imported by its name in quotes", known.join(", "))),
                    ]);
                };
                if let Some(a) = alias {
                    env.modules.insert_mut(a.name, module);
                }
                Ok((env, None))
            }
            ast::ImportSource::File(path, span) => {
                let module = self.import_file(path, *span, from)?;
                let name = alias.map_or(Symbol::new("_"), |a| a.name);
                env.modules.insert_mut(name, module.env.borrow().clone());
                Ok((env, Some(module)))
            }
        }
    }

    fn import_file(&mut self, path: &str, span: Span, from: FileId) -> Result<Rc<Module>, Vec<Diagnostic>> {
        let importer = self.sources.get(from).map(|f| f.name.clone()).unwrap_or_default();
        let full = match Path::new(&importer).parent() {
            Some(dir) if !importer.starts_with('<') => normal(&dir.join(path).to_string_lossy()),
            _ => normal(path),
        };
        let identity = self.machine.host.identity(&full).unwrap_or_else(|| full.clone());
        if let Some(module) = self.files.get(&identity) {
            module.orders.iter().for_each(|names| field_order::written(names.iter().copied()));
            if self.editing {
                self.import_warnings.extend(module.warnings.iter().cloned());
            }
            return Ok(module.clone());
        }
        if let Some(at) = self.open.iter().position(|(i, _)| *i == identity) {
            let mut chain: Vec<&str> = self.open[at..].iter().map(|(_, name)| name.as_str()).collect();
            chain.push(&full);
            let d = Diagnostic::error("E0801", span, format!("{full} imports itself: {}", chain.join(" -> ")));
            return Err(vec![d.hint("move what both files need into a third")]);
        }
        let shown = if full.is_empty() { "." } else { &full };
        let bytes = self
            .machine
            .host
            .read(&full)
            .map_err(|e| vec![Diagnostic::error("E0801", span, format!("{shown}: {e}"))])?;
        let base = Env { base: self.env.base.clone(), ..Env::default() };
        let (checked, orders) = field_order::logged(|| stacker_guard(|| self.check_bytes(&full, &bytes, base)));
        if checked.diags.iter().any(Diagnostic::is_error) {
            return Err(checked.diags);
        }
        self.import_warnings.extend(checked.diags.iter().cloned());
        let module = Rc::new(Module {
            identity: identity.clone(),
            text: String::from_utf8_lossy(&bytes).into_owned(),
            env: RefCell::new(Rc::new(checked.env)),
            entries: checked.entries,
            orders,
            warnings: checked.diags,
            ran: Cell::new(false),
        });
        self.files.insert(identity, module.clone());
        Ok(module)
    }

    /// Runs a module that has not run. After an error it is removed, so that it can be imported again.
    pub(crate) fn run_module(&mut self, module: &Rc<Module>) -> Result<(), Box<Diagnostic>> {
        if module.ran.replace(true) {
            return Ok(());
        }
        if let Err(d) = stacker_guard(|| self.run_entries(&module.entries)) {
            self.files.remove(&module.identity);
            return Err(d);
        }
        let mut env = (**module.env.borrow()).clone();
        self.refine_types(&mut env, &module.entries);
        *module.env.borrow_mut() = Rc::new(env);
        Ok(())
    }

    /// Runs the steps of a text, up to the first error.
    pub(crate) fn run_entries(&mut self, entries: &[CheckedEntry]) -> Result<(), Box<Diagnostic>> {
        self.machine.sources = self.sources.clone();
        for e in entries {
            self.item = e.span;
            match &e.step {
                RunStep::Run(m) => self.run_module(m)?,
                RunStep::Item(Item::Expr(e)) => {
                    self.machine.eval(e, None).map_err(|e| Box::new(e.diag))?;
                }
                RunStep::Item(item) => self.define(item)?,
            }
        }
        Ok(())
    }

    /// Whether an item mentions a module that could not be read, so that its errors would be consequences of that.
    pub(crate) fn hidden(&self, out: &CheckedText, item: &ast::Item) -> bool {
        let text = self.sources.text(item.span);
        out.unreadable.iter().any(|m| mentions(text, m.as_str()))
            && !defined_names(item).iter().any(|n| out.unreadable.contains(n))
    }

    /// Imported files whose text has changed since they ran.
    pub(crate) fn changed_imports(&mut self) -> Vec<String> {
        let all: Vec<Rc<Module>> = self.files.values().cloned().collect();
        let mut changed: Vec<String> = Vec::new();
        for m in &all {
            let now = self.machine.host.read(&m.identity).unwrap_or_default();
            if now != m.text.as_bytes() {
                changed.push(m.identity.clone());
            }
        }
        let through: Vec<String> = all.iter().filter(|m| m.imports_any(&changed)).map(|m| m.identity.clone()).collect();
        changed.extend(through);
        changed
    }
}
