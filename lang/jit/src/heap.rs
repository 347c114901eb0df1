//! Heap cells: the representation of values of declared types in native code.
//!
//! A cell has a reference count and a constructor tag, followed by the fields, one word each: numbers as their bits,
//! arrays as handles, data as cells. Construction, branches and field accesses therefore take a few instructions. A
//! cell may also be *closed*: it then holds a value of the interpreter, as at the start and the end of a run. Native
//! code opens a closed cell when it reads the fields, which are then closed cells themselves. An operation of the
//! interpreter closes its operands. Both conversions are in place, so that sharing is preserved and each conversion
//! happens once.
//!
//! Invariants
//! - The fields of an open cell have the kinds of its layout, and the cell owns a reference to each. A cell has room
//!   for its fields, and for a `Value`.
//! - A cell without references is in the free list of its size, which is linked through the reference count. It owns
//!   nothing.
//! - No function here recurses on the depth of the data.

use crate::handle::HandlePool;
use crate::layouts::Layouts;
use crate::limits::heap::AT_ONCE;
pub(crate) use crate::limits::heap::LISTS;
use crate::runtime::{Ctx, WordKind};
use adl_interp::error::{Error, codes};
use adl_interp::ir::boxes;
use adl_interp::value::Value;
use std::collections::HashMap;

/// The tag of a cell that holds a value of the interpreter.
pub(crate) const CLOSED: i32 = -1;

/// The tag of the cell of symbolic zeros.
pub(crate) const SYMBOLIC_ZERO: i32 = -2;

/// See the module documentation. The code generator depends on the layout.
#[repr(C)]
pub(crate) struct HeapCell {
    /// The reference count; in a free cell the address of the next one.
    pub rc: i64,
    /// The constructor's index, or [`CLOSED`], or [`SYMBOLIC_ZERO`].
    pub tag: i32,
    /// The layout number; in a closed cell that of the first constructor of its type.
    pub layout: u16,
    /// The capacity in words.
    pub room: u16,
}

/// Field offsets for the code generator.
pub(crate) mod offset {
    use super::HeapCell;
    pub const RC: i32 = std::mem::offset_of!(HeapCell, rc) as i32;
    pub const TAG: i32 = std::mem::offset_of!(HeapCell, tag) as i32;
    pub const ROOM: i32 = std::mem::offset_of!(HeapCell, room) as i32;
}

/// The size of the header in words.
const HEAD: usize = size_of::<HeapCell>() / 8;

/// The size of a `Value` in words.
pub(crate) const VALUE: usize = 2;
const _: () = assert!(size_of::<Value>() <= 8 * VALUE && align_of::<Value>() <= 8);

/// The size in words of the first block of memory for cells, and the maximum.
const BLOCKS: (usize, usize) = (1 << 10, 1 << 19);

impl HeapCell {
    /// The address of the fields or of the value.
    fn words(c: *mut HeapCell) -> *mut u64 {
        // SAFETY: every cell is allocated with room after its header.
        unsafe { c.add(1).cast() }
    }
}

/// The second word of a header: tag, layout, and room.
pub(crate) fn head(tag: u32, layout: u16, room: u16) -> i64 {
    (u64::from(tag) | u64::from(layout) << 32 | u64::from(room) << 48) as i64
}

/// All cells of a run.
pub(crate) struct CellHeap {
    /// Free lists of small cells by size.
    pub heads: [*mut HeapCell; LISTS],
    /// Free larger cells by size.
    large: HashMap<u16, Vec<*mut HeapCell>>,
    /// Blocks of memory, and the number of words in use in each.
    blocks: Vec<(Vec<u64>, usize)>,
    /// The number of closed cells.
    closed: usize,
    /// The list of cells whose last reference was dropped, and whether it is being processed.
    pending: *mut HeapCell,
    freeing: bool,
    /// The cell of symbolic zeros; null if there are no declared types.
    pub symbolic_zero: *mut HeapCell,
    layouts: *const Layouts,
}

