//! Constant folding, identities, and one statement for equal ones.

use adl_ir::{Block, Cmp, Conv, Function, Lit, Op, Stmt, Ty, Var};
use adl_prim::{Bin, Un};
use std::collections::HashMap;

/// Simplifies a function.
pub fn simplify(f: &mut Function) {
    let mut body = std::mem::take(&mut f.body);
    let mut s = Simplifier { f, names: HashMap::new(), lits: HashMap::new(), seen: vec![HashMap::new()] };
    s.block(&mut body);
    f.body = body;
}

struct Simplifier<'a> {
    f: &'a Function,
    /// What variables turned out to be.
    names: HashMap<Var, Var>,
    lits: HashMap<Var, Lit>,
    /// Statements that have been made, by text, for each open block.
    seen: Vec<HashMap<String, Vec<Var>>>,
}

impl Simplifier<'_> {
    fn block(&mut self, b: &mut Block) {
        let mut out = Vec::with_capacity(b.stmts.len());
        for mut s in std::mem::take(&mut b.stmts) {
            s.op.map_operands(&mut |v| *self.names.get(&v).unwrap_or(&v));
            for part in s.op.blocks_mut() {
                self.seen.push(HashMap::new());
                self.block(part);
                self.seen.pop();
            }
            if let Some(s) = self.stmt(s) {
                out.push(s);
            }
        }
        b.stmts = out;
        for r in b.results.iter_mut().chain(&mut b.lin_results) {
            *r = *self.names.get(r).unwrap_or(r);
        }
    }

    /// The statement to keep, if any.
    fn stmt(&mut self, mut s: Stmt) -> Option<Stmt> {
        let [out] = s.outs.as_slice() else { return Some(s) };
        let out = *out;
        if !s.lin_outs.is_empty() || !is_pure(&s.op) {
            return Some(s);
        }
        if let Some(v) = self.same(&s.op) {
            self.names.insert(out, v);
            return None;
        }
        if let Some(l) = self.folded(&s.op) {
            s.op = Op::Lit(l);
        }
        let key = key(&s.op);
        if let Some(made) = self.seen.iter().rev().find_map(|m| m.get(&key)) {
            if self.f.ty(made[0]) == self.f.ty(out) {
                self.names.insert(out, made[0]);
                return None;
            }
        }
        if let Op::Lit(l) = &s.op {
            self.lits.insert(out, l.clone());
        }
        if let Some(m) = self.seen.last_mut() {
            m.insert(key, vec![out]);
        }
        Some(s)
    }

    fn float(&self, v: Var) -> Option<f64> {
        match self.lits.get(&v) {
            Some(Lit::F64(x)) => Some(*x),
            _ => None,
        }
    }

    fn int(&self, v: Var) -> Option<i64> {
        match self.lits.get(&v) {
            Some(Lit::I64(x)) => Some(*x),
            _ => None,
        }
    }

    /// The operand that the operation's result is.
    fn same(&self, op: &Op) -> Option<Var> {
        let one = |v: Var| self.float(v) == Some(1.0) || self.int(v) == Some(1) || matches!(self.lits.get(&v), Some(Lit::F32(x)) if *x == 1.0);
        let kept = |v: Var, other: Var| (self.f.ty(v).rank() >= self.f.ty(other).rank()).then_some(v);
        match op {
            Op::Bin(Bin::Mul | Bin::Scale, a, b) if one(*a) => kept(*b, *a),
            Op::Bin(Bin::Mul | Bin::Div, a, b) if one(*b) => kept(*a, *b),
            Op::Bin(Bin::Add, a, b) if self.int(*a) == Some(0) => kept(*b, *a),
            Op::Bin(Bin::Add | Bin::Sub, a, b) if self.int(*b) == Some(0) => kept(*a, *b),
            Op::Un(Un::Powi(1), a) => Some(*a),
            Op::Select(c, a, b) => match self.lits.get(c) {
                Some(Lit::Bool(true)) => kept(*a, *b),
                Some(Lit::Bool(false)) => kept(*b, *a),
                _ => (a == b && self.f.ty(*c).rank() == 0).then_some(*a),
            },
            Op::Convert(Conv::ToF64, a) if *self.f.ty(*a).scalar() == Ty::F64 => Some(*a),
            Op::Convert(Conv::ToF32, a) if *self.f.ty(*a).scalar() == Ty::F32 => Some(*a),
            Op::Convert(Conv::ToI64, a) if *self.f.ty(*a).scalar() == Ty::I64 => Some(*a),
            _ => None,
        }
    }

    /// The constant that the operation's result is. Only where evaluation at run time gives the same bits and no error.
    fn folded(&self, op: &Op) -> Option<Lit> {
        match op {
            Op::Un(u, a) => Some(Lit::F64(u.eval(self.float(*a)?))),
            Op::Bin(op, a, b) => match (self.float(*a), self.float(*b)) {
                (Some(x), Some(y)) => Some(Lit::F64(op.eval(x, y))),
                _ => whole(*op, self.int(*a)?, self.int(*b)?).map(Lit::I64),
            },
            Op::Cmp(c, a, b) => {
                let order = match (self.float(*a), self.float(*b)) {
                    (Some(x), Some(y)) => x.partial_cmp(&y),
                    _ => Some(self.int(*a)?.cmp(&self.int(*b)?)),
                };
                Some(Lit::Bool(holds(*c, order)))
            }
            Op::Not(a) => match self.lits.get(a)? {
                Lit::Bool(b) => Some(Lit::Bool(!b)),
                _ => None,
            },
            Op::Convert(Conv::ToF64, a) => Some(Lit::F64(self.int(*a)? as f64)),
            _ => None,
        }
    }
}

