//! Arrays created inside of a kernel.
//!
//! Elementwise arithmetic on arrays is deferred ([`Lazy`]): each read of an element computes it. Results that are
//! expensive to recompute, outputs of loops, and arrays that must be in memory are stored in *scratch* memory, which
//! has elements for every thread; extents must therefore be known on the host. The elements of neighbouring threads are
//! contiguous.

use super::{Emit, Place, View, load, packed};
use crate::array::Scalar;
use crate::error::{Check, Res, not_here};
use crate::wgsl::scalar::{compare, is_nan};
use adl_ir::{Cmp, Conv, Op, Var};
use adl_prim::{Bin, Un};
use std::rc::Rc;

/// The maximum depth of deferred operations, because each read recomputes all of them.
const DEPTH: u32 = 4;

/// A value with elements.
#[derive(Clone, Debug)]
pub(crate) enum Elements {
    /// A scalar, broadcast to each index.
    Number(Scalar, String),
    View(View),
    Lazy(Rc<Lazy>),
}

/// An array whose elements are computed when they are read.
#[derive(Debug)]
pub(crate) struct Lazy {
    scalar: Scalar,
    dims: Vec<String>,
    depth: u32,
    op: Late,
}

#[derive(Debug)]
enum Late {
    Same(Elements),
    Un(Un, Elements),
    Bin(Bin, Elements, Elements),
    Cmp(Cmp, Elements, Elements),
    Not(Elements),
    Select(Elements, Elements, Elements),
    Convert(Conv, Elements),
    /// An array literal: the parts along the first axis.
    Parts(Vec<Elements>),
}

/// The maximum number of scalars and of parts of a deferred array literal: each read of an element tests all parts.
const PARTS: (usize, usize) = (32, 8);

impl Elements {
    pub fn dims(&self) -> &[String] {
        match self {
            Elements::Number(..) => &[],
            Elements::View(w) => &w.dims,
            Elements::Lazy(l) => &l.dims,
        }
    }

    pub fn scalar(&self) -> Scalar {
        match self {
            Elements::Number(s, _) => *s,
            Elements::View(w) => w.scalar,
            Elements::Lazy(l) => l.scalar,
        }
    }

    fn depth(&self) -> u32 {
        if let Elements::Lazy(l) = self { l.depth } else { 0 }
    }

    /// The same as the value of a variable.
    pub fn place(self) -> Place {
        match self {
            Elements::Number(s, t) => Place::Number(s, t),
            Elements::View(w) => Place::View(w),
            Elements::Lazy(l) => Place::Lazy(l),
        }
    }
}

/// Whether recomputation is cheap.
fn cheap(op: &Op) -> bool {
    match op {
        Op::Un(u, _) => {
            matches!(u, Un::Neg | Un::Abs | Un::Sign | Un::Relu | Un::Step | Un::Floor | Un::Ceil | Un::Round)
        }
        Op::Bin(b, ..) => !matches!(b, Bin::Pow | Bin::Atan2 | Bin::Hypot | Bin::Rem),
        _ => true,
    }
}

