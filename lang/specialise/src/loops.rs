//! Comprehensions and loops.
//!
//! If a comprehension's index runs over an entire axis, the arrays that it indexes there become the loop's inputs
//! (`xs`): each iteration receives one element. Then there are no bounds checks at run time, and the derivative needs
//! no scatter.

use crate::extents::{ExtentTerm as SizeOf, ExtentsFromOutside};
use crate::key::Key;
use crate::types::closed;
use crate::val::Val;
use crate::{Attempt, Spec};
use adl_ir::shape_rule::Shapes;
use adl_ir::{Cmp, Conv, Lit, Loop, Op, Out, Trip, Ty as IrTy, Var};
use adl_prim::{Bin, ReductionFn};
use adl_syntax::symbol::Symbol;
use adl_typing::core::{Expr, ExprKind, Extent, ForKind, GlobalId, IndexArg, Local, LoopKind, Projection, Rep};
use adl_typing::ty::Ty;
use std::collections::HashMap;

/// The start of a path.
#[derive(Clone, Copy, PartialEq, Debug)]
enum PathBase {
    Local(Local),
    Global(GlobalId),
}

/// A variable with a path of fields.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Path(PathBase, Vec<Projection>);

/// An array with the first of its indices applied, as an enclosing loop reads it.
#[derive(Clone)]
pub(crate) struct LoopElement {
    path: Path,
    at: Vec<Local>,
    val: Val,
}

/// An array that a body indexes by variables.
struct ArrayRead {
    path: Path,
    at: Vec<Local>,
    /// Whether every iteration reads it.
    always: bool,
}

/// A comprehension.
struct Comprehension<'a> {
    kind: ForKind,
    vars: &'a [(Local, Symbol, Extent)],
    body: &'a Expr,
    /// The extent of each index, with the axes that determine it.
    extents: Vec<(Var, Vec<(Path, u32)>)>,
    reads: Vec<ArrayRead>,
    /// Locals that the body captures.
    free: Vec<Local>,
}

fn path(e: &Expr) -> Option<Path> {
    match &*e.kind {
        ExprKind::Local(l) => Some(Path(PathBase::Local(*l), Vec::new())),
        ExprKind::Global(g) => Some(Path(PathBase::Global(*g), Vec::new())),
        ExprKind::Item(a, i) => path(a).map(|p| p.then(Projection::Item(*i))),
        ExprKind::Field(a, n) => path(a).map(|p| p.then(Projection::Field(*n))),
        _ => None,
    }
}

impl Path {
    fn then(mut self, s: Projection) -> Path {
        self.1.push(s);
        self
    }
}

/// The leading variables of an index list.
fn leading(args: &[IndexArg]) -> Vec<Local> {
    let mut out = Vec::new();
    for a in args {
        match a {
            IndexArg::At(e) => match &*e.kind {
                ExprKind::Local(l) => out.push(*l),
                _ => break,
            },
            IndexArg::Slice(..) => break,
        }
    }
    out
}

/// The arrays that a body indexes by variables. Reads inside branches and functions do not occur in every iteration.
fn reads(body: &Expr) -> Vec<ArrayRead> {
    let mut out = Vec::new();
    let mut todo = vec![(body, true)];
    while let Some((expr, always)) = todo.pop() {
        if let ExprKind::Index(a, args) = &*expr.kind
            && let (Some(path), at) = (path(a), leading(args))
        {
            out.push(ArrayRead { path, at, always });
        }
        let inside = |i: usize| match &*expr.kind {
            ExprKind::If(..) | ExprKind::Match(..) | ExprKind::Guard(..) => always && i == 0,
            ExprKind::Lam(_) | ExprKind::LetRec(..) | ExprKind::Loop(..) => false,
            _ => always,
        };
        todo.extend(adl_typing::walk::children(expr).into_iter().enumerate().map(|(i, c)| (c, inside(i))));
    }
    out
}

/// Generates one iteration of a loop with carried state, from the index, the state and the elements of the arrays.
pub(crate) type Iteration<'f, 's> = &'f mut dyn FnMut(&mut Spec<'s>, Var, &Val, &[Val]) -> Attempt<Val>;

