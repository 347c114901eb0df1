//! Cells: how native code sees values of declared types.
//!
//! A cell counts its owners, says which constructor it is, and has the fields behind that, one word each: numbers as their bits, arrays as
//! handles, data as cells. Constructors, branches and fields are then a few instructions. A cell may also be *closed*: it holds a value of
//! the interpreter, with which a run begins and ends. Native code opens a closed cell where it looks at its fields, which closes the data inside it in
//! turn; an operation of the interpreter closes what it is given. Either is done in the cell's own place, so that what is shared stays shared, and
//! is done once.
//!
//! Invariants
//! - The fields of an open cell are those that its layout says, each with an owner. A cell has room for them, and for a value.
//! - A cell without owners is in the list of free ones of its room, which the owners' word links. It holds nothing.
//! - Nothing here goes as deep into the machine's stack as data are deep.

use crate::handle::Pool;
use crate::layouts::Layouts;
use crate::runtime::{Ctx, Kind};
use adl_interp::error::{Error, codes};
use adl_interp::ir::boxes;
use adl_interp::value::{Data, Value};
use std::collections::HashMap;
use std::rc::Rc;

/// Of a cell that holds a value of the interpreter.
pub(crate) const CLOSED: i32 = -1;

/// Of the cell of absent data.
pub(crate) const ABSENT: i32 = -2;

/// See the head of the module. The layout is known to the code generator.
#[repr(C)]
pub(crate) struct Cell {
    /// Owners; of a free cell the next one.
    pub rc: i64,
    /// Which constructor, or [`CLOSED`], or [`ABSENT`].
    pub tag: i32,
    /// Of an open cell its layout; of a closed one that of the first constructor of its type.
    pub layout: u16,
    /// For how many words there is room.
    pub room: u16,
}

/// Offsets for the code generator.
pub(crate) mod offset {
    use super::Cell;
    pub const RC: i32 = std::mem::offset_of!(Cell, rc) as i32;
    pub const TAG: i32 = std::mem::offset_of!(Cell, tag) as i32;
}

/// Words before the fields.
const HEAD: usize = size_of::<Cell>() / 8;

/// Words that a value takes.
pub(crate) const VALUE: usize = 2;
const _: () = assert!(size_of::<Value>() <= 8 * VALUE && align_of::<Value>() <= 8);

/// Rooms below this have lists of free cells that native code takes from.
pub(crate) const LISTS: usize = 32;

/// Words in the first block of memory for cells, and in the largest.
const BLOCKS: (usize, usize) = (1 << 10, 1 << 19);

/// Words of cells that are made at once.
const AT_ONCE: usize = 256;

impl Cell {
    /// The fields, or the value.
    fn words(c: *mut Cell) -> *mut u64 {
        // SAFETY: every cell has room behind its head.
        unsafe { c.add(1).cast() }
    }
}

/// The bits of a head's second word.
pub(crate) fn head(tag: u32, layout: u16, room: u16) -> i64 {
    (u64::from(tag) | u64::from(layout) << 32 | u64::from(room) << 48) as i64
}

/// All cells of a run.
pub(crate) struct Cells {
    /// Free cells by their room.
    pub heads: [*mut Cell; LISTS],
    /// Free cells with more room.
    large: HashMap<u16, Vec<*mut Cell>>,
    /// Memory, and how many words of each block are cells.
    blocks: Vec<(Vec<u64>, usize)>,
    /// Cells that are closed.
    closed: usize,
    /// Cells that have lost their last owner, and whether somebody is freeing them.
    pending: *mut Cell,
    freeing: bool,
    /// The cell of absent data.
    pub absent: *mut Cell,
    layouts: *const Layouts,
}

impl Cells {
    pub fn new(layouts: *const Layouts) -> Cells {
        let null = std::ptr::null_mut();
        let mut c = Cells { heads: [null; LISTS], large: HashMap::new(), blocks: Vec::new(), closed: 0, pending: null, freeing: false, absent: null, layouts };
        c.absent = c.carve(VALUE as u16);
        if !c.absent.is_null() {
            // SAFETY: the cell is new.
            unsafe { (*c.absent).tag = ABSENT };
        }
        c
    }

