//! The reference evaluator: defines what programs mean, and counts their work. Written for clarity, not speed.
//!
//! - Values are [`Val`]; arrays contain values. A zero array or zero data may be the symbolic zero [`Val::SymbolicZero`].
//!   Every operation that may be linear accepts it, also after linearity has been erased.
//! - Linear operations have the same meaning as the non-linear ones of the same name.
//! - Custom derivative rules of calls are ignored, because they do not affect what is computed.
//! - Work is counted by the rules of [`cost`], for each source location.
//! - Built-ins ([`Op::Prim`]) are evaluated by a [`Host`].
//!
//! The evaluator recurses on a stack that grows. [`Evaluator::fuel`] limits the number of statements, and
//! [`Host::stop`] is polled before each.

mod arrays;
mod control;
pub mod cost;
pub mod host;
pub mod scalar;
mod shapes;
mod subarrays;
pub mod value;

pub use cost::WorkCounts;
pub use host::{Host, Simple};
pub use value::{Arr, Con, Deps, Val};

use crate::collective::Collective;
use crate::func::{Block, FnId, Function, Program, Stmt, Var};
use crate::op::{Lit, Op};
use crate::ty::Ty;
use adl_prim::Prim;
use adl_syntax::span::Span;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::rc::Rc;
use subarrays::Update;

/// Why evaluation stopped.
#[derive(Clone, PartialEq, Debug)]
pub struct EvalError {
    /// The message.
    pub message: String,
    /// The source location of the statement.
    pub span: Span,
    /// The name of the function that failed.
    pub function: String,
}

impl fmt::Display for EvalError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} (in `{}`)", self.message, self.function)
    }
}

/// The results of a function.
#[derive(Clone, PartialEq, Debug)]
pub struct Evaluation {
    /// Non-linear results.
    pub results: Vec<Val>,
    /// Linear results.
    pub lin_results: Vec<Val>,
    /// The work that was done.
    pub counts: WorkCounts,
}

/// Runs a function with the built-ins of [`Simple`], without limits.
pub fn run(p: &Program, f: FnId, args: &[Val], lin_args: &[Val]) -> Result<Evaluation, EvalError> {
    Evaluator::new(p, &mut Simple).run(f, args, lin_args)
}

/// Evaluates functions of one program.
pub struct Evaluator<'a> {
    program: &'a Program,
    host: &'a mut dyn Host,
    /// The work so far.
    pub counts: WorkCounts,
    /// Number of statements that may still be executed.
    pub fuel: u64,
    /// Functions whose results are tracked in bytes.
    pub watch: Option<Watch<'a>>,
    uses: HashMap<FnId, Rc<LinearUses>>,
}

/// Tracks the bytes of results until their last use: the values that checkpoints recompute.
pub struct Watch<'a> {
    /// The tracked functions.
    pub functions: HashSet<FnId>,
    /// Computes the bytes of a function's results.
    pub bytes: Box<dyn Fn(&Function, &[Val]) -> u64 + 'a>,
    /// Bytes currently live.
    pub live: u64,
    /// Peak of the live bytes.
    pub peak: u64,
}

/// Facts about the linear variables of a function that affect costs.
struct LinearUses {
    /// Variables some of whose scalars may stay unread.
    sparse: HashSet<Var>,
    /// Variables from outside that a nested block drops.
    untouched: HashSet<Var>,
}

type EvalResult<T> = Result<T, EvalError>;

/// The variables of a running function.
struct CallFrame<'f> {
    f: &'f Function,
    vals: Vec<Option<Val>>,
    uses: Rc<LinearUses>,
}

