//! Analyses the body of a loop for vectorisation: loop-invariant variables, affine element accesses, and accumulations.

use super::super::group::CHUNK;
use super::super::group::is_plain;
use super::libm_stages::MathFunction;
use super::rows::RowReads;
use crate::handle::ValueForm;
use crate::limits::emit_vector_loop_plan::{ARMS, FUNCTION, LONGEST, STRIDED};
use crate::limits::emit_vector_loop_rows as rows;
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
pub(super) type At = SmallVec<[Node; 3]>;

/// The classification of a variable of the loop body.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum VarClass {
    Float,
    Bool,
    Int(Node),
    /// An array bound outside, or the subarray at leading indices.
    Part(usize, At),
    /// A row that an inner loop collects.
    Row(usize),
    /// An Int below a bound that differs from iteration to iteration. In the kernel it is a Float.
    Position(Node),
    /// An array that is accumulated to.
    Sum(usize),
}

/// An array that is carried from iteration to iteration and accumulated to.
pub(super) struct LoopSum {
    /// Its initial value.
    pub init: Var,
    /// The variable of its current version.
    latest: Var,
    /// Indices of the accumulations, and the inner loops around each.
    pub adds: Vec<(At, Vec<usize>)>,
    /// The shape to use if it is a symbolic zero.
    pub shape: Option<Var>,
    /// The inner loop whose collected row is added to it.
    pub row: Option<usize>,
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

/// An inner loop, whose trip count is the same in all iterations.
pub(super) struct Inner {
    /// The variable of its first result.
    pub name: Var,
    pub trip: Node,
    /// The inner loop that contains it.
    pub outer: Option<usize>,
    /// The array to which its collected row is added.
    pub to: Option<usize>,
    /// Collected rows that are only summed. In the kernel such a variable stands for the sum.
    pub summed: Vec<Var>,
    /// The largest trip count with which the outer loop is vectorised.
    pub longest: i64,
    /// What its rows may be used for.
    pub rows: RowUse,
}

/// What the rows of an inner loop may be used for, besides their elements.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct RowUse {
    pub sum: bool,
    pub add: bool,
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
pub(super) struct VectorPlan {
    pub ints: Vec<IntInfo>,
    pub classes: HashMap<Var, VarClass>,
    /// Array elements that loops iterate over, and their accesses.
    pub elements: HashMap<Var, (usize, At)>,
    /// Arrays bound outside that are read.
    pub arrays: Vec<Var>,
    /// Floats and Bools bound outside.
    pub numbers: Vec<Var>,
    /// Accesses that must be in bounds.
    pub reads: Vec<(usize, At)>,
    pub checks: Checks,
    pub sums: Vec<LoopSum>,
    pub carry: Vec<Carry>,
    pub inner: Vec<Inner>,
    /// The rows whose elements are read.
    pub rows: RowReads,
    /// Results of functions that are called on a strip of iterations.
    pub calls: Vec<Var>,
    /// Whether inner loops call functions.
    pub calls_inside: bool,
    /// The number of statements.
    pub size: usize,
    /// The number of Float statements in inner loops.
    pub inside: usize,
    /// Whether inner loops contain inner loops.
    pub nested: bool,
    /// Whether strips must run in order, because of an order-dependent accumulation.
    pub sequential: bool,
    /// The iteration in which two accumulations may collide.
    pub meets: Option<Node>,
}

/// Makes the plan of a loop. `None` if it cannot be vectorised.
pub(super) fn plan(func: &Function, ir_loop: &Loop) -> Option<VectorPlan> {
    let Trip::Count(_) = ir_loop.trip else { return None };
    let body = &ir_loop.body;
    if !(ir_loop.lin_init.is_empty() && ir_loop.lin_xs.is_empty() && ir_loop.lin_outs.is_empty()) {
        return None;
    }
    let plan = VectorPlan {
        ints: Vec::new(),
        classes: HashMap::new(),
        elements: HashMap::new(),
        arrays: Vec::new(),
        numbers: Vec::new(),
        reads: Vec::new(),
        checks: Checks::default(),
        sums: Vec::new(),
        carry: Vec::new(),
        inner: Vec::new(),
        rows: RowReads::default(),
        calls: Vec::new(),
        calls_inside: false,
        size: 0,
        inside: 0,
        nested: false,
        sequential: false,
        meets: None,
    };
    let mut analysis = LoopAnalysis { f: func, p: plan, literals: None, invariant: HashSet::new() };
    let iteration = analysis.node(Int::Iteration)?;
    let (index, rest) = body.params.split_first()?;
    analysis.p.classes.insert(*index, VarClass::Int(iteration));
    let (carried, elems) = rest.split_at(ir_loop.init.len());
    for (k, (v, init)) in carried.iter().zip(&ir_loop.init).enumerate() {
        let carry = analysis.carry(body, *v, *init, body.results[k])?;
        analysis.p.carry.push(carry);
    }
    analysis.elements(elems, &ir_loop.xs, iteration)?;
    analysis.block(body, &Around { loops: Vec::new(), arm: false })?;
    for (k, carry) in analysis.p.carry.iter().enumerate() {
        match carry {
            Carry::Sum(i) if analysis.p.sums[*i].latest != body.results[k] => return None,
            _ => {}
        }
    }
    let floats = body.results[ir_loop.init.len()..].iter().all(|r| analysis.is_float(*r))
        && ir_loop.outs.iter().all(|o| *o == Out::Collect);
    let useful = !ir_loop.outs.is_empty() || analysis.p.carry.iter().any(|c| *c != Carry::Same);
    if !floats || !useful || analysis.p.size > LONGEST {
        return None;
    }
    analysis.p.sequential |= analysis.p.carry.contains(&Carry::Fold);
    analysis.end_rows();
    analysis.bound_rows()?;
    super::dependence::check(&mut analysis.p)?;
    Some(analysis.p)
}

/// The enclosing loops and branch arms of a block.
#[derive(Clone)]
pub(super) struct Around {
    pub loops: Vec<usize>,
    arm: bool,
}

pub(super) struct LoopAnalysis<'a> {
    pub f: &'a Function,
    pub p: VectorPlan,
    /// The Int literals of the function, computed on first use.
    literals: Option<HashMap<Var, i64>>,
    /// Numbers and Bools of the body that are the same in all iterations.
    invariant: HashSet<Var>,
}

