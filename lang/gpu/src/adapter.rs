//! Adapters: which there are, and one of them opened.
//!
//! Opening takes some tens of milliseconds (drivers are loaded), so nothing here happens before somebody asks for a device.

use crate::error::{Error, Res};
use std::sync::{Arc, Mutex};

/// What the device can do, as far as kernels depend on it.
#[derive(Clone, Debug)]
pub struct Caps {
    /// The adapter's name, with its driver.
    pub name: String,
    /// Whether it is a processor that plays one (Mesa's lavapipe, for tests).
    pub software: bool,
    /// Whether there are 64-bit floats.
    pub f64: bool,
    /// Whether there are 64-bit integers.
    pub i64: bool,
    /// Whether there are operations on subgroups.
    pub subgroups: bool,
    /// Whether passes can be timed.
    pub timestamps: bool,
    /// Whether kernels go to the driver as SPIR-V with exact arithmetic (see `shader`); elsewhere the driver's compiler has its way.
    pub exact: bool,
    /// The most bytes of one buffer that a kernel sees.
    pub binding: u64,
    /// The most bytes of one buffer.
    pub buffer: u64,
    /// How many buffers one kernel may see.
    pub bindings: u32,
    /// Offsets of bindings are multiples of it.
    pub align: u32,
    /// Workgroups along one axis of a dispatch.
    pub groups: u32,
    /// Bytes of a workgroup's own memory.
    pub workgroup: u32,
    /// Whether that is faster than the device's, so that tiles go there first: not where a processor plays a GPU. No bit of a result depends on it.
    pub tiles: bool,
    /// From how many tiles on scans go over their input once, which wants a driver that lets workgroups get on that have begun. No bit of a result depends on it.
    pub once: Option<u32>,
    /// How often a workgroup looks for what another one is to tell it, at most, until it gives up.
    pub patience: u32,
}

/// Makers of GPUs whose workgroups get on once they have begun, whatever others do: NVIDIA and AMD.
const GETS_ON: [u32; 2] = [0x10de, 0x1002];

/// Tiles of scans that are worth two more kernels (see `lookback`) in the place of a second look at the input.
const ONCE: u32 = 1024;

/// An open device, its queue, and what it said about itself.
pub(crate) struct Opened {
    pub device: wgpu::Device,
    pub queue: wgpu::Queue,
    pub caps: Caps,
    pub state: Arc<Mutex<State>>,
}

/// What the driver reports between calls.
#[derive(Default)]
pub(crate) struct State {
    /// Why the device is gone.
    pub lost: Option<String>,
    /// The first error since it was last asked.
    pub error: Option<Error>,
}

/// Keeps a library that drivers load from complaining on standard error that there is no desktop, where there is none: gives it a directory to look
/// for one. Does nothing where other threads run, or that is not known: it is for the beginning of `main`.
#[allow(unsafe_code)]
pub fn quiet(directory: &std::path::Path) {
    if std::fs::read_dir("/proc/self/task").is_ok_and(|tasks| tasks.count() == 1) {
        // SAFETY: this is the only thread, so that no other reads or writes the environment.
        unsafe { std::env::set_var("XDG_RUNTIME_DIR", directory) };
    }
}

fn instance() -> wgpu::Instance {
    let mut desc = wgpu::InstanceDescriptor::new_without_display_handle();
    desc.backends = wgpu::Backends::VULKAN | wgpu::Backends::METAL | wgpu::Backends::DX12;
    desc.flags = wgpu::InstanceFlags::ALLOW_UNDERLYING_NONCOMPLIANT_ADAPTER;
    wgpu::Instance::new(desc)
}

/// All adapters, the likeliest first: separate processors, then those that share memory, then software.
fn adapters() -> Vec<wgpu::Adapter> {
    let mut all = pollster::block_on(instance().enumerate_adapters(wgpu::Backends::all()));
    all.retain(|a| a.get_downlevel_capabilities().flags.contains(wgpu::DownlevelFlags::COMPUTE_SHADERS));
    all.sort_by_key(|a| match a.get_info().device_type {
        wgpu::DeviceType::DiscreteGpu => 0,
        wgpu::DeviceType::IntegratedGpu => 1,
        wgpu::DeviceType::VirtualGpu => 2,
        wgpu::DeviceType::Other => 3,
        wgpu::DeviceType::Cpu => 4,
    });
    all
}

fn name(a: &wgpu::Adapter) -> String {
    let i = a.get_info();
    let driver = [i.driver.as_str(), i.driver_info.as_str()].join(" ");
    if driver.trim().is_empty() { format!("{} ({:?})", i.name, i.backend) } else { format!("{} ({:?}, {})", i.name, i.backend, driver.trim()) }
}

