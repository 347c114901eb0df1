//! Lowering of IR to register code.
//!
//! Control flow becomes jumps. Calls become calls between the functions of one recursive group without captured
//! values. Scalar operations become instructions of the machine; all other operations become [`LoweredStep`]s. Linear
//! variables are treated like other variables.
//!
//! Registers are reused: a variable releases its register after its last use ([`super::live`]), so that frames
//! are small and deep recursion is cheap. Nested blocks release all registers that they allocate.

mod branches;
mod loops;
mod plain;
pub mod verify;

use super::live::{self, BlockLiveness, Last, NEVER};
use super::native::{CompileState, Compiler, LoweredIr, Native};
use super::{fuse_elementwise, vectorise};
use crate::error::{Error, Res, codes};
use crate::limits::ir_lower::MAX_REGISTERS;
use crate::value::Value;
use crate::vm::code::{Arg, Code, FnCall, I, LoweredStep, R};
use crate::vm::{CodeList, Fun, RecursiveGroup};
use adl_ir::rewrite::compact::compact;
use adl_ir::{Block, FnId, Function, Op, Program, Stmt, Ty, Var, Zeros};
use adl_opt::pipelines;
use adl_syntax::span::Span;
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// The lowered functions of one program.
#[derive(Default)]
pub struct Linker {
    index: HashMap<FnId, u32>,
    order: Vec<FnId>,
    codes: CodeList,
    group: Option<Rc<RecursiveGroup>>,
    /// The IR from which native code is compiled.
    source: Rc<RefCell<LoweredIr>>,
    /// Functions in which no array is a symbolic zero.
    there: HashSet<FnId>,
}

impl Linker {
    /// Lowers a function to a value of the machine. It takes all parameters, non-linear ones first, and returns
    /// the single result or a tuple of all results.
    pub fn function(&mut self, program: &Program, id: FnId) -> Res<Rc<Fun>> {
        let (at, before) = (self.place(id), self.codes.len());
        while self.codes.len() < self.order.len() {
            let next = self.order[self.codes.len()];
            let mut func = (**program.func(next)).clone();
            adl_opt::run(pipelines::INLINED, program, &mut func, Zeros::Symbolic);
            // What follows keeps three copies of the function.
            compact(&mut func);
            let inlined = func.clone();
            self.place_callees(&inlined);
            adl_opt::run(pipelines::FINISH, program, &mut func, Zeros::Symbolic);
            let mut kept = func.clone();
            let chains = self.there.contains(&next)
                && adl_opt::run(pipelines::POINTWISE, program, &mut kept, Zeros::Materialized);
            adl_opt::run(pipelines::NATIVE, program, &mut kept, Zeros::Symbolic);
            vectorise::loops(&mut func);
            fuse_elementwise::ordered(&mut func);
            vectorise::sums(&mut kept);
            let mut code = Lower::function(program, &func, self)?;
            if adl_ir::verify::is_on() {
                verified(&func, verify::verify(&code));
            }
            code.lowered.native = Some(Rc::new(self.keep(program, next, kept, inlined, chains)));
            self.codes.push(Rc::new(code));
            self.group = None;
        }
        if adl_ir::verify::is_on() && self.group.is_none() {
            verified(program.func(id), verify::verify_calls(&self.codes, before));
        }
        let codes = &self.codes;
        let group =
            self.group.get_or_insert_with(|| Rc::new(RecursiveGroup { codes: codes.clone(), captured: Vec::new() }));
        Ok(Rc::new(Fun::Member(group.clone(), at)))
    }

    /// Compiles the function to native code regardless of cost. The error says why it cannot be compiled.
    pub fn native(&mut self, p: &Program, f: FnId, compiler: &dyn Compiler) -> Result<Rc<dyn Native>, String> {
        self.function(p, f).map_err(|e| e.diag.message.clone())?;
        let at = self.place(f);
        compiler.compile(&self.source.borrow(), at)
    }

    /// Declares, before the function is lowered, that none of its arrays is a symbolic zero.
    pub fn arrays_are_materialized(&mut self, f: FnId) {
        self.there.insert(f);
    }

