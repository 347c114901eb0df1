//! Notebooks on several ranks: rank 0 sends each cell and each interrupt to the others over a socket, so that they wait for
//! the next cell without work. What the cells send to each other goes through MPI.

use crate::ranks::SharedAgreement;
use adl_interp::fault;
use adl_kernel::cell_ranks::{CellRanks, RankFailure};
use std::io::{Error, Read, Write};
use std::net::{IpAddr, Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long the ranks may take to find each other.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);

/// How often rank 0 looks for a connection, and for an interrupt.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Bytes of the secret by which the ranks of a run know each other, half of it for each side.
const SECRET_BYTES: usize = 32;

/// What rank 0 sends: a byte, and after [`ENTRY`] the length of a text and the text.
const INTERRUPT: u8 = 0;
const ENTRY: u8 = 1;
const END: u8 = 2;

/// The other ranks, as one sees them.
enum Connection {
    /// On rank 0: the sockets of the others.
    First(Arc<Mutex<Vec<TcpStream>>>),
    /// On another rank: the entries that have arrived, and the flag that an interrupt sets.
    Other(Receiver<String>, Arc<Mutex<Option<Arc<AtomicBool>>>>),
}

/// The ranks of a notebook.
pub struct NotebookRanks {
    group: SharedAgreement,
    connection: Connection,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The address by which other machines reach this one, as far as the routes say.
fn own_address() -> Option<IpAddr> {
    // Nothing is sent: the system chooses the address of the route to a documentation address.
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
    socket.connect((Ipv4Addr::new(192, 0, 2, 1), 9)).ok()?;
    socket.local_addr().ok().map(|a| a.ip())
}

/// Whether the launcher says that all ranks are on this machine.
fn on_one_machine(size: usize) -> bool {
    let local = ["MPI_LOCALNRANKS", "OMPI_COMM_WORLD_LOCAL_SIZE"].into_iter().find_map(|n| std::env::var(n).ok());
    local.and_then(|n| n.parse().ok()) == Some(size)
}

pub fn random_secret() -> Result<[u8; SECRET_BYTES], Error> {
    let mut secret = [0; SECRET_BYTES];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut secret)?;
    Ok(secret)
}

impl NotebookRanks {
    /// Connects rank 0 to the others. All ranks call it together.
    ///
    /// # Errors
    /// They do not reach each other.
    pub fn connect(group: &SharedAgreement) -> Result<NotebookRanks, String> {
        let (rank, size) = group.borrow().place();
        let mut listener = None;
        let message = group.borrow_mut().from_first("the connection of the ranks", || {
            let local = on_one_machine(size);
            let at = if local { Ipv4Addr::LOCALHOST } else { Ipv4Addr::UNSPECIFIED };
            let opened = TcpListener::bind((at, 0)).and_then(|l| Ok((l.local_addr()?.port(), random_secret()?, l)));
            let (port, secret, l) = opened.map_err(|e| format!("no port can be opened for the other ranks: {e}"))?;
            listener = Some(l);
            let address = if local { None } else { own_address() };
            Ok([&secret[..], &port.to_le_bytes(), address.map_or(String::new(), |a| a.to_string()).as_bytes()].concat())
        })?;
        let opened = match listener {
            Some(l) => accept(&l, &message, size - 1).map(|all| Connection::First(Arc::new(Mutex::new(all)))),
            None => call(&message).and_then(listen),
        };
        let failure = opened.as_ref().err().map_or(String::new(), |e| format!("rank {rank}: {e}"));
        let all = group.borrow_mut().meet("the connection of the ranks", failure.as_bytes())?;
        match (opened, all.iter().find(|f| !f.is_empty())) {
            (Ok(connection), None) => Ok(NotebookRanks { group: group.clone(), connection }),
            (_, failed) => {
                let why = failed.map_or_else(|| failure, |f| String::from_utf8_lossy(f).into_owned());
                Err(format!("the ranks of the notebook do not reach each other: {why}"))
            }
        }
    }

    /// Sends the end of the run to the other ranks, from rank 0.
    pub fn end_all(&self) {
        if let Connection::First(sockets) = &self.connection {
            send(&mut lock(sockets), &[END]);
        }
    }
}

/// Sends bytes to all. A rank that is gone ends the run by its launcher.
fn send(sockets: &mut [TcpStream], bytes: &[u8]) {
    sockets.iter_mut().for_each(|s| drop(s.write_all(bytes)));
}

/// The connections of so many ranks, which know the secret.
fn accept(listener: &TcpListener, message: &[u8], others: usize) -> Result<Vec<TcpStream>, Error> {
    let (ours, theirs) = message[..SECRET_BYTES].split_at(SECRET_BYTES / 2);
    listener.set_nonblocking(true)?;
    let (mut found, since) = (Vec::new(), Instant::now());
    while found.len() < others {
        let greeted = listener.accept().and_then(|(s, _)| greet(s, (ours, theirs)));
        match greeted {
            Ok(socket) => found.push(socket),
            Err(_) if since.elapsed() < CONNECT_TIMEOUT => std::thread::sleep(POLL_INTERVAL),
            Err(e) => return Err(e),
        }
    }
    Ok(found)
}

