//! Built-ins of linear algebra and random numbers for the reference evaluator, computed by the interpreter.

use adl_interp::value::{Array, Buf, Value, array};
use adl_interp::vm::Machine;
use adl_ir::eval::{Host, Simple, Val};
use adl_prim::Prim;
use adl_syntax::symbol::Symbol;
use std::rc::Rc;

/// [`Simple`], with an interpreter for the built-ins that it lacks.
pub struct Whole(pub Machine);

impl Host for Whole {
    fn prims(&mut self, p: Prim, args: &[Val]) -> Result<Vec<Val>, String> {
        use Prim as P;
        let whole = matches!(p, P::Linalg(_) | P::Random(_));
        if !whole {
            return Simple.prims(p, args);
        }
        let args = args.iter().map(to_value).collect();
        let out = adl_interp::ops::call(&mut self.0, p, &[], args).map_err(|e| e.diag.message.clone())?;
        Ok(parts(&out))
    }
}

fn parts(v: &Value) -> Vec<Val> {
    match v {
        Value::Tuple(t) => t.0.iter().flat_map(parts).collect(),
        Value::Array(a) => match a.buf() {
            Buf::Tuple(cols) => cols.iter().flat_map(parts).collect(),
            _ => vec![from_array(a)],
        },
        Value::Float(x) => vec![Val::F64(*x)],
        Value::Int(n) => vec![Val::I64(*n)],
        other => panic!("{other:?}"),
    }
}

fn from_array(a: &Array) -> Val {
    let elems = match a.buf() {
        Buf::F64(v) => v.iter().map(|x| Val::F64(*x)).collect(),
        Buf::I64(v) => v.iter().map(|x| Val::I64(*x)).collect(),
        other => panic!("{other:?}"),
    };
    Val::array(a.shape.to_vec(), elems)
}

fn to_value(v: &Val) -> Value {
    match v {
        Val::F64(x) => Value::Float(*x),
        Val::I64(n) => Value::Int(*n),
        Val::Array(a) => {
            let shape = a.shape.iter().copied().collect();
            match a.elems.first() {
                Some(Val::I64(_)) => array::make(
                    shape,
                    Buf::I64(a.elems.iter().map(|x| if let Val::I64(n) = x { *n } else { 0 }).collect()),
                ),
                _ => array::make(shape, Buf::F64(a.elems.iter().map(|x| x.float().unwrap_or(0.0)).collect())),
            }
        }
        // The keys of random numbers.
        Val::Data(c) => {
            let con = adl_interp::value::ConInfo {
                name: Symbol::new("Key"),
                tag: c.tag,
                data: adl_typing::ty::DataId(0, Symbol::new("Key")),
                arity: c.fields.len() as u32,
            };
            Value::Data(Rc::new(adl_interp::value::Data {
                con: Rc::new(con),
                fields: c.fields.iter().map(to_value).collect(),
            }))
        }
        other => panic!("{other:?}"),
    }
}
