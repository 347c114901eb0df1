//! Scans in two passes: the tiles' totals are scanned, then each tile is scanned after its prefix (see `fold`).
//! Single-pass scans (see `lookback`) have the same bits.
//!
//! The grouping of a tile's prefix depends on sizes only. A block has as many tiles as a work-group has threads. The
//! blocks before the tile's block are added to the neutral element one by one. Then follow the preceding tiles of its
//! block, as a binary tree aligned to the right end, which is what doubling steps compute (`threads`).

use crate::array::Array;
use crate::error::Res;
use crate::fold::{
    ITEMS, KernelContext, Numbers, Source, TileOrder, TileVars, Tiles, TupleOperator, assign, begin, copies, gather,
    rows_of, store, taken,
};
use crate::lookback;
use crate::tile_staging;
use crate::wgsl::{Emit, wgsl};

/// The source of a tile's prefix.
#[derive(Clone, Copy)]
pub(crate) enum PrefixSource<'a> {
    /// There is no prefix.
    Nothing,
    /// The result of the preceding tiles in its block, and that of the preceding blocks, if any.
    Made { within: &'a [Array], blocks: Option<&'a [Array]> },
    /// Other work-groups publish it; `again`: one work-group computes all tiles that were given up.
    Told { state: &'a Array, again: bool },
}

impl<'a> PrefixSource<'a> {
    fn order(self) -> TileOrder<'a> {
        match self {
            PrefixSource::Told { state, again: true } => TileOrder::Again(state),
            PrefixSource::Told { state, again: false } => TileOrder::Next(state),
            PrefixSource::Nothing | PrefixSource::Made { .. } => TileOrder::Number,
        }
    }
}

