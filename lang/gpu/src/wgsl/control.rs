//! Branches, loops, calls and reductions inside of a kernel.

use super::deferred_arrays::ElementSource;
use super::{Emit, EmitFrame, StridedView, VarValue, wgsl};
use crate::array::Scalar;
use crate::error::{Check, Res, unsupported};
use crate::limits::wgsl_control::CALLS;
pub(crate) use crate::limits::wgsl_control::ITERATIONS;
use adl_ir::{Block, FnId, Loop, Op, Out, Soac, SoacKind, Trip, Ty, Var};
use adl_prim::Bin;
use std::collections::HashMap;

/// Where a branch arm stores a result.
enum ArmTarget {
    Number(Scalar, String),
    Array(Option<StridedView>),
}

/// The loop state: carried values, then sums; and collected arrays, as soon as their elements are known.
struct Turning {
    vars: Vec<(Scalar, String)>,
    outs: Vec<Out>,
    made: Vec<Option<StridedView>>,
    carried: usize,
}

impl Emit<'_> {
    /// Emits an operation with blocks, or a call. Returns whether it is one.
    pub(super) fn control(&mut self, op: &Op, outs: &[Var]) -> Res<bool> {
        match op {
            Op::If(c, a, b) => self.branch(*c, a, b, outs)?,
            Op::Loop(l) => self.trip(l, outs)?,
            Op::Call { f, args, lin_args, .. } => self.call(*f, &[args.as_slice(), lin_args].concat(), outs)?,
            Op::Soac(s) => self.fold(s, outs)?,
            Op::Switch(..) => return unsupported("data inside of a kernel"),
            Op::ReduceByIndex { .. } => return unsupported("a histogram inside of a kernel"),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Declares a mutable variable for the future value of `v`; the memory of an array is allocated by the first arm.
    fn changing(&mut self, v: Var) -> Res<ArmTarget> {
        if self.ty(v).rank() > 0 {
            return Ok(ArmTarget::Array(None));
        }
        let s = self.scalar(v)?;
        let n = self.name("x");
        self.line(&format!("var {n}: {};", wgsl(s)));
        Ok(ArmTarget::Number(s, n))
    }

    fn branch(&mut self, c: Var, block: &Block, b: &Block, outs: &[Var]) -> Res<()> {
        let (_, c) = self.number(c)?;
        let mut to = outs.iter().map(|o| self.changing(*o)).collect::<Res<Vec<_>>>()?;
        self.open(&format!("if {c}"));
        self.arm(block, &mut to)?;
        self.body.open_else();
        self.arm(b, &mut to)?;
        self.close();
        for (o, t) in outs.iter().zip(to) {
            match t {
                ArmTarget::Number(s, n) => self.bind(*o, VarValue::Number(s, n)),
                ArmTarget::Array(Some(w)) => self.bind(*o, VarValue::StridedView(w)),
                ArmTarget::Array(None) => return unsupported("a branch without results"),
            }
        }
        Ok(())
    }

    fn arm(&mut self, block: &Block, to: &mut [ArmTarget]) -> Res<()> {
        self.stmts(block)?;
        for (v, t) in block.results.iter().chain(&block.lin_results).zip(to) {
            match t {
                ArmTarget::Number(_, n) => {
                    let (_, x) = self.number(*v)?;
                    self.line(&format!("{n} = {x};"));
                }
                ArmTarget::Array(place) => {
                    let source = self.elements(*v)?;
                    let memory = match place {
                        Some(w)
                            if source
                                .dims()
                                .iter()
                                .zip(&w.dims)
                                .all(|(a, b)| self.known(a).is_some() && self.known(a) == self.known(b)) =>
                        {
                            w.clone()
                        }
                        Some(_) => return unsupported("arms of a branch with arrays of different extents"),
                        None => self.scratch(source.scalar(), source.dims())?,
                    };
                    self.fill(&memory, &source)?;
                    *place = Some(memory);
                }
            }
        }
        Ok(())
    }

    fn trip(&mut self, ir_loop: &Loop, outs: &[Var]) -> Res<()> {
        if !ir_loop.lin_init.is_empty() || !ir_loop.lin_xs.is_empty() || !ir_loop.lin_outs.is_empty() {
            return unsupported("linear variables in a kernel");
        }
        let inits = ir_loop.init.iter().map(|v| self.number(*v)).collect::<Res<Vec<_>>>()?;
        let mut turning = Turning {
            vars: Vec::new(),
            outs: ir_loop.outs.clone(),
            made: vec![None; ir_loop.outs.len()],
            carried: inits.len(),
        };
        for (s, x) in inits {
            let n = self.name("x");
            self.line(&format!("var {n} = {x};"));
            turning.vars.push((s, n));
        }
        for (o, kind) in outs.iter().skip(ir_loop.init.len()).zip(&ir_loop.outs) {
            // For collected outputs, only the kind matters here.
            let s = if *kind == Out::Sum { self.scalar(*o)? } else { Scalar::Word };
            let n = self.name("s");
            let zero = self.zero(s);
            self.line(&format!("var {n} = {zero};"));
            turning.vars.push((s, n));
        }
        let xs = ir_loop.xs.iter().map(|v| self.walked(*v)).collect::<Res<Vec<_>>>()?;
        let iteration = self.name("t");
        let times = match &ir_loop.trip {
            // The host may know the value of this expression, and allocate arrays of that length.
            Trip::Count(n) => self.counted(ir_loop, *n, &iteration, &xs, &mut turning)?,
            Trip::While(c) => {
                self.tested(ir_loop, c, &iteration, &xs, &mut turning)?;
                iteration
            }
        };
        for (k, (o, (s, n))) in outs.iter().zip(&turning.vars).enumerate() {
            let made = k.checked_sub(turning.carried).and_then(|k| turning.made[k].clone());
            self.bind(*o, made.map_or_else(|| VarValue::Number(*s, n.clone()), VarValue::StridedView));
        }
        if let (Some(last), true) = (outs.get(ir_loop.init.len() + ir_loop.outs.len()), self.caps.i64) {
            self.bind_number(*last, Scalar::I64, &format!("l_of({times})"));
        }
        Ok(())
    }

    /// Emits a counted loop. Returns the trip count.
    fn counted(
        &mut self,
        ir_loop: &Loop,
        trip: Var,
        iteration: &str,
        xs: &[ElementSource],
        turning: &mut Turning,
    ) -> Res<String> {
        let (_, n) = self.number(trip)?;
        let mut count = self.extent(&n);
        let known = self.known(&count);
        if !xs.is_empty() {
            let short = self.check(Check::Bounds);
            let enough = xs.iter().map(|e| format!("{count} <= {}", e.dims()[0])).collect::<Vec<_>>().join(" && ");
            self.line(&format!("if !({enough}) {{ fault({short}); }}"));
            count = self.define("n", &format!("select(0u, {count}, {enough})"));
            known.into_iter().for_each(|k| self.know(&count, k));
        }
        self.line(&format!("var {iteration} = 0u;"));
        self.open(&format!("for (; {iteration} < {count}; {iteration}++)"));
        let i = if ir_loop.reverse { format!("({count} - 1u - {iteration})") } else { iteration.to_owned() };
        self.iteration(ir_loop, &i, xs, turning, Some(&count))?;
        self.close();
        self.ended(&format!("{iteration} < {count}"));
        Ok(count)
    }

    fn tested(
        &mut self,
        ir_loop: &Loop,
        condition: &Block,
        iteration: &str,
        xs: &[ElementSource],
        turning: &mut Turning,
    ) -> Res<()> {
        if !xs.is_empty() {
            return unsupported("elements in a loop of unknown length");
        }
        let many = self.check(Check::Trip);
        let over = self.name("over");
        self.line(&format!("var {iteration} = 0u; var {over} = false;"));
        self.open("loop");
        condition
            .params
            .iter()
            .zip(&turning.vars)
            .for_each(|(p, (s, n))| self.bind(*p, VarValue::Number(*s, n.clone())));
        self.stmts(condition)?;
        let Some(test) = condition.results.first() else { return unsupported("a loop without a condition") };
        let (_, test) = self.number(*test)?;
        self.line(&format!("if !({test}) || failed {{ {over} = true; break; }}"));
        self.line(&format!("if {iteration} >= {ITERATIONS}u {{ fault({many}); break; }}"));
        self.iteration(ir_loop, iteration, xs, turning, None)?;
        self.line(&format!("{iteration}++;"));
        self.close();
        self.ended(&format!("!{over}"));
        Ok(())
    }

    /// Emits one iteration: updates carried values and sums, and stores collected elements. `count` is the trip count.
    fn iteration(
        &mut self,
        ir_loop: &Loop,
        index: &str,
        xs: &[ElementSource],
        turning: &mut Turning,
        count: Option<&str>,
    ) -> Res<()> {
        self.iteration_index(ir_loop.body.params.first(), index);
        for (p, (s, n)) in ir_loop.body.params.iter().skip(1).zip(&turning.vars[..turning.carried]) {
            // The body may read it after another carried value has been assigned.
            self.bind_number(*p, *s, n);
        }
        for (p, e) in ir_loop.body.params.iter().skip(1 + turning.carried).zip(xs) {
            let row = self.first_axis(e, index)?;
            self.bind(*p, row);
        }
        self.stmts(&ir_loop.body)?;
        let made = ir_loop.body.results.iter().map(|v| self.elements(*v)).collect::<Res<Vec<_>>>()?;
        for (position, source) in made.iter().enumerate() {
            let kind = position.checked_sub(turning.carried).map(|k| turning.outs[k]);
            let (s, to) = turning.vars[position].clone();
            match (kind, source) {
                // Results are named values, so that no assignment affects another one.
                (None, ElementSource::Number(_, x)) => self.line(&format!("{to} = {x};")),
                (Some(Out::Sum), ElementSource::Number(_, x)) => {
                    let x = self.bin(Bin::Add, s, &to, x)?;
                    self.line(&format!("{to} = {x};"));
                }
                (Some(Out::Collect | Out::Boxed), _) => {
                    let Some(n) = count else { return unsupported("what a loop of unknown length collects") };
                    let memory =
                        self.scratch(source.scalar(), &[vec![n.to_owned()], source.dims().to_vec()].concat())?;
                    let row = self.row(&memory, index);
                    self.fill(&row, source)?;
                    turning.made[position - turning.carried] = Some(memory);
                }
                _ => return unsupported("arrays that a loop inside of a kernel carries or adds up"),
            }
        }
        Ok(())
    }

    /// The loop index as an Int, if the device has Ints; otherwise it must not be used.
    pub(crate) fn iteration_index(&mut self, param: Option<&Var>, i: &str) {
        let Some(p) = param else { return };
        match self.caps.i64 {
            true => self.bind_number(*p, Scalar::I64, &format!("l_of({i})")),
            false => self.bind(*p, VarValue::Nothing),
        }
    }

    /// Inlines a call.
    fn call(&mut self, id: FnId, args: &[Var], outs: &[Var]) -> Res<()> {
        if self.calls.contains(&id) {
            return unsupported("a function that calls itself");
        }
        if self.calls.len() >= CALLS {
            return unsupported("calls inside of calls, too many for a kernel");
        }
        let given = args.iter().map(|v| self.passed(*v)).collect::<Res<Vec<_>>>()?;
        let f = self.program.func(id);
        let params = f.body.params.iter().chain(&f.body.lin_params).copied();
        self.calls.push(id);
        let span = self.span;
        self.frames.push(EmitFrame { f, places: params.zip(given).collect::<HashMap<_, _>>() });
        let done = self.stmts(&f.body);
        let results = done.and_then(|()| {
            f.body.results.iter().chain(&f.body.lin_results).map(|v| self.passed(*v)).collect::<Res<Vec<_>>>()
        });
        self.frames.pop();
        self.calls.pop();
        self.span = span;
        outs.iter().zip(results?).for_each(|(o, p)| self.bind(*o, p));
        Ok(())
    }

    /// The argument or result of a call; texts and data cannot be accessed.
    fn passed(&mut self, v: Var) -> Res<VarValue> {
        match self.ty(v) {
            Ty::Str | Ty::Data(_) => Ok(VarValue::Nothing),
            Ty::F64 | Ty::F32 | Ty::I64 | Ty::Bool | Ty::Array(..) => self.place(v),
        }
    }

    /// Emits a sequential reduction.
    fn fold(&mut self, soac: &Soac, outs: &[Var]) -> Res<()> {
        if soac.kind != SoacKind::Reduce {
            return unsupported("a scan inside of a kernel");
        }
        let views = soac.arrays.iter().map(|v| self.walked(*v)).collect::<Res<Vec<_>>>()?;
        let Some(first) = views.first() else { return unsupported("a reduction of nothing") };
        let mut vars = Vec::new();
        for v in &soac.neutral {
            let (k, x) = self.number(*v)?;
            let n = self.name("x");
            self.line(&format!("var {n} = {x};"));
            vars.push((k, n));
        }
        let index = self.name("j");
        let count = first.dims()[0].clone();
        self.line(&format!("var {index} = 0u;"));
        self.open(&format!("for (; {index} < {count}; {index}++)"));
        let (accs, elems) = soac.op.params.split_at(vars.len().min(soac.op.params.len()));
        for (p, (k, n)) in accs.iter().zip(&vars) {
            self.bind_number(*p, *k, n);
        }
        for (p, e) in elems.iter().zip(&views) {
            let row = self.first_axis(e, &index)?;
            self.bind(*p, row);
        }
        self.stmts(&soac.op)?;
        self.arm_results(&soac.op, &vars)?;
        self.close();
        self.ended(&format!("{index} < {count}"));
        outs.iter().zip(vars).for_each(|(o, (s, n))| self.bind(*o, VarValue::Number(s, n)));
        Ok(())
    }

    fn arm_results(&mut self, b: &Block, to: &[(Scalar, String)]) -> Res<()> {
        let made = b.results.iter().map(|v| self.number(*v)).collect::<Res<Vec<_>>>()?;
        for ((_, x), (_, n)) in made.iter().zip(to) {
            self.line(&format!("{n} = {x};"));
        }
        Ok(())
    }
}
