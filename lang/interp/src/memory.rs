//! Checks memory limits before large allocations.
//!
//! Code that allocates much memory asks here first, so that it ends with an error instead of the process being
//! killed. The binary knows the limits of the system ([`set_source`]); without a source every request is
//! granted.

use crate::error::{Error, Res, codes};
use crate::limits::memory::{BETWEEN, LARGE};
use crate::limits::value_array::MAX_ELEMENTS;
use std::sync::OnceLock;

/// The reason for refusing memory.
#[derive(Clone, Copy, Debug)]
pub struct Shortage {
    /// Bytes that may still be allocated.
    pub free: u64,
    /// Bytes that the process may hold in all.
    pub limit: u64,
}

/// Checks whether the given number of bytes may be allocated at present.
pub type MemoryCheck = fn(u64) -> Result<(), Shortage>;

static SOURCE: OnceLock<MemoryCheck> = OnceLock::new();

/// Sets the function that knows the memory limits. Only the first call has an effect.
pub fn set_source(source: MemoryCheck) {
    let _ = SOURCE.set(source);
}

/// Whether the given number of bytes may be allocated.
pub fn check_available(bytes: usize) -> Result<(), Shortage> {
    match SOURCE.get() {
        Some(source) if bytes >= LARGE => source(bytes as u64),
        _ => Ok(()),
    }
}

impl Shortage {
    /// The error if `bytes` bytes are needed for `what`.
    pub fn error(self, what: &str, bytes: usize) -> Box<Error> {
        Error::new(codes::MEMORY, format!("there is not enough memory for {what}")).note(self.text(bytes)).hint(HINT)
    }

    /// The requested and the available memory, as text.
    fn text(self, bytes: usize) -> String {
        format!("{} are needed, {} of {} are left", size(bytes as u64), size(self.free), size(self.limit))
    }
}

const HINT: &str = "`--memory`, `ulimit -v` and containers bound what a process may hold";

/// Asks for the memory of a dense matrix of derivatives.
pub(crate) fn ask_dense(rows: usize, columns: usize) -> Res<()> {
    let bytes = rows.saturating_mul(columns).saturating_mul(8);
    check_available(bytes).map_err(|s| {
        let what = format!("the dense matrix of {rows} by {columns} derivatives");
        s.error(&what, bytes).hint("`jacobian_sparse` and `hessian_sparse` store only what is not zero; `--memory` sets how much the process may hold")
    })
}

/// Reserves space for `more` elements at the end of a vector. Its capacity doubles while it is small, and later
/// grows by at least half. An error if memory is short.
#[inline]
pub fn grow<T>(v: &mut Vec<T>, more: usize) -> Res<()> {
    if v.capacity() - v.len() >= more {
        return Ok(());
    }
    larger(v, more)
}

#[cold]
fn larger<T>(v: &mut Vec<T>, more: usize) -> Res<()> {
    let step = if v.capacity() * size_of::<T>() < LARGE { v.capacity() } else { v.capacity() / 2 };
    let n = (v.capacity() + step).max(v.len().saturating_add(more)).max(16);
    let bytes = n.saturating_mul(size_of::<T>());
    // While elements are copied, the old and the new allocation exist together.
    if let Err(s) = check_available(bytes) {
        return Err(exhausted(s.limit - s.free.min(s.limit)).note(s.text(bytes)));
    }
    v.try_reserve_exact(n - v.len()).map_err(|_| exhausted((v.capacity() * size_of::<T>()) as u64))
}

/// Reserves space in a text for what is appended until the next check. If there is not enough memory, tells the
/// run to stop and returns false.
pub(crate) fn text_may_grow(out: &mut String) -> bool {
    if out.len() < LARGE || out.capacity() - out.len() >= BETWEEN {
        return true;
    }
    let more = (out.capacity() / 2).max(BETWEEN);
    let short = check_available(out.capacity() + more)
        .map_err(|s| s.error("a text", out.capacity() + more))
        .and_then(|()| out.try_reserve_exact(more).map_err(|_| exhausted(out.capacity() as u64)));
    short.map_err(crate::polling::fail).is_ok()
}

/// Runs `f` on a larger stack if little of the current one is left. A stack cannot report that its memory is
/// missing, so an allocation of the same size is tried first. If it fails, the allocator releases its reserve
/// and tells the run to stop.
pub(crate) fn on_stack<R>(least: usize, size: usize, f: impl FnOnce() -> R) -> R {
    if stacker::remaining_stack().is_some_and(|left| left < least) {
        let _ = Vec::<u8>::new().try_reserve_exact(2 * size);
    }
    stacker::maybe_grow(least, size, f)
}

/// The error for a run that has reached its memory limit.
pub fn exhausted(held: u64) -> Box<Error> {
    Error::new(codes::EXHAUSTED, format!("memory is used up: the program holds {} MiB", held >> 20)).hint(
        "`--memory` sets how much it may hold; under a derivative, plans such as `sqrt` or `checkpoint` store less",
    )
}

/// A number of bytes, as text.
fn size(bytes: u64) -> String {
    match bytes {
        b if b >= 1_000_000_000 => format!("{:.1} GB", b as f64 / 1e9),
        b => format!("{:.1} MB", b as f64 / 1e6),
    }
}

/// An empty vector with capacity `n`, or an error.
pub fn room<T>(n: usize) -> Res<Vec<T>> {
    let mut v = Vec::new();
    let bytes = n.saturating_mul(size_of::<T>());
    check_available(bytes).map_err(|s| s.error(&format!("an array of shape [{n}]"), bytes))?;
    if n > MAX_ELEMENTS || n.saturating_mul(size_of::<T>().max(1)) > largest_array() || v.try_reserve_exact(n).is_err()
    {
        return Err(too_large(&[n]));
    }
    Ok(v)
}

/// Maximum number of bytes of one array. A larger reservation could succeed, but the system would end the
/// process when it is used.
fn largest_array() -> usize {
    static LIMIT: std::sync::OnceLock<usize> = std::sync::OnceLock::new();
    *LIMIT.get_or_init(|| {
        let info = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let total = info
            .lines()
            .find_map(|l| l.strip_prefix("MemTotal:")?.trim().strip_suffix("kB")?.trim().parse::<usize>().ok());
        total.map_or(1 << 36, |kb| kb * 1024)
    })
}

/// The error for an array that does not fit into memory.
pub(crate) fn too_large(shape: &[usize]) -> Box<Error> {
    let text: Vec<String> = shape.iter().map(usize::to_string).collect();
    Error::new(codes::MEMORY, format!("there is not enough memory for an array of shape [{}]", text.join(", ")))
}