impl KernelContext<'_> {
    /// Scans rows of equal length. Returns one array per component.
    pub fn scan(
        &self,
        op: &TupleOperator<'_>,
        rows: usize,
        length: usize,
        exclusive: bool,
        from: Source<'_>,
    ) -> Res<Vec<Array>> {
        self.scan_for(op, (rows, length), exclusive, from, &|_| true)
    }

    /// [`KernelContext::scan`] if only some components are used: the others are empty arrays.
    pub fn scan_for(
        &self,
        op: &TupleOperator<'_>,
        (rows, length): (usize, usize),
        exclusive: bool,
        from: Source<'_>,
        wanted: &dyn Fn(usize) -> bool,
    ) -> Res<Vec<Array>> {
        let shape = |k| if wanted(k) { vec![rows, length] } else { vec![0, length] };
        let outs = op.kinds.iter().enumerate().map(|(k, s)| self.gpu.empty(*s, shape(k))).collect::<Res<Vec<_>>>()?;
        if rows * length == 0 {
            return Ok(outs);
        }
        let t = Tiles { rows, length, threads: op.threads()? };
        let put = (&outs[..], exclusive);
        if t.count() == 1 {
            self.spread(op, &t, from, PrefixSource::Nothing, put)?;
        } else if self.gpu.once().is_some_and(|n| t.rows * t.count() >= n as usize) {
            let state = lookback::state(self.gpu, op, &t)?;
            self.spread(op, &t, from, PrefixSource::Told { state: &state, again: false }, put)?;
            self.spread(op, &t, from, PrefixSource::Told { state: &state, again: true }, put)?;
        } else {
            let sums = self.totals(op, &t, from)?;
            let (within, whole) = self.within(op, &t, &sums)?;
            let blocks = whole.map(|w| self.chain(op, &t, &w)).transpose()?;
            self.spread(op, &t, from, PrefixSource::Made { within: &within, blocks: blocks.as_deref() }, put)?;
        }
        Ok(outs)
    }

    fn spread(
        &self,
        op: &TupleOperator<'_>,
        t: &Tiles,
        from: Source<'_>,
        left: PrefixSource<'_>,
        put: (&[Array], bool),
    ) -> Res<()> {
        let mut e = self.emit();
        spread(&mut e, op, t, from, left, put)?;
        let (groups, told) = match left {
            PrefixSource::Told { again, .. } => (again.then_some(1), lookback::SHARED),
            PrefixSource::Nothing | PrefixSource::Made { .. } => (None, ""),
        };
        self.launch(e.finish(t.threads, &(tile_staging::shared(self.gpu, op, t.threads) + told)), t, groups)
    }

    /// Computes the result of the preceding tiles in its block for each tile (except the first of a block), and, if
    /// there are several blocks, the result of each full block.
    fn within(&self, op: &TupleOperator<'_>, t: &Tiles, sums: &[Array]) -> Res<(Vec<Array>, Option<Vec<Array>>)> {
        let outs = self.inner(op, &[t.rows, t.count()])?;
        let whole = if t.blocks() > 1 { Some(self.inner(op, &[t.rows, t.blocks()])?) } else { None };
        let mut e = self.emit();
        let (count, blocks) = (e.word(t.count() as u32), e.word(t.blocks() as u32));
        (op.prepare)(&mut e)?;
        e.open("if group < params[0]");
        let first = e.define("k", &format!("(group % {blocks}) * {}u", t.threads));
        let active = e.define("k", &format!("min({count} - {first}, {}u)", t.threads));
        let j = e.define("j", &format!("{first} + min(l, {active} - 1u)"));
        let x = rows_of(op, sums, t.count())(&mut e, &format!("(group / {blocks})"), &j)?;
        threads(&mut e, op, t, &x, &active)?;
        e.open(&format!("if l > 0u && l < {active}"));
        let before = copies(&mut e, &op.shared_at("l - 1u"));
        store(&mut e, op, &outs, &format!("((group / {blocks}) * {count} + {j})"), &before)?;
        if let Some(w) = &whole {
            e.open(&format!("if l == {}u", t.threads - 1));
            let all = (op.combine)(&mut e, &before, &x)?;
            store(&mut e, op, w, "group", &all)?;
            e.close();
        }
        e.close();
        e.close();
        let w = e.finish(t.threads, &op.shared(t.threads));
        self.gpu.launch(&w.kernel, &w.bound(), &w.words, (t.rows * t.blocks()) as u32)?;
        Ok((outs, whole))
    }

    /// Computes the prefix of each block sequentially: a work-group per row, whose first thread combines what the
    /// others have loaded.
    fn chain(&self, op: &TupleOperator<'_>, t: &Tiles, whole: &[Array]) -> Res<Vec<Array>> {
        let outs = self.inner(op, &[t.rows, t.blocks()])?;
        let mut e = self.emit();
        let blocks = e.word(t.blocks() as u32);
        (op.prepare)(&mut e)?;
        e.open("if group < params[0]");
        let acc = op.declare(&mut e, "acc");
        let neutral = (op.neutral)(&mut e)?;
        assign(&mut e, &acc, &neutral);
        let b = e.name("b");
        e.line(&format!("var {b} = 0u;"));
        e.open(&format!("for (; {b} < {blocks}; {b} = {b} + {}u)", t.threads));
        let at = e.define("k", &format!("group * {blocks} + min({b} + l, {blocks} - 1u)"));
        let v = taken(&mut e, op, whole, &at)?;
        op.share(&mut e, "l", &v);
        one_by_one(
            &mut e,
            op,
            &acc,
            &format!("min({blocks} - {b}, {}u)", t.threads),
            &format!("{b} + 1u < {blocks} - "),
        )?;
        e.open(&format!("if {b} + l < {blocks}"));
        store(&mut e, op, &outs, &at, &op.shared_at("l"))?;
        e.close();
        e.line("workgroupBarrier();");
        e.close();
        e.ended(&format!("{b} < {blocks}"));
        e.close();
        let w = e.finish(t.threads, &op.shared(t.threads));
        self.gpu.launch(&w.kernel, &w.bound(), &w.words, t.rows as u32)?;
        Ok(outs)
    }
}

/// The first thread combines `count` tuples of work-group memory with the accumulator, and replaces each by the value
/// before it. The last block may be incomplete: it is not added, because no prefix depends on it. `more` is the
/// comparison, up to its right operand, that holds for all other blocks.
fn one_by_one(e: &mut Emit<'_>, op: &TupleOperator<'_>, acc: &[String], count: &str, more: &str) -> Res<()> {
    e.line("workgroupBarrier();");
    e.open("if l == 0u");
    let i = e.name("i");
    e.open(&format!("for (var {i} = 0u; {i} < {count}; {i}++)"));
    let v = copies(e, &op.shared_at(&i));
    op.share(e, &i, acc);
    e.open(&format!("if {more}{i}"));
    grow(e, op, acc, &v)?;
    e.close();
    e.close();
    e.close();
    e.line("workgroupBarrier();");
    Ok(())
}

