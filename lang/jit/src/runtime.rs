//! The functions that native code calls: operations that it has no instructions for, errors, and interrupts.
//!
//! Operands and results are passed in an array of words: scalars as their bits, other values as handles.

use crate::fast_paths::FastOpSite;
use crate::handle::{AXES, Handle, HandlePool, ValueForm};
use crate::heap::HeapCell;
use crate::layouts::Layouts;
use adl_interp::error::{Error, codes};
use adl_interp::fault;
use adl_interp::ir::boxes;
use adl_interp::ir::eval_op::{self, LoweredOp};
use adl_interp::value::{Buf, Value};
use adl_interp::vm::Machine;
use adl_ir::Ty;
use adl_syntax::span::Span;
use std::rc::Rc;

/// The representation of a value in a word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum WordKind {
    F64,
    F32,
    I64,
    Bool,
    /// A pointer to a handle.
    Ref(ValueForm),
    /// A pointer to a cell; the number is that of the declared type.
    Data(u32),
}

impl WordKind {
    pub fn of(ty: &Ty) -> WordKind {
        match ty {
            Ty::F64 => WordKind::F64,
            Ty::F32 => WordKind::F32,
            Ty::I64 => WordKind::I64,
            Ty::Bool => WordKind::Bool,
            Ty::Data(d) => WordKind::Data(d.0),
            Ty::Str | Ty::Array(..) => WordKind::Ref(ValueForm::of(ty)),
        }
    }
}

/// The location that an error reports.
#[derive(Clone, Debug)]
pub(crate) struct ErrorSite {
    /// The function's name.
    pub name: Rc<str>,
    /// The source span.
    pub span: Span,
}

/// An operation that the interpreter runs for native code.
pub(crate) struct SlowOp {
    pub what: LoweredOp,
    /// Operands, and whether the operation consumes a reference to each.
    pub args: Vec<(WordKind, bool)>,
    pub outs: Vec<WordKind>,
    pub zeros: Vec<Value>,
    pub site: u32,
}

/// The tables that the code of a unit indexes by number.
#[derive(Default)]
pub(crate) struct Tables {
    pub sites: Vec<ErrorSite>,
    pub slow: Vec<SlowOp>,
    pub quick: Vec<FastOpSite>,
    /// Unary functions that `map` applies to blocks.
    pub maps: Vec<adl_prim::Un>,
    pub consts: Vec<Value>,
    /// Element types of output buffers, and whether each element is in a box.
    pub buffers: Vec<(Ty, bool)>,
    /// Constructors of declared types.
    pub layouts: Layouts,
}

/// The context of one run of native code. Native code reads the first fields at fixed offsets.
#[repr(C)]
pub(crate) struct Ctx {
    /// Set by another thread to stop the run.
    pub interrupt: *const u8,
    /// Set by another thread to request a progress report.
    pub tick: *const u8,
    /// The lowest address that the stack pointer may reach.
    pub stack_limit: usize,
    /// The handle of symbolic zeros.
    pub symbolic_zero: *mut Handle,
    /// The cell of a symbolic zero of a declared type.
    pub symbolic_zero_data: *mut HeapCell,
    /// The result of an out-of-line call (a word).
    pub returned: u64,
    /// The result of an out-of-line operation (a word).
    pub made: u64,
    pub pool: HandlePool,
    /// Scratch memory through which vectorised loops pass values between stages.
    pub scratch: Vec<f64>,
    pub tables: *const Tables,
    pub machine: *mut Machine,
    pub error: Option<Box<Error>>,
}

