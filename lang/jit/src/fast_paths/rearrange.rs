//! Implements fast paths of operations that rearrange elements of small arrays: transposition, replication, array
//! literals. Derivatives in many directions use these often.

use super::FastOpCall;
use crate::handle::{AXES, Handle};
use crate::limits::fast_paths_rearrange::SMALL;

impl FastOpCall<'_> {
    /// Transposes the first two axes. The interpreter transposes large arrays, on all threads.
    pub(super) fn transpose(&mut self) -> Option<*mut Handle> {
        let array = self.array(0)?;
        if array.len > SMALL {
            return None;
        }
        let mut dims = array.dims;
        dims.swap(0, 1);
        let to = self.fresh(&dims[..array.rank])?;
        let (n, k) = (array.dims[0] as usize, array.dims[1] as usize);
        let width = array.dims[2..array.rank].iter().product::<i64>() as usize;
        for i in 0..n {
            for j in 0..k {
                let (from, at) = ((i * k + j) * width, (j * n + i) * width);
                // SAFETY: both indices are within arrays of `array.len` elements, and the target is a new array.
                unsafe {
                    if width == 1 {
                        *to.data.add(at) = *array.data.add(from);
                    } else {
                        crate::copy_blocks::copy(array.data.add(from), to.data.add(at), width);
                    }
                }
            }
        }
        Some(to.handle)
    }

    /// `n` copies of an array along a new first axis.
    pub(super) fn copies(&mut self) -> Option<*mut Handle> {
        let (n, a) = (self.words[0] as i64, self.array(1)?);
        let mut dims = [0; AXES];
        dims[0] = n;
        dims.get_mut(1..=a.rank)?.copy_from_slice(a.dims());
        let to = self.fresh(&dims[..=a.rank])?;
        for i in 0..n as usize {
            // SAFETY: the target is a new array with room for `n` copies of `a.len` elements.
            unsafe { crate::copy_blocks::copy(a.data, to.data.add(i * a.len), a.len) };
        }
        Some(to.handle)
    }

    /// An array literal of `count` arrays of one shape.
    pub(super) fn stack(&mut self, count: usize) -> Option<*mut Handle> {
        let first = self.array(0)?;
        let mut dims = [0; AXES];
        dims[0] = count as i64;
        dims.get_mut(1..=first.rank)?.copy_from_slice(first.dims());
        for i in 1..count {
            if self.array(i)?.dims() != first.dims() {
                return None;
            }
        }
        let to = self.fresh(&dims[..=first.rank])?;
        for i in 0..count {
            let a = self.array(i)?;
            // SAFETY: the target is a new array with room for `count` arrays of `a.len` elements each.
            unsafe { crate::copy_blocks::copy(a.data, to.data.add(i * a.len), a.len) };
        }
        Some(to.handle)
    }
}
