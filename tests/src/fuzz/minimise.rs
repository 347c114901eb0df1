//! Minimises failing programs. Expressions are replaced by one of their subexpressions of the same type, by a name in
//! scope, or by a literal, as long as the failure stays the same.

use super::ast::{FuzzExpr, FuzzProgram, FuzzTy, Name, Op};
use super::generate::Generator;
use super::judge::{Disagreement, judge_ways};
use super::ways::{only, ways};
use super::worker::Worker;
use std::time::{Duration, Instant};

/// The path to an expression: operand indices from the root.
type ExprPath = Vec<usize>;

/// A root of a program: a global by its number, or the body.
#[derive(Clone, Copy)]
enum Root {
    Global(usize),
    Body,
}

fn root(p: &FuzzProgram, r: Root) -> &FuzzExpr {
    match r {
        Root::Global(i) => &p.globals[i].1,
        Root::Body => &p.body,
    }
}

fn places(e: &FuzzExpr, at: &mut ExprPath, out: &mut Vec<ExprPath>) {
    out.push(at.clone());
    for (i, k) in e.kids.iter().enumerate() {
        at.push(i);
        places(k, at, out);
        at.pop();
    }
}

fn get<'a>(e: &'a FuzzExpr, at: &[usize]) -> &'a FuzzExpr {
    at.iter().fold(e, |e, i| &e.kids[*i])
}

fn put(e: &FuzzExpr, at: &[usize], new: &FuzzExpr) -> FuzzExpr {
    let Some((first, rest)) = at.split_first() else { return new.clone() };
    let mut out = e.clone();
    out.kids[*first] = put(&e.kids[*first], rest, new);
    out
}

/// Smaller programs, by one replacement at a path.
fn smaller(program: &FuzzProgram, start: Root, at: &[usize], seed: u64) -> Vec<FuzzProgram> {
    let here = get(root(program, start), at);
    let mut out: Vec<FuzzExpr> = Vec::new();
    if here.size() > 1 {
        out.push(Generator::beside(seed).literal(&here.ty, 4));
        out.push(Generator::beside(seed + 1).literal(&here.ty, 4));
        for (x, t) in scope(program, start, at).iter().rev() {
            if *t == here.ty {
                out.push(FuzzExpr::var(x, t));
            }
        }
        let mut inside = Vec::new();
        here.each(&mut |e| inside.push(e));
        let mut inside: Vec<&FuzzExpr> = inside.into_iter().skip(1).filter(|e| e.ty == here.ty).collect();
        inside.sort_by_key(|e| e.size());
        out.extend(inside.into_iter().take(12).cloned());
        out.extend(simpler(here));
    } else if let Op::Float(x) = here.op {
        out.extend([0.5, 1.0, 2.0].into_iter().filter(|y| x != *y && ![0.5, 1.0].contains(&x)).map(FuzzExpr::float));
    }
    out.into_iter()
        .map(|e| with(program, start, put(root(program, start), at, &e)))
        .filter(FuzzProgram::is_closed)
        .collect()
}

fn with(p: &FuzzProgram, r: Root, e: FuzzExpr) -> FuzzProgram {
    let mut out = p.clone();
    match r {
        Root::Global(i) => out.globals[i].1 = e,
        Root::Body => out.body = e,
    }
    out
}

/// The same construct with fewer parts.
fn simpler(expr: &FuzzExpr) -> Vec<FuzzExpr> {
    let with = |op: Op| FuzzExpr { op, ..expr.clone() };
    match &expr.op {
        Op::Loop(s, i, n) if *n > 1 => vec![with(Op::Loop(s.clone(), i.clone(), n - 1))],
        Op::ForIn(xs) if xs.len() == 1 => {
            let (x, from) = (xs[0].clone(), expr.kids[0].clone());
            let FuzzTy::Array(elem, _) = &from.ty else { return vec![] };
            let body = expr.kids[1].clone();
            let f = FuzzExpr::new(Op::Fun(x), FuzzTy::fun((**elem).clone(), body.ty.clone()), vec![body]);
            vec![FuzzExpr::call("map", expr.ty.clone(), vec![f, from])]
        }
        Op::Rec { go, n, s, r, count } if *count > 1 => {
            vec![with(Op::Rec { go: go.clone(), n: n.clone(), s: s.clone(), r: r.clone(), count: count - 1 })]
        }
        Op::Pipe => vec![with(Op::Apply)],
        Op::Call(f) if f.starts_with("engine.grad") || f.starts_with("grad_with") => {
            vec![with(Op::Call("grad".into()))]
        }
        // A library function in place of a lambda.
        Op::Fun(_) if expr.ty == FuzzTy::scalar() => {
            ["sin", "id"].iter().map(|f| FuzzExpr::new(Op::Var((*f).into()), FuzzTy::scalar(), vec![])).collect()
        }
        _ => vec![],
    }
}

