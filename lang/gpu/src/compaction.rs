//! Positions of `true` or zero elements, in order; and arrays made of scalars.

use crate::array::{Array, Data, Scalar};
use crate::error::{Res, unsupported};
use crate::fold::{KernelContext, TupleOperator};
use crate::nest::each;
use crate::queue::Gpu;
use crate::wgsl::{Emit, load};
use adl_ir::{Function, Program};
use adl_prim::Bin;

/// Whether the element at an index matches.
fn sought(e: &mut Emit<'_>, a: &Array, at: &str, zeros: bool) -> Res<String> {
    let x = load(e.slot(a, false)?, a.scalar, at);
    match (a.scalar, zeros) {
        (Scalar::Bool, false) => Ok(x),
        (Scalar::F64 | Scalar::F32, true) => Ok(format!("({x} == {})", e.zero(a.scalar))),
        _ => unsupported("positions of what is neither a Bool nor a real zero"),
    }
}

/// The positions of `true`, or of zeros. A scan counts the matches, each of which is then written to its place. The
/// host reads their number.
pub fn places(gpu: &Gpu, array: &Array, zeros: bool) -> Res<Array> {
    let count = array.len();
    if count == 0 {
        return gpu.empty(Scalar::I64, vec![0]);
    }
    let (program, function) = (Program::default(), Function::default());
    let op = TupleOperator {
        kinds: vec![Scalar::Word],
        combine: &|e, x, y| e.bin(Bin::Add, Scalar::Word, &x[0], &y[0]).map(|t| vec![t]),
        neutral: &|_| Ok(vec!["0u".to_owned()]),
        prepare: &|_| Ok(()),
    };
    let from = |e: &mut Emit<'_>, _: &str, j: &str| {
        let f = sought(e, array, j, zeros)?;
        Ok(vec![e.define("c", &format!("select(0u, 1u, {f})"))])
    };
    let mut counts = KernelContext { gpu, program: &program, function: &function, env: &|_| None }
        .scan(&op, 1, count, false, &from)?;
    let counts = counts.remove(0);
    let last = gpu.empty(Scalar::Word, vec![1])?;
    gpu.copy_into(&counts.buffer, 4 * (count as u64 - 1), &last.buffer, 0, 4)?;
    let Data::Word(last) = gpu.read(&last)? else { return unsupported("a count that is none") };
    let out = gpu.empty(Scalar::I64, vec![last[0] as usize])?;
    each(gpu, count, |e, i| {
        let f = sought(e, array, i, zeros)?;
        let (counts, to) = (e.slot(&counts, false)?, e.slot(&out, true)?);
        e.line(&format!("if {f} {{ a{to}[a{counts}[{i}] - 1u] = l_of({i}); }}"));
        Ok(())
    })?;
    Ok(out)
}

/// The Ints from `lo` (inclusive) to `hi` (exclusive).
pub fn range(gpu: &Gpu, lo: i64, hi: i64) -> Res<Array> {
    let Ok(n) = usize::try_from(hi.saturating_sub(lo).max(0)) else { return unsupported("a range as long as this") };
    let out = gpu.empty(Scalar::I64, vec![n])?;
    each(gpu, n, |e, i| {
        let (to, low, high) = (e.slot(&out, true)?, e.word(lo as u32), e.word((lo >> 32) as u32));
        e.line(&format!("a{to}[{i}] = bitcast<i64>(u64({low}) | (u64({high}) << 32u)) + l_of({i});"));
        Ok(())
    })?;
    Ok(out)
}
