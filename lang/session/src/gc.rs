//! Garbage collection of definitions in long sessions: unreachable values and code are released, so that redefining a
//! name again and again does not fill memory.

use crate::Session;
use crate::limits::gc::{LARGE, MANY};
use adl_interp::value::{Value, seq};
use adl_typing::core::GlobalId;
use adl_typing::env::{Env, Global};
use std::collections::HashSet;
use std::rc::{Rc, Weak};

/// What a front end displays after its entry has ended.
pub(crate) trait Displayed {
    /// The value, whose definitions are kept.
    fn value(&self) -> Value;
}

/// State of [`Session::release`].
#[derive(Default)]
pub(crate) struct GcState {
    /// The number of definitions at the last collection.
    looked: u32,
    /// The number of definitions kept by it.
    kept: u32,
    /// Whether a large value has lost its name since.
    large: bool,
    /// What front ends display.
    pub watches: Vec<Weak<dyn Displayed>>,
}

impl Session {
    /// Releases values and code that are unreachable from any name, if there may be many or large ones. For front ends,
    /// between entries: values of this session that the embedding program holds may lose definitions that they use.
    pub fn release(&mut self) {
        self.release_except(&[], &[]);
    }

    /// The same for an embedding program that names what it holds: modules and values.
    pub fn release_except(&mut self, envs: &[Rc<Env>], values: &[Value]) {
        let defined = self.tables.globals;
        if !self.memory.large && defined.wrapping_sub(self.memory.looked) < MANY.max(self.memory.kept / 2) {
            return;
        }
        if self.memory.large {
            self.past.shorten();
        }
        (self.memory.looked, self.memory.large) = (defined, false);
        let mut names = ReachableDefinitions::default();
        names.env(&self.env);
        self.std.values().for_each(|e| names.env(e));
        self.files.values().for_each(|m| names.env(&m.env.borrow()));
        self.past.all().for_each(|d| names.env(&d.env));
        self.loaded
            .iter()
            .chain(self.past.all().flat_map(|d| &d.loaded))
            .for_each(|l| l.given(&mut |g| names.ids.push(g.id), &mut |e| names.envs.push(e.clone())));
        names.envs.extend_from_slice(envs);
        names.all();
        self.memory.watches.retain(|w| w.strong_count() > 0);
        let mut shown: Vec<Value> = self.memory.watches.iter().filter_map(Weak::upgrade).map(|w| w.value()).collect();
        shown.extend_from_slice(values);
        self.machine.release_unreachable(names.ids.into_iter(), &shown);
        self.tables.release(|id| self.machine.global(id).is_some());
        self.memory.kept = self.definitions() as u32;
    }

    /// The number of definitions that are kept, including library definitions in use.
    pub fn definitions(&self) -> usize {
        self.machine.definitions()
    }

    /// Records that a name is about to be rebound.
    pub(crate) fn note_rebound(&mut self, g: Option<&Global>) {
        self.memory.large |= g.is_some_and(|g| self.is_large(g));
    }

    /// Whether a definition's value contains a large array.
    pub(crate) fn is_large(&self, g: &Global) -> bool {
        self.machine.global(g.id).is_some_and(|v| large(v, 3))
    }
}

/// Whether a value contains a large array, up to a nesting depth of `levels`.
fn large(v: &Value, levels: u32) -> bool {
    let any = |vs: &[Value]| levels > 0 && vs.len() <= LARGE && vs.iter().any(|v| large(v, levels - 1));
    match v {
        Value::Array(_) => seq::shape(v).is_some_and(|s| s.iter().product::<usize>() >= LARGE),
        Value::Tuple(t) => any(&t.0),
        Value::Record(r) => any(&r.vals),
        Value::Data(d) => any(&d.fields),
        _ => false,
    }
}

/// All definitions that are reachable by name from environments.
#[derive(Default)]
struct ReachableDefinitions {
    ids: Vec<GlobalId>,
    envs: Vec<Rc<Env>>,
    seen: HashSet<*const Env>,
}

impl ReachableDefinitions {
    fn env(&mut self, e: &Env) {
        self.ids.extend(e.values.values().map(|g| g.id));
        self.envs.extend(e.modules.values().chain(&e.base).cloned());
    }

    fn all(&mut self) {
        while let Some(e) = self.envs.pop() {
            if self.seen.insert(Rc::as_ptr(&e)) {
                self.env(&e);
            }
        }
    }
}
