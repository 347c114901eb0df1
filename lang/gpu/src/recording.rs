//! A recorded command list: kernel launches and copies that can be replayed on other arrays of the same shapes, without
//! generating their text.
//!
//! A recording holds all memory allocated during it, so that no memory is assigned to two arrays. The caller of a
//! replay ensures that everything that determines the commands is unchanged: shapes, host scalars, and which arrays
//! share memory.

use crate::array::Array;
use crate::buffer_pool::Buffer;
use crate::error::{FailedCheck, Res, unsupported};
use crate::limits::recording::{BYTES, SENT, STEPS};
use crate::queue::{BoundArray, Gpu, Kernel, Pipeline};
use std::collections::HashMap;
use std::rc::Rc;

/// A buffer of a recording: an argument, an allocation that each replay repeats, or an upload that is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BufferRef {
    Given(usize),
    ReplayBuffers(usize),
    Kept(usize),
}

enum DeviceCommand {
    Launch {
        pipeline: Rc<Pipeline>,
        faults: Rc<[FailedCheck]>,
        arrays: Vec<(BufferRef, u64, u64)>,
        words: Vec<u32>,
        groups: u32,
    },
    Copy {
        from: (BufferRef, u64),
        to: (BufferRef, u64),
        bytes: u64,
    },
}

/// The current recording.
#[derive(Default)]
pub(crate) struct Recording {
    places: HashMap<usize, BufferRef>,
    made: Vec<(Buffer, u64)>,
    kept: Vec<Buffer>,
    steps: Vec<DeviceCommand>,
    bytes: u64,
    sent: u64,
}

/// A finished recording.
pub(crate) struct CommandList {
    /// The sizes in bytes of the allocations.
    made: Vec<u64>,
    kept: Vec<Buffer>,
    steps: Vec<DeviceCommand>,
    /// The allocations that are dead after each command.
    dies: Vec<Vec<usize>>,
}

impl std::fmt::Debug for CommandList {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} steps", self.steps.len())
    }
}

impl Recording {
    fn of(given: &[Array]) -> Recording {
        let mut r = Recording::default();
        for (k, a) in given.iter().enumerate() {
            r.places.entry(a.buffer.id()).or_insert(BufferRef::Given(k));
        }
        r
    }

    /// Records an allocation; false if the limit is exceeded.
    pub fn alloc(&mut self, b: &Buffer, bytes: u64) -> bool {
        self.bytes += b.size();
        if self.bytes > BYTES {
            return false;
        }
        b.tape(true);
        self.places.insert(b.id(), BufferRef::ReplayBuffers(self.made.len()));
        self.made.push((b.clone(), bytes));
        true
    }

    /// Records that the host writes the most recent allocation.
    pub fn sent(&mut self, b: &Buffer) -> bool {
        self.sent += b.size();
        if self.sent > SENT || self.made.pop().is_none() {
            return false;
        }
        // An additional reference remains, so that it is never updated in place.
        b.tape(false);
        self.places.insert(b.id(), BufferRef::Kept(self.kept.len()));
        self.kept.push(b.clone());
        true
    }

    fn place(&self, b: &Buffer, writes: bool) -> Option<BufferRef> {
        self.places.get(&b.id()).copied().filter(|p| !writes || matches!(p, BufferRef::ReplayBuffers(_)))
    }

    pub fn launch(
        &mut self,
        pipeline: &Rc<Pipeline>,
        kernel: &Kernel,
        arrays: &[BoundArray],
        words: &[u32],
        groups: u32,
    ) -> bool {
        let places = arrays
            .iter()
            .zip(&kernel.writes)
            .map(|(a, w)| self.place(&a.buffer, *w).map(|p| (p, a.offset, a.size)))
            .collect::<Option<Vec<_>>>();
        let Some(arrays) = places else { return false };
        self.steps.push(DeviceCommand::Launch {
            pipeline: pipeline.clone(),
            faults: kernel.faults.clone().into(),
            arrays,
            words: words.to_vec(),
            groups,
        });
        self.steps.len() <= STEPS
    }

    pub fn copy(&mut self, (from, at): (&Buffer, u64), (to, place): (&Buffer, u64), bytes: u64) -> bool {
        let (Some(from), Some(to)) = (self.place(from, false), self.place(to, true)) else { return false };
        self.steps.push(DeviceCommand::Copy { from: (from, at), to: (to, place), bytes });
        self.steps.len() <= STEPS
    }

