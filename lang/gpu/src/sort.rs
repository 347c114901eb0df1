//! Radix sort: stable, with NaN last and the two zeros equal.
//!
//! Numbers are mapped to words with the same order. For each eight bits of these, from the lowest, the digits are
//! counted per tile, the counts are scanned, and the elements are moved to the start of their digit. A tile first sorts
//! its elements by digit in work-group memory, so that consecutive elements go to consecutive positions. Ints are
//! sorted by their difference from the minimum, which takes as many passes as the largest difference has bytes.

use crate::array::{Array, Data, Scalar};
use crate::data_movement;
use crate::error::{Res, unsupported};
use crate::fold::{KernelContext, TupleOperator};
use crate::limits::sort::{THREADS, TILE};
use crate::nest::each;
use crate::queue::Gpu;
use crate::wgsl::Emit;
use adl_ir::{Function, Lit, Program};
use adl_prim::Bin;

/// Sort keys: the minimum that is subtracted from Ints, and the number of significant bits.
struct SortKeys {
    least: i64,
    bits: u32,
}

/// The inputs and outputs of one pass.
struct RadixPass<'a> {
    keys: &'a SortKeys,
    shift: u32,
    from: (&'a Array, Option<&'a Array>),
    to: (Option<&'a Array>, Option<&'a Array>),
}

/// Sorted values, and their original positions.
pub(crate) struct Sorted {
    pub values: Array,
    pub places: Array,
}

/// Sorts words by their lowest `bits` bits.
pub(crate) fn words(gpu: &Gpu, a: &Array, bits: u32) -> Res<Sorted> {
    let (values, places) = sorted(gpu, a, &SortKeys { least: 0, bits }, (true, Some(Scalar::Word)))?;
    match (values, places) {
        (Some(values), Some(places)) => Ok(Sorted { values, places }),
        _ => unsupported("an order without places"),
    }
}

/// The indices that sort a vector: stable, NaN last.
pub fn argsort(gpu: &Gpu, a: &Array) -> Res<Array> {
    vector(a)?;
    let (_, places) = sorted(gpu, a, &keys(gpu, a)?, (false, Some(Scalar::I64)))?;
    places.map_or_else(|| unsupported("an order without places"), Ok)
}

/// The indices that sort each row of a matrix: all elements are sorted together, and then by row.
pub(crate) fn argsort_rows(gpu: &Gpu, array: &Array) -> Res<Array> {
    let [height, width] = array.shape[..] else { return unsupported("the order of an array that is not a vector") };
    let flat = array.reshaped(vec![height * width])?;
    let (_, Some(at)) = sorted(gpu, &flat, &keys(gpu, &flat)?, (false, Some(Scalar::Word)))? else {
        return unsupported("an order without places");
    };
    let rows = gpu.empty(Scalar::Word, vec![height * width])?;
    each(gpu, height * width, |e, i| {
        let (from, to, m) = (e.slot(&at, false)?, e.slot(&rows, true)?, e.word(width as u32));
        e.line(&format!("a{to}[{i}] = a{from}[{i}] / {m};"));
        Ok(())
    })?;
    let by_row = words(gpu, &rows, usize::BITS - height.saturating_sub(1).leading_zeros())?.places;
    let out = gpu.empty(Scalar::I64, vec![height, width])?;
    each(gpu, height * width, |e, i| {
        let (from, next, to, m) =
            (e.slot(&at, false)?, e.slot(&by_row, false)?, e.slot(&out, true)?, e.word(width as u32));
        e.line(&format!("a{to}[{i}] = l_of(a{from}[a{next}[{i}]] % {m});"));
        Ok(())
    })?;
    Ok(out)
}

fn vector(a: &Array) -> Res<()> {
    if a.shape.len() == 1 { Ok(()) } else { unsupported("the order of an array that is not a vector") }
}

