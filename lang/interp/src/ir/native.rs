//! The interface of the native compiler. `lang/jit` implements it; without an implementation all code is
//! interpreted.
//!
//! The compiler is behind a trait because it needs the values and operations of this crate, and because
//! `unsafe` code stays in the compiler's crate.
//!
//! A function is compiled when the work that it has done, and is about to do, exceeds the cost of compiling it
//! (`super::cost_model`).

use super::cost_model::device_cost::{self, Volume};
use super::derive::CompileClock;
pub use super::lowered_ir::LoweredIr;
use super::shape_specialise::{self, ShapeFact};
use super::{boxes, cost_model};
use crate::device::{DeviceTimes, Prepared};
use crate::error::Res;
use crate::limits::ir_native::VARIANTS;
use crate::value::Value;
use crate::vm::Machine;
use crate::vm::code::{Code, RunState};
use adl_ir::{FnId, Function, Program};
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// The form in which native code is listed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Listing {
    /// Cranelift's intermediate form.
    Clif,
    /// Machine instructions of this processor.
    Asm,
}

/// A compiler of IR functions to native code.
pub trait Compiler {
    /// Compiles the function at index `at` with all its callees. The error says why this is not possible.
    fn compile(&self, source: &LoweredIr, at: u32) -> Result<Rc<dyn Native>, String>;
    /// The code that `compile` would produce, as text, function by function.
    fn listing(&self, source: &LoweredIr, at: u32, form: Listing) -> Result<String, String>;
}

/// A compiled function.
pub trait Native {
    /// Runs the function. The results have the same bits as the interpreter's. They are packed only if `packs`
    /// of the machine says so. Errors carry the source positions of the frames that they unwound.
    fn run(&self, m: &mut Machine, args: Vec<Value>) -> Res<Vec<Value>>;
}

/// Arguments of a call.
type Args<'v> = smallvec::SmallVec<[&'v Value; 8]>;

/// How a function is evaluated.
enum CodeState {
    /// Interpreted: the work done so far, and the amount from which it is compiled.
    Cold(u64, u64),
    /// Native code.
    Hot(Rc<dyn Native>),
    /// Always interpreted, because it cannot be compiled, with the reason.
    Never(String),
}

/// Whether a function can run on a device.
#[derive(Clone)]
pub(crate) enum OnDevice {
    /// The prepared function, and how often the device refused it at run time.
    Ready(Rc<dyn Prepared>, u32),
    /// The reason why it cannot run there.
    Never(String),
}

/// Compilation state of a lowered function.
pub struct CompileState {
    source: Rc<RefCell<LoweredIr>>,
    at: u32,
    /// Whether loops on large arrays are pure arithmetic, which native code vectorises.
    chains: bool,
    tier: RefCell<CodeState>,
    /// The result of preparing the function for a device, once that was attempted.
    on_device: RefCell<Option<OnDevice>>,
    device_times: RefCell<DeviceTimes>,
    /// The estimated device work of the last call, with a hash of the argument sizes for which it was computed.
    volume: Cell<Option<(u64, Volume)>>,
    /// Native code specialised to small argument shapes, with the facts that it assumes. `None` if
    /// specialisation gains nothing.
    variants: RefCell<Vec<(Vec<ShapeFact>, Option<Rc<dyn Native>>)>>,
}

impl std::fmt::Debug for CompileState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "f{} ({})", self.at, if self.is_native() { "native" } else { "interpreted" })
    }
}

impl RunState for CompileState {}

/// The state of lowered code; `None` for code of a program.
#[inline]
pub(crate) fn state_of(code: &Code) -> Option<&CompileState> {
    let state: &dyn Any = &**code.lowered.native.as_ref()?;
    state.downcast_ref()
}

impl CompileState {
    pub(crate) fn new(source: Rc<RefCell<LoweredIr>>, at: u32, chains: bool) -> CompileState {
        CompileState {
            source,
            at,
            chains,
            tier: RefCell::new(CodeState::Cold(0, 0)),
            on_device: RefCell::default(),
            device_times: RefCell::default(),
            volume: Cell::default(),
            variants: RefCell::default(),
        }
    }

