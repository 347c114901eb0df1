//! The seam of native code: what a compiler of lowered functions is given and gives. `lang/jit` has one; a machine without one interprets.
//!
//! The compiler stands behind a trait because it needs values and their operations, which are this crate's, and because `unsafe` code is
//! to stay in its crate.
//!
//! A function is compiled when the work that it has done, and that it is about to do, outweighs compiling it ([`super::work`]).

use super::road::Clock;
use super::variants::{self, Fact};
use super::work::volume::{self, Volume};
use super::{boxes, work};
use crate::device::{Pace, Prepared};
use crate::error::Res;
use crate::value::Value;
use crate::vm::Machine;
use crate::vm::code::Code;
use adl_ir::{DataDecl, FnId, Function, Program};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

/// The functions of a program that have been lowered.
#[derive(Default)]
pub struct Source {
    /// Functions, by place.
    pub funcs: Vec<Rc<Function>>,
    /// The same as the optimiser began to finish them: what follows is another thing for each processor.
    pub(super) inlined: Vec<Rc<Function>>,
    /// Places, by number in the program.
    pub places: HashMap<FnId, u32>,
    /// Declared types, by number.
    pub datas: Vec<Rc<DataDecl>>,
}

impl Source {
    /// All functions of a program, each as it becomes native code.
    pub fn of(p: &Program) -> Source {
        let funcs = p.funcs.iter().map(|f| {
            let mut f = (**f).clone();
            adl_opt::finish(p, &mut f);
            adl_opt::native(p, &mut f);
            super::vectorise::sums(&mut f);
            Rc::new(f)
        });
        Source { funcs: funcs.collect(), inlined: Vec::new(), places: (0..p.funcs.len() as u32).map(|k| (FnId(k), k)).collect(), datas: p.datas.clone() }
    }

    /// The functions as a program.
    pub(super) fn program(&self) -> Program {
        let mut funcs = vec![Rc::default(); self.places.keys().map(|f| f.0 as usize + 1).max().unwrap_or(0)];
        for (f, at) in &self.places {
            if let Some(found) = self.funcs.get(*at as usize) {
                funcs[f.0 as usize] = found.clone();
            }
        }
        Program { funcs, datas: self.datas.clone(), absent: true }
    }

    /// The functions as a program, as the optimiser began to finish them; and the number of one.
    pub(crate) fn unlowered(&self, at: u32) -> Option<(Program, FnId)> {
        let mut funcs = vec![Rc::default(); self.places.keys().map(|f| f.0 as usize + 1).max().unwrap_or(0)];
        for (f, at) in &self.places {
            funcs[f.0 as usize] = self.inlined.get(*at as usize)?.clone();
        }
        let id = self.places.iter().find(|(_, k)| **k == at)?.0;
        Some((Program { funcs, datas: self.datas.clone(), absent: true }, *id))
    }

    /// A function as the optimiser began to finish it.
    pub(crate) fn inlined(&self, f: FnId) -> Option<Rc<Function>> {
        self.inlined.get(*self.places.get(&f)? as usize).cloned()
    }

    /// A function of the program.
    pub fn func(&self, f: FnId) -> Option<&Rc<Function>> {
        self.funcs.get(*self.places.get(&f)? as usize)
    }
}

/// How native code is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Listing {
    /// The compiler's own form of it.
    Clif,
    /// Instructions of this machine.
    Asm,
}

/// Compiles functions.
pub trait Compiler {
    /// Native code of the function at a place, with all that it calls; or why there is none.
    fn compile(&self, source: &Source, at: u32) -> Result<Rc<dyn Native>, String>;
    /// The same as text, function by function.
    fn listing(&self, source: &Source, at: u32, form: Listing) -> Result<String, String>;
}

/// A compiled function.
pub trait Native {
    /// Its results, the same bits as the interpreter's. They are packed only if the machine's `packs` says so. Errors have the places of the frames that they left.
    fn run(&self, m: &mut Machine, args: Vec<Value>) -> Res<Vec<Value>>;
}

