//! The time of type checking for programs of size n and 4 n. It should grow about fourfold for all kinds of programs.

use super::large::PROGRAMS;
use super::time;

/// Prints a row for each large program, and for entries typed into one session.
pub fn report(seconds: f64) -> Result<(), String> {
    println!("{:40} {:>8} {:>10} {:>10} {:>7}", "checking", "n", "n, ms", "4n, ms", "growth");
    let show = |name: &str, n: usize, [one, four]: [f64; 2]| {
        println!("{name:40} {n:>8} {one:>10.2} {four:>10.2} {:>7.1}", four / one);
    };
    let mut s = crate::session().0;
    for (name, n, make) in PROGRAMS {
        let mut least = |n: usize| {
            let text = make(n);
            time(seconds, || {
                std::hint::black_box(s.check_file("large.adl", text.as_bytes()));
                Ok::<(), String>(())
            })
        };
        show(name, *n, [least(*n)?.least, least(4 * n)?.least]);
    }
    let n = 2_500;
    show("entries of a session", n, [entries(n)?, entries(4 * n)?]);
    Ok(())
}

/// The time in milliseconds of `n` definitions, each an entry of its own.
fn entries(n: usize) -> Result<f64, String> {
    let mut s = crate::session().0;
    let start = std::time::Instant::now();
    for i in 0..n {
        let out = s.eval(&format!("let entry{i} = {i} + 1"));
        out.diags.iter().find(|d| d.is_error()).map_or(Ok(()), |d| Err(d.message.clone()))?;
        s.release();
    }
    Ok(1e3 * start.elapsed().as_secs_f64())
}
