//! The text of a kernel's body: indented lines, blocks, and fresh names.

/// The lines emitted so far.
pub(super) struct KernelText {
    text: String,
    /// The nesting depth of open blocks.
    depth: usize,
    /// The number of the last fresh name.
    fresh: usize,
}

impl KernelText {
    /// The text of a body that is inside one block, the kernel's function.
    pub fn new() -> KernelText {
        KernelText { text: String::new(), depth: 1, fresh: 0 }
    }

    /// Adds a line.
    pub fn line(&mut self, text: &str) {
        self.text.extend(std::iter::repeat_n("  ", self.depth));
        self.text.push_str(text);
        self.text.push('\n');
    }

    /// Adds a line that opens a block.
    pub fn open(&mut self, text: &str) {
        self.line(&format!("{text} {{"));
        self.depth += 1;
    }

    /// Closes a block.
    pub fn close(&mut self) {
        self.depth -= 1;
        self.line("}");
    }

    /// Ends one arm of a branch and opens the other.
    pub fn open_else(&mut self) {
        self.depth -= 1;
        self.open("} else");
    }

    /// A new name.
    pub fn name(&mut self, kind: &str) -> String {
        self.fresh += 1;
        // No name may hide a type: i32, f64, u16.
        while matches!(self.fresh, 8 | 16 | 32 | 64) {
            self.fresh += 1;
        }
        format!("{kind}{}", self.fresh)
    }

    /// The nesting depth of open blocks.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// The text of all lines.
    pub fn finish(self) -> String {
        self.text
    }
}
