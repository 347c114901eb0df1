//! Copies memory in blocks of [`adl_interp::PIECE`] bytes.

use adl_interp::PIECE;

/// Copies `n` elements from `from` to `to`.
///
/// # Safety
/// As for [`std::ptr::copy_nonoverlapping`]: `from` is valid for reading and `to` for writing `n` elements of `T`, and
/// the two ranges do not overlap.
pub(crate) unsafe fn copy<T>(from: *const T, to: *mut T, n: usize) {
    let piece = const { PIECE / size_of::<T>() };
    let mut at = 0;
    while at < n {
        let some = piece.min(n - at);
        // SAFETY: by this function's contract both ranges hold `n` elements; `at + some <= n`.
        unsafe { std::ptr::copy_nonoverlapping(from.add(at), to.add(at), some) };
        at += some;
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_element_is_copied_once() {
        for n in [0, 1, 255, 256, 257, 1000] {
            let from: Vec<f64> = (0..n).map(|i| i as f64).collect();
            let mut to = vec![-1.0; n + 1];
            // SAFETY: `from` has `n` elements and `to` has `n + 1`; they are separate vectors.
            unsafe { super::copy(from.as_ptr(), to.as_mut_ptr(), n) };
            assert_eq!((&to[..n], to[n]), (&from[..], -1.0));
        }
    }
}
