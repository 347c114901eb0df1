//! Functions of small vectors, and of matrices with small rows, at the sizes of their arguments: where types leave a size open, code for all sizes keeps an
//! array where code for two or three numbers keeps these in registers ([`mod@adl_opt::scalars`]).
//!
//! A variant begins with assertions that the sizes are those; it is only run where they are. Reports and plans are of the function itself.

use super::{Entered, Road};
use crate::ir::variants::{self, Fact};
use crate::value::Value;
use adl_ir::FnId;
use adl_opt::scalars::{Sums, scalars};
use std::collections::HashMap;
use std::rc::Rc;

/// Variants of one function. Beyond, there is the one for all sizes.
const VARIANTS: usize = 4;

/// What has been made, by function.
pub(super) type Variants = HashMap<FnId, Vec<(Vec<Fact>, Rc<Entered>)>>;

impl Road {
    /// The function for arguments of these sizes, if they are small and that gains something; else itself.
    pub(super) fn sized(&mut self, e: &Rc<Entered>, leaves: &[Value]) -> Rc<Entered> {
        let f = e.entry.func;
        let sizes = small(leaves);
        if sizes.is_empty() || self.ad.has_made(f) {
            return e.clone();
        }
        let known = self.variants.get(&f).map_or(&[][..], Vec::as_slice);
        if let Some((_, made)) = known.iter().find(|(s, _)| *s == sizes) {
            return made.clone();
        }
        if known.len() >= VARIANTS {
            return e.clone();
        }
        let made = self.variant(e, &sizes).unwrap_or_else(|| e.clone());
        self.variants.entry(f).or_default().push((sizes, made.clone()));
        made
    }

    fn variant(&mut self, e: &Rc<Entered>, sizes: &[Fact]) -> Option<Rc<Entered>> {
        let src = self.program.func(e.entry.func).clone();
        let mut made = (*src).clone();
        variants::assert_facts(&mut made, sizes)?;
        let mut trial = made.clone();
        adl_opt::inline::inline(&self.program, &mut trial);
        if !scalars(&mut trial, Sums::Written) {
            return None;
        }
        let func = self.program.reserve(&src.name);
        self.program.set(func, made);
        let mut entry = e.entry.clone();
        entry.func = func;
        Some(Rc::new(Entered { entry, datas: e.datas.clone(), origin: e.origin }))
    }
}

/// The sizes of small vectors, of the rows of matrices, and of small matrices.
fn small(leaves: &[Value]) -> Vec<Fact> {
    variants::extents(&leaves.iter().collect::<Vec<_>>())
}
