//! Panics: a panic is a bug in adl, and must end neither the session nor the process.
//!
//! - [`catch`] is a boundary: a panic below it becomes a [`Fault`], with its message and place, which a hook records. Nothing is printed unless
//!   `RUST_BACKTRACE` asks for a backtrace.
//! - Threads of a pool hand their panic to the thread that waits for them, as `rayon` does. So does `ops::interrupt`.
//! - Native code has no tables for unwinding. Its run-time functions are [`shielded`]: the fault is kept for the thread and the run is asked
//!   to stop. Once native code has returned, [`resume`] goes on with the panic.
//! - A thread that serves a session without being joined is a [`helper`]: its fault is kept until the session's next boundary.
//! - Tests [`inject`] a panic at a [`PanicPoint`].

use crate::error::{Error, codes};
use crate::limits::fault::AFTER;
use crate::polling;
use adl_syntax::span::Span;
use adl_syntax::stop::Stopped;
use std::any::Any;
use std::backtrace::{Backtrace, BacktraceStatus};
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use std::sync::{Mutex, Once, PoisonError};
use std::time::Duration;

/// A caught panic.
#[derive(Clone, PartialEq, Debug)]
pub struct Fault {
    /// The panic message.
    pub message: String,
    /// The source file, line and column, if they are known.
    pub place: Option<String>,
    /// It was no panic, but an interrupt of what cannot fail ([`adl_syntax::stop`]).
    pub interrupt: bool,
}

impl Fault {
    /// The error to report; the position in the program is added later.
    pub fn error(&self) -> Box<Error> {
        if self.interrupt {
            return Error::new(codes::INTERRUPT, "interrupted");
        }
        let place = self.place.as_deref().map_or(String::new(), |p| format!(" at {p}"));
        let mut error = Error::new(codes::INTERNAL, format!("internal error{place}: {}", self.message))
            .note("this is a fault of adl, not of the program; the session is as it was before")
            .hint("please report it together with the program; RUST_BACKTRACE=1 adds a backtrace");
        error.diag.primary.span = Span::NOWHERE;
        error
    }
}

thread_local! {
    /// Number of active boundaries on this thread.
    static BOUNDARIES: Cell<usize> = const { Cell::new(0) };
    /// The last panic of this thread.
    static LAST: RefCell<Option<Fault>> = const { RefCell::new(None) };
    /// The panic to resume after native code of this thread has returned.
    static PENDING: Cell<Option<Box<Fault>>> = const { Cell::new(None) };
}

/// Number of active boundaries on all threads.
static ALL_BOUNDARIES: AtomicUsize = AtomicUsize::new(0);

/// The last panic of a worker thread.
static OF_WORKERS: Mutex<Option<Fault>> = Mutex::new(None);

/// A guard for an active boundary.
struct Boundary;

impl Boundary {
    fn enter() -> Boundary {
        BOUNDARIES.set(BOUNDARIES.get() + 1);
        ALL_BOUNDARIES.fetch_add(1, Ordering::Relaxed);
        Boundary
    }
}

impl Drop for Boundary {
    fn drop(&mut self) {
        BOUNDARIES.set(BOUNDARIES.get() - 1);
        ALL_BOUNDARIES.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Runs a function, and converts a panic in it to an error.
///
/// # Errors
/// The fault. State that `run` modified may be inconsistent; the caller must restore or drop it.
pub fn catch<T>(run: impl FnOnce() -> T) -> Result<T, Box<Fault>> {
    install();
    let boundary = Boundary::enter();
    let done = catch_unwind(AssertUnwindSafe(run));
    drop(boundary);
    done.map_err(fault_of)
}

/// The result of a function called by native code. If it panics, native code gets `otherwise`, and must be able
/// to continue with that value until it polls and stops.
#[inline]
pub fn shielded<T>(otherwise: impl FnOnce() -> T, run: impl FnOnce() -> T) -> T {
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(done) => done,
        Err(payload) => {
            defer(payload);
            otherwise()
        }
    }
}

/// Stores a panic until native code has returned, and tells the run to stop.
#[cold]
fn defer(payload: Box<dyn Any + Send>) {
    let fault = PENDING.take().unwrap_or_else(|| fault_of(payload));
    polling::fail(fault.error());
    PENDING.set(Some(fault));
}

/// Resumes the panic of a function that native code called. Must be called after native code has returned.
#[inline]
pub fn resume() {
    if let Some(fault) = PENDING.take() {
        drop(polling::failure());
        resume_unwind(fault);
    }
}

/// Resumes the panic of a thread that was joined.
pub fn resume_from(payload: Box<dyn Any + Send>) -> ! {
    resume_unwind(payload)
}

/// The fault of a helper that has not been reported yet.
static ASIDE: Mutex<Option<Box<Fault>>> = Mutex::new(None);
static IS_ASIDE: AtomicBool = AtomicBool::new(false);

/// Starts a thread that serves a session: `eval_op` again and again, which says after what time, or that it is done. Where it panics the session hears of it
/// ([`aside`]) and `stop` ends its run; then it goes on. The second time it ends. No thread is an error of the system.
pub fn helper(
    name: &str,
    mut step: impl FnMut() -> Option<Duration> + Send + 'static,
    stop: impl Fn() + Send + 'static,
) -> std::io::Result<()> {
    let run = move || {
        let mut faults = 0;
        loop {
            let heard = || Ok(IS_ASIDE.load(Ordering::Relaxed).then_some(AFTER));
            let done = if faults < 2 { catch(&mut step) } else { heard() };
            let pause = match done {
                Ok(None) => return,
                Ok(Some(pause)) => pause,
                Err(fault) => {
                    faults += 1;
                    *ASIDE.lock().unwrap_or_else(PoisonError::into_inner) = Some(fault);
                    IS_ASIDE.store(true, Ordering::Relaxed);
                    AFTER
                }
            };
            // A run that begins meanwhile is stopped too.
            if IS_ASIDE.load(Ordering::Relaxed) {
                stop();
            }
            std::thread::sleep(pause);
        }
    };
    std::thread::Builder::new().name(name.to_owned()).stack_size(1 << 17).spawn(run).map(drop)
}

/// The fault of a helper, once.
pub fn aside() -> Option<Box<Fault>> {
    IS_ASIDE
        .swap(false, Ordering::Relaxed)
        .then(|| ASIDE.lock().unwrap_or_else(PoisonError::into_inner).take())
        .flatten()
}

/// What a panic said, and where.
fn fault_of(payload: Box<dyn Any + Send>) -> Box<Fault> {
    let payload = match payload.downcast::<Fault>() {
        Ok(fault) => return fault,
        Err(other) => other,
    };
    if payload.is::<Stopped>() {
        return Box::new(Fault { message: "interrupted".to_owned(), place: None, interrupt: true });
    }
    let message = message_of(&*payload);
    let here = LAST.with_borrow_mut(Option::take).filter(|f| f.message == message);
    let fault = here
        .or_else(|| OF_WORKERS.lock().unwrap_or_else(PoisonError::into_inner).take().filter(|f| f.message == message));
    Box::new(fault.unwrap_or(Fault { message, place: None, interrupt: false }))
}

fn message_of(payload: &dyn Any) -> String {
    let text = payload.downcast_ref::<&str>().copied().or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("a panic without a message").to_owned()
}

/// Installs a hook that records panics below boundaries. All others are passed to the previous hook.
fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !record(info) || Backtrace::capture().status() == BacktraceStatus::Captured {
                before(info);
            }
        }));
    });
}

