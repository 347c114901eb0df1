//! `residuals f x` as data: the record inside the prelude's type `Residuals`.

use super::ResolvedPlan;
use super::cost;
use super::measure::{self, Measured};
use super::resolve_plan::{self, Attempt, ProfiledFunction};
use super::{NotCompiled, Specialized, entered_for_gradient, not};
use crate::error::Res;
use crate::ops::data_text;
use crate::value::plan::Plan;
pub use crate::value::report_tables::{count, size};
use crate::value::{Buf, Record, Shape, Value, array};
use crate::vm::Machine;
use adl_ad::profile::{Forecast, ResidualRow};
use adl_ad::segment::Segments;
use adl_ad::unzip;
use adl_ir::Ty;
use adl_syntax::span::Span;
use adl_syntax::symbol::Symbol;
use std::collections::BTreeSet;
use std::rc::Rc;

/// The reason why a residual that is a loop-carried value cannot be recomputed.
const CARRIED: &str = "what a loop carries";

/// The report on a plan.
struct Report {
    function: String,
    plan: Value,
    rows: Vec<ReportRow>,
    forecast: Forecast,
    /// Bytes that the last run under this plan stored.
    measured: Option<u64>,
    /// Other measurements of that run, if it could be counted.
    ran: Option<Measured>,
    frontier: Vec<(String, Forecast)>,
    /// Messages to other ranks, as of [`cost::messages`].
    messages: Option<[u64; 3]>,
}

/// A row, and what the plan does with it.
struct ReportRow {
    row: ResidualRow,
    decision: &'static str,
    reason: String,
}

/// The record of `residuals f x` under a plan.
pub(crate) fn residuals(m: &mut Machine, f: &Value, x: &Value, plan: Value) -> Res<Value> {
    match super::attempt(m, |m| reported(m, f, x, plan.clone()))? {
        Ok(r) => Ok(r.record(m)),
        Err(NotCompiled(u)) => Err(super::no_plans_error(&u)),
    }
}

/// Pareto-optimal plans between the least memory and storing everything, as peak memory and extra work, in the
/// order of increasing memory; empty if the function has no plans.
pub fn steps(m: &mut Machine, f: &Value, x: &Value) -> Res<Vec<resolve_plan::PlanCost>> {
    let found = super::attempt(m, |m| {
        let (e, leaves) = or_not_compiled!(entered_for_gradient(m, f, x));
        resolve_plan::steps(m, &e, &leaves)
    })?;
    Ok(found.unwrap_or_default())
}

fn reported(machine: &mut Machine, func: &Value, x: &Value, plan: Value) -> Attempt<Report> {
    if machine.ad.depth() > 0 {
        return Ok(Err(not("a derivative around it")));
    }
    let named = Plan::of(&plan)?;
    let (e, leaves) = or_not_compiled!(entered_for_gradient(machine, func, x));
    let flat = or_not_compiled!(resolve_plan::study(machine, &e, &leaves, Segments::None)?);
    let resolved = or_not_compiled!(resolve_plan::resolve(machine, &e, &leaves, &named)?);
    let measured = machine.compiled_ad.measured(e.entry.func, &resolved, &resolve_plan::sizes(&leaves));
    let ran = match measured {
        Some(_) => measure::ran(machine, &e, &leaves, &resolved)?,
        None => None,
    };
    let messages = cost::messages(machine, &e, &leaves)?;
    Ok(filled(machine, &e, &leaves, &flat, &resolved)?.map(|(rows, forecast, frontier)| Report {
        function: super::name_of(func),
        plan,
        rows,
        forecast,
        measured,
        ran,
        frontier,
        messages,
    }))
}

type Filled = (Vec<ReportRow>, Forecast, Vec<(String, Forecast)>);

fn filled(
    machine: &mut Machine,
    specialized: &Specialized,
    leaves: &[Value],
    flat: &ProfiledFunction,
    resolved: &ResolvedPlan,
) -> Attempt<Filled> {
    let mut frontier = Vec::new();
    let mut now = None;
    for segments in [Segments::None, Segments::Sqrt, Segments::Revolve(32), Segments::Revolve(8), resolved.segments] {
        if now.is_some() && segments == resolved.segments {
            break;
        }
        let profiled = match if segments == Segments::None {
            Ok(flat.clone())
        } else {
            resolve_plan::study(machine, specialized, leaves, segments)?
        } {
            Ok(s) => s,
            Err(n) => return Ok(Err(n)),
        };
        let plans = match segments {
            Segments::None => {
                vec![("store_all", unzip::UnzipPlan::store_all()), ("recompute_all", unzip::UnzipPlan::recompute_all())]
            }
            Segments::Sqrt => vec![("sqrt", unzip::UnzipPlan::store_all())],
            Segments::Partial(_) => Vec::new(),
            Segments::Revolve(_) => vec![("revolve", unzip::UnzipPlan::store_all())],
        };
        for (name, plan) in plans {
            let f = divided(or_not_compiled!(resolve_plan::forecast(machine, &profiled, &plan)), frontier.first());
            let name = if let Segments::Revolve(k) = segments { format!("{name} {k}") } else { name.to_owned() };
            frontier.push((name, f));
        }
        if segments == resolved.segments {
            now = match resolve_plan::forecast(machine, &profiled, &resolved.plan) {
                Ok(f) => Some(divided(f, frontier.first())),
                Err(n) => return Ok(Err(n)),
            };
        }
    }
    let all = frontier.first().map(|(_, f)| f.rows.clone()).unwrap_or_default();
    let mut now = now.unwrap_or_default();
    now.work = frontier.first().map_or(now.work, |(_, f)| f.work);
    let rows = decided(all, &now, resolved);
    frontier.sort_by_key(|(_, f)| std::cmp::Reverse(f.peak));
    Ok(Ok((rows, now, frontier)))
}

