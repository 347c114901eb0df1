//! Sums under random predicates of indices against plain loops: the value and the gradient have every term once, and no other.

use adl_ir::generate::rng::Rng;
use adl_tests::{echo_in, session};

/// An Int of indices.
enum Int {
    Index(usize),
    Lit(i64),
    /// An Int of outside: `s` is 3, `t` is -2.
    Outer(bool),
    Op(&'static str, Box<Int>, Box<Int>),
    Abs(Box<Int>),
}

enum Pred {
    Cmp(&'static str, Int, Int),
    And(Box<Pred>, Box<Pred>),
    Or(Box<Pred>, Box<Pred>),
    Not(Box<Pred>),
}

fn index(r: &mut Rng) -> Int {
    Int::Index(r.below(3))
}

fn int(rng: &mut Rng, depth: u64) -> Int {
    match rng.below(if depth == 0 { 4 } else { 12 }) {
        0..=2 => index(rng),
        3 => Int::Lit(rng.below(9) as i64 - 3),
        4 => Int::Outer(rng.below(2) == 0),
        5 => Int::Op("+", Box::new(int(rng, depth - 1)), Box::new(int(rng, depth - 1))),
        6 => Int::Op("-", Box::new(int(rng, depth - 1)), Box::new(int(rng, depth - 1))),
        7 => Int::Op("*", Box::new(int(rng, depth - 1)), Box::new(int(rng, depth - 1))),
        8 => Int::Op(
            ["%", "//"][rng.below(2)],
            Box::new(int(rng, depth - 1)),
            Box::new(Int::Lit(1 + rng.below(5) as i64)),
        ),
        9 => Int::Op(["%", "//"][rng.below(2)], Box::new(int(rng, depth - 1)), Box::new(Int::Outer(true))),
        10 => Int::Abs(Box::new(int(rng, depth - 1))),
        _ => Int::Op(["max", "min"][rng.below(2)], Box::new(int(rng, depth - 1)), Box::new(int(rng, depth - 1))),
    }
}

fn pred(r: &mut Rng, depth: u64) -> Pred {
    match r.below(if depth == 0 { 4 } else { 9 }) {
        0..=3 => Pred::Cmp(["==", "==", "!=", "<", "<=", ">", ">="][r.below(7)], int(r, 2), int(r, 1)),
        4 | 5 => Pred::And(Box::new(pred(r, depth - 1)), Box::new(pred(r, depth - 1))),
        6 | 7 => Pred::Or(Box::new(pred(r, depth - 1)), Box::new(pred(r, depth - 1))),
        _ => Pred::Not(Box::new(pred(r, depth - 1))),
    }
}

impl Int {
    fn text(&self) -> String {
        match self {
            Int::Index(k) => ["i", "j", "l"][*k].into(),
            Int::Lit(k) => format!("({k})"),
            Int::Outer(s) => if *s { "s" } else { "t" }.into(),
            Int::Op(op @ ("max" | "min"), a, b) => format!("({op} {} {})", a.text(), b.text()),
            Int::Op(op, a, b) => format!("({} {op} {})", a.text(), b.text()),
            Int::Abs(a) => format!("(abs {})", a.text()),
        }
    }

    fn at(&self, indices: &[i64]) -> i64 {
        match self {
            Int::Index(k) => indices[*k],
            Int::Lit(k) => *k,
            Int::Outer(s) => {
                if *s {
                    3
                } else {
                    -2
                }
            }
            Int::Op(op, a, b) => {
                let (a, b) = (a.at(indices), b.at(indices));
                match *op {
                    "+" => a + b,
                    "-" => a - b,
                    "*" => a * b,
                    "%" => a.rem_euclid(b),
                    "//" => a.div_euclid(b),
                    "max" => a.max(b),
                    _ => a.min(b),
                }
            }
            Int::Abs(a) => a.at(indices).abs(),
        }
    }
}

impl Pred {
    fn text(&self) -> String {
        match self {
            Pred::Cmp(op, a, b) => format!("{} {op} {}", a.text(), b.text()),
            Pred::And(p, q) => format!("({}) && ({})", p.text(), q.text()),
            Pred::Or(p, q) => format!("({}) || ({})", p.text(), q.text()),
            Pred::Not(p) => format!("not ({})", p.text()),
        }
    }

