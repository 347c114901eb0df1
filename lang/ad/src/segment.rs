//! Checkpointing of loops by segments: fewer states are stored, and more is recomputed.
//!
//! The transformations act on a function before J. They move iterations into functions whose calls are
//! *checkpoints*: reverse mode stores only the arguments of such a call, and runs it again when it needs the
//! intermediates. Results have the same values. Because T adds cotangents in the same order, gradients have the
//! same bits.
//!
//! - [`Segments::Sqrt`]: about √n segments of √n iterations. One more run of the primal; memory O(√n).
//! - [`Segments::Partial`] k: the same for the first iterations; the intermediates of the last k/256 are stored.
//!   Memory and extra work lie between those of [`Segments::Sqrt`] and those of storing everything.
//! - [`Segments::Revolve`] k: binomial checkpointing by recursive bisection (Griewank and Walther's revolve): with
//!   k states and r repetitions, C(k + r, r) iterations can be reversed. With fewer states than repetitions,
//!   intervals are halved. Memory O(k + log n).
//!
//! Loops without carried state, loops that collect outputs, loops with effects, which must run once, and `while` loops
//! stay as they are.

use crate::Ad;
pub use crate::results::Segments;
use adl_ir::rewrite::compact::compact;
use adl_ir::rewrite::{dce, rename};
use adl_ir::{Block, Builder, Cmp, Conv, FnId, Function, Loop, Op, Program, Stmt, Trip, Ty, Var};
use adl_prim::{Bin, Un};
use std::collections::HashMap;

/// Number of parts in which [`Segments::Partial`] measures iterations.
pub const PARTS: u32 = 256;

impl Ad {
    /// The function and its callees, with segmented loops.
    pub fn segmented(&mut self, program: &mut Program, func_id: FnId, how: Segments) -> FnId {
        if how == Segments::None {
            return func_id;
        }
        if let Some(g) = self.jvp.segments.get(&(func_id, how)) {
            return *g;
        }
        // Segments the prepared source. Small arrays are scalars by now, so that cotangents are added in the order
        // of the original loop.
        let arrays = self.arrays(program, func_id);
        let src = self.prepared(program, func_id, arrays);
        // Recursive callers need the signature before the body exists.
        let id = program.add(Function { body: Block { stmts: Vec::new(), ..src.body.clone() }, ..(*src).clone() });
        self.jvp.segments.insert((func_id, how), id);
        let symbolic_zero = self.may_hold_zeros(func_id);
        let mut segmenter = Segmenter {
            ad: self,
            p: program,
            how,
            symbolic_zero,
            constants: constants(&src.body),
            b: Builder::on((*src).clone()),
        };
        segmenter.like_source(id);
        // Functions that run segments receive arrays of the source.
        segmenter.symbolic_zero |= !adl_opt::shapes::own_symbolic_zeros(&src).is_empty();
        segmenter.b.adopt(&src.body.params, &[]);
        segmenter.stmts(&src.body);
        let out = segmenter.b.finish(src.body.results.clone(), Vec::new());
        let out = without_dead_code(out);
        crate::check::made("segment", program, &out);
        program.set(id, out);
        id
    }
}

/// Removes dead code and unused variables. Nothing else is simplified: where the source was not, sums would be added in
/// another order.
fn without_dead_code(mut f: Function) -> Function {
    dce::remove_dead(&mut f);
    compact(&mut f);
    f
}

struct Segmenter<'a> {
    ad: &'a mut Ad,
    p: &'a mut Program,
    how: Segments,
    /// Whether arrays that the functions made here receive may be symbolic zeros.
    symbolic_zero: bool,
    /// The constants of the source. A segment repeats those that it reads, because derivative rules look for them: for
    /// the neutral element of a reduction, say.
    constants: HashMap<Var, Op>,
    b: Builder,
}

