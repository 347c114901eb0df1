//! Inline operations on data: construction, tag tests, field accesses (`crate::heap`).

use super::{EmissionScope, Emit, TRUSTED, is_ref, outs};
use crate::heap::{self, HeapCell, LISTS};
use crate::runtime::{self, WordKind};
use crate::shims;
use adl_interp::ir::live::NEVER;
use adl_ir::{DataId, Op, Stmt, Ty, Var};
use adl_prim::Bin;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{BlockArg, InstBuilder, Value, types};

/// A field access: the cell, its layout, the variables to bind, and whether a reference to the cell is consumed.
pub(super) struct Fields<'a> {
    pub cell: Value,
    pub layout: u16,
    pub own: &'a [Var],
    pub gone: bool,
}

impl Emit<'_, '_, '_> {
    /// Emits an operation on data. Returns whether the statement is one.
    pub(super) fn data(&mut self, stmt: &Stmt, at: u32, sc: &EmissionScope) -> bool {
        match &stmt.op {
            Op::Construct { data, tag, fields } => {
                self.constructor(stmt, self.job.tables.layouts.at(*data, *tag), fields, at, sc);
            }
            Op::Destruct { a, data, tag } => {
                let own: Vec<Var> = outs(stmt).copied().collect();
                let (cell, gone) = (self.val(*a), self.dies(*a, at, sc));
                let f = Fields { cell, layout: self.job.tables.layouts.at(*data, *tag), own: &own, gone };
                self.bind_fields(&f, Some(*tag));
            }
            Op::Bin(Bin::Add, a, b) if matches!(self.ty(*a), Ty::Data(_)) && outs(stmt).count() == 1 => {
                self.data_sum(stmt, [*a, *b], at, sc);
            }
            _ => return false,
        }
        true
    }

    fn constructor(&mut self, stmt: &Stmt, layout: u16, fields: &[Var], at: u32, sc: &EmissionScope) {
        let (room, tag) = self.job.tables.layouts.get(layout).map_or((2, 0), |l| (l.room, l.tag()));
        let vals = self.owned(fields, at, sc, &|_| false);
        let cell = self.new_cell(room);
        let one = self.int(1);
        let head = self.int(heap::head(tag, layout, room));
        self.b.ins().store(TRUSTED, one, cell, heap::offset::RC);
        self.b.ins().store(TRUSTED, head, cell, heap::offset::TAG);
        for (i, (v, x)) in fields.iter().zip(vals).enumerate() {
            let w = if *self.ty(*v) == Ty::F64 { x } else { self.to_word(WordKind::of(self.f.ty(*v)), x) };
            self.b.ins().store(TRUSTED, w, cell, field(i));
        }
        self.bind_outs(stmt, &[cell]);
    }

    /// Allocates a cell, from the free list if possible.
    fn new_cell(&mut self, room: u16) -> Value {
        let done = self.fresh();
        self.b.append_block_param(done, types::I64);
        let cold = self.cold();
        if usize::from(room) < LISTS {
            let at = runtime::offset::CELLS + 8 * i32::from(room);
            let free = self.b.ins().load(types::I64, TRUSTED, self.frame.ctx, at);
            self.unless(free, cold, &[]);
            let next = self.b.ins().load(types::I64, TRUSTED, free, heap::offset::RC);
            self.b.ins().store(TRUSTED, next, self.frame.ctx, at);
            self.goto(done, &[free]);
        } else {
            self.goto(cold, &[]);
        }
        self.b.switch_to_block(cold);
        let (room, site) = (self.int(i64::from(room)), self.site());
        let site = self.int(i64::from(site));
        let made = self.runtime(shims::make_cell as *const u8, &[self.frame.ctx, room, site], 1).unwrap_or(site);
        let fail = self.frame.fail;
        self.unless(made, fail, &[]);
        self.goto(done, &[made]);
        self.b.switch_to_block(done);
        self.b.block_params(done)[0]
    }

    /// The tag of a cell, which is opened; negative for a symbolic zero.
    pub(super) fn which(&mut self, cell: Value) -> Value {
        let done = self.fresh();
        self.b.append_block_param(done, types::I32);
        let tag = self.b.ins().load(types::I32, TRUSTED, cell, heap::offset::TAG);
        let open = self.b.ins().icmp_imm_s(IntCC::SignedGreaterThanOrEqual, tag, 0);
        let cold = self.cold();
        self.b.ins().brif(open, done, &[BlockArg::Value(tag)], cold, &[]);
        self.b.switch_to_block(cold);
        let tag = self.runtime(shims::open_cell as *const u8, &[self.frame.ctx, cell], 1).unwrap_or(cell);
        let tag = self.b.ins().ireduce(types::I32, tag);
        self.goto(done, &[tag]);
        self.b.switch_to_block(done);
        self.b.block_params(done)[0]
    }

    /// Binds variables to the fields of a cell. `tag`: the expected constructor, unless the cell is already known to be
    /// open.
    pub(super) fn bind_fields(&mut self, fields: &Fields, tag: Option<u32>) {
        let done = self.fresh();
        for v in fields.own {
            let t = self.word_type(*v);
            self.b.append_block_param(done, t);
        }
        if let Some(tag) = tag {
            let found = self.b.ins().load(types::I32, TRUSTED, fields.cell, heap::offset::TAG);
            let ok = self.b.ins().icmp_imm_s(IntCC::Equal, found, i64::from(tag));
            let cold = self.cold();
            self.unless(ok, cold, &[]);
            let here = self.b.current_block();
            self.b.switch_to_block(cold);
            let vals = self.seldom_fields(fields);
            self.goto(done, &vals);
            if let Some(b) = here {
                self.b.switch_to_block(b);
            }
        }
        let tys: Vec<_> = fields.own.iter().map(|v| self.word_type(*v)).collect();
        let vals: Vec<Value> =
            tys.into_iter().enumerate().map(|(i, t)| self.b.ins().load(t, TRUSTED, fields.cell, field(i))).collect();
        if fields.gone {
            let shared = self.fresh();
            let rc = self.b.ins().load(types::I64, TRUSTED, fields.cell, heap::offset::RC);
            let alone = self.b.ins().icmp_imm_s(IntCC::Equal, rc, 1);
            self.unless(alone, shared, &[]);
            self.release_unread(fields, &vals);
            self.free_cell(fields);
            self.goto(done, &vals);
            self.b.switch_to_block(shared);
            let less = self.b.ins().iadd_imm_s(rc, -1);
            self.b.ins().store(TRUSTED, less, fields.cell, heap::offset::RC);
        }
        for (v, x) in fields.own.iter().zip(&vals) {
            if is_ref(self.f.ty(*v)) && self.last[v.0 as usize] != NEVER {
                self.retain(*x);
            }
        }
        self.goto(done, &vals);
        self.b.switch_to_block(done);
        let vals: Vec<Value> = self.b.block_params(done).to_vec();
        for (v, x) in fields.own.iter().zip(vals) {
            self.bind(*v, x);
        }
    }

    /// Releases the fields that are never used.
    fn release_unread(&mut self, f: &Fields, vals: &[Value]) {
        for (v, x) in f.own.iter().zip(vals) {
            if is_ref(self.f.ty(*v)) && self.last[v.0 as usize] == NEVER {
                self.let_go(*v, *x);
            }
        }
    }

    /// The fields of a symbolic zero or of a closed cell.
    fn seldom_fields(&mut self, f: &Fields) -> Vec<Value> {
        let site = self.site();
        let (layout, site) = (self.int(i64::from(f.layout)), self.int(i64::from(site)));
        let slot = self.b.ins().stack_addr(types::I64, self.frame.slot, 0);
        self.fallible(shims::cell_fields as *const u8, &[self.frame.ctx, f.cell, layout, slot, site]);
        let vals: Vec<Value> =
            f.own.iter().enumerate().map(|(i, v)| self.from_slot(WordKind::of(self.f.ty(*v)), i)).collect();
        self.release_unread(f, &vals);
        if f.gone {
            self.release_cell(f.cell);
        }
        vals
    }

    /// Adds a cell whose fields have been moved out to its free list.
    fn free_cell(&mut self, fields: &Fields) {
        let room = self.job.tables.layouts.get(fields.layout).map_or(2, |l| l.room);
        // A cell that was closed has the size of the largest constructor of its type.
        let most = self.job.tables.layouts.most(fields.layout);
        if usize::from(most) >= LISTS {
            self.runtime(shims::put_cell_back as *const u8, &[self.frame.ctx, fields.cell], 0);
            return;
        }
        let lists = if room == most {
            self.b.ins().iadd_imm_s(self.frame.ctx, i64::from(runtime::offset::CELLS + 8 * i32::from(room)))
        } else {
            self.free_list(fields.cell)
        };
        let next = self.b.ins().load(types::I64, TRUSTED, lists, 0);
        self.b.ins().store(TRUSTED, next, fields.cell, heap::offset::RC);
        self.b.ins().store(TRUSTED, fields.cell, lists, 0);
    }

    /// The address of the free list for cells of the size of this one.
    fn free_list(&mut self, cell: Value) -> Value {
        let room = self.b.ins().uload16(types::I64, TRUSTED, cell, heap::offset::ROOM);
        let place = self.b.ins().ishl_imm_u(room, 3);
        let lists = self.b.ins().iadd_imm_s(self.frame.ctx, i64::from(runtime::offset::CELLS));
        self.b.ins().iadd(lists, place)
    }

    /// Drops a reference to a cell.
    pub(super) fn release_cell(&mut self, cell: Value) {
        self.release_by(cell, shims::free_cell as *const u8);
    }

    /// The sum of two values of a declared type, one of which is often a symbolic zero.
    fn data_sum(&mut self, stmt: &Stmt, [a, right]: [Var; 2], at: u32, sc: &EmissionScope) {
        let takes = self.takes(&[a, right], at, sc, &|_| false);
        let (x, y) = (self.val(a), self.val(right));
        let symbolic_zero = self.b.ins().load(
            types::I64,
            TRUSTED.with_readonly().with_can_move(),
            self.frame.ctx,
            runtime::offset::SYMBOLIC_ZERO_DATA,
        );
        let done = self.fresh();
        self.b.append_block_param(done, types::I64);
        for (gone, other, take) in [(x, y, takes[1]), (y, x, takes[0])] {
            let (one, next) = (self.fresh(), self.fresh());
            let none = self.b.ins().icmp(IntCC::Equal, gone, symbolic_zero);
            self.b.ins().brif(none, one, &[], next, &[]);
            self.b.switch_to_block(one);
            if !take {
                self.retain(other);
            }
            self.goto(done, &[other]);
            self.b.switch_to_block(next);
        }
        let sum = self.slow(stmt, at, sc)[0];
        self.goto(done, &[sum]);
        self.b.switch_to_block(done);
        let made = self.b.block_params(done)[0];
        self.bind_outs(stmt, &[made]);
    }

    /// The layout number of a constructor of a variable's type.
    pub(super) fn layout_of(&self, v: Var, tag: u32) -> u16 {
        match self.ty(v) {
            Ty::Data(d) => self.job.tables.layouts.at(*d, tag),
            _ => self.job.tables.layouts.at(DataId(0), tag),
        }
    }
}

/// The byte offset of a field.
fn field(i: usize) -> i32 {
    size_of::<HeapCell>() as i32 + 8 * i as i32
}
