//! What no caller reads, through calls: results of functions, and the parameters that only those need. A function that calls itself
//! keeps what it needs for the results that are read from outside, and no more.
//!
//! The least fixpoint: nothing is needed but what the root gives; a function is taken with the results that are needed so far, and what is
//! alive in it says which results of its callees are needed, and which of its parameters. Functions are never changed, since others
//! may call them: those that need less are made anew, with all on the way to them.
//!
//! Functions with linear parameters or results, those with a rule of the user's, and the rules themselves stay as they are.

use adl_ad::dce::{self, retain};
use adl_ir::{Block, FnId, Function, Op, Program, Var};
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// What of a function is read.
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

/// The function whose callees make what it reads. It is the same function where they do already.
pub fn trim(p: &mut Program, root: FnId) -> FnId {
    let mut t = Trim { p, needs: BTreeMap::new(), callers: BTreeMap::new(), todo: vec![root] };
    t.fix(root);
    while let Some(f) = t.todo.pop() {
        t.visit(f);
    }
    let made = t.affected();
    let needs = t.needs;
    let first = p.funcs.len() as u32;
    let names: BTreeMap<FnId, FnId> = made.iter().copied().zip((first..).map(FnId)).collect();
    for f in made {
        let f = trimmed(p, f, &needs, &names);
        p.add(f);
    }
    (first..p.funcs.len() as u32).for_each(|f| crate::check(p, p.func(FnId(f))));
    names.get(&root).copied().unwrap_or(root)
}

struct Trim<'a> {
    p: &'a Program,
    needs: BTreeMap<FnId, Needs>,
    callers: BTreeMap<FnId, BTreeSet<FnId>>,
    /// Functions to be looked at (again).
    todo: Vec<FnId>,
}

impl Trim<'_> {
    /// All of a function is needed.
    fn fix(&mut self, f: FnId) {
        let all = Needs::all(self.p.func(f), true);
        if self.needs.insert(f, all.clone()) != Some(all) {
            self.todo.push(f);
            self.wake(f);
        }
    }

    /// Has the callers of a function looked at again.
    fn wake(&mut self, f: FnId) {
        self.todo.extend(self.callers.get(&f).into_iter().flatten());
    }

    fn visit(&mut self, f: FnId) {
        let alive = shrunk(self.p, f, &self.needs);
        let read = reads(&alive.body);
        for (outs, op) in calls(&alive.body) {
            let Op::Call { f: g, lin_args, rule, .. } = op else { continue };
            self.callers.entry(*g).or_default().insert(f);
            if let Some(r) = rule {
                self.fix(r.func);
            }
            let callee = self.p.func(*g);
            if rule.is_some() || !lin_args.is_empty() || !callee.body.lin_results.is_empty() || callee.is_reserved() {
                self.fix(*g);
                continue;
            }
            let new = !self.needs.contains_key(g);
            let needs = self.needs.entry(*g).or_insert_with(|| Needs::all(callee, false));
            if grow(&mut needs.results, outs.iter().map(|o| read.contains(o))) || new {
                self.todo.push(*g);
            }
        }
        let Some(needs) = self.needs.get_mut(&f) else { return };
        if grow(&mut needs.params, alive.body.params.iter().map(|x| read.contains(x))) {
            self.wake(f);
        }
    }

    /// The functions that are made anew: those of which something is not needed, and those that call them.
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

/// Says yes at more places; whether there are more.
fn grow(known: &mut [bool], more: impl Iterator<Item = bool>) -> bool {
    let before = known.iter().filter(|k| **k).count();
    known.iter_mut().zip(more).for_each(|(k, m)| *k |= m);
    known.iter().filter(|k| **k).count() > before
}

/// A function without what is not needed. Calls have the arguments that are needed, and all their results.
fn shrunk(p: &Program, f: FnId, needs: &BTreeMap<FnId, Needs>) -> Function {
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

/// The same as a function of the program, calling those that were made anew.
fn trimmed(p: &Program, f: FnId, needs: &BTreeMap<FnId, Needs>, names: &BTreeMap<FnId, FnId>) -> Function {
    let mut out = shrunk(p, f, needs);
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

/// Does something with the results and the operation of each call.
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

/// All blocks in a block, itself among them.
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

/// What is read somewhere.
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
