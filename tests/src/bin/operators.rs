//! Reductions, scans and histograms, and their gradients, timed for each operator of *Reverse-Mode AD of Multi-Reduce and Scan in
//! Futhark* (its Fig. 9 and 10): `operators [--size N] [--threads N] [OPERATOR...]`. Prints milliseconds of the function, of the gradient (which runs the
//! function too), their ratio, and where somebody wrote the gradient by hand, milliseconds of that in the same run and how many times longer ours
//! takes. The two gradients must agree.

use adl_interp::value::{Buf, Value};
use adl_session::Session;
use adl_syntax::diag::Diagnostic;
use adl_tests::by_hand::operators::value_and_gradient;
use adl_tests::session;
use std::time::Instant;

#[global_allocator]
static MEMORY: adl_jit::alloc::Keeping<mimalloc::MiMalloc> = adl_jit::alloc::Keeping(mimalloc::MiMalloc);

/// An operator: its name, its numbers an element, a definition, its neutral element, how elements come from a vector of all numbers, and
/// how a result becomes a number.
struct Operator {
    name: &'static str,
    width: usize,
    op: &'static str,
    neutral: &'static str,
    elements: &'static str,
    number: &'static str,
    commutative: bool,
}

const fn scalar(name: &'static str, op: &'static str, neutral: &'static str) -> Operator {
    Operator { name, width: 1, op, neutral, elements: "x", number: "r", commutative: true }
}

const fn pairs(name: &'static str, op: &'static str, neutral: &'static str, commutative: bool) -> Operator {
    Operator { name, width: 2, op, neutral, elements: "(let n = len x // 2 in zip x[0:n] x[n:])", number: "fst r + snd r", commutative }
}

const fn matrices(name: &'static str, width: usize, neutral: &'static str, elements: &'static str) -> Operator {
    Operator { name, width, op: "(fun a b -> a @ b)", neutral, elements, number: "sum (sum r)", commutative: false }
}

const OPERATORS: &[Operator] = &[
    scalar("+", "(+)", "0.0"),
    scalar("min", "min", "inf"),
    scalar("*", "(*)", "1.0"),
    pairs("linear functions", "(fun (b1, c1) (b2, c2) -> (b2 + c2 * b1, c2 * c1))", "(0.0, 1.0)", false),
    pairs("sums of products", "(fun (p1, s1) (p2, s2) -> (p1 + p2 + s1 * s2, s1 + s2))", "(0.0, 0.0)", true),
    Operator {
        name: "sums of products, inverse",
        width: 1,
        op: "(invertible {op = fun (p1, s1) (p2, s2) -> (p1 + p2 + s1 * s2, s1 + s2), lift = fun a -> (0.0, a), lower = fst, inverse = fun (p, s) (p2, s2) -> (p - p2 - (s - s2) * s2, s - s2)})",
        neutral: "0.0",
        elements: "x",
        number: "r",
        commutative: true,
    },
    Operator { name: "vectorised *", width: 8, op: "(map2 (*))", neutral: "(replicate 8 1.0)", elements: "(reshape [len x // 8, 8] x)", number: "sum r", commutative: true },
    matrices("2x2 matrices", 4, "(eye 2)", "(reshape [len x // 4, 2, 2] x)"),
    matrices("3x3 matrices", 9, "(eye 3)", "(reshape [len x // 9, 3, 3] x)"),
    matrices("5x5 matrices", 25, "(eye 5)", "(reshape [len x // 25, 5, 5] x)"),
];

/// What an operator is used in.
#[derive(Clone, Copy)]
enum Construct {
    Reduce,
    Scan,
    Histogram(usize),
}

impl Construct {
    fn name(self) -> String {
        match self {
            Construct::Reduce => "reduce".to_owned(),
            Construct::Scan => "scan".to_owned(),
            Construct::Histogram(bins) => format!("reduce_by_index {bins}"),
        }
    }

    /// Whether the construct takes such an operator.
    fn takes(self, o: &Operator) -> bool {
        match self {
            Construct::Reduce => true,
            Construct::Scan => !o.op.contains("invertible"),
            Construct::Histogram(_) => o.commutative,
        }
    }

    /// A function of a vector of all numbers.
    fn function(self, o: &Operator) -> String {
        let Operator { op, neutral, elements, number, .. } = o;
        match self {
            Construct::Reduce => format!("let r = reduce {op} {neutral} {elements} in {number}"),
            Construct::Scan => format!("sum (map (fun r -> {number}) (scan {op} {neutral} {elements}))"),
            Construct::Histogram(bins) => format!("sum (map (fun r -> {number}) (reduce_by_index (replicate {bins} {neutral}) {op} {neutral} keys {elements}))"),
        }
    }
}

struct Bench {
    session: Session,
    seconds: f64,
}

impl Bench {
    fn value(&mut self, text: &str) -> Result<Value, String> {
        self.session.value(text).map_err(|d| self.text(&d))
    }

    fn text(&self, diags: &[Diagnostic]) -> String {
        diags.iter().map(|d| adl_syntax::render::text(d, &self.session.sources, false)).collect()
    }

