//! Inputs that no person writes: each is an answer or an error, and never a crash.

use adl_tests::echo;

fn code(text: &str) -> String {
    echo(text).chars().take(5).collect()
}

#[test]
fn deep_and_long_programs() {
    for open in [
        "(",
        "[",
        "{a = ",
        "-(",
        "fun x -> ",
        "if true then ",
        "lin x -> ",
        "for i < 1 -> ",
        "match 1 with | _ -> ",
        "let x = 1 in ",
    ] {
        let _ = echo(&format!("let y = {}", open.repeat(100_000)));
        let _ = echo(&format!("let y = {}1", open.repeat(300)));
    }
    for (open, close) in [("(", ")"), ("[", "]"), ("{a = ", "}"), ("f (", ")"), ("Some (", ")"), ("not (", ")")] {
        for n in [300, 100_000] {
            let _ = echo(&format!("let y = {}true{}", open.repeat(n), close.repeat(n)));
        }
    }
    for op in ["+", "::", "|>", "++", "&&", "^", ">>", "@"] {
        let _ = echo(&format!("let y = 1 {}", format!("{op} 1 ").repeat(3_000)));
    }
    let _ = echo(&format!("let f (x : {}Int) = x", "[3]".repeat(3_000)));
    let _ = echo(&format!("let f : {}Int = 1", "Int -> ".repeat(3_000)));
    let _ = echo(&format!("match 1 with | {}_ -> 1", "(".repeat(3_000)));
    let lets: String = (0..3_000).map(|i| format!("  let x{i} = {i}\n")).collect();
    assert_eq!(echo(&format!("let f y =\n{lets}  y\nf 1")), "1 : Int");
}

/// With quadratic steps these take minutes.
#[test]
fn long_programs_take_linear_time() {
    let start = std::time::Instant::now();
    assert_eq!(echo(&format!("{}x", "let x = 1 in ".repeat(100_000))), "1 : Int");
    assert!(echo(&format!("id {}", "1 ".repeat(100_000))).starts_with("E0107"));
    assert_eq!(echo(&format!("len [{}1.0]", "1.0, ".repeat(200_000))), "200001 : Int");
    let _ = echo(&"x = 1\n".repeat(20_000));
    let _ = echo(&"é× ".repeat(20_000));
    assert!(start.elapsed().as_secs() < 60, "{:?}", start.elapsed());
}

#[test]
fn deep_values() {
    let build = "let rec build n acc = if n == 0 then acc else build (n - 1) (n :: acc)\nlet xs = build 200000 Nil\n";
    assert_eq!(echo(&format!("{build}xs == xs")), "true : Bool");
    assert_eq!(
        echo(&format!("{build}list.length (grad (fun l -> list.fold (+) 0.0 l) (list.map float xs))")),
        "200000 : Int"
    );
    assert_eq!(echo("let rec depth n = if n == 0 then 0 else 1 + depth (n - 1)\ndepth 1000000"), "1000000 : Int");
    assert_eq!(
        echo(
            "let rec chain n f = if n == 0 then f else chain (n - 1) (fun x -> f (x + 1))\nchain 100000 (fun x -> x) 0"
        ),
        "100000 : Int"
    );
    assert_eq!(
        echo("let rec nest n = if n == 0 then 0 else sum (map (fun k -> nest k) [n - 1])\nnest 20000"),
        "0 : Int"
    );
}

#[test]
fn errors_of_the_run() {
    assert_eq!(code("let rec f x = 1 + f x\nf 1"), "E0707");
    assert_eq!(code("let rec f x = sum (map (fun y -> f y) [x])\nf 1.0"), "E0707");
    assert_eq!(code("replicate 10000000000000 0.0"), "E0710");
    assert_eq!(code("for i < 4000000000, j < 4000000000, k < 4000000000 -> 0.0"), "E0710");
    assert_eq!(code("iota (-1)"), "E0713");
    assert_eq!(code("[1.0, 2.0][2]"), "E0701");
    assert_eq!(code("stats.poisson_logpmf 1.0 2.5"), "E0205");
    assert_eq!(code("let k = -1 in [1.0, 2.0][k]"), "E0701");
    assert_eq!(code("9223372036854775807 + 1"), "E0703");
    assert_eq!(code("int 1e300"), "E0703");
    assert_eq!(code("1 // 0"), "E0704");
    assert_eq!(code("first (filter (fun x -> x > 1) [1])"), "E0701");
    assert_eq!(code("maximum (filter (fun x -> x > 1) [1])"), "E0709");
    assert_eq!(code("(1.0 :: Nil) + (1.0 :: 2.0 :: Nil)"), "E0711");
    assert_eq!(code("map (fun n -> iota n) [1, 2]"), "E0712");
    assert_eq!(code("inv [[1.0, 1.0], [1.0, 1.0]]"), "E0714");
    assert_eq!(code("transpose (lin (x : [n]Float) -> sum x) 1.0"), "E0715");
}
