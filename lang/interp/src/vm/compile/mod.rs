//! Compilation of Core to register code, one function at a time.
//!
//! Each local has a register of its own while it is in scope; temporaries are above them. Call arguments are
//! placed in consecutive temporaries, which the call empties. [`liveness`] replaces the last copy of a local by
//! a move, so that an unshared array is updated in place.

mod exprs;
mod liveness;
mod matches;
mod outline;

use super::code::{Code, CoreOrigin, I, R};
use super::profile::Profile;
use crate::error::{Error, Res, codes};
use crate::ir::derive::compile_plain::thunk;
use crate::limits::vm_compile::MAX_REGISTERS;
use crate::value::{Buf, Value, array};
use adl_syntax::span::Span;
use adl_syntax::symbol::Symbol;
use adl_typing::core::{Expr, Lambda, Local, Rep, SizeRep};
use adl_typing::free_locals;
use adl_typing::ty::{Size, Ty};
use std::collections::HashMap;
use std::rc::Rc;

/// Compiles an expression without free locals.
pub(super) fn top(e: &Expr, name: Option<Symbol>) -> Res<Code> {
    let mut c = Compiler::new(name, "");
    c.has_output = outline::has_output(e, false);
    c.tail(e)?;
    let mut code = c.finish(0, 0)?;
    code.profile = profile_of(&code.instrs);
    if code.profile.keeps() {
        let members = Rc::new([(Local(u32::MAX), Vec::new(), thunk(e.clone(), name))]);
        code.origin = Some(Rc::new(CoreOrigin { members, group: false, index: 0, captured: Vec::new() }));
    }
    Ok(code)
}

pub(super) struct Compiler {
    code: Code,
    regs: HashMap<Local, R>,
    /// Members of the recursive group to which this function belongs.
    siblings: HashMap<Local, u32>,
    /// The number of parameters of each sibling, including hidden ones.
    sibling_arity: HashMap<Local, u32>,
    next: R,
    span: Span,
    /// Whether the function performs output or creates text. Its loops are then compiled as separate functions
    /// ([`outline`]).
    has_output: bool,
}

impl Compiler {
    fn new(name: Option<Symbol>, ty: &str) -> Compiler {
        Compiler {
            code: Code::new(name, ty.to_owned()),
            regs: HashMap::new(),
            siblings: HashMap::new(),
            sibling_arity: HashMap::new(),
            next: 0,
            span: Span::default(),
            has_output: false,
        }
    }

    fn finish(mut self, params: u32, captures: u32) -> Res<Code> {
        if self.code.registers > MAX_REGISTERS {
            return Err(Error::new(codes::DEPTH, "this function is too large").hint("split it"));
        }
        self.code.params = params;
        self.code.captures = captures;
        liveness::moves(&mut self.code);
        Ok(self.code)
    }

    fn emit(&mut self, i: I) {
        self.code.emit(i, self.span);
    }

    /// Emits a jump whose target is set later.
    fn hole(&mut self, i: I) -> usize {
        self.code.emit(i, self.span)
    }

    fn temp(&mut self) -> R {
        self.temps(1)
    }

    fn temps(&mut self, n: u32) -> R {
        let r = self.next;
        self.next += n;
        self.code.registers = self.code.registers.max(self.next);
        r
    }

    fn bind(&mut self, l: Local) -> R {
        let r = self.temp();
        self.regs.insert(l, r);
        r
    }

    fn constant(&mut self, v: Value) -> u32 {
        self.code.consts.push(v);
        self.code.consts.len() as u32 - 1
    }

    fn names(&mut self, names: Vec<Symbol>) -> u32 {
        self.code.tables.names.push(names.into());
        self.code.tables.names.len() as u32 - 1
    }

    /// The register of a local. A sibling is created as a value on demand.
    fn load(&mut self, l: Local) -> Res<R> {
        if let Some(r) = self.regs.get(&l) {
            return Ok(*r);
        }
        match self.siblings.get(&l).copied() {
            Some(k) => {
                let d = self.temp();
                self.emit(I::Sibling(d, k));
                Ok(d)
            }
            None => Err(Error::new(codes::UNDEFINED, format!("local {} has no register", l.0))),
        }
    }