impl CallFrame<'_> {
    fn get(&self, v: Var) -> &Val {
        self.vals.get(v.0 as usize).and_then(Option::as_ref).unwrap_or(&Val::SymbolicZero)
    }

    fn vals(&self, vs: &[Var]) -> Vec<Val> {
        vs.iter().map(|v| self.get(*v).clone()).collect()
    }

    fn set(&mut self, v: Var, x: Val) {
        if let Some(slot) = self.vals.get_mut(v.0 as usize) {
            *slot = Some(x);
        }
    }

    fn error(&self, message: String, span: Span) -> EvalError {
        EvalError { message, span, function: self.f.name.clone() }
    }

    /// Binds variables to values. An error if their numbers differ.
    fn bind(&mut self, what: &str, vs: &[Var], vals: Vec<Val>, span: Span) -> EvalResult<()> {
        if vs.len() != vals.len() {
            return Err(self.error(format!("{what}: {} are needed, {} are there", vs.len(), vals.len()), span));
        }
        vs.iter().zip(vals).for_each(|(v, x)| self.set(*v, x));
        Ok(())
    }
}

/// Non-linear and linear results of a block.
type BlockResults = (Vec<Val>, Vec<Val>);

impl<'a> Evaluator<'a> {
    /// An evaluator without limits.
    pub fn new(program: &'a Program, host: &'a mut dyn Host) -> Evaluator<'a> {
        Evaluator { program, host, counts: WorkCounts::default(), fuel: u64::MAX, watch: None, uses: HashMap::new() }
    }

    /// Runs a function. The returned outcome contains the work counted so far, which is reset.
    pub fn run(&mut self, f: FnId, args: &[Val], lin_args: &[Val]) -> EvalResult<Evaluation> {
        let (results, lin_results) = self.call(f, args.to_vec(), lin_args.to_vec())?;
        Ok(Evaluation { results, lin_results, counts: std::mem::take(&mut self.counts) })
    }

    fn call(&mut self, id: FnId, args: Vec<Val>, lin_args: Vec<Val>) -> EvalResult<BlockResults> {
        let program = self.program;
        let Some(func) = program.funcs.get(id.0 as usize) else {
            return Err(EvalError {
                message: format!("there is no function f{}", id.0),
                span: Span::default(),
                function: String::new(),
            });
        };
        let uses = self
            .uses
            .entry(id)
            .or_insert_with(|| Rc::new(LinearUses { sparse: cost::sparse(func), untouched: cost::untouched(func) }))
            .clone();
        let mut frame = CallFrame { f: func, vals: vec![None; func.vars.len()], uses };
        let params = func.body.params.iter().chain(&func.body.lin_params);
        if let Some((v, x)) = params.zip(args.iter().chain(&lin_args)).find(|(v, x)| !x.fits(func.ty(**v))) {
            let wrong = format!("argument {} is {}", crate::print::var(func, *v), x.kind());
            return Err(frame.error(wrong, Span::default()));
        }
        let out =
            stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || self.block(&mut frame, &func.body, args, lin_args))?;
        if let Some(w) = self.watch.as_mut().filter(|w| w.functions.contains(&id)) {
            w.live += (w.bytes)(func, &out.0);
            w.peak = w.peak.max(w.live);
        }
        Ok(out)
    }

    /// Runs a block with these arguments.
    fn block(
        &mut self,
        fr: &mut CallFrame<'_>,
        b: &Block,
        args: Vec<Val>,
        lin_args: Vec<Val>,
    ) -> EvalResult<BlockResults> {
        fr.bind("arguments", &b.params, args, Span::default())?;
        fr.bind("linear arguments", &b.lin_params, lin_args, Span::default())?;
        match self.watch.as_ref().map(|w| w.live) {
            None => b.stmts.iter().try_for_each(|s| self.stmt(fr, s))?,
            Some(live) => self.run_tracked(fr, b, live)?,
        }
        Ok((fr.vals(&b.results), fr.vals(&b.lin_results)))
    }

    /// Runs the statements of a block, and releases tracked values after their last use. `live` is the number of
    /// live bytes before and after.
    fn run_tracked(&mut self, fr: &mut CallFrame<'_>, b: &Block, live: u64) -> EvalResult<()> {
        let (mut now, mut ends): (u64, Vec<(usize, u64)>) = (live, Vec::new());
        for (i, s) in b.stmts.iter().enumerate() {
            self.stmt(fr, s)?;
            let Some(w) = &mut self.watch else { continue };
            if w.live > now {
                let last = b.stmts.iter().rposition(|later| reads(later, &s.outs)).unwrap_or(i);
                ends.push((last, w.live - now));
            }
            ends.retain(|(last, bytes)| {
                w.live -= if *last <= i { *bytes } else { 0 };
                *last > i
            });
            now = w.live;
        }
        if let Some(w) = &mut self.watch {
            w.live = live;
        }
        Ok(())
    }

    fn stmt(&mut self, fr: &mut CallFrame<'_>, stmt: &Stmt) -> EvalResult<()> {
        self.counts.steps += 1;
        if self.counts.steps > self.fuel {
            return Err(fr.error(format!("stopped after {} statements", self.fuel), stmt.span));
        }
        if self.host.stop() {
            return Err(fr.error("interrupted".to_owned(), stmt.span));
        }
        let (outs, lin_outs) = match self.control(fr, stmt) {
            Some(done) => done?,
            None => {
                let mut outs = self.op(fr, stmt).map_err(|why| fr.error(why, stmt.span))?;
                debug_assert!(shapes::agree(fr, stmt, &outs), "the shape rule of `{}` is wrong", stmt.op.word());
                let lin_outs = outs.split_off(stmt.outs.len().min(outs.len()));
                (outs, lin_outs)
            }
        };
        self.count(fr, stmt, &outs, &lin_outs);
        fr.bind("results", &stmt.outs, outs, stmt.span)?;
        fr.bind("linear results", &stmt.lin_outs, lin_outs, stmt.span)
    }

    /// Counts the work of a statement with these results.
    #[inline(never)]
    fn count(&mut self, fr: &CallFrame<'_>, stmt: &Stmt, outs: &[Val], lin_outs: &[Val]) {
        let mut linear = !stmt.lin_outs.is_empty();
        stmt.op.each_operand(&mut |v| linear |= fr.f.linear(v));
        if matches!(stmt.op, Op::Drop(v) if fr.uses.untouched.contains(&v)) {
            return;
        }
        let get = |v| fr.get(v);
        let work = cost::work(&stmt.op, linear, &get, &[outs, lin_outs].concat());
        self.counts.add(stmt.span, linear, work);
        if linear {
            let unread = stmt
                .lin_outs
                .iter()
                .zip(lin_outs)
                .filter(|(v, _)| fr.uses.sparse.contains(v))
                .map(|(_, x)| x.scalars())
                .sum();
            self.counts.beyond += cost::beyond(&stmt.op, &get, lin_outs, unread);
        }
        if stmt.outs.iter().chain(&stmt.lin_outs).any(|o| fr.f.ty(*o).scalar().is_real()) {
            let arithmetic = cost::arithmetic(&stmt.op, linear, work);
            self.counts.arithmetic += arithmetic;
            self.counts.inside +=
                stmt.outs.first().map_or(0, |v| cost::inside(fr.f.vars[v.0 as usize].role, arithmetic, work));
        }
    }

    /// The results of an operation without blocks. Like others here it is never inlined: deep recursion needs small
    /// stack frames.
    #[inline(never)]
    fn op(&mut self, fr: &CallFrame<'_>, stmt: &Stmt) -> Result<Vec<Val>, String> {
        let unit = Ty::Bool;
        let ty = stmt.outs.iter().chain(&stmt.lin_outs).next().map_or(&unit, |v| fr.f.ty(*v));
        match &stmt.op {
            Op::Prim(p, args) => {
                if matches!(p, Prim::Comm(c) if c.sends()) {
                    self.counts.messages += 1;
                    self.counts.message_bytes += 8;
                }
                self.host.prims(*p, &fr.vals(args))
            }
            Op::Destruct { a, tag, .. } => match fr.get(*a) {
                Val::Data(c) if c.tag == *tag => Ok(c.fields.clone()),
                Val::SymbolicZero => {
                    Ok(stmt.outs.iter().chain(&stmt.lin_outs).map(|v| Val::zero(fr.f.ty(*v))).collect())
                }
                other => Err(format!("the fields of constructor {tag} were expected, not {}", other.kind())),
            },
            Op::Dup(a) => Ok(vec![fr.get(*a).clone(), fr.get(*a).clone()]),
            Op::Drop(_) => Ok(Vec::new()),
            Op::Collective { kind, args, at } => {
                let args = fr.vals(args);
                if kind.sends() {
                    self.counts.messages += 1;
                    self.counts.message_bytes += 8 * args.iter().map(Val::scalars).sum::<u64>();
                }
                self.host.collective(*kind, args, at.map(|v| fr.get(v)))
            }
            // A product costs more than the size of its operands and results, so it polls for a stop.
            Op::MatMul(x, y) => arrays::product(fr.get(*x), fr.get(*y), ty, &|| self.host.stop()).map(|v| vec![v]),
            Op::Contract(c) => {
                let size = c.size.map(|v| arrays::int(fr.get(v)));
                arrays::contract(c, (fr.get(c.a), fr.get(c.b)), size, ty, &|| self.host.stop()).map(|v| vec![v])
            }
            op => one(fr, op, ty).map(|v| vec![v]),
        }
    }
}

