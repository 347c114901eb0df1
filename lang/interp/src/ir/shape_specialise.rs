//! Shape specialisation of native code, for arguments that are small vectors, have small rows or consist of
//! small matrices. Code that knows these extents keeps the elements in registers ([`mod@adl_opt::scalar_replacement`]).
//! The extents of residuals are only known at run time, so transposed code can be specialised only here.
//!
//! A specialised function begins with assertions of the assumed extents, and is only called with arguments for
//! which they hold.

use super::lowered_ir::LoweredIr;
use crate::limits::ir_shape_specialise::{ITERATIONS, MATRIX, SMALL};
use crate::value::{Kind, Value};
use adl_ir::{Added, Block, Cmp, Function, Lit, Op, Stmt, Trip, Ty, Var};
use std::collections::HashSet;

/// A fact that is assumed about a parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ShapeFact {
    /// The extent of an axis: parameter, axis, extent.
    Extent(usize, u32, usize),
    /// The value of an Int: parameter, value.
    Int(usize, i64),
}

impl ShapeFact {
    /// Whether it holds for the arguments.
    fn holds(self, args: &[&Value]) -> bool {
        match self {
            ShapeFact::Extent(k, axis, n) => {
                matches!(args.get(k), Some(Value::Array(a)) if a.shape.get(axis as usize) == Some(&n))
            }
            ShapeFact::Int(k, n) => matches!(args.get(k), Some(Value::Int(m)) if *m == n),
        }
    }
}

/// Whether all facts hold for the arguments.
pub(super) fn hold(facts: &[ShapeFact], args: &[&Value]) -> bool {
    facts.iter().all(|f| f.holds(args))
}

/// The extents of small vectors, of small rows, and of small matrices.
pub(super) fn extents(leaves: &[&Value]) -> Vec<ShapeFact> {
    let mut out = Vec::new();
    for (k, v) in leaves.iter().enumerate() {
        let Value::Array(a) = v else { continue };
        let Some((first, rows)) = a.shape.split_first().filter(|_| a.kind() == Kind::F64 && !a.shape.contains(&0))
        else {
            continue;
        };
        let mut say = |axis: usize| out.push(ShapeFact::Extent(k, axis as u32, a.shape[axis]));
        let row: usize = rows.iter().product();
        let largest_row = if rows.len() > 1 { MATRIX } else { SMALL };
        let largest = if rows.is_empty() { SMALL } else { MATRIX };
        if row <= largest_row || first * row <= largest {
            (1..a.shape.len()).for_each(&mut say);
        }
        if first * row <= largest {
            say(0);
        }
    }
    out
}

/// Small Ints that determine extents of arrays in the function.
fn ints(func: &Function, args: &[&Value]) -> Vec<ShapeFact> {
    let mut extents = HashSet::new();
    let mut todo = vec![&func.body];
    while let Some(b) = todo.pop() {
        for s in &b.stmts {
            match &s.op {
                Op::Replicate { n, .. } => _ = extents.insert(*n),
                Op::ArrayLit { elems, .. } => extents.extend(elems),
                _ => {}
            }
            todo.extend(s.op.blocks());
        }
    }
    let params = func.body.params.iter().chain(&func.body.lin_params).zip(args).enumerate();
    params
        .filter_map(|(k, (p, x))| match x {
            Value::Int(n) if (1..=SMALL as i64).contains(n) && extents.contains(p) => Some(ShapeFact::Int(k, *n)),
            _ => None,
        })
        .collect()
}

/// The facts about arguments to which the function can be specialised; empty if there are none of use.
pub(super) fn facts(f: &Function, args: &[&Value]) -> Vec<ShapeFact> {
    let mut all = extents(args);
    if !all.is_empty() {
        all.extend(ints(f, args));
    }
    all
}

/// Specialises a function to facts; `None` if nothing is gained.
pub(super) fn variant(source: &LoweredIr, f: &Function, facts: &[ShapeFact]) -> Option<Function> {
    let mut made = f.clone();
    assert_facts(&mut made, facts)?;
    let gains = adl_opt::run(adl_opt::pipelines::SMALL, &source.program(), &mut made, adl_ir::Zeros::Symbolic)
        && arrays(&made) < arrays(f);
    gains.then_some(made)
}

/// The number of statements that produce arrays of Floats, weighted by [`ITERATIONS`] in loops.
fn arrays(f: &Function) -> usize {
    let (mut zeros, mut todo) = (HashSet::new(), vec![&f.body]);
    while let Some(b) = todo.pop() {
        for s in &b.stmts {
            if let Op::Lit(Lit::I64(0)) = s.op {
                zeros.extend(&s.outs);
            }
            todo.extend(s.op.blocks());
        }
    }
    arrays_in(f, &f.body, &zeros)
}

