//! Register code: the instructions of the virtual machine, and the tables to which they refer.

use super::code_list::CodeList;
use super::profile::{ElementProfile, Profile};
use crate::ops::chain::FusedChain;
use crate::value::{ConInfo, Value};
use adl_ir::{Collective, Op, Ty};
use adl_prim::{Bin, Cmp, Prim, Un};
use adl_syntax::span::Span;
use adl_syntax::symbol::Symbol;
use adl_typing::core::{self, GlobalId, Rep};
use std::any::Any;
use std::fmt::Debug;
use std::rc::Rc;

/// A register number, relative to the frame.
pub type R = u32;

/// An instruction. `d` is the destination register. A range of operands is (first register, count); reading a
/// range leaves its registers empty.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub enum I {
    Const(R, u32),
    Move(R, R),
    /// Like `Move`, but empties the source register, which is not read again.
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
    /// Calls a member of this function's recursive group.
    CallSibling(R, u32, R, u32),
    TailSibling(u32, R, u32),
    Sibling(R, u32),
    Ret(R),
    /// Calls a primitive: `(d, prim, first, hidden, count)`. Hidden arguments precede the others.
    Prim(R, Prim, R, u32, u32),
    /// A primitive as a value, with its hidden arguments.
    PrimFun(R, Prim, R, u32),
    Closure(R, u32, R, u32),
    /// Creates a recursive group over captured values; its members are stored in consecutive registers from
    /// `d`.
    Group(R, u32, R, u32),
    Tuple(R, R, u32),
    Record(R, u32, R, u32),
    Con(R, u32, R, u32),
    Array(R, R, u32),
    Item(R, R, u32),
    Field(R, R, Symbol),
    Update(R, R, u32, R, u32),
    /// An array element or row at one Int index.
    Index1(R, R, R),
    /// Indices and slices as described by the spec: `(d, array, spec, first)`.
    Index(R, R, u32, R),
    /// Jumps through a table indexed by the constructor tag.
    Switch(R, u32),
    ConField(R, R, u32),
    /// Compares with a literal.
    IsLit(R, R, u32),
    IsLen(R, R, u32),
    Elem(R, R, u32),
    /// Exits the loop if the counter has reached the bound.
    LoopHead(R, R, u32),
    LoopNext(R, u32),
    /// The back edge of a loop without a counter.
    Back(u32),
    /// A comprehension: `(d, kind, closure, first extent, count)`. The register after the extents holds a
    /// run-time type representation.
    For(R, u32, R, R, u32),
    /// The extent of an array axis.
    AxisLen(R, R, u32),
    /// Checks that two extents that one index ranges over are equal.
    SameExtent(R, R),
    Rep(R, u32),
    NumAt(R, u32, R),
    ZeroOf(R, R),
    SizeAt(R, u32),
    CheckSize(u32, R),
    Interp(R, R, u32),
    NoMatch,
    /// An operation of lowered IR: see [`LoweredTables::steps`]. This and all following instructions occur only in
    /// lowered IR.
    Lowered(u32),
    /// Tries to run the chain of statements that follows, up to the target, in one pass over blocks of large
    /// arrays. If it fails, control continues with the first of these statements. See `fuse_elementwise`.
    FusedChain(u32, u32),
    /// Calls a function of the same IR program, which may have several results: see [`LoweredTables::calls`].
    CallFn(u32),
    TailFn(u32),
    /// Returns several values: see [`LoweredTables::rets`].
    RetMany(u32),
    /// `(d, array, index, zero)`: an element, or the constant `zero` if the array is a symbolic zero.
    At1(R, R, R, u32),
    /// `(d, matrix, row, column, zero)`: an element, or the constant `zero` if the matrix is a symbolic zero.
    At2(R, R, R, R, u32),
    /// `(d, data, field, zero)`: a field, or the constant `zero` if the data is a symbolic zero.
    FieldOr(R, R, u32, u32),
    /// Appends an element to the buffer in a register.
    Push(R, R),
    /// Converts an Int or Bool to a Float.
    ToFloat(R, R),
}

/// An operand of an instruction of lowered IR.
#[derive(Clone, Copy, Debug)]
pub struct Arg {
    /// The register.
    pub r: R,
    /// Whether this is its last use. The value is then moved out of the register, so that an unshared array is
    /// updated in place.
    pub last: bool,
}

/// An operation of lowered IR. Operands are positions in the list of arguments.
#[derive(Debug)]
pub enum LoweredOp {
    /// An operation of the IR that is neither control flow nor one of those below.
    Op(Op),
    /// A collective of so many operands, behind which its operand `at` stands if it has one. All ranks know the place.
    Collective(Collective, usize, Span),
    /// A primitive with its run-time type representations.
    Prim(Prim, Vec<Value>),
    /// A constructor.
    Con(Rc<ConInfo>),
    /// An empty buffer for elements of the type, boxed if the flag is set. The argument is the expected number
    /// of elements.
    Buffer(Ty, bool),
    /// Converts a buffer to an array, reversed if the flag is set.
    Finish(bool),
    /// An array with the element at an index replaced.
    Put,
}

/// An operation of lowered IR on registers.
#[derive(Debug)]
pub struct LoweredStep {
    /// The operation; its operands are positions in `args`.
    pub what: LoweredOp,
    /// The operands.
    pub args: Box<[Arg]>,
    /// The result registers.
    pub outs: Box<[R]>,
    /// The results if a linear operand that annihilates the operation is a symbolic zero.
    pub zeros: Box<[Value]>,
}

