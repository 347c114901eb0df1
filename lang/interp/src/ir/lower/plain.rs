//! Lowering of statements without nested blocks.

use super::super::op_site::{self, OpSite};
use super::{Lower, LoweringScope, zero_of};
use crate::error::Res;
use crate::value::Value;
use crate::vm::code::{Arg, I, R};
use adl_ir::{Conv, Lit, Op, Stmt, Ty, Var};
use std::rc::Rc;

fn literal(l: &Lit) -> Value {
    match l {
        Lit::F64(x) => Value::Float(*x),
        Lit::F32(x) => Value::F32(*x),
        Lit::I64(n) => Value::Int(*n),
        Lit::Bool(b) => Value::Bool(*b),
        Lit::Str(s) => Value::Str(Rc::new((&**s).into())),
    }
}

impl Lower<'_> {
    fn number(&self, v: Var) -> bool {
        matches!(self.f.ty(v), Ty::F64 | Ty::F32 | Ty::I64)
    }

    /// Lowers a statement that is neither control flow nor a call.
    pub(super) fn plain(&mut self, stmt: &Stmt, at: u32, sc: &LoweringScope) -> Res<()> {
        match &stmt.op {
            Op::Lit(l) => self.value(stmt, literal(l)),
            Op::Zero(t) => self.value(stmt, zero_of(t)),
            Op::Un(op, a) if self.number(*a) => self.scalars(stmt, &[*a], at, sc, |d, r| I::Un(*op, d, r[0])),
            Op::Bin(op, a, b) if self.number(*a) && self.number(*b) => {
                self.scalars(stmt, &[*a, *b], at, sc, |d, r| I::Bin(*op, d, r[0], r[1]));
            }
            Op::Cmp(c, a, b) if self.f.ty(*a).rank() == 0 && self.f.ty(*b).rank() == 0 => {
                self.scalars(stmt, &[*a, *b], at, sc, |d, r| I::Cmp(*c, d, r[0], r[1]));
            }
            Op::Convert(Conv::ToF64, a) if self.f.ty(*a).rank() == 0 => {
                self.scalars(stmt, &[*a], at, sc, |d, r| I::ToFloat(d, r[0]));
            }
            Op::Select(c, a, b) if *self.f.ty(*c) == Ty::Bool && a != c && b != c => {
                self.select(stmt, [*c, *a, *b], at, sc);
            }
            Op::Index { a, at: is, .. } if is.len() == 1 || is.len() == 2 && self.f.ty(*a).rank() == 2 => {
                self.element(stmt, *a, is, at, sc);
            }
            Op::Destruct { a, .. } => self.fields(stmt, *a, at, sc),
            Op::Dup(a) => self.dup(stmt, *a, at, sc),
            Op::Drop(a) => {
                if self.dies(*a, at, sc) {
                    self.clear(*a);
                }
                self.release_dying(&[*a], at, sc);
            }
            _ => self.general(stmt, at, sc),
        }
        Ok(())
    }

    fn value(&mut self, s: &Stmt, v: Value) {
        let k = self.constant(v);
        for d in self.bind_outs(s) {
            self.emit(I::Const(d, k));
        }
    }

    /// Emits a scalar instruction.
    fn scalars(&mut self, s: &Stmt, vars: &[Var], at: u32, sc: &LoweringScope, make: impl Fn(R, &[R]) -> I) {
        let regs: Vec<R> = vars.iter().map(|v| self.reg(*v)).collect();
        self.release_dying(vars, at, sc);
        for d in self.bind_outs(s) {
            self.emit(make(d, &regs));
        }
    }

    /// Lowers a selection between two values.
    fn select(&mut self, s: &Stmt, [condition, when_true, when_false]: [Var; 3], at: u32, sc: &LoweringScope) {
        let no = self.condition(condition, at, sc);
        let list = self.args(&[when_true, when_false], at, sc, &|v| v == condition || when_true == when_false);
        let outs = self.bind_outs(s);
        let put = |l: &mut Self, x: Arg, other: Arg| {
            for d in &outs {
                l.copy(*d, x.r, x.last);
            }
            if other.last {
                let k = l.constant(Value::Unit);
                l.emit(I::Const(other.r, k));
            }
        };
        put(self, list[0], list[1]);
        let end = self.hole(I::Jump(0));
        self.code.patch_jump(no);
        put(self, list[1], list[0]);
        self.code.patch_jump(end);
        self.release_dying(&[condition, when_true, when_false], at, sc);
    }

    /// Lowers an element read of a vector or matrix, or a row read.
    fn element(&mut self, s: &Stmt, array: Var, is: &[Var], at: u32, sc: &LoweringScope) {
        let mut vars = vec![array];
        vars.extend(is);
        let regs: Vec<R> = vars.iter().map(|v| self.reg(*v)).collect();
        let gone = self.dies(array, at, sc);
        let outs = self.bind_outs(s);
        let z = self.zeros(s).into_iter().next().unwrap_or_default();
        let z = self.constant(z);
        for d in outs {
            self.emit(match regs[..] {
                [a, i, j] => I::At2(d, a, i, j, z),
                _ => I::At1(d, regs[0], regs[1], z),
            });
        }
        if gone {
            self.clear(array);
        }
        self.release_dying(&vars, at, sc);
    }

    fn fields(&mut self, s: &Stmt, record: Var, at: u32, sc: &LoweringScope) {
        let (r, gone) = (self.reg(record), self.dies(record, at, sc));
        let zeros = self.zeros(s);
        for (i, (v, z)) in s.outs.iter().chain(&s.lin_outs).zip(zeros).enumerate() {
            let z = self.constant(z);
            let d = self.bind(*v);
            self.emit(I::FieldOr(d, r, i as u32, z));
        }
        if gone {
            self.clear(record);
        }
        self.release_dying(&[record], at, sc);
    }

    fn dup(&mut self, s: &Stmt, a: Var, at: u32, sc: &LoweringScope) {
        let (r, gone) = (self.reg(a), self.dies(a, at, sc));
        let outs = self.bind_outs(s);
        for (i, d) in outs.iter().enumerate() {
            self.copy(*d, r, gone && i + 1 == outs.len());
        }
        self.release_dying(&[a], at, sc);
    }

    /// The results to use if a linear operand is a symbolic zero.
    fn zeros(&self, s: &Stmt) -> Vec<Value> {
        op_site::zeros(self.f, s)
    }

    /// Lowers any other operation to a [`crate::vm::code::LoweredStep`].
    fn general(&mut self, s: &Stmt, at: u32, sc: &LoweringScope) {
        let OpSite { what, vars, zeros } = op_site::site(&self.p.datas, self.f, s);
        let args = self.args(&vars, at, sc, &|_| false);
        self.release_dying(&vars, at, sc);
        let outs = self.bind_outs(s);
        self.step(what, args, outs, zeros.into());
    }
}
