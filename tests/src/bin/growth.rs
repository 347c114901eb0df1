//! Growth of gradient times with the input size, for programs on which eager tensor systems need quadratic time
//! (*Differentiating a Tensor Language*): `growth [--size N]`. It measures each program at N and at 4 N, and prints
//! milliseconds, the ratio, and whether the gradient stays in the primal's complexity class.

use adl_interp::value::Value;
use adl_session::Session;
use adl_tests::timed_session;
use std::time::Instant;

#[global_allocator]
static MEMORY: adl_jit::alloc::CachingAllocator<mimalloc::MiMalloc> =
    adl_jit::alloc::CachingAllocator(mimalloc::MiMalloc);

/// Definitions that the programs share.
const SHARED: &str = "let conv (x : [n]Float) (k : [m]Float) = for i < n - m + 1 -> sum for j < m -> x[i + j] * k[j]
let conv2 (x : [n][p]Float) (k : [m][q]Float) = for i < n - m + 1, l < p - q + 1 -> sum for j < m, t < q -> x[i + j, l + t] * k[j, t]
let diagonal (x : [n]Float) : [n][n]Float = for i < n, j < n -> [| i == j |] * x[i]
let trace_of (a : [n][n]Float) : Float = sum for i < n -> a[i, i]";

/// Programs: a name, and a function's body, in which `x` is a vector of `n` numbers.
const PROGRAMS: &[(&str, &str)] = &[
    ("trace (diag x)", "trace (diag x)"),
    ("trace (diag x), 10 times", "loop s = 0.0 for k < 10 do s + trace (diag x)"),
    ("dot a[:, 0] a[0, :], a = diag x", "let a = diag x in dot a[:, 0] a[0, :]"),
    ("sum a[i, 0] a[0, i], a = diag x", "let a = diag x in sum for i < n -> a[i, 0] * a[0, i]"),
    ("diagonal and trace by brackets", "trace_of (diagonal x)"),
    ("dot of a row and a column by brackets", "let a = diagonal x in dot a[:, 0] a[0, :]"),
    ("x[0] + x[2] + x[4] + ...", "sum for i < n // 2 -> x[2 * i]"),
    ("convolution, by the signal", "sum (conv x [1.0, 2.0, 3.0, 2.0, 1.0])"),
    ("two convolutions, by the signal", "sum (conv x [1.0, 2.0, 3.0] * conv x [3.0, 2.0, 1.0])"),
    ("convolution, by the kernel", "sum (conv (replicate (2 * n) 0.5) x)"),
    ("2-D convolution, by the signal", "sum (sum (conv2 (reshape [n // 50, 50] x) [[1.0, 2.0], [2.0, 1.0]]))"),
    ("trace (eye n) * sum x", "trace (eye n) * sum x"),
    ("bands", "sum for i < n -> sum for j < n -> [| i <= j + 1 && j <= i + 1 |] * x[i] * x[j]"),
    ("triangle", "sum for i < n -> sum for j < n -> [| j <= i |] * x[i] * x[j]"),
    ("Toeplitz matrix", "let h = n // 2 in sum for i < h -> sum for j < h -> x[i - j + h - 1] * x[j]"),
    ("column of an outer product", "sum (outer x x)[:, 0]"),
    ("element of a product of matrices", "let a = reshape [n // 50, 50] x in (a @ a.T)[1, 2]"),
    (
        "eight neighbours",
        "sum for i < n - 7 -> x[i] * x[i + 1] * x[i + 2] * x[i + 3] * x[i + 4] * x[i + 5] * x[i + 6] * x[i + 7]",
    ),
    (
        "elements across the diagonal",
        "let a = reshape [n // 50, 50] x in let m = a @ a.T in let k = len m in sum for i < k, j < k -> m[i, j] * m[j, i]",
    ),
    ("gather by data", "let k = for i < n -> (i * 7) % n in sum for i < n -> x[k[i]] * x[i]"),
    (
        "histogram by brackets",
        "let k = for i < n -> i % 4 in let h = (for b < 4 -> sum for i < n -> [| k[i] == b |] * x[i]) in sum (h * h)",
    ),
];

/// The minimal time of several calls in milliseconds.
fn time(s: &mut Session, f: &Value, x: &Value) -> Result<f64, String> {
    let (mut least, mut total, mut runs) = (f64::INFINITY, 0.0, 0);
    while runs < 5 || total < 0.3 {
        let start = Instant::now();
        s.call(f, std::slice::from_ref(x)).map_err(|d| d.message.clone())?;
        let t = start.elapsed().as_secs_f64();
        (least, total, runs) = (least.min(t), total + t, runs + 1);
        if total > 5.0 {
            break;
        }
    }
    Ok(least * 1e3)
}

/// Times of a program's value and gradient.
fn times(s: &mut Session, program: &str, n: usize) -> Result<(f64, f64), String> {
    let mut value =
        |text: String| s.value(&text).map_err(|d| d.first().map_or_else(String::new, |d| d.message.clone()));
    value(format!("let f (x : [n]Float) : Float = {program}"))?;
    let (f, g) = (value("f".to_owned())?, value("grad f".to_owned())?);
    let x = value(format!("random.uniform (random.key 7) [{n}]"))?;
    Ok((time(s, &f, &x)?, time(s, &g, &x)?))
}

fn main() -> std::process::ExitCode {
    let mut args = std::env::args().skip_while(|a| a != "--size").skip(1);
    let size: usize = args.next().and_then(|n| n.parse().ok()).unwrap_or(1000);
    let mut session = timed_session().0;
    let mut failed = !session.eval(SHARED).ok();
    println!(
        "{:38} {:>9} {:>9} {:>7} {:>9} {:>9} {:>7} {:>7}",
        "program",
        format!("f {size}"),
        format!("f {}", 4 * size),
        "growth",
        "grad",
        "grad 4n",
        "growth",
        "ratio"
    );
    for (name, program) in PROGRAMS {
        match (times(&mut session, program, size), times(&mut session, program, 4 * size)) {
            (Ok((f, g)), Ok((f4, g4))) => {
                println!("{name:38} {f:9.3} {f4:9.3} {:7.1} {g:9.3} {g4:9.3} {:7.1} {:7.1}", f4 / f, g4 / g, g4 / f4);
            }
            (Err(e), _) | (_, Err(e)) => {
                eprintln!("{name}: {e}");
                failed = true;
            }
        }
    }
    std::process::ExitCode::from(u8::from(failed))
}
