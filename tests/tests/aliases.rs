//! Arrays change in place where they have one owner, and no other name may see it: random programs that keep arrays under many names, in
//! tuples, matrices and functions, and update them, against the same on vectors that are never shared.

use adl_ir::generate::rng::Rng;
use adl_tests::session;

/// The length of every array.
const LEN: usize = 4;
/// Calls of a program's function, so that it becomes native.
const CALLS: usize = 3000;

/// The lines of a function's body, and what each of its arrays holds.
struct LoopBody {
    lines: Vec<String>,
    arrays: Vec<Vec<f64>>,
    rng: Rng,
}

impl LoopBody {
    fn new(seed: u64, size: usize) -> LoopBody {
        let mut p = LoopBody { lines: Vec::new(), arrays: vec![vec![0.5, -1.0, 2.0, 0.25]], rng: Rng::new(seed) };
        (0..size).for_each(|_| p.step());
        p
    }

    fn any(&mut self) -> usize {
        self.rng.below(self.arrays.len())
    }

    /// Adds `let aN = e`.
    fn bind(&mut self, e: String, value: Vec<f64>) {
        self.lines.push(format!("let a{} = {e}", self.arrays.len()));
        self.arrays.push(value);
    }

    fn step(&mut self) {
        let (first, second, at, count) = (self.any(), self.any(), self.rng.below(LEN), self.arrays.len());
        let (left, right) = (self.arrays[first].clone(), self.arrays[second].clone());
        let with = |at: usize, v: f64| {
            let mut z = left.clone();
            z[at] = v;
            z
        };
        match self.rng.below(14) {
            0 => self.bind(format!("a{first}"), left),
            1 => self.bind(format!("0.5 * a{first}"), left.iter().map(|x| 0.5 * x).collect()),
            2 => self.bind(
                format!("0.5 * (a{first} - a{second})"),
                left.iter().zip(&right).map(|(x, y)| 0.5 * (x - y)).collect(),
            ),
            3 | 4 => self.bind(format!("scatter a{first} [{at}] [1.5]"), with(at, 1.5)),
            5 => self.bind(format!("scatter a{first} [{at}] [a{second}[0]]"), with(at, right[0])),
            6 => self.bind(format!("reverse a{first}"), left.iter().rev().copied().collect()),
            7 => self.bind(format!("map (fun x -> x + 1.0) a{first}"), left.iter().map(|x| x + 1.0).collect()),
            8 => self.bind(format!("reduce_by_index a{first} (+) 0.0 [{at}] [0.25]"), with(at, left[at] + 0.25)),
            9 => {
                let mut z = left.clone();
                for t in 0..6 {
                    z[t % LEN] = 0.5 * z[t % LEN] + right[t % LEN];
                }
                self.bind(
                    format!("loop z = a{first} for t < 6 do scatter z [t % {LEN}] [0.5 * z[t % {LEN}] + a{second}[t % {LEN}]]"),
                    z,
                );
            }
            10 => {
                let value = if left[at] > 0.3 { with(at, -0.5) } else { right.clone() };
                self.bind(format!("if a{first}[{at}] > 0.3 then scatter a{first} [{at}] [-0.5] else a{second}"), value);
            }
            11 => {
                self.lines.push(format!("let (l{count}, r{count}) = (a{first}, scatter a{first} [{at}] [0.125])"));
                self.bind(
                    format!("l{count} + r{count}"),
                    left.iter().zip(with(at, 0.125)).map(|(x, y)| x + y).collect(),
                );
            }
            12 => {
                self.lines.push(format!("let m{count} = [a{first}, a{second}]"));
                self.lines.push(format!("let k{count} = scatter m{count} [0] [a{second}]"));
                self.bind(
                    format!("m{count}[0] - 0.5 * k{count}[0]"),
                    left.iter().zip(&right).map(|(x, y)| x - 0.5 * y).collect(),
                );
            }
            _ => {
                self.lines.push(format!("let g{count} = fun u -> u + a{first}"));
                self.lines.push(format!("let s{count} = scatter a{first} [{at}] [0.75]"));
                self.bind(format!("g{count} s{count}"), left.iter().zip(with(at, 0.75)).map(|(x, y)| x + y).collect());
            }
        }
    }

