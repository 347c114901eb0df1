//! Machine code of one unit: compilation, execution, and release.

use crate::Vectors;
use crate::code_memory::{CodeMemory, CodeSize};
use crate::emit;
use crate::handle::HandlePool;
use crate::limits::module::{INSTRUCTION, LARGE, MARGIN, MAX_STACK, MOST, STACK};
use crate::runtime::{Ctx, Tables, WordKind};
use crate::unit::Unit;
use crate::wide::{self, Extension};
use adl_interp::error::{Error, Res, codes};
use adl_interp::fault;
use adl_interp::ir::boxes;
use adl_interp::ir::native::{Listing, LoweredIr, Native};
use adl_interp::memory;
use adl_interp::ops::parallel;
use adl_interp::value::Value;
use adl_interp::vm::Machine;
use cranelift_codegen::Context;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::{self, AbiParam, Signature, UserFuncName, types};
use cranelift_codegen::isa::{CallConv, OwnedTargetIsa, TargetIsa};
use cranelift_codegen::settings::{self, Configurable};
use cranelift_frontend::FunctionBuilderContext;
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{FuncId, Linkage, Module, ModuleError, ModuleReloc};
use std::rc::Rc;

/// Bytes of a register's place on the stack.
const PLACE: usize = 16;

/// The target machine.
pub(crate) struct Target {
    isa: OwnedTargetIsa,
    /// The same machine with single-pass register allocation, for large functions.
    one_pass: OwnedTargetIsa,
    /// The extension whose vectors kernels have.
    wide: Option<Extension>,
}

impl Target {
    /// The host machine.
    pub fn new(vectors: Vectors) -> Result<Target, String> {
        Ok(Target {
            isa: machine("backtracking", cfg!(debug_assertions))?,
            one_pass: machine("single_pass", false)?,
            wide: match vectors {
                Vectors::Widest => Extension::of_processor(),
                Vectors::Eight => Some(Extension::Avx512),
                Vectors::Four => Some(Extension::Avx2),
                Vectors::Short => None,
            },
        })
    }

    /// The settings with which a function is compiled.
    fn isa_for(&self, f: &ir::Function) -> &dyn TargetIsa {
        if f.dfg.num_insts() < LARGE { &*self.isa } else { &*self.one_pass }
    }
}

/// Upper bound on the part of a function's frame that [`MARGIN`] does not cover: the single-pass allocator spills every
/// value.
fn frame(f: &ir::Function) -> usize {
    if f.dfg.num_insts() < LARGE { 0 } else { PLACE * (f.dfg.num_insts() + f.dfg.num_values()) }
}

fn machine(registers: &str, verifies: bool) -> Result<OwnedTargetIsa, String> {
    let mut flags = settings::builder();
    let set = [
        ("regalloc_algorithm", registers),
        ("opt_level", "speed"),
        ("is_pic", "false"),
        ("use_colocated_libcalls", "false"),
        ("preserve_frame_pointers", "true"),
        ("enable_verifier", if verifies { "true" } else { "false" }),
    ];
    for (name, value) in set {
        flags.set(name, value).map_err(|e| e.to_string())?;
    }
    let isa = cranelift_native::builder().map_err(str::to_owned)?;
    let isa = isa.finish(settings::Flags::new(flags)).map_err(|e| e.to_string())?;
    // Scalars are read from the low bytes of words, which requires little-endian byte order.
    match isa.endianness() {
        cranelift_codegen::ir::Endianness::Little => Ok(isa),
        cranelift_codegen::ir::Endianness::Big => Err("this machine stores numbers from their high end".to_owned()),
    }
}

/// A module that frees its memory when dropped.
struct JitCode(Option<JITModule>);

impl Drop for JitCode {
    fn drop(&mut self) {
        if let Some(m) = self.0.take() {
            // SAFETY: pointers into the module are held only by the `Compiled` that owns this field, and code runs only
            // through a reference to it.
            unsafe { m.free_memory() };
        }
    }
}

type NativeEntry = unsafe extern "C" fn(*mut Ctx, *mut u64, *mut u64) -> u64;

