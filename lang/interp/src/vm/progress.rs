//! Progress of the outermost loop with a known trip count.

use super::Machine;
use super::code::I;
use crate::value::Value;
use std::sync::atomic::Ordering;

impl Machine {
    /// Reports the progress of the outermost loop with a known trip count to the host. Frames must have stored
    /// their program counters.
    pub(super) fn report_progress(&mut self) {
        self.report_progress_of(None);
    }

    /// Like `report_progress`; `inner` is the progress of a loop in native code, which runs above all frames.
    pub fn report_progress_of(&mut self, inner: Option<(u64, u64)>) {
        self.tick.store(false, Ordering::Relaxed);
        if let Some((done, total)) = self.outermost_loop().or(inner) {
            self.host.progress(done, total);
        }
    }

    fn outermost_loop(&self) -> Option<(u64, u64)> {
        for frame in self.frames.iter().take(self.stack.replaced) {
            // The head of an outer loop precedes those of its inner loops.
            for (head, instr) in frame.code.instrs.iter().enumerate().take(frame.pc) {
                let I::LoopHead(i, n, exit) = instr else { continue };
                if frame.pc > *exit as usize || head >= frame.pc {
                    continue;
                }
                let at = |r: u32| self.regs.get(frame.base + r as usize);
                if let (Some(Value::Int(i)), Some(Value::Int(n))) = (at(*i), at(*n)) {
                    return Some((u64::try_from(*i).ok()?, u64::try_from(*n).ok()?));
                }
            }
        }
        None
    }
}
