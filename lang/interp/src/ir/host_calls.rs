//! Runs calls of the host ([`adl_specialise::HostCall`]) in lowered and native code.

use super::eval_op::Outs;
use crate::error::{Error, Res, codes};
use crate::upcalls::Upcalls;
use crate::value::Value;
use crate::vm::Machine;
use adl_prim::{Prim, RowsFn, TextFn};
use smallvec::smallvec;
use std::rc::Rc;

/// Whether a primitive in the IR is a call of the host. Its operands are then a key and leaves.
pub(super) fn is_host_call(p: Prim) -> bool {
    matches!(p, Prim::Io(_) | Prim::Text(TextFn::Show) | Prim::Rows(RowsFn::Column))
}

/// Calls the host: puts the arguments together, and takes the result apart.
pub(super) fn run(m: &mut Machine, p: Prim, operands: &mut [Value]) -> Res<Outs> {
    let found = match operands.first() {
        Some(Value::Str(key)) => m.compiled_ad.host_call(p, &Rc::from(&***key)),
        _ => None,
    };
    // IR that was not made by the specialiser has plain operands.
    let Some((call, datas)) = found else { return Ok(smallvec![m.apply_primitive(p, &[], operands)?]) };
    let broken = || Error::new(codes::STRUCTURE, "a call of the host with data of another structure");
    let mut leaves = operands[1..].iter_mut().map(std::mem::take);
    let args: Option<Vec<Value>> = call.args.iter().map(|l| datas.from_leaves(l, &mut leaves)).collect();
    let v = m.apply_primitive(p, &[], &mut args.ok_or_else(broken)?)?;
    let mut out = Vec::new();
    datas.to_leaves(&v, &call.result, &mut out).ok_or_else(broken)?;
    Ok(out.into())
}
