//! Traversal of operands: one list of them, for reading and for replacing.

use crate::func::Var;
use crate::op::{Op, Trip};
use std::iter::{empty, once};

/// Calls a function with a reference to each operand of the operation itself, in the order of the fields.
macro_rules! operands {
    ($op:expr, $one:ident $(, $mut:tt)?) => {{
        #[allow(unused_mut)]
        let mut one = $one;
        match $op {
            Op::Lit(_) | Op::Zero(_) => {}
            Op::Un(_, a) | Op::Not(a) | Op::Convert(_, a) | Op::Dim(a, _) | Op::Shape(a) | Op::Size(a) | Op::Reverse(a) | Op::Transpose(a) => one(a),
            Op::Nonzero(a) | Op::Zeros(a) | Op::Dup(a) | Op::Drop(a) | Op::Cumsum { a, .. } | Op::Destruct { a, .. } => one(a),
            Op::Bin(_, a, b) | Op::Cmp(_, a, b) | Op::Dot(a, b) | Op::MatMul(a, b) | Op::Outer(a, b) => [a, b].into_iter().for_each(one),
            Op::Contract(c) => {
                once(&$($mut)? c.a).chain([&$($mut)? c.b]).chain(&$($mut)? c.size).for_each(one);
            }
            Op::Select(c, a, b) => [c, a, b].into_iter().for_each(one),
            Op::Prim(_, vs) | Op::Construct { fields: vs, .. } => empty().chain(vs).for_each(one),
            Op::Index { a, at, shape } => once(a).chain(at).chain(shape).for_each(one),
            Op::ArrayLit { elems, shape } => empty().chain(elems).chain(shape).for_each(one),
            Op::IndexAdd { acc, at, v, shape } | Op::IndexSet { acc, at, v, shape } => once(acc).chain(at).chain([v]).chain(shape).for_each(one),
            Op::Slice { a, lo, hi, shape } => [a, lo, hi].into_iter().chain(shape).for_each(one),
            Op::SliceAdd { acc, lo, hi, v, shape } => [acc, lo, hi, v].into_iter().chain(shape).for_each(one),
            Op::Gather { a, at, shape } => [a, at].into_iter().chain(shape).for_each(one),
            Op::GatherAdd { acc, at, v, shape } => [acc, at, v].into_iter().chain(shape).for_each(one),
            Op::Rotate { n, a } | Op::Replicate { n, a } => [n, a].into_iter().for_each(one),
            Op::Concat { a, b, len, shape } => [a, b].into_iter().chain(len).chain(shape).for_each(one),
            Op::Reshape { a, to, from } => [a, to].into_iter().chain(from).for_each(one),
            Op::Sum { a, n } => once(a).chain(n).for_each(one),
            Op::Broadcast { a, shape } => [a, shape].into_iter().for_each(one),
            Op::SumAll { a, shape } => once(a).chain(shape).for_each(one),
            Op::If(c, ..) | Op::Switch(c, _) => one(c),
            Op::Loop(l) => {
                if let Trip::Count(n) = &$($mut)? l.trip {
                    one(n);
                }
                empty().chain(&$($mut)? l.init).chain(&$($mut)? l.lin_init).chain(&$($mut)? l.xs).chain(&$($mut)? l.lin_xs).for_each(one);
            }
            Op::Call { args, lin_args, .. } => empty().chain(args).chain(lin_args).for_each(one),
            Op::Soac(s) => empty().chain(&$($mut)? s.neutral).chain(&$($mut)? s.arrays).for_each(one),
            Op::ReduceByIndex { dest, neutral, keys, values, .. } => empty().chain(dest).chain(neutral).chain([keys]).chain(values).for_each(one),
        }
    }};
}

impl Op {
    /// Calls `f` with each operand of the operation itself, linear or not. Nested blocks are not visited.
    pub fn each_operand(&self, f: &mut dyn FnMut(Var)) {
        let see = |v: &Var| f(*v);
        operands!(self, see);
    }

    /// Replaces each operand of the operation itself. Nested blocks are not changed.
    pub fn map_operands(&mut self, f: &mut dyn FnMut(Var) -> Var) {
        let replace = |v: &mut Var| *v = f(*v);
        operands!(self, replace, mut);
    }
}
