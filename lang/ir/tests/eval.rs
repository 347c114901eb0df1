//! Text programs in the reference evaluator: results computed by hand, and counted work.

use adl_ir::eval::{self, Evaluator, Simple, Val};
use adl_ir::{Collective, FnId, Program, parse, verify};

fn program(text: &str) -> Program {
    let p = parse::program(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    if let Err(why) = verify::verify_program(&p) {
        panic!("{why}");
    }
    p
}

fn run(text: &str, args: &[Val], lin: &[Val]) -> eval::Evaluation {
    eval::run(&program(text), FnId(0), args, lin).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

fn results(text: &str, args: &[Val]) -> Vec<Val> {
    run(text, args, &[]).results
}

fn fails(text: &str, args: &[Val]) -> String {
    eval::run(&program(text), FnId(0), args, &[]).unwrap_err().to_string()
}

const F: fn(f64) -> Val = Val::F64;

#[test]
fn scalars() {
    let text = "fn f (v0: f64, v1: i64) -> (f64, i64, bool, i64) {
        v2: f64 = to_f64 v1  v3: f64 = mul v0 v2  v4: f64 = powi 2 v3
        v5: i64 = -3  v6: i64 = int_div v1 v5  v7: bool = lt v0 v2  v8: i64 = rem v1 v5
        return v4, v6, v7, v8 }";
    assert_eq!(results(text, &[F(1.5), Val::I64(7)]), [F(110.25), Val::I64(-3), Val::Bool(true), Val::I64(-2)]);
}

#[test]
fn integers_do_not_wrap() {
    let text = "fn f (v0: i64, v1: i64) -> (i64) { v2: i64 = mul v0 v1 return v2 }";
    assert_eq!(
        fails(text, &[Val::I64(i64::MAX), Val::I64(2)]),
        "Int overflow: the result does not fit in 64 bits (in `f`)"
    );
    let text = "fn f (v0: i64, v1: i64) -> (i64) { v2: i64 = int_div v0 v1 return v2 }";
    assert_eq!(fails(text, &[Val::I64(1), Val::I64(0)]), "division of an Int by zero (in `f`)");
    assert_eq!(
        fails(text, &[Val::I64(i64::MIN), Val::I64(-1)]),
        "Int overflow: the result does not fit in 64 bits (in `f`)"
    );
}

#[test]
fn loops_carry_collect_and_sum() {
    // Fibonacci numbers, and the sum of i * xs[i] in reverse order.
    let text = "fn f (v0: i64, v1: []f64) -> (i64, []i64, f64, i64) {
        v2: i64 = 0  v3: i64 = 1
        v10: i64, v11: i64, v12: []i64, v13: f64, v14: i64 = loop for v0 reverse carry (v2, v3) over (v1) out (collect, sum)
          (v4: i64, v5: i64, v6: i64, v7: f64) {
            v8: i64 = add v5 v6  v15: f64 = to_f64 v4  v9: f64 = mul v15 v7
            return v6, v8, v5, v9 }
        return v10, v12, v13, v14 }";
    let r = results(text, &[Val::I64(4), Val::floats(&[10.0, 20.0, 30.0, 40.0])]);
    assert_eq!(r, [Val::I64(3), Val::ints(&[2, 1, 1, 0]), F(200.0), Val::I64(4)]);
}

#[test]
fn while_loops_test_what_they_carry() {
    let text = "fn f (v0: i64) -> (i64, i64) {
        v1: i64 = 1
        v7: i64, v8: i64 = loop while (v2: i64) { v3: bool = lt v2 v0 return v3 } carry (v1) (v4: i64, v5: i64) { v6: i64 = add v5 v5 return v6 }
        return v7, v8 }";
    assert_eq!(results(text, &[Val::I64(100)]), [Val::I64(128), Val::I64(7)]);
    assert_eq!(results(text, &[Val::I64(1)]), [Val::I64(1), Val::I64(0)]);
}

const LIST: &str = "data D0 List = Nil | Cons(f64, D0)
    fn f0 total (v0: D0) -> (f64) {
        v4: f64 = switch v0
          | () { v1: f64 = 0.0 return v1 }
          | (v2: f64, v3: D0) { v5: f64 = call f0(v3) v6: f64 = add v2 v5 return v6 }
        end
        return v4 }";

#[test]
fn recursion_over_long_data_needs_no_stack() {
    let mut list = Val::data(0, vec![]);
    for i in 0..200_000 {
        list = Val::data(1, vec![F(f64::from(i % 3)), list]);
    }
    assert_eq!(list, list.clone());
    assert_eq!(results(LIST, &[list]), [F(199_999.0)]);
}

