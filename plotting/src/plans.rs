//! Residuals as a picture: where plans stand between memory and work.

use crate::chart::{Chart, Kind, Layer};
use adl_interp::ir::road::table::{self, field, number};
use adl_interp::value::{Value, array, show};

/// The chart of a value of type `Residuals`.
pub fn read(v: &Value) -> Option<Chart> {
    let r = table::inside(v)?;
    let work = number(r, "work").max(1) as f64;
    let point = |name: String, v: &Value, width: f64| Layer {
        kind: Kind::Scatter,
        name,
        width,
        x: vec![100.0 * number(v, "again") as f64 / work],
        y: vec![(number(v, "peak") as f64).max(1.0)],
        ..Layer::default()
    };
    let plan = field(r, "plan").map_or(String::new(), show::show);
    let mut layers = vec![Layer { colour: "black".to_owned(), ..point(format!("now: {plan}"), r, 15.0) }];
    if let Some(Value::Array(a)) = field(r, "frontier") {
        for k in 0..a.len() {
            let row = array::elem(a, k);
            layers.push(point(field(&row, "plan").map_or(String::new(), show::plain), &row, 9.0));
        }
    }
    Some(Chart {
        layers,
        columns: 1,
        legend: true,
        log: (false, true),
        title: format!("plans for {}", field(r, "function").map_or(String::new(), show::plain)),
        labels: ("extra work / %".to_owned(), "peak memory / bytes".to_owned()),
        ..Chart::default()
    })
}
