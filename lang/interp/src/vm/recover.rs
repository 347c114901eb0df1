//! Recovery of the machine after a panic.

use super::Machine;
use crate::ir::derive::{CompiledAd, Settings};
use adl_syntax::span::Span;

/// State that a run may temporarily take out of the machine, and that a panic would lose.
pub struct SavedState(Settings);

impl Machine {
    /// Saves that state. Call it before code that may panic, when no run is in progress.
    pub fn keep(&self) -> SavedState {
        SavedState(self.compiled_ad.settings())
    }

    /// The source position at which a panic has stopped the program. Call it before [`Machine::recover`].
    pub fn stopped_at(&self) -> Option<Span> {
        let frames = self.frames.iter().rev();
        let spans = frames.filter_map(|f| f.code.spans.get(f.pc.saturating_sub(1)).copied());
        spans.into_iter().find(|s| !super::nowhere(*s) && !self.library.contains(&s.file))
    }

    /// Restores the state in which `kept` was made. Caches of transformed and compiled code, which a panic may
    /// have left incomplete, are cleared; definitions are kept.
    pub fn recover(&mut self, kept: SavedState) {
        self.frames.clear();
        self.regs.clear();
        self.stack.reset();
        self.effects = Default::default();
        self.pack_results = false;
        self.ad.reset_to(0);
        *self.compiled_ad = CompiledAd::with(kept.0);
        self.device.reopen();
        drop(crate::polling::failure());
        self.clear_interrupt();
    }
}
