//! The form of explanations, and words that messages have in common.

/// A code and its explanation, with a wrong and a right program.
pub type Explanation = (&'static str, &'static str);

/// `1 argument`, `2 arguments`.
pub(crate) fn count(n: usize, thing: &str) -> String {
    format!("{n} {thing}{}", if n == 1 { "" } else { "s" })
}

/// `a`, `b` and `c`.
pub(crate) fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => format!("`{one}`"),
        [first @ .., last] => {
            format!("{} and `{last}`", first.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_counts_read_as_sentences() {
        assert_eq!(count(1, "argument"), "1 argument");
        assert_eq!(count(0, "argument"), "0 arguments");
        let names: Vec<String> = ["a", "b", "c"].map(str::to_owned).into();
        assert_eq!(listed(&names), "`a`, `b` and `c`");
        assert_eq!(listed(&names[..1]), "`a`");
    }
}
