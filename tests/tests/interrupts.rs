//! Ctrl-C at any time: single operations on large data end soon after it, and the session goes on.

use adl_session::Session;
use adl_tests::{Memory, echo_in};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Definitions, and an expression that takes longer than anybody waits here.
const LONG: &[(&str, &str)] = &[
    // Making arrays.
    ("", "iota 1000000000"),
    ("", "range 0 1000000000"),
    ("", "linspace 0.0 1.0 800000000"),
    ("", "replicate 800000000 1.0"),
    ("", "replicate 100000000 [1.0, 2.0]"),
    ("", "eye 30000"),
    ("let a = linspace 0.0 1.0 30000", "diag a"),
    ("let a = linspace 0.0 1.0 30000", "outer a a"),
    ("", "for i < 20000, j < 20000 -> float (i * j)"),
    ("", "random.normal (random.key 1) [300000000]"),
    // Operations on whole arrays, many of them between two looks of a slow reader.
    (
        "let a = linspace 0.0 1.0 10000000",
        "a + a * a - a / (a + 1.0) + a ^ 2 - min a 0.5 + max a 0.5 + atan2 a a + hypot a a + a * 2.0 - a",
    ),
    ("let a = iota 10000000", "a + a * 2 - a % 7 + a // 3 + a * a - a % 5 + a // 7 - a % 11 + a + a + a + a // 9"),
    ("let a = linspace 0.0 1.0 10000000", "lgamma (a + 1.0) + lgamma (a + 2.0)"),
    ("let a = iota 20000000", "map int (map float (map int (map float (map int (map float a)))))"),
    ("let a = linspace 0.0 1.0 20000000", "cumsum (cumprod (cumsum (cumprod (cumsum a))))"),
    ("let a = linspace 0.0 1.0 20000000", "reverse (rotate 7 (reverse (rotate 5 (reverse a))))"),
    ("let a = random.uniform (random.key 1) [4000, 4000]", "(((a.T + a).T + a).T + a).T"),
    ("let a = linspace 0.0 1.0 20000000", "(a ++ a ++ a) ++ (a ++ a ++ a)"),
    ("let a = random.uniform (random.key 1) [5000000]", "sort a ++ sort a ++ sort a"),
    ("let a = map show (iota 200000)", "sort (a ++ a ++ a ++ a ++ a ++ a)"),
    ("let a = map (fun i -> Some (float i)) (iota 300000)", "a + a + a + a + a + a + a + a + a + a"),
    ("let a = map (fun i -> float ((i * 7919) % 10000019)) (iota 10000000)", "sort a ++ sort a"),
    ("let a = map (fun i -> (i * 7919) % 10000019) (iota 10000000)", "argsort a ++ argsort a"),
    (
        "let a = map (fun i -> (i * 7919) % 10000019) (iota 5000000)",
        "sort_by (fun x -> 0 - x) (sort_by (fun x -> x % 1000) a)",
    ),
    ("let a = map (fun i -> ((i * 7919) % 1000, i)) (iota 3000000)", "sort a ++ sort a"),
    ("let a = map (fun i -> {name = show (i % 1000), size = i}) (iota 300000)", "sort a ++ sort a"),
    ("let a = map (fun i -> (i * 7919) % 10000019) (iota 5000000)", "len (stats.unique a) + len (stats.unique a)"),
    // Linear algebra.
    ("let a = random.uniform (random.key 1) [1500, 1500]", "a @ a @ a @ a"),
    ("let a = random.uniform (random.key 1) [1500, 1500]", "inv a"),
    ("let a = random.uniform (random.key 1) [700, 700]", "svd a"),
    // Text and data.
    ("let a = linspace 0.0 1.0 4000000", "show a"),
    ("let a = linspace 0.0 1.0 4000000", "print a"),
    ("let a = linspace 0.0 1.0 4000000", "f\"{a}\""),
    ("let a = replicate 400000 (1.5, \"a\")", "show a"),
    ("let a = linspace 0.0 1.0 3000000", "write_csv \"a.csv\" {a = a, b = a}"),
    ("let a = linspace 0.0 1.0 3000000", "write_json \"a.json\" a"),
    (
        "let a = linspace 0.0 1.0 300000\nwrite_csv \"a.csv\" {a = a, b = a}",
        "loop t = (read_csv (\"a\" ++ \".csv\") : {a : [_]Float}) for i < 100 do read_csv (\"a\" ++ \".csv\")",
    ),
    // Calls, derivatives.
    ("", "let rec f n = if n == 0 then 0 else 1 + f (n - 1) in f 1000000000000"),
    ("let a = linspace 0.0 1.0 5000000", "grad (fun x -> sum (sin (cos (sin (cos (sin (cos x))))))) a"),
    ("let a = linspace 0.0 1.0 4000", "hessian (fun x -> sum (sin x) * sum (x * x) * prod (cos x)) a"),
];

