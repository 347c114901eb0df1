//! Machine code of a function whose registers are allocated.
//!
//! The frame: saved registers below the frame pointer, then spilled registers, and at the stack pointer the slots. Scratch
//! registers are r11, the last vector register and mask register 1.

use super::encode::map::M0F;
use super::encode::prefix::{P66, PF2};
use super::encode::register::{RBP, RSP, SCRATCH};
use super::encode::{BROADCAST, MachineCode, MemoryAddress, RegOrMem, VectorOpcode, Width, condition};
use super::extension::{Bits, Extension};
use super::inst::{AccessType, Address, Alu, Base, Instruction, MachineFunction, Operation};
use regalloc2::{Allocation, Block, Edit, InstOrEdit, Output, RegClass};

/// Registers that a function keeps for its caller.
const KEPT: [u8; 5] = [3, 12, 13, 14, 15];

/// Instructions that move vectors and scalars.
pub(super) const MOVE: VectorOpcode = VectorOpcode::new(P66, M0F, 0x28, 2);
const LOAD: VectorOpcode = VectorOpcode::new(P66, M0F, 0x10, 2);
const STORE: VectorOpcode = VectorOpcode::new(P66, M0F, 0x11, 2);
pub(super) const LOAD_SCALAR: VectorOpcode = VectorOpcode::new(PF2, M0F, 0x10, 0);
const STORE_SCALAR: VectorOpcode = VectorOpcode::new(PF2, M0F, 0x11, 0);

/// Writes the machine code of a function.
pub(super) fn emit(function: &MachineFunction, allocated: &Output) -> Vec<u8> {
    let mut used = [false; 16];
    for a in allocated.allocs.iter().chain(allocated.edits.iter().flat_map(|(_, Edit::Move { from, to })| [from, to])) {
        if let Some(r) = a.as_reg().filter(|r| r.class() == RegClass::Int) {
            used[r.hw_enc()] = true;
        }
    }
    let kept: Vec<u8> = KEPT.into_iter().filter(|r| used[usize::from(*r)]).collect();
    let spilled = (8 * allocated.num_spillslots).next_multiple_of(64);
    let emitter = Emitter {
        f: function,
        allocated,
        code: MachineCode::new(function.extension),
        starts: vec![0; function.blocks.len()],
        jumps: Vec::new(),
        kept,
        spills: function.frame as i32,
        frame: (function.frame + spilled) as i32,
    };
    emitter.all()
}

pub(super) struct Emitter<'f> {
    f: &'f MachineFunction,
    allocated: &'f Output,
    pub code: MachineCode,
    starts: Vec<usize>,
    /// The offsets of jumps, and their targets.
    jumps: Vec<(usize, usize)>,
    /// The registers that are saved.
    kept: Vec<u8>,
    /// The offset of spilled registers from the stack pointer, and the size of the frame.
    spills: i32,
    frame: i32,
}

fn number(a: Allocation) -> u8 {
    a.as_reg().map_or(0, |r| r.hw_enc() as u8)
}

