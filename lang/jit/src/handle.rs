//! Handles: how native code sees values that are no scalars.
//!
//! A handle counts its owners and holds one value. Of a flat array it also says where the elements are and how many, so that native code
//! reads and writes them without asking. No elements are copied on the way in or out.
//!
//! Invariants
//! - A handle with no owners is in the pool's list of free ones and holds `()`, or in a list of spare buffers and holds an array.
//! - `data` is null, and all extents are 0, unless the value is an array of the kind and rank that the code expects: every bounds check
//!   then fails, and the slow way answers.
//! - `owned` is 1 only if the handle's value is the only reference to its array: then, with one owner, elements may be written.
//! - Handles do not move. They are freed with their pool at the end of the run, which is what becomes of them after an error.

use adl_interp::value::{Array, Buf, Value, array};
use adl_ir::Ty;
use std::rc::Rc;

/// Axes whose extents a handle says.
pub(crate) const AXES: usize = 4;

/// Owners that the handle of absent values begins with: it is never freed.
const IMMORTAL: i64 = 1 << 40;

/// What native code expects a value to be: 0, or the kind of elements and the rank of a flat array.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Expect(pub u8);

impl Expect {
    /// Of a type.
    pub fn of(ty: &Ty) -> Expect {
        let Ty::Array(e, r) = ty else { return Expect(0) };
        let kind = match **e {
            Ty::F64 => 1,
            Ty::F32 => 2,
            Ty::I64 => 3,
            Ty::Bool => 4,
            Ty::Str | Ty::Array(..) | Ty::Data(_) => return Expect(0),
        };
        if *r as usize <= AXES { Expect(kind * 8 + *r as u8) } else { Expect(0) }
    }

    /// Axes; 0 if it is no flat array.
    pub fn rank(self) -> usize {
        usize::from(self.0 % 8)
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
}

/// Offsets for the code generator.
pub(crate) mod offset {
    use super::Handle;
    pub const RC: i32 = std::mem::offset_of!(Handle, rc) as i32;
    pub const DATA: i32 = std::mem::offset_of!(Handle, data) as i32;
    pub const OWNED: i32 = std::mem::offset_of!(Handle, owned) as i32;
    pub const DIMS: i32 = std::mem::offset_of!(Handle, dims) as i32;
}

/// Where the elements of a flat buffer are, if it is of the expected kind. Elements of an array with one reference may be written there.
fn elements(b: &mut Buf, e: Expect) -> Option<*mut u8> {
    match (b, e.0 / 8) {
        (Buf::F64(v), 1) => Some(v.as_mut_ptr().cast()),
        (Buf::F32(v), 2) => Some(v.as_mut_ptr().cast()),
        (Buf::I64(v), 3) => Some(v.as_mut_ptr().cast()),
        (Buf::Bool(v), 4) => Some(v.as_mut_ptr().cast()),
        _ => None,
    }
}

/// The same for elements that are only read.
fn read_elements(b: &Buf, e: Expect) -> Option<*mut u8> {
    match (b, e.0 / 8) {
        (Buf::F64(v), 1) => Some(v.as_ptr().cast_mut().cast()),
        (Buf::F32(v), 2) => Some(v.as_ptr().cast_mut().cast()),
        (Buf::I64(v), 3) => Some(v.as_ptr().cast_mut().cast()),
        (Buf::Bool(v), 4) => Some(v.as_ptr().cast_mut().cast()),
        _ => None,
    }
}

fn place(rc: &mut Rc<Array>, e: Expect) -> (Option<*mut u8>, bool) {
    match Rc::get_mut(rc) {
        Some(a) => (elements(&mut a.buf, e), true),
        None => (read_elements(&rc.buf, e), false),
    }
}

impl Handle {
    fn empty() -> Handle {
        Handle { rc: 0, data: std::ptr::null_mut(), owned: 0, dims: [0; AXES], value: Value::Unit, expect: Expect(0) }
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
                // SAFETY: native code has written `len` elements, all within the capacity that it was told.
                unsafe { $v.set_len(len.min($v.capacity())) };
                // Without room for more the next push asks again and then fails on its own.
                let _ = $v.try_reserve(more);
                self.data = $v.as_mut_ptr().cast();
                self.owned = $v.capacity() as i64;
            }};
        }
        match &mut a.buf {
            Buf::F64(v) => grow!(v),
            Buf::F32(v) => grow!(v),
            Buf::I64(v) => grow!(v),
            Buf::Bool(v) => grow!(v),
            Buf::Unit | Buf::Boxed(_) | Buf::Tuple(_) | Buf::Record(..) => {}
        }
    }
}