impl CellHeap {
    pub fn new(layouts: *const Layouts) -> CellHeap {
        let null = std::ptr::null_mut();
        let mut heap = CellHeap {
            heads: [null; LISTS],
            large: HashMap::new(),
            blocks: Vec::new(),
            closed: 0,
            pending: null,
            freeing: false,
            symbolic_zero: null,
            layouts,
        };
        // Without declared types no cell is made, so none needs memory.
        if !heap.layouts().is_empty() {
            heap.symbolic_zero = heap.carve(VALUE as u16);
        }
        if !heap.symbolic_zero.is_null() {
            // SAFETY: the cell was just created, so no other pointer to it exists.
            unsafe { (*heap.symbolic_zero).tag = SYMBOLIC_ZERO };
        }
        heap
    }

    fn layouts(&self) -> &'static Layouts {
        // SAFETY: as for `Ctx::tables`: the unit whose code runs keeps the layouts alive, and the reference is used
        // only during the call in which it was made.
        unsafe { &*self.layouts }
    }

    /// Allocates a cell from a block; null if memory is exhausted.
    fn carve(&mut self, room: u16) -> *mut HeapCell {
        let words = HEAD + usize::from(room);
        if self.blocks.last().is_none_or(|(b, used)| used + words > b.capacity()) {
            let size = self.blocks.last().map_or(BLOCKS.0, |(b, _)| (2 * b.capacity()).min(BLOCKS.1)).max(words);
            let mut block = Vec::new();
            if block.try_reserve_exact(size).is_err() {
                return std::ptr::null_mut();
            }
            self.blocks.push((block, 0));
        }
        let Some((block, used)) = self.blocks.last_mut() else { return std::ptr::null_mut() };
        // SAFETY: the check above leaves at least `words` words in the last block, and the header is written before the
        // cell is used.
        unsafe {
            let c: *mut HeapCell = block.as_mut_ptr().add(*used).cast();
            *used += words;
            c.write(HeapCell { rc: 1 << 40, tag: 0, layout: 0, room });
            c
        }
    }

    /// A cell with one reference, whose tag, layout and fields are uninitialised; null if memory is exhausted.
    #[inline]
    pub fn take(&mut self, room: u16) -> *mut HeapCell {
        let free = self.heads.get(usize::from(room)).copied().unwrap_or(std::ptr::null_mut());
        if free.is_null() {
            return self.take_new(room);
        }
        // SAFETY: a free cell is live memory of this pool, linked through its reference count.
        unsafe {
            self.heads[usize::from(room)] = (*free).rc as *mut HeapCell;
            (*free).rc = 1;
        }
        free
    }

    /// A cell of a size of which the free list is empty, or of a larger size.
    #[cold]
    fn take_new(&mut self, room: u16) -> *mut HeapCell {
        if usize::from(room) < LISTS {
            for _ in 0..AT_ONCE / (HEAD + usize::from(room)) {
                let c = self.carve(room);
                if c.is_null() {
                    break;
                }
                self.free(c);
            }
        }
        let kept = self.large.get_mut(&room).and_then(Vec::pop);
        let c = kept.unwrap_or_else(|| self.carve(room));
        if !c.is_null() {
            // SAFETY: the cell is new or was free, so no other pointer to it is used.
            unsafe { (*c).rc = 1 };
        }
        c
    }

    /// Adds a cell that owns nothing to its free list.
    fn free(&mut self, c: *mut HeapCell) {
        // SAFETY: the cell belongs to this run, and no other pointer to it is used.
        unsafe {
            let room = (*c).room;
            if usize::from(room) < LISTS {
                (*c).rc = self.heads[usize::from(room)] as i64;
                self.heads[usize::from(room)] = c;
            } else {
                self.large.entry(room).or_default().push(c);
            }
        }
    }

    /// Stores a value in a cell that owns nothing, which closes it.
    ///
    /// # Safety
    /// `c` is a live cell of this run that owns nothing.
    #[inline]
    unsafe fn shut(&mut self, c: *mut HeapCell, base: u16, v: Value) {
        // SAFETY: by this function's contract `c` is live, and every cell has room for a `Value`.
        unsafe {
            HeapCell::words(c).cast::<Value>().write(v);
            (*c).tag = CLOSED;
            (*c).layout = base;
        }
        self.closed += 1;
    }

    /// Moves the value out of a closed cell, which then owns nothing.
    ///
    /// # Safety
    /// `c` is a live, closed cell of this run.
    unsafe fn take_value(&mut self, c: *mut HeapCell) -> Value {
        self.closed -= 1;
        // SAFETY: by this function's contract, `c` holds a value. Resetting the tag ensures that it is not read again.
        unsafe {
            (*c).tag = 0;
            HeapCell::words(c).cast::<Value>().read()
        }
    }
}

