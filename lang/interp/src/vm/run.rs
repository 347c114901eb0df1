//! The interpreter loop: fetches and executes instructions. Instructions are implemented in `instr`, calls and
//! returns in `calls`.

use super::code::I;
use super::components::compare_values;
use super::{Machine, nowhere};
use crate::error::{Error, Res};
use crate::value::{Value, seq};
use adl_typing::core::Projection;
use std::sync::atomic::Ordering;

impl Machine {
    /// Runs until the frame above `depth` returns.
    pub(super) fn run(&mut self, depth: usize) -> Res<Value> {
        let out = if self.check_nan { self.steps::<true>(depth) } else { self.steps::<false>(depth) };
        match out {
            Ok(v) => Ok(v),
            Err(e) => {
                let e = self.located(e, depth);
                let base = self.frames.get(depth).map_or(self.regs.len(), |f| f.base);
                self.frames.truncate(depth);
                self.regs.truncate(base);
                Err(e)
            }
        }
    }

    /// Adds the source position and the call stack to an error that unwinds the frames above `depth`.
    fn located(&self, mut error: Box<Error>, depth: usize) -> Box<Error> {
        let mut inside = None;
        for f in self.frames[depth..].iter().rev() {
            let span = f.code.spans.get(f.pc.saturating_sub(1)).copied().unwrap_or_default();
            // An outlined loop has a frame; its position is more precise than that of the call in the function
            // around it.
            let span = inside.take().unwrap_or(span);
            self.place(&mut error, span);
            if f.code.part {
                inside = Some(span);
            } else if error.diag.stack.len() < super::lowered::MAX_STACK && f.fun.is_some() {
                let name = f.code.name.map_or("fun".to_owned(), |n| n.to_string());
                error.diag.stack.push((name, span));
            }
        }
        error
    }

    /// The position of the instruction in progress in the user's code.
    pub(crate) fn user_place(&self) -> adl_syntax::span::Span {
        let of = |f: &super::CallFrame| f.code.spans.get(f.pc.saturating_sub(1)).copied().unwrap_or_default();
        let places = self.frames.iter().rev().map(of);
        places.into_iter().find(|s| !nowhere(*s) && !self.library.contains(&s.file)).unwrap_or_default()
    }

    /// The position of an error is the innermost one in the user's code, or the innermost one of all.
    pub(super) fn place(&self, e: &mut Error, span: adl_syntax::span::Span) {
        if e.located || nowhere(span) {
            return;
        }
        let users = !self.library.contains(&span.file);
        if users || nowhere(e.diag.primary.span) {
            e.diag.primary.span = span;
        }
        e.located = users;
        if users && e.bounds.is_some() {
            seq::as_written(e, self.sources.text(span));
        }
    }

