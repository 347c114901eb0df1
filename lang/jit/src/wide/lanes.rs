//! Instruction selection for choices between lanes by a mask, and for vectors that are taken apart or put together.

use super::encode::map::{M0F, M3A};
use super::encode::prefix::P66;
use super::encode::{VectorOpcode, Width};
use super::extension::Bits;
use super::inst::Operation;
use super::lower::predicate;
use super::select::{Selector, Unsupported};
use cranelift_codegen::ir::condcodes::{CondCode, FloatCC};
use cranelift_codegen::ir::{InstructionData, Opcode, Value};
use regalloc2::{Operand, RegClass, VReg};

/// Instructions that move lanes.
const LOW_PAIR: VectorOpcode = VectorOpcode::new(P66, M0F, 0x14, 0);
const INSERT_PAIR: VectorOpcode = VectorOpcode::new(P66, M3A, 0x18, 1);
const INSERT_HALF: VectorOpcode = VectorOpcode::new(P66, M3A, 0x1a, 2);

impl Selector<'_> {
    /// Whether the bits of each lane of a vector are known to be equal: those of comparisons, and of `depth` operations
    /// on these.
    pub fn is_mask(&self, v: Value, depth: u32) -> bool {
        let of = |v: &Value| depth > 0 && self.is_mask(*v, depth - 1);
        match self.definition(v) {
            Some(InstructionData::FloatCompare { .. }) => true,
            Some(InstructionData::LoadNoOffset { opcode: Opcode::Bitcast, arg, .. }) => of(&arg),
            Some(InstructionData::Unary { opcode: Opcode::Bnot, arg }) => of(&arg),
            Some(InstructionData::Binary { opcode: Opcode::Band | Opcode::Bor | Opcode::Bxor, args }) => {
                args.iter().all(of)
            }
            _ => false,
        }
    }

    /// Whether a Bool comes from comparisons of scalars that only it depends on, by at most `depth` operations.
    pub fn is_scalar_mask(&self, v: Value, depth: u32) -> bool {
        match self.definition(v).filter(|_| self.is_only_use(v)) {
            Some(InstructionData::FloatCompare { .. }) => true,
            Some(InstructionData::Binary { opcode, args }) => {
                of_bits(opcode).is_some() && depth > 0 && args.iter().all(|x| self.is_scalar_mask(*x, depth - 1))
            }
            _ => false,
        }
    }

    /// One of two scalars by such a Bool, which stays in a vector register: a chain of extrema waits for it.
    pub fn choose_scalar(&mut self, [c, x, y]: [Value; 3], out: Value) -> Result<(), Unsupported> {
        let mask = self.scalar_mask(c)?;
        let [out, x, y] = [self.register(out)?, self.register(x)?, self.register(y)?];
        let uses = [mask, x, y].map(Operand::reg_use);
        let operands = std::iter::once(Operand::reg_def(out)).chain(uses).collect();
        self.emit(Operation::ChooseLanes(Width::Scalar), operands);
        Ok(())
    }

    /// Takes the comparisons of a Bool into the current instruction. Returns the register of the mask.
    fn scalar_mask(&mut self, v: Value) -> Result<VReg, Unsupported> {
        let data = self.definition(v).ok_or("a mask")?;
        self.fold(v);
        let (op, immediate, [left, right]) = match data {
            InstructionData::FloatCompare { cond, args: [x, y], .. } => {
                let op = VectorOpcode::arithmetic(0xc2, Width::Scalar);
                (op, Some(predicate(cond)), [self.register(x)?, self.register(y)?])
            }
            InstructionData::Binary { opcode, args: [x, y] } => {
                let op = self.extension.bits(of_bits(opcode).ok_or("a mask")?);
                (op, None, [self.scalar_mask(x)?, self.scalar_mask(y)?])
            }
            _ => return Err("a mask".to_owned()),
        };
        let out = self.fresh(RegClass::Float);
        let operands = vec![Operand::reg_def(out), Operand::reg_use(left), Operand::reg_use(right)];
        self.emit(Operation::Vector(op, immediate), operands);
        Ok(out)
    }

    /// The comparison that a mask is, if only the current instruction uses it.
    pub fn compared(&self, mask: Value) -> Option<(FloatCC, [Value; 2])> {
        let mut v = mask;
        if let InstructionData::LoadNoOffset { opcode: Opcode::Bitcast, arg, .. } = self.definition(v)? {
            if !self.is_only_use(v) {
                return None;
            }
            v = arg;
        }
        match self.definition(v)? {
            InstructionData::FloatCompare { cond, args, .. } if self.is_only_use(v) => Some((cond, args)),
            _ => None,
        }
    }

    /// Takes a comparison into the current instruction.
    fn take_comparison(&mut self, mask: Value) {
        self.fold(mask);
        if let Some(InstructionData::LoadNoOffset { arg, .. }) = self.definition(mask) {
            self.fold(arg);
        }
    }

    /// The lanes of `x`, or nothing, where a comparison holds, and those of `y` elsewhere.
    pub fn choose_lanes(&mut self, mask: Value, x: Option<Value>, y: Value, out: Value) -> Result<(), Unsupported> {
        let (cond, [a, b]) = self.compared(mask).ok_or("a mask")?;
        self.take_comparison(mask);
        match x {
            Some(x) => self.of_registers(Operation::Blend(predicate(cond)), out, &[a, b, y, x]),
            None => self.of_registers(Operation::Keep(predicate(cond)), out, &[a, b, y]),
        }
    }

    /// The lanes of `x` where a comparison does not hold, and nothing elsewhere.
    pub fn choose_lanes_not(&mut self, mask: Value, x: Value, out: Value) -> Result<(), Unsupported> {
        let (cond, [a, b]) = self.compared(mask).ok_or("a mask")?;
        self.take_comparison(mask);
        self.of_registers(Operation::Keep(predicate(cond.complement())), out, &[a, b, x])
    }

    /// The scalar of a lane.
    pub fn lane(&mut self, x: Value, lane: u8, out: Value) -> Result<(), Unsupported> {
        self.of_registers(Operation::Lane(lane), out, &[x])
    }

    /// A vector whose lanes have been inserted one by one.
    pub fn from_lanes(&mut self, out: Value) -> Result<(), Unsupported> {
        let mut lanes: Vec<Option<Value>> = vec![None; self.extension.lanes()];
        let mut value = out;
        loop {
            match self.definition(value) {
                Some(InstructionData::TernaryImm8 { opcode: Opcode::Insertlane, args: [rest, x], imm }) => {
                    let place = lanes.get_mut(usize::from(imm)).ok_or("a lane beyond the vector")?;
                    place.get_or_insert(x);
                    value = rest;
                }
                Some(InstructionData::Unary { opcode: Opcode::ScalarToVector, arg }) => {
                    lanes[0].get_or_insert(arg);
                    break;
                }
                _ => return Err("a vector that is changed in a lane".to_owned()),
            }
        }
        let lanes: Option<Vec<Value>> = lanes.into_iter().collect();
        let lanes = lanes.ok_or("a vector without some lanes")?;
        let constants: Option<Vec<u64>> = lanes.iter().map(|v| self.float_constant(*v)).collect();
        self.take_lanes(out);
        if let Some(bits) = constants {
            lanes.iter().for_each(|v| self.fold(*v));
            return self.lanes_number(out, bits);
        }
        let pairs = lanes.chunks(2).map(|x| self.pair(x[0], x[1])).collect::<Result<Vec<VReg>, _>>()?;
        self.joined(out, &pairs)
    }

    /// Pairs of lanes side by side: two or four.
    fn joined(&mut self, out: Value, pairs: &[VReg]) -> Result<(), Unsupported> {
        match *pairs {
            [x, y] => {
                let out = self.register(out)?;
                self.join(INSERT_PAIR, out, [x, y]);
            }
            [x, y, z, w] => {
                let halves = [[x, y], [z, w]].map(|pair| {
                    let half = self.fresh(RegClass::Float);
                    self.join(INSERT_PAIR, half, pair);
                    half
                });
                let out = self.register(out)?;
                self.join(INSERT_HALF, out, halves);
            }
            _ => return Err("a vector of other lanes".to_owned()),
        }
        Ok(())
    }

    /// Two scalars side by side. The second one is read from memory if only this instruction reads it.
    fn pair(&mut self, x: Value, second: Value) -> Result<VReg, Unsupported> {
        let out = self.fresh(RegClass::Float);
        let mut operands = vec![Operand::reg_def(out), Operand::reg_use(self.in_lane(x)?)];
        match self.definition(second) {
            Some(InstructionData::Load { opcode: Opcode::Load, arg, offset, .. }) if self.is_still_there(second) => {
                self.fold(second);
                let (address, registers) = self.address(arg, offset.into())?;
                operands.extend(registers.into_iter().map(Operand::reg_use));
                self.emit(Operation::LoadHigh(address), operands);
            }
            _ => {
                operands.push(Operand::reg_use(self.in_lane(second)?));
                self.emit(Operation::Vector(LOW_PAIR, None), operands);
            }
        }
        Ok(out)
    }

    /// The register of a scalar in a low lane.
    fn in_lane(&mut self, x: Value) -> Result<VReg, Unsupported> {
        let register = self.register(x)?;
        if register.class() == RegClass::Float {
            return Ok(register);
        }
        let lane = self.fresh(RegClass::Float);
        self.emit(Operation::IntToLane, vec![Operand::reg_def(lane), Operand::reg_use(register)]);
        Ok(lane)
    }

    /// Two parts of a vector side by side.
    fn join(&mut self, op: VectorOpcode, out: VReg, parts: [VReg; 2]) {
        let operands = vec![Operand::reg_def(out), Operand::reg_use(parts[0]), Operand::reg_use(parts[1])];
        self.emit(Operation::Vector(op, Some(1)), operands);
    }

    /// Takes the parts of a vector into its last instruction.
    fn take_lanes(&mut self, out: Value) {
        let mut v = out;
        while let Some(InstructionData::TernaryImm8 { args: [rest, _], .. }) = self.definition(v) {
            self.fold(rest);
            v = rest;
        }
    }
}

/// The operation on masks that one on Bools is.
fn of_bits(opcode: Opcode) -> Option<Bits> {
    match opcode {
        Opcode::Band => Some(Bits::And),
        Opcode::Bor => Some(Bits::Or),
        Opcode::Bxor => Some(Bits::Xor),
        _ => None,
    }
}
