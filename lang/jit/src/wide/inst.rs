//! Machine instructions before registers are allocated, and the function that they form.

use super::encode::{VectorOpcode, Width};
use super::extension::Extension;
use regalloc2::{Block, Inst, InstRange, Operand, PReg, PRegSet, RegClass, VReg};

/// An operation of general registers on two operands; the first is overwritten.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Alu {
    And,
    Or,
    Sub,
    Xor,
    Mul,
}

impl Alu {
    /// The opcode with a register or address as second operand.
    pub fn opcode(self) -> &'static [u8] {
        match self {
            Alu::And => &[0x23],
            Alu::Or => &[0x0b],
            Alu::Sub => &[0x2b],
            Alu::Xor => &[0x33],
            Alu::Mul => &[0x0f, 0xaf],
        }
    }

    /// The number of the operation with an immediate. Multiplication has an instruction of its own.
    pub fn digit(self) -> u8 {
        match self {
            Alu::Or => 1,
            Alu::And => 4,
            Alu::Sub => 5,
            Alu::Xor | Alu::Mul => 6,
        }
    }
}

/// What an address begins with. Registers are operands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Base {
    Register,
    /// The slots of the frame.
    Frame,
}

/// An address: the base register, if there is one, and then the index register are the last operands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Address {
    pub base: Base,
    /// The logarithm of the factor of the index.
    pub scale: Option<u8>,
    pub offset: i32,
}

/// What is loaded or stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum AccessType {
    Byte,
    Int,
    Number(Width),
    /// One Float, to all lanes.
    Broadcast,
}

/// An operation. Its operands: the result first, if there is one, then the arguments in order.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Operation {
    /// The parameters of the function.
    Parameters,
    Int(i64),
    /// The bits of a Float in the low lane or in all lanes, or of one for each lane.
    Number(Vec<u64>, Width),
    Move,
    Alu(Alu),
    AluInt(Alu, i32),
    MulInt(i32),
    /// The sum of an address.
    Lea(Address),
    /// Shifts by a constant: the number of the operation, the distance.
    Shift(u8, u8),
    /// Negation and complement, by the number of the operation.
    Unary(u8),
    /// A comparison to a Bool.
    Compare(u8, Option<i32>),
    /// The first of two Ints if a Bool holds: Bool, first, second.
    Choose,
    /// One of two Ints by a comparison, under which the second replaces the first.
    Extreme(u8),
    /// The low byte of a register, or the low 32 bits.
    ZeroExtend(AccessType),
    Load(AccessType, Address),
    /// The value comes first, then the registers of the address.
    Store(AccessType, Address),
    Vector(VectorOpcode, Option<u8>),
    /// With one operand from the pool, for all lanes.
    VectorConstant(VectorOpcode, u64),
    /// A vector instruction with one argument.
    VectorOne(VectorOpcode, Option<u8>),
    /// A comparison of Floats, to a vector of masks or to a Bool.
    FloatCompare(u8, Width),
    /// Selects bits by a mask: mask, first, second.
    Bitselect,
    /// The same by the highest bit of each lane, or of a scalar, for AVX2.
    ChooseLanes(Width),
    /// Selects one of two scalars by a Bool: Bool, first, second.
    ChooseNumber,
    /// The Int nearest to a scalar towards 0, within the range of Ints; 0 for NaN.
    ToInt,
    FromInt,
    /// Moves the bits of an Int to the low lane, or of the low lane to an Int.
    IntToLane,
    LaneToInt,
    /// An Int to all lanes.
    BroadcastInt,
    /// A scalar from memory beside that of a register.
    LoadHigh(Address),
    /// Where a comparison of the first two arguments holds the fourth, else the third.
    Blend(u8),
    /// Where a comparison of the first two arguments holds the third, else 0.
    Keep(u8),
    /// The scalar of a lane.
    Lane(u8),
    /// A call of a function at an address: the result, then the arguments, all in fixed registers.
    Call(i64),
    Jump,
    /// A jump to the first successor if a comparison of operands holds, else to the second.
    Branch(u8, Option<i32>),
    Return,
}

/// An instruction with its operands.
#[derive(Clone, Debug)]
pub(super) struct Instruction {
    pub op: Operation,
    pub operands: Vec<Operand>,
}

/// A block.
#[derive(Default)]
pub(super) struct CodeBlock {
    pub instructions: (usize, usize),
    pub parameters: Vec<VReg>,
    pub successors: Vec<Block>,
    pub predecessors: Vec<Block>,
    /// The arguments for the parameters of the only successor.
    pub arguments: Vec<VReg>,
    /// Whether it is on the edge that a branch takes if its condition holds. Such blocks are emitted at the end.
    pub is_taken: bool,
}

/// A function, in the form that the register allocator reads.
pub(super) struct MachineFunction {
    pub extension: Extension,
    pub instructions: Vec<Instruction>,
    pub blocks: Vec<CodeBlock>,
    pub vregs: usize,
    /// The bytes of the explicit slots of the frame.
    pub frame: usize,
}

/// The registers that a call does not keep.
fn clobbered(extension: Extension) -> PRegSet {
    let mut all = PRegSet::empty();
    [0, 1, 2, 6, 7, 8, 9, 10].into_iter().for_each(|r| all.add(PReg::new(r, RegClass::Int)));
    (0..usize::from(extension.scratch())).for_each(|r| all.add(PReg::new(r, RegClass::Float)));
    all
}

impl regalloc2::Function for MachineFunction {
    fn num_insts(&self) -> usize {
        self.instructions.len()
    }

    fn num_blocks(&self) -> usize {
        self.blocks.len()
    }

    fn entry_block(&self) -> Block {
        Block::new(0)
    }

    fn block_insns(&self, block: Block) -> InstRange {
        let (from, to) = self.blocks[block.index()].instructions;
        InstRange::new(Inst::new(from), Inst::new(to))
    }

    fn block_succs(&self, block: Block) -> &[Block] {
        &self.blocks[block.index()].successors
    }

    fn block_preds(&self, block: Block) -> &[Block] {
        &self.blocks[block.index()].predecessors
    }

    fn block_params(&self, block: Block) -> &[VReg] {
        &self.blocks[block.index()].parameters
    }

    fn is_ret(&self, inst: Inst) -> bool {
        self.instructions[inst.index()].op == Operation::Return
    }

    fn is_branch(&self, inst: Inst) -> bool {
        matches!(self.instructions[inst.index()].op, Operation::Jump | Operation::Branch(..))
    }

    fn branch_blockparams(&self, block: Block, _: Inst, _: usize) -> &[VReg] {
        &self.blocks[block.index()].arguments
    }

    fn inst_operands(&self, inst: Inst) -> &[Operand] {
        &self.instructions[inst.index()].operands
    }

    fn inst_clobbers(&self, inst: Inst) -> PRegSet {
        let instruction = &self.instructions[inst.index()];
        if !matches!(instruction.op, Operation::Call(_)) {
            return PRegSet::empty();
        }
        let mut all = clobbered(self.extension);
        for o in instruction.operands.iter().filter(|o| o.kind() == regalloc2::OperandKind::Def) {
            if let regalloc2::OperandConstraint::FixedReg(r) = o.constraint() {
                all.remove(r);
            }
        }
        all
    }

    fn num_vregs(&self) -> usize {
        self.vregs
    }

    fn spillslot_size(&self, class: RegClass) -> usize {
        match class {
            RegClass::Int => 1,
            // Scalars and vectors are in registers of one class.
            RegClass::Float | RegClass::Vector => self.extension.lanes(),
        }
    }
}
