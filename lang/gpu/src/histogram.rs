//! Histograms without sorting: by any operator if the bins fit in work-group memory, and Int sums otherwise.
//!
//! The input is divided into runs of consecutive elements. Several threads process a run: each loads an element, then
//! each goes through all loaded elements from the left and applies the operator to those whose bins it owns. No atomic
//! operation is needed, and the order of a bin's elements is preserved. The results of the runs are reduced like any
//! rows. The number of runs depends on sizes only. (If work-group memory is not faster than device memory, a single
//! thread processes each run, with the same bits.)
//!
//! Int sums do not depend on their order: each bin is three words, to which threads add atomically with carries. The
//! sum is exact, and overflow is detected.

use crate::array::{Array, Scalar};
use crate::error::{Check, Res};
use crate::fold::{KernelContext, TupleExprs, TupleOperator, copies, held, put};
use crate::index::HistogramInput;
use crate::limits::histogram::{BINS, RUN, SHARED};
use crate::nest::{THREADS, each};
use crate::wgsl::{Emit, load, packed, stored};

/// The division of elements: `count` runs of `length` elements (the last ones may be shorter), each with `owners`
/// threads.
pub(crate) struct Runs {
    owners: usize,
    pub count: usize,
    length: usize,
}

impl Runs {
    /// Divides that many elements. `None` if the bins do not fit. `kinds` are the types of a bin.
    pub fn of(kinds: &[Scalar], elements: usize, bins: usize) -> Option<Runs> {
        let (bytes, threads) = (kinds.iter().map(|s| s.bytes() as usize).sum::<usize>(), THREADS as usize);
        let room = SHARED.checked_sub(threads * (bytes + 4))?;
        let owners = [32, 64, 128, 256].into_iter().find(|o| bins.saturating_mul(threads / o * bytes) <= room)?;
        let count = elements.div_ceil(RUN).min(BINS / bins.max(1)).max(1);
        (elements < u32::MAX as usize - 2 * BINS).then(|| Runs { owners, count, length: elements.div_ceil(count) })
    }

    /// The number of runs per work-group.
    fn beside(&self) -> usize {
        THREADS as usize / self.owners
    }
}

/// Computes the private bins of each run: arrays of shape bins × runs.
pub(crate) fn of_runs(
    context: &KernelContext<'_>,
    op: &TupleOperator<'_>,
    of: &HistogramInput<'_>,
    layout: &Runs,
) -> Res<Vec<Array>> {
    let outs = context.empty(op, &[of.bins, layout.count])?;
    if !context.gpu.caps.tiles {
        return alone(context, op, of, layout, &outs).map(|()| outs);
    }
    let mut emit = context.emit();
    let [count, length, runs, bins] = [of.count, layout.length, layout.count, of.bins].map(|w| emit.word(w as u32));
    (op.prepare)(&mut emit)?;
    emit.open("if group < params[0]");
    let (part, owner) =
        (emit.define("k", &format!("l / {}u", layout.owners)), emit.define("k", &format!("l % {}u", layout.owners)));
    let run = emit.define("run", &format!("group * {}u + {part}", layout.beside()));
    let first = emit.define("k", &format!("min({run} * {length}, {count})"));
    let end = emit.define("k", &format!("select({first}, min({first} + {length}, {count}), {run} < {runs})"));
    let bin =
        |at: &str| (0..op.kinds.len()).map(|i| format!("bins{i}[{part} * {bins} + {at}]")).collect::<TupleExprs>();
    let bucket = emit.name("b");
    let mine = format!("for (var {bucket} = {owner}; {bucket} < {bins}; {bucket} = {bucket} + {}u)", layout.owners);
    let neutral = (op.neutral)(&mut emit)?;
    emit.open(&mine);
    put(&mut emit, &op.kinds, &bin(&bucket), &neutral);
    emit.close();
    let step = emit.name("step");
    emit.line(&format!("var {step} = 0u;"));
    emit.open(&format!("for (; {step} < {length}; {step} = {step} + {}u)", layout.owners));
    take(&mut emit, op, of, &format!("{first} + {step} + {owner}"), (&end, &bins))?;
    emit.line("workgroupBarrier();");
    let i = emit.name("i");
    emit.open(&format!("for (var {i} = l - {owner}; {i} < l - {owner} + {}u; {i}++)", layout.owners));
    let to = emit.define("k", &format!("keys[{i}]"));
    emit.open(&format!("if {to} < {bins} && {to} % {}u == {owner}", layout.owners));
    combine(&mut emit, op, &bin(&to), &i)?;
    emit.close();
    emit.close();
    emit.line("workgroupBarrier();");
    emit.close();
    emit.ended(&format!("{step} < {length}"));
    emit.open(&format!("if {run} < {runs}"));
    emit.open(&mine);
    for ((a, s), v) in outs.iter().zip(&op.kinds).zip(held(&op.kinds, &bin(&bucket))) {
        let slot = emit.slot(a, true)?;
        emit.line(&format!("a{slot}[{bucket} * {runs} + {run}] = {};", packed(*s, &v)));
    }
    emit.close();
    emit.close();
    emit.close();
    let w = emit.finish(THREADS, &shared(op, layout.beside() * of.bins));
    context.gpu.launch(&w.kernel, &w.bound(), &w.words, layout.count.div_ceil(layout.beside()) as u32)?;
    Ok(outs)
}

