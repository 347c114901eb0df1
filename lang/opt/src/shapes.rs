//! Shape propagation: shapes that can be computed without the array, from what it was made of. `shape` and `dim` of
//! an array made in a loop become those of an array from before the loop, so that reverse mode need not store the
//! array for its shape. Literal indices are proved to be in bounds, and a slice of an entire array is that array.
//!
//! Every array has a *form*, one `AxisExtent` for each axis. A carried array has the form of its initial value if
//! every iteration returns it in that form; this is assumed until refuted. Assertions about extents hold in the
//! rest of their block. A loop's index is in bounds of arrays with as many elements as the loop has iterations, so
//! bounds tests become literals (`bounds`).
//!
//! A symbolic zero has no shape, though the array to which it is added has one. The analysis is for functions called
//! without symbolic zeros. If a function creates some, the analysis tracks which variables may be symbolic zeros
//! (`symbolic_zeros`) and derives nothing from those.

mod bounds;
mod reductions;
mod symbolic_zeros;
mod zero_arguments;

use crate::limits::shapes::DEEPEST;
use adl_ir::rewrite::rename::rename;
use adl_ir::shape_rule::Shapes;
use adl_ir::{Block, Cmp, FnId, Function, Lit, Loop, Op, Out, Stmt, Trip, Ty, Var};
use adl_prim::{GeneralFn, Prim};
use bounds::IndexBounds;
use std::collections::{HashMap, HashSet};

pub use zero_arguments::receivers;

/// Largest rank for which the shape of an array is written out element by element. Reverse mode then knows that it has the
/// extents of loops; with more axes, `shape` of another array is cheaper.
const WRITTEN: usize = 2;

/// The extent of an axis.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum AxisExtent {
    Lit(i64),
    /// The value of an Int variable.
    Is(Var),
    /// An axis of an array of which nothing else is known.
    Of(Var, u32),
}

type ShapeForm = Vec<AxisExtent>;

/// Replaces `shape` and `dim` by what is known, in a function that is called without symbolic zeros. Returns the
/// results of `index` statements that cannot fail.
pub fn known(func: &mut Function) -> HashSet<Var> {
    let zeros = if makes_symbolic_zero(&func.body, func) { Tracked::All } else { Tracked::No };
    let ShapeAnalysis { found, safe, bounds, entire, .. } = analysis(func, zeros);
    let mut body = std::mem::take(&mut func.body);
    write(func, &mut body, &found);
    bounds.write(&mut body);
    rename(&mut body, &origins(entire));
    func.body = body;
    safe
}

/// The slices of entire arrays, with arrays that are no such slices.
fn origins(entire: HashMap<Var, Var>) -> HashMap<Var, Var> {
    let origin = |mut a: Var| {
        while let Some(of) = entire.get(&a) {
            a = *of;
        }
        a
    };
    entire.iter().map(|(part, of)| (*part, origin(*of))).collect()
}

/// The arrays of a function called without symbolic zeros that may be some, because it or its callees create some.
pub fn symbolic_zeros(f: &Function) -> HashSet<Var> {
    let zeros = if makes_symbolic_zero(&f.body, f) { Tracked::All } else { Tracked::OfCallees };
    analysis(f, zeros).symbolic_zero
}

/// The same, if the function itself creates symbolic zeros, as derivatives do; otherwise none.
pub fn own_symbolic_zeros(f: &Function) -> HashSet<Var> {
    if makes_symbolic_zero(&f.body, f) { symbolic_zeros(f) } else { HashSet::new() }
}

/// The extents of the arrays of a function that is called without symbolic zeros, as far as they are known.
pub struct Extents {
    forms: HashMap<Var, ShapeForm>,
    /// Ints that are extents or literals.
    ints: HashMap<Var, AxisExtent>,
    /// Equalities asserted outside of loops and branches.
    facts: Vec<(AxisExtent, AxisExtent)>,
}

impl Extents {
    /// Those of the non-linear arrays.
    pub fn of(f: &Function) -> Extents {
        let analysis = analysis(f, Tracked::All);
        let forms = analysis.forms.keys().map(|v| (*v, analysis.form(*v))).collect();
        let facts = analysis.facts.iter().map(|(a, b, _)| (*a, *b)).collect();
        Extents { forms, facts, ints: analysis.ints }
    }

