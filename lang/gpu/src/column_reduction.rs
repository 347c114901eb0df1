//! Reductions along many lines of a matrix, with coalesced loads.
//!
//! Two layouts are handled:
//! - Column reductions: elements at the same index of neighbouring lines are contiguous. A work-group processes some
//!   lines and some of their elements; each thread has a run of consecutive elements of one line. Runs are combined in
//!   a binary tree, and the work-groups' results as any short rows. The order is preserved.
//! - Row sums of up to [`MOST`] contiguous elements: several threads share a line, each of which adds elements at a
//!   fixed stride. Short lines are shared by few threads.
//!
//! The grouping of elements depends on sizes only.

use crate::array::{Array, Scalar};
use crate::error::Res;
use crate::fold::{KernelContext, Source, TupleOperator, assign, copies, gather, store};
use crate::nest::THREADS;
use crate::wgsl::Emit;
use adl_prim::Bin;

/// The maximum number of lines per work-group.
const WIDE: usize = 32;

/// The minimum number of elements per thread, and the maximum number of partial results per line.
const RUN: usize = 16;
const RUNS: usize = 128;

/// The maximum length of lines for row sums.
const MOST: usize = 4096;

/// The division of columns: lines per work-group, threads per line, and elements per thread.
struct Cut {
    wide: usize,
    deep: usize,
    run: usize,
}

