//! Cells: entries of the REPL, of a notebook, of `adl -e`. Item by item, up to the first error.

use crate::Session;
use crate::echo::Echo;
use crate::refine::refine;
use crate::run::Outcome;
use adl_interp::value::Value;
use adl_syntax::ast::{self, ItemKind};
use adl_syntax::diag::Diagnostic;
use adl_syntax::span::{FileId, Span};
use adl_syntax::symbol::Symbol;
use adl_typing::core::{Def, Item};
use adl_typing::env::{Env, Global};
use adl_typing::ty::Scheme;
use std::rc::Rc;

impl Session {
    /// Runs a cell or REPL entry, item by item, up to the first error. An item that fails changes nothing.
    pub fn eval(&mut self, text: &str) -> Outcome {
        self.eval_cell(&format!("<{}>", self.entries + 1), text)
    }

    /// The same; messages call the text by a name.
    pub fn eval_cell(&mut self, name: &str, text: &str) -> Outcome {
        let done = self.guarded(|s| {
            s.forget_roads();
            let out = s.eval_text(name, text);
            s.failures += usize::from(!out.ok());
            if out.ok() && !text.trim().is_empty() {
                s.history.push(text.trim_end().to_owned());
            }
            out
        });
        done.unwrap_or_else(|d| Outcome::of(*d))
    }

    pub(crate) fn eval_entry(&mut self, text: &str) -> Outcome {
        self.eval_text(&format!("<{}>", self.entries + 1), text)
    }

    fn eval_text(&mut self, name: &str, text: &str) -> Outcome {
        self.entries += 1;
        self.tables.looked_for = 0;
        let file = self.add_source(name, text);
        let (program, diags) = adl_syntax::parse(file, text);
        let mut out = Outcome { diags, ..Outcome::default() };
        if !out.ok() {
            return out;
        }
        for item in &program.items {
            if let Err(diags) = self.eval_item(item, file, &mut out) {
                diags.into_iter().for_each(|d| out.stopped(d));
                break;
            }
        }
        out.diags.append(&mut self.import_warnings);
        out
    }

    fn eval_item(&mut self, item: &ast::Item, file: FileId, out: &mut Outcome) -> Result<(), Vec<Diagnostic>> {
        if matches!(item.kind, ItemKind::Import { .. }) {
            return self.eval_import(item, file);
        }
        let checked = self.check(&self.env.clone(), item, false);
        let (warnings, errors): (Vec<_>, Vec<_>) = checked.diags.into_iter().partition(|d| !d.is_error());
        out.diags.extend(warnings);
        if !errors.is_empty() {
            return Err(errors);
        }
        match checked.item {
            Some(Item::Defs(defs)) => {
                let group = Item::Defs(defs);
                self.define(&group).map_err(|d| vec![*d])?;
                self.take_names(checked.env, &group);
                self.echo_definitions(group, item.span, out);
            }
            Some(Item::Expr(e)) => {
                let v = self.machine.eval(&e, None).map_err(|e| vec![e.diag])?;
                self.env = checked.env;
                let scheme = checked.scheme.unwrap_or_else(|| Scheme::mono(e.ty.clone()));
                self.echo_value(v, scheme, item.span, out);
            }
            Some(Item::Test(..) | Item::Bench(..) | Item::Nothing) | None => self.env = checked.env,
        }
        Ok(())
    }

    fn eval_import(&mut self, item: &ast::Item, file: FileId) -> Result<(), Vec<Diagnostic>> {
        // Whoever imports a file again that changed wants it as it is now.
        for changed in self.changed_imports() {
            self.files.remove(&changed);
        }
        let (_, module) = self.import(&self.env.clone(), item, file)?;
        if let Some(m) = &module {
            self.run_module(m).map_err(|d| vec![*d])?;
        }
        // Again, for the types that its values turned out to have.
        self.env = self.import(&self.env.clone(), item, file)?.0;
        Ok(())
    }

    /// From now on the names of a group mean what it defines.
    fn take_names(&mut self, env: Env, group: &Item) {
        let before = std::mem::replace(&mut self.env, env);
        let Item::Defs(defs) = group else { return };
        defs.iter().filter_map(|d| d.name).for_each(|n| self.loses(before.values.get(&n)));
    }

    /// Says what was defined.
    fn echo_definitions(&mut self, group: Item, span: Span, out: &mut Outcome) {
        let Item::Defs(defs) = group else { return };
        defs.iter().filter_map(|d| d.name).for_each(|n| self.set_text(n, span));
        for d in &defs {
            let echo = self.defined(d);
            out.echoes.extend(echo);
        }
    }

    /// Echoes a value, and keeps it under the name `it`.
    fn echo_value(&mut self, v: Value, mut scheme: Scheme, span: Span, out: &mut Outcome) {
        if matches!(v, Value::Unit) {
            return;
        }
        scheme.ty = refine(&scheme.ty, &v, span, &self.tables);
        if adl_interp::ir::road::table::inside(&v).is_some() {
            self.watch(v.clone(), None);
        }
        out.echoes.push(Echo { name: None, ty: self.type_text(&scheme), of: Some(scheme.ty.clone()), shown: v.clone() });
        let id = self.tables.global();
        self.machine.set_global(id, v);
        let g = Global { id, scheme: Rc::new(scheme), span, doc: None, alias: None };
        let it = Symbol::new("it");
        let before = self.env.values.get(&it).cloned();
        self.env.values.insert_mut(it, g);
        self.loses(before.as_ref());
    }

    /// Gives a definition its true sizes, and says what it is.
    fn defined(&mut self, d: &Def) -> Option<Echo> {
        let name = d.name?;
        let v = self.machine.global(d.global)?.clone();
        let mut scheme = d.scheme.clone();
        if scheme.vars.is_empty() {
            scheme.ty = refine(&scheme.ty, &v, d.span, &self.tables);
            self.env.set_type(name, scheme.clone());
        }
        Some(Echo { name: Some(name.to_string()), ty: self.type_text(&scheme), of: Some(scheme.ty), shown: v })
    }

    /// The type of an expression, not run.
    pub fn type_of(&mut self, text: &str) -> Result<String, Vec<Diagnostic>> {
        self.guarded(|s| s.type_of_text(text)).unwrap_or_else(|d| Err(vec![*d]))
    }

    fn type_of_text(&mut self, text: &str) -> Result<String, Vec<Diagnostic>> {
        let file = self.add_source("<type>", text);
        let (program, diags) = adl_syntax::parse(file, text);
        if diags.iter().any(Diagnostic::is_error) {
            return Err(diags);
        }
        let Some(item) = program.items.first() else { return Ok(String::new()) };
        // A name says its whole scheme.
        if let ItemKind::Expr(ast::Expr { kind: ast::ExprKind::Var(name), .. }) = &item.kind {
            if let Some(t) = self.type_of_name(name.as_str()) {
                return Ok(t);
            }
        }
        let checked = self.check(&self.env.clone(), item, false);
        if checked.diags.iter().any(Diagnostic::is_error) {
            return Err(checked.diags);
        }
        Ok(match checked.item {
            Some(Item::Expr(e)) => self.type_text(&checked.scheme.unwrap_or_else(|| Scheme::mono(e.ty.clone()))),
            Some(Item::Defs(defs)) => defs.last().map_or(String::new(), |d| self.type_text(&d.scheme)),
            _ => String::new(),
        })
    }
}
