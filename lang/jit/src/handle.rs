//! Handles: the representation of non-scalar values in native code.
//!
//! A handle is reference-counted and holds one value. For a flat array it also caches the address of the elements and
//! the extents, so that native code accesses elements directly. No elements are copied at the boundary to the
//! interpreter.
//!
//! Invariants
//! - A handle without references is either in the pool's free list and holds `()`, or in a list of spare buffers and
//!   holds an array.
//! - `data` is null and all extents are 0 unless the value is an array of the expected element kind and rank. Every
//!   bounds check then fails, and the slow path handles the operation.
//! - The array of a `stale` handle has capacity for its elements, but its length and shape are not yet set: `settle`
//!   sets them before the value is read. The handle holds the only reference to this array. Buffers that live only in
//!   native code are therefore cheap.
//! - The elements of a small buffer are in the pool's own memory, and its value is `()`. It stays stale, and converting
//!   it to a value copies it. Programs that keep very many small arrays therefore need little more memory than the
//!   elements.
//! - A slot for the next row of an output buffer ([`HandlePool::part`]) works the same way; its memory is that of the output
//!   buffer.
//! - `shape` is the cached array of the extents, with a reference, or null if it was never requested.
//! - Boxed Float rows of different lengths are also stored in one buffer. `dims[2]` is then the address of the numbers,
//!   `dims[3]` the address of the rows' start offsets, `hint` the number of rows, and `data` is null. In an output
//!   buffer that is being filled, `dims[3]` is the handle of the array of offsets.
//! - `owned` is 1 only if the handle's value is the only reference to its array. If the handle itself has one
//!   reference, too, elements may be written.
//! - Handles never move. They are freed with their pool at the end of the run, also after an error.

use crate::heap::{CellHeap, HeapCell};
use crate::layouts::Layouts;
use crate::limits::handle::{BLOCK, FIRST, SMALLEST, SPARE};
use adl_interp::ir::boxes;
use adl_interp::value::{Array, Buf, Value, array};
use adl_ir::Ty;
use std::rc::Rc;

/// The largest rank whose extents a handle stores: what the three bits of a `ValueForm` hold. Arrays of more axes go through
/// the runtime, which takes hundreds of times as long for an element.
pub(crate) const AXES: usize = 7;

/// The initial reference count of the handle of symbolic zeros, which is never freed.
const IMMORTAL: i64 = 1 << 40;

/// The form of a value that native code expects: 0, or the element kind and the rank of a flat array. Arrays of boxes
/// that hold Floats may be packed (`interp::ir::boxes`): their kind also encodes how many axes are boxes, and their
/// rank is that of the packed array. One-dimensional arrays of data may be arrays of cells: the elements of a stale
/// handle are then cells, each with a reference.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ValueForm(pub u8);

impl ValueForm {
    /// A vector of Floats.
    pub const ROW: ValueForm = ValueForm(8 + 1);

    /// A vector of Ints.
    pub const INTS: ValueForm = ValueForm(3 * 8 + 1);

    /// A vector of boxes that each contain a vector of Floats.
    pub const RAGGED: ValueForm = ValueForm(5 * 8 + 2);

    /// A vector of cells.
    pub const CELLS: ValueForm = ValueForm(8 * 8 + 1);

    /// The form of values of a type.
    pub fn of(ty: &Ty) -> ValueForm {
        let Ty::Array(elem, axes) = ty else { return ValueForm(0) };
        let boxes = boxes::boxes(ty);
        if boxes > 0 {
            let mut inner = ty;
            for _ in 0..boxes {
                let Ty::Array(e, _) = inner else { return ValueForm(0) };
                inner = e;
            }
            let rank = boxes + inner.rank() as usize;
            return if rank <= AXES { ValueForm((4 + boxes as u8) * 8 + rank as u8) } else { ValueForm(0) };
        }
        let kind = match **elem {
            Ty::F64 => 1,
            Ty::F32 => 2,
            Ty::I64 => 3,
            Ty::Bool => 4,
            Ty::Data(_) if *axes == 1 => return ValueForm::CELLS,
            Ty::Str | Ty::Array(..) | Ty::Data(_) => return ValueForm(0),
        };
        if *axes as usize <= AXES { ValueForm(kind * 8 + *axes as u8) } else { ValueForm(0) }
    }

