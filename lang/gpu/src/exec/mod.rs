//! Runs functions of the IR statement by statement on the host, with their arrays on the device.
//!
//! - Scalars that the host knows stay on the host, for sizes and control flow. Scalars computed by kernels stay on the
//!   device, as arrays without axes, until a branch, a loop condition or an extent needs them.
//! - Adjacent elementwise operations on arrays of one shape are fused to one kernel ([`crate::pointwise`]), which
//!   stores only the results that are used later.
//! - A value is dropped after its last use, so that its memory is reused, and arrays that are not shared are updated in
//!   place.
//! - If a kernel for a loop is [`crate::Error::Unsupported`], the loop runs on the host, statement by statement, unless its
//!   trip count is too large; then the whole call is [`crate::Error::Unsupported`].
//!
//! - `numbers`: scalar arithmetic on the host and the device. `array_ops`: operations on whole arrays. `primitives`:
//!   primitives. `control`: branches, loops, calls.
//! - `carried_to_sums`, `accumulated_terms`: remove carried values from loops. `turns`, `batch`: batched loop execution. `replay`: replays
//!   recorded kernels.

mod accumulated_terms;
mod array_ops;
mod batch;
mod carried_to_sums;
mod control;
mod fits;
mod numbers;
mod primitives;
mod replay;
mod turns;

pub use fits::fits;
pub(crate) use turns::reads;

use crate::array::{Array, Operand, Scalar};
use crate::error::{Error, Res, unsupported};
use crate::limits::exec::CALLS;
use crate::pointwise::{self, is_pointwise};
use crate::queue::{Gpu, Work};
use crate::single_thread;
use crate::soac;
use adl_interp::device::KernelLimits;
use adl_ir::{Block, FnId, Function, Lit, Op, Program, Stmt, Trip, Ty, Var};
use std::cell::OnceCell;
use std::collections::HashMap;
use std::rc::Rc;

/// The value of a variable.
#[derive(Clone, Debug)]
pub enum Value {
    /// A scalar that the host knows, or a text.
    Number(Lit),
    /// Ints that the host knows, such as shapes.
    Ints(Rc<Vec<i64>>),
    /// On the device. An array of boxes of one shape is one array, with their axes after its own.
    Array(Array),
    /// A constructor with its fields.
    Data(u32, Rc<Vec<Value>>),
    /// A symbolic zero, whose shape is not materialised.
    SymbolicZero,
}

/// A function prepared for repeated execution.
#[derive(Debug)]
pub struct Prepared {
    any: PreparedProgram,
    /// The same for arguments without symbolic zeros, with vector operations as loops.
    vectors: OnceCell<PreparedProgram>,
    f: FnId,
}

/// A program, and the recordings of its kernels.
#[derive(Debug)]
struct PreparedProgram {
    program: Program,
    tapes: replay::Recordings,
}

impl PreparedProgram {
    fn new(program: Program) -> PreparedProgram {
        PreparedProgram { program, tapes: replay::Recordings::default() }
    }
}

impl Prepared {
    /// Prepares a function of a program, in the form of `adl_opt::inlined` or a later one.
    pub fn new(program: &Program, f: FnId) -> Prepared {
        Prepared { any: PreparedProgram::new(carried_to_sums::ready(program, f)), vectors: OnceCell::new(), f }
    }

    /// Runs the function.
    ///
    /// # Errors
    /// [`crate::Error::Unsupported`] if an operation is not supported, [`crate::Error::Fault`] if a check fails: the CPU
    /// then repeats the call.
    pub fn run(&self, gpu: &Gpu, args: &[Value]) -> Res<Vec<Value>> {
        self.run_within(gpu, args, KernelLimits::ENDLESS)
    }

    /// Runs the function, unless loops on the host launch too many small kernels.
    ///
    /// # Errors
    /// As for [`Prepared::run`].
    pub fn run_within(&self, gpu: &Gpu, args: &[Value], patience: KernelLimits) -> Res<Vec<Value>> {
        let symbolic_zero = args.iter().any(|v| matches!(v, Value::SymbolicZero));
        let vectors = || PreparedProgram::new(carried_to_sums::vectors(&self.any.program, self.f));
        let PreparedProgram { program, tapes } =
            if symbolic_zero { &self.any } else { self.vectors.get_or_init(vectors) };
        tapes.function(gpu, args, || {
            Exec { gpu, program, tapes, calls: 0, patience, before: gpu.work() }.call(self.f, args.to_vec())
        })
    }
}

