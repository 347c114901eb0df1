//! A global allocator that reuses freed blocks of large arrays.
//!
//! The operating system reclaims large blocks when they are freed and zeroes each page of a new block at first use,
//! which costs more than arithmetic on the block. Freed blocks of at least 256 KiB are therefore kept in a bounded
//! list. Sizes are rounded up by at most an eighth, so that blocks can be reused. The system is advised to use large
//! pages for them. Smaller blocks come from the wrapped allocator.
//!
//! Large blocks begin at different lines of their pages (cache colouring). A loop that goes through dozens of arrays at one
//! index would otherwise find all elements in one set of the cache, which holds eight lines.
//!
//! If the system is out of memory, all kept blocks are freed, then a reserve of address space ([`reserve_address_space`]), and the
//! function set by [`set_alarm`] is called. The run then ends with an error soon, and allocates from the reserve until
//! it does. A failed allocation larger than the reserve is left to the caller: code that allocates so much checks first
//! or handles failure. A lock serialises threads that run out of memory with those that reserve: each sees the reserve
//! as either held or released, never an intermediate state.
//!
//! A binary installs it with `#[global_allocator] static MEMORY: CachingAllocator<A> = CachingAllocator(A)`, where `A` serves the smaller
//! blocks.

use crate::limits::alloc::{LARGE, MOST, NEAR, SLOTS, TRIES, WAIT};
use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

/// The allocator. `A` serves blocks below 256 KiB.
pub struct CachingAllocator<A>(pub A);

/// The alignment that the system allocator guarantees.
const ALIGN: usize = 16;

/// Rounds a size up to a multiple of an eighth of the largest power of two that does not exceed it.
fn rounded(n: usize) -> usize {
    let step = (1usize << n.max(1).ilog2()) / 8;
    n.checked_next_multiple_of(step.max(1)).unwrap_or(n)
}

fn large(layout: &Layout, size: usize) -> bool {
    cfg!(unix) && size >= LARGE && layout.align() <= ALIGN
}

/// Called when the reserve is released. It must not allocate.
type Alarm = Box<dyn Fn() + Send + Sync>;

static ALARM: AtomicPtr<Alarm> = AtomicPtr::new(std::ptr::null_mut());

/// The address of the reserve, 0 without one. Written only by the thread that holds [`ITERATION`].
static HELD_BACK: AtomicUsize = AtomicUsize::new(0);

/// A spin lock: held by the thread that releases or re-establishes the reserve.
static ITERATION: AtomicBool = AtomicBool::new(false);

/// Bytes of the reserve; constant once set.
static RESERVE: AtomicUsize = AtomicUsize::new(0);

/// Sets the function that is called when the reserve is released, replacing the previous one. It must not allocate.
/// Alarms are never freed, because another thread may be executing one.
pub fn set_alarm(alarm: Alarm) {
    ALARM.store(Box::into_raw(Box::new(alarm)), Ordering::Release);
}

/// Reserves `size` bytes of address space for a run that exhausts it, unless a reserve is held. This helps only where
/// address space is limited. The first call determines the size for the life of the process.
pub fn reserve_address_space(size: usize) {
    if RESERVE.compare_exchange(0, size, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
        kept::spare_address_space();
    }
    with_reserve_lock(|| {
        if HELD_BACK.load(Ordering::Relaxed) == 0 {
            HELD_BACK.store(kept::mapped(RESERVE.load(Ordering::Relaxed)), Ordering::Relaxed);
        }
    });
}

/// Releases the reserve.
fn release_reserve() {
    match HELD_BACK.swap(0, Ordering::Relaxed) {
        0 => {}
        block => kept::unmap(block, RESERVE.load(Ordering::Relaxed)),
    }
}

/// Runs `f` under the lock. `f` must not allocate; allocating threads take the lock only after an allocation has
/// failed.
fn with_reserve_lock<T>(f: impl FnOnce() -> T) -> T {
    while ITERATION.compare_exchange_weak(false, true, Ordering::Acquire, Ordering::Relaxed).is_err() {
        std::thread::yield_now();
    }
    let out = f();
    ITERATION.store(false, Ordering::Release);
    out
}

/// The peak resident set size of the process in bytes. Allocates nothing.
pub fn peak_resident_bytes() -> u64 {
    kept::peak_resident_bytes()
}

/// Halves `size` until twice as much address space is available. Returns 0 if even `least` does not fit.
pub(crate) fn fitting(size: usize, least: usize) -> usize {
    let mut size = size;
    while size >= least {
        let block = kept::mapped(2 * size);
        if block != 0 || !cfg!(unix) {
            kept::unmap(block, 2 * size);
            return size;
        }
        size /= 2;
    }
    0
}

