//! Implementations of instructions, by family: numbers, functions and structures, components and elements,
//! sizes. Calls are in `calls`, jumps in the interpreter loop (`run`).
//!
//! Register numbers are relative to `base`. Instructions that are frequent in loops are inlined into the
//! interpreter loop.

use super::code::{Code, R};
use super::components::{element, index_width, literal_equal, number_at, rep_with, step_into, update};
use super::{CodeList, Fun, Machine, RecursiveGroup};
use crate::ad;
use crate::error::{Error, Res, codes};
use crate::fault;
use crate::ir;
use crate::limits::vm_profile::ITERATION;
use crate::ops::{self, arith};
use crate::value::{Buf, Kind, Record, Rep, Tuple, Value, seq, show};
use adl_prim::{Bin, Prim, Un};
use adl_typing::core::{self, GlobalId, Projection};
use std::rc::Rc;

/// Stores a number in a register. If it already holds a number, only the payload is written: a write of tag and
/// payload followed by a combined read of both would cause a store-forwarding stall.
#[inline(always)]
fn set_float(slot: &mut Value, x: f64) {
    match slot {
        Value::Float(y) => *y = x,
        other => *other = Value::Float(x),
    }
}

/// Register access.
impl Machine {
    #[inline(always)]
    pub(super) fn reg(&self, base: usize, r: R) -> &Value {
        &self.regs[base + r as usize]
    }

    #[inline(always)]
    pub(super) fn reg_mut(&mut self, base: usize, r: R) -> &mut Value {
        &mut self.regs[base + r as usize]
    }

    #[inline(always)]
    pub(super) fn set(&mut self, base: usize, d: R, v: Value) {
        self.regs[base + d as usize] = v;
    }

    #[inline(always)]
    fn set_number(&mut self, base: usize, d: R, x: f64) {
        set_float(&mut self.regs[base + d as usize], x);
    }

    /// Moves the values out of consecutive registers.
    pub(super) fn range(&mut self, base: usize, first: R, n: u32) -> Vec<Value> {
        self.moved_out(base, first, n).collect()
    }

    fn moved_out(&mut self, base: usize, first: R, n: u32) -> impl ExactSizeIterator<Item = Value> {
        let at = base + first as usize;
        self.regs[at..at + n as usize].iter_mut().map(std::mem::take)
    }

    #[inline(always)]
    pub(super) fn constant(&mut self, base: usize, d: R, k: &Value) {
        match k {
            Value::Float(x) => self.set_number(base, d, *x),
            v => self.set(base, d, v.clone()),
        }
    }

    #[inline(always)]
    pub(super) fn copy(&mut self, base: usize, d: R, s: R) {
        match self.reg(base, s) {
            Value::Float(x) => self.set_number(base, d, *x),
            v => self.set(base, d, v.clone()),
        }
    }

    #[inline(always)]
    pub(super) fn move_out(&mut self, base: usize, d: R, s: R) {
        match self.reg_mut(base, s) {
            Value::Float(x) => {
                let x = *x;
                self.set_number(base, d, x);
            }
            v => {
                let v = std::mem::take(v);
                self.set(base, d, v);
            }
        }
    }

    pub(super) fn load_global(&mut self, base: usize, d: R, g: GlobalId) -> Res<()> {
        let Some(v) = self.definitions.globals.get(g.0 as usize).and_then(|v| v.as_ref()) else {
            return Err(Error::new(codes::UNDEFINED, "this definition is used before it has its value"));
        };
        self.set(base, d, v.clone());
        Ok(())
    }
}

/// Numbers.
impl Machine {
    #[inline(always)]
    pub(super) fn binary(&mut self, base: usize, op: Bin, [dest, a, b]: [R; 3]) -> Res<()> {
        let out = match (self.reg(base, a), self.reg(base, b)) {
            (Value::Float(x), Value::Float(y)) => {
                let z = op.eval(*x, *y);
                self.set_number(base, dest, z);
                return Ok(());
            }
            (Value::Int(x), Value::Int(y)) => match (op, x.checked_add(*y)) {
                (Bin::Add, Some(z)) => Value::Int(z),
                _ => arith::int_bin(op, *x, *y).map(Value::Int)?,
            },
            (x, y) => {
                let (x, y) = (x.clone(), y.clone());
                self.binary_slow(op, x, y)?
            }
        };
        self.set(base, dest, out);
        Ok(())
    }

