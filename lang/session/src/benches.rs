//! `adl bench`: the `bench "name" = e` items of a file, timed.

use crate::Session;
use crate::imports::RunStep;
use adl_interp::host::Host;
use adl_interp::value::{Value, show};
use adl_syntax::diag::Diagnostic;
use adl_typing::core::{Expr, ExprKind, Item, Lambda, Local, Param};
use adl_typing::ty::Ty;
use std::cell::RefCell;
use std::rc::Rc;

/// Times of one item, in seconds for one evaluation.
#[derive(Clone, Debug)]
pub struct Timing {
    /// Its name.
    pub name: String,
    /// The median of the samples.
    pub median: f64,
    /// The first and third quartile of the samples.
    pub quartiles: (f64, f64),
    /// The fastest sample.
    pub min: f64,
    /// The number of samples.
    pub samples: usize,
    /// The number of evaluations, excluding warm-up.
    pub iterations: u64,
}

/// Limits of the measuring time.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Seconds of warm-up before measuring.
    pub warm_up: f64,
    /// Seconds of measuring (at least one evaluation).
    pub measure: f64,
    /// The maximal number of samples.
    pub samples: usize,
}

impl Effort {
    /// The limits of `adl bench`.
    pub const NORMAL: Effort = Effort { warm_up: 0.1, measure: 1.0, samples: 100 };
    /// The limits of `:time` after the first evaluation.
    pub const SHORT: Effort = Effort { warm_up: 0.0, measure: 0.3, samples: 50 };
}

impl Session {
    /// Runs a file, and times each `bench` item whose name contains `filter` where it occurs. `each` is called with
    /// every result immediately.
    pub fn run_benches(
        &mut self,
        name: &str,
        bytes: &[u8],
        filter: &str,
        effort: Effort,
        mut each: impl FnMut(&Timing),
    ) -> Vec<Diagnostic> {
        self.stoppable(|s| s.run_benches_here(name, bytes, filter, effort, &mut each)).unwrap_or_else(|d| vec![*d])
    }

    fn run_benches_here(
        &mut self,
        name: &str,
        bytes: &[u8],
        filter: &str,
        effort: Effort,
        each: &mut dyn FnMut(&Timing),
    ) -> Vec<Diagnostic> {
        let env = self.env.clone();
        let checked = self.check_bytes(name, bytes, env);
        let mut diags = checked.diags;
        if diags.iter().any(Diagnostic::is_error) {
            return diags;
        }
        for e in &checked.entries {
            let done = match &e.step {
                RunStep::Item(Item::Bench(name, _)) if !name.contains(filter) => Ok(()),
                RunStep::Item(Item::Bench(name, body)) => self.time_item(name, body, effort).map(|t| {
                    self.machine.host.flush();
                    each(&t);
                }),
                _ => self.run_entries(std::slice::from_ref(e)),
            };
            if let Err(d) = done {
                diags.push(*d);
                break;
            }
        }
        diags
    }

    /// Times an expression that has been evaluated once and defines nothing. Its output and files are discarded. `None`
    /// if the text is not an expression, or if it fails.
    pub fn time_again(&mut self, text: &str, effort: Effort) -> Option<Timing> {
        let body = self.expression_of(text).ok()?;
        let slot: HostSlot = Rc::default();
        *slot.borrow_mut() = Some(std::mem::replace(&mut self.machine.host, Box::new(Muted(slot.clone()))));
        let timing = self.guarded(|s| s.time_item(text, &body, effort)).and_then(|done| done);
        if let Some(host) = slot.take() {
            self.machine.host = host;
        }
        timing.ok()
    }