/// Floats in the smallest buffers that are kept for later arrays; each class is twice as large as the one before.
const SMALLEST: usize = 8;

/// Classes of buffers that are kept.
const CLASSES: usize = 10;

/// Buffers of a class that are kept.
const SPARE: usize = 64;

/// The class of buffers with room for so many Floats.
fn class(n: usize) -> usize {
    n.div_ceil(SMALLEST).next_power_of_two().trailing_zeros() as usize
}

/// Handles in a block of the pool.
const BLOCK: usize = 32;

/// All handles of a run.
pub(crate) struct Pool {
    blocks: Vec<Box<[Handle]>>,
    free: Vec<*mut Handle>,
    /// Handles without owners that hold an array of Floats, by the room in it.
    spare: [Vec<*mut Handle>; CLASSES],
    /// The handle of absent values.
    pub absent: *mut Handle,
}

impl Pool {
    pub fn new() -> Pool {
        let mut p = Pool { blocks: Vec::new(), free: Vec::new(), spare: Default::default(), absent: std::ptr::null_mut() };
        p.absent = p.take();
        // SAFETY: `take` gives a live handle of this pool that nobody else refers to.
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
        h.refresh();
        p
    }

    /// A new array of Floats, whose elements are still to be written: at least one axis. `None` if it is too large to be taken from here.
    pub fn floats(&mut self, dims: &[i64], expect: Expect) -> Option<*mut Handle> {
        let n = dims.iter().try_fold(1usize, |n, d| n.checked_mul(usize::try_from(*d).ok()?))?;
        if dims.is_empty() || dims.len() != expect.rank() || !expect.is_floats() {
            return None;
        }
        let class = class(n);
        let old = self.spare.get_mut(class).and_then(Vec::pop);
        let p = match old {
            Some(p) => p,
            None => {
                let room = if class < CLASSES { SMALLEST << class } else { n };
                let buf = array::room::<f64>(room).ok()?;
                self.wrap(array::make(Default::default(), Buf::F64(buf)), Expect(0))
            }
        };
        // SAFETY: the handle is new or has no owners.
        let h = unsafe { &mut *p };
        let Value::Array(rc) = &mut h.value else { return None };
        let a = Rc::get_mut(rc)?;
        a.shape = dims.iter().map(|d| *d as usize).collect();
        let Buf::F64(v) = &mut a.buf else { return None };
        // SAFETY: there is room for `n`; whoever asks for the array writes all elements before they are read.
        unsafe { v.set_len(n) };
        (h.rc, h.data, h.owned, h.expect) = (1, v.as_mut_ptr().cast(), 1, expect);
        h.dims = [0; AXES];
        h.dims[..dims.len()].copy_from_slice(dims);
        Some(p)
    }

    /// Takes an owner of a handle away. A small array that nobody else holds is kept for later ones.
    ///
    /// # Safety
    /// `p` is a handle of this pool with an owner, and no reference to it is alive.
    pub unsafe fn release(&mut self, p: *mut Handle) {
        // SAFETY: the caller says so.
        let h = unsafe { &mut *p };
        h.rc -= 1;
        if h.rc > 0 {
            return;
        }
        if let Value::Array(rc) = &mut h.value {
            if let Some(Buf::F64(v)) = Rc::get_mut(rc).map(|a| &mut a.buf) {
                let class = class(v.capacity());
                let fits = class < CLASSES && v.capacity() == SMALLEST << class;
                if let Some(spare) = self.spare.get_mut(class).filter(|s| fits && s.len() < SPARE) {
                    spare.push(p);
                    return;
                }
            }
        }
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
        let h = unsafe { &mut *p };
        h.rc -= 1;
        if h.rc > 0 {
            h.owned = 0;
            return h.value.clone();
        }
        self.free.push(p);
        std::mem::take(&mut h.value)
    }
}
