//! Programs cut up and glued together at random: checking them gives errors and never a panic. Programs made by types: all are accepted.

#[test]
fn mutated_programs_are_checked_without_a_panic() {
    let mut sources = Vec::new();
    for dir in ["tests/programs", "examples", "tests/errors", "lang/std/adl"] {
        for e in std::fs::read_dir(adl_tests::root().join(dir)).unwrap() {
            let path = e.unwrap().path();
            if path.extension().is_some_and(|e| e == "adl") {
                sources.push(std::fs::read_to_string(path).unwrap());
            }
        }
    }
    let lines: Vec<&str> = sources.iter().flat_map(|s| s.lines()).collect();
    let words: Vec<&str> = sources.iter().flat_map(|s| s.split_whitespace()).collect();
    let mut seed = 7u64;
    let mut next = move |n: usize| {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (seed >> 33) as usize % n
    };
    let seconds: u64 = std::env::var("FUZZ_SECONDS").ok().and_then(|s| s.parse().ok()).unwrap_or(60);
    let start = std::time::Instant::now();
    let mut rounds = 0;
    while start.elapsed().as_secs() < seconds {
        let (mut s, _) = adl_tests::session();
        for _ in 0..20 {
            let mut text = String::new();
            for _ in 0..1 + next(6) {
                let line = lines[next(lines.len())];
                let mut parts: Vec<&str> = line.split(' ').collect();
                if next(2) == 0 {
                    let at = next(parts.len());
                    parts[at] = words[next(words.len())];
                }
                text.push_str(&parts.join(" "));
                text.push('\n');
            }
            let _ = s.check_file("fuzz.adl", text.as_bytes());
            rounds += 1;
        }
    }
    assert!(rounds > 100, "{rounds} programs");
}

/// The types of generated expressions.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Int,
    Float,
    Bool,
    Text,
    /// `[3]Float`.
    Vector,
    /// `[2][3]Float`.
    Matrix,
    /// `(Int, Float)`.
    Pair,
    /// `{p : Float, q : Int}`.
    Record,
    /// `Option Float`.
    Maybe,
}

const KINDS: [Kind; 9] = [Kind::Int, Kind::Float, Kind::Bool, Kind::Text, Kind::Vector, Kind::Matrix, Kind::Pair, Kind::Record, Kind::Maybe];

/// Expressions of a wanted type, from what is in scope.
struct Maker {
    seed: u64,
    scope: Vec<(String, Kind)>,
    names: usize,
}

