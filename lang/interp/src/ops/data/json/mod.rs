//! JSON, read as the expected type.
//!
//! Records are objects, tuples, arrays and lists are lists, `()` and `None` are null, `Some x` is x, a constructor without fields is its
//! name, one with fields is `{"Name": [fields]}`. Numbers that are not finite are written as null and read as nan.

mod read;
mod syntax;
mod write;

pub use read::read;
pub use write::write;
