//! Values that differ from rank to rank, and the messages that make them.
//!
//! An `Each` is a record with one field, the part of this rank. Reading order: this file (values), `captured` (what the
//! function of `comm.each` captures), `exchange` (numbers and arrays), `wire` (their bytes), `plain` (those of texts and
//! declared data).

pub(crate) mod captured;
mod exchange;
pub(crate) mod plain;
mod rule;
mod wire;

use super::{int, len};
use crate::ad;
use crate::error::{Error, Res, codes};
use crate::limits::comm::{CONSTRUCTORS, STACK, STACK_LEFT};
pub(crate) use crate::upcalls::CollectiveSite;
use crate::value::each::differing;
pub(crate) use crate::value::each::part;
use crate::value::{Array, Buf, Kind, Record, Tuple, Value, array, seq, vector_space};
use crate::vm::Machine;
use adl_ir::Collective;
use adl_prim::CommFn;
use adl_syntax::symbol::Symbol;
pub(crate) use exchange::{blocks, place};
use std::rc::Rc;

fn own(v: &Value) -> Res<Value> {
    part(v).cloned().ok_or_else(|| Error::new(codes::STRUCTURE, "a value of each rank was expected"))
}

/// Applies a function of module `comm`.
pub(super) fn apply(machine: &mut Machine, prim: CommFn, args: &mut [Value]) -> Res<Value> {
    if prim == CommFn::Size {
        return Ok(Value::Int(place(machine).1 as i64));
    }
    outside_each(machine, &prim.title())?;
    let kind = match prim {
        CommFn::FoldChunks => return fold_chunks(machine, &args[0].clone(), int(&args[1])),
        CommFn::Block => return Ok(rank_block(machine, int(&args[0]))),
        CommFn::Rank => return Ok(differing(Value::Int(place(machine).0 as i64))),
        CommFn::Each => return each(machine, &args[0].clone(), own(&args[1])?),
        CommFn::Zip => return Ok(differing(Value::Tuple(Rc::new(Tuple(vec![own(&args[0])?, own(&args[1])?]))))),
        CommFn::Blocks => return Ok(blocks(int(&args[0]), place(machine).1)),
        CommFn::Lengths => return exchange::lengths(machine, int(&args[0])),
        CommFn::Spread => return captured::spread(machine, &args[0], Collective::Spread, &Value::Unit).map(differing),
        p => match Collective::of(p) {
            Some(kind) => kind,
            None => return Ok(Value::Unit),
        },
    };
    let last = args.last().cloned().unwrap_or_default();
    let v = if kind.takes_plain() { last } else { own(&last)? };
    let at = match kind {
        Collective::Mine | Collective::ScatterSum => blocks(len(&v) as i64, place(machine).1),
        Collective::Gather | Collective::GatherEach => exchange::lengths(machine, len(&v) as i64)?,
        kind if kind.by_rank() || kind.by_chunks() => args[0].clone(),
        _ => Value::Unit,
    };
    let made = whole(machine, kind, &v, &at)?;
    Ok(if kind.gives_plain() { made } else { differing(made) })
}

/// An error inside of the function of `comm.each`, which must not wait for other ranks.
fn outside_each(m: &Machine, name: &str) -> Res<()> {
    if !m.effects.inside_each() {
        return Ok(());
    }
    Err(Error::new(codes::INSIDE_EACH, format!("`{name}` inside `comm.each`: its function is each rank's own"))
        .hint("end `comm.each` first: other ranks see its result by `comm.total`, `comm.gather` or `comm.shift`"))
}

/// `comm.each f x` on the part of this rank.
fn each(m: &mut Machine, f: &Value, part: Value) -> Res<Value> {
    let f = captured::spread_captured(m, f, Collective::Spread, &Value::Unit)?;
    apart(m, &f, &[part])
}

/// A function of the block of `n` chunks of this rank.
fn fold_chunks(m: &mut Machine, f: &Value, n: i64) -> Res<Value> {
    let f = captured::spread_captured(m, f, Collective::SpreadRows, &Value::Int(n))?;
    let (lo, hi) = chunks_of_rank(n, place(m));
    apart(m, &f, &[Value::Int(lo), Value::Int(hi)])
}

fn rank_block(m: &mut Machine, n: i64) -> Value {
    let (lo, hi) = chunks_of_rank(n, place(m));
    array::ints(vec![lo, hi])
}

/// Both ends of the block of a rank. One without chunks takes one that another rank has, whose value is not used.
pub(crate) fn chunks_of_rank(n: i64, place: (usize, usize)) -> (i64, i64) {
    let (lo, hi) = subtree(n, place);
    (lo, hi.max(lo + 1).min(n.max(0)))
}

