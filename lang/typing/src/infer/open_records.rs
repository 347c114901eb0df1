//! Open records: the known fields, and a row variable that later uses extend.
//!
//! Each extension binds the row variable to a record with a new one, so the type is a chain. An index of each chain
//! finds a field without walking it.

use super::variables::InferenceVariables;
use crate::ty::{RecordTy, Ty};
use adl_syntax::symbol::Symbol;
use std::collections::HashMap;
use std::rc::Rc;

/// The fields after the first row variable of a record, as far as the chain has been walked.
#[derive(Clone, Default)]
pub(super) struct OpenFields {
    fields: HashMap<Symbol, Ty>,
    /// Where the walk continues; `None` at the end of a closed record.
    next: Option<Ty>,
}

impl OpenFields {
    /// The fields after a row variable, none of which is known yet.
    pub fn after(row: u32) -> OpenFields {
        OpenFields { fields: HashMap::new(), next: Some(Ty::Meta(row)) }
    }
}

/// The result of looking up a field in a record type.
pub(super) enum FieldLookup {
    /// Its type.
    There(Ty),
    /// Not known: the field may belong to this row variable.
    Open(Ty),
    /// The record does not have it.
    Missing,
}

impl InferenceVariables {
    /// Looks a field up.
    pub(super) fn look_up_field(&mut self, r: &RecordTy, name: Symbol) -> FieldLookup {
        if let Some((_, t)) = r.fields.iter().find(|(n, _)| *n == name) {
            return FieldLookup::There(t.clone());
        }
        let Some(Ty::Meta(m)) = &r.tail else {
            return r.tail.clone().map_or(FieldLookup::Missing, FieldLookup::Open);
        };
        let (row, metas) = self.open_fields(*m);
        loop {
            match row.next.take() {
                Some(Ty::Meta(k)) => match &metas[k as usize].bound {
                    Some(t) => row.next = Some(t.clone()),
                    None => {
                        row.next = Some(Ty::Meta(k));
                        break;
                    }
                },
                Some(Ty::Record(more)) => {
                    // Of two fields with the same name, the first counts.
                    for (n, t) in &more.fields {
                        row.fields.entry(*n).or_insert_with(|| t.clone());
                    }
                    row.next = more.tail.clone();
                }
                end => {
                    row.next = end;
                    break;
                }
            }
        }
        match (row.fields.get(&name), &row.next) {
            (Some(t), _) => FieldLookup::There(t.clone()),
            (None, Some(rest)) => FieldLookup::Open(rest.clone()),
            (None, None) => FieldLookup::Missing,
        }
    }

    /// Whether a type variable stands for the rest of a record.
    pub(super) fn is_row(&self, t: &Ty) -> bool {
        matches!(t, Ty::Meta(m) if self[*m].row)
    }

    /// A record merged with the known part of its row.
    pub(super) fn open_record(&self, r: &Rc<RecordTy>) -> RecordTy {
        let mut out = RecordTy { fields: r.fields.clone(), tail: None };
        let mut tail = r.tail.clone();
        while let Some(t) = tail {
            match self.resolve(&t) {
                Ty::Record(more) => {
                    out.fields.extend(more.fields.iter().cloned());
                    tail = more.tail.clone();
                }
                t => {
                    out.tail = Some(t);
                    break;
                }
            }
        }
        out
    }

    /// A record with all its known parts resolved, in one piece.
    pub(super) fn joined_record(&self, r: &Rc<RecordTy>) -> Ty {
        let open = self.open_record(r);
        let mut fields: Vec<(Symbol, Ty)> = open.fields.iter().map(|(n, t)| (*n, self.resolve_deep(t))).collect();
        fields.sort_by_key(|(n, _)| n.as_str());
        Ty::Record(Rc::new(RecordTy { fields, tail: open.tail }))
    }
}
