//! Enumerates adapters and opens one.
//!
//! Opening takes some tens of milliseconds, because it loads drivers. Nothing here runs before a device is requested.

use crate::error::{Error, Res};
use crate::limits::adapter::ONCE;
use std::sync::{Arc, Mutex};

/// The capabilities of the device that kernels depend on.
#[derive(Clone, Debug)]
pub struct Caps {
    /// The adapter's name, with its driver.
    pub name: String,
    /// Whether it is a software implementation on the CPU (Mesa's lavapipe, for tests).
    pub software: bool,
    /// Whether 64-bit floats are supported.
    pub f64: bool,
    /// Whether 64-bit integers are supported.
    pub i64: bool,
    /// Whether subgroup operations are supported.
    pub subgroups: bool,
    /// Whether passes can be timed.
    pub timestamps: bool,
    /// Whether kernels are passed to the driver as SPIR-V with exact arithmetic (see `shader`); otherwise its compiler
    /// may reorder arithmetic.
    pub exact: bool,
    /// The maximum size of a binding in bytes.
    pub binding: u64,
    /// The maximum size of a buffer in bytes.
    pub buffer: u64,
    /// The maximum number of storage buffers per kernel.
    pub bindings: u32,
    /// The alignment of binding offsets in bytes.
    pub align: u32,
    /// The maximum number of work-groups along one axis of a dispatch.
    pub groups: u32,
    /// Whether the device has memory of its own, rather than the CPU's.
    pub discrete: bool,
    /// The size of work-group memory in bytes.
    pub workgroup: u32,
    /// Whether work-group memory is faster than device memory, so that tiles are staged in it: false for software
    /// devices. Results do not depend on it.
    pub tiles: bool,
    /// The number of tiles from which scans use a single pass, which requires forward progress of started work-groups.
    /// Results do not depend on it.
    pub once: Option<u32>,
    /// The maximum number of times that a work-group polls for another one's result.
    pub patience: u32,
}

/// The vendors whose GPUs guarantee forward progress of started work-groups: NVIDIA and AMD.
const FORWARD_PROGRESS_VENDORS: [u32; 2] = [0x10de, 0x1002];

/// An open device, its queue, and its capabilities.
pub(crate) struct OpenDevice {
    pub device: wgpu::Device,
    pub queue: wgpu::Queue,
    pub caps: Caps,
    pub state: Arc<Mutex<DriverReports>>,
}

/// What the driver has reported asynchronously.
#[derive(Default)]
pub(crate) struct DriverReports {
    /// Why the device was lost.
    pub lost: Option<String>,
    /// The first error since the last query.
    pub error: Option<Error>,
}

/// Silences a library that drivers load and that reports a missing desktop session on standard error, by setting a
/// directory for it. Has no effect unless the process is known to have a single thread: call it at the start of `main`.
#[allow(unsafe_code)]
pub fn quiet(directory: &std::path::Path) {
    if std::fs::read_dir("/proc/self/task").is_ok_and(|tasks| tasks.count() == 1) {
        // SAFETY: the process has only this thread, so that no other thread reads or writes the environment.
        unsafe { std::env::set_var("XDG_RUNTIME_DIR", directory) };
    }
}

fn instance() -> wgpu::Instance {
    let mut desc = wgpu::InstanceDescriptor::new_without_display_handle();
    desc.backends = wgpu::Backends::VULKAN | wgpu::Backends::METAL | wgpu::Backends::DX12;
    desc.flags = wgpu::InstanceFlags::ALLOW_UNDERLYING_NONCOMPLIANT_ADAPTER;
    wgpu::Instance::new(desc)
}

/// All adapters in order of preference: discrete, then integrated, then software.
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
    if driver.trim().is_empty() {
        format!("{} ({:?})", i.name, i.backend)
    } else {
        format!("{} ({:?}, {})", i.name, i.backend, driver.trim())
    }
}

/// The names of all adapters, in the order of their numbers.
pub fn names() -> Vec<String> {
    adapters().iter().map(name).collect()
}