impl Maker {
    fn pick(&mut self, n: usize) -> usize {
        self.seed = self.seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.seed >> 33) as usize % n
    }

    fn any(&mut self) -> Kind {
        KINDS[self.pick(KINDS.len())]
    }

    fn name(&mut self) -> String {
        self.names += 1;
        format!("v{}", self.names)
    }

    fn leaf(&mut self, k: Kind) -> String {
        let known: Vec<String> = self.scope.iter().filter(|(_, t)| *t == k).map(|(n, _)| n.clone()).collect();
        if !known.is_empty() && self.pick(3) > 0 {
            return known[self.pick(known.len())].clone();
        }
        let n = self.pick(9);
        match k {
            Kind::Int => format!("(int {n}.5)"),
            Kind::Float => format!("{n}.25"),
            Kind::Bool => ["true", "false"][n % 2].into(),
            Kind::Text => format!("\"t{n}\""),
            Kind::Vector => format!("[{n}.0, 1.0, 2.5]"),
            Kind::Matrix => format!("[[{n}.0, 1.0, 2.0], [3.0, 4.0, 5.0]]"),
            Kind::Pair => format!("(int {n}.0, 0.5)"),
            Kind::Record => format!("{{p = {n}.0, q = int 1.0}}"),
            Kind::Maybe => "None".into(),
        }
    }

    fn expr(&mut self, k: Kind, depth: usize) -> String {
        if depth == 0 {
            return self.leaf(k);
        }
        let d = depth - 1;
        match self.pick(8) {
            0 => self.bind(k, d),
            1 => format!("(if {} then {} else {})", self.expr(Kind::Bool, d), self.expr(k, d), self.expr(k, d)),
            2 => {
                let (m, v) = (self.expr(Kind::Maybe, d), self.name());
                let none = self.expr(k, d);
                self.scope.push((v.clone(), Kind::Float));
                let some = self.expr(k, d);
                self.scope.pop();
                format!("(match {m} with | Some {v} -> {some} | None -> {none})")
            }
            3 => format!("(id {})", self.expr(k, d)),
            _ => self.own(k, d),
        }
    }

    /// A `let` of a value, or of a function that is used at once.
    fn bind(&mut self, k: Kind, d: usize) -> String {
        let (t, v) = (self.any(), self.name());
        let value = self.expr(t, d);
        self.scope.push((v.clone(), t));
        let body = self.expr(k, d);
        self.scope.pop();
        if self.pick(2) == 0 { format!("(let {v} = {value} in {body})") } else { format!("((fun {v} -> {body}) {value})") }
    }

    /// The type's own operations.
    fn own(&mut self, k: Kind, d: usize) -> String {
        use Kind::*;
        let which = self.pick(4);
        let mut e = |k| self.expr(k, d);
        match (k, which) {
            (Int, 0) => format!("({} + {})", e(Int), e(Int)),
            (Int, 1) => format!("(len {})", e(Vector)),
            (Int, 2) => format!("(fst {})", e(Pair)),
            (Int, _) => format!("{}.q", e(Record)),
            (Float, 0) => format!("({} * {} - sin {})", e(Float), e(Float), e(Float)),
            (Float, 1) => format!("(sum {})", e(Vector)),
            (Float, 2) => format!("(dot {} {})", e(Vector), e(Vector)),
            (Float, _) => format!("(float {})", e(Int)),
            (Bool, 0) => format!("({} < {})", e(Float), e(Float)),
            (Bool, 1) => format!("({} == {})", e(Pair), e(Pair)),
            (Bool, _) => format!("({} && not {})", e(Bool), e(Bool)),
            (Text, 0) => format!("(show {})", e(Record)),
            (Text, _) => format!("({} ++ {})", e(Text), e(Text)),
            (Vector, 0) => format!("({} + {} * {})", e(Vector), e(Float), e(Vector)),
            (Vector, 1) => format!("(map (fun x -> x * {}) {})", e(Float), e(Vector)),
            (Vector, 2) => format!("(grad (fun x -> sum (x * {})) {})", e(Vector), e(Vector)),
            (Vector, _) => format!("(for i < 3 -> {} * float i)", e(Float)),
            (Matrix, 0) => format!("(outer (take 2 {}) {})", e(Vector), e(Vector)),
            (Matrix, 1) => format!("(map (fun r -> r - {}) {})", e(Vector), e(Matrix)),
            (Matrix, _) => format!("({} + {})", e(Matrix), e(Matrix)),
            (Pair, 0) => format!("({} + {})", e(Pair), e(Pair)),
            (Pair, _) => format!("({}, {})", e(Int), e(Float)),
            (Record, 0) => format!("{{{} with p = {}}}", e(Record), e(Float)),
            (Record, _) => format!("{{p = {}, q = {}}}", e(Float), e(Int)),
            (Maybe, _) => format!("(Some {})", e(Float)),
        }
    }
}

#[test]
fn programs_made_by_types_are_accepted() {
    let mut wrong = Vec::new();
    for seed in 0..300 {
        let mut m = Maker { seed, scope: Vec::new(), names: 0 };
        let k = m.any();
        let text = format!("let value = {}\n", m.expr(k, 4));
        let (mut s, _) = adl_tests::session();
        if let Some(d) = s.check_file("made.adl", text.as_bytes()).iter().find(|d| d.is_error()) {
            wrong.push(format!("{}: {}\n{text}", d.code, d.message));
        }
    }
    assert!(wrong.is_empty(), "{} of 300\n{}", wrong.len(), wrong[..wrong.len().min(5)].join("\n"));
}
