//! What native code calls: operations on values that it has no instructions for, errors, interrupts.
//!
//! Operands and results go through an array of words: scalars as their bits, other values as handles.

use crate::cells::Cell;
use crate::layouts::Layouts;
use crate::handle::{AXES, Expect, Handle, Pool};
use crate::quick::Quick;
use adl_interp::error::{Error, codes};
use adl_interp::fault;
use adl_interp::ir::step::{self, What};
use adl_interp::ir::boxes;
use adl_interp::value::{Buf, Value};
use adl_interp::vm::Machine;
use adl_ir::Ty;
use adl_syntax::span::Span;
use std::rc::Rc;

/// How a value is passed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    F64,
    F32,
    I64,
    Bool,
    /// By handle.
    Ref(Expect),
    /// By cell: data of the declared type with that number.
    Data(u32),
}

impl Kind {
    pub fn of(ty: &Ty) -> Kind {
        match ty {
            Ty::F64 => Kind::F64,
            Ty::F32 => Kind::F32,
            Ty::I64 => Kind::I64,
            Ty::Bool => Kind::Bool,
            Ty::Data(d) => Kind::Data(d.0),
            Ty::Str | Ty::Array(..) => Kind::Ref(Expect::of(ty)),
        }
    }
}

/// Where something may fail.
#[derive(Clone, Debug)]
pub(crate) struct Site {
    /// The function.
    pub name: Rc<str>,
    /// The source.
    pub span: Span,
}

/// An operation that native code has no instructions for.
pub(crate) struct Slow {
    pub what: What,
    /// Operands, and whether each loses an owner.
    pub args: Vec<(Kind, bool)>,
    pub outs: Vec<Kind>,
    pub zeros: Vec<Value>,
    pub site: u32,
}

/// What the code of a unit refers to by number.
#[derive(Default)]
pub(crate) struct Tables {
    pub sites: Vec<Site>,
    pub slow: Vec<Slow>,
    pub quick: Vec<Quick>,
    /// Functions that kernels evaluate.
    pub maps: Vec<adl_prim::Un>,
    pub consts: Vec<Value>,
    /// Elements of buffers that loops fill, and whether each is in a box.
    pub buffers: Vec<(Ty, bool)>,
    /// Constructors of declared types.
    pub layouts: Layouts,
}

/// A run of native code. The first fields are read by it.
#[repr(C)]
pub(crate) struct Ctx {
    /// Set from elsewhere to stop the run.
    pub interrupt: *const u8,
    /// Set from elsewhere when somebody wants to hear how far loops are.
    pub tick: *const u8,
    /// Where the stack ends.
    pub stack_limit: usize,
    /// The handle of absent values.
    pub absent: *mut Handle,
    /// The cell of absent data.
    pub absent_data: *mut Cell,
    /// What a call that seldom happens gave.
    pub returned: u64,
    /// The result of an operation that seldom happens.
    pub made: u64,
    pub pool: Pool,
    /// Room for what turns of loops leave for others ([`crate::turns`]).
    pub scratch: Vec<f64>,
    pub tables: *const Tables,
    pub machine: *mut Machine,
    pub error: Option<Box<Error>>,
}

/// Offsets for the code generator.
pub(crate) mod offset {
    use super::Ctx;
    pub const INTERRUPT: i32 = std::mem::offset_of!(Ctx, interrupt) as i32;
    pub const TICK: i32 = std::mem::offset_of!(Ctx, tick) as i32;
    pub const STACK_LIMIT: i32 = std::mem::offset_of!(Ctx, stack_limit) as i32;
    pub const RETURNED: i32 = std::mem::offset_of!(Ctx, returned) as i32;
    pub const MADE: i32 = std::mem::offset_of!(Ctx, made) as i32;
    pub const ABSENT: i32 = std::mem::offset_of!(Ctx, absent) as i32;
    pub const ABSENT_DATA: i32 = std::mem::offset_of!(Ctx, absent_data) as i32;
    /// Where the lists of free cells begin.
    pub const CELLS: i32 = std::mem::offset_of!(Ctx, pool.cells.heads) as i32;
}

