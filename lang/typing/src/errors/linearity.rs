//! E0501: bodies of `lin` that are not linear.

use super::{Explanation, listed};
use adl_syntax::diag::Diagnostic;
use adl_syntax::span::Span;

/// The variables that a `lin` is linear in.
pub(crate) struct LinearVariables {
    /// Their names in the source.
    pub names: Vec<String>,
    /// Where they are bound.
    pub span: Option<Span>,
    /// "line 3".
    pub line: String,
}

impl LinearVariables {
    /// "the linear variable `x` (line 3)".
    pub fn described(&self) -> String {
        match self.names.as_slice() {
            [] => format!("its linear argument ({})", self.line),
            [one] => format!("the linear variable `{one}` ({})", self.line),
            all => format!("the linear variables {} ({})", listed(all), self.line),
        }
    }

    /// "`x`".
    pub fn short(&self) -> String {
        if self.names.is_empty() { "the argument".into() } else { listed(&self.names) }
    }
}

/// The reason why a body is not linear.
pub(crate) enum Nonlinearity<'a> {
    /// A primitive that is not linear is applied to something that depends on the variable.
    NotLinear(&'a str),
    /// Both factors depend on it.
    BothSides(&'a str),
    /// A condition, an index or the like, which must not depend on it.
    Depends(&'a str),
    /// A sum (or a tuple, an array) with a part that is neither linear nor zero.
    Constant(&'a str),
    /// The whole result does not depend on it.
    NoDependence,
    /// A function of type `->` is applied to it.
    PlainFunction,
    /// A function of type `->` is mapped over it.
    PlainMapped,
    /// A function that captures it is returned.
    Captured,
    /// `match` branches on it.
    Branches,
    /// Nested too deeply to check.
    TooDeep,
}

/// A hint for a fault in the body of a function that is applied.
pub(crate) fn inside(fault: Nonlinearity<'_>, function: &str, vars: &LinearVariables) -> String {
    format!("in `{function}`: {}", diagnostic(fault, Span::default(), vars).message)
}

/// The message for a fault.
pub(crate) fn diagnostic(fault: Nonlinearity<'_>, span: Span, vars: &LinearVariables) -> Diagnostic {
    let (described, short) = (vars.described(), vars.short());
    let zero = "a linear function maps zero to zero";
    let (text, hint) = match fault {
        Nonlinearity::NotLinear(op) => (format!("`{op}` is not linear, and its argument depends on {described}"), None),
        Nonlinearity::BothSides(op) => {
            (format!("both sides of `{op}` depend on {described}, so the product is not linear"), None)
        }
        Nonlinearity::Depends(what) => {
            (format!("{what} depends on {described}"), Some("it may depend only on what is free of the variable"))
        }
        Nonlinearity::Constant(what) => (
            format!("{what} is not linear in {short}: this part does not depend on {short} and is not zero"),
            Some(zero),
        ),
        Nonlinearity::NoDependence => (format!("the result does not depend on {short} and is not zero"), Some(zero)),
        Nonlinearity::PlainFunction => (
            format!("this function is not linear (`->`, not `-o`), and its argument depends on {described}"),
            Some("define it with `lin`"),
        ),
        Nonlinearity::PlainMapped => (
            format!("this function is not linear (`->`, not `-o`), and it is mapped over what depends on {described}"),
            Some("define it with `lin`"),
        ),
        Nonlinearity::Captured => (
            format!("a function that uses {described} is not itself linear data"),
            Some("apply it, and return the result"),
        ),
        Nonlinearity::Branches => (
            format!("`match` branches on a value that depends on {described}"),
            Some("branch on what is free of the variable"),
        ),
        Nonlinearity::TooDeep => ("functions inside `lin` are nested too deeply to be checked".to_owned(), None),
    };
    let mut d = Diagnostic::error("E0501", span, text);
    if let Some(at) = vars.span {
        d = d.also(at, "linear in this");
    }
    match hint {
        Some(h) => d.hint(h),
        None => d,
    }
}

pub(super) const EXPLANATIONS: &[Explanation] = &[(
    "E0501",
    "The body of `lin x -> e` must be linear in `x`: sums, scaling by what does not depend on `x`, and moving data around. Any function has a linear one nearby: `linearize f a` gives it.\n\
        \n\
        \x20   lin x -> sin x                   -- wrong\n\
        \x20   lin x -> 3.0 * x                 -- right\n\
        \x20   let (y, l) = linearize sin 1.0   -- right\n\
        \n\
        \x20   lin x -> x * x              -- wrong\n\
        \x20   lin x -> x + 1.0            -- wrong\n\
        \x20   lin (x, y) -> x + 2.0 * y   -- right",
)];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_and_its_line_are_named() {
        let vars = LinearVariables { names: vec!["x".into()], span: None, line: "line 3".into() };
        let d = diagnostic(Nonlinearity::NotLinear("sin"), Span::default(), &vars);
        assert_eq!(d.message, "`sin` is not linear, and its argument depends on the linear variable `x` (line 3)");
    }
}
