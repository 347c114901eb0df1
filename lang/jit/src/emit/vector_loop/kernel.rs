//! The kernel of a vectorised loop: `(words, first iteration, number of iterations, scratch)`. It runs several
//! iterations at a time, then the rest one by one.
//!
//! A loop-invariant number is a scalar; other numbers are vectors of two, four or eight lanes ([`Vectors`]), several of
//! which are processed side by side. Branches are if-converted: both arms are computed, and results are selected. An arm
//! that is not taken adds -0, which is exact. Scratch memory starts with the totals, followed by buffers for the terms of
//! sums, the buffers of the stages ([`super::libm_stages`]), hoisted functions ([`hoisted`]), and rows ([`super::iteration_rows`]).

mod hoisted;
mod inner_loops;
mod outputs;
mod row_calls;
mod stage_calls;
mod stored_rows;
mod totals;

use super::super::state::{EmitSite, FunctionFrame, HeldValues, LoopNest};
use super::super::{Emit, KernelCode, LOOSE, TRUSTED, machine_type};
use super::libm_stages::{self, MathFunction, Stages};
use super::plan::{AccessIndices, Carry, Int, Node, VarClass, VectorPlan};
pub(super) use crate::limits::emit_vector_loop_kernel::STRIP;
use crate::limits::emit_vector_loop_rows as rows;
use crate::scalar_math;
use crate::shims;
use crate::wide::Extension;
use adl_ir::{Block, Cmp, Conv, Function, Lit, Loop, Op, Stmt, Ty, Var};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, AbiParam, InstBuilder, Signature, StackSlotData, StackSlotKind, Value, types};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_module::{FuncId, Linkage, Module};
use smallvec::SmallVec;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// A number that is summed over all iterations.
pub(super) enum Total {
    /// A loop output.
    Out(usize),
    /// The inner product of two arrays.
    Dot(Var, Var),
}

/// The description of a kernel.
pub(super) struct KernelJob<'k> {
    /// The function whose variables the loop has.
    pub f: &'k Rc<Function>,
    pub p: &'k VectorPlan,
    pub l: &'k Loop,
    pub w: &'k super::params::KernelParams,
    pub stages: &'k Stages,
    /// Outputs that are stored to arrays, with their parameter words.
    pub stored: &'k [(usize, usize)],
    pub totals: &'k [Total],
    /// Whether the loop index decreases.
    pub falls: bool,
    pub vectors: Vectors,
}

/// The vectors of a kernel.
#[derive(Clone, Copy)]
pub(super) struct Vectors {
    /// The extension of the processor whose vectors they are ([`crate::wide`]); two lanes as everywhere without one.
    pub wide: Option<Extension>,
    /// The number of vectors processed side by side.
    pub side: usize,
}

impl Vectors {
    /// The type of one.
    fn ty(self) -> ir::Type {
        self.wide.map_or(types::F64X2, Extension::vector)
    }

    /// The number of iterations of a vector step.
    pub fn iterations(self) -> i64 {
        self.side as i64 * i64::from(self.ty().lane_count())
    }
}

/// A number in the iterations of one vector step: a scalar for all of them, or a lane of a vector for each.
#[derive(Clone)]
enum LaneValue {
    One(Value),
    Many(SmallVec<[Value; 4]>),
}

/// The increment of an Int from one iteration to the next.
#[derive(Clone, Copy)]
enum Stride {
    Known(i64),
    Of(Value),
}

struct Kernel<'k, 'a, 'j, 'f> {
    e: Emit<'a, 'j, 'f>,
    k: &'k KernelJob<'k>,
    words: HashMap<usize, Value>,
    given: [Value; 4],
    /// The number of vectors side by side; 0 in the loop over single iterations.
    side: usize,
    stage: usize,
    env: HashMap<Var, LaneValue>,
    /// Array elements that have been loaded before the inner loop that reads them.
    loaded: HashMap<Var, LaneValue>,
    /// The index of the first iteration.
    index: Value,
    /// The position of the first iteration in the strip.
    at: Value,
    inner: Vec<Value>,
    mask: Option<LaneValue>,
    /// The addresses of the stored rows.
    rows: Vec<Value>,
    /// While arguments of functions that are called on rows are stored: what must be computed.
    only: Option<&'k HashSet<Var>>,
    /// The sums so far, if totals are in registers: of each total the partial sums in a fixed number of vectors, then
    /// the sums of the terms after the last multiple of 8.
    partial: Vec<Value>,
    rest: Vec<Value>,
}

