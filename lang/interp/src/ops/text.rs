//! Texts.

use super::{int, string as str_of};
use crate::error::Res;
use crate::value::{Buf, Value, array};
use adl_prim::Prim;
use std::rc::Rc;

/// A String.
pub fn string(s: String) -> Value {
    Value::Str(Rc::new(s.into()))
}

pub(super) fn apply(p: Prim, args: &mut [Value]) -> Res<Value> {
    let s = |i: usize| str_of(&args[i]);
    Ok(match p {
        Prim::StrLen => Value::Int(s(0).chars().count() as i64),
        Prim::StrSlice => {
            let a = int(&args[0]).max(0) as usize;
            let b = int(&args[1]).max(0) as usize;
            string(s(2).chars().take(b).skip(a).collect())
        }
        Prim::StrSplit => {
            let parts: Vec<Value> = if s(0).is_empty() { s(1).chars().map(|c| string(c.to_string())).collect() } else { s(1).split(s(0)).map(|x| string(x.into())).collect() };
            array::boxed(parts)
        }
        Prim::StrJoin => {
            let parts: Vec<String> = match &args[1] {
                Value::Array(a) => match a.buf() {
                    Buf::Boxed(v) => v.iter().map(|x| str_of(x).to_owned()).collect(),
                    _ => Vec::new(),
                },
                _ => Vec::new(),
            };
            string(parts.join(s(0)))
        }
        Prim::StrTrim => string(s(0).trim().into()),
        Prim::StrFind => match s(1).find(s(0)) {
            Some(at) => Value::Int(s(1)[..at].chars().count() as i64),
            None => Value::Int(-1),
        },
        Prim::StrReplace => string(if s(0).is_empty() { s(2).into() } else { s(2).replace(s(0), s(1)) }),
        Prim::StrUpper => string(s(0).to_uppercase()),
        Prim::StrLower => string(s(0).to_lowercase()),
        Prim::ParseFloat => array::floats(s(0).trim().parse().ok().into_iter().collect()),
        _ => array::ints(s(0).trim().parse().ok().into_iter().collect()),
    })
}
