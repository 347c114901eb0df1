//! U: unzipping (§6). A function `(x… ; ẋ…) -> (y… ; ẏ…)` is split into a non-linear one, `(x…) -> (y…, r…)`, and a
//! linear one, `(r… ; ẋ…) -> ( ; ẏ…)`. The residuals `r` are the non-linear values that the linear part reads.
//!
//! - A branch returns the residuals of the arm that ran in slots that the arms share; other slots hold zeros. The
//!   linear part branches on the same condition. Deep nests of branches store less than one slot for each condition
//!   (`branches`).
//! - A loop's residuals are arrays over its iterations, and the linear part is a loop with the same trip count.
//!   Residuals that are arrays of equal shapes are rows of one array. Other residuals that are arrays or data are
//!   put into boxes, because shapes may differ. The condition for another iteration is not
//!   stored, because the iteration's index determines it.
//! - A call's residuals are additional results of the callee. Those of a recursive function are one value of a
//!   recursive data type, if possible with a constructor for each arm of its branch (`cells`). Its linear half gets
//!   arguments again that its caller can compute at little cost (`arguments`).
//! - Values that the plan recomputes move to the linear part, which reads the stored values that they need.

mod arguments;
mod balance;
mod branches;
mod cells;
mod mixed_statements;
mod plan;
mod sink;

pub use crate::results::Unzipped;
pub use plan::{Residual, UnzipPlan};

use crate::Ad;
use crate::check;
use crate::limits::unzip::PASSED_ON;
use adl_ir::rewrite::{dce, free};
use adl_ir::{Block, Builder, DataDecl, DataId, FnId, Function, Lit, Op, Program, Stmt, Ty, Var};
use adl_opt::shapes::Extents;
use adl_prim::Bin;
use adl_specialise::Unsupported;
use adl_syntax::span::Span;
use arguments::Arguments;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

impl Ad {
    /// U of a function made by J, under a plan.
    pub fn unzip(&mut self, program: &mut Program, id: FnId, plan: &UnzipPlan) -> Result<Unzipped, Unsupported> {
        if let Some(u) = self.unzip.unzips.get(&(id, plan.clone())) {
            return Ok(u.clone());
        }
        let src = program.func(id).clone();
        let name = src.name.strip_prefix("jvp ").unwrap_or(&src.name).to_owned();
        let boxed = self.is_recursive(program, id).then(|| {
            program.add_data(DataDecl { name: format!("Residuals of {name}"), cons: Vec::new(), declared: None })
        });
        let called = program.reserve(&format!("primal {name}"));
        let arguments = boxed.map_or_else(Arguments::default, |_| Arguments::of(program, id, &src));
        let unzipped = Unzipped {
            primal: called,
            results: src.body.results.len(),
            linear: program.reserve(&format!("linear {name}")),
            called,
            passed: arguments.passed.clone().into(),
            boxed,
            residuals: Vec::new(),
            own: Rc::default(),
            moved: Rc::default(),
            compared: Rc::default(),
            packs: Rc::default(),
            padding: Rc::default(),
        };
        self.unzip.unzips.insert((id, plan.clone()), unzipped.clone());
        // The residuals of an arm that was not taken are symbolic zeros.
        self.symbolic_zero.insert(called);
        if let Some(d) = boxed {
            // Recursive callers need the signatures before the bodies exist.
            self.declare(program, &unzipped, &src, d);
        }
        let made = self.unzip_function(program, id, (&src, arguments), plan, &unzipped);
        match made.and_then(|u| {
            self.count(program.func(u.called)).and_then(|()| self.count(program.func(u.linear))).map(|()| u)
        }) {
            Ok(u) => {
                self.unzip.unzips.insert((id, plan.clone()), u.clone());
                Ok(u)
            }
            Err(e) => {
                self.unzip.unzips.remove(&(id, plan.clone()));
                Err(e)
            }
        }
    }

    /// Placeholder functions without statements, with the signatures that the two halves will have.
    fn declare(&mut self, program: &mut Program, unzipped: &Unzipped, src: &Function, id: DataId) {
        let mut primal = Function {
            name: program.func(unzipped.called).name.clone(),
            vars: src.vars.clone(),
            ..Function::default()
        };
        primal.body.params = src.body.params.clone();
        primal.body.results = src.body.results.clone();
        primal.body.results.push(Var(primal.vars.len() as u32));
        primal.fresh(Ty::Data(id), false);
        program.set(unzipped.called, primal);
        let mut linear = Function {
            name: program.func(unzipped.linear).name.clone(),
            vars: src.vars.clone(),
            ..Function::default()
        };
        linear.body.params = unzipped.passed.iter().map(|k| src.body.params[*k]).collect();
        let residuals = linear.fresh(Ty::Data(id), false);
        linear.body.params.push(residuals);
        linear.body.lin_params = src.body.lin_params.clone();
        linear.body.lin_results = src.body.lin_results.clone();
        program.set(unzipped.linear, linear);
    }