/// [`of_runs`] with one thread per run, whose bins are in the result arrays.
fn alone(
    context: &KernelContext<'_>,
    op: &TupleOperator<'_>,
    of: &HistogramInput<'_>,
    layout: &Runs,
    outs: &[Array],
) -> Res<()> {
    let mut emit = context.emit();
    let [count, length, runs, bins] = [of.count, layout.length, layout.count, of.bins].map(|w| emit.word(w as u32));
    (op.prepare)(&mut emit)?;
    let run = emit.define("run", &format!("group * {THREADS}u + l"));
    emit.open(&format!("if {run} < {runs} && group < params[0]"));
    let neutral = (op.neutral)(&mut emit)?;
    let slots = outs.iter().map(|a| emit.slot(a, true)).collect::<Res<Vec<_>>>()?;
    let write = |e: &mut Emit<'_>, at: &str, v: &[String]| {
        slots
            .iter()
            .zip(&op.kinds)
            .zip(v)
            .for_each(|((slot, s), v)| e.line(&format!("a{slot}[{at}] = {};", packed(*s, v))));
    };
    let b = emit.name("b");
    emit.open(&format!("for (var {b} = 0u; {b} < {bins}; {b}++)"));
    write(&mut emit, &format!("{b} * {runs} + {run}"), &neutral);
    emit.close();
    let position = emit.name("j");
    let end = emit.define("k", &format!("min(({run} + 1u) * {length}, {count})"));
    emit.line(&format!("var {position} = min({run} * {length}, {count});"));
    emit.open(&format!("for (; {position} < {end}; {position}++)"));
    let bin = (of.key)(&mut emit, &position)?;
    emit.open(&format!("if {bin} < {bins}"));
    let at = emit.define("k", &format!("{bin} * {runs} + {run}"));
    let old: TupleExprs =
        slots.iter().zip(&op.kinds).map(|(slot, s)| emit.define("c", &load(*slot, *s, &at))).collect();
    let new = [vec!["true".to_owned()], (of.values)(&mut emit, &position)?].concat();
    let new: TupleExprs = new.iter().map(|v| emit.define("c", v)).collect();
    let made = (op.combine)(&mut emit, &old, &new)?;
    write(&mut emit, &at, &made);
    emit.close();
    emit.close();
    emit.ended(&format!("{position} < {end}"));
    emit.close();
    let w = emit.finish(THREADS, "");
    context.gpu.launch(&w.kernel, &w.bound(), &w.words, (layout.count as u32).div_ceil(THREADS))
}

/// Declarations of work-group memory: bins, and an element and key for each thread. (The first component of a tuple is
/// a Bool that is true for all elements.)
fn shared(op: &TupleOperator<'_>, bins: usize) -> String {
    let bins =
        op.kinds.iter().enumerate().map(|(i, s)| format!("var<workgroup> bins{i}: array<{}, {bins}>;\n", stored(*s)));
    let elements = op
        .kinds
        .iter()
        .enumerate()
        .skip(1)
        .map(|(i, s)| format!("var<workgroup> new{i}: array<{}, {THREADS}>;\n", stored(*s)));
    bins.chain(elements).chain([format!("var<workgroup> keys: array<u32, {THREADS}>;\n")]).collect()
}

