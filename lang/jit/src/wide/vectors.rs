//! Machine code of operations on vector registers. Masks are what differs: AVX-512 has registers for them, in AVX2 they
//! are vectors.

use super::emit::{Emitter, LOAD_SCALAR, MOVE};
use super::encode::map::{M0F, M3A, M38};
use super::encode::prefix::{P66, PF2, PF3};
use super::encode::register::{MASK, SCRATCH, ZEROING};
use super::encode::{MemoryAddress, RegOrMem, VectorOpcode, Width, condition};
use super::extension::{Bits, Extension};
use super::inst::{Instruction, Operation};
use regalloc2::RegClass;

const FROM_INT: VectorOpcode = VectorOpcode::new(PF2, M0F, 0x2a, 0);
const TO_INT: VectorOpcode = VectorOpcode::new(PF2, M0F, 0x2c, 0);
const ORDER: VectorOpcode = VectorOpcode::new(P66, M0F, 0x2e, 0);
const INT_TO_LANE: VectorOpcode = VectorOpcode::new(P66, M0F, 0x6e, 0);
const LANE_TO_INT: VectorOpcode = VectorOpcode::new(P66, M0F, 0x7e, 0);
const LOAD_HIGH: VectorOpcode = VectorOpcode::new(P66, M0F, 0x16, 0);
const HIGH_PAIR: VectorOpcode = VectorOpcode::new(P66, M0F, 0x15, 0);
const EXTRACT_PAIR: VectorOpcode = VectorOpcode::new(P66, M3A, 0x19, 2);

/// Instructions of AVX-512 only.
const BROADCAST_INT: VectorOpcode = VectorOpcode::new(P66, M38, 0x7c, 2);
const TERNARY: VectorOpcode = VectorOpcode::new(P66, M3A, 0x25, 2);
const MASK_TO_LANES: VectorOpcode = VectorOpcode::new(PF3, M38, 0x38, 2);
const BLEND: VectorOpcode = VectorOpcode::new(P66, M38, 0x65, 2);

/// Instructions of AVX2: an Int of the low lane to all lanes, and lanes by the highest bits of a fourth vector.
const BROADCAST_LANE: VectorOpcode = VectorOpcode::new(P66, M38, 0x59, 2);
const CHOOSE_LANES: VectorOpcode = VectorOpcode::new(P66, M3A, 0x4b, 2);
const CHOOSE_SCALAR: VectorOpcode = VectorOpcode::new(P66, M3A, 0x4b, 0);

