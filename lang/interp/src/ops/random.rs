//! Counter-based random numbers: Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
//! SC 2011).
//!
//! A key is two 64-bit words. Block `i` of a draw is a function of the key and `i` only, so that results do not
//! depend on machine, thread count or chunking.

use super::interrupt::{InterruptFlag, STRIDE};
use super::{int, size};
use crate::error::{Error, Res, codes};
use crate::value::{Buf, Shape, Tuple, Value, array};
use adl_prim::RandomFn;
use std::rc::Rc;

/// One block of four words from a counter and a key.
pub fn philox(mut c: [u32; 4], mut k: [u32; 2]) -> [u32; 4] {
    for _ in 0..10 {
        let p0 = u64::from(c[0]) * 0xD251_1F53;
        let p1 = u64::from(c[2]) * 0xCD9E_8D57;
        c = [(p1 >> 32) as u32 ^ c[1] ^ k[0], p1 as u32, (p0 >> 32) as u32 ^ c[3] ^ k[1], p0 as u32];
        k = [k[0].wrapping_add(0x9E37_79B9), k[1].wrapping_add(0xBB67_AE85)];
    }
    c
}

/// Two 64-bit words for counter `i`. The first word of the key is the cipher's key, the second is part of the
/// counter.
fn block(key: (u64, u64), i: u64) -> (u64, u64) {
    let c = [i as u32, (i >> 32) as u32, key.1 as u32, (key.1 >> 32) as u32];
    let r = philox(c, [key.0 as u32, (key.0 >> 32) as u32]);
    (u64::from(r[0]) | u64::from(r[1]) << 32, u64::from(r[2]) | u64::from(r[3]) << 32)
}

fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

fn word(v: &Value) -> u64 {
    int(v) as u64
}

/// The words of a `Key`.
fn key(v: &Value) -> Res<(u64, u64)> {
    match v {
        Value::Data(d) if d.fields.len() == 2 => Ok((word(&d.fields[0]), word(&d.fields[1]))),
        other => Err(Error::new(codes::DOMAIN, format!("{} is not a key", crate::value::show::show(other)))
            .hint("make one with `random.key 42`")),
    }
}

fn pair(k: (u64, u64)) -> Value {
    Value::Tuple(Rc::new(Tuple(vec![Value::Int(k.0 as i64), Value::Int(k.1 as i64)])))
}

fn shape(v: &Value) -> Res<Shape> {
    match v {
        Value::Array(a) => match a.buf() {
            Buf::I64(v) => v.iter().map(|n| size(&Value::Int(*n), "an extent")).collect(),
            _ => Ok(Shape::new()),
        },
        _ => Ok(Shape::new()),
    }
}

fn shaped(s: Shape, buf: Buf) -> Value {
    if s.is_empty() {
        array::elem(&crate::value::Array::new(Shape::from_slice(&[1]), buf), 0)
    } else {
        array::make(s, buf)
    }
}

/// Two normally distributed numbers from one block (Box-Muller), computed with the portable functions of
/// `libm`.
fn normals((a, b): (u64, u64)) -> (f64, f64) {
    let u = 1.0 - unit(a);
    let r = libm::sqrt(-2.0 * libm::log(u));
    let t = 2.0 * std::f64::consts::PI * unit(b);
    (r * libm::cos(t), r * libm::sin(t))
}

/// A uniform integer in 0 … n - 1: the high word of a product. The bias is negligible for n far below 2⁶⁴ (less
/// than 2⁻⁴⁰ for n up to 2²⁴).
fn below(bits: u64, n: u64) -> u64 {
    ((u128::from(bits) * u128::from(n)) >> 64) as u64
}

pub(super) fn apply(interrupt: InterruptFlag, p: RandomFn, args: &mut [Value]) -> Res<Value> {
    match p {
        RandomFn::RandKey => Ok(pair(block((word(&args[0]), 0x5eed), 0))),
        RandomFn::RandSplit => split((word(&args[0]), word(&args[1])), size(&args[2], "the count of `random.split`")?),
        RandomFn::RandUniform => {
            let (k, s) = (key(&args[0])?, shape(&args[1])?);
            let v = words(interrupt, k, array::count(&s)?, unit)?;
            Ok(shaped(s, Buf::F64(v)))
        }
        RandomFn::RandNormal => normal(interrupt, key(&args[0])?, shape(&args[1])?),
        RandomFn::RandInt => whole(interrupt, key(&args[0])?, int(&args[1]), int(&args[2]), shape(&args[3])?),
        RandomFn::RandPermutation => permutation(
            interrupt,
            (word(&args[0]), word(&args[1])),
            size(&args[2], "the length of `random.permutation`")?,
        ),
    }
}

/// `n` values of `f` applied to random words.
fn words<T>(w: InterruptFlag, k: (u64, u64), n: usize, f: impl Fn(u64) -> T) -> Res<Vec<T>> {
    let mut v = array::room(n)?;
    for start in (0..n).step_by(STRIDE) {
        w.poll()?;
        v.extend((start as u64..(start + STRIDE).min(n) as u64).map(|i| {
            let (a, b) = block(k, i / 2);
            f(if i % 2 == 0 { a } else { b })
        }));
    }
    Ok(v)
}

/// New keys are drawn from a separate stream, so that they are independent of the numbers drawn with the same
/// key.
fn split((k0, k1): (u64, u64), n: usize) -> Res<Value> {
    let k = (k0, k1 ^ 0x9e37_79b9_7f4a_7c15);
    let (mut a, mut b) = (array::room(n)?, array::room(n)?);
    for i in 0..n as u64 {
        let (x, y) = block(k, i);
        a.push(x as i64);
        b.push(y as i64);
    }
    Ok(array::make(Shape::from_slice(&[n]), Buf::Tuple(vec![array::ints(a), array::ints(b)])))
}

fn normal(w: InterruptFlag, k: (u64, u64), shape: Shape) -> Res<Value> {
    let n = array::count(&shape)?;
    let mut v = array::room(n + 1)?;
    for i in 0..(n as u64).div_ceil(2) {
        if i % STRIDE as u64 == 0 {
            w.poll()?;
        }
        let (a, b) = normals(block(k, i));
        v.extend([a, b]);
    }
    v.truncate(n);
    Ok(shaped(shape, Buf::F64(v)))
}

fn whole(w: InterruptFlag, k: (u64, u64), lo: i64, hi: i64, s: Shape) -> Res<Value> {
    let range = (i128::from(hi) - i128::from(lo)).max(0) as u64;
    if range == 0 {
        return Err(Error::new(codes::DOMAIN, format!("`random.int`: there is no Int from {lo} to below {hi}")));
    }
    let v = words(w, k, array::count(&s)?, |bits| lo.wrapping_add(below(bits, range) as i64))?;
    Ok(shaped(s, Buf::I64(v)))
}

/// A random permutation (Fisher-Yates shuffle).
fn permutation(w: InterruptFlag, k: (u64, u64), n: usize) -> Res<Value> {
    let mut v: Vec<i64> = array::room(n)?;
    v.extend(0..n as i64);
    for i in (1..n).rev() {
        if i % STRIDE == 0 {
            w.poll()?;
        }
        let j = below(block(k, i as u64).0, i as u64 + 1) as usize;
        v.swap(i, j);
    }
    Ok(array::ints(v))
}
