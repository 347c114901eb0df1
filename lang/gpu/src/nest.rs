//! Stateless loops as kernels: one thread per iteration, and for nests of collecting loops one thread per innermost
//! iteration.
//!
//! `map`, comprehensions and sums over indices are [`Loop`]s. If the last statement of a loop's body is another such
//! loop, whose extent does not depend on the iteration, the nest is a loop over pairs of indices; statements before the
//! inner loop are repeated for each pair. So `for i j` is one kernel, and an inner sum (`for i, sum for k`) is a
//! reduction of rows (see `fold`).

use crate::array::{Array, Operand, Scalar, cut};
use crate::error::{Check, Res, unsupported};
use crate::queue::Gpu;
use crate::wgsl::deferred_arrays::ElementSource;
use crate::wgsl::{Emit, FinishedKernel, OuterValues, StridedView, VarValue, load, packed};
use adl_ir::{Block, Function, Lit, Loop, Op, Out, Program, Stmt, Trip, Var};
use std::ops::Range;

/// The work-group size.
pub(crate) const THREADS: u32 = 256;

/// A loop nest that becomes one kernel.
pub(crate) struct Nest<'a> {
    /// The loops, from the outermost, each with its extent.
    pub levels: Vec<(&'a Loop, usize)>,
    /// Whether the outputs of the innermost loop are sums.
    pub sums: bool,
}

/// The trip count of a loop, if the host knows it.
fn extent(l: &Loop, env: OuterValues<'_>) -> Option<usize> {
    let Trip::Count(n) = &l.trip else { return None };
    match env(*n)? {
        Operand::Number(Lit::I64(n)) => usize::try_from(n.max(0)).ok(),
        Operand::Number(_) | Operand::Array(_) => None,
    }
}

/// Whether iterations are independent.
fn free(l: &Loop) -> bool {
    l.init.is_empty() && l.lin_init.is_empty() && l.lin_xs.is_empty() && l.lin_outs.is_empty()
}

/// The inner loop whose outputs are exactly the results of a block, and the statements before it.
fn inner(b: &Block) -> Option<(&Loop, &[Stmt])> {
    let (last, before) = b.stmts.split_last()?;
    let Op::Loop(l) = &last.op else { return None };
    (free(l) && last.outs.get(..l.outs.len()) == Some(b.results.as_slice()) && !l.outs.is_empty())
        .then_some((l, before))
}

