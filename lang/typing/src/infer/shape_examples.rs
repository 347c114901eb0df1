//! Example shapes that a function of unknown ranks accepts, shown with its type.

use super::{Infer, array};
use crate::env::{CheckHost, Env, Tables};
use crate::limits::infer_shape_examples::{MOST_VARIED, RANKS};
use crate::print;
use crate::ty::{Class, Scheme, Ty, TyVar};
use adl_syntax::span::Span;
use std::collections::HashSet;

/// Types at which a function with operator constraints can be used, one for each maximal rank: `Float -> [n]Float ->
/// [n]Float`.
pub fn example_shapes(env: &Env, scheme: &Scheme, tables: &mut Tables, host: &mut dyn CheckHost) -> Vec<String> {
    let varied = varied(scheme);
    if varied.is_empty() {
        return Vec::new();
    }
    let mut found: Vec<(usize, String)> = Vec::new();
    let mut all: Vec<Vec<usize>> = (0..RANKS.pow(varied.len() as u32)).map(|k| digits(k, varied.len())).collect();
    all.sort_by_key(|ranks| ranks.iter().sum::<usize>());
    for ranks in all {
        let greatest = ranks.iter().copied().max().unwrap_or(0);
        if found.iter().any(|(r, _)| *r == greatest) {
            continue;
        }
        let chosen: Vec<(TyVar, usize)> = varied.iter().copied().zip(ranks).collect();
        if let Some(text) = Infer::new(env, tables, host, false).at_ranks(scheme, &chosen) {
            found.push((greatest, text));
        }
    }
    found.sort_unstable();
    found.into_iter().map(|(_, text)| text).collect()
}

/// The variables of the type whose ranks are undetermined.
fn varied(s: &Scheme) -> Vec<TyVar> {
    let mut operands: HashSet<TyVar> = HashSet::new();
    for c in s.constraints.iter() {
        operands.extend(c.args.iter().filter_map(|t| if let Ty::Var(v) = t { Some(*v) } else { None }));
    }
    let of_any_rank =
        |classes: &[Class]| classes.iter().any(|c| matches!(c, Class::Nums | Class::Reals | Class::Space));
    let is_number = |classes: &[Class]| classes.iter().any(|c| matches!(c, Class::Num | Class::Real));
    let all =
        s.vars.iter().filter(|(v, classes, _)| !is_number(classes) && (operands.contains(v) || of_any_rank(classes)));
    all.map(|(v, ..)| *v).take(MOST_VARIED).collect()
}

/// A number in base [`RANKS`].
fn digits(mut k: usize, n: usize) -> Vec<usize> {
    let mut out = vec![0; n];
    for d in out.iter_mut().rev() {
        *d = k % RANKS;
        k /= RANKS;
    }
    out
}

impl Infer<'_> {
    /// The type at given ranks, if the function accepts them.
    fn at_ranks(mut self, scheme: &Scheme, chosen: &[(TyVar, usize)]) -> Option<String> {
        let at = Span::default();
        // The variables are instantiated together with the type.
        let parts = chosen.iter().map(|(v, _)| Ty::Var(*v)).chain([scheme.ty.clone()]).collect();
        let (both, _) = self.instantiate(&Scheme { ty: Ty::Tuple(parts), ..scheme.clone() }, at, "");
        let Ty::Tuple(parts) = both else { return None };
        let (ty, vars) = parts.split_last()?;
        for (var, (_, rank)) in vars.iter().zip(chosen) {
            let shaped = (0..*rank).fold(Ty::Float, |t, _| {
                let n = self.size_meta();
                array(n, t)
            });
            self.unify(var, &shaped).ok()?;
        }
        self.solve_ops();
        self.force_all();
        self.default_metas();
        if self.diags.iter().any(adl_syntax::diag::Diagnostic::is_error) {
            return None;
        }
        Some(print::ty(&self.resolve_deep(ty)))
    }
}