    fn unzip_function(
        &mut self,
        program: &mut Program,
        id: FnId,
        source: (&Function, Arguments),
        plan: &UnzipPlan,
        unzipped: &Unzipped,
    ) -> Result<Unzipped, Unsupported> {
        let mut divided = self.divide(program, id, source, plan, unzipped)?;
        if divided.needs.is_empty() && unzipped.boxed.is_some() {
            arguments::without_residuals(&mut divided.primal, unzipped.called, unzipped.results);
        }
        // If each of many calls returned all residuals of its callees, code size would be that of the call tree. A
        // packed value is as small as a synonym of its type (§8).
        let boxed = unzipped.boxed.filter(|_| !divided.needs.is_empty()).or_else(|| {
            (divided.needs.len() > divided.own.len() + PASSED_ON).then(|| {
                program.add_data(DataDecl {
                    name: format!("Residuals of {}", divided.primal.name.trim_start_matches("primal ")),
                    cons: Vec::new(),
                    declared: None,
                })
            })
        });
        let cells = boxed.map_or_else(cells::ResidualCells::default, |d| divided.pack(program, d));
        let Divided { mut primal, mut linear, passed, rows, own, notes, .. } = divided;
        let compared = balance::balanced(&mut linear, &notes.keys);
        dce::remove_dead(&mut primal);
        dce::remove_dead(&mut linear);
        let stored = bound_anywhere(&primal.body);
        let padding =
            notes.padding.into_iter().filter(|(slot, _)| stored.contains(slot) && !cells.slots.contains(slot));
        program.set(unzipped.called, primal);
        program.set(unzipped.linear, linear);
        check::made("unzip", program, program.func(unzipped.called));
        check::made("unzip", program, program.func(unzipped.linear));
        if let Some(k) = self.unzip.kept.get(&unzipped.called) {
            let made = kept(program.func(unzipped.called), unzipped.results);
            program.set(*k, made);
        }
        let mut residuals = rows;
        if boxed.is_some() {
            residuals.truncate(passed.len());
            residuals.push(own.clone());
        }
        let primal = if passed.is_empty() { unzipped.called } else { self.with_arguments(program, unzipped, &passed) };
        Ok(Unzipped {
            primal,
            passed: passed.into(),
            residuals,
            own: own.into(),
            boxed,
            moved: notes.moved.into(),
            compared: compared.into(),
            packs: notes.packs.into(),
            padding: padding.map(|(_, padding)| padding).collect(),
            ..unzipped.clone()
        })
    }

    /// Divides a function. Both halves have their residuals one by one, after the arguments that the linear half takes.
    fn divide(
        &mut self,
        program: &mut Program,
        id: FnId,
        (src, arguments): (&Function, Arguments),
        plan: &UnzipPlan,
        unzipped: &Unzipped,
    ) -> Result<Divided, Unsupported> {
        let mut splitter = U::new(self, program, id, src, plan);
        splitter.derived = arguments.derived;
        splitter.note_params(&src.body, Span::default(), "an argument");
        let halves = splitter.block(&src.body, &|_, _| false)?;
        let half = |id: FnId, body: Block| {
            let name = splitter.p.func(id).name.clone();
            Function { name, vars: splitter.f.vars.clone(), body, ..Function::default() }
        };
        let (mut primal, linear) = (half(unzipped.called, halves.primal), half(unzipped.linear, halves.linear));
        let mut passed = unzipped.passed.to_vec();
        let params = |passed: &[usize]| -> Vec<Var> { passed.iter().map(|k| src.body.params[*k]).collect() };
        let (mut linear, keep) = arguments::needed(&linear, unzipped.linear, &params(&passed));
        dce::retain(&mut passed, &keep);
        let params = params(&passed);
        let mut needs: Vec<Var> = free(&linear, &linear.body).into_iter().filter(|v| !params.contains(v)).collect();
        needs.sort_unstable();
        let rows: Vec<Vec<Residual>> = params.iter().chain(&needs).map(|v| splitter.origin(*v)).collect();
        // The arguments that a recursive function is given again are residuals of its callers.
        let own = rows[params.len()..].iter().flatten().filter(|r| splitter.is_own(r)).cloned().collect();
        linear.body.params = [&params[..], &needs].concat();
        primal.body.results = [&src.body.results[..], &needs].concat();
        Ok(Divided { primal, linear, passed, needs, rows, own, slots: splitter.slots, notes: splitter.notes })
    }

