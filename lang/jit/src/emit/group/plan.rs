//! Finds groups: which statements belong to one, which arrays they read, and which results are stored.

use super::super::{EmissionScope, Emit, is_ref};
use super::phases::Phases;
use super::shape_classes::ShapeClasses;
use super::{Member, is_plain, member};
use crate::limits::emit_group_plan::MEMBERS;
use adl_interp::ir::live::NEVER;
use adl_ir::{Block, Op, Stmt, Var};
use adl_prim::{Bin, GeneralFn, Prim};
use std::collections::HashSet;

/// Statements that become one loop.
pub(super) struct Group {
    /// Members, with their statement numbers.
    pub members: Vec<(u32, Var, Member)>,
    /// Statements that are emitted before the loop.
    pub before: Vec<u32>,
    /// The first statement after the group.
    pub end: u32,
    /// The rank of the elements.
    pub rank: usize,
    /// Arrays bound outside that are read at the position of the element.
    pub inputs: Vec<GroupInput>,
    /// Results that are stored to arrays of their own.
    pub stored: Vec<Var>,
    /// The results among them that are written to a loop's output buffer.
    pub placed: Vec<Var>,
    /// Sums and inner products.
    pub totals: Vec<Var>,
    /// The variables of updated arrays after their last update.
    pub changed: Vec<Var>,
    /// Variables whose references are dropped after the loop.
    pub released: Vec<Var>,
    /// The phases of the members.
    pub phases: Phases,
}

impl Group {
    /// Arrays bound outside that are updated, with the first statement that updates each.
    pub fn bases(&self) -> Vec<(Var, u32)> {
        let made = |v: Var| self.members.iter().any(|(_, out, _)| *out == v);
        self.members.iter().filter_map(|(at, _, m)| Some((m.changed().filter(|v| !made(*v))?, *at))).collect()
    }
}

/// An array that is read at the position of the element.
pub(super) struct GroupInput {
    pub var: Var,
    /// Whether it may be a symbolic zero: it is only an operand of additions.
    pub optional: bool,
}

/// The state of the search for a group.
struct GroupSearch<'a, 'e, 'a1, 'j, 'f> {
    e: &'e Emit<'a1, 'j, 'f>,
    sc: &'a EmissionScope<'a>,
    g: Group,
    classes: ShapeClasses<'a>,
    /// The class of the first member.
    class: Option<Var>,
    /// Results of members, except updated arrays.
    inside: HashSet<Var>,
    /// The variable of each updated array after each update, and whether the update was of a slice.
    changed: Vec<(Var, bool)>,
    /// Arrays bound outside that are read.
    read: HashSet<Var>,
}

impl Emit<'_, '_, '_> {
    /// The group that starts at a statement.
    pub(super) fn find_group(&self, block: &Block, at: u32, sc: &EmissionScope) -> Option<Group> {
        let stmts = &block.stmts[at as usize..];
        let (first, rank) = member(self.f, &stmts[0])?;
        let classes = ShapeClasses::of(self.f, stmts, &self.held.collected.symbolic_zero);
        let class = classes.class(&first, &stmts[0]);
        let group = Group {
            members: Vec::new(),
            before: Vec::new(),
            end: at,
            rank,
            inputs: Vec::new(),
            stored: Vec::new(),
            placed: Vec::new(),
            totals: Vec::new(),
            changed: Vec::new(),
            released: Vec::new(),
            phases: Phases::default(),
        };
        let (inside, read) = (HashSet::new(), HashSet::new());
        let mut s = GroupSearch { e: self, sc, g: group, classes, class, inside, changed: Vec::new(), read };
        for i in at..block.stmts.len() as u32 {
            let stmt = &block.stmts[i as usize];
            if s.g.members.len() >= MEMBERS || !(s.join(stmt, i) || s.goes_before(stmt, i)) {
                break;
            }
        }
        s.finish(block)
    }
}

