//! The signature of the function at the cursor: its type on one line, with the current parameter marked.

use super::assistant::clip;
use adl_kernel::suggest;
use adl_session::completion_ranking::parameters;
use adl_session::width;
use adl_syntax::highlight::Class;
use std::ops::Range;

/// The function in whose argument the cursor is, and the index of that argument.
pub fn called(before: &str) -> Option<(&str, usize)> {
    let (mut depth, mut start, mut arguments) = (0usize, before.len(), Vec::new());
    for (range, class) in adl_syntax::tokens(before).into_iter().rev() {
        match &before[range.clone()] {
            ")" | "]" | "}" => depth += 1,
            "(" | "[" | "{" if depth == 0 => break,
            "(" | "[" | "{" => depth -= 1,
            "." => {}
            _ if depth == 0 && matches!(class, Class::Keyword | Class::Operator | Class::Bracket) => break,
            _ => {}
        }
        if depth == 0 {
            start = range.start;
            arguments.push(start);
        }
    }
    let application = &before[start..];
    let name = &application[..application.find(|c: char| !suggest::in_name(c))?];
    let applied = name.starts_with(|c: char| c.is_lowercase()) && application[name.len()..].starts_with(' ');
    // An argument begins after white space; `p.x` and `v[0]` are single arguments.
    let begun = arguments.iter().filter(|at| **at > start && before[..**at].ends_with(char::is_whitespace)).count();
    let nth = if before.ends_with(char::is_whitespace) { begun } else { begun.saturating_sub(1) };
    applied.then_some((name, nth))
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_function_that_is_called() {
        for (text, want) in [
            ("grad ", Some(("grad", 0))),
            ("let y = optim.adam o ", Some(("optim.adam", 1))),
            ("f (g x", Some(("g", 0))),
            ("f (g x) ", Some(("f", 1))),
            ("f p.x v[0] q", Some(("f", 2))),
            ("f [1, 2] {a = 1} \"a b\" ", Some(("f", 3))),
            ("1 + f", None),
            ("grad", None),
            ("f x + ", None),
            ("(x, h 1 ", Some(("h", 1))),
        ] {
            assert_eq!(called(text), want, "{text}");
        }
    }

    #[test]
    fn the_parameter_is_marked() {
        let marked = |ty, nth, columns| {
            let (text, place) = line("f", ty, "Words", nth, columns);
            let part = place.map(|r| text[r].to_owned());
            (text, part)
        };
        assert_eq!(
            marked("Num a => a -> [n]a -> Int", 1, 80),
            ("f : Num a => a -> [n]a -> Int   Words".into(), Some("[n]a".into()))
        );
        assert_eq!(marked("Int -> Int", 1, 80).1, None);
        assert_eq!(
            marked("{a : Float, b : Float} -> Int -> Bool", 1, 30),
            ("f : … -> Int -> Bool   Words".into(), Some("Int".into()))
        );
        assert!(width(&marked("{a : Float, b : Float} -> Int -> Bool", 0, 20).0) <= 20);
    }
}