/// Selects an adapter by its number or a part of its name, ignoring case; the first one by default.
fn choose(all: Vec<wgpu::Adapter>, pick: Option<&str>) -> Res<wgpu::Adapter> {
    let known = all.iter().map(name).enumerate().map(|(i, n)| format!("{i}: {n}")).collect::<Vec<_>>().join("; ");
    if all.is_empty() {
        return Err(Error::NoAdapter(
            "no adapter was found (on Debian, mesa-vulkan-drivers and libvulkan1 have one in software)".to_owned(),
        ));
    }
    let Some(pick) = pick.map(str::trim).filter(|p| !p.is_empty()) else {
        return all.into_iter().next().ok_or_else(|| Error::NoAdapter("no adapter was found".to_owned()));
    };
    let wanted = pick.to_lowercase();
    let at = pick
        .parse()
        .ok()
        .filter(|i| *i < all.len())
        .or_else(|| all.iter().position(|a| name(a).to_lowercase().contains(&wanted)));
    match at.and_then(|i| all.into_iter().nth(i)) {
        Some(a) => Ok(a),
        None => Err(Error::NoAdapter(format!("no adapter is called `{pick}`; there are {known}"))),
    }
}

/// Opens the adapter that `pick` selects (the value of `ADL_GPU`; see [`names`]).
pub(crate) fn open(pick: Option<&str>) -> Res<OpenDevice> {
    let adapter = choose(adapters(), pick)?;
    let (info, has, limits) = (adapter.get_info(), adapter.features(), adapter.limits());
    let wanted = wgpu::Features::SHADER_F64
        | wgpu::Features::SHADER_INT64
        | wgpu::Features::SUBGROUP
        | wgpu::Features::TIMESTAMP_QUERY
        | wgpu::Features::PIPELINE_CACHE;
    let passthrough = info.backend == wgpu::Backend::Vulkan && has.contains(wgpu::Features::PASSTHROUGH_SHADERS);
    let features =
        has & (wanted | if passthrough { wgpu::Features::PASSTHROUGH_SHADERS } else { wgpu::Features::empty() });
    let asked = adapter.request_device(&wgpu::DeviceDescriptor {
        label: Some("adl"),
        required_features: features,
        required_limits: limits.clone(),
        experimental_features: wgpu::ExperimentalFeatures::disabled(),
        memory_hints: wgpu::MemoryHints::Performance,
        trace: wgpu::Trace::Off,
    });
    let (device, queue) = pollster::block_on(asked)
        .map_err(|e| Error::NoAdapter(format!("{} could not be opened: {e}", name(&adapter))))?;
    let caps = Caps {
        name: name(&adapter),
        software: info.device_type == wgpu::DeviceType::Cpu,
        f64: features.contains(wgpu::Features::SHADER_F64 | wgpu::Features::SHADER_INT64),
        i64: features.contains(wgpu::Features::SHADER_INT64),
        subgroups: features.contains(wgpu::Features::SUBGROUP),
        timestamps: features.contains(wgpu::Features::TIMESTAMP_QUERY),
        exact: passthrough,
        discrete: info.device_type == wgpu::DeviceType::DiscreteGpu,
        binding: limits.max_storage_buffer_binding_size.min((1 << 31) - 1) & !15,
        buffer: limits.max_buffer_size,
        bindings: limits.max_storage_buffers_per_shader_stage,
        align: limits.min_storage_buffer_offset_alignment.max(16),
        groups: limits.max_compute_workgroups_per_dimension,
        workgroup: limits.max_compute_workgroup_storage_size,
        tiles: info.device_type != wgpu::DeviceType::Cpu,
        once: (passthrough && FORWARD_PROGRESS_VENDORS.contains(&info.vendor)).then_some(ONCE),
        patience: if info.device_type == wgpu::DeviceType::Cpu { 1 << 14 } else { 1 << 17 },
    };
    let state = watch(&device);
    Ok(OpenDevice { device, queue, caps, state })
}

/// Records what the driver reports asynchronously.
fn watch(device: &wgpu::Device) -> Arc<Mutex<DriverReports>> {
    let state = Arc::new(Mutex::new(DriverReports::default()));
    let (to, lost) = (state.clone(), state.clone());
    device.on_uncaptured_error(Arc::new(move |e: wgpu::Error| {
        let e = match e {
            wgpu::Error::OutOfMemory { source } => Error::Memory(source.to_string()),
            wgpu::Error::Validation { description, .. } | wgpu::Error::Internal { description, .. } => {
                Error::Refused(description)
            }
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
