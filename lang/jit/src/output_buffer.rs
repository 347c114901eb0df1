//! Output buffers of loops: scalars, and contiguous rows of Floats.
//!
//! Native code appends scalars itself; [`grow`] enlarges the buffer. Rows are passed as handles ([`push`]). The first
//! row determines the row extents: the buffer then takes an array from the run's pool. Rows are stored contiguously in
//! it while they have the same shape, whether the loop collects them as arrays or in boxes (`interp::ir::boxes`). Until
//! the first row the buffer *waits* and has no value. All other elements, including boxed rows of different shapes, are
//! collected by the interpreter (`interp::ir::buffer`).

use crate::handle::{AXES, Handle, ValueForm};
use crate::heap::HeapCell;
use crate::limits::output_buffer::{CELLS, KEPT, ROOM, ROWS};
use crate::runtime::{Ctx, WordKind};
use adl_interp::error::{Error, Res, codes};
use adl_interp::ir::{boxes, buffer};
use adl_interp::value::Value;
use adl_ir::Ty;
use std::rc::Rc;

/// The form of an array of rows, boxed or not; `None` if it is not supported.
fn of_rows(row: ValueForm, boxed: bool) -> Option<ValueForm> {
    if boxed { row.boxed() } else { row.stacked() }
}

/// Whether extents are equal. A loop is faster than a slice comparison for so few numbers.
#[inline]
fn agree(all: &[i64], dims: &[i64]) -> bool {
    all.iter().zip(dims).all(|(a, b)| a == b)
}

/// An empty buffer for the results of `count` iterations (0 if unknown). Null after an error.
pub(crate) unsafe fn new_buffer(ctx: *mut Ctx, id: u64, count: i64, site: u64) -> *mut Handle {
    // SAFETY: native code passes the live context of its run; no other reference to it exists during this call.
    let ctx = unsafe { &mut *ctx };
    let Some((ty, boxed)) = ctx.tables().buffers.get(id as usize) else { return std::ptr::null_mut() };
    if let Some(h) = pooled(ctx, ty, *boxed, count) {
        return h;
    }
    let pointer = ctx.pool.wrap(Value::Unit, ValueForm(0));
    // SAFETY: the handle was just created, so that no other reference to it exists.
    let h = unsafe { &mut *pointer };
    (h.hint, h.waits) = (count, id as i64 + 1);
    if of_rows(ValueForm::of(ty), *boxed).is_some() {
        return pointer;
    }
    if let Err(e) = settle(ctx, h) {
        ctx.fail(e, site as u32);
        return std::ptr::null_mut();
    }
    if ty.is_flat() && !*boxed {
        h.reserve(0, count.clamp(8, ROOM) as usize);
    }
    pointer
}

/// An empty buffer whose contents become one row of the buffer `around`: a slot of `around` if its row extents are
/// known and their first is `n`.
pub(crate) unsafe fn new_part(ctx: *mut Ctx, id: u64, n: i64, site: u64, around: *mut Handle) -> *mut Handle {
    // SAFETY: native code passes the live context of its run and a live buffer of it.
    unsafe {
        let Some((ty, boxed)) = (*ctx).tables().buffers.get(id as usize) else { return std::ptr::null_mut() };
        let all = &mut *around;
        let rows = of_rows(ValueForm::of(ty), *boxed)
            .filter(|e| all.waits == 0 && all.stale && e.rank() + 1 == all.expect.rank() && all.dims[1] == n);
        match rows {
            Some(expect) if make_room(&mut *ctx, all) => (*ctx).pool.part(all, expect),
            _ => new_buffer(ctx, id, n, site),
        }
    }
}

/// The address at which a row of this form and extents is to be written. Null if the buffer does not store such rows
/// contiguously.
pub(crate) unsafe fn place(ctx: *mut Ctx, buffer: *mut Handle, row: u64, dims: *const i64) -> *mut f64 {
    let row = ValueForm(row as u8);
    // SAFETY: native code passes an extent for each axis.
    let dims = unsafe { std::slice::from_raw_parts(dims, row.rank()) };
    // SAFETY: native code passes the live context of its run and a live buffer of it, to which no reference exists.
    unsafe {
        if (*buffer).waits > 0 && !begin(&mut *ctx, buffer, row, dims) {
            return std::ptr::null_mut();
        }
        let all = &mut *buffer;
        let ragged = all.expect == ValueForm::RAGGED && all.dims[3] != 0;
        if ragged
            || !all.stale
            || all.expect.rank() != dims.len() + 1
            || !agree(&all.dims[1..], dims)
            || !make_room(&mut *ctx, all)
        {
            return std::ptr::null_mut();
        }
        all.data.cast::<f64>().add((all.dims[0] * all.row()) as usize)
    }
}

