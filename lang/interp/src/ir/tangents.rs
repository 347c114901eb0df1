//! Conversion between tangents as the user sees them, which have the structure of the primal data, and leaves
//! of tangent types, which contain only reals.

use super::layout_leaves::{DataTypes, FieldKind, data_in};
use super::lower::zero_of;
use crate::value::{Array, Buf, Data, Kind, Record, Tuple, Value, array, vector_space};
use adl_ir::{DataId, Ty};
use adl_specialise::Layout;
use std::rc::Rc;

impl DataTypes {
    /// Appends the tangent leaves of a tangent that has the structure of the primal. A zero of unknown shape
    /// becomes symbolic zeros.
    pub fn tangents(&self, v: &Value, l: &Layout, out: &mut Vec<Value>) -> Option<()> {
        if matches!(v, Value::Zero) {
            out.extend(l.leaves().iter().filter(|t| self.has_tangent(t)).map(zero_of));
            return Some(());
        }
        let mut all = Vec::new();
        self.to_leaves(v, l, &mut all)?;
        for (v, t) in all.into_iter().zip(l.leaves()).filter(|(_, t)| self.has_tangent(t)) {
            out.push(match data_in(&t) {
                Some(d) => self.strip_all(&v, d)?,
                None => v,
            });
        }
        Some(())
    }

    fn strip_all(&self, value: &Value, data_id: DataId) -> Option<Value> {
        match value {
            Value::Array(a) => match a.buf() {
                Buf::Boxed(vs) => {
                    let vs = vs.iter().map(|v| self.strip_all(v, data_id)).collect::<Option<Vec<_>>>()?;
                    Some(array::make(a.shape.clone(), Buf::Boxed(vs)))
                }
                _ => None,
            },
            Value::Data(data) => {
                let (_, ls) = self.fields(data_id, data.con.tag)?;
                stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
                    let tys: Vec<Ty> = ls.iter().flat_map(Layout::leaves).collect();
                    let mut fields = Vec::new();
                    for (v, t) in data.fields.iter().zip(tys).filter(|(_, t)| self.has_tangent(t)) {
                        fields.push(match data_in(&t) {
                            Some(d) => self.strip_all(v, d)?,
                            None => v.clone(),
                        });
                    }
                    Some(Value::data(data.con.clone(), fields))
                })
            }
            other => Some(other.clone()),
        }
    }

    /// Builds the user's tangent: data of the structure of `like`, with its discrete leaves, and zeros for
    /// leaves that are symbolic zeros.
    pub fn merge(&self, like: &Value, layout: &Layout, next: &mut dyn Iterator<Item = Value>) -> Option<Value> {
        match (layout, like) {
            (_, _) if !self.real(layout) => Some(like.clone()),
            (Layout::Leaf(t), _) if data_in(t).is_none() => number(next.next()?, like),
            (Layout::Leaf(t), _) => self.merge_data(like, next.next()?, data_in(t)?),
            (Layout::Unit, _) => Some(Value::Unit),
            (Layout::Array(e), _) => self.merge(like, e, next),
            (Layout::Data(d) | Layout::Fun(d), _) => self.merge_data(like, next.next()?, *d),
            (Layout::Tuple(ls), Value::Tuple(t)) => {
                Some(Value::Tuple(Rc::new(Tuple(self.merge_each(&t.0, ls.iter(), next)?))))
            }
            (Layout::Record(fs), Value::Record(r)) => {
                let vals = self.merge_each(&r.vals, fs.iter().map(|f| &f.1), next)?;
                Some(Value::Record(Rc::new(Record { names: r.names.clone(), vals })))
            }
            (Layout::Tuple(_) | Layout::Record(_), Value::Array(array)) => {
                let buf = match (array.buf(), layout) {
                    (Buf::Tuple(cols), Layout::Tuple(ls)) => Buf::Tuple(self.merge_each(cols, ls.iter(), next)?),
                    (Buf::Record(names, cols), Layout::Record(fs)) => {
                        Buf::Record(names.clone(), self.merge_each(cols, fs.iter().map(|f| &f.1), next)?)
                    }
                    // An empty array whose element type is unknown.
                    _ => {
                        layout.leaves().iter().filter(|t| self.has_tangent(t)).for_each(|_| drop(next.next()));
                        return Some(like.clone());
                    }
                };
                Some(Value::Array(Rc::new(Array::new(array.shape.clone(), buf))))
            }
            (Layout::Tuple(_) | Layout::Record(_), _) => None,
        }
    }

    fn merge_each<'l>(
        &self,
        vs: &[Value],
        ls: impl Iterator<Item = &'l Layout>,
        next: &mut dyn Iterator<Item = Value>,
    ) -> Option<Vec<Value>> {
        vs.iter().zip(ls).map(|(v, l)| self.merge(v, l, next)).collect()
    }

    fn merge_data(&self, like: &Value, t: Value, d: DataId) -> Option<Value> {
        let t = match (like, t) {
            (Value::Data(x), Value::Data(t)) => return self.merge_fields(x, t, d),
            (_, t) => t,
        };
        match (like, &t) {
            (_, Value::Zero) => Some(vector_space::zero_like(like)),
            (Value::Array(a), Value::Array(b)) => match (a.buf(), b.buf()) {
                (Buf::Boxed(xs), Buf::Boxed(ts)) => {
                    let vs =
                        xs.iter().zip(ts).map(|(x, t)| self.merge_data(x, t.clone(), d)).collect::<Option<Vec<_>>>()?;
                    Some(array::make(a.shape.clone(), Buf::Boxed(vs)))
                }
                _ => Some(like.clone()),
            },
            _ => None,
        }
    }
}

