//! The verifier. A valid function satisfies these invariants:
//!
//! 1. *Binding.* Each variable is bound once, and has an entry in the table of variables.
//! 2. *Scope.* Each variable that is used has been bound before, in the same block or an enclosing one.
//! 3. *Types.* Operands and results of each operation have the types that it requires.
//! 4. *Arity.* Operations, calls and blocks have the required numbers of operands, parameters and results.
//!    Reductions, scans and histograms have at least one component.
//! 5. *Modes.* Linear variables occur only where [`Op::linear_in`] allows it: all of the operands or none, or one
//!    of them. Parameters, results, carried values and arguments are on the right side of the `;`.
//! 6. *Indexing.* Results are linear exactly if operands are. (Operations that may be linear but have no operands,
//!    such as `zero`, are free to choose.) So nothing non-linear depends on a linear variable.
//! 7. *Linearity.* On each path through a function each linear variable is used exactly once. The arms of `if` and
//!    `switch` consume the same linear variables from outside. Uses in a loop's body of variables from outside
//!    count once, since each iteration has a copy.
//! 8. *Non-linear blocks.* The condition of a `while` loop, and the operators of reductions and scans, contain no
//!    linear variables.
//! 9. *Shapes.* A linear operation has the operands that give the shapes of possible symbolic zeros.
//! 10. *References.* Functions, data types and constructors exist.
//!
//! [`verify_linear_b`] checks in addition, for functions that are to be transposed (Linear B, §6 of the paper):
//!
//! 11. Each statement is entirely linear or entirely non-linear. With linear results it has no others (except for
//!     the trip count of
//!     a loop); with none it reads no linear variable, except to drop it.
//!
//! A call of a placeholder ([`Program::reserve`]) is valid; it is checked when the function exists. The arguments
//! and results of a built-in ([`Op::Prim`]) are not checked here.

mod control;
mod modes;
pub(crate) mod types;

use crate::func::{Block, Function, Program, Stmt, Var};
use crate::op::Op;
use crate::print;
use adl_syntax::span::Span;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};

/// A violated invariant.
#[derive(Clone, PartialEq, Debug)]
pub struct Violation {
    /// The number of the invariant, as in the head of this module.
    pub invariant: u8,
    /// The name of the function.
    pub function: String,
    /// The text of the statement, or of what else is at fault.
    pub at: String,
    /// The source location of the statement.
    pub span: Span,
    /// The description, which names the variable.
    pub message: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "invariant {} broken in `{}`, at `{}`: {}", self.invariant, self.function, self.at, self.message)
    }
}

static ON: AtomicBool = AtomicBool::new(cfg!(debug_assertions));

/// Whether the verifier runs after each pass: in debug builds, and after a call of [`always`].
pub fn is_on() -> bool {
    ON.load(Ordering::Relaxed)
}

/// Makes the verifier run after each pass of this process, in release builds too. For tests.
pub fn always() {
    ON.store(true, Ordering::Relaxed);
}

/// Checks invariants 1 to 10 of a function.
pub fn verify(p: &Program, f: &Function) -> Result<(), Vec<Violation>> {
    run(p, f, false)
}

/// Checks invariants 1 to 11 of a function.
pub fn verify_linear_b(p: &Program, f: &Function) -> Result<(), Vec<Violation>> {
    run(p, f, true)
}

/// Checks every function of a program. The error contains all faults, one on each line.
pub fn verify_program(p: &Program) -> Result<(), String> {
    let faults: Vec<String> =
        p.funcs.iter().filter_map(|f| verify(p, f).err()).flatten().map(|f| f.to_string()).collect();
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) }
}

fn run(p: &Program, func: &Function, linear_b: bool) -> Result<(), Vec<Violation>> {
    let n = func.vars.len();
    let mut verifier = Verifier {
        p,
        f: func,
        linear_b,
        faults: Vec::new(),
        bound: vec![false; n],
        scope: vec![false; n],
        at: None,
        lin_banned: false,
    };
    verifier.references_in_types();
    let free = verifier.block(&func.body);
    for x in free {
        verifier.fault(2, format!("{} is used outside of its scope", verifier.name(x)));
    }
    if verifier.faults.is_empty() { Ok(()) } else { Err(verifier.faults) }
}

/// Linear variables from outside that a block uses.
type UsedLinear = BTreeSet<Var>;

struct Verifier<'a> {
    p: &'a Program,
    f: &'a Function,
    linear_b: bool,
    faults: Vec<Violation>,
    bound: Vec<bool>,
    scope: Vec<bool>,
    /// The current statement.
    at: Option<&'a Stmt>,
    /// Whether the current block must not contain linear variables.
    lin_banned: bool,
}

impl<'a> Verifier<'a> {
    fn fault(&mut self, invariant: u8, message: String) {
        let at = self.at.map_or("parameters and results".to_owned(), |s| print::head(self.p, self.f, s));
        let span = self.at.map_or(Span::default(), |s| s.span);
        self.faults.push(Violation { invariant, function: self.f.name.clone(), at, span, message });
    }

    fn name(&self, v: Var) -> String {
        print::var(self.f, v)
    }

    fn known(&self, v: Var) -> bool {
        (v.0 as usize) < self.f.vars.len()
    }

    fn linear(&self, v: Var) -> bool {
        self.known(v) && self.f.linear(v)
    }

