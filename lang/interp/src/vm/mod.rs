//! Core → register code → results.
//!
//! [`Machine`] owns everything that a run needs: registers, frames, globals, tapes, the host. Reading order: [`code`], `compile`,
//! `run` (the loop), `instr` (what instructions do), `calls`.

mod calls;
pub mod code;
mod compile;
mod dead;
pub mod hot;
pub(crate) mod lanes;
mod lowered;
mod nonfinite;
mod instr;
mod library;
mod parts;
mod progress;
mod recover;
mod run;
mod starved;

pub use recover::Kept;
pub use starved::{Starved, WeakStarved};

use crate::ad::State;
use crate::ad::linear::LinearMap;
use crate::error::{Error, Res, codes};
use crate::host::Host;
use crate::value::Value;
use adl_prim::Prim;
use adl_syntax::span::{FileId, Span};
use adl_syntax::symbol::Symbol;
use adl_typing::core::{Def, Expr, ExprKind, GlobalId, Lit};
use adl_typing::ty::{DataDecl, DataId, Ty};
use code::Code;
pub use library::Codes;
use std::collections::{HashMap, HashSet};
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
    /// A function with its first arguments.
    Partial(Rc<Fun>, Vec<Value>),
    /// A derivative, or the transpose of a linear function.
    Linear(LinearMap),
    /// `custom_jvp` (or `custom_vjp`, if true) of a function and a rule.
    Custom(Value, Value, bool),
    /// `checkpoint f`.
    Checkpoint(Value),
    /// `invertible {op, lift, lower, inverse}`.
    Invertible(Value),
}

/// Functions that refer to each other, and what they capture. Members are made on demand, so that no cycle of references arises.
pub struct Group {
    /// Their code.
    pub codes: Codes,
    /// Captured values, the same for all.
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
            Fun::Member(..) | Fun::Linear(_) => {}
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
                let (adl_prim::Typing::Scheme(t) | adl_prim::Typing::Elementwise(t) | adl_prim::Typing::Special(t)) = p.row().typing;
                t.to_owned()
            }
            Fun::Closure(c, _) => c.ty.clone(),
            Fun::Member(g, i) => g.codes[*i as usize].ty.clone(),
            Fun::Partial(f, args) => {
                // The type after the arguments that it has: drop as many arrows.
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
        }
    }

    /// A blank and the name that it has, or that of the definition which it was made in; `…` stands for arguments that it already has.
    pub fn called(&self) -> String {
        let of = |name: Option<Symbol>| name.map_or(String::new(), |n| format!(" {n}"));
        match self {
            // What begins with `__` is not for users.
            Fun::Prim(p, _) => Some(p.name()).filter(|n| !n.starts_with("__")).map_or(String::new(), |n| format!(" {n}")),
            Fun::Closure(c, _) => of(c.name),
            Fun::Member(g, i) => of(g.codes[*i as usize].name),
            Fun::Partial(f, args) => match f.called() {
                name if name.is_empty() => name,
                name => name + &" …".repeat(args.len()),
            },
            Fun::Custom(Value::Fun(f), ..) | Fun::Checkpoint(Value::Fun(f)) => f.called(),
            Fun::Linear(_) | Fun::Custom(..) | Fun::Checkpoint(_) | Fun::Invertible(_) => String::new(),
        }
    }

    /// Number of arguments that it waits for.
    pub fn arity(&self) -> usize {
        match self {
            Fun::Prim(p, _) => p.row().arity as usize,
            Fun::Closure(c, _) => c.params as usize,
            Fun::Member(g, i) => g.codes[*i as usize].params as usize,
            Fun::Partial(f, args) => f.arity().saturating_sub(args.len()),
            Fun::Linear(_) | Fun::Custom(..) | Fun::Checkpoint(_) => 1,
            Fun::Invertible(_) => 2,
        }
    }
}

/// What stands after the first arrow outside brackets.
fn after_arrow(t: &str) -> Option<String> {
    let t = t.split_once("=> ").map_or(t, |(_, t)| t);
    let mut depth = 0i32;
    for (i, c) in t.char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            '-' if depth == 0 && (t[i..].starts_with("-> ") || t[i..].starts_with("-o ")) => return Some(t[i + 3..].to_owned()),
            _ => {}
        }
    }
    None
}

pub(crate) struct Frame {
    code: Rc<Code>,
    fun: Option<Rc<Fun>>,
    pc: usize,
    base: usize,
    /// Where the caller wants the result.
    dst: usize,
    /// The arguments, while the code may become hot.
    args: Option<Box<[Value]>>,
}

