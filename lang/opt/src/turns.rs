//! Functions that end by calling themselves, as loops: what a loop's turns keep for a derivative lies in flat arrays, while each call would keep a box of its
//! own.
//!
//! `f x = ... f y ... z` becomes a loop that goes on as long as `f` would call itself, from one turn's arguments to the next one's, and a call of `f` as it
//! was on the last ones, which ends at once. So the end of `f` stands in one place, and whatever types its results have, nothing stands for them before.

use adl_ir::{Block, FnId, Function, Lit, Loop, Op, Program, Stmt, Turns, Ty, Var};
use adl_syntax::span::Span;
use std::collections::HashSet;

/// Statements of a function that is worth having twice.
const MOST: usize = 256;

/// Makes loops of the functions that a function calls, and of itself. `seen` has those that were looked at before.
pub fn turns(p: &mut Program, root: FnId, seen: &mut HashSet<FnId>) {
    for me in p.callees(root, |_, _| true) {
        if !seen.insert(me) {
            continue;
        }
        let f = p.func(me).clone();
        let Some(fixed) = carried(&f, me) else { continue };
        let ends = p.reserve(&f.name);
        seen.insert(ends);
        p.set(ends, ending(&f, me, ends));
        p.set(me, looped(&f, me, ends, &fixed));
        crate::check(p, p.func(ends));
        crate::check(p, p.func(me));
    }
}

/// Of a function that calls itself at its ends only, which arguments it always passes on; nothing of another one.
fn carried(f: &Function, me: FnId) -> Option<Vec<bool>> {
    let b = &f.body;
    let flat = |v: &Var| f.ty(*v).scalar().is_flat() && !matches!(f.ty(*v), Ty::Array(e, _) if !e.is_flat());
    if !b.lin_params.is_empty() || !b.params.iter().all(flat) || size(b) > MOST {
        return None;
    }
    let mut calls = Vec::new();
    (ends(b, me, &mut calls) && !calls.is_empty()).then(|| (0..b.params.len()).map(|i| calls.iter().all(|args| args[i] == b.params[i])).collect())
}

fn size(b: &Block) -> usize {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || b.stmts.iter().map(|s| 1 + s.op.blocks().into_iter().map(size).sum::<usize>()).sum())
}

/// Whether the function is called at the block's ends only, and the arguments there.
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
        Op::If(_, x, y) if is_end(b, last) => stacker::maybe_grow(64 * 1024, 1024 * 1024, || ends(x, me, calls) && ends(y, me, calls)),
        _ => !mentions(last, me),
    }
}

fn is_end(b: &Block, last: &Stmt) -> bool {
    last.outs == b.results && last.lin_outs.is_empty() && b.lin_results.is_empty()
}

fn mentions(s: &Stmt, me: FnId) -> bool {
    let rule = |r: &Option<adl_ir::Rule>| r.as_ref().is_some_and(|r| r.func == me);
    matches!(&s.op, Op::Call { f, rule: r, .. } if *f == me || rule(r))
        || s.op.blocks().into_iter().any(|b| stacker::maybe_grow(64 * 1024, 1024 * 1024, || b.stmts.iter().any(|s| mentions(s, me))))
}