/// Reports the overhead of dividing loops as extra work instead of as work of the function. `all` is the
/// forecast of storing everything.
fn divided(f: Forecast, all: Option<&(String, Forecast)>) -> Forecast {
    let once = all.map_or(f.work, |(_, all)| all.work);
    Forecast { again: (f.again + f.work).saturating_sub(once), ..f }
}

/// The rows under the plan that stores everything, with what the current plan does to each.
fn decided(all: Vec<ResidualRow>, now: &Forecast, resolved: &ResolvedPlan) -> Vec<ReportRow> {
    let kept: BTreeSet<_> = now.rows.iter().map(|r| r.residual.at).collect();
    let places: BTreeSet<_> = now.rows.iter().map(|r| (r.residual.span.lo, r.residual.span.hi, r.bytes)).collect();
    all.into_iter()
        .map(|row| {
            let stored = match resolved.segments {
                Segments::None => kept.contains(&row.residual.at),
                _ => {
                    row.residual.reason == "an argument"
                        || kept.contains(&row.residual.at)
                        || places.contains(&(row.residual.span.lo, row.residual.span.hi, row.bytes))
                }
            };
            let (work, bytes) = (operations(row.work), size(row.bytes));
            let part = stored_part(&row, now);
            let (decision, reason) = match stored {
                true if !row.residual.movable => ("store", row.residual.reason.to_owned()),
                true => ("store", format!("{work} would make {bytes} again")),
                false if !row.residual.movable => {
                    ("segment", format!("{}, made again a segment at a time", row.residual.reason))
                }
                false if resolved.segments != Segments::None => (
                    "segment",
                    part.map_or_else(
                        || "made again a segment at a time".to_owned(),
                        |p| format!("{p:.0} % stored, the rest made again a segment at a time"),
                    ),
                ),
                false if row.work <= row.bytes / 8 => ("recompute", format!("cheap: {work} for {bytes}")),
                false => ("recompute", format!("{work} for {bytes}")),
            };
            ReportRow { row, decision, reason }
        })
        .collect()
}

/// The percentage of a row that is stored by a plan which stores only some of a loop's iterations.
fn stored_part(row: &ResidualRow, now: &Forecast) -> Option<f64> {
    let place = |r: &ResidualRow| (r.residual.span, r.coefficient);
    let bytes: u64 = now.rows.iter().filter(|r| place(r) == place(row)).map(|r| r.bytes).sum();
    (bytes > 0 && bytes < row.bytes).then(|| 100.0 * bytes as f64 / row.bytes as f64)
}

/// A number of operations, as text.
fn operations(n: u64) -> String {
    format!("{} {}", count(n), if n == 1 { "operation" } else { "operations" })
}

/// The type of a residual, such as `Float` or `[100]Float`, and how often it is stored.
fn shape(r: &ResidualRow) -> String {
    let scalar = boxes(r.residual.ty.scalar());
    let one = match (r.residual.ty.rank(), &r.extents) {
        (0, _) => scalar,
        _ if matches!(&r.residual.ty, Ty::Array(e, _) if !e.is_flat()) => boxes(&r.residual.ty),
        (_, Some(extents)) => extents.iter().map(|n| format!("[{n}]")).collect::<String>() + &scalar,
        (k, None) => format!("{}{scalar}", "[]".repeat(k as usize)),
    };
    if r.values == 1 { one } else { format!("{one} × {}", r.values) }
}

/// The type of an array of arrays whose shapes may differ.
fn boxes(ty: &Ty) -> String {
    match ty {
        Ty::Array(e, r) => format!("{}{}", "[]".repeat(*r as usize), boxes(e)),
        Ty::F64 => "Float".to_owned(),
        Ty::F32 => "F32".to_owned(),
        Ty::I64 => "Int".to_owned(),
        Ty::Bool => "Bool".to_owned(),
        Ty::Str => "String".to_owned(),
        Ty::Data(_) => "data".to_owned(),
    }
}

pub(crate) fn int(n: u64) -> Value {
    Value::Int(i64::try_from(n).unwrap_or(i64::MAX))
}

