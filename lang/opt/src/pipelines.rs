//! The passes, and all orders in which they run.
//!
//! A [`Pass`] is a row of [`PASSES`]. A pipeline is a list of [`PipelineStep`]s; [`run`] executes it, and after each pass that
//! changed a function it verifies the function in debug builds and tells the observer (`adl ir --after`, `--timings`).
//!
//! - [`FUNCTION`], before differentiation (J) and between J and unzipping (U). Linear statements are left alone; fewer
//!   statements mean fewer residuals. [`DIFFERENTIATED`] further, before J.
//! - [`PLAIN`], for functions that are not differentiated. The order of all sums is kept; [`TERMS`] then establishes
//!   the order that the language defines.
//! - [`INLINED`] and [`FINISH`], before a function is lowered and after all differentiation: small arrays, contractions,
//!   and rounds of fusion until a round changes nothing. Each fusion removes a statement, so this terminates.
//! - [`NATIVE`], in addition, what pays off in native code only. [`POINTWISE`] before it, if all arrays are
//!   materialised. [`SMALL`] further, if assertions establish that arguments are small; at last [`COMPILED`].
//! - [`FOR_DEVICE`] instead of [`FINISH`], and then [`VECTORS`], for a device.

use crate::contract::Products;
use crate::fuse::{self, For};
use crate::limits::diagonals::{FEWEST, FEWEST_DIFFERENTIATED};
use crate::scalar_replacement::{self, Sums};
use crate::{
    contract, device, diagonals, flatten_rows, hoist, index_pushdown, index_splitting, inline, interchange, loop_rows,
    pointwise, row_of_row, row_products, shapes, short_rows, simplify, sum_order, updated_zeros,
};
use adl_ir::rewrite::dce;
use adl_ir::{Function, Program, Zeros};
use std::cell::RefCell;
use std::collections::HashSet;
use std::time::{Duration, Instant};

/// A transformation of a function that keeps its meaning.
#[derive(Debug)]
pub struct Pass {
    /// Its name, for `--after` and reports.
    pub name: &'static str,
    /// What it does.
    pub about: &'static str,
    /// Transforms the function, and returns whether it may have changed.
    run: fn(&Program, &mut Function, Zeros) -> bool,
}

/// The body of a pass that does not tell whether it changed something.
macro_rules! always {
    ($run:expr) => {{
        $run;
        true
    }};
}

/// The body of a pass that needs all arrays materialised, with cleaning up after it.
macro_rules! cleaned {
    ($f:ident, $run:expr) => {{
        let changed = $run;
        if changed {
            clean($f, Zeros::Materialized);
        }
        changed
    }};
}