    /// Whether an array has the extent `n` along an axis.
    pub fn is(&self, array: Var, axis: usize, n: Var) -> bool {
        let extent = self.forms.get(&array).and_then(|form| form.get(axis));
        extent.is_some_and(|e| self.origin(*e) == self.origin(AxisExtent::Is(n)))
    }

    /// Whether two arrays have the same extent along an axis.
    pub fn agree(&self, a: Var, b: Var, axis: usize) -> bool {
        let [a, b] = [a, b].map(|v| self.forms.get(&v).and_then(|form| form.get(axis)).map(|e| self.origin(*e)));
        a.is_some() && a == b
    }

    /// The extent of an array along an axis, if it is a literal.
    pub fn literal(&self, array: Var, axis: usize) -> Option<i64> {
        match self.origin(*self.forms.get(&array)?.get(axis)?) {
            AxisExtent::Lit(n) => Some(n),
            AxisExtent::Is(_) | AxisExtent::Of(..) => None,
        }
    }

    /// An extent that equals this one, the same for all that are known to be equal.
    fn origin(&self, mut extent: AxisExtent) -> AxisExtent {
        // Each fact leads to a variable bound further out or to a literal.
        for _ in 0..=self.facts.len() {
            if let AxisExtent::Is(v) = extent {
                extent = self.ints.get(&v).copied().unwrap_or(extent);
            }
            match self.facts.iter().rev().find(|(a, _)| *a == extent) {
                Some((_, b)) => extent = *b,
                None => break,
            }
        }
        extent
    }

    /// Whether all extents of an array are constants or known from variables other than these.
    pub fn known_without(&self, array: Var, these: &HashSet<Var>) -> bool {
        self.forms.get(&array).is_some_and(|form| {
            form.iter().all(|e| match e {
                AxisExtent::Lit(_) => true,
                AxisExtent::Is(v) | AxisExtent::Of(v, _) => !these.contains(v),
            })
        })
    }

    /// Records that an array has a row of the form of `row` for each of `count` iterations.
    pub fn collect(&mut self, array: Var, count: Option<Var>, row: Var) {
        let rows = self.forms.get(&row).cloned().unwrap_or_default();
        self.forms.insert(array, [vec![count.map_or(AxisExtent::Of(array, 0), AxisExtent::Is)], rows].concat());
    }
}

fn analysis(f: &Function, zeros: Tracked) -> ShapeAnalysis<'_> {
    analyse(f, zeros, &|_| (), None)
}

/// Whether a result of a function, at this position, may be a symbolic zero.
type Returned<'a> = &'a dyn Fn(FnId, usize) -> bool;

/// Analyses a function after `begin` has recorded what is known of its parameters.
fn analyse<'a>(
    function: &'a Function,
    zeros: Tracked,
    begin: &dyn Fn(&mut ShapeAnalysis<'a>),
    returned: Option<Returned<'a>>,
) -> ShapeAnalysis<'a> {
    let mut analysis = ShapeAnalysis {
        f: function,
        zeros,
        returned,
        symbolic_zero: HashSet::new(),
        forms: HashMap::new(),
        level: HashMap::new(),
        now: 0,
        loops: 0,
        ints: HashMap::new(),
        equal: HashMap::new(),
        facts: Vec::new(),
        not_negative: HashMap::new(),
        natural: Vec::new(),
        found: HashMap::new(),
        entire: HashMap::new(),
        safe: HashSet::new(),
        bounds: IndexBounds::default(),
        stacks: HashMap::new(),
    };
    for v in &function.body.params {
        analysis.own(*v);
    }
    begin(&mut analysis);
    analysis.block(&function.body);
    analysis
}

/// Whether a non-linear value may be a symbolic zero.
fn makes_symbolic_zero(b: &Block, f: &Function) -> bool {
    b.stmts.iter().any(|s| {
        let symbolic_zero =
            matches!(s.op, Op::Zero(_)) && s.outs.iter().any(|v| f.ty(*v).rank() > 0 || !f.ty(*v).is_flat());
        symbolic_zero
            || stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
                s.op.blocks().into_iter().any(|b| makes_symbolic_zero(b, f))
            })
    })
}

