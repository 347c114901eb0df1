//! Index pushdown: an element of a computed array is computed from elements of the operands. `(outer x y)[i, j]`
//! becomes `x[i] * y[j]`, and a row of a matrix product becomes the product of a row and a matrix. This is the
//! fusion of producers at their consumers' indices in *Differentiating a Tensor Language*. A matrix of which little
//! is read is then not materialised, neither by the function nor by its derivatives.
//!
//! The results have the same bits, because only rewrites that keep the order of arithmetic are applied; the one
//! exception, traces of matrix products, depends on [`Order`]. An array that is also read in another way is
//! computed anyway, and nothing would be gained. So the pass looks through an array only if all of its readers can
//! be rewritten.

use crate::limits::index_pushdown::{READERS, ROUNDS};
use crate::shapes::symbolic_zeros;
use adl_ir::{Added, Block, Cmp, Function, Lit, Loop, Op, Out, Stmt, Trip, Ty, Var};
use adl_prim::{ArrayFn, Bin, Prim};
use adl_syntax::span::Span;
use std::collections::{HashMap, HashSet};

/// Which sums may be reordered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// None.
    Kept,
    /// The sums of a matrix product of which only the diagonal is read.
    Free,
}

/// Rewrites reads of elements and rows. Returns whether the function changed.
pub fn elements(func: &mut Function, order: Order) -> bool {
    let mut changed = false;
    for _ in 0..ROUNDS {
        let facts = ReadFacts::of(func);
        let mut body = std::mem::take(&mut func.body);
        let mut r = Rewrite { f: func, facts: &facts, order, changed: false };
        r.block(&mut body);
        let done = r.changed;
        func.body = body;
        if !done {
            break;
        }
        changed = true;
        adl_ir::rewrite::dce::remove_dead(func);
    }
    changed
}

/// The operation that makes an array, and its loop depth.
struct ArrayDef {
    op: Op,
    depth: usize,
}

/// Facts about the arrays of a function.
struct ReadFacts {
    made: HashMap<Var, ArrayDef>,
    /// Arrays whose readers are all rewritten.
    through: HashSet<Var>,
    /// Variables bound by loops to rows of outer products, of which only elements are read.
    rows: HashSet<Var>,
    /// Arrays with a single reader.
    once: HashSet<Var>,
}

impl ReadFacts {
    fn of(func: &Function) -> ReadFacts {
        let mut made = HashMap::new();
        let mut readers = Readers::default();
        let mut loops = Vec::new();
        // Arrays that may be updated in place under another name. Reading such an array later would keep the old
        // version alive and force a copy.
        let mut changed: HashSet<Var> = HashSet::new();
        let mut work = vec![(&func.body, 0)];
        while let Some((b, depth)) = work.pop() {
            b.results.iter().for_each(|v| readers.add(*v, None));
            b.results.iter().for_each(|v| *readers.once.entry(*v).or_default() += 1);
            changed.extend(&b.results);
            for stmt in &b.stmts {
                if let ([v], []) = (stmt.outs.as_slice(), stmt.lin_outs.as_slice()) {
                    made.insert(*v, ArrayDef { op: plain(&stmt.op), depth });
                }
                if !matches!(stmt.op, Op::Dim(..)) {
                    stmt.op.each_operand(&mut |v| *readers.once.entry(v).or_default() += 1);
                }
                match &stmt.op {
                    // Decided below, when all readers of the rows are known.
                    Op::Loop(l) => {
                        loops.push((&**l, depth));
                        changed.extend(&l.init);
                        l.init.iter().chain(&l.lin_init).chain(&l.lin_xs).for_each(|v| readers.add(*v, None));
                    }
                    op => {
                        let looks = match op {
                            Op::Index { a, .. } | Op::Dim(a, _) => Some(*a),
                            Op::Transpose(a) if stmt.lin_outs.is_empty() => Some(*a),
                            Op::Slice { a, .. } if matches!(made.get(a), Some(ArrayDef { op: Op::Outer(..), .. })) => {
                                Some(*a)
                            }
                            _ => None,
                        };
                        changed.extend(updated(op));
                        op.each_operand(&mut |v| readers.add(v, (looks == Some(v)).then_some(depth)));
                    }
                }
                let deeper =
                    depth + usize::from(matches!(stmt.op, Op::Loop(_) | Op::Soac(_) | Op::ReduceByIndex { .. }));
                work.extend(stmt.op.blocks().into_iter().map(|b| (b, deeper)));
            }
        }
        let rows = rows_of_outer_products(func, &made, &loops, &mut readers);
        let zeros = symbolic_zeros(func);
        let through = made
            .iter()
            .filter(|(v, m)| {
                !of_symbolic_zeros(&m.op, &zeros) && looked_through(func, **v, m, readers.of(**v), &changed)
            })
            .map(|(v, _)| *v)
            .collect();
        let once = made.keys().copied().filter(|v| readers.once.get(v) == Some(&1)).collect();
        ReadFacts { made, through, rows, once }
    }
}

