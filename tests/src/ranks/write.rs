//! Prints a program twice: unchanged, and with a copy of each function for the types of each use.

use super::rules::{self, Mismatch, Typed};
use super::tree::{CallArg, ConcreteTy, Def, FunctionArg, RankExpr, RankIndex, RankProgram, Use, Way, float};
use std::cell::RefCell;
use std::rc::Rc;

/// The meaning of a name.
#[derive(Clone)]
enum Bind {
    Value(Option<ConcreteTy>),
    /// A local function, with its copies.
    Local(Rc<Local>),
    /// A parameter that is a function, with its type and text once it has been applied.
    Passed(Rc<Passed>),
}

struct Local {
    name: String,
    params: Vec<String>,
    body: RankExpr,
    env: TypeBindings,
    copies: RefCell<Vec<Copied>>,
}

struct Passed {
    arg: FunctionArg,
    env: TypeBindings,
    applied: RefCell<Option<(ConcreteTy, Option<ConcreteTy>, String)>>,
}

/// A function specialised to the types of one use.
#[derive(Clone)]
struct Copied {
    of: usize,
    args: Vec<ConcreteTy>,
    name: String,
    text: String,
    result: Option<ConcreteTy>,
}

type TypeBindings = Vec<(String, Bind)>;

/// An expression's type, if known, and its text.
type Written = (Option<ConcreteTy>, String);

/// The state of printing.
#[derive(Default)]
struct Writer<'p> {
    defs: &'p [Def],
    /// Whether types are computed and printed.
    typed: bool,
    copies: Vec<Copied>,
    /// Whether some operation was ill-typed.
    wrong: bool,
}

/// A use of a program in both forms.
#[derive(Clone, Debug)]
pub struct Pair {
    /// The call of the unannotated definitions.
    pub inferred: String,
    /// Annotated copies, one entry each.
    pub definitions: Vec<String>,
    /// The call of these copies.
    pub annotated: String,
    /// Whether the types are valid.
    pub fits: bool,
    /// The type of its value.
    pub result: Option<ConcreteTy>,
}

/// The unannotated definitions.
pub fn definitions(p: &RankProgram) -> Vec<String> {
    let mut w = Writer { defs: &p.defs, ..Writer::default() };
    p.defs
        .iter()
        .map(|d| {
            let env = d.params.iter().map(|x| (x.clone(), Bind::Value(None))).collect();
            format!("let {} {} = {}", d.name, d.params.join(" "), w.expr(&d.body, &env).1)
        })
        .collect()
}

/// One use, in both forms.
pub fn pair(p: &RankProgram, u: &Use) -> Pair {
    let mut plain = Writer { defs: &p.defs, ..Writer::default() };
    let mut typed = Writer { defs: &p.defs, typed: true, ..Writer::default() };
    let inferred = plain.usage(u).1;
    let (result, annotated) = typed.usage(u);
    Pair {
        inferred,
        definitions: typed.copies.into_iter().map(|c| c.text).collect(),
        annotated,
        fits: !typed.wrong,
        result,
    }
}

fn known(ts: &[Option<ConcreteTy>]) -> Option<Vec<ConcreteTy>> {
    ts.iter().cloned().collect()
}

fn noted(x: &str, t: Option<&ConcreteTy>) -> String {
    t.map_or(x.to_owned(), |t| format!("({x} : {})", t.text()))
}

fn ending(t: Option<&ConcreteTy>) -> String {
    t.map_or(String::new(), |t| format!(" : {}", t.text()))
}