/// Ensures capacity for one more row in a buffer of contiguous rows. Returns whether there is.
///
/// # Safety
/// The buffer is a live handle of this context that holds as many initialised rows as its extents state.
#[inline]
unsafe fn make_room(ctx: &mut Ctx, b: &mut Handle) -> bool {
    let (n, len) = (b.row() as usize, b.dims[0] as usize);
    // SAFETY: this function has the contract of `make_larger`.
    (len + 1) * n <= b.room() as usize || unsafe { make_larger(ctx, b, n, len) }
}

/// Enlarges a buffer of `len` rows of `n` elements. Returns whether memory sufficed.
///
/// # Safety
/// That of [`make_room`].
#[cold]
unsafe fn make_larger(ctx: &mut Ctx, b: &mut Handle, n: usize, len: usize) -> bool {
    let Some(new) = ctx.pool.floats(&[((len + 1) * n) as i64 * 2], ValueForm::ROW) else { return false };
    // SAFETY: the new handle is distinct from the old one, and both have room for the existing rows.
    unsafe {
        crate::copy_blocks::copy(b.data.cast::<f64>(), (*new).data.cast(), len * n);
        take_over(b, &mut *new);
        ctx.pool.release(new);
    }
    true
}

/// A pooled output buffer for Floats, Ints or cells; `None` for other element types.
fn pooled(ctx: &mut Ctx, ty: &Ty, boxed: bool, n: i64) -> Option<*mut Handle> {
    let (expect, room) = match ty {
        Ty::F64 if !boxed => (ValueForm::ROW, ROOM),
        Ty::I64 if !boxed => (ValueForm::INTS, ROOM),
        Ty::Data(_) => (ValueForm::CELLS, CELLS),
        _ => return None,
    };
    let p = ctx.pool.floats(&[n.clamp(8, room)], expect)?;
    // SAFETY: the handle was just created, so no other reference to it exists.
    unsafe { &mut *p }.fill_later();
    Some(p)
}

/// Appends a cell, and a reference to it, to a buffer of cells. Returns whether there was room.
///
/// # Safety
/// The buffer is a live handle of this context to which no reference exists, and the cell is live.
unsafe fn push_cell(ctx: &mut Ctx, buffer: *mut Handle, cell: *mut HeapCell) -> bool {
    // SAFETY: by this function's contract, buffer and cell are live. After `grow` the capacity is checked before the
    // cell is written.
    unsafe {
        let len = (*buffer).dims[0];
        if len >= (*buffer).owned {
            ctx.pool.grow(buffer, len as usize, len as usize);
            (*buffer).dims[0] = len;
        }
        let b = &mut *buffer;
        if len >= b.owned {
            return false;
        }
        *b.data.cast::<*mut HeapCell>().add(len as usize) = cell;
        b.dims[0] += 1;
        (*cell).rc += 1;
        true
    }
}

/// An empty buffer for the elements of `n` rows of `width` elements each. Null after an error.
pub(crate) unsafe fn new_rows(ctx: *mut Ctx, id: u64, n: i64, width: i64, site: u64) -> *mut Handle {
    let total = n.max(0).saturating_mul(width).clamp(1, ROOM);
    if total > KEPT {
        // SAFETY: native code passes the live context of its run; no other reference to it exists during this call.
        let ctx = unsafe { &mut *ctx };
        if let Some((Ty::F64, false)) = ctx.tables().buffers.get(id as usize) {
            let Some(handle) = ctx.pool.exactly(total as usize) else {
                let e = Error::new(
                    codes::MEMORY,
                    format!("there is not enough memory for an array of shape [{n}, {width}]"),
                );
                ctx.fail(e, site as u32);
                return std::ptr::null_mut();
            };
            // SAFETY: the handle was just created, so no other reference to it exists.
            let b = unsafe { &mut *handle };
            (b.rc, b.expect) = (1, ValueForm::ROW);
            b.fill_later();
            return handle;
        }
    }
    // SAFETY: `ctx` is the live context of the run, as `new_buffer` requires.
    unsafe { new_buffer(ctx, id, total, site) }
}

