//! Residuals as a live control: a switch for each row, a budget, plans, the frontier of memory and work, and *Apply*.

use crate::cell_host::OutputSink;
use crate::html::escape;
use crate::live_controls::{Control, Stage};
use crate::widgets::{Opener, Widgets, reference};
use adl_interp::ir::derive::Plan;
use adl_interp::ir::derive::residuals_report::{count, size};
use adl_interp::ir::derive::table::{self, number};
use adl_interp::value::Value;
use adl_session::{ResidualsHandle, Session};
use adl_syntax::diag::Diagnostic;
use serde_json::{Value as Json, json};
use std::rc::Rc;

/// The maximal number of rows with a switch; of longer tables the largest rows are shown.
const ROWS: usize = 40;
/// The named plans that can be selected; one more entry stands for manual choices.
const PLANS: &[&str] = &["store_all", "recompute_all", "auto", "sqrt", "revolve 32", "revolve 8"];
const BY_HAND: &str = "by hand or budget";

/// A live table.
pub struct ResidualsControl {
    /// The residuals, which commands may also change.
    watch: ResidualsHandle,
    /// The version that the views currently show.
    drawn: Value,
    summary: String,
    frontier: String,
    plans: String,
    budget: String,
    apply: String,
    rows: Vec<LiveRow>,
    /// The CSS widths of the columns.
    widths: String,
    /// Peak memory and extra work of the plans at the slider's stops.
    stops: Vec<(u64, u64)>,
    /// The name of the function, if it has been redefined since.
    redefined: Option<String>,
    /// The latest status message: what was applied, or why an action failed.
    note: String,
}

/// A row with its widget models.
struct LiveRow {
    /// The residual's id.
    id: u64,
    switch: String,
    words: String,
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
/// Numeric columns, which are right-aligned.
const NUMBERS: &[&str] = &["id", "line", "bytes", "work"];
/// Columns that share the remaining width, with their fractions.
const WIDE: &[(&str, &str)] = &[("expression", "minmax(9em, 3fr)"), ("reason", "minmax(13em, 4fr)")];
/// The average width of a character, and the maximal width of a text column, both in ems.
const CHARACTER: f64 = 0.58;
const MOST: f64 = 15.0;
/// The minimal width of rows; on narrower pages they scroll.
const LEAST: &str = "53em";
/// The width of the column of switches.
const SWITCH: &str = "3em";
/// The background of changed rows, visible on light and dark pages.
const CHANGED: &str = "background:rgba(208,122,0,0.2);";
/// Hides the static table in the notebook while the controls are displayed; without the controls this rule is absent
/// too. Also aligns the switches with the text beside them.
const LIVE: &str = "<style>.jp-OutputArea-child:has(.adl-live) ~ .jp-OutputArea-child:has(.adl-still) { display: none } .adl-rows .widget-checkbox, .adl-rows .widget-label-basic { display: flex; align-items: center; height: auto } .adl-rows .widget-checkbox input { margin: 0 }</style>";

/// The texts of a row, one for each column.
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

fn align(column: &str) -> &'static str {
    if NUMBERS.contains(&column) { "right" } else { "left" }
}

/// Column widths that fit the contents. Every row is a grid of its own, so all rows must use the same widths.
fn widths(rows: &[Value]) -> String {
    let width = |(k, name): (usize, &&str)| {
        // The decision of a row may change to `recompute`.
        let least = if *name == "decision" { "recompute".len() } else { name.len() };
        let longest = |words: usize, row: &Value| words.max(cells(row).get(k).map_or(0, |t| t.chars().count()));
        let ems = (CHARACTER * (1 + rows.iter().fold(least, longest)) as f64).min(MOST);
        WIDE.iter().find(|(n, _)| n == name).map_or_else(|| format!("{ems:.1}em"), |(_, part)| (*part).to_owned())
    };
    COLUMNS.iter().enumerate().map(width).collect::<Vec<_>>().join(" ")
}

/// Cells side by side, with the same widths in every row.
fn grid(cells: impl Iterator<Item = String>, widths: &str, style: &str) -> String {
    format!(
        "<div style=\"display:grid;grid-template-columns:{widths};column-gap:0.8em;line-height:1.35;padding:0.15em 0;align-items:center;{style}\">{}</div>",
        cells.collect::<String>()
    )
}

fn live_row(row: &Value, before: &str, widths: &str) -> String {
    let cell = |(text, column): (String, &&str)| {
        let (t, to) = (escape(&text), align(column));
        // The reason may take several lines; other columns are cut to one line.
        let room = if *column == "reason" { "" } else { "overflow:hidden;text-overflow:ellipsis;white-space:nowrap;" };
        format!("<span title=\"{t}\" style=\"{room}text-align:{to}\">{t}</span>")
    };
    let changed = !before.is_empty() && before != table::text(row, "decision");
    grid(cells(row).into_iter().zip(COLUMNS).map(cell), widths, if changed { CHANGED } else { "" })
}

