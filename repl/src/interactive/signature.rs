//! The signature of the function at the cursor: its type on one line, with the current parameter marked.

use super::assistant::clip;
use adl_session::completion_ranking::parameters;
use adl_session::width;
use std::ops::Range;

/// A function's type and purpose within a width, and the range of the parameter in that text. If the parameter would be
/// cut off, the beginning of the type is left out.
pub fn line(name: &str, ty: &str, about: &str, nth: usize, columns: usize) -> (String, Option<Range<usize>>) {
    let all = parameters(ty);
    let about = if about.is_empty() { String::new() } else { format!("   {about}") };
    let here = all.get(nth).filter(|_| nth + 1 < all.len()).cloned();
    let before = here.as_ref().map_or(0, |r| r.start);
    let long = before > 0 && here.as_ref().is_some_and(|r| width(name) + 3 + width(&ty[..r.end]) + 2 > columns);
    let (head, from) = if long { (format!("{name} : … -> "), before) } else { (format!("{name} : "), 0) };
    let text = clip(&format!("{head}{}{about}", &ty[from..]), columns);
    let place = here.map(|r| head.len() + r.start - from..(head.len() + r.end - from).min(text.len()));
    (text, place.filter(|r| r.start < r.end))
}
