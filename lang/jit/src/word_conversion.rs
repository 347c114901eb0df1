//! Conversion between words of native code and values of the interpreter.

use crate::handle::{Handle, HandlePool};
use crate::heap::HeapCell;
use crate::runtime::WordKind;
use adl_interp::value::Value;

impl HandlePool {
    /// Converts a word to a value. `take`: consumes one of its references.
    ///
    /// # Safety
    /// The word has the given kind. A `Ref` is a live handle of this pool, `Data` a live cell of it, and no Rust
    /// reference to either exists. With `take` the caller gives up one reference.
    pub unsafe fn value(&mut self, kind: WordKind, take: bool, word: u64) -> Value {
        match kind {
            WordKind::F64 => Value::Float(f64::from_bits(word)),
            WordKind::F32 => Value::F32(f32::from_bits(word as u32)),
            WordKind::I64 => Value::Int(word as i64),
            WordKind::Bool => Value::Bool(word & 1 == 1),
            // SAFETY: by this function's contract, the word is a live handle, one of whose references is given up.
            WordKind::Ref(_) if take => unsafe { self.unwrap(word as *mut Handle) },
            // SAFETY: by this function's contract, the word is a live handle to which no Rust reference exists.
            WordKind::Ref(_) => unsafe { self.lent(word as *mut Handle) },
            // SAFETY: by this function's contract, the word is a live cell; with `take`, one of its references is given
            // up.
            WordKind::Data(_) => unsafe { self.data(word as *mut HeapCell, take) },
        }
    }

    /// Converts a copy of a value to a word; `None` if it is not of the kind.
    #[inline]
    pub fn word_of(&mut self, kind: WordKind, v: &Value) -> Option<u64> {
        match (kind, v) {
            (WordKind::F64, Value::Float(x)) => Some(x.to_bits()),
            (WordKind::I64, Value::Int(n)) => Some(*n as u64),
            (WordKind::Data(d), Value::Data(x)) => {
                Some(self.cell(d, Value::Data(x.clone()))).filter(|c| !c.is_null()).map(|c| c as u64)
            }
            _ => self.word(kind, v.clone()),
        }
    }

    /// Converts a value to a word; `None` if it is not of the kind.
    pub fn word(&mut self, kind: WordKind, value: Value) -> Option<u64> {
        Some(match (kind, value) {
            (WordKind::F64, Value::Float(x)) => x.to_bits(),
            (WordKind::F64, Value::Zero) => 0,
            (WordKind::F32, Value::F32(x)) => u64::from(x.to_bits()),
            (WordKind::F32, Value::Zero) => 0,
            (WordKind::I64, Value::Int(n)) => n as u64,
            (WordKind::Bool, Value::Bool(b)) => u64::from(b),
            (WordKind::Data(d), v @ (Value::Data(_) | Value::Zero)) => {
                Some(self.cell(d, v)).filter(|c| !c.is_null())? as u64
            }
            (WordKind::Ref(e), v) if !matches!(v, Value::Float(_) | Value::F32(_) | Value::Int(_) | Value::Bool(_)) => {
                self.wrap(v, e) as u64
            }
            _ => return None,
        })
    }
}
