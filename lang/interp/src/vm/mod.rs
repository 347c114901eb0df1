//! The virtual machine: compiles Core to register code and runs it.
//!
//! [`Machine`] owns everything that a run needs: registers, frames, globals, tapes, the host. Reading order:
//! [`code`], `compile`, `machine` (its data), `run` (the interpreter loop), `instr` (instructions), `calls`.

mod calls;
mod check_nan;
pub mod code;
pub(crate) mod code_list;
mod compile;
mod components;
mod definitions;
mod effects;
mod errors;
mod gc;
mod hot;
mod instr;
mod lowered;
mod machine;
mod oom;
pub(crate) mod policy;
pub mod profile;
mod progress;
mod recover;
mod run;
mod upcalls;

pub use crate::value::fun::{Fun, HostFun, RecursiveGroup};
pub(crate) use components::part;
pub(crate) use errors::nowhere;
pub use errors::{no_match, too_deep};
pub(crate) use machine::CallFrame;
pub use machine::Machine;
pub use oom::{OutOfMemoryFlag, WeakOutOfMemoryFlag};
pub use recover::SavedState;

use crate::error::{Error, Res, codes};
use crate::value::Value;
use adl_syntax::symbol::Symbol;
use adl_typing::core::{CoreLit, Def, Expr, ExprKind};
use adl_typing::ty::Ty;
pub use code_list::CodeList;
use std::rc::Rc;

impl Machine {
    /// Evaluates a definition.
    pub fn define(&mut self, def: &Def) -> Res<()> {
        let v = self.eval(&def.expr, def.name)?;
        if let Some(name) = def.name.filter(|_| !self.library.contains(&def.span.file)) {
            crate::ops::comm::equal_on_all(self, name, &v).map_err(|mut e| {
                self.place(&mut e, def.span);
                e
            })?;
        }
        self.set_global(def.global, v);
        self.definitions.core.insert(def.global, Rc::new(for_specialiser(def)));
        Ok(())
    }

    /// Evaluates an expression without free locals. Afterwards frames, registers and tapes are as they were
    /// before, even after an error.
    pub fn eval(&mut self, e: &Expr, name: Option<Symbol>) -> Res<Value> {
        let code = Rc::new(compile::top(e, name)?);
        let mut out = self.outermost(|m| m.enter(code));
        if let Err(error) = &mut out {
            // A call in tail position has removed the last frame of the user's code.
            self.place(error, e.span);
        }
        out
    }

    /// Applies a function when no run is in progress. Afterwards frames, registers and tapes are as they were
    /// before, even after an error.
    pub fn apply(&mut self, f: &Value, args: &[Value]) -> Res<Value> {
        self.outermost(|m| m.call(f, args))
    }

    fn outermost(&mut self, run: impl FnOnce(&mut Machine) -> Res<Value>) -> Res<Value> {
        let depth = self.ad.depth();
        crate::polling::listen(&self.interrupt);
        // Discard a failure that was recorded before this run.
        drop(crate::polling::failure());
        let inside = self.out_of_memory.run(true);
        let mut out = run(self);
        self.out_of_memory.run(inside);
        self.ad.reset_to(depth);
        if let Err(e) = &mut out {
            let failed = crate::polling::failure();
            if e.diag.code == codes::INTERRUPT && (failed.is_some() || self.out_of_memory.get().is_some()) {
                // Operations that were stopped by the flag do not know the reason.
                let why = failed.unwrap_or_else(|| self.stopped());
                (e.diag.code, e.diag.message, e.diag.hint) = (why.diag.code, why.diag.message, why.diag.hint);
            }
            self.frames.clear();
            self.regs.clear();
            self.stack.reentries = 0;
            if e.diag.code == codes::EXHAUSTED {
                // Its memory is free now, so the next run must not be stopped.
                self.host.return_memory();
                self.clear_interrupt();
            }
        }
        self.effects = effects::EffectLog::default();
        self.shrink_stacks();
        out
    }

    /// Releases the memory of a deep recursion.
    fn shrink_stacks(&mut self) {
        const KEPT: usize = 1 << 20;
        let bytes = self.regs.capacity() * size_of::<Value>() + self.frames.capacity() * size_of::<CallFrame>();
        if bytes > KEPT && self.frames.is_empty() {
            self.regs.shrink_to_fit();
            self.frames.shrink_to_fit();
            if bytes > KEPT << 4 {
                self.host.return_memory();
            }
        }
    }

    /// Applies a function to arguments. Fewer arguments than parameters give a partial application; extra ones
    /// are applied to the result.
    pub fn call(&mut self, f: &Value, args: &[Value]) -> Res<Value> {
        let Value::Fun(f) = f else {
            return Err(Error::new(codes::STRUCTURE, format!("{} is not a function", crate::value::show::show(f))));
        };
        self.call_fun(f.clone(), args.to_vec())
    }
}

/// A definition as the specialiser needs it: functions are kept as code, of data only the type.
fn for_specialiser(def: &Def) -> Def {
    let code = matches!(def.scheme.ty, Ty::Fun(..) | Ty::Lin(..)) || matches!(&*def.expr.kind, ExprKind::Abs(..));
    let expr = match code {
        true => def.expr.clone(),
        false => Expr { kind: Box::new(ExprKind::Lit(CoreLit::Unit)), ty: def.expr.ty.clone(), span: def.expr.span },
    };
    Def { global: def.global, name: def.name, scheme: def.scheme.clone(), expr, span: def.span, doc: None }
}
