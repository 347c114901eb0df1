//! The state of a run and of a session, as data, and its signals.

use super::code::Code;
use super::definitions::{Definitions, StackUse};
use super::effects::EffectLog;
use super::oom::OutOfMemoryFlag;
use crate::ad::State;
use crate::device::DeviceSelection;
use crate::error::{Error, Res, codes};
use crate::host::Host;
use crate::ir::derive::CompiledAd;
use crate::ir::native::Compiler;
use crate::value::Value;
use crate::value::fun::Fun;
use adl_syntax::span::FileId;
use adl_typing::core::{Def, GlobalId};
use std::collections::HashSet;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

pub(crate) struct CallFrame {
    pub(super) code: Rc<Code>,
    pub(super) fun: Option<Rc<Fun>>,
    pub(super) pc: usize,
    pub(super) base: usize,
    /// The register that receives the result, in the caller's frame.
    pub(super) dst: usize,
    /// The original arguments, kept while the code may become hot.
    pub(super) args: Option<Box<[Value]>>,
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
    pub compiler: Option<Rc<dyn Compiler>>,
    /// The device beside the CPU.
    pub device: DeviceSelection,
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
    pub compiled_ad: Box<CompiledAd>,
    /// An empty state that stands in while the other one is lent, so that lending makes none.
    pub(crate) spare_ad: Option<Box<CompiledAd>>,
    pub(super) regs: Vec<Value>,
    pub(super) frames: Vec<CallFrame>,
    /// Effects of runs that may be repeated.
    pub(crate) effects: EffectLog,
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
            device: DeviceSelection::default(),
            ran_native: false,
            check_nan: false,
            pack_results: false,
            definitions: Definitions::default(),
            compiled_ad: Box::default(),
            spare_ad: None,
            regs: Vec::new(),
            frames: Vec::new(),
            effects: EffectLog::default(),
        }
    }

    /// An error if the run should stop.
    #[inline]
    pub fn poll(&self) -> Res<()> {
        if self.interrupt.load(Ordering::Relaxed) { Err(self.stopped()) } else { Ok(()) }
    }

    #[cold]
    pub(super) fn stopped(&self) -> Box<Error> {
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

    /// The Core of a definition.
    pub fn definition(&self, id: GlobalId) -> Option<Rc<Def>> {
        self.definitions.core.get(&id).cloned()
    }

    /// The value of a definition.
    pub fn global(&self, id: GlobalId) -> Option<&Value> {
        self.definitions.value(id)
    }

    /// Sets the value of a global.
    pub fn set_global(&mut self, id: GlobalId, v: Value) {
        self.definitions.set(id, v);
    }

    /// Runs `run` with all calls forced onto the CPU.
    pub(crate) fn cpu_only<T>(&mut self, run: impl FnOnce(&mut Machine) -> T) -> T {
        let before = std::mem::replace(&mut self.device.cpu_only, true);
        let out = run(self);
        self.device.cpu_only = before;
        out
    }
}
