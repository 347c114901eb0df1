//! The virtual machine: compiles Core to register code and runs it.
//!
//! [`Machine`] owns everything that a run needs: registers, frames, globals, tapes, the host. Reading order:
//! [`code`], `compile`, `run` (the interpreter loop), `instr` (instructions), `calls`.

mod calls;
mod check_nan;
pub mod code;
mod code_list;
mod compile;
mod definitions;
mod effects;
mod evaluator;
mod gc;
mod instr;
mod lowered;
mod oom;
mod parts;
pub(crate) mod policy;
pub mod profile;
mod progress;
mod recover;
mod run;

pub use oom::{OutOfMemoryFlag, WeakOutOfMemoryFlag};
pub use recover::SavedState;

use crate::ad::State;
use crate::ad::linear::LinearMap;
use crate::error::{Error, Res, codes};
use crate::host::Host;
use crate::value::Value;
use adl_prim::Prim;
use adl_syntax::span::{FileId, Span};
use adl_syntax::symbol::Symbol;
use adl_typing::core::{Def, Expr, ExprKind, Lit};
use adl_typing::ty::Ty;
use code::Code;
pub use code_list::CodeList;
use definitions::{Definitions, StackUse};
use std::collections::HashSet;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A function value.
pub enum Fun {
    /// A primitive with its hidden arguments.
    Prim(Prim, Vec<Value>),
    /// Code with captured values.
    Closure(Rc<Code>, Vec<Value>),
    /// A member of a recursive group.
    Member(Rc<Group>, u32),
    /// A partial application.
    Partial(Rc<Fun>, Vec<Value>),
    /// A derivative, or the transpose of a linear function.
    Linear(LinearMap),
    /// `custom_jvp` (or `custom_vjp`, if true) of a function and a rule.
    Custom(Value, Value, bool),
    /// `checkpoint f`.
    Checkpoint(Value),
    /// `invertible {op, lift, lower, inverse}`.
    Invertible(Value),
    /// A function of the program that embeds adl.
    Host(HostFun),
}

/// A function of the program that embeds adl. It has no derivative.
pub struct HostFun {
    /// Its name, for messages.
    pub name: String,
    /// Its number of arguments.
    pub arity: usize,
    /// Its type as text.
    pub ty: String,
    /// Computes it from values without tapes.
    pub call: Box<dyn Fn(&[Value]) -> Res<Value>>,
}

/// A group of mutually recursive functions, with their captured values. Member functions are created on demand,
/// so that there are no reference cycles.
pub struct Group {
    /// The code of the members.
    pub codes: CodeList,
    /// Captured values, shared by all members.
    pub captured: Vec<Value>,
}

impl Drop for Group {
    fn drop(&mut self) {
        crate::value::release(&mut self.captured);
    }
}

impl Drop for Fun {
    fn drop(&mut self) {
        match self {
            Fun::Closure(_, vals) | Fun::Partial(_, vals) | Fun::Prim(_, vals) => {
                if !vals.is_empty() {
                    crate::value::release(vals);
                }
            }
            Fun::Custom(a, b, _) => crate::value::release(&mut vec![std::mem::take(a), std::mem::take(b)]),
            Fun::Checkpoint(a) | Fun::Invertible(a) => crate::value::release(&mut vec![std::mem::take(a)]),
            Fun::Member(..) | Fun::Linear(_) | Fun::Host(_) => {}
        }
    }
}

impl std::fmt::Debug for Fun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "<fun{} : {}>", self.called(), self.type_text())
    }
}

impl Fun {
    /// Its type as text, as far as it is known.
    pub fn type_text(&self) -> String {
        match self {
            Fun::Prim(p, _) => {
                let (adl_prim::Typing::Scheme(t) | adl_prim::Typing::Elementwise(t) | adl_prim::Typing::Special(t)) =
                    p.row().typing;
                t.to_owned()
            }
            Fun::Closure(c, _) => c.ty.clone(),
            Fun::Member(g, i) => g.codes[*i as usize].ty.clone(),
            Fun::Partial(f, args) => {
                // Remove one arrow for each argument that is already applied.
                let mut t = f.type_text();
                for _ in args {
                    t = after_arrow(&t).unwrap_or(t);
                }
                t
            }
            Fun::Linear(_) => "a -o b".into(),
            Fun::Custom(f, ..) | Fun::Checkpoint(f) => match f {
                Value::Fun(f) => f.type_text(),
                _ => "a -> b".into(),
            },
            Fun::Invertible(_) => "a -> a -> a".into(),
            Fun::Host(h) => h.ty.clone(),
        }
    }