/// Runs code.
pub struct Machine {
    /// Set from elsewhere to stop the run.
    pub interrupt: Arc<AtomicBool>,
    /// Set from elsewhere to stop the run because memory is used up.
    pub starved: Starved,
    /// Set from elsewhere, a few times a second, where somebody wants to hear how far loops are.
    pub tick: Arc<AtomicBool>,
    /// The outside world.
    pub host: Box<dyn Host>,
    /// The texts that spans point into, for what shows source lines.
    pub sources: adl_syntax::span::SourceMap,
    /// Live derivative operators.
    pub ad: State,
    /// Bytes that frames may take before a recursion counts as endless.
    pub stack_budget: usize,
    /// Files of the standard modules: an error in one is shown where the user called it.
    pub library: HashSet<FileId>,
    /// Makes native code of lowered functions; without one all is interpreted.
    pub compiler: Option<Rc<dyn crate::ir::native::Compiler>>,
    /// The device beside the CPU.
    pub device: crate::device::Chosen,
    /// Whether native code has run since somebody looked.
    pub(crate) ran_native: bool,
    /// Whether the first nan or infinity that an operation makes is an error. Native code does not look, so there should be no compiler.
    pub check_nan: bool,
    /// Whether the results of the native code that runs next may be packed ([`crate::ir::boxes`]).
    pub packs: bool,
    /// Declared types, for readers of data.
    pub datas: HashMap<DataId, Rc<DataDecl>>,
    /// The main road of differentiation.
    pub road: crate::ir::road::Road,
    /// Definitions, for the specialiser. Of data only the type is kept.
    pub(crate) defs: HashMap<GlobalId, Rc<Def>>,
    /// Definitions that are gone, but for their code's addresses.
    buried: Vec<Rc<Def>>,
    pub(crate) globals: Vec<Option<Value>>,
    regs: Vec<Value>,
    frames: Vec<Frame>,
    /// Whether an attempt runs that may be dropped: effects are refused.
    pub(crate) speculating: bool,
    /// The frame that native code runs in place of: it and those above do not go on meanwhile.
    replaced: usize,
    /// Nesting of calls through primitives, in bytes of machine stack.
    reentries: usize,
}

impl Machine {
    /// A machine with nothing defined.
    pub fn new(host: Box<dyn Host>) -> Machine {
        let interrupt: Arc<AtomicBool> = Arc::default();
        Machine {
            starved: Starved::new(interrupt.clone()),
            interrupt,
            tick: Arc::default(),
            host,
            sources: Default::default(),
            ad: State::default(),
            stack_budget: 1 << 30,
            library: HashSet::new(),
            compiler: None,
            device: crate::device::Chosen::default(),
            ran_native: false,
            check_nan: false,
            packs: false,
            datas: HashMap::new(),
            road: crate::ir::road::Road::default(),
            defs: HashMap::new(),
            buried: Vec::new(),
            globals: Vec::new(),
            regs: Vec::new(),
            frames: Vec::new(),
            speculating: false,
            replaced: usize::MAX,
            reentries: 0,
        }
    }

    /// Evaluates a definition.
    pub fn define(&mut self, def: &Def) -> Res<()> {
        let v = self.eval(&def.expr, def.name)?;
        self.set_global(def.global, v);
        self.defs.insert(def.global, Rc::new(for_specialiser(def)));
        Ok(())
    }

    /// The Core of a definition.
    pub fn definition(&self, id: adl_typing::core::GlobalId) -> Option<Rc<Def>> {
        self.defs.get(&id).cloned()
    }

    /// The value of a definition.
    pub fn global(&self, id: adl_typing::core::GlobalId) -> Option<&Value> {
        self.globals.get(id.0 as usize).and_then(|v| v.as_ref())
    }

    /// Gives a global its value.
    pub fn set_global(&mut self, id: adl_typing::core::GlobalId, v: Value) {
        let at = id.0 as usize;
        if self.globals.len() <= at {
            self.globals.resize(at + 1, None);
        }
        self.globals[at] = Some(v);
    }

    /// Evaluates an expression without free locals. Afterwards the machine is as it was before, errors or not.
    pub fn eval(&mut self, e: &Expr, name: Option<Symbol>) -> Res<Value> {
        let code = Rc::new(compile::top(e, name)?);
        let mut out = self.outermost(|m| m.enter(code));
        if let Err(error) = &mut out {
            // A call in tail position has left no frame of the user's.
            self.place(error, e.span);
        }
        out
    }

