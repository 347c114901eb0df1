//! Replays recordings of functions and statements on arrays of the same shapes (see [`crate::recording`]).

use super::turns::reads;
use super::{Exec, ExecFrame, Value};
use crate::array::{Array, Scalar};
use crate::error::Res;
use crate::limits::exec_replay::EACH;
use crate::queue::Gpu;
use crate::recording::{BufferRef, CommandList, Recording, ReplayBuffers};
use adl_ir::{Block, Lit, Op, Stmt, Var};
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// A result of a recording.
#[derive(Debug)]
enum RecordedValue {
    Same(Value),
    Array(BufferRef, Scalar, Vec<usize>),
    Data(u32, Vec<RecordedValue>),
}

#[derive(Debug)]
struct RecordedRun {
    tape: CommandList,
    results: Vec<RecordedValue>,
}

/// Free variables, by the address of the first statement and the number of statements.
type FreeVars = HashMap<(u64, usize), Rc<[Var]>>;

/// Recordings, by place and by everything that determines the commands.
#[derive(Debug, Default)]
pub(super) struct Recordings {
    all: RefCell<HashMap<Vec<u64>, Rc<RecordedRun>>>,
    /// The number of recordings per place, or a mark that recording is useless.
    counts: RefCell<HashMap<u64, u32>>,
    /// Variables that statements read but do not bind.
    free: RefCell<FreeVars>,
    /// The last uses of variables, by block.
    last: RefCell<HashMap<u64, Rc<LastReads>>>,
}

/// The last uses of a block's variables.
#[derive(Debug)]
pub(super) struct LastReads {
    pub last: HashMap<Var, usize>,
    /// The variables that are dead after each statement.
    pub dies: Vec<Vec<Var>>,
}

/// Everything that determines the commands.
#[derive(Default)]
struct ReplayKey {
    words: Vec<u64>,
    arrays: Vec<Array>,
}

impl ReplayKey {
    fn add(&mut self, v: &Value) {
        match v {
            Value::Number(l) => self.number(l),
            Value::Ints(x) => {
                self.words.extend([2, x.len() as u64]);
                self.words.extend(x.iter().map(|n| *n as u64));
            }
            Value::Array(a) => {
                let same = self.arrays.iter().position(|b| b.buffer.id() == a.buffer.id()).unwrap_or(self.arrays.len());
                self.words.extend([3, a.scalar as u64, same as u64, a.shape.len() as u64]);
                self.words.extend(a.shape.iter().map(|n| *n as u64));
                self.arrays.push(a.clone());
            }
            Value::Data(tag, fields) => {
                self.words.extend([4, u64::from(*tag), fields.len() as u64]);
                fields.iter().for_each(|f| self.add(f));
            }
            Value::SymbolicZero => self.words.push(5),
        }
    }

    fn number(&mut self, l: &Lit) {
        match l {
            Lit::F64(x) => self.words.extend([10, x.to_bits()]),
            Lit::F32(x) => self.words.extend([11, u64::from(x.to_bits())]),
            Lit::I64(n) => self.words.extend([12, *n as u64]),
            Lit::Bool(b) => self.words.extend([13, u64::from(*b)]),
            Lit::Str(s) => {
                self.words.extend([14, s.len() as u64]);
                self.words.extend(s.bytes().map(u64::from));
            }
        }
    }
}

fn kept(r: &Recording, v: &Value, places: &mut Vec<BufferRef>) -> Option<RecordedValue> {
    match v {
        Value::Array(a) => {
            let p = r.find(a)?;
            places.push(p);
            Some(RecordedValue::Array(p, a.scalar, a.shape.clone()))
        }
        Value::Data(tag, fields) => {
            fields.iter().map(|f| kept(r, f, places)).collect::<Option<Vec<_>>>().map(|f| RecordedValue::Data(*tag, f))
        }
        v => Some(RecordedValue::Same(v.clone())),
    }
}

impl RecordedRun {
    fn value(&self, gpu: &Gpu, k: &RecordedValue, made: &mut ReplayBuffers, given: &[Array]) -> Res<Value> {
        Ok(match k {
            RecordedValue::Same(v) => v.clone(),
            RecordedValue::Array(p, scalar, shape) => Value::Array(Array {
                buffer: made.result(gpu, &self.tape, *p, given)?,
                scalar: *scalar,
                shape: shape.clone(),
            }),
            RecordedValue::Data(tag, fields) => Value::Data(
                *tag,
                Rc::new(fields.iter().map(|f| self.value(gpu, f, made, given)).collect::<Res<Vec<_>>>()?),
            ),
        })
    }
}

