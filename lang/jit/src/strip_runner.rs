//! Runs the kernel of a vectorised loop (`emit::turns`) over all iterations: in strips, on all threads if there are
//! many iterations.

use crate::handle::{Handle, ValueForm};
use crate::runtime::{self, Ctx};
use adl_interp::error::{Error, codes};
use adl_interp::fault;
use adl_interp::ops::strip_mining;
use std::sync::atomic::Ordering;

/// A kernel: runs `len` iterations from `start` on.
type Some = unsafe extern "C" fn(words: *mut u64, start: i64, len: i64, room: *mut f64);

/// The description of a loop that native code passes. The kernel's parameter words follow, then the totals.
#[repr(C)]
pub(crate) struct LoopDescription {
    function: Some,
    n: i64,
    /// The iteration at which the loop must be split and which runs alone; out of range if there is none.
    meets: i64,
    words: u64,
    totals: u64,
    /// Scratch Floats per strip.
    room: u64,
    /// Whether strips must run in order.
    sequential: u64,
    /// Whether this loop is outermost, so that it reports progress.
    outermost: u64,
    site: u64,
}

/// The number of words of the description.
pub(crate) const DESCRIPTION_WORDS: usize = size_of::<LoopDescription>() / 8;

/// A kernel with its parameters, shared between threads.
#[derive(Clone, Copy)]
struct SharedKernel(Some, *mut u64);

// SAFETY: concurrent kernels only read the parameter words. Kernels that write parameters, or arrays that other
// iterations write, run their strips sequentially.
unsafe impl Send for SharedKernel {}
// SAFETY: see `Send` above.
unsafe impl Sync for SharedKernel {}

impl SharedKernel {
    fn run(&self, start: usize, len: usize, room: &mut [f64]) {
        // SAFETY: `room` has the number of Floats that the code generator computed, and native code has checked that
        // all iterations stay within their arrays.
        unsafe { (self.0)(self.1, start as i64, len as i64, room.as_mut_ptr()) }
        fault::resume();
    }
}

/// Runs all iterations of a loop. Returns 1 after an interrupt.
pub(crate) unsafe fn run(ctx: *mut Ctx, told: *mut LoopDescription) -> u64 {
    // SAFETY: native code passes the live context of its run, and a description that is followed by the parameter words
    // and room for the totals.
    let (ctx, description, words) = unsafe { (&mut *ctx, &*told, told.cast::<u64>().add(DESCRIPTION_WORDS)) };
    let (f, count, room, sums) = (
        SharedKernel(description.function, words),
        description.n as usize,
        description.room as usize,
        description.totals as usize,
    );
    if ctx.scratch.len() < room {
        ctx.scratch.resize(room, 0.0);
    }
    let of = |start: usize, len: usize, room: &mut [f64]| f.run(start, len, room);
    if count <= strip_mining::STRIP && description.meets < 0 {
        of(0, count, &mut ctx.scratch);
        for (i, x) in ctx.scratch[..sums].iter().enumerate() {
            // SAFETY: `sums` words for the totals follow the `description.words` parameters.
            unsafe { *words.add(description.words as usize + i) = x.to_bits() };
        }
        return 0;
    }
    let stop = ctx.machine().interrupt.clone();
    let (outermost, ticks) = (description.outermost != 0, ctx.machine().tick.clone());
    let told: *mut Ctx = ctx;
    let tell = |done: usize| {
        if outermost && ticks.load(Ordering::Relaxed) {
            // SAFETY: `told` is the live context that native code passed.
            unsafe { runtime::progress(told, done as i64, count as i64) }
        }
    };
    let done = match (description.sequential != 0, usize::try_from(description.meets)) {
        (true, Ok(alone)) if alone < count => {
            strip_mining::around(&stop, count, alone, &mut ctx.scratch, &of).map(|()| Vec::new())
        }
        (sequential, _) => strip_mining::all((&stop, &tell), count, (sums, room), !sequential, &of),
    };
    match done {
        Ok(totals) => {
            for (i, x) in totals.iter().take(sums).enumerate() {
                // SAFETY: `sums` words for the totals follow the `description.words` parameters.
                unsafe { *words.add(description.words as usize + i) = x.to_bits() };
            }
            0
        }
        Err(e) => ctx.fail(e, description.site as u32),
    }
}

/// One more than the largest of `n` Ints; the largest Int if one is negative.
pub(crate) unsafe fn above(data: *const i64, n: i64) -> i64 {
    if data.is_null() || n <= 0 {
        return 0;
    }
    // SAFETY: native code passes the address of an array's elements and their number.
    let all = unsafe { std::slice::from_raw_parts(data, n as usize) };
    let largest = all.iter().fold(0, |most: u64, x| most.max(*x as u64));
    i64::try_from(largest).map_or(i64::MAX, |x| x.saturating_add(1))
}

/// An array of Floats of a form and extents, which are still to be written. Null if memory is exhausted.
pub(crate) unsafe fn floats(ctx: *mut Ctx, form: u64, dims: *const i64) -> *mut Handle {
    let form = ValueForm(form as u8);
    // SAFETY: native code passes the live context of its run, and an extent for each axis of the form.
    let (pool, dims) = unsafe { (&mut (*ctx).pool, std::slice::from_raw_parts(dims, form.rank())) };
    pool.floats(dims, form).unwrap_or(std::ptr::null_mut())
}

/// Writes additive identities (-0) to all elements of a new array, unless it is null.
pub(crate) unsafe fn clear(array: *mut Handle) -> *mut Handle {
    if !array.is_null() {
        // SAFETY: native code passes an array of `floats`, to which no other reference exists.
        unsafe {
            let Handle { data, dims, expect, .. } = &*array;
            let n = dims[..expect.rank()].iter().product::<i64>() as usize;
            std::slice::from_raw_parts_mut(data.cast::<f64>(), n).fill(-0.0);
        }
    }
    array
}

/// Reports that memory for an array is exhausted. Returns 1.
pub(crate) unsafe fn no_room(ctx: *mut Ctx, site: u64) -> u64 {
    // SAFETY: native code passes the live context of its run.
    unsafe { &mut *ctx }.fail(Error::new(codes::MEMORY, "there is not enough memory for an array"), site as u32)
}