    /// Records the IR of a function for later compilation. `chains` says whether its loops became arithmetic on
    /// entire arrays.
    fn keep(&self, p: &Program, id: FnId, f: Function, inlined: Function, chains: bool) -> CompileState {
        let mut source = self.source.borrow_mut();
        let at = source.funcs.len() as u32;
        source.funcs.push(Rc::new(f));
        source.inlined.push(Rc::new(inlined));
        source.places.insert(id, at);
        if source.datas.len() < p.datas.len() {
            source.datas = p.datas.clone();
        }
        CompileState::new(self.source.clone(), at, chains)
    }

    /// The index of a function in the group.
    /// Places what a function calls before the final passes, which may remove calls: devices run that form.
    fn place_callees(&mut self, f: &Function) {
        let mut blocks = vec![&f.body];
        while let Some(b) = blocks.pop() {
            for s in &b.stmts {
                if let Op::Call { f, .. } = s.op {
                    self.place(f);
                }
                blocks.extend(s.op.blocks());
            }
        }
    }

    fn place(&mut self, f: FnId) -> u32 {
        let next = self.order.len() as u32;
        *self.index.entry(f).or_insert_with(|| {
            self.order.push(f);
            next
        })
    }
}

/// Panics if lowered code violates an invariant: this is a bug in lowering or in an earlier pass, never in the
/// user's program.
fn verified(f: &Function, result: Result<(), Vec<verify::Violation>>) {
    if let Err(faults) = result {
        let text: Vec<String> = faults.iter().map(ToString::to_string).collect();
        unreachable!("`{}` was lowered to wrong code: {}", f.name, text.join("\n"));
    }
}

/// A block that is being lowered.
struct LoweringScope<'a> {
    info: &'a BlockLiveness,
    /// Variables from enclosing blocks whose last use is in this block.
    dying: &'a HashSet<Var>,
}

/// Marks a variable that has no register.
const NONE: R = R::MAX;

struct Lower<'a> {
    p: &'a Program,
    f: &'a Function,
    link: &'a mut Linker,
    last: Last,
    code: Code,
    /// Registers, by variable number.
    regs: Vec<R>,
    /// Variables that do not own their register and must not release it.
    pinned: HashSet<Var>,
    free: Vec<R>,
    next: R,
    span: Span,
}