/// The machine code of a function and everything that it calls.
pub(crate) struct Compiled {
    entry: NativeEntry,
    params: Vec<WordKind>,
    results: Vec<WordKind>,
    recursive: bool,
    tables: Tables,
    frames: Frames,
    _code: JitCode,
}

/// Upper bounds in bytes on stack frames: of the largest function, and the sum over all functions.
#[derive(Clone, Copy, Default)]
struct Frames {
    largest: usize,
    all: usize,
}

/// Compiles a function with everything that it calls. Fails with a message if the unit is too large or Cranelift
/// rejects it.
pub(crate) fn compile(target: &Target, source: &LoweredIr, at: u32) -> Result<Rc<dyn Native>, String> {
    if target.wide.is_some_and(|e| !e.is_available()) {
        return Err("this processor does not have such vectors".to_owned());
    }
    let unit = Unit::new(source, at)?;
    let (mut module, size) = empty_module(target);
    let mut tables = tables(&unit)?;
    let made = define((&mut module, &size), target, &unit, &mut tables, &mut None);
    let code = JitCode(Some(module));
    let (entry, frames) = made?;
    let Some(m) = &code.0 else { return Err("no module".to_owned()) };
    let pointer = m.get_finalized_function(entry);
    // SAFETY: `entry` was declared with the signature of `NativeEntry`.
    let entry = unsafe { std::mem::transmute::<*const u8, NativeEntry>(pointer) };
    let f = &unit.funcs[0];
    let kinds = |vs: &[adl_ir::Var], ws: &[adl_ir::Var]| vs.iter().chain(ws).map(|v| WordKind::of(f.ty(*v))).collect();
    let b = &f.body;
    Ok(Rc::new(Compiled {
        entry,
        params: kinds(&b.params, &b.lin_params),
        results: kinds(&b.results, &b.lin_results),
        recursive: unit.recursive,
        tables,
        frames,
        _code: code,
    }))
}

/// A module without functions, and the size that its code is to have.
fn empty_module(target: &Target) -> (JITModule, CodeSize) {
    let size = CodeSize::default();
    let mut builder = JITBuilder::with_isa(target.isa.clone(), cranelift_module::default_libcall_names());
    builder.memory_provider(Box::new(CodeMemory::new(size.clone())));
    (JITModule::new(builder), size)
}

/// The tables of a unit, with the constructors of all declared types of its variables.
fn tables(unit: &Unit) -> Result<Tables, String> {
    let mut t = Tables::default();
    unit.funcs.iter().flat_map(|f| &f.vars).for_each(|v| t.layouts.add(&unit.datas, &v.ty));
    if t.layouts.full { Err("more constructors than native code can tell apart".to_owned()) } else { Ok(t) }
}

/// The native code of a function and everything that it calls, as text.
pub(crate) fn listing(target: &Target, source: &LoweredIr, at: u32, form: Listing) -> Result<String, String> {
    let unit = Unit::new(source, at)?;
    let (module, size) = empty_module(target);
    let mut code = JitCode(Some(module));
    let mut texts = Some(Texts { form, out: String::new() });
    if let Some(m) = &mut code.0 {
        define((m, &size), target, &unit, &mut tables(&unit)?, &mut texts)?;
    }
    Ok(texts.map_or_else(String::new, |t| t.out))
}

/// Listings of functions, collected during compilation.
struct Texts {
    form: Listing,
    out: String,
}

/// A function to be compiled.
struct CompileJob {
    id: FuncId,
    /// Its name in listings, if it is listed.
    name: Option<String>,
    func: ir::Function,
    /// The extension for which [`crate::wide`] compiles it.
    wide: Option<Extension>,
}

/// The machine code of one function.
struct CompiledFunction {
    id: FuncId,
    alignment: u64,
    bytes: Vec<u8>,
    relocs: Vec<ModuleReloc>,
    text: String,
}

