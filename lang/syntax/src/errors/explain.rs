//! Longer explanations of the codes.

/// A code and its explanation.
pub(super) type Explanation = (&'static str, &'static str);

/// The explanation of a code of this crate, with an example.
pub fn explain(code: &str) -> Option<&'static str> {
    tables().find(|(c, _)| *c == code).map(|(_, text)| *text)
}

/// Every code of this crate.
pub fn codes() -> impl Iterator<Item = &'static str> {
    tables().map(|(code, _)| *code)
}

fn tables() -> impl Iterator<Item = &'static Explanation> {
    let families = [
        super::lexical::EXPLANATIONS,
        super::layout::EXPLANATIONS,
        super::expressions::EXPLANATIONS,
        super::items::EXPLANATIONS,
        super::habits::EXPLANATIONS,
    ];
    families.into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_code_is_explained_once_with_an_example() {
        let mut all: Vec<&str> = codes().collect();
        all.sort_unstable();
        let count = all.len();
        all.dedup();
        assert_eq!(all.len(), count, "a code is explained twice");
        for code in all {
            let text = explain(code).unwrap_or("");
            assert!(text.len() > 80, "{code} says too little");
            assert!(!text.contains("  --  "), "{code}");
        }
        assert_eq!(explain("E9999"), None);
    }
}
