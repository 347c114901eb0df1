//! Panics: a panic is a fault of adl, which ends neither the session nor the process.
//!
//! - [`catch`] is a boundary: a panic below it becomes a [`Fault`], with its message and place, which a hook records. Nothing is printed unless
//!   `RUST_BACKTRACE` asks for a backtrace.
//! - Threads of a pool hand their panic to the thread that waits for them, as `rayon` does. So does `ops::watch`.
//! - Native code has no tables for unwinding. Its run-time functions are [`shielded`]: the fault is kept for the thread and the run is asked
//!   to stop. Once native code has returned, [`resume`] goes on with the panic.
//! - A thread that serves a session, and that nobody waits for, is a [`helper`]: its fault is kept until the session's next boundary.
//! - Tests [`inject`] a panic at a [`Point`].

use crate::attend;
use crate::error::{Error, codes};
use adl_syntax::span::Span;
use adl_syntax::stop::Stopped;
use std::any::Any;
use std::backtrace::{Backtrace, BacktraceStatus};
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use std::sync::{Mutex, Once, PoisonError};
use std::time::Duration;

/// A panic that was caught.
#[derive(Clone, PartialEq, Debug)]
pub struct Fault {
    /// What it said.
    pub message: String,
    /// The source file, line and column, if they are known.
    pub place: Option<String>,
    /// It was no panic, but an interrupt of what cannot fail ([`adl_syntax::stop`]).
    pub interrupt: bool,
}

impl Fault {
    /// The error that is reported; the program's own place is still to be added.
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
    /// Boundaries around what runs on this thread.
    static BOUNDARIES: Cell<usize> = const { Cell::new(0) };
    /// The last panic of this thread.
    static LAST: RefCell<Option<Fault>> = const { RefCell::new(None) };
    /// The panic that native code of this thread has to return from.
    static PENDING: Cell<Option<Box<Fault>>> = const { Cell::new(None) };
}

/// Boundaries of all threads.
static ALL_BOUNDARIES: AtomicUsize = AtomicUsize::new(0);

/// The last panic of a worker thread.
static OF_WORKERS: Mutex<Option<Fault>> = Mutex::new(None);

/// A boundary, while something runs below it.
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

/// Runs something; a panic in it is an error.
///
/// # Errors
/// The fault. What `run` has changed may be half done: the caller restores it or drops it.
pub fn catch<T>(run: impl FnOnce() -> T) -> Result<T, Box<Fault>> {
    install();
    let boundary = Boundary::enter();
    let done = catch_unwind(AssertUnwindSafe(run));
    drop(boundary);
    done.map_err(fault_of)
}

/// The result of a function that native code calls. Where it panics, native code gets `otherwise`,
/// with which it must be able to go on until it stops.
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

/// Keeps a panic until native code has returned, and asks it to.
#[cold]
fn defer(payload: Box<dyn Any + Send>) {
    let fault = PENDING.take().unwrap_or_else(|| fault_of(payload));
    attend::fail(fault.error());
    PENDING.set(Some(fault));
}

/// Goes on with the panic of a function that native code has called. To be called where native code has returned.
#[inline]
pub fn resume() {
    if let Some(fault) = PENDING.take() {
        drop(attend::failure());
        resume_unwind(fault);
    }
}

/// Goes on with the panic of a thread that was waited for.
pub(crate) fn resume_from(payload: Box<dyn Any + Send>) -> ! {
    resume_unwind(payload)
}

/// The fault of a helper that nobody has heard of yet.
static ASIDE: Mutex<Option<Box<Fault>>> = Mutex::new(None);
static IS_ASIDE: AtomicBool = AtomicBool::new(false);

/// Time after which a helper that has panicked goes on.
const AFTER: Duration = Duration::from_millis(20);

/// Starts a thread that serves a session: `step` again and again, which says after what time, or that it is done. Where it panics the session hears of it
/// ([`aside`]) and `stop` ends its run; then it goes on. The second time it ends. No thread is an error of the system.
pub fn helper(name: &str, mut step: impl FnMut() -> Option<Duration> + Send + 'static, stop: impl Fn() + Send + 'static) -> std::io::Result<()> {
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
    IS_ASIDE.swap(false, Ordering::Relaxed).then(|| ASIDE.lock().unwrap_or_else(PoisonError::into_inner).take()).flatten()
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
    let fault = here.or_else(|| OF_WORKERS.lock().unwrap_or_else(PoisonError::into_inner).take().filter(|f| f.message == message));
    Box::new(fault.unwrap_or(Fault { message, place: None, interrupt: false }))
}

fn message_of(payload: &dyn Any) -> String {
    let text = payload.downcast_ref::<&str>().copied().or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("a panic without a message").to_owned()
}

