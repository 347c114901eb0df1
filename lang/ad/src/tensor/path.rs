//! The reads of a linear array in a nest, and the paths from the nest's body to them.

use super::affine::{Affine, Forms};
use adl_ir::rewrite::linear_uses::captured_by;
use adl_ir::{Block, Builder, Function, Loop, Op, Stmt, Trip, Ty, Var};
use adl_prim::Bin;
use std::collections::{HashMap, HashSet};

/// The path from a nest's body to a read: statements with the index of the nested block, then the reading statement.
#[derive(Clone, Debug)]
pub(super) struct ReadPath {
    pub(super) steps: Vec<(usize, usize)>,
    pub(super) stmt: usize,
}

/// A loop index on the path, with its bounds.
#[derive(Clone, Debug)]
pub(super) struct PathAxis {
    pub(super) index: Var,
    /// It is below this.
    pub(super) trip: Affine,
    /// And below these: the trip count is the minimum.
    pub(super) more: Vec<Affine>,
    /// The variable stands for the sum of this maximum and the loop's index, since subscripts and bounds contain only that.
    pub(super) first: Option<First>,
}

/// A maximum at which an index begins.
#[derive(Clone, Debug)]
pub(super) struct First {
    pub(super) is: Var,
    pub(super) of: Vec<Affine>,
}

impl PathAxis {
    /// All exclusive upper bounds.
    pub(super) fn to(&self) -> impl Iterator<Item = &Affine> {
        std::iter::once(&self.trip).chain(&self.more)
    }

    /// The lower bounds.
    pub(super) fn from(&self) -> Vec<Affine> {
        self.first.as_ref().map_or_else(|| vec![Affine::constant(0)], |first| first.of.clone())
    }

    /// Whether the trip count is a sum of indices.
    pub(super) fn is_plain(&self) -> bool {
        self.more.is_empty() && self.first.is_none()
    }
}

/// A subscript of a read.
#[derive(Clone, Debug)]
pub(super) struct Subscript {
    pub(super) form: Affine,
    /// It is the remainder of the form by this one, which depends on nothing in the nest.
    pub(super) divisor: Option<Affine>,
}

/// A read that can be transposed without a scatter.
#[derive(Debug)]
pub(super) struct ReadSite {
    pub(super) place: ReadPath,
    /// The loop indices on the path, from the outermost inwards.
    pub(super) axes: Vec<PathAxis>,
    /// The subscripts of the read.
    pub(super) at: Vec<Subscript>,
    /// The shape of the array that is read.
    pub(super) extents: ArrayShape,
}

/// The shape of an array.
#[derive(Debug)]
pub(super) enum ArrayShape {
    /// This array of Ints.
    Of(Var),
    /// These extents.
    Trip(Vec<Affine>),
}

/// The copies made by `dup` in a block and its nested blocks, with their operands.
pub(super) fn copies(b: &Block) -> HashMap<Var, Var> {
    let mut out = HashMap::new();
    let mut work = vec![b];
    while let Some(b) = work.pop() {
        for s in &b.stmts {
            if let Op::Dup(a) = &s.op {
                out.extend(s.lin_outs.iter().map(|c| (*c, *a)));
            }
            work.extend(s.op.blocks());
        }
    }
    out
}

/// The original of a copy.
pub(super) fn original(copies: &HashMap<Var, Var>, v: Var) -> Var {
    let mut v = v;
    while let Some(a) = copies.get(&v) {
        v = *a;
    }
    v
}

/// A part of an array: its indices, the trip counts of the loops that have it as an element, and the shape of the
/// array, if a slice provides it.
#[derive(Clone, Default)]
struct ArrayPart {
    at: Vec<Var>,
    trip: Vec<Var>,
    shape: Option<Var>,
    /// The first index of a slice of the array.
    from: Option<Var>,
}

