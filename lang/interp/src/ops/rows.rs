//! Tables in chunks, `Rows a`: a record with a function from chunks to arrays of rows, and the sizes of the chunks. The function of
//! a file is a partial application of [`RowsFn::Read`]; compiled code reads columns by themselves ([`RowsFn::Column`]), so that
//! those without a use are not read.

use super::{comm, data, int, string};
use crate::error::{Error, Res, codes};
use crate::value::{Rep, Value};
use crate::vm::{Fun, Machine};
use adl_ir::Collective;
use adl_prim::{Prim, RowsFn};
use std::rc::Rc;
use std::sync::atomic::Ordering;

pub(super) fn apply(machine: &mut Machine, p: RowsFn, args: &mut [Value]) -> Res<Value> {
    match p {
        RowsFn::Make => Ok(data::chunked::value(args[0].clone(), args[1].clone())),
        RowsFn::Chunk => {
            let chunk = field(&args[0], 0)?;
            machine.call(&chunk, &[args[1].clone()])
        }
        RowsFn::Sizes => field(&args[0], 1),
        RowsFn::Fork => comm::captured::spread_captured(machine, &args[0], Collective::Fork, &Value::Unit),
        RowsFn::Read => read(machine, &args[0].clone(), string(&args[1]), int(&args[2])),
        // Before them there may be the key of a call of the host.
        RowsFn::Column => match args {
            [.., path, name, kind, k] => column(machine, string(path), (string(name), string(kind)), int(k)),
            _ => Err(Error::new(codes::STRUCTURE, "a column without a name")),
        },
    }
}

fn field(rows: &Value, k: usize) -> Res<Value> {
    match rows {
        Value::Record(r) => r.vals.get(k).cloned(),
        _ => None,
    }
    .ok_or_else(|| Error::new(codes::STRUCTURE, "rows were expected"))
}

/// Opens a table as rows of the type of the hidden argument.
pub(super) fn open(m: &mut Machine, path: &str, reps: &[Value]) -> Res<Value> {
    let rep = match reps.first() {
        Some(Value::Rep(r)) => r.clone(),
        _ => Rc::new(Rep::Other),
    };
    let table = Rc::new(data::chunked::open(&mut *m.host, path)?);
    table.wanted(&rep)?;
    agree(m, path, &table)?;
    let sizes = data::chunked::sizes(&table);
    m.definitions.tables.insert(path.into(), table);
    let read = Fun::Prim(Prim::Rows(RowsFn::Read), Vec::new());
    let chunk = Fun::Partial(Rc::new(read), vec![Value::Rep(rep), super::data_text(path)]);
    Ok(data::chunked::value(Value::Fun(Rc::new(chunk)), sizes))
}

/// Requires that all ranks see a table of the same size.
fn agree(m: &mut Machine, path: &str, table: &data::chunked::Table) -> Res<()> {
    if m.effects.inside_each() {
        return Ok(());
    }
    let Some(ranks) = m.host.ranks() else { return Ok(()) };
    let message = table.description();
    let all =
        ranks.all_gather(&format!("rows.open {path}"), message.as_bytes()).map_err(|e| Error::new(codes::RANKS, e))?;
    match all.iter().position(|other| other != message.as_bytes()) {
        None => Ok(()),
        Some(other) => {
            let theirs = String::from_utf8_lossy(&all[other]);
            let text = format!("{path}: the ranks see different tables: {message} here, {theirs} on rank {other}");
            let hint = "every rank reads its own chunks: all need the same file under this path";
            Err(Error::new(codes::RANKS, text).hint(hint))
        }
    }
}

/// The table of a path, whose headers are read once.
fn table(m: &mut Machine, path: &str) -> Res<Rc<data::chunked::Table>> {
    if let Some(t) = m.definitions.tables.get(path) {
        return Ok(t.clone());
    }
    let table = Rc::new(data::chunked::open(&mut *m.host, path)?);
    m.definitions.tables.insert(path.into(), table.clone());
    Ok(table)
}

/// The table, after polling for an interrupt and a report of progress.
fn chunk(m: &mut Machine, path: &str, k: i64) -> Res<(Rc<data::chunked::Table>, usize)> {
    m.poll()?;
    let table = table(m, path)?;
    let k = usize::try_from(k).unwrap_or(usize::MAX);
    if m.tick.load(Ordering::Relaxed) {
        let (lo, hi) = comm::chunks_of_rank(table.sizes.len() as i64, comm::place(m));
        let done = (k as u64).saturating_sub(lo.unsigned_abs());
        m.report_progress_of(Some((done, lo.abs_diff(hi))));
    }
    Ok((table, k))
}

fn read(m: &mut Machine, rep: &Value, path: &str, k: i64) -> Res<Value> {
    let Value::Rep(rep) = rep else { return Err(Error::new(codes::STRUCTURE, "rows without a type")) };
    let (table, k) = chunk(m, path, k)?;
    let wanted = table.wanted(rep)?;
    table.rows(&mut *m.host, k, &wanted)
}

fn column(m: &mut Machine, path: &str, what: (&str, &str), k: i64) -> Res<Value> {
    let (table, k) = chunk(m, path, k)?;
    table.column(&mut *m.host, k, what)
}
