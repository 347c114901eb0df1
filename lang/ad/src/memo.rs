//! The memo of all transformations.

use crate::limits::memo::MAX_VARIABLES;
use crate::results::{Decision, FunctionSites, Helpers, Jvp, Profile, Segments, Structure, Unzipped};
use crate::unzip::UnzipPlan;
use adl_ir::{DataId, FnId, Function, Program};
use adl_specialise::Unsupported;
use adl_syntax::span::Span;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::rc::Rc;

/// What J of a function depends on: the function, which parameters have a tangent, and the shared tangents. If some
/// parameters share one, the last part gives for each parameter the first one with the same tangent; otherwise it is
/// empty.
pub(crate) type JvpKey = (FnId, Vec<bool>, Vec<usize>);

/// The transformations of one program. Each is done once for each function.
#[derive(Default)]
pub struct Ad {
    /// Whether functions are optimised before J, and its output before unzipping: fewer statements mean fewer residuals.
    pub optimise: bool,
    /// Differentiates all reductions, scans and histograms as loops, whatever their operator. Tests compare the
    /// rules with this.
    pub only_loops: bool,
    /// The rule chosen for each reduction, scan and histogram that J has met.
    pub decisions: Vec<Decision>,
    pub(crate) helpers: Helpers,
    pub(crate) jvp: JvpMemo,
    pub(crate) unzip: UnzipMemo,
    pub(crate) linear: LinearMemo,
    pub(crate) costs: CostMemo,
    /// Whether the user's functions create symbolic zeros.
    pub(crate) zeros: bool,
    /// Generated functions in which arrays may be symbolic zeros.
    pub(crate) symbolic_zero: HashSet<FnId>,
    /// Other functions in which arrays may be symbolic zeros: copies and parts of such functions that other passes made,
    /// and functions of the user's that are called with symbolic zeros.
    pub(crate) receive_zeros: HashSet<FnId>,
    recursive: HashMap<FnId, bool>,
    /// Functions whose bodies, and those of all their callees, exist.
    complete: HashSet<FnId>,
    /// Number of variables of the functions made since [`Ad::begin`].
    made: usize,
}

/// What J and the analyses before it have made.
#[derive(Default)]
pub(crate) struct JvpMemo {
    pub jvps: HashMap<JvpKey, Jvp>,
    /// The types of tangents of declared data.
    pub tangents: HashMap<DataId, Option<DataId>>,
    /// The source of each function made by J, in the form that was differentiated. The function made by J uses the
    /// same variable numbers.
    pub sources: HashMap<FnId, Rc<Function>>,
    pub activities: HashMap<(FnId, Vec<bool>), Vec<bool>>,
    pub segments: HashMap<(FnId, Segments), FnId>,
    /// Functions that J takes as they are, because they were made from prepared sources.
    pub taken_as_is: HashSet<FnId>,
    /// The functions that run segments of a loop, and which of their parameters the loop's body captured.
    pub captures: HashMap<FnId, Range<usize>>,
}

/// What unzipping has made.
#[derive(Default)]
pub(crate) struct UnzipMemo {
    pub unzips: HashMap<(FnId, UnzipPlan), Unzipped>,
    /// The sources of functions made by J as functions that call each other: what a checkpoint runs in the forward pass.
    pub forward_sources: HashMap<FnId, FnId>,
    /// Primal halves without their results.
    pub kept: HashMap<FnId, FnId>,
}

/// What was made of linear functions, and of functions without linear variables.
#[derive(Default)]
pub(crate) struct LinearMemo {
    /// Transposed functions. The Bools say for which parameters the function takes a cotangent to which it adds.
    pub transposes: HashMap<FnId, Vec<(Vec<bool>, FnId)>>,
    /// Linear functions vectorised over directions, or why that is not supported.
    pub batches: HashMap<FnId, Result<FnId, Unsupported>>,
    pub batched_datas: HashMap<DataId, DataId>,
    /// Sparsity patterns of linear functions; `None` if the pattern depends on data.
    pub structures: HashMap<FnId, Option<Structure>>,
    /// Functions without linear variables.
    pub erasures: HashMap<FnId, FnId>,
}

/// What is known of the costs of functions.
#[derive(Default)]
pub(crate) struct CostMemo {
    pub profiles: HashMap<FnId, Profile>,
    pub sites: HashMap<FnId, Rc<FunctionSites>>,
    /// Metered functions.
    pub meters: HashMap<FnId, FnId>,
}

impl Ad {
    /// An empty memo.
    pub fn new() -> Ad {
        Ad::default()
    }

    /// Resets the size limit, for another derivative.
    pub fn begin(&mut self) {
        self.made = 0;
    }

    /// Adds a generated function to the size limit. An error if the limit is exceeded.
    pub(crate) fn count(&mut self, f: &Function) -> Result<(), Unsupported> {
        self.made += f.vars.len();
        if self.made > MAX_VARIABLES {
            Err(Unsupported::new("derivatives inside derivatives whose code grows too large", Span::default()))
        } else {
            Ok(())
        }
    }

    /// An error if a function or one of its callees is still being built: its derivative would be that of an empty
    /// body.
    pub(crate) fn complete(&mut self, p: &Program, f: FnId) -> Result<(), Unsupported> {
        if p.is_complete(f, &mut self.complete) {
            return Ok(());
        }
        Err(Unsupported::new("a derivative of a function inside itself", Span::default()))
    }

    /// Whether a function is recursive, directly or through others. Computed for all its callees at once (Tarjan's
    /// strongly connected components), so that a chain of functions takes linear time.
    pub(crate) fn is_recursive(&mut self, program: &Program, id: FnId) -> bool {
        if let Some(r) = self.recursive.get(&id) {
            return *r;
        }
        let (mut order, mut low, mut open): (HashMap<FnId, usize>, HashMap<FnId, usize>, Vec<FnId>) =
            Default::default();
        let mut path = vec![(id, program.called_by(id))];
        while let Some((g, rest)) = path.last_mut() {
            let (current, next) = (*g, order.len());
            if let std::collections::hash_map::Entry::Vacant(e) = order.entry(current) {
                e.insert(next);
                low.insert(current, next);
                open.push(current);
            }
            if let Some(h) = rest.pop() {
                match order.get(&h) {
                    _ if self.recursive.contains_key(&h) => {}
                    None => path.push((h, program.called_by(h))),
                    Some(at) => _ = low.entry(current).and_modify(|l| *l = (*l).min(*at)),
                }
                continue;
            }
            path.pop();
            let least = low[&current];
            if let Some((caller, _)) = path.last() {
                low.entry(*caller).and_modify(|l| *l = (*l).min(least));
            }
            if least == order[&current] {
                let group = open.split_off(open.iter().rposition(|h| *h == current).unwrap_or(0));
                let calls_itself = group.len() > 1 || program.called_by(current).contains(&current);
                self.recursive.extend(group.into_iter().map(|h| (h, calls_itself)));
            }
        }
        self.recursive.get(&id).copied().unwrap_or(false)
    }
}
