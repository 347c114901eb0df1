//! Identity of calls. Two calls share one IR function if their code, layouts, known functions and types are equal.

use crate::limits::key::MAX_KEY_LENGTH;
use crate::val::{ArraySize, Closure, Fun, KnownRep, Val};
use crate::{Attempt, Spec};
use adl_ir::{FnId, Ty as IrTy};
use adl_prim::Prim;
use adl_syntax::symbol::Symbol;
use adl_typing::ty::{Ty, TyVar};
use std::rc::Rc;

/// The identity of a call, flattened to a list of tokens.
pub(crate) type Key = Vec<KeyToken>;

/// A token of a key.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum KeyToken {
    /// The length of the sequence that follows, or another number.
    Num(u64),
    What(&'static str),
    Code(usize),
    Ty(IrTy),
    Core(Ty),
    Var(TyVar),
    Name(Symbol),
    Prim(Prim),
    Fn(FnId),
}

impl Spec<'_> {
    /// The key of some code applied to inputs of these layouts.
    pub(crate) fn key(&mut self, head: Vec<KeyToken>, inputs: &[Val]) -> Attempt<Key> {
        let mut out = head;
        if self.early.inside > 0 {
            out.push(KeyToken::Num(self.early.inside.into()));
        }
        for v in inputs {
            self.key_val(v, &mut out);
        }
        if out.len() > MAX_KEY_LENGTH {
            return Err(self.no("functions that contain ever more functions"));
        }
        Ok(out)
    }

    /// Adds a function's code, without its captured values.
    pub(crate) fn key_code(&mut self, c: &Closure, out: &mut Key) {
        out.push(KeyToken::Code(Rc::as_ptr(&c.lam) as usize));
        for v in self.info(&c.hidden, &c.lam).tyvars.clone() {
            if let Some(t) = c.subst.get(&v) {
                out.push(KeyToken::Var(v));
                out.push(KeyToken::Core(t.clone()));
            }
        }
    }

    fn key_all(&mut self, what: &'static str, vs: &[Val], out: &mut Key) {
        out.push(KeyToken::What(what));
        out.push(KeyToken::Num(vs.len() as u64));
        vs.iter().for_each(|v| self.key_val(v, out));
    }

    pub(crate) fn key_val(&mut self, value: &Val, out: &mut Key) {
        if out.len() > MAX_KEY_LENGTH {
            return;
        }
        match value {
            Val::Unit => out.push(KeyToken::What("()")),
            Val::Bottom => out.push(KeyToken::What("bottom")),
            Val::Leaf(x) => out.push(KeyToken::Ty(self.b.ty(*x))),
            Val::Data(x, _) => out.push(KeyToken::Ty(self.b.ty(*x))),
            Val::Tuple(vs) => self.key_all("tuple", vs, out),
            Val::Record(fs) => {
                out.push(KeyToken::What("record"));
                out.push(KeyToken::Num(fs.len() as u64));
                for (n, v) in fs {
                    out.push(KeyToken::Name(*n));
                    self.key_val(v, out);
                }
            }
            Val::Array(e) => {
                out.push(KeyToken::What("array"));
                self.key_val(e, out);
            }
            Val::Rep(r) => key_rep(r, out),
            Val::Fun(f) => self.key_fun(f, out),
        }
    }

    pub(crate) fn key_fun(&mut self, fun: &Fun, out: &mut Key) {
        match fun {
            Fun::Closure(c) => {
                out.push(KeyToken::What("closure"));
                self.key_code(c, out);
                let vals: Vec<Val> = c.env.iter().map(|(_, v)| v.clone()).collect();
                self.key_all("captured", &vals, out);
            }
            Fun::Prim(p, reps) => {
                out.push(KeyToken::Prim(*p));
                self.key_all("reps", reps, out);
            }
            Fun::Partial(g, args) => {
                self.key_all("partial", args, out);
                self.key_fun(g, out);
            }
            Fun::Custom { vjp, f, rule } => {
                self.key_all(if *vjp { "custom_vjp" } else { "custom_jvp" }, &[f.clone(), rule.clone()], out);
            }
            Fun::Checkpoint(f) => self.key_all("checkpoint", std::slice::from_ref(f), out),
            Fun::Linear(l) => {
                out.extend([
                    KeyToken::What(if l.transposed { "transposed" } else { "linear" }),
                    KeyToken::Fn(l.tangent),
                    KeyToken::Fn(l.cotangent),
                ]);
                self.key_all("at", &[l.x.clone(), l.y.clone()], out);
                out.extend(l.residuals.iter().map(|r| KeyToken::Ty(self.b.ty(*r))));
            }
            Fun::Boxed(x, _) => out.extend([KeyToken::What("boxed"), KeyToken::Ty(self.b.ty(*x))]),
            Fun::Tagged(_, fs) => {
                out.extend([KeyToken::What("tagged"), KeyToken::Num(fs.len() as u64)]);
                fs.iter().for_each(|f| self.key_fun(f, out));
            }
        }
    }
}

fn key_rep(r: &KnownRep, out: &mut Key) {
    match r {
        KnownRep::Base(t) => out.push(KeyToken::Core(t.clone())),
        KnownRep::Other => out.push(KeyToken::What("other")),
        KnownRep::Array(n, e) => {
            out.push(match n {
                ArraySize::Const(k) => KeyToken::Num(*k),
                ArraySize::Var(_) => KeyToken::What("size"),
                ArraySize::Unknown => KeyToken::What("unknown"),
            });
            key_rep(e, out);
        }
        KnownRep::Tuple(ps) => {
            out.extend([KeyToken::What("tuple"), KeyToken::Num(ps.len() as u64)]);
            ps.iter().for_each(|p| key_rep(p, out));
        }
        KnownRep::Record(fs) => {
            out.extend([KeyToken::What("record"), KeyToken::Num(fs.len() as u64)]);
            for (n, p) in fs {
                out.push(KeyToken::Name(*n));
                key_rep(p, out);
            }
        }
    }
}