impl Lower<'_> {
    fn function(p: &Program, func: &Function, link: &mut Linker) -> Res<Code> {
        let (info, last) = live::analyse(&func.body, func.vars.len());
        // The user's name of the function, without the prefixes added by transformations: call stacks show it.
        let name = adl_syntax::symbol::Symbol::new(func.name.rsplit(' ').next().unwrap_or(&func.name));
        let mut lower = Lower {
            p,
            f: func,
            link,
            last,
            code: Code::new(Some(name), String::new()),
            regs: vec![NONE; func.vars.len()],
            pinned: HashSet::new(),
            free: Vec::new(),
            next: 0,
            span: Span::default(),
        };
        let params: Vec<Var> = func.body.params.iter().chain(&func.body.lin_params).copied().collect();
        for v in &params {
            let r = lower.fresh();
            lower.regs[v.0 as usize] = r;
        }
        for v in params.iter().rev() {
            if lower.last[v.0 as usize] == NEVER {
                lower.release(*v);
            }
        }
        lower.tail(&func.body, &LoweringScope { info: &info, dying: &HashSet::new() })?;
        if lower.code.registers > MAX_REGISTERS {
            return Err(Error::new(codes::DEPTH, "this function is too large").hint("split it"));
        }
        lower.code.params = params.len() as u32;
        Ok(lower.code)
    }

    fn emit(&mut self, i: I) {
        self.code.emit(i, self.span);
    }

    /// Emits a jump whose target is set later.
    fn hole(&mut self, i: I) -> usize {
        self.code.emit(i, self.span)
    }

    fn fresh(&mut self) -> R {
        match self.free.pop() {
            Some(r) => r,
            None => self.unused_register(),
        }
    }

    /// A register that was never allocated before. Free registers may be targets of copies in progress.
    fn unused_register(&mut self) -> R {
        self.next += 1;
        self.code.registers = self.code.registers.max(self.next);
        self.next - 1
    }

    fn bind(&mut self, v: Var) -> R {
        let r = self.fresh();
        self.regs[v.0 as usize] = r;
        r
    }

    fn reg(&self, v: Var) -> R {
        self.regs[v.0 as usize]
    }

    fn release(&mut self, v: Var) {
        let r = self.regs[v.0 as usize];
        if r != NONE && !self.pinned.contains(&v) {
            self.free.push(r);
            self.regs[v.0 as usize] = NONE;
        }
    }

    fn constant(&mut self, v: Value) -> u32 {
        self.code.consts.push(v);
        self.code.consts.len() as u32 - 1
    }

    fn scalar(&self, v: Var) -> bool {
        matches!(self.f.ty(v), Ty::F64 | Ty::F32 | Ty::I64 | Ty::Bool)
    }

    /// Clears a register that holds an array or data, so that the value is freed.
    fn clear(&mut self, v: Var) {
        if !self.scalar(v) && self.reg(v) != NONE && !self.pinned.contains(&v) {
            let k = self.constant(Value::Unit);
            let r = self.reg(v);
            self.emit(I::Const(r, k));
        }
    }

    /// Whether the variable is not read after statement `at` of the block.
    fn dies(&self, v: Var, at: u32, sc: &LoweringScope) -> bool {
        if self.pinned.contains(&v) {
            return false;
        }
        match sc.info.free.get(&v) {
            Some(last) => *last == at && sc.dying.contains(&v),
            None => self.last[v.0 as usize] == at,
        }
    }

    /// Operands of a statement. The last occurrence of a variable that dies here is moved out of its register,
    /// unless `keep` holds for it.
    fn args(&self, vars: &[Var], at: u32, sc: &LoweringScope, keep: &dyn Fn(Var) -> bool) -> Box<[Arg]> {
        vars.iter()
            .enumerate()
            .map(|(i, v)| Arg {
                r: self.reg(*v),
                last: !vars[i + 1..].contains(v) && !keep(*v) && self.dies(*v, at, sc),
            })
            .collect()
    }

    /// Releases the registers of variables whose last use is this statement.
    fn release_dying(&mut self, vars: &[Var], at: u32, sc: &LoweringScope) {
        for (i, v) in vars.iter().enumerate() {
            if !vars[..i].contains(v) && self.dies(*v, at, sc) {
                self.release(*v);
            }
        }
    }

    /// Allocates the registers of results, including unused results.
    fn bind_outs(&mut self, s: &Stmt) -> Vec<R> {
        s.outs.iter().chain(&s.lin_outs).map(|v| self.bind(*v)).collect()
    }

    /// Releases the registers of unused results.
    fn release_unused_outs(&mut self, s: &Stmt) {
        for v in s.outs.iter().chain(&s.lin_outs) {
            if self.last[v.0 as usize] == NEVER {
                self.clear(*v);
                self.release(*v);
            }
        }
    }

    fn block(&mut self, b: &Block, sc: &LoweringScope) -> Res<()> {
        self.stmts(b, b.stmts.len() as u32, sc)
    }

    /// Lowers the statements of a block before `end`. A chain of operations on arrays of one shape is preceded
    /// by an instruction that tries to run the entire chain in one pass.
    fn stmts(&mut self, b: &Block, end: u32, sc: &LoweringScope) -> Res<()> {
        let mut at = 0;
        while at < end {
            let lives = |v: Var, i: u32| self.last[v.0 as usize] != NEVER && self.last[v.0 as usize] > i;
            let next = match fuse_elementwise::chain(self.f, b, at, &lives).filter(|c| c.end <= end) {
                Some(c) => self.strips(b, at, c, sc)?,
                None => {
                    self.stmt(&b.stmts[at as usize], at, sc)?;
                    at + 1
                }
            };
            at = next;
        }
        Ok(())
    }

    fn strips(
        &mut self,
        block: &Block,
        at: u32,
        found_chain: fuse_elementwise::FoundChain,
        sc: &LoweringScope,
    ) -> Res<u32> {
        let args: Box<[Arg]> = found_chain
            .operands
            .iter()
            .map(|v| Arg { r: self.reg(*v), last: (at..found_chain.end).any(|i| self.dies(*v, i, sc)) })
            .collect();
        let k = self.code.lowered.strips.len();
        self.code.lowered.strips.push((found_chain.strips, args, Box::new([])));
        self.span = block.stmts[at as usize].span;
        let hole = self.hole(I::FusedChain(k as u32, 0));
        for i in at..found_chain.end {
            self.stmt(&block.stmts[i as usize], i, sc)?;
        }
        self.code.lowered.strips[k].2 = found_chain.results.iter().map(|v| self.reg(*v)).collect();
        self.code.patch_jump(hole);
        Ok(found_chain.end)
    }

    fn stmt(&mut self, stmt: &Stmt, at: u32, sc: &LoweringScope) -> Res<()> {
        self.span = stmt.span;
        match &stmt.op {
            Op::If(c, a, b) => self.if_(stmt, *c, [a, b], at, sc)?,
            Op::Switch(v, arms) => self.switch(stmt, *v, arms, at, sc)?,
            Op::Loop(l) => self.loop_(stmt, l, at, sc)?,
            Op::Soac(o) => self.soac(stmt, o, at, sc)?,
            Op::ReduceByIndex { dest, op, keys, values, .. } => {
                self.by_index(stmt, (dest, *keys, values, op), at, sc)?;
            }
            Op::Call { f, args, lin_args, .. } => {
                let vars: Vec<Var> = args.iter().chain(lin_args).copied().collect();
                let args = self.args(&vars, at, sc, &|_| false);
                self.release_dying(&vars, at, sc);
                let outs = self.bind_outs(stmt).into();
                let callee = self.link.place(*f);
                self.code.lowered.calls.push(FnCall { callee, args, outs });
                self.emit(I::CallFn(self.code.lowered.calls.len() as u32 - 1));
            }
            _ => self.plain(stmt, at, sc)?,
        }
        self.release_unused_outs(stmt);
        Ok(())
    }

    fn step(&mut self, what: super::eval_op::LoweredOp, args: Box<[Arg]>, outs: Vec<R>, zeros: Box<[Value]>) {
        self.code.lowered.steps.push(LoweredStep { what, args, outs: outs.into(), zeros });
        self.emit(I::Lowered(self.code.lowered.steps.len() as u32 - 1));
    }

    /// Parallel copy of variables to registers: a source register may also be a target.
    fn moves(&mut self, pairs: &[(R, Var)], at: u32, sc: &LoweringScope) {
        let mut uses: HashMap<Var, u32> = HashMap::new();
        pairs.iter().for_each(|(_, v)| *uses.entry(*v).or_default() += 1);
        let takes: Vec<bool> = pairs.iter().map(|(_, v)| uses[v] == 1 && self.dies(*v, at, sc)).collect();
        let written: HashSet<R> = pairs.iter().map(|(dest, _)| *dest).collect();
        let (mut late, mut temps) = (Vec::new(), Vec::new());
        for (index, (dest, v)) in pairs.iter().enumerate() {
            let s = self.reg(*v);
            if s == *dest {
                continue;
            }
            if written.contains(&s) {
                let t = self.unused_register();
                self.copy(t, s, takes[index]);
                late.push((*dest, t, true));
                temps.push(t);
            } else {
                late.push((*dest, s, takes[index]));
            }
        }
        for (d, s, take) in late {
            self.copy(d, s, take);
        }
        self.free.extend(temps);
    }

    fn copy(&mut self, d: R, s: R, take: bool) {
        self.emit(if take { I::Take(d, s) } else { I::Move(d, s) });
    }
}

/// A zero of the type: a number, or a symbolic zero for arrays and data.
pub fn zero_of(ty: &Ty) -> Value {
    match ty {
        Ty::F64 => Value::Float(0.0),
        Ty::F32 => Value::F32(0.0),
        Ty::I64 => Value::Int(0),
        Ty::Bool => Value::Bool(false),
        Ty::Str | Ty::Array(..) | Ty::Data(_) => Value::Zero,
    }
}