    /// The buffer of an array in this recording.
    pub fn find(&self, a: &Array) -> Option<BufferRef> {
        self.place(&a.buffer, false)
    }

    /// Finishes the recording; `results` are its results.
    fn finish(mut self, results: &[BufferRef]) -> CommandList {
        let mut last: HashMap<usize, usize> = HashMap::new();
        for (k, s) in self.steps.iter().enumerate() {
            let mut see = |p: &BufferRef| {
                if let BufferRef::ReplayBuffers(m) = p {
                    last.insert(*m, k);
                }
            };
            match s {
                DeviceCommand::Launch { arrays, .. } => arrays.iter().for_each(|(p, ..)| see(p)),
                DeviceCommand::Copy { from, to, .. } => [from, to].iter().for_each(|(p, _)| see(p)),
            }
        }
        let mut dies = vec![Vec::new(); self.steps.len()];
        for (m, k) in last {
            if !results.contains(&BufferRef::ReplayBuffers(m)) {
                dies[k].push(m);
            }
        }
        CommandList {
            made: self.made.iter().map(|(_, bytes)| *bytes).collect(),
            kept: std::mem::take(&mut self.kept),
            steps: std::mem::take(&mut self.steps),
            dies,
        }
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        self.made.iter().for_each(|(b, _)| b.tape(false));
    }
}

impl Gpu {
    /// Starts a recording, unless one is in progress.
    pub(crate) fn record(&self, given: &[Array]) -> bool {
        let mut r = self.recording().borrow_mut();
        if r.is_some() {
            return false;
        }
        *r = Some(Recording::of(given));
        true
    }

    /// Ends the recording. Returns it if everything could be recorded and `results` could identify the result buffers.
    pub(crate) fn recorded<T>(
        &self,
        results: impl FnOnce(&Recording, &mut Vec<BufferRef>) -> Option<T>,
    ) -> Option<(CommandList, T)> {
        let r = self.recording().borrow_mut().take()?;
        let mut places = Vec::new();
        let made = results(&r, &mut places)?;
        Some((r.finish(&places), made))
    }

    /// Replays a recording. Returns the buffers that are results.
    pub(crate) fn replay_commands(&self, command_list: &CommandList, given: &[Array]) -> Res<ReplayBuffers> {
        let mut made = ReplayBuffers { buffers: vec![None; command_list.made.len()], kept: command_list.kept.clone() };
        let mut bound = Vec::new();
        for (s, dies) in command_list.steps.iter().zip(&command_list.dies) {
            match s {
                DeviceCommand::Launch { pipeline, faults, arrays, words, groups } => {
                    bound.clear();
                    for (p, offset, size) in arrays {
                        bound.push(BoundArray {
                            buffer: made.buffer(self, command_list, *p, given)?,
                            offset: *offset,
                            size: *size,
                        });
                    }
                    self.start(pipeline, faults, &bound, words, *groups)?;
                }
                DeviceCommand::Copy { from, to, bytes } => {
                    let (a, b) = (
                        made.buffer(self, command_list, from.0, given)?,
                        made.buffer(self, command_list, to.0, given)?,
                    );
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

/// The buffers of a replay.
pub(crate) struct ReplayBuffers {
    buffers: Vec<Option<Buffer>>,
    kept: Vec<Buffer>,
}

impl ReplayBuffers {
    /// The memory of a buffer of the recording.
    fn buffer(&mut self, gpu: &Gpu, t: &CommandList, p: BufferRef, given: &[Array]) -> Res<Buffer> {
        match p {
            BufferRef::Given(k) => Ok(given[k].buffer.clone()),
            BufferRef::Kept(k) => Ok(self.kept[k].clone()),
            BufferRef::ReplayBuffers(m) => match &self.buffers[m] {
                Some(b) => Ok(b.clone()),
                None => {
                    let b = gpu.alloc(t.made[m])?;
                    self.buffers[m] = Some(b.clone());
                    Ok(b)
                }
            },
        }
    }

    /// The memory of a result; a buffer that no kernel has written is allocated here.
    pub fn result(&mut self, gpu: &Gpu, t: &CommandList, p: BufferRef, given: &[Array]) -> Res<Buffer> {
        if matches!(p, BufferRef::Given(k) if k >= given.len()) {
            return unsupported("an array that was not given");
        }
        self.buffer(gpu, t, p, given)
    }
}