    /// The primal half of a recursive function, which also returns the arguments that the linear half takes.
    fn with_arguments(&mut self, program: &mut Program, unzipped: &Unzipped, passed: &[usize]) -> FnId {
        let made = arguments::with_arguments(program, unzipped.called, unzipped.results, passed);
        let id = program.add(made);
        self.symbolic_zero.insert(id);
        id
    }

    /// Functions that checkpoints run again.
    pub fn made_again(&self) -> HashSet<FnId> {
        self.unzip.kept.values().copied().collect()
    }

    /// The source of a function made by J, for a checkpoint to run in the forward pass; `None` if it is not known.
    pub(crate) fn plain(&mut self, program: &mut Program, func_id: FnId) -> Option<FnId> {
        if let Some(f) = self.unzip.forward_sources.get(&func_id) {
            return Some(*f);
        }
        let mut func = (**self.jvp.sources.get(&func_id)?).clone();
        let id = program.add(Function { body: Block { stmts: Vec::new(), ..func.body.clone() }, ..func.clone() });
        self.unzip.forward_sources.insert(func_id, id);
        // The same calls, by a result, in the form they have in the function made by J.
        let src = program.func(func_id).clone();
        let mut called: HashMap<Var, FnId> = HashMap::new();
        each_stmt(&src.body, &mut |s| {
            if let (Op::Call { f, .. }, Some(out)) = (&s.op, s.outs.first()) {
                called.insert(*out, *f);
            }
        });
        let mut body = std::mem::take(&mut func.body);
        self.call_plain(program, &mut body, &called);
        func.body = body;
        if self.may_hold_zeros(func_id) || self.zeros {
            self.symbolic_zero.insert(id);
        }
        check::made("plain", program, &func);
        program.set(id, func);
        Some(id)
    }

    fn call_plain(&mut self, p: &mut Program, b: &mut Block, called: &HashMap<Var, FnId>) {
        for s in &mut b.stmts {
            let out = s.outs.first().copied();
            if let Op::Call { f, rule: None, .. } = &mut s.op {
                let plain = out.and_then(|o| called.get(&o)).and_then(|j| self.plain(p, *j));
                *f = plain.unwrap_or(*f);
            }
            s.op.blocks_mut().into_iter().for_each(|b| self.call_plain(p, b, called));
        }
    }

    /// The primal half without its results and arguments, for a checkpoint to run again. It omits what only the results need.
    pub(crate) fn residuals_only(&mut self, p: &mut Program, u: &Unzipped) -> FnId {
        if let Some(k) = self.unzip.kept.get(&u.called) {
            return *k;
        }
        let made = kept(p.func(u.called), u.results);
        let id = p.add(made);
        self.unzip.kept.insert(u.called, id);
        self.symbolic_zero.insert(id);
        id
    }
}

fn kept(primal: &Function, results: usize) -> Function {
    let mut f = primal.clone();
    f.name = primal.name.replacen("primal", "residuals of", 1);
    f.body.results.drain(..results);
    dce::remove_dead(&mut f);
    f
}

/// Calls `see` with every statement of a block, nested ones included.
pub(crate) fn each_stmt(b: &Block, see: &mut dyn FnMut(&Stmt)) {
    for s in &b.stmts {
        see(s);
        s.op.blocks().into_iter().for_each(|b| each_stmt(b, see));
    }
}

/// Whether the linear half of a block may read a variable at no cost.
type Available<'t> = dyn Fn(&Function, Var) -> bool + 't;

/// The halves of a block. `needs`: non-linear variables that the linear half reads and does not bind.
struct BlockHalves {
    primal: Block,
    linear: Block,
    needs: Vec<Var>,
}

/// A function whose halves have their residuals one by one.
struct Divided {
    primal: Function,
    linear: Function,
    /// The arguments that the linear half takes first, by their positions.
    passed: Vec<usize>,
    needs: Vec<Var>,
    /// For each of these arguments and needs, the residuals that it stands for.
    rows: Vec<Vec<Residual>>,
    own: Vec<Residual>,
    slots: HashMap<Var, cells::Slot>,
    notes: UnzipNotes,
}