/// Writes all prefixes of a tile, after the tile's own prefix.
fn spread(
    e: &mut Emit<'_>,
    op: &TupleOperator<'_>,
    t: &Tiles,
    from: Source<'_>,
    before: PrefixSource<'_>,
    (outs, exclusive): (&[Array], bool),
) -> Res<()> {
    let order = before.order();
    let b = begin(e, t, op, order)?;
    let x = op.declare(e, "x");
    let staged = tile_staging::load(e, op, t, &b, from)?;
    let kept: Numbers = op.kinds.iter().map(|_| e.name("kept")).collect();
    let own = |j: &str| kept.iter().map(|k| format!("{k}[{j} - {}]", b.first)).collect::<Numbers>();
    if staged {
        gather(e, op, &x, (&b.row, &b.first, &b.end), &|e, _, j| Ok(tile_staging::read(e, op, &b.start, j)))?;
    } else {
        kept.iter().zip(&op.kinds).for_each(|(n, s)| e.line(&format!("var {n}: array<{}, {ITEMS}>;", wgsl(*s))));
        gather(e, op, &x, (&b.row, &b.first, &b.end), &|e, r, j| {
            let v = from(e, r, j)?;
            let v = copies(e, &v);
            assign(e, &own(j), &v);
            Ok(v)
        })?;
    }
    threads(e, op, t, &x, &b.active)?;
    let acc = left(e, op, t, before, &b)?;
    let (j, length) = (e.name("j"), e.word(t.length as u32));
    e.line(&format!("var {j} = {};", b.first));
    e.open(&format!("for (; {j} < {}; {j}++)", b.end));
    let v = if staged { tile_staging::read(e, op, &b.start, &j) } else { copies(e, &own(&j)) };
    let before = copies(e, &acc);
    grow(e, op, &acc, &v)?;
    let made = if exclusive { &before } else { &acc };
    if staged {
        tile_staging::write(e, op, &b.start, &j, made);
    } else {
        store(e, op, outs, &format!("({} * {length} + {j})", b.row), made)?;
    }
    e.close();
    e.ended(&format!("{j} < {}", b.end));
    if staged {
        tile_staging::store(e, op, t, &b, (outs, &length))?;
    }
    lookback::end(e, order);
    Ok(())
}

/// The prefix of a thread's elements.
fn left(e: &mut Emit<'_>, op: &TupleOperator<'_>, t: &Tiles, before: PrefixSource<'_>, b: &TileVars) -> Res<Numbers> {
    let acc = op.declare(e, "acc");
    let of_threads = match before {
        PrefixSource::Told { state, again } => lookback::left(e, op, t, (state, again), b, &acc)?,
        PrefixSource::Nothing | PrefixSource::Made { .. } => {
            let neutral = (op.neutral)(e)?;
            assign(e, &acc, &neutral);
            op.shared_at("l - 1u")
        }
    };
    if let PrefixSource::Made { within, blocks } = before {
        let (inner, wide) = (e.define("k", &format!("{} % {}", b.tile, b.tiles)), t.threads);
        if let Some(blocks) = blocks {
            let count = e.word(t.blocks() as u32);
            let at = e.define("k", &format!("{} * {count} + {inner} / {wide}u", b.row));
            let v = taken(e, op, blocks, &at)?;
            assign(e, &acc, &v);
        }
        e.open(&format!("if {inner} % {wide}u > 0u"));
        let v = taken(e, op, within, &b.tile)?;
        grow(e, op, &acc, &v)?;
        e.close();
    }
    e.open(&format!("if l > 0u && l < {}", b.active));
    grow(e, op, &acc, &of_threads)?;
    e.close();
    Ok(acc)
}

/// Combines the accumulator with a tuple on its right.
pub(crate) fn grow(e: &mut Emit<'_>, op: &TupleOperator<'_>, acc: &[String], by: &[String]) -> Res<()> {
    let v = copies(e, by);
    let made = (op.combine)(e, acc, &v)?;
    let made = copies(e, &made);
    assign(e, acc, &made);
    Ok(())
}

/// Scans the results of a tile's threads: afterwards work-group memory holds all prefixes.
fn threads(e: &mut Emit<'_>, op: &TupleOperator<'_>, t: &Tiles, x: &[String], active: &str) -> Res<()> {
    op.share(e, "l", x);
    e.line("workgroupBarrier();");
    let d = e.name("d");
    e.open(&format!("for (var {d} = 1u; {d} < {}u; {d} = {d} * 2u)", t.threads));
    let y = op.declare(e, "y");
    assign(e, &y, &op.shared_at("l"));
    e.open(&format!("if l >= {d} && l < {active}"));
    let left = copies(e, &op.shared_at(&format!("l - {d}")));
    let made = (op.combine)(e, &left, &y)?;
    let made = copies(e, &made);
    assign(e, &y, &made);
    e.close();
    e.line("workgroupBarrier();");
    op.share(e, "l", &y);
    e.line("workgroupBarrier();");
    e.close();
    Ok(())
}
