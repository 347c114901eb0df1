//! Run-time values as the specialiser sees them.

pub(crate) use super::value_fact::ValueFact;
use crate::limits::ir_world::MOST_FUNCTIONS;
use crate::value::{Buf, Kind, Rep, Value, seq};
use crate::vm::code::Code;
use crate::vm::{Fun, Machine};
use adl_prim::{DerivativeFn, Prim};
use adl_specialise::world::{Assumptions, FunView, Root, ValueKind, ValuePath, World};
use adl_typing::core::{Def, GlobalId};
use adl_typing::ty::{DataDecl, DataId, RecordTy, Size, Ty, TyVar};
use std::collections::HashMap;
use std::rc::Rc;

/// A function and its arguments, with the facts that the specialiser learned about them.
pub(crate) struct EntryValues<'a> {
    pub m: &'a Machine,
    pub f: &'a Value,
    pub args: &'a [Value],
    /// What the code may assume.
    pub assumptions: Assumptions,
    /// The facts, in the order in which they were learned.
    pub facts: Vec<(ValuePath, ValueFact)>,
    /// Keeps code alive whose address occurs in a fact.
    pub keep: Vec<Rc<Code>>,
}

impl<'a> EntryValues<'a> {
    pub fn new(m: &'a Machine, f: &'a Value, args: &'a [Value]) -> EntryValues<'a> {
        EntryValues { m, f, args, assumptions: Assumptions::default(), facts: Vec::new(), keep: Vec::new() }
    }

    /// The value at a place.
    pub fn at(&self, p: &ValuePath) -> Option<Value> {
        p.steps.iter().try_fold(self.root(p.root)?, |v, s| step(&v, *s as usize))
    }

    fn root(&self, root: Root) -> Option<Value> {
        match root {
            Root::Fun => Some(self.f.clone()),
            Root::Arg(i) => self.args.get(i as usize).cloned(),
            Root::Global(g) => self.m.global(g).cloned(),
        }
    }

    /// Whether facts about other values hold for these. Neighbouring facts are about neighbouring places, so the values
    /// on the way to the last place are kept.
    pub fn fits(&self, facts: &[(ValuePath, ValueFact)]) -> bool {
        let mut last: Option<&ValuePath> = None;
        let mut way: Vec<Value> = Vec::new();
        facts.iter().all(|(place, expected)| {
            let shared = match last {
                Some(l) if l.root == place.root => l.steps.iter().zip(&place.steps).take_while(|(a, b)| a == b).count(),
                _ => {
                    way.clear();
                    let Some(root) = self.root(place.root) else { return false };
                    way.push(root);
                    0
                }
            };
            last = Some(place);
            way.truncate(shared + 1);
            for s in &place.steps[shared..] {
                let Some(next) = way.last().and_then(|v| step(v, *s as usize)) else { return false };
                way.push(next);
            }
            let Some(v) = way.last() else { return false };
            match expected {
                ValueFact::Array(n) => matches!(v, Value::Array(a) if a.shape.first() == Some(n)),
                ValueFact::Con(data, tag) => matches!(v, Value::Data(d) if d.con.data == *data && d.con.tag == *tag),
                ValueFact::Data(Some(t)) => self.type_of(v).as_ref() == Some(t),
                f => fact(v) == *f,
            }
        })
    }

    /// The type of a value, as far as it can be determined. Sizes are left open.
    pub fn type_of(&self, v: &Value) -> Option<Ty> {
        type_of(self.m, v)
    }
}

/// Component `index` of a value: what a function captures, or the element of a tuple, record or array.
fn step(value: &Value, index: usize) -> Option<Value> {
    let fun = match value {
        Value::Fun(f) => f,
        Value::Tuple(t) => return t.0.get(index).cloned(),
        Value::Record(r) => return r.vals.get(index).cloned(),
        Value::Data(d) => return d.fields.get(index).cloned(),
        Value::Array(a) if a.shape.len() == 1 && index < a.shape[0] => {
            return Some(crate::value::array::elem(a, index));
        }
        _ => return None,
    };
    match &**fun {
        Fun::Closure(_, c) => c.get(index).cloned(),
        Fun::Member(g, _) => g.captured.get(index).cloned(),
        Fun::Partial(g, _) if index == 0 => Some(Value::Fun(g.clone())),
        Fun::Partial(_, args) => args.get(index - 1).cloned(),
        Fun::Custom(f, r, _) => [f, r].get(index).map(|v| (*v).clone()),
        Fun::Checkpoint(f) if index == 0 => Some(f.clone()),
        Fun::Checkpoint(_) | Fun::Prim(..) | Fun::Linear(_) | Fun::Invertible(_) | Fun::Host(_) => None,
    }
}

fn fact(v: &Value) -> ValueFact {
    match v {
        Value::Fun(f) => match &**f {
            Fun::Closure(c, _) => ValueFact::Fun("code", Rc::as_ptr(c) as usize),
            Fun::Member(g, i) => {
                g.codes.get(*i as usize).map_or(ValueFact::Opaque, |c| ValueFact::Fun("member", Rc::as_ptr(c) as usize))
            }
            Fun::Prim(p, _) => ValueFact::Fun(p.name(), usize::MAX),
            Fun::Partial(_, args) => ValueFact::Fun("partial", args.len()),
            Fun::Custom(_, _, vjp) => ValueFact::Fun("custom", usize::from(*vjp)),
            Fun::Checkpoint(_) => ValueFact::Fun("checkpoint", 0),
            Fun::Linear(_) | Fun::Invertible(_) | Fun::Host(_) => ValueFact::Opaque,
        },
        Value::Rep(r) => ValueFact::Rep(r.clone()),
        Value::Rev { .. } | Value::Dual(_) | Value::Zero => ValueFact::Opaque,
        _ => ValueFact::Data(None),
    }
}

/// The Core of some code, in the form that the specialiser needs.
fn code_view(c: &Code) -> ValueKind {
    let Some(o) = &c.origin else { return ValueKind::Opaque("a function without source".into()) };
    if o.group {
        return ValueKind::Fun(FunView::Member {
            group: o.members.to_vec(),
            index: o.index,
            captured: o.captured.clone(),
        });
    }
    let (_, hidden, lam) = &o.members[0];
    ValueKind::Fun(FunView::Closure { hidden: hidden.clone(), lam: lam.clone(), captured: o.captured.clone() })
}

impl World for EntryValues<'_> {
    fn view(&mut self, at: &ValuePath) -> ValueKind {
        let Some(value) = self.at(at) else { return ValueKind::Opaque("a value that is not there yet".into()) };
        self.facts.push((at.clone(), fact(&value)));
        match &value {
            Value::Fun(f) => match &**f {
                Fun::Closure(c, _) => {
                    self.keep.push(c.clone());
                    code_view(c)
                }
                Fun::Member(g, i) => match g.codes.get(*i as usize) {
                    Some(c) => {
                        self.keep.push(c.clone());
                        code_view(c)
                    }
                    None => ValueKind::Opaque("a function without code".into()),
                },
                Fun::Prim(p, _) => ValueKind::Fun(FunView::Prim(*p)),
                Fun::Partial(_, args) => ValueKind::Fun(FunView::Partial(args.len() as u32)),
                Fun::Custom(_, _, vjp) => ValueKind::Fun(FunView::Custom { vjp: *vjp }),
                Fun::Checkpoint(_) => ValueKind::Fun(FunView::Checkpoint),
                Fun::Linear(_) => ValueKind::Opaque("a linear map made by `linearize`, `vjp` or `transpose`".into()),
                Fun::Invertible(_) => ValueKind::Opaque("an operator made by `invertible`".into()),
                Fun::Host(h) => ValueKind::Opaque(format!("a function of the embedding program, `{}`", h.name)),
            },
            Value::Rep(r) => match rep_type(r) {
                Some(t) => ValueKind::Rep(t),
                None => ValueKind::Opaque("a type that is not known".into()),
            },
            Value::Rev { .. } | Value::Dual(_) => ValueKind::Opaque("a value that is being differentiated".into()),
            Value::Zero => ValueKind::Opaque("a zero of unknown shape".into()),
            Value::Tuple(t) if holds_functions(&value) => ValueKind::Tuple(t.0.len() as u32),
            Value::Record(r) if holds_functions(&value) => ValueKind::Record(r.names.to_vec()),
            Value::Array(_) if holds_functions(&value) => match self.length(at) {
                Some(n) => ValueKind::Array(n),
                None => ValueKind::Opaque("an array of very many functions, or of more than one axis".into()),
            },
            _ => ValueKind::Data,
        }
    }

