//! Batched operations: a statement of a loop body run for all iterations, on arrays stored one after the other.

use crate::array::{Array, Scalar};
use crate::error::{Check, Res, unsupported};
use crate::fold::{KernelContext, TupleOperator};
use crate::gemm::{StridedOperand, tiles};
use crate::limits::batched_ops::TILED;
use crate::nest::each;
use crate::queue::Gpu;
use crate::soac::unit;
use crate::wgsl::scalar::{compare, is_nan, zero};
use crate::wgsl::{Emit, load, packed};
use adl_ir::{Cmp, Function, Program};
use adl_prim::Bin;

/// An operand: an array per iteration, with the iterations as the first axis, or one array for all.
#[derive(Clone, Debug)]
pub(crate) struct BatchedOperand {
    pub array: Array,
    pub each: bool,
}

impl BatchedOperand {
    /// The extents of one iteration's value.
    pub fn inner(&self) -> &[usize] {
        &self.array.shape[usize::from(self.each)..]
    }

    /// The number of elements of one iteration's value.
    pub fn size(&self) -> usize {
        self.inner().iter().product()
    }

    /// The offset of an iteration's elements.
    fn start(&self, e: &mut Emit<'_>, row: &str) -> String {
        if !self.each {
            return "0u".to_owned();
        }
        let size = e.word(self.size() as u32);
        format!("{row} * {size}")
    }

    /// Loads an element of an iteration's value.
    fn load(&self, e: &mut Emit<'_>, row: &str, at: &str) -> Res<String> {
        let (slot, start) = (e.slot(&self.array, false)?, self.start(e, row));
        Ok(load(slot, self.array.scalar, &format!("{start} + {at}")))
    }
}