/// Replaces shape queries by what was found.
fn write(func: &mut Function, block: &mut Block, found: &HashMap<Var, ShapeForm>) {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
        let mut out = Vec::with_capacity(block.stmts.len());
        for mut stmt in std::mem::take(&mut block.stmts) {
            stmt.op.blocks_mut().into_iter().for_each(|b| write(func, b, found));
            if let Some(form) = stmt.outs.first().and_then(|v| found.get(v)) {
                // A shape is written out from extents that are also used elsewhere. With many axes, `shape` of
                // another array is cheaper.
                stmt.op = match (&stmt.op, whole(func, form).filter(|_| form.len() > WRITTEN)) {
                    (Op::Shape(_), Some(a)) => Op::Shape(a),
                    (Op::Shape(_), None) => Op::ArrayLit {
                        elems: form.iter().map(|e| int(func, *e, &stmt, &mut out)).collect(),
                        shape: None,
                    },
                    (_, _) => match form[0] {
                        AxisExtent::Lit(n) => Op::Lit(Lit::I64(n)),
                        AxisExtent::Of(a, k) => Op::Dim(a, k),
                        AxisExtent::Is(_) => stmt.op,
                    },
                };
            }
            out.push(stmt);
        }
        block.stmts = out;
    });
}

/// The array whose entire shape this form is.
fn whole(f: &Function, form: &ShapeForm) -> Option<Var> {
    let Some(AxisExtent::Of(a, 0)) = form.first() else { return None };
    let all = f.ty(*a).rank() as usize == form.len()
        && form.iter().enumerate().all(|(k, e)| *e == AxisExtent::Of(*a, k as u32));
    all.then_some(*a)
}

/// A variable with the value of the extent.
fn int(f: &mut Function, e: AxisExtent, like: &Stmt, out: &mut Vec<Stmt>) -> Var {
    let op = match e {
        AxisExtent::Is(v) => return v,
        AxisExtent::Lit(n) => Op::Lit(Lit::I64(n)),
        AxisExtent::Of(a, k) => Op::Dim(a, k),
    };
    let v = f.fresh(Ty::I64, false);
    out.push(Stmt { op, outs: vec![v], lin_outs: Vec::new(), span: like.span });
    v
}

/// Which symbolic zeros the analysis tracks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tracked {
    /// None: there are none.
    No,
    /// Those that calls return.
    OfCallees,
    /// Also those that the function creates, or takes from data.
    All,
}

struct ShapeAnalysis<'a> {
    f: &'a Function,
    forms: HashMap<Var, ShapeForm>,
    /// Which symbolic zeros are tracked, and which variables may be some.
    zeros: Tracked,
    symbolic_zero: HashSet<Var>,
    /// Which results of calls may be symbolic zeros; if it is not known, all of them.
    returned: Option<Returned<'a>>,
    /// The block depth at which each variable is bound.
    level: HashMap<Var, usize>,
    now: usize,
    loops: usize,
    /// Ints that are extents or literals.
    ints: HashMap<Var, AxisExtent>,
    /// Comparisons for equality.
    equal: HashMap<Var, (Var, Var)>,
    /// Asserted equalities, as replacements of the first extent by the second, with the block depth of the assertion.
    facts: Vec<(AxisExtent, AxisExtent, usize)>,
    /// Comparisons that an Int is not negative.
    not_negative: HashMap<Var, Var>,
    /// Ints that were asserted not to be negative.
    natural: Vec<Var>,
    /// Results: a form for each `shape`, one extent for each `dim`.
    found: HashMap<Var, ShapeForm>,
    /// Slices of entire arrays, and those arrays.
    entire: HashMap<Var, Var>,
    safe: HashSet<Var>,
    bounds: IndexBounds,
    /// Elements of arrays of Ints.
    stacks: HashMap<Var, Vec<Var>>,
}

/// The forms of operands, to derive that of the result `out`.
struct ResultForm<'a> {
    analysis: &'a ShapeAnalysis<'a>,
    out: Var,
}