/// Whether the system limits the address space of the process.
pub(crate) fn address_space_is_limited() -> bool {
    kept::address_space_is_limited()
}

/// A deep stack that [`with_deep_stack`] runs on: its lowest address, and whether recursion has used it.
#[derive(Clone, Copy, Default)]
struct DeepStack {
    limit: usize,
    top: usize,
    used: bool,
}

thread_local! {
    static DEEP_STACK: Cell<DeepStack> = const { Cell::new(DeepStack { limit: 0, top: 0, used: false }) };
}

/// Runs something on a stack that was made for it, whose pages [`release_unused_stack`] may return. The stack that the
/// system gave to a thread is none: where its size is unlimited, other mappings may lie in it.
pub(crate) fn with_deep_stack<T>(run: impl FnOnce() -> T) -> T {
    struct Restore(DeepStack);
    impl Drop for Restore {
        fn drop(&mut self) {
            DEEP_STACK.set(self.0);
        }
    }
    let top = frame();
    let limit = top - stacker::remaining_stack().unwrap_or(0);
    let _before = Restore(DEEP_STACK.replace(DeepStack { limit, top, used: false }));
    run()
}

/// Whether the caller's frame lies on a stack of [`with_deep_stack`].
pub(crate) fn is_on_deep_stack() -> bool {
    let stack = DEEP_STACK.get();
    // Calls that are inlined into that of `with_deep_stack` have its frame.
    (stack.limit..=stack.top).contains(&frame())
}

/// Notes that a unit with recursion has run on the stack below the caller. Its pages go back to the system at the end of
/// the entry; if it `failed`, at once, because the interpreter repeats the call.
pub(crate) fn stack_was_used(failed: bool) {
    DEEP_STACK.set(DeepStack { used: true, ..DEEP_STACK.get() });
    if failed {
        release_unused_stack();
    }
}

/// Returns the pages some way below the caller's frame to the system, if it is on a deep stack that recursion has used.
pub(crate) fn release_unused_stack() {
    let stack = DEEP_STACK.get();
    if stack.used && is_on_deep_stack() {
        DEEP_STACK.set(DeepStack { used: false, ..stack });
        kept::discard(stack.limit, frame().saturating_sub(NEAR));
    }
}

/// An address in the frame of this call.
#[inline(never)]
fn frame() -> usize {
    let local = 0u8;
    &raw const local as usize
}

/// Retries a failed allocation after freeing kept blocks, then after releasing the reserve.
#[cold]
fn retry_alloc(size: usize, again: &dyn Fn() -> *mut u8) -> *mut u8 {
    if kept::empty() > 0 {
        let p = again();
        if !p.is_null() {
            return p;
        }
    }
    if size > RESERVE.load(Ordering::Relaxed) {
        return std::ptr::null_mut();
    }
    // The alarm comes first, so that the watchdog does not re-establish the reserve meanwhile.
    let alarm = ALARM.load(Ordering::Acquire);
    if !alarm.is_null() {
        // SAFETY: `set_alarm` stores pointers from `Box::into_raw`, and these boxes are never freed.
        unsafe { (*alarm)() };
    }
    for _ in 0..TRIES {
        let p = with_reserve_lock(|| {
            release_reserve();
            again()
        });
        if !p.is_null() {
            return p;
        }
        std::thread::sleep(WAIT);
    }
    std::ptr::null_mut()
}

/// Allocates with `make`, and retries with [`retry_alloc`] on failure.
#[inline]
fn alloc_or_retry(size: usize, make: &impl Fn() -> *mut u8) -> *mut u8 {
    let p = make();
    if p.is_null() { retry_alloc(size, make) } else { p }
}

/// Returns to the system what is free: all kept blocks, and pages of small blocks that the wrapped allocator keeps for
/// a while, if that is mimalloc.
pub fn release() {
    kept::empty();
    // SAFETY: `mi_collect` may be called by any thread at any time. It frees only memory that mimalloc does not use.
    unsafe { libmimalloc_sys::mi_collect(true) };
}

#[cfg(unix)]
mod kept {
    //! The list of kept blocks. Its lock is held for a few steps only, and never during an allocation.

    use super::{LARGE, MOST, SLOTS};
    use std::cell::UnsafeCell;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    struct List {
        /// Addresses and sizes of blocks, oldest first.
        blocks: [(usize, usize); SLOTS],
        len: usize,
        bytes: usize,
    }