impl Ctx {
    pub fn tables(&self) -> &'static Tables {
        // SAFETY: the unit whose code runs keeps the tables, and is kept alive by the caller; the reference does not outlive the call
        // from native code in which it is made.
        unsafe { &*self.tables }
    }

    /// The machine that runs the code.
    #[allow(clippy::mut_from_ref)]
    pub fn machine(&self) -> &mut Machine {
        // SAFETY: `run` has lent the machine for as long as native code runs, and uses it itself only before and after; the functions
        // below make one reference at a time.
        unsafe { &mut *self.machine }
    }

    /// Whether the run is to stop.
    pub fn asked(&self) -> bool {
        self.machine().interrupt.load(std::sync::atomic::Ordering::Relaxed)
    }

    /// Remembers an error; 1, for native code to return.
    pub fn fail(&mut self, mut e: Box<Error>, site: u32) -> u64 {
        if let Some(s) = self.tables().sites.get(site as usize) {
            self.machine().leave(&mut e, &s.name, s.span);
        }
        self.error = Some(e);
        1
    }

    /// A word as a value. `take`: it loses an owner.
    ///
    /// # Safety
    /// As of [`Pool::value`].
    pub unsafe fn value(&mut self, kind: Kind, take: bool, word: u64) -> Value {
        // SAFETY: the caller says so.
        unsafe { self.pool.value(kind, take, word) }
    }

    /// A value as a word, if it is of the kind.
    pub fn word(&mut self, kind: Kind, v: Value) -> Option<u64> {
        self.pool.word(kind, v)
    }
}

fn kind_error() -> Box<Error> {
    Error::new(codes::STRUCTURE, "a value of another kind than its type says")
}

/// Does an operation on words: operands first, results in their place.
///
/// # Safety
/// `slot` has room for the operands and results of the operation, and holds operands of its kinds.
pub(crate) unsafe fn slow(ctx: *mut Ctx, id: u64, slot: *mut u64) -> u64 {
    // SAFETY: native code passes the context that it was given.
    let ctx = unsafe { &mut *ctx };
    let Some(op) = ctx.tables().slow.get(id as usize) else { return 1 };
    let mut args: smallvec::SmallVec<[Value; 4]> = smallvec::SmallVec::new();
    for (i, (kind, take)) in op.args.iter().enumerate() {
        // SAFETY: the caller says what the slot holds.
        let v = unsafe { ctx.value(*kind, *take, *slot.add(i)) };
        args.push(match kind {
            Kind::Ref(e) if e.boxes() > 0 => boxes::unpack(v, e.boxes()),
            _ => v,
        });
    }
    fault::point(fault::Point::Helper);
    let outs = match step::run(ctx.machine(), &op.what, &mut args, &op.zeros) {
        Ok(outs) => outs,
        Err(e) => return ctx.fail(e, op.site),
    };
    if outs.len() != op.outs.len() {
        return ctx.fail(kind_error(), op.site);
    }
    // Whoever shares an array with a result is not its only owner any more; who shared one with an operand may be.
    for (i, (kind, take)) in op.args.iter().enumerate() {
        if let (Kind::Ref(_), false) = (kind, take) {
            // SAFETY: an operand that has not lost its owner is still a live handle.
            unsafe { recount(*slot.add(i) as *mut Handle, &mut args[i]) };
        }
    }
    args.clear();
    for (i, (kind, v)) in op.outs.iter().zip(outs).enumerate() {
        match ctx.word(*kind, v) {
            // SAFETY: the caller says that there is room for the results.
            Some(w) => unsafe { *slot.add(i) = w },
            None => return ctx.fail(kind_error(), op.site),
        }
    }
    0
}

/// The same with operands as they are; the result goes into the context.
unsafe fn slow_of<const N: usize>(ctx: *mut Ctx, id: u64, mut words: [u64; N]) -> u64 {
    // SAFETY: native code passes its context and as many operands as the operation has, which has one result at most, for which there is room.
    unsafe {
        let failed = slow(ctx, id, words.as_mut_ptr());
        (*ctx).made = words.first().copied().unwrap_or_default();
        failed
    }
}

