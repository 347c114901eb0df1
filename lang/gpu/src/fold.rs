//! Reductions and scans by any associative operator on tuples, of rows: reduce-then-scan in tiles.
//!
//! A tile is some threads' [`ITEMS`] neighbouring elements. Threads go through theirs from left to right; what they found is put together in
//! neighbouring pairs, then in pairs of pairs; what tiles found is reduced, or scanned, in the same way. So the order of elements is
//! kept, the operator need not be commutative, and how elements are grouped depends on sizes alone: results are the same bits on
//! every adapter that does arithmetic alike. The neutral element comes once, on the left, as on the CPU.

use crate::array::{Array, Scalar};
use crate::error::{Res, not_here};
use crate::nest::{self, Nest, THREADS};
use crate::queue::Gpu;
use crate::wgsl::scalar::zero;
use crate::wgsl::{Emit, Env, Place, load, packed, wgsl};
use adl_ir::{Block, Function, Program, Soac, SoacKind};
use adl_prim::Bin;

/// Neighbouring elements of a thread.
const ITEMS: u32 = 8;

/// Memory of a workgroup that every adapter has.
const SHARED: u64 = 16384;

/// Rows up to this length are reduced by one thread each, where there are more than one.
const SHORT: usize = 128;

/// WGSL of numbers.
pub(crate) type Numbers = Vec<String>;

/// Writes the elements of a row, by the row's number and theirs.
pub(crate) type Source<'a> = &'a dyn Fn(&mut Emit<'_>, &str, &str) -> Res<Numbers>;

/// An operator, as it is written into kernels.
pub(crate) struct Operator<'a> {
    /// The kinds of a tuple's components.
    pub kinds: Vec<Scalar>,
    /// Writes the operator's statements for two tuples.
    pub combine: &'a dyn Fn(&mut Emit<'_>, &[String], &[String]) -> Res<Numbers>,
    /// Writes the neutral element.
    pub neutral: &'a dyn Fn(&mut Emit<'_>) -> Res<Numbers>,
    /// Names what comes from outside.
    pub prepare: &'a dyn Fn(&mut Emit<'_>) -> Res<()>,
}

impl Operator<'_> {
    /// Threads of a workgroup, by the size of a tuple.
    fn threads(&self) -> Res<u32> {
        let bytes: u64 = self.kinds.iter().map(|s| s.bytes()).sum();
        let fits = [THREADS, 128, 64, 32].into_iter().find(|t| u64::from(*t) * bytes <= SHARED);
        fits.map_or_else(|| not_here("a reduction of tuples as large as these"), Ok)
    }

    /// The memory that a workgroup shares.
    fn shared(&self, threads: u32) -> String {
        self.kinds.iter().enumerate().map(|(i, s)| format!("var<workgroup> s{i}: array<{}, {threads}>;\n", wgsl(*s))).collect()
    }

    fn declare(&self, e: &mut Emit<'_>, kind: &str) -> Numbers {
        let names: Numbers = self.kinds.iter().map(|_| e.name(kind)).collect();
        names.iter().zip(&self.kinds).for_each(|(n, s)| e.line(&format!("var {n}: {} = {};", wgsl(*s), zero(*s))));
        names
    }

    fn shared_at(&self, at: &str) -> Numbers {
        (0..self.kinds.len()).map(|i| format!("s{i}[{at}]")).collect()
    }
}

fn assign(e: &mut Emit<'_>, to: &[String], values: &[String]) {
    to.iter().zip(values).for_each(|(t, v)| e.line(&format!("{t} = {v};")));
}

/// Copies, so that what the values are read from may change.
fn copies(e: &mut Emit<'_>, values: &[String]) -> Numbers {
    values.iter().map(|v| e.define("c", v)).collect()
}

/// How rows are cut.
struct Tiles {
    rows: usize,
    length: usize,
    threads: u32,
}

impl Tiles {
    fn size(&self) -> usize {
        (self.threads * ITEMS) as usize
    }

    fn count(&self) -> usize {
        self.length.div_ceil(self.size()).max(1)
    }