/// Arguments of a call.
type Args<'v> = smallvec::SmallVec<[&'v Value; 8]>;

/// How a function is evaluated.
enum Tier {
    /// Interpreted; the work that it has done, and that from which on it is compiled.
    Cold(u64, u64),
    /// Native.
    Hot(Rc<dyn Native>),
    /// Interpreted, because it does not compile.
    Never(String),
}

/// A function on a device.
#[derive(Clone)]
pub(crate) enum OnDevice {
    /// What runs it, and how often that was refused while running.
    Ready(Rc<dyn Prepared>, u32),
    /// Why it cannot be there.
    Never(String),
}

/// What lowered code keeps to be compiled later.
pub struct State {
    source: Rc<RefCell<Source>>,
    at: u32,
    /// Whether loops on large arrays are arithmetic alone, which native code does several turns of at once.
    chains: bool,
    tier: RefCell<Tier>,
    /// The function on a device, once it was asked for; and how it compares.
    on_device: RefCell<Option<OnDevice>>,
    pace: RefCell<Pace>,
    /// What the last call was for a device, and for which sizes.
    volume: Cell<Option<(u64, Volume)>>,
    /// Native code for arguments of small sizes, each with what it takes for granted. None where that gains nothing.
    variants: RefCell<Vec<(Vec<Fact>, Option<Rc<dyn Native>>)>>,
}

/// Variants of one function. Beyond, there is the one for all sizes.
const VARIANTS: usize = 3;

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "f{} ({})", self.at, if self.is_native() { "native" } else { "interpreted" })
    }
}

impl State {
    pub(crate) fn new(source: Rc<RefCell<Source>>, at: u32, chains: bool) -> State {
        State { source, at, chains, tier: RefCell::new(Tier::Cold(0, 0)), on_device: RefCell::default(), pace: RefCell::default(), volume: Cell::default(), variants: RefCell::default() }
    }

    /// Whether there is native code.
    pub fn is_native(&self) -> bool {
        matches!(*self.tier.borrow(), Tier::Hot(_)) || self.variants.borrow().iter().any(|(_, n)| n.is_some())
    }

    /// Why there never will be.
    pub fn why_not(&self) -> Option<String> {
        match &*self.tier.borrow() {
            Tier::Never(why) => Some(why.clone()),
            Tier::Cold(..) | Tier::Hot(_) => None,
        }
    }