/// Computes `n` arrays of these extents with a thread per element: `value` receives the iteration and the index.
pub(crate) fn made(
    gpu: &Gpu,
    n: usize,
    scalar: Scalar,
    inner: &[usize],
    value: impl FnOnce(&mut Emit<'_>, &str, &str) -> Res<String>,
) -> Res<Array> {
    let out = gpu.empty(scalar, [&[n], inner].concat())?;
    let size: usize = inner.iter().product();
    each(gpu, out.len(), |e, i| {
        let size = e.word(size as u32);
        let (row, at) = (e.define("r", &format!("{i} / {size}")), e.define("q", &format!("{i} % {size}")));
        let x = value(e, &row, &at)?;
        let to = e.slot(&out, true)?;
        e.line(&format!("a{to}[{i}] = {};", packed(scalar, &x)));
        Ok(())
    })?;
    Ok(out)
}

/// Arrays whose elements are copied from the positions that `place` computes.
pub(crate) fn moved(
    gpu: &Gpu,
    n: usize,
    a: &BatchedOperand,
    inner: &[usize],
    place: impl FnOnce(&mut Emit<'_>, &str) -> String,
) -> Res<Array> {
    made(gpu, n, a.array.scalar, inner, |e, row, q| {
        let at = place(e, q);
        a.load(e, row, &format!("({at})"))
    })
}

/// Broadcasts an operand to all iterations.
pub(crate) fn spread(gpu: &Gpu, n: usize, a: &BatchedOperand) -> Res<Array> {
    if a.each { Ok(a.array.clone()) } else { moved(gpu, n, a, a.inner(), |_, q| q.to_owned()) }
}

/// Repeats each iteration's elements `m` times, for the iterations of an inner loop.
pub(crate) fn repeated(gpu: &Gpu, a: &Array, m: usize) -> Res<Array> {
    let (n, size): (usize, usize) = (a.shape[0], a.shape[1..].iter().product());
    let all = BatchedOperand { array: a.reshaped(vec![a.len()])?, each: false };
    made(gpu, n * m, a.scalar, &a.shape[1..], |e, row, q| {
        let (m, size) = (e.word(m as u32), e.word(size as u32));
        all.load(e, row, &format!("({row} / {m}) * {size} + {q}"))
    })
}

/// The indices of an inner loop of `m` iterations, for `n` outer ones.
pub(crate) fn trip(gpu: &Gpu, n: usize, m: usize) -> Res<Array> {
    made(gpu, n * m, Scalar::I64, &[], |e, row, _| {
        let m = e.word(m as u32);
        Ok(format!("l_of({row} % {m})"))
    })
}

/// The offset of an indexed element in arrays of these extents, and whether the indices are in bounds.
fn place(e: &mut Emit<'_>, row: &str, keys: &[BatchedOperand], extents: &[usize]) -> Res<(String, String)> {
    let (mut at, mut inside) = ("0u".to_owned(), "true".to_owned());
    for (k, n) in keys.iter().zip(extents) {
        let x = k.load(e, row, "0u")?;
        let (x, n) = (e.define("i", &x), e.word(*n as u32));
        inside = e.define("f", &format!("{inside} && {x} >= 0li && {x} < l_of({n})"));
        at = e.define("k", &format!("{at} * {n} + select(0u, u32({x}), {inside})"));
    }
    Ok((at, inside))
}

fn checked(e: &mut Emit<'_>, inside: &str, only: &str) {
    let check = e.check(Check::Bounds);
    e.line(&format!("if {only} && !{inside} {{ fault({check}); }}"));
}

/// Elements, or subarrays, at indices.
pub(crate) fn index(gpu: &Gpu, n: usize, a: &BatchedOperand, keys: &[BatchedOperand]) -> Res<Array> {
    let rest = &a.inner()[keys.len()..];
    let size: usize = rest.iter().product();
    made(gpu, n, a.array.scalar, rest, |e, row, q| {
        let (at, inside) = place(e, row, keys, a.inner())?;
        checked(e, &inside, "true");
        let size = e.word(size as u32);
        a.load(e, row, &format!("{at} * {size} + {q}"))
    })
}

/// Elements of the first axis at vectors of indices; with `zeros`, those out of bounds are zero.
pub(crate) fn gather(gpu: &Gpu, n: usize, operand: &BatchedOperand, at: &BatchedOperand, zeros: bool) -> Res<Array> {
    let (Some((length, rest)), scalar) = (operand.inner().split_first(), operand.array.scalar) else {
        return unsupported("elements of a number");
    };
    let size: usize = rest.iter().product();
    made(gpu, n, scalar, &[at.inner(), rest].concat(), |e, row, q| {
        let (size, length) = (e.word(size as u32), e.word(*length as u32));
        let key = at.load(e, row, &format!("{q} / {size}"))?;
        let key = e.define("i", &key);
        let inside = e.define("f", &format!("{key} >= 0li && {key} < l_of({length})"));
        if !zeros {
            checked(e, &inside, "true");
        }
        let x = operand.load(e, row, &format!("select(0u, u32({key}), {inside}) * {size} + {q} % {size}"))?;
        Ok(format!("select({}, {x}, {inside})", zero(scalar)))
    })
}

/// Arrays with a value added to, or replaced at, one index each.
pub(crate) fn update(
    gpu: &Gpu,
    n: usize,
    target: &BatchedOperand,
    keys: &[BatchedOperand],
    v: &BatchedOperand,
    add: bool,
) -> Res<Array> {
    let size: usize = target.inner()[keys.len()..].iter().product();
    made(gpu, n, target.array.scalar, target.inner(), |e, row, q| {
        let (at, inside) = place(e, row, keys, target.inner())?;
        checked(e, &inside, &format!("{q} == 0u"));
        let size = e.word(size as u32);
        let old = target.load(e, row, q)?;
        let (old, new) = (e.define("v", &old), v.load(e, row, &format!("{q} % {size}"))?);
        let new = if add { e.bin(Bin::Add, target.array.scalar, &old, &new)? } else { new };
        Ok(format!("select({old}, {new}, {inside} && {q} / {size} == {at})"))
    })
}

/// Arrays with others added to a slice of the first axis.
pub(crate) fn slice_add(
    gpu: &Gpu,
    n: usize,
    target: &BatchedOperand,
    (lo, hi): (usize, usize),
    v: &BatchedOperand,
) -> Res<Array> {
    let size: usize = target.inner()[1..].iter().product();
    if lo > hi || hi > target.inner()[0] || v.size() != (hi - lo) * size {
        return unsupported("a part that is out of bounds");
    }
    made(gpu, n, target.array.scalar, target.inner(), |e, row, q| {
        let (lo, hi) = (e.word((lo * size) as u32), e.word((hi * size) as u32));
        let old = target.load(e, row, q)?;
        let (old, inside) = (e.define("v", &old), e.define("f", &format!("{q} >= {lo} && {q} < {hi}")));
        let new = v.load(e, row, &format!("select(0u, {q} - {lo}, {inside})"))?;
        let sum = e.bin(Bin::Add, target.array.scalar, &old, &new)?;
        Ok(format!("select({old}, {sum}, {inside})"))
    })
}

/// Concatenation along the first axis.
pub(crate) fn concat(gpu: &Gpu, n: usize, first: &BatchedOperand, second: &BatchedOperand) -> Res<Array> {
    if first.inner().len() != second.inner().len()
        || first.inner().get(1..) != second.inner().get(1..)
        || first.array.scalar != second.array.scalar
        || first.inner().is_empty()
    {
        return unsupported("arrays of different shapes in a row");
    }
    let inner = [&[first.inner()[0] + second.inner()[0]], &first.inner()[1..]].concat();
    made(gpu, n, first.array.scalar, &inner, |e, row, q| {
        let left = e.word(first.size() as u32);
        let f = e.define("f", &format!("{q} < {left}"));
        let (x, y) = (
            first.load(e, row, &format!("select(0u, {q}, {f})"))?,
            second.load(e, row, &format!("select({q} - {left}, 0u, {f})"))?,
        );
        Ok(format!("select({y}, {x}, {f})"))
    })
}

/// Array literals.
pub(crate) fn stack(gpu: &Gpu, n: usize, elems: &[BatchedOperand]) -> Res<Array> {
    let Some(first) = elems.first() else { return unsupported("an array of nothing") };
    if elems.iter().any(|x| x.inner() != first.inner() || x.array.scalar != first.array.scalar) {
        return unsupported("rows of different shapes in an array");
    }
    let (size, wide) = (first.size(), first.size() * elems.len());
    let out = gpu.empty(first.array.scalar, [&[n, elems.len()], first.inner()].concat())?;
    for (k, x) in elems.iter().enumerate() {
        each(gpu, n * size, |e, i| {
            let (size, wide, at) = (e.word(size as u32), e.word(wide as u32), e.word((k * size) as u32));
            let v = x.load(e, &format!("({i} / {size})"), &format!("{i} % {size}"))?;
            let to = e.slot(&out, true)?;
            e.line(&format!("a{to}[({i} / {size}) * {wide} + {at} + {i} % {size}] = {};", packed(x.array.scalar, &v)));
            Ok(())
        })?;
    }
    Ok(out)
}

/// Which elements are contiguous in memory.
enum Beside {
    Nothing,
    Rows,
    Terms,
}

/// Sums or products of rows of terms.
fn reduced(
    gpu: &Gpu,
    (scalar, operator): (Scalar, Bin),
    (rows, length, beside): (usize, usize, Beside),
    from: impl Fn(&mut Emit<'_>, &str, &str) -> Res<String>,
) -> Res<Array> {
    let (program, function) = (Program::default(), Function::default());
    let op = TupleOperator {
        kinds: vec![scalar],
        combine: &|e, x, y| e.bin(operator, scalar, &x[0], &y[0]).map(|t| vec![t]),
        neutral: &|e| unit(e, operator, scalar),
        prepare: &|_| Ok(()),
    };
    if !matches!(scalar, Scalar::F32 | Scalar::F64 | Scalar::I64) {
        return unsupported("a sum of what is no number");
    }
    let from = |e: &mut Emit<'_>, row: &str, j: &str| {
        let x = from(e, row, j)?;
        Ok(vec![e.define("c", &x)])
    };
    let maker = KernelContext { gpu, program: &program, function: &function, env: &|_| None };
    match beside {
        Beside::Rows => maker.columns(&op, rows, length, &from),
        Beside::Terms if operator == Bin::Add => return maker.sums_of_rows(scalar, rows, length, &from),
        Beside::Terms | Beside::Nothing => maker.reduce(&op, rows, length, &from),
    }
    .map(|mut outs| outs.remove(0))
}

/// Sums along each iteration's first axis.
pub(crate) fn sum(gpu: &Gpu, a: &Array) -> Res<Array> {
    along(gpu, a, Bin::Add)
}

/// Sums or products along each iteration's first axis.
pub(crate) fn along(gpu: &Gpu, a: &Array, b: Bin) -> Res<Array> {
    let [n, k, ..] = a.shape[..] else { return unsupported("the sum of a number") };
    let m: usize = a.shape[2..].iter().product();
    let out =
        reduced(gpu, (a.scalar, b), (n * m, k, if m == 1 { Beside::Terms } else { Beside::Rows }), |e, row, j| {
            columns(e, a, (row, j), (k, m))
        })?;
    out.reshaped([&[n], &a.shape[2..]].concat())
}

/// An element of a column of the iterations' arrays, which have `k` rows and `m` columns.
fn columns(e: &mut Emit<'_>, a: &Array, (row, j): (&str, &str), (k, m): (usize, usize)) -> Res<String> {
    let (slot, k, m) = (e.slot(a, false)?, e.word(k as u32), e.word(m as u32));
    Ok(format!("a{slot}[({row} / {m}) * {k} * {m} + {j} * {m} + {row} % {m}]"))
}

/// Prefix sums or products along each iteration's first axis, from the end if `reverse`.
pub(crate) fn running(gpu: &Gpu, array: &Array, b: Bin, reverse: bool) -> Res<Array> {
    let [trip, length, ..] = array.shape[..] else { return unsupported("the running sums of a number") };
    let (width, kind): (usize, Scalar) = (array.shape[2..].iter().product(), array.scalar);
    let (program, function) = (Program::default(), Function::default());
    let op = TupleOperator {
        kinds: vec![kind],
        combine: &|e, x, y| e.bin(b, kind, &x[0], &y[0]).map(|t| vec![t]),
        neutral: &|e| unit(e, b, kind),
        prepare: &|_| Ok(()),
    };
    let from = |e: &mut Emit<'_>, row: &str, j: &str| {
        let j = if reverse { format!("({} - 1u - {j})", e.word(length as u32)) } else { j.to_owned() };
        let x = columns(e, array, (row, &j), (length, width))?;
        Ok(vec![e.define("c", &x)])
    };
    let mut outs = KernelContext { gpu, program: &program, function: &function, env: &|_| None }.scan(
        &op,
        trip * width,
        length,
        false,
        &from,
    )?;
    let rows = outs.remove(0);
    if width == 1 && !reverse {
        return rows.reshaped(array.shape.clone());
    }
    // Rows of the scan are columns of the operand.
    let rows = BatchedOperand { array: rows.reshaped(vec![trip, width, length])?, each: true };
    moved(gpu, trip, &rows, &array.shape[1..], |e, q| {
        let (k, m) = (e.word(length as u32), e.word(width as u32));
        let at = if reverse { format!("({k} - 1u - {q} / {m})") } else { format!("{q} / {m}") };
        format!("({q} % {m}) * {k} + {at}")
    })
}

/// An operand of matrix products, with the strides of its rows (or columns) and of the terms.
pub(crate) struct StridedFactor<'a> {
    pub of: &'a BatchedOperand,
    pub rows: usize,
    pub terms: usize,
}

