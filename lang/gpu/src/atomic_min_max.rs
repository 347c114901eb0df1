//! Histograms by minimum or maximum with more bins than fit in work-group memory, by atomic operations, without
//! sorting.
//!
//! Numbers are mapped to words with the same order (NaN above all), the high word first. Threads compute the maximum
//! high word of each bin atomically, then the maximum low word among its holders, then the first position that has
//! both: none of this depends on the order. The element at this position is exactly the result of a left-to-right
//! reduction, which keeps the first of equal numbers (0 and -0, NaNs).

use crate::array::{Array, Scalar};
use crate::error::Res;
use crate::fold::KernelContext;
use crate::index::HistogramInput;
use crate::nest::each;
use crate::wgsl::{Emit, packed};

/// For each bin, whether it is non-empty, and its minimum (or maximum).
pub(crate) fn of_bins(
    context: &KernelContext<'_>,
    of: &HistogramInput<'_>,
    kind: Scalar,
    least: bool,
) -> Res<[Array; 2]> {
    let mut best = Vec::new();
    for _ in 0..kind.bytes() / 4 {
        let word = filled(context, of.bins, "0u")?;
        each(context.gpu, of.count, |e, i| {
            let (bin, keys) = open(e, of, (kind, least), (i, &best))?;
            let to = e.atomic(&word)?;
            let key = &keys[best.len()];
            e.line(&format!("if atomicLoad(&a{to}[{bin}]) < {key} {{ atomicMax(&a{to}[{bin}], {key}); }}"));
            e.close();
            Ok(())
        })?;
        best.push(word);
    }
    let first = filled(context, of.bins, "0xffffffffu")?;
    each(context.gpu, of.count, |e, i| {
        let (bin, _) = open(e, of, (kind, least), (i, &best))?;
        let to = e.atomic(&first)?;
        e.line(&format!("if atomicLoad(&a{to}[{bin}]) > {i} {{ atomicMin(&a{to}[{bin}], {i}); }}"));
        e.close();
        Ok(())
    })?;
    let (there, found) = (context.gpu.empty(Scalar::Bool, vec![of.bins])?, context.gpu.empty(kind, vec![of.bins])?);
    each(context.gpu, of.bins, |e, i| {
        let (from, flag, to) = (e.slot(&first, false)?, e.slot(&there, true)?, e.slot(&found, true)?);
        let has = e.define("has", &format!("a{from}[{i}] != 0xffffffffu"));
        let at = e.define("at", &format!("select(0u, a{from}[{i}], {has})"));
        let value = (of.values)(e, &at)?.concat();
        e.line(&format!("a{flag}[{i}] = select(0u, 1u, {has});"));
        e.line(&format!("a{to}[{i}] = {};", packed(kind, &value)));
        Ok(())
    })?;
    Ok([there, found])
}

/// An array of `n` equal words.
pub(crate) fn filled(m: &KernelContext<'_>, n: usize, with: &str) -> Res<Array> {
    let out = m.gpu.empty(Scalar::Word, vec![n])?;
    each(m.gpu, n, |e, i| {
        let to = e.slot(&out, true)?;
        e.line(&format!("a{to}[{i}] = {with};"));
        Ok(())
    })?;
    Ok(out)
}

/// Emits the start of the code for an element that has a bin and matches the bin's best words so far. Returns the bin
/// and the element's words.
fn open(
    emit: &mut Emit<'_>,
    of: &HistogramInput<'_>,
    (kind, least): (Scalar, bool),
    (i, best): (&str, &[Array]),
) -> Res<(String, Vec<String>)> {
    let bin = (of.key)(emit, i)?;
    let bins = emit.word(of.bins as u32);
    let at = emit.define("at", &format!("min({bin}, {bins} - 1u)"));
    let value = (of.values)(emit, i)?.concat();
    let keys = words(emit, kind, &value, least);
    let mut same = format!("{bin} < {bins}");
    for (a, key) in best.iter().zip(&keys) {
        let s = emit.slot(a, false)?;
        same += &format!(" && a{s}[{at}] == {key}");
    }
    emit.open(&format!("if {same}"));
    Ok((at, keys))
}

/// The words of a number, of which the maximum is sought.
fn words(emit: &mut Emit<'_>, kind: Scalar, value: &str, least: bool) -> Vec<String> {
    let number = emit.define("x", value);
    let complement = if least { "~" } else { "" };
    if kind == Scalar::F32 {
        let u = emit.define("u", &format!("bitcast<u32>({number})"));
        let u = emit.define("u", &format!("select({u}, 0u, ({u} & 0x7fffffffu) == 0u)"));
        let key = emit.define("u", &format!("select({u} | 0x80000000u, ~{u}, ({u} >> 31u) == 1u)"));
        return vec![emit.define("key", &format!("select({complement}{key}, 0xffffffffu, s_is_nan({number}))"))];
    }
    let u = emit.define("u", &format!("bitcast<u64>({number})"));
    let key = if kind == Scalar::I64 {
        emit.define("u", &format!("{complement}({u} ^ 0x8000000000000000lu)"))
    } else {
        let u = emit.define("u", &format!("select({u}, 0lu, ({u} & 0x7ffffffffffffffflu) == 0lu)"));
        let key = emit.define("u", &format!("select({u} | 0x8000000000000000lu, ~{u}, ({u} >> 63u) == 1lu)"));
        emit.define("u", &format!("select({complement}{key}, 0xfffffffffffffffflu, d_is_nan({number}))"))
    };
    vec![emit.define("key", &format!("u32({key} >> 32u)")), emit.define("key", &format!("u32({key} & 0xfffffffflu)"))]
}
