//! Dense numbering of variables.

use crate::{Block, Function, Var};

/// Renumbers the variables of a function in the order in which they are bound, and forgets those that it does not
/// contain. Transformations that begin with a copy of a function's variables would otherwise hand on all of them.
pub fn compact(f: &mut Function) {
    let mut numbers = Renumbering { of: vec![None; f.vars.len()], order: Vec::new() };
    numbers.block(&mut f.body);
    f.vars = numbers.order.into_iter().map(|v| f.vars[v.0 as usize].clone()).collect();
}

struct Renumbering {
    /// The new number of each variable.
    of: Vec<Option<Var>>,
    /// The old variables in the new order.
    order: Vec<Var>,
}

impl Renumbering {
    fn renumber(&mut self, v: &mut Var) {
        let new = *self.of[v.0 as usize].get_or_insert_with(|| {
            self.order.push(*v);
            Var(self.order.len() as u32 - 1)
        });
        *v = new;
    }

    fn block(&mut self, block: &mut Block) {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
            block.params.iter_mut().chain(&mut block.lin_params).for_each(|v| self.renumber(v));
            for s in &mut block.stmts {
                s.op.map_operands(&mut |mut v| {
                    self.renumber(&mut v);
                    v
                });
                s.op.blocks_mut().into_iter().for_each(|inner| self.block(inner));
                s.outs.iter_mut().chain(&mut s.lin_outs).for_each(|v| self.renumber(v));
            }
            block.results.iter_mut().chain(&mut block.lin_results).for_each(|v| self.renumber(v));
        });
    }
}