impl Divided {
    /// Packs the residuals in one value of a data type.
    fn pack(&mut self, program: &mut Program, data: DataId) -> cells::ResidualCells {
        let cells =
            cells::pack_residuals(program, data, (&mut self.primal, &mut self.linear), &self.needs, &self.slots);
        for residual in &mut self.own {
            residual.arms = cells.arms.get(&residual.at.1).cloned().unwrap_or_default();
        }
        cells
    }
}

struct U<'a> {
    ad: &'a mut Ad,
    p: &'a mut Program,
    id: FnId,
    f: Function,
    plan: &'a UnzipPlan,
    /// The residuals that a variable holds.
    origins: HashMap<Var, Vec<Residual>>,
    /// The source location of each variable, and the reason why it cannot be recomputed (empty if it can).
    made: HashMap<Var, (Span, &'static str)>,
    /// Residuals of control flow and calls.
    parts: HashSet<Var>,
    /// The extents of arrays, also of residuals.
    extents: Extents,
    /// Nesting depths of statements, by a linear result.
    depths: HashMap<Var, branches::NestDepth>,
    /// Branches (by a linear result) that continue the numbering of the nest around them.
    numbered: HashSet<Var>,
    /// The numbers of the arms of these branches, until the branch around them continues the numbering.
    which: HashMap<Var, branches::ArmNumber>,
    notes: UnzipNotes,
    /// Bools with a literal value.
    bools: HashMap<Var, bool>,
    /// Variables bound outside of all loops; and the number of loops around the current block.
    outside: HashSet<Var>,
    loops: usize,
    /// Rows of arrays from outside that loops take, each with the number of loops that took a row.
    rows: HashMap<Var, usize>,
    /// What is computed from arguments that the linear half gets again.
    derived: HashSet<Var>,
    slots: HashMap<Var, cells::Slot>,
}

/// Facts about a function besides its halves.
#[derive(Default)]
struct UnzipNotes {
    moved: Vec<(Var, Var)>,
    /// Numbered branches: maps a linear result to the result that identifies the branch.
    keys: HashMap<Var, Var>,
    packs: Vec<DataId>,
    /// Scalar slots of branches that hold residuals of other arms, as in [`Unzipped::padding`].
    padding: Vec<(Var, (Var, u32, Ty))>,
}

impl<'a> U<'a> {
    fn new(ad: &'a mut Ad, p: &'a mut Program, id: FnId, src: &Function, plan: &'a UnzipPlan) -> U<'a> {
        U {
            ad,
            p,
            id,
            f: src.clone(),
            plan,
            origins: HashMap::new(),
            made: HashMap::new(),
            parts: HashSet::new(),
            extents: Extents::of(src),
            depths: HashMap::new(),
            numbered: HashSet::new(),
            which: HashMap::new(),
            notes: UnzipNotes::default(),
            bools: bools(&src.body),
            outside: bound_at(&src.body).collect(),
            loops: 0,
            rows: HashMap::new(),
            derived: HashSet::new(),
            slots: HashMap::new(),
        }
    }
}

impl U<'_> {
    /// Splits a block. The linear half keeps the linear parameters and results, and has no non-linear ones. `there`
    /// tells which variables it may read at no cost.
    fn block(&mut self, block: &Block, there: &Available<'_>) -> Result<BlockHalves, Unsupported> {
        let mut primal = Block { params: block.params.clone(), results: block.results.clone(), ..Block::default() };
        let mut linear: Vec<Stmt> = Vec::new();
        for s in &block.stmts {
            s.outs.iter().for_each(|o| {
                self.made.insert(*o, (s.span, ""));
            });
            if !self.has_linear(s) {
                primal.stmts.push(s.clone());
            } else {
                self.split(s, &mut primal, &mut linear)?;
            }
            self.note_not_recomputable(s, primal.stmts.last());
        }
        let linear = Block {
            lin_params: block.lin_params.clone(),
            lin_results: block.lin_results.clone(),
            stmts: linear,
            ..Block::default()
        };
        Ok(self.with_recomputed(primal, linear, there))
    }

    /// Records why the results of a statement cannot be recomputed, if its primal half must run only once.
    fn note_not_recomputable(&mut self, s: &Stmt, half: Option<&Stmt>) {
        let parts = half.is_some_and(|h| h.outs.iter().any(|o| self.parts.contains(o)));
        if let Some(why) = plan::never_recomputed(s, parts) {
            s.outs.iter().for_each(|o| {
                self.made.insert(*o, (s.span, why));
            });
        }
    }

