//! Instruction selection for each CLIF instruction; [`super::lanes`] has those on masks and single lanes. Bools are general registers that are 0 or 1; in vectors they are
//! lanes without or with all bits.

use super::encode::map::M3A;
use super::encode::prefix::P66;
use super::encode::{BROADCAST, VectorOpcode, Width, condition};
use super::extension::{Bits, Extension};
use super::inst::{AccessType, Address, Alu, Base, Operation};
use super::select::{Selector, Unsupported, int_condition};
use cranelift_codegen::ir::condcodes::FloatCC;
use cranelift_codegen::ir::{self, InstructionData, Opcode, Type, Value, types};
use regalloc2::{Operand, VReg};

/// How many operations on masks are followed to see that something is a mask.
const MASKS: u32 = 6;

/// Rounding modes, without exceptions (4.3, table 4-18).
mod rounding {
    pub const NEAREST: u8 = 8;
    pub const FLOOR: u8 = 9;
    pub const CEIL: u8 = 10;
    pub const TRUNC: u8 = 11;
}

fn width(ty: Type) -> Width {
    if ty.is_vector() { Width::Vector } else { Width::Scalar }
}

/// The predicate of a comparison (3.2, table 3-8).
pub(super) fn predicate(c: FloatCC) -> u8 {
    match c {
        FloatCC::Equal => 0,
        FloatCC::NotEqual => 4,
        FloatCC::LessThan => 0x11,
        FloatCC::LessThanOrEqual => 0x12,
        FloatCC::GreaterThan => 0x1e,
        FloatCC::GreaterThanOrEqual => 0x1d,
        FloatCC::Ordered => 7,
        FloatCC::Unordered => 3,
        FloatCC::OrderedNotEqual => 0x0c,
        FloatCC::UnorderedOrEqual => 8,
        FloatCC::UnorderedOrLessThan => 0x19,
        FloatCC::UnorderedOrLessThanOrEqual => 0x1a,
        FloatCC::UnorderedOrGreaterThan => 0x16,
        FloatCC::UnorderedOrGreaterThanOrEqual => 0x15,
    }
}