    fn ty(&mut self, at: &ValuePath) -> Option<Ty> {
        let t = self.type_of(&self.at(at)?)?;
        self.facts.push((at.clone(), ValueFact::Data(Some(t.clone()))));
        Some(t)
    }

    fn assumptions(&self) -> Assumptions {
        self.assumptions
    }

    fn constructor(&mut self, at: &ValuePath) -> Option<(u32, u32)> {
        let Value::Data(d) = self.at(at)? else { return None };
        self.facts.push((at.clone(), ValueFact::Con(d.con.data, d.con.tag)));
        Some((d.con.tag, d.fields.len() as u32))
    }

    fn length(&mut self, at: &ValuePath) -> Option<u32> {
        let Value::Array(a) = self.at(at)? else { return None };
        let n = a.shape.first().copied().unwrap_or(0);
        self.facts.push((at.clone(), ValueFact::Array(n)));
        (a.shape.len() == 1 && n <= MOST_FUNCTIONS).then_some(n as u32)
    }

    fn global(&mut self, id: GlobalId) -> Option<Rc<Def>> {
        self.m.definitions.core.get(&id).cloned()
    }

    fn data(&mut self, id: DataId) -> Option<Rc<DataDecl>> {
        self.m.definitions.datas.get(&id).cloned()
    }
}

