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

/// A model of declared data, with a constructor without numbers, and one that nests.
const MODEL: &str = "\
type Layer = Dense {w : [2][2]Float, b : [2]Float} | Scale Float | Id
let apply l x = match l with
  | Dense d -> tanh (x @ d.w + d.b)
  | Scale s -> s * x
  | Id -> x
let net ls x = fold (fun x l -> apply l x) x ls
let table = for i < 5 -> ([float i, 1.0], float (i % 2))
let data = comm.mine table
let part ls rows = sum (map (fun (x, y) -> (sum (net ls x) - y) ^ 2) rows)
let loss ls = comm.total (comm.each (fun rows -> part ls rows) data)
let m = [Dense {w = [[0.1, 0.2], [0.3, 0.4]], b = [0.0, 0.1]}, Id, Scale 0.5]
type Tree = Leaf Float | Node {l : Tree, r : Tree, w : [3]Float}
let rec build n =
  if n == 0 then Leaf 0.5 else Node {l = build (n - 1), r = build (n - 1), w = [0.1, 0.2, float n]}
let rec eval t x = match t with
  | Leaf a -> a * x
  | Node n -> eval n.l (x * n.w[0]) + eval n.r (x * n.w[1]) * n.w[2]
let each_of xs t = sum (map (fun x -> eval t x) xs)
let over t = comm.total (comm.each (fun xs -> each_of xs t) (comm.mine (for i < 5 -> float i)))
";

#[test]
fn gradients_of_declared_data_are_compiled_and_send_two_messages() {
    let dir = Dir::new("declared");
    let run = |ranks, rest: &str| {
        dir.file("a.adl", format!("{MODEL}{rest}\n"));
        let run = on(&dir, ranks, &["--derivation", "a.adl"])?;
        assert!(run.code == 0 && !run.err.contains("taped"), "{}", run.err);
        let line = run.err.lines().find(|l| l.starts_with("messages: ")).unwrap();
        Some((line.split(' ').nth(1).unwrap().parse::<u32>().unwrap(), run.out.clone()))
    };
    // 127 nodes are more bytes than are sent at once.
    let value = "print (part (grad loss m) table)\nprint (eval (grad over (build 7)) 1.0)";
    let alone = "print (part (grad (fun ls -> part ls table) m) table)\nprint (eval (grad (each_of (for i < 5 -> float i)) (build 7)) 1.0)";
    for ranks in [2, 3] {
        let Some((none, _)) = run(ranks, "") else { return };
        let (sent, have) = run(ranks, value).unwrap();
        assert_eq!(sent, none + 4);
        let (have, want) = (numbers(&have), numbers(&run(1, alone).unwrap().1));
        assert!(have.len() == 2 && want.len() == 2, "{have:?} {want:?}");
        assert!(have.iter().zip(&want).all(|(a, b)| (a - b).abs() < 1e-12), "{have:?} {want:?}");
    }
}

#[test]
fn constructors_that_differ_are_an_error() {
    let dir = Dir::new("constructors");
    dir.file("a.adl", "type Shape = Circle Float | Square Float\nlet shape w r = if r == 0 then Circle w else Square (2.0 * w)\nlet f w = comm.total (comm.each (shape w) comm.rank)\nprint (f 1.0)\n");
    dir.file("b.adl", "let f w = comm.from 1 (comm.each (fun r -> if r == 0 then None else Some w) comm.rank)\nprint (f 1.5)\nprint (grad (fun w -> match f w with | Some x -> x * x | None -> 0.0) 2.0)\n");
    let Some(run) = on(&dir, 2, &["a.adl"]) else { return };
    run.is(1, "", "rank 0 at comm.total of Circle (a.adl:3:11), rank 1 at comm.total of Square (a.adl:3:11)");
    // As they are, declared data of any constructor are sent; with tangents their parts are.
    let run = on(&dir, 2, &["b.adl"]).unwrap();
    run.is(1, "Some 1.5\n", "rank 0 at comm.from (b.adl:1:11), rank 1 at comm.from of Some (b.adl:1:11)");
}

#[test]
fn long_lists_are_sent() {
    let dir = Dir::new("long-lists");
    dir.file("a.adl", "type L = Nil | More Float L\nlet long = fold (fun l i -> More 1.0 l) Nil (iota 100000)\nlet length l = fst (loop (n, l) = (0, l) while (match l with | Nil -> false | _ -> true) do match l with | Nil -> (n, l) | More _ t -> (n + 1, t))\nprint (length (comm.total (comm.spread long)))\nprint (length (comm.from 0 (comm.shift 1 (comm.spread long))))\n");
    let Some(run) = on(&dir, 2, &["a.adl"]) else { return };
    run.is(0, "100000\n100000\n", "");
}