    fn note_params(&mut self, b: &Block, span: Span, why: &'static str) {
        for v in &b.params {
            self.made.insert(*v, (span, why));
        }
    }

    /// The residuals that a variable stands for.
    fn origin(&self, v: Var) -> Vec<Residual> {
        match self.origins.get(&v) {
            Some(rows) => rows.clone(),
            None => {
                let (span, reason) = self.made.get(&v).copied().unwrap_or_default();
                let name = self.f.vars[v.0 as usize].name.clone();
                vec![Residual {
                    at: (self.id, v),
                    span,
                    name,
                    ty: self.f.ty(v).clone(),
                    movable: reason.is_empty(),
                    reason,
                    arms: Vec::new(),
                }]
            }
        }
    }

    /// Whether a residual is a variable of this function, and not the packed residuals of a call.
    fn is_own(&self, r: &Residual) -> bool {
        r.at.0 == self.id && self.made.contains_key(&r.at.1)
    }

    /// Whether a statement has linear operands, results or nested statements.
    fn has_linear(&self, s: &Stmt) -> bool {
        if !s.lin_outs.is_empty() {
            return true;
        }
        let mut found = false;
        s.op.each_operand(&mut |v| found |= self.f.linear(v));
        found || !adl_ir::rewrite::linear_uses::captured_by(&self.f, &s.op).is_empty()
    }

    /// Index arithmetic, which like literals is always recomputed: sums and products of Ints from indices, literals and
    /// available values; their minima, maxima, remainders, conversions, and comparisons with connectives; literals that
    /// these choose; shapes that are written out; elements at such indices, if loops read more of them than the array
    /// has; and slices in loops of arrays from outside. T needs to see it as affine subscripts, predicates and extents.
    /// The array of repeatedly read elements is smaller than the sequence of reads.
    fn index_arithmetic(&self, block: &Block) -> HashSet<Var> {
        let mut bound: HashSet<Var> = HashSet::new();
        let mut out: HashSet<Var> = HashSet::new();
        let several = read_several_times(block);
        for stmt in &block.stmts {
            let known = |v: &Var| !bound.contains(v) || out.contains(v);
            let ints = || stmt.outs.iter().all(|o| *self.f.ty(*o).scalar() == Ty::I64);
            let index = match &stmt.op {
                Op::Lit(_) => ints(),
                Op::Bin(Bin::Add | Bin::Sub | Bin::Mul, x, y) => ints() && known(x) && known(y),
                Op::Bin(Bin::Min | Bin::Max | Bin::Rem, x, y) => self.loops > 0 && ints() && known(x) && known(y),
                Op::Cmp(_, x, y) => self.loops > 0 && [x, y].into_iter().all(|v| *self.f.ty(*v) == Ty::I64 && known(v)),
                Op::Convert(_, x) => self.loops > 0 && *self.f.ty(*x) == Ty::I64 && known(x),
                Op::If(c, yes, no) => {
                    let arm =
                        |b: &Block| (self.is_condition(b) || gives_literals(b)) && free(&self.f, b).iter().all(known);
                    self.loops > 0 && known(c) && arm(yes) && arm(no)
                }
                Op::ArrayLit { elems, .. } => ints() && elems.iter().all(|v| *self.f.ty(*v) == Ty::I64),
                Op::Index { a, at, .. } => {
                    let varying = at.iter().filter(|i| !self.outside.contains(*i)).count();
                    self.is_read_repeatedly(*a, varying, several.contains(a)) && at.iter().all(known)
                }
                Op::Slice { a, lo, hi, shape } => {
                    self.loops > 0
                        && self.outside.contains(a)
                        && [lo, hi].into_iter().chain(shape).all(|v| known(v) || self.outside.contains(v))
                }
                _ => false,
            };
            // An extent is always available.
            if !matches!(stmt.op, Op::Dim(..)) {
                bound.extend(&stmt.outs);
            }
            if index {
                out.extend(&stmt.outs);
            }
        }
        out
    }

    /// Whether the arm of a branch is a connective of comparisons of Ints.
    fn is_condition(&self, b: &Block) -> bool {
        let ints = |v: &Var| *self.f.ty(*v) == Ty::I64;
        let bools = b.results.iter().all(|r| *self.f.ty(*r) == Ty::Bool);
        bools
            && b.stmts.iter().all(|s| match &s.op {
                Op::Lit(_) | Op::Not(_) => true,
                Op::Bin(Bin::Add | Bin::Sub, x, _) | Op::Cmp(_, x, _) => ints(x),
                Op::If(_, yes, no) => self.is_condition(yes) && self.is_condition(no),
                _ => false,
            })
    }