/// Declares and emits the kernel function.
pub(super) fn define(outer: &mut Emit, kernel_job: &KernelJob) -> Option<FuncId> {
    let mut sig = Signature::new(outer.job.module.isa().default_call_conv());
    sig.params.extend(vec![AbiParam::new(types::I64); 4]);
    let name = format!("trip{}", outer.job.kernels.len());
    let id = outer.job.module.declare_function(&name, Linkage::Local, &sig).ok()?;
    let mut func = ir::Function::with_name_signature(ir::UserFuncName::user(0, id.as_u32()), sig);
    let mut shared = FunctionBuilderContext::new();
    let config = outer.job.module.target_config();
    let mut builder = FunctionBuilder::new(&mut func, &mut shared);
    let start = builder.create_block();
    builder.append_block_params_for_function_params(start);
    builder.switch_to_block(start);
    let slot = builder.create_sized_stack_slot(StackSlotData::new(StackSlotKind::ExplicitSlot, 8, 3));
    let given = [0, 1, 2, 3].map(|i| builder.block_params(start)[i]);
    let emit = emitter(outer, kernel_job.f, builder, given[0], slot, start);
    let mut kernel = Kernel {
        e: emit,
        k: kernel_job,
        words: HashMap::new(),
        given,
        side: 0,
        stage: 0,
        env: HashMap::new(),
        loaded: HashMap::new(),
        index: given[1],
        at: given[1],
        inner: vec![given[1]; kernel_job.p.inner.len()],
        mask: None,
        rows: Vec::new(),
        only: None,
        partial: Vec::new(),
        rest: Vec::new(),
    };
    kernel.whole();
    kernel.e.b.seal_all_blocks();
    kernel.e.b.finalize(config);
    outer.job.kernels.push(KernelCode { id, func, wide: kernel_job.vectors.wide });
    Some(id)
}

/// The emitter of the kernel function.
fn emitter<'x, 'j, 'f>(
    outer: &'x mut Emit<'_, 'j, '_>,
    f: &'x Rc<Function>,
    b: FunctionBuilder<'f>,
    words: Value,
    slot: ir::StackSlot,
    start: ir::Block,
) -> Emit<'x, 'j, 'f> {
    Emit {
        job: &mut *outer.job,
        f,
        b,
        last: Vec::new(),
        name: outer.name.clone(),
        vals: Vec::new(),
        held: HeldValues::default(),
        frame: FunctionFrame { ctx: words, out: words, interrupt: words, slot, fail: start, body: start },
        nest: LoopNest::default(),
        imported: Default::default(),
        at: EmitSite::of(outer.at.span),
    }
}

impl Kernel<'_, '_, '_, '_> {
    fn whole(&mut self) {
        for w in 0..self.k.w.len {
            let ty = self.k.w.floats.get(&w).copied().unwrap_or(types::I64);
            let x = self.e.b.ins().load(ty, TRUSTED, self.given[0], 8 * w as i32);
            self.words.insert(w, x);
        }
        self.place_rows();
        self.clear_totals();
        self.hoist();
        let loops = !self.k.stored.is_empty()
            || self.k.p.carry.iter().any(|c| *c != Carry::Same)
            || self.k.totals.iter().any(|t| matches!(t, Total::Out(_)));
        for stage in 0..=self.k.stages.last() {
            self.stage = stage;
            if loops || !self.is_last() {
                let mut at = self.e.int(0);
                for side in self.sides() {
                    at = self.trip(at, side);
                }
            }
            let k = self.k;
            k.stages.calls.iter().filter(|c| c.stage == stage).for_each(|c| self.call(c));
        }
        for (i, t) in self.k.totals.iter().enumerate() {
            let x = self.total(i, t);
            self.e.b.ins().store(TRUSTED, x, self.given[3], 8 * i as i32);
        }
        self.e.b.ins().return_(&[]);
    }

    /// Emits a loop over iterations from `k` on, as many per step as there are lanes. Returns the position at which it
    /// stopped.
    fn trip(&mut self, start: Value, side: usize) -> Value {
        let lanes = Vectors { side, ..self.k.vectors }.iterations().max(1);
        let before = [&[start], &self.sums_of(side)[..]].concat();
        let (header, vals) = self.e.header(&before);
        self.set_sums(side, &vals[1..]);
        let (body, exit) = (self.e.fresh(), self.e.fresh());
        let last = self.e.b.ins().iadd_imm_s(self.given[2], -lanes);
        let more = self.e.b.ins().icmp(IntCC::SignedLessThanOrEqual, vals[0], last);
        self.e.stays(more, body, exit, &[]);
        self.e.b.switch_to_block(body);
        self.side = side;
        self.at = vals[0];
        let iteration = self.e.b.ins().iadd(self.given[1], vals[0]);
        self.index = iteration;
        if self.k.falls {
            let left = self.e.b.ins().isub(self.words[&0], iteration);
            self.index = self.e.b.ins().iadd_imm_s(left, -lanes);
        }
        self.iteration();
        let next = self.e.b.ins().iadd_imm_s(vals[0], lanes);
        let next = [&[next], &self.sums_of(side)[..]].concat();
        self.e.goto(header, &next);
        self.e.b.switch_to_block(exit);
        self.set_sums(side, &vals[1..]);
        vals[0]
    }

