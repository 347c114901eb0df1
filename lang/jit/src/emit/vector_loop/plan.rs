//! Analyses the body of a loop for vectorisation: loop-invariant variables, affine element accesses, and accumulations.

use super::super::group::is_plain;
use super::inner::Inner;
use super::iteration_rows::{Element, RowLoop, RowReads};
use super::libm_stages::MathFunction;
use crate::handle::ValueForm;
use crate::limits::emit_vector_loop_plan::{ARMS, FUNCTION, LONGEST};
use adl_ir::{Block, Conv, Function, Lit, Loop, Op, Out, Stmt, Trip, Ty, Var};
use adl_prim::{Bin, Cmp, GeneralFn, Prim};
use smallvec::SmallVec;
use std::collections::{HashMap, HashSet};

/// The bound on bits of Ints from outside in a vectorised loop. It is checked at run time.
pub(super) const BITS: u32 = 29;

/// The number of bits of Ints that are exact as Floats.
const EXACT: u32 = 52;

/// The index of an Int expression.
pub(super) type Node = usize;

/// An Int expression.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Int {
    /// A variable bound outside of the loop.
    Outside(Var),
    Lit(i64),
    /// The loop index.
    Iteration,
    /// The index of an inner loop.
    Inner(usize),
    /// The extent of an array.
    Dim(usize, usize),
    Add(Node, Node),
    Sub(Node, Node),
    Mul(Node, Node),
    /// One more than the largest element of an array of Ints, none of which is negative.
    Above(usize),
    /// The minimum and maximum of two that are the same in all iterations.
    Min(Node, Node),
    Max(Node, Node),
}

/// Facts about an Int expression.
pub(super) struct IntInfo {
    pub op: Int,
    /// The increment per iteration, if it is known.
    pub step: Option<i64>,
    /// An upper bound on its bits.
    bits: u32,
    /// A bit mask of the inner loops that it depends on.
    pub inner: u64,
}

/// The indices of an access.
pub(super) type AccessIndices = SmallVec<[Node; 3]>;

/// The classification of a variable of the loop body.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum VarClass {
    Float,
    Bool,
    Int(Node),
    /// An array bound outside, or the subarray at leading indices.
    Part(usize, AccessIndices),
    /// A row of an iteration.
    Row(usize),
    /// A vector that is a symbolic zero.
    Zero,
    /// An Int from 0 to below a bound that differs from iteration to iteration. In the kernel it is a Float.
    Position(Node),
    /// An array that is accumulated to.
    Sum(usize),
    /// The row of a matrix at a position.
    At(usize, Var),
    /// The rows that an inner loop collects.
    Table(usize),
    /// The extents of an array, which only reads of symbolic zeros use. Arrays are materialised where vectors are used.
    Shape,
}

/// An array that is carried from iteration to iteration and accumulated to.
pub(super) struct LoopSum {
    /// Its initial value.
    pub init: Var,
    /// The variable of its current version.
    pub latest: Var,
    /// Indices of the accumulations, and the inner loops around each.
    pub adds: Vec<(AccessIndices, Vec<usize>)>,
    /// The shape to use if it is a symbolic zero.
    pub shape: Option<Var>,
    /// The inner loops over the array that is added to it, or to a part of it: their trip counts are its last extents.
    pub extents: SmallVec<[usize; 2]>,
}

/// The role of a carried value.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Carry {
    /// It is loop-invariant.
    Same,
    /// A number that an operator combines with one of each iteration, in order.
    Fold,
    /// An array that is accumulated to.
    Sum(usize),
}

/// What each iteration gives to an output.
pub(super) enum IterationOutput {
    Number,
    Bool,
    Int,
    Row(RowLoop),
    /// The rows that an inner loop collects. They are stored as they are made.
    Table(usize),
}

/// Assertions of the body, which are checked before the loop.
#[derive(Default)]
pub(super) struct Checks {
    /// Bools bound outside that must be true.
    pub bools: Vec<Var>,
    /// Loop-invariant Int comparisons, and those that must be true.
    compared: HashMap<Var, (Cmp, Node, Node)>,
    pub ints: Vec<(Cmp, Node, Node)>,
}

