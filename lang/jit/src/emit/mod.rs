//! Translates one IR function to Cranelift IR.
//!
//! Signature: `(context, address of the results, parameters…) -> 0`, or 1 after an error, which is then in the context.
//! Results are words in memory; a tail call passes their address on.
//!
//! Ownership follows the lowering to register code. A non-scalar variable owns one reference to its handle. Its last
//! use consumes the reference; other uses borrow it or add one. Loops borrow the variables bound outside, and release
//! those that die in the loop after it.
//!
//! Reading order: this file (the state, calls into the runtime, ownership), `control` (branches, calls, ends of
//! functions), `loops`, `ordered_sum`, `rows_in_place`, `soacs`, `scalar`, `operators`, `data`, `element_access`, `virtual_rows`, `group`, `fast_paths`, `deferred`.

mod cold_calls;
mod control;
mod data;
mod deferred;
mod element_access;
mod extrema;
mod fast_calls;
mod group;
mod loops;
mod operators;
mod ordered_sum;
mod rows_in_place;
mod scalar;
mod soacs;
mod state;
mod vector_loop;
mod virtual_rows;

pub(crate) use cold_calls::{ColdCalls, function as rare_function, release as release_function};

use crate::handle::{self, ValueForm};
use crate::runtime::{self, ErrorSite, SlowOp, Tables, WordKind};
use crate::shims;
use crate::unit::Unit;
use crate::wide::Extension;
use adl_interp::ir::live::{self, BlockLiveness, Last, NEVER};
use adl_interp::ir::op_site;
use adl_ir::{Block, Function, Op, Stmt, Ty, Var};
use cranelift_codegen::ir::condcodes::{CondCode, IntCC};
use cranelift_codegen::ir::{
    self, AbiParam, BlockArg, FuncRef, InstBuilder, MemFlagsData, SigRef, Signature, StackSlotData, StackSlotKind,
    Type, Value, types,
};
use cranelift_codegen::isa::CallConv;
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_jit::JITModule;
use cranelift_module::{FuncId, Module};
use smallvec::SmallVec;
use state::{EmitSite, FunctionFrame, HeldValues, LoopNest};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// The context in which one function is compiled.
pub(crate) struct CompileContext<'a> {
    pub module: &'a mut JITModule,
    pub unit: &'a Unit,
    pub ids: &'a [FuncId],
    pub tables: &'a mut Tables,
    /// Out-of-line functions for cold calls.
    pub rare: &'a mut ColdCalls,
    /// Kernels of vectorised loops, which are still to be defined.
    pub kernels: &'a mut Vec<KernelCode>,
    /// The extension whose vectors kernels have.
    pub wide: Option<Extension>,
    /// The function's index in the unit.
    pub me: usize,
}

/// A kernel of a vectorised loop.
pub(crate) struct KernelCode {
    pub id: FuncId,
    pub func: ir::Function,
    /// The extension whose vectors it has, for which [`crate::wide`] compiles it.
    pub wide: Option<Extension>,
}

/// The machine type of a variable.
fn machine_type(ty: &Ty) -> Type {
    match ty {
        Ty::F64 => types::F64,
        Ty::F32 => types::F32,
        Ty::Bool => types::I8,
        Ty::I64 | Ty::Str | Ty::Array(..) | Ty::Data(_) => types::I64,
    }
}

fn is_ref(ty: &Ty) -> bool {
    matches!(ty, Ty::Str | Ty::Array(..) | Ty::Data(_))
}

fn params(b: &Block) -> impl Iterator<Item = &Var> {
    b.params.iter().chain(&b.lin_params)
}

fn results(b: &Block) -> impl Iterator<Item = &Var> {
    b.results.iter().chain(&b.lin_results)
}

fn outs(s: &Stmt) -> impl Iterator<Item = &Var> {
    s.outs.iter().chain(&s.lin_outs)
}

/// The Cranelift signature of a function.
pub(crate) fn signature(f: &Function, conv: CallConv) -> Signature {
    let mut sig = Signature::new(conv);
    sig.params.extend([AbiParam::new(types::I64); 2]);
    sig.params.extend(params(&f.body).map(|v| AbiParam::new(machine_type(f.ty(*v)))));
    sig.returns.push(AbiParam::new(types::I64));
    sig
}

const TRUSTED: MemFlagsData = MemFlagsData::trusted();