    fn iteration(&mut self) {
        self.env.clear();
        self.loaded.clear();
        self.mask = None;
        let l = self.k.l;
        for (k, c) in self.k.p.carry.iter().enumerate() {
            if *c == Carry::Same {
                let x = self.float(l.init[k]);
                self.env.insert(l.body.params[1 + k], x);
            }
        }
        self.elements(&l.body.params);
        self.block(&l.body);
        if self.is_last() {
            self.outputs();
        }
    }

    /// Stores the outputs of the iterations.
    fn outputs(&mut self) {
        let l = self.k.l;
        for (out, word) in self.k.stored {
            self.output(*out, *word, l.body.results[l.init.len() + out]);
        }
        if self.totals_in_registers() {
            return self.add_to_totals();
        }
        for (t, b) in self.k.totals.iter().zip(buffers(self.k.totals)) {
            if let Total::Out(out) = t {
                let x = self.float(l.body.results[l.init.len() + out]);
                let bytes = self.e.b.ins().ishl_imm_s(self.at, 3);
                let at = self.e.b.ins().iadd(self.given[3], bytes);
                let at = self.e.b.ins().iadd_imm_s(at, b);
                self.store(&x, at);
            }
        }
    }

    fn total(&mut self, i: usize, t: &Total) -> Value {
        let len = self.given[2];
        match t {
            Total::Out(_) if self.totals_in_registers() => self.total_in_registers(i),
            Total::Out(_) => {
                let at = self.e.b.ins().iadd_imm_s(self.given[3], buffers(self.k.totals)[i]);
                self.e.number_of(shims::total as *const u8, &[at, len])
            }
            Total::Dot(a, b) => {
                (self.side, self.index) = (0, self.given[1]);
                let at = [a, b].map(|v| {
                    let (array, at) = self.k.p.elements[v].clone();
                    self.place(self.k.w.arrays[array], &at).0
                });
                self.e.number_of(shims::dot as *const u8, &[at[0], at[1], len])
            }
        }
    }

    /// The numbers of vectors side by side of the loops over the iterations, one after the other.
    fn sides(&self) -> SmallVec<[usize; 3]> {
        let (most, side) = (self.k.vectors.iterations(), self.k.vectors.side);
        // Fewer than eight iterations are left for single ones.
        if most > 8 { SmallVec::from_slice(&[side, 1, 0]) } else { SmallVec::from_slice(&[side, 0]) }
    }

    /// The type of a vector.
    fn vector(&self) -> ir::Type {
        self.k.vectors.ty()
    }

    /// The number of iterations of the current vector step; 0 in the loop over single iterations.
    fn iterations(&self) -> usize {
        self.side * self.vector().lane_count() as usize
    }

    /// The offset in bytes of a vector among those side by side.
    fn offset(&self, u: usize) -> i32 {
        u as i32 * self.vector().bytes() as i32
    }

    /// Loads a vector of those side by side.
    fn load_vector(&mut self, at: Value, u: usize) -> Value {
        let (ty, offset) = (self.vector(), self.offset(u));
        self.e.b.ins().load(ty, LOOSE, at, offset)
    }

    fn store_vector(&mut self, x: Value, at: Value, u: usize) {
        let offset = self.offset(u);
        self.e.b.ins().store(LOOSE, x, at, offset);
    }

    /// A vector from the elements of its lanes.
    fn vector_of(&mut self, ty: ir::Type, x: &[Value]) -> Value {
        let first = self.e.b.ins().scalar_to_vector(ty, x[0]);
        (1..).zip(&x[1..]).fold(first, |v, (lane, x)| self.e.b.ins().insertlane(v, *x, lane))
    }

    /// The elements of all lanes.
    fn lanes_of<V: FromIterator<Value>>(&mut self, vectors: &[Value]) -> V {
        let per = self.vector().lane_count() as u8;
        vectors
            .iter()
            .flat_map(|v| (0..per).map(|lane| (*v, lane)))
            .map(|(v, lane)| self.e.b.ins().extractlane(v, lane))
            .collect()
    }

