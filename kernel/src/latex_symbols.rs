//! Letters by their LaTeX names: `\alpha<TAB>`.

/// Names and letters. A variant (`varepsilon`) maps to the letter that most fonts show for it.
pub const LATEX_LETTERS: &[(&str, &str)] = &[
    ("alpha", "α"),
    ("beta", "β"),
    ("gamma", "γ"),
    ("delta", "δ"),
    ("epsilon", "ϵ"),
    ("varepsilon", "ε"),
    ("zeta", "ζ"),
    ("eta", "η"),
    ("theta", "θ"),
    ("vartheta", "ϑ"),
    ("iota", "ι"),
    ("kappa", "κ"),
    ("varkappa", "ϰ"),
    ("lambda", "λ"),
    ("mu", "μ"),
    ("nu", "ν"),
    ("xi", "ξ"),
    ("omicron", "ο"),
    ("pi", "π"),
    ("varpi", "ϖ"),
    ("rho", "ρ"),
    ("varrho", "ϱ"),
    ("sigma", "σ"),
    ("varsigma", "ς"),
    ("tau", "τ"),
    ("upsilon", "υ"),
    ("phi", "ϕ"),
    ("varphi", "φ"),
    ("chi", "χ"),
    ("psi", "ψ"),
    ("omega", "ω"),
    ("Alpha", "Α"),
    ("Beta", "Β"),
    ("Gamma", "Γ"),
    ("Delta", "Δ"),
    ("Epsilon", "Ε"),
    ("Zeta", "Ζ"),
    ("Eta", "Η"),
    ("Theta", "Θ"),
    ("Iota", "Ι"),
    ("Kappa", "Κ"),
    ("Lambda", "Λ"),
    ("Mu", "Μ"),
    ("Nu", "Ν"),
    ("Xi", "Ξ"),
    ("Omicron", "Ο"),
    ("Pi", "Π"),
    ("Rho", "Ρ"),
    ("Sigma", "Σ"),
    ("Tau", "Τ"),
    ("Upsilon", "Υ"),
    ("Phi", "Φ"),
    ("Chi", "Χ"),
    ("Psi", "Ψ"),
    ("Omega", "Ω"),
    ("nabla", "∇"),
    ("partial", "∂"),
    ("ell", "ℓ"),
    ("hbar", "ℏ"),
    ("_0", "₀"),
    ("_1", "₁"),
    ("_2", "₂"),
    ("_3", "₃"),
    ("_4", "₄"),
    ("_5", "₅"),
    ("_6", "₆"),
    ("_7", "₇"),
    ("_8", "₈"),
    ("_9", "₉"),
    ("_a", "ₐ"),
    ("_e", "ₑ"),
    ("_h", "ₕ"),
    ("_i", "ᵢ"),
    ("_j", "ⱼ"),
    ("_k", "ₖ"),
    ("_l", "ₗ"),
    ("_m", "ₘ"),
    ("_n", "ₙ"),
    ("_o", "ₒ"),
    ("_p", "ₚ"),
    ("_r", "ᵣ"),
    ("_s", "ₛ"),
    ("_t", "ₜ"),
    ("_u", "ᵤ"),
    ("_v", "ᵥ"),
    ("_x", "ₓ"),
    ("hat", "\u{302}"),
    ("bar", "\u{304}"),
    ("dot", "\u{307}"),
    ("ddot", "\u{308}"),
    ("tilde", "\u{303}"),
    ("vec", "\u{20d7}"),
];

/// Symbols for strings and comments, which cannot be part of names.
const SIGNS: &[(&str, &str)] = &[
    ("infty", "∞"),
    ("times", "×"),
    ("cdot", "·"),
    ("pm", "±"),
    ("approx", "≈"),
    ("leq", "≤"),
    ("geq", "≥"),
    ("neq", "≠"),
    ("to", "→"),
    ("degree", "°"),
    ("^0", "⁰"),
    ("^1", "¹"),
    ("^2", "²"),
    ("^3", "³"),
    ("^4", "⁴"),
    ("^5", "⁵"),
    ("^6", "⁶"),
    ("^7", "⁷"),
    ("^8", "⁸"),
    ("^9", "⁹"),
    ("^+", "⁺"),
    ("^-", "⁻"),
    ("^n", "ⁿ"),
    ("^i", "ⁱ"),
];

fn all() -> impl Iterator<Item = &'static (&'static str, &'static str)> {
    LATEX_LETTERS.iter().chain(SIGNS)
}

/// The letters whose names begin with `name` (without its backslash); a single one for an exact match.
pub fn matching(name: &str) -> Vec<(&'static str, &'static str)> {
    match all().find(|(n, _)| *n == name) {
        Some(l) => vec![*l],
        None => all().filter(|(n, _)| n.starts_with(name)).copied().collect(),
    }
}

/// The LaTeX name of a letter.
pub fn named(letter: &str) -> Option<&'static str> {
    all().find(|(_, l)| *l == letter).map(|(n, _)| *n)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_whole_names_win() {
        for (i, (n, _)) in LATEX_LETTERS.iter().enumerate() {
            assert!(LATEX_LETTERS[..i].iter().all(|(m, _)| m != n), "{n}");
            assert_eq!(matching(n).len(), 1);
        }
        assert_eq!(matching("alpha"), [("alpha", "α")]);
        assert!(matching("vare").len() == 1 && matching("zzz").is_empty());
    }

    #[test]
    fn every_letter_is_one_in_a_program() {
        for (n, l) in LATEX_LETTERS {
            let text = format!("let x{l} = 1");
            let (_, diags) = adl_syntax::parse(adl_syntax::span::FileId::default(), &text);
            assert!(diags.is_empty(), "\\{n}");
        }
    }
}
