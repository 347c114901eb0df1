//! A code generator for kernels of vectorised loops on processors with vectors of 512 or 256 bits. Cranelift has vectors
//! of 128 bits only.
//!
//! A kernel is a function of CLIF on vectors of eight or four lanes, which Cranelift optimises as any other. The
//! [`Extension`] of the instruction set decides how many. Instructions are selected here ([`select`], [`lower`],
//! [`lanes`]), and registers are allocated by `regalloc2`, as Cranelift does. [`emit`] and [`vectors`] make instructions
//! of operations, and [`encode`] writes the bytes. All operations are those of IEEE 754 in each lane, so results have the
//! same bits as with shorter vectors.

mod emit;
mod encode;
mod extension;
mod inst;
mod lanes;
mod lower;
mod select;
mod vectors;

use cranelift_codegen::ir;
use encode::register;
pub(crate) use extension::Extension;
use inst::MachineFunction;
use regalloc2::{MachineEnv, PReg, PRegSet, RegClass, RegallocOptions};

/// Machine code of a function, and its listing if that is wanted. Fails with a message if it has an instruction that
/// kernels do not have.
pub(crate) fn compile(extension: Extension, f: &ir::Function, is_listed: bool) -> Result<(Vec<u8>, String), String> {
    let function = select::select(extension, f)?;
    let options = RegallocOptions { validate_ssa: cfg!(debug_assertions), ..RegallocOptions::default() };
    let allocated = regalloc2::run(&function, &registers(extension), &options).map_err(|e| format!("{e:?}"))?;
    let text = if is_listed { listing(&function) } else { String::new() };
    Ok((emit::emit(&function, &allocated), text))
}

/// The registers that are allocated. Frame pointer, stack pointer and scratch registers are not.
fn registers(extension: Extension) -> MachineEnv {
    let vector_scratch = usize::from(extension.scratch());
    let set = |class: RegClass, all: &mut dyn Iterator<Item = usize>| {
        let mut out = PRegSet::empty();
        all.for_each(|r| out.add(PReg::new(r, class)));
        out
    };
    let preferred = [
        set(RegClass::Int, &mut [0, 1, 2, 6, 7, 8, 9, 10].into_iter()),
        set(RegClass::Float, &mut (0..vector_scratch)),
        PRegSet::empty(),
    ];
    let others = [set(RegClass::Int, &mut [3, 12, 13, 14, 15].into_iter()), PRegSet::empty(), PRegSet::empty()];
    let scratch = [
        Some(PReg::new(usize::from(register::SCRATCH), RegClass::Int)),
        Some(PReg::new(vector_scratch, RegClass::Float)),
        None,
    ];
    MachineEnv {
        preferred_regs_by_class: preferred,
        non_preferred_regs_by_class: others,
        scratch_by_class: scratch,
        fixed_stack_slots: Vec::new(),
    }
}

/// The instructions before registers are allocated, as text.
fn listing(f: &MachineFunction) -> String {
    let mut out = String::new();
    for (k, b) in f.blocks.iter().enumerate() {
        out.push_str(&format!("block{k}:\n"));
        for x in &f.instructions[b.instructions.0..b.instructions.1] {
            let operands: Vec<String> = x.operands.iter().map(|o| o.vreg().to_string()).collect();
            out.push_str(&format!("    {:?} {}\n", x.op, operands.join(", ")));
        }
    }
    out
}