/// A text that takes seconds to check.
fn large(items: usize, lines: usize) -> String {
    let item = |k: usize| {
        let lets: String = (1..lines)
            .map(|i| format!("  let a{i} = if x > y then a{} + {i}.0 * y else sin (x - y) * a{}\n", i - 1, i - 1))
            .collect();
        format!("let f{k} x y =\n  let a0 = x\n{lets}  a{}\n", lines - 1)
    };
    (0..items).map(item).collect()
}

/// Of many items and of few large ones: an interrupt before the first or while one is checked leaves the session as it was before.
#[test]
fn checking_ends_when_it_is_interrupted() {
    for (items, lines) in [(40_000, 3), (4, 20_000)] {
        let text = format!("let lost = 1.0\n{}", large(items, lines));
        for pause in [0, 100, 400] {
            let mut session = Session::new(Box::new(Memory::default()));
            assert_eq!(echo_in(&mut session, "let kept = 40.0\nkept"), "40.0 : Float");
            let flag = session.interrupt();
            let timer = std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(pause));
                flag.store(true, Ordering::Relaxed);
            });
            let out = if pause == 100 { session.run_file("large.adl", text.as_bytes()) } else { session.eval(&text) };
            assert!(timer.join().is_ok());
            assert_eq!(out.diags.iter().map(|d| d.code).collect::<Vec<_>>(), ["E0708"], "{pause}");
            assert!(out.interrupted && out.echoes.len() < items, "{pause}");
            // What the user asks for meanwhile does not look at a flag that was meant for the entry.
            assert!(!session.complete("ke").is_empty());
            session.clear_interrupt();
            assert_eq!(echo_in(&mut session, "kept + 2.0"), "42.0 : Float");
        }
    }
}

#[test]
fn long_operations_end_when_they_are_interrupted() {
    let mut wrong = Vec::new();
    let mut slowest = (Duration::ZERO, "");
    for (setup, text) in LONG {
        let mut session = Session::new(Box::new(Memory::default()));
        if !setup.is_empty() {
            let made = echo_in(&mut session, setup);
            assert!(!made.starts_with('E'), "{setup}: {made}");
        }
        let flag = session.interrupt();
        let timer = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(60));
            flag.store(true, Ordering::Relaxed);
            Instant::now()
        });
        let answer = echo_in(&mut session, text);
        let end = Instant::now();
        let late = timer.join().map_or(Duration::ZERO, |asked| end.saturating_duration_since(asked));
        println!("{late:>12?}  {text}");
        session.clear_interrupt();
        slowest = slowest.max((late, text));
        if !answer.starts_with("E0708") {
            wrong.push(format!("{text}\n    gives {answer:.100}"));
        }
        // The session is whole: what was defined before is there.
        let after = if setup.is_empty() {
            echo_in(&mut session, "1 + 1")
        } else {
            echo_in(&mut session, "len a + 1 > 0 && 1 + 1 == 2")
        };
        if after != "2 : Int" && after != "true : Bool" {
            wrong.push(format!("{text}\n    and then {after}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // A tenth of a second where nothing else runs.
    assert!(slowest.0 < Duration::from_secs(3), "{slowest:?}");
}
