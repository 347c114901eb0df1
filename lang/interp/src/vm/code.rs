//! Register code.

use super::Codes;
use crate::value::{ConInfo, Value};
use adl_prim::{Bin, Cmp, Prim, Un};
use adl_syntax::span::Span;
use adl_syntax::symbol::Symbol;
use adl_typing::core::{self, GlobalId, Rep};
use std::rc::Rc;

/// A register, relative to the frame.
pub type R = u32;

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
    /// An operation of the IR on registers: see [`Code::steps`]. This and what follows occurs only in lowered IR.
    Step(u32),
    /// Does the statements that follow, up to the target, a strip of large arrays at a time, or goes on with the first of them: see
    /// [`Code::strips`].
    Strips(u32, u32),
    /// A call of a function of the same IR program, which may have several results: see [`Code::calls`].
    CallFn(u32),
    TailFn(u32),
    /// Returns several values: see [`Code::rets`].
    RetMany(u32),
    /// `(d, array, index, zero)`: an element; of an absent array, the constant.
    At1(R, R, R, u32),
    /// `(d, matrix, row, column, zero)`.
    At2(R, R, R, R, u32),
    /// `(d, data, field, zero)`: a field; of absent data, the constant.
    FieldOr(R, R, u32, u32),
    /// Adds an element to a buffer that one register holds.
    Push(R, R),
    /// An Int or Bool as a Float.
    ToFloat(R, R),
}

/// An operand of an instruction of lowered IR.
#[derive(Clone, Copy, Debug)]
pub struct Arg {
    /// Where it is.
    pub r: R,
    /// Whether nothing reads it again: it is then taken, so that a buffer with one owner changes in place.
    pub last: bool,
}

/// An operation of the IR on registers.
#[derive(Debug)]
pub struct Step {
    /// What is done; operands are positions in `args`.
    pub what: crate::ir::step::What,
    /// Operands.
    pub args: Box<[Arg]>,
    /// Where results go.
    pub outs: Box<[R]>,
    /// What the results are where a linear operand is absent.
    pub zeros: Box<[Value]>,
}

/// A call between functions of lowered IR.
#[derive(Debug)]
pub struct FnCall {
    /// Position in the group.
    pub callee: u32,
    /// Arguments.
    pub args: Box<[Arg]>,
    /// Where results go.
    pub outs: Box<[R]>,
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
    pub groups: Vec<Codes>,
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
    /// Operations of lowered IR.
    pub steps: Vec<Step>,
    /// Chains of operations of lowered IR, with their operands and where their results go.
    pub strips: Vec<(crate::ir::strips::Strips, Box<[Arg]>, Box<[R]>)>,
    /// Calls of lowered IR.
    pub calls: Vec<FnCall>,
    /// Lists of returned values of lowered IR.
    pub rets: Vec<Box<[Arg]>>,
    /// Where it came from, for the specialiser.
    pub origin: Option<Rc<Origin>>,
    /// Of lowered IR: what native code is made from, and that code.
    pub native: Option<crate::ir::native::State>,
    /// The definition that it belongs to.
    pub name: Option<Symbol>,
    /// Its type, for `show`.
    pub ty: String,
    /// Whether it is worth native code.
    pub heat: super::hot::Heat,
    /// Attempts to run it on lanes that failed.
    pub lanes_failed: std::cell::Cell<u8>,
    /// What runs on lanes took, and native code in their place.
    pub(crate) paces: super::lanes::Paces,
    /// Whether it is the body of a comprehension that works on arrays of indices.
    pub indexwise: bool,
    /// Of a comprehension's body: the comprehension as a function of its extents, which captures the same values. It has a source and a heat only.
    pub whole: Option<Rc<Code>>,
    /// Whether it is a loop of the function around it, not one of the user's own.
    pub part: bool,
}

/// A member of a recursive group, as Core: the local that it is bound to, its hidden parameters, the function. (Of a closure there is one,
/// bound to nothing in particular.)
pub type Member = (core::Local, Vec<core::Local>, Rc<core::Lambda>);

/// The Core that code was made from.
#[derive(Debug)]
pub struct Origin {
    /// The function, or all functions of its group.
    pub members: Rc<[Member]>,
    /// Whether it is a recursive group.
    pub group: bool,
    /// Which member.
    pub index: u32,
    /// Captured locals, in the order of the captured values.
    pub captured: Vec<core::Local>,
}

impl Code {
    /// Code without instructions.
    pub fn new(name: Option<Symbol>, ty: String) -> Code {
        Code {
            instrs: Vec::new(),
            spans: Vec::new(),
            registers: 0,
            params: 0,
            captures: 0,
            consts: Vec::new(),
            codes: Vec::new(),
            groups: Vec::new(),
            names: Vec::new(),
            cons: Vec::new(),
            indices: Vec::new(),
            tables: Vec::new(),
            reps: Vec::new(),
            sizes: Vec::new(),
            kinds: Vec::new(),
            steps: Vec::new(),
            strips: Vec::new(),
            calls: Vec::new(),
            rets: Vec::new(),
            origin: None,
            native: None,
            name,
            ty,
            heat: super::hot::Heat::default(),
            lanes_failed: std::cell::Cell::new(0),
            paces: super::lanes::Paces::default(),
            indexwise: false,
            whole: None,
            part: false,
        }
    }

    /// Adds an instruction; gives its position, where a jump is aimed later.
    pub(crate) fn emit(&mut self, i: I, span: Span) -> usize {
        self.instrs.push(i);
        self.spans.push(span);
        self.instrs.len() - 1
    }

    /// Where the next instruction will be.
    pub(crate) fn here(&self) -> u32 {
        self.instrs.len() as u32
    }

    /// Aims a jump at the next instruction.
    pub(crate) fn aim(&mut self, at: usize) {
        let to = self.here();
        match &mut self.instrs[at] {
            I::Jump(t) | I::JumpUnless(_, t) | I::JumpUnlessCmp(_, _, _, t) | I::LoopHead(_, _, t) | I::Strips(_, t) => *t = to,
            _ => {}
        }
    }

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
