//! Abstract values: the static knowledge about a value during specialisation.

use adl_ir::{DataId, FnId, Var};
use adl_prim::Prim;
use adl_syntax::symbol::Symbol;
use adl_typing::core::{Lambda, Local};
use adl_typing::ty::{Ty, TyVar};
use std::collections::BTreeMap;
use std::rc::Rc;

/// A substitution for type variables, without sizes.
pub(crate) type Subst = Rc<BTreeMap<TyVar, Ty>>;

/// Captured values.
pub(crate) type Captured = Rc<[(Local, Val)]>;

/// Members of a recursive group: name, hidden parameters, code.
pub(crate) type GroupMembers = Vec<(Local, Rc<[Local]>, Rc<Lambda>)>;

/// An abstract value. Its leaves, from left to right, are IR variables.
#[derive(Clone, Debug)]
pub(crate) enum Val {
    Unit,
    /// A scalar, a String, or an array of those.
    Leaf(Var),
    Tuple(Vec<Val>),
    /// Sorted by name.
    Record(Vec<(Symbol, Val)>),
    /// An array of compound values: the element, each leaf with one more axis.
    Array(Box<Val>),
    Data(Var, DataId),
    Fun(Rc<Fun>),
    /// A run-time type representation.
    Rep(Rc<KnownRep>),
    /// No value: evaluation has failed before.
    Bottom,
}

/// A run-time type representation, with the known sizes.
#[derive(Clone, Debug)]
pub(crate) enum KnownRep {
    /// A type in which no array sizes matter, or declared data.
    Base(Ty),
    Array(ArraySize, Rc<KnownRep>),
    Tuple(Vec<Rc<KnownRep>>),
    Record(Vec<(Symbol, Rc<KnownRep>)>),
    Other,
}

/// The size of an array in a run-time type.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ArraySize {
    Const(u64),
    Var(Var),
    Unknown,
}

/// Known code with abstract captured values.
#[derive(Clone, Debug)]
pub(crate) struct Closure {
    pub lam: Rc<Lambda>,
    pub hidden: Rc<[Local]>,
    /// The recursive group that the code belongs to.
    pub group: Option<Rc<GroupMembers>>,
    pub env: Captured,
    pub subst: Subst,
}

/// A derivative at a point, as a linear map.
#[derive(Clone, Debug)]
pub(crate) struct Linear {
    /// `(residual…, dx…) -> (dy…)`.
    pub tangent: FnId,
    /// `(residual…, ct_y…) -> (ct_x…)`.
    pub cotangent: FnId,
    pub transposed: bool,
    /// The point, and the value there. They determine the discrete leaves and shapes of arguments and results.
    pub x: Val,
    pub y: Val,
    /// Which leaves of `y` have a tangent.
    pub active: Vec<bool>,
    pub residuals: Vec<Var>,
}

/// A function.
#[derive(Clone, Debug)]
pub(crate) enum Fun {
    Closure(Closure),
    /// With its hidden arguments.
    Prim(Prim, Vec<Val>),
    Partial(Rc<Fun>, Vec<Val>),
    Custom {
        vjp: bool,
        f: Val,
        rule: Val,
    },
    Checkpoint(Val),
    Linear(Linear),
    /// A function selected at run time: its tag, and the candidates.
    Tagged(Var, Vec<Rc<Fun>>),
    /// A function represented as data: the constructor identifies the code, and its fields are the captured values.
    Boxed(Var, DataId),
}

impl Val {
    /// A functional value.
    pub fn fun(f: Fun) -> Val {
        Val::Fun(Rc::new(f))
    }

    /// An array, given its element with one more axis on each leaf.
    pub fn array_of(elem: Val) -> Val {
        match elem {
            leaf @ Val::Leaf(_) => leaf,
            Val::Bottom => Val::Bottom,
            other => Val::Array(Box::new(other)),
        }
    }

    /// The element of an array, with the extra axis on each leaf.
    pub fn lifted_elem(&self) -> Val {
        match self {
            Val::Array(e) => (**e).clone(),
            other => other.clone(),
        }
    }

    /// Its leaves.
    pub fn leaves(&self) -> Vec<Var> {
        let mut out = Vec::new();
        self.map(&mut |v| {
            out.push(v);
            v
        });
        out
    }

    /// Replaces each leaf, from left to right.
    pub fn map(&self, f: &mut dyn FnMut(Var) -> Var) -> Val {
        self.map_within(true, f)
    }