    /// Applies a function where nothing else runs. Afterwards the machine is as it was before, errors or not.
    pub fn apply(&mut self, f: &Value, args: &[Value]) -> Res<Value> {
        self.outermost(|m| m.call(f, args))
    }

    fn outermost(&mut self, run: impl FnOnce(&mut Machine) -> Res<Value>) -> Res<Value> {
        let depth = self.ad.depth();
        crate::attend::listen(&self.interrupt);
        // What failed where nothing ran is nothing to this run.
        drop(crate::attend::failure());
        let inside = self.starved.run(true);
        let mut out = run(self);
        self.starved.run(inside);
        self.ad.reset_to(depth);
        if let Err(e) = &mut out {
            let failed = crate::attend::failure();
            if e.diag.code == codes::INTERRUPT && (failed.is_some() || self.starved.get().is_some()) {
                // Operations that were stopped do not know why.
                let why = failed.unwrap_or_else(|| self.stopped());
                (e.diag.code, e.diag.message, e.diag.hint) = (why.diag.code, why.diag.message, why.diag.hint);
            }
            if e.diag.code == codes::EXHAUSTED {
                // What it held goes with it: the next run begins afresh.
                self.clear_interrupt();
            }
            self.frames.clear();
            self.regs.clear();
            self.reentries = 0;
            self.speculating = false;
        }
        self.shrink_stacks();
        out
    }

    /// Frees the room of a deep recursion.
    fn shrink_stacks(&mut self) {
        const KEPT: usize = 1 << 20;
        let bytes = self.regs.capacity() * size_of::<Value>() + self.frames.capacity() * size_of::<Frame>();
        if bytes > KEPT && self.frames.is_empty() {
            self.regs.shrink_to_fit();
            self.frames.shrink_to_fit();
            if bytes > KEPT << 4 {
                self.host.return_memory();
            }
        }
    }

    /// Stops if an interrupt was asked for.
    #[inline]
    pub fn poll(&self) -> Res<()> {
        if self.interrupt.load(Ordering::Relaxed) { Err(self.stopped()) } else { Ok(()) }
    }

    #[cold]
    fn stopped(&self) -> Box<Error> {
        match self.starved.get() {
            None => crate::attend::failure().unwrap_or_else(|| Error::new(codes::INTERRUPT, "interrupted")),
            Some(bytes) => crate::memory::exhausted(bytes),
        }
    }

    /// Takes the signals of another machine, whose place it takes.
    pub fn share_signals(&mut self, interrupt: Arc<AtomicBool>, tick: Arc<AtomicBool>) {
        self.starved.stops(interrupt.clone());
        self.interrupt = interrupt;
        self.tick = tick;
    }

    /// Forgets what was asked to stop a run.
    pub fn clear_interrupt(&self) {
        self.starved.clear();
        self.interrupt.store(false, Ordering::Relaxed);
    }

    /// Applies a function to arguments (fewer give a partial application, more are passed on).
    pub fn call(&mut self, f: &Value, args: &[Value]) -> Res<Value> {
        let Value::Fun(f) = f else {
            return Err(Error::new(codes::STRUCTURE, format!("{} is not a function", crate::value::show::show(f))));
        };
        self.call_fun(f.clone(), args.to_vec())
    }
}

/// A definition as the specialiser reads it: functions are code, data is a value that only has a type.
fn for_specialiser(def: &Def) -> Def {
    let code = matches!(def.scheme.ty, Ty::Fun(..) | Ty::Lin(..)) || matches!(&*def.expr.kind, ExprKind::Abs(..));
    let expr = match code {
        true => def.expr.clone(),
        false => Expr { kind: Box::new(ExprKind::Lit(Lit::Unit)), ty: def.expr.ty.clone(), span: def.expr.span },
    };
    Def { global: def.global, name: def.name, scheme: def.scheme.clone(), expr, span: def.span, doc: None }
}

/// The error of a recursion that takes too much memory.
pub fn too_deep() -> Box<Error> {
    Error::new(codes::DEPTH, "too many nested calls: the recursion does not seem to end").hint("a call in tail position takes no space; `--stack` sets another limit")
}

/// The error of a value that no arm fits.
pub fn no_match() -> Box<Error> {
    Error::new(codes::NO_MATCH, "no arm of this `match` fits the value")
}

/// A place without a file.
pub(crate) fn nowhere(s: Span) -> bool {
    s.lo == 0 && s.hi == 0
}

/// Component of a tuple.
pub(crate) fn part(v: &Value, i: u32) -> Res<Value> {
    parts::step_into(v, adl_typing::core::Step::Item(i))
}