    /// A number broadcast to all lanes.
    fn many(&mut self, number: &LaneValue) -> SmallVec<[Value; 4]> {
        match number {
            LaneValue::Many(v) => v.clone(),
            LaneValue::One(x) => {
                let (t, ty) = (self.e.b.func.dfg.value_type(*x), self.vector());
                let x = if t == types::I8 {
                    let wide = self.e.b.ins().uextend(types::I64, *x);
                    let wide = self.e.b.ins().ineg(wide);
                    self.e.b.ins().splat(ty.as_truthy(), wide)
                } else {
                    self.e.b.ins().splat(ty, *x)
                };
                SmallVec::from_elem(x, self.side)
            }
        }
    }

    fn each(&mut self, args: &[&LaneValue], f: &mut dyn FnMut(&mut Self, &[Value]) -> Value) -> LaneValue {
        if args.iter().all(|a| matches!(a, LaneValue::One(_))) {
            let one: SmallVec<[Value; 3]> =
                args.iter().map(|a| if let LaneValue::One(x) = a { *x } else { self.given[0] }).collect();
            return LaneValue::One(f(self, &one));
        }
        let many: Vec<SmallVec<[Value; 4]>> = args.iter().map(|a| self.many(a)).collect();
        LaneValue::Many(
            (0..self.side).map(|u| f(self, &many.iter().map(|m| m[u]).collect::<SmallVec<[Value; 3]>>())).collect(),
        )
    }

    /// The numbers of the iterations, as scalars in iteration order.
    fn in_order(&mut self, x: &LaneValue) -> Vec<Value> {
        if self.side == 0 {
            return if let LaneValue::One(x) = x { vec![*x] } else { Vec::new() };
        }
        let mut out: Vec<Value> = match x {
            LaneValue::One(x) => vec![*x; self.iterations()],
            LaneValue::Many(v) => self.lanes_of(v),
        };
        if self.k.falls {
            out.reverse();
        }
        out
    }

    fn store(&mut self, x: &LaneValue, at: Value) {
        if self.side == 0 {
            if let LaneValue::One(x) = x {
                self.e.b.ins().store(LOOSE, *x, at, 0);
            }
            return;
        }
        for (u, x) in self.many(x).into_iter().enumerate() {
            self.store_vector(x, at, u);
        }
    }

    /// The value of a Float or Bool variable.
    fn float(&mut self, v: Var) -> LaneValue {
        if let Some(x) = self.env.get(&v) {
            return x.clone();
        }
        // It is bound outside of the loop.
        match self.k.w.numbers.get(&v).map(|w| self.words[w]) {
            Some(x) if *self.e.f.ty(v) == Ty::Bool => LaneValue::One(self.e.b.ins().ireduce(types::I8, x)),
            Some(x) => LaneValue::One(x),
            None => LaneValue::One(self.e.b.ins().f64const(0.0)),
        }
    }

    /// Loads those of the variables that are array elements.
    fn elements(&mut self, vars: &[Var]) {
        for v in vars {
            if let Some((a, at)) = self.k.p.elements.get(v).filter(|_| self.wants(*v)) {
                let x = match self.loaded.get(v) {
                    Some(x) => x.clone(),
                    None => self.load(*a, at),
                };
                self.env.insert(*v, x);
            }
            if let Some(element) = self.k.p.rows.elements.get(v).filter(|_| self.wants(*v)) {
                let x = self.row_element(element);
                self.env.insert(*v, x);
            }
        }
    }

    /// The value of an Int node in the first iteration, and its increment.
    fn int(&mut self, n: Node) -> (Value, Stride) {
        let zero = Stride::Known(0);
        match self.k.p.ints[n].op {
            Int::Outside(_) => (self.words[&self.k.w.ints[&n]], zero),
            Int::Lit(c) => (self.e.int(c), zero),
            Int::Iteration => (self.index, Stride::Known(1)),
            Int::Inner(k) => (self.inner[k], zero),
            Int::Dim(a, axis) => (self.words[&(self.k.w.arrays[a] + 1 + axis)], zero),
            // It bounds positions before the loop.
            Int::Above(_) => (self.e.int(0), zero),
            Int::Add(a, b) => {
                let ((x, s), (y, t)) = (self.int(a), self.int(b));
                (self.e.b.ins().iadd(x, y), self.steps(s, t, |p, q| p + q, |e, p, q| e.b.ins().iadd(p, q)))
            }
            Int::Sub(a, b) => {
                let ((x, s), (y, t)) = (self.int(a), self.int(b));
                (self.e.b.ins().isub(x, y), self.steps(s, t, |p, q| p - q, |e, p, q| e.b.ins().isub(p, q)))
            }
            Int::Min(a, b) => {
                let ((x, _), (y, _)) = (self.int(a), self.int(b));
                (self.e.b.ins().smin(x, y), zero)
            }
            Int::Max(a, b) => {
                let ((x, _), (y, _)) = (self.int(a), self.int(b));
                (self.e.b.ins().smax(x, y), zero)
            }
            Int::Mul(a, b) => {
                let ((x, s), (y, t)) = (self.int(a), self.int(b));
                // One of the factors is loop-invariant.
                let step = if matches!(s, Stride::Known(0)) { self.times(t, x) } else { self.times(s, y) };
                (self.e.b.ins().imul(x, y), step)
            }
        }
    }