    fn layouts(&self) -> &'static Layouts {
        // SAFETY: as of `Ctx::tables`: the unit whose code runs keeps them, and the reference does not outlive the call in which it is made.
        unsafe { &*self.layouts }
    }

    /// A cell of new memory; null if there is none.
    fn carve(&mut self, room: u16) -> *mut Cell {
        let n = HEAD + usize::from(room);
        if self.blocks.last().is_none_or(|(b, used)| used + n > b.capacity()) {
            let size = self.blocks.last().map_or(BLOCKS.0, |(b, _)| (2 * b.capacity()).min(BLOCKS.1)).max(n);
            let mut block = Vec::new();
            if block.try_reserve_exact(size).is_err() {
                return std::ptr::null_mut();
            }
            self.blocks.push((block, 0));
        }
        let Some((block, used)) = self.blocks.last_mut() else { return std::ptr::null_mut() };
        // SAFETY: so many words are left in the block; the head is written at once.
        unsafe {
            let c: *mut Cell = block.as_mut_ptr().add(*used).cast();
            *used += n;
            c.write(Cell { rc: 1 << 40, tag: 0, layout: 0, room });
            c
        }
    }

    /// A cell with one owner, whose tag, layout and fields are still to be written; null if there is no memory.
    pub fn take(&mut self, room: u16) -> *mut Cell {
        let small = usize::from(room) < LISTS;
        let free = if small { self.heads[usize::from(room)] } else { self.large.get_mut(&room).and_then(Vec::pop).unwrap_or(std::ptr::null_mut()) };
        if free.is_null() {
            let more = if small { AT_ONCE / (HEAD + usize::from(room)) } else { 0 };
            for _ in 0..more {
                let c = self.carve(room);
                if c.is_null() {
                    break;
                }
                self.free(c);
            }
            let c = self.carve(room);
            if !c.is_null() {
                // SAFETY: the cell is new.
                unsafe { (*c).rc = 1 };
            }
            return c;
        }
        // SAFETY: a free cell is linked by its owners' word.
        unsafe {
            if small {
                self.heads[usize::from(room)] = (*free).rc as *mut Cell;
            }
            (*free).rc = 1;
        }
        free
    }

    /// Keeps a cell that holds nothing for later.
    fn free(&mut self, c: *mut Cell) {
        // SAFETY: the cell is this run's and has no references.
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

    /// Makes a cell a closed one. It must hold nothing.
    ///
    /// # Safety
    /// The cell is this run's.
    unsafe fn shut(&mut self, c: *mut Cell, base: u16, v: Value) {
        // SAFETY: every cell has room for a value.
        unsafe {
            Cell::words(c).cast::<Value>().write(v);
            (*c).tag = CLOSED;
            (*c).layout = base;
        }
        self.closed += 1;
    }

    /// Takes the value out of a closed cell, which then holds nothing.
    ///
    /// # Safety
    /// The cell is this run's, and closed.
    unsafe fn unshut(&mut self, c: *mut Cell) -> Value {
        self.closed -= 1;
        // SAFETY: a closed cell holds a value, which is not read there again.
        unsafe {
            (*c).tag = 0;
            Cell::words(c).cast::<Value>().read()
        }
    }
}

impl Drop for Cells {
    fn drop(&mut self) {
        for (block, used) in &mut self.blocks {
            let mut at = 0;
            while at < *used && self.closed > 0 {
                // SAFETY: cells stand one behind the other, each with its room.
                unsafe {
                    let c: *mut Cell = block.as_mut_ptr().add(at).cast();
                    at += HEAD + usize::from((*c).room);
                    if (*c).tag == CLOSED {
                        self.closed -= 1;
                        std::ptr::drop_in_place(Cell::words(c).cast::<Value>());
                    }
                }
            }
        }
    }
}

impl Pool {
    /// A closed cell for a value of a declared type; null if there is no memory.
    pub fn cell(&mut self, data: u32, v: Value) -> *mut Cell {
        if matches!(v, Value::Zero) {
            return self.cells.absent;
        }
        let (base, room) = self.cells.layouts().first(data);
        let c = self.cells.take(room);
        if !c.is_null() {
            // SAFETY: the cell is new.
            unsafe { self.cells.shut(c, base, v) };
        }
        c
    }