pub(crate) fn ints(ns: impl Iterator<Item = u64>) -> Value {
    let ns: Vec<i64> = ns.map(|n| i64::try_from(n).unwrap_or(i64::MAX)).collect();
    array::make(Shape::from_slice(&[ns.len()]), Buf::I64(ns))
}

pub(crate) fn texts(ts: impl Iterator<Item = String>) -> Value {
    let ts: Vec<Value> = ts.map(|t| data_text(&t)).collect();
    array::make(Shape::from_slice(&[ts.len()]), Buf::Boxed(ts))
}

fn bools(bs: impl Iterator<Item = bool>) -> Value {
    let bs: Vec<bool> = bs.collect();
    array::make(Shape::from_slice(&[bs.len()]), Buf::Bool(bs))
}

/// A record; the fields must be sorted by name.
pub(crate) fn record(fields: Vec<(&str, Value)>) -> Value {
    let names: Rc<[Symbol]> = fields.iter().map(|(n, _)| Symbol::new(n)).collect();
    Value::Record(Rc::new(Record { names, vals: fields.into_iter().map(|(_, v)| v).collect() }))
}

/// An array of records, given by columns.
pub(crate) fn table(n: usize, columns: Vec<(&str, Value)>) -> Value {
    let names: Rc<[Symbol]> = columns.iter().map(|(n, _)| Symbol::new(n)).collect();
    array::make(Shape::from_slice(&[n]), Buf::Record(names, columns.into_iter().map(|(_, v)| v).collect()))
}

impl Report {
    fn record(&self, machine: &Machine) -> Value {
        let recomputed = (0..self.rows.len() as u64)
            .filter(|k| self.rows[*k as usize].decision != "store" && self.rows[*k as usize].row.residual.movable);
        record(vec![
            ("again", int(self.forecast.again)),
            ("bytes", int(self.forecast.stored)),
            ("frontier", self.frontier()),
            ("function", data_text(&self.function)),
            ("measured", crate::ops::io::option(self.measured.map(int))),
            ("measured_again", crate::ops::io::option(self.ran.map(|r| int(r.again)))),
            ("measured_peak", crate::ops::io::option(self.ran.map(|r| int(r.peak)))),
            ("messages", crate::ops::io::option(self.messages.map(cost::messages_record))),
            ("peak", int(self.forecast.peak)),
            ("plan", self.plan.clone()),
            ("recomputed", ints(recomputed)),
            ("rows", self.rows(machine)),
            ("work", int(self.forecast.work)),
        ])
    }

    fn rows(&self, m: &Machine) -> Value {
        let rows = &self.rows;
        let place = |l: &ReportRow| {
            if l.row.residual.span == Span::default() { 0 } else { m.sources.line_of(l.row.residual.span) as u64 }
        };
        table(
            rows.len(),
            vec![
                ("bytes", ints(rows.iter().map(|l| l.row.bytes))),
                ("decision", texts(rows.iter().map(|l| l.decision.to_owned()))),
                ("expression", texts(rows.iter().map(|l| l.expression(m)))),
                ("id", ints(0..rows.len() as u64)),
                ("line", ints(rows.iter().map(place))),
                ("movable", bools(rows.iter().map(|l| l.row.residual.movable))),
                ("reason", texts(rows.iter().map(|l| l.reason.clone()))),
                ("shape", texts(rows.iter().map(|l| shape(&l.row)))),
                ("work", ints(rows.iter().map(|l| l.row.work))),
            ],
        )
    }

    fn frontier(&self) -> Value {
        let f = &self.frontier;
        table(
            f.len(),
            vec![
                ("again", ints(f.iter().map(|(_, f)| f.again))),
                ("bytes", ints(f.iter().map(|(_, f)| f.stored))),
                ("peak", ints(f.iter().map(|(_, f)| f.peak))),
                ("plan", texts(f.iter().map(|(n, _)| n.clone()))),
            ],
        )
    }
}

/// The name of the carried value of a loop with one value: `y` in `loop y = ...`.
fn loop_state(text: &str) -> Option<&str> {
    let (name, _) = text.strip_prefix("loop ")?.split_once([' ', '='])?;
    name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '\'')).then_some(name)
}

impl ReportRow {
    /// The expression that computes the residual; `d(e)` for a coefficient of the derivative of `e`.
    fn expression(&self, m: &Machine) -> String {
        let r = &self.row.residual;
        match &r.name {
            Some(n) if r.reason == CARRIED => format!("{n} of the loop"),
            Some(n) if !r.movable => n.to_string(),
            None if r.span == Span::default() => "(argument)".to_owned(),
            _ => {
                let text = m.sources.text(r.span).split_whitespace().collect::<Vec<_>>().join(" ");
                match loop_state(&text).filter(|_| r.reason == CARRIED) {
                    Some(n) => format!("{n} of the loop"),
                    None if self.row.coefficient => format!("d({text})"),
                    None => text,
                }
            }
        }
    }
}