/// Runs a function once.
///
/// # Errors
/// As for [`Prepared::run`].
pub fn run(gpu: &Gpu, program: &Program, f: FnId, args: &[Value]) -> Res<Vec<Value>> {
    Prepared::new(program, f).run(gpu, args)
}

struct Exec<'a> {
    gpu: &'a Gpu,
    program: &'a Program,
    tapes: &'a replay::Recordings,
    calls: usize,
    patience: KernelLimits,
    /// The device's work counters at the start of the call.
    before: Work,
}

/// The variables of a function.
struct ExecFrame<'a> {
    f: &'a Function,
    values: HashMap<Var, Value>,
}

impl ExecFrame<'_> {
    fn get(&self, v: Var) -> Res<&Value> {
        self.values.get(&v).map_or_else(|| unsupported("a variable that is bound nowhere"), Ok)
    }

    fn all(&self, vs: &[Var]) -> Res<Vec<Value>> {
        vs.iter().map(|v| self.get(*v).cloned()).collect()
    }

    fn rank(&self, v: Var) -> u32 {
        self.f.ty(v).rank()
    }

    fn bind(&mut self, vs: &[Var], values: Vec<Value>) -> Res<()> {
        if vs.len() > values.len() {
            return unsupported("an operation with fewer results than it should have");
        }
        self.values.extend(vs.iter().copied().zip(values));
        Ok(())
    }
}

/// The last use of each variable in a block; results of the block are used at its end.
fn last_reads(block: &Block) -> HashMap<Var, usize> {
    fn reads(s: &Stmt, see: &mut dyn FnMut(Var)) {
        s.op.each_operand(&mut *see);
        for b in s.op.blocks() {
            b.stmts.iter().for_each(|s| reads(s, see));
            b.results.iter().chain(&b.lin_results).for_each(|v| see(*v));
        }
    }
    let mut last = HashMap::new();
    for (k, s) in block.stmts.iter().enumerate() {
        reads(s, &mut |v| {
            last.insert(v, k);
        });
    }
    last.extend(block.results.iter().chain(&block.lin_results).map(|v| (*v, block.stmts.len())));
    last
}

/// The variables bound in a block that are dead after each statement.
fn dying(b: &Block, last: &HashMap<Var, usize>) -> Vec<Vec<Var>> {
    let mut dies = vec![Vec::new(); b.stmts.len()];
    let params = b.params.iter().chain(&b.lin_params).map(|v| (*v, 0));
    let made = b.stmts.iter().enumerate().flat_map(|(k, s)| s.outs.iter().chain(&s.lin_outs).map(move |v| (*v, k)));
    for (v, bound) in params.chain(made) {
        if let Some(at) = dies.get_mut(last.get(&v).copied().unwrap_or(bound)) {
            at.push(v);
        }
    }
    dies
}

/// Arrays as values; unused ones become symbolic zeros.
fn read_later(outs: Vec<Array>, read: &dyn Fn(usize) -> bool) -> Vec<Value> {
    outs.into_iter().enumerate().map(|(k, a)| if read(k) { Value::Array(a) } else { Value::SymbolicZero }).collect()
}

/// Whether the first two statements are a stateless loop and a reduction or scan that is the only user of its outputs.
fn is_fusible_with_loop(stmts: &[Stmt], at: usize, last: &HashMap<Var, usize>) -> bool {
    let [Stmt { op: Op::Loop(l), outs, .. }, Stmt { op: Op::Soac(s), .. }, ..] = stmts else { return false };
    let Some((_, made)) = outs.split_last() else { return false };
    let inside = adl_opt::fuse::reads_of(&s.op);
    let own = made.iter().all(|v| {
        s.arrays.contains(v) && !inside.contains(v) && !s.neutral.contains(v) && last.get(v) == Some(&(at + 1))
    });
    own && !made.is_empty() && l.init.is_empty() && matches!(l.trip, Trip::Count(_))
}

