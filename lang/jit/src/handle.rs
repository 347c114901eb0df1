//! Handles: how native code sees values that are no scalars.
//!
//! A handle counts its owners and holds one value. Of a flat array it also says where the elements are and how many, so that native code
//! reads and writes them without asking. No elements are copied on the way in or out.
//!
//! Invariants
//! - A handle with no owners is in the pool's list of free ones and holds `()`, or in a list of spare buffers and holds an array.
//! - `data` is null, and all extents are 0, unless the value is an array of the kind and rank that the code expects: every bounds check
//!   then fails, and the slow way answers.
//! - A `stale` handle's array has room for the elements, but does not know yet how many there are and in what shape: `settle` says so before
//!   anybody looks at the value. Nobody else holds it. So buffers that live and die in native code cost next to nothing.
//! - A small buffer's elements are the pool's own memory, and its value is `()`: it stays stale, and a value of it is a copy. What keeps very many small
//!   arrays then takes little more room than their elements do.
//! - A part of a buffer that a loop fills with rows ([`Pool::part`]) is the same, with that buffer's memory.
//! - `shape` is the array of the extents, if somebody has asked for it, with an owner.
//! - Rows of Floats in boxes that have different lengths are one buffer too: `dims[2]` is then where the numbers are, `dims[3]` where it stands at which
//!   of them each row begins, and `hint` how many rows there are. `data` is null. Of a buffer that is being filled, `dims[3]` is the handle of the latter.
//! - `owned` is 1 only if the handle's value is the only reference to its array: then, with one owner, elements may be written.
//! - Handles do not move. They are freed with their pool at the end of the run, which is what becomes of them after an error.

use crate::cells::{Cell, Cells};
use crate::layouts::Layouts;
use adl_interp::ir::boxes;
use adl_interp::value::{Array, Buf, Value, array};
use adl_ir::Ty;
use std::rc::Rc;

/// Axes whose extents a handle says.
pub(crate) const AXES: usize = 4;

/// Owners that the handle of absent values begins with: it is never freed.
const IMMORTAL: i64 = 1 << 40;

/// What native code expects a value to be: 0, or the kind of elements and the rank of a flat array. Arrays of boxes that hold Floats may be
/// packed (`interp::ir::boxes`): their kinds also say how many axes are boxes, and their rank is that of the packed array. Arrays of data with one
/// axis may be arrays of cells: a stale handle has the cells as its elements, each with an owner.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Expect(pub u8);

impl Expect {
    /// One axis of Floats.
    pub const ROW: Expect = Expect(8 + 1);

    /// One axis of Ints.
    pub const INTS: Expect = Expect(3 * 8 + 1);

    /// One axis of boxes with one axis of Floats in each.
    pub const RAGGED: Expect = Expect(5 * 8 + 2);

    /// One axis of cells.
    pub const CELLS: Expect = Expect(8 * 8 + 1);

    /// Of a type.
    pub fn of(ty: &Ty) -> Expect {
        let Ty::Array(e, r) = ty else { return Expect(0) };
        let boxes = boxes::boxes(ty);
        if boxes > 0 {
            let mut inner = ty;
            for _ in 0..boxes {
                let Ty::Array(e, _) = inner else { return Expect(0) };
                inner = e;
            }
            let rank = boxes + inner.rank() as usize;
            return if rank <= AXES { Expect((4 + boxes as u8) * 8 + rank as u8) } else { Expect(0) };
        }
        let kind = match **e {
            Ty::F64 => 1,
            Ty::F32 => 2,
            Ty::I64 => 3,
            Ty::Bool => 4,
            Ty::Data(_) if *r == 1 => return Expect::CELLS,
            Ty::Str | Ty::Array(..) | Ty::Data(_) => return Expect(0),
        };
        if *r as usize <= AXES { Expect(kind * 8 + *r as u8) } else { Expect(0) }
    }

    /// Axes; 0 if it is no flat array.
    pub fn rank(self) -> usize {
        usize::from(self.0 % 8)
    }

    /// Axes that are boxes.
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

    /// Whether buffers of the pool can be such arrays.
    fn is_pooled(self) -> bool {
        self.holds_floats() || self.0 / 8 == 3 || self == Expect::CELLS
    }

