//! Partitions the carried numbers of a loop into systems of mutually dependent numbers with their matrices.

use super::NUMBERS;
use super::read::{AffineBody, Coef};

/// Mutually dependent numbers and the matrix of their recurrence. Vectors with the same matrix are its columns.
pub(super) struct System {
    /// The carried numbers of each column.
    pub columns: Vec<Vec<usize>>,
    /// The entries of the matrix that differ from zero, and from one, in some product.
    pub kept: Vec<(usize, usize)>,
    /// The diagonal entries that are always one.
    pub ones: Vec<usize>,
    /// Whether there is no additive term.
    pub linear: bool,
}

impl System {
    pub fn rows(&self) -> usize {
        self.columns[0].len()
    }

    /// All carried numbers, column by column.
    pub fn members(&self) -> impl Iterator<Item = usize> + '_ {
        self.columns.iter().flatten().copied()
    }

    /// The number of values that an operator for the system accumulates.
    pub fn size(&self) -> usize {
        self.kept.len() + if self.linear { 0 } else { self.members().count() }
    }

    /// An entry of the matrix.
    pub fn coef(&self, t: &AffineBody, i: usize, j: usize) -> Coef {
        t.forms[self.columns[0][i]].of[self.columns[0][j]]
    }

    /// Whether another system has the same matrix.
    fn alike(&self, other: &System, t: &AffineBody) -> bool {
        let m = self.rows();
        let places = || (0..m).flat_map(|i| (0..m).map(move |j| (i, j)));
        m == other.rows()
            && self.linear == other.linear
            && places().all(|(i, j)| self.coef(t, i, j) == other.coef(t, i, j))
    }
}

/// The systems of a loop, grouped so that each operator accumulates at most the allowed number of values. `None` if
/// a system is too large.
pub(super) fn systems(affine_body: &AffineBody) -> Option<Vec<Vec<System>>> {
    let n = affine_body.forms.len();
    let mut group: Vec<usize> = (0..n).collect();
    for (i, form) in affine_body.forms.iter().enumerate() {
        for j in (0..n).filter(|j| form.of[*j] != Coef::Zero) {
            let (from, to) = (group[j], group[i]);
            group.iter_mut().filter(|g| **g == from).for_each(|g| *g = to);
        }
    }
    let mut all: Vec<System> = Vec::new();
    for g in 0..n {
        let members: Vec<usize> = (0..n).filter(|i| group[*i] == g).collect();
        if members.is_empty() {
            continue;
        }
        let mut s = system(affine_body, members);
        match all.iter_mut().find(|o| o.alike(&s, affine_body) && (s.linear || o.size() + s.rows() <= NUMBERS)) {
            Some(o) => o.columns.append(&mut s.columns),
            None => all.push(s),
        }
    }
    let mut groups: Vec<Vec<System>> = Vec::new();
    for s in all {
        let size = s.size();
        if size > NUMBERS {
            return None;
        }
        match groups.iter_mut().find(|g| g.iter().map(System::size).sum::<usize>() + size <= NUMBERS) {
            Some(g) => g.push(s),
            None => groups.push(vec![s]),
        }
    }
    Some(groups)
}

fn system(affine_body: &AffineBody, members: Vec<usize>) -> System {
    let size = members.len();
    let coef = |i: usize, j: usize| affine_body.forms[members[i]].of[members[j]];
    // The entries that may differ from zero in a product of such matrices, or in the empty product.
    let mut there: Vec<Vec<bool>> =
        (0..size).map(|i| (0..size).map(|j| i == j || coef(i, j) != Coef::Zero).collect()).collect();
    for k in 0..size {
        for i in 0..size {
            for j in 0..size {
                there[i][j] |= there[i][k] && there[k][j];
            }
        }
    }
    let ones: Vec<usize> =
        (0..size).filter(|i| coef(*i, *i) == Coef::One && (0..size).all(|j| j == *i || !there[*i][j])).collect();
    let kept = (0..size)
        .flat_map(|i| (0..size).map(move |j| (i, j)))
        .filter(|(i, j)| there[*i][*j] && !ones.contains(i))
        .collect();
    let linear = members.iter().all(|i| affine_body.forms[*i].rest == Coef::Zero) && ones.is_empty();
    System { columns: vec![members], kept, ones, linear }
}