/// The nest with all reads of elements of `of` rewritten as reads at explicit indices: those by inner loops over
/// the array or its rows, and those of elements of rows. `None` if a row is used in another way. Adds the shapes of
/// the arrays that are read to `forms`.
pub(super) fn indexed(b: &mut Builder, forms: &mut Forms, nest: &Stmt, of: Var) -> Option<Stmt> {
    let mut nest = nest.clone();
    let Op::Loop(l) = &mut nest.op else { return None };
    let copies = copies(&l.body);
    let mut r = RowRewriter { b, forms, copies: &copies, of, parts: HashMap::from([(of, ArrayPart::default())]) };
    r.block(&mut l.body);
    let row = |v: Var| original(&copies, v) != of && r.parts.contains_key(&original(&copies, v));
    let mut work = vec![&l.body];
    while let Some(b) = work.pop() {
        let mut read = b.lin_results.iter().any(|v| row(*v));
        for s in &b.stmts {
            s.op.each_operand(&mut |v| read |= row(v));
            work.extend(s.op.blocks());
        }
        if read {
            return None;
        }
    }
    Some(nest)
}

/// Rewrites reads of rows of the array `of` as reads of `of` itself.
struct RowRewriter<'a> {
    b: &'a mut Builder,
    forms: &'a mut Forms,
    copies: &'a HashMap<Var, Var>,
    of: Var,
    /// Variables that hold a part of the array.
    parts: HashMap<Var, ArrayPart>,
}

impl RowRewriter<'_> {
    fn part(&self, v: Var) -> Option<&ArrayPart> {
        self.parts.get(&original(self.copies, v))
    }

    fn block(&mut self, b: &mut Block) {
        let (copies, of) = (self.copies, self.of);
        b.stmts.retain(|s| !self.sliced(s));
        b.stmts.retain(
            |s| !matches!(&s.op, Op::Dup(a) | Op::Drop(a) if original(copies, *a) != of && self.part(*a).is_some()),
        );
        for s in &mut b.stmts {
            match &mut s.op {
                Op::Loop(l) => self.elements(l),
                Op::Index { .. } => self.read(s),
                _ => {}
            }
            for inner in s.op.blocks_mut() {
                stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.block(inner));
            }
        }
    }

    /// Records a slice of the entire array: its elements are elements of the array.
    fn sliced(&mut self, s: &Stmt) -> bool {
        let (Op::Slice { a, lo, shape: Some(shape), .. }, [part]) = (&s.op, s.lin_outs.as_slice()) else {
            return false;
        };
        let whole = original(self.copies, *a) == self.of;
        if whole {
            self.parts.insert(*part, ArrayPart { shape: Some(*shape), from: Some(*lo), ..ArrayPart::default() });
        }
        whole
    }

    /// Rewrites a read of an element of a row whose shape is written out.
    fn read(&mut self, stmt: &mut Stmt) {
        let Op::Index { a: array, at, shape: Some(shape) } = &stmt.op else { return };
        let Some(row) = self.part(*array).filter(|r| !r.at.is_empty() || r.from.is_some()) else { return };
        if row.shape.is_some() && self.b.func.ty(self.of).rank() as usize == row.at.len() + at.len() {
            if row.from.is_none_or(|lo| self.forms.of(lo) == Affine::constant(0)) {
                stmt.op = Op::Index { a: self.of, at: [&row.at[..], at].concat(), shape: row.shape };
            }
            return;
        }
        let Some(rest) = self.forms.written(*shape) else { return };
        let extents = [&row.trip[..], rest].concat();
        let at = [&row.at[..], at].concat();
        if extents.len() != at.len() {
            return;
        }
        let shape = self.b.func.fresh(Ty::shape(), false);
        self.forms.set_shape(shape, extents);
        stmt.op = Op::Index { a: self.of, at, shape: Some(shape) };
    }

    fn elements(&mut self, ir_loop: &mut Loop) {
        let carried = ir_loop.lin_init.len();
        let mut position = 0;
        while position < ir_loop.lin_xs.len() {
            let (array, elem) = (ir_loop.lin_xs[position], ir_loop.body.lin_params[carried + position]);
            let part = self.part(array).filter(|_| self.b.func.ty(array).scalar() == self.b.func.ty(elem).scalar());
            let (Some(part), Trip::Count(n)) = (part, &ir_loop.trip) else {
                position += 1;
                continue;
            };
            let (mut at, mut trip, shape, from) = (part.at.clone(), part.trip.clone(), part.shape, part.from);
            at.push(ir_loop.body.params[0]);
            trip.push(*n);
            ir_loop.lin_xs.remove(position);
            ir_loop.body.lin_params.remove(carried + position);
            let mut first = Vec::new();
            if let (Some(lo), [index]) =
                (from.filter(|lo| self.forms.of(*lo) != Affine::constant(0)), at.as_mut_slice())
            {
                let sum = self.b.func.fresh(Ty::I64, false);
                first.push(Stmt {
                    outs: vec![sum],
                    lin_outs: Vec::new(),
                    op: Op::Bin(Bin::Add, lo, *index),
                    span: Default::default(),
                });
                *index = sum;
            }
            if self.b.func.ty(elem).rank() > 0 {
                self.parts.insert(elem, ArrayPart { at, trip, shape, from: None });
            } else {
                first.push(Stmt {
                    outs: Vec::new(),
                    lin_outs: vec![elem],
                    op: Op::Index { a: self.of, at, shape },
                    span: Default::default(),
                });
            }
            ir_loop.body.stmts.splice(0..0, first);
        }
    }
}