impl DataTypes {
    /// Like [`DataTypes::merge`], for one constructor. A tangent that is not shared is updated in place.
    fn merge_fields(&self, like: &Data, mut data: Rc<Data>, data_id: DataId) -> Option<Value> {
        let (parts, (_, ls)) = (self.parts(data_id, like.con.tag)?, self.fields(data_id, like.con.tag)?);
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
            let Some(own) = Rc::get_mut(&mut data) else {
                let fields = self.merge_each(&like.fields, ls.iter(), &mut data.fields.iter().cloned())?;
                return Some(Value::data(like.con.clone(), fields));
            };
            if parts.len() == own.fields.len()
                && parts.iter().all(|p| matches!(p, FieldKind::Real | FieldKind::Data(_)))
            {
                for ((t, x), part) in own.fields.iter_mut().zip(&like.fields).zip(parts) {
                    match part {
                        FieldKind::Data(d) => *t = self.merge_data(x, std::mem::take(t), *d)?,
                        _ if matches!((&*t, x), (Value::Float(_), Value::Float(_))) => {}
                        _ => *t = number(std::mem::take(t), x)?,
                    }
                }
                own.con = like.con.clone();
                return Some(Value::Data(data));
            }
            let given = std::mem::take(&mut own.fields);
            own.fields = self.merge_each(&like.fields, ls.iter(), &mut given.into_iter())?.into();
            own.con = like.con.clone();
            Some(Value::Data(data))
        })
    }
}

/// The tangent of a scalar or of an array; a symbolic zero is materialised.
fn number(t: Value, like: &Value) -> Option<Value> {
    match t {
        Value::Zero => Some(vector_space::zero_like(like)),
        t => regular(t, like),
    }
}

/// The tangent, if its shape is that of its primal. Empty arrays may have unknown further extents.
fn regular(v: Value, like: &Value) -> Option<Value> {
    match (&v, like) {
        (Value::Array(a), Value::Array(b)) if a.shape != b.shape => {
            (a.shape.contains(&0) && b.shape.contains(&0)).then(|| vector_space::zero_like(like))
        }
        (Value::Array(_), Value::Array(_)) => Some(v),
        (Value::Array(_), _) | (_, Value::Array(_)) => None,
        _ => Some(v),
    }
}

/// Replaces -0 by 0 in all scalars, because sums of cotangents start at 0.
pub(crate) fn unsigned_zeros(v: Value) -> Value {
    match v {
        Value::Float(x) => Value::Float(x + 0.0),
        Value::F32(x) => Value::F32(x + 0.0),
        Value::Array(a) if matches!(a.kind(), Kind::F64 | Kind::F32) => {
            if let Some(there) = a.unsigned_remote() {
                return Value::Array(Rc::new(there));
            }
            let mut a = Rc::try_unwrap(a).unwrap_or_else(|a| (*a).clone());
            match a.buf_mut() {
                Buf::F64(x) => crate::ops::kernels::unsign(x),
                Buf::F32(x) => x.iter_mut().for_each(|x| *x += 0.0),
                _ => {}
            }
            Value::Array(Rc::new(a))
        }
        other => other,
    }
}