    /// Whether there is native code.
    pub fn is_native(&self) -> bool {
        matches!(*self.tier.borrow(), CodeState::Hot(_)) || self.variants.borrow().iter().any(|(_, n)| n.is_some())
    }

    /// Why the function cannot be compiled, if that is known.
    pub fn why_not(&self) -> Option<String> {
        match &*self.tier.borrow() {
            CodeState::Never(why) => Some(why.clone()),
            CodeState::Cold(..) | CodeState::Hot(_) => None,
        }
    }

    /// The native code for a call with these arguments. Compiles it if the accumulated work justifies that.
    fn ready(
        &self,
        compiler: &Rc<dyn Compiler>,
        clock: &CompileClock,
        args: &mut dyn Iterator<Item = &Value>,
    ) -> Option<Rc<dyn Native>> {
        let (heat, compile_threshold) = match &*self.tier.borrow() {
            CodeState::Hot(n) if self.variants.borrow().is_empty() => return Some(n.clone()),
            CodeState::Hot(n) => return Some(self.fitting(&args.collect::<Args>()).unwrap_or_else(|| n.clone())),
            CodeState::Never(_) => return None,
            CodeState::Cold(heat, compile_threshold) => (*heat, *compile_threshold),
        };
        let args: Args = args.collect();
        if let Some(n) = self.fitting(&args) {
            return Some(n);
        }
        let source = self.source.borrow();
        let f = source.funcs.get(self.at as usize)?;
        let heat = heat.saturating_add(cost_model::estimate_call(&source, f, self.chains, &mut args.iter().copied()));
        let compile_threshold =
            if compile_threshold == 0 { cost_model::compile_threshold(&source, f) } else { compile_threshold };
        if heat < compile_threshold {
            *self.tier.borrow_mut() = CodeState::Cold(heat, compile_threshold);
            return None;
        }
        if let Some(n) = self.variant(compiler, clock, &source, f, &args) {
            return Some(n);
        }
        drop(source);
        self.compile(compiler, clock);
        match &*self.tier.borrow() {
            CodeState::Hot(n) => Some(n.clone()),
            CodeState::Cold(..) | CodeState::Never(_) => None,
        }
    }

    /// Native code specialised to the shapes of these arguments, if it exists.
    fn fitting(&self, args: &[&Value]) -> Option<Rc<dyn Native>> {
        self.variants.borrow().iter().find(|(facts, _)| shape_specialise::hold(facts, args))?.1.clone()
    }

    /// Compiles native code specialised to the shapes of these arguments, if they are small and specialisation
    /// gains something.
    fn variant(
        &self,
        compiler: &Rc<dyn Compiler>,
        clock: &CompileClock,
        source: &LoweredIr,
        func: &Rc<Function>,
        args: &[&Value],
    ) -> Option<Rc<dyn Native>> {
        let facts = shape_specialise::facts(func, args);
        if facts.is_empty()
            || self.variants.borrow().len() >= VARIANTS
            || self.variants.borrow().iter().any(|(known, _)| *known == facts)
        {
            return None;
        }
        let made = clock.time_compiling(|| {
            let g = shape_specialise::variant(source, func, &facts)?;
            // The specialised code is added beside the general function, which its recursive calls still use.
            let (at, id) = (source.funcs.len() as u32, FnId(source.places.keys().map(|f| f.0 + 1).max().unwrap_or(0)));
            let (mut funcs, mut places) = (source.funcs.clone(), source.places.clone());
            funcs.push(Rc::new(g));
            places.insert(id, at);
            compiler.compile(&LoweredIr { funcs, places, datas: source.datas.clone(), ..LoweredIr::default() }, at).ok()
        });
        self.variants.borrow_mut().push((facts, made.clone()));
        made
    }