/// Field offsets for the code generator.
pub(crate) mod offset {
    use super::Ctx;
    pub const INTERRUPT: i32 = std::mem::offset_of!(Ctx, interrupt) as i32;
    pub const TICK: i32 = std::mem::offset_of!(Ctx, tick) as i32;
    pub const STACK_LIMIT: i32 = std::mem::offset_of!(Ctx, stack_limit) as i32;
    pub const RETURNED: i32 = std::mem::offset_of!(Ctx, returned) as i32;
    pub const MADE: i32 = std::mem::offset_of!(Ctx, made) as i32;
    pub const SYMBOLIC_ZERO: i32 = std::mem::offset_of!(Ctx, symbolic_zero) as i32;
    pub const SYMBOLIC_ZERO_DATA: i32 = std::mem::offset_of!(Ctx, symbolic_zero_data) as i32;
    /// Offset of the free lists of cells.
    pub const CELLS: i32 = std::mem::offset_of!(Ctx, pool.cells.heads) as i32;
}

impl Ctx {
    pub fn tables(&self) -> &'static Tables {
        // SAFETY: the unit that owns the running code also owns the tables, and the caller of the run keeps the unit
        // alive. The reference is used only during one call from native code.
        unsafe { &*self.tables }
    }

    /// The interpreter's machine on whose behalf the code runs.
    #[allow(clippy::mut_from_ref)]
    pub fn machine(&self) -> &mut Machine {
        // SAFETY: `run` lends the machine exclusively for the duration of native code and uses it only before and
        // after. Functions in this module hold one reference at a time.
        unsafe { &mut *self.machine }
    }

    /// Whether an interrupt was requested.
    pub fn asked(&self) -> bool {
        self.machine().interrupt.load(std::sync::atomic::Ordering::Relaxed)
    }

    /// Records an error raised at a site. Always returns 1, which native code returns in turn.
    pub fn fail(&mut self, mut e: Box<Error>, site: u32) -> u64 {
        if let Some(s) = self.tables().sites.get(site as usize) {
            self.machine().leave(&mut e, &s.name, s.span);
        }
        self.error = Some(e);
        1
    }

    /// Converts a word to a value. `take`: consumes one of its references.
    ///
    /// # Safety
    /// The contract of [`HandlePool::value`].
    pub unsafe fn value(&mut self, kind: WordKind, take: bool, word: u64) -> Value {
        // SAFETY: by this function's contract, `word` is a live value of `kind`, as `HandlePool::value` requires.
        unsafe { self.pool.value(kind, take, word) }
    }

    /// Converts a value to a word; `None` if it is not of the kind.
    pub fn word(&mut self, kind: WordKind, v: Value) -> Option<u64> {
        self.pool.word(kind, v)
    }
}

fn kind_error() -> Box<Error> {
    Error::new(codes::STRUCTURE, "a value of another kind than its type says")
}

/// Runs operation `id` on the words in `slot`: operands on entry, results on return. Returns 1 after an error.
///
/// # Safety
/// `ctx` is the live context of the run. `slot` has room for the operands and for the results of the operation, and
/// holds live operands of its kinds; those marked as consumed carry a reference.
pub(crate) unsafe fn slow(ctx: *mut Ctx, id: u64, slot: *mut u64) -> u64 {
    // SAFETY: native code passes the live context of its run; no other reference to it exists during this call.
    let ctx = unsafe { &mut *ctx };
    let Some(op) = ctx.tables().slow.get(id as usize) else { return 1 };
    let mut args: smallvec::SmallVec<[Value; 4]> = smallvec::SmallVec::new();
    for (i, (kind, take)) in op.args.iter().enumerate() {
        // SAFETY: by this function's contract, `slot` holds an operand of this kind at `i`.
        let v = unsafe { ctx.value(*kind, *take, *slot.add(i)) };
        args.push(match kind {
            WordKind::Ref(e) if e.boxes() > 0 => boxes::unpack(v, e.boxes()),
            _ => v,
        });
    }
    fault::point(fault::PanicPoint::Helper);
    let outs = match eval_op::run(ctx.machine(), &op.what, &mut args, &op.zeros) {
        Ok(outs) => outs,
        Err(e) => return ctx.fail(e, op.site),
    };
    if outs.len() != op.outs.len() {
        return ctx.fail(kind_error(), op.site);
    }
    // Results may share arrays with operands, so whether each handle is its array's only owner is determined again.
    for (i, (kind, take)) in op.args.iter().enumerate() {
        if let (WordKind::Ref(_), false) = (kind, take) {
            // SAFETY: an operand that was not consumed is still a live handle, and no reference to it exists.
            unsafe { update_ownership(*slot.add(i) as *mut Handle, &mut args[i]) };
        }
    }
    args.clear();
    for (i, (kind, v)) in op.outs.iter().zip(outs).enumerate() {
        match ctx.word(*kind, v) {
            // SAFETY: by this function's contract, `slot` has room for all results.
            Some(w) => unsafe { *slot.add(i) = w },
            None => return ctx.fail(kind_error(), op.site),
        }
    }
    0
}

