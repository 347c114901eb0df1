//! `cost f x`: the work of a function and of its derivatives, counted by the reference evaluator for each
//! source line.

use super::residuals_report::{int, ints, record, table, texts};
use super::resolve_plan;
use super::{NotCompiled, Specialized, entered, not};
use crate::ad::linear::LinearMap;
use crate::device::DeviceRuns;
use crate::error::{Error, Res, codes};
use crate::ir::evaluator_values::{val, value};
pub(super) use crate::limits::ir_derive_cost::FUEL;
use crate::ops::data_text;
use crate::polling;
use crate::upcalls::{CollectiveSite, Upcalls};
use crate::value::Value;
use crate::value::each::laid_out;
use crate::vm::Machine;
use adl_ad::segment::Segments;
use adl_ad::soac::Decision;
use adl_ad::unzip;
use adl_ir::eval::{Arr, Evaluator, Host, WorkCounts};
use adl_ir::{Collective, FnId, Op, Program, Stmt, Ty, Val, Var};
use adl_prim::Prim;
use adl_specialise::Unsupported;
use adl_syntax::span::Span;
use std::collections::{BTreeMap, HashSet};
use std::rc::Rc;

/// Work of one source line.
#[derive(Default)]
struct LineCost {
    primal: u64,
    /// Work of the primal half: the value, and the residuals of the derivative.
    forward: u64,
    tangent: u64,
    adjoint: u64,
    bytes: u64,
}

/// Total work, and the bounds from theory.
struct Cost {
    function: String,
    primal: u64,
    tangent: u64,
    adjoint: u64,
    bytes: u64,
    /// Number of scalars in the results.
    results: u64,
    /// Extra work that transposition may add (see `adl_ir::eval::cost::beyond`).
    beyond: u64,
    lines: BTreeMap<(u32, usize), LineCost>,
    sources: BTreeMap<(u32, usize), String>,
    /// The differentiation rule of each reduction, scan and histogram, in source order.
    rules: Vec<(usize, Decision)>,
    /// Arithmetic operations of the function and of its gradient. `ends` is the number of scalars in arguments
    /// and results.
    arithmetic: (u64, u64),
    ends: u64,
    /// Messages to other ranks: for the value, and for the value with its gradient. Then the bytes of the latter.
    messages: [u64; 3],
    /// What a device did for the value and the gradient, if one is used.
    device: DeviceRuns,
}

/// The record that `cost f x` returns.
pub(crate) fn cost(m: &mut Machine, f: &Value, x: &Value) -> Res<Value> {
    match super::attempt(m, |m| counted(m, f, x))? {
        Ok(c) => Ok(c.record()),
        Err(NotCompiled(u)) => {
            Err(Error::new(codes::PLAN, format!("the work of this function cannot be counted, because of {}", u.why)))
        }
    }
}

fn counted(machine: &mut Machine, func: &Value, input: &Value) -> Res<Result<Cost, NotCompiled>> {
    let args = std::slice::from_ref(input);
    if machine.ad.depth() > 0 {
        return Ok(Err(not("a derivative around it")));
    }
    let (specialized, leaves) = or_not_compiled!(entered(machine, func, args));
    let rows = match resolve_plan::study(machine, &specialized, &leaves, Segments::None)? {
        Ok(s) => {
            resolve_plan::forecast(machine, &s, &unzip::UnzipPlan::store_all()).map(|f| f.rows).unwrap_or_default()
        }
        Err(_) => Vec::new(),
    };
    let vals: Option<Vec<Val>> = leaves.iter().map(val).collect();
    let Some(vals) = vals else { return Ok(Err(not("an argument that the evaluator has no value for"))) };
    // The evaluator borrows the program and, as its host, the machine; so the program is taken out of the
    // machine.
    let mut compiled_ad = std::mem::take(&mut machine.compiled_ad);
    let out = passes(&mut compiled_ad, machine, &specialized, &vals);
    machine.compiled_ad = compiled_ad;
    polling::poll()?;
    let mut c = or_not_compiled!(out);
    c.function = super::name_of(func);
    c.rules = rules(machine, specialized.entry.func);
    c.device = on_device(machine, func, input)?;
    for r in rows {
        c.bytes += r.bytes;
        c.line(machine, r.residual.span).bytes += r.bytes;
    }
    Ok(Ok(c))
}