impl Segmenter<'_> {
    fn stmts(&mut self, block: &Block) {
        for stmt in &block.stmts {
            self.b.span = stmt.span;
            match &stmt.op {
                Op::Loop(l) if suits(&self.b.func, l) => self.divided(stmt, l),
                Op::Call { f, args, rule: None, checkpoint, .. } => {
                    let f = self.ad.segmented(self.p, *f, self.how);
                    self.b.push(Stmt {
                        op: Op::Call {
                            f,
                            args: args.clone(),
                            lin_args: Vec::new(),
                            rule: None,
                            checkpoint: *checkpoint,
                        },
                        ..stmt.clone()
                    });
                }
                _ => {
                    let mut s = stmt.clone();
                    for part in s.op.blocks_mut() {
                        *part = self.inner(part);
                    }
                    self.b.push(s);
                }
            }
        }
    }

    fn inner(&mut self, b: &Block) -> Block {
        self.b.open();
        self.b.adopt(&b.params, &[]);
        self.stmts(b);
        self.b.close(b.results.clone(), Vec::new())
    }

    /// Emits a loop in segments.
    fn divided(&mut self, stmt: &Stmt, ir_loop: &Loop) {
        let Trip::Count(count) = ir_loop.trip else { return };
        let mut outside: Vec<Var> = adl_ir::rewrite::free(&self.b.func, &ir_loop.body).into_iter().collect();
        outside.sort_unstable();
        let (constants, outside): (Vec<Var>, Vec<Var>) =
            outside.into_iter().partition(|v| self.constants.contains_key(v));
        let part = self.segment(ir_loop, &outside, &constants);
        let carried = ir_loop.init.len();
        let tys: Vec<Ty> = ir_loop.init.iter().map(|v| self.b.ty(*v)).collect();
        let rest = [&ir_loop.xs[..], &outside].concat();
        let results = match self.how {
            Segments::Revolve(k) => {
                let f = self.halving(part, &tys, &rest);
                let (zero, k) = (self.b.int(0), self.b.int(i64::from(k.max(1))));
                let args = [&[zero, count, k], &rest[..], &ir_loop.init].concat();
                self.b.emit(checkpoint(f, args), &tys, &[]).0
            }
            Segments::Partial(k) => {
                let first = self.first_iterations(count, k);
                let state = self.root_segments(part, first, ir_loop, &tys, &rest);
                let last = Op::Call {
                    f: part,
                    args: [&[first, count], &rest[..], &state].concat(),
                    lin_args: Vec::new(),
                    rule: None,
                    checkpoint: false,
                };
                self.b.emit(last, &tys, &[]).0
            }
            Segments::None | Segments::Sqrt => self.root_segments(part, count, ir_loop, &tys, &rest),
        };
        let names: HashMap<Var, Var> = results.into_iter().zip(stmt.outs[..carried].iter().copied()).collect();
        self.b.rename_outs(&names);
        let trip = stmt.outs[carried];
        let zero = self.b.int(0);
        self.b.push(Stmt {
            outs: vec![trip],
            lin_outs: Vec::new(),
            op: Op::Bin(Bin::Add, count, zero),
            span: stmt.span,
        });
    }

    /// The function `segment lo hi xs… outside… carry…`, which runs the iterations from `lo` to `hi`. The carried
    /// values come last: if the initial value is a variable that the body reads too, T then adds cotangents in the
    /// order of the original loop.
    fn segment(&mut self, ir_loop: &Loop, outside: &[Var], constants: &[Var]) -> FnId {
        let mut builder = Builder::new("segment");
        builder.span = self.b.span;
        let (lo, hi) = (builder.param(Ty::I64), builder.param(Ty::I64));
        let xs: Vec<Var> = ir_loop.xs.iter().map(|v| builder.param(self.b.ty(*v))).collect();
        let mut names: HashMap<Var, Var> = HashMap::new();
        for v in outside {
            let x = builder.param(self.b.ty(*v));
            names.insert(*v, x);
        }
        let carry: Vec<Var> = ir_loop.init.iter().map(|v| builder.param(self.b.ty(*v))).collect();
        for v in constants {
            let x = builder.one(self.constants[v].clone(), self.b.ty(*v));
            names.insert(*v, x);
        }
        let count = builder.bin(Bin::Sub, hi, lo);
        let parts: Vec<Var> = xs
            .iter()
            .map(|x| {
                let ty = builder.ty(*x);
                builder.one(Op::Slice { a: *x, lo, hi, shape: None }, ty)
            })
            .collect();
        let body = self.iteration(&mut builder, ir_loop, lo, names);
        let tys: Vec<Ty> = carry.iter().map(|v| builder.ty(*v)).collect();
        let made = Loop { init: carry, xs: parts, ..Loop::new(Trip::Count(count), body) };
        let (outs, _) = builder.emit(Op::Loop(Box::new(made)), &[&tys[..], &[Ty::I64]].concat(), &[]);
        let f = builder.finish(outs[..tys.len()].to_vec(), Vec::new());
        let id = self.p.add(without_dead_code(f));
        let captured = 2 + ir_loop.xs.len();
        self.ad.jvp.captures.insert(id, captured..captured + outside.len());
        self.like_source(id)
    }

    /// Adds a function that may contain symbolic zeros if the source may, and that J takes as it is.
    fn like_source(&mut self, id: FnId) -> FnId {
        self.ad.jvp.taken_as_is.insert(id);
        if self.symbolic_zero {
            self.ad.symbolic_zero.insert(id);
        }
        id
    }

    /// The loop's body in another function, with indices counted from `lo`. Loops inside of it are not segmented.
    fn iteration(&mut self, builder: &mut Builder, l: &Loop, lo: Var, mut names: HashMap<Var, Var>) -> Block {
        // The body's variables belong to the source function, so their descriptions are copied first.
        let at = builder.func.vars.len() as u32;
        builder.func.vars.extend(self.b.func.vars.iter().cloned());
        let mut body = l.body.clone();
        let mut shift: HashMap<Var, Var> = (0..self.b.func.vars.len() as u32).map(|k| (Var(k), Var(k + at))).collect();
        shift.extend(names.drain());
        rename::renumber(&mut body, &|v| *shift.get(&v).unwrap_or(&v));
        let local = builder.func.fresh(Ty::I64, false);
        let index = std::mem::replace(&mut body.params[0], local);
        body.stmts.insert(
            0,
            Stmt { outs: vec![index], lin_outs: Vec::new(), op: Op::Bin(Bin::Add, lo, local), span: builder.span },
        );
        body
    }

    /// The number of those of `n` iterations that precede the last `k` of [`PARTS`] parts.
    fn first_iterations(&mut self, n: Var, k: u32) -> Var {
        let (parts, left, zero) =
            (self.b.int(i64::from(PARTS)), self.b.int(i64::from(PARTS.saturating_sub(k))), self.b.int(0));
        // Divides first, so that the product of a large count does not overflow.
        let (whole, rest) = (self.b.bin(Bin::IntDiv, n, parts), self.b.bin(Bin::Rem, n, parts));
        let (whole, rest) = (self.b.bin(Bin::Mul, whole, left), self.b.bin(Bin::Mul, rest, left));
        let rest = self.b.bin(Bin::IntDiv, rest, parts);
        let first = self.b.bin(Bin::Add, whole, rest);
        self.b.bin(Bin::Max, first, zero)
    }

    /// Emits a loop over √n segments.
    fn root_segments(&mut self, part: FnId, total: Var, ir_loop: &Loop, tys: &[Ty], rest: &[Var]) -> Vec<Var> {
        let x = self.b.convert(Conv::ToF64, total);
        let root = self.b.un(Un::Sqrt, x);
        let root = self.b.un(Un::Ceil, root);
        let (one, zero) = (self.b.int(1), self.b.int(0));
        let len = self.b.convert(Conv::ToI64, root);
        let len = self.b.bin(Bin::Max, len, one);
        // n / len, rounded up.
        let up = self.b.bin(Bin::Add, total, len);
        let up = self.b.bin(Bin::Sub, up, one);
        let count = self.b.bin(Bin::IntDiv, up, len);
        let count = self.b.bin(Bin::Max, count, zero);
        self.b.open();
        let k = self.b.param(Ty::I64);
        let carry: Vec<Var> = tys.iter().map(|t| self.b.param(t.clone())).collect();
        let lo = self.b.bin(Bin::Mul, k, len);
        let hi = self.b.bin(Bin::Add, lo, len);
        let hi = self.b.bin(Bin::Min, hi, total);
        let (next, _) = self.b.emit(checkpoint(part, [&[lo, hi], rest, &carry[..]].concat()), tys, &[]);
        let body = self.b.close(next, Vec::new());
        let made = Loop { trip: Trip::Count(count), body, xs: Vec::new(), outs: Vec::new(), ..ir_loop.clone() };
        let (outs, _) = self.b.emit(Op::Loop(Box::new(made)), &[tys, &[Ty::I64]].concat(), &[]);
        outs[..tys.len()].to_vec()
    }

    /// The function `halves lo len states rest… carry…`, which runs `len` iterations from `lo` with `states` states.
    fn halving(&mut self, part: FnId, tys: &[Ty], rest: &[Var]) -> FnId {
        let id = self.p.reserve("halves");
        self.like_source(id);
        // One parameter more than `part` has: the number of states.
        let captured = self.ad.jvp.captures[&part].clone();
        self.ad.jvp.captures.insert(id, captured.start + 1..captured.end + 1);
        let mut builder = Builder::new("halves");
        builder.span = self.b.span;
        let (lo, len, states) = (builder.param(Ty::I64), builder.param(Ty::I64), builder.param(Ty::I64));
        let rest: Vec<Var> = rest.iter().map(|v| builder.param(self.b.ty(*v))).collect();
        let carry: Vec<Var> = tys.iter().map(|t| builder.param(t.clone())).collect();
        let end = builder.bin(Bin::Add, lo, len);
        let few = builder.cmp(Cmp::Le, len, states);
        builder.open();
        let direct = Op::Call {
            f: part,
            args: [&[lo, end], &rest[..], &carry].concat(),
            lin_args: Vec::new(),
            rule: None,
            checkpoint: false,
        };
        let (all, _) = builder.emit(direct, tys, &[]);
        let yes = builder.close(all, Vec::new());
        builder.open();
        let m = middle(&mut builder, len, states);
        let one = builder.int(1);
        let (first, _) = builder.emit(checkpoint(id, [&[lo, m, states], &rest[..], &carry].concat()), tys, &[]);
        let from = builder.bin(Bin::Add, lo, m);
        let left = builder.bin(Bin::Sub, len, m);
        let fewer = builder.bin(Bin::Sub, states, one);
        let fewer = builder.bin(Bin::Max, fewer, one);
        let (second, _) = builder.emit(checkpoint(id, [&[from, left, fewer], &rest[..], &first].concat()), tys, &[]);
        let no = builder.close(second, Vec::new());
        let (outs, _) = builder.emit(Op::If(few, Box::new(yes), Box::new(no)), tys, &[]);
        let f = builder.finish(outs, Vec::new());
        self.p.set(id, without_dead_code(f));
        id
    }
}