    /// What holds a value of this as one more box.
    pub fn boxed(self) -> Option<Expect> {
        let kind = if self.is_floats() { 5 } else { self.0 / 8 + 1 };
        ((self.is_floats() || self.boxes() > 0) && self.rank() < AXES).then_some(Expect(kind * 8 + self.0 % 8 + 1))
    }

    /// An array of such arrays of Floats.
    pub fn stacked(self) -> Option<Expect> {
        (self.is_floats() && self.rank() < AXES).then_some(Expect(self.0 + 1))
    }

    /// Whether the elements are Floats, packed or not.
    pub fn holds_floats(self) -> bool {
        self.is_floats() || self.boxes() > 0
    }

    /// Whether it is an array of Floats.
    pub fn is_floats(self) -> bool {
        self.0 / 8 == 1
    }
}

/// See the head of the module. The layout is known to the code generator.
#[repr(C)]
pub(crate) struct Handle {
    /// Owners.
    pub rc: i64,
    /// The elements.
    pub data: *mut u8,
    /// Whether the value is the only reference to its array. Of a buffer that a loop fills: how many elements have room.
    pub owned: i64,
    /// Extents.
    pub dims: [i64; AXES],
    /// The value.
    pub value: Value,
    /// What the code expects the value to be.
    pub expect: Expect,
    /// Whether the array's length and shape are still to be set.
    pub stale: bool,
    /// Of a buffer that a loop fills: how many elements will come, or 0.
    pub hint: i64,
    /// Of a buffer that waits for its first row: its number among the tables' buffers, and 1; else 0.
    pub waits: i64,
    /// Of a stale array: its class among the buffers that are kept.
    pub class: u8,
    /// The array of the extents, or null.
    pub shape: *mut Handle,
}

/// Offsets for the code generator.
pub(crate) mod offset {
    use super::Handle;
    pub const RC: i32 = std::mem::offset_of!(Handle, rc) as i32;
    pub const DATA: i32 = std::mem::offset_of!(Handle, data) as i32;
    pub const OWNED: i32 = std::mem::offset_of!(Handle, owned) as i32;
    pub const DIMS: i32 = std::mem::offset_of!(Handle, dims) as i32;
    pub const HINT: i32 = std::mem::offset_of!(Handle, hint) as i32;
}

/// Where the elements of a flat buffer are, if it is of the expected kind. Elements of an array with one reference may be written there.
fn elements(b: &mut Buf, e: Expect) -> Option<*mut u8> {
    match (b, e.0 / 8) {
        (Buf::F64(v), 1 | 5..8) => Some(v.as_mut_ptr().cast()),
        (Buf::F32(v), 2) => Some(v.as_mut_ptr().cast()),
        (Buf::I64(v), 3) => Some(v.as_mut_ptr().cast()),
        (Buf::Bool(v), 4) => Some(v.as_mut_ptr().cast()),
        _ => None,
    }
}

/// The same for elements that are only read.
fn read_elements(b: &Buf, e: Expect) -> Option<*mut u8> {
    match (b, e.0 / 8) {
        (Buf::F64(v), 1 | 5..8) => Some(v.as_ptr().cast_mut().cast()),
        (Buf::F32(v), 2) => Some(v.as_ptr().cast_mut().cast()),
        (Buf::I64(v), 3) => Some(v.as_ptr().cast_mut().cast()),
        (Buf::Bool(v), 4) => Some(v.as_ptr().cast_mut().cast()),
        _ => None,
    }
}

fn place(rc: &mut Rc<Array>, e: Expect) -> (Option<*mut u8>, bool) {
    match Rc::get_mut(rc) {
        Some(a) => (elements(a.buf_mut(), e), true),
        None => (read_elements(rc.buf(), e), false),
    }
}

/// The bits of Floats as Ints, where they are.
fn as_ints(v: Vec<f64>) -> Vec<i64> {
    let mut v = std::mem::ManuallyDrop::new(v);
    // SAFETY: both are eight bytes with the same alignment and any bits; the memory has one owner, before and after.
    unsafe { Vec::from_raw_parts(v.as_mut_ptr().cast(), v.len(), v.capacity()) }
}

impl Handle {
    fn empty() -> Handle {
        Handle { rc: 0, data: std::ptr::null_mut(), owned: 0, dims: [0; AXES], value: Value::Unit, expect: Expect(0), stale: false, hint: 0, waits: 0, class: 0, shape: std::ptr::null_mut() }
    }

