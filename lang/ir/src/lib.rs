//! The IR: "Linear A" of *You Only Linearize Once*, extended by control flow, data and arrays.
//!
//! ```text
//! program  ::= data… fn…
//! data     ::= data D = C₀(ty…) | C₁(ty…) | …
//! fn       ::= fn f(x: ty, … ; ẋ: ty, …) -> (ty, … ; ty, …) block
//! block    ::= { stmt… return x, … ; ẋ, … }
//! stmt     ::= x, … ; ẋ, … = op                   (with the span of the source that it came from)
//! op       ::= literals and scalar operators | operations on arrays | constructors
//!            | if | switch | loop | call | reduce | scan | reduce_by_index
//!            | zero | dup | drop                  (the linear fragment; sums and scalings are `add` and `mul`)
//! ty       ::= f64 | f32 | i64 | bool | str | []…ty | D
//! ```
//!
//! Variables left of `;` are non-linear, variables right of it linear. Every function is in A-normal form, may
//! return several results, and binds each variable once.
//!
//! - There are no tuples and records, only their components. An array of tuples is a tuple of arrays.
//! - Elementwise arithmetic acts on entire arrays of any rank.
//! - `map`, comprehensions, `sum for` and loops are one construct, [`Loop`]: values carried from one iteration to
//!   the next, arrays of which each iteration reads an element, and outputs that are collected into arrays or
//!   summed.
//! - An operation is linear if an operand is. [`Op::linear_in`] tells which operands may be linear. The [`mod@verify`]
//!   pass checks that each linear variable is used exactly once, and that nothing non-linear depends on one.
//! - A linear array may be a *symbolic zero* at run time ([`eval::Val::SymbolicZero`]): a zero without a shape.
//!   Operations that lose the shape of a linear operand have it as a non-linear operand `shape`.
//!
//! Reading order: [`ty`], [`op`], [`func`], [`build`]. Then come the functions of this crate on programs: [`mod@print`]
//! (with the grammar of the text form), [`parse`], [`mod@verify`] (with the invariants), [`eval`] (the reference
//! evaluator, which counts work after §4.3 of the paper: [`eval::cost`]), and, with the feature `generate`, random
//! programs for property tests.
//!
//! What is *not* here: closures, polymorphism and derivative operators (resolved by `lang/specialise`), the
//! transformations (`lang/ad`, `lang/opt`), fast evaluation (`lang/interp`, `lang/jit`), and any IO.

pub mod build;
mod collective;
pub mod eval;
mod extract;
pub mod func;
#[cfg(feature = "generate")]
pub mod generate;
mod names;
pub mod op;
mod operands;
pub mod parse;
pub mod print;
pub mod rewrite;
pub mod rows;
pub mod shape_rule;
pub mod sum_order;
pub mod ty;
pub mod verify;

pub use build::{Added, Builder};
pub use collective::Collective;
pub use eval::{Evaluator, Host, Val, WorkCounts};
pub use func::{Block, DataDecl, FnId, Function, Program, Role, Stmt, Var, VarInfo, Zeros};
pub use op::{Cmp, Contract, Conv, Lit, Loop, Op, Out, Rule, RuleKind, Soac, SoacKind, Terms, Trip};
pub use ty::{DataId, Ty};
pub use verify::{Violation, verify, verify_linear_b};
