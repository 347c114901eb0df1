//! Random programs that parse, in random layouts, with comments.

use std::fmt::Write;

const NAMES: [&str; 10] = ["x", "y'", "total", "α₁", "a_long_name_of_something", "f", "params", "xs", "row", "k"];
const OPERATORS: [&str; 14] = ["+", "-", "*", "/", "^", "==", "<", "&&", "||", "::", "++", "|>", "@", ">>"];

/// A program of a few items.
pub fn program(random: &mut fastrand::Rng) -> String {
    let mut writer = ProgramWriter { random, out: String::new() };
    for _ in 0..=writer.random.usize(..4) {
        writer.item();
    }
    writer.out
}

struct ProgramWriter<'r> {
    random: &'r mut fastrand::Rng,
    out: String,
}

impl ProgramWriter<'_> {
    fn name(&mut self) -> &'static str {
        NAMES[self.random.usize(..NAMES.len())]
    }

    fn item(&mut self) {
        match self.random.usize(..8) {
            0 => self.out.push_str("type Shape a =\n  | Circle Float -- round\n  | Rect {w : a, h : [3]Float}\n"),
            1 => self.out.push_str("--| Documented.\n"),
            2 => self.out.push_str("-- alone\n\n"),
            _ => {}
        }
        let (name, param) = (self.name(), self.pattern(1));
        let _ = write!(self.out, "let {name} {param} =");
        self.block(2, 4);
        self.newline(0);
        if self.random.usize(..3) == 0 {
            self.out.push('\n');
        }
    }

    /// A block on lines of its own, or an expression on this one.
    fn block(&mut self, indent: usize, depth: usize) {
        if self.random.usize(..2) == 0 || depth == 0 {
            self.out.push(' ');
            return self.expr(indent + 2, depth);
        }
        for _ in 0..self.random.usize(..3) {
            self.newline(indent);
            let pattern = self.pattern(1);
            let _ = write!(self.out, "let {pattern} =");
            self.block(indent + 2, depth - 1);
        }
        self.newline(indent);
        self.expr(indent + 2, depth);
    }

    fn newline(&mut self, indent: usize) {
        match self.random.usize(..12) {
            0 => self.out.push_str("  -- a remark"),
            1 => self.out.push_str(" (* in a block *)"),
            2 => {
                let _ = write!(self.out, "\n{}-- a line of its own", " ".repeat(indent));
            }
            3 => self.out.push('\n'),
            _ => {}
        }
        let _ = write!(self.out, "\n{}", " ".repeat(indent));
    }

    /// A blank, or a new line that continues.
    fn gap(&mut self, indent: usize) {
        if self.random.usize(..6) == 0 { self.newline(indent) } else { self.out.push(' ') }
    }

    fn expr(&mut self, indent: usize, depth: usize) {
        if depth == 0 {
            return self.atom(indent, 0);
        }
        match self.random.usize(..12) {
            0 => self.keyword("fun x (y, _) ->", indent, depth),
            1 => self.keyword("for i < 3, j ->", indent, depth),
            2 => self.keyword("loop (a, b) = (1, 2.0) for i < 10 do", indent, depth),
            3 => self.keyword("loop w = 0.0 while w < 1.0 do", indent, depth),
            4 => {
                self.out.push_str("if ");
                self.atom(indent, depth - 1);
                self.out.push_str(" then");
                self.out.push(' ');
                self.atom(indent, depth - 1);
                self.gap(indent);
                self.out.push_str("else");
                self.block(indent + 2, depth - 1);
            }
            5 => self.cases(indent, depth),
            6 | 7 => {
                for _ in 0..=self.random.usize(..5) {
                    self.atom(indent, depth - 1);
                    self.gap(indent);
                    let op = OPERATORS[self.random.usize(..OPERATORS.len())];
                    // Comparisons do not chain.
                    let op = if matches!(op, "==" | "<") { "%" } else { op };
                    let _ = write!(self.out, "{op} ");
                }
                self.atom(indent, depth - 1);
            }
            8 => {
                let name = self.name();
                self.out.push_str(name);
                for _ in 0..=self.random.usize(..3) {
                    self.gap(indent);
                    self.atom(indent, depth - 1);
                }
            }
            _ => self.atom(indent, depth),
        }
    }

    fn keyword(&mut self, head: &str, indent: usize, depth: usize) {
        self.out.push_str(head);
        self.block(indent + 2, depth - 1);
    }

    fn cases(&mut self, indent: usize, depth: usize) {
        self.out.push_str("match ");
        self.atom(indent, depth - 1);
        self.out.push_str(" with");
        for _ in 0..=self.random.usize(..3) {
            self.newline(indent);
            let pattern = self.pattern(2);
            let _ = write!(self.out, "| {pattern} ->");
            self.block(indent + 4, depth - 1);
        }
    }

    fn atom(&mut self, indent: usize, depth: usize) {
        let leaf = [
            "1",
            "2.5",
            "1e-3",
            "3f32",
            "true",
            "\"text\"",
            "()",
            "None",
            "(+)",
            "f\"{x} of {y + 1}\"",
            "x[1:, j]",
            "r.w.T",
            "(-1)",
        ];
        if depth == 0 || self.random.usize(..3) == 0 {
            let name = self.name();
            let k = self.random.usize(..leaf.len() * 2);
            return self.out.push_str(leaf.get(k).unwrap_or(&name));
        }
        match self.random.usize(..5) {
            0 => self.list("(", ")", indent, depth),
            1 | 2 => self.list("[", "]", indent, depth),
            3 => {
                self.out.push_str("{a = ");
                self.expr(indent + 2, depth - 1);
                self.out.push_str(", b}");
            }
            _ => {
                self.out.push('(');
                self.expr(indent + 2, depth - 1);
                self.out.push(')');
            }
        }
    }

    fn list(&mut self, open: &str, close: &str, indent: usize, depth: usize) {
        self.out.push_str(open);
        for i in 0..2 + self.random.usize(..3) {
            if i > 0 {
                self.out.push(',');
                self.gap(indent + 2);
            }
            self.expr(indent + 2, depth - 1);
        }
        self.out.push_str(close);
    }

    fn pattern(&mut self, depth: usize) -> String {
        let name = self.name();
        match self.random.usize(..if depth == 0 { 2 } else { 8 }) {
            0 => "_".to_owned(),
            1..=3 => name.to_owned(),
            4 => format!("({}, {})", self.pattern(depth - 1), self.pattern(depth - 1)),
            5 => format!("{{a, b = {}, ..}}", self.pattern(depth - 1)),
            6 => format!("({name} : [n]Float)"),
            _ => format!("(Some {} as {name})", self.pattern(depth - 1)),
        }
    }
}