/// The paths of all reads of `of` in a block. `None` unless all of them read scalars.
pub(super) fn reads(func: &Function, body: &Block, of: Var) -> Option<Vec<ReadPath>> {
    let copies = copies(body);
    let mut out = Vec::new();
    let mut work: Vec<(&Block, Vec<(usize, usize)>)> = vec![(body, Vec::new())];
    while let Some((b, steps)) = work.pop() {
        if b.lin_results.iter().any(|v| original(&copies, *v) == of) {
            return None;
        }
        for (index, stmt) in b.stmts.iter().enumerate() {
            let mut read = false;
            stmt.op.each_operand(&mut |v| read |= func.linear(v) && original(&copies, v) == of);
            match &stmt.op {
                Op::Dup(_) | Op::Drop(_) => {}
                Op::Index { .. } if read => {
                    if func.ty(*stmt.lin_outs.first()?).rank() > 0 {
                        return None;
                    }
                    out.push(ReadPath { steps: steps.clone(), stmt: index });
                }
                _ if read => return None,
                _ => {}
            }
            for (n, inner) in stmt.op.blocks().into_iter().enumerate() {
                work.push((inner, [&steps[..], &[(index, n)]].concat()));
            }
        }
    }
    Some(out)
}

/// The statement at a place.
pub(super) fn at_place<'b>(body: &'b Block, place: &ReadPath) -> &'b Stmt {
    let b = place.steps.iter().fold(body, |b, (k, n)| b.stmts[*k].op.blocks()[*n]);
    &b.stmts[place.stmt]
}

/// Whether the read that binds `to` is in a block or its nested blocks.
pub(super) fn holds(b: &Block, to: Var) -> bool {
    let mut work = vec![b];
    while let Some(b) = work.pop() {
        if b.stmts.iter().any(|s| s.lin_outs == [to]) {
            return true;
        }
        work.extend(b.stmts.iter().flat_map(|s| s.op.blocks()));
    }
    false
}

/// The position of the statement that continues the path at this depth, or reads.
pub(super) fn next(place: &ReadPath, depth: usize) -> usize {
    place.steps.get(depth).map_or(place.stmt, |s| s.0)
}

