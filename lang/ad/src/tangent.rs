//! Tangent types. Reals and arrays of reals are their own tangent types, and discrete types have none. Data has a
//! data type with the same constructors, whose fields are the tangents of the fields.

use crate::Ad;
use adl_ir::{DataDecl, DataId, Program, Ty};

impl Ad {
    /// The type of tangents (and cotangents) of a type, if it has one.
    pub fn tangent_ty(&mut self, p: &mut Program, ty: &Ty) -> Option<Ty> {
        match ty {
            Ty::F64 | Ty::F32 => Some(ty.clone()),
            Ty::I64 | Ty::Bool | Ty::Str => None,
            Ty::Array(e, r) => {
                let e2 = self.tangent_ty(p, e)?;
                Some(Ty::Array(e2.into(), *r))
            }
            Ty::Data(d) => self.tangent_data(p, *d).map(Ty::Data),
        }
    }

    /// The tangent type of a data type: the same constructors, with the tangents of those fields that have one.
    /// `None` if no field has.
    pub fn tangent_data(&mut self, program: &mut Program, d: DataId) -> Option<DataId> {
        if let Some(t) = self.jvp.tangents.get(&d) {
            return *t;
        }
        if !has_real(program, d, &mut Vec::new()) {
            self.jvp.tangents.insert(d, None);
            return None;
        }
        let decl = program.data(d).clone();
        let id = program.add_data(DataDecl { name: format!("{}'", decl.name), cons: Vec::new(), declared: None });
        self.jvp.tangents.insert(d, Some(id));
        // A tangent type is its own tangent type.
        self.jvp.tangents.insert(id, Some(id));
        let cons = decl
            .cons
            .iter()
            .map(|(n, fields)| (format!("{n}'"), fields.iter().filter_map(|t| self.tangent_ty(program, t)).collect()))
            .collect();
        program.set_data(id, DataDecl { name: format!("{}'", decl.name), cons, declared: None });
        Some(id)
    }
}

/// Whether values of the type may contain a real number.
fn has_real(p: &Program, d: DataId, seen: &mut Vec<DataId>) -> bool {
    if seen.contains(&d) {
        return false;
    }
    seen.push(d);
    p.data(d).cons.iter().any(|(_, fields)| fields.iter().any(|t| real_inside(p, t, seen)))
}

fn real_inside(p: &Program, t: &Ty, seen: &mut Vec<DataId>) -> bool {
    match t {
        Ty::F64 | Ty::F32 => true,
        Ty::I64 | Ty::Bool | Ty::Str => false,
        Ty::Array(e, _) => real_inside(p, e, seen),
        Ty::Data(d) => has_real(p, *d, seen),
    }
}
