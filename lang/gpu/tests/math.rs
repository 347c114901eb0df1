//! Compares this crate's math functions with the CPU's, within their stated bounds.

use crate::common;

use adl_gpu::random::philox;
use adl_gpu::{Data, Gpu};
use adl_ir::generate::rng::Rng;
use adl_prim::scalar::Gpu as OnGpu;
use adl_prim::{Bin, Cmp, Un};

const POINTS: usize = 100_000;

/// Numbers that functions treat specially.
fn special() -> Vec<f64> {
    let one = [
        0.0,
        f64::INFINITY,
        f64::NAN,
        1.0,
        2.0,
        0.5,
        3.0,
        1.5,
        0.4375,
        0.6875,
        1.1875,
        2.4375,
        5e-324,
        1e-310,
        f64::MIN_POSITIVE,
        1e-300,
        1e-20,
        1e300,
        f64::MAX,
        709.78,
        745.13,
        746.0,
        710.0,
        22.0,
        40.0,
        1e6,
        4503599627370496.0,
        4503599627370495.5,
        9007199254740993.0,
        2.5,
        3.5,
        std::f64::consts::PI,
        std::f64::consts::FRAC_PI_2,
        1e22,
        171.6,
        172.5,
        27.2,
        6.0,
        12.0,
        14.0,
        1.0 - f64::EPSILON,
        1.0 + f64::EPSILON,
        2.0 - f64::EPSILON,
        2.0 + 2.0 * f64::EPSILON,
        1.4616321449683622,
    ];
    one.iter().flat_map(|x| [*x, -*x]).collect()
}

/// Numbers of all magnitudes, and numbers within ±`span`.
fn points(seed: u64, span: f64) -> Vec<f64> {
    let mut rng = Rng::new(seed);
    let mut all = special();
    while all.len() < POINTS {
        all.push(match all.len() % 4 {
            0 => f64::from_bits(rng.bits()),
            1 => (2.0 * rng.unit() - 1.0) * 10f64.powf(12.0 * rng.unit() - 9.0),
            2 => (2.0 * rng.unit() - 1.0) * span,
            _ => (2.0 * rng.unit() - 1.0) * span * rng.unit() * rng.unit(),
        });
    }
    all
}

/// The difference in ulps; subnormal results count in units of the smallest normal number's last digit.
fn ulps(got: f64, want: f64) -> f64 {
    if got == want || got.is_nan() && want.is_nan() {
        return 0.0;
    }
    if got.is_nan() || want.is_nan() || want.is_infinite() || got.is_infinite() {
        // The largest number and infinity are neighbours.
        return if got.abs().min(want.abs()) == f64::MAX && got * want > 0.0 { 1.0 } else { f64::INFINITY };
    }
    let unit = f64::from_bits(want.abs().to_bits() + 1) - want.abs();
    ((got - want) / unit).abs()
}

fn text(op: &str, ty: &str, two: bool) -> String {
    let (params, over, elems, xs) = if two {
        (format!("v1: []{ty}, v2: []{ty}"), "v1, v2", format!("v4: {ty}, v5: {ty}"), "v4 v5")
    } else {
        (format!("v1: []{ty}"), "v1", format!("v4: {ty}"), "v4")
    };
    format!(
        "fn f0 t (v0: i64, {params}) -> ([]{ty}) {{ v7: []{ty}, v8: i64 = loop for v0 over ({over}) out (collect) (v3: i64, {elems}) {{ v6: {ty} = {op} {xs} return v6 }} return v7 }}"
    )
}

fn apply(gpu: &Gpu, op: &str, data: &[Data]) -> Data {
    let ty = if matches!(data[0], Data::F32(_)) { "f32" } else { "f64" };
    let p = common::program(&text(op, ty, data.len() == 2));
    let mut args = vec![common::int(data[0].len())];
    args.extend(data.iter().map(|d| common::vector(gpu, d)));
    common::run(gpu, &p, &args).unwrap().remove(0)
}

fn f64s(d: &Data) -> &[f64] {
    match d {
        Data::F64(x) => x,
        _ => panic!("not f64"),
    }
}

/// Every operator, its text form, and how a GPU computes it.
fn unary() -> impl Iterator<Item = (Un, String, OnGpu)> {
    let parameters = [Un::Powi(3), Un::Powi(-2), Un::Polygamma(1)];
    Un::ALL.iter().copied().chain(parameters).map(|u| {
        let parameter = u.parameter().map(|n| format!(" {n}"));
        (u, u.word().to_owned() + parameter.as_deref().unwrap_or(""), u.gpu())
    })
}

/// The absolute error bound of functions near their zeros and below 0, relative to the larger of 1 and the result.
fn absolute(u: Un) -> f64 {
    match u {
        Un::Lgamma => 1e-14,
        Un::Digamma => 4e-15,
        _ => 0.0,
    }
}

