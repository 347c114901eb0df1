//! Vectorisation of a linear function over directions: `(r… ; ẋ…) -> ( ; ẏ…)` becomes `(r…, k ; Ẋ…) -> ( ; Ẏ…)`,
//! where every linear variable has an additional last axis for `k` directions.
//!
//! ```text
//! ẏ = scale c ẋ        ⟼   Ẏ = scale c Ẋ             (a scalar scales each direction)
//! ẏ = matmul A ẋ       ⟼   Ẏ = matmul A Ẋ            (directions are columns)
//! ẏ = index ẋ [i]      ⟼   Ẏ = index Ẋ [i]           (leading axes are unchanged)
//! ```
//!
//! The non-linear code runs once for all directions. Since the new axis is the last, operations on leading axes
//! (indexing, slices, sums along the first axis, loops over elements) do not change; `rules` has the others.

mod rules;

use crate::unzip::UnzipPlan;
use crate::{Ad, check};
use adl_ir::rewrite::compact::compact;
use adl_ir::{Block, Builder, DataDecl, DataId, FnId, Function, Op, Program, Stmt, Trip, Ty, Var};
use adl_specialise::Unsupported;

impl Ad {
    /// The tangent function of `f` (or its cotangent function, if `transposed`) for many directions, erased. Its
    /// parameters are residuals, the number of directions, and tangents. The residuals are those of
    /// [`Ad::linearize_with`] under the same plan.
    pub fn directions(
        &mut self,
        p: &mut Program,
        f: FnId,
        wrt: &[bool],
        plan: &UnzipPlan,
        transposed: bool,
    ) -> Result<FnId, Unsupported> {
        let j = self.jvp(p, f, wrt)?;
        let u = self.unzip(p, j.func, plan)?;
        let linear = if transposed { self.transpose(p, u.linear)? } else { u.linear };
        let wide = self.batch(p, linear)?;
        Ok(self.erase(p, wide))
    }

    /// A linear function, vectorised over directions.
    pub fn batch(&mut self, p: &mut Program, f: FnId) -> Result<FnId, Unsupported> {
        if let Some(b) = self.linear.batches.get(&f) {
            return b.clone();
        }
        let src = p.func(f).clone();
        let id = p.reserve(&format!("directions of {}", src.name));
        self.linear.batches.insert(f, Ok(id));
        let made = function(self, p, &src, id);
        if let Err(e) = made {
            self.linear.batches.insert(f, Err(e.clone()));
            return Err(e);
        }
        Ok(id)
    }
}

fn function(ad: &mut Ad, program: &mut Program, src: &Function, id: FnId) -> Result<(), Unsupported> {
    let mut out = Function {
        name: program.func(id).name.clone(),
        vars: src.vars.clone(),
        body: Block::default(),
        ..Function::default()
    };
    for v in out.vars.iter_mut().filter(|v| v.linear) {
        v.ty = wide(ad, program, &v.ty);
    }
    let k = out.fresh(Ty::I64, false);
    // Recursive callers need the signature before the body exists.
    let mut early = out.clone();
    early.body.params = [&src.body.params[..], &[k]].concat();
    (early.body.lin_params, early.body.lin_results) = (src.body.lin_params.clone(), src.body.lin_results.clone());
    let params = early.body.params.clone();
    program.set(id, early);
    let mut b = Batching { ad, p: program, b: Builder::on(out), src, k };
    b.b.adopt(&params, &src.body.lin_params);
    b.stmts(&src.body)?;
    let mut made = b.b.finish(src.body.results.clone(), src.body.lin_results.clone());
    compact(&mut made);
    check::made("batch", program, &made);
    program.set(id, made);
    Ok(())
}

/// The tangent type with an additional axis for directions: arrays have one axis more, and the fields of data are
/// changed likewise.
fn wide(ad: &mut Ad, p: &mut Program, ty: &Ty) -> Ty {
    match ty {
        Ty::F64 | Ty::F32 | Ty::I64 | Ty::Bool | Ty::Str => ty.array(1),
        Ty::Array(e, _) if e.is_flat() => ty.array(1),
        Ty::Array(e, r) => Ty::Array(wide(ad, p, e).into(), *r),
        Ty::Data(d) => Ty::Data(wide_data(ad, p, *d)),
    }
}

fn wide_data(ad: &mut Ad, p: &mut Program, d: DataId) -> DataId {
    if let Some(w) = ad.linear.batched_datas.get(&d) {
        return *w;
    }
    let decl = p.data(d).clone();
    let name = format!("directions of {}", decl.name);
    let id = p.add_data(DataDecl { name: name.clone(), cons: Vec::new(), declared: None });
    ad.linear.batched_datas.insert(d, id);
    let cons =
        decl.cons.iter().map(|(n, fields)| (n.clone(), fields.iter().map(|t| wide(ad, p, t)).collect())).collect();
    p.set_data(id, DataDecl { name, cons, declared: None });
    id
}

struct Batching<'a> {
    ad: &'a mut Ad,
    p: &'a mut Program,
    b: Builder,
    src: &'a Function,
    /// The number of directions.
    k: Var,
}

impl Batching<'_> {
    fn linear(&self, v: Var) -> bool {
        self.b.func.linear(v)
    }

    /// Rewrites a block's statements into the open block.
    fn stmts(&mut self, b: &Block) -> Result<(), Unsupported> {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || b.stmts.iter().try_for_each(|s| self.stmt(s)))
    }

    fn stmt(&mut self, s: &Stmt) -> Result<(), Unsupported> {
        self.b.span = s.span;
        let mut stmt = s.clone();
        let mut found = !stmt.lin_outs.is_empty();
        stmt.op.each_operand(&mut |v| found |= self.linear(v));
        if !found && adl_ir::rewrite::linear_uses::captured_by(&self.b.func, &stmt.op).is_empty() {
            self.b.push(stmt);
            return Ok(());
        }
        match &mut stmt.op {
            Op::Call { f, args, lin_args, .. } if !lin_args.is_empty() => {
                *f = self.ad.batch(self.p, *f)?;
                args.push(self.k);
            }
            Op::Loop(l) if matches!(l.trip, Trip::While(_)) => {
                return Err(Unsupported::new("a loop without a trip count", stmt.span));
            }
            Op::If(..) | Op::Switch(..) | Op::Loop(_) => {
                for part in stmt.op.blocks_mut() {
                    *part = self.block(part)?;
                }
            }
            Op::Construct { data, .. } | Op::Destruct { data, .. } => *data = wide_data(self.ad, self.p, *data),
            _ => return self.leaf(stmt),
        }
        self.b.push(stmt);
        Ok(())
    }

    fn block(&mut self, b: &Block) -> Result<Block, Unsupported> {
        self.b.open();
        self.b.adopt(&b.params, &b.lin_params);
        self.stmts(b)?;
        Ok(self.b.close(b.results.clone(), b.lin_results.clone()))
    }
}
