//! Unification, and class constraints.

use super::Infer;
use super::unify_errors::UnifyError;
use crate::ty::{Class, DataId, RecordTy, Size, Ty, element_of_rows, implies, part_of_each};
use adl_syntax::span::Span;
use adl_syntax::stop;
use adl_syntax::symbol::Symbol;
use std::collections::HashMap;
use std::rc::Rc;

impl Infer<'_> {
    pub(super) fn unify(&mut self, expected: &Ty, actual: &Ty) -> Result<(), UnifyError> {
        stop::poll();
        stacker::maybe_grow(32 * 1024, 1024 * 1024, || self.unify_inner(expected, actual))
    }

    fn unify_inner(&mut self, expected: &Ty, actual: &Ty) -> Result<(), UnifyError> {
        let (e, a) = (self.resolve(expected), self.resolve(actual));
        match (&e, &a) {
            (Ty::Meta(m), Ty::Meta(n)) if m == n => Ok(()),
            (Ty::Meta(m), Ty::Meta(n)) => self.join_metas(*m, *n),
            (Ty::Meta(m), t) | (t, Ty::Meta(m)) => self.bind(*m, t),
            (Ty::Unit, Ty::Unit)
            | (Ty::Bool, Ty::Bool)
            | (Ty::Int, Ty::Int)
            | (Ty::Float, Ty::Float)
            | (Ty::F32, Ty::F32)
            | (Ty::Str, Ty::Str) => Ok(()),
            (Ty::Var(v), Ty::Var(w)) if v == w => Ok(()),
            (Ty::Fun(p, r), Ty::Fun(q, s) | Ty::Lin(q, s)) | (Ty::Lin(p, r), Ty::Lin(q, s)) => {
                self.unify(q, p)?;
                self.unify(r, s)
            }
            (Ty::Lin(..), Ty::Fun(..)) => Err(UnifyError::Linear),
            (Ty::Tuple(p), Ty::Tuple(q)) if p.len() == q.len() => {
                p.iter().zip(q.iter()).try_for_each(|(p, q)| self.unify(p, q))
            }
            (Ty::Array(m, p), Ty::Array(n, q)) => {
                self.unify(p, q)?;
                self.unify_size(*m, *n)
            }
            (Ty::Data(i, p), Ty::Data(j, q)) if i == j => {
                p.iter().zip(q.iter()).try_for_each(|(p, q)| self.unify(p, q))
            }
            (Ty::Record(p), Ty::Record(q)) => self.unify_records(p, q),
            (Ty::Var(_), _) | (_, Ty::Var(_)) => Err(UnifyError::Rigid),
            _ => Err(UnifyError::Types),
        }
    }

    fn join_metas(&mut self, m: u32, n: u32) -> Result<(), UnifyError> {
        // The older one is kept, so that chains stay short if many new variables meet an old one.
        let (newer, older) = (m.max(n), m.min(n));
        self.wake(newer);
        let meta = self.vars[newer].clone();
        // Operators that wait for the kept variable are woken only if more is known of it now.
        let had = &self.vars[older];
        if meta.scalar && !had.scalar || meta.classes.iter().any(|c| !had.classes.iter().any(|d| d.0 == c.0)) {
            self.wake(older);
        }
        self.vars.lower_type(older, meta.level);
        let b = &mut self.vars[older];
        b.scalar |= meta.scalar;
        b.row |= meta.row;
        b.name = b.name.or(meta.name);
        for c in meta.classes {
            if !b.classes.iter().any(|d| d.0 == c.0) {
                b.classes.push(c);
            }
        }
        self.vars[newer].bound = Some(Ty::Meta(older));
        Ok(())
    }

    fn bind(&mut self, index: u32, ty: &Ty) -> Result<(), UnifyError> {
        let meta = self.vars[index].clone();
        let number = meta.classes.iter().find(|c| matches!(c.0, Class::Num | Class::Real)).copied();
        if meta.scalar && !matches!(ty, Ty::Int | Ty::Float | Ty::F32 | Ty::Var(_)) {
            return Err(number.map_or(UnifyError::Types, |(_, place, op)| UnifyError::Number(place, op)));
        }
        if meta.scalar
            && *ty == Ty::Int
            && let Some((_, place, op)) = meta.classes.iter().find(|c| c.0 == Class::Real)
        {
            return Err(UnifyError::Number(*place, op));
        }
        if self.occurs(index, ty) {
            return Err(UnifyError::Infinite);
        }
        let grown = meta.grows.then(|| self.grown(ty));
        let t = grown.as_ref().unwrap_or(ty);
        self.lower(t, meta.level);
        self.wake(index);
        self.vars[index].bound = Some(t.clone());
        // The variable stays bound if a class fails, so that consequences are not reported again.
        for (class, place, op) in meta.classes {
            self.has_class(class, t, place, op).map_err(|part| UnifyError::Class(class, place, op, part))?;
        }
        Ok(())
    }

    /// The type of an array that elements are appended to.
    fn grown(&mut self, t: &Ty) -> Ty {
        match t {
            Ty::Meta(n) => self.vars[*n].grows = true,
            Ty::Array(_, e) => return Ty::Array(Size::Unknown, e.clone()),
            _ => {}
        }
        t.clone()
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
            Ty::Record(r) => {
                r.fields.iter().any(|(_, t)| self.occurs(m, t)) || r.tail.as_ref().is_some_and(|t| self.occurs(m, t))
            }
            Ty::Unit | Ty::Bool | Ty::Int | Ty::Float | Ty::F32 | Ty::Str | Ty::Var(_) => false,
        }
    }

    /// Lowers the metas in a type to the outer level.
    pub(super) fn lower(&mut self, t: &Ty, level: u32) {
        stacker::maybe_grow(32 * 1024, 1024 * 1024, || self.lower_parts(t, level));
    }

    fn lower_parts(&mut self, ty: &Ty, level: u32) {
        match self.resolve(ty) {
            Ty::Meta(n) => self.vars.lower_type(n, level),
            Ty::Fun(a, b) | Ty::Lin(a, b) => {
                self.lower(&a, level);
                self.lower(&b, level);
            }
            Ty::Tuple(parts) | Ty::Data(_, parts) => parts.iter().for_each(|p| self.lower(p, level)),
            Ty::Array(n, e) => {
                if let Size::Meta(k) = self.resolve_size(n) {
                    self.vars.lower_size(k, level);
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

    pub(super) fn unify_size(&mut self, m: Size, n: Size) -> Result<(), UnifyError> {
        match (self.resolve_size(m), self.resolve_size(n)) {
            (Size::Meta(a), Size::Meta(b)) if a == b => Ok(()),
            (Size::Meta(a), s) | (s, Size::Meta(a)) => {
                self.vars.bind_size(a, s);
                Ok(())
            }
            (a @ Size::Const(..), b @ Size::Const(..)) if a != b => Err(UnifyError::Sizes(a, b)),
            _ => Ok(()),
        }
    }

    fn unify_records(&mut self, p: &Rc<RecordTy>, q: &Rc<RecordTy>) -> Result<(), UnifyError> {
        let (left, right) = (self.vars.open_record(p), self.vars.open_record(q));
        let (mut only_p, mut only_q) = (Vec::new(), Vec::new());
        let (in_p, in_q) = (by_name(&left), by_name(&right));
        for (name, t) in &left.fields {
            match in_q.get(name) {
                Some(u) => self.unify(t, u)?,
                None => only_p.push((*name, t.clone())),
            }
        }
        for (name, t) in &right.fields {
            if !in_p.contains_key(name) {
                only_q.push((*name, t.clone()));
            }
        }
        match (&left.tail, &right.tail) {
            (None, None) => differ(&only_p, &only_q),
            // One record is closed and lacks fields of the other.
            (Some(r), None) => {
                differ(&only_p, &[])?;
                self.bind_row(r, only_q, None)
            }
            (None, Some(r)) => {
                differ(&[], &only_q)?;
                self.bind_row(r, only_p, None)
            }
            (Some(r), Some(s)) => {
                let (left_rest, right_rest) = (self.resolve(r), self.resolve(s));
                if left_rest == right_rest {
                    return differ(&only_p, &only_q);
                }
                // One rest is the other with fields: so a rest that a signature names stays as it is.
                match (&left_rest, &right_rest) {
                    (_, Ty::Meta(_)) if only_q.is_empty() => {
                        return self.bind_row(&right_rest, only_p, Some(left_rest));
                    }
                    (Ty::Meta(_), _) if only_p.is_empty() => {
                        return self.bind_row(&left_rest, only_q, Some(right_rest));
                    }
                    _ => {}
                }
                let rest = self.row_meta();
                self.bind_row(&left_rest, only_q, Some(rest.clone()))?;
                self.bind_row(&right_rest, only_p, Some(rest))
            }
        }
    }

    pub(super) fn bind_row(&mut self, row: &Ty, fields: Vec<(Symbol, Ty)>, tail: Option<Ty>) -> Result<(), UnifyError> {
        let t = Ty::Record(Rc::new(RecordTy { fields, tail }));
        match self.resolve(row) {
            Ty::Meta(m) => self.bind(m, &t),
            _ => match &t {
                Ty::Record(r) if r.fields.is_empty() && r.tail.is_none() => Ok(()),
                _ => Err(UnifyError::Rigid),
            },
        }
    }

    pub(super) fn row_meta(&mut self) -> Ty {
        let t = self.meta();
        if let Ty::Meta(m) = t {
            self.vars[m].row = true;
        }
        t
    }

    /// Adds a field to a record that lacks it: `rest` is the row variable that `InferenceVariables::look_up_field` found.
    pub(super) fn extend_row(&mut self, rest: &Ty, name: Symbol, t: &Ty) -> Result<(), UnifyError> {
        let tail = Some(self.row_meta());
        self.bind_row(rest, vec![(name, t.clone())], tail)
    }

    /// What a type variable is, where the rest of a record that adds no field is that rest.
    pub(super) fn resolve_rest(&self, t: &Ty) -> Ty {
        let mut t = self.resolve(t);
        while let Ty::Record(r) = &t {
            match &r.tail {
                Some(tail) if r.fields.is_empty() => t = self.resolve(tail),
                _ => break,
            }
        }
        t
    }

    /// Requires a class and reports a type that is not an instance.
    pub(super) fn require(&mut self, class: Class, t: &Ty, span: Span, op: &'static str) -> bool {
        match self.has_class(class, t, span, op) {
            Ok(()) => true,
            Err(part) => {
                let d = self.class_error(class, span, op, &part, span);
                self.report(d);
                false
            }
        }
    }

    /// Adds the class to metas and checks it on known types. Fails with the part that is not an instance.
    pub(super) fn has_class(&mut self, class: Class, t: &Ty, span: Span, op: &'static str) -> Result<(), Ty> {
        self.class_of(class, t, span, op, &mut Vec::new())
    }

    fn class_of(
        &mut self,
        class: Class,
        t: &Ty,
        span: Span,
        op: &'static str,
        seen: &mut Vec<DataId>,
    ) -> Result<(), Ty> {
        stacker::maybe_grow(32 * 1024, 1024 * 1024, || self.class_of_parts(class, t, span, op, seen))
    }

    fn class_of_parts(
        &mut self,
        class: Class,
        unresolved: &Ty,
        span: Span,
        op: &'static str,
        seen: &mut Vec<DataId>,
    ) -> Result<(), Ty> {
        let ty = self.resolve(unresolved);
        if let Some(part) = part_of_each(&ty) {
            // Each rank has a part of its own: only tangents are added without a function that says how.
            return if class == Class::Diff { self.class_of(class, &part.clone(), span, op, seen) } else { Err(ty) };
        }
        if element_of_rows(&ty).is_some() {
            return if class == Class::Show { Ok(()) } else { Err(ty) };
        }
        match &ty {
            Ty::Meta(m) => {
                let classes = &mut self.vars[*m].classes;
                if !classes.iter().any(|c| c.0 == class) {
                    classes.push((class, span, op));
                }
                Ok(())
            }
            Ty::Int => {
                if matches!(class, Class::Real | Class::Reals) {
                    Err(ty)
                } else {
                    Ok(())
                }
            }
            Ty::Float | Ty::F32 => Ok(()),
            Ty::Bool | Ty::Str | Ty::Unit => {
                if matches!(class, Class::Num | Class::Real | Class::Nums | Class::Reals | Class::Space) {
                    Err(ty)
                } else {
                    Ok(())
                }
            }
            Ty::Fun(..) | Ty::Lin(..) => {
                if class == Class::Show {
                    Ok(())
                } else {
                    Err(ty)
                }
            }
            Ty::Var(v) => {
                let given =
                    self.annotated.rigid.get(v).is_none_or(|(classes, _)| classes.iter().any(|c| implies(*c, class)));
                if given || class == Class::Show { Ok(()) } else { Err(ty) }
            }
            Ty::Tuple(_) | Ty::Array(..) | Ty::Record(_) | Ty::Data(..)
                if matches!(class, Class::Num | Class::Real) =>
            {
                Err(ty)
            }
            Ty::Tuple(_) | Ty::Record(_) | Ty::Data(..) if matches!(class, Class::Nums | Class::Reals) => Err(ty),
            // Compound data needs a real leaf, which may be found later.
            Ty::Tuple(_) | Ty::Record(_) | Ty::Data(..) if class == Class::Space => {
                let deep = self.resolve_deep(&ty);
                if super::each::mentions(&deep) {
                    return Err(deep);
                }
                self.at_end.spaces.push((ty.clone(), span, op));
                self.class_of(Class::Diff, &ty, span, op, seen)
            }
            Ty::Tuple(parts) => parts.iter().try_for_each(|p| self.class_of(class, p, span, op, seen)),
            Ty::Array(_, e) => self.class_of(class, e, span, op, seen),
            Ty::Record(r) => {
                let r = self.vars.open_record(r);
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
                // Parameters of the declaration are skipped: the arguments were checked above.
                fields
                    .iter()
                    .filter(|f| !matches!(f, Ty::Var(_)))
                    .try_for_each(|f| self.class_of(class, f, span, op, seen).map_err(|_| ty.clone()))
            }
        }
    }
}

/// Reports fields that only one of two records has.
fn differ(expected: &[(Symbol, Ty)], found: &[(Symbol, Ty)]) -> Result<(), UnifyError> {
    match (expected.first(), found.first()) {
        (Some((f, _)), _) => Err(UnifyError::Field(*f, true)),
        (None, Some((f, _))) => Err(UnifyError::Field(*f, false)),
        (None, None) => Ok(()),
    }
}

/// The types of fields by name. Of two fields with the same name, the first counts.
fn by_name(r: &RecordTy) -> HashMap<Symbol, &Ty> {
    r.fields.iter().rev().map(|(n, t)| (*n, t)).collect()
}
