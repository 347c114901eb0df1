//! The one engine of the process. A lock gives it to one thread of Python at a time.
//!
//! A session is not `Send`: its values count references without atomics. It is never used by two threads at once, and what is
//! bound to a thread (the order of record fields) moves with it. Objects of Python hold numbers of *slots*, not values, so
//! that one that dies on another thread touches nothing.

use crate::errors;
use crate::function::FunctionData;
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
use std::sync::{Condvar, Mutex, PoisonError};

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

/// The session, and what Python holds of it.
pub struct Engine {
    pub session: Session,
    orders: Orders,
    slots: Vec<Option<Slot>>,
    free: Vec<usize>,
    /// Classes of constructors, by declared type and tag.
    pub classes: HashMap<(u32, u32), Py<PyAny>>,
}

impl Engine {
    fn new() -> Engine {
        let mut session = Session::new(Box::new(PythonHost::new()));
        session.set_stack(1 << 30);
        let mut orders = Orders::default();
        field_order::exchange(&mut orders);
        Engine { session, orders, slots: Vec::new(), free: Vec::new(), classes: HashMap::new() }
    }

    /// Keeps something for an object of Python.
    pub fn hold(&mut self, slot: Slot) -> Held {
        let at = self.free.pop().unwrap_or(self.slots.len());
        if at == self.slots.len() {
            self.slots.push(None);
        }
        self.slots[at] = Some(slot);
        Held(at)
    }

    /// What an object of Python stands for.
    pub fn slot(&self, held: &Held) -> Option<&Slot> {
        self.slots.get(held.0).and_then(Option::as_ref)
    }

    /// Replaces what an object of Python stands for.
    pub fn replace(&mut self, held: &Held, slot: Slot) {
        self.slots[held.0] = Some(slot);
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
        ANY_DEAD.store(false, Ordering::Relaxed);
        let dead = std::mem::take(&mut *DEAD.lock().unwrap_or_else(PoisonError::into_inner));
        for at in dead {
            self.slots[at] = None;
            self.free.push(at);
        }
    }
}

/// The number of a slot, which is freed with it.
pub struct Held(usize);

/// Slots whose objects have died.
static DEAD: Mutex<Vec<usize>> = Mutex::new(Vec::new());
static ANY_DEAD: AtomicBool = AtomicBool::new(false);

impl Drop for Held {
    fn drop(&mut self) {
        DEAD.lock().unwrap_or_else(PoisonError::into_inner).push(self.0);
        ANY_DEAD.store(true, Ordering::Relaxed);
    }
}

struct Shared(UnsafeCell<Option<Engine>>);

// SAFETY: the cell is only reached through `Locked`, of which there is one at a time (`TAKEN`).
unsafe impl Sync for Shared {}

static ENGINE: Shared = Shared(UnsafeCell::new(None));
static TAKEN: Mutex<bool> = Mutex::new(false);
static FREED: Condvar = Condvar::new();
/// The thread that holds the engine, 0 for none.
static HOLDER: AtomicUsize = AtomicUsize::new(0);
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

/// Takes the engine. The interpreter's lock is released while another thread has it.
///
/// # Errors
/// This thread has it already: a function that adl calls has called adl.
pub fn lock(py: Python<'_>) -> PyResult<Locked> {
    if FORKED.load(Ordering::Relaxed) {
        return Err(errors::plain(
            py,
            "E0711",
            "expected the process that loaded adl, found a fork of it",
            "start processes by `multiprocessing.get_context(\"spawn\")`",
        ));
    }
    if HOLDER.load(Ordering::Relaxed) == this_thread() {
        return Err(errors::plain(
            py,
            "E0711",
            "expected a call from Python, found one from a function that adl has called",
            "compute what it needs before, or write the function in adl",
        ));
    }
    let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
    if *taken {
        drop(taken);
        py.detach(|| {
            let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
            while *taken {
                taken = FREED.wait(taken).unwrap_or_else(PoisonError::into_inner);
            }
            *taken = true;
        });
    } else {
        *taken = true;
        drop(taken);
    }
    HOLDER.store(this_thread(), Ordering::Relaxed);
    // SAFETY: `TAKEN` was false and is true now, so that no other `Locked` refers to the cell until this one is dropped.
    let engine = unsafe { &mut *ENGINE.0.get() }.get_or_insert_with(Engine::new);
    field_order::exchange(&mut engine.orders);
    if ANY_DEAD.load(Ordering::Relaxed) {
        engine.sweep();
    }
    Ok(Locked(engine))
}

impl Drop for Locked {
    fn drop(&mut self) {
        field_order::exchange(&mut self.0.orders);
        HOLDER.store(0, Ordering::Relaxed);
        *TAKEN.lock().unwrap_or_else(PoisonError::into_inner) = false;
        FREED.notify_one();
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
struct Job<F>(F);

// SAFETY: `Python::detach` runs the job on the thread that made it. The mark only says that it holds nothing of Python that
// needs the lock; values that borrow from Python release it through pyo3, which waits for the lock.
unsafe impl<F> Send for Job<F> {}

impl<T, F: FnOnce() -> T> Job<F> {
    fn run(self) -> Job<T> {
        Job((self.0)())
    }
}

impl Locked {
    /// Runs adl while other threads run Python. Ctrl-C stops it.
    pub fn run<T>(&mut self, py: Python<'_>, job: impl FnOnce(&mut Session) -> T) -> T {
        let session = &mut self.0.session;
        session.clear_interrupt();
        let job = Job(move || {
            #[cfg(unix)]
            let _watched = crate::interrupt::watch(session);
            job(session)
        });
        py.detach(move || job.run()).0
    }
}
