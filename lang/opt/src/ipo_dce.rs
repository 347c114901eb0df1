//! Interprocedural elimination of dead results and dead parameters.
//!
//! The analysis is a least fixpoint that starts with the results of the root function. A function is analysed with
//! the results that are known to be needed so far. Its live variables tell which results of its callees are needed,
//! and which of its own parameters. A self-recursive function therefore keeps only what its externally read results
//! need.
//!
//! Functions are never changed in place, because other functions may call them. A function with dead results or
//! parameters is copied without them, and so is every function on a call path from the root to it.
//!
//! Functions with linear parameters or results, functions with a custom derivative rule, and the rules themselves
//! stay as they are.

use adl_ir::rewrite::dce::{self, retain};
use adl_ir::{Block, FnId, Function, Op, Program, Var};
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// The results and parameters of a function that are needed.
#[derive(Clone, PartialEq)]
struct Needs {
    results: Vec<bool>,
    params: Vec<bool>,
}

impl Needs {
    fn all(f: &Function, needed: bool) -> Needs {
        Needs { results: vec![needed; f.body.results.len()], params: vec![needed; f.body.params.len()] }
    }

    fn is_all(&self) -> bool {
        self.results.iter().chain(&self.params).all(|n| *n)
    }
}

/// What [`trim`] has done.
pub struct Trimmed {
    /// The function to use instead of the root: the root itself if nothing was dead.
    pub root: FnId,
    /// The function to use instead of each that was changed.
    pub copies: BTreeMap<FnId, FnId>,
}

/// Removes dead results and parameters from all functions that `root` calls, directly or not.
pub fn trim(program: &mut Program, root: FnId) -> Trimmed {
    let mut t = DeadAnalysis { p: program, needs: BTreeMap::new(), callers: BTreeMap::new(), todo: vec![root] };
    t.need_all(root);
    while let Some(f) = t.todo.pop() {
        t.visit(f);
    }
    let made = t.affected();
    let needs = t.needs;
    let first = program.funcs.len() as u32;
    let names: BTreeMap<FnId, FnId> = made.iter().copied().zip((first..).map(FnId)).collect();
    for f in made {
        let f = trimmed(program, f, &needs, &names);
        program.add(f);
    }
    (first..program.funcs.len() as u32).for_each(|f| crate::check(program, program.func(FnId(f)), "ipo_dce"));
    Trimmed { root: names.get(&root).copied().unwrap_or(root), copies: names }
}

struct DeadAnalysis<'a> {
    p: &'a Program,
    needs: BTreeMap<FnId, Needs>,
    callers: BTreeMap<FnId, BTreeSet<FnId>>,
    /// Worklist of functions to analyse (again).
    todo: Vec<FnId>,
}

impl DeadAnalysis<'_> {
    /// Marks all results and parameters of a function as needed.
    fn need_all(&mut self, f: FnId) {
        let all = Needs::all(self.p.func(f), true);
        if self.needs.insert(f, all.clone()) != Some(all) {
            self.todo.push(f);
            self.enqueue_callers(f);
        }
    }

    /// Puts the callers of a function on the worklist.
    fn enqueue_callers(&mut self, f: FnId) {
        self.todo.extend(self.callers.get(&f).into_iter().flatten());
    }

    fn visit(&mut self, id: FnId) {
        let alive = without_dead(self.p, id, &self.needs);
        let read = reads(&alive.body);
        for (outs, op) in calls(&alive.body) {
            let Op::Call { f: called, lin_args, rule, .. } = op else { continue };
            self.callers.entry(*called).or_default().insert(id);
            if let Some(r) = rule {
                self.need_all(r.func);
            }
            let callee = self.p.func(*called);
            if rule.is_some() || !lin_args.is_empty() || !callee.body.lin_results.is_empty() || callee.reserved {
                self.need_all(*called);
                continue;
            }
            let new = !self.needs.contains_key(called);
            let needs = self.needs.entry(*called).or_insert_with(|| Needs::all(callee, false));
            if grow(&mut needs.results, outs.iter().map(|o| read.contains(o))) || new {
                self.todo.push(*called);
            }
        }
        let Some(needs) = self.needs.get_mut(&id) else { return };
        if grow(&mut needs.params, alive.body.params.iter().map(|x| read.contains(x))) {
            self.enqueue_callers(id);
        }
    }

    /// The functions to copy: those with a dead result or parameter, and all functions that call one of them.
    fn affected(&self) -> BTreeSet<FnId> {
        let mut todo: Vec<FnId> = self.needs.iter().filter(|(_, n)| !n.is_all()).map(|(f, _)| *f).collect();
        let mut found = BTreeSet::new();
        while let Some(f) = todo.pop() {
            if found.insert(f) {
                todo.extend(self.callers.get(&f).into_iter().flatten());
            }
        }
        found
    }
}