/// A call between functions of lowered IR.
#[derive(Debug)]
pub struct FnCall {
    /// The index of the callee in its group.
    pub callee: u32,
    /// The arguments.
    pub args: Box<[Arg]>,
    /// The result registers.
    pub outs: Box<[R]>,
}

/// The kinds of entries of an index list. Each bound or index takes one register, in order.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub enum IndexKind {
    At,
    /// A slice, with flags for the presence of a lower and of an upper bound.
    Slice(bool, bool),
}

/// The code of a function.
#[derive(Debug)]
pub struct Code {
    /// The instructions.
    pub instrs: Vec<I>,
    /// The source span of each instruction.
    pub spans: Vec<Span>,
    /// The total number of registers: parameters, captured values, locals, temporaries.
    pub registers: u32,
    /// The number of parameters; hidden ones come first.
    pub params: u32,
    /// The number of captured values.
    pub captures: u32,
    /// Constants.
    pub consts: Vec<Value>,
    /// The code of closures that are created here.
    pub codes: Vec<Rc<Code>>,
    /// The code of recursive groups that are created here.
    pub groups: Vec<CodeList>,
    /// What instructions of a program refer to.
    pub tables: CodeTables,
    /// What instructions of lowered IR refer to.
    pub lowered: LoweredTables,
    /// The Core from which the code was compiled, for the specialiser.
    pub origin: Option<Rc<CoreOrigin>>,
    /// The name of the enclosing definition.
    pub name: Option<Symbol>,
    /// The type as text, for `show`.
    pub ty: String,
    /// The profile that decides when the code becomes native.
    pub profile: Profile,
    /// What its calls for elements of arrays have cost, and those of primitives that are applied to it, as `grad f`.
    pub(crate) elements: [Rc<ElementProfile>; 2],
    /// For the body of a comprehension: the entire comprehension as a function of its extents, with the same
    /// captured values. Only its origin is used.
    pub whole: Option<Rc<Code>>,
    /// Whether it is a loop that was outlined from the function around it, so that it does not appear in call
    /// stacks.
    pub part: bool,
}

/// Tables of code that the compiler of programs makes.
#[derive(Debug, Default)]
pub struct CodeTables {
    /// Field names of records.
    pub names: Vec<Rc<[Symbol]>>,
    /// Constructors.
    pub cons: Vec<Rc<ConInfo>>,
    /// Index lists.
    pub indices: Vec<Vec<IndexKind>>,
    /// Tables of `Switch`: targets by tag, and the default target.
    pub targets: Vec<(Vec<u32>, u32)>,
    /// Run-time type representations; their locals are registers.
    pub reps: Vec<Rep>,
    /// Sizes in signatures: their position in an argument and, for checks, the name and the expected constant.
    pub sizes: Vec<(core::SizeAt, String, Option<u64>)>,
    /// The kinds of comprehensions.
    pub kinds: Vec<core::ForKind>,
}

/// What the layer that chooses how lowered code runs keeps with it. Only that layer reads it.
pub trait RunState: Any + Debug {}

/// Tables of code that lowering of IR makes.
#[derive(Debug, Default)]
pub struct LoweredTables {
    /// Operations.
    pub steps: Vec<LoweredStep>,
    /// Chains of operations, with their operands and result registers.
    pub strips: Vec<(FusedChain, Box<[Arg]>, Box<[R]>)>,
    /// Calls.
    pub calls: Vec<FnCall>,
    /// Lists of returned values.
    pub rets: Vec<Box<[Arg]>>,
    /// The state of native compilation.
    pub native: Option<Rc<dyn RunState>>,
}

/// A member of a recursive group, as Core: the local to which it is bound, its hidden parameters, the function.
/// The origin of a closure has a single member, whose local is unused.
pub type Member = (core::Local, Vec<core::Local>, Rc<core::Lambda>);

/// The Core from which code was compiled.
#[derive(Debug)]
pub struct CoreOrigin {
    /// The function, or all functions of its group.
    pub members: Rc<[Member]>,
    /// Whether it is a recursive group.
    pub group: bool,
    /// The index of the member.
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
            tables: CodeTables::default(),
            lowered: LoweredTables::default(),
            origin: None,
            name,
            ty,
            profile: Profile::default(),
            elements: Default::default(),
            whole: None,
            part: false,
        }
    }

    /// Appends an instruction. Returns its index, by which the target of a jump is set later.
    pub fn emit(&mut self, i: I, span: Span) -> usize {
        self.instrs.push(i);
        self.spans.push(span);
        self.instrs.len() - 1
    }

    /// The index of the next instruction.
    pub(crate) fn here(&self) -> u32 {
        self.instrs.len() as u32
    }

    /// Sets the target of a jump to the next instruction.
    pub(crate) fn patch_jump(&mut self, at: usize) {
        let to = self.here();
        match &mut self.instrs[at] {
            I::Jump(t)
            | I::JumpUnless(_, t)
            | I::JumpUnlessCmp(_, _, _, t)
            | I::LoopHead(_, _, t)
            | I::FusedChain(_, t) => *t = to,
            _ => {}
        }
    }

    /// The operator, if the code is that of `fun a b -> a op b`.
    pub fn operator(&self) -> Option<Prim> {
        if self.params != 2 || self.captures != 0 {
            return None;
        }
        match self.instrs.as_slice() {
            [I::Bin(op, d, 0, 1), I::Ret(r)] if d == r => Some(match op {
                Bin::Add => Prim::Bin(Bin::Add),
                Bin::Mul => Prim::Bin(Bin::Mul),
                Bin::Min => Prim::Bin(Bin::Min),
                Bin::Max => Prim::Bin(Bin::Max),
                _ => return None,
            }),
            _ => None,
        }
    }
}
