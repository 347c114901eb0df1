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

    /// Whether it is an error.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}