impl Selector<'_> {
    /// Selects the instructions for one of CLIF.
    pub fn lower(&mut self, inst: ir::Inst) -> Result<(), Unsupported> {
        let data = self.f.dfg.insts[inst];
        match data {
            InstructionData::Jump { .. } => self.emit(Operation::Jump, Vec::new()),
            InstructionData::Brif { arg, .. } => self.branch(arg)?,
            InstructionData::MultiAry { opcode: Opcode::Return, .. } if self.f.dfg.inst_args(inst).is_empty() => {
                self.emit(Operation::Return, Vec::new());
            }
            InstructionData::CallIndirect { .. } => {
                let args = self.f.dfg.inst_args(inst).to_vec();
                let (callee, args) = args.split_first().ok_or("a call of nothing")?;
                self.call(inst, *callee, args)?;
            }
            InstructionData::Store { opcode, args: [x, at], offset, .. } => self.store(opcode, x, at, offset.into())?,
            _ => {
                let &[out] = self.f.dfg.inst_results(inst) else { return Err(unsupported(data.opcode())) };
                self.value(data, out)?;
            }
        }
        Ok(())
    }

    /// Selects the instructions for a value.
    fn value(&mut self, data: InstructionData, out: Value) -> Result<(), Unsupported> {
        match data {
            InstructionData::UnaryImm { imm, .. } => {
                let byte = self.type_of(out) == types::I8;
                let n = if byte { imm.bits() & 0xff } else { imm.bits() };
                let out = self.register(out)?;
                self.emit(Operation::Int(n), vec![Operand::reg_def(out)]);
            }
            InstructionData::UnaryIeee64 { imm, .. } => self.number(out, vec![imm.bits()], Width::Scalar)?,
            InstructionData::UnaryConst { constant_handle, .. } => {
                let bytes = self.f.dfg.constants.get(constant_handle).as_slice().to_vec();
                let lanes: Vec<u64> =
                    bytes.chunks_exact(8).map(|c| c.iter().rev().fold(0, |n, b| n << 8 | u64::from(*b))).collect();
                self.lanes_number(out, lanes)?;
            }
            InstructionData::StackAddr { .. } => {
                let offset = self.in_frame_at(out).ok_or("a slot")?;
                let out = self.register(out)?;
                let address = Address { base: Base::Frame, scale: None, offset };
                self.emit(Operation::Lea(address), vec![Operand::reg_def(out)]);
            }
            InstructionData::Load { opcode, arg, offset, .. } => self.load(opcode, arg, offset.into(), out)?,
            InstructionData::Unary { opcode, arg } => self.unary(opcode, arg, out)?,
            InstructionData::LoadNoOffset { opcode: Opcode::Bitcast, arg, .. } => {
                let op = match (self.type_of(arg), self.type_of(out)) {
                    (types::I64, types::F64) => Operation::IntToLane,
                    (types::F64, types::I64) => Operation::LaneToInt,
                    _ => Operation::Move,
                };
                self.of_registers(op, out, &[arg])?;
            }
            InstructionData::Binary { opcode, args, .. } => self.binary(opcode, args, out)?,
            InstructionData::Ternary { opcode, args } => self.ternary(opcode, args, out)?,
            InstructionData::IntCompare { cond, args: [x, y], .. } => {
                let signed = !matches!(int_condition(cond), 2..=7);
                if self.type_of(x) != types::I64 && signed {
                    return Err("a comparison of signed bytes".to_owned());
                }
                let immediate = self.immediate(y);
                let mut operands = vec![Operand::reg_def(self.register(out)?), Operand::reg_use(self.register(x)?)];
                if immediate.is_none() {
                    operands.push(Operand::reg_use(self.register(y)?));
                }
                self.emit(Operation::Compare(int_condition(cond), immediate), operands);
            }
            InstructionData::FloatCompare { cond, args: [x, y], .. } => {
                let op = Operation::FloatCompare(predicate(cond), width(self.type_of(x)));
                self.of_registers(op, out, &[x, y])?;
            }
            InstructionData::BinaryImm8 { opcode: Opcode::Extractlane, arg, imm } => self.lane(arg, imm, out)?,
            InstructionData::TernaryImm8 { opcode: Opcode::Insertlane, .. } => self.from_lanes(out)?,
            _ => return Err(unsupported(data.opcode())),
        }
        Ok(())
    }

    /// Emits an operation whose operands are all in registers.
    pub fn of_registers(&mut self, op: Operation, out: Value, args: &[Value]) -> Result<(), Unsupported> {
        let mut operands = vec![Operand::reg_def(self.register(out)?)];
        for v in args {
            operands.push(Operand::reg_use(self.register(*v)?));
        }
        self.emit(op, operands);
        Ok(())
    }

    /// Emits an operation that overwrites one of its operands, by position among the arguments.
    fn overwriting(&mut self, op: Operation, out: Value, args: &[Value], which: usize) -> Result<(), Unsupported> {
        let mut operands = vec![Operand::reg_reuse_def(self.register(out)?, 1 + which)];
        for v in args {
            operands.push(Operand::reg_use(self.register(*v)?));
        }
        self.emit(op, operands);
        Ok(())
    }

    fn number(&mut self, out: Value, bits: Vec<u64>, width: Width) -> Result<(), Unsupported> {
        let out = self.register(out)?;
        self.emit(Operation::Number(bits, width), vec![Operand::reg_def(out)]);
        Ok(())
    }

    /// A constant vector.
    pub fn lanes_number(&mut self, out: Value, lanes: Vec<u64>) -> Result<(), Unsupported> {
        let first = *lanes.first().ok_or("an empty constant")?;
        let lanes = if lanes.iter().all(|x| *x == first) { vec![first] } else { lanes };
        self.number(out, lanes, Width::Vector)
    }

    fn store(&mut self, opcode: Opcode, x: Value, at: Value, offset: i32) -> Result<(), Unsupported> {
        let cell = match (opcode, self.type_of(x)) {
            (Opcode::Store, types::I8) => AccessType::Byte,
            (Opcode::Store, types::I64) => AccessType::Int,
            (Opcode::Store, ty) => AccessType::Number(width(ty)),
            _ => return Err(unsupported(opcode)),
        };
        let (address, registers) = self.address(at, offset)?;
        let mut operands = vec![Operand::reg_use(self.register(x)?)];
        operands.extend(registers.into_iter().map(Operand::reg_use));
        self.emit(Operation::Store(cell, address), operands);
        Ok(())
    }

    fn load(&mut self, opcode: Opcode, at: Value, offset: i32, out: Value) -> Result<(), Unsupported> {
        let to_all = self.broadcast.get(&out).copied();
        let cell = match (opcode, self.type_of(out)) {
            (Opcode::Load, _) if to_all.is_some() => AccessType::Broadcast,
            (Opcode::Load, types::I8) => AccessType::Byte,
            (Opcode::Load, types::I64) => AccessType::Int,
            (Opcode::Load, ty) => AccessType::Number(width(ty)),
            _ => return Err(unsupported(opcode)),
        };
        let (address, registers) = self.address(at, offset)?;
        let out: VReg = if let Some(r) = to_all { r } else { self.register(out)? };
        let mut operands = vec![Operand::reg_def(out)];
        operands.extend(registers.into_iter().map(Operand::reg_use));
        self.emit(Operation::Load(cell, address), operands);
        Ok(())
    }

    fn unary(&mut self, opcode: Opcode, operand: Value, out: Value) -> Result<(), Unsupported> {
        let (from, to) = (self.type_of(operand), self.type_of(out));
        let round = |mode| match width(to) {
            Width::Scalar => Operation::VectorOne(VectorOpcode::new(P66, M3A, 0x0b, 0), Some(mode)),
            Width::Vector => Operation::VectorOne(VectorOpcode::new(P66, M3A, 0x09, 2), Some(mode)),
        };
        let bits = |op| self.extension.bits(op);
        let op = match opcode {
            Opcode::Splat => return self.splat(operand, out),
            Opcode::Fneg => Operation::VectorConstant(bits(Bits::Xor), 1 << 63),
            Opcode::Fabs => Operation::VectorConstant(bits(Bits::And), !(1 << 63)),
            Opcode::Sqrt => Operation::VectorOne(VectorOpcode::arithmetic(0x51, width(to)), None),
            Opcode::Nearest => round(rounding::NEAREST),
            Opcode::Floor => round(rounding::FLOOR),
            Opcode::Ceil => round(rounding::CEIL),
            Opcode::Trunc => round(rounding::TRUNC),
            Opcode::Bnot if to.is_vector() => Operation::VectorConstant(bits(Bits::Xor), u64::MAX),
            Opcode::Bnot if to == types::I8 => {
                return self.overwriting(Operation::AluInt(Alu::Xor, 255), out, &[operand], 0);
            }
            Opcode::Bnot => return self.overwriting(Operation::Unary(2), out, &[operand], 0),
            Opcode::Ineg if to == types::I64 => return self.overwriting(Operation::Unary(3), out, &[operand], 0),
            Opcode::Uextend => Operation::Move,
            Opcode::Ireduce if to == types::I8 => Operation::ZeroExtend(AccessType::Byte),
            Opcode::FcvtFromSint if (from, to) == (types::I64, types::F64) => Operation::FromInt,
            Opcode::FcvtToSintSat if (from, to) == (types::F64, types::I64) => Operation::ToInt,
            _ => return Err(unsupported(opcode)),
        };
        self.of_registers(op, out, &[operand])
    }

    /// A scalar in all lanes.
    fn splat(&mut self, scalar: Value, out: Value) -> Result<(), Unsupported> {
        if let Some(bits) = self.float_constant(scalar) {
            self.fold(scalar);
            return self.number(out, vec![bits], Width::Vector);
        }
        if self.type_of(scalar) == types::I64 {
            return self.of_registers(Operation::BroadcastInt, out, &[scalar]);
        }
        if self.loads_once(scalar) {
            let out = self.register(out)?;
            self.broadcast.insert(scalar, out);
            return Ok(());
        }
        self.of_registers(Operation::VectorOne(BROADCAST, None), out, &[scalar])
    }

    /// Whether a value is loaded for the current instruction only.
    fn loads_once(&self, x: Value) -> bool {
        matches!(self.definition(x), Some(InstructionData::Load { .. })) && self.is_only_use(x)
    }

    fn binary(&mut self, opcode: Opcode, [left, right]: [Value; 2], out: Value) -> Result<(), Unsupported> {
        let ty = self.type_of(out);
        let float = |code| Operation::Vector(VectorOpcode::arithmetic(code, width(ty)), None);
        let op = match opcode {
            Opcode::Fadd => float(0x58),
            Opcode::Fmul => float(0x59),
            Opcode::Fsub => float(0x5c),
            Opcode::Fdiv => float(0x5e),
            Opcode::Band if ty.is_vector() && self.compared(right).is_some() => {
                return self.choose_lanes(right, None, left, out);
            }
            Opcode::Band if ty.is_vector() => {
                // The complement of an instruction is that of its first operand.
                return match self.complemented(right) {
                    Some(z) if self.compared(z).is_some() => self.choose_lanes_not(z, left, out),
                    Some(z) => {
                        self.of_registers(Operation::Vector(self.extension.bits(Bits::AndNot), None), out, &[z, left])
                    }
                    None => {
                        self.of_registers(Operation::Vector(self.extension.bits(Bits::And), None), out, &[left, right])
                    }
                };
            }
            Opcode::Bor if ty.is_vector() => Operation::Vector(self.extension.bits(Bits::Or), None),
            Opcode::Bxor if ty.is_vector() => Operation::Vector(self.extension.bits(Bits::Xor), None),
            _ if ty.is_vector() || ty.is_float() => return Err(unsupported(opcode)),
            Opcode::Iadd if ty == types::I64 => return self.sum(left, right, out),
            Opcode::Ishl | Opcode::Sshr | Opcode::Ushr if ty == types::I64 => {
                return self.shift(opcode, left, right, out);
            }
            Opcode::Imul if ty == types::I64 => {
                if let Some(n) = self.immediate(right) {
                    return self.of_registers(Operation::MulInt(n), out, &[left]);
                }
                return self.overwriting(Operation::Alu(Alu::Mul), out, &[left, right], 0);
            }
            Opcode::Smin => return self.overwriting(Operation::Extreme(condition::GREATER), out, &[left, right], 0),
            Opcode::Smax => return self.overwriting(Operation::Extreme(condition::LESS), out, &[left, right], 0),
            Opcode::Isub if ty == types::I64 => return self.alu(Alu::Sub, left, right, out),
            Opcode::Band => return self.alu(Alu::And, left, right, out),
            Opcode::Bor => return self.alu(Alu::Or, left, right, out),
            Opcode::Bxor => return self.alu(Alu::Xor, left, right, out),
            _ => return Err(unsupported(opcode)),
        };
        self.of_registers(op, out, &[left, right])
    }

    /// Takes the complement of a value into the current instruction, its only user.
    fn complemented(&mut self, v: Value) -> Option<Value> {
        match self.definition(v)? {
            InstructionData::Unary { opcode: Opcode::Bnot, arg } if self.is_only_use(v) => {
                self.fold(v);
                Some(arg)
            }
            _ => None,
        }
    }

    /// An operation on Ints, perhaps with an immediate.
    fn alu(&mut self, op: Alu, x: Value, y: Value, out: Value) -> Result<(), Unsupported> {
        match self.immediate(y) {
            Some(n) => self.overwriting(Operation::AluInt(op, n), out, &[x], 0),
            None => self.overwriting(Operation::Alu(op), out, &[x, y], 0),
        }
    }

    /// A sum, which keeps its operands.
    fn sum(&mut self, left: Value, y: Value, out: Value) -> Result<(), Unsupported> {
        let (base_value, y) =
            if self.int_constant(left).is_some() || self.scaled(left).is_some() { (y, left) } else { (left, y) };
        if let Some(offset) = self.immediate(y) {
            let address = Address { base: Base::Register, scale: None, offset };
            return self.of_registers(Operation::Lea(address), out, &[base_value]);
        }
        let (mut index, mut scale) = (y, 0);
        if let Some((z, n)) = self.scaled(y) {
            self.fold_shift(y);
            (index, scale) = (z, n);
        }
        let address = Address { base: Base::Register, scale: Some(scale), offset: 0 };
        self.of_registers(Operation::Lea(address), out, &[base_value, index])
    }

    fn shift(&mut self, opcode: Opcode, x: Value, y: Value, out: Value) -> Result<(), Unsupported> {
        let number = match opcode {
            Opcode::Ishl => 4,
            Opcode::Ushr => 5,
            _ => 7,
        };
        let distance = self.immediate(y).ok_or("a shift by a variable")?;
        self.overwriting(Operation::Shift(number, (distance & 63) as u8), out, &[x], 0)
    }

    fn ternary(&mut self, opcode: Opcode, args: [Value; 3], out: Value) -> Result<(), Unsupported> {
        // AVX-512 has one instruction for bits, and one that selects scalars by a Bool.
        let short = self.extension == Extension::Avx2;
        match (opcode, self.type_of(out)) {
            (Opcode::Bitselect, ty) if ty.is_vector() && self.compared(args[0]).is_some() => {
                self.choose_lanes(args[0], Some(args[1]), args[2], out)
            }
            (Opcode::Bitselect, ty) if ty.is_vector() && short && self.is_mask(args[0], MASKS) => {
                self.of_registers(Operation::ChooseLanes(Width::Vector), out, &args)
            }
            (Opcode::Select, types::F64) if short && self.is_scalar_mask(args[0], MASKS) => {
                self.choose_scalar(args, out)
            }
            (Opcode::Bitselect, ty) if ty.is_vector() => self.overwriting(Operation::Bitselect, out, &args, 0),
            (Opcode::Select, types::F64) => self.overwriting(Operation::ChooseNumber, out, &args, 2),
            (Opcode::Select, types::I64 | types::I8) => self.overwriting(Operation::Choose, out, &args, 2),
            _ => Err(unsupported(opcode)),
        }
    }
}

fn unsupported(opcode: Opcode) -> Unsupported {
    format!("the instruction {opcode}")
}
