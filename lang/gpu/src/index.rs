//! Histograms and scatter: elements go to the positions that keys select.
//!
//! A histogram (`reduce_by_index`) accepts any operator. With few bins, each run of consecutive elements has private
//! bins in work-group memory, which are then reduced (see `histogram`). With many bins, elements are sorted by key, and a
//! segmented scan combines them. Both preserve the order of the elements of a bin. Atomic operations would combine in
//! an order that varies from run to run. They are used, for many bins, only for sums of Ints, for minima and maxima
//! (see `atomic_min_max`), and for commutative operators on Bools (see `atomic_bool`).

use crate::array::{Array, Operand, Scalar};
use crate::atomic_bool;
use crate::atomic_min_max;
use crate::data_movement;
use crate::error::{Res, unsupported};
use crate::fold::{self, KernelContext, TupleExprs, TupleOperator};
use crate::histogram::{self, Runs};
use crate::nest::{THREADS, each};
use crate::queue::Gpu;
use crate::soac;
use crate::sort::{self, Sorted};
use crate::wgsl::{Emit, OuterValues, load, packed};
use adl_ir::{Block, Function, Op, Program, Stmt, Var};
use adl_prim::Bin;

/// `dest` with values written at indices. Indices out of bounds are skipped; among equal indices the last one wins.
pub fn scatter(gpu: &Gpu, dest: &Array, at: &Array, values: &Array) -> Res<Array> {
    let ((rows, width), count) = (data_movement::rows(dest), at.len());
    if values.scalar != dest.scalar || values.len() != count * width {
        return unsupported(format!("{count} indices for values of shape {:?}", values.shape));
    }
    let out = Array { buffer: gpu.copy(&dest.buffer, dest.bytes())?, ..dest.clone() };
    // For each row, the last element that writes it: its index plus one, or 0.
    let last = gpu.empty(Scalar::Word, vec![rows])?;
    each(gpu, rows, |e, i| {
        let to = e.slot(&last, true)?;
        e.line(&format!("a{to}[{i}] = 0u;"));
        Ok(())
    })?;
    each(gpu, count, |e, i| {
        let (keys, to, n) = (e.slot(at, false)?, e.atomic(&last)?, e.word(rows as u32));
        e.line(&format!("let key = a{keys}[{i}];"));
        e.line(&format!("if key >= 0li && key < l_of({n}) {{ atomicMax(&a{to}[u32(key)], {i} + 1u); }}"));
        Ok(())
    })?;
    each(gpu, count * width, |e, i| {
        let (keys, last, from, to) =
            (e.slot(at, false)?, e.slot(&last, false)?, e.slot(values, false)?, e.slot(&out, true)?);
        let (n, k) = (e.word(rows as u32), e.word(width as u32));
        e.line(&format!("let row = {i} / {k};"));
        e.line(&format!("let key = a{keys}[row];"));
        e.open(&format!("if key >= 0li && key < l_of({n})"));
        e.line(&format!("if a{last}[u32(key)] == row + 1u {{ a{to}[u32(key) * {k} + {i} % {k}] = a{from}[{i}]; }}"));
        e.close();
        Ok(())
    })?;
    Ok(out)
}

/// The elements of a histogram: their number, the bin of each (the number of bins if it has none), and their values.
pub(crate) struct HistogramInput<'a> {
    pub count: usize,
    pub bins: usize,
    /// The number of scalars per row, which go to consecutive bins.
    pub width: usize,
    /// Whether the destination is not shared, so that it may be overwritten.
    pub own: bool,
    pub key: &'a dyn Fn(&mut Emit<'_>, &str) -> Res<String>,
    pub values: &'a dyn Fn(&mut Emit<'_>, &str) -> Res<TupleExprs>,
    /// Whether the values are Ints and the operator is addition.
    pub int_sums: bool,
    /// Whether the operator is the minimum (true) or maximum (false).
    pub least: Option<bool>,
    /// The rule of a commutative operator on Bools.
    pub bools: Option<atomic_bool::AtomicRule>,
}