    struct SharedList(AtomicBool, UnsafeCell<List>);

    // SAFETY: the list is accessed only in `with`, which holds the lock.
    unsafe impl Sync for SharedList {}

    static SHARED: SharedList =
        SharedList(AtomicBool::new(false), UnsafeCell::new(List { blocks: [(0, 0); SLOTS], len: 0, bytes: 0 }));

    fn with<T>(f: impl FnOnce(&mut List) -> T) -> T {
        while SHARED.0.compare_exchange_weak(false, true, Ordering::Acquire, Ordering::Relaxed).is_err() {
            std::hint::spin_loop();
        }
        // SAFETY: the lock is held, so that no other reference to the list exists.
        let out = f(unsafe { &mut *SHARED.1.get() });
        SHARED.0.store(false, Ordering::Release);
        out
    }

    /// The limit on kept bytes on this machine.
    fn bound() -> usize {
        static BOUND: AtomicUsize = AtomicUsize::new(0);
        match BOUND.load(Ordering::Relaxed) {
            0 => {
                // SAFETY: `sysconf` has no preconditions.
                let (pages, size) = unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
                let memory = (pages.max(0) as usize).saturating_mul(size.max(0) as usize);
                let b = (memory / 16).clamp(LARGE, MOST);
                BOUND.store(b, Ordering::Relaxed);
                b
            }
            b => b,
        }
    }

    impl List {
        fn remove(&mut self, i: usize) -> usize {
            let (p, size) = self.blocks[i];
            self.blocks.copy_within(i + 1..self.len, i);
            self.len -= 1;
            self.bytes -= size;
            p
        }
    }

    /// Removes a block of exactly that size from the list; 0 if there is none.
    pub fn take(size: usize) -> usize {
        with(|l| match (0..l.len).rev().find(|i| l.blocks[*i].1 == size) {
            Some(i) => l.remove(i),
            None => 0,
        })
    }

    /// Keeps a block, and frees the oldest ones to stay within the limits.
    pub fn put(block: usize, size: usize) {
        let bound = bound();
        if size > bound / 2 {
            return free(block);
        }
        loop {
            let old = with(|l| {
                if l.len == SLOTS || l.bytes + size > bound {
                    return l.remove(0);
                }
                l.blocks[l.len] = (block, size);
                l.len += 1;
                l.bytes += size;
                0
            });
            match old {
                0 => return,
                old => free(old),
            }
        }
    }

    /// Frees all kept blocks. Returns their size in bytes.
    pub fn empty() -> usize {
        let bytes = with(|l| l.bytes);
        loop {
            match with(|l| if l.len == 0 { 0 } else { l.remove(0) }) {
                0 => return bytes,
                block => free(block),
            }
        }
    }

    pub fn peak_resident_bytes() -> u64 {
        let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
        // SAFETY: the pointer is to a `rusage` that the call may fill, and all zeros are a valid `rusage` if it does
        // not.
        let usage = unsafe {
            libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
            usage.assume_init()
        };
        usage.ru_maxrss.max(0) as u64 * if cfg!(target_os = "macos") { 1 } else { 1024 }
    }

    /// Stops the C library from reserving 64 MiB of address space for each thread: it serves only large blocks here.
    pub fn spare_address_space() {
        #[cfg(all(target_os = "linux", target_env = "gnu"))]
        // SAFETY: `mallopt` may be called at any time; it sets a parameter of later allocations.
        unsafe {
            libc::mallopt(libc::M_ARENA_MAX, 1);
        }
    }

    /// Reserves address space without memory; 0 on failure.
    pub fn mapped(size: usize) -> usize {
        // SAFETY: a new mapping at an address chosen by the system affects no existing memory.
        let p = unsafe {
            libc::mmap(std::ptr::null_mut(), size, libc::PROT_NONE, libc::MAP_PRIVATE | libc::MAP_ANON, -1, 0)
        };
        if p == libc::MAP_FAILED { 0 } else { p as usize }
    }

    /// Whether the address space is limited, or that cannot be asked.
    pub fn address_space_is_limited() -> bool {
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: `getrlimit` writes one `rlimit` through the pointer, which points to one.
        unsafe { libc::getrlimit(libc::RLIMIT_AS, &raw mut limit) != 0 || limit.rlim_cur != libc::RLIM_INFINITY }
    }