    /// The least milliseconds of some runs.
    fn time(&mut self, f: &Value, x: &Value) -> Result<f64, String> {
        let (mut least, mut total, mut runs) = (f64::INFINITY, 0.0, 0);
        while runs < 3 || total < self.seconds {
            let x = x.clone();
            let start = Instant::now();
            let made = self.session.call(f, &[x]).map_err(|d| self.text(&[*d]))?;
            if !matches!(made, Value::Float(_) | Value::Array(_)) {
                return Err(format!("neither a number nor an array: {}", adl_interp::value::show::show(&made)));
            }
            let t = start.elapsed().as_secs_f64();
            (least, total, runs) = (least.min(t), total + t, runs + 1);
        }
        Ok(least * 1e3)
    }

    /// The least milliseconds of a gradient that is written by hand, if there is one; it must be that of `g`.
    fn by_hand(&mut self, construct: Construct, o: &Operator, g: &Value, x: &Value) -> Result<Option<f64>, String> {
        let keys = self.value("keys")?;
        let (Value::Array(a), Value::Array(k)) = (x, &keys) else { return Ok(None) };
        let (Buf::F64(xs), Buf::I64(keys)) = (a.buf(), k.buf()) else { return Ok(None) };
        let (name, bins) = match construct {
            Construct::Histogram(bins) => ("reduce_by_index", bins),
            Construct::Reduce => ("reduce", 1),
            Construct::Scan => ("scan", 1),
        };
        let run = || value_and_gradient(name, o.name, xs, keys, bins);
        let Some((_, wanted)) = run() else { return Ok(None) };
        let made = self.session.call(g, std::slice::from_ref(x)).map_err(|d| self.text(&[*d]))?;
        let same = matches!(&made, Value::Array(m) if matches!(m.buf(), Buf::F64(m) if m.len() == wanted.len() && m.iter().zip(&wanted).all(|(a, b)| (a - b).abs() <= 1e-6 * (1.0 + b.abs()))));
        if !same {
            return Err("the gradient is not the one that is written by hand".to_owned());
        }
        let (mut least, mut total, mut runs) = (f64::INFINITY, 0.0, 0);
        while runs < 3 || total < self.seconds {
            let start = Instant::now();
            std::hint::black_box(run());
            let t = start.elapsed().as_secs_f64();
            (least, total, runs) = (least.min(t), total + t, runs + 1);
        }
        Ok(Some(least * 1e3))
    }

    fn row(&mut self, construct: Construct, o: &Operator, numbers: usize) -> Result<(), String> {
        let n = numbers / o.width;
        let bins = if let Construct::Histogram(bins) = construct { bins } else { 1 };
        // Near 1, so that products stay numbers.
        let x = self.value(&format!("map (fun v -> 0.99 + 0.02 * v) (random.uniform (random.key 7) [{}])", n * o.width))?;
        self.value(&format!("let keys = random.int (random.key 8) 0 {bins} [{n}]"))?;
        let body = construct.function(o);
        let (f, g) = (self.value(&format!("fun (x : [n]Float) -> {body}"))?, self.value(&format!("grad (fun (x : [n]Float) -> {body})"))?);
        let (primal, both) = (self.time(&f, &x)?, self.time(&g, &x)?);
        let hand = self.by_hand(construct, o, &g, &x)?;
        let (hand, times) = hand.map_or((String::new(), String::new()), |h| (format!("{h:.3}"), format!("{:.1}", both / h)));
        println!("{:22} {:26} {n:>9} {primal:>11.3} {both:>11.3} {:>7.1} {hand:>11} {times:>7}", construct.name(), o.name, both / primal);
        Ok(())
    }
}

fn main() -> std::process::ExitCode {
    let mut args = std::env::args().skip(1);
    let (mut numbers, mut only) = (1_000_000, Vec::new());
    while let Some(a) = args.next() {
        match a.as_str() {
            "--threads" => adl_interp::ops::parallel::set_threads(args.next().and_then(|n| n.parse().ok()).unwrap_or(0)),
            "--size" => numbers = args.next().and_then(|n| n.parse().ok()).unwrap_or(numbers),
            _ => only.push(a),
        }
    }
    let mut bench = Bench { session: session().0, seconds: 0.3 };
    let mut failed = false;
    println!("{:22} {:26} {:>9} {:>11} {:>11} {:>7} {:>11} {:>7}", "construct", "operator", "elements", "primal ms", "gradient ms", "ratio", "by hand ms", "times");
    for construct in [Construct::Reduce, Construct::Scan, Construct::Histogram(31), Construct::Histogram(1023)] {
        for o in OPERATORS.iter().filter(|o| construct.takes(o) && (only.is_empty() || only.iter().any(|n| n == o.name))) {
            if let Err(e) = bench.row(construct, o, numbers) {
                eprintln!("{} {}: {e}", construct.name(), o.name);
                failed = true;
            }
        }
    }
    std::process::ExitCode::from(u8::from(failed))
}
