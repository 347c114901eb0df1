//! Which arrays of consecutive statements have one shape by construction. Arrays of other shapes, as the weights and the
//! biases in one step of an optimiser, would make the checks of a common group fail each time.

use super::{Member, member};
use crate::limits::emit_group_plan::WINDOW;
use adl_ir::{Function, Stmt, Var};
use std::collections::HashMap;

/// Arrays with the array that represents their class.
#[derive(Default)]
pub(super) struct ShapeClasses(HashMap<Var, Var>);

impl ShapeClasses {
    /// The classes of the arrays of which the first statements consist.
    pub fn of(f: &Function, stmts: &[Stmt]) -> ShapeClasses {
        let mut classes = ShapeClasses::default();
        let mut rows: HashMap<(Var, usize), Var> = HashMap::new();
        for s in stmts.iter().take(WINDOW) {
            let Some((m, _)) = member(f, s) else { continue };
            let Some(of) = classes.array(&m, s) else { continue };
            for v in m.elements().into_iter().filter(|v| f.ty(*v).rank() > 0) {
                classes.unite(of, v);
            }
            if let Member::Row { a, at } = &m {
                let first = *rows.entry((*a, at.len())).or_insert(of);
                classes.unite(first, of);
            }
        }
        classes
    }

    /// The class of a member.
    pub fn class(&self, m: &Member, s: &Stmt) -> Option<Var> {
        self.array(m, s).map(|v| self.first(v))
    }

    /// An array of the shape over which a member iterates.
    fn array(&self, m: &Member, s: &Stmt) -> Option<Var> {
        match m {
            Member::ToRow { v, .. } | Member::ToSlice { v, .. } | Member::Total { a: v, .. } => Some(*v),
            Member::Un(..) | Member::Bin(..) | Member::Fill { .. } | Member::Row { .. } | Member::Slice { .. } => {
                s.outs.iter().chain(&s.lin_outs).next().copied()
            }
        }
    }

    fn first(&self, mut v: Var) -> Var {
        while let Some(of) = self.0.get(&v) {
            v = *of;
        }
        v
    }

    fn unite(&mut self, a: Var, b: Var) {
        let (a, b) = (self.first(a), self.first(b));
        if a != b {
            self.0.insert(a, b);
        }
    }
}
