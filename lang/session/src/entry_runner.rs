//! Cells: entries of the REPL, of a notebook, or of `adl -e`. They run item by item, up to the first error.

use crate::Session;
use crate::echo::Echo;
use crate::refine::refine;
use crate::run::Outcome;
use crate::saved::{LAST_VALUES, RanEntry};
use adl_interp::value::Value;
use adl_syntax::ast::{self, ItemKind};
use adl_syntax::diag::Diagnostic;
use adl_syntax::span::{FileId, Span};
use adl_syntax::symbol::Symbol;
use adl_syntax::token::{P, Tok};
use adl_typing::core::{Def, Item};
use adl_typing::env::{Env, Global};
use adl_typing::ty::Scheme;
use std::ops::Range;
use std::rc::Rc;

/// The effect of an entry.
#[derive(Default)]
struct EntryEffect {
    /// The end of the last item that ran.
    end: usize,
    /// Whether it defined anything.
    defined: bool,
    /// The positions of the expressions whose values became `it`.
    values: Vec<Range<usize>>,
}

/// The end of each item including its trailing punctuation, and whether a semicolon there suppresses its echo.
fn ends(text: &str, items: &[ast::Item]) -> Vec<(usize, bool)> {
    let tokens = adl_syntax::lexer::lex(FileId::default(), text).tokens;
    let next = |i: usize| items.get(i + 1).map_or(text.len(), |n| n.span.lo as usize);
    let last =
        |end: usize| tokens[..tokens.partition_point(|t| (t.lo as usize) < end)].iter().rfind(|t| t.tok != Tok::End);
    (0..items.len()).map(|i| (next(i), last(next(i)).is_some_and(|t| t.tok == Tok::P(P::Semi)))).collect()
}

impl Session {
    /// Runs a cell or REPL entry item by item, up to the first error. An item that fails changes nothing.
    pub fn eval(&mut self, text: &str) -> Outcome {
        self.eval_cell(&format!("<{}>", self.counts.entries + 1), text)
    }

    /// Like `eval`; `name` is the name of the text in messages.
    pub fn eval_cell(&mut self, name: &str, text: &str) -> Outcome {
        let done = self.stoppable(|s| {
            s.clear_derivations();
            s.remember(text.trim_end());
            let (out, ran) = s.eval_text(name, text);
            s.counts.failures += usize::from(!out.ok());
            if !ran.defined {
                s.drop_last();
            }
            if ran.end > 0 {
                let text = text[..ran.end].trim_end().to_owned();
                s.history.push_back_mut(RanEntry { text, file: None, values: ran.values });
            }
            out
        });
        done.unwrap_or_else(|d| Outcome::of(*d))
    }

    pub(crate) fn eval_entry(&mut self, text: &str) -> Outcome {
        self.eval_text(&format!("<{}>", self.counts.entries + 1), text).0
    }

    fn eval_text(&mut self, name: &str, text: &str) -> (Outcome, EntryEffect) {
        self.counts.entries += 1;
        let file = self.add_source(name, text);
        let (program, diags) = adl_syntax::parse(file, text);
        self.begin_text(&program);
        let (mut out, mut done) = (Outcome { diags, ..Outcome::default() }, EntryEffect::default());
        if !out.ok() {
            return (out, done);
        }
        let ends = ends(text, &program.items);
        for (item, (end, muted)) in program.items.iter().zip(ends) {
            let before = (out.echoes.len(), self.counts.values);
            if let Err(diags) = self.eval_item(item, file, &mut out) {
                diags.into_iter().for_each(|d| out.stopped(d));
                break;
            }
            if matches!(item.kind, ItemKind::Types(_)) {
                crate::item_words::defined_names(item).into_iter().for_each(|n| self.record_source(n, item.span));
            }
            done.end = end;
            done.defined |= !matches!(item.kind, ItemKind::Expr(_) | ItemKind::Test { .. } | ItemKind::Bench { .. });
            if self.counts.values != before.1 {
                done.values.push(item.span.lo as usize..item.span.hi as usize);
            }
            if muted {
                out.echoes.truncate(before.0);
            }
        }
        out.diags.append(&mut self.import_warnings);
        (out, done)
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
        // Importing a changed file again must load its current text.
        for changed in self.changed_imports() {
            self.files.remove(&changed);
        }
        let (_, module) = self.import(&self.env.clone(), item, file)?;
        if let Some(m) = &module {
            self.run_module(m).map_err(|d| vec![*d])?;
        }
        // Repeats the import, so that the types include the sizes found at run time.
        self.env = self.import(&self.env.clone(), item, file)?.0;
        Ok(())
    }

    /// Binds the names of a group in the session's environment.
    fn take_names(&mut self, env: Env, group: &Item) {
        let before = std::mem::replace(&mut self.env, env);
        let Item::Defs(defs) = group else { return };
        defs.iter().filter_map(|d| d.name).for_each(|n| self.note_rebound(before.values.get(&n)));
    }

    /// Adds the echoes of a group's definitions.
    fn echo_definitions(&mut self, group: Item, span: Span, out: &mut Outcome) {
        let Item::Defs(defs) = group else { return };
        defs.iter().filter_map(|d| d.name).for_each(|n| self.record_source(n, span));
        for d in &defs {
            let echo = self.defined(d);
            out.echoes.extend(echo);
        }
    }

