//! Extents: run-time checks, and the known equalities that make further checks unnecessary.

use crate::val::Val;
use crate::{Attempt, Spec};
use adl_ir::shape_rule::Shapes;
use adl_ir::{Cmp, Lit, Loop, Op, Out, Stmt, Trip, Var};
use adl_prim::{GeneralFn, Prim};
use adl_typing::core::{SizeAt, SizeRep, Sizes};
use std::cell::RefCell;
use std::collections::HashMap;

/// An extent as a term.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum ExtentTerm {
    /// The extent of an axis of an array.
    Axis(Var, u32),
    Const(i64),
    Int(Var),
}

/// Facts about extents at the current place. Facts found in a block are removed after it.
#[derive(Default)]
pub(crate) struct KnownExtents {
    /// Ints that are extents.
    of: HashMap<Var, ExtentTerm>,
    /// A union-find forest of equal extents: each has at most one parent.
    equal: HashMap<ExtentTerm, ExtentTerm>,
    /// The keys of `equal` in order of insertion.
    log: Vec<ExtentTerm>,
}

impl KnownExtents {
    /// The representative of an extent.
    fn root(&self, mut e: ExtentTerm) -> ExtentTerm {
        while let Some(next) = self.equal.get(&e) {
            e = *next;
        }
        e
    }

    /// Records that two extents are equal until the end of the block.
    pub(crate) fn learn(&mut self, a: ExtentTerm, b: ExtentTerm) {
        let (a, b) = (self.root(a), self.root(b));
        if a != b {
            self.equal.insert(a, b);
            self.log.push(a);
        }
    }

    /// Whether two extents are known to be equal.
    pub(crate) fn equals(&self, a: ExtentTerm, b: ExtentTerm) -> bool {
        self.root(a) == self.root(b)
    }

    /// An extent equal to this one that only refers to variables before `base`.
    pub(crate) fn before(&self, e: ExtentTerm, base: u32) -> Option<ExtentTerm> {
        let old = |e: &ExtentTerm| match e {
            ExtentTerm::Const(_) => true,
            ExtentTerm::Axis(v, _) | ExtentTerm::Int(v) => v.0 < base,
        };
        let root = self.root(e);
        [e, root].into_iter().find(old).or_else(|| self.log.iter().copied().find(|k| old(k) && self.root(*k) == root))
    }

    /// The current position in the log.
    pub(crate) fn mark(&self) -> usize {
        self.log.len()
    }

    /// Removes the facts recorded since a mark.
    pub(crate) fn forget(&mut self, mark: usize) {
        for e in self.log.drain(mark..) {
            self.equal.remove(&e);
        }
    }
}

