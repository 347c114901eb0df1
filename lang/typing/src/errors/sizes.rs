//! E0301, E0302: constant sizes that differ, and indices out of bounds.

use super::Explanation;
use adl_syntax::diag::Diagnostic;
use adl_syntax::span::Span;

/// A constant size with its origin, if known: its span and "line 3".
pub(crate) struct KnownSize {
    /// The number.
    pub size: u64,
    /// Its origin.
    pub origin: Option<(Span, String)>,
}

/// Two array types with different sizes.
pub(crate) struct SizeMismatch {
    /// The type that the message mentions first, and its size.
    pub first: (String, KnownSize),
    /// The other type, and its size.
    pub second: (String, KnownSize),
    /// The place where they must agree.
    pub span: Span,
    /// A description of that place.
    pub what: String,
    /// Other places.
    pub places: Vec<(Span, String)>,
}

impl SizeMismatch {
    /// The message.
    pub fn diagnostic(self) -> Diagnostic {
        let SizeMismatch { first: (left, left_size), second: (right, right_size), span, what, places } = self;
        let text = match (&left_size.origin, &right_size.origin) {
            (Some((_, l)), Some((_, k))) => {
                format!(
                    "{left} does not match {right}: size {} is from {l}, size {} from {k}",
                    left_size.size, right_size.size
                )
            }
            (Some((_, l)), None) => {
                format!(
                    "{left} does not match {right}: size {} is from {l}, expected size {}",
                    left_size.size, right_size.size
                )
            }
            (None, Some((_, k))) => {
                format!(
                    "{left} does not match {right}: size {} is from {k}, found size {}",
                    right_size.size, left_size.size
                )
            }
            (None, None) => {
                format!("{left} does not match {right}: size {} against size {}", left_size.size, right_size.size)
            }
        };
        let mut diagnostic = Diagnostic::error("E0301", span, text).label(what);
        let mut marked = Vec::new();
        for k in [&left_size, &right_size] {
            if let Some((at, _)) = &k.origin
                && *at != span
                && !marked.contains(at)
            {
                diagnostic = diagnostic.also(*at, format!("size {} is from here", k.size));
                marked.push(*at);
            }
        }
        // If both origins are known, the message needs no further places.
        let both = left_size.origin.is_some() && right_size.origin.is_some();
        for (at, text) in places.into_iter().filter(|_| !both) {
            if at != span && !marked.contains(&at) {
                diagnostic = diagnostic.also(at, text);
            }
        }
        diagnostic
    }
}

/// The inner sizes of a product differ: the last axis of the left operand and the first axis of the right one.
pub(crate) fn inner(span: Span, left: (Span, String, KnownSize), right: (Span, String, KnownSize)) -> Diagnostic {
    let from = |k: &KnownSize| k.origin.as_ref().map_or(String::new(), |(_, line)| format!(" ({line})"));
    let ((sa, a, m), (sb, b, n)) = (left, right);
    let text = format!(
        "the inner sizes of `@` differ: {a} has {}{} at its end, and {b} has {}{} at its beginning",
        m.size,
        from(&m),
        n.size,
        from(&n)
    );
    let mut d = Diagnostic::error("E0301", span, text).also(sa, a).also(sb, b);
    let mut marked = vec![span, sa, sb];
    for k in [&m, &n] {
        if let Some((at, _)) = k.origin.as_ref().filter(|(at, _)| !marked.contains(at)) {
            marked.push(*at);
            d = d.also(*at, format!("size {} is from here", k.size));
        }
    }
    d
}

/// A shape with another number of elements.
pub(crate) fn reshape(span: Span, have: u64, want: u64) -> Diagnostic {
    Diagnostic::error("E0301", span, format!("{have} elements cannot have a shape of {want}"))
        .hint("the product of the shape must be the number of elements")
}

/// `x[-5]` on an axis of three.
pub(crate) fn before_the_first(span: Span, index: i64, extent: u64) -> Diagnostic {
    let of = if extent == 1 { "1 element".to_owned() } else { format!("{extent} elements") };
    let d = Diagnostic::error("E0302", span, format!("{index} counts back beyond the first of {of}"));
    if extent == 0 { d } else { d.hint(format!("the first element is `x[0]`, or `x[-{extent}]`")) }
}

/// `x[::0]`.
pub(crate) fn no_step(span: Span) -> Diagnostic {
    Diagnostic::error("E0302", span, "the step of a slice is 0")
        .hint("every second element is `x[::2]`; from the end to the beginning, `x[::-1]`")
}

/// `{p with a[0:2].x = v}`.
pub(crate) fn slice_inside(span: Span) -> Diagnostic {
    Diagnostic::error("E0302", span, "a slice ends the way to what an update replaces")
        .hint("name one element, as in `{p with a[0].x = v}`, or make the array with `for i < n -> ...`")
}

pub(super) const EXPLANATIONS: &[Explanation] = &[
    (
        "E0301",
        "Two sizes that must be equal are known, and differ. Nothing has run yet: sizes that only a run can tell are checked then (E0702).\n\
        \n\
        \x20   [1.0, 2.0] + [1.0, 2.0, 3.0]   -- wrong\n\
        \x20   [1.0, 2.0] + [3.0, 4.0]        -- right\n\
        \n\
        \x20   let f (a : [n]Float) (b : [n]Float) = dot a b\n\
        \x20   f [1.0, 2.0] [3.0]                              -- wrong\n\
        \x20   f [1.0, 2.0] [3.0, 4.0]                         -- right",
    ),
    (
        "E0302",
        "A literal `-k` in an index or a slice is the place `k` before the end of the axis, which must not lie before its first element. The step of \
        a slice is not 0. An index that is computed counts from the front, and is an error when it runs if it is negative (E0701).\n\
        \n\
        \x20   [1.0, 2.0, 3.0][-4]     -- wrong: there are 3\n\
        \x20   [1.0, 2.0, 3.0][-1]     -- right: the last\n\
        \n\
        \x20   [1.0, 2.0, 3.0][::0]    -- wrong\n\
        \x20   [1.0, 2.0, 3.0][::-1]   -- right: the other way round",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_origins_are_named() {
        let at = |lo: usize, line: &str| Some((Span::new(Span::default().file, lo, lo + 1), line.to_owned()));
        let d = SizeMismatch {
            first: ("[3]Float".into(), KnownSize { size: 3, origin: at(10, "line 2") }),
            second: ("[4]Float".into(), KnownSize { size: 4, origin: at(50, "line 5") }),
            span: Span::default(),
            what: String::new(),
            places: Vec::new(),
        }
        .diagnostic();
        assert_eq!(d.message, "[3]Float does not match [4]Float: size 3 is from line 2, size 4 from line 5");
        assert_eq!(d.secondary.len(), 2);
    }
}
