//! Quick ways of operations on flat arrays of Floats (those that only move elements, on Ints too): what native code calls before the interpreter's operation.
//!
//! A quick way applies where all arrays are there and fit; otherwise it changes nothing and says so, and the slow way answers. The
//! arithmetic is the interpreter's own, element by element in the same order, so results are the same bits. Small buffers come from the
//! run's pool.

mod moved;

use crate::handle::{AXES, Expect, Handle};
use crate::runtime::Ctx;
use adl_interp::ops::kernels::{self, Factor};
use adl_interp::value::{Buf, Value};
use adl_ir::Terms;
use adl_prim::{Bin, Un};

/// Words that a quick operation is given.
pub(crate) const WORDS: usize = 5;

/// An operation. Operands are those of the IR operation, in its order.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Fast {
    /// Two arrays of one shape.
    Zip(Bin),
    /// An array and a number.
    Right(Bin),
    /// A number and an array.
    Left(Bin),
    /// Each element.
    Map(Un),
    /// `a[i]`, an array.
    Row,
    /// `a[i]` of an array of boxes; of data, with the number of their type.
    Unbox(Option<u32>),
    /// `a[lo:hi]`.
    Slice,
    /// `n` copies of a number.
    Fill,
    /// All extents.
    Shape,
    /// `acc` with a row added.
    AddRow,
    /// `acc` with a row replaced.
    SetRow,
    /// `acc` with a part added.
    AddSlice,
    /// A product of matrices or a matrix and a vector.
    MatMul,
    Contract(Terms, [bool; 2]),
    /// Each element with each.
    Outer,
    /// An array, which may be absent, with such products added.
    AddOuter,
    /// One vector behind another.
    Concat,
    /// The first two axes exchanged.
    Transpose,
    /// `n` copies of an array.
    Copies,
    /// So many arrays as the elements of one.
    Stack(u8),
}

/// An operation at a place.
pub(crate) struct Quick {
    pub what: Fast,
    /// Operands that lose an owner: bits.
    pub takes: u32,
    /// What the result is.
    pub expect: Expect,
}

/// A live array.
#[derive(Clone, Copy)]
pub(crate) struct Floats {
    pub handle: *mut Handle,
    pub data: *mut f64,
    dims: [i64; AXES],
    rank: usize,
    pub len: usize,
    /// Whether it has no other reader, so that it may be changed.
    pub alone: bool,
}

impl Floats {
    /// # Safety
    /// `word` is a live handle.
    pub unsafe fn of(word: u64) -> Option<Floats> {
        let handle = word as *mut Handle;
        // SAFETY: the caller says so; no reference to it is alive.
        let h = unsafe { &*handle };
        if h.data.is_null() || !h.expect.is_numbers() {
            return None;
        }
        let rank = h.expect.rank();
        let len = h.dims[..rank].iter().product::<i64>() as usize;
        Some(Floats { handle, data: h.data.cast(), dims: h.dims, rank, len, alone: h.rc == 1 && h.owned == 1 })
    }

    pub fn dims(&self) -> &[i64] {
        &self.dims[..self.rank]
    }

    /// Elements of one element of the first axis.
    fn row(&self) -> usize {
        self.dims[1..self.rank].iter().product::<i64>() as usize
    }

    /// # Safety
    /// The array lives and is not changed for as long as the slice is used.
    pub unsafe fn slice(&self) -> &[f64] {
        // SAFETY: the handle's invariant: so many elements lie there.
        unsafe { std::slice::from_raw_parts(self.data, self.len) }
    }
}

struct Run<'a> {
    ctx: &'a mut Ctx,
    quick: &'a Quick,
    words: [u64; WORDS],
}

/// Multiplications of a product of matrices that the interpreter does.
const LARGE_PRODUCT: i64 = 1 << 24;