    fn binary_slow(&mut self, op: Bin, x: Value, y: Value) -> Res<Value> {
        let out = match ad::scalar_bin(self, op, &x, &y)? {
            Some(v) => v,
            None => arith::bin(self, op, x, y)?,
        };
        self.count(floats(&out), true);
        Ok(out)
    }

    /// Lets the profile of the running function count an operation on an array of so many elements. `fuses`: in lowered code it
    /// may be fused with others, which saves memory traffic.
    #[inline]
    fn count(&self, elements: usize, fuses: bool) {
        if elements >= ITERATION
            && let Some(f) = self.frames.last()
        {
            f.code.profile.array(elements, fuses);
        }
    }

    #[inline(always)]
    pub(super) fn unary(&mut self, base: usize, op: Un, dest: R, a: R) -> Res<()> {
        let v = match self.reg(base, a) {
            Value::Float(x) => {
                let y = op.eval(*x);
                self.set_number(base, dest, y);
                return Ok(());
            }
            v => v.clone(),
        };
        let out = arith::un(self, op, v)?;
        self.count(floats(&out), true);
        self.set(base, dest, out);
        Ok(())
    }

    pub(super) fn as_float(&mut self, base: usize, d: R, a: R) {
        let x = match self.reg(base, a) {
            Value::Float(x) => *x,
            Value::F32(x) => f64::from(*x),
            Value::Int(n) => *n as f64,
            Value::Bool(b) => f64::from(u8::from(*b)),
            _ => 0.0,
        };
        self.set_number(base, d, x);
    }

    pub(super) fn number_at(&mut self, base: usize, d: R, k: &Value, rep: R) {
        let v = number_at(k, self.reg(base, rep));
        self.set(base, d, v);
    }
}

/// The number of Floats of an array.
fn floats(v: &Value) -> usize {
    match v {
        Value::Array(a) if a.kind() == Kind::F64 => a.shape.iter().product(),
        _ => 0,
    }
}

/// Functions and structures.
impl Machine {
    pub(super) fn primitive(&mut self, base: usize, [d, first]: [R; 2], p: Prim, [hidden, n]: [u32; 2]) -> Res<()> {
        let reps = self.range(base, first, hidden);
        let mut args = self.range(base, first + hidden, n);
        fault::point(fault::PanicPoint::Interpreter);
        let reads = matches!(p, Prim::Reduction(_) | Prim::HigherOrder(_));
        let read = if reads { args.iter().map(floats).max().unwrap_or(0) } else { 0 };
        let v = ops::apply(self, p, &reps, &mut args)?;
        let (made, fuses) = (floats(&v), !matches!(p, Prim::HigherOrder(_)));
        self.count(read.max(made), fuses && made >= read);
        self.set(base, d, v);
        Ok(())
    }

    pub(super) fn prim_fun(&mut self, base: usize, d: R, p: Prim, first: R, n: u32) {
        let reps = self.range(base, first, n);
        self.set(base, d, Value::Fun(Rc::new(Fun::Prim(p, reps))));
    }

    pub(super) fn closure(&mut self, base: usize, d: R, code: &Rc<Code>, first: R, n: u32) {
        let captured = self.range(base, first, n);
        self.set(base, d, Value::Fun(Rc::new(Fun::Closure(code.clone(), captured))));
    }

    pub(super) fn group(&mut self, base: usize, d: R, codes: &CodeList, first: R, n: u32) {
        let captured = self.range(base, first, n);
        let group = Rc::new(RecursiveGroup { codes: codes.clone(), captured });
        for i in 0..codes.len() as u32 {
            self.set(base, d + i, Value::Fun(Rc::new(Fun::Member(group.clone(), i))));
        }
    }

