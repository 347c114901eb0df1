//! Reductions and scans of rows by any associative operator on tuples: reduce-then-scan in tiles.
//!
//! A tile has [`ITEMS`] consecutive elements for each thread of a work-group. Each thread combines its elements from
//! left to right; the threads' results are combined in a binary tree; and the tiles' results are reduced in the same
//! way (scans: see `scan`). The order of elements is preserved, so that the operator need not be commutative. The
//! grouping depends on sizes only: results are bit-identical on all adapters with the same arithmetic. The neutral
//! element is applied once, on the left, as on the CPU.
//!
//! Vectors larger than the maximum binding are processed in several launches, each on some tiles and on their part of
//! the vectors. Matrices are passed as a whole, by several bindings (`wgsl::windows`).

use crate::array::{Array, Scalar, cut};
use crate::error::{Res, unsupported};
pub(crate) use crate::limits::fold::ITEMS;
use crate::limits::fold::{SHARED, SHORT, TOGETHER};
use crate::lookback;
use crate::nest::THREADS;
use crate::queue::Gpu;
use crate::tile_staging;
use crate::wgsl::scalar::zero;
use crate::wgsl::{Emit, FinishedKernel, MOST, ORIGIN, OuterValues, packed, stored, wgsl};
use adl_ir::{Function, Program};

/// WGSL expressions of the components of a tuple.
pub(crate) type TupleExprs = Vec<String>;

/// Emits the element of a row, given the indices of row and element.
pub(crate) type ElementEmitter<'a> = &'a dyn Fn(&mut Emit<'_>, &str, &str) -> Res<TupleExprs>;

/// Emits an operator on two tuples.
pub(crate) type Combine<'a> = &'a dyn Fn(&mut Emit<'_>, &[String], &[String]) -> Res<TupleExprs>;

/// An operator, as it is emitted into kernels.
pub(crate) struct TupleOperator<'a> {
    /// The types of a tuple's components.
    pub kinds: Vec<Scalar>,
    /// Emits the operation.
    pub combine: Combine<'a>,
    /// Emits the neutral element.
    pub neutral: &'a dyn Fn(&mut Emit<'_>) -> Res<TupleExprs>,
    /// Binds the variables from outside.
    pub prepare: &'a dyn Fn(&mut Emit<'_>) -> Res<()>,
}

impl TupleOperator<'_> {
    /// The work-group size, which depends on the size of a tuple.
    pub fn threads(&self) -> Res<u32> {
        let bytes: u64 = self.kinds.iter().map(|s| s.bytes()).sum();
        let fits = [THREADS, 128, 64, 32].into_iter().find(|t| u64::from(*t) * bytes <= SHARED);
        fits.map_or_else(|| unsupported("a reduction of tuples as large as these"), Ok)
    }

    /// Declarations of work-group memory.
    pub fn shared(&self, threads: u32) -> String {
        self.kinds
            .iter()
            .enumerate()
            .map(|(i, s)| format!("var<workgroup> s{i}: array<{}, {threads}>;\n", stored(*s)))
            .collect()
    }

    pub fn declare(&self, e: &mut Emit<'_>, kind: &str) -> TupleExprs {
        let names: TupleExprs = self.kinds.iter().map(|_| e.name(kind)).collect();
        names.iter().zip(&self.kinds).for_each(|(n, s)| e.line(&format!("var {n}: {} = {};", wgsl(*s), zero(*s))));
        names
    }

    /// The tuple at an index of work-group memory.
    pub fn shared_at(&self, at: &str) -> TupleExprs {
        held(&self.kinds, &self.shared_places(at))
    }

    /// Stores a tuple at an index of work-group memory.
    pub fn share(&self, e: &mut Emit<'_>, at: &str, values: &[String]) {
        put(e, &self.kinds, &self.shared_places(at), values);
    }

    fn shared_places(&self, at: &str) -> TupleExprs {
        (0..self.kinds.len()).map(|i| format!("s{i}[{at}]")).collect()
    }
}