/// Both ends of the chunks that a rank has. Chunks and ranks are halved together, so that each rank has a whole subtree
/// of the tree over all chunks, and sums have the same bits on every number of ranks.
fn subtree(n: i64, (rank, size): (usize, usize)) -> (i64, i64) {
    let (mut chunks, mut ranks) = ((0, n.max(0)), (0, size.max(1)));
    while ranks.1 - ranks.0 > 1 {
        let middle = (chunks.0 + (chunks.1 - chunks.0) / 2, ranks.0 + (ranks.1 - ranks.0) / 2);
        if rank < middle.1 {
            (chunks.1, ranks.1) = middle;
        } else {
            (chunks.0, ranks.0) = middle;
        }
    }
    chunks
}

/// A function of which this rank runs its own part.
fn apart(m: &mut Machine, f: &Value, args: &[Value]) -> Res<Value> {
    m.effects.enter_each();
    m.host.alone(true);
    let made = m.call(f, args);
    m.effects.leave_each();
    m.host.alone(false);
    made.map(differing)
}

/// Applies a collective to all numbers and arrays of a value.
fn whole(m: &mut Machine, kind: Collective, v: &Value, at: &Value) -> Res<Value> {
    let mut leaves = Vec::new();
    collect(kind, v, &mut leaves)?;
    let site = CollectiveSite { at: m.user_place(), of: constructors(kind, v), everywhere: true };
    let made = collective(m, kind, leaves, at, site)?;
    Ok(rebuilt(kind, v, &mut made.into_iter()))
}

/// Under `--check-ranks`: requires that a plain value is equal on all ranks, by a digest.
pub(crate) fn equal_on_all(m: &mut Machine, name: Symbol, v: &Value) -> Res<()> {
    let Some(ranks) = m.host.ranks().filter(|r| r.compares()) else { return Ok(()) };
    let mut own = Digest(FNV_OFFSET);
    own.value(v);
    let own = own.0.to_le_bytes();
    let all =
        ranks.all_gather(&format!("the comparison of `{name}`"), &own).map_err(|e| Error::new(codes::RANKS, e))?;
    match all.iter().position(|other| *other != all[0]) {
        None => Ok(()),
        Some(rank) => Err(Error::new(codes::RANKS, format!("`{name}` differs on rank {rank} from that on rank 0"))
            .note("plain values are equal on all ranks: their numbers must not come from what a rank reads or measures by itself")),
    }
}

/// Start and factor of the hash function FNV-1a of 64 bits, here of words.
const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x100_0000_01b3;

/// A hash of the plain parts of a value.
struct Digest(u64);

impl Digest {
    fn word(&mut self, x: u64) {
        self.0 = (self.0 ^ x).wrapping_mul(FNV_PRIME).rotate_left(23);
    }

    fn words(&mut self, all: impl Iterator<Item = u64>) {
        all.for_each(|x| self.word(x));
    }

    /// Functions and parts of ranks are left out.
    fn value(&mut self, item: &Value) {
        stacker::maybe_grow(STACK_LEFT, STACK, || match item {
            v if part(v).is_some() => {}
            Value::Bool(b) => self.word(u64::from(*b)),
            Value::Int(n) => self.word(n.cast_unsigned()),
            Value::Float(x) => self.word(x.to_bits()),
            Value::F32(x) => self.word(u64::from(x.to_bits())),
            Value::Str(s) => self.words(s.bytes().map(u64::from)),
            Value::Tuple(t) => t.0.iter().for_each(|v| self.value(v)),
            Value::Record(r) => r.vals.iter().for_each(|v| self.value(v)),
            Value::Data(d) => {
                self.word(u64::from(d.con.tag));
                d.fields.iter().for_each(|v| self.value(v));
            }
            Value::Array(a) => self.array(a),
            Value::Unit | Value::Fun(_) | Value::Rep(_) | Value::Rev { .. } | Value::Dual(_) | Value::Zero => {}
        });
    }

    fn array(&mut self, a: &Array) {
        self.words(a.shape.iter().map(|n| *n as u64));
        match a.buf() {
            Buf::F64(v) => self.words(v.iter().map(|x| x.to_bits())),
            Buf::F32(v) => self.words(v.iter().map(|x| u64::from(x.to_bits()))),
            Buf::I64(v) => self.words(v.iter().map(|n| n.cast_unsigned())),
            Buf::Bool(v) => self.words(v.iter().map(|b| u64::from(*b))),
            Buf::Boxed(v) | Buf::Tuple(v) | Buf::Record(_, v) => v.iter().for_each(|v| self.value(v)),
            Buf::Unit => {}
        }
    }
}

