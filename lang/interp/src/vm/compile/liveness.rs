//! Liveness analysis that replaces the last copy of a register by a move.

use crate::limits::vm_compile_liveness::LIMIT;
use crate::vm::code::{Code, I, IndexKind};

/// The registers that an instruction reads. Ranges are emptied, which counts as a read.
fn uses(instr: &I, code: &Code, visit: &mut dyn FnMut(u32)) {
    let range = |first: u32, n: u32, f: &mut dyn FnMut(u32)| (first..first + n).for_each(f);
    match *instr {
        I::Const(..) | I::Global(..) | I::Jump(_) | I::Sibling(..) | I::Back(_) | I::NoMatch => {}
        // Lowered IR already records last uses.
        I::Lowered(_)
        | I::FusedChain(..)
        | I::CallFn(_)
        | I::TailFn(_)
        | I::RetMany(_)
        | I::At1(..)
        | I::At2(..)
        | I::FieldOr(..)
        | I::Push(..)
        | I::ToFloat(..) => {}
        I::Move(_, source)
        | I::Take(_, source)
        | I::Un(_, _, source)
        | I::JumpUnless(source, _)
        | I::Ret(source)
        | I::Item(_, source, _)
        | I::Field(_, source, _)
        | I::Switch(source, _)
        | I::ConField(_, source, _)
        | I::IsLit(_, source, _)
        | I::IsLen(_, source, _)
        | I::Elem(_, source, _)
        | I::AxisLen(_, source, _)
        | I::NumAt(_, _, source)
        | I::ZeroOf(_, source) => visit(source),
        I::Bin(_, _, a, b)
        | I::Cmp(_, _, a, b)
        | I::JumpUnlessCmp(_, a, b, _)
        | I::Index1(_, a, b)
        | I::SameExtent(a, b)
        | I::LoopHead(a, b, _) => {
            visit(a);
            visit(b);
        }
        I::LoopNext(a, _) => visit(a),
        I::Call(_, g, first, n) | I::TailCall(g, first, n) => {
            visit(g);
            range(first, n, visit);
        }
        I::CallSibling(_, _, first, n)
        | I::TailSibling(_, first, n)
        | I::Closure(_, _, first, n)
        | I::Group(_, _, first, n)
        | I::Tuple(_, first, n)
        | I::Record(_, _, first, n)
        | I::Con(_, _, first, n)
        | I::Array(_, first, n)
        | I::Interp(_, first, n)
        | I::PrimFun(_, _, first, n) => range(first, n, visit),
        I::Prim(_, _, first, h, n) => range(first, h + n, visit),
        I::Update(_, a, _, first, n) => {
            visit(a);
            range(first, n, visit);
        }
        I::Index(_, a, k, first) => {
            visit(a);
            let n = code.tables.indices[k as usize]
                .iter()
                .map(|i| match i {
                    IndexKind::At => 1,
                    IndexKind::Slice(a, b) => u32::from(*a) + u32::from(*b),
                })
                .sum();
            range(first, n, visit);
        }
        I::For(_, _, g, first, n) => {
            visit(g);
            range(first, n + 1, visit);
        }
        I::Rep(_, k) => rep_uses(&code.tables.reps[k as usize], visit),
        I::SizeAt(_, k) => visit(code.tables.sizes[k as usize].0.from.0),
        I::CheckSize(k, r) => {
            visit(code.tables.sizes[k as usize].0.from.0);
            visit(r);
        }
    }
}

fn rep_uses(r: &adl_typing::core::Rep, visit: &mut dyn FnMut(u32)) {
    use adl_typing::core::{Rep, SizeRep};
    match r {
        Rep::Hidden(l) => visit(l.0),
        Rep::Base(_) | Rep::Other => {}
        Rep::Array(n, e) => {
            if let SizeRep::Local(l) = n {
                visit(l.0);
            }
            rep_uses(e, visit);
        }
        Rep::Tuple(ps) | Rep::Data(_, ps) => ps.iter().for_each(|p| rep_uses(p, visit)),
        Rep::Record(fs) => fs.iter().for_each(|(_, p)| rep_uses(p, visit)),
    }
}