    /// The number of axes; 0 if it is not a flat array.
    pub fn rank(self) -> usize {
        usize::from(self.0 % 8)
    }

    /// The number of axes that are boxes.
    pub fn boxes(self) -> usize {
        match self.0 / 8 {
            kind @ 5..8 => usize::from(kind) - 4,
            _ => 0,
        }
    }

    /// Whether it is an array of Floats or Ints.
    pub fn is_numbers(self) -> bool {
        matches!(self.0 / 8, 1 | 3)
    }

    /// Whether the pool's buffers can hold such arrays.
    fn is_pooled(self) -> bool {
        self.holds_floats() || self.0 / 8 == 3 || self == ValueForm::CELLS
    }

    /// The form of an array of boxes of such values.
    pub fn boxed(self) -> Option<ValueForm> {
        let kind = if self.is_floats() { 5 } else { self.0 / 8 + 1 };
        ((self.is_floats() || self.boxes() > 0) && self.rank() < AXES).then_some(ValueForm(kind * 8 + self.0 % 8 + 1))
    }

    /// The form of an array whose elements are such Float arrays.
    pub fn stacked(self) -> Option<ValueForm> {
        (self.is_floats() && self.rank() < AXES).then_some(ValueForm(self.0 + 1))
    }

    /// Whether the elements are Floats, packed or not.
    pub fn holds_floats(self) -> bool {
        self.is_floats() || self.boxes() > 0
    }

    /// Whether it is an unpacked array of Floats.
    pub fn is_floats(self) -> bool {
        self.0 / 8 == 1
    }
}

/// See the module documentation. The code generator depends on the layout.
#[repr(C)]
pub(crate) struct Handle {
    /// The reference count.
    pub rc: i64,
    /// The address of the elements.
    pub data: *mut u8,
    /// 1 if the value is the only reference to its array. In an output buffer: the capacity in elements.
    pub owned: i64,
    /// Extents.
    pub dims: [i64; AXES],
    /// The value.
    pub value: Value,
    /// The form that native code expects.
    pub expect: ValueForm,
    /// Whether the array's length and shape are still to be set.
    pub stale: bool,
    /// In an output buffer: the expected number of elements, or 0.
    pub hint: i64,
    /// In an output buffer that waits for its first row: its index in the tables' buffers, plus 1; else 0.
    pub waits: i64,
    /// Of a stale array: its size class among spare buffers.
    pub class: u8,
    /// The array of the extents, or null.
    pub shape: *mut Handle,
}

/// Field offsets for the code generator.
pub(crate) mod offset {
    use super::Handle;
    pub const RC: i32 = std::mem::offset_of!(Handle, rc) as i32;
    pub const DATA: i32 = std::mem::offset_of!(Handle, data) as i32;
    pub const OWNED: i32 = std::mem::offset_of!(Handle, owned) as i32;
    pub const DIMS: i32 = std::mem::offset_of!(Handle, dims) as i32;
    pub const HINT: i32 = std::mem::offset_of!(Handle, hint) as i32;
}

/// The address of a flat buffer's elements, if it is of the expected kind. They may be written if the array has one
/// reference.
fn elements(b: &mut Buf, e: ValueForm) -> Option<*mut u8> {
    match (b, e.0 / 8) {
        (Buf::F64(v), 1 | 5..8) => Some(v.as_mut_ptr().cast()),
        (Buf::F32(v), 2) => Some(v.as_mut_ptr().cast()),
        (Buf::I64(v), 3) => Some(v.as_mut_ptr().cast()),
        (Buf::Bool(v), 4) => Some(v.as_mut_ptr().cast()),
        _ => None,
    }
}

/// The address of elements for reading only.
fn read_elements(b: &Buf, e: ValueForm) -> Option<*mut u8> {
    match (b, e.0 / 8) {
        (Buf::F64(v), 1 | 5..8) => Some(v.as_ptr().cast_mut().cast()),
        (Buf::F32(v), 2) => Some(v.as_ptr().cast_mut().cast()),
        (Buf::I64(v), 3) => Some(v.as_ptr().cast_mut().cast()),
        (Buf::Bool(v), 4) => Some(v.as_ptr().cast_mut().cast()),
        _ => None,
    }
}

