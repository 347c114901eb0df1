//! Verifier of lowered code. It runs after lowering whenever the IR verifier is on ([`adl_ir::verify::is_on`]).
//!
//! 1. *Instructions.* Only instructions that lowering emits occur.
//! 2. *References.* Register numbers are below the size of the frame; constants, tables, steps, calls, chains
//!    and result lists exist.
//! 3. *Targets.* Jumps stay inside the code, and control does not run off its end.
//! 4. *Definite assignment.* Each register that is read has been written on every path.
//! 5. *Moves.* A register that was moved from or cleared is written again before it is read.
//! 6. *Calls.* A callee is passed as many arguments as it has parameters.

use crate::value::Value;
use crate::vm::CodeList;
use crate::vm::code::{Arg, Code, I, R};
use std::fmt::{self, Display};

/// A violated invariant.
#[derive(Clone, PartialEq, Debug)]
pub struct Violation {
    /// The number of the invariant in the list at the head of this module.
    pub invariant: u8,
    /// The index of the instruction.
    pub at: usize,
    /// A description of the violation.
    pub message: String,
}

impl Display for Violation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "invariant {} broken at instruction {}: {}", self.invariant, self.at, self.message)
    }
}

/// How an instruction uses a register.
enum RegUse {
    Read(R),
    /// Reads the register and leaves it empty.
    Take(R),
    Clear(R),
    Write(R),
}

/// Checks invariants 1 to 5 for the code of one function.
pub fn verify(code: &Code) -> Result<(), Vec<Violation>> {
    let mut v = Verifier { code, faults: Vec::new(), states: vec![None; code.instrs.len()], todo: Vec::new() };
    v.references();
    if v.faults.is_empty() {
        v.flow();
    }
    if v.faults.is_empty() { Ok(()) } else { Err(v.faults) }
}

/// Checks invariant 6 for the functions of a group from index `first` on.
pub fn verify_calls(codes: &CodeList, first: usize) -> Result<(), Vec<Violation>> {
    let calls = codes.iter().skip(first).flat_map(|c| c.lowered.calls.iter().enumerate());
    let wrong = calls.filter(|(_, c)| codes.get(c.callee as usize).is_none_or(|f| f.params as usize != c.args.len()));
    let faults: Vec<Violation> = wrong
        .map(|(k, c)| Violation { invariant: 6, at: k, message: format!("call {k} has {} arguments", c.args.len()) })
        .collect();
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

/// The set of registers that hold a value.
#[derive(Clone, PartialEq)]
struct AssignedRegs(Vec<u64>);

impl AssignedRegs {
    fn has(&self, r: R) -> bool {
        self.0[r as usize / 64] >> (r % 64) & 1 == 1
    }

    fn set(&mut self, r: R, full: bool) {
        let bit = 1 << (r % 64);
        match full {
            true => self.0[r as usize / 64] |= bit,
            false => self.0[r as usize / 64] &= !bit,
        }
    }

    /// Intersects the set with another one. Returns whether it became smaller.
    fn meet(&mut self, other: &AssignedRegs) -> bool {
        let mut less = false;
        for (a, b) in self.0.iter_mut().zip(&other.0) {
            less |= *a & !*b != 0;
            *a &= *b;
        }
        less
    }
}

struct Verifier<'a> {
    code: &'a Code,
    faults: Vec<Violation>,
    /// The registers that hold a value before each instruction that is a jump target.
    states: Vec<Option<AssignedRegs>>,
    todo: Vec<usize>,
}

