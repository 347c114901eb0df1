//! The process above a rank that MPICH's launcher has started.
//!
//! That launcher says of a process that was killed only its number in the system. So each rank runs as a child of a
//! process that does nothing but wait for it, and names it if it is killed. Other launchers name the rank by themselves.

use crate::Global;

/// In the environment of a rank that has such a parent: the number of the parent's process.
#[cfg(target_os = "linux")]
const PARENT: &str = "ADL_RANK_PARENT";

/// Runs the rank as a child if this process is to be its parent, and returns the exit code of the rank. Returns nothing
/// if this process is the rank itself, or none of such a launcher.
#[cfg(target_os = "linux")]
pub fn watch(words: &[String], global: &Global) -> Option<u8> {
    use std::os::unix::process::{ExitStatusExt, parent_id};
    let above = std::env::var(PARENT).ok().and_then(|p| p.parse::<u32>().ok());
    if above.is_some_and(|above| above == parent_id()) {
        return above.and_then(end_with);
    }
    let launcher = adl_mpi::launcher().filter(|l| l.names_processes)?;
    let (rank, size) = (launcher.rank?, launcher.size?);
    let own = crate::command().ok()?;
    let (program, first) = own.split_first()?;
    let mut rank_itself = std::process::Command::new(program);
    rank_itself.args(first).args(words).env(PARENT, std::process::id().to_string());
    // An interrupt is the rank's, which ends in order. The handler is not inherited.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGINT, Default::default());
    let status = rank_itself.status().ok()?;
    match status.signal() {
        Some(signal_hook::consts::SIGINT) => Some(130),
        Some(signal) => {
            crate::commands::rank_was_killed(global, (rank, size), signal);
            Some(1)
        }
        None => status.code().and_then(|code| u8::try_from(code).ok()).or(Some(1)),
    }
}

/// Lets this process end when its parent does. Returns an exit code if it has ended already.
#[cfg(target_os = "linux")]
fn end_with(parent: u32) -> Option<u8> {
    let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
    (std::os::unix::process::parent_id() != parent).then_some(1)
}

/// On other systems a child would outlive a parent that is killed.
#[cfg(not(target_os = "linux"))]
pub fn watch(_: &[String], _: &Global) -> Option<u8> {
    None
}
