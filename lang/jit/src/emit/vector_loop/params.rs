//! The layout of a kernel's parameter words, some of which the kernel updates.

use super::plan::{Carry, Int, Node, VectorPlan};
use crate::handle::ValueForm;
use adl_ir::{Function, Ty, Var};
use cranelift_codegen::ir::{Type, types};
use std::collections::HashMap;

/// The index of each parameter word. The first word is the trip count.
#[derive(Default)]
pub(super) struct KernelParams {
    /// The address of an array's elements, followed by its extents.
    pub arrays: Vec<usize>,
    /// The same for arrays that are accumulated to.
    pub sums: Vec<usize>,
    pub numbers: HashMap<Var, usize>,
    pub ints: HashMap<Node, usize>,
    /// Carried numbers, by index among the carried values.
    pub folds: HashMap<usize, usize>,
    /// Addresses of the outputs.
    pub outs: Vec<usize>,
    /// The words that are Floats.
    pub floats: HashMap<usize, Type>,
    pub len: usize,
}

impl KernelParams {
    /// Assigns the words of a plan with `outs` outputs that are materialised.
    pub(super) fn of(f: &Function, vector_plan: &VectorPlan, outs: usize) -> KernelParams {
        let mut params = KernelParams { len: 1, ..KernelParams::default() };
        let rank = |v: Var| ValueForm::of(f.ty(v)).rank();
        params.arrays = vector_plan.arrays.iter().map(|v| params.take(1 + rank(*v))).collect();
        params.sums = vector_plan.sums.iter().map(|s| params.take(1 + rank(s.init))).collect();
        for v in &vector_plan.numbers {
            let at = params.take(1);
            params.numbers.insert(*v, at);
            if *f.ty(*v) == Ty::F64 {
                params.floats.insert(at, types::F64);
            }
        }
        for (n, i) in vector_plan.ints.iter().enumerate() {
            if let Int::Outside(_) = i.op {
                let at = params.take(1);
                params.ints.insert(n, at);
            }
        }
        for (k, c) in vector_plan.carry.iter().enumerate() {
            if *c == Carry::Fold {
                let at = params.take(1);
                params.folds.insert(k, at);
            }
        }
        params.outs = (0..outs).map(|_| params.take(1)).collect();
        params
    }

    fn take(&mut self, n: usize) -> usize {
        self.len += n;
        self.len - n
    }
}
