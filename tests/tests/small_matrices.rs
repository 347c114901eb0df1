//! Random programs on small vectors and matrices, in loops, folds, scans and comprehensions, with their gradients: interpreted and native code give the same
//! bits, at every size.

use adl_tests::session;

/// Programs that are made.
const PROGRAMS: u64 = 90;

/// Random numbers, by a linear congruence.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % n
    }

    fn one_of<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }
}

/// Expressions: vectors among `v x w`, matrices among `a b c`, numbers among `s z`.
struct Maker {
    dice: Dice,
    size: usize,
    vectors: &'static [&'static str],
}

impl Maker {
    fn vector(&mut self, depth: u32) -> String {
        let choice = if depth == 0 { 0 } else { self.dice.below(9) };
        let d = depth.saturating_sub(1);
        match choice {
            0 | 1 => self.dice.one_of(self.vectors).to_owned(),
            2 | 3 => format!("({} @ {})", self.matrix(d), self.vector(d)),
            4 | 5 => format!("({} {} {})", self.vector(d), self.dice.one_of(&["+", "-", "*"]), self.vector(d)),
            6 => format!("({} * {})", self.number(d), self.vector(d)),
            7 => format!("({} @ {})", self.vector(d), self.matrix(d)),
            _ => format!("(map tanh {})", self.vector(d)),
        }
    }

    fn matrix(&mut self, depth: u32) -> String {
        let choice = if depth == 0 { 0 } else { self.dice.below(10) };
        let d = depth.saturating_sub(1);
        match choice {
            0 | 1 => self.dice.one_of(&["a", "b", "c"]).to_owned(),
            2 | 3 => format!("({} @ {})", self.matrix(d), self.matrix(d)),
            4 | 5 => format!("({} {} {})", self.matrix(d), self.dice.one_of(&["+", "-", "*"]), self.matrix(d)),
            6 => format!("({}).T", self.matrix(d)),
            7 => format!("(outer {} {})", self.vector(d), self.vector(d)),
            8 => format!("({} * {})", self.number(d), self.matrix(d)),
            _ => format!("(tanh {})", self.matrix(d)),
        }
    }

    fn number(&mut self, depth: u32) -> String {
        let choice = if depth == 0 { 0 } else { self.dice.below(7) };
        let d = depth.saturating_sub(1);
        match choice {
            0 | 1 => self.dice.one_of(&["s", "z", "0.3"]).to_owned(),
            2 | 3 => format!("(dot {} {})", self.vector(d), self.vector(d)),
            4 => format!("(sum {})", self.vector(d)),
            5 => format!("(trace {})", self.matrix(d)),
            _ => format!("({})[{}]", self.vector(d), self.dice.below(self.size)),
        }
    }

    /// The body of a function of `v0 a0 w c xs ms zs`.
    fn body(&mut self) -> String {
        let depth = 1 + self.dice.below(4) as u32;
        let elements = "let x = xs[t] in let b = ms[t] in let z = zs[t] in";
        match self.dice.below(4) {
            0 => {
                let (v, a, s) = (self.vector(depth), self.matrix(depth), self.number(depth));
                format!(
                    "let (v, a, s) = loop (v, a, s) = (v0, a0, 0.0) for t < len zs do ({elements} (map tanh {v}, tanh {a}, 0.5 * s + {s}))\n  sum v + sum (sum a) + s"
                )
            }
            1 => {
                self.vectors = &["v", "w"];
                format!(
                    "let (s, v, z) = (0.1, v0, 0.2)\n  sum (sum (sum (scan (fun a b -> tanh {}) a0 ms)))",
                    self.matrix(depth)
                )
            }
            2 => {
                let (v, a) = (self.vector(depth), self.matrix(depth));
                format!(
                    "let (a, s, v) = (a0, 0.7, v0)\n  let rs = for t < len zs -> ({elements} {v})\n  sum (sum (sum (for t < len zs -> (let x = rs[t] in let b = ms[t] in let z = zs[t] in {a}))))"
                )
            }
            _ => {
                let (v, a) = (self.vector(depth), self.matrix(depth));
                let step = format!(
                    "let (z, s) = (0.2, 0.4)\n  let step ((v, a) : ([k]Float, [k][k]Float)) ((x, b) : ([k]Float, [k][k]Float)) = (map tanh {v}, 0.5 * a + 0.1 * tanh {a})"
                );
                format!("{step}\n  let (v, a) = fold step (v0, a0) (zip xs ms)\n  sum v + sum (sum a)")
            }
        }
    }
}

fn program(seed: u64) -> String {
    let mut dice = Dice(seed * 2 + 1);
    let side = [1, 2, 2, 3, 3, 4, 5][dice.below(7)];
    let count = [1, 2, 3, 7, 400, 1500][dice.below(6)];
    let size = if dice.below(2) == 0 { "k".to_owned() } else { side.to_string() };
    let body = Maker { dice, size: side, vectors: &["v", "x", "w"] }.body().replace("[k]", &format!("[{size}]"));
    let types = "(v0 : [k]Float) (a0 : [k][k]Float) (w : [k]Float) (c : [k][k]Float) (xs : [n][k]Float) (ms : [n][k][k]Float) (zs : [n]Float)";
    let random = |key: u32, shape: &str| format!("0.5 * random.normal (random.key {key}) {shape}");
    let (one, two) = (format!("[{side}]"), format!("[{side}, {side}]"));
    let point = [
        random(1, &one),
        random(2, &two),
        random(3, &one),
        random(4, &two),
        random(5, &format!("[{count}, {side}]")),
        random(6, &format!("[{count}, {side}, {side}]")),
        random(7, &format!("[{count}]")),
    ];
    let calls = "print (f v0 a0 w c xs ms zs)\nprint (grad (fun (v0, a0, w, c, xs, ms, zs) -> f v0 a0 w c xs ms zs) (v0, a0, w, c, xs, ms, zs))\n".repeat(3);
    format!(
        "let f {} : Float =\n  {body}\nlet (v0, a0, w, c, xs, ms, zs) = ({})\n{calls}",
        types.replace("[k]", &format!("[{size}]")),
        point.join(", ")
    )
}

fn run(text: &str, jit: bool) -> (String, bool) {
    let (mut s, out) = session();
    s.set_jit(jit);
    let result = s.run_file("small.adl", text.as_bytes());
    let text = out.borrow().clone();
    (text, result.diags.is_empty())
}

#[test]
fn native_code_of_small_matrices_gives_the_same_bits() {
    let mut ran = 0;
    for seed in 0..PROGRAMS {
        let text = program(seed);
        let ((plain, fine), (fast, also)) = (run(&text, false), run(&text, true));
        assert_eq!(fine, also, "seed {seed}\n{text}");
        assert!(plain == fast, "seed {seed}\n{text}");
        ran += u64::from(fine);
    }
    // A few have no type: what is nothing but products may be of any sizes.
    assert!(ran * 10 >= PROGRAMS * 8, "{ran} of {PROGRAMS}");
}