    /// Opens a cell: its constructor, or -1 if it has none.
    ///
    /// # Safety
    /// The cell is this run's and lives.
    pub unsafe fn open(&mut self, c: *mut Cell) -> i64 {
        // SAFETY: the caller says so, here and below.
        let (tag, base) = unsafe { ((*c).tag, (*c).layout) };
        if tag != CLOSED {
            return if tag == ABSENT { -1 } else { i64::from(tag) };
        }
        // SAFETY: it is closed.
        let v = unsafe { self.cells.unshut(c) };
        let (tag, words) = match &v {
            Value::Data(d) => (d.con.tag, self.fields(&v, base.wrapping_add(d.con.tag as u16))),
            _ => (0, None),
        };
        // SAFETY: the cell's room is that of the largest constructor of its type, or it was one of this constructor.
        unsafe {
            let Some(words) = words.filter(|w| w.len() <= usize::from((*c).room)) else {
                self.cells.shut(c, base, v);
                return -1;
            };
            (*c).layout = base.wrapping_add(tag as u16);
            (*c).tag = tag as i32;
            std::ptr::copy_nonoverlapping(words.as_ptr(), Cell::words(c), words.len());
        }
        i64::from(tag)
    }

    /// The fields of a value as words with owners.
    fn fields(&mut self, v: &Value, layout: u16) -> Option<smallvec::SmallVec<[u64; 8]>> {
        let Value::Data(d) = v else { return None };
        let l = self.cells.layouts().get(layout)?;
        if l.fields.len() != d.fields.len() {
            return None;
        }
        l.fields.iter().zip(&d.fields).map(|(k, v)| self.word_of(*k, v)).collect()
    }

    /// Closes a cell, with all data inside it.
    ///
    /// # Safety
    /// The cell is this run's and lives.
    unsafe fn close(&mut self, c: *mut Cell) {
        let mut todo = vec![c];
        while let Some(c) = todo.last().copied() {
            // SAFETY: fields of a live cell live; the caller says that this one does.
            let (tag, layout) = unsafe { ((*c).tag, (*c).layout) };
            let l = self.cells.layouts().get(layout).filter(|_| tag >= 0);
            let Some(l) = l else {
                todo.pop();
                continue;
            };
            let before = todo.len();
            for (i, _) in l.fields.iter().enumerate().filter(|(_, k)| matches!(k, Kind::Data(_))) {
                // SAFETY: as above.
                unsafe {
                    let inner = *Cell::words(c).add(i) as *mut Cell;
                    if (*inner).tag >= 0 {
                        todo.push(inner);
                    }
                }
            }
            if todo.len() > before {
                continue;
            }
            todo.pop();
            // SAFETY: the words are of the fields' kinds, with owners, which the value takes over.
            let mut field = |(i, k): (usize, &Kind)| unsafe { self.value(*k, true, *Cell::words(c).add(i)) };
            let fields: Vec<Value> = l.fields.iter().enumerate().map(|f| match f.1 {
                Kind::Ref(e) => boxes::unpack(field(f), e.boxes()),
                _ => field(f),
            }).collect();
            let base = layout.wrapping_sub(tag as u16);
            // SAFETY: the cell holds nothing now.
            unsafe { self.cells.shut(c, base, Value::Data(Rc::new(Data { con: l.con.clone(), fields }))) };
        }
    }

    /// The value of a cell, which loses an owner if `take` says so.
    ///
    /// # Safety
    /// The cell is this run's and lives.
    pub unsafe fn data(&mut self, c: *mut Cell, take: bool) -> Value {
        // SAFETY: the caller says so; a cell that has been closed holds a value.
        unsafe {
            if (*c).tag == ABSENT {
                return Value::Zero;
            }
            if (*c).tag != CLOSED {
                self.close(c);
            }
            if take && (*c).rc == 1 {
                let v = self.cells.unshut(c);
                self.cells.free(c);
                return v;
            }
            if take {
                (*c).rc -= 1;
            }
            (*Cell::words(c).cast::<Value>()).clone()
        }
    }

