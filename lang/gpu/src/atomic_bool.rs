//! Histograms of Bools by commutative operators (and, or, equal, not equal) that have more bins than fit in work-group
//! memory: by atomic operations, without sorting. The operator of a block is recognised by its truth table. (Ints have
//! no such operators, because the language has no bitwise ones.)

use crate::array::{Array, Scalar};
use crate::atomic_min_max::filled;
use crate::error::Res;
use crate::fold::{KernelContext, TupleOperator};
use crate::index::HistogramInput;
use crate::nest::{THREADS, each};
use crate::wgsl::{load, packed};
use adl_ir::{Block, Cmp, Lit, Op, Var};
use std::collections::HashMap;

/// How an element updates the word of its bin: for which value, with which atomic function, and the initial word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct AtomicRule {
    when: bool,
    change: &'static str,
    begin: bool,
}

/// The rule of an operator on two Bools. `None` if it is not commutative or has no neutral element.
pub(crate) fn rule(op: &Block) -> Option<AtomicRule> {
    let [x, y] = op.params[..] else { return None };
    let made = |a, b| of_block(op, &mut HashMap::from([(x, a), (y, b)]))?.first().copied();
    let table = [made(false, false)?, made(false, true)?, made(true, false)?, made(true, true)?];
    let (when, change, begin) = match table {
        [false, true, true, true] => (true, "atomicOr", false),
        [false, false, false, true] => (false, "atomicAnd", true),
        [false, true, true, false] => (true, "atomicXor", false),
        [true, false, false, true] => (false, "atomicXor", true),
        _ => return None,
    };
    Some(AtomicRule { when, change, begin })
}

/// Evaluates a block of Bool operations.
fn of_block(block: &Block, known: &mut HashMap<Var, bool>) -> Option<Vec<bool>> {
    for stmt in &block.stmts {
        let of = |v: &Var| known.get(v).copied();
        let made = match &stmt.op {
            Op::Lit(Lit::Bool(x)) => vec![*x],
            Op::Not(x) => vec![!of(x)?],
            Op::Cmp(Cmp::Eq, x, y) => vec![of(x)? == of(y)?],
            Op::Cmp(Cmp::Ne, x, y) => vec![of(x)? != of(y)?],
            Op::Select(c, x, y) => vec![if of(c)? { of(x)? } else { of(y)? }],
            Op::If(c, yes, no) => of_block(if of(c)? { yes } else { no }, known)?,
            _ => return None,
        };
        known.extend(stmt.outs.iter().copied().zip(made));
    }
    block.results.iter().map(|v| known.get(v).copied()).collect()
}

/// A histogram: `dest` with the operator applied at each bin.
pub(crate) fn of_bins(
    context: &KernelContext<'_>,
    op: &TupleOperator<'_>,
    of: &HistogramInput<'_>,
    rule: AtomicRule,
    dest: &Array,
) -> Res<Array> {
    let word = filled(context, of.bins, if rule.begin { "1u" } else { "0u" })?;
    each(context.gpu, of.count, |emit, i| {
        let (bin, bins) = ((of.key)(emit, i)?, emit.word(of.bins as u32));
        emit.open(&format!("if {bin} < {bins}"));
        let value = (of.values)(emit, i)?.concat();
        let to = emit.atomic(&word)?;
        let changes = if rule.when { value } else { format!("!({value})") };
        // And and or change a word at most once.
        let still = if rule.change == "atomicXor" {
            String::new()
        } else {
            format!(" && atomicLoad(&a{to}[{bin}]) == {}u", u32::from(rule.begin))
        };
        let with = u32::from(rule.change != "atomicAnd");
        emit.line(&format!("if {changes}{still} {{ {}(&a{to}[{bin}], {with}u); }}", rule.change));
        emit.close();
        Ok(())
    })?;
    let out = context.gpu.empty(Scalar::Bool, dest.shape.clone())?;
    joined(context, op, dest, &word, &out)?;
    Ok(out)
}

/// Combines `dest` with the results of its bins.
fn joined(context: &KernelContext<'_>, op: &TupleOperator<'_>, dest: &Array, word: &Array, out: &Array) -> Res<()> {
    let mut e = context.emit();
    let all = e.word(dest.len() as u32);
    (op.prepare)(&mut e)?;
    let i = e.define("i", &format!("group * {THREADS}u + l"));
    e.open(&format!("if {i} < {all} && group < params[0]"));
    let (old, new, to) = (e.slot(dest, false)?, e.slot(word, false)?, e.slot(out, true)?);
    let (old, new) = (e.define("c", &load(old, Scalar::Bool, &i)), e.define("c", &format!("(a{new}[{i}] != 0u)")));
    let made = (op.combine)(&mut e, &[old], &[new])?;
    e.line(&format!("a{to}[{i}] = {};", packed(Scalar::Bool, &made.concat())));
    e.close();
    let w = e.finish(THREADS, "");
    context.gpu.launch(&w.kernel, &w.bound(), &w.words, (dest.len() as u32).div_ceil(THREADS))
}
