//! The order in which the fields of records are shown.

use adl_syntax::field_order::{InLibrary, forget_own, logged, reset, shown, written};
use adl_syntax::symbol::Symbol;

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
    forget_own();
    assert_eq!(order(&["a", "b", "c"]), [1, 0, 2]);
}

#[test]
fn what_was_written_can_be_written_again() {
    reset();
    let ((), log) = logged(|| write(&["q", "p"]));
    forget_own();
    assert_eq!(order(&["p", "q"]), [0, 1]);
    log.iter().for_each(|names| written(names.iter().copied()));
    assert_eq!(order(&["p", "q"]), [1, 0]);
}
