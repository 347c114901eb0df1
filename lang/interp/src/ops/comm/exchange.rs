//! Collectives on untraced numbers and arrays. A symbolic zero takes part in every message, because other ranks may
//! have numbers at its place.

use super::CollectiveSite;
use super::wire::{self, LeafNumbers, WireLeaf};
use crate::error::{Error, Res, codes};
use crate::limits::comm::INLINE;
use crate::value::{Tuple, Value, array};
use crate::vm::Machine;
use adl_ir::Collective;
use adl_syntax::span::Span;
use std::rc::Rc;

/// This rank and the number of ranks.
pub(crate) fn place(m: &mut Machine) -> (usize, usize) {
    m.host.ranks().map_or((0, 1), |r| (r.rank(), r.size()))
}

/// The lengths of the blocks in which `n` elements are dealt out to `size` ranks.
pub(crate) fn blocks(n: i64, size: usize) -> Value {
    let (n, p) = (i128::from(n.max(0)), size.max(1) as i128);
    array::ints((0..p).map(|r| ((r + 1) * n / p - r * n / p) as i64).collect())
}

fn failed(text: impl Into<String>) -> Box<Error> {
    Error::new(codes::RANKS, text)
}

/// Runs something that sends messages, once: a repeated run gets the recorded result.
fn once(m: &mut Machine, run: impl FnOnce(&mut Machine) -> Res<Vec<Value>>) -> Res<Vec<Value>> {
    if let Some(Value::Tuple(t)) = m.effects.replay() {
        return Ok(t.0.clone());
    }
    m.poll()?;
    let outs = run(m)?;
    m.effects.record(&Value::Tuple(Rc::new(Tuple(outs.clone()))));
    Ok(outs)
}

fn count(m: &mut Machine, bytes: usize) {
    if let Some(ranks) = m.host.ranks() {
        ranks.count(bytes);
    }
}

fn gathered(m: &mut Machine, what: &str, bytes: &[u8]) -> Res<Vec<Vec<u8>>> {
    let Some(ranks) = m.host.ranks() else { return Ok(vec![bytes.to_vec()]) };
    ranks.all_gather(what, bytes).map_err(failed)
}

fn exchanged(m: &mut Machine, parts: &[Vec<u8>]) -> Res<Vec<Vec<u8>>> {
    let Some(ranks) = m.host.ranks() else { return Ok(parts.to_vec()) };
    ranks.all_to_all(parts).map_err(failed)
}

/// The lengths of all ranks' parts.
pub(super) fn lengths(m: &mut Machine, own: i64) -> Res<Value> {
    if place(m).1 == 1 {
        return Ok(array::ints(vec![own]));
    }
    let outs = once(m, |m| {
        count(m, own.to_le_bytes().len());
        let all = gathered(m, "comm.gather, for the lengths of the parts", &own.to_le_bytes())?;
        Ok(vec![array::ints(all.iter().map(|b| wire::word(b) as i64).collect())])
    })?;
    Ok(outs.into_iter().next().unwrap_or_default())
}

/// Applies a collective to the leaves of one value.
pub(super) fn run(
    machine: &mut Machine,
    kind: Collective,
    leaves: Vec<Value>,
    at: &Value,
    site: CollectiveSite,
) -> Res<Vec<Value>> {
    let (rank, size) = place(machine);
    let by = rank_operand(kind, at, size)?;
    if kind.by_lengths() {
        fitting_lengths(kind, &leaves, &sizes(at), (rank, size))?;
    }
    match kind {
        Collective::Spread | Collective::SpreadRows | Collective::Fork => return Ok(leaves),
        Collective::Mine => {
            let rows = own_rows(at, rank);
            return leaves.iter().map(|v| own_part(v, rows)).collect();
        }
        Collective::Place if by == rank => return Ok(leaves),
        Collective::Place => return leaves.iter().map(nothing).collect(),
        Collective::Exchange => rows_for_ranks(&leaves, size)?,
        _ => {}
    }
    if size == 1 {
        return Ok(leaves);
    }
    once(machine, |machine| {
        let own = leaves.iter().map(wire::leaf).collect::<Res<Vec<_>>>()?;
        count(machine, own.iter().flatten().map(WireLeaf::bytes).sum());
        let what = name(machine, kind, site);
        let made = match kind {
            Collective::Total => total(machine, &what, &own, &vec![true; size])?,
            Collective::TotalRows => total(machine, &what, &own, &ranks_with_chunks(at, size))?,
            Collective::Gather | Collective::GatherEach => gather(machine, &what, &own, &sizes(at))?,
            Collective::ScatterSum => scatter_sum(machine, &what, &own, &sizes(at))?,
            Collective::Shift => shift(machine, &what, &own, by)?,
            Collective::Exchange => exchange(machine, &what, &own)?,
            Collective::From => from(machine, &what, &own, by)?,
            Collective::Spread | Collective::SpreadRows | Collective::Fork | Collective::Mine | Collective::Place => {
                own
            }
        };
        Ok(made.into_iter().map(wire::value).collect())
    })
}

