//! Compression of sparse Jacobians: few directions, forwards and in reverse mode, from which all entries are read.
//!
//! Columns without a common row share a direction in forward mode, and rows without a common column one in reverse
//! mode. A few dense rows would give each column a direction of its own. They are taken apart: reverse mode computes
//! them, and their entries do not count when the columns are coloured. Dense columns are treated likewise, by forward
//! mode, if the rows are coloured.
//!
//! ```text
//! x x x x      forwards: column 0; columns 1, 2, 3
//! x x          backwards: row 0
//! x   x
//! x     x
//! ```

use crate::error::Res;
use crate::polling;
use crate::value::{Array, Buf, Shape, Value, array};
use std::cell::OnceCell;
use std::rc::Rc;

/// The columns of the entries in each row.
pub(crate) type RowPattern = Vec<Vec<u32>>;

/// The colour of a row or column that is in no direction.
pub(crate) const NONE: u32 = u32::MAX;

/// A sparsity pattern, and how it is compressed.
#[derive(Debug)]
pub(crate) struct Pattern {
    rows: Rc<RowPattern>,
    bound: OnceCell<usize>,
    compression: OnceCell<Rc<Compression>>,
}

impl Pattern {
    pub(crate) fn of(rows: RowPattern) -> Pattern {
        Pattern { rows: Rc::new(rows), bound: OnceCell::new(), compression: OnceCell::new() }
    }

    /// A lower bound for the number of directions.
    pub(crate) fn bound(&self, n: usize) -> usize {
        let least = || splits(&self.rows, &transposed(&self.rows, n)).iter().map(|split| split.least).min();
        *self.bound.get_or_init(|| least().unwrap_or(0))
    }

    /// The compression of the pattern of a matrix with `n` columns. It is made once.
    pub(crate) fn compression(&self, n: usize) -> Res<Rc<Compression>> {
        if let Some(made) = self.compression.get() {
            return Ok(made.clone());
        }
        // Each entry takes several words; fail before memory is exhausted.
        drop(array::room::<[u64; 6]>(self.rows.iter().map(Vec::len).sum())?);
        let made = Rc::new(Compression::of(&self.rows, n)?);
        Ok(self.compression.get_or_init(|| made).clone())
    }
}

/// What a sparsity pattern depends on in a residual.
#[derive(Debug)]
pub(crate) enum Fact {
    /// Nothing: the residual is not read.
    Unread,
    /// An Int or a Bool.
    Whole(i64),
    /// The elements of an array of Ints or Bools.
    Elements(Rc<Array>),
    /// The shape of an array of real numbers. A real number has none.
    Shape(Shape),
    /// The facts of rows in boxes.
    Rows(Vec<Fact>),
    /// Something that is not compared.
    Other,
}

impl Fact {
    /// What a pattern depends on in a residual, if it is read.
    pub(crate) fn of(v: Option<&Value>) -> Fact {
        let all = |vs: &[Value]| Fact::Rows(vs.iter().map(|v| Fact::of(Some(v))).collect());
        match v {
            None => Fact::Unread,
            Some(Value::Int(n)) => Fact::Whole(*n),
            Some(Value::Bool(b)) => Fact::Whole(i64::from(*b)),
            Some(Value::Float(_) | Value::F32(_)) => Fact::Shape(Shape::new()),
            Some(Value::Tuple(t)) => all(&t.0),
            Some(Value::Array(a)) => match a.buf() {
                Buf::I64(_) | Buf::Bool(_) => Fact::Elements(a.clone()),
                Buf::F64(_) | Buf::F32(_) => Fact::Shape(a.shape.clone()),
                Buf::Boxed(rows) => all(rows),
                _ => Fact::Other,
            },
            Some(_) => Fact::Other,
        }
    }

    /// Whether a residual has this fact.
    pub(crate) fn holds(&self, v: Option<&Value>) -> bool {
        let all = |facts: &[Fact], vs: &[Value]| {
            facts.len() == vs.len() && facts.iter().zip(vs).all(|(fact, v)| fact.holds(Some(v)))
        };
        match (self, v) {
            (Fact::Unread, _) => true,
            (Fact::Whole(m), Some(Value::Int(n))) => m == n,
            (Fact::Whole(m), Some(Value::Bool(b))) => *m == i64::from(*b),
            (Fact::Shape(s), Some(Value::Float(_) | Value::F32(_))) => s.is_empty(),
            (Fact::Rows(facts), Some(Value::Tuple(t))) => all(facts, &t.0),
            (Fact::Elements(b), Some(Value::Array(a))) => Rc::ptr_eq(a, b) || same_elements(a, b),
            (fact, Some(Value::Array(a))) => match (fact, a.buf()) {
                (Fact::Shape(s), Buf::F64(_) | Buf::F32(_)) => *s == a.shape,
                (Fact::Rows(facts), Buf::Boxed(rows)) => all(facts, rows),
                _ => false,
            },
            _ => false,
        }
    }
}

