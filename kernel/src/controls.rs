//! Residuals as a live control: a switch for each row, a budget, plans, the frontier between memory and work, and *Apply*.

use crate::html::escape;
use crate::stage::Audience;
use crate::widgets::{Widgets, reference};
use adl_interp::ir::road::Plan;
use adl_interp::ir::road::report::{count, size};
use adl_interp::ir::road::table::{self, field, number};
use adl_interp::value::{Buf, Value};
use adl_session::{Session, Watch};
use adl_syntax::diag::Diagnostic;
use serde_json::{Value as Json, json};
use std::rc::Rc;

/// Rows that have a switch; of more, the largest.
const ROWS: usize = 40;
/// Stops of the budget's slider.
const STOPS: usize = 25;
/// Plans by name that can be picked; behind them stands what was chosen by hand.
const PLANS: &[&str] = &["store_all", "recompute_all", "auto", "sqrt", "revolve 32", "revolve 8"];
const BY_HAND: &str = "by hand or budget";

/// A live table.
pub struct Control {
    /// The residuals, which commands change too.
    watch: Watch,
    /// Those that the views show.
    drawn: Value,
    summary: String,
    frontier: String,
    plans: String,
    budget: String,
    apply: String,
    /// Residual, its switch, its words.
    rows: Vec<(u64, String, String)>,
    stops: Vec<u64>,
    /// What happened last: what was applied, or why something could not be done.
    note: String,
}

/// The rows that are shown.
fn rows(r: &Value) -> Vec<Value> {
    let mut all = table::rows(r, "rows");
    if all.len() > ROWS {
        all.sort_by_key(|row| std::cmp::Reverse(number(row, "bytes")));
        all.truncate(ROWS);
        all.sort_by_key(|row| number(row, "id"));
    }
    all
}

const COLUMNS: &[&str] = &["id", "line", "expression", "shape", "bytes", "work", "decision", "reason"];

/// The words of a row, a column each.
fn cells(row: &Value) -> Vec<String> {
    let line = number(row, "line");
    vec![
        number(row, "id").to_string(),
        if line == 0 { String::new() } else { line.to_string() },
        table::text(row, "expression"),
        table::text(row, "shape"),
        size(number(row, "bytes")),
        count(number(row, "work")),
        table::text(row, "decision"),
        table::text(row, "reason"),
    ]
}

/// Whether it can be recomputed: what cannot says why in words of its own.
fn movable(row: &Value) -> bool {
    table::text(row, "decision") != "store" || table::text(row, "reason").contains("would make")
}

/// Widths of the columns of live rows, so that rows that are widgets of their own stand in line.
const WIDTHS: &[&str] = &["2.5em", "2.5em", "20em", "9em", "5em", "5em", "6em", "16em"];

fn live_row(row: &Value) -> String {
    let cell = |(text, width): (&String, &&str)| {
        let t = escape(text);
        format!("<span title=\"{t}\" style=\"display:inline-block;width:{width};overflow:hidden;text-overflow:ellipsis;white-space:nowrap;vertical-align:middle\">{t}</span>")
    };
    format!("<div style=\"white-space:nowrap;line-height:1.6\">{}</div>", cells(row).iter().zip(WIDTHS).map(cell).collect::<String>())
}

fn heads() -> String {
    let cell = |(text, width): (&&str, &&str)| format!("<b style=\"display:inline-block;width:{width}\">{text}</b>");
    format!("<div style=\"white-space:nowrap\">{}</div>", COLUMNS.iter().zip(WIDTHS).map(cell).collect::<String>())
}