    /// Checks invariant 10 for the table of variables.
    fn references_in_types(&mut self) {
        for i in 0..self.f.vars.len() {
            let mut t = &self.f.vars[i].ty;
            while let crate::ty::Ty::Array(e, _) = t {
                t = e;
            }
            if matches!(t, crate::ty::Ty::Data(d) if d.0 as usize >= self.p.datas.len()) {
                self.fault(
                    10,
                    format!("{} has the type {}, which does not exist", self.name(Var(i as u32)), print::ty(t)),
                );
            }
        }
    }

    /// Binds a variable: checks invariant 1. `linear` is the side of the `;` (invariant 5).
    fn bind(&mut self, var: Var, linear: bool, here: &mut Vec<Var>) {
        if !self.known(var) {
            return self.fault(1, format!("{} is not in the table of variables", self.name(var)));
        }
        let i = var.0 as usize;
        if self.bound[i] {
            self.fault(1, format!("{} is bound twice", self.name(var)));
        }
        self.side(var, linear);
        if linear && self.lin_banned {
            self.fault(8, format!("{} is bound in a block that has no linear variables", self.name(var)));
        }
        self.bound[i] = true;
        self.scope[i] = true;
        here.push(var);
    }

    /// Checks invariant 5 for one position.
    fn side(&mut self, v: Var, linear: bool) {
        if self.known(v) && self.linear(v) != linear {
            let (is, place) = if linear { ("not linear", "a linear") } else { ("linear", "a non-linear") };
            self.fault(5, format!("{} is {is}, but stands in {place} place", self.name(v)));
        }
    }

    /// Checks a use: invariants 2, 7 and 8.
    fn take(&mut self, var: Var, taken: &mut UsedLinear) {
        if !self.known(var) || !self.scope[var.0 as usize] {
            return self.fault(2, format!("{} is used outside of its scope", self.name(var)));
        }
        if !self.linear(var) {
            return;
        }
        if self.lin_banned {
            self.fault(8, format!("{} is used in a block that has no linear variables", self.name(var)));
        }
        if !taken.insert(var) {
            self.fault(7, format!("{} is used twice", self.name(var)));
        }
    }

    /// Adds the linear variables that a nested block uses.
    fn take_all(&mut self, from: UsedLinear, taken: &mut UsedLinear) {
        for v in from {
            if !taken.insert(v) {
                self.fault(7, format!("{} is used twice", self.name(v)));
            }
        }
    }

    /// Checks a block. Returns the linear variables that it uses from outside.
    fn block(&mut self, block: &'a Block) -> UsedLinear {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
            let around = self.at;
            let mut here = Vec::new();
            let mut taken = UsedLinear::new();
            for (vs, linear) in [(&block.params, false), (&block.lin_params, true)] {
                vs.iter().for_each(|v| self.bind(*v, linear, &mut here));
            }
            for s in &block.stmts {
                self.at = Some(s);
                self.stmt(s, &mut here, &mut taken);
            }
            self.at = around;
            for (vs, linear) in [(&block.results, false), (&block.lin_results, true)] {
                for v in vs {
                    self.take(*v, &mut taken);
                    self.side(*v, linear);
                }
            }
            for v in here {
                self.scope[v.0 as usize] = false;
                if self.linear(v) && !taken.remove(&v) {
                    self.fault(7, format!("{} is never used", self.name(v)));
                }
            }
            taken
        })
    }

    fn stmt(&mut self, stmt: &'a Stmt, here: &mut Vec<Var>, taken: &mut UsedLinear) {
        let (before, had) = (self.faults.len(), taken.len());
        stmt.op.each_operand(&mut |v| self.take(v, taken));
        let sound = self.faults[before..].iter().all(|f| f.invariant != 2);
        let bound = stmt.outs.iter().chain(&stmt.lin_outs).all(|v| self.known(*v));
        // The types of missing variables cannot be checked.
        if sound && bound {
            self.modes(stmt);
            if let Err(why) = self.references(&stmt.op) {
                self.fault(10, why);
            } else {
                let outs: Vec<Var> = stmt.outs.iter().chain(&stmt.lin_outs).copied().collect();
                if let Err(why) = types::check(self.p, self.f, &stmt.op, &outs) {
                    self.fault(3, why);
                }
            }
        }
        self.control(stmt, sound && bound, taken);
        if self.linear_b {
            self.check_linear_b(stmt, taken.len() > had);
        }
        for (vs, linear) in [(&stmt.outs, false), (&stmt.lin_outs, true)] {
            vs.iter().for_each(|v| self.bind(*v, linear, here));
        }
    }

    /// Checks invariant 10 for an operation.
    fn references(&self, op: &Op) -> Result<(), String> {
        let func = |f: crate::func::FnId| match self.p.funcs.get(f.0 as usize) {
            Some(_) => Ok(()),
            None => Err(format!("there is no function f{}", f.0)),
        };
        match op {
            Op::Call { f, rule, .. } => func(*f).and_then(|()| rule.as_ref().map_or(Ok(()), |r| func(r.func))),
            Op::Construct { data, tag, .. } | Op::Destruct { data, tag, .. } => {
                types::constructor(self.p, *data, *tag).map(|_| ())
            }
            _ => Ok(()),
        }
    }
}