    /// Takes an owner of a cell away.
    ///
    /// # Safety
    /// The cell is this run's and has an owner.
    pub unsafe fn let_go(&mut self, c: *mut Cell) {
        // SAFETY: the caller says so.
        unsafe {
            (*c).rc -= 1;
            if (*c).rc == 0 {
                (*c).rc = self.cells.pending as i64;
                self.cells.pending = c;
                self.let_go_pending();
            }
        }
    }

    /// Frees cells that have lost their last owner, and what they held.
    fn let_go_pending(&mut self) {
        if self.cells.freeing {
            return;
        }
        self.cells.freeing = true;
        while !self.cells.pending.is_null() {
            let c = self.cells.pending;
            // SAFETY: cells that wait to be freed are linked by the owners' word, and hold what they held.
            unsafe {
                self.cells.pending = (*c).rc as *mut Cell;
                self.empty(c);
            }
            self.cells.free(c);
        }
        self.cells.freeing = false;
    }

    /// Takes what a cell holds away.
    ///
    /// # Safety
    /// The cell is this run's, and it is not read again.
    unsafe fn empty(&mut self, c: *mut Cell) {
        // SAFETY: the caller says so; fields are of the kinds that the layout says, with an owner each.
        unsafe {
            if (*c).tag == CLOSED {
                drop(self.cells.unshut(c));
                return;
            }
            let Some(l) = self.cells.layouts().get((*c).layout) else { return };
            for (i, k) in l.fields.iter().enumerate() {
                let w = *Cell::words(c).add(i);
                match k {
                    Kind::Data(_) => self.let_go(w as *mut Cell),
                    Kind::Ref(_) => self.release(w as *mut crate::handle::Handle),
                    Kind::F64 | Kind::F32 | Kind::I64 | Kind::Bool => {}
                }
            }
        }
    }
}

/// A cell with room for so many words, where no free one is left. Null after an error.
pub(crate) unsafe fn make(ctx: *mut Ctx, room: u64, site: u64) -> *mut Cell {
    // SAFETY: native code passes its context.
    let ctx = unsafe { &mut *ctx };
    let c = ctx.pool.cells.take(room as u16);
    if c.is_null() {
        ctx.fail(Error::new(codes::MEMORY, "there is not enough memory for data"), site as u32);
    }
    c
}

/// Opens a cell: its constructor, or -1.
pub(crate) unsafe fn open(ctx: *mut Ctx, c: *mut Cell) -> i64 {
    // SAFETY: native code passes its context and a live cell.
    unsafe { (*ctx).pool.open(c) }
}

/// Frees a cell that has lost its last owner.
pub(crate) unsafe fn free(ctx: *mut Ctx, c: *mut Cell) {
    // SAFETY: native code passes its context and a cell of it without owners.
    unsafe {
        (*c).rc = 1;
        (*ctx).pool.let_go(c);
    }
}

/// Keeps a cell whose fields have been taken over for later.
pub(crate) unsafe fn put_back(ctx: *mut Ctx, c: *mut Cell) {
    // SAFETY: native code passes its context and a cell of it that is not read again.
    unsafe { &mut *ctx }.pool.cells.free(c);
}

/// The fields of a cell that is not open, with owners, in `slot`: of absent data zeros. 1 after an error.
pub(crate) unsafe fn fields(ctx: *mut Ctx, c: *mut Cell, layout: u64, slot: *mut u64, site: u64) -> u64 {
    // SAFETY: native code passes its context, a live cell, and room for the fields.
    unsafe {
        let ctx = &mut *ctx;
        let Some(l) = ctx.tables().layouts.get(layout as u16) else { return 1 };
        let absent = (*c).tag == ABSENT;
        if !absent {
            ctx.pool.open(c);
            if (*c).tag < 0 || (*c).layout != layout as u16 {
                return ctx.fail(Error::new(codes::STRUCTURE, "data of another constructor than is read"), site as u32);
            }
        }
        for (i, k) in l.fields.iter().enumerate() {
            let w = match k {
                Kind::Data(_) if absent => ctx.pool.cells.absent as u64,
                Kind::Ref(_) if absent => ctx.pool.absent as u64,
                _ if absent => 0,
                _ => *Cell::words(c).add(i),
            };
            if let Kind::Data(_) | Kind::Ref(_) = k {
                *(w as *mut i64) += 1;
            }
            *slot.add(i) = w;
        }
    }
    0
}
