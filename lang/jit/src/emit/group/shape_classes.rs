//! Which arrays of consecutive statements have one shape by construction. Arrays of other shapes, as the weights and the
//! biases in one step of an optimiser, would make the checks of a common group fail each time.

use super::{Member, member};
use crate::limits::emit_group_plan::WINDOW;
use adl_ir::{Function, Stmt, Var};
use std::collections::{HashMap, HashSet};

/// Arrays with the array that represents their class.
pub(super) struct ShapeClasses<'a> {
    classes: HashMap<Var, Var>,
    /// A row of each array, by the number of its indices.
    rows: HashMap<(Var, usize), Var>,
    /// Arrays that are symbolic zeros, of any shape.
    zeros: &'a HashSet<Var>,
}

impl<'a> ShapeClasses<'a> {
    /// The classes of the arrays of which the first statements consist.
    pub fn of(f: &Function, stmts: &[Stmt], zeros: &'a HashSet<Var>) -> ShapeClasses<'a> {
        let mut classes = ShapeClasses { classes: HashMap::new(), rows: HashMap::new(), zeros };
        for stmt in stmts.iter().take(WINDOW) {
            let Some((m, _)) = member(f, stmt) else { continue };
            let Some(of) = classes.array(&m, stmt) else { continue };
            let sized = |v: &Var| f.ty(*v).rank() > 0 && !zeros.contains(v);
            for v in m.elements().into_iter().filter(sized) {
                classes.unite(of, v);
            }
            match &m {
                Member::Row { a, at } => classes.row((*a, at.len()), of),
                Member::ToRow { acc, at, .. } => {
                    classes.row((*acc, at.len()), of);
                    stmt.outs.iter().for_each(|out| classes.row((*out, at.len()), of));
                }
                _ => {}
            }
        }
        classes
    }

    /// Records a row of an array.
    fn row(&mut self, key: (Var, usize), row: Var) {
        let first = *self.rows.entry(key).or_insert(row);
        self.unite(first, row);
    }

    /// The class of a member.
    pub fn class(&self, m: &Member, s: &Stmt) -> Option<Var> {
        self.array(m, s).map(|v| self.first(v))
    }

    /// An array of the shape over which a member iterates, if one is known.
    fn array(&self, m: &Member, s: &Stmt) -> Option<Var> {
        match m {
            Member::ToRow { acc, at, v, add: false } if self.zeros.contains(v) => {
                self.rows.get(&(*acc, at.len())).copied()
            }
            Member::ToRow { v, .. } | Member::ToSlice { v, .. } | Member::Total { a: v, .. } => Some(*v),
            Member::Un(..) | Member::Bin(..) | Member::Fill { .. } | Member::Row { .. } | Member::Slice { .. } => {
                s.outs.iter().chain(&s.lin_outs).next().copied()
            }
        }
    }

    fn first(&self, mut v: Var) -> Var {
        while let Some(of) = self.classes.get(&v) {
            v = *of;
        }
        v
    }

    fn unite(&mut self, a: Var, b: Var) {
        let (a, b) = (self.first(a), self.first(b));
        if a != b {
            self.classes.insert(a, b);
        }
    }
}
