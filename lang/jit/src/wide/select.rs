//! Instruction selection: from CLIF to machine instructions, from the end of each block to its beginning. So an
//! instruction that its only user takes into itself is not emitted on its own.

use super::encode::condition;
use super::extension::Extension;
use super::inst::{Address, Base, CodeBlock, Instruction, MachineFunction, Operation};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstructionData, Opcode, Value, types};
use regalloc2::{Block, Operand, PReg, RegClass, VReg};
use std::collections::{HashMap, HashSet};

/// The general registers of the first arguments (System V ABI, 3.2.3).
const ARGUMENTS: [usize; 6] = [7, 6, 2, 1, 8, 9];

/// Why a function cannot be compiled.
pub(super) type Unsupported = String;

pub(super) struct Selector<'f> {
    pub extension: Extension,
    pub f: &'f ir::Function,
    /// How often values are used by instructions that are not yet selected, or are.
    uses: Vec<u32>,
    vregs: Vec<Option<VReg>>,
    next: usize,
    /// The block whose instructions are selected, and the current one.
    block: ir::Block,
    inst: ir::Inst,
    /// The instructions for the current CLIF instruction.
    now: Vec<Instruction>,
    /// Loads that read one Float to all lanes, and the registers of these.
    pub broadcast: HashMap<Value, VReg>,
    /// The offsets of the slots in the frame.
    slots: Vec<i32>,
}

/// Selects the instructions of a function.
pub(super) fn select(extension: Extension, source: &ir::Function) -> Result<MachineFunction, Unsupported> {
    let mut frame = 0;
    let mut slots = Vec::new();
    for slot in source.sized_stack_slots.values() {
        slots.push(frame as i32);
        frame += slot.size.next_multiple_of(64) as usize;
    }
    let mut uses = vec![0; source.dfg.num_values()];
    for inst in source.layout.blocks().flat_map(|b| source.layout.block_insts(b)) {
        source.dfg.inst_values(inst).for_each(|v| uses[v.as_u32() as usize] += 1);
    }
    let vregs = vec![None; source.dfg.num_values()];
    let Some(first) = source.layout.entry_block() else { return Err("an empty function".to_owned()) };
    let mut selector = Selector {
        extension,
        f: source,
        uses,
        vregs,
        next: 0,
        block: first,
        inst: ir::Inst::from_u32(0),
        now: Vec::new(),
        broadcast: HashMap::new(),
        slots,
    };
    let mut function = MachineFunction { extension, instructions: Vec::new(), blocks: Vec::new(), vregs: 0, frame };
    selector.blocks(&mut function)?;
    function.vregs = selector.next;
    Ok(function)
}