/// The values in places of work-group memory. A Bool is a word there: drivers may pack adjacent Bools, and a write then
/// undoes those of other threads (seen with NVIDIA's 580.159 on an H100).
pub(crate) fn held(kinds: &[Scalar], places: &[String]) -> TupleExprs {
    let value = |(s, p): (&Scalar, &String)| if *s == Scalar::Bool { format!("({p} != 0u)") } else { p.clone() };
    kinds.iter().zip(places).map(value).collect()
}

/// Stores values in places of work-group memory (see [`held`]).
pub(crate) fn put(e: &mut Emit<'_>, kinds: &[Scalar], places: &[String], values: &[String]) {
    kinds.iter().zip(places).zip(values).for_each(|((s, p), v)| e.line(&format!("{p} = {};", packed(*s, v))));
}

pub(crate) fn assign(e: &mut Emit<'_>, to: &[String], values: &[String]) {
    to.iter().zip(values).for_each(|(t, v)| e.line(&format!("{t} = {v};")));
}

/// Copies values to new variables, so that their sources may be overwritten.
pub(crate) fn copies(e: &mut Emit<'_>, values: &[String]) -> TupleExprs {
    values.iter().map(|v| e.define("c", v)).collect()
}

/// The division of rows into tiles.
pub(crate) struct Tiles {
    pub rows: usize,
    pub length: usize,
    pub threads: u32,
}

impl Tiles {
    pub fn size(&self) -> usize {
        (self.threads * ITEMS) as usize
    }

    pub fn count(&self) -> usize {
        self.length.div_ceil(self.size()).max(1)
    }

    /// The number of blocks of tiles per row: see `scan`.
    pub fn blocks(&self) -> usize {
        self.count().div_ceil(self.threads as usize)
    }

    /// The number of tiles of all rows.
    pub fn groups(&self) -> Res<u32> {
        if self.length > MOST {
            return unsupported("a reduction of more numbers than a word counts");
        }
        u32::try_from(self.rows * self.count()).map_or_else(|_| unsupported("a reduction of so many rows"), Ok)
    }
}

/// The variables of a kernel over tiles: the tile's index, its row, and the range of this thread's elements.
pub(crate) struct TileVars {
    pub tile: String,
    pub row: String,
    /// The number of tiles per row.
    pub tiles: String,
    /// The index in the row of the tile's first element.
    pub start: String,
    pub first: String,
    pub end: String,
    /// The number of threads of the tile that have elements.
    pub active: String,
}

/// The assignment of tiles to work-groups.
#[derive(Clone, Copy)]
pub(crate) enum TileOrder<'a> {
    /// The tile with the work-group's index.
    Number,
    /// The next unassigned tile; or all tiles again, if some were given up: see `lookback`.
    Next(&'a Array),
    Again(&'a Array),
}

pub(crate) fn begin(emit: &mut Emit<'_>, grid: &Tiles, op: &TupleOperator<'_>, order: TileOrder<'_>) -> Res<TileVars> {
    // Arrays are bound in part only if there is a single row.
    emit.whole = grid.rows > 1;
    let (from, count) = (emit.word(0), emit.word(grid.groups()?));
    let (length, tiles) = (emit.word(grid.length as u32), emit.word(grid.count() as u32));
    emit.line(&format!("let {ORIGIN} = {from} * {}u;", grid.size()));
    (op.prepare)(emit)?;
    let tile = match order {
        TileOrder::Number => {
            emit.open("if group < params[0]");
            emit.define("tile", &format!("group + {from}"))
        }
        TileOrder::Next(state) => lookback::next(emit, state)?,
        TileOrder::Again(state) => lookback::again(emit, state, &from, &count)?,
    };
    let lane = emit.define("lane", &format!("group * {}u + l", grid.threads));
    emit.lane = Some((lane, grid.rows * grid.count() * grid.threads as usize));
    let row = emit.define("row", &format!("{tile} / {tiles}"));
    let start = emit.define("k", &format!("({tile} % {tiles}) * {}u", grid.size()));
    let first = emit.define("k", &format!("min({start} + l * {ITEMS}u, {length})"));
    let end = emit.define("k", &format!("min({first} + {ITEMS}u, {length})"));
    let active = emit.define("k", &format!("(min({length} - {start}, {}u) + {}u) / {ITEMS}u", grid.size(), ITEMS - 1));
    Ok(TileVars { tile, row, tiles, start, first, end, active })
}

/// Combines elements from left to right into `to`.
pub(crate) fn gather(
    emit: &mut Emit<'_>,
    op: &TupleOperator<'_>,
    to: &[String],
    (row, first, end): (&str, &str, &str),
    from: ElementEmitter<'_>,
) -> Res<()> {
    let index = emit.name("j");
    emit.line(&format!("var {index} = {first};"));
    emit.open(&format!("for (; {index} < {end}; {index}++)"));
    let x = from(emit, row, &index)?;
    emit.open(&format!("if {index} == {first}"));
    assign(emit, to, &x);
    emit.close();
    emit.open("else");
    let made = (op.combine)(emit, to, &x)?;
    let made = copies(emit, &made);
    assign(emit, to, &made);
    emit.close();
    emit.close();
    emit.ended(&format!("{index} < {end}"));
    Ok(())
}

/// Whether the binary tree is aligned to the left or to the right end. The prefixes of the doubling steps in `scan` are
/// aligned to the right.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ends {
    Left,
    Right,
}