    /// With `NAN`, `--check-nan` is on.
    fn steps<const NAN: bool>(&mut self, depth: usize) -> Res<Value> {
        let Some(frame) = self.frames.last() else { return Ok(Value::Unit) };
        let (mut code, mut base, mut pc) = (frame.code.clone(), frame.base, frame.pc);
        // Stores the program counter in the frame, for code that inspects frames during an instruction and for
        // the positions of errors.
        macro_rules! save {
            () => {
                if let Some(f) = self.frames.last_mut() {
                    f.pc = pc;
                }
            };
        }
        macro_rules! check {
            ($e:expr) => {
                match $e {
                    Ok(v) => v,
                    Err(e) => {
                        save!();
                        return Err(e);
                    }
                }
            };
        }
        // An instruction that may run other code.
        macro_rules! seen {
            ($e:expr) => {{
                save!();
                check!($e)
            }};
        }
        // Continues in the top frame, which has changed.
        macro_rules! enter {
            ($e:expr) => {{
                $e;
                let Some(f) = self.frames.last() else { return Ok(Value::Unit) };
                code = f.code.clone();
                base = f.base;
                pc = f.pc;
            }};
        }
        // Like `enter`, unless the run is finished.
        macro_rules! leave {
            ($result:expr) => {{
                if let Some(v) = $result {
                    return Ok(v);
                }
                enter!(())
            }};
        }
        macro_rules! jump {
            ($if:expr, $to:expr) => {
                if $if {
                    pc = $to as usize;
                }
            };
        }
        // The end of a loop iteration: a hot function continues as native code.
        macro_rules! back {
            ($head:expr) => {{
                if code.profile.iteration() {
                    if let Some(v) = seen!(self.hot_frame()) {
                        leave!(self.ret(v, depth));
                        continue;
                    }
                }
                if self.interrupt.load(Ordering::Relaxed) {
                    check!(self.poll());
                }
                pc = $head as usize;
            }};
        }
        loop {
            let ins = code.instrs[pc];
            pc += 1;
            let watched = if NAN { self.watch(base, &ins, &code) } else { None };
            match ins {
                I::Const(d, k) => self.constant(base, d, &code.consts[k as usize]),
                I::Move(d, s) => self.copy(base, d, s),
                I::Take(d, s) => self.move_out(base, d, s),
                I::Global(d, g) => check!(self.load_global(base, d, g)),
                I::Bin(op, d, a, b) => check!(self.binary(base, op, [d, a, b])),
                I::Un(op, d, a) => check!(self.unary(base, op, d, a)),
                I::ToFloat(d, a) => self.as_float(base, d, a),
                I::NumAt(d, k, rep) => self.number_at(base, d, &code.consts[k as usize], rep),
                I::Cmp(op, d, a, b) => {
                    let v = check!(compare_values(op, self.reg(base, a), self.reg(base, b)));
                    self.set(base, d, Value::Bool(v));
                }
                I::Jump(t) => pc = t as usize,
                I::JumpUnless(c, t) => jump!(!matches!(self.reg(base, c), Value::Bool(true)), t),
                I::JumpUnlessCmp(op, a, b, t) => {
                    jump!(!check!(compare_values(op, self.reg(base, a), self.reg(base, b))), t);
                }
                I::Switch(a, k) => pc = self.target(base, a, &code.tables.targets[k as usize]),
                I::LoopHead(i, n, exit) => {
                    if let (Value::Int(i), Value::Int(n)) = (self.reg(base, i), self.reg(base, n)) {
                        if i >= n {
                            pc = exit as usize;
                        } else if self.tick.load(Ordering::Relaxed) {
                            save!();
                            self.report_progress();
                        }
                    }
                }
                I::LoopNext(i, head) => {
                    if let Value::Int(k) = self.reg_mut(base, i) {
                        *k += 1;
                    }
                    back!(head);
                }
                I::Back(head) => back!(head),
                I::Call(d, f, first, n) => enter!(seen!(self.call_value(base, [d, f, first], n))),
                I::CallSibling(d, k, first, n) => enter!(seen!(self.call_sibling(base, [d, k, first], n))),
                I::CallFn(k) => enter!(seen!(self.call_fn(&code.lowered.calls[k as usize], base))),
                I::TailCall(f, first, n) => {
                    leave!(seen!(self.tail_value(base, f, first, n)).and_then(|v| self.ret(v, depth)));
                }
                I::TailSibling(k, first, n) => {
                    leave!(seen!(self.tail_sibling(base, k, first, n)).and_then(|v| self.ret(v, depth)));
                }
                I::TailFn(k) => {
                    save!();
                    // After an error in native code the frame has been removed.
                    leave!(self.tail_fn(&code.lowered.calls[k as usize], base, depth)?);
                }
                I::Ret(a) => {
                    let v = std::mem::take(self.reg_mut(base, a));
                    leave!(self.ret(v, depth));
                }
                I::RetMany(k) => {
                    let vals = self.taken(base, &code.lowered.rets[k as usize]);
                    leave!(self.ret_many(vals, depth));
                }
                I::Prim(d, p, first, hidden, n) => seen!(self.primitive(base, [d, first], p, [hidden, n])),
                I::Lowered(k) => seen!(self.step(base, &code.lowered.steps[k as usize])),
                // With `--check-nan` every operation is checked, so chains run one statement at a time.
                I::FusedChain(k, t) => jump!(!NAN && check!(self.strips(base, &code.lowered.strips[k as usize])), t),
                I::For(d, k, f, first, n) => {
                    seen!(self.comprehension(base, [d, f, first], code.tables.kinds[k as usize], n));
                }
                I::PrimFun(d, p, first, n) => self.prim_fun(base, d, p, first, n),
                I::Closure(d, k, first, n) => self.closure(base, d, &code.codes[k as usize], first, n),
                I::Group(d, k, first, n) => self.group(base, d, &code.groups[k as usize], first, n),
                I::Sibling(d, k) => seen!(self.sibling_value(base, d, k)),
                I::Tuple(d, first, n) => self.tuple(base, d, first, n),
                I::Record(d, k, first, n) => self.record(base, d, &code.tables.names[k as usize], first, n),
                I::Con(d, k, first, n) => self.construct(base, d, &code.tables.cons[k as usize], first, n),
                I::Array(d, first, n) => seen!(self.array(base, d, first, n)),
                I::Interp(d, first, n) => check!(self.interpolate(base, d, first, n)),
                I::Push(acc, a) => check!(self.push(base, acc, a)),
                I::Item(d, a, i) => check!(self.part(base, d, a, Projection::Item(i))),
                I::Field(d, a, name) => check!(self.part(base, d, a, Projection::Field(name))),
                I::Update(d, a, k, first, _) => {
                    check!(self.update(base, [d, a], &code.tables.names[k as usize], first));
                }
                I::Index1(d, a, i) => seen!(self.index1(base, [d, a, i])),
                I::Index(d, a, k, first) => seen!(self.index(base, [d, a, first], &code.tables.indices[k as usize])),
                I::Elem(d, a, i) => seen!(self.element_at(base, d, a, i)),
                I::ConField(d, a, i) => self.con_field(base, [d, a], i, &Value::Zero),
                I::FieldOr(d, a, i, z) => self.con_field(base, [d, a], i, &code.consts[z as usize]),
                I::At1(d, a, i, z) => check!(self.at1(base, [d, a, i], &code.consts[z as usize])),
                I::At2(d, a, i, j, z) => check!(self.at2(base, [d, a, i, j], &code.consts[z as usize])),
                I::IsLit(d, a, k) => check!(self.is_literal(base, d, a, &code.consts[k as usize])),
                I::IsLen(d, a, n) => self.is_len(base, d, a, n),
                I::AxisLen(d, a, axis) => self.axis_len(base, d, a, axis),
                I::SameExtent(a, b) => check!(self.same_extent(base, a, b)),
                I::Rep(d, k) => self.rep(base, d, &code.tables.reps[k as usize]),
                I::ZeroOf(d, rep) => self.zero_of(base, d, rep),
                I::SizeAt(d, k) => check!(self.size_at(base, d, &code.tables.sizes[k as usize].0)),
                I::CheckSize(k, r) => check!(self.check_size(base, &code.tables.sizes[k as usize], r)),
                I::NoMatch => check!(Err(super::no_match())),
            }
            if let (true, Some(w)) = (NAN, &watched) {
                check!(self.check_finite(base, w));
            }
        }
    }
}
