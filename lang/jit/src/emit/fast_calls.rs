//! Operations on whole Float arrays, with their fast path first.

use super::extrema::searched;
use super::{EmissionScope, Emit, EmitSite, LOOSE, is_ref};
use crate::fast_paths::{FastOp, FastOpSite, WORDS};
use crate::handle::ValueForm;
use crate::runtime::{SlowOp, WordKind};
use crate::shims;
use adl_interp::ir::op_site;
use adl_ir::{Block, Function, Op, Stmt, Ty, Var};
use adl_prim::{Bin, DerivativeFn, GeneralFn, Prim};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{AbiParam, InstBuilder, Signature, Value, types};
use cranelift_module::Module;

/// Whether a type is a flat Float array whose extents fit a handle.
fn floats(ty: &Ty) -> bool {
    *ty.scalar() == Ty::F64 && ValueForm::of(ty).0 != 0
}

impl Emit<'_, '_, '_> {
    fn floats(&self, v: Var) -> bool {
        floats(self.ty(v))
    }

    /// The fast operation of a statement, if it has one.
    fn fast(&self, stmt: &Stmt) -> Option<FastOp> {
        let number = |v: &Var| *self.ty(*v) == Ty::F64;
        let array = |v: &Var| self.floats(*v);
        let numbers = |v: &Var| ValueForm::of(self.ty(*v)).is_numbers();
        Some(match &stmt.op {
            Op::Bin(op, a, b) if array(a) && array(b) => FastOp::Zip(*op),
            Op::Bin(op, a, b) if array(a) && number(b) => FastOp::Right(*op),
            Op::Bin(op, a, b) if number(a) && array(b) => FastOp::Left(*op),
            Op::Un(op, a) if array(a) => FastOp::Map(*op),
            Op::Index { a, at, .. } if numbers(a) && at.len() == 1 && self.ty(*a).rank() > 1 => FastOp::Row,
            Op::Index { a, at, .. }
                if at.len() == 1
                    && self.ty(*a).rank() == 1
                    && !self.ty(*a).scalar().is_flat()
                    && stmt.outs.iter().chain(&stmt.lin_outs).all(|v| is_ref(self.ty(*v))) =>
            {
                FastOp::Unbox(stmt.outs.iter().chain(&stmt.lin_outs).next().and_then(|v| data_of(self.ty(*v))))
            }
            Op::Slice { a, .. } if numbers(a) => FastOp::Slice,
            Op::Replicate { a, .. } if number(a) => FastOp::Fill,
            Op::Shape(a) if numbers(a) => FastOp::Shape,
            Op::IndexAdd { acc, at, v, .. } if at.len() == 1 && array(acc) && array(v) => FastOp::AddRow,
            Op::IndexSet { acc, at, v, .. } if at.len() == 1 && array(acc) && array(v) => FastOp::SetRow,
            Op::SliceAdd { acc, v, .. } if array(acc) && array(v) => FastOp::AddSlice,
            Op::MatMul(a, b) if array(a) && array(b) => FastOp::MatMul,
            Op::Contract(c) if array(&c.a) && array(&c.b) => FastOp::Contract(c.terms, c.turned),
            Op::Outer(a, b) if array(a) && array(b) && self.ty(*a).rank() + self.ty(*b).rank() == 2 => FastOp::Outer,
            Op::Concat { a, b, .. } if numbers(a) && numbers(b) && self.ty(*a).rank() == 1 => FastOp::Concat,
            Op::Transpose(a) if array(a) && self.ty(*a).rank() >= 2 => FastOp::Transpose,
            Op::Replicate { a, .. } if array(a) => FastOp::Copies,
            Op::ArrayLit { elems, .. } if !elems.is_empty() && elems.len() < WORDS && elems.iter().all(array) => {
                FastOp::Stack(elems.len() as u8)
            }
            _ => return None,
        })
    }

    /// Emits an operation on whole arrays, with its fast path first. Returns whether it has one.
    pub(super) fn quick(&mut self, stmt: &Stmt, at: u32, sc: &EmissionScope) -> bool {
        if self.quick_number(stmt, at, sc) || self.quick_extremum(stmt, at, sc) || self.identity(stmt, at, sc) {
            return true;
        }
        let Some(what) = self.fast(stmt) else { return false };
        let vars = op_site::site(&self.job.unit.datas, self.f, stmt).vars;
        if vars.len() > WORDS {
            return false;
        }
        let out = stmt.outs.iter().chain(&stmt.lin_outs).next().copied();
        let Some(expect) = out.map(|v| ValueForm::of(self.ty(v))) else { return false };
        let mut takes = self.takes(&vars, at, sc, &|_| false);
        let (mut words, mut rows) = (Vec::new(), Vec::new());
        for (v, take) in vars.iter().zip(&mut takes) {
            // No fast path reads the shape operand of a possible symbolic zero.
            let (x, made) = if self.is_later(*v) { (self.int(0), false) } else { self.handle(*v) };
            *take |= made;
            rows.extend(made.then_some(x));
            words.push(self.to_word(WordKind::of(self.f.ty(*v)), x));
        }
        let x = self.quick_or(what, &words, &takes, expect, |e| {
            rows.iter().for_each(|h| e.release(*h));
            e.slow(stmt, at, sc)[0]
        });
        self.bind_outs(stmt, &[x]);
        true
    }

    /// Emits an outer product and its in-place accumulation to a matrix. Returns whether the two statements from `at`
    /// on have this form.
    pub(super) fn rank_one(&mut self, b: &Block, at: u32, sc: &EmissionScope) -> bool {
        let (Some(stmt), Some(next)) = (b.stmts.get(at as usize), b.stmts.get(at as usize + 1)) else { return false };
        let (Op::Outer(left, right), Op::Bin(Bin::Add, p, q)) = (&stmt.op, &next.op) else { return false };
        let Some(made) = stmt.outs.iter().chain(&stmt.lin_outs).next().copied() else { return false };
        let acc = if *q == made { *p } else { *q };
        let fits = [*left, *right].iter().all(|v| self.floats(*v) && self.ty(*v).rank() == 1)
            && self.floats(made)
            && self.floats(acc)
            && self.ty(acc).rank() == 2;
        if ![*p, *q].contains(&made)
            || acc == made
            || !fits
            || self.is_row_reference(acc)
            || !self.dies(made, at + 1, sc)
            || !self.dies(acc, at + 1, sc)
        {
            return false;
        }
        self.at = EmitSite::of(stmt.span);
        let out = next.outs.iter().chain(&next.lin_outs).next().copied().unwrap_or(made);
        let vars = [acc, *left, *right];
        let mut takes: Vec<bool> = vars
            .iter()
            .enumerate()
            .map(|(k, v)| !vars[k + 1..].contains(v) && (self.dies(*v, at, sc) || self.dies(*v, at + 1, sc)))
            .collect();
        let (mut words, mut rows) = (Vec::new(), Vec::new());
        for (v, take) in vars.iter().zip(&mut takes) {
            let (h, new) = self.handle(*v);
            *take |= new;
            rows.extend(new.then_some(h));
            words.push(h);
        }
        let h = self.quick_or(FastOp::AddOuter, &words, &takes, ValueForm::of(self.ty(out)), |e| {
            rows.iter().for_each(|h| e.release(*h));
            let product = e.slow(stmt, at, sc);
            e.bind_outs(stmt, &product);
            e.at = EmitSite::of(next.span);
            e.slow(next, at + 1, sc)[0]
        });
        self.bind_outs(next, &[h]);
        true
    }

    /// The result of a fast operation, or of the code that `slow` emits if it does not apply.
    pub(super) fn quick_or(
        &mut self,
        what: FastOp,
        words: &[Value],
        takes: &[bool],
        expect: ValueForm,
        slow: impl FnOnce(&mut Self) -> Value,
    ) -> Value {
        let bits = takes.iter().enumerate().fold(0, |bits, (i, t)| bits | u32::from(*t) << i);
        self.job.tables.quick.push(FastOpSite { what, takes: bits, expect });
        let id = self.int(self.job.tables.quick.len() as i64 - 1);
        let none = self.int(0);
        let mut args = vec![self.frame.ctx, id];
        args.extend(words);
        args.resize(2 + WORDS, none);
        let made = self.runtime(shims::quick as *const u8, &args, 1).unwrap_or(id);
        let (cold, done) = (self.cold(), self.fresh());
        self.b.append_block_param(done, types::I64);
        self.either(made, done, &[made], cold);
        self.b.switch_to_block(cold);
        let other = slow(self);
        self.goto(done, &[other]);
        self.b.switch_to_block(done);
        self.b.block_params(done)[0]
    }

    /// Emits reductions to a scalar. Returns whether the statement is one.
    fn quick_number(&mut self, stmt: &Stmt, at: u32, sc: &EmissionScope) -> bool {
        let Some(vars) = reduced(self.f, stmt) else { return false };
        let (cold, done) = (self.cold(), self.fresh());
        self.b.append_block_param(done, types::F64);
        let seen: Vec<_> = vars.iter().map(|v| self.seen(*v)).collect();
        for (data, dims) in &seen {
            self.unless(*data, cold, &[]);
            for (d, e) in dims.iter().zip(&seen[0].1).filter(|(d, e)| d != e) {
                let same = self.b.ins().icmp(IntCC::Equal, *d, *e);
                self.unless(same, cold, &[]);
            }
        }
        let first = seen[0].1[0];
        let n = seen[0].1[1..].iter().fold(first, |n, d| self.b.ins().imul(n, *d));
        let mut args: Vec<Value> = seen.iter().map(|(data, _)| *data).collect();
        args.push(n);
        let f = if vars.len() == 2 { shims::dot as *const u8 } else { crate::shims::total as *const u8 };
        let x = self.number_of(f, &args);
        self.goto(done, &[x]);
        self.b.switch_to_block(cold);
        let y = self.slow_lent(stmt)[0];
        self.goto(done, &[y]);
        self.b.switch_to_block(done);
        let x = self.b.block_params(done)[0];
        self.bind_outs(stmt, &[x]);
        let mut all = Vec::new();
        stmt.op.each_operand(&mut |v| all.push(v));
        self.release_dying(&all, at, sc);
        true
    }

    /// Emits an extremum of a vector, or its position. Returns whether the statement is one.
    fn quick_extremum(&mut self, stmt: &Stmt, at: u32, sc: &EmissionScope) -> bool {
        let Some((var, least, position)) = extremum(self.f, stmt) else { return false };
        let ty = if position { types::I64 } else { types::F64 };
        let (cold, done) = (self.cold(), self.fresh());
        self.b.append_block_param(done, ty);
        let (data, dims) = self.seen(var);
        self.unless(data, cold, &[]);
        // An empty vector has no extremum.
        self.unless(dims[0], cold, &[]);
        let least = self.int(i64::from(least));
        let place = self.runtime(shims::extremum as *const u8, &[data, dims[0], least], 1).unwrap_or(data);
        let result = if position {
            place
        } else {
            let bytes = self.b.ins().ishl_imm_s(place, 3);
            let place = self.b.ins().iadd(data, bytes);
            self.b.ins().load(types::F64, LOOSE, place, 0)
        };
        self.goto(done, &[result]);
        self.b.switch_to_block(cold);
        let y = self.slow_lent(stmt)[0];
        self.goto(done, &[y]);
        self.b.switch_to_block(done);
        let x = self.b.block_params(done)[0];
        self.bind_outs(stmt, &[x]);
        self.release_dying(&[var], at, sc);
        true
    }

    /// Emits operations without an effect at run time: `stop_grad`, and checks that succeed.
    fn identity(&mut self, stmt: &Stmt, at: u32, sc: &EmissionScope) -> bool {
        match &stmt.op {
            Op::Prim(Prim::Derivative(DerivativeFn::StopGrad), vars)
                if vars.len() == 1 && !self.is_row_reference(vars[0]) && stmt.outs.len() == 1 =>
            {
                let x = self.owned(vars, at, sc, &|_| false);
                self.bind_outs(stmt, &x);
                true
            }
            Op::Prim(Prim::General(GeneralFn::Assert), vars)
                if stmt.outs.is_empty() && vars.len() == 2 && *self.ty(vars[0]) == Ty::Bool =>
            {
                let (c, cold, done) = (self.val(vars[0]), self.cold(), self.fresh());
                self.stays(c, done, cold, &[]);
                self.b.switch_to_block(cold);
                self.fail_check(stmt, vars[1]);
                self.goto(done, &[]);
                self.b.switch_to_block(done);
                self.release_dying(vars, at, sc);
                true
            }
            _ => false,
        }
    }

    /// Emits the failure of a check with message `text`.
    fn fail_check(&mut self, s: &Stmt, text: Var) {
        let site = op_site::site(&self.job.unit.datas, self.f, s);
        let Some(said) = self.said(text).filter(|_| site.vars.len() == 2) else {
            self.slow_lent(s);
            return;
        };
        let kinds = vec![(WordKind::Bool, false), (WordKind::of(self.ty(text)), true)];
        let at = self.site();
        self.job.tables.slow.push(SlowOp {
            what: site.what,
            args: kinds,
            outs: Vec::new(),
            zeros: site.zeros,
            site: at,
        });
        let (id, said) = (self.int(self.job.tables.slow.len() as i64 - 1), self.int(said));
        self.fallible(shims::fail_check as *const u8, &[self.frame.ctx, id, said]);
    }

    /// Whether a variable is a row that is only a reference into an array.
    pub(super) fn is_row_reference(&self, v: Var) -> bool {
        self.vals[v.0 as usize].as_ref().is_some_and(|b| b.row.is_some())
    }

    /// Calls a run-time function that takes words and returns a Float.
    pub(super) fn number_of(&mut self, f: *const u8, args: &[Value]) -> Value {
        let mut sig = Signature::new(self.job.module.isa().default_call_conv());
        sig.params.extend(vec![AbiParam::new(types::I64); args.len()]);
        sig.returns.push(AbiParam::new(types::F64));
        let sig = self.imported(sig);
        let at = self.int(f as i64);
        let call = self.b.ins().call_indirect(sig, at, args);
        self.b.inst_results(call)[0]
    }
}