impl GroupSearch<'_, '_, '_, '_, '_> {
    /// Adds a statement to the group, if it can be a member. Returns whether it can.
    fn join(&mut self, stmt: &Stmt, at: u32) -> bool {
        let Some((candidate, rank)) = member(self.e.f, stmt) else { return false };
        let out = stmt.outs.iter().chain(&stmt.lin_outs).next().copied().unwrap_or(Var(0));
        let arrays: Vec<Var> = candidate
            .elements()
            .into_iter()
            .filter(|v| is_ref(self.e.ty(*v)) && !self.e.is_cleared(&candidate, *v))
            .collect();
        let is_changed = |v: &Var| self.changed.iter().any(|(c, _)| c == v);
        let own_base = candidate.base().is_some_and(|a| self.inside.contains(&a) || is_changed(&a));
        // Sums must be the last members, and groups with functions have none.
        let of = |p: &dyn Fn(&Member) -> bool| self.g.members.iter().any(|(_, _, m)| p(m));
        let late = if candidate.is_total() {
            of(&|m| matches!(m, Member::Un(op, _) if !is_plain(*op)))
        } else {
            of(&Member::is_total)
        };
        if late
            || rank != self.g.rank
            || self.classes.class(&candidate, stmt) != self.class
            || own_base
            || arrays.iter().any(is_changed)
            || !self.may_change(&candidate, (out, &arrays), at)
        {
            return false;
        }
        self.read.extend(candidate.base());
        for v in arrays.into_iter().filter(|v| !self.inside.contains(v)) {
            if self.read.insert(v) || !self.g.inputs.iter().any(|i| i.var == v) {
                self.g.inputs.push(GroupInput { var: v, optional: false });
            }
        }
        match candidate.changed() {
            Some(_) => self.changed.push((out, matches!(candidate, Member::ToSlice { .. }))),
            None => {
                self.inside.insert(out);
            }
        }
        self.g.members.push((at, out, candidate));
        self.g.end = at + 1;
        true
    }

    /// Whether the array that a member updates can be updated in place, as far as is known at compile time.
    fn may_change(&self, member: &Member, (out, arrays): (Var, &[Var]), at: u32) -> bool {
        let Some(acc) = member.changed() else { return true };
        if self.e.last[out.0 as usize] == NEVER {
            return false;
        }
        // Two rows of one array are equal or disjoint, so that the order of updates and reads of each element is
        // preserved; slices may overlap.
        let again = match self.changed.iter().find(|(c, _)| *c == acc) {
            Some((_, part)) => !part && matches!(member, Member::ToRow { .. }),
            None => true,
        };
        let row = matches!(member, Member::ToRow { .. });
        again
            && self.e.dies(acc, at, self.sc)
            && !self.inside.contains(&acc)
            && (row || !self.read.contains(&acc))
            && !arrays.contains(&acc)
    }

    /// Whether a statement can be emitted before the loop.
    fn goes_before(&mut self, stmt: &Stmt, at: u32) -> bool {
        let func = self.e.f;
        let scalar = |v: &Var| !is_ref(func.ty(*v));
        let simple = match &stmt.op {
            Op::Lit(_)
            | Op::Zero(_)
            | Op::Dim(..)
            | Op::Shape(_)
            | Op::Size(_)
            | Op::Prim(Prim::General(GeneralFn::Assert), _) => true,
            Op::ArrayLit { .. } => stmt.outs.iter().any(|v| self.e.held.later.shapes.contains(v)),
            Op::Un(..)
            | Op::Bin(..)
            | Op::Cmp(..)
            | Op::Not(_)
            | Op::Select(..)
            | Op::Convert(..)
            | Op::Index { .. } => stmt.outs.iter().chain(&stmt.lin_outs).all(scalar),
            // A part of an array that no member of the group reads.
            Op::Slice { .. } => true,
            _ => false,
        };
        let mut free = simple;
        stmt.op.each_operand(&mut |v| {
            let made_here = self.inside.contains(&v) || self.changed.iter().any(|(c, _)| *c == v);
            let gone = is_ref(func.ty(v)) && self.e.dies(v, at, self.sc) && self.uses(v);
            free &= !made_here && !gone;
        });
        if free {
            self.g.before.push(at);
        }
        free
    }

    /// Whether a member reads or updates an array bound outside.
    fn uses(&self, v: Var) -> bool {
        let changes = |m: &Member| m.changed() == Some(v);
        self.read.contains(&v) || self.g.members.iter().any(|(_, _, m)| changes(m))
    }

    fn finish(mut self, block: &Block) -> Option<Group> {
        let end = self.g.end;
        self.g.before.retain(|i| *i < end);
        let last = |v: Var| self.e.last[v.0 as usize];
        self.optional();
        let says_shape = |m: &Member| m.base().is_some() || m.elements().iter().any(|v| self.e.is_cleared(m, *v));
        let has_shape =
            self.g.inputs.iter().any(|i| !i.optional) || self.g.members.iter().any(|(_, _, m)| says_shape(m));
        let members = std::mem::take(&mut self.g.members);
        // A group of slices only is not worthwhile: a slice may be the whole array, which is not copied.
        let slices = members.iter().all(|(_, _, m)| matches!(m, Member::Slice { .. }));
        // A single function is evaluated in place by its own fast path.
        let function = matches!(&members[..], [(_, _, Member::Un(op, _))] if !is_plain(*op));
        let alone = members.iter().all(|(_, _, m)| m.is_total());
        if !has_shape || slices || function || alone {
            return None;
        }
        for (at, out, member) in &members {
            let consumed = last(*out) < end;
            match member.changed() {
                None if member.is_total() => self.g.totals.push(*out),
                None if !consumed && last(*out) != NEVER => self.g.stored.push(*out),
                Some(_) if !consumed => self.g.changed.push(*out),
                None | Some(_) => {}
            }
            let mut operands = Vec::new();
            block.stmts[*at as usize].op.each_operand(&mut |v| operands.push(v));
            for v in operands {
                let mine = self.inside.contains(&v) || member.changed() == Some(v);
                if is_ref(self.e.ty(v)) && !mine && self.e.dies(v, *at, self.sc) && !self.g.released.contains(&v) {
                    self.g.released.push(v);
                }
            }
        }
        self.g.placed = self.g.stored.iter().copied().filter(|v| self.e.can_be_placed(*v, block, end)).collect();
        self.g.phases = Phases::new(&members, &self.g.stored);
        self.g.members = members;
        Some(self.g)
    }

    /// Finds inputs that are only operands of additions: they may be symbolic zeros if the other operand is not.
    fn optional(&mut self) {
        let mut strict: HashSet<Var> = HashSet::new();
        for (_, _, member) in &self.g.members {
            match member {
                Member::Bin(Bin::Add, a, b) if a != b => {
                    let inside = |v: &Var| self.inside.contains(v);
                    // A scalar does not determine the shape, so that a symbolic zero plus a scalar has none.
                    if !is_ref(self.e.ty(*a)) || !inside(a) && !inside(b) {
                        strict.insert(*b);
                    }
                    if !is_ref(self.e.ty(*b)) {
                        strict.insert(*a);
                    }
                }
                Member::Bin(Bin::Sub, a, b) if a != b && self.inside.contains(b) => {}
                m => strict.extend(m.elements()),
            }
        }
        for i in &mut self.g.inputs {
            // For a row that is a reference into an array, it is not known whether it is a symbolic zero or boxed.
            i.optional = !strict.contains(&i.var) && !self.e.is_row_reference(i.var);
        }
    }
}
