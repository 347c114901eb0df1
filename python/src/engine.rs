//! The engine of the process. A lock gives it to one thread of Python at a time.
//!
//! A function of Python that adl calls may call adl: it finds another engine, one *level* higher, in which modules are loaded
//! again when they are needed. So no engine is ever entered twice.
//!
//! A session is not `Send`: its values count references without atomics. It is never used by two threads at once, and what is
//! bound to a thread (the order of record fields) moves with it. Objects of Python hold numbers of *slots*, not values, so
//! that one that dies on another thread touches nothing.

use crate::errors;
use crate::function_data::FunctionData;
use crate::host::PythonHost;
use adl_interp::value::Value;
use adl_session::Session;
use adl_syntax::field_order::{self, Orders};
use adl_typing::env::Env;
use adl_typing::ty::Ty;
use pyo3::prelude::*;
use std::cell::UnsafeCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};

/// What an object of Python stands for.
#[derive(Clone)]
pub enum Slot {
    /// The names of a module.
    Names(Rc<Env>),
    /// A function.
    Function(Rc<FunctionData>),
    /// A value that Python cannot take apart.
    Opaque(Value, Ty),
    /// What its module has released.
    Closed,
}

/// The number of levels.
pub const LEVELS: usize = 4;

/// The session, and what Python holds of it.
pub struct Engine {
    level: usize,
    pub session: Session,
    orders: Orders,
    slots: Vec<Option<Slot>>,
    free: Vec<usize>,
    /// Classes of constructors, by declared type and tag.
    pub classes: HashMap<(u32, u32), Py<PyAny>>,
}

impl Engine {
    fn new(level: usize) -> Engine {
        let mut session = Session::new(Box::new(PythonHost::new()));
        session.set_stack(1 << 30);
        let mut orders = Orders::default();
        field_order::exchange(&mut orders);
        // An interrupt stops the runs of all levels.
        static SIGNALS: OnceLock<(Arc<AtomicBool>, Arc<AtomicBool>)> = OnceLock::new();
        let (interrupt, tick) = SIGNALS.get_or_init(|| (session.interrupt(), session.tick())).clone();
        session.share_signals(interrupt, tick);
        Engine { level, session, orders, slots: Vec::new(), free: Vec::new(), classes: HashMap::new() }
    }

    /// Its level.
    pub fn level(&self) -> usize {
        self.level
    }

    /// Keeps something for an object of Python.
    pub fn hold(&mut self, slot: Slot) -> Held {
        let at = self.free.pop().unwrap_or(self.slots.len());
        if at == self.slots.len() {
            self.slots.push(None);
        }
        self.slots[at] = Some(slot);
        Held { level: self.level, at }
    }

    /// What an object of Python stands for.
    pub fn slot(&self, held: &Held) -> Option<&Slot> {
        self.slots.get(held.at).and_then(Option::as_ref).filter(|_| held.level == self.level)
    }

    /// Replaces what an object of Python stands for.
    pub fn replace(&mut self, held: &Held, slot: Slot) {
        self.slots[held.at] = Some(slot);
    }

    /// Releases definitions that no object of Python can reach any more, if there may be many.
    pub fn release(&mut self) {
        let (mut envs, mut values) = (Vec::new(), Vec::new());
        for slot in self.slots.iter().flatten() {
            match slot {
                Slot::Names(env) => envs.push(env.clone()),
                Slot::Function(f) => f.holds(&mut envs, &mut values),
                Slot::Opaque(v, _) => values.push(v.clone()),
                Slot::Closed => {}
            }
        }
        self.session.release_except(&envs, &values);
    }

    /// The number of definitions that are kept.
    pub fn definitions(&self) -> usize {
        self.session.definitions()
    }

    fn sweep(&mut self) {
        // What dies here may hold objects of Python, whose slots die with it: so the list is not locked meanwhile.
        let of = &LEVEL[self.level];
        of.any_dead.store(false, Ordering::Relaxed);
        let dead = std::mem::take(&mut *of.dead.lock().unwrap_or_else(PoisonError::into_inner));
        for at in dead {
            self.slots[at] = None;
            self.free.push(at);
        }
    }
}

/// The number of a slot, which is freed with it.
pub struct Held {
    /// The level of its engine.
    pub level: usize,
    at: usize,
}

impl Drop for Held {
    fn drop(&mut self) {
        let of = &LEVEL[self.level];
        of.dead.lock().unwrap_or_else(PoisonError::into_inner).push(self.at);
        of.any_dead.store(true, Ordering::Relaxed);
    }
}

/// The engine of a level, and its lock.
struct EngineLevel {
    engine: UnsafeCell<Option<Engine>>,
    taken: Mutex<bool>,
    freed: Condvar,
    /// The thread that holds the engine, 0 for none.
    holder: AtomicUsize,
    /// Slots whose objects have died.
    dead: Mutex<Vec<usize>>,
    any_dead: AtomicBool,
}

// SAFETY: the cell is only reached through `Locked`, of which there is one at a time for each level (`taken`).
unsafe impl Sync for EngineLevel {}