    fn step(&mut self, s: Stride) -> Value {
        match s {
            Stride::Known(n) => self.e.int(n),
            Stride::Of(v) => v,
        }
    }

    fn steps(
        &mut self,
        s: Stride,
        t: Stride,
        known: fn(i64, i64) -> i64,
        of: fn(&mut Emit, Value, Value) -> Value,
    ) -> Stride {
        if let (Stride::Known(a), Stride::Known(b)) = (s, t) {
            return Stride::Known(known(a, b));
        }
        let (a, b) = (self.step(s), self.step(t));
        Stride::Of(of(&mut self.e, a, b))
    }

    fn times(&mut self, s: Stride, x: Value) -> Stride {
        match s {
            Stride::Known(0) => Stride::Known(0),
            s => {
                let s = self.step(s);
                Stride::Of(self.e.b.ins().imul(s, x))
            }
        }
    }

    /// The address of an access to Floats, and its increment per iteration in elements. `word`: the parameter word of
    /// the array.
    fn place(&mut self, word: usize, at: &AccessIndices) -> (Value, Stride) {
        self.place_of(word, at, 3)
    }

    /// The address of an access to elements of `1 << shift` bytes, and its increment per iteration in elements.
    fn place_of(&mut self, word: usize, at: &AccessIndices, shift: i64) -> (Value, Stride) {
        let mut offset: Option<(Value, Stride)> = None;
        for (axis, n) in at.iter().enumerate() {
            let (x, s) = self.int(*n);
            offset = Some(match offset {
                None => (x, s),
                Some((o, t)) => {
                    let d = self.words[&(word + 1 + axis)];
                    let (rows, step) = (self.e.b.ins().imul(o, d), self.times(t, d));
                    (self.e.b.ins().iadd(rows, x), self.steps(step, s, |p, q| p + q, |e, p, q| e.b.ins().iadd(p, q)))
                }
            });
        }
        let data = self.words[&word];
        let Some((o, s)) = offset else { return (data, Stride::Known(0)) };
        let bytes = self.e.b.ins().ishl_imm_s(o, shift);
        (self.e.b.ins().iadd(data, bytes), s)
    }

    /// The addresses of the elements of iterations if they are not contiguous.
    fn places(&mut self, first: Value, s: Stride) -> Vec<Value> {
        self.places_of(first, s, 3)
    }

    fn places_of(&mut self, first: Value, s: Stride, shift: i64) -> Vec<Value> {
        let step = self.step(s);
        let step = self.e.b.ins().ishl_imm_s(step, shift);
        let mut at = first;
        let mut out = vec![first];
        for _ in 1..self.iterations() {
            at = self.e.b.ins().iadd(at, step);
            out.push(at);
        }
        out
    }

    fn load(&mut self, array: usize, at: &AccessIndices) -> LaneValue {
        match *self.e.f.ty(self.k.p.arrays[array]).scalar() {
            Ty::I64 => {
                return self.load_scalars(array, at, 3, &mut |e, at| {
                    let x = e.b.ins().load(types::I64, LOOSE, at, 0);
                    e.b.ins().fcvt_from_sint(types::F64, x)
                });
            }
            Ty::Bool => return self.load_scalars(array, at, 0, &mut |e, at| e.b.ins().load(types::I8, LOOSE, at, 0)),
            _ => {}
        }
        let (p, s) = self.place(self.k.w.arrays[array], at);
        match s {
            _ if self.side == 0 => LaneValue::One(self.e.b.ins().load(types::F64, LOOSE, p, 0)),
            Stride::Known(0) => LaneValue::One(self.e.b.ins().load(types::F64, LOOSE, p, 0)),
            Stride::Known(1) => LaneValue::Many((0..self.side).map(|u| self.load_vector(p, u)).collect()),
            s => {
                let at = self.places(p, s);
                let all: Vec<Value> = at.into_iter().map(|at| self.e.b.ins().load(types::F64, LOOSE, at, 0)).collect();
                self.of_lanes(&all)
            }
        }
    }

