//! Programs on a GPU: Mesa's software one, which is installed where there is no other. What they print is what the CPU gives, but for the last digits of sums.

#[path = "../../lang/gpu/tests/common/mod.rs"]
mod common;

use adl_interp::device::{Device, DeviceUsage, Prepared, Refusal};
use adl_session::Session;
use adl_tests::functions::{FUNCTIONS, unary};
use adl_tests::{Memory, echo_in, session};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// A session on a GPU, to which everything goes from `least` operations on.
fn on_gpu(least: u64) -> Session {
    drop(common::gpu());
    let mut s = Session::new(Box::new(Memory::default()));
    s.set_device_least(least);
    s.set_device("gpu").unwrap_or_else(|d| panic!("{}", d.message));
    s
}

/// Kernels so far, bytes sent, bytes fetched.
fn used(s: &Session) -> (u64, u64, u64) {
    let u = s.device_used().expect("a device");
    (u.kernels, u.up, u.down)
}

/// A text as its numbers, and what stands between them.
fn parts(text: &str) -> (Vec<f64>, String) {
    let (mut numbers, mut rest, mut at) = (Vec::new(), String::new(), 0);
    let bytes = text.as_bytes();
    while at < bytes.len() {
        let word = at > 0 && (bytes[at - 1].is_ascii_alphabetic() || bytes[at - 1] == b'_');
        let mut end = at;
        while end < bytes.len()
            && (bytes[end].is_ascii_digit()
                || end > at
                    && (bytes[end] == b'.' || bytes[end] == b'e' || bytes[end] == b'-' && bytes[end - 1] == b'e'))
        {
            end += 1;
        }
        let number = std::str::from_utf8(&bytes[at..end]).unwrap_or_default().trim_end_matches(['e', '.']);
        match number.parse::<f64>() {
            Ok(x) if !word => {
                numbers.push(x);
                rest.push('#');
                at = end;
            }
            _ => {
                rest.push(bytes[at] as char);
                at += 1;
            }
        }
    }
    (numbers, rest)
}

/// Whether two texts agree but for the last digits of numbers.
fn agree(a: &str, b: &str) -> bool {
    let ((x, p), (y, q)) = (parts(a), parts(b));
    p == q && x.len() == y.len() && x.iter().zip(&y).all(|(x, y)| (x - y).abs() <= 1e-9 * x.abs().max(y.abs()).max(1.0))
}

#[test]
fn texts_are_compared_by_their_numbers() {
    assert!(agree("[1.0, 2.5e-3] : [2]Float", "[1.0000000000001, 0.0025] : [2]Float"));
    assert!(
        !agree("1.0", "1.001") && !agree("a 1.0", "b 1.0") && !agree("nan", "1.0") && !agree("[1.0]", "[1.0, 2.0]")
    );
}

/// Programs that are left out, with the reason.
const LEFT_OUT: [(&str, &str); 24] = [
    ("aliases_in_loops", TINY_CALLS),
    ("copies_captured_by_loops", TINY_CALLS),
    ("densities", TINY_CALLS),
    ("derivatives_of_small_matrices", TINY_CALLS),
    ("element_updates", TINY_CALLS),
    ("elements", TINY_CALLS),
    ("filled_arrays", TINY_CALLS),
    ("functions_as_data", TINY_CALLS),
    ("grad_corpus_a", TINY_CALLS),
    ("grad_corpus_b", TINY_CALLS),
    ("grad_corpus_c", TINY_CALLS),
    ("grad_joined", TINY_CALLS),
    ("gradients_of_layers", TINY_CALLS),
    ("many_short_rows", TINY_CALLS),
    ("matrix_reads", TINY_CALLS),
    ("modules", TINY_CALLS),
    ("nist_regression", TINY_CALLS),
    ("optimisers", TINY_CALLS),
    ("plans_shared_tangents", "it compares bits between plans, and a device adds in another order"),
    ("rings_and_borders", TINY_CALLS),
    ("row_gradients", TINY_CALLS),
    ("short_rows", "it compares bits between maps and loops, and a device has other last bits of functions"),
    ("short_sums", TINY_CALLS),
    ("small_matrices", TINY_CALLS),
];
const TINY_CALLS: &str = "thousands of tiny calls, and each waits for the device";

