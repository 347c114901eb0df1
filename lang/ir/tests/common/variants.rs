//! The same applications of operations to other arguments: empty arrays, single elements, zeros, negative numbers, and
//! numbers that are not finite.
#![allow(dead_code)]

use adl_ir::eval::{Val, run};
use adl_ir::generate::rows::{self, Case};
use adl_ir::{Op, Ty};

/// What the arguments of a case are changed to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Variant {
    /// Arrays without elements.
    Empty,
    /// Arrays of one element.
    Single,
    /// Arrays with one more row: extents that were equal still are, but others are not.
    Longer,
    /// Zeros.
    Zeros,
    /// Reals of the other sign.
    Negative,
    /// Equal reals: ties.
    Ties,
    /// Infinities, `nan` and -0.0 among the reals.
    NotFinite,
}

/// All variants.
pub const ALL: [Variant; 7] = [
    Variant::Empty,
    Variant::Single,
    Variant::Longer,
    Variant::Zeros,
    Variant::Negative,
    Variant::Ties,
    Variant::NotFinite,
];

/// A value with each real changed; `k` counts them.
fn reals(val: &Val, k: &mut usize, f: &dyn Fn(usize, f64) -> f64) -> Val {
    *k += 1;
    match val {
        Val::F64(x) => Val::F64(f(*k, *x)),
        Val::F32(x) => Val::F32(f(*k, f64::from(*x)) as f32),
        Val::Array(a) => {
            let elems = a.elems.iter().map(|e| reals(e, k, f)).collect();
            Val::array(a.shape.clone(), elems)
        }
        other => other.clone(),
    }
}

/// An array with other extents, all of whose elements it had. Other values stay as they are.
fn rows_of(val: &Val, rows: impl Fn(usize) -> usize, others: impl Fn(usize) -> usize) -> Val {
    let Val::Array(a) = val else { return val.clone() };
    // Lists of Ints may be shapes.
    let list = a.shape.len() == 1 && matches!(a.elems.first(), Some(Val::I64(_)));
    if list || a.elems.is_empty() {
        return val.clone();
    }
    let shape: Vec<usize> =
        a.shape.iter().enumerate().map(|(k, n)| if k == 0 { rows(*n) } else { others(*n) }).collect();
    let size = shape.iter().product();
    Val::array(shape, a.elems.iter().cycle().take(size).cloned().collect())
}

impl Variant {
    fn of(self, val: &Val) -> Val {
        let special = [f64::NAN, f64::INFINITY, -0.0, f64::NEG_INFINITY, 1.5];
        let change = |f: &dyn Fn(usize, f64) -> f64| reals(val, &mut 0, f);
        match self {
            Variant::Empty => rows_of(val, |_| 0, |_| 0),
            Variant::Single => rows_of(val, |_| 1, |_| 1),
            Variant::Longer => rows_of(val, |n| n + 1, |n| n),
            Variant::Zeros => change(&|_, _| 0.0),
            Variant::Negative => change(&|_, x| -x),
            Variant::Ties => change(&|_, _| 0.75),
            Variant::NotFinite => change(&|k, _| special[k % special.len()]),
        }
    }

    /// Whether all numbers stay where functions are smooth.
    pub fn smooth(self) -> bool {
        matches!(self, Variant::Empty | Variant::Single | Variant::Longer)
    }
}

/// A case at other arguments, with what the reference evaluator gives there.
pub fn at(case: &Case, variant: Variant) -> Case {
    let args: Vec<Val> = case.args.iter().map(|arg| variant.of(arg)).collect();
    let results = run(&case.program, case.main, &args, &[]).map(|out| out.results).map_err(|e| e.message);
    Case { name: format!("{} ({variant:?})", case.name), args, results, ..case.clone() }
}

/// All applications of operations that are `suitable`, at all variants of their arguments. An empty array has no type in
/// the reference evaluator, so that it answers for built-ins as if there had been Floats.
pub fn instances(scalar: &Ty, suitable: impl Fn(&Op) -> bool) -> Vec<Case> {
    let mut out = Vec::new();
    for case in rows::instances(scalar).into_iter().filter(|case| case.op().is_some_and(&suitable)) {
        let untyped = matches!(case.op(), Some(Op::Prim(..))) && *scalar != Ty::F64;
        let variants = ALL.into_iter().filter(|variant| *variant != Variant::Empty || !untyped);
        out.extend(variants.map(|variant| at(&case, variant)));
    }
    out
}
