//! Standard input a line at a time, for programs and for entries from a pipe: both read through one buffer, and can be interrupted.

use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Result};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::Duration;

/// How often a wait looks whether to stop.
const LOOK: Duration = Duration::from_millis(50);

struct Input {
    /// `None` where the descriptor cannot be had.
    reader: Option<BufReader<File>>,
    /// The next line, if it has been read ahead.
    next: Option<Vec<u8>>,
}

static INPUT: LazyLock<Mutex<Input>> = LazyLock::new(|| Mutex::new(Input { reader: descriptor().map(BufReader::new).ok(), next: None }));

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

/// The bytes of the next line with its end, none at the end of input. An error of kind `Interrupted` if `stop` says so meanwhile.
pub fn line(stop: &dyn Fn() -> bool) -> Result<Vec<u8>> {
    let mut input = INPUT.lock().unwrap_or_else(PoisonError::into_inner);
    let Input { reader, next } = &mut *input;
    match (next.take(), reader) {
        (Some(line), _) => Ok(line),
        (None, Some(reader)) => read(reader, stop),
        (None, None) => Ok(Vec::new()),
    }
}

/// The same, but the line stays the next one. `None` if neither a line nor the end comes within a time.
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
    // A descriptor that cannot be polled is one whose reading does not wait, or fails.
    match poll(&mut [PollFd::new(&stdin, PollFlags::IN)], Some(&timeout)) {
        Ok(n) => n > 0,
        Err(e) => e != rustix::io::Errno::INTR,
    }
}

#[cfg(not(unix))]
fn readable(_: Duration) -> bool {
    true
}
