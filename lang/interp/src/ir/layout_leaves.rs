//! Conversion between values of the language and the leaves of a specialisation layout.
//!
//! Numbers, texts and flat arrays are represented equally on both sides. Tuples and records are split into
//! their components; an array of tuples is already stored as a tuple of arrays. Declared data keeps its
//! constructors, and is passed unchanged if every field of every constructor is one leaf.

use crate::value::{Buf, ConInfo, Kind as Elem, Record, Shape, Tuple, Value, array};
use adl_ir::{DataId, Ty};
use adl_specialise::Layout;
use adl_syntax::symbol::Symbol;
use std::collections::HashMap;
use std::rc::Rc;

/// Constructors: the name and the layout of each argument.
pub(crate) type Cons = Rc<Vec<(Symbol, Vec<Layout>)>>;

/// The declared data types of a specialised function.
#[derive(Default, Debug)]
pub(crate) struct DataTypes {
    /// Sorted by number: lookup is a binary search at each node of a tree.
    types: Vec<(DataId, DataKind)>,
}

#[derive(Debug)]
struct DataKind {
    cons: Cons,
    /// The classification of each field, by constructor.
    parts: Vec<Box<[FieldKind]>>,
    /// Whether values need no conversion.
    plain: bool,
    /// Whether values may contain reals.
    real: bool,
}

/// The classification of a constructor field for tangents.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum FieldKind {
    /// Contains no reals.
    Discrete,
    /// A number or an array of numbers.
    Real,
    /// Declared data that may contain reals.
    Data(DataId),
    /// Several leaves, of which some are real.
    Compound,
}

impl DataTypes {
    /// Builds the table from declarations.
    pub fn new(decls: &HashMap<DataId, Cons>) -> DataTypes {
        let plain =
            |d: &DataId| reaches(decls, *d, &|l| matches!(l, Layout::Unit | Layout::Tuple(_) | Layout::Record(_)));
        let real = |d: &DataId| reaches(decls, *d, &|l| matches!(l, Layout::Leaf(t) if t.scalar().is_real()));
        let mut types: Vec<(DataId, DataKind)> = decls
            .iter()
            .map(|(d, cons)| (*d, DataKind { cons: cons.clone(), parts: Vec::new(), plain: !plain(d), real: real(d) }))
            .collect();
        types.sort_by_key(|(d, _)| *d);
        let mut made = DataTypes { types };
        for k in 0..made.types.len() {
            let parts = made.types[k].1.cons.iter().map(|(_, ls)| ls.iter().map(|l| made.part(l)).collect()).collect();
            made.types[k].1.parts = parts;
        }
        made
    }

    fn kind(&self, d: DataId) -> Option<&DataKind> {
        self.types.binary_search_by_key(&d, |(d, _)| *d).ok().map(|k| &self.types[k].1)
    }

    fn plain(&self, d: DataId) -> bool {
        self.kind(d).is_some_and(|k| k.plain)
    }

    pub(super) fn fields(&self, d: DataId, tag: u32) -> Option<&(Symbol, Vec<Layout>)> {
        self.kind(d)?.cons.get(tag as usize)
    }

    /// The classification of a constructor's fields for tangents.
    pub(super) fn parts(&self, d: DataId, tag: u32) -> Option<&[FieldKind]> {
        self.kind(d)?.parts.get(tag as usize).map(|p| &**p)
    }

    fn part(&self, l: &Layout) -> FieldKind {
        match l {
            l if !self.real(l) => FieldKind::Discrete,
            Layout::Leaf(t) => data_in(t).map_or(FieldKind::Real, FieldKind::Data),
            Layout::Data(d) | Layout::Fun(d) => FieldKind::Data(*d),
            _ => FieldKind::Compound,
        }
    }

    /// Whether a variable of the type has a tangent.
    pub fn has_tangent(&self, t: &Ty) -> bool {
        match t {
            Ty::F64 | Ty::F32 => true,
            Ty::I64 | Ty::Bool | Ty::Str => false,
            Ty::Array(e, _) => self.has_tangent(e),
            Ty::Data(d) => self.kind(*d).is_some_and(|k| k.real),
        }
    }

    pub(super) fn real(&self, l: &Layout) -> bool {
        match l {
            Layout::Leaf(t) => self.has_tangent(t),
            Layout::Unit => false,
            l => l.leaves().iter().any(|t| self.has_tangent(t)),
        }
    }
}