fn place(rc: &mut Rc<Array>, e: ValueForm) -> (Option<*mut u8>, bool) {
    match Rc::get_mut(rc) {
        Some(a) => (elements(a.buf_mut(), e), true),
        None => (read_elements(rc.buf(), e), false),
    }
}

/// Reinterprets a vector of Floats as Ints, in place.
fn as_ints(v: Vec<f64>) -> Vec<i64> {
    let mut v = std::mem::ManuallyDrop::new(v);
    // SAFETY: `f64` and `i64` have the same size and alignment, and every bit pattern is valid. Ownership of the memory
    // moves from one vector to the other.
    unsafe { Vec::from_raw_parts(v.as_mut_ptr().cast(), v.len(), v.capacity()) }
}

impl Handle {
    fn empty() -> Handle {
        Handle {
            rc: 0,
            data: std::ptr::null_mut(),
            owned: 0,
            dims: [0; AXES],
            value: Value::Unit,
            expect: ValueForm(0),
            stale: false,
            hint: 0,
            waits: 0,
            class: 0,
            shape: std::ptr::null_mut(),
        }
    }

    /// Sets the length, shape and element type of a stale array. Not for arrays of cells.
    #[cold]
    fn settle(&mut self) {
        self.stale = false;
        let dims = &self.dims[..self.expect.rank()];
        let Value::Array(rc) = &mut self.value else { return };
        let Some(a) = Rc::get_mut(rc) else { return };
        a.shape = dims.iter().map(|d| *d as usize).collect();
        let n = a.shape.iter().product();
        if let Buf::F64(v) = a.buf_mut() {
            // SAFETY: native code has written `n` elements, which are within the capacity of the buffer.
            unsafe { v.set_len(n) };
            if self.expect.0 / 8 == 3 {
                let ints = as_ints(std::mem::take(v));
                *a.buf_mut() = Buf::I64(ints);
            }
        }
    }

    /// Makes an output buffer of a stale array.
    pub fn fill_later(&mut self) {
        self.owned = self.room();
        self.dims = [0; AXES];
    }

    /// The number of scalars in one element of the first axis.
    #[inline]
    pub fn row(&self) -> i64 {
        let [_, a, b, ..] = self.dims;
        // Unrolled, because this is called for each row that a loop collects.
        match self.expect.rank() {
            0 | 1 => 1,
            2 => a,
            3 => a * b,
            rank => self.dims[1..rank].iter().product(),
        }
    }

    /// The capacity in Floats.
    #[inline]
    pub fn room(&self) -> i64 {
        match &self.value {
            Value::Array(rc) => match rc.buf() {
                Buf::F64(v) => v.capacity() as i64,
                _ => 0,
            },
            Value::Unit if self.stale && self.class == PART => self.hint * self.row(),
            Value::Unit if self.stale => (SMALLEST << self.class) as i64,
            _ => 0,
        }
    }

    /// Makes an array of a stale output buffer.
    ///
    /// # Safety
    /// `data` holds `len` initialised elements.
    pub unsafe fn filled(&mut self, len: usize, reverse: bool) {
        self.owned = 1;
        self.dims[0] = len as i64;
        if reverse {
            // SAFETY: by this function's contract, `data` holds `len` initialised elements, which this handle owns.
            unsafe { std::slice::from_raw_parts_mut(self.data.cast::<f64>(), len) }.reverse();
        }
    }

    /// Recomputes the cached fields from the value.
    pub fn refresh(&mut self) {
        self.data = std::ptr::null_mut();
        self.owned = 0;
        self.dims = [0; AXES];
        if let Value::Array(rc) = &mut self.value {
            if self.expect.0 == 0 || rc.shape.len() != self.expect.rank() {
                return;
            }
            let (Some(data), owned) = place(rc, self.expect) else { return };
            self.data = data;
            self.owned = i64::from(owned);
            for (d, n) in self.dims.iter_mut().zip(&rc.shape) {
                *d = *n as i64;
            }
        } else if let Some((x, starts)) = boxes::parts(&self.value).filter(|_| self.expect == ValueForm::RAGGED) {
            (self.dims[2], self.dims[3], self.hint) =
                (x.as_ptr() as i64, starts.as_ptr() as i64, starts.len() as i64 - 1);
        }
    }