impl Emitter<'_> {
    pub fn extension(&self) -> Extension {
        self.f.extension
    }

    fn all(mut self) -> Vec<u8> {
        self.enter();
        let mut order: Vec<usize> = (0..self.f.blocks.len()).filter(|b| self.passed(*b).is_none()).collect();
        order.sort_by_key(|b| self.f.blocks[*b].is_taken);
        for (k, block) in order.iter().enumerate() {
            self.starts[*block] = self.code.bytes.len();
            let next = order.get(k + 1).copied();
            for x in self.allocated.block_insts_and_edits(self.f, Block::new(*block)).collect::<Vec<_>>() {
                match x {
                    InstOrEdit::Edit(Edit::Move { from, to }) => self.shuffle(*from, *to),
                    InstOrEdit::Inst(i) => {
                        let allocs = self.allocated.inst_allocs(i).to_vec();
                        let regs: Vec<u8> = allocs.into_iter().map(number).collect();
                        let instruction = &self.f.instructions[i.index()];
                        self.instruction(instruction, &regs, *block, next);
                    }
                }
            }
        }
        for (field, target) in std::mem::take(&mut self.jumps) {
            let to = self.passed(target).unwrap_or(target);
            self.code.jump_to(field, self.starts[to]);
        }
        self.code.finish();
        self.code.bytes
    }

    /// Where a block that does nothing but jump leads to in the end.
    fn passed(&self, block: usize) -> Option<usize> {
        let mut end = None;
        // A loop of such blocks would have no end.
        for _ in 0..self.f.blocks.len() {
            match self.only_jumps(end.unwrap_or(block)) {
                Some(to) => end = Some(to),
                None => return end,
            }
        }
        None
    }

    /// The target of a block that does nothing but jump.
    fn only_jumps(&self, block: usize) -> Option<usize> {
        let b = &self.f.blocks[block];
        let (from, to) = b.instructions;
        if block == 0 || to - from != 1 || self.f.instructions[from].op != Operation::Jump {
            return None;
        }
        let mut all = self.allocated.block_insts_and_edits(self.f, Block::new(block));
        let moves = all.any(|x| matches!(x, InstOrEdit::Edit(Edit::Move { from, to }) if from != to));
        b.successors.first().map(|s| s.index()).filter(|_| !moves)
    }

    fn enter(&mut self) {
        self.code.push(RBP);
        self.code.general(true, &[0x8b], RBP, RegOrMem::Register(RSP), 0);
        self.kept.clone().into_iter().for_each(|r| self.code.push(r));
        if self.frame > 0 {
            self.code.general_int(0x81, 5, RegOrMem::Register(RSP), self.frame);
            // Vectors do not cross lines of the cache.
            self.code.general_byte(0x83, 4, RegOrMem::Register(RSP), 0xc0);
        } else if self.kept.len() % 2 == 1 {
            // Calls need a multiple of 16.
            self.code.general_byte(0x83, 5, RegOrMem::Register(RSP), 8);
        }
    }

    fn leave(&mut self) {
        self.code.clear_high_parts();
        let saved = MemoryAddress::At(RBP, None, -8 * self.kept.len() as i32);
        self.code.general(true, &[0x8d], RSP, RegOrMem::Memory(saved), 0);
        self.kept.clone().into_iter().rev().for_each(|r| self.code.pop(r));
        self.code.pop(RBP);
        self.code.ret();
    }

    /// Moves a register to another one, or to or from the frame.
    fn shuffle(&mut self, from: Allocation, to: Allocation) {
        if from == to {
            return;
        }
        let slot = |a: Allocation| {
            a.as_stack().map(|s| RegOrMem::Memory(MemoryAddress::At(RSP, None, self.spills + 8 * s.index() as i32)))
        };
        let (source, target) = (slot(from), slot(to));
        let class = from.as_reg().or(to.as_reg()).map_or(RegClass::Int, regalloc2::PReg::class);
        match (class, source, target) {
            (RegClass::Int, Some(source), _) => self.code.general(true, &[0x8b], number(to), source, 0),
            (RegClass::Int, _, Some(target)) => self.code.general(true, &[0x89], number(from), target, 0),
            (RegClass::Int, None, None) => {
                self.code.general(true, &[0x8b], number(to), RegOrMem::Register(number(from)), 0);
            }
            (_, Some(source), _) => self.code.vector(LOAD, (number(to), 0, source), None),
            (_, _, Some(target)) => self.code.vector(STORE, (number(from), 0, target), None),
            (_, None, None) => self.two(MOVE, number(to), number(from)),
        }
    }

    pub fn two(&mut self, op: VectorOpcode, to: u8, from: u8) {
        self.code.vector(op, (to, 0, RegOrMem::Register(from)), None);
    }

    pub fn three(&mut self, op: VectorOpcode, to: u8, x: u8, y: u8, immediate: Option<u8>) {
        self.code.vector(op, (to, x, RegOrMem::Register(y)), immediate);
    }

    /// Sets a vector register to zero.
    pub fn clear(&mut self, out: u8) {
        self.three(self.extension().bits(Bits::Xor), out, out, out, None);
    }

    pub fn memory(address: Address, registers: &[u8]) -> RegOrMem {
        let (base, index) = match (address.base, registers) {
            (Base::Frame, [index]) => (RSP, Some(*index)),
            (Base::Register, [base, index]) => (*base, Some(*index)),
            (Base::Register, [base]) => (*base, None),
            _ => (RSP, None),
        };
        RegOrMem::Memory(MemoryAddress::At(base, index.zip(address.scale), address.offset))
    }

    fn jump(&mut self, condition: Option<u8>, target: usize) {
        let field = self.code.jump(condition);
        self.jumps.push((field, target));
    }

    fn instruction(&mut self, instr: &Instruction, regs: &[u8], block: usize, next: Option<usize>) {
        let out = regs.first().copied().unwrap_or(0);
        match &instr.op {
            Operation::Parameters => {}
            Operation::Jump => {
                let target = self.f.blocks[block].successors[0].index();
                if Some(self.passed(target).unwrap_or(target)) != next {
                    self.jump(None, target);
                }
            }
            Operation::Branch(condition, immediate) => self.branch(*condition, *immediate, regs, block, next),
            Operation::Return => self.leave(),
            Operation::Call(at) => {
                self.code.clear_high_parts();
                self.code.set(SCRATCH, *at);
                self.code.general(false, &[0xff], 2, RegOrMem::Register(SCRATCH), 0);
            }
            Operation::Load(cell, address) => self.load(*cell, out, Self::memory(*address, &regs[1..])),
            Operation::Store(cell, address) => self.store(*cell, out, Self::memory(*address, &regs[1..])),
            Operation::Number(bits, width) => self.constant(out, bits, *width),
            Operation::Vector(..)
            | Operation::VectorConstant(..)
            | Operation::VectorOne(..)
            | Operation::FloatCompare(..)
            | Operation::Bitselect
            | Operation::ChooseNumber
            | Operation::ToInt
            | Operation::FromInt
            | Operation::IntToLane
            | Operation::LaneToInt
            | Operation::BroadcastInt
            | Operation::LoadHigh(_)
            | Operation::ChooseLanes(_)
            | Operation::Blend(_)
            | Operation::Keep(_)
            | Operation::Lane(_) => self.vector(instr, regs),
            _ => self.general(instr, regs),
        }
    }

    fn compare(&mut self, immediate: Option<i32>, regs: &[u8]) {
        match immediate {
            Some(0) => self.code.general(true, &[0x85], regs[0], RegOrMem::Register(regs[0]), 0),
            Some(n) => self.code.general_int(0x81, 7, RegOrMem::Register(regs[0]), n),
            None => self.code.general(true, &[0x3b], regs[0], RegOrMem::Register(regs[1]), 0),
        }
    }

    fn branch(&mut self, condition: u8, immediate: Option<i32>, regs: &[u8], block: usize, next: Option<usize>) {
        self.compare(immediate, regs);
        let [yes, no] = [0, 1].map(|k| self.f.blocks[block].successors[k].index());
        let [yes_end, no_end] = [yes, no].map(|b| Some(self.passed(b).unwrap_or(b)));
        if yes_end == next {
            self.jump(Some(condition ^ 1), no);
        } else {
            self.jump(Some(condition), yes);
            if no_end != next {
                self.jump(None, no);
            }
        }
    }

    fn load(&mut self, cell: AccessType, out: u8, from: RegOrMem) {
        match cell {
            AccessType::Byte => self.code.general(false, &[0x0f, 0xb6], out, from, 0),
            AccessType::Int => self.code.general(true, &[0x8b], out, from, 0),
            AccessType::Number(Width::Scalar) => self.code.vector(LOAD_SCALAR, (out, 0, from), None),
            AccessType::Number(Width::Vector) => self.code.vector(LOAD, (out, 0, from), None),
            AccessType::Broadcast => self.code.vector(BROADCAST, (out, 0, from), None),
        }
    }

    fn store(&mut self, cell: AccessType, x: u8, to: RegOrMem) {
        match cell {
            AccessType::Byte => self.code.general(false, &[0x88], x, to, 0),
            AccessType::Int => self.code.general(true, &[0x89], x, to, 0),
            AccessType::Number(Width::Scalar) => self.code.vector(STORE_SCALAR, (x, 0, to), None),
            AccessType::Number(Width::Vector) | AccessType::Broadcast => self.code.vector(STORE, (x, 0, to), None),
        }
    }

    fn constant(&mut self, out: u8, bits: &[u64], width: Width) {
        if *bits == [0] {
            return self.clear(out);
        }
        let bytes = bits.iter().flat_map(|x| x.to_le_bytes()).collect();
        let place = RegOrMem::Memory(MemoryAddress::Pool(self.code.constant(bytes)));
        let op = match width {
            Width::Scalar => LOAD_SCALAR,
            Width::Vector if bits.len() == 1 => BROADCAST,
            Width::Vector => LOAD,
        };
        self.code.vector(op, (out, 0, place), None);
    }

    /// Operations of general registers.
    fn general(&mut self, x: &Instruction, regs: &[u8]) {
        let out = regs[0];
        let arg = |k: usize| RegOrMem::Register(regs[k]);
        match &x.op {
            Operation::Int(n) => self.code.set(out, *n),
            Operation::Move if x.operands[0].class() != RegClass::Int => self.two(MOVE, out, regs[1]),
            Operation::Move => self.code.general(true, &[0x8b], out, arg(1), 0),
            Operation::Alu(op) => self.code.general(true, op.opcode(), out, arg(2), 0),
            Operation::AluInt(Alu::Mul, n) | Operation::MulInt(n) => self.code.general_int(0x69, out, arg(1), *n),
            Operation::AluInt(op, n) => self.code.general_int(0x81, op.digit(), RegOrMem::Register(out), *n),
            Operation::Lea(address) => {
                self.code.general(true, &[0x8d], out, Self::memory(*address, &regs[1..]), 0);
            }
            Operation::Shift(op, n) => self.code.general_byte(0xc1, *op, RegOrMem::Register(out), *n),
            Operation::Unary(op) => self.code.general(true, &[0xf7], *op, RegOrMem::Register(out), 0),
            Operation::Compare(condition, immediate) => {
                self.compare(*immediate, &regs[1..]);
                self.code.general(false, &[0x0f, 0x90 | condition], 0, RegOrMem::Register(out), 0);
                self.code.general(false, &[0x0f, 0xb6], out, RegOrMem::Register(out), 0);
            }
            Operation::Choose => {
                self.compare(Some(0), &regs[1..]);
                self.code.general(true, &[0x0f, 0x40 | condition::NOT_EQUAL], out, arg(2), 0);
            }
            Operation::Extreme(condition) => {
                self.code.general(true, &[0x3b], out, arg(2), 0);
                self.code.general(true, &[0x0f, 0x40 | condition], out, arg(2), 0);
            }
            Operation::ZeroExtend(_) => self.code.general(false, &[0x0f, 0xb6], out, arg(1), 0),
            _ => {}
        }
    }
}
