//! What stands between brackets, and its lines.

use super::Formatter;
use super::doc::{D, concat, group, hard, line, nest, soft_line, space};
use super::exprs::HangingDoc;
use crate::ast::{Change, Expr, ExprKind, Ident, Lit, PathStep};
use crate::span::Span;

/// How the parts between two brackets share lines.
struct Lines {
    /// On the author's lines: where remarks stand between the parts, where a comma ends the last line, and for
    /// matrices that were written row by row.
    kept: bool,
    /// A comma stands behind the last part.
    comma: bool,
    /// As many to a line as fit, as in long arrays of numbers.
    fill: bool,
}

impl Lines {
    /// Behind the opening bracket, and before the closing one.
    fn opening(&self) -> D {
        if self.kept { hard() } else { soft_line() }
    }
}

/// What stands between two parts.
enum Separator {
    Newline(D),
    /// A space, or a newline where the part does not fit.
    Fill,
    Line,
}

impl Separator {
    fn before(self, part: D) -> D {
        match self {
            Separator::Newline(newline) => concat(vec![newline, part]),
            Separator::Fill => group(concat(vec![line(), part])),
            Separator::Line => concat(vec![line(), part]),
        }
    }
}

impl Formatter<'_> {
    pub(super) fn elements(&mut self, open: &str, parts: &[Expr], close: &str, span: Span) -> HangingDoc {
        let tuple = open == "(";
        let open = self.tokens.sign(open);
        if parts.is_empty() {
            return HangingDoc::plain(concat(vec![open, self.tokens.sign(close)]));
        }
        let lines = self.lines(span, parts);
        let mut inner = vec![lines.opening()];
        for (i, part) in parts.iter().enumerate() {
            if i > 0 {
                inner.push(self.tokens.sign(","));
            }
            let separator = i.checked_sub(1).map(|before| self.between(&lines, parts[before].span.hi, part.span));
            let part = if tuple { self.part(part) } else { self.expr(part) };
            inner.push(separator.map_or(part.clone(), |s| s.before(part)));
        }
        self.closed(open, inner, &lines, close)
    }

    pub(super) fn record(&mut self, fields: &[(Ident, Expr)], span: Span) -> HangingDoc {
        let open = self.tokens.sign("{");
        if fields.is_empty() {
            return HangingDoc::plain(concat(vec![open, self.tokens.sign("}")]));
        }
        let lines = self.lines(span, &[]);
        let mut inner = vec![lines.opening()];
        let mut end = None;
        for (name, value) in fields {
            if end.is_some() {
                inner.push(self.tokens.sign(","));
            }
            let separator = end.replace(value.span.hi).map(|end| self.between(&lines, end, name.span));
            let head = self.ident(*name);
            let field = self.given(head, is_punned(*name, value), value);
            inner.push(separator.map_or(field.clone(), |s| s.before(field)));
        }
        self.closed(open, inner, &lines, "}")
    }

    pub(super) fn update(&mut self, base: &Expr, changes: &[Change], span: Span) -> HangingDoc {
        let open = self.tokens.sign("{");
        let lines = self.lines(span, &[]);
        let mut inner = vec![lines.opening(), self.expr(base), space(), self.tokens.sign("with")];
        let mut end = base.span.hi;
        for (i, change) in changes.iter().enumerate() {
            inner.extend((i > 0).then(|| self.tokens.sign(",")));
            let separator = self.between(&lines, end, place_span(&change.place));
            end = change.value.span.hi;
            let head = self.place(&change.place);
            let punned = change.field().is_some_and(|name| is_punned(name, &change.value));
            inner.push(separator.before(self.given(head, punned, &change.value)));
        }
        self.closed(open, inner, &lines, "}")
    }

    fn closed(&mut self, open: D, mut inner: Vec<D>, lines: &Lines, close: &str) -> HangingDoc {
        if lines.comma {
            inner.push(self.tokens.sign(","));
        }
        let close = self.tokens.sign(close);
        let content = concat(vec![open, nest(concat(inner)), lines.opening(), close]);
        HangingDoc { bracket: true, ..HangingDoc::hangs(content) }
    }

    /// `w.x[i, j]`.
    fn place(&mut self, place: &[PathStep]) -> D {
        let mut parts = Vec::new();
        for (i, step) in place.iter().enumerate() {
            match step {
                PathStep::Field(name) => {
                    parts.extend((i > 0).then(|| self.tokens.sign(".")));
                    parts.push(self.ident(*name));
                }
                PathStep::At(args, _) => parts.push(self.list("[", args, "]", Self::index)),
            }
        }
        concat(parts)
    }

    /// The lines of the parts between the brackets at `span`; `elements` are those of an array or a tuple.
    fn lines(&self, span: Span, elements: &[Expr]) -> Lines {
        let several = !self.tokens.on_one_line(span);
        let comma = several && self.tokens.ends_in_comma(span);
        let newline = |pair: &[Expr]| self.newline_between(pair[0].span.hi, pair[1].span.lo);
        let rows = elements.len() > 1 && elements.iter().all(|e| matches!(e.kind, ExprKind::Array(_)));
        let by_row = several && rows && elements.windows(2).all(newline);
        let fill = elements.len() > 8 && elements.iter().all(is_number);
        Lines { kept: comma || by_row || several && self.tokens.has_comments(span), comma, fill }
    }

    /// What stands before the part at `part`, when the one before it ends at `end`.
    fn between(&self, lines: &Lines, end: u32, part: Span) -> Separator {
        match lines {
            Lines { kept: true, .. } if self.newline_between(end, part.lo) => Separator::Newline(self.separator(part)),
            Lines { kept: false, fill: false, .. } => Separator::Line,
            _ => Separator::Fill,
        }
    }

    fn newline_between(&self, lo: u32, hi: u32) -> bool {
        self.tokens.source.get(lo as usize..hi as usize).is_some_and(|text| text.contains('\n'))
    }
}

/// Where the place of an update begins.
fn place_span(place: &[PathStep]) -> Span {
    match place.first() {
        Some(PathStep::Field(name)) => name.span,
        Some(PathStep::At(_, span)) => *span,
        None => Span::default(),
    }
}

/// Whether a field is given by its name alone.
fn is_punned(name: Ident, value: &Expr) -> bool {
    matches!(value.kind, ExprKind::Var(v) if v == name.name) && value.span == name.span
}

fn is_number(e: &Expr) -> bool {
    match &e.kind {
        ExprKind::Lit(Lit::Int(_) | Lit::Float(_) | Lit::F32(_)) => true,
        ExprKind::Neg(operand) => is_number(operand),
        _ => false,
    }
}
