//! Ends a run before the system runs out of memory and kills the process together with its session.
//!
//! On Linux, a thread monitors the memory of the process, more frequently the closer it is to the limit. Code that is
//! about to allocate much asks first (`adl_interp::memory`). If the system refuses memory, the allocator's reserve
//! suffices to end the run with an error.

use adl_interp::fault;
use adl_interp::memory::Shortage;
use adl_interp::vm::OutOfMemoryFlag;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The reciprocal of the fraction of the machine's memory that is left to other processes.
const RESERVE: u64 = 32;

/// The reciprocal of the fraction of a limited address space that is reserved. Code that allocates up to that much
/// without asking can still end with an error.
const HELD_BACK: u64 = 4;

/// The assumed maximal rate of allocation in bytes per second, which determines the interval between two checks.
const RATE: u64 = 4 << 30;

/// The maximal interval between two checks.
const LONGEST: Duration = Duration::from_millis(50);
const SHORTEST: Duration = Duration::from_millis(2);

/// The limit given by `--memory`; 0 without that flag.
static ASKED: AtomicU64 = AtomicU64::new(0);

/// Monitors the memory as long as the session lives. `limit`: the maximal memory of the process in bytes; by default
/// nearly all of the machine's.
pub fn guard(out_of_memory: &OutOfMemoryFlag, limit: Option<u64>) {
    ASKED.store(limit.unwrap_or(0), Ordering::Relaxed);
    adl_interp::memory::set_source(grant);
    reserve_address_space(address_limit());
    let alarm = out_of_memory.downgrade();
    adl_jit::alloc::set_alarm(Box::new(move || {
        if let Some(s) = alarm.upgrade() {
            s.set(adl_jit::alloc::peak_resident_bytes());
        }
    }));
    let weak = out_of_memory.downgrade();
    let alarm = out_of_memory.downgrade();
    let stop = move || {
        if let Some(s) = alarm.upgrade() {
            s.interrupt();
        }
    };
    // Where no thread can be had there is no watch.
    let _ = fault::helper("adl-memory", move || look(&weak.upgrade()?), stop);
}

/// Checks once. Returns when to check again, or nothing if the resident size is unknown.
fn look(out_of_memory_flag: &OutOfMemoryFlag) -> Option<Duration> {
    fault::point(fault::PanicPoint::Memory);
    let held = MemoryUse::now()?;
    let bounds = MemoryLimits::now();
    let mut left = bounds.left(&held);
    // Free memory that the allocator keeps goes first.
    if left == 0 {
        adl_jit::alloc::release();
        left = MemoryUse::now().map_or(0, |held| bounds.left(&held));
    }
    match left {
        0 => out_of_memory_flag.set(held.resident),
        // A run that is ending has the reserve.
        _ if out_of_memory_flag.ending() => {}
        _ => reserve_address_space(bounds.address),
    }
    Some(Duration::from_secs_f64(left as f64 / RATE as f64).clamp(SHORTEST, LONGEST))
}

/// Reserves address space for the end of a run, if the address space is limited.
fn reserve_address_space(limit: Option<u64>) {
    if let Some(limit) = limit {
        adl_jit::alloc::reserve_address_space(usize::try_from(limit / HELD_BACK).unwrap_or(0));
    }
}

/// Whether an allocation of this size is permitted now.
fn grant(bytes: u64) -> Result<(), Shortage> {
    let bounds = MemoryLimits::now();
    let shortage = || Some(bounds.hard(&MemoryUse::now()?)).filter(|s| s.free < bytes);
    if shortage().is_none() {
        return Ok(());
    }
    // What the allocator keeps counts as free.
    adl_jit::alloc::release();
    shortage().map_or(Ok(()), Err)
}

/// The memory of the process in bytes.
pub struct MemoryUse {
    /// What it holds.
    pub resident: u64,
    /// Its address space.
    pub address: u64,
}

/// The limits in bytes.
#[derive(Default)]
pub struct MemoryLimits {
    /// The limit given by `--memory`.
    pub asked: Option<u64>,
    /// The limit of the address space (`ulimit -v`).
    pub address: Option<u64>,
    /// The limits of the control groups that contain the process, each with its current usage.
    pub groups: Vec<(u64, u64)>,
    /// The total and the free memory of the machine.
    pub machine: Option<(u64, u64)>,
}

