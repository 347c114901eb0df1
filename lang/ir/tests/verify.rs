//! For each invariant, programs that violate it, and valid programs beside them.

use adl_ir::{Block, Builder, Function, Op, Program, Stmt, Ty, Var, parse, verify, verify_linear_b};
use adl_prim::Bin;

/// The faults of the last function: invariant and message.
fn faults(text: &str) -> Vec<(u8, String)> {
    let p = parse::program(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let f = p.funcs.last().expect("a function").clone();
    verify(&p, &f).err().unwrap_or_default().into_iter().map(|f| (f.invariant, f.message)).collect()
}

/// Asserts that there is exactly this fault.
fn breaks(invariant: u8, message: &str, text: &str) {
    assert_eq!(faults(text), [(invariant, message.to_owned())], "{text}");
}

fn sound(text: &str) {
    assert_eq!(faults(text), [], "{text}");
}

#[test]
fn binding() {
    breaks(1, "v1 is bound twice", "fn f (v0: f64) -> (f64) { v1: f64 = sin v0 v1: f64 = cos v0 return v1 }");
    breaks(
        1,
        "v0 is bound twice",
        "fn f (v0: bool) -> (bool) { v1: bool = if v0 { return v0 } else { v0: bool = true return v0 } return v1 }",
    );
    // A variable without an entry in the table.
    let mut f = Function { name: "f".to_owned(), ..Function::default() };
    f.body.stmts.push(Stmt {
        outs: vec![Var(3)],
        lin_outs: vec![],
        op: Op::Lit(adl_ir::Lit::Bool(true)),
        span: Default::default(),
    });
    let faults = verify(&Program::default(), &f).unwrap_err();
    assert_eq!((faults[0].invariant, faults[0].message.as_str()), (1, "v3? is not in the table of variables"));
}

#[test]
fn scope() {
    breaks(
        2,
        "v1 is used outside of its scope",
        "fn f (v0: f64) -> (f64) { v2: f64 = sin v1 v1: f64 = cos v0 return v2 }",
    );
    breaks(
        2,
        "v2 is used outside of its scope",
        "fn f (v0: bool) -> (f64) {
        v1: f64 = if v0 { v2: f64 = 1.0 return v2 } else { v3: f64 = 2.0 return v3 }
        v4: f64 = neg v2
        return v1 }",
    );
    // The condition of the next iteration does not see variables bound in the body.
    breaks(2, "v4 is used outside of its scope", "fn f (v0: i64) -> () {
        v1: i64, v2: i64 = loop while (v3: i64) { return v4 } carry (v0) (v5: i64, v6: i64) { v4: bool = true return v6 }
        return }");
}

#[test]
fn types_of_operations() {
    let op = |head: &str, stmt: &str| format!("data D0 D = A | B(f64)  fn f ({head}) -> () {{ {stmt} return }}");
    let wrong = |message: &str, head: &str, stmt: &str| breaks(3, message, &op(head, stmt));
    wrong("it is not defined on f64 and i64", "v0: f64, v1: i64", "v2: f64 = mul v0 v1");
    wrong("it is not defined on [][]f64 and []f64", "v0: [][]f64, v1: []f64", "v2: [][]f64 = mul v0 v1");
    wrong("it is not defined on i64 and i64", "v0: i64", "v2: i64 = div v0 v0");
    wrong("it is not defined on i64", "v0: i64", "v2: i64 = sin v0");
    wrong("gives ([]f64), not (f64)", "v0: f64, v1: []f64", "v2: f64 = mul v0 v1");
    wrong("gives (f64), not (f64, f64)", "v0: f64", "v1: f64, v2: f64 = sin v0");
    wrong("gives (f64), not (i64)", "", "v0: i64 = 1.0");
    wrong("v1 is f64, not i64", "v0: []f64, v1: f64", "v2: f64 = index v0 [v1]");
    wrong("2 indices in []f64", "v0: []f64, v1: i64", "v2: f64 = index v0 [v1, v1]");
    wrong("v0 is f64, not an array", "v0: f64", "v1: i64 = dim 0 v0");
    wrong("there is no axis 1 in []f64", "v0: []f64", "v1: i64 = dim 1 v0");
    wrong("[]str and str cannot be compared", "v0: []str", "v1: str = \"a\" v2: []bool = lt v0 v1");
}

