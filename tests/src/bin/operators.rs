//! Times of reductions, scans and histograms and their gradients, for each operator of *Reverse-Mode AD of Multi-Reduce
//! and Scan in Futhark* (Fig. 9 and 10): `operators [--size N] [--threads N] [--device gpu] [--f32] [--bins N,N]
//! [--seconds S] [--json] [OPERATOR...]`. Prints milliseconds of the function and of the gradient (which includes the
//! function), and their ratio. `bench` compares with C++.
//!
//! On a GPU (`ADL_GPU` selects it), gradients are compared with the CPU's, and times include the completion of all GPU
//! work. The last columns are the kernel counts of both calls, and the bytes of kernel operands per byte of input,
//! which bound the time. `tests/bench/gpu_peers.py` prints such rows for JAX and `PyTorch`.

use adl_interp::value::{Buf, Value};
use adl_session::Session;
use adl_syntax::diag::Diagnostic;
use adl_tests::timed_session;
use std::time::Instant;

#[global_allocator]
static MEMORY: adl_jit::alloc::CachingAllocator<mimalloc::MiMalloc> =
    adl_jit::alloc::CachingAllocator(mimalloc::MiMalloc);

/// An operator: its name, the number of numbers per element, a definition and its neutral element. Furthermore the
/// conversions from a vector of all numbers to elements, and from a result to a number.
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
    Operator {
        name,
        width: 2,
        op,
        neutral,
        elements: "(let n = len x // 2 in zip x[0:n] x[n:])",
        number: "fst r + snd r",
        commutative,
    }
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
    Operator {
        name: "vectorised *",
        width: 8,
        op: "(map2 (*))",
        neutral: "(replicate 8 1.0)",
        elements: "(reshape [len x // 8, 8] x)",
        number: "sum r",
        commutative: true,
    },
    matrices("2x2 matrices", 4, "(eye 2)", "(reshape [len x // 4, 2, 2] x)"),
    matrices("3x3 matrices", 9, "(eye 3)", "(reshape [len x // 9, 3, 3] x)"),
    matrices("5x5 matrices", 25, "(eye 5)", "(reshape [len x // 25, 5, 5] x)"),
];

/// The construct that applies an operator.
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

    /// Whether the construct supports an operator.
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
            Construct::Histogram(bins) => format!(
                "sum (map (fun r -> {number}) (reduce_by_index (replicate {bins} {neutral}) {op} {neutral} keys {elements}))"
            ),
        }
    }
}

/// Seconds of calls on a GPU before a measurement.
const WARM: f64 = 0.3;

struct Bench {
    session: Session,
    seconds: f64,
    device: String,
    /// The type of numbers.
    ty: &'static str,
    json: bool,
}

/// The kernels of a call on a GPU, and the bytes of their operands.
#[derive(Clone, Copy)]
struct Moved {
    kernels: u64,
    bytes: u64,
}

impl Bench {
    fn value(&mut self, text: &str) -> Result<Value, String> {
        self.session.value(text).map_err(|d| self.text(&d))
    }

    fn text(&self, diags: &[Diagnostic]) -> String {
        diags.iter().map(|d| adl_syntax::render::text(d, &self.session.sources, false)).collect()
    }

    fn called(&mut self, f: &Value, x: &Value) -> Result<Value, String> {
        let made = self.session.call(f, std::slice::from_ref(x)).map_err(|d| self.text(&[*d]))?;
        self.session.wait_for_device()?;
        Ok(made)
    }

    /// The GPU work of a call; `None` on the CPU.
    fn moved(&mut self, f: &Value, x: &Value) -> Result<Option<Moved>, String> {
        let Some(before) = self.session.device_used() else { return Ok(None) };
        self.called(f, x)?;
        let after = self.session.device_used().unwrap_or_default();
        Ok(Some(Moved { kernels: after.kernels - before.kernels, bytes: after.traffic - before.traffic }))
    }

