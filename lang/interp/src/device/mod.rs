//! The seam of a device beside the CPU: which calls go to it, and what happens where it cannot do them.
//!
//! Functions of the main road, operations on large arrays and functions of functions are offered to it where much of their work is on many elements at
//! once ([`crate::ir::work::volume`]). What it gives stays there ([`crate::value::elements`]) until somebody looks at elements. What it cannot do (it says so
//! before anything is changed, or finds a check failed) the CPU does, from the same arguments: specialised code has no effects, so that it may run again.
//!
//! With [`Mode::Auto`] both are measured: a function's calls go to the CPU first; from some milliseconds on the device is tried, and whichever
//! is faster for arguments of about that size does the calls from then on.
//!
//! The device itself is behind traits, as the native compiler is: `lang/gpu` has one.

mod calls;
pub(crate) mod doors;
mod pace;

use crate::error::{Error, Res, codes};
use crate::host::Host;
use crate::value::Value;
use adl_ir::{FnId, Program};
pub use calls::gone;
pub(crate) use calls::{Timed, Way};
pub(crate) use pace::{Next, Pace};
use std::rc::Rc;

/// Where lowered functions run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Mode {
    /// On the CPU.
    #[default]
    Cpu,
    /// On the device, where it can do them and there is enough to do.
    Gpu,
    /// Where they were faster.
    Auto,
}

impl Mode {
    /// By its name.
    pub fn parse(text: &str) -> Option<Mode> {
        Some(match text {
            "cpu" => Mode::Cpu,
            "gpu" => Mode::Gpu,
            "auto" => Mode::Auto,
            _ => return None,
        })
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Cpu => "cpu",
            Mode::Gpu => "gpu",
            Mode::Auto => "auto",
        }
    }
}

/// A device that is open.
pub trait Device {
    /// Its name, as its maker says it.
    fn name(&self) -> String;
    /// Whether it is the CPU in disguise: then nothing is gained by it.
    fn is_software(&self) -> bool;
    /// A function that it can probably do; or why it certainly cannot.
    fn prepare(&self, program: Program, f: FnId) -> Result<Rc<dyn Prepared>, String>;
    /// Waits until all that was started is done.
    fn wait(&self) -> Result<(), Refusal>;
    /// What it has compiled, for the opener of a later run; nothing where it cannot tell, or has compiled nothing.
    fn compiled(&self) -> Option<Vec<u8>>;
    /// What it has done so far.
    fn used(&self) -> Used;
}

/// A function on a device.
pub trait Prepared {
    /// Its results, once no check can fail any more. Arguments stay as they are, but may be on the device as well afterwards.
    fn run(&self, args: &[Value], patience: Patience) -> Result<Vec<Value>, Refusal>;
}

/// When a call is not here after all: its kernels do too little.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Patience {
    /// Kernels that its loops may take.
    pub kernels: u64,
    /// From so many on they are looked at.
    pub from: u64,
    /// Bytes that each must have been given then, on average.
    pub bytes: u64,
}

impl Patience {
    /// Without end.
    pub const ENDLESS: Patience = Patience { kernels: u64::MAX, from: u64::MAX, bytes: 0 };

    /// Whether there is none left after so many kernels, which were given so many bytes.
    pub fn is_over(self, kernels: u64, bytes: u64) -> bool {
        kernels > self.kernels || kernels >= self.from && bytes / kernels.max(1) < self.bytes
    }
}

/// Why a device has not done a call.
#[derive(Debug)]
pub enum Refusal {
    /// It cannot, in words; the CPU can.
    NotHere(String),
    /// A check failed, or memory is full: the CPU may have better luck, and if not says what is wrong in the user's words.
    Failed(String),
    /// It is gone.
    Lost(String),
    /// The run is to stop.
    Stop(Box<Error>),
}

/// What a device has done, and holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Used {
    /// Kernels that were started.
    pub kernels: u64,
    /// Times that kernels went to the driver.
    pub submits: u64,
    /// Bytes that went to the device.
    pub up: u64,
    /// Bytes that came from it.
    pub down: u64,
    /// Bytes of the arrays that kernels were given: what they read and write if each looks at each element once.
    pub traffic: u64,
    /// Bytes that are held now.
    pub memory: u64,
    /// The most bytes that were held at once.
    pub peak: u64,
}

