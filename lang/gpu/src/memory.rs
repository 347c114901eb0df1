//! Buffers: taken from a pool by size class, counted, and given back when the last handle goes.
//!
//! A buffer that comes back may be taken again at once, although kernels that use it have not run: all work of a device is in one order,
//! and what uses it next comes later. (What the host writes is an exception, which `queue` sees to.)

use crate::error::{Error, Res};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::rc::{Rc, Weak};

/// Bytes that are kept for later, at most.
const KEEP: u64 = 1 << 30;

/// What kernels were given that is kept for later, at most.
const GROUPS: usize = 4096;

/// The least bytes of a buffer: an element at index 0 can always be read.
const LEAST: u64 = 256;

/// How much memory there is and was.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Memory {
    /// Bytes that somebody holds.
    pub used: u64,
    /// The most that there were.
    pub peak: u64,
    /// Bytes that are kept for later.
    pub kept: u64,
    /// Buffers that were made, of all that were wanted.
    pub made: u64,
    /// Buffers that were wanted.
    pub wanted: u64,
}

/// Free buffers by size.
#[derive(Default)]
pub(crate) struct Pool {
    /// By their numbers, each with the batch of kernels in which it was used last. The least number is taken first: who allocates and lets go as before gets
    /// the same buffers, and what kernels are given is made once.
    free: BTreeMap<u64, BTreeMap<u64, (wgpu::Buffer, u64)>>,
    pub stats: Memory,
    /// What kernels were given: these hold buffers, so that none of them outlives a buffer that is let go.
    pub groups: HashMap<GroupKey, wgpu::BindGroup>,
}

/// What a kernel is given: its layout, the bytes of its words, its arrays.
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct GroupKey {
    /// The pipeline's place: pipelines are kept as long as the device is open.
    pub pipeline: usize,
    pub slot: u64,
    /// Numbers of buffers, begins and lengths.
    pub arrays: Vec<(u64, u64, u64)>,
}

/// Memory of the device. Handles are cheap to copy.
#[derive(Clone)]
pub struct Buffer(Rc<Held>);

struct Held {
    raw: wgpu::Buffer,
    /// No other buffer of the driver's has it.
    number: u64,
    size: u64,
    /// The batch of kernels in which it was used last.
    batch: Cell<u64>,
    /// Whether one of the handles is that of a tape that is being recorded.
    taped: Cell<bool>,
    pool: Weak<RefCell<Pool>>,
}

impl std::fmt::Debug for Buffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes on the device", self.0.size)
    }
}

impl Buffer {
    /// The driver's buffer.
    pub(crate) fn raw(&self) -> &wgpu::Buffer {
        &self.0.raw
    }

    /// A number that no other buffer of the driver's has.
    pub(crate) fn number(&self) -> u64 {
        self.0.number
    }

    /// The batch of kernels in which it was used last.
    pub(crate) fn batch(&self) -> &Cell<u64> {
        &self.0.batch
    }

    /// Whether it has no other owner.
    pub fn alone(&self) -> bool {
        Rc::strong_count(&self.0) == 1 + usize::from(self.0.taped.get())
    }

    /// Says whether one of the handles is that of a tape.
    pub(crate) fn tape(&self, on: bool) {
        self.0.taped.set(on);
    }

    /// A number that no other memory has that somebody holds.
    pub(crate) fn id(&self) -> usize {
        Rc::as_ptr(&self.0).addr()
    }

    /// How many bytes it has, at least those that were asked for.
    pub fn size(&self) -> u64 {
        self.0.size
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(pool) = self.pool.upgrade() {
            let mut p = pool.borrow_mut();
            p.stats.used -= self.size;
            p.stats.kept += self.size;
            p.free.entry(self.size).or_default().insert(self.number, (self.raw.clone(), self.batch.get()));
            p.trim(KEEP);
        }
    }
}

/// Sizes that buffers have: four between a power of two and the next.
fn class(bytes: u64) -> u64 {
    let b = bytes.max(LEAST);
    let step = (b.next_power_of_two() / 8).max(64);
    b.div_ceil(step) * step
}

impl Pool {
    /// Lets go of what is free, largest first, until no more than so many bytes are kept.
    pub fn trim(&mut self, most: u64) {
        while self.stats.kept > most {
            self.groups.clear();
            let Some(mut entry) = self.free.last_entry() else { return };
            if entry.get_mut().pop_last().is_some() {
                self.stats.kept -= *entry.key();
            }
            if entry.get().is_empty() {
                entry.remove();
            }
        }
    }

    /// Keeps what a kernel was given.
    pub fn keep(&mut self, key: GroupKey, group: wgpu::BindGroup) {
        if self.groups.len() >= GROUPS {
            self.groups.clear();
        }
        self.groups.insert(key, group);
    }

    fn take(&mut self, size: u64) -> Option<(wgpu::Buffer, u64, u64)> {
        let (number, (raw, batch)) = self.free.get_mut(&size)?.pop_first()?;
        self.stats.kept -= size;
        Some((raw, number, batch))
    }
}

/// A buffer of at least so many bytes, whose contents are not known. `make` makes one of the driver's.
pub(crate) fn take(pool: &Rc<RefCell<Pool>>, bytes: u64, most: u64, make: impl Fn(u64) -> Res<wgpu::Buffer>) -> Res<Buffer> {
    let size = class(bytes);
    if size > most {
        return Err(Error::Memory(format!("an array of {bytes} bytes, of {most} that one may have")));
    }
    pool.borrow_mut().stats.wanted += 1;
    let free = pool.borrow_mut().take(size);
    let (raw, number, batch) = match free {
        Some(b) => b,
        None => {
            pool.borrow_mut().stats.made += 1;
            let made = make(size).or_else(|e| match e {
                // What is kept for later may be what is missing.
                Error::Memory(_) => {
                    pool.borrow_mut().trim(0);
                    make(size)
                }
                e => Err(e),
            });
            let made = made?;
            (made, pool.borrow().stats.made, 0)
        }
    };
    let mut p = pool.borrow_mut();
    p.stats.used += size;
    p.stats.peak = p.stats.peak.max(p.stats.used);
    Ok(Buffer(Rc::new(Held { raw, number, size, batch: Cell::new(batch), taped: Cell::new(false), pool: Rc::downgrade(pool) })))
}