    /// Says what a stale array's length, shape and elements are. Not for arrays of cells.
    #[cold]
    fn settle(&mut self) {
        self.stale = false;
        let dims = &self.dims[..self.expect.rank()];
        let Value::Array(rc) = &mut self.value else { return };
        let Some(a) = Rc::get_mut(rc) else { return };
        a.shape = dims.iter().map(|d| *d as usize).collect();
        let n = a.shape.iter().product();
        if let Buf::F64(v) = a.buf_mut() {
            // SAFETY: the code that made the handle stale had room for so many, and has written them.
            unsafe { v.set_len(n) };
            if self.expect.0 / 8 == 3 {
                let ints = as_ints(std::mem::take(v));
                *a.buf_mut() = Buf::I64(ints);
            }
        }
    }

    /// Makes a stale array a buffer that a loop fills.
    pub fn fill_later(&mut self) {
        self.owned = self.room();
        self.dims = [0; AXES];
    }

    /// Elements of one element of the first axis.
    #[inline]
    pub fn row(&self) -> i64 {
        let [_, a, b, c] = self.dims;
        // One by one: this is asked for each row that a loop collects.
        match self.expect.rank() {
            0 | 1 => 1,
            2 => a,
            3 => a * b,
            _ => a * b * c,
        }
    }

    /// How many Floats the array has room for.
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

    /// Makes an array of a stale buffer.
    ///
    /// # Safety
    /// `len` elements have been written.
    pub unsafe fn filled(&mut self, len: usize, reverse: bool) {
        self.owned = 1;
        self.dims[0] = len as i64;
        if reverse {
            // SAFETY: the caller says so.
            unsafe { std::slice::from_raw_parts_mut(self.data.cast::<f64>(), len) }.reverse();
        }
    }

    /// Says again what is known of the value.
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
        } else if let Some((x, starts)) = boxes::parts(&self.value).filter(|_| self.expect == Expect::RAGGED) {
            (self.dims[2], self.dims[3], self.hint) = (x.as_ptr() as i64, starts.as_ptr() as i64, starts.len() as i64 - 1);
        }
    }

    /// Where a row lies among others of different lengths, and how many numbers it has.
    pub fn ragged_row(&self, index: u64) -> Option<(*const f64, i64)> {
        if !self.data.is_null() || self.expect != Expect::RAGGED || self.dims[3] == 0 || index >= self.hint as u64 {
            return None;
        }
        // SAFETY: so many rows are there, each with a start and an end.
        unsafe {
            let starts = (self.dims[3] as *const i64).add(index as usize);
            Some(((self.dims[2] as *const f64).add(*starts as usize), *starts.add(1) - *starts))
        }
    }

    /// Of a buffer that a loop fills with scalars: room for elements after those that are there, which are `len`.
    pub fn reserve(&mut self, len: usize, more: usize) {
        self.data = std::ptr::null_mut();
        self.owned = 0;
        let Value::Array(rc) = &mut self.value else { return };
        let Some(a) = Rc::get_mut(rc) else { return };
        macro_rules! grow {
            ($v:expr) => {{
                // SAFETY: native code has written `len` elements, all within the capacity that it was told, or begins with the last one; all are numbers,
                // and they are not read before all are written.
                unsafe { $v.set_len(len.min($v.capacity())) };
                // Without room for more the next push asks again and then fails on its own.
                let _ = $v.try_reserve(more);
                self.data = $v.as_mut_ptr().cast();
                self.owned = $v.capacity() as i64;
            }};
        }
        match a.buf_mut() {
            Buf::F64(v) => grow!(v),
            Buf::F32(v) => grow!(v),
            Buf::I64(v) => grow!(v),
            Buf::Bool(v) => grow!(v),
            Buf::Unit | Buf::Boxed(_) | Buf::Tuple(_) | Buf::Record(..) => {}
        }
    }
}

/// Floats in the smallest buffers that are kept for later arrays; each class is twice as large as the one before.
const SMALLEST: usize = 4;

/// Classes of buffers that are kept.
const CLASSES: usize = 19;

/// Classes of buffers in the pool's own memory: of those that are so small that what stands around them would take more room.
const SMALL: usize = 2;

/// The class of parts of other buffers.
const PART: u8 = u8::MAX;

/// Words of the first block of such memory, and of the largest.
const WORDS: (usize, usize) = (1 << 9, 1 << 19);

/// Floats in all buffers of a class that are kept, but for two buffers.
const SPARE: usize = 1 << 16;