impl Selector<'_> {
    /// Selects all blocks, and puts a block on each edge of a branch: moves for the target's parameters stand there.
    fn blocks(&mut self, function: &mut MachineFunction) -> Result<(), Unsupported> {
        let order = reverse_postorder(self.f);
        let (mut numbers, mut count) = (HashMap::new(), 0);
        for b in &order {
            numbers.insert(*b, count);
            count += if matches!(self.terminator(*b), Some(InstructionData::Brif { .. })) { 3 } else { 1 };
        }
        let mut code: Vec<Vec<Instruction>> = vec![Vec::new(); count];
        function.blocks = (0..count).map(|_| CodeBlock::default()).collect();
        // Users come before definitions.
        for block in order.iter().rev() {
            let number = numbers[block];
            self.block = *block;
            code[number] = self.instructions(*block)?;
            function.blocks[number].parameters = self.parameters(*block, number == 0, &mut code[number])?;
            match self.terminator(*block) {
                Some(InstructionData::Jump { destination, .. }) => {
                    let (to, args) = self.destination(destination)?;
                    function.blocks[number].successors.push(Block::new(numbers[&to]));
                    function.blocks[number].arguments = args;
                }
                Some(InstructionData::Brif { blocks, .. }) => {
                    // The edge that is taken if the condition does not hold comes first.
                    for (edge, call) in [number + 2, number + 1].into_iter().zip(blocks) {
                        let (to, arguments) = self.destination(call)?;
                        function.blocks[number].successors.push(Block::new(edge));
                        code[edge].push(Instruction { op: Operation::Jump, operands: Vec::new() });
                        function.blocks[edge] =
                            CodeBlock { successors: vec![Block::new(numbers[&to])], arguments, ..CodeBlock::default() };
                    }
                    function.blocks[number + 2].is_taken = true;
                }
                _ => {}
            }
        }
        for (k, code) in code.into_iter().enumerate() {
            let from = function.instructions.len();
            function.instructions.extend(code);
            function.blocks[k].instructions = (from, function.instructions.len());
            for to in function.blocks[k].successors.clone() {
                function.blocks[to.index()].predecessors.push(Block::new(k));
            }
        }
        Ok(())
    }

    fn terminator(&self, block: ir::Block) -> Option<InstructionData> {
        Some(self.f.dfg.insts[self.f.layout.last_inst(block)?])
    }

    /// The parameters of a block. Those of the function come in registers.
    fn parameters(
        &mut self,
        block: ir::Block,
        is_first: bool,
        code: &mut Vec<Instruction>,
    ) -> Result<Vec<VReg>, Unsupported> {
        let all: Vec<Value> = self.f.dfg.block_params(block).to_vec();
        let regs = all.iter().map(|v| self.register(*v)).collect::<Result<Vec<VReg>, _>>()?;
        if !is_first {
            return Ok(regs);
        }
        if regs.len() > ARGUMENTS.len() || regs.iter().any(|r| r.class() != RegClass::Int) {
            return Err("parameters that are not in general registers".to_owned());
        }
        let operands = regs.iter().zip(ARGUMENTS).map(|(r, p)| Operand::reg_fixed_def(*r, PReg::new(p, RegClass::Int)));
        code.insert(0, Instruction { op: Operation::Parameters, operands: operands.collect() });
        Ok(Vec::new())
    }

    fn destination(&mut self, call: ir::BlockCall) -> Result<(ir::Block, Vec<VReg>), Unsupported> {
        let pool = &self.f.dfg.value_lists;
        let args: Vec<Value> = call.args(pool).filter_map(|a| a.as_value()).collect();
        let regs = args.into_iter().map(|v| self.register(v)).collect::<Result<Vec<VReg>, _>>()?;
        Ok((call.block(pool), regs))
    }

    fn instructions(&mut self, block: ir::Block) -> Result<Vec<Instruction>, Unsupported> {
        let mut out = Vec::new();
        let mut insts: Vec<ir::Inst> = self.f.layout.block_insts(block).collect();
        insts.reverse();
        for inst in insts {
            let dfg = &self.f.dfg;
            let opcode = dfg.insts[inst].opcode();
            let effects = opcode.is_call() || opcode.can_store() || opcode.is_terminator();
            if !effects && dfg.inst_results(inst).iter().all(|v| self.uses(*v) == 0) {
                let args: Vec<Value> = dfg.inst_values(inst).collect();
                args.into_iter().for_each(|v| self.uses[v.as_u32() as usize] -= 1);
                continue;
            }
            self.inst = inst;
            self.lower(inst)?;
            out.extend(self.now.drain(..).rev());
        }
        out.reverse();
        Ok(out)
    }

    fn uses(&self, v: Value) -> u32 {
        self.uses[v.as_u32() as usize]
    }

    /// A new register.
    pub fn fresh(&mut self, class: RegClass) -> VReg {
        self.next += 1;
        VReg::new(self.next - 1, class)
    }

    /// The register of a value.
    pub fn register(&mut self, value: Value) -> Result<VReg, Unsupported> {
        if let Some(r) = self.vregs[value.as_u32() as usize] {
            return Ok(r);
        }
        let vector = self.extension.vector();
        let class = match self.f.dfg.value_type(value) {
            types::I64 | types::I8 => RegClass::Int,
            types::F64 => RegClass::Float,
            ty if ty == vector || ty == vector.as_truthy() => RegClass::Float,
            other => return Err(format!("a value of type {other}")),
        };
        let r = self.fresh(class);
        self.vregs[value.as_u32() as usize] = Some(r);
        Ok(r)
    }

    pub fn emit(&mut self, op: Operation, operands: Vec<Operand>) {
        self.now.push(Instruction { op, operands });
    }

    pub fn type_of(&self, v: Value) -> ir::Type {
        self.f.dfg.value_type(v)
    }

    /// The instruction that defines a value.
    pub fn definition(&self, v: Value) -> Option<InstructionData> {
        Some(self.f.dfg.insts[self.f.dfg.value_def(v).inst()?])
    }

    /// Takes the definition of a value into the user: its arguments are used instead.
    pub fn fold(&mut self, v: Value) {
        let Some(inst) = self.f.dfg.value_def(v).inst() else { return };
        self.uses[v.as_u32() as usize] -= 1;
        let args: Vec<Value> = self.f.dfg.inst_values(inst).collect();
        args.into_iter().for_each(|a| self.uses[a.as_u32() as usize] += 1);
    }

    /// Whether the current instruction is the only user of a value of the same block.
    pub fn is_only_use(&self, v: Value) -> bool {
        let inst = self.f.dfg.value_def(v).inst();
        self.uses(v) == 1 && inst.is_some_and(|i| self.f.layout.inst_block(i) == Some(self.block))
    }

    /// Whether a value that is loaded for the current instruction only can be loaded by it.
    pub fn is_still_there(&self, v: Value) -> bool {
        let Some(mut inst) = self.f.dfg.value_def(v).inst().filter(|_| self.is_only_use(v)) else { return false };
        while let Some(next) = self.f.layout.next_inst(inst).filter(|i| *i != self.inst) {
            let opcode = self.f.dfg.insts[next].opcode();
            if opcode.is_call() || opcode.can_store() {
                return false;
            }
            inst = next;
        }
        true
    }

    /// The constant that an Int is.
    pub fn int_constant(&self, v: Value) -> Option<i64> {
        match self.definition(v)? {
            InstructionData::UnaryImm { opcode: Opcode::Iconst, imm } => Some(imm.bits()),
            _ => None,
        }
    }

    /// Takes a constant into the user if it is small enough for an immediate.
    pub fn immediate(&mut self, v: Value) -> Option<i32> {
        let n = i32::try_from(self.int_constant(v)?).ok()?;
        self.fold(v);
        Some(n)
    }

    /// The bits of the constant that a Float is.
    pub fn float_constant(&self, v: Value) -> Option<u64> {
        match self.definition(v)? {
            InstructionData::UnaryIeee64 { imm, .. } => Some(imm.bits()),
            _ => None,
        }
    }

    /// The arguments of a definition with two operands.
    fn operands_of(&self, v: Value, wanted: Opcode) -> Option<[Value; 2]> {
        match self.definition(v)? {
            InstructionData::Binary { opcode, args } if opcode == wanted => Some(args),
            _ => None,
        }
    }

    /// An address, and the registers that it consists of.
    pub fn address(&mut self, value: Value, offset: i32) -> Result<(Address, Vec<VReg>), Unsupported> {
        let (mut pointer, mut offset) = (value, offset);
        while let Some([x, y]) = self.operands_of(pointer, Opcode::Iadd) {
            let moved = self.int_constant(y).and_then(|c| i32::try_from(i64::from(offset) + c).ok());
            let Some(moved) = moved else { break };
            self.fold(pointer);
            self.fold(y);
            (pointer, offset) = (x, moved);
        }
        if let Some(offset) = self.in_frame(pointer, offset) {
            return Ok((Address { base: Base::Frame, scale: None, offset }, Vec::new()));
        }
        let Some([mut base_value, mut index_value]) =
            self.operands_of(pointer, Opcode::Iadd).filter(|_| self.is_only_use(pointer))
        else {
            return Ok((Address { base: Base::Register, scale: None, offset }, vec![self.register(pointer)?]));
        };
        if self.scaled(base_value).is_some() || self.in_frame_at(index_value).is_some() {
            (base_value, index_value) = (index_value, base_value);
        }
        let scaled = self.scaled(index_value);
        self.fold(pointer);
        let mut scale = 0;
        if let Some((index, n)) = scaled {
            self.fold_shift(index_value);
            (index_value, scale) = (index, n);
        }
        let index = self.register(index_value)?;
        if let Some(offset) = self.in_frame(base_value, offset) {
            return Ok((Address { base: Base::Frame, scale: Some(scale), offset }, vec![index]));
        }
        Ok((Address { base: Base::Register, scale: Some(scale), offset }, vec![self.register(base_value)?, index]))
    }

    /// Takes a shift by a constant into the user.
    pub fn fold_shift(&mut self, v: Value) {
        self.fold(v);
        if let Some([_, distance]) = self.operands_of(v, Opcode::Ishl) {
            self.fold(distance);
        }
    }

    /// What is shifted to be an index, and the distance.
    pub fn scaled(&self, v: Value) -> Option<(Value, u8)> {
        let [x, y] = self.operands_of(v, Opcode::Ishl)?;
        let n = u8::try_from(self.int_constant(y)?).ok()?;
        (n <= 3 && self.is_only_use(v)).then_some((x, n))
    }

    /// The offset in the frame of the address of a slot.
    pub fn in_frame_at(&self, v: Value) -> Option<i32> {
        match self.definition(v)? {
            InstructionData::StackAddr { stack_slot, offset, .. } => {
                Some(self.slots[stack_slot.as_u32() as usize] + i32::from(offset))
            }
            _ => None,
        }
    }

    fn in_frame(&mut self, v: Value, offset: i32) -> Option<i32> {
        let at = self.in_frame_at(v)?.checked_add(offset)?;
        self.fold(v);
        Some(at)
    }

    /// A branch, together with the comparison that it depends on.
    pub fn branch(&mut self, predicate: Value) -> Result<(), Unsupported> {
        if let Some(InstructionData::IntCompare { cond, args: [x, y], .. }) = self.definition(predicate)
            && self.type_of(x) == types::I64
            && self.uses(predicate) == 1
        {
            self.fold(predicate);
            let immediate = self.immediate(y);
            let mut operands = vec![Operand::reg_use(self.register(x)?)];
            if immediate.is_none() {
                operands.push(Operand::reg_use(self.register(y)?));
            }
            self.emit(Operation::Branch(int_condition(cond), immediate), operands);
            return Ok(());
        }
        let c = Operand::reg_use(self.register(predicate)?);
        self.emit(Operation::Branch(condition::NOT_EQUAL, Some(0)), vec![c]);
        Ok(())
    }

    /// A call of a function at a constant address.
    pub fn call(&mut self, inst: ir::Inst, callee: Value, args: &[Value]) -> Result<(), Unsupported> {
        let at = self.int_constant(callee).ok_or("a call of an unknown function")?;
        self.fold(callee);
        let mut operands = Vec::new();
        let results: Vec<Value> = self.f.dfg.inst_results(inst).to_vec();
        for v in results {
            let r = self.register(v)?;
            operands.push(Operand::reg_fixed_def(r, PReg::new(0, r.class())));
        }
        let (mut ints, mut floats) = (0, 0);
        for v in args {
            let r = self.register(*v)?;
            if r.class() == RegClass::Int {
                let at = ARGUMENTS.get(ints).ok_or("a call with many arguments")?;
                operands.push(Operand::reg_fixed_use(r, PReg::new(*at, RegClass::Int)));
                ints += 1;
            } else {
                operands.push(Operand::reg_fixed_use(r, PReg::new(floats, RegClass::Float)));
                floats += 1;
            }
        }
        self.emit(Operation::Call(at), operands);
        Ok(())
    }
}

