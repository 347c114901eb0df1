//! Calls of the runtime that seldom happen: where room is made, an interrupt looked at, an error found.
//!
//! A call of another language's function leaves hardly any vector register as it was, so that a loop with such a call on its seldom way would keep its
//! numbers in memory. These go through a function that saves all registers.

use super::TRUSTED;
use crate::runtime::offset;
use cranelift_codegen::ir::{self, AbiParam, InstBuilder, Signature, types};
use cranelift_codegen::isa::CallConv;
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_jit::JITModule;
use cranelift_module::{FuncId, Linkage, Module};

/// The functions through which a unit calls, by the number of arguments: the address of the runtime's function, its context, the rest.
#[derive(Default)]
pub(crate) struct Rare(Vec<(usize, FuncId)>);

fn signature(args: usize) -> Signature {
    let mut sig = Signature::new(CallConv::PreserveAll);
    sig.params.extend(vec![AbiParam::new(types::I64); args + 1]);
    sig
}

impl Rare {
    /// The function for so many arguments.
    pub fn id(&mut self, module: &mut JITModule, args: usize) -> Option<FuncId> {
        if let Some((_, id)) = self.0.iter().find(|(n, _)| *n == args) {
            return Some(*id);
        }
        let id = module.declare_function(&format!("rare{args}"), Linkage::Local, &signature(args)).ok()?;
        self.0.push((args, id));
        Some(id)
    }

    /// What is still to be defined: numbers of arguments, with functions.
    pub fn all(&self) -> &[(usize, FuncId)] {
        &self.0
    }
}

/// Emits the function for so many arguments. What the runtime gives goes into the context.
pub(crate) fn function(module: &JITModule, args: usize, func: &mut ir::Function, shared: &mut FunctionBuilderContext) {
    func.signature = signature(args);
    let mut b = FunctionBuilder::new(func, shared);
    let block = b.create_block();
    b.append_block_params_for_function_params(block);
    b.switch_to_block(block);
    let given = b.block_params(block).to_vec();
    let mut sig = Signature::new(module.isa().default_call_conv());
    sig.params.extend(vec![AbiParam::new(types::I64); args]);
    sig.returns.push(AbiParam::new(types::I64));
    let sig = b.import_signature(sig);
    let call = b.ins().call_indirect(sig, given[0], &given[1..]);
    let made = b.inst_results(call)[0];
    b.ins().store(TRUSTED, made, given[1], offset::RETURNED);
    b.ins().return_(&[]);
    b.seal_all_blocks();
    b.finalize(module.target_config());
}
