//! Selects the functions that are compiled together: a function and everything that it calls.

use crate::limits::unit::{MAX_SIZE, MAX_VARS};
use crate::outline_loops;
use adl_interp::ir::native::LoweredIr;
use adl_ir::{Block, DataDecl, FnId, Function, Op, Zeros};
use adl_opt::pipelines;
use std::collections::HashMap;
use std::rc::Rc;

/// The functions that are compiled together.
#[derive(Default)]
pub(crate) struct Unit {
    /// The first is the entry point.
    pub funcs: Vec<Rc<Function>>,
    /// Declared data types, by number.
    pub datas: Vec<Rc<DataDecl>>,
    /// Index into `funcs` by function ID.
    pub index: HashMap<FnId, usize>,
    /// Whether some function tail-calls another one. All functions then use a calling convention with proper tail
    /// calls.
    pub tail_calls: bool,
    /// Whether the call graph has a cycle.
    pub recursive: bool,
    /// The index of the first outlined loop: functions from here on are loops of the entry function.
    parts: usize,
}

impl Unit {
    /// Collects the function at a place and all functions that it calls, directly or indirectly.
    pub fn new(source: &LoweredIr, at: u32) -> Result<Unit, String> {
        let of_place: HashMap<u32, FnId> = source.places.iter().map(|(f, p)| (*p, *f)).collect();
        let first = *of_place.get(&at).ok_or("a function that is not lowered")?;
        let mut unit = Unit { datas: source.datas.clone(), ..Unit::default() };
        let (mut todo, mut size, program) = (vec![first], 0, source.program());
        unit.index.insert(first, 0);
        let mut callees: Vec<Vec<usize>> = Vec::new();
        while unit.funcs.len() < todo.len() {
            let me = todo[unit.funcs.len()];
            let mut func = source.func(me).ok_or("a function that is not lowered")?.clone();
            adl_opt::run(pipelines::COMPILED, &program, Rc::make_mut(&mut func), Zeros::Symbolic);
            let mut calls = Vec::new();
            size += scan(&func.body, &mut |g| calls.push(g));
            if func.vars.len() > MAX_VARS || size > MAX_SIZE {
                return Err(too_large(&func));
            }
            let mut out = Vec::new();
            for g in calls {
                let next = todo.len();
                let k = *unit.index.entry(g).or_insert(next);
                if k == next {
                    todo.push(g);
                }
                out.push(k);
            }
            callees.push(out);
            unit.funcs.push(func);
        }
        unit.recursive = circular(&callees);
        adl_opt::arm_constructors::split(&mut unit.funcs, &mut unit.datas);
        unit.tail_calls = unit.funcs.iter().zip(&todo).any(|(f, me)| tail(&f.body, *me));
        unit.parts = unit.funcs.len();
        if !unit.recursive {
            unit.split();
        }
        Ok(unit)
    }

    /// Outlines the loops of the entry function if it is large.
    fn split(&mut self) {
        let next = FnId(self.index.keys().map(|f| f.0 + 1).max().unwrap_or(0));
        let Some((first, parts)) = outline_loops::split(&self.funcs[0], next) else { return };
        self.funcs[0] = Rc::new(first);
        for (k, f) in parts.into_iter().enumerate() {
            self.index.insert(FnId(next.0 + k as u32), self.funcs.len());
            self.funcs.push(Rc::new(f));
        }
    }

    /// Whether a function is an outlined loop. Errors in it report the frame of the entry function.
    pub fn is_outlined(&self, k: usize) -> bool {
        k >= self.parts
    }
}

/// Why a function with all that it calls is interpreted.
pub(crate) fn too_large(f: &Function) -> String {
    format!("`{}` is too large to be compiled", f.name)
}

/// Statements in a block; tells of each call.
fn scan(b: &Block, call: &mut dyn FnMut(FnId)) -> usize {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
        let mut n = b.stmts.len();
        for s in &b.stmts {
            if let Op::Call { f, .. } = &s.op {
                call(*f);
            }
            for part in s.op.blocks() {
                n += scan(part, call);
            }
        }
        n
    })
}

/// Whether a block in tail position ends with a call of a function other than `me`.
fn tail(b: &Block, me: FnId) -> bool {
    let Some(s) = b.stmts.last() else { return false };
    if !s.outs.iter().chain(&s.lin_outs).eq(b.results.iter().chain(&b.lin_results)) {
        return false;
    }
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || match &s.op {
        Op::Call { f, .. } => *f != me,
        Op::If(_, x, y) => tail(x, me) || tail(y, me),
        Op::Switch(_, arms) => arms.iter().any(|a| tail(a, me)),
        _ => false,
    })
}

/// Whether the call graph has a cycle: functions without remaining callees are removed until none is left.
fn circular(callees: &[Vec<usize>]) -> bool {
    let mut callers: Vec<Vec<usize>> = vec![Vec::new(); callees.len()];
    let mut left: Vec<usize> = callees.iter().map(Vec::len).collect();
    for (f, gs) in callees.iter().enumerate() {
        gs.iter().for_each(|g| callers[*g].push(f));
    }
    let mut todo: Vec<usize> = (0..left.len()).filter(|f| left[*f] == 0).collect();
    let mut done = 0;
    while let Some(g) = todo.pop() {
        done += 1;
        for f in &callers[g] {
            left[*f] -= 1;
            if left[*f] == 0 {
                todo.push(*f);
            }
        }
    }
    done < callees.len()
}