    /// Returns the whole pages between two addresses of an unused part of a stack to the system.
    pub fn discard(start: usize, end: usize) {
        // As large as pages of any system.
        const PAGE: usize = 1 << 16;
        let (start, end) = (start.next_multiple_of(PAGE), end & !(PAGE - 1));
        if start < end {
            // SAFETY: the range lies in a mapping that is a stack of this thread, and `NEAR` below its lowest frame. So no
            // frame and no signal handler uses it.
            unsafe { libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_DONTNEED) };
        }
    }

    /// Releases address space from `mapped`.
    pub fn unmap(block: usize, size: usize) {
        // SAFETY: `block` is null or the start of a mapping of `size` bytes from `mapped`, and nothing points into it.
        unsafe { libc::munmap(block as *mut libc::c_void, size) };
    }

    /// The bytes of a line of the cache.
    const LINE: usize = 64;
    /// The number of lines in a page.
    const LINES: usize = 64;
    /// The bytes before a block: the address from the system stands right before it.
    const PAD: usize = LINE * (LINES + 1);

    /// The first block in an allocation of the system, at the next line of a page.
    fn coloured(base: *mut libc::c_void) -> *mut u8 {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        // An odd step visits every line.
        let line = NEXT.fetch_add(27, Ordering::Relaxed) % LINES;
        let to_line = LINE - base as usize % LINE;
        placed(base, to_line + LINE * line)
    }

    /// The block that many bytes after the beginning of an allocation, with a note of where that is. Null if it failed.
    fn placed(base: *mut libc::c_void, offset: usize) -> *mut u8 {
        if base.is_null() {
            return std::ptr::null_mut();
        }
        // SAFETY: the allocation has `PAD` bytes more than the block, at least 16 and at most `PAD` of them before it.
        unsafe {
            let block = base.cast::<u8>().add(offset);
            block.cast::<*mut libc::c_void>().sub(1).write(base);
            block
        }
    }

    /// The allocation of the system in which a block lies.
    ///
    /// # Safety
    /// The block is a live one from `fresh` or `resized`.
    unsafe fn base(block: *mut u8) -> *mut libc::c_void {
        // SAFETY: by this function's contract, `placed` has written the address there.
        unsafe { block.cast::<*mut libc::c_void>().sub(1).read() }
    }

    /// Returns a block to the system.
    fn free(block: usize) {
        // SAFETY: blocks in the list come from `fresh` or `resized`, and the list owns them.
        unsafe { libc::free(base(block as *mut u8)) }
    }

    /// Allocates a new block.
    pub fn fresh(size: usize, zeroed: bool) -> *mut u8 {
        let Some(all) = size.checked_add(PAD) else { return std::ptr::null_mut() };
        // SAFETY: `calloc` and `malloc` have no preconditions.
        let p = coloured(unsafe { if zeroed { libc::calloc(all, 1) } else { libc::malloc(all) } });
        pages(p as usize, size);
        p
    }

    /// Reallocates a block.
    ///
    /// # Safety
    /// `p` is a live block from `fresh` or `resized`, which the caller owns; it is invalid after success.
    pub unsafe fn resized(p: *mut u8, size: usize) -> *mut u8 {
        let Some(all) = size.checked_add(PAD) else { return std::ptr::null_mut() };
        // SAFETY: by this function's contract, `p` is a live block, and `base` the allocation in which it lies. The contents
        // keep their distance from the beginning.
        let p = unsafe {
            let base = base(p);
            placed(libc::realloc(base, all), p as usize - base as usize)
        };
        pages(p as usize, size);
        p
    }

    /// Advises the system to use large pages for a block.
    fn pages(block: usize, size: usize) {
        #[cfg(target_os = "linux")]
        {
            const PAGE: usize = 1 << 16;
            let (start, end) = (block.next_multiple_of(PAGE), (block + size) & !(PAGE - 1));
            // A block below 2 MiB contains no large page.
            if block != 0 && end > start && size >= 1 << 21 {
                // SAFETY: the pages lie inside the block, and this advice changes no contents.
                unsafe { libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_HUGEPAGE) };
            }
        }
        #[cfg(not(target_os = "linux"))]
        let _ = (block, size);
    }
}

#[cfg(not(unix))]
mod kept {
    //! Platforms without these calls keep no blocks.

    pub fn take(_: usize) -> usize {
        0
    }

    pub fn put(_: usize, _: usize) {}

    pub fn empty() -> usize {
        0
    }

    pub fn peak_resident_bytes() -> u64 {
        0
    }

    pub fn spare_address_space() {}

    pub fn mapped(_: usize) -> usize {
        0
    }