/// The class of buffers with room for so many Floats.
fn class(n: usize) -> usize {
    (n.max(1) - 1 >> SMALLEST.trailing_zeros()).checked_ilog2().map_or(0, |k| k as usize + 1)
}

/// Handles in a block of the pool.
const BLOCK: usize = 32;

/// All handles of a run.
pub(crate) struct Pool {
    blocks: Vec<Box<[Handle]>>,
    free: Vec<*mut Handle>,
    /// Handles without owners that hold an array of Floats, by the room in it. All are stale.
    spare: [Vec<*mut Handle>; CLASSES],
    /// Memory of small buffers, and how many words of the last block are taken.
    words: (Vec<Vec<u64>>, usize),
    /// The handle of absent values.
    pub absent: *mut Handle,
    /// Data.
    pub cells: Cells,
}

impl Pool {
    pub fn new(layouts: *const Layouts) -> Pool {
        let mut p = Pool { blocks: Vec::new(), free: Vec::new(), spare: Default::default(), words: Default::default(), absent: std::ptr::null_mut(), cells: Cells::new(layouts) };
        p.absent = p.take();
        // SAFETY: `take` gives a live handle of this pool without other references.
        let h = unsafe { &mut *p.absent };
        h.rc = IMMORTAL;
        h.value = Value::Zero;
        p
    }

    fn take(&mut self) -> *mut Handle {
        if self.free.is_empty() {
            let mut block: Box<[Handle]> = (0..BLOCK).map(|_| Handle::empty()).collect();
            self.free.extend(block.iter_mut().map(std::ptr::from_mut));
            self.blocks.push(block);
        }
        self.free.pop().unwrap_or(self.absent)
    }

    /// A handle with one owner.
    pub fn wrap(&mut self, value: Value, expect: Expect) -> *mut Handle {
        if matches!(value, Value::Zero) {
            return self.absent;
        }
        let p = self.take();
        // SAFETY: `take` gives a handle of this pool that no native code refers to.
        let h = unsafe { &mut *p };
        h.rc = 1;
        h.value = value;
        h.expect = expect;
        h.waits = 0;
        h.refresh();
        p
    }

    /// A new array of Floats, Ints or cells, whose elements are still to be written: at least one axis. `None` if it is too large to be taken from here.
    #[inline]
    pub fn floats(&mut self, dims: &[i64], expect: Expect) -> Option<*mut Handle> {
        let n = dims.iter().try_fold(1usize, |n, d| n.checked_mul(usize::try_from(*d).ok()?))?;
        if dims.is_empty() || dims.len() != expect.rank() || !expect.is_pooled() {
            return None;
        }
        let class = class(n);
        let p = match self.spare.get_mut(class).and_then(Vec::pop) {
            Some(p) => p,
            None => self.room(n, class)?,
        };
        // SAFETY: the handle is new or has no owners.
        let h = unsafe { &mut *p };
        (h.rc, h.owned, h.expect) = (1, 1, expect);
        h.dims = [0; AXES];
        for (d, n) in h.dims.iter_mut().zip(dims) {
            *d = *n;
        }
        Some(p)
    }

    /// A stale array with room for so many Floats and no more, which is not kept for later.
    pub fn exactly(&mut self, n: usize) -> Option<*mut Handle> {
        self.room(n, CLASSES)
    }

    /// A stale array with room for so many Floats.
    #[cold]
    fn room(&mut self, n: usize, class: usize) -> Option<*mut Handle> {
        let room = if class < CLASSES { SMALLEST << class } else { n };
        if class < SMALL {
            let data = self.small(room)?;
            let p = self.take();
            // SAFETY: `take` gives a handle of this pool that no native code refers to.
            let h = unsafe { &mut *p };
            (h.data, h.stale, h.class, h.waits) = (data.cast(), true, class as u8, 0);
            return Some(p);
        }
        let mut buf = array::room::<f64>(room).ok()?;
        let data = buf.as_mut_ptr();
        let p = self.wrap(array::make(Default::default(), Buf::F64(buf)), Expect(0));
        // SAFETY: `wrap` gives a live handle, which is new.
        let h = unsafe { &mut *p };
        h.data = data.cast();
        (h.stale, h.class) = (true, class.min(CLASSES) as u8);
        Some(p)
    }

