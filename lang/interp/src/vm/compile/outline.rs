//! Outlining of loops in functions that perform output or create text.
//!
//! A function is compiled to native code entirely or not at all, and one that performs output is not, so its
//! loops would be interpreted. Such a loop is compiled as a closure that is called in place and that becomes
//! hot by itself. It does not appear in call stacks.

use super::Compiler;
use crate::error::Res;
use crate::vm::code::{I, R};
use adl_prim::{GeneralFn, Prim, TextFn};
use adl_typing::core::{Expr, ExprKind, Lambda, Local, LoopKind, Param};
use adl_typing::ty::Ty;
use adl_typing::walk;
use std::rc::Rc;

/// The parameter of such a closure: the initial value of the loop.
const START: Local = Local(u32::MAX - 1000);

/// Whether an expression does what native code does not support: input, output, and creating text from values.
/// Nested functions are considered only if `deep`.
pub(super) fn has_output(e: &Expr, deep: bool) -> bool {
    let mut todo = vec![e];
    while let Some(expr) = todo.pop() {
        match &*expr.kind {
            ExprKind::Lam(_) | ExprKind::Abs(..) if !deep => {}
            ExprKind::Interp(_) => return true,
            ExprKind::Prim(p, _) if is_output(*p) => return true,
            ExprKind::App(f, args) => match &*f.kind {
                // The text of an error is only created when the error occurs.
                ExprKind::Prim(Prim::General(GeneralFn::Error), _) => {}
                ExprKind::Prim(Prim::General(GeneralFn::Assert), _) => todo.extend(args),
                _ if expr.ty == Ty::Unit => return true,
                _ => todo.extend(walk::children(expr)),
            },
            _ => todo.extend(walk::children(expr)),
        }
    }
    false
}

fn is_output(p: Prim) -> bool {
    use Prim as P;
    matches!(p, P::Io(_) | P::Text(TextFn::Show))
}

impl Compiler {
    /// Compiles a loop as the call of a closure, if that is useful. Returns whether it did.
    pub(super) fn outlined(&mut self, expr: &Expr, dest: R) -> Res<bool> {
        let ExprKind::Loop(state, init, kind, body) = &*expr.kind else { return Ok(false) };
        let trip = match kind {
            LoopKind::For(_, n) | LoopKind::While(n) => n,
        };
        if !self.has_output || has_output(body, true) || has_output(trip, true) {
            return Ok(false);
        }
        let start = Expr { kind: ExprKind::Local(START).into(), ty: init.ty.clone(), span: init.span };
        let whole = ExprKind::Loop(*state, start, kind.clone(), body.clone());
        let body = Expr { kind: whole.into(), ty: expr.ty.clone(), span: expr.span };
        let param = Param { local: START, name: None, ty: init.ty.clone() };
        let lam = Rc::new(Lambda { params: vec![param], body, linear: false, name: self.code.name });
        let first = self.temp();
        self.into(init, first)?;
        let f = self.temp();
        self.closure(&[], &lam, &expr.ty, f)?;
        if let Some(code) = self.code.codes.last_mut().and_then(Rc::get_mut) {
            code.part = true;
        }
        self.emit(I::Call(dest, f, first, 1));
        Ok(true)
    }
}
