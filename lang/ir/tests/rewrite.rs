//! Rewriting of functions: dense numbers of variables.

use adl_ir::rewrite::compact::compact;

#[test]
fn variables_are_numbered_in_the_order_of_their_definitions() {
    let text = "fn f0 f (v5: f64) -> (f64) { v9: i64 = 3 v8: f64, v7: i64 = loop for v9 carry (v5) (v3: i64, v4: f64) { \
                v6: f64 = sin v4 return v6 } return v8 }";
    let Ok(p) = adl_ir::parse::program(text) else { panic!("no program") };
    let mut f = (**p.func(adl_ir::FnId(0))).clone();
    compact(&mut f);
    assert_eq!(f.vars.len(), 7);
    let shown = adl_ir::print::function(&p, &f, adl_ir::print::Style::default());
    assert!(shown.contains("v5: f64, v6: i64 = loop for v1 carry (v0) (v2: i64, v3: f64)"), "{shown}");
}