impl KernelContext<'_> {
    /// Reduces lines whose elements at one index are contiguous. Returns one array per component, with one element per
    /// line.
    pub fn columns(&self, op: &TupleOperator<'_>, lines: usize, length: usize, from: Source<'_>) -> Res<Vec<Array>> {
        let threads = op.threads()?;
        if lines < 4 || length <= RUNS {
            return self.reduce(op, lines, length, from);
        }
        let wide = lines.next_power_of_two().min(WIDE).min(threads as usize);
        let deep = threads as usize / wide;
        let c = Cut { wide, deep, run: length.div_ceil(deep * RUNS).max(RUN) };
        let parts = length.div_ceil(deep * c.run);
        let outs = self.empty(op, &[parts, lines])?;
        self.runs(op, (lines, length), &c, from, &outs)?;
        // The last step applies the neutral element.
        self.reduce(op, lines, parts, &|e, line, j| {
            let lines = e.word(lines as u32);
            let k = e.define("k", &format!("{j} * {lines} + {line}"));
            let read = outs
                .iter()
                .map(|a| e.slot(a, false).map(|s| crate::wgsl::load(s, a.scalar, &k)))
                .collect::<Res<Vec<_>>>()?;
            Ok(copies(e, &read))
        })
    }

    /// The work-groups' partial results.
    fn runs(
        &self,
        op: &TupleOperator<'_>,
        (lines, length): (usize, usize),
        c: &Cut,
        from: Source<'_>,
        outs: &[Array],
    ) -> Res<()> {
        let (threads, across, parts) =
            ((c.wide * c.deep) as u32, lines.div_ceil(c.wide), length.div_ceil(c.deep * c.run));
        let mut e = self.emit();
        e.whole = true;
        let [all, length, across_, run] = [lines, length, across, c.run].map(|w| e.word(w as u32));
        (op.prepare)(&mut e)?;
        e.open("if group < params[0]");
        let lane = e.define("lane", &format!("group * {threads}u + l"));
        e.lane = Some((lane, across * parts * threads as usize));
        let (line, deep) = (
            e.define("k", &format!("(group % {across_}) * {0}u + l % {0}u", c.wide)),
            e.define("k", &format!("l / {}u", c.wide)),
        );
        let part = e.define("k", &format!("group / {across_}"));
        let first = e.define("k", &format!("min(({part} * {}u + {deep}) * {run}, {length})", c.deep));
        let end = e.define("k", &format!("select({first}, min({first} + {run}, {length}), {line} < {all})"));
        let x = op.declare(&mut e, "x");
        gather(&mut e, op, &x, (&line, &first, &end), from)?;
        op.share(&mut e, "l", &x);
        e.line("workgroupBarrier();");
        let d = e.name("d");
        e.open(&format!("for (var {d} = 1u; {d} < {}u; {d} = {d} * 2u)", c.deep));
        // Whether the right operand has elements; then so have those before it.
        e.open(&format!("if {deep} % (2u * {d}) == 0u && {deep} + {d} < {}u && {line} < {all} && ({part} * {}u + {deep} + {d}) * {run} < {length}", c.deep, c.deep));
        let (left, right) =
            (copies(&mut e, &op.shared_at("l")), copies(&mut e, &op.shared_at(&format!("l + {d} * {}u", c.wide))));
        let made = (op.combine)(&mut e, &left, &right)?;
        op.share(&mut e, "l", &made);
        e.close();
        e.line("workgroupBarrier();");
        e.close();
        e.open(&format!("if {deep} == 0u && {line} < {all}"));
        let made = copies(&mut e, &op.shared_at("l"));
        store(&mut e, op, outs, &format!("({part} * {all} + {line})"), &made)?;
        e.close();
        e.close();
        let w = e.finish(threads, &op.shared(threads));
        self.gpu.launch(&w.kernel, &w.bound(), &w.words, (across * parts) as u32)
    }

    /// Sums lines whose elements are contiguous.
    pub fn sums_of_rows(&self, kind: Scalar, lines: usize, length: usize, from: Source<'_>) -> Res<Array> {
        let op = TupleOperator {
            kinds: vec![kind],
            combine: &|e, x, y| e.bin(Bin::Add, kind, &x[0], &y[0]).map(|t| vec![t]),
            neutral: &|e| Ok(vec![e.zero(kind)]),
            prepare: &|_| Ok(()),
        };
        if lines < 2 || length <= RUN || length > MOST {
            return self.reduce(&op, lines, length, from).map(|mut outs| outs.remove(0));
        }
        let lanes = (length / 8).next_power_of_two().clamp(4, 64);
        let (beside, out) = (THREADS as usize / lanes, self.gpu.empty(kind, vec![lines])?);
        let mut e = self.emit();
        e.whole = true;
        let (all, length) = (e.word(lines as u32), e.word(length as u32));
        e.open("if group < params[0]");
        let (line, lane) =
            (e.define("k", &format!("group * {beside}u + l / {lanes}u")), e.define("k", &format!("l % {lanes}u")));
        let (x, zero, j) = (e.name("x"), e.zero(kind), e.name("j"));
        e.line(&format!("var {x} = {zero};"));
        let more = format!("{j} < {length} && {line} < {all}");
        e.line(&format!("var {j} = {lane};"));
        e.open(&format!("for (; {more}; {j} = {j} + {lanes}u)"));
        let v = from(&mut e, &line, &j)?;
        let sum = (op.combine)(&mut e, std::slice::from_ref(&x), &v)?;
        assign(&mut e, std::slice::from_ref(&x), &sum);
        e.close();
        e.ended(&more);
        e.line(&format!("s0[l] = {x};"));
        of_lanes(&mut e, &op, &lane, lanes)?;
        e.open(&format!("if {lane} == 0u && {line} < {all}"));
        store(&mut e, &op, std::slice::from_ref(&out), &line, &op.shared_at("l"))?;
        e.close();
        e.close();
        let w = e.finish(THREADS, &op.shared(THREADS));
        self.gpu.launch(&w.kernel, &w.bound(), &w.words, lines.div_ceil(beside) as u32)?;
        Ok(out)
    }
}

/// Adds the results of `lanes` neighbouring threads in a binary tree; the first thread then has the sum.
fn of_lanes(e: &mut Emit<'_>, op: &TupleOperator<'_>, lane: &str, lanes: usize) -> Res<()> {
    e.line("workgroupBarrier();");
    let d = e.name("d");
    e.open(&format!("for (var {d} = 1u; {d} < {lanes}u; {d} = {d} * 2u)"));
    e.open(&format!("if {lane} % (2u * {d}) == 0u"));
    let made = (op.combine)(e, &op.shared_at("l"), &op.shared_at(&format!("l + {d}")))?;
    op.share(e, "l", &made);
    e.close();
    e.line("workgroupBarrier();");
    e.close();
    Ok(())
}