/// Runs [`slow`] with operands passed as arguments. The result is stored in the context.
unsafe fn slow_of<const N: usize>(ctx: *mut Ctx, id: u64, mut words: [u64; N]) -> u64 {
    // SAFETY: native code passes the live context of its run and all operands of operation `id`. It has at most one
    // result, and `word_conversion` has room for one.
    unsafe {
        let failed = slow(ctx, id, words.as_mut_ptr());
        (*ctx).made = words.first().copied().unwrap_or_default();
        failed
    }
}

pub(crate) unsafe fn slow_0(ctx: *mut Ctx, id: u64) -> u64 {
    // SAFETY: `ctx` and the operands meet the contract of `slow_of`.
    unsafe { slow_of(ctx, id, [0]) }
}

pub(crate) unsafe fn slow_1(ctx: *mut Ctx, id: u64, a: u64) -> u64 {
    // SAFETY: `ctx` and the operands meet the contract of `slow_of`.
    unsafe { slow_of(ctx, id, [a]) }
}

pub(crate) unsafe fn slow_2(ctx: *mut Ctx, id: u64, a: u64, b: u64) -> u64 {
    // SAFETY: `ctx` and the operands meet the contract of `slow_of`.
    unsafe { slow_of(ctx, id, [a, b]) }
}

pub(crate) unsafe fn slow_3(ctx: *mut Ctx, id: u64, a: u64, b: u64, c: u64) -> u64 {
    // SAFETY: `ctx` and the operands meet the contract of `slow_of`.
    unsafe { slow_of(ctx, id, [a, b, c]) }
}

pub(crate) unsafe fn slow_4(ctx: *mut Ctx, id: u64, a: u64, b: u64, c: u64, d: u64) -> u64 {
    // SAFETY: `ctx` and the operands meet the contract of `slow_of`.
    unsafe { slow_of(ctx, id, [a, b, c, d]) }
}

/// Fails a check whose message is a constant.
pub(crate) unsafe fn fail_check(ctx: *mut Ctx, id: u64, text: u64) -> u64 {
    // SAFETY: native code passes the live context of its run, and operation `id` is a check with two operands: a Bool
    // and a text, which it consumes.
    unsafe {
        let text = constant(ctx, text);
        slow(ctx, id, [0, text as u64].as_mut_ptr())
    }
}

/// Reads an element of an array, by the fast path if it applies. Null after an error.
pub(crate) unsafe fn row(ctx: *mut Ctx, quick: u64, id: u64, h: u64, index: u64) -> u64 {
    // SAFETY: native code passes the live context of its run and a live handle `h`; `fast_paths` and `id` are the fast and
    // slow forms of one operation with a non-scalar result.
    unsafe {
        let made = crate::fast_paths::quick(ctx, quick, h, index, 0, 0, 0) as u64;
        let mut words = [h, index];
        match made {
            0 if slow(ctx, id, words.as_mut_ptr()) == 0 => words[0],
            made => made,
        }
    }
}

