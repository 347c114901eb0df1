//! Fused elementwise statements on arrays of one shape, as one kernel.

use crate::array::{Array, Operand, Scalar};
use crate::error::{Res, unsupported};
use crate::nest::{THREADS, launch};
use crate::queue::Gpu;
pub use crate::wgsl::scalar::is_pointwise;
use crate::wgsl::{Emit, OuterValues, VarValue, packed};
use adl_ir::{Function, Program, Stmt, Var};

/// The variables that statements read but do not define, without repetition.
fn read(stmts: &[Stmt]) -> Vec<Var> {
    let (mut made, mut out) = (Vec::new(), Vec::new());
    for s in stmts {
        s.op.each_operand(&mut |v| {
            if !made.contains(&v) && !out.contains(&v) {
                out.push(v);
            }
        });
        made.extend(s.outs.iter().chain(&s.lin_outs).copied());
    }
    out
}

/// The arrays that statements read, which must have one shape.
fn operands(stmts: &[Stmt], env: OuterValues<'_>) -> Res<Vec<(Var, Array)>> {
    let mut arrays: Vec<(Var, Array)> = Vec::new();
    for v in read(stmts) {
        match env(v) {
            Some(Operand::Array(a)) if !a.shape.is_empty() => arrays.push((v, a)),
            Some(_) => {}
            None => return unsupported("a value that is not on the device"),
        }
    }
    if arrays.windows(2).any(|w| w[0].1.shape != w[1].1.shape) {
        unsupported("arrays of different shapes")
    } else {
        Ok(arrays)
    }
}

/// Runs elementwise statements on arrays of one shape and scalars. Returns the values of `results`.
pub fn run(
    gpu: &Gpu,
    program: &Program,
    func: &Function,
    stmts: &[Stmt],
    results: &[Var],
    env: OuterValues<'_>,
) -> Res<Vec<Array>> {
    if !stmts.iter().all(|s| is_pointwise(&s.op)) {
        return unsupported("an operation that is not done element by element");
    }
    let arrays = operands(stmts, env)?;
    let Some(shape) = arrays.first().map(|(_, a)| a.shape.clone()) else {
        return unsupported("operations without an array");
    };
    let kinds = results
        .iter()
        .map(|v| Scalar::of(func.ty(*v).scalar()).map_or_else(|| unsupported("arrays of data"), Ok))
        .collect::<Res<Vec<_>>>()?;
    let outs = kinds.into_iter().map(|s| gpu.empty(s, shape.clone())).collect::<Res<Vec<_>>>()?;
    let count = shape.iter().product();
    if count == 0 {
        return Ok(outs);
    }
    let mut emit = Emit::new(gpu, program, func, env);
    let (first, end) = (emit.word(0), emit.word(count as u32));
    let index = emit.define("i", &format!("group * {THREADS}u + l"));
    emit.open(&format!("if {index} < {end} - {first} && group < params[0]"));
    for (v, a) in &arrays {
        let slot = emit.part(a, false)?;
        let x = emit.define("v", &crate::wgsl::load(slot, a.scalar, &index));
        emit.bind(*v, VarValue::Number(a.scalar, x));
    }
    stmts.iter().try_for_each(|s| emit.write(s))?;
    for (v, a) in results.iter().zip(&outs) {
        let (s, x) = emit.number(*v)?;
        let slot = emit.part(a, true)?;
        emit.line(&format!("a{slot}[{index}] = {};", packed(s, &x)));
    }
    emit.close();
    let large = arrays.iter().map(|(_, a)| a).chain(&outs).any(|a| a.bytes() > gpu.caps.binding);
    let each = if large { (gpu.caps.binding / 8) as usize / 256 * 256 } else { count };
    if each == 0 {
        return unsupported("kernels that see too little memory");
    }
    launch(gpu, emit.finish(THREADS, ""), count, each)?;
    Ok(outs)
}

/// A batch of iterations: their number, the extents of their arrays, and which variables have the iterations as their
/// first axis.
pub(crate) struct InIterations<'a> {
    pub n: usize,
    pub inner: &'a [usize],
    pub each: &'a dyn Fn(Var) -> bool,
}

/// [`run`] for all iterations of a loop. Arrays that vary have the iterations as their first axis; others are shared.
/// Scalars and arrays smaller than an iteration's result are broadcast.
pub(crate) fn in_iterations(
    gpu: &Gpu,
    program: &Program,
    func: &Function,
    stmts: &[Stmt],
    results: &[Var],
    env: OuterValues<'_>,
    trip: &InIterations<'_>,
) -> Res<Vec<Array>> {
    let InIterations { n, inner, .. } = *trip;
    let size: usize = inner.iter().product();
    let kinds = results
        .iter()
        .map(|v| Scalar::of(func.ty(*v).scalar()).map_or_else(|| unsupported("arrays of data"), Ok))
        .collect::<Res<Vec<_>>>()?;
    let outs = kinds.into_iter().map(|s| gpu.empty(s, [&[n], inner].concat())).collect::<Res<Vec<_>>>()?;
    let total = n * size;
    if total == 0 {
        return Ok(outs);
    }
    let mut emit = Emit::new(gpu, program, func, env);
    let (end, one) = (emit.word(total as u32), emit.word(size as u32));
    let i = emit.define("i", &format!("group * {THREADS}u + l"));
    emit.open(&format!("if {i} < {end} && group < params[0]"));
    bind(&mut emit, stmts, env, trip, (&i, &one))?;
    stmts.iter().try_for_each(|s| emit.write(s))?;
    for (v, a) in results.iter().zip(&outs) {
        let (s, x) = emit.number(*v)?;
        let slot = emit.slot(a, true)?;
        emit.line(&format!("a{slot}[{i}] = {};", packed(s, &x)));
    }
    emit.close();
    launch_all(gpu, emit, total)?;
    Ok(outs)
}

/// Loads the operands at a thread's index; `one` is the number of elements per iteration.
fn bind(
    emit: &mut Emit<'_>,
    stmts: &[Stmt],
    env: OuterValues<'_>,
    trip: &InIterations<'_>,
    (index, one): (&str, &str),
) -> Res<()> {
    let InIterations { inner, each, .. } = *trip;
    for stmt in read(stmts) {
        let array = match env(stmt) {
            Some(Operand::Array(a)) => a,
            Some(_) => continue,
            None => return unsupported("a value that is not on the device"),
        };
        let own = if each(stmt) { &array.shape[1..] } else { &array.shape[..] };
        let at = match (each(stmt), own.is_empty()) {
            (true, false) => index.to_owned(),
            (true, true) => format!("{index} / {one}"),
            (false, false) => format!("{index} % {one}"),
            (false, true) => "0u".to_owned(),
        };
        if !own.is_empty() && own != inner {
            return unsupported("arrays of different shapes");
        }
        let slot = emit.slot(&array, false)?;
        let x = emit.define("v", &crate::wgsl::load(slot, array.scalar, &at));
        emit.bind(stmt, VarValue::Number(array.scalar, x));
    }
    Ok(())
}

fn launch_all(gpu: &Gpu, e: Emit<'_>, n: usize) -> Res<()> {
    let w = e.finish(THREADS, "");
    gpu.launch(
        &w.kernel,
        &w.bound(),
        &w.words,
        u32::try_from(n).map_or_else(|_| unsupported("more than 2³² numbers"), Ok)?.div_ceil(THREADS),
    )
}