/// The result of an operation with one result.
fn one(fr: &CallFrame<'_>, op: &Op, ty: &Ty) -> Result<Val, String> {
    let get = |v: &Var| fr.get(*v);
    let opt = |v: &Option<Var>| v.map(|v| fr.get(v));
    match op {
        Op::Lit(l) => Ok(literal(l)),
        Op::Zero(t) => Ok(Val::zero(t)),
        Op::Un(u, a) => scalar::un(*u, get(a)),
        Op::Bin(b, x, y) => scalar::bin(*b, get(x), get(y)),
        Op::Cmp(c, x, y) => scalar::cmp(*c, get(x), get(y)),
        Op::Not(a) => scalar::not(get(a)),
        Op::Select(c, x, y) => scalar::select(get(c), get(x), get(y)),
        Op::Convert(c, a) => scalar::convert(*c, get(a)),
        Op::Dim(a, axis) => extent(get(a), *axis),
        Op::Size(a) => Ok(Val::I64(arrays::count(get(a)))),
        // The shape of an array may be computed where the array is bound, although it is a symbolic zero and no
        // branch uses the shape.
        Op::Shape(a) if get(a).is_symbolic_zero() => Ok(Val::SymbolicZero),
        Op::Shape(a) => {
            arrays::array(get(a)).map(|a| Val::ints(&a.shape.iter().map(|n| *n as i64).collect::<Vec<_>>()))
        }
        Op::Index { a, at, .. } => subarrays::index(get(a), &fr.vals(at), ty),
        Op::IndexAdd { acc, at, v, shape } => {
            subarrays::index_update(get(acc), &fr.vals(at), get(v), opt(shape), ty, Update::Add)
        }
        Op::IndexSet { acc, at, v, shape } => {
            subarrays::index_update(get(acc), &fr.vals(at), get(v), opt(shape), ty, Update::Set)
        }
        Op::Slice { a, lo, hi, .. } => subarrays::slice(get(a), get(lo), get(hi)),
        Op::SliceAdd { acc, lo, hi, v, shape } => {
            subarrays::slice_add(get(acc), (get(lo), get(hi)), get(v), opt(shape), ty)
        }
        Op::Gather { a, at, shape } => subarrays::gather(get(a), get(at), shape.is_some(), ty),
        Op::GatherAdd { acc, at, v, shape } => subarrays::gather_add(get(acc), get(at), get(v), opt(shape), ty),
        Op::Reverse(a) => arrays::permute(get(a), |i, n| n - 1 - i),
        Op::Rotate { n, a } => {
            let k = arrays::int(get(n))?;
            arrays::permute(get(a), |i, n| (i as i64 + k.rem_euclid(n as i64)) as usize % n)
        }
        Op::Concat { a, b, len, shape } => arrays::concat(get(a), get(b), opt(len), opt(shape), ty),
        Op::Reshape { a, to, .. } => arrays::reshape(get(a), get(to), ty),
        Op::Transpose(a) => arrays::transpose(get(a)),
        Op::Replicate { n, a } => arrays::replicate(get(n), get(a), ty),
        Op::Sum { a, .. } => arrays::sum(get(a), ty),
        Op::Broadcast { a, shape } => arrays::spread(get(a), get(shape), ty),
        Op::SumAll { a, .. } => arrays::total(get(a), ty),
        Op::ArrayLit { elems, shape } => arrays::stack(fr.vals(elems), ty, opt(shape).map(arrays::sizes).transpose()?),
        Op::Dot(x, y) => arrays::dot(get(x), get(y), ty),
        Op::Outer(x, y) => arrays::outer(get(x), get(y)),
        Op::Cumsum { a, reverse } => arrays::cumsum(get(a), *reverse, ty),
        Op::Nonzero(a) | Op::Zeros(a) => arrays::positions(get(a)),
        Op::Construct { tag, fields, .. } => Ok(Val::data(*tag, fr.vals(fields))),
        Op::Prim(..)
        | Op::Destruct { .. }
        | Op::Dup(_)
        | Op::Drop(_)
        | Op::MatMul(..)
        | Op::Contract(_)
        | Op::If(..)
        | Op::Switch(..)
        | Op::Loop(_)
        | Op::Call { .. }
        | Op::Soac(_)
        | Op::Collective { .. }
        | Op::ReduceByIndex { .. } => Err(format!("`{}` does not have one result", op.word())),
    }
}

