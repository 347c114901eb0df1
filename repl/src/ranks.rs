//! Runs on several ranks, under a launcher of MPI: the host that all ranks share, and how a run ends.
//!
//! Rank 0 prints, reads files and standard input, and tells the other ranks what it has read. All operations of a run are
//! numbered, and each message carries its number and name, so that ranks at different operations are an error and do not
//! wait for each other.

use crate::Global;
use crate::host::Terminal;
use crate::rank_watch;
use adl_interp::host::{Format, Host, Ranks};
use adl_interp::value::{Value, show};
use adl_mpi::Communicator;
use adl_session::Session;
use adl_syntax::diag::Diagnostic;
use adl_syntax::span::Span;
use std::cell::RefCell;
use std::process::Command;
use std::rc::Rc;
use std::time::Duration;

/// How long another rank than 0 waits before it reports an error: rank 0, which mostly has the same one, ends the run
/// in the meantime.
pub const GRACE: Duration = Duration::from_millis(300);

/// How long a rank that has reported an error waits before it ends the others: the launcher must have read what it wrote.
const FORWARDED: Duration = Duration::from_millis(100);

/// What the ranks of a run agree on.
pub struct Agreement {
    world: Option<Communicator>,
    rank: usize,
    size: usize,
    /// The number of the next operation.
    step: u64,
    /// The operation in progress, or the last one.
    at: String,
    /// What is wrong, once the ranks have found themselves at different operations.
    apart: Option<String>,
    /// Whether all ranks print.
    all_print: bool,
    /// Whether the values of definitions are compared.
    compares: bool,
    /// How many messages the program has sent, and the bytes that this rank has given.
    sent: (u64, u64),
}

/// The agreement, which the host and the end of the run use.
pub type SharedAgreement = Rc<RefCell<Agreement>>;

/// Joins the other ranks if a launcher has started this process.
///
/// # Errors
/// No MPI can be opened.
pub fn join(global: &Global) -> Result<Option<SharedAgreement>, String> {
    let Some(launcher) = adl_mpi::launcher() else { return Ok(None) };
    rank_watch::begin(&launcher);
    let world = Communicator::open(Some(&launcher))
        .map_err(|why| format!("started by a launcher ({}): {why}", launcher.variable))?;
    let (rank, size) = (world.rank(), world.size());
    let agreement = Agreement {
        world: Some(world),
        rank,
        size,
        step: 0,
        at: String::new(),
        apart: None,
        all_print: global.all_ranks,
        compares: global.check_ranks,
        sent: (0, 0),
    };
    Ok(Some(Rc::new(RefCell::new(agreement))))
}

/// Starts this command again under `mpiexec`, without the flag `--ranks`. Returns only if that fails.
pub fn launch(words: &[String], ranks: u32) -> String {
    let Some(mpiexec) = adl_mpi::find::mpiexec() else {
        return "`--ranks` needs a launcher: expected `mpiexec` on the path, found none (MPICH and Open MPI have it, and \
                so has `pip install mpich`)"
            .to_owned();
    };
    let own = match crate::command() {
        Ok(own) => own,
        Err(e) => return format!("this program cannot be started again: {e}"),
    };
    let mut command = Command::new(mpiexec);
    // More ranks than cores are fine: the user has asked for them.
    command.env("OMPI_MCA_rmaps_base_oversubscribe", "1");
    if let Some(socket) = rank_watch::start(words) {
        command.env(rank_watch::SOCKET, socket);
    }
    command.args(["-n", &ranks.to_string()]).args(own).args(without_ranks(words));
    replace(command)
}

/// Replaces this process, so that a signal reaches the launcher.
#[cfg(unix)]
fn replace(mut command: Command) -> String {
    use std::os::unix::process::CommandExt;
    format!("`mpiexec` cannot be started: {}", command.exec())
}

#[cfg(not(unix))]
fn replace(_: Command) -> String {
    "`--ranks` works on Unix only".to_owned()
}

/// The words of a command line without `--ranks N` or `--ranks=N`.
pub fn without_ranks(words: &[String]) -> Vec<String> {
    let (mut out, mut skip) = (Vec::new(), false);
    for w in words {
        if !std::mem::take(&mut skip) {
            skip = w == "--ranks";
            if !skip && !w.starts_with("--ranks=") {
                out.push(w.clone());
            }
        }
    }
    out
}

