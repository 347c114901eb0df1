//! Shape specialisation of IR functions before they are differentiated or lowered, for small vectors and
//! matrices with small rows. Code for general extents stores such arguments as arrays; code for two or three
//! elements keeps them in registers ([`mod@adl_opt::scalar_replacement`]).
//!
//! A specialised function begins with assertions of the assumed extents, and is only called with arguments for
//! which they hold. Reverse mode, its plans and their tables use the one for small rows ([`super::attempt::entered_for_gradient`]).

use super::{CompiledAd, Specialized};
use crate::ir::shape_specialise::{self, ShapeFact};
use crate::limits::ir_derive_shape_variants::VARIANTS;
use crate::value::Value;
use adl_ir::FnId;
use adl_opt::scalar_replacement::{Sums, scalars};
use std::collections::HashMap;
use std::rc::Rc;

/// Specialisations by function.
pub(super) type Variants = HashMap<FnId, Vec<(Vec<ShapeFact>, Rc<Specialized>)>>;

impl CompiledAd {
    /// The function specialised to the extents of these arguments, if they are small and specialisation gains
    /// something; otherwise the function itself.
    pub(super) fn sized(&mut self, specialized: &Rc<Specialized>, leaves: &[Value]) -> Rc<Specialized> {
        self.of_sizes(specialized, small(leaves))
    }

    /// The function specialised to the extents of small rows in these arguments, but of no vectors.
    pub(super) fn with_rows_of_size(&mut self, specialized: &Rc<Specialized>, leaves: &[Value]) -> Rc<Specialized> {
        let mut sizes = small(leaves);
        sizes.retain(|fact| matches!(fact, ShapeFact::Extent(_, 1.., _)));
        self.of_sizes(specialized, sizes)
    }

    fn of_sizes(&mut self, specialized: &Rc<Specialized>, sizes: Vec<ShapeFact>) -> Rc<Specialized> {
        let id = specialized.entry.func;
        // All ranks of a run send the same messages, whatever the extents of their own parts.
        if sizes.is_empty() || self.ad.has_made(id) || specialized.entry.effects {
            return specialized.clone();
        }
        let known = self.derived.variants.get(&id).map_or(&[][..], Vec::as_slice);
        if let Some((_, made)) = known.iter().find(|(s, _)| *s == sizes) {
            return made.clone();
        }
        if known.len() >= VARIANTS {
            return specialized.clone();
        }
        let made = self.variant(specialized, &sizes).unwrap_or_else(|| specialized.clone());
        self.derived.variants.entry(id).or_default().push((sizes, made.clone()));
        made
    }

    fn variant(&mut self, specialized: &Rc<Specialized>, sizes: &[ShapeFact]) -> Option<Rc<Specialized>> {
        let src = self.program.func(specialized.entry.func).clone();
        let mut made = (*src).clone();
        shape_specialise::assert_facts(&mut made, sizes)?;
        let mut trial = made.clone();
        adl_opt::inline::inline(&self.program, &mut trial);
        if !scalars(&mut trial, Sums::Written) {
            return None;
        }
        let func = self.program.reserve(&src.name);
        self.program.set(func, made);
        let mut entry = specialized.entry.clone();
        entry.func = func;
        Some(Rc::new(Specialized { entry, datas: specialized.datas.clone() }))
    }
}

/// The extents of small vectors, of rows of matrices, and of small matrices.
fn small(leaves: &[Value]) -> Vec<ShapeFact> {
    shape_specialise::extents(&leaves.iter().collect::<Vec<_>>())
}
