//! JSON, read as the type that is wanted.
//!
//! Records are objects, tuples and arrays are lists, `()` and `None` are null, `Some x` is x, a constructor without fields is its name,
//! one with fields is `{"Name": [fields]}`. Numbers that are not finite are written as null and read as nan.

use crate::error::{Error, Res, codes};
use crate::value::{ConInfo, Data, Record, Rep, Tuple, Value, seq, show};
use crate::vm::Machine;
use serde_json::Value as Json;
use std::rc::Rc;

/// Reads bytes as a type.
pub fn read(m: &mut Machine, path: &str, bytes: &[u8], rep: &Rep) -> Res<Value> {
    let json: Json = serde_json::from_slice(bytes).map_err(|e| Error::new(codes::JSON, format!("{path}:{}:{}: {e}", e.line(), e.column())))?;
    decode(m, &json, rep, "").map_err(|(at, want)| {
        let at = if at.is_empty() { "the file".to_owned() } else { format!("`{}`", at.trim_start_matches('.')) };
        Error::new(codes::JSON, format!("{path}: {at} is no {want}"))
    })
}

type Decoded = Result<Value, (String, String)>;

fn decode(m: &mut Machine, j: &Json, rep: &Rep, at: &str) -> Decoded {
    let wrong = |want: &str| Err((at.to_owned(), want.to_owned()));
    match (rep, j) {
        (Rep::Unit, Json::Null) => Ok(Value::Unit),
        (Rep::Bool, Json::Bool(b)) => Ok(Value::Bool(*b)),
        (Rep::Int, Json::Number(n)) => n.as_i64().map_or_else(|| wrong("Int"), |n| Ok(Value::Int(n))),
        (Rep::Float, Json::Number(n)) => n.as_f64().map_or_else(|| wrong("Float"), |x| Ok(Value::Float(x))),
        (Rep::Float, Json::Null) => Ok(Value::Float(f64::NAN)),
        (Rep::F32, Json::Number(n)) => n.as_f64().map_or_else(|| wrong("F32"), |x| Ok(Value::F32(x as f32))),
        (Rep::Str, Json::String(s)) => Ok(super::super::data_text(s)),
        (Rep::Array(n, e), Json::Array(xs)) => {
            if n.is_some_and(|n| n != xs.len()) {
                return wrong(&format!("array of {} elements", n.unwrap_or(0)));
            }
            let vals = xs.iter().enumerate().map(|(i, x)| decode(m, x, e, &format!("{at}[{i}]"))).collect::<Result<Vec<_>, _>>()?;
            seq::pack(m, vals).map_err(|e| (at.to_owned(), format!("regular array ({})", e.diag.message)))
        }
        (Rep::Tuple(ps), Json::Array(xs)) if ps.len() == xs.len() => {
            let vals = xs.iter().zip(ps).enumerate().map(|(i, (x, p))| decode(m, x, p, &format!("{at}[{i}]"))).collect::<Result<_, _>>()?;
            Ok(Value::Tuple(Rc::new(Tuple(vals))))
        }
        (Rep::Record(fs), Json::Object(o)) => {
            let mut vals = Vec::new();
            for (n, r) in fs {
                let path = format!("{at}.{n}");
                vals.push(decode(m, o.get(n.as_str()).unwrap_or(&Json::Null), r, &path)?);
            }
            Ok(Value::Record(Rc::new(Record { names: fs.iter().map(|f| f.0).collect(), vals })))
        }
        (Rep::Data(d, args), _) => data(m, j, d, args, at),
        (Rep::Array(..), _) => wrong("list"),
        (Rep::Tuple(ps), _) => wrong(&format!("list of {} elements", ps.len())),
        (Rep::Record(_), _) => wrong("object"),
        (Rep::Int, _) => wrong("Int"),
        (Rep::Float | Rep::F32, _) => wrong("number"),
        (Rep::Bool, _) => wrong("Bool"),
        (Rep::Str, _) => wrong("text"),
        (Rep::Unit, _) => wrong("null"),
        (Rep::Other, _) => wrong("value of a type that JSON holds"),
    }
}

