//! The interface of a device beside the CPU (such as a GPU): which calls run on it, and what happens if it
//! cannot run them.
//!
//! Three kinds of work are offered to the device if enough of it is data-parallel
//! (`crate::ir::cost_model::device_cost`): lowered functions of compiled AD and their derivatives, operations on large
//! arrays, and higher-order functions. Results stay in device memory ([`crate::value::storage`]) until their
//! elements are read. A device refuses a call either before it changes anything or when a run-time check fails.
//! The CPU then runs the call from the same arguments; this is safe because code with effects is not for a device.
//!
//! [`Mode::Auto`] measures both. A function's calls run on the CPU first. Once a call takes some milliseconds,
//! the device is timed as well, and the faster of the two runs all later calls with arguments of about that
//! size.
//!
//! The device itself is behind traits, like the native compiler; `lang/gpu` implements them.

mod dispatch;
pub(crate) mod offer;
pub(crate) mod timing;

use crate::error::{Error, Res, codes};
use crate::host::Host;
use crate::limits::device::LEAST;
use crate::value::Value;
use adl_ir::{FnId, Program};
pub use dispatch::gone;
pub(crate) use dispatch::{CallTarget, CpuTimer};
use std::rc::Rc;
pub(crate) use timing::{DeviceTimes, NextTarget};

/// Where lowered functions run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Mode {
    /// On the CPU.
    #[default]
    Cpu,
    /// On the device, if it supports the call and the call has enough work.
    Gpu,
    /// On whichever of the two was measured to be faster.
    Auto,
}

impl Mode {
    /// The mode with this name.
    pub fn parse(text: &str) -> Option<Mode> {
        Some(match text {
            "cpu" => Mode::Cpu,
            "gpu" => Mode::Gpu,
            "auto" => Mode::Auto,
            _ => return None,
        })
    }

    /// The name of the mode.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Cpu => "cpu",
            Mode::Gpu => "gpu",
            Mode::Auto => "auto",
        }
    }
}

/// An open device.
pub trait Device {
    /// The name of the device, as its vendor reports it.
    fn name(&self) -> String;
    /// Whether the device is emulated on the CPU, so that it cannot be faster than the CPU.
    fn is_software(&self) -> bool;
    /// Prepares function `f` of `program`. Success does not guarantee that every call will be accepted; an
    /// error says why no call can be.
    fn prepare(&self, program: Program, f: FnId) -> Result<Rc<dyn Prepared>, String>;
    /// Waits until all submitted work has finished.
    fn wait(&self) -> Result<(), Refusal>;
    /// The code that the device has compiled, for [`Opener`] in a later run. `None` if the driver does not
    /// support this or nothing was compiled.
    fn compiled(&self) -> Option<Vec<u8>>;
    /// Counters of what the device has done since it was opened.
    fn used(&self) -> DeviceUsage;
}

/// A function that was prepared for a device.
pub trait Prepared {
    /// Runs the function and returns its results after all run-time checks have passed. The arguments are not
    /// changed, but a copy of their elements may stay on the device.
    fn run(&self, args: &[Value], kernel_limits: KernelLimits) -> Result<Vec<Value>, Refusal>;
}

/// When to abandon a call on the device because its kernels do too little work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KernelLimits {
    /// Maximum number of kernels that the loops of the call may start.
    pub kernels: u64,
    /// Number of kernels from which the average size is checked.
    pub from: u64,
    /// Minimum average number of bytes per kernel, checked from `from` kernels on.
    pub bytes: u64,
}

impl KernelLimits {
    /// No limits.
    pub const ENDLESS: KernelLimits = KernelLimits { kernels: u64::MAX, from: u64::MAX, bytes: 0 };

    /// Whether a call that has started `kernels` kernels on `bytes` bytes in all should be abandoned.
    pub fn is_over(self, kernels: u64, bytes: u64) -> bool {
        kernels > self.kernels || kernels >= self.from && bytes / kernels.max(1) < self.bytes
    }
}

/// Why a device did not complete a call.
#[derive(Debug)]
pub enum Refusal {
    /// The device does not support the call, with a reason for the user. The CPU does.
    Unsupported(String),
    /// A check failed or device memory is full. The CPU runs the call again, and reports the error in terms of
    /// the program if it fails there too.
    Failed(String),
    /// The device was lost.
    Lost(String),
    /// The run must stop with this error.
    Stop(Box<Error>),
}

/// Counters of what a device has done, and its memory use.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DeviceUsage {
    /// Kernels started.
    pub kernels: u64,
    /// Command buffers submitted to the driver.
    pub submits: u64,
    /// Bytes copied from the host to the device.
    pub up: u64,
    /// Bytes copied from the device to the host.
    pub down: u64,
    /// Bytes of the arrays passed to kernels: the memory traffic if each kernel accesses each element once.
    pub traffic: u64,
    /// Bytes allocated now.
    pub memory: u64,
    /// Largest number of bytes allocated at one time.
    pub peak: u64,
}

/// What calls of one function did on a device.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DeviceRuns {
    /// Calls that the device completed.
    pub calls: u32,
    /// Kernels started by those calls.
    pub kernels: u64,
    /// Bytes copied to the device for those calls.
    pub up: u64,
    /// Bytes copied from the device during those calls.
    pub down: u64,
    /// Why other calls were not completed on the device.
    pub refused: Option<String>,
}