/// Makes an array of a buffer with `count` rows of `width` elements. `id`: the row buffer to use if there are none. `how`:
/// the form of the result, and in bit 0 whether the order of rows is reversed.
pub(crate) unsafe fn finish_rows(
    ctx: *mut Ctx,
    handle: *mut Handle,
    count: u64,
    width: u64,
    id: u64,
    how: u64,
) -> *mut Handle {
    let (reverse, expect) = (how & 1 == 1, ValueForm((how >> 1) as u8));
    // SAFETY: native code passes the live context of its run and a live buffer with one reference, in which all
    // elements have been written.
    unsafe {
        if count == 0 {
            (*ctx).pool.release(handle);
            let row = new_buffer(ctx, id, 0, 0);
            return if row.is_null() {
                (*ctx).pool.symbolic_zero
            } else {
                finish(ctx, row, 0, u64::from(expect.0) << 1)
            };
        }
        let made = finish(ctx, handle, count * width, u64::from(of_elements(expect).0) << 1);
        let matrix = &mut *made;
        if matrix.stale {
            matrix.expect = expect;
            (matrix.dims[0], matrix.dims[1], matrix.dims[3]) = (count as i64, width as i64, 0);
            reverse_rows(matrix, reverse);
            return made;
        }
        let mut v = (*ctx).pool.unwrap(made);
        if let Value::Array(rc) = &mut v
            && let Some(a) = Rc::get_mut(rc)
        {
            a.shape = [count as usize, width as usize].into_iter().collect();
        }
        let v = buffer::finish(v, reverse);
        (*ctx).pool.wrap(v, expect)
    }
}

/// The form of the flattened elements of a matrix or of packed rows.
fn of_elements(matrix: ValueForm) -> ValueForm {
    if matrix == ValueForm::RAGGED {
        return ValueForm::ROW;
    }
    ValueForm(matrix.0 / 8 * 8 + 1)
}

/// Hands a buffer that waits, or that has contiguous rows, over to the interpreter's representation.
fn settle(ctx: &mut Ctx, handle: &mut Handle) -> Res<()> {
    if let Some((ty, boxed)) = usize::try_from(handle.waits - 1).ok().and_then(|id| ctx.tables().buffers.get(id)) {
        handle.value = buffer::empty(ty, *boxed, &Value::Int(handle.hint))?;
    } else if handle.stale && handle.expect == ValueForm::RAGGED && handle.dims[3] != 0 {
        // SAFETY: the handle is a live buffer, and `dims[3]` says that rows of different lengths were added.
        handle.value = boxes::unpack(unsafe { ragged(ctx, handle) }, 1);
    } else if handle.stale {
        let packed = handle.expect.boxes();
        // SAFETY: `handle` is a mutable reference to a live handle, which is passed on.
        unsafe { ctx.pool.settled(handle) };
        handle.value = boxes::unpack(std::mem::take(&mut handle.value), packed);
    }
    (handle.waits, handle.data, handle.owned) = (0, std::ptr::null_mut(), 0);
    handle.dims = [0; AXES];
    Ok(())
}

/// Ensures room for one element after `len` existing ones. Returns 1 after an error.
pub(crate) unsafe fn grow(ctx: *mut Ctx, h: *mut Handle, len: u64, site: u64) -> u64 {
    // SAFETY: native code passes the live context of its run, and a live buffer in which it has written `len` elements.
    unsafe { enlarge(ctx, h, (len, len), len + 1, site) }
}

/// Ensures room for `count` elements in an empty buffer. Returns 1 after an error.
pub(crate) unsafe fn reserve(ctx: *mut Ctx, h: *mut Handle, count: u64, site: u64) -> u64 {
    // SAFETY: native code passes the live context of its run, and a live and empty buffer.
    unsafe { enlarge(ctx, h, (0, count), count, site) }
}