    fn groups(&self) -> Res<u32> {
        u32::try_from(self.rows * self.count()).map_or_else(|_| not_here("a reduction of so many rows"), Ok)
    }
}

/// A kernel over tiles that is begun: names of its row, its tile, where its thread's elements begin and end, and the length of rows.
struct Begun {
    row: String,
    first: String,
    end: String,
    /// Threads of the tile that have elements.
    active: String,
    tile: String,
    tiles: String,
}

fn begin(e: &mut Emit<'_>, t: &Tiles, op: &Operator<'_>) -> Res<Begun> {
    let (length, tiles) = (e.word(t.length as u32), e.word(t.count() as u32));
    (op.prepare)(e)?;
    e.open("if group < params[0]");
    let row = e.define("row", &format!("group / {tiles}"));
    let tile = e.define("tile", &format!("group % {tiles}"));
    let start = e.define("k", &format!("{tile} * {}u", t.size()));
    let first = e.define("k", &format!("min({start} + l * {ITEMS}u, {length})"));
    let end = e.define("k", &format!("min({first} + {ITEMS}u, {length})"));
    let active = e.define("k", &format!("(min({length} - {start}, {}u) + {}u) / {ITEMS}u", t.size(), ITEMS - 1));
    Ok(Begun { row, first, end, active, tile, tiles })
}

/// Goes through elements from left to right: what they make together stands in `to`.
fn gather(e: &mut Emit<'_>, op: &Operator<'_>, to: &[String], (row, first, end): (&str, &str, &str), from: Source<'_>) -> Res<()> {
    let j = e.name("j");
    e.open(&format!("for (var {j} = {first}; {j} < {end}; {j}++)"));
    let x = from(e, row, &j)?;
    e.open(&format!("if {j} == {first}"));
    assign(e, to, &x);
    e.close();
    e.open("else");
    let made = (op.combine)(e, to, &x)?;
    let made = copies(e, &made);
    assign(e, to, &made);
    e.close();
    e.close();
    Ok(())
}

/// One tuple for each tile; for each row, with the neutral element, where that is all.
fn totals(e: &mut Emit<'_>, op: &Operator<'_>, t: &Tiles, from: Source<'_>, outs: &[Array]) -> Res<()> {
    let b = begin(e, t, op)?;
    let x = op.declare(e, "x");
    gather(e, op, &x, (&b.row, &b.first, &b.end), from)?;
    assign(e, &op.shared_at("l"), &x);
    e.line("workgroupBarrier();");
    let d = e.name("d");
    e.open(&format!("for (var {d} = 1u; {d} < {}u; {d} = {d} * 2u)", t.threads));
    e.open(&format!("if l % (2u * {d}) == 0u && l + {d} < {}", b.active));
    let (left, right) = (copies(e, &op.shared_at("l")), copies(e, &op.shared_at(&format!("l + {d}"))));
    let made = (op.combine)(e, &left, &right)?;
    assign(e, &op.shared_at("l"), &made);
    e.close();
    e.line("workgroupBarrier();");
    e.close();
    e.open("if l == 0u");
    let all = copies(e, &op.shared_at("0u"));
    let mut made = all.clone();
    if t.count() == 1 {
        let neutral = (op.neutral)(e)?;
        let y = op.declare(e, "y");
        assign(e, &y, &neutral);
        e.open(&format!("if {} > 0u", b.active));
        let sum = (op.combine)(e, &neutral, &all)?;
        assign(e, &y, &sum);
        e.close();
        made = y;
    }
    store(e, op, outs, "group", &made)?;
    e.close();
    e.close();
    Ok(())
}

fn store(e: &mut Emit<'_>, op: &Operator<'_>, outs: &[Array], at: &str, values: &[String]) -> Res<()> {
    for ((a, s), v) in outs.iter().zip(&op.kinds).zip(values) {
        let slot = e.slot(a, true)?;
        e.line(&format!("a{slot}[{at}] = {};", packed(*s, v)));
    }
    Ok(())
}

