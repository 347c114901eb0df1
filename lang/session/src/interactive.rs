//! Interactive values that front ends display: their value where the user has moved the controls.

use crate::gc::Displayed;
use crate::refine::refine;
use crate::{Echo, Session};
use adl_interp::error::codes;
use adl_interp::value::Value;
use adl_interp::value::interactive::{self, Interactive};
use adl_syntax::diag::Diagnostic;
use adl_syntax::span::Span;
use adl_typing::ty::Ty;
use std::rc::{Rc, Weak};

/// An interactive value that a front end displays.
pub struct DisplayedInteractive {
    /// Its controls.
    pub parts: Interactive,
    /// Its value where the controls stood first.
    pub start: Echo,
    value: Value,
}

impl Displayed for DisplayedInteractive {
    fn value(&self) -> Value {
        self.value.clone()
    }
}

impl Session {
    /// The type of an echo, with the sizes of the value. In an interactive value, which may have other sizes after a
    /// move, these are only displayed.
    pub(crate) fn sized(&self, ty: &Ty, v: &Value, span: Span) -> Ty {
        match (ty, interactive::inside(v)) {
            (Ty::Data(id, args), Some(i)) => {
                Ty::Data(*id, args.iter().map(|a| refine(a, &i.shown, span, &self.tables)).collect())
            }
            _ => ty.clone(),
        }
    }

    /// Keeps an interactive value, as long as the result lives. `None` for other values, and if there are no controls.
    pub fn interactive(&mut self, e: &Echo) -> Option<Rc<DisplayedInteractive>> {
        let (parts, start) = e.interactive().filter(|(parts, _)| !parts.controls.is_empty())?;
        let held = Rc::new(DisplayedInteractive { parts, start, value: e.shown.clone() });
        let weak: Weak<DisplayedInteractive> = Rc::downgrade(&held);
        self.memory.watches.push(weak);
        Some(held)
    }

    /// The value of an interactive value with its controls at these positions.
    ///
    /// # Errors
    /// The error of the function; E0706 if the session has forgotten the function's definitions.
    pub fn moved(&mut self, of: &Rc<DisplayedInteractive>, positions: &[usize]) -> Result<Echo, Vec<Diagnostic>> {
        let forgotten = || {
            let why = "the definitions of this function are forgotten: run the cell again";
            vec![Diagnostic::error(codes::USER, Span::NOWHERE, why)]
        };
        let kept = |w: &Weak<dyn Displayed>| std::ptr::addr_eq(w.as_ptr(), Rc::as_ptr(of));
        if !self.memory.watches.iter().any(kept) {
            return Err(forgotten());
        }
        let positions = of.parts.argument(positions).ok_or_else(forgotten)?;
        let shown = self.call(&of.parts.apply, &[positions]).map_err(|d| vec![*d])?;
        let ty = of.start.of.as_ref().map(|t| refine(t, &shown, Span::NOWHERE, &self.tables));
        let text = ty.as_ref().map_or_else(String::new, adl_typing::print::ty);
        Ok(Echo { name: None, called: None, ty: text, of: ty, shown })
    }
}
