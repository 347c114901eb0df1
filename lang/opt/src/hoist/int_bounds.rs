//! Integer arithmetic that cannot fail, because its operands are small: literals, extents, and indices and trip counts of
//! loops. No memory holds a larger extent, and no run with a larger trip count would end.

use crate::limits::hoist::{DEEPEST, EXTENT_BITS, LOOP_BITS};
use adl_ir::{Block, Function, Lit, Op, Trip, Ty, Var};
use adl_prim::Bin;
use std::collections::HashMap;

/// What an Int is.
enum IntDef {
    Literal(i64),
    Extent,
    /// The index of a loop.
    Index,
    Bin(Bin, Var, Var),
}

/// The definitions of the Ints of a function.
pub(super) struct IntBounds(HashMap<Var, IntDef>);

impl IntBounds {
    pub fn of(f: &Function) -> IntBounds {
        let mut all = IntBounds(HashMap::new());
        all.block(f, &f.body);
        all
    }

    fn block(&mut self, function: &Function, b: &Block) {
        for stmt in &b.stmts {
            if let Op::Loop(l) = &stmt.op
                && let (Trip::Count(_), Some(index)) = (&l.trip, l.body.params.first())
            {
                self.0.insert(*index, IntDef::Index);
            }
            if let [v] = stmt.outs[..]
                && *function.ty(v) == Ty::I64
            {
                let def = match stmt.op {
                    Op::Lit(Lit::I64(n)) => Some(IntDef::Literal(n)),
                    Op::Dim(..) => Some(IntDef::Extent),
                    Op::Bin(op, x, y) => Some(IntDef::Bin(op, x, y)),
                    _ => None,
                };
                self.0.extend(def.map(|def| (v, def)));
            }
            for inner in stmt.op.blocks() {
                stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.block(function, inner));
            }
        }
    }

    /// Whether an operation on Ints succeeds inside of loops with the trip counts `around`.
    pub fn succeeds(&self, op: &Op, around: &[Var]) -> bool {
        match op {
            Op::Bin(op, x, y) => self.bits_of(*op, (*x, *y), around, 0).is_some(),
            _ => false,
        }
    }

    /// Bits of the magnitude of an Int, if they are few.
    fn bits(&self, v: Var, around: &[Var], depth: u32) -> Option<u32> {
        match self.0.get(&v) {
            Some(IntDef::Literal(n)) => Some(64 - n.unsigned_abs().leading_zeros()),
            Some(IntDef::Extent) => Some(EXTENT_BITS),
            Some(IntDef::Index) => Some(LOOP_BITS),
            _ if around.contains(&v) => Some(LOOP_BITS),
            Some(IntDef::Bin(op, x, y)) => self.bits_of(*op, (*x, *y), around, depth),
            None => None,
        }
    }

    fn bits_of(&self, op: Bin, (x, right_operand): (Var, Var), around: &[Var], depth: u32) -> Option<u32> {
        if depth > DEEPEST {
            return None;
        }
        let (left, right) = (self.bits(x, around, depth + 1)?, self.bits(right_operand, around, depth + 1)?);
        let positive = |v: Var| around.contains(&v) || matches!(self.0.get(&v), Some(IntDef::Literal(1..)));
        let bits = match op {
            Bin::Add | Bin::Sub => left.max(right) + 1,
            Bin::Mul => left + right,
            Bin::Min | Bin::Max => left.max(right),
            Bin::Rem if positive(right_operand) => right,
            Bin::IntDiv if positive(right_operand) => left,
            _ => return None,
        };
        (bits < 64).then_some(bits)
    }
}