impl<'a> Nest<'a> {
    /// The nest that becomes one kernel.
    pub fn of(l: &'a Loop, env: OuterValues<'_>) -> Res<Nest<'a>> {
        // Boxes whose shape is known to be the same in all threads are rows.
        let all = |l: &Loop, o| l.outs.iter().all(|x| if *x == Out::Boxed { o == Out::Collect } else { *x == o });
        let Some(count) = extent(l, env) else { return unsupported("a loop whose trip count the host does not know") };
        if !free(l) {
            return unsupported("a loop with state");
        }
        let (mut levels, mut sums) = (vec![(l, count)], all(l, Out::Sum));
        while let Some((last, _)) = levels.last().filter(|(l, _)| all(l, Out::Collect)) {
            let Some((next, _)) = inner(&last.body) else { break };
            let Some(n) = extent(next, env) else { break };
            if !all(next, Out::Collect) && !all(next, Out::Sum) {
                break;
            }
            sums = all(next, Out::Sum);
            levels.push((next, n));
        }
        Ok(Nest { levels, sums })
    }

    /// The extents of the loops.
    pub fn extents(&self) -> Vec<usize> {
        self.levels.iter().map(|(_, n)| *n).collect()
    }

    /// The nest without its innermost loop, which each thread then runs sequentially.
    fn shallower(mut self) -> Nest<'a> {
        self.levels.pop();
        self.sums = false;
        self
    }

    /// Emits the bodies of all loops for these indices. Returns the results of the innermost one.
    pub fn body(&self, emit: &mut Emit<'_>, at: &[String], first: Option<&str>) -> Res<Vec<ElementSource>> {
        for (depth, (ir_loop, count)) in self.levels.iter().enumerate() {
            emit.iteration_index(ir_loop.body.params.first(), &at[depth]);
            ir_loop.body.params.first().map(|p| emit.trip.insert(*p, (at[depth].clone(), *count)));
            for (p, x) in ir_loop.body.params.iter().skip(1).zip(&ir_loop.xs) {
                if let Some(first) = first.filter(|_| depth == 0)
                    && let VarValue::Number(s, t) = emit.element_of_part(*x, &format!("{} - {first}", at[depth]))?
                {
                    emit.bind_number(*p, s, &t);
                    continue;
                }
                let a = emit.walked(*x)?;
                self.long_enough(emit, &a.dims()[0], *count);
                let row = emit.first_axis(&a, &at[depth])?;
                emit.bind(*p, row);
            }
            match (self.levels.get(depth + 1), ir_loop.body.stmts.split_last()) {
                (Some(_), Some((_, before))) => before.iter().try_for_each(|s| emit.write(s))?,
                _ => emit.stmts(&ir_loop.body)?,
            }
        }
        let Some((l, _)) = self.levels.last() else { return Ok(Vec::new()) };
        l.body.results.iter().map(|v| emit.elements(*v)).collect()
    }

    fn long_enough(&self, e: &mut Emit<'_>, has: &str, n: usize) {
        if e.known(has).is_some_and(|k| k >= n as i64) {
            return;
        }
        let check = e.check(Check::Bounds);
        let n = e.word(n as u32);
        e.line(&format!("if {has} < {n} {{ fault({check}); }}"));
    }
}

/// The multidimensional indices of a linear index.
pub(crate) fn indices(e: &mut Emit<'_>, at: &str, dims: &[String]) -> Vec<String> {
    let (mut left, mut out) = (at.to_owned(), Vec::new());
    for d in dims.iter().skip(1).rev() {
        let d = e.define("d", &format!("max({d}, 1u)"));
        out.push(e.define("i", &format!("{left} % {d}")));
        left = e.define("i", &format!("{left} / {d}"));
    }
    out.push(left);
    out.reverse();
    out
}

/// Runs a loop as kernels. Returns one array per output.
pub fn run(gpu: &Gpu, program: &Program, func: &Function, l: &Loop, env: OuterValues<'_>) -> Res<Vec<Array>> {
    let nest = Nest::of(l, env)?;
    let rows = l.body.results.iter().any(|v| func.ty(*v).rank() > 0);
    if l.outs.contains(&Out::Sum) && (!nest.sums || rows) {
        // Rows are collected before they are summed.
        let all = map(gpu, program, func, &nest, env)?;
        return all
            .into_iter()
            .zip(&l.outs)
            .map(|(a, o)| if *o == Out::Sum { crate::soac::sum(gpu, &a) } else { Ok(a) })
            .collect();
    }
    // Short sums are computed by the thread that needs them.
    let nest = match nest.levels.last() {
        Some((_, n)) if nest.sums && nest.levels.len() > 1 && *n <= 64 => nest.shallower(),
        _ => nest,
    };
    if nest.sums { crate::soac::sums(gpu, program, func, &nest, env) } else { map(gpu, program, func, &nest, env) }
}

/// The element types of a loop's results.
pub(crate) fn kinds(f: &Function, b: &Block) -> Res<Vec<Scalar>> {
    let of = |v: &Var| Scalar::inside(f.ty(*v)).map_or_else(|| unsupported("arrays of data"), Ok);
    b.results.iter().map(of).collect()
}

fn map(gpu: &Gpu, p: &Program, f: &Function, nest: &Nest<'_>, env: OuterValues<'_>) -> Res<Vec<Array>> {
    let results = nest.levels.last().map_or(0, |(l, _)| l.body.results.len());
    some(gpu, p, f, nest, env, 0..results)
}

