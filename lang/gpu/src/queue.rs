//! The device queue: launches are collected until a result is read, then submitted together.
//!
//! The bindings of a kernel are, in this order: host parameters (`params`), the word for failed checks (`faults`), then
//! its arrays.

use crate::adapter::{self, Caps, OpenDevice};
use crate::buffer_pool::{self, Buffer, GroupKey, MemoryStats, Pool};
use crate::cache;
use crate::error::{Error, FailedCheck, Res};
use crate::limits::queue::{ASK, BATCH, PARAMS};
use crate::recording::Recording;
use crate::shader;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

/// The text of a kernel, and its interface.
#[derive(Clone, Debug, Default)]
pub struct Kernel {
    /// WGSL with an entry point `main`.
    pub text: String,
    /// For each array, whether the kernel writes it.
    pub writes: Vec<bool>,
    /// Its checks, by number.
    pub faults: Vec<FailedCheck>,
}

/// An array argument of a kernel, or a part of one.
#[derive(Clone, Debug)]
pub struct BoundArray {
    /// The memory.
    pub buffer: Buffer,
    /// The offset of the part in bytes: a multiple of [`Caps::align`].
    pub offset: u64,
    /// The size in bytes.
    pub size: u64,
}

impl BoundArray {
    /// The first `size` bytes of a buffer.
    pub fn first(buffer: &Buffer, size: u64) -> BoundArray {
        BoundArray { buffer: buffer.clone(), offset: 0, size }
    }
}

pub(crate) struct Pipeline {
    pipeline: wgpu::ComputePipeline,
    layout: wgpu::BindGroupLayout,
}

/// The commands that are not submitted yet.
struct CommandBatch {
    /// The current compute pass, which consecutive kernels share. It ends before any other command is encoded.
    pass: Option<wgpu::ComputePass<'static>>,
    encoder: Option<wgpu::CommandEncoder>,
    params: Vec<u8>,
    number: u64,
    kernels: u32,
    /// Checks of the kernels launched since faults were last read.
    faults: Vec<FailedCheck>,
}

/// Counters of the work done.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Work {
    /// Kernels launched.
    pub kernels: u64,
    /// Batches submitted.
    pub submits: u64,
    /// Kernels compiled.
    pub compiled: u64,
    /// Bytes sent to the device.
    pub up: u64,
    /// Bytes read from the device.
    pub down: u64,
    /// Bytes of the kernels' array arguments: a lower bound on traffic if each element is accessed once.
    pub traffic: u64,
}

/// An open device.
pub struct Gpu {
    device: wgpu::Device,
    queue: wgpu::Queue,
    /// Its capabilities.
    pub caps: Caps,
    state: std::sync::Arc<std::sync::Mutex<adapter::DriverReports>>,
    pool: Rc<RefCell<Pool>>,
    batch: RefCell<CommandBatch>,
    pipelines: RefCell<HashMap<String, Rc<Pipeline>>>,
    params: wgpu::Buffer,
    faults: wgpu::Buffer,
    work: Cell<Work>,
    cache: Option<wgpu::PipelineCache>,
    /// The interrupt query, called while waiting for results.
    stop: Cell<fn() -> bool>,
    recording: RefCell<Option<Recording>>,
    /// Whether a work-group has waited for another in vain: from then on scans use two passes.
    waited: Cell<bool>,
}

impl std::fmt::Debug for Gpu {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.caps.name)
    }
}

impl Gpu {
    /// Opens the adapter with the given number or part of a name; the first one by default.
    pub fn open(pick: Option<&str>) -> Res<Gpu> {
        Gpu::open_with_cache(pick, None)
    }

