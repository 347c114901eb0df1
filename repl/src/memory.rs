//! Ends a run before the system runs out of memory: it would kill the process, and a session with it.
//!
//! A thread looks at what the process holds, the more often the nearer that is to the limit (Linux only; there is no such thread elsewhere). What is about to
//! take much at once asks before it does (`adl_interp::memory`), and where the system refuses memory the allocator's reserve lets the run end with an error.

use adl_interp::fault;
use adl_interp::memory::Shortage;
use adl_interp::vm::Starved;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Memory that other processes are left with, at least, as a part of all.
const RESERVE: u64 = 32;

/// The part of a limited address space that is held back: what allocates at most as much without asking can then still end with an error.
const HELD_BACK: u64 = 4;

/// Bytes a second that a program takes at most, as far as the watch is concerned.
const RATE: u64 = 4 << 30;

/// Times between two looks.
const LONGEST: Duration = Duration::from_millis(50);
const SHORTEST: Duration = Duration::from_millis(2);

/// What `--memory` says; 0 if it was not given.
static ASKED: AtomicU64 = AtomicU64::new(0);

/// Watches as long as the session lives. `limit`: bytes that the process may hold; by default nearly all that there are.
pub fn guard(starved: &Starved, limit: Option<u64>) {
    ASKED.store(limit.unwrap_or(0), Ordering::Relaxed);
    adl_interp::memory::set_source(grant);
    hold_back(address_limit());
    let alarm = starved.downgrade();
    adl_jit::alloc::set_alarm(Box::new(move || {
        if let Some(s) = alarm.upgrade() {
            s.set(adl_jit::alloc::most_resident());
        }
    }));
    let weak = starved.downgrade();
    let alarm = starved.downgrade();
    let stop = move || {
        if let Some(s) = alarm.upgrade() {
            s.interrupt();
        }
    };
    // Where no thread can be had there is no watch.
    let _ = fault::helper("adl-memory", move || look(&weak.upgrade()?), stop);
}

/// Looks once, and says when to look again; not where nobody knows what the process holds.
fn look(s: &Starved) -> Option<Duration> {
    fault::point(fault::Point::Memory);
    let held = Held::now()?;
    let bounds = Bounds::now();
    let mut left = bounds.left(&held);
    // What is kept for later arrays goes first.
    if left == 0 && adl_jit::alloc::release() > 0 {
        left = Held::now().map_or(0, |held| bounds.left(&held));
    }
    match left {
        0 => s.set(held.resident),
        // A run that is ending has the reserve.
        _ if s.ending() => {}
        _ => hold_back(bounds.address),
    }
    Some(Duration::from_secs_f64(left as f64 / RATE as f64).clamp(SHORTEST, LONGEST))
}

/// Address space for the end of a run, where it is limited.
fn hold_back(limit: Option<u64>) {
    if let Some(limit) = limit {
        adl_jit::alloc::hold_back(usize::try_from(limit / HELD_BACK).unwrap_or(0));
    }
}

/// Whether so many bytes may be taken at once.
fn grant(bytes: u64) -> Result<(), Shortage> {
    let bounds = Bounds::now();
    let shortage = || Some(bounds.hard(&Held::now()?)).filter(|s| s.free < bytes);
    match shortage() {
        // What is kept for later arrays is free.
        Some(_) if adl_jit::alloc::release() > 0 => shortage().map_or(Ok(()), Err),
        Some(s) => Err(s),
        None => Ok(()),
    }
}

/// What the process holds, in bytes.
struct Held {
    resident: u64,
    /// Its address space.
    address: u64,
}

/// What may be held, in bytes.
#[derive(Default)]
struct Bounds {
    /// What `--memory` says.
    asked: Option<u64>,
    /// The limit of the address space (`ulimit -v`).
    address: Option<u64>,
    /// The limits of the control groups that the process is in, with what is used of each.
    groups: Vec<(u64, u64)>,
    /// All memory of the machine, and what of it is free.
    machine: Option<(u64, u64)>,
}

impl Held {
    fn now() -> Option<Held> {
        let text = std::fs::read_to_string("/proc/self/statm").ok()?;
        let mut pages = text.split(' ').map_while(|n| n.parse::<u64>().ok());
        let page = rustix::param::page_size() as u64;
        Some(Held { address: pages.next()? * page, resident: pages.next()? * page })
    }
}

impl Bounds {
    fn now() -> Bounds {
        Bounds {
            asked: Some(ASKED.load(Ordering::Relaxed)).filter(|n| *n > 0),
            address: address_limit(),
            groups: groups(Path::new("/sys/fs/cgroup"), &std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default()),
            machine: machine(),
        }
    }