impl Drop for CellHeap {
    fn drop(&mut self) {
        for (block, used) in &mut self.blocks {
            let mut at = 0;
            while at < *used && self.closed > 0 {
                // SAFETY: cells are contiguous in the used part of a block, each with the room that its header states.
                unsafe {
                    let c: *mut HeapCell = block.as_mut_ptr().add(at).cast();
                    at += HEAD + usize::from((*c).room);
                    if (*c).tag == CLOSED {
                        self.closed -= 1;
                        std::ptr::drop_in_place(HeapCell::words(c).cast::<Value>());
                    }
                }
            }
        }
    }
}

impl HandlePool {
    /// A closed cell for a value of declared type `data`; null if memory is exhausted.
    #[inline]
    pub fn cell(&mut self, data: u32, v: Value) -> *mut HeapCell {
        if matches!(v, Value::Zero) {
            return self.cells.symbolic_zero;
        }
        let (base, room) = self.cells.layouts().first(data);
        let c = self.cells.take(room);
        if !c.is_null() {
            // SAFETY: the cell was just created, so no other pointer to it exists.
            unsafe { self.cells.shut(c, base, v) };
        }
        c
    }

    /// Opens a cell. Returns its constructor tag, or -1 if it has none.
    ///
    /// # Safety
    /// `heap_cell` is a live cell of this run.
    pub unsafe fn open(&mut self, heap_cell: *mut HeapCell) -> i64 {
        // SAFETY: by this function's contract, `heap_cell` is live.
        let (tag, base) = unsafe { ((*heap_cell).tag, (*heap_cell).layout) };
        if tag != CLOSED {
            return if tag == SYMBOLIC_ZERO { -1 } else { i64::from(tag) };
        }
        // SAFETY: `heap_cell` is live, and its tag says that it is closed. So it owns nothing afterwards, and has room for
        // the fields, or for the value again.
        unsafe {
            let v = self.cells.take_value(heap_cell);
            let Some(tag) = self.set_fields(heap_cell, base, &v) else {
                self.cells.shut(heap_cell, base, v);
                return -1;
            };
            (*heap_cell).layout = base.wrapping_add(tag as u16);
            (*heap_cell).tag = tag as i32;
            i64::from(tag)
        }
    }

    /// Writes the fields of a value to a cell that owns nothing, each with a reference. Returns the constructor's tag;
    /// `None` if the value is not of the type.
    ///
    /// # Safety
    /// `cell` is a live cell of this run.
    unsafe fn set_fields(&mut self, cell: *mut HeapCell, base: u16, v: &Value) -> Option<u32> {
        let Value::Data(data) = v else { return None };
        let fields = &self.cells.layouts().get(base.wrapping_add(data.con.tag as u16))?.fields;
        // SAFETY: by this function's contract, `cell` is live.
        if fields.len() != data.fields.len() || fields.len() > usize::from(unsafe { (*cell).room }) {
            return None;
        }
        for (i, (kind, field)) in fields.iter().zip(&data.fields).enumerate() {
            let word = self.word_of(*kind, field)?;
            // SAFETY: the cell has room for all fields, as was just checked.
            unsafe { HeapCell::words(cell).add(i).write(word) };
        }
        Some(data.con.tag)
    }