/// The array that an operation updates in place.
fn updated(op: &Op) -> Option<Var> {
    match op {
        Op::IndexAdd { acc, .. } | Op::IndexSet { acc, .. } | Op::SliceAdd { acc, .. } | Op::GatherAdd { acc, .. } => {
            Some(*acc)
        }
        _ => None,
    }
}

/// The rows of outer products that loops bind and of which only elements are read. The loops count as readers of
/// the products.
fn rows_of_outer_products(
    f: &Function,
    made: &HashMap<Var, ArrayDef>,
    loops: &[(&Loop, usize)],
    readers: &mut Readers,
) -> HashSet<Var> {
    let mut rows = HashSet::new();
    for (l, depth) in loops {
        for (x, e) in l.xs.iter().zip(&l.body.params[1 + l.init.len()..]) {
            let outer = matches!(made.get(x), Some(ArrayDef { op: Op::Outer(..), .. })) && f.ty(*x).rank() == 2;
            let elements = outer && readers.of(*e).iter().all(Option::is_some);
            rows.extend(elements.then_some(*e));
            readers.add(*x, elements.then_some(depth + 1));
        }
    }
    rows
}

/// The readers of each array: the loop depths at which an element or a row is read; `None` if the array is read in
/// another way.
#[derive(Default)]
struct Readers {
    of: HashMap<Var, Vec<Option<usize>>>,
    /// The number of operations that read more of an array than an extent.
    once: HashMap<Var, usize>,
}

impl Readers {
    fn add(&mut self, v: Var, depth: Option<usize>) {
        self.of.entry(v).or_default().push(depth);
    }

    fn of(&self, v: Var) -> &[Option<usize>] {
        self.of.get(&v).map_or(&[], Vec::as_slice)
    }
}

fn looked_through(f: &Function, v: Var, m: &ArrayDef, readers: &[Option<usize>], changed: &HashSet<Var>) -> bool {
    let flat = matches!(f.ty(v), Ty::Array(e, _) if e.is_flat());
    flat && !readers.is_empty()
        && readers.iter().all(Option::is_some)
        && match &m.op {
            Op::Outer(..) | Op::Transpose(_) => true,
            Op::Index { a, .. } => {
                f.ty(*a).scalar().is_flat() && !changed.contains(a) && readers.iter().all(|d| *d == Some(m.depth))
            }
            Op::MatMul(..) | Op::Bin(..) | Op::Un(..) => {
                readers.len() <= READERS && readers.iter().all(|d| *d == Some(m.depth))
            }
            _ => false,
        }
}

/// Whether an operand of an elementwise operation may be a symbolic zero, which has no extents to check.
fn of_symbolic_zeros(op: &Op, zeros: &HashSet<Var>) -> bool {
    matches!(op, Op::Bin(_, a, b) if zeros.contains(a) || zeros.contains(b))
}

/// An operation without blocks; of operations with blocks, a placeholder that has no rewrite.
fn plain(op: &Op) -> Op {
    if op.blocks().is_empty() { op.clone() } else { Op::Lit(Lit::Bool(false)) }
}

struct Rewrite<'a> {
    f: &'a mut Function,
    facts: &'a ReadFacts,
    order: Order,
    changed: bool,
}