/// Requests room for some more elements after `len` others. Returns 1 after an error: if there is none for `least` in all.
///
/// # Safety
/// The context and the buffer are live, no reference to them exists, and the buffer has `len` initialised elements.
unsafe fn enlarge(ctx: *mut Ctx, h: *mut Handle, (len, more): (u64, u64), least: u64, site: u64) -> u64 {
    // SAFETY: by this function's contract.
    let (ctx, h) = unsafe {
        (*ctx).pool.grow(h, len as usize, more as usize);
        (&mut *ctx, &*h)
    };
    if h.owned as u64 >= least {
        return 0;
    }
    let e = Error::new(
        codes::MEMORY,
        format!("there is not enough memory for an array of shape [{}]", len.saturating_add(more)),
    );
    ctx.fail(e, site as u32)
}

/// The encoding of a kind as the argument of [`push`].
pub(crate) fn kind_code(kind: WordKind) -> i64 {
    match kind {
        WordKind::F64 => 0,
        WordKind::F32 => 1,
        WordKind::I64 => 2,
        WordKind::Bool => 3,
        WordKind::Ref(_) => 4,
        WordKind::Data(_) => 5,
    }
}

/// Allocates an array for a buffer that waits for its first row. Returns whether rows like this one can be stored
/// contiguously.
///
/// # Safety
/// The buffer is a live handle of this context to which no reference exists.
unsafe fn begin(ctx: &mut Ctx, buffer: *mut Handle, row: ValueForm, dims: &[i64]) -> bool {
    // SAFETY: by this function's contract, the buffer is live and not borrowed.
    let handle = unsafe { &mut *buffer };
    let Some((_, boxed)) = usize::try_from(handle.waits - 1).ok().and_then(|id| ctx.tables().buffers.get(id)) else {
        return false;
    };
    let n = dims.iter().product::<i64>();
    let Some(expect) = of_rows(row, *boxed).filter(|_| !*boxed || n <= boxes::LARGEST as i64) else { return false };
    let room = handle.hint.max(ROWS).saturating_mul(n).min(ROOM).max(n).max(1);
    let new = if room > KEPT { ctx.pool.exactly(room as usize) } else { ctx.pool.floats(&[room], ValueForm::ROW) };
    let Some(new) = new else { return false };
    // SAFETY: the new handle is distinct from the buffer, and its only reference is given up.
    unsafe {
        take_over(handle, &mut *new);
        ctx.pool.release(new);
    }
    (handle.waits, handle.expect) = (0, expect);
    handle.dims = [0; AXES];
    handle.dims[1..=dims.len()].copy_from_slice(dims);
    true
}

/// Swaps the arrays of a buffer and of a new, stale handle.
fn take_over(b: &mut Handle, new: &mut Handle) {
    std::mem::swap(&mut b.value, &mut new.value);
    std::mem::swap(&mut b.data, &mut new.data);
    std::mem::swap(&mut b.class, &mut new.class);
    std::mem::swap(&mut b.stale, &mut new.stale);
}

/// Appends a Float row to a buffer of rows of the same shape. Returns whether it was possible.
///
/// # Safety
/// The buffer is a live handle of this context, distinct from the row, and no reference to it exists.
unsafe fn push_row(ctx: &mut Ctx, buffer: *mut Handle, row: &Handle) -> bool {
    // SAFETY: by this function's contract, the buffer is live and not borrowed.
    let handle = unsafe { &mut *buffer };
    if row.data.is_null() || !row.expect.holds_floats() {
        return false;
    }
    let dims = &row.dims[..row.expect.rank()];
    // SAFETY: this function's contract includes that of `begin`.
    if handle.waits > 0 && !unsafe { begin(ctx, buffer, row.expect, dims) } {
        return false;
    }
    if handle.stale
        && handle.expect == ValueForm::RAGGED
        && dims.len() == 1
        && (handle.dims[3] != 0 || handle.dims[1] != dims[0])
    {
        // SAFETY: buffer and row are distinct live handles, and the buffer is stale.
        return unsafe { push_ragged(ctx, handle, row) }.is_some();
    }
    if !handle.stale || handle.expect.rank() != dims.len() + 1 || !agree(&handle.dims[1..], dims) {
        return false;
    }
    let (n, len) = (dims.iter().product::<i64>() as usize, handle.dims[0] as usize);
    // SAFETY: the buffer is live; room for one more row is ensured, and the row holds `n` Floats. A row that is a slot
    // of this buffer is already in place.
    unsafe {
        if !make_room(ctx, handle) {
            return false;
        }
        let to = handle.data.cast::<f64>().add(len * n);
        if row.data.cast::<f64>() != to {
            crate::copy_blocks::copy(row.data.cast::<f64>(), to, n);
        }
    }
    handle.dims[0] += 1;
    true
}

