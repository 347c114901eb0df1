//! Histograms and scans by a single scalar operator, as loops in Rust. If such a loop does not apply, it has no effect
//! and returns null, and native code iterates over the elements itself. The order of operations is the same.

use crate::fast_paths::Floats;
use crate::handle::{Handle, ValueForm};
use crate::runtime::Ctx;
use adl_interp::ops::kernels;

use crate::limits::scan_loops::PART;
use adl_prim::Bin;

/// The operators with specialised reductions, scans and histograms, by number.
pub(crate) const SIMPLE: [Bin; 4] = [Bin::Add, Bin::Mul, Bin::Min, Bin::Max];

/// The elements of an Int array; `None` if the handle is not one.
///
/// # Safety
/// `h` is a live handle, and its array is not modified while the slice is used.
unsafe fn ints<'a>(h: *const Handle) -> Option<&'a [i64]> {
    // SAFETY: by this function's contract, `h` is live; if `data` is not null, the array has `dims[0]` elements.
    unsafe {
        let h = &*h;
        (h.expect == ValueForm::INTS && !h.data.is_null())
            .then(|| std::slice::from_raw_parts(h.data.cast(), h.dims[0] as usize))
    }
}

/// A histogram of numbers or rows by one of the [`SIMPLE`] operators. Consumes a reference to the destination and returns
/// it. Returns null without any effect if this loop does not apply.
pub(crate) unsafe fn count(
    ctx: *mut Ctx,
    dest: *mut Handle,
    keys: *mut Handle,
    values: *mut Handle,
    op: u64,
) -> *mut Handle {
    let none = std::ptr::null_mut();
    // SAFETY: native code passes the live context of its run, and live handles.
    let (ctx, found) = unsafe { (&mut *ctx, (ints(keys), Floats::of(values as u64), Floats::of(dest as u64))) };
    let ((Some(keys), Some(numbers), Some(mut target)), Some(op)) = (found, SIMPLE.get(op as usize)) else {
        return none;
    };
    if ctx.asked() || target.dims()[1..] != numbers.dims()[1..] {
        return none;
    }
    if !target.alone {
        // SAFETY: the destination is live.
        let form = unsafe { (*dest).expect };
        let Some(copy) = ctx.pool.floats(target.dims(), form) else { return none };
        // SAFETY: the copy is a new array of the same size. The result replaces the operand, whose reference is
        // released.
        unsafe {
            crate::copy_blocks::copy(target.data, (*copy).data.cast(), target.len);
            ctx.pool.release(dest);
            let Some(new) = Floats::of(copy as u64) else { return none };
            target = new;
        }
    }
    // SAFETY: the destination has a single reference, so that the slices do not overlap; all arrays are live until this
    // function returns.
    let (bins, v) = unsafe { (std::slice::from_raw_parts_mut(target.data, target.len), numbers.slice()) };
    kernels::count_rows(*op, bins, target.row(), keys, v);
    target.handle
}

/// A histogram by `min` or `max` that also records the positions of the chosen values. `slot` holds the two
/// destinations, and receives the results. Returns 0 without any effect if this loop does not apply.
pub(crate) unsafe fn histogram_with_positions(
    ctx: *mut Ctx,
    slot: *mut *mut Handle,
    keys: *mut Handle,
    values: *mut Handle,
    places: *mut Handle,
    op: u64,
) -> u64 {
    // SAFETY: native code passes the live context of its run, live handles, and a slot that holds two handles.
    let (ctx, [dest, at], found) = unsafe {
        (
            &mut *ctx,
            [*slot, *slot.add(1)],
            (ints(keys), Floats::of(values as u64), ints(places), Floats::of(*slot as u64), ints(*slot.add(1))),
        )
    };
    let ((Some(keys), Some(numbers), Some(places), Some(target), Some(p)), Some(op)) = (found, SIMPLE.get(op as usize))
    else {
        return 0;
    };
    if ctx.asked() || target.len != p.len() || places.len() < keys.len() || numbers.len < keys.len() {
        return 0;
    }
    let Some(best) = ctx.pool.floats(target.dims(), ValueForm::ROW) else { return 0 };
    let mut taken = p.to_vec();
    // SAFETY: the new array is as large as the destination and written before the slice is made. Operands are live
    // until they are released below.
    unsafe {
        crate::copy_blocks::copy(target.data, (*best).data.cast(), target.len);
        let bins = std::slice::from_raw_parts_mut((*best).data.cast::<f64>(), target.len);
        kernels::count_places(*op, (bins, &mut taken), keys, (numbers.slice(), places));
        ctx.pool.release(dest);
        let expect = (*at).expect;
        ctx.pool.release(at);
        *slot = best;
        *slot.add(1) = ctx.pool.wrap(adl_interp::value::array::ints(taken), expect);
    }
    1
}

/// A scan by one of the [`SIMPLE`] operators, or null if this loop does not apply.
pub(crate) unsafe fn running(ctx: *mut Ctx, array: *mut Handle, neutral: u64, op: u64) -> *mut Handle {
    let none = std::ptr::null_mut();
    // SAFETY: native code passes the live context of its run, and a live handle.
    let (ctx, x) = unsafe { (&mut *ctx, Floats::of(array as u64)) };
    let (Some(x), Some(op)) = (x, SIMPLE.get(op as usize)) else { return none };
    let Some(to) = ctx.pool.floats(&[x.len as i64], ValueForm::ROW) else { return none };
    let mut acc = f64::from_bits(neutral);
    // SAFETY: the array is live and unchanged until this function returns.
    for (k, chunk) in unsafe { x.slice() }.chunks(PART).enumerate() {
        if ctx.asked() {
            // SAFETY: the new handle has exactly one reference.
            unsafe { ctx.pool.release(to) };
            return none;
        }
        // SAFETY: the target is a new array of the operand's size; the block is zeroed before the slice is made.
        let out = unsafe {
            let part = (*to).data.cast::<f64>().add(k * PART);
            std::ptr::write_bytes(part, 0, chunk.len());
            std::slice::from_raw_parts_mut(part, chunk.len())
        };
        acc = kernels::running(*op, acc, chunk, out);
    }
    to
}
