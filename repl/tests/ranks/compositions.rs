//! Random compositions of collectives, each with the test that its transpose is its adjoint.

use std::fmt::Write;

/// A small generator of numbers (`SplitMix64`).
struct Rng(u64);

impl Rng {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    }
}

/// What is known of a value: whether it differs from rank to rank, and whether all parts have one length.
#[derive(Clone, Copy, PartialEq)]
enum State {
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
    let mut rng = Rng(seed);
    let mut text = HEAD.to_owned();
    for k in 0..count {
        composition(&mut rng, k, &mut text);
    }
    text
}

fn composition(rng: &mut Rng, k: usize, text: &mut String) {
    let s = rng.below(100);
    let (first, input) = match rng.below(3) {
        0 => (State::Plain, format!("plain {} {s}", 1 + rng.below(7))),
        1 => (State::Even, format!("even {} {s}", 1 + rng.below(7))),
        _ => (State::Ragged, format!("ragged {s}")),
    };
    let (mut state, mut body) = (first, "v".to_owned());
    for _ in 0..=rng.below(5) {
        let (next, applied) = step(rng, state, &body);
        (state, body) = (next, applied);
    }
    let inner = |s: State| if s == State::Plain { "dot" } else { "inner" };
    let bend = if state == State::Plain { "bend_plain" } else { "bend" };
    let _ = writeln!(
        text,
        "let x{k} = {input}\nlet (y{k}, back{k}) = vjp (fun v -> {body}) x{k}\nlet c{k} = {bend} y{k}\nreport {k} ({} y{k} c{k}) ({} x{k} (back{k} c{k}))",
        inner(state),
        inner(first)
    );
}

/// A collective that can be applied to a value.
fn step(rng: &mut Rng, state: State, v: &str) -> (State, String) {
    let rank = if rng.below(2) == 0 { "0" } else { "(p - 1)" };
    match (state, rng.below(if state == State::Plain { 4 } else { 6 })) {
        (State::Plain, 0) => (State::Even, format!("comm.spread ({v})")),
        (State::Plain, 1) => (State::Ragged, format!("comm.mine ({v})")),
        (State::Plain, 2) => (State::Even, format!("comm.place {rank} ({v})")),
        (State::Plain, _) => (State::Plain, format!("map (fun a -> 0.5 * a) ({v})")),
        (State::Even, 0) => (State::Plain, format!("comm.total ({v})")),
        (State::Even, 1) => (State::Plain, format!("comm.from {rank} ({v})")),
        (State::Even, 2) => (State::Ragged, format!("comm.scatter_sum ({v})")),
        (State::Ragged, 0 | 1) => (State::Plain, format!("comm.gather ({v})")),
        (State::Ragged, 2) => (State::Even, format!("comm.gather_each ({v})")),
        (state, 3) => (state, format!("comm.shift ({}) ({v})", rng.below(7) as i64 - 3)),
        (state, 4) => (state, format!("scaled {} ({v})", rng.below(9))),
        // An all-to-all of copies: one row for each rank.
        (State::Even, _) => (
            State::Even,
            format!("comm.each (fun m -> sum m) (comm.exchange (comm.each (fun a -> replicate p a) ({v})))"),
        ),
        (state, _) => (state, format!("scaled {} ({v})", rng.below(9))),
    }
}
