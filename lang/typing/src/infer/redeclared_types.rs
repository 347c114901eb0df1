//! Different declared types of the same name. A value made before its type was redeclared keeps the older type.

use super::{Infer, map_type};
use crate::ty::{DataId, Ty};
use adl_syntax::span::Span;

/// One of several declared types of the same name.
pub(super) struct Version {
    pub id: DataId,
    /// The suffix of its name in messages: `@1`.
    pub mark: String,
    /// Where it is declared.
    pub at: Span,
}

impl Infer<'_> {
    /// The declared types in two types that share their name with another one, the oldest first.
    pub(super) fn versions(&self, expected: &Ty, actual: &Ty, near: Span) -> Vec<Version> {
        let mut ids: Vec<DataId> = Vec::new();
        for t in [expected, actual] {
            map_type(
                &self.resolve_deep(t),
                &mut |t| {
                    if let Ty::Data(id, _) = t {
                        ids.push(*id);
                    }
                    None
                },
                &mut |s| s,
            );
        }
        ids.sort_unstable();
        ids.dedup();
        let shared = |id: &DataId| ids.iter().any(|other| other != id && other.1 == id.1);
        let all: Vec<(DataId, Span)> = ids
            .iter()
            .filter(|id| shared(id))
            .map(|id| (*id, self.tables.places.get(id).copied().unwrap_or_default()))
            .collect();
        let entries: Option<Vec<String>> = all.iter().map(|(_, at)| self.entry_of(*at, near)).collect();
        let entries = entries.filter(|e| e.windows(2).all(|w| w[0] != w[1]));
        let mark = |i: usize| entries.as_ref().map_or_else(|| format!("@{}", i + 1), |e| format!("@{}", e[i]));
        all.iter().enumerate().map(|(i, (id, at))| Version { id: *id, mark: mark(i), at: *at }).collect()
    }

    /// The number of the REPL entry or cell that a span belongs to.
    fn entry_of(&self, at: Span, near: Span) -> Option<String> {
        let line = self.host.line(at, near);
        let number = line.rsplit_once('<')?.1.strip_suffix('>')?;
        number.bytes().all(|b| b.is_ascii_digit()).then(|| number.to_owned())
    }
}