    /// The minimal time of several runs in milliseconds.
    fn time(&mut self, f: &Value, x: &Value) -> Result<f64, String> {
        let (mut least, mut total, mut runs) = (f64::INFINITY, 0.0, 0);
        // An idle GPU has a low clock, and raises it only after a while.
        let start = Instant::now();
        while self.device != "cpu" && start.elapsed().as_secs_f64() < WARM {
            self.called(f, x)?;
        }
        while runs < 3 || total < self.seconds {
            let start = Instant::now();
            let made = self.called(f, x)?;
            if !matches!(made, Value::Float(_) | Value::F32(_) | Value::Array(_)) {
                return Err(format!("neither a number nor an array: {}", adl_interp::value::show::show(&made)));
            }
            let t = start.elapsed().as_secs_f64();
            (least, total, runs) = (least.min(t), total + t, runs + 1);
        }
        Ok(least * 1e3)
    }

    /// Whether a gradient equals the CPU's, up to the errors of reordered sums and products.
    fn agrees(&mut self, g: &Value, x: &Value) -> Result<(), String> {
        let there = floats(&self.called(g, x)?);
        self.set("cpu")?;
        let here = floats(&self.called(g, x)?);
        let device = self.device.clone();
        self.set(&device)?;
        let size = here.iter().fold(1.0, |m: f64, v| m.max(v.abs()));
        let most = size * if self.ty == "F32" { 1e-2 } else { 1e-9 };
        match here.iter().zip(&there).position(|(a, b)| (a - b).abs() > most || a.is_nan() != b.is_nan()) {
            Some(i) => {
                Err(format!("number {i} of the gradient is {} on the GPU, and {} on the CPU", there[i], here[i]))
            }
            None if here.len() != there.len() => Err("the gradients differ in length".to_owned()),
            None => Ok(()),
        }
    }

    fn set(&mut self, device: &str) -> Result<(), String> {
        self.session.set_device(device).map_err(|d| self.text(&[*d]))
    }

    fn row(&mut self, construct: Construct, operator: &Operator, numbers: usize) -> Result<(), String> {
        let count = numbers / operator.width;
        let (single, ty) = (self.ty == "F32", self.ty);
        let bins = if let Construct::Histogram(bins) = construct { bins } else { 1 };
        // Values near 1, so that products stay finite. Products of matrices of ones grow by the matrix size.
        let side = if operator.name.contains("matrices") { (operator.width as f64).sqrt() } else { 1.0 };
        let input = self.value(&format!(
            "map (fun v -> {}((0.99 + 0.02 * v) / {side:?})) (random.uniform (random.key 7) [{}])",
            if single { "to_f32 " } else { "" },
            count * operator.width
        ))?;
        self.value(&format!("let keys = random.int (random.key 8) 0 {bins} [{count}]"))?;
        let body = if single { of_f32(&construct.function(operator)) } else { construct.function(operator) };
        let (f, gradient) = (
            self.value(&format!("fun (x : [n]{ty}) -> {body}"))?,
            self.value(&format!("grad (fun (x : [n]{ty}) -> {body})"))?,
        );
        let (primal, both) = (self.time(&f, &input)?, self.time(&gradient, &input)?);
        let (on, on_both) = (self.moved(&f, &input)?, self.moved(&gradient, &input)?);
        let last = match (on, on_both) {
            (Some(a), Some(b)) => {
                self.agrees(&gradient, &input)?;
                let bytes = (count * operator.width * if single { 4 } else { 8 }) as f64;
                (
                    format!("{} + {}", a.kernels, b.kernels),
                    format!("{:.1} + {:.1}", a.bytes as f64 / bytes, b.bytes as f64 / bytes),
                )
            }
            _ => (String::new(), String::new()),
        };
        if self.json {
            let (c, o) = (construct.name(), operator.name);
            println!(
                "{{\"tool\": \"adl\", \"construct\": \"{c}\", \"operator\": \"{o}\", \"type\": \"{ty}\", \"n\": {count}, \"primal_ms\": {primal:.4}, \"gradient_ms\": {both:.4}, \"ratio\": {:.2}}}",
                both / primal
            );
        } else {
            println!(
                "{:22} {:26} {count:>9} {primal:>11.3} {both:>11.3} {:>7.1} {:>11} {:>11}",
                construct.name(),
                operator.name,
                both / primal,
                last.0,
                last.1
            );
        }
        Ok(())
    }
}