#[test]
fn types_of_data_and_products() {
    let op = |head: &str, stmt: &str| format!("data D0 D = A | B(f64)  fn f ({head}) -> () {{ {stmt} return }}");
    let wrong = |message: &str, head: &str, stmt: &str| breaks(3, message, &op(head, stmt));
    wrong("v0 is i64, not f64", "v0: i64", "v1: D0 = construct D0.1 v0");
    wrong("1 fields, not 0", "", "v1: D0 = construct D0.1");
    wrong("gives (), not (f64)", "v0: D0", "v1: f64 = destruct D0.0 v0");
    wrong("no product of ranks 1 and 1", "v0: []f64", "v1: f64 = matmul v0 v0");
    wrong("gives an array of f64, not (f64)", "v0: f64", "v1: f64 = array v0 v0");
    wrong("[]bool has no sum", "v0: []bool", "v1: bool = sum v0");
    wrong("[]bool has no sum", "v0: []bool", "v1: []bool = cumsum v0");
    wrong("the condition is no Bool", "v0: i64, v1: f64", "v2: f64 = select v0 v1 v1");
    sound(&op("v0: []bool, v1: f64, v2: []f64", "v3: []f64 = select v0 v1 v2"));
    sound(&op("v0: f64, v1: D0", "v2: D0 = mul v0 v1 v3: D0 = add v1 v2 v4: D0 = neg v3"));
    sound(&op(
        "v0: []([]f64), v1: i64",
        "v2: []f64 = index v0 [v1] v3: []([]f64) = array v2 v2 v4: [][]f64 = array v2 v2",
    ));
}

#[test]
fn types_of_control_flow() {
    breaks(3, "the condition: v0 is i64, not bool", "fn f (v0: i64) -> () { if v0 { return } else { return } return }");
    breaks(
        3,
        "results of a branch: v2 is i64, not f64",
        "fn f (v0: bool) -> (f64) {
        v1: f64 = if v0 { v2: i64 = 1 return v2 } else { v3: f64 = 2.0 return v3 }
        return v1 }",
    );
    breaks(
        3,
        "parameters of the body: v2 is f64, not i64",
        "fn f (v0: i64) -> () { v1: i64 = loop for v0 (v2: f64) { return } return }",
    );
    breaks(
        3,
        "v1 is f64, but is made of f64",
        "fn f (v0: i64, v4: f64) -> () { v1: f64, v2: i64 = loop for v0 out (collect) (v3: i64) { return v4 } return }",
    );
    breaks(
        3,
        "v1 is [][]f64, but is made of []f64",
        "fn f (v0: i64, v4: []f64) -> () { v1: [][]f64, v2: i64 = loop for v0 out (boxed) (v3: i64) { return v4 } return }",
    );
    sound(
        "fn f (v0: i64, v4: []f64) -> () { v1: []([]f64), v2: i64 = loop for v0 out (boxed) (v3: i64) { return v4 } return }",
    );
    breaks(
        3,
        "arguments: v0 is i64, not f64",
        "fn f0 g (v0: f64) -> () { return } fn f1 f (v0: i64) -> () { call f0(v0) return }",
    );
    breaks(
        3,
        "results: v1 is bool, not f64",
        "fn f0 g (v0: f64) -> (f64) { return v0 } fn f1 f (v0: f64) -> (bool) { v1: bool = call f0(v0) return v1 }",
    );
    breaks(
        3,
        "results: v1 is i64, not f64",
        "fn f (v0: []f64) -> (i64) {
        v2: f64 = 0.0
        v1: i64 = reduce (v2) over (v0) (v3: f64, v4: f64) { v5: f64 = add v3 v4 return v5 }
        return v1 }",
    );
    breaks(
        3,
        "neutral elements: v1 is i64, not f64",
        "fn f (v0: []f64, v1: i64) -> () {
        v2: i64 = reduce (v1) over (v0) (v3: f64, v4: f64) { return v3 } return }",
    );
}

#[test]
fn arity() {
    breaks(
        4,
        "arguments: 1 are needed, 0 are there",
        "fn f0 g (v0: f64) -> () { return } fn f1 f () -> () { call f0() return }",
    );
    breaks(
        4,
        "results of a branch: 0 are needed, 1 are there",
        "fn f (v0: bool) -> () { if v0 { return v0 } else { return } return }",
    );
    breaks(
        4,
        "2 branches are needed, 1 are there",
        "data D0 D = A | B fn f (v0: D0) -> () { switch v0 | () { return } end return }",
    );
    breaks(
        4,
        "1 results are needed, and 1 of the loop; the body has 1, the loop 1",
        "fn f (v0: i64, v4: f64) -> () {
        v1: f64 = loop for v0 out (sum) (v3: i64) { return v4 } return }",
    );
    breaks(
        4,
        "a while loop has no last turn to begin with",
        "fn f (v0: bool) -> () {
        v1: i64 = loop while () { return v0 } reverse (v3: i64) { return } return }",
    );
}

