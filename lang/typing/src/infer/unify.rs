//! Unification with reasons, and class constraints.

use super::{Infer, Why};
use crate::ty::{Class, DataId, RecordTy, Size, Ty};
use adl_syntax::diag::Diagnostic;
use adl_syntax::span::Span;
use adl_syntax::symbol::Symbol;
use std::rc::Rc;

/// Why two types do not unify.
pub(crate) enum Clash {
    Types,
    Sizes(u64, u64),
    Infinite,
    /// A linear function was wanted.
    Linear,
    Field(Symbol),
    Class(Class, Span, &'static str, Ty),
    Rigid,
}

impl Infer<'_> {
    /// Makes `actual` fit where `expected` is wanted; reports and goes on where it does not.
    pub(super) fn expect(&mut self, expected: &Ty, actual: &Ty, span: Span, why: &Why) -> bool {
        match self.unify(expected, actual) {
            Ok(()) => true,
            Err(clash) => {
                let d = self.clash(clash, expected, actual, span, why);
                self.report(d);
                false
            }
        }
    }

    fn clash(&self, clash: Clash, expected: &Ty, actual: &Ty, span: Span, why: &Why) -> Diagnostic {
        let (e, a) = (self.show(expected), self.show(actual));
        let what = &why.what;
        let mut d = match clash {
            Clash::Sizes(m, n) => return self.size_clash(m, n, &e, &a, span, why),
            Clash::Types | Clash::Rigid => Diagnostic::error("E0203", span, format!("{what} has type {a}, but {e} is wanted")).label(a.clone()),
            Clash::Infinite => Diagnostic::error("E0208", span, format!("{what} has type {a}, and {e} is wanted: one would contain itself")),
            Clash::Linear => Diagnostic::error("E0211", span, format!("{what} is a function of type {a}, but a linear function ({e}) is wanted"))
                .hint("write it as `lin x -> ...`, or take it from `linearize`, `vjp` or `transpose`"),
            Clash::Field(f) => Diagnostic::error("E0206", span, format!("{what} has type {a}, but {e} is wanted: field `{f}` is in one of them only")),
            Clash::Class(c, place, op, t) => return self.class_error(c, place, op, &t, span),
        };
        if let Some((s, text)) = &why.from {
            d = d.also(*s, text.clone());
        }
        if let Some(hint) = self.mismatch_hint(expected, actual) {
            d = d.hint(hint);
        }
        d
    }

    /// A suggestion for common slips.
    fn mismatch_hint(&self, expected: &Ty, actual: &Ty) -> Option<String> {
        match (self.resolve(expected), self.resolve(actual)) {
            (Ty::Float | Ty::F32 | Ty::Int, Ty::Array(..)) => Some("to apply a function of one number to each element, use `map f xs`".into()),
            (Ty::Float, Ty::Int) => Some("convert with `float n`; a literal is a Float with a point: `3.0`".into()),
            (Ty::Int, Ty::Float) => Some("convert with `int x`".into()),
            (Ty::Str, _) => Some("convert with `show x`, or write f\"... {x} ...\"".into()),
            (_, Ty::Fun(..)) if !matches!(self.resolve(expected), Ty::Fun(..) | Ty::Meta(_)) => Some("is an argument missing?".into()),
            _ => None,
        }
    }

    fn size_clash(&self, m: u64, n: u64, e: &str, a: &str, span: Span, why: &Why) -> Diagnostic {
        let mut d = Diagnostic::error("E0301", span, format!("{a} does not match {e}: size {n} against size {m} ({})", why.what));
        let mut placed = false;
        for k in [n, m] {
            if let Some((_, s)) = self.size_spans.iter().rev().find(|(size, _)| *size == k) {
                d = d.also(*s, format!("size {k} is from here"));
                placed = true;
            }
        }
        if let (false, Some((s, text))) = (placed, &why.from) {
            d = d.also(*s, text.clone());
        }
        d
    }