    /// The address and length of one of several rows of different lengths.
    pub fn ragged_row(&self, index: u64) -> Option<(*const f64, i64)> {
        if !self.data.is_null() || self.expect != ValueForm::RAGGED || self.dims[3] == 0 || index >= self.hint as u64 {
            return None;
        }
        // SAFETY: `index` is less than the number of rows, and the array of offsets has one more element than there are
        // rows.
        unsafe {
            let starts = (self.dims[3] as *const i64).add(index as usize);
            Some(((self.dims[2] as *const f64).add(*starts as usize), *starts.add(1) - *starts))
        }
    }

    /// Reserves capacity for `more` scalars after the `len` existing ones of an output buffer.
    pub fn reserve(&mut self, len: usize, more: usize) {
        self.data = std::ptr::null_mut();
        self.owned = 0;
        let Value::Array(rc) = &mut self.value else { return };
        let Some(array) = Rc::get_mut(rc) else { return };
        macro_rules! grow {
            ($v:expr) => {{
                // SAFETY: native code has written `len` elements, or restarts from the beginning; the length is limited
                // to the capacity. Elements are scalars, and they are read only after all have been written.
                unsafe { $v.set_len(len.min($v.capacity())) };
                // If the reservation fails, the next push requests room again and reports the error.
                let _ = $v.try_reserve(more);
                self.data = $v.as_mut_ptr().cast();
                self.owned = $v.capacity() as i64;
            }};
        }
        match array.buf_mut() {
            Buf::F64(v) => grow!(v),
            Buf::F32(v) => grow!(v),
            Buf::I64(v) => grow!(v),
            Buf::Bool(v) => grow!(v),
            Buf::Unit | Buf::Boxed(_) | Buf::Tuple(_) | Buf::Record(..) => {}
        }
    }
}

/// The number of size classes of spare buffers.
const CLASSES: usize = 19;

/// The number of classes whose buffers are in the pool's own memory, because a separate allocation would cost more than
/// the elements.
const SMALL: usize = 2;

/// The class of slots in output buffers.
const PART: u8 = u8::MAX;

/// The size in words of the first block of such memory, and the maximum.
const WORDS: (usize, usize) = (1 << 9, 1 << 19);

/// The smallest class with room for `n` Floats.
fn class(n: usize) -> usize {
    ((n.max(1) - 1) >> SMALLEST.trailing_zeros()).checked_ilog2().map_or(0, |k| k as usize + 1)
}

/// All handles of a run.
pub(crate) struct HandlePool {
    blocks: Vec<Box<[Handle]>>,
    free: Vec<*mut Handle>,
    /// Handles without references that hold a Float array, by size class. All are stale.
    spare: [Vec<*mut Handle>; CLASSES],
    /// Memory of small buffers, and the number of words in use in the last block.
    words: (Vec<Vec<u64>>, usize),
    /// The handle of symbolic zeros.
    pub symbolic_zero: *mut Handle,
    /// Heap objects.
    pub cells: CellHeap,
}

impl HandlePool {
    pub fn new(layouts: *const Layouts) -> HandlePool {
        let mut pool = HandlePool {
            blocks: Vec::new(),
            free: Vec::new(),
            spare: Default::default(),
            words: Default::default(),
            symbolic_zero: std::ptr::null_mut(),
            cells: CellHeap::new(layouts),
        };
        pool.symbolic_zero = pool.take();
        // SAFETY: `take` returns a live handle of this pool to which no other pointer exists.
        let h = unsafe { &mut *pool.symbolic_zero };
        h.rc = IMMORTAL;
        h.value = Value::Zero;
        pool
    }

    fn take(&mut self) -> *mut Handle {
        if self.free.is_empty() {
            let n = if self.blocks.is_empty() { FIRST } else { BLOCK };
            let mut block: Box<[Handle]> = (0..n).map(|_| Handle::empty()).collect();
            self.free.extend(block.iter_mut().map(std::ptr::from_mut));
            self.blocks.push(block);
        }
        self.free.pop().unwrap_or(self.symbolic_zero)
    }

    /// A handle with one reference to a value.
    pub fn wrap(&mut self, value: Value, expect: ValueForm) -> *mut Handle {
        if matches!(value, Value::Zero) {
            return self.symbolic_zero;
        }
        let p = self.take();
        // SAFETY: `take` returns a live handle of this pool to which no other pointer exists.
        let h = unsafe { &mut *p };
        h.rc = 1;
        h.value = value;
        h.expect = expect;
        h.waits = 0;
        h.refresh();
        p
    }