#[test]
fn modes() {
    let wrap = |stmt: &str| format!("fn f (v0: f64 ; v1~: f64, v2~: f64) -> ( ; f64) {{ {stmt} }}");
    breaks(5, "v1~ is linear, but no operand may be", &wrap("v3: f64 = prim sin v1~ return ; v2~"));
    breaks(5, "v1~ is linear, but stands in a non-linear place", &wrap("v3~: f64 = mul v1~ v2~ return ; v3~"));
    breaks(
        5,
        "linear and non-linear operands where all of them or none must be linear",
        &wrap("drop v2~ v3~: f64 = add v0 v1~ return ; v3~"),
    );
    breaks(5, "v1~ is linear, but stands in a non-linear place", "fn f ( ; v1~: f64) -> (f64) { return v1~ }");
    breaks(5, "v0 is not linear, but stands in a linear place", "fn f (v0: f64) -> ( ; f64) { return ; v0 }");
    breaks(
        5,
        "more than one linear operand",
        "fn f ( ; v0~: []f64, v1~: []f64) -> ( ; f64) { v2~: f64 = dot v0~ v1~ return ; v2~ }",
    );
    breaks(
        5,
        "v1~ is linear, but stands in a non-linear place",
        "fn f0 g (v0: f64) -> () { return } fn f1 f ( ; v1~: f64) -> () { call f0(v1~) return }",
    );
}

#[test]
fn indexing() {
    breaks(
        6,
        "v1 is not linear, but depends on a linear operand",
        "fn f ( ; v0~: f64) -> (f64) { v1: f64 = neg v0~ return v1 }",
    );
    breaks(6, "v1~ is linear, but no operand is", "fn f (v0: f64) -> ( ; f64) { v1~: f64 = neg v0 return ; v1~ }");
    breaks(6, "v1~ is linear, but no operand is", "fn f () -> ( ; f64) { v1~: f64 = 1.0 return ; v1~ }");
    sound("fn f () -> (f64 ; f64) { v1~: f64 = zero f64 v2: f64 = zero f64 return v2 ; v1~ }");
    sound("data D0 D = A fn f () -> (D0 ; D0) { v1~: D0 = construct D0.0 v2: D0 = construct D0.0 return v2 ; v1~ }");
}

#[test]
fn linearity() {
    breaks(7, "v0~ is used twice", "fn f ( ; v0~: f64) -> ( ; f64) { v1~: f64 = add v0~ v0~ return ; v1~ }");
    breaks(7, "v0~ is used twice", "fn f ( ; v0~: f64) -> ( ; f64) { drop v0~ return ; v0~ }");
    breaks(7, "v0~ is never used", "fn f ( ; v0~: f64) -> () { return }");
    breaks(7, "v1~ is never used", "fn f ( ; v0~: f64) -> ( ; f64) { v1~: f64, v2~: f64 = dup v0~ return ; v2~ }");
    breaks(
        7,
        "v1~ is not used in branch 1, but in another",
        "fn f (v0: bool ; v1~: f64) -> ( ; f64) {
        v2~: f64 = if v0 { return ; v1~ } else { v3~: f64 = zero f64 return ; v3~ }
        return ; v2~ }",
    );
    breaks(
        7,
        "v1~ is used twice",
        "fn f (v0: bool ; v1~: f64) -> ( ; f64) {
        v2~: f64 = if v0 { return ; v1~ } else { return ; v1~ }
        v3~: f64 = add v1~ v2~
        return ; v3~ }",
    );
    // A loop's body has a copy of the variable for each iteration, each of which is used once.
    let iteration = |stmts: &str| {
        format!(
            "fn f (v0: i64 ; v1~: f64) -> ( ; f64) {{
        v2: i64 ; v3~: f64 = loop for v0 out ( ; sum) (v4: i64) {{ {stmts} }} return ; v3~ }}"
        )
    };
    sound(&iteration("v5~: f64 = neg v1~ return ; v5~"));
    breaks(7, "v1~ is used twice", &iteration("v5~: f64 = add v1~ v1~ return ; v5~"));
    breaks(7, "v5~ is never used", &iteration("v5~: f64, v6~: f64 = dup v1~ return ; v6~"));
}

#[test]
fn blocks_without_linear_variables() {
    breaks(
        8,
        "v1~ is used in a block that has no linear variables",
        "fn f (v0: bool ; v1~: f64) -> () {
        v2: i64 = loop while () { drop v1~ return v0 } (v4: i64) { return } drop v1~ return }",
    );
    let both = faults(
        "fn f (v0: []f64, v1: f64) -> () {
        v2: f64 = reduce (v1) over (v0) (v3: f64, v4: f64) { v6~: f64 = zero f64 drop v6~ return v3 } return }",
    );
    let why = |verb: &str| (8, format!("v6~ is {verb} in a block that has no linear variables"));
    assert_eq!(both, [why("bound"), why("used")]);
}

