//! Residuals as a picture: the peak memory and work of plans.

use crate::chart::{Chart, Layer, LayerKind};
use adl_interp::ir::derive::table::{self, number};
use adl_interp::value::Value;

/// Marker sizes of the current plan and of others.
const NOW: f64 = 13.0;
const OTHER: f64 = 9.0;
/// Width and height in pixels.
const SIZE: (f64, f64) = (640.0, 320.0);

/// Plans with equal values: work relative to storing everything, peak memory, and the plans' names.
struct PlanPoint {
    at: (f64, f64),
    names: Vec<String>,
    now: bool,
}

/// The chart of a value of type `Residuals`. `steps`: peak memory and extra work of plans between the named ones.
pub fn read(v: &Value, steps: &[(u64, u64)]) -> Option<Chart> {
    let record = table::inside(v)?;
    let work = number(record, "work").max(1) as f64;
    let place = |again: u64, peak: u64| (1.0 + again as f64 / work, (peak as f64).max(1.0));
    let mut points: Vec<PlanPoint> = Vec::new();
    let plan = table::plan(record).to_string();
    let others = table::rows(record, "frontier").into_iter().map(|row| (table::text(&row, "plan"), row));
    for (k, (name, row)) in [(plan, record.clone())].into_iter().chain(others).enumerate() {
        let at = place(number(&row, "again"), number(&row, "peak"));
        match points.iter_mut().find(|p| p.at == at) {
            Some(p) if p.names.contains(&name) => {}
            Some(p) => p.names.push(name),
            None => points.push(PlanPoint { at, names: vec![name], now: k == 0 }),
        }
    }
    let mut layers = Vec::new();
    if steps.len() > 1 {
        let between: Vec<(f64, f64)> = steps.iter().map(|(peak, again)| place(*again, *peak)).collect();
        layers.push(Layer {
            kind: LayerKind::Line,
            name: "budgets".to_owned(),
            colour: "grey".to_owned(),
            x: between.iter().map(|p| p.0).collect(),
            y: between.iter().map(|p| p.1).collect(),
            ..Layer::default()
        });
    }
    layers.extend(points.into_iter().map(PlanPoint::layer));
    Some(Chart {
        layers,
        columns: 1,
        legend: true,
        size: Some(SIZE),
        log: (true, true),
        title: format!("plans for {}", table::text(record, "function")),
        labels: ("work, as a multiple of storing everything".to_owned(), "peak memory / bytes".to_owned()),
        ..Chart::default()
    })
}

impl PlanPoint {
    fn layer(self) -> Layer {
        let names = self.names.join(", ");
        let (width, name) = if self.now { (NOW, format!("now: {names}")) } else { (OTHER, names) };
        Layer { kind: LayerKind::Scatter, name, width, x: vec![self.at.0], y: vec![self.at.1], ..Layer::default() }
    }
}