#[test]
fn fuel_stops_endless_recursion() {
    let text = "fn f0 f (v0: f64) -> (f64) { v1: f64 = call f0(v0) return v1 }";
    let p = program(text);
    let mut host = Simple;
    let mut ev = Evaluator::new(&p, &mut host);
    ev.fuel = 10_000;
    assert_eq!(ev.run(FnId(0), &[F(1.0)], &[]).unwrap_err().message, "stopped after 10000 statements");
}

#[test]
fn arrays() {
    let matrix = Val::matrix(2, 3, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let text = "fn f (v0: [][]f64) -> ([][]f64, []f64, []f64, f64, [][]f64, [][]f64, []f64) {
        v1: [][]f64 = transpose v0  v2: []f64 = sum v0  v3: i64 = 1  v4: []f64 = index v0 [v3]  v5: f64 = index v0 [v3, v3]
        v6: [][]f64 = matmul v0 v1  v7: [][]f64 = rotate v3 v0  v8: []f64 = matmul v0 v4
        return v1, v2, v4, v5, v6, v7, v8 }";
    let want = [
        Val::matrix(3, 2, &[1.0, 4.0, 2.0, 5.0, 3.0, 6.0]),
        Val::floats(&[5.0, 7.0, 9.0]),
        Val::floats(&[4.0, 5.0, 6.0]),
        F(5.0),
        Val::matrix(2, 2, &[14.0, 32.0, 32.0, 77.0]),
        Val::matrix(2, 3, &[4.0, 5.0, 6.0, 1.0, 2.0, 3.0]),
        Val::floats(&[32.0, 77.0]),
    ];
    assert_eq!(results(text, &[matrix]), want);
}

#[test]
fn parts_are_read_and_updated() {
    let text = "fn f (v0: []f64, v1: []i64, v2: i64, v3: i64) -> ([]f64, []f64, []f64, []f64, []f64) {
        v4: []f64 = slice v0 v2 v3  v5: []f64 = gather v0 v1  v6: f64 = 0.5  v7: []f64 = index_add v0 [v2] v6
        v8: []f64 = gather_add v0 v1 v5  v9: []f64 = slice_add v0 v2 v3 v4
        return v4, v5, v7, v8, v9 }";
    let args = [Val::floats(&[1.0, 2.0, 4.0, 8.0]), Val::ints(&[3, 0, 3]), Val::I64(1), Val::I64(3)];
    let want = [
        Val::floats(&[2.0, 4.0]),
        Val::floats(&[8.0, 1.0, 8.0]),
        Val::floats(&[1.0, 2.5, 4.0, 8.0]),
        Val::floats(&[2.0, 2.0, 4.0, 24.0]),
        Val::floats(&[1.0, 4.0, 8.0, 8.0]),
    ];
    assert_eq!(results(text, &args), want);
    let bad = |i: i64, lo: i64, hi: i64| {
        fails(text, &[Val::floats(&[1.0, 2.0]), Val::ints(&[i]), Val::I64(lo), Val::I64(hi)])
    };
    assert_eq!(bad(0, 1, 3), "the slice 1:3 is out of bounds for an axis of length 2 (in `f`)");
    assert_eq!(bad(2, 0, 1), "index 2 is out of bounds for an array of length 2 (in `f`)");
    assert_eq!(bad(-1, 0, 1), "index -1 is out of bounds for an array of length 2 (in `f`)");
}

#[test]
fn reductions_scans_and_histograms() {
    let text = "fn f (v0: []f64, v1: []i64) -> (f64, []f64, []f64, []f64) {
        v2: f64 = 1.0  v20: f64 = 0.0  v21: i64 = 2  v22: []f64 = replicate v21 v2
        v5: f64 = reduce (v2) over (v0) (v3: f64, v4: f64) { v6: f64 = mul v3 v4 return v6 }
        v9: []f64 = scan (v2) over (v0) (v7: f64, v8: f64) { v10: f64 = mul v7 v8 return v10 }
        v13: []f64 = scan_exclusive (v2) over (v0) (v11: f64, v12: f64) { v14: f64 = mul v11 v12 return v14 }
        v17: []f64 = reduce_by_index (v22) neutral (v20) keys v1 values (v0) (v15: f64, v16: f64) { v18: f64 = add v15 v16 return v18 }
        return v5, v9, v13, v17 }";
    let r = results(text, &[Val::floats(&[2.0, 3.0, 4.0]), Val::ints(&[1, 7, 1])]);
    assert_eq!(r, [F(24.0), Val::floats(&[2.0, 6.0, 24.0]), Val::floats(&[1.0, 2.0, 6.0]), Val::floats(&[1.0, 7.0])]);
    let r = results(text, &[Val::floats(&[]), Val::ints(&[])]);
    assert_eq!(r, [F(1.0), Val::floats(&[]), Val::floats(&[]), Val::floats(&[1.0, 1.0])]);
}

