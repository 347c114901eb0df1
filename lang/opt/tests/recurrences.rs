//! Random loops with affine recurrences, before and after the pass for devices: results must agree up to the last
//! digits, and no loop with state may remain.

#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

use adl_ir::eval::{Arr, Val, run};
use adl_ir::{Block, FnId, Op, Program};
use std::fmt::Write;
use std::rc::Rc;

struct Rng(u64);

impl Rng {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % n as u64) as usize
    }

    /// A number between -1 and 1.
    fn real(&mut self) -> f64 {
        self.below(1 << 20) as f64 / f64::from(1 << 19) - 1.0
    }
}

/// The body of a loop under construction.
struct Body {
    text: String,
    next: usize,
    /// Numbers that do not depend on carried values, and those that may.
    free: Vec<usize>,
    all: Vec<usize>,
    ty: &'static str,
}

impl Body {
    fn op(&mut self, op: &str, bound: bool) -> usize {
        let v = self.next;
        self.next += 1;
        writeln!(self.text, "    v{v}: {} = {op}", self.ty).unwrap();
        self.all.push(v);
        if !bound {
            self.free.push(v);
        }
        v
    }

    fn step(&mut self, r: &mut Rng, condition: usize) {
        let (free, x, y) =
            (self.free[r.below(self.free.len())], self.all[r.below(self.all.len())], self.all[r.below(self.all.len())]);
        let bound = |b: &Body, v: usize| !b.free.contains(&v);
        match r.below(9) {
            0 | 1 => _ = self.op(&format!("add v{x} v{y}"), bound(self, x) || bound(self, y)),
            2 => _ = self.op(&format!("sub v{x} v{y}"), bound(self, x) || bound(self, y)),
            3 => _ = self.op(&format!("mul v{x} v{free}"), bound(self, x)),
            4 => _ = self.op(&format!("mul v{free} v{x}"), bound(self, x)),
            5 => _ = self.op(&format!("scale_tangent v{free} v{x}"), bound(self, x)),
            6 => _ = self.op(&format!("neg v{x}"), bound(self, x)),
            7 => {
                let e = self.op(&format!("exp v{}", self.free[0]), false);
                self.op(&format!("div v{x} v{e}"), bound(self, x));
            }
            _ => _ = self.op(&format!("select v{condition} v{x} v{y}"), bound(self, x) || bound(self, y)),
        }
    }
}

/// The text of a loop that carries `k` numbers.
fn program(r: &mut Rng, k: usize, ty: &'static str) -> String {
    let mut params: Vec<String> = vec![format!("v0: []{ty}"), format!("v1: []{ty}")];
    params.extend((0..k).map(|i| format!("v{}: {ty}", 2 + i)));
    let n = 2 + k;
    let begins: Vec<String> =
        (0..k).map(|i| if r.below(3) == 0 { format!("v{}", n + 1) } else { format!("v{}", 2 + i) }).collect();
    let (index, first) = (n + 2, n + 3);
    let (x, y, one, condition) = (first + k, first + k + 1, first + k + 2, first + k + 3);
    let mut b =
        Body { text: String::new(), next: condition + 1, free: vec![x, y], all: (first..first + k + 2).collect(), ty };
    writeln!(b.text, "    v{one}: i64 = 1\n    v{condition}: bool = gt v{index} v{one}").unwrap();
    (0..2 + r.below(3 * k + 3)).for_each(|_| b.step(r, condition));
    // Carried values stay small, so that no digits are lost.
    let half = b.op(if ty == "f64" { "0.3" } else { "0.3f32" }, false);
    let carried: Vec<usize> = (0..k)
        .map(|_| b.all[b.all.len() - 1 - r.below(b.all.len().min(k + 3))])
        .collect::<Vec<_>>()
        .into_iter()
        .map(|v| b.op(&format!("mul v{half} v{v}"), true))
        .collect();
    let shown = b.op(&format!("abs v{}", first + r.below(k)), true);
    let results: Vec<String> = carried.iter().chain([&shown, &shown]).map(|v| format!("v{v}")).collect();
    let ends: Vec<String> = (0..k).map(|i| format!("v{}: {ty}", b.next + i)).collect();
    let (all, sum, trip) = (b.next + k, b.next + k + 1, b.next + k + 2);
    let given: Vec<String> = (b.next..b.next + k + 2).map(|v| format!("v{v}")).collect();
    let inside: Vec<String> = (first..first + k + 2).map(|v| format!("v{v}: {ty}")).collect();
    format!(
        "fn f0 (params) -> ({}[]{ty}, {ty}) {{\n  v{n}: i64 = dim 0 v0\n  v{}: {ty} = zero {ty}\n  {}, v{all}: []{ty}, v{sum}: {ty}, v{trip}: i64 = loop for v{n}{} carry ({}) over (v0, v1) out (collect, sum) (v{index}: i64, {}) {{\n{}    return {}\n  }}\n  return {}\n}}\n",
        format!("{ty}, ").repeat(k),
        n + 1,
        ends.join(", "),
        if r.below(2) == 0 { " reverse" } else { "" },
        begins.join(", "),
        inside.join(", "),
        b.text,
        results.join(", "),
        given.join(", "),
    )
    .replace("(params)", &format!("({})", params.join(", ")))
}