impl Run<'_> {
    fn takes(&self, i: usize) -> bool {
        self.quick.takes >> i & 1 == 1
    }

    fn array(&self, i: usize) -> Option<Floats> {
        // SAFETY: native code passes live handles where the operation has arrays.
        unsafe { Floats::of(self.words[i]) }
    }

    /// An index in bounds.
    fn place(&self, i: usize, extent: i64) -> Option<usize> {
        let k = self.words[i] as i64;
        (0 <= k && k < extent).then_some(k as usize)
    }

    /// A new array.
    fn fresh(&mut self, dims: &[i64]) -> Option<Floats> {
        let h = self.ctx.pool.floats(dims, self.quick.expect)?;
        // SAFETY: the handle is new.
        unsafe { Floats::of(h as u64) }
    }

    /// Where a result of `a`'s shape goes: `a` itself if it may be changed.
    fn target(&mut self, at: usize, a: &Floats) -> Option<Floats> {
        if self.takes(at) && a.alone { Some(*a) } else { self.fresh(a.dims()) }
    }

    /// Takes owners away, but not of what has become the result.
    fn done(&mut self, result: *mut Handle) -> *mut Handle {
        let mut kept = false;
        for i in 0..WORDS {
            if self.takes(i) {
                let h = self.words[i] as *mut Handle;
                if h == result && !kept {
                    kept = true;
                } else {
                    // SAFETY: native code says that the operand loses an owner here.
                    unsafe { self.ctx.pool.release(h) };
                }
            }
        }
        result
    }

    /// `None` where the quick way does not apply.
    fn run(&mut self) -> Option<*mut Handle> {
        let out = match self.quick.what {
            Fast::Zip(op) => self.zip(op)?,
            Fast::Right(op) => self.with_number(0, 1, |x, c| op.eval(x, c), op)?,
            Fast::Left(op) => self.with_number(1, 0, |x, c| op.eval(c, x), op)?,
            Fast::Map(op) => self.map(op)?,
            Fast::Row => self.part(|r, a| Some((r.place(1, a.dims[0])?, None)))?,
            Fast::Slice => self.part(Run::range)?,
            Fast::Unbox(data) => self.unbox(data)?,
            Fast::Fill => self.fill()?,
            Fast::Shape => self.shape()?,
            Fast::AddRow => self.change(2, |r, a| Some((r.place(1, a.dims[0])?, a.row())), |d, s| *d += s)?,
            Fast::SetRow => self.change(2, |r, a| Some((r.place(1, a.dims[0])?, a.row())), |d, s| *d = s)?,
            Fast::AddSlice => self.change(3, |r, a| Some((r.range(a)?.0, r.length(3)? * a.row())), |d, s| *d += s)?,
            Fast::MatMul => self.matmul()?,
            Fast::Contract(terms, turned) => self.contract(terms, turned)?,
            Fast::Outer => self.outer(0)?,
            Fast::AddOuter => self.add_outer()?,
            Fast::Concat => self.concat()?,
            Fast::Transpose => self.transpose()?,
            Fast::Copies => self.copies()?,
            Fast::Stack(n) => self.stack(usize::from(n))?,
        };
        Some(self.done(out))
    }

    fn length(&self, i: usize) -> Option<usize> {
        Some(self.array(i)?.dims[0] as usize)
    }

    fn zip(&mut self, op: Bin) -> Option<*mut Handle> {
        let (x, y) = (self.array(0)?, self.array(1)?);
        if x.dims() != y.dims() {
            return None;
        }
        let to = if !(self.takes(0) && x.alone) && self.takes(1) && y.alone { y } else { self.target(0, &x)? };
        macro_rules! each {
            ($f:expr) => {
                for i in 0..x.len {
                    // SAFETY: all three have so many elements; the target may be one of the operands, each element of which is read
                    // before it is written.
                    unsafe { *to.data.add(i) = $f(*x.data.add(i), *y.data.add(i)) };
                }
            };
        }
        match op {
            Bin::Add => each!(|a: f64, b: f64| a + b),
            Bin::Sub => each!(|a: f64, b: f64| a - b),
            Bin::Mul => each!(|a: f64, b: f64| a * b),
            Bin::Div => each!(|a: f64, b: f64| a / b),
            Bin::Scale => each!(|a: f64, b: f64| Bin::Scale.eval(a, b)),
            op => each!(|a: f64, b: f64| op.eval(a, b)),
        }
        Some(to.handle)
    }

    fn with_number(&mut self, array: usize, number: usize, f: impl Fn(f64, f64) -> f64, op: Bin) -> Option<*mut Handle> {
        let (x, c) = (self.array(array)?, f64::from_bits(self.words[number]));
        let to = self.target(array, &x)?;
        macro_rules! each {
            ($f:expr) => {
                for i in 0..x.len {
                    // SAFETY: as in `zip`.
                    unsafe { *to.data.add(i) = $f(*x.data.add(i)) };
                }
            };
        }
        match op {
            Bin::Add => each!(|a: f64| a + c),
            Bin::Mul => each!(|a: f64| a * c),
            Bin::Sub if array == 0 => each!(|a: f64| a - c),
            Bin::Sub => each!(|a: f64| c - a),
            Bin::Scale if array == 0 => each!(|a: f64| Bin::Scale.eval(a, c)),
            Bin::Scale => each!(|a: f64| Bin::Scale.eval(c, a)),
            _ => each!(|a: f64| f(a, c)),
        }
        Some(to.handle)
    }

    fn map(&mut self, op: Un) -> Option<*mut Handle> {
        let x = self.array(0)?;
        let to = self.target(0, &x)?;
        if to.data != x.data {
            // SAFETY: both have so many elements, and the target is new.
            unsafe { crate::moves::copy(x.data, to.data, x.len) };
        }
        // SAFETY: so many elements have been written there, and they have no other reader.
        kernels::map(op, unsafe { std::slice::from_raw_parts_mut(to.data, x.len) });
        Some(to.handle)
    }

    /// The bounds of a slice: where it begins, and how many.
    fn range(&self, a: &Floats) -> Option<(usize, Option<usize>)> {
        let (lo, hi) = (self.words[1] as i64, self.words[2] as i64);
        (0 <= lo && lo <= hi && hi <= a.dims[0]).then_some((lo as usize, Some((hi - lo) as usize)))
    }

    /// A copy of some elements of the first axis, or of one.
    fn part(&mut self, bounds: impl Fn(&Self, &Floats) -> Option<(usize, Option<usize>)>) -> Option<*mut Handle> {
        let a = self.array(0)?;
        let (lo, n) = bounds(self, &a)?;
        let row = a.row();
        if n == Some(a.dims[0] as usize) {
            // SAFETY: the operand is a live handle, to which no reference is alive. Who shares an array with a result is not its only owner.
            unsafe { (*a.handle).rc += 1 };
            return Some(a.handle);
        }
        let to = match n {
            None => self.fresh(&a.dims()[1..])?,
            Some(n) => {
                let mut dims = a.dims;
                dims[0] = n as i64;
                self.fresh(&dims[..a.rank])?
            }
        };
        // SAFETY: the bounds are in `a`, and the target is new and as large as the part.
        unsafe { crate::moves::copy(a.data.add(lo * row), to.data, n.unwrap_or(1) * row) };
        Some(to.handle)
    }

    fn unbox(&mut self, data: Option<u32>) -> Option<*mut Handle> {
        // SAFETY: native code passes a live handle; no reference to it is alive.
        let h = unsafe { &*(self.words[0] as *const Handle) };
        if h.expect.boxes() > 0 && !h.data.is_null() {
            return self.packed(h);
        }
        if h.expect == Expect::CELLS && !h.data.is_null() {
            let at = self.place(1, h.dims[0])?;
            // SAFETY: so many cells lie there, and live.
            unsafe {
                let c = *h.data.cast::<*mut crate::cells::Cell>().add(at);
                (*c).rc += 1;
                return Some(c.cast());
            }
        }
        if let Some((at, n)) = h.ragged_row(self.words[1]) {
            let to = self.ctx.pool.floats(&[n], self.quick.expect)?;
            // SAFETY: so many numbers lie there, and the target is new and as large.
            unsafe { crate::moves::copy(at, (*to).data.cast(), n as usize) };
            return Some(to);
        }
        let v = {
            // SAFETY: native code passes a live handle; no other reference to it is alive.
            let Value::Array(a) = (unsafe { &(*(self.words[0] as *const Handle)).value }) else { return None };
            let Buf::Boxed(v) = a.buf() else { return None };
            match v.get(usize::try_from(self.words[1] as i64).ok()?)? {
                v @ (Value::Array(_) | Value::Data(_) | Value::Zero) => v.clone(),
                _ => return None,
            }
        };
        match data {
            Some(d) => self.ctx.pool.word(crate::runtime::Kind::Data(d), v).map(|w| w as *mut Handle),
            None => Some(self.ctx.pool.wrap(v, self.quick.expect)),
        }
    }

    /// A row of a packed array.
    fn packed(&mut self, h: &Handle) -> Option<*mut Handle> {
        let (at, dims) = (self.place(1, h.dims[0])?, &h.dims[1..h.expect.rank()]);
        let n = dims.iter().product::<i64>() as usize;
        let to = self.ctx.pool.floats(dims, self.quick.expect)?;
        // SAFETY: the index is in bounds, and the target is new and as large as the row.
        unsafe { crate::moves::copy(h.data.cast::<f64>().add(at * n), (*to).data.cast(), n) };
        Some(to)
    }

    fn fill(&mut self) -> Option<*mut Handle> {
        let (n, x) = (self.words[0] as i64, f64::from_bits(self.words[1]));
        let to = self.fresh(&[n])?;
        for i in 0..to.len {
            // SAFETY: the array is new and has so many elements.
            unsafe { *to.data.add(i) = x };
        }
        Some(to.handle)
    }

    fn shape(&mut self) -> Option<*mut Handle> {
        let a = self.array(0)?;
        // SAFETY: the operand is a live handle; the new array has so many elements. What is said once is kept with the operand.
        unsafe {
            if (*a.handle).shape.is_null() {
                let to = self.ctx.pool.floats(&[a.rank as i64], Expect::INTS)?;
                std::ptr::copy_nonoverlapping(a.dims.as_ptr(), (*to).data.cast(), a.rank);
                (*a.handle).shape = to;
            }
            (*(*a.handle).shape).rc += 1;
            Some((*a.handle).shape)
        }
    }

    /// An array changed in place by the one at `from`. `at`: the element of the first axis where that begins, and how many numbers.
    fn change(&mut self, from: usize, at: impl Fn(&Self, &Floats) -> Option<(usize, usize)>, f: impl Fn(&mut f64, f64)) -> Option<*mut Handle> {
        let (acc, v) = (self.array(0)?, self.array(from)?);
        let (lo, n) = at(self, &acc)?;
        let start = lo * acc.row();
        if !(self.takes(0) && acc.alone) || v.len != n || start + n > acc.len {
            return None;
        }
        for i in 0..n {
            // SAFETY: in bounds of both; they are different arrays, since `acc` has no other owner.
            unsafe { f(&mut *acc.data.add(start + i), *v.data.add(i)) };
        }
        Some(acc.handle)
    }

    fn concat(&mut self) -> Option<*mut Handle> {
        let (a, b) = (self.array(0)?, self.array(1)?);
        let to = self.fresh(&[a.dims[0].checked_add(b.dims[0])?])?;
        // SAFETY: the target is new and has room for both.
        unsafe {
            crate::moves::copy(a.data, to.data, a.len);
            crate::moves::copy(b.data, to.data.add(a.len), b.len);
        }
        Some(to.handle)
    }

    /// The products of the elements of two vectors, which are operands from `at` on.
    fn outer(&mut self, at: usize) -> Option<*mut Handle> {
        let (x, y) = (self.array(at)?, self.array(at + 1)?);
        let large = x.dims[0].saturating_mul(y.dims[0]) > LARGE_PRODUCT;
        if x.rank != 1 || y.rank != 1 || large {
            return None;
        }
        let to = self.fresh(&[x.dims[0], y.dims[0]])?;
        // SAFETY: the target is new; all its elements are written before they are read.
        let out = unsafe {
            std::ptr::write_bytes(to.data, 0, to.len);
            std::slice::from_raw_parts_mut(to.data, to.len)
        };
        // SAFETY: operands live until `done`.
        unsafe { kernels::outer(x.slice(), y.slice(), out, false) };
        Some(to.handle)
    }

    fn add_outer(&mut self) -> Option<*mut Handle> {
        if self.words[0] as *mut Handle == self.ctx.pool.absent {
            return self.outer(1);
        }
        let (acc, x, y) = (self.array(0)?, self.array(1)?, self.array(2)?);
        if x.rank != 1 || y.rank != 1 || acc.dims() != [x.dims[0], y.dims[0]] || !(self.takes(0) && acc.alone) {
            return None;
        }
        // SAFETY: the array has no other owner, so that the vectors are others; all live until `done`.
        unsafe { kernels::outer(x.slice(), y.slice(), std::slice::from_raw_parts_mut(acc.data, acc.len), true) };
        Some(acc.handle)
    }

    fn contract(&mut self, terms: Terms, turned: [bool; 2]) -> Option<*mut Handle> {
        let (a, b) = (self.array(0)?, self.array(1)?);
        let [n, m, k] = [2, 3, 4].map(|i| self.words[i] as i64);
        if [n, m, k].iter().any(|n| *n < 0) || n.saturating_mul(m).saturating_mul(k) > LARGE_PRODUCT {
            return None;
        }
        let dims = [n, m];
        let [n, m, k] = [n, m, k].map(|n| n as usize);
        let shape = |a: &Floats| a.dims().iter().map(|n| *n as usize).collect::<Vec<_>>();
        // SAFETY: operands live until `done`.
        let (x, y) = unsafe { (a.slice(), b.slice()) };
        let x = Factor::of(x, &shape(&a), turned[0], (n, k))?;
        let y = Factor::of(y, &shape(&b), turned[1], (m, k))?;
        let to = self.fresh(if a.rank == 1 { &dims[1..] } else { &dims })?;
        // SAFETY: the target is new; all its elements are written below before they are read.
        let out = unsafe {
            std::ptr::write_bytes(to.data, 0, to.len);
            std::slice::from_raw_parts_mut(to.data, to.len)
        };
        kernels::contract_by(terms, x, y, (n, m, k), out);
        Some(to.handle)
    }

    fn matmul(&mut self) -> Option<*mut Handle> {
        let (a, b) = (self.array(0)?, self.array(1)?);
        let (n, k) = if a.rank == 1 { (1, a.dims[0]) } else { (a.dims[0], a.dims[1]) };
        // Further axes of the right operand stand for columns.
        let (k2, c) = (b.dims[0], b.row() as i64);
        // Large ones are done by all threads, and may be interrupted.
        let large = n.saturating_mul(k).saturating_mul(c) > LARGE_PRODUCT;
        if k != k2 || a.rank > 2 || a.rank + b.rank < 3 || large {
            return None;
        }
        let (left, right) = (&a.dims()[..a.rank - 1], &b.dims()[1..]);
        let (mut dims, rank) = ([0; AXES], left.len() + right.len());
        dims.iter_mut().zip(left.iter().chain(right)).for_each(|(d, n)| *d = *n);
        let dims = dims.get(..rank)?;
        let to = self.fresh(dims)?;
        // SAFETY: the target is new; operands live until `done`. All its elements are written below before they are read.
        let out = unsafe {
            std::ptr::write_bytes(to.data, 0, to.len);
            std::slice::from_raw_parts_mut(to.data, to.len)
        };
        // SAFETY: the same.
        unsafe { kernels::multiply(a.slice(), b.slice(), (n as usize, k as usize, c as usize), out) };
        Some(to.handle)
    }
}

