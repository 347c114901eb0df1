//! Errors and warnings as data; [`crate::render`] turns them into text.
//!
//! Codes are stable: `E01xx` lexis and syntax, `E02xx` names and types, `E03xx` sizes, `E04xx` patterns, `E05xx`
//! linearity. Furthermore `E06xx` differentiation, `E07xx` run time, `E08xx` data and files, `E09xx` internal errors of
//! adl. Warnings use the same numbers as `Wxxxx`.

use crate::span::Span;

/// The severity of a diagnostic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Severity {
    /// The item cannot be used.
    Error,
    /// The item is used; the user should look.
    Warning,
}

/// A marked place with a label.
#[derive(Clone, PartialEq, Debug)]
pub struct Label {
    /// The place.
    pub span: Span,
    /// The label's text (may be empty).
    pub text: String,
}

/// An edit of the source: replaces the text of a span.
#[derive(Clone, PartialEq, Debug)]
pub struct Edit {
    /// The replaced text; an empty span for an insertion.
    pub span: Span,
    /// The replacement.
    pub text: String,
}

/// A line of a data file, for errors that arise while the file is read.
#[derive(Clone, PartialEq, Debug)]
pub struct Excerpt {
    /// The file's path as the program writes it.
    pub path: String,
    /// The line number, from 1.
    pub line: usize,
    /// The line, or a part of a long line around the error.
    pub text: String,
    /// First wrong byte of `text`.
    pub lo: usize,
    /// One past the last wrong byte.
    pub hi: usize,
}

impl Excerpt {
    /// The excerpt of a line for the bytes `lo..hi` of it. Long lines are shortened.
    pub fn new(path: &str, line: usize, text: &str, (lo, hi): (usize, usize)) -> Excerpt {
        const AROUND: usize = 100;
        let bytes = text.as_bytes();
        let lo = lo.min(bytes.len());
        let start = bytes[..lo].iter().rposition(|c| matches!(c, b'\n' | b'\r')).map_or(0, |i| i + 1);
        let end = bytes[lo..].iter().position(|c| matches!(c, b'\n' | b'\r')).map_or(bytes.len(), |i| lo + i);
        let on = |mut i: usize, step: isize| {
            while !text.is_char_boundary(i) {
                i = i.wrapping_add_signed(step);
            }
            i
        };
        let (from, to) = (on(start.max(lo.saturating_sub(AROUND)), -1), on(end.min(lo + AROUND), 1));
        Excerpt {
            path: path.to_owned(),
            line,
            text: text[from..to].to_owned(),
            lo: on(lo, -1) - from,
            hi: on(hi.clamp(lo, to), 1) - from,
        }
    }
}

/// One error or warning.
#[derive(Clone, PartialEq, Debug)]
pub struct Diagnostic {
    /// Stable code such as `E0203`.
    pub code: &'static str,
    /// Error or warning.
    pub severity: Severity,
    /// One line, in the user's own names.
    pub message: String,
    /// The place that is wrong.
    pub primary: Label,
    /// Places that explain the error.
    pub secondary: Vec<Label>,
    /// Additional facts.
    pub notes: Vec<String>,
    /// A suggestion.
    pub hint: Option<String>,
    /// Edits that fix the error; they do not overlap. Empty if the fix needs a decision.
    pub fix: Vec<Edit>,
    /// The line of the data file in which it arose.
    pub excerpt: Option<Box<Excerpt>>,
    /// For run-time errors: the adl call stack, innermost first (function name, call site).
    pub stack: Vec<(String, Span)>,
}

impl Diagnostic {
    /// An error at `span`.
    pub fn error(code: &'static str, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            code,
            severity: Severity::Error,
            message: message.into(),
            primary: Label { span, text: String::new() },
            secondary: Vec::new(),
            notes: Vec::new(),
            hint: None,
            fix: Vec::new(),
            excerpt: None,
            stack: Vec::new(),
        }
    }

    /// A warning at `span`.
    pub fn warning(code: &'static str, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic { severity: Severity::Warning, ..Diagnostic::error(code, span, message) }
    }

    /// Sets the label of the primary place.
    pub fn label(mut self, text: impl Into<String>) -> Diagnostic {
        self.primary.text = text.into();
        self
    }

    /// Adds a secondary place.
    pub fn also(mut self, span: Span, text: impl Into<String>) -> Diagnostic {
        self.secondary.push(Label { span, text: text.into() });
        self
    }

    /// Adds a note.
    pub fn note(mut self, text: impl Into<String>) -> Diagnostic {
        self.notes.push(text.into());
        self
    }

    /// Sets the hint.
    pub fn hint(mut self, text: impl Into<String>) -> Diagnostic {
        self.hint = Some(text.into());
        self
    }

    /// Adds an edit to the fix.
    pub fn fix(mut self, span: Span, text: impl Into<String>) -> Diagnostic {
        self.fix.push(Edit { span, text: text.into() });
        self
    }

    /// Whether it is an error.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}
