//! The prelude and the standard modules as adl source.
//!
//! What is *not* here: parsing and evaluation. The session parses a module when it is first named.

use std::collections::HashMap;
use std::sync::OnceLock;

/// Standard modules by name, with their source.
pub const MODULES: &[(&str, &str)] = &[
    ("comm", include_str!("../adl/comm.adl")),
    ("controls", include_str!("../adl/controls.adl")),
    ("engine", include_str!("../adl/engine.adl")),
    ("integrate", include_str!("../adl/integrate.adl")),
    ("interp", include_str!("../adl/interp.adl")),
    ("io", include_str!("../adl/io.adl")),
    ("linalg", include_str!("../adl/linalg.adl")),
    ("list", include_str!("../adl/list.adl")),
    ("maps", include_str!("../adl/maps.adl")),
    ("nn", include_str!("../adl/nn.adl")),
    ("ode", include_str!("../adl/ode.adl")),
    ("option", include_str!("../adl/option.adl")),
    ("optim", include_str!("../adl/optim.adl")),
    ("plot", include_str!("../adl/plot.adl")),
    ("random", include_str!("../adl/random.adl")),
    ("roots", include_str!("../adl/roots.adl")),
    ("rows", include_str!("../adl/rows.adl")),
    ("sets", include_str!("../adl/sets.adl")),
    ("stats", include_str!("../adl/stats.adl")),
    ("transforms", include_str!("../adl/transforms.adl")),
];

/// The source of the prelude, whose names are in scope in every program.
pub const PRELUDE: &str = include_str!("../adl/prelude.adl");

/// Names of the prelude that a module defines.
const HOMES: &[(&str, &str)] = &[
    ("solve", "linalg"),
    ("cholesky", "linalg"),
    ("qr", "linalg"),
    ("lu", "linalg"),
    ("svd", "linalg"),
    ("eigh", "linalg"),
    ("inv", "linalg"),
    ("det", "linalg"),
    ("logdet", "linalg"),
    ("lstsq", "linalg"),
];

/// A module's source.
pub fn source(module: &str) -> Option<&'static str> {
    MODULES.iter().find(|(n, _)| *n == module).map(|(_, s)| *s)
}

/// The module that defines a name of the prelude.
pub fn home(name: &str) -> Option<&'static str> {
    HOMES.iter().find(|(n, _)| *n == name).map(|(_, m)| *m)
}

/// The modules that have a documented member of this name.
pub fn with_member(name: &str) -> impl Iterator<Item = &'static str> {
    static HOMES: OnceLock<HashMap<&'static str, Vec<&'static str>>> = OnceLock::new();
    let homes = HOMES.get_or_init(|| {
        let mut homes: HashMap<&str, Vec<&str>> = HashMap::new();
        MODULES.iter().for_each(|(module, source)| {
            documented(source).for_each(|name| homes.entry(name).or_default().push(module));
        });
        homes
    });
    homes.get(name).into_iter().flatten().copied()
}

/// The names of the documented definitions of a source.
fn documented(source: &'static str) -> impl Iterator<Item = &'static str> {
    source.lines().zip(source.lines().skip(1)).filter(|(above, _)| above.starts_with("--|")).filter_map(|(_, line)| {
        let line = line.strip_prefix("let ")?;
        let (name, _) = line.strip_prefix("rec ").unwrap_or(line).split_once(' ')?;
        Some(name)
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
