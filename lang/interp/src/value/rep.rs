//! Run-time types: zeros of them.

use super::{Buf, Record, Rep, Shape, Tuple, Value, array};
use std::rc::Rc;

impl Rep {
    /// The zero of the type, where its sizes are known; otherwise the zero of unknown shape.
    pub fn zero(&self) -> Value {
        match self {
            Rep::Unit => Value::Unit,
            Rep::Bool => Value::Bool(false),
            Rep::Int => Value::Int(0),
            Rep::Float => Value::Float(0.0),
            Rep::F32 => Value::F32(0.0),
            Rep::Str => Value::Str(Rc::new("".into())),
            Rep::Tuple(parts) => whole(parts.iter().map(|p| p.zero()).collect(), |vals| Value::Tuple(Rc::new(Tuple(vals)))),
            Rep::Record(fields) => {
                let names: Rc<[_]> = fields.iter().map(|(n, _)| *n).collect();
                whole(fields.iter().map(|(_, r)| r.zero()).collect(), |vals| Value::Record(Rc::new(Record { names, vals })))
            }
            Rep::Array(..) => self.zero_array().unwrap_or(Value::Zero),
            Rep::Data(..) | Rep::Other => Value::Zero,
        }
    }

    fn zero_array(&self) -> Option<Value> {
        let mut shape = Shape::new();
        let mut rep = self;
        while let Rep::Array(n, e) = rep {
            shape.push((*n)?);
            rep = e;
        }
        let n = array::count(&shape).ok()?;
        let buf = match rep {
            Rep::Float => Buf::F64(vec![0.0; n]),
            Rep::F32 => Buf::F32(vec![0.0; n]),
            Rep::Int => Buf::I64(vec![0; n]),
            Rep::Bool => Buf::Bool(vec![false; n]),
            _ => return None,
        };
        Some(array::make(shape, buf))
    }
}

fn whole(parts: Vec<Value>, make: impl FnOnce(Vec<Value>) -> Value) -> Value {
    if parts.iter().any(|p| matches!(p, Value::Zero)) { Value::Zero } else { make(parts) }
}