/// What calls of one function did on a device.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Ran {
    /// Calls that it did.
    pub calls: u32,
    /// Kernels of them.
    pub kernels: u64,
    /// Bytes that went to the device for them.
    pub up: u64,
    /// Bytes that came from it in them.
    pub down: u64,
    /// Why it did not do others.
    pub refused: Option<String>,
}

impl Ran {
    /// Adds what other calls did.
    pub(crate) fn add(&mut self, other: Ran) {
        self.calls += other.calls;
        self.kernels += other.kernels;
        self.up += other.up;
        self.down += other.down;
        self.refused = other.refused.or_else(|| self.refused.take());
    }
}

/// Opens a device; which one, where it is said, and what one has compiled in an earlier run; or why there is none, in words.
pub type Opener = fn(Option<&str>, Option<&[u8]>) -> Result<Rc<dyn Device>, String>;

/// The name under which hosts keep what devices have compiled.
const COMPILED: &str = "pipelines";

/// Operations on elements from which on a device is worth its overhead (some tens of microseconds a call).
const LEAST: u64 = 1 << 14;

/// Which device there is, and how it is used.
#[derive(Default)]
pub struct Chosen {
    mode: Mode,
    open: Option<Opener>,
    /// Which one, where it is said.
    pick: Option<String>,
    device: Option<Rc<dyn Device>>,
    /// Why there is none.
    none: Option<String>,
    /// Operations on elements from which on a call goes there; not said, [`LEAST`].
    least: Option<u64>,
    /// Whether calls stay here: those of something larger that was refused there, or is measured here.
    here: bool,
    /// Whether calls go there, measured or not: those of something larger that is measured there.
    there: bool,
    /// What was done there since somebody looked.
    ran: Ran,
}

impl Chosen {
    /// Says how devices are opened, and which one, where that matters.
    pub fn set_opener(&mut self, open: Opener, pick: Option<String>) {
        (self.open, self.pick) = (Some(open), pick);
    }

    /// Operations on elements from which on calls go to the device; for tests, 0.
    pub fn set_least(&mut self, least: Option<u64>) {
        self.least = least;
    }

    /// Uses a device that is open already.
    pub fn set_open(&mut self, device: Rc<dyn Device>) {
        self.device = Some(device);
    }

    /// What is used.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// The device, if one is open.
    pub fn open(&self) -> Option<&Rc<dyn Device>> {
        self.device.as_ref()
    }

    /// Uses the CPU, a GPU or either. Without a GPU, `gpu` is an error, and everything stays as it was.
    pub fn set(&mut self, mode: Mode, host: &mut dyn Host) -> Res<()> {
        self.none = None;
        if mode == Mode::Gpu {
            self.opened(host).map_err(|why| Error::new(codes::DEVICE, why).hint("`auto` uses a GPU where there is one, and the CPU elsewhere"))?;
        }
        self.mode = mode;
        Ok(())
    }

    /// The device, opened now if none is.
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

    /// Hands what the device has compiled to the host, for later runs.
    pub fn keep(&self, host: &mut dyn Host) {
        if let Some(bytes) = self.device.as_ref().and_then(|d| d.compiled()) {
            host.keep(COMPILED, &bytes);
        }
    }

    /// Whether calls may go to a device.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.mode != Mode::Cpu && !self.here
    }

    /// Whether all that a device can do goes there, without being measured.
    #[inline]
    pub(crate) fn is_wanted(&self) -> bool {
        self.mode == Mode::Gpu && !self.here
    }

    /// Whether times decide where calls go.
    pub(crate) fn is_measured(&self) -> bool {
        self.mode == Mode::Auto && !self.here
    }

    fn least(&self) -> u64 {
        self.least.unwrap_or(LEAST)
    }

    /// What was done there since this was last asked.
    pub(crate) fn take(&mut self) -> Ran {
        std::mem::take(&mut self.ran)
    }

    /// Lets go of the open device, which a panic may have left in the middle of something. It is opened anew when it is needed; arrays that are
    /// on it hold it themselves.
    pub(crate) fn reopen(&mut self) {
        self.device = None;
        (self.here, self.there) = (false, false);
    }

    /// The device is gone, with all that was there. `auto` opens no other by itself.
    fn lost(&mut self, why: &str) {
        self.device = None;
        self.mode = Mode::Cpu;
        self.none = Some(why.to_owned());
    }
}