/// Exchanges both halves of the secret.
fn greet(mut socket: TcpStream, (ours, theirs): (&[u8], &[u8])) -> Result<TcpStream, Error> {
    socket.set_nonblocking(false)?;
    socket.set_read_timeout(Some(CONNECT_TIMEOUT / 4))?;
    socket.set_nodelay(true)?;
    socket.write_all(ours)?;
    let mut said = vec![0; theirs.len()];
    socket.read_exact(&mut said)?;
    if said != theirs {
        return Err(Error::other("another program answers"));
    }
    socket.set_read_timeout(None)?;
    Ok(socket)
}

/// Connects to rank 0.
fn call(message: &[u8]) -> Result<TcpStream, Error> {
    let broken = || Error::other("rank 0 has sent no address");
    let (secret, rest) = message.split_at_checked(SECRET_BYTES).ok_or_else(broken)?;
    let (port, address) = rest.split_first_chunk::<2>().ok_or_else(broken)?;
    let (theirs, ours) = secret.split_at(SECRET_BYTES / 2);
    let named = std::str::from_utf8(address).ok().and_then(|a| a.parse::<IpAddr>().ok());
    let mut failed = broken();
    for ip in named.into_iter().chain([Ipv4Addr::LOCALHOST.into()]) {
        let at = (ip, u16::from_le_bytes(*port)).into();
        match TcpStream::connect_timeout(&at, CONNECT_TIMEOUT / 4).and_then(|s| greet(s, (ours, theirs))) {
            Ok(socket) => return Ok(socket),
            Err(e) => failed = e,
        }
    }
    Err(failed)
}

/// Starts the thread that hears rank 0.
fn listen(mut socket: TcpStream) -> Result<Connection, Error> {
    let (entries, received) = channel();
    let flag = Arc::new(Mutex::new(None));
    let own = flag.clone();
    std::thread::Builder::new().spawn(move || {
        if hear(&mut socket, &entries, &own).is_err() {
            // Rank 0 is gone without an end, and this rank may be waiting for it. The launcher ends this one first, mostly.
            std::thread::sleep(crate::ranks::GRACE);
            std::process::exit(1);
        }
    })?;
    Ok(Connection::Other(received, flag))
}

/// Passes on what rank 0 sends, up to the end.
fn hear(socket: &mut TcpStream, entries: &Sender<String>, flag: &Mutex<Option<Arc<AtomicBool>>>) -> Result<(), Error> {
    let interrupted = |on: bool| {
        if let Some(flag) = &*lock(flag) {
            flag.store(on, Ordering::Relaxed);
        }
    };
    loop {
        let mut kind = [0];
        socket.read_exact(&mut kind)?;
        match kind[0] {
            INTERRUPT => interrupted(true),
            ENTRY => {
                let mut length = [0; 8];
                socket.read_exact(&mut length)?;
                let mut text = String::new();
                socket.take(u64::from_le_bytes(length)).read_to_string(&mut text)?;
                // An interrupt that comes after this one's beginning is its own.
                interrupted(false);
                if entries.send(text).is_err() {
                    return Ok(());
                }
            }
            _ => return Ok(()),
        }
    }
}

impl CellRanks for NotebookRanks {
    fn broadcast(&self, entry: &str) {
        if let Connection::First(sockets) = &self.connection {
            let length = (entry.len() as u64).to_le_bytes();
            send(&mut lock(sockets), &[&[ENTRY][..], &length, entry.as_bytes()].concat());
        }
    }

    fn next(&self) -> Option<String> {
        match &self.connection {
            Connection::First(_) => None,
            Connection::Other(entries, _) => entries.recv().ok(),
        }
    }

    fn end(&self, failure: Option<&str>) -> Option<RankFailure> {
        let (_, size) = self.group.borrow().place();
        let first = self.group.borrow_mut().end_entry(failure)?;
        Some(RankFailure { rank: first.0, size, failure: first.1 })
    }

    fn share_interrupts(&self, flag: &Arc<AtomicBool>) {
        match &self.connection {
            Connection::Other(_, own) => *lock(own) = Some(flag.clone()),
            Connection::First(sockets) => {
                let (sockets, flag) = (sockets.clone(), Arc::downgrade(flag));
                let mut sent = false;
                let step = move || {
                    let flag = flag.upgrade()?;
                    // With the lock, so that it does not reach the next entry.
                    let mut sockets = lock(&sockets);
                    let now = flag.load(Ordering::Relaxed);
                    if now && !sent {
                        send(&mut sockets, &[INTERRUPT]);
                    }
                    sent = now;
                    Some(POLL_INTERVAL)
                };
                // Without a thread only rank 0 is interrupted.
                let _ = fault::helper("adl-interrupts", step, || {});
            }
        }
    }
}
