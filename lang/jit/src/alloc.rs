//! Memory of large arrays is kept for the next ones of about their size.
//!
//! The system gives large blocks back at once and clears each page of a new one at its first use, which takes longer than arithmetic on
//! it does. So freed blocks of a quarter of a mebibyte and more wait in a list, up to a bound; sizes are rounded up by at most an eighth, so that they
//! fit again; and the system is told to use large pages for them. Smaller blocks are another allocator's.
//!
//! Where the system has no block to give, kept blocks are freed, then a reserve of address space ([`hold_back`]), and the function of
//! [`set_alarm`] is called: the run ends with an error soon, and until then has the reserve. A block larger than the reserve that cannot be had is
//! up to the caller: what allocates so much asks first, or handles the failure. Threads that run out of memory at once are served one after the other, and
//! the holder of the reserve waits for them: each finds the reserve either held or free, never in between.
//!
//! A binary takes it with `#[global_allocator] static MEMORY: Keeping<A> = Keeping(A)`, where `A` has the smaller blocks.

use std::alloc::{GlobalAlloc, Layout};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use std::time::Duration;

/// The allocator, with that of smaller blocks.
pub struct Keeping<A>(pub A);

/// Bytes from which blocks are kept.
const LARGE: usize = 1 << 18;

/// Blocks that are kept at most.
const SLOTS: usize = 128;

/// Bytes that are kept at most, on whatever machine; a sixteenth of its memory if that is less.
const MOST: usize = 1 << 30;

/// The alignment that the system gives every block.
const ALIGN: usize = 16;

/// The room that a block of so many bytes has: a multiple of an eighth of the power of two below.
fn rounded(n: usize) -> usize {
    let step = (1usize << n.max(1).ilog2()) / 8;
    n.checked_next_multiple_of(step.max(1)).unwrap_or(n)
}

fn large(layout: &Layout, size: usize) -> bool {
    cfg!(unix) && size >= LARGE && layout.align() <= ALIGN
}

/// Told when the reserve is taken. It must not allocate.
type Alarm = Box<dyn Fn() + Send + Sync>;

static ALARM: AtomicPtr<Alarm> = AtomicPtr::new(std::ptr::null_mut());

/// The address of the reserve, 0 without one. Changed only under [`TURN`].
static HELD_BACK: AtomicUsize = AtomicUsize::new(0);

/// Whether a thread gives the reserve up, or holds one back.
static TURN: AtomicBool = AtomicBool::new(false);

/// How often, and how long, a block is waited for that other threads may free: a run that ends gives memory back.
const TRIES: u32 = 50;
const WAIT: Duration = Duration::from_millis(4);

/// Bytes of the reserve, the same while the process lives.
static RESERVE: AtomicUsize = AtomicUsize::new(0);

/// Sets what is called when the reserve is taken, in the place of what was. It must not allocate. Alarms are never freed, because another thread may be in one.
pub fn set_alarm(alarm: Alarm) {
    ALARM.store(Box::into_raw(Box::new(alarm)), Ordering::Release);
}

/// Holds address space back for the end of a run that has none left, if none is held. Only where address space is limited does that help. The first size stays.
pub fn hold_back(size: usize) {
    if RESERVE.compare_exchange(0, size, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
        kept::spare_address_space();
    }
    in_turn(|| {
        if HELD_BACK.load(Ordering::Relaxed) == 0 {
            HELD_BACK.store(kept::mapped(RESERVE.load(Ordering::Relaxed)), Ordering::Relaxed);
        }
    });
}

/// Gives the reserve up.
fn give_up() {
    match HELD_BACK.swap(0, Ordering::Relaxed) {
        0 => {}
        block => kept::unmap(block, RESERVE.load(Ordering::Relaxed)),
    }
}

/// Does something that no two threads do at once. Allocates nothing, and allocations wait for it only after a failure.
fn in_turn<T>(f: impl FnOnce() -> T) -> T {
    while TURN.compare_exchange_weak(false, true, Ordering::Acquire, Ordering::Relaxed).is_err() {
        std::thread::yield_now();
    }
    let out = f();
    TURN.store(false, Ordering::Release);
    out
}

/// The most bytes that the process has ever had in memory. Allocates nothing.
pub fn most_resident() -> u64 {
    kept::most_resident()
}

/// Halves a size until twice as much address space is there; 0 if that is not so for the least size.
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

/// A block after the system had none: from what is kept, or from the reserve.
#[cold]
fn insist(size: usize, again: &dyn Fn() -> *mut u8) -> *mut u8 {
    if release() > 0 {
        let p = again();
        if !p.is_null() {
            return p;
        }
    }
    if size > RESERVE.load(Ordering::Relaxed) {
        return std::ptr::null_mut();
    }
    // First of all, so that the watch does not hold the reserve back again.
    let alarm = ALARM.load(Ordering::Acquire);
    if !alarm.is_null() {
        // SAFETY: `set_alarm` stores pointers of boxes that are never freed.
        unsafe { (*alarm)() };
    }
    for _ in 0..TRIES {
        let p = in_turn(|| {
            give_up();
            again()
        });
        if !p.is_null() {
            return p;
        }
        std::thread::sleep(WAIT);
    }
    std::ptr::null_mut()
}

