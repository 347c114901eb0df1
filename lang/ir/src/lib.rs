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
//! What stands left of `;` is non-linear, what stands right of it linear. Every function is in A-normal form, returns several results,
//! and names each variable once.
//!
//! - Tuples and records do not exist: they are their components. An array of tuples is a tuple of arrays.
//! - Elementwise arithmetic acts on whole arrays of any rank.
//! - `map`, comprehensions, `sum for` and loops are one construct, [`Loop`]: state carried from turn to turn, arrays read an element a
//!   turn, and outputs collected into arrays or added up.
//! - An operation is linear where an operand is: [`Op::linear_in`] says which operands may be, and the [`verify`] pass checks that each
//!   linear variable is used exactly once and that nothing non-linear depends on one.
//! - A linear array may be *absent* at run time: a zero whose shape was not needed. Operations that lose the shape of a linear operand
//!   carry it as a non-linear operand `shape`.
//!
//! Reading order: [`ty`], [`op`], [`func`], [`build`]; then what is done to programs here: [`print`] (with the grammar of the text form),
//! [`parse`], [`verify`] (with the invariants), [`eval`] (the reference evaluator, which counts work by the paper's §4.3: [`eval::cost`]),
//! and, with the feature `generate`, random programs for property tests.
//!
//! What is *not* here: closures, polymorphism and derivative operators (resolved by `lang/specialise`), the transformations
//! (`lang/ad`, `lang/opt`), fast evaluation (`lang/interp`, `lang/jit`), and any IO.

pub mod build;
pub mod eval;
pub mod func;
#[cfg(feature = "generate")]
pub mod generate;
mod names;
pub mod op;
mod operands;
pub mod parse;
mod part;
pub mod print;
pub mod ty;
pub mod verify;

pub use build::Builder;
pub use eval::{Counts, Evaluator, Host, Val};
pub use func::{Block, DataDecl, FnId, Function, Program, Role, Stmt, Var, VarInfo};
pub use op::{Cmp, Contract, Conv, Lit, Loop, Op, Out, Rule, RuleKind, Soac, SoacKind, Terms, Turns};
pub use ty::{DataId, Ty};
pub use verify::{Fault, verify, verify_linear_b};
