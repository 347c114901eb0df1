//! The rows of operators on one number.

use adl_prim::scalar::{Plain, d_un};
use adl_prim::{Un, UnByWord};

fn partial(op: Un, x: f64) -> f64 {
    let Ok(d) = d_un(&mut Plain, op, &x, &op.eval(x));
    d
}

#[test]
fn rules_agree_with_central_differences() {
    let powers = [3, -2, 1, 0].map(Un::Powi);
    let polygammas = [1, 2].map(Un::Polygamma);
    for op in Un::ALL.iter().chain(&powers).chain(&polygammas) {
        // Some functions are defined between 0 and 1, others from 1 on.
        for x in [0.137, 0.61, 0.93, 1.7, 2.9].into_iter().filter(|x| op.eval(*x).is_finite()) {
            let h = 1e-5;
            let numeric = (op.eval(x + h) - op.eval(x - h)) / (2.0 * h);
            let d = partial(*op, x);
            assert!((d - numeric).abs() <= 1e-5 * (1.0 + d.abs()), "{op:?} at {x}: {d} against {numeric}");
            assert!(d == 0.0 || !op.is_flat(), "{op:?}");
        }
    }
}

#[test]
fn kinks_have_their_stated_values() {
    assert_eq!(partial(Un::Abs, 0.0), 0.0);
    assert_eq!(partial(Un::Relu, 0.0), 0.0);
}

#[test]
fn words_are_read_back() {
    for op in Un::ALL.iter().copied().chain([Un::Powi(-3), Un::Polygamma(2)]) {
        let read = match (Un::by_word(op.word()), op.parameter()) {
            (Some(UnByWord::Plain(u)), None) => Some(u),
            (Some(UnByWord::Parameter(make)), Some(n)) => make(n),
            _ => None,
        };
        assert_eq!(read, Some(op));
    }
    let Some(UnByWord::Parameter(polygamma)) = Un::by_word("polygamma") else { panic!("no parameter") };
    assert_eq!(polygamma(300), None);
}