/// Flags for vector accesses, which may be unaligned.
const LOOSE: MemFlagsData = MemFlagsData::new().with_notrap();

/// Emits the entry wrapper of a function, which loads the parameters from an array of words.
pub(crate) fn entry(
    module: &mut JITModule,
    function: &Function,
    id: FuncId,
    func: &mut ir::Function,
    shared: &mut FunctionBuilderContext,
) {
    let mut builder = FunctionBuilder::new(func, shared);
    let block = builder.create_block();
    builder.append_block_params_for_function_params(block);
    builder.switch_to_block(block);
    let [ctx, words, out] = [0, 1, 2].map(|i| builder.block_params(block)[i]);
    let mut args = vec![ctx, out];
    for (i, v) in params(&function.body).enumerate() {
        args.push(builder.ins().load(machine_type(function.ty(*v)), TRUSTED, words, 8 * i as i32));
    }
    let callee = module.declare_func_in_func(id, builder.func);
    let call = builder.ins().call(callee, &args);
    let status = builder.inst_results(call)[0];
    builder.ins().return_(&[status]);
    builder.seal_all_blocks();
    builder.finalize(module.target_config());
}

/// Emits a function.
pub(crate) fn function(
    job: &mut CompileContext,
    function: &Rc<Function>,
    func: &mut ir::Function,
    shared: &mut FunctionBuilderContext,
) {
    let (info, last) = live::analyse(&function.body, function.vars.len());
    let mut builder = FunctionBuilder::new(func, shared);
    let start = builder.create_block();
    builder.append_block_params_for_function_params(start);
    builder.switch_to_block(start);
    let slot =
        builder.create_sized_stack_slot(StackSlotData::new(StackSlotKind::ExplicitSlot, 8 * widest(job, function), 3));
    let (fail, body) = (builder.create_block(), builder.create_block());
    builder.set_cold_block(fail);
    let given: Vec<Value> = builder.block_params(start).to_vec();
    let interrupt =
        builder.ins().load(types::I64, TRUSTED.with_readonly().with_can_move(), given[0], runtime::offset::INTERRUPT);
    let config = job.module.target_config();
    let mut emit = Emit {
        job,
        f: function,
        b: builder,
        last,
        name: function.name.as_str().into(),
        vals: vec![None; function.vars.len()],
        held: HeldValues {
            viewed: element_access::viewed(function),
            virtuals: virtual_rows::virtual_rows(function),
            later: deferred::DeferredValues::of(function),
            collected: rows_in_place::CollectedRows {
                symbolic_zero: group::symbolic_zero(function),
                ..Default::default()
            },
            ..Default::default()
        },
        frame: FunctionFrame { ctx: given[0], out: given[1], interrupt, slot, fail, body },
        nest: LoopNest::default(),
        imported: Imported::default(),
        at: EmitSite::default(),
    };
    emit.whole(&given[2..], &info);
    emit.b.finalize(config);
}

/// The largest number of operand or result words of any operation or call in the function.
fn widest(job: &CompileContext, func: &Function) -> u32 {
    fn of(b: &Block, most: &mut usize) {
        for s in &b.stmts {
            let mut n = 0;
            s.op.each_operand(&mut |_| n += 1);
            *most = (*most).max(n).max(outs(s).count());
            for part in s.op.blocks() {
                *most = (*most).max(params(part).count());
                stacker::maybe_grow(64 * 1024, 1024 * 1024, || of(part, most));
            }
        }
    }
    let mut most = 4;
    of(&func.body, &mut most);
    let callees = job.unit.funcs.iter().map(|g| results(&g.body).count());
    callees.fold(most, usize::max) as u32
}

/// A block that is being emitted, with its liveness.
#[derive(Clone, Copy)]
struct EmissionScope<'a> {
    info: &'a BlockLiveness,
    /// Variables bound outside that die in this block.
    dying: &'a HashSet<Var>,
}

/// The liveness of the blocks inside statement `at`.
fn inner<'s>(sc: &EmissionScope<'s>, at: u32) -> &'s [BlockLiveness] {
    sc.info.inner.get(&at).map_or(&[], Vec::as_slice)
}

/// The address and extents of an array, loaded from its handle. They are constant while the variable is live.
#[derive(Clone, Debug)]
struct ArrayView {
    data: Value,
    dims: SmallVec<[Value; 2]>,
}