fn data(m: &mut Machine, j: &Json, d: &Rc<adl_typing::ty::DataDecl>, args: &[Rc<Rep>], at: &str) -> Decoded {
    let make = |tag: usize, fields: Vec<Value>| {
        let con = ConInfo { name: d.cons[tag].name, tag: tag as u32, data: d.id, arity: fields.len() as u32 };
        Value::Data(Rc::new(Data { con: Rc::new(con), fields }))
    };
    if d.name.as_str() == "Option" {
        return match j {
            Json::Null => Ok(make(0, Vec::new())),
            x => Ok(make(1, vec![decode(m, x, &args[0], at)?])),
        };
    }
    let (name, given): (&str, &[Json]) = match j {
        Json::String(s) => (s, &[]),
        Json::Object(o) if o.len() == 1 => match o.iter().next() {
            Some((n, Json::Array(xs))) => (n, xs),
            Some((n, x)) => (n, std::slice::from_ref(x)),
            None => ("", &[]),
        },
        _ => ("", &[]),
    };
    let Some(tag) = d.cons.iter().position(|c| c.name.as_str() == name && c.fields.len() == given.len()) else {
        return Err((at.to_owned(), format!("`{}`", d.name)));
    };
    let mut fields = Vec::new();
    for (i, (x, t)) in given.iter().zip(&d.cons[tag].fields).enumerate() {
        let rep = field_rep(t, d, args);
        fields.push(decode(m, x, &rep, &format!("{at}.{name}[{i}]"))?);
    }
    Ok(make(tag, fields))
}

/// The representation of a field's type at a declaration's arguments.
fn field_rep(t: &adl_typing::ty::Ty, d: &Rc<adl_typing::ty::DataDecl>, args: &[Rc<Rep>]) -> Rc<Rep> {
    use adl_typing::ty::{Size, Ty};
    Rc::new(match t {
        Ty::Unit => Rep::Unit,
        Ty::Bool => Rep::Bool,
        Ty::Int => Rep::Int,
        Ty::Float => Rep::Float,
        Ty::F32 => Rep::F32,
        Ty::Str => Rep::Str,
        Ty::Var(v) => match d.params.iter().position(|p| p == v) {
            Some(i) => return args[i].clone(),
            None => Rep::Other,
        },
        Ty::Array(Size::Const(n), e) => Rep::Array(Some(*n as usize), field_rep(e, d, args)),
        Ty::Array(_, e) => Rep::Array(None, field_rep(e, d, args)),
        Ty::Tuple(ps) => Rep::Tuple(ps.iter().map(|p| field_rep(p, d, args)).collect()),
        Ty::Record(r) => Rep::Record(r.fields.iter().map(|(n, t)| (*n, field_rep(t, d, args))).collect()),
        Ty::Data(id, more) if *id == d.id => Rep::Data(d.clone(), more.iter().map(|t| field_rep(t, d, args)).collect()),
        Ty::Data(..) | Ty::Meta(_) | Ty::Fun(..) | Ty::Lin(..) => Rep::Other,
    })
}

/// A value as JSON text.
pub fn write(v: &Value) -> Res<String> {
    let j = encode(v)?;
    serde_json::to_string_pretty(&j).map(|s| s + "\n").map_err(|e| Error::new(codes::JSON, e.to_string()))
}

fn encode(v: &Value) -> Res<Json> {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
        Ok(match v {
            Value::Unit => Json::Null,
            Value::Bool(b) => Json::Bool(*b),
            Value::Int(n) => Json::from(*n),
            Value::Float(x) => Json::from(*x),
            Value::F32(x) => Json::from(*x),
            Value::Str(s) => Json::from(&***s),
            Value::Tuple(t) => Json::Array(t.0.iter().map(encode).collect::<Res<_>>()?),
            Value::Record(r) => Json::Object(r.names.iter().zip(&r.vals).map(|(n, v)| Ok((n.to_string(), encode(v)?))).collect::<Res<_>>()?),
            Value::Array(a) => Json::Array((0..a.len()).map(|i| encode(&crate::value::array::elem(a, i))).collect::<Res<_>>()?),
            Value::Data(d) => match (d.con.name.as_str(), d.fields.as_slice()) {
                ("None", []) => Json::Null,
                ("Some", [x]) => encode(x)?,
                (name, []) => Json::from(name),
                (name, fs) => serde_json::json!({ name: fs.iter().map(encode).collect::<Res<Vec<_>>>()? }),
            },
            other => return Err(Error::new(codes::JSON, format!("{} cannot be written as JSON", show::show(other)))),
        })
    })
}
