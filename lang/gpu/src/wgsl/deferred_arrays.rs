//! Arrays created inside of a kernel.
//!
//! Elementwise arithmetic on arrays is deferred ([`DeferredArray`]): each read of an element computes it. Results that are
//! expensive to recompute, outputs of loops, and arrays that must be in memory are stored in *scratch* memory, which
//! has elements for every thread; extents must therefore be known on the host. The elements of neighbouring threads are
//! contiguous.

use super::{Emit, StridedView, VarValue, load, packed};
use crate::array::Scalar;
use crate::error::{Check, Res, unsupported};
use crate::limits::wgsl_deferred_arrays::DEPTH;
use crate::wgsl::scalar::{compare, is_nan};
use adl_ir::{Cmp, Conv, Op, Var};
use adl_prim::{Bin, Un};
use std::rc::Rc;

/// A value with elements.
#[derive(Clone, Debug)]
pub(crate) enum ElementSource {
    /// A scalar, broadcast to each index.
    Number(Scalar, String),
    StridedView(StridedView),
    DeferredArray(Rc<DeferredArray>),
}

/// An array whose elements are computed when they are read.
#[derive(Debug)]
pub(crate) struct DeferredArray {
    scalar: Scalar,
    dims: Vec<String>,
    depth: u32,
    op: DeferredOp,
}

#[derive(Debug)]
enum DeferredOp {
    Same(ElementSource),
    Un(Un, ElementSource),
    Bin(Bin, ElementSource, ElementSource),
    Cmp(Cmp, ElementSource, ElementSource),
    Not(ElementSource),
    Select(ElementSource, ElementSource, ElementSource),
    Convert(Conv, ElementSource),
    /// An array literal: the parts along the first axis.
    Parts(Vec<ElementSource>),
}

/// The maximum number of scalars and of parts of a deferred array literal: each read of an element tests all parts.
const PARTS: (usize, usize) = (32, 8);

impl ElementSource {
    pub fn dims(&self) -> &[String] {
        match self {
            ElementSource::Number(..) => &[],
            ElementSource::StridedView(w) => &w.dims,
            ElementSource::DeferredArray(l) => &l.dims,
        }
    }

    pub fn scalar(&self) -> Scalar {
        match self {
            ElementSource::Number(s, _) => *s,
            ElementSource::StridedView(w) => w.scalar,
            ElementSource::DeferredArray(l) => l.scalar,
        }
    }

    fn depth(&self) -> u32 {
        if let ElementSource::DeferredArray(l) = self { l.depth } else { 0 }
    }