pub(crate) unsafe fn slow_0(ctx: *mut Ctx, id: u64) -> u64 {
    // SAFETY: as of `slow_of`.
    unsafe { slow_of(ctx, id, [0]) }
}

pub(crate) unsafe fn slow_1(ctx: *mut Ctx, id: u64, a: u64) -> u64 {
    // SAFETY: as of `slow_of`.
    unsafe { slow_of(ctx, id, [a]) }
}

pub(crate) unsafe fn slow_2(ctx: *mut Ctx, id: u64, a: u64, b: u64) -> u64 {
    // SAFETY: as of `slow_of`.
    unsafe { slow_of(ctx, id, [a, b]) }
}

pub(crate) unsafe fn slow_3(ctx: *mut Ctx, id: u64, a: u64, b: u64, c: u64) -> u64 {
    // SAFETY: as of `slow_of`.
    unsafe { slow_of(ctx, id, [a, b, c]) }
}

pub(crate) unsafe fn slow_4(ctx: *mut Ctx, id: u64, a: u64, b: u64, c: u64, d: u64) -> u64 {
    // SAFETY: as of `slow_of`.
    unsafe { slow_of(ctx, id, [a, b, c, d]) }
}

/// A check that fails: it says a constant.
pub(crate) unsafe fn refused(ctx: *mut Ctx, id: u64, text: u64) -> u64 {
    // SAFETY: native code passes its context, and a check that has a Bool and a text, which it takes over.
    unsafe {
        let text = constant(ctx, text);
        slow(ctx, id, [0, text as u64].as_mut_ptr())
    }
}

/// An element of an array, by the quick way if that applies. Null after an error.
pub(crate) unsafe fn row(ctx: *mut Ctx, quick: u64, id: u64, h: u64, index: u64) -> u64 {
    // SAFETY: native code passes its context, a live handle, and two forms of one operation that makes no number.
    unsafe {
        let made = crate::quick::quick(ctx, quick, h, index, 0, 0, 0) as u64;
        let mut words = [h, index];
        match made {
            0 if slow(ctx, id, words.as_mut_ptr()) == 0 => words[0],
            made => made,
        }
    }
}

/// Says whether a handle's value is the only reference to its array, after an operation that was lent another reference.
///
/// # Safety
/// `h` is a live handle to which no reference is alive.
pub(crate) unsafe fn recount(h: *mut Handle, lent: &mut Value) {
    *lent = Value::Unit;
    // SAFETY: the caller says so.
    let h = unsafe { &mut *h };
    if let Value::Array(rc) = &h.value {
        if h.owned == 1 && Rc::strong_count(rc) > 1 {
            h.owned = 0;
        }
    }
}

/// Frees a handle that loses its last owner.
pub(crate) unsafe fn free(ctx: *mut Ctx, h: *mut Handle) {
    // SAFETY: native code passes its context and a handle of it with one owner.
    unsafe {
        (*h).rc = 1;
        (*ctx).pool.release(h);
    }
}

/// Adds the frame that an error leaves; 1.
pub(crate) unsafe fn trace(ctx: *mut Ctx, site: u64) -> u64 {
    // SAFETY: native code passes the context that it was given.
    let ctx = unsafe { &mut *ctx };
    match ctx.error.take() {
        Some(e) => ctx.fail(e, site as u32),
        None => 1,
    }
}

/// An interrupt was asked for: 1, unless it has been taken back.
pub(crate) unsafe fn poll(ctx: *mut Ctx, site: u64) -> u64 {
    // SAFETY: native code passes the context that it was given.
    let ctx = unsafe { &mut *ctx };
    match ctx.machine().poll() {
        Ok(()) => 0,
        Err(e) => ctx.fail(e, site as u32),
    }
}

/// Somebody wants to hear how far the loop is.
pub(crate) unsafe fn progress(ctx: *mut Ctx, done: i64, total: i64) {
    // SAFETY: native code passes the context that it was given.
    let m = unsafe { &*ctx }.machine();
    m.report_progress_of(Some((done.unsigned_abs(), total.unsigned_abs())));
}

