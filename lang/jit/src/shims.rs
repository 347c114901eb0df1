//! The C entry points of the run-time functions.
//!
//! Native code has no unwind tables: a panic that reached it would abort the process. Each function is therefore
//! shielded ([`adl_interp::fault::shielded`]). A panic is stored, the run is asked to stop, and native code receives
//! the value after `else`. This value means an error or "does not apply", which native code handles in any case. The
//! panic resumes after native code has returned. The shield costs nothing in a call that does not panic.

use crate::handle::Handle;
use crate::heap::{self, HeapCell};
use crate::runtime::{self, Ctx};
use crate::strip_runner::{self, LoopDescription};
use crate::{fast_paths, output_buffer, scan_loops};
use adl_interp::fault::shielded;

macro_rules! shims {
    ($($name:ident = $module:ident::$function:ident($($arg:ident: $ty:ty),*) $(-> $out:ty)?, else $otherwise:expr;)*) => {
        $(pub(crate) unsafe extern "C" fn $name($($arg: $ty),*) $(-> $out)? {
            // SAFETY: native code upholds the contract of the wrapped function: live pointers of its own run, and
            // operands of the declared kinds.
            shielded(|| $otherwise, || unsafe { $module::$function($($arg),*) })
        })*
    };
}

shims! {
    slow = runtime::slow(ctx: *mut Ctx, id: u64, slot: *mut u64) -> u64, else 1;
    slow_0 = runtime::slow_0(ctx: *mut Ctx, id: u64) -> u64, else 1;
    slow_1 = runtime::slow_1(ctx: *mut Ctx, id: u64, a: u64) -> u64, else 1;
    slow_2 = runtime::slow_2(ctx: *mut Ctx, id: u64, a: u64, b: u64) -> u64, else 1;
    slow_3 = runtime::slow_3(ctx: *mut Ctx, id: u64, a: u64, b: u64, c: u64) -> u64, else 1;
    slow_4 = runtime::slow_4(ctx: *mut Ctx, id: u64, a: u64, b: u64, c: u64, d: u64) -> u64, else 1;
    fail_check = runtime::fail_check(ctx: *mut Ctx, id: u64, text: u64) -> u64, else 1;
    row = runtime::row(ctx: *mut Ctx, quick: u64, id: u64, h: u64, index: u64) -> u64, else 0;
    free = runtime::free(ctx: *mut Ctx, h: *mut Handle), else ();
    trace = runtime::trace(ctx: *mut Ctx, site: u64) -> u64, else 1;
    poll = runtime::poll(ctx: *mut Ctx, site: u64) -> u64, else 1;
    progress = runtime::progress(ctx: *mut Ctx, done: i64, total: i64), else ();
    halt = runtime::halt(ctx: *mut Ctx, sp: u64) -> u64, else 1;
    no_match = runtime::no_match(ctx: *mut Ctx, site: u64) -> u64, else 1;
    constant = runtime::constant(ctx: *mut Ctx, id: u64) -> *mut Handle, else symbolic_zero(ctx);
    row_address = runtime::row_address(ctx: *mut Ctx, h: *const Handle, index: u64, rank: u64, dims: *mut i64) -> *const f64, else std::ptr::null();
    target = runtime::target(ctx: *mut Ctx, old: *mut Handle, expect: u64, dims: *const i64) -> *mut Handle, else std::ptr::null_mut();
    copied_part = runtime::copied(ctx: *mut Ctx, data: *const f64, expect: u64, dims: *const i64) -> *mut Handle, else std::ptr::null_mut();
    target_row = runtime::target_row(ctx: *mut Ctx, old: *mut Handle, n: i64) -> *mut Handle, else std::ptr::null_mut();
    map_strip = runtime::map(ctx: *mut Ctx, id: usize, x: *mut f64, n: usize), else ();
    sigmoids = runtime::sigmoids(x: *mut f64, other: *mut f64, n: usize), else ();
    tanh_and_sech2 = runtime::tanh_and_sech2(x: *mut f64, other: *mut f64, n: usize), else ();
    own = runtime::own(ctx: *mut Ctx, h: *mut Handle, shape: *mut Handle, expect: u64) -> *mut Handle, else std::ptr::null_mut();
    extent = runtime::extent(h: *const Handle) -> i64, else 0;
    histogram = scan_loops::count(ctx: *mut Ctx, dest: *mut Handle, keys: *mut Handle, values: *mut Handle, op: u64) -> *mut Handle, else std::ptr::null_mut();
    histogram_places = scan_loops::histogram_with_positions(ctx: *mut Ctx, slot: *mut *mut Handle, keys: *mut Handle, values: *mut Handle, places: *mut Handle, op: u64) -> u64, else 0;
    prefix = scan_loops::running(ctx: *mut Ctx, array: *mut Handle, neutral: u64, op: u64) -> *mut Handle, else std::ptr::null_mut();
    make_cell = heap::make(ctx: *mut Ctx, room: u64, site: u64) -> *mut HeapCell, else std::ptr::null_mut();
    open_cell = heap::open(ctx: *mut Ctx, c: *mut HeapCell) -> i64, else -1;
    free_cell = heap::free(ctx: *mut Ctx, c: *mut HeapCell), else ();
    put_cell_back = heap::put_back(ctx: *mut Ctx, c: *mut HeapCell), else ();
    cell_fields = heap::fields(ctx: *mut Ctx, c: *mut HeapCell, layout: u64, slot: *mut u64, site: u64) -> u64, else 1;
    new_buffer = output_buffer::new_buffer(ctx: *mut Ctx, id: u64, n: i64, site: u64) -> *mut Handle, else std::ptr::null_mut();
    new_part = output_buffer::new_part(ctx: *mut Ctx, id: u64, n: i64, site: u64, around: *mut Handle) -> *mut Handle, else std::ptr::null_mut();
    row_target = output_buffer::place(ctx: *mut Ctx, buffer: *mut Handle, row: u64, dims: *const i64) -> *mut f64, else std::ptr::null_mut();
    new_rows = output_buffer::new_rows(ctx: *mut Ctx, id: u64, n: i64, width: i64, site: u64) -> *mut Handle, else std::ptr::null_mut();
    finish_rows = output_buffer::finish_rows(ctx: *mut Ctx, h: *mut Handle, n: u64, width: u64, id: u64, how: u64) -> *mut Handle, else symbolic_zero(ctx);
    grow_buffer = output_buffer::grow(ctx: *mut Ctx, h: *mut Handle, len: u64, site: u64) -> u64, else 1;
    reserve_buffer = output_buffer::reserve(ctx: *mut Ctx, h: *mut Handle, count: u64, site: u64) -> u64, else 1;
    push = output_buffer::push(ctx: *mut Ctx, buffer: *mut Handle, word: u64, code: u64, site: u64) -> u64, else 1;
    finish_buffer = output_buffer::finish(ctx: *mut Ctx, h: *mut Handle, len: u64, how: u64) -> *mut Handle, else symbolic_zero(ctx);
    quick = fast_paths::quick(ctx: *mut Ctx, id: u64, a: u64, b: u64, c: u64, d: u64, e: u64) -> *mut Handle, else std::ptr::null_mut();
    dot = fast_paths::dot(a: *const f64, b: *const f64, n: usize) -> f64, else f64::NAN;
    total = fast_paths::total(a: *const f64, n: usize) -> f64, else f64::NAN;
    extremum = fast_paths::extremum(a: *const f64, n: usize, less: u64) -> usize, else 0;
    of_chunks = fast_paths::of_chunks(parts: *const f64, step: usize, n: usize) -> f64, else f64::NAN;
    run_iterations = strip_runner::run(ctx: *mut Ctx, told: *mut LoopDescription) -> u64, else 1;
    new_floats = strip_runner::floats(ctx: *mut Ctx, form: u64, dims: *const i64) -> *mut Handle, else std::ptr::null_mut();
    clear = strip_runner::clear(array: *mut Handle) -> *mut Handle, else std::ptr::null_mut();
    above = strip_runner::above(data: *const i64, n: i64) -> i64, else i64::MAX;
    no_memory = strip_runner::no_room(ctx: *mut Ctx, site: u64) -> u64, else 1;
}

/// Entry points of [`slow_0`] to [`slow_4`] by number of operands. They have at most one result, which is stored in the
/// context.
pub(crate) const SLOW_OF: [*const u8; 5] =
    [slow_0 as *const u8, slow_1 as *const u8, slow_2 as *const u8, slow_3 as *const u8, slow_4 as *const u8];

/// The array that native code receives after a failed allocation, until it stops.
fn symbolic_zero(ctx: *mut Ctx) -> *mut Handle {
    // SAFETY: native code passes the live context of its run.
    unsafe { (*ctx).symbolic_zero }
}