impl<'a> Exec<'a> {
    /// Runs a block whose parameters are bound. Returns its results.
    fn block(&mut self, fr: &mut ExecFrame<'a>, block: &Block) -> Res<Vec<Value>> {
        let known = self.tapes.last_reads(block);
        let mut position = 0;
        while position < block.stmts.len() {
            let grouped = self.group(fr, &block.stmts[position..]);
            let extremes = primitives::are_extremes(&block.stmts[position..]);
            let count =
                grouped.max(if extremes || is_fusible_with_loop(&block.stmts[position..], position, &known.last) {
                    2
                } else {
                    1
                });
            let stmts = &block.stmts[position..position + count];
            let later = |v: Var| known.last.get(&v).is_some_and(|at| *at >= position + count);
            let outs: Vec<Var> = stmts.iter().flat_map(|s| s.outs.iter().chain(&s.lin_outs)).copied().collect();
            let made = self.as_before(fr, stmts, |exec, fr| {
                if grouped > 0 {
                    exec.together(fr, stmts, &later)?;
                } else if extremes {
                    exec.extremes(fr, stmts)?;
                } else if count == 2 {
                    exec.fused_with_loop(fr, stmts, &known.dies[position..position + 2], &later)?;
                } else if let Op::Soac(s) = &stmts[0].op {
                    let env = exec.env(fr, None);
                    let read = |k: usize| later(stmts[0].outs[k]);
                    let outs = soac::run_for(exec.gpu, exec.program, fr.f, s, &env, &read)?;
                    drop(env);
                    fr.bind(&stmts[0].outs, read_later(outs, &read))?;
                } else if !exec.lone(fr, &stmts[0], &later)? {
                    exec.stmt(fr, &stmts[0], &known.dies[position])?;
                }
                Ok(outs.iter().map(|v| fr.values.remove(v).unwrap_or(Value::SymbolicZero)).collect())
            })?;
            fr.bind(&outs, made)?;
            for v in known.dies[position..position + count].iter().flatten() {
                fr.values.remove(v);
            }
            position += count;
        }
        block.results.iter().chain(&block.lin_results).map(|v| fr.get(*v).cloned()).collect()
    }

    /// Runs a loop fused with the reduction or scan that uses its outputs, if possible.
    fn fused_with_loop(
        &mut self,
        fr: &mut ExecFrame<'a>,
        stmts: &[Stmt],
        dies: &[Vec<Var>],
        later: &dyn Fn(Var) -> bool,
    ) -> Res<()> {
        if let (Op::Loop(l), Op::Soac(s), Some((trip, made))) = (&stmts[0].op, &stmts[1].op, stmts[0].outs.split_last())
        {
            let env = self.env(fr, None);
            let read = |k: usize| later(stmts[1].outs[k]);
            let ran = soac::fused_with_loop(self.gpu, self.program, fr.f, (l, made), s, &env, &read);
            drop(env);
            match ran {
                Ok(outs) => {
                    if let Trip::Count(n) = l.trip {
                        let n = self.int(fr, n)?.max(0);
                        fr.bind(&[*trip], vec![Value::Number(Lit::I64(n))])?;
                    }
                    return fr.bind(&stmts[1].outs, read_later(outs, &read));
                }
                Err(Error::Unsupported(_)) => {}
                Err(e) => return Err(e),
            }
        }
        stmts.iter().zip(dies).try_for_each(|(s, dies)| self.stmt(fr, s, dies))
    }