    /// A space and the name of the function, or that of the enclosing definition; empty if it has none. `…`
    /// stands for arguments that are already applied.
    pub fn called(&self) -> String {
        let of = |name: Option<Symbol>| name.map_or(String::new(), |n| format!(" {n}"));
        match self {
            // Names that begin with `__` are internal.
            Fun::Prim(p, _) => {
                Some(p.name()).filter(|n| !n.starts_with("__")).map_or(String::new(), |n| format!(" {n}"))
            }
            Fun::Closure(c, _) => of(c.name),
            Fun::Member(g, i) => of(g.codes[*i as usize].name),
            Fun::Partial(f, args) => match f.called() {
                name if name.is_empty() => name,
                name => name + &" …".repeat(args.len()),
            },
            Fun::Custom(Value::Fun(f), ..) | Fun::Checkpoint(Value::Fun(f)) => f.called(),
            Fun::Host(h) => format!(" {}", h.name),
            Fun::Linear(_) | Fun::Custom(..) | Fun::Checkpoint(_) | Fun::Invertible(_) => String::new(),
        }
    }

    /// Number of arguments that are still to be applied.
    pub fn arity(&self) -> usize {
        match self {
            Fun::Prim(p, _) => p.row().arity as usize,
            Fun::Closure(c, _) => c.params as usize,
            Fun::Member(g, i) => g.codes[*i as usize].params as usize,
            Fun::Partial(f, args) => f.arity().saturating_sub(args.len()),
            Fun::Linear(_) | Fun::Custom(..) | Fun::Checkpoint(_) => 1,
            Fun::Invertible(_) => 2,
            Fun::Host(h) => h.arity,
        }
    }
}

/// The text after the first arrow outside brackets.
fn after_arrow(t: &str) -> Option<String> {
    let t = t.split_once("=> ").map_or(t, |(_, t)| t);
    let mut depth = 0i32;
    for (i, c) in t.char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            '-' if depth == 0 && (t[i..].starts_with("-> ") || t[i..].starts_with("-o ")) => {
                return Some(t[i + 3..].to_owned());
            }
            _ => {}
        }
    }
    None
}

pub(crate) struct CallFrame {
    code: Rc<Code>,
    fun: Option<Rc<Fun>>,
    pc: usize,
    base: usize,
    /// The register that receives the result, in the caller's frame.
    dst: usize,
    /// The original arguments, kept while the code may become hot.
    args: Option<Box<[Value]>>,
}

/// The state of a run and of a session: registers, frames, globals, caches, the host.
pub struct Machine {
    /// Set by another thread to stop the run.
    pub interrupt: Arc<AtomicBool>,
    /// Set by another thread to stop the run because memory is exhausted.
    pub out_of_memory: OutOfMemoryFlag,
    /// Set by another thread, a few times a second, to request a progress report of the outermost loop.
    pub tick: Arc<AtomicBool>,
    /// The outside world.
    pub host: Box<dyn Host>,
    /// The source texts to which spans refer.
    pub sources: adl_syntax::span::SourceMap,
    /// The derivative operators that are being evaluated by taped AD.
    pub ad: State,
    /// How deep the run is.
    pub stack: StackUse,
    /// Files of the standard modules: an error in one is reported at the user's call.
    pub library: HashSet<FileId>,
    /// The native compiler; without one all code is interpreted.
    pub compiler: Option<Rc<dyn crate::ir::native::Compiler>>,
    /// The device beside the CPU.
    pub device: crate::device::DeviceSelection,
    /// Whether native code has run since the flag was last reset.
    pub(crate) ran_native: bool,
    /// Whether the first nan or infinity that an operation produces is an error. Native code does not check
    /// this, so `compiler` should be `None`.
    pub check_nan: bool,
    /// Whether the results of the next native call may be packed ([`crate::ir::boxes`]).
    pub pack_results: bool,
    /// Values, Core and declared types.
    pub definitions: Definitions,
    /// The state of compiled AD.
    pub compiled_ad: Box<crate::ir::derive::CompiledAd>,
    /// An empty state that stands in while the other one is lent, so that lending makes none.
    pub(crate) spare_ad: Option<Box<crate::ir::derive::CompiledAd>>,
    regs: Vec<Value>,
    frames: Vec<CallFrame>,
    /// Effects of runs that may be repeated.
    pub(crate) effects: effects::EffectLog,
}