/// The constants that a block and its nested blocks define.
fn constants(b: &Block) -> HashMap<Var, Op> {
    let (mut found, mut work) = (HashMap::new(), vec![b]);
    while let Some(b) = work.pop() {
        for s in &b.stmts {
            if let (Op::Lit(_) | Op::Zero(_), [out]) = (&s.op, s.outs.as_slice()) {
                found.insert(*out, s.op.clone());
            }
            work.extend(s.op.blocks());
        }
    }
    found
}

fn checkpoint(f: FnId, args: Vec<Var>) -> Op {
    Op::Call { f, args, lin_args: Vec::new(), rule: None, checkpoint: true }
}

fn suits(f: &Function, l: &Loop) -> bool {
    // If an array is read by elements and also as a whole, or carried, segments would change the order in which its
    // cotangents are added.
    let twice = || {
        let outside = adl_ir::rewrite::free(f, &l.body);
        l.xs.iter().any(|x| outside.contains(x) || l.init.contains(x))
    };
    let divisible = matches!(l.trip, Trip::Count(_)) && !l.reverse && !l.init.is_empty() && l.outs.is_empty();
    divisible && !crate::soac::has_output(&l.body) && !twice()
}

/// Where to divide `len` iterations with `states` states. Of the C(k + r, r) iterations that can be reversed with r
/// repetitions, the first part has the C(k + r - 1, r - 1) that can be reversed with one repetition fewer. Calls
/// nest k + r deep, and each stores its state. If that needs more repetitions than states, the interval is halved,
/// and calls nest log n deep.
fn middle(builder: &mut Builder, len: Var, states: Var) -> Var {
    let (zero, one) = (builder.int(0), builder.int(1));
    builder.open();
    let (repeats, beta) = (builder.param(Ty::I64), builder.param(Ty::I64));
    let more = builder.cmp(Cmp::Lt, beta, len);
    let few = builder.cmp(Cmp::Le, repeats, states);
    let on = builder.one(Op::Select(few, more, few), Ty::Bool);
    let cond = builder.close(vec![on], Vec::new());
    builder.open();
    let (_, repeats, beta2) = (builder.param(Ty::I64), builder.param(Ty::I64), builder.param(Ty::I64));
    let next_repeats = builder.bin(Bin::Add, repeats, one);
    let up = builder.bin(Bin::Add, states, next_repeats);
    let grown = builder.bin(Bin::Mul, beta2, up);
    let grown = builder.bin(Bin::IntDiv, grown, next_repeats);
    let body = builder.close(vec![next_repeats, grown], Vec::new());
    let made = Loop { init: vec![zero, one], ..Loop::new(Trip::While(cond), body) };
    let (outs, _) = builder.emit(Op::Loop(Box::new(made)), &[Ty::I64, Ty::I64, Ty::I64], &[]);
    let (repeats, beta) = (outs[0], outs[1]);
    let part = builder.bin(Bin::Mul, beta, repeats);
    let whole = builder.bin(Bin::Add, states, repeats);
    let m = builder.bin(Bin::IntDiv, part, whole);
    let two = builder.int(2);
    let half = builder.bin(Bin::IntDiv, len, two);
    let few = builder.cmp(Cmp::Le, repeats, states);
    let m = builder.one(Op::Select(few, m, half), Ty::I64);
    let last = builder.bin(Bin::Sub, len, one);
    let m = builder.bin(Bin::Min, m, last);
    builder.bin(Bin::Max, m, one)
}