/// Collects the Int literals of a block and its nested blocks.
fn literals(b: &Block, out: &mut HashMap<Var, i64>) {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
        for s in &b.stmts {
            match (&s.op, &s.outs[..]) {
                (Op::Lit(Lit::I64(n)), [v]) => _ = out.insert(*v, *n),
                (op, _) => op.blocks().into_iter().for_each(|b| literals(b, out)),
            }
        }
    });
}

fn uses(b: &Block, v: Var) -> usize {
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
            Int::Outside(_) | Int::Dim(..) => (Some(0), BITS, 0),
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

    /// The literal value of an Int bound outside.
    fn literal(&mut self, v: Var) -> Option<i64> {
        let f = self.f;
        let all = self.literals.get_or_insert_with(|| {
            let mut all = HashMap::new();
            literals(&f.body, &mut all);
            all
        });
        all.get(&v).copied()
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
            Ty::I64 => {
                let known = self.literal(var);
                VarClass::Int(self.node(known.map_or(Int::Outside(var), Int::Lit))?)
            }
            ty if ValueForm::of(ty).holds_floats() => {
                self.p.arrays.push(var);
                VarClass::Part(self.p.arrays.len() - 1, At::new())
            }
            _ => return None,
        };
        self.p.classes.insert(var, class.clone());
        Some(class)
    }

    fn is_float(&mut self, v: Var) -> bool {
        self.class(v) == Some(VarClass::Float)
    }

    fn int(&mut self, v: Var) -> Option<Node> {
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
        self.p.sums.push(LoopSum { init, latest: var, adds: Vec::new(), shape: None, row: None });
        let k = self.p.sums.len() - 1;
        self.p.classes.insert(var, VarClass::Sum(k));
        Some(Carry::Sum(k))
    }

    /// Classifies the elements that a loop iterates over.
    fn elements(&mut self, params: &[Var], xs: &[Var], index: Node) -> Option<()> {
        params.iter().zip(xs).try_for_each(|(p, x)| match self.class(*x)? {
            VarClass::Row(inner) => self.row_element(*p, (*x, inner), index),
            VarClass::Part(a, mut at) => {
                at.push(index);
                self.place(*p, a, at)
            }
            _ => None,
        })
    }

    /// Classifies an element or a subarray.
    fn place(&mut self, var: Var, a: usize, at: At) -> Option<()> {
        let rank = ValueForm::of(self.f.ty(self.p.arrays[a])).rank();
        let class = match self.f.ty(var) {
            Ty::F64 if at.len() == rank => {
                if at.iter().all(|n| self.p.ints[*n].step == Some(0)) {
                    self.invariant.insert(var);
                }
                self.p.reads.push((a, at.clone()));
                self.p.elements.insert(var, (a, at));
                VarClass::Float
            }
            ty if at.len() < rank && ValueForm::of(ty).holds_floats() => VarClass::Part(a, at),
            _ => return None,
        };
        self.p.classes.insert(var, class);
        Some(())
    }

    fn block(&mut self, b: &Block, around: &Around) -> Option<()> {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || b.stmts.iter().try_for_each(|s| self.stmt(s, around)))
    }

    fn stmt(&mut self, stmt: &Stmt, around: &Around) -> Option<()> {
        self.p.size += 1;
        let floats =
            stmt.outs.iter().any(|v| *self.f.ty(*v) == Ty::F64) && !matches!(stmt.op, Op::Lit(_) | Op::Loop(_));
        self.p.inside += usize::from(!around.loops.is_empty() && floats);
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
    fn index(&mut self, out: Var, a: Var, at: &[Var]) -> Option<()> {
        if let [i] = at[..]
            && let VarClass::Position(_) = self.class(i)?
        {
            return self.chosen(out, a, i);
        }
        match (self.class(a)?, at) {
            (VarClass::Row(inner), [i]) => {
                let i = self.int(*i)?;
                self.row_element(out, (a, inner), i)
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
    fn made(&mut self, op: &Op, out: Var, around: &Around) -> Option<VarClass> {
        Some(match op {
            Op::Lit(Lit::F64(_)) | Op::Zero(Ty::F64) => VarClass::Float,
            Op::Lit(Lit::Bool(_)) => VarClass::Bool,
            Op::Lit(Lit::I64(n)) => VarClass::Int(self.node(Int::Lit(*n))?),
            Op::Un(op, a) if self.is_float(*a) && is_plain(*op) => VarClass::Float,
            op if MathFunction::of(op).is_some_and(|f| f.1.iter().all(|v| self.is_float(*v))) => {
                self.call(op, out, around)?
            }
            Op::Bin(op, a, b) => self.bin(*op, *a, *b, out)?,
            Op::Cmp(c, a, b) => self.comparison(*c, *a, *b, out)?,
            Op::Not(a) if self.class(*a)? == VarClass::Bool => VarClass::Bool,
            Op::Select(c, a, b) if self.class(*c)? == VarClass::Bool => match (self.class(*a)?, self.class(*b)?) {
                (VarClass::Float, VarClass::Float) => VarClass::Float,
                (VarClass::Bool, VarClass::Bool) => VarClass::Bool,
                _ => return None,
            },
            Op::Convert(Conv::ToF64, a) => match self.class(*a)? {
                VarClass::Float | VarClass::Bool | VarClass::Position(_) => VarClass::Float,
                VarClass::Int(n) if self.exact(n) => VarClass::Float,
                _ => return None,
            },
            Op::Dim(a, axis) => match self.class(*a)? {
                VarClass::Row(inner) => self.row_length(*a, inner)?,
                VarClass::Part(a, at) => VarClass::Int(self.node(Int::Dim(a, at.len() + *axis as usize))?),
                _ => return None,
            },
            Op::Prim(..) => self.extremum(op, out, around)?,
            Op::IndexAdd { acc, at, v, shape } => self.add(*acc, (at, *v, *shape), out, around)?,
            Op::Sum { a, .. } => self.summed(*a)?,
            _ => return None,
        })
    }

    /// Classifies a comparison of Floats, or of Ints that are exact as Floats.
    fn comparison(&mut self, c: Cmp, a: Var, b: Var, out: Var) -> Option<VarClass> {
        let (a, b) = (self.class(a)?, self.class(b)?);
        let comparable = |class: &VarClass| match class {
            VarClass::Int(n) => self.exact(*n),
            class => matches!(class, VarClass::Position(_)),
        };
        match (&a, &b) {
            (VarClass::Float, VarClass::Float) => {}
            _ if !(comparable(&a) && comparable(&b)) => return None,
            (VarClass::Int(a), VarClass::Int(b))
                if [a, b].iter().all(|n| self.p.ints[**n].step == Some(0) && self.p.ints[**n].inner == 0) =>
            {
                self.p.checks.compared.insert(out, (c, *a, *b));
            }
            _ => {}
        }
        Some(VarClass::Bool)
    }

    /// A sum of the row that an inner loop collects.
    fn summed(&mut self, row: Var) -> Option<VarClass> {
        let VarClass::Row(i) = self.class(row)? else { return None };
        let inner = &mut self.p.inner[i];
        if !inner.rows.sum {
            return None;
        }
        if !inner.summed.contains(&row) {
            inner.summed.push(row);
        }
        Some(VarClass::Float)
    }

    /// A function that is not an instruction. In an arm, its cost must not depend on arguments that only occur if the
    /// other arm is taken.
    fn call(&mut self, op: &Op, out: Var, around: &Around) -> Option<VarClass> {
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

    fn exact(&self, n: Node) -> bool {
        self.p.ints[n].bits <= EXACT
    }

    fn bin(&mut self, op: Bin, a: Var, b: Var, out: Var) -> Option<VarClass> {
        Some(match (self.class(a)?, self.class(b)?) {
            (VarClass::Float, VarClass::Float) if super::super::group::is_plain_bin(op) => VarClass::Float,
            (VarClass::Int(a), VarClass::Int(b)) => VarClass::Int(match op {
                Bin::Add => self.node(Int::Add(a, b))?,
                Bin::Sub => self.node(Int::Sub(a, b))?,
                Bin::Mul => self.node(Int::Mul(a, b))?,
                Bin::Min => self.node(Int::Min(a, b))?,
                Bin::Max => self.node(Int::Max(a, b))?,
                _ => return None,
            }),
            (VarClass::Sum(k), VarClass::Row(i))
                if op == Bin::Add
                    && self.p.inner[i].rows.add
                    && self.p.sums[k].latest == a
                    && self.f.ty(a).rank() == 1 =>
            {
                let sum = &mut self.p.sums[k];
                if sum.row.is_some() || !sum.adds.is_empty() || self.p.inner[i].to.is_some() {
                    return None;
                }
                (sum.latest, sum.row) = (out, Some(i));
                self.p.inner[i].to = Some(k);
                self.p.sequential = true;
                VarClass::Sum(k)
            }
            _ => return None,
        })
    }

    fn add(
        &mut self,
        acc: Var,
        (at, v, shape): (&[Var], Var, Option<Var>),
        out: Var,
        around: &Around,
    ) -> Option<VarClass> {
        let VarClass::Sum(index) = self.class(acc)? else { return None };
        let at = at.iter().map(|i| self.int(*i)).collect::<Option<At>>()?;
        let whole = at.len() == self.f.ty(acc).rank() as usize && self.is_float(v);
        let known = shape.is_some_and(|v| self.p.classes.contains_key(&v));
        let sum = &mut self.p.sums[index];
        let speculative = around.arm && !around.loops.is_empty();
        if !whole || known || speculative || sum.latest != acc || sum.row.is_some() {
            return None;
        }
        sum.latest = out;
        sum.shape = sum.shape.or(shape);
        sum.adds.push((at, around.loops.clone()));
        Some(VarClass::Sum(index))
    }

    /// If-converts a branch: both arms are computed, and results are selected.
    fn branch(&mut self, stmt: &Stmt, c: Var, arms: [&Block; 2], around: &Around) -> Option<()> {
        if self.class(c)? != VarClass::Bool || arms.iter().map(|a| weight(a)).sum::<usize>() > ARMS {
            return None;
        }
        let before: Vec<Var> = self.p.sums.iter().map(|s| s.latest).collect();
        let around = Around { arm: true, ..around.clone() };
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
                _ => return None,
            };
            self.p.classes.insert(*out, class);
        }
        // Every array that an arm accumulates to must be a result of the branch.
        ends.iter().all(|e| *e == before).then_some(())
    }

    /// An inner loop that carries numbers or collects rows.
    fn inner(&mut self, stmt: &Stmt, ir_loop: &Loop, around: &Around) -> Option<()> {
        let Trip::Count(trip_count) = ir_loop.trip else { return None };
        let numbers = ir_loop.init.iter().all(|v| *self.f.ty(*v) == Ty::F64);
        let plain = ir_loop.lin_init.is_empty() && ir_loop.lin_xs.is_empty() && ir_loop.lin_outs.is_empty();
        if !numbers || !plain || self.p.inner.len() > rows::INNER_LOOPS {
            return None;
        }
        let trip = self.int(trip_count)?;
        if self.p.ints[trip].step != Some(0) {
            return None;
        }
        let position = self.p.inner.len();
        self.p.nested |= !around.loops.is_empty();
        self.p.rows.speculative |= around.arm;
        let add =
            ir_loop.outs[..] == [Out::Collect] && !ir_loop.init.is_empty() && around.loops.is_empty() && !around.arm;
        let rows = RowUse { sum: !ir_loop.reverse, add };
        let name = *stmt.outs.first()?;
        self.p.inner.push(Inner {
            name,
            trip,
            outer: around.loops.last().copied(),
            to: None,
            summed: Vec::new(),
            longest: i64::MAX,
            rows,
        });
        let mut index = self.node(Int::Inner(position))?;
        if ir_loop.reverse {
            let (one, first) = (self.node(Int::Lit(1))?, self.node(Int::Sub(trip, index))?);
            index = self.node(Int::Sub(first, one))?;
        }
        let (i, rest) = ir_loop.body.params.split_first()?;
        self.p.classes.insert(*i, VarClass::Int(index));
        let (carried, elems) = rest.split_at(ir_loop.init.len());
        for (v, init) in carried.iter().zip(&ir_loop.init) {
            if !self.is_float(*init) {
                return None;
            }
            self.p.classes.insert(*v, VarClass::Float);
        }
        self.elements(elems, &ir_loop.xs, index)?;
        let loops = around.loops.iter().copied().chain([position]).collect();
        self.block(&ir_loop.body, &Around { loops, arm: around.arm })?;
        if !ir_loop.body.results.iter().all(|r| self.is_float(*r)) {
            return None;
        }
        self.inner_results(stmt, ir_loop, position, trip)
    }

    /// Classifies the results of an inner loop.
    fn inner_results(&mut self, stmt: &Stmt, ir_loop: &Loop, position: usize, trip: Node) -> Option<()> {
        let kinds = std::iter::repeat_n(None, ir_loop.init.len()).chain(ir_loop.outs.iter().map(Some));
        for (v, kind) in stmt.outs.iter().zip(kinds) {
            let class = match kind {
                None | Some(Out::Sum) => VarClass::Float,
                Some(Out::Collect) => VarClass::Row(position),
                Some(Out::Boxed) => return None,
            };
            self.p.classes.insert(*v, class);
        }
        // The trip count as a result: the length of its rows.
        if let Some(count) = stmt.outs.get(ir_loop.init.len() + ir_loop.outs.len()) {
            let zero = self.node(Int::Lit(0))?;
            let length = self.node(Int::Max(trip, zero))?;
            self.p.classes.insert(*count, VarClass::Int(length));
        }
        Some(())
    }

    /// Bounds the trip counts of inner loops that sum rows. Their iterations are independent, so the inner loop itself
    /// could be vectorised instead. That is better for long loops, unless the elements of subsequent outer iterations
    /// lie side by side. `None` if the outer loop should not be vectorised at all.
    fn bound_rows(&mut self) -> Option<()> {
        let step = |n: &Node| self.p.ints[*n].step;
        let beside = |at: &At| {
            let (last, rows) = at.split_last()?;
            let row = matches!(step(last), Some(0 | 1)) && rows.iter().all(|n| step(n) == Some(0));
            Some(row)
        };
        let in_loops = |at: &At| at.iter().any(|n| self.p.ints[*n].inner != 0);
        let strided = self.p.reads.iter().any(|(_, at)| in_loops(at) && beside(at) != Some(true));
        let sums = self.p.inner.iter().filter(|i| !i.summed.is_empty()).count();
        if strided && sums > 0 && self.p.nested {
            return None;
        }
        if self.p.rows.any() {
            let longest = if strided { STRIDED } else { rows::LONGEST };
            self.p.inner.iter_mut().for_each(|i| i.longest = longest);
            return Some(());
        }
        if self.p.rows.speculative {
            return None;
        }
        let longest = if strided { STRIDED } else { CHUNK };
        self.p.inner.iter_mut().filter(|i| !i.summed.is_empty()).for_each(|i| i.longest = longest);
        Some(())
    }
}
