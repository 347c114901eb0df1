//! Elements of arrays that operations make are made of elements of their operands: `(outer x y)[i, j]` is `x[i] * y[j]`, a row of a product of
//! matrices is the product of a row (the producers of *Differentiating a Tensor Language* at their consumers' indices). So a matrix of which
//! little is read is not made, neither by the function nor by its derivatives.
//!
//! Results are the same bits (but for traces of products of matrices, which [`Order`] says): only forms are taken whose arithmetic is in the
//! same order. What stays read otherwise is made all the same, and then nothing is gained: so an array is looked through only if all of its
//! readers are.

use adl_ir::{Block, Cmp, Function, Lit, Loop, Op, Out, Stmt, Turns, Ty, Var};
use adl_prim::{Bin, Prim};
use adl_syntax::span::Span;
use std::collections::{HashMap, HashSet};

/// Rounds: a row of a transpose of a product takes two.
const ROUNDS: usize = 4;
/// Readers of an array whose elements cost more than a product of two.
const READERS: usize = 4;

/// Which sums may be made in another order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// None.
    Kept,
    /// Those of a product of matrices of which only the diagonal is read.
    Free,
}

/// Rewrites reads; whether there were any.
pub fn elements(f: &mut Function, order: Order) -> bool {
    let mut changed = false;
    for _ in 0..ROUNDS {
        let facts = Facts::of(f);
        let mut body = std::mem::take(&mut f.body);
        let mut r = Rewrite { f, facts: &facts, order, changed: false };
        r.block(&mut body);
        let done = r.changed;
        f.body = body;
        if !done {
            break;
        }
        changed = true;
        adl_ad::dce::remove_dead(f);
    }
    changed
}

/// An array that an operation makes, and how deep in loops that stands.
struct Made {
    op: Op,
    depth: usize,
}

/// What is known of a function's arrays.
struct Facts {
    made: HashMap<Var, Made>,
    /// Those that are looked through.
    through: HashSet<Var>,
    /// Elements of loops that are rows of outer products, and of which only elements are read.
    rows: HashSet<Var>,
    /// Arrays that one operation reads.
    once: HashSet<Var>,
}

impl Facts {
    fn of(f: &Function) -> Facts {
        let mut made = HashMap::new();
        let mut readers = Readers::default();
        let mut loops = Vec::new();
        // Arrays that may go on as others do, changed in place: to read them later would keep them as they were.
        let mut changed: HashSet<Var> = HashSet::new();
        let mut work = vec![(&f.body, 0)];
        while let Some((b, depth)) = work.pop() {
            b.results.iter().for_each(|v| readers.add(*v, None));
            b.results.iter().for_each(|v| *readers.once.entry(*v).or_default() += 1);
            changed.extend(&b.results);
            for s in &b.stmts {
                if let ([v], []) = (s.outs.as_slice(), s.lin_outs.as_slice()) {
                    made.insert(*v, Made { op: plain(&s.op), depth });
                }
                if !matches!(s.op, Op::Dim(..)) {
                    s.op.each_operand(&mut |v| *readers.once.entry(v).or_default() += 1);
                }
                match &s.op {
                    // Judged when all readers of its rows are known.
                    Op::Loop(l) => {
                        loops.push((&**l, depth));
                        changed.extend(&l.init);
                        l.init.iter().chain(&l.lin_init).chain(&l.lin_xs).for_each(|v| readers.add(*v, None));
                    }
                    op => {
                        let looks = match op {
                            Op::Index { a, .. } | Op::Dim(a, _) => Some(*a),
                            Op::Transpose(a) if s.lin_outs.is_empty() => Some(*a),
                            Op::Slice { a, .. } if matches!(made.get(a), Some(Made { op: Op::Outer(..), .. })) => Some(*a),
                            _ => None,
                        };
                        changed.extend(updated(op));
                        op.each_operand(&mut |v| readers.add(v, (looks == Some(v)).then_some(depth)));
                    }
                }
                let deeper = depth + usize::from(matches!(s.op, Op::Loop(_) | Op::Soac(_) | Op::ReduceByIndex { .. }));
                work.extend(s.op.blocks().into_iter().map(|b| (b, deeper)));
            }
        }
        let rows = rows_of_outer_products(f, &made, &loops, &mut readers);
        let through = made.iter().filter(|(v, m)| looked_through(f, **v, m, readers.of(**v), &changed)).map(|(v, _)| *v).collect();
        let once = made.keys().copied().filter(|v| readers.once.get(v) == Some(&1)).collect();
        Facts { made, through, rows, once }
    }
}

/// The array that an operation updates.
fn updated(op: &Op) -> Option<Var> {
    match op {
        Op::IndexAdd { acc, .. } | Op::IndexSet { acc, .. } | Op::SliceAdd { acc, .. } | Op::GatherAdd { acc, .. } => Some(*acc),
        _ => None,
    }
}

