//! Scans in two passes: the tiles' totals are scanned, then each tile is scanned after its prefix (see `fold`).
//! Single-pass scans (see `lookback`) have the same bits.
//!
//! The grouping of a tile's prefix depends on sizes only. A block has as many tiles as a work-group has threads. The
//! blocks before the tile's block are added to the neutral element one by one. Then follow the preceding tiles of its
//! block, as a binary tree aligned to the right end, which is what doubling steps compute (`threads`).

use crate::array::Array;
use crate::error::Res;
use crate::fold::{
    ElementEmitter, ITEMS, KernelContext, TileOrder, TileVars, Tiles, TupleExprs, TupleOperator, assign, begin, copies,
    gather, rows_of, store, taken,
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
        from: ElementEmitter<'_>,
    ) -> Res<Vec<Array>> {
        self.scan_for(op, (rows, length), exclusive, from, &|_| true)
    }

    /// [`KernelContext::scan`] if only some components are used: the others are empty arrays.
    pub fn scan_for(
        &self,
        op: &TupleOperator<'_>,
        (rows, length): (usize, usize),
        exclusive: bool,
        from: ElementEmitter<'_>,
        wanted: &dyn Fn(usize) -> bool,
    ) -> Res<Vec<Array>> {
        let shape = |k| if wanted(k) { vec![rows, length] } else { vec![0, length] };
        let outs = op.kinds.iter().enumerate().map(|(k, s)| self.gpu.empty(*s, shape(k))).collect::<Res<Vec<_>>>()?;
        if rows * length == 0 {
            return Ok(outs);
        }
        let tiles = Tiles { rows, length, threads: op.threads()? };
        let put = (&outs[..], exclusive);
        if tiles.count() == 1 {
            self.spread(op, &tiles, from, PrefixSource::Nothing, put)?;
        } else if self.gpu.once().is_some_and(|n| tiles.rows * tiles.count() >= n as usize) {
            let state = lookback::state(self.gpu, op, &tiles)?;
            self.spread(op, &tiles, from, PrefixSource::Told { state: &state, again: false }, put)?;
            self.spread(op, &tiles, from, PrefixSource::Told { state: &state, again: true }, put)?;
        } else {
            let sums = self.totals(op, &tiles, from)?;
            let (within, whole) = self.within(op, &tiles, &sums)?;
            let blocks = whole.map(|w| self.chain(op, &tiles, &w)).transpose()?;
            self.spread(op, &tiles, from, PrefixSource::Made { within: &within, blocks: blocks.as_deref() }, put)?;
        }
        Ok(outs)
    }

    fn spread(
        &self,
        op: &TupleOperator<'_>,
        tiles: &Tiles,
        from: ElementEmitter<'_>,
        left: PrefixSource<'_>,
        put: (&[Array], bool),
    ) -> Res<()> {
        let mut e = self.emit();
        spread(&mut e, op, tiles, from, left, put)?;
        let (groups, told) = match left {
            PrefixSource::Told { again, .. } => (again.then_some(1), lookback::SHARED),
            PrefixSource::Nothing | PrefixSource::Made { .. } => (None, ""),
        };
        self.launch(e.finish(tiles.threads, &(tile_staging::shared(self.gpu, op, tiles.threads) + told)), tiles, groups)
    }

    /// Computes the result of the preceding tiles in its block for each tile (except the first of a block), and, if
    /// there are several blocks, the result of each full block.
    fn within(&self, op: &TupleOperator<'_>, tiles: &Tiles, sums: &[Array]) -> Res<(Vec<Array>, Option<Vec<Array>>)> {
        let outs = self.inner(op, &[tiles.rows, tiles.count()])?;
        let whole = if tiles.blocks() > 1 { Some(self.inner(op, &[tiles.rows, tiles.blocks()])?) } else { None };
        let mut emit = self.emit();
        let (count, blocks) = (emit.word(tiles.count() as u32), emit.word(tiles.blocks() as u32));
        (op.prepare)(&mut emit)?;
        emit.open("if group < params[0]");
        let first = emit.define("k", &format!("(group % {blocks}) * {}u", tiles.threads));
        let active = emit.define("k", &format!("min({count} - {first}, {}u)", tiles.threads));
        let j = emit.define("j", &format!("{first} + min(l, {active} - 1u)"));
        let x = rows_of(op, sums, tiles.count())(&mut emit, &format!("(group / {blocks})"), &j)?;
        threads(&mut emit, op, tiles, &x, &active)?;
        emit.open(&format!("if l > 0u && l < {active}"));
        let before = copies(&mut emit, &op.shared_at("l - 1u"));
        store(&mut emit, op, &outs, &format!("((group / {blocks}) * {count} + {j})"), &before)?;
        if let Some(w) = &whole {
            emit.open(&format!("if l == {}u", tiles.threads - 1));
            let all = (op.combine)(&mut emit, &before, &x)?;
            store(&mut emit, op, w, "group", &all)?;
            emit.close();
        }
        emit.close();
        emit.close();
        let w = emit.finish(tiles.threads, &op.shared(tiles.threads));
        self.gpu.launch(&w.kernel, &w.bound(), &w.words, (tiles.rows * tiles.blocks()) as u32)?;
        Ok((outs, whole))
    }

    /// Computes the prefix of each block sequentially: a work-group per row, whose first thread combines what the
    /// others have loaded.
    fn chain(&self, op: &TupleOperator<'_>, tiles: &Tiles, whole: &[Array]) -> Res<Vec<Array>> {
        let outs = self.inner(op, &[tiles.rows, tiles.blocks()])?;
        let mut emit = self.emit();
        let blocks = emit.word(tiles.blocks() as u32);
        (op.prepare)(&mut emit)?;
        emit.open("if group < params[0]");
        let acc = op.declare(&mut emit, "acc");
        let neutral = (op.neutral)(&mut emit)?;
        assign(&mut emit, &acc, &neutral);
        let block = emit.name("b");
        emit.line(&format!("var {block} = 0u;"));
        emit.open(&format!("for (; {block} < {blocks}; {block} = {block} + {}u)", tiles.threads));
        let at = emit.define("k", &format!("group * {blocks} + min({block} + l, {blocks} - 1u)"));
        let v = taken(&mut emit, op, whole, &at)?;
        op.share(&mut emit, "l", &v);
        one_by_one(
            &mut emit,
            op,
            &acc,
            &format!("min({blocks} - {block}, {}u)", tiles.threads),
            &format!("{block} + 1u < {blocks} - "),
        )?;
        emit.open(&format!("if {block} + l < {blocks}"));
        store(&mut emit, op, &outs, &at, &op.shared_at("l"))?;
        emit.close();
        emit.line("workgroupBarrier();");
        emit.close();
        emit.ended(&format!("{block} < {blocks}"));
        emit.close();
        let w = emit.finish(tiles.threads, &op.shared(tiles.threads));
        self.gpu.launch(&w.kernel, &w.bound(), &w.words, tiles.rows as u32)?;
        Ok(outs)
    }
}

