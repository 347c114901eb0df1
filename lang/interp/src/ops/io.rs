//! Input and output, all of it through the host.

use super::{data, string, text};
use crate::error::{Error, Res, codes};
use crate::value::{ConInfo, Data, Rep, Value, array, show};
use crate::vm::Machine;
use adl_prim::Prim;
use std::rc::Rc;

fn file_error(path: &str, text: &str) -> Box<Error> {
    Error::new(codes::FILE, format!("{path}: {text}"))
}

fn read(m: &mut Machine, path: &str) -> Res<Vec<u8>> {
    m.host.read(path).map_err(|e| file_error(path, &e))
}

pub(super) fn apply(m: &mut Machine, p: Prim, reps: &[Value], args: &mut [Value]) -> Res<Value> {
    let path = string(&args[0]).to_owned();
    let rep = match reps.first() {
        Some(Value::Rep(r)) => r.clone(),
        _ => Rc::new(Rep::Other),
    };
    match p {
        Prim::Print => {
            let mut text = show::plain(&args[0]);
            text.push('\n');
            m.host.print(&text);
            Ok(Value::Unit)
        }
        Prim::ReadText => {
            let bytes = read(m, &path)?;
            match String::from_utf8(bytes) {
                Ok(s) => Ok(text::string(s)),
                Err(_) => Err(file_error(&path, "the file is not UTF-8 text")),
            }
        }
        Prim::WriteText => write(m, &path, string(&args[1]).as_bytes()),
        Prim::ReadCsv => {
            let bytes = read(m, &path)?;
            data::csv::read(&path, &bytes, &rep)
        }
        Prim::WriteCsv => {
            let bytes = data::csv::write(&args[1])?;
            write(m, &path, &bytes)
        }
        Prim::ReadNpy => {
            let bytes = read(m, &path)?;
            data::npy::read(&path, &bytes, &rep)
        }
        Prim::WriteNpy => {
            let bytes = data::npy::write(&args[1])?;
            write(m, &path, &bytes)
        }
        Prim::ReadJson => {
            let bytes = read(m, &path)?;
            data::json::read(m, &path, &bytes, &rep)
        }
        Prim::WriteJson => {
            let text = data::json::write(&args[1])?;
            write(m, &path, text.as_bytes())
        }
        Prim::Args => Ok(array::boxed(m.host.args().into_iter().map(text::string).collect())),
        Prim::Env => Ok(option(m.host.env(&path).map(text::string))),
        Prim::Time => Ok(Value::Float(m.host.time())),
        Prim::Assert => match args[0] {
            Value::Bool(true) => Ok(Value::Unit),
            _ => Err(Error::new(codes::ASSERT, "this assertion does not hold")),
        },
        _ => Err(Error::new(codes::USER, path)),
    }
}

fn write(m: &mut Machine, path: &str, bytes: &[u8]) -> Res<Value> {
    m.host.write(path, bytes).map_err(|e| file_error(path, &e))?;
    Ok(Value::Unit)
}

/// `Option`, whose constructors are `None` (0) and `Some` (1).
pub(crate) fn option(v: Option<Value>) -> Value {
    let (name, tag) = if v.is_some() { ("Some", 1) } else { ("None", 0) };
    let con = ConInfo { name: adl_syntax::symbol::Symbol::new(name), tag, data: adl_typing::ty::DataId(0), arity: tag };
    Value::Data(Rc::new(Data { con: Rc::new(con), fields: v.into_iter().collect() }))
}
