//! The inference variables of an item: types, sizes and rows that are determined as inference goes on.

use super::map_type;
use super::open_records::OpenFields;
use crate::ty::{Class, Size, Ty};
use adl_syntax::span::Span;
use adl_syntax::symbol::Symbol;
use std::collections::HashMap;
use std::ops::{Index, IndexMut};

/// An inference variable.
#[derive(Clone, Debug)]
pub(super) struct Meta {
    pub bound: Option<Ty>,
    pub level: u32,
    /// Each with the place and the operation that require it.
    pub classes: Vec<(Class, Span, &'static str)>,
    /// It is a number: a literal, or an operand after defaulting.
    pub scalar: bool,
    /// The user's name for it.
    pub name: Option<Symbol>,
    /// It is a row variable.
    pub row: bool,
    /// An array of this type keeps its type when elements are appended: its length is not part of the type.
    pub grows: bool,
}

impl Meta {
    /// Whether a class is required of it.
    pub fn has(&self, class: Class) -> bool {
        self.classes.iter().any(|c| c.0 == class)
    }
}

/// An inference variable that stands for a size.
#[derive(Clone, Debug)]
struct SizeMeta {
    bound: Option<Size>,
    level: u32,
}

/// All inference variables, and the level of those that are made now. A type variable is found by its number.
#[derive(Clone)]
pub(super) struct InferenceVariables {
    metas: Vec<Meta>,
    sizes: Vec<SizeMeta>,
    /// The number of enclosing definitions that are generalised.
    pub level: u32,
    /// The lowest level at which variables of different levels were unified since [`InferenceVariables::forget_met`].
    met_at: u32,
    /// The known fields of open records, by their first row variable.
    rows: HashMap<u32, OpenFields>,
}

impl Default for InferenceVariables {
    fn default() -> InferenceVariables {
        InferenceVariables { metas: Vec::new(), sizes: Vec::new(), level: 0, met_at: u32::MAX, rows: HashMap::new() }
    }
}

impl Index<u32> for InferenceVariables {
    type Output = Meta;

    fn index(&self, m: u32) -> &Meta {
        &self.metas[m as usize]
    }
}

impl IndexMut<u32> for InferenceVariables {
    fn index_mut(&mut self, m: u32) -> &mut Meta {
        &mut self.metas[m as usize]
    }
}

impl InferenceVariables {
    /// The number of type variables.
    pub fn types(&self) -> u32 {
        self.metas.len() as u32
    }

    /// The number of size variables.
    pub fn sizes(&self) -> u32 {
        self.sizes.len() as u32
    }

    /// A fresh type variable of the current level.
    pub fn fresh(&mut self) -> Ty {
        self.metas.push(Meta {
            bound: None,
            level: self.level,
            classes: Vec::new(),
            scalar: false,
            name: None,
            row: false,
            grows: false,
        });
        Ty::Meta(self.types() - 1)
    }

    /// A fresh size variable of the current level.
    pub fn fresh_size(&mut self) -> Size {
        self.sizes.push(SizeMeta { bound: None, level: self.level });
        Size::Meta(self.sizes() - 1)
    }

    /// Whether a type is a variable that is known to be a number.
    pub fn is_scalar(&self, t: &Ty) -> bool {
        matches!(t, Ty::Meta(m) if self[*m].scalar)
    }

    /// Replaces bound variables at the top of a type.
    pub fn resolve(&self, t: &Ty) -> Ty {
        let mut t = t.clone();
        while let Ty::Meta(m) = t {
            match &self[m].bound {
                Some(b) => t = b.clone(),
                None => break,
            }
        }
        t
    }

    /// The size that a size variable stands for.
    pub fn resolve_size(&self, mut size: Size) -> Size {
        while let Size::Meta(m) = size {
            match self.sizes[m as usize].bound {
                Some(b) => size = b,
                None => break,
            }
        }
        size
    }

    /// Replaces all bound variables in a type.
    pub fn resolve_deep(&self, t: &Ty) -> Ty {
        let t = self.resolve(t);
        stacker::maybe_grow(32 * 1024, 1024 * 1024, || {
            map_type(
                &t,
                &mut |t| match t {
                    Ty::Meta(_) => {
                        let r = self.resolve(t);
                        Some(if matches!(r, Ty::Meta(_)) { r } else { self.resolve_deep(&r) })
                    }
                    Ty::Record(r) if r.tail.is_some() => Some(self.joined_record(r)),
                    _ => None,
                },
                &mut |s| self.resolve_size(s),
            )
        })
    }

    /// Lowers a type variable to an outer level.
    pub fn lower_type(&mut self, m: u32, level: u32) {
        let meta = &mut self.metas[m as usize];
        if meta.level != level {
            self.met_at = self.met_at.min(meta.level).min(level);
        }
        meta.level = meta.level.min(level);
    }

    /// Lowers a size variable to an outer level.
    pub fn lower_size(&mut self, m: u32, level: u32) {
        let meta = &mut self.sizes[m as usize];
        meta.level = meta.level.min(level);
    }

    /// Binds an unbound size variable; another one takes the lower level of both.
    pub fn bind_size(&mut self, m: u32, to: Size) {
        if let Size::Meta(other) = to {
            self.lower_size(other, self.sizes[m as usize].level);
        }
        self.sizes[m as usize].bound = Some(to);
    }

    /// Whether a size variable was made inside the current level.
    pub fn is_inner_size(&self, m: u32) -> bool {
        self.sizes[m as usize].level > self.level
    }

    /// Forgets at which levels variables were unified.
    pub fn forget_met(&mut self) {
        self.met_at = u32::MAX;
    }

    /// Whether a variable of this level or an outer one was unified with one of another level.
    pub fn has_met(&self, level: u32) -> bool {
        self.met_at <= level
    }

    /// The known fields of an open record whose rest is the row variable `m`, and the variables to resolve its rest by.
    pub fn open_fields(&mut self, m: u32) -> (&mut OpenFields, &[Meta]) {
        (self.rows.entry(m).or_insert_with(|| OpenFields::after(m)), &self.metas)
    }
}
