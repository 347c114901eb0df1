//! Compiles patterns to decision trees (Maranget, "Compiling pattern matching to good decision trees"). It also returns
//! examples of missing cases and the arms that are unreachable.
//!
//! Rows borrow the patterns, and a row whose pattern names a constructor or literal moves to that case. So the time is
//! proportional to the size of the patterns. Rows that match several cases are copied; a match whose cases multiply
//! beyond a limit is rejected.

use crate::core::{Con, CoreLit, Local, Projection, Tree};
use crate::limits::patterns::{MAX_MISSING, MAX_NODES, MAX_ROWS};
use crate::ty::{ConDecl, Ty};
use adl_syntax::symbol::Symbol;
use std::collections::{HashMap, HashSet};
use std::hash::Hash;

/// A typed pattern.
#[derive(Clone, Debug)]
pub enum TPat {
    /// `_`.
    Wild,
    /// A variable.
    Var(Local),
    /// A literal.
    Lit(CoreLit),
    /// The named parts of a tuple or record.
    Parts(Vec<(Projection, TPat)>),
    /// A constructor.
    Con(Con, Vec<TPat>),
    /// An array of exactly these elements, with the length its type states (if any), and its type.
    Array(Vec<TPat>, Option<usize>, Ty),
    /// `p as x`.
    As(Box<TPat>, Local),
    /// `p | q`.
    Or(Vec<TPat>),
}

impl TPat {
    /// The pattern reduced to this variable. Parts that do not bind it become wildcards if every value of their type
    /// has those parts.
    pub(crate) fn only(&self, var: Local) -> TPat {
        stacker::maybe_grow(32 * 1024, 1024 * 1024, || self.path(var)).unwrap_or(TPat::Wild)
    }

    /// Whether it binds a variable.
    pub(crate) fn binds(&self, var: Local) -> bool {
        stacker::maybe_grow(32 * 1024, 1024 * 1024, || self.path(var)).is_some()
    }

    fn path(&self, var: Local) -> Option<TPat> {
        match self {
            TPat::Wild | TPat::Lit(_) => None,
            TPat::Var(x) => (*x == var).then(|| self.clone()),
            TPat::Parts(parts) => parts.iter().find_map(|(s, p)| Some(TPat::Parts(vec![(*s, p.path(var)?)]))),
            TPat::Con(c, args) => Some(TPat::Con(c.clone(), paths(args, var)?)),
            TPat::Array(parts, n, t) => Some(TPat::Array(paths(parts, var)?, *n, t.clone())),
            TPat::As(_, x) if *x == var => Some(TPat::Var(var)),
            TPat::As(p, _) => p.path(var),
            TPat::Or(alts) => alts.iter().any(|p| p.path(var).is_some()).then(|| self.clone()),
        }
    }
}

/// Reduces a list of patterns to the one that binds this variable, if any does.
fn paths(parts: &[TPat], var: Local) -> Option<Vec<TPat>> {
    let (at, path) = parts.iter().enumerate().find_map(|(i, p)| Some((i, p.path(var)?)))?;
    let mut out = vec![TPat::Wild; parts.len()];
    out[at] = path;
    Some(out)
}

/// The result of compiling a match.
pub struct Compiled {
    /// The tree.
    pub tree: Tree,
    /// Up to `MAX_MISSING` values that no arm matches, as source text.
    pub missing: Vec<String>,
    /// Whether each arm can be reached.
    pub reached: Vec<bool>,
    /// The combinations of cases exceed the limit, so the tree, `missing` and `reached` are incomplete.
    pub too_large: bool,
}

/// An arm during compilation: the columns still to be tested, the next one last.
#[derive(Clone)]
struct ArmRow<'p> {
    cols: Vec<(Local, &'p TPat)>,
    binds: Vec<(Local, Local)>,
    arm: usize,
    guard: bool,
}

enum TestOutcome {
    Con(Symbol, Vec<Local>),
    Lit(CoreLit),
    Parts(Vec<(Projection, Local)>),
    Len(Vec<Local>),
    /// A literal other than these.
    NotLit(Vec<CoreLit>),
    /// A length other than these, and if known the required length.
    NotLen(Vec<usize>, Option<usize>),
}

struct PatternCompiler<'a> {
    fresh: &'a mut dyn FnMut() -> Local,
    root: Local,
    /// The outcomes of the tests on the path to the current node.
    known: HashMap<Local, TestOutcome>,
    missing: Vec<String>,
    reached: Vec<bool>,
    nodes_left: usize,
    rows_left: usize,
    too_large: bool,
}