    /// A new array of Floats, Ints or cells with at least one axis and uninitialised elements. `None` if the size
    /// overflows, the form is not supported, or memory is exhausted.
    #[inline]
    pub fn floats(&mut self, dims: &[i64], expect: ValueForm) -> Option<*mut Handle> {
        let n = dims.iter().try_fold(1usize, |n, d| n.checked_mul(usize::try_from(*d).ok()?))?;
        if dims.is_empty() || dims.len() != expect.rank() || !expect.is_pooled() {
            return None;
        }
        let class = class(n);
        let pointer = match self.spare.get_mut(class).and_then(Vec::pop) {
            Some(p) => p,
            None => self.room(n, class)?,
        };
        // SAFETY: the handle is new or without references, so that no other pointer to it is used.
        let h = unsafe { &mut *pointer };
        (h.rc, h.owned, h.expect) = (1, 1, expect);
        // Written out: for a few words, calls that set and copy memory take longer than all else here.
        h.dims = std::array::from_fn(|k| dims.get(k).copied().unwrap_or(0));
        Some(pointer)
    }

    /// A stale array with room for exactly `n` Floats, which is not kept as a spare buffer.
    pub fn exactly(&mut self, n: usize) -> Option<*mut Handle> {
        self.room(n, CLASSES)
    }

    /// A stale array with room for `n` Floats.
    #[cold]
    fn room(&mut self, n: usize, class: usize) -> Option<*mut Handle> {
        let room = if class < CLASSES { SMALLEST << class } else { n };
        if class < SMALL {
            let data = self.small(room)?;
            let p = self.take();
            // SAFETY: `take` returns a live handle of this pool to which no other pointer exists.
            let h = unsafe { &mut *p };
            (h.data, h.stale, h.class, h.waits) = (data.cast(), true, class as u8, 0);
            return Some(p);
        }
        let mut buf = array::room::<f64>(room).ok()?;
        let data = buf.as_mut_ptr();
        let p = self.wrap(array::make(Default::default(), Buf::F64(buf)), ValueForm(0));
        // SAFETY: `wrap` returned a live handle to which no other pointer exists.
        let h = unsafe { &mut *p };
        h.data = data.cast();
        (h.stale, h.class) = (true, class.min(CLASSES) as u8);
        Some(p)
    }

    /// The slot for the next row of an output buffer that has room for it, as a buffer of its own. The output buffer
    /// must not be reallocated while the slot is in use.
    pub fn part(&mut self, all: &Handle, expect: ValueForm) -> *mut Handle {
        let p = self.take();
        // SAFETY: `take` returns a live handle of this pool to which no other pointer exists.
        let h = unsafe { &mut *p };
        let size = all.row();
        // SAFETY: the caller has ensured that `all` has room for one row more.
        h.data = unsafe { all.data.cast::<f64>().add((all.dims[0] * size) as usize) }.cast();
        h.dims = [0; AXES];
        h.dims[1..AXES - 1].copy_from_slice(&all.dims[2..]);
        (h.rc, h.owned, h.expect, h.waits) = (1, 0, expect, 0);
        (h.stale, h.class, h.hint, h.value) = (true, PART, all.dims[1], Value::Unit);
        p
    }

    /// Copies a slot of an output buffer to memory of its own. Returns whether memory sufficed.
    ///
    /// # Safety
    /// `p` is a live handle of this pool to which no reference exists.
    pub unsafe fn detach(&mut self, p: *mut Handle) -> bool {
        // SAFETY: by this function's contract, `p` is live and not borrowed.
        let record = unsafe { &mut *p };
        if !(record.stale && record.class == PART && matches!(record.value, Value::Unit)) {
            return true;
        }
        let n = record.dims[..record.expect.rank()].iter().product::<i64>();
        let Some(new) = self.floats(&[n], ValueForm::ROW) else { return false };
        // SAFETY: the new handle is distinct from the old one, and it has room for `n` elements.
        unsafe {
            crate::copy_blocks::copy(record.data.cast::<f64>(), (*new).data.cast(), n as usize);
            std::mem::swap(&mut record.value, &mut (*new).value);
            std::mem::swap(&mut record.data, &mut (*new).data);
            std::mem::swap(&mut record.class, &mut (*new).class);
            self.release(new);
        }
        true
    }