/// A collective of the only rank there is: it changes nothing.
fn alone(kind: Collective, args: Vec<Val>, at: Option<&Val>) -> Result<Vec<Val>, String> {
    let rows = |v: &Val| v.arr().map_or(0, |a| a.shape[0] as i64);
    let lengths = match at {
        Some(v) if kind.by_lengths() => Some(arrays::sizes(v)?),
        Some(v) if matches!(kind, Collective::From | Collective::Place) && arrays::int(v)? != 0 => {
            return Err("there is one rank".to_owned());
        }
        _ => None,
    };
    let fits = |v: &&Val| match (&lengths, kind) {
        _ if v.is_symbolic_zero() => true,
        (Some(n), _) => n.len() == 1 && n[0] as i64 == rows(v),
        (None, Collective::Exchange) => rows(v) == 1,
        (None, _) => true,
    };
    if args.iter().all(|v| fits(&v)) { Ok(args) } else { Err("parts of other lengths".to_owned()) }
}

/// Whether a statement, or a block in it, reads one of these variables.
fn reads(s: &Stmt, vars: &[Var]) -> bool {
    stacker::maybe_grow(32 * 1024, 1024 * 1024, || {
        let mut found = false;
        s.op.each_operand(&mut |v| found |= vars.contains(&v));
        found
            || s.op.blocks().iter().any(|b| {
                b.results.iter().chain(&b.lin_results).any(|v| vars.contains(v))
                    || b.stmts.iter().any(|s| reads(s, vars))
            })
    })
}

fn literal(l: &Lit) -> Val {
    match l {
        Lit::F64(x) => Val::F64(*x),
        Lit::F32(x) => Val::F32(*x),
        Lit::I64(n) => Val::I64(*n),
        Lit::Bool(b) => Val::Bool(*b),
        Lit::Str(s) => Val::Str(s.clone()),
    }
}

fn extent(a: &Val, axis: u32) -> Result<Val, String> {
    let a = arrays::array(a)?;
    a.shape
        .get(axis as usize)
        .map(|n| Val::I64(*n as i64))
        .ok_or_else(|| format!("there is no axis {axis} in an array of shape {:?}", a.shape))
}
