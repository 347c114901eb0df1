//! Single-pass scans: a work-group publishes the result of its tile, waits for the prefix before its tile, and
//! continues.
//!
//! A work-group takes the next unassigned tile, so that all preceding tiles have started. It waits for them if the
//! driver guarantees forward progress of started work-groups ([`Caps::once`](crate::Caps::once)). The prefix is grouped
//! as in two passes (see `scan`), independently of timing. Each thread waits for one of the preceding tiles in its
//! block; the first thread then waits for the prefix of the block, which the last tile of the preceding block
//! publishes.
//!
//! WGSL does not order memory accesses of different work-groups. The highest bit of each published word therefore marks
//! it as valid, and numbers are split into words of 31 bits.
//!
//! A work-group that has waited too long records this and continues with arbitrary values. A work-group that starts
//! after all others then recomputes all tiles sequentially, so that results are right. The host sees the record at its
//! next read, and uses two passes from then on.

use crate::array::{Array, Scalar};
use crate::error::Res;
use crate::fold::{Ends, TileOrder, TileVars, Tiles, TupleExprs, TupleOperator, assign, copies, tree};
use crate::nest::each;
use crate::queue::Gpu;
use crate::scan::grow;
use crate::wgsl::Emit;

/// Work-group memory in addition to that of the tile.
pub(crate) const SHARED: &str = "var<workgroup> next: u32;\n";

/// The number of words before those of tiles: the next tile, and whether any were given up.
const HEAD: usize = 2;

/// The number of polls per loop iteration. (Software devices limit the iterations of a loop, and may have to wait until
/// a thread is scheduled.)
fn looks(e: &Emit<'_>) -> usize {
    if e.caps.software { 64 } else { 4 }
}

/// The state buffer, the work-group size, and the maximum number of polls.
struct Talk {
    slot: usize,
    threads: u32,
    patience: u32,
}

/// The number of words that encode a number.
fn words(s: Scalar) -> usize {
    match s {
        Scalar::F64 | Scalar::I64 => 3,
        Scalar::F32 | Scalar::Word => 2,
        Scalar::Bool => 1,
    }
}

fn width(op: &TupleOperator<'_>) -> usize {
    op.kinds.iter().map(|s| words(*s)).sum()
}

/// An empty state buffer, with words for all tiles, then for all blocks.
pub(crate) fn state(gpu: &Gpu, op: &TupleOperator<'_>, t: &Tiles) -> Res<Array> {
    let state = gpu.empty(Scalar::Word, vec![HEAD + t.rows * (t.count() + t.blocks()) * width(op)])?;
    each(gpu, state.len(), |e, i| {
        let to = e.slot(&state, true)?;
        e.line(&format!("a{to}[{i}] = 0u;"));
        Ok(())
    })?;
    Ok(state)
}

/// Emits the start of a kernel that takes the next tile. Returns the tile's index.
pub(crate) fn next(e: &mut Emit<'_>, state: &Array) -> Res<String> {
    let s = e.atomic(state)?;
    e.open("if group < params[0]");
    e.line(&format!("if l == 0u {{ next = atomicAdd(&a{s}[0], 1u); }}"));
    Ok(e.define("tile", "workgroupUniformLoad(&next)"))
}

/// Emits the start of a kernel that takes `count` tiles from `from` on, if any were given up.
pub(crate) fn again(e: &mut Emit<'_>, state: &Array, from: &str, count: &str) -> Res<String> {
    let s = e.atomic(state)?;
    e.open("if group < params[0]");
    e.line(&format!("if l == 0u {{ next = select(0u, {count}, atomicLoad(&a{s}[1]) != 0u); }}"));
    e.line("let trip = workgroupUniformLoad(&next);");
    e.line("var turn = 0u;");
    e.open("for (; turn < trip; turn++)");
    Ok(e.define("tile", &format!("{from} + turn")))
}

/// Emits the end of a kernel.
pub(crate) fn end(e: &mut Emit<'_>, order: TileOrder<'_>) {
    if let TileOrder::Again(_) = order {
        // The next tile reuses this tile's work-group memory.
        e.line("workgroupBarrier();");
        e.close();
        e.ended("turn < trip");
    }
    e.close();
}

/// Computes the tile's prefix in each thread's `acc`. Work-group memory holds the prefixes of the threads' results.
/// Returns the thread's prefix within the tile.
pub(crate) fn left(
    emit: &mut Emit<'_>,
    op: &TupleOperator<'_>,
    grid: &Tiles,
    (state, again): (&Array, bool),
    tile_vars: &TileVars,
    acc: &[String],
) -> Res<TupleExprs> {
    // The repeated computation never waits: all values have been published.
    let talk =
        Talk { slot: emit.atomic(state)?, threads: grid.threads, patience: if again { 1 } else { emit.caps.patience } };
    let (wide, threads) = (width(op), grid.threads);
    let own = op.declare(emit, "own");
    let before = op.shared_at("max(l, 1u) - 1u");
    assign(emit, &own, &before);
    let all = copies(emit, &op.shared_at(&format!("{} - 1u", tile_vars.active)));
    emit.open("if l == 0u");
    tell(emit, op, talk.slot, &format!("{HEAD}u + {} * {wide}u", tile_vars.tile), &all);
    emit.close();
    let inner = emit.define("k", &format!("{} % {}", tile_vars.tile, tile_vars.tiles));
    let (behind, block) =
        (emit.define("k", &format!("{inner} % {threads}u")), emit.define("k", &format!("{inner} / {threads}u")));
    emit.line("workgroupBarrier();");
    emit.open(&format!("if l < {behind}"));
    let v = told(emit, op, &talk, &format!("{HEAD}u + ({} - 1u - l) * {wide}u", tile_vars.tile));
    op.share(emit, "l", &v);
    emit.close();
    tree(emit, op, threads, &behind, Ends::Right)?;
    emit.open("if l == 0u");
    let (tiles, blocks) = (emit.word((grid.rows * grid.count()) as u32), emit.word(grid.blocks() as u32));
    let at = |i: &str| format!("{HEAD}u + ({tiles} + {} * {blocks} + {i}) * {wide}u", tile_vars.row);
    first(emit, op, &talk, (tile_vars, &behind, &block), (&at, &all), acc)?;
    op.share(emit, "0u", acc);
    emit.close();
    emit.line("workgroupBarrier();");
    assign(emit, acc, &op.shared_at("0u"));
    Ok(own)
}

