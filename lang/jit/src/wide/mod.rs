//! A code generator for kernels of vectorised loops on processors with vectors of 512 bits. Cranelift has vectors of 128
//! bits only.
//!
//! A kernel is a function of CLIF on vectors of eight lanes, which Cranelift optimises as any other. Instructions are
//! selected here ([`select`], [`lower`]), registers are allocated by `regalloc2`, as Cranelift does, and [`encode`] writes
//! the bytes. All operations are those of IEEE 754 in each lane, so results have the same bits as with shorter vectors.

mod emit;
mod encode;
mod inst;
mod lower;
mod select;

use cranelift_codegen::ir;
use encode::register;
use inst::MachineFunction;
use regalloc2::{MachineEnv, PReg, PRegSet, RegClass, RegallocOptions};

/// Whether this processor has the instructions.
pub(crate) fn is_available() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        std::arch::is_x86_feature_detected!("avx512f")
            && std::arch::is_x86_feature_detected!("avx512dq")
            && std::arch::is_x86_feature_detected!("avx512vl")
    }
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// Machine code of a function, and its listing if that is wanted. Fails with a message if it has an instruction that
/// kernels do not have.
pub(crate) fn compile(f: &ir::Function, is_listed: bool) -> Result<(Vec<u8>, String), String> {
    let function = select::select(f)?;
    let options = RegallocOptions { validate_ssa: cfg!(debug_assertions), ..RegallocOptions::default() };
    let allocated = regalloc2::run(&function, &registers(), &options).map_err(|e| format!("{e:?}"))?;
    let text = if is_listed { listing(&function) } else { String::new() };
    Ok((emit::emit(&function, &allocated), text))
}

/// The registers that are allocated. Frame pointer, stack pointer and scratch registers are not.
fn registers() -> MachineEnv {
    let set = |class: RegClass, all: &mut dyn Iterator<Item = usize>| {
        let mut out = PRegSet::empty();
        all.for_each(|r| out.add(PReg::new(r, class)));
        out
    };
    let preferred = [
        set(RegClass::Int, &mut [0, 1, 2, 6, 7, 8, 9, 10].into_iter()),
        set(RegClass::Float, &mut (0..31)),
        PRegSet::empty(),
    ];
    let others = [set(RegClass::Int, &mut [3, 12, 13, 14, 15].into_iter()), PRegSet::empty(), PRegSet::empty()];
    let scratch = [
        Some(PReg::new(usize::from(register::SCRATCH), RegClass::Int)),
        Some(PReg::new(usize::from(register::VECTOR_SCRATCH), RegClass::Float)),
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