    /// Opens an adapter with the bytes that [`Gpu::cache_blob`] of an earlier run returned. Bytes that are damaged or
    /// belong to another device are ignored.
    pub fn open_with_cache(pick: Option<&str>, blob: Option<&[u8]>) -> Res<Gpu> {
        let OpenDevice { device, queue, caps, state } = adapter::open(pick)?;
        let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::COPY_SRC;
        let make = |size| {
            device.create_buffer(&wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false })
        };
        let (params, faults) = (make(PARAMS), make(256));
        let batch =
            CommandBatch { pass: None, encoder: None, params: Vec::new(), number: 1, kernels: 0, faults: Vec::new() };
        let cache = cache::make(&device, blob);
        let pool = Rc::new(RefCell::new(Pool::new(caps.discrete)));
        let gpu = Gpu {
            device,
            queue,
            caps,
            state,
            pool,
            batch: RefCell::new(batch),
            pipelines: RefCell::default(),
            params,
            faults,
            work: Cell::default(),
            cache,
            stop: Cell::new(|| false),
            recording: RefCell::default(),
            waited: Cell::default(),
        };
        gpu.fine()?;
        Ok(gpu)
    }

    /// For tests: limits the maximum binding to `bytes`.
    pub fn with_binding_size(mut self, bytes: u64) -> Gpu {
        self.caps.binding = bytes.min(self.caps.binding);
        self
    }

    /// For tests: overrides [`Caps::tiles`].
    pub fn with_tiles(mut self, tiles: bool) -> Gpu {
        self.caps.tiles = tiles;
        self
    }

    /// For tests: overrides [`Caps::once`] and [`Caps::patience`].
    pub fn with_single_pass(mut self, once: Option<u32>, patience: u32) -> Gpu {
        (self.caps.once, self.caps.patience) = (once, patience);
        self
    }

    /// The number of tiles from which scans use a single pass, if they may.
    pub fn once(&self) -> Option<u32> {
        self.caps.once.filter(|_| !self.waited.get())
    }

    /// For tests: limits the number of bindings of a kernel.
    pub fn with_binding_count(mut self, count: u32) -> Gpu {
        self.caps.bindings = count.min(self.caps.bindings);
        self
    }

    /// For tests: disables 64-bit floats.
    pub fn without_f64(mut self) -> Gpu {
        self.caps.f64 = false;
        self
    }

    /// Closes the device. Later operations fail as if it were lost.
    pub fn close(&self) {
        if let Ok(mut s) = self.state.lock() {
            s.lost = Some("it was closed".to_owned());
        }
        self.device.destroy();
    }

    /// Sets the interrupt query, which is called while waiting for results.
    pub fn set_interrupt_query(&self, asked: fn() -> bool) {
        self.stop.set(asked);
    }

    /// Whether faults may have been recorded that have not been read yet.
    pub fn has_unread_faults(&self) -> bool {
        !self.batch.borrow().faults.is_empty()
    }

    /// Memory statistics.
    pub fn memory(&self) -> MemoryStats {
        self.pool.borrow().stats
    }

    pub(crate) fn cache(&self) -> Option<&wgpu::PipelineCache> {
        self.cache.as_ref()
    }

    /// Work counters.
    pub fn work(&self) -> Work {
        self.work.get()
    }

    fn count(&self, f: impl FnOnce(&mut Work)) {
        let mut w = self.work.get();
        f(&mut w);
        self.work.set(w);
    }

    /// Returns the errors that the driver has reported since the last query.
    fn fine(&self) -> Res<()> {
        let Ok(mut s) = self.state.lock() else { return Ok(()) };
        let error = s.error.take();
        match (&s.lost, error) {
            (Some(why), _) => Err(Error::Lost(why.clone())),
            (None, Some(e)) => Err(e),
            (None, None) => Ok(()),
        }
    }

    /// Allocates at least `bytes` bytes of uninitialised memory.
    pub fn alloc(&self, bytes: u64) -> Res<Buffer> {
        self.fine()?;
        let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::COPY_SRC;
        let make = |size| {
            let b = self.device.create_buffer(&wgpu::BufferDescriptor {
                label: None,
                size,
                usage,
                mapped_at_creation: false,
            });
            self.fine().map(|()| b)
        };
        let b = buffer_pool::take(&self.pool, bytes, self.caps.buffer, make)?;
        self.tell(|r| r.alloc(&b, bytes));
        Ok(b)
    }

    /// The current recording.
    pub(crate) fn recording(&self) -> &RefCell<Option<Recording>> {
        &self.recording
    }

    /// Whether commands are being recorded.
    pub(crate) fn records(&self) -> bool {
        self.recording.borrow().is_some()
    }

    /// Adds a command to the recording, if there is one; `f` returns false if it cannot be recorded, which ends the
    /// recording.
    fn tell(&self, f: impl FnOnce(&mut Recording) -> bool) {
        let mut r = self.recording.borrow_mut();
        if r.as_mut().is_some_and(|r| !f(r)) {
            *r = None;
        }
    }

    /// Discards the recording.
    pub(crate) fn discard_recording(&self) {
        self.tell(|_| false);
    }

    /// Allocates memory with these contents; the length is a multiple of four.
    pub fn upload(&self, bytes: &[u8]) -> Res<Buffer> {
        let buffer = self.alloc(bytes.len() as u64)?;
        if !bytes.is_empty() {
            // A kernel that is not submitted yet may still read the buffer's previous contents.
            let waits = buffer.batch().get() == self.batch.borrow().number;
            if waits {
                self.submit()?;
            }
            self.queue.write_buffer(buffer.raw(), 0, bytes);
            self.count(|w| w.up += bytes.len() as u64);
        }
        self.tell(|r| r.sent(&buffer));
        self.fine()?;
        Ok(buffer)
    }

    /// Copies between two distinct buffers; offsets and length are multiples of four bytes.
    pub fn copy_into(&self, from: &Buffer, at: u64, to: &Buffer, place: u64, bytes: u64) -> Res<()> {
        if bytes > 0 {
            let number = self.batch.borrow().number;
            [from, to].iter().for_each(|b| b.batch().set(number));
            self.encode(|e| e.copy_buffer_to_buffer(from.raw(), at, to.raw(), place, Some(bytes)));
            self.tell(|r| r.copy((from, at), (to, place), bytes));
        }
        self.full()
    }

    fn encode(&self, f: impl FnOnce(&mut wgpu::CommandEncoder)) {
        let mut b = self.batch.borrow_mut();
        b.kernels += 1;
        b.pass = None;
        f(b.encoder.get_or_insert_with(|| {
            self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: None })
        }));
    }

    /// Submits the batch if it is full.
    fn full(&self) -> Res<()> {
        let b = self.batch.borrow();
        let full = b.kernels >= BATCH;
        drop(b);
        if full { self.submit() } else { Ok(()) }
    }

    /// Submits all collected commands.
    pub fn submit(&self) -> Res<()> {
        if self.caps.software && self.batch.borrow().encoder.is_some() {
            self.idle()?;
        }
        let mut b = self.batch.borrow_mut();
        b.pass = None;
        let Some(encoder) = b.encoder.take() else { return Ok(()) };
        if !b.params.is_empty() {
            self.queue.write_buffer(&self.params, 0, &b.params);
        }
        self.queue.submit([encoder.finish()]);
        b.params.clear();
        b.number += 1;
        b.kernels = 0;
        self.count(|w| w.submits += 1);
        self.fine()
    }

    fn pipeline(&self, kernel: &Kernel) -> Res<Rc<Pipeline>> {
        if let Some(p) = self.pipelines.borrow().get(&kernel.text) {
            return Ok(p.clone());
        }
        if kernel.writes.len() + 2 > self.caps.bindings as usize {
            return Err(Error::Unsupported(format!(
                "a kernel of {} arrays, of {} that one may have",
                kernel.writes.len(),
                self.caps.bindings.saturating_sub(2)
            )));
        }
        let module = shader::module(&self.device, &kernel.text, self.caps.exact)?;
        let entry = |binding: usize, write: bool| wgpu::BindGroupLayoutEntry {
            binding: binding as u32,
            visibility: wgpu::ShaderStages::COMPUTE,
            ty: wgpu::BindingType::Buffer {
                ty: wgpu::BufferBindingType::Storage { read_only: !write },
                has_dynamic_offset: binding == 0,
                min_binding_size: None,
            },
            count: None,
        };
        let entries: Vec<_> =
            [false, true].iter().chain(&kernel.writes).enumerate().map(|(i, w)| entry(i, *w)).collect();
        let layout =
            self.device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label: None, entries: &entries });
        let whole = self.device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: None,
            bind_group_layouts: &[Some(&layout)],
            immediate_size: 0,
        });
        let pipeline = self.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: None,
            layout: Some(&whole),
            module: &module,
            entry_point: Some("main"),
            compilation_options: wgpu::PipelineCompilationOptions {
                zero_initialize_workgroup_memory: false,
                ..Default::default()
            },
            cache: self.cache.as_ref(),
        });
        self.fine()?;
        self.count(|w| w.compiled += 1);
        let p = Rc::new(Pipeline { pipeline, layout });
        self.pipelines.borrow_mut().insert(kernel.text.clone(), p.clone());
        Ok(p)
    }

    /// Launches a kernel in `groups` work-groups. Its first two parameters are the number of work-groups and the number
    /// of its first check; `params` follow.
    pub fn launch(&self, k: &Kernel, arrays: &[BoundArray], params: &[u32], groups: u32) -> Res<()> {
        if groups == 0 {
            return Ok(());
        }
        let p = self.pipeline(k)?;
        self.start(&p, &k.faults, arrays, params, groups)?;
        self.tell(|r| r.launch(&p, k, arrays, params, groups));
        Ok(())
    }

    /// [`Gpu::launch`] for a compiled kernel.
    pub(crate) fn start(
        &self,
        pipeline: &Pipeline,
        faults: &[FailedCheck],
        arrays: &[BoundArray],
        params: &[u32],
        groups: u32,
    ) -> Res<()> {
        let slot =
            u64::from(self.caps.align).max(4 * (params.len() as u64 + 2)).next_multiple_of(u64::from(self.caps.align));
        if let Some(a) = arrays.iter().find(|a| a.size > self.caps.binding) {
            return Err(Error::Unsupported(format!(
                "an array of {} bytes in a kernel, of {} that one may see",
                a.size, self.caps.binding
            )));
        }
        if slot > PARAMS {
            return Err(Error::Unsupported("a kernel of so many words".to_owned()));
        }
        if self.batch.borrow().params.len() as u64 + slot > PARAMS {
            self.submit()?;
        }
        let mut b = self.batch.borrow_mut();
        let offset = b.params.len();
        let base = b.faults.len() as u32 + 1;
        b.faults.extend_from_slice(faults);
        b.params.extend([groups, base].iter().chain(params).flat_map(|w| w.to_le_bytes()));
        b.params.resize(offset + slot as usize, 0);
        let number = b.number;
        drop(b);
        arrays.iter().for_each(|a| a.buffer.batch().set(number));
        let bound = self.group(pipeline, arrays, slot);
        let (width, height) = grid(groups, self.caps.groups);
        let mut batch = self.batch.borrow_mut();
        batch.kernels += 1;
        if batch.pass.is_none() {
            let encoder = batch.encoder.get_or_insert_with(|| {
                self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: None })
            });
            batch.pass = Some(
                encoder
                    .begin_compute_pass(&wgpu::ComputePassDescriptor { label: None, timestamp_writes: None })
                    .forget_lifetime(),
            );
        }
        if let Some(pass) = &mut batch.pass {
            pass.set_pipeline(&pipeline.pipeline);
            pass.set_bind_group(0, &bound, &[offset as u32]);
            pass.dispatch_workgroups(width, height, 1);
        }
        drop(batch);
        self.count(|w| {
            (w.kernels, w.traffic) = (w.kernels + 1, w.traffic + arrays.iter().map(|a| a.size).sum::<u64>());
        });
        self.fine()?;
        self.full()
    }

    /// The bind group of a kernel; recent ones are cached.
    fn group(&self, pipeline: &Pipeline, arrays: &[BoundArray], slot: u64) -> wgpu::BindGroup {
        let key = GroupKey {
            pipeline: std::ptr::from_ref(pipeline).addr(),
            slot,
            arrays: arrays.iter().map(|a| (a.buffer.number(), a.offset, a.size)).collect(),
        };
        if let Some(g) = self.pool.borrow().groups.get(&key) {
            return g.clone();
        }
        let part = |buffer, offset, size: u64| {
            wgpu::BindingResource::Buffer(wgpu::BufferBinding { buffer, offset, size: std::num::NonZeroU64::new(size) })
        };
        let own = [part(&self.params, 0, slot), part(&self.faults, 0, 16)];
        let resources = own
            .into_iter()
            .chain(arrays.iter().map(|a| part(a.buffer.raw(), a.offset, a.size.max(16).next_multiple_of(16))));
        let entries: Vec<_> =
            resources.enumerate().map(|(i, resource)| wgpu::BindGroupEntry { binding: i as u32, resource }).collect();
        let made = self.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout: &pipeline.layout,
            entries: &entries,
        });
        self.pool.borrow_mut().keep(key, made.clone());
        made
    }

    /// Reads the first `bytes` bytes of a buffer (a multiple of four) after all launched work. Fails if a check in any
    /// kernel so far failed.
    pub fn download(&self, from: &Buffer, bytes: u64) -> Res<Vec<u8>> {
        // The host may branch on what it reads, so that the command list is not replayable.
        self.discard_recording();
        let usage = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
        let staging = self.device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: bytes + 8,
            usage,
            mapped_at_creation: false,
        });
        self.fine()?;
        self.encode(|e| {
            if bytes > 0 {
                e.copy_buffer_to_buffer(from.raw(), 0, &staging, 0, Some(bytes));
            }
            e.copy_buffer_to_buffer(&self.faults, 0, &staging, bytes, Some(8));
            e.clear_buffer(&self.faults, 0, Some(8));
        });
        self.submit()?;
        let (tell, told) = std::sync::mpsc::channel();
        staging.map_async(wgpu::MapMode::Read, .., move |r| {
            // The receiver is gone if waiting has failed already.
            let _ = tell.send(r);
        });
        let lost = |e: &dyn std::fmt::Display| self.fine().err().unwrap_or(Error::Lost(e.to_string()));
        self.arrived(&told)?;
        let mut all = staging.get_mapped_range(..).map_err(|e| lost(&e))?.to_vec();
        let fault = all.split_off(bytes as usize);
        self.count(|w| w.down += bytes);
        self.waited.set(self.waited.get() || fault[4..].iter().any(|b| *b != 0));
        self.judge(u32::from_le_bytes([fault[0], fault[1], fault[2], fault[3]]))?;
        Ok(all)
    }

    /// Waits until all submitted work is done, or an interrupt. Mesa's software driver may block in a submission behind
    /// other work, which cannot be interrupted.
    fn idle(&self) -> Res<()> {
        loop {
            match self.device.poll(wgpu::PollType::Wait { submission_index: None, timeout: Some(ASK) }) {
                Ok(_) => return Ok(()),
                Err(wgpu::PollError::Timeout) if self.stop.get()() => return Err(Error::Stopped),
                Err(wgpu::PollError::Timeout) => self.fine()?,
                Err(e) => return Err(self.fine().err().unwrap_or(Error::Lost(e.to_string()))),
            }
        }
    }

    /// Waits until a buffer is mapped, or an interrupt.
    fn arrived(&self, told: &std::sync::mpsc::Receiver<Result<(), wgpu::BufferAsyncError>>) -> Res<()> {
        let lost = |e: &dyn std::fmt::Display| self.fine().err().unwrap_or(Error::Lost(e.to_string()));
        loop {
            match self.device.poll(wgpu::PollType::Wait { submission_index: None, timeout: Some(ASK) }) {
                Ok(_) | Err(wgpu::PollError::Timeout) => {}
                Err(e) => return Err(lost(&e)),
            }
            match told.try_recv() {
                Ok(r) => return r.map_err(|e| lost(&e)),
                Err(std::sync::mpsc::TryRecvError::Empty) if self.stop.get()() => return Err(Error::Stopped),
                Err(std::sync::mpsc::TryRecvError::Empty) => self.fine()?,
                Err(e) => return Err(lost(&e)),
            }
        }
    }

    /// Waits for all launched work. Fails if a check failed.
    pub fn wait(&self) -> Res<()> {
        let b = self.alloc(4)?;
        self.download(&b, 0).map(|_| ())
    }

    fn judge(&self, fault: u32) -> Res<()> {
        let faults = std::mem::take(&mut self.batch.borrow_mut().faults);
        match fault.checked_sub(1).map(|i| faults.get(i as usize)) {
            None => Ok(()),
            Some(Some(f)) => Err(Error::Fault(f.clone())),
            Some(None) => Err(Error::Refused(format!("check {fault} is not known"))),
        }
    }
}

/// A two-dimensional dispatch of at least `groups` work-groups, each axis of which is limited.
fn grid(groups: u32, most: u32) -> (u32, u32) {
    let y = groups.div_ceil(most.max(1));
    (groups.div_ceil(y.max(1)), y.max(1))
}