    fn time_item(&mut self, name: &str, body: &Expr, effort: Effort) -> Result<Timing, Box<Diagnostic>> {
        let f = self.machine.eval(&thunk(body), None).map_err(|e| Box::new(e.diag))?;
        let run = |s: &mut Session, n: u64| -> Result<f64, Box<Diagnostic>> {
            let start = s.machine.host.time();
            for _ in 0..n {
                s.machine.apply(&f, &[Value::Unit]).map_err(|e| Box::new(e.diag))?;
            }
            // Work that a device has only started must not be counted. Its errors are reported when results are read.
            _ = s.wait_for_device();
            Ok(s.machine.host.time() - start)
        };
        // The warm-up doubles the number of evaluations until it knows how long one takes.
        let (mut n, mut spent) = (1u64, 0.0);
        let once = loop {
            let t = run(self, n)?;
            spent += t;
            if spent >= effort.warm_up || n >= 1 << 30 {
                break t / n as f64;
            }
            n *= 2;
        };
        let samples = ((effort.measure / once.max(1e-9)) as usize).clamp(1, effort.samples);
        let batch = ((effort.measure / samples as f64 / once.max(1e-9)) as u64).max(1);
        let mut times = Vec::with_capacity(samples);
        for _ in 0..samples {
            times.push(run(self, batch)? / batch as f64);
        }
        times.sort_by(f64::total_cmp);
        let at = |q: f64| times[((times.len() - 1) as f64 * q).round() as usize];
        Ok(Timing {
            name: name.to_owned(),
            median: at(0.5),
            quartiles: (at(0.25), at(0.75)),
            min: times[0],
            samples,
            iterations: batch * samples as u64,
        })
    }

    /// The value of a checked expression as text, or its error.
    pub(crate) fn show_core(&mut self, e: &Expr) -> Result<String, Box<Diagnostic>> {
        self.machine.eval(e, None).map(|v| show::show(&v)).map_err(|e| Box::new(e.diag))
    }
}

type HostSlot = Rc<RefCell<Option<Box<dyn Host>>>>;

/// A host that reads like another one, but discards all output.
struct Muted(HostSlot);

impl Muted {
    fn ask<T: Default>(&self, f: impl FnOnce(&mut dyn Host) -> T) -> T {
        self.0.borrow_mut().as_mut().map_or_else(T::default, |h| f(&mut **h))
    }
}

impl Host for Muted {
    fn read(&mut self, path: &str) -> Result<Vec<u8>, String> {
        self.0.borrow_mut().as_mut().map_or_else(|| Err(String::new()), |h| h.read(path))
    }
    fn read_at(&mut self, path: &str, from: u64, len: usize) -> Result<Vec<u8>, String> {
        self.0.borrow_mut().as_mut().map_or_else(|| Err(String::new()), |h| h.read_at(path, from, len))
    }
    fn length(&mut self, path: &str) -> Result<u64, String> {
        self.0.borrow_mut().as_mut().map_or_else(|| Err(String::new()), |h| h.length(path))
    }
    fn list(&mut self, path: &str) -> Option<Vec<String>> {
        self.ask(|h| h.list(path))
    }
    fn size(&mut self, path: &str) -> usize {
        self.ask(|h| h.size(path))
    }
    fn write(&mut self, _: &str, _: &[u8]) -> Result<(), String> {
        Ok(())
    }
    fn identity(&mut self, path: &str) -> Option<String> {
        self.ask(|h| h.identity(path))
    }
    fn display(&mut self, _: &Value, _: &str) {}
    fn args(&mut self) -> Vec<String> {
        self.ask(|h| h.args())
    }
    fn env(&mut self, name: &str) -> Option<String> {
        self.ask(|h| h.env(name))
    }
    fn time(&mut self) -> f64 {
        self.ask(|h| h.time())
    }
    fn free_memory(&mut self) -> Option<u64> {
        self.ask(|h| h.free_memory())
    }
    fn show(&mut self, _: &Value, _: bool) -> Result<(), String> {
        Ok(())
    }
    fn watch(&mut self, _: &str, _: f64) -> Result<(), String> {
        Ok(())
    }
}

/// `fun () -> expr`. If `expr` is itself a function of `()`, the body calls it.
fn thunk(expr: &Expr) -> Expr {
    let unit = |kind| Expr { kind: Box::new(kind), ty: Ty::Unit, span: expr.span };
    // A number that no local of the item uses.
    let param = Param { local: Local(u32::MAX), name: None, ty: Ty::Unit };
    let body = match &expr.ty {
        Ty::Fun(from, to) if **from == Ty::Unit => {
            let argument = unit(ExprKind::Local(param.local));
            Expr { kind: Box::new(ExprKind::App(expr.clone(), vec![argument])), ty: (**to).clone(), span: expr.span }
        }
        _ => expr.clone(),
    };
    let ty = Ty::Fun(Rc::new(Ty::Unit), Rc::new(body.ty.clone()));
    let lambda = Lambda { params: vec![param], body, linear: false, name: None };
    Expr { kind: Box::new(ExprKind::Lam(Rc::new(lambda))), ty, span: expr.span }
}
