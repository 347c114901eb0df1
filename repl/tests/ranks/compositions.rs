//! Random compositions of collectives, each with the test that its transpose is its adjoint.

use std::fmt::Write;

/// What is known of a value: whether it differs from rank to rank, and whether all parts have one length.
#[derive(Clone, Copy, PartialEq)]
enum RankState {
    Plain,
    Even,
    Ragged,
}

const HEAD: &str = "\
let p = comm.size
let plain k s = map (fun i -> sin (float (i * 7 + s))) (iota k)
let even k s = comm.each (fun r -> map (fun i -> sin (float (i * 7 + r * 13 + s))) (iota k)) comm.rank
let ragged s = comm.each (fun r -> map (fun i -> sin (float (i * 7 + r * 13 + s))) (iota (r % 3 + 1))) comm.rank
let scaled s v = comm.each (fun (x, r) -> map (fun a -> a * sin (float (r + s))) x) (comm.zip v comm.rank)
let inner x y = comm.total (comm.each (fun (a, b) -> dot a b) (comm.zip x y))
let bend x = comm.each (fun (v, r) -> map (fun a -> a * a + 0.3 + 0.1 * float r) v) (comm.zip x comm.rank)
let bend_plain x = map (fun a -> a * a + 0.3) x
let report k a b = print f\"{k} {abs (a - b) <= 1e-13 * (1.0 + abs a)}\"
";

/// A program that tests so many compositions, a line for each.
pub fn program(seed: u64, count: usize) -> String {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut text = HEAD.to_owned();
    for k in 0..count {
        composition(&mut rng, k, &mut text);
    }
    text
}

fn composition(rng: &mut fastrand::Rng, number: usize, text: &mut String) {
    let seed = rng.u64(..100);
    let (first, input) = match rng.u64(..3) {
        0 => (RankState::Plain, format!("plain {} {seed}", 1 + rng.u64(..7))),
        1 => (RankState::Even, format!("even {} {seed}", 1 + rng.u64(..7))),
        _ => (RankState::Ragged, format!("ragged {seed}")),
    };
    let (mut state, mut body) = (first, "v".to_owned());
    for _ in 0..=rng.u64(..5) {
        let (next, applied) = step(rng, state, &body);
        (state, body) = (next, applied);
    }
    let inner = |s: RankState| if s == RankState::Plain { "dot" } else { "inner" };
    let bend = if state == RankState::Plain { "bend_plain" } else { "bend" };
    let _ = writeln!(
        text,
        "let x{number} = {input}\nlet (y{number}, back{number}) = vjp (fun v -> {body}) x{number}\nlet c{number} = {bend} y{number}\nreport {number} ({} y{number} c{number}) ({} x{number} (back{number} c{number}))",
        inner(state),
        inner(first)
    );
}

/// A collective that can be applied to a value.
fn step(rng: &mut fastrand::Rng, state: RankState, value: &str) -> (RankState, String) {
    let rank = if rng.u64(..2) == 0 { "0" } else { "(p - 1)" };
    match (state, rng.u64(..if state == RankState::Plain { 4 } else { 6 })) {
        (RankState::Plain, 0) => (RankState::Even, format!("comm.spread ({value})")),
        (RankState::Plain, 1) => (RankState::Ragged, format!("comm.mine ({value})")),
        (RankState::Plain, 2) => (RankState::Even, format!("comm.place {rank} ({value})")),
        (RankState::Plain, _) => (RankState::Plain, format!("map (fun a -> 0.5 * a) ({value})")),
        (RankState::Even, 0) => (RankState::Plain, format!("comm.total ({value})")),
        (RankState::Even, 1) => (RankState::Plain, format!("comm.from {rank} ({value})")),
        (RankState::Even, 2) => (RankState::Ragged, format!("comm.scatter_sum ({value})")),
        (RankState::Ragged, 0 | 1) => (RankState::Plain, format!("comm.gather ({value})")),
        (RankState::Ragged, 2) => (RankState::Even, format!("comm.gather_each ({value})")),
        (state, 3) => (state, format!("comm.shift ({}) ({value})", rng.u64(..7) as i64 - 3)),
        (state, 4) => (state, format!("scaled {} ({value})", rng.u64(..9))),
        // An all-to-all of copies: one row for each rank.
        (RankState::Even, _) => (
            RankState::Even,
            format!("comm.each (fun m -> sum m) (comm.exchange (comm.each (fun a -> replicate p a) ({value})))"),
        ),
        (state, _) => (state, format!("scaled {} ({value})", rng.u64(..9))),
    }
}
