//! The rows of operators on two numbers.

use adl_prim::Bin;
use adl_prim::scalar::{Plain, d_bin};

#[test]
fn kinks_have_their_stated_values() {
    let at = |op: Bin, x: f64, y: f64| {
        let Ok(d) = d_bin(&mut Plain, op, &x, &y, &op.eval(x, y));
        d
    };
    assert_eq!(at(Bin::Min, 1.0, 1.0), (1.0, 0.0));
    assert_eq!(at(Bin::Max, 1.0, 1.0), (1.0, 0.0));
    assert_eq!(at(Bin::Hypot, 0.0, 0.0), (0.0, 0.0));
    assert_eq!(at(Bin::Pow, 0.0, 2.0), (0.0, 0.0));
    assert_eq!(at(Bin::Pow, 0.0, 0.0).0, 0.0);
    assert_eq!(at(Bin::Pow, -2.0, 3.0), (12.0, 0.0));
}

#[test]
fn rules_agree_with_central_differences() {
    for op in Bin::ALL {
        for (x, y) in [(0.7, 0.4), (2.3, 1.1)] {
            let h = 1e-6;
            let nx = (op.eval(x + h, y) - op.eval(x - h, y)) / (2.0 * h);
            let ny = (op.eval(x, y + h) - op.eval(x, y - h)) / (2.0 * h);
            let Ok((dx, dy)) = d_bin(&mut Plain, *op, &x, &y, &op.eval(x, y));
            assert!((dx - nx).abs() < 1e-6 * (1.0 + dx.abs()) && (dy - ny).abs() < 1e-6 * (1.0 + dy.abs()), "{op:?}");
        }
    }
}