/// What the plan takes.
fn summary(r: &Value, note: &str) -> String {
    let (again, work) = (number(r, "again"), number(r, "work").max(1));
    let measured = table::measured(r).map_or("not measured yet".to_owned(), |n| format!("measured {} ({n} bytes)", size(n)));
    let note = if note.is_empty() { String::new() } else { format!("<div>{}</div>", escape(note)) };
    format!(
        "<div class=\"adl-residuals\" style=\"line-height:1.5\"><b>{}</b> under <b>{}</b>: predicted {} ({} bytes) stored, peak {}, extra work {} ({:.0} %); {measured}{note}</div>",
        escape(&table::text(r, "function")),
        escape(&table::plan(r).to_string()),
        size(number(r, "bytes")),
        number(r, "bytes"),
        size(number(r, "peak")),
        count(again),
        100.0 * again as f64 / work as f64,
    )
}

/// Width, height and margin of the frontier.
const FRAME: (f64, f64, f64) = (560.0, 240.0, 46.0);

/// The frontier as an image, which needs no trust.
fn frontier(r: &Value) -> String {
    let svg = frontier_svg(r);
    format!("<img alt=\"memory and extra work of plans\" src=\"data:image/svg+xml;base64,{}\">", data_encoding::BASE64.encode(svg.as_bytes()))
}

/// Plans between extra work (right) and peak memory (up), on logarithmic axes; the current one is filled.
fn frontier_svg(r: &Value) -> String {
    let work = number(r, "work").max(1) as f64;
    let place = |v: &Value| ((1.0 + 10.0 * number(v, "again") as f64 / work).ln(), (number(v, "peak").max(1) as f64).ln());
    let mut points: Vec<(String, (f64, f64), u64, bool)> = table::rows(r, "frontier").iter().map(|v| (table::text(v, "plan"), place(v), number(v, "peak"), false)).collect();
    points.push((table::plan(r).to_string(), place(r), number(r, "peak"), true));
    let right = points.iter().map(|p| p.1.0).fold(1e-9, f64::max);
    let (low, high) = points.iter().map(|p| p.1.1).fold((f64::INFINITY, 0.0f64), |(a, b), y| (a.min(y), b.max(y)));
    let (width, height, margin) = FRAME;
    let x = |v: f64| margin + v / right * (width - 4.5 * margin);
    let y = |v: f64| height - margin - (v - low) / (high - low).max(1e-9) * (height - 2.2 * margin);
    let mut out = format!("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" font-family=\"sans-serif\" font-size=\"11\"><rect width=\"100%\" height=\"100%\" fill=\"white\"/>");
    let (left, bottom) = (0.6 * margin, height - 0.6 * margin);
    out += &format!("<path d=\"M{left} 8V{bottom}H{}\" fill=\"none\" stroke=\"#777\"/><text x=\"{}\" y=\"{}\">extra work</text><text x=\"{}\" y=\"16\">peak memory</text>", width - 8.0, width - 70.0, height - 8.0, left + 6.0);
    for (name, (px, py), peak, now) in &points {
        let (cx, cy) = (x(*px), y(*py));
        let (fill, radius) = if *now { ("#d55e00", 6.0) } else { ("#0072b2", 4.0) };
        out += &format!("<circle cx=\"{cx:.1}\" cy=\"{cy:.1}\" r=\"{radius}\" fill=\"{fill}\"/>");
        // The current plan's words stand below, so that they do not cover the name of the plan that it may be.
        let (dy, color) = if *now { (18.0, "#a34700") } else { (-7.0, "black") };
        out += &format!("<text x=\"{:.1}\" y=\"{:.1}\" fill=\"{color}\">{} ({})</text>", cx + 8.0, cy + dy, escape(name), size(*peak));
    }
    out + "</svg>"
}

/// The table where nothing can be switched.
pub fn still(v: &Value) -> Option<String> {
    let r = table::inside(v)?;
    let line = |cells: Vec<String>, tag: &str| {
        let cells: String = cells.iter().map(|c| format!("<{tag} style=\"text-align:left\">{}</{tag}>", escape(c))).collect();
        format!("<tr>{cells}</tr>")
    };
    let head = line(COLUMNS.iter().map(|c| (*c).to_owned()).collect(), "th");
    let body: String = rows(r).iter().map(|row| line(cells(row), "td")).collect();
    Some(format!("<div class=\"adl\">{}<table><thead>{head}</thead><tbody>{body}</tbody></table>{}</div>", summary(r, ""), frontier(r)))
}

