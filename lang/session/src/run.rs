//! Running files, cells and expressions.

use crate::Session;
use crate::refine::refine;
use adl_interp::value::{Value, show};
use adl_syntax::ast::{self, ItemKind};
use adl_syntax::diag::Diagnostic;
use adl_syntax::span::FileId;
use adl_syntax::symbol::Symbol;
use adl_typing::core::{Def, Item};
use adl_typing::env::{Env, Global};
use adl_typing::ty::Scheme;
use std::rc::Rc;
use std::sync::atomic::Ordering;

/// What a cell shows of an item.
#[derive(Clone, Debug)]
pub struct Echo {
    /// The name that it defines; `None` for an expression.
    pub name: Option<String>,
    /// The value as text.
    pub value: String,
    /// The value laid out on several lines, where that reads better: matrices, tables.
    pub layout: Option<String>,
    /// Its type as text, with true sizes.
    pub ty: String,
}

/// What running a text gives.
#[derive(Default)]
pub struct Outcome {
    /// Of a cell: definitions and values.
    pub echoes: Vec<Echo>,
    /// Errors and warnings.
    pub diags: Vec<Diagnostic>,
    /// Whether it was stopped by an interrupt.
    pub interrupted: bool,
}

impl Outcome {
    /// Whether nothing went wrong.
    pub fn ok(&self) -> bool {
        !self.diags.iter().any(Diagnostic::is_error)
    }
}

/// A text that was checked whole.
pub(crate) struct CheckedText {
    pub items: Vec<(Item, Option<String>)>,
    pub spans: Vec<adl_syntax::span::Span>,
    pub env: Env,
    pub diags: Vec<Diagnostic>,
}

impl Session {
    /// Parses and checks bytes as a file.
    pub(crate) fn check_bytes(&mut self, name: &str, bytes: &[u8], env: Env) -> CheckedText {
        let text = match std::str::from_utf8(bytes) {
            Ok(t) => t.to_owned(),
            Err(_) => {
                let file = self.sources.add(name, String::from_utf8_lossy(bytes));
                let diags = adl_syntax::parser::decode(file, bytes).err().map(|d| *d).into_iter().collect();
                return CheckedText { items: Vec::new(), spans: Vec::new(), env, diags };
            }
        };
        let file = self.sources.add(name, text.as_str());
        let (program, diags) = adl_syntax::parse(file, &text);
        let mut out = CheckedText { items: Vec::new(), spans: Vec::new(), env, diags };
        for item in &program.items {
            self.check_into(&mut out, item, file);
        }
        out
    }

    fn check_into(&mut self, out: &mut CheckedText, item: &ast::Item, file: FileId) {
        if matches!(item.kind, ItemKind::Import { .. }) {
            match self.import(&out.env.clone(), item, file) {
                Ok(env) => out.env = env,
                Err(diags) => out.diags.extend(diags),
            }
            return;
        }
        let checked = self.check(&out.env.clone(), item, false);
        out.diags.extend(checked.diags);
        out.env = checked.env;
        if let Some(core) = checked.item {
            out.items.push((core, item.doc.clone()));
            out.spans.push(item.span);
        }
    }

    /// Checks a file: all its errors and warnings.
    pub fn check_file(&mut self, name: &str, bytes: &[u8]) -> Vec<Diagnostic> {
        let env = self.env.clone();
        self.check_bytes(name, bytes, env).diags
    }

    /// Checks a file whole, then runs it. What it defines stays in scope.
    pub fn run_file(&mut self, name: &str, bytes: &[u8]) -> Outcome {
        let env = self.env.clone();
        let checked = self.check_bytes(name, bytes, env);
        let mut out = Outcome { diags: checked.diags, ..Outcome::default() };
        if !out.ok() {
            return out;
        }
        for (item, _) in &checked.items {
            let result = match item {
                Item::Expr(e) => self.machine.eval(e, None).map(|_| ()).map_err(|e| Box::new(e.diag)),
                item => self.define(item),
            };
            if let Err(d) = result {
                out.interrupted = d.code == "E0708";
                out.diags.push(*d);
                return out;
            }
        }
        for ((item, _), span) in checked.items.iter().zip(&checked.spans) {
            if let Item::Defs(defs) = item {
                self.texts.extend(defs.iter().filter_map(|d| d.name).map(|n| (n, *span)));
            }
        }
        self.env = checked.env;
        out
    }

    /// Runs a cell or REPL entry, item by item, up to the first error.
    pub fn eval(&mut self, text: &str) -> Outcome {
        let out = self.eval_entry(text);
        self.failures += usize::from(!out.ok());
        if out.ok() && !text.trim().is_empty() {
            self.history.push(text.trim_end().to_owned());
        }
        out
    }