    fn at(&self, indices: &[i64]) -> bool {
        match self {
            Pred::Cmp(op, a, b) => {
                let (a, b) = (a.at(indices), b.at(indices));
                match *op {
                    "==" => a == b,
                    "!=" => a != b,
                    "<" => a < b,
                    "<=" => a <= b,
                    ">" => a > b,
                    _ => a >= b,
                }
            }
            Pred::And(p, q) => p.at(indices) && q.at(indices),
            Pred::Or(p, q) => p.at(indices) || q.at(indices),
            Pred::Not(p) => !p.at(indices),
        }
    }
}

/// The value and the gradient of `Σ i j l [p] x[i] y[j] z[l]`, by x and by y.
fn plain(p: &Pred, x: &[f64], y: &[f64], z: &[f64]) -> String {
    let (mut value, mut dx, mut dy) = (0.0, vec![0.0; x.len()], vec![0.0; y.len()]);
    for i in 0..x.len() {
        for j in 0..y.len() {
            for (l, z) in z.iter().enumerate() {
                if p.at(&[i as i64, j as i64, l as i64]) {
                    value += x[i] * y[j] * z;
                    dx[i] += y[j] * z;
                    dy[j] += x[i] * z;
                }
            }
        }
    }
    format!("({value:?}, ({dx:?}, {dy:?}))")
}

#[test]
fn random_predicates_are_summed_as_plain_loops_do() {
    let cases: u64 = std::env::var("ADL_PREDICATES").ok().and_then(|n| n.parse().ok()).unwrap_or(150);
    let (first, second, third) = ([1.0, 2.0, 3.0, 5.0, 7.0], [1.0, -2.0, 4.0, 3.0], [2.0, 1.0, 3.0]);
    let mut faults = Vec::new();
    for seed in 0..cases {
        let mut r = Rng::new(seed * 7919 + 1);
        let predicate = pred(&mut r, 2);
        let nest =
            ["sum for i < len x, j < len y, l < 3 -> ", "sum for i < len x -> sum for j < len y -> sum for l < 3 -> "]
                [r.below(2)];
        let body = [
            "[| P |] * x[i] * y[j] * z[l]",
            "if P then x[i] * y[j] * z[l] else 0.0",
            "if not (P) then 0.0 else x[i] * y[j] * z[l]",
        ][r.below(3)];
        let text = body.replace('P', &predicate.text());
        let (mut s, _) = session();
        echo_in(&mut s, "let (s, t) = (3, -2)");
        let f = format!("fun (x, y) -> let z = [2.0, 1.0, 3.0] in {nest}{text}");
        let have = echo_in(&mut s, &format!("value_and_grad ({f}) ({first:?}, {second:?})"));
        let want = plain(&predicate, &first, &second, &third);
        if have.split(" : ").next() != Some(&want) {
            faults.push(format!("{seed}: {nest}{text}\n  {have}\n  {want}"));
        }
    }
    assert!(faults.is_empty(), "{} of {cases}:\n{}", faults.len(), faults.join("\n"));
}

/// Predicates of two indices of which few pairs satisfy: linear in n, not quadratic.
const FEW: &[&str] = &[
    "i % 2 == 0 && j == i",
    "i // 2 == j",
    "i * j == 12",
    "i == 0 || j == n - 1",
    "not (i != j)",
    "max i j == 3",
    "min i j < 2 && i == j",
    "i < 3 || j < 3",
    "i == j || i == j + 1 || j == i + 1",
    "3 * i == 2 * j + 1",
    "(2 * i + 3 * j) % 5 == 1 && j < 4",
    "i * 3 <= j && j < i * 3 + 3",
    "i // 4 == j // 4",
    "not (i < j || i > j + 2)",
    "i * 2 == j || i == 2 * j",
    "j % n == i",
    "s * i == j",
    "(i + j) % n == s",
    "abs (i - j) <= 1",
    "abs (i - 2 * j) == 3",
    "not (abs (i - j) > 2)",
    "abs i < 2 && abs (j - 5) <= i",
];

#[test]
fn sums_of_few_terms_take_linear_work() {
    let (mut s, _) = session();
    echo_in(&mut s, "let s = 3");
    let mut faults = Vec::new();
    for p in FEW {
        echo_in(&mut s, &format!("let f (x : [n]Float) : Float = sum for i < n, j < n -> [| {p} |] * x[i] * x[j]"));
        let have = echo_in(
            &mut s,
            "let w n = float (cost f (linspace 0.1 1.0 n)).adjoint\n(w 160 < 6.0 * w 40, (gradcheck f (linspace 0.1 1.0 9)).ok)",
        );
        if have != "(true, true) : (Bool, Bool)" {
            faults.push(format!("{p}: {have}"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