    pub(super) fn sibling_value(&mut self, base: usize, d: R, k: u32) -> Res<()> {
        let f = self.sibling(k)?;
        self.set(base, d, Value::Fun(f));
        Ok(())
    }

    pub(super) fn tuple(&mut self, base: usize, d: R, first: R, n: u32) {
        let vals = self.range(base, first, n);
        self.set(base, d, Value::Tuple(Rc::new(Tuple(vals))));
    }

    pub(super) fn record(&mut self, base: usize, d: R, names: &Rc<[adl_syntax::symbol::Symbol]>, first: R, n: u32) {
        let vals = self.range(base, first, n);
        self.set(base, d, Value::Record(Rc::new(Record { names: names.clone(), vals })));
    }

    pub(super) fn construct(&mut self, base: usize, d: R, con: &Rc<crate::value::ConInfo>, first: R, n: u32) {
        let data = Value::data(con.clone(), self.moved_out(base, first, n));
        self.set(base, d, data);
    }

    pub(super) fn array(&mut self, base: usize, d: R, first: R, n: u32) -> Res<()> {
        let vals = self.range(base, first, n);
        let v = seq::pack(self, vals)?;
        self.set(base, d, v);
        Ok(())
    }

    pub(super) fn interpolate(&mut self, base: usize, d: R, first: R, n: u32) -> Res<()> {
        let text: String = self.range(base, first, n).iter().map(show::plain).collect();
        // After an interrupt the text may be incomplete.
        self.poll()?;
        self.set(base, d, Value::Str(Rc::new(text.into())));
        Ok(())
    }

    /// A comprehension; the register after the extents holds a run-time type representation.
    pub(super) fn comprehension(&mut self, base: usize, [d, f, first]: [R; 3], kind: core::ForKind, n: u32) -> Res<()> {
        let mut args = self.range(base, first, n + 1);
        let rep = args.pop().unwrap_or_default();
        let f = std::mem::take(self.reg_mut(base, f));
        let v = ops::comprehensions::comprehension(self, kind, &f, &args, &rep)?;
        let extent = |n: &Value| if let Value::Int(n) = n { usize::try_from(*n).unwrap_or(0) } else { 0 };
        self.count(args.iter().map(extent).fold(1, usize::saturating_mul), false);
        self.set(base, d, v);
        Ok(())
    }

    #[inline(always)]
    pub(super) fn push(&mut self, base: usize, acc: R, a: R) -> Res<()> {
        if let Value::Float(x) = self.reg(base, a) {
            let x = *x;
            if ir::buffer::push_float(self.reg_mut(base, acc), x) {
                return Ok(());
            }
        }
        let v = self.reg(base, a).clone();
        ir::buffer::push(self.reg_mut(base, acc), &v)
    }
}

/// Components and elements.
impl Machine {
    pub(super) fn part(&mut self, base: usize, d: R, a: R, s: Projection) -> Res<()> {
        let v = step_into(self.reg(base, a), s)?;
        self.set(base, d, v);
        Ok(())
    }

    pub(super) fn update(
        &mut self,
        base: usize,
        [d, a]: [R; 2],
        names: &[adl_syntax::symbol::Symbol],
        first: R,
    ) -> Res<()> {
        let vals = self.range(base, first, names.len() as u32);
        let old = std::mem::take(self.reg_mut(base, a));
        let v = update(old, names, vals)?;
        self.set(base, d, v);
        Ok(())
    }

    /// `array[index]` of a vector.
    #[inline(always)]
    pub(super) fn index1(&mut self, base: usize, [dest, array, index]: [R; 3]) -> Res<()> {
        if let (Value::Array(arr), Value::Int(i)) = (self.reg(base, array), self.reg(base, index)) {
            match arr.buf() {
                Buf::F64(v) if arr.shape.len() == 1 && (*i as usize) < v.len() => {
                    let x = v[*i as usize];
                    self.set_number(base, dest, x);
                    return Ok(());
                }
                Buf::I64(v) if arr.shape.len() == 1 && (*i as usize) < v.len() => {
                    let n = v[*i as usize];
                    self.set(base, dest, Value::Int(n));
                    return Ok(());
                }
                _ => {}
            }
        }
        self.index1_slow(base, [dest, array, index])
    }