/// Whether the reference, which has errors of a few ulps itself, is accurate enough.
fn sane(u: Un, x: f64) -> bool {
    match u {
        // The reference loses digits near poles, as all such formulas do.
        Un::Lgamma | Un::Gamma | Un::Digamma | Un::Polygamma(_) => {
            x.is_nan() || x >= 0.0 || x > -1e5 && (x - x.round()).abs() > 1e-3
        }
        _ => true,
    }
}

#[test]
fn functions_of_one_f64_are_as_near_as_they_say() {
    let gpu = common::gpu();
    let mut wrong = Vec::new();
    for (k, (op, name, OnGpu { span, ulps: most, .. })) in unary().enumerate() {
        let mut xs = points(k as u64, span);
        if matches!(op, Un::Polygamma(_)) {
            // The CPU's takes a million steps for large negative numbers.
            xs.retain(|x| x.is_nan() || *x > -1000.0);
        }
        let got = apply(&gpu, &name, &[Data::F64(xs.clone())]);
        let mut worst = (0.0, 0.0, 0.0, 0.0);
        for (x, y) in xs.iter().zip(f64s(&got)) {
            let want = op.eval(*x);
            let off = ulps(*y, want);
            let near = (y - want).abs() <= absolute(op) * want.abs().max(1.0);
            if off > worst.0 && sane(op, *x) && !near {
                worst = (off, *x, *y, want);
            }
            if want == 0.0 && *y == 0.0 && want.is_sign_negative() != y.is_sign_negative() && sane(op, *x) {
                worst = (f64::INFINITY, *x, *y, want);
            }
        }
        println!("{name}: {} ulps at {:e}: {:e}, {:e}", worst.0, worst.1, worst.2, worst.3);
        if worst.0 > most {
            wrong.push(format!("{name}: {} ulps at {:e}: {:e} instead of {:e}", worst.0, worst.1, worst.2, worst.3));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_cosine_of_the_number_nearest_to_a_zero_of_it_is_right() {
    // The f64 closest to an odd multiple of π / 2; its cosine was computed with fifty digits.
    let x = 6381956970095103.0 * 2f64.powi(797);
    let got = apply(&common::gpu(), "cos", &[Data::F64(vec![x])]);
    assert_eq!(f64s(&got), [-4.687_165_924_254_628e-19]);
}

/// All pairs of special numbers, then pairs whose results are finite.
fn pairs(seed: u64) -> (Vec<f64>, Vec<f64>) {
    let (one, mut rng) = (special(), Rng::new(seed));
    let mut all: Vec<(f64, f64)> = one.iter().flat_map(|x| one.iter().map(|y| (*x, *y))).collect();
    all.extend(one.iter().flat_map(|x| (-9..10).map(|n| (*x, f64::from(n)))));
    while all.len() < POINTS {
        all.push(match all.len() % 4 {
            0 => (f64::from_bits(rng.bits()), f64::from_bits(rng.bits())),
            1 => (100.0 * rng.unit(), 300.0 * rng.unit() - 150.0),
            2 => ((2.0 * rng.unit() - 1.0) * 1e3, f64::from(rng.below(20) as i32 - 10)),
            _ => (
                f64::from_bits(0x3ff0_0000_0000_0000 + (rng.bits() >> 20)),
                (2.0 * rng.unit() - 1.0) * 10f64.powf(12.0 * rng.unit()),
            ),
        });
    }
    all.into_iter().unzip()
}

#[test]
fn functions_of_two_f64_are_as_near_as_they_say() {
    let gpu = common::gpu();
    let mut wrong = Vec::new();
    for (k, b) in Bin::ALL.iter().copied().enumerate() {
        let (name, most) = (b.word(), b.gpu().ulps);
        let (xs, ys) = pairs(100 + k as u64);
        let got = apply(&gpu, name, &[Data::F64(xs.clone()), Data::F64(ys.clone())]);
        let mut worst = (0.0, String::new());
        for ((x, y), z) in xs.iter().zip(&ys).zip(f64s(&got)) {
            let want = b.eval(*x, *y);
            let signs = want == 0.0 && *z == 0.0 && want.is_sign_negative() != z.is_sign_negative();
            let off = if signs { f64::INFINITY } else { ulps(*z, want) };
            if off > worst.0 {
                worst = (off, format!("{name}: {off} ulps at {x:e}, {y:e}: {z:e} instead of {want:e}"));
            }
        }
        println!("{name}: {}", worst.1);
        if worst.0 > most {
            wrong.push(worst.1);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Whether the device takes subnormal f32 numbers for zeros, as Vulkan allows (NVIDIA's does).
fn flushes(gpu: &Gpu) -> bool {
    matches!(apply(gpu, "neg", &[Data::F32(vec![1e-40])]), Data::F32(made) if made == [0.0])
}

#[test]
fn functions_of_f32_are_those_of_f64_rounded() {
    let gpu = common::gpu();
    let flushes = flushes(&gpu);
    let mut wrong = Vec::new();
    for (k, (op, name, OnGpu { span, ulps: most, .. })) in unary().enumerate() {
        let mut xs: Vec<f32> = points(200 + k as u64, span)
            .iter()
            .map(|x| *x as f32)
            .chain((0..1000).map(|i| f32::from_bits(i * 4294967)))
            .collect();
        xs.retain(|x| sane(op, f64::from(*x)) && (x.is_nan() || *x > -1000.0 || !matches!(op, Un::Polygamma(_))));
        xs.retain(|x| !(flushes && x.is_subnormal()));
        let got = apply(&gpu, &name, &[Data::F32(xs.clone())]);
        let Data::F32(got) = got else { panic!("not f32") };
        for (x, y) in xs.iter().zip(&got) {
            let want = op.eval(f64::from(*x)) as f32;
            // The two f64 may be on different sides of a rounding boundary, or near a zero.
            let near = (f64::from(*y) - f64::from(want)).abs()
                <= absolute(op)
                    .max(f64::from(want.abs()) * if most > 0.0 || matches!(op, Un::Powi(_)) { 1.3e-7 } else { 0.0 });
            let near = near || flushes && want.is_subnormal();
            if y.to_bits() != want.to_bits() && !(y.is_nan() && want.is_nan()) && !near {
                wrong.push(format!("{name} at {x:e}: {y:e} instead of {want:e}"));
                break;
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// f32 functions without f64: bounds in ulps, or relative to 1 where results are small.
#[test]
fn functions_of_f32_without_f64_are_near() {
    let gpu = common::gpu().without_f64();
    let mut wrong = Vec::new();
    for (k, (op, name, OnGpu { span, .. })) in unary().enumerate() {
        if matches!(op, Un::Polygamma(_)) {
            continue;
        }
        let mut xs: Vec<f32> = points(300 + k as u64, span.min(30.0)).iter().map(|x| *x as f32).collect();
        let wave = matches!(op, Un::Sin | Un::Cos | Un::Tan);
        // Subnormal numbers may be flushed to 0 on a GPU; angles are reduced in 32-bit arithmetic.
        xs.retain(|x| {
            sane(op, f64::from(*x))
                && (!x.is_finite() || (*x == 0.0 || x.abs() > 1e-30) && x.abs() < if wave { 1e3 } else { 1e30 })
                // So may the denominator of a negative power.
                && (!matches!(op, Un::Powi(n) if n < 0) || *x == 0.0 || x.abs() > 1e-12)
        });
        let Data::F32(got) = apply(&gpu, &name, &[Data::F32(xs.clone())]) else { panic!("not f32") };
        let (mut worst, mut at) = (0.0, String::new());
        for (x, y) in xs.iter().zip(&got) {
            let want = op.eval(f64::from(*x)) as f32;
            if want != 0.0 && want.abs() < 1e-30 || *y == want || y.is_nan() && want.is_nan() {
                continue;
            }
            let floor = if wave || matches!(op, Un::Lgamma | Un::Digamma) { want.abs().max(1.0) } else { want.abs() };
            let off = f64::from((*y - want).abs() / (floor * f32::EPSILON));
            let off = if off.is_nan() { f64::INFINITY } else { off };
            if off > worst {
                (worst, at) = (off, format!("{name}: {off} units at {x:e}: {y:e} instead of {want:e}"));
            }
        }
        println!("{at}");
        let most = match op {
            Un::Gamma => 200.0,
            Un::Lgamma => 32.0,
            _ => 16.0,
        };
        if worst > most {
            wrong.push(at);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn comparisons_know_nan() {
    let gpu = common::gpu();
    let (xs, ys) = pairs(7);
    for (cmp, name) in
        [(Cmp::Eq, "eq"), (Cmp::Ne, "ne"), (Cmp::Lt, "lt"), (Cmp::Gt, "gt"), (Cmp::Le, "le"), (Cmp::Ge, "ge")]
    {
        let text = text(name, "f64", true)
            .replacen("-> ([]f64) { v7: []f64", "-> ([]bool) { v7: []bool", 1)
            .replacen("v6: f64", "v6: bool", 1);
        let args = [
            common::int(xs.len()),
            common::vector(&gpu, &Data::F64(xs.clone())),
            common::vector(&gpu, &Data::F64(ys.clone())),
        ];
        let got = common::run(&gpu, &common::program(&text), &args).unwrap();
        let want = xs.iter().zip(&ys).map(|(x, y)| cmp.holds(x.partial_cmp(y))).collect();
        assert!(got[0] == Data::Bool(want), "{name}");
    }
}

/// Known answers published with Random123 (Salmon et al., 2011).
#[test]
fn philox_known_answers() {
    assert_eq!(philox([0; 4], [0; 2]), [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8]);
    assert_eq!(
        philox([0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344], [0xa4093822, 0x299f31d0]),
        [0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1]
    );
}