/// A source that reads arrays of rows of this length.
pub(crate) fn reading(arrays: &[Array], length: usize) -> impl Fn(&mut Emit<'_>, &str, &str) -> Res<Numbers> + '_ {
    move |e, row, j| {
        let n = e.word(length as u32);
        let k = e.define("k", &format!("{row} * {n} + {j}"));
        arrays.iter().map(|a| e.slot(a, false).map(|s| load(s, a.scalar, &k))).collect::<Res<Vec<_>>>().map(|v| copies(e, &v))
    }
}

/// What all kernels of one operation are made with.
pub(crate) struct Maker<'a> {
    pub gpu: &'a Gpu,
    pub program: &'a Program,
    pub function: &'a Function,
    pub env: Env<'a>,
}

impl Maker<'_> {
    pub fn emit(&self) -> Emit<'_> {
        Emit::new(&self.gpu.caps, self.program, self.function, self.env)
    }

    fn empty(&self, op: &Operator<'_>, shape: &[usize]) -> Res<Vec<Array>> {
        op.kinds.iter().map(|s| self.gpu.empty(*s, shape.to_vec())).collect()
    }

    /// Reduces rows: one array with a number for each row, for each component.
    pub fn reduce(&self, op: &Operator<'_>, rows: usize, length: usize, from: Source<'_>) -> Res<Vec<Array>> {
        if rows == 0 {
            return self.empty(op, &[0]);
        }
        if rows > 1 && length <= SHORT {
            return self.short(op, rows, length, from);
        }
        let t = Tiles { rows, length, threads: op.threads()? };
        let outs = self.empty(op, &[rows, t.count()])?;
        let mut e = self.emit();
        totals(&mut e, op, &t, from, &outs)?;
        let w = e.finish(t.threads, &op.shared(t.threads));
        self.gpu.launch(&w.kernel, &w.bound(), &w.words, t.groups()?)?;
        if t.count() == 1 {
            return outs.into_iter().map(|a| a.reshaped(vec![rows])).collect();
        }
        let next = reading(&outs, t.count());
        self.reduce(op, rows, t.count(), &next)
    }

    /// Reduces short rows, one thread for each.
    fn short(&self, op: &Operator<'_>, rows: usize, length: usize, from: Source<'_>) -> Res<Vec<Array>> {
        let outs = self.empty(op, &[rows])?;
        let mut e = self.emit();
        let (all, n) = (e.word(rows as u32), e.word(length as u32));
        (op.prepare)(&mut e)?;
        let row = e.define("row", &format!("group * {THREADS}u + l"));
        e.open(&format!("if {row} < {all} && group < params[0]"));
        let neutral = (op.neutral)(&mut e)?;
        let x = op.declare(&mut e, "x");
        assign(&mut e, &x, &neutral);
        let j = e.name("j");
        e.open(&format!("for (var {j} = 0u; {j} < {n}; {j}++)"));
        let elem = from(&mut e, &row, &j)?;
        let made = (op.combine)(&mut e, &x, &elem)?;
        let made = copies(&mut e, &made);
        assign(&mut e, &x, &made);
        e.close();
        store(&mut e, op, &outs, &row, &x)?;
        e.close();
        let w = e.finish(THREADS, "");
        self.gpu.launch(&w.kernel, &w.bound(), &w.words, (rows as u32).div_ceil(THREADS))?;
        Ok(outs)
    }

    /// Scans rows: arrays of rows of the same length.
    pub fn scan(&self, op: &Operator<'_>, rows: usize, length: usize, exclusive: bool, from: Source<'_>) -> Res<Vec<Array>> {
        let outs = self.empty(op, &[rows, length])?;
        if rows * length == 0 {
            return Ok(outs);
        }
        let t = Tiles { rows, length, threads: op.threads()? };
        let carry = if t.count() == 1 { None } else { Some(self.carries(op, &t, from)?) };
        let mut e = self.emit();
        spread(&mut e, op, &t, from, carry.as_deref(), &outs, exclusive)?;
        let w = e.finish(t.threads, &op.shared(t.threads));
        self.gpu.launch(&w.kernel, &w.bound(), &w.words, t.groups()?)?;
        Ok(outs)
    }

    /// What stands left of each tile.
    fn carries(&self, op: &Operator<'_>, t: &Tiles, from: Source<'_>) -> Res<Vec<Array>> {
        let sums = self.empty(op, &[t.rows, t.count()])?;
        let mut e = self.emit();
        totals(&mut e, op, t, from, &sums)?;
        let w = e.finish(t.threads, &op.shared(t.threads));
        self.gpu.launch(&w.kernel, &w.bound(), &w.words, t.groups()?)?;
        self.scan(op, t.rows, t.count(), true, &reading(&sums, t.count()))
    }
}

