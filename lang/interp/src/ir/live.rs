//! Liveness: the last use of each variable, block by block.

use adl_ir::{Block, Op, Var};
use std::collections::HashMap;

/// Liveness of one block.
#[derive(Default)]
pub struct BlockLiveness {
    /// The last statement that uses each free variable of the block. A use in the block's results counts as a
    /// statement past the last one.
    pub free: HashMap<Var, u32>,
    /// Liveness of nested blocks, by statement.
    pub inner: HashMap<u32, Vec<BlockLiveness>>,
}

/// The last statement that uses each variable, by variable number, counted in the block that binds it;
/// [`NEVER`] if it is unused.
pub type Last = Vec<u32>;

/// The variable is never used.
pub const NEVER: u32 = u32::MAX;

/// Computes the last uses in a function body; `vars` is the number of variables.
pub fn analyse(body: &Block, vars: usize) -> (BlockLiveness, Last) {
    let mut a = Analysis { last: vec![NEVER; vars], bound: vec![NEVER; vars], blocks: 0 };
    let info = a.block(body);
    (info, a.last)
}

struct Analysis {
    last: Last,
    /// The block that binds each variable.
    bound: Vec<u32>,
    blocks: u32,
}

impl Analysis {
    fn block(&mut self, b: &Block) -> BlockLiveness {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.block_inner(b))
    }

    fn block_inner(&mut self, block: &Block) -> BlockLiveness {
        let id = self.blocks;
        self.blocks += 1;
        let mut info = BlockLiveness::default();
        self.bind(id, block.params.iter().chain(&block.lin_params));
        for (i, s) in block.stmts.iter().enumerate() {
            let i = i as u32;
            s.op.each_operand(&mut |v| self.uses(id, &mut info, v, i));
            if has_blocks(&s.op) {
                let inner: Vec<BlockLiveness> = s.op.blocks().into_iter().map(|b| self.block(b)).collect();
                for v in inner.iter().flat_map(|n| n.free.keys()) {
                    self.uses(id, &mut info, *v, i);
                }
                info.inner.insert(i, inner);
            }
            self.bind(id, s.outs.iter().chain(&s.lin_outs));
        }
        for v in block.results.iter().chain(&block.lin_results) {
            self.uses(id, &mut info, *v, block.stmts.len() as u32);
        }
        info
    }

    fn bind<'a>(&mut self, block: u32, vars: impl Iterator<Item = &'a Var>) {
        for v in vars {
            self.bound[v.0 as usize] = block;
        }
    }

    fn uses(&mut self, block: u32, info: &mut BlockLiveness, v: Var, at: u32) {
        if self.bound[v.0 as usize] == block {
            self.last[v.0 as usize] = at;
        } else {
            info.free.insert(v, at);
        }
    }
}

fn has_blocks(op: &Op) -> bool {
    matches!(op, Op::If(..) | Op::Switch(..) | Op::Loop(_) | Op::Soac(_) | Op::ReduceByIndex { .. })
}
