//! The walk of passes that build a function again.

use adl_ir::{Block, Builder, Stmt};

/// A pass that builds a function again, statement by statement.
pub(crate) trait Rebuild {
    /// What the function is built with.
    fn builder(&mut self) -> &mut Builder;

    /// Emits a statement, or what replaces it.
    fn stmt(&mut self, stmt: &Stmt);

    /// A block with its statements emitted again.
    fn block(&mut self, b: &Block) -> Block {
        self.builder().open();
        self.builder().adopt(&b.params, &b.lin_params);
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || b.stmts.iter().for_each(|s| self.stmt(s)));
        self.builder().close(b.results.clone(), b.lin_results.clone())
    }
}