/// The operands of a histogram.
pub struct ByIndex<'a> {
    /// The destination vectors.
    pub dest: &'a [Array],
    /// The operator: its parameters are accumulated values, then elements.
    pub op: &'a Block,
    /// Its neutral element.
    pub neutral: &'a [Var],
    /// Int keys; elements with keys out of bounds are skipped.
    pub keys: &'a Array,
    /// The values, whose types are those of `dest`.
    pub values: &'a [Array],
}

/// `dest` with the operator applied at each key.
pub fn reduce_by_index(
    gpu: &Gpu,
    program: &Program,
    func: &Function,
    by_index: &ByIndex<'_>,
    env: OuterValues<'_>,
) -> Res<Vec<Array>> {
    let kinds: Vec<Scalar> = by_index.dest.iter().map(|a| a.scalar).collect();
    let alike = by_index.values.len() == kinds.len()
        && by_index.values.iter().zip(&kinds).all(|(v, k)| v.scalar == *k && v.shape == by_index.keys.shape);
    let bins = by_index.dest.first().map_or(0, Array::len);
    if !alike || by_index.dest.iter().any(|a| a.shape != [bins]) {
        return unsupported("a histogram of rows, or of elements that are not like its bins");
    }
    let op = TupleOperator {
        kinds: kinds.clone(),
        combine: &|e, a, b| soac::combine(e, by_index.op, &kinds, a, b),
        neutral: &|e| by_index.neutral.iter().map(|v| e.number(*v).map(|(_, t)| t)).collect(),
        prepare: &|e| {
            by_index.neutral.iter().try_for_each(|v| e.outside(*v))?;
            e.prepare(by_index.op)
        },
    };
    let of = HistogramInput {
        count: by_index.keys.len(),
        bins,
        width: 1,
        own: false,
        key: &|e, j| bin_of(e, by_index.keys, j, bins),
        values: &|e, j| by_index.values.iter().map(|v| e.slot(v, false).map(|s| load(s, v.scalar, j))).collect(),
        int_sums: kinds == [Scalar::I64] && adds(by_index.op),
        least: least(by_index.op).filter(|_| kinds.len() == 1),
        bools: if kinds == [Scalar::Bool] { atomic_bool::rule(by_index.op) } else { None },
    };
    histogram(&KernelContext { gpu, program, function: func, env }, &op, &of, by_index.dest)
}

/// Whether an operator is addition.
fn adds(op: &Block) -> bool {
    let (params, results) = (&op.params, &op.results);
    matches!(&op.stmts[..], [Stmt { op: Op::Bin(Bin::Add, x, y), outs, .. }] if outs == results && (params == &[*x, *y] || params == &[*y, *x]))
}

/// Whether an operator is the minimum or maximum of its operands in order.
fn least(op: &Block) -> Option<bool> {
    match &op.stmts[..] {
        [Stmt { op: Op::Bin(b @ (Bin::Min | Bin::Max), x, y), outs, .. }]
            if outs == &op.results && op.params == [*x, *y] =>
        {
            Some(*b == Bin::Min)
        }
        _ => None,
    }
}

/// The bin of an Int key.
fn bin_of(e: &mut Emit<'_>, keys: &Array, j: &str, bins: usize) -> Res<String> {
    let (slot, n) = (e.slot(keys, false)?, e.word(bins as u32));
    let key = e.define("key", &format!("a{slot}[{j}]"));
    Ok(e.define("bin", &format!("select({n}, u32({key}), {key} >= 0li && {key} < l_of({n}))")))
}

/// `acc` with rows of `v` added at indices; those out of bounds are skipped.
pub fn gather_add(gpu: &Gpu, acc: &Array, at: &Array, v: &Array) -> Res<Array> {
    rows_added(gpu, acc, at, v, false)
}