/// The collective with its place, which must be equal on all ranks.
fn name(m: &Machine, kind: Collective, site: CollectiveSite) -> String {
    let named = match site.of {
        Some(of) => format!("comm.{} of {of}", kind.word()),
        None => format!("comm.{}", kind.word()),
    };
    match m.sources.get(site.at.file).filter(|_| site.at != Span::default()) {
        Some(file) => {
            let (line, column) = file.line_col(site.at.lo);
            format!("{named} ({}:{line}:{column})", file.name)
        }
        None => named,
    }
}

/// Zeros of the same shape.
fn nothing(v: &Value) -> Res<Value> {
    let zeros = |l: WireLeaf| WireLeaf { numbers: LeafNumbers::zeros(l.head.kind, l.numbers.len()), head: l.head };
    Ok(wire::value(wire::leaf(v)?.map(zeros)))
}

/// The operand of a kind that is given a rank or a number of them; 0 for other kinds.
fn rank_operand(kind: Collective, at: &Value, size: usize) -> Res<usize> {
    let (Value::Int(n), true) = (at, kind.by_rank()) else { return Ok(0) };
    if kind == Collective::Shift {
        return Ok(n.rem_euclid(size as i64) as usize);
    }
    usize::try_from(*n).ok().filter(|n| *n < size).ok_or_else(|| {
        failed(format!("`comm.{}` of rank {n}, and there are {size} ranks", kind.word()))
            .hint(format!("ranks count from 0: the last is {}", size - 1))
    })
}