    /// Allocates `n` words, which are freed with the pool.
    fn small(&mut self, n: usize) -> Option<*mut u64> {
        let (blocks, used) = &mut self.words;
        if blocks.last().is_none_or(|b| *used + n > b.capacity()) {
            let size = blocks.last().map_or(WORDS.0, |b| (2 * b.capacity()).min(WORDS.1)).max(n);
            let mut block = Vec::new();
            block.try_reserve_exact(size).ok()?;
            blocks.push(block);
            *used = 0;
        }
        let at = *used;
        *used += n;
        // SAFETY: the check above leaves at least `n` words in the last block.
        Some(unsafe { blocks.last_mut()?.as_mut_ptr().add(at) })
    }

    /// Copies the elements of a small buffer to an array.
    fn copied(&self, h: &Handle) -> Value {
        let dims = &h.dims[..h.expect.rank()];
        let n = dims.iter().product::<i64>() as usize;
        // SAFETY: a stale buffer holds as many initialised elements as its extents multiply to.
        let x = unsafe { std::slice::from_raw_parts(h.data.cast::<f64>(), n) }.to_vec();
        let buf = if h.expect.0 / 8 == 3 { Buf::I64(as_ints(x)) } else { Buf::F64(x) };
        array::make(dims.iter().map(|d| *d as usize).collect(), buf)
    }

    /// Keeps a stale array without references as a spare buffer. Returns whether there was room for it.
    #[inline]
    fn keep(&mut self, p: *mut Handle, class: usize) -> bool {
        match self.spare.get_mut(class) {
            Some(spare) if class < SMALL || spare.len() < 2 + ((SPARE / SMALLEST) >> class) => {
                spare.push(p);
                true
            }
            _ => false,
        }
    }

    /// Drops a reference to a handle. A stale array without references becomes a spare buffer.
    ///
    /// # Safety
    /// `handle` is a live handle of this pool, one reference to it is given up, and no Rust reference to it exists.
    #[inline]
    pub unsafe fn release(&mut self, handle: *mut Handle) {
        // SAFETY: by this function's contract, `handle` is live and not borrowed.
        let record = unsafe { &mut *handle };
        record.rc -= 1;
        if record.rc > 0 {
            return;
        }
        if !record.shape.is_null() {
            let shape = std::mem::replace(&mut record.shape, std::ptr::null_mut());
            // SAFETY: the handle owned a reference to its shape, which is a different handle.
            unsafe { self.release(shape) };
        }
        if record.stale && record.expect == ValueForm::CELLS {
            // SAFETY: the array holds `dims[0]` cells, and the handle owns a reference to each.
            (0..record.dims[0])
                .for_each(|i| unsafe { self.let_go(*record.data.cast::<*mut HeapCell>().add(i as usize)) });
        }
        if !(record.stale && self.keep(handle, record.class as usize)) {
            self.recycle(handle, record);
        }
    }

    /// Makes room in an output buffer for `more` elements after `len` others. If memory is exhausted, its capacity stays the
    /// same.
    ///
    /// # Safety
    /// `h` is a live output buffer of this pool with `len` initialised elements, and no reference to it exists.
    pub unsafe fn grow(&mut self, h: *mut Handle, len: usize, more: usize) {
        // SAFETY: by this function's contract, `h` is live and not borrowed.
        let buffer = unsafe { &mut *h };
        if !buffer.stale {
            return buffer.reserve(len, more.max(8));
        }
        let Some(new) = self.floats(&[len.saturating_add(more) as i64], ValueForm::ROW) else { return };
        // SAFETY: the new handle is distinct from the old one, and both have room for `len` elements of eight bytes.
        unsafe {
            let n = &mut *new;
            crate::copy_blocks::copy(buffer.data, n.data, 8 * len);
            std::mem::swap(&mut buffer.value, &mut n.value);
            std::mem::swap(&mut buffer.data, &mut n.data);
            std::mem::swap(&mut buffer.class, &mut n.class);
            buffer.fill_later();
            self.release(new);
        }
    }