/// Whether data contains a function.
pub(crate) fn holds_functions(v: &Value) -> bool {
    let mut todo = vec![v];
    while let Some(v) = todo.pop() {
        match v {
            Value::Fun(_) => return true,
            Value::Tuple(t) => todo.extend(&t.0),
            Value::Record(r) => todo.extend(&r.vals),
            Value::Data(d) => todo.extend(&d.fields),
            Value::Array(a) => todo.extend(a.values()),
            _ => {}
        }
    }
    false
}

fn rep_type(r: &Rep) -> Option<Ty> {
    Some(match r {
        Rep::Unit => Ty::Unit,
        Rep::Bool => Ty::Bool,
        Rep::Int => Ty::Int,
        Rep::Float => Ty::Float,
        Rep::F32 => Ty::F32,
        Rep::Str => Ty::Str,
        Rep::Array(_, e) => Ty::Array(Size::Unknown, Rc::new(rep_type(e)?)),
        Rep::Tuple(ps) => Ty::Tuple(ps.iter().map(|p| rep_type(p)).collect::<Option<Vec<_>>>()?.into()),
        Rep::Record(fs) => {
            let fields = fs.iter().map(|(n, p)| Some((*n, rep_type(p)?))).collect::<Option<Vec<_>>>()?;
            Ty::Record(Rc::new(RecordTy { fields, tail: None }))
        }
        Rep::Data(d, ps) => Ty::Data(d.id, ps.iter().map(|p| rep_type(p)).collect::<Option<Vec<_>>>()?.into()),
        Rep::Other => return None,
    })
}