/// Sets further entries of `known`. Returns whether any entry changed.
fn grow(known: &mut [bool], more: impl Iterator<Item = bool>) -> bool {
    let before = known.iter().filter(|k| **k).count();
    known.iter_mut().zip(more).for_each(|(k, m)| *k |= m);
    known.iter().filter(|k| **k).count() > before
}

/// A copy of a function without its dead results and parameters. Its calls still pass only the needed arguments,
/// but bind all results.
fn without_dead(p: &Program, f: FnId, needs: &BTreeMap<FnId, Needs>) -> Function {
    let mut out = (**p.func(f)).clone();
    if let Some(n) = needs.get(&f) {
        retain(&mut out.body.results, &n.results);
    }
    each_call(&mut out.body, &mut |_, op| {
        if let Op::Call { f: g, args, .. } = op {
            match needs.get(g) {
                Some(n) => retain(args, &n.params),
                None => args.clear(),
            }
        }
    });
    dce::remove_dead(&mut out);
    out
}

/// A copy of a function whose calls refer to the trimmed callees in `names`.
fn trimmed(p: &Program, f: FnId, needs: &BTreeMap<FnId, Needs>, names: &BTreeMap<FnId, FnId>) -> Function {
    let mut out = without_dead(p, f, needs);
    if let Some(n) = needs.get(&f) {
        retain(&mut out.body.params, &n.params);
    }
    each_call(&mut out.body, &mut |outs, op| {
        if let Op::Call { f: g, rule, .. } = op {
            if let Some(n) = needs.get(g) {
                retain(outs, &n.results);
            }
            for called in [Some(g), rule.as_mut().map(|r| &mut r.func)].into_iter().flatten() {
                *called = *names.get(called).unwrap_or(called);
            }
        }
    });
    out
}

/// Applies `run` to the results and the operation of every call, nested blocks included.
fn each_call(b: &mut Block, run: &mut dyn FnMut(&mut Vec<Var>, &mut Op)) {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
        for s in &mut b.stmts {
            match &mut s.op {
                Op::Call { .. } => run(&mut s.outs, &mut s.op),
                op => op.blocks_mut().into_iter().for_each(|b| each_call(b, run)),
            }
        }
    });
}

/// A block and all blocks nested in it.
fn blocks(b: &Block) -> Vec<&Block> {
    let mut all = vec![b];
    let mut at = 0;
    while at < all.len() {
        all.extend(all[at].stmts.iter().flat_map(|s| s.op.blocks()));
        at += 1;
    }
    all
}

fn calls(b: &Block) -> Vec<(&[Var], &Op)> {
    let stmts = blocks(b).into_iter().flat_map(|b| &b.stmts);
    stmts.filter(|s| matches!(s.op, Op::Call { .. })).map(|s| (&s.outs[..], &s.op)).collect()
}

/// All variables that a block reads.
fn reads(b: &Block) -> HashSet<Var> {
    let mut read = HashSet::new();
    for b in blocks(b) {
        read.extend(b.results.iter().chain(&b.lin_results));
        for s in &b.stmts {
            s.op.each_operand(&mut |v| {
                read.insert(v);
            });
        }
    }
    read
}