    pub(super) fn class_error(&self, class: Class, place: Span, op: &str, t: &Ty, span: Span) -> Diagnostic {
        let shown = self.show(t);
        let t = self.resolve(t);
        let wants = match class {
            Class::Eq => "values that can be compared",
            Class::Ord => "values that have an order",
            Class::Show => "values that can be shown",
            Class::Num => "numbers",
            Class::Real => "real numbers",
            Class::Diff => "data that can be differentiated",
            Class::Data => "plain data",
        };
        let code = if class == Class::Diff { "E0601" } else { "E0205" };
        let text = match op {
            "a number" | "a real number" => format!("{op} stands where {shown} is wanted"),
            _ => format!("{op} needs {wants}, and this is {shown}"),
        };
        let mut d = Diagnostic::error(code, span, text).label(shown.clone());
        if place != span && place != Span::default() {
            d = d.also(place, format!("wanted by {op}"));
        }
        match (class, &t) {
            (Class::Num | Class::Real, Ty::Str) => d.hint("to join texts use `++`"),
            (Class::Real, Ty::Int) => d.hint("convert with `float n`, or divide whole numbers with `//`"),
            (Class::Num | Class::Real, Ty::Array(..)) => d.hint("to apply a function of one number to each element, use `map f xs`"),
            (Class::Num | Class::Real, Ty::Fun(..)) => d.hint("is an argument missing?"),
            (Class::Diff, Ty::Fun(..) | Ty::Lin(..)) => d.hint("a function has no tangent: return the data that it computes"),
            (Class::Eq | Class::Ord, Ty::Fun(..) | Ty::Lin(..)) => d.hint("functions cannot be compared"),
            (_, Ty::Var(v)) => match self.rigid.get(v) {
                Some((_, name)) => d.hint(format!("add the constraint to the signature: `{class:?} {name} => ...`")),
                None => d,
            },
            _ => d,
        }
    }

    pub(super) fn unify(&mut self, expected: &Ty, actual: &Ty) -> Result<(), Clash> {
        stacker::maybe_grow(32 * 1024, 1024 * 1024, || self.unify_inner(expected, actual))
    }

    fn unify_inner(&mut self, expected: &Ty, actual: &Ty) -> Result<(), Clash> {
        let (e, a) = (self.resolve(expected), self.resolve(actual));
        match (&e, &a) {
            (Ty::Meta(m), Ty::Meta(n)) if m == n => Ok(()),
            (Ty::Meta(m), Ty::Meta(n)) => self.join_metas(*m, *n),
            (Ty::Meta(m), t) | (t, Ty::Meta(m)) => self.bind(*m, t),
            (Ty::Unit, Ty::Unit) | (Ty::Bool, Ty::Bool) | (Ty::Int, Ty::Int) | (Ty::Float, Ty::Float) | (Ty::F32, Ty::F32) | (Ty::Str, Ty::Str) => Ok(()),
            (Ty::Var(v), Ty::Var(w)) if v == w => Ok(()),
            (Ty::Fun(p, r), Ty::Fun(q, s) | Ty::Lin(q, s)) | (Ty::Lin(p, r), Ty::Lin(q, s)) => {
                self.unify(q, p)?;
                self.unify(r, s)
            }
            (Ty::Lin(..), Ty::Fun(..)) => Err(Clash::Linear),
            (Ty::Tuple(p), Ty::Tuple(q)) if p.len() == q.len() => {
                p.iter().zip(q.iter()).try_for_each(|(p, q)| self.unify(p, q))
            }
            (Ty::Array(m, p), Ty::Array(n, q)) => {
                self.unify(p, q)?;
                self.unify_size(*m, *n)
            }
            (Ty::Data(i, p), Ty::Data(j, q)) if i == j => p.iter().zip(q.iter()).try_for_each(|(p, q)| self.unify(p, q)),
            (Ty::Record(p), Ty::Record(q)) => self.unify_records(p, q),
            (Ty::Var(_), _) | (_, Ty::Var(_)) => Err(Clash::Rigid),
            _ => Err(Clash::Types),
        }
    }