/// Computes some outputs of collecting loops. If they exceed the maximum number of bindings, several kernels are used,
/// which repeat the body.
fn some(
    gpu: &Gpu,
    program: &Program,
    func: &Function,
    nest: &Nest<'_>,
    env: OuterValues<'_>,
    which: Range<usize>,
) -> Res<Vec<Array>> {
    let Some((last, _)) = nest.levels.last() else { return Ok(Vec::new()) };
    let (kinds, shape) = (&kinds(func, &last.body)?[which.clone()], nest.extents());
    let count: usize = shape.iter().product();
    let rows = last.body.results[which.clone()].iter().any(|v| func.ty(*v).rank() > 0);
    if count == 0 && rows {
        return unsupported("rows that no iteration makes");
    }
    let outs =
        if rows { Vec::new() } else { kinds.iter().map(|s| gpu.empty(*s, shape.clone())).collect::<Res<Vec<_>>>()? };
    if count == 0 {
        return Ok(outs);
    }
    let split = parts(gpu, nest, &outs, env)?;
    let mut emit = Emit::new(gpu, program, func, env);
    let (first, end) = (emit.word(0), emit.word(count as u32));
    let dims: Vec<String> = shape.iter().map(|n| emit.word(*n as u32)).collect();
    nest.prepare(&mut emit, split.is_some())?;
    let i = emit.define("i", &format!("group * {THREADS}u + l + {first}"));
    emit.lane = split.is_none().then(|| (i.clone(), count));
    emit.open(&format!("if {i} < {end} && group < params[0]"));
    let at = indices(&mut emit, &i, &dims);
    let made = nest.body(&mut emit, &at, split.as_ref().map(|_| first.as_str()))?;
    let made = &made[which.clone()];
    let outs = if rows { made.iter().map(|x| whole(gpu, &emit, x, &shape)).collect::<Res<Vec<_>>>()? } else { outs };
    for (a, x) in outs.iter().zip(made) {
        put(&mut emit, a, x, &i, split.is_some().then_some(first.as_str()))?;
    }
    emit.close();
    if emit.arrays() + 2 > gpu.caps.bindings as usize && which.len() > 1 {
        let middle = which.start + which.len() / 2;
        let halves = [which.start..middle, middle..which.end].map(|r| some(gpu, program, func, nest, env, r));
        return halves.into_iter().collect::<Res<Vec<_>>>().map(|h| h.concat());
    }
    launch(gpu, emit.finish(THREADS, ""), count, split.unwrap_or(count))?;
    Ok(outs)
}

/// Allocates an array for the results of all threads.
pub(crate) fn whole(gpu: &Gpu, e: &Emit<'_>, x: &ElementSource, shape: &[usize]) -> Res<Array> {
    let inner = x.dims().iter().map(|d| e.known(d).and_then(|n| usize::try_from(n).ok())).collect::<Option<Vec<_>>>();
    let Some(inner) = inner else { return unsupported("rows whose length the host does not know") };
    gpu.empty(x.scalar(), [shape.to_vec(), inner].concat())
}

/// Stores a thread's result, a scalar or a row.
pub(crate) fn put(
    emit: &mut Emit<'_>,
    array: &Array,
    source: &ElementSource,
    index: &str,
    first: Option<&str>,
) -> Res<()> {
    if let (ElementSource::Number(s, x), Some(first)) = (source, first) {
        let slot = emit.part(array, true)?;
        emit.line(&format!("a{slot}[{index} - {first}] = {};", packed(*s, x)));
        return Ok(());
    }
    let slot = emit.slot(array, true)?;
    let dims = source.dims().to_vec();
    let steps = emit.steps(&dims);
    let size = match (dims.first(), steps.first()) {
        (Some(d), Some(s)) => emit.define("k", &format!("{d} * {s}")),
        _ => "1u".to_owned(),
    };
    let base = emit.define("k", &format!("{index} * {size}"));
    emit.fill(&StridedView { array: slot, scalar: array.scalar, base, dims, steps }, source)
}

