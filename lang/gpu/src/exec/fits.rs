//! A static check before a call: whether a function contains operations that no GPU supports.

use crate::primitive_table::{OnGpu, on_gpu};
use adl_ir::{Block, FnId, Function, Op, Program, Ty};
use adl_prim::{GeneralFn, Prim};

/// Says why a function will not run here ([`crate::Error::Unsupported`]), as far as its code shows: CPU primitives and text
/// operations that every call reaches, and recursion, which would run on the host. Success is not a guarantee.
///
/// # Errors
/// The reason.
pub fn fits(program: &Program, f: FnId) -> Result<(), String> {
    visit(program, f, &mut Vec::new(), &mut Vec::new())
}

fn visit(p: &Program, id: FnId, inside: &mut Vec<FnId>, done: &mut Vec<FnId>) -> Result<(), String> {
    if inside.contains(&id) {
        return Err(format!("`{}` calls itself", p.func(id).name));
    }
    if done.contains(&id) {
        return Ok(());
    }
    inside.push(id);
    let f = p.func(id);
    stacker::maybe_grow(128 * 1024, 1024 * 1024, || block(p, f, &f.body, true, inside, done))?;
    inside.pop();
    done.push(id);
    Ok(())
}

/// `sure`: whether every call reaches the block.
fn block(
    program: &Program,
    func: &Function,
    b: &Block,
    sure: bool,
    inside: &mut Vec<FnId>,
    done: &mut Vec<FnId>,
) -> Result<(), String> {
    for stmt in &b.stmts {
        match &stmt.op {
            Op::Prim(prim, _) if sure => {
                // `error` fails on the CPU, too, and is no reason to refuse the function.
                if let (OnGpu::Cpu(why), true) = (on_gpu(*prim), *prim != Prim::General(GeneralFn::Error)) {
                    return Err(format!("`{}`: {why}", prim.name()));
                }
            }
            Op::Cmp(_, a, _) if sure && *func.ty(*a) == Ty::Str => return Err("texts are not on a GPU".to_owned()),
            Op::Call { f, .. } => visit(program, *f, inside, done)?,
            _ => {}
        }
        // Arms and loop bodies may not be reached.
        for inner in stmt.op.blocks() {
            stacker::maybe_grow(128 * 1024, 1024 * 1024, || block(program, func, inner, false, inside, done))?;
        }
    }
    Ok(())
}