    /// Closes a cell and all open cells that it reaches.
    ///
    /// # Safety
    /// `c` is a live cell of this run.
    unsafe fn close(&mut self, c: *mut HeapCell) {
        let mut todo = vec![c];
        while let Some(cell) = todo.last().copied() {
            // SAFETY: `c` is live by this function's contract, and a live cell keeps its fields alive.
            let (tag, layout) = unsafe { ((*cell).tag, (*cell).layout) };
            let l = self.cells.layouts().get(layout).filter(|_| tag >= 0);
            let Some(entry) = l else {
                todo.pop();
                continue;
            };
            let before = todo.len();
            for (i, _) in entry.fields.iter().enumerate().filter(|(_, k)| matches!(k, WordKind::Data(_))) {
                // SAFETY: the word is a live cell, because the layout says that the field is data.
                unsafe {
                    let inner = *HeapCell::words(cell).add(i) as *mut HeapCell;
                    if (*inner).tag >= 0 {
                        todo.push(inner);
                    }
                }
            }
            if todo.len() > before {
                continue;
            }
            todo.pop();
            // SAFETY: the words have the kinds of the layout, and the new value takes over their references.
            let mut field = |(i, k): (usize, &WordKind)| unsafe { self.value(*k, true, *HeapCell::words(cell).add(i)) };
            let fields = entry.fields.iter().enumerate().map(|f| match f.1 {
                WordKind::Ref(e) => boxes::unpack(field(f), e.boxes()),
                _ => field(f),
            });
            let data = Value::data(entry.con.clone(), fields);
            let base = layout.wrapping_sub(tag as u16);
            // SAFETY: the fields have been moved out, so that the live cell owns nothing.
            unsafe { self.cells.shut(cell, base, data) };
        }
    }

    /// Converts a cell to a value. `take`: drops one reference to the cell.
    ///
    /// # Safety
    /// `heap_cell` is a live cell of this run; with `take`, one reference to it is given up.
    pub unsafe fn data(&mut self, heap_cell: *mut HeapCell, take: bool) -> Value {
        // SAFETY: by this function's contract `heap_cell` is live, and after `close` it holds a value.
        unsafe {
            if (*heap_cell).tag == SYMBOLIC_ZERO {
                return Value::Zero;
            }
            if (*heap_cell).tag != CLOSED {
                self.close(heap_cell);
            }
            if take && (*heap_cell).rc == 1 {
                let v = self.cells.take_value(heap_cell);
                self.cells.free(heap_cell);
                return v;
            }
            if take {
                (*heap_cell).rc -= 1;
            }
            (*HeapCell::words(heap_cell).cast::<Value>()).clone()
        }
    }

    /// Drops a reference to a cell.
    ///
    /// # Safety
    /// `c` is a live cell of this run, and one reference to it is given up.
    pub unsafe fn let_go(&mut self, c: *mut HeapCell) {
        // SAFETY: by this function's contract, `c` is live.
        unsafe {
            (*c).rc -= 1;
            if (*c).rc == 0 {
                (*c).rc = self.cells.pending as i64;
                self.cells.pending = c;
                self.let_go_pending();
            }
        }
    }

    /// Frees the pending cells and everything that they own, iteratively.
    fn let_go_pending(&mut self) {
        if self.cells.freeing {
            return;
        }
        self.cells.freeing = true;
        while !self.cells.pending.is_null() {
            let c = self.cells.pending;
            // SAFETY: pending cells are linked through their reference counts, and still own their contents.
            unsafe {
                self.cells.pending = (*c).rc as *mut HeapCell;
                self.empty(c);
            }
            self.cells.free(c);
        }
        self.cells.freeing = false;
    }

