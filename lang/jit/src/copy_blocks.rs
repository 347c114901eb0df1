//! Copies memory in blocks of [`adl_interp::PIECE`] bytes.

use adl_interp::PIECE;

/// Copies `n` elements from `from` to `to`.
///
/// # Safety
/// As for [`std::ptr::copy_nonoverlapping`]: `from` is valid for reading and `to` for writing `n` elements of `T`, and
/// the two ranges do not overlap.
pub(crate) unsafe fn copy<T>(from: *const T, to: *mut T, n: usize) {
    if size_of::<T>() == 8 && align_of::<T>() == 8 && n <= 2 * FEW {
        // SAFETY: this function's contract includes that of `few`, for elements of eight bytes.
        return unsafe { few(from.cast(), to.cast(), n) };
    }
    let piece = const { PIECE / size_of::<T>() };
    let mut at = 0;
    while at < n {
        let some = piece.min(n - at);
        // SAFETY: by this function's contract both ranges hold `n` elements; `at + some <= n`.
        unsafe { std::ptr::copy_nonoverlapping(from.add(at), to.add(at), some) };
        at += some;
    }
}

/// Half of the number of words that are copied without a call.
const FEW: usize = 4;

/// Copies at most `2 * FEW` words: two blocks that may overlap, one at each end.
///
/// # Safety
/// That of [`copy`].
unsafe fn few(from: *const u64, to: *mut u64, n: usize) {
    // SAFETY: each block is within the `n` words, and both are read before one is written.
    unsafe {
        match n {
            0 => {}
            1 => *to = *from,
            2..FEW => ends::<2>(from, to, n),
            _ => ends::<FEW>(from, to, n),
        }
    }
}

/// Copies the first and the last `K` of `n` words.
///
/// # Safety
/// That of [`copy`], with `K <= n`.
unsafe fn ends<const K: usize>(from: *const u64, to: *mut u64, n: usize) {
    // SAFETY: by this function's contract both blocks are within the `n` words of each range.
    unsafe {
        let (first, last) = (from.cast::<[u64; K]>().read(), from.add(n - K).cast::<[u64; K]>().read());
        to.cast::<[u64; K]>().write(first);
        to.add(n - K).cast::<[u64; K]>().write(last);
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_element_is_copied_once() {
        for n in (0..20).chain([255, 256, 257, 1000]) {
            let from: Vec<f64> = (0..n).map(|i| i as f64).collect();
            let mut to = vec![-1.0; n + 1];
            // SAFETY: `from` has `n` elements and `to` has `n + 1`; they are separate vectors.
            unsafe { super::copy(from.as_ptr(), to.as_mut_ptr(), n) };
            assert_eq!((&to[..n], to[n]), (&from[..], -1.0));
        }
    }
}