/// Loads a thread's next element.
fn take(
    emit: &mut Emit<'_>,
    op: &TupleOperator<'_>,
    of: &HistogramInput<'_>,
    at: &str,
    (end, bins): (&str, &str),
) -> Res<()> {
    emit.line(&format!("keys[l] = {bins};"));
    let j = emit.define("j", at);
    emit.open(&format!("if {j} < {end}"));
    let bin = (of.key)(emit, &j)?;
    emit.open(&format!("if {bin} < {bins}"));
    let new = (of.values)(emit, &j)?;
    let to: TupleExprs = (1..op.kinds.len()).map(|i| format!("new{i}[l]")).collect();
    put(emit, &op.kinds[1..], &to, &new);
    emit.line(&format!("keys[l] = {bin};"));
    emit.close();
    emit.close();
    Ok(())
}

/// Applies the operator to a bin and the element that a thread has loaded.
fn combine(e: &mut Emit<'_>, op: &TupleOperator<'_>, to: &[String], thread: &str) -> Res<()> {
    let old = copies(e, &held(&op.kinds, to));
    let new: TupleExprs = (1..op.kinds.len()).map(|i| format!("new{i}[{thread}]")).collect();
    let new = copies(e, &held(&op.kinds[1..], &new));
    let made = (op.combine)(e, &old, &[vec!["true".to_owned()], new].concat())?;
    let made: TupleExprs = made.iter().map(|v| e.define("c", v)).collect();
    put(e, &op.kinds, to, &made);
    Ok(())
}

/// `dest` with Ints added at their bins, in any order.
pub(crate) fn int_sums(context: &KernelContext<'_>, of: &HistogramInput<'_>, dest: &Array) -> Res<Array> {
    let sums = context.gpu.empty(Scalar::Word, vec![3 * of.bins])?;
    each(context.gpu, 3 * of.bins, |e, i| {
        let to = e.slot(&sums, true)?;
        e.line(&format!("a{to}[{i}] = 0u;"));
        Ok(())
    })?;
    let mut emit = context.emit();
    let (all, bins) = (emit.word(of.count as u32), emit.word(of.bins as u32));
    let i = emit.define("i", &format!("group * {THREADS}u + l"));
    emit.open(&format!("if {i} < {all} && group < params[0]"));
    let bin = (of.key)(&mut emit, &i)?;
    emit.open(&format!("if {bin} < {bins}"));
    let value = (of.values)(&mut emit, &i)?.concat();
    let to = emit.atomic(&sums)?;
    ADD.replace("$value", &value)
        .replace("$sums", &format!("a{to}"))
        .replace("$at", &format!("3u * {bin}"))
        .lines()
        .for_each(|l| emit.line(l));
    emit.close();
    emit.close();
    let w = emit.finish(THREADS, "");
    context.gpu.launch(&w.kernel, &w.bound(), &w.words, (of.count as u32).div_ceil(THREADS))?;
    let out = context.gpu.empty(Scalar::I64, dest.shape.clone())?;
    each(context.gpu, of.bins, |emitter, index| {
        let (from, old, to) = (emitter.slot(&sums, false)?, emitter.slot(dest, false)?, emitter.slot(&out, true)?);
        let check = emitter.check(Check::Overflow);
        emitter.line(&format!("let low = a{from}[3u * {index}];"));
        emitter.line(&format!("let high = a{from}[3u * {index} + 1u];"));
        emitter.line(&format!(
            "if a{from}[3u * {index} + 2u] != select(0u, 0xffffffffu, (high >> 31u) == 1u) {{ fault({check}); }}"
        ));
        let sum = emitter.bin(
            adl_prim::Bin::Add,
            Scalar::I64,
            &load(old, Scalar::I64, index),
            "bitcast<i64>(u64(low) | (u64(high) << 32u))",
        )?;
        emitter.line(&format!("a{to}[{index}] = {sum};"));
        Ok(())
    })?;
    Ok(out)
}

/// Adds an Int to three words with carries: the sum is correct modulo 2⁹⁶ in any order of the additions.
const ADD: &str = "let value = bitcast<u64>($value);
let low = u32(value & 0xfffffffflu);
let carry = select(0u, 1u, atomicAdd(&$sums[$at], low) > 0xffffffffu - low);
let middle = u32(value >> 32u) + carry;
var top = select(0u, 0xffffffffu, (value >> 63u) == 1lu) + select(0u, 1u, middle < carry);
if middle != 0u { top += select(0u, 1u, atomicAdd(&$sums[$at + 1u], middle) > 0xffffffffu - middle); }
if top != 0u { atomicAdd(&$sums[$at + 2u], top); }";