impl Agreement {
    /// Whether this is rank 0.
    pub fn is_first(&self) -> bool {
        self.rank == 0
    }

    /// What the program has sent, as a line for `--derivation`.
    pub fn sent(&self, json: bool) -> String {
        let (messages, bytes) = self.sent;
        match json {
            true => format!("{{\"messages\":{messages},\"bytes\":{bytes}}}"),
            false => format!("messages: {messages} of {} ranks; {bytes} bytes from rank {}", self.size, self.rank),
        }
    }

    /// The first bytes of a message: the number and the name of the operation.
    fn head(step: u64, what: &str) -> Vec<u8> {
        let name = &what.as_bytes()[..what.len().min(usize::from(u8::MAX))];
        [&step.to_le_bytes()[..], &[name.len() as u8], name].concat()
    }

    /// This rank, and the number of ranks.
    pub fn place(&self) -> (usize, usize) {
        (self.rank, self.size)
    }

    /// Ends an entry of a notebook on all ranks, with the failure of this one. Ranks that are at an operation get an error
    /// there, and come here. Returns the first rank that has failed by itself, with its failure.
    pub fn end_entry(&mut self, failure: Option<&str>) -> Option<(usize, String)> {
        let by_itself = failure.filter(|_| self.apart.is_none());
        let head = Agreement::head(u64::MAX, "the end of the cell");
        let own = [&head, &[u8::from(by_itself.is_some())][..], by_itself.unwrap_or("").as_bytes()].concat();
        let all = loop {
            // Without the other ranks the launcher ends this one.
            let all = self.world.as_ref()?.all_gather(&own).ok()?;
            if all.iter().all(|m| m.starts_with(&head)) {
                break all;
            }
        };
        (self.step, self.apart) = (0, None);
        let failed = |m: &Vec<u8>| m.get(head.len()) == Some(&1);
        let rank = all.iter().position(failed)?;
        Some((rank, String::from_utf8_lossy(&all[rank][head.len() + 1..]).into_owned()))
    }

    /// Leaves the other ranks, at the end of the process.
    pub fn leave(&mut self) {
        if let Some(world) = self.world.take() {
            world.finish();
        }
    }

    /// Every rank's bytes, if all are at this operation.
    pub fn meet(&mut self, what: &str, bytes: &[u8]) -> Result<Vec<Vec<u8>>, String> {
        if let Some(why) = &self.apart {
            return Err(why.clone());
        }
        let Some(world) = &self.world else { return Err("the ranks have parted".to_owned()) };
        let head = Agreement::head(self.step, what);
        let all = world.all_gather(&[&head, bytes].concat()).map_err(|why| format!("`{what}`: {why}"))?;
        self.at = what.to_owned();
        self.step += 1;
        if let Some(other) = all.iter().find(|m| !m.starts_with(&head)) {
            let named = |m: &[u8]| {
                let end = 9 + m.get(8).map_or(0, |n| usize::from(*n));
                String::from_utf8_lossy(m.get(9..end).unwrap_or_default()).into_owned()
            };
            let rank = all.iter().position(|m| m == other).unwrap_or(0);
            let first = all.iter().position(|m| named(m) != named(other)).unwrap_or(0);
            let why = format!(
                "the ranks are at different operations: rank {} at {}, rank {} at {}",
                first.min(rank),
                named(&all[first.min(rank)]),
                first.max(rank),
                named(&all[first.max(rank)])
            );
            self.apart = Some(why.clone());
            return Err(why);
        }
        Ok(all.into_iter().map(|m| m[head.len()..].to_vec()).collect())
    }

    /// What rank 0 finds, on all ranks.
    pub fn from_first(
        &mut self,
        what: &str,
        find: impl FnOnce() -> Result<Vec<u8>, String>,
    ) -> Result<Vec<u8>, String> {
        let own = match self.rank {
            0 => match find() {
                Ok(bytes) => [&[1], bytes.as_slice()].concat(),
                Err(why) => [&[0], why.as_bytes()].concat(),
            },
            _ => Vec::new(),
        };
        let all = self.meet(what, &own)?;
        match all.first().and_then(|m| m.split_first()) {
            Some((1, bytes)) => Ok(bytes.to_vec()),
            Some((_, why)) => Err(String::from_utf8_lossy(why).into_owned()),
            None => Err("rank 0 has sent nothing".to_owned()),
        }
    }
}