/// Rows of outer products in loops, of which only elements are read; the loops are readers of the products.
fn rows_of_outer_products(f: &Function, made: &HashMap<Var, Made>, loops: &[(&Loop, usize)], readers: &mut Readers) -> HashSet<Var> {
    let mut rows = HashSet::new();
    for (l, depth) in loops {
        for (x, e) in l.xs.iter().zip(&l.body.params[1 + l.init.len()..]) {
            let outer = matches!(made.get(x), Some(Made { op: Op::Outer(..), .. })) && f.ty(*x).rank() == 2;
            let elements = outer && readers.of(*e).iter().all(Option::is_some);
            rows.extend(elements.then_some(*e));
            readers.add(*x, elements.then_some(depth + 1));
        }
    }
    rows
}

/// Who reads an array: how deep in loops an element or a row is read; `None` where it is read otherwise.
#[derive(Default)]
struct Readers {
    of: HashMap<Var, Vec<Option<usize>>>,
    /// How many operations read more than an extent.
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

fn looked_through(f: &Function, v: Var, m: &Made, readers: &[Option<usize>], changed: &HashSet<Var>) -> bool {
    let flat = matches!(f.ty(v), Ty::Array(e, _) if e.is_flat());
    flat && !readers.is_empty() && readers.iter().all(Option::is_some) && match &m.op {
        Op::Outer(..) | Op::Transpose(_) => true,
        Op::Index { a, .. } => f.ty(*a).scalar().is_flat() && !changed.contains(a) && readers.iter().all(|d| *d == Some(m.depth)),
        Op::MatMul(..) | Op::Bin(..) | Op::Un(..) => readers.len() <= READERS && readers.iter().all(|d| *d == Some(m.depth)),
        _ => false,
    }
}

/// An operation without blocks; of others nothing is asked.
fn plain(op: &Op) -> Op {
    if op.blocks().is_empty() { op.clone() } else { Op::Lit(Lit::Bool(false)) }
}

struct Rewrite<'a> {
    f: &'a mut Function,
    facts: &'a Facts,
    order: Order,
    changed: bool,
}

