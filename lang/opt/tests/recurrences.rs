//! Random loops with affine recurrences, before and after the pass for devices: results must agree up to the last
//! digits, and no loop with state may remain.

use adl_ir::eval::{Arr, Val, run};
use adl_ir::generate::rng::Rng;
use adl_ir::{Block, FnId, Op, Program};
use std::fmt::Write;
use std::rc::Rc;

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
        let (free, left, right) =
            (self.free[r.below(self.free.len())], self.all[r.below(self.all.len())], self.all[r.below(self.all.len())]);
        let bound = |b: &Body, v: usize| !b.free.contains(&v);
        match r.below(9) {
            0 | 1 => _ = self.op(&format!("add v{left} v{right}"), bound(self, left) || bound(self, right)),
            2 => _ = self.op(&format!("sub v{left} v{right}"), bound(self, left) || bound(self, right)),
            3 => _ = self.op(&format!("mul v{left} v{free}"), bound(self, left)),
            4 => _ = self.op(&format!("mul v{free} v{left}"), bound(self, left)),
            5 => _ = self.op(&format!("scale_tangent v{free} v{left}"), bound(self, left)),
            6 => _ = self.op(&format!("neg v{left}"), bound(self, left)),
            7 => {
                let e = self.op(&format!("exp v{}", self.free[0]), false);
                self.op(&format!("div v{left} v{e}"), bound(self, left));
            }
            _ => _ = self.op(&format!("select v{condition} v{left} v{right}"), bound(self, left) || bound(self, right)),
        }
    }
}

/// The text of a loop that carries `states` numbers.
fn program(rng: &mut Rng, states: usize, ty: &'static str) -> String {
    let mut params: Vec<String> = vec![format!("v0: []{ty}"), format!("v1: []{ty}")];
    params.extend((0..states).map(|i| format!("v{}: {ty}", 2 + i)));
    let length = 2 + states;
    let begins: Vec<String> = (0..states)
        .map(|i| if rng.below(3) == 0 { format!("v{}", length + 1) } else { format!("v{}", 2 + i) })
        .collect();
    let (index, first) = (length + 2, length + 3);
    let (x, y, one, condition) = (first + states, first + states + 1, first + states + 2, first + states + 3);
    let mut body = Body {
        text: String::new(),
        next: condition + 1,
        free: vec![x, y],
        all: (first..first + states + 2).collect(),
        ty,
    };
    writeln!(body.text, "    v{one}: i64 = 1\n    v{condition}: bool = gt v{index} v{one}").unwrap();
    (0..2 + rng.below(3 * states + 3)).for_each(|_| body.step(rng, condition));
    // Carried values stay small, so that no digits are lost.
    let half = body.op(if ty == "f64" { "0.3" } else { "0.3f32" }, false);
    let carried: Vec<usize> = (0..states)
        .map(|_| body.all[body.all.len() - 1 - rng.below(body.all.len().min(states + 3))])
        .collect::<Vec<_>>()
        .into_iter()
        .map(|v| body.op(&format!("mul v{half} v{v}"), true))
        .collect();
    let shown = body.op(&format!("abs v{}", first + rng.below(states)), true);
    let results: Vec<String> = carried.iter().chain([&shown, &shown]).map(|v| format!("v{v}")).collect();
    let ends: Vec<String> = (0..states).map(|i| format!("v{}: {ty}", body.next + i)).collect();
    let (all, sum, trip) = (body.next + states, body.next + states + 1, body.next + states + 2);
    let given: Vec<String> = (body.next..body.next + states + 2).map(|v| format!("v{v}")).collect();
    let inside: Vec<String> = (first..first + states + 2).map(|v| format!("v{v}: {ty}")).collect();
    format!(
        "fn f0 (params) -> ({}[]{ty}, {ty}) {{\n  v{length}: i64 = dim 0 v0\n  v{}: {ty} = zero {ty}\n  {}, v{all}: []{ty}, v{sum}: {ty}, v{trip}: i64 = loop for v{length}{} carry ({}) over (v0, v1) out (collect, sum) (v{index}: i64, {}) {{\n{}    return {}\n  }}\n  return {}\n}}\n",
        format!("{ty}, ").repeat(states),
        length + 1,
        ends.join(", "),
        if rng.below(2) == 0 { " reverse" } else { "" },
        begins.join(", "),
        inside.join(", "),
        body.text,
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
fn check(seed: u64, text: &str, ty: &'static str, states: usize) -> bool {
    let program: Program = adl_ir::parse::program(text).unwrap_or_else(|e| panic!("{seed}: {e}\n{text}"));
    let mut f = (**program.func(FnId(0))).clone();
    for pipeline in [adl_opt::pipelines::FOR_DEVICE, adl_opt::pipelines::VECTORS] {
        adl_opt::run(pipeline, &program, &mut f, adl_ir::Zeros::Symbolic);
    }
    let done = !has_state(&f.body);
    let mut after = program.clone();
    after.set(FnId(0), f);
    let mut r = Rng::new(seed);
    let one = |r: &mut Rng| if ty == "f64" { Val::F64(r.real()) } else { Val::F32(r.real() as f32) };
    for length in [0, 1, 2, 3, 17, 100] {
        let array = |r: &mut Rng| {
            Val::Array(Rc::new(Arr { shape: vec![length], elems: (0..length).map(|_| one(r)).collect() }))
        };
        let mut args = vec![array(&mut r), array(&mut r)];
        args.extend((0..states).map(|_| one(&mut r)));
        let (want, have) = (run(&program, FnId(0), &args, &[]).unwrap(), run(&after, FnId(0), &args, &[]).unwrap());
        let (mut a, mut b) = (Vec::new(), Vec::new());
        want.results.iter().for_each(|v| numbers(v, &mut a));
        have.results.iter().for_each(|v| numbers(v, &mut b));
        let close = if ty == "f64" { 1e-9 } else { 1e-3 } * a.iter().fold(1.0, |m: f64, x| m.max(x.abs()));
        assert!(
            a.len() == b.len() && a.iter().zip(&b).all(|(x, y)| (x - y).abs() <= close),
            "{seed}, {length}: {a:?} {b:?}\n{text}"
        );
    }
    done
}

#[test]
fn recurrences_as_scans_give_what_turns_give() {
    let n: u64 = std::env::var("ADL_PROGRAMS").ok().and_then(|n| n.parse().ok()).unwrap_or(300);
    let mut done = 0;
    for seed in 0..n {
        let mut r = Rng::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) + 1);
        let (k, ty) = (1 + r.below(4), ["f64", "f64", "f32"][r.below(3)]);
        let text = program(&mut r, k, ty);
        done += usize::from(check(seed, &text, ty, k));
    }
    // A system of four coupled numbers exceeds what a scan may accumulate.
    assert!(done as u64 >= n * 9 / 10, "{done} of {n}");
}