/// The sort keys of an array. For many Ints, the host reads the minimum and maximum.
fn keys(gpu: &Gpu, array: &Array) -> Res<SortKeys> {
    if array.scalar != Scalar::I64 || array.len() <= TILE {
        return Ok(SortKeys {
            least: i64::MIN,
            bits: if array.scalar == Scalar::Bool { 1 } else { 8 * array.scalar.bytes() as u32 },
        });
    }
    let both = |e: &mut Emit<'_>, x: &[String], y: &[String]| {
        let mut of = |b, k: usize| e.bin(b, Scalar::I64, &x[k], &y[k]);
        Ok(vec![of(Bin::Min, 0)?, of(Bin::Max, 1)?])
    };
    let neutral = |e: &mut Emit<'_>| Ok(vec![e.literal(&Lit::I64(i64::MAX))?.1, e.literal(&Lit::I64(i64::MIN))?.1]);
    let op = TupleOperator { kinds: vec![Scalar::I64; 2], combine: &both, neutral: &neutral, prepare: &|_| Ok(()) };
    let from = |e: &mut Emit<'_>, _: &str, j: &str| {
        let s = e.slot(array, false)?;
        let x = e.define("x", &format!("a{s}[{j}]"));
        Ok(vec![x.clone(), x])
    };
    let (program, function) = (Program::default(), Function::default());
    let ends = KernelContext { gpu, program: &program, function: &function, env: &|_| None }.reduce(
        &op,
        1,
        array.len(),
        &from,
    )?;
    match gpu.read(&data_movement::concat(gpu, &ends[0], &ends[1])?)? {
        Data::I64(ends) => {
            Ok(SortKeys { least: ends[0], bits: u64::BITS - (ends[1].wrapping_sub(ends[0]) as u64).leading_zeros() })
        }
        _ => unsupported("ends that are no Ints"),
    }
}

/// The sorted values, if requested, and their original positions as numbers of the given type.
fn sorted(
    gpu: &Gpu,
    array: &Array,
    keys: &SortKeys,
    (values, places): (bool, Option<Scalar>),
) -> Res<(Option<Array>, Option<Array>)> {
    let count = array.len();
    let shifts: Vec<u32> = (0..if count < 2 { 0 } else { keys.bits }).step_by(8).collect();
    let (mut now, mut at) = (array.clone(), None);
    for (k, shift) in shifts.iter().enumerate() {
        let last = k + 1 == shifts.len();
        let to = (values || !last).then(|| gpu.empty(array.scalar, vec![count])).transpose()?;
        let to_places = places.map(|s| gpu.empty(if last { s } else { Scalar::Word }, vec![count])).transpose()?;
        pass(
            gpu,
            &RadixPass { keys, shift: *shift, from: (&now, at.as_ref()), to: (to.as_ref(), to_places.as_ref()) },
        )?;
        (now, at) = (to.unwrap_or(now), to_places);
    }
    if let (Some(s), true) = (places, shifts.is_empty()) {
        at = Some(gpu.empty(s, vec![count])?);
        each(gpu, count, |e, i| {
            let to = at.as_ref().map_or(Ok(0), |a| e.slot(a, true))?;
            e.line(&format!("a{to}[{i}] = {};", place(s, i)));
            Ok(())
        })?;
    }
    Ok((values.then_some(now), at))
}

/// A word as a number of a type.
fn place(s: Scalar, word: &str) -> String {
    if s == Scalar::I64 { format!("l_of({word})") } else { word.to_owned() }
}

