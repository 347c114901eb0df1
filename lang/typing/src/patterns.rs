//! Patterns → decision trees (Maranget, "Compiling pattern matching to good decision trees"), with a missing case where a match is
//! not exhaustive and the arms that nothing reaches.

use crate::core::{Con, Lit, Local, Step, Tree};
use crate::ty::ConDecl;
use adl_syntax::symbol::Symbol;
use std::collections::HashMap;

/// A typed pattern.
#[derive(Clone, Debug)]
pub enum TPat {
    /// `_`.
    Wild,
    /// A variable.
    Var(Local),
    /// A literal.
    Lit(Lit),
    /// Parts of a tuple or record: all that the pattern names.
    Parts(Vec<(Step, TPat)>),
    /// A constructor.
    Con(Con, Vec<TPat>),
    /// An array of exactly these elements, and how many the type says that there are.
    Array(Vec<TPat>, Option<usize>),
    /// `p as x`.
    As(Box<TPat>, Local),
    /// `p | q`.
    Or(Vec<TPat>),
}

/// What compilation gives.
pub struct Compiled {
    /// The tree.
    pub tree: Tree,
    /// Values that no arm fits, as source: a few of them.
    pub missing: Vec<String>,
    /// Whether each arm can be reached.
    pub reached: Vec<bool>,
}

#[derive(Clone)]
struct Row {
    cols: Vec<(Local, TPat)>,
    binds: Vec<(Local, Local)>,
    arm: usize,
    guard: bool,
}

#[derive(Clone)]
enum Known {
    Con(Symbol, Vec<Local>),
    Lit(Lit),
    Parts(Vec<(Step, Local)>),
    Len(Vec<Local>),
    /// None of these literals.
    NotLit(Vec<Lit>),
    /// None of these lengths, and perhaps this one.
    NotLen(Vec<usize>, Option<usize>),
}

/// Missing cases that are shown.
const MAX_MISSING: usize = 3;

struct Compiler<'a> {
    fresh: &'a mut dyn FnMut() -> Local,
    root: Local,
    missing: Vec<String>,
    reached: Vec<bool>,
    budget: usize,
}

/// Compiles arms (pattern, whether it has a guard) over the scrutinee held in `root`.
pub fn compile(root: Local, arms: Vec<(TPat, bool)>, fresh: &mut dyn FnMut() -> Local) -> Compiled {
    let reached = vec![false; arms.len()];
    let rows = arms
        .into_iter()
        .enumerate()
        .map(|(arm, (pat, guard))| Row { cols: vec![(root, pat)], binds: Vec::new(), arm, guard })
        .collect();
    let mut c = Compiler { fresh, root, missing: Vec::new(), reached, budget: 20_000 };
    let tree = c.rows(rows, &HashMap::new());
    Compiled { tree, missing: c.missing, reached: c.reached }
}