    /// Loads elements that are not Floats, one by one.
    fn load_scalars(
        &mut self,
        a: usize,
        at: &AccessIndices,
        shift: i64,
        load: &mut dyn FnMut(&mut Emit, Value) -> Value,
    ) -> LaneValue {
        let (first, s) = self.place_of(self.k.w.arrays[a], at, shift);
        if self.side == 0 || matches!(s, Stride::Known(0)) {
            return LaneValue::One(load(&mut self.e, first));
        }
        let all: Vec<Value> = self.places_of(first, s, shift).into_iter().map(|at| load(&mut self.e, at)).collect();
        self.of_lanes(&all)
    }

    /// A number of each iteration, from scalars.
    fn of_lanes(&mut self, lanes: &[Value]) -> LaneValue {
        if self.side == 0 {
            return LaneValue::One(lanes[0]);
        }
        let bools = self.e.b.func.dfg.value_type(lanes[0]) == types::I8;
        let ty = if bools { self.vector().as_truthy() } else { self.vector() };
        let vector = |k: &mut Self, x: &[Value]| {
            let element = |k: &mut Self, x: Value| {
                let x = k.e.b.ins().uextend(types::I64, x);
                k.e.b.ins().ineg(x)
            };
            let x: SmallVec<[Value; 8]> = x.iter().map(|x| if bools { element(k, *x) } else { *x }).collect();
            k.vector_of(ty, &x)
        };
        let per = self.vector().lane_count() as usize;
        LaneValue::Many(lanes.chunks(per).map(|x| vector(self, x)).collect())
    }

    fn block(&mut self, b: &Block) {
        stacker::maybe_grow(128 * 1024, 2 * 1024 * 1024, || b.stmts.iter().for_each(|s| self.stmt(s)));
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.op {
            Op::If(c, x, y) => return self.branch(stmt, *c, [x, y]),
            Op::Loop(l) => return self.inner(stmt, l),
            Op::IndexAdd { .. } | Op::ArrayLit { .. } if !self.is_last() => return,
            Op::ArrayLit { elems, .. } => return self.list_row(stmt.outs[0], elems),
            Op::IndexAdd { acc, at, v, .. } if !self.k.p.rows.accumulated.contains_key(&stmt.outs[0]) => {
                let Some(VarClass::Sum(k)) = self.k.p.classes.get(acc) else { return self.row_add(stmt.outs[0]) };
                let at: AccessIndices = at.iter().map(|v| self.node(*v)).collect();
                let x = self.float(*v);
                return self.add(self.k.w.sums[*k], &at, x);
            }
            _ => {}
        }
        let [out] = stmt.outs[..] else { return };
        if self.is_last() && self.k.p.rows.accumulated.contains_key(&out) {
            return self.accumulate_row(out);
        }
        self.elements(&[out]);
        if !matches!(self.k.p.classes.get(&out), Some(VarClass::Float | VarClass::Bool | VarClass::Position(_)))
            || self.k.p.elements.contains_key(&out)
            || self.k.p.rows.elements.contains_key(&out)
        {
            return;
        }
        if let Some(k) = self.fold(out) {
            return if self.is_last() {
                self.folded(k, stmt);
            };
        }
        if let Some(call) = self.call_of(out) {
            return self.around_call(call);
        }
        if !self.wants(out) || self.from_before(out) {
            return;
        }
        let x = self.number(stmt);
        self.keep(out, &x);
        self.env.insert(out, x);
    }

    /// The index of the carried number that a statement updates.
    fn fold(&self, out: Var) -> Option<usize> {
        let l = self.k.l;
        (0..l.init.len()).find(|k| l.body.results[*k] == out && self.k.p.carry[*k] == Carry::Fold)
    }

    fn node(&self, v: Var) -> Node {
        match self.k.p.classes.get(&v) {
            Some(VarClass::Int(n)) => *n,
            _ => 0,
        }
    }

