//! Whether an entry is complete, or how far its next line is indented.

use adl_syntax::completeness::{Completeness, Completeness::*, is_complete};

const ENTRIES: &[(&str, Completeness)] = &[
    ("", Complete),
    ("1 + 2", Complete),
    ("1 +", Incomplete(2)),
    ("1 +\n  2 *", Incomplete(2)),
    ("let f x =", Incomplete(2)),
    ("let f x =\n  let y = x", Incomplete(2)),
    ("let f x =\n  let y =", Incomplete(4)),
    ("let f x =\n  let y = x\n  y", Incomplete(2)),
    ("let f x =\n  let y = x\n  y\n", Complete),
    ("let f x =\n  x;;", Complete),
    ("let f x =\n  foo (a,\n    b)", Incomplete(2)),
    ("let", Incomplete(2)),
    ("let x : Int", Incomplete(2)),
    ("let x = 1 in", Incomplete(2)),
    ("let f x =\n  let y = x in", Incomplete(2)),
    ("let let", Invalid),
    ("let rec f x = g x\nand", Incomplete(2)),
    ("foo (1,", Incomplete(2)),
    ("foo (1,\n  2,", Incomplete(2)),
    ("[1,\n 2]", Complete),
    ("{a = 1,", Incomplete(2)),
    ("f (fun x ->", Incomplete(2)),
    ("f (fun x ->\n  x", Incomplete(2)),
    ("(* open", Incomplete(0)),
    ("\"open", Incomplete(0)),
    ("print \"open\n  ) of all", Incomplete(0)),
    ("print \"open\n  ) of all\"", Complete),
    ("f\"open {x}", Incomplete(0)),
    ("\"open\n", Invalid),
    ("foo ) \"open", Invalid),
    ("foo )", Invalid),
    ("match x with", Incomplete(0)),
    ("match x with\n| A -> 1", Incomplete(0)),
    ("match x with\n| A -> 1\n", Complete),
    ("match x with | A -> 1", Complete),
    ("match x with\n| A ->", Incomplete(2)),
    ("let f x = match x with", Incomplete(2)),
    ("let f x =\n  match x with", Incomplete(2)),
    ("if a then", Incomplete(2)),
    ("if a then\n  b\nelse", Incomplete(2)),
    ("if a", Incomplete(2)),
    ("loop x = 1", Incomplete(2)),
    ("loop x = 1 for i < 3 do", Incomplete(2)),
    ("xs |>", Incomplete(2)),
    ("xs\n|> f", Complete),
    ("type T =", Incomplete(2)),
    ("type T =\n  | A", Incomplete(2)),
    ("-- note", Complete),
    ("--| doc", Incomplete(0)),
    ("--| doc\nlet x = 1", Complete),
];

#[test]
fn entries() {
    for (text, expected) in ENTRIES {
        assert_eq!(is_complete(text), *expected, "{text:?}");
    }
}
