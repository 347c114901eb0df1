//! Elementary functions against those of the standard library.

use adl_prim::elementary::{erf, erfc, exp, expm1, log, log1p, one, sigmoid, softplus, tanh};

/// Numbers of all magnitudes, the same in each run.
fn samples() -> Vec<f64> {
    let mut seed = 1u64;
    let mut next = || {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (seed >> 11) as f64 / (1u64 << 53) as f64
    };
    (0..4000).map(|i| (2.0 * next() - 1.0) * if i % 2 == 0 { 6.0 } else { 10f64.powf(12.0 * next() - 9.0) }).collect()
}

/// The distance in units of the last place of the expected number.
fn ulps(got: f64, want: f64) -> f64 {
    if got == want || got.is_nan() && want.is_nan() {
        return 0.0;
    }
    let unit = f64::from_bits(want.abs().to_bits() + 1) - want.abs();
    ((got - want) / unit).abs()
}

#[test]
fn functions_are_those_of_the_standard_library_to_an_ulp_or_two() {
    // The hyperbolic functions of Rust's standard library have errors up to two ulps themselves.
    let table: [(fn(f64) -> f64, fn(f64) -> f64, f64); 7] = [
        (exp, f64::exp, 1.0),
        (expm1, f64::exp_m1, 2.0),
        (tanh, f64::tanh, 3.0),
        (|x| log(x.abs()), |x| x.abs().ln(), 1.0),
        (|x| log1p(x.abs() - 0.999), |x| (x.abs() - 0.999).ln_1p(), 2.0),
        (one::sin, f64::sin, 1.0),
        (one::cos, f64::cos, 1.0),
    ];
    for (i, (ours, theirs, most)) in table.iter().enumerate() {
        for x in samples() {
            assert!(ulps(ours(x), theirs(x)) <= *most, "function {i} at {x:e}: {:e}, {:e}", ours(x), theirs(x));
        }
    }
}

#[test]
fn values_at_the_ends_are_those_of_the_standard_library() {
    let all = [
        0.0,
        -0.0,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        1.0,
        -1.0,
        5e-324,
        1e-310,
        709.79,
        -745.2,
        1e300,
        -1e300,
        f64::MIN_POSITIVE,
        1e-20,
    ];
    let table: [(fn(f64) -> f64, fn(f64) -> f64); 5] =
        [(exp, f64::exp), (log, f64::ln), (log1p, f64::ln_1p), (one::sin, f64::sin), (one::cos, f64::cos)];
    for (i, (ours, theirs)) in table.iter().enumerate() {
        for x in all {
            let (p, q) = (ours(x), theirs(x));
            assert!(p.to_bits() == q.to_bits() || p.is_nan() && q.is_nan(), "function {i} at {x:e}: {p:e}, {q:e}");
        }
    }
    for x in [0.0, -0.0, 1e-20, 1e-310, f64::NAN] {
        let same = |p: f64, q: f64| p.to_bits() == q.to_bits() || p.is_nan() && q.is_nan();
        assert!(same(expm1(x), x) && same(tanh(x), x), "{x:e}");
    }
    assert_eq!(
        [expm1(f64::INFINITY), expm1(f64::NEG_INFINITY), tanh(f64::INFINITY), tanh(-1e300)],
        [f64::INFINITY, -1.0, 1.0, -1.0]
    );
    assert_eq!(
        [sigmoid(0.0), sigmoid(f64::INFINITY), sigmoid(f64::NEG_INFINITY), sigmoid(-800.0)],
        [0.5, 1.0, 0.0, 0.0]
    );
    assert_eq!([softplus(f64::INFINITY), softplus(f64::NEG_INFINITY), softplus(800.0)], [f64::INFINITY, 0.0, 800.0]);
    assert!(sigmoid(f64::NAN).is_nan() && softplus(f64::NAN).is_nan());
}

#[test]
fn tails_keep_their_digits() {
    // Expected values were computed with fifty digits.
    let all = [
        (sigmoid(-40.0), 4.248354255291589e-18),
        (tanh(0.2), 0.197375320224904),
        (softplus(-50.0), 1.9287498479639178e-22),
        (expm1(1e-5), 1.0000050000166668e-05),
        (sigmoid(2.0), 0.8807970779778824),
    ];
    for (got, want) in all {
        assert!(ulps(got, want) <= 1.0, "{got:e} {want:e}");
    }
    // The largest errors of 400,000 numbers from -10 to 10.
    let worst = [
        (sigmoid(-2.7443), 0.060409373124476466),
        (sigmoid(-4.15065), 0.015509828424327679),
        (sigmoid(-3.4388499999999995), 0.031103121553269844),
        (tanh(-0.20199999999999996), -0.19929664518481183),
        (tanh(-0.18909999999999982), -0.18687778313803008),
    ];
    for (got, want) in worst {
        assert!(ulps(got, want) <= 2.5, "{got:e} {want:e}");
    }
}

#[test]
fn values_are_those_of_the_mathematical_library() {
    for k in -29_000..29_000 {
        let x = f64::from(k) * 0.001 + 1e-7;
        assert!(ulps(erf(x), libm::erf(x)) <= 2.0, "erf {x}");
        // The library errs by up to 2.5 ulps itself.
        assert!(ulps(erfc(x), libm::erfc(x)) <= 4.0, "erfc {x}: {:e} {:e}", erfc(x), libm::erfc(x));
    }
    for x in [0.0, -0.0, 1e-310, -5e-324, 0.5, 1.0, -1.0, 1e300, f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
        assert!(ulps(erf(x), libm::erf(x)) <= 1.0, "erf {x}");
        assert!(ulps(erfc(x), libm::erfc(x)) <= 2.0, "erfc {x}");
    }
    assert!(erf(-0.0).is_sign_negative());
}