/// Combines the values of `threads` threads in work-group memory in a binary tree; the result is at index 0. Values are
/// stored in reverse order if the tree is aligned to the right.
pub(crate) fn tree(e: &mut Emit<'_>, op: &TupleOperator<'_>, threads: u32, active: &str, ends: Ends) -> Res<()> {
    e.line("workgroupBarrier();");
    let d = e.name("d");
    e.open(&format!("for (var {d} = 1u; {d} < {threads}u; {d} = {d} * 2u)"));
    e.open(&format!("if l % (2u * {d}) == 0u && l + {d} < {active}"));
    let (near, far) = (copies(e, &op.shared_at("l")), copies(e, &op.shared_at(&format!("l + {d}"))));
    let made = if ends == Ends::Left { (op.combine)(e, &near, &far)? } else { (op.combine)(e, &far, &near)? };
    op.share(e, "l", &made);
    e.close();
    e.line("workgroupBarrier();");
    e.close();
    Ok(())
}

/// Writes one tuple per tile. For a reduction of a single tile, this includes the neutral element.
fn totals(
    emit: &mut Emit<'_>,
    op: &TupleOperator<'_>,
    tiles: &Tiles,
    from: ElementEmitter<'_>,
    (outs, ends): (&[Array], Ends),
) -> Res<()> {
    let tile = begin(emit, tiles, op, TileOrder::Number)?;
    let total = op.declare(emit, "x");
    let staged = tile_staging::load(emit, op, tiles, &tile, from)?;
    let start = tile.start.clone();
    let again = move |e: &mut Emit<'_>, _: &str, j: &str| Ok(tile_staging::read(e, op, &start, j));
    gather(emit, op, &total, (&tile.row, &tile.first, &tile.end), if staged { &again } else { from })?;
    // For scans, the threads are in reverse order.
    let place = if ends == Ends::Right {
        emit.define("k", &format!("select(l, {0} - 1u - l, l < {0})", tile.active))
    } else {
        "l".to_owned()
    };
    op.share(emit, &place, &total);
    tree(emit, op, tiles.threads, &tile.active, ends)?;
    emit.open("if l == 0u");
    let all = copies(emit, &op.shared_at("0u"));
    let made = if tiles.count() == 1 && ends == Ends::Left { with_neutral(emit, op, &all, &tile.active)? } else { all };
    store(emit, op, outs, &tile.tile, &made)?;
    emit.close();
    emit.close();
    Ok(())
}

/// The result of a row after the neutral element; the neutral element alone if the row is empty.
fn with_neutral(e: &mut Emit<'_>, op: &TupleOperator<'_>, all: &[String], active: &str) -> Res<TupleExprs> {
    let neutral = (op.neutral)(e)?;
    let y = op.declare(e, "y");
    assign(e, &y, &neutral);
    e.open(&format!("if {active} > 0u"));
    let sum = (op.combine)(e, &neutral, all)?;
    assign(e, &y, &sum);
    e.close();
    Ok(y)
}