/// [`gather_add`]; `own`: `acc` is not shared and may be overwritten.
pub(crate) fn rows_added(gpu: &Gpu, acc: &Array, at: &Array, array: &Array, own: bool) -> Res<Array> {
    let (height, columns) = data_movement::rows(acc);
    if array.scalar != acc.scalar
        || array.len() != at.len() * columns
        || !matches!(acc.scalar, Scalar::F32 | Scalar::F64 | Scalar::I64)
    {
        return unsupported(format!("{} indices for values of shape {:?}", at.len(), array.shape));
    }
    let (kind, program, function) = (acc.scalar, Program::default(), Function::default());
    let op = TupleOperator {
        kinds: vec![kind],
        combine: &|e, x, y| e.bin(Bin::Add, kind, &x[0], &y[0]).map(|t| vec![t]),
        neutral: &|e| Ok(vec![e.zero(kind)]),
        prepare: &|_| Ok(()),
    };
    let of = HistogramInput {
        count: array.len(),
        bins: height * columns,
        width: columns,
        own,
        key: &|e, j| {
            let (width, all) = (e.word(columns as u32), e.word((height * columns) as u32));
            let row = e.define("row", &format!("{j} / {width}"));
            let bin = bin_of(e, at, &row, height)?;
            let (rows, column) = (e.word(height as u32), format!("{j} % {width}"));
            Ok(e.define("bin", &format!("select({bin} * {width} + {column}, {all}, {bin} == {rows})")))
        },
        values: &|e, j| e.slot(array, false).map(|s| vec![load(s, kind, j)]),
        int_sums: kind == Scalar::I64,
        least: None,
        bools: None,
    };
    let flat = acc.reshaped(vec![height * columns])?;
    let mut outs = histogram(
        &KernelContext { gpu, program: &program, function: &function, env: &|_| None::<Operand> },
        &op,
        &of,
        &[flat],
    )?;
    outs.remove(0).reshaped(acc.shape.clone())
}

/// [`gather_add`] if `acc` is zero and not shared, and no two indices are equal: each row is written directly.
pub fn placed(gpu: &Gpu, acc: &Array, at: &Array, array: &Array) -> Res<Array> {
    let (length, width) = data_movement::rows(acc);
    if array.scalar != acc.scalar || array.len() != at.len() * width {
        return unsupported(format!("{} indices for values of shape {:?}", at.len(), array.shape));
    }
    each(gpu, array.len(), |e, i| {
        let (keys, from, to) = (e.slot(at, false)?, e.slot(array, false)?, e.slot(acc, true)?);
        let (n, k) = (e.word(length as u32), e.word(width as u32));
        e.line(&format!("let key = a{keys}[{i} / {k}];"));
        // As in a sum that starts at 0, -0 becomes 0.
        let zero = e.zero(array.scalar);
        let sum = e.bin(Bin::Add, array.scalar, &zero, &load(from, array.scalar, i))?;
        e.line(&format!("if key >= 0li && key < l_of({n}) {{ a{to}[u32(key) * {k} + {i} % {k}] = {sum}; }}"));
        Ok(())
    })?;
    Ok(acc.clone())
}

fn histogram(
    context: &KernelContext<'_>,
    op: &TupleOperator<'_>,
    of: &HistogramInput<'_>,
    dest: &[Array],
) -> Res<Vec<Array>> {
    if of.count == 0 || of.bins == 0 {
        return dest
            .iter()
            .map(|a| Ok(Array { buffer: context.gpu.copy(&a.buffer, a.bytes())?, ..a.clone() }))
            .collect();
    }
    let kinds = [vec![Scalar::Bool], op.kinds.clone()].concat();
    match Runs::of(&kinds, of.count, of.bins) {
        Some(r) => few(context, op, of, dest, &r),
        None if of.int_sums && of.bins < u32::MAX as usize / 3 => {
            dest.iter().map(|d| histogram::int_sums(context, of, d)).collect()
        }
        None => match (of.least, of.bools) {
            (None, Some(rule)) => dest.iter().map(|d| atomic_bool::of_bins(context, op, of, rule, d)).collect(),
            (Some(least), _) => {
                let [there, found] = atomic_min_max::of_bins(context, of, op.kinds[0], least)?;
                joined(context, op, (dest, of.own), &[found], BinPlaces::InOrder(&there))
            }
            (None, None) => many(context, op, of, dest),
        },
    }
}