impl Machine {
    /// A machine without definitions.
    pub fn new(host: Box<dyn Host>) -> Machine {
        let interrupt: Arc<AtomicBool> = Arc::default();
        Machine {
            out_of_memory: OutOfMemoryFlag::new(interrupt.clone()),
            interrupt,
            tick: Arc::default(),
            host,
            sources: Default::default(),
            ad: State::default(),
            stack: StackUse::default(),
            library: HashSet::new(),
            compiler: None,
            device: crate::device::DeviceSelection::default(),
            ran_native: false,
            check_nan: false,
            pack_results: false,
            definitions: Definitions::default(),
            compiled_ad: Box::default(),
            spare_ad: None,
            regs: Vec::new(),
            frames: Vec::new(),
            effects: effects::EffectLog::default(),
        }
    }

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

    /// The Core of a definition.
    pub fn definition(&self, id: adl_typing::core::GlobalId) -> Option<Rc<Def>> {
        self.definitions.core.get(&id).cloned()
    }

    /// The value of a definition.
    pub fn global(&self, id: adl_typing::core::GlobalId) -> Option<&Value> {
        self.definitions.value(id)
    }

    /// Sets the value of a global.
    pub fn set_global(&mut self, id: adl_typing::core::GlobalId, v: Value) {
        self.definitions.set(id, v);
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

    /// An error if the run should stop.
    #[inline]
    pub fn poll(&self) -> Res<()> {
        if self.interrupt.load(Ordering::Relaxed) { Err(self.stopped()) } else { Ok(()) }
    }

    #[cold]
    fn stopped(&self) -> Box<Error> {
        match self.out_of_memory.get() {
            None => crate::polling::failure().unwrap_or_else(|| Error::new(codes::INTERRUPT, "interrupted")),
            Some(bytes) => crate::memory::exhausted(bytes),
        }
    }

    /// Uses the signals of another machine, which this one replaces.
    pub fn share_signals(&mut self, interrupt: Arc<AtomicBool>, tick: Arc<AtomicBool>) {
        self.out_of_memory.stops(interrupt.clone());
        self.interrupt = interrupt;
        self.tick = tick;
    }

    /// Clears all requests to stop.
    pub fn clear_interrupt(&self) {
        self.out_of_memory.clear();
        self.interrupt.store(false, Ordering::Relaxed);
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
        false => Expr { kind: Box::new(ExprKind::Lit(Lit::Unit)), ty: def.expr.ty.clone(), span: def.expr.span },
    };
    Def { global: def.global, name: def.name, scheme: def.scheme.clone(), expr, span: def.span, doc: None }
}

/// The error for a recursion that exceeds the memory limit.
pub fn too_deep() -> Box<Error> {
    Error::new(codes::DEPTH, "too many nested calls: the recursion does not seem to end")
        .hint("a call in tail position takes no space; `--stack` sets another limit")
}

/// The error for a value that no arm of a `match` covers.
pub fn no_match() -> Box<Error> {
    Error::new(codes::NO_MATCH, "no arm of this `match` fits the value")
}

/// Whether a span is not in any file.
pub(crate) fn nowhere(s: Span) -> bool {
    s.lo == 0 && s.hi == 0
}

/// A component of a tuple.
pub(crate) fn part(v: &Value, i: u32) -> Res<Value> {
    parts::step_into(v, adl_typing::core::Projection::Item(i))
}
