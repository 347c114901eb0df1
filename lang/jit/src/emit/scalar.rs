//! Scalar operations.

use super::{Emit, is_ref};
use crate::runtime::WordKind;
use crate::shims;
use adl_ir::{Cmp, Conv, Lit, Op, Stmt, Ty, Var};
use adl_prim::Bin;
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{InstBuilder, Value, types};

impl Emit<'_, '_, '_> {
    fn is(&self, v: Var, ty: Ty) -> bool {
        *self.f.ty(v) == ty
    }

    /// Emits a scalar operation. Returns whether the statement is one.
    pub(super) fn scalar(&mut self, stmt: &Stmt) -> bool {
        if stmt.outs.len() + stmt.lin_outs.len() != 1 {
            return false;
        }
        if let (Op::Lit(Lit::Str(t)), Some(v)) = (&stmt.op, stmt.outs.first())
            && self.later(*v, t)
        {
            return true;
        }
        let made = match &stmt.op {
            Op::Lit(l) => self.literal(l),
            Op::Zero(t) => Some(self.zero(t)),
            Op::Un(op, a) => match *self.ty(*a) {
                Ty::F64 => Some(self.un(*op, self.val(*a))),
                Ty::F32 => Some(self.narrow(|e, x| e.un(*op, x[0]), &[*a])),
                Ty::I64 => self.int_un(stmt, *op, *a),
                _ => None,
            },
            Op::Bin(op, a, b) => self.binary(stmt, *op, *a, *b),
            Op::Cmp(c, a, b) => self.compare(*c, *a, *b),
            Op::Not(a) if self.is(*a, Ty::Bool) => {
                let x = self.val(*a);
                Some(self.b.ins().bxor_imm_s(x, 1))
            }
            Op::Select(c, a, b) if self.is(*c, Ty::Bool) && !is_ref(self.ty(*a)) && self.ty(*a) == self.ty(*b) => {
                let (c, x, y) = (self.val(*c), self.val(*a), self.val(*b));
                Some(self.b.ins().select(c, x, y))
            }
            Op::Convert(c, a) => self.convert(stmt, *c, *a),
            _ => None,
        };
        if let Some(x) = made {
            self.bind_outs(stmt, &[x]);
        }
        made.is_some()
    }

    fn literal(&mut self, l: &Lit) -> Option<Value> {
        Some(match l {
            Lit::F64(x) => self.b.ins().f64const(*x),
            Lit::F32(x) => self.b.ins().f32const(*x),
            Lit::I64(n) => self.int(*n),
            Lit::Bool(b) => self.b.ins().iconst(types::I8, i64::from(*b)),
            Lit::Str(s) => {
                let id = self.text(s);
                let id = self.int(id);
                return self.runtime(shims::constant as *const u8, &[self.frame.ctx, id], 1);
            }
        })
    }

    /// The zero of a type; a symbolic zero if it is not a scalar.
    pub(super) fn zero(&mut self, t: &Ty) -> Value {
        match t {
            Ty::F64 => self.b.ins().f64const(0.0),
            Ty::F32 => self.b.ins().f32const(0.0),
            Ty::I64 => self.int(0),
            Ty::Bool => self.b.ins().iconst(types::I8, 0),
            Ty::Str | Ty::Array(..) | Ty::Data(_) => {
                let symbolic_zero = if let Ty::Data(_) = t {
                    crate::runtime::offset::SYMBOLIC_ZERO_DATA
                } else {
                    crate::runtime::offset::SYMBOLIC_ZERO
                };
                let h = self.b.ins().load(
                    types::I64,
                    super::TRUSTED.with_readonly().with_can_move(),
                    self.frame.ctx,
                    symbolic_zero,
                );
                self.retain(h);
                h
            }
        }
    }

    /// Computes an F32 operation in F64, and rounds the result.
    fn narrow(&mut self, f: impl Fn(&mut Self, &[Value]) -> Value, vars: &[Var]) -> Value {
        let wide: Vec<Value> = vars
            .iter()
            .map(|v| {
                let x = self.val(*v);
                self.b.ins().fpromote(types::F64, x)
            })
            .collect();
        let y = f(self, &wide);
        self.b.ins().fdemote(types::F32, y)
    }

    fn binary(&mut self, s: &Stmt, op: Bin, a: Var, b: Var) -> Option<Value> {
        if self.ty(a) != self.ty(b) {
            return None;
        }
        match *self.ty(a) {
            Ty::F64 => Some(self.bin(op, self.val(a), self.val(b))),
            Ty::F32 => Some(self.narrow(|e, x| e.bin(op, x[0], x[1]), &[a, b])),
            Ty::I64 => self.int_bin(s, op, a, b),
            _ => None,
        }
    }

    fn compare(&mut self, c: Cmp, a: Var, b: Var) -> Option<Value> {
        if self.ty(a) != self.ty(b) {
            return None;
        }
        let (x, y) = (self.val(a), self.val(b));
        match *self.ty(a) {
            Ty::F64 | Ty::F32 => Some(self.b.ins().fcmp(float_code(c), x, y)),
            Ty::I64 => Some(self.b.ins().icmp(int_code(c, true), x, y)),
            Ty::Bool => Some(self.b.ins().icmp(int_code(c, false), x, y)),
            _ => None,
        }
    }

    fn convert(&mut self, s: &Stmt, conv: Conv, a: Var) -> Option<Value> {
        let value = self.val(a);
        let from = self.ty(a).clone();
        if conv == Conv::ToI64 {
            return match from {
                Ty::I64 => Some(value),
                Ty::Bool => Some(self.b.ins().uextend(types::I64, value)),
                Ty::F64 => Some(self.to_int(s, value)),
                Ty::F32 => {
                    let x = self.b.ins().fpromote(types::F64, value);
                    Some(self.to_int(s, x))
                }
                _ => None,
            };
        }
        let wide = match from {
            Ty::F64 => value,
            Ty::F32 if conv == Conv::ToF32 => return Some(value),
            Ty::F32 => self.b.ins().fpromote(types::F64, value),
            Ty::I64 => self.b.ins().fcvt_from_sint(types::F64, value),
            Ty::Bool => {
                let n = self.b.ins().uextend(types::I64, value);
                self.b.ins().fcvt_from_sint(types::F64, n)
            }
            Ty::Str | Ty::Array(..) | Ty::Data(_) => return None,
        };
        Some(if conv == Conv::ToF32 { self.b.ins().fdemote(types::F32, wide) } else { wide })
    }

    /// Truncates a Float to an Int; calls the slow path if the magnitude is too large or the value is not a number.
    fn to_int(&mut self, s: &Stmt, x: Value) -> Value {
        let limit = self.b.ins().f64const(9.0e18);
        let size = self.b.ins().fabs(x);
        let ok = self.b.ins().fcmp(FloatCC::LessThan, size, limit);
        let n = self.b.ins().fcvt_to_sint_sat(types::I64, x);
        self.or_slow(s, ok, n)
    }

    /// A scalar if `ok` holds; otherwise the result of the slow path.
    pub(super) fn or_slow(&mut self, s: &Stmt, ok: Value, x: Value) -> Value {
        let t = self.b.func.dfg.value_type(x);
        let (slow, done) = (self.cold(), self.fresh());
        self.b.append_block_param(done, t);
        self.either(ok, done, &[x], slow);
        self.b.switch_to_block(slow);
        let y = self.slow_lent(s)[0];
        self.goto(done, &[y]);
        self.b.switch_to_block(done);
        self.b.block_params(done)[0]
    }

    /// [`Emit::or_slow`] for an addition whose operands are not variables.
    pub(super) fn or_slow_add(&mut self, ok: Value, sum: Value, x: Value, y: Value) -> Value {
        let (slow, done) = (self.cold(), self.fresh());
        self.b.append_block_param(done, types::I64);
        self.either(ok, done, &[sum], slow);
        self.b.switch_to_block(slow);
        let what = adl_interp::ir::eval_op::LoweredOp::Op(Op::Bin(Bin::Add, Var(0), Var(1)));
        let z = self.slow_on(
            what,
            &[(WordKind::I64, x), (WordKind::I64, y)],
            vec![false; 2],
            vec![WordKind::I64],
            vec![adl_interp::value::Value::Int(0)],
        )[0];
        self.goto(done, &[z]);
        self.b.switch_to_block(done);
        self.b.block_params(done)[0]
    }
}