/// A block, insisted on where the first answer is none.
#[inline]
fn or_insist(size: usize, make: &impl Fn() -> *mut u8) -> *mut u8 {
    let p = make();
    if p.is_null() { insist(size, make) } else { p }
}

/// Frees all that is kept; how many bytes that was.
pub fn release() -> usize {
    kept::empty()
}

#[cfg(unix)]
mod kept {
    //! The list. Its lock is held for some steps, and never by an allocation.

    use super::{LARGE, MOST, SLOTS};
    use std::cell::UnsafeCell;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    struct List {
        /// Blocks with their sizes, the oldest first.
        blocks: [(usize, usize); SLOTS],
        len: usize,
        bytes: usize,
    }

    struct Shared(AtomicBool, UnsafeCell<List>);

    // SAFETY: the list is reached through `with` alone, which one thread at a time is in.
    unsafe impl Sync for Shared {}

    static SHARED: Shared = Shared(AtomicBool::new(false), UnsafeCell::new(List { blocks: [(0, 0); SLOTS], len: 0, bytes: 0 }));

    fn with<T>(f: impl FnOnce(&mut List) -> T) -> T {
        while SHARED.0.compare_exchange_weak(false, true, Ordering::Acquire, Ordering::Relaxed).is_err() {
            std::hint::spin_loop();
        }
        // SAFETY: the lock is held, so that no other reference is alive.
        let out = f(unsafe { &mut *SHARED.1.get() });
        SHARED.0.store(false, Ordering::Release);
        out
    }