    /// The number of leading statements that are elementwise on arrays of one shape.
    fn group(&self, fr: &ExecFrame<'a>, stmts: &[Stmt]) -> usize {
        let mut shapes: HashMap<Var, Vec<usize>> = HashMap::new();
        let mut one: Option<Vec<usize>> = None;
        let fits = |stmt: &&Stmt| {
            if !is_pointwise(&stmt.op) || matches!(stmt.op, Op::Lit(_) | Op::Dup(_) | Op::Drop(_)) {
                return false;
            }
            let (mut fine, mut vars) = (true, Vec::new());
            stmt.op.each_operand(&mut |v| vars.push(v));
            for v in vars {
                let shape = match (shapes.get(&v), fr.values.get(&v)) {
                    (Some(s), _) => s.clone(),
                    (None, Some(Value::Array(a))) => a.shape.clone(),
                    (None, Some(Value::Ints(x))) => vec![x.len()],
                    (None, Some(Value::Number(Lit::Str(_)) | Value::Data(..) | Value::SymbolicZero) | None) => {
                        return false;
                    }
                    (None, Some(Value::Number(_))) => continue,
                };
                fine &= shape.is_empty() || *one.get_or_insert_with(|| shape.clone()) == shape;
            }
            let array = one.is_some() && stmt.outs.iter().chain(&stmt.lin_outs).all(|o| fr.rank(*o) > 0);
            if let (true, true, Some(shape)) = (fine, array, &one) {
                shapes.extend(stmt.outs.iter().chain(&stmt.lin_outs).map(|o| (*o, shape.clone())));
            }
            fine && array
        };
        stmts.iter().take_while(fits).count()
    }

    /// Runs such statements as one kernel, which stores the results for which `later` is true.
    fn together(&mut self, fr: &mut ExecFrame<'a>, stmts: &[Stmt], later: &dyn Fn(Var) -> bool) -> Res<()> {
        let outs: Vec<Var> =
            stmts.iter().flat_map(|s| s.outs.iter().chain(&s.lin_outs)).copied().filter(|v| later(*v)).collect();
        if outs.is_empty() {
            return Ok(());
        }
        let env = self.env(fr, None);
        let made = pointwise::run(self.gpu, self.program, fr.f, stmts, &outs, &env)?;
        drop(env);
        fr.bind(&outs, made.into_iter().map(Value::Array).collect())
    }

    /// Runs a scalar loop with state, or a scalar branch, as a kernel of one thread. Returns whether it did. (Other
    /// scalar statements use kernels that many programs share, which saves compilation of a kernel for each sequence.)
    fn lone(&mut self, fr: &mut ExecFrame<'a>, s: &Stmt, later: &dyn Fn(Var) -> bool) -> Res<bool> {
        if single_thread::size(s) > single_thread::STATEMENTS || !self.is_lone(fr, s) {
            return Ok(false);
        }
        let outs: Vec<Var> = s.outs.iter().copied().filter(|v| later(*v)).collect();
        let env = self.env(fr, None);
        let made = match single_thread::run(self.gpu, self.program, fr.f, &[s], &outs, &env) {
            Ok(made) => made,
            Err(Error::Unsupported(_)) => return Ok(false),
            Err(e) => return Err(e),
        };
        drop(env);
        fr.bind(&outs, made.into_iter().map(Value::Array).collect())?;
        Ok(true)
    }

    /// Whether a statement is such a loop or branch, and short enough.
    fn is_lone(&self, fr: &ExecFrame<'a>, stmt: &Stmt) -> bool {
        let suits = match &stmt.op {
            // If the host knows the condition, it selects the arm.
            Op::If(c, ..) => !matches!(fr.values.get(c), Some(Value::Number(_))),
            Op::Loop(l) => !l.init.is_empty(),
            _ => false,
        };
        if !suits {
            return false;
        }
        let mut fine = true;
        let mut see = |v: Var| {
            fine &=
                !matches!(fr.values.get(&v), Some(Value::Number(Lit::Str(_)) | Value::Data(..) | Value::SymbolicZero));
        };
        stmt.op.each_operand(&mut see);
        stmt.op.blocks().into_iter().for_each(|b| turns::reads(b, &mut see));
        let known = |v: Var| match fr.values.get(&v) {
            Some(Value::Number(Lit::I64(n))) => Some((*n).max(0) as u64),
            _ => None,
        };
        fine && single_thread::work(fr.f, stmt, &known).is_some_and(single_thread::bearable_alone)
    }

