//! Suggestions for arguments as other languages take them: pairs for two arguments, the function behind its array, methods of matrices and texts.

use super::Infer;
use crate::errors::reason::What;
use crate::ty::Ty;

impl Infer<'_> {
    /// What to write instead, where types of these forms say what was meant.
    pub(super) fn habit_hint(&self, expected: &Ty, actual: &Ty, what: &What) -> Option<String> {
        match what {
            What::Argument { index, total, of } => self.argument_hint(expected, actual, (*index, *total), of),
            What::Thing(t) if t == "what is indexed" && matches!(actual, Ty::Str) => {
                Some("`io.slice 0 1 text` is its first character, `io.chars text` all of them, `io.length text` their number".into())
            }
            What::Thing(t) if t == "what is transposed" && matches!(actual, Ty::Array(..)) => {
                Some("a vector has one axis; as a matrix of one column it is `reshape [n, 1] x`".into())
            }
            What::Thing(_) | What::Right(_) => None,
        }
    }

    fn argument_hint(&self, expected: &Ty, actual: &Ty, (index, total): (usize, usize), of: &str) -> Option<String> {
        let name = of.trim_matches('`');
        if name.is_empty() || !of.starts_with('`') {
            return None;
        }
        Some(match (expected, actual) {
            (Ty::Tuple(p), Ty::Tuple(q)) if p.len() == 2 && q.len() > 2 && matches!(name, "fst" | "snd") => {
                let names: Vec<String> = ('a'..='z').take(q.len()).map(String::from).collect();
                format!("{of} is for pairs; take others apart with a pattern: `let ({}) = t`", names.join(", "))
            }
            (Ty::Tuple(p), t) if (self.is_scalar_meta(t) || !matches!(t, Ty::Tuple(_) | Ty::Meta(_))) && index == 1 && total == p.len() => {
                format!("{of} takes one tuple: `{name} ({})`", letters(total, ", "))
            }
            (t, Ty::Tuple(q)) if total == 1 && (self.is_scalar_meta(t) || !matches!(t, Ty::Tuple(_) | Ty::Meta(_))) => {
                format!("arguments stand one after the other: `{name} {}`", letters(q.len(), " "))
            }
            (Ty::Fun(..), Ty::Array(..)) if index == 1 && total > 1 => format!("the function stands first: `{name} f xs`"),
            (Ty::Lin(..), Ty::Array(_, row)) if name == "transpose" && matches!(self.resolve(row), Ty::Array(..)) => {
                "a matrix is transposed by `m.T`; `transpose` turns a linear function round".into()
            }
            (Ty::Data(d, _), Ty::Int | Ty::Meta(_)) if d.1.as_str() == "Key" => "a key is made from a number: `random.key 42`".into(),
            _ => return None,
        })
    }

    fn is_scalar_meta(&self, t: &Ty) -> bool {
        matches!(t, Ty::Meta(m) if self.metas[*m as usize].scalar)
    }
}

/// `a, b, c`.
fn letters(n: usize, between: &str) -> String {
    ('a'..='z').take(n).map(String::from).collect::<Vec<_>>().join(between)
}