fn whole(op: Bin, a: i64, b: i64) -> Option<i64> {
    match op {
        Bin::Add => a.checked_add(b),
        Bin::Sub => a.checked_sub(b),
        Bin::Mul => a.checked_mul(b),
        Bin::Min => Some(a.min(b)),
        Bin::Max => Some(a.max(b)),
        _ => None,
    }
}

fn holds(c: Cmp, order: Option<std::cmp::Ordering>) -> bool {
    use std::cmp::Ordering::{Equal, Greater, Less};
    match c {
        Cmp::Eq => order == Some(Equal),
        Cmp::Ne => order != Some(Equal),
        Cmp::Lt => order == Some(Less),
        Cmp::Gt => order == Some(Greater),
        Cmp::Le => matches!(order, Some(Less | Equal)),
        Cmp::Ge => matches!(order, Some(Greater | Equal)),
    }
}

/// Operations without blocks whose results depend on their operands alone.
pub(crate) fn is_pure(op: &Op) -> bool {
    match op {
        Op::Prim(p, _) => !matches!(p, adl_prim::Prim::Assert | adl_prim::Prim::Error | adl_prim::Prim::Print | adl_prim::Prim::Time),
        Op::If(..) | Op::Switch(..) | Op::Loop(_) | Op::Call { .. } | Op::Soac(_) | Op::ReduceByIndex { .. } | Op::Dup(_) | Op::Drop(_) | Op::Fields { .. } => false,
        // Memory that is written to in place.
        Op::IndexAdd { .. } | Op::IndexSet { .. } | Op::SliceAdd { .. } | Op::GatherAdd { .. } => false,
        _ => true,
    }
}

/// A text that equal operations share. (Literals of equal value but other bits differ.)
fn key(op: &Op) -> String {
    match op {
        Op::Lit(Lit::F64(x)) => format!("f64 {:x}", x.to_bits()),
        Op::Lit(Lit::F32(x)) => format!("f32 {:x}", x.to_bits()),
        other => format!("{other:?}"),
    }
}