/// The plan of a vectorised loop.
#[derive(Default)]
pub(super) struct VectorPlan {
    pub ints: Vec<IntInfo>,
    pub classes: HashMap<Var, VarClass>,
    /// Array elements that loops iterate over, and their accesses.
    pub elements: HashMap<Var, (usize, AccessIndices)>,
    /// Arrays bound outside that are read.
    pub arrays: Vec<Var>,
    /// Floats and Bools bound outside.
    pub numbers: Vec<Var>,
    /// Accesses that must be in bounds.
    pub reads: Vec<(usize, AccessIndices)>,
    pub checks: Checks,
    pub sums: Vec<LoopSum>,
    pub carry: Vec<Carry>,
    pub inner: Vec<Inner>,
    pub rows: RowReads,
    pub outs: Vec<IterationOutput>,
    /// Results of functions that are called on a strip of iterations.
    pub calls: Vec<Var>,
    /// Whether inner loops call functions.
    pub calls_inside: bool,
    /// The number of statements.
    pub size: usize,
    /// The number of Float statements in inner loops whose values are in registers at once.
    pub inside: usize,
    /// Whether inner loops contain inner loops.
    pub nested: bool,
    /// Whether strips must run in order, because of an order-dependent accumulation.
    pub sequential: bool,
    /// The iteration in which two accumulations may collide.
    pub meets: Option<Node>,
}

/// Makes the plan of a loop. `lowered`: whether operations on rows have been lowered to inner loops. `None` if it cannot
/// be vectorised.
pub(super) fn plan(func: &Function, ir_loop: &Loop, lowered: bool) -> Option<VectorPlan> {
    let Trip::Count(_) = ir_loop.trip else { return None };
    let body = &ir_loop.body;
    if !(ir_loop.lin_init.is_empty() && ir_loop.lin_xs.is_empty() && ir_loop.lin_outs.is_empty()) {
        return None;
    }
    let mut analysis = LoopAnalysis {
        f: func,
        body,
        p: VectorPlan::default(),
        known: None,
        invariant: HashSet::new(),
        lowered,
        sizes: HashMap::new(),
        around: 0,
        rereads: false,
    };
    let iteration = analysis.node(Int::Iteration)?;
    let (index, rest) = body.params.split_first()?;
    analysis.p.classes.insert(*index, VarClass::Int(iteration));
    let (carried, elems) = rest.split_at(ir_loop.init.len());
    for (k, (v, init)) in carried.iter().zip(&ir_loop.init).enumerate() {
        let carry = analysis.carry(body, *v, *init, body.results[k])?;
        analysis.p.carry.push(carry);
    }
    analysis.elements(elems, &ir_loop.xs, iteration)?;
    analysis.block(body, &EnclosingScopes { loops: Vec::new(), arm: false })?;
    for (k, carry) in analysis.p.carry.iter().enumerate() {
        match carry {
            Carry::Sum(i) if analysis.p.sums[*i].latest != body.results[k] => return None,
            _ => {}
        }
    }
    for (result, out) in body.results[ir_loop.init.len()..].iter().zip(&ir_loop.outs) {
        let output = analysis.output_of(*result, *out)?;
        analysis.p.outs.push(output);
    }
    let useful = !ir_loop.outs.is_empty() || analysis.p.carry.iter().any(|c| *c != Carry::Same);
    if !useful || analysis.p.size > LONGEST {
        return None;
    }
    analysis.p.sequential |= analysis.p.carry.contains(&Carry::Fold);
    if lowered {
        // Rows are stored, so that the registers are those of one loop.
        analysis.p.inside = analysis.sizes.values().copied().max().unwrap_or(0);
    }
    analysis.end_rows();
    analysis.bound_rows()?;
    super::dependence::check(&mut analysis.p)?;
    Some(analysis.p)
}

