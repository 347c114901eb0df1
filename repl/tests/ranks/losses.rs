//! Functions of a loss on several ranks, and programs that other systems differentiate wrongly or not at all.

use super::{Dir, numbers, on};

/// `a.adl` prints this on 1 to 4 ranks, by compiled and by taped AD.
fn prints_everywhere(dir: &Dir, expected: &str) {
    for ranks in [1, 2, 3, 4] {
        for flags in [&["a.adl"][..], &["--ad", "taped", "a.adl"]] {
            let Some(run) = on(dir, ranks, flags) else { return };
            run.is(0, expected, "");
        }
    }
}

/// Every optimiser, and Hamiltonian Monte Carlo, on a loss over ranks; then on the same loss of one rank.
const USERS: &str = "\
let xs = for i < 40 -> (float i / 10.0, 1.0 + sin (float i / 10.0 * 1.3) * 0.7)
let one w (x, y) = (w.a + sin (x * w.f) * w.b - y) ^ 2
let own = comm.mine xs
let over_ranks w = comm.total (comm.each (fun v -> sum (map (one w) v)) own)
let alone w = sum (map (one w) xs)
let table = rows.blocks 7 xs
let over_rows w = rows.sum (one w) table
let start = {a = 0.8, b = 0.5, f = 1.2}
let show w = (io.fixed 5 w.a, io.fixed 5 w.b, io.fixed 5 w.f)
let fits loss =
  let gd = optim.gradient_descent {optim.gd_defaults with rate = 0.005, steps = 60} loss start
  let adam = optim.adam {optim.adam_defaults with rate = 0.05, steps = 80} loss start
  let lbfgs = optim.lbfgs optim.lbfgs_defaults loss start
  let newton = optim.newton {optim.newton_defaults with steps = 5} loss start
  (show gd.params, show adam.params, show lbfgs.params, show newton.params)
print (fits over_ranks)
print (fits over_rows)
print (fits alone)
-- Ten steps of Hamiltonian Monte Carlo.
let hmc loss =
  let leap (q, p) = loop (q, p) = (q, p) for i < 8 do
    let p = p - 0.01 * grad loss q
    let q = q + 0.02 * p
    (q, p - 0.01 * grad loss q)
  let energy q p = loss q + 0.5 * (p.a * p.a + p.b * p.b + p.f * p.f)
  loop q = start for i < 10 do
    let k = random.fold_in (random.key 3) i
    let n = random.normal (random.fold_in k 0) [3]
    let p = {a = n[0], b = n[1], f = n[2]}
    let (q1, p1) = leap (q, p)
    if log (random.uniform (random.fold_in k 1) [1])[0] < energy q p - energy q1 p1 then q1 else q
print (show (hmc over_ranks))
print (show (hmc over_rows))
print (show (hmc alone))
";

#[test]
fn optimisers_and_a_sampler_know_nothing_of_ranks() {
    let dir = Dir::new("losses");
    dir.file("a.adl", USERS);
    for ranks in [1, 2, 3, 4] {
        let Some(run) = on(&dir, ranks, &["a.adl"]) else { return };
        assert_eq!((run.code, run.err.as_str()), (0, ""), "{ranks}");
        let lines: Vec<Vec<f64>> = run.out.lines().map(numbers).collect();
        assert_eq!(lines.len(), 6, "{}", run.out);
        for (k, alone) in [(0, 2), (1, 2), (3, 5), (4, 5)] {
            assert_eq!(lines[k].len(), lines[alone].len());
            assert!(lines[k].iter().zip(&lines[alone]).all(|(a, b)| (a - b).abs() < 1e-4), "{ranks}: {}", run.out);
        }
    }
}