impl Recordings {
    /// Runs code whose commands depend on the given values only, or replays its recording for equal ones.
    fn run(&self, gpu: &Gpu, place: u64, mut key: ReplayKey, run: impl FnOnce() -> Res<Vec<Value>>) -> Res<Vec<Value>> {
        if gpu.records() {
            return run();
        }
        let count = self.counts.borrow().get(&place).copied().unwrap_or(0);
        key.words.push(place);
        let found = if count == 0 { None } else { self.all.borrow().get(&key.words).cloned() };
        if let Some(p) = found {
            let mut made = gpu.replay_commands(&p.tape, &key.arrays)?;
            return p.results.iter().map(|k| p.value(gpu, k, &mut made, &key.arrays)).collect();
        }
        if count >= EACH || !gpu.record(&key.arrays) {
            return run();
        }
        let made = run().inspect_err(|_| gpu.discard_recording())?;
        let tape = gpu.recorded(|r, places| made.iter().map(|v| kept(r, v, places)).collect::<Option<Vec<_>>>());
        let count = match tape {
            Some((tape, results)) => {
                self.all.borrow_mut().insert(key.words, Rc::new(RecordedRun { tape, results }));
                count + 1
            }
            None => EACH,
        };
        self.counts.borrow_mut().insert(place, count);
        Ok(made)
    }

    /// The last uses of the variables of a block of the program.
    pub fn last_reads(&self, b: &Block) -> Rc<LastReads> {
        let at = std::ptr::from_ref(b).addr() as u64;
        if let Some(found) = self.last.borrow().get(&at) {
            return found.clone();
        }
        let last = super::last_reads(b);
        let dies = super::dying(b, &last);
        let made = Rc::new(LastReads { last, dies });
        self.last.borrow_mut().insert(at, made.clone());
        made
    }

    /// The variables that statements read but do not bind.
    fn free(&self, place: u64, stmts: &[Stmt]) -> Rc<[Var]> {
        let at = (place, stmts.len());
        if let Some(found) = self.free.borrow().get(&at) {
            return found.clone();
        }
        let (mut all, mut own) = (Vec::new(), HashSet::new());
        for s in stmts {
            let mut see = |v: Var| {
                if !all.contains(&v) {
                    all.push(v);
                }
            };
            s.op.each_operand(&mut see);
            s.op.blocks().into_iter().for_each(|b| reads(b, &mut see));
            own.extend(s.outs.iter().chain(&s.lin_outs).copied());
            s.op.blocks().into_iter().for_each(|b| own.extend(super::accumulated_terms::bound(b)));
        }
        let made: Rc<[Var]> = all.into_iter().filter(|v| !own.contains(v)).collect();
        self.free.borrow_mut().insert(at, made.clone());
        made
    }

    /// Runs or replays a whole function.
    pub fn function(&self, gpu: &Gpu, args: &[Value], run: impl FnOnce() -> Res<Vec<Value>>) -> Res<Vec<Value>> {
        let mut key = ReplayKey::default();
        args.iter().for_each(|v| key.add(v));
        self.run(gpu, 0, key, run)
    }
}

/// Whether the values determine a statement's commands, and it updates nothing in place.
fn suits(op: &Op) -> bool {
    match op {
        Op::Un(..) | Op::Bin(..) | Op::Cmp(..) | Op::Not(_) | Op::Select(..) | Op::Convert(..) | Op::Prim(..) => true,
        Op::Slice { .. } | Op::Gather { .. } | Op::Reverse(_) | Op::Rotate { .. } | Op::Concat { .. } => true,
        Op::Transpose(_) | Op::Replicate { .. } | Op::Broadcast { .. } | Op::ArrayLit { .. } => true,
        Op::Sum { .. } | Op::SumAll { .. } | Op::Cumsum { .. } => true,
        Op::Dot(..) | Op::MatMul(..) | Op::Contract(_) | Op::Outer(..) => true,
        Op::Loop(_) | Op::Soac(_) | Op::ReduceByIndex { .. } => true,
        // They run on the host, or their results depend on values that the host must read.
        Op::Lit(_) | Op::Zero(_) | Op::Dim(..) | Op::Shape(_) | Op::Size(_) | Op::Reshape { .. } => false,
        Op::Index { .. } | Op::Nonzero(_) | Op::Zeros(_) => false,
        Op::IndexAdd { .. } | Op::IndexSet { .. } | Op::SliceAdd { .. } | Op::GatherAdd { .. } => false,
        Op::Construct { .. } | Op::Destruct { .. } | Op::Dup(_) | Op::Drop(_) => false,
        Op::If(..) | Op::Switch(..) | Op::Call { .. } | Op::Collective { .. } => false,
    }
}

impl<'a> Exec<'a> {
    /// Runs or replays statements of the program, from the first of them on. `run` executes them.
    pub(super) fn as_before(
        &mut self,
        fr: &mut ExecFrame<'a>,
        stmts: &[Stmt],
        run: impl FnOnce(&mut Self, &mut ExecFrame<'a>) -> Res<Vec<Value>>,
    ) -> Res<Vec<Value>> {
        let Some(first) = stmts.first().filter(|s| suits(&s.op)) else { return run(self, fr) };
        if self.gpu.records() {
            return run(self, fr);
        }
        let (tapes, gpu, place) = (self.tapes, self.gpu, std::ptr::from_ref(first).addr() as u64);
        let mut key = ReplayKey::default();
        key.words.push(stmts.len() as u64);
        for v in tapes.free(place, stmts).iter() {
            match fr.values.get(v) {
                Some(v) => key.add(v),
                None => key.words.push(6),
            }
        }
        if key.arrays.is_empty() {
            return run(self, fr);
        }
        tapes.run(gpu, place, key, || run(self, fr))
    }
}
