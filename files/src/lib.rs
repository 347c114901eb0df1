//! Atomic replacement of files: every file that adl writes goes through [`write()`].
//!
//! The new contents are written to a temporary file in the same directory, which is then renamed. So a full disk, an
//! interrupted run or a crash leaves the old file unchanged. The new file has the mode and owner of the old one.
//! Symbolic links are followed: the link stays, and its target is replaced.
//!
//! Some files cannot be replaced in this way: a file with further hard links or extended attributes, a file whose owner
//! this process cannot set, and a file in a directory without write permission. These are written in place, after the
//! space by which they grow was reserved on the disk. Devices, pipes and open descriptors (`/dev/stdout`) are written
//! directly.

mod in_place;
mod target;

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Result, Seek, SeekFrom, Write};
use std::path::Path;
use target::WriteTarget;

/// Bytes to read or write between two checks whether to stop.
const PIECE: usize = 1 << 20;

/// The interval in bytes at which a file's replacement is flushed to the disk, so that no single flush takes long.
const FLUSHED: usize = 1 << 24;

/// Writes a piece of the contents. Tests substitute functions that fail.
type Put<'a> = &'a dyn Fn(&mut dyn Write, &[u8]) -> Result<()>;

/// Writes the entire file, or leaves the old contents.
pub fn write(path: impl AsRef<Path>, bytes: impl AsRef<[u8]>) -> Result<()> {
    write_unless(path, bytes, &|| false)
}

/// Like [`write()`]. If `stop` returns true on the way, the result is an error of kind `Interrupted`.
pub fn write_unless(path: impl AsRef<Path>, bytes: impl AsRef<[u8]>, stop: &dyn Fn() -> bool) -> Result<()> {
    let put = |out: &mut dyn Write, piece: &[u8]| {
        stopped(stop)?;
        out.write_all(piece)
    };
    write_by(path.as_ref(), bytes.as_ref(), &put)
}

/// Reads an entire file. If `stop` returns true on the way, the result is an error of kind `Interrupted`.
pub fn read_unless(path: impl AsRef<Path>, stop: &dyn Fn() -> bool) -> Result<Vec<u8>> {
    let file = File::open(path)?;
    let mut bytes = Vec::new();
    // Lack of memory is an error here, not an abort.
    bytes
        .try_reserve(usize::try_from(file.metadata()?.len()).unwrap_or(usize::MAX))
        .map_err(|_| ErrorKind::OutOfMemory)?;
    loop {
        stopped(stop)?;
        if (&file).take(PIECE as u64).read_to_end(&mut bytes)? == 0 {
            return Ok(bytes);
        }
    }
}

