//! The prelude and the standard modules, as adl source.
//!
//! What is *not* here: anything that runs. The session parses a module when something first names it.

/// Standard modules by name, with their source.
pub const MODULES: &[(&str, &str)] = &[
    ("engine", include_str!("../adl/engine.adl")),
    ("io", include_str!("../adl/io.adl")),
    ("linalg", include_str!("../adl/linalg.adl")),
    ("list", include_str!("../adl/list.adl")),
    ("nn", include_str!("../adl/nn.adl")),
    ("ode", include_str!("../adl/ode.adl")),
    ("option", include_str!("../adl/option.adl")),
    ("optim", include_str!("../adl/optim.adl")),
    ("plot", include_str!("../adl/plot.adl")),
    ("random", include_str!("../adl/random.adl")),
    ("stats", include_str!("../adl/stats.adl")),
];

/// What every program sees.
pub const PRELUDE: &str = include_str!("../adl/prelude.adl");

/// Names in scope everywhere that a module defines.
const HOMES: &[(&str, &str)] = &[
    ("solve", "linalg"), ("cholesky", "linalg"), ("qr", "linalg"), ("lu", "linalg"), ("svd", "linalg"), ("eigh", "linalg"),
    ("inv", "linalg"), ("det", "linalg"), ("logdet", "linalg"), ("lstsq", "linalg"),
];

/// A module's source.
pub fn source(module: &str) -> Option<&'static str> {
    MODULES.iter().find(|(n, _)| *n == module).map(|(_, s)| *s)
}

/// The module that defines a name which is in scope everywhere.
pub fn home(name: &str) -> Option<&'static str> {
    HOMES.iter().find(|(n, _)| *n == name).map(|(_, m)| *m)
}

/// The modules that have a documented member of a name.
pub fn with_member(name: &str) -> impl Iterator<Item = &'static str> {
    MODULES.iter().filter(move |(_, s)| has_member(s, name)).map(|(m, _)| *m)
}

fn has_member(source: &str, name: &str) -> bool {
    let mut documented = false;
    source.lines().any(|line| {
        let defined = line.strip_prefix("let ").map(|l| l.strip_prefix("rec ").unwrap_or(l)).and_then(|l| l.strip_prefix(name));
        let found = documented && defined.is_some_and(|rest| rest.starts_with(' '));
        documented = line.starts_with("--|");
        found
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_found_by_their_names() {
        assert_eq!(with_member("with_grad").collect::<Vec<_>>(), ["plot"]);
        assert_eq!(with_member("with").count(), 0);
    }
}