/// Whether `what` holds for some layout in the constructors of `d`, or of types reachable from it.
fn reaches(decls: &HashMap<DataId, Cons>, data: DataId, what: &dyn Fn(&Layout) -> bool) -> bool {
    let mut seen = vec![data];
    let mut next = 0;
    while next < seen.len() {
        let mut work: Vec<&Layout> =
            decls.get(&seen[next]).into_iter().flat_map(|c| c.iter()).flat_map(|c| &c.1).collect();
        next += 1;
        while let Some(l) = work.pop() {
            if what(l) {
                return true;
            }
            match l {
                Layout::Leaf(t) => data_in(t).into_iter().for_each(|d| note(&mut seen, d)),
                Layout::Unit => {}
                Layout::Tuple(ls) => work.extend(ls),
                Layout::Record(fs) => work.extend(fs.iter().map(|f| &f.1)),
                Layout::Array(e) => work.push(e),
                Layout::Data(d) | Layout::Fun(d) => note(&mut seen, *d),
            }
        }
    }
    false
}

fn note(seen: &mut Vec<DataId>, d: DataId) {
    if !seen.contains(&d) {
        seen.push(d);
    }
}

pub(super) fn data_in(t: &Ty) -> Option<DataId> {
    match t {
        Ty::Data(d) => Some(*d),
        Ty::Array(e, _) => data_in(e),
        _ => None,
    }
}

impl DataTypes {
    /// Appends the leaves of a value to `out`. `None` if the value does not have the layout.
    pub fn to_leaves(&self, v: &Value, l: &Layout, out: &mut Vec<Value>) -> Option<()> {
        self.apart(v, l, 0, out)
    }

    /// `rank` is the number of array axes around the layout.
    fn apart(&self, value: &Value, l: &Layout, rank: u32, out: &mut Vec<Value>) -> Option<()> {
        if rank > 0 && matches!(value, Value::Array(a) if a.shape.contains(&0)) && !matches!(l, Layout::Leaf(_)) {
            return self.empty(value, l, rank, out);
        }
        match (l, value) {
            (Layout::Leaf(t), _) => out.push(leaf(value, &t.array(rank))?),
            (Layout::Unit, _) => {}
            (Layout::Array(e), _) => self.apart(value, e, rank + 1, out)?,
            (Layout::Data(d), Value::Array(a)) if rank > 0 => match a.buf() {
                Buf::Boxed(_) if self.plain(*d) => out.push(value.clone()),
                Buf::Boxed(vs) => {
                    let vs = vs.iter().map(|v| self.data(v, *d)).collect::<Option<Vec<_>>>()?;
                    out.push(array::make(a.shape.clone(), Buf::Boxed(vs)));
                }
                _ => return None,
            },
            (Layout::Data(d), Value::Data(_)) if rank == 0 => out.push(self.data(value, *d)?),
            (Layout::Tuple(ls), Value::Tuple(t)) if rank == 0 => self.each(&t.0, ls.iter(), rank, out)?,
            (Layout::Record(fs), Value::Record(r)) if rank == 0 => {
                self.each(&r.vals, fs.iter().map(|f| &f.1), rank, out)?;
            }
            (Layout::Tuple(ls), Value::Array(a)) => match a.buf() {
                Buf::Tuple(cols) => self.each(cols, ls.iter(), rank, out)?,
                _ => return None,
            },
            (Layout::Record(fs), Value::Array(a)) => match a.buf() {
                Buf::Record(_, cols) => self.each(cols, fs.iter().map(|f| &f.1), rank, out)?,
                _ => return None,
            },
            _ => return None,
        }
        Some(())
    }

