//! The accelerator device: its selection, and statistics of its use.

use crate::Session;
use adl_interp::device::{Device, DeviceRuns, DeviceUsage, Mode};
use adl_interp::ir::derive::residuals_report::size;
use adl_syntax::diag::Diagnostic;
use std::rc::Rc;

impl Drop for Session {
    fn drop(&mut self) {
        self.machine.device.keep(&mut *self.machine.host);
    }
}

impl Session {
    /// Selects the CPU, a GPU, or whichever is faster (`cpu`, `gpu`, `auto`). If there is no GPU, `gpu` is an error and
    /// the setting is unchanged.
    pub fn set_device(&mut self, name: &str) -> Result<(), Box<Diagnostic>> {
        let mode = Mode::parse(name).unwrap_or_default();
        self.machine.set_device(mode).map_err(|e| Box::new(e.diag))
    }

    /// The current setting: `cpu`, `gpu` or `auto`.
    pub fn device(&self) -> &'static str {
        self.machine.device.mode().name()
    }

    /// The setting, the device's name and its statistics, as lines.
    pub fn device_lines(&self) -> Vec<String> {
        let mode = self.device();
        let Some(gpu) = self.machine.device.open() else {
            return vec![match self.machine.device.mode() {
                Mode::Auto => format!("{mode}: no GPU is open; one is, when something takes long enough"),
                Mode::Cpu | Mode::Gpu => mode.to_owned(),
            }];
        };
        let usage = gpu.used();
        vec![
            if self.machine.device.mode() == Mode::Cpu {
                format!("cpu ({} is open)", gpu.name())
            } else {
                format!("{mode}: {}", gpu.name())
            },
            format!(
                "{} kernels in {} batches; {} sent, {} fetched; {} held now, {} at most",
                usage.kernels,
                usage.submits,
                size(usage.up),
                size(usage.down),
                size(usage.memory),
                size(usage.peak)
            ),
        ]
    }

    /// Statistics of the open device; `None` if none is open.
    pub fn device_used(&self) -> Option<DeviceUsage> {
        self.machine.device.open().map(|d| d.used())
    }

    /// Waits until the device has completed all work that was started, as measurements require.
    ///
    /// # Errors
    /// An error of a kernel, or the loss of the device, as text.
    pub fn wait_for_device(&self) -> Result<(), String> {
        self.machine.device.open().map_or(Ok(()), |d| d.wait().map_err(|e| format!("{e:?}")))
    }

    /// Uses a device that is already open.
    pub fn set_open_device(&mut self, device: Rc<dyn Device>) {
        self.machine.device.set_open(device);
    }

    /// For tests: the number of elementwise operations from which calls go to the device.
    pub fn set_device_least(&mut self, least: u64) {
        self.machine.device.set_least(Some(least));
    }
}

/// What the device did for a function's calls, as text; `None` if it was not considered.
pub(crate) fn ran(r: &DeviceRuns) -> Option<String> {
    let done = (r.calls > 0)
        .then(|| format!("on the GPU ({} kernels, {} sent, {} fetched)", r.kernels, size(r.up), size(r.down)));
    let not = r.refused.as_ref().map(|why| {
        format!(
            "not on the GPU: {}",
            why.strip_prefix("not on this GPU: ").or(why.strip_prefix("on the GPU: ")).unwrap_or(why)
        )
    });
    match (done, not) {
        (Some(d), Some(n)) => Some(format!("{d}; some {n}")),
        (d, n) => d.or(n),
    }
}