impl Verifier<'_> {
    fn fault(&mut self, invariant: u8, at: usize, message: String) {
        self.faults.push(Violation { invariant, at, message });
    }

    /// Checks invariants 1 to 3.
    fn references(&mut self) {
        let code = self.code;
        for (at, instr) in code.instrs.iter().enumerate() {
            if !is_lowered(instr) {
                self.fault(1, at, format!("{instr:?} is not an instruction of lowered code"));
                continue;
            }
            if !self.refers(instr) {
                self.fault(2, at, format!("{instr:?} refers to what is not there"));
                continue;
            }
            each_use(code, instr, &mut |u| {
                let (RegUse::Read(r) | RegUse::Take(r) | RegUse::Clear(r) | RegUse::Write(r)) = u;
                if r >= code.registers {
                    self.faults.push(Violation {
                        invariant: 2,
                        at,
                        message: format!("{instr:?} names register {r} of {}", code.registers),
                    });
                }
            });
            let end = code.instrs.len();
            let mut targets = jumps(code, instr);
            targets.extend(falls_through(instr).then_some(at + 1));
            if let Some(t) = targets.into_iter().find(|t| *t >= end) {
                self.fault(3, at, format!("{instr:?} leads to {t}, behind the end"));
            }
        }
    }

    /// Whether the constants, tables and steps to which an instruction refers exist.
    fn refers(&self, i: &I) -> bool {
        let c = self.code;
        let there = |k: u32, n: usize| (k as usize) < n;
        match *i {
            I::Const(_, k) | I::At1(_, _, _, k) | I::At2(_, _, _, _, k) | I::FieldOr(_, _, _, k) => {
                there(k, c.consts.len())
            }
            I::Switch(_, k) => there(k, c.tables.targets.len()),
            I::Lowered(k) => there(k, c.lowered.steps.len()),
            I::FusedChain(k, _) => there(k, c.lowered.strips.len()),
            I::CallFn(k) | I::TailFn(k) => there(k, c.lowered.calls.len()),
            I::RetMany(k) => there(k, c.lowered.rets.len()),
            _ => true,
        }
    }

    /// Checks invariants 4 and 5 by forward data-flow analysis from the parameters, to a fixed point.
    fn flow(&mut self) {
        let mut start = AssignedRegs(vec![0; self.code.registers as usize / 64 + 1]);
        (0..self.code.params).for_each(|r| start.set(r, true));
        // Code has far fewer joins than instructions; a state for each instruction would take quadratic memory.
        let mut is_target = vec![false; self.code.instrs.len()];
        self.code.instrs.iter().flat_map(|i| jumps(self.code, i)).for_each(|t| is_target[t] = true);
        self.reach(0, &start);
        while let Some(mut at) = self.todo.pop() {
            let Some(mut now) = self.states[at].clone() else { continue };
            // Follow the path until it ends or meets a jump target.
            loop {
                let i = &self.code.instrs[at];
                let strips = self.through(at, i, &mut now);
                jumps(self.code, i).into_iter().for_each(|t| self.reach(t, strips.as_ref().unwrap_or(&now)));
                if !falls_through(i) {
                    break;
                }
                at += 1;
                if is_target[at] {
                    self.reach(at, &now);
                    break;
                }
            }
        }
    }

    /// Merges a state into that before instruction `at`.
    fn reach(&mut self, at: usize, state: &AssignedRegs) {
        let news = match &mut self.states[at] {
            Some(known) => known.meet(state),
            none => {
                *none = Some(state.clone());
                true
            }
        };
        if news {
            self.todo.push(at);
        }
    }

    /// Updates the state across an instruction. For a chain instruction, returns the state at its jump target,
    /// which is reached if the entire chain was run.
    fn through(&mut self, at: usize, instr: &I, now: &mut AssignedRegs) -> Option<AssignedRegs> {
        let mut faults = Vec::new();
        let mut run = |u: RegUse, now: &mut AssignedRegs| match u {
            RegUse::Read(r) | RegUse::Take(r) if !now.has(r) => faults.push(r),
            RegUse::Read(_) => {}
            RegUse::Take(r) | RegUse::Clear(r) => now.set(r, false),
            RegUse::Write(r) => now.set(r, true),
        };
        let mut done = None;
        if let I::FusedChain(k, _) = instr {
            let (_, args, outs) = &self.code.lowered.strips[*k as usize];
            let mut after = now.clone();
            args.iter().for_each(|a| run(RegUse::Read(a.r), &mut after));
            args.iter().filter(|a| a.last).for_each(|a| run(RegUse::Clear(a.r), &mut after));
            outs.iter().for_each(|r| run(RegUse::Write(*r), &mut after));
            done = Some(after);
        } else {
            each_use(self.code, instr, &mut |u| run(u, now));
        }
        for r in faults {
            // Another path may already have reported this fault.
            let message = format!("{instr:?} reads register {r}, which holds nothing on some path");
            if !self.faults.iter().any(|f| f.at == at && f.message == message) {
                self.fault(if self.is_written(r) { 5 } else { 4 }, at, message);
            }
        }
        done
    }

    /// Whether any instruction writes the register.
    fn is_written(&self, r: R) -> bool {
        let mut found = r < self.code.params;
        self.code
            .instrs
            .iter()
            .for_each(|i| each_use(self.code, i, &mut |u| found |= matches!(u, RegUse::Write(d) if d == r)));
        found
    }
}