/// The messages of the value, those of the value with its gradient, and the bytes of the latter; `None` if they cannot be
/// counted. Counting sends them.
pub(super) fn messages(machine: &mut Machine, specialized: &Specialized, leaves: &[Value]) -> Res<Option<[u64; 3]>> {
    if !sends(&machine.compiled_ad.program, specialized.entry.func) {
        return Ok(Some([0; 3]));
    }
    let vals: Option<Vec<Val>> = leaves.iter().map(val).collect();
    let Some(vals) = vals else { return Ok(None) };
    let mut compiled_ad = std::mem::take(&mut machine.compiled_ad);
    let out = passes(&mut compiled_ad, machine, specialized, &vals);
    machine.compiled_ad = compiled_ad;
    polling::poll()?;
    Ok(out.ok().map(|c| c.messages))
}

/// Messages as a record.
pub(super) fn messages_record([function, gradient, bytes]: [u64; 3]) -> Value {
    record(vec![("bytes", int(bytes)), ("function", int(function)), ("gradient", int(gradient))])
}

/// Whether a function or one of its callees sends messages.
fn sends(p: &Program, f: FnId) -> bool {
    let mut found = false;
    each_stmt(p, f, |s| found |= matches!(s.op, Op::Collective { .. }));
    found
}

/// What a device does for a function and its gradient; empty if no device is used.
fn on_device(machine: &mut Machine, f: &Value, x: &Value) -> Res<DeviceRuns> {
    if !machine.device.is_on() {
        return Ok(DeviceRuns::default());
    }
    let before = machine.device.open().map(|d| d.used()).unwrap_or_default();
    if let Some((y, map)) = super::record(machine, f, x)?
        && let (Value::Float(_) | Value::F32(_), Some(main)) = (&y, super::compiled(&map))
    {
        let one = if matches!(y, Value::F32(_)) { Value::F32(1.0) } else { Value::Float(1.0) };
        super::apply(machine, &LinearMap { transposed: true, ..map }, &main, &one)?;
    }
    let after = machine.device.open().map(|d| d.used()).unwrap_or_default();
    Ok(DeviceRuns {
        calls: 1,
        kernels: after.kernels - before.kernels,
        up: after.up - before.up,
        down: after.down - before.down,
        refused: None,
    })
}