    /// Drops the contents of a cell.
    ///
    /// # Safety
    /// `c` is a cell of this run without references, and its contents are not used again.
    unsafe fn empty(&mut self, c: *mut HeapCell) {
        // SAFETY: by this function's contract `c` owns its contents: a value, or fields of the layout's kinds with a
        // reference each.
        unsafe {
            if (*c).tag == CLOSED {
                drop(self.cells.take_value(c));
                return;
            }
            let Some(l) = self.cells.layouts().get((*c).layout) else { return };
            for (i, k) in l.fields.iter().enumerate() {
                let w = *HeapCell::words(c).add(i);
                match k {
                    WordKind::Data(_) => self.let_go(w as *mut HeapCell),
                    WordKind::Ref(_) => self.release(w as *mut crate::handle::Handle),
                    WordKind::F64 | WordKind::F32 | WordKind::I64 | WordKind::Bool => {}
                }
            }
        }
    }
}

/// A cell with room for `room` words, called if the free list is empty. Null after an error.
pub(crate) unsafe fn make(ctx: *mut Ctx, room: u64, site: u64) -> *mut HeapCell {
    // SAFETY: native code passes the live context of its run.
    let ctx = unsafe { &mut *ctx };
    let c = ctx.pool.cells.take(room as u16);
    if c.is_null() {
        ctx.fail(Error::new(codes::MEMORY, "there is not enough memory for data"), site as u32);
    }
    c
}

/// Opens a cell. Returns its constructor tag, or -1 if it has none.
pub(crate) unsafe fn open(ctx: *mut Ctx, c: *mut HeapCell) -> i64 {
    // SAFETY: native code passes the live context of its run and a live cell.
    unsafe { (*ctx).pool.open(c) }
}

/// Frees a cell whose last reference native code has dropped.
pub(crate) unsafe fn free(ctx: *mut Ctx, c: *mut HeapCell) {
    // SAFETY: native code passes the live context of its run and a cell of it whose last reference it gives up.
    unsafe {
        (*c).rc = 1;
        (*ctx).pool.let_go(c);
    }
}

/// Adds a cell whose fields have been moved out to its free list.
pub(crate) unsafe fn put_back(ctx: *mut Ctx, c: *mut HeapCell) {
    // SAFETY: native code passes the live context of its run and a cell of it that it does not use again.
    unsafe { &mut *ctx }.pool.cells.free(c);
}

/// Writes the fields of a cell that is not open to `slot`, each with a reference: zeros for a symbolic zero. Returns 1
/// after an error.
pub(crate) unsafe fn fields(ctx: *mut Ctx, heap_cell: *mut HeapCell, layout: u64, slot: *mut u64, site: u64) -> u64 {
    // SAFETY: native code passes the live context of its run, a live cell, and a `slot` with room for the fields of the
    // layout.
    unsafe {
        let ctx = &mut *ctx;
        let Some(l) = ctx.tables().layouts.get(layout as u16) else { return 1 };
        let symbolic_zero = (*heap_cell).tag == SYMBOLIC_ZERO;
        if !symbolic_zero {
            ctx.pool.open(heap_cell);
            if (*heap_cell).tag < 0 || (*heap_cell).layout != layout as u16 {
                return ctx.fail(Error::new(codes::STRUCTURE, "data of another constructor than is read"), site as u32);
            }
        }
        for (i, k) in l.fields.iter().enumerate() {
            let w = match k {
                WordKind::Data(_) if symbolic_zero => ctx.pool.cells.symbolic_zero as u64,
                WordKind::Ref(_) if symbolic_zero => ctx.pool.symbolic_zero as u64,
                _ if symbolic_zero => 0,
                _ => *HeapCell::words(heap_cell).add(i),
            };
            if let WordKind::Data(_) | WordKind::Ref(_) = k {
                *(w as *mut i64) += 1;
            }
            *slot.add(i) = w;
        }
    }
    0
}