/// Reads `len` bytes of a file from an offset, or fewer at its end.
pub fn read_part(path: impl AsRef<Path>, from: u64, len: usize) -> Result<Vec<u8>> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    // Lack of memory is an error here, not an abort.
    bytes.try_reserve(len).map_err(|_| ErrorKind::OutOfMemory)?;
    file.take(len as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Says that `len` bytes of a file from an offset are read soon: the system fetches them while the caller works. It is
/// advice, so nothing fails.
pub fn will_read(path: impl AsRef<Path>, from: u64, len: u64) {
    #[cfg(any(target_os = "linux", target_os = "android", target_os = "freebsd"))]
    if let Ok(file) = File::open(path) {
        let _ = rustix::fs::fadvise(file, from, std::num::NonZeroU64::new(len), rustix::fs::Advice::WillNeed);
    }
    #[cfg(not(any(target_os = "linux", target_os = "android", target_os = "freebsd")))]
    let _ = (path, from, len);
}

/// The number of bytes of a file. A directory is an error.
pub fn length(path: impl AsRef<Path>) -> Result<u64> {
    let found = std::fs::metadata(path)?;
    if found.is_dir() { Err(ErrorKind::IsADirectory.into()) } else { Ok(found.len()) }
}

/// The paths of the files in a directory, sorted; `None` if there is no such directory.
pub fn list(path: impl AsRef<Path>) -> Option<Vec<String>> {
    let entries = std::fs::read_dir(path).ok()?.flatten();
    let files = entries.filter(|e| std::fs::metadata(e.path()).is_ok_and(|m| m.is_file()));
    let mut all: Vec<String> = files.map(|e| e.path().to_string_lossy().into_owned()).collect();
    all.sort_unstable();
    Some(all)
}

fn stopped(stop: &dyn Fn() -> bool) -> Result<()> {
    if stop() { Err(ErrorKind::Interrupted.into()) } else { Ok(()) }
}

fn write_by(path: &Path, bytes: &[u8], put: Put) -> Result<()> {
    let path = match target::of(path) {
        WriteTarget::Output => return pieces(&mut std::io::stdout().lock(), bytes, put),
        WriteTarget::Errors => return pieces(&mut std::io::stderr().lock(), bytes, put),
        WriteTarget::Special(path) => return pieces(&mut File::create(path)?, bytes, put),
        WriteTarget::Path(path) => path,
    };
    let mut old = match OpenOptions::new().write(true).open(&path) {
        Ok(file) => file,
        Err(e) if e.kind() == ErrorKind::NotFound => {
            return match beside(&path, None, bytes, put)? {
                true => Ok(()),
                false => Err(ErrorKind::PermissionDenied.into()),
            };
        }
        Err(e) => return Err(e),
    };
    if !old.metadata()?.is_file() {
        return pieces(&mut old, bytes, put);
    }
    match !in_place::needed(&old)? && beside(&path, Some(&old), bytes, put)? {
        true => Ok(()),
        false => in_place::write(&mut old, bytes, put),
    }
}

fn pieces(out: &mut dyn Write, bytes: &[u8], put: Put) -> Result<()> {
    bytes.chunks(PIECE).try_for_each(|piece| put(out, piece))?;
    out.flush()
}

/// Writes a temporary file and renames it to the old one. Returns `false`, with nothing changed, if the directory or
/// the ownership does not permit that.
fn beside(path: &Path, old: Option<&File>, bytes: &[u8], put: Put) -> Result<bool> {
    let directory = path.parent().filter(|d| !d.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut named = tempfile::Builder::new();
    named.prefix(".adl-").suffix(".tmp");
    // An existing file determines the mode later. Until then only its owner may read the new file.
    #[cfg(unix)]
    if old.is_none() {
        named.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    }
    let mut new = match named.tempfile_in(directory) {
        Ok(new) => new,
        Err(e) if refused(&e) => return Ok(false),
        Err(e) => return Err(plain(e)),
    };
    if let Some(old) = old
        && !in_place::owned_alike(new.as_file(), old)?
    {
        return Ok(false);
    }
    for part in bytes.chunks(FLUSHED) {
        pieces(new.as_file_mut(), part, put)?;
        if old.is_some() {
            flushed(new.as_file())?;
        }
    }
    if let Some(old) = old {
        new.as_file().set_permissions(old.metadata()?.permissions())?;
        flushed(new.as_file())?;
    }
    match new.persist(path) {
        Ok(_) => Ok(true),
        Err(e) if old.is_some() && (refused(&e.error) || e.error.kind() == ErrorKind::ResourceBusy) => Ok(false),
        Err(e) => Err(e.error),
    }
}

/// Whether an error means that the directory accepts no new files.
fn refused(e: &std::io::Error) -> bool {
    matches!(e.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem)
}

/// Removes the name of the temporary file from an error.
fn plain(e: std::io::Error) -> std::io::Error {
    match e.raw_os_error() {
        Some(code) => std::io::Error::from_raw_os_error(code),
        None => match e
            .get_ref()
            .and_then(|inner| inner.source())
            .and_then(|s| s.downcast_ref::<std::io::Error>())
            .and_then(std::io::Error::raw_os_error)
        {
            Some(code) => std::io::Error::from_raw_os_error(code),
            None => e.kind().into(),
        },
    }
}

/// Flushes the file to the disk, if the file system supports it.
fn flushed(file: &File) -> Result<()> {
    match file.sync_all() {
        Err(e) if !matches!(e.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => Err(e),
        _ => Ok(()),
    }
}

#[cfg(all(test, unix))]
mod tests;