    pub fn address_space_is_limited() -> bool {
        true
    }

    pub fn discard(_: usize, _: usize) {}

    pub fn unmap(_: usize, _: usize) {}

    pub fn fresh(_: usize, _: bool) -> *mut u8 {
        std::ptr::null_mut()
    }

    pub unsafe fn resized(_: *mut u8, _: usize) -> *mut u8 {
        std::ptr::null_mut()
    }
}

// SAFETY: a large block has at least the requested size and the system's alignment. It is in the list only between its
// `dealloc` and its next `alloc`. Whether a block is large depends on its layout alone, so that every block returns to
// the allocator that it came from.
unsafe impl<A: GlobalAlloc> GlobalAlloc for CachingAllocator<A> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !large(&layout, layout.size()) {
            // SAFETY: the caller upholds the contract of `GlobalAlloc::alloc`, which is passed on unchanged.
            return alloc_or_retry(layout.size(), &|| unsafe { self.0.alloc(layout) });
        }
        let size = rounded(layout.size());
        match kept::take(size) {
            0 => alloc_or_retry(size, &|| kept::fresh(size, false)),
            block => block as *mut u8,
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if !large(&layout, layout.size()) {
            // SAFETY: the caller upholds the contract of `GlobalAlloc::alloc_zeroed`, which is passed on unchanged.
            return alloc_or_retry(layout.size(), &|| unsafe { self.0.alloc_zeroed(layout) });
        }
        let size = rounded(layout.size());
        match kept::take(size) {
            0 => alloc_or_retry(size, &|| kept::fresh(size, true)),
            block => {
                // SAFETY: the block has at least `layout.size()` bytes and was taken out of the list, so that this call
                // owns it.
                unsafe { std::ptr::write_bytes(block as *mut u8, 0, layout.size()) };
                block as *mut u8
            }
        }
    }

    unsafe fn dealloc(&self, p: *mut u8, layout: Layout) {
        if large(&layout, layout.size()) {
            kept::put(p as usize, rounded(layout.size()));
        } else {
            // SAFETY: the caller upholds the contract of `GlobalAlloc::dealloc`; a small layout means that the block
            // came from `self.0`.
            unsafe { self.0.dealloc(p, layout) }
        }
    }

    unsafe fn realloc(&self, old: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        match (large(&layout, layout.size()), large(&layout, size)) {
            // SAFETY: the caller upholds the contract of `GlobalAlloc::realloc`; the block came from `self.0`, and is
            // still live at a retry, because the first attempt failed.
            (false, false) => alloc_or_retry(size, &|| unsafe { self.0.realloc(old, layout, size) }),
            (true, true) if rounded(layout.size()) == rounded(size) => old,
            (true, true) => match kept::take(rounded(size)) {
                // SAFETY: a large block of this allocator, which is still live at a retry, because the first attempt
                // failed.
                0 => alloc_or_retry(size, &|| unsafe { kept::resized(old, rounded(size)) }),
                // A kept block, whose pages are mapped, is cheaper than new pages, even for a buffer that grows
                // repeatedly.
                block => {
                    let new = block as *mut u8;
                    // SAFETY: both blocks hold at least the copied number of bytes, and this call owns the new one, so
                    // that they do not overlap.
                    unsafe { std::ptr::copy_nonoverlapping(old, new, layout.size().min(size)) };
                    kept::put(old as usize, rounded(layout.size()));
                    new
                }
            },
            _ => {
                // SAFETY: by the contract of `GlobalAlloc::realloc`, the size and the alignment form a layout. The old
                // block is live, and both blocks hold at least the copied number of bytes.
                unsafe {
                    let new = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
                    if !new.is_null() {
                        std::ptr::copy_nonoverlapping(old, new, layout.size().min(size));
                        self.dealloc(old, layout);
                    }
                    new
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::alloc::System;

    const KEEPING: CachingAllocator<System> = CachingAllocator(System);

    /// Uses that many KiB of stack.
    #[inline(never)]
    fn touch(kib: usize) -> u8 {
        let page = std::hint::black_box([kib as u8; 1 << 10]);
        if kib == 0 { page[0] } else { page[1].wrapping_add(touch(kib - 1)) }
    }

    /// Whether the page at an address is in memory.
    #[cfg(target_os = "linux")]
    fn is_resident(at: usize) -> bool {
        let mut resident = 0u8;
        // SAFETY: `mincore` writes one byte for the one page, whose address is a multiple of the size of pages.
        unsafe { libc::mincore((at & !0xffff) as *mut libc::c_void, 1, &raw mut resident) == 0 && resident & 1 == 1 }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn what_recursion_has_used_of_a_deep_stack_goes_back() {
        stacker::grow(64 << 20, || {
            with_deep_stack(|| {
                let far = frame() - (16 << 20);
                assert!(!is_resident(far));
                std::hint::black_box(touch(20 << 10));
                release_unused_stack();
                assert!(is_resident(far), "no call has said that it was used");
                stack_was_used(false);
                assert!(is_resident(far), "it is used until the entry ends");
                release_unused_stack();
                assert!(!is_resident(far));
                std::hint::black_box(touch(20 << 10));
                stack_was_used(true);
                assert!(!is_resident(far));
            });
            std::hint::black_box(touch(20 << 10));
            let far = frame() - (16 << 20);
            stack_was_used(true);
            assert!(is_resident(far), "a stack that others have made stays");
        });
    }

    #[test]
    fn rooms_hold_what_was_asked_for_and_little_more() {
        for n in [LARGE, LARGE + 1, 80_000_000, 123_456_789, (1 << 40) + 1] {
            assert!(rounded(n) >= n && rounded(n) - n <= n / 8, "{n}");
            assert_eq!(rounded(rounded(n)), rounded(n));
        }
    }

    #[test]
    fn blocks_keep_their_contents_when_they_grow_and_are_clear_when_that_was_asked() {
        let layout = |n| Layout::from_size_align(n, 8).unwrap();
        let (small, big, bigger) = (LARGE / 2, LARGE + 10, 3 * LARGE);
        // SAFETY: each call passes the layout that its block was allocated with, and contents are accessed within
        // bounds.
        unsafe {
            let p = KEEPING.alloc(layout(small));
            p.write_bytes(7, small);
            let p = KEEPING.realloc(p, layout(small), big);
            assert!((0..small).all(|i| *p.add(i) == 7));
            p.write_bytes(9, big);
            let p = KEEPING.realloc(p, layout(big), bigger);
            assert!((0..big).all(|i| *p.add(i) == 9));
            p.write_bytes(9, bigger);
            KEEPING.dealloc(p, layout(bigger));
            let q = KEEPING.alloc_zeroed(layout(bigger - 100));
            assert!((0..bigger - 100).all(|i| *q.add(i) == 0));
            let q = KEEPING.realloc(q, layout(bigger - 100), small);
            assert_eq!(*q, 0);
            KEEPING.dealloc(q, layout(small));
        }
    }

    #[test]
    fn blocks_begin_at_different_lines_of_their_pages() {
        let layout = Layout::from_size_align(11 * LARGE, 8).unwrap();
        // SAFETY: each block is freed with the layout that it was allocated with.
        let blocks: Vec<*mut u8> = (0..40).map(|_| unsafe { KEEPING.alloc(layout) }).collect();
        let lines: std::collections::HashSet<usize> = blocks.iter().map(|p| *p as usize % 4096 / 64).collect();
        // SAFETY: as above.
        blocks.into_iter().for_each(|p| unsafe { KEEPING.dealloc(p, layout) });
        assert!(lines.len() > 20, "{lines:?}");
    }

    #[test]
    fn the_reserve_is_there_for_every_thread_that_runs_out() {
        const SIZE: usize = 1 << 20;
        reserve_address_space(SIZE);
        // An allocator that succeeds only while no reserve is held.
        let room =
            || if HELD_BACK.load(Ordering::Relaxed) == 0 { std::ptr::dangling_mut() } else { std::ptr::null_mut() };
        std::thread::scope(|s| {
            for _ in 0..4 {
                s.spawn(|| (0..200).for_each(|_| reserve_address_space(SIZE)));
                s.spawn(|| assert!((0..200).all(|_| !retry_alloc(32, &room).is_null())));
            }
        });
        assert!(retry_alloc(2 * SIZE, &std::ptr::null_mut).is_null());
        with_reserve_lock(release_reserve);
    }

    #[test]
    fn what_is_kept_can_be_given_back() {
        let layout = Layout::from_size_align(5 * LARGE, 8).unwrap();
        // SAFETY: each block is freed with the layout that it was allocated with.
        unsafe {
            let blocks: Vec<*mut u8> = (0..40).map(|_| KEEPING.alloc(layout)).collect();
            blocks.into_iter().for_each(|p| KEEPING.dealloc(p, layout));
        }
        release();
        assert_eq!(kept::empty(), 0);
    }
}