impl Compiler<'_> {
    fn rows(&mut self, rows: Vec<Row>, known: &HashMap<Local, Known>) -> Tree {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.rows_inner(rows, known))
    }

    fn rows_inner(&mut self, rows: Vec<Row>, known: &HashMap<Local, Known>) -> Tree {
        let mut rows: Vec<Row> = rows.into_iter().flat_map(normalise).collect();
        self.budget = self.budget.saturating_sub(1);
        if rows.is_empty() || self.budget == 0 {
            if self.missing.len() < MAX_MISSING {
                let case = witness(self.root, known, 0);
                if !self.missing.contains(&case) {
                    self.missing.push(case);
                }
            }
            return Tree::Fail;
        }
        let first = rows[0].clone();
        let Some((on, test)) = first.cols.first().cloned() else {
            self.reached[first.arm] = true;
            if !first.guard {
                return Tree::Leaf(first.arm, first.binds);
            }
            let rest = self.rows(rows.split_off(1), known);
            return Tree::Guard(first.arm, first.binds, Box::new(rest));
        };
        match test {
            TPat::Parts(_) => self.parts(on, rows, known),
            TPat::Con(con, _) => self.constructors(on, &con, rows, known),
            TPat::Lit(_) => self.literals(on, rows, known),
            TPat::Array(..) => self.lengths(on, rows, known),
            TPat::Wild | TPat::Var(_) | TPat::As(..) | TPat::Or(_) => unreachable!("normalised away"),
        }
    }

    fn parts(&mut self, on: Local, rows: Vec<Row>, known: &HashMap<Local, Known>) -> Tree {
        let mut steps: Vec<(Step, Local)> = Vec::new();
        for row in &rows {
            if let Some(TPat::Parts(parts)) = column(row, on) {
                for (step, _) in parts {
                    if !steps.iter().any(|(s, _)| s == step) {
                        steps.push((*step, (self.fresh)()));
                    }
                }
            }
        }
        let next = rows
            .into_iter()
            .map(|mut row| {
                if let Some(TPat::Parts(parts)) = take_column(&mut row, on) {
                    for (step, p) in parts {
                        if let Some((_, l)) = steps.iter().find(|(s, _)| *s == step) {
                            row.cols.push((*l, p));
                        }
                    }
                }
                row
            })
            .collect();
        let mut known = known.clone();
        known.insert(on, Known::Parts(steps.clone()));
        let rest = self.rows(next, &known);
        Tree::Parts(steps.into_iter().map(|(s, l)| (l, on, s)).collect(), Box::new(rest))
    }

    fn constructors(&mut self, on: Local, sample: &Con, rows: Vec<Row>, known: &HashMap<Local, Known>) -> Tree {
        let data = sample.data.clone();
        let mut tags: Vec<u32> = Vec::new();
        for row in &rows {
            if let Some(TPat::Con(c, _)) = column(row, on) {
                if !tags.contains(&c.tag) {
                    tags.push(c.tag);
                }
            }
        }
        let mut cases = Vec::new();
        for tag in tags.iter().copied() {
            let decl = &data.cons[tag as usize];
            let fields: Vec<Local> = decl.fields.iter().map(|_| (self.fresh)()).collect();
            let next = select(&rows, on, |p| match p {
                TPat::Con(c, args) if c.tag == tag => Some(args.clone()),
                _ => None,
            }, &fields);
            let mut known = known.clone();
            known.insert(on, Known::Con(decl.name, fields.clone()));
            let tree = self.rows(next, &known);
            cases.push((Con { data: data.clone(), tag }, fields, tree));
        }
        let left: Vec<&ConDecl> = data.cons.iter().filter(|c| !tags.contains(&c.tag)).collect();
        let default = left.first().map(|first| Box::new(self.others(on, first, &left, without(&rows, on), known)));
        Tree::Con(on, cases, default)
    }

    /// The rows for the constructors that no pattern names. If there are none, each of those constructors is a missing case.
    fn others(&mut self, on: Local, first: &ConDecl, left: &[&ConDecl], rows: Vec<Row>, known: &HashMap<Local, Known>) -> Tree {
        let shown = if rows.is_empty() { left } else { std::slice::from_ref(&first) };
        let mut tree = Tree::Fail;
        for c in shown.iter().take(MAX_MISSING) {
            let fields = c.fields.iter().map(|_| (self.fresh)()).collect();
            let mut known = known.clone();
            known.insert(on, Known::Con(c.name, fields));
            tree = self.rows(rows.clone(), &known);
        }
        tree
    }

    fn literals(&mut self, on: Local, rows: Vec<Row>, known: &HashMap<Local, Known>) -> Tree {
        let mut lits: Vec<Lit> = Vec::new();
        for row in &rows {
            if let Some(TPat::Lit(l)) = column(row, on) {
                if !lits.contains(l) {
                    lits.push(l.clone());
                }
            }
        }
        let complete = lits.contains(&Lit::Unit) || lits.contains(&Lit::Bool(true)) && lits.contains(&Lit::Bool(false));
        let mut cases = Vec::new();
        for lit in &lits {
            let next = select(&rows, on, |p| matches!(p, TPat::Lit(l) if l == lit).then(Vec::new), &[]);
            let mut known = known.clone();
            known.insert(on, Known::Lit(lit.clone()));
            cases.push((lit.clone(), self.rows(next, &known)));
        }
        if complete {
            if let Some((_, last)) = cases.pop() {
                return Tree::Lit(on, cases, Box::new(last));
            }
        }
        let mut known = known.clone();
        known.insert(on, Known::NotLit(lits.clone()));
        let default = self.rows(without(&rows, on), &known);
        Tree::Lit(on, cases, Box::new(default))
    }

    fn lengths(&mut self, on: Local, rows: Vec<Row>, known: &HashMap<Local, Known>) -> Tree {
        let mut lens: Vec<usize> = Vec::new();
        let mut size = None;
        for row in &rows {
            if let Some(TPat::Array(parts, n)) = column(row, on) {
                size = size.or(*n);
                if !lens.contains(&parts.len()) {
                    lens.push(parts.len());
                }
            }
        }
        let mut cases = Vec::new();
        for n in lens.iter().copied() {
            let elems: Vec<Local> = (0..n).map(|_| (self.fresh)()).collect();
            let next = select(&rows, on, |p| match p {
                TPat::Array(parts, _) if parts.len() == n => Some(parts.clone()),
                _ => None,
            }, &elems);
            let mut known = known.clone();
            known.insert(on, Known::Len(elems.clone()));
            cases.push((n as u64, elems, self.rows(next, &known)));
        }
        // Where the type says the size, there is no other.
        if size.is_some_and(|n| lens.contains(&n)) {
            return Tree::Len(on, cases, Box::new(Tree::Fail));
        }
        let mut known = known.clone();
        known.insert(on, Known::NotLen(lens, size));
        let default = self.rows(without(&rows, on), &known);
        Tree::Len(on, cases, Box::new(default))
    }
}