    /// The newer is bound to the older, so that many that become one do not make a long chain.
    fn join_metas(&mut self, m: u32, n: u32) -> Result<(), Clash> {
        let (m, n) = (m.max(n), m.min(n));
        let a = self.metas[m as usize].clone();
        let b = &mut self.metas[n as usize];
        b.level = b.level.min(a.level);
        b.scalar |= a.scalar;
        b.row |= a.row;
        b.name = b.name.or(a.name);
        for c in a.classes {
            if !b.classes.iter().any(|d| d.0 == c.0) {
                b.classes.push(c);
            }
        }
        self.metas[m as usize].bound = Some(Ty::Meta(n));
        Ok(())
    }

    fn bind(&mut self, m: u32, t: &Ty) -> Result<(), Clash> {
        if self.occurs(m, t) {
            return Err(Clash::Infinite);
        }
        let meta = self.metas[m as usize].clone();
        self.lower(t, meta.level);
        if meta.scalar && !matches!(t, Ty::Int | Ty::Float | Ty::F32 | Ty::Var(_)) {
            let (class, place, op) = meta.classes.first().copied().unwrap_or((Class::Num, Span::default(), "an operation"));
            return Err(if matches!(t, Ty::Array(..)) { Clash::Types } else { Clash::Class(class, place, op, t.clone()) });
        }
        self.metas[m as usize].bound = Some(t.clone());
        for (class, place, op) in meta.classes {
            if let Err(part) = self.has_class(class, t, place, op) {
                self.metas[m as usize].bound = None;
                return Err(Clash::Class(class, place, op, part));
            }
        }
        Ok(())
    }

    fn occurs(&self, m: u32, t: &Ty) -> bool {
        stacker::maybe_grow(32 * 1024, 1024 * 1024, || self.occurs_in(m, t))
    }

    fn occurs_in(&self, m: u32, t: &Ty) -> bool {
        match self.resolve(t) {
            Ty::Meta(n) => n == m,
            Ty::Fun(a, b) | Ty::Lin(a, b) => self.occurs(m, &a) || self.occurs(m, &b),
            Ty::Tuple(parts) => parts.iter().any(|p| self.occurs(m, p)),
            Ty::Array(_, e) => self.occurs(m, &e),
            Ty::Data(_, args) => args.iter().any(|p| self.occurs(m, p)),
            Ty::Record(r) => r.fields.iter().any(|(_, t)| self.occurs(m, t)) || r.tail.as_ref().is_some_and(|t| self.occurs(m, t)),
            Ty::Unit | Ty::Bool | Ty::Int | Ty::Float | Ty::F32 | Ty::Str | Ty::Var(_) => false,
        }
    }

    /// Metas inside belong to the outer level from now on.
    pub(super) fn lower(&mut self, t: &Ty, level: u32) {
        stacker::maybe_grow(32 * 1024, 1024 * 1024, || self.lower_parts(t, level));
    }

    fn lower_parts(&mut self, t: &Ty, level: u32) {
        match self.resolve(t) {
            Ty::Meta(n) => {
                let meta = &mut self.metas[n as usize];
                meta.level = meta.level.min(level);
            }
            Ty::Fun(a, b) | Ty::Lin(a, b) => {
                self.lower(&a, level);
                self.lower(&b, level);
            }
            Ty::Tuple(parts) | Ty::Data(_, parts) => parts.iter().for_each(|p| self.lower(p, level)),
            Ty::Array(n, e) => {
                if let Size::Meta(k) = self.resolve_size(n) {
                    let l = &mut self.size_levels[k as usize];
                    *l = (*l).min(level);
                }
                self.lower(&e, level);
            }
            Ty::Record(r) => {
                r.fields.iter().for_each(|(_, t)| self.lower(t, level));
                if let Some(t) = &r.tail {
                    self.lower(t, level);
                }
            }
            Ty::Unit | Ty::Bool | Ty::Int | Ty::Float | Ty::F32 | Ty::Str | Ty::Var(_) => {}
        }
    }

