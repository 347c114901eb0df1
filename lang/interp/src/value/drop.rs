//! Dropping of long lists and chains of closures without recursion: beyond a certain depth, fields are moved to
//! a queue, which the outermost drop empties.

use super::{Data, Fields, Record, Tuple, Value};
use crate::limits::value_drop::IN_PLACE;
use std::cell::{Cell, RefCell};

thread_local! {
    static QUEUE: RefCell<Vec<Value>> = const { RefCell::new(Vec::new()) };
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// What owns values.
pub trait OwnsValues {
    /// Drops all values.
    fn clear(&mut self);
    /// Moves all values to the end of a list.
    fn move_to(&mut self, to: &mut Vec<Value>);
}

impl OwnsValues for Vec<Value> {
    fn clear(&mut self) {
        self.clear();
    }
    fn move_to(&mut self, to: &mut Vec<Value>) {
        to.append(self);
    }
}

impl OwnsValues for Fields {
    fn clear(&mut self) {
        self.clear();
    }
    fn move_to(&mut self, to: &mut Vec<Value>) {
        to.extend(self.drain(..));
    }
}

/// Drops values of any depth.
pub fn release(vals: &mut impl OwnsValues) {
    let depth = DEPTH.try_with(Cell::get).unwrap_or(0);
    if depth < IN_PLACE {
        let _ = DEPTH.try_with(|d| d.set(depth + 1));
        vals.clear();
        let _ = DEPTH.try_with(|d| d.set(depth));
        if depth == 0 {
            drain();
        }
        return;
    }
    let _ = QUEUE.try_with(|q| match q.try_borrow_mut() {
        Ok(mut q) => vals.move_to(&mut q),
        Err(_) => vals.clear(),
    });
}

fn drain() {
    loop {
        let next = QUEUE.try_with(|q| q.borrow_mut().pop()).ok().flatten();
        let Some(v) = next else { return };
        let _ = DEPTH.try_with(|d| d.set(1));
        drop(v);
        let _ = DEPTH.try_with(|d| d.set(0));
    }
}

fn deep(v: &Value) -> bool {
    matches!(v, Value::Data(_) | Value::Tuple(_) | Value::Record(_) | Value::Fun(_) | Value::Dual(_) | Value::Array(_))
}

impl Drop for Data {
    fn drop(&mut self) {
        if self.fields.iter().any(deep) {
            release(&mut self.fields);
        }
    }
}

impl Drop for Tuple {
    fn drop(&mut self) {
        if self.0.iter().any(deep) {
            release(&mut self.0);
        }
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        if self.vals.iter().any(deep) {
            release(&mut self.vals);
        }
    }
}