    /// A run-time type representation in which locals are replaced by registers.
    fn rep(&mut self, r: &Rep) -> Res<Rep> {
        Ok(match r {
            Rep::Hidden(l) => Rep::Hidden(Local(self.load(*l)?)),
            Rep::Base(_) | Rep::Other => r.clone(),
            Rep::Array(n, e) => {
                let n = match n {
                    SizeRep::Local(l) => match self.regs.get(l) {
                        Some(r) => SizeRep::Local(Local(*r)),
                        None => SizeRep::Unknown,
                    },
                    other => *other,
                };
                Rep::Array(n, Box::new(self.rep(e)?))
            }
            Rep::Tuple(ps) => Rep::Tuple(ps.iter().map(|p| self.rep(p)).collect::<Res<_>>()?),
            Rep::Record(fs) => Rep::Record(fs.iter().map(|(n, p)| Ok((*n, self.rep(p)?))).collect::<Res<_>>()?),
            Rep::Data(d, ps) => Rep::Data(d.clone(), ps.iter().map(|p| self.rep(p)).collect::<Res<_>>()?),
        })
    }

    fn load_rep(&mut self, r: &Rep, d: R) -> Res<()> {
        let r = self.rep(r)?;
        self.code.tables.reps.push(r);
        let k = self.code.tables.reps.len() as u32 - 1;
        self.emit(I::Rep(d, k));
        Ok(())
    }

    /// Compiles a function: hidden parameters, then its own parameters, then captured values.
    fn function(
        &mut self,
        hidden: &[Local],
        lam: &Lambda,
        ty: &Ty,
        captured: &[Local],
        siblings: &[(Local, u32)],
    ) -> Res<Code> {
        let mut c = Compiler::new(lam.name.or(self.code.name), &type_text(ty));
        c.siblings = siblings.iter().enumerate().map(|(i, (l, _))| (*l, i as u32)).collect();
        c.sibling_arity = siblings.iter().copied().collect();
        for l in hidden.iter().copied().chain(lam.params.iter().map(|p| p.local)).chain(captured.iter().copied()) {
            c.bind(l);
        }
        c.has_output = outline::has_output(&lam.body, false);
        c.tail(&lam.body)?;
        c.finish((hidden.len() + lam.params.len()) as u32, captured.len() as u32)
    }

    /// Creates a closure in `d`.
    fn closure(&mut self, hidden: &[Local], lam: &Rc<Lambda>, ty: &Ty, d: R) -> Res<()> {
        let captured = free_locals::free_in_lambda(hidden, lam);
        let mut code = self.function(hidden, lam, ty, &captured, &[])?;
        let members = Rc::new([(Local(u32::MAX), hidden.to_vec(), lam.clone())]);
        code.origin = Some(Rc::new(CoreOrigin { members, group: false, index: 0, captured: captured.clone() }));
        code.profile = profile_of(&code.instrs);
        self.code.codes.push(Rc::new(code));
        let k = self.code.codes.len() as u32 - 1;
        let first = self.capture(&captured)?;
        self.emit(I::Closure(d, k, first, captured.len() as u32));
        Ok(())
    }

    fn capture(&mut self, captured: &[Local]) -> Res<R> {
        let first = self.temps(captured.len() as u32);
        for (i, l) in captured.iter().enumerate() {
            let r = self.load(*l)?;
            self.emit(I::Move(first + i as u32, r));
        }
        Ok(first)
    }
}

fn type_text(t: &Ty) -> String {
    adl_typing::print::ty(t)
}

/// The value of `[]` at a type; its buffer holds scalars if the element type is known.
fn empty_array(ty: &Ty) -> Value {
    let (mut shape, mut leaf) = (crate::value::Shape::new(), ty);
    while let Ty::Array(n, inner) = leaf {
        shape.push(match n {
            Size::Const(k, _) if !shape.is_empty() => *k as usize,
            _ => 0,
        });
        leaf = inner;
    }
    let buf = match leaf {
        Ty::Float => Buf::F64(Vec::new()),
        Ty::F32 => Buf::F32(Vec::new()),
        Ty::Int => Buf::I64(Vec::new()),
        Ty::Bool => Buf::Bool(Vec::new()),
        _ => return array::boxed(Vec::new()),
    };
    array::make(shape, buf)
}

/// The initial profile of code.
fn profile_of(instrs: &[I]) -> Profile {
    let loops = instrs.iter().any(|i| matches!(i, I::LoopNext(..) | I::Back(_)));
    let calls = instrs
        .iter()
        .any(|i| matches!(i, I::For(..) | I::Call(..) | I::TailCall(..) | I::CallSibling(..) | I::TailSibling(..)));
    Profile::new(loops, calls)
}