/// Evaluates the function, its forward-mode derivative and its gradient.
fn passes(
    compiled_ad: &mut super::CompiledAd,
    machine: &mut Machine,
    specialized: &Specialized,
    args: &[Val],
) -> Result<Cost, NotCompiled> {
    let (primal, results) = run(&compiled_ad.program, machine, specialized.entry.func, args, &[])?;
    let ends = args.iter().chain(&results).map(reals).sum();
    let mut cost = Cost::of_value(&primal, ends);
    cost.add(machine, &primal, |l, n| l.primal += n);
    let wrt = compiled_ad.wrt(specialized);
    let jvp = compiled_ad.ad.jvp(&mut compiled_ad.program, specialized.entry.func, &wrt)?;
    if !jvp.active.contains(&true) {
        return Ok(cost);
    }
    let unzipped = compiled_ad.ad.unzip(&mut compiled_ad.program, jvp.func, &unzip::UnzipPlan::store_all())?;
    let back = compiled_ad.ad.transpose(&mut compiled_ad.program, unzipped.linear)?;
    let (forward, mut kept) = run(&compiled_ad.program, machine, unzipped.primal, args, &[])?;
    let residuals = kept.split_off(unzipped.results.min(kept.len()));
    let func = compiled_ad.program.func(specialized.entry.func).clone();
    let mut seeds = |vals: &[Val], vars: &[Var], which: &[bool]| -> Vec<Val> {
        vals.iter()
            .zip(vars)
            .zip(which)
            .filter(|(_, w)| **w)
            .filter_map(|((x, v), _)| ones(compiled_ad, x, func.ty(*v)))
            .collect()
    };
    let (dx, dy) = (seeds(args, &func.body.params, &wrt), seeds(&results, &func.body.results, &jvp.active));
    let (tangent, _) = run(&compiled_ad.program, machine, unzipped.linear, &residuals, &dx)?;
    let (adjoint, _) = run(&compiled_ad.program, machine, back, &residuals, &dy)?;
    // Coefficients of the derivative are computed in the primal half.
    cost.add(machine, &forward, |l, n| l.forward += n);
    for l in cost.lines.values_mut() {
        let coefficients = l.forward.saturating_sub(l.primal);
        (l.tangent, l.adjoint) = (coefficients, coefficients);
    }
    cost.add(machine, &tangent, |l, n| l.tangent += n);
    cost.add(machine, &adjoint, |l, n| l.adjoint += n);
    cost.tangent = cost.lines.values().map(|l| l.tangent).sum();
    cost.adjoint = cost.lines.values().map(|l| l.adjoint).sum();
    cost.arithmetic.1 = forward.arithmetic - forward.inside + adjoint.arithmetic - adjoint.inside;
    cost.results = dy.iter().map(reals).sum();
    cost.messages[1..]
        .copy_from_slice(&[forward.messages + adjoint.messages, forward.message_bytes + adjoint.message_bytes]);
    // Where forward mode reads an element, the transpose may gather, which computes indices.
    cost.beyond = tangent.beyond + adjoint.non_linear;
    Ok(cost)
}

/// The differentiation rules of the reductions, scans, comprehensions and other constructs in a derivative, one
/// line of text each.
pub fn rules_of(m: &Machine, e: &super::DerivativeRecord) -> Vec<String> {
    let line = |(l, d): (usize, Decision)| crate::value::report_tables::rule(d.construct, l, d.rule, &d.why);
    e.func.map_or_else(Vec::new, |f| rules(m, f).into_iter().map(line).collect())
}

/// The rules that were applied in a function and its callees.
fn rules(m: &Machine, f: FnId) -> Vec<(usize, Decision)> {
    let spans = places(&m.compiled_ad.program, f);
    let mut out: Vec<(usize, Decision)> = m
        .compiled_ad
        .ad
        .decisions
        .iter()
        .filter(|d| d.span != Span::default() && spans.contains(&d.span))
        .map(|d| (m.sources.line_of(d.span), d.clone()))
        .collect();
    // A rule may expand into loops with the span of its construct; these are not reported separately.
    let loops = |d: &Decision| matches!(d.construct, "comprehension" | "loop");
    let ruled: HashSet<Span> = out.iter().filter(|(_, d)| !loops(d)).map(|(_, d)| d.span).collect();
    out.retain(|(_, d)| !loops(d) || !ruled.contains(&d.span));
    out.sort_by_key(|(_, d)| (d.span.file, d.span.lo, d.construct));
    out
}

/// The spans of the statements of a function and its callees.
fn places(p: &Program, f: FnId) -> HashSet<Span> {
    let mut spans = HashSet::new();
    each_stmt(p, f, |s| {
        spans.insert(s.span);
    });
    spans
}

/// Visits the statements of a function and its callees.
fn each_stmt(p: &Program, f: FnId, mut visit: impl FnMut(&Stmt)) {
    let mut seen = HashSet::from([f]);
    let mut blocks = vec![&p.func(f).body];
    while let Some(b) = blocks.pop() {
        for s in &b.stmts {
            visit(s);
            if let Op::Call { f, .. } = &s.op
                && seen.insert(*f)
            {
                blocks.push(&p.func(*f).body);
            }
            blocks.extend(s.op.blocks());
        }
    }
}