/// An operator on tuples that are prefixed with a Bool. If `both` holds, the operator is applied; otherwise the result
/// is the second tuple if its Bool is set, and else the first.
fn marked<'a>(
    op: &'a TupleOperator<'_>,
    both: &'a dyn Fn(&str, &str) -> String,
) -> impl Fn(&mut Emit<'_>, &[String], &[String]) -> Res<TupleExprs> + 'a {
    move |emit, left, right| {
        let made = op.declare(emit, "m");
        emit.open(&format!("if {}", both(&left[0], &right[0])));
        let z = (op.combine)(emit, &left[1..], &right[1..])?;
        fold::assign(emit, &made, &z);
        emit.close();
        emit.open(&format!("else if {}", right[0]));
        fold::assign(emit, &made, &right[1..]);
        emit.close();
        emit.open("else");
        fold::assign(emit, &made, &left[1..]);
        emit.close();
        Ok([format!("({} || {})", left[0], right[0])].into_iter().chain(made).collect())
    }
}

/// Private bins per run of consecutive elements; a Bool says whether a bin is non-empty.
fn few(
    context: &KernelContext<'_>,
    op: &TupleOperator<'_>,
    of: &HistogramInput<'_>,
    dest: &[Array],
    runs: &Runs,
) -> Res<Vec<Array>> {
    let kinds = [vec![Scalar::Bool], op.kinds.clone()].concat();
    let both = |x: &str, y: &str| format!("{x} && {y}");
    let combine = marked(op, &both);
    let full = TupleOperator {
        kinds,
        combine: &combine,
        neutral: &|e| Ok([vec!["false".to_owned()], (op.neutral)(e)?].concat()),
        prepare: op.prepare,
    };
    let own = histogram::of_runs(context, &full, of, runs)?;
    let sums = context.reduce(&full, of.bins, runs.count, &fold::reading(&own, runs.count))?;
    joined(context, op, (dest, of.own), &sums[1..], BinPlaces::InOrder(&sums[0]))
}

/// Sorts rows by key, then runs a segmented scan on their columns; the last element of each key is the result of its
/// bin.
fn many(
    context: &KernelContext<'_>,
    op: &TupleOperator<'_>,
    of: &HistogramInput<'_>,
    dest: &[Array],
) -> Res<Vec<Array>> {
    let (length, width) = (of.count / of.width, of.width);
    let bits = usize::BITS - (of.bins / width).leading_zeros();
    let Sorted { values: sorted, places } = sort::words(context.gpu, &bins_of(context, of)?, bits)?;
    let kinds: Vec<Scalar> = [vec![Scalar::Bool], op.kinds.clone()].concat();
    // The second tuple starts a new bin, and replaces the first.
    let both = |_: &str, y: &str| format!("!{y}");
    let combine = marked(op, &both);
    let anew = TupleOperator {
        kinds,
        combine: &combine,
        neutral: &|e| Ok([vec!["false".to_owned()], (op.neutral)(e)?].concat()),
        prepare: op.prepare,
    };
    let from = |e: &mut Emit<'_>, column: &str, j: &str| {
        let (places, sorted) = (e.slot(&places, false)?, e.slot(&sorted, false)?);
        let begins = e.define("f", &format!("{j} == 0u || a{sorted}[{j}] != a{sorted}[max({j}, 1u) - 1u]"));
        let at = if width == 1 {
            format!("a{places}[{j}]")
        } else {
            format!("a{places}[{j}] * {} + {column}", e.word(width as u32))
        };
        let at = e.define("k", &at);
        let values = (of.values)(e, &at)?;
        let values: TupleExprs = values.iter().map(|v| e.define("c", v)).collect();
        Ok([vec![begins], values].concat())
    };
    let scanned = context.scan_for(&anew, (width, length), false, &from, &|k| k > 0)?;
    joined(context, op, (dest, of.own), &scanned[1..], BinPlaces::Sorted(&sorted))
}