impl Emitter<'_> {
    /// Operations of vector registers.
    pub fn vector(&mut self, instruction: &Instruction, regs: &[u8]) {
        let out = regs[0];
        let arg = |k: usize| RegOrMem::Register(regs[k]);
        match &instruction.op {
            Operation::Vector(op, immediate) => self.three(*op, out, regs[1], regs[2], *immediate),
            Operation::VectorConstant(op, bits) => self.with_constant(*op, out, regs[1], *bits),
            Operation::VectorOne(op, immediate) => {
                // Scalar instructions take the high part from an operand of its own.
                let second = if op.length == 0 { regs[1] } else { 0 };
                self.code.vector(*op, (out, second, arg(1)), *immediate);
            }
            Operation::ToInt => self.to_int(out, regs[1]),
            Operation::FromInt => {
                // The high part comes from another register, whose last writer is waited for.
                self.clear(out);
                self.code.vector(FROM_INT, (out, out, arg(1)), None);
            }
            Operation::IntToLane => self.two(INT_TO_LANE, out, regs[1]),
            Operation::LaneToInt => self.two(LANE_TO_INT, regs[1], out),
            Operation::LoadHigh(address) => {
                let place = Self::memory(*address, &regs[2..]);
                self.code.vector(LOAD_HIGH, (out, regs[1], place), None);
            }
            Operation::Lane(lane) => self.lane(*lane, out, regs[1], instruction.operands[0].class()),
            _ => match self.extension() {
                Extension::Avx512 => self.with_mask_register(&instruction.op, regs),
                Extension::Avx2 => self.with_mask_vector(&instruction.op, regs),
            },
        }
    }

    /// An instruction whose second operand is a constant in all lanes.
    fn with_constant(&mut self, op: VectorOpcode, out: u8, x: u8, bits: u64) {
        let read = match self.extension() {
            Extension::Avx512 => 1,
            Extension::Avx2 => self.extension().lanes(),
        };
        let constant = self.code.constant(bits.to_le_bytes().repeat(read));
        let operands = (out, x, RegOrMem::Memory(MemoryAddress::Pool(constant)));
        match self.extension() {
            Extension::Avx512 => self.code.evex(op, operands, (0, true), None),
            Extension::Avx2 => self.code.vector(op, operands, None),
        }
    }

    /// Operations that AVX-512 has instructions for, most of them with a mask register.
    fn with_mask_register(&mut self, op: &Operation, regs: &[u8]) {
        let out = regs[0];
        let arg = |k: usize| RegOrMem::Register(regs[k]);
        match op {
            Operation::FloatCompare(predicate, width) => {
                self.compare_to(MASK, *width, *predicate, [regs[1], regs[2]]);
                match width {
                    Width::Vector => self.two(MASK_TO_LANES, out, MASK),
                    Width::Scalar => self.code.mask(0x93, out, MASK),
                }
            }
            Operation::Bitselect => {
                // Of three bits, the second where the first is set, else the third.
                self.three(TERNARY, out, regs[2], regs[3], Some(0xca));
            }
            Operation::ChooseNumber => {
                self.code.mask(0x92, MASK, regs[1]);
                self.code.evex(LOAD_SCALAR, (out, out, arg(2)), (MASK, false), None);
            }
            Operation::BroadcastInt => self.two(BROADCAST_INT, out, regs[1]),
            Operation::Blend(predicate) => {
                self.compare_to(MASK, Width::Vector, *predicate, [regs[1], regs[2]]);
                self.code.evex(BLEND, (out, regs[3], arg(4)), (MASK, false), None);
            }
            Operation::Keep(predicate) => {
                self.compare_to(MASK, Width::Vector, *predicate, [regs[1], regs[2]]);
                self.code.evex(MOVE, (out, 0, arg(3)), (ZEROING | MASK, false), None);
            }
            _ => {}
        }
    }

    /// The same operations in AVX2, with a vector as mask.
    fn with_mask_vector(&mut self, op: &Operation, regs: &[u8]) {
        let (out, mask) = (regs[0], self.extension().scratch());
        let bits = |op| Extension::Avx2.bits(op);
        match op {
            Operation::FloatCompare(predicate, Width::Vector) => {
                self.compare_to(out, Width::Vector, *predicate, [regs[1], regs[2]]);
            }
            Operation::FloatCompare(predicate, Width::Scalar) => {
                self.compare_to(mask, Width::Scalar, *predicate, [regs[1], regs[2]]);
                self.two(LANE_TO_INT, mask, out);
                self.code.general_byte(0x83, 4, RegOrMem::Register(out), 1);
            }
            Operation::Bitselect => {
                self.three(bits(Bits::And), mask, regs[1], regs[2], None);
                self.three(bits(Bits::AndNot), out, regs[1], regs[3], None);
                self.three(bits(Bits::Or), out, out, mask, None);
            }
            Operation::ChooseNumber => {
                // The Bool becomes the highest bit.
                self.code.general(true, &[0x8b], SCRATCH, RegOrMem::Register(regs[1]), 0);
                self.code.general_byte(0xc1, 4, RegOrMem::Register(SCRATCH), 63);
                self.two(INT_TO_LANE, mask, SCRATCH);
                self.three(CHOOSE_SCALAR, out, out, regs[2], Some(mask << 4));
            }
            Operation::BroadcastInt => {
                self.two(INT_TO_LANE, out, regs[1]);
                self.two(BROADCAST_LANE, out, out);
            }
            Operation::ChooseLanes(width) => {
                let op = if *width == Width::Vector { CHOOSE_LANES } else { CHOOSE_SCALAR };
                self.three(op, out, regs[3], regs[2], Some(regs[1] << 4));
            }
            Operation::Blend(predicate) => {
                self.compare_to(mask, Width::Vector, *predicate, [regs[1], regs[2]]);
                self.three(CHOOSE_LANES, out, regs[3], regs[4], Some(mask << 4));
            }
            Operation::Keep(predicate) => {
                self.compare_to(mask, Width::Vector, *predicate, [regs[1], regs[2]]);
                self.three(bits(Bits::And), out, mask, regs[3], None);
            }
            _ => {}
        }
    }

    /// A comparison to a mask: a mask register, or the lanes of a vector.
    fn compare_to(&mut self, mask: u8, width: Width, predicate: u8, [x, y]: [u8; 2]) {
        self.three(VectorOpcode::arithmetic(0xc2, width), mask, x, y, Some(predicate));
    }

    /// The nearest Int towards 0, the largest or smallest one, or 0 for NaN.
    fn to_int(&mut self, out: u8, x: u8) {
        self.code.vector(TO_INT, (out, 0, RegOrMem::Register(x)), None);
        // Only the smallest Int minus 1 overflows: the result for all numbers beyond the range.
        self.code.general_byte(0x83, 7, RegOrMem::Register(out), 1);
        let usual = self.code.jump(Some(condition::NO_OVERFLOW));
        let zero = RegOrMem::Memory(MemoryAddress::Pool(self.code.constant(vec![0; 8])));
        self.code.vector(ORDER, (x, 0, zero), None);
        let nan = self.code.jump(Some(condition::PARITY));
        let negative = self.code.jump(Some(condition::BELOW));
        self.code.set(out, i64::MAX);
        let large = self.code.jump(None);
        self.code.jump_to(nan, self.code.bytes.len());
        self.code.set(out, 0);
        for field in [usual, negative, large] {
            self.code.jump_to(field, self.code.bytes.len());
        }
    }

    /// The scalar of a lane.
    fn lane(&mut self, lane: u8, out: u8, x: u8, class: RegClass) {
        let to = if class == RegClass::Int { self.extension().scratch() } else { out };
        let mut pair = x;
        if lane >= 2 {
            self.code.vector(EXTRACT_PAIR, (x, 0, RegOrMem::Register(to)), Some(lane / 2));
            pair = to;
        }
        if lane % 2 == 1 {
            self.three(HIGH_PAIR, to, pair, pair, None);
            pair = to;
        }
        if class == RegClass::Int {
            self.two(LANE_TO_INT, pair, out);
        } else if pair != out {
            self.two(MOVE, out, pair);
        }
    }
}
