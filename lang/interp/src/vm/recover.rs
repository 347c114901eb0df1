//! The machine after a panic: as it was before the run.

use super::Machine;
use crate::ir::road::{Road, Settings};
use adl_syntax::span::Span;

/// What a run may take out of the machine for a while, and a panic would lose.
pub struct Kept(Settings);

impl Machine {
    /// To be called where nothing runs, before something that may panic.
    pub fn keep(&self) -> Kept {
        Kept(self.road.settings())
    }

    /// Where the program is that a panic has stopped. To be called before [`Machine::recover`].
    pub fn stopped_at(&self) -> Option<Span> {
        let frames = self.frames.iter().rev();
        let spans = frames.filter_map(|f| f.code.spans.get(f.pc.saturating_sub(1)).copied());
        spans.into_iter().find(|s| !super::nowhere(*s) && !self.library.contains(&s.file))
    }

    /// Makes the machine what it was when `kept` was made. Caches of transformed and compiled code, which a panic may have left half filled, are
    /// emptied; definitions stay.
    pub fn recover(&mut self, kept: Kept) {
        self.frames.clear();
        self.regs.clear();
        self.reentries = 0;
        self.replaced = usize::MAX;
        self.speculating = false;
        self.packs = false;
        self.ad.reset_to(0);
        self.road = Road::with(kept.0);
        self.device.reopen();
        drop(crate::attend::failure());
        self.clear_interrupt();
    }
}