impl<'s> Spec<'s> {
    pub(crate) fn comprehension(
        &mut self,
        kind: ForKind,
        vars: &[(Local, Symbol, Extent)],
        body: &Expr,
        _rep: &Rep,
        _ty: &Ty,
    ) -> Attempt<Val> {
        let mut extents = Vec::new();
        for (_, _, x) in vars {
            match self.bound_of(x)? {
                Some(n) => extents.push(n),
                None => return Ok(Val::Bottom),
            }
        }
        let total: Vec<Var> = extents.iter().map(|e| e.0).collect();
        let comp = Comprehension {
            kind,
            vars,
            body,
            extents,
            reads: reads(body),
            free: adl_typing::free_locals::free_in_body(&[], body),
        };
        let v = self.nest(&comp, 0)?;
        match kind {
            ForKind::Build => Ok(v),
            ForKind::Reduce(p) => self.finish_reduction(p, v, &total),
        }
    }

    fn bound_of(&mut self, x: &Extent) -> Attempt<Option<(Var, Vec<(Path, u32)>)>> {
        match x {
            Extent::Bound(e) => {
                let v = self.eval(e)?;
                if matches!(v, Val::Bottom) {
                    return Ok(None);
                }
                let n = self.leaf(&v)?;
                self.not_negative(n, "the bound of an index is negative");
                Ok(Some((n, Vec::new())))
            }
            Extent::Axes(axes) => {
                let (mut first, mut paths) = (None, Vec::new());
                for (e, axis) in axes {
                    let v = self.eval(e)?;
                    if matches!(v, Val::Bottom) {
                        return Ok(None);
                    }
                    let n = self.extent(&v, *axis)?;
                    match first {
                        None => first = Some(n),
                        Some(m) => self.same(m, n, "one index runs over arrays of different lengths"),
                    }
                    paths.extend(path(e).map(|p| (p, *axis)));
                }
                first.map(|n| Some((n, paths))).ok_or_else(|| self.no("an index without a bound"))
            }
        }
    }

    /// The loop over index `level` and the loops inside it.
    fn nest(&mut self, comp: &Comprehension, level: usize) -> Attempt<Val> {
        let local = comp.vars[level].0;
        let sources = self.sources(comp, level)?;
        let n = comp.extents[level].0;
        let out = match comp.kind {
            ForKind::Reduce(ReductionFn::Sum | ReductionFn::Mean) => Out::Sum,
            _ => Out::Collect,
        };
        let arrays: Vec<Val> = sources.iter().map(|s| s.2.clone()).collect();
        let depth = self.elems.len();
        let v = self.each(n, &arrays, out, &mut |s, i, elems| {
            s.env.insert(local, Val::Leaf(i));
            s.learn_index_extent(i, n);
            for ((path, at, _), val) in sources.iter().zip(elems) {
                let at = at.iter().copied().chain([local]).collect();
                s.elems.push(LoopElement { path: path.clone(), at, val: val.clone() });
            }
            if level + 1 == comp.vars.len() { s.eval(comp.body) } else { s.nest(comp, level + 1) }
        });
        self.elems.truncate(depth);
        v
    }

    /// Arrays that the loop over index `k` reads one element per iteration: path, preceding indices, value.
    fn sources(&mut self, comp: &Comprehension, k: usize) -> Attempt<Vec<(Path, Vec<Local>, Val)>> {
        let l = comp.vars[k].0;
        let (extent, axes) = &comp.extents[k];
        let mut out: Vec<(Path, Vec<Local>, Val)> = Vec::new();
        for read in &comp.reads {
            let Some(position) = read.at.iter().position(|x| *x == l) else { continue };
            let before = &read.at[..position];
            if out.iter().any(|o| o.0 == read.path && o.1 == before) {
                continue;
            }
            if matches!(read.path.0, PathBase::Local(l) if !comp.free.contains(&l)) {
                continue;
            }
            let Some(whole) = self.at_path(&read.path) else { continue };
            let base = match position {
                0 => whole.clone(),
                _ => match self.elems.iter().rev().find(|e| e.path == read.path && e.at == before) {
                    Some(e) => e.val.clone(),
                    None => continue,
                },
            };
            let Some(first) = whole.leaves().first().copied() else { continue };
            // Elements of a diagonal matrix are read by position: then they are recognised as zero or diagonal
            // elements.
            if self.b.ty(first).rank() <= position as u32 || self.diagonal(first).is_some() {
                continue;
            }
            let all = axes.iter().any(|a| a.0 == read.path && a.1 == position as u32)
                || self.sizes.equals(self.known_extent(*extent), SizeOf::Axis(first, position as u32));
            if all {
                out.push((read.path.clone(), before.to_vec(), base));
            } else if read.always && position == 0 {
                let zero = self.int(0);
                let part = self.slice(&base, zero, *extent);
                out.push((read.path.clone(), Vec::new(), part));
            }
        }
        Ok(out)
    }