/// Has panics below boundaries recorded. All others go to the hook that was there before.
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

/// Records a panic if a boundary will catch it.
fn record(info: &PanicHookInfo<'_>) -> bool {
    let fault = || Fault { message: message_of(info.payload()), place: info.location().map(ToString::to_string), interrupt: false };
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

/// Where tests have a panic happen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Point {
    /// Checking an item.
    Checker = 1,
    /// A primitive that the interpreter calls.
    Interpreter,
    /// An operation of lowered code.
    Lowered,
    /// A run-time function that native code calls.
    Helper,
    /// A part of an array, on a thread of the pool.
    Worker,
    /// Machine code being made, on a thread of the pool.
    Compiler,
    /// A value being shown.
    Renderer,
    /// A name being completed or documented.
    Inspection,
    /// A question to the kernel being answered, on the thread that does that while a cell runs.
    Answer,
    /// A long operation on a thread of its own.
    Work,
    /// Code that a device runs.
    Device,
    /// The thread that watches memory.
    Memory,
    /// The thread that asks for progress.
    Progress,
}

impl Point {
    /// All points with their names.
    pub const ALL: [(&'static str, Point); 13] = [
        ("checker", Point::Checker),
        ("interpreter", Point::Interpreter),
        ("lowered", Point::Lowered),
        ("helper", Point::Helper),
        ("worker", Point::Worker),
        ("compiler", Point::Compiler),
        ("renderer", Point::Renderer),
        ("inspection", Point::Inspection),
        ("answer", Point::Answer),
        ("work", Point::Work),
        ("device", Point::Device),
        ("memory", Point::Memory),
        ("progress", Point::Progress),
    ];
}

static INJECTED: AtomicU8 = AtomicU8::new(0);

/// For tests: the next time that a point is reached, by any thread, it panics once.
pub fn inject(point: Option<Point>) {
    INJECTED.store(point.map_or(0, |p| p as u8), Ordering::Relaxed);
}

/// A place where tests may inject a panic.
#[inline]
pub fn point(here: Point) {
    if INJECTED.load(Ordering::Relaxed) == here as u8 {
        fire(here);
    }
}

#[cold]
fn fire(here: Point) {
    if INJECTED.compare_exchange(here as u8, 0, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
        let nothing: [u8; 0] = [];
        // The panic that tests want: an index out of bounds.
        std::hint::black_box(std::hint::black_box(&nothing[..])[std::hint::black_box(0)]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_boundary_has_message_and_place() {
        let fault = catch(|| [1, 2, 3][std::hint::black_box(5)]).unwrap_err();
        assert_eq!(fault.message, "index out of bounds: the len is 3 but the index is 5");
        assert!(fault.place.as_deref().is_some_and(|p| p.contains("fault.rs:")), "{fault:?}");
        assert_eq!(catch(|| 7), Ok(7));
    }

    #[test]
    fn a_shielded_panic_waits_for_native_code_to_return() {
        let fault = catch(|| {
            let got = shielded(|| 3, || [1, 2][std::hint::black_box(2)]);
            assert_eq!((got, attend::asked()), (3, true));
            resume();
        });
        assert_eq!(fault.unwrap_err().message, "index out of bounds: the len is 2 but the index is 2");
        assert!(!attend::asked());
        resume();
    }

    #[test]
    fn a_helper_that_panics_goes_on_and_is_heard_of() {
        let (send, steps) = std::sync::mpsc::channel();
        let (told, stops) = std::sync::mpsc::channel();
        let mut n = 0;
        let step = move || {
            n += 1;
            send.send(n).ok()?;
            Some([Duration::ZERO; 2][if n == 1 { std::hint::black_box(7) } else { 0 }])
        };
        let stop = move || {
            let _ = told.send(());
        };
        helper("adl-test", step, stop).unwrap();
        assert_eq!((steps.recv(), stops.recv()), (Ok(1), Ok(())));
        assert!(aside().is_some_and(|f| f.message.contains("the index is 7") && f.place.is_some()));
        assert_eq!((steps.recv(), aside()), (Ok(2), None));
    }

    #[test]
    fn a_boundary_knows_the_place_of_a_panic_on_another_thread() {
        let fault = catch(|| {
            let thread = std::thread::Builder::new().name("adl-test".into()).spawn(|| [1, 2, 3, 4][std::hint::black_box(9)]);
            thread.map(|t| t.join().unwrap_or_else(|p| resume_from(p))).unwrap_or(0)
        });
        let fault = fault.unwrap_err();
        assert!(fault.message.contains("the index is 9") && fault.place.is_some(), "{fault:?}");
    }
}