    pub(super) fn unify_size(&mut self, m: Size, n: Size) -> Result<(), Clash> {
        match (self.resolve_size(m), self.resolve_size(n)) {
            (Size::Meta(a), Size::Meta(b)) if a == b => Ok(()),
            (Size::Meta(a), s) | (s, Size::Meta(a)) => {
                if let Size::Meta(b) = s {
                    let l = self.size_levels[a as usize].min(self.size_levels[b as usize]);
                    self.size_levels[b as usize] = l;
                }
                self.sizes[a as usize] = Some(s);
                Ok(())
            }
            (Size::Const(a), Size::Const(b)) if a != b => Err(Clash::Sizes(a, b)),
            _ => Ok(()),
        }
    }

    fn unify_records(&mut self, p: &Rc<RecordTy>, q: &Rc<RecordTy>) -> Result<(), Clash> {
        let (p, q) = (self.open_record(p), self.open_record(q));
        let (mut only_p, mut only_q) = (Vec::new(), Vec::new());
        for (name, t) in &p.fields {
            match q.fields.iter().find(|(n, _)| n == name) {
                Some((_, u)) => self.unify(t, u)?,
                None => only_p.push((*name, t.clone())),
            }
        }
        for (name, t) in &q.fields {
            if !p.fields.iter().any(|(n, _)| n == name) {
                only_q.push((*name, t.clone()));
            }
        }
        match (&p.tail, &q.tail) {
            (None, None) => match only_p.first().or(only_q.first()) {
                Some((f, _)) => Err(Clash::Field(*f)),
                None => Ok(()),
            },
            (Some(r), None) => self.close_row(r, only_q, None, only_p),
            (None, Some(r)) => self.close_row(r, only_p, None, only_q),
            (Some(r), Some(s)) => {
                if self.resolve(r) == self.resolve(s) {
                    return match only_p.first().or(only_q.first()) {
                        Some((f, _)) => Err(Clash::Field(*f)),
                        None => Ok(()),
                    };
                }
                let rest = self.row_meta();
                self.bind_row(r, only_q, Some(rest.clone()))?;
                self.bind_row(s, only_p, Some(rest))
            }
        }
    }

    fn close_row(&mut self, row: &Ty, fields: Vec<(Symbol, Ty)>, tail: Option<Ty>, lost: Vec<(Symbol, Ty)>) -> Result<(), Clash> {
        if let Some((f, _)) = lost.first() {
            return Err(Clash::Field(*f));
        }
        self.bind_row(row, fields, tail)
    }

    fn bind_row(&mut self, row: &Ty, fields: Vec<(Symbol, Ty)>, tail: Option<Ty>) -> Result<(), Clash> {
        let t = Ty::Record(Rc::new(RecordTy { fields, tail }));
        match self.resolve(row) {
            Ty::Meta(m) => self.bind(m, &t),
            _ => match &t {
                Ty::Record(r) if r.fields.is_empty() && r.tail.is_none() => Ok(()),
                _ => Err(Clash::Rigid),
            },
        }
    }

    pub(super) fn row_meta(&mut self) -> Ty {
        let t = self.meta();
        if let Ty::Meta(m) = t {
            self.metas[m as usize].row = true;
        }
        t
    }

    /// A record with the known part of its row joined in.
    pub(super) fn open_record(&self, r: &Rc<RecordTy>) -> RecordTy {
        let mut out = RecordTy { fields: r.fields.clone(), tail: None };
        let mut tail = r.tail.clone();
        while let Some(t) = tail {
            match self.resolve(&t) {
                Ty::Record(more) => {
                    out.fields.extend(more.fields.iter().cloned());
                    tail = more.tail.clone();
                }
                t => {
                    out.tail = Some(t);
                    break;
                }
            }
        }
        out
    }