/// Compiles arms (pattern, whether it has a guard) over the scrutinee held in `root`.
pub fn compile(root: Local, arms: &[(TPat, bool)], fresh: &mut dyn FnMut() -> Local) -> Compiled {
    let parts: usize = arms.iter().map(|(p, _)| size(p)).sum();
    let rows = arms.iter().enumerate().map(|(arm, (pat, guard))| {
        let mut row = ArmRow { cols: Vec::new(), binds: Vec::new(), arm, guard: *guard };
        row.add(root, pat);
        row
    });
    let rows = rows.collect();
    let reached = vec![false; arms.len()];
    let (nodes_left, rows_left) = (MAX_NODES + 8 * parts, MAX_ROWS + 64 * parts);
    let mut compiler = PatternCompiler {
        fresh,
        root,
        known: HashMap::new(),
        missing: Vec::new(),
        reached,
        nodes_left,
        rows_left,
        too_large: false,
    };
    let tree = compiler.rows(rows);
    Compiled { tree, missing: compiler.missing, reached: compiler.reached, too_large: compiler.too_large }
}

/// The number of parts of a pattern.
fn size(p: &TPat) -> usize {
    stacker::maybe_grow(32 * 1024, 1024 * 1024, || match p {
        TPat::Wild | TPat::Var(_) | TPat::Lit(_) => 1,
        TPat::Parts(ps) => 1 + ps.iter().map(|(_, p)| size(p)).sum::<usize>(),
        TPat::Con(_, ps) | TPat::Array(ps, ..) | TPat::Or(ps) => 1 + ps.iter().map(size).sum::<usize>(),
        TPat::As(p, _) => 1 + size(p),
    })
}

/// The rows of each case, in order of first appearance, and the default rows, which match values of no listed case.
struct CaseSplit<'p, K> {
    cases: Vec<(K, Vec<ArmRow<'p>>)>,
    rest: Vec<ArmRow<'p>>,
}

impl<'p> ArmRow<'p> {
    /// Adds a column that is tested next. Variables are bound immediately.
    fn add(&mut self, on: Local, mut pat: &'p TPat) {
        loop {
            match pat {
                TPat::Wild => return,
                TPat::Var(x) => return self.binds.push((*x, on)),
                TPat::As(inner, x) => {
                    self.binds.push((*x, on));
                    pat = inner;
                }
                TPat::Or(alts) if fits_all(alts) => return,
                TPat::Or(_) | TPat::Lit(_) | TPat::Parts(_) | TPat::Con(..) | TPat::Array(..) => {
                    return self.cols.push((on, pat));
                }
            }
        }
    }

    fn column(&self, on: Local) -> Option<&'p TPat> {
        self.cols.iter().rev().find(|(l, _)| *l == on).map(|(_, p)| *p)
    }

    fn take_column(&mut self, on: Local) -> Option<&'p TPat> {
        let i = self.cols.iter().rposition(|(l, _)| *l == on)?;
        Some(self.cols.remove(i).1)
    }

    /// Whether the pattern matches every value.
    fn fits(&self) -> bool {
        self.cols.is_empty() && !self.guard
    }
}

/// Whether the alternatives bind nothing and together match every value.
fn fits_all(alts: &[TPat]) -> bool {
    let mut tags = HashSet::new();
    let (mut yes, mut no) = (false, false);
    alts.iter().any(|p| match p {
        TPat::Wild => true,
        TPat::Lit(CoreLit::Unit) => true,
        TPat::Lit(CoreLit::Bool(b)) => {
            yes |= b;
            no |= !b;
            yes && no
        }
        TPat::Con(c, args) if args.iter().all(|a| matches!(a, TPat::Wild)) => {
            tags.insert(c.tag);
            tags.len() == c.data.cons.len()
        }
        _ => false,
    })
}

impl<'p> PatternCompiler<'_> {
    fn rows(&mut self, rows: Vec<ArmRow<'p>>) -> Tree {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.rows_inner(rows))
    }

    /// The subtree for these rows after a test that established `known` for `on`.
    fn below(&mut self, on: Local, known: TestOutcome, rows: Vec<ArmRow<'p>>) -> Tree {
        self.known.insert(on, known);
        let tree = self.rows(rows);
        self.known.remove(&on);
        tree
    }