    /// The value at a path, if it is bound.
    fn at_path(&mut self, p: &Path) -> Option<Val> {
        let mut v = match p.0 {
            PathBase::Local(l) => self.env.get(&l)?.clone(),
            PathBase::Global(g) => self.globals.get(&g)?.clone(),
        };
        for s in &p.1 {
            v = self.step(&v, *s).ok()?;
        }
        Some(v)
    }

    /// The value of an array at the longest prefix of its indices that an enclosing loop reads, with the length of the
    /// prefix.
    pub(crate) fn read(&self, a: &Expr, args: &[IndexArg]) -> Option<(Val, usize)> {
        if self.elems.is_empty() {
            return None;
        }
        let (path, at) = (path(a)?, leading(args));
        let known = self.elems.iter().filter(|e| e.path == path && at.starts_with(&e.at));
        known.max_by_key(|e| e.at.len()).map(|e| (e.val.clone(), e.at.len()))
    }

    fn finish_reduction(&mut self, reduction: ReductionFn, val: Val, extents: &[Var]) -> Attempt<Val> {
        match reduction {
            ReductionFn::Mean => {
                let mut total = extents[0];
                for n in &extents[1..] {
                    total = self.b.bin(Bin::Mul, total, *n);
                }
                self.divide_by_count(&val, total)
            }
            ReductionFn::Sum => Ok(val),
            _ => {
                let flat = if extents.len() > 1 { self.flat(&val)? } else { val };
                self.reduce_prim(reduction, &[flat])
            }
        }
    }

    /// Divides each leaf by an Int.
    pub(crate) fn divide_by_count(&mut self, v: &Val, n: Var) -> Attempt<Val> {
        let b = &mut self.b;
        Ok(v.map(&mut |x| {
            let conv = if *b.ty(x).scalar() == IrTy::F32 { Conv::ToF32 } else { Conv::ToF64 };
            let n = b.convert(conv, n);
            b.bin(Bin::Div, x, n)
        }))
    }

    /// A loop with independent iterations over the elements of some arrays. `f` gets the index and the elements.
    pub(crate) fn each(
        &mut self,
        count: Var,
        xs: &[Val],
        out: Out,
        f: &mut dyn FnMut(&mut Self, Var, &[Val]) -> Attempt<Val>,
    ) -> Attempt<Val> {
        let (span, mark, base) = (self.b.span, self.sizes.mark(), self.b.func.vars.len() as u32);
        self.b.open();
        let i = self.b.param(IrTy::I64);
        let elems: Vec<Val> = xs.iter().map(|x| self.element_params(x)).collect();
        let v = f(self, i, &elems)?;
        self.b.span = span;
        let rows = self.row_extents_from_outside(&v, base);
        self.sizes.forget(mark);
        if matches!(v, Val::Bottom) {
            return Err(self.no("a loop that always stops with an error"));
        }
        let value = self.tagged(&v);
        if value.leaves().is_empty() {
            return Err(self.no("an array of `()`"));
        }
        let leaves = value.leaves();
        let tys = leaves.iter().map(|x| self.out_ty(*x, out)).collect::<Attempt<Vec<_>>>()?;
        let body = self.b.close(leaves.clone(), Vec::new());
        let (xs, outs) = (xs.iter().flat_map(Val::leaves).collect(), vec![out; leaves.len()]);
        let ir_loop = Loop { xs, outs, ..Loop::new(Trip::Count(count), body) };
        let all: Vec<IrTy> = tys.into_iter().chain([IrTy::I64]).collect();
        let (mut outs, _) = self.b.emit(Op::Loop(Box::new(ir_loop)), &all, &[]);
        if out != Out::Sum {
            self.assert_rows_known(count, &leaves, &rows, &mut outs)?;
        }
        let made = value.with(&outs);
        if out == Out::Sum {
            return Ok(made);
        }
        self.learn_length(&made, count);
        Ok(Val::array_of(made))
    }