/// The same function for F32: literals get the suffix, and results of Float functions are converted.
fn of_f32(text: &str) -> String {
    let text = [2, 3, 5].iter().fold(text.replace("inf", "(to_f32 inf)"), |t, k| {
        t.replace(&format!("(eye {k})"), &format!("(map (map to_f32) (eye {k}))"))
    });
    let (mut out, mut literal) = (String::new(), false);
    for c in text.chars() {
        let digit = c.is_ascii_digit();
        if literal && c != '.' && !digit {
            out.push_str("f32");
        }
        literal = (literal || out.ends_with(|c: char| c.is_ascii_digit()) && c == '.') && (digit || c == '.');
        out.push(c);
    }
    out
}

fn floats(v: &Value) -> Vec<f64> {
    match v {
        Value::Float(x) => vec![*x],
        Value::F32(x) => vec![f64::from(*x)],
        Value::Array(a) => match a.buf() {
            Buf::F64(x) => x.clone(),
            Buf::F32(x) => x.iter().map(|x| f64::from(*x)).collect(),
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// The command line's options.
struct Asked {
    numbers: usize,
    bins: Vec<usize>,
    only: Vec<String>,
}

fn asked(bench: &mut Bench) -> Result<Asked, String> {
    let mut asked = Asked { numbers: 1_000_000, bins: vec![31, 1023], only: Vec::new() };
    let mut args = std::env::args().skip(1);
    while let Some(argument) = args.next() {
        match argument.as_str() {
            "--f32" => bench.ty = "F32",
            "--json" => bench.json = true,
            option if option.starts_with("--") => {
                let given = args.next().ok_or_else(|| format!("`{option}` of what?"))?;
                let number = |t: &str| t.parse::<usize>().map_err(|_| format!("`{t}` is no number"));
                match option {
                    "--threads" => adl_interp::ops::parallel::set_threads(number(&given)?),
                    "--size" => asked.numbers = number(&given)?,
                    "--seconds" => {
                        bench.seconds = given.parse().map_err(|_| format!("`{given}` is not a number of seconds"))?;
                    }
                    "--bins" => asked.bins = given.split(',').map(number).collect::<Result<_, _>>()?,
                    "--device" => {
                        bench.set(&given)?;
                        bench.device = given;
                    }
                    _ => return Err(format!("there is no option `{option}`")),
                }
            }
            _ => asked.only.push(argument),
        }
    }
    Ok(asked)
}

fn run() -> Result<bool, String> {
    let mut bench =
        Bench { session: timed_session().0, seconds: 0.3, device: "cpu".to_owned(), ty: "Float", json: false };
    let asked = asked(&mut bench)?;
    let last = if bench.session.device_used().is_some() { ("kernels", "bytes/input") } else { ("", "") };
    if !bench.json {
        println!(
            "{:22} {:26} {:>9} {:>11} {:>11} {:>7} {:>11} {:>11}",
            "construct", "operator", "elements", "primal ms", "gradient ms", "ratio", last.0, last.1
        );
    }
    let mut fine = true;
    for construct in
        [Construct::Reduce, Construct::Scan].into_iter().chain(asked.bins.iter().map(|b| Construct::Histogram(*b)))
    {
        for o in OPERATORS
            .iter()
            .filter(|o| construct.takes(o) && (asked.only.is_empty() || asked.only.iter().any(|n| n == o.name)))
        {
            if let Err(e) = bench.row(construct, o, asked.numbers) {
                eprintln!("{} {}: {e}", construct.name(), o.name);
                fine = false;
            }
        }
    }
    Ok(fine)
}

fn main() -> std::process::ExitCode {
    match run() {
        Ok(true) => std::process::ExitCode::SUCCESS,
        Ok(false) => std::process::ExitCode::FAILURE,
        Err(why) => {
            eprintln!("{why}");
            std::process::ExitCode::FAILURE
        }
    }
}