/// The enclosing loops and branch arms of a block.
#[derive(Clone)]
pub(super) struct EnclosingScopes {
    pub loops: Vec<usize>,
    pub arm: bool,
}

pub(super) struct LoopAnalysis<'a> {
    pub f: &'a Function,
    pub body: &'a Block,
    pub p: VectorPlan,
    /// What is known of variables of the function, computed on first use.
    known: Option<HashMap<Var, VarFact>>,
    /// Numbers and Bools of the body that are the same in all iterations.
    invariant: HashSet<Var>,
    /// Whether operations on rows have been lowered to inner loops.
    pub lowered: bool,
    /// The number of Float statements of each inner loop.
    sizes: HashMap<usize, usize>,
    /// A bit mask of the inner loops around the statement.
    pub around: u64,
    /// Whether inner loops read elements again that lie apart from those of the other iterations.
    pub rereads: bool,
}

/// What is known of a variable.
#[derive(Clone)]
pub(super) enum VarFact {
    Int(i64),
    /// It is a symbolic zero.
    Zero,
    /// An array of these elements.
    Array(Vec<Var>),
}

/// What is known of the variable of a statement.
fn known(s: &Stmt) -> Option<VarFact> {
    Some(match &s.op {
        Op::Lit(Lit::I64(n)) => VarFact::Int(*n),
        Op::Zero(Ty::Array(..)) => VarFact::Zero,
        Op::ArrayLit { elems, .. } => VarFact::Array(elems.clone()),
        _ => return None,
    })
}

/// The statements of a block and its nested blocks of whose variables something is known.
pub(super) fn definitions(b: &Block) -> Vec<&Stmt> {
    fn of<'a>(b: &'a Block, out: &mut Vec<&'a Stmt>) {
        for s in &b.stmts {
            if known(s).is_some() {
                out.push(s);
            }
            s.op.blocks().into_iter().for_each(|b| stacker::maybe_grow(64 * 1024, 1024 * 1024, || of(b, out)));
        }
    }
    let mut out = Vec::new();
    of(b, &mut out);
    out
}

/// The number of uses of a variable in a block.
pub(super) fn uses(b: &Block, v: Var) -> usize {
    let mut n = b.results.iter().filter(|r| **r == v).count();
    for s in &b.stmts {
        s.op.each_operand(&mut |x| n += usize::from(x == v));
        n +=
            s.op.blocks()
                .into_iter()
                .map(|b| stacker::maybe_grow(64 * 1024, 1024 * 1024, || uses(b, v)))
                .sum::<usize>();
    }
    n
}

/// The cost of evaluating the statements of an arm.
fn weight(b: &Block) -> usize {
    let of = |s: &Stmt| {
        let inside =
            stacker::maybe_grow(64 * 1024, 1024 * 1024, || s.op.blocks().into_iter().map(weight).sum::<usize>());
        inside + if MathFunction::of(&s.op).is_some_and(|f| f.0.is_quick()) { FUNCTION } else { 1 }
    };
    b.stmts.iter().map(of).sum()
}

