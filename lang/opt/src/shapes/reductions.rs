//! The shapes of reductions and scans.

use super::{ShapeAnalysis, ShapeForm};
use adl_ir::{Soac, SoacKind, Stmt};

impl ShapeAnalysis<'_> {
    /// Processes a reduction or a scan. If the operator keeps the shapes of the neutral elements, the results have them.
    pub(super) fn combined(&mut self, stmt: &Stmt, soac: &Soac) {
        let symbolic_zero = self.reads_symbolic_zero(&stmt.op);
        let neutral: Vec<ShapeForm> = soac.neutral.iter().map(|v| self.form(*v)).collect();
        let arrays: Vec<ShapeForm> = soac.arrays.iter().map(|v| self.form(*v)).collect();
        let rows = arrays.iter().map(|form| form.get(1..).unwrap_or_default().to_vec());
        let params: Vec<ShapeForm> = neutral.iter().cloned().chain(rows).collect();
        let keeps = !symbolic_zero && {
            let results = self.operator(&soac.op, false, &params);
            results.len() == neutral.len() && results.iter().zip(&neutral).all(|(a, b)| self.agree(a, b))
        };
        if !keeps {
            self.operator(&soac.op, symbolic_zero, &[]);
            return;
        }
        for ((v, form), array) in stmt.outs.iter().zip(neutral).zip(arrays) {
            let outer = if soac.kind == SoacKind::Reduce { &[] } else { array.get(..1).unwrap_or_default() };
            let whole = [outer, &form].concat();
            if self.is_visible(&whole) {
                self.is(*v, whole);
            }
        }
    }

    /// Whether two shapes are equal, possibly by assertions.
    fn agree(&self, a: &ShapeForm, b: &ShapeForm) -> bool {
        let value = |e| self.known_value(e, self.now);
        a.len() == b.len() && a.iter().zip(b).all(|(x, y)| x == y || value(*x).is_some() && value(*x) == value(*y))
    }
}
