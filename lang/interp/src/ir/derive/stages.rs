//! The IR of a function after each compilation stage, as text.

use super::{CompiledAd, NotCompiled, Plan, Specialized, not, passes, with};
use crate::ir::native::{Listing, LoweredIr};
use crate::ir::world;
use crate::value::Value;
use crate::vm::Machine;
use adl_ad::segment::Segments;
use adl_ir::print::{self, Style};
use adl_ir::{Block, FnId, Zeros};
use adl_opt::{Pass, pipelines};
use adl_specialise::world::Root;
use adl_syntax::span::{FileId, Span};
use std::rc::Rc;

/// A compilation stage.
#[derive(Clone, Copy, Debug)]
pub enum Stage {
    /// Specialised: first-order IR.
    Spec,
    /// The forward-mode transform.
    Jvp,
    /// The non-linear and the linear half.
    Unzip,
    /// The transposed linear half.
    Transpose,
    /// The optimised halves, as they run.
    Opt,
    /// The optimised halves as native code.
    Native(Listing),
    /// Every state after a pass of the optimiser.
    After(&'static Pass),
    /// A table of the time that each pass takes.
    Timings,
}

/// The names of the optimiser's passes.
pub fn pass_names() -> Vec<&'static str> {
    pipelines::PASSES.iter().map(|pass| pass.name).collect()
}

impl Stage {
    /// The stage with this name.
    pub fn parse(text: &str) -> Option<Stage> {
        Some(match text {
            "spec" => Stage::Spec,
            "jvp" => Stage::Jvp,
            "unzip" => Stage::Unzip,
            "transpose" => Stage::Transpose,
            "opt" => Stage::Opt,
            "clif" => Stage::Native(Listing::Clif),
            "asm" => Stage::Native(Listing::Asm),
            "timings" => Stage::Timings,
            _ => Stage::After(pipelines::by_name(text.strip_prefix("after:")?)?),
        })
    }
}

/// The IR of a function and its callees after a stage. `args` are values that determine the types of arguments
/// which the function leaves open.
pub fn text(m: &mut Machine, f: &Value, args: &[Value], stage: Stage) -> Result<String, (String, Span)> {
    staged(m, f, args, stage).map_err(|NotCompiled(u)| (u.why, u.span))
}

fn staged(m: &mut Machine, func: &Value, args: &[Value], stage: Stage) -> Result<String, NotCompiled> {
    with(m, |compiled_ad, machine| {
        let wanted = match func {
            Value::Fun(g) => g.arity().max(1),
            _ => return Err(not("a value that is not a function")),
        };
        let mut all = args.to_vec();
        for i in all.len()..wanted {
            world::parameter(func, i).ok_or_else(|| not("an argument whose type is open: give one"))?;
            all.push(Value::Unit);
        }
        if let Stage::After(_) | Stage::Timings = stage {
            // What is in the cache has been through the passes already.
            let mut new = CompiledAd::with(compiled_ad.settings());
            let e = new.enter(machine, func, &all)?;
            return if let Stage::After(pass) = stage {
                passes::after(&mut new, &e, pass)
            } else {
                passes::timings(&mut new, &e)
            };
        }
        let e = compiled_ad.enter(machine, func, &all)?;
        let roots = compiled_ad.stage(&e, stage)?;
        match stage {
            Stage::Native(form) => compiled_ad.listed(machine, &roots, form),
            _ => Ok(compiled_ad.printed(machine, &roots)),
        }
    })
}

impl CompiledAd {
    pub(super) fn stage(&mut self, specialized: &Rc<Specialized>, stage: Stage) -> Result<Vec<FnId>, NotCompiled> {
        if let Stage::Spec = stage {
            return Ok(vec![specialized.entry.func]);
        }
        let params = self.program.func(specialized.entry.func).body.params.len();
        let args: usize = specialized
            .entry
            .inputs
            .iter()
            .filter(|i| matches!(i.place.root, Root::Arg(_)) && i.place.steps.is_empty())
            .map(|i| i.layout.leaves().len())
            .sum();
        let wrt: Vec<bool> = (0..params).map(|k| k < args).collect();
        let segments = match self.plan {
            Plan::Sqrt => Segments::Sqrt,
            Plan::Revolve(k) => Segments::Revolve(k),
            _ => Segments::None,
        };
        let how = match self.plan {
            Plan::RecomputeAll => adl_ad::unzip::UnzipPlan::recompute_all(),
            _ => super::ResolvedPlan::default().plan,
        };
        let id = self.ad.segmented(&mut self.program, specialized.entry.func, segments);
        let j = self.ad.jvp(&mut self.program, id, &wrt)?.func;
        if let Stage::Jvp = stage {
            return Ok(vec![j]);
        }
        let u = self.ad.unzip(&mut self.program, j, &how)?;
        if let Stage::Unzip = stage {
            return Ok(vec![u.primal, u.linear]);
        }
        let back = self.ad.transpose(&mut self.program, u.linear)?;
        if let Stage::Transpose = stage {
            return Ok(vec![back]);
        }
        let l = self.ad.linearize_with(&mut self.program, id, &wrt, &how)?;
        let mut out = Vec::new();
        for f in [l.primal, l.cotangent] {
            let mut made = (**self.program.func(f)).clone();
            for pipeline in [pipelines::INLINED, pipelines::FINISH] {
                adl_opt::run(pipeline, &self.program, &mut made, Zeros::Symbolic);
            }
            out.push(self.program.add(made));
        }
        Ok(out)
    }

    /// The native code of functions and their callees.
    fn listed(&self, m: &Machine, roots: &[FnId], form: Listing) -> Result<String, NotCompiled> {
        let Some(compiler) = &m.compiler else { return Err(not("`--no-jit`")) };
        let source = LoweredIr::of(&self.program.part(roots));
        let texts: Result<Vec<String>, String> =
            (0..roots.len() as u32).map(|k| compiler.listing(&source, k, form)).collect();
        texts.map(|t| t.join("\n")).map_err(|why| not(&why))
    }

    /// Functions, their callees and their data types, each printed once: a complete program that can be parsed
    /// again.
    fn printed(&self, m: &Machine, roots: &[FnId]) -> String {
        let p = self.program.part(roots);
        let mut out = Vec::from_iter((!p.datas.is_empty()).then(|| print::datas(&p)));
        for (k, func) in p.funcs.iter().enumerate() {
            let source = file_of(&func.body).and_then(|f| m.sources.get(f)).map(|f| f.text.as_str());
            out.push(format!(
                "fn f{k} {}",
                print::function(&p, func, Style { exact: false, source }).trim_start_matches("fn ")
            ));
        }
        out.join("\n")
    }
}

/// The source file of a block's statements.
fn file_of(b: &Block) -> Option<FileId> {
    let mut blocks = vec![b];
    while let Some(b) = blocks.pop() {
        for s in &b.stmts {
            if s.span != Span::default() {
                return Some(s.span.file);
            }
            blocks.extend(s.op.blocks());
        }
    }
    None
}
