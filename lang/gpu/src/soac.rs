//! Reductions and scans of the IR, and loops with sums, in terms of `fold` and `scan`.

use crate::array::{Array, Operand, Scalar};
use crate::error::{Res, unsupported};
use crate::fold::{ElementEmitter, KernelContext, TupleExprs, TupleOperator, copies, reading};
use crate::nest::{self, Nest};
use crate::queue::Gpu;
use crate::wgsl::deferred_arrays::ElementSource;
use crate::wgsl::scalar::{compare, is_nan, zero};
use crate::wgsl::{Emit, ORIGIN, OuterValues, VarValue, load};
use adl_ir::{Block, Cmp, Function, Loop, Program, Soac, SoacKind, Var};
use adl_prim::Bin;

/// Emits the operator of a block: its parameters are accumulated values, then elements.
pub(crate) fn combine(e: &mut Emit<'_>, b: &Block, kinds: &[Scalar], x: &[String], y: &[String]) -> Res<TupleExprs> {
    for (p, (s, v)) in b.params.iter().zip(kinds.iter().chain(kinds).zip(x.iter().chain(y))) {
        e.bind(*p, VarValue::Number(*s, v.clone()));
    }
    e.stmts(b)?;
    b.results.iter().map(|v| e.number(*v).map(|(_, t)| t)).collect()
}

/// The sums of a nest whose innermost loop is a sum: one array per sum, over the other loops.
pub(crate) fn sums(
    gpu: &Gpu,
    program: &Program,
    func: &Function,
    nest: &Nest<'_>,
    env: OuterValues<'_>,
) -> Res<Vec<Array>> {
    let Some((last, length)) = nest.levels.last() else { return Ok(Vec::new()) };
    let kinds = nest::kinds(func, &last.body)?;
    // If vectors exceed the maximum binding, launches see parts of them.
    let split = nest::parts(gpu, nest, &[], env)?.is_some();
    let outer: Vec<usize> = nest.extents()[..nest.levels.len() - 1].to_vec();
    let op = TupleOperator {
        kinds: kinds.clone(),
        combine: &|e, x, y| kinds.iter().zip(x.iter().zip(y)).map(|(s, (x, y))| e.bin(Bin::Add, *s, x, y)).collect(),
        neutral: &|e| Ok(kinds.iter().map(|s| e.zero(*s)).collect()),
        prepare: &|e| nest.prepare(e, split),
    };
    let from = |e: &mut Emit<'_>, row: &str, j: &str| {
        let dims: Vec<String> = outer.iter().map(|n| e.word(*n as u32)).collect();
        let mut at = if outer.is_empty() { Vec::new() } else { nest::indices(e, row, &dims) };
        at.push(j.to_owned());
        let made = nest.body(e, &at, split.then_some(ORIGIN))?;
        let made = made
            .into_iter()
            .map(|x| if let ElementSource::Number(_, t) = x { Ok(t) } else { unsupported("sums of arrays") });
        let made = made.collect::<Res<TupleExprs>>()?;
        Ok(copies(e, &made))
    };
    let rows: usize = outer.iter().product();
    let outs = KernelContext { gpu, program, function: func, env }.reduce(&op, rows, *length, &from)?;
    outs.into_iter().map(|a| a.reshaped(outer.clone())).collect()
}

/// The sum along the first axis.
pub fn sum(gpu: &Gpu, a: &Array) -> Res<Array> {
    along(gpu, a, Bin::Add)
}

/// The neutral element of addition or multiplication.
pub(crate) fn unit(e: &mut Emit<'_>, b: Bin, s: Scalar) -> Res<TupleExprs> {
    let one = match s {
        Scalar::F32 => "1.0f",
        Scalar::F64 => "1.0lf",
        Scalar::I64 => "1li",
        Scalar::Bool | Scalar::Word => return unsupported("a sum of what is no number"),
    };
    Ok(vec![if b == Bin::Mul { one.to_owned() } else { e.zero(s) }])
}

/// The sum or product along the first axis.
pub fn along(gpu: &Gpu, array: &Array, b: Bin) -> Res<Array> {
    let Some((length, inner)) = array.shape.split_first() else { return unsupported("the sum of a number") };
    let (width, kind): (usize, Scalar) = (inner.iter().product(), array.scalar);
    let (program, function) = (Program::default(), Function::default());
    let op = TupleOperator {
        kinds: vec![kind],
        combine: &|e, x, y| e.bin(b, kind, &x[0], &y[0]).map(|t| vec![t]),
        neutral: &|e| unit(e, b, kind),
        prepare: &|_| Ok(()),
    };
    let from = |e: &mut Emit<'_>, row: &str, j: &str| {
        let m = e.word(width as u32);
        let x = e.element(array, false, &format!("({j} * {m} + {row})"))?;
        Ok(vec![e.define("c", &x)])
    };
    let mut outs = KernelContext { gpu, program: &program, function: &function, env: &|_| None }
        .columns(&op, width, *length, &from)?;
    outs.remove(0).reshaped(inner.to_vec())
}