impl Rewrite<'_> {
    fn block(&mut self, block: &mut Block) {
        let mut out = Vec::with_capacity(block.stmts.len());
        for mut stmt in std::mem::take(&mut block.stmts) {
            if let Op::Loop(l) = &mut stmt.op {
                self.rows(l, stmt.span);
            }
            for part in stmt.op.blocks_mut() {
                stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.block(part));
            }
            let known = out.len();
            match self.read(&stmt, &mut out) {
                Some(op) => {
                    self.changed = true;
                    let mut outs = stmt.outs.clone();
                    outs.extend(matches!(op, Op::Loop(_)).then(|| self.f.fresh(Ty::I64, false)));
                    out.push(Stmt { op, outs, ..stmt });
                }
                None => {
                    out.truncate(known);
                    out.push(stmt);
                }
            }
        }
        block.stmts = out;
    }

    /// The operation that replaces a read of an array. Statements that it needs are appended to `out`.
    fn read(&mut self, stmt: &Stmt, out: &mut Vec<Stmt>) -> Option<Op> {
        if let Op::Slice { a, lo, hi, .. } = &stmt.op {
            let ArrayDef { op: Op::Outer(x, y), .. } =
                self.facts.made.get(a).filter(|_| self.facts.through.contains(a))?
            else {
                return None;
            };
            let ty = self.f.ty(*x).clone();
            let part = self.push(Op::Slice { a: *x, lo: *lo, hi: *hi, shape: None }, ty, stmt.span, out);
            return Some(Op::Outer(part, *y));
        }
        if let (Op::Gather { a, at, .. }, []) = (&stmt.op, stmt.lin_outs.as_slice()) {
            return self.diagonal(*a, *at, stmt.span, out);
        }
        let (Op::Index { a: source, at, .. }, []) = (&stmt.op, stmt.lin_outs.as_slice()) else { return None };
        let made = self.facts.made.get(source).filter(|_| self.facts.through.contains(source))?;
        let rank = self.f.ty(*source).rank() as usize;
        let of = |r: &mut Self, x: Var, at: &[Var], out: &mut Vec<Stmt>| r.index(x, at, stmt.span, out);
        match (&made.op, at.as_slice()) {
            (Op::Outer(x, y), [i, rest @ ..]) if self.f.ty(*x).rank() == 1 && self.f.ty(*y).rank() == 1 => {
                let x = of(self, *x, &[*i], out);
                let y = if rest.is_empty() { *y } else { of(self, *y, rest, out) };
                Some(Op::Bin(Bin::Mul, x, y))
            }
            (Op::Index { a, at: row, .. }, at) => Some(Op::Index { a: *a, at: [&row[..], at].concat(), shape: None }),
            (Op::Transpose(m), [i, j, rest @ ..]) => {
                Some(Op::Index { a: *m, at: [&[*j, *i], rest].concat(), shape: None })
            }
            (Op::Transpose(m), [j]) if rank == 2 => self.column(*m, *j, stmt.span, out),
            (Op::MatMul(x, y), [i, rest @ ..]) if self.f.ty(*x).rank() == 2 => {
                let row = of(self, *x, &[*i], out);
                self.row_times(row, *y, rest, stmt.span, out)
            }
            (Op::Bin(op, x, y), at)
                if [x, y].into_iter().all(|v| [0, rank].contains(&(self.f.ty(*v).rank() as usize))) =>
            {
                self.same_shapes(*x, *y, stmt.span, out);
                let [x, y] = [*x, *y].map(|v| if self.f.ty(v).rank() == 0 { v } else { of(self, v, at, out) });
                Some(Op::Bin(*op, x, y))
            }
            (Op::Un(u, x), at) => {
                let x = of(self, *x, at, out);
                Some(Op::Un(*u, x))
            }
            _ => None,
        }
    }

    /// An element of the diagonal of a product, read from the flattened matrix. For `outer x y` it is a product of
    /// two elements, for `x @ y` the inner product of a row and a column.
    fn diagonal(&mut self, flat: Var, at: Var, span: Span, out: &mut Vec<Stmt>) -> Option<Op> {
        let facts = self.facts;
        let made = |v: Var| facts.made.get(&v).map(|m| &m.op);
        let (Op::Reshape { a: matrix, .. }, Op::Bin(Bin::Mul, steps, step)) = (made(flat)?, made(at)?) else {
            return None;
        };
        let (Op::Prim(Prim::Array(ArrayFn::Iota), args), Op::Bin(Bin::Add, width, one)) = (made(*steps)?, made(*step)?)
        else {
            return None;
        };
        let places =
            matches!(made(*width)?, Op::Dim(a, 1) if a == matrix) && matches!(made(*one)?, Op::Lit(Lit::I64(1)));
        if !places || ![flat, *matrix].iter().all(|v| facts.once.contains(v)) {
            return None;
        }
        let (zero, rank) = (self.push(Op::Lit(Lit::I64(0)), Ty::I64, span, out), |r: &Self, v: &Var| r.f.ty(*v).rank());
        let mut part = |r: &mut Self, a: Var| {
            let ty = r.f.ty(a).clone();
            r.push(Op::Slice { a, lo: zero, hi: args[0], shape: None }, ty, span, out)
        };
        match made(*matrix)? {
            Op::Outer(x, y) if rank(self, x) == 1 && rank(self, y) == 1 => {
                let (x, y) = (part(self, *x), part(self, *y));
                Some(Op::Bin(Bin::Mul, x, y))
            }
            Op::MatMul(x, y) if self.order == Order::Free && rank(self, x) == 2 && rank(self, y) == 2 => {
                let x = part(self, *x);
                let ty = self.f.ty(*y).clone();
                let columns = self.push(Op::Transpose(*y), ty.clone(), span, out);
                let y = self.push(Op::Slice { a: columns, lo: zero, hi: args[0], shape: None }, ty, span, out);
                Some(self.products(args[0], x, y))
            }
            _ => None,
        }
    }

    /// The inner products of corresponding rows of two matrices.
    fn products(&mut self, count: Var, left: Var, right: Var) -> Op {
        let (row, number) = (self.f.ty(left).elem(), self.f.ty(left).scalar().clone());
        let params = [Ty::I64, row.clone(), row].map(|t| self.f.fresh(t, false)).to_vec();
        let product = self.f.fresh(number, false);
        let stmts = vec![Stmt {
            outs: vec![product],
            lin_outs: Vec::new(),
            op: Op::Dot(params[1], params[2]),
            span: Span::default(),
        }];
        let body = Block { params, stmts, results: vec![product], ..Block::default() };
        Op::Loop(Box::new(Loop {
            xs: vec![left, right],
            outs: vec![Out::Collect],
            ..Loop::new(Trip::Count(count), body)
        }))
    }

    /// The product of a row and `y`, or one element of it.
    fn row_times(&mut self, row: Var, y: Var, at: &[Var], span: Span, out: &mut Vec<Stmt>) -> Option<Op> {
        match (self.f.ty(y).rank(), at) {
            (1, []) => Some(Op::Dot(row, y)),
            (2, []) => Some(Op::MatMul(row, y)),
            (2, [j]) => {
                let ty = self.f.ty(y).scalar().array(1);
                let a = self.push(Op::MatMul(row, y), ty, span, out);
                Some(Op::Index { a, at: vec![*j], shape: None })
            }
            _ => None,
        }
    }

    /// Emits a check that fails where the operation on entire arrays would have failed.
    fn same_shapes(&mut self, x: Var, y: Var, span: Span, out: &mut Vec<Stmt>) {
        let rank = self.f.ty(x).rank();
        if x == y || rank != self.f.ty(y).rank() {
            return;
        }
        for k in 0..rank {
            let mut added = Added::new(self.f, span);
            let [n, m] = [x, y].map(|v| added.push(Op::Dim(v, k), Ty::I64));
            let same = added.cmp(Cmp::Eq, n, m);
            added.assert(same, "arrays of different shapes");
            out.append(&mut added.stmts);
        }
    }

    /// Makes a loop over the rows of a product read them by its index, if it reads elements of them.
    fn rows(&mut self, l: &mut Loop, span: Span) {
        let carried = l.init.len();
        for k in (0..l.xs.len()).rev() {
            let e = l.body.params[1 + carried + k];
            if self.facts.rows.contains(&e) && self.facts.through.contains(&l.xs[k]) {
                let a = l.xs.remove(k);
                l.body.params.remove(1 + carried + k);
                let op = Op::Index { a, at: vec![l.body.params[0]], shape: None };
                l.body.stmts.insert(0, Stmt { outs: vec![e], lin_outs: Vec::new(), op, span });
                self.changed = true;
            }
        }
    }

    fn push(&mut self, op: Op, ty: Ty, span: Span, out: &mut Vec<Stmt>) -> Var {
        let v = self.f.fresh(ty, false);
        out.push(Stmt { outs: vec![v], lin_outs: Vec::new(), op, span });
        v
    }

    fn index(&mut self, a: Var, at: &[Var], span: Span, out: &mut Vec<Stmt>) -> Var {
        let ty = at.iter().fold(self.f.ty(a).clone(), |t, _| t.elem());
        self.push(Op::Index { a, at: at.to_vec(), shape: None }, ty, span, out)
    }

    /// A column of a matrix, read as a row of its transpose. A column of an outer product is a multiple of a
    /// vector; other columns are read element by element.
    fn column(&mut self, m: Var, j: Var, span: Span, out: &mut Vec<Stmt>) -> Option<Op> {
        if let Some(ArrayDef { op: Op::Outer(x, y), .. }) = self.facts.made.get(&m)
            && self.f.ty(*x).rank() == 1
            && self.f.ty(*y).rank() == 1
        {
            let y = self.index(*y, &[j], span, out);
            return Some(Op::Bin(Bin::Mul, *x, y));
        }
        None
    }
}
