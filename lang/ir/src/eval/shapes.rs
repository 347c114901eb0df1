//! Checks the shape rule of each evaluated operation against its result.

use super::{CallFrame, Val};
use crate::func::{Stmt, Var};
use crate::shape_rule::Shapes;
use crate::ty::Ty;

impl Shapes for CallFrame<'_> {
    type Extent = i64;

    fn shape(&self, v: Var) -> Option<Vec<i64>> {
        match self.get(v) {
            Val::Array(a) => Some(a.shape.iter().map(|n| *n as i64).collect()),
            Val::Data(_) | Val::SymbolicZero => None,
            _ => Some(Vec::new()),
        }
    }
    fn int(&self, v: Var) -> i64 {
        super::arrays::int(self.get(v)).unwrap_or_default()
    }
    fn constant(&self, n: usize) -> i64 {
        n as i64
    }
    fn difference(&self, hi: Var, lo: Var) -> i64 {
        self.int(hi) - self.int(lo)
    }
    fn sum(&self, a: i64, b: i64) -> i64 {
        a + b
    }
    fn elements(&self, list: Var) -> Option<Vec<i64>> {
        let Val::Array(a) = self.get(list) else { return None };
        a.elems.iter().map(|n| super::arrays::int(n).ok()).collect()
    }
    fn widest(&self, operands: &[Var]) -> Option<Vec<i64>> {
        operands.iter().filter_map(|v| self.shape(*v)).max_by_key(Vec::len)
    }
}

/// Whether an array result has the shape that [`crate::Op::shape_of_result`] derives, if it derives one.
pub(super) fn agree(fr: &CallFrame<'_>, s: &Stmt, outs: &[Val]) -> bool {
    let var = s.outs.iter().chain(&s.lin_outs).next();
    let (Some(var), [Val::Array(out)]) = (var, outs) else { return true };
    let Some(shape) = s.op.shape_of_result(fr) else { return true };
    // The element of an array of boxes has axes of its own.
    let mut boxes = false;
    s.op.each_operand(&mut |v| boxes |= matches!(fr.f.ty(v).scalar(), Ty::Array(..)));
    // Operands without elements may have other extents.
    let empty = out.elems.is_empty() && shape.contains(&0) && shape.len() == out.shape.len();
    empty
        || boxes && shape.len() != fr.f.ty(*var).rank() as usize
        || shape.iter().copied().eq(out.shape.iter().map(|n| *n as i64))
}
