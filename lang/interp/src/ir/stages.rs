//! The text of a function's IR at each stage of the main road, for `adl ir`.

use super::road::{Not, Road};
use super::world;
use crate::value::Value;
use crate::vm::Machine;
use adl_ad::unzip::Plan;
use adl_ir::print::{self, Style};
use adl_ir::{Block, FnId, Op, Program};

/// A stage of the main road.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// Specialised.
    Spec,
    /// After J.
    Jvp,
    /// After U: both halves.
    Unzip,
    /// After T.
    Transpose,
    /// Erased and optimised: what runs for a gradient.
    Opt,
}

impl Stage {
    /// All, in order, with their names.
    pub const ALL: [(&'static str, Stage); 5] =
        [("spec", Stage::Spec), ("jvp", Stage::Jvp), ("unzip", Stage::Unzip), ("transpose", Stage::Transpose), ("opt", Stage::Opt)];
}

/// A function's IR at a stage, with all functions that it calls; or why there is none.
pub fn text(m: &mut Machine, f: &Value, stage: Stage, source: Option<&str>) -> Result<String, String> {
    let Value::Fun(fun) = f else { return Err("it is no function".into()) };
    let tys: Option<Vec<_>> = (0..fun.arity()).map(|i| world::parameter(f, i)).collect();
    let tys = tys.ok_or("its type has variables (or functions as arguments); a signature can settle it")?;
    let mut road = std::mem::take(&mut m.road);
    let out = road.stage(m, f, tys, stage, source);
    m.road = road;
    out.map_err(|Not(u)| u.why)
}

impl Road {
    fn stage(&mut self, m: &Machine, f: &Value, tys: Vec<adl_typing::ty::Ty>, stage: Stage, source: Option<&str>) -> Result<String, Not> {
        let e = self.enter_at(m, f, &[], tys)?;
        let func = e.entry.func;
        let style = Style { exact: false, source };
        if stage == Stage::Spec {
            return Ok(shown(&self.program, &[func], style));
        }
        let wrt = self.wrt(&e);
        let j = self.ad.jvp(&mut self.program, func, &wrt)?;
        if stage == Stage::Jvp {
            return Ok(shown(&self.program, &[j.func], style));
        }
        let u = self.ad.unzip(&mut self.program, j.func, &Plan::store_all())?;
        if stage == Stage::Unzip {
            return Ok(shown(&self.program, &[u.primal, u.linear], style));
        }
        let back = self.ad.transpose(&mut self.program, u.linear)?;
        if stage == Stage::Transpose {
            return Ok(shown(&self.program, &[back], style));
        }
        let (primal, back) = (self.ad.erase(&mut self.program, u.primal), self.ad.erase(&mut self.program, back));
        let mut p = self.program.clone();
        for f in reachable(&self.program, &[primal, back]) {
            let mut body = (**p.func(f)).clone();
            adl_opt::function(&self.program, &mut body);
            p.set(f, body);
        }
        Ok(shown(&p, &[primal, back], style))
    }
}

fn shown(p: &Program, roots: &[FnId], style: Style<'_>) -> String {
    let all: Vec<String> = reachable(p, roots).into_iter().map(|f| print::function(p, p.func(f), style)).collect();
    all.join("\n")
}

/// The functions that these call, themselves first.
fn reachable(p: &Program, roots: &[FnId]) -> Vec<FnId> {
    let mut all: Vec<FnId> = roots.to_vec();
    let mut next = 0;
    while next < all.len() {
        let mut blocks: Vec<&Block> = vec![&p.func(all[next]).body];
        next += 1;
        while let Some(b) = blocks.pop() {
            for s in &b.stmts {
                if let Op::Call { f, rule, .. } = &s.op {
                    for g in std::iter::once(*f).chain(rule.iter().map(|r| r.func)) {
                        if !all.contains(&g) {
                            all.push(g);
                        }
                    }
                }
                blocks.extend(s.op.blocks());
            }
        }
    }
    all
}
