//! Random programs of loops, reductions, scans and histograms over vectors of one length: what fusion, hoisting and
//! interchange are about. Most loops read what others make, some in the other direction, some at other indices.

use super::rng::Rng;
use super::rows::Case;
use crate::build::Builder;
use crate::eval::Val;
use crate::func::Var;
use crate::op::{Cmp, Conv, Lit, Loop, Op, Out, Soac, SoacKind, Trip};
use crate::ty::Ty;
use adl_prim::{Bin, Un};

/// The length of all vectors.
const LENGTH: usize = 4;

struct Maps {
    rng: Rng,
    b: Builder,
    /// Vectors of Floats.
    vectors: Vec<Var>,
    numbers: Vec<Var>,
    /// Variables that are the length of the vectors: the parameter, and trip counts.
    lengths: Vec<Var>,
    keys: Var,
    read: Vec<Var>,
}

/// A program of `size` loops, reductions, scans, histograms and operations on entire vectors.
pub fn program(seed: u64, size: usize) -> Case {
    let name = format!("maps {seed}");
    let mut builder = Builder::new(&name);
    let vectors = vec![builder.param(Ty::F64.array(1)), builder.param(Ty::F64.array(1))];
    let (number, length, keys) = (builder.param(Ty::F64), builder.param(Ty::I64), builder.param(Ty::shape()));
    let mut maps = Maps {
        rng: Rng::new(seed),
        b: builder,
        vectors,
        numbers: vec![number],
        lengths: vec![length],
        keys,
        read: vec![],
    };
    (0..size).for_each(|_| maps.step());
    let made = maps.vectors[2..].iter().chain(&maps.numbers[1..]);
    // What is not read is a result, and now and then what is read.
    let unread: Vec<Var> = made.copied().filter(|v| !maps.read.contains(v) || v.0 % 7 == 0).collect();
    let args = vec![
        Val::floats(&[0.3, -1.2, 0.8, 0.45]),
        Val::floats(&[1.1, 0.25, -0.6, 0.9]),
        Val::F64(0.7),
        Val::I64(LENGTH as i64),
        Val::ints(&[2, 0, -1, 2]),
    ];
    Case::new(&name, maps.b.finish(unread, Vec::new()), args)
}

impl Maps {
    /// One of the variables, the newest ones more often.
    fn one_of(&mut self, of: &[Var]) -> Var {
        let k = self.rng.below(of.len()).max(self.rng.below(of.len()));
        self.read.push(of[k]);
        of[k]
    }

    fn vector(&mut self) -> Var {
        self.one_of(&self.vectors.clone())
    }

    fn number(&mut self) -> Var {
        self.one_of(&self.numbers.clone())
    }

    fn step(&mut self) {
        let vector = Ty::F64.array(1);
        match self.rng.below(12) {
            0..=5 => self.map(),
            6 => self.soac(),
            7 => self.histogram(),
            8 => {
                let a = self.vector();
                let made = self.b.one(Op::Reverse(a), vector);
                self.vectors.push(made);
            }
            9 => {
                let (x, y) = (self.vector(), self.vector());
                let op = [Bin::Add, Bin::Mul, Bin::Max][self.rng.below(3)];
                let made = self.b.bin(op, x, y);
                self.vectors.push(made);
            }
            10 => {
                let a = self.vector();
                let made = self.b.one(Op::Sum { a, n: None }, Ty::F64);
                self.numbers.push(made);
            }
            _ => {
                let a = self.vector();
                let made = self.b.dim(a, 0);
                self.lengths.push(made);
            }
        }
    }

    /// A loop that reads some vectors, with one or two outputs, and sometimes a carried number.
    fn map(&mut self) {
        let trip = self.one_of(&self.lengths.clone());
        let xs: Vec<Var> = (0..self.rng.between(1, 2)).map(|_| self.vector()).collect();
        let init: Vec<Var> = if self.rng.once_in(5) { vec![self.number()] } else { Vec::new() };
        let outs: Vec<Out> = (0..self.rng.between(1, 2)).map(|_| self.out()).collect();
        self.b.open();
        let index = self.b.param(Ty::I64);
        let mut known: Vec<Var> = init.iter().chain(&xs).map(|_| self.b.param(Ty::F64)).collect();
        (0..self.rng.between(1, 4)).for_each(|_| {
            let made = self.statement(index, &known);
            known.push(made);
        });
        let results = (0..init.len() + outs.len()).map(|k| known[known.len() - 1 - k % 2]).collect();
        let body = self.b.close(results, Vec::new());
        let tys: Vec<Ty> =
            init.iter().map(|_| Ty::F64).chain(outs.iter().map(|out| of(*out))).chain([Ty::I64]).collect();
        let reverse = self.rng.once_in(4);
        let carried = init.len();
        let ir_loop = Loop { reverse, init, xs, outs: outs.clone(), ..Loop::new(Trip::Count(trip), body) };
        let (made, _) = self.b.emit(Op::Loop(Box::new(ir_loop)), &tys, &[]);
        self.numbers.extend(&made[..carried]);
        for (v, out) in made[carried..].iter().zip(&outs) {
            if *out == Out::Sum { self.numbers.push(*v) } else { self.vectors.push(*v) }
        }
        self.lengths.extend(made.last());
    }