macro_rules! passes {
    ($($id:ident $name:literal, $about:literal, $run:expr;)*) => {
        $(#[doc = $about] pub static $id: Pass = Pass { name: $name, about: $about, run: $run };)*
        /// All passes.
        pub static PASSES: &[&Pass] = &[$(&$id),*];
    };
}

passes! {
    INLINE "inline", "Inlining of small functions and of those called once.", |p, f, _| inline::inline(p, f);
    INLINE_ALL "inline_all", "Inlining after all differentiation.", |p, f, _| inline::finally(p, f);
    SIMPLIFY "simplify", "Constant folding, algebraic identities, common subexpressions, extents traced to their origin.", |_, f, _| always!(simplify::simplify(f));
    HOIST "hoist", "Loop-invariant code motion.", |_, f, zeros| {
        let safe = if zeros == Zeros::Materialized { shapes::known(f) } else { HashSet::new() };
        always!(hoist::hoist(f, &safe, zeros))
    };
    DIAGONALS "diagonals", "Code motion along diagonals: what depends on the sum of two indices only, where much is computed.", |_, f, zeros| diagonals::diagonals(f, zeros, FEWEST);
    DIAGONALS_DIFFERENTIATED "diagonals_differentiated", "Code motion along diagonals, for functions that are differentiated.", |_, f, zeros| diagonals::diagonals(f, zeros, FEWEST_DIFFERENTIATED);
    DEAD "dead", "Dead code elimination, components of reductions and carried values included.", |_, f, _| always!(dce::remove_dead(f));
    PUSHDOWN "pushdown", "Index pushdown: elements of products and sums of arrays from elements of the operands.", |_, f, _| index_pushdown::elements(f, index_pushdown::Order::Free);
    PUSHDOWN_ORDERED "pushdown_ordered", "Index pushdown that keeps the order of sums.", |_, f, _| index_pushdown::elements(f, index_pushdown::Order::Kept);
    ROWS "rows", "Index pushdown for rows of rows.", |_, f, _| always!(row_of_row::rows(f));
    SCALARS "scalars", "Scalar replacement of small arrays; sums are kept.", |_, f, _| scalar_replacement::scalars(f, Sums::Kept);
    SCALARS_ORDERED "scalars_ordered", "Scalar replacement of small arrays; sums are written out, but not those of contractions.", |_, f, _| scalar_replacement::scalars(f, Sums::BeforeContractions);
    SCALARS_WRITTEN "scalars_written", "Scalar replacement of small arrays; sums are written out.", |_, f, _| scalar_replacement::scalars(f, Sums::Written);
    SCALARS_DEVICE "scalars_device", "Scalar replacement for a device.", |_, f, _| scalar_replacement::for_device(f);
    CONTRACT "contract", "Recognition of contractions (sums of products).", |_, f, _| contract::contract(f, Products::All);
    CONTRACT_MATRICES "contract_matrices", "Recognition of contractions of two matrices.", |_, f, _| contract::contract(f, Products::Matrices);
    TERMS "terms", "Sums over an index in the order of sums of arrays.", |_, f, _| always!(sum_order::terms(f));
    FUSE "fuse", "Loop fusion: map, reduce, scan, histogram, and maps side by side.", |_, f, _| fuse::fuse(f, For::Any);
    FUSE_NATIVE "fuse_native", "Loop fusion for native code.", |_, f, _| fuse::fuse(f, For::Native);
    FUSE_DEVICE "fuse_device", "Loop fusion for a device.", |_, f, _| fuse::fuse(f, For::Device);
    LOOP_ROWS "loop_rows", "Rows that a loop with carried values reads at its index, as rows over which it runs.", |_, f, _| cleaned!(f, loop_rows::loop_rows(f));
    SUMS "sums", "Sums of the numbers that a loop collects, as sums in the loop.", |_, f, _| fuse::sums(f);
    VECTOR_PRODUCTS "vector_products", "Products of a vector and a matrix that comprehensions in loops write out.", |_, f, _| cleaned!(f, contract::vector_products(f));
    PRODUCTS "products", "Products of the rows of a matrix in a loop, as one product.", |_, f, _| cleaned!(f, row_products::products(f, index_pushdown::Order::Free));
    PRODUCTS_ORDERED "products_ordered", "Products of the rows of a matrix, with the same order of sums.", |_, f, _| cleaned!(f, row_products::products(f, index_pushdown::Order::Kept));
    SHORT_ROWS "short_rows", "Products with small matrices, and arithmetic on matrices with short rows, as loops over the rows.", |_, f, _| cleaned!(f, short_rows::short_rows(f));
    INTERCHANGE "interchange", "Reductions, scans and histograms of narrow rows as those of columns.", |_, f, _| interchange::interchange(f);
    INTERCHANGE_DEVICE "interchange_device", "Reductions, scans and histograms of rows as those of columns.", |_, f, _| interchange::for_device(f);
    FLATTEN "flatten", "Small matrices that loops collect, as flat rows of numbers.", |_, f, _| flatten_rows::flatten_matrices(f);
    SPLIT "split", "Index-set splitting: a loop without boundary tests for the interior.", |_, f, _| index_splitting::split_loops(f);
    UPDATED_ZEROS "updated_zeros", "Zeros of its own for each update of zeros.", |_, f, _| updated_zeros::updated_zeros(f);
    POINTWISE_LOOPS "pointwise", "Arithmetic on entire vectors as loops.", |_, f, _| pointwise::pointwise(f);
    SIDES "sides", "Extents of rows that a device collects, asserted.", |_, f, _| device::sides::sides(f);
    DEVICE_VECTORS "device_vectors", "Arrays as loops over their elements, fused for a device.", |p, f, _| {
        // The pass verifies itself: its result has operations for the device that the verifier does not know.
        device::vectors(p, f);
        false
    };
}

/// A step of a pipeline.
pub enum PipelineStep {
    /// A pass.
    Run(&'static Pass),
    /// A pass that needs all arrays materialised.
    Materialized(&'static Pass),
    /// Passes; and if one of them changed the function, these steps.
    Then(&'static [&'static Pass], &'static [PipelineStep]),
    /// A pass followed by steps, until it changes nothing, at most [`ROUNDS`] times.
    Rounds(&'static Pass, &'static [PipelineStep]),
    /// Another pipeline.
    All(&'static [PipelineStep]),
}

pub use crate::limits::pipelines::ROUNDS;
use PipelineStep::{All, Materialized, Rounds, Run, Then};

/// Cleaning up after other passes.
pub static CLEANUP: &[PipelineStep] = &[Run(&SIMPLIFY), Run(&HOIST), Run(&SIMPLIFY), Run(&DEAD)];

/// The results of derivatives that are inlined may be symbolic zeros, which are gone after simplification.
static INLINING: &[PipelineStep] = &[Then(&[&INLINE], &[Run(&SIMPLIFY)])];

/// Any function, whether it will be differentiated or not.
pub static FUNCTION: &[PipelineStep] = &[
    All(INLINING),
    Materialized(&PUSHDOWN),
    Run(&ROWS),
    All(CLEANUP),
    Then(&[&SCALARS], CLEANUP),
    Then(&[&DIAGONALS_DIFFERENTIATED], CLEANUP),
];

/// A function that is differentiated, after [`FUNCTION`]: comprehensions have rules of their own for sums over an index.
pub static DIFFERENTIATED: &[PipelineStep] = &[
    Materialized(&LOOP_ROWS),
    Materialized(&SHORT_ROWS),
    Then(&[&SUMS], CLEANUP),
    Materialized(&VECTOR_PRODUCTS),
    Materialized(&PRODUCTS),
];

/// A function that is not differentiated.
pub static PLAIN: &[PipelineStep] = &[
    All(INLINING),
    Materialized(&PUSHDOWN_ORDERED),
    Run(&ROWS),
    All(CLEANUP),
    Then(&[&SCALARS_ORDERED], CLEANUP),
    Then(&[&DIAGONALS], CLEANUP),
    Materialized(&SHORT_ROWS),
    Materialized(&PRODUCTS_ORDERED),
];

/// The order of sums, at the end of [`PLAIN`].
pub static SUM_ORDER: &[PipelineStep] = &[Run(&CONTRACT_MATRICES), Run(&TERMS)];

/// Before [`FINISH`] and [`FOR_DEVICE`]: inlining.
pub static INLINED: &[PipelineStep] = &[Run(&INLINE_ALL), All(CLEANUP)];

/// A function that is about to be lowered, after all differentiation and [`INLINED`].
pub static FINISH: &[PipelineStep] =
    &[Then(&[&CONTRACT], CLEANUP), Then(&[&SCALARS_WRITTEN], CLEANUP), Rounds(&FUSE, CLEANUP)];

/// Arithmetic on entire vectors as loops, before [`NATIVE`]. All arrays must be materialised.
pub static POINTWISE: &[PipelineStep] = &[Run(&POINTWISE_LOOPS)];

static FUSE_FOR_NATIVE: &[PipelineStep] = &[Rounds(&FUSE_NATIVE, CLEANUP), Then(&[&INTERCHANGE, &FLATTEN], CLEANUP)];

/// For native code, after [`FINISH`].
pub static NATIVE: &[PipelineStep] = &[All(FUSE_FOR_NATIVE)];

/// After [`NATIVE`], if arguments are small.
pub static SMALL: &[PipelineStep] = &[Then(&[&SCALARS_WRITTEN], &[All(CLEANUP), All(FUSE_FOR_NATIVE)])];

/// When a function is compiled, after [`SMALL`]: loops over small arrays are not split.
/// Zeros that are updated come last: equal ones would become one array, which each update but the last would copy.
pub static COMPILED: &[PipelineStep] = &[Then(&[&SPLIT], CLEANUP), Run(&UPDATED_ZEROS)];

static FUSE_FOR_DEVICE: &[PipelineStep] = &[
    Then(&[&SCALARS_DEVICE], CLEANUP),
    Then(&[&CONTRACT], CLEANUP),
    Then(&[&INTERCHANGE_DEVICE], CLEANUP),
    Rounds(&FUSE_DEVICE, CLEANUP),
];

/// Instead of [`FINISH`], for a device. All code that collects small matrices is in the form of loops when their sides
/// are asserted. At the end, small arrays that fused loops carry are taken apart.
pub static FOR_DEVICE: &[PipelineStep] =
    &[All(FUSE_FOR_DEVICE), Then(&[&SIDES], &[All(CLEANUP), All(FUSE_FOR_DEVICE)]), Then(&[&SCALARS_DEVICE], CLEANUP)];

/// After [`FOR_DEVICE`].
pub static VECTORS: &[PipelineStep] = &[Run(&DEVICE_VECTORS)];

/// Runs a pipeline. Returns whether its first pass changed the function.
pub fn run(pipeline: &[PipelineStep], program: &Program, func: &mut Function, zeros: Zeros) -> bool {
    let mut changed = None;
    for step in pipeline {
        let one = match step {
            Run(pass) => apply(pass, program, func, zeros),
            Materialized(pass) => zeros == Zeros::Materialized && apply(pass, program, func, zeros),
            Then(passes, steps) => {
                let mut any = false;
                passes.iter().for_each(|pass| any |= apply(pass, program, func, zeros));
                if any {
                    run(steps, program, func, zeros);
                }
                any
            }
            Rounds(pass, steps) => {
                let rounds = (0..ROUNDS).take_while(|_| {
                    let changed = apply(pass, program, func, zeros);
                    if changed {
                        run(steps, program, func, zeros);
                    }
                    changed
                });
                rounds.count() > 0
            }
            All(steps) => run(steps, program, func, zeros),
        };
        changed.get_or_insert(one);
    }
    changed.unwrap_or(false)
}

/// Runs [`CLEANUP`] inside another pass, which is verified as a whole.
pub(crate) fn clean(f: &mut Function, zeros: Zeros) {
    let none = Program::default();
    for step in CLEANUP {
        if let Run(pass) = step {
            (pass.run)(&none, f, zeros);
        }
    }
}

/// Applies one pass.
pub fn apply(pass: &'static Pass, p: &Program, f: &mut Function, zeros: Zeros) -> bool {
    let before = OBSERVER.with_borrow(|o| o.is_some().then(|| (f.clone(), Instant::now())));
    let changed = (pass.run)(p, f, zeros);
    if changed {
        crate::check(p, f, pass.name);
    }
    if let Some((before, start)) = before {
        let took = start.elapsed();
        OBSERVER.with_borrow_mut(|o| {
            if let Some(o) = o {
                o(pass, p, (before != *f).then_some(f), took);
            }
        });
    }
    changed
}

/// The pass of this name.
pub fn by_name(name: &str) -> Option<&'static Pass> {
    PASSES.iter().find(|pass| pass.name == name).copied()
}

/// What is told to an [`observe`]r about each pass: the pass, the program, the function if it changed, and the time taken.
pub type Observer = Box<dyn FnMut(&'static Pass, &Program, Option<&Function>, Duration)>;

thread_local! {
    static OBSERVER: RefCell<Option<Observer>> = const { RefCell::new(None) };
}

/// Lets `observer` see the passes that run on this thread until another one is set. Returns the one before.
pub fn observe(observer: Option<Observer>) -> Option<Observer> {
    OBSERVER.replace(observer)
}
