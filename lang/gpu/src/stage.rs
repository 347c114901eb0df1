//! How a workgroup reads and writes a tile: neighbouring threads take neighbouring elements, which wait in the workgroup's memory for the threads whose
//! they are. Reads and writes of the device's memory then go in whole lines. Where a workgroup has too little memory, or such as is no
//! faster, threads read and write their own elements themselves;
//! what is made does not depend on it, to the bit.

use crate::adapter::Caps;
use crate::array::Array;
use crate::error::Res;
use crate::fold::{self, Begun, ITEMS, Numbers, Operator, Source, Tiles, assign};
use crate::queue::Gpu;
use crate::wgsl::{Emit, wgsl};

/// Whether a tile fits beside what threads tell each other.
fn fits(caps: &Caps, op: &Operator<'_>, threads: u32) -> bool {
    let bytes: u64 = op.kinds.iter().map(|s| s.bytes()).sum();
    caps.tiles && u64::from(threads) * u64::from(ITEMS + 2) * bytes <= u64::from(caps.workgroup)
}

/// The memory that a workgroup shares. A place is left free after each thread's elements: so threads that read their own do not wait for
/// the same bank.
pub(crate) fn shared(gpu: &Gpu, op: &Operator<'_>, threads: u32) -> String {
    let mut text = op.shared(threads);
    if fits(&gpu.caps, op, threads) {
        text.extend(op.kinds.iter().enumerate().map(|(i, s)| format!("var<workgroup> g{i}: array<{}, {}>;\n", wgsl(*s), threads * (ITEMS + 1))));
    }
    text
}

/// Where an element waits, by its place in the tile.
fn at(op: &Operator<'_>, i: &str) -> Numbers {
    (0..op.kinds.len()).map(|k| format!("g{k}[{i} + {i} / {ITEMS}u]")).collect()
}

/// Begins a loop over the elements of a tile that a thread writes: the name of the element's place in the tile.
fn turns(e: &mut Emit<'_>, t: &Tiles, b: &Begun) -> String {
    let (k, length) = (e.name("k"), e.word(t.length as u32));
    e.open(&format!("for (var {k} = 0u; {k} < {ITEMS}u; {k}++)"));
    let i = e.define("i", &format!("{k} * {}u + l", t.threads));
    e.open(&format!("if {i} < {length} - {}", b.start));
    i
}

/// Reads a tile, if it fits: all threads may read it then.
pub(crate) fn load(e: &mut Emit<'_>, op: &Operator<'_>, t: &Tiles, b: &Begun, from: Source<'_>) -> Res<bool> {
    if !fits(e.caps, op, t.threads) {
        return Ok(false);
    }
    // Behind a row's end its last element is read again, so that no read waits for a branch.
    let (k, length) = (e.name("k"), e.word(t.length as u32));
    e.open(&format!("if {} < {length}", b.start));
    let last = e.define("k", &format!("{length} - {} - 1u", b.start));
    e.open(&format!("for (var {k} = 0u; {k} < {ITEMS}u; {k}++)"));
    let i = e.define("i", &format!("{k} * {}u + l", t.threads));
    let j = e.define("j", &format!("{} + min({i}, {last})", b.start));
    let v = from(e, &b.row, &j)?;
    assign(e, &at(op, &i), &v);
    e.close();
    e.close();
    e.line("workgroupBarrier();");
    Ok(true)
}

/// The element of a row that waits.
pub(crate) fn read(e: &mut Emit<'_>, op: &Operator<'_>, start: &str, j: &str) -> Numbers {
    let i = e.define("i", &format!("{j} - {start}"));
    fold::copies(e, &at(op, &i))
}

/// Puts what was made in an element's place.
pub(crate) fn write(e: &mut Emit<'_>, op: &Operator<'_>, start: &str, j: &str, values: &[String]) {
    let i = e.define("i", &format!("{j} - {start}"));
    assign(e, &at(op, &i), values);
}

/// Writes a tile that threads have made.
pub(crate) fn store(e: &mut Emit<'_>, op: &Operator<'_>, t: &Tiles, b: &Begun, (outs, length): (&[Array], &str)) -> Res<()> {
    e.line("workgroupBarrier();");
    let i = turns(e, t, b);
    let to = e.define("k", &format!("{} * {length} + {} + {i}", b.row, b.start));
    let v = fold::copies(e, &at(op, &i));
    fold::store(e, op, outs, &to, &v)?;
    e.close();
    e.close();
    Ok(())
}
