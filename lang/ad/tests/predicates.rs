//! Double sums over the pairs of numbers for which a predicate holds: for each way to write one with a remainder, a
//! quotient, a minimum or a maximum, the gradient is that of the formula.

use crate::common;
use crate::tensor::double;

use adl_ad::Ad;
use adl_ad::unzip::UnzipPlan;
use adl_ir::eval::{Val, run};
use adl_ir::{FnId, Program};

/// The sum of `x_i x_j` over all pairs of indices `v4` and `v6` with a predicate `v16`.
fn over_pairs(predicate: &str) -> Program {
    let text = double("v1", predicate);
    adl_ir::parse::program(&text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// `a // k` and `a % k`, rounded down.
fn floored(a: i64, k: i64) -> (i64, i64) {
    let down = i64::from(a % k != 0 && (a < 0) != (k < 0));
    (a / k - down, a % k + down * k)
}

/// A predicate on the indices i (`v4`) and j (`v6`), as text, and what it says at indices and a size.
struct Predicate {
    text: String,
    holds: Box<dyn Fn(i64, i64, i64) -> bool>,
}

/// A comparison of a remainder, quotient, minimum or maximum of an affine form with a number.
fn predicate(
    form: &str,
    function: &str,
    divisor: Option<i64>,
    comparison: &str,
    constant: i64,
    holds: bool,
) -> Predicate {
    let by = divisor.map_or("v1".to_owned(), |_| "v30".to_owned());
    let literal = divisor.map_or(String::new(), |k| format!("v30: i64 = {k}\n      "));
    let (verdict, end) = if holds { ("v16", "") } else { ("v32", "\n      v16: bool = not v32") };
    let text = format!(
        "{literal}v7: i64 = {form}\n      v8: i64 = {function} v7 {by}\n      v31: i64 = {constant}\n      {verdict}: bool = {comparison} v8 v31{end}"
    );
    let [form, function, comparison] = [form, function, comparison].map(str::to_owned);
    let says = move |i: i64, j: i64, n: i64| {
        let operand = match form.as_str() {
            "add v6 v4" => i + j,
            "sub v4 v6" => i - j,
            "mul v6 v3" => 2 * j,
            _ => j - 2,
        };
        let k = divisor.unwrap_or(n);
        let value = match function.as_str() {
            "int_div" => floored(operand, k).0,
            "rem" => floored(operand, k).1,
            "min" => operand.min(k),
            _ => operand.max(k),
        };
        let yes = match comparison.as_str() {
            "eq" => value == constant,
            "ne" => value != constant,
            "lt" => value < constant,
            "le" => value <= constant,
            "gt" => value > constant,
            _ => value >= constant,
        };
        yes == holds
    };
    Predicate { text, holds: Box::new(says) }
}

#[test]
fn gradients_are_those_of_the_formula() {
    let mut count = 0;
    for form in ["sub v6 v3", "add v6 v4", "sub v4 v6", "mul v6 v3"] {
        for function in ["rem", "int_div", "min", "max"] {
            for divisor in [Some(1), Some(2), Some(3), Some(-2), None] {
                for comparison in ["eq", "ne", "lt", "le", "gt", "ge"] {
                    for c in [-1, 0, 1, 2] {
                        count += 1;
                        by_formula(&predicate(form, function, divisor, comparison, c, count % 3 != 0));
                    }
                }
            }
        }
    }
}

fn by_formula(predicate: &Predicate) {
    let mut p = over_pairs(&predicate.text);
    let (f, mut ad) = (FnId(0), Ad::new());
    let l = ad.linearize_with(&mut p, f, &[true], &UnzipPlan::store_all()).unwrap_or_else(|e| panic!("{}", e.why));
    for count in [1, 2, 5] {
        let point: Vec<f64> = (0..count).map(|i| 0.5 + (i as f64 * 0.7).cos()).collect();
        let out = run(&p, l.primal, &[Val::floats(&point)], &[]).unwrap_or_else(|e| panic!("{}: {e}", predicate.text));
        let (kept, one) = (&out.results[l.results..], [Val::F64(1.0)]);
        let back = run(&p, l.cotangent, &[kept, &one[..]].concat(), &[]).unwrap_or_else(|e| panic!("{e}")).results;
        let mut gradient = Vec::new();
        back.iter().for_each(|v| common::reals(v, &mut gradient));
        gradient.resize(count, 0.0);
        let mut want = vec![0.0; count];
        for i in 0..count {
            for j in (0..count).filter(|j| (predicate.holds)(i as i64, *j as i64, count as i64)) {
                want[i] += point[j];
                want[j] += point[i];
            }
        }
        let close = gradient.iter().zip(&want).all(|(a, b)| (a - b).abs() < 1e-12 * (1.0 + b.abs()));
        assert!(close, "{} at {count}: {gradient:?} against {want:?}", predicate.text);
    }
}
