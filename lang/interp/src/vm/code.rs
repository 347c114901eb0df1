//! Register code.

use crate::value::{ConInfo, Value};
use adl_prim::{Bin, Prim, Un};
use adl_syntax::span::Span;
use adl_syntax::symbol::Symbol;
use adl_typing::core::{self, GlobalId, Rep};
use std::rc::Rc;

/// A register, relative to the frame.
pub type R = u32;

/// A comparison.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Cmp {
    Eq, Ne, Lt, Gt, Le, Ge,
}

/// An instruction. `d` is the destination; ranges are (first register, count), and their registers are emptied.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub enum I {
    Const(R, u32),
    Move(R, R),
    /// Like `Move`, from a register that nothing reads again.
    Take(R, R),
    Global(R, GlobalId),
    Un(Un, R, R),
    Bin(Bin, R, R, R),
    Cmp(Cmp, R, R, R),
    Jump(u32),
    JumpUnless(R, u32),
    JumpUnlessCmp(Cmp, R, R, u32),
    Call(R, R, R, u32),
    TailCall(R, R, u32),
    /// A member of this function's recursive group.
    CallSibling(R, u32, R, u32),
    TailSibling(u32, R, u32),
    Sibling(R, u32),
    Ret(R),
    /// Hidden arguments stand before the others: `(d, prim, first, hidden, count)`.
    Prim(R, Prim, R, u32, u32),
    /// A primitive as a value, with its hidden arguments.
    PrimFun(R, Prim, R, u32),
    Closure(R, u32, R, u32),
    /// A recursive group over captured values; its members go to consecutive registers from `d`.
    Group(R, u32, R, u32),
    Tuple(R, R, u32),
    Record(R, u32, R, u32),
    Con(R, u32, R, u32),
    Array(R, R, u32),
    Item(R, R, u32),
    Field(R, R, Symbol),
    Update(R, R, u32, R, u32),
    /// One Int index.
    Index1(R, R, R),
    /// Indices and slices as described by the spec: `(d, array, spec, first)`.
    Index(R, R, u32, R),
    /// Jumps by constructor tag through a table.
    Switch(R, u32),
    ConField(R, R, u32),
    /// Compares with a constant.
    IsLit(R, R, u32),
    IsLen(R, R, u32),
    Elem(R, R, u32),
    /// Ends the loop when the counter has reached the bound.
    LoopHead(R, R, u32),
    LoopNext(R, u32),
    /// A loop's back edge without a counter.
    Back(u32),
    /// `(d, kind, closure, first extent, count)`; a representation stands after the extents.
    For(R, u32, R, R, u32),
    /// Extent of an axis of an array.
    AxisLen(R, R, u32),
    /// Two extents of one index must agree.
    SameExtent(R, R),
    Rep(R, u32),
    NumAt(R, u32, R),
    ZeroOf(R, R),
    SizeAt(R, u32),
    CheckSize(u32, R),
    Interp(R, R, u32),
    NoMatch,
}

/// How an index list is read: one register an entry, in order.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub enum IndexKind {
    At,
    /// Whether a lower and an upper bound are given.
    Slice(bool, bool),
}

/// A function's code.
#[derive(Debug)]
pub struct Code {
    /// Instructions.
    pub instrs: Vec<I>,
    /// Where each came from.
    pub spans: Vec<Span>,
    /// Registers in all: parameters, captured values, locals, temporaries.
    pub registers: u32,
    /// Parameters, hidden ones first.
    pub params: u32,
    /// Captured values.
    pub captures: u32,
    /// Constants.
    pub consts: Vec<Value>,
    /// Functions made inside.
    pub codes: Vec<Rc<Code>>,
    /// Recursive groups made inside.
    pub groups: Vec<Vec<Rc<Code>>>,
    /// Records' field names.
    pub names: Vec<Rc<[Symbol]>>,
    /// Constructors.
    pub cons: Vec<Rc<ConInfo>>,
    /// Index lists.
    pub indices: Vec<Vec<IndexKind>>,
    /// Tables of `Switch`: targets by tag, and the default.
    pub tables: Vec<(Vec<u32>, u32)>,
    /// Representations; their locals are registers.
    pub reps: Vec<Rep>,
    /// Signature sizes: where they are, and (for checks) the name and the expected register or constant.
    pub sizes: Vec<(core::SizeAt, String, Option<u64>)>,
    /// Comprehension kinds.
    pub kinds: Vec<core::ForKind>,
    /// The definition that it belongs to.
    pub name: Option<Symbol>,
    /// Its type, for `show`.
    pub ty: String,
    /// Whether it works elementwise on whole arrays: straight-line arithmetic on Floats.
    pub elementwise: bool,
    /// Whether it is the body of a comprehension that works on arrays of indices.
    pub indexwise: bool,
}

impl Code {
    /// The operator that the code is, where it is `fun a b -> a op b`.
    pub fn operator(&self) -> Option<Prim> {
        if self.params != 2 || self.captures != 0 {
            return None;
        }
        match self.instrs.as_slice() {
            [I::Bin(op, d, 0, 1), I::Ret(r)] if d == r => Some(match op {
                Bin::Add => Prim::Add,
                Bin::Mul => Prim::Mul,
                Bin::Min => Prim::Min,
                Bin::Max => Prim::Max,
                _ => return None,
            }),
            _ => None,
        }
    }
}