/// The registers that an instruction writes: first and count.
fn defines(i: &I, code: &Code) -> (u32, u32) {
    match *i {
        I::Const(dest, _)
        | I::Move(dest, _)
        | I::Take(dest, _)
        | I::Global(dest, _)
        | I::Un(_, dest, _)
        | I::Bin(_, dest, _, _)
        | I::Cmp(_, dest, _, _)
        | I::Call(dest, ..)
        | I::CallSibling(dest, ..)
        | I::Sibling(dest, _)
        | I::Prim(dest, ..)
        | I::PrimFun(dest, ..)
        | I::Closure(dest, ..)
        | I::Tuple(dest, ..)
        | I::Record(dest, ..)
        | I::Con(dest, ..)
        | I::Array(dest, ..)
        | I::Item(dest, ..)
        | I::Field(dest, ..)
        | I::Update(dest, ..)
        | I::Index1(dest, ..)
        | I::Index(dest, ..)
        | I::ConField(dest, ..)
        | I::IsLit(dest, ..)
        | I::IsLen(dest, ..)
        | I::Elem(dest, ..)
        | I::For(dest, ..)
        | I::AxisLen(dest, ..)
        | I::Rep(dest, _)
        | I::NumAt(dest, ..)
        | I::ZeroOf(dest, _)
        | I::SizeAt(dest, _)
        | I::Interp(dest, ..) => (dest, 1),
        I::Group(d, k, _, _) => (d, code.groups[k as usize].len() as u32),
        I::Jump(_)
        | I::JumpUnless(..)
        | I::JumpUnlessCmp(..)
        | I::TailCall(..)
        | I::TailSibling(..)
        | I::Ret(_)
        | I::Switch(..)
        | I::LoopHead(..)
        | I::LoopNext(..)
        | I::Back(_)
        | I::SameExtent(..)
        | I::CheckSize(..)
        | I::NoMatch
        | I::Lowered(_)
        | I::FusedChain(..)
        | I::CallFn(_)
        | I::TailFn(_)
        | I::RetMany(_)
        | I::At1(..)
        | I::At2(..)
        | I::FieldOr(..)
        | I::Push(..)
        | I::ToFloat(..) => (0, 0),
    }
}

/// The possible successors of instruction `at`.
fn next(at: usize, i: &I, code: &Code, visit: &mut dyn FnMut(usize)) {
    match *i {
        I::Jump(t) | I::Back(t) | I::LoopNext(_, t) => visit(t as usize),
        I::JumpUnless(_, t) | I::JumpUnlessCmp(_, _, _, t) | I::LoopHead(_, _, t) | I::FusedChain(_, t) => {
            visit(t as usize);
            visit(at + 1);
        }
        I::Switch(_, k) => {
            let (targets, default) = &code.tables.targets[k as usize];
            targets.iter().for_each(|t| visit(*t as usize));
            visit(*default as usize);
        }
        I::Ret(_) | I::TailCall(..) | I::TailSibling(..) | I::NoMatch => {}
        _ => visit(at + 1),
    }
}

/// Replaces copies by moves where the source is dead afterwards.
pub(super) fn moves(code: &mut Code) {
    let count = code.instrs.len();
    let words = (code.registers as usize).div_ceil(64);
    if count * words > LIMIT {
        return;
    }
    // live[i]: registers that are read at or after instruction i before they are written.
    let mut live = vec![0u64; (count + 1) * words];
    let mut out = vec![0u64; words];
    loop {
        let mut changed = false;
        for i in (0..count).rev() {
            live_after(i, code, &live, words, &mut out);
            let (d, k) = defines(&code.instrs[i], code);
            for r in d..d + k {
                out[r as usize / 64] &= !(1 << (r % 64));
            }
            uses(&code.instrs[i], code, &mut |r| out[r as usize / 64] |= 1 << (r % 64));
            let slot = &mut live[i * words..(i + 1) * words];
            if slot != &out[..] {
                slot.copy_from_slice(&out);
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
    for i in 0..count {
        if let I::Move(d, s) = code.instrs[i] {
            live_after(i, code, &live, words, &mut out);
            if d != s && out[s as usize / 64] & (1 << (s % 64)) == 0 {
                code.instrs[i] = I::Take(d, s);
            }
        }
    }
}

fn live_after(i: usize, code: &Code, live: &[u64], words: usize, out: &mut [u64]) {
    out.fill(0);
    next(i, &code.instrs[i], code, &mut |t| {
        for (o, l) in out.iter_mut().zip(&live[t * words..(t + 1) * words]) {
            *o |= l;
        }
    });
}