/// Computes the address at which a block's prefix is published.
type PrefixAddress<'a> = &'a dyn Fn(&str) -> String;

/// Emits the first thread's work: waits for the block's prefix, and publishes that of the next block. `at` computes
/// their addresses.
fn first(
    emit: &mut Emit<'_>,
    op: &TupleOperator<'_>,
    talk: &Talk,
    (b, behind, block): (&TileVars, &str, &str),
    (at, all): (PrefixAddress<'_>, &[String]),
    acc: &[String],
) -> Res<()> {
    let tells =
        emit.define("f", &format!("{behind} == {}u - 1u && {} % {} + 1u < {}", talk.threads, b.tile, b.tiles, b.tiles));
    let whole = op.declare(emit, "whole");
    emit.open(&format!("if {tells}"));
    let within = copies(emit, &op.shared_at("0u"));
    let made = (op.combine)(emit, &within, all)?;
    assign(emit, &whole, &made);
    emit.close();
    emit.open(&format!("if {block} == 0u"));
    let neutral = (op.neutral)(emit)?;
    assign(emit, acc, &neutral);
    emit.close();
    emit.open("else");
    let v = told(emit, op, talk, &at(block));
    assign(emit, acc, &v);
    emit.close();
    emit.open(&format!("if {tells}"));
    let made = (op.combine)(emit, acc, &whole)?;
    let made = copies(emit, &made);
    tell(emit, op, talk.slot, &at(&format!("{block} + 1u")), &made);
    emit.close();
    emit.open(&format!("if {behind} > 0u"));
    grow(emit, op, acc, &op.shared_at("0u"))?;
    emit.close();
    Ok(())
}

/// Publishes a tuple at a word address.
fn tell(emit: &mut Emit<'_>, op: &TupleOperator<'_>, state: usize, at: &str, values: &[String]) {
    let mut parts = Vec::new();
    for (kind, value) in op.kinds.iter().zip(values) {
        match kind {
            Scalar::F64 | Scalar::I64 => {
                let u = emit.define("u", &format!("bitcast<u64>({value})"));
                parts.extend([
                    format!("u32({u} & 0x7ffffffflu)"),
                    format!("u32(({u} >> 31u) & 0x7ffffffflu)"),
                    format!("u32({u} >> 62u)"),
                ]);
            }
            Scalar::F32 | Scalar::Word => {
                let u = emit
                    .define("u", &if *kind == Scalar::F32 { format!("bitcast<u32>({value})") } else { value.clone() });
                parts.extend([format!("({u} & 0x7fffffffu)"), format!("({u} >> 31u)")]);
            }
            Scalar::Bool => parts.push(format!("select(0u, 1u, {value})")),
        }
    }
    parts
        .iter()
        .enumerate()
        .for_each(|(i, p)| emit.line(&format!("atomicStore(&a{state}[{at} + {i}u], {p} | 0x80000000u);")));
}

/// Waits for a tuple.
fn told(emit: &mut Emit<'_>, op: &TupleOperator<'_>, k: &Talk, at: &str) -> TupleExprs {
    let words: TupleExprs = (0..width(op)).map(|_| emit.name("w")).collect();
    words.iter().for_each(|w| emit.line(&format!("var {w} = 0u;")));
    let (at, state, patience, iteration) = (emit.define("k", at), k.slot, emit.word(k.patience), emit.name("turn"));
    let there = format!("(({}) >> 31u) == 1u", words.join(" & "));
    emit.open(&format!("for (var {iteration} = 0u; {iteration} < {patience}; {iteration}++)"));
    for _ in 0..looks(emit) {
        words.iter().enumerate().for_each(|(i, w)| emit.line(&format!("{w} = atomicLoad(&a{state}[{at} + {i}u]);")));
        emit.line(&format!("if {there} {{ break; }}"));
    }
    emit.line(&format!("if ({iteration} & 63u) == 63u && atomicLoad(&a{state}[1]) != 0u {{ break; }}"));
    emit.close();
    emit.line(&format!("if !({there}) {{ atomicStore(&a{state}[1], 1u); atomicMax(&faults[1], 1u); }}"));
    let mut words = words.into_iter().map(|w| format!("({w} & 0x7fffffffu)"));
    let mut word = || words.next().unwrap_or_default();
    let mut whole = |s: Scalar| match s {
        Scalar::F64 | Scalar::I64 => format!(
            "bitcast<{}>(u64({}) | (u64({}) << 31u) | (u64({}) << 62u))",
            crate::wgsl::wgsl(s),
            word(),
            word(),
            word()
        ),
        Scalar::F32 => format!("bitcast<f32>({} | ({} << 31u))", word(), word()),
        Scalar::Word => format!("({} | ({} << 31u))", word(), word()),
        Scalar::Bool => format!("({} != 0u)", word()),
    };
    op.kinds.iter().map(|s| whole(*s)).collect()
}
