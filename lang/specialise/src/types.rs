//! Instantiation of Core types under a substitution, and their layouts.

use crate::limits::types::{MAX_ARGUMENT_SIZE, MAX_DATA_INSTANCES};
use crate::val::{ArraySize, Fun, KnownRep, Val};
use crate::{Layout, Spec, Unsupported};
use adl_ir::{DataId, Ty as IrTy};
use adl_syntax::symbol::Symbol;
use adl_typing::ty::{self, RecordTy, Ty, TyVar};
use std::collections::BTreeMap;
use std::rc::Rc;

/// The number of parts of a type, counted up to a limit.
fn size(t: &Ty) -> usize {
    let (mut todo, mut count) = (vec![t], 0);
    while let Some(t) = todo.pop() {
        count += 1;
        if count > MAX_ARGUMENT_SIZE {
            break;
        }
        match t {
            Ty::Unit | Ty::Bool | Ty::Int | Ty::Float | Ty::F32 | Ty::Str | Ty::Var(_) | Ty::Meta(_) => {}
            Ty::Fun(a, b) | Ty::Lin(a, b) => todo.extend([&**a, &**b]),
            Ty::Tuple(ts) | Ty::Data(_, ts) => todo.extend(ts.iter()),
            Ty::Array(_, e) => todo.push(e),
            Ty::Record(r) => todo.extend(r.fields.iter().map(|f| &f.1)),
        }
    }
    count
}

/// Applies a substitution to a type and removes its sizes.
pub(crate) fn apply(s: &BTreeMap<TyVar, Ty>, t: &Ty) -> Ty {
    stacker::maybe_grow(32 * 1024, 1024 * 1024, || match t {
        Ty::Unit | Ty::Bool | Ty::Int | Ty::Float | Ty::F32 | Ty::Str | Ty::Meta(_) => t.clone(),
        Ty::Var(v) => s.get(v).cloned().unwrap_or_else(|| t.clone()),
        Ty::Fun(a, b) | Ty::Lin(a, b) => Ty::Fun(Rc::new(apply(s, a)), Rc::new(apply(s, b))),
        Ty::Tuple(ts) => Ty::Tuple(ts.iter().map(|t| apply(s, t)).collect()),
        Ty::Array(_, e) => Ty::Array(ty::Size::Unknown, Rc::new(apply(s, e))),
        Ty::Data(d, ts) => Ty::Data(*d, ts.iter().map(|t| apply(s, t)).collect()),
        Ty::Record(r) => {
            let mut fields: Vec<(Symbol, Ty)> = r.fields.iter().map(|(n, t)| (*n, apply(s, t))).collect();
            let tail = match r.tail.as_ref().map(|t| apply(s, t)) {
                Some(Ty::Record(rest)) => {
                    fields.extend(rest.fields.iter().cloned());
                    rest.tail.clone()
                }
                other => other,
            };
            fields.sort_by(|a, b| a.0.as_str().cmp(b.0.as_str()));
            Ty::Record(Rc::new(RecordTy { fields, tail }))
        }
    })
}

/// Whether a type has no type variables.
pub(crate) fn closed(t: &Ty) -> bool {
    stacker::maybe_grow(32 * 1024, 1024 * 1024, || match t {
        Ty::Unit | Ty::Bool | Ty::Int | Ty::Float | Ty::F32 | Ty::Str => true,
        Ty::Var(_) | Ty::Meta(_) => false,
        Ty::Fun(a, b) | Ty::Lin(a, b) => closed(a) && closed(b),
        Ty::Tuple(ts) | Ty::Data(_, ts) => ts.iter().all(closed),
        Ty::Array(_, e) => closed(e),
        Ty::Record(r) => r.tail.is_none() && r.fields.iter().all(|f| closed(&f.1)),
    })
}

