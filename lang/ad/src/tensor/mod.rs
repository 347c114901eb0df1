//! Comprehensions (*Differentiating a Tensor Language*): stateless loops over index ranges, sums over indices,
//! affine accesses and Iverson brackets.
//!
//! In the IR a comprehension is a nest of stateless [`adl_ir::Loop`]s: `collect` outputs generate (the paper's ⊞),
//! `sum` outputs sum (Σ), and an `if` whose other arm is `zero` is a bracket. The paper's normal forms correspond
//! to the IR as follows:
//!
//! - *let-lifting* and *pair elimination*: the IR is in A-normal form, and has tuples of arrays instead of arrays
//!   of tuples;
//! - *gen push-out* (Fig. 9): each linear statement of a nest is an element of a contraction `⊞ g Σ s [p] c ·
//!   ẋ[a(g, s)]`. The indices are those of the loops on the [`path`] to the statement, the predicate consists of
//!   the ranges and branches on that path, and the coefficient `c` is the non-linear code there;
//! - *conversion* (Fig. 11, 12): subscripts `a` are converted to affine forms of the indices ([`affine`]).
//!
//! A nest with many reads that share much arithmetic is transposed once for all of them, after *let-lifting* the
//! reads ([`lift`]).
//!
//! Before J, [`push`] replaces reads of arrays of brackets by the definition of their elements, and [`narrow`]
//! solves the brackets of the function's own sums (without hiding overflow errors: [`overflow`]). Functions that are
//! not differentiated are rewritten alike, as far as sums keep their bits ([`same_order`]).
//!
//! The adjoint (Fig. 16, rule 6.29) of such a contraction is `⊞ h Σ g s [p ∧ h = a(g, s)] c · ẏ[g]`. [`solve`]
//! eliminates a sum by each equality and narrows the bounds of the remaining sums by inequalities; [`gather`] emits
//! the result as a nest. So affine accesses need no scatter. A range may end at a minimum of affine forms, and an index
//! that is read as the sum of a maximum and a loop index stands for the sum. A sum of equal terms is a multiple.
//!
//! This happens where T meets a nest ([`crate::transpose`]). An access with a subscript that depends on data remains an
//! addition at an index. So does an access to a few elements only whose cotangent array exists already, because to
//! materialise another array would cost more than the sum itself.

mod abs_as_max;
pub(crate) mod affine;
mod bounds;
mod bracket_array;
mod disjoint;
mod gather;
mod lift;
pub(crate) mod narrow;
mod overflow;
mod path;
mod predicate;
pub(crate) mod push;
mod same_order;
mod solve;
