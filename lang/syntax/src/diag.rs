//! What every error and warning is: data first, rendering (`render`) apart.
//!
//! Codes are stable: `E01xx` lexis and syntax, `E02xx` names and types, `E03xx` sizes, `E04xx`
//! patterns, `E05xx` linearity, `E06xx` differentiation, `E07xx` run time, `E08xx` data and files,
//! `E09xx` faults of adl itself; `Wxxxx` the same for warnings.

use crate::span::Span;

/// How bad it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Severity {
    /// The item cannot be used.
    Error,
    /// The item is used; the user should look.
    Warning,
}

/// A marked place with a word about it.
#[derive(Clone, PartialEq, Debug)]
pub struct Label {
    /// The place.
    pub span: Span,
    /// What is there (may be empty).
    pub text: String,
}

/// A change of the text: what stands at a place is replaced.
#[derive(Clone, PartialEq, Debug)]
pub struct Edit {
    /// What is replaced; empty for what is added.
    pub span: Span,
    /// By this.
    pub text: String,
}

/// A line of a file that is data: what an error is about that the program met in it.
#[derive(Clone, PartialEq, Debug)]
pub struct Excerpt {
    /// The file, as the program calls it.
    pub path: String,
    /// Its line, from 1.
    pub line: usize,
    /// The line, or the part of a long one around the place.
    pub text: String,
    /// The bytes of `text` that are wrong.
    pub lo: usize,
    /// Their end.
    pub hi: usize,
}

impl Excerpt {
    /// The line of a text around the bytes from `lo` to `hi`, which are on it; of a long line a part.
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
        Excerpt { path: path.to_owned(), line, text: text[from..to].to_owned(), lo: on(lo, -1) - from, hi: on(hi.clamp(lo, to), 1) - from }
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
    /// Places where conflicting facts came from.
    pub secondary: Vec<Label>,
    /// Facts worth knowing.
    pub notes: Vec<String>,
    /// What to do about it.
    pub hint: Option<String>,
    /// The changes of the text that mend it, where that needs no thought; they do not overlap.
    pub fix: Vec<Edit>,
    /// Where in a file of data it arose.
    pub excerpt: Option<Box<Excerpt>>,
    /// For run-time errors: the adl call stack, innermost first (function name, call place).
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

    /// Sets the words at the primary place.
    pub fn label(mut self, text: impl Into<String>) -> Diagnostic {
        self.primary.text = text.into();
        self
    }

    /// Adds a second place.
    pub fn also(mut self, span: Span, text: impl Into<String>) -> Diagnostic {
        self.secondary.push(Label { span, text: text.into() });
        self
    }

    /// Adds a fact.
    pub fn note(mut self, text: impl Into<String>) -> Diagnostic {
        self.notes.push(text.into());
        self
    }

    /// Sets the suggestion.
    pub fn hint(mut self, text: impl Into<String>) -> Diagnostic {
        self.hint = Some(text.into());
        self
    }

    /// Adds a change that mends it, with others that were added.
    pub fn fix(mut self, span: Span, text: impl Into<String>) -> Diagnostic {
        self.fix.push(Edit { span, text: text.into() });
        self
    }

    /// Whether it is an error.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}