    /// Replaces each leaf, or, without `each`, those outside of values that differ from rank to rank.
    fn map_within(&self, each: bool, fn_mut: &mut dyn FnMut(Var) -> Var) -> Val {
        match self {
            v if !each && v.of_each().is_some() => v.clone(),
            Val::Unit => Val::Unit,
            Val::Bottom => Val::Bottom,
            Val::Leaf(v) => Val::Leaf(fn_mut(*v)),
            Val::Data(v, d) => Val::Data(fn_mut(*v), *d),
            Val::Tuple(vs) => Val::Tuple(vs.iter().map(|v| v.map_within(each, fn_mut)).collect()),
            Val::Record(fs) => Val::Record(fs.iter().map(|(n, v)| (*n, v.map_within(each, fn_mut))).collect()),
            Val::Array(e) => Val::Array(Box::new(e.map_within(each, fn_mut))),
            Val::Fun(g) => Val::Fun(Rc::new(g.map_within(each, fn_mut))),
            Val::Rep(r) => Val::Rep(Rc::new(r.map(fn_mut))),
        }
    }

    /// The same tree with other leaves, in order.
    pub fn with(&self, leaves: &[Var]) -> Val {
        let mut next = leaves.iter();
        self.map(&mut |v| next.next().copied().unwrap_or(v))
    }

    /// Whether it contains a function.
    pub fn has_fun(&self) -> bool {
        match self {
            Val::Fun(_) => true,
            Val::Tuple(vs) => vs.iter().any(Val::has_fun),
            Val::Record(fs) => fs.iter().any(|f| f.1.has_fun()),
            Val::Array(e) => e.has_fun(),
            Val::Unit | Val::Leaf(_) | Val::Data(..) | Val::Rep(_) | Val::Bottom => false,
        }
    }
}

impl KnownRep {
    fn map(&self, rename: &mut dyn FnMut(Var) -> Var) -> KnownRep {
        match self {
            KnownRep::Base(t) => KnownRep::Base(t.clone()),
            KnownRep::Other => KnownRep::Other,
            KnownRep::Array(n, e) => {
                let n = match n {
                    ArraySize::Var(v) => ArraySize::Var(rename(*v)),
                    other => *other,
                };
                KnownRep::Array(n, Rc::new(e.map(rename)))
            }
            KnownRep::Tuple(ps) => KnownRep::Tuple(ps.iter().map(|p| Rc::new(p.map(rename))).collect()),
            KnownRep::Record(fs) => KnownRep::Record(fs.iter().map(|(n, p)| (*n, Rc::new(p.map(rename)))).collect()),
        }
    }
}

impl Fun {
    /// Replaces each leaf of the captured values.
    pub fn map(&self, rename: &mut dyn FnMut(Var) -> Var) -> Fun {
        self.map_within(true, rename)
    }

    /// Replaces each captured leaf outside of values that differ from rank to rank.
    pub fn map_plain(&self, rename: &mut dyn FnMut(Var) -> Var) -> Fun {
        self.map_within(false, rename)
    }

    fn map_within(&self, each: bool, rename: &mut dyn FnMut(Var) -> Var) -> Fun {
        match self {
            Fun::Closure(c) => Fun::Closure(Closure {
                env: c.env.iter().map(|(l, v)| (*l, v.map_within(each, rename))).collect(),
                ..c.clone()
            }),
            Fun::Prim(p, reps) => Fun::Prim(*p, reps.iter().map(|v| v.map_within(each, rename)).collect()),
            Fun::Partial(g, args) => {
                let g = Rc::new(g.map_within(each, rename));
                Fun::Partial(g, args.iter().map(|v| v.map_within(each, rename)).collect())
            }
            Fun::Custom { vjp, f: g, rule } => {
                Fun::Custom { vjp: *vjp, f: g.map_within(each, rename), rule: rule.map_within(each, rename) }
            }
            Fun::Checkpoint(g) => Fun::Checkpoint(g.map_within(each, rename)),
            Fun::Boxed(x, d) => Fun::Boxed(rename(*x), *d),
            Fun::Linear(l) => {
                let (x, y) = (l.x.map_within(each, rename), l.y.map_within(each, rename));
                Fun::Linear(Linear { x, y, residuals: l.residuals.iter().map(|v| rename(*v)).collect(), ..l.clone() })
            }
            Fun::Tagged(tag, gs) => {
                let tag = rename(*tag);
                Fun::Tagged(tag, gs.iter().map(|g| Rc::new(g.map_within(each, rename))).collect())
            }
        }
    }

    /// Captured leaves outside of values that differ from rank to rank.
    pub fn plain_leaves(&self) -> Vec<Var> {
        let mut out = Vec::new();
        self.map_plain(&mut |v| {
            out.push(v);
            v
        });
        out
    }

    /// Its leaves.
    pub fn leaves(&self) -> Vec<Var> {
        let mut out = Vec::new();
        self.map(&mut |v| {
            out.push(v);
            v
        });
        out
    }
}