fn heads(widths: &str) -> String {
    grid(COLUMNS.iter().map(|c| format!("<b style=\"text-align:{}\">{c}</b>", align(c))), widths, "")
}

/// The widget state of a row's switch.
fn switch(row: &Value, still: bool) -> Json {
    let (movable, stored) = (table::flag(row, "movable"), table::text(row, "decision") == "store");
    let tip = if movable {
        "stored if on, recomputed if off".to_owned()
    } else {
        format!("cannot be recomputed: it is {}", table::text(row, "reason"))
    };
    json!({"value": stored, "disabled": still || !movable, "tooltip": tip})
}

/// A summary of the plan's memory and work.
fn summary(record: &Value, note: &str) -> String {
    let (again, work) = (number(record, "again"), number(record, "work").max(1));
    let measured =
        table::measured(record).map_or("not measured yet".to_owned(), |n| format!("measured {} ({n} bytes)", size(n)));
    let note = if note.is_empty() { String::new() } else { format!("<div>{}</div>", escape(note)) };
    format!(
        "<div class=\"adl-residuals\" style=\"line-height:1.5\"><b>{}</b> under <b>{}</b>: predicted {} ({} bytes) stored, peak {}, extra work {} ({:.0} %); {measured}{note}</div>",
        escape(&table::text(record, "function")),
        escape(&table::plan(record).to_string()),
        size(number(record, "bytes")),
        number(record, "bytes"),
        size(number(record, "peak")),
        count(again),
        100.0 * again as f64 / work as f64,
    )
}

/// The frontier of extra work and peak memory as an image, which is displayed even in untrusted notebooks.
fn frontier(v: &Value, steps: &[(u64, u64)]) -> String {
    let Some(figure) = adl_plotting::frontier(v, steps) else { return String::new() };
    let svg = figure.svg(adl_plotting::Theme::Adaptive);
    format!(
        "<img alt=\"memory and extra work of plans\" style=\"max-width:100%\" src=\"data:image/svg+xml;base64,{}\">",
        data_encoding::BASE64.encode(svg.as_bytes())
    )
}

/// The static table, if there is nothing to switch.
pub fn still(value: &Value) -> Option<String> {
    let record = table::inside(value)?;
    let line = |cells: Vec<String>, tag: &str| {
        let cell = |(text, column): (&String, &&str)| {
            let wraps = if matches!(*column, "expression" | "reason") { "" } else { ";white-space:nowrap" };
            format!("<{tag} style=\"text-align:{}{wraps}\">{}</{tag}>", align(column), escape(text))
        };
        format!("<tr>{}</tr>", cells.iter().zip(COLUMNS).map(cell).collect::<String>())
    };
    let head = line(COLUMNS.iter().map(|c| (*c).to_owned()).collect(), "th");
    let body: String = rows(record).iter().map(|row| line(cells(row), "td")).collect();
    Some(format!(
        "<div class=\"adl adl-still\">{}<table><thead>{head}</thead><tbody>{body}</tbody></table>{}</div>",
        summary(record, ""),
        frontier(value, &[])
    ))
}

/// Stops that differ visibly in memory; if there are none, the stop of the current plan.
fn distinct_stops(mut stops: Vec<(u64, u64)>, r: &Value) -> Vec<(u64, u64)> {
    if stops.is_empty() {
        stops.push((number(r, "peak"), number(r, "again")));
    }
    stops.dedup_by_key(|(peak, _)| size(*peak));
    stops
}

/// The index of the slider's stop for a plan: the stop of its budget, or the one closest in size.
fn stop(stops: &[(u64, u64)], r: &Value) -> usize {
    let last = stops.len().saturating_sub(1);
    if let Plan::Budget(n) = table::plan(r) {
        return stops.iter().rposition(|(peak, _)| *peak <= n).unwrap_or(0);
    }
    let peak = number(r, "peak").max(1) as f64;
    let far = |k: &usize| stops.get(*k).map_or(f64::INFINITY, |(p, _)| (peak / (*p).max(1) as f64).ln().abs());
    (0..=last).min_by(|a, b| far(a).total_cmp(&far(b))).unwrap_or(last)
}

/// The state of the slider: the plan's own size at its stop, and the sizes of other plans at theirs.
fn slider(stops: &[(u64, u64)], r: &Value, still: bool) -> Json {
    let at = stop(stops, r);
    let label = |(k, (peak, _)): (usize, &(u64, u64))| size(if k == at { number(r, "peak") } else { *peak });
    json!({"_options_labels": stops.iter().enumerate().map(label).collect::<Vec<_>>(), "index": at, "disabled": still})
}

