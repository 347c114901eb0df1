//! Encodings of x86-64 instructions: general registers, and vectors with the scalars in their low lanes (Intel 64 Manual,
//! volume 2, 2.2, 2.3 and 2.7).

use super::extension::Extension;
use map::{M0F, M38};
use prefix::{P66, PF2};
use register::{RBP, RSP};

/// The size of a vector operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Width {
    /// One Float in the low lane.
    Scalar,
    /// All lanes.
    Vector,
}

/// The prefix, map and opcode of a vector instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct VectorOpcode {
    pub prefix: u8,
    pub map: u8,
    pub opcode: u8,
    /// The vector length: 0 for 128 bits and scalars, 1 for 256, 2 for all lanes.
    pub length: u8,
}

/// Mandatory prefixes.
pub(super) mod prefix {
    pub const P66: u8 = 1;
    pub const PF3: u8 = 2;
    pub const PF2: u8 = 3;
}

/// Opcode maps.
pub(super) mod map {
    pub const M0F: u8 = 1;
    pub const M38: u8 = 2;
    pub const M3A: u8 = 3;
}

impl VectorOpcode {
    pub const fn new(prefix: u8, map: u8, opcode: u8, length: u8) -> VectorOpcode {
        VectorOpcode { prefix, map, opcode, length }
    }

    /// An arithmetic instruction on all lanes, or on the low one.
    pub const fn arithmetic(opcode: u8, width: Width) -> VectorOpcode {
        match width {
            Width::Scalar => VectorOpcode::new(PF2, M0F, opcode, 0),
            Width::Vector => VectorOpcode::new(P66, M0F, opcode, 2),
        }
    }

    /// Whether an operand is a general register of 64 bits. Only then a short prefix says that elements have 64 bits.
    fn is_of_words(self) -> bool {
        self.map == M0F && matches!(self.opcode, 0x2a | 0x2c | 0x6e | 0x7e)
    }
}

/// The instruction that selection and encoding both name.
pub(super) const BROADCAST: VectorOpcode = VectorOpcode::new(P66, M38, 0x19, 2);

/// An address in memory.
#[derive(Clone, Copy, Debug)]
pub(super) enum MemoryAddress {
    /// Base register, index register with the logarithm of its factor, offset.
    At(u8, Option<(u8, u8)>, i32),
    /// A constant, by its position in the pool.
    Pool(usize),
}

/// A register or an address.
#[derive(Clone, Copy, Debug)]
pub(super) enum RegOrMem {
    Register(u8),
    Memory(MemoryAddress),
}

/// Registers that are not allocated.
pub(super) mod register {
    pub const RSP: u8 = 4;
    pub const RBP: u8 = 5;
    /// The general scratch register.
    pub const SCRATCH: u8 = 11;
    /// The mask register that is written and read within one operation.
    pub const MASK: u8 = 1;
    /// The bit beside a mask register by which lanes outside of the mask become 0.
    pub const ZEROING: u8 = 0x80;
}

/// Conditions of jumps, moves and flags, as the manual numbers them.
pub(super) mod condition {
    pub const NO_OVERFLOW: u8 = 1;
    pub const BELOW: u8 = 2;
    pub const EQUAL: u8 = 4;
    pub const NOT_EQUAL: u8 = 5;
    pub const PARITY: u8 = 10;
    pub const LESS: u8 = 12;
    pub const GREATER: u8 = 15;
}

/// Machine code that is being written, with the constants that it reads.
pub(super) struct MachineCode {
    pub extension: Extension,
    pub bytes: Vec<u8>,
    /// Constants of 8 bytes, or of a vector.
    pool: Vec<Vec<u8>>,
    /// The places of offsets to constants: position of the field, end of the instruction, constant.
    reads: Vec<(usize, usize, usize)>,
}

impl MachineCode {
    pub fn new(extension: Extension) -> MachineCode {
        MachineCode { extension, bytes: Vec::new(), pool: Vec::new(), reads: Vec::new() }
    }

    /// The position of a constant in the pool.
    pub fn constant(&mut self, bytes: Vec<u8>) -> usize {
        self.pool.iter().position(|p| *p == bytes).unwrap_or_else(|| {
            self.pool.push(bytes);
            self.pool.len() - 1
        })
    }