/// Applies a collective to numbers and arrays, traced or not, in one message. `at` is the operand of the operation.
pub(crate) fn collective(
    m: &mut Machine,
    kind: Collective,
    leaves: Vec<Value>,
    at: &Value,
    site: CollectiveSite,
) -> Res<Vec<Value>> {
    let depth = m.ad.depth() as u16;
    up_to(m, depth, kind, leaves, (at, site))
}

/// Applies a collective to values that are traced at a level and below, of which `level` is the highest that is open.
fn up_to(
    m: &mut Machine,
    level: u16,
    kind: Collective,
    leaves: Vec<Value>,
    (at, site): (&Value, CollectiveSite),
) -> Res<Vec<Value>> {
    let everywhere = site.everywhere && kind.sends() && place(m).1 > 1;
    let level = if everywhere { level } else { leaves.iter().map(ad::level_of).max().unwrap_or(0) };
    at_level(m, level, kind, leaves, (at, site))
}

fn at_level(
    machine: &mut Machine,
    level: u16,
    kind: Collective,
    leaves: Vec<Value>,
    (at, site): (&Value, CollectiveSite),
) -> Res<Vec<Value>> {
    if level == 0 {
        if kind.sends() {
            outside_each(machine, &format!("comm.{}", kind.word()))?;
        }
        return exchange::run(machine, kind, leaves, at, site);
    }
    if machine.ad.hides(level) {
        return up_to(machine, level - 1, kind, leaves, (at, site));
    }
    let (primals, parts): (Vec<_>, Vec<_>) = leaves.iter().map(|v| ad::split(v, level)).unzip();
    let mut outs = up_to(machine, level - 1, kind, primals, (at, site))?;
    // Ints and Bools have no tangent.
    let real: Vec<usize> =
        (0..outs.len()).filter(|k| matches!(outs[*k], Value::Zero) || vector_space::is_real(&outs[*k])).collect();
    let (parts, reals): (_, Vec<Value>) = real.iter().map(|k| (parts[*k].clone(), outs[*k].clone())).unzip();
    let recorded = if machine.ad.tape(level).is_some() {
        let shapes = reals.iter().map(|v| seq::shape(v).cloned()).collect();
        let rule = Rc::new(rule::CollectiveRule { kind, at: at.clone(), outs: shapes, site });
        ad::results(machine, level, parts, reals, rule)?
    } else {
        // Their tangents are values of the levels below.
        let tangent = |p: Option<ad::DerivativePart>| match p {
            Some(ad::DerivativePart::Tangent(t)) => t,
            _ => Value::Zero,
        };
        let tangents = up_to(machine, level - 1, kind, parts.into_iter().map(tangent).collect(), (at, site))?;
        let dual = |(primal, t)| Value::Dual(Rc::new(ad::Dual { level, primal, part: ad::DerivativePart::Tangent(t) }));
        reals.into_iter().zip(tangents).map(dual).collect()
    };
    real.into_iter().zip(recorded).for_each(|(k, v)| outs[k] = without_zero_primal(v));
    Ok(outs)
}

/// A traced value whose primal has a shape: other operations do not expect a symbolic zero there.
fn without_zero_primal(v: Value) -> Value {
    match &v {
        Value::Dual(d) if matches!(d.primal, Value::Zero) => match &d.part {
            ad::DerivativePart::Tangent(t) if !matches!(t, Value::Zero) => Value::Dual(Rc::new(ad::Dual {
                level: d.level,
                primal: vector_space::zero_like(t),
                part: d.part.clone(),
            })),
            _ => Value::Zero,
        },
        _ => v,
    }
}

/// Whether a value is sent as it is: it has no part with a tangent.
fn is_untraced(v: &Value) -> bool {
    stacker::maybe_grow(STACK_LEFT, STACK, || match v {
        Value::Tuple(t) => t.0.iter().all(is_untraced),
        Value::Record(r) => r.vals.iter().all(is_untraced),
        Value::Data(d) => d.fields.iter().all(is_untraced),
        Value::Array(a) if a.is_flat() => true,
        Value::Array(a) => a.values().iter().all(is_untraced),
        Value::Rev { .. } | Value::Dual(_) | Value::Zero | Value::Fun(_) | Value::Rep(_) => false,
        Value::Unit | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::F32(_) | Value::Str(_) => true,
    })
}

/// Whether a kind sends texts and declared data: it adds nothing, and needs no zeros.
fn sends_plain(kind: Collective) -> bool {
    !kind.adds() && !matches!(kind, Collective::ScatterSum | Collective::Place)
}

/// The constructors of declared data whose numbers are sent one by one: only equal ones have numbers that belong together.
fn constructors(kind: Collective, v: &Value) -> Option<Symbol> {
    let mut found = Vec::new();
    add_constructors(kind, v, &mut found);
    let mut text = found.iter().map(|c| c.as_str()).collect::<Vec<_>>().join(", ");
    if text.len() > CONSTRUCTORS {
        let mut digest = Digest(FNV_OFFSET);
        digest.words(text.bytes().map(u64::from));
        text.truncate(text.floor_char_boundary(CONSTRUCTORS));
        text.push_str(&format!("... ({} constructors, digest {:x})", found.len(), digest.0));
    }
    (!found.is_empty()).then(|| Symbol::new(&text))
}