/// Does a quick operation: its result, or null if the quick way does not apply.
pub(crate) unsafe fn quick(ctx: *mut Ctx, id: u64, a: u64, b: u64, c: u64, d: u64, e: u64) -> *mut Handle {
    // SAFETY: native code passes the context that it was given, and operands of the operation's kinds.
    let ctx = unsafe { &mut *ctx };
    let Some(quick) = ctx.tables().quick.get(id as usize) else { return std::ptr::null_mut() };
    Run { ctx, quick, words: [a, b, c, d, e] }.run().unwrap_or(std::ptr::null_mut())
}

/// The inner product of `n` Floats each.
pub(crate) unsafe fn dot(a: *const f64, b: *const f64, n: usize) -> f64 {
    // SAFETY: native code has checked that so many are there.
    unsafe { kernels::dot(std::slice::from_raw_parts(a, n), std::slice::from_raw_parts(b, n)) }
}

/// The sum of `n` Floats.
pub(crate) unsafe fn total(a: *const f64, n: usize) -> f64 {
    // SAFETY: native code has checked that so many are there.
    unsafe { kernels::sum(std::slice::from_raw_parts(a, n)) }
}

/// The sum of `n` Floats whose chunks have been added up: every `step`-th number is the sum of one.
pub(crate) unsafe fn of_chunks(parts: *const f64, step: usize, n: usize) -> f64 {
    // SAFETY: native code has written the sums of all chunks.
    kernels::of_chunks(n, &|k| unsafe { *parts.add(k * step) })
}
