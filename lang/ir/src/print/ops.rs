//! Printer of operations.

use super::{Printer, literal, quoted, two, ty};
use crate::func::{Block, Var};
use crate::names;
use crate::op::{Loop, Op, Rule, RuleKind, Soac, Trip};

impl Printer<'_> {
    pub(super) fn op(&mut self, op: &Op) {
        let text = self.simple(op);
        self.put(&text);
        match op {
            Op::If(_, a, b) => {
                self.put(" ");
                self.branch(a);
                self.put(" else ");
                self.branch(b);
            }
            Op::Switch(_, arms) => self.arms(arms),
            Op::Loop(l) => self.trip(l),
            Op::Soac(s) => self.soac(s),
            Op::ReduceByIndex { op, .. } => {
                self.params(op);
                self.put(" ");
                self.braces(op);
            }
            _ => {}
        }
    }

    /// The arms of an `if` have no parameters; those of an invalid one are printed.
    fn branch(&mut self, b: &Block) {
        if !b.params.is_empty() || !b.lin_params.is_empty() {
            self.params(b);
            self.put(" ");
        }
        self.braces(b);
    }

    fn arms(&mut self, arms: &[Block]) {
        for b in arms {
            if self.heads {
                self.put(" | ...");
                continue;
            }
            self.newline();
            self.put("| ");
            self.params(b);
            self.put(" ");
            self.braces(b);
        }
        if !self.heads {
            self.newline();
        } else {
            self.put(" ");
        }
        self.put("end");
    }

    fn trip(&mut self, ir_loop: &Loop) {
        match &ir_loop.trip {
            Trip::Count(n) => self.put(&format!(" for {}", self.var(*n))),
            Trip::While(test) => {
                self.put(" while ");
                self.params(test);
                self.put(" ");
                self.braces(test);
            }
        }
        if ir_loop.reverse {
            self.put(" reverse");
        }
        let outs = |os: &[crate::op::Out]| os.iter().map(|o| names::out(*o)).collect::<Vec<_>>().join(", ");
        let parts = [
            ("carry", self.both(&ir_loop.init, &ir_loop.lin_init)),
            ("over", self.both(&ir_loop.xs, &ir_loop.lin_xs)),
            ("out", two(&outs(&ir_loop.outs), &outs(&ir_loop.lin_outs))),
        ];
        for (word, list) in parts {
            if !list.is_empty() {
                self.put(&format!(" {word} ({list})"));
            }
        }
        self.put(" ");
        self.params(&ir_loop.body);
        self.put(" ");
        self.braces(&ir_loop.body);
    }

    fn soac(&mut self, s: &Soac) {
        self.put(&format!(" ({}) over ({}) ", self.vars(&s.neutral, ", "), self.vars(&s.arrays, ", ")));
        self.params(&s.op);
        self.put(" ");
        self.braces(&s.op);
    }

    /// The operation without its blocks.
    fn simple(&self, op: &Op) -> String {
        let word = names::word(op);
        let show = |x: &Var| self.var(*x);
        let opt = |name: &str, x: &Option<Var>| x.map_or(String::new(), |x| format!(" {name} {}", self.var(x)));
        let many = |vs: &[Var]| vs.iter().map(|x| format!(" {}", self.var(*x))).collect::<String>();
        let at = |vs: &[Var]| format!("[{}]", self.vars(vs, ", "));
        match op {
            Op::Lit(l) => literal(l),
            Op::Zero(t) => format!("{word} {}", ty(t)),
            Op::Un(u, a) => u.parameter().map_or(format!("{word} {}", show(a)), |n| format!("{word} {n} {}", show(a))),
            Op::Not(operand)
            | Op::Convert(_, operand)
            | Op::Shape(operand)
            | Op::Size(operand)
            | Op::Reverse(operand)
            | Op::Transpose(operand)
            | Op::Nonzero(operand)
            | Op::Zeros(operand)
            | Op::Dup(operand)
            | Op::Drop(operand)
            | Op::Cumsum { a: operand, .. }
            | Op::If(operand, ..)
            | Op::Switch(operand, _) => format!("{word} {}", show(operand)),
            Op::Bin(_, a, b) | Op::Cmp(_, a, b) | Op::Dot(a, b) | Op::MatMul(a, b) | Op::Outer(a, b) => {
                format!("{word} {} {}", show(a), show(b))
            }
            Op::Contract(c) => {
                let factor = |v: Var, turned: bool| format!("{}{}", self.var(v), if turned { " turned" } else { "" });
                format!(
                    "{word} {} {} {}{}",
                    names::terms(c.terms),
                    factor(c.a, c.turned[0]),
                    factor(c.b, c.turned[1]),
                    many(&c.size)
                )
            }
            Op::Rotate { n: a, a: b } | Op::Replicate { n: a, a: b } | Op::Broadcast { a, shape: b } => {
                format!("{word} {} {}", show(a), show(b))
            }
            Op::Select(c, a, b) => format!("{word} {} {} {}", show(c), show(a), show(b)),
            Op::Prim(p, args) => format!("{word} {}{}", quoted(p.name()), many(args)),
            Op::Dim(a, axis) => format!("{word} {axis} {}", show(a)),
            Op::Index { a, at: i, shape } => format!("{word} {} {}{}", show(a), at(i), opt("shape", shape)),
            Op::IndexAdd { acc, at: i, v: x, shape } | Op::IndexSet { acc, at: i, v: x, shape } => {
                format!("{word} {} {} {}{}", show(acc), at(i), show(x), opt("shape", shape))
            }
            Op::Slice { a, lo, hi, shape } => {
                format!("{word} {} {} {}{}", show(a), show(lo), show(hi), opt("shape", shape))
            }
            Op::SliceAdd { acc, lo, hi, v: x, shape } => {
                format!("{word} {} {} {} {}{}", show(acc), show(lo), show(hi), show(x), opt("shape", shape))
            }
            Op::Gather { a, at, shape } => format!("{word} {} {}{}", show(a), show(at), opt("shape", shape)),
            Op::GatherAdd { acc, at, v: x, shape } => {
                format!("{word} {} {} {}{}", show(acc), show(at), show(x), opt("shape", shape))
            }
            Op::Concat { a, b, len, shape } => {
                format!("{word} {} {}{}{}", show(a), show(b), opt("len", len), opt("shape", shape))
            }
            Op::Reshape { a, to, from } => format!("{word} {} {}{}", show(a), show(to), opt("from", from)),
            Op::Sum { a, n } => format!("{word} {}{}", show(a), opt("len", n)),
            Op::SumAll { a, shape } => format!("{word} {}{}", show(a), opt("shape", shape)),
            Op::ArrayLit { elems, shape } => format!("{word}{}{}", many(elems), opt("shape", shape)),
            Op::Construct { data, tag, fields } => format!("{word} D{}.{tag}{}", data.0, many(fields)),
            Op::Destruct { a, data, tag } => format!("{word} D{}.{tag} {}", data.0, show(a)),
            Op::Call { f, args, lin_args, rule, checkpoint } => {
                let check = if *checkpoint { " checkpoint" } else { "" };
                format!(
                    "{word} f{}({}){}{check}",
                    f.0,
                    self.both(args, lin_args),
                    rule.as_ref().map_or(String::new(), by_rule)
                )
            }
            Op::Loop(_) | Op::Soac(_) => word.to_owned(),
            Op::ReduceByIndex { dest, neutral, keys, values, .. } => {
                let list = |vs: &[Var]| self.vars(vs, ", ");
                format!(
                    "{word} ({}) neutral ({}) keys {} values ({}) ",
                    list(dest),
                    list(neutral),
                    show(keys),
                    list(values)
                )
            }
        }
    }
}

fn by_rule(r: &Rule) -> String {
    let kind = match r.kind {
        RuleKind::Jvp => "jvp",
        RuleKind::Vjp => "vjp",
        RuleKind::Inverse => "inverse",
    };
    format!(" {kind} f{}", r.func.0)
}