/// The number of elements per launch if an array exceeds the maximum binding and its elements are those of the loop.
/// (If it is read at arbitrary indices, launches see all of it, by several bindings.)
pub(crate) fn parts(gpu: &Gpu, nest: &Nest<'_>, outs: &[Array], env: OuterValues<'_>) -> Res<Option<usize>> {
    let large = |a: &Array| a.bytes() > gpu.caps.binding;
    let xs: Vec<Array> = nest
        .levels
        .iter()
        .flat_map(|(l, _)| &l.xs)
        .filter_map(|v| env(*v))
        .filter_map(|o| if let Operand::Array(a) = o { Some(a) } else { None })
        .collect();
    if !outs.iter().chain(&xs).any(large) {
        return Ok(None);
    }
    let anywhere = nest.levels.iter().any(|(l, _)| l.xs.iter().any(|x| reads(&l.body, *x)));
    if nest.levels.len() > 1 || anywhere || outs.iter().chain(&xs).any(|a| a.shape.len() > 1) {
        return Ok(None);
    }
    let each = (gpu.caps.binding / 8) as usize / 256 * 256;
    if each == 0 { unsupported("kernels that see too little memory") } else { Ok(Some(each)) }
}

/// Launches a kernel over elements from 0 to `n`, `each` at a time. Its first two parameters are the start and end of
/// the range.
pub(crate) fn launch(gpu: &Gpu, w: FinishedKernel, n: usize, each: usize) -> Res<()> {
    let mut words = w.words.clone();
    for from in (0..n).step_by(each.max(1)) {
        let to = (from + each).min(n);
        (words[0], words[1]) = (from as u32, to as u32);
        gpu.launch(&w.kernel, &w.bound_with(|a| cut(a, from, to)), &words, ((to - from) as u32).div_ceil(THREADS))?;
    }
    Ok(())
}

/// Launches a hand-written kernel with a thread per number from 0 to `count`; `body` receives the thread's number.
pub(crate) fn each(gpu: &Gpu, count: usize, body: impl FnOnce(&mut Emit<'_>, &str) -> Res<()>) -> Res<()> {
    if count == 0 {
        return Ok(());
    }
    let (program, function) = (Program::default(), Function::default());
    let mut e = Emit::new(gpu, &program, &function, &|_| None);
    let all = e.word(u32::try_from(count).map_or_else(|_| unsupported("more than 2³² numbers"), Ok)?);
    let i = e.define("i", &format!("group * {THREADS}u + l"));
    e.open(&format!("if {i} < {all} && group < params[0]"));
    body(&mut e, &i)?;
    e.close();
    let w = e.finish(THREADS, "");
    gpu.launch(&w.kernel, &w.bound(), &w.words, (count as u32).div_ceil(THREADS))
}

impl Nest<'_> {
    /// Binds variables from outside before any control flow. Arrays of which launches see a part are skipped.
    pub fn prepare(&self, e: &mut Emit<'_>, split: bool) -> Res<()> {
        if let Some((l, _)) = self.levels.first() {
            for x in l.xs.iter().filter(|_| split) {
                e.take_part(*x)?;
            }
            e.prepare(&l.body)?;
            l.xs.iter().filter(|_| !split).try_for_each(|x| e.outside(*x))?;
        }
        Ok(())
    }
}

/// Whether a block reads a variable.
fn reads(b: &Block, v: Var) -> bool {
    let mut found = b.results.contains(&v);
    for s in &b.stmts {
        s.op.each_operand(&mut |x| found |= x == v);
        found |= s.op.blocks().into_iter().any(|b| reads(b, v));
    }
    found
}

impl Emit<'_> {
    /// The element at an index of an array that is bound in part.
    fn element_of_part(&mut self, v: Var, at: &str) -> Res<VarValue> {
        match self.place(v)? {
            VarValue::StridedView(w) if w.steps.len() == 1 => {
                Ok(VarValue::Number(w.scalar, load(w.array, w.scalar, &format!("({at})"))))
            }
            other => Ok(other),
        }
    }
}
