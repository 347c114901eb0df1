//! Memory for the machine code of a unit, in one piece. Functions call each other over distances of 32 bits. Pieces that the
//! system places where there is room may lie further apart, in a process that has mapped much.

use cranelift_jit::{ArenaMemoryProvider, BranchProtection, JITMemoryKind, JITMemoryProvider};
use cranelift_module::ModuleResult;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

/// The number of bytes that the functions of a unit need, to be set before the first is defined.
#[derive(Clone, Default)]
pub(crate) struct CodeSize(Arc<AtomicUsize>);

impl CodeSize {
    /// Alignment of functions.
    const ALIGN: usize = 64;
    /// Bytes that a call may need for a jump to a far function (on Arm).
    const JUMP: usize = 16;

    /// Makes room for functions of these numbers of bytes and relocations.
    pub(crate) fn set(&self, functions: impl Iterator<Item = (usize, usize)>) {
        let all = functions.map(|(bytes, relocs)| (bytes + relocs * Self::JUMP).next_multiple_of(Self::ALIGN)).sum();
        self.0.store(all, Ordering::Relaxed);
    }
}

/// See the module documentation.
#[derive(Default)]
pub(crate) struct CodeMemory {
    size: CodeSize,
    arena: Option<ArenaMemoryProvider>,
    /// The beginning of the memory.
    start: AtomicPtr<u8>,
    used: usize,
}

impl CodeMemory {
    /// Memory of the size that is set before the first allocation.
    pub(crate) fn new(size: CodeSize) -> CodeMemory {
        CodeMemory { size, ..CodeMemory::default() }
    }
}

impl JITMemoryProvider for CodeMemory {
    fn allocate(&mut self, size: usize, align: u64, kind: JITMemoryKind) -> io::Result<*mut u8> {
        let all = self.size.0.load(Ordering::Relaxed);
        if self.arena.is_none() {
            let mut arena = ArenaMemoryProvider::new_with_size(all.max(1)).map_err(io::Error::other)?;
            *self.start.get_mut() = arena.allocate(all.max(1), CodeSize::ALIGN as u64, JITMemoryKind::Executable)?;
            self.arena = Some(arena);
        }
        let at = self.used.next_multiple_of(usize::try_from(align).map_err(io::Error::other)?);
        if !matches!(kind, JITMemoryKind::Executable) || at + size > all {
            return Err(io::Error::other("more memory for code than its functions need"));
        }
        self.used = at + size;
        Ok(self.start.get_mut().wrapping_add(at))
    }

    unsafe fn free_memory(&mut self) {
        if let Some(mut arena) = self.arena.take() {
            // SAFETY: the caller promises that no code of this memory runs any more.
            unsafe { arena.free_memory() }
        }
    }

    fn finalize(&mut self, branch_protection: BranchProtection) -> ModuleResult<()> {
        self.arena.as_mut().map_or(Ok(()), |arena| JITMemoryProvider::finalize(arena, branch_protection))
    }
}