    /// The row extents of an iteration's result that are extents of variables from outside the loop (before `base`).
    fn row_extents_from_outside(&self, v: &Val, base: u32) -> HashMap<Var, Vec<SizeOf>> {
        if !self.world.assumptions().allow_zero_trips {
            return HashMap::new();
        }
        let outside = ExtentsFromOutside::new(self, base);
        let extents = |x: Var| outside.shape(x)?.into_iter().collect::<Option<Vec<_>>>();
        v.leaves().into_iter().filter_map(|x| Some((x, extents(x)?))).collect()
    }

    /// Handles a loop that collects rows and runs no iteration: then no row determines the extents. Unless `extents`
    /// gives them, this is a run-time error, after which the interpreter runs the call. If they are known, the results
    /// `outs` get them.
    pub(crate) fn assert_rows_known(
        &mut self,
        count: Var,
        rows: &[Var],
        extents: &HashMap<Var, Vec<SizeOf>>,
        outs: &mut [Var],
    ) -> Attempt<()> {
        if matches!(self.known_extent(count), SizeOf::Const(k) if k > 0) {
            return Ok(());
        }
        let mut open = false;
        for (x, out) in rows.iter().zip(outs) {
            let ty = self.b.ty(*out);
            match extents.get(x) {
                _ if self.b.ty(*x).rank() == 0 => {}
                Some(inner) => {
                    let mut elems = vec![count];
                    for e in inner {
                        elems.push(match e {
                            SizeOf::Const(k) => self.int(*k),
                            SizeOf::Int(v) => *v,
                            SizeOf::Axis(a, k) => self.b.dim(*a, *k),
                        });
                    }
                    let to = self.b.one(Op::ArrayLit { elems, shape: None }, IrTy::shape());
                    *out = self.b.one(Op::Reshape { a: *out, to, from: None }, ty);
                }
                None => open = true,
            }
        }
        if open {
            let zero = self.int(0);
            let c = self.b.cmp(Cmp::Ne, count, zero);
            self.assert(c, "an array of no rows");
        }
        Ok(())
    }

    fn out_ty(&self, x: Var, out: Out) -> Attempt<IrTy> {
        let t = self.b.ty(x);
        match out {
            Out::Collect | Out::Boxed => Ok(t.array(1)),
            Out::Sum if matches!(t.scalar(), IrTy::F64 | IrTy::F32 | IrTy::I64) => Ok(t),
            Out::Sum => Err(self.no("a sum of data that are not all numbers")),
        }
    }

    /// Adds parameters to the open block for an element of an array.
    pub(crate) fn element_params(&mut self, x: &Val) -> Val {
        let b = &mut self.b;
        let elem = x.lifted_elem().map(&mut |v| {
            let t = b.ty(v).elem();
            b.param(t)
        });
        self.learn_element(x, &elem);
        elem
    }

    /// A loop with carried state. `f` gets the index, the state, and the elements of the arrays.
    pub(crate) fn carry(
        &mut self,
        n: Var,
        reverse: bool,
        init: &Val,
        xs: &[Val],
        f: Iteration<'_, 's>,
    ) -> Attempt<Val> {
        self.carry_typed(n, reverse, (init, None), xs, f)
    }

