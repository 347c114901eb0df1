//! The bits of operators that are the same on every machine: those that native code computes by instructions or by the
//! functions of [`adl_prim::elementary`]. For each, `bits.txt` has a checksum of its values at fixed arguments;
//! `UPDATE=1` rewrites it. A change of one bit is a change of results that users see.

use adl_prim::scalar::Native;
use adl_prim::{Bin, Un};
use std::path::Path;

/// The number of special arguments.
const SPECIAL: usize = 20;

/// Arguments of all magnitudes: special ones, then random ones in several ranges.
fn arguments() -> Vec<f64> {
    let special: [f64; SPECIAL] = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        f64::MIN_POSITIVE,
        5e-324,
        -1e-310,
        f64::MAX,
        709.7,
        709.8,
        -708.4,
        -745.2,
        373.9,
        374.1,
        1e5,
        1e6,
        1e22,
    ];
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut unit = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    let mut out = special.to_vec();
    for span in [1e-9, 1e-3, 0.4, 1.0, 3.0, 20.0, 400.0, 760.0, 1e5, 1e12] {
        out.extend((0..400).map(|_| span * (2.0 * unit() - 1.0)));
    }
    out
}

/// FNV-1a over bits, where all NaNs count as one.
fn checksum(values: impl Iterator<Item = f64>) -> u64 {
    let bits = values.map(|x| if x.is_nan() { f64::NAN.to_bits() } else { x.to_bits() });
    bits.flat_map(u64::to_le_bytes)
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

#[test]
fn values_have_the_same_bits_everywhere() {
    let points = arguments();
    let mut lines = Vec::new();
    let functions = [Un::ALL, &[Un::Powi(2), Un::Powi(3), Un::Powi(-1)]].concat();
    for op in functions.into_iter().filter(|op| op.native() != Native::Call) {
        let of = checksum(points.iter().map(|x| op.eval(*x)));
        lines.push(format!("{}{} {of:016x}\n", op.word(), op.parameter().map_or(String::new(), |n| format!(" {n}"))));
    }
    for op in Bin::ALL.iter().filter(|op| op.native() != Native::Call) {
        // All pairs of special arguments, and each argument with one from another range.
        let special = points[..SPECIAL].iter().flat_map(|x| points[..SPECIAL].iter().map(move |y| (x, y)));
        let pairs = special.chain(points.iter().zip(points.iter().cycle().skip(1237)));
        lines.push(format!("{} {:016x}\n", op.word(), checksum(pairs.map(|(x, y)| op.eval(*x, *y)))));
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bits.txt");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, lines.concat()).unwrap();
    }
    assert!(lines.len() > 20);
    assert_eq!(lines.concat(), std::fs::read_to_string(&path).unwrap_or_default());
}