impl LoopAnalysis<'_> {
    /// The node of an Int expression. `None` if it may become too large.
    pub(super) fn node(&mut self, op: Int) -> Option<Node> {
        if let Some(k) = self.p.ints.iter().position(|i| i.op == op) {
            return Some(k);
        }
        let info = |k: Node| &self.p.ints[k];
        let both = |a: Node, b: Node| info(a).inner | info(b).inner;
        let (step, bits, inner) = match op {
            Int::Outside(_) | Int::Dim(..) | Int::Above(_) => (Some(0), BITS, 0),
            Int::Lit(n) => (Some(0), 65 - n.unsigned_abs().leading_zeros(), 0),
            Int::Iteration => (Some(1), BITS, 0),
            Int::Inner(k) => (Some(0), BITS, 1 << k),
            Int::Add(a, b) => {
                (info(a).step.zip(info(b).step).map(|(a, b)| a + b), info(a).bits.max(info(b).bits) + 1, both(a, b))
            }
            Int::Sub(a, b) => {
                (info(a).step.zip(info(b).step).map(|(a, b)| a - b), info(a).bits.max(info(b).bits) + 1, both(a, b))
            }
            Int::Min(a, b) | Int::Max(a, b) => {
                if [a, b].iter().any(|n| info(*n).step != Some(0)) {
                    return None;
                }
                (Some(0), info(a).bits.max(info(b).bits), both(a, b))
            }
            Int::Mul(a, b) => {
                let (p, q) = if info(a).step == Some(0) { (a, b) } else { (b, a) };
                if info(p).step != Some(0) {
                    return None;
                }
                let step = match (info(p).op, info(q).step) {
                    (_, Some(0)) => Some(0),
                    (Int::Lit(c), Some(s)) => Some(c.checked_mul(s)?),
                    _ => None,
                };
                (step, info(a).bits + info(b).bits, both(a, b))
            }
        };
        if bits > 61 {
            return None;
        }
        self.p.ints.push(IntInfo { op, step, bits, inner });
        Some(self.p.ints.len() - 1)
    }

    /// What is known of a variable.
    pub(super) fn known(&mut self, v: Var) -> Option<VarFact> {
        let f = self.f;
        let all = self.known.get_or_insert_with(|| {
            definitions(&f.body).into_iter().filter_map(|s| Some((s.outs[0], known(s)?))).collect()
        });
        all.get(&v).cloned()
    }

    /// Classifies a variable.
    pub(super) fn class(&mut self, var: Var) -> Option<VarClass> {
        if let Some(c) = self.p.classes.get(&var) {
            return Some(c.clone());
        }
        let class = match self.f.ty(var) {
            Ty::F64 | Ty::Bool => {
                self.p.numbers.push(var);
                if *self.f.ty(var) == Ty::F64 { VarClass::Float } else { VarClass::Bool }
            }
            Ty::I64 => VarClass::Int(match self.known(var) {
                Some(VarFact::Int(n)) => self.node(Int::Lit(n))?,
                _ => self.node(Int::Outside(var))?,
            }),
            ty if *ty == Ty::F64.array(1) && matches!(self.known(var), Some(VarFact::Zero)) => VarClass::Zero,
            ty if ValueForm::of(ty).holds_floats()
                || matches!(ty, Ty::Array(e, 1) if matches!(**e, Ty::I64 | Ty::Bool)) =>
            {
                self.p.arrays.push(var);
                VarClass::Part(self.p.arrays.len() - 1, AccessIndices::new())
            }
            _ => return None,
        };
        self.p.classes.insert(var, class.clone());
        Some(class)
    }

    pub(super) fn is_float(&mut self, v: Var) -> bool {
        self.class(v) == Some(VarClass::Float)
    }

    pub(super) fn int(&mut self, v: Var) -> Option<Node> {
        match self.class(v)? {
            VarClass::Int(n) => Some(n),
            _ => None,
        }
    }

    /// Classifies a carried value.
    fn carry(&mut self, b: &Block, var: Var, init: Var, result: Var) -> Option<Carry> {
        let ty = self.f.ty(var);
        if *ty == Ty::F64 && result == var {
            self.class(init)?;
            self.p.classes.insert(var, VarClass::Float);
            return Some(Carry::Same);
        }
        if *ty == Ty::F64 {
            let s = b.stmts.iter().find(|s| s.outs[..] == [result])?;
            let Op::Bin(Bin::Add | Bin::Sub | Bin::Mul | Bin::Min | Bin::Max, x, y) = &s.op else { return None };
            let once = (*x == var) != (*y == var) && uses(b, var) == 1 && uses(b, result) == 1;
            self.p.classes.insert(var, VarClass::Float);
            return once.then_some(Carry::Fold);
        }
        if !ValueForm::of(ty).is_floats() {
            return None;
        }
        self.p.sums.push(LoopSum { init, latest: var, adds: Vec::new(), shape: None, extents: SmallVec::new() });
        let k = self.p.sums.len() - 1;
        self.p.classes.insert(var, VarClass::Sum(k));
        Some(Carry::Sum(k))
    }

    /// Classifies the elements that a loop iterates over.
    pub(super) fn elements(&mut self, params: &[Var], xs: &[Var], index: Node) -> Option<()> {
        params.iter().zip(xs).try_for_each(|(param, x)| match self.class(*x)? {
            VarClass::Row(_) => self.row_element(*param, *x, index),
            VarClass::Zero => {
                self.p.rows.elements.insert(*param, Element::Zero);
                self.p.classes.insert(*param, VarClass::Float);
                Some(())
            }
            VarClass::Part(a, mut at) => {
                at.push(index);
                self.place(*param, a, at)
            }
            VarClass::At(a, position) => self.at_position(*param, a, position, index),
            _ => None,
        })
    }

    /// Classifies an element or a subarray.
    fn place(&mut self, var: Var, array: usize, at: AccessIndices) -> Option<()> {
        let rank = ValueForm::of(self.f.ty(self.p.arrays[array])).rank();
        let class = match self.f.ty(var) {
            Ty::F64 | Ty::I64 | Ty::Bool if at.len() == rank => {
                if at.iter().all(|n| self.p.ints[*n].step == Some(0)) {
                    self.invariant.insert(var);
                }
                let inner = at.iter().fold(0, |all, n| all | self.p.ints[*n].inner);
                self.rereads |= self.around & !inner != 0 && !self.is_beside(&at);
                self.p.reads.push((array, at.clone()));
                self.p.elements.insert(var, (array, at));
                match self.f.ty(var) {
                    Ty::F64 => VarClass::Float,
                    Ty::Bool => VarClass::Bool,
                    _ => VarClass::Position(self.node(Int::Above(array))?),
                }
            }
            ty if at.len() < rank && ValueForm::of(ty).holds_floats() => VarClass::Part(array, at),
            _ => return None,
        };
        self.p.classes.insert(var, class);
        Some(())
    }

    pub(super) fn block(&mut self, b: &Block, around: &EnclosingScopes) -> Option<()> {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || b.stmts.iter().try_for_each(|s| self.stmt(s, around)))
    }

    fn stmt(&mut self, stmt: &Stmt, around: &EnclosingScopes) -> Option<()> {
        self.p.size += 1;
        let floats =
            stmt.outs.iter().any(|v| *self.f.ty(*v) == Ty::F64) && !matches!(stmt.op, Op::Lit(_) | Op::Loop(_));
        if let (Some(inner), true) = (around.loops.last(), floats) {
            self.p.inside += 1;
            *self.sizes.entry(*inner).or_default() += 1;
        }
        if !stmt.lin_outs.is_empty() || self.p.size > LONGEST {
            return None;
        }
        match &stmt.op {
            Op::If(c, x, y) => return self.branch(stmt, *c, [x, y], around),
            Op::Loop(l) => return self.inner(stmt, l, around),
            Op::Prim(Prim::General(GeneralFn::Assert), vars) => return self.holds(*vars.first()?),
            Op::Index { a, at, .. } => return self.index(*stmt.outs.first()?, *a, at),
            _ => {}
        }
        let [out] = stmt.outs[..] else { return None };
        let class = self.made(&stmt.op, out, around)?;
        if matches!(class, VarClass::Float | VarClass::Bool) && self.is_invariant(&stmt.op) {
            self.invariant.insert(out);
            if let ([inner], false, Some(_)) = (&around.loops[..], around.arm, MathFunction::of(&stmt.op)) {
                self.p.rows.hoisted.push((out, *inner));
            }
        }
        self.p.classes.insert(out, class);
        Some(())
    }

    /// Whether a number depends only on numbers that are the same in all iterations.
    fn is_invariant(&self, op: &Op) -> bool {
        let scalar = matches!(
            op,
            Op::Lit(_)
                | Op::Zero(_)
                | Op::Un(..)
                | Op::Bin(..)
                | Op::Cmp(..)
                | Op::Not(_)
                | Op::Select(..)
                | Op::Convert(..)
        );
        let mut same = scalar;
        op.each_operand(&mut |v| {
            same &= match self.p.classes.get(&v) {
                Some(VarClass::Int(n)) => self.p.ints[*n].step == Some(0),
                _ => self.invariant.contains(&v) || self.p.numbers.contains(&v),
            }
        });
        same
    }

    /// Classifies an element at indices.
    fn index(&mut self, out: Var, source: Var, at: &[Var]) -> Option<()> {
        if let [i] = at[..]
            && let VarClass::Position(_) = self.class(i)?
        {
            if let (VarClass::Part(a, at), 1) = (self.class(source)?, self.f.ty(out).rank())
                && at.is_empty()
            {
                self.p.classes.insert(out, VarClass::At(a, i));
                return Some(());
            }
            return self.chosen(out, source, i);
        }
        if let [i, j] = at[..]
            && let (VarClass::Position(_), VarClass::Part(a, place)) = (self.class(i)?, self.class(source)?)
            && place.is_empty()
            && ValueForm::of(self.f.ty(self.p.arrays[a])).rank() == 2
        {
            let j = self.int(j)?;
            return self.at_position(out, a, i, j);
        }
        match (self.class(source)?, at) {
            (VarClass::Row(_), [i]) => {
                let i = self.int(*i)?;
                self.row_element(out, source, i)
            }
            (VarClass::Part(a, mut place), at) => {
                for i in at {
                    place.push(self.int(*i)?);
                }
                self.place(out, a, place)
            }
            _ => None,
        }
    }

    /// Hoists a check out of the loop.
    fn holds(&mut self, c: Var) -> Option<()> {
        if let Some(c) = self.p.checks.compared.get(&c) {
            self.p.checks.ints.push(*c);
            return Some(());
        }
        let known = self.p.classes.contains_key(&c);
        if known && !self.p.numbers.contains(&c) || self.class(c)? != VarClass::Bool {
            return None;
        }
        self.p.checks.bools.push(c);
        Some(())
    }

    /// Classifies the result of an operation.
    fn made(&mut self, op: &Op, out: Var, around: &EnclosingScopes) -> Option<VarClass> {
        Some(match op {
            Op::Lit(Lit::F64(_)) | Op::Zero(Ty::F64) => VarClass::Float,
            Op::Zero(ty) if *ty == Ty::F64.array(1) => VarClass::Zero,
            Op::Lit(Lit::Bool(_)) => VarClass::Bool,
            Op::Lit(Lit::I64(n)) => VarClass::Int(self.node(Int::Lit(*n))?),
            Op::Un(op, a) if self.is_float(*a) && is_plain(*op) => VarClass::Float,
            op if MathFunction::of(op).is_some_and(|f| f.1.iter().all(|v| self.is_float(*v))) => {
                self.call(op, out, around)?
            }
            Op::Bin(op, a, b) => self.bin(*op, [*a, *b], out, around)?,
            Op::Cmp(c, a, b) => self.comparison(*c, *a, *b, out)?,
            Op::Not(a) if self.class(*a)? == VarClass::Bool => VarClass::Bool,
            Op::Select(c, a, b) if self.class(*c)? == VarClass::Bool => match (self.class(*a)?, self.class(*b)?) {
                (VarClass::Float, VarClass::Float) => VarClass::Float,
                (VarClass::Bool, VarClass::Bool) => VarClass::Bool,
                _ => return None,
            },
            Op::Convert(Conv::ToF64, a) => match self.class(*a)? {
                VarClass::Float | VarClass::Bool | VarClass::Position(_) => VarClass::Float,
                VarClass::Int(n) if self.is_exact(n) => VarClass::Float,
                _ => return None,
            },
            Op::Dim(a, axis) => match self.class(*a)? {
                VarClass::Row(_) => self.row_length(*a)?,
                VarClass::Part(a, at) => VarClass::Int(self.node(Int::Dim(a, at.len() + *axis as usize))?),
                VarClass::At(a, _) => VarClass::Int(self.node(Int::Dim(a, 1))?),
                _ => return None,
            },
            Op::Shape(a) => match self.class(*a)? {
                VarClass::Row(_) | VarClass::Part(..) | VarClass::At(..) | VarClass::Table(_) => VarClass::Shape,
                _ => return None,
            },
            Op::Prim(..) => self.extremum(op, out, around)?,
            Op::IndexAdd { acc, at, v, shape } => self.add(*acc, (at, *v, *shape), out, around)?,
            Op::Sum { a, .. } => self.summed(*a, out, around)?,
            Op::ArrayLit { elems, .. } => self.listed(elems, out, around)?,
            _ => return None,
        })
    }

    /// Classifies a comparison of Floats, or of Ints that are exact as Floats.
    fn comparison(&mut self, cmp: Cmp, left: Var, right: Var, out: Var) -> Option<VarClass> {
        let (left_class, right_class) = (self.class(left)?, self.class(right)?);
        let comparable = |class: &VarClass| match class {
            VarClass::Int(n) => self.is_exact(*n),
            class => matches!(class, VarClass::Position(_)),
        };
        match (&left_class, &right_class) {
            (VarClass::Float, VarClass::Float) => {}
            _ if !(comparable(&left_class) && comparable(&right_class)) => return None,
            (VarClass::Int(a), VarClass::Int(b))
                if [a, b].iter().all(|n| self.p.ints[**n].step == Some(0) && self.p.ints[**n].inner == 0) =>
            {
                self.p.checks.compared.insert(out, (cmp, *a, *b));
            }
            _ => {}
        }
        Some(VarClass::Bool)
    }

    /// A function that is not an instruction. In an arm, its cost must not depend on arguments that only occur if the
    /// other arm is taken.
    fn call(&mut self, op: &Op, out: Var, around: &EnclosingScopes) -> Option<VarClass> {
        let (fun, _) = MathFunction::of(op)?;
        if around.arm && !fun.is_quick() {
            return None;
        }
        if around.loops.is_empty() {
            self.p.calls.push(out);
        } else {
            self.p.calls_inside = true;
        }
        Some(VarClass::Float)
    }

    /// Whether an Int is exact as a Float.
    pub(super) fn is_exact(&self, n: Node) -> bool {
        self.p.ints[n].bits <= EXACT
    }

    fn bin(&mut self, op: Bin, [left, right]: [Var; 2], out: Var, around: &EnclosingScopes) -> Option<VarClass> {
        Some(match (self.class(left)?, self.class(right)?) {
            (VarClass::Float, VarClass::Float) if super::super::group::is_plain_bin(op) => VarClass::Float,
            (VarClass::Int(a), VarClass::Int(b)) => VarClass::Int(match op {
                Bin::Add => self.node(Int::Add(a, b))?,
                Bin::Sub => self.node(Int::Sub(a, b))?,
                Bin::Mul => self.node(Int::Mul(a, b))?,
                Bin::Min => self.node(Int::Min(a, b))?,
                Bin::Max => self.node(Int::Max(a, b))?,
                _ => return None,
            }),
            (VarClass::Sum(k), VarClass::Row(row)) if op == Bin::Add => {
                self.add_row(k, (left, right, row), out, around)?
            }
            (VarClass::Sum(k), VarClass::Table(t)) if op == Bin::Add => self.add_table(k, left, t, out)?,
            _ => return None,
        })
    }

    /// A row added to an accumulated array: as it is made, if a loop collects nothing else, or afterwards.
    fn add_row(
        &mut self,
        sum_index: usize,
        (a, b, row): (Var, Var, usize),
        out: Var,
        around: &EnclosingScopes,
    ) -> Option<VarClass> {
        let sum = &self.p.sums[sum_index];
        if sum.latest != a || !sum.extents.is_empty() || !sum.adds.is_empty() || self.f.ty(a).rank() != 1 {
            return None;
        }
        match self.collector(row).filter(|i| self.p.inner[*i].rows.add && self.p.inner[*i].to.is_none()) {
            None => self.accumulate(sum_index, b, out, around),
            Some(i) => {
                let sum = &mut self.p.sums[sum_index];
                sum.latest = out;
                sum.extents.push(i);
                self.p.inner[i].to = Some(sum_index);
                self.p.sequential = true;
                Some(VarClass::Sum(sum_index))
            }
        }
    }

    fn add(
        &mut self,
        acc: Var,
        (at, v, shape): (&[Var], Var, Option<Var>),
        out: Var,
        around: &EnclosingScopes,
    ) -> Option<VarClass> {
        let VarClass::Sum(index) = self.class(acc)? else { return self.row_add(out, acc, (at, v, shape), around) };
        if let ([at], 1) = (at, self.f.ty(v).rank()) {
            return self.accumulate_at((index, acc, *at, shape), v, out, around);
        }
        let at = at.iter().map(|i| self.int(*i)).collect::<Option<AccessIndices>>()?;
        let whole = at.len() == self.f.ty(acc).rank() as usize && self.is_float(v);
        let known = shape.is_some_and(|v| self.p.classes.contains_key(&v));
        let sum = &mut self.p.sums[index];
        let speculative = around.arm && !around.loops.is_empty();
        if !whole || known || speculative || sum.latest != acc || !sum.extents.is_empty() {
            return None;
        }
        sum.latest = out;
        sum.shape = sum.shape.or(shape);
        sum.adds.push((at, around.loops.clone()));
        Some(VarClass::Sum(index))
    }

    /// What a result of the body gives to an output.
    fn output_of(&mut self, result: Var, out: Out) -> Option<IterationOutput> {
        Some(match (self.class(result)?, out) {
            (VarClass::Float, Out::Collect) => IterationOutput::Number,
            (VarClass::Bool, Out::Collect) => IterationOutput::Bool,
            (VarClass::Int(_) | VarClass::Position(_), Out::Collect) => IterationOutput::Int,
            (VarClass::Row(_), Out::Collect | Out::Boxed) => IterationOutput::Row(self.output(result)?),
            (VarClass::Table(t), Out::Collect) => IterationOutput::Table(t),
            _ => return None,
        })
    }

    /// If-converts a branch: both arms are computed, and results are selected.
    fn branch(&mut self, stmt: &Stmt, condition: Var, arms: [&Block; 2], around: &EnclosingScopes) -> Option<()> {
        if self.class(condition)? != VarClass::Bool || arms.iter().map(|a| weight(a)).sum::<usize>() > ARMS {
            return None;
        }
        let before: Vec<Var> = self.p.sums.iter().map(|s| s.latest).collect();
        let around = EnclosingScopes { arm: true, ..around.clone() };
        let mut ends = Vec::new();
        for arm in arms {
            self.p.sums.iter_mut().zip(&before).for_each(|(s, v)| s.latest = *v);
            self.block(arm, &around)?;
            ends.push(self.p.sums.iter().map(|s| s.latest).collect::<Vec<Var>>());
        }
        for (k, out) in stmt.outs.iter().enumerate() {
            let (x, y) = (arms[0].results[k], arms[1].results[k]);
            let class = match (self.class(x)?, self.class(y)?) {
                (VarClass::Sum(i), VarClass::Sum(j)) if i == j && ends[0][i] == x && ends[1][i] == y => {
                    self.p.sums[i].latest = *out;
                    ends.iter_mut().for_each(|e| e[i] = before[i]);
                    VarClass::Sum(i)
                }
                (a @ (VarClass::Float | VarClass::Bool), b) if a == b => a,
                _ if uses(self.body, *out) == 0 => continue,
                (a @ (VarClass::Int(_) | VarClass::Position(_)), b) => self.either_position([&a, &b])?,
                _ => self.either(*out, condition, [x, y], &around)?,
            };
            self.p.classes.insert(*out, class);
        }
        // Every array that an arm accumulates to must be a result of the branch.
        ends.iter().all(|e| *e == before).then_some(())
    }
}
