//! Kernels and copies as they were started once, to be started again on other arrays of the same shapes without writing their text.
//!
//! While a tape is recorded it holds what is allocated, so that no memory stands for two arrays. Whoever plays it makes sure that all that decides
//! which kernels there are is as it was: shapes, numbers that the host knows, and which arrays share memory.

use crate::array::Array;
use crate::error::{Fault, Res, not_here};
use crate::memory::Buffer;
use crate::queue::{Bound, Gpu, Kernel, Pipeline};
use std::collections::HashMap;
use std::rc::Rc;

/// Bytes that are allocated while a tape is recorded, at most: they are all held until its end.
const BYTES: u64 = 1 << 26;

/// Bytes that the host sends and that a tape keeps, at most.
const SENT: u64 = 1 << 16;

/// Kernels and copies of one tape, at most.
const STEPS: usize = 8192;

/// Memory of a tape: what it is given, what is allocated each time, and what was sent when it was recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    Given(usize),
    Made(usize),
    Kept(usize),
}

enum Step {
    Launch { pipeline: Rc<Pipeline>, faults: Rc<[Fault]>, arrays: Vec<(Place, u64, u64)>, words: Vec<u32>, groups: u32 },
    Copy { from: (Place, u64), to: (Place, u64), bytes: u64 },
}

/// What is being recorded.
#[derive(Default)]
pub(crate) struct Recording {
    places: HashMap<usize, Place>,
    made: Vec<(Buffer, u64)>,
    kept: Vec<Buffer>,
    steps: Vec<Step>,
    bytes: u64,
    sent: u64,
}

/// What was recorded.
pub(crate) struct Tape {
    /// Bytes of what is allocated.
    made: Vec<u64>,
    kept: Vec<Buffer>,
    steps: Vec<Step>,
    /// What is not read after each step.
    dies: Vec<Vec<usize>>,
}

impl std::fmt::Debug for Tape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} steps", self.steps.len())
    }
}

impl Recording {
    fn of(given: &[Array]) -> Recording {
        let mut r = Recording::default();
        for (k, a) in given.iter().enumerate() {
            r.places.entry(a.buffer.id()).or_insert(Place::Given(k));
        }
        r
    }

    /// Whether there is room for so much more.
    pub fn alloc(&mut self, b: &Buffer, bytes: u64) -> bool {
        self.bytes += b.size();
        if self.bytes > BYTES {
            return false;
        }
        b.tape(true);
        self.places.insert(b.id(), Place::Made(self.made.len()));
        self.made.push((b.clone(), bytes));
        true
    }

    /// What was allocated last is written by the host.
    pub fn sent(&mut self, b: &Buffer) -> bool {
        self.sent += b.size();
        if self.sent > SENT || self.made.pop().is_none() {
            return false;
        }
        // It is never alone, so that it is not changed.
        b.tape(false);
        self.places.insert(b.id(), Place::Kept(self.kept.len()));
        self.kept.push(b.clone());
        true
    }

    fn place(&self, b: &Buffer, writes: bool) -> Option<Place> {
        self.places.get(&b.id()).copied().filter(|p| !writes || matches!(p, Place::Made(_)))
    }

    pub fn launch(&mut self, pipeline: &Rc<Pipeline>, k: &Kernel, arrays: &[Bound], words: &[u32], groups: u32) -> bool {
        let places = arrays.iter().zip(&k.writes).map(|(a, w)| self.place(&a.buffer, *w).map(|p| (p, a.offset, a.size))).collect::<Option<Vec<_>>>();
        let Some(arrays) = places else { return false };
        self.steps.push(Step::Launch { pipeline: pipeline.clone(), faults: k.faults.clone().into(), arrays, words: words.to_vec(), groups });
        self.steps.len() <= STEPS
    }

    pub fn copy(&mut self, (from, at): (&Buffer, u64), (to, place): (&Buffer, u64), bytes: u64) -> bool {
        let (Some(from), Some(to)) = (self.place(from, false), self.place(to, true)) else { return false };
        self.steps.push(Step::Copy { from: (from, at), to: (to, place), bytes });
        self.steps.len() <= STEPS
    }