/// The type of a value, as far as it can be determined.
pub(crate) fn type_of(machine: &Machine, v: &Value) -> Option<Ty> {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
        Some(match v {
            Value::Unit => Ty::Unit,
            Value::Bool(_) => Ty::Bool,
            Value::Int(_) => Ty::Int,
            Value::Float(_) => Ty::Float,
            Value::F32(_) => Ty::F32,
            Value::Str(_) => Ty::Str,
            Value::Tuple(t) => Ty::Tuple(types_of(machine, &t.0)?.into()),
            Value::Record(r) => record(&r.names, types_of(machine, &r.vals)?),
            Value::Data(d) => data_type(machine, d)?,
            Value::Array(array) => {
                let elem = match (array.kind(), if array.is_remote() { None } else { Some(array.buf()) }) {
                    (Kind::F64, _) => Ty::Float,
                    (Kind::F32, _) => Ty::F32,
                    (Kind::I64, _) => Ty::Int,
                    (Kind::Bool, _) => Ty::Bool,
                    (Kind::Unit, _) => Ty::Unit,
                    (_, Some(Buf::Boxed(vs))) => type_of(machine, vs.first()?)?,
                    (_, Some(Buf::Tuple(cols))) => Ty::Tuple(columns(machine, cols, array.shape.len())?.into()),
                    (_, Some(Buf::Record(names, cols))) => record(names, columns(machine, cols, array.shape.len())?),
                    (Kind::Boxed | Kind::Tuple | Kind::Record, _) => return None,
                };
                array.shape.iter().fold(elem, |t, _| Ty::Array(Size::Unknown, Rc::new(t)))
            }
            Value::Rev { .. } | Value::Dual(_) | Value::Fun(_) | Value::Rep(_) | Value::Zero => return None,
        })
    })
}

fn types_of(m: &Machine, vs: &[Value]) -> Option<Vec<Ty>> {
    vs.iter().map(|v| type_of(m, v)).collect()
}

fn record(names: &[adl_syntax::symbol::Symbol], mut tys: Vec<Ty>) -> Ty {
    if names == [adl_typing::ty::each_field()] {
        return adl_typing::ty::each(tys.pop().unwrap_or(Ty::Unit));
    }
    Ty::Record(Rc::new(RecordTy { fields: names.iter().copied().zip(tys).collect(), tail: None }))
}

/// Element types of an array's columns; the `axes` axes of the array itself are removed.
fn columns(m: &Machine, cols: &[Value], axes: usize) -> Option<Vec<Ty>> {
    cols.iter()
        .map(|c| {
            seq::shape(c)?;
            let mut t = type_of(m, c)?;
            for _ in 0..axes {
                t = match t {
                    Ty::Array(_, e) => (*e).clone(),
                    _ => return None,
                };
            }
            Some(t)
        })
        .collect()
}

/// A declared type, with the type arguments determined from the fields.
fn data_type(m: &Machine, d: &crate::value::Data) -> Option<Ty> {
    let decl = m.definitions.datas.get(&d.con.data)?.clone();
    let con = decl.cons.get(d.con.tag as usize)?;
    let mut found: HashMap<TyVar, Ty> = HashMap::new();
    for (t, v) in con.fields.iter().zip(&d.fields) {
        if found.len() < decl.params.len() {
            bind(m, t, v, &mut found)?;
        }
    }
    let args = decl.params.iter().map(|p| found.get(p).cloned()).collect::<Option<Vec<_>>>()?;
    Some(Ty::Data(decl.id, args.into()))
}

/// Binds the type variables of `ty` by comparing it with a value.
fn bind(machine: &Machine, ty: &Ty, value: &Value, found: &mut HashMap<TyVar, Ty>) -> Option<()> {
    match (ty, value) {
        (Ty::Var(a), _) => {
            if let (None, Some(t)) = (found.get(a), type_of(machine, value)) {
                found.insert(*a, t);
            }
        }
        (Ty::Tuple(ts), Value::Tuple(vs)) => ts.iter().zip(&vs.0).try_for_each(|(t, v)| bind(machine, t, v, found))?,
        (Ty::Record(r), Value::Record(vs)) => {
            r.fields.iter().zip(&vs.vals).try_for_each(|((_, t), v)| bind(machine, t, v, found))?;
        }
        (Ty::Array(..) | Ty::Data(..), _) => {
            if let Some(u) = type_of(machine, value) {
                unify(ty, &u, found);
            }
        }
        _ => {}
    }
    Some(())
}

fn unify(t: &Ty, u: &Ty, found: &mut HashMap<TyVar, Ty>) {
    match (t, u) {
        (Ty::Var(a), u) => {
            found.entry(*a).or_insert_with(|| u.clone());
        }
        (Ty::Array(_, t), Ty::Array(_, u)) => unify(t, u, found),
        (Ty::Tuple(ts), Ty::Tuple(us)) => ts.iter().zip(us.iter()).for_each(|(t, u)| unify(t, u, found)),
        (Ty::Data(_, ts), Ty::Data(_, us)) => ts.iter().zip(us.iter()).for_each(|(t, u)| unify(t, u, found)),
        (Ty::Record(t), Ty::Record(u)) => {
            t.fields.iter().zip(&u.fields).for_each(|((_, t), (_, u))| unify(t, u, found));
        }
        _ => {}
    }
}