/// Stores a tuple; components whose arrays are empty are unused.
pub(crate) fn store(e: &mut Emit<'_>, op: &TupleOperator<'_>, outs: &[Array], at: &str, values: &[String]) -> Res<()> {
    for (((a, at), s), v) in places(op, outs, at).zip(&op.kinds).zip(values).filter(|(((a, _), _), _)| !a.is_empty()) {
        let place = e.element(a, true, &at)?;
        e.line(&format!("{place} = {};", packed(*s, v)));
    }
    Ok(())
}

/// Loads a tuple.
pub(crate) fn taken(e: &mut Emit<'_>, op: &TupleOperator<'_>, arrays: &[Array], at: &str) -> Res<TupleExprs> {
    let read = |(a, at): (&Array, String), e: &mut Emit<'_>| {
        e.element(a, false, &at).map(|t| if a.scalar == Scalar::Bool { format!("({t} != 0u)") } else { t })
    };
    let values = places(op, arrays, at).map(|p| read(p, e)).collect::<Res<Vec<_>>>()?;
    Ok(copies(e, &values))
}

/// The components of a tuple in memory: in separate arrays, or interleaved in one.
fn places<'a>(
    op: &TupleOperator<'_>,
    arrays: &'a [Array],
    at: &'a str,
) -> impl Iterator<Item = (&'a Array, String)> + 'a {
    let n = op.kinds.len();
    (0..n).filter_map(move |k| match arrays {
        [one] if n > 1 => Some((one, format!("({at}) * {n}u + {k}u"))),
        all => Some((all.get(k)?, at.to_owned())),
    })
}

/// A source that reads the tuples of an earlier kernel, in rows of this length.
pub(crate) fn rows_of<'a>(
    op: &'a TupleOperator<'a>,
    arrays: &'a [Array],
    length: usize,
) -> impl Fn(&mut Emit<'_>, &str, &str) -> Res<TupleExprs> + 'a {
    move |e, row, j| {
        let n = e.word(length as u32);
        let k = e.define("k", &format!("{row} * {n} + {j}"));
        taken(e, op, arrays, &k)
    }
}

/// A source that reads arrays of rows of this length.
pub(crate) fn reading(arrays: &[Array], length: usize) -> impl Fn(&mut Emit<'_>, &str, &str) -> Res<TupleExprs> + '_ {
    move |e, row, j| {
        let n = e.word(length as u32);
        let k = e.define("k", &format!("{row} * {n} + {j}"));
        let read = |a: &Array, e: &mut Emit<'_>| {
            e.element(a, false, &k).map(|t| if a.scalar == Scalar::Bool { format!("({t} != 0u)") } else { t })
        };
        let values = arrays.iter().map(|a| read(a, e)).collect::<Res<Vec<_>>>()?;
        Ok(copies(e, &values))
    }
}

/// The context of all kernels of one operation.
pub(crate) struct KernelContext<'a> {
    pub gpu: &'a Gpu,
    pub program: &'a Program,
    pub function: &'a Function,
    pub env: OuterValues<'a>,
}

