//! Scalar code as a kernel of one thread: loops with scalar state that access array elements. A device is slow at
//! sequential code, but a launch for each statement of each iteration would be slower.

use crate::array::{Array, Operand, Scalar};
use crate::error::{Res, unsupported};
pub(crate) use crate::limits::single_thread::STATEMENTS;
use crate::limits::single_thread::{ALONE, MOST, UNKNOWN};
use crate::nest::{self, THREADS};
use crate::queue::Gpu;
use crate::wgsl::{Emit, OuterValues, StridedView, VarValue, packed};
use adl_ir::{Block, Function, Loop, Op, Out, Program, Stmt, Trip, Var};

/// The number of statements, including nested ones.
pub(crate) fn size(s: &Stmt) -> usize {
    1 + s.op.blocks().into_iter().map(|b| b.stmts.iter().map(size).sum::<usize>()).sum::<usize>()
}

/// An estimate of the operations of a statement. `None` if it is not scalar code with element accesses. `turns` returns
/// known extents.
pub(crate) fn work(func: &Function, stmt: &Stmt, trip: &dyn Fn(Var) -> Option<u64>) -> Option<u64> {
    if !stmt.lin_outs.is_empty()
        || !stmt.outs.iter().all(|v| Scalar::of(func.ty(*v)).is_some() || matches!(stmt.op, Op::Loop(_)))
    {
        return None;
    }
    let block = |b: &Block| {
        b.stmts.iter().try_fold(1u64, |n, s| {
            stacker::maybe_grow(64 * 1024, 1024 * 1024, || work(func, s, trip)).map(|w| n.saturating_add(w))
        })
    };
    match &stmt.op {
        Op::Un(..)
        | Op::Bin(..)
        | Op::Cmp(..)
        | Op::Not(_)
        | Op::Select(..)
        | Op::Convert(..)
        | Op::Lit(_)
        | Op::Index { .. }
        | Op::Dim(..)
        | Op::Dup(_) => Some(1),
        Op::Prim(p, _) if crate::primitive_table::on_gpu(*p) == crate::primitive_table::OnGpu::Number => Some(1),
        Op::If(_, a, b) => Some(block(a)?.saturating_add(block(b)?)),
        Op::Loop(l) if numbers(func, l) => {
            let often = match &l.trip {
                Trip::Count(n) => trip(*n).unwrap_or(UNKNOWN),
                Trip::While(c) => block(c).map(|_| UNKNOWN)?,
            };
            Some(often.saturating_mul(block(&l.body)?))
        }
        _ => None,
    }
}

/// Whether a loop carries, reads and collects scalars only.
fn numbers(f: &Function, l: &Loop) -> bool {
    let number = |v: &Var| Scalar::of(f.ty(*v)).is_some();
    l.lin_init.is_empty()
        && l.lin_xs.is_empty()
        && l.lin_outs.is_empty()
        && !l.outs.contains(&Out::Boxed)
        && l.body.params.iter().all(number)
        && l.body.results.iter().all(number)
}

/// Whether this much work is acceptable for each of several threads.
pub(crate) fn bearable(work: u64) -> bool {
    work <= MOST
}

/// Whether this much work is acceptable for a single thread.
pub(crate) fn bearable_alone(work: u64) -> bool {
    work <= ALONE
}

/// Runs statements in one thread. Returns the values of `outs`; scalars as arrays without axes.
pub(crate) fn run(
    gpu: &Gpu,
    p: &Program,
    f: &Function,
    stmts: &[&Stmt],
    outs: &[Var],
    env: OuterValues<'_>,
) -> Res<Vec<Array>> {
    let mut e = Emit::new(gpu, p, f, env);
    let one = e.word(1);
    let b = Block { stmts: stmts.iter().map(|s| (*s).clone()).collect(), ..Block::default() };
    e.prepare(&b)?;
    let i = e.define("i", "group * 32u + l");
    e.lane = Some((i.clone(), 1));
    e.open(&format!("if {i} < {one} && group < params[0]"));
    stmts.iter().try_for_each(|s| e.write(s))?;
    let made = outs.iter().map(|v| kept(gpu, &mut e, *v)).collect::<Res<Vec<_>>>()?;
    e.close();
    let w = e.finish(32, "");
    gpu.launch(&w.kernel, &w.bound(), &w.words, 1)?;
    Ok(made)
}

/// Runs a statement in `count` iterations of a loop, each in a thread of its own. The results have the iterations as their
/// first axis. `each` says which variables are arrays whose first axis is the iterations.
pub(crate) fn in_iterations(
    gpu: &Gpu,
    p: &Program,
    f: &Function,
    stmt: &Stmt,
    env: OuterValues<'_>,
    (count, each): (usize, &dyn Fn(Var) -> bool),
) -> Res<Vec<Array>> {
    let own = |v: Var| if each(v) { None } else { env(v) };
    let mut emit = Emit::new(gpu, p, f, &own);
    let end = emit.word(u32::try_from(count).map_or_else(|_| unsupported("more than 2³² iterations"), Ok)?);
    let index = emit.define("i", &format!("group * {THREADS}u + l"));
    emit.lane = Some((index.clone(), count));
    emit.open(&format!("if {index} < {end} && group < params[0]"));
    let b = Block { stmts: vec![stmt.clone()], ..Block::default() };
    for v in read(&b) {
        let Some(Operand::Array(a)) = env(v).filter(|_| each(v)) else { continue };
        let all = emit.view(&a)?;
        let own = emit.row(&all, &index);
        emit.bind_view(v, own);
    }
    emit.prepare(&b)?;
    emit.write(stmt)?;
    let made = stmt.outs.iter().map(|v| emit.elements(*v)).collect::<Res<Vec<_>>>()?;
    let outs = made.iter().map(|x| nest::whole(gpu, &emit, x, &[count])).collect::<Res<Vec<_>>>()?;
    for (a, x) in outs.iter().zip(&made) {
        nest::put(&mut emit, a, x, &index, None)?;
    }
    emit.close();
    let w = emit.finish(THREADS, "");
    gpu.launch(&w.kernel, &w.bound(), &w.words, (count as u32).div_ceil(THREADS))?;
    Ok(outs)
}

/// The variables that a block reads, without repetition.
fn read(b: &Block) -> Vec<Var> {
    let mut all = Vec::new();
    crate::exec::reads(b, &mut |v| {
        if !all.contains(&v) {
            all.push(v);
        }
    });
    all
}

/// Stores the value of a variable in an array.
fn kept(gpu: &Gpu, emit: &mut Emit<'_>, v: Var) -> Res<Array> {
    match emit.place(v)? {
        VarValue::Number(s, x) => {
            let a = gpu.empty(s, Vec::new())?;
            let slot = emit.slot(&a, true)?;
            emit.line(&format!("a{slot}[0] = {};", packed(s, &x)));
            Ok(a)
        }
        // Memory of a single thread is contiguous.
        VarValue::StridedView(StridedView { array, dims, base, .. }) => {
            let extents =
                dims.iter().map(|d| emit.known(d).and_then(|n| usize::try_from(n).ok())).collect::<Option<Vec<_>>>();
            match (extents, emit.written(array)) {
                (Some(extents), Some(a)) if base == emit.lane.as_ref().map_or("", |(l, _)| l) => a.reshaped(extents),
                _ => unsupported("a part of an array that a thread makes"),
            }
        }
        VarValue::DeferredArray(_) | VarValue::Nothing => unsupported("what is no number"),
    }
}
