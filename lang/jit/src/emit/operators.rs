//! Scalar operators: instructions where they exist, else calls of the functions that the interpreter uses. Instructions
//! also apply to Float vectors.

use super::Emit;
use crate::limits::emit_operators::MAX_POWER;
use crate::scalar_math;
use adl_ir::{Stmt, Var};
use adl_prim::{Bin, Un};
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{
    AbiParam, InstBuilder, InstructionData, MemFlagsData, Opcode, Signature, Type, Value, types,
};
use cranelift_module::Module;

impl Emit<'_, '_, '_> {
    fn float(&mut self, x: f64) -> Value {
        self.b.ins().f64const(x)
    }

    /// A constant, broadcast to all lanes if `like` is a vector.
    fn constant_like(&mut self, x: f64, like: Value) -> Value {
        let c = self.float(x);
        let t = self.b.func.dfg.value_type(like);
        if t.is_vector() { self.b.ins().splat(t, c) } else { c }
    }

    /// Selects `x` where a comparison holds, else `y`.
    pub(super) fn choose_number(&mut self, c: Value, x: Value, y: Value) -> Value {
        let t = self.b.func.dfg.value_type(x);
        if !t.is_vector() {
            return self.b.ins().select(c, x, y);
        }
        let c = self.b.ins().bitcast(t, MemFlagsData::new(), c);
        // Zero has no bits, so one instruction is enough.
        match [x, y].map(|v| self.constant(v).map(f64::to_bits)) {
            [Some(0), _] => self.b.ins().band_not(y, c),
            [_, Some(0)] => self.b.ins().band(x, c),
            _ => self.b.ins().bitselect(c, x, y),
        }
    }

    /// The product, or 0 if a factor is 0. For a number this is a branch, which is predicted: a chain of products waits
    /// for the multiplications alone. For a vector it is a mask.
    fn scale_tangent(&mut self, left: Value, right: Value) -> Value {
        let product = self.b.ins().fmul(left, right);
        let mut none: Option<Value> = None;
        for x in [right, left].into_iter().filter(|v| self.constant(*v).is_none_or(|c| c == 0.0)).collect::<Vec<_>>() {
            let zero = self.constant_like(0.0, x);
            let x = self.without_sign(x);
            let is_zero = self.b.ins().fcmp(FloatCC::Equal, x, zero);
            none = Some(none.map_or(is_zero, |other| self.b.ins().bor(is_zero, other)));
        }
        let Some(none) = none else { return product };
        let zero = self.constant_like(0.0, product);
        self.choose_number(none, zero, product)
    }

    /// A number that is 0 where `x` is, and that may have been compared before: what `x` negates.
    fn without_sign(&self, x: Value) -> Value {
        let dfg = &self.b.func.dfg;
        match dfg.value_def(dfg.resolve_aliases(x)).inst().map(|i| dfg.insts[i]) {
            Some(InstructionData::Unary { opcode: Opcode::Fneg, arg }) => arg,
            Some(InstructionData::Binary { opcode: Opcode::Bxor, args: [arg, _] }) => arg,
            _ => x,
        }
    }

    /// Calls a math function.
    fn function(&mut self, f: *const u8, first: Type, args: &[Value]) -> Value {
        let mut sig = Signature::new(self.job.module.isa().default_call_conv());
        sig.params.push(AbiParam::new(first));
        sig.params.extend(vec![AbiParam::new(types::F64); args.len() - 1]);
        sig.returns.push(AbiParam::new(types::F64));
        let sig = self.imported(sig);
        let at = self.int(f as i64);
        let call = self.b.ins().call_indirect(sig, at, args);
        self.b.inst_results(call)[0]
    }

    pub(super) fn un(&mut self, op: Un, operand: Value) -> Value {
        if let Some(f) = scalar_math::unary(op) {
            return self.function(f, types::F64, &[operand]);
        }
        match op {
            Un::Neg => self.negated(operand),
            Un::Abs => self.b.ins().fabs(operand),
            Un::Sqrt => self.b.ins().sqrt(operand),
            Un::Floor => self.b.ins().floor(operand),
            Un::Ceil => self.b.ins().ceil(operand),
            Un::Round => self.b.ins().nearest(operand),
            Un::Sign => {
                let (zero, one, minus) = (
                    self.constant_like(0.0, operand),
                    self.constant_like(1.0, operand),
                    self.constant_like(-1.0, operand),
                );
                let below = self.b.ins().fcmp(FloatCC::LessThan, operand, zero);
                let low = self.choose_number(below, minus, operand);
                let above = self.b.ins().fcmp(FloatCC::GreaterThan, operand, zero);
                self.choose_number(above, one, low)
            }
            Un::Relu => {
                let zero = self.constant_like(0.0, operand);
                // The comparison is false for NaN, which is therefore kept.
                let gone = self.b.ins().fcmp(FloatCC::LessThanOrEqual, operand, zero);
                self.choose_number(gone, zero, operand)
            }
            Un::Step => {
                let (zero, one) = (self.constant_like(0.0, operand), self.constant_like(1.0, operand));
                let above = self.b.ins().fcmp(FloatCC::GreaterThan, operand, zero);
                self.choose_number(above, one, zero)
            }
            Un::Powi(n) => self.powi(n, operand),
            Un::Polygamma(n) => {
                let n = self.int(i64::from(n));
                self.function(scalar_math::polygamma as *const u8, types::I64, &[n, operand])
            }
            // All others are called above.
            _ => operand,
        }
    }

    /// Negation. The sign bits of all lanes are a value of their own, which is made once outside of a loop.
    fn negated(&mut self, x: Value) -> Value {
        if !self.b.func.dfg.value_type(x).is_vector() {
            return self.b.ins().fneg(x);
        }
        let sign = self.constant_like(-0.0, x);
        self.b.ins().bxor(x, sign)
    }

    /// The multiplications of `f64::powi`, in the same order.
    fn powi(&mut self, exponent: i32, base: Value) -> Value {
        let mut left = exponent.unsigned_abs();
        if left > MAX_POWER {
            let n = self.int(i64::from(exponent));
            return self.function(scalar_math::powi as *const u8, types::I64, &[n, base]);
        }
        let (mut power, mut product) = (base, None);
        loop {
            if left & 1 == 1 {
                product = Some(match product {
                    Some(p) => self.b.ins().fmul(p, power),
                    None => power,
                });
            }
            left >>= 1;
            if left == 0 {
                break;
            }
            power = self.b.ins().fmul(power, power);
        }
        let one = self.constant_like(1.0, base);
        let p = product.unwrap_or(one);
        if exponent < 0 { self.b.ins().fdiv(one, p) } else { p }
    }

    pub(super) fn bin(&mut self, op: Bin, left_value: Value, right: Value) -> Value {
        match op {
            Bin::Add => self.b.ins().fadd(left_value, right),
            Bin::Sub => self.b.ins().fsub(left_value, right),
            Bin::Mul => self.b.ins().fmul(left_value, right),
            Bin::Div => self.b.ins().fdiv(left_value, right),
            Bin::ScaleTangent => self.scale_tangent(left_value, right),
            Bin::IntDiv => {
                let q = self.b.ins().fdiv(left_value, right);
                self.b.ins().floor(q)
            }
            Bin::Min => self.extreme(FloatCC::LessThanOrEqual, left_value, right),
            Bin::Max => self.extreme(FloatCC::GreaterThanOrEqual, left_value, right),
            Bin::LeIndicator => {
                let (zero, one) = (self.constant_like(0.0, left_value), self.constant_like(1.0, left_value));
                let le = self.b.ins().fcmp(FloatCC::LessThanOrEqual, left_value, right);
                self.choose_number(le, one, zero)
            }
            Bin::Pow | Bin::Atan2 | Bin::Hypot | Bin::Rem => match scalar_math::binary(op) {
                Some(f) => self.function(f, types::F64, &[left_value, right]),
                None => left_value,
            },
        }
    }

    /// The constant that a number is, or all lanes of a vector are.
    fn constant(&self, x: Value) -> Option<f64> {
        let dfg = &self.b.func.dfg;
        match dfg.insts[dfg.value_def(dfg.resolve_aliases(x)).inst()?] {
            InstructionData::UnaryIeee64 { imm, .. } => Some(f64::from_bits(imm.bits())),
            InstructionData::Unary { opcode: Opcode::Splat, arg } => self.constant(arg),
            _ => None,
        }
    }

    /// `x` if it is NaN or compares as `c` with `y`, else `y`.
    fn extreme(&mut self, c: FloatCC, x: Value, y: Value) -> Value {
        let nan = self.b.ins().fcmp(FloatCC::Unordered, x, x);
        let first = self.b.ins().fcmp(c, x, y);
        let keep = self.b.ins().bor(nan, first);
        self.choose_number(keep, x, y)
    }

    /// A unary Int operator; `None` if there is no fast path.
    pub(super) fn int_un(&mut self, s: &Stmt, op: Un, a: Var) -> Option<Value> {
        let x = self.val(a);
        match op {
            Un::Neg | Un::Abs => {
                let ok = self.b.ins().icmp_imm_s(IntCC::NotEqual, x, i64::MIN);
                let y = if op == Un::Neg { self.b.ins().ineg(x) } else { self.b.ins().iabs(x) };
                Some(self.or_slow(s, ok, y))
            }
            Un::Sign => {
                let above = self.b.ins().icmp_imm_s(IntCC::SignedGreaterThan, x, 0);
                let above = self.b.ins().uextend(types::I64, above);
                let below = self.b.ins().sshr_imm_s(x, 63);
                Some(self.b.ins().bor(above, below))
            }
            _ => None,
        }
    }

    /// The sum of two Ints, and whether it does not overflow.
    pub(super) fn int_add(&mut self, x: Value, y: Value) -> (Value, Value) {
        let z = self.b.ins().iadd(x, y);
        // The sum overflows if its sign differs from that of both operands.
        let (p, q) = (self.b.ins().bxor(x, z), self.b.ins().bxor(y, z));
        let changed = self.b.ins().band(p, q);
        (z, self.b.ins().icmp_imm_s(IntCC::SignedGreaterThanOrEqual, changed, 0))
    }

    /// A binary Int operator; `None` if there is no fast path.
    pub(super) fn int_bin(&mut self, stmt: &Stmt, op: Bin, a: Var, second: Var) -> Option<Value> {
        let (left, right) = (self.val(a), self.val(second));
        let (result, ok) = match op {
            Bin::Add => self.int_add(left, right),
            Bin::Sub => {
                let z = self.b.ins().isub(left, right);
                let (p, q) = (self.b.ins().bxor(left, right), self.b.ins().bxor(left, z));
                let changed = self.b.ins().band(p, q);
                (z, self.b.ins().icmp_imm_s(IntCC::SignedGreaterThanOrEqual, changed, 0))
            }
            Bin::Mul | Bin::ScaleTangent => {
                let z = self.b.ins().imul(left, right);
                let high = self.b.ins().smulhi(left, right);
                let sign = self.b.ins().sshr_imm_s(z, 63);
                (z, self.b.ins().icmp(IntCC::Equal, high, sign))
            }
            Bin::Min => return Some(self.b.ins().smin(left, right)),
            Bin::Max => return Some(self.b.ins().smax(left, right)),
            Bin::LeIndicator => {
                let le = self.b.ins().icmp(IntCC::SignedLessThanOrEqual, left, right);
                return Some(self.b.ins().uextend(types::I64, le));
            }
            Bin::IntDiv | Bin::Rem => return Some(self.int_div(stmt, op, left, right)),
            Bin::Div | Bin::Pow | Bin::Atan2 | Bin::Hypot => return None,
        };
        Some(self.or_slow(stmt, ok, result))
    }

    /// Floor division, or its remainder. Divisors 0 and -1 take the slow path.
    fn int_div(&mut self, stmt: &Stmt, op: Bin, x: Value, divisor: Value) -> Value {
        let (slow, done) = (self.cold(), self.fresh());
        self.b.append_block_param(done, types::I64);
        let up = self.b.ins().iadd_imm_s(divisor, 1);
        let ok = self.b.ins().icmp_imm_s(IntCC::UnsignedGreaterThan, up, 1);
        self.unless(ok, slow, &[]);
        let (q, r) = (self.b.ins().sdiv(x, divisor), self.b.ins().srem(x, divisor));
        let mixed = self.b.ins().bxor(r, divisor);
        let differ = self.b.ins().icmp_imm_s(IntCC::SignedLessThan, mixed, 0);
        let rest = self.b.ins().icmp_imm_s(IntCC::NotEqual, r, 0);
        let fix = self.b.ins().band(differ, rest);
        let z = if op == Bin::IntDiv {
            let less = self.b.ins().iadd_imm_s(q, -1);
            self.b.ins().select(fix, less, q)
        } else {
            let more = self.b.ins().iadd(r, divisor);
            self.b.ins().select(fix, more, r)
        };
        self.goto(done, &[z]);
        self.b.switch_to_block(slow);
        let y = self.slow_lent(stmt)[0];
        self.goto(done, &[y]);
        self.b.switch_to_block(done);
        self.b.block_params(done)[0]
    }
}
