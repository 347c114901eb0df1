//! Which functions receive arrays that may be symbolic zeros.
//!
//! Where branches capture different arrays, each one creates symbolic zeros in place of those of the others, and passes
//! them to the function that all have in common. The analysis is a least fixpoint over the functions of an entry, whose
//! own arguments are materialised.

use super::{Tracked, analyse, makes_symbolic_zero};
use adl_ir::{Block, FnId, Op, Program, Var};
use std::collections::{BTreeSet, HashMap, HashSet};

/// The positions of parameters and results that may be symbolic zeros, and whether a call returns some.
#[derive(Clone, Default)]
struct Flow {
    params: BTreeSet<usize>,
    results: BTreeSet<usize>,
    receives: bool,
}

/// The functions among `root` and its callees in which a parameter or the result of a call may be a symbolic zero.
pub fn receivers(program: &Program, root: FnId) -> HashSet<FnId> {
    let all = program.callees(root, |_, _| true);
    if !all.iter().any(|f| makes_symbolic_zero(&program.func(*f).body, program.func(*f))) {
        return HashSet::new();
    }
    let (mut flows, mut callers) = (HashMap::<FnId, Flow>::new(), HashMap::<FnId, BTreeSet<FnId>>::new());
    let mut todo = all;
    while let Some(id) = todo.pop_last() {
        let function = program.func(id);
        let params = flows.entry(id).or_default().params.clone();
        let returned = |g: FnId, k: usize| flows.get(&g).is_some_and(|flow| flow.results.contains(&k));
        let zeros = analyse(function, Tracked::OfCallees, &|a| a.may_hold(&params), Some(&returned)).symbolic_zero;
        let mut calls = Vec::new();
        each_call(&function.body, &mut |outs, g, args| {
            callers.entry(g).or_default().insert(id);
            let given: Vec<usize> = positions(args, &zeros).collect();
            calls.push((g, given, positions(outs, &zeros).next().is_some()));
        });
        for (g, given, returns) in calls {
            flows.entry(id).or_default().receives |= returns;
            let callee = flows.entry(g).or_default();
            let before = callee.params.len();
            callee.params.extend(given);
            if callee.params.len() > before {
                todo.insert(g);
            }
        }
        let own = flows.entry(id).or_default();
        let before = own.results.len();
        own.results.extend(positions(&function.body.results, &zeros));
        if own.results.len() > before {
            todo.extend(callers.get(&id).into_iter().flatten());
        }
    }
    flows.into_iter().filter(|(_, flow)| flow.receives || !flow.params.is_empty()).map(|(f, _)| f).collect()
}

fn positions<'a>(vs: &'a [Var], zeros: &'a HashSet<Var>) -> impl Iterator<Item = usize> + 'a {
    vs.iter().enumerate().filter(|(_, v)| zeros.contains(v)).map(|(k, _)| k)
}

/// Applies `run` to the results, the function and the arguments of every call, nested blocks included.
fn each_call(b: &Block, run: &mut dyn FnMut(&[Var], FnId, &[Var])) {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
        for s in &b.stmts {
            if let Op::Call { f, args, .. } = &s.op {
                run(&s.outs, *f, args);
            }
            s.op.blocks().into_iter().for_each(|b| each_call(b, run));
        }
    });
}