impl Emit<'_> {
    /// The value of a variable, as elements.
    pub(crate) fn elements(&mut self, v: Var) -> Res<Elements> {
        match self.place(v)? {
            Place::Number(s, t) => Ok(Elements::Number(s, t)),
            Place::View(w) => Ok(Elements::View(w)),
            Place::Lazy(l) => Ok(Elements::Lazy(l)),
            Place::Nothing => not_here("a text or data in a kernel"),
        }
    }

    /// Defers an elementwise operation on arrays. `None` if its operands are scalars, or if it is another operation.
    pub(super) fn put_off(&mut self, op: &Op) -> Res<Option<Elements>> {
        if !crate::pointwise::is_pointwise(op) || matches!(op, Op::Lit(_) | Op::Dup(_) | Op::Drop(_)) {
            return Ok(None);
        }
        let (mut all, mut vars) = (Vec::new(), Vec::new());
        op.each_operand(&mut |v| vars.push(v));
        for v in vars {
            all.push(self.elements(v)?);
        }
        let Some(first) = all.iter().find(|e| !e.dims().is_empty()) else { return Ok(None) };
        let (mut dims, scalar) = (first.dims().to_vec(), all[all.len() - 1].scalar());
        for e in &all {
            if !e.dims().is_empty() {
                dims = self.agreed(&dims, e.dims())?;
            }
        }
        let depth = all.iter().map(Elements::depth).max().unwrap_or(0) + 1;
        if depth > 3 * DEPTH {
            return not_here("a long computation on arrays whose extents the host does not know");
        }
        let mut next = all.into_iter();
        let mut take = || next.next().map_or_else(|| not_here("an operand is missing"), Ok);
        let (scalar, late) = match op {
            Op::Un(u, _) => (scalar, Late::Un(*u, take()?)),
            Op::Bin(b, ..) => (scalar, Late::Bin(*b, take()?, take()?)),
            Op::Cmp(c, ..) => (Scalar::Bool, Late::Cmp(*c, take()?, take()?)),
            Op::Not(_) => (Scalar::Bool, Late::Not(take()?)),
            Op::Select(..) => (scalar, Late::Select(take()?, take()?, take()?)),
            Op::Convert(c, _) => (converted(*c), Late::Convert(*c, take()?)),
            _ => return Ok(None),
        };
        let made = Elements::Lazy(Rc::new(Lazy { scalar, dims, depth, op: late }));
        let small = made.dims().iter().all(|d| self.known(d).is_some()) && self.lane.is_some();
        if small && (!cheap(op) || depth > DEPTH) {
            self.stored(&made).map(|w| Some(Elements::View(w)))
        } else {
            Ok(Some(made))
        }
    }

    /// `n` copies of an element.
    pub(super) fn copies(&mut self, n: Var, a: Var) -> Res<Elements> {
        let ((_, n), a) = (self.number(n)?, self.elements(a)?);
        let extent = self.extent(&n);
        let dims = [vec![extent], a.dims().to_vec()].concat();
        Ok(Elements::Lazy(Rc::new(Lazy { scalar: a.scalar(), dims, depth: a.depth() + 1, op: Late::Same(a) })))
    }

    /// Defers an array literal of few scalars or short rows. Its extents are `n` and those of the first part.
    pub(super) fn parts(&mut self, n: String, all: &[Elements]) -> Option<Elements> {
        let size: Option<i64> = all[0].dims().iter().map(|d| self.known(d)).product();
        let depth = all.iter().map(Elements::depth).max().unwrap_or(0) + 1;
        if all.len() as i64 * size? > PARTS.0 as i64 || all.len() > PARTS.1 || depth > DEPTH {
            return None;
        }
        let dims = [vec![n], all[0].dims().to_vec()].concat();
        Some(Elements::Lazy(Rc::new(Lazy { scalar: all[0].scalar(), dims, depth, op: Late::Parts(all.to_vec()) })))
    }

    /// The part of a deferred array literal at an index that the host knows.
    pub(super) fn part_at(&self, e: &Elements, i: &str) -> Option<Elements> {
        let Elements::Lazy(l) = e else { return None };
        let Late::Parts(all) = &l.op else { return None };
        all.get(usize::try_from(self.known(i)?).ok()?).cloned()
    }

    /// Converts an Int to an extent (a word): 0 if it is negative; a check fails if it is too large.
    pub(super) fn extent(&mut self, n: &str) -> String {
        let many = self.check(Check::Turns);
        let known = self.known(n);
        let w = self.define("n", &format!("u32(clamp({n}, 0li, 2147483647li))"));
        match known {
            Some(k) => {
                self.know(&w, k.clamp(0, 2_147_483_647));
                w
            }
            None => {
                self.line(&format!("if {w} == 2147483647u {{ fault({many}); }}"));
                self.define("n", &format!("select({w}, 0u, {w} == 2147483647u)"))
            }
        }
    }

    /// The extents of two arrays, which must be equal; otherwise a check fails, and the first extent is 0.
    fn agreed(&mut self, a: &[String], b: &[String]) -> Res<Vec<String>> {
        if a.len() != b.len() {
            return not_here("arrays of different ranks inside of a kernel");
        }
        let differ: Vec<String> = a
            .iter()
            .zip(b)
            .filter(|(x, y)| x != y && (self.known(x).is_none() || self.known(x) != self.known(y)))
            .map(|(x, y)| format!("{x} == {y}"))
            .collect();
        let mut dims = a.to_vec();
        if !differ.is_empty() {
            let check = self.check(Check::Bounds);
            let same = self.define("f", &differ.join(" && "));
            self.line(&format!("if !{same} {{ fault({check}); }}"));
            let known = self.known(&dims[0]);
            dims[0] = self.define("n", &format!("select(0u, {}, {same})", dims[0]));
            let name = dims[0].clone();
            known.into_iter().for_each(|k| self.know(&name, k));
        }
        Ok(dims)
    }

    /// The element at indices that are in bounds.
    pub(crate) fn at(&mut self, e: &Elements, at: &[String]) -> Res<String> {
        match e {
            Elements::Number(_, t) => Ok(t.clone()),
            Elements::View(w) => {
                let last = at.iter().try_fold(w.clone(), |w, i| {
                    if w.dims.is_empty() { not_here("too many indices") } else { Ok(self.row(&w, i)) }
                })?;
                Ok(self.define("v", &load(last.array, last.scalar, &last.base)))
            }
            Elements::Lazy(l) => {
                let t = match &l.op {
                    Late::Same(a) => return self.at(a, &at[1..]),
                    Late::Parts(all) => self.one_of(all, at)?,
                    Late::Un(u, a) => {
                        let x = self.at(a, at)?;
                        self.un(*u, a.scalar(), &x)?
                    }
                    Late::Bin(b, x, y) => {
                        let (p, q) = (self.at(x, at)?, self.at(y, at)?);
                        self.bin(*b, x.scalar(), &p, &q)?
                    }
                    Late::Cmp(c, x, y) => {
                        let (p, q) = (self.at(x, at)?, self.at(y, at)?);
                        compare(*c, x.scalar(), &p, &q)
                    }
                    Late::Not(a) => format!("(!{})", self.at(a, at)?),
                    Late::Select(c, x, y) => {
                        let (c, p, q) = (self.at(c, at)?, self.at(x, at)?, self.at(y, at)?);
                        format!("select({q}, {p}, {c})")
                    }
                    Late::Convert(c, a) => {
                        let x = self.at(a, at)?;
                        self.convert(*c, a.scalar(), &x)?.1
                    }
                };
                Ok(self.define("v", &t))
            }
        }
    }

    /// The element of the part that the first index selects.
    fn one_of(&mut self, all: &[Elements], at: &[String]) -> Res<String> {
        let mut found = self.at(&all[0], &at[1..])?;
        for (k, part) in all.iter().enumerate().skip(1) {
            let x = self.at(part, &at[1..])?;
            found = format!("select({found}, {x}, {} == {k}u)", at[0]);
        }
        Ok(found)
    }

    /// Opens loops over all indices of an array. Returns the index variables; the caller closes the loops.
    pub(crate) fn indices(&mut self, dims: &[String]) -> Vec<String> {
        let mut at = Vec::new();
        for d in dims {
            let i = self.name("j");
            self.line(&format!("var {i} = 0u;"));
            self.open(&format!("for (; {i} < {d}; {i}++)"));
            at.push(i);
        }
        at
    }

    fn close_indices(&mut self, at: &[String], dims: &[String]) {
        for (i, d) in at.iter().zip(dims).rev() {
            self.close();
            self.ended(&format!("{i} < {d}"));
        }
    }

    /// Allocates private memory of these extents for each thread.
    pub(crate) fn scratch(&mut self, scalar: Scalar, dims: &[String]) -> Res<View> {
        let Some((lane, lanes)) = self.lane.clone() else {
            return not_here("an array that is made inside of this kernel");
        };
        let known =
            dims.iter().map(|d| self.known(d).and_then(|n| usize::try_from(n).ok())).collect::<Option<Vec<_>>>();
        let Some(known) = known else {
            return not_here("an array inside of a kernel whose extents the host does not know");
        };
        let numbers = known
            .iter()
            .chain([&lanes])
            .try_fold(1usize, |n, k| n.checked_mul(*k))
            .filter(|n| (*n as u64).saturating_mul(scalar.bytes()) <= self.caps.binding);
        if numbers.is_none() {
            return not_here("arrays inside of a kernel that take more memory than it may see");
        }
        let array = self.gpu.empty(scalar, [known.clone(), vec![lanes]].concat())?;
        let slot = self.slot(&array, true)?;
        let mut steps = Vec::new();
        for k in 0..known.len() {
            steps.push(self.word((known[k + 1..].iter().product::<usize>() * lanes) as u32));
        }
        // New variables for the extents, because the scope of `dims` may end before that of this array.
        let dims = known.iter().map(|n| self.word(*n as u32)).collect();
        Ok(View { array: slot, scalar, base: lane, dims, steps })
    }

    /// Materialises an array.
    pub(crate) fn stored(&mut self, e: &Elements) -> Res<View> {
        if let Elements::View(w) = e {
            return Ok(w.clone());
        }
        let to = self.scratch(e.scalar(), e.dims())?;
        self.fill(&to, e)?;
        Ok(to)
    }

    /// Stores an array, or broadcasts a scalar, to memory of its extents.
    pub(crate) fn fill(&mut self, to: &View, e: &Elements) -> Res<()> {
        if let Elements::Lazy(l) = e
            && let Late::Parts(all) = &l.op
        {
            return all.iter().enumerate().try_for_each(|(k, part)| {
                let row = self.row(to, &format!("{k}u"));
                self.fill(&row, part)
            });
        }
        let dims = e.dims().to_vec();
        let at = self.indices(&dims);
        let x = self.at(e, &at)?;
        let place = at.iter().fold(to.clone(), |w, i| self.row(&w, i));
        self.line(&format!("a{}[{}] = {};", place.array, place.base, packed(to.scalar, &x)));
        self.close_indices(&at, &dims);
        Ok(())
    }

    /// An element of the first axis, as the value of a variable.
    pub(crate) fn first_axis(&mut self, e: &Elements, i: &str) -> Res<Place> {
        match e {
            Elements::View(w) => {
                let row = self.row(w, i);
                if row.dims.is_empty() {
                    let x = self.define("v", &load(row.array, row.scalar, &row.base));
                    return Ok(Place::Number(row.scalar, x));
                }
                Ok(Place::View(row))
            }
            Elements::Lazy(l) if l.dims.len() == 1 => Ok(Place::Number(l.scalar, self.at(e, &[i.to_owned()])?)),
            Elements::Lazy(_) | Elements::Number(..) => not_here("rows of what has none"),
        }
    }

    /// An array over which a loop iterates: deferred arrays of rows are materialised before the loop.
    pub(crate) fn walked(&mut self, v: Var) -> Res<Elements> {
        match self.elements(v)? {
            e @ Elements::Lazy(_) if e.dims().len() > 1 => self.stored(&e).map(Elements::View),
            Elements::Number(..) => not_here("a number in the place of an array"),
            e => Ok(e),
        }
    }

    /// The sequential sum of all elements, or the inner product with another array.
    pub(super) fn sum(&mut self, a: &Elements, other: Option<&Elements>) -> Res<(Scalar, String)> {
        let dims = match other {
            Some(b) => self.agreed(a.dims(), b.dims())?,
            None => a.dims().to_vec(),
        };
        let (sum, zero) = (self.name("s"), self.zero(a.scalar()));
        self.line(&format!("var {sum} = {zero};"));
        let at = self.indices(&dims);
        let mut x = self.at(a, &at)?;
        if let Some(b) = other {
            let y = self.at(b, &at)?;
            x = self.bin(Bin::Mul, a.scalar(), &x, &y)?;
        }
        let next = self.bin(Bin::Add, a.scalar(), &sum, &x)?;
        self.line(&format!("{sum} = {next};"));
        self.close_indices(&at, &dims);
        Ok((a.scalar(), sum))
    }

    /// The first minimum (or maximum) of a non-empty vector, and its index; NaN precedes all numbers.
    pub(super) fn extreme(&mut self, a: &Elements, least: bool) -> Res<(String, String)> {
        let [n] = a.dims() else { return not_here("the extremes of a matrix in a kernel") };
        let (n, s) = (n.clone(), a.scalar());
        let (best, place) = (self.name("x"), self.name("i"));
        let check = self.check(Check::Bounds);
        self.line(&format!("if {n} == 0u {{ fault({check}); }}"));
        self.line(&format!("var {best}: {};", super::wgsl(s)));
        self.line(&format!("var {place} = 0u;"));
        let dims = [n];
        let at = self.indices(&dims);
        let x = self.at(a, &at)?;
        let better = compare(if least { Cmp::Lt } else { Cmp::Gt }, s, &x, &best);
        self.line(&format!(
            "if {0} == 0u || (!{1} && ({2} || {better})) {{ {best} = {x}; {place} = {0}; }}",
            at[0],
            is_nan(s, &best),
            is_nan(s, &x)
        ));
        self.close_indices(&at, &dims);
        Ok((best, place))
    }
}

fn converted(c: Conv) -> Scalar {
    match c {
        Conv::ToF64 => Scalar::F64,
        Conv::ToF32 => Scalar::F32,
        Conv::ToI64 => Scalar::I64,
    }
}