/// JAX 3970: the gradient of a sum over devices comes out multiplied by their number. JAX 15982: that of an all-to-all
/// crashes. JAX 18711: so does that of a sum of squares over devices, by a weight that the function of each captures.
/// jax-finufft 226: that of a replicated grid, read at points that are dealt out, lacks the sum over devices.
const RIGHT: &str = "\
let own = comm.mine [1.0, 2.0, 3.0, 4.0, 5.0]
print (grad (fun w -> comm.total (comm.each (fun v -> sum (map (fun x -> w * w * x) v)) own)) 3.0)
let rows_of x = comm.each (fun r -> for s < comm.size -> x * float (1 + r * comm.size + s)) comm.rank
let back x = comm.total (comm.each (fun v -> sum (map (fun y -> y * y) v)) (comm.exchange (rows_of x)))
let n = comm.size * comm.size
print (grad back 0.5 == sum for k < n -> float ((k + 1) * (k + 1)))
let points = comm.mine (for i < 23 -> float i * 0.27)
let grid = for j < 5 -> cos (float j)
let at c t = sum for j < 5 -> c[j] * cos (float j * t)
let over_ranks c = comm.total (comm.each (fun ts -> sum (map (fun t -> (at c t - sin t) ^ 2) ts)) points)
let alone c = sum for i < 23 -> (at c (float i * 0.27) - sin (float i * 0.27)) ^ 2
print (norm (grad over_ranks grid - grad alone grid) < 1e-11)
let squares x w = comm.total (comm.each (fun v -> sum ((w * v) ^ 2)) (comm.mine x))
let x = for i < 8 -> float i
print (grad (squares x) 3.0, grad (fun v -> squares v 3.0) x)
";

#[test]
fn what_other_systems_differentiate_wrongly() {
    let dir = Dir::new("known");
    dir.file("a.adl", RIGHT);
    prints_everywhere(&dir, "90.0\ntrue\ntrue\n(840.0, [0.0, 18.0, 36.0, 54.0, 72.0, 90.0, 108.0, 126.0])\n");
    // The sum inside of the function of each rank, as in JAX 3970, is refused before anything is sent.
    dir.file("b.adl", "let own = comm.mine [1.0, 2.0]\nlet f w = comm.each (fun v -> grad (fun u -> comm.total (comm.each (fun x -> u * sum x) own)) w) own\n");
    let Some(run) = on(&dir, 2, &["b.adl"]) else { return };
    run.is(1, "", "error[E0216]");
}

/// mpi4jax 34: an all-reduce had no transpose. mpi4jax 72: derivatives of a function with several components that are
/// all-reduces failed. Enzyme.jl 389: the derivative of a reduction to one rank crashes. Collectives also stand
/// in loops and in parts that are recomputed, and where their results are not used.
const COMPONENTS: &str = "\
let own = comm.mine [1.0, 2.0, 3.0, 4.0, 5.0]
let t = lin (e : Each Float) -> comm.total e
print (comm.total (transpose_at (comm.spread 0.0) t 3.0) == 3.0 * float comm.size)
let parts w =
  let a = comm.total (comm.each (fun v -> sum (map (fun x -> sin (w[0] * x)) v)) own)
  let b = comm.total (comm.each (fun v -> sum (map (fun x -> w[0] * w[1] * x) v)) own)
  [a, b]
let alone w = [sum (map (fun x -> sin (w[0] * x)) [1.0, 2.0, 3.0, 4.0, 5.0]), 15.0 * w[0] * w[1]]
let w = [0.3, 0.7]
let close a b = norm (a - b) < 1e-12
print (all (map2 close (jacobian parts w) (jacobian alone w)))
print (close (snd (jvp parts w [1.0, 0.5])) (snd (jvp alone w [1.0, 0.5])))
let cotangents f c = snd (vjp (fun w -> let p = f w in (p[0], p[1])) w) c
print (all (map (fun c -> close (cotangents parts c) (cotangents alone c)) [(1.0, 0.0), (0.0, 1.0), (0.0, 0.0)]))
let at_first x = comm.place 0 (comm.total (comm.each sum x))
let reduced x = comm.total (comm.each (fun (r, y) -> if r == 0 then y * y else 0.0) (comm.zip comm.rank (at_first x)))
print (comm.gather (grad reduced own))
let unused w =
  let t = comm.total (comm.each (fun v -> w * sum v) own)
  let (a, _) = (comm.gather (comm.each (map (fun x -> w * x)) own), t)
  a[0] * a[0]