/// Float comparisons; all except `!=` are false if an operand is NaN.
pub(super) fn float_code(c: Cmp) -> FloatCC {
    match c {
        Cmp::Eq => FloatCC::Equal,
        Cmp::Ne => FloatCC::NotEqual,
        Cmp::Lt => FloatCC::LessThan,
        Cmp::Gt => FloatCC::GreaterThan,
        Cmp::Le => FloatCC::LessThanOrEqual,
        Cmp::Ge => FloatCC::GreaterThanOrEqual,
    }
}

pub(super) fn int_code(c: Cmp, signed: bool) -> IntCC {
    match (c, signed) {
        (Cmp::Eq, _) => IntCC::Equal,
        (Cmp::Ne, _) => IntCC::NotEqual,
        (Cmp::Lt, true) => IntCC::SignedLessThan,
        (Cmp::Gt, true) => IntCC::SignedGreaterThan,
        (Cmp::Le, true) => IntCC::SignedLessThanOrEqual,
        (Cmp::Ge, true) => IntCC::SignedGreaterThanOrEqual,
        (Cmp::Lt, false) => IntCC::UnsignedLessThan,
        (Cmp::Gt, false) => IntCC::UnsignedGreaterThan,
        (Cmp::Le, false) => IntCC::UnsignedLessThanOrEqual,
        (Cmp::Ge, false) => IntCC::UnsignedGreaterThanOrEqual,
    }
}