/// The index of a plan in the list of plans.
fn listed(plan: &Plan) -> usize {
    let name = plan.to_string();
    PLANS.iter().position(|p| *p == name).unwrap_or(PLANS.len())
}

impl Opener<'_> {
    fn slider(&mut self, mut state: Json) -> String {
        let fixed =
            json!({"description": "budget", "continuous_update": false, "readout": true, "orientation": "horizontal"});
        fixed.as_object().into_iter().flatten().for_each(|(k, v)| state[k.as_str()] = v.clone());
        self.model("SelectionSlider", json!({"width": "30em", "flex": "0 1 auto"}), state)
    }

    /// Rows with a heading, which scroll horizontally on narrow pages.
    fn table(&mut self, all: &[Value], widths: &str) -> (Vec<LiveRow>, String) {
        let left = self.model(
            "HTML",
            json!({"width": SWITCH, "margin": "0", "flex": "0 0 auto"}),
            json!({"value": "<b style=\"line-height:1.35\">store</b>"}),
        );
        let heads = self.html(&heads(widths));
        let mut children = vec![reference(&self.row(&left, &heads))];
        let mut rows = Vec::new();
        for row in all {
            let (row, line) = self.live_row(row, widths);
            rows.push(row);
            children.push(reference(&line));
        }
        let table = self.model(
            "VBox",
            json!({"width": "100%", "overflow": "auto"}),
            json!({"children": children, "_dom_classes": ["adl-rows"]}),
        );
        (rows, table)
    }

    /// A row: a model as wide as a switch, and text.
    fn row(&mut self, left: &str, words: &str) -> String {
        self.boxes(
            "HBox",
            json!({"align_items": "center", "min_width": LEAST, "margin": "0", "overflow": "visible"}),
            &[left.to_owned(), words.to_owned()],
        )
    }

    /// A row with its switch model and layout model.
    fn live_row(&mut self, row: &Value, widths: &str) -> (LiveRow, String) {
        let mut state = switch(row, false);
        state["indent"] = json!(false);
        state["description"] = json!("");
        let switch = self.model("Checkbox", json!({"width": SWITCH, "margin": "0", "flex": "0 0 auto"}), state);
        let words = self.html(&live_row(row, "", widths));
        let line = self.row(&switch, &words);
        (LiveRow { id: number(row, "id"), switch, words }, line)
    }
}

impl ResidualsControl {
    /// Opens the models of a table of residuals. Returns the id of the outermost model, and the control.
    pub fn open(
        watch: ResidualsHandle,
        stops: Vec<(u64, u64)>,
        widgets: &mut Widgets,
        to: &dyn OutputSink,
    ) -> Option<(String, ResidualsControl)> {
        let shown = watch.borrow().shown.clone();
        let record = table::inside(&shown)?;
        let mut opener = Opener { widgets, to };
        let summary = opener.html(&format!("{LIVE}{}", live(&summary(record, ""))));
        let all = rows(record);
        let widths = widths(&all);
        let (lines, table) = opener.table(&all, &widths);
        let stops = distinct_stops(stops, record);
        let budget = opener.slider(slider(&stops, record, false));
        let names: Vec<&str> = PLANS.iter().copied().chain([BY_HAND]).collect();
        let plans = opener.model(
            "Dropdown",
            json!({"width": "20em"}),
            json!({"_options_labels": names, "index": listed(&table::plan(record)), "description": "plan"}),
        );
        let tip = "make this plan the one of all gradients of the function, and measure it";
        let apply = opener.model(
            "Button",
            json!({"width": "7em", "flex": "0 0 auto"}),
            json!({"description": "Apply", "button_style": "primary", "tooltip": tip}),
        );
        let acting = opener.boxes(
            "HBox",
            json!({"flex_flow": "row wrap", "width": "100%"}),
            &[budget.clone(), plans.clone(), apply.clone()],
        );
        let frontier = opener.html(&frontier(&shown, &stops));
        let whole = opener.boxes(
            "VBox",
            json!({"width": "100%", "max_width": "110em"}),
            &[summary.clone(), table, acting, frontier.clone()],
        );
        Some((
            whole,
            ResidualsControl {
                watch,
                widths,
                drawn: shown,
                summary,
                frontier,
                plans,
                budget,
                apply,
                rows: lines,
                stops,
                redefined: None,
                note: String::new(),
            },
        ))
    }