    fn rows_inner(&mut self, rows: Vec<ArmRow<'p>>) -> Tree {
        if self.nodes_left == 0 || self.rows_left < rows.len() {
            self.too_large = true;
            return Tree::Fail;
        }
        self.nodes_left -= 1;
        self.rows_left -= rows.len();
        let Some(first) = rows.first() else {
            self.miss();
            return Tree::Fail;
        };
        let Some((on, test)) = first.cols.last().copied() else { return self.guards(rows) };
        if rows.iter().any(|r| matches!(r.column(on), Some(TPat::Or(_)))) {
            return self.rows(alternatives(rows, on));
        }
        match test {
            TPat::Parts(_) => self.parts(on, rows),
            TPat::Con(con, _) => self.constructors(on, con, rows),
            TPat::Lit(_) => self.literals(on, rows),
            TPat::Array(..) => self.lengths(on, rows),
            // Columns never contain these patterns.
            TPat::Wild | TPat::Var(_) | TPat::As(..) | TPat::Or(_) => Tree::Fail,
        }
    }

    /// Compiles rows whose first one has no tests left.
    fn guards(&mut self, rows: Vec<ArmRow<'p>>) -> Tree {
        let mut tried = Vec::new();
        let mut rows = rows.into_iter().peekable();
        let mut last = None;
        while let Some(row) = rows.next_if(|r| last.is_none() && r.cols.is_empty()) {
            self.reached[row.arm] = true;
            match row.guard {
                true => tried.push(row),
                false => last = Some(Tree::Leaf(row.arm, row.binds)),
            }
        }
        let last = match last {
            Some(leaf) => leaf,
            None => self.rows(rows.collect()),
        };
        tried.into_iter().rev().fold(last, |rest, row| Tree::Guard(row.arm, row.binds, Box::new(rest)))
    }

    /// Records that no arm matches under the current facts.
    fn miss(&mut self) {
        if self.missing.len() < MAX_MISSING {
            let case = witness(self.root, &self.known, 0);
            if !self.missing.contains(&case) {
                self.missing.push(case);
            }
        }
    }

    fn parts(&mut self, on: Local, mut rows: Vec<ArmRow<'p>>) -> Tree {
        let mut steps: Vec<(Projection, Local)> = Vec::new();
        let mut locals: HashMap<Projection, Local> = HashMap::new();
        for row in &mut rows {
            let Some(TPat::Parts(parts)) = row.take_column(on) else { continue };
            let others = std::mem::take(&mut row.cols);
            for (step, p) in parts {
                let local = *locals.entry(*step).or_insert_with(|| {
                    let local = (self.fresh)();
                    steps.push((*step, local));
                    local
                });
                row.add(local, p);
            }
            // Parts are tested after the existing columns.
            row.cols.reverse();
            row.cols.extend(others);
        }
        let bound = steps.iter().map(|(s, l)| (*l, on, *s)).collect();
        let rest = self.below(on, TestOutcome::Parts(steps), rows);
        Tree::Parts(bound, Box::new(rest))
    }

    fn constructors(&mut self, on: Local, sample: &Con, rows: Vec<ArmRow<'p>>) -> Tree {
        let data = sample.data.clone();
        let mut fields: HashMap<u32, Vec<Local>> = HashMap::new();
        let split = split(rows, on, |p, row| {
            let TPat::Con(c, args) = p else { return None };
            let locals = fields
                .entry(c.tag)
                .or_insert_with(|| data.cons[c.tag as usize].fields.iter().map(|_| (self.fresh)()).collect());
            locals.iter().zip(args).rev().for_each(|(l, p)| row.add(*l, p));
            Some(c.tag)
        });
        let mut cases = Vec::new();
        for (tag, rows) in split.cases {
            let locals = fields.remove(&tag).unwrap_or_default();
            let known = TestOutcome::Con(data.cons[tag as usize].name, locals.clone());
            let tree = self.below(on, known, rows);
            cases.push((Con { data: data.clone(), tag }, locals, tree));
        }
        let tags: HashSet<u32> = cases.iter().map(|(c, _, _)| c.tag).collect();
        let left: Vec<&ConDecl> = data.cons.iter().filter(|c| !tags.contains(&c.tag)).collect();
        let default = left.first().map(|first| Box::new(self.others(on, first, &left, split.rest)));
        Tree::Con(on, cases, default)
    }

