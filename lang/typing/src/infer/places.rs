//! The types of places in the source, for editors: of all expressions and bound names of an item.
//!
//! They are recorded during inference, so that an item with errors has them too.

use super::{Infer, map_type};
use crate::print::TypePrinter;
use crate::ty::{Class, Scheme, Size, SizeVar, Ty, TyVar};
use adl_syntax::span::Span;
use adl_syntax::symbol::Symbol;

/// What is recorded during inference, with inference variables.
#[derive(Default)]
pub(super) struct Recorder {
    types: Vec<(Span, Ty)>,
    schemes: Vec<(Span, Scheme)>,
}

/// The types of an item's expressions and names.
#[derive(Clone, Default)]
pub struct Places {
    /// Sorted by span; each span occurs once.
    types: Vec<(Span, Ty)>,
    schemes: Vec<(Span, Scheme)>,
    /// The names of variables in annotations.
    vars: Vec<(TyVar, Symbol)>,
    sizes: Vec<(SizeVar, Symbol)>,
}

impl Places {
    /// The type of the expression or name with exactly this span.
    pub fn ty(&self, span: Span) -> Option<&Ty> {
        let at = self.types.binary_search_by_key(&span, |(s, _)| *s).ok()?;
        Some(&self.types[at].1)
    }

    /// The scheme of the name that a `let` binds at this span.
    pub fn scheme(&self, span: Span) -> Option<&Scheme> {
        self.schemes.iter().find(|(s, _)| *s == span).map(|(_, scheme)| scheme)
    }

    /// The smallest expressions or names around a position, innermost first.
    pub fn around(&self, pos: u32) -> Vec<(Span, &Ty)> {
        let mut found: Vec<(Span, &Ty)> =
            self.types.iter().filter(|(s, _)| s.lo <= pos && pos <= s.hi).map(|(s, t)| (*s, t)).collect();
        found.sort_by_key(|(s, _)| s.hi - s.lo);
        found
    }

    /// A type as text, with the names that the item's annotations give to variables and sizes.
    pub fn text(&self, ty: &Ty) -> String {
        let mut printer = TypePrinter::default();
        self.vars.iter().for_each(|(v, name)| printer.name_var(*v, name.as_str()));
        self.sizes.iter().for_each(|(v, name)| printer.name_size(*v, name.as_str()));
        printer.ty(ty)
    }

    /// Moves all places, after the text before the item has changed.
    pub fn shift(&mut self, by: &mut dyn FnMut(Span) -> Span) {
        self.types.iter_mut().for_each(|(s, _)| *s = by(*s));
        self.schemes.iter_mut().for_each(|(s, _)| *s = by(*s));
    }
}

impl Infer<'_> {
    /// Notes the type of an expression or of a name.
    pub(super) fn record_type(&mut self, span: Span, ty: &Ty) {
        if let Some(recorder) = &mut self.places {
            recorder.types.push((span, ty.clone()));
        }
    }

    /// Notes the scheme of a name that a `let` binds.
    pub(super) fn record_scheme(&mut self, span: Span, scheme: &Scheme) {
        if let Some(recorder) = &mut self.places {
            recorder.schemes.push((span, scheme.clone()));
        }
    }

    /// What was recorded, without inference variables.
    pub(super) fn recorded_places(&mut self, failed: bool) -> Places {
        let Some(recorder) = self.places.take() else { return Places::default() };
        let mut last = |t: &Ty| if failed { self.likely_type(t) } else { self.final_type(t) };
        let mut types: Vec<(Span, Ty)> = recorder.types.iter().map(|(s, t)| (*s, last(t))).collect();
        let with_type = |(span, s): (Span, Scheme)| (span, Scheme { ty: last(&s.ty), ..s });
        let schemes = recorder.schemes.into_iter().map(with_type).collect();
        // A form that was inferred twice has the later type. The sort is stable.
        types.reverse();
        types.sort_by_key(|(s, _)| *s);
        types.dedup_by_key(|(s, _)| *s);
        let mut vars: Vec<(TyVar, Symbol)> = self.annotated.rigid.iter().map(|(v, (_, name))| (*v, *name)).collect();
        vars.sort_unstable();
        let mut sizes: Vec<(SizeVar, Symbol)> =
            self.annotated.size_labels.iter().map(|(v, name)| (*v, *name)).collect();
        sizes.sort_unstable();
        Places { types, schemes, vars, sizes }
    }

    /// A type of an item with errors: numbers have the type that they would default to.
    fn likely_type(&self, ty: &Ty) -> Ty {
        let number = |t: &Ty| match t {
            Ty::Meta(m) => {
                let meta = &self.vars[*m];
                let real = meta.classes.iter().any(|c| matches!(c.0, Class::Real | Class::Reals));
                let whole = meta.scalar || meta.classes.iter().any(|c| matches!(c.0, Class::Num | Class::Nums));
                if real { Some(Ty::Float) } else { whole.then_some(Ty::Int) }
            }
            _ => None,
        };
        let open = |s: Size| if matches!(s, Size::Meta(_)) { Size::Unknown } else { s };
        map_type(&self.resolve_deep(ty), &mut { number }, &mut { open })
    }
}