impl MemoryUse {
    fn now() -> Option<MemoryUse> {
        let text = std::fs::read_to_string("/proc/self/statm").ok()?;
        let mut pages = text.split(' ').map_while(|n| n.parse::<u64>().ok());
        let page = rustix::param::page_size() as u64;
        Some(MemoryUse { address: pages.next()? * page, resident: pages.next()? * page })
    }
}

impl MemoryLimits {
    fn now() -> MemoryLimits {
        MemoryLimits {
            asked: Some(ASKED.load(Ordering::Relaxed)).filter(|n| *n > 0),
            address: address_limit(),
            groups: groups(
                Path::new("/sys/fs/cgroup"),
                &std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default(),
            ),
            machine: machine(),
        }
    }

    /// The remaining bytes under the hard limits, which are checked before an allocation.
    pub fn hard(&self, held: &MemoryUse) -> Shortage {
        let of = |limit: u64, used: u64| Shortage { free: limit.saturating_sub(used), limit };
        let asked = self.asked.map(|limit| of(limit, held.resident));
        let address = self.address.map(|limit| of(limit, held.address));
        let groups = self.groups.iter().map(|(limit, used)| of(limit - limit / RESERVE, *used));
        asked
            .into_iter()
            .chain(address)
            .chain(groups)
            .min_by_key(|s| s.free)
            .unwrap_or(Shortage { free: u64::MAX, limit: u64::MAX })
    }

    /// The bytes that a run may still allocate; 0 if it must end.
    pub fn left(&self, held: &MemoryUse) -> u64 {
        let address = self.address.map(|limit| limit.saturating_sub(held.address));
        if let Some(limit) = self.asked {
            return limit.saturating_sub(held.resident).min(address.unwrap_or(u64::MAX));
        }
        // If other processes use most of a shared limit, this process is not stopped for it.
        let shared = self.groups.iter().map(|(limit, used)| (*limit, limit.saturating_sub(*used))).chain(self.machine);
        let shared = shared
            .map(|(all, free)| if held.resident > all / 4 { free.saturating_sub(all / RESERVE) } else { all / 4 });
        shared.chain(address).min().unwrap_or(u64::MAX)
    }
}

#[cfg(unix)]
fn address_limit() -> Option<u64> {
    use rustix::process::{Resource, getrlimit};
    [Resource::As, Resource::Data].into_iter().filter_map(|r| getrlimit(r).current).min()
}

#[cfg(not(unix))]
fn address_limit() -> Option<u64> {
    None
}

/// The total and the free memory of the machine in bytes.
fn machine() -> Option<(u64, u64)> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let of = |key: &str| {
        let line = text.lines().find_map(|l| l.strip_prefix(key))?;
        line.split_whitespace().next()?.parse::<u64>().ok().map(|kb| kb * 1024)
    };
    Some((of("MemTotal:")?, of("MemAvailable:")?))
}

/// The limits and usage of the control groups of a process, including parent groups. `text`: the contents of
/// `/proc/self/cgroup`.
pub fn groups(root: &Path, text: &str) -> Vec<(u64, u64)> {
    let mut out = Vec::new();
    for line in text.lines() {
        // The format is hierarchy:controllers:path. In cgroup v2 the hierarchy is 0 and there are no controllers.
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        let (root, max, used, file) = match controllers {
            "" => (root.to_owned(), "memory.max", "memory.current", "inactive_file "),
            c if c.split(',').any(|c| c == "memory") => {
                (root.join("memory"), "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file ")
            }
            _ => continue,
        };
        let number = |path: &Path| std::fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
        for group in Path::new(path.trim_start_matches('/')).ancestors() {
            let dir = root.join(group);
            // An unlimited group has a word here, or a number larger than any memory.
            let Some(limit) = number(&dir.join(max)).filter(|n| *n < 1 << 60) else { continue };
            // The page cache is reclaimed if memory is short.
            let stat = std::fs::read_to_string(dir.join("memory.stat")).unwrap_or_default();
            let cached =
                stat.lines().find_map(|l| l.strip_prefix(file)).and_then(|n| n.trim().parse::<u64>().ok()).unwrap_or(0);
            out.push((limit, number(&dir.join(used)).unwrap_or(0).saturating_sub(cached)));
        }
    }
    out
}