impl DeviceRuns {
    /// Adds the counters of further calls.
    pub(crate) fn add(&mut self, other: DeviceRuns) {
        self.calls += other.calls;
        self.kernels += other.kernels;
        self.up += other.up;
        self.down += other.down;
        self.refused = other.refused.or_else(|| self.refused.take());
    }
}

/// Opens a device. The arguments are the name of the device to select, if the user gave one, and the code that
/// a device compiled in an earlier run. The error says why no device could be opened.
pub type Opener = fn(Option<&str>, Option<&[u8]>) -> Result<Rc<dyn Device>, String>;

/// The key under which hosts store the code that devices have compiled.
const COMPILED: &str = "pipelines";

/// The state of device selection: the open device, if any, and how it is used.
#[derive(Default)]
pub struct DeviceSelection {
    mode: Mode,
    open: Option<Opener>,
    /// The name of the device to open, if the user gave one.
    pick: Option<String>,
    device: Option<Rc<dyn Device>>,
    /// Why no device could be opened.
    none: Option<String>,
    /// Minimum number of element operations of a call on the device; [`LEAST`] if `None`.
    least: Option<u64>,
    /// Whether calls are forced onto the CPU: an enclosing call was refused by the device, or is being timed on
    /// the CPU.
    pub(crate) cpu_only: bool,
    /// Whether calls are forced onto the device without being timed: an enclosing call is being timed on the
    /// device.
    device_only: bool,
    /// What the device did since [`DeviceSelection::take`] was last called.
    ran: DeviceRuns,
}

impl DeviceSelection {
    /// Sets the function that opens devices, and the name of the device to open, if the user gave one.
    pub fn set_opener(&mut self, open: Opener, pick: Option<String>) {
        (self.open, self.pick) = (Some(open), pick);
    }

    /// Sets the minimum number of element operations of a call on the device. Tests set 0.
    pub fn set_least(&mut self, least: Option<u64>) {
        self.least = least;
    }

    /// Uses a device that is already open.
    pub fn set_open(&mut self, device: Rc<dyn Device>) {
        self.device = Some(device);
    }

    /// The selected mode.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// The device, if one is open.
    pub fn open(&self) -> Option<&Rc<dyn Device>> {
        self.device.as_ref()
    }

    /// Selects the CPU, the GPU, or automatic choice. If `mode` is `gpu` and there is no GPU, this is an error
    /// and the setting does not change.
    pub fn set(&mut self, mode: Mode, host: &mut dyn Host) -> Res<()> {
        self.none = None;
        if mode == Mode::Gpu {
            self.opened(host).map_err(|why| {
                Error::new(codes::DEVICE, why).hint("`auto` uses a GPU where there is one, and the CPU elsewhere")
            })?;
        }
        self.mode = mode;
        Ok(())
    }

    /// The device; opens it if necessary.
    fn opened(&mut self, host: &mut dyn Host) -> Result<Rc<dyn Device>, String> {
        if let Some(d) = &self.device {
            return Ok(d.clone());
        }
        if let Some(why) = &self.none {
            return Err(why.clone());
        }
        let open = self.open.ok_or_else(|| "no GPU: this program was built without".to_owned());
        let opened = open.and_then(|open| open(self.pick.as_deref(), host.kept(COMPILED).as_deref()));
        match opened {
            Ok(d) => Ok(self.device.insert(d).clone()),
            Err(why) => {
                self.none = Some(why.clone());
                Err(why)
            }
        }
    }

    /// Passes the code that the device has compiled to the host, which stores it for later runs.
    pub fn keep(&self, host: &mut dyn Host) {
        if let Some(bytes) = self.device.as_ref().and_then(|d| d.compiled()) {
            host.keep(COMPILED, &bytes);
        }
    }

    /// Whether calls may run on a device.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.mode != Mode::Cpu && !self.cpu_only
    }

    /// Whether every supported call runs on the device without being timed.
    #[inline]
    pub(crate) fn is_wanted(&self) -> bool {
        self.mode == Mode::Gpu && !self.cpu_only
    }

    /// Whether measured times decide where calls run.
    pub(crate) fn is_measured(&self) -> bool {
        self.mode == Mode::Auto && !self.cpu_only
    }

    fn least(&self) -> u64 {
        self.least.unwrap_or(LEAST)
    }

    /// Returns what the device did since the last call of this function, and resets the counters.
    pub(crate) fn take(&mut self) -> DeviceRuns {
        std::mem::take(&mut self.ran)
    }

    /// Closes the device, because a panic may have interrupted it. It is opened again when it is next needed.
    /// Arrays in its memory keep their own reference to it.
    pub(crate) fn reopen(&mut self) {
        self.device = None;
        (self.cpu_only, self.device_only) = (false, false);
    }

    /// Records that the device was lost, with all arrays whose only copy it held. `gradient_target` does not open another
    /// one.
    fn lost(&mut self, why: &str) {
        self.device = None;
        self.mode = Mode::Cpu;
        self.none = Some(why.to_owned());
    }
}