    /// The same as the value of a variable.
    pub fn place(self) -> VarValue {
        match self {
            ElementSource::Number(s, t) => VarValue::Number(s, t),
            ElementSource::StridedView(w) => VarValue::StridedView(w),
            ElementSource::DeferredArray(l) => VarValue::DeferredArray(l),
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
    pub(crate) fn elements(&mut self, v: Var) -> Res<ElementSource> {
        match self.place(v)? {
            VarValue::Number(s, t) => Ok(ElementSource::Number(s, t)),
            VarValue::StridedView(w) => Ok(ElementSource::StridedView(w)),
            VarValue::DeferredArray(l) => Ok(ElementSource::DeferredArray(l)),
            VarValue::Nothing => unsupported("a text or data in a kernel"),
        }
    }

    /// Defers an elementwise operation on arrays. `None` if its operands are scalars, or if it is another operation.
    pub(super) fn put_off(&mut self, op: &Op) -> Res<Option<ElementSource>> {
        if !super::scalar::is_pointwise(op) || matches!(op, Op::Lit(_) | Op::Dup(_) | Op::Drop(_)) {
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
        let depth = all.iter().map(ElementSource::depth).max().unwrap_or(0) + 1;
        if depth > 3 * DEPTH {
            return unsupported("a long computation on arrays whose extents the host does not know");
        }
        let mut next = all.into_iter();
        let mut take = || next.next().map_or_else(|| unsupported("an operand is missing"), Ok);
        let (scalar, late) = match op {
            Op::Un(u, _) => (scalar, DeferredOp::Un(*u, take()?)),
            Op::Bin(b, ..) => (scalar, DeferredOp::Bin(*b, take()?, take()?)),
            Op::Cmp(c, ..) => (Scalar::Bool, DeferredOp::Cmp(*c, take()?, take()?)),
            Op::Not(_) => (Scalar::Bool, DeferredOp::Not(take()?)),
            Op::Select(..) => (scalar, DeferredOp::Select(take()?, take()?, take()?)),
            Op::Convert(c, _) => (converted(*c), DeferredOp::Convert(*c, take()?)),
            _ => return Ok(None),
        };
        let made = ElementSource::DeferredArray(Rc::new(DeferredArray { scalar, dims, depth, op: late }));
        let small = made.dims().iter().all(|d| self.known(d).is_some()) && self.lane.is_some();
        if small && (!cheap(op) || depth > DEPTH) {
            self.stored(&made).map(|w| Some(ElementSource::StridedView(w)))
        } else {
            Ok(Some(made))
        }
    }

    /// `n` copies of an element.
    pub(super) fn copies(&mut self, n: Var, a: Var) -> Res<ElementSource> {
        let ((_, n), a) = (self.number(n)?, self.elements(a)?);
        let extent = self.extent(&n);
        let dims = [vec![extent], a.dims().to_vec()].concat();
        Ok(ElementSource::DeferredArray(Rc::new(DeferredArray {
            scalar: a.scalar(),
            dims,
            depth: a.depth() + 1,
            op: DeferredOp::Same(a),
        })))
    }

    /// Defers an array literal of few scalars or short rows. Its extents are `n` and those of the first part.
    pub(super) fn parts(&mut self, n: String, all: &[ElementSource]) -> Option<ElementSource> {
        let size: Option<i64> = all[0].dims().iter().map(|d| self.known(d)).product();
        let depth = all.iter().map(ElementSource::depth).max().unwrap_or(0) + 1;
        if all.len() as i64 * size? > PARTS.0 as i64 || all.len() > PARTS.1 || depth > DEPTH {
            return None;
        }
        let dims = [vec![n], all[0].dims().to_vec()].concat();
        Some(ElementSource::DeferredArray(Rc::new(DeferredArray {
            scalar: all[0].scalar(),
            dims,
            depth,
            op: DeferredOp::Parts(all.to_vec()),
        })))
    }

    /// The part of a deferred array literal at an index that the host knows.
    pub(super) fn part_at(&self, e: &ElementSource, i: &str) -> Option<ElementSource> {
        let ElementSource::DeferredArray(l) = e else { return None };
        let DeferredOp::Parts(all) = &l.op else { return None };
        all.get(usize::try_from(self.known(i)?).ok()?).cloned()
    }

    /// Converts an Int to an extent (a word): 0 if it is negative; a check fails if it is too large.
    pub(super) fn extent(&mut self, trip: &str) -> String {
        let many = self.check(Check::Trip);
        let known = self.known(trip);
        let w = self.define("n", &format!("u32(clamp({trip}, 0li, 2147483647li))"));
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
            return unsupported("arrays of different ranks inside of a kernel");
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
    pub(crate) fn at(&mut self, e: &ElementSource, at: &[String]) -> Res<String> {
        match e {
            ElementSource::Number(_, t) => Ok(t.clone()),
            ElementSource::StridedView(w) => {
                let last = at.iter().try_fold(w.clone(), |w, i| {
                    if w.dims.is_empty() { unsupported("too many indices") } else { Ok(self.row(&w, i)) }
                })?;
                Ok(self.define("v", &load(last.array, last.scalar, &last.base)))
            }
            ElementSource::DeferredArray(l) => {
                let text = match &l.op {
                    DeferredOp::Same(a) => return self.at(a, &at[1..]),
                    DeferredOp::Parts(all) => self.one_of(all, at)?,
                    DeferredOp::Un(u, a) => {
                        let x = self.at(a, at)?;
                        self.un(*u, a.scalar(), &x)?
                    }
                    DeferredOp::Bin(b, x, y) => {
                        let (p, q) = (self.at(x, at)?, self.at(y, at)?);
                        self.bin(*b, x.scalar(), &p, &q)?
                    }
                    DeferredOp::Cmp(c, x, y) => {
                        let (p, q) = (self.at(x, at)?, self.at(y, at)?);
                        compare(*c, x.scalar(), &p, &q)
                    }
                    DeferredOp::Not(a) => format!("(!{})", self.at(a, at)?),
                    DeferredOp::Select(c, x, y) => {
                        let (c, p, q) = (self.at(c, at)?, self.at(x, at)?, self.at(y, at)?);
                        format!("select({q}, {p}, {c})")
                    }
                    DeferredOp::Convert(c, a) => {
                        let x = self.at(a, at)?;
                        self.convert(*c, a.scalar(), &x)?.1
                    }
                };
                Ok(self.define("v", &text))
            }
        }
    }

    /// The element of the part that the first index selects.
    fn one_of(&mut self, all: &[ElementSource], at: &[String]) -> Res<String> {
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
    pub(crate) fn scratch(&mut self, scalar: Scalar, dims: &[String]) -> Res<StridedView> {
        let Some((lane, lanes)) = self.lane.clone() else {
            return unsupported("an array that is made inside of this kernel");
        };
        let known =
            dims.iter().map(|d| self.known(d).and_then(|n| usize::try_from(n).ok())).collect::<Option<Vec<_>>>();
        let Some(known) = known else {
            return unsupported("an array inside of a kernel whose extents the host does not know");
        };
        let numbers = known
            .iter()
            .chain([&lanes])
            .try_fold(1usize, |n, k| n.checked_mul(*k))
            .filter(|n| (*n as u64).saturating_mul(scalar.bytes()) <= self.caps.binding);
        if numbers.is_none() {
            return unsupported("arrays inside of a kernel that take more memory than it may see");
        }
        let array = self.gpu.empty(scalar, [known.clone(), vec![lanes]].concat())?;
        let slot = self.slot(&array, true)?;
        let mut steps = Vec::new();
        for k in 0..known.len() {
            steps.push(self.word((known[k + 1..].iter().product::<usize>() * lanes) as u32));
        }
        // New variables for the extents, because the scope of `dims` may end before that of this array.
        let dims = known.iter().map(|n| self.word(*n as u32)).collect();
        Ok(StridedView { array: slot, scalar, base: lane, dims, steps })
    }

    /// Materialises an array.
    pub(crate) fn stored(&mut self, e: &ElementSource) -> Res<StridedView> {
        if let ElementSource::StridedView(w) = e {
            return Ok(w.clone());
        }
        let to = self.scratch(e.scalar(), e.dims())?;
        self.fill(&to, e)?;
        Ok(to)
    }

    /// Stores an array, or broadcasts a scalar, to memory of its extents.
    pub(crate) fn fill(&mut self, to: &StridedView, source: &ElementSource) -> Res<()> {
        if let ElementSource::DeferredArray(l) = source
            && let DeferredOp::Parts(all) = &l.op
        {
            return all.iter().enumerate().try_for_each(|(k, part)| {
                let row = self.row(to, &format!("{k}u"));
                self.fill(&row, part)
            });
        }
        let dims = source.dims().to_vec();
        let at = self.indices(&dims);
        let x = self.at(source, &at)?;
        let place = at.iter().fold(to.clone(), |w, i| self.row(&w, i));
        self.line(&format!("a{}[{}] = {};", place.array, place.base, packed(to.scalar, &x)));
        self.close_indices(&at, &dims);
        Ok(())
    }

    /// An element of the first axis, as the value of a variable.
    pub(crate) fn first_axis(&mut self, source: &ElementSource, index: &str) -> Res<VarValue> {
        match source {
            ElementSource::StridedView(w) => {
                let row = self.row(w, index);
                if row.dims.is_empty() {
                    let x = self.define("v", &load(row.array, row.scalar, &row.base));
                    return Ok(VarValue::Number(row.scalar, x));
                }
                Ok(VarValue::StridedView(row))
            }
            ElementSource::DeferredArray(l) if l.dims.len() == 1 => {
                Ok(VarValue::Number(l.scalar, self.at(source, &[index.to_owned()])?))
            }
            ElementSource::DeferredArray(_) | ElementSource::Number(..) => unsupported("rows of what has none"),
        }
    }

    /// An array over which a loop iterates: deferred arrays of rows are materialised before the loop.
    pub(crate) fn walked(&mut self, v: Var) -> Res<ElementSource> {
        match self.elements(v)? {
            e @ ElementSource::DeferredArray(_) if e.dims().len() > 1 => {
                self.stored(&e).map(ElementSource::StridedView)
            }
            ElementSource::Number(..) => unsupported("a number in the place of an array"),
            e => Ok(e),
        }
    }

    /// The sequential sum of all elements, or the inner product with another array.
    pub(super) fn sum(&mut self, source: &ElementSource, other: Option<&ElementSource>) -> Res<(Scalar, String)> {
        let dims = match other {
            Some(b) => self.agreed(source.dims(), b.dims())?,
            None => source.dims().to_vec(),
        };
        let (sum, zero) = (self.name("s"), self.zero(source.scalar()));
        self.line(&format!("var {sum} = {zero};"));
        let at = self.indices(&dims);
        let mut x = self.at(source, &at)?;
        if let Some(b) = other {
            let y = self.at(b, &at)?;
            x = self.bin(Bin::Mul, source.scalar(), &x, &y)?;
        }
        let next = self.bin(Bin::Add, source.scalar(), &sum, &x)?;
        self.line(&format!("{sum} = {next};"));
        self.close_indices(&at, &dims);
        Ok((source.scalar(), sum))
    }

    /// The first minimum (or maximum) of a non-empty vector, and its index; NaN precedes all numbers.
    pub(super) fn extreme(&mut self, a: &ElementSource, least: bool) -> Res<(String, String)> {
        let [n] = a.dims() else { return unsupported("the extremes of a matrix in a kernel") };
        let (n, scalar) = (n.clone(), a.scalar());
        let (best, place) = (self.name("x"), self.name("i"));
        let check = self.check(Check::Bounds);
        self.line(&format!("if {n} == 0u {{ fault({check}); }}"));
        self.line(&format!("var {best}: {};", super::wgsl(scalar)));
        self.line(&format!("var {place} = 0u;"));
        let dims = [n];
        let at = self.indices(&dims);
        let x = self.at(a, &at)?;
        let better = compare(if least { Cmp::Lt } else { Cmp::Gt }, scalar, &x, &best);
        self.line(&format!(
            "if {0} == 0u || (!{1} && ({2} || {better})) {{ {best} = {x}; {place} = {0}; }}",
            at[0],
            is_nan(scalar, &best),
            is_nan(scalar, &x)
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
