//! Implements fast paths of operations on flat Float arrays (those that only move elements: also Int arrays), which
//! native code tries before the interpreter's operation.
//!
//! A fast path applies if all arrays are materialised and their shapes fit. Otherwise it has no effect and returns
//! null, and the slow path runs. The arithmetic uses the interpreter's kernels, element by element in the same order,
//! so that results are bit-identical. Small buffers come from the run's pool.

mod rearrange;

use crate::handle::{AXES, Handle, ValueForm};
use crate::limits::fast_paths::LARGE_PRODUCT;
use crate::runtime::Ctx;
use adl_interp::ops::kernels::{self, Factor};
use adl_interp::value::{Buf, Value};
use adl_ir::Terms;
use adl_prim::{Bin, Un};

/// The number of operand words of a fast operation.
pub(crate) const WORDS: usize = 5;

/// A fast operation. Operands are those of the IR operation, in its order.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum FastOp {
    /// Elementwise, on two arrays of one shape.
    Zip(Bin),
    /// Elementwise, on an array and a scalar.
    Right(Bin),
    /// Elementwise, on a scalar and an array.
    Left(Bin),
    /// Elementwise, on one array.
    Map(Un),
    /// `a[i]` where the element is an array.
    Row,
    /// `a[i]` of an array of boxes; for data, with the number of their declared type.
    Unbox(Option<u32>),
    /// `a[lo:hi]`.
    Slice,
    /// `n` copies of a scalar.
    Fill,
    /// The array of all extents.
    Shape,
    /// `acc` with an array added to one row.
    AddRow,
    /// `acc` with one row replaced.
    SetRow,
    /// `acc` with an array added to a slice.
    AddSlice,
    /// A product of two matrices, or of a matrix and a vector.
    MatMul,
    Contract(Terms, [bool; 2]),
    /// The outer product of two vectors.
    Outer,
    /// An array, possibly a symbolic zero, plus an outer product.
    AddOuter,
    /// The concatenation of two vectors.
    Concat,
    /// A transposition of the first two axes.
    Transpose,
    /// `n` copies of an array.
    Copies,
    /// An array literal of that many arrays.
    Stack(u8),
}

/// A fast operation at one place of the code.
pub(crate) struct FastOpSite {
    pub what: FastOp,
    /// A bit mask of the operands that are consumed.
    pub takes: u32,
    /// The expected form of the result.
    pub expect: ValueForm,
}

/// A flat array behind a live handle.
#[derive(Clone, Copy)]
pub(crate) struct Floats {
    pub handle: *mut Handle,
    pub data: *mut f64,
    dims: [i64; AXES],
    rank: usize,
    pub len: usize,
    /// Whether this is the only reference, so that the array may be written.
    pub alone: bool,
}

impl Floats {
    /// # Safety
    /// `word` is a pointer to a live handle, and no mutable reference to it exists.
    pub unsafe fn of(word: u64) -> Option<Floats> {
        let handle = word as *mut Handle;
        // SAFETY: by this function's contract, the handle is live and not mutably borrowed.
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

    /// The number of scalars in one element of the first axis.
    pub fn row(&self) -> usize {
        self.dims[1..self.rank].iter().product::<i64>() as usize
    }

    /// # Safety
    /// The array is live and not written while the slice is used.
    pub unsafe fn slice(&self) -> &[f64] {
        // SAFETY: by this function's contract, the array is live, and by the handle's invariant `data` holds `len`
        // elements.
        unsafe { std::slice::from_raw_parts(self.data, self.len) }
    }
}

struct FastOpCall<'a> {
    ctx: &'a mut Ctx,
    quick: &'a FastOpSite,
    words: [u64; WORDS],
}