/// Defines all functions and the entry wrapper. All are emitted first, then compiled on all threads.
fn define(
    (module, size): (&mut JITModule, &CodeSize),
    target: &Target,
    unit: &Unit,
    tables: &mut Tables,
    texts: &mut Option<Texts>,
) -> Result<(FuncId, Frames), String> {
    let text = |e: ModuleError| format!("{e:?}");
    let (mut jobs, entry) = emitted(module, target.wide, unit, tables)?;
    let weight = jobs.iter().map(|j| j.func.dfg.num_insts()).sum::<usize>() * INSTRUCTION;
    let frames = jobs
        .iter()
        .map(|j| frame(&j.func))
        .fold(Frames::default(), |f, n| Frames { largest: f.largest.max(n), all: f.all + n });
    // Longest first, to balance the threads.
    jobs.sort_by_key(|j| std::cmp::Reverse(j.func.dfg.num_insts()));
    let form = texts.as_ref().map(|t| t.form);
    let mut made = parallel::run_jobs(jobs, weight, |job| machine_code(target, job, form))
        .into_iter()
        .collect::<Result<Vec<CompiledFunction>, String>>()?;
    made.sort_by_key(|m| m.id.as_u32());
    size.set(made.iter().map(|m| (m.bytes.len(), m.relocs.len())));
    for m in &made {
        module.define_function_bytes(m.id, m.alignment, &m.bytes, &m.relocs).map_err(text)?;
    }
    if let Some(t) = texts {
        t.out.extend(made.into_iter().map(|m| m.text));
    }
    module.finalize_definitions().map_err(text)?;
    Ok((entry, frames))
}

/// All functions of a unit, and which one they are entered through.
fn emitted(
    module: &mut JITModule,
    wide: Option<Extension>,
    unit: &Unit,
    tables: &mut Tables,
) -> Result<(Vec<CompileJob>, FuncId), String> {
    let text = |e: ModuleError| format!("{e:?}");
    let conv = if unit.tail_calls { CallConv::Tail } else { module.isa().default_call_conv() };
    let mut ids = Vec::new();
    for (i, f) in unit.funcs.iter().enumerate() {
        ids.push(module.declare_function(&format!("f{i}"), Linkage::Local, &emit::signature(f, conv)).map_err(text)?);
    }
    let mut shared = FunctionBuilderContext::new();
    let (mut rare, mut kernels, mut jobs, mut size) = (emit::ColdCalls::default(), Vec::new(), Vec::new(), 0);
    for (me, function) in unit.funcs.iter().enumerate() {
        let mut func = empty(ids[me], emit::signature(function, conv));
        emit::function(
            &mut emit::CompileContext {
                module,
                unit,
                ids: &ids,
                tables,
                rare: &mut rare,
                kernels: &mut kernels,
                wide,
                me,
            },
            function,
            &mut func,
            &mut shared,
        );
        size += func.dfg.num_insts();
        if size > MOST {
            return Err(crate::unit::too_large(&unit.funcs[0]));
        }
        jobs.push(CompileJob { id: ids[me], name: Some(function.name.clone()), func, wide: None });
    }
    jobs.extend(kernels.into_iter().map(|k| CompileJob {
        id: k.id,
        name: Some("some iterations of a loop".to_owned()),
        func: k.func,
        wide: k.wide,
    }));
    for (args, id) in rare.all() {
        let mut func = empty(*id, Signature::new(module.isa().default_call_conv()));
        emit::rare_function(module, *args, &mut func, &mut shared);
        jobs.push(CompileJob { id: *id, name: None, func, wide: None });
    }
    if let Some((id, call)) = rare.releases() {
        let mut func = empty(id, Signature::new(module.isa().default_call_conv()));
        emit::release_function(module, call, &mut func, &mut shared);
        jobs.push(CompileJob { id, name: None, func, wide: None });
    }
    let entry = entered(module, &unit.funcs[0], ids[0], &mut shared).map_err(text)?;
    let id = entry.id;
    jobs.push(entry);
    Ok((jobs, id))
}

/// A function without code.
fn empty(id: FuncId, signature: Signature) -> ir::Function {
    ir::Function::with_name_signature(UserFuncName::user(0, id.as_u32()), signature)
}