#[test]
fn absent_zeros() {
    let text = "fn f (v0: []f64, v1: []i64, v9: i64 ; v2~: []f64) -> ( ; []f64, f64, []f64) {
        v3~: []f64, v4~: []f64 = dup v2~
        v5~: []f64, v6~: []f64 = dup v4~
        v7~: []f64 = mul v0 v3~
        v8~: f64 = index v5~ [v9] shape v1
        v10~: []f64 = zero []f64
        v11~: f64 = zero f64
        v12~: []f64 = index_add v10~ [v9] v11~ shape v1
        v13~: []f64 = add v6~ v12~
        return ; v7~, v8~, v13~ }";
    let args = [Val::floats(&[1.0, 2.0]), Val::ints(&[2]), Val::I64(1)];
    let r = run(text, &args, &[Val::SymbolicZero]);
    assert_eq!(r.lin_results, [Val::SymbolicZero, F(0.0), Val::floats(&[0.0, 0.0])]);
    // Only the update costs; it is not known that the added number is zero.
    assert_eq!((r.counts.linear, r.counts.non_linear), (2, 0));
    let r = run(text, &args, &[Val::floats(&[3.0, 4.0])]);
    assert_eq!(r.lin_results, [Val::floats(&[3.0, 8.0]), F(4.0), Val::floats(&[3.0, 4.0])]);
    assert_eq!(r.counts.linear, 2 + 1 + 2 + 2);
}

#[test]
fn work_is_counted_by_the_paper() {
    // One primitive each: cos, sin, mul; one scaling; two scalars dropped.
    let text = "fn f (v0: f64 ; v1~: f64, v2~: []f64) -> (f64 ; f64) {
        v3: f64 = cos v0 @4..8
        v4: f64 = sin v0 @4..8
        v5: f64 = mul v3 v4 @10..12
        v6~: f64 = mul v3 v1~ @10..12
        drop v2~ @20..21
        return v5 ; v6~ }";
    let r = run(text, &[F(1.0)], &[F(1.0), Val::floats(&[1.0, 2.0])]);
    assert_eq!((r.counts.total, r.counts.non_linear, r.counts.linear), (6, 3, 3));
    let spans: Vec<_> = r.counts.by_span.into_iter().map(|(s, n)| ((s.lo, s.hi), n)).collect();
    assert_eq!(spans, [((4, 8), 2), ((10, 12), 2), ((20, 21), 2)]);
}

#[test]
fn built_ins_of_simple_meaning() {
    let text = "fn f (v0: []f64, v1: i64) -> ([]i64, []i64, i64, f64) {
        v2: []i64 = prim iota v1  v3: []i64 = prim argsort v0  v4: i64 = prim argmax v0  v5: f64 = prim prod v0
        return v2, v3, v4, v5 }";
    let r = results(text, &[Val::floats(&[3.0, f64::NAN, -4.0]), Val::I64(2)]);
    assert_eq!(r[..3], [Val::ints(&[0, 1]), Val::ints(&[2, 0, 1]), Val::I64(1)]);
    let r = results(text, &[Val::floats(&[3.0, -4.0]), Val::I64(0)]);
    assert_eq!(r[2..], [Val::I64(0), F(-12.0)]);
    let text = "fn f (v0: bool) -> () { prim assert v0 v1: str = \"no\\nway\" prim error v1 return }";
    assert_eq!(fails(text, &[Val::Bool(false)]), "this assertion does not hold (in `f`)");
    assert_eq!(fails(text, &[Val::Bool(true)]), "no\nway (in `f`)");
}