fn add_constructors(kind: Collective, value: &Value, out: &mut Vec<Symbol>) {
    let parts = match value {
        Value::Tuple(t) => t.0.as_slice(),
        Value::Record(r) => &r.vals,
        Value::Data(_) if sends_plain(kind) && is_untraced(value) => return,
        Value::Data(d) => {
            out.push(d.con.name);
            &d.fields
        }
        _ => return,
    };
    stacker::maybe_grow(STACK_LEFT, STACK, || parts.iter().for_each(|v| add_constructors(kind, v, out)));
}

/// The numbers and arrays of a value.
fn collect(kind: Collective, value: &Value, out: &mut Vec<Value>) -> Res<()> {
    let all = |vs: &[Value], out: &mut Vec<Value>| {
        stacker::maybe_grow(STACK_LEFT, STACK, || vs.iter().try_for_each(|v| collect(kind, v, out)))
    };
    let sent = match value {
        Value::Unit => return Ok(()),
        Value::Tuple(t) => return all(&t.0, out),
        Value::Record(r) => return all(&r.vals, out),
        Value::Data(_) if sends_plain(kind) && is_untraced(value) => value.clone(),
        Value::Data(d) => return all(&d.fields, out),
        Value::Array(a) => match a.kind() {
            Kind::Tuple | Kind::Record => return all(a.values(), out),
            Kind::Bool if kind.adds() => return Err(unsent(kind, "Bools")),
            Kind::F64 | Kind::F32 | Kind::I64 | Kind::Bool => value.clone(),
            Kind::Boxed if a.shape.contains(&0) => array::floats(Vec::new()),
            Kind::Boxed if sends_plain(kind) && is_untraced(value) => value.clone(),
            Kind::Boxed if sends_plain(kind) => {
                return Err(unsent(kind, "arrays of functions, or of data that is differentiated"));
            }
            Kind::Boxed | Kind::Unit => return Err(unsent(kind, "arrays of texts or declared data")),
        },
        Value::Bool(_) if kind.adds() => return Err(unsent(kind, "Bools")),
        Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::F32(_) => value.clone(),
        Value::Rev { .. } | Value::Dual(_) | Value::Zero => value.clone(),
        Value::Str(_) if sends_plain(kind) => value.clone(),
        Value::Str(_) => return Err(unsent(kind, "texts")),
        Value::Fun(_) | Value::Rep(_) => return Err(unsent(kind, "functions")),
    };
    out.push(sent);
    Ok(())
}

fn unsent(kind: Collective, what: &str) -> Box<Error> {
    let sent = match kind {
        kind if sends_plain(kind) => "sends data",
        Collective::Place => "makes zeros of numbers, Bools and arrays of them",
        _ => "adds numbers and arrays of them",
    };
    Error::new(codes::RANKS, format!("`comm.{}` {sent}, not {what}", kind.word()))
}

/// The value with other numbers and arrays, in the order of [`collect`].
fn rebuilt(kind: Collective, v: &Value, next: &mut dyn Iterator<Item = Value>) -> Value {
    let all = |vs: &[Value], next: &mut dyn Iterator<Item = Value>| -> Vec<Value> {
        stacker::maybe_grow(STACK_LEFT, STACK, || vs.iter().map(|v| rebuilt(kind, v, next)).collect())
    };
    match v {
        Value::Tuple(t) => Value::Tuple(Rc::new(Tuple(all(&t.0, next)))),
        Value::Record(r) => Value::Record(Rc::new(Record { names: r.names.clone(), vals: all(&r.vals, next) })),
        Value::Data(_) if sends_plain(kind) && is_untraced(v) => next.next().unwrap_or_else(|| v.clone()),
        Value::Data(d) => Value::data(d.con.clone(), all(&d.fields, next)),
        Value::Array(a) if matches!(a.kind(), Kind::Tuple | Kind::Record) => {
            let columns = all(a.values(), next);
            // The number of rows may be another one.
            let outer = a.shape.len();
            let shape = columns.first().and_then(seq::shape).map_or(a.shape.clone(), |s| s[..outer].into());
            let buf = match a.buf() {
                Buf::Record(names, _) => Buf::Record(names.clone(), columns),
                _ => Buf::Tuple(columns),
            };
            Value::Array(Rc::new(Array::new(shape, buf)))
        }
        Value::Unit => Value::Unit,
        other => next.next().unwrap_or_else(|| other.clone()),
    }
}