/// Emits the entry wrapper, which calls a function with arguments from an array of words.
fn entered(
    module: &mut JITModule,
    f: &adl_ir::Function,
    id: FuncId,
    shared: &mut FunctionBuilderContext,
) -> Result<CompileJob, ModuleError> {
    let mut sig = Signature::new(module.isa().default_call_conv());
    sig.params.extend([AbiParam::new(types::I64); 3]);
    sig.returns.push(AbiParam::new(types::I64));
    let entry = module.declare_function("entry", Linkage::Export, &sig)?;
    let mut func = empty(entry, sig);
    emit::entry(module, f, id, &mut func, shared);
    Ok(CompileJob { id: entry, name: None, func, wide: None })
}

/// Compiles a function to machine code, and to text if a listing is requested.
fn machine_code(target: &Target, job: CompileJob, form: Option<Listing>) -> Result<CompiledFunction, String> {
    fault::point(fault::PanicPoint::Compiler);
    let isa = target.isa_for(&job.func);
    let mut ctx = Context::for_function(job.func);
    if let Some(extension) = job.wide {
        ctx.optimize(isa, &mut ControlPlane::default()).map_err(|e| format!("{e:?}"))?;
        let (bytes, listed) = wide::compile(extension, &ctx.func, form == Some(Listing::Asm))?;
        let listed = if form == Some(Listing::Clif) { ctx.func.display().to_string() } else { listed };
        let text = job.name.filter(|_| form.is_some()).map_or_else(String::new, |name| headed(&name, &listed));
        return Ok(CompiledFunction { id: job.id, alignment: 64, bytes, relocs: Vec::new(), text });
    }
    ctx.set_disasm(form == Some(Listing::Asm));
    let code = ctx.compile(isa, &mut ControlPlane::default()).map_err(|e| format!("{:?}", e.inner))?;
    let (alignment, bytes) = (u64::from(code.buffer.alignment), code.code_buffer().to_vec());
    let shown = |form| match form {
        Listing::Asm => ctx.compiled_code().and_then(|c| c.vcode.clone()).unwrap_or_default(),
        Listing::Clif => ctx.func.display().to_string(),
    };
    let text = job.name.zip(form).map_or_else(String::new, |(name, form)| headed(&name, &shown(form)));
    let relocs = ctx.compiled_code().map_or_else(Vec::new, |c| {
        c.buffer.relocs().iter().map(|r| ModuleReloc::from_mach_reloc(r, &ctx.func, job.id)).collect()
    });
    Ok(CompiledFunction { id: job.id, alignment, bytes, relocs, text })
}

/// The listing of a function below its name.
fn headed(name: &str, listed: &str) -> String {
    format!("; {name}\n{}\n", listed.trim_end())
}

/// Bytes of stack for a unit with recursion, by the limit on the stack of interpreted code.
fn recursion_stack(budget: usize) -> usize {
    budget.clamp(STACK, MAX_STACK)
}

/// Runs something on a stack that suffices for units with recursion, and for `other` bytes that the caller uses, of which
/// `least` must be left. It is `other` alone where address space is scarce: a unit then takes the stack that it needs
/// when it runs. On such a stack another is not made, and what recursion has used of it goes back to the system afterwards.
pub fn on_deep_stack<T>(budget: usize, (least, other): (usize, usize), run: impl FnOnce() -> T) -> T {
    let deep = recursion_stack(budget);
    if crate::alloc::is_on_deep_stack() && stacker::remaining_stack().is_some_and(|left| left >= deep + least) {
        let out = run();
        crate::alloc::release_unused_stack();
        return out;
    }
    if crate::alloc::address_space_is_limited() || crate::alloc::fitting(deep + other, deep + other) == 0 {
        return stacker::maybe_grow(least, other, run);
    }
    stacker::grow(deep + other, || crate::alloc::with_deep_stack(run))
}