print (grad unused 3.0)
let step w = comm.total (comm.each (fun v -> sum (map (fun x -> sin (w * x)) v)) own)
let alone_step w = sum (map (fun x -> sin (w * x)) [1.0, 2.0, 3.0, 4.0, 5.0])
let steps f w = loop w = w for i < 6 do 0.2 * f w
let g = grad (steps alone_step) 0.4
let all_of = [grad (steps step) 0.4, grad (steps (checkpoint step)) 0.4, grad_with RecomputeAll (steps step) 0.4]
print (all (map (fun x -> abs (x - g) < 1e-12 * (1.0 + abs g)) (all_of ++ [grad_with Sqrt (steps step) 0.4])))
";

#[test]
fn all_reduces_as_components_and_in_loops() {
    let dir = Dir::new("components");
    dir.file("a.adl", COMPONENTS);
    prints_everywhere(&dir, "true\ntrue\ntrue\ntrue\n[30.0, 30.0, 30.0, 30.0, 30.0]\n6.0\ntrue\n");
}

/// Rules of custom derivatives send messages, below levels of which their values know nothing.
const CUSTOM: &str = "\
let own = comm.mine [1.0, 2.0, 3.0]
let sq = custom_vjp (fun x -> x * x) (fun x -> (x * x, lin c -> 2.0 * x * c))
let f w = comm.total (comm.each (fun v -> sum (map (fun x -> sq (w * x)) v)) own)
print (grad f 2.0)
let g = custom_vjp (fun w -> f w) (fun w -> let d = grad f w in (f w, lin c -> d * c))
print (grad (fun w -> g w * g w) 2.0)
let h = custom_jvp (fun w -> f w) (fun w -> let d = grad f w in (f w, lin t -> d * t))
print (grad (fun w -> h w * h w) 2.0, jvp h 2.0 1.0)
print (grad (fun w -> w * grad g w) 2.0)
";

#[test]
fn rules_of_custom_derivatives_send_messages() {
    let dir = Dir::new("custom");
    dir.file("a.adl", CUSTOM);
    for ranks in [1, 2, 3] {
        for flags in [&["a.adl"][..], &["--ad", "taped", "a.adl"]] {
            let Some(run) = on(&dir, ranks, flags) else { return };
            run.is(0, "56.0\n6272.0\n(6272.0, (56.0, 56.0))\n112.0\n", "");
        }
    }
}

#[test]
fn engines_over_ranks_are_right_or_refuse() {
    let dir = Dir::new("engines");
    dir.file("a.adl", "let own = comm.mine (for i < 9 -> float i / 3.0)\nlet loss w = comm.total (comm.each (fun v -> sum (map (fun x -> (w[0] * x + w[1] * sin x - 1.0) ^ 2) v)) own)\nlet g = grad loss [0.3, 0.4]\nprint (map (fun e -> norm (engine.grad e loss [0.3, 0.4] - g) < 1e-12) [Linearize, Taped])\nprint (engine.compare loss [0.3, 0.4]).status\nprint (engine.grad Staged loss [0.3, 0.4])\n");
    let no = ", \"unsupported\"".repeat(5);
    let Some(run) = on(&dir, 2, &["a.adl"]) else { return };
    let out = format!("[true, true]\n[\"ok\"{no}, \"ok\", \"unsupported\"]\n");
    run.is(1, &out, "the engine `Staged` cannot differentiate this function: it sends messages to other ranks");
}

#[test]
fn residuals_count_messages() {
    let dir = Dir::new("residuals-messages");
    dir.file("a.adl", "let own = comm.mine [1.0, 2.0, 3.0]\nlet loss w = comm.total (comm.each (fun v -> sum (map (fun x -> sin (w * x)) v)) own)\nprint (residuals loss 2.0)\nlet t = match residuals loss 2.0 with | Residuals t _ -> t.messages\nprint t\nlet t = match residuals sin 2.0 with | Residuals t _ -> t.messages\nprint t\n");
    for ranks in [1, 2, 3] {
        let Some(run) = on(&dir, ranks, &["a.adl"]) else { return };
        assert_eq!((run.code, run.err.as_str()), (0, ""));
        for part in [
            "messages: 1 for the value, 2 with the gradient, of 16 B",
            "Some {bytes = 16, function = 1, gradient = 2}",
            "Some {bytes = 0, function = 0, gradient = 0}",
        ] {
            assert!(run.out.contains(part), "{part}: {}", run.out);
        }
    }
}