    /// A function's name, with the place in a file where it was defined.
    fn with_origin(&self, name: &str) -> String {
        let defined = name.split(' ').next().and_then(|n| self.env.values.get(&Symbol::new(n)));
        let Some((g, file)) = defined.and_then(|g| Some((g, self.sources.get(g.span.file)?))) else {
            return name.to_owned();
        };
        // An entry is on the screen, or in `:source`.
        let in_entry = file.name.starts_with('<');
        if in_entry { name.to_owned() } else { format!("{name}, {}:{}", file.name, file.line_col(g.span.lo).0) }
    }

    /// Echoes a value, and keeps it under the name `it`.
    fn echo_value(&mut self, value: Value, mut scheme: Scheme, span: Span, out: &mut Outcome) {
        if matches!(value, Value::Unit) {
            return;
        }
        scheme.ty = refine(&scheme.ty, &value, span, &self.tables);
        if adl_interp::ir::derive::table::inside(&value).is_some() {
            self.watch(value.clone(), None);
        }
        self.counts.values += 1;
        let text = self.sources.text(span).trim();
        let is_name = text.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '\''));
        let called = match &value {
            Value::Fun(_) if is_name => Some(text.to_owned()),
            Value::Fun(f) => Some(f.called().trim().to_owned()).filter(|n| !n.is_empty()),
            _ => None,
        };
        let called = called.map(|name| self.with_origin(&name));
        out.echoes.push(Echo {
            name: None,
            called,
            ty: self.type_text(&scheme),
            of: Some(self.sized(&scheme.ty, &value, span)),
            shown: value.clone(),
        });
        let id = self.tables.global();
        self.machine.set_global(id, value);
        let g = Global { id, scheme: Rc::new(scheme), span, doc: None, alias: None, arity: 0 };
        // The value before is `it1` from now on, and so on. A large one is let go: it would fill memory under a name that the user did not give it.
        let mut moved = Some(g);
        for name in LAST_VALUES.map(Symbol::new) {
            let new = std::mem::replace(&mut moved, self.env.values.get(&name).cloned());
            match new.filter(|g| name == Symbol::new(LAST_VALUES[0]) || !self.is_large(g)) {
                Some(new) => self.env.values.insert_mut(name, new),
                None => _ = self.env.values.remove_mut(&name),
            }
            self.note_rebound(moved.as_ref());
        }
    }

    /// Refines a definition's type by the sizes of its value, and returns its echo.
    fn defined(&mut self, d: &Def) -> Option<Echo> {
        let name = d.name?;
        let value = self.machine.global(d.global)?.clone();
        let mut scheme = d.scheme.clone();
        if scheme.vars.is_empty() {
            scheme.ty = refine(&scheme.ty, &value, d.span, &self.tables);
            self.env.set_type(name, scheme.clone());
        }
        Some(Echo {
            name: Some(name.to_string()),
            called: None,
            ty: self.type_text(&scheme),
            of: Some(scheme.ty),
            shown: value,
        })
    }

    /// The echo of an expression, without binding `it`.
    ///
    /// # Errors
    /// The errors of the text, or the error of its evaluation.
    pub fn echo_of(&mut self, text: &str) -> Result<Echo, Vec<Diagnostic>> {
        self.guarded(|s| {
            let (env, history, values) = (s.env.clone(), s.history.clone(), s.counts.values);
            let (mut out, _) = s.eval_text("<show>", text.trim_end().trim_end_matches(';'));
            (s.env, s.history, s.counts.values) = (env, history, values);
            match out.echoes.pop() {
                Some(e) if out.ok() => Ok(e),
                _ => Err(out.diags),
            }
        })
        .unwrap_or_else(|d| Err(vec![*d]))
    }

    /// The type of an expression, without evaluating it.
    pub fn type_of(&mut self, text: &str) -> Result<String, Vec<Diagnostic>> {
        self.stoppable(|s| s.type_of_text(text)).unwrap_or_else(|d| Err(vec![*d]))
    }

    /// Example shapes that a function of unknown ranks accepts; empty for anything else.
    pub fn shapes(&mut self, text: &str) -> Vec<String> {
        let found = self.guarded(|s| s.scheme_of_text(text).map(|scheme| s.shapes_of(&scheme)).unwrap_or_default());
        found.unwrap_or_default()
    }

    fn scheme_of_text(&mut self, text: &str) -> Option<Scheme> {
        if let Some(g) = self.env.value(Symbol::new(text.trim())) {
            return Some((*g.scheme).clone());
        }
        let file = self.add_source("<type>", text);
        let (program, diags) = adl_syntax::parse(file, text);
        let item = program.items.first().filter(|_| !diags.iter().any(Diagnostic::is_error))?;
        let checked = self.check(&self.env.clone(), item, false);
        match checked.item {
            Some(Item::Expr(_)) => checked.scheme,
            Some(Item::Defs(defs)) => defs.last().map(|d| d.scheme.clone()),
            _ => None,
        }
    }

    fn type_of_text(&mut self, text: &str) -> Result<String, Vec<Diagnostic>> {
        let file = self.add_source("<type>", text);
        let (program, diags) = adl_syntax::parse(file, text);
        if diags.iter().any(Diagnostic::is_error) {
            return Err(diags);
        }
        let Some(item) = program.items.first() else { return Ok(String::new()) };
        // The type of a plain name is its whole scheme.
        if let ItemKind::Expr(ast::Expr { kind: ast::ExprKind::Var(name), .. }) = &item.kind
            && let Some(t) = self.type_of_name(name.as_str())
        {
            return Ok(t);
        }
        if let Some(t) = self.type_of_member(text.trim()) {
            return Ok(t);
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
