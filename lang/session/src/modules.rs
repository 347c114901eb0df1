//! Standard modules, and checking an item after loading the modules that it names.

use crate::Session;
use adl_interp::fault;
use adl_interp::ops::data;
use adl_interp::vm::Machine;
use adl_prim::IoFn;
use adl_syntax::ast;
use adl_syntax::diag::Diagnostic;
use adl_syntax::span::{SourceMap, Span};
use adl_typing::core::Item;
use adl_typing::env::{CheckHost, Column, Env, NoHeader, RowType, Tables};
use adl_typing::ty::Scheme;
use adl_typing::{CheckedItem, Places, check_item, inspect_item};
use std::collections::HashMap;
use std::rc::Rc;

/// The checker's host: headers of data files, and loaded modules.
struct Adapter<'a> {
    machine: &'a mut Machine,
    std: &'a HashMap<String, Rc<Env>>,
    sources: &'a SourceMap,
}

impl Adapter<'_> {
    fn bytes(&mut self, path: &str) -> Result<Vec<u8>, NoHeader> {
        adl_interp::ops::file_bytes(self.machine, path).map_err(|e| (e.diag.code, e.diag.message))
    }
}

impl CheckHost for Adapter<'_> {
    fn table_header(&mut self, reader: IoFn, path: &str) -> Result<Vec<(String, Column)>, NoHeader> {
        let bytes = self.bytes(path)?;
        let columns = match reader {
            IoFn::ReadParquet => data::parquet::schema(path, &bytes),
            IoFn::ReadArrow => data::arrow::schema(path, &bytes),
            _ => data::csv::schema(path, &bytes),
        };
        columns.map_err(|e| (e.diag.code, e.diag.message))
    }
    fn npy_header(&mut self, path: &str) -> Result<Vec<(String, Column, Vec<u64>)>, NoHeader> {
        let bytes = self.bytes(path)?;
        data::npy::schema(path, &bytes).map_err(|e| (e.diag.code, e.diag.message))
    }
    fn row_type(&mut self, path: &str) -> Result<RowType, NoHeader> {
        let host = &mut *self.machine.host;
        let ty = data::chunked::open(host, path).and_then(|table| table.row_type(host));
        ty.map_err(|e| (e.diag.code, e.diag.message))
    }
    fn std_module(&mut self, name: &str) -> Option<Rc<Env>> {
        self.std.get(name).cloned()
    }
    fn line(&self, span: Span, near: Span) -> String {
        let line = self.sources.line_of(span);
        match self.sources.get(span.file) {
            Some(f) if span.file != near.file => format!("line {line} of {}", f.name),
            _ => format!("line {line}"),
        }
    }
    fn text(&self, span: Span) -> &str {
        self.sources.text(span)
    }
    fn rest(&self, span: Span) -> &str {
        let text = self.sources.get(span.file).and_then(|f| f.text.get(span.hi as usize..)).unwrap_or("");
        text.lines().next().unwrap_or("")
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

impl Session {
    /// Checks an item after loading the standard modules that its text mentions.
    pub(crate) fn check(&mut self, env: &Env, item: &ast::Item, internal: bool) -> CheckedItem {
        self.check_by(item, internal, |tables, host| check_item(env, item, tables, host, internal))
    }

    /// Checks an item and says what type each place in it has.
    pub(crate) fn inspect(&mut self, env: &Env, item: &ast::Item) -> (CheckedItem, Places) {
        self.check_by(item, false, |tables, host| inspect_item(env, item, tables, host))
    }

    fn check_by<T>(
        &mut self,
        item: &ast::Item,
        internal: bool,
        check: impl FnOnce(&mut Tables, &mut dyn CheckHost) -> T,
    ) -> T {
        let text = self.sources.text(item.span).to_owned();
        self.load_named(&text);
        if !internal {
            self.item = item.span;
            fault::point(fault::PanicPoint::Checker);
        }
        let mut adapter = Adapter { machine: &mut self.machine, std: &self.std, sources: &self.sources };
        let checked = check(&mut self.tables, &mut adapter);
        for id in std::mem::take(&mut self.tables.declared) {
            if let Some(d) = self.tables.datas.get(&id) {
                self.machine.definitions.datas.insert(id, d.clone());
            }
        }
        checked
    }

    /// Example shapes that a function of unknown ranks accepts.
    pub(crate) fn shapes_of(&mut self, scheme: &Scheme) -> Vec<String> {
        let env = self.env.clone();
        let mut adapter = Adapter { machine: &mut self.machine, std: &self.std, sources: &self.sources };
        adl_typing::example_shapes(&env, scheme, &mut self.tables, &mut adapter)
    }

    /// Loads every standard module that a text mentions. The prelude names none of them but as homes of its names: what
    /// else it mentions are fields and words of documentation.
    pub(crate) fn load_named(&mut self, text: &str) {
        let of_prelude = self.env.base.is_none();
        let words = text.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '\''));
        let wanted: Vec<&'static str> = words
            .filter_map(|w| {
                // `for r in data` over a value of this type needs the module.
                let w = if w == "Rows" { "rows" } else { w };
                let module = || adl_std::MODULES.iter().find(|(n, _)| *n == w && !of_prelude).map(|(n, _)| *n);
                adl_std::home(w).or_else(module)
            })
            .collect();
        for name in wanted {
            self.load_std(name);
        }
    }

    /// Loads a standard module once.
    pub fn load_std(&mut self, name: &str) {
        if self.std.contains_key(name) {
            return;
        }
        let Some(source) = adl_std::source(name) else { return };
        // A module that mentions itself in its documentation sees an empty module while it is loaded.
        self.std.insert(name.to_owned(), Rc::new(Env::default()));
        let env = self.load_text(name, source, true);
        self.std.insert(name.to_owned(), Rc::new(env));
    }

    /// Parses, checks and runs a text, and returns its environment. Errors in a standard module are internal errors;
    /// they are reported with the next entry.
    pub(crate) fn load_text(&mut self, name: &str, source: &str, internal: bool) -> Env {
        let file = self.new_source(|s| s.add_library(format!("<{name}>"), source));
        self.machine.library.insert(file);
        let _library = adl_syntax::field_order::InLibrary::begin();
        let (program, mut diags) = adl_syntax::parse(file, source);
        let mut env = Env { base: self.env.base.clone(), ..Env::default() };
        for item in &program.items {
            let checked = self.check(&env, item, internal);
            diags.extend(checked.diags);
            env = checked.env;
            if let Some(item) = checked.item
                && let Err(d) = self.define(&item)
            {
                diags.push(*d);
            }
        }
        self.import_warnings.extend(diags.into_iter().filter(Diagnostic::is_error));
        env
    }

    /// Evaluates the definitions of an item.
    pub(crate) fn define(&mut self, item: &Item) -> Result<(), Box<Diagnostic>> {
        if let Item::Defs(defs) = item {
            for d in defs {
                self.machine.define(d).map_err(|e| Box::new(e.diag))?;
            }
        }
        Ok(())
    }
}