impl FastOpCall<'_> {
    fn takes(&self, i: usize) -> bool {
        self.quick.takes >> i & 1 == 1
    }

    fn array(&self, i: usize) -> Option<Floats> {
        // SAFETY: native code passes live handles for the array operands of the operation.
        unsafe { Floats::of(self.words[i]) }
    }

    /// An operand as an index; `None` if it is out of bounds.
    fn place(&self, i: usize, extent: i64) -> Option<usize> {
        let k = self.words[i] as i64;
        (0 <= k && k < extent).then_some(k as usize)
    }

    /// A new, uninitialised array.
    fn fresh(&mut self, dims: &[i64]) -> Option<Floats> {
        let h = self.ctx.pool.floats(dims, self.quick.expect)?;
        // SAFETY: the handle was just created, so no other reference to it exists.
        unsafe { Floats::of(h as u64) }
    }

    /// The destination of a result with the shape of `a`: `a` itself if it may be written.
    fn target(&mut self, at: usize, a: &Floats) -> Option<Floats> {
        if self.takes(at) && a.alone { Some(*a) } else { self.fresh(a.dims()) }
    }

    /// Releases the consumed operands, except one reference to a handle that became the result.
    fn done(&mut self, result: *mut Handle) -> *mut Handle {
        let mut kept = false;
        for i in 0..WORDS {
            if self.takes(i) {
                let h = self.words[i] as *mut Handle;
                if h == result && !kept {
                    kept = true;
                } else {
                    // SAFETY: native code passes a live handle and gives up one reference to it.
                    unsafe { self.ctx.pool.release(h) };
                }
            }
        }
        result
    }

    /// Runs the operation. `None` if the fast path does not apply.
    fn run(&mut self) -> Option<*mut Handle> {
        let out = match self.quick.what {
            FastOp::Zip(op) => self.zip(op)?,
            FastOp::Right(op) => self.with_number(0, 1, |x, c| op.eval(x, c), op)?,
            FastOp::Left(op) => self.with_number(1, 0, |x, c| op.eval(c, x), op)?,
            FastOp::Map(op) => self.map(op)?,
            FastOp::Row => self.part(|r, a| Some((r.place(1, a.dims[0])?, None)))?,
            FastOp::Slice => self.part(FastOpCall::range)?,
            FastOp::Unbox(data) => self.unbox(data)?,
            FastOp::Fill => self.fill()?,
            FastOp::Shape => self.shape()?,
            FastOp::AddRow => self.change(2, |r, a| Some((r.place(1, a.dims[0])?, a.row())), |d, s| *d += s)?,
            FastOp::SetRow => self.change(2, |r, a| Some((r.place(1, a.dims[0])?, a.row())), |d, s| *d = s)?,
            FastOp::AddSlice => self.change(3, |r, a| Some((r.range(a)?.0, r.length(3)? * a.row())), |d, s| *d += s)?,
            FastOp::MatMul => self.matmul()?,
            FastOp::Contract(terms, turned) => self.contract(terms, turned)?,
            FastOp::Outer => self.outer(0)?,
            FastOp::AddOuter => self.add_outer()?,
            FastOp::Concat => self.concat()?,
            FastOp::Transpose => self.transpose()?,
            FastOp::Copies => self.copies()?,
            FastOp::Stack(n) => self.stack(usize::from(n))?,
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
                    // SAFETY: all three arrays have `x.len` elements. The target may be one of the operands; each of
                    // its elements is read before it is written.
                    unsafe { *to.data.add(i) = $f(*x.data.add(i), *y.data.add(i)) };
                }
            };
        }
        match op {
            Bin::Add => each!(|a: f64, b: f64| a + b),
            Bin::Sub => each!(|a: f64, b: f64| a - b),
            Bin::Mul => each!(|a: f64, b: f64| a * b),
            Bin::Div => each!(|a: f64, b: f64| a / b),
            Bin::ScaleTangent => each!(|a: f64, b: f64| Bin::ScaleTangent.eval(a, b)),
            op => each!(|a: f64, b: f64| op.eval(a, b)),
        }
        Some(to.handle)
    }

    fn with_number(
        &mut self,
        array: usize,
        number: usize,
        apply: impl Fn(f64, f64) -> f64,
        op: Bin,
    ) -> Option<*mut Handle> {
        let (x, constant) = (self.array(array)?, f64::from_bits(self.words[number]));
        let to = self.target(array, &x)?;
        macro_rules! each {
            ($f:expr) => {
                for i in 0..x.len {
                    // SAFETY: `x` and the target have `x.len` elements; if they are one array, each element is read
                    // before it is written.
                    unsafe { *to.data.add(i) = $f(*x.data.add(i)) };
                }
            };
        }
        match op {
            Bin::Add => each!(|a: f64| a + constant),
            Bin::Mul => each!(|a: f64| a * constant),
            Bin::Sub if array == 0 => each!(|a: f64| a - constant),
            Bin::Sub => each!(|a: f64| constant - a),
            Bin::ScaleTangent if array == 0 => each!(|a: f64| Bin::ScaleTangent.eval(a, constant)),
            Bin::ScaleTangent => each!(|a: f64| Bin::ScaleTangent.eval(constant, a)),
            _ => each!(|a: f64| apply(a, constant)),
        }
        Some(to.handle)
    }

    fn map(&mut self, op: Un) -> Option<*mut Handle> {
        let x = self.array(0)?;
        let to = self.target(0, &x)?;
        if to.data != x.data {
            // SAFETY: both arrays have `x.len` elements, and the target is a new array.
            unsafe { crate::copy_blocks::copy(x.data, to.data, x.len) };
        }
        // SAFETY: the target's `x.len` elements have been written, and this operation holds the only reference to it.
        kernels::map(op, unsafe { std::slice::from_raw_parts_mut(to.data, x.len) });
        Some(to.handle)
    }

    /// The bounds of a slice: its first index and its length.
    fn range(&self, a: &Floats) -> Option<(usize, Option<usize>)> {
        let (lo, hi) = (self.words[1] as i64, self.words[2] as i64);
        (0 <= lo && lo <= hi && hi <= a.dims[0]).then_some((lo as usize, Some((hi - lo) as usize)))
    }

    /// Copies one element (`None`), or a range of elements, of the first axis.
    fn part(&mut self, bounds: impl Fn(&Self, &Floats) -> Option<(usize, Option<usize>)>) -> Option<*mut Handle> {
        let array = self.array(0)?;
        let (lo, count) = bounds(self, &array)?;
        let row = array.row();
        if count == Some(array.dims[0] as usize) {
            // SAFETY: the operand is a live handle, and no reference to it exists.
            unsafe { (*array.handle).rc += 1 };
            return Some(array.handle);
        }
        let to = match count {
            None => self.fresh(&array.dims()[1..])?,
            Some(n) => {
                let mut dims = array.dims;
                dims[0] = n as i64;
                self.fresh(&dims[..array.rank])?
            }
        };
        // SAFETY: the bounds are within `array`; the target is a new array of the size of the slice.
        unsafe { crate::copy_blocks::copy(array.data.add(lo * row), to.data, count.unwrap_or(1) * row) };
        Some(to.handle)
    }

    fn unbox(&mut self, data: Option<u32>) -> Option<*mut Handle> {
        // SAFETY: native code passes a live handle, and no mutable reference to it exists.
        let handle = unsafe { &*(self.words[0] as *const Handle) };
        if handle.expect.boxes() > 0 && !handle.data.is_null() {
            return self.packed(handle);
        }
        if handle.expect == ValueForm::CELLS && !handle.data.is_null() {
            let at = self.place(1, handle.dims[0])?;
            // SAFETY: by the handle's invariant, `dims[0]` live cells are stored there.
            unsafe {
                let c = *handle.data.cast::<*mut crate::heap::HeapCell>().add(at);
                (*c).rc += 1;
                return Some(c.cast());
            }
        }
        if let Some((at, n)) = handle.ragged_row(self.words[1]) {
            let to = self.ctx.pool.floats(&[n], self.quick.expect)?;
            // SAFETY: `ragged_row` returned `n` Floats; the target is a new array of `n` elements.
            unsafe { crate::copy_blocks::copy(at, (*to).data.cast(), n as usize) };
            return Some(to);
        }
        let value = {
            // SAFETY: native code passes a live handle, and no mutable reference to it exists.
            let Value::Array(a) = (unsafe { &(*(self.words[0] as *const Handle)).value }) else { return None };
            let Buf::Boxed(v) = a.buf() else { return None };
            match v.get(usize::try_from(self.words[1] as i64).ok()?)? {
                v @ (Value::Array(_) | Value::Data(_) | Value::Zero) => v.clone(),
                _ => return None,
            }
        };
        match data {
            Some(d) => self.ctx.pool.word(crate::runtime::WordKind::Data(d), value).map(|w| w as *mut Handle),
            None => Some(self.ctx.pool.wrap(value, self.quick.expect)),
        }
    }

    /// Copies a row of a packed array.
    fn packed(&mut self, h: &Handle) -> Option<*mut Handle> {
        let (at, dims) = (self.place(1, h.dims[0])?, &h.dims[1..h.expect.rank()]);
        let n = dims.iter().product::<i64>() as usize;
        let to = self.ctx.pool.floats(dims, self.quick.expect)?;
        // SAFETY: the index is in bounds, and the target is a new array of the size of the row.
        unsafe { crate::copy_blocks::copy(h.data.cast::<f64>().add(at * n), (*to).data.cast(), n) };
        Some(to)
    }

    fn fill(&mut self) -> Option<*mut Handle> {
        let (n, x) = (self.words[0] as i64, f64::from_bits(self.words[1]));
        let to = self.fresh(&[n])?;
        for i in 0..to.len {
            // SAFETY: the target is a new array of `to.len` elements.
            unsafe { *to.data.add(i) = x };
        }
        Some(to.handle)
    }

    fn shape(&mut self) -> Option<*mut Handle> {
        let a = self.array(0)?;
        // SAFETY: the operand is a live handle, and the new array has `a.rank` elements. The result is cached in the
        // operand's handle.
        unsafe {
            if (*a.handle).shape.is_null() {
                let to = self.ctx.pool.floats(&[a.rank as i64], ValueForm::INTS)?;
                std::ptr::copy_nonoverlapping(a.dims.as_ptr(), (*to).data.cast(), a.rank);
                (*a.handle).shape = to;
            }
            (*(*a.handle).shape).rc += 1;
            Some((*a.handle).shape)
        }
    }

    /// Updates an array in place with the one at `from`. `at` computes the first element of the first axis to update,
    /// and the number of scalars.
    fn change(
        &mut self,
        from: usize,
        at: impl Fn(&Self, &Floats) -> Option<(usize, usize)>,
        update: impl Fn(&mut f64, f64),
    ) -> Option<*mut Handle> {
        let (acc, v) = (self.array(0)?, self.array(from)?);
        let (lo, n) = at(self, &acc)?;
        let start = lo * acc.row();
        if !(self.takes(0) && acc.alone) || v.len != n || start + n > acc.len {
            return None;
        }
        for i in 0..n {
            // SAFETY: both indices are in bounds. The arrays are distinct, because this operation holds the only
            // reference to `acc`.
            unsafe { update(&mut *acc.data.add(start + i), *v.data.add(i)) };
        }
        Some(acc.handle)
    }

    fn concat(&mut self) -> Option<*mut Handle> {
        let (a, b) = (self.array(0)?, self.array(1)?);
        let to = self.fresh(&[a.dims[0].checked_add(b.dims[0])?])?;
        // SAFETY: the target is a new array with room for both operands.
        unsafe {
            crate::copy_blocks::copy(a.data, to.data, a.len);
            crate::copy_blocks::copy(b.data, to.data.add(a.len), b.len);
        }
        Some(to.handle)
    }

    /// The outer product of the vectors that are operands `at` and `at + 1`.
    fn outer(&mut self, at: usize) -> Option<*mut Handle> {
        let (left, right) = (self.array(at)?, self.array(at + 1)?);
        let large = left.dims[0].saturating_mul(right.dims[0]) > LARGE_PRODUCT;
        if left.rank != 1 || right.rank != 1 || large {
            return None;
        }
        let to = self.fresh(&[left.dims[0], right.dims[0]])?;
        // SAFETY: the target is a new array of `to.len` elements, which are zeroed before the slice is made.
        let out = unsafe {
            std::ptr::write_bytes(to.data, 0, to.len);
            std::slice::from_raw_parts_mut(to.data, to.len)
        };
        // SAFETY: operands are live and unchanged until `done` releases them.
        unsafe { kernels::outer(left.slice(), right.slice(), out, false) };
        Some(to.handle)
    }

    fn add_outer(&mut self) -> Option<*mut Handle> {
        if self.words[0] as *mut Handle == self.ctx.pool.symbolic_zero {
            return self.outer(1);
        }
        let (acc, x, y) = (self.array(0)?, self.array(1)?, self.array(2)?);
        if x.rank != 1 || y.rank != 1 || acc.dims() != [x.dims[0], y.dims[0]] || !(self.takes(0) && acc.alone) {
            return None;
        }
        // SAFETY: this operation holds the only reference to the accumulator, so that it is distinct from the vectors;
        // all are live until `done`.
        unsafe { kernels::outer(x.slice(), y.slice(), std::slice::from_raw_parts_mut(acc.data, acc.len), true) };
        Some(acc.handle)
    }

    fn contract(&mut self, terms: Terms, turned: [bool; 2]) -> Option<*mut Handle> {
        let (left, right) = (self.array(0)?, self.array(1)?);
        let [n, m, k] = [2, 3, 4].map(|i| self.words[i] as i64);
        if [n, m, k].iter().any(|n| *n < 0) || n.saturating_mul(m).saturating_mul(k) > LARGE_PRODUCT {
            return None;
        }
        let dims = [n, m];
        let [rows, cols, inner] = [n, m, k].map(|n| n as usize);
        let shape = |a: &Floats| a.dims().iter().map(|n| *n as usize).collect::<Vec<_>>();
        // SAFETY: operands are live and unchanged until `done` releases them.
        let (x, y) = unsafe { (left.slice(), right.slice()) };
        let x = Factor::of(x, &shape(&left), turned[0], (rows, inner))?;
        let y = Factor::of(y, &shape(&right), turned[1], (cols, inner))?;
        let to = self.fresh(if left.rank == 1 { &dims[1..] } else { &dims })?;
        // SAFETY: the target is a new array of `to.len` elements, which are zeroed before the slice is made.
        let out = unsafe {
            std::ptr::write_bytes(to.data, 0, to.len);
            std::slice::from_raw_parts_mut(to.data, to.len)
        };
        kernels::contract_by(terms, x, y, (rows, cols, inner), out);
        Some(to.handle)
    }

    fn matmul(&mut self) -> Option<*mut Handle> {
        let (first, second) = (self.array(0)?, self.array(1)?);
        let (rows, inner) = if first.rank == 1 { (1, first.dims[0]) } else { (first.dims[0], first.dims[1]) };
        // Further axes of the right operand are treated as columns.
        let (k2, cols) = (second.dims[0], second.row() as i64);
        // The interpreter computes large products on all threads, and can interrupt them.
        let large = rows.saturating_mul(inner).saturating_mul(cols) > LARGE_PRODUCT;
        if inner != k2 || first.rank > 2 || first.rank + second.rank < 3 || large {
            return None;
        }
        let (left, right) = (&first.dims()[..first.rank - 1], &second.dims()[1..]);
        let (mut dims, rank) = ([0; AXES], left.len() + right.len());
        dims.iter_mut().zip(left.iter().chain(right)).for_each(|(d, n)| *d = *n);
        let dims = dims.get(..rank)?;
        let to = self.fresh(dims)?;
        // SAFETY: the target is a new array of `to.len` elements, which are zeroed before the slice is made.
        let out = unsafe {
            std::ptr::write_bytes(to.data, 0, to.len);
            std::slice::from_raw_parts_mut(to.data, to.len)
        };
        // SAFETY: operands are live and unchanged until `done` releases them.
        unsafe {
            kernels::multiply(first.slice(), second.slice(), (rows as usize, inner as usize, cols as usize), out);
        };
        Some(to.handle)
    }
}

