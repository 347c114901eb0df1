//! J of reductions, scans and histograms (*Reverse-Mode AD of Multi-Reduce and Scan in Futhark*).
//!
//! The primal statement keeps its parallel form. It is followed by the coefficients, computed by operations on
//! entire arrays, by further scans, or by stateless loops; and by linear statements that read them, whose
//! transposes are the paper's reverse rules. So one rule gives both directions. Rules also nest, because the
//! coefficients are ordinary code, exact as functions of the inputs.
//!
//! - `operator`: classifies operators: independent components, `+`, `*`, `min`, `max`, elementwise operators on
//!   arrays.
//! - `inline`: inlines calls in operators. `partials`: their sparse partial derivatives. `laws`: tests
//!   associativity.
//! - `choice`: operators that return one of their arguments. `reduce` (§3), `scan` (§5), `by_index` (§4):
//!   the rules. `product`: products of the other elements (Fig. 3).
//! - `inverse`: operators with an inverse (§3.3, §4.2.4).
//! - [`interchange`]: operators that act elementwise on arrays (§3.2.4, §4.2.5, §5.3.2); also used by the optimiser.
//! - `as_loop`: the equivalent loop, which is the rule if no other applies.
//!
//! [`crate::Ad::decisions`] records which rule was chosen where, and why no faster one applied.

mod as_loop;
mod by_index;
mod choice;
mod inline;
mod inverse;
mod laws;
mod partials;
mod product;
mod reduce;
mod scan;

pub use crate::results::Decision;
pub(crate) use adl_opt::operators::has_output;
use adl_opt::{interchange, operators};

use crate::jvp::J;
use adl_ir::{Block, Op, Soac, SoacKind, Stmt, Ty, Var};
use adl_prim::ArrayFn;
use adl_specialise::Unsupported;
use adl_syntax::span::Span;

/// A reduction or scan whose components depend on each other. Calls in the operator have been inlined.
pub(crate) struct SoacGroup {
    pub kind: SoacKind,
    pub op: Block,
    pub neutral: Vec<Var>,
    pub arrays: Vec<Var>,
    pub outs: Vec<Var>,
}

impl SoacGroup {
    /// The name of the construct in the language.
    fn name(&self) -> &'static str {
        match self.kind {
            SoacKind::Reduce => "reduce",
            SoacKind::Scan => "scan",
            SoacKind::ScanExclusive => "scan_exclusive",
        }
    }
}

impl crate::Ad {
    /// Records the decision for this construct.
    pub(crate) fn decide(&mut self, span: Span, construct: &'static str, rule: &'static str, why: &str) {
        let d = Decision { span, construct, rule, why: why.to_owned() };
        if !self.decisions.contains(&d) {
            self.decisions.push(d);
        }
    }
}

