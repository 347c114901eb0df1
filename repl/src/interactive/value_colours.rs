//! Colours in displayed values.

use std::ops::Range;

const ODD: &str = "\x1b[31m";
const PLAIN: &str = "\x1b[0m";

/// Colours nan and infinities in the text of a value, but not inside strings and names.
pub fn marked(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for place in odd(text) {
        out.push_str(&text[at..place.start]);
        out.push_str(ODD);
        out.push_str(&text[place.clone()]);
        out.push_str(PLAIN);
        at = place.end;
    }
    out.push_str(&text[at..]);
    out
}

/// The positions of nan and infinity.
fn odd(text: &str) -> Vec<Range<usize>> {
    let mut out = Vec::new();
    let (mut quoted, mut escaped, mut word) = (false, false, None);
    for (i, c) in text.char_indices().chain([(text.len(), ' ')]) {
        let inside = c.is_alphanumeric() || matches!(c, '_' | '.' | '\'');
        match word {
            None if inside && !quoted => word = Some(i),
            Some(start) if !inside => {
                out.extend(number(text, start..i));
                word = None;
            }
            _ => {}
        }
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            _ => {}
        }
    }
    out
}

/// The position of such a number with its sign. Names with the same spelling are followed by further characters.
fn number(text: &str, word: Range<usize>) -> Option<Range<usize>> {
    let named = [" = ", " : ", ": "].iter().any(|s| text[word.end..].starts_with(s))
        && !text[word.end..].starts_with(" : Float");
    let start = if text[..word.start].ends_with('-') { word.start - 1 } else { word.start };
    (["nan", "inf"].contains(&&text[word.clone()]) && !named).then_some(start..word.end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_numbers_are_marked() {
        let found = |text: &'static str| odd(text).into_iter().map(|r| &text[r]).collect::<Vec<_>>();
        assert_eq!(found("[nan, 1.0, -inf] : [3]Float, 1 nan, 1 inf"), ["nan", "-inf", "nan", "inf"]);
        assert_eq!(found("nan : Float"), ["nan"]);
        assert_eq!(found("inf = 3 : Int"), [""; 0]);
        assert_eq!(found("(\"nan \\\" inf\", nan_count, inf.x) : {nan : Int}"), [""; 0]);
        assert_eq!(found("  0.5  nan\n  1.0  inf"), ["nan", "inf"]);
        assert_eq!(marked("[nan]"), "[\x1b[31mnan\x1b[0m]");
    }
}