/// The variables of a block that depend on the linear results of statement `k`. `None` unless they are scalars
/// computed by arithmetic; arrays may only be results of the block.
pub(super) fn dependents(func: &Function, b: &Block, k: usize) -> Option<HashSet<Var>> {
    let mut deps: HashSet<Var> = b.stmts[k].lin_outs.iter().copied().collect();
    for stmt in &b.stmts[k + 1..] {
        let mut whole = false;
        let mut reads = false;
        stmt.op.each_operand(&mut |v| {
            reads |= deps.contains(&v);
            whole |= deps.contains(&v) && func.ty(v).rank() > 0;
        });
        reads |= captured_by(func, &stmt.op).iter().any(|v| deps.contains(v));
        if !reads {
            continue;
        }
        match &stmt.op {
            Op::Drop(_) => {}
            Op::Un(..) | Op::Bin(..) | Op::Convert(..) | Op::Select(..) | Op::Dup(_) | Op::If(..)
                if !whole && stmt.lin_outs.iter().all(|o| func.ty(*o).rank() == 0) =>
            {
                deps.extend(&stmt.lin_outs);
            }
            _ => return None,
        }
    }
    Some(deps)
}

/// The loop of an operation, with its trip count, if it is stateless.
pub(super) fn comprehension(op: &Op) -> Option<(&Loop, Var)> {
    match op {
        Op::Loop(l) if l.init.is_empty() && l.lin_init.is_empty() => match l.trip {
            Trip::Count(n) => Some((l, n)),
            Trip::While(_) => None,
        },
        _ => None,
    }
}

/// Follows the path of a read. Succeeds if the subscripts and all loop bounds are affine in the indices.
pub(super) fn site(f: &Function, nest: &Stmt, place: ReadPath, literals: &Forms) -> Option<ReadSite> {
    let (inside, choices, remainders) = (HashSet::new(), HashMap::new(), HashMap::new());
    let mut walk = PathWalk { f, forms: literals.clone(), inside, axes: Vec::new(), choices, remainders };
    let mut b = walk.enter(nest, 0)?;
    for (depth, (k, n)) in place.steps.iter().enumerate() {
        walk.block(b, next(&place, depth))?;
        b = walk.enter(&b.stmts[*k], *n)?;
    }
    walk.block(b, place.stmt)?;
    let Op::Index { at, shape, .. } = &b.stmts[place.stmt].op else { return None };
    let extents = match shape {
        Some(s) => match walk.forms.shape(*s) {
            Some(dims) if dims.iter().all(|d| walk.fixed(d)) => ArrayShape::Trip(dims),
            Some(_) => return None,
            None if walk.inside.contains(s) => return None,
            None => ArrayShape::Of(*s),
        },
        // The loops run over the entire array, so its extents are their trip counts.
        None => {
            let trip = |v: &Var| walk.axes.iter().find(|a| a.index == *v && a.is_plain()).map(|a| a.trip.clone());
            let trip = at.iter().map(|v| trip(v).filter(|t| walk.fixed(t)));
            ArrayShape::Trip(trip.collect::<Option<Vec<_>>>()?)
        }
    };
    let subscript = |v: &Var| match walk.remainders.get(v) {
        Some((x, m)) => (walk.forms.of(*x), Some(walk.forms.of(*m))),
        None => (walk.forms.of(*v), None),
    };
    let (mut at, divisors): (Vec<Affine>, Vec<Option<Affine>>) = at.iter().map(subscript).unzip();
    walk.begin(&mut at)?;
    let bounds = walk.axes.iter().all(|a| a.to().all(|form| walk.known(form)));
    if !bounds || !at.iter().all(|form| walk.known(form)) || !divisors.iter().flatten().all(|m| walk.fixed(m)) {
        return None;
    }
    let at = at.into_iter().zip(divisors).map(|(form, divisor)| Subscript { form, divisor }).collect();
    Some(ReadSite { place, axes: walk.axes, at, extents })
}

struct PathWalk<'a> {
    f: &'a Function,
    forms: Forms,
    /// Variables bound in the nest.
    inside: HashSet<Var>,
    axes: Vec<PathAxis>,
    /// Minima and maxima of Ints.
    choices: HashMap<Var, (Bin, Var, Var)>,
    /// Remainders of Ints.
    remainders: HashMap<Var, (Var, Var)>,
}