/// Whether the first loop of a function may run as scans.
fn at_once(body: &str) -> bool {
    let text = format!("fn f0 (v0: []f64, v1: i64, v2: f64, v3: []f64) -> () {{ {body} return }}");
    let program: Program = adl_ir::parse::program(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let f = program.func(FnId(0));
    adl_ir::verify(&program, f).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
    let is_loop = |s: &adl_ir::Stmt| if let Op::Loop(l) = &s.op { Some((**l).clone()) } else { None };
    let l = f.body.stmts.iter().find_map(is_loop).unwrap();
    adl_opt::device::recurrence::at_once(f, &l)
}

#[test]
fn loops_at_once_carry_affine_functions_and_arrays_that_are_added_to() {
    let carried = |step: &str| {
        format!(
            "v4: f64, v5: i64 = loop for v1 carry (v2) over (v0) (v6: i64, v7: f64, v8: f64) {{ {step} return v9 }}"
        )
    };
    assert!(at_once(&carried("v9: f64 = mul v8 v7")));
    assert!(at_once(&carried("v10: f64 = exp v8 v11: f64 = mul v10 v7 v9: f64 = sub v11 v8")));
    assert!(!at_once(&carried("v9: f64 = sin v7")));
    assert!(!at_once(&carried("v9: f64 = mul v7 v7")));
    assert!(!at_once(
        "v4: f64, v5: i64 = loop while (v6: f64) { v7: bool = lt v6 v2 return v7 } carry (v2) (v8: i64, v9: f64) { v10: f64 = add v9 v9 return v10 }"
    ));
    let with_array = |step: &str| {
        format!(
            "v4: f64, v12: []f64, v5: i64 = loop for v1 carry (v2, v3) over (v0) (v6: i64, v7: f64, v13: []f64, v8: f64) \
             {{ v9: f64 = mul v8 v7 {step} return v9, v14 }}"
        )
    };
    assert!(at_once(&with_array("v14: []f64 = index_add v13 [v6] v8")));
    assert!(at_once(&with_array("v15: []f64 = index_add v13 [v6] v8 v14: []f64 = index_add v15 [v6] v8")));
    assert!(!at_once(&with_array("v15: f64 = index v13 [v6] v14: []f64 = index_add v13 [v6] v15")));
    assert!(!at_once(&with_array("v14: []f64 = index_set v13 [v6] v8")));
    assert!(!at_once(&with_array("v15: []f64 = index_add v13 [v6] v8 v14: []f64 = neg v15")));
    let by_a_loop = |step: &str| {
        with_array(&format!(
            "v14: []f64, v15: i64 = loop for v1 carry (v13) (v16: i64, v17: []f64) {{ {step} return v18 }}"
        ))
    };
    assert!(at_once(&by_a_loop("v18: []f64 = index_add v17 [v16] v8")));
    assert!(!at_once(&by_a_loop("v18: []f64 = index_set v17 [v16] v8")));
}