    /// A buffer for the rows of the next element of a buffer, in which there is room for it. It is a place there: the buffer is not to be moved as long as it is used.
    pub fn part(&mut self, all: &Handle, expect: Expect) -> *mut Handle {
        let p = self.take();
        // SAFETY: `take` gives a handle of this pool that no native code refers to.
        let h = unsafe { &mut *p };
        let size = all.row();
        // SAFETY: the caller says that there is room.
        h.data = unsafe { all.data.cast::<f64>().add((all.dims[0] * size) as usize) }.cast();
        h.dims = [0, all.dims[2], all.dims[3], 0];
        (h.rc, h.owned, h.expect, h.waits) = (1, 0, expect, 0);
        (h.stale, h.class, h.hint, h.value) = (true, PART, all.dims[1], Value::Unit);
        p
    }

    /// Gives an array that is a part of a buffer memory of its own; whether there was some.
    ///
    /// # Safety
    /// `p` is a live handle of this pool to which no reference is alive.
    pub unsafe fn detach(&mut self, p: *mut Handle) -> bool {
        // SAFETY: the caller says so.
        let h = unsafe { &mut *p };
        if !(h.stale && h.class == PART && matches!(h.value, Value::Unit)) {
            return true;
        }
        let n = h.dims[..h.expect.rank()].iter().product::<i64>();
        let Some(new) = self.floats(&[n], Expect::ROW) else { return false };
        // SAFETY: the new handle is another one, with room for as many elements.
        unsafe {
            crate::moves::copy(h.data.cast::<f64>(), (*new).data.cast(), n as usize);
            std::mem::swap(&mut h.value, &mut (*new).value);
            std::mem::swap(&mut h.data, &mut (*new).data);
            std::mem::swap(&mut h.class, &mut (*new).class);
            self.release(new);
        }
        true
    }