    /// The value of a handle, after setting its length and shape.
    ///
    /// # Safety
    /// `p` is a live handle of this pool, not an array of cells, and no reference to it exists.
    pub unsafe fn settled<'h>(&mut self, p: *mut Handle) -> &'h mut Value {
        // SAFETY: by this function's contract, `p` is live and not borrowed.
        let record = unsafe { &mut *p };
        if record.stale && matches!(record.value, Value::Unit) {
            let v = self.copied(record);
            let (data, class) = (record.data, record.class);
            record.value = v;
            record.stale = false;
            record.refresh();
            if class == PART {
                return &mut record.value;
            }
            // The memory becomes a spare buffer.
            let other = self.take();
            // SAFETY: `take` returns a live handle of this pool to which no other pointer exists.
            let o = unsafe { &mut *other };
            (o.data, o.stale, o.class, o.waits) = (data, true, class, 0);
            self.keep(other, usize::from(class));
        } else if record.stale {
            record.settle();
        }
        &mut record.value
    }

    /// Converts an array of cells, or a small array, to a value. The handle keeps its elements.
    ///
    /// # Safety
    /// `p` is a live handle of this pool to which no mutable reference exists.
    unsafe fn boxed(&mut self, p: *mut Handle) -> Option<Value> {
        // SAFETY: by this function's contract, `p` is live and not mutably borrowed.
        let h = unsafe { &*p };
        if h.stale && h.expect != ValueForm::CELLS && matches!(h.value, Value::Unit) {
            return Some(self.copied(h));
        }
        if !h.stale || h.expect != ValueForm::CELLS {
            return None;
        }
        // SAFETY: the array holds `dims[0]` live cells.
        let vs: Vec<Value> = (0..h.dims[0])
            .map(|i| unsafe { self.data(*h.data.cast::<*mut HeapCell>().add(i as usize), false) })
            .collect();
        Some(array::make([vs.len()].into_iter().collect(), Buf::Boxed(vs)))
    }

    /// The value of a handle, which keeps its references.
    ///
    /// # Safety
    /// `p` is a live handle of this pool to which no reference exists.
    pub unsafe fn lent(&mut self, p: *mut Handle) -> Value {
        // SAFETY: by this function's contract, `p` is live and not borrowed; `boxed` handles arrays of cells.
        unsafe {
            match self.boxed(p) {
                Some(v) => v,
                None => self.settled(p).clone(),
            }
        }
    }

    /// Recycles a handle without references.
    fn recycle(&mut self, handle: *mut Handle, freed: &mut Handle) {
        if let (false, Value::Array(rc)) = (freed.stale, &mut freed.value)
            && let Some(Buf::F64(v)) = Rc::get_mut(rc).map(adl_interp::value::Array::buf_mut)
        {
            let class = class(v.capacity());
            if class < CLASSES && v.capacity() == SMALLEST << class && self.keep(handle, class) {
                freed.data = v.as_mut_ptr().cast();
                (freed.stale, freed.class) = (true, class as u8);
                return;
            }
        }
        freed.stale = false;
        freed.value = Value::Unit;
        self.free.push(handle);
    }

    /// The value of a handle, one reference to which is dropped.
    ///
    /// # Safety
    /// `handle` is a live handle of this pool, one reference to it is given up, and no Rust reference to it exists.
    pub unsafe fn unwrap(&mut self, handle: *mut Handle) -> Value {
        if handle == self.symbolic_zero {
            return Value::Zero;
        }
        // SAFETY: by this function's contract, `handle` is live and not borrowed.
        if let Some(v) = unsafe { self.boxed(handle) } {
            // SAFETY: by this function's contract, the caller gives up one reference to `handle`.
            unsafe { self.release(handle) };
            return v;
        }
        // SAFETY: `handle` is live and not borrowed, and `boxed` has ruled out arrays of cells.
        let record = unsafe {
            self.settled(handle);
            &mut *handle
        };
        record.rc -= 1;
        if record.rc > 0 {
            record.owned = 0;
            return record.value.clone();
        }
        let shape = std::mem::replace(&mut record.shape, std::ptr::null_mut());
        if !shape.is_null() {
            // SAFETY: the handle owned a reference to its shape.
            unsafe { self.release(shape) };
        }
        self.free.push(handle);
        std::mem::take(&mut record.value)
    }
}
