//! Diagnostics as text for people and JSON for programs.

use crate::diag::{Diagnostic, Label, Severity};
use crate::span::{SourceFile, SourceMap, Span};
use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use std::fmt::Write;

/// As text with source lines and carets; with ANSI colours where `color`.
pub fn text(d: &Diagnostic, sources: &SourceMap, color: bool) -> String {
    let level = if d.is_error() { Level::ERROR } else { Level::WARNING };
    let title = level.primary_title(d.message.as_str()).id(d.code);
    let mut group = Group::with_title(title);
    let mut files = vec![d.primary.span.file];
    for l in &d.secondary {
        if !files.contains(&l.span.file) {
            files.push(l.span.file);
        }
    }
    for id in files {
        let Some(file) = sources.get(id) else { continue };
        let labels = std::iter::once((AnnotationKind::Primary, &d.primary));
        let labels = labels.chain(d.secondary.iter().map(|l| (AnnotationKind::Context, l)));
        group = group.element(snippet(file, labels.filter(|(_, l)| l.span.file == id)));
    }
    for note in &d.notes {
        group = group.element(Level::NOTE.message(note.as_str()));
    }
    if let Some(hint) = &d.hint {
        group = group.element(Level::HELP.message(hint.as_str()));
    }
    let renderer = if color { Renderer::styled() } else { Renderer::plain() };
    let mut out = renderer.term_width(120).render(&[group]).to_string();
    write_stack(d, sources, &mut out);
    out
}

/// The call stack, innermost first; the middle of a long one is left out.
fn write_stack(d: &Diagnostic, sources: &SourceMap, out: &mut String) {
    const INNERMOST: usize = 16;
    const OUTERMOST: usize = 8;
    let skipped = d.stack.len().saturating_sub(INNERMOST + OUTERMOST);
    for (i, (name, span)) in d.stack.iter().enumerate() {
        if skipped > 0 && i == INNERMOST {
            let _ = write!(out, "\n  ... {skipped} more calls ...");
        }
        if i < INNERMOST || i >= INNERMOST + skipped {
            let _ = write!(out, "\n  in `{name}` at {}", place(*span, sources));
        }
    }
}

/// The lines of `file` that the labels touch. Only they are given to the renderer, whose time grows
/// with the text.
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

/// A caret needs something to stand under: the span's bytes, moved to the boundaries of characters.
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

/// As one JSON object on one line.
pub fn json(d: &Diagnostic, sources: &SourceMap) -> String {
    let severity = match d.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let mut out = format!("{{\"code\":\"{}\",\"severity\":\"{severity}\",\"message\":{}", d.code, quote(&d.message));
    let _ = write!(out, ",{}", json_place(d.primary.span, sources));
    if !d.primary.text.is_empty() {
        let _ = write!(out, ",\"label\":{}", quote(&d.primary.text));
    }
    let labels: Vec<String> =
        d.secondary.iter().map(|l| format!("{{\"text\":{},{}}}", quote(&l.text), json_place(l.span, sources))).collect();
    let notes: Vec<String> = d.notes.iter().map(|n| quote(n)).collect();
    let stack: Vec<String> =
        d.stack.iter().map(|(n, s)| format!("{{\"function\":{},{}}}", quote(n), json_place(*s, sources))).collect();
    let hint = d.hint.as_ref().map_or("null".into(), |h| quote(h));
    let _ = write!(
        out,
        ",\"labels\":[{}],\"notes\":[{}],\"hint\":{hint},\"stack\":[{}]}}",
        labels.join(","),
        notes.join(","),
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