impl KernelContext<'_> {
    pub fn emit(&self) -> Emit<'_> {
        Emit::new(self.gpu, self.program, self.function, self.env)
    }

    pub fn empty(&self, op: &TupleOperator<'_>, shape: &[usize]) -> Res<Vec<Array>> {
        op.kinds.iter().map(|s| self.gpu.empty(*s, shape.to_vec())).collect()
    }

    /// Allocates intermediate tuples. Large uniform tuples are interleaved, because the number of bindings of a kernel
    /// is limited.
    pub fn inner(&self, op: &TupleOperator<'_>, shape: &[usize]) -> Res<Vec<Array>> {
        if op.kinds.len() < TOGETHER || op.kinds.iter().any(|s| *s != op.kinds[0]) {
            return self.empty(op, shape);
        }
        Ok(vec![self.gpu.empty(op.kinds[0], [shape, &[op.kinds.len()]].concat())?])
    }

    /// Reduces rows. Returns one array per component, with one element per row.
    pub fn reduce(
        &self,
        op: &TupleOperator<'_>,
        rows: usize,
        length: usize,
        from: ElementEmitter<'_>,
    ) -> Res<Vec<Array>> {
        if rows == 0 {
            return self.empty(op, &[0]);
        }
        if rows > 1 && length <= SHORT {
            return self.short(op, rows, length, from);
        }
        let t = Tiles { rows, length, threads: op.threads()? };
        let outs = if t.count() == 1 { self.empty(op, &[rows, 1]) } else { self.inner(op, &[rows, t.count()]) }?;
        let mut e = self.emit();
        totals(&mut e, op, &t, from, (&outs, Ends::Left))?;
        self.launch(e.finish(t.threads, &tile_staging::shared(self.gpu, op, t.threads)), &t, None)?;
        if t.count() == 1 {
            return outs.into_iter().map(|a| a.reshaped(vec![rows])).collect();
        }
        self.reduce(op, rows, t.count(), &rows_of(op, &outs, t.count()))
    }

    /// Reduces short rows, with one thread for each.
    fn short(&self, op: &TupleOperator<'_>, rows: usize, length: usize, from: ElementEmitter<'_>) -> Res<Vec<Array>> {
        let outs = self.empty(op, &[rows])?;
        let mut emit = self.emit();
        emit.whole = true;
        let (all, count) = (emit.word(rows as u32), emit.word(length as u32));
        (op.prepare)(&mut emit)?;
        let row = emit.define("row", &format!("group * {THREADS}u + l"));
        emit.lane = Some((row.clone(), rows));
        emit.open(&format!("if {row} < {all} && group < params[0]"));
        let neutral = (op.neutral)(&mut emit)?;
        let total = op.declare(&mut emit, "x");
        assign(&mut emit, &total, &neutral);
        let j = emit.name("j");
        emit.line(&format!("var {j} = 0u;"));
        emit.open(&format!("for (; {j} < {count}; {j}++)"));
        let elem = from(&mut emit, &row, &j)?;
        let made = (op.combine)(&mut emit, &total, &elem)?;
        let made = copies(&mut emit, &made);
        assign(&mut emit, &total, &made);
        emit.close();
        emit.ended(&format!("{j} < {count}"));
        store(&mut emit, op, &outs, &row, &total)?;
        emit.close();
        let w = emit.finish(THREADS, "");
        self.gpu.launch(&w.kernel, &w.bound(), &w.words, (rows as u32).div_ceil(THREADS))?;
        Ok(outs)
    }

    /// Reduces each tile of rows to one tuple, for scans.
    pub fn totals(&self, op: &TupleOperator<'_>, t: &Tiles, from: ElementEmitter<'_>) -> Res<Vec<Array>> {
        let sums = self.inner(op, &[t.rows, t.count()])?;
        let mut e = self.emit();
        totals(&mut e, op, t, from, (&sums, Ends::Right))?;
        self.launch(e.finish(t.threads, &tile_staging::shared(self.gpu, op, t.threads)), t, None)?;
        Ok(sums)
    }

    /// Launches a kernel on all tiles, with a work-group per tile or with `groups` work-groups. If vectors exceed the
    /// maximum binding, launches it on ranges of tiles.
    pub fn launch(&self, finished_kernel: FinishedKernel, tiles: &Tiles, groups: Option<u32>) -> Res<()> {
        if !finished_kernel.has_parts() {
            return self.gpu.launch(
                &finished_kernel.kernel,
                &finished_kernel.bound(),
                &finished_kernel.words,
                groups.unwrap_or(tiles.groups()?),
            );
        }
        let each = (self.gpu.caps.binding / 8) as usize / tiles.size();
        if tiles.rows > 1 || each == 0 {
            return unsupported("rows of arrays larger than a kernel may see");
        }
        let mut words = finished_kernel.words.clone();
        for from in (0..tiles.count()).step_by(each) {
            let to = (from + each).min(tiles.count());
            words[..2].copy_from_slice(&[from as u32, (to - from) as u32]);
            let part = |a: &Array| cut(a, from * tiles.size(), (to * tiles.size()).min(a.len()));
            self.gpu.launch(
                &finished_kernel.kernel,
                &finished_kernel.bound_with(part),
                &words,
                groups.unwrap_or((to - from) as u32),
            )?;
        }
        Ok(())
    }
}