    /// Whether an array is available anyway, and loops read more elements or rows of it than it has. `subscripts` is
    /// the number of subscripts that may vary between iterations; `several`: an iteration reads several elements.
    fn is_read_repeatedly(&self, a: Var, subscripts: usize, several: bool) -> bool {
        let fewer = |taken: usize| taken + subscripts < self.loops + usize::from(several && self.loops > 0);
        self.f.ty(a).scalar().is_flat() && self.rows_taken(a).is_some_and(fewer)
    }

    /// The number of loops that took a row, if an array is from outside of all loops or a row of one.
    fn rows_taken(&self, a: Var) -> Option<usize> {
        if self.outside.contains(&a) { Some(0) } else { self.rows.get(&a).copied() }
    }

    /// Moves what the plan recomputes to the front of the linear half, and computes what that half still needs.
    fn with_recomputed(&mut self, primal: Block, mut linear: Block, there: &Available<'_>) -> BlockHalves {
        let mut needs = free(&self.f, &linear);
        let mut sinks = sink::sinks(&self.f, &primal, &needs, there);
        let mut moved: Vec<Stmt> = Vec::new();
        let indices = self.index_arithmetic(&primal);
        if self.loops > 1 {
            sinks.extend(sink::recomputed(&self.f, &primal, &needs, &|f, v| indices.contains(&v) || there(f, v)));
        }
        for stmt in primal.stmts.iter().rev() {
            let index = stmt.outs.iter().any(|o| indices.contains(o) || sinks.contains(o) || self.derived.contains(o));
            if stmt.outs.iter().any(|o| needs.contains(o))
                && (index || self.plan.recomputes(self.id, stmt, stmt.outs.iter().any(|o| self.parts.contains(o))))
            {
                stmt.op.each_operand(&mut |v| {
                    needs.insert(v);
                });
                for inner in stmt.op.blocks() {
                    needs.extend(free(&self.f, inner));
                }
                stmt.outs.iter().for_each(|o| {
                    needs.remove(o);
                });
                moved.push(stmt.clone());
            }
        }
        moved.reverse();
        // Both halves bind the moved variables, each in its own function or block, so the linear half gets copies.
        let mut names = HashMap::new();
        let mut b = Builder::on(std::mem::take(&mut self.f));
        let copies: Vec<Stmt> = moved.iter().map(|s| b.copy_stmt(s, &mut names)).collect();
        self.f = Function { body: Block::default(), ..b.func };
        self.notes.moved.extend(names.iter().map(|(v, copy)| (*v, *copy)));
        adl_ir::rewrite::rename::rename(&mut linear, &names);
        linear.stmts.splice(0..0, copies);
        let mut needs: Vec<Var> = needs.into_iter().collect();
        needs.sort_unstable();
        BlockHalves { primal, linear, needs }
    }
}

/// Arrays of which a block reads elements at several places.
fn read_several_times(b: &Block) -> HashSet<Var> {
    let mut once = HashSet::new();
    let arrays = b.stmts.iter().filter_map(|s| if let Op::Index { a, .. } = s.op { Some(a) } else { None });
    arrays.filter(|a| !once.insert(*a)).collect()
}

/// Whether a block only chooses literals.
fn gives_literals(b: &Block) -> bool {
    b.stmts.iter().all(|s| matches!(s.op, Op::Lit(_)))
}

fn bools(b: &Block) -> HashMap<Var, bool> {
    let mut out = HashMap::new();
    each_stmt(b, &mut |s| {
        if let (Op::Lit(Lit::Bool(b)), [o]) = (&s.op, &s.outs[..]) {
            out.insert(*o, *b);
        }
    });
    out
}

/// Non-linear variables that a block binds, nested blocks not included.
fn bound_at(b: &Block) -> impl Iterator<Item = Var> + '_ {
    b.params.iter().chain(b.stmts.iter().flat_map(|s| &s.outs)).copied()
}

/// Non-linear variables that a block binds, nested blocks included.
fn bound_anywhere(b: &Block) -> HashSet<Var> {
    let mut bound: HashSet<Var> = HashSet::new();
    each_stmt(b, &mut |s| bound.extend(&s.outs));
    bound
}