/// Drops `lent`, then updates whether the handle's value is the only reference to its array.
///
/// # Safety
/// `h` is a live handle of this run, and no reference to it exists.
pub(crate) unsafe fn update_ownership(h: *mut Handle, lent: &mut Value) {
    *lent = Value::Unit;
    // SAFETY: by this function's contract, `h` is live and not borrowed.
    let h = unsafe { &mut *h };
    if let Value::Array(rc) = &h.value
        && h.owned == 1
        && Rc::strong_count(rc) > 1
    {
        h.owned = 0;
    }
}

/// Frees a handle whose last reference native code has dropped.
pub(crate) unsafe fn free(ctx: *mut Ctx, h: *mut Handle) {
    // SAFETY: native code passes the live context of its run and a handle of its pool whose last reference it gives up.
    unsafe {
        (*h).rc = 1;
        (*ctx).pool.release(h);
    }
}

/// Adds a stack frame to the pending error. Returns 1.
pub(crate) unsafe fn trace(ctx: *mut Ctx, site: u64) -> u64 {
    // SAFETY: native code passes the live context of its run; no other reference to it exists during this call.
    let ctx = unsafe { &mut *ctx };
    match ctx.error.take() {
        Some(e) => ctx.fail(e, site as u32),
        None => 1,
    }
}

/// Polls for an interrupt: returns 1 unless the request was withdrawn.
pub(crate) unsafe fn poll(ctx: *mut Ctx, site: u64) -> u64 {
    // SAFETY: native code passes the live context of its run; no other reference to it exists during this call.
    let ctx = unsafe { &mut *ctx };
    match ctx.machine().poll() {
        Ok(()) => 0,
        Err(e) => ctx.fail(e, site as u32),
    }
}

/// Reports loop progress: iterations done, and the total.
pub(crate) unsafe fn progress(ctx: *mut Ctx, done: i64, total: i64) {
    // SAFETY: native code passes the live context of its run; no other reference to it exists during this call.
    let m = unsafe { &*ctx }.machine();
    m.report_progress_of(Some((done.unsigned_abs(), total.unsigned_abs())));
}

/// Called if the stack is exhausted or an interrupt was requested. Returns 1 unless the request was withdrawn.
pub(crate) unsafe fn halt(ctx: *mut Ctx, sp: u64) -> u64 {
    // SAFETY: native code passes the live context of its run; no other reference to it exists during this call.
    let ctx = unsafe { &mut *ctx };
    // The calling function adds its own frame: the callee has not started.
    ctx.error =
        if sp as usize <= ctx.stack_limit { Some(adl_interp::vm::too_deep()) } else { ctx.machine().poll().err() };
    u64::from(ctx.error.is_some())
}

/// Reports that no arm of a match applies. Returns 1.
pub(crate) unsafe fn no_match(ctx: *mut Ctx, site: u64) -> u64 {
    // SAFETY: native code passes the live context of its run; no other reference to it exists during this call.
    let ctx = unsafe { &mut *ctx };
    ctx.fail(adl_interp::vm::no_match(), site as u32)
}

/// A new handle for constant `id`.
pub(crate) unsafe fn constant(ctx: *mut Ctx, id: u64) -> *mut Handle {
    // SAFETY: native code passes the live context of its run; no other reference to it exists during this call.
    let ctx = unsafe { &mut *ctx };
    let v = ctx.tables().consts.get(id as usize).cloned().unwrap_or_default();
    ctx.pool.wrap(v, ValueForm(0))
}