    fn number(&mut self, stmt: &Stmt) -> LaneValue {
        match &stmt.op {
            Op::Lit(Lit::F64(x)) => LaneValue::One(self.e.b.ins().f64const(*x)),
            Op::Lit(Lit::Bool(x)) => LaneValue::One(self.e.b.ins().iconst(machine_type(&Ty::Bool), i64::from(*x))),
            op if MathFunction::of(op).is_some() => self.function_or_hoisted(stmt.outs[0], op),
            Op::Un(op, a) => {
                let a = self.float(*a);
                self.each(&[&a], &mut |k, x| k.e.un(*op, x[0]))
            }
            Op::Bin(op, a, b) => {
                let (a, b) = (self.float(*a), self.float(*b));
                self.each(&[&a, &b], &mut |k, x| k.e.bin(*op, x[0], x[1]))
            }
            Op::Cmp(c, a, b) => self.compare(*c, *a, *b),
            Op::Not(a) => {
                let a = self.float(*a);
                self.not(&a)
            }
            Op::Select(c, a, b) => {
                let (c, a, b) = (self.float(*c), self.float(*a), self.float(*b));
                self.choose(&c, &a, &b)
            }
            Op::Convert(Conv::ToF64, a) => match self.k.p.classes.get(a) {
                Some(VarClass::Int(n)) => self.as_float(*n),
                Some(VarClass::Bool) => {
                    let c = self.float(*a);
                    let (one, zero) = (self.e.b.ins().f64const(1.0), self.e.b.ins().f64const(0.0));
                    self.choose(&c, &LaneValue::One(one), &LaneValue::One(zero))
                }
                _ => self.float(*a),
            },
            Op::Prim(..) | Op::Index { .. } => self.found_in_row(stmt.outs[0]),
            Op::Sum { a, .. } => match self.k.p.rows.sums.get(&stmt.outs[0]) {
                Some(row) => self.row_sum(row),
                // The row stands for its sum.
                None => self.float(*a),
            },
            _ => LaneValue::One(self.e.b.ins().f64const(0.0)),
        }
    }

    /// Converts an Int to a Float; the conversion is exact.
    fn as_float(&mut self, n: Node) -> LaneValue {
        let (x, s) = self.int(n);
        let first = self.e.b.ins().fcvt_from_sint(types::F64, x);
        if self.side == 0 || matches!(s, Stride::Known(0)) {
            return LaneValue::One(first);
        }
        let step = self.step(s);
        let step = self.e.b.ins().fcvt_from_sint(types::F64, step);
        let (ty, per) = (self.vector(), self.vector().lane_count() as usize);
        let (first, step) = (self.e.b.ins().splat(ty, first), self.e.b.ins().splat(ty, step));
        let lanes = (0..self.side).map(|u| {
            let lanes: SmallVec<[Value; 8]> =
                (per * u..per * (u + 1)).map(|lane| self.e.b.ins().f64const(lane as f64)).collect();
            let lane = self.vector_of(ty, &lanes);
            let more = self.e.b.ins().fmul(step, lane);
            self.e.b.ins().fadd(first, more)
        });
        LaneValue::Many(lanes.collect())
    }

    /// The value of a Float, Bool, or Int that is exact as a Float.
    fn number_of(&mut self, v: Var) -> LaneValue {
        match self.k.p.classes.get(&v) {
            Some(VarClass::Int(n)) => self.as_float(*n),
            _ => self.float(v),
        }
    }

    fn compare(&mut self, c: Cmp, a: Var, b: Var) -> LaneValue {
        let code = super::super::scalar::float_code(c);
        let (a, b) = (self.number_of(a), self.number_of(b));
        self.each(&[&a, &b], &mut |k, x| k.e.b.ins().fcmp(code, x[0], x[1]))
    }

    fn not(&mut self, a: &LaneValue) -> LaneValue {
        self.each(&[a], &mut |k, x| {
            let one = k.e.b.func.dfg.value_type(x[0]) == types::I8;
            if one { k.e.b.ins().bxor_imm_s(x[0], 1) } else { k.e.b.ins().bnot(x[0]) }
        })
    }

    fn choose(&mut self, c: &LaneValue, a: &LaneValue, b: &LaneValue) -> LaneValue {
        self.each(&[c, a, b], &mut |k, x| {
            let t = k.e.b.func.dfg.value_type(x[1]);
            match (t.is_vector(), t.lane_type()) {
                (true, types::F64) => k.e.choose_number(x[0], x[1], x[2]),
                (true, _) => k.e.b.ins().bitselect(x[0], x[1], x[2]),
                _ => k.e.b.ins().select(x[0], x[1], x[2]),
            }
        })
    }

