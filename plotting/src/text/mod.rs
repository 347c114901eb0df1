//! Plots as characters: axes as text, marks as dots, with eight dots per character.

mod canvas;

use crate::chart::{Chart, LayerKind};
use crate::colour::{Colour, Theme};
use crate::panel::Panel;
use crate::scale::{Axis, Ticks};
use crate::scene::Frame;
use crate::{facets, legend, marks};
use canvas::{Canvas, DOWN, OVER};

/// The minimal number of columns and rows of a plot.
const LEAST: (usize, usize) = (20, 8);
/// The maximal number of columns and rows of a plot.
const MOST: (usize, usize) = (400, 200);

/// A chart as lines of text.
pub fn write(chart: &Chart, columns: usize, rows: usize, colour: bool) -> String {
    lines(chart, columns.clamp(LEAST.0, MOST.0), rows.clamp(LEAST.1, MOST.1), colour).join("\n")
}

fn lines(chart: &Chart, columns: usize, rows: usize, colour: bool) -> Vec<String> {
    if !chart.facets.is_empty() {
        return side_by_side(chart, columns, rows, colour);
    }
    // A surface is shown from above.
    let flat = from_above(chart);
    one(&flat, columns, rows, colour)
}

fn from_above(chart: &Chart) -> Chart {
    let mut flat = chart.clone();
    flat.layers.iter_mut().filter(|l| l.kind == LayerKind::Surface).for_each(|l| l.kind = LayerKind::Heatmap);
    flat
}

fn side_by_side(chart: &Chart, columns: usize, rows: usize, colour: bool) -> Vec<String> {
    let (_, across) = facets::shape(chart);
    let width = (columns / across).max(LEAST.0);
    // Subplots that do not fit beside each other are placed below.
    let across = (columns / width).max(1);
    let mut out = title(chart, columns);
    for row in chart.facets.chunks(across) {
        let parts: Vec<Vec<String>> =
            row.iter().map(|c| lines(c, width - 1, (rows / 2).max(LEAST.1), colour)).collect();
        let height = parts.iter().map(Vec::len).max().unwrap_or(0);
        for k in 0..height {
            let line: String = parts.iter().map(|p| pad(p.get(k).map_or("", String::as_str), width)).collect();
            out.push(line.trim_end().to_owned());
        }
    }
    out
}

/// The number of visible characters, without escape sequences.
fn seen(text: &str) -> usize {
    let (mut n, mut escape) = (0, false);
    for c in text.chars() {
        match (escape, c) {
            (true, 'm') => escape = false,
            (true, _) => {}
            (false, '\x1b') => escape = true,
            (false, _) => n += 1,
        }
    }
    n
}

fn pad(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(seen(text))))
}

fn cut(text: &str, n: usize) -> String {
    let clean: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if clean.chars().count() <= n { clean } else { clean.chars().take(n.saturating_sub(1)).collect::<String>() + "…" }
}

fn title(chart: &Chart, columns: usize) -> Vec<String> {
    if chart.title.is_empty() {
        return Vec::new();
    }
    let text = cut(&chart.title, columns);
    vec![format!("{}{text}", " ".repeat((columns - text.chars().count()) / 2))]
}

fn dots(columns: usize, rows: usize) -> Frame {
    // The last dot of a character is inside the frame.
    Frame { x: 0.5, y: 0.5, w: (columns * OVER) as f64 - 1.0, h: (rows * DOWN) as f64 - 1.0 }
}

fn one(chart: &Chart, columns: usize, rows: usize, colour: bool) -> Vec<String> {
    let mut out = title(chart, columns);
    let first = Panel::new(chart, Theme::Dark, dots(columns, rows));
    let names = names(&first, columns, colour);
    let labels = usize::from(!chart.labels.0.is_empty() || !chart.labels.1.is_empty());
    let high = rows.saturating_sub(out.len() + names.len() + labels + 2).max(3);
    let up = ticks_up(&Axis { ends: (high as f64 * DOWN as f64, 0.0), ..first.y.clone() });
    let left = up.at.iter().map(|t| t.1.chars().count()).max().unwrap_or(0).min(12);
    let wide = columns.saturating_sub(left + 2).max(8);
    let mut panel = Panel::new(chart, Theme::Dark, dots(wide, high));
    panel.coarse = true;
    let mut canvas = Canvas::new(wide, high);
    let (shapes, remarks) = marks::all(&panel);
    canvas.draw(&shapes);
    out.extend(heading(chart, &up, left, columns));
    out.extend(body(&panel, &canvas, &up, left, colour));
    out.extend(below(&panel, left, wide));
    out.extend(names);
    out.extend(heights(&panel, &canvas, colour));
    out.extend(remarks.words());
    out
}