    /// Like `carry`, for a state of a known type. Functions in it that change between iterations are represented as
    /// data.
    pub(crate) fn carry_typed(
        &mut self,
        count: Var,
        reverse: bool,
        (init, ty): (&Val, Option<&Ty>),
        xs: &[Val],
        f: Iteration<'_, 's>,
    ) -> Attempt<Val> {
        let made = self.carried(Trip::Count(count), reverse, init, xs, f)?;
        match (made, ty) {
            (Some(v), _) => Ok(v),
            (None, Some(t)) if init.has_fun() && closed(t) => {
                let init = self.functions_as_data(init.clone(), t)?;
                let made = self.carried(Trip::Count(count), reverse, &init, xs, &mut |s, i, v, e| {
                    let next = f(s, i, v, e)?;
                    s.functions_as_data(next, t)
                })?;
                made.ok_or_else(|| self.no("a loop whose state changes its layout"))
            }
            (None, _) => Err(self.no("a loop whose state changes its layout")),
        }
    }

    /// `None` if an iteration changes the layout of the state.
    fn carried(
        &mut self,
        trip: Trip,
        reverse: bool,
        init: &Val,
        xs: &[Val],
        f: Iteration<'_, 's>,
    ) -> Attempt<Option<Val>> {
        let (span, mark) = (self.b.span, self.sizes.mark());
        self.b.open();
        let i = self.b.param(IrTy::I64);
        let state = self.params_like(init);
        let elems: Vec<Val> = xs.iter().map(|x| self.element_params(x)).collect();
        let v = f(self, i, &state, &elems)?;
        self.b.span = span;
        self.sizes.forget(mark);
        let v = if matches!(v, Val::Bottom) { state.clone() } else { v };
        let (mut before, mut after) = (Key::new(), Key::new());
        self.key_val(&state, &mut before);
        self.key_val(&v, &mut after);
        let body = self.b.close(v.leaves(), Vec::new());
        if before != after {
            return Ok(None);
        }
        let init_leaves = init.leaves();
        let tys: Vec<IrTy> = init_leaves.iter().map(|x| self.b.ty(*x)).chain([IrTy::I64]).collect();
        let xs = xs.iter().flat_map(Val::leaves).collect();
        let ir_loop = Loop { reverse, init: init_leaves, xs, ..Loop::new(trip, body) };
        let (outs, _) = self.b.emit(Op::Loop(Box::new(ir_loop)), &tys, &[]);
        Ok(Some(init.with(&outs)))
    }

    /// Adds parameters to the open block for a value of the same layout.
    fn params_like(&mut self, v: &Val) -> Val {
        let b = &mut self.b;
        v.map(&mut |x| {
            let t = b.ty(x);
            b.param(t)
        })
    }

    pub(crate) fn loop_(&mut self, state: Local, init: &Expr, kind: &LoopKind, body: &Expr) -> Attempt<Val> {
        let start = self.eval(init)?;
        if matches!(start, Val::Bottom) {
            return Ok(start);
        }
        match kind {
            LoopKind::For(i, n) => {
                let n = self.eval(n)?;
                if matches!(n, Val::Bottom) {
                    return Ok(n);
                }
                let n = self.leaf(&n)?;
                let t = self.ty(&init.ty);
                self.carry_typed(n, false, (&start, Some(&t)), &[], &mut |s, k, v, _| {
                    s.env.insert(*i, Val::Leaf(k));
                    s.env.insert(state, v.clone());
                    s.eval(body)
                })
            }
            LoopKind::While(c) => {
                let ty = self.ty(&init.ty);
                let start = if start.has_fun() && closed(&ty) { self.functions_as_data(start, &ty)? } else { start };
                let mark = self.sizes.mark();
                self.b.open();
                let v = self.params_like(&start);
                self.env.insert(state, v);
                let holds = match self.eval(c)? {
                    Val::Bottom => self.lit(Lit::Bool(false)),
                    c => self.leaf(&c)?,
                };
                let cond = self.b.close(vec![holds], Vec::new());
                self.sizes.forget(mark);
                let made = self.carried(Trip::While(cond), false, &start, &[], &mut |s, _, v, _| {
                    s.env.insert(state, v.clone());
                    let next = s.eval(body)?;
                    if closed(&ty) { s.functions_as_data(next, &ty) } else { Ok(next) }
                })?;
                made.ok_or_else(|| self.no("a loop whose state changes its layout"))
            }
        }
    }
}
