//! Compilation of decision trees to jumps.

use super::{Compiler, exprs::literal};
use crate::error::Res;
use crate::vm::code::{I, R};
use adl_typing::core::{Arm, Expr, Local, Projection, Tree};

/// The arms of a `match`, with the jumps to their bodies from leaves of the decision tree.
struct Arms<'a> {
    arms: &'a [Arm],
    /// The jumps to each arm, whose targets are set when its body is compiled.
    jumps: Vec<Vec<usize>>,
}

impl Compiler {
    pub(super) fn match_(&mut self, s: &Expr, root: Local, tree: &Tree, arms: &[Arm], dest: Option<R>) -> Res<()> {
        let r = self.temp();
        self.into(s, r)?;
        self.regs.insert(root, r);
        for arm in arms {
            for (l, _, _) in &arm.vars {
                self.bind(*l);
            }
        }
        let mut a = Arms { arms, jumps: vec![Vec::new(); arms.len()] };
        self.tree(tree, &mut a)?;
        let mut ends = Vec::new();
        for (arm, jumps) in arms.iter().zip(a.jumps) {
            if jumps.is_empty() {
                continue;
            }
            for j in jumps {
                self.code.patch_jump(j);
            }
            match dest {
                Some(d) => {
                    self.into(&arm.body, d)?;
                    ends.push(self.hole(I::Jump(0)));
                }
                None => self.tail(&arm.body)?,
            }
        }
        for e in ends {
            self.code.patch_jump(e);
        }
        Ok(())
    }

    fn assign(&mut self, binds: &[(Local, Local)]) -> Res<()> {
        for (to, from) in binds {
            let (to, from) = (self.load(*to)?, self.load(*from)?);
            self.emit(I::Move(to, from));
        }
        Ok(())
    }

    fn tree(&mut self, t: &Tree, a: &mut Arms) -> Res<()> {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.tree_inner(t, a))
    }

    fn tree_inner(&mut self, tree: &Tree, arms: &mut Arms) -> Res<()> {
        match tree {
            Tree::Leaf(arm, binds) => {
                self.assign(binds)?;
                let j = self.hole(I::Jump(0));
                arms.jumps[*arm].push(j);
            }
            Tree::Guard(arm, binds, rest) => {
                self.assign(binds)?;
                let no = match &arms.arms[*arm].guard {
                    Some(g) => Some(self.condition(g)?),
                    None => None,
                };
                let j = self.hole(I::Jump(0));
                arms.jumps[*arm].push(j);
                if let Some(no) = no {
                    self.code.patch_jump(no);
                    self.tree(rest, arms)?;
                }
            }
            Tree::Parts(parts, rest) => {
                for (l, from, step) in parts {
                    let from = self.load(*from)?;
                    let r = self.bind(*l);
                    self.emit(match step {
                        Projection::Item(i) => I::Item(r, from, *i),
                        Projection::Field(n) => I::Field(r, from, *n),
                    });
                }
                self.tree(rest, arms)?;
            }
            Tree::Con(on, cases, default) => {
                let on = self.load(*on)?;
                let table = self.code.tables.targets.len();
                self.code.tables.targets.push((Vec::new(), 0));
                self.emit(I::Switch(on, table as u32));
                let width = cases.iter().map(|(c, _, _)| c.tag + 1).max().unwrap_or(0);
                let mut targets = vec![u32::MAX; width as usize];
                for (con, fields, sub) in cases {
                    targets[con.tag as usize] = self.code.here();
                    for (i, l) in fields.iter().enumerate() {
                        let r = self.bind(*l);
                        self.emit(I::ConField(r, on, i as u32));
                    }
                    self.tree(sub, arms)?;
                }
                let other = self.code.here();
                match default {
                    Some(d) => self.tree(d, arms)?,
                    None => self.emit(I::NoMatch),
                }
                for t in &mut targets {
                    if *t == u32::MAX {
                        *t = other;
                    }
                }
                self.code.tables.targets[table] = (targets, other);
            }
            Tree::Lit(on, cases, default) => {
                let on = self.load(*on)?;
                for (lit, sub) in cases {
                    let k = self.constant(literal(lit));
                    let c = self.temp();
                    self.emit(I::IsLit(c, on, k));
                    let no = self.hole(I::JumpUnless(c, 0));
                    self.tree(sub, arms)?;
                    self.code.patch_jump(no);
                }
                self.tree(default, arms)?;
            }
            Tree::Len(on, cases, default) => {
                let on = self.load(*on)?;
                for (n, elems, sub) in cases {
                    let c = self.temp();
                    self.emit(I::IsLen(c, on, *n as u32));
                    let no = self.hole(I::JumpUnless(c, 0));
                    for (i, l) in elems.iter().enumerate() {
                        let r = self.bind(*l);
                        self.emit(I::Elem(r, on, i as u32));
                    }
                    self.tree(sub, arms)?;
                    self.code.patch_jump(no);
                }
                self.tree(default, arms)?;
            }
            Tree::Fail => self.emit(I::NoMatch),
        }
        Ok(())
    }
}
