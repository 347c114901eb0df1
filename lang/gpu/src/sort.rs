//! Sorting, by radix: stable, nan last, the two zeros alike.
//!
//! Numbers become words whose order is theirs. What moves is where they stand: for each four bits of the words, from the lowest, places
//! are counted by tiles, counts are scanned, and places go to where their digit begins, in the order in which they stood.

use crate::array::{Array, Scalar};
use crate::error::{Res, not_here};
use crate::fold::{Maker, Operator};
use crate::nest::each;
use crate::queue::Gpu;
use crate::shape;
use crate::wgsl::Emit;
use adl_ir::{Function, Program};
use adl_prim::Bin;

/// Threads of a tile.
const THREADS: usize = 128;

/// Elements of a tile.
const TILE: usize = 1024;

/// Words, from the lowest, by which an array is sorted; and how many bits of each count.
pub(crate) struct Keys {
    pub words: Vec<Array>,
    pub bits: Vec<u32>,
}

/// The words of numbers.
fn keys(gpu: &Gpu, a: &Array) -> Res<Keys> {
    let n = a.len();
    let many = if a.scalar.bytes() == 8 { 2 } else { 1 };
    let words = (0..many).map(|_| gpu.empty(Scalar::Word, vec![n])).collect::<Res<Vec<_>>>()?;
    each(gpu, n, |e, i| {
        let from = e.slot(a, false)?;
        let to = words.iter().map(|w| e.slot(w, true)).collect::<Res<Vec<_>>>()?;
        let x = e.define("x", &format!("a{from}[{i}]"));
        match a.scalar {
            Scalar::Bool | Scalar::Word => e.line(&format!("a{}[{i}] = {x};", to[0])),
            Scalar::F32 => {
                let u = e.define("u", &format!("select(bitcast<u32>({x}), 0u, {x} == 0.0f)"));
                let key = format!("select(select({u} | 0x80000000u, ~{u}, ({u} >> 31u) == 1u), 0xffffffffu, s_is_nan({x}))");
                e.line(&format!("a{}[{i}] = {key};", to[0]));
            }
            Scalar::F64 | Scalar::I64 => {
                let u = if a.scalar == Scalar::I64 { format!("bitcast<u64>({x}) ^ 0x8000000000000000lu") } else { float(e, &x) };
                let u = e.define("u", &u);
                e.line(&format!("a{}[{i}] = u32({u} & 0xfffffffflu);", to[0]));
                e.line(&format!("a{}[{i}] = u32({u} >> 32u);", to[1]));
            }
        }
        Ok(())
    })?;
    let bits = vec![if a.scalar == Scalar::Bool { 1 } else { 32 }; many];
    Ok(Keys { words, bits })
}

fn float(e: &mut Emit<'_>, x: &str) -> String {
    let u = e.define("u", &format!("select(bitcast<u64>({x}), 0lu, {x} == 0.0lf)"));
    format!("select(select({u} | 0x8000000000000000lu, ~{u}, ({u} >> 63u) == 1lu), 0xfffffffffffffffflu, d_is_nan({x}))")
}

/// The places that sort by these words, as words.
pub(crate) fn places(gpu: &Gpu, keys: &Keys, n: usize) -> Res<Array> {
    let mut at = gpu.empty(Scalar::Word, vec![n])?;
    each(gpu, n, |e, i| {
        let to = e.slot(&at, true)?;
        e.line(&format!("a{to}[{i}] = {i};"));
        Ok(())
    })?;
    if n < 2 {
        return Ok(at);
    }
    for (word, bits) in keys.words.iter().zip(&keys.bits) {
        for shift in (0..*bits).step_by(4) {
            at = pass(gpu, word, shift, &at, n)?;
        }
    }
    Ok(at)
}

