//! Decides which calls of lowered functions run on the device, runs them there, and records their cost.

use super::timing::NextTarget;
use super::{DeviceRuns, KernelLimits, Mode, Prepared, Refusal};
use crate::error::{Error, Res, codes};
use crate::fault;
use crate::ir::cost_model::device_cost::Volume;
use crate::ir::native::{CompileState, OnDevice, state_of};
use crate::limits::device_dispatch::{KERNELS, MANY, REFUSALS, STEP, WORTH};
use crate::value::Value;
use crate::vm::Machine;
use crate::vm::code::Code;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// A call that was assigned to the device.
pub(crate) struct DeviceCall {
    prepared: Rc<dyn Prepared>,
    wide: u64,
    /// Whether the time of the call is recorded in the function's profile.
    measured: bool,
}

/// A call that runs on the CPU and whose time is recorded in the function's profile.
pub(crate) struct CpuTimer {
    start: Instant,
    wide: u64,
}

/// The target of a call.
pub(crate) enum CallTarget {
    /// The device.
    Device(DeviceCall),
    /// The CPU; the time is recorded if a [`CpuTimer`] is given.
    Cpu(Option<CpuTimer>),
}

impl Machine {
    /// Chooses the target of a call of a lowered function.
    #[inline]
    pub(crate) fn call_target(&mut self, code: &Code, args: &[Value]) -> CallTarget {
        if !self.device.is_on() || self.check_nan {
            return CallTarget::Cpu(None);
        }
        state_of(code).map_or(CallTarget::Cpu(None), |state| self.chosen_way(state, args))
    }

    #[cold]
    fn chosen_way(&mut self, state: &CompileState, args: &[Value]) -> CallTarget {
        let Some(volume) = state.volume(args) else { return CallTarget::Cpu(None) };
        let Some(wide) = self.suits(volume, args) else { return CallTarget::Cpu(None) };
        let next = match self.device.mode {
            Mode::Cpu => return CallTarget::Cpu(None),
            Mode::Gpu => NextTarget::Device,
            Mode::Auto if self.device.device_only => NextTarget::Device,
            Mode::Auto => state.times(|p| p.next(wide)),
        };
        let measured = match next {
            NextTarget::Cpu => return CallTarget::Cpu(None),
            NextTarget::MeasureCpu => return CallTarget::Cpu(Some(CpuTimer { start: Instant::now(), wide })),
            NextTarget::MeasureDevice => true,
            NextTarget::Device => false,
        };
        match self.prepared(state) {
            Ok(prepared) => CallTarget::Device(DeviceCall { prepared, wide, measured }),
            Err(why) => {
                state.times(|p| p.refused(wide));
                self.device.ran.add(DeviceRuns { refused: Some(why), ..DeviceRuns::default() });
                CallTarget::Cpu(None)
            }
        }
    }

    /// The estimated work of a call, if it is worth a device: there is enough work, and it comes in large
    /// kernels. Arguments that are only on the device count as work, because running there saves their
    /// transfer.
    fn suits(&self, volume: Volume, args: &[Value]) -> Option<u64> {
        let least = self.device.least();
        let away: u64 = args.iter().map(away).sum();
        let wide = volume.wide.saturating_add(away);
        (least == 0 || wide >= least && wide / volume.steps.max(1) >= STEP.min(least)).then_some(wide)
    }

    fn prepared(&mut self, state: &CompileState) -> Result<Rc<dyn Prepared>, String> {
        if let Some(ready) = state.on_device() {
            return match ready {
                OnDevice::Ready(p, refusals) if refusals < REFUSALS => Ok(p),
                OnDevice::Ready(..) => Err("it was refused there again and again".to_owned()),
                OnDevice::Never(why) => Err(why),
            };
        }
        let device = self.device.opened(&mut *self.host)?;
        if self.device.mode == Mode::Auto && device.is_software() {
            return Err(format!("{} is the CPU", device.name()));
        }
        let (program, f) = state.unlowered().ok_or("a function that is not whole")?;
        let made = device.prepare(program, f);
        state.set_on_device(match &made {
            Ok(p) => OnDevice::Ready(p.clone(), 0),
            Err(why) => OnDevice::Never(why.clone()),
        });
        made
    }

