//! Printer of operations.

use super::{Printer, literal, quoted, two};
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
        if let Some(text) = op.print_row(self) {
            return text;
        }
        let word = op.word();
        let many = |vs: &[Var]| vs.iter().map(|x| format!(" {}", self.var(*x))).collect::<String>();
        match op {
            Op::Lit(l) => literal(l),
            Op::Un(u, a) => u.parameter().map_or(word.to_owned(), |n| format!("{word} {n}")) + &many(&[*a]),
            Op::Prim(p, args) => format!("{word} {}{}", quoted(p.name()), many(args)),
            Op::Contract(c) => {
                let factor = |v: Var, turned: bool| format!(" {}{}", self.var(v), if turned { " turned" } else { "" });
                let factors = factor(c.a, c.turned[0]) + &factor(c.b, c.turned[1]);
                format!("{word} {}{factors}{}", names::terms(c.terms), many(&c.size))
            }
            Op::Construct { data, tag, fields } => format!("{word} D{}.{tag}{}", data.0, many(fields)),
            Op::Destruct { a, data, tag } => format!("{word} D{}.{tag}{}", data.0, many(&[*a])),
            Op::Call { f, args, lin_args, rule, checkpoint } => {
                let check = if *checkpoint { " checkpoint" } else { "" };
                let rule = rule.as_ref().map_or(String::new(), by_rule);
                format!("{word} f{}({}){rule}{check}", f.0, self.both(args, lin_args))
            }
            Op::ReduceByIndex { dest, neutral, keys, values, .. } => {
                let [dest, neutral, values] = [dest, neutral, values].map(|vs| self.vars(vs, ", "));
                format!("{word} ({dest}) neutral ({neutral}) keys {} values ({values}) ", self.var(*keys))
            }
            // The operands of scalar operators and branches; lists and blocks follow.
            Op::Loop(_) | Op::Soac(_) => word.to_owned(),
            other => {
                let mut operands = Vec::new();
                other.each_operand(&mut |v| operands.push(v));
                word.to_owned() + &many(&operands)
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