#[test]
fn parts_must_have_the_shape_of_what_they_change() {
    let add = "fn f (v0: [][]f64, v1: []i64, v2: [][]f64) -> ([][]f64) { v3: [][]f64 = gather_add v0 v1 v2 return v3 }";
    let (wide, tall) = (Val::matrix(2, 3, &[1.0; 6]), Val::matrix(3, 2, &[1.0; 6]));
    assert_eq!(
        fails(add, &[tall.clone(), Val::ints(&[1, 0, 1]), wide.clone()]),
        "an array of shape [2, 3] does not fit a part of shape [3, 2] (in `f`)"
    );
    // The operand of which nothing is selected counts, too.
    let select = "fn f (v0: [][]bool, v1: [][]f64, v2: f64) -> ([][]f64) { v3: [][]f64 = select v0 v1 v2 return v3 }";
    let mask = Val::array(vec![3, 2], vec![Val::Bool(false); 6]);
    assert_eq!(fails(select, &[mask, wide, F(1.0)]), "the arrays have different shapes: [3, 2] and [2, 3] (in `f`)");
}

#[test]
fn shapes_must_fit() {
    let reshape = "fn f (v0: []f64, v1: []i64) -> ([][]f64) { v2: [][]f64 = reshape v0 v1 return v2 }";
    let at = |shape: &[i64]| fails(reshape, &[Val::floats(&[1.0, 2.0]), Val::ints(shape)]);
    assert_eq!(at(&[2]), "the shape [2] is not that of an array of 2 axes (in `f`)");
    assert_eq!(at(&[2, 2]), "2 elements do not fill the shape [2, 2] (in `f`)");
    assert_eq!(at(&[-1, 2]), "-1 is no extent (in `f`)");
    let spread = "fn f (v0: f64, v1: []i64) -> ([]f64) { v2: []f64 = broadcast v0 v1 return v2 }";
    assert_eq!(
        fails(spread, &[F(1.0), Val::ints(&[i64::MAX])]),
        "an array of shape [9223372036854775807] is too large (in `f`)"
    );
    let add = "fn f (v0: []f64, v1: []f64) -> ([]f64) { v2: []f64 = add v0 v1 return v2 }";
    assert_eq!(
        fails(add, &[Val::floats(&[1.0]), Val::floats(&[1.0, 2.0])]),
        "the arrays have different shapes: [1] and [2] (in `f`)"
    );
}

#[test]
fn wrong_arguments_are_errors() {
    let text = "fn f (v0: f64) -> (f64) { return v0 }";
    assert_eq!(fails(text, &[]), "arguments: 1 are needed, 0 are there (in `f`)");
    assert_eq!(fails(text, &[Val::I64(1)]), "argument v0 is i64 (in `f`)");
}

/// A collective of one rank returns what it was given, if that is the whole: its length is the only length of a part, the
/// rank is rank 0, and an exchange has one row.
#[test]
fn collectives_of_one_rank_check_their_lengths() {
    let arrays = [
        Val::floats(&[]),
        Val::floats(&[0.5]),
        Val::floats(&[1.0, 2.0, 3.0]),
        Val::array(vec![3, 2], vec![F(0.25); 6]),
        Val::array(vec![1, 4], vec![F(0.25); 4]),
    ];
    for (kind, array) in Collective::ALL.iter().flat_map(|kind| arrays.iter().map(move |array| (*kind, array))) {
        let Val::Array(a) = array else { unreachable!() };
        let (rows, ty) = (a.shape[0] as i64, format!("{}f64", "[]".repeat(a.shape.len())));
        let at = [vec![rows], vec![rows + 1], vec![rows - 1], vec![rows, 0], vec![0, rows], vec![], vec![0], vec![1]];
        for at in &at {
            let (of, given, whole) = match kind {
                _ if kind.by_lengths() => ("[]i64", Val::ints(at), at[..] == [rows]),
                _ if kind.by_rank() || kind.by_chunks() => {
                    let at = at.first().copied().unwrap_or(0);
                    let other = matches!(kind, Collective::From | Collective::Place) && at != 0;
                    ("i64", Val::I64(at), !other)
                }
                _ => ("i64", Val::I64(0), kind != Collective::Exchange || rows == 1),
            };
            if at.iter().any(|n| *n < 0) && kind.by_lengths() {
                continue;
            }
            let place = if kind.by_lengths() || kind.by_rank() || kind.by_chunks() { " at v1" } else { "" };
            let text = format!(
                "fn f (v0: {ty}, v1: {of}) -> ({ty}) {{ v2: {ty} = collective {} v0{place} return v2 }}",
                kind.word()
            );
            match eval::run(&program(&text), FnId(0), &[array.clone(), given], &[]) {
                Ok(out) => assert!(whole && out.results == [array.clone()], "{kind:?} of {array:?} at {at:?}"),
                Err(why) => assert!(!whole, "{kind:?} of {array:?} at {at:?}: {why}"),
            }
        }
    }
}