/// `Σ l. left[i, l] · right[j, l]`: n × m elements of k terms for each iteration.
pub(crate) fn products(
    gpu: &Gpu,
    trip: usize,
    (left, right): (StridedFactor<'_>, StridedFactor<'_>),
    [height, width, depth]: [usize; 3],
    term: Bin,
) -> Res<Array> {
    let scalar = left.of.array.scalar;
    if scalar != right.of.array.scalar {
        return unsupported("a product of numbers of two kinds");
    }
    // Tiles of 64 × 64 are worthwhile if they are at least a quarter full.
    if term == Bin::Mul && scalar != Scalar::I64 && height.min(width) >= TILED && depth >= TILED / 2 {
        fn side<'a>(f: &StridedFactor<'a>) -> StridedOperand<'a> {
            StridedOperand {
                array: &f.of.array,
                iteration: if f.of.each { f.of.size() } else { 0 },
                rows: f.rows,
                terms: f.terms,
            }
        }
        return tiles(gpu, trip, (side(&left), side(&right)), [height, width, depth]);
    }
    let beside = match (height, width) {
        _ if left.terms == 1 && right.terms == 1 => Beside::Terms,
        (1, _) if right.rows == 1 => Beside::Rows,
        (_, 1) if left.rows == 1 => Beside::Rows,
        _ => Beside::Nothing,
    };
    let out = reduced(gpu, (scalar, Bin::Add), (trip * height * width, depth, beside), |e, row, l| {
        let (n, m) = (e.word(height as u32), e.word(width as u32));
        let iteration = e.define("t", &format!("{row} / ({n} * {m})"));
        let mut number = |f: &StridedFactor<'_>, i: String| {
            let (rows, terms) = (e.word(f.rows as u32), e.word(f.terms as u32));
            let x = f.of.load(e, &iteration, &format!("{i} * {rows} + {l} * {terms}"))?;
            Ok(e.define("c", &x))
        };
        let (x, y) = (number(&left, format!("(({row} / {m}) % {n})"))?, number(&right, format!("({row} % {m})"))?);
        e.bin(term, scalar, &x, &y)
    })?;
    out.reshaped(vec![trip, height, width])
}

