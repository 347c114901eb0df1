//! What a path leads to.

use std::path::{Path, PathBuf};

/// Links that are followed at most, as in Linux.
const LINKS: usize = 40;

/// What is written.
pub enum Target {
    /// The file of that name, which is no link.
    Path(PathBuf),
    /// Standard output of this process.
    Output,
    /// Standard error of this process.
    Errors,
    /// A descriptor, or a file that the system makes up (`/proc`, `/sys`): only the system's own `open` knows what it is.
    Special(PathBuf),
}

/// Follows links to the end, which need not exist.
pub fn of(path: &Path) -> Target {
    let mut path = path.to_owned();
    for _ in 0..LINKS {
        if made_up(&path) {
            return descriptor(path);
        }
        let Ok(next) = std::fs::read_link(&path) else { break };
        path = path.parent().unwrap_or(Path::new("")).join(next);
    }
    Target::Path(path)
}

/// Whether the name is of a descriptor or of something that is no stored file.
fn made_up(path: &Path) -> bool {
    let Some(directory) = path.parent().filter(|d| !d.as_os_str().is_empty()) else { return false };
    std::fs::canonicalize(directory).is_ok_and(|d| ["/proc", "/sys", "/dev/fd"].iter().any(|made_up| d.starts_with(made_up)))
}

fn descriptor(path: PathBuf) -> Target {
    let own = path.parent().and_then(|d| std::fs::canonicalize(d).ok()).is_some_and(|d| d == Path::new("/dev/fd") || std::fs::canonicalize("/proc/self/fd").is_ok_and(|fds| d == fds));
    match path.file_name().and_then(|n| n.to_str()) {
        Some("1") if own => Target::Output,
        Some("2") if own => Target::Errors,
        _ => Target::Special(path),
    }
}