impl Spec<'_> {
    /// The extent that an Int is known to be.
    pub(crate) fn known_extent(&self, n: Var) -> ExtentTerm {
        match (self.sizes.of.get(&n), self.known.literals.get(&n)) {
            (Some(e), _) => *e,
            (None, Some(Lit::I64(k))) => ExtentTerm::Const(*k),
            _ => ExtentTerm::Int(n),
        }
    }

    /// Binds and checks the sizes of a function's parameters.
    pub(crate) fn bind_sizes(&mut self, s: &Sizes) -> Attempt<()> {
        for (_, local, name, at) in &s.binds {
            let n = self.size_at(at)?;
            self.name(n, name.as_str());
            self.env.insert(*local, Val::Leaf(n));
        }
        for (at, want, name) in &s.checks {
            let want = match want {
                SizeRep::Const(n) => self.int(*n as i64),
                SizeRep::Local(l) => match self.env.get(l) {
                    Some(Val::Leaf(v)) => *v,
                    _ => continue,
                },
                SizeRep::Unknown => continue,
            };
            let n = self.size_at(at)?;
            self.same(n, want, &format!("an array has not the size {name} that the signature says"));
        }
        Ok(())
    }

    fn size_at(&mut self, at: &SizeAt) -> Attempt<Var> {
        let Some(mut v) = self.env.get(&at.from).cloned() else {
            return Err(self.no("a size of something that is not bound"));
        };
        for s in &at.path {
            v = self.step(&v, *s)?;
        }
        self.extent(&v, at.axis)
    }

    /// The extent of an axis of an array.
    pub(crate) fn extent(&mut self, v: &Val, axis: u32) -> Attempt<Var> {
        let Some(x) = v.leaves().first().copied() else { return Err(self.no("the size of an array without contents")) };
        if self.b.ty(x).rank() <= axis {
            return Err(self.no("the size of something that is no array"));
        }
        let n = self.b.dim(x, axis);
        self.sizes.of.insert(n, ExtentTerm::Axis(x, axis));
        Ok(n)
    }

    /// Asserts that two Ints are equal.
    pub(crate) fn same(&mut self, a: Var, b: Var, text: &str) {
        let (x, y) = (self.known_extent(a), self.known_extent(b));
        if self.sizes.equals(x, y) {
            return;
        }
        let c = self.b.cmp(Cmp::Eq, a, b);
        self.assert(c, text);
        self.sizes.learn(x, y);
    }

    /// Asserts that an Int is not negative.
    pub(crate) fn not_negative(&mut self, n: Var, text: &str) {
        match self.known_extent(n) {
            ExtentTerm::Axis(..) => return,
            ExtentTerm::Const(k) if k >= 0 => return,
            ExtentTerm::Const(_) | ExtentTerm::Int(_) => {}
        }
        let zero = self.int(0);
        let c = self.b.cmp(Cmp::Ge, n, zero);
        self.assert(c, text);
    }

    /// Records that the elements of `whole` have the shape of `elem`: its axes are those after the first.
    pub(crate) fn learn_element(&mut self, whole: &Val, elem: &Val) {
        for (w, e) in whole.leaves().into_iter().zip(elem.leaves()) {
            for k in 0..self.b.ty(e).rank() {
                self.sizes.learn(ExtentTerm::Axis(e, k), ExtentTerm::Axis(w, k + 1));
            }
        }
    }

    /// Records that an Int is the extent of an array's first axis.
    pub(crate) fn learn_length(&mut self, v: &Val, n: Var) {
        let n = self.known_extent(n);
        for x in v.leaves() {
            self.sizes.learn(ExtentTerm::Axis(x, 0), n);
        }
    }

    /// Records that two arrays have the same shape.
    pub(crate) fn learn_shape(&mut self, a: Var, b: Var) {
        for k in 0..self.b.ty(a).rank().min(self.b.ty(b).rank()) {
            self.sizes.learn(ExtentTerm::Axis(a, k), ExtentTerm::Axis(b, k));
        }
    }

    /// Asserts a condition.
    pub(crate) fn assert(&mut self, c: Var, text: &str) {
        self.b.assert(c, text);
    }

    /// Emits an unconditional error.
    pub(crate) fn fail(&mut self, text: &str) -> Val {
        let text = self.lit(Lit::Str(text.into()));
        self.b.emit(Op::Prim(Prim::General(GeneralFn::Error), vec![text]), &[], &[]);
        Val::Bottom
    }
}

/// Extents of variables of a loop's body in terms of variables from before it, as far as the body determines them.
pub(crate) struct ExtentsFromOutside<'a, 's> {
    spec: &'a Spec<'s>,
    /// The number of the first variable of the body.
    base: u32,
    shapes: RefCell<HashMap<Var, Vec<Option<ExtentTerm>>>>,
    /// The statements of loops in the body, by what they define.
    inner: RefCell<HashMap<Var, Stmt>>,
}

impl<'a, 's> ExtentsFromOutside<'a, 's> {
    pub(crate) fn new(spec: &'a Spec<'s>, base: u32) -> Self {
        ExtentsFromOutside { spec, base, shapes: RefCell::default(), inner: RefCell::default() }
    }

    /// The extent in terms of variables from outside.
    fn outside(&self, e: ExtentTerm) -> Option<ExtentTerm> {
        self.spec.sizes.before(e, self.base).or_else(|| match e {
            ExtentTerm::Axis(v, k) => self.shape(v)?.get(k as usize).copied().flatten(),
            ExtentTerm::Const(_) | ExtentTerm::Int(_) => None,
        })
    }

    fn derive(&self, v: Var) -> Vec<Option<ExtentTerm>> {
        let known: Vec<_> =
            (0..self.spec.b.ty(v).rank()).map(|k| self.spec.sizes.before(ExtentTerm::Axis(v, k), self.base)).collect();
        if known.iter().all(Option::is_some) {
            return known;
        }
        let definition = self.inner.borrow().get(&v).or_else(|| self.spec.b.definition(v)).cloned();
        let by_rule = definition.and_then(|s| match &s.op {
            Op::Loop(l) => self.result_of_loop(l, s.outs.iter().position(|out| *out == v)?),
            op => op.shape_of_result(self),
        });
        match by_rule.filter(|rule| rule.len() == known.len()) {
            Some(rule) => known.into_iter().zip(rule).map(|(known, rule)| known.or(rule)).collect(),
            None => known,
        }
    }