/// Writes all prefixes of a tile, after what stands left of it.
fn spread(e: &mut Emit<'_>, op: &Operator<'_>, t: &Tiles, from: Source<'_>, carry: Option<&[Array]>, outs: &[Array], exclusive: bool) -> Res<()> {
    let b = begin(e, t, op)?;
    let kept: Numbers = op.kinds.iter().map(|_| e.name("kept")).collect();
    kept.iter().zip(&op.kinds).for_each(|(n, s)| e.line(&format!("var {n}: array<{}, {ITEMS}>;", wgsl(*s))));
    let x = op.declare(e, "x");
    let (row, first) = (b.row.clone(), b.first.clone());
    gather(e, op, &x, (&b.row, &b.first, &b.end), &|e, r, j| {
        let v = from(e, r, j)?;
        let v = copies(e, &v);
        kept.iter().zip(&v).for_each(|(k, v)| e.line(&format!("{k}[{j} - {first}] = {v};")));
        Ok(v)
    })?;
    assign(e, &op.shared_at("l"), &x);
    e.line("workgroupBarrier();");
    let d = e.name("d");
    e.open(&format!("for (var {d} = 1u; {d} < {}u; {d} = {d} * 2u)", t.threads));
    let y = op.declare(e, "y");
    assign(e, &y, &op.shared_at("l"));
    e.open(&format!("if l >= {d} && l < {}", b.active));
    let left = copies(e, &op.shared_at(&format!("l - {d}")));
    let made = (op.combine)(e, &left, &y)?;
    let made = copies(e, &made);
    assign(e, &y, &made);
    e.close();
    e.line("workgroupBarrier();");
    assign(e, &op.shared_at("l"), &y);
    e.line("workgroupBarrier();");
    e.close();
    let acc = op.declare(e, "acc");
    let before = match carry {
        None => (op.neutral)(e)?,
        Some(c) => c.iter().map(|a| e.slot(a, false).map(|s| load(s, a.scalar, &format!("{} * {} + {}", b.row, b.tiles, b.tile)))).collect::<Res<_>>()?,
    };
    assign(e, &acc, &before);
    e.open(&format!("if l > 0u && l < {}", b.active));
    let left = copies(e, &op.shared_at("l - 1u"));
    let made = (op.combine)(e, &acc, &left)?;
    let made = copies(e, &made);
    assign(e, &acc, &made);
    e.close();
    let (j, length) = (e.name("j"), e.word(t.length as u32));
    e.open(&format!("for (var {j} = {}; {j} < {}; {j}++)", b.first, b.end));
    let at = e.define("k", &format!("{row} * {length} + {j}"));
    if exclusive {
        store(e, op, outs, &at, &acc)?;
    }
    let v: Numbers = kept.iter().map(|k| format!("{k}[{j} - {}]", b.first)).collect();
    let v = copies(e, &v);
    let made = (op.combine)(e, &acc, &v)?;
    let made = copies(e, &made);
    assign(e, &acc, &made);
    if !exclusive {
        store(e, op, outs, &at, &acc)?;
    }
    e.close();
    e.close();
    Ok(())
}

/// The operator of a block: parameters are accumulated values and elements.
pub(crate) fn combine(e: &mut Emit<'_>, b: &Block, kinds: &[Scalar], x: &[String], y: &[String]) -> Res<Numbers> {
    for (p, (s, v)) in b.params.iter().zip(kinds.iter().chain(kinds).zip(x.iter().chain(y))) {
        e.bind(*p, Place::Number(*s, v.clone()));
    }
    e.stmts(b)?;
    b.results.iter().map(|v| e.number(*v).map(|(_, t)| t)).collect()
}

