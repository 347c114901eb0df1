//! Memory bandwidth of operations on arrays larger than the caches, compared with a copy of the same size.

use super::time;
use adl_interp::value::{Buf, Value, array};

/// The number of elements of an array: 128 MiB.
const NUMBERS: usize = 1 << 24;

/// Operations: the label, a function of two arrays, and the number of arrays that it reads and writes.
const OPERATIONS: &[(&str, &str, usize)] = &[
    ("2.0 * x + 1.0", "fun (x : []Float) (y : []Float) -> 2.0 * x + 1.0", 2),
    ("map (fun v -> 2.0 * v + 1.0) x", "fun (x : []Float) (y : []Float) -> map (fun v -> 2.0 * v + 1.0) x", 2),
    ("for i -> x[i] * y[i]", "fun (x : [n]Float) (y : [n]Float) -> for i < n -> x[i] * y[i]", 3),
    ("x * y + x", "fun (x : [n]Float) (y : [n]Float) -> x * y + x", 3),
    ("sum x", "fun (x : []Float) (y : []Float) -> sum x", 1),
    ("dot x y", "fun (x : [n]Float) (y : [n]Float) -> dot x y", 2),
    ("sum for i -> x[i] * y[i]", "fun (x : [n]Float) (y : [n]Float) -> sum for i < n -> x[i] * y[i]", 2),
    ("maximum x", "fun (x : []Float) (y : []Float) -> maximum x", 1),
    ("gradient of sum (x * x)", "fun (x : [n]Float) (y : [n]Float) -> grad (fun (x : [n]Float) -> sum (x * x)) x", 2),
];

/// Prints GB/s of each operation and of a copy.
pub fn report(seconds: f64) -> Result<(), String> {
    let source: Vec<f64> = (0..NUMBERS).map(|i| (i % 1000) as f64 / 1000.0).collect();
    let mut to = vec![0.0; NUMBERS];
    let copy = || {
        to.copy_from_slice(std::hint::black_box(&source));
        std::hint::black_box(&mut to);
        Ok::<(), String>(())
    };
    let bytes = |arrays: usize| (arrays * NUMBERS * 8) as f64 / 1e6;
    let copied = bytes(2) / time(seconds, copy)?.least;
    println!("{:32} {:>10} {:>10}", "bandwidth", "GB/s", "of a copy");
    println!("{:32} {copied:>10.1} {:>10}", "copy", "100%");
    let args: [Value; 2] = [source.clone(), source].map(|x| array::make([NUMBERS].as_slice().into(), Buf::F64(x)));
    for (name, text, arrays) in OPERATIONS {
        let mut s = crate::timed_session().0;
        let f = s.value(text).map_err(|d| d.first().map_or_else(String::new, |d| d.message.clone()))?;
        let least =
            time(seconds, || s.call(&f, &args).map(|v| _ = std::hint::black_box(v)).map_err(|d| d.message.clone()))?
                .least;
        let speed = bytes(*arrays) / least;
        println!("{name:32} {speed:>10.1} {:>9.0}%", 100.0 * speed / copied);
    }
    Ok(())
}