impl Ranks for Agreement {
    fn rank(&self) -> usize {
        self.rank
    }
    fn size(&self) -> usize {
        self.size
    }
    fn all_gather(&mut self, what: &str, bytes: &[u8]) -> Result<Vec<Vec<u8>>, String> {
        self.meet(what, bytes)
    }
    fn all_to_all(&mut self, parts: &[Vec<u8>]) -> Result<Vec<Vec<u8>>, String> {
        match &self.world {
            Some(world) => world.all_to_all(parts).map_err(|why| format!("`{}`: {why}", self.at)),
            None => Err("the ranks have parted".to_owned()),
        }
    }
    fn count(&mut self, bytes: usize) {
        self.sent.0 += 1;
        self.sent.1 += bytes as u64;
    }
}

/// What must be equal on all ranks, with its name: other builds, processors, plans and devices round differently.
fn common(global: &Global, device: &str) -> [(&'static str, String); 5] {
    [
        ("the version of adl", env!("CARGO_PKG_VERSION").to_owned()),
        ("the processor", processor()),
        ("--ad", global.ad.clone()),
        ("--plan", global.plan.clone()),
        ("--device", device.to_owned()),
    ]
}

/// The kind of processor, with the vector features by which decompositions choose their products.
fn processor() -> String {
    #[cfg(target_arch = "x86_64")]
    let features = [
        ("avx", std::arch::is_x86_feature_detected!("avx")),
        ("avx2", std::arch::is_x86_feature_detected!("avx2")),
        ("fma", std::arch::is_x86_feature_detected!("fma")),
        ("avx512f", std::arch::is_x86_feature_detected!("avx512f")),
    ];
    #[cfg(not(target_arch = "x86_64"))]
    let features: [(&str, bool); 0] = [];
    let found = features.into_iter().filter(|f| f.1).map(|f| format!(" {}", f.0));
    std::iter::once(std::env::consts::ARCH.to_owned()).chain(found).collect()
}

/// Requires that all ranks compute alike. `device`: the device of this rank.
///
/// # Errors
/// What differs, and on which ranks.
pub fn agree(group: &SharedAgreement, global: &Global, device: &str) -> Result<(), Box<Diagnostic>> {
    let failed = |why: String| Box::new(Diagnostic::error(adl_interp::error::codes::RANKS, Span::NOWHERE, why));
    if global.device == "auto" && group.borrow().size > 1 {
        let why = "`--device auto` lets each rank choose by what it measures, and a GPU rounds differently";
        return Err(Box::new(failed(why.to_owned()).hint("write `--device cpu` or `--device gpu`")));
    }
    let own = common(global, device);
    let text: Vec<&str> = own.iter().map(|(_, value)| value.as_str()).collect();
    let all = group.borrow_mut().meet("the start of the program", text.join("\n").as_bytes()).map_err(failed)?;
    match difference(&own.map(|(name, _)| name), &all) {
        Some(why) => Err(Box::new(
            failed(why)
                .hint("results would differ in bits: start all ranks with the same flags, on processors of one kind"),
        )),
        None => Ok(()),
    }
}

/// The first line in which the texts of ranks differ.
pub fn difference(names: &[&str], all: &[Vec<u8>]) -> Option<String> {
    let texts: Vec<_> = all.iter().map(|m| String::from_utf8_lossy(m)).collect();
    let line = |rank: usize, k: usize| texts[rank].lines().nth(k).unwrap_or_default();
    names.iter().enumerate().find_map(|(k, name)| {
        let other = (1..texts.len()).find(|r| line(*r, k) != line(0, k))?;
        Some(format!("{name} differs between ranks: {} on rank 0, {} on rank {other}", line(0, k), line(other, k)))
    })
}

/// A file that rank 0 reads for all.
pub fn read_first(
    group: &SharedAgreement,
    file: &str,
    read: impl FnOnce() -> Result<Vec<u8>, String>,
) -> Result<Vec<u8>, String> {
    group.borrow_mut().from_first(&format!("reading {file}"), read)
}

/// The host of one rank of several.
pub struct RankedHost {
    inner: Box<dyn Host>,
    group: RankedGroup,
    /// Whether this rank reads and writes for itself.
    alone: bool,
    /// Whether the next text begins a line.
    line_begins: bool,
}

/// The agreement as the evaluator borrows it.
struct RankedGroup(SharedAgreement, usize, usize);

impl Ranks for RankedGroup {
    fn rank(&self) -> usize {
        self.1
    }
    fn size(&self) -> usize {
        self.2
    }
    fn all_gather(&mut self, what: &str, bytes: &[u8]) -> Result<Vec<Vec<u8>>, String> {
        self.0.borrow_mut().all_gather(what, bytes)
    }
    fn all_to_all(&mut self, parts: &[Vec<u8>]) -> Result<Vec<Vec<u8>>, String> {
        self.0.borrow_mut().all_to_all(parts)
    }
    fn compares(&self) -> bool {
        self.0.borrow().compares
    }
    fn count(&mut self, bytes: usize) {
        self.0.borrow_mut().count(bytes);
    }
}

impl RankedHost {
    /// The host of this rank, on its terminal.
    pub fn on_terminal(inner: Terminal, group: &SharedAgreement) -> RankedHost {
        let inner = inner.still(group.borrow().rank > 0);
        RankedHost::new(Box::new(inner), group)
    }

    /// What this rank has by itself, as the host of one of several.
    pub fn new(inner: Box<dyn Host>, group: &SharedAgreement) -> RankedHost {
        let (rank, size) = group.borrow().place();
        RankedHost { inner, group: RankedGroup(group.clone(), rank, size), alone: false, line_begins: true }
    }

    fn speaks(&self) -> bool {
        self.group.1 == 0 || self.group.0.borrow().all_print
    }

    /// The text with the rank before each line, if all ranks print.
    fn numbered(&mut self, text: &str) -> String {
        if !self.group.0.borrow().all_print {
            return text.to_owned();
        }
        let mut out = String::new();
        for line in text.split_inclusive('\n') {
            if self.line_begins {
                out.push_str(&format!("{}: ", self.group.1));
            }
            out.push_str(line);
            self.line_begins = line.ends_with('\n');
        }
        out
    }

    /// What rank 0 does for all, or this rank for itself.
    fn shared(
        &mut self,
        what: &str,
        run: impl FnOnce(&mut dyn Host) -> Result<Vec<u8>, String>,
    ) -> Result<Vec<u8>, String> {
        if self.alone {
            return run(&mut *self.inner);
        }
        let inner = &mut *self.inner;
        self.group.0.borrow_mut().from_first(what, || run(inner))
    }
}

/// An optional text as bytes.
fn packed(text: Option<String>) -> Vec<u8> {
    text.map_or(Vec::new(), |t| [b"+", t.as_bytes()].concat())
}

fn unpacked(bytes: &[u8]) -> Option<String> {
    bytes.split_first().map(|(_, text)| String::from_utf8_lossy(text).into_owned())
}

impl Host for RankedHost {
    fn print(&mut self, text: &str) {
        if self.speaks() {
            let text = self.numbered(text);
            self.inner.print(&text);
            // A rank that fails ends the others, with what they have not written yet.
            self.inner.flush();
        }
    }
    fn flush(&mut self) {
        self.inner.flush();
    }
    fn read(&mut self, path: &str) -> Result<Vec<u8>, String> {
        self.shared(&format!("reading {path}"), |t| t.read(path))
    }
    fn read_at(&mut self, path: &str, from: u64, len: usize) -> Result<Vec<u8>, String> {
        self.inner.read_at(path, from, len)
    }
    fn will_read(&mut self, path: &str, from: u64, len: u64) {
        self.inner.will_read(path, from, len);
    }
    fn length(&mut self, path: &str) -> Result<u64, String> {
        self.inner.length(path)
    }
    fn list(&mut self, path: &str) -> Option<Vec<String>> {
        self.inner.list(path)
    }
    fn size(&mut self, path: &str) -> usize {
        self.inner.size(path)
    }
    fn write(&mut self, path: &str, bytes: &[u8]) -> Result<(), String> {
        self.shared(&format!("writing {path}"), |t| t.write(path, bytes).map(|()| Vec::new())).map(drop)
    }
    fn identity(&mut self, path: &str) -> Option<String> {
        self.inner.identity(path)
    }
    fn input(&mut self, prompt: &str) -> Result<Option<String>, String> {
        self.shared("reading a line of input", |t| t.input(prompt).map(packed)).map(|b| unpacked(&b))
    }
    fn warn(&mut self, text: &str) {
        if self.speaks() {
            self.inner.warn(text);
        }
    }
    fn display(&mut self, value: &Value, slot: &str) {
        if self.group.0.borrow().all_print {
            self.print(&(show::show(value) + "\n"));
        } else if self.group.1 == 0 {
            self.inner.display(value, slot);
        }
    }
    fn args(&mut self) -> Vec<String> {
        self.inner.args()
    }
    fn env(&mut self, name: &str) -> Option<String> {
        let found = self.shared(&format!("env {name}"), |t| Ok(packed(t.env(name))));
        found.ok().and_then(|b| unpacked(&b))
    }
    fn kept(&mut self, name: &str) -> Option<Vec<u8>> {
        self.inner.kept(name)
    }
    fn keep(&mut self, name: &str, bytes: &[u8]) {
        if self.group.1 == 0 {
            self.inner.keep(name, bytes);
        }
    }
    fn time(&mut self) -> f64 {
        let now = self.shared("time", |t| Ok(t.time().to_le_bytes().to_vec()));
        now.ok().and_then(|b| b.first_chunk::<8>().map(|b| f64::from_le_bytes(*b))).unwrap_or(f64::NAN)
    }
    fn free_memory(&mut self) -> Option<u64> {
        self.inner.free_memory()
    }
    fn return_memory(&mut self) {
        self.inner.return_memory();
    }
    fn render(&mut self, value: &Value, format: Format) -> Result<Vec<u8>, String> {
        self.inner.render(value, format)
    }
    fn show(&mut self, value: &Value, live: bool) -> Result<(), String> {
        if self.group.1 == 0 { self.inner.show(value, live) } else { Ok(()) }
    }
    fn watch(&mut self, name: &str, y: f64) -> Result<(), String> {
        if self.group.1 == 0 { self.inner.watch(name, y) } else { Ok(()) }
    }
    fn ranks(&mut self) -> Option<&mut dyn Ranks> {
        Some(&mut self.group)
    }
    fn alone(&mut self, on: bool) {
        self.alone = on;
    }
    fn progress(&mut self, done: u64, total: u64) {
        self.inner.progress(done, total);
    }
}

/// Ends the run of this rank: `report` writes the errors. Returns the exit code.
pub fn end(
    group: &SharedAgreement,
    session: &mut Session,
    mut diags: Vec<Diagnostic>,
    code: u8,
    report: impl FnOnce(&mut Session, &[Diagnostic]),
) -> u8 {
    let (rank, size) = (group.borrow().rank, group.borrow().size);
    let mut code = code;
    if code == 0 {
        let met = group.borrow_mut().meet("the end of the program", &[]);
        if let Err(why) = met {
            diags.push(Diagnostic::error(adl_interp::error::codes::RANKS, Span::NOWHERE, why));
            code = 1;
        }
    }
    // Errors of types are found by all ranks, before anything is sent.
    let together = code == 0 || group.borrow().apart.is_some() || diags.iter().all(|d| !d.is_error() || is_static(d));
    if together {
        if rank == 0 {
            report(session, &diags);
        }
        group.borrow_mut().leave();
        return code;
    }
    if rank > 0 {
        std::thread::sleep(GRACE);
    }
    for d in diags.iter_mut().filter(|d| d.is_error()) {
        d.notes.push(format!("on rank {rank} of {size}"));
    }
    group.borrow_mut().all_print = true;
    report(session, &diags);
    std::thread::sleep(FORWARDED);
    rank_watch::end(code);
    if let Some(world) = &group.borrow().world {
        world.abort(i32::from(code));
    }
    code
}

/// Ends a run that has not begun, for a reason that all ranks know: rank 0 reports it. Returns the exit code.
pub fn end_without(group: &SharedAgreement, report: impl FnOnce() -> u8) -> u8 {
    let code = if group.borrow().is_first() { report() } else { 1 };
    group.borrow_mut().leave();
    code
}

/// Whether an error is found before anything runs.
fn is_static(d: &Diagnostic) -> bool {
    d.code.strip_prefix('E').and_then(|n| n.parse::<u32>().ok()).is_some_and(|n| n < 700)
}