/// The label of the y axis, and the common factor or summand of its ticks.
fn heading(chart: &Chart, up: &Ticks, left: usize, columns: usize) -> Option<String> {
    let text = [chart.labels.1.as_str(), up.note.as_str()].join(" ");
    let text = cut(text.trim(), columns.saturating_sub(left));
    (!text.is_empty()).then(|| format!("{}{text}", " ".repeat(left.saturating_sub(2))))
}

fn ticks_up(axis: &Axis) -> Ticks {
    axis.ticks(((axis.ends.1 - axis.ends.0).abs() / (3.0 * DOWN as f64)) as usize)
}

fn body(p: &Panel, canvas: &Canvas, up: &Ticks, left: usize, colour: bool) -> Vec<String> {
    let mut labels = vec![None; canvas.rows];
    for (v, text) in &up.at {
        let Some(y) = p.y.at(*v) else { continue };
        if let Some(slot) = labels.get_mut((y.max(0.0) as usize) / DOWN) {
            *slot = Some(text);
        }
    }
    let row = |k: usize| match labels[k] {
        Some(text) => format!("{:>left$} ┤{}", cut(text, left), canvas.row(k, colour)),
        None => format!("{:left$} │{}", "", canvas.row(k, colour)),
    };
    (0..canvas.rows).map(|k| row(k).trim_end().to_owned()).collect()
}

/// The x axis, its tick labels or categories, and its label.
fn below(panel: &Panel, left: usize, wide: usize) -> Vec<String> {
    let mut rule: Vec<char> = vec!['─'; wide];
    let mut marks: Vec<char> = vec![' '; wide + left + 2];
    let mut free = 0;
    let ticks = if panel.categories.is_empty() {
        panel.x.ticks(wide / 10)
    } else {
        Ticks {
            at: panel.categories.iter().enumerate().map(|(k, c)| (k as f64, c.clone())).collect(),
            note: String::new(),
        }
    };
    let room = wide / ticks.at.len().max(1);
    for (v, text) in &ticks.at {
        let Some(x) = panel.x.at(*v).filter(|x| *x >= 0.0) else { continue };
        let column = (x as usize / OVER).min(wide - 1);
        let text: Vec<char> =
            cut(text, if panel.categories.is_empty() { 12 } else { room.saturating_sub(1).max(3) }).chars().collect();
        let at = (left + 2 + column).saturating_sub(text.len() / 2).min(marks.len().saturating_sub(text.len()));
        if at < free {
            continue;
        }
        rule[column] = '┬';
        marks[at..at + text.len()].copy_from_slice(&text);
        free = at + text.len() + 1;
    }
    let mut out = vec![
        format!("{:left$} └{}", "", rule.into_iter().collect::<String>()),
        marks.into_iter().collect::<String>().trim_end().to_owned(),
    ];
    let label = [panel.chart.labels.0.as_str(), ticks.note.as_str()].join(" ");
    if !label.trim().is_empty() {
        let label = cut(label.trim(), wide);
        out.push(format!("{:1$}{label}", "", left + 2 + (wide - label.chars().count()) / 2));
    }
    out
}

/// The legend, on as many lines as necessary.
fn names(p: &Panel, columns: usize, colour: bool) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for k in legend::entries(p).into_iter().take(12) {
        let l = &p.chart.layers[k];
        let mark = if l.kind == LayerKind::Scatter { "•" } else { "━" };
        let entry =
            format!("{} {}", painted(mark, p.colour(k), colour), cut(&l.name, 30.min(columns.saturating_sub(4))));
        match out.last_mut() {
            Some(line) if seen(line) + 3 + seen(&entry) <= columns => *line += &format!("   {entry}"),
            _ => out.push(format!("  {entry}")),
        }
    }
    out
}

/// The legend of shades.
fn heights(p: &Panel, canvas: &Canvas, colour: bool) -> Option<String> {
    let (low, high) = p.heights.filter(|_| canvas.shaded())?;
    let scale: String = match colour {
        true => (0..16).map(|k| painted("█", p.map.at(f64::from(k) / 15.0), true)).collect(),
        false => "░▒▓█".to_owned(),
    };
    Some(format!("  {} {scale} {}", crate::scale::short(low), crate::scale::short(high)))
}

/// A text in a colour.
fn painted(text: &str, c: Colour, colour: bool) -> String {
    if colour { format!("\x1b[38;2;{};{};{}m{text}\x1b[0m", c.0, c.1, c.2) } else { text.to_owned() }
}