/// Runs fast operation `id`. Returns its result, or null if the fast path does not apply.
pub(crate) unsafe fn quick(ctx: *mut Ctx, id: u64, a: u64, b: u64, c: u64, d: u64, e: u64) -> *mut Handle {
    // SAFETY: native code passes the live context of its run, to which no other reference exists, and operands of the
    // operation's kinds.
    let ctx = unsafe { &mut *ctx };
    let Some(quick) = ctx.tables().quick.get(id as usize) else { return std::ptr::null_mut() };
    FastOpCall { ctx, quick, words: [a, b, c, d, e] }.run().unwrap_or(std::ptr::null_mut())
}

/// The inner product of two vectors of `n` Floats.
pub(crate) unsafe fn dot(a: *const f64, b: *const f64, n: usize) -> f64 {
    // SAFETY: native code has checked that both vectors have `n` elements.
    unsafe { kernels::dot(std::slice::from_raw_parts(a, n), std::slice::from_raw_parts(b, n)) }
}

/// The sum of `n` Floats.
pub(crate) unsafe fn total(a: *const f64, n: usize) -> f64 {
    // SAFETY: native code has checked that the vector has `n` elements.
    unsafe { kernels::sum(std::slice::from_raw_parts(a, n)) }
}

/// The position of the first extremum of `n` Floats: of the smallest one if `less` is not 0.
pub(crate) unsafe fn extremum(a: *const f64, n: usize, less: u64) -> usize {
    // SAFETY: native code has checked that the vector has `n` elements, and at least one.
    unsafe { kernels::arg_extremum(std::slice::from_raw_parts(a, n), less != 0) }
}

/// Combines the sums of the chunks of `n` Floats; they are `step` words apart.
pub(crate) unsafe fn of_chunks(parts: *const f64, step: usize, n: usize) -> f64 {
    // SAFETY: native code has written the sum of every chunk at a multiple of `step`.
    kernels::of_chunks(n, &|k| unsafe { *parts.add(k * step) })
}
