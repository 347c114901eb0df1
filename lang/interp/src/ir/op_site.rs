//! Translates an IR statement to an operation on values, which lowered and native code run if they have no
//! faster implementation.

use super::lower::zero_of;
use crate::value::{ConInfo, Rep, Value};
use crate::vm::code::LoweredOp;
use adl_ir::{DataDecl, Function, Op, Stmt, Ty, Var};
use adl_prim::{ArrayFn, Prim};
use adl_syntax::symbol::Symbol;
use adl_typing::ty::DataId;
use std::rc::Rc;

/// An operation with its operands.
pub struct OpSite {
    /// The operation; its operands are positions in `vars`.
    pub what: LoweredOp,
    /// The operands.
    pub vars: Vec<Var>,
    /// The results if a linear operand that annihilates the operation is a symbolic zero.
    pub zeros: Vec<Value>,
}

/// The operation of a statement that has no nested blocks and is not a call.
pub fn site(datas: &[Rc<DataDecl>], func: &Function, stmt: &Stmt) -> OpSite {
    let mut vars = Vec::new();
    let mut positional = stmt.op.clone();
    positional.map_operands(&mut |v| {
        vars.push(v);
        Var(vars.len() as u32 - 1)
    });
    let what = match positional {
        Op::Prim(p, _) => LoweredOp::Prim(p, vec![Value::Rep(Rc::new(prim_rep(func, &vars, stmt)))]),
        // Copies of absent data are an array, which has a length.
        Op::Replicate { .. } if matches!(func.ty(vars[1]), Ty::Data(_)) => {
            LoweredOp::Prim(Prim::Array(ArrayFn::Replicate), vec![Value::Rep(Rc::new(Rep::Other))])
        }
        Op::Construct { data, tag, .. } => LoweredOp::Con(constructor(datas.get(data.0 as usize), tag, vars.len())),
        Op::Collective { kind, args, .. } => LoweredOp::Collective(kind, args.len(), stmt.span),
        op => LoweredOp::Op(op),
    };
    OpSite { what, vars, zeros: zeros(func, stmt) }
}

/// The constructor of an IR data type: the user's constructor if the type was declared in the program.
pub fn constructor(decl: Option<&Rc<DataDecl>>, tag: u32, arity: usize) -> Rc<ConInfo> {
    let name = Symbol::new(decl.and_then(|d| d.cons.get(tag as usize)).map_or("", |c| c.0.as_str()));
    let declared = decl.and_then(|d| Some(DataId(d.declared?, Symbol::new(&d.name))));
    Rc::new(ConInfo { name, tag, data: declared.unwrap_or(DataId(u32::MAX, name)), arity: arity as u32 })
}

/// The zero results of a statement.
pub fn zeros(f: &Function, s: &Stmt) -> Vec<Value> {
    s.outs.iter().chain(&s.lin_outs).map(|v| zero_of(f.ty(*v))).collect()
}

/// The run-time type representation that a primitive takes as its hidden argument: the element type of its
/// array argument, or the type of its result.
fn prim_rep(f: &Function, vars: &[Var], s: &Stmt) -> Rep {
    // `take n xs`: the array is the last argument.
    match (vars.last(), s.outs.first()) {
        (Some(a), _) if f.ty(*a).rank() > 0 => rep(&f.ty(*a).elem()),
        (_, Some(d)) => rep(f.ty(*d)),
        (Some(a), None) => rep(f.ty(*a)),
        (None, None) => Rep::Other,
    }
}

/// The run-time type representation of an element type.
pub(crate) fn rep(t: &Ty) -> Rep {
    match t {
        Ty::F64 => Rep::Float,
        Ty::F32 => Rep::F32,
        Ty::I64 => Rep::Int,
        Ty::Bool => Rep::Bool,
        Ty::Str => Rep::Str,
        Ty::Array(e, n) => (0..*n).fold(rep(e), |r, _| Rep::Array(None, Rc::new(r))),
        Ty::Data(_) => Rep::Other,
    }
}