/// Moves variables to the bindings, opens `as`, and splits or-patterns into rows.
fn normalise(row: Row) -> Vec<Row> {
    let mut done = Vec::new();
    let mut todo = vec![row];
    while let Some(mut row) = todo.pop() {
        let at = row.cols.iter().position(|(_, p)| matches!(p, TPat::Wild | TPat::Var(_) | TPat::As(..) | TPat::Or(_)));
        let Some(i) = at else {
            done.push(row);
            continue;
        };
        let (on, pat) = row.cols.remove(i);
        match pat {
            TPat::Var(x) => {
                row.binds.push((x, on));
                todo.push(row);
            }
            TPat::As(p, x) => {
                row.binds.push((x, on));
                row.cols.insert(i, (on, *p));
                todo.push(row);
            }
            TPat::Or(alts) => {
                for alt in alts.into_iter().rev() {
                    let mut r = row.clone();
                    r.cols.insert(i, (on, alt));
                    todo.push(r);
                }
            }
            _ => todo.push(row),
        }
    }
    done
}

fn column(row: &Row, on: Local) -> Option<&TPat> {
    row.cols.iter().find(|(l, _)| *l == on).map(|(_, p)| p)
}

fn take_column(row: &mut Row, on: Local) -> Option<TPat> {
    let i = row.cols.iter().position(|(l, _)| *l == on)?;
    Some(row.cols.remove(i).1)
}

/// Rows whose pattern on `on` fits the case (or that do not care), with the sub-patterns in its place.
fn select(rows: &[Row], on: Local, fits: impl Fn(&TPat) -> Option<Vec<TPat>>, fields: &[Local]) -> Vec<Row> {
    let mut out = Vec::new();
    for row in rows {
        let mut row = row.clone();
        match take_column(&mut row, on) {
            None => out.push(row),
            Some(p) => {
                if let Some(args) = fits(&p) {
                    let subs = fields.iter().copied().zip(args).collect::<Vec<_>>();
                    row.cols.splice(0..0, subs);
                    out.push(row);
                }
            }
        }
    }
    out
}

fn without(rows: &[Row], on: Local) -> Vec<Row> {
    rows.iter().filter(|r| column(r, on).is_none()).cloned().collect()
}

/// A value that reaches this place, as source. `level` 1: an argument.
fn witness(at: Local, known: &HashMap<Local, Known>, level: u8) -> String {
    let wrap = |text: String| if level > 0 { format!("({text})") } else { text };
    match known.get(&at) {
        None => "_".into(),
        Some(Known::Con(name, fields)) if fields.is_empty() => name.to_string(),
        Some(Known::Con(name, fields)) => {
            let args: Vec<String> = fields.iter().map(|f| witness(*f, known, 1)).collect();
            wrap(format!("{name} {}", args.join(" ")))
        }
        Some(Known::Lit(l)) => l.to_string(),
        Some(Known::NotLit(lits)) => other_literal(lits),
        Some(Known::NotLen(lens, size)) => {
            let n = size.or_else(|| (0..).find(|n| !lens.contains(n))).unwrap_or_default();
            format!("[{}]", vec!["_"; n].join(", "))
        }
        Some(Known::Parts(parts)) => {
            let record = matches!(parts.first(), Some((Step::Field(_), _)));
            let mut parts = parts.clone();
            parts.sort_by_key(|(s, _)| match s {
                Step::Item(i) => (*i, ""),
                Step::Field(f) => (0, f.as_str()),
            });
            let texts: Vec<String> = parts
                .iter()
                .map(|(s, l)| match s {
                    Step::Item(_) => witness(*l, known, 0),
                    Step::Field(f) => format!("{f} = {}", witness(*l, known, 0)),
                })
                .collect();
            if record { format!("{{{}}}", texts.join(", ")) } else { format!("({})", texts.join(", ")) }
        }
        Some(Known::Len(elems)) => {
            let texts: Vec<String> = elems.iter().map(|e| witness(*e, known, 0)).collect();
            format!("[{}]", texts.join(", "))
        }
    }
}

/// A literal that is none of these.
fn other_literal(lits: &[Lit]) -> String {
    match lits.first() {
        Some(Lit::Bool(b)) => (!b).to_string(),
        Some(Lit::Int(_)) => (0..).find(|n| !lits.contains(&Lit::Int(*n))).unwrap_or_default().to_string(),
        Some(Lit::Float(_)) => (0..).map(f64::from).find(|x| !lits.contains(&Lit::Float(*x))).map_or("_".into(), |x| format!("{x:?}")),
        Some(Lit::Str(_)) => (0..).map(|n| "x".repeat(n)).find(|s| !lits.contains(&Lit::Str(s.as_str().into()))).map_or("_".into(), |s| format!("{s:?}")),
        Some(Lit::Unit | Lit::F32(_)) | None => "_".into(),
    }
}