/// The bin of each row, as words: the index among rows of bins.
fn bins_of(context: &KernelContext<'_>, of: &HistogramInput<'_>) -> Res<Array> {
    let count = of.count / of.width;
    let keys = context.gpu.empty(Scalar::Word, vec![count])?;
    let mut e = context.emit();
    let all = e.word(count as u32);
    let i = e.define("i", &format!("group * {THREADS}u + l"));
    e.open(&format!("if {i} < {all} && group < params[0]"));
    let width = e.word(of.width as u32);
    let first = if of.width == 1 { i.clone() } else { e.define("k", &format!("{i} * {width}")) };
    let bin = (of.key)(&mut e, &first)?;
    let to = e.slot(&keys, true)?;
    e.line(&format!("a{to}[{i}] = {bin} / {width};"));
    e.close();
    let w = e.finish(THREADS, "");
    context.gpu.launch(&w.kernel, &w.bound(), &w.words, (count as u32).div_ceil(THREADS))?;
    Ok(keys)
}

/// Which bins have a result: one per bin, with a Bool; or the last element of each key in sorted order.
enum BinPlaces<'a> {
    InOrder(&'a Array),
    Sorted(&'a Array),
}

/// Combines `dest` with the results of its bins.
fn joined(
    context: &KernelContext<'_>,
    op: &TupleOperator<'_>,
    (dest, own): (&[Array], bool),
    found: &[Array],
    places: BinPlaces<'_>,
) -> Res<Vec<Array>> {
    let copy = |a: &Array| Ok(Array { buffer: context.gpu.copy(&a.buffer, a.bytes())?, ..a.clone() });
    let outs = dest.iter().map(|a| if own { Ok(a.clone()) } else { copy(a) }).collect::<Res<Vec<_>>>()?;
    let (BinPlaces::InOrder(keys) | BinPlaces::Sorted(keys)) = places;
    let count = found.first().map_or(0, Array::len);
    let mut emit = context.emit();
    let (all, bins) = (emit.word(count as u32), emit.word(dest.first().map_or(0, Array::len) as u32));
    (op.prepare)(&mut emit)?;
    let index = emit.define("i", &format!("group * {THREADS}u + l"));
    emit.open(&format!("if {index} < {all} && group < params[0]"));
    let key_slot = emit.slot(keys, false)?;
    let (bin, last) = match places {
        BinPlaces::InOrder(_) => (index.clone(), format!("a{key_slot}[{index}] != 0u")),
        BinPlaces::Sorted(_) => {
            let (rows, width) = (emit.word(keys.len() as u32), emit.word((count / keys.len().max(1)) as u32));
            let j = emit.define("j", &format!("{index} % {rows}"));
            let bin = emit.define("bin", &format!("a{key_slot}[{j}] * {width} + {index} / {rows}"));
            (bin, format!("({j} + 1u == {rows} || a{key_slot}[min({j} + 1u, {rows} - 1u)] != a{key_slot}[{j}])"))
        }
    };
    emit.open(&format!("if {bin} < {bins} && {last}"));
    let read = |e: &mut Emit<'_>, arrays: &[Array], own: bool, at: &str| {
        arrays
            .iter()
            .map(|a| e.slot(a, own).map(|s| e.define("c", &load(s, a.scalar, at))))
            .collect::<Res<TupleExprs>>()
    };
    let (old, new) = (read(&mut emit, dest, own, &bin)?, read(&mut emit, found, false, &index)?);
    let made = (op.combine)(&mut emit, &old, &new)?;
    for ((a, s), v) in outs.iter().zip(&op.kinds).zip(&made) {
        let slot = emit.slot(a, true)?;
        emit.line(&format!("a{slot}[{bin}] = {};", packed(*s, v)));
    }
    emit.close();
    emit.close();
    let w = emit.finish(THREADS, "");
    context.gpu.launch(&w.kernel, &w.bound(), &w.words, (count as u32).div_ceil(THREADS))?;
    Ok(outs)
}