/// The type of a function's parameter according to its Core, if it has no type variables.
pub(crate) fn parameter(f: &Value, i: usize) -> Option<Ty> {
    let Value::Fun(f) = f else { return None };
    match &**f {
        Fun::Closure(c, _) => code_parameter(c, i),
        Fun::Member(g, k) => code_parameter(g.codes.get(*k as usize)?, i),
        Fun::Partial(g, args) => parameter(&Value::Fun(g.clone()), i + args.len()),
        Fun::Custom(g, ..) | Fun::Checkpoint(g) => parameter(g, i),
        Fun::Prim(p, reps) => operator_parameter(*p, reps, i),
        Fun::Linear(_) | Fun::Invertible(_) | Fun::Host(_) => None,
    }
}

/// The type of the point or direction that a derivative operator takes: its first hidden argument.
fn operator_parameter(p: Prim, reps: &[Value], i: usize) -> Option<Ty> {
    use DerivativeFn::{Grad, GradWith, Hvp, Jvp, Linearize, ValueAndGrad, ValueAndGradWith, Vjp};
    let first = match p {
        Prim::Derivative(Grad | ValueAndGrad | Linearize | Vjp | Jvp | Hvp) => 1,
        Prim::Derivative(GradWith | ValueAndGradWith) => 2,
        _ => return None,
    };
    match reps.first() {
        Some(Value::Rep(r)) if i >= first => rep_type(r),
        _ => None,
    }
}

fn code_parameter(c: &Code, i: usize) -> Option<Ty> {
    let o = c.origin.as_ref()?;
    let (_, hidden, lam) = o.members.get(o.index as usize)?;
    let t = &lam.params.get(i.checked_sub(hidden.len())?)?.ty;
    sizeless(t)
}

/// The type without sizes, if it has no type variables.
fn sizeless(t: &Ty) -> Option<Ty> {
    Some(match t {
        Ty::Unit | Ty::Bool | Ty::Int | Ty::Float | Ty::F32 | Ty::Str => t.clone(),
        Ty::Var(_) | Ty::Meta(_) | Ty::Fun(..) | Ty::Lin(..) => return None,
        Ty::Tuple(ts) => Ty::Tuple(ts.iter().map(sizeless).collect::<Option<Vec<_>>>()?.into()),
        Ty::Record(r) if r.tail.is_none() => {
            let fields = r.fields.iter().map(|(n, t)| Some((*n, sizeless(t)?))).collect::<Option<Vec<_>>>()?;
            Ty::Record(Rc::new(RecordTy { fields, tail: None }))
        }
        Ty::Record(_) => return None,
        Ty::Array(_, e) => Ty::Array(Size::Unknown, Rc::new(sizeless(e)?)),
        Ty::Data(d, ts) => Ty::Data(*d, ts.iter().map(sizeless).collect::<Option<Vec<_>>>()?.into()),
    })
}

/// The identity of a function's code, ignoring captured values.
pub(crate) fn root(f: &Value) -> (&'static str, usize) {
    match fact(f) {
        ValueFact::Fun(what, at) => (what, at),
        _ => ("", 0),
    }
}

/// The identity of the function underneath partial applications.
pub(crate) fn definition(f: &Value) -> (&'static str, usize) {
    let Value::Fun(f) = f else { return root(f) };
    let mut f = f.clone();
    while let Fun::Partial(g, _) = &*f.clone() {
        f = g.clone();
    }
    root(&Value::Fun(f))
}

/// The code of a function.
pub(crate) fn code_of(f: &Value) -> Option<Rc<Code>> {
    let Value::Fun(f) = f else { return None };
    match &**f {
        Fun::Closure(c, _) => Some(c.clone()),
        Fun::Member(g, i) => g.codes.get(*i as usize).cloned(),
        _ => None,
    }
}