    /// Bytes that are left of the limits that are kept to before anything is taken.
    fn hard(&self, held: &Held) -> Shortage {
        let of = |limit: u64, used: u64| Shortage { free: limit.saturating_sub(used), limit };
        let asked = self.asked.map(|limit| of(limit, held.resident));
        let address = self.address.map(|limit| of(limit, held.address));
        let groups = self.groups.iter().map(|(limit, used)| of(limit - limit / RESERVE, *used));
        asked.into_iter().chain(address).chain(groups).min_by_key(|s| s.free).unwrap_or(Shortage { free: u64::MAX, limit: u64::MAX })
    }

    /// Bytes that a run may still take; 0 if it is to end.
    fn left(&self, held: &Held) -> u64 {
        let address = self.address.map(|limit| limit.saturating_sub(held.address));
        if let Some(limit) = self.asked {
            return limit.saturating_sub(held.resident).min(address.unwrap_or(u64::MAX));
        }
        // Where other processes hold most of it, this one is not to blame.
        let shared = self.groups.iter().map(|(limit, used)| (*limit, limit.saturating_sub(*used))).chain(self.machine);
        let shared = shared.map(|(all, free)| if held.resident > all / 4 { free.saturating_sub(all / RESERVE) } else { all / 4 });
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

/// Bytes of memory in all, and of those that are free.
fn machine() -> Option<(u64, u64)> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let of = |key: &str| {
        let line = text.lines().find_map(|l| l.strip_prefix(key))?;
        line.split_whitespace().next()?.parse::<u64>().ok().map(|kb| kb * 1024)
    };
    Some((of("MemTotal:")?, of("MemAvailable:")?))
}

/// The limits of the control groups of a process, those around them too, and what is used. `text`: `/proc/self/cgroup`.
fn groups(root: &Path, text: &str) -> Vec<(u64, u64)> {
    let mut out = Vec::new();
    for line in text.lines() {
        // hierarchy:controllers:path; the second version has the hierarchy 0 and no controllers.
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        let (root, max, used, file) = match controllers {
            "" => (root.to_owned(), "memory.max", "memory.current", "inactive_file "),
            c if c.split(',').any(|c| c == "memory") => (root.join("memory"), "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file "),
            _ => continue,
        };
        let number = |path: &Path| std::fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
        for group in Path::new(path.trim_start_matches('/')).ancestors() {
            let dir = root.join(group);
            // Without a limit there is a word, or a number beyond any memory.
            let Some(limit) = number(&dir.join(max)).filter(|n| *n < 1 << 60) else { continue };
            // Pages of files are given back when memory is short.
            let stat = std::fs::read_to_string(dir.join("memory.stat")).unwrap_or_default();
            let cached = stat.lines().find_map(|l| l.strip_prefix(file)).and_then(|n| n.trim().parse::<u64>().ok()).unwrap_or(0);
            out.push((limit, number(&dir.join(used)).unwrap_or(0).saturating_sub(cached)));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_of_groups_and_of_those_around_them() {
        let root = std::env::temp_dir().join(format!("adl-groups-{}", std::process::id()));
        let file = |name: &str, text: &str| {
            let path = root.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        file("a/memory.max", "1000\n");
        file("a/memory.current", "900\n");
        file("a/memory.stat", "anon 500\ninactive_file 300\n");
        file("a/b/memory.max", "max\n");
        file("memory/job/memory.limit_in_bytes", "5000\n");
        file("memory/job/memory.usage_in_bytes", "10\n");
        file("memory/memory.limit_in_bytes", "9223372036854771712\n");
        assert_eq!(groups(&root, "0::/a/b\n"), [(1000, 600)]);
        assert_eq!(groups(&root, "3:cpu:/x\n2:memory,hugetlb:/job\n"), [(5000, 10)]);
        assert_eq!(groups(&root, "0::/\n"), []);
        let _ = std::fs::remove_dir_all(&root);
    }

    #[test]
    fn the_least_limit_counts() {
        let held = Held { resident: 100, address: 300 };
        let bounds = |asked, address| Bounds { asked, address, groups: vec![(3200, 3000)], machine: Some((3200, 3000)) };
        assert_eq!(bounds(None, None).hard(&held).free, 100);
        assert_eq!(bounds(Some(150), Some(400)).hard(&held).free, 50);
        assert_eq!(bounds(Some(900), Some(310)).hard(&held).free, 10);
        assert_eq!(bounds(Some(90), None).left(&held), 0);
        assert_eq!(bounds(None, Some(320)).left(&held), 20);
        // The group is full, but not of this process.
        assert!(bounds(None, None).left(&held) > 0);
        assert_eq!(bounds(None, None).left(&Held { resident: 3000, address: 3000 }), 100);
        assert_eq!(Bounds::default().hard(&held).free, u64::MAX);
    }
}