    /// Bytes that may be kept.
    fn bound() -> usize {
        static BOUND: AtomicUsize = AtomicUsize::new(0);
        match BOUND.load(Ordering::Relaxed) {
            0 => {
                // SAFETY: these ask for numbers only.
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

    /// A block of that size, 0 if there is none.
    pub fn take(size: usize) -> usize {
        with(|l| match (0..l.len).rev().find(|i| l.blocks[*i].1 == size) {
            Some(i) => l.remove(i),
            None => 0,
        })
    }

    /// Keeps a block; older ones go where there is no room.
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

    /// Frees everything.
    pub fn empty() -> usize {
        let bytes = with(|l| l.bytes);
        loop {
            match with(|l| if l.len == 0 { 0 } else { l.remove(0) }) {
                0 => return bytes,
                block => free(block),
            }
        }
    }

    pub fn most_resident() -> u64 {
        let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
        // SAFETY: the pointer is to a `rusage`, which the call fills; zeros are one too.
        let usage = unsafe {
            libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
            usage.assume_init()
        };
        usage.ru_maxrss.max(0) as u64 * if cfg!(target_os = "macos") { 1 } else { 1024 }
    }

    /// Keeps the C library from reserving address space for each thread (64 MiB): only large blocks come from it here.
    pub fn spare_address_space() {
        #[cfg(all(target_os = "linux", target_env = "gnu"))]
        // SAFETY: `mallopt` may be called at any time; it sets a number that later allocations read.
        unsafe {
            libc::mallopt(libc::M_ARENA_MAX, 1);
        }
    }

    /// Address space without memory, 0 if there is none.
    pub fn mapped(size: usize) -> usize {
        // SAFETY: a new mapping at an address of the system's choice touches no other memory.
        let p = unsafe { libc::mmap(std::ptr::null_mut(), size, libc::PROT_NONE, libc::MAP_PRIVATE | libc::MAP_ANON, -1, 0) };
        if p == libc::MAP_FAILED { 0 } else { p as usize }
    }

    /// Gives it back.
    pub fn unmap(block: usize, size: usize) {
        // SAFETY: the caller gives up a mapping of `mapped`, which nothing points into.
        unsafe { libc::munmap(block as *mut libc::c_void, size) };
    }

    /// Gives a block back to the system.
    fn free(block: usize) {
        // SAFETY: blocks in the list come from `malloc` and its kin, and they have no other owner.
        unsafe { libc::free(block as *mut libc::c_void) }
    }

    /// A new block.
    pub fn fresh(size: usize, zeroed: bool) -> *mut u8 {
        // SAFETY: these have no conditions.
        let p = unsafe { if zeroed { libc::calloc(size, 1) } else { libc::malloc(size) } };
        pages(p as usize, size);
        p.cast()
    }

    /// Makes a block larger or smaller.
    ///
    /// # Safety
    /// `p` is a block of this allocator.
    pub unsafe fn resized(p: *mut u8, size: usize) -> *mut u8 {
        // SAFETY: the block came from `malloc` and its kin.
        let p = unsafe { libc::realloc(p.cast(), size) };
        pages(p as usize, size);
        p.cast()
    }

    /// Asks for large pages.
    fn pages(block: usize, size: usize) {
        #[cfg(target_os = "linux")]
        {
            const PAGE: usize = 1 << 16;
            let (start, end) = (block.next_multiple_of(PAGE), (block + size) & !(PAGE - 1));
            // A smaller block has no large page for itself.
            if block != 0 && end > start && size >= 1 << 21 {
                // SAFETY: advice on pages inside a block changes no contents.
                unsafe { libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_HUGEPAGE) };
            }
        }
        #[cfg(not(target_os = "linux"))]
        let _ = (block, size);
    }
}

#[cfg(not(unix))]
mod kept {
    //! Nothing is kept.

    pub fn take(_: usize) -> usize {
        0
    }

    pub fn put(_: usize, _: usize) {}

    pub fn empty() -> usize {
        0
    }

    pub fn most_resident() -> u64 {
        0
    }

    pub fn spare_address_space() {}

    pub fn mapped(_: usize) -> usize {
        0
    }

    pub fn unmap(_: usize, _: usize) {}

    pub fn fresh(_: usize, _: bool) -> *mut u8 {
        std::ptr::null_mut()
    }

    pub unsafe fn resized(_: *mut u8, _: usize) -> *mut u8 {
        std::ptr::null_mut()
    }
}

// SAFETY: a large block has at least the size that was asked for, and the system's alignment; it is in the list only between its `dealloc`
// and its next `alloc`. Whether a block is large depends on its layout alone, so that each is freed by whom it came from.
unsafe impl<A: GlobalAlloc> GlobalAlloc for Keeping<A> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !large(&layout, layout.size()) {
            // SAFETY: as for the caller.
            return or_insist(layout.size(), &|| unsafe { self.0.alloc(layout) });
        }
        let size = rounded(layout.size());
        match kept::take(size) {
            0 => or_insist(size, &|| kept::fresh(size, false)),
            block => block as *mut u8,
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if !large(&layout, layout.size()) {
            // SAFETY: as for the caller.
            return or_insist(layout.size(), &|| unsafe { self.0.alloc_zeroed(layout) });
        }
        let size = rounded(layout.size());
        match kept::take(size) {
            0 => or_insist(size, &|| kept::fresh(size, true)),
            block => {
                // SAFETY: the block has so many bytes and has no other owner.
                unsafe { std::ptr::write_bytes(block as *mut u8, 0, layout.size()) };
                block as *mut u8
            }
        }
    }

    unsafe fn dealloc(&self, p: *mut u8, layout: Layout) {
        if large(&layout, layout.size()) {
            kept::put(p as usize, rounded(layout.size()));
        } else {
            // SAFETY: as for the caller; the block came from there.
            unsafe { self.0.dealloc(p, layout) }
        }
    }

    unsafe fn realloc(&self, p: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        match (large(&layout, layout.size()), large(&layout, size)) {
            // SAFETY: as for the caller; the block came from there, and still lives where the first call had no other.
            (false, false) => or_insist(size, &|| unsafe { self.0.realloc(p, layout, size) }),
            (true, true) if rounded(layout.size()) == rounded(size) => p,
            (true, true) => match kept::take(rounded(size)) {
                // SAFETY: a large block of this allocator, which still lives where the first call had no other.
                0 => or_insist(size, &|| unsafe { kept::resized(p, rounded(size)) }),
                // A block whose pages are there is cheaper than new pages, also for what grows by and by.
                block => {
                    let new = block as *mut u8;
                    // SAFETY: both blocks have as many bytes as are copied, and the new one has no other owner.
                    unsafe { std::ptr::copy_nonoverlapping(p, new, layout.size().min(size)) };
                    kept::put(p as usize, rounded(layout.size()));
                    new
                }
            },
            _ => {
                // SAFETY: the caller says that the size with the alignment is a layout; the old block lives, and both have as many bytes as
                // are copied.
                unsafe {
                    let new = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
                    if !new.is_null() {
                        std::ptr::copy_nonoverlapping(p, new, layout.size().min(size));
                        self.dealloc(p, layout);
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

    const KEEPING: Keeping<System> = Keeping(System);

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
        // SAFETY: layouts are those of the blocks; contents are in bounds.
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
    fn the_reserve_is_there_for_every_thread_that_runs_out() {
        const SIZE: usize = 1 << 20;
        hold_back(SIZE);
        // An allocator that has room only where nothing is held back.
        let room = || if HELD_BACK.load(Ordering::Relaxed) == 0 { std::ptr::dangling_mut() } else { std::ptr::null_mut() };
        std::thread::scope(|s| {
            for _ in 0..4 {
                s.spawn(|| (0..200).for_each(|_| hold_back(SIZE)));
                s.spawn(|| assert!((0..200).all(|_| !insist(32, &room).is_null())));
            }
        });
        assert!(insist(2 * SIZE, &std::ptr::null_mut).is_null());
        in_turn(give_up);
    }

    #[test]
    fn what_is_kept_can_be_given_back() {
        let layout = Layout::from_size_align(5 * LARGE, 8).unwrap();
        // SAFETY: the layouts are the blocks' own.
        unsafe {
            let blocks: Vec<*mut u8> = (0..40).map(|_| KEEPING.alloc(layout)).collect();
            blocks.into_iter().for_each(|p| KEEPING.dealloc(p, layout));
        }
        release();
        assert_eq!(release(), 0);
    }
}
