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
pub fn odd(text: &str) -> Vec<Range<usize>> {
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