    /// The estimated work of a call with these arguments on a device.
    pub(crate) fn volume(&self, args: &[Value]) -> Option<Volume> {
        let key = device_cost::key(args);
        if let Some((_, v)) = self.volume.get().filter(|(k, _)| *k == key) {
            return Some(v);
        }
        let source = self.source.borrow();
        let v = device_cost::estimate_call(&source, source.inlined.get(self.at as usize)?, args.iter());
        self.volume.set(Some((key, v)));
        Some(v)
    }

    /// The program to compile for a device.
    pub(crate) fn unlowered(&self) -> Option<(Program, FnId)> {
        self.source.borrow().unlowered(self.at)
    }

    /// The result of preparing the function for a device, if that was attempted.
    pub(crate) fn on_device(&self) -> Option<OnDevice> {
        self.on_device.borrow().clone()
    }

    pub(crate) fn set_on_device(&self, ready: OnDevice) {
        *self.on_device.borrow_mut() = Some(ready);
    }

    /// Counts a call that the device refused.
    pub(crate) fn refuse(&self) {
        if let Some(OnDevice::Ready(_, n)) = &mut *self.on_device.borrow_mut() {
            *n += 1;
        }
    }

    /// Accesses the timings of the function on CPU and device.
    pub(crate) fn times<T>(&self, f: impl FnOnce(&mut DeviceTimes) -> T) -> T {
        f(&mut self.device_times.borrow_mut())
    }

    /// Unpacks packed arguments for interpreted code.
    pub(crate) fn unpack(&self, args: &mut [Value]) {
        let source = self.source.borrow();
        let Some(f) = source.funcs.get(self.at as usize) else { return };
        for (v, x) in f.body.params.iter().chain(&f.body.lin_params).zip(args) {
            let n = boxes::boxes(f.ty(*v));
            if n > 0 {
                *x = boxes::unpack(std::mem::take(x), n);
            }
        }
    }

    /// Compiles native code for a call with these arguments, unless that was already attempted. Returns whether
    /// native code exists.
    pub(crate) fn compile_for<'v>(
        &self,
        compiler: &Rc<dyn Compiler>,
        clock: &CompileClock,
        args: impl Iterator<Item = &'v Value>,
    ) -> bool {
        if !matches!(*self.tier.borrow(), CodeState::Cold(..)) {
            return self.is_native();
        }
        let args: Args = args.collect();
        let source = self.source.borrow();
        let Some(f) = source.funcs.get(self.at as usize) else { return false };
        if self.fitting(&args).or_else(|| self.variant(compiler, clock, &source, f, &args)).is_some() {
            return true;
        }
        drop(source);
        self.compile(compiler, clock)
    }

    /// Compiles native code for all shapes, unless that was already attempted. Returns whether native code
    /// exists.
    pub(crate) fn compile(&self, compiler: &Rc<dyn Compiler>, clock: &CompileClock) -> bool {
        if !matches!(*self.tier.borrow(), CodeState::Cold(..)) {
            return self.is_native();
        }
        let made = clock.time_compiling(|| compiler.compile(&self.source.borrow(), self.at));
        *self.tier.borrow_mut() = match made {
            Ok(n) => CodeState::Hot(n),
            Err(why) => CodeState::Never(why),
        };
        self.is_native()
    }
}

impl Machine {
    /// The native code to run for this call of lowered code, if there is any.
    #[inline]
    pub(crate) fn native_code<'v>(
        &self,
        code: &Code,
        mut args: impl Iterator<Item = &'v Value>,
    ) -> Option<Rc<dyn Native>> {
        let compiler = self.compiler.as_ref()?;
        state_of(code)?.ready(compiler, &self.compiled_ad.clock, &mut args)
    }

    /// Runs native code.
    pub(crate) fn run_native(&mut self, code: &dyn Native, args: Vec<Value>) -> Res<Vec<Value>> {
        self.ran_native = true;
        // Native code updates arrays in place without checking for a copy on the device, so no nested call may
        // go to the device.
        self.cpu_only(|m| code.run(m, args))
    }
}