fn numbers(v: &Val, out: &mut Vec<f64>) {
    match v {
        Val::F64(x) => out.push(*x),
        Val::F32(x) => out.push(f64::from(*x)),
        Val::Array(a) => a.elems.iter().for_each(|e| numbers(e, out)),
        other => panic!("{other:?}"),
    }
}

fn has_state(b: &Block) -> bool {
    b.stmts
        .iter()
        .any(|s| matches!(&s.op, Op::Loop(l) if !l.init.is_empty()) || s.op.blocks().into_iter().any(has_state))
}

/// Compares both versions. Returns whether no loop with state remains.
fn check(seed: u64, text: &str, ty: &'static str, k: usize) -> bool {
    let p: Program = adl_ir::parse::program(text).unwrap_or_else(|e| panic!("{seed}: {e}\n{text}"));
    let mut f = (**p.func(FnId(0))).clone();
    for pipeline in [adl_opt::pipelines::FOR_DEVICE, adl_opt::pipelines::VECTORS] {
        adl_opt::run(pipeline, &p, &mut f, adl_ir::Zeros::Symbolic);
    }
    let done = !has_state(&f.body);
    let mut after = p.clone();
    after.set(FnId(0), f);
    let mut r = Rng(seed);
    let one = |r: &mut Rng| if ty == "f64" { Val::F64(r.real()) } else { Val::F32(r.real() as f32) };
    for n in [0, 1, 2, 3, 17, 100] {
        let array = |r: &mut Rng| Val::Array(Rc::new(Arr { shape: vec![n], elems: (0..n).map(|_| one(r)).collect() }));
        let mut args = vec![array(&mut r), array(&mut r)];
        args.extend((0..k).map(|_| one(&mut r)));
        let (want, have) = (run(&p, FnId(0), &args, &[]).unwrap(), run(&after, FnId(0), &args, &[]).unwrap());
        let (mut a, mut b) = (Vec::new(), Vec::new());
        want.results.iter().for_each(|v| numbers(v, &mut a));
        have.results.iter().for_each(|v| numbers(v, &mut b));
        let close = if ty == "f64" { 1e-9 } else { 1e-3 } * a.iter().fold(1.0, |m: f64, x| m.max(x.abs()));
        assert!(
            a.len() == b.len() && a.iter().zip(&b).all(|(x, y)| (x - y).abs() <= close),
            "{seed}, {n}: {a:?} {b:?}\n{text}"
        );
    }
    done
}

#[test]
fn recurrences_as_scans_give_what_turns_give() {
    let n: u64 = std::env::var("ADL_PROGRAMS").ok().and_then(|n| n.parse().ok()).unwrap_or(300);
    let mut done = 0;
    for seed in 0..n {
        let mut r = Rng(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) + 1);
        let (k, ty) = (1 + r.below(4), ["f64", "f64", "f32"][r.below(3)]);
        let text = program(&mut r, k, ty);
        done += usize::from(check(seed, &text, ty, k));
    }
    // A system of four coupled numbers exceeds what a scan may accumulate.
    assert!(done as u64 >= n * 9 / 10, "{done} of {n}");
}
