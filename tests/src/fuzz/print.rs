//! Programs as text, fully parenthesised and annotated, so that layout and inference play no part.

use super::ast::{DataConstructor, FIELDS, FuzzExpr, FuzzProgram, FuzzTy, Name, Op};
use std::fmt::Write;

/// A type as text.
pub fn ty(fuzz_ty: &FuzzTy) -> String {
    match fuzz_ty {
        FuzzTy::Float => "Float".into(),
        FuzzTy::Int => "Int".into(),
        FuzzTy::Bool => "Bool".into(),
        FuzzTy::Array(t, _) => format!("[_]{}", atom(t)),
        FuzzTy::Tuple(ts) => format!("({})", ts.iter().map(ty).collect::<Vec<_>>().join(", ")),
        FuzzTy::Record(ts) => format!(
            "{{{}}}",
            ts.iter().zip(FIELDS).map(|(t, f)| format!("{f} : {}", ty(t))).collect::<Vec<_>>().join(", ")
        ),
        FuzzTy::Fun(a, b) => format!("{} -> {}", if matches!(**a, FuzzTy::Fun(..)) { atom(a) } else { ty(a) }, ty(b)),
        FuzzTy::Option(t) => format!("Option {}", atom(t)),
        FuzzTy::List(t) => format!("List {}", atom(t)),
        FuzzTy::Data(d) => d.text().0.into(),
    }
}

fn atom(t: &FuzzTy) -> String {
    match t {
        FuzzTy::Fun(..) | FuzzTy::Option(_) | FuzzTy::List(_) => format!("({})", ty(t)),
        _ => ty(t),
    }
}

/// A number as text.
pub fn number(x: f64) -> String {
    if x < 0.0 { format!("({x:?})") } else { format!("{x:?}") }
}

/// A name, or the pattern of a tuple.
fn pattern(xs: &[Name]) -> String {
    if let [x] = xs { x.to_string() } else { format!("({})", xs.join(", ")) }
}

fn list(es: &[FuzzExpr]) -> String {
    es.iter().map(expr).collect::<Vec<_>>().join(", ")
}

