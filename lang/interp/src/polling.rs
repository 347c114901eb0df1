//! Interruptible loops over large data in code that has no access to the machine: they poll the interrupt flag
//! of the run on their thread.

use crate::error::{Error, Res, codes};
pub use crate::limits::polling::PIECE;
pub use crate::limits::polling::STRIDE;
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Number of elements copied at a time.
const fn at_once<T>() -> usize {
    if size_of::<T>() == 0 { PIECE } else { PIECE.div_ceil(size_of::<T>()) }
}

thread_local! {
    static FLAG: RefCell<Arc<AtomicBool>> = RefCell::default();
    static WHY: Cell<Option<Box<Error>>> = const { Cell::new(None) };
}

/// Sets the interrupt flag that loops on this thread poll.
pub fn listen(flag: &Arc<AtomicBool>) {
    let _ = FLAG.try_with(|f| {
        if let Ok(mut f) = f.try_borrow_mut()
            && !Arc::ptr_eq(&f, flag)
        {
            *f = flag.clone();
        }
    });
}

/// The interrupt flag that loops on this thread poll.
pub(crate) fn flag() -> Arc<AtomicBool> {
    FLAG.try_with(|f| f.try_borrow().map(|f| f.clone()).unwrap_or_default()).unwrap_or_default()
}

/// Whether the run should stop.
pub fn interrupt_requested() -> bool {
    FLAG.try_with(|f| f.try_borrow().is_ok_and(|f| f.load(Ordering::Relaxed))).unwrap_or(false)
}

/// An error if the run should stop.
pub fn poll() -> Res<()> {
    if interrupt_requested() {
        Err(failure().unwrap_or_else(|| Error::new(codes::INTERRUPT, "interrupted")))
    } else {
        Ok(())
    }
}

/// Stops the run with this error at its next poll. For failures in functions that cannot return an error.
pub(crate) fn fail(e: Box<Error>) {
    let _ = WHY.try_with(|w| w.set(Some(e)));
    let _ = FLAG.try_with(|f| f.try_borrow().map(|f| f.store(true, Ordering::Relaxed)));
}

/// Takes the error recorded by `fail`, if any, and clears the interrupt flag that it set.
pub fn failure() -> Option<Box<Error>> {
    let why = WHY.try_with(Cell::take).ok().flatten()?;
    let _ = FLAG.try_with(|f| f.try_borrow().map(|f| f.store(false, Ordering::Relaxed)));
    Some(why)
}

/// The values of `f` for all numbers below `n`.
pub fn collect<T>(n: usize, f: impl FnMut(usize) -> T) -> Res<Vec<T>> {
    let mut out = crate::memory::room(n)?;
    let mut f = f;
    while out.len() < n {
        poll()?;
        out.extend((out.len()..n.min(out.len() + STRIDE)).map(&mut f));
    }
    Ok(out)
}

/// Collects the items of an iterator.
pub(crate) fn collect_exact<T>(items: impl ExactSizeIterator<Item = T>) -> Res<Vec<T>> {
    let mut items = items;
    let mut out = crate::memory::room(items.len())?;
    while items.len() > 0 {
        poll()?;
        out.extend(items.by_ref().take(STRIDE));
    }
    Ok(out)
}

/// Appends copies of elements.
pub(crate) fn extend<T: Clone>(out: &mut Vec<T>, from: &[T]) -> Res<()> {
    for part in from.chunks(STRIDE) {
        poll()?;
        append(out, part);
    }
    Ok(())
}

/// Appends copies of elements without polling.
pub(crate) fn append<T: Clone>(out: &mut Vec<T>, from: &[T]) {
    out.reserve(from.len());
    from.chunks(at_once::<T>()).for_each(|part| out.extend_from_slice(part));
}

/// A copy of a slice, without polling.
pub(crate) fn cloned<T: Clone>(from: &[T]) -> Vec<T> {
    let mut out = Vec::with_capacity(from.len());
    append(&mut out, from);
    out
}

/// Overwrites a slice with another one of the same length.
pub(crate) fn write<T: Clone>(to: &mut [T], from: &[T]) {
    debug_assert_eq!(to.len(), from.len());
    to.chunks_mut(at_once::<T>()).zip(from.chunks(at_once::<T>())).for_each(|(to, from)| to.clone_from_slice(from));
}

/// A copy of a slice.
pub fn copy<T: Clone>(from: &[T]) -> Res<Vec<T>> {
    let mut out = crate::memory::room(from.len())?;
    extend(&mut out, from)?;
    Ok(out)
}

/// Applies `f` to parts of a slice.
pub fn each<T>(v: &mut [T], mut f: impl FnMut(&mut [T])) -> Res<()> {
    for part in v.chunks_mut(STRIDE) {
        poll()?;
        f(part);
    }
    Ok(())
}

/// Applies `f` to corresponding parts of two slices.
pub(crate) fn pairs<T, U>(v: &mut [T], w: &[U], mut f: impl FnMut(&mut [T], &[U])) -> Res<()> {
    for (v, w) in v.chunks_mut(STRIDE).zip(w.chunks(STRIDE)) {
        poll()?;
        f(v, w);
    }
    Ok(())
}
