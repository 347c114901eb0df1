//! Renders diagnostics as text for people and as JSON for programs.

use crate::diag::{Diagnostic, Label, Severity};
use crate::span::{SourceFile, SourceMap, Span};
use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use std::fmt::Write;

/// Options for rendering.
#[derive(Clone, Copy, Default)]
pub struct Style {
    /// Use ANSI colours.
    pub color: bool,
    /// The width at which lines are wrapped between words; 0 for no limit.
    pub columns: usize,
    /// Show every call of the stack, including those inside the standard library.
    pub full_stack: bool,
}

/// Renders as text with source lines and carets, with ANSI colours if `color`.
pub fn text(d: &Diagnostic, sources: &SourceMap, color: bool) -> String {
    styled(d, sources, Style { color, ..Style::default() })
}

/// Wraps a text between words at the given width.
fn folded(text: &str, columns: usize) -> String {
    const LEAST: usize = 20;
    if columns == 0 {
        return text.to_owned();
    }
    let columns = columns.max(LEAST);
    let line = |l: &str| {
        let (mut out, mut used) = (String::new(), 0);
        for (i, word) in l.split(' ').enumerate() {
            let n = word.chars().count();
            if i > 0 && used + 1 + n > columns && used > 0 {
                out.push('\n');
                used = 0;
            } else if i > 0 {
                out.push(' ');
                used += 1;
            }
            out.push_str(word);
            used += n;
        }
        out
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// Renders as text in a style.
pub fn styled(diagnostic: &Diagnostic, sources: &SourceMap, style: Style) -> String {
    let room = |lead: usize| if style.columns == 0 { 0 } else { style.columns.saturating_sub(lead) };
    let title = folded(&diagnostic.message, room("warning[E0000]: ".len()));
    let notes: Vec<String> = diagnostic.notes.iter().map(|n| folded(n, room("  = note: ".len() + 2))).collect();
    let hint = diagnostic.hint.as_ref().map(|h| folded(h, room("  = help: ".len() + 2)));
    let level = if diagnostic.is_error() { Level::ERROR } else { Level::WARNING };
    let title = level.primary_title(title.as_str()).id(diagnostic.code);
    let mut group = Group::with_title(title);
    let mut files = vec![diagnostic.primary.span.file];
    for l in &diagnostic.secondary {
        if !files.contains(&l.span.file) {
            files.push(l.span.file);
        }
    }
    if let Some(x) = &diagnostic.excerpt {
        let mark = AnnotationKind::Primary.span(x.lo..x.hi);
        group =
            group.element(Snippet::source(x.text.as_str()).line_start(x.line).path(x.path.as_str()).annotation(mark));
    }
    // If the message shows a line of a data file, the place in the program is only context.
    let primary = if diagnostic.excerpt.is_some() { AnnotationKind::Context } else { AnnotationKind::Primary };
    for id in files {
        let Some(file) = sources.get(id) else { continue };
        let labels = std::iter::once((primary, &diagnostic.primary));
        let labels = labels.chain(diagnostic.secondary.iter().map(|l| (AnnotationKind::Context, l)));
        group = group.element(snippet(file, labels.filter(|(_, l)| l.span.file == id)));
    }
    for note in &notes {
        group = group.element(Level::NOTE.message(note.as_str()));
    }
    if let Some(hint) = &hint {
        group = group.element(Level::HELP.message(hint.as_str()));
    }
    let renderer = if style.color { Renderer::styled() } else { Renderer::plain() };
    let mut out = renderer.term_width(if style.columns == 0 { 120 } else { style.columns }).render(&[group]).clone();
    write_stack(diagnostic, sources, style.full_stack, &mut out);
    out
}

/// Writes the call stack, innermost first. Consecutive equal calls become one line, and so do calls inside the library.
/// The middle of a long stack is left out.
fn write_stack(d: &Diagnostic, sources: &SourceMap, full: bool, out: &mut String) {
    const INNERMOST: usize = 16;
    const OUTERMOST: usize = 8;
    let library = |s: &Span| sources.get(s.file).is_some_and(|f| f.library);
    let mut lines: Vec<(String, usize)> = Vec::new();
    for (name, span) in &d.stack {
        let line =
            if !full && library(span) { String::new() } else { format!("in `{name}` at {}", place(*span, sources)) };
        match lines.last_mut() {
            Some((last, n)) if *last == line && !full => *n += 1,
            _ => lines.push((line, 0)),
        }
    }
    let skipped = lines.len().saturating_sub(INNERMOST + OUTERMOST);
    let hidden: usize = lines.iter().skip(INNERMOST).take(skipped).map(|(_, more)| 1 + more).sum();
    for (i, (line, more)) in lines.iter().enumerate() {
        if skipped > 0 && i == INNERMOST {
            let _ = write!(out, "\n  ... {hidden} more calls ...");
        }
        if i >= INNERMOST && i < INNERMOST + skipped {
            continue;
        }
        let _ = match (line.as_str(), more) {
            ("", n) => write!(out, "\n  ... {} in the standard library", calls(n + 1)),
            (l, 0) => write!(out, "\n  {l}"),
            (l, n) => write!(out, "\n  {l}\n  ... {n} more of the same"),
        };
    }
}

fn calls(n: usize) -> String {
    if n == 1 { "1 call".to_owned() } else { format!("{n} calls") }
}

/// The snippet of the lines that the labels touch. The renderer gets only these, because its time grows with the length
/// of the text.
fn snippet<'a>(
    file: &'a SourceFile,
    labels: impl Iterator<Item = (AnnotationKind, &'a Label)> + Clone,
) -> Snippet<'a, annotate_snippets::Annotation<'a>> {
    let ranges = labels.clone().map(|(_, l)| on_characters(l.span, &file.text));
    let (lo, hi) = ranges.fold((usize::MAX, 0), |(lo, hi), (from, to)| (lo.min(from), hi.max(to)));
    let (line, start, text) = file.lines_around(lo.min(hi), hi);
    let mut snippet = Snippet::source(text).line_start(line).path(file.name.as_str()).fold(true);
    for (kind, label) in labels {
        let (lo, hi) = on_characters(label.span, &file.text);
        let mark = kind.span(lo - start..hi - start);
        snippet = snippet.annotation(if label.text.is_empty() { mark } else { mark.label(label.text.as_str()) });
    }
    snippet
}

/// The span's bytes, extended to character boundaries and not empty, so that a caret has a character to mark.
fn on_characters(span: Span, text: &str) -> (usize, usize) {
    let mut lo = (span.lo as usize).min(text.len());
    while !text.is_char_boundary(lo) {
        lo -= 1;
    }
    let mut hi = (span.hi as usize).clamp(lo, text.len());
    while !text.is_char_boundary(hi) {
        hi += 1;
    }
    (lo, hi)
}

/// `file:line:column`.
pub fn place(span: Span, sources: &SourceMap) -> String {
    match sources.get(span.file) {
        Some(file) => {
            let (line, col) = file.line_col(span.lo);
            format!("{}:{line}:{col}", file.name)
        }
        None => "?".into(),
    }
}

/// Renders as one JSON object on one line.
pub fn json(diagnostic: &Diagnostic, sources: &SourceMap) -> String {
    let severity = match diagnostic.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let mut out = format!(
        "{{\"code\":\"{}\",\"severity\":\"{severity}\",\"message\":{}",
        diagnostic.code,
        quote(&diagnostic.message)
    );
    let _ = write!(out, ",{}", json_place(diagnostic.primary.span, sources));
    if !diagnostic.primary.text.is_empty() {
        let _ = write!(out, ",\"label\":{}", quote(&diagnostic.primary.text));
    }
    let labels: Vec<String> = diagnostic
        .secondary
        .iter()
        .map(|l| format!("{{\"text\":{},{}}}", quote(&l.text), json_place(l.span, sources)))
        .collect();
    let notes: Vec<String> = diagnostic.notes.iter().map(|n| quote(n)).collect();
    let stack: Vec<String> = diagnostic
        .stack
        .iter()
        .map(|(n, s)| format!("{{\"function\":{},{}}}", quote(n), json_place(*s, sources)))
        .collect();
    let hint = diagnostic.hint.as_ref().map_or("null".into(), |h| quote(h));
    let fix: Vec<String> = diagnostic
        .fix
        .iter()
        .map(|e| {
            format!(
                "{{{},\"start\":{},\"end\":{},\"replacement\":{}}}",
                json_place(e.span, sources),
                e.span.lo,
                e.span.hi,
                quote(&e.text)
            )
        })
        .collect();
    if let Some(x) = &diagnostic.excerpt {
        let _ =
            write!(out, ",\"data\":{{\"file\":{},\"line\":{},\"text\":{}}}", quote(&x.path), x.line, quote(&x.text));
    }
    let _ = write!(
        out,
        ",\"labels\":[{}],\"notes\":[{}],\"hint\":{hint},\"fix\":[{}],\"stack\":[{}]}}",
        labels.join(","),
        notes.join(","),
        fix.join(","),
        stack.join(",")
    );
    out
}

fn json_place(span: Span, sources: &SourceMap) -> String {
    let Some(file) = sources.get(span.file) else { return "\"file\":null".into() };
    let (line, column) = file.line_col(span.lo);
    let (end_line, end_column) = file.line_col(span.hi);
    format!(
        "\"file\":{},\"line\":{line},\"column\":{column},\"end_line\":{end_line},\"end_column\":{end_column}",
        quote(&file.name)
    )
}

/// A JSON string.
pub fn quote(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if (c as u32) < 0x20 => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
