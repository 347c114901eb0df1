//! Garbage collection of definitions, so that a session that redefines a name again and again does not fill
//! memory.
//!
//! The roots are names and values given to [`Machine::release_unreachable`]. A definition is reachable through
//! values, through the code in them, and through the Core that the specialiser reads. If a value contains a
//! derivative on a tape, whose records cannot be traversed, nothing is collected.

use super::code::{Code, I};
use super::{Fun, Machine, RecursiveGroup};
use crate::limits::vm_gc::BURIED;
use crate::value::Value;
use adl_typing::core::{Expr, ExprKind, GlobalId};
use adl_typing::walk::walk;
use std::collections::HashSet;
use std::rc::Rc;

/// The state of the marking phase.
#[derive(Default)]
struct Marker<'a> {
    ids: HashSet<GlobalId>,
    todo: Vec<GlobalId>,
    values: Vec<&'a Value>,
    codes: Vec<&'a Code>,
    /// Addresses of shared objects that have been visited.
    seen: HashSet<*const u8>,
    /// Whether an object was found that cannot be traversed.
    opaque: bool,
}

impl<'a> Marker<'a> {
    fn id(&mut self, g: GlobalId) {
        if self.ids.insert(g) {
            self.todo.push(g);
        }
    }

    fn is_new<T: ?Sized>(&mut self, shared: &Rc<T>) -> bool {
        self.seen.insert(Rc::as_ptr(shared).cast())
    }

    fn core(&mut self, e: &Expr) {
        walk(e, &mut |e| {
            if let ExprKind::Global(g) = &*e.kind {
                self.id(*g);
            }
        });
    }

    fn value(&mut self, v: &'a Value) {
        match v {
            Value::Unit
            | Value::Bool(_)
            | Value::Int(_)
            | Value::Float(_)
            | Value::F32(_)
            | Value::Str(_)
            | Value::Rep(_)
            | Value::Zero => {}
            Value::Rev { .. } | Value::Dual(_) => self.opaque = true,
            Value::Array(a) if !a.values().is_empty() && self.is_new(a) => self.values.extend(a.values()),
            Value::Array(_) => {}
            Value::Tuple(t) if self.is_new(t) => self.values.extend(&t.0),
            Value::Record(r) if self.is_new(r) => self.values.extend(&r.vals),
            Value::Data(d) if self.is_new(d) => self.values.extend(&d.fields),
            Value::Fun(f) if self.is_new(f) => self.function(f),
            Value::Tuple(_) | Value::Record(_) | Value::Data(_) | Value::Fun(_) => {}
        }
    }

    fn function(&mut self, fun: &'a Fun) {
        match fun {
            Fun::Prim(_, vs) => self.values.extend(vs),
            Fun::Closure(code, vs) => {
                self.code(code);
                self.values.extend(vs);
            }
            Fun::Member(g, _) => self.group(g),
            Fun::Partial(f, vs) => {
                if self.is_new(f) {
                    self.function(f);
                }
                self.values.extend(vs);
            }
            Fun::Linear(map) => {
                self.opaque |= !map.tape.recs.is_empty();
                self.values.extend([&map.input.like, &map.output.like]);
                self.values.extend(&map.original);
                self.values.extend(map.main.iter().flat_map(|m| m.holds()));
            }
            Fun::Custom(f, rule, _) => self.values.extend([f, rule]),
            Fun::Checkpoint(f) | Fun::Invertible(f) => self.values.push(f),
            // What it captures lies in the embedding program.
            Fun::Host(_) => {}
        }
    }

    fn group(&mut self, g: &'a Rc<RecursiveGroup>) {
        if self.is_new(g) {
            g.codes.iter().for_each(|c| self.code(c));
            self.values.extend(&g.captured);
        }
    }

    fn code(&mut self, c: &'a Rc<Code>) {
        if self.is_new(c) {
            self.codes.push(c);
        }
    }

    fn inside(&mut self, c: &'a Code) {
        for i in &c.instrs {
            if let I::Global(_, g) = i {
                self.id(*g);
            }
        }
        self.values.extend(&c.consts);
        c.codes.iter().chain(c.groups.iter().flat_map(super::code_list::CodeList::iter)).for_each(|c| self.code(c));
        if let Some(o) = &c.origin
            && self.is_new(&o.members)
        {
            o.members.iter().for_each(|m| self.core(&m.2.body));
        }
    }

    /// Visits everything that is reachable from the work lists.
    fn all(&mut self, m: &'a Machine) {
        loop {
            if let Some(v) = self.values.pop() {
                self.value(v);
            } else if let Some(c) = self.codes.pop() {
                self.inside(c);
            } else if let Some(g) = self.todo.pop() {
                self.values.extend(m.global(g));
                if let Some(d) = m.definitions.core.get(&g) {
                    self.core(&d.expr);
                }
            } else {
                return;
            }
        }
    }
}

impl Machine {
    /// The number of definitions that have a value.
    pub fn definitions(&self) -> usize {
        self.definitions.globals.iter().flatten().count()
    }

    /// Releases definitions that are not reachable from `names` or `values`, and returns their number. No run
    /// may be in progress, and no values of this machine may exist outside of it except `values`.
    pub fn release_unreachable(&mut self, names: impl Iterator<Item = GlobalId>, values: &[Value]) -> usize {
        let mut r = Marker::default();
        names.for_each(|g| r.id(g));
        r.values.extend(values);
        r.values.extend(self.compiled_ad.kept_functions());
        r.all(self);
        if r.opaque {
            return 0;
        }
        let ids = r.ids;
        let dead: Vec<usize> = (0..self.definitions.globals.len())
            .filter(|i| self.definitions.globals[*i].is_some() && !ids.contains(&GlobalId(*i as u32)))
            .collect();
        for i in &dead {
            self.definitions.globals[*i] = None;
            // The cache identifies code by its address, which must not be reused while the cache has an entry
            // for it.
            self.definitions.buried.extend(self.definitions.core.remove(&GlobalId(*i as u32)));
        }
        if self.definitions.buried.len() > BURIED {
            self.compiled_ad.forget();
            self.definitions.buried.clear();
        }
        dead.len()
    }
}