/// Budgets from the least that a plan reaches to what storing everything takes, evenly by factors.
fn stops(r: &Value) -> Vec<u64> {
    let peaks: Vec<u64> = table::rows(r, "frontier").iter().map(|p| number(p, "peak").max(1)).collect();
    let (low, high) = (peaks.iter().copied().min().unwrap_or(1), peaks.iter().copied().max().unwrap_or(1));
    let mut out: Vec<u64> = (0..STOPS).map(|k| (low as f64 * (high as f64 / low as f64).powf(k as f64 / (STOPS - 1) as f64)).ceil() as u64).collect();
    out.dedup();
    out
}

fn recomputed(r: &Value) -> Vec<u32> {
    match field(r, "recomputed") {
        Some(Value::Array(a)) => match a.buf() {
            Buf::I64(ids) => ids.iter().filter_map(|n| u32::try_from(*n).ok()).collect(),
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// The name under which the list of plans has a plan.
fn listed(plan: &Plan) -> usize {
    let name = plan.to_string();
    PLANS.iter().position(|p| *p == name).unwrap_or(PLANS.len())
}

impl Control {
    /// Opens the models of a table of residuals; the id of the whole, and the control.
    pub fn open(watch: Watch, widgets: &mut Widgets, to: &dyn Audience) -> Option<(String, Control)> {
        let v = watch.borrow().shown.clone();
        let r = table::inside(&v)?;
        let layout = widgets.open(to, "Layout", json!({"width": "auto"}));
        let narrow = widgets.open(to, "Layout", json!({"width": "5.5em"}));
        let wide = widgets.open(to, "Layout", json!({"width": "26em"}));
        let with = |layout: &str, mut state: Json| {
            state["layout"] = json!(reference(layout));
            state
        };
        let stops = stops(r);
        let summary = widgets.open(to, "HTML", with(&layout, json!({"value": summary(r, "")})));
        let head = widgets.open(to, "HTML", with(&layout, json!({"value": format!("<div style=\"margin-left:5.5em\">{}</div>", heads())})));
        let mut lines = Vec::new();
        let mut children = vec![reference(&summary), reference(&head)];
        for row in rows(r) {
            let switch = json!({"value": table::text(&row, "decision") == "store", "description": "store", "indent": false, "disabled": !movable(&row)});
            let switch = widgets.open(to, "Checkbox", with(&narrow, switch));
            let words = widgets.open(to, "HTML", with(&layout, json!({"value": live_row(&row)})));
            let line = widgets.open(to, "HBox", with(&layout, json!({"children": [reference(&switch), reference(&words)]})));
            children.push(reference(&line));
            lines.push((number(&row, "id"), switch, words));
        }
        let labels: Vec<String> = stops.iter().map(|n| size(*n)).collect();
        let budget = widgets.open(to, "SelectionSlider", with(&wide, json!({"_options_labels": labels, "index": stops.len().saturating_sub(1), "description": "budget", "continuous_update": false, "readout": true, "orientation": "horizontal"})));
        let names: Vec<&str> = PLANS.iter().copied().chain([BY_HAND]).collect();
        let plans = widgets.open(to, "Dropdown", with(&layout, json!({"_options_labels": names, "index": listed(&table::plan(r)), "description": "plan"})));
        let apply = widgets.open(to, "Button", with(&layout, json!({"description": "Apply", "button_style": "primary", "tooltip": "make this plan the one of all gradients of the function, and measure it"})));
        let buttons = widgets.open(to, "HBox", with(&layout, json!({"children": [reference(&budget), reference(&plans), reference(&apply)]})));
        let frontier = widgets.open(to, "HTML", with(&layout, json!({"value": frontier(r)})));
        children.extend([reference(&buttons), reference(&frontier)]);
        let whole = widgets.open(to, "VBox", with(&layout, json!({"children": children})));
        Some((whole, Control { watch, drawn: v, summary, frontier, plans, budget, apply, rows: lines, stops, note: String::new() }))
    }

    /// Whether a model is one that acts.
    pub fn has(&self, id: &str) -> bool {
        [&self.plans, &self.budget, &self.apply].into_iter().any(|m| m == id) || self.rows.iter().any(|(_, switch, _)| switch == id)
    }

    /// Acts on what was changed or clicked in a view.
    pub fn act(&mut self, id: &str, clicked: bool, s: &mut Session, widgets: &mut Widgets, to: &dyn Audience) {
        let shown = self.watch.borrow().shown.clone();
        let done = if id == self.apply {
            if !clicked {
                return;
            }
            s.apply_residuals(&shown).map(|v| (v, true))
        } else {
            match self.wanted(id, widgets) {
                Some(plan) => s.replanned(&shown, &plan).map(|v| (v, false)),
                None => return,
            }
        };
        self.note = match done {
            Ok((v, applied)) => {
                let note = table::inside(&v).filter(|_| applied).map_or(String::new(), |r| format!("applied: gradients of {} follow {} from now on", table::text(r, "function"), table::plan(r)));
                self.watch.borrow_mut().shown = v;
                note
            }
            Err(diags) => first(&diags),
        };
        self.redraw(widgets, to);
    }

    /// Shows what commands have changed.
    pub fn refresh(&mut self, widgets: &mut Widgets, to: &dyn Audience) {
        let same = match (&self.watch.borrow().shown, &self.drawn) {
            (Value::Data(a), Value::Data(b)) => Rc::ptr_eq(a, b),
            _ => false,
        };
        if !same {
            self.note.clear();
            self.redraw(widgets, to);
        }
    }

    /// The plan that a view asks for.
    fn wanted(&self, id: &str, widgets: &Widgets) -> Option<Plan> {
        let index = || widgets.get(id, "index").as_u64().and_then(|i| usize::try_from(i).ok());
        if id == self.budget {
            return self.stops.get(index()?).map(|n| Plan::Budget(*n));
        }
        if id == self.plans {
            return Plan::parse(PLANS.get(index()?)?);
        }
        let (residual, ..) = self.rows.iter().find(|(_, switch, _)| switch == id)?;
        let residual = u32::try_from(*residual).ok()?;
        let mut ids = recomputed(table::inside(&self.watch.borrow().shown)?);
        ids.retain(|k| *k != residual);
        if widgets.get(id, "value") == json!(false) {
            ids.push(residual);
            ids.sort_unstable();
        }
        Some(if ids.is_empty() { Plan::StoreAll } else { Plan::ByHand(ids) })
    }

    fn redraw(&mut self, widgets: &mut Widgets, to: &dyn Audience) {
        self.drawn = self.watch.borrow().shown.clone();
        let Some(r) = table::inside(&self.drawn) else { return };
        widgets.set(to, &self.summary, json!({"value": summary(r, &self.note)}));
        widgets.set(to, &self.frontier, json!({"value": frontier(r)}));
        widgets.set(to, &self.plans, json!({"index": listed(&table::plan(r))}));
        let all = table::rows(r, "rows");
        for (id, switch, words) in &self.rows {
            let Some(row) = all.iter().find(|row| number(row, "id") == *id) else { continue };
            widgets.set(to, switch, json!({"value": table::text(row, "decision") == "store"}));
            widgets.set(to, words, json!({"value": live_row(row)}));
        }
    }
}

fn first(diags: &[Diagnostic]) -> String {
    diags.first().map_or(String::new(), |d| d.message.clone())
}
