//! Which rank was killed: launchers name at most a process. A process beside the launcher listens on a socket, to which
//! each rank says its number at the start and a word at every end of its own. The first connection that closes without that
//! word is that of the killed rank. The launcher itself is started as without this process, and no rank waits for it.

use crate::Global;
use crate::notebook_ranks::random_secret;
use adl_mpi::Launcher;
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::{flag, low_level::pipe};
use std::collections::HashMap;
use std::ffi::OsString;
use std::io::{Error, ErrorKind, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// In the environment of ranks: the path of the socket.
pub const SOCKET: &str = "ADL_RANK_SOCKET";

/// In the environment of the process that watches: the number of the launcher's process, after [`PARENT`] in that of its
/// parent.
const WATCHER: &str = "ADL_RANK_WATCHER";

/// What the parent of the process that watches has before that number. It ends at once, as the launcher must not have a
/// child that it does not know.
const PARENT: &str = "parent of ";

/// What a rank says after its number and a line break: its end without an error, and one that ends the others, too.
const DONE: u8 = b'D';
const ENDS_ALL: u8 = b'E';

/// What `signal_hook` sends from the handler of a signal.
const INTERRUPTED: u8 = b'X';

/// How long after an interrupt the end of a rank is one by the interrupt.
const AFTER_INTERRUPT: Duration = Duration::from_secs(5);

/// The events of the socket and of the launcher's end; others are those of connections.
const CALL: u64 = 0;
const LAUNCHER: u64 = 1;

/// The connection of this rank.
static CONNECTION: Mutex<Option<UnixStream>> = Mutex::new(None);

/// Whether an interrupt still ends this rank at once.
static STARTS: LazyLock<Arc<AtomicBool>> = LazyLock::new(|| Arc::new(AtomicBool::new(true)));

/// Starts the process that watches the ranks of the launcher that replaces this process. Returns the path of its socket.
pub fn start(words: &[String]) -> Option<OsString> {
    let name: String = random_secret().ok()?[..8].iter().map(|b| format!("{b:02x}")).collect();
    let dir = std::env::temp_dir().join(format!("adl-{name}"));
    std::fs::DirBuilder::new().mode(0o700).create(&dir).ok()?;
    let path = dir.join("ranks");
    let above = format!("{PARENT}{}", std::process::id());
    let bound = UnixListener::bind(&path).map(OwnedFd::from);
    let started = bound.and_then(|socket| again(words, &above)?.stdin(socket).status());
    if started.is_ok_and(|s| s.success()) {
        return Some(path.into());
    }
    remove(&path);
    None
}

/// This command again, as the process that watches or its parent. Its standard input is the socket.
fn again(words: &[String], watcher: &str) -> Result<Command, Error> {
    let own = crate::command()?;
    let mut c = Command::new(own.first().ok_or(ErrorKind::NotFound)?);
    c.args(&own[1..]).args(words).env(WATCHER, watcher).stdout(Stdio::null());
    Ok(c)
}

fn remove(socket: &Path) {
    let _ = std::fs::remove_file(socket);
    let _ = socket.parent().map(std::fs::remove_dir);
}

/// Watches the ranks if this process is to do so. Returns the exit code then.
pub fn watch(words: &[String], global: &Global) -> Option<u8> {
    let said = std::env::var(WATCHER).ok()?;
    if let Some(launcher) = said.strip_prefix(PARENT) {
        return Some(u8::from(again(words, launcher).and_then(|mut c| c.spawn()).is_err()));
    }
    // What is sent to all processes of a terminal is for the launcher.
    for signal in [SIGINT, SIGTERM, SIGHUP, SIGQUIT] {
        let _ = flag::register(signal, Arc::default());
    }
    let size = global.ranks.unwrap_or_default();
    let launcher = said.parse().ok().and_then(Pid::from_raw)?;
    let listener = UnixListener::from(std::io::stdin().as_fd().try_clone_to_owned().ok()?);
    let address = listener.local_addr().ok()?;
    let path = address.as_pathname()?;
    let killed = WatchedRanks::new(listener, path, launcher, size).and_then(|mut w| w.killed());
    if let Ok(Some(rank)) = killed {
        crate::commands::rank_was_killed(global, rank, size);
    }
    remove(path);
    Some(0)
}

/// The ranks of a run, as the process sees them that watches.
struct WatchedRanks {
    /// Events come in the order in which they have happened, however late they are asked for.
    epoll: OwnedFd,
    listener: UnixListener,
    path: PathBuf,
    launcher: OwnedFd,
    size: u32,
    ranks: HashMap<u64, (UnixStream, Vec<u8>)>,
    called: u64,
    interrupted: Option<Instant>,
}

impl WatchedRanks {
    fn new(listener: UnixListener, path: &Path, launcher: Pid, size: u32) -> Result<WatchedRanks, Error> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let launcher = pidfd_open(launcher, PidfdFlags::empty())?;
        let path = path.to_owned();
        let (ranks, called) = (HashMap::new(), 0);
        let watched = WatchedRanks { epoll, listener, path, launcher, size, ranks, called, interrupted: None };
        watched.listener.set_nonblocking(true)?;
        epoll::add(&watched.epoll, &watched.listener, EventData::new_u64(CALL), EventFlags::IN)?;
        epoll::add(&watched.epoll, &watched.launcher, EventData::new_u64(LAUNCHER), EventFlags::IN)?;
        Ok(watched)
    }

    /// The rank that was killed, or nothing when the run has ended otherwise.
    fn killed(&mut self) -> Result<Option<u32>, Error> {
        loop {
            let mut events = Vec::with_capacity(64);
            match epoll::wait(&self.epoll, spare_capacity(&mut events), None) {
                Err(Errno::INTR) => continue,
                other => other?,
            };
            for event in events {
                match event.data.u64() {
                    CALL => self.accept()?,
                    LAUNCHER => return Ok(None),
                    call => {
                        if let Some(end) = self.hear(call) {
                            return Ok(end);
                        }
                    }
                }
            }
        }
    }

    fn accept(&mut self) -> Result<(), Error> {
        while let Ok((stream, _)) = self.listener.accept() {
            stream.set_nonblocking(true)?;
            self.called += 1;
            let call = LAUNCHER + self.called;
            epoll::add(&self.epoll, &stream, EventData::new_u64(call), EventFlags::IN)?;
            self.ranks.insert(call, (stream, Vec::new()));
        }
        if self.called == u64::from(self.size) {
            remove(&self.path);
        }
        Ok(())
    }

    /// Reads what a rank says. Returns what is to be reported, once that is known.
    fn hear(&mut self, call: u64) -> Option<Option<u32>> {
        let (stream, said) = self.ranks.get_mut(&call)?;
        let before = said.len();
        let open = stream.read_to_end(said).is_err_and(|e| e.kind() == ErrorKind::WouldBlock);
        if said[before..].contains(&INTERRUPTED) {
            self.interrupted = Some(Instant::now());
        }
        if said.contains(&ENDS_ALL) {
            return Some(None);
        }
        if open {
            return None;
        }
        let (_, said) = self.ranks.remove(&call)?;
        if self.interrupted.is_some_and(|at| at.elapsed() < AFTER_INTERRUPT) {
            return Some(None);
        }
        let number = said.split(|b| *b == b'\n').next()?;
        let rank = std::str::from_utf8(number).ok()?.parse().ok()?;
        (!said.contains(&DONE)).then_some(Some(rank))
    }
}

