//! The catalogue of lexical and syntax errors, one module per family. Each has the conditions, the messages, and the
//! longer explanations that `adl explain CODE` prints.

pub mod explain;
pub mod expressions;
pub mod foreign_syntax;
pub mod items;
pub mod layout;
pub mod lexical;

pub use explain::explain;
