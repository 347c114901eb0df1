//! Primitives that build arrays or rearrange elements.

use crate::types::closed;
use crate::val::Val;
use crate::{Attempt, Spec};
use adl_ir::{Cmp, Conv, Lit, Op, Ty as IrTy, Var};
use adl_prim::{ArrayFn, Bin};
use adl_typing::core::Expr;
use adl_typing::ty::Ty;

impl Spec<'_> {
    /// `[a, b, ...]`.
    pub(crate) fn array(&mut self, es: &[Expr], ty: &Ty) -> Attempt<Val> {
        if es.is_empty() {
            let t = self.ty(ty);
            return self.empty(&t);
        }
        match self.all(es.iter())? {
            Some(vals) if vals.iter().any(Val::has_fun) => {
                let elem = match self.ty(ty) {
                    Ty::Array(_, e) => Some((*e).clone()),
                    _ => None,
                };
                self.stack_tagged_functions(&vals, elem.as_ref())
            }
            Some(vals) => self.stacked(&vals),
            None => Ok(Val::Bottom),
        }
    }

    /// An array of the given elements.
    pub(crate) fn stacked(&mut self, vals: &[Val]) -> Attempt<Val> {
        let first = &vals[0];
        if vals.iter().any(Val::has_fun) {
            return self.stack_tagged_functions(vals, None);
        }
        if first.leaves().is_empty() {
            return Err(self.no("an array of `()`"));
        }
        let layout = self.layout_of_val(first)?;
        for v in vals {
            if self.layout_of_val(v)? != layout {
                return Err(self.no("an array of elements that are laid out differently"));
            }
        }
        let rows: Vec<Vec<Var>> = vals.iter().map(Val::leaves).collect();
        let mut outs = Vec::new();
        for (k, x) in rows[0].iter().enumerate() {
            let t = self.b.ty(*x).array(1);
            let elems = rows.iter().map(|r| r[k]).collect();
            outs.push(self.b.one(Op::ArrayLit { elems, shape: None }, t));
        }
        Ok(Val::array_of(first.with(&outs)))
    }

    /// An array without elements, for an element type.
    pub(crate) fn empty(&mut self, ty: &Ty) -> Attempt<Val> {
        let l = self.layout(ty)?;
        let extent = self.int(0);
        let mut tys = Vec::new();
        let template = Self::build(&l, &mut |t| {
            tys.push(t);
            extent
        });
        let mut outs = Vec::new();
        for t in tys {
            let zero = self.zero_of(t.scalar());
            // Only numbers are broadcast. Data are replicated along one axis after the other.
            outs.push(if t.rank() > 1 && t.scalar().is_flat() {
                self.spread(zero, vec![extent; t.rank() as usize])
            } else {
                (0..t.rank()).fold(zero, |a, _| {
                    let more = self.b.ty(a).array(1);
                    self.b.one(Op::Replicate { n: extent, a }, more)
                })
            });
        }
        Ok(template.with(&outs))
    }

    pub(crate) fn zero_of(&mut self, t: &IrTy) -> Var {
        match t {
            IrTy::Bool => self.lit(Lit::Bool(false)),
            IrTy::Str => self.lit(Lit::Str("".into())),
            IrTy::F64 => self.lit(Lit::F64(0.0)),
            IrTy::F32 => self.lit(Lit::F32(0.0)),
            IrTy::I64 => self.int(0),
            t => self.b.one(Op::Zero(t.clone()), t.clone()),
        }
    }

    /// The extents of an array's own axes.
    pub(crate) fn dims(&mut self, v: &Val) -> Attempt<Vec<Var>> {
        let axes = self.axes(v)?;
        (0..axes).map(|k| self.extent(v, k)).collect()
    }

    /// The number of an array's own axes.
    fn axes(&self, v: &Val) -> Attempt<u32> {
        match v {
            Val::Leaf(x) => Ok(self.b.ty(*x).rank()),
            Val::Array(e) => Ok(1 + self.axes_inside(e)),
            _ => Err(self.no("the shape of something that is no array")),
        }
    }

    fn axes_inside(&self, v: &Val) -> u32 {
        match v {
            Val::Array(e) => 1 + self.axes_inside(e),
            _ => 0,
        }
    }

    fn shape_of(&mut self, dims: Vec<Var>) -> Var {
        self.b.one(Op::ArrayLit { elems: dims, shape: None }, IrTy::shape())
    }

    /// Flattens an array of numbers of any rank to a vector.
    pub(crate) fn flat(&mut self, v: &Val) -> Attempt<Val> {
        let array = self.leaf(v)?;
        let t = self.b.ty(array);
        if t.rank() <= 1 {
            return Ok(v.clone());
        }
        let mut total = self.b.dim(array, 0);
        for k in 1..t.rank() {
            let n = self.b.dim(array, k);
            total = self.b.bin(Bin::Mul, total, n);
        }
        let to = self.shape_of(vec![total]);
        Ok(Val::Leaf(self.b.one(Op::Reshape { a: array, to, from: None }, t.scalar().array(1))))
    }

    /// Array primitives that build arrays or rearrange elements, applied to all their arguments.
    pub(crate) fn array_prim(&mut self, prim: ArrayFn, args: &[Val], ty: Option<Ty>) -> Attempt<Val> {
        use ArrayFn::{Append, Put, Scatter, ScatterWithin};
        if let (Append | Put | Scatter | ScatterWithin, Some(array)) = (prim, &ty)
            && args.iter().any(Val::has_fun)
            && closed(array)
        {
            let args = self.joined_as_data(prim, args, array)?;
            return self.array_prim_of(prim, &args, None);
        }
        self.array_prim_of(prim, args, ty)
    }

    /// The same, of arguments in the layouts that they have.
    fn array_prim_of(&mut self, prim: ArrayFn, args: &[Val], ty: Option<Ty>) -> Attempt<Val> {
        match prim {
            ArrayFn::Iota
            | ArrayFn::Range
            | ArrayFn::Arange
            | ArrayFn::Full
            | ArrayFn::Zeros
            | ArrayFn::Ones
            | ArrayFn::Eye
            | ArrayFn::Linspace
            | ArrayFn::Replicate => self.filled(prim, args),
            ArrayFn::Rotate => {
                let n = self.leaf(&args[0])?;
                Ok(self.leafwise(&args[1], &mut |s, a, t| s.b.one(Op::Rotate { n, a }, t)))
            }
            ArrayFn::Reverse => Ok(self.leafwise(&args[0], &mut |s, a, t| s.b.one(Op::Reverse(a), t))),
            ArrayFn::Take | ArrayFn::Drop | ArrayFn::Split => self.cut(prim, args),
            ArrayFn::Gather => {
                let at = self.leaf(&args[1])?;
                Ok(self.gather(&args[0], at))
            }
            ArrayFn::Compress => self.compress(&args[0], &args[1]),
            ArrayFn::Scatter | ArrayFn::ScatterWithin => self.scatter(prim, &args[0], &args[1], &args[2]),
            ArrayFn::Put => self.put(&args[0], &args[1], &args[2]),
            ArrayFn::Flatten => self.flatten(&args[0]),
            ArrayFn::Reshape => self.reshape(&args[0], &args[1], ty),
            ArrayFn::TransposeArray => self.transpose(&args[0]),
            ArrayFn::Diag => self.diag(&args[0]),
            ArrayFn::Zip | ArrayFn::Zip3 => self.zip(args),
            ArrayFn::Unzip | ArrayFn::Unzip3 => match args[0].lifted_elem() {
                Val::Tuple(parts) => Ok(Val::Tuple(parts.into_iter().map(Val::array_of).collect())),
                _ => Err(self.no("`unzip` of something that is no array of tuples")),
            },
            ArrayFn::Append => self.join_values(args),
            ArrayFn::Where => self.select(&args[0], &args[1], &args[2]),
            ArrayFn::Stack => match &args[0] {
                Val::Data(x, d) if self.b.ty(*x).rank() == 0 => self.list_to_array(*x, *d),
                other => Ok(other.clone()),
            },
            ArrayFn::Len => self.extent(&args[0], 0).map(Val::Leaf),
            ArrayFn::Shape => {
                let dims = self.dims(&args[0])?;
                Ok(Val::Leaf(self.b.one(Op::ArrayLit { elems: dims, shape: None }, IrTy::shape())))
            }
            ArrayFn::Rank => {
                let n = self.dims(&args[0])?.len();
                Ok(Val::Leaf(self.int(n as i64)))
            }
        }
    }

    /// Arrays that are made of numbers.
    fn filled(&mut self, p: ArrayFn, args: &[Val]) -> Attempt<Val> {
        match p {
            ArrayFn::Iota | ArrayFn::Range => self.leaf_prim(p, args, IrTy::I64.array(1)),
            ArrayFn::Arange => self.leaf_prim(ArrayFn::Iota, args, IrTy::I64.array(1)),
            ArrayFn::Full => self.filled(ArrayFn::Replicate, args),
            ArrayFn::Zeros | ArrayFn::Ones => {
                let x = self.lit(Lit::F64(if p == ArrayFn::Ones { 1.0 } else { 0.0 }));
                self.filled(ArrayFn::Replicate, &[args[0].clone(), Val::Leaf(x)])
            }
            ArrayFn::Eye => self.eye(&args[0]),
            ArrayFn::Linspace => self.linspace(args),
            _ => {
                let n = self.leaf(&args[0])?;
                self.not_negative(n, "the count of `replicate` is negative");
                self.replicate(n, &args[1])
            }
        }
    }

    fn linspace(&mut self, args: &[Val]) -> Attempt<Val> {
        let (start, end, n) = (self.leaf(&args[0])?, self.leaf(&args[1])?, self.leaf(&args[2])?);
        // As in the interpreter: the last number is exactly `end`, and the others have a derivative.
        let (one, two) = (self.int(1), self.int(2));
        let at = self.b.prim(ArrayFn::Iota, &[n], IrTy::I64.array(1));
        let most = self.b.bin(Bin::Max, n, two);
        let steps = self.b.bin(Bin::Sub, most, one);
        let (at_f, steps_f) = (self.b.convert(Conv::ToF64, at), self.b.convert(Conv::ToF64, steps));
        let t = self.b.bin(Bin::Div, at_f, steps_f);
        let width = self.b.bin(Bin::Sub, end, start);
        // The first number is exactly `start`, even if the width is infinite.
        let scaled = self.b.bin(Bin::ScaleTangent, width, t);
        let inner = self.b.bin(Bin::Add, start, scaled);
        let last = self.b.cmp(Cmp::Eq, at, steps);
        let ty = self.b.ty(inner);
        Ok(Val::Leaf(self.b.one(Op::Select(last, end, inner), ty)))
    }

    pub(crate) fn replicate(&mut self, n: Var, v: &Val) -> Attempt<Val> {
        let v = &self.tagged(v);
        if v.leaves().is_empty() {
            return Err(self.no("an array of `()`"));
        }
        let mut outs = Vec::new();
        for a in v.leaves() {
            let t = self.b.ty(a).array(1);
            outs.push(self.b.one(Op::Replicate { n, a }, t));
        }
        Ok(Val::array_of(v.with(&outs)))
    }

    fn cut(&mut self, p: ArrayFn, args: &[Val]) -> Attempt<Val> {
        let (k, n, zero) = (self.leaf(&args[0])?, self.extent(&args[1], 0)?, self.int(0));
        Ok(match p {
            ArrayFn::Take => self.slice(&args[1], zero, k),
            ArrayFn::Drop => self.slice(&args[1], k, n),
            _ => Val::Tuple(vec![self.slice(&args[1], zero, k), self.slice(&args[1], k, n)]),
        })
    }

    /// The elements at given positions.
    pub(crate) fn gather(&mut self, v: &Val, at: Var) -> Val {
        self.leafwise(v, &mut |s, a, t| s.b.one(Op::Gather { a, at, shape: None }, t))
    }

    /// Stores the elements of `values` into `dest` in order.
    fn scatter(&mut self, prim: ArrayFn, dest: &Val, at: &Val, values: &Val) -> Attempt<Val> {
        // The functions in the two arrays have different candidate numbers.
        if self.layout_of_val(dest)? != self.layout_of_val(values)? {
            return Err(self.no("arrays that are laid out differently"));
        }
        let (m, extent, k) = (self.extent(at, 0)?, self.extent(dest, 0)?, self.extent(values, 0)?);
        self.same(m, k, "`scatter` needs as many indices as values");
        self.carry(m, false, dest, &[at.clone(), values.clone()], &mut |spec, _, state, e| {
            let index = spec.leaf(&e[0])?;
            let new = e[1].leaves();
            let put = &mut |s: &mut Self| {
                let mut k = 0;
                Ok(s.leafwise(state, &mut |s, acc, t| {
                    k += 1;
                    s.b.one(Op::IndexSet { acc, at: vec![index], v: new[k - 1], shape: None }, t)
                }))
            };
            if prim == ArrayFn::Scatter {
                return put(spec);
            }
            let inside = spec.inside(index, extent);
            spec.branch_on(inside, put, &mut |_| Ok(state.clone()))
        })
    }

    /// The arguments of a primitive that joins arrays of functions, with one layout: as data of the result's type.
    fn joined_as_data(&mut self, prim: ArrayFn, args: &[Val], array: &Ty) -> Attempt<Vec<Val>> {
        let element = |t: &Ty| if let Ty::Array(_, e) = t { Ty::clone(e) } else { t.clone() };
        let replaced = match args {
            [_, Val::Tuple(indices), _] => (0..indices.len()).fold(array.clone(), |t, _| element(&t)),
            _ => element(array),
        };
        let last = if prim == ArrayFn::Put { &replaced } else { array };
        args.iter().zip([array, array, last]).map(|(v, t)| self.functions_as_data(v.clone(), t)).collect()
    }

    /// `dest` with the element or row at an index, or at a tuple of indices, replaced.
    fn put(&mut self, dest: &Val, at: &Val, value: &Val) -> Attempt<Val> {
        let at = match at {
            Val::Tuple(parts) => parts.iter().map(|i| self.leaf(i)).collect::<Attempt<Vec<_>>>()?,
            i => vec![self.leaf(i)?],
        };
        let below = (0..at.len()).fold(dest.clone(), |v, _| v.lifted_elem());
        if self.layout_under(&below, at.len() as u32)? != self.layout_of_val(value)? {
            return Err(self.no("an element that is laid out differently"));
        }
        let (outer, inner) = (self.dims(dest)?, if self.is_array(value) { self.dims(value)? } else { Vec::new() });
        for (a, b) in outer[at.len()..].iter().zip(inner) {
            self.same(*a, b, "a new row has another size");
        }
        let new = value.leaves();
        let mut k = 0;
        Ok(self.leafwise(dest, &mut |s, acc, t| {
            k += 1;
            let y = s.b.one(Op::IndexSet { acc, at: at.clone(), v: new[k - 1], shape: None }, t);
            s.learn_shape(y, acc);
            y
        }))
    }

    fn is_array(&self, v: &Val) -> bool {
        matches!(v, Val::Array(_)) || matches!(v, Val::Leaf(x) if self.b.ty(*x).rank() > 0)
    }

    /// Whether a position is in bounds.
    pub(crate) fn inside(&mut self, i: Var, n: Var) -> Var {
        let (zero, no) = (self.int(0), self.lit(Lit::Bool(false)));
        let (low, high) = (self.b.cmp(Cmp::Ge, i, zero), self.b.cmp(Cmp::Lt, i, n));
        self.b.one(Op::Select(low, high, no), IrTy::Bool)
    }

    pub(crate) fn concat(&mut self, a: &Val, b: &Val) -> Attempt<Val> {
        let other = b.leaves();
        if self.layout_of_val(a)? != self.layout_of_val(b)? {
            return Err(self.no("arrays that are laid out differently"));
        }
        let mut k = 0;
        Ok(self.leafwise(a, &mut |s, a, t| {
            k += 1;
            s.b.one(Op::Concat { a, b: other[k - 1], len: None, shape: None }, t)
        }))
    }

    fn flatten(&mut self, v: &Val) -> Attempt<Val> {
        let inner = match v {
            Val::Array(e) => (**e).clone(),
            other => other.clone(),
        };
        if !matches!((v, &inner), (Val::Leaf(_), _) | (_, Val::Array(_))) {
            return Err(self.no("`flatten` of an array of one axis"));
        }
        Ok(self.leafwise(&inner, &mut |s, a, t| {
            let (n, m) = (s.b.dim(a, 0), s.b.dim(a, 1));
            let mut dims = vec![s.b.bin(Bin::Mul, n, m)];
            (2..t.rank()).for_each(|k| dims.push(s.b.dim(a, k)));
            let to = s.shape_of(dims);
            s.b.one(Op::Reshape { a, to, from: None }, t.elem())
        }))
    }

    fn reshape(&mut self, shape: &Val, v: &Val, ty: Option<Ty>) -> Attempt<Val> {
        let (to, array) = (
            self.leaf(shape)?,
            match v {
                Val::Leaf(a) => *a,
                _ => return Err(self.no("`reshape` of an array of compound data")),
            },
        );
        let Some(t) = ty else { return Err(self.no("`reshape` to a shape that is not known")) };
        let crate::Layout::Leaf(t) = self.layout(&t)? else {
            return Err(self.no("`reshape` of an array of compound data"));
        };
        Ok(Val::Leaf(self.b.one(Op::Reshape { a: array, to, from: None }, t)))
    }

    /// The diagonal matrix of a vector, or the diagonal of a matrix.
    pub(crate) fn diag(&mut self, val: &Val) -> Attempt<Val> {
        let array = self.leaf(val)?;
        let ty = self.b.ty(array);
        let one = self.int(1);
        let zero = self.zero_of(ty.scalar());
        if let Some(d) = self.diagonal(array) {
            return Ok(Val::Leaf(d));
        }
        if ty.rank() == 2 {
            let (n, m) = (self.b.dim(array, 0), self.b.dim(array, 1));
            let k = self.b.bin(Bin::Min, n, m);
            let at = self.steps(k, m, one);
            let flat = self.flat(val)?;
            return Ok(self.gather(&flat, at));
        }
        let n = self.b.dim(array, 0);
        let total = self.b.bin(Bin::Mul, n, n);
        let at = self.steps(n, n, one);
        let zeros = self.spread(zero, vec![total]);
        let flat = self.b.one(Op::GatherAdd { acc: zeros, at, v: array, shape: None }, ty.clone());
        let to = self.shape_of(vec![n, n]);
        let m = self.b.one(Op::Reshape { a: flat, to, from: None }, ty.array(1));
        self.learn_diagonal(m, array);
        Ok(Val::Leaf(m))
    }

    /// The positions of a diagonal in the flattened matrix: `k` steps of `m + 1`.
    fn steps(&mut self, k: Var, m: Var, one: Var) -> Var {
        let i = self.b.prim(ArrayFn::Iota, &[k], IrTy::I64.array(1));
        let step = self.b.bin(Bin::Add, m, one);
        self.b.bin(Bin::Mul, i, step)
    }

    fn zip(&mut self, args: &[Val]) -> Attempt<Val> {
        self.same_lengths(args, "zip")?;
        Ok(Val::Array(Box::new(Val::Tuple(args.iter().map(Val::lifted_elem).collect()))))
    }

    /// Asserts that all arrays have the same length, and returns it.
    pub(crate) fn same_lengths(&mut self, args: &[Val], what: &str) -> Attempt<Var> {
        let n = self.extent(&args[0], 0)?;
        for a in &args[1..] {
            let m = self.extent(a, 0)?;
            self.same(n, m, &format!("`{what}` needs arrays of one length"));
        }
        Ok(n)
    }
}
