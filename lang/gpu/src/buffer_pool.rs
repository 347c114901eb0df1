//! Buffers: allocated from a pool by size class, counted, and returned to the pool when the last handle is dropped.
//!
//! A returned buffer may be reused while kernels that use it have not run yet: a device executes all work in order, and
//! the next use comes later. (Writes by the host are the exception, which `queue` handles.)

use crate::error::{Error, Res};
use crate::limits::memory::{GROUPS, KEEP, LEAST};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::rc::{Rc, Weak};

/// Memory statistics.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct MemoryStats {
    /// Bytes in live buffers.
    pub used: u64,
    /// The peak of `used`.
    pub peak: u64,
    /// Bytes kept in the pool.
    pub kept: u64,
    /// Buffers created by the driver.
    pub made: u64,
    /// Buffers requested.
    pub wanted: u64,
}

/// A buffer of the pool.
struct PooledBuffer {
    raw: wgpu::Buffer,
    /// The batch in which it was last used.
    batch: u64,
    /// Its key in [`Pool::returned`].
    order: u64,
}

/// Free buffers by size.
#[derive(Default)]
pub(crate) struct Pool {
    /// By buffer number. The lowest number is taken first: a repeated sequence of allocations gets the same buffers, so
    /// that bind groups are reused.
    free: BTreeMap<u64, BTreeMap<u64, PooledBuffer>>,
    /// Size and number of each free buffer, in the order of their return.
    returned: BTreeMap<u64, (u64, u64)>,
    /// The number of buffers returned so far.
    returns: u64,
    /// See [`Caps::discrete`](crate::Caps::discrete).
    discrete: bool,
    pub stats: MemoryStats,
    /// Cached bind groups. They hold buffers, and are therefore dropped before any buffer is freed.
    pub groups: HashMap<GroupKey, wgpu::BindGroup>,
}

/// The key of a bind group: its layout, the parameter slot size, and its arrays.
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct GroupKey {
    /// The address of the pipeline, which lives as long as the device.
    pub pipeline: usize,
    pub slot: u64,
    /// Buffer numbers, offsets and lengths.
    pub arrays: Vec<(u64, u64, u64)>,
}

/// Device memory. Cloning a handle is cheap.
#[derive(Clone)]
pub struct Buffer(Rc<BufferInner>);

struct BufferInner {
    raw: wgpu::Buffer,
    /// A number unique among the driver's buffers.
    number: u64,
    size: u64,
    /// The batch in which it was last used.
    batch: Cell<u64>,
    /// Whether one of the handles belongs to a recording.
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

    /// A number unique among the driver's buffers.
    pub(crate) fn number(&self) -> u64 {
        self.0.number
    }

    /// The batch in which it was last used.
    pub(crate) fn batch(&self) -> &Cell<u64> {
        &self.0.batch
    }

    /// Whether this is the only handle, except one of a recording.
    pub fn alone(&self) -> bool {
        Rc::strong_count(&self.0) == 1 + usize::from(self.0.taped.get())
    }

    /// Sets whether one of the handles belongs to a recording.
    pub(crate) fn tape(&self, on: bool) {
        self.0.taped.set(on);
    }

    /// An identifier that is unique among live buffers.
    pub(crate) fn id(&self) -> usize {
        Rc::as_ptr(&self.0).addr()
    }

    /// Its size in bytes, at least the requested size.
    pub fn size(&self) -> u64 {
        self.0.size
    }
}

impl Drop for BufferInner {
    fn drop(&mut self) {
        if let Some(pool) = self.pool.upgrade() {
            let mut p = pool.borrow_mut();
            p.stats.used -= self.size;
            p.stats.kept += self.size;
            p.returns += 1;
            let order = p.returns;
            p.returned.insert(order, (self.size, self.number));
            let free = PooledBuffer { raw: self.raw.clone(), batch: self.batch.get(), order };
            p.free.entry(self.size).or_default().insert(self.number, free);
            let most = if p.discrete { p.stats.peak.max(KEEP) } else { KEEP };
            p.trim(most);
        }
    }
}

/// The size class of an allocation: there are four classes per power of two.
fn class(bytes: u64) -> u64 {
    let b = bytes.max(LEAST);
    let step = (b.next_power_of_two() / 8).max(64);
    b.div_ceil(step) * step
}

impl Pool {
    /// An empty pool of a device that has memory of its own, or not.
    pub fn new(discrete: bool) -> Pool {
        Pool { discrete, ..Pool::default() }
    }

    /// Frees the pooled buffers that have waited longest, until at most `most` bytes are kept.
    pub fn trim(&mut self, most: u64) {
        while self.stats.kept > most {
            self.groups.clear();
            let Some((_, (size, number))) = self.returned.pop_first() else { return };
            if self.free.get_mut(&size).and_then(|all| all.remove(&number)).is_some() {
                self.stats.kept -= size;
            }
        }
    }

    /// Caches a bind group.
    pub fn keep(&mut self, key: GroupKey, group: wgpu::BindGroup) {
        if self.groups.len() >= GROUPS {
            self.groups.clear();
        }
        self.groups.insert(key, group);
    }

    fn take(&mut self, size: u64) -> Option<(wgpu::Buffer, u64, u64)> {
        let (number, free) = self.free.get_mut(&size)?.pop_first()?;
        self.returned.remove(&free.order);
        self.stats.kept -= size;
        Some((free.raw, number, free.batch))
    }
}

/// A buffer of at least `bytes` bytes, of at most `most`, with unspecified contents. `make` creates one.
pub(crate) fn take(
    pool: &Rc<RefCell<Pool>>,
    bytes: u64,
    most: u64,
    make: impl Fn(u64) -> Res<wgpu::Buffer>,
) -> Res<Buffer> {
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
                // Freeing the pooled buffers may make enough room.
                Error::Memory(_) => {
                    pool.borrow_mut().trim(0);
                    make(size)
                }
                e => Err(e),
            })?;
            (made, pool.borrow().stats.made, 0)
        }
    };
    let mut p = pool.borrow_mut();
    p.stats.used += size;
    p.stats.peak = p.stats.peak.max(p.stats.used);
    Ok(Buffer(Rc::new(BufferInner {
        raw,
        number,
        size,
        batch: Cell::new(batch),
        taped: Cell::new(false),
        pool: Rc::downgrade(pool),
    })))
}
