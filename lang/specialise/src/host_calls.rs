//! Calls of the host in specialised code: output, input, files, and text made of values.
//!
//! A call is an [`Op::Prim`] whose first operand is a text, the key of its [`HostCall`]. The other operands are the
//! leaves of the arguments; the call's layouts tell how to put the arguments together from them. Effects keep their
//! order and run once: every pass keeps statements with effects where they are, and derivatives store their results.
//!
//! A function with effects is inlined at each call. A call would not show its effect to passes that look at one
//! function at a time.

use crate::call::IrTarget;
use crate::{Attempt, HostCall, Layout, Spec, Val};
use adl_ir::{FnId, Lit, Op, Ty as IrTy, Var, rewrite};
use adl_prim::{ArrayFn, Prim, TextFn};
use adl_typing::core::Expr;
use std::collections::HashMap;
use std::rc::Rc;

impl Spec<'_> {
    /// Calls the host with these arguments.
    pub(crate) fn host_call(&mut self, prim: impl Into<Prim>, args: &[Val], result: Layout) -> Attempt<Val> {
        let prim = prim.into();
        let layouts = args.iter().map(|a| self.layout_of_val(a)).collect::<Attempt<Vec<_>>>()?;
        if layouts.iter().any(|l| self.holds_functions(l)) {
            return Err(self.no("functions inside declared data that the host receives"));
        }
        let call = HostCall { prim, args: layouts, result };
        let key: Rc<str> = format!("{:?} -> {:?}", call.args, call.result).into();
        let mut operands = vec![self.lit(Lit::Str(key.clone()))];
        operands.extend(args.iter().flat_map(Val::leaves));
        let (outs, _) = self.b.emit(Op::Prim(prim, operands), &call.result.leaves(), &[]);
        let mut outs = outs.into_iter();
        let made = Self::build(&call.result, &mut |_| outs.next().unwrap_or(adl_ir::Var(u32::MAX)));
        self.cache.host_calls.insert((prim, key), Rc::new(call));
        if prim.has_effect() {
            self.effects += 1;
            self.outputs += 1;
        }
        Ok(made)
    }

    /// A text with values in it.
    pub(crate) fn interpolated(&mut self, parts: &[Expr]) -> Attempt<Val> {
        let Some(parts) = self.all(parts.iter())? else { return Ok(Val::Bottom) };
        let mut text = Val::Leaf(self.lit(Lit::Str("".into())));
        for part in parts {
            let part = match part {
                Val::Leaf(x) if self.b.ty(x) == IrTy::Str => part,
                other => self.host_call(Prim::Text(TextFn::Show), &[other], Layout::Leaf(IrTy::Str))?,
            };
            text = self.leaf_prim(Prim::Array(ArrayFn::Append), &[text, part], IrTy::Str)?;
        }
        Ok(text)
    }

    /// Whether a function has effects, so that its calls must be inlined.
    pub(crate) fn has_effects(&self, t: &IrTarget) -> bool {
        self.cache.effectful.contains(&t.id)
    }

    /// An error if a function has effects.
    pub(crate) fn without_effects(&self, t: IrTarget, what: &str) -> Attempt<IrTarget> {
        if self.has_effects(&t) { Err(self.no(format!("output or input in {what}"))) } else { Ok(t) }
    }

    /// An error if a function has effects besides messages between ranks, whose order the derivatives keep.
    pub(crate) fn without_output(&self, t: IrTarget, what: &str) -> Attempt<IrTarget> {
        if self.cache.outputs.contains(&t.id) { Err(self.no(format!("output or input in {what}"))) } else { Ok(t) }
    }

    /// Calls the derivative of a function. One that sends messages is inlined, so that all passes see them.
    pub(crate) fn call_derivative(&mut self, f: FnId, args: &[Var]) -> Vec<Var> {
        if !self.p.func(f).body.stmts.iter().any(|s| rewrite::op_has_output(&s.op)) {
            return self.b.call(self.p, f, args, &[]).0;
        }
        self.effects += 1;
        let callee = self.p.func(f).clone();
        let at = self.b.func.vars.len() as u32;
        self.b.func.vars.extend(callee.vars.iter().cloned());
        let mut body = callee.body.clone();
        let names: HashMap<Var, Var> = body.params.drain(..).zip(args.iter().copied()).collect();
        rewrite::renumber(&mut body, &|v| *names.get(&v).unwrap_or(&Var(v.0 + at)));
        body.stmts.into_iter().for_each(|s| self.b.push(s));
        body.results
    }
}