    fn index1_slow(&mut self, base: usize, [d, a, i]: [R; 3]) -> Res<()> {
        let (a, i) = (self.reg(base, a).clone(), self.reg(base, i).clone());
        let v = match i {
            Value::Int(i) => element(self, &a, i)?,
            _ => return Err(Error::new(codes::STRUCTURE, "an index must be an Int")),
        };
        self.set(base, d, v);
        Ok(())
    }

    pub(super) fn index(&mut self, base: usize, [d, a, first]: [R; 3], kinds: &[super::code::IndexKind]) -> Res<()> {
        let args = self.range(base, first, kinds.iter().map(index_width).sum());
        let a = self.reg(base, a).clone();
        let v = ops::index::index(self, &a, kinds, &args)?;
        self.set(base, d, v);
        Ok(())
    }

    pub(super) fn element_at(&mut self, base: usize, d: R, a: R, i: u32) -> Res<()> {
        let a = self.reg(base, a).clone();
        let v = seq::elem(self, &a, i as usize)?;
        self.set(base, d, v);
        Ok(())
    }

    /// A constructor field; `zero` if the value is a symbolic zero.
    #[inline(always)]
    pub(super) fn con_field(&mut self, base: usize, [d, a]: [R; 2], i: u32, zero: &Value) {
        let v = match self.reg(base, a) {
            Value::Data(v) => v.fields[i as usize].clone(),
            _ => zero.clone(),
        };
        self.set(base, d, v);
    }

    /// The jump target of a `match`.
    #[inline(always)]
    pub(super) fn target(&self, base: usize, a: R, (targets, default): &(Vec<u32>, u32)) -> usize {
        match self.reg(base, a) {
            Value::Data(v) => targets.get(v.con.tag as usize).copied().unwrap_or(*default) as usize,
            _ => *default as usize,
        }
    }

    pub(super) fn is_literal(&mut self, base: usize, d: R, a: R, k: &Value) -> Res<()> {
        let same = literal_equal(self.reg(base, a), k)?;
        self.set(base, d, Value::Bool(same));
        Ok(())
    }

    /// `a[i]`; `zero` if the array is a symbolic zero.
    #[inline(always)]
    pub(super) fn at1(&mut self, base: usize, [dest, source, index]: [R; 3], zero: &Value) -> Res<()> {
        let value = match (self.reg(base, source), self.reg(base, index)) {
            (Value::Array(arr), Value::Int(i)) => match arr.buf() {
                Buf::F64(v) if arr.shape.len() == 1 && (*i as usize) < v.len() => {
                    let x = v[*i as usize];
                    self.set_number(base, dest, x);
                    return Ok(());
                }
                _ => crate::ops::element_ops::at(self.reg(base, source), &[Value::Int(*i)])?,
            },
            (Value::Zero, _) => zero.clone(),
            (a, i) => crate::ops::element_ops::at(a, std::slice::from_ref(i))?,
        };
        self.set(base, dest, value);
        Ok(())
    }

    /// `a[i, j]`; `zero` if the matrix is a symbolic zero.
    #[inline(always)]
    pub(super) fn at2(&mut self, base: usize, [dest, a, i, j]: [R; 4], zero: &Value) -> Res<()> {
        let v = match (self.reg(base, a), self.reg(base, i), self.reg(base, j)) {
            (Value::Zero, _, _) => zero.clone(),
            (Value::Array(arr), Value::Int(i), Value::Int(j)) => match (arr.buf(), &arr.shape[..]) {
                (Buf::F64(v), [n, m]) if (*i as usize) < *n && (*j as usize) < *m => {
                    Value::Float(v[*i as usize * m + *j as usize])
                }
                _ => crate::ops::element_ops::at(self.reg(base, a), &[Value::Int(*i), Value::Int(*j)])?,
            },
            (a, i, j) => crate::ops::element_ops::at(a, &[i.clone(), j.clone()])?,
        };
        self.set(base, dest, v);
        Ok(())
    }
}

