//! The latency of the first answer.

use super::{Times, time};
use std::path::PathBuf;
use std::process::Command;

/// Processes measured from start to end: a label and the arguments.
const PROCESSES: &[(&str, &[&str])] = &[
    ("start: adl -e 1", &["-e", "1"]),
    ("first gradient of a number", &["-e", "grad (fun x -> sin x * x) 1.0"]),
    ("first gradient of gmm", &["tests/bench/first_gmm.adl"]),
];

/// Typical cells, run in order in one session.
const CELLS: &[(&str, &str)] = &[
    ("cell: a function", "let f x y = sin x * y + x * x"),
    ("cell: its gradient", "grad (fun (x, y) -> f x y) (1.0, 2.0)"),
    ("cell: gradient of a loop", "grad (fun x -> loop y = x for i < 100 do 3.7 * y * (1.0 - y)) 0.3"),
    ("cell: gradient of a hot loop", "grad (fun x -> loop y = x for i < 100_000 do 3.7 * y * (1.0 - y)) 0.3"),
    ("cell: data", "let (xs, ys) = (linspace 0.0 1.0 100, map (fun x -> 3.0 * x + 1.0) (linspace 0.0 1.0 100))"),
    (
        "cell: loss and gradient",
        "let loss (p : {a : Float, b : Float}) = mean (map (fun v -> v * v) (p.a * xs + p.b - ys)) in grad loss {a = 1.0, b = 0.0}",
    ),
    (
        "cell: gradient of a network",
        "grad (fun w -> sum (tanh (w.a @ tanh (w.b @ xs)))) {a = eye 10, b = replicate 10 xs}",
    ),
    (
        "cell: descent",
        "loop p = {a = 1.0, b = 0.0} for i < 100 do let g = grad (fun (p : {a : Float, b : Float}) -> mean (map (fun v -> v * v) (p.a * xs + p.b - ys))) p in {a = p.a - 0.1 * g.a, b = p.b - 0.1 * g.b}",
    ),
    ("cell: Hessian", "hessian (fun x -> sum (x * x * sin x)) (linspace 0.0 1.0 5)"),
];

/// The adl binary in the directory of this one.
fn binary() -> Option<PathBuf> {
    let path = std::env::current_exe().ok()?.with_file_name("adl");
    path.exists().then_some(path)
}

/// Prints the time of each.
pub fn report() -> Result<(), String> {
    println!("{:32} {:>10} {:>10}", "latency", "least ms", "median ms");
    let show = |name: &str, t: Times| println!("{name:32} {:>10.2} {:>10.2}", t.least, t.median);
    match binary() {
        None => println!("(no `adl` beside this binary: cargo build --release -p adl)"),
        Some(adl) => {
            for (name, args) in PROCESSES {
                let run = || {
                    let out = Command::new(&adl)
                        .args(*args)
                        .current_dir(crate::root())
                        .output()
                        .map_err(|e| e.to_string())?;
                    if out.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&out.stderr).into_owned()) }
                };
                show(name, time(1.0, run)?);
            }
        }
    }
    let [made, compiled] = compile_gmm()?;
    show("gradient of gmm: transformed", made);
    show("gradient of gmm: compiled", compiled);
    let mut runs: Vec<Vec<f64>> = vec![Vec::new(); CELLS.len()];
    for _ in 0..10 {
        let mut s = crate::timed_session().0;
        for ((name, cell), runs) in CELLS.iter().zip(&mut runs) {
            let start = std::time::Instant::now();
            let out = s.eval(cell);
            runs.push(1e3 * start.elapsed().as_secs_f64());
            out.diags.iter().find(|d| d.is_error()).map_or(Ok(()), |d| Err(format!("{name}: {}", d.message)))?;
        }
    }
    CELLS.iter().zip(runs).for_each(|((name, _), runs)| show(name, Times::of(runs)));
    Ok(())
}

/// The times of transforming and of compiling the first gradient of a Gaussian mixture, in milliseconds.
fn compile_gmm() -> Result<[Times; 2], String> {
    let mut runs = [Vec::new(), Vec::new()];
    for _ in 0..10 {
        let mut s = crate::timed_session().0;
        let out = s.eval("import \"tests/bench/inputs.adl\" as I\nimport \"tests/gradbench/gmm.adl\" as Gmm\nlet i = I.gmm 10 25 1000");
        out.diags.iter().find(|d| d.is_error()).map_or(Ok(()), |d| Err(d.message.clone()))?;
        s.clear_derivations();
        s.value("Gmm.jacobian i").map_err(|d| d.first().map_or_else(String::new, |d| d.message.clone()))?;
        let (made, compiled) = s.spent();
        runs[0].push(1e3 * made.as_secs_f64());
        runs[1].push(1e3 * compiled.as_secs_f64());
    }
    Ok(runs.map(Times::of))
}
