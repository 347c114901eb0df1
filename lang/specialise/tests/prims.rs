//! The examples of every built-in, specialised.

use crate::common;

use adl_prim::{DerivativeFn, Prim, TextFn};

/// Examples that are not specialised or that the reference evaluator does not run, and why.
const UNSUPPORTED: &[(Prim, &str)] = &[
    (Prim::Text(TextFn::Show), "does not know `show`"),
    (Prim::Derivative(DerivativeFn::Gradcheck), "`gradcheck` inside a differentiated function"),
];

#[test]
fn examples_of_every_primitive() {
    let mut wrong = Vec::new();
    for p in Prim::ALL {
        for ex in p.row().examples {
            let (expr, _) = ex.split_once(" => ").unwrap();
            let text = format!("let it = {expr}\nlet main () = it");
            let got = common::by_ir(&text);
            match (&got, UNSUPPORTED.iter().find(|u| u.0 == *p)) {
                (Err(e), Some((_, why))) if e.contains(why) => {}
                (Ok(a), None) if common::by_vm(&text).is_ok_and(|b| common::agree(a, &b)) => {}
                _ => wrong.push(format!(
                    "{p:?}: {expr}\n    specialised {got:?}\n    ordinary    {:?}",
                    common::by_vm(&text)
                )),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
