//! Resolves paths to the file that is actually written.

use std::path::{Path, PathBuf};

/// The maximal number of links that are followed, as in Linux.
const LINKS: usize = 40;

/// The destination of a write.
pub enum WriteTarget {
    /// A regular path that is not a link.
    Path(PathBuf),
    /// The standard output of this process.
    Output,
    /// The standard error of this process.
    Errors,
    /// A descriptor, or a virtual file of the system (`/proc`, `/sys`), which can only be opened directly.
    Special(PathBuf),
}

/// Follows all links. The final target need not exist.
pub fn of(path: &Path) -> WriteTarget {
    let mut path = path.to_owned();
    for _ in 0..LINKS {
        if made_up(&path) {
            return descriptor(path);
        }
        let Ok(next) = std::fs::read_link(&path) else { break };
        path = path.parent().unwrap_or(Path::new("")).join(next);
    }
    WriteTarget::Path(path)
}

/// Whether the path refers to a descriptor or a virtual file.
fn made_up(path: &Path) -> bool {
    let Some(directory) = path.parent().filter(|d| !d.as_os_str().is_empty()) else { return false };
    std::fs::canonicalize(directory)
        .is_ok_and(|d| ["/proc", "/sys", "/dev/fd"].iter().any(|made_up| d.starts_with(made_up)))
}

fn descriptor(path: PathBuf) -> WriteTarget {
    let own = path
        .parent()
        .and_then(|d| std::fs::canonicalize(d).ok())
        .is_some_and(|d| d == Path::new("/dev/fd") || std::fs::canonicalize("/proc/self/fd").is_ok_and(|fds| d == fds));
    match path.file_name().and_then(|n| n.to_str()) {
        Some("1") if own => WriteTarget::Output,
        Some("2") if own => WriteTarget::Errors,
        _ => WriteTarget::Special(path),
    }
}