/// Says the number of this rank to the process that watches, if there is one on this machine.
pub fn begin(launcher: &Launcher) {
    if let (Some(path), Some(rank)) = (std::env::var_os(SOCKET), launcher.rank) {
        // Without a connection the rank runs as without that process.
        let _ = connect(Path::new(&path), rank);
    }
}

fn connect(path: &Path, rank: usize) -> Result<(), Error> {
    let socket = UnixStream::connect(path)?;
    // Linux closes descriptors of a killed process from the last to the first. The launcher kills the other ranks once it
    // sees its own connection closed, so that one must be closed later.
    let own = std::env::var("PMI_FD").ok().and_then(|n| n.parse::<i32>().ok()).unwrap_or(2);
    let above = || rustix::io::fcntl_dupfd_cloexec(&socket, own + 1).map(UnixStream::from);
    let mut connection = above()?;
    let always = Arc::new(AtomicBool::new(true));
    for (signal, ends) in [(SIGINT, STARTS.clone()), (SIGTERM, always.clone()), (SIGQUIT, always)] {
        pipe::register(signal, above()?)?;
        flag::register_conditional_default(signal, ends)?;
    }
    connection.write_all(format!("{rank}\n").as_bytes())?;
    *CONNECTION.lock().unwrap_or_else(PoisonError::into_inner) = Some(connection);
    Ok(())
}

/// Leaves interrupts to the handlers of this rank.
pub fn handles_interrupts() {
    STARTS.store(false, Ordering::Relaxed);
}

/// Says that this rank ends by itself, with this exit code.
pub fn end(code: u8) {
    if let Some(mut connection) = CONNECTION.lock().unwrap_or_else(PoisonError::into_inner).take() {
        let _ = connection.write_all(&[if code == 0 { DONE } else { ENDS_ALL }]);
    }
}
