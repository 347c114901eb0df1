//! The display order of record fields: the order in which the source first wrote them.
//!
//! Types and values keep fields sorted by name, so that `{x, y}` and `{y, x}` are one type. This table records the
//! display order of each set of names. It only affects display, never meaning. It is thread-local, and a new session
//! resets it.

use crate::symbol::Symbol;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;

/// Indices into the sorted names, in display order.
type Positions = Box<[usize]>;

/// The orders of one set of names.
#[derive(Default)]
struct Order {
    /// The first one in a source of the user, which takes precedence.
    own: Option<Positions>,
    /// The first one in the standard library.
    library: Option<Positions>,
}

/// Sets of names in the order in which a source wrote them.
pub type Log = Vec<Box<[Symbol]>>;

thread_local! {
    static ORDERS: RefCell<HashMap<Box<[Symbol]>, Order>> = RefCell::default();
    static LIBRARY: Cell<bool> = const { Cell::new(false) };
    static LOG: RefCell<Option<Log>> = const { RefCell::new(None) };
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

/// Forgets what sources of the user have written.
pub fn forget_own() {
    ORDERS.with_borrow_mut(|orders| orders.values_mut().for_each(|o| o.own = None));
}

/// Runs `f` and returns what it wrote outside the library, so that it can be written again without `f`.
pub fn logged<T>(f: impl FnOnce() -> T) -> (T, Log) {
    let around = LOG.replace(Some(Log::new()));
    let out = f();
    let log = LOG.replace(around).unwrap_or_default();
    LOG.with_borrow_mut(|around| around.iter_mut().for_each(|a| a.extend(log.iter().cloned())));
    (out, log)
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
    if !library {
        LOG.with_borrow_mut(|log| log.iter_mut().for_each(|log| log.push(names.as_slice().into())));
    }
    ORDERS.with_borrow_mut(|orders| {
        let order = orders.entry(sorted).or_default();
        let first = if library { &mut order.library } else { &mut order.own };
        first.get_or_insert_with(|| positions.into());
    });
}

/// The indices of sorted field names in display order.
pub fn shown(sorted: &[Symbol]) -> Vec<usize> {
    let known = |o: &Order| Some(o.own.as_ref().or(o.library.as_ref())?.to_vec());
    ORDERS.with_borrow(|orders| orders.get(sorted).and_then(known)).unwrap_or_else(|| (0..sorted.len()).collect())
}
