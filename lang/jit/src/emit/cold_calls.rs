//! Out-of-line calls of the runtime on cold paths: growing buffers, polling, errors.
//!
//! The C calling convention preserves hardly any vector registers, so that a loop with such a call on a cold path would
//! keep its Floats in memory. These calls therefore go through functions that save all registers.

use super::TRUSTED;
use crate::handle;
use crate::runtime::offset;
use crate::shims;
use cranelift_codegen::ir::{self, AbiParam, InstBuilder, Signature, types};
use cranelift_codegen::isa::CallConv;
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_jit::JITModule;
use cranelift_module::{FuncId, Linkage, Module};

/// The out-of-line functions of a unit.
#[derive(Default)]
pub(crate) struct ColdCalls {
    /// Trampolines by number of arguments. Their parameters are the address of a run-time function, the context, and
    /// the other arguments.
    calls: Vec<(usize, FuncId)>,
    /// The function that drops a reference to a handle.
    release: Option<FuncId>,
}

/// The signature of an out-of-line function with that many words.
fn signature(words: usize) -> Signature {
    let mut sig = Signature::new(CallConv::PreserveAll);
    sig.params.extend(vec![AbiParam::new(types::I64); words]);
    sig
}

impl ColdCalls {
    /// The trampoline for that many arguments.
    pub fn id(&mut self, module: &mut JITModule, args: usize) -> Option<FuncId> {
        if let Some((_, id)) = self.calls.iter().find(|(n, _)| *n == args) {
            return Some(*id);
        }
        let id = module.declare_function(&format!("rare{args}"), Linkage::Local, &signature(args + 1)).ok()?;
        self.calls.push((args, id));
        Some(id)
    }

    /// The function that drops a reference to a handle; its parameters are context and handle.
    pub fn release(&mut self, module: &mut JITModule) -> Option<FuncId> {
        if self.release.is_none() {
            self.id(module, 2)?;
            self.release = module.declare_function("release", Linkage::Local, &signature(2)).ok();
        }
        self.release
    }

    /// The release function and the trampoline that it uses, if the former is still to be defined.
    pub fn releases(&self) -> Option<(FuncId, FuncId)> {
        let (_, call) = self.calls.iter().find(|(n, _)| *n == 2)?;
        self.release.map(|r| (r, *call))
    }

    /// The trampolines to define, with their numbers of arguments.
    pub fn all(&self) -> &[(usize, FuncId)] {
        &self.calls
    }
}

/// Emits the trampoline for that many arguments. It stores the run-time function's result in the context.
pub(crate) fn function(module: &JITModule, args: usize, func: &mut ir::Function, shared: &mut FunctionBuilderContext) {
    func.signature = signature(args + 1);
    let mut builder = FunctionBuilder::new(func, shared);
    let block = builder.create_block();
    builder.append_block_params_for_function_params(block);
    builder.switch_to_block(block);
    let given = builder.block_params(block).to_vec();
    let mut sig = Signature::new(module.isa().default_call_conv());
    sig.params.extend(vec![AbiParam::new(types::I64); args]);
    sig.returns.push(AbiParam::new(types::I64));
    let sig = builder.import_signature(sig);
    let call = builder.ins().call_indirect(sig, given[0], &given[1..]);
    let made = builder.inst_results(call)[0];
    builder.ins().store(TRUSTED, made, given[1], offset::RETURNED);
    builder.ins().return_(&[]);
    builder.seal_all_blocks();
    builder.finalize(module.target_config());
}

/// Emits the function that drops a reference to a handle. `call`: the trampoline through which it frees a handle
/// without references.
pub(crate) fn release(
    module: &mut JITModule,
    call: FuncId,
    func: &mut ir::Function,
    shared: &mut FunctionBuilderContext,
) {
    func.signature = signature(2);
    let mut builder = FunctionBuilder::new(func, shared);
    let (block, gone, done) = (builder.create_block(), builder.create_block(), builder.create_block());
    builder.append_block_params_for_function_params(block);
    builder.set_cold_block(gone);
    builder.switch_to_block(block);
    let [ctx, h] = [0, 1].map(|i| builder.block_params(block)[i]);
    let n = builder.ins().load(types::I64, TRUSTED, h, handle::offset::RC);
    let n = builder.ins().iadd_imm_s(n, -1);
    builder.ins().store(TRUSTED, n, h, handle::offset::RC);
    builder.ins().brif(n, done, &[], gone, &[]);
    builder.switch_to_block(gone);
    let callee = module.declare_func_in_func(call, builder.func);
    let free = builder.ins().iconst(types::I64, shims::free as *const u8 as i64);
    builder.ins().call(callee, &[free, ctx, h]);
    builder.ins().jump(done, &[]);
    builder.switch_to_block(done);
    builder.ins().return_(&[]);
    builder.seal_all_blocks();
    builder.finalize(module.target_config());
}
