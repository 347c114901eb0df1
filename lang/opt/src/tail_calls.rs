//! Tail-call elimination. The residuals of a loop's iterations are stored in flat arrays, while each recursive call
//! would allocate a box for its residuals.
//!
//! `f x = ... f y ... z` becomes a loop that runs as long as `f` would call itself and carries the arguments,
//! followed by a call of a copy of `f` with the last arguments, which does not call itself. The final part of `f`
//! thus appears once, and its results, of any type, need no initial value in the loop.

use crate::limits::tail_calls::MOST;
use adl_ir::{Block, FnId, Function, Lit, Loop, Op, Program, Stmt, Trip, Ty, Var};
use adl_syntax::span::Span;
use std::collections::HashSet;

/// Eliminates tail calls in `root` and the functions that it calls. `seen` holds the functions that have been
/// processed. Returns the functions of which the second is a part.
pub fn as_loops(program: &mut Program, root: FnId, seen: &mut HashSet<FnId>) -> Vec<(FnId, FnId)> {
    let mut made = Vec::new();
    for me in program.callees(root, |_, _| true) {
        if !seen.insert(me) {
            continue;
        }
        let f = program.func(me).clone();
        let Some(fixed) = carried(&f, me) else { continue };
        let ends = program.reserve(&f.name);
        seen.insert(ends);
        program.set(ends, ending(&f, me, ends));
        program.set(me, looped(&f, me, ends, &fixed));
        crate::check(program, program.func(ends), "tail_calls");
        crate::check(program, program.func(me), "tail_calls");
        made.push((me, ends));
    }
    made
}

/// For a function that calls itself in tail position only: which parameters every such call passes on unchanged.
/// `None` for other functions.
fn carried(f: &Function, me: FnId) -> Option<Vec<bool>> {
    let b = &f.body;
    let flat = |v: &Var| f.ty(*v).scalar().is_flat() && !matches!(f.ty(*v), Ty::Array(e, _) if !e.is_flat());
    if !b.lin_params.is_empty() || !b.params.iter().all(flat) || size(b) > MOST {
        return None;
    }
    let mut calls = Vec::new();
    (ends(b, me, &mut calls) && !calls.is_empty())
        .then(|| (0..b.params.len()).map(|i| calls.iter().all(|args| args[i] == b.params[i])).collect())
}

fn size(b: &Block) -> usize {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
        b.stmts.iter().map(|s| 1 + s.op.blocks().into_iter().map(size).sum::<usize>()).sum()
    })
}

/// Whether a block calls the function in tail position only. Appends the arguments of these calls to `calls`.
fn ends(b: &Block, me: FnId, calls: &mut Vec<Vec<Var>>) -> bool {
    let Some((last, first)) = b.stmts.split_last() else { return true };
    if first.iter().any(|s| mentions(s, me)) {
        return false;
    }
    match &last.op {
        Op::Call { f, args, lin_args, rule, checkpoint } if *f == me => {
            calls.push(args.clone());
            is_end(b, last) && lin_args.is_empty() && rule.is_none() && !checkpoint
        }
        Op::If(_, x, y) if is_end(b, last) => {
            stacker::maybe_grow(64 * 1024, 1024 * 1024, || ends(x, me, calls) && ends(y, me, calls))
        }
        _ => !mentions(last, me),
    }
}

fn is_end(b: &Block, last: &Stmt) -> bool {
    last.outs == b.results && last.lin_outs.is_empty() && b.lin_results.is_empty()
}

fn mentions(s: &Stmt, me: FnId) -> bool {
    let rule = |r: &Option<adl_ir::Rule>| r.as_ref().is_some_and(|r| r.func == me);
    matches!(&s.op, Op::Call { f, rule: r, .. } if *f == me || rule(r))
        || s.op
            .blocks()
            .into_iter()
            .any(|b| stacker::maybe_grow(64 * 1024, 1024 * 1024, || b.stmts.iter().any(|s| mentions(s, me))))
}

/// The copy of a function for arguments with which it does not call itself. A self-call is replaced by arbitrary
/// numbers if the results are numbers; otherwise it is a call of the copy.
fn ending(function: &Function, me: FnId, ends: FnId) -> Function {
    let nothing: Option<Vec<Lit>> = function.body.results.iter().map(|v| nothing(function.ty(*v))).collect();
    let mut func = function.clone();
    replace(&mut func.body, me, &|stmt| match (&nothing, &stmt.op) {
        (Some(lits), _) => stmt
            .outs
            .iter()
            .zip(lits)
            .map(|(v, l)| Stmt { op: Op::Lit(l.clone()), outs: vec![*v], lin_outs: Vec::new(), span: stmt.span })
            .collect(),
        (None, Op::Call { args, .. }) => vec![Stmt {
            op: Op::Call { f: ends, args: args.clone(), lin_args: Vec::new(), rule: None, checkpoint: false },
            ..stmt.clone()
        }],
        (None, _) => vec![stmt.clone()],
    });
    func
}

fn nothing(ty: &Ty) -> Option<Lit> {
    match ty {
        Ty::F64 => Some(Lit::F64(0.0)),
        Ty::F32 => Some(Lit::F32(0.0)),
        Ty::I64 => Some(Lit::I64(0)),
        Ty::Bool => Some(Lit::Bool(false)),
        Ty::Str | Ty::Array(..) | Ty::Data(_) => None,
    }
}