/// The names in scope at a path.
fn scope(p: &FuzzProgram, r: Root, at: &[usize]) -> Vec<(Name, FuzzTy)> {
    let globals = if let Root::Global(i) = r { i } else { p.globals.len() };
    let mut out: Vec<(Name, FuzzTy)> = p.globals[..globals].iter().map(|(x, e)| (x.clone(), e.ty.clone())).collect();
    if let Root::Body = r {
        out.push((p.param.clone(), p.input.clone()));
    }
    let mut expr = root(p, r);
    for i in at {
        match &expr.op {
            Op::Let(x) if *i == 1 => out.push((x.clone(), expr.kids[0].ty.clone())),
            Op::Fun(x) => {
                if let FuzzTy::Fun(a, _) = &expr.ty {
                    out.push((x.clone(), (**a).clone()));
                }
            }
            _ => {}
        }
        expr = &expr.kids[*i];
    }
    out
}

/// Minimises a program with a failure, within a time limit.
pub fn minimise(
    p: &FuzzProgram,
    fault: &Disagreement,
    worker: &mut Worker,
    time: Duration,
) -> std::io::Result<(FuzzProgram, Disagreement)> {
    let end = Instant::now() + time;
    let (mut best, mut best_fault) = (p.clone(), fault.clone());
    let mut seed = 0;
    loop {
        let before = best.size();
        for next in candidates(&best) {
            if Instant::now() > end {
                return Ok((best, best_fault));
            }
            seed += 2;
            improve(&mut best, &mut best_fault, next, seed, worker)?;
        }
        best = points(best, &mut best_fault, worker)?;
        if best.size() >= before {
            return Ok((best, best_fault));
        }
    }
}

/// All paths in a program, the largest subexpressions first.
fn candidates(p: &FuzzProgram) -> Vec<(Root, ExprPath)> {
    let mut out = Vec::new();
    for r in (0..p.globals.len()).map(Root::Global).chain([Root::Body]) {
        let mut all = Vec::new();
        places(root(p, r), &mut vec![], &mut all);
        out.extend(all.into_iter().map(|at| (r, at)));
    }
    out.sort_by_key(|(r, at)| std::cmp::Reverse(get(root(p, *r), at).size()));
    out
}

fn improve(
    best: &mut FuzzProgram,
    fault: &mut Disagreement,
    (origin, at): (Root, ExprPath),
    seed: u64,
    worker: &mut Worker,
) -> std::io::Result<()> {
    if let Root::Global(i) = origin {
        if i >= best.globals.len() {
            return Ok(());
        }
        if at.is_empty() {
            let mut without = best.clone();
            without.globals.remove(i);
            if without.is_closed()
                && let Some(f) = fails(&without, fault, worker)?
            {
                (*best, *fault) = (without, f);
                return Ok(());
            }
        }
    }
    // Earlier replacements may have removed this expression.
    let mut e = root(best, origin);
    for i in &at {
        let Some(k) = e.kids.get(*i) else { return Ok(()) };
        e = k;
    }
    let size = weight(best);
    for p in smaller(best, origin, &at, seed) {
        if weight(&p) < size
            && let Some(f) = fails(&p, fault, worker)?
        {
            (*best, *fault) = (p, f);
            return Ok(());
        }
    }
    Ok(())
}

/// The size to minimise: first nodes, then repetition counts, then numbers.
fn weight(program: &FuzzProgram) -> usize {
    let mut extra = 0;
    for e in program.globals.iter().map(|g| &g.1).chain([&program.body]) {
        e.each(&mut |e| {
            extra += match &e.op {
                Op::Loop(_, _, n) | Op::Rec { count: n, .. } => *n,
                Op::Float(x) if ![0.5, 1.0].contains(x) => 2,
                Op::Float(_) => 1,
                Op::Pipe | Op::Fun(_) => 1,
                Op::Call(f) => f.split(' ').count(),
                _ => 0,
            }
        });
    }
    program.size() * 16 + extra
}

/// Tries rounder numbers in the points.
fn points(program: FuzzProgram, fault: &mut Disagreement, worker: &mut Worker) -> std::io::Result<FuzzProgram> {
    let mut rounder = program.clone();
    let short = |e: &FuzzExpr| rounded(e);
    rounder.points = [short(&program.points[0]), short(&program.points[1])];
    rounder.direction = short(&program.direction);
    rounder.cotangent = short(&program.cotangent);
    Ok(match fails(&rounder, fault, worker)? {
        Some(f) => {
            *fault = f;
            rounder
        }
        None => program,
    })
}

fn rounded(e: &FuzzExpr) -> FuzzExpr {
    match e.op {
        Op::Float(x) => FuzzExpr::float((x * 10.0).round() / 10.0),
        _ => FuzzExpr { kids: e.kids.iter().map(rounded).collect(), ..e.clone() },
    }
}

/// Whether a program has the same failure: the same kind in the same execution mode.
fn fails(p: &FuzzProgram, fault: &Disagreement, worker: &mut Worker) -> std::io::Result<Option<Disagreement>> {
    let Ok(all) = ways(p) else { return Ok(None) };
    let wanted = only(&all, fault.way);
    Ok(judge_ways(&wanted, worker)?.faults.into_iter().find(|f| f.kind == fault.kind && f.way == fault.way))
}