/// Sizes and run-time type representations.
impl Machine {
    pub(super) fn axis_len(&mut self, base: usize, d: R, a: R, axis: u32) {
        let n = seq::shape(self.reg(base, a)).and_then(|s| s.get(axis as usize).copied());
        self.set(base, d, Value::Int(n.unwrap_or(0) as i64));
    }

    pub(super) fn is_len(&mut self, base: usize, d: R, a: R, n: u32) {
        let same = seq::len(self.reg(base, a)) == n as usize;
        self.set(base, d, Value::Bool(same));
    }

    pub(super) fn same_extent(&self, base: usize, a: R, b: R) -> Res<()> {
        match (self.reg(base, a), self.reg(base, b)) {
            (Value::Int(x), Value::Int(y)) if x != y => {
                let what = format!("one index runs over arrays of length {x} and {y}");
                Err(Error::new(codes::SIZE, what).hint("give the index a bound: `for i < n -> ...`"))
            }
            _ => Ok(()),
        }
    }

    /// A run-time type representation whose locals are read from registers.
    pub(super) fn rep(&mut self, base: usize, d: R, r: &core::Rep) {
        let rep = rep_with(&|l| self.regs[base + l as usize].clone(), r);
        self.set(base, d, Value::Rep(rep));
    }

    pub(super) fn zero_of(&mut self, base: usize, d: R, rep: R) {
        let v = match self.reg(base, rep) {
            Value::Rep(r) => Rep::zero(r),
            _ => Value::Zero,
        };
        self.set(base, d, v);
    }

    pub(super) fn size_at(&mut self, base: usize, d: R, at: &core::SizeAt) -> Res<()> {
        let n = self.extent(base, at)?;
        self.set(base, d, Value::Int(n.unwrap_or(0) as i64));
        Ok(())
    }

    /// Checks an array against the size that a signature specifies.
    pub(super) fn check_size(
        &self,
        base: usize,
        (at, name, constant): &(core::SizeAt, String, Option<u64>),
        r: R,
    ) -> Res<()> {
        let Some(size) = self.extent(base, at)?.map(|n| n as i64) else { return Ok(()) };
        let want = match (constant, self.reg(base, r)) {
            (Some(c), _) => *c as i64,
            (None, Value::Int(n)) => *n,
            _ => size,
        };
        if size == want {
            return Ok(());
        }
        if let (true, Some(want)) = (name.is_empty(), constant) {
            let elements = if *want == 1 { "element" } else { "elements" };
            return Err(Error::new(codes::SIZE, format!("this pattern has {want} {elements}, and the array {size}")));
        }
        if name.is_empty() {
            let mut e = Error::new(codes::SIZE, format!("the new value has size {size}, and the slice {want}"));
            e.diag.secondary.push(adl_syntax::diag::Label { span: at.span, text: "the slice".into() });
            return Err(e);
        }
        let what = if constant.is_some() { want.to_string() } else { format!("`{name}`, which is {want}") };
        let mut e = Error::new(codes::SIZE, format!("an array has size {size} where the signature says {what}"));
        e.diag.secondary.push(adl_syntax::diag::Label { span: at.span, text: "the signature".into() });
        Err(e)
    }

    /// The extent to which a size in a signature refers. `None` for an inner extent of an array without rows that does
    /// not know it.
    fn extent(&self, base: usize, at: &core::SizeAt) -> Res<Option<usize>> {
        let mut v = self.reg(base, at.from.0).clone();
        for s in &at.path {
            v = step_into(&v, *s)?;
        }
        let Some(shape) = seq::shape(&v) else { return Ok(Some(0)) };
        let axis = at.axis as usize;
        let rows = !shape.iter().take(axis).any(|n| *n == 0);
        Ok(match shape.get(axis) {
            None | Some(0) if !rows => None,
            n => Some(n.copied().unwrap_or(0)),
        })
    }
}
