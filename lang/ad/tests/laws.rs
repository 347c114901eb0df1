//! Which laws of an operator are taken to hold: one that is nearly associative, or has nearly a neutral element, is not
//! differentiated by a rule that needs the law. What only rounding breaks holds.

use adl_ad::Ad;
use adl_ad::unzip::UnzipPlan;
use adl_ir::FnId;

/// The rule for a reduction by an operator, with its reason.
fn rule(ty: &str, neutral: f64, operator: &str) -> String {
    let text = format!(
        "fn f0 f (v0: []{ty}) -> ({ty}) {{ v1: {ty} = {neutral:?}SUFFIX v9: {ty} = reduce (v1) over (v0) (v2: {ty}, v3: {ty}) {{ {operator} }} return v9 }}"
    )
    .replace("TY", ty)
    .replace("SUFFIX", if ty == "f32" { "f32" } else { "" });
    let mut program = adl_ir::parse::program(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let mut ad = Ad::new();
    ad.linearize_with(&mut program, FnId(0), &[true], &UnzipPlan::store_all()).unwrap_or_else(|e| panic!("{}", e.why));
    ad.decisions.iter().map(|d| format!("{} {}", d.rule, d.why)).collect()
}

/// `x + y + c x y y`, which is associative to about `c / 2` of its value.
fn nearly(c: f64) -> String {
    format!(
        "v8: TY = {c:?}SUFFIX v4: TY = add v2 v3 v5: TY = mul v3 v3 v6: TY = mul v2 v5 v7: TY = mul v8 v6 v10: TY = add v4 v7 return v10"
    )
}

/// `x + y + x y`, and `log (exp x + exp y)`.
const ASSOCIATIVE: [(&str, f64); 2] = [
    ("v4: TY = add v2 v3 v5: TY = mul v2 v3 v6: TY = add v4 v5 return v6", 0.0),
    ("v4: TY = exp v2 v5: TY = exp v3 v6: TY = add v4 v5 v7: TY = log v6 return v7", -1e30),
];

/// Each type with its rounding error, and the deviation from which a law does not hold.
const TYPES: [(&str, f64); 2] = [("f64", 1e-8), ("f32", 1e-4)];

#[test]
fn associativity_holds_to_rounding() {
    for (ty, deviation) in TYPES {
        for c in [0.0, 1e-3 * deviation] {
            let said = rule(ty, 0.0, &nearly(c));
            assert!(said.contains("two exclusive scans"), "{ty}, {c}: {said}");
        }
        for c in [deviation, 1e2 * deviation, 1.0] {
            for c in [c, -c] {
                let said = rule(ty, 0.0, &nearly(c));
                assert!(said.contains("not associative"), "{ty}, {c}: {said}");
            }
        }
    }
}

#[test]
fn a_neutral_element_is_neutral_to_rounding() {
    for (ty, deviation) in TYPES {
        for (operator, neutral) in ASSOCIATIVE {
            let said = rule(ty, neutral, operator);
            assert!(said.contains("on whole arrays"), "{ty}, {operator}: {said}");
        }
        for wrong in [2.0 * deviation, 0.1, -0.1] {
            let said = rule(ty, wrong, ASSOCIATIVE[0].0);
            assert!(said.contains("and a loop"), "{ty}, {wrong}: {said}");
        }
    }
}
