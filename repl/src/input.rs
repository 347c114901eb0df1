//! Standard input line by line. Programs and entries from a pipe share one buffer, and reads can be interrupted.

use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Result};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::Duration;

/// The interval of checks whether to stop.
const LOOK: Duration = Duration::from_millis(50);

struct LineInput {
    /// `None` if the descriptor is unavailable.
    reader: Option<BufReader<File>>,
    /// The next line, if it was read ahead.
    next: Option<Vec<u8>>,
}

static INPUT: LazyLock<Mutex<LineInput>> =
    LazyLock::new(|| Mutex::new(LineInput { reader: descriptor().map(BufReader::new).ok(), next: None }));

#[cfg(unix)]
fn descriptor() -> Result<File> {
    use std::os::fd::AsFd;
    std::io::stdin().as_fd().try_clone_to_owned().map(File::from)
}

#[cfg(windows)]
fn descriptor() -> Result<File> {
    use std::os::windows::io::AsHandle;
    std::io::stdin().as_handle().try_clone_to_owned().map(File::from)
}

/// The bytes of the next line with its line end; empty at the end of input. If `stop` returns true meanwhile, an error
/// of kind `Interrupted`.
pub fn line(stop: &dyn Fn() -> bool) -> Result<Vec<u8>> {
    let mut input = INPUT.lock().unwrap_or_else(PoisonError::into_inner);
    let LineInput { reader, next } = &mut *input;
    match (next.take(), reader) {
        (Some(line), _) => Ok(line),
        (None, Some(reader)) => read(reader, stop),
        (None, None) => Ok(Vec::new()),
    }
}

/// Like `line`, but the line remains unread. `None` if neither a line nor the end arrives within `patience`.
pub fn peek(patience: Duration, stop: &dyn Fn() -> bool) -> Result<Option<Vec<u8>>> {
    let there = {
        let input = INPUT.lock().unwrap_or_else(PoisonError::into_inner);
        input.next.is_some() || input.reader.as_ref().is_none_or(|r| !r.buffer().is_empty())
    };
    if !there && !readable(patience) {
        return Ok(None);
    }
    let line = line(stop)?;
    INPUT.lock().unwrap_or_else(PoisonError::into_inner).next = Some(line.clone());
    Ok(Some(line))
}

fn read(input: &mut BufReader<File>, stop: &dyn Fn() -> bool) -> Result<Vec<u8>> {
    let mut line = Vec::new();
    loop {
        while input.buffer().is_empty() && !readable(LOOK) {
            if stop() {
                return Err(ErrorKind::Interrupted.into());
            }
        }
        let there = match input.fill_buf() {
            Ok(there) => there,
            Err(e) if e.kind() == ErrorKind::Interrupted => continue,
            Err(e) => return Err(e),
        };
        let end = there.iter().position(|b| *b == b'\n');
        let n = end.map_or(there.len(), |at| at + 1);
        line.extend_from_slice(&there[..n]);
        input.consume(n);
        if end.is_some() || n == 0 {
            return Ok(line);
        }
    }
}

#[cfg(unix)]
fn readable(patience: Duration) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let stdin = std::io::stdin();
    let timeout = Timespec { tv_sec: patience.as_secs() as i64, tv_nsec: patience.subsec_nanos().into() };
    // Reading a descriptor that cannot be polled either does not block, or fails.
    match poll(&mut [PollFd::new(&stdin, PollFlags::IN)], Some(&timeout)) {
        Ok(n) => n > 0,
        Err(e) => e != rustix::io::Errno::INTR,
    }
}

#[cfg(not(unix))]
fn readable(_: Duration) -> bool {
    true
}
