//! Input and output primitives, all through the host.

pub(crate) use super::arguments::option;
use super::{data, string, text};
use crate::error::{Error, Res, codes};
use crate::host::Format;
use crate::memory;
use crate::value::compare::primal;
use crate::value::{Rep, Value, array, show};
use crate::vm::Machine;
use adl_prim::IoFn;
use std::rc::Rc;

fn file_error(path: &str, text: &str) -> Box<Error> {
    Error::new(codes::FILE, format!("{path}: {text}"))
}

pub(super) fn apply(m: &mut Machine, p: IoFn, reps: &[Value], args: &mut [Value]) -> Res<Value> {
    if let Some(v) = m.effects.replay() {
        return Ok(v);
    }
    let v = perform(m, p, reps, args)?;
    m.effects.record(&v);
    Ok(v)
}

fn perform(machine: &mut Machine, p: IoFn, reps: &[Value], args: &mut [Value]) -> Res<Value> {
    match p {
        IoFn::Print => {
            let mut text = show::plain(&args[0]);
            text.push('\n');
            machine.poll()?;
            print(machine, &text)
        }
        IoFn::ReadText => read_text(machine, string(&args[0])),
        IoFn::ReadCsv => {
            read_as(machine, string(&args[0]), reps, |_, path, bytes, rep| data::csv::read(path, bytes, rep))
        }
        IoFn::ReadParquet => {
            read_as(machine, string(&args[0]), reps, |_, path, bytes, rep| data::parquet::read(path, bytes, rep))
        }
        IoFn::ReadArrow => {
            read_as(machine, string(&args[0]), reps, |_, path, bytes, rep| data::arrow::read(path, bytes, rep))
        }
        IoFn::OpenRows => super::rows::open(machine, string(&args[0]), reps),
        IoFn::ReadNpy => {
            read_as(machine, string(&args[0]), reps, |_, path, bytes, rep| data::npy::read(path, bytes, rep))
        }
        IoFn::ReadJson => {
            read_as(machine, string(&args[0]), reps, |m, path, bytes, rep| data::json::read(m, path, bytes, rep))
        }
        IoFn::WriteText => write(machine, string(&args[0]), string(&args[1]).as_bytes()),
        IoFn::WriteCsv => write(machine, string(&args[0]), &data::csv::write(&args[1])?),
        IoFn::WriteParquet => write(machine, string(&args[0]), &data::parquet::write(&args[1])?),
        IoFn::WriteArrow => write(machine, string(&args[0]), &data::arrow::write(&args[1])?),
        IoFn::WriteNpy => write(machine, string(&args[0]), &data::npy::write(&args[1])?),
        IoFn::WriteJson => write(machine, string(&args[0]), data::json::write(&args[1])?.as_bytes()),
        IoFn::PlotSave => save(machine, string(&args[0]), &args[1]),
        IoFn::PlotShow => {
            let live = matches!(args[0], Value::Bool(true));
            machine.host.show(&primal(&args[1]), live).map_err(|e| Error::new(codes::PICTURE, e))?;
            Ok(Value::Unit)
        }
        IoFn::PlotWatch => {
            if let Value::Float(y) = primal(&args[1]) {
                machine.host.watch(string(&args[0]), y).map_err(|e| Error::new(codes::PICTURE, e))?;
            }
            Ok(Value::Unit)
        }
        IoFn::Args => Ok(array::boxed(machine.host.args().into_iter().map(text::string).collect())),
        IoFn::Env => Ok(option(machine.host.env(string(&args[0])).map(text::string))),
        IoFn::Time => Ok(Value::Float(machine.host.time())),
        IoFn::Input => input(machine, string(&args[0])),
        IoFn::Warn => {
            machine.host.warn(&(show::plain(&args[0]) + "\n"));
            Ok(Value::Unit)
        }
        IoFn::Display => {
            let slot = string(&args[0]).to_owned();
            machine.host.display(&args[1], &slot);
            Ok(Value::Unit)
        }
    }
}

/// Prints a text in pieces, so that the output of a long text can be interrupted.
fn print(m: &mut Machine, text: &str) -> Res<Value> {
    const PART: usize = 1 << 16;
    let mut rest = text;
    while rest.len() > PART {
        let at = (PART..rest.len()).find(|i| rest.is_char_boundary(*i)).unwrap_or(rest.len());
        let (part, more) = rest.split_at(at);
        m.host.print(part);
        rest = more;
        m.poll()?;
    }
    m.host.print(rest);
    Ok(Value::Unit)
}

/// Reads a line from the user. It is an error if the host has no input, or if an interrupt occurs.
fn input(m: &mut Machine, prompt: &str) -> Res<Value> {
    let line = m.host.input(prompt);
    if m.interrupt.load(std::sync::atomic::Ordering::Relaxed) {
        return Err(Error::new(codes::INTERRUPT, "interrupted"));
    }
    match line {
        Ok(Some(line)) => Ok(text::string(line)),
        Ok(None) => Err(Error::new(codes::FILE, "standard input: there are no more lines")),
        Err(e) => Err(Error::new(codes::FILE, format!("standard input: {e}"))),
    }
}

/// Reads an entire file, if memory permits.
pub fn bytes(m: &mut Machine, path: &str) -> Res<Vec<u8>> {
    let size = m.host.size(path);
    memory::check_available(size).map_err(|s| s.error(&format!("the file {path}"), size))?;
    let read = m.host.read(path);
    // The host also returns an error when it is told to stop.
    m.poll()?;
    read.map_err(|e| file_error(path, &e))
}

/// Reads a file in the format of a primitive.
fn read_text(m: &mut Machine, path: &str) -> Res<Value> {
    String::from_utf8(bytes(m, path)?).map(text::string).map_err(|_| file_error(path, "the file is not UTF-8 text"))
}

/// Reads a file as the type that a primitive's hidden argument describes.
fn read_as(
    m: &mut Machine,
    path: &str,
    reps: &[Value],
    read: impl FnOnce(&mut Machine, &str, &[u8], &Rep) -> Res<Value>,
) -> Res<Value> {
    let rep = match reps.first() {
        Some(Value::Rep(r)) => r.clone(),
        _ => Rc::new(Rep::Other),
    };
    let bytes = bytes(m, path)?;
    read(m, path, &bytes, &rep)
}

fn write(m: &mut Machine, path: &str, bytes: &[u8]) -> Res<Value> {
    let written = m.host.write(path, bytes);
    m.poll()?;
    written.map_err(|e| file_error(path, &e))?;
    Ok(Value::Unit)
}

/// Writes a picture in the format given by the file name.
fn save(machine: &mut Machine, path: &str, value: &Value) -> Res<Value> {
    let ends = |e: &str| {
        path.len() > e.len()
            && path.is_char_boundary(path.len() - e.len())
            && path[path.len() - e.len()..].eq_ignore_ascii_case(e)
    };
    let format = match () {
        () if ends(".svg") => Format::Svg,
        () if ends(".png") => Format::Png,
        () if ends(".txt") => Format::Text,
        () => return Err(Error::new(codes::PICTURE, format!("{path}: a picture is written as .svg, .png or .txt"))),
    };
    let bytes = machine.host.render(&primal(value), format).map_err(|e| Error::new(codes::PICTURE, e))?;
    write(machine, path, &bytes)
}