    fn out(&mut self) -> Out {
        if self.rng.once_in(4) { Out::Sum } else { Out::Collect }
    }

    /// A statement in a loop, on the numbers that are known there.
    fn statement(&mut self, index: Var, known: &[Var]) -> Var {
        let operand = known[self.rng.below(known.len()).max(self.rng.below(known.len()))];
        let y = if self.rng.once_in(3) { self.number() } else { known[self.rng.below(known.len())] };
        match self.rng.below(9) {
            0 => self.b.un(Un::Sin, operand),
            1 => self.b.un(Un::Tanh, operand),
            2 => self.b.bin(Bin::Add, operand, y),
            3 => self.b.bin(Bin::Sub, operand, y),
            4 => self.damped(operand, y),
            5 => {
                let first = self.b.cmp(Cmp::Lt, operand, y);
                self.b.one(Op::Select(first, y, operand), Ty::F64)
            }
            6 => {
                let i = self.b.convert(Conv::ToF64, index);
                self.damped(i, operand)
            }
            7 => self.read_at(index),
            _ => {
                let a = self.vector();
                self.b.one(Op::Index { a, at: vec![index], shape: None }, Ty::F64)
            }
        }
    }

    /// An element of a vector at another index: 0, or counted from the end.
    fn read_at(&mut self, index: Var) -> Var {
        let a = self.vector();
        let at = if self.rng.once_in(2) {
            self.b.int(0)
        } else {
            let last = self.b.int(LENGTH as i64 - 1);
            self.b.bin(Bin::Sub, last, index)
        };
        self.b.one(Op::Index { a, at: vec![at], shape: None }, Ty::F64)
    }

    /// A product that stays small.
    fn damped(&mut self, x: Var, y: Var) -> Var {
        let y = self.b.un(Un::Tanh, y);
        self.b.bin(Bin::Mul, x, y)
    }

    /// The operator of a reduction, scan or histogram, and its neutral element.
    fn operator(&mut self) -> (crate::func::Block, Var) {
        let op = [Bin::Add, Bin::Max, Bin::Mul][self.rng.below(3)];
        let neutral = match op {
            Bin::Add => 0.0,
            Bin::Max => -100.0,
            _ => 1.0,
        };
        let neutral = self.b.lit(Lit::F64(neutral));
        self.b.open();
        let (x, y) = (self.b.param(Ty::F64), self.b.param(Ty::F64));
        let made = self.b.bin(op, x, y);
        (self.b.close(vec![made], Vec::new()), neutral)
    }

    fn soac(&mut self) {
        let a = self.vector();
        let (op, neutral) = self.operator();
        let kind = [SoacKind::Reduce, SoacKind::Scan, SoacKind::ScanExclusive][self.rng.below(3)];
        let soac = Op::Soac(Box::new(Soac { kind, op, neutral: vec![neutral], arrays: vec![a] }));
        if kind == SoacKind::Reduce {
            let made = self.b.one(soac, Ty::F64);
            self.numbers.push(made);
        } else {
            let made = self.b.one(soac, Ty::F64.array(1));
            self.vectors.push(made);
        }
    }

    fn histogram(&mut self) {
        let (dest, values, keys) = (self.vector(), self.vector(), self.keys);
        let (op, neutral) = self.operator();
        let histogram = Op::ReduceByIndex {
            dest: vec![dest],
            op: Box::new(op),
            neutral: vec![neutral],
            keys,
            values: vec![values],
        };
        let made = self.b.one(histogram, Ty::F64.array(1));
        self.vectors.push(made);
    }
}

/// The type of what an output makes of numbers.
fn of(out: Out) -> Ty {
    if out == Out::Sum { Ty::F64 } else { Ty::F64.array(1) }
}
