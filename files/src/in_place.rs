//! Writing in place, for files that cannot be replaced by a new file.

use crate::{Put, flushed, pieces};
use std::fs::File;
use std::io::{Error, Result};

/// Overwrites the contents. If the disk lacks space for them, this fails before anything is changed.
pub fn write(file: &mut File, bytes: &[u8], put: Put) -> Result<()> {
    let old = file.metadata()?.len();
    let new = bytes.len() as u64;
    if new > old
        && let Err(e) = reserve(file, old, new - old)
    {
        // Releases the space reserved before the failure.
        file.set_len(old)?;
        return Err(e);
    }
    pieces(file, bytes, put).map_err(|e| match e.kind() {
        std::io::ErrorKind::Interrupted => e,
        kind => Error::new(kind, format!("{e}; it was written in place, and is not whole")),
    })?;
    file.set_len(new)?;
    flushed(file)
}

/// Reserves space after the end of the file, if the file system supports it.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn reserve(file: &File, end: u64, more: u64) -> Result<()> {
    use rustix::fs::{FallocateFlags, fallocate};
    use rustix::io::Errno;
    match fallocate(file, FallocateFlags::KEEP_SIZE, end, more) {
        Err(e) if ![Errno::OPNOTSUPP, Errno::NOSYS, Errno::INVAL, Errno::NODEV].contains(&e) => Err(e.into()),
        _ => Ok(()),
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn reserve(_: &File, _: u64, _: u64) -> Result<()> {
    Ok(())
}

/// Whether the file has properties that a new file would lose: further hard links, or attributes such as access lists.
#[cfg(unix)]
pub fn needed(old: &File) -> Result<bool> {
    Ok(std::os::unix::fs::MetadataExt::nlink(&old.metadata()?) > 1 || attributes(old))
}

/// Gives a new file the owner and group of the old one; returns whether it has them then.
#[cfg(unix)]
pub fn owned_alike(new: &File, old: &File) -> Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let (new_data, old_data) = (new.metadata()?, old.metadata()?);
    let alike = (new_data.uid(), new_data.gid()) == (old_data.uid(), old_data.gid());
    Ok(alike || std::os::unix::fs::fchown(new, Some(old_data.uid()), Some(old_data.gid())).is_ok())
}

#[cfg(not(unix))]
pub fn needed(_: &File) -> Result<bool> {
    Ok(false)
}

#[cfg(not(unix))]
pub fn owned_alike(_: &File, _: &File) -> Result<bool> {
    Ok(true)
}

/// Whether there are extended attributes other than the `SELinux` label that every file has.
#[cfg(any(target_os = "linux", target_os = "macos"))]
fn attributes(file: &File) -> bool {
    let mut names = [0u8; 4096];
    match rustix::fs::flistxattr(file, &mut names) {
        Ok(n) => names[..n].split(|b| *b == 0).any(|name| !name.is_empty() && name != b"security.selinux"),
        // There are more names than fit into the buffer (`RANGE`), or the file system has no attributes.
        Err(e) => e == rustix::io::Errno::RANGE,
    }
}

#[cfg(all(unix, not(any(target_os = "linux", target_os = "macos"))))]
fn attributes(_: &File) -> bool {
    false
}
