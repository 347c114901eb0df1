//! The outside world, as the evaluator sees it.

/// What a program may do to the world. Implemented by the command line, the kernel and tests.
pub trait Host {
    /// Standard output (`print`), text as it is, newline included.
    fn print(&mut self, text: &str);
    /// Makes what was printed visible.
    fn flush(&mut self);
    /// A whole file. Relative paths are relative to the script, or the working directory.
    fn read(&mut self, path: &str) -> Result<Vec<u8>, String>;
    /// Writes a whole file.
    fn write(&mut self, path: &str, bytes: &[u8]) -> Result<(), String>;
    /// One name for a file, however its path is spelled; `None` where the host knows of none.
    fn identity(&mut self, _path: &str) -> Option<String> {
        None
    }
    /// `ARGS…` of the command line.
    fn args(&mut self) -> Vec<String>;
    /// An environment variable.
    fn env(&mut self, name: &str) -> Option<String>;
    /// Seconds since an arbitrary origin, monotonic.
    fn time(&mut self) -> f64;
    /// Bytes of memory that are free; `None` where the host does not know.
    fn free_memory(&mut self) -> Option<u64> {
        None
    }
    /// The outermost loop with a known count has done `done` of `total`. Called when the machine's `tick` was set.
    fn progress(&mut self, done: u64, total: u64);
}