/// Extends a substitution so that it maps `generic` to its instance `t`.
pub(crate) fn bind(generic: &Ty, t: &Ty, bindings: &mut BTreeMap<TyVar, Ty>) {
    stacker::maybe_grow(32 * 1024, 1024 * 1024, || match (generic, t) {
        (Ty::Var(v), t) if !bindings.contains_key(v) && closed(t) => {
            bindings.insert(*v, apply(&BTreeMap::new(), t));
        }
        (Ty::Fun(a, b) | Ty::Lin(a, b), Ty::Fun(c, d) | Ty::Lin(c, d)) => {
            bind(a, c, bindings);
            bind(b, d, bindings);
        }
        (Ty::Tuple(xs), Ty::Tuple(ys)) => xs.iter().zip(ys.iter()).for_each(|(x, y)| bind(x, y, bindings)),
        (Ty::Data(_, xs), Ty::Data(_, ys)) => xs.iter().zip(ys.iter()).for_each(|(x, y)| bind(x, y, bindings)),
        (Ty::Array(_, x), Ty::Array(_, y)) => bind(x, y, bindings),
        (Ty::Record(x), Ty::Record(y)) => bind_record(x, y, bindings),
        _ => {}
    });
}

fn bind_record(x: &RecordTy, y: &RecordTy, s: &mut BTreeMap<TyVar, Ty>) {
    let mut rest = Vec::new();
    for (n, t) in &y.fields {
        match x.fields.iter().find(|(m, _)| m == n) {
            Some((_, g)) => bind(g, t, s),
            None => rest.push((*n, t.clone())),
        }
    }
    if let Some(tail) = &x.tail {
        bind(tail, &Ty::Record(Rc::new(RecordTy { fields: rest, tail: y.tail.clone() })), s);
    }
}

