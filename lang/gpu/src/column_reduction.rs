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
use crate::fold::{ElementEmitter, KernelContext, TupleOperator, assign, copies, gather, store};
use crate::limits::column_reduction::{MOST, RUN, RUNS, WIDE};
use crate::nest::THREADS;
use crate::wgsl::Emit;
use adl_prim::Bin;

/// The division of columns: lines per work-group, threads per line, and elements per thread.
struct Cut {
    wide: usize,
    deep: usize,
    run: usize,
}

impl KernelContext<'_> {
    /// Reduces lines whose elements at one index are contiguous. Returns one array per component, with one element per
    /// line.
    pub fn columns(
        &self,
        op: &TupleOperator<'_>,
        lines: usize,
        length: usize,
        from: ElementEmitter<'_>,
    ) -> Res<Vec<Array>> {
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
        cut: &Cut,
        from: ElementEmitter<'_>,
        outs: &[Array],
    ) -> Res<()> {
        let (threads, across, parts) =
            ((cut.wide * cut.deep) as u32, lines.div_ceil(cut.wide), length.div_ceil(cut.deep * cut.run));
        let mut emit = self.emit();
        emit.whole = true;
        let [all, length, across_, run] = [lines, length, across, cut.run].map(|w| emit.word(w as u32));
        (op.prepare)(&mut emit)?;
        emit.open("if group < params[0]");
        let lane = emit.define("lane", &format!("group * {threads}u + l"));
        emit.lane = Some((lane, across * parts * threads as usize));
        let (line, deep) = (
            emit.define("k", &format!("(group % {across_}) * {0}u + l % {0}u", cut.wide)),
            emit.define("k", &format!("l / {}u", cut.wide)),
        );
        let part = emit.define("k", &format!("group / {across_}"));
        let first = emit.define("k", &format!("min(({part} * {}u + {deep}) * {run}, {length})", cut.deep));
        let end = emit.define("k", &format!("select({first}, min({first} + {run}, {length}), {line} < {all})"));
        let x = op.declare(&mut emit, "x");
        gather(&mut emit, op, &x, (&line, &first, &end), from)?;
        op.share(&mut emit, "l", &x);
        emit.line("workgroupBarrier();");
        let d = emit.name("d");
        emit.open(&format!("for (var {d} = 1u; {d} < {}u; {d} = {d} * 2u)", cut.deep));
        // Whether the right operand has elements; then so have those before it.
        emit.open(&format!("if {deep} % (2u * {d}) == 0u && {deep} + {d} < {}u && {line} < {all} && ({part} * {}u + {deep} + {d}) * {run} < {length}", cut.deep, cut.deep));
        let (left, right) = (
            copies(&mut emit, &op.shared_at("l")),
            copies(&mut emit, &op.shared_at(&format!("l + {d} * {}u", cut.wide))),
        );
        let made = (op.combine)(&mut emit, &left, &right)?;
        op.share(&mut emit, "l", &made);
        emit.close();
        emit.line("workgroupBarrier();");
        emit.close();
        emit.open(&format!("if {deep} == 0u && {line} < {all}"));
        let made = copies(&mut emit, &op.shared_at("l"));
        store(&mut emit, op, outs, &format!("({part} * {all} + {line})"), &made)?;
        emit.close();
        emit.close();
        let w = emit.finish(threads, &op.shared(threads));
        self.gpu.launch(&w.kernel, &w.bound(), &w.words, (across * parts) as u32)
    }

    /// Sums lines whose elements are contiguous.
    pub fn sums_of_rows(&self, kind: Scalar, lines: usize, length: usize, from: ElementEmitter<'_>) -> Res<Array> {
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
        let mut emit = self.emit();
        emit.whole = true;
        let (all, length) = (emit.word(lines as u32), emit.word(length as u32));
        emit.open("if group < params[0]");
        let (line, lane) = (
            emit.define("k", &format!("group * {beside}u + l / {lanes}u")),
            emit.define("k", &format!("l % {lanes}u")),
        );
        let (x, zero, j) = (emit.name("x"), emit.zero(kind), emit.name("j"));
        emit.line(&format!("var {x} = {zero};"));
        let more = format!("{j} < {length} && {line} < {all}");
        emit.line(&format!("var {j} = {lane};"));
        emit.open(&format!("for (; {more}; {j} = {j} + {lanes}u)"));
        let v = from(&mut emit, &line, &j)?;
        let sum = (op.combine)(&mut emit, std::slice::from_ref(&x), &v)?;
        assign(&mut emit, std::slice::from_ref(&x), &sum);
        emit.close();
        emit.ended(&more);
        emit.line(&format!("s0[l] = {x};"));
        of_lanes(&mut emit, &op, &lane, lanes)?;
        emit.open(&format!("if {lane} == 0u && {line} < {all}"));
        store(&mut emit, &op, std::slice::from_ref(&out), &line, &op.shared_at("l"))?;
        emit.close();
        emit.close();
        let w = emit.finish(THREADS, &op.shared(THREADS));
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
