//! Exchanges of bytes among all ranks.

use crate::find::{Launcher, candidates};
#[cfg(unix)]
use crate::limits::{FRAME, ROUND};
#[cfg(unix)]
use std::path::Path;

#[cfg(unix)]
use crate::abi::{Mpi, Parts, open};

/// Bytes of a frame's head: the length of the contribution.
#[cfg(unix)]
const HEAD: usize = 8;

/// All ranks of a run, among them this one.
#[cfg(unix)]
pub struct Communicator {
    mpi: Box<dyn Mpi>,
    rank: usize,
    size: usize,
}

#[cfg(unix)]
impl Communicator {
    /// Opens the first library that can be opened, and joins the other ranks. A process does so once.
    ///
    /// # Errors
    /// No library can be opened: what was tried, and why each failed. Or the library does not understand the launcher.
    pub fn open(launcher: Option<&Launcher>) -> Result<Communicator, String> {
        let mut tried = Vec::new();
        for path in candidates(launcher) {
            match open(&path) {
                Ok(mpi) => return Communicator::joined(mpi, &path, launcher),
                Err(why) => tried.push(format!("{}: {why}", path.display())),
            }
        }
        Err(format!("no MPI library can be opened; tried\n  {}", tried.join("\n  ")))
    }

    fn joined(mpi: Box<dyn Mpi>, path: &Path, launcher: Option<&Launcher>) -> Result<Communicator, String> {
        let (rank, size) = mpi.place()?;
        if let Some((l, n)) = launcher.and_then(|l| Some((l, l.size?))).filter(|(_, n)| *n != size) {
            return Err(format!(
                "the launcher ({}) has started {n} ranks, and {} sees {size}: it belongs to another MPI",
                l.variable,
                path.display()
            ));
        }
        Ok(Communicator { mpi, rank, size })
    }

    /// This rank, from 0.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// The number of ranks.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Every rank's bytes, in the order of the ranks. All ranks call it together.
    ///
    /// # Errors
    /// MPI's text.
    pub fn all_gather(&self, mine: &[u8]) -> Result<Vec<Vec<u8>>, String> {
        let mut frame = [0; FRAME];
        let short = mine.len().min(FRAME - HEAD);
        frame[..HEAD].copy_from_slice(&(mine.len() as u64).to_le_bytes());
        frame[HEAD..HEAD + short].copy_from_slice(&mine[..short]);
        let mut all = vec![0; FRAME * self.size];
        self.mpi.all_gather(&frame, &mut all)?;
        let frames: Vec<&[u8]> = all.chunks_exact(FRAME).collect();
        let lengths: Vec<usize> = frames.iter().map(|f| number(f)).collect();
        let starts = frames.iter().zip(&lengths).map(|(f, n)| f[HEAD..HEAD + (*n).min(FRAME - HEAD)].to_vec());
        let mut out: Vec<Vec<u8>> = starts.collect();
        // What did not fit follows in rounds.
        let most = ROUND / self.size;
        while let Some(left) = remaining(&lengths, &out, most) {
            let done = out[self.rank].len();
            let parts = Parts::new(&left);
            let mut more = vec![0; parts.total];
            self.mpi.all_gather_v(&mine[done..done + left[self.rank]], &mut more, &parts)?;
            append(&mut out, &left, &more);
        }
        Ok(out)
    }

    /// Sends `parts[r]` to rank `r`, and returns what each rank has sent to this one. All ranks call it together, with
    /// one part for each rank.
    ///
    /// # Errors
    /// MPI's text.
    pub fn all_to_all(&self, parts: &[Vec<u8>]) -> Result<Vec<Vec<u8>>, String> {
        let mine: Vec<u8> = parts.iter().flat_map(|p| (p.len() as u64).to_le_bytes()).collect();
        // `lengths[r][s]`: how many bytes rank r sends to rank s.
        let lengths: Vec<Vec<usize>> =
            self.all_gather(&mine)?.iter().map(|row| row.chunks_exact(HEAD).map(number).collect()).collect();
        let longest = lengths.iter().flatten().copied().max().unwrap_or(0);
        let most = ROUND / self.size;
        let mut out = vec![Vec::new(); self.size];
        for start in (0..longest).step_by(most) {
            let now = |n: usize| n.saturating_sub(start).min(most);
            let sent: Vec<usize> = parts.iter().map(|p| now(p.len())).collect();
            let received: Vec<usize> = lengths.iter().map(|row| now(row[self.rank])).collect();
            let pieces = parts.iter().zip(&sent).map(|(p, n)| &p[start.min(p.len())..][..*n]);
            let bytes: Vec<u8> = pieces.collect::<Vec<_>>().concat();
            let (from, to) = (Parts::new(&sent), Parts::new(&received));
            let mut more = vec![0; to.total];
            self.mpi.all_to_all((&bytes, &from), (&mut more, &to))?;
            append(&mut out, &received, &more);
        }
        Ok(out)
    }

    /// Ends all ranks with an exit code.
    pub fn abort(&self, code: i32) {
        self.mpi.abort(code);
    }

    /// Leaves the other ranks, at the end of the process.
    pub fn finish(self) {
        self.mpi.finalize();
    }
}

/// The number at the beginning of some bytes.
fn number(bytes: &[u8]) -> usize {
    bytes.first_chunk::<HEAD>().map_or(0, |head| u64::from_le_bytes(*head) as usize)
}

/// How many bytes of each contribution come next; `None` if all have come.
fn remaining(lengths: &[usize], out: &[Vec<u8>], most: usize) -> Option<Vec<usize>> {
    let left: Vec<usize> = lengths.iter().zip(out).map(|(n, o)| (n - o.len()).min(most)).collect();
    left.iter().any(|n| *n > 0).then_some(left)
}

/// Appends the parts of `more`, of these lengths, to `out`.
fn append(out: &mut [Vec<u8>], lengths: &[usize], more: &[u8]) {
    let mut rest = more;
    for (o, n) in out.iter_mut().zip(lengths) {
        let (part, after) = rest.split_at(*n);
        o.extend_from_slice(part);
        rest = after;
    }
}

/// MPI is opened on Unix only.
#[cfg(not(unix))]
pub struct World(std::convert::Infallible);

#[cfg(not(unix))]
#[allow(missing_docs)]
impl Communicator {
    pub fn open(launcher: Option<&Launcher>) -> Result<Communicator, String> {
        let tried: Vec<String> = candidates(launcher).iter().map(|p| p.display().to_string()).collect();
        Err(format!("MPI is opened on Unix only, not as {}", tried.join(", ")))
    }
    pub fn rank(&self) -> usize {
        match self.0 {}
    }
    pub fn size(&self) -> usize {
        match self.0 {}
    }
    pub fn all_gather(&self, _: &[u8]) -> Result<Vec<Vec<u8>>, String> {
        match self.0 {}
    }
    pub fn all_to_all(&self, _: &[Vec<u8>]) -> Result<Vec<Vec<u8>>, String> {
        match self.0 {}
    }
    pub fn abort(&self, _: i32) {
        match self.0 {}
    }
    pub fn finish(self) {
        match self.0 {}
    }
}