static LEVEL: [EngineLevel; LEVELS] = [const {
    EngineLevel {
        engine: UnsafeCell::new(None),
        taken: Mutex::new(false),
        freed: Condvar::new(),
        holder: AtomicUsize::new(0),
        dead: Mutex::new(Vec::new()),
        any_dead: AtomicBool::new(false),
    }
}; LEVELS];

/// The highest level whose engine this thread holds: adl runs on it and has called Python.
fn highest() -> Option<usize> {
    (0..LEVELS).rev().find(|level| LEVEL[*level].holder.load(Ordering::Relaxed) == this_thread())
}

/// Whether adl runs on this thread at this level or a higher one. Engines are only entered upwards, so that threads cannot wait for
/// one another in a circle.
pub fn is_running(level: usize) -> bool {
    highest().is_some_and(|h| h >= level)
}

/// The first level that this thread may enter; `None` in the depth of calls.
pub fn free_level() -> Option<usize> {
    highest().map_or(Some(0), |h| Some(h + 1).filter(|level| *level < LEVELS))
}

/// Whether this process is a fork of one that had an engine.
static FORKED: AtomicBool = AtomicBool::new(false);

/// Marks this process as a fork: locks and helper threads of the engine stayed in its parent.
pub fn forked() {
    FORKED.store(true, Ordering::Relaxed);
}

/// A number of this thread that no other living thread has.
fn this_thread() -> usize {
    thread_local! { static MARK: u8 = const { 0 }; }
    MARK.with(|m| std::ptr::from_ref(m) as usize)
}

/// The engine, taken by this thread.
pub struct Locked(&'static mut Engine);

/// Takes the engine of a level. The interpreter's lock is released while another thread has it.
///
/// # Errors
/// This thread has it already, or the process is a fork.
pub fn lock(py: Python<'_>, level: usize) -> PyResult<Locked> {
    if FORKED.load(Ordering::Relaxed) {
        return Err(errors::plain(
            py,
            "E0711",
            "expected the process that loaded adl, found a fork of it",
            "start processes by `multiprocessing.get_context(\"spawn\")`",
        ));
    }
    if is_running(level) {
        return Err(errors::plain(
            py,
            "E0711",
            "expected a value that was made inside the call, found one of the module that runs",
            "in a function that adl has called, use functions of modules, numbers, arrays and records",
        ));
    }
    let of = &LEVEL[level];
    let mut taken = of.taken.lock().unwrap_or_else(PoisonError::into_inner);
    if *taken {
        drop(taken);
        py.detach(|| {
            let mut taken = of.taken.lock().unwrap_or_else(PoisonError::into_inner);
            while *taken {
                taken = of.freed.wait(taken).unwrap_or_else(PoisonError::into_inner);
            }
            *taken = true;
        });
    } else {
        *taken = true;
        drop(taken);
    }
    of.holder.store(this_thread(), Ordering::Relaxed);
    // SAFETY: `taken` was false and is true now, so that no other `Locked` refers to the cell until this one is dropped.
    let engine = unsafe { &mut *of.engine.get() }.get_or_insert_with(|| Engine::new(level));
    field_order::exchange(&mut engine.orders);
    if of.any_dead.load(Ordering::Relaxed) {
        engine.sweep();
    }
    Ok(Locked(engine))
}

impl Drop for Locked {
    fn drop(&mut self) {
        field_order::exchange(&mut self.0.orders);
        let of = &LEVEL[self.0.level];
        of.holder.store(0, Ordering::Relaxed);
        *of.taken.lock().unwrap_or_else(PoisonError::into_inner) = false;
        of.freed.notify_one();
    }
}

impl std::ops::Deref for Locked {
    type Target = Engine;
    fn deref(&self) -> &Engine {
        self.0
    }
}

impl std::ops::DerefMut for Locked {
    fn deref_mut(&mut self) -> &mut Engine {
        self.0
    }
}

/// A job that runs on this thread while the interpreter's lock is released.
struct UnlockedJob<F>(F);

// SAFETY: `Python::detach` runs the job on the thread that made it. The mark only says that it holds nothing of Python that
// needs the lock; values that borrow from Python release it through pyo3, which waits for the lock.
unsafe impl<F> Send for UnlockedJob<F> {}

impl<T, F: FnOnce() -> T> UnlockedJob<F> {
    fn run(self) -> UnlockedJob<T> {
        UnlockedJob((self.0)())
    }
}

impl Locked {
    /// Runs adl while other threads run Python. Ctrl-C stops it.
    pub fn run<T>(&mut self, py: Python<'_>, job: impl FnOnce(&mut Session) -> T) -> T {
        // The outermost run watches for interrupts.
        let outermost = !(0..self.0.level).any(|level| LEVEL[level].holder.load(Ordering::Relaxed) == this_thread());
        let session = &mut self.0.session;
        if outermost {
            session.clear_interrupt();
        }
        let job = UnlockedJob(move || {
            #[cfg(unix)]
            let _watched = outermost.then(|| crate::interrupt::watch(session));
            job(session)
        });
        py.detach(move || job.run()).0
    }
}
