//! Run-time type representations, and the zeros of types.

use super::{Buf, Record, Rep, Shape, Tuple, Value, array};
use adl_typing::ty::{DataDecl, DataId, Size, Ty};
use std::rc::Rc;

impl Rep {
    /// The representation of a type without components; [`Rep::Other`] for all others.
    pub fn base(t: &Ty) -> Rep {
        match t {
            Ty::Unit => Rep::Unit,
            Ty::Bool => Rep::Bool,
            Ty::Int => Rep::Int,
            Ty::Float => Rep::Float,
            Ty::F32 => Rep::F32,
            Ty::Str => Rep::Str,
            _ => Rep::Other,
        }
    }

    /// Whether the type determines the shape of its values and contains no declared type.
    pub fn known(&self) -> bool {
        match self {
            Rep::Unit | Rep::Bool | Rep::Int | Rep::Float | Rep::F32 | Rep::Str => true,
            Rep::Array(n, e) => n.is_some() && e.known(),
            Rep::Tuple(ps) => ps.iter().all(|p| p.known()),
            Rep::Record(fs) => fs.iter().all(|f| f.1.known()),
            Rep::Data(..) | Rep::Other => false,
        }
    }

    /// The zero of the type if its sizes are known, otherwise a symbolic zero.
    pub fn zero(&self) -> Value {
        match self {
            Rep::Unit => Value::Unit,
            Rep::Bool => Value::Bool(false),
            Rep::Int => Value::Int(0),
            Rep::Float => Value::Float(0.0),
            Rep::F32 => Value::F32(0.0),
            Rep::Str => Value::Str(Rc::new("".into())),
            Rep::Tuple(parts) => {
                whole(parts.iter().map(|p| p.zero()).collect(), |vals| Value::Tuple(Rc::new(Tuple(vals))))
            }
            Rep::Record(fields) => {
                let names: Rc<[_]> = fields.iter().map(|(n, _)| *n).collect();
                whole(fields.iter().map(|(_, r)| r.zero()).collect(), |vals| {
                    Value::Record(Rc::new(Record { names, vals }))
                })
            }
            Rep::Array(..) => self.zero_array().unwrap_or(Value::Zero),
            Rep::Data(..) | Rep::Other => Value::Zero,
        }
    }

    /// An empty array with this element type; unknown extents are 0.
    pub fn no_elements(self: &Rc<Rep>) -> Value {
        self.none_of(&[0])
    }

    fn none_of(self: &Rc<Rep>, outer: &[usize]) -> Value {
        let shape = Shape::from_slice(outer);
        let buf = match &**self {
            Rep::Float => Buf::F64(Vec::new()),
            Rep::F32 => Buf::F32(Vec::new()),
            Rep::Int => Buf::I64(Vec::new()),
            Rep::Bool => Buf::Bool(Vec::new()),
            Rep::Unit => Buf::Unit,
            Rep::Array(n, e) => {
                let inner: Shape = outer.iter().copied().chain([n.unwrap_or(0)]).collect();
                return e.none_of(&inner);
            }
            Rep::Tuple(parts) => Buf::Tuple(parts.iter().map(|p| p.none_of(outer)).collect()),
            Rep::Record(fields) => {
                Buf::Record(fields.iter().map(|f| f.0).collect(), fields.iter().map(|f| f.1.none_of(outer)).collect())
            }
            Rep::Str | Rep::Data(..) | Rep::Other => Buf::Boxed(Vec::new()),
        };
        array::make(shape, buf)
    }

    fn zero_array(&self) -> Option<Value> {
        let mut shape = Shape::new();
        let mut rep = self;
        while let Rep::Array(n, e) = rep {
            shape.push((*n)?);
            rep = e;
        }
        rep.zeros(shape)
    }

    /// An array of zeros with this element type. Columns of tuples and records are arrays with the same outer
    /// axes.
    fn zeros(&self, shape: Shape) -> Option<Value> {
        let count = array::count(&shape).ok()?;
        let column = |r: &Rc<Rep>| {
            let (mut full, mut at) = (shape.clone(), &**r);
            while let Rep::Array(n, e) = at {
                full.push((*n)?);
                at = e;
            }
            at.zeros(full)
        };
        let buf = match self {
            Rep::Float => Buf::F64(array::filled(0.0, count).ok()?),
            Rep::F32 => Buf::F32(array::filled(0.0, count).ok()?),
            Rep::Int => Buf::I64(array::filled(0, count).ok()?),
            Rep::Bool => Buf::Bool(array::filled(false, count).ok()?),
            Rep::Unit => Buf::Unit,
            Rep::Str => Buf::Boxed(array::filled(self.zero(), count).ok()?),
            Rep::Tuple(parts) => Buf::Tuple(parts.iter().map(column).collect::<Option<_>>()?),
            Rep::Record(fields) => Buf::Record(
                fields.iter().map(|(n, _)| *n).collect(),
                fields.iter().map(|(_, r)| column(r)).collect::<Option<_>>()?,
            ),
            Rep::Array(..) | Rep::Data(..) | Rep::Other => return None,
        };
        Some(array::make(shape, buf))
    }
}

/// The representation of a constructor field's type, for a declaration's type arguments. `look` finds
/// declarations.
pub fn field_rep(look: &dyn Fn(DataId) -> Option<Rc<DataDecl>>, ty: &Ty, d: &DataDecl, args: &[Rc<Rep>]) -> Rc<Rep> {
    let sub = |t: &Ty| field_rep(look, t, d, args);
    Rc::new(match ty {
        Ty::Unit | Ty::Bool | Ty::Int | Ty::Float | Ty::F32 | Ty::Str => Rep::base(ty),
        Ty::Var(v) => match d.params.iter().position(|p| p == v) {
            Some(i) => return args[i].clone(),
            None => Rep::Other,
        },
        Ty::Array(Size::Const(n, _), e) => Rep::Array(Some(*n as usize), sub(e)),
        Ty::Array(_, e) => Rep::Array(None, sub(e)),
        Ty::Tuple(ps) => Rep::Tuple(ps.iter().map(sub).collect()),
        Ty::Record(r) => Rep::Record(r.fields.iter().map(|(n, t)| (*n, sub(t))).collect()),
        Ty::Data(id, more) => match look(*id) {
            Some(decl) => Rep::Data(decl, more.iter().map(sub).collect()),
            None => Rep::Other,
        },
        Ty::Meta(_) | Ty::Fun(..) | Ty::Lin(..) => Rep::Other,
    })
}

fn whole(parts: Vec<Value>, make: impl FnOnce(Vec<Value>) -> Value) -> Value {
    if parts.iter().any(|p| matches!(p, Value::Zero)) { Value::Zero } else { make(parts) }
}