/// Prefix sums or products along the first axis, from the end if `reverse`.
pub fn running(gpu: &Gpu, array: &Array, b: Bin, reverse: bool) -> Res<Array> {
    let Some((length, inner)) = array.shape.split_first() else { return unsupported("the running sums of a number") };
    let (width, kind): (usize, Scalar) = (inner.iter().product(), array.scalar);
    let (program, function) = (Program::default(), Function::default());
    let op = TupleOperator {
        kinds: vec![kind],
        combine: &|e, x, y| e.bin(b, kind, &x[0], &y[0]).map(|t| vec![t]),
        neutral: &|e| unit(e, b, kind),
        prepare: &|_| Ok(()),
    };
    let from = |e: &mut Emit<'_>, row: &str, j: &str| {
        let (m, n) = (e.word(width as u32), e.word(*length as u32));
        let j = if reverse { format!("({n} - 1u - {j})") } else { j.to_owned() };
        let slot = e.slot(array, false)?;
        Ok(vec![e.define("c", &format!("a{slot}[{j} * {m} + {row}]"))])
    };
    let mut outs = KernelContext { gpu, program: &program, function: &function, env: &|_| None }
        .scan(&op, width, *length, false, &from)?;
    // Rows of the scan are columns of the operand; a vector is a single column.
    let rows = outs.remove(0);
    let made =
        if width == 1 { rows } else { crate::data_movement::transpose(gpu, &rows)? }.reshaped(array.shape.clone())?;
    if reverse { crate::data_movement::reverse(gpu, &made) } else { Ok(made) }
}

/// Whether any (or, with `every`, each) Bool of an array is true.
pub fn any(gpu: &Gpu, array: &Array, every: bool) -> Res<Array> {
    let (program, function) = (Program::default(), Function::default());
    let op = TupleOperator {
        kinds: vec![Scalar::Bool],
        combine: &|_, x, y| Ok(vec![format!("({} {} {})", x[0], if every { "&&" } else { "||" }, y[0])]),
        neutral: &|_| Ok(vec![every.to_string()]),
        prepare: &|_| Ok(()),
    };
    if array.scalar != Scalar::Bool {
        return unsupported("no Bools in the place of some");
    }
    let mut outs = KernelContext { gpu, program: &program, function: &function, env: &|_| None }.reduce(
        &op,
        1,
        array.len(),
        &reading(std::slice::from_ref(array), array.len()),
    )?;
    outs.remove(0).reshaped(Vec::new())
}

/// The first minimum (or maximum) of a non-empty vector, and its index; NaN precedes all numbers.
pub fn extreme(gpu: &Gpu, array: &Array, least: bool) -> Res<[Array; 2]> {
    let (kind, program, function) = (array.scalar, Program::default(), Function::default());
    if array.shape.len() != 1 || array.is_empty() {
        return unsupported("the extremes of a matrix, or of nothing");
    }
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
    let from = |e: &mut Emit<'_>, _: &str, j: &str| {
        let slot = e.slot(array, false)?;
        let x = e.define("c", &load(slot, kind, j));
        Ok(vec!["true".to_owned(), x, format!("l_of({j})")])
    };
    let outs = KernelContext { gpu, program: &program, function: &function, env: &|_| None }.reduce(
        &op,
        1,
        array.len(),
        &from,
    )?;
    Ok([outs[1].reshaped(Vec::new())?, outs[2].reshaped(Vec::new())?])
}

/// Which results of a reduction or scan are used. Unused results of a scan are empty arrays.
pub(crate) type Wanted<'a> = &'a dyn Fn(usize) -> bool;

/// A reduction or scan of vectors.
pub fn run(gpu: &Gpu, p: &Program, f: &Function, s: &Soac, env: OuterValues<'_>) -> Res<Vec<Array>> {
    run_for(gpu, p, f, s, env, &|_| true)
}

/// [`run`] if only some results are used.
pub(crate) fn run_for(
    gpu: &Gpu,
    program: &Program,
    func: &Function,
    soac: &Soac,
    env: OuterValues<'_>,
    wanted: Wanted<'_>,
) -> Res<Vec<Array>> {
    let arrays = soac.arrays.iter().map(|v| match env(*v) {
        Some(Operand::Array(a)) if a.shape.len() == 1 => Ok(a),
        _ => unsupported("a reduction of an array that is not a vector on the device"),
    });
    let arrays = arrays.collect::<Res<Vec<_>>>()?;
    let length = arrays.first().map_or(0, Array::len);
    if arrays.iter().any(|a| a.len() != length) {
        return unsupported("arrays of different lengths");
    }
    let kinds: Vec<Scalar> = arrays.iter().map(|a| a.scalar).collect();
    let outs = accumulated(
        &KernelContext { gpu, program, function: func, env },
        (soac, &kinds),
        (1, length),
        &|_| Ok(()),
        &reading(&arrays, length),
        wanted,
    )?;
    Ok(shaped(outs, soac, length))
}

