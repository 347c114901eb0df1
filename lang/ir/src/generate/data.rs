//! Data: lists, pairs, a box of one number, and a type `Shape` whose constructors have different fields.

use super::{Gen, Kind, Known, LARGEST};
use crate::eval::Val;
use crate::func::{Block, DataDecl, Program, Var};
use crate::op::Op;
use crate::ty::{DataId, Ty};
use adl_prim::Un;

/// The constructors of lists.
const NIL: u32 = 0;
pub(super) const CONS: u32 = 1;

/// The data types of a generated program.
#[derive(Clone, Copy)]
pub(super) struct Types {
    list: DataId,
    pair: DataId,
    boxed: DataId,
    shape: DataId,
}

impl Types {
    pub(super) fn declare(p: &mut Program) -> Types {
        let list = p.add_data(DataDecl::default());
        let mut declare = |name: &str, cons: &[(&str, &[Ty])]| {
            p.add_data(DataDecl {
                name: name.to_owned(),
                cons: cons.iter().map(|(n, f)| ((*n).to_owned(), f.to_vec())).collect(),
                declared: None,
            })
        };
        let pair = declare("Pair", &[("Pair", &[Ty::F64, Ty::F64])]);
        let boxed = declare("Box", &[("Box", &[Ty::F64])]);
        let shape = declare(
            "Shape",
            &[
                ("Dot", &[]),
                ("Circle", &[Ty::F64]),
                ("Tagged", &[Ty::I64, Ty::F64]),
                ("Row", &[Ty::F64.array(1), Ty::Data(boxed)]),
            ],
        );
        let cons = vec![("Nil".to_owned(), vec![]), ("Cons".to_owned(), vec![Ty::F64, Ty::Data(list)])];
        p.set_data(list, DataDecl { name: "List".to_owned(), cons, declared: None });
        Types { list, pair, boxed, shape }
    }

    pub(super) fn of(self, k: &Kind) -> Option<DataId> {
        match k {
            Kind::List => Some(self.list),
            Kind::Pair => Some(self.pair),
            Kind::Box => Some(self.boxed),
            Kind::Shape => Some(self.shape),
            Kind::Real(_) | Kind::Int(..) | Kind::Bool | Kind::Boxes(_) => None,
        }
    }
}

/// The kinds of data.
pub(super) const DATA: [Kind; 4] = [Kind::List, Kind::Pair, Kind::Box, Kind::Shape];

/// The fields of each constructor.
fn fields(k: &Kind) -> Vec<Vec<Kind>> {
    let real = || Kind::Real(vec![]);
    match k {
        Kind::List => vec![vec![], vec![real(), Kind::List]],
        Kind::Pair => vec![vec![real(), real()]],
        Kind::Box => vec![vec![real()]],
        Kind::Shape => vec![vec![], vec![real()], vec![Kind::Int(0, 3), real()], vec![Kind::Real(vec![2]), Kind::Box]],
        Kind::Real(_) | Kind::Int(..) | Kind::Bool | Kind::Boxes(_) => Vec::new(),
    }
}

impl Gen {
    pub(super) fn data_step(&mut self) {
        let kind = DATA[self.rng.below(DATA.len())].clone();
        if self.rng.once_in(4) {
            return self.box_of_row();
        }
        let opened = self.pick(|k| *k == kind).filter(|_| fields(&kind).len() == 1 && self.rng.once_in(2));
        match opened {
            None => {
                self.new_data(&kind);
            }
            Some(k) => {
                self.place();
                let (data, made) = (self.data_of(&kind), fields(&kind).remove(0));
                let tys: Vec<Ty> = made.iter().map(|k| self.ty(k)).collect();
                let (outs, _) = self.b.emit(Op::Fields { a: k.v, data, tag: 0 }, &tys, &[]);
                outs.into_iter().zip(made).for_each(|(v, k)| {
                    self.know(v, k, LARGEST);
                });
            }
        }
    }

    /// An element of an array of boxes.
    fn box_of_row(&mut self) {
        let Some(row) = self.pick(|k| matches!(k, Kind::Boxes(n) if *n > 0)) else { return };
        let Kind::Boxes(n) = row.kind else { return };
        let at = vec![self.index(n)];
        self.one(Op::Index { a: row.v, at, shape: None }, Kind::Box, LARGEST);
    }

    fn data_of(&self, k: &Kind) -> DataId {
        self.types.of(k).unwrap_or(DataId(0))
    }

    /// A value of a kind of data. In a loop a list grows in each iteration, but there are few iterations.
    pub(super) fn new_data(&mut self, kind: &Kind) -> Var {
        let all = fields(kind);
        let tag = match kind {
            Kind::List => {
                if self.pick(|k| *k == Kind::List).is_some() {
                    CONS
                } else {
                    NIL
                }
            }
            _ => self.rng.below(all.len()) as u32,
        };
        let given: Vec<Var> = all[tag as usize]
            .iter()
            .map(|k| match k {
                Kind::Real(s) if s.is_empty() => self.scalar().v,
                k => self.want(k),
            })
            .collect();
        let data = self.data_of(kind);
        self.one(Op::Con { data, tag, fields: given }, kind.clone(), LARGEST)
    }

    pub(super) fn data_argument(&mut self, kind: &Kind) -> Val {
        let all = fields(kind);
        let tag = if *kind == Kind::List { u32::from(!self.rng.once_in(3)) } else { self.rng.below(all.len()) as u32 };
        let vals = all[tag as usize].iter().map(|k| self.argument(k, 2)).collect();
        Val::data(tag, vals)
    }

    /// The scrutinee of a `switch`, and an arm for each constructor.
    pub(super) fn arms(&mut self, kinds: &[Kind]) -> (Var, Vec<Block>) {
        let of = match self.rng.below(5) {
            0 => Kind::Pair,
            1 => Kind::Box,
            2 | 3 => Kind::Shape,
            _ => Kind::List,
        };
        let v = match self.pick(|k| *k == of) {
            Some(k) => k.v,
            None => self.new_data(&of),
        };
        let arms = fields(&of)
            .into_iter()
            .map(|made| {
                let params: Vec<(Kind, f64)> = made.into_iter().map(|k| (k, LARGEST)).collect();
                let steps = if params.is_empty() { 1 } else { self.rng.below(4) };
                self.block(&params, steps, kinds)
            })
            .collect();
        (v, arms)
    }

    /// A real in -1 ... 1 from data: the content of a box.
    pub(super) fn unboxed(&mut self, v: Var) -> Known {
        let data = self.data_of(&Kind::Box);
        self.place();
        let (outs, _) = self.b.emit(Op::Fields { a: v, data, tag: 0 }, &[Ty::F64], &[]);
        let x = self.one(Op::Un(Un::Tanh, outs[0]), Kind::Real(vec![]), 1.0);
        Known { v: x, kind: Kind::Real(vec![]), bound: 1.0 }
    }
}