    /// The variables as kernels see them: Ints are sent to the device on demand, and device scalars in `vectors` appear
    /// as vectors of one element.
    fn env<'f>(&'f self, fr: &'f ExecFrame<'a>, vectors: Option<&'f [Var]>) -> impl Fn(Var) -> Option<Operand> + 'f {
        move |v| match fr.values.get(&v)? {
            Value::Number(Lit::Str(_)) | Value::Data(..) | Value::SymbolicZero => None,
            Value::Number(l) => Some(Operand::Number(l.clone())),
            Value::Array(a) if a.shape.is_empty() && vectors.is_some_and(|vs| vs.contains(&v)) => {
                a.reshaped(vec![1]).ok().map(Operand::Array)
            }
            Value::Array(a) => Some(Operand::Array(a.clone())),
            Value::Ints(_) => self.array(fr, v).ok().map(Operand::Array),
        }
    }

    /// A value as a device array.
    fn array(&self, fr: &ExecFrame<'a>, v: Var) -> Res<Array> {
        match fr.get(v)? {
            Value::Array(a) => Ok(a.clone()),
            Value::Ints(x) => self.gpu.array(&crate::array::Data::I64((**x).clone()), vec![x.len()]),
            Value::Number(l) => self.device_number(l),
            Value::Data(..) => unsupported("data in the place of an array"),
            Value::SymbolicZero => unsupported(format!("the elements of an absent zero v{}", v.0)),
        }
    }

    /// Runs a statement, after which the variables `dies` are dead.
    fn stmt(&mut self, fr: &mut ExecFrame<'a>, stmt: &Stmt, dies: &[Var]) -> Res<()> {
        let outs: Vec<Var> = stmt.outs.iter().chain(&stmt.lin_outs).copied().collect();
        let made = match self.control(fr, stmt, &outs)? {
            Some(made) => made,
            None => match &stmt.op {
                Op::Drop(_) => Vec::new(),
                Op::Destruct { a, .. } if outs.len() != 1 => match fr.get(*a)? {
                    Value::Data(_, fields) => fields.to_vec(),
                    _ => outs.iter().map(|v| zero(fr.f.ty(*v))).collect(),
                },
                Op::Dup(a) => vec![fr.get(*a)?.clone(); 2],
                Op::Prim(p, args) => self.prim(fr, *p, args, stmt)?,
                Op::IndexAdd { acc, .. }
                | Op::IndexSet { acc, .. }
                | Op::SliceAdd { acc, .. }
                | Op::GatherAdd { acc, .. } => {
                    let mut reads = 0;
                    stmt.op.each_operand(&mut |v| reads += usize::from(v == *acc));
                    let own = if reads == 1 && dies.contains(acc) {
                        fr.values.remove(acc)
                    } else {
                        fr.values.get(acc).cloned()
                    };
                    let own = own.map_or_else(|| unsupported("a variable that is bound nowhere"), Ok)?;
                    vec![self.updated(fr, &stmt.op, own, outs[0])?]
                }
                op => vec![self.one(fr, op, stmt, &outs)?],
            },
        };
        fr.bind(&outs, made)
    }

    /// Runs an operation with one result.
    fn one(&mut self, fr: &mut ExecFrame<'a>, op: &Op, s: &Stmt, outs: &[Var]) -> Res<Value> {
        match op {
            Op::Lit(l) => Ok(Value::Number(l.clone())),
            Op::Zero(t) => Ok(zero(t)),
            Op::Un(..) | Op::Bin(..) | Op::Cmp(..) | Op::Not(_) | Op::Select(..) | Op::Convert(..) => {
                self.arithmetic(fr, op, s, outs)
            }
            _ => self.whole(fr, op, outs),
        }
    }
}

/// The zero of a type.
fn zero(t: &Ty) -> Value {
    match t {
        Ty::F64 => Value::Number(Lit::F64(0.0)),
        Ty::F32 => Value::Number(Lit::F32(0.0)),
        Ty::I64 => Value::Number(Lit::I64(0)),
        Ty::Bool => Value::Number(Lit::Bool(false)),
        Ty::Str | Ty::Array(..) | Ty::Data(_) => Value::SymbolicZero,
    }
}

/// The element type of an array type.
fn kind(t: &Ty) -> Res<Scalar> {
    Scalar::inside(t).map_or_else(|| unsupported("arrays of data"), Ok)
}