/// The blocks of a function, each before those that it leads to, and the body of a loop before what follows it.
fn reverse_postorder(function: &ir::Function) -> Vec<ir::Block> {
    let mut seen = HashSet::new();
    let mut out = Vec::new();
    let mut stack: Vec<(ir::Block, bool)> = function.layout.entry_block().map(|b| (b, false)).into_iter().collect();
    while let Some((block, left)) = stack.pop() {
        if left {
            out.push(block);
            continue;
        }
        if !seen.insert(block) {
            continue;
        }
        stack.push((block, true));
        let Some(last) = function.layout.last_inst(block) else { continue };
        let calls =
            function.dfg.insts[last].branch_destination(&function.dfg.jump_tables, &function.dfg.exception_tables);
        // The first target of a branch leaves a loop; it is followed first, and so comes last.
        stack.extend(calls.iter().rev().map(|c| (c.block(&function.dfg.value_lists), false)));
    }
    out.reverse();
    out
}

/// The number of a condition.
pub(super) fn int_condition(c: IntCC) -> u8 {
    match c {
        IntCC::Equal => condition::EQUAL,
        IntCC::NotEqual => condition::NOT_EQUAL,
        IntCC::SignedLessThan => condition::LESS,
        IntCC::SignedGreaterThanOrEqual => condition::LESS + 1,
        IntCC::SignedGreaterThan => condition::GREATER,
        IntCC::SignedLessThanOrEqual => condition::GREATER - 1,
        IntCC::UnsignedLessThan => condition::BELOW,
        IntCC::UnsignedGreaterThanOrEqual => condition::BELOW + 1,
        IntCC::UnsignedGreaterThan => 7,
        IntCC::UnsignedLessThanOrEqual => 6,
    }
}