#[test]
fn shapes() {
    let f = |stmt: &str| format!("fn f (v0: i64, v1: []i64 ; v2~: []f64) -> () {{ {stmt} drop v3~ return }}");
    breaks(9, "the operation is linear, but has no operand `shape`", &f("v3~: f64 = index v2~ [v0]"));
    breaks(9, "the operation is linear, but has no operand `len`", &f("v3~: f64 = sum v2~"));
    breaks(9, "the operation is linear, but has no operand `from`", &f("v3~: []f64 = reshape v2~ v1"));
    sound(&f("v3~: f64 = index v2~ [v0] shape v1"));
    sound(&f("v3~: f64 = sum v2~ len v0"));
    sound(&f("v3~: []f64 = reshape v2~ v1 from v1"));
}

#[test]
fn references() {
    breaks(10, "there is no function f7", "fn f () -> () { call f7() return }");
    breaks(10, "v0 has the type D3, which does not exist", "fn f (v0: D3) -> () { return }");
    breaks(10, "D0 has no constructor 2", "data D0 D = A fn f () -> () { v0: D0 = construct D0.2 return }");
    breaks(10, "there is no function f9", "fn f0 g () -> () { return } fn f1 f () -> () { call f0() jvp f9 return }");
}

fn linear_b(text: &str) -> Vec<(u8, String)> {
    let p = parse::program(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let f = p.funcs.last().expect("a function").clone();
    assert_eq!(verify(&p, &f), Ok(()), "{text}");
    verify_linear_b(&p, &f).err().unwrap_or_default().into_iter().map(|f| (f.invariant, f.message)).collect()
}

#[test]
fn linear_b_never_mixes() {
    let mixed = "fn f (v0: bool ; v1~: f64) -> (f64 ; f64) {
        v4: f64 ; v5~: f64 = if v0 { v2: f64 = 1.0 return v2 ; v1~ } else { v3: f64 = 2.0 return v3 ; v1~ } return v4 ; v5~ }";
    assert_eq!(linear_b(mixed), [(11, "v4 is not linear, but the statement has linear results".to_owned())]);
    let dropped = "fn f (v0: bool ; v1~: f64) -> (f64) {
        v4: f64 = if v0 { v2: f64 = 1.0 drop v1~ return v2 } else { v3: f64 = 2.0 drop v1~ return v3 } return v4 }";
    assert_eq!(linear_b(dropped), [(11, "it has non-linear results, but uses linear variables".to_owned())]);
    let pure = "fn f (v0: f64, v6: i64 ; v1~: f64) -> (f64 ; f64) {
        v2: f64 = cos v0 v3~: f64 = mul v2 v1~
        v4: i64 ; v5~: f64 = loop for v6 carry ( ; v3~) (v7: i64 ; v8~: f64) { v9~: f64 = mul v0 v8~ return ; v9~ }
        return v2 ; v5~ }";
    assert_eq!(linear_b(pure), []);
}

#[test]
fn faults_name_statement_and_function() {
    let p =
        parse::program("fn \"jvp loss\" (x_0: f64 ; dx_1~: f64) -> (f64) { y_2: f64 = neg dx_1~ @3..7 return y_2 }")
            .unwrap();
    let fault = &verify(&p, &p.funcs[0]).unwrap_err()[0];
    let want = "invariant 6 broken in `jvp loss`, at `y_2: f64 = neg dx_1~`: y_2 is not linear, but depends on a linear operand";
    assert_eq!(fault.to_string(), want);
    assert_eq!((fault.span.lo, fault.span.hi), (3, 7));
}

#[test]
fn nesting_needs_no_stack() {
    let mut builder = Builder::new("deep");
    let (c, x) = (builder.param(Ty::Bool), builder.param(Ty::F64));
    let mut inner = Block { results: vec![x], ..Block::default() };
    for _ in 0..5_000 {
        let out = builder.func.fresh(Ty::F64, false);
        let op = Op::If(c, Box::new(inner), Box::new(Block { results: vec![x], ..Block::default() }));
        let stmt = Stmt { outs: vec![out], lin_outs: vec![], op, span: Default::default() };
        inner = Block { stmts: vec![stmt], results: vec![out], ..Block::default() };
    }
    let last = inner.results[0];
    builder.push(inner.stmts.remove(0));
    let y = builder.bin(Bin::Add, last, x);
    let f = builder.finish(vec![y], vec![]);
    assert_eq!(verify(&Program::default(), &f), Ok(()));
    assert!(adl_ir::print::function(&Program::default(), &f, Default::default()).len() > 5_000);
    std::mem::forget(f);
}