/// The same for a block. Of two branches the larger number counts. A loop whose count is among `zeros` never runs.
fn arrays_in(f: &Function, b: &Block, zeros: &HashSet<Var>) -> usize {
    let array = |v: &Var| f.ty(*v).rank() > 0 && *f.ty(*v).scalar() == Ty::F64;
    let inside = |s: &Stmt| match &s.op {
        Op::If(_, a, b) => arrays_in(f, a, zeros).max(arrays_in(f, b, zeros)),
        Op::Loop(l) if matches!(l.trip, Trip::Count(n) if zeros.contains(&n)) => 0,
        Op::Loop(l) => arrays_in(f, &l.body, zeros).saturating_mul(ITERATIONS),
        op => op.blocks().into_iter().map(|b| arrays_in(f, b, zeros)).fold(0, usize::saturating_add),
    };
    b.stmts
        .iter()
        .map(|s| {
            usize::from(s.outs.iter().any(array))
                .saturating_add(stacker::maybe_grow(64 * 1024, 1024 * 1024, || inside(s)))
        })
        .fold(0, usize::saturating_add)
}

/// Inserts assertions of the facts at the beginning of a function. The extents of boxed rows are asserted where they
/// are read.
pub(super) fn assert_facts(func: &mut Function, facts: &[ShapeFact]) -> Option<()> {
    let mut first = Vec::new();
    for fact in facts {
        let (k, value) = match fact {
            ShapeFact::Extent(k, _, n) => (*k, *n as i64),
            ShapeFact::Int(k, n) => (*k, *n),
        };
        let param = *func.body.params.iter().chain(&func.body.lin_params).nth(k)?;
        if func.linear(param) {
            return None;
        }
        match fact {
            ShapeFact::Extent(_, axis, _) if func.ty(param).rank() > *axis => {
                assert_size(func, AssertedSize::Extent(param, *axis), value, &mut first);
            }
            ShapeFact::Extent(_, axis @ 1.., _) => {
                let mut body = std::mem::take(&mut func.body);
                rows(func, &mut body, (param, *axis - 1), value);
                func.body = body;
            }
            ShapeFact::Extent(..) => return None,
            ShapeFact::Int(..) => assert_size(func, AssertedSize::Int(param), value, &mut first),
        }
    }
    first.append(&mut func.body.stmts);
    func.body.stmts = first;
    Some(())
}

/// What an assertion is about.
enum AssertedSize {
    Extent(Var, u32),
    Int(Var),
}

fn assert_size(f: &mut Function, size: AssertedSize, n: i64, out: &mut Vec<Stmt>) {
    let mut added = Added::new(f, Default::default());
    let n = added.int(n);
    let found = match size {
        AssertedSize::Extent(a, axis) => added.push(Op::Dim(a, axis), Ty::I64),
        AssertedSize::Int(v) => v,
    };
    let same = added.cmp(Cmp::Eq, found, n);
    added.assert(same, "arguments of other sizes");
    out.append(&mut added.stmts);
}

/// Asserts an extent of each row of boxes where a loop over them begins an iteration, and after each read of one.
fn rows(func: &mut Function, block: &mut Block, (boxes, axis): (Var, u32), extent: i64) {
    let mut out = Vec::with_capacity(block.stmts.len());
    for mut stmt in std::mem::take(&mut block.stmts) {
        let mut first = Vec::new();
        if let Op::Loop(l) = &mut stmt.op {
            let row =
                l.xs.iter().position(|x| *x == boxes).and_then(|k| l.body.params.get(1 + l.init.len() + k).copied());
            if let Some(row) = row.filter(|r| func.ty(*r).rank() > axis) {
                assert_size(func, AssertedSize::Extent(row, axis), extent, &mut first);
                first.append(&mut l.body.stmts);
                l.body.stmts = std::mem::take(&mut first);
            }
        }
        if let (Op::Index { a, shape: None, .. }, [row]) = (&stmt.op, &stmt.outs[..])
            && *a == boxes
            && func.ty(*row).rank() > axis
        {
            assert_size(func, AssertedSize::Extent(*row, axis), extent, &mut first);
        }
        stmt.op
            .blocks_mut()
            .into_iter()
            .for_each(|b| stacker::maybe_grow(64 * 1024, 1024 * 1024, || rows(func, b, (boxes, axis), extent)));
        out.push(stmt);
        out.append(&mut first);
    }
    block.stmts = out;
}