/// An expression as text.
pub fn expr(node: &FuzzExpr) -> String {
    let kid = |i: usize| expr(&node.kids[i]);
    let kid_ty = |i: usize| ty(&node.kids[i].ty);
    match &node.op {
        Op::Var(x) => x.to_string(),
        Op::Float(x) => number(*x),
        Op::Int(i) if *i < 0 => format!("({i})"),
        Op::Int(i) => i.to_string(),
        Op::Bool(b) => b.to_string(),
        Op::Infix(op) => format!("({} {op} {})", kid(0), kid(1)),
        Op::Call(name) => call(name, node),
        Op::Let(x) => format!("(let {x} : {} = {} in {})", kid_ty(0), kid(0), kid(1)),
        Op::LetTuple(xs) if matches!(node.kids[0].ty, FuzzTy::Array(..)) => {
            format!("(let [{}] = {} in {})", xs.join(", "), kid(0), kid(1))
        }
        Op::LetTuple(xs) => format!("(let ({}) = {} in {})", xs.join(", "), kid(0), kid(1)),
        Op::Fun(_) => function(node),
        Op::Apply => format!("({} {})", kid(0), kid(1)),
        Op::Pipe => format!("({} |> {})", kid(1), kid(0)),
        Op::Compose => format!("({} >> {})", kid(0), kid(1)),
        Op::If => format!("(if {} then {} else {})", kid(0), kid(1), kid(2)),
        Op::Tuple => format!("({})", list(&node.kids)),
        Op::Record => format!(
            "{{{}}}",
            node.kids.iter().zip(FIELDS).map(|(v, f)| format!("{f} = {}", expr(v))).collect::<Vec<_>>().join(", ")
        ),
        Op::Field(i) => format!("{}.{}", kid(0), FIELDS[*i]),
        // Operators infer numbers as the elements of `[]`.
        Op::Array if node.kids.is_empty() => format!("([] : {})", ty(&node.ty)),
        Op::Array => format!("[{}]", list(&node.kids)),
        Op::Index => format!("{}[{}]", kid(0), kid(1)),
        Op::Slice(a, b) => format!("{}[{a}:{b}]", kid(0)),
        Op::Con(c) if node.kids.is_empty() => format!("({c} : {})", ty(&node.ty)),
        Op::Con(c) => format!("({c} {})", node.kids.iter().map(expr).collect::<Vec<_>>().join(" ")),
        Op::Match(arms) => format!("(match {} with{})", kid(0), branches(arms, &node.kids, None)),
        Op::For(i, n) => format!("(for {i} < {n} -> {})", kid(0)),
        Op::SumFor(i, n) => format!("(sum for {i} < {n} -> {})", kid(0)),
        Op::ForIn(xs) => format!("(for {} in {} -> {})", pattern(xs), kid(0), kid(1)),
        Op::SumForIn(xs) => format!("(sum for {} in {} -> {})", pattern(xs), kid(0), kid(1)),
        Op::LoopIn(s, xs) => {
            format!("(loop ({s} : {}) = {} for {} in {} do {})", kid_ty(0), kid(0), pattern(xs), kid(1), kid(2))
        }
        Op::Loop(s, i, n) => format!("(loop ({s} : {}) = {} for {i} < {n} do {})", kid_ty(0), kid(0), kid(1)),
        Op::While(s, i, n) => format!(
            "(fst (loop ({s} : {}, {i} : Int) = ({}, 0) while {i} < {n} && {} do ({}, {i} + 1)))",
            kid_ty(0),
            kid(0),
            kid(2),
            kid(1)
        ),
        Op::Rec { go, n, s, r, count } => {
            let again = format!("{go} ({n} - 1) {}", kid(1));
            let next = if matches!(&node.kids[2].op, Op::Var(x) if x == r) {
                again
            } else {
                format!("(let {r} : {} = {again} in {})", kid_ty(0), kid(2))
            };
            format!(
                "(let rec {go} ({n} : Int) ({s} : {0}) : {0} = (if {n} <= 0 then {s} else {next}) in {go} {count} {1})",
                kid_ty(0),
                kid(0)
            )
        }
        Op::Mutual { names: [a, b], n, s, count } => {
            let one = |f: &str, g: &str, step: String| {
                format!(
                    "{f} ({n} : Int) ({s} : {0}) : {0} = (if {n} <= 0 then {s} else {g} ({n} - 1) {step})",
                    kid_ty(0)
                )
            };
            format!("(let rec {} and {} in {a} {count} {})", one(a, b, kid(1)), one(b, a, kid(2)), kid(0))
        }
        Op::Walk { go, t: x, arms } => format!(
            "(let rec {go} ({x} : {}) : {} = (match {x} with{}) in {go} {})",
            kid_ty(0),
            ty(&node.ty),
            branches(arms, &node.kids, Some(go)),
            kid(0)
        ),
        Op::Custom { forward, x, y, d, c } => custom(*forward, [x, y, d, c], &kid(0)),
    }
}

/// `fun (x : a) (y : b) -> body`.
fn function(e: &FuzzExpr) -> String {
    let (mut text, mut at) = (String::from("(fun"), e);
    while let (Op::Fun(x), FuzzTy::Fun(a, _)) = (&at.op, &at.ty) {
        let _ = write!(text, " ({x} : {})", ty(a));
        at = &at.kids[0];
    }
    text + " -> " + &expr(at) + ")"
}

fn branches(arms: &[DataConstructor], kids: &[FuzzExpr], go: Option<&Name>) -> String {
    let mut text = String::new();
    for (arm, body) in arms.iter().zip(&kids[1..]) {
        let fields: String = arm.fields.iter().map(|f| format!(" {f}")).collect();
        let mut body = expr(body);
        for (at, r) in arm.results.iter().rev() {
            body = format!("(let {r} = {} {} in {body})", go.map_or("id", |g| g), arm.fields[*at]);
        }
        let _ = write!(text, " | {}{fields} -> {body}", arm.con);
    }
    text
}

