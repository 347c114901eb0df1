//! The compositions of passes from which the derivative operators are built.

use crate::Ad;
use crate::unzip::UnzipPlan;
use adl_ir::{DataId, FnId, Program, Ty};
use adl_specialise::{Linearized, Transforms, Unsupported};
use std::collections::HashSet;

impl Ad {
    /// J, U with a plan, and T of a function, all erased.
    pub fn linearize_with(
        &mut self,
        p: &mut Program,
        f: FnId,
        wrt: &[bool],
        plan: &UnzipPlan,
    ) -> Result<Linearized, Unsupported> {
        let j = self.jvp(p, f, wrt)?;
        let u = self.unzip(p, j.func, plan)?;
        let back = self.transpose(p, u.linear)?;
        let (primal, tangent, cotangent) = (self.erase(p, u.primal), self.erase(p, u.linear), self.erase(p, back));
        Ok(Linearized { primal, results: u.results, tangent, cotangent, active: j.active })
    }
}

impl Transforms for Ad {
    fn jvp(&mut self, p: &mut Program, f: FnId, wrt: &[bool]) -> Result<(FnId, Vec<bool>), Unsupported> {
        let j = Ad::jvp(self, p, f, wrt)?;
        Ok((self.erase(p, j.func), j.active))
    }

    fn linearize(&mut self, p: &mut Program, f: FnId, wrt: &[bool]) -> Result<Linearized, Unsupported> {
        self.linearize_with(p, f, wrt, &UnzipPlan::store_all())
    }

    fn directions(&mut self, p: &mut Program, f: FnId, wrt: &[bool], transposed: bool) -> Result<FnId, Unsupported> {
        Ad::directions(self, p, f, wrt, &UnzipPlan::store_all(), transposed)
    }

    fn forget_data(&mut self, p: &Program, changed: &HashSet<DataId>) {
        // Residuals of functions that stay are newer than some of the types that have changed, and stay as well.
        self.jvp.tangents.retain(|d, _| !contains(p, *d, changed));
        self.linear.batched_datas.retain(|d, _| !contains(p, *d, changed));
    }

    fn tangent_ty(&mut self, p: &mut Program, ty: &Ty) -> Option<Ty> {
        Ad::tangent_ty(self, p, ty)
    }
}

/// Whether data of a type may contain data of one of these types.
fn contains(p: &Program, d: DataId, types: &HashSet<DataId>) -> bool {
    let (mut work, mut seen) = (vec![d], HashSet::new());
    while let Some(d) = work.pop() {
        if types.contains(&d) {
            return true;
        }
        if seen.insert(d) {
            let fields = p.data(d).cons.iter().flat_map(|(_, fields)| fields);
            work.extend(fields.filter_map(|t| if let Ty::Data(d) = t.scalar() { Some(*d) } else { None }));
        }
    }
    false
}