    /// The arrays, as one matrix.
    fn all(&self) -> String {
        let names: Vec<String> = (0..self.arrays.len()).map(|k| format!("a{k}")).collect();
        format!("[{}]", names.join(", "))
    }

    fn at_top_level(&self) -> String {
        format!("let a0 = [0.5, -1.0, 2.0, 0.25]\n{}\nprint {}\n", self.lines.join("\n"), self.all())
    }

    /// A function of `a0`, called once, and so often that it becomes native.
    fn in_a_function(&self) -> String {
        let body: String = self.lines.iter().map(|l| format!("  {l}\n")).collect();
        let start = "let start = [0.5, -1.0, 2.0, 0.25]";
        format!(
            "let f (a0 : [_]Float) =\n{body}  {}\n{start}\nprint (f start)\n\
            let far = loop m = f start for i < {CALLS} do f start\nprint far\nprint start\n",
            self.all()
        )
    }

    fn expected(&self) -> Vec<f64> {
        self.arrays.concat()
    }
}

/// What a program prints, and whether its function was called as native code.
fn run(text: &str, jit: bool) -> (Vec<f64>, bool) {
    let (mut s, out) = session();
    s.set_jit(jit);
    let result = s.run_file("aliases.adl", text.as_bytes());
    for d in &result.diags {
        out.borrow_mut().push_str(&adl_syntax::render::text(d, &s.sources, false));
    }
    let printed = out.borrow().clone();
    let numbers = printed.split(|c: char| "[], \n".contains(c)).filter(|w| !w.is_empty());
    let numbers = numbers.map(|w| w.parse().unwrap_or_else(|_| panic!("{printed}\nof\n{text}"))).collect();
    (numbers, s.derivations().iter().any(|r| r == "call f: specialised, native"))
}

#[test]
fn no_other_name_sees_an_update() {
    let mut native = 0;
    for seed in 0..60 {
        let p = LoopBody::new(seed, 4 + (seed % 12) as usize);
        let once = p.expected();
        assert_eq!(run(&p.at_top_level(), true).0, once, "{}", p.at_top_level());
        let thrice = [&once[..], &once, &p.arrays[0]].concat();
        for jit in [true, false] {
            let (numbers, is_native) = run(&p.in_a_function(), jit);
            assert_eq!(numbers, thrice, "jit {jit}\n{}", p.in_a_function());
            native += usize::from(is_native);
        }
    }
    assert!(native > 30, "only {native} of 60 programs became native");
}

/// Derivatives store arrays that are updated afterwards.
#[test]
fn residuals_are_not_overwritten() {
    for seed in 100..140 {
        let program = LoopBody::new(seed, 4 + (seed % 10) as usize);
        let body: String = program.lines.iter().map(|l| format!("  {l}\n")).collect();
        let text = format!(
            "let f (a0 : [_]Float) =\n{body}  let all = {}\n  sum (ravel (all * sin all))\nlet start = [0.5, -1.0, 2.0, 0.25]\nprint (grad f start)\nprint start\n",
            program.all()
        );
        let got = run(&text, true).0;
        let (g, start) = got.split_at(LEN);
        assert_eq!(start, program.arrays[0], "{text}");
        for (index, slope) in g.iter().enumerate() {
            let h = 1e-6;
            let at = |d: f64| {
                let moved = text.replace(
                    "print (grad f start)\nprint start",
                    &format!("print (f (scatter start [{index}] [{:?}]))", program.arrays[0][index] + d),
                );
                run(&moved, true).0[0]
            };
            let difference = (at(h) - at(-h)) / (2.0 * h);
            assert!(
                (slope - difference).abs() < 1e-6 * (1.0 + difference.abs()),
                "component {index}: {slope} against {difference}\n{text}"
            );
        }
    }
}