/// The first minimum (or maximum) of each iteration's vector, and its index; NaN precedes all numbers.
pub(crate) fn extreme(gpu: &Gpu, array: &Array, least: bool) -> Res<[Array; 2]> {
    let kind = array.scalar;
    let [rows, length] = array.shape[..] else { return unsupported("the extremes of a matrix") };
    if length == 0 {
        return unsupported("the extremes of nothing");
    }
    let (program, function) = (Program::default(), Function::default());
    let better = if least { Cmp::Lt } else { Cmp::Gt };
    // The Bool marks an existing element.
    let op = TupleOperator {
        kinds: vec![Scalar::Bool, kind, Scalar::I64],
        combine: &|e, left, right| {
            let more = format!(
                "!{} && ({} || {})",
                is_nan(kind, &left[1]),
                is_nan(kind, &right[1]),
                compare(better, kind, &right[1], &left[1])
            );
            let second = e.define("f", &format!("{} && (!{} || {more})", right[0], left[0]));
            Ok(vec![
                format!("({} || {})", left[0], right[0]),
                format!("select({}, {}, {second})", left[1], right[1]),
                format!("select({}, {}, {second})", left[2], right[2]),
            ])
        },
        neutral: &|_| Ok(vec!["false".to_owned(), zero(kind).to_owned(), "0li".to_owned()]),
        prepare: &|_| Ok(()),
    };
    let from = |e: &mut Emit<'_>, row: &str, j: &str| {
        let (slot, k) = (e.slot(array, false)?, e.word(length as u32));
        let x = e.define("c", &load(slot, kind, &format!("{row} * {k} + {j}")));
        Ok(vec!["true".to_owned(), x, format!("l_of({j})")])
    };
    let outs = KernelContext { gpu, program: &program, function: &function, env: &|_| None }
        .reduce(&op, rows, length, &from)?;
    Ok([outs[1].reshaped(vec![rows])?, outs[2].reshaped(vec![rows])?])
}

