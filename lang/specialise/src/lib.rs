//! A closure at known types → first-order IR.
//!
//! The specialiser evaluates typed Core with *abstract values*: trees whose leaves are IR variables, and whose functions are known code
//! with abstract captured values. So higher-order code, tuples, records, polymorphism and derivative operators disappear, while loops,
//! recursion and branches on data stay. Functions are specialised once for each code and layout of arguments, never copied at calls, so
//! that the IR grows linearly with the program.
//!
//! - A function that a branch chooses becomes a tagged closure: an Int, and the captured values of every candidate.
//! - A derivative operator applied to a known function becomes calls of transformed IR, made through [`Transforms`].
//! - Values that come from outside (arguments, captured values, globals) become parameters of the entry: [`Entry::inputs`].
//!
//! What cannot be specialised is an [`Unsupported`] with its reason; derivatives then take the second road (taped dual numbers). The list
//! of these cases is in docs/reference.md.
//!
//! What is *not* here: run-time values (behind [`World`]), the transformations themselves (`lang/ad`), and any IO.

pub mod layout;
pub mod world;

pub use layout::Layout;
pub use world::{Entry, FunView, Input, Linearized, Place, Root, Transforms, Unsupported, View, World};

use adl_ir::Program;
use adl_typing::ty::Ty;

/// What specialisation remembers between calls: functions that were made, by code and layouts. It belongs to one [`Program`].
#[derive(Default)]
pub struct Cache {}

/// Specialises the function at [`Root::Fun`] for arguments of these types (without variables; sizes do not matter).
pub fn specialise(_world: &mut dyn World, _t: &mut dyn Transforms, _p: &mut Program, _cache: &mut Cache, _args: &[Ty]) -> Result<Entry, Unsupported> {
    Err(Unsupported::new("not yet", adl_syntax::span::Span::default()))
}
