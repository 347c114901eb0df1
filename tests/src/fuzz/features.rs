//! Statistics of the features of generated programs, which show the coverage of the generator.

use super::ast::{FuzzExpr, FuzzProgram, FuzzTy, Op};
use std::collections::BTreeMap;

/// Whether values of a type consist of numbers in arrays, tuples and records, so that all values have the same shape.
pub fn is_plain(t: &FuzzTy) -> bool {
    match t {
        FuzzTy::Float => true,
        FuzzTy::Array(u, _) => is_plain(u),
        FuzzTy::Tuple(ts) | FuzzTy::Record(ts) => ts.iter().all(is_plain),
        _ => false,
    }
}

/// The number of programs with each feature.
#[derive(Clone, Debug, Default)]
pub struct FeatureCounts(BTreeMap<&'static str, usize>);

impl FeatureCounts {
    /// Counts one occurrence.
    pub fn add(&mut self, feature: &'static str) {
        *self.0.entry(feature).or_insert(0) += 1;
    }

    /// Adds other counts.
    pub fn join(&mut self, other: &FeatureCounts) {
        for (f, n) in &other.0 {
            *self.0.entry(f).or_insert(0) += n;
        }
    }

    /// The number of programs with a feature.
    pub fn of(&self, feature: &str) -> usize {
        self.0.get(feature).copied().unwrap_or(0)
    }

    /// Counts all features of a program.
    pub fn program(&mut self, p: &FuzzProgram) {
        let mut seen = Vec::new();
        for e in p.globals.iter().map(|g| &g.1).chain([&p.body]) {
            e.each(&mut |e| of(e, &mut seen));
            nested(e, 0, &mut seen);
        }
        if !p.globals.is_empty() {
            seen.push("globals");
        }
        if !matches!(p.input, FuzzTy::Float | FuzzTy::Array(..)) {
            seen.push("derivative by a tuple, record or data");
        }
        seen.sort_unstable();
        seen.dedup();
        seen.into_iter().for_each(|f| self.add(f));
    }

    /// A table, sorted by frequency.
    pub fn table(&self) -> String {
        let mut all: Vec<_> = self.0.iter().collect();
        all.sort_by_key(|(_, n)| std::cmp::Reverse(**n));
        all.into_iter().map(|(f, n)| format!("{n:>9}  {f}\n")).collect()
    }
}

/// Whether an expression is a derivative operator.
pub fn is_derivative(expr: &FuzzExpr) -> bool {
    const OPERATORS: [&str; 14] = [
        "grad",
        "grad_with",
        "engine.grad",
        "value_and_grad",
        "jvp",
        "push",
        "pull",
        "pull_linear",
        "jacobian",
        "jacfwd",
        "jacrev",
        "hessian",
        "hvp",
        "vjp",
    ];
    matches!(&expr.op, Op::Call(f) if OPERATORS.contains(&f.split(' ').next().unwrap_or("")))
}

fn nested(expr: &FuzzExpr, depth: usize, seen: &mut Vec<&'static str>) {
    let here = depth + usize::from(is_derivative(expr));
    seen.push(
        [
            "no derivative inside",
            "derivatives inside",
            "derivatives nested twice inside",
            "derivatives nested three times or more inside",
        ][here.min(3)],
    );
    if is_derivative(expr) && depth > 0 && matches!(&expr.op, Op::Call(f) if f.starts_with("jac") || f == "hessian") {
        seen.push("nested Jacobians");
    }
    expr.kids.iter().for_each(|k| nested(k, here, seen));
}

fn of(expr: &FuzzExpr, seen: &mut Vec<&'static str>) {
    match &expr.ty {
        FuzzTy::Array(t, _) if t.has_function() => seen.push("arrays of functions"),
        t @ (FuzzTy::Option(_) | FuzzTy::List(_) | FuzzTy::Data(_)) => {
            seen.push(if t.has_function() { "functions in data" } else { "data" });
        }
        FuzzTy::Tuple(ts) | FuzzTy::Record(ts) if ts.iter().any(FuzzTy::has_function) => {
            seen.push("functions in tuples or records");
        }
        FuzzTy::Fun(..)
            if matches!(
                expr.op,
                Op::Loop(..) | Op::LoopIn(..) | Op::While(..) | Op::Rec { .. } | Op::Mutual { .. }
            ) =>
        {
            seen.push("functions made by loops or recursion");
        }
        FuzzTy::Fun(..) if matches!(expr.op, Op::If | Op::Match(_)) => seen.push("functions chosen at run time"),
        _ => {}
    }
    match &expr.op {
        Op::Let(x) if !reads(&expr.kids[1], x) => seen.push("results of which nothing is read"),
        Op::LetTuple(xs) if xs.iter().any(|x| !reads(&expr.kids[1], x)) => seen.push("results of which a part is read"),
        Op::Loop(..) | Op::While(..) => seen.push("loops"),
        Op::LoopIn(..) => seen.push("loops over elements"),
        Op::ForIn(..) | Op::SumForIn(..) => seen.push("comprehensions of elements"),
        Op::Rec { .. } => seen.push("recursion"),
        Op::Mutual { .. } => seen.push("mutual recursion"),
        Op::Walk { .. } => seen.push("recursion over data"),
        Op::For(..) | Op::SumFor(..) => seen.push("comprehensions"),
        Op::Custom { .. } => seen.push("custom derivatives"),
        Op::Compose => seen.push("compositions"),
        Op::If | Op::Match(_) => seen.push("branches"),
        Op::Call(f) => call(f, seen),
        Op::Infix("^") => seen.push("powers"),
        Op::Infix(op)
            if *op != "@"
                && rank(&expr.kids[0].ty) > 0
                && rank(&expr.kids[1].ty) > 0
                && rank(&expr.kids[0].ty) != rank(&expr.kids[1].ty) =>
        {
            seen.push("broadcasting by rank");
        }
        Op::LetTuple(_) if rank(&expr.kids[0].ty) > 0 => seen.push("array patterns"),
        _ => {}
    }
}

/// How many axes a type has.
fn rank(t: &FuzzTy) -> usize {
    if let FuzzTy::Array(e, _) = t { 1 + rank(e) } else { 0 }
}

fn call(f: &str, seen: &mut Vec<&'static str>) {
    let feature = match f.split(' ').next().unwrap_or("") {
        "map" | "map2" => "maps",
        "fold" | "foldr" => "folds",
        "reduce" => "reductions",
        "scan" | "scan_exclusive" | "cumsum" | "cumprod" => "scans",
        "histogram" => "histograms",
        "gather" | "scatter" => "gathers and scatters",
        "engine.grad" => "engines inside",
        "grad_with" => "plans inside",
        "checkpoint" => "checkpoints",
        "mask" | "where below" => "masks",
        "every" => "steps",
        "update" => "updates",
        "along" => "reductions along an axis",
        "zeros" | "ones" | "full" => "filled arrays",
        "affine" | "spread" | "weighed" => "functions without annotations",
        "stop_grad" => "stop_grad",
        _ => return,
    };
    seen.push(feature);
}

/// Whether an expression reads a name.
pub fn reads(e: &FuzzExpr, x: &str) -> bool {
    let mut found = false;
    e.each(&mut |e| found |= matches!(&e.op, Op::Var(y) if &**y == x));
    found
}
