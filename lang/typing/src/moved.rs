//! Places of definitions that have moved with the text around them, for editors, which check only what has changed.

use crate::env::{Global, Tables};
use crate::infer::map_type;
use crate::ty::{Constraint, OperationSite, Origin, Scheme, Size, Ty};
use adl_syntax::span::Span;
use std::rc::Rc;

/// Says where a place is now.
pub type Moved<'a> = &'a dyn Fn(Span) -> Span;

/// A definition whose text has moved.
pub fn moved_global(g: &Global, by: Moved<'_>) -> Global {
    Global { span: by(g.span), scheme: Rc::new(scheme(&g.scheme, by)), ..g.clone() }
}

fn scheme(original: &Scheme, by: Moved<'_>) -> Scheme {
    let constraint = |c: &Constraint| Constraint {
        prim: c.prim,
        args: c.args.iter().map(|t| ty(t, by)).collect(),
        res: ty(&c.res, by),
        at: Rc::new(OperationSite {
            span: by(c.at.span),
            operands: c.at.operands.iter().map(|s| by(*s)).collect(),
            within: c.at.within,
        }),
    };
    Scheme {
        ty: ty(&original.ty, by),
        constraints: original.constraints.iter().map(constraint).collect(),
        ..original.clone()
    }
}

/// A type, with the places that its sizes come from.
pub(crate) fn ty(t: &Ty, by: Moved<'_>) -> Ty {
    map_type(t, &mut |_| None, &mut |s| match s {
        Size::Const(n, Origin(at)) => Size::Const(n, Origin(by(at))),
        s => s,
    })
}

impl Tables {
    /// Moves the places of all that is known about definitions.
    pub fn shift(&mut self, by: Moved<'_>) {
        self.places.values_mut().for_each(|s| *s = by(*s));
        self.reads.values_mut().for_each(|r| r.0 = by(r.0));
        self.points.values_mut().flatten().for_each(|(t, _)| *t = ty(t, by));
        self.computed.values_mut().for_each(|c| c.shift(by));
    }
}