/// Replaces the calls of a function by other statements.
fn replace(b: &mut Block, me: FnId, with: &dyn Fn(&Stmt) -> Vec<Stmt>) {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
        for mut s in std::mem::take(&mut b.stmts) {
            if matches!(&s.op, Op::Call { f, .. } if *f == me) {
                b.stmts.extend(with(&s));
                continue;
            }
            s.op.blocks_mut().into_iter().for_each(|b| replace(b, me, with));
            b.stmts.push(s);
        }
    });
}

/// The function as a loop, followed by a call of the copy `ends`.
fn looped(function: &Function, me: FnId, ends: FnId, fixed: &[bool]) -> Function {
    let mut func = function.clone();
    let body = std::mem::take(&mut func.body);
    let span = body.stmts.last().map_or(Span::default(), |s| s.span);
    let moving: Vec<Var> = body.params.iter().zip(fixed).filter(|(_, f)| !**f).map(|(v, _)| *v).collect();
    let tys: Vec<Ty> = std::iter::once(Ty::Bool).chain(func.tys(&moving)).collect();
    let mut fresh = |tys: &[Ty]| tys.iter().map(|t| func.fresh(t.clone(), false)).collect::<Vec<Var>>();
    let (asked, going, after) = (fresh(&tys), fresh(&tys[..1]), fresh(&tys));
    let (given, begin, index, count) =
        (fresh(&tys[1..]), fresh(&tys[..1])[0], fresh(&[Ty::I64])[0], fresh(&[Ty::I64])[0]);
    let results = fresh(&function.tys(&body.results));
    let names: Vec<Var> = body.params.clone();
    let mut iteration = LoopBuilder { f: &mut func, me, moving: &moving, fixed, tys: &tys, span };
    let mut turned = iteration.block(body);
    turned.params = std::iter::once(index).chain(going).chain(moving.iter().copied()).collect();
    let replaced = |with: &[Var]| {
        let mut with = with.iter();
        names
            .iter()
            .zip(fixed)
            .map(|(v, f)| if *f { *v } else { with.next().copied().unwrap_or(*v) })
            .collect::<Vec<Var>>()
    };
    let condition = Block { params: asked.clone(), results: asked[..1].to_vec(), ..Block::default() };
    let ir_loop = Loop {
        init: std::iter::once(begin).chain(given.iter().copied()).collect(),
        ..Loop::new(Trip::While(condition), turned)
    };
    let stmt = |op: Op, outs: Vec<Var>| Stmt { op, outs, lin_outs: Vec::new(), span };
    let stmts = vec![
        stmt(Op::Lit(Lit::Bool(true)), vec![begin]),
        stmt(Op::Loop(Box::new(ir_loop)), after.iter().copied().chain([count]).collect()),
        stmt(
            Op::Call { f: ends, args: replaced(&after[1..]), lin_args: Vec::new(), rule: None, checkpoint: false },
            results.clone(),
        ),
    ];
    func.body = Block { params: replaced(&given), lin_params: Vec::new(), stmts, results, lin_results: Vec::new() };
    func
}

/// Context for building the body of the loop.
struct LoopBuilder<'a> {
    f: &'a mut Function,
    me: FnId,
    /// The parameters that change, and for every parameter whether it is fixed.
    moving: &'a [Var],
    fixed: &'a [bool],
    /// The types of an iteration's results: whether it continues, and the next arguments.
    tys: &'a [Ty],
    span: Span,
}

impl LoopBuilder<'_> {
    /// Converts a block to return the next iteration's arguments instead of results.
    fn block(&mut self, mut block: Block) -> Block {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
            let end = block.stmts.last().is_some_and(|s| mentions(s, self.me));
            let Some(last) = block.stmts.pop().filter(|_| end) else {
                return self.leaf(Vec::new(), false, self.moving.to_vec());
            };
            match last.op {
                Op::Call { args, .. } => {
                    let args = args.into_iter().zip(self.fixed).filter(|(_, f)| !**f).map(|(v, _)| v).collect();
                    self.leaf(block.stmts, true, args)
                }
                Op::If(c, x, y) => {
                    let op = Op::If(c, Box::new(self.block(*x)), Box::new(self.block(*y)));
                    let outs: Vec<Var> = self.tys.iter().map(|t| self.f.fresh(t.clone(), false)).collect();
                    block.stmts.push(Stmt { op, outs: outs.clone(), lin_outs: Vec::new(), span: last.span });
                    Block { stmts: block.stmts, results: outs, ..block }
                }
                // A return without a self-call.
                _ => self.leaf(block.stmts, false, self.moving.to_vec()),
            }
        })
    }

    fn leaf(&mut self, mut stmts: Vec<Stmt>, goes_on: bool, args: Vec<Var>) -> Block {
        let v = self.f.fresh(Ty::Bool, false);
        stmts.push(Stmt { op: Op::Lit(Lit::Bool(goes_on)), outs: vec![v], lin_outs: Vec::new(), span: self.span });
        Block { stmts, results: std::iter::once(v).chain(args).collect(), ..Block::default() }
    }
}
