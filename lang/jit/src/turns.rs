//! Runs the functions that do some turns of a loop (`emit::turns`) on all of its turns: a strip at a time, by all threads if there are many.

use crate::handle::{Expect, Handle};
use crate::runtime::{self, Ctx};
use adl_interp::error::{Error, codes};
use adl_interp::fault;
use adl_interp::ops::turns;
use std::sync::atomic::Ordering;

/// Does `len` turns from `start` on.
type Some = unsafe extern "C" fn(words: *mut u64, start: i64, len: i64, room: *mut f64);

/// What native code tells of a loop; the function's words follow, and the totals.
#[repr(C)]
pub(crate) struct Told {
    function: Some,
    n: i64,
    /// The turn that is done alone, if it is one.
    meets: i64,
    words: u64,
    totals: u64,
    /// Numbers that a strip needs room for.
    room: u64,
    /// Whether strips follow each other.
    sequential: u64,
    /// Whether no loop stands around this one.
    outermost: u64,
    site: u64,
}

/// Words that native code tells.
pub(crate) const TOLD: usize = size_of::<Told>() / 8;

/// A function with its words, which threads share.
#[derive(Clone, Copy)]
struct Shared(Some, *mut u64);

// SAFETY: the function reads its words; it writes some, and arrays that others write too, only where strips are done one after the other.
unsafe impl Send for Shared {}
// SAFETY: the same.
unsafe impl Sync for Shared {}

impl Shared {
    fn run(&self, start: usize, len: usize, room: &mut [f64]) {
        // SAFETY: the room is as large as the function's maker said, and native code has checked that all turns stay within their arrays.
        unsafe { (self.0)(self.1, start as i64, len as i64, room.as_mut_ptr()) }
        fault::resume();
    }
}

/// All turns of a loop; 1 after an interrupt.
pub(crate) unsafe fn run(ctx: *mut Ctx, told: *mut Told) -> u64 {
    // SAFETY: native code passes its context, and what is told with the words and the place of the totals behind it.
    let (ctx, t, words) = unsafe { (&mut *ctx, &*told, told.cast::<u64>().add(TOLD)) };
    let (f, n, room, k) = (Shared(t.function, words), t.n as usize, t.room as usize, t.totals as usize);
    if ctx.scratch.len() < room {
        ctx.scratch.resize(room, 0.0);
    }
    let of = |start: usize, len: usize, room: &mut [f64]| f.run(start, len, room);
    if n <= turns::STRIP && t.meets < 0 {
        of(0, n, &mut ctx.scratch);
        // SAFETY: there is place for the totals behind the words.
        ctx.scratch[..k].iter().enumerate().for_each(|(i, x)| unsafe { *words.add(t.words as usize + i) = x.to_bits() });
        return 0;
    }
    let stop = ctx.machine().interrupt.clone();
    let (outermost, ticks) = (t.outermost != 0, ctx.machine().tick.clone());
    let told: *mut Ctx = ctx;
    let tell = |done: usize| {
        if outermost && ticks.load(Ordering::Relaxed) {
            // SAFETY: the context that native code has passed.
            unsafe { runtime::progress(told, done as i64, n as i64) }
        }
    };
    let done = match (t.sequential != 0, usize::try_from(t.meets)) {
        (true, Ok(alone)) if alone < n => turns::around(&stop, n, alone, &mut ctx.scratch, &of).map(|()| Vec::new()),
        (sequential, _) => turns::all((&stop, &tell), n, (k, room), !sequential, &of),
    };
    match done {
        Ok(totals) => {
            // SAFETY: there is place for the totals behind the words.
            totals.iter().take(k).enumerate().for_each(|(i, x)| unsafe { *words.add(t.words as usize + i) = x.to_bits() });
            0
        }
        Err(e) => ctx.fail(e, t.site as u32),
    }
}

/// A row of so many numbers to which adding gives what is added. Null if there is no memory.
pub(crate) unsafe fn nothing(ctx: *mut Ctx, n: i64) -> *mut Handle {
    // SAFETY: native code passes its context; the new array has so many elements.
    unsafe {
        let Some(h) = (*ctx).pool.floats(&[n.max(0)], Expect::ROW) else { return std::ptr::null_mut() };
        (0..n.max(0) as usize).for_each(|i| *(*h).data.cast::<f64>().add(i) = -0.0);
        h
    }
}

/// There was no memory for an array: 1.
pub(crate) unsafe fn no_room(ctx: *mut Ctx, site: u64) -> u64 {
    // SAFETY: native code passes its context.
    unsafe { &mut *ctx }.fail(Error::new(codes::MEMORY, "there is not enough memory for an array"), site as u32)
}