impl PathWalk<'_> {
    /// Whether a form depends only on indices and values from outside of the nest.
    fn known(&self, form: &Affine) -> bool {
        form.all(&|v| !self.inside.contains(&v) || self.axes.iter().any(|a| a.index == v))
    }

    /// Whether a form depends on nothing in the nest.
    fn fixed(&self, a: &Affine) -> bool {
        a.all(&|v| !self.inside.contains(&v))
    }

    fn enter<'b>(&mut self, s: &'b Stmt, n: usize) -> Option<&'b Block> {
        let block: &Block = match &s.op {
            Op::If(..) => s.op.blocks().into_iter().nth(n)?,
            op => {
                let (l, trip) = comprehension(op)?;
                let mut more = self.all(trip, Bin::Min);
                let trip = more.remove(0);
                self.axes.push(PathAxis { index: *l.body.params.first()?, trip, more, first: None });
                &l.body
            }
        };
        self.inside.extend(&block.params);
        Some(block)
    }

    /// The forms of which a variable is the minimum, or the maximum. A trip count may be the larger one of 0 and another
    /// count, which is then as good.
    fn all(&self, v: Var, op: Bin) -> Vec<Affine> {
        let zero = |v: Var| self.forms.of(v) == Affine::constant(0);
        match self.choices.get(&v) {
            Some((of, x, y)) if *of == op => [self.all(*x, op), self.all(*y, op)].concat(),
            Some((Bin::Max, x, y)) if op == Bin::Min && zero(*y) => self.all(*x, op),
            Some((Bin::Max, x, y)) if op == Bin::Min && zero(*x) => self.all(*y, op),
            _ => vec![self.forms.of(v)],
        }
    }

    /// Lets indices of loops that begin at a maximum, of which the subscripts contain the sum, stand for the sum. `None` if
    /// another variable of the nest remains in a subscript.
    fn begin(&mut self, at: &mut [Affine]) -> Option<()> {
        loop {
            let other = |v: &&Var| self.inside.contains(v) && !self.axes.iter().any(|a| a.index == **v);
            let Some(is) = at.iter().find_map(|form| form.terms.keys().find(other).copied()) else { return Some(()) };
            let of = self.all(is, Bin::Max);
            let natural = of.iter().any(|form| form.terms.is_empty() && form.constant >= 0);
            let axis = self
                .axes
                .iter()
                .position(|a| a.first.is_none() && at.iter().all(|form| form.factor(a.index) == form.factor(is)))?;
            let index = self.axes[axis].index;
            let elsewhere = self.axes.iter().any(|a| a.index != index && a.to().any(|form| form.factor(index) != 0));
            if !natural || elsewhere || !of.iter().all(|form| self.known(form) && form.factor(index) == 0) {
                return None;
            }
            let less = Affine::var(index).plus(-1, &Affine::var(is))?;
            for form in &mut *at {
                *form = form.with(index, &less)?;
            }
            let axis = &mut self.axes[axis];
            axis.trip = axis.trip.plus(1, &Affine::var(is))?;
            for form in &mut axis.more {
                *form = form.plus(1, &Affine::var(is))?;
            }
            axis.first = Some(First { is, of });
        }
    }

    fn block(&mut self, block: &Block, target: usize) -> Option<()> {
        for s in &block.stmts {
            self.inside.extend(&s.outs);
            self.forms.note(self.f, s);
            let (Op::Bin(op, x, y), [v]) = (&s.op, &s.outs[..]) else { continue };
            if *self.f.ty(*v) == Ty::I64 {
                match op {
                    Bin::Min | Bin::Max => _ = self.choices.insert(*v, (*op, *x, *y)),
                    Bin::Rem => _ = self.remainders.insert(*v, (*x, *y)),
                    _ => {}
                }
            }
        }
        dependents(self.f, block, target).map(|_| ())
    }
}