/// The address of a row in an array of boxes; its extents are written to `dims`. Null if there is no such row of rank
/// `rank`.
pub(crate) unsafe fn row_address(_: *mut Ctx, h: *const Handle, index: u64, rank: u64, dims: *mut i64) -> *const f64 {
    // SAFETY: native code passes a live handle, keeps its array alive while it reads the row, and `dims` has room for
    // `rank` extents.
    unsafe {
        if let (Some((at, n)), 1) = ((*h).ragged_row(index), rank) {
            *dims = n;
            return at;
        }
        let Value::Array(a) = &(*h).value else { return std::ptr::null() };
        let Buf::Boxed(rows) = a.buf() else { return std::ptr::null() };
        let Some(Value::Array(row)) = rows.get(index as usize) else { return std::ptr::null() };
        match row.buf() {
            Buf::F64(x) if row.shape.len() == rank as usize => {
                row.shape.iter().enumerate().for_each(|(k, n)| *dims.add(k) = *n as i64);
                x.as_ptr()
            }
            _ => std::ptr::null(),
        }
    }
}

/// The elements of a symbolic zero that is read as the old value of an accumulation: adding to -0 is exact.
pub(crate) static NOTHING: [f64; 8] = [-0.0; 8];

/// An array for a result: `old` if it is non-null with a single owner, else a new one. Null if memory is exhausted. The
/// elements are uninitialised.
pub(crate) unsafe fn target(ctx: *mut Ctx, old: *mut Handle, expect: u64, dims: *const i64) -> *mut Handle {
    let expect = ValueForm(expect as u8);
    // SAFETY: native code passes the live context of its run, and an extent for each axis; `old` is null or a live handle
    // of an array of the requested shape.
    unsafe {
        if !old.is_null() && (*old).rc == 1 && (*old).owned == 1 {
            return old;
        }
        (*ctx).pool.floats(std::slice::from_raw_parts(dims, expect.rank()), expect).unwrap_or(std::ptr::null_mut())
    }
}

/// Copies a block of Floats into a new array of the given extents. Null if memory is exhausted.
pub(crate) unsafe fn copied(ctx: *mut Ctx, data: *const f64, expect: u64, dims: *const i64) -> *mut Handle {
    let expect = ValueForm(expect as u8);
    // SAFETY: native code passes an extent for each axis.
    let dims = unsafe { std::slice::from_raw_parts(dims, expect.rank()) };
    // SAFETY: native code passes the live context of its run; `data` is valid for reading as many Floats as the extents
    // multiply to.
    unsafe {
        let Some(h) = (*ctx).pool.floats(dims, expect) else { return std::ptr::null_mut() };
        crate::copy_blocks::copy(data, (*h).data.cast(), dims.iter().product::<i64>() as usize);
        h
    }
}

/// [`target`] for one axis of length `n`.
pub(crate) unsafe fn target_row(ctx: *mut Ctx, old: *mut Handle, n: i64) -> *mut Handle {
    // SAFETY: `ctx` and `old` meet the conditions stated in `target`.
    unsafe {
        if !old.is_null() && (*old).rc == 1 && (*old).owned == 1 {
            return old;
        }
        (*ctx).pool.floats(&[n], ValueForm::ROW).unwrap_or(std::ptr::null_mut())
    }
}

/// Scratch memory for `n` Floats, valid until the next call. It has no shim, because native code cannot continue
/// without the memory. Blocks are short, so that the allocation succeeds in practice.
pub(crate) unsafe extern "C" fn room(ctx: *mut Ctx, n: usize) -> *mut f64 {
    // SAFETY: native code passes the live context of its run; no other reference to it exists during this call.
    let ctx = unsafe { &mut *ctx };
    if ctx.scratch.len() < n {
        ctx.scratch.resize(n, 0.0);
    }
    ctx.scratch.as_mut_ptr()
}

/// Applies unary function `id` to `n` numbers in place. Elements from `n` up to the next multiple of eight are
/// overwritten with unspecified values.
pub(crate) unsafe fn map(ctx: *mut Ctx, id: usize, x: *mut f64, n: usize) {
    // SAFETY: native code passes the live context of its run; `x` is valid for writing `n` Floats rounded up to a
    // multiple of eight.
    unsafe {
        let Some(op) = (*ctx).tables().maps.get(id) else { return };
        let all = n.next_multiple_of(8);
        (n..all).for_each(|k| *x.add(k) = 0.0);
        adl_interp::ops::kernels::map(*op, std::slice::from_raw_parts_mut(x, all));
    }
}

