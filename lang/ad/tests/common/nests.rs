//! Random comprehensions that read arrays at affine indices, and sums under random predicates of indices, as text.

use adl_ir::generate::rng::Rng;
use std::fmt::Write;

/// The extents of the arrays that are read; all indices stay below.
pub const LONG: usize = 24;

/// Writes the text of one nest.
struct NestText {
    rng: Rng,
    text: String,
    next: u32,
    /// The loops so far: index variable and trip count.
    loops: Vec<(u32, i64)>,
}

impl NestText {
    /// Writes a statement and returns its variable.
    fn let_(&mut self, ty: &str, op: &str) -> u32 {
        let v = self.next;
        self.next += 1;
        _ = writeln!(self.text, "v{v}: {ty} = {op}");
        v
    }

    /// An affine index: coefficients of the loops' indices and an offset, within bounds. The least value is returned,
    /// which is negative if the read needs a test.
    fn index(&mut self, tested: bool) -> (u32, i64) {
        let mut terms = Vec::new();
        let (mut least, mut sum) = (0, None);
        for (var, trip) in self.loops.clone() {
            let factor = [1, 1, 1, 2, -1, 0][self.rng.below(6)];
            least += i64::min(0, factor * (trip - 1));
            terms.push((var, factor));
        }
        for (var, factor) in terms.into_iter().filter(|(_, factor)| *factor != 0) {
            let by = self.let_("i64", &factor.to_string());
            let term = if factor == 1 { var } else { self.let_("i64", &format!("mul v{by} v{var}")) };
            sum = Some(sum.map_or(term, |sum| self.let_("i64", &format!("add v{sum} v{term}"))));
        }
        let offset = self.rng.below(3) as i64 - least - if tested { 2 } else { 0 };
        let offset_var = self.let_("i64", &offset.to_string());
        let at = sum.map_or(offset_var, |sum| self.let_("i64", &format!("add v{sum} v{offset_var}")));
        (at, least + offset)
    }

    /// A read of the vector `v0` or the matrix `v1`.
    fn read(&mut self) -> u32 {
        let axes = self.rng.between(1, 2);
        let tested = self.rng.once_in(3);
        let places: Vec<(u32, i64)> = (0..axes).map(|_| self.index(tested)).collect();
        let at: Vec<String> = places.iter().map(|(v, _)| format!("v{v}")).collect();
        let read = format!("index v{} [{}]", axes - 1, at.join(", "));
        let mut value = None;
        for (place, _) in places.iter().filter(|(_, least)| *least < 0) {
            let zero = self.let_("i64", "0");
            let inside = self.let_("bool", &format!("ge v{place} v{zero}"));
            value = Some(value.map_or(inside, |all| self.let_("bool", &format!("select v{all} v{inside} v{all}"))));
        }
        let Some(inside) = value else { return self.let_("f64", &read) };
        let nothing = self.let_("f64", "0.0");
        let (result, there) = (self.next, self.next + 1);
        self.next += 2;
        _ = writeln!(
            self.text,
            "v{result}: f64 = if v{inside} {{ v{there}: f64 = {read} return v{there} }} else {{ return v{nothing} }}"
        );
        result
    }

    /// A number made of some reads, with branches and functions now and then.
    fn number(&mut self) -> u32 {
        let mut value = self.read();
        for _ in 0..self.rng.between(0, 2) {
            let y = self.read();
            value = match self.rng.below(5) {
                0 => self.let_("f64", &format!("add v{value} v{y}")),
                1 => self.let_("f64", &format!("max v{value} v{y}")),
                2 => {
                    let sin = self.let_("f64", &format!("sin v{y}"));
                    self.let_("f64", &format!("mul v{value} v{sin}"))
                }
                _ => self.let_("f64", &format!("mul v{value} v{y}")),
            };
        }
        value
    }