/// Work of the value and of the reverse pass, and bytes stored, for a gradient.
pub(crate) fn totals(m: &mut Machine, f: &Value, x: &Value) -> Res<Option<[u64; 3]>> {
    Ok(super::attempt(m, |m| counted(m, f, x))?.ok().map(|c| [c.primal, c.adjoint, c.bytes]))
}

fn run(p: &Program, m: &mut Machine, f: FnId, x: &[Val], t: &[Val]) -> Result<(WorkCounts, Vec<Val>), NotCompiled> {
    let mut host = Builtins(m);
    let mut e = Evaluator::new(p, &mut host);
    e.fuel = FUEL;
    let out = e.run(f, x, t).map_err(|e| NotCompiled(Unsupported::new(format!("an error: {}", e.message), e.span)))?;
    Ok((out.counts, out.results))
}

impl Cost {
    /// The cost of a value that has no derivative.
    fn of_value(primal: &WorkCounts, ends: u64) -> Cost {
        Cost {
            function: String::new(),
            primal: primal.total,
            tangent: 0,
            adjoint: 0,
            bytes: 0,
            results: 0,
            beyond: 0,
            lines: BTreeMap::new(),
            sources: BTreeMap::new(),
            rules: Vec::new(),
            arithmetic: (primal.arithmetic, primal.arithmetic),
            device: DeviceRuns::default(),
            messages: [primal.messages, primal.messages, primal.message_bytes],
            ends,
        }
    }

    fn line(&mut self, m: &Machine, span: Span) -> &mut LineCost {
        let at = if span == Span::default() { (0, 0) } else { (span.file.0, m.sources.line_of(span)) };
        let text = || match m.sources.get(span.file) {
            Some(f) if at.1 > 0 => f.line(at.1).trim().to_owned(),
            _ => "(arguments)".to_owned(),
        };
        self.sources.entry(at).or_insert_with(text);
        self.lines.entry(at).or_default()
    }

    fn add(&mut self, m: &Machine, counts: &WorkCounts, to: impl Fn(&mut LineCost, u64)) {
        for (span, n) in &counts.by_span {
            to(self.line(m, *span), *n);
        }
    }

    fn record(&self) -> Value {
        let part = |of: u64| of as f64 / self.primal.max(1) as f64;
        record(vec![
            ("adjoint", int(self.adjoint)),
            ("arithmetic", self.arithmetic_record()),
            ("bound", Value::Float(part(self.primal + self.tangent + self.results + self.beyond))),
            ("bytes", int(self.bytes)),
            ("function", data_text(&self.function)),
            (
                "gpu",
                record(vec![
                    ("fetched", int(self.device.down)),
                    ("kernels", int(self.device.kernels)),
                    ("sent", int(self.device.up)),
                ]),
            ),
            ("lines", self.lines_table()),
            ("messages", messages_record(self.messages)),
            ("primal", int(self.primal)),
            ("ratio", Value::Float(part(self.primal + self.adjoint))),
            ("rules", self.rules_table()),
            ("tangent", int(self.tangent)),
        ])
    }

    fn arithmetic_record(&self) -> Value {
        let ratio = (self.arithmetic.1 + self.ends) as f64 / (self.arithmetic.0 + self.ends).max(1) as f64;
        record(vec![
            ("ends", int(self.ends)),
            ("function", int(self.arithmetic.0)),
            ("gradient", int(self.arithmetic.1)),
            ("ratio", Value::Float(ratio)),
        ])
    }

    fn lines_table(&self) -> Value {
        let lines: Vec<&LineCost> = self.lines.values().collect();
        table(
            lines.len(),
            vec![
                ("adjoint", ints(lines.iter().map(|l| l.adjoint))),
                ("bytes", ints(lines.iter().map(|l| l.bytes))),
                ("line", ints(self.lines.keys().map(|k| k.1 as u64))),
                ("primal", ints(lines.iter().map(|l| l.primal))),
                ("source", texts(self.sources.values().cloned())),
                ("tangent", ints(lines.iter().map(|l| l.tangent))),
            ],
        )
    }