    /// Memory for so many words; it is freed with the pool.
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
        // SAFETY: so many words are left in the block.
        Some(unsafe { blocks.last_mut()?.as_mut_ptr().add(at) })
    }

    /// A copy of a small buffer's elements as an array.
    fn copied(&self, h: &Handle) -> Value {
        let dims = &h.dims[..h.expect.rank()];
        let n = dims.iter().product::<i64>() as usize;
        // SAFETY: so many elements have been written there.
        let x = unsafe { std::slice::from_raw_parts(h.data.cast::<f64>(), n) }.to_vec();
        let buf = if h.expect.0 / 8 == 3 { Buf::I64(as_ints(x)) } else { Buf::F64(x) };
        array::make(dims.iter().map(|d| *d as usize).collect(), buf)
    }

    /// Keeps a stale array without owners for later; whether there was place for it.
    #[inline]
    fn keep(&mut self, p: *mut Handle, class: usize) -> bool {
        match self.spare.get_mut(class) {
            Some(spare) if class < SMALL || spare.len() < 2 + (SPARE / SMALLEST >> class) => {
                spare.push(p);
                true
            }
            _ => false,
        }
    }

    /// Takes an owner of a handle away. An array that has no other owner is kept for later ones.
    ///
    /// # Safety
    /// `p` is a handle of this pool with an owner, and no reference to it is alive.
    #[inline]
    pub unsafe fn release(&mut self, p: *mut Handle) {
        // SAFETY: the caller says so.
        let h = unsafe { &mut *p };
        h.rc -= 1;
        if h.rc > 0 {
            return;
        }
        if !h.shape.is_null() {
            let shape = std::mem::replace(&mut h.shape, std::ptr::null_mut());
            // SAFETY: the handle has an owner of it, and it is no array whose shape was asked for through itself.
            unsafe { self.release(shape) };
        }
        if h.stale && h.expect == Expect::CELLS {
            // SAFETY: so many cells lie there, with an owner each.
            (0..h.dims[0]).for_each(|i| unsafe { self.let_go(*h.data.cast::<*mut Cell>().add(i as usize)) });
        }
        if !(h.stale && self.keep(p, h.class as usize)) {
            self.recycle(p, h);
        }
    }

    /// Room for more elements in a buffer that a loop fills, or no more room than before.
    ///
    /// # Safety
    /// `h` is a live buffer of this pool in which `len` elements have been written, and no reference to it is alive.
    pub unsafe fn grow(&mut self, h: *mut Handle, len: usize) {
        // SAFETY: the caller says so.
        let b = unsafe { &mut *h };
        if !b.stale {
            return b.reserve(len, len.max(8));
        }
        let Some(new) = self.floats(&[len as i64 * 2], Expect::ROW) else { return };
        // SAFETY: the new handle is another one; both have room for `len`.
        unsafe {
            let n = &mut *new;
            crate::moves::copy(b.data, n.data, 8 * len);
            std::mem::swap(&mut b.value, &mut n.value);
            std::mem::swap(&mut b.data, &mut n.data);
            std::mem::swap(&mut b.class, &mut n.class);
            b.fill_later();
            self.release(new);
        }
    }

    /// The value of a handle, with its length and shape.
    ///
    /// # Safety
    /// `p` is a live handle of this pool to which no reference is alive, and no array of cells.
    pub unsafe fn settled<'h>(&mut self, p: *mut Handle) -> &'h mut Value {
        // SAFETY: the caller says so.
        let h = unsafe { &mut *p };
        if h.stale && matches!(h.value, Value::Unit) {
            let v = self.copied(h);
            let (data, class) = (h.data, h.class);
            h.value = v;
            h.stale = false;
            h.refresh();
            if class == PART {
                return &mut h.value;
            }
            // The memory is kept for another array.
            let other = self.take();
            // SAFETY: `take` gives a handle of this pool that no native code refers to.
            let o = unsafe { &mut *other };
            (o.data, o.stale, o.class, o.waits) = (data, true, class, 0);
            self.keep(other, usize::from(class));
        } else if h.stale {
            h.settle();
        }
        &mut h.value
    }

    /// An array of cells, or a small one, as a value. The elements stay where they are, for code that knows the place.
    ///
    /// # Safety
    /// As of [`Pool::settled`].
    unsafe fn boxed(&mut self, p: *mut Handle) -> Option<Value> {
        // SAFETY: the caller says so.
        let h = unsafe { &*p };
        if h.stale && h.expect != Expect::CELLS && matches!(h.value, Value::Unit) {
            return Some(self.copied(h));
        }
        if !h.stale || h.expect != Expect::CELLS {
            return None;
        }
        // SAFETY: so many cells lie there, with an owner each.
        let vs: Vec<Value> = (0..h.dims[0]).map(|i| unsafe { self.data(*h.data.cast::<*mut Cell>().add(i as usize), false) }).collect();
        Some(array::make([vs.len()].into_iter().collect(), Buf::Boxed(vs)))
    }

    /// The value of a handle that keeps its owners.
    ///
    /// # Safety
    /// `p` is a live handle of this pool to which no reference is alive.
    pub unsafe fn lent(&mut self, p: *mut Handle) -> Value {
        // SAFETY: the caller says so.
        unsafe {
            match self.boxed(p) {
                Some(v) => v,
                None => self.settled(p).clone(),
            }
        }
    }

    /// What becomes of a handle without owners.
    fn recycle(&mut self, p: *mut Handle, h: &mut Handle) {
        if let (false, Value::Array(rc)) = (h.stale, &mut h.value) {
            if let Some(Buf::F64(v)) = Rc::get_mut(rc).map(|a| a.buf_mut()) {
                let class = class(v.capacity());
                if class < CLASSES && v.capacity() == SMALLEST << class && self.keep(p, class) {
                    h.data = v.as_mut_ptr().cast();
                    (h.stale, h.class) = (true, class as u8);
                    return;
                }
            }
        }
        h.stale = false;
        h.value = Value::Unit;
        self.free.push(p);
    }

    /// The value of a handle that loses an owner.
    ///
    /// # Safety
    /// `p` is a handle of this pool with an owner, and no reference to it is alive.
    pub unsafe fn unwrap(&mut self, p: *mut Handle) -> Value {
        if p == self.absent {
            return Value::Zero;
        }
        // SAFETY: the caller says so.
        if let Some(v) = unsafe { self.boxed(p) } {
            // SAFETY: the same.
            unsafe { self.release(p) };
            return v;
        }
        // SAFETY: the same.
        let h = unsafe {
            self.settled(p);
            &mut *p
        };
        h.rc -= 1;
        if h.rc > 0 {
            h.owned = 0;
            return h.value.clone();
        }
        let shape = std::mem::replace(&mut h.shape, std::ptr::null_mut());
        if !shape.is_null() {
            // SAFETY: the handle had an owner of it.
            unsafe { self.release(shape) };
        }
        self.free.push(p);
        std::mem::take(&mut h.value)
    }
}