fn same_elements(a: &Array, b: &Array) -> bool {
    a.shape == b.shape
        && match (a.buf(), b.buf()) {
            (Buf::I64(x), Buf::I64(y)) => x == y,
            (Buf::Bool(x), Buf::Bool(y)) => x == y,
            _ => false,
        }
}

/// A partition of columns or rows into directions.
#[derive(Debug, Clone, Default)]
pub(crate) struct Colouring {
    /// The direction of each column or row.
    pub(crate) colours: Vec<u32>,
    /// The number of directions.
    pub(crate) count: usize,
}

/// The entries of a Jacobian, and the directions by which they are computed.
#[derive(Debug)]
pub(crate) struct Compression {
    /// The columns of the entries in each row.
    pub(crate) rows: Rc<RowPattern>,
    /// The directions in forward mode.
    pub(crate) columns: Colouring,
    /// The directions in reverse mode.
    pub(crate) across: Colouring,
    /// For each entry, row by row: its direction, those of reverse mode after all others, and its component there.
    pub(crate) places: Vec<(u32, u32)>,
    indices: OnceCell<(Value, Value)>,
}

/// A way to compute the entries: all but those of the longest rows in forward mode, or, of the transposed pattern, all
/// but those of the longest columns in reverse mode.
#[derive(Clone, Copy)]
struct PatternSplit {
    transposed: bool,
    /// The number of longest rows, or columns, that are taken apart.
    dense: usize,
    /// A lower bound for the number of directions.
    least: usize,
}

impl Compression {
    /// A compression with few directions, of a matrix with `n` columns.
    pub(crate) fn of(rows: &Rc<RowPattern>, n: usize) -> Res<Compression> {
        let turned = transposed(rows, n);
        let mut splits: Vec<(usize, PatternSplit)> = splits(rows, &turned).into_iter().enumerate().collect();
        splits.sort_by_key(|(at, split)| (split.least, *at));
        let mut best: Option<((usize, usize), Compression)> = None;
        for (at, split) in splits {
            if best.as_ref().is_some_and(|(least, _)| *least < (split.least, at)) {
                continue;
            }
            let (own, other) = if split.transposed { (&turned, &**rows) } else { (&**rows, &turned) };
            let made = coloured(own, other, split.dense)?;
            let count = made.0.count + made.1.count;
            if best.as_ref().is_none_or(|(least, _)| (count, at) < *least) {
                best = Some(((count, at), Compression::placed(rows.clone(), split.transposed, made)));
            }
        }
        Ok(best.map_or_else(|| Compression::placed(rows.clone(), false, Default::default()), |(_, made)| made))
    }

    /// The compression with a colouring. Entries where both modes have a direction belong to the part that was taken
    /// apart: to the rows, or to the columns if `transposed`.
    fn placed(rows: Rc<RowPattern>, transposed: bool, (most, dense): (Colouring, Colouring)) -> Compression {
        let (columns, across) = if transposed { (dense, most) } else { (most, dense) };
        let first = columns.count as u32;
        let mut places = Vec::with_capacity(rows.iter().map(Vec::len).sum());
        for (i, row) in rows.iter().enumerate() {
            let back = across.colours.get(i).copied().unwrap_or(NONE);
            for j in row {
                let forth = columns.colours.get(*j as usize).copied().unwrap_or(NONE);
                let backwards = if transposed { forth == NONE } else { back != NONE };
                places.push(if backwards { (first + back, *j) } else { (forth, i as u32) });
            }
        }
        Compression { rows, columns, across, places, indices: OnceCell::new() }
    }

    /// The number of directions.
    pub(crate) fn passes(&self) -> usize {
        self.columns.count + self.across.count
    }