impl J<'_> {
    /// J of a reduction or scan.
    pub(crate) fn soac(&mut self, statement: &Stmt, soac: &Soac) -> Result<(), Unsupported> {
        if !statement.outs.iter().any(|o| self.act.has(*o)) {
            self.b.push(statement.clone());
            return Ok(());
        }
        let op = self.inlined(&soac.op);
        let whole = SoacGroup {
            kind: soac.kind,
            op,
            neutral: soac.neutral.clone(),
            arrays: soac.arrays.clone(),
            outs: statement.outs.clone(),
        };
        if let Some(why) = self.why_only_loop(&whole) {
            return self.as_loop(statement, soac, whole.name(), why);
        }
        let inlined = Op::Soac(Box::new(Soac { op: whole.op.clone(), ..soac.clone() }));
        let Some(parts) = interchange::parts(&mut self.b, &inlined) else { return self.group(&whole, statement, soac) };
        for (places, op) in parts {
            let stmt = Stmt {
                outs: places.iter().map(|k| statement.outs[*k]).collect(),
                lin_outs: Vec::new(),
                op,
                span: statement.span,
            };
            match &stmt.op {
                Op::Soac(c) if stmt.outs.iter().any(|o| self.act.has(*o)) => {
                    let g = SoacGroup {
                        kind: c.kind,
                        op: self.copied_operator(&c.op),
                        neutral: c.neutral.clone(),
                        arrays: c.arrays.clone(),
                        outs: stmt.outs.clone(),
                    };
                    self.group(&g, &stmt, c)?;
                }
                _ => self.b.push(stmt),
            }
        }
        Ok(())
    }

    /// The reason why only the rule for loops applies, if so.
    fn why_only_loop(&self, group: &SoacGroup) -> Option<&'static str> {
        if self.ad.only_loops {
            return Some("only loops are wanted");
        }
        let flat = |v: &Var| match self.b.func.ty(*v) {
            Ty::Array(e, _) => e.is_flat(),
            t => t.is_flat(),
        };
        if !group.neutral.iter().chain(&group.arrays).all(flat) {
            return Some("its elements are no numbers or arrays of numbers");
        }
        if operators::has_output(&group.op) {
            return Some("its operator prints");
        }
        None
    }

    fn group(&mut self, group: &SoacGroup, stmt: &Stmt, soac: &Soac) -> Result<(), Unsupported> {
        if self.act.block_reads(&group.op) {
            return self.as_loop(stmt, soac, group.name(), "its operator captures a variable that is differentiated");
        }
        let known = operators::known(&self.b.func, &group.op).or_else(|| self.is_sum(&group.op));
        let scalars = group.neutral.iter().all(|v| self.b.ty(*v).rank() == 0);
        if !scalars && known != Some(adl_prim::Bin::Add) {
            let whole = Op::Soac(Box::new(Soac {
                kind: group.kind,
                op: group.op.clone(),
                neutral: group.neutral.clone(),
                arrays: group.arrays.clone(),
            }));
            let uniform = &self.uniform;
            if let Some(op) = interchange::by_columns(&mut self.b, &whole, &|v| uniform.get(&v).cloned()) {
                self.decide(
                    stmt.span,
                    group.name(),
                    "the interchange with the map inside (§3.2.4, §5.3.2), then column by column",
                    "",
                );
                return self.derive(&Stmt { outs: group.outs.clone(), lin_outs: Vec::new(), op, span: stmt.span });
            }
        }
        match group.kind {
            SoacKind::Reduce => self.reduce(group, stmt, soac, known),
            SoacKind::Scan | SoacKind::ScanExclusive => self.scan(group, stmt, known),
        }
    }

    /// An operator whose partial derivatives are both 1 is treated as `+`, however it is written.
    fn is_sum(&mut self, op: &Block) -> Option<adl_prim::Bin> {
        let number = |v: &Var| self.b.ty(*v).rank() == 0 && self.b.ty(*v).is_real();
        if op.results.len() != 1 || !op.params.iter().all(number) || !operators::elementwise(&self.b.func, op) {
            return None;
        }
        // The code emitted here is discarded.
        self.b.open();
        let units: Vec<_> = (0..2).map(partials::unit).collect();
        let rows = self.with_partials(op, &op.params, &units);
        self.b.close(Vec::new(), Vec::new());
        let ones = rows.iter().all(|(_, row)| row.len() == 2 && row.values().all(|c| *c == partials::Coef::One));
        ones.then_some(adl_prim::Bin::Add)
    }

    /// The fallback rule, which always applies: the equivalent loop is differentiated.
    fn as_loop(&mut self, s: &Stmt, c: &Soac, construct: &'static str, why: &str) -> Result<(), Unsupported> {
        self.decide(s.span, construct, "the loop that it is, backwards", why);
        self.b.open();
        as_loop::reduction(&mut self.b, s, c);
        let made = self.b.close(Vec::new(), Vec::new());
        self.derive_all(&made.stmts)
    }

    /// J of `cumprod`, as a scan.
    pub(crate) fn cumprod(&mut self, s: &Stmt, a: Var) -> Result<(), Unsupported> {
        let one = self.b.real(1.0, a);
        let elem = self.b.ty(a).elem();
        let op = operators::product(&mut self.b, &elem);
        self.b.push(s.clone());
        self.decide(s.span, "cumprod", "scan by *, a linear recurrence (§5.2, Fig. 7)", "");
        let g = SoacGroup { kind: SoacKind::Scan, op, neutral: vec![one], arrays: vec![a], outs: s.outs.clone() };
        self.recurrence(&g)
    }

    /// Records a decision.
    pub(crate) fn decide(&mut self, span: Span, construct: &'static str, rule: &'static str, why: &str) {
        self.ad.decide(span, construct, rule, why);
    }

    /// J of statements that were not in the source.
    pub(crate) fn derive_all(&mut self, stmts: &[Stmt]) -> Result<(), Unsupported> {
        stmts.iter().try_for_each(|s| self.derive(s))
    }

    /// A linear zero.
    fn lin_zero(&mut self, ty: Ty) -> Var {
        self.b.lin(Op::Zero(ty.clone()), ty)
    }

    /// The sum of two linear values, either of which may be missing.
    fn lin_sum(&mut self, a: Option<Var>, b: Option<Var>) -> Option<Var> {
        match (a, b) {
            (Some(a), Some(b)) => Some(self.b.bin(adl_prim::Bin::Add, a, b)),
            (a, b) => a.or(b),
        }
    }

    /// Sets the tangent of `y`: zero if `t` is `None`.
    fn set_tangent(&mut self, y: Var, t: Option<Var>) {
        if let Some(t) = t {
            self.tan.insert(y, t);
        }
    }

    fn iota(&mut self, n: Var) -> Var {
        self.b.prim(ArrayFn::Iota, &[n], Ty::shape())
    }

    /// A copy of an operator with new variables.
    fn copied_operator(&mut self, op: &Block) -> Block {
        self.b.copy_block(op, &mut std::collections::HashMap::new())
    }

    /// The operator with its arguments exchanged.
    fn flipped(&mut self, op: &Block) -> Block {
        let mut op = self.copied_operator(op);
        let half = op.params.len() / 2;
        op.params.rotate_left(half);
        op
    }
}