/// Offsets keys of consecutive arrays to keys of one array; those out of bounds stay out of bounds.
pub(crate) fn shifted(gpu: &Gpu, n: usize, keys: &BatchedOperand, length: usize) -> Res<Array> {
    made(gpu, n, Scalar::I64, keys.inner(), |e, row, q| {
        let (key, length) = (keys.load(e, row, q)?, e.word(length as u32));
        let key = e.define("i", &key);
        Ok(format!("select(-1li, l_of({row}) * l_of({length}) + {key}, {key} >= 0li && {key} < l_of({length}))"))
    })
}

/// Records a failed check for iterations whose Bool is false.
pub(crate) fn asserted(gpu: &Gpu, a: &Array) -> Res<()> {
    each(gpu, a.len(), |e, i| {
        let (slot, check) = (e.slot(a, false)?, e.check(Check::Assertion));
        e.line(&format!("if a{slot}[{i}] == 0u {{ fault({check}); }}"));
        Ok(())
    })
}

/// Records a failed check for indices out of bounds.
pub(crate) fn in_bounds(gpu: &Gpu, keys: &Array, n: usize) -> Res<()> {
    each(gpu, keys.len(), |e, i| {
        let (slot, check, n) = (e.slot(keys, false)?, e.check(Check::Bounds), e.word(n as u32));
        e.line(&format!("if a{slot}[{i}] < 0li || a{slot}[{i}] >= l_of({n}) {{ fault({check}); }}"));
        Ok(())
    })
}
