//! Ends a run before the machine runs out of memory: the system would kill the process, and a session with it.
//!
//! A thread looks twenty times a second at what the process holds (Linux only; elsewhere nobody looks). What is *not* here: the limit of
//! a single array, which is refused before it is made (`lang/interp`).

use adl_interp::vm::Starved;
use std::time::Duration;

/// Memory that other processes are left with, at least, as a part of all.
const RESERVE: u64 = 32;

/// Watches as long as the session lives. `limit`: bytes that the process may hold; by default nearly all that there are.
pub fn guard(starved: &Starved, limit: Option<u64>) {
    let weak = starved.downgrade();
    std::thread::spawn(move || {
        loop {
            std::thread::sleep(Duration::from_millis(50));
            let Some(s) = weak.upgrade() else { return };
            match held() {
                // What is kept for later arrays goes first.
                Some(bytes) if exhausted(bytes, limit) && adl_jit::alloc::release() == 0 => s.set(bytes),
                Some(_) => {}
                None => return,
            }
        }
    });
}

fn exhausted(held: u64, limit: Option<u64>) -> bool {
    if let Some(limit) = limit {
        return held > limit;
    }
    if let Some((total, free)) = machine() {
        // Where other processes hold most of it, this one is not to blame.
        if free < total / RESERVE && held > total / 4 {
            return true;
        }
    }
    group().is_some_and(|max| held > max - max / RESERVE)
}

/// Bytes that the process holds.
fn held() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    of(&text, "VmRSS:")
}

/// Bytes of memory in all, and of those that are free.
fn machine() -> Option<(u64, u64)> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    Some((of(&text, "MemTotal:")?, of(&text, "MemAvailable:")?))
}

fn of(text: &str, key: &str) -> Option<u64> {
    let line = text.lines().find_map(|l| l.strip_prefix(key))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kb| kb * 1024)
}

/// Bytes that the container may hold, if it is bounded.
fn group() -> Option<u64> {
    ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"].iter().find_map(|p| std::fs::read_to_string(p).ok()?.trim().parse().ok())
}
