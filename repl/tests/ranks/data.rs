//! Reductions that are no sums, and texts and declared data in messages.

use super::{Dir, numbers, on};

/// Functions of dealt-out arrays. The last line has derivatives.
const NOT_SUMS: &str = "\
let xs = map (fun i -> sin (float (i * 7 % 11)) * float (1 + i % 3)) (iota 10)
let d = comm.mine xs
print (comm.reduce max (-inf) d, comm.maximum d, comm.minimum (comm.mine [4, 2, 3, 9, 2]))
let (r, i) = comm.argmax d
print (comm.total (comm.each (fun (own, v) -> if own == r then v[i] else 0.0) (comm.zip comm.rank d)) == maximum xs)
let (r, i) = comm.argmin d
print (comm.total (comm.each (fun (own, v) -> if own == r then v[i] else 0.0) (comm.zip comm.rank d)) == minimum xs)
let keys = comm.mine (map (fun i -> i * 5 % 4) (iota 10))
print (comm.reduce_by_index 3 max (-inf) keys d)
print (comm.reduce_by_index 4 (+) 0 keys (comm.mine (iota 10)))
print (comm.gather (comm.scan (+) 0 (comm.mine (iota 10))))
print (comm.gather (comm.scan max (-inf) d))
let affine (a, b) (c, e) = (a * c, b * c + e)
print (comm.reduce affine (1.0, 0.0) (comm.each (map (fun x -> (x, 1.0))) d))
print (grad (fun x -> comm.maximum (comm.mine x) * 2.0) xs)
print (grad (fun x -> comm.reduce (*) 1.0 (comm.mine x)) xs)
print (grad (fun x -> let ys = comm.scan (*) 1.0 (comm.mine x) in comm.total (comm.each (fun v -> sum (map sin v)) ys)) xs)
print (grad (fun w -> comm.reduce_by_index 3 max (-inf) keys (comm.each (map (fun x -> w * x * x)) d) |> sum) 0.5)
";

#[test]
fn reductions_that_are_no_sums() {
    let dir = Dir::new("not-sums");
    dir.file("a.adl", NOT_SUMS);
    let alone = dir.adl(&["a.adl"]);
    assert_eq!((alone.code, alone.err.as_str()), (0, ""));
    // Those of the whole array by the functions of the prelude.
    let local = "let xs = map (fun i -> sin (float (i * 7 % 11)) * float (1 + i % 3)) (iota 10)\n\
        print (maximum xs, maximum xs, 2)\nprint (grad (fun x -> reduce (*) 1.0 x) xs)\n\
        print (grad (fun x -> sum (map sin (scan (*) 1.0 x))) xs)\n";
    dir.file("b.adl", local);
    let local = dir.adl(&["b.adl"]);
    let close = |a: &str, b: &str| {
        let (a, b) = (numbers(a), numbers(b));
        a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-12)
    };
    let line = |text: &str, k: usize| text.lines().nth(k).unwrap_or_default().to_owned();
    for (k, own) in [(0, 0), (1, 9), (2, 10)] {
        assert!(close(&line(&local.out, k), &line(&alone.out, own)), "{k}: {}{}", local.out, alone.out);
    }
    // With eleven ranks there is one without elements.
    for ranks in [1, 2, 3, 4, 11] {
        for flags in [&["a.adl"][..], &["--ad", "taped", "a.adl"]] {
            let Some(run) = on(&dir, ranks, flags) else { return };
            assert_eq!((run.code, run.err.as_str()), (0, ""), "{ranks}");
            for (k, want) in alone.out.lines().enumerate() {
                assert!(close(&line(&run.out, k), want), "{ranks} {k}: {}{}", run.out, alone.out);
                assert_eq!(line(&run.out, k).contains("false"), want.contains("false"));
            }
        }
    }
}

/// What has no tangent is sent as it is.
const PLAIN: &str = "\
type Shape = Circle Float | Square {side : Float, name : String} | Nothing
let n = 7
let shape i = if i % 3 == 0 then Circle (float i) else if i % 3 == 1 then Square {side = float i, name = f\"s{i}\"} else Nothing
let texts = comm.mine (for i < n -> f\"text {i}\")
let shapes = comm.mine (for i < n -> shape i)
print (comm.gather texts)
print (comm.gather shapes)
print (comm.gather (comm.each (filter (fun t -> t != \"text 3\")) texts))
print (comm.from (comm.size - 1) (comm.each (fun r -> (f\"rank {r}\", shape r, [Some r, None])) comm.rank) |> fun (_, s, o) -> (len o, match s with | Nothing -> 0 | _ -> 1) |> fun (a, _) -> a)
print (comm.gather (comm.each (fun s -> [s]) (comm.shift 1 (comm.each (fun r -> f\"r{r}\") comm.rank))) |> len)
print (comm.gather (comm.exchange (comm.each (fun r -> for s < comm.size -> f\"{r}{s}\") comm.rank)) |> map io.length |> sum |> fun s -> s == 2 * comm.size * comm.size)
print (comm.gather (comm.mine (for i < n -> {name = f\"n{i}\", x = float i, tags = (i, [f\"t{i}\"])})))
let table = rows.blocks 2 (for i < n -> {name = f\"row {i}\", x = float i})
print (rows.collect table)
print (rows.fold_chunks (fun a b -> f\"{a}{b}\") (fun rs -> fold (fun t r -> f\"{t}{r.name}\") \"\" rs) table)
";

#[test]
fn texts_and_declared_data_are_sent() {
    let dir = Dir::new("texts");
    dir.file("a.adl", PLAIN);
    let alone = dir.adl(&["a.adl"]);
    assert_eq!((alone.code, alone.err.as_str()), (0, ""));
    assert!(alone.out.contains("Square {side = 4.0, name = \"s4\"}"), "{}", alone.out);
    // With nine ranks there are some without elements.
    for ranks in [1, 2, 3, 4, 9] {
        let Some(run) = on(&dir, ranks, &["a.adl"]) else { return };
        assert_eq!((run.code, run.err.as_str()), (0, ""));
        // The number of texts that are shifted is that of ranks.
        let same =
            |t: &str| t.lines().enumerate().filter(|(k, _)| *k != 4).map(|(_, l)| format!("{l}\n")).collect::<String>();
        assert_eq!(same(&run.out), same(&alone.out), "{ranks}");
        assert_eq!(run.out.lines().nth(4), Some(ranks.to_string().as_str()));
    }
    for (program, text) in [
        ("comm.total (comm.spread \"a\")", "`comm.total` adds numbers and arrays of them, not texts"),
        ("comm.place 0 \"a\"", "`comm.place` makes zeros of numbers, Bools and arrays of them, not texts"),
    ] {
        dir.adl(&["-e", program]).is(1, "", text);
    }
}
