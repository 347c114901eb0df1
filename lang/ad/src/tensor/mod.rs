//! Comprehensions (*Differentiating a Tensor Language*): loops without state over index ranges, sums over indices, affine accesses
//! and Iverson brackets.
//!
//! In the IR a comprehension is a nest of [`adl_ir::Loop`]s that carry nothing: `collect` outputs generate (the paper's ⊞), `sum` outputs
//! sum (Σ), an `if` whose other branch is `zero` is a bracket. The paper's normal forms come about so:
//!
//! - *let-lifting* and *pair elimination*: A-normal form, and arrays of tuples as tuples of arrays, are how the IR is;
//! - *gen push-out* (Fig. 9): each linear statement of a nest is an element of a contraction `⊞ g Σ s [p] c · ẋ[a(g, s)]`, whose indices
//!   are those of the loops on the [`path`] to it, whose predicate is the ranges and the branches on that path, and whose coefficient `c`
//!   is the non-linear code there;
//! - *conversion* (Fig. 11, 12): subscripts `a` are brought to affine forms of the indices ([`affine`]).
//!
//! A nest of many reads that share much arithmetic is transposed once for all of them, after *let-lifting* the reads ([`lift`]).
//!
//! Before J, [`push`] replaces reads of arrays of brackets by what their elements are, and [`narrow`] solves the brackets of the function's own sums
//! ([`overflow`]: without hiding errors).
//!
//! The adjoint (Fig. 16, rule 6.29) of such a contraction is `⊞ h Σ g s [p ∧ h = a(g, s)] c · ẏ[g]`. [`solve`] eliminates a sum for each
//! equality, and narrows the bounds of those that are left by the inequalities; [`gather`] writes the result as a nest again. So nothing is
//! scattered where accesses are affine. It is done where T meets a nest ([`crate::transpose`]); a subscript that depends on data stays an
//! addition at an index, and so does an access to a few elements only that adds to a cotangent that is there already: then a whole array would
//! cost more than the sum did.

pub(crate) mod affine;
mod bounds;
mod disjoint;
mod gather;
mod lift;
mod magnitude;
pub(crate) mod narrow;
mod overflow;
mod path;
mod predicate;
pub(crate) mod push;
mod solve;
mod view;