impl Shapes for ResultForm<'_> {
    type Extent = AxisExtent;

    fn shape(&self, v: Var) -> Option<ShapeForm> {
        Some(self.analysis.form(v))
    }
    fn int(&self, v: Var) -> AxisExtent {
        self.analysis.plain(AxisExtent::Is(v))
    }
    fn constant(&self, n: usize) -> AxisExtent {
        AxisExtent::Lit(n as i64)
    }
    /// The number of rows of a slice, which is known only from the slice unless both bounds are literals.
    fn difference(&self, hi: Var, lo: Var) -> AxisExtent {
        match [hi, lo].map(|v| self.analysis.plain(AxisExtent::Is(v))) {
            [AxisExtent::Lit(hi), AxisExtent::Lit(lo)] if 0 <= lo && lo <= hi => AxisExtent::Lit(hi - lo),
            // An end that is negative, or beyond the array, is an error of the slice.
            [AxisExtent::Lit(..0), _] => AxisExtent::Of(self.out, 0),
            [hi, AxisExtent::Lit(0)] => hi,
            _ => AxisExtent::Of(self.out, 0),
        }
    }
    fn sum(&self, _: AxisExtent, _: AxisExtent) -> AxisExtent {
        AxisExtent::Of(self.out, 0)
    }
    fn elements(&self, list: Var) -> Option<ShapeForm> {
        Some(self.analysis.stacks.get(&list)?.iter().map(|n| self.int(*n)).collect())
    }
    fn widest(&self, operands: &[Var]) -> Option<ShapeForm> {
        operands.iter().map(|v| self.analysis.form(*v)).reduce(|a, b| self.analysis.wider(a, b))
    }
}