    /// Writes the constants behind the code, and the offsets to them.
    pub fn finish(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(64), 0xcc);
        let mut places = vec![0; self.pool.len()];
        for long in [true, false] {
            for (k, constant) in self.pool.iter().enumerate().filter(|(_, c)| (c.len() > 8) == long) {
                places[k] = self.bytes.len();
                self.bytes.extend_from_slice(constant);
            }
        }
        for (field, end, k) in std::mem::take(&mut self.reads) {
            let offset = places[k] as i32 - end as i32;
            self.bytes[field..field + 4].copy_from_slice(&offset.to_le_bytes());
        }
    }

    fn byte(&mut self, x: u8) {
        self.bytes.push(x);
    }

    fn int(&mut self, x: i32) {
        self.bytes.extend_from_slice(&x.to_le_bytes());
    }

    /// The bytes after the opcode. `unit`: what a short offset counts; `after`: the bytes of the instruction behind them.
    fn operands(&mut self, reg: u8, place: RegOrMem, unit: i32, after: usize) {
        let reg = (reg & 7) << 3;
        match place {
            RegOrMem::Register(r) => self.byte(0xc0 | reg | (r & 7)),
            RegOrMem::Memory(MemoryAddress::Pool(k)) => {
                self.byte(reg | 5);
                let field = self.bytes.len();
                self.int(0);
                self.reads.push((field, field + 4 + after, k));
            }
            RegOrMem::Memory(MemoryAddress::At(base, index, offset)) => {
                let short = offset % unit == 0 && i8::try_from(offset / unit).is_ok();
                let form = if offset == 0 && base & 7 != RBP {
                    0
                } else if short {
                    0x40
                } else {
                    0x80
                };
                match index {
                    Some((index, scale)) => {
                        self.byte(form | reg | 4);
                        self.byte(scale << 6 | (index & 7) << 3 | (base & 7));
                    }
                    None if base & 7 == RSP => {
                        self.byte(form | reg | 4);
                        self.byte(0x24);
                    }
                    None => self.byte(form | reg | (base & 7)),
                }
                match form {
                    0 => {}
                    0x40 => self.byte((offset / unit) as u8),
                    _ => self.int(offset),
                }
            }
        }
    }

    /// The numbers of the base, or of the register, and of the index.
    fn extensions(place: RegOrMem) -> (u8, u8) {
        match place {
            RegOrMem::Register(r) => (r, 0),
            RegOrMem::Memory(MemoryAddress::At(base, index, _)) => (base, index.map_or(0, |(i, _)| i)),
            RegOrMem::Memory(MemoryAddress::Pool(_)) => (0, 0),
        }
    }

    /// An instruction on general registers with one opcode byte, or two after 0x0f. `after`: the bytes of an immediate.
    pub fn general(&mut self, wide: bool, opcode: &[u8], reg: u8, place: RegOrMem, after: usize) {
        let (base, index) = MachineCode::extensions(place);
        // The prefix is always there, so that bytes of all registers are named in one way.
        self.byte(0x40 | u8::from(wide) << 3 | (reg >> 3) << 2 | (index >> 3) << 1 | base >> 3);
        self.bytes.extend_from_slice(opcode);
        self.operands(reg, place, 1, after);
    }

    /// An instruction with an immediate of 32 bits.
    pub fn general_int(&mut self, opcode: u8, reg: u8, place: RegOrMem, x: i32) {
        self.general(true, &[opcode], reg, place, 4);
        self.int(x);
    }

    /// An instruction with an immediate of 8 bits.
    pub fn general_byte(&mut self, opcode: u8, reg: u8, place: RegOrMem, x: u8) {
        self.general(true, &[opcode], reg, place, 1);
        self.byte(x);
    }

    /// Sets a register to a constant.
    pub fn set(&mut self, reg: u8, x: i64) {
        if let Ok(x) = u32::try_from(x) {
            self.byte(0x40 | reg >> 3);
            self.byte(0xb8 | (reg & 7));
            self.int(x as i32);
        } else if let Ok(x) = i32::try_from(x) {
            self.general_int(0xc7, 0, RegOrMem::Register(reg), x);
        } else {
            self.byte(0x48 | reg >> 3);
            self.byte(0xb8 | (reg & 7));
            self.bytes.extend_from_slice(&x.to_le_bytes());
        }
    }

    pub fn push(&mut self, reg: u8) {
        self.byte(0x40 | reg >> 3);
        self.byte(0x50 | (reg & 7));
    }

    pub fn pop(&mut self, reg: u8) {
        self.byte(0x40 | reg >> 3);
        self.byte(0x58 | (reg & 7));
    }

    pub fn ret(&mut self) {
        self.byte(0xc3);
    }

    /// A jump, conditional or not. Returns the position of the offset, which is to be written by [`MachineCode::jump_to`].
    pub fn jump(&mut self, condition: Option<u8>) -> usize {
        match condition {
            None => self.byte(0xe9),
            Some(c) => self.bytes.extend_from_slice(&[0x0f, 0x80 | c]),
        }
        self.int(0);
        self.bytes.len() - 4
    }

    /// Writes the offset of a jump.
    pub fn jump_to(&mut self, field: usize, target: usize) {
        let offset = target as i32 - (field as i32 + 4);
        self.bytes[field..field + 4].copy_from_slice(&offset.to_le_bytes());
    }

    /// Clears the high parts of vector registers, so that code of 128 bits does not wait for them.
    pub fn clear_high_parts(&mut self) {
        self.bytes.extend_from_slice(&[0xc5, 0xf8, 0x77]);
    }

    /// Moves a mask register to a general register, or back.
    pub fn mask(&mut self, opcode: u8, reg: u8, rm: u8) {
        self.byte(0xc4);
        self.byte((!reg >> 3 & 1) << 7 | 1 << 6 | (!rm >> 3 & 1) << 5 | M0F);
        self.byte(0x78);
        self.byte(opcode);
        self.operands(reg, RegOrMem::Register(rm), 1, 0);
    }

    /// A vector instruction on elements of 64 bits, perhaps with an immediate.
    pub fn vector(&mut self, op: VectorOpcode, operands: (u8, u8, RegOrMem), immediate: Option<u8>) {
        match self.extension {
            Extension::Avx512 => self.evex(op, operands, (0, false), immediate),
            Extension::Avx2 => self.vex(op, operands, immediate),
        }
    }

    /// An instruction with the long prefix of vectors. `mask`: the mask register, 0 for none; `broadcast`: whether the
    /// operand in memory is one element, for all lanes.
    pub fn evex(
        &mut self,
        op: VectorOpcode,
        (reg, second, place): (u8, u8, RegOrMem),
        (mask, broadcast): (u8, bool),
        immediate: Option<u8>,
    ) {
        let (base, index) = MachineCode::extensions(place);
        // The high bit of a register operand stands in the place of an index.
        let high = if let RegOrMem::Register(r) = place { r >> 4 } else { index >> 3 };
        let not = |bit: u8| !bit & 1;
        self.byte(0x62);
        self.byte(not(reg >> 3) << 7 | not(high) << 6 | not(base >> 3) << 5 | not(reg >> 4) << 4 | op.map);
        self.byte(1 << 7 | (!second & 15) << 3 | 1 << 2 | op.prefix);
        self.byte(op.length << 5 | u8::from(broadcast) << 4 | not(second >> 4) << 3 | mask);
        self.byte(op.opcode);
        let unit = match op.length {
            _ if broadcast => 8,
            0 => 8,
            // A broadcast instruction reads one element.
            2 if op.map == M38 => 8,
            length => 16 << length,
        };
        self.operands(reg, place, unit, usize::from(immediate.is_some()));
        if let Some(x) = immediate {
            self.byte(x);
        }
    }

    /// An instruction with the short prefix of vectors, which has two or three bytes.
    fn vex(&mut self, op: VectorOpcode, (reg, second, place): (u8, u8, RegOrMem), immediate: Option<u8>) {
        let (base, index) = MachineCode::extensions(place);
        let not = |bit: u8| !bit & 1;
        let last = (!second & 15) << 3 | u8::from(op.length > 0) << 2 | op.prefix;
        let wide = u8::from(op.is_of_words());
        if op.map == M0F && base >> 3 == 0 && index >> 3 == 0 && wide == 0 {
            self.bytes.extend_from_slice(&[0xc5, not(reg >> 3) << 7 | last]);
        } else {
            let high = not(reg >> 3) << 7 | not(index >> 3) << 6 | not(base >> 3) << 5;
            self.bytes.extend_from_slice(&[0xc4, high | op.map, wide << 7 | last]);
        }
        self.byte(op.opcode);
        self.operands(reg, place, 1, usize::from(immediate.is_some()));
        if let Some(x) = immediate {
            self.byte(x);
        }
    }
}
