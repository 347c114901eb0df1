//! Reading and writing of JSON, according to an expected type.
//!
//! Records correspond to objects; tuples, arrays and lists to arrays; `()` and `None` to null; `Some x` to x. A
//! constructor without fields is written as its name, one with fields as `{"Name": [fields]}`. Non-finite
//! numbers are written as null, and null is read as nan.

mod read;
mod tokens;
mod write;

pub use read::read;
pub use write::write;
