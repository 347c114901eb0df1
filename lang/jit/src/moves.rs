//! Copies of memory, a piece at a time: see [`adl_interp::PIECE`].

use adl_interp::PIECE;

/// Copies `n` elements.
///
/// # Safety
/// As [`std::ptr::copy_nonoverlapping`] says: both ends are valid for so many elements, and apart.
pub(crate) unsafe fn copy<T>(from: *const T, to: *mut T, n: usize) {
    let piece = const { PIECE / size_of::<T>() };
    let mut at = 0;
    while at < n {
        let some = piece.min(n - at);
        // SAFETY: the caller says so of all of them.
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
            // SAFETY: there is room for one more.
            unsafe { super::copy(from.as_ptr(), to.as_mut_ptr(), n) };
            assert_eq!((&to[..n], to[n]), (&from[..], -1.0));
        }
    }
}