impl Native for Compiled {
    fn run(&self, machine: &mut Machine, args: Vec<Value>) -> Res<Vec<Value>> {
        machine.poll()?;
        if !self.recursive {
            // Twice the sum, so that the stack check of the innermost function still leaves its own frame free.
            let frames = 2 * self.frames.all;
            return stacker::maybe_grow(STACK / 2 + frames, STACK + frames, || self.enter(machine, args));
        }
        let wanted = recursion_stack(machine.stack.budget);
        if stacker::remaining_stack().is_some_and(|left| left >= wanted) {
            let out = self.enter(machine, args);
            crate::alloc::stack_was_used(out.is_err());
            return out;
        }
        let size = crate::alloc::fitting(wanted, STACK);
        if size == 0 {
            return Err(memory::exhausted(crate::alloc::peak_resident_bytes()));
        }
        let out = stacker::grow(size, || self.enter(machine, args));
        // If address space limited the stack, the error reports exhausted memory instead of recursion depth.
        out.map_err(|e| {
            if size < wanted && e.diag.code == codes::DEPTH {
                at_place_of(memory::exhausted(crate::alloc::peak_resident_bytes()), e)
            } else {
                e
            }
        })
    }
}

impl Compiled {
    fn enter(&self, machine: &mut Machine, args: Vec<Value>) -> Res<Vec<Value>> {
        let here = std::ptr::from_ref(&args) as usize;
        let room = stacker::remaining_stack().unwrap_or(STACK / 2);
        let room = if self.recursive { room.min(recursion_stack(machine.stack.budget)) } else { room };
        let pool = HandlePool::new(&raw const self.tables.layouts);
        if pool.cells.symbolic_zero.is_null() && !self.tables.layouts.is_empty() {
            return Err(Error::new(codes::MEMORY, "there is not enough memory for data"));
        }
        let mut ctx = Ctx {
            interrupt: machine.interrupt.as_ptr().cast_const().cast(),
            tick: machine.tick.as_ptr().cast_const().cast(),
            stack_limit: here.saturating_sub(room).saturating_add(MARGIN + self.frames.largest),
            symbolic_zero: pool.symbolic_zero,
            symbolic_zero_data: pool.cells.symbolic_zero,
            returned: 0,
            made: 0,
            pool,
            scratch: Vec::new(),
            tables: &raw const self.tables,
            machine,
            error: None,
        };
        if args.len() != self.params.len() {
            return Err(wrong());
        }
        let pack_results = std::mem::take(&mut ctx.machine().pack_results);
        let mut words = Vec::with_capacity(args.len());
        for (kind, v) in self.params.iter().zip(args) {
            let v = match kind {
                WordKind::Ref(e) => boxes::pack(&v, e.boxes()).unwrap_or(v),
                _ => v,
            };
            words.push(ctx.word(*kind, v).ok_or_else(wrong)?);
        }
        let mut outs = vec![0u64; self.results.len()];
        // SAFETY: the code was compiled for these parameter and result kinds, and `word_conversion` and `outs` have their
        // lengths; `self` keeps code and tables alive during the call.
        let failed = unsafe { (self.entry)(&raw mut ctx, words.as_mut_ptr(), outs.as_mut_ptr()) };
        fault::resume();
        if failed != 0 {
            return Err(ctx.error.take().unwrap_or_else(wrong));
        }
        let mut results = Vec::with_capacity(outs.len());
        for (kind, w) in self.results.iter().zip(outs) {
            // SAFETY: native code has written a word of the result's kind, with one reference, for each result.
            let v = unsafe { ctx.value(*kind, true, w) };
            results.push(match kind {
                WordKind::Ref(e) if !pack_results => boxes::unpack(v, e.boxes()),
                _ => v,
            });
        }
        Ok(results)
    }
}

/// Replaces the message of an error, and keeps its location.
fn at_place_of(mut new: Box<Error>, old: Box<Error>) -> Box<Error> {
    let (message, hint) = (std::mem::take(&mut new.diag.message), new.diag.hint.take());
    let code = new.diag.code;
    *new = *old;
    (new.diag.code, new.diag.message, new.diag.hint) = (code, message, hint);
    new
}

fn wrong() -> Box<Error> {
    Error::new(codes::STRUCTURE, "a value of another kind than its type says")
}
