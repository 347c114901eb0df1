//! Loading modules: standard ones by name, files by path.

use crate::Session;
use adl_interp::error::codes;
use adl_interp::ops::data;
use adl_interp::vm::Machine;
use adl_syntax::ast;
use adl_syntax::diag::Diagnostic;
use adl_syntax::span::FileId;
use adl_syntax::symbol::Symbol;
use adl_typing::core::Item;
use adl_typing::env::{CheckHost, Column, Env, NoHeader};
use adl_typing::{Checked, check_item};
use std::collections::HashMap;
use std::path::Path;
use std::rc::Rc;

/// What checking asks of the world: headers of data files, and modules that are loaded already.
struct Adapter<'a> {
    machine: &'a mut Machine,
    std: &'a HashMap<String, Rc<Env>>,
}

impl CheckHost for Adapter<'_> {
    fn csv_header(&mut self, path: &str) -> Result<Vec<(String, Column)>, NoHeader> {
        let bytes = self.machine.host.read(path).map_err(|e| (codes::FILE, format!("{path}: {e}")))?;
        data::csv::schema(path, &bytes).map_err(|e| (e.diag.code, e.diag.message))
    }
    fn npy_header(&mut self, path: &str) -> Result<Vec<(String, Column, Vec<u64>)>, NoHeader> {
        let bytes = self.machine.host.read(path).map_err(|e| (codes::FILE, format!("{path}: {e}")))?;
        data::npy::schema(path, &bytes).map_err(|e| (e.diag.code, e.diag.message))
    }
    fn std_module(&mut self, name: &str) -> Option<Rc<Env>> {
        self.std.get(name).cloned()
    }
    fn prelude_home(&mut self, name: &str) -> Option<&'static str> {
        adl_std::home(name)
    }
}

impl Session {
    /// Checks an item after loading the standard modules that its text names.
    pub(crate) fn check(&mut self, env: &Env, item: &ast::Item, internal: bool) -> Checked {
        let text = self.sources.text(item.span).to_owned();
        self.load_named(&text);
        let mut adapter = Adapter { machine: &mut self.machine, std: &self.std };
        let checked = check_item(env, item, &mut self.tables, &mut adapter, internal);
        if self.machine.datas.len() != self.tables.datas.len() {
            self.machine.datas = self.tables.datas.clone();
        }
        checked
    }

    /// Loads every standard module that a text names.
    fn load_named(&mut self, text: &str) {
        let words = text.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '\''));
        let wanted: Vec<&'static str> = words
            .filter_map(|w| adl_std::home(w).or_else(|| adl_std::MODULES.iter().find(|(n, _)| *n == w).map(|(n, _)| *n)))
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
        // A module that names itself in its documentation sees itself as it is so far: empty.
        self.std.insert(name.to_owned(), Rc::new(Env::default()));
        let env = self.load_text(name, source, true);
        self.std.insert(name.to_owned(), Rc::new(env));
    }

    /// Parses, checks and runs a text; what it defines. Errors in a standard module are errors of adl itself and are printed as such.
    pub(crate) fn load_text(&mut self, name: &str, source: &str, internal: bool) -> Env {
        let file = self.sources.add(format!("<{name}>"), source);
        self.machine.library.insert(file);
        let (program, mut diags) = adl_syntax::parse(file, source);
        let mut env = Env { base: self.env.base.clone(), ..Env::default() };
        for item in &program.items {
            let checked = self.check(&env, item, internal);
            diags.extend(checked.diags);
            env = checked.env;
            if let Some(item) = checked.item {
                if let Err(d) = self.define(&item) {
                    diags.push(*d);
                }
            }
        }
        for d in diags.iter().filter(|d| d.is_error()) {
            eprintln!("{}", adl_syntax::render::text(d, &self.sources, false));
        }
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

    /// Resolves an import: the environment with the module in it.
    pub(crate) fn import(&mut self, env: &Env, item: &ast::Item, from: FileId) -> Result<Env, Vec<Diagnostic>> {
        let ast::ItemKind::Import { what, alias } = &item.kind else { return Ok(env.clone()) };
        let mut env = env.clone();
        match what {
            ast::ImportSource::Std(name) => {
                self.load_std(name.name.as_str());
                let Some(module) = self.std.get(name.name.as_str()).cloned() else {
                    let known: Vec<&str> = adl_std::MODULES.iter().map(|(n, _)| *n).collect();
                    let d = Diagnostic::error("E0202", name.span, format!("there is no standard module `{}`", name.name));
                    return Err(vec![d.hint(format!("there are {}; a file is imported by its name in quotes", known.join(", ")))]);
                };
                if let Some(a) = alias {
                    Rc::make_mut(&mut env.modules).insert(a.name, module);
                }
            }
            ast::ImportSource::File(path, span) => {
                let module = self.import_file(path, *span, from)?;
                let name = alias.map_or(Symbol::new("_"), |a| a.name);
                Rc::make_mut(&mut env.modules).insert(name, module);
            }
        }
        Ok(env)
    }

    fn import_file(&mut self, path: &str, span: adl_syntax::span::Span, from: FileId) -> Result<Rc<Env>, Vec<Diagnostic>> {
        let importer = self.sources.get(from).map(|f| f.name.clone()).unwrap_or_default();
        let full = match Path::new(&importer).parent() {
            Some(dir) if !importer.starts_with('<') => dir.join(path).to_string_lossy().into_owned(),
            _ => path.to_owned(),
        };
        match self.files.get(&full) {
            Some(Some(env)) => return Ok(env.clone()),
            Some(None) => return Err(vec![Diagnostic::error("E0801", span, format!("{full} imports itself, directly or through others"))]),
            None => {}
        }
        let bytes = self.machine.host.read(&full).map_err(|e| vec![Diagnostic::error("E0801", span, format!("{full}: {e}"))])?;
        self.files.insert(full.clone(), None);
        let out = self.module_of(&full, &bytes);
        match out {
            Ok(env) => {
                let env = Rc::new(env);
                self.files.insert(full, Some(env.clone()));
                Ok(env)
            }
            Err(diags) => {
                self.files.remove(&full);
                Err(diags)
            }
        }
    }

    fn module_of(&mut self, name: &str, bytes: &[u8]) -> Result<Env, Vec<Diagnostic>> {
        let base = Env { base: self.env.base.clone(), ..Env::default() };
        let checked = self.check_bytes(name, bytes, base);
        if checked.diags.iter().any(Diagnostic::is_error) {
            return Err(checked.diags);
        }
        for (item, _) in &checked.items {
            match item {
                Item::Expr(e) => {
                    self.machine.eval(e, None).map_err(|e| vec![e.diag])?;
                }
                item => self.define(item).map_err(|d| vec![*d])?,
            }
        }
        Ok(checked.env)
    }
}