    /// The plan that a view selects, or the reason why there is none.
    fn wanted(&self, id: &str, widgets: &Widgets) -> Result<Plan, String> {
        let index = || widgets.get(id, "index").as_u64().and_then(|i| usize::try_from(i).ok()).unwrap_or(usize::MAX);
        let watched = self.watch.borrow();
        let now = || watched.plan().unwrap_or_default();
        if id == self.budget {
            return Ok(self.stops.get(index()).map_or_else(now, |(peak, _)| Plan::Budget(*peak)));
        }
        if id == self.plans {
            return Ok(PLANS.get(index()).and_then(|name| Plan::parse(name)).unwrap_or_else(now));
        }
        let row = self.rows.iter().find(|row| row.switch == id).and_then(|row| u32::try_from(row.id).ok());
        let ids: Vec<u32> = row.into_iter().collect();
        if widgets.get(id, "value") == json!(true) { watched.refined(&ids, &[]) } else { watched.refined(&[], &ids) }
    }

    fn redraw(&mut self, widgets: &mut Widgets, to: &dyn OutputSink) {
        let before = table::inside(&self.drawn).map(|r| table::rows(r, "rows")).unwrap_or_default();
        self.drawn = self.watch.borrow().shown.clone();
        let Some(r) = table::inside(&self.drawn) else { return };
        let still = self.redefined.is_some();
        widgets.set(to, &self.summary, json!({"value": format!("{LIVE}{}", live(&summary(r, &self.note)))}));
        widgets.set(to, &self.frontier, json!({"value": frontier(&self.drawn, &self.stops)}));
        widgets.set(to, &self.plans, json!({"index": listed(&table::plan(r)), "disabled": still}));
        widgets.set(to, &self.budget, slider(&self.stops, r, still));
        widgets.set(to, &self.apply, json!({"disabled": still}));
        let all = table::rows(r, "rows");
        for line in &self.rows {
            let of = |rows: &[Value]| rows.iter().find(|row| number(row, "id") == line.id).cloned();
            let Some(row) = of(&all) else { continue };
            let before = of(&before).map_or(String::new(), |row| table::text(&row, "decision"));
            widgets.set(to, &line.switch, switch(&row, still));
            widgets.set(to, &line.words, json!({"value": live_row(&row, &before, &self.widths)}));
        }
    }
}

impl Control for ResidualsControl {
    fn has(&self, id: &str) -> bool {
        [&self.plans, &self.budget, &self.apply].into_iter().any(|m| m == id)
            || self.rows.iter().any(|row| row.switch == id)
    }

    fn is_open(&self, widgets: &Widgets) -> bool {
        widgets.has(&self.apply)
    }

    fn act(&mut self, id: &str, clicked: bool, stage: &Stage, widgets: &mut Widgets) {
        if self.redefined.is_some() || id == self.apply && !clicked {
            return;
        }
        let shown = self.watch.borrow().shown.clone();
        let s = &mut *stage.session.borrow_mut();
        let done = if id == self.apply {
            s.apply_residuals(&shown).map(|v| (v, true)).map_err(|d| first(&d))
        } else {
            match self.wanted(id, widgets) {
                Ok(plan) => s.replanned(&shown, &plan).map(|v| (v, false)).map_err(|d| first(&d)),
                Err(why) => Err(why),
            }
        };
        self.note = match done {
            Ok((v, applied)) => {
                let note = table::inside(&v).filter(|_| applied).map_or(String::new(), |r| {
                    format!(
                        "applied: gradients of {} follow {} from now on",
                        table::text(r, "function"),
                        table::plan(r)
                    )
                });
                self.watch.borrow_mut().shown = v;
                note
            }
            Err(why) => why,
        };
        self.redraw(widgets, &*stage.sink);
    }

    fn refresh(&mut self, s: &Session, widgets: &mut Widgets, to: &dyn OutputSink) {
        let same = match (&self.watch.borrow().shown, &self.drawn) {
            (Value::Data(a), Value::Data(b)) => Rc::ptr_eq(a, b),
            _ => false,
        };
        let redefined = self.redefined.is_none().then(|| s.redefined(&self.watch.borrow())).flatten();
        if let Some(name) = &redefined {
            self.note =
                format!("{name} has been redefined: this table is about the definition before; run its cell again");
            self.redefined = redefined;
        } else if same {
            return;
        } else if self.redefined.is_none() {
            self.note.clear();
        }
        self.redraw(widgets, to);
    }
}

/// The marker element for the live control, with a summary as text.
fn live(summary: &str) -> String {
    format!("<div class=\"adl-live\">{summary}</div>")
}

fn first(diags: &[Diagnostic]) -> String {
    diags.first().map_or(String::new(), |d| d.message.clone())
}
