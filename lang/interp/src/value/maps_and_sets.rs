//! Maps and sets of the standard library (`std/adl/maps.adl`, `sets.adl`), which are displayed by their
//! entries: `Map {1: "a"}`, `Set {1, 2}`.

use super::{Data, Value};
use std::rc::Rc;

/// The entries of a map, or the elements of a set, in the subtree of a node.
#[derive(Clone)]
pub(super) struct Entries {
    node: Value,
    set: bool,
    /// Whether the left subtree has already been visited.
    walked: bool,
}

/// The text before the entries, and the entries, if a value is a map or a set.
pub(super) fn entries(d: &Rc<Data>) -> Option<(&'static str, Entries)> {
    let map = |d: &Data| is_node(d) || d.fields.is_empty() && d.con.name.as_str() == "EmptyMap";
    match (d.con.name.as_str(), d.fields.as_slice()) {
        ("Set", [node @ Value::Data(inside)]) if map(inside) => {
            Some(("Set {", Entries { node: node.clone(), set: true, walked: false }))
        }
        _ if map(d) => Some(("Map {", Entries { node: Value::Data(d.clone()), set: false, walked: false })),
        _ => None,
    }
}

/// Whether a value is a map or a set.
pub fn is_tree(v: &Value) -> bool {
    matches!(v, Value::Data(d) if entries(d).is_some())
}

/// Whether data is a node of a map's tree.
pub(super) fn is_node(d: &Data) -> bool {
    matches!(d.fields.as_slice(), [Value::Int(_), _, _, Value::Data(_), Value::Data(_)])
        && d.con.name.as_str() == "MapNode"
}

/// The keys and values of a map in order, alternating.
pub(super) fn all(v: &Value) -> Vec<Value> {
    let entries = first(v, usize::MAX).map(|(_, entries, _)| entries).unwrap_or_default();
    entries.into_iter().flat_map(|(k, v)| std::iter::once(k).chain(v)).collect()
}

/// The first `count` keys of a map or set with their values, the text before them, and the total number of
/// entries.
pub fn first(v: &Value, count: usize) -> Option<(&'static str, Vec<(Value, Option<Value>)>, usize)> {
    let Value::Data(d) = v else { return None };
    let (open, entries) = entries(d)?;
    let Value::Data(node) = &entries.node else { return None };
    let all = if let Some(Value::Int(n)) = node.fields.first() { usize::try_from(*n).unwrap_or(0) } else { 0 };
    let (mut out, mut at, mut waiting) = (Vec::new(), Some(entries), Vec::new());
    while out.len() < count {
        match at.take().or_else(|| waiting.pop()) {
            Some(e) => match e.parts() {
                Some((Some(before), ..)) if !e.walked => {
                    waiting.push(Entries { walked: true, ..e.clone() });
                    at = Some(before);
                }
                Some((_, key, value, behind)) => {
                    out.push((key.clone(), value.cloned()));
                    at = behind;
                }
                None => {}
            },
            None => break,
        }
    }
    Some((open, out, all))
}

impl Entries {
    /// The entries in the left subtree, the node's key and (for a map) value, and the entries in the right
    /// subtree; `None` for an empty tree.
    pub fn parts(&self) -> Option<(Option<Entries>, &Value, Option<&Value>, Option<Entries>)> {
        let Value::Data(d) = &self.node else { return None };
        let [_, key, value, left, right] = d.fields.as_slice() else { return None };
        let below = |v: &Value| {
            matches!(v, Value::Data(d) if !d.fields.is_empty()).then(|| Entries {
                node: v.clone(),
                set: self.set,
                walked: false,
            })
        };
        Some((below(left), key, (!self.set).then_some(value), below(right)))
    }
}