/// Orders places by four bits of a word.
fn pass(gpu: &Gpu, word: &Array, shift: u32, at: &Array, n: usize) -> Res<Array> {
    let tiles = n.div_ceil(TILE);
    let counts = gpu.empty(Scalar::Word, vec![16 * tiles])?;
    tile(gpu, word, shift, at, n, |e, counts_of| {
        let to = e.slot(&counts, true)?;
        e.line(counts_of);
        e.line(&format!("if l < 16u {{ var sum = 0u; for (var t = 0u; t < {THREADS}u; t++) {{ sum += counts[l * {THREADS}u + t]; }} a{to}[l * {} + group] = sum; }}", "params[0]"));
        Ok(())
    })?;
    let begins = scan(gpu, &counts)?;
    let out = gpu.empty(Scalar::Word, vec![n])?;
    tile(gpu, word, shift, at, n, |e, counts_of| {
        let (from, old, key, to) = (e.slot(&begins, false)?, e.slot(at, false)?, e.slot(word, false)?, e.slot(&out, true)?);
        e.line(counts_of);
        e.line(&format!(
            "if l < 16u {{ var sum = a{from}[l * params[0] + group]; for (var t = 0u; t < {THREADS}u; t++) {{ let c = counts[l * {THREADS}u + t]; counts[l * {THREADS}u + t] = sum; sum += c; }} }}"
        ));
        e.line("workgroupBarrier();");
        e.open("for (var j = first; j < end; j++)");
        e.line(&format!("let c = ((a{key}[a{old}[j]] >> shift) & 15u) * {THREADS}u + l;"));
        e.line(&format!("a{to}[counts[c]] = a{old}[j];"));
        e.line("counts[c] += 1u;");
        e.close();
        Ok(())
    })?;
    Ok(out)
}

/// A kernel on tiles: after the text that `body` is given, each thread's digits are counted in `counts`.
fn tile(gpu: &Gpu, word: &Array, shift: u32, at: &Array, n: usize, body: impl FnOnce(&mut Emit<'_>, &str) -> Res<()>) -> Res<()> {
    let (program, function) = Default::default();
    let mut e = Emit::new(gpu, &program, &function, &|_| None);
    let (all, by) = (e.word(n as u32), e.word(shift));
    let (old, key) = (e.slot(at, false)?, e.slot(word, false)?);
    e.open("if group < params[0]");
    e.line(&format!("let shift = {by};"));
    e.line(&format!("let first = min(group * {TILE}u + l * {}u, {all});", TILE / THREADS));
    e.line(&format!("let end = min(first + {}u, {all});", TILE / THREADS));
    let count = format!(
        "for (var d = 0u; d < 16u; d++) {{ counts[d * {THREADS}u + l] = 0u; }} for (var j = first; j < end; j++) {{ counts[((a{key}[a{old}[j]] >> shift) & 15u) * {THREADS}u + l] += 1u; }} workgroupBarrier();"
    );
    body(&mut e, &count)?;
    e.close();
    let w = e.finish(THREADS as u32, &format!("var<workgroup> counts: array<u32, {}>;", 16 * THREADS));
    gpu.launch(&w.kernel, &w.bound(), &w.words, n.div_ceil(TILE) as u32)
}

/// Sums of the words before each.
fn scan(gpu: &Gpu, a: &Array) -> Res<Array> {
    let (program, function) = (Program::default(), Function::default());
    let op = Operator { kinds: vec![Scalar::Word], combine: &|e, x, y| e.bin(Bin::Add, Scalar::Word, &x[0], &y[0]).map(|t| vec![t]), neutral: &|_| Ok(vec!["0u".to_owned()]), prepare: &|_| Ok(()) };
    let from = |e: &mut Emit<'_>, _: &str, j: &str| {
        let s = e.slot(a, false)?;
        Ok(vec![e.define("c", &format!("a{s}[{j}]"))])
    };
    let mut outs = Maker { gpu, program: &program, function: &function, env: &|_| None }.scan(&op, 1, a.len(), true, &from)?;
    outs.remove(0).reshaped(a.shape.clone())
}

fn vector(a: &Array) -> Res<usize> {
    if a.shape.len() == 1 { Ok(a.len()) } else { not_here("the order of what is no vector") }
}

/// The indices that sort a vector: stable, nan last.
pub fn argsort(gpu: &Gpu, a: &Array) -> Res<Array> {
    let n = vector(a)?;
    let at = places(gpu, &keys(gpu, a)?, n)?;
    let out = gpu.empty(Scalar::I64, vec![n])?;
    each(gpu, n, |e, i| {
        let (from, to) = (e.slot(&at, false)?, e.slot(&out, true)?);
        e.line(&format!("a{to}[{i}] = l_of(a{from}[{i}]);"));
        Ok(())
    })?;
    Ok(out)
}

/// A vector in ascending order.
pub fn sort(gpu: &Gpu, a: &Array) -> Res<Array> {
    let n = vector(a)?;
    let at = places(gpu, &keys(gpu, a)?, n)?;
    shape::permuted(gpu, a, &at)
}