    /// The default branch for the constructors that no pattern names. If it has no rows, each of those constructors is
    /// a missing case.
    fn others(&mut self, on: Local, first: &ConDecl, left: &[&ConDecl], rows: Vec<ArmRow<'p>>) -> Tree {
        let shown = if rows.is_empty() { left } else { std::slice::from_ref(&first) };
        let mut tree = Tree::Fail;
        for c in shown.iter().take(MAX_MISSING) {
            let fields = c.fields.iter().map(|_| (self.fresh)()).collect();
            tree = self.below(on, TestOutcome::Con(c.name, fields), rows.clone());
        }
        tree
    }

    fn literals(&mut self, on: Local, rows: Vec<ArmRow<'p>>) -> Tree {
        let mut lits: Vec<CoreLit> = Vec::new();
        let mut numbers: HashMap<LiteralKey, usize> = HashMap::new();
        let split = split(rows, on, |p, _| {
            let TPat::Lit(l) = p else { return None };
            Some(*numbers.entry(LiteralKey::of(l)).or_insert_with(|| {
                lits.push(l.clone());
                lits.len() - 1
            }))
        });
        let complete = match lits.first() {
            Some(CoreLit::Unit) => true,
            Some(CoreLit::Bool(_)) => lits.len() == 2,
            _ => false,
        };
        let mut cases = Vec::new();
        for (i, rows) in split.cases {
            let lit = lits[i].clone();
            let tree = self.below(on, TestOutcome::Lit(lit.clone()), rows);
            cases.push((lit, tree));
        }
        if complete && let Some((_, last)) = cases.pop() {
            return Tree::Lit(on, cases, Box::new(last));
        }
        let default = self.below(on, TestOutcome::NotLit(lits), split.rest);
        Tree::Lit(on, cases, Box::new(default))
    }

    fn lengths(&mut self, on: Local, rows: Vec<ArmRow<'p>>) -> Tree {
        let mut size = None;
        let mut elems: HashMap<usize, Vec<Local>> = HashMap::new();
        let split = split(rows, on, |p, row| {
            let TPat::Array(parts, n, _) = p else { return None };
            size = size.or(*n);
            let locals = elems.entry(parts.len()).or_insert_with(|| parts.iter().map(|_| (self.fresh)()).collect());
            locals.iter().zip(parts).rev().for_each(|(l, p)| row.add(*l, p));
            Some(parts.len())
        });
        let lens: Vec<usize> = split.cases.iter().map(|(n, _)| *n).collect();
        let mut cases = Vec::new();
        for (n, rows) in split.cases {
            let locals = elems.remove(&n).unwrap_or_default();
            let tree = self.below(on, TestOutcome::Len(locals.clone()), rows);
            cases.push((n as u64, locals, tree));
        }
        // If the type fixes the length, there is no other case.
        if size.is_some_and(|n| lens.contains(&n)) {
            return Tree::Len(on, cases, Box::new(Tree::Fail));
        }
        let default = self.below(on, TestOutcome::NotLen(lens, size), split.rest);
        Tree::Len(on, cases, Box::new(default))
    }
}

/// A literal as a hash key; equal numbers have equal keys.
#[derive(PartialEq, Eq, Hash)]
enum LiteralKey {
    Unit,
    Bool(bool),
    Int(i64),
    Float(u64),
    F32(u32),
    Str(std::rc::Rc<str>),
}

impl LiteralKey {
    fn of(l: &CoreLit) -> LiteralKey {
        match l {
            CoreLit::Unit => LiteralKey::Unit,
            CoreLit::Bool(b) => LiteralKey::Bool(*b),
            CoreLit::Int(n) => LiteralKey::Int(*n),
            // Adding 0.0 maps -0 to 0.
            CoreLit::Float(x) => LiteralKey::Float((x + 0.0).to_bits()),
            CoreLit::F32(x) => LiteralKey::F32((x + 0.0).to_bits()),
            CoreLit::Str(s) => LiteralKey::Str(s.clone()),
        }
    }
}