/// Sorts by eight bits.
fn pass(gpu: &Gpu, radix_pass: &RadixPass<'_>) -> Res<()> {
    let tiles = radix_pass.from.0.len().div_ceil(TILE);
    let begins = if tiles > 1 { Some(counted(gpu, radix_pass, tiles)?) } else { None };
    let (program, function) = Default::default();
    let mut emit = Emit::new(gpu, &program, &function, &|_| None);
    let (from, old) =
        (emit.slot(radix_pass.from.0, false)?, radix_pass.from.1.map(|a| emit.slot(a, false)).transpose()?);
    let begins = begins.map(|b| emit.slot(&b, false)).transpose()?;
    let mut slot = |a: Option<&Array>| a.map(|a| emit.slot(a, true).map(|s| (s, a.scalar))).transpose();
    let (to, to_places) = (slot(radix_pass.to.0)?, slot(radix_pass.to.1)?);
    begin(&mut emit, radix_pass);
    emit.open("for (var j = l; j < 2048u; j += 128u)");
    emit.line("var d = 255u;");
    emit.open("if j < count");
    let radix_digit = digit(&mut emit, radix_pass, from, "(base + j)");
    emit.line(&format!("d = {radix_digit};"));
    emit.close();
    emit.line("pairs[j + (j >> 5u)] = (d << 11u) | j;");
    emit.close();
    ORDER.lines().for_each(|l| emit.line(l));
    emit.open("for (var j = l; j < 2048u; j += 128u)");
    emit.line("let i = pairs[j + (j >> 5u)] & 2047u;");
    emit.open("if i < count");
    emit.line("let d = pairs[j + (j >> 5u)] >> 11u;");
    emit.line(
        &begins.map_or("let to = j;".to_owned(), |b| format!("let to = a{b}[d * params[0] + group] + j - firsts[d];")),
    );
    if let Some((s, _)) = to {
        emit.line(&format!("a{s}[to] = a{from}[base + i];"));
    }
    if let Some((s, kind)) = to_places {
        let stood = old.map_or("(base + i)".to_owned(), |o| format!("a{o}[base + i]"));
        emit.line(&format!("a{s}[to] = {};", place(kind, &stood)));
    }
    emit.close();
    emit.close();
    emit.close();
    let w = emit.finish(THREADS as u32, SHARED);
    gpu.launch(&w.kernel, &w.bound(), &w.words, tiles as u32)
}

/// The start position of each digit in each tile.
fn counted(gpu: &Gpu, p: &RadixPass<'_>, tiles: usize) -> Res<Array> {
    let counts = gpu.empty(Scalar::Word, vec![256 * tiles])?;
    let (program, function) = Default::default();
    let mut emit = Emit::new(gpu, &program, &function, &|_| None);
    let (from, to) = (emit.slot(p.from.0, false)?, emit.slot(&counts, true)?);
    begin(&mut emit, p);
    emit.line("for (var d = l; d < 256u; d += 128u) { atomicStore(&tally[d], 0u); }");
    emit.line("workgroupBarrier();");
    emit.open("for (var j = l; j < count; j += 128u)");
    let d = digit(&mut emit, p, from, "(base + j)");
    emit.line(&format!("atomicAdd(&tally[{d}], 1u);"));
    emit.close();
    emit.line("workgroupBarrier();");
    emit.line(&format!(
        "for (var d = l; d < 256u; d += 128u) {{ a{to}[d * params[0] + group] = atomicLoad(&tally[d]); }}"
    ));
    emit.close();
    let w = emit.finish(THREADS as u32, "var<workgroup> tally: array<atomic<u32>, 256>;");
    gpu.launch(&w.kernel, &w.bound(), &w.words, tiles as u32)?;
    scan(gpu, &counts)
}

/// Emits the start of a kernel on tiles.
fn begin(e: &mut Emit<'_>, p: &RadixPass<'_>) {
    let all = e.word(p.from.0.len() as u32);
    let [shift, low, high] = [p.shift, p.keys.least as u32, (p.keys.least >> 32) as u32].map(|w| e.word(w));
    e.open("if group < params[0]");
    e.line("let base = group * 2048u;");
    e.line(&format!("let count = min(2048u, {all} - base);"));
    e.line(&format!("let shift = {shift};"));
    if p.from.0.scalar == Scalar::I64 {
        e.line(&format!("let least = u64({low}) | (u64({high}) << 32u);"));
    }
}

