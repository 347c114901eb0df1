//! The interface for programs that use adl as a library: values of expressions, and calls of functions.

use crate::Session;
use crate::run::Outcome;
use adl_interp::value::Value;
use adl_syntax::diag::Diagnostic;

impl Session {
    /// The value of an expression. Names that the text defines or imports before it stay in scope.
    pub fn value(&mut self, text: &str) -> Result<Value, Vec<Diagnostic>> {
        let mut out = self.stoppable(|s| s.eval_entry(text)).unwrap_or_else(|d| Outcome::of(*d));
        if !out.ok() {
            return Err(out.diags);
        }
        Ok(out.echoes.pop().map_or(Value::Unit, |e| e.shown))
    }

    /// Calls an adl function. The session is unchanged afterwards, even after an error.
    pub fn call(&mut self, f: &Value, args: &[Value]) -> Result<Value, Box<Diagnostic>> {
        self.guarded(|s| s.machine.apply(f, args)).and_then(|done| done.map_err(|e| Box::new(e.diag)))
    }
}
