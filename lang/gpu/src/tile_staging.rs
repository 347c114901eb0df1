//! Tile staging: neighbouring threads load neighbouring elements into work-group memory, from which each thread then
//! reads its own. Accesses to device memory are thus coalesced. If work-group memory is too small, or no faster than
//! device memory, threads access their own elements directly. The results are the same bits.

use crate::adapter::Caps;
use crate::array::Array;
use crate::error::Res;
use crate::fold::{self, ElementEmitter, ITEMS, TileVars, Tiles, TupleExprs, TupleOperator, held, put};
use crate::queue::Gpu;
use crate::wgsl::{Emit, stored};

/// Whether a tile fits in addition to the memory of the reduction.
fn fits(caps: &Caps, op: &TupleOperator<'_>, threads: u32) -> bool {
    let bytes: u64 = op.kinds.iter().map(|s| s.bytes()).sum();
    caps.tiles && u64::from(threads) * u64::from(ITEMS + 2) * bytes <= u64::from(caps.workgroup)
}

/// Declarations of work-group memory. A position is left unused after each thread's elements, which avoids bank
/// conflicts.
pub(crate) fn shared(gpu: &Gpu, op: &TupleOperator<'_>, threads: u32) -> String {
    let mut text = op.shared(threads);
    if fits(&gpu.caps, op, threads) {
        text.extend(
            op.kinds
                .iter()
                .enumerate()
                .map(|(i, s)| format!("var<workgroup> g{i}: array<{}, {}>;\n", stored(*s), threads * (ITEMS + 1))),
        );
    }
    text
}

/// The staging position of an element of the tile.
fn at(op: &TupleOperator<'_>, i: &str) -> TupleExprs {
    (0..op.kinds.len()).map(|k| format!("g{k}[{i} + {i} / {ITEMS}u]")).collect()
}

/// Opens a loop over the tile's elements that a thread stores. Returns the element's index in the tile.
fn trip(e: &mut Emit<'_>, t: &Tiles, b: &TileVars) -> String {
    let (k, length) = (e.name("k"), e.word(t.length as u32));
    e.open(&format!("for (var {k} = 0u; {k} < {ITEMS}u; {k}++)"));
    let i = e.define("i", &format!("{k} * {}u + l", t.threads));
    e.open(&format!("if {i} < {length} - {}", b.start));
    i
}

/// Loads a tile if it fits. Returns whether it did; all threads may then read it.
pub(crate) fn load(
    emit: &mut Emit<'_>,
    op: &TupleOperator<'_>,
    grid: &Tiles,
    tile_vars: &TileVars,
    from: ElementEmitter<'_>,
) -> Res<bool> {
    if !fits(emit.caps, op, grid.threads) {
        return Ok(false);
    }
    // After the end of a row its last element is read again, so that loads need no branch.
    let (k, length) = (emit.name("k"), emit.word(grid.length as u32));
    emit.open(&format!("if {} < {length}", tile_vars.start));
    let last = emit.define("k", &format!("{length} - {} - 1u", tile_vars.start));
    emit.open(&format!("for (var {k} = 0u; {k} < {ITEMS}u; {k}++)"));
    let i = emit.define("i", &format!("{k} * {}u + l", grid.threads));
    let j = emit.define("j", &format!("{} + min({i}, {last})", tile_vars.start));
    let v = from(emit, &tile_vars.row, &j)?;
    put(emit, &op.kinds, &at(op, &i), &v);
    emit.close();
    emit.close();
    emit.line("workgroupBarrier();");
    Ok(true)
}

/// The staged element of a row.
pub(crate) fn read(e: &mut Emit<'_>, op: &TupleOperator<'_>, start: &str, j: &str) -> TupleExprs {
    let i = e.define("i", &format!("{j} - {start}"));
    fold::copies(e, &held(&op.kinds, &at(op, &i)))
}

/// Stores a result in an element's staging position.
pub(crate) fn write(e: &mut Emit<'_>, op: &TupleOperator<'_>, start: &str, j: &str, values: &[String]) {
    let i = e.define("i", &format!("{j} - {start}"));
    put(e, &op.kinds, &at(op, &i), values);
}

/// Stores a staged tile.
pub(crate) fn store(
    emit: &mut Emit<'_>,
    op: &TupleOperator<'_>,
    t: &Tiles,
    b: &TileVars,
    (outs, length): (&[Array], &str),
) -> Res<()> {
    emit.line("workgroupBarrier();");
    let i = trip(emit, t, b);
    let to = emit.define("k", &format!("{} * {length} + {} + {i}", b.row, b.start));
    let v = fold::copies(emit, &held(&op.kinds, &at(op, &i)));
    fold::store(emit, op, outs, &to, &v)?;
    emit.close();
    emit.close();
    Ok(())
}