/// The digit of an element.
fn digit(emit: &mut Emit<'_>, p: &RadixPass<'_>, slot: usize, at: &str) -> String {
    let elem = emit.define("x", &format!("a{slot}[{at}]"));
    match p.from.0.scalar {
        Scalar::Bool | Scalar::Word => format!("(({elem} >> shift) & 255u)"),
        Scalar::F32 => {
            let u = emit.define("u", &format!("select(bitcast<u32>({elem}), 0u, {elem} == 0.0f)"));
            format!(
                "((select(select({u} | 0x80000000u, ~{u}, ({u} >> 31u) == 1u), 0xffffffffu, s_is_nan({elem})) >> shift) & 255u)"
            )
        }
        Scalar::I64 => format!("u32(((bitcast<u64>({elem}) - least) >> shift) & 255lu)"),
        Scalar::F64 => {
            let u = emit.define("u", &format!("select(bitcast<u64>({elem}), 0lu, {elem} == 0.0lf)"));
            format!(
                "u32((select(select({u} | 0x8000000000000000lu, ~{u}, ({u} >> 63u) == 1lu), 0xfffffffffffffffflu, d_is_nan({elem})) >> shift) & 255lu)"
            )
        }
    }
}

/// Work-group memory: digits with element positions, counters of two digits each, their sums, and the start of each
/// digit.
const SHARED: &str = "var<workgroup> pairs: array<u32, 2112>;
var<workgroup> counts: array<u32, 1024>;
var<workgroup> sums: array<u32, 128>;
var<workgroup> firsts: array<u32, 256>;";

/// Sorts the pairs of a tile by two groups of four bits of the digit. Each thread counts sixteen consecutive pairs, so
/// that their order is preserved. Two 16-bit counters share a word, with digits from 8 on in the upper half. Every 33rd
/// position of `pairs` is unused, so that threads access different memory banks.
const ORDER: &str = "workgroupBarrier();
var own: array<u32, 16>;
for (var r = 11u; r < 19u; r += 4u) {
for (var k = 0u; k < 16u; k++) { let i = l * 16u + k; own[k] = pairs[i + (i >> 5u)]; }
for (var w = 0u; w < 8u; w++) { counts[w * 128u + l] = 0u; }
for (var k = 0u; k < 16u; k++) { let d = (own[k] >> r) & 15u; counts[(d & 7u) * 128u + l] += select(1u, 65536u, d > 7u); }
workgroupBarrier();
var sum = 0u;
for (var q = 0u; q < 8u; q++) { sum += counts[l * 8u + q]; }
sums[l] = sum;
workgroupBarrier();
for (var s = 1u; s < 128u; s *= 2u) {
let more = select(0u, sums[max(l, s) - s], l >= s);
workgroupBarrier();
sums[l] += more;
workgroupBarrier();
}
var next = sums[l] - sum + (sums[127] << 16u);
for (var q = 0u; q < 8u; q++) { let c = counts[l * 8u + q]; counts[l * 8u + q] = next; next += c; }
workgroupBarrier();
for (var k = 0u; k < 16u; k++) {
let d = (own[k] >> r) & 15u;
let c = (d & 7u) * 128u + l;
let half = select(0u, 16u, d > 7u);
let to = (counts[c] >> half) & 65535u;
counts[c] += 1u << half;
pairs[to + (to >> 5u)] = own[k];
}
workgroupBarrier();
}
for (var j = l; j < 2048u; j += 128u) {
let d = pairs[j + (j >> 5u)] >> 11u;
let i = max(j, 1u) - 1u;
if j == 0u || (pairs[i + (i >> 5u)] >> 11u) != d { firsts[d] = j; }
}
workgroupBarrier();";

/// Exclusive prefix sums of words.
fn scan(gpu: &Gpu, array: &Array) -> Res<Array> {
    let (program, function) = (Program::default(), Function::default());
    let op = TupleOperator {
        kinds: vec![Scalar::Word],
        combine: &|e, x, y| e.bin(Bin::Add, Scalar::Word, &x[0], &y[0]).map(|t| vec![t]),
        neutral: &|_| Ok(vec!["0u".to_owned()]),
        prepare: &|_| Ok(()),
    };
    let from = |e: &mut Emit<'_>, _: &str, j: &str| {
        let s = e.slot(array, false)?;
        Ok(vec![e.define("c", &format!("a{s}[{j}]"))])
    };
    let mut outs = KernelContext { gpu, program: &program, function: &function, env: &|_| None }.scan(
        &op,
        1,
        array.len(),
        true,
        &from,
    )?;
    outs.remove(0).reshaped(array.shape.clone())
}
