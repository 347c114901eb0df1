//! Tests by the reference evaluator, at a few points, whether an operator is associative. `reduce` requires
//! associativity, but an operator whose meaning depends on evaluation from left to right must not be differentiated
//! by a rule that assumes it.

use crate::limits::soac_laws::FUEL;
use adl_ir::eval::{Evaluator, Simple, Val};
use adl_ir::{Block, Function, Program, Ty, Var};

/// The outcome of a trial.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TrialOutcome {
    Holds,
    Fails,
    /// The operator could not be run on generated arguments.
    Unknown,
}

/// An operator that can be run.
pub(super) struct Trial {
    program: Program,
    f: adl_ir::FnId,
    tys: Vec<Ty>,
    free: Vec<Val>,
}

impl Trial {
    /// `func` has the operator's variables, and `known` the values of captured ones. `None` if it cannot be run.
    pub(super) fn new(p: &Program, func: &Function, op: &Block, known: &dyn Fn(Var) -> Option<Val>) -> Option<Trial> {
        let mut program = p.clone();
        let free: Vec<Var> = {
            let mut vs: Vec<Var> = adl_ir::rewrite::free(func, op).into_iter().collect();
            vs.sort_unstable();
            vs
        };
        let mut rng = RandomValues(11);
        let vals =
            free.iter().map(|v| known(*v).or_else(|| rng.value(func.ty(*v), false))).collect::<Option<Vec<_>>>()?;
        let tys = func.tys(&op.params[..op.results.len()]);
        let body = Block { params: [&op.params[..], &free].concat(), ..op.clone() };
        let f =
            program.add(Function { name: "operator".to_owned(), vars: func.vars.clone(), body, ..Function::default() });
        Some(Trial { program, f, tys, free: vals })
    }

    fn run(&self, a: &[Val], b: &[Val]) -> Option<Vec<Val>> {
        let mut host = Simple;
        let mut e = Evaluator::new(&self.program, &mut host);
        e.fuel = FUEL;
        e.run(self.f, &[a, b, &self.free].concat(), &[]).ok().map(|o| o.results)
    }

    /// Whether (a b) c = a (b c).
    pub(super) fn associative(&self) -> TrialOutcome {
        let mut rng = RandomValues(5);
        let mut seen = 0;
        for k in 0..6 {
            let mut draw = || self.tys.iter().map(|t| rng.value(t, k % 2 == 1)).collect::<Option<Vec<_>>>();
            let (Some(a), Some(b), Some(c)) = (draw(), draw(), draw()) else { return TrialOutcome::Unknown };
            let left = self.run(&a, &b).and_then(|ab| self.run(&ab, &c));
            let right = self.run(&b, &c).and_then(|bc| self.run(&a, &bc));
            match (left, right) {
                (Some(l), Some(r)) if same(&l, &r) => seen += 1,
                (Some(l), Some(r)) if !is_inconclusive(&l) && !is_inconclusive(&r) => return TrialOutcome::Fails,
                _ => {}
            }
        }
        if seen > 1 { TrialOutcome::Holds } else { TrialOutcome::Unknown }
    }

    /// Whether e a = a and a e = a.
    pub(super) fn neutral(&self, e: &[Val]) -> bool {
        let mut rng = RandomValues(9);
        (0..4).all(|k| {
            let Some(a) = self.tys.iter().map(|t| rng.value(t, k % 2 == 1)).collect::<Option<Vec<_>>>() else {
                return false;
            };
            let both = self.run(e, &a).zip(self.run(&a, e));
            both.is_some_and(|(l, r)| same(&l, &a) && same(&r, &a))
        })
    }
}

/// Whether there are infinities or nan among the values; such a trial is inconclusive.
fn is_inconclusive(vs: &[Val]) -> bool {
    let mut bad = false;
    vs.iter().for_each(|v| leaves(v, &mut |x| bad |= x.float().is_some_and(|x| !x.is_finite())));
    bad
}

fn leaves(v: &Val, see: &mut dyn FnMut(&Val)) {
    match v {
        Val::Array(a) => a.elems.iter().for_each(|x| leaves(x, see)),
        other => see(other),
    }
}

fn same(a: &[Val], b: &[Val]) -> bool {
    let flat = |vs: &[Val]| {
        let mut out = Vec::new();
        vs.iter().for_each(|v| leaves(v, &mut |x| out.push(x.clone())));
        out
    };
    let (a, b) = (flat(a), flat(b));
    a.len() == b.len()
        && a.iter().zip(&b).all(|(x, y)| match (x, y) {
            (Val::F32(x), Val::F32(y)) => (x - y).abs() <= 1e-5 * (1.0 + x.abs().max(y.abs())) || x == y,
            (Val::F64(x), Val::F64(y)) => (x - y).abs() <= 1e-9 * (1.0 + x.abs().max(y.abs())) || x == y,
            _ => x == y,
        })
}

/// A small random number generator.
struct RandomValues(u64);

impl RandomValues {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as f64) / f64::from(1u32 << 31)
    }

    /// A random value. Real numbers are positive unless `signed` is set.
    fn value(&mut self, ty: &Ty, signed: bool) -> Option<Val> {
        let real = |r: &mut RandomValues| if signed { 2.0 * r.next() - 1.0 } else { 0.5 + r.next() };
        match ty {
            Ty::F64 => Some(Val::F64(real(self))),
            Ty::F32 => Some(Val::F32(real(self) as f32)),
            Ty::I64 => Some(Val::I64((self.next() * 5.0) as i64)),
            Ty::Bool => Some(Val::Bool(self.next() > 0.5)),
            Ty::Array(e, r) if e.is_flat() => {
                let elems = (0..1usize << r).map(|_| self.value(e, signed)).collect::<Option<Vec<_>>>()?;
                Some(Val::array(vec![2; *r as usize], elems))
            }
            Ty::Array(..) | Ty::Str | Ty::Data(_) => None,
        }
    }
}