/// Splits rows by the case that `case` returns for their pattern on `on`, and replaces that pattern by columns for its
/// parts. Rows without a pattern on `on` go to every case.
fn split<'p, K: Eq + Hash + Copy>(
    rows: Vec<ArmRow<'p>>,
    on: Local,
    mut case: impl FnMut(&'p TPat, &mut ArmRow<'p>) -> Option<K>,
) -> CaseSplit<'p, K> {
    let mut places: HashMap<K, usize> = HashMap::new();
    let mut out = CaseSplit { cases: Vec::new(), rest: Vec::new() };
    for mut row in rows {
        let Some(p) = row.take_column(on) else {
            for (_, rows) in &mut out.cases {
                if !rows.last().is_some_and(ArmRow::fits) {
                    rows.push(row.clone());
                }
            }
            out.rest.push(row);
            continue;
        };
        let Some(k) = case(p, &mut row) else { continue };
        let at = *places.entry(k).or_insert_with(|| {
            out.cases.push((k, out.rest.clone()));
            out.cases.len() - 1
        });
        let rows = &mut out.cases[at].1;
        if !rows.last().is_some_and(ArmRow::fits) {
            rows.push(row);
        }
    }
    out
}

/// Expands or-patterns on a column to one row for each alternative.
fn alternatives(rows: Vec<ArmRow<'_>>, on: Local) -> Vec<ArmRow<'_>> {
    let mut out = Vec::new();
    for row in rows {
        let Some(TPat::Or(alts)) = row.column(on) else {
            out.push(row);
            continue;
        };
        let at = row.cols.iter().rposition(|(l, _)| *l == on).unwrap_or_default();
        for p in alts {
            let mut r = row.clone();
            let after = r.cols.split_off(at + 1);
            r.cols.pop();
            r.add(on, p);
            r.cols.extend(after);
            out.push(r);
        }
    }
    out
}

/// A value that reaches this node, as source text. `level` 1: as an argument, in parentheses if needed.
fn witness(at: Local, known: &HashMap<Local, TestOutcome>, level: u8) -> String {
    stacker::maybe_grow(32 * 1024, 1024 * 1024, || witness_of(at, known, level))
}

fn witness_of(at: Local, known: &HashMap<Local, TestOutcome>, level: u8) -> String {
    let wrap = |text: String| if level > 0 { format!("({text})") } else { text };
    match known.get(&at) {
        None => "_".into(),
        Some(TestOutcome::Con(name, fields)) if fields.is_empty() => name.to_string(),
        Some(TestOutcome::Con(name, fields)) => {
            let args: Vec<String> = fields.iter().map(|f| witness(*f, known, 1)).collect();
            wrap(format!("{name} {}", args.join(" ")))
        }
        Some(TestOutcome::Lit(l)) => l.to_string(),
        Some(TestOutcome::NotLit(lits)) => other_literal(lits),
        Some(TestOutcome::NotLen(lens, size)) => {
            let n = size.or_else(|| (0..).find(|n| !lens.contains(n))).unwrap_or_default();
            format!("[{}]", vec!["_"; n].join(", "))
        }
        Some(TestOutcome::Parts(parts)) => {
            let record = matches!(parts.first(), Some((Projection::Field(_), _)));
            let mut parts = parts.clone();
            parts.sort_by_key(|(s, _)| match s {
                Projection::Item(i) => (*i, ""),
                Projection::Field(f) => (0, f.as_str()),
            });
            let texts: Vec<String> = parts
                .iter()
                .map(|(s, l)| match s {
                    Projection::Item(_) => witness(*l, known, 0),
                    Projection::Field(f) => format!("{f} = {}", witness(*l, known, 0)),
                })
                .collect();
            if record { format!("{{{}}}", texts.join(", ")) } else { format!("({})", texts.join(", ")) }
        }
        Some(TestOutcome::Len(elems)) => {
            let texts: Vec<String> = elems.iter().map(|e| witness(*e, known, 0)).collect();
            format!("[{}]", texts.join(", "))
        }
    }
}

/// A literal that differs from all of these.
fn other_literal(lits: &[CoreLit]) -> String {
    let known: HashSet<LiteralKey> = lits.iter().map(LiteralKey::of).collect();
    let other = |l: &CoreLit| !known.contains(&LiteralKey::of(l));
    let found = match lits.first() {
        Some(CoreLit::Bool(b)) => Some(CoreLit::Bool(!b)),
        Some(CoreLit::Int(_)) => (0..).map(CoreLit::Int).find(other),
        Some(CoreLit::Float(_)) => (0..).map(|n| CoreLit::Float(f64::from(n))).find(other),
        Some(CoreLit::Str(_)) => (0..).map(|n| CoreLit::Str("x".repeat(n).into())).find(other),
        Some(CoreLit::Unit | CoreLit::F32(_)) | None => None,
    };
    found.map_or("_".into(), |l| l.to_string())
}