    /// Requires a class; reports where the type has it not.
    pub(super) fn require(&mut self, class: Class, t: &Ty, span: Span, op: &'static str) {
        if let Err(part) = self.has_class(class, t, span, op) {
            let d = self.class_error(class, span, op, &part, span);
            self.report(d);
        }
    }

    /// Adds the constraint to metas, checks it on known types; the part that fails otherwise.
    pub(super) fn has_class(&mut self, class: Class, t: &Ty, span: Span, op: &'static str) -> Result<(), Ty> {
        self.class_of(class, t, span, op, &mut Vec::new())
    }

    fn class_of(&mut self, class: Class, t: &Ty, span: Span, op: &'static str, seen: &mut Vec<DataId>) -> Result<(), Ty> {
        stacker::maybe_grow(32 * 1024, 1024 * 1024, || self.class_of_parts(class, t, span, op, seen))
    }

    fn class_of_parts(&mut self, class: Class, t: &Ty, span: Span, op: &'static str, seen: &mut Vec<DataId>) -> Result<(), Ty> {
        let t = self.resolve(t);
        match &t {
            Ty::Meta(m) => {
                let classes = &mut self.metas[*m as usize].classes;
                if !classes.iter().any(|c| c.0 == class) {
                    classes.push((class, span, op));
                }
                Ok(())
            }
            Ty::Int => if class == Class::Real { Err(t) } else { Ok(()) },
            Ty::Float | Ty::F32 => Ok(()),
            Ty::Bool | Ty::Str | Ty::Unit => if matches!(class, Class::Num | Class::Real) { Err(t) } else { Ok(()) },
            Ty::Fun(..) | Ty::Lin(..) => if class == Class::Show { Ok(()) } else { Err(t) },
            Ty::Var(v) => {
                let given = self.rigid.get(v).is_none_or(|(classes, _)| classes.iter().any(|c| implies(*c, class)));
                if given || class == Class::Show { Ok(()) } else { Err(t) }
            }
            Ty::Tuple(_) | Ty::Array(..) | Ty::Record(_) | Ty::Data(..) if matches!(class, Class::Num | Class::Real) => Err(t),
            Ty::Tuple(parts) => parts.iter().try_for_each(|p| self.class_of(class, p, span, op, seen)),
            Ty::Array(_, e) => self.class_of(class, e, span, op, seen),
            Ty::Record(r) => {
                let r = self.open_record(r);
                r.fields.iter().try_for_each(|(_, t)| self.class_of(class, t, span, op, seen))?;
                match &r.tail {
                    Some(tail) => self.class_of(class, tail, span, op, seen),
                    None => Ok(()),
                }
            }
            Ty::Data(id, args) => {
                args.iter().try_for_each(|p| self.class_of(class, p, span, op, seen))?;
                if seen.contains(id) || class == Class::Show {
                    return Ok(());
                }
                seen.push(*id);
                let Some(decl) = self.tables.datas.get(id).cloned() else { return Ok(()) };
                let fields: Vec<Ty> = decl.cons.iter().flat_map(|c| c.fields.clone()).collect();
                // Parameters of the declaration count as good: the arguments were checked above.
                fields.iter().filter(|f| !matches!(f, Ty::Var(_))).try_for_each(|f| self.class_of(class, f, span, op, seen).map_err(|_| t.clone()))
            }
        }
    }
}

/// Whether a variable with the first class has the second.
pub(super) fn implies(has: Class, wants: Class) -> bool {
    has == wants
        || match has {
            Class::Real => matches!(wants, Class::Num | Class::Eq | Class::Ord | Class::Show | Class::Diff | Class::Data),
            Class::Num => matches!(wants, Class::Eq | Class::Ord | Class::Show | Class::Diff | Class::Data),
            Class::Ord => wants == Class::Eq,
            Class::Eq | Class::Show | Class::Diff | Class::Data => false,
        }
}