/// A function with its own derivative as a custom rule, computed by `grad`.
fn custom(forward: bool, [x, y, d, c]: [&Name; 4], f: &str) -> String {
    let way = if forward { "custom_jvp" } else { "custom_vjp" };
    format!(
        "({way} {f} (fun ({x} : Float) -> (let ({y}, {d}) = jvp {f} {x} 1.0 in ({y}, lin ({c} : Float) -> {d} * {c}))))"
    )
}

/// The extents of an array in the form that `zeros` takes: one number or a list.
fn sized(t: &FuzzTy) -> String {
    match t {
        FuzzTy::Array(e, n) => match &**e {
            FuzzTy::Array(_, m) => format!("[{n}, {m}]"),
            _ => n.to_string(),
        },
        _ => "1".into(),
    }
}

/// Library functions, and abbreviations of some combinations.
fn call(name: &str, node: &FuzzExpr) -> String {
    let kid = |i: usize| expr(&node.kids[i]);
    match name {
        "pull" => format!("((snd (vjp {} {})) {})", kid(0), kid(1), kid(2)),
        "push" => format!("((snd (linearize {} {})) {})", kid(0), kid(1), kid(2)),
        "pull_linear" => format!("((transpose_at {1} (snd (linearize {0} {1}))) {2})", kid(0), kid(1), kid(2)),
        "sum filter" => format!("(sum (filter {} {}))", kid(0), kid(1)),
        "T" => format!("{}.T", kid(0)),
        "column 0" => format!("{}[:, 0]", kid(0)),
        "every" => format!("{}[::2]", kid(0)),
        "mask" => format!("{0}[{0} .< {1}]", kid(0), kid(1)),
        "where below" => format!("(where ({0} .< {1}) {0} {2})", kid(0), kid(1), kid(2)),
        "full" => format!("(full {} {})", sized(&node.ty), kid(0)),
        "zeros" | "ones" => format!("({name} {})", sized(&node.ty)),
        "float arange" => format!("(map float (arange {}))", sized(&node.ty)),
        "histogram" => format!("(reduce_by_index {} {} {} {} {})", kid(0), kid(1), kid(2), kid(3), kid(4)),
        "-" => format!("(-{})", kid(0)),
        _ if name.starts_with("update ") => format!("{{{} with [{}] = {}}}", kid(0), &name[7..], kid(1)),
        _ if name.starts_with("along ") => format!("({name} {})", kid(0)),
        _ if name.starts_with("^ ") => format!("({} {name})", kid(0)),
        _ if node.kids.is_empty() => name.to_owned(),
        _ => format!("({name} {})", node.kids.iter().map(expr).collect::<Vec<_>>().join(" ")),
    }
}

/// Functions without annotations, whose ranks are decided at each use.
const HELPERS: [(&str, &str); 3] = [
    ("affine", "let affine a x = a * x + sin x"),
    ("spread", "let spread x y = let d = x - y in d * d + 0.5 * y"),
    ("weighed", "let weighed w x = sum (w * tanh x)"),
];

impl FuzzProgram {
    /// The definitions, one entry each: types, globals, the function, and the points of differentiation.
    pub fn entries(&self) -> Vec<String> {
        let mut out: Vec<String> = self.decls().into_iter().map(|d| d.text().1.to_owned()).collect();
        let bodies = self.globals.iter().map(|g| expr(&g.1)).chain([expr(&self.body)]).collect::<Vec<_>>();
        out.extend(HELPERS.iter().filter(|h| bodies.iter().any(|b| b.contains(h.0))).map(|h| h.1.to_owned()));
        out.extend(self.globals.iter().map(|(x, e)| format!("let {x} : {} = {}", ty(&e.ty), expr(e))));
        out.push(format!(
            "let f0 ({} : {}) : {} = {}",
            self.param,
            ty(&self.input),
            ty(&self.body.ty),
            expr(&self.body)
        ));
        for (x, e) in self.places() {
            out.push(format!("let {x} : {} = {}", ty(&e.ty), expr(e)));
        }
        out
    }

    /// The names of points, direction and cotangent, with their values.
    pub fn places(&self) -> [(&'static str, &FuzzExpr); 4] {
        [("x0", &self.points[0]), ("x1", &self.points[1]), ("d0", &self.direction), ("c0", &self.cotangent)]
    }
}
