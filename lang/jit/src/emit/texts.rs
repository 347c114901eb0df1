//! Texts that only checks would say: they are made where a check fails, not before.

use super::{Bound, Emit};
use adl_ir::{Block, Function, Lit, Op, Var};
use adl_prim::Prim;
use cranelift_codegen::ir::Value;
use std::collections::HashSet;

/// Literal texts of which nothing but checks reads.
pub(super) fn only_said(f: &Function) -> HashSet<Var> {
    fn of(b: &Block, texts: &mut HashSet<Var>, read: &mut HashSet<Var>) {
        for s in &b.stmts {
            match &s.op {
                Op::Lit(Lit::Str(_)) => texts.extend(&s.outs),
                Op::Prim(Prim::Assert, _) if s.outs.is_empty() => {}
                op => op.each_operand(&mut |v| {
                    read.insert(v);
                }),
            }
            for part in s.op.blocks() {
                stacker::maybe_grow(64 * 1024, 1024 * 1024, || of(part, texts, read));
            }
        }
        read.extend(b.results.iter().chain(&b.lin_results));
    }
    let (mut texts, mut read) = (HashSet::new(), HashSet::new());
    of(&f.body, &mut texts, &mut read);
    texts.retain(|v| !read.contains(v));
    texts
}

impl Emit<'_, '_, '_> {
    /// The number of a constant text.
    pub(super) fn text(&mut self, t: &str) -> i64 {
        self.job.tables.consts.push(adl_interp::value::Value::Str(std::rc::Rc::new(t.into())));
        self.job.tables.consts.len() as i64 - 1
    }

    /// Binds a text that is made where it is said; whether it is one.
    pub(super) fn later(&mut self, v: Var, t: &str) -> bool {
        if !self.texts.contains(&v) {
            return false;
        }
        let id = self.text(t);
        self.said.insert(v, id);
        self.pinned.insert(v);
        self.vals[v.0 as usize] = Some(Bound { v: self.ctx, view: None, row: None });
        true
    }

    /// A text that is made now.
    pub(super) fn say(&mut self, v: Var) -> Option<Value> {
        let id = *self.said.get(&v)?;
        let id = self.int(id);
        self.runtime(crate::runtime::constant as *const u8, &[self.ctx, id], 1)
    }
}
