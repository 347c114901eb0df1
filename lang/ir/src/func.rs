//! Programs, functions, blocks.

use crate::op::Op;
use crate::ty::{DataId, Ty};
use adl_syntax::span::Span;
use std::collections::{BTreeSet, HashSet};
use std::rc::Rc;

/// A variable, unique within its function.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Var(pub u32);

/// A function of a program.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct FnId(pub u32);

/// The description of a variable.
#[derive(Clone, PartialEq, Debug)]
pub struct VarInfo {
    /// Its type.
    pub ty: Ty,
    /// Whether it is linear.
    pub linear: bool,
    /// The user's name for it, for printing.
    pub name: Option<Rc<str>>,
    /// How its computation is counted.
    pub role: Role,
}

impl VarInfo {
    /// A variable without a name, and with role [`Role::Operation`].
    pub fn new(ty: Ty, linear: bool) -> VarInfo {
        VarInfo { ty, linear, name: None, role: Role::Operation }
    }
}

/// How the computation of a variable counts as arithmetic in the cost model of *Differentiating a Tensor Language*
/// (Fig. 6), where a scalar function is one black box and its derivative another. Transformations do not depend on
/// it, except that a function containing derivatives may be inlined sooner.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Role {
    /// An operation of the program.
    #[default]
    Operation,
    /// An intermediate step of a derivative: not counted.
    Step,
    /// The derivative of a scalar function at a point: counted as one operation.
    Derivative,
}

/// Parameters, statements and results.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Block {
    /// Non-linear parameters.
    pub params: Vec<Var>,
    /// Linear parameters.
    pub lin_params: Vec<Var>,
    /// Executed in order.
    pub stmts: Vec<Stmt>,
    /// Non-linear results.
    pub results: Vec<Var>,
    /// Linear results.
    pub lin_results: Vec<Var>,
}

/// A statement `x, … ; ẋ, … = op`.
#[derive(Clone, PartialEq, Debug)]
pub struct Stmt {
    /// Non-linear variables that it binds.
    pub outs: Vec<Var>,
    /// Linear variables that it binds.
    pub lin_outs: Vec<Var>,
    /// The operation.
    pub op: Op,
    /// The source location.
    pub span: Span,
}

/// A function. The parameters and results are those of its body.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Function {
    /// The user's name, prefixed by the transformations applied (`loss`, `jvp loss`), for printing. Not unique.
    pub name: String,
    /// The descriptions of all variables, indexed by [`Var`].
    pub vars: Vec<VarInfo>,
    /// The body.
    pub body: Block,
    /// Whether it is a placeholder for a function under construction ([`Program::reserve`]).
    pub reserved: bool,
}

impl Function {
    /// A placeholder ([`Program::reserve`]).
    pub fn placeholder(name: &str) -> Function {
        Function { name: name.to_owned(), reserved: true, ..Function::default() }
    }

    /// A new variable.
    pub fn fresh(&mut self, ty: Ty, linear: bool) -> Var {
        self.vars.push(VarInfo::new(ty, linear));
        Var(self.vars.len() as u32 - 1)
    }

    /// The type of a variable.
    pub fn ty(&self, v: Var) -> &Ty {
        &self.vars[v.0 as usize].ty
    }

    /// Whether a variable is linear.
    pub fn linear(&self, v: Var) -> bool {
        self.vars[v.0 as usize].linear
    }

    /// The types of some variables.
    pub fn tys(&self, vs: &[Var]) -> Vec<Ty> {
        vs.iter().map(|v| self.ty(*v).clone()).collect()
    }
}

/// A sum type: constructors with the types of their fields.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DataDecl {
    /// Its name.
    pub name: String,
    /// The constructors: name, and types of the fields.
    pub cons: Vec<(String, Vec<Ty>)>,
    /// The number of the user's declared type, if it is one, which values carry. (Not part of the text form.)
    pub declared: Option<u32>,
}

/// Whether all arrays of a function are materialised.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Zeros {
    /// All arrays have a shape, as in the user's code.
    Materialized,
    /// Arrays may be symbolic zeros, as in derivatives and their residuals.
    Symbolic,
}

/// Functions and data types, which refer to each other by number. Transformations only add entries, so numbers stay
/// valid.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Program {
    /// Functions. A function under construction is an empty placeholder.
    pub funcs: Vec<Rc<Function>>,
    /// Data types.
    pub datas: Vec<Rc<DataDecl>>,
    /// Whether the user's code creates symbolic zeros of arrays or data. (Not part of the text form.)
    pub symbolic_zero: bool,
}

impl Program {
    /// Adds a placeholder, for a function that may be recursive.
    pub fn reserve(&mut self, name: &str) -> FnId {
        self.add(Function::placeholder(name))
    }

    /// Adds a function.
    pub fn add(&mut self, f: Function) -> FnId {
        self.funcs.push(Rc::new(f));
        FnId(self.funcs.len() as u32 - 1)
    }

    /// Replaces a placeholder by the function.
    pub fn set(&mut self, id: FnId, f: Function) {
        self.funcs[id.0 as usize] = Rc::new(f);
    }

    /// A function.
    pub fn func(&self, id: FnId) -> &Rc<Function> {
        &self.funcs[id.0 as usize]
    }

    /// A function and all its direct and indirect callees for which `follow` holds. `follow` is called with each
    /// callee, and whether the call is a checkpoint.
    pub fn callees(&self, f: FnId, follow: impl Fn(FnId, bool) -> bool) -> BTreeSet<FnId> {
        let mut seen = BTreeSet::from([f]);
        let mut blocks = vec![&self.func(f).body];
        while let Some(b) = blocks.pop() {
            for s in &b.stmts {
                if let Op::Call { f, checkpoint, .. } = &s.op
                    && follow(*f, *checkpoint)
                    && seen.insert(*f)
                {
                    blocks.push(&self.func(*f).body);
                }
                blocks.extend(s.op.blocks());
            }
        }
        seen
    }

    /// The functions that a function calls itself, custom derivative rules included.
    pub fn called_by(&self, f: FnId) -> Vec<FnId> {
        let mut out = Vec::new();
        let mut blocks = vec![&self.func(f).body];
        while let Some(b) = blocks.pop() {
            for s in &b.stmts {
                if let Op::Call { f, rule, .. } = &s.op {
                    out.push(*f);
                    out.extend(rule.iter().map(|r| r.func));
                }
                blocks.extend(s.op.blocks());
            }
        }
        out
    }

    /// Whether the bodies of a function and of all its callees exist. `known`: functions of which that is known.
    pub fn is_complete(&self, f: FnId, known: &mut HashSet<FnId>) -> bool {
        let (mut work, mut seen) = (vec![f], HashSet::new());
        while let Some(g) = work.pop() {
            if !known.contains(&g) && seen.insert(g) {
                if self.func(g).reserved {
                    return false;
                }
                work.extend(self.called_by(g));
            }
        }
        known.extend(seen);
        true
    }

    /// Adds a data type (or a placeholder for a recursive one).
    pub fn add_data(&mut self, d: DataDecl) -> DataId {
        self.datas.push(Rc::new(d));
        DataId(self.datas.len() as u32 - 1)
    }

    /// Replaces a placeholder by the data type.
    pub fn set_data(&mut self, id: DataId, d: DataDecl) {
        self.datas[id.0 as usize] = Rc::new(d);
    }

    /// A data type.
    pub fn data(&self, id: DataId) -> &Rc<DataDecl> {
        &self.datas[id.0 as usize]
    }
}
