//! What no turn of a loop changes is computed before it, if it cannot fail and costs no more than the loop's first turn would.

use crate::simplify::is_pure;
use adl_ir::{Block, Function, Op, Stmt, Turns, Var};
use adl_prim::{Bin, Un};
use std::collections::HashSet;

/// Moves invariant statements out of loops, as far as they go.
pub fn hoist(f: &mut Function) {
    let mut body = std::mem::take(&mut f.body);
    block(f, &mut body);
    f.body = body;
}

fn block(f: &Function, b: &mut Block) {
    let mut out = Vec::with_capacity(b.stmts.len());
    for mut s in std::mem::take(&mut b.stmts) {
        for part in s.op.blocks_mut() {
            block(f, part);
        }
        if let Op::Loop(l) = &mut s.op {
            if let Turns::While(c) = &mut l.turns {
                out.extend(invariant(f, c));
            }
            out.extend(invariant(f, &mut l.body));
        }
        out.push(s);
    }
    b.stmts = out;
}

/// Takes the statements out of a loop's block that depend on nothing bound in it.
fn invariant(f: &Function, b: &mut Block) -> Vec<Stmt> {
    let mut inside: HashSet<Var> = b.params.iter().chain(&b.lin_params).copied().collect();
    let mut moved = Vec::new();
    b.stmts.retain(|s| {
        let mut depends = false;
        s.op.each_operand(&mut |v| depends |= inside.contains(&v) || f.linear(v));
        if !depends && s.lin_outs.is_empty() && is_pure(&s.op) && never_fails(f, &s.op) {
            moved.push(s.clone());
            return false;
        }
        inside.extend(s.outs.iter().chain(&s.lin_outs));
        true
    });
    moved
}

/// Whether evaluation always succeeds. Integer arithmetic may overflow, indices may be out of bounds, shapes may differ.
pub(crate) fn never_fails(f: &Function, op: &Op) -> bool {
    let real = |v: &Var| f.ty(*v).scalar().is_real();
    let scalar = |v: &Var| f.ty(*v).rank() == 0;
    match op {
        Op::Lit(_) | Op::Zero(_) | Op::Not(_) | Op::Dim(..) | Op::Shape(_) | Op::Transpose(_) | Op::Reverse(_) => true,
        Op::Un(Un::Neg, a) => real(a),
        Op::Un(_, a) => real(a),
        Op::Bin(Bin::IntDiv | Bin::Rem, a, _) => real(a) && scalar(a),
        Op::Bin(_, a, b) => real(a) && real(b) && (scalar(a) || scalar(b)),
        Op::Cmp(_, a, b) => scalar(a) && scalar(b) && f.ty(*a) == f.ty(*b) && (real(a) || f.ty(*a).is_flat()),
        Op::Select(c, a, b) => scalar(c) && scalar(a) && scalar(b),
        Op::Convert(adl_ir::Conv::ToF64, _) => true,
        Op::Dot(..) | Op::MatMul(..) | Op::Outer(..) => false,
        _ => false,
    }
}
