//! The catalogue of lexical and syntax errors, one module a family: what is reported, in which
//! words, and the longer explanation that `adl explain CODE` prints.

pub mod explain;
pub mod expressions;
pub mod habits;
pub mod items;
pub mod layout;
pub mod lexical;

pub use explain::explain;