/// The number of a declared type.
fn data_of(ty: &Ty) -> Option<u32> {
    match ty {
        Ty::Data(d) => Some(d.0),
        _ => None,
    }
}

/// The array operands of a reduction to a scalar with a fast path: two for an inner product, one for a sum.
fn reduced(f: &Function, s: &Stmt) -> Option<Vec<Var>> {
    let array = |v: &Var| floats(f.ty(*v));
    match &s.op {
        Op::Dot(a, b) if array(a) && array(b) => Some(vec![*a, *b]),
        Op::Sum { a, .. } if array(a) && f.ty(*a).rank() == 1 => Some(vec![*a]),
        Op::SumAll { a, .. } if array(a) => Some(vec![*a]),
        _ => None,
    }
}

/// The vector of Floats whose extremum a statement finds, whether it is the least, and whether its position is wanted.
fn extremum(f: &Function, s: &Stmt) -> Option<(Var, bool, bool)> {
    searched(&s.op).filter(|(v, ..)| floats(f.ty(*v)) && f.ty(*v).rank() == 1)
}

/// Whether a statement reads arrays without needing their handles.
pub(super) fn reads_elements(f: &Function, s: &Stmt) -> bool {
    reduced(f, s).is_some() || extremum(f, s).is_some()
}

/// The fast operation that reads an element of `array`, and the form of its result.
pub(super) fn row_way(array: &Ty, row: &Ty) -> Option<(FastOp, ValueForm)> {
    if floats(array) && array.rank() > 1 {
        Some((FastOp::Row, ValueForm::of(row)))
    } else if array.rank() == 1 && !array.scalar().is_flat() && is_ref(row) {
        Some((FastOp::Unbox(data_of(row)), ValueForm::of(row)))
    } else {
        None
    }
}