/// The first thread combines `count` tuples of work-group memory with the accumulator, and replaces each by the value
/// before it. The last block may be incomplete: it is not added, because no prefix depends on it. `more` is the
/// comparison, up to its right operand, that holds for all other blocks.
fn one_by_one(emit: &mut Emit<'_>, op: &TupleOperator<'_>, acc: &[String], count: &str, more: &str) -> Res<()> {
    emit.line("workgroupBarrier();");
    emit.open("if l == 0u");
    let i = emit.name("i");
    emit.open(&format!("for (var {i} = 0u; {i} < {count}; {i}++)"));
    let v = copies(emit, &op.shared_at(&i));
    op.share(emit, &i, acc);
    emit.open(&format!("if {more}{i}"));
    grow(emit, op, acc, &v)?;
    emit.close();
    emit.close();
    emit.close();
    emit.line("workgroupBarrier();");
    Ok(())
}

/// Writes all prefixes of a tile, after the tile's own prefix.
fn spread(
    emit: &mut Emit<'_>,
    op: &TupleOperator<'_>,
    tiles: &Tiles,
    from: ElementEmitter<'_>,
    before: PrefixSource<'_>,
    (outs, exclusive): (&[Array], bool),
) -> Res<()> {
    let order = before.order();
    let tile_vars = begin(emit, tiles, op, order)?;
    let partial = op.declare(emit, "x");
    let staged = tile_staging::load(emit, op, tiles, &tile_vars, from)?;
    let kept: TupleExprs = op.kinds.iter().map(|_| emit.name("kept")).collect();
    let own = |j: &str| kept.iter().map(|k| format!("{k}[{j} - {}]", tile_vars.first)).collect::<TupleExprs>();
    if staged {
        gather(emit, op, &partial, (&tile_vars.row, &tile_vars.first, &tile_vars.end), &|e, _, j| {
            Ok(tile_staging::read(e, op, &tile_vars.start, j))
        })?;
    } else {
        kept.iter().zip(&op.kinds).for_each(|(n, s)| emit.line(&format!("var {n}: array<{}, {ITEMS}>;", wgsl(*s))));
        gather(emit, op, &partial, (&tile_vars.row, &tile_vars.first, &tile_vars.end), &|e, r, j| {
            let v = from(e, r, j)?;
            let v = copies(e, &v);
            assign(e, &own(j), &v);
            Ok(v)
        })?;
    }
    threads(emit, op, tiles, &partial, &tile_vars.active)?;
    let acc = left(emit, op, tiles, before, &tile_vars)?;
    let (position, length) = (emit.name("j"), emit.word(tiles.length as u32));
    emit.line(&format!("var {position} = {};", tile_vars.first));
    emit.open(&format!("for (; {position} < {}; {position}++)", tile_vars.end));
    let v =
        if staged { tile_staging::read(emit, op, &tile_vars.start, &position) } else { copies(emit, &own(&position)) };
    let before = copies(emit, &acc);
    grow(emit, op, &acc, &v)?;
    let made = if exclusive { &before } else { &acc };
    if staged {
        tile_staging::write(emit, op, &tile_vars.start, &position, made);
    } else {
        store(emit, op, outs, &format!("({} * {length} + {position})", tile_vars.row), made)?;
    }
    emit.close();
    emit.ended(&format!("{position} < {}", tile_vars.end));
    if staged {
        tile_staging::store(emit, op, tiles, &tile_vars, (outs, &length))?;
    }
    lookback::end(emit, order);
    Ok(())
}