/// Appends a row to a buffer of rows of different lengths. `None`, without any effect, if memory is exhausted.
///
/// # Safety
/// The buffer and the row are distinct live handles of this context; the buffer is stale and holds rows.
unsafe fn push_ragged(ctx: &mut Ctx, handle: &mut Handle, row: &Handle) -> Option<()> {
    let (rows, width) = (handle.dims[0], row.dims[0] as usize);
    // SAFETY: by this function's contract, both are live. Offsets are written before they are read, and only within the
    // capacity.
    unsafe {
        if handle.dims[3] == 0 {
            let starts = ctx.pool.floats(&[handle.hint.max(2 * rows).clamp(8, ROOM) + 1], ValueForm::INTS)?;
            (0..=rows).for_each(|k| *(*starts).data.cast::<i64>().add(k as usize) = k * handle.dims[1]);
            (*starts).fill_later();
            handle.dims[3] = starts as i64;
        }
        let starts = handle.dims[3] as *mut Handle;
        if rows + 1 >= (*starts).owned {
            ctx.pool.grow(starts, rows as usize + 1, rows as usize + 1);
        }
        if rows + 1 >= (*starts).owned {
            return None;
        }
        let ends = (*starts).data.cast::<i64>().add(rows as usize);
        let len = *ends as usize;
        if len + width > handle.room() as usize {
            let new = ctx.pool.floats(&[(len + width) as i64 * 2], ValueForm::ROW)?;
            crate::copy_blocks::copy(handle.data.cast::<f64>(), (*new).data.cast(), len);
            take_over(handle, &mut *new);
            ctx.pool.release(new);
        }
        crate::copy_blocks::copy(row.data.cast::<f64>(), handle.data.cast::<f64>().add(len), width);
        *ends.add(1) = (len + width) as i64;
    }
    handle.dims[0] += 1;
    Some(())
}

/// Makes a value of a buffer of rows of different lengths, which then is empty.
///
/// # Safety
/// That of [`push_ragged`], which has added at least one row.
unsafe fn ragged(ctx: &mut Ctx, handle: &mut Handle) -> Value {
    let starts = handle.dims[3] as *mut Handle;
    // SAFETY: by this function's contract, the array of offsets has one more element than there are rows, and its last
    // element is the number of Floats written.
    unsafe {
        (*starts).filled(handle.dims[0] as usize + 1, false);
        let numbers = *(*starts).data.cast::<i64>().add(handle.dims[0] as usize);
        handle.dims = [0; AXES];
        handle.dims[0] = numbers;
        handle.expect = ValueForm::ROW;
        ctx.pool.settled(handle);
        let numbers = std::mem::take(&mut handle.value);
        boxes::ragged(numbers, ctx.pool.unwrap(starts))
    }
}

