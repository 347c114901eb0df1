//! A statement of the IR as an operation on values: what lowered and native code run where they have no faster way.

use super::lower::zero_of;
use super::step::{What, rep};
use crate::value::{ConInfo, Rep, Value};
use adl_syntax::symbol::Symbol;
use adl_typing::ty::DataId;
use adl_ir::{DataDecl, Function, Op, Stmt, Var};
use std::rc::Rc;

/// An operation with its operands.
pub struct Site {
    /// What is done; operands are positions.
    pub what: What,
    /// Operands.
    pub vars: Vec<Var>,
    /// The results where a linear operand is absent.
    pub zeros: Vec<Value>,
}

/// The operation of a statement that has no blocks and is no call.
pub fn site(datas: &[Rc<DataDecl>], f: &Function, s: &Stmt) -> Site {
    let mut vars = Vec::new();
    let mut positional = s.op.clone();
    positional.map_operands(&mut |v| {
        vars.push(v);
        Var(vars.len() as u32 - 1)
    });
    let what = match positional {
        Op::Prim(p, _) => What::Prim(p, vec![Value::Rep(Rc::new(prim_rep(f, &vars, s)))]),
        Op::Con { data, tag, .. } => {
            What::Con(constructor(datas.get(data.0 as usize), tag, vars.len()))
        }
        op => What::Op(op),
    };
    Site { what, vars, zeros: zeros(f, s) }
}

/// A constructor of data of the IR; of a declared type, if that is the user's.
pub fn constructor(decl: Option<&Rc<DataDecl>>, tag: u32, arity: usize) -> Rc<ConInfo> {
    let name = Symbol::new(decl.and_then(|d| d.cons.get(tag as usize)).map_or("", |c| c.0.as_str()));
    let declared = decl.and_then(|d| Some(DataId(d.declared?, Symbol::new(&d.name))));
    Rc::new(ConInfo { name, tag, data: declared.unwrap_or(DataId(u32::MAX, name)), arity: arity as u32 })
}

/// What the results of a statement are where a linear operand is absent.
pub fn zeros(f: &Function, s: &Stmt) -> Vec<Value> {
    s.outs.iter().chain(&s.lin_outs).map(|v| zero_of(f.ty(*v))).collect()
}

/// The run-time type that a built-in takes as its hidden argument: that of its array's elements, or of its result.
fn prim_rep(f: &Function, vars: &[Var], s: &Stmt) -> Rep {
    // `take n xs`: the array comes last.
    match (vars.last(), s.outs.first()) {
        (Some(a), _) if f.ty(*a).rank() > 0 => rep(&f.ty(*a).elem()),
        (_, Some(d)) => rep(f.ty(*d)),
        (Some(a), None) => rep(f.ty(*a)),
        (None, None) => Rep::Other,
    }
}