    fn branch(&mut self, stmt: &Stmt, c: Var, arms: [&Block; 2]) {
        let chosen =
            stmt.outs.iter().any(|v| self.wants(*v)) || self.is_last() && arms.iter().any(|a| libm_stages::adds(a));
        // Stages before the last one evaluate a needed arm in all iterations.
        let condition = if chosen { self.float(c) } else { LaneValue::One(self.given[0]) };
        let outer = self.mask.clone();
        let masked = self.is_last() && arms.iter().any(|a| libm_stages::adds(a));
        let other = if masked { self.not(&condition) } else { condition.clone() };
        for (arm, holds) in arms.into_iter().zip([&condition, &other]) {
            self.mask = match &outer {
                _ if !masked => None,
                None => Some(holds.clone()),
                Some(m) => Some(self.each(&[m, holds], &mut |k, x| k.e.b.ins().band(x[0], x[1]))),
            };
            self.block(arm);
        }
        self.mask = outer;
        for (k, out) in stmt.outs.iter().enumerate() {
            let class = self.k.p.classes.get(out).filter(|_| self.wants(*out));
            if let Some(VarClass::Float | VarClass::Bool | VarClass::Position(_)) = class {
                let [a, b] = arms.map(|arm| self.number_of(arm.results[k]));
                let x = self.choose(&condition, &a, &b);
                self.env.insert(*out, x);
            }
        }
    }

    /// Accumulates a number of each iteration to elements of an array.
    fn add(&mut self, word: usize, at: &AccessIndices, number: LaneValue) {
        let value = match self.mask.clone() {
            None => number,
            Some(m) => {
                let nothing = self.e.b.ins().f64const(-0.0);
                self.choose(&m, &number, &LaneValue::One(nothing))
            }
        };
        let (address, stride) = self.place(word, at);
        match stride {
            Stride::Known(1) if self.side > 0 => {
                for (u, x) in self.many(&value).into_iter().enumerate() {
                    let old = self.load_vector(address, u);
                    let new = self.e.b.ins().fadd(old, x);
                    self.store_vector(new, address, u);
                }
            }
            Stride::Known(0) => self.combine(address, &value, &mut |e, old, x| e.b.ins().fadd(old, x)),
            _ if self.side == 0 => self.combine(address, &value, &mut |e, old, x| e.b.ins().fadd(old, x)),
            s => {
                let all = self.many(&value);
                let lanes: Vec<Value> = self.lanes_of(&all);
                for (p, x) in self.places(address, s).into_iter().zip(lanes) {
                    let old = self.e.b.ins().load(types::F64, LOOSE, p, 0);
                    let new = self.e.b.ins().fadd(old, x);
                    self.e.b.ins().store(LOOSE, new, p, 0);
                }
            }
        }
    }

    /// Combines the number at an address with that of each iteration, in order.
    fn combine(&mut self, p: Value, x: &LaneValue, f: &mut dyn FnMut(&mut Emit, Value, Value) -> Value) {
        let mut acc = self.e.b.ins().load(types::F64, LOOSE, p, 0);
        for x in self.in_order(x) {
            acc = f(&mut self.e, acc, x);
        }
        self.e.b.ins().store(LOOSE, acc, p, 0);
    }

    /// Combines a carried number with that of each iteration.
    fn folded(&mut self, k: usize, s: &Stmt) {
        let Op::Bin(op, x, y) = &s.op else { return };
        let carried = self.k.l.body.params[1 + k];
        let term = if *x == carried { *y } else { *x };
        let term = self.float(term);
        let left = *x == carried;
        let Some(word) = self.k.w.folds.get(&k) else { return };
        let p = self.e.b.ins().iadd_imm_s(self.given[0], 8 * *word as i64);
        self.combine(p, &term, &mut |e, acc, x| if left { e.bin(*op, acc, x) } else { e.bin(*op, x, acc) });
    }
}

/// The offset in scratch memory of the terms of each total.
fn buffers(totals: &[Total]) -> Vec<i64> {
    let mut next = 8 * totals.len() as i64;
    let mut out = Vec::new();
    for t in totals {
        out.push(next);
        next += if matches!(t, Total::Out(_)) { 8 * STRIP } else { 0 };
    }
    out
}

/// The scratch size of the totals and their terms, in Floats.
fn of_totals(totals: &[Total]) -> i64 {
    totals.len() as i64 + STRIP * totals.iter().filter(|t| matches!(t, Total::Out(_))).count() as i64
}

/// The scratch size of a kernel without rows, in Floats.
pub(super) fn room(x: &super::VectorLoop) -> i64 {
    of_totals(&x.totals) + STRIP * x.stages.buffers as i64 + rows::LONGEST * x.p.rows.hoisted.len() as i64
}
