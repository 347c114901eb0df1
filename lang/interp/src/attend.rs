//! Loops over large data that can be interrupted where no machine is at hand: they ask the flag of the run on their thread now and then.

use crate::error::{Error, Res, codes};
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Elements after which a loop asks again: well below a tenth of a second of the slowest function.
pub(crate) const STRIDE: usize = 1 << 16;

/// Bytes copied at a time. More than 4 KiB at once the C library leaves to the processor's string instruction, which some processors do ten times
/// slower than that where the two ends are not aligned alike, as with a vector's tail.
pub const PIECE: usize = 2048;

/// Elements copied at a time.
const fn at_once<T>() -> usize {
    if size_of::<T>() == 0 { PIECE } else { PIECE.div_ceil(size_of::<T>()) }
}

thread_local! {
    static FLAG: RefCell<Arc<AtomicBool>> = RefCell::default();
    static WHY: Cell<Option<Box<Error>>> = const { Cell::new(None) };
}

/// From now on loops on this thread ask this flag.
pub(crate) fn listen(flag: &Arc<AtomicBool>) {
    let _ = FLAG.try_with(|f| {
        if let Ok(mut f) = f.try_borrow_mut() {
            if !Arc::ptr_eq(&f, flag) {
                *f = flag.clone();
            }
        }
    });
}

/// Whether the run is to stop.
pub fn asked() -> bool {
    FLAG.try_with(|f| f.try_borrow().is_ok_and(|f| f.load(Ordering::Relaxed))).unwrap_or(false)
}

/// Stops if the run is to stop.
pub(crate) fn poll() -> Res<()> {
    if asked() { Err(failure().unwrap_or_else(|| Error::new(codes::INTERRUPT, "interrupted"))) } else { Ok(()) }
}

/// The run stops with this error at its next poll: what fails where nothing can be returned says it here.
pub(crate) fn fail(e: Box<Error>) {
    let _ = WHY.try_with(|w| w.set(Some(e)));
    let _ = FLAG.try_with(|f| f.try_borrow().map(|f| f.store(true, Ordering::Relaxed)));
}

/// What [`fail`] was told, once; then the run is not asked to stop any more.
pub fn failure() -> Option<Box<Error>> {
    let why = WHY.try_with(Cell::take).ok().flatten()?;
    let _ = FLAG.try_with(|f| f.try_borrow().map(|f| f.store(false, Ordering::Relaxed)));
    Some(why)
}

/// `f` of all numbers below `n`.
pub(crate) fn collect<T>(n: usize, f: impl FnMut(usize) -> T) -> Res<Vec<T>> {
    let mut out = crate::value::array::room(n)?;
    let mut f = f;
    while out.len() < n {
        poll()?;
        out.extend((out.len()..n.min(out.len() + STRIDE)).map(&mut f));
    }
    Ok(out)
}

/// All that an iterator gives.
pub(crate) fn gathered<T>(items: impl ExactSizeIterator<Item = T>) -> Res<Vec<T>> {
    let mut items = items;
    let mut out = crate::value::array::room(items.len())?;
    while items.len() > 0 {
        poll()?;
        out.extend(items.by_ref().take(STRIDE));
    }
    Ok(out)
}

/// Puts a copy of elements behind others.
pub(crate) fn extend<T: Clone>(out: &mut Vec<T>, from: &[T]) -> Res<()> {
    for part in from.chunks(STRIDE) {
        poll()?;
        append(out, part);
    }
    Ok(())
}

/// Puts a copy of elements behind others, also while a stop is asked for.
pub(crate) fn append<T: Clone>(out: &mut Vec<T>, from: &[T]) {
    out.reserve(from.len());
    from.chunks(at_once::<T>()).for_each(|part| out.extend_from_slice(part));
}

/// A copy of elements, also while a stop is asked for.
pub(crate) fn cloned<T: Clone>(from: &[T]) -> Vec<T> {
    let mut out = Vec::with_capacity(from.len());
    append(&mut out, from);
    out
}

/// Writes elements over others, of which there are as many.
pub(crate) fn write<T: Clone>(to: &mut [T], from: &[T]) {
    debug_assert_eq!(to.len(), from.len());
    to.chunks_mut(at_once::<T>()).zip(from.chunks(at_once::<T>())).for_each(|(to, from)| to.clone_from_slice(from));
}

/// A copy of elements.
pub(crate) fn copy<T: Clone>(from: &[T]) -> Res<Vec<T>> {
    let mut out = crate::value::array::room(from.len())?;
    extend(&mut out, from)?;
    Ok(out)
}

/// Works on elements a part at a time.
pub(crate) fn each<T>(v: &mut [T], mut f: impl FnMut(&mut [T])) -> Res<()> {
    for part in v.chunks_mut(STRIDE) {
        poll()?;
        f(part);
    }
    Ok(())
}

/// Works on elements beside others, a part at a time.
pub(crate) fn pairs<T, U>(v: &mut [T], w: &[U], mut f: impl FnMut(&mut [T], &[U])) -> Res<()> {
    for (v, w) in v.chunks_mut(STRIDE).zip(w.chunks(STRIDE)) {
        poll()?;
        f(v, w);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loops_end_when_they_are_asked_to() {
        let flag = Arc::new(AtomicBool::new(false));
        listen(&flag);
        let mut v = collect(3 * STRIDE, |i| i).unwrap();
        assert_eq!((v.len(), v[3 * STRIDE - 1]), (3 * STRIDE, 3 * STRIDE - 1));
        assert_eq!(copy(&v).unwrap(), v);
        // Asked for in the second part: the third is not reached.
        let mut parts = 0;
        let out = each(&mut v, |_| {
            parts += 1;
            flag.store(parts == 2, Ordering::Relaxed);
        });
        assert_eq!((out.unwrap_err().diag.code, parts), (codes::INTERRUPT, 2));
        assert!(collect(1, |i| i).is_err() && copy(&v).is_err());
        listen(&Arc::default());
        assert!(poll().is_ok());
    }
}
