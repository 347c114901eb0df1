//! Tile staging: neighbouring threads load neighbouring elements into work-group memory, from which each thread then
//! reads its own. Accesses to device memory are thus coalesced. If work-group memory is too small, or no faster than
//! device memory, threads access their own elements directly. The results are the same bits.

use crate::adapter::Caps;
use crate::array::Array;
use crate::error::Res;
use crate::fold::{self, ITEMS, Numbers, Source, TileVars, Tiles, TupleOperator, held, put};
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
fn at(op: &TupleOperator<'_>, i: &str) -> Numbers {
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
pub(crate) fn load(e: &mut Emit<'_>, op: &TupleOperator<'_>, t: &Tiles, b: &TileVars, from: Source<'_>) -> Res<bool> {
    if !fits(e.caps, op, t.threads) {
        return Ok(false);
    }
    // After the end of a row its last element is read again, so that loads need no branch.
    let (k, length) = (e.name("k"), e.word(t.length as u32));
    e.open(&format!("if {} < {length}", b.start));
    let last = e.define("k", &format!("{length} - {} - 1u", b.start));
    e.open(&format!("for (var {k} = 0u; {k} < {ITEMS}u; {k}++)"));
    let i = e.define("i", &format!("{k} * {}u + l", t.threads));
    let j = e.define("j", &format!("{} + min({i}, {last})", b.start));
    let v = from(e, &b.row, &j)?;
    put(e, &op.kinds, &at(op, &i), &v);
    e.close();
    e.close();
    e.line("workgroupBarrier();");
    Ok(true)
}

/// The staged element of a row.
pub(crate) fn read(e: &mut Emit<'_>, op: &TupleOperator<'_>, start: &str, j: &str) -> Numbers {
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
    e: &mut Emit<'_>,
    op: &TupleOperator<'_>,
    t: &Tiles,
    b: &TileVars,
    (outs, length): (&[Array], &str),
) -> Res<()> {
    e.line("workgroupBarrier();");
    let i = trip(e, t, b);
    let to = e.define("k", &format!("{} * {length} + {} + {i}", b.row, b.start));
    let v = fold::copies(e, &held(&op.kinds, &at(op, &i)));
    fold::store(e, op, outs, &to, &v)?;
    e.close();
    e.close();
    Ok(())
}
