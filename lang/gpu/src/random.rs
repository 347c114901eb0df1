//! Random numbers: block `i` of a draw is a function of the key and `i` only, so that each thread computes its own.
//!
//! Words, keys, Ints and uniform numbers equal those of the CPU bit for bit; normal ones differ by the errors of `log`,
//! `sin` and `cos`.

use crate::array::{Array, Scalar};
use crate::error::{Res, unsupported};
use crate::nest::each;
use crate::queue::Gpu;
use crate::wgsl::Emit;

/// The two words of a key.
pub type Key = [u64; 2];

/// One Philox4x32-10 block from a counter and a key.
pub fn philox(mut c: [u32; 4], mut k: [u32; 2]) -> [u32; 4] {
    for _ in 0..10 {
        let (p0, p1) = (u64::from(c[0]) * 0xD251_1F53, u64::from(c[2]) * 0xCD9E_8D57);
        c = [(p1 >> 32) as u32 ^ c[1] ^ k[0], p1 as u32, (p0 >> 32) as u32 ^ c[3] ^ k[1], p0 as u32];
        k = [k[0].wrapping_add(0x9E37_79B9), k[1].wrapping_add(0xBB67_AE85)];
    }
    c
}

/// The two words of block `i`: the key's first word keys the cipher, and the second is part of the counter.
fn block(key: Key, i: u64) -> [u64; 2] {
    let r = philox(
        [i as u32, (i >> 32) as u32, key[1] as u32, (key[1] >> 32) as u32],
        [key[0] as u32, (key[0] >> 32) as u32],
    );
    [u64::from(r[0]) | u64::from(r[1]) << 32, u64::from(r[2]) | u64::from(r[3]) << 32]
}

/// The key of a seed.
pub fn key(seed: u64) -> Key {
    block([seed, 0x5eed], 0)
}

/// `n` new keys, from a stream that is distinct from that of the draws.
pub fn split(key: Key, n: usize) -> [Vec<i64>; 2] {
    let blocks = (0..n as u64).map(|i| block([key[0], key[1] ^ 0x9e37_79b9_7f4a_7c15], i).map(|w| w as i64));
    let (a, b) = blocks.map(|[a, b]| (a, b)).unzip();
    [a, b]
}

/// [`split`] on the device.
pub fn split_on_device(gpu: &Gpu, key: Key, n: usize) -> Res<[Array; 2]> {
    let outs = [gpu.empty(Scalar::I64, vec![n])?, gpu.empty(Scalar::I64, vec![n])?];
    let key = [key[0], key[1] ^ 0x9e37_79b9_7f4a_7c15];
    each(gpu, n, |e, i| {
        let words = words(e, key, i);
        for (a, w) in outs.iter().zip(&words) {
            let to = e.slot(a, true)?;
            e.line(&format!("a{to}[{i}] = bitcast<i64>({w});"));
        }
        Ok(())
    })?;
    Ok(outs)
}

/// Emits the two words of a block.
fn words(e: &mut Emit<'_>, key: Key, i: &str) -> [String; 2] {
    let [a, b, c, d] = [key[0] as u32, (key[0] >> 32) as u32, key[1] as u32, (key[1] >> 32) as u32].map(|w| e.word(w));
    let r = e.define("r", &format!("r_philox(vec4<u32>({i}, 0u, {c}, {d}), vec2<u32>({a}, {b}))"));
    [
        e.define("w", &format!("u64({r}.x) | (u64({r}.y) << 32u)")),
        e.define("w", &format!("u64({r}.z) | (u64({r}.w) << 32u)")),
    ]
}

/// An array of this shape, with two numbers from each block.
fn pairs(
    gpu: &Gpu,
    key: Key,
    scalar: Scalar,
    shape: Vec<usize>,
    two: impl FnOnce(&mut Emit<'_>, [String; 2]) -> Res<[String; 2]>,
) -> Res<Array> {
    gpu.has(Scalar::I64)?;
    let out = gpu.empty(scalar, shape)?;
    let n = out.len();
    each(gpu, n.div_ceil(2), |e, i| {
        let words = words(e, key, i);
        let [x, y] = two(e, words)?;
        let (to, n) = (e.slot(&out, true)?, e.word(n as u32));
        e.line(&format!("a{to}[2u * {i}] = {x};"));
        e.line(&format!("if 2u * {i} + 1u < {n} {{ a{to}[2u * {i} + 1u] = {y}; }}"));
        Ok(())
    })?;
    Ok(out)
}

/// Uniform numbers in [0, 1).
pub fn uniform(gpu: &Gpu, key: Key, shape: Vec<usize>) -> Res<Array> {
    pairs(gpu, key, Scalar::F64, shape, |_, words| Ok(words.map(|w| format!("r_unit({w})"))))
}

/// Standard normal numbers (Box–Muller transform).
pub fn normal(gpu: &Gpu, key: Key, shape: Vec<usize>) -> Res<Array> {
    pairs(gpu, key, Scalar::F64, shape, |e, [a, b]| {
        let r = e.define("r", &format!("d_sqrt(-2.0lf * d_log(1.0lf - r_unit({a})))"));
        let t = e.define("t", &format!("6.283185307179586lf * r_unit({b})"));
        Ok([format!("{r} * d_cos({t})"), format!("{r} * d_sin({t})")])
    })
}

/// Uniform Ints from `lo` (inclusive) to `hi` (exclusive).
pub fn ints(gpu: &Gpu, key: Key, (lo, hi): (i64, i64), shape: Vec<usize>) -> Res<Array> {
    let range = (i128::from(hi) - i128::from(lo)).max(0) as u64;
    if range == 0 {
        return unsupported("random Ints of no range");
    }
    pairs(gpu, key, Scalar::I64, shape, |e, words| {
        let mut long = |w: u64| {
            let (low, high) = (e.word(w as u32), e.word((w >> 32) as u32));
            format!("(u64({low}) | (u64({high}) << 32u))")
        };
        let (range, lo) = (long(range), long(lo as u64));
        Ok(words.map(|w| format!("bitcast<i64>({lo} + r_high({w}, {range}))")))
    })
}