    /// The modes of the directions.
    pub(crate) fn mode(&self) -> &'static str {
        match (self.columns.count, self.across.count) {
            (_, 0) => "forward",
            (0, _) => "reverse",
            _ => "both",
        }
    }

    /// The row and the column of each entry.
    pub(crate) fn indices(&self) -> (Value, Value) {
        let made = self.indices.get_or_init(|| {
            let row = self.rows.iter().enumerate().flat_map(|(i, r)| r.iter().map(move |_| i as i64)).collect();
            let col = self.rows.iter().flatten().map(|j| i64::from(*j)).collect();
            (array::ints(row), array::ints(col))
        });
        made.clone()
    }
}

/// The ways to compute the entries: without dense rows, and with as many as take the fewest directions.
fn splits(rows: &RowPattern, turned: &RowPattern) -> Vec<PatternSplit> {
    let mut all = Vec::new();
    for (transposed, groups) in [(false, rows), (true, turned)] {
        let mut lengths: Vec<usize> = groups.iter().map(Vec::len).collect();
        lengths.sort_unstable_by(|a, b| b.cmp(a));
        let least = |dense: usize| dense.min(1) + lengths.get(dense).copied().unwrap_or(0);
        // Dense rows mostly share columns, so that each takes a direction.
        let best = (0..=lengths.len()).min_by_key(|k| k + lengths.get(*k).copied().unwrap_or(0)).unwrap_or(0);
        all.push(PatternSplit { transposed, dense: 0, least: least(0) });
        if best > 0 {
            all.push(PatternSplit { transposed, dense: best, least: least(best) });
        }
    }
    all.sort_by_key(|split| (split.dense > 0, split.transposed));
    all
}

/// Colours the members of all rows but the longest, and these rows.
fn coloured(rows: &RowPattern, turned: &RowPattern, dense: usize) -> Res<(Colouring, Colouring)> {
    if dense == 0 {
        let none = Colouring { colours: vec![NONE; rows.len()], count: 0 };
        return Ok((colours(rows.iter().map(Vec::as_slice), rows.len(), turned.len())?, none));
    }
    let mut longest: Vec<usize> = (0..rows.len()).collect();
    longest.sort_by_key(|i| std::cmp::Reverse(rows[*i].len()));
    longest.truncate(dense);
    longest.sort_unstable();
    let mut apart = vec![false; rows.len()];
    longest.iter().for_each(|i| apart[*i] = true);
    let rest = rows.iter().zip(&apart).map(|(r, apart)| if *apart { &[][..] } else { r });
    let members = colours(rest, rows.len(), turned.len())?;
    let mut of = vec![Vec::new(); turned.len()];
    for i in longest {
        rows[i].iter().for_each(|j| of[*j as usize].push(i as u32));
    }
    Ok((members, colours(of.iter().map(Vec::as_slice), of.len(), rows.len())?))
}

/// Colours things so that all members of a group differ, by the greedy algorithm in the given order. Things in no
/// group have no colour.
fn colours<'a>(groups: impl Iterator<Item = &'a [u32]>, count: usize, things: usize) -> Res<Colouring> {
    let mut of: Vec<Vec<u32>> = vec![Vec::new(); things];
    for (g, members) in groups.enumerate() {
        members.iter().for_each(|t| of[*t as usize].push(g as u32));
    }
    // A bit set of the colours in each group.
    let mut taken: Vec<Vec<u64>> = vec![Vec::new(); count];
    let mut out = Colouring { colours: vec![NONE; things], count: 0 };
    for (thing, of) in of.iter().enumerate().filter(|(_, of)| !of.is_empty()) {
        if thing % 16 == 0 {
            polling::poll()?;
        }
        let used = |word: usize| of.iter().fold(0, |bits, g| bits | taken[*g as usize].get(word).copied().unwrap_or(0));
        let (word, bits) = (0..).map(|w| (w, used(w))).find(|(_, bits)| *bits != u64::MAX).unwrap_or((0, 0));
        let free = 64 * word + bits.trailing_ones() as usize;
        out.colours[thing] = free as u32;
        out.count = out.count.max(free + 1);
        of.iter().for_each(|g| {
            let bits = &mut taken[*g as usize];
            bits.resize(bits.len().max(word + 1), 0);
            bits[word] |= 1 << (free % 64);
        });
    }
    Ok(out)
}

/// The rows in which each column has an entry.
fn transposed(rows: &RowPattern, n: usize) -> RowPattern {
    let mut out = vec![Vec::new(); n];
    for (i, r) in rows.iter().enumerate() {
        r.iter().for_each(|j| out[*j as usize].push(i as u32));
    }
    out
}
