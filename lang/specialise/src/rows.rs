//! Tables in chunks. `Rows a` is laid out as a record: the function that gives a chunk, and the sizes. A chunk of a file is read
//! column by column, so that dead code elimination leaves only those that are used.

use crate::eval::ty_of_rep;
use crate::layout::Layout;
use crate::val::Val;
use crate::{Attempt, Spec};
use adl_ir::{Collective, Lit};
use adl_prim::RowsFn;
use adl_typing::ty::{Size, Ty, rows_fields};
use std::rc::Rc;

impl Spec<'_> {
    /// A function of module `rows`. `ty`: the type of its result, if it is known.
    pub(crate) fn rows_prim(&mut self, prim: RowsFn, args: &[Val], ty: Option<Ty>) -> Attempt<Val> {
        match prim {
            RowsFn::Make => {
                let fields = rows_fields().into_iter().zip(args.iter().cloned());
                Ok(Val::Record(fields.collect()))
            }
            RowsFn::Chunk => {
                let chunk = self.field_of_rows(&args[0], 0)?;
                let chunk = self.function_of(&chunk)?;
                self.call(&chunk, vec![args[1].clone()], ty)
            }
            RowsFn::Sizes => self.field_of_rows(&args[0], 1),
            RowsFn::Fork => {
                let f = self.function_of(&args[0])?;
                Ok(Val::Fun(self.spread_captured(&f, Collective::Fork, None)?))
            }
            RowsFn::Read => self.read_rows(args),
            RowsFn::Column => Err(self.no("a column by itself")),
        }
    }

    fn field_of_rows(&self, rows: &Val, k: usize) -> Attempt<Val> {
        match rows {
            Val::Record(fields) if fields.len() == 2 => Ok(fields[k].1.clone()),
            Val::Bottom => Ok(Val::Bottom),
            _ => Err(self.no("rows that are laid out otherwise")),
        }
    }

    /// `type path k`: a chunk of a file, as one call of the host for each column.
    fn read_rows(&mut self, args: &[Val]) -> Attempt<Val> {
        let Some(Val::Rep(rep)) = args.first() else { return Err(self.no("rows whose type is not known")) };
        let Some(ty) = ty_of_rep(rep) else { return Err(self.no("rows whose type is not known")) };
        match &ty {
            Ty::Record(r) => {
                let column = |(name, t): &(_, Ty)| Ok((*name, self.column(args, (*name, t), t)?.lifted_elem()));
                let columns = r.fields.iter().map(column).collect::<Attempt<Vec<_>>>()?;
                Ok(Val::Array(Box::new(Val::Record(columns))))
            }
            t => {
                let mut leaf = t;
                while let Ty::Array(_, e) = leaf {
                    leaf = e;
                }
                self.column(args, (adl_syntax::symbol::Symbol::new(""), leaf), t)
            }
        }
    }

    /// The column of a name, whose cells have a type, as elements of type `elem`.
    fn column(&mut self, args: &[Val], (name, cell): (adl_syntax::symbol::Symbol, &Ty), elem: &Ty) -> Attempt<Val> {
        let Some(kind) = word(cell) else { return Err(self.no("a column of that type")) };
        let layout: Layout = self.layout(&Ty::Array(Size::Unknown, Rc::new(elem.clone())))?;
        let name = Val::Leaf(self.lit(Lit::Str(name.as_str().into())));
        let kind = Val::Leaf(self.lit(Lit::Str(kind.into())));
        self.host_call(RowsFn::Column, &[args[1].clone(), name, kind, args[2].clone()], layout)
    }
}

/// The type of cells, as [`RowsFn::Column`] names it.
fn word(t: &Ty) -> Option<String> {
    Some(match t {
        Ty::Int => "Int".to_owned(),
        Ty::Float => "Float".to_owned(),
        Ty::F32 => "F32".to_owned(),
        Ty::Bool => "Bool".to_owned(),
        Ty::Str => "String".to_owned(),
        Ty::Data(d, args) if d.1.as_str() == "Option" => format!("Option {}", word(args.first()?)?),
        _ => return None,
    })
}