impl Spec<'_> {
    /// Applies the current substitution to a type.
    pub(crate) fn ty(&self, t: &Ty) -> Ty {
        apply(&self.subst, t)
    }

    /// The layout of a type without variables.
    pub(crate) fn layout(&mut self, t: &Ty) -> Result<Layout, Unsupported> {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.layout_of(t))
    }

    fn layout_of(&mut self, ty: &Ty) -> Result<Layout, Unsupported> {
        Ok(match ty {
            Ty::Unit => Layout::Unit,
            Ty::Bool => Layout::Leaf(IrTy::Bool),
            Ty::Int => Layout::Leaf(IrTy::I64),
            Ty::Float => Layout::Leaf(IrTy::F64),
            Ty::F32 => Layout::Leaf(IrTy::F32),
            Ty::Str => Layout::Leaf(IrTy::Str),
            Ty::Tuple(ts) => Layout::Tuple(ts.iter().map(|t| self.layout(t)).collect::<Result<_, _>>()?),
            Ty::Record(r) => Layout::Record(
                r.fields.iter().map(|(n, t)| Ok((*n, self.layout(t)?))).collect::<Result<_, Unsupported>>()?,
            ),
            Ty::Array(_, e) => match self.layout(e)? {
                Layout::Leaf(t) => Layout::Leaf(t.array(1)),
                Layout::Unit => return Err(self.no("an array of `()`")),
                other => Layout::Array(Rc::new(other)),
            },
            t if let Some(part) = ty::part_of_each(t) => Layout::Record(vec![(ty::each_field(), self.layout(part)?)]),
            Ty::Data(id, args) => Layout::Data(self.data(*id, args)?),
            Ty::Fun(..) | Ty::Lin(..) => Layout::Fun(self.function_data(ty)?),
            // A type variable without an instance has no values, such as the elements of `Nil` where nothing reads
            // them.
            Ty::Var(_) | Ty::Meta(_) => Layout::Leaf(IrTy::I64),
        })
    }

    /// The IR data type of a declared type at its arguments.
    pub(crate) fn data(&mut self, id: ty::DataId, args: &[Ty]) -> Result<DataId, Unsupported> {
        let args: Vec<Ty> = args.iter().map(|a| apply(&BTreeMap::new(), a)).collect();
        let key = (id, args);
        if let Some(d) = self.cache.datas.get(&key) {
            return Ok(*d);
        }
        let Some(decl) = self.world.data(id) else { return Err(self.no("a type without a declaration")) };
        if self.cache.datas.len() >= MAX_DATA_INSTANCES || key.1.iter().map(size).sum::<usize>() > MAX_ARGUMENT_SIZE {
            return Err(self.no("a declared type that contains itself at ever larger types"));
        }
        let name = decl.name.as_str().to_owned();
        let made = self.p.add_data(adl_ir::DataDecl { name: name.clone(), cons: Vec::new(), declared: None });
        self.cache.datas.insert(key.clone(), made);
        self.boxes.declared.push(key.clone());
        let subst: BTreeMap<TyVar, Ty> = decl.params.iter().copied().zip(key.1.iter().cloned()).collect();
        match self.constructors(&decl, &subst) {
            Ok(cons) => {
                let cons = Rc::new(cons);
                let ir = cons
                    .iter()
                    .map(|(n, ls)| (n.as_str().to_owned(), ls.iter().flat_map(Layout::leaves).collect()))
                    .collect();
                self.p.set_data(
                    made,
                    adl_ir::DataDecl { declared: (*id.1.as_str() == *name).then_some(id.0), name, cons: ir },
                );
                self.cache.layouts.insert(made, cons);
                self.cache.data_tys.insert(made, Ty::Data(id, key.1.into()));
                Ok(made)
            }
            Err(e) => {
                self.cache.datas.remove(&key);
                Err(e)
            }
        }
    }

    fn constructors(
        &mut self,
        decl: &ty::DataDecl,
        subst: &BTreeMap<TyVar, Ty>,
    ) -> Result<Vec<(Symbol, Vec<Layout>)>, Unsupported> {
        let mut cons = Vec::new();
        for c in &decl.cons {
            let fields = c.fields.iter().map(|t| self.layout(&apply(subst, t))).collect::<Result<_, _>>()?;
            cons.push((c.name, fields));
        }
        Ok(cons)
    }

    /// A value of a layout whose leaves are created by `make`.
    pub(crate) fn build(layout: &Layout, make: &mut dyn FnMut(IrTy) -> adl_ir::Var) -> Val {
        Self::build_at(layout, 0, make)
    }

    fn build_at(layout: &Layout, rank: u32, make: &mut dyn FnMut(IrTy) -> adl_ir::Var) -> Val {
        match layout {
            Layout::Leaf(t) => Val::Leaf(make(t.array(rank))),
            Layout::Unit => Val::Unit,
            Layout::Tuple(ls) => Val::Tuple(ls.iter().map(|l| Self::build_at(l, rank, make)).collect()),
            Layout::Record(fs) => Val::Record(fs.iter().map(|(n, l)| (*n, Self::build_at(l, rank, make))).collect()),
            Layout::Array(e) => Val::Array(Box::new(Self::build_at(e, rank + 1, make))),
            Layout::Data(d) => Val::Data(make(IrTy::Data(*d).array(rank)), *d),
            Layout::Fun(d) => Val::fun(Fun::Boxed(make(IrTy::Data(*d).array(rank)), *d)),
        }
    }

    /// The layout of a value that contains no functions.
    pub(crate) fn layout_of_val(&self, v: &Val) -> Result<Layout, Unsupported> {
        self.layout_under(v, 0)
    }

    /// The layout under the first `rank` axes of an array.
    pub(crate) fn layout_under(&self, value: &Val, rank: u32) -> Result<Layout, Unsupported> {
        Ok(match value {
            Val::Unit => Layout::Unit,
            Val::Leaf(x) => {
                let mut t = self.b.ty(*x);
                (0..rank).for_each(|_| t = t.elem());
                Layout::Leaf(t)
            }
            Val::Data(_, d) => Layout::Data(*d),
            Val::Tuple(vs) => Layout::Tuple(vs.iter().map(|v| self.layout_under(v, rank)).collect::<Result<_, _>>()?),
            Val::Record(fs) => Layout::Record(
                fs.iter().map(|(n, v)| Ok((*n, self.layout_under(v, rank)?))).collect::<Result<_, Unsupported>>()?,
            ),
            Val::Array(e) => Layout::Array(Rc::new(self.layout_under(e, rank + 1)?)),
            Val::Fun(f) => match &**f {
                Fun::Boxed(_, d) => Layout::Fun(*d),
                _ => return Err(self.no("a result that is a function")),
            },
            Val::Rep(_) => return Err(self.no("a result that is a type")),
            Val::Bottom => return Err(self.no("a function that always stops with an error")),
        })
    }

    /// The type of a value that contains no functions, if it is known.
    pub(crate) fn ty_of_val(&self, v: &Val) -> Option<Ty> {
        let layout = self.layout_of_val(v).ok()?;
        self.ty_of_layout(&layout)
    }

    fn ty_of_layout(&self, layout: &Layout) -> Option<Ty> {
        let array = |t: Ty| Ty::Array(ty::Size::Unknown, Rc::new(t));
        Some(match layout {
            Layout::Unit => Ty::Unit,
            Layout::Leaf(t) => {
                let scalar = match t.scalar() {
                    IrTy::F64 => Ty::Float,
                    IrTy::F32 => Ty::F32,
                    IrTy::I64 => Ty::Int,
                    IrTy::Bool => Ty::Bool,
                    IrTy::Str => Ty::Str,
                    IrTy::Array(..) | IrTy::Data(_) => return None,
                };
                (0..t.rank()).fold(scalar, |t, _| array(t))
            }
            Layout::Tuple(ls) => Ty::Tuple(ls.iter().map(|l| self.ty_of_layout(l)).collect::<Option<_>>()?),
            Layout::Record(fs) if fs.first().is_some_and(|f| f.0 == ty::each_field()) => {
                ty::each(self.ty_of_layout(&fs[0].1)?)
            }
            Layout::Record(fs) => {
                let fields = fs.iter().map(|(n, l)| Some((*n, self.ty_of_layout(l)?))).collect::<Option<_>>()?;
                Ty::Record(Rc::new(RecordTy { fields, tail: None }))
            }
            Layout::Array(e) => array(self.ty_of_layout(e)?),
            Layout::Data(d) => self.cache.data_tys.get(d)?.clone(),
            Layout::Fun(_) => return None,
        })
    }

    /// The run-time type of a type.
    pub(crate) fn rep_of_ty(source_ty: &Ty) -> KnownRep {
        match source_ty {
            Ty::Array(n, e) => {
                let size = match n {
                    ty::Size::Const(k, _) => ArraySize::Const(*k),
                    ty::Size::Var(_) | ty::Size::Meta(_) | ty::Size::Unknown => ArraySize::Unknown,
                };
                KnownRep::Array(size, Rc::new(Self::rep_of_ty(e)))
            }
            Ty::Tuple(ts) => KnownRep::Tuple(ts.iter().map(|t| Rc::new(Self::rep_of_ty(t))).collect()),
            Ty::Record(r) => {
                KnownRep::Record(r.fields.iter().map(|(n, t)| (*n, Rc::new(Self::rep_of_ty(t)))).collect())
            }
            Ty::Fun(..) | Ty::Lin(..) | Ty::Var(_) | Ty::Meta(_) => KnownRep::Other,
            t if let Some(part) = ty::part_of_each(t) => {
                KnownRep::Record(vec![(ty::each_field(), Rc::new(Self::rep_of_ty(part)))])
            }
            other => KnownRep::Base(other.clone()),
        }
    }
}