/// The sums of a nest whose innermost loop adds up: an array over the other loops for each.
pub(crate) fn sums(gpu: &Gpu, p: &Program, f: &Function, nest: &Nest<'_>, env: Env<'_>) -> Res<Vec<Array>> {
    let Some((last, length)) = nest.levels.last() else { return Ok(Vec::new()) };
    let kinds = nest::kinds(f, &last.body)?;
    let outer: Vec<usize> = nest.extents()[..nest.levels.len() - 1].to_vec();
    let op = Operator {
        kinds: kinds.clone(),
        combine: &|e, x, y| kinds.iter().zip(x.iter().zip(y)).map(|(s, (x, y))| e.bin(Bin::Add, *s, x, y)).collect(),
        neutral: &|_| Ok(kinds.iter().map(|s| zero(*s).to_owned()).collect()),
        prepare: &|e| nest.prepare(e, false),
    };
    let from = |e: &mut Emit<'_>, row: &str, j: &str| {
        let dims: Vec<String> = outer.iter().map(|n| e.word(*n as u32)).collect();
        let mut at = if outer.is_empty() { Vec::new() } else { nest::indices(e, row, &dims) };
        at.push(j.to_owned());
        let made = nest.body(e, &at, None)?;
        let made: Numbers = made.into_iter().map(|(_, t)| t).collect();
        Ok(copies(e, &made))
    };
    let rows: usize = outer.iter().product();
    let outs = Maker { gpu, program: p, function: f, env }.reduce(&op, rows, *length, &from)?;
    outs.into_iter().map(|a| a.reshaped(outer.clone())).collect()
}

/// A reduction or scan of vectors; of arrays with more axes it is for each element of a row, if `rows` of them are given as the first axis.
pub fn run(gpu: &Gpu, p: &Program, f: &Function, s: &Soac, env: Env<'_>) -> Res<Vec<Array>> {
    let arrays = s.arrays.iter().map(|v| match env(*v) {
        Some(crate::array::Operand::Array(a)) if a.shape.len() == 1 => Ok(a),
        _ => not_here("a reduction of what is no vector on the device"),
    });
    let arrays = arrays.collect::<Res<Vec<_>>>()?;
    let length = arrays.first().map_or(0, Array::len);
    if arrays.iter().any(|a| a.len() != length) {
        return not_here("arrays of different lengths");
    }
    rows(gpu, p, f, s, env, &arrays, 1, length).map(|outs| match s.kind {
        SoacKind::Reduce => outs.into_iter().map(|a| Array { shape: Vec::new(), ..a }).collect(),
        SoacKind::Scan | SoacKind::ScanExclusive => outs.into_iter().map(|a| Array { shape: vec![length], ..a }).collect(),
    })
}

/// The same for each row of arrays that have so many rows of this length.
#[allow(clippy::too_many_arguments)]
pub fn rows(gpu: &Gpu, p: &Program, f: &Function, s: &Soac, env: Env<'_>, arrays: &[Array], rows: usize, length: usize) -> Res<Vec<Array>> {
    let kinds: Vec<Scalar> = arrays.iter().map(|a| a.scalar).collect();
    let op = Operator {
        kinds: kinds.clone(),
        combine: &|e, x, y| combine(e, &s.op, &kinds, x, y),
        neutral: &|e| s.neutral.iter().map(|v| e.number(*v).map(|(_, t)| t)).collect(),
        prepare: &|e| {
            s.neutral.iter().try_for_each(|v| e.outside(*v))?;
            e.prepare(&s.op)
        },
    };
    let m = Maker { gpu, program: p, function: f, env };
    let from = reading(arrays, length);
    match s.kind {
        SoacKind::Reduce => m.reduce(&op, rows, length, &from),
        SoacKind::Scan => m.scan(&op, rows, length, false, &from),
        SoacKind::ScanExclusive => m.scan(&op, rows, length, true, &from),
    }
}