/// The function for arguments with which it does not call itself. Where its results are numbers, any stand for what it would call; otherwise it calls
/// itself under its new name.
fn ending(f: &Function, me: FnId, ends: FnId) -> Function {
    let nothing: Option<Vec<Lit>> = f.body.results.iter().map(|v| nothing(f.ty(*v))).collect();
    let mut g = f.clone();
    replace(&mut g.body, me, &|s| match (&nothing, &s.op) {
        (Some(lits), _) => s.outs.iter().zip(lits).map(|(v, l)| Stmt { op: Op::Lit(l.clone()), outs: vec![*v], lin_outs: Vec::new(), span: s.span }).collect(),
        (None, Op::Call { args, .. }) => vec![Stmt { op: Op::Call { f: ends, args: args.clone(), lin_args: Vec::new(), rule: None, checkpoint: false }, ..s.clone() }],
        (None, _) => vec![s.clone()],
    });
    g
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

/// Puts statements in the place of a function's calls.
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

/// A function that turns, and then calls what ends.
fn looped(f: &Function, me: FnId, ends: FnId, fixed: &[bool]) -> Function {
    let mut g = f.clone();
    let body = std::mem::take(&mut g.body);
    let span = body.stmts.last().map_or(Span::default(), |s| s.span);
    let moving: Vec<Var> = body.params.iter().zip(fixed).filter(|(_, f)| !**f).map(|(v, _)| *v).collect();
    let tys: Vec<Ty> = std::iter::once(Ty::Bool).chain(g.tys(&moving)).collect();
    let mut fresh = |tys: &[Ty]| tys.iter().map(|t| g.fresh(t.clone(), false)).collect::<Vec<Var>>();
    let (asked, going, after) = (fresh(&tys), fresh(&tys[..1]), fresh(&tys));
    let (given, begin, index, count) = (fresh(&tys[1..]), fresh(&tys[..1])[0], fresh(&[Ty::I64])[0], fresh(&[Ty::I64])[0]);
    let results = fresh(&f.tys(&body.results));
    let names: Vec<Var> = body.params.clone();
    let mut turn = Turn { f: &mut g, me, moving: &moving, fixed, tys: &tys, span };
    let mut turned = turn.block(body);
    turned.params = std::iter::once(index).chain(going).chain(moving.iter().copied()).collect();
    let replaced = |with: &[Var]| {
        let mut with = with.iter();
        names.iter().zip(fixed).map(|(v, f)| if *f { *v } else { with.next().copied().unwrap_or(*v) }).collect::<Vec<Var>>()
    };
    let condition = Block { params: asked.clone(), results: asked[..1].to_vec(), ..Block::default() };
    let l = Loop {
        turns: Turns::While(condition),
        reverse: false,
        init: std::iter::once(begin).chain(given.iter().copied()).collect(),
        lin_init: Vec::new(),
        xs: Vec::new(),
        lin_xs: Vec::new(),
        outs: Vec::new(),
        lin_outs: Vec::new(),
        body: turned,
    };
    let stmt = |op: Op, outs: Vec<Var>| Stmt { op, outs, lin_outs: Vec::new(), span };
    let stmts = vec![
        stmt(Op::Lit(Lit::Bool(true)), vec![begin]),
        stmt(Op::Loop(Box::new(l)), after.iter().copied().chain([count]).collect()),
        stmt(Op::Call { f: ends, args: replaced(&after[1..]), lin_args: Vec::new(), rule: None, checkpoint: false }, results.clone()),
    ];
    g.body = Block { params: replaced(&given), lin_params: Vec::new(), stmts, results, lin_results: Vec::new() };
    g
}

/// What a turn is made with.
struct Turn<'a> {
    f: &'a mut Function,
    me: FnId,
    /// Parameters that change, and for all of them whether they do not.
    moving: &'a [Var],
    fixed: &'a [bool],
    /// The types of what a turn gives: whether there is another one, and its arguments.
    tys: &'a [Ty],
    span: Span,
}

impl Turn<'_> {
    /// A block that gives the next turn's arguments in place of results.
    fn block(&mut self, mut b: Block) -> Block {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
            let end = b.stmts.last().is_some_and(|s| mentions(s, self.me));
            let Some(last) = b.stmts.pop().filter(|_| end) else { return self.leaf(Vec::new(), false, self.moving.to_vec()) };
            match last.op {
                Op::Call { args, .. } => {
                    let args = args.into_iter().zip(self.fixed).filter(|(_, f)| !**f).map(|(v, _)| v).collect();
                    self.leaf(b.stmts, true, args)
                }
                Op::If(c, x, y) => {
                    let op = Op::If(c, Box::new(self.block(*x)), Box::new(self.block(*y)));
                    let outs: Vec<Var> = self.tys.iter().map(|t| self.f.fresh(t.clone(), false)).collect();
                    b.stmts.push(Stmt { op, outs: outs.clone(), lin_outs: Vec::new(), span: last.span });
                    Block { stmts: b.stmts, results: outs, ..b }
                }
                // Nothing else calls the function.
                _ => self.leaf(b.stmts, false, self.moving.to_vec()),
            }
        })
    }

    fn leaf(&mut self, mut stmts: Vec<Stmt>, goes_on: bool, args: Vec<Var>) -> Block {
        let v = self.f.fresh(Ty::Bool, false);
        stmts.push(Stmt { op: Op::Lit(Lit::Bool(goes_on)), outs: vec![v], lin_outs: Vec::new(), span: self.span });
        Block { stmts, results: std::iter::once(v).chain(args).collect(), ..Block::default() }
    }
}