    /// The memory of an array.
    pub fn find(&self, a: &Array) -> Option<Place> {
        self.place(&a.buffer, false)
    }

    /// The tape, of which these places are results.
    fn finish(mut self, results: &[Place]) -> Tape {
        let mut last: HashMap<usize, usize> = HashMap::new();
        for (k, s) in self.steps.iter().enumerate() {
            let mut see = |p: &Place| {
                if let Place::Made(m) = p {
                    last.insert(*m, k);
                }
            };
            match s {
                Step::Launch { arrays, .. } => arrays.iter().for_each(|(p, ..)| see(p)),
                Step::Copy { from, to, .. } => [from, to].iter().for_each(|(p, _)| see(p)),
            }
        }
        let mut dies = vec![Vec::new(); self.steps.len()];
        for (m, k) in last {
            if !results.contains(&Place::Made(m)) {
                dies[k].push(m);
            }
        }
        Tape { made: self.made.iter().map(|(_, bytes)| *bytes).collect(), kept: std::mem::take(&mut self.kept), steps: std::mem::take(&mut self.steps), dies }
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        self.made.iter().for_each(|(b, _)| b.tape(false));
    }
}

impl Gpu {
    /// Begins to record, if nothing is being recorded.
    pub(crate) fn record(&self, given: &[Array]) -> bool {
        let mut r = self.recording().borrow_mut();
        if r.is_some() {
            return false;
        }
        *r = Some(Recording::of(given));
        true
    }

    /// Ends it: the tape, if all could be recorded, where `results` says where the results are.
    pub(crate) fn recorded<T>(&self, results: impl FnOnce(&Recording, &mut Vec<Place>) -> Option<T>) -> Option<(Tape, T)> {
        let r = self.recording().borrow_mut().take()?;
        let mut places = Vec::new();
        let made = results(&r, &mut places)?;
        Some((r.finish(&places), made))
    }

    /// Starts all again: what was allocated and is a result.
    pub(crate) fn play(&self, t: &Tape, given: &[Array]) -> Res<Made> {
        let mut made = Made { buffers: vec![None; t.made.len()], kept: t.kept.clone() };
        let mut bound = Vec::new();
        for (s, dies) in t.steps.iter().zip(&t.dies) {
            match s {
                Step::Launch { pipeline, faults, arrays, words, groups } => {
                    bound.clear();
                    for (p, offset, size) in arrays {
                        bound.push(Bound { buffer: made.buffer(self, t, *p, given)?, offset: *offset, size: *size });
                    }
                    self.start(pipeline, faults, &bound, words, *groups)?;
                }
                Step::Copy { from, to, bytes } => {
                    let (a, b) = (made.buffer(self, t, from.0, given)?, made.buffer(self, t, to.0, given)?);
                    self.copy_into(&a, from.1, &b, to.1, *bytes)?;
                }
            }
            for m in dies {
                made.buffers[*m] = None;
            }
        }
        Ok(made)
    }
}

/// What a tape made when it was played.
pub(crate) struct Made {
    buffers: Vec<Option<Buffer>>,
    kept: Vec<Buffer>,
}

impl Made {
    /// The memory of a place.
    fn buffer(&mut self, gpu: &Gpu, t: &Tape, p: Place, given: &[Array]) -> Res<Buffer> {
        match p {
            Place::Given(k) => Ok(given[k].buffer.clone()),
            Place::Kept(k) => Ok(self.kept[k].clone()),
            Place::Made(m) => match &self.buffers[m] {
                Some(b) => Ok(b.clone()),
                None => {
                    let b = gpu.alloc(t.made[m])?;
                    self.buffers[m] = Some(b.clone());
                    Ok(b)
                }
            },
        }
    }

    /// The memory of a result; what no kernel wrote has not been allocated yet.
    pub fn result(&mut self, gpu: &Gpu, t: &Tape, p: Place, given: &[Array]) -> Res<Buffer> {
        if matches!(p, Place::Given(k) if k >= given.len()) {
            return not_here("an array that was not given");
        }
        self.buffer(gpu, t, p, given)
    }
}