impl Writer<'_> {
    fn usage(&mut self, usage: &Use) -> Written {
        let mut env = TypeBindings::new();
        let (mut args, mut firsts) = (Vec::new(), None);
        for (i, g) in usage.args.iter().enumerate() {
            args.push(match g {
                CallArg::Fun(f) => f.clone(),
                CallArg::Value(t, text) if i == 0 && usage.way != Way::Plain => {
                    firsts = Some((t.clone(), text.clone()));
                    env.push(("z".into(), Bind::Value(self.typed.then(|| t.clone()))));
                    FunctionArg::Value(RankExpr::Var("z".into()))
                }
                CallArg::Value(t, text) => FunctionArg::Value(RankExpr::Literal(t.clone(), text.clone())),
            });
        }
        let (t, call) = self.expr(&RankExpr::User(self.defs[usage.def].name.clone(), args), &env);
        let Some((at, text)) = firsts else { return (t, call) };
        let z = noted("z", self.typed.then_some(&at));
        if usage.way == Way::Mapped {
            return (
                t.map(|t| ConcreteTy::Array(Some(2), Box::new(t))),
                format!("map (fun {z} -> {call}) [{text}, {text}]"),
            );
        }
        let t = t.and_then(|r| self.check(rules::derivative("jvp", &r, &[at.clone(), at])));
        (t, format!("jvp (fun {z} -> {call}) {text} {text}"))
    }

    /// The type of an operation, if it is valid.
    fn check(&mut self, t: Typed) -> Option<ConcreteTy> {
        self.wrong |= t.is_err();
        t.ok()
    }

    fn all(&mut self, es: &[RankExpr], env: &TypeBindings) -> (Option<Vec<ConcreteTy>>, Vec<String>) {
        let (ts, texts): (Vec<_>, Vec<_>) = es.iter().map(|e| self.expr(e, env)).unzip();
        (known(&ts), texts)
    }

    fn with(&mut self, x: &str, t: Option<ConcreteTy>, e: &RankExpr, env: &TypeBindings) -> Written {
        let mut env = env.clone();
        env.push((x.to_owned(), Bind::Value(t)));
        self.expr(e, &env)
    }

    fn expr(&mut self, expr: &RankExpr, env: &TypeBindings) -> Written {
        match expr {
            RankExpr::Var(x) => match env.iter().rev().find(|b| b.0 == *x) {
                Some((_, Bind::Value(t))) => (t.clone(), x.clone()),
                _ => (None, x.clone()),
            },
            RankExpr::Literal(t, text) => (self.typed.then(|| t.clone()), text.clone()),
            RankExpr::Float(x) => (self.typed.then_some(ConcreteTy::Float), float(*x)),
            RankExpr::Int(i) => (self.typed.then_some(ConcreteTy::Int), i.to_string()),
            RankExpr::Un(f, a) => {
                let (t, a) = self.expr(a, env);
                (
                    t.and_then(|t| self.check(rules::unary(f, &t))),
                    if *f == "-" { format!("(-{a})") } else { format!("({f} {a})") },
                )
            }
            RankExpr::Bin(op, a, b) => self.binary(op, a, b, env),
            RankExpr::Call(f, args) => {
                let (ts, texts) = self.all(args, env);
                (ts.and_then(|ts| self.check(rules::call(f, &ts))), called(f, &texts))
            }
            RankExpr::User(f, args) => self.user(f, args, env),
            RankExpr::Index(a, at) => {
                let (t, a) = self.expr(a, env);
                let at_text = |at: &RankIndex| match at {
                    RankIndex::Literal(k) => k.to_string(),
                    RankIndex::Name(i) => i.clone(),
                    RankIndex::Slice(s) => (*s).to_owned(),
                };
                let text = at.iter().map(at_text).collect::<Vec<_>>().join(", ");
                (t.and_then(|t| self.check(rules::index(&t, at))), format!("{a}[{text}]"))
            }
            RankExpr::Tuple(es) => {
                let (ts, texts) = self.all(es, env);
                (ts.map(ConcreteTy::Tuple), format!("({})", texts.join(", ")))
            }
            RankExpr::Record(_) | RankExpr::Field(..) | RankExpr::Update(..) => self.record(expr, env),
            RankExpr::Let(..) | RankExpr::LetTuple(..) | RankExpr::LetFun(..) => self.bound(expr, env),
            _ => self.repeated(expr, env),
        }
    }

    fn binary(&mut self, op: &str, a: &RankExpr, b: &RankExpr, env: &TypeBindings) -> Written {
        let ((ta, x), (tb, y)) = (self.expr(a, env), self.expr(b, env));
        let text =
            if op.starts_with(char::is_alphabetic) { format!("({op} {x} {y})") } else { format!("({x} {op} {y})") };
        let (Some(ta), Some(tb)) = (ta, tb) else { return (None, text) };
        // An Int literal becomes a Float beside a Float, and may be the exponent of any number.
        let beside =
            |t: &ConcreteTy| if t.parts().is_some() || t.is_real() { ConcreteTy::Float } else { ConcreteTy::Int };
        let result = match (a, b) {
            (_, RankExpr::Int(_)) if op == "^" => {
                if ta.is_numeric() {
                    Ok(ta)
                } else {
                    Err(Mismatch)
                }
            }
            (RankExpr::Int(_), _) => rules::binary(op, &beside(&tb), &tb),
            (_, RankExpr::Int(_)) => rules::binary(op, &ta, &beside(&ta)),
            _ => rules::binary(op, &ta, &tb),
        };
        (self.check(result), text)
    }

    fn record(&mut self, e: &RankExpr, env: &TypeBindings) -> Written {
        match e {
            RankExpr::Field(r, f) => {
                let (t, r) = self.expr(r, env);
                let field = |t: ConcreteTy| match t {
                    ConcreteTy::Record(fs) => fs.into_iter().find(|g| g.0 == *f).map(|g| g.1).ok_or(Mismatch),
                    _ => Err(Mismatch),
                };
                (t.and_then(|t| self.check(field(t))), format!("{r}.{f}"))
            }
            RankExpr::Update(r, f, v) => {
                let ((t, r), (u, v)) = (self.expr(r, env), self.expr(v, env));
                let update = |t: ConcreteTy, u: ConcreteTy| match t {
                    ConcreteTy::Record(fs) if fs.iter().any(|g| g.0 == *f && rules::same(&g.1, &u).is_ok()) => {
                        Ok(ConcreteTy::Record(fs))
                    }
                    _ => Err(Mismatch),
                };
                (t.zip(u).and_then(|(t, u)| self.check(update(t, u))), format!("{{{r} with {f} = {v}}}"))
            }
            RankExpr::Record(fields) => {
                let es: Vec<RankExpr> = fields.iter().map(|f| f.1.clone()).collect();
                let (ts, texts) = self.all(&es, env);
                let text: Vec<String> = fields.iter().zip(texts).map(|(f, v)| format!("{} = {v}", f.0)).collect();
                (
                    ts.map(|ts| ConcreteTy::Record(fields.iter().map(|f| f.0).zip(ts).collect())),
                    format!("{{{}}}", text.join(", ")),
                )
            }
            _ => (None, String::new()),
        }
    }

    fn bound(&mut self, e: &RankExpr, env: &TypeBindings) -> Written {
        match e {
            RankExpr::Let(x, a, b) => {
                let (t, a) = self.expr(a, env);
                let note = ending(t.as_ref());
                let (u, b) = self.with(x, t, b, env);
                (u, format!("(let {x}{note} = {a} in {b})"))
            }
            RankExpr::LetTuple(xs, a, after) => {
                let (t, value) = self.expr(a, env);
                let parts = t.and_then(|t| {
                    self.check(match &t {
                        ConcreteTy::Tuple(ts) if ts.len() == xs.len() => Ok(t),
                        _ => Err(Mismatch),
                    })
                });
                let mut inner = env.clone();
                for (i, x) in xs.iter().enumerate() {
                    inner.push((
                        x.clone(),
                        Bind::Value(parts.as_ref().and_then(super::tree::ConcreteTy::parts).map(|ts| ts[i].clone())),
                    ));
                }
                let (u, b) = self.expr(after, &inner);
                (u, format!("(let ({}) = {value} in {b})", xs.join(", ")))
            }
            RankExpr::LetFun(name, params, body, rest) => {
                let local = Rc::new(Local {
                    name: name.clone(),
                    params: params.clone(),
                    body: (**body).clone(),
                    env: env.clone(),
                    copies: RefCell::default(),
                });
                let mut inner = env.clone();
                inner.push((name.clone(), Bind::Local(local.clone())));
                let (ty, rest) = self.expr(rest, &inner);
                if !self.typed {
                    let mut of = env.clone();
                    of.extend(params.iter().map(|x| (x.clone(), Bind::Value(None))));
                    let body = self.expr(body, &of).1;
                    return (ty, format!("(let {name} {} = {body} in {rest})", params.join(" ")));
                }
                if local.copies.borrow().is_empty() {
                    // Unused functions are checked too.
                    let wrong = self.wrong;
                    self.local(&local, &vec![None; params.len()]);
                    self.wrong = wrong;
                }
                let lets: String = local.copies.borrow().iter().map(|c| c.text.clone() + " in ").collect();
                (ty, format!("({lets}{rest})"))
            }
            _ => (None, String::new()),
        }
    }

    fn lambda(&mut self, x: &str, t: Option<ConcreteTy>, body: &RankExpr, env: &TypeBindings) -> Written {
        let head = noted(x, t.as_ref());
        let (u, body) = self.with(x, t, body, env);
        (u, format!("(fun {head} -> {body})"))
    }

    fn repeated(&mut self, expr: &RankExpr, env: &TypeBindings) -> Written {
        match expr {
            RankExpr::Map(xs, body, arrays) => {
                let (ts, texts) = self.all(arrays, env);
                let rows = ts.and_then(|ts| {
                    let rows: Option<Vec<_>> = ts
                        .into_iter()
                        .map(|t| if let ConcreteTy::Array(n, e) = t { Some((n, *e)) } else { None })
                        .collect();
                    let rows = rows
                        .filter(|rows| rows.iter().all(|r| r.0.is_none() || rows[0].0.is_none() || r.0 == rows[0].0));
                    self.check(if rows.is_some() { Ok(ConcreteTy::Bool) } else { Err(Mismatch) });
                    rows
                });
                let (mut inner, mut head) = (env.clone(), String::new());
                for (i, x) in xs.iter().enumerate() {
                    let t = rows.as_ref().map(|rows| rows[i].1.clone());
                    head += &format!(" {}", noted(x, t.as_ref()));
                    inner.push((x.clone(), Bind::Value(t)));
                }
                let (u, body) = self.expr(body, &inner);
                let t = rows.zip(u).map(|(rows, u)| ConcreteTy::Array(rows[0].0, Box::new(u)));
                (
                    t,
                    format!(
                        "({} (fun{head} -> {body}) {})",
                        if xs.len() == 1 { "map" } else { "map2" },
                        texts.join(" ")
                    ),
                )
            }
            RankExpr::MapName(f, a) => {
                let (t, a) = self.expr(a, env);
                let row = t.and_then(|t| self.check(if let ConcreteTy::Array(..) = t { Ok(t) } else { Err(Mismatch) }));
                let element = row.clone().and_then(|t| if let ConcreteTy::Array(_, e) = t { Some(*e) } else { None });
                let (u, f) = self.function(f, &[element], env);
                let n = row.and_then(|t| if let ConcreteTy::Array(n, _) = t { Some(n) } else { None });
                (n.zip(u).map(|(n, u)| ConcreteTy::Array(n, Box::new(u))), format!("(map {f} {a})"))
            }
            RankExpr::For(sum, i, n, body) => {
                let (t, body) = self.with(i, self.typed.then_some(ConcreteTy::Int), body, env);
                let t = t.map(|t| ConcreteTy::Array(Some(*n), Box::new(t)));
                let t = if *sum { t.and_then(|t| self.check(rules::call("sum", &[t]))) } else { t };
                (t, format!("({}for {i} < {n} -> {body})", if *sum { "sum " } else { "" }))
            }
            RankExpr::ForIn(sum, x, a, body) => {
                let (t, a) = self.expr(a, env);
                let row = t.and_then(|t| self.check(if let ConcreteTy::Array(..) = t { Ok(t) } else { Err(Mismatch) }));
                let (n, element) =
                    row.and_then(|t| if let ConcreteTy::Array(n, e) = t { Some((n, *e)) } else { None }).unzip();
                let (t, body) = self.with(x, element, body, env);
                let t = n.zip(t).map(|(n, t)| ConcreteTy::Array(n, Box::new(t)));
                let t = if *sum { t.and_then(|t| self.check(rules::call("sum", &[t]))) } else { t };
                (t, format!("({}for {x} in {a} -> {body})", if *sum { "sum " } else { "" }))
            }
            RankExpr::If(c, a, b) => {
                let ((tc, c), (ta, a), (tb, b)) = (self.expr(c, env), self.expr(a, env), self.expr(b, env));
                let t = tc.zip(ta.zip(tb)).and_then(|(c, (a, b))| {
                    self.check(if c == ConcreteTy::Bool { rules::same(&a, &b) } else { Err(Mismatch) })
                });
                (t, format!("(if {c} then {a} else {b})"))
            }
            RankExpr::Loop(..) | RankExpr::Rec(..) => self.loops(expr, env),
            RankExpr::Derivative(op, x, body, args) => {
                let (ts, texts) = self.all(args, env);
                let (u, f) = self.lambda(x, ts.as_ref().map(|ts| ts[0].clone()), body, env);
                let t = u.zip(ts).and_then(|(u, ts)| self.check(rules::derivative(op, &u, &ts)));
                let text = if *op == "pull" {
                    format!("((snd (vjp {f} {})) {})", texts[0], texts[1])
                } else {
                    format!("({op} {f} {})", texts.join(" "))
                };
                (t, text)
            }
            _ => (None, String::new()),
        }
    }

    fn loops(&mut self, e: &RankExpr, env: &TypeBindings) -> Written {
        let (RankExpr::Loop(state, _, init, body) | RankExpr::Rec(_, state, init, body)) = e else {
            return (None, String::new());
        };
        let (loop_ty, init) = self.expr(init, env);
        let head = noted(state, loop_ty.as_ref());
        let note = ending(loop_ty.as_ref());
        let (u, body) = self.with(state, loop_ty.clone(), body, env);
        let result_ty = loop_ty.zip(u).and_then(|(t, u)| self.check(rules::same(&t, &u)));
        let text = match e {
            RankExpr::Rec(f, ..) => {
                let n = if self.typed { "(k : Int)" } else { "k" };
                format!(
                    "(let rec {f} {n} {head}{note} = (if k == 0 then {state} else {f} (k - 1) {body}) in {f} 2 {init})"
                )
            }
            RankExpr::Loop(_, n, ..) => format!("(loop {head} = {init} for i0 < {n} do {body})"),
            _ => String::new(),
        };
        (result_ty, text)
    }

    fn user(&mut self, f: &str, args: &[FunctionArg], env: &TypeBindings) -> Written {
        let values = args.iter().all(|a| matches!(a, FunctionArg::Value(_)));
        if values || !self.typed {
            let (ts, texts): (Vec<_>, Vec<_>) = args.iter().map(|a| self.argument(a, env)).unzip();
            let (t, f) = self.function(f, &ts, env);
            return (t, format!("({f} {})", texts.join(" ")));
        }
        // For function arguments, a copy for this call is made.
        let Some(at) = self.defs.iter().position(|d| d.name == f) else { return (None, String::new()) };
        let (mut binds, mut texts) = (Vec::new(), Vec::new());
        for a in args {
            if let FunctionArg::Value(e) = a {
                let (t, text) = self.expr(e, env);
                binds.push(Bind::Value(t));
                texts.push(text);
            } else {
                binds.push(Bind::Passed(Rc::new(Passed {
                    arg: a.clone(),
                    env: env.clone(),
                    applied: RefCell::default(),
                })));
                texts.push(String::new());
            }
        }
        let (t, name) = self.copy(at, Vec::new(), binds.clone());
        for ((text, bind), a) in texts.iter_mut().zip(&binds).zip(args) {
            if let Bind::Passed(p) = bind {
                *text = p.applied.borrow().as_ref().map_or_else(|| self.argument(a, env).1, |a| a.2.clone());
            }
        }
        (t, format!("({name} {})", texts.join(" ")))
    }

    fn argument(&mut self, a: &FunctionArg, env: &TypeBindings) -> Written {
        match a {
            FunctionArg::Value(e) => self.expr(e, env),
            FunctionArg::Name(f) => (None, f.clone()),
            FunctionArg::Lambda(x, body) => (None, self.lambda(x, None, body, env).1),
        }
    }

    /// A function at given argument types: the result type, and the copy's name.
    fn function(&mut self, name: &str, ts: &[Option<ConcreteTy>], env: &TypeBindings) -> Written {
        if !self.typed {
            return (None, name.to_owned());
        }
        let known = known(ts);
        match env.iter().rev().find(|b| b.0 == name).map(|b| b.1.clone()) {
            Some(Bind::Local(l)) => self.local(&l, ts),
            Some(Bind::Passed(p)) => (known.and_then(|ts| self.passed(&p, &ts[0])), name.to_owned()),
            Some(Bind::Value(_)) => (None, name.to_owned()),
            None => match self.defs.iter().position(|d| d.name == name) {
                Some(at) => match known {
                    Some(ts) => match self.copies.iter().find(|c| c.of == at && c.args == ts) {
                        Some(c) => (c.result.clone(), c.name.clone()),
                        None => self.copy(at, ts.clone(), ts.into_iter().map(|t| Bind::Value(Some(t))).collect()),
                    },
                    None => self.copy(at, Vec::new(), ts.iter().map(|t| Bind::Value(t.clone())).collect()),
                },
                None => (known.and_then(|ts| self.check(rules::unary(name, &ts[0]))), name.to_owned()),
            },
        }
    }

    fn copy(&mut self, at: usize, args: Vec<ConcreteTy>, binds: Vec<Bind>) -> Written {
        let defs = self.defs;
        let d = &defs[at];
        let env: TypeBindings = d.params.iter().cloned().zip(binds.clone()).collect();
        let (result, body) = self.expr(&d.body, &env);
        let name = format!("{}_{}", d.name, self.copies.len());
        let heads: Vec<String> = d
            .params
            .iter()
            .zip(&binds)
            .map(|(x, b)| match b {
                Bind::Value(t) => noted(x, t.as_ref()),
                Bind::Passed(p) => match &*p.applied.borrow() {
                    Some((a, Some(r), _)) => format!("({x} : {} -> {})", a.text(), r.text()),
                    _ => x.clone(),
                },
                Bind::Local(_) => x.clone(),
            })
            .collect();
        let text = format!("let {name} {}{} = {body}", heads.join(" "), ending(result.as_ref()));
        self.copies.push(Copied {
            of: if args.is_empty() { usize::MAX } else { at },
            args,
            name: name.clone(),
            text,
            result: result.clone(),
        });
        (result, name)
    }

    fn local(&mut self, local: &Rc<Local>, ts: &[Option<ConcreteTy>]) -> Written {
        let known = known(ts).unwrap_or_default();
        if let Some(c) = local.copies.borrow().iter().find(|c| !known.is_empty() && c.args == known) {
            return (c.result.clone(), c.name.clone());
        }
        let mut env = local.env.clone();
        env.extend(local.params.iter().cloned().zip(ts.iter().map(|t| Bind::Value(t.clone()))));
        let (result, body) = self.expr(&local.body, &env);
        let name = format!("{}_{}", local.name, local.copies.borrow().len());
        let heads: Vec<String> = local.params.iter().zip(ts).map(|(x, t)| noted(x, t.as_ref())).collect();
        let text = format!("let {name} {}{} = {body}", heads.join(" "), ending(result.as_ref()));
        local.copies.borrow_mut().push(Copied { of: 0, args: known, name: name.clone(), text, result: result.clone() });
        (result, name)
    }

    /// A parameter that is a function has one type.
    fn passed(&mut self, passed: &Rc<Passed>, ty: &ConcreteTy) -> Option<ConcreteTy> {
        if let Some((a, r, _)) = &*passed.applied.borrow() {
            let r = r.clone();
            let same = a == ty;
            return if same { r } else { self.check(Err(Mismatch)) };
        }
        let (r, text) = match &passed.arg {
            FunctionArg::Name(f) => self.function(f, &[Some(ty.clone())], &passed.env),
            FunctionArg::Lambda(x, body) => self.lambda(x, Some(ty.clone()), body, &passed.env),
            FunctionArg::Value(_) => (None, String::new()),
        };
        *passed.applied.borrow_mut() = Some((ty.clone(), r.clone(), text));
        r
    }
}

fn called(f: &str, args: &[String]) -> String {
    match f {
        "T" => format!("{}.T", args[0]),
        "chosen" => format!("(sum {0}[{0} .> 0.25])", args[0]),
        "count" => format!("(float (len {}))", args[0]),
        _ => format!("({f} {})", args.join(" ")),
    }
}