/// A reduction or scan fused with a stateless loop, whose outputs are not materialised. `made`: the loop's outputs.
pub(crate) fn fused_with_loop(
    gpu: &Gpu,
    program: &Program,
    func: &Function,
    (l, made): (&Loop, &[Var]),
    soac: &Soac,
    env: OuterValues<'_>,
    wanted: Wanted<'_>,
) -> Res<Vec<Array>> {
    let nest = Nest::of(l, env)?;
    let ([(_, length)], None) = (&nest.levels[..], nest::parts(gpu, &nest, &[], env)?) else {
        return unsupported("a reduction of rows, or of parts");
    };
    let others = soac.arrays.iter().map(|v| match env(*v) {
        _ if made.contains(v) => Ok(None),
        Some(Operand::Array(a)) if a.shape == [*length] => Ok(Some(a)),
        _ => unsupported("arrays of different lengths"),
    });
    let others = others.collect::<Res<Vec<_>>>()?;
    let from = |emit: &mut Emit<'_>, _: &str, j: &str| {
        let numbers = nest.body(emit, &[j.to_owned()], None)?;
        let numbers =
            soac.arrays.iter().zip(&others).map(|(v, other)| match (other, made.iter().position(|m| m == v)) {
                (Some(a), _) => emit.element(a, false, j),
                (None, Some(k)) => match numbers.get(k) {
                    Some(ElementSource::Number(_, t)) => Ok(t.clone()),
                    _ => unsupported("rows in the place of numbers"),
                },
                (None, None) => unsupported("an array that is made nowhere"),
            });
        let numbers = numbers.collect::<Res<TupleExprs>>()?;
        Ok(copies(emit, &numbers))
    };
    let kinds = soac
        .arrays
        .iter()
        .map(|v| Scalar::inside(func.ty(*v)).map_or_else(|| unsupported("arrays of data"), Ok))
        .collect::<Res<Vec<_>>>()?;
    let outs = accumulated(
        &KernelContext { gpu, program, function: func, env },
        (soac, &kinds),
        (1, *length),
        &|e| nest.prepare(e, false),
        &from,
        wanted,
    )?;
    Ok(shaped(outs, soac, *length))
}

/// The results of a single row, as scalars or vectors.
fn shaped(outs: Vec<Array>, s: &Soac, length: usize) -> Vec<Array> {
    let shape = |a: &Array| if s.kind == SoacKind::Reduce { Vec::new() } else { vec![length.min(a.len())] };
    outs.into_iter().map(|a| Array { shape: shape(&a), ..a }).collect()
}

/// A reduction or scan of each row of arrays with `batched_ops` rows of this length.
#[allow(clippy::too_many_arguments)]
pub fn rows(
    gpu: &Gpu,
    p: &Program,
    f: &Function,
    s: &Soac,
    env: OuterValues<'_>,
    arrays: &[Array],
    rows: usize,
    length: usize,
) -> Res<Vec<Array>> {
    let kinds: Vec<Scalar> = arrays.iter().map(|a| a.scalar).collect();
    accumulated(
        &KernelContext { gpu, program: p, function: f, env },
        (s, &kinds),
        (rows, length),
        &|_| Ok(()),
        &reading(arrays, length),
        &|_| true,
    )
}

/// A reduction or scan of elements that `from` emits, after `prepare` has bound variables.
fn accumulated(
    context: &KernelContext<'_>,
    (soac, kinds): (&Soac, &[Scalar]),
    (rows, length): (usize, usize),
    prepare: &dyn Fn(&mut Emit<'_>) -> Res<()>,
    from: ElementEmitter<'_>,
    wanted: Wanted<'_>,
) -> Res<Vec<Array>> {
    let op = TupleOperator {
        kinds: kinds.to_vec(),
        combine: &|e, x, y| combine(e, &soac.op, kinds, x, y),
        neutral: &|e| soac.neutral.iter().map(|v| e.number(*v).map(|(_, t)| t)).collect(),
        prepare: &|e| {
            soac.neutral.iter().try_for_each(|v| e.outside(*v))?;
            e.prepare(&soac.op)?;
            prepare(e)
        },
    };
    match soac.kind {
        SoacKind::Reduce => context.reduce(&op, rows, length, from),
        kind => context.scan_for(&op, (rows, length), kind == SoacKind::ScanExclusive, from, wanted),
    }
}