/// The machine representation of a variable.
#[derive(Clone, Debug)]
struct BoundVar {
    v: Value,
    view: Option<ArrayView>,
    /// For a row that is only a reference into an array: the array and the index. `v` is then not a handle.
    row: Option<(Var, Value)>,
}

/// Signatures and functions already imported into this function.
#[derive(Default)]
struct Imported {
    sigs: HashMap<Signature, SigRef>,
    callees: HashMap<FuncId, FuncRef>,
}

struct Emit<'a, 'j, 'f> {
    job: &'a mut CompileContext<'j>,
    f: &'a Rc<Function>,
    b: FunctionBuilder<'f>,
    last: Last,
    name: Rc<str>,
    /// Values by variable.
    vals: Vec<Option<BoundVar>>,
    held: HeldValues,
    frame: FunctionFrame,
    nest: LoopNest,
    imported: Imported,
    at: EmitSite,
}

impl Emit<'_, '_, '_> {
    fn ty(&self, v: Var) -> &Ty {
        self.f.ty(v)
    }

    fn word_type(&self, v: Var) -> Type {
        machine_type(self.f.ty(v))
    }

    fn val(&self, v: Var) -> Value {
        // The IR verifier ensures that every variable is bound before it is used.
        self.vals[v.0 as usize].as_ref().map_or(self.frame.ctx, |b| b.v)
    }

    fn int(&mut self, n: i64) -> Value {
        self.b.ins().iconst(types::I64, n)
    }

    fn site(&mut self) -> u32 {
        if let Some(s) = self.at.number {
            return s;
        }
        self.job.tables.sites.push(ErrorSite { name: self.name.clone(), span: self.at.span });
        let s = self.job.tables.sites.len() as u32 - 1;
        self.at.number = Some(s);
        s
    }

    /// Enters a loop, which has further loops in it or not. The answer is the nest to go back to after it.
    fn enter_loop(&mut self, has_loops: bool) -> LoopNest {
        let inside = self.nest.inside(has_loops);
        std::mem::replace(&mut self.nest, inside)
    }

    fn goto(&mut self, to: ir::Block, args: &[Value]) {
        let args: Vec<BlockArg> = args.iter().map(|v| BlockArg::Value(*v)).collect();
        self.b.ins().jump(to, &args);
    }

    /// Continues in a new block if `c` holds; otherwise jumps to `no` with arguments.
    fn unless(&mut self, c: Value, no: ir::Block, args: &[Value]) {
        let next = self.fresh();
        self.stays(c, next, no, args);
        self.b.switch_to_block(next);
    }

    /// Jumps to `inside` if `c` holds, and otherwise to `prologue`, which may be a loop exit.
    ///
    /// The branch tests the negated condition, so that the exit is its first target. Cranelift visits the first target
    /// first, and hoists invariants only up to the first block outside the loop that it meets.
    fn stays(&mut self, c: Value, inside: ir::Block, outside: ir::Block, args: &[Value]) {
        let args: Vec<BlockArg> = args.iter().map(|v| BlockArg::Value(*v)).collect();
        let leaves = self.not(c);
        self.b.ins().brif(leaves, outside, &args, inside, &[]);
    }

    /// The negation of a condition; for a comparison, the complementary one.
    fn not(&mut self, c: Value) -> Value {
        let data = self.b.func.dfg.value_def(c).inst().map(|i| self.b.func.dfg.insts[i]);
        match data {
            Some(ir::InstructionData::IntCompare { cond, args: [x, y], .. }) => {
                self.b.ins().icmp(cond.complement(), x, y)
            }
            Some(ir::InstructionData::FloatCompare { cond, args: [x, y], .. }) => {
                self.b.ins().fcmp(cond.complement(), x, y)
            }
            _ => self.b.ins().icmp_imm_s(IntCC::Equal, c, 0),
        }
    }

    /// Jumps to `yes` with arguments if `c` holds, and to `no` otherwise.
    fn either(&mut self, c: Value, yes: ir::Block, args: &[Value], no: ir::Block) {
        let args: Vec<BlockArg> = args.iter().map(|v| BlockArg::Value(*v)).collect();
        let other = self.not(c);
        self.b.ins().brif(other, no, &[], yes, &args);
    }

    /// Whether the code being emitted is cold.
    fn is_cold(&self) -> bool {
        self.b.current_block().is_some_and(|b| self.b.func.layout.is_cold(b))
    }

    /// A new block, which is cold if the current one is.
    fn fresh(&mut self) -> ir::Block {
        let b = self.b.create_block();
        if self.is_cold() {
            self.b.set_cold_block(b);
        }
        b
    }

    fn cold(&mut self) -> ir::Block {
        let b = self.b.create_block();
        self.b.set_cold_block(b);
        b
    }

    /// Imports a signature once per function.
    fn imported(&mut self, sig: Signature) -> SigRef {
        if let Some(s) = self.imported.sigs.get(&sig) {
            return *s;
        }
        let s = self.b.import_signature(sig.clone());
        self.imported.sigs.insert(sig, s);
        s
    }

    /// Calls a run-time function: arguments are words, and there is at most one result word.
    fn runtime(&mut self, callee: *const u8, args: &[Value], returns: usize) -> Option<Value> {
        // `free` stays a direct call even in cold blocks: an array may be freed in each iteration.
        if self.is_cold()
            && args.first() == Some(&self.frame.ctx)
            && callee != shims::free as *const u8
            && callee != crate::shims::free_cell as *const u8
        {
            return self.cold_call(callee, args, returns);
        }
        let mut sig = Signature::new(self.job.module.isa().default_call_conv());
        sig.params.extend(vec![AbiParam::new(types::I64); args.len()]);
        sig.returns.extend(vec![AbiParam::new(types::I64); returns]);
        let sig = self.imported(sig);
        let at = self.int(callee as i64);
        let call = self.b.ins().call_indirect(sig, at, args);
        self.b.inst_results(call).first().copied()
    }

    /// Stores words in the frame, for the call that follows. Returns their address.
    fn words_on_stack(&mut self, words: &[Value]) -> Value {
        let slot = StackSlotData::new(StackSlotKind::ExplicitSlot, 8 * words.len() as u32, 3);
        let slot = self.b.create_sized_stack_slot(slot);
        for (k, word) in (0..).zip(words) {
            self.b.ins().stack_store(types::I64, *word, slot, 8 * k);
        }
        self.b.ins().stack_addr(types::I64, slot, 0)
    }

    /// An out-of-line cold call. It preserves all registers, so that the hot path keeps its values in them.
    fn cold_call(&mut self, f: *const u8, args: &[Value], returns: usize) -> Option<Value> {
        let id = self.job.rare.id(self.job.module, args.len())?;
        let callee = self.callee(id);
        let at = self.int(f as i64);
        self.b.ins().call(callee, &[&[at], args].concat());
        (returns > 0).then(|| self.b.ins().load(types::I64, TRUSTED, self.frame.ctx, runtime::offset::RETURNED))
    }

    /// Imports a function of the unit once per calling function.
    fn callee(&mut self, id: FuncId) -> FuncRef {
        if let Some(f) = self.imported.callees.get(&id) {
            return *f;
        }
        let f = self.job.module.declare_func_in_func(id, self.b.func);
        self.imported.callees.insert(id, f);
        f
    }

    /// Calls a run-time function that returns a status.
    fn fallible(&mut self, f: *const u8, args: &[Value]) {
        if let Some(status) = self.runtime(f, args, 1) {
            self.continue_if_ok(status);
        }
    }

    /// Continues if a status is 0; otherwise returns 1.
    fn continue_if_ok(&mut self, status: Value) {
        let (fail, next) = (self.frame.fail, self.fresh());
        self.b.ins().brif(status, fail, &[], next, &[]);
        self.b.switch_to_block(next);
    }

    /// Stops if the stack is exhausted, or if an interrupt was requested.
    fn guard_stack(&mut self) {
        let recursive = self.job.unit.recursive;
        if !recursive && self.job.unit.funcs.len() == 1 || self.job.unit.is_outlined(self.job.me) {
            return;
        }
        let limit = self.b.ins().load(types::I64, TRUSTED, self.frame.ctx, runtime::offset::STACK_LIMIT);
        let sp = self.b.ins().get_stack_pointer(types::I64);
        let mut stops = self.b.ins().icmp(IntCC::UnsignedLessThanOrEqual, sp, limit);
        if recursive {
            let flag = self.b.ins().load(types::I8, TRUSTED, self.frame.interrupt, 0);
            stops = self.b.ins().bor(stops, flag);
        }
        let (halt, next) = (self.cold(), self.fresh());
        self.b.ins().brif(stops, halt, &[], next, &[]);
        self.b.switch_to_block(halt);
        self.fallible(shims::halt as *const u8, &[self.frame.ctx, sp]);
        self.goto(next, &[]);
        self.b.switch_to_block(next);
    }

    /// Emits the whole function.
    fn whole(&mut self, given: &[Value], info: &BlockLiveness) {
        self.guard_stack();
        self.nest.is_outer = !self.job.unit.recursive;
        self.begin(given);
        let f = self.f.clone();
        self.tail(&f.body, &EmissionScope { info, dying: &HashSet::new() });
        self.b.switch_to_block(self.frame.fail);
        let one = self.b.ins().iconst(types::I64, 1);
        self.b.ins().return_(&[one]);
        self.b.seal_all_blocks();
    }

    /// Emits the start of the body, to which self-calls in tail position jump back.
    fn begin(&mut self, given: &[Value]) {
        let body = self.frame.body;
        let own: Vec<Var> = params(&self.f.body).copied().collect();
        for v in &own {
            let t = self.word_type(*v);
            self.b.append_block_param(body, t);
        }
        self.goto(body, given);
        self.b.switch_to_block(body);
        let vals: Vec<Value> = self.b.block_params(body).to_vec();
        for (v, x) in own.iter().zip(vals) {
            self.bind(*v, x);
        }
        own.iter().for_each(|v| self.drop_unread(*v));
    }

    /// Binds a variable to a value whose reference it owns.
    fn bind(&mut self, v: Var, x: Value) {
        let view = self.held.viewed.contains(&v).then(|| self.view(x, ValueForm::of(self.f.ty(v))));
        self.vals[v.0 as usize] = Some(BoundVar { v: x, view, row: None });
    }

    fn view(&mut self, h: Value, e: ValueForm) -> ArrayView {
        let data = self.b.ins().load(types::I64, TRUSTED, h, handle::offset::DATA);
        let dims = (0..usize::from(e.0 % 8))
            .map(|k| self.b.ins().load(types::I64, TRUSTED, h, handle::offset::DIMS + 8 * k as i32))
            .collect();
        ArrayView { data, dims }
    }

    /// Releases a result that is never used.
    fn drop_unread(&mut self, v: Var) {
        if self.last[v.0 as usize] == NEVER && is_ref(self.f.ty(v)) && !self.held.pinned.contains(&v) {
            let x = self.val(v);
            self.let_go(v, x);
        }
    }

    fn bind_outs(&mut self, s: &Stmt, vals: &[Value]) {
        let vs: Vec<Var> = outs(s).copied().collect();
        for (v, x) in vs.iter().zip(vals) {
            self.bind(*v, *x);
        }
        vs.iter().for_each(|v| self.drop_unread(*v));
    }

    /// Increments a reference count.
    fn retain(&mut self, h: Value) {
        let n = self.b.ins().load(types::I64, TRUSTED, h, handle::offset::RC);
        let n = self.b.ins().iadd_imm_s(n, 1);
        self.b.ins().store(TRUSTED, n, h, handle::offset::RC);
    }

    /// Drops a reference that a variable owns.
    fn let_go(&mut self, v: Var, x: Value) {
        match self.ty(v) {
            Ty::Data(_) => self.release_cell(x),
            _ => self.release(x),
        }
    }

    /// Drops a reference to a handle.
    fn release(&mut self, h: Value) {
        let small = self.nest.is_outer || self.is_cold();
        match small.then(|| self.job.rare.release(self.job.module)).flatten() {
            Some(id) => {
                let callee = self.callee(id);
                self.b.ins().call(callee, &[self.frame.ctx, h]);
            }
            None => self.release_by(h, shims::free as *const u8),
        }
    }

    /// Decrements a reference count, and calls `free` when it reaches zero.
    fn release_by(&mut self, h: Value, free: *const u8) {
        let n = self.b.ins().load(types::I64, TRUSTED, h, handle::offset::RC);
        let n = self.b.ins().iadd_imm_s(n, -1);
        self.b.ins().store(TRUSTED, n, h, handle::offset::RC);
        let (gone, next) = (self.cold(), self.fresh());
        self.b.ins().brif(n, next, &[], gone, &[]);
        self.b.switch_to_block(gone);
        self.runtime(free, &[self.frame.ctx, h], 0);
        self.goto(next, &[]);
        self.b.switch_to_block(next);
    }

    /// Whether statement `at` is the last use of the variable in the block.
    fn dies(&self, v: Var, at: u32, sc: &EmissionScope) -> bool {
        if self.held.pinned.contains(&v) {
            return false;
        }
        match sc.info.free.get(&v) {
            Some(last) => *last == at && sc.dying.contains(&v),
            None => self.last[v.0 as usize] == at,
        }
    }

    /// For each operand, whether it is consumed: true for the last occurrence of each variable that dies here, unless
    /// `keep` holds it.
    fn takes(&self, vars: &[Var], at: u32, sc: &EmissionScope, keep: &dyn Fn(Var) -> bool) -> Vec<bool> {
        let take = |(i, v): (usize, &Var)| {
            is_ref(self.f.ty(*v)) && !vars[i + 1..].contains(v) && !keep(*v) && self.dies(*v, at, sc)
        };
        vars.iter().enumerate().map(take).collect()
    }

    /// Operands with a reference each, either consumed or added.
    fn owned(&mut self, vars: &[Var], at: u32, sc: &EmissionScope, keep: &dyn Fn(Var) -> bool) -> Vec<Value> {
        let takes = self.takes(vars, at, sc, keep);
        let vals: Vec<Value> = vars.iter().map(|v| self.val(*v)).collect();
        for ((v, x), take) in vars.iter().zip(&vals).zip(takes) {
            if is_ref(self.f.ty(*v)) && !take {
                self.retain(*x);
            }
        }
        vals
    }

    /// Releases those of the given variables that die at a statement.
    fn release_dying(&mut self, vars: &[Var], at: u32, sc: &EmissionScope) {
        for (i, v) in vars.iter().enumerate() {
            if !vars[..i].contains(v) && is_ref(self.f.ty(*v)) && self.dies(*v, at, sc) {
                let x = self.val(*v);
                self.let_go(*v, x);
            }
        }
    }

    fn block(&mut self, b: &Block, sc: &EmissionScope) {
        stacker::maybe_grow(128 * 1024, 2 * 1024 * 1024, || {
            self.stmts(b, b.stmts.len() as u32, sc);
        });
    }

    /// Emits the first `end` statements of a block.
    fn stmts(&mut self, block: &Block, end: u32, sc: &EmissionScope) {
        let mut position = 0;
        while position < end {
            if self.indexed_row(&block.stmts[position as usize], sc) {
                position += 1;
                continue;
            }
            if let Some(next) = self.trip(block, position, sc) {
                position = next;
                continue;
            }
            if position + 1 < end && self.rank_one(block, position, sc) {
                position += 2;
                continue;
            }
            position = match self.group(block, position, sc) {
                Some(next) => next,
                None => self.loop_and_sums(block, position, sc),
            };
        }
    }

    fn stmt(&mut self, s: &Stmt, at: u32, sc: &EmissionScope) {
        self.at = EmitSite::of(s.span);
        match &s.op {
            Op::If(c, x, y) => self.if_(s, *c, [x, y], at, sc),
            Op::Switch(v, arms) => self.switch(s, *v, arms, at, sc),
            Op::Loop(l) => self.loop_(s, l, at, sc),
            Op::Soac(x) => self.soac(s, x, at, sc),
            Op::ReduceByIndex { dest, op, keys, values, .. } => self.by_index(s, (dest, *keys, values, op), at, sc),
            Op::Call { .. } => self.call(s, at, sc),
            _ => self.plain(s, at, sc),
        }
    }

    /// Emits a statement that is neither control flow nor a call.
    fn plain(&mut self, s: &Stmt, at: u32, sc: &EmissionScope) {
        if self.scalar(s) || self.data(s, at, sc) || self.array(s, at, sc) || self.quick(s, at, sc) {
            return;
        }
        let vals = self.slow(s, at, sc);
        self.bind_outs(s, &vals);
    }

    /// Emits the slow path, and consumes operands that die.
    fn slow(&mut self, s: &Stmt, at: u32, sc: &EmissionScope) -> Vec<Value> {
        let site = op_site::site(&self.job.unit.datas, self.f, s);
        let takes = self.takes(&site.vars, at, sc, &|_| false);
        self.slow_site(site, takes, outs(s).map(|v| WordKind::of(self.f.ty(*v))).collect())
    }

    /// Emits the slow path without consuming any operand.
    fn slow_lent(&mut self, s: &Stmt) -> Vec<Value> {
        let site = op_site::site(&self.job.unit.datas, self.f, s);
        let takes = vec![false; site.vars.len()];
        self.slow_site(site, takes, outs(s).map(|v| WordKind::of(self.f.ty(*v))).collect())
    }

    fn slow_site(&mut self, site: op_site::OpSite, mut takes: Vec<bool>, outs: Vec<WordKind>) -> Vec<Value> {
        let mut args = Vec::new();
        for (v, take) in site.vars.iter().zip(&mut takes) {
            let (x, made) = self.handle(*v);
            *take |= made;
            args.push((WordKind::of(self.f.ty(*v)), x));
        }
        self.slow_on(site.what, &args, takes, outs, site.zeros)
    }

    /// A call of the slow path with few operands from a cold block.
    fn slow_seldom(&mut self, slow: SlowOp, args: &[(WordKind, Value)]) -> Vec<Value> {
        let out = slow.outs.first().copied();
        let mut words = vec![self.frame.ctx, self.frame.ctx];
        for (kind, x) in args {
            words.push(self.to_word(*kind, *x));
        }
        self.job.tables.slow.push(slow);
        words[1] = self.int(self.job.tables.slow.len() as i64 - 1);
        let f = shims::SLOW_OF[args.len()];
        let Some(status) = self.cold_call(f, &words, 1) else { return Vec::new() };
        let made = out.map(|kind| self.b.ins().load(word_of(kind), TRUSTED, self.frame.ctx, runtime::offset::MADE));
        self.continue_if_ok(status);
        made.into_iter().collect()
    }

    /// A call of the slow path on these operands.
    fn slow_on(
        &mut self,
        what: adl_interp::ir::eval_op::LoweredOp,
        args: &[(WordKind, Value)],
        takes: Vec<bool>,
        outs: Vec<WordKind>,
        zeros: Vec<adl_interp::value::Value>,
    ) -> Vec<Value> {
        let site = self.site();
        let kinds = args.iter().map(|a| a.0).zip(takes).collect();
        let slow = SlowOp { what, args: kinds, outs: outs.clone(), zeros, site };
        if self.is_cold() && args.len() < shims::SLOW_OF.len() && outs.len() <= 1 {
            return self.slow_seldom(slow, args);
        }
        for (i, (kind, x)) in args.iter().enumerate() {
            let w = self.to_word(*kind, *x);
            self.b.ins().stack_store(types::I64, w, self.frame.slot, 8 * i as i32);
        }
        let id = self.job.tables.slow.len() as i64;
        self.job.tables.slow.push(slow);
        let id = self.int(id);
        let slot = self.b.ins().stack_addr(types::I64, self.frame.slot, 0);
        self.fallible(shims::slow as *const u8, &[self.frame.ctx, id, slot]);
        outs.iter().enumerate().map(|(i, kind)| self.from_slot(*kind, i)).collect()
    }

    fn to_word(&mut self, kind: WordKind, x: Value) -> Value {
        match kind {
            WordKind::I64 | WordKind::Ref(_) | WordKind::Data(_) => x,
            WordKind::F64 => self.b.ins().bitcast(types::I64, MemFlagsData::new(), x),
            WordKind::F32 => {
                let bits = self.b.ins().bitcast(types::I32, MemFlagsData::new(), x);
                self.b.ins().uextend(types::I64, bits)
            }
            WordKind::Bool => self.b.ins().uextend(types::I64, x),
        }
    }

    /// Loads a word that the runtime or a callee has stored.
    fn from_slot(&mut self, kind: WordKind, i: usize) -> Value {
        self.b.ins().stack_load(types::I64, word_of(kind), self.frame.slot, 8 * i as i32)
    }
}

/// The machine type of a kind.
fn word_of(kind: WordKind) -> Type {
    match kind {
        WordKind::F64 => types::F64,
        WordKind::F32 => types::F32,
        WordKind::Bool => types::I8,
        WordKind::I64 | WordKind::Ref(_) | WordKind::Data(_) => types::I64,
    }
}