/// A call finds the stack full or an interrupt asked for: 1, unless that has been taken back.
pub(crate) unsafe fn halt(ctx: *mut Ctx, sp: u64) -> u64 {
    // SAFETY: native code passes the context that it was given.
    let ctx = unsafe { &mut *ctx };
    // The caller adds its frame: the callee has not begun.
    ctx.error = if sp as usize <= ctx.stack_limit { Some(adl_interp::vm::too_deep()) } else { ctx.machine().poll().err() };
    u64::from(ctx.error.is_some())
}

/// No arm fits: 1.
pub(crate) unsafe fn no_match(ctx: *mut Ctx, site: u64) -> u64 {
    // SAFETY: native code passes the context that it was given.
    let ctx = unsafe { &mut *ctx };
    ctx.fail(adl_interp::vm::no_match(), site as u32)
}

/// A constant.
pub(crate) unsafe fn constant(ctx: *mut Ctx, id: u64) -> *mut Handle {
    // SAFETY: native code passes the context that it was given.
    let ctx = unsafe { &mut *ctx };
    let v = ctx.tables().consts.get(id as usize).cloned().unwrap_or_default();
    ctx.pool.wrap(v, Expect(0))
}

/// Where the row of an array in boxes lies: its extents go to `dims`. Null if there is none of that rank.
pub(crate) unsafe fn row_place(_: *mut Ctx, h: *const Handle, index: u64, rank: u64, dims: *mut i64) -> *const f64 {
    // SAFETY: native code passes a live handle, whose array stays while its rows are read, and room for so many extents.
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

/// What an absent array to which something is added is read as: adding to -0 changes nothing.
pub(crate) static NOTHING: [f64; 8] = [-0.0; 8];

/// An array for a result: `old`, if that is an array with one owner, else a new one. Null if there is no memory. Its elements are still to be written.
pub(crate) unsafe fn target(ctx: *mut Ctx, old: *mut Handle, expect: u64, a: i64, b: i64, c: i64, d: i64) -> *mut Handle {
    let expect = Expect(expect as u8);
    // SAFETY: native code passes its context, and null or a live handle of an array of the wanted shape.
    unsafe {
        if !old.is_null() && (*old).rc == 1 && (*old).owned == 1 {
            return old;
        }
        let dims = [a, b, c, d];
        (*ctx).pool.floats(&dims[..expect.rank()], expect).unwrap_or(std::ptr::null_mut())
    }
}

/// A copy of a part of an array, as large as the extents say. Null if there is no memory.
pub(crate) unsafe fn copied(ctx: *mut Ctx, data: *const f64, expect: u64, a: i64, b: i64, c: i64) -> *mut Handle {
    let (expect, dims) = (Expect(expect as u8), [a, b, c]);
    let dims = &dims[..expect.rank()];
    // SAFETY: native code passes its context, and as many elements as it says.
    unsafe {
        let Some(h) = (*ctx).pool.floats(dims, expect) else { return std::ptr::null_mut() };
        crate::moves::copy(data, (*h).data.cast(), dims.iter().product::<i64>() as usize);
        h
    }
}

/// The same for one axis.
pub(crate) unsafe fn target_row(ctx: *mut Ctx, old: *mut Handle, n: i64) -> *mut Handle {
    // SAFETY: as in `target`.
    unsafe {
        if !old.is_null() && (*old).rc == 1 && (*old).owned == 1 {
            return old;
        }
        (*ctx).pool.floats(&[n], Expect::ROW).unwrap_or(std::ptr::null_mut())
    }
}

/// Room for so many numbers, until the next call. It is no shim: native code needs the room, and there is always some for the few numbers of a strip.
pub(crate) unsafe extern "C" fn room(ctx: *mut Ctx, n: usize) -> *mut f64 {
    // SAFETY: native code passes the context that it was given.
    let ctx = unsafe { &mut *ctx };
    if ctx.scratch.len() < n {
        ctx.scratch.resize(n, 0.0);
    }
    ctx.scratch.as_mut_ptr()
}

/// A function of `n` numbers, in their place. What lies behind them, up to a multiple of eight, may be anything afterwards.
pub(crate) unsafe fn map(ctx: *mut Ctx, id: usize, x: *mut f64, n: usize) {
    // SAFETY: native code passes its context, and room for so many numbers and seven more.
    unsafe {
        let Some(op) = (*ctx).tables().maps.get(id) else { return };
        let all = n.next_multiple_of(8);
        (n..all).for_each(|k| *x.add(k) = 0.0);
        adl_interp::ops::kernels::map(*op, std::slice::from_raw_parts_mut(x, all));
    }
}

/// The logistic function of `n` numbers, in their place, and of their negatives in another. Of both more may be written, as in [`map`].
pub(crate) unsafe fn sigmoids(x: *mut f64, other: *mut f64, n: usize) {
    // SAFETY: native code passes two places that are apart, each with room for so many numbers and seven more.
    unsafe {
        let all = n.next_multiple_of(8);
        (n..all).for_each(|k| *x.add(k) = 0.0);
        (0..all).for_each(|k| *other.add(k) = 0.0);
        adl_interp::ops::kernels::sigmoids(std::slice::from_raw_parts_mut(x, all), std::slice::from_raw_parts_mut(other, all));
    }
}

/// The hyperbolic tangent of `n` numbers, in their place, and its derivative in another. Of both more may be written, as in [`map`].
pub(crate) unsafe fn tanh_and_sech2(x: *mut f64, other: *mut f64, n: usize) {
    // SAFETY: native code passes two places that are apart, each with room for so many numbers and seven more.
    unsafe {
        let all = n.next_multiple_of(8);
        (n..all).for_each(|k| *x.add(k) = 0.0);
        (0..all).for_each(|k| *other.add(k) = 0.0);
        adl_interp::ops::kernels::tanh_and_sech2(std::slice::from_raw_parts_mut(x, all), std::slice::from_raw_parts_mut(other, all));
    }
}

/// An array that is to be changed, with one owner: a copy of `h` if others hold it, zeros of the shape if it is absent. Takes the owner of
/// `h` over, unless it gives null: then there is no such array, and nothing was done.
pub(crate) unsafe fn own(ctx: *mut Ctx, h: *mut Handle, shape: *mut Handle, expect: u64) -> *mut Handle {
    let expect = Expect(expect as u8);
    // SAFETY: native code passes its context and live handles; the new array has as many elements as are written.
    unsafe {
        let ctx = &mut *ctx;
        let n = |dims: &[i64]| dims.iter().product::<i64>() as usize;
        let absent = h == ctx.pool.absent;
        let dims: [i64; AXES] = match (absent, shape.is_null()) {
            (true, true) => return std::ptr::null_mut(),
            (true, false) if (*shape).data.is_null() || (*shape).dims[0] != expect.rank() as i64 => return std::ptr::null_mut(),
            (true, false) => {
                let mut dims = [0; AXES];
                std::ptr::copy_nonoverlapping((*shape).data.cast::<i64>(), dims.as_mut_ptr(), expect.rank());
                dims
            }
            (false, _) if (*h).data.is_null() => return std::ptr::null_mut(),
            (false, _) => (*h).dims,
        };
        let dims = &dims[..expect.rank()];
        let Some(new) = ctx.pool.floats(dims, expect) else { return std::ptr::null_mut() };
        if absent {
            std::ptr::write_bytes((*new).data, 0, 8 * n(dims));
        } else {
            crate::moves::copy((*h).data, (*new).data, 8 * n(dims));
        }
        ctx.pool.release(h);
        new
    }
}

/// The length of an array's first axis; 0 where it is absent.
pub(crate) unsafe fn extent(h: *const Handle) -> i64 {
    // SAFETY: native code passes a live handle.
    let h = unsafe { &*h };
    if let (Some(_), n) = (h.ragged_row(0), h.hint) {
        return n;
    }
    if h.stale { h.dims[0] } else { adl_interp::value::seq::len(&h.value) as i64 }
}