/// Records a panic if a boundary will catch it. Returns whether it did.
fn record(info: &PanicHookInfo<'_>) -> bool {
    let fault = || Fault {
        message: message_of(info.payload()),
        place: info.location().map(ToString::to_string),
        interrupt: false,
    };
    if BOUNDARIES.get() > 0 {
        LAST.with_borrow_mut(|l| *l = Some(fault()));
        return true;
    }
    let named = std::thread::current().name().is_some_and(|n| n.starts_with("adl-"));
    let worker = ALL_BOUNDARIES.load(Ordering::Relaxed) > 0 && (named || rayon::current_thread_index().is_some());
    if worker {
        *OF_WORKERS.lock().unwrap_or_else(PoisonError::into_inner) = Some(fault());
    }
    worker
}

/// Where tests can inject a panic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum PanicPoint {
    /// Type checking of an item.
    Checker = 1,
    /// A primitive called by the interpreter.
    Interpreter,
    /// An operation of lowered code.
    Lowered,
    /// A run-time function called by native code.
    Helper,
    /// Parallel work on a part of an array, on a thread of the pool.
    Worker,
    /// Generation of machine code, on a thread of the pool.
    Compiler,
    /// Display of a value.
    Renderer,
    /// Completion or documentation of a name.
    Inspection,
    /// An answer of the kernel, on the thread that answers requests while a cell runs.
    Answer,
    /// The kernel's routing of a message, on the thread of the sockets.
    Router,
    /// A long operation on a thread of its own.
    Work,
    /// Code that a device runs.
    Device,
    /// The thread that watches memory.
    Memory,
    /// The thread that asks for progress.
    Progress,
}

impl PanicPoint {
    /// All points with their names.
    pub const ALL: [(&'static str, PanicPoint); 14] = [
        ("checker", PanicPoint::Checker),
        ("interpreter", PanicPoint::Interpreter),
        ("lowered", PanicPoint::Lowered),
        ("helper", PanicPoint::Helper),
        ("worker", PanicPoint::Worker),
        ("compiler", PanicPoint::Compiler),
        ("renderer", PanicPoint::Renderer),
        ("inspection", PanicPoint::Inspection),
        ("answer", PanicPoint::Answer),
        ("router", PanicPoint::Router),
        ("work", PanicPoint::Work),
        ("device", PanicPoint::Device),
        ("memory", PanicPoint::Memory),
        ("progress", PanicPoint::Progress),
    ];
}

static INJECTED: AtomicU8 = AtomicU8::new(0);

/// For tests: the next time that any thread reaches the point, it panics once. `None` cancels this.
pub fn inject(point: Option<PanicPoint>) {
    INJECTED.store(point.map_or(0, |p| p as u8), Ordering::Relaxed);
}

/// A position at which tests may inject a panic.
#[inline]
pub fn point(here: PanicPoint) {
    if INJECTED.load(Ordering::Relaxed) == here as u8 {
        fire(here);
    }
}

#[cold]
fn fire(here: PanicPoint) {
    if INJECTED.compare_exchange(here as u8, 0, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
        let nothing: [u8; 0] = [];
        // The panic that tests expect: an index out of bounds.
        std::hint::black_box(std::hint::black_box(&nothing[..])[std::hint::black_box(0)]);
    }
}