    fn eval_entry(&mut self, text: &str) -> Outcome {
        self.entries += 1;
        let file = self.sources.add(format!("<{}>", self.entries), text);
        let (program, diags) = adl_syntax::parse(file, text);
        let mut out = Outcome { diags, ..Outcome::default() };
        if !out.ok() {
            return out;
        }
        for item in &program.items {
            if let Err(diags) = self.eval_item(item, file, &mut out) {
                out.interrupted = diags.iter().any(|d| d.code == "E0708");
                out.diags.extend(diags);
                return out;
            }
        }
        out
    }

    fn eval_item(&mut self, item: &ast::Item, file: FileId, out: &mut Outcome) -> Result<(), Vec<Diagnostic>> {
        if matches!(item.kind, ItemKind::Import { .. }) {
            self.env = self.import(&self.env.clone(), item, file)?;
            return Ok(());
        }
        let span = item.span;
        let checked = self.check(&self.env.clone(), item, false);
        let (warnings, errors): (Vec<_>, Vec<_>) = checked.diags.into_iter().partition(|d| !d.is_error());
        out.diags.extend(warnings);
        if !errors.is_empty() {
            return Err(errors);
        }
        match checked.item {
            Some(Item::Defs(defs)) => {
                let item = Item::Defs(defs);
                self.define(&item).map_err(|d| vec![*d])?;
                self.env = checked.env;
                if let Item::Defs(defs) = &item {
                    self.texts.extend(defs.iter().filter_map(|d| d.name).map(|n| (n, span)));
                }
                if let Item::Defs(defs) = item {
                    for d in &defs {
                        out.echoes.extend(self.defined(d));
                    }
                }
            }
            Some(Item::Expr(e)) => {
                let v = self.machine.eval(&e, None).map_err(|e| vec![e.diag])?;
                self.env = checked.env;
                let ty = refine(&e.ty, &v);
                let scheme = Scheme::mono(ty.clone());
                if !matches!(v, Value::Unit) {
                    out.echoes.push(Echo { name: None, value: show::show(&v), layout: adl_interp::value::layout::layout(&v), ty: self.type_text(&scheme) });
                }
                self.bind_it(v, scheme, item.span);
            }
            Some(Item::Test(..) | Item::Bench(..) | Item::Nothing) | None => self.env = checked.env,
        }
        Ok(())
    }

    /// The last value under the name `it`.
    fn bind_it(&mut self, v: Value, scheme: Scheme, span: adl_syntax::span::Span) {
        let id = self.tables.global();
        self.machine.set_global(id, v);
        let g = Global { id, scheme: Rc::new(scheme), span, doc: None, alias: None };
        Rc::make_mut(&mut self.env.values).insert(Symbol::new("it"), g);
    }

    /// Gives a definition its true sizes, and says what it is.
    fn defined(&mut self, d: &Def) -> Option<Echo> {
        let name = d.name?;
        let v = self.machine.global(d.global)?.clone();
        let mut scheme = d.scheme.clone();
        if scheme.vars.is_empty() {
            scheme.ty = refine(&scheme.ty, &v);
            self.env.set_type(name, scheme.clone());
        }
        let value = match &v {
            Value::Fun(_) => String::new(),
            v => show::show(v),
        };
        Some(Echo { name: Some(name.to_string()), value, layout: adl_interp::value::layout::layout(&v), ty: self.type_text(&scheme) })
    }

    /// The type of an expression, not run.
    pub fn type_of(&mut self, text: &str) -> Result<String, Vec<Diagnostic>> {
        self.entries += 1;
        let file = self.sources.add(format!("<{}>", self.entries), text);
        let (program, diags) = adl_syntax::parse(file, text);
        if diags.iter().any(Diagnostic::is_error) {
            return Err(diags);
        }
        let Some(item) = program.items.first() else { return Ok(String::new()) };
        // A name says its whole scheme.
        if let ItemKind::Expr(ast::Expr { kind: ast::ExprKind::Var(name), .. }) = &item.kind {
            if let Some(g) = self.env.value(*name) {
                return Ok(self.type_text(&g.scheme.clone()));
            }
        }
        let checked = self.check(&self.env.clone(), item, false);
        if checked.diags.iter().any(Diagnostic::is_error) {
            return Err(checked.diags);
        }
        Ok(match checked.item {
            Some(Item::Expr(e)) => self.type_text(&Scheme::mono(e.ty)),
            Some(Item::Defs(defs)) => defs.last().map_or(String::new(), |d| self.type_text(&d.scheme)),
            _ => String::new(),
        })
    }

    /// Forgets an interrupt that was asked for before.
    pub fn clear_interrupt(&self) {
        self.machine.interrupt.store(false, Ordering::Relaxed);
    }
}