/// Replaces `n` numbers by their logistic function, and writes that of their negatives to `other`. Both are padded as
/// in [`map`].
pub(crate) unsafe fn sigmoids(x: *mut f64, other: *mut f64, n: usize) {
    // SAFETY: native code passes two disjoint buffers, each valid for writing `n` Floats rounded up to a multiple of
    // eight.
    unsafe {
        let all = n.next_multiple_of(8);
        (n..all).for_each(|k| *x.add(k) = 0.0);
        (0..all).for_each(|k| *other.add(k) = 0.0);
        adl_interp::ops::kernels::sigmoids(
            std::slice::from_raw_parts_mut(x, all),
            std::slice::from_raw_parts_mut(other, all),
        );
    }
}

/// Replaces `n` numbers by their hyperbolic tangent, and writes its derivative to `other`. Both are padded as in
/// [`map`].
pub(crate) unsafe fn tanh_and_sech2(x: *mut f64, other: *mut f64, n: usize) {
    // SAFETY: native code passes two disjoint buffers, each valid for writing `n` Floats rounded up to a multiple of
    // eight.
    unsafe {
        let all = n.next_multiple_of(8);
        (n..all).for_each(|k| *x.add(k) = 0.0);
        (0..all).for_each(|k| *other.add(k) = 0.0);
        adl_interp::ops::kernels::tanh_and_sech2(
            std::slice::from_raw_parts_mut(x, all),
            std::slice::from_raw_parts_mut(other, all),
        );
    }
}

/// Makes an array writable with a single owner: `handle` itself, a copy if it is shared, or zeros with the shape of `shape`
/// if it is a symbolic zero. Consumes a reference to `handle`. Returns null, and consumes nothing, if there is no such
/// array.
pub(crate) unsafe fn own(ctx: *mut Ctx, handle: *mut Handle, shape: *mut Handle, expect: u64) -> *mut Handle {
    let expect = ValueForm(expect as u8);
    // SAFETY: native code passes the live context of its run and live handles (`shape` may be null). The new array has
    // the product of `dims` elements, all of which are written.
    unsafe {
        let ctx = &mut *ctx;
        let size = |dims: &[i64]| dims.iter().product::<i64>() as usize;
        let symbolic_zero = handle == ctx.pool.symbolic_zero;
        let dims: [i64; AXES] = match (symbolic_zero, shape.is_null()) {
            (true, true) => return std::ptr::null_mut(),
            (true, false) if (*shape).data.is_null() || (*shape).dims[0] != expect.rank() as i64 => {
                return std::ptr::null_mut();
            }
            (true, false) => {
                let mut dims = [0; AXES];
                std::ptr::copy_nonoverlapping((*shape).data.cast::<i64>(), dims.as_mut_ptr(), expect.rank());
                dims
            }
            (false, _) if (*handle).data.is_null() => return std::ptr::null_mut(),
            (false, _) => (*handle).dims,
        };
        let dims = &dims[..expect.rank()];
        let Some(new) = ctx.pool.floats(dims, expect) else { return std::ptr::null_mut() };
        if symbolic_zero {
            std::ptr::write_bytes((*new).data, 0, 8 * size(dims));
        } else {
            crate::copy_blocks::copy((*handle).data, (*new).data, 8 * size(dims));
        }
        ctx.pool.release(handle);
        new
    }
}

/// The length of an array's first axis; 0 for a symbolic zero.
pub(crate) unsafe fn extent(h: *const Handle) -> i64 {
    // SAFETY: native code passes a live handle, which is not modified during this call.
    let h = unsafe { &*h };
    if let (Some(_), n) = (h.ragged_row(0), h.hint) {
        return n;
    }
    if h.stale { h.dims[0] } else { adl_interp::value::seq::len(&h.value) as i64 }
}