    /// The shape of a result of a loop. A carried value keeps the extents that no iteration changes.
    fn result_of_loop(&self, ir_loop: &Loop, position: usize) -> Option<Vec<Option<ExtentTerm>>> {
        let carried = ir_loop.init.len();
        let stmts = ir_loop.body.stmts.iter();
        self.inner.borrow_mut().extend(stmts.flat_map(|s| s.outs.iter().map(|out| (*out, s.clone()))));
        let mut state: Vec<_> = ir_loop.init.iter().map(|v| self.shape(*v)).collect::<Option<_>>()?;
        loop {
            let before = self.shapes.borrow().clone();
            self.bind_parameters(ir_loop, &state);
            let results: Vec<_> = ir_loop.body.results.iter().map(|v| self.shape(*v)).collect::<Option<_>>()?;
            let kept = |(a, b): (&Option<ExtentTerm>, &Option<ExtentTerm>)| if a == b { *a } else { None };
            let next: Vec<Vec<_>> =
                state.iter().zip(&results).map(|(a, b)| a.iter().zip(b).map(kept).collect()).collect();
            if next != state {
                (state, *self.shapes.borrow_mut()) = (next, before);
                continue;
            }
            return match (position < carried, ir_loop.outs.get(position.saturating_sub(carried)), &ir_loop.trip) {
                (true, ..) => Some(state.swap_remove(position)),
                (_, Some(Out::Sum), _) => Some(results[position].clone()),
                (_, Some(Out::Collect), Trip::Count(n)) => {
                    Some(std::iter::once(self.int(*n)).chain(results[position].iter().copied()).collect())
                }
                _ => None,
            };
        }
    }

    fn bind_parameters(&self, l: &Loop, state: &[Vec<Option<ExtentTerm>>]) {
        let rows = l.xs.iter().map(|x| self.shape(*x).map_or(Vec::new(), |s| s.into_iter().skip(1).collect()));
        let shapes: Vec<_> = state.iter().cloned().chain(rows).collect();
        self.shapes.borrow_mut().extend(l.body.params.iter().skip(1).copied().zip(shapes));
    }
}

impl Shapes for ExtentsFromOutside<'_, '_> {
    type Extent = Option<ExtentTerm>;

    fn shape(&self, v: Var) -> Option<Vec<Option<ExtentTerm>>> {
        if let Some(shape) = self.shapes.borrow().get(&v) {
            return Some(shape.clone());
        }
        let shape = stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.derive(v));
        self.shapes.borrow_mut().insert(v, shape.clone());
        Some(shape)
    }
    fn int(&self, v: Var) -> Option<ExtentTerm> {
        self.outside(self.spec.known_extent(v))
    }
    fn constant(&self, n: usize) -> Option<ExtentTerm> {
        i64::try_from(n).ok().map(ExtentTerm::Const)
    }
    fn difference(&self, hi: Var, lo: Var) -> Option<ExtentTerm> {
        match (self.int(hi)?, self.int(lo)?) {
            (ExtentTerm::Const(hi), ExtentTerm::Const(lo)) => Some(ExtentTerm::Const(hi.saturating_sub(lo))),
            (hi, ExtentTerm::Const(0)) => Some(hi),
            _ => None,
        }
    }
    fn sum(&self, a: Option<ExtentTerm>, b: Option<ExtentTerm>) -> Option<ExtentTerm> {
        match (a?, b?) {
            (ExtentTerm::Const(a), ExtentTerm::Const(b)) => a.checked_add(b).map(ExtentTerm::Const),
            _ => None,
        }
    }
    fn elements(&self, list: Var) -> Option<Vec<Option<ExtentTerm>>> {
        match &self.spec.b.definition(list)?.op {
            Op::ArrayLit { elems, .. } => Some(elems.iter().map(|n| self.int(*n)).collect()),
            Op::Shape(a) => self.shape(*a),
            _ => None,
        }
    }
    fn widest(&self, operands: &[Var]) -> Option<Vec<Option<ExtentTerm>>> {
        operands.iter().filter_map(|v| self.shape(*v)).max_by_key(Vec::len)
    }
}