/// The prefix of a thread's elements.
fn left(
    emit: &mut Emit<'_>,
    op: &TupleOperator<'_>,
    tiles: &Tiles,
    before: PrefixSource<'_>,
    tile_vars: &TileVars,
) -> Res<TupleExprs> {
    let acc = op.declare(emit, "acc");
    let of_threads = match before {
        PrefixSource::Told { state, again } => lookback::left(emit, op, tiles, (state, again), tile_vars, &acc)?,
        PrefixSource::Nothing | PrefixSource::Made { .. } => {
            let neutral = (op.neutral)(emit)?;
            assign(emit, &acc, &neutral);
            op.shared_at("l - 1u")
        }
    };
    if let PrefixSource::Made { within, blocks } = before {
        let (inner, wide) = (emit.define("k", &format!("{} % {}", tile_vars.tile, tile_vars.tiles)), tiles.threads);
        if let Some(blocks) = blocks {
            let count = emit.word(tiles.blocks() as u32);
            let at = emit.define("k", &format!("{} * {count} + {inner} / {wide}u", tile_vars.row));
            let v = taken(emit, op, blocks, &at)?;
            assign(emit, &acc, &v);
        }
        emit.open(&format!("if {inner} % {wide}u > 0u"));
        let v = taken(emit, op, within, &tile_vars.tile)?;
        grow(emit, op, &acc, &v)?;
        emit.close();
    }
    emit.open(&format!("if l > 0u && l < {}", tile_vars.active));
    grow(emit, op, &acc, &of_threads)?;
    emit.close();
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
fn threads(emit: &mut Emit<'_>, op: &TupleOperator<'_>, t: &Tiles, x: &[String], active: &str) -> Res<()> {
    op.share(emit, "l", x);
    emit.line("workgroupBarrier();");
    let d = emit.name("d");
    emit.open(&format!("for (var {d} = 1u; {d} < {}u; {d} = {d} * 2u)", t.threads));
    let y = op.declare(emit, "y");
    assign(emit, &y, &op.shared_at("l"));
    emit.open(&format!("if l >= {d} && l < {active}"));
    let left = copies(emit, &op.shared_at(&format!("l - {d}")));
    let made = (op.combine)(emit, &left, &y)?;
    let made = copies(emit, &made);
    assign(emit, &y, &made);
    emit.close();
    emit.line("workgroupBarrier();");
    op.share(emit, "l", &y);
    emit.line("workgroupBarrier();");
    emit.close();
    Ok(())
}