/// The names of all adapters, in the order of their numbers.
pub fn names() -> Vec<String> {
    adapters().iter().map(name).collect()
}

/// The adapter that a text asks for: its number, or a part of its name, in any case; without one the first.
fn choose(all: Vec<wgpu::Adapter>, pick: Option<&str>) -> Res<wgpu::Adapter> {
    let known = all.iter().map(name).enumerate().map(|(i, n)| format!("{i}: {n}")).collect::<Vec<_>>().join("; ");
    if all.is_empty() {
        return Err(Error::NoAdapter("no adapter was found (on Debian, mesa-vulkan-drivers and libvulkan1 have one in software)".to_owned()));
    }
    let Some(pick) = pick.map(str::trim).filter(|p| !p.is_empty()) else {
        return all.into_iter().next().ok_or_else(|| Error::NoAdapter("no adapter was found".to_owned()));
    };
    let wanted = pick.to_lowercase();
    let at = pick.parse().ok().filter(|i| *i < all.len()).or_else(|| all.iter().position(|a| name(a).to_lowercase().contains(&wanted)));
    match at.and_then(|i| all.into_iter().nth(i)) {
        Some(a) => Ok(a),
        None => Err(Error::NoAdapter(format!("no adapter is called `{pick}`; there are {known}"))),
    }
}

/// Opens the adapter that `pick` asks for (the text of `ADL_GPU`; see [`names`]).
pub(crate) fn open(pick: Option<&str>) -> Res<Opened> {
    let adapter = choose(adapters(), pick)?;
    let (info, has, limits) = (adapter.get_info(), adapter.features(), adapter.limits());
    let wanted = wgpu::Features::SHADER_F64 | wgpu::Features::SHADER_INT64 | wgpu::Features::SUBGROUP | wgpu::Features::TIMESTAMP_QUERY | wgpu::Features::PIPELINE_CACHE;
    let passthrough = info.backend == wgpu::Backend::Vulkan && has.contains(wgpu::Features::PASSTHROUGH_SHADERS);
    let features = has & (wanted | if passthrough { wgpu::Features::PASSTHROUGH_SHADERS } else { wgpu::Features::empty() });
    let asked = adapter.request_device(&wgpu::DeviceDescriptor {
        label: Some("adl"),
        required_features: features,
        required_limits: limits.clone(),
        experimental_features: wgpu::ExperimentalFeatures::disabled(),
        memory_hints: wgpu::MemoryHints::Performance,
        trace: wgpu::Trace::Off,
    });
    let (device, queue) = pollster::block_on(asked).map_err(|e| Error::NoAdapter(format!("{} could not be opened: {e}", name(&adapter))))?;
    let caps = Caps {
        name: name(&adapter),
        software: info.device_type == wgpu::DeviceType::Cpu,
        f64: features.contains(wgpu::Features::SHADER_F64 | wgpu::Features::SHADER_INT64),
        i64: features.contains(wgpu::Features::SHADER_INT64),
        subgroups: features.contains(wgpu::Features::SUBGROUP),
        timestamps: features.contains(wgpu::Features::TIMESTAMP_QUERY),
        exact: passthrough,
        binding: limits.max_storage_buffer_binding_size.min((1 << 31) - 1) & !15,
        buffer: limits.max_buffer_size,
        bindings: limits.max_storage_buffers_per_shader_stage,
        align: limits.min_storage_buffer_offset_alignment.max(16),
        groups: limits.max_compute_workgroups_per_dimension,
        workgroup: limits.max_compute_workgroup_storage_size,
        tiles: info.device_type != wgpu::DeviceType::Cpu,
        once: (passthrough && GETS_ON.contains(&info.vendor)).then_some(ONCE),
        patience: if info.device_type == wgpu::DeviceType::Cpu { 1 << 14 } else { 1 << 17 },
    };
    let state = watch(&device);
    Ok(Opened { device, queue, caps, state })
}

/// Notes what the driver reports.
fn watch(device: &wgpu::Device) -> Arc<Mutex<State>> {
    let state = Arc::new(Mutex::new(State::default()));
    let (to, lost) = (state.clone(), state.clone());
    device.on_uncaptured_error(Arc::new(move |e: wgpu::Error| {
        let e = match e {
            wgpu::Error::OutOfMemory { source } => Error::Memory(source.to_string()),
            wgpu::Error::Validation { description, .. } | wgpu::Error::Internal { description, .. } => Error::Refused(description),
        };
        if let Ok(mut s) = to.lock() {
            s.error.get_or_insert(e);
        }
    }));
    device.set_device_lost_callback(move |reason, why| {
        if let (Ok(mut s), false) = (lost.lock(), reason == wgpu::DeviceLostReason::Destroyed) {
            s.lost = Some(if why.is_empty() { format!("{reason:?}") } else { why });
        }
    });
    state
}