    fn rules_table(&self) -> Value {
        table(
            self.rules.len(),
            vec![
                ("construct", texts(self.rules.iter().map(|(_, d)| d.construct.to_owned()))),
                ("line", ints(self.rules.iter().map(|(l, _)| *l as u64))),
                ("rule", texts(self.rules.iter().map(|(_, d)| d.rule.to_owned()))),
                ("why", texts(self.rules.iter().map(|(_, d)| d.why.clone()))),
            ],
        )
    }
}

/// The number of scalars in a value.
fn reals(v: &Val) -> u64 {
    v.leaves().into_iter().filter(|l| matches!(l, Val::F64(_) | Val::F32(_))).count() as u64
}

/// A tangent of a value, with all components 1. `None` if its type has no tangents.
pub(super) fn ones(compiled_ad: &mut super::CompiledAd, v: &Val, ty: &Ty) -> Option<Val> {
    compiled_ad.ad.tangent_ty(&mut compiled_ad.program, ty)?;
    Some(stacker::maybe_grow(64 * 1024, 1024 * 1024, || match (v, ty) {
        (Val::F64(_), _) => Val::F64(1.0),
        (Val::F32(_), _) => Val::F32(1.0),
        (Val::Array(a), Ty::Array(e, _)) => {
            let elems = a.elems.iter().map(|x| ones(compiled_ad, x, e).unwrap_or(Val::SymbolicZero)).collect();
            Val::Array(Rc::new(Arr { shape: a.shape.clone(), elems }))
        }
        (Val::Data(c), Ty::Data(d)) => {
            let tys = compiled_ad.program.data(*d).cons.get(c.tag as usize).map(|c| c.1.clone()).unwrap_or_default();
            Val::data(c.tag, c.fields.iter().zip(&tys).filter_map(|(x, t)| ones(compiled_ad, x, t)).collect())
        }
        _ => Val::SymbolicZero,
    }))
}

/// Lets the reference evaluator call primitives of the machine.
pub(super) struct Builtins<'a>(pub(super) &'a mut Machine);

impl Host for Builtins<'_> {
    fn collective(&mut self, kind: Collective, args: Vec<Val>, at: Option<&Val>) -> Result<Vec<Val>, String> {
        if args.iter().any(|v| v.leaves().into_iter().any(|v| matches!(v, Val::Deps(_)))) {
            return Err(format!("`comm.{}` of a linear number", kind.word()));
        }
        let leaves = args.iter().map(value).collect();
        let at = at.map_or(Value::Unit, value);
        let site = CollectiveSite { at: Span::default(), of: None, everywhere: false };
        let outs = self.0.collective(kind, leaves, &at, site).map_err(|e| e.diag.message)?;
        outs.iter().map(|v| val(v).ok_or_else(|| format!("`comm.{}` is not counted", kind.word()))).collect()
    }

    fn stop(&self) -> bool {
        polling::interrupt_requested()
    }

    fn prims(&mut self, prim: Prim, args: &[Val]) -> Result<Vec<Val>, String> {
        if args.iter().any(|v| v.leaves().into_iter().any(|v| matches!(v, Val::Deps(_)))) {
            return Err(format!("`{}` of a linear number", prim.name()));
        }
        // Ranks and their number are those of this run.
        if !matches!(prim, Prim::Comm(_))
            && let Ok(v) = adl_ir::eval::Simple.prims(prim, args)
        {
            return Ok(v);
        }
        let mut vs: Vec<Value> = args.iter().map(value).collect();
        let out = self.0.apply_primitive(prim, &[], &mut vs).map_err(|e| e.diag.message)?;
        let parts = match out {
            Value::Unit => Vec::new(),
            Value::Tuple(t) => t.0.clone(),
            v => vec![laid_out(v)],
        };
        parts.iter().map(|v| val(v).ok_or_else(|| format!("`{}` is not counted", prim.name()))).collect()
    }
}
