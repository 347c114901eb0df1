//! In which order the fields of records are shown: the one in which a source first wrote them.
//!
//! Types and values keep fields sorted by name, so that `{x, y}` and `{y, x}` are one type. What is shown follows this table, which has the order of each
//! set of names. It is a hint for the eye and changes no meaning: it belongs to a thread, and a new session begins it anew.

use crate::symbol::Symbol;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;

struct Order {
    /// Positions among the sorted names, in the order in which they are shown.
    positions: Box<[usize]>,
    /// Whether only the standard library has written it so.
    library: bool,
}

thread_local! {
    static ORDERS: RefCell<HashMap<Box<[Symbol]>, Order>> = RefCell::default();
    static LIBRARY: Cell<bool> = const { Cell::new(false) };
}

/// Forgets every order.
pub fn reset() {
    ORDERS.with_borrow_mut(HashMap::clear);
}

/// As long as it lives, what is written is the standard library's: sources of users go before it.
pub struct InLibrary(bool);

impl InLibrary {
    /// From now on.
    pub fn begin() -> InLibrary {
        InLibrary(LIBRARY.replace(true))
    }
}

impl Drop for InLibrary {
    fn drop(&mut self) {
        LIBRARY.set(self.0);
    }
}

/// A source has written these names as the fields of a record. The first one counts.
pub fn written(names: impl Iterator<Item = Symbol>) {
    let names: Vec<Symbol> = names.collect();
    let mut at: Vec<usize> = (0..names.len()).collect();
    at.sort_by_key(|i| names[*i].as_str());
    let sorted: Box<[Symbol]> = at.iter().map(|i| names[*i]).collect();
    let mut positions = vec![0; names.len()];
    at.iter().enumerate().for_each(|(position, i)| positions[*i] = position);
    let library = LIBRARY.get();
    ORDERS.with_borrow_mut(|orders| {
        if orders.get(&sorted).is_none_or(|o| o.library && !library) {
            orders.insert(sorted, Order { positions: positions.into(), library });
        }
    });
}

/// Positions among sorted names in the order in which fields are shown.
pub fn shown(sorted: &[Symbol]) -> Vec<usize> {
    ORDERS.with_borrow(|orders| orders.get(sorted).map_or_else(|| (0..sorted.len()).collect(), |o| o.positions.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(names: &[&str]) -> Vec<usize> {
        shown(&names.iter().map(|n| Symbol::new(n)).collect::<Vec<_>>())
    }

    fn write(names: &[&str]) {
        written(names.iter().map(|n| Symbol::new(n)));
    }

    #[test]
    fn the_first_order_counts_and_users_go_before_the_library() {
        reset();
        assert_eq!(order(&["a", "b", "c"]), [0, 1, 2]);
        let library = InLibrary::begin();
        write(&["b", "a", "c"]);
        drop(library);
        assert_eq!(order(&["a", "b", "c"]), [1, 0, 2]);
        write(&["c", "a", "b"]);
        write(&["a", "b", "c"]);
        assert_eq!(order(&["a", "b", "c"]), [2, 0, 1]);
    }
}
