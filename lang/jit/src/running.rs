//! Histograms and scans by one operator of numbers, as loops of the runtime. Where such a loop does not apply it changes nothing and says so,
//! and native code goes through the elements itself. The order of operations is the same.

use crate::handle::{Expect, Handle};
use crate::quick::Floats;
use crate::runtime::Ctx;
use adl_interp::ops::kernels;

use adl_prim::Bin;

/// Operators of reductions, scans and histograms that have loops of their own, by number.
pub(crate) const SIMPLE: [Bin; 4] = [Bin::Add, Bin::Mul, Bin::Min, Bin::Max];

/// Elements that are made at a time: they stay in cache.
const PART: usize = 1 << 12;

/// The elements of a live handle's array of Ints.
///
/// # Safety
/// `h` is a live handle, and its array is not changed for as long as the slice is used.
unsafe fn ints<'a>(h: *const Handle) -> Option<&'a [i64]> {
    // SAFETY: the caller says so; where there are elements, they are as many as the extents say.
    unsafe {
        let h = &*h;
        (h.expect == Expect::INTS && !h.data.is_null()).then(|| std::slice::from_raw_parts(h.data.cast(), h.dims[0] as usize))
    }
}

/// A histogram by one of the [`SIMPLE`] operators: the destination, whose owner it takes over, or null where this does not apply; then nothing
/// has happened.
pub(crate) unsafe fn count(ctx: *mut Ctx, dest: *mut Handle, keys: *mut Handle, values: *mut Handle, op: u64) -> *mut Handle {
    let none = std::ptr::null_mut();
    // SAFETY: native code passes the context that it was given, and live handles.
    let (ctx, found) = unsafe { (&mut *ctx, (ints(keys), Floats::of(values as u64), Floats::of(dest as u64))) };
    let ((Some(keys), Some(v), Some(mut d)), Some(op)) = (found, SIMPLE.get(op as usize)) else { return none };
    if ctx.asked() {
        return none;
    }
    if !d.alone {
        let Some(copy) = ctx.pool.floats(d.dims(), Expect::ROW) else { return none };
        // SAFETY: the copy is new and as large; the operand loses the owner that the result has instead.
        unsafe {
            crate::moves::copy(d.data, (*copy).data.cast(), d.len);
            ctx.pool.release(dest);
            let Some(new) = Floats::of(copy as u64) else { return none };
            d = new;
        }
    }
    // SAFETY: the destination is alone, so that the slices are apart; all live until the operation ends.
    let (bins, v) = unsafe { (std::slice::from_raw_parts_mut(d.data, d.len), v.slice()) };
    kernels::count(*op, bins, keys, v);
    d.handle
}

/// The same by `min` or `max`, with the places of what was taken: the destinations are two handles at `slot`, where the results come. 0 where this
/// does not apply; then nothing has happened.
pub(crate) unsafe fn count_places(ctx: *mut Ctx, slot: *mut *mut Handle, keys: *mut Handle, values: *mut Handle, places: *mut Handle, op: u64) -> u64 {
    // SAFETY: native code passes the context that it was given, live handles, and a slot with two.
    let (ctx, [dest, at], found) = unsafe { (&mut *ctx, [*slot, *slot.add(1)], (ints(keys), Floats::of(values as u64), ints(places), Floats::of(*slot as u64), ints(*slot.add(1)))) };
    let ((Some(keys), Some(v), Some(places), Some(d), Some(p)), Some(op)) = (found, SIMPLE.get(op as usize)) else { return 0 };
    if ctx.asked() || d.len != p.len() || places.len() < keys.len() || v.len < keys.len() {
        return 0;
    }
    let Some(best) = ctx.pool.floats(d.dims(), Expect::ROW) else { return 0 };
    let mut taken = p.to_vec();
    // SAFETY: the new array is as large as the destination, and written before it is a slice; the operands live until their owners go below.
    unsafe {
        crate::moves::copy(d.data, (*best).data.cast(), d.len);
        let bins = std::slice::from_raw_parts_mut((*best).data.cast::<f64>(), d.len);
        kernels::count_places(*op, (bins, &mut taken), keys, (v.slice(), places));
        ctx.pool.release(dest);
        let expect = (*at).expect;
        ctx.pool.release(at);
        *slot = best;
        *slot.add(1) = ctx.pool.wrap(adl_interp::value::array::ints(taken), expect);
    }
    1
}

/// A scan by one of the [`SIMPLE`] operators, or null where this does not apply.
pub(crate) unsafe fn running(ctx: *mut Ctx, array: *mut Handle, neutral: u64, op: u64) -> *mut Handle {
    let none = std::ptr::null_mut();
    // SAFETY: native code passes the context that it was given, and a live handle.
    let (ctx, x) = unsafe { (&mut *ctx, Floats::of(array as u64)) };
    let (Some(x), Some(op)) = (x, SIMPLE.get(op as usize)) else { return none };
    let Some(to) = ctx.pool.floats(&[x.len as i64], Expect::ROW) else { return none };
    let mut acc = f64::from_bits(neutral);
    // SAFETY: the array lives until the operation ends.
    for (k, x) in unsafe { x.slice() }.chunks(PART).enumerate() {
        if ctx.asked() {
            // SAFETY: the new handle has one owner.
            unsafe { ctx.pool.release(to) };
            return none;
        }
        // SAFETY: the target is new and as large as the array; the part is written before it is a slice.
        let out = unsafe {
            let part = (*to).data.cast::<f64>().add(k * PART);
            std::ptr::write_bytes(part, 0, x.len());
            std::slice::from_raw_parts_mut(part, x.len())
        };
        acc = kernels::running(*op, acc, x, out);
    }
    to
}