    /// The native code, made now if a call with these arguments makes it worth it.
    fn ready<'v>(&self, compiler: &Rc<dyn Compiler>, clock: &Clock, args: &mut dyn Iterator<Item = &'v Value>) -> Option<Rc<dyn Native>> {
        let (heat, worth) = match &*self.tier.borrow() {
            Tier::Hot(n) if self.variants.borrow().is_empty() => return Some(n.clone()),
            Tier::Hot(n) => return Some(self.fitting(&args.collect::<Args>()).unwrap_or_else(|| n.clone())),
            Tier::Never(_) => return None,
            Tier::Cold(heat, worth) => (*heat, *worth),
        };
        let args: Args = args.collect();
        if let Some(n) = self.fitting(&args) {
            return Some(n);
        }
        let source = self.source.borrow();
        let f = source.funcs.get(self.at as usize)?;
        let heat = heat.saturating_add(work::of_call(&source, f, self.chains, &mut args.iter().copied()));
        let worth = if worth == 0 { work::worth(&source, f) } else { worth };
        if heat < worth {
            *self.tier.borrow_mut() = Tier::Cold(heat, worth);
            return None;
        }
        if let Some(n) = self.variant(compiler, clock, &source, f, &args) {
            return Some(n);
        }
        drop(source);
        self.compile(compiler, clock);
        match &*self.tier.borrow() {
            Tier::Hot(n) => Some(n.clone()),
            Tier::Cold(..) | Tier::Never(_) => None,
        }
    }

    /// Native code for arguments of these sizes, if there is.
    fn fitting(&self, args: &[&Value]) -> Option<Rc<dyn Native>> {
        self.variants.borrow().iter().find(|(facts, _)| variants::hold(facts, args))?.1.clone()
    }

    /// Makes native code for arguments of these sizes, if they are small and that gains something.
    fn variant(&self, compiler: &Rc<dyn Compiler>, clock: &Clock, source: &Source, f: &Rc<Function>, args: &[&Value]) -> Option<Rc<dyn Native>> {
        let facts = variants::facts(f, args);
        if facts.is_empty() || self.variants.borrow().len() >= VARIANTS || self.variants.borrow().iter().any(|(known, _)| *known == facts) {
            return None;
        }
        let made = clock.compiling(|| {
            let g = variants::variant(source, f, &facts)?;
            // It stands beside the function for all sizes, which a recursive one goes on calling.
            let (at, id) = (source.funcs.len() as u32, FnId(source.places.keys().map(|f| f.0 + 1).max().unwrap_or(0)));
            let (mut funcs, mut places) = (source.funcs.clone(), source.places.clone());
            funcs.push(Rc::new(g));
            places.insert(id, at);
            compiler.compile(&Source { funcs, places, datas: source.datas.clone(), ..Source::default() }, at).ok()
        });
        self.variants.borrow_mut().push((facts, made.clone()));
        made
    }

    /// What a device could do of a call with these arguments.
    pub(crate) fn volume(&self, args: &[Value]) -> Option<Volume> {
        let key = volume::key(args);
        if let Some((_, v)) = self.volume.get().filter(|(k, _)| *k == key) {
            return Some(v);
        }
        let source = self.source.borrow();
        let v = volume::of_call(&source, source.inlined.get(self.at as usize)?, args.iter());
        self.volume.set(Some((key, v)));
        Some(v)
    }

    /// The program for a device.
    pub(crate) fn unlowered(&self) -> Option<(Program, FnId)> {
        self.source.borrow().unlowered(self.at)
    }

    /// The function on a device, if that was asked for before.
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

    /// How CPU and device compare.
    pub(crate) fn pace<T>(&self, f: impl FnOnce(&mut Pace) -> T) -> T {
        f(&mut self.pace.borrow_mut())
    }

    /// Arguments as interpreted code reads them.
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

    /// Makes native code for a call with these arguments, if that has not been tried; whether there is some.
    pub(crate) fn compile_for<'v>(&self, compiler: &Rc<dyn Compiler>, clock: &Clock, args: impl Iterator<Item = &'v Value>) -> bool {
        if !matches!(*self.tier.borrow(), Tier::Cold(..)) {
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

    /// Makes native code, if that has not been tried; whether there is some.
    pub(crate) fn compile(&self, compiler: &Rc<dyn Compiler>, clock: &Clock) -> bool {
        if !matches!(*self.tier.borrow(), Tier::Cold(..)) {
            return self.is_native();
        }
        let made = clock.compiling(|| compiler.compile(&self.source.borrow(), self.at));
        *self.tier.borrow_mut() = match made {
            Ok(n) => Tier::Hot(n),
            Err(why) => Tier::Never(why),
        };
        self.is_native()
    }
}

impl Machine {
    /// The native code to call instead of lowered code, if there is.
    #[inline]
    pub(crate) fn native_code<'v>(&self, code: &Code, mut args: impl Iterator<Item = &'v Value>) -> Option<Rc<dyn Native>> {
        match (&code.native, &self.compiler) {
            (Some(state), Some(compiler)) => state.ready(compiler, &self.road.clock, &mut args),
            _ => None,
        }
    }

    /// Runs native code.
    pub(crate) fn run_native(&mut self, code: &dyn Native, args: Vec<Value>) -> Res<Vec<Value>> {
        self.ran_native = true;
        // Native code changes arrays where they lie, and does not ask whether a device has got a copy meanwhile.
        self.here(|m| code.run(m, args))
    }
}