impl ShapeAnalysis<'_> {
    fn rank(&self, v: Var) -> u32 {
        self.f.ty(v).rank()
    }

    /// Records that a variable is bound here, with no known shape.
    fn own(&mut self, v: Var) {
        self.level.insert(v, self.now);
        self.ints.remove(&v);
        self.equal.remove(&v);
        self.symbolic_zero.remove(&v);
        self.forms.insert(v, (0..self.rank(v)).map(|k| AxisExtent::Of(v, k)).collect());
    }

    fn form(&self, v: Var) -> ShapeForm {
        match self.forms.get(&v) {
            Some(form) => form.iter().map(|e| self.plain(*e)).collect(),
            None => (0..self.rank(v)).map(|k| AxisExtent::Of(v, k)).collect(),
        }
    }

    /// The extent that an Int was made from, without assertions.
    fn plain(&self, e: AxisExtent) -> AxisExtent {
        match e {
            AxisExtent::Is(v) => self.ints.get(&v).copied().unwrap_or(e),
            _ => e,
        }
    }

    /// The value of an extent, if it is known by definition or by assertions at most `within` blocks deep.
    fn known_value(&self, e: AxisExtent, within: usize) -> Option<i64> {
        let mut e = e;
        // Each fact leads to a variable bound further out or to a literal.
        for _ in 0..=self.facts.len() {
            match self.plain(e) {
                AxisExtent::Lit(n) => return Some(n),
                plain => e = self.facts.iter().rev().find(|(a, _, level)| *a == plain && *level <= within)?.1,
            }
        }
        None
    }

    fn depth(&self, e: AxisExtent) -> usize {
        match e {
            AxisExtent::Lit(_) => 0,
            AxisExtent::Is(v) | AxisExtent::Of(v, _) => self.level.get(&v).copied().unwrap_or(usize::MAX),
        }
    }

    /// Uses an asserted equality: from now on, the extent bound further in is replaced by the other.
    fn fact(&mut self, x: Var, y: Var) {
        let (a, b) = (self.plain(AxisExtent::Is(x)), self.plain(AxisExtent::Is(y)));
        let literal = |e: AxisExtent| matches!(e, AxisExtent::Lit(_));
        if a == b || literal(a) && literal(b) {
            return;
        }
        let swapped = literal(a) || !literal(b) && self.depth(a) < self.depth(b);
        let (of, is) = if swapped { (b, a) } else { (a, b) };
        self.facts.push((of, is, self.now));
    }

    fn block(&mut self, b: &Block) {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
            for s in &b.stmts {
                self.stmt(s);
            }
        });
    }

    /// Processes a nested block; facts established in it are dropped at its end.
    fn inner(&mut self, b: &Block) {
        let (facts, natural) = (self.facts.len(), self.natural.len());
        self.now += 1;
        self.block(b);
        self.now -= 1;
        self.facts.truncate(facts);
        self.natural.truncate(natural);
    }

    fn stmt(&mut self, stmt: &Stmt) {
        stmt.outs.iter().for_each(|v| self.own(*v));
        match &stmt.op {
            Op::Prim(Prim::General(GeneralFn::Assert), args) => {
                if let Some((x, y)) = args.first().and_then(|c| self.equal.get(c)).copied() {
                    self.fact(x, y);
                }
                self.natural.extend(args.first().and_then(|c| self.not_negative.get(c)));
            }
            Op::If(_, a, b) => self.branches(stmt, &[&**a, &**b]),
            Op::Switch(_, arms) => self.branches(stmt, &arms.iter().collect::<Vec<_>>()),
            Op::Loop(l) => self.looped(stmt, l),
            Op::Soac(soac) => {
                self.note_symbolic_zeros(stmt);
                self.combined(stmt, soac);
            }
            Op::ReduceByIndex { .. } => {
                self.note_symbolic_zeros(stmt);
                let symbolic_zero = self.reads_symbolic_zero(&stmt.op);
                stmt.op.blocks().into_iter().for_each(|b| _ = self.operator(b, symbolic_zero, &[]));
            }
            op => {
                self.note_symbolic_zeros(stmt);
                if let [out] = stmt.outs[..] {
                    self.simple(op, out);
                }
            }
        }
        if let (Op::ReduceByIndex { dest, .. }, false) = (&stmt.op, stmt.outs.is_empty()) {
            stmt.outs.iter().zip(dest).for_each(|(v, d)| self.is(*v, self.form(*d)));
        }
    }

    /// Processes an operator whose first parameters have these forms. Returns the forms of its results.
    fn operator(&mut self, b: &Block, symbolic_zero: bool, forms: &[ShapeForm]) -> Vec<ShapeForm> {
        self.now += 1;
        b.params.iter().for_each(|v| self.own(*v));
        self.may_be_symbolic_zeros(b.params.iter().filter(|_| symbolic_zero));
        b.params.iter().zip(forms).for_each(|(v, form)| self.is(*v, form.clone()));
        self.now -= 1;
        self.inner(b);
        b.results.iter().map(|r| self.form(*r)).collect()
    }

    /// Gives a variable a form, if the rank agrees.
    fn is(&mut self, v: Var, form: ShapeForm) {
        if form.len() == self.rank(v) as usize && !self.symbolic_zero.contains(&v) {
            self.forms.insert(v, form);
        }
    }

    fn simple(&mut self, op: &Op, out: Var) {
        match op {
            Op::Lit(Lit::I64(n)) => {
                self.ints.insert(out, AxisExtent::Lit(*n));
            }
            Op::Cmp(c, a, b) if self.rank(*a) + self.rank(*b) == 0 && *self.f.ty(*a) == Ty::I64 => {
                self.compared(*c, (*a, *b), out);
                if *c == Cmp::Ge && self.plain(AxisExtent::Is(*b)) == AxisExtent::Lit(0) {
                    self.not_negative.insert(out, *a);
                }
            }
            Op::ArrayLit { elems, .. } if elems.iter().all(|v| *self.f.ty(*v) == Ty::I64) => {
                self.stacks.insert(out, elems.clone());
                self.is(out, vec![AxisExtent::Lit(elems.len() as i64)]);
            }
            Op::Dim(a, k) => self.is_extent(out, *a, *k),
            Op::Shape(a) => {
                let form = self.form(*a);
                self.is(out, vec![AxisExtent::Lit(form.len() as i64)]);
                self.is_shape(out, *a, form);
            }
            Op::Index { a, at, .. } => {
                self.safe.remove(&out);
                let form = self.form(*a);
                if at.len() <= form.len() && at.iter().zip(&form).all(|(i, e)| self.below(*i, *e)) {
                    self.safe.insert(out);
                }
                self.is(out, form.get(at.len()..).unwrap_or_default().to_vec());
            }
            op => {
                if let Op::Slice { a, lo, hi, shape: None } = op {
                    self.sliced(*a, (*lo, *hi), out);
                }
                if let Some(form) = self.form_of_result(op, &ResultForm { analysis: self, out }) {
                    self.is(out, form);
                }
            }
        }
    }

    /// Records whether a slice is of the entire array.
    fn sliced(&mut self, a: Var, (lo, hi): (Var, Var), out: Var) {
        let all = self.plain(AxisExtent::Is(lo)) == AxisExtent::Lit(0)
            && self.form(a).first() == Some(&self.plain(AxisExtent::Is(hi)));
        match all {
            true => _ = self.entire.insert(out, a),
            false => _ = self.entire.remove(&out),
        }
    }

    /// Records that `out` is an extent of `a`.
    fn is_extent(&mut self, out: Var, a: Var, axis: u32) {
        let Some(e) = self.form(a).get(axis as usize).copied() else { return };
        self.ints.insert(out, e);
        self.found.remove(&out);
        let literal = self.known_value(e, self.now).map(AxisExtent::Lit);
        if (self.depth(e) < self.now || literal.is_some()) && self.is_materialised(&[literal.unwrap_or(e)]) {
            self.found.insert(out, vec![literal.unwrap_or(e)]);
        }
    }

    /// Records that `out` is the shape of `a`, and replaces it if the form consists of values bound further out.
    fn is_shape(&mut self, out: Var, a: Var, form: ShapeForm) {
        self.found.remove(&out);
        let values =
            form.iter().map(|e| self.known_value(*e, self.now).map(AxisExtent::Lit)).collect::<Option<ShapeForm>>();
        let outside = values.is_some() || form.iter().all(|e| self.depth(*e) < self.now);
        let form = values.unwrap_or(form);
        let other = whole(self.f, &form).is_some_and(|b| b != a);
        // An array that another function or branch makes may be a symbolic zero, which has no extents but a shape.
        // Parameters are none.
        let own = whole(self.f, &form) == Some(a) && !self.f.body.params.contains(&a);
        let written = form.len() <= WRITTEN && !own;
        if !form.is_empty() && (outside || other || written) && self.is_materialised(&form) {
            self.found.insert(out, form);
        }
    }

    /// The form of the operand with more axes, or of the one bound further out.
    fn wider(&self, x: ShapeForm, y: ShapeForm) -> ShapeForm {
        let inmost = |form: &ShapeForm| form.iter().map(|e| self.depth(*e)).max();
        if (x.len(), std::cmp::Reverse(inmost(&x))) >= (y.len(), std::cmp::Reverse(inmost(&y))) { x } else { y }
    }

    /// Whether a form refers only to variables that are visible in the current block.
    fn is_visible(&self, form: &ShapeForm) -> bool {
        form.iter().all(|e| self.depth(*e) <= self.now)
    }

    fn branches(&mut self, stmt: &Stmt, arms: &[&Block]) {
        let mut forms: Vec<Vec<ShapeForm>> = Vec::new();
        for arm in arms {
            self.now += 1;
            arm.params.iter().for_each(|v| self.own(*v));
            // Data may contain symbolic zeros.
            let taken = matches!(&stmt.op, Op::Switch(v, _) if self.symbolic_zero.contains(v));
            if self.zeros == Tracked::All || taken {
                self.may_be_symbolic_zeros(&arm.params);
            }
            self.now -= 1;
            self.inner(arm);
            let symbolic_zero: Vec<Var> = stmt
                .outs
                .iter()
                .zip(&arm.results)
                .filter(|(_, r)| self.symbolic_zero.contains(r))
                .map(|(v, _)| *v)
                .collect();
            self.symbolic_zero.extend(symbolic_zero);
            forms.push(arm.results.iter().map(|r| self.form(*r)).collect());
        }
        for (k, v) in stmt.outs.iter().enumerate() {
            let mut of = forms.iter().filter_map(|f| f.get(k));
            if let Some(form) = of.next().cloned()
                && of.all(|g| *g == form)
                && self.is_visible(&form)
            {
                self.is(*v, form);
            }
        }
    }

    fn looped(&mut self, stmt: &Stmt, ir_loop: &Loop) {
        let carried = ir_loop.init.len();
        let mut keeps: Vec<bool> = vec![self.loops < DEEPEST; carried];
        self.loops += 1;
        let mut symbolic_zero: Vec<bool> = ir_loop.init.iter().map(|v| self.symbolic_zero.contains(v)).collect();
        let mut results = self.iteration(ir_loop, &keeps, &symbolic_zero);
        // An assumption about one carried value may have been refuted only because of a wrong assumption about
        // another. Assumptions are only ever dropped, so this terminates.
        loop {
            let wrong: Vec<usize> =
                (0..carried).filter(|i| keeps[*i] && results.get(*i) != Some(&self.form(ir_loop.init[*i]))).collect();
            let more: Vec<usize> = (0..carried)
                .filter(|i| {
                    !symbolic_zero[*i] && ir_loop.body.results.get(*i).is_some_and(|r| self.symbolic_zero.contains(r))
                })
                .collect();
            if wrong.is_empty() && more.is_empty() {
                break;
            }
            wrong.iter().for_each(|i| keeps[*i] = false);
            more.iter().for_each(|i| symbolic_zero[*i] = true);
            results = self.iteration(ir_loop, &keeps, &symbolic_zero);
        }
        self.loops -= 1;
        self.loop_symbolic_zeros(stmt, ir_loop, &symbolic_zero);
        for (i, v) in stmt.outs.iter().take(carried).enumerate().filter(|(i, _)| keeps[*i]) {
            self.is(*v, self.form(ir_loop.init[i]));
        }
        let Some(trip) = stmt.outs.last() else { return };
        if let Trip::Count(n) = ir_loop.trip {
            self.bounds.trip.insert(*trip, n);
            // A loop with a negative trip count runs zero times.
            let natural = self.natural.contains(&n);
            match self.plain(AxisExtent::Is(n)) {
                n @ (AxisExtent::Lit(0..) | AxisExtent::Of(..)) => _ = self.ints.insert(*trip, n),
                n @ AxisExtent::Is(_) if natural => _ = self.ints.insert(*trip, n),
                _ => {}
            }
        }
        for ((v, o), form) in stmt.outs.iter().skip(carried).zip(&ir_loop.outs).zip(results.iter().skip(carried)) {
            let n = self.plain(AxisExtent::Is(*trip));
            match o {
                Out::Sum if self.is_visible(form) => self.is(*v, form.clone()),
                Out::Collect if self.is_visible(form) => self.is(*v, [vec![n], form.clone()].concat()),
                _ => {}
            }
        }
    }

    /// Processes the body of a loop, assuming that the values in `keeps` have their initial form. Returns the forms
    /// of its results.
    fn iteration(&mut self, ir_loop: &Loop, keeps: &[bool], symbolic_zero: &[bool]) -> Vec<ShapeForm> {
        self.now += 1;
        ir_loop.body.params.iter().for_each(|v| self.own(*v));
        if let (Trip::Count(n), Some(i)) = (&ir_loop.trip, ir_loop.body.params.first()) {
            self.bounds.below.insert(*i, *n);
        }
        let k = ir_loop.init.len();
        let skip = ir_loop.body.params.len().saturating_sub(k + ir_loop.xs.len());
        let (carried, elements) = ir_loop.body.params[skip..].split_at(k.min(ir_loop.body.params.len() - skip));
        self.may_be_symbolic_zeros(carried.iter().zip(symbolic_zero).filter(|(_, a)| **a).map(|(p, _)| p));
        self.may_be_symbolic_zeros(
            elements
                .iter()
                .zip(&ir_loop.xs)
                .filter(|(_, x)| self.symbolic_zero.contains(x))
                .map(|(p, _)| p)
                .collect::<Vec<_>>(),
        );
        for ((p, x), _) in carried.iter().zip(&ir_loop.init).zip(keeps).filter(|(_, keep)| **keep) {
            self.is(*p, self.form(*x));
        }
        for (p, x) in elements.iter().zip(&ir_loop.xs) {
            let form = self.form(*x);
            self.is(*p, form.get(1..).unwrap_or_default().to_vec());
        }
        self.now -= 1;
        if let Trip::While(c) = &ir_loop.trip {
            self.now += 1;
            c.params.iter().for_each(|v| self.own(*v));
            self.may_be_symbolic_zeros(c.params.iter().zip(symbolic_zero).filter(|(_, a)| **a).map(|(p, _)| p));
            for ((p, x), _) in c.params.iter().zip(&ir_loop.init).zip(keeps).filter(|(_, keep)| **keep) {
                self.is(*p, self.form(*x));
            }
            self.now -= 1;
            self.inner(c);
        }
        self.inner(&ir_loop.body);
        ir_loop.body.results.iter().map(|r| self.form(*r)).collect()
    }
}
