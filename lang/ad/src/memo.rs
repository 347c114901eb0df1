//! What has been transformed already.

use crate::jvp::Jvp;
use crate::profile::{Profile, Sites};
use crate::segment::Segments;
use crate::unzip::{Plan, Unzipped};
use adl_ir::{DataId, FnId, Function, Op, Program};
use adl_specialise::Unsupported;
use adl_syntax::span::Span;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// Variables of all functions that one derivative may take: more is code that grows with each derivative inside another one.
const MOST: usize = 1_000_000;

/// Whether all arrays of a function have a shape.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arrays {
    /// They do: it is code of the user's.
    There,
    /// Absent zeros may be among them: a derivative, or what one keeps.
    MayBeAbsent,
}

/// The transformations over one program, each made once for each function.
#[derive(Default)]
pub struct Ad {
    /// What is done to every function before J, and to what J has made of it before that is unzipped: fewer statements are fewer
    /// residuals. (The optimiser stands below this crate.)
    pub cleanup: Option<fn(&Program, &mut Function, Arrays)>,
    /// What is done to functions that loops in segments become: it changes no order of additions.
    pub simplify: Option<fn(&mut Function)>,
    /// Whether reductions, scans and histograms are differentiated as the loops that they are, whatever their operator: the rules are
    /// compared with it.
    pub only_loops: bool,
    /// Which rule differentiates each reduction, scan and histogram that J has met.
    pub decisions: Vec<crate::soac::Decision>,
    pub(crate) helpers: crate::soac::Helpers,
    pub(crate) tangents: HashMap<DataId, Option<DataId>>,
    pub(crate) jvps: HashMap<(FnId, Vec<bool>), Jvp>,
    /// The function that a `J` came from, as it was differentiated: variables have their numbers in the `J`.
    pub(crate) sources: HashMap<FnId, Rc<Function>>,
    /// Those functions, which call each other: what checkpoints run forwards.
    pub(crate) plains: HashMap<FnId, FnId>,
    pub(crate) unzips: HashMap<(FnId, Plan), Unzipped>,
    /// Primal halves without their results.
    pub(crate) kept: HashMap<FnId, FnId>,
    /// By which cotangents they are given, and add to.
    pub(crate) transposes: HashMap<FnId, Vec<(Vec<bool>, FnId)>>,
    /// Linear functions in many directions at once, or why there is none.
    pub(crate) batches: HashMap<FnId, Result<FnId, Unsupported>>,
    /// The structures of linear functions, or that there is none.
    pub(crate) structures: HashMap<FnId, Option<crate::structure::Structure>>,
    pub(crate) wide_datas: HashMap<DataId, DataId>,
    pub(crate) segments: HashMap<(FnId, Segments), FnId>,
    /// Functions that are differentiated as they are: they were made of what J would be given.
    pub(crate) ready: HashSet<FnId>,
    pub(crate) profiles: HashMap<FnId, Profile>,
    pub(crate) sites: HashMap<FnId, Rc<Sites>>,
    /// Functions that say what they took.
    pub(crate) meters: HashMap<FnId, FnId>,
    pub(crate) erasures: HashMap<FnId, FnId>,
    /// Whether the user's functions make absent arrays.
    pub(crate) zeros: bool,
    /// Functions made here in which arrays may be absent.
    pub(crate) absent: HashSet<FnId>,
    pub(crate) recursive: HashMap<FnId, bool>,
    /// Functions that are made, with all that they call.
    complete: HashSet<FnId>,
    pub(crate) activities: HashMap<(FnId, Vec<bool>), Vec<bool>>,
    /// Variables of the functions made since [`Ad::begin`].
    made: usize,
}

impl Ad {
    /// Nothing transformed yet.
    pub fn new() -> Ad {
        Ad::default()
    }

    /// Another derivative, or another function that may have some inside, begins.
    pub fn begin(&mut self) {
        self.made = 0;
    }

    /// Counts a function that was made; an error if all of them are too large.
    pub(crate) fn count(&mut self, f: &Function) -> Result<(), Unsupported> {
        self.made += f.vars.len();
        if self.made > MOST { Err(Unsupported::new("derivatives inside derivatives whose code grows too large", Span::default())) } else { Ok(()) }
    }

    /// An error where a function, or one that it calls, is still being made: its derivative would be that of an empty body.
    pub(crate) fn complete(&mut self, p: &Program, f: FnId) -> Result<(), Unsupported> {
        let (mut work, mut seen) = (vec![f], HashSet::new());
        while let Some(g) = work.pop() {
            if !self.complete.contains(&g) && seen.insert(g) {
                if p.func(g).is_reserved() {
                    return Err(Unsupported::new("a derivative of a function inside itself", Span::default()));
                }
                work.extend(callees(p, g));
            }
        }
        self.complete.extend(seen);
        Ok(())
    }

    /// Whether calls from the function may come back to it. Found for all that it calls at once (Tarjan's strongly connected components), so that a
    /// chain of functions takes linear time.
    pub(crate) fn is_recursive(&mut self, p: &Program, f: FnId) -> bool {
        if let Some(r) = self.recursive.get(&f) {
            return *r;
        }
        let (mut order, mut low, mut open): (HashMap<FnId, usize>, HashMap<FnId, usize>, Vec<FnId>) = Default::default();
        let mut path = vec![(f, callees(p, f))];
        while let Some((g, rest)) = path.last_mut() {
            let (g, next) = (*g, order.len());
            if !order.contains_key(&g) {
                order.insert(g, next);
                low.insert(g, next);
                open.push(g);
            }
            if let Some(h) = rest.pop() {
                match order.get(&h) {
                    _ if self.recursive.contains_key(&h) => {}
                    None => path.push((h, callees(p, h))),
                    Some(at) => _ = low.entry(g).and_modify(|l| *l = (*l).min(*at)),
                }
                continue;
            }
            path.pop();
            let least = low[&g];
            if let Some((caller, _)) = path.last() {
                low.entry(*caller).and_modify(|l| *l = (*l).min(least));
            }
            if least == order[&g] {
                let group = open.split_off(open.iter().rposition(|h| *h == g).unwrap_or(0));
                let calls_itself = group.len() > 1 || callees(p, g).contains(&g);
                self.recursive.extend(group.into_iter().map(|h| (h, calls_itself)));
            }
        }
        self.recursive.get(&f).copied().unwrap_or(false)
    }
}

/// The functions that a function calls.
pub(crate) fn callees(p: &Program, f: FnId) -> Vec<FnId> {
    let mut out = Vec::new();
    let mut blocks = vec![&p.func(f).body];
    while let Some(b) = blocks.pop() {
        for s in &b.stmts {
            if let Op::Call { f, rule, .. } = &s.op {
                out.push(*f);
                out.extend(rule.iter().map(|r| r.func));
            }
            blocks.extend(s.op.blocks());
        }
    }
    out
}