#[test]
fn programs_print_on_a_gpu_what_they_print_elsewhere() {
    drop(common::gpu());
    let (mut wrong, mut kernels) = (Vec::new(), 0);
    for entry in std::fs::read_dir(adl_tests::root().join("tests/programs")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let left_out = LEFT_OUT.iter().any(|(program, _)| *program == name.trim_end_matches(".adl"));
        if path.extension().is_none_or(|e| e != "adl") || left_out {
            continue;
        }
        let (mut s, out) = session();
        s.set_device_least(0);
        s.set_device("gpu").unwrap_or_else(|d| panic!("{}", d.message));
        let result = s.run_file(&name, &std::fs::read(&path).unwrap());
        for d in &result.diags {
            out.borrow_mut().push_str(&adl_syntax::render::text(d, &s.sources, false));
            out.borrow_mut().push('\n');
        }
        kernels += used(&s).0;
        let want = std::fs::read_to_string(path.with_extension("out")).unwrap();
        if !agree(&want, &out.borrow()) {
            let at =
                want.lines().zip(out.borrow().lines()).find(|(a, b)| !agree(a, b)).map(|(a, b)| format!("{a}\n{b}"));
            wrong.push(format!("{name}: {}", at.unwrap_or_default()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(kernels > 1000, "{kernels} kernels");
}

#[test]
fn gradients_are_those_of_the_cpu() {
    let (mut gpu, mut cpu) = (on_gpu(0), Session::new(Box::new(Memory::default())));
    let elementwise = unary().map(|f| format!("sum ({f} x)"));
    let mut wrong = Vec::new();
    for f in FUNCTIONS.iter().map(|f| (*f).to_owned()).chain(elementwise) {
        let text = format!("value_and_grad (fun (x : [_]Float) -> {f}) [0.7, 0.4, 0.9]");
        let (want, have) = (echo_in(&mut cpu, &text), echo_in(&mut gpu, &text));
        if want.starts_with('E') || !agree(&want, &have) {
            wrong.push(format!("{f}\n  {want}\n  {have}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(used(&gpu).0 > 300, "{:?}", used(&gpu));
}

fn same_on_both(cpu: &mut Session, gpu: &mut Session, text: &str) {
    let (want, have) = (echo_in(cpu, text), echo_in(gpu, text));
    assert!(!want.starts_with('E') && agree(&want, &have), "{text}\n{want}\n{have}");
}

/// What was sorted gets its cotangents back without sorting again; rows that are gathered are sorted once, by their index, and not number by number.
#[test]
fn gradients_of_sorted_and_gathered_arrays() {
    let (mut gpu, mut cpu) = (on_gpu(4096), Session::new(Box::new(Memory::default())));
    let lines = [
        ("let n = 20000", 0),
        ("let x = for i < n -> sin (1.7 * float (i * i % 1009)) * float (i % 5 - 2)", 3),
        ("let at = for i < n -> i * 7919 % 3000 - 10 * (if i % 97 == 0 then 1 else 0)", 3),
        ("let m = for i < 4000, j < 3 -> cos (float (i * j))", 3),
        ("let f (x : [n]Float) = (let y = sort x in sum (y[1:] * y[:n - 1]))", 0),
        ("grad f x", 60),
        ("grad (fun (x : [n]Float) -> let p = argsort x in sum (gather x p * linspace 0.0 1.0 n)) x", 60),
        ("grad (fun (m : [_][3]Float) -> sum (flatten (gather m (map (max 0) at) ^ 2))) m", 40),
        ("sum (sort (map (fun k -> (k - 1500) * 1_000_000_007) at)[3:9])", 40),
        (
            "argsort (map (fun k -> if k % 2 == 0 then -9_223_372_036_854_775_000 + k else 9_223_372_036_854_775_000 - k) at)",
            60,
        ),
    ];
    for (text, most) in lines {
        let before = used(&gpu).0;
        same_on_both(&mut cpu, &mut gpu, text);
        assert!(most == 0 || used(&gpu).0 - before <= most, "{text}: {} kernels", used(&gpu).0 - before);
    }
}

/// Gradients of products, which ask whether there are zeros, and how large the product is: of one vector, and of the columns of a matrix, which go one way or different ways.
#[test]
fn gradients_of_products_with_and_without_zeros() {
    let (mut gpu, mut cpu) = (on_gpu(4096), Session::new(Box::new(Memory::default())));
    let lines = [
        "let x = for i < 2500, j < 8 -> 1.0 + 0.001 * sin (float (i * 8 + j))",
        "let cs = linspace 0.5 2.0 8",
        "let columns (x : [n][8]Float) = dot cs (reduce (map2 (*)) (replicate 8 1.0) x)",
        "grad columns x",
        "grad columns (for i < 2500, j < 8 -> if i == 40 * j && j > 4 || j == 6 && i < 2 then 0.0 else x[i, j])",
        "grad columns (for i < 2500, j < 8 -> if j == 3 then 0.5 * x[i, j] else if j == 2 then -2.0 * x[i, j] else x[i, j])",
        "grad columns (0.5 * x)",
        "let one (x : [n]Float) = reduce (*) 2.0 x",
        "grad one (flatten x)",
        "grad one (scatter (flatten x) [77] [0.0])",
        "grad one (scatter (flatten x) [77, 19_000] [0.0, 0.0])",
        "grad one (0.25 * flatten x)",
        "grad (fun (m : [_][8]Float) -> let y = sum (m.T) in minimum y * maximum y + sum (m[argmin y])) x",
    ];
    for text in lines {
        let before = used(&gpu).0;
        same_on_both(&mut cpu, &mut gpu, text);
        assert!(!text.starts_with("grad columns x") || used(&gpu).0 - before < 20, "{} kernels", used(&gpu).0 - before);
    }
}

#[test]
fn arrays_stay_on_the_device() {
    let mut session = on_gpu(4096);
    echo_in(&mut session, "let n = 100000");
    for text in [
        "let x = for i < n -> sin (float i)",
        "let y = x * 2.0 + exp x",
        "let f (v : []Float) = sum (v * v * y)",
        "let g = grad f x",
        "let h = sort (take 50000 g)",
    ] {
        let out = session.eval(text);
        assert!(out.ok(), "{:?}", out.diags);
    }
    let (kernels, sent, fetched) = used(&session);
    assert!(kernels >= 8 && sent < 1000 && fetched < 1000, "{kernels} kernels, {sent} sent, {fetched} fetched");
    // One number comes back; printing an array fetches it, once.
    echo_in(&mut session, "sum h");
    assert!(used(&session).2 - fetched <= 16, "{:?}", used(&session));
    echo_in(&mut session, "h");
    echo_in(&mut session, "h");
    assert_eq!(used(&session).2 - fetched, 8 + 50000 * 8);
    assert!(session.explained().iter().all(|l| !l.contains("not on the GPU")), "{:?}", session.explained());
}

/// Scans of all kinds, and loops that carry a few numbers of which each turn makes linear functions: whatever carries something is a scan, so that the kernels are not more
/// for more elements.
#[test]
fn recurrences_are_scans() {
    let mut session = on_gpu(4096);
    let ways = [
        "grad (fun x -> sum (scan (*) 1.0 x)) x",
        "grad (fun x -> sum (map sin (scan (*) 1.0 x))) x",
        "grad (fun x -> loop s = 0.3 for i < len x do 0.9 * s + 0.1 * x[i]) x",
        "loop (p, q) = (0.0, 1.0) for i < len x do (0.5 * p - 0.3 * q + x[i], p)",
        "grad (fun x -> sum (sum (sum (scan (fun a b -> a @ b) (eye 2) (reshape [len x // 4, 2, 2] x))))) x",
        "scan (map2 (*)) (replicate 8 1.0) (reshape [len x // 8, 8] x)",
        "grad (fun x -> let starts = map (fun i -> i % 100 == 0) (range 0 (len x)) in sum (map (fun (_, v) -> v * v) (scan (fun (f, a) (g, b) -> (f || g, if g then b else a + b)) (false, 0.0) (zip starts x)))) x",
        "grad (fun x -> let n = len x // 2 in sum (map fst (scan (fun (b1, c1) (b2, c2) -> (b2 + c2 * b1, c2 * c1)) (0.0, 1.0) (zip x[0:n] x[n:])))) x",
    ];
    for text in ways {
        let mut kernels = Vec::new();
        for n in [20_000, 60_000] {
            echo_in(&mut session, &format!("let x = map (fun i -> 0.3 * sin (float i)) (range 0 {n})"));
            let before = used(&session).0;
            let out = session.eval(&format!("let y = (fun x -> {text}) x"));
            assert!(out.ok(), "{text}: {:?}", out.diags);
            assert!(
                session.explained().iter().all(|l| !l.contains("not on the GPU")),
                "{text}: {:?}",
                session.explained()
            );
            kernels.push(used(&session).0 - before);
        }
        assert!(kernels[0] > 0 && kernels[1] <= kernels[0] + 12 && kernels[1] < 60, "{text}: {kernels:?}");
    }
}

/// Recurrences along rows: few long rows are scanned all at once, many short ones are a thread's each, and both are what the CPU makes.
#[test]
fn recurrences_along_rows() {
    let (mut gpu, mut cpu) = (on_gpu(0), Session::new(Box::new(Memory::default())));
    let lines = [
        "let smooth (r : [_]Float) = loop c = 0.1 for j < len r do 0.9 * c + 0.1 * sin r[j]",
        "let f (m : [_][_]Float) = sum (map (fun r -> smooth r ^ 2) m)",
        "let g (m : [_][_]Float) = sum for i < len m -> fst (loop (p, q) = (0.0, 1.0) for j < len m[i] do (0.5 * p - 0.3 * q + m[i, j], p))",
        "let long = for i < 5, j < 3000 -> sin (float (i * 7 + j))",
        "let short = for i < 400, j < 9 -> sin (float (i * 7 + j))",
        "(f long, f short, g long, g short)",
        "grad f short",
        "sum (grad f long * long)",
        "(grad f long)[4]",
        "(grad g long)[3]",
        "grad g short",
    ];
    lines.into_iter().for_each(|text| same_on_both(&mut cpu, &mut gpu, text));
    assert!(gpu.explained().iter().all(|l| !l.contains("not on the GPU")), "{:?}", gpu.explained());
}

/// What is done to each row by operations on whole arrays: scans, products, sorts and rotations of all rows at once, so that rows do not count.
#[test]
fn all_rows_are_scanned_and_sorted_at_once() {
    let (mut gpu, mut cpu) = (on_gpu(0), Session::new(Box::new(Memory::default())));
    for s in [&mut gpu, &mut cpu] {
        echo_in(s, "let z = random.normal (random.key 0) [600, 24]");
        echo_in(s, "let each (f : [_]Float -> Float) (z : [_][_]Float) = sum (map f z)");
    }
    for body in [
        "let l = cumsum (map (fun e -> 0.1 + 0.3 * e) r) in mean (map exp l)",
        "sum (sort r * linspace 0.0 1.0 24)",
        "sum (gather r (argsort (-r))[0:3])",
        "sum (rotate 2 r * r * r) + sum (rotate (-5) r * reverse r)",
    ] {
        for text in [format!("each (fun r -> {body}) z"), format!("norm (flatten (grad (each (fun r -> {body})) z))")] {
            let before = used(&gpu).0;
            let (a, b) = (echo_in(&mut cpu, &text), echo_in(&mut gpu, &text));
            assert!(agree(&a, &b) && a.ends_with("Float"), "{text}: {a}\n{b}");
            assert!((1..150).contains(&(used(&gpu).0 - before)), "{text}: {} kernels", used(&gpu).0 - before);
        }
    }
    for (definition, argument) in [
        ("(z : [_][_]Float) = map (fun (r : [_]Float) -> cumprod r) z", "z[0:50]"),
        ("(z : [_][_]Int) = map (fun (r : [_]Int) -> prod r) z", "(random.int (random.key 1) 1 4 [300, 20])"),
        ("(z : [_][_]Int) = map (fun (r : [_]Int) -> argsort r) z", "(random.int (random.key 1) 0 9 [3, 70])"),
        (
            "(z : [_][_][_]Float) = map (fun (m : [_][_]Float) -> map (fun (r : [_]Float) -> cumsum r) m) z",
            "(reshape [200, 3, 24] z)",
        ),
        // How often an inner loop turned is an extent of what is made of its array.
        (
            "(z : [_][_]Float) = for i < 24 -> let s = (for j < 24 -> if j <= i then (sum for k < 4 -> z[i, k] * z[j, k]) else -1.0) in sum (map (fun a -> exp (a - maximum s)) s)",
            "z",
        ),
    ] {
        for s in [&mut gpu, &mut cpu] {
            echo_in(s, &format!("let f {definition}"));
        }
        let (before, text) = (used(&gpu).0, format!("f {argument}"));
        let a = echo_in(&mut cpu, &text);
        assert!(agree(&a, &echo_in(&mut gpu, &text)) && !a.contains("error"), "{definition}: {a}");
        assert!(used(&gpu).0 - before < 100, "{definition}: {} kernels", used(&gpu).0 - before);
    }
}

/// A loop that the host turns, with little in each kernel, is given up while it turns; the CPU then has what is not there at all.
#[test]
fn loops_of_small_kernels_are_given_up() {
    let (mut gpu, mut cpu) = (on_gpu(16384), Session::new(Box::new(Memory::default())));
    let text = [
        "let y = map (fun i -> sin (float i)) (range 0 40000)",
        "let f p = let (m, s) = (loop (m, s) = (p.m, 0.0 * p.m) for i < 3000 do (let k = 0.5 * tanh (p.m @ s + 0.1 * m) in (k, 0.3 * s + y[i] * k))) in sum (flatten (m + s))",
        "grad f {m = [[0.1, 0.3], [0.2, -0.4]], unused = replicate 4 0.0}",
    ];
    let before = used(&gpu).0;
    for line in text {
        assert!(agree(&echo_in(&mut cpu, line), &echo_in(&mut gpu, line)), "{line}");
    }
    let derivations = gpu.explained();
    assert!(
        derivations.iter().any(|l| l.contains("loops whose iterations the host starts") && !l.contains("tape")),
        "{derivations:?}"
    );
    assert!(used(&gpu).0 - before < 2000, "{} kernels", used(&gpu).0 - before);
}

/// Products with cotangents that are not there, as those of what a loop carries are behind its last turn.
#[test]
fn absent_zeros_are_factors() {
    let mut s = on_gpu(0);
    let text = "let step (x, r, p) = (let a = 1.0 / dot p p in (x + a * p, r - a * p, r + a * p))
let f (b : [_]Float) = let (x, r, p) = (loop s = (0.0 * b, b, b) for i < 3 do step s) in dot x b
let g = grad f (map (fun i -> sin (float i)) (range 0 3000))";
    let out = s.eval(text);
    assert!(out.ok(), "{:?}", out.diags);
    assert!(s.explained().iter().all(|l| !l.contains("not on the GPU")), "{:?}", s.explained());
}

#[test]
fn what_was_read_is_sent_once() {
    let mut s = on_gpu(4096);
    echo_in(&mut s, "let x = linspace 0.0 1.0 100000");
    echo_in(&mut s, "let f (k : Float) (v : []Float) = sum (sin (k * v))");
    echo_in(&mut s, "loop t = 0.0 for i < 10 do t + f (float i) x");
    assert!(used(&s).1 < 1_000_000, "{:?}", used(&s));
}

#[test]
fn costs_and_explanations_say_what_moves() {
    let mut session = on_gpu(16);
    echo_in(&mut session, "let f (v : []Float) = sum (v * v)");
    let c = echo_in(&mut session, "(cost f (for i < 100 -> float i)).gpu");
    assert!(c.contains("kernels") && !c.contains("kernels = 0"), "{c}");
    let mut cpu = Session::new(Box::new(Memory::default()));
    echo_in(&mut cpu, "let f (v : []Float) = sum (v * v)");
    assert_eq!(echo_in(&mut cpu, "(cost f [1.0]).gpu.kernels"), "0 : Int");
    session.clear_derivations();
    echo_in(&mut session, "grad f (for i < 100000 -> float i)");
    assert!(
        session.timed_derivations().iter().any(|l| l.starts_with("grad f: compiled AD; on the GPU (")),
        "{:?}",
        session.timed_derivations()
    );
}

#[test]
fn errors_are_those_of_the_cpu() {
    let (mut gpu, mut cpu) = (on_gpu(0), Session::new(Box::new(Memory::default())));
    for text in [
        "let x = for i < 100 -> float i",
        "for i < 101 -> x[i + 0 * i]",
        "sum for i < 100 -> x[i * 2]",
        "let k = for i < 100 -> i - 50",
        "for i -> 100 // k[i]",
        "map (fun i -> i * 9223372036854775807) k",
        "gather x [3, 100]",
        "grad (fun v -> sum (gather v (for i < 500 -> i % 101))) x",
        "grad (fun v -> sum (gather v (for i < 500 -> i % 101) * 2.0)) x",
        "x + [1.0, 2.0]",
        "x[99]",
    ] {
        assert_eq!(echo_in(&mut gpu, text), echo_in(&mut cpu, text), "{text}");
    }
}

#[test]
fn loops_that_turn_often_end_where_they_should() {
    let (mut gpu, mut cpu) = (on_gpu(0), Session::new(Box::new(Memory::default())));
    for text in [
        "foldr (fun v acc -> v - acc) 0.0 (map float (iota 200000))",
        "sum for i < 20 -> sum for k < 300, j < 300 -> sin (float (i + k * j))",
        "for i < 3 -> (loop s = 0.0 for k < 70000 + i do s * 0.5 + float k)",
        "for i < 3 -> (loop s = 1.0 while s < 100000.0 do s + 1.0)",
        "sum (replicate 200000 1.0) + (replicate 70000 1.0 @ replicate 70000 2.0)",
        "(for i < 2, j < 100000 -> float (i + j)) @ (for i < 100000, j < 2 -> 1.0)",
    ] {
        let (want, have) = (echo_in(&mut cpu, text), echo_in(&mut gpu, text));
        assert!(agree(&want, &have), "{text}\n  {want}\n  {have}");
    }
}

#[test]
fn a_device_that_is_lost_takes_its_arrays_but_not_the_session() {
    let gpu = Rc::new(common::gpu());
    let out = Memory::default();
    let mut session = Session::new(Box::new(out.clone()));
    session.set_open_device(adl_gpu::program::device(gpu.clone()));
    session.set_device("gpu").unwrap_or_else(|d| panic!("{}", d.message));
    echo_in(&mut session, "let x = linspace 0.0 1.0 100000");
    assert!(session.eval("let y = x * 2.0").ok() && used(&session).0 > 0);
    gpu.close();
    let failed = session.eval("let z = y + 1.0");
    assert_eq!(failed.diags.iter().map(|d| d.code).collect::<Vec<_>>(), ["E0725"], "{:?}", failed.diags);
    assert_eq!((session.device(), echo_in(&mut session, "sum (x * 2.0)")), ("cpu", "100000.0 : Float".to_owned()));
    assert!(session.eval("y").echoes[0].line().contains("is gone"));
    // Another is opened, and what is made again is there.
    session.set_device("gpu").unwrap_or_else(|d| panic!("{}", d.message));
    assert_eq!(echo_in(&mut session, "let y = x * 2.0\nsum y"), "100000.0 : Float");
}

#[test]
fn an_adapter_that_is_not_there_is_a_clear_error() {
    struct Picky;
    impl adl_interp::host::Host for Picky {
        fn env(&mut self, name: &str) -> Option<String> {
            (name == "ADL_GPU").then(|| "no such adapter".to_owned())
        }
    }
    drop(common::gpu());
    let mut session = Session::new(Box::new(Picky));
    let d = session.set_device("gpu").unwrap_err();
    assert_eq!(d.code, "E0725");
    assert!(
        d.message.contains("no adapter is called `no such adapter`; there are 0: ") && d.hint.is_some(),
        "{}",
        d.message
    );
    assert_eq!(
        (session.device(), echo_in(&mut session, "sum (for i < 100000 -> 1.0)")),
        ("cpu", "100000.0 : Float".to_owned())
    );
    // `auto` goes on without.
    assert!(session.set_device("auto").is_ok());
    assert_eq!(echo_in(&mut session, "sum (for i < 100000 -> 1.0)"), "100000.0 : Float");
}

#[test]
fn what_was_compiled_is_kept_for_later_runs() {
    #[derive(Clone, Default)]
    struct Keeper(Rc<RefCell<Vec<(String, usize)>>>);
    impl adl_interp::host::Host for Keeper {
        fn kept(&mut self, name: &str) -> Option<Vec<u8>> {
            self.0.borrow_mut().push((format!("asked for {name}"), 0));
            Some(b"not what a driver wrote".to_vec())
        }
        fn keep(&mut self, name: &str, bytes: &[u8]) {
            self.0.borrow_mut().push((name.to_owned(), bytes.len()));
        }
    }
    let tells = common::gpu().cache_blob().is_some();
    let keeper = Keeper::default();
    let mut s = Session::new(Box::new(keeper.clone()));
    assert!(keeper.0.borrow().is_empty(), "a device was opened that was not needed");
    s.set_device("gpu").unwrap_or_else(|d| panic!("{}", d.message));
    assert_eq!(echo_in(&mut s, "sum (for i < 100000 -> 1.0)"), "100000.0 : Float");
    drop(s);
    let done: Vec<String> = keeper.0.borrow().iter().map(|(n, _)| n.clone()).collect();
    assert_eq!(done, if tells { vec!["asked for pipelines", "pipelines"] } else { vec!["asked for pipelines"] });
    assert!(keeper.0.borrow().iter().skip(1).all(|(_, n)| *n > 16));
}

#[test]
fn native_code_does_not_leave_a_device_with_old_numbers() {
    let (mut gpu, mut cpu) = (on_gpu(64), Session::new(Box::new(Memory::default())));
    for text in [
        "let x = linspace 0.0 1.0 5000",
        "let step (v : []Float) i = scatter v [i % 5000] [sum v / 5000.0]",
        "let run (v : []Float) n = loop v = v for i < n do step v i",
        "sum (run x 4000)",
        "let y = run (x * 2.0) 4000",
        "sum (y * y) + sum (run y 10)",
        "dot y (run y 3)",
    ] {
        let (want, have) = (echo_in(&mut cpu, text), echo_in(&mut gpu, text));
        assert!(agree(&want, &have), "{text}\n  {want}\n  {have}");
    }
}

#[test]
fn results_are_the_same_bits_each_time() {
    let text = "let x = for i < 100000 -> sin (float i)\nlet f (v : []Float) = sum (exp v * v)\n(f x, sum (grad f x), sum (scan (fun a b -> a * b + a + b) 0.0 (x * 1e-6)))";
    let all: Vec<String> = (0..3).map(|_| echo_in(&mut on_gpu(0), text)).collect();
    assert!(!all[0].starts_with('E') && all.iter().all(|t| *t == all[0]), "{all:?}");
}

#[test]
fn an_interrupt_ends_waiting() {
    let mut session = on_gpu(0);
    echo_in(&mut session, "let x = for i < 1000000 -> float i");
    let flag = session.interrupt();
    let asks = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(200));
        flag.store(true, Ordering::Relaxed);
        Instant::now()
    });
    let out = session.eval("sum for i < 1000000 -> sum for k < 100 -> sin (x[i] * float k)");
    let late = asks.join().unwrap().elapsed();
    assert_eq!(out.diags.iter().map(|d| d.code).collect::<Vec<_>>(), ["E0708"], "{:?}", out.diags);
    assert!(late < Duration::from_secs(5), "{late:?}");
    session.clear_interrupt();
    assert_eq!(echo_in(&mut session, "1 + 1"), "2 : Int");
}

#[test]
fn auto_does_not_take_the_cpu_for_a_gpu() {
    if !common::gpu().caps.software {
        return;
    }
    let mut s = Session::new(Box::new(Memory::default()));
    s.set_device("auto").unwrap_or_else(|d| panic!("{}", d.message));
    echo_in(&mut s, "let f (v : []Float) = sum (exp (sin (exp (sin v))))");
    echo_in(&mut s, "let x = linspace 0.0 1.0 1000000");
    for _ in 0..4 {
        echo_in(&mut s, "grad f x");
    }
    assert!(s.device_used().is_none_or(|u| u.kernels == 0));
}

/// Mesa's software device, as one that is not the CPU.
struct Apart(Rc<dyn Device>);

impl Device for Apart {
    fn name(&self) -> String {
        self.0.name()
    }
    fn is_software(&self) -> bool {
        false
    }
    fn prepare(&self, program: adl_ir::Program, f: adl_ir::FnId) -> Result<Rc<dyn Prepared>, String> {
        self.0.prepare(program, f)
    }
    fn wait(&self) -> Result<(), Refusal> {
        self.0.wait()
    }
    fn compiled(&self) -> Option<Vec<u8>> {
        self.0.compiled()
    }
    fn used(&self) -> DeviceUsage {
        self.0.used()
    }
}

#[test]
fn auto_measures_a_gradient_as_a_whole() {
    let mut session = Session::new(Box::new(Memory::default()));
    session.set_open_device(Rc::new(Apart(adl_gpu::program::device(Rc::new(common::gpu())))));
    session.set_device("auto").unwrap_or_else(|d| panic!("{}", d.message));
    echo_in(
        &mut session,
        "let f (v : []Float) = sum (scan max (-inf) (scan (+) 0.0 (sin (exp (sin (lgamma (2.0 + exp (sin v))))))))",
    );
    echo_in(&mut session, "let x = map sin (linspace 0.0 1.0 1000000)");
    let mut all = Vec::new();
    let mut kernels = Vec::new();
    for _ in 0..6 {
        let before = session.device_used().map_or(0, |u| u.kernels);
        all.push(echo_in(&mut session, "(grad f x)[500000]"));
        kernels.push(session.device_used().map_or(0, |u| u.kernels) - before);
    }
    // Two times on the CPU, two on the device; then where it was faster.
    assert!(
        kernels[..2] == [0, 0]
            && kernels[2] > 3
            && kernels[3] == kernels[2]
            && (kernels[4] == 0 || kernels[4] == kernels[3])
            && kernels[5] == kernels[4],
        "{kernels:?}"
    );
    assert!(all.iter().all(|a| agree(a, &all[0])), "{all:?}");
}