    /// Runs a call on the device. Returns `None` if the CPU must run it instead.
    pub(crate) fn run_on_device(&mut self, code: &Code, call: DeviceCall, args: &[Value]) -> Res<Option<Vec<Value>>> {
        let Some(device) = self.device.device.clone() else { return Ok(None) };
        let (before, start) = (device.used(), Instant::now());
        fault::point(fault::PanicPoint::Device);
        let mut out = call.prepared.run(args, self.kernel_limits(&call));
        if call.measured
            && out.is_ok()
            && let Err(e) = device.wait()
        {
            out = Err(e);
        }
        let after = device.used();
        let mut ran = DeviceRuns {
            calls: 1,
            kernels: after.kernels - before.kernels,
            up: after.up - before.up,
            down: after.down - before.down,
            refused: None,
        };
        let state = state_of(code);
        let out = match out {
            Ok(outs) => {
                if let Some(state) = state {
                    self.record_device_call(state, &call, ran.kernels, start.elapsed());
                }
                Some(outs)
            }
            Err(Refusal::Stop(e)) => return Err(e),
            Err(e) => {
                let why = self.refused(e);
                (ran.calls, ran.refused) = (0, Some(why.clone()));
                if let Some(state) = state {
                    state.refuse();
                    if ran.kernels >= MANY {
                        state.set_on_device(OnDevice::Never(why));
                    }
                    state.times(|p| p.refused(call.wide));
                }
                None
            }
        };
        self.device.ran.add(ran);
        Ok(out)
    }

    /// Why the device did not complete a call. If the device was lost, no further calls are sent to it.
    fn refused(&mut self, e: Refusal) -> String {
        match e {
            Refusal::Unsupported(why) | Refusal::Failed(why) => why,
            Refusal::Stop(e) => e.diag.message.clone(),
            Refusal::Lost(why) => {
                self.device.lost(&why);
                self.host.warn(&format!(
                    "{why}; what runs from now on runs on the CPU, and arrays that were only there are gone\n"
                ));
                why
            }
        }
    }

    /// How many kernels the host may start for a call's loops before the device is clearly slower than the CPU.
    fn kernel_limits(&self, call: &DeviceCall) -> KernelLimits {
        match self.device.least() {
            0 => KernelLimits::ENDLESS,
            least => KernelLimits {
                kernels: (call.wide / WORTH.min(least)).max(MANY),
                from: MANY,
                bytes: 8 * STEP.min(least),
            },
        }
    }

    /// Records the cost of a call on the device. A function that starts far more kernels than estimated is
    /// excluded from the device, because each of its kernels does too little work.
    fn record_device_call(&self, state: &CompileState, call: &DeviceCall, kernels: u64, time: Duration) {
        if call.measured {
            state.times(|p| p.took(call.wide, true, time));
        }
        let worth = if kernels >= MANY { WORTH } else { STEP };
        if kernels >= KERNELS && call.wide / kernels < worth.min(self.device.least()) {
            state.set_on_device(OnDevice::Never(format!("{kernels} kernels for about {} operations", call.wide)));
        }
    }

    /// Records how long a call took on the CPU.
    pub(crate) fn timed(&mut self, code: &Code, t: Option<CpuTimer>) {
        if let (Some(t), Some(state)) = (t, state_of(code)) {
            state.times(|p| p.took(t.wide, false, t.start.elapsed()));
        }
    }

    /// Runs `run` with every supported call sent to the device. Also returns whether any call ran there and, if
    /// `wait` is set, whether the device finished without an error.
    pub(crate) fn device_only<T>(&mut self, wait: bool, run: impl FnOnce(&mut Machine) -> T) -> (T, bool) {
        let (device_only, calls) = (std::mem::replace(&mut self.device.device_only, true), self.device.ran.calls);
        let out = run(self);
        self.device.device_only = device_only;
        let done =
            self.device.ran.calls > calls && self.device.device.as_ref().is_some_and(|d| !wait || d.wait().is_ok());
        (out, done)
    }

    /// Selects the CPU, the GPU, or automatic choice by measured time. If `mode` is `gpu` and there is no GPU,
    /// this is an error and the setting does not change.
    pub fn set_device(&mut self, mode: Mode) -> Res<()> {
        self.device.set(mode, &mut *self.host)
    }
}

/// The number of elements of an array that exists only on the device; 0 for other values.
fn away(v: &Value) -> u64 {
    match v {
        Value::Array(a) if a.is_remote() => a.shape.iter().product::<usize>() as u64,
        _ => 0,
    }
}

/// The error for an array whose only copy was on a device that was lost.
pub fn gone(why: &str) -> Box<Error> {
    Error::new(codes::DEVICE, format!("an array that was only on the GPU is gone: {why}"))
        .hint("make it again; `:device gpu` opens the GPU again")
}
