//! The display order of record fields: the order in which the source first wrote them.
//!
//! Types and values keep fields sorted by name, so that `{x, y}` and `{y, x}` are one type. This table records the
//! display order of each set of names. It only affects display, never meaning. It is thread-local, and a new session
//! resets it.

use crate::symbol::Symbol;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;

struct Order {
    /// Indices into the sorted names, in display order.
    positions: Box<[usize]>,
    /// Whether only the standard library has written this set so far.
    library: bool,
}

thread_local! {
    static ORDERS: RefCell<HashMap<Box<[Symbol]>, Order>> = RefCell::default();
    static LIBRARY: Cell<bool> = const { Cell::new(false) };
}

/// The table of a thread.
#[derive(Default)]
pub struct Orders(HashMap<Box<[Symbol]>, Order>);

/// Exchanges the table of this thread with another one, for a session that moves between threads.
pub fn exchange(with: &mut Orders) {
    ORDERS.with_borrow_mut(|orders| std::mem::swap(orders, &mut with.0));
}

/// Clears the table.
pub fn reset() {
    ORDERS.with_borrow_mut(HashMap::clear);
}

/// A guard during which written records count as the standard library's; the order in user sources takes precedence.
pub struct InLibrary(bool);

impl InLibrary {
    /// Begins library mode.
    pub fn begin() -> InLibrary {
        InLibrary(LIBRARY.replace(true))
    }
}

impl Drop for InLibrary {
    fn drop(&mut self) {
        LIBRARY.set(self.0);
    }
}

/// Records the order of a record's fields in a source. The first occurrence counts.
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

/// The indices of sorted field names in display order.
pub fn shown(sorted: &[Symbol]) -> Vec<usize> {
    ORDERS
        .with_borrow(|orders| orders.get(sorted).map_or_else(|| (0..sorted.len()).collect(), |o| o.positions.to_vec()))
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