impl Rewrite<'_> {
    fn block(&mut self, b: &mut Block) {
        let mut out = Vec::with_capacity(b.stmts.len());
        for mut s in std::mem::take(&mut b.stmts) {
            if let Op::Loop(l) = &mut s.op {
                self.rows(l, s.span);
            }
            for part in s.op.blocks_mut() {
                stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.block(part));
            }
            let known = out.len();
            match self.read(&s, &mut out) {
                Some(op) => {
                    self.changed = true;
                    let mut outs = s.outs.clone();
                    outs.extend(matches!(op, Op::Loop(_)).then(|| self.f.fresh(Ty::I64, false)));
                    out.push(Stmt { op, outs, ..s });
                }
                None => {
                    out.truncate(known);
                    out.push(s);
                }
            }
        }
        b.stmts = out;
    }

    /// What a read of an array is instead; statements before it go to `out`.
    fn read(&mut self, s: &Stmt, out: &mut Vec<Stmt>) -> Option<Op> {
        if let Op::Slice { a, lo, hi, .. } = &s.op {
            let Made { op: Op::Outer(x, y), .. } = self.facts.made.get(a).filter(|_| self.facts.through.contains(a))? else { return None };
            let ty = self.f.ty(*x).clone();
            let part = self.push(Op::Slice { a: *x, lo: *lo, hi: *hi, shape: None }, ty, s.span, out);
            return Some(Op::Outer(part, *y));
        }
        if let (Op::Gather { a, at, .. }, []) = (&s.op, s.lin_outs.as_slice()) {
            return self.diagonal(*a, *at, s.span, out);
        }
        let (Op::Index { a, at, .. }, []) = (&s.op, s.lin_outs.as_slice()) else { return None };
        let made = self.facts.made.get(a).filter(|_| self.facts.through.contains(a))?;
        let rank = self.f.ty(*a).rank() as usize;
        let of = |r: &mut Self, x: Var, at: &[Var], out: &mut Vec<Stmt>| r.index(x, at, s.span, out);
        match (&made.op, at.as_slice()) {
            (Op::Outer(x, y), [i, rest @ ..]) if self.f.ty(*x).rank() == 1 && self.f.ty(*y).rank() == 1 => {
                let x = of(self, *x, &[*i], out);
                let y = if rest.is_empty() { *y } else { of(self, *y, rest, out) };
                Some(Op::Bin(Bin::Mul, x, y))
            }
            (Op::Index { a, at: row, .. }, at) => Some(Op::Index { a: *a, at: [&row[..], at].concat(), shape: None }),
            (Op::Transpose(m), [i, j, rest @ ..]) => Some(Op::Index { a: *m, at: [&[*j, *i], rest].concat(), shape: None }),
            (Op::Transpose(m), [j]) if rank == 2 => self.column(*m, *j, s.span, out),
            (Op::MatMul(x, y), [i, rest @ ..]) if self.f.ty(*x).rank() == 2 => {
                let row = of(self, *x, &[*i], out);
                self.row_times(row, *y, rest, s.span, out)
            }
            (Op::Bin(op, x, y), at) if [x, y].into_iter().all(|v| [0, rank].contains(&(self.f.ty(*v).rank() as usize))) => {
                self.same_shapes(*x, *y, s.span, out);
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

    /// The diagonal of a product, read as places of its numbers in a row: of `outer x y` the products of pairs, of `x @ y` those of rows and columns.
    fn diagonal(&mut self, flat: Var, at: Var, span: Span, out: &mut Vec<Stmt>) -> Option<Op> {
        let facts = self.facts;
        let made = |v: Var| facts.made.get(&v).map(|m| &m.op);
        let (Op::Reshape { a: m, .. }, Op::Bin(Bin::Mul, steps, step)) = (made(flat)?, made(at)?) else { return None };
        let (Op::Prim(Prim::Iota, k), Op::Bin(Bin::Add, width, one)) = (made(*steps)?, made(*step)?) else { return None };
        let places = matches!(made(*width)?, Op::Dim(a, 1) if a == m) && matches!(made(*one)?, Op::Lit(Lit::I64(1)));
        if !places || ![flat, *m].iter().all(|v| facts.once.contains(v)) {
            return None;
        }
        let (zero, rank) = (self.push(Op::Lit(Lit::I64(0)), Ty::I64, span, out), |r: &Self, v: &Var| r.f.ty(*v).rank());
        let mut part = |r: &mut Self, a: Var| {
            let ty = r.f.ty(a).clone();
            r.push(Op::Slice { a, lo: zero, hi: k[0], shape: None }, ty, span, out)
        };
        match made(*m)? {
            Op::Outer(x, y) if rank(self, x) == 1 && rank(self, y) == 1 => {
                let (x, y) = (part(self, *x), part(self, *y));
                Some(Op::Bin(Bin::Mul, x, y))
            }
            Op::MatMul(x, y) if self.order == Order::Free && rank(self, x) == 2 && rank(self, y) == 2 => {
                let x = part(self, *x);
                let ty = self.f.ty(*y).clone();
                let columns = self.push(Op::Transpose(*y), ty.clone(), span, out);
                let y = self.push(Op::Slice { a: columns, lo: zero, hi: k[0], shape: None }, ty, span, out);
                Some(self.products(k[0], x, y))
            }
            _ => None,
        }
    }

    /// The inner products of the rows of two matrices.
    fn products(&mut self, n: Var, x: Var, y: Var) -> Op {
        let (row, number) = (self.f.ty(x).elem(), self.f.ty(x).scalar().clone());
        let params = [Ty::I64, row.clone(), row].map(|t| self.f.fresh(t, false)).to_vec();
        let product = self.f.fresh(number, false);
        let stmts = vec![Stmt { outs: vec![product], lin_outs: Vec::new(), op: Op::Dot(params[1], params[2]), span: Span::default() }];
        let body = Block { params, stmts, results: vec![product], ..Block::default() };
        Op::Loop(Box::new(Loop { turns: Turns::For(n), reverse: false, init: Vec::new(), lin_init: Vec::new(), xs: vec![x, y], lin_xs: Vec::new(), outs: vec![Out::Collect], lin_outs: Vec::new(), body }))
    }

    /// The product of a row and `y`, or an element of it.
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

    /// The error that the operation on whole arrays would be.
    fn same_shapes(&mut self, x: Var, y: Var, span: Span, out: &mut Vec<Stmt>) {
        let rank = self.f.ty(x).rank();
        if x == y || rank != self.f.ty(y).rank() {
            return;
        }
        for k in 0..rank {
            let [n, m] = [x, y].map(|v| self.push(Op::Dim(v, k), Ty::I64, span, out));
            let same = self.push(Op::Cmp(Cmp::Eq, n, m), Ty::Bool, span, out);
            let text = self.push(Op::Lit(Lit::Str("arrays of different shapes".into())), Ty::Str, span, out);
            out.push(Stmt { outs: Vec::new(), lin_outs: Vec::new(), op: Op::Prim(Prim::Assert, vec![same, text]), span });
        }
    }

    /// A loop over the rows of such an array reads them by its index, if it reads elements of them.
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

    /// A column of a matrix, read where its transpose would be made: of an outer product a multiple, of others element by element.
    fn column(&mut self, m: Var, j: Var, span: Span, out: &mut Vec<Stmt>) -> Option<Op> {
        if let Some(Made { op: Op::Outer(x, y), .. }) = self.facts.made.get(&m) {
            if self.f.ty(*x).rank() == 1 && self.f.ty(*y).rank() == 1 {
                let y = self.index(*y, &[j], span, out);
                return Some(Op::Bin(Bin::Mul, *x, y));
            }
        }
        None
    }
}