    fn each<'l>(
        &self,
        vs: &[Value],
        mut ls: impl Iterator<Item = &'l Layout>,
        rank: u32,
        out: &mut Vec<Value>,
    ) -> Option<()> {
        for v in vs {
            self.apart(v, ls.next()?, rank, out)?;
        }
        ls.next().is_none().then_some(())
    }

    /// Leaves of an empty array of compound elements.
    fn empty(&self, v: &Value, l: &Layout, rank: u32, out: &mut Vec<Value>) -> Option<()> {
        let Value::Array(a) = v else { return None };
        let mut tys = Vec::new();
        let around = (0..rank).fold(l.clone(), |l, _| Layout::Array(Rc::new(l)));
        tys.extend(around.leaves());
        for t in tys {
            out.push(empty_array(&a.shape, &t)?);
        }
        Some(())
    }

    fn data(&self, v: &Value, d: DataId) -> Option<Value> {
        if self.plain(d) {
            return Some(v.clone());
        }
        let Value::Data(x) = v else { return None };
        let (_, ls) = self.fields(d, x.con.tag)?;
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
            let mut fields = Vec::with_capacity(ls.len());
            self.each(&x.fields, ls.iter(), 0, &mut fields)?;
            Some(Value::data(x.con.clone(), fields))
        })
    }

    /// Builds the value of a layout from the next leaves.
    pub fn from_leaves(&self, l: &Layout, leaves: &mut dyn Iterator<Item = Value>) -> Option<Value> {
        self.together(l, 0, leaves)
    }

    fn together(&self, l: &Layout, rank: u32, next: &mut dyn Iterator<Item = Value>) -> Option<Value> {
        Some(match l {
            Layout::Leaf(_) => next.next()?,
            Layout::Unit if rank == 0 => Value::Unit,
            Layout::Unit => return None,
            Layout::Array(e) => self.together(e, rank + 1, next)?,
            Layout::Data(d) => self.undata_all(next.next()?, *d)?,
            // Functions represented as data never leave the IR.
            Layout::Fun(_) => return None,
            Layout::Tuple(ls) => {
                let vals = ls.iter().map(|l| self.together(l, rank, next)).collect::<Option<Vec<_>>>()?;
                compound(vals, rank, None)?
            }
            Layout::Record(fs) => {
                let vals = fs.iter().map(|f| self.together(&f.1, rank, next)).collect::<Option<Vec<_>>>()?;
                compound(vals, rank, Some(fs.iter().map(|f| f.0).collect()))?
            }
        })
    }

    fn undata_all(&self, v: Value, d: DataId) -> Option<Value> {
        match &v {
            _ if self.plain(d) => Some(v),
            Value::Array(a) => match a.buf() {
                Buf::Boxed(vs) => {
                    let vs = vs.iter().map(|v| self.undata(v, d)).collect::<Option<Vec<_>>>()?;
                    Some(array::make(a.shape.clone(), Buf::Boxed(vs)))
                }
                _ => None,
            },
            v => self.undata(v, d),
        }
    }

    fn undata(&self, v: &Value, d: DataId) -> Option<Value> {
        let Value::Data(x) = v else { return Some(v.clone()) };
        let (name, ls) = self.fields(d, x.con.tag)?;
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
            let mut next = x.fields.iter().cloned();
            let fields = ls.iter().map(|l| self.together(l, 0, &mut next)).collect::<Option<Vec<_>>>()?;
            let con = ConInfo { name: *name, tag: x.con.tag, data: x.con.data, arity: fields.len() as u32 };
            Some(Value::data(Rc::new(con), fields))
        })
    }
}

/// Components as a tuple, or as a record if names are given; for `rank > 0`, as an array of them.
fn compound(vals: Vec<Value>, rank: u32, names: Option<Rc<[Symbol]>>) -> Option<Value> {
    if rank == 0 {
        return Some(match names {
            Some(names) => Value::Record(Rc::new(Record { names, vals })),
            None => Value::Tuple(Rc::new(Tuple(vals))),
        });
    }
    let shape: Shape = crate::value::seq::shape(vals.first()?)?.iter().take(rank as usize).copied().collect();
    let buf = match names {
        Some(names) => Buf::Record(names, vals),
        None => Buf::Tuple(vals),
    };
    Some(array::make(shape, buf))
}

/// The value, if it is a leaf of that type.
fn leaf(value: &Value, ty: &Ty) -> Option<Value> {
    let fits = match (ty, value) {
        (Ty::F64, Value::Float(_))
        | (Ty::F32, Value::F32(_))
        | (Ty::I64, Value::Int(_))
        | (Ty::Bool, Value::Bool(_))
        | (Ty::Str, Value::Str(_)) => true,
        (Ty::Data(_), Value::Data(_)) => true,
        (Ty::Array(e, n), Value::Array(a)) => {
            let kind = matches!(
                (&**e, a.kind()),
                (Ty::F64, Elem::F64)
                    | (Ty::F32, Elem::F32)
                    | (Ty::I64, Elem::I64)
                    | (Ty::Bool, Elem::Bool)
                    | (Ty::Str | Ty::Data(_) | Ty::Array(..), Elem::Boxed)
            );
            if !kind || a.shape.len() != *n as usize {
                return if a.shape.contains(&0) { empty_array(&a.shape, ty) } else { None };
            }
            true
        }
        _ => false,
    };
    fits.then(|| value.clone())
}

/// An empty array of the type, with the extents that are known.
fn empty_array(shape: &[usize], t: &Ty) -> Option<Value> {
    let Ty::Array(e, n) = t else { return None };
    let buf = match &**e {
        Ty::F64 => Buf::F64(Vec::new()),
        Ty::F32 => Buf::F32(Vec::new()),
        Ty::I64 => Buf::I64(Vec::new()),
        Ty::Bool => Buf::Bool(Vec::new()),
        Ty::Str | Ty::Data(_) | Ty::Array(..) => Buf::Boxed(Vec::new()),
    };
    let mut full: Shape = shape.iter().take(*n as usize).copied().collect();
    full.resize(*n as usize, 0);
    full.contains(&0).then(|| array::make(full, buf))
}