    /// A loop around what `inside` writes. Returns its result and type.
    fn around(&mut self, sums: bool, inside: impl FnOnce(&mut NestText) -> (u32, &'static str)) -> (u32, &'static str) {
        let trip = self.rng.between(2, 4) as i64;
        let reverse = if self.rng.once_in(6) { " reverse" } else { "" };
        let count = self.let_("i64", &trip.to_string());
        let (outer, index) = (std::mem::take(&mut self.text), self.next);
        self.next += 1;
        self.loops.push((index, trip));
        let (result, ty) = inside(self);
        self.loops.pop();
        let body = std::mem::replace(&mut self.text, outer);
        let (out, trips) = (self.next, self.next + 1);
        self.next += 2;
        let made = match (sums, ty) {
            (true, ty) => ty,
            (false, "f64") => "[]f64",
            (false, _) => "[][]f64",
        };
        let how = if sums { "sum" } else { "collect" };
        let head = format!("v{out}: {made}, v{trips}: i64 = loop for v{count}{reverse} out ({how}) (v{index}: i64)");
        _ = writeln!(self.text, "{head} {{\n{body}return v{result} }}");
        (out, made)
    }
}

/// A function of a vector and a matrix.
pub fn text(seed: u64) -> String {
    let mut nest = NestText { rng: Rng::new(seed), text: String::new(), next: 2, loops: Vec::new() };
    let deep = nest.rng.between(1, 3);
    let sums: Vec<bool> = (0..deep).map(|k| nest.rng.once_in(2) && (k > 0 || deep == 1) || k == 2).collect();
    let (result, ty) = match deep {
        1 => nest.around(sums[0], |nest| (nest.number(), "f64")),
        2 => nest.around(sums[0], |nest| nest.around(sums[1], |nest| (nest.number(), "f64"))),
        _ => nest
            .around(sums[0], |nest| nest.around(sums[1], |nest| nest.around(sums[2], |nest| (nest.number(), "f64")))),
    };
    format!("fn f0 \"nest {seed}\" (v0: []f64, v1: [][]f64) -> ({ty}) {{\n{}return v{result}\n}}", nest.text)
}

/// What [`bracketed`] functions take as `v2` and `v3`.
pub const OUTSIDE: [i64; 2] = [3, -2];

/// Predicates of indices.
impl NestText {
    /// An Int of the indices, of the Ints outside, and of literals.
    fn int(&mut self, depth: u32) -> u32 {
        let any = if depth == 0 { 4 } else { 12 };
        match self.rng.below(any) {
            0..=2 => self.loops[self.rng.below(self.loops.len())].0,
            3 if self.rng.once_in(2) => 2 + self.rng.below(2) as u32,
            3 => {
                let n = self.rng.below(9) as i64 - 3;
                self.let_("i64", &n.to_string())
            }
            4..=7 => {
                let op = ["add", "sub", "mul", "max", "min", "add", "sub"][self.rng.below(7)];
                let (a, b) = (self.int(depth - 1), self.int(depth - 1));
                self.let_("i64", &format!("{op} v{a} v{b}"))
            }
            8 => {
                let a = self.int(depth - 1);
                self.let_("i64", &format!("abs v{a}"))
            }
            _ => {
                let a = self.int(depth - 1);
                let by = if self.rng.once_in(3) {
                    2
                } else {
                    let n = self.rng.between(1, 5);
                    self.let_("i64", &n.to_string())
                };
                let op = ["rem", "int_div"][self.rng.below(2)];
                self.let_("i64", &format!("{op} v{a} v{by}"))
            }
        }
    }

    /// A block that returns what `inside` makes.
    fn block(&mut self, inside: impl FnOnce(&mut NestText) -> u32) -> String {
        let outer = std::mem::take(&mut self.text);
        let result = inside(self);
        format!("{{\n{}return v{result} }}", std::mem::replace(&mut self.text, outer))
    }

    /// A Bool: comparisons, conjunctions, disjunctions and negations.
    fn predicate(&mut self, depth: u32) -> u32 {
        match self.rng.below(if depth == 0 { 4 } else { 8 }) {
            0..=3 => {
                let op = ["eq", "eq", "ne", "lt", "le", "gt", "ge"][self.rng.below(7)];
                let (a, b) = (self.int(2), self.int(1));
                self.let_("bool", &format!("{op} v{a} v{b}"))
            }
            choice @ 4..=6 => {
                let first = self.predicate(depth - 1);
                let other = self.block(|nest| nest.predicate(depth - 1));
                let known = self.block(|nest| nest.let_("bool", if choice == 6 { "true" } else { "false" }));
                let (yes, no) = if choice == 6 { (known, other) } else { (other, known) };
                self.let_("bool", &format!("if v{first} {yes} else {no}"))
            }
            _ => {
                let p = self.predicate(depth - 1);
                self.let_("bool", &format!("not v{p}"))
            }
        }
    }

    /// A number if a predicate holds, or if it does not hold, else 0.
    fn bracket(&mut self) -> u32 {
        let p = self.predicate(2);
        let loops = self.loops.clone();
        let number = self.block(|nest| {
            let reads: Vec<u32> = loops.iter().map(|(v, _)| nest.let_("f64", &format!("index v0 [v{v}]"))).collect();
            reads.into_iter().reduce(|x, y| nest.let_("f64", &format!("mul v{x} v{y}"))).unwrap_or(0)
        });
        let zero = self.block(|nest| nest.let_("f64", "zero f64"));
        let (yes, no) = if self.rng.once_in(4) { (zero, number) } else { (number, zero) };
        self.let_("f64", &format!("if v{p} {yes} else {no}"))
    }
}

/// Sums over one to three indices of products under a predicate. The function takes a vector and the two Ints of
/// [`OUTSIDE`].
pub fn bracketed(seed: u64) -> String {
    let mut nest = NestText { rng: Rng::new(seed), text: String::new(), next: 4, loops: Vec::new() };
    let deep = nest.rng.between(1, 3);
    let collects = deep > 1 && nest.rng.once_in(3);
    let (result, ty) = match deep {
        1 => nest.around(true, |nest| (nest.bracket(), "f64")),
        2 => nest.around(!collects, |nest| nest.around(true, |nest| (nest.bracket(), "f64"))),
        _ => nest.around(!collects, |nest| nest.around(true, |nest| nest.around(true, |nest| (nest.bracket(), "f64")))),
    };
    let head = format!("fn f0 \"bracketed {seed}\" (v0: []f64, v1: [][]f64, v2: i64, v3: i64) -> ({ty})");
    format!("{head} {{\n{}return v{result}\n}}", nest.text)
}