/// Appends a value, which stays owned by the caller, to a buffer. `code` encodes its kind as in [`kind_code`]. Returns 1
/// after an error.
pub(crate) unsafe fn push(ctx: *mut Ctx, buffer: *mut Handle, word: u64, code: u64, site: u64) -> u64 {
    let kind = [WordKind::F64, WordKind::F32, WordKind::I64, WordKind::Bool]
        .get(code as usize)
        .copied()
        .unwrap_or(if code == 4 { WordKind::Ref(ValueForm(0)) } else { WordKind::Data(0) });
    // SAFETY: native code passes the live context of its run.
    let ctx = unsafe { &mut *ctx };
    // SAFETY: native code passes a live buffer.
    if let (WordKind::Data(_), true) = (kind, unsafe { (*buffer).stale && (*buffer).expect == ValueForm::CELLS }) {
        // SAFETY: the buffer is live, and the word is a live cell because the kind is data.
        let done = unsafe { push_cell(ctx, buffer, word as *mut HeapCell) };
        return if done {
            0
        } else {
            ctx.fail(Error::new(codes::MEMORY, "there is not enough memory for an array of data"), site as u32)
        };
    }
    if let WordKind::Ref(_) = kind {
        // SAFETY: native code passes a live buffer and, for this kind, another live handle.
        if unsafe { push_row(ctx, buffer, &*(word as *const Handle)) } {
            return 0;
        }
        // SAFETY: the word is a live handle. It is detached because the code below may reallocate the buffer in which
        // the row is a slot.
        if !unsafe { ctx.pool.detach(word as *mut Handle) } {
            return ctx.fail(Error::new(codes::MEMORY, "there is not enough memory for an array"), site as u32);
        }
    }
    // SAFETY: the buffer is live, and no other reference to it exists.
    let handle = unsafe { &mut *buffer };
    if handle.waits > 0 || handle.stale {
        // From now on rows may have different shapes.
        if let Err(e) = settle(ctx, handle) {
            return ctx.fail(e, site as u32);
        }
    }
    // SAFETY: native code passes a live word of this kind.
    let mut v = unsafe { ctx.value(kind, false, word) };
    if let WordKind::Ref(_) = kind {
        // SAFETY: a word of this kind is a live handle.
        v = boxes::unpack(v, unsafe { (*(word as *const Handle)).expect.boxes() });
    }
    let pushed: Res<()> = buffer::push(&mut handle.value, &v);
    if let WordKind::Ref(_) = kind {
        // SAFETY: the word is a live handle to which no reference exists.
        unsafe { crate::runtime::update_ownership(word as *mut Handle, &mut v) };
    }
    match pushed {
        Ok(()) => 0,
        Err(e) => ctx.fail(e, site as u32),
    }
}

/// Makes an array of a buffer with `len` elements. `how`: bit 0 says whether the order is reversed; the bits above are
/// the expected form.
pub(crate) unsafe fn finish(ctx: *mut Ctx, handle: *mut Handle, len: u64, how: u64) -> *mut Handle {
    // SAFETY: native code passes the live context of its run and a live buffer with one reference.
    let (ctx, buffer) = unsafe { (&mut *ctx, &mut *handle) };
    let (reverse, expect) = (how & 1 == 1, ValueForm((how >> 1) as u8));
    if buffer.stale && matches!(buffer.expect, ValueForm::ROW | ValueForm::INTS | ValueForm::CELLS) {
        // SAFETY: native code has written `len` elements, all within the capacity.
        unsafe { buffer.filled(len as usize, reverse) };
        return handle;
    }
    if buffer.stale
        && buffer.expect == ValueForm::RAGGED
        && expect == ValueForm::RAGGED
        && buffer.dims[3] != 0
        && !reverse
    {
        // SAFETY: rows of different lengths have been added, and the buffer's only reference is given up.
        unsafe {
            let v = ragged(ctx, buffer);
            ctx.pool.release(handle);
            return ctx.pool.wrap(v, expect);
        }
    }
    if buffer.stale && buffer.expect == expect && (buffer.expect != ValueForm::RAGGED || buffer.dims[3] == 0) {
        reverse_rows(buffer, reverse);
        buffer.owned = 1;
        return handle;
    }
    if (buffer.stale || buffer.waits > 0) && settle(ctx, buffer).is_err() {
        buffer.value = Value::Zero;
    }
    if buffer.owned > 0 {
        buffer.reserve(len as usize, 0);
        if let Value::Array(rc) = &mut buffer.value
            && let Some(a) = Rc::get_mut(rc)
        {
            a.shape[0] = len as usize;
        }
    }
    // SAFETY: `handle` is live, its only reference is given up, and `buffer` is not used any more.
    let v = unsafe { ctx.pool.unwrap(handle) };
    ctx.pool.wrap(buffer::finish(v, reverse), expect)
}

/// Reverses the order of a buffer's rows if `reverse` is set.
fn reverse_rows(b: &mut Handle, reverse: bool) {
    let n = b.dims[1..b.expect.rank()].iter().product::<i64>() as usize;
    if !reverse || n == 0 {
        return;
    }
    // SAFETY: the buffer holds that many initialised elements and has a single reference.
    let all = unsafe { std::slice::from_raw_parts_mut(b.data.cast::<f64>(), b.dims[0] as usize * n) };
    all.reverse();
    all.chunks_exact_mut(n).for_each(<[f64]>::reverse);
}