/// Whether lowering emits this instruction.
fn is_lowered(i: &I) -> bool {
    matches!(
        i,
        I::Const(..)
            | I::Move(..)
            | I::Take(..)
            | I::Un(..)
            | I::Bin(..)
            | I::Cmp(..)
            | I::ToFloat(..)
            | I::Jump(..)
            | I::JumpUnless(..)
            | I::JumpUnlessCmp(..)
            | I::Switch(..)
            | I::LoopHead(..)
            | I::LoopNext(..)
            | I::NoMatch
            | I::CallFn(..)
            | I::TailFn(..)
            | I::Ret(..)
            | I::RetMany(..)
            | I::Lowered(..)
            | I::FusedChain(..)
            | I::Push(..)
            | I::At1(..)
            | I::At2(..)
            | I::FieldOr(..)
            | I::AxisLen(..)
    )
}

/// The possible jump targets of an instruction.
fn jumps(code: &Code, i: &I) -> Vec<usize> {
    match *i {
        I::Jump(t)
        | I::JumpUnless(_, t)
        | I::JumpUnlessCmp(_, _, _, t)
        | I::LoopHead(_, _, t)
        | I::LoopNext(_, t)
        | I::FusedChain(_, t) => vec![t as usize],
        I::Switch(_, k) => {
            let (targets, default) = &code.tables.targets[k as usize];
            targets.iter().chain([default]).map(|t| *t as usize).collect()
        }
        _ => Vec::new(),
    }
}

/// Whether control may continue with the next instruction.
fn falls_through(i: &I) -> bool {
    !matches!(i, I::Jump(_) | I::LoopNext(..) | I::Switch(..) | I::TailFn(_) | I::Ret(_) | I::RetMany(_) | I::NoMatch)
}

/// Calls `visit` for each register use of an instruction, in order.
fn each_use(code: &Code, instruction: &I, visit: &mut dyn FnMut(RegUse)) {
    let args = |args: &[Arg], f: &mut dyn FnMut(RegUse)| {
        args.iter().for_each(|a| f(if a.last { RegUse::Take(a.r) } else { RegUse::Read(a.r) }));
    };
    match *instruction {
        // The IR has no unit values; lowering uses one to clear a register.
        I::Const(d, k) if matches!(code.consts[k as usize], Value::Unit) => visit(RegUse::Clear(d)),
        I::Const(d, _) => visit(RegUse::Write(d)),
        I::Move(d, s) | I::Un(_, d, s) | I::ToFloat(d, s) | I::FieldOr(d, s, _, _) | I::AxisLen(d, s, _) => {
            [RegUse::Read(s), RegUse::Write(d)].into_iter().for_each(visit);
        }
        I::Take(d, s) => [RegUse::Take(s), RegUse::Write(d)].into_iter().for_each(visit),
        I::Bin(_, d, a, b) | I::Cmp(_, d, a, b) | I::At1(d, a, b, _) => {
            [RegUse::Read(a), RegUse::Read(b), RegUse::Write(d)].into_iter().for_each(visit);
        }
        I::At2(d, a, i, j, _) => {
            [RegUse::Read(a), RegUse::Read(i), RegUse::Read(j), RegUse::Write(d)].into_iter().for_each(visit);
        }
        I::JumpUnless(c, _) | I::Switch(c, _) | I::Ret(c) | I::LoopNext(c, _) => visit(RegUse::Read(c)),
        I::JumpUnlessCmp(_, a, b, _) | I::LoopHead(a, b, _) | I::Push(a, b) => {
            [RegUse::Read(a), RegUse::Read(b)].into_iter().for_each(visit);
        }
        I::CallFn(k) | I::TailFn(k) => {
            let call = &code.lowered.calls[k as usize];
            args(&call.args, visit);
            call.outs.iter().for_each(|r| visit(RegUse::Write(*r)));
        }
        I::RetMany(k) => args(&code.lowered.rets[k as usize], visit),
        I::Lowered(k) => {
            let step = &code.lowered.steps[k as usize];
            args(&step.args, visit);
            step.outs.iter().for_each(|r| visit(RegUse::Write(*r)));
        }
        I::FusedChain(k, _) => {
            let (_, operands, outs) = &code.lowered.strips[k as usize];
            args(operands, visit);
            outs.iter().for_each(|r| visit(RegUse::Write(*r)));
        }
        _ => {}
    }
}