fn sizes(at: &Value) -> Vec<usize> {
    match at {
        Value::Array(a) => match a.buf() {
            crate::value::Buf::I64(v) => v.iter().map(|n| usize::try_from(*n).unwrap_or(0)).collect(),
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// The rows of a rank's part.
fn own_rows(at: &Value, rank: usize) -> (usize, usize) {
    let sizes = sizes(at);
    let lo: usize = sizes.iter().take(rank).sum();
    (lo, lo + sizes.get(rank).copied().unwrap_or(0))
}

fn own_part(v: &Value, (lo, hi): (usize, usize)) -> Res<Value> {
    match v {
        Value::Array(a) => Ok(Value::Array(Rc::new(array::part(a, lo, hi)?))),
        _ => Ok(v.clone()),
    }
}

/// Requires that the lengths of the parts are those of the arrays that are taken apart or put together.
fn fitting_lengths(kind: Collective, leaves: &[Value], lengths: &[usize], (rank, size): (usize, usize)) -> Res<()> {
    let whole = matches!(kind, Collective::Mine | Collective::ScatterSum);
    let rows = if whole { lengths.iter().sum() } else { lengths.get(rank).copied().unwrap_or(0) };
    let fits = |v: &Value| matches!(v, Value::Zero) || crate::value::seq::len(v) == rows;
    match lengths.len() == size && leaves.iter().all(fits) {
        true => Ok(()),
        false => {
            Err(Error::new(codes::SIZE, format!("`comm.{}`: parts of other lengths than the array has", kind.word())))
        }
    }
}

/// Requires one row for each rank.
fn rows_for_ranks(leaves: &[Value], size: usize) -> Res<()> {
    let rows = |v: &Value| crate::value::seq::shape(v).and_then(|s| s.first().copied());
    match leaves.iter().filter(|v| !matches!(v, Value::Zero)).find_map(|v| rows(v).filter(|n| *n != size)) {
        Some(n) => {
            Err(failed(format!("`comm.exchange` takes one element for each of {size} ranks, and there are {n}")))
        }
        None => Ok(()),
    }
}

/// For each leaf what the ranks have, and the leaf's shape: that of each rank that has it. `rows` are the axes that may
/// differ.
fn agreed(heads: &[Vec<Option<wire::Head>>], k: usize, rows: usize, what: &str) -> Res<Option<wire::Head>> {
    let mut found: Option<(usize, &wire::Head)> = None;
    // An array without rows may not know the type of its elements.
    let unknown = |h: &wire::Head| rows == 1 && h.is_unknown();
    for (rank, head) in heads.iter().enumerate().filter_map(|(r, h)| Some((r, h.get(k)?.as_ref()?))) {
        match found {
            None => found = Some((rank, head)),
            Some(_) if unknown(head) => {}
            Some((_, other)) if unknown(other) => found = Some((rank, head)),
            Some((first, other)) if !other.fits(head, rows) => {
                return Err(failed(format!(
                    "`{what}`: the parts differ in shape: rank {first} has {other}, rank {rank} has {head}"
                )));
            }
            _ => {}
        }
    }
    Ok(found.map(|f| f.1.clone()))
}

/// Which ranks have some of `n` chunks.
fn ranks_with_chunks(n: &Value, size: usize) -> Vec<bool> {
    let Value::Int(n) = n else { return vec![true; size] };
    (0..size).map(|r| super::subtree(*n, (r, size))).map(|(lo, hi)| hi > lo).collect()
}

/// The sum over the ranks that are `present`, by a tree that halves the ranks as `subtree` does. So sums over chunks have
/// the same bits on every number of ranks.
fn total(machine: &mut Machine, what: &str, own: &[Option<WireLeaf>], present: &[bool]) -> Res<Vec<Option<WireLeaf>>> {
    let small = own.iter().flatten().map(WireLeaf::bytes).sum::<usize>() <= INLINE;
    let all = gathered(machine, what, &wire::message(own, small))?;
    let messages = all.iter().map(|b| wire::parse(b)).collect::<Res<Vec<_>>>()?;
    let heads: Vec<_> = messages.iter().map(|m| m.heads.clone()).collect();
    let shapes = (0..own.len()).map(|k| agreed(&heads, k, 0, what)).collect::<Res<Vec<_>>>()?;
    if messages.iter().all(|m| m.whole) {
        let mut rests: Vec<&[u8]> = messages.iter().map(|m| m.body).collect();
        let mut out = Vec::new();
        for (k, shape) in shapes.into_iter().enumerate() {
            let n = shape.as_ref().map_or(0, wire::Head::count);
            let sum = sum_of_ranks(&heads, (k, n), present, &mut rests)?;
            out.push(shape.and_then(|h| Some(WireLeaf::new(h, sum?))));
        }
        return Ok(out);
    }
    sum_of_blocks(machine, what, own, (&heads, present), shapes)
}

/// Sums long arrays: each rank adds one block of every leaf, and all gather the blocks.
fn sum_of_blocks(
    machine: &mut Machine,
    what: &str,
    own: &[Option<WireLeaf>],
    (heads, present): (&[Vec<Option<wire::Head>>], &[bool]),
    shapes: Vec<Option<wire::Head>>,
) -> Res<Vec<Option<WireLeaf>>> {
    let (rank, size) = place(machine);
    let block = |n: usize, r: usize| (n * r / size, n * (r + 1) / size);
    let mut parts = vec![Vec::new(); size];
    for leaf in own.iter().flatten() {
        for (r, part) in parts.iter_mut().enumerate() {
            leaf.numbers.write(block(leaf.numbers.len(), r), part);
        }
    }
    let received = exchanged(machine, &parts)?;
    let mut bytes = Vec::new();
    let mut rests: Vec<&[u8]> = received.iter().map(Vec::as_slice).collect();
    for (k, head) in shapes.iter().enumerate() {
        let Some(head) = head else { continue };
        let (lo, hi) = block(head.count(), rank);
        if let Some(sum) = sum_of_ranks(heads, (k, hi - lo), present, &mut rests)? {
            sum.write((0, hi - lo), &mut bytes);
        }
    }
    let all = gathered(machine, what, &bytes)?;
    let mut rests: Vec<&[u8]> = all.iter().map(Vec::as_slice).collect();
    let mut out = Vec::new();
    for head in shapes {
        let Some(head) = head else {
            out.push(None);
            continue;
        };
        let mut numbers = LeafNumbers::none(head.kind);
        for (r, rest) in rests.iter_mut().enumerate() {
            let (lo, hi) = block(head.count(), r);
            numbers.append(LeafNumbers::read(head.kind, hi - lo, rest)?);
        }
        out.push(Some(WireLeaf::new(head, numbers)));
    }
    Ok(out)
}

/// Reads `n` numbers of leaf `k` from the message of each rank that has it, and sums those of the ranks that are `present`.
fn sum_of_ranks(
    heads: &[Vec<Option<wire::Head>>],
    (k, n): (usize, usize),
    present: &[bool],
    rests: &mut [&[u8]],
) -> Res<Option<LeafNumbers>> {
    let mut parts = Vec::new();
    for ((head, rest), present) in heads.iter().zip(rests).zip(present) {
        let part = match &head[k] {
            Some(head) => Some(LeafNumbers::read(head.kind, n, rest)?),
            None => None,
        };
        parts.push(part.filter(|_| *present));
    }
    tree(&mut parts)
}

/// The sum of the parts that there are.
fn tree(parts: &mut [Option<LeafNumbers>]) -> Res<Option<LeafNumbers>> {
    match parts {
        [] => Ok(None),
        [part] => Ok(part.take()),
        _ => {
            let (left, right) = parts.split_at_mut(parts.len() / 2);
            let mut sum = tree(left)?;
            if let Some(right) = tree(right)? {
                add(&mut sum, right)?;
            }
            Ok(sum)
        }
    }
}

fn add(sum: &mut Option<LeafNumbers>, x: LeafNumbers) -> Res<()> {
    match sum {
        Some(sum) => sum.add(&x),
        None => {
            *sum = Some(x);
            Ok(())
        }
    }
}

/// All parts, one behind the other. The part of a rank that has a symbolic zero is zeros.
fn gather(m: &mut Machine, what: &str, own: &[Option<WireLeaf>], lengths: &[usize]) -> Res<Vec<Option<WireLeaf>>> {
    let all = gathered(m, what, &wire::message(own, true))?;
    let messages = all.iter().map(|b| wire::parse(b)).collect::<Res<Vec<_>>>()?;
    let heads: Vec<_> = messages.iter().map(|m| m.heads.clone()).collect();
    let mut rests: Vec<&[u8]> = messages.iter().map(|m| m.body).collect();
    let mut out = Vec::new();
    for k in 0..own.len() {
        let Some(mut head) = agreed(&heads, k, 1, what)? else {
            out.push(None);
            continue;
        };
        let row: usize = head.shape.iter().skip(1).product();
        let mut numbers = LeafNumbers::none(head.kind);
        for (r, rest) in rests.iter_mut().enumerate() {
            let n = lengths.get(r).copied().unwrap_or(0);
            numbers.append(match &heads[r][k] {
                Some(h) => LeafNumbers::read(h.kind, h.count(), rest)?,
                None => LeafNumbers::zeros(head.kind, n * row),
            });
        }
        head.shape[0] = lengths.iter().sum();
        out.push(Some(WireLeaf::new(head, numbers)));
    }
    Ok(out)
}

/// The sum over the ranks, of which each rank gets its own rows.
fn scatter_sum(
    machine: &mut Machine,
    what: &str,
    own: &[Option<WireLeaf>],
    lengths: &[usize],
) -> Res<Vec<Option<WireLeaf>>> {
    let (rank, size) = place(machine);
    let all = gathered(machine, what, &wire::message(own, false))?;
    let heads = all.iter().map(|b| Ok(wire::parse(b)?.heads)).collect::<Res<Vec<_>>>()?;
    let shapes = (0..own.len()).map(|k| agreed(&heads, k, 0, what)).collect::<Res<Vec<_>>>()?;
    let mut parts = vec![Vec::new(); size];
    for leaf in own.iter().flatten() {
        let (row, mut lo) = (leaf.row(), 0);
        for (part, n) in parts.iter_mut().zip(lengths) {
            leaf.numbers.write((lo, lo + n * row), part);
            lo += n * row;
        }
    }
    let received = exchanged(machine, &parts)?;
    let mut rests: Vec<&[u8]> = received.iter().map(Vec::as_slice).collect();
    let mut out = Vec::new();
    for (k, head) in shapes.into_iter().enumerate() {
        let Some(mut head) = head else {
            out.push(None);
            continue;
        };
        let n = lengths.get(rank).copied().unwrap_or(0);
        let row: usize = head.shape.iter().skip(1).product();
        let mut sum = None;
        for (r, rest) in rests.iter_mut().enumerate() {
            if heads[r][k].is_some() {
                add(&mut sum, LeafNumbers::read(head.kind, n * row, rest)?)?;
            }
        }
        head.shape[0] = n;
        out.push(sum.map(|sum| WireLeaf::new(head, sum)));
    }
    Ok(out)
}

/// Each rank's leaves go to the rank `by` places further.
fn shift(m: &mut Machine, what: &str, own: &[Option<WireLeaf>], by: usize) -> Res<Vec<Option<WireLeaf>>> {
    let (rank, size) = place(m);
    gathered(m, what, &[])?;
    let mut parts = vec![Vec::new(); size];
    parts[(rank + by) % size] = wire::message(own, true);
    let received = exchanged(m, &parts)?;
    leaves_of(&received[(rank + size - by) % size])
}

fn leaves_of(bytes: &[u8]) -> Res<Vec<Option<WireLeaf>>> {
    let message = wire::parse(bytes)?;
    let mut rest = message.body;
    let read = |head: Option<wire::Head>| match head {
        Some(h) => LeafNumbers::read(h.kind, h.count(), &mut rest).map(|n| Some(WireLeaf::new(h, n))),
        None => Ok(None),
    };
    message.heads.into_iter().map(read).collect()
}

/// Row `s` goes to rank `s`.
fn exchange(m: &mut Machine, what: &str, own: &[Option<WireLeaf>]) -> Res<Vec<Option<WireLeaf>>> {
    let size = place(m).1;
    let all = gathered(m, what, &wire::message(own, false))?;
    let heads = all.iter().map(|b| Ok(wire::parse(b)?.heads)).collect::<Res<Vec<_>>>()?;
    let shapes = (0..own.len()).map(|k| agreed(&heads, k, 0, what)).collect::<Res<Vec<_>>>()?;
    let mut parts = vec![Vec::new(); size];
    for leaf in own.iter().flatten() {
        let row = leaf.row();
        parts.iter_mut().enumerate().for_each(|(r, part)| leaf.numbers.write((r * row, (r + 1) * row), part));
    }
    let received = exchanged(m, &parts)?;
    let mut rests: Vec<&[u8]> = received.iter().map(Vec::as_slice).collect();
    let mut out = Vec::new();
    for (k, head) in shapes.into_iter().enumerate() {
        let Some(head) = head else {
            out.push(None);
            continue;
        };
        let row: usize = head.shape.iter().skip(1).product();
        let mut numbers = LeafNumbers::none(head.kind);
        for (r, rest) in rests.iter_mut().enumerate() {
            numbers.append(match heads[r][k] {
                Some(_) => LeafNumbers::read(head.kind, row, rest)?,
                None => LeafNumbers::zeros(head.kind, row),
            });
        }
        out.push(Some(WireLeaf::new(head, numbers)));
    }
    Ok(out)
}

/// The leaves of rank `by`.
fn from(m: &mut Machine, what: &str, own: &[Option<WireLeaf>], by: usize) -> Res<Vec<Option<WireLeaf>>> {
    let rank = place(m).0;
    let all = gathered(m, what, &wire::message(own, rank == by))?;
    let heads = all.iter().map(|b| Ok(wire::parse(b)?.heads)).collect::<Res<Vec<_>>>()?;
    (0..own.len()).try_for_each(|k| agreed(&heads, k, 0, what).map(drop))?;
    leaves_of(&all[by])
}
