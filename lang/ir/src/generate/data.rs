//! Data: lists, pairs, a box of one number, and a type `Shape` whose constructors have different fields.

use super::{LARGEST, ProgramGenerator, ScopedVar, VarKind};
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
pub(super) struct DataTypes {
    list: DataId,
    pair: DataId,
    boxed: DataId,
    shape: DataId,
}

impl DataTypes {
    pub(super) fn declare(program: &mut Program) -> DataTypes {
        let list = program.add_data(DataDecl::default());
        let mut declare = |name: &str, cons: &[(&str, &[Ty])]| {
            program.add_data(DataDecl {
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
        program.set_data(list, DataDecl { name: "List".to_owned(), cons, declared: None });
        DataTypes { list, pair, boxed, shape }
    }

    pub(super) fn of(self, k: &VarKind) -> Option<DataId> {
        match k {
            VarKind::List => Some(self.list),
            VarKind::Pair => Some(self.pair),
            VarKind::Box => Some(self.boxed),
            VarKind::Shape => Some(self.shape),
            VarKind::Real(_) | VarKind::Int(..) | VarKind::Bool | VarKind::Boxes(_) => None,
        }
    }
}

/// The kinds of data.
pub(super) const DATA: [VarKind; 4] = [VarKind::List, VarKind::Pair, VarKind::Box, VarKind::Shape];

/// The fields of each constructor.
fn fields(k: &VarKind) -> Vec<Vec<VarKind>> {
    let real = || VarKind::Real(vec![]);
    match k {
        VarKind::List => vec![vec![], vec![real(), VarKind::List]],
        VarKind::Pair => vec![vec![real(), real()]],
        VarKind::Box => vec![vec![real()]],
        VarKind::Shape => {
            vec![vec![], vec![real()], vec![VarKind::Int(0, 3), real()], vec![VarKind::Real(vec![2]), VarKind::Box]]
        }
        VarKind::Real(_) | VarKind::Int(..) | VarKind::Bool | VarKind::Boxes(_) => Vec::new(),
    }
}

impl ProgramGenerator {
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
                let (outs, _) = self.b.emit(Op::Destruct { a: k.v, data, tag: 0 }, &tys, &[]);
                outs.into_iter().zip(made).for_each(|(v, k)| {
                    self.know(v, k, LARGEST);
                });
            }
        }
    }

    /// An element of an array of boxes.
    fn box_of_row(&mut self) {
        let Some(row) = self.pick(|k| matches!(k, VarKind::Boxes(n) if *n > 0)) else { return };
        let VarKind::Boxes(n) = row.kind else { return };
        let at = vec![self.index(n)];
        self.one(Op::Index { a: row.v, at, shape: None }, VarKind::Box, LARGEST);
    }

    fn data_of(&self, k: &VarKind) -> DataId {
        self.types.of(k).unwrap_or(DataId(0))
    }

    /// A value of a kind of data. In a loop a list grows in each iteration, but there are few iterations.
    pub(super) fn new_data(&mut self, kind: &VarKind) -> Var {
        let all = fields(kind);
        let tag = match kind {
            VarKind::List => {
                if self.pick(|k| *k == VarKind::List).is_some() {
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
                VarKind::Real(s) if s.is_empty() => self.scalar().v,
                k => self.var_of_kind(k),
            })
            .collect();
        let data = self.data_of(kind);
        self.one(Op::Construct { data, tag, fields: given }, kind.clone(), LARGEST)
    }

    pub(super) fn data_argument(&mut self, kind: &VarKind) -> Val {
        let all = fields(kind);
        let tag =
            if *kind == VarKind::List { u32::from(!self.rng.once_in(3)) } else { self.rng.below(all.len()) as u32 };
        let vals = all[tag as usize].iter().map(|k| self.argument(k, 2)).collect();
        Val::data(tag, vals)
    }

    /// The scrutinee of a `switch`, and an arm for each constructor.
    pub(super) fn arms(&mut self, kinds: &[VarKind]) -> (Var, Vec<Block>) {
        let of = match self.rng.below(5) {
            0 => VarKind::Pair,
            1 => VarKind::Box,
            2 | 3 => VarKind::Shape,
            _ => VarKind::List,
        };
        let var = match self.pick(|k| *k == of) {
            Some(k) => k.v,
            None => self.new_data(&of),
        };
        let arms = fields(&of)
            .into_iter()
            .map(|made| {
                let params: Vec<(VarKind, f64)> = made.into_iter().map(|k| (k, LARGEST)).collect();
                let steps = if params.is_empty() { 1 } else { self.rng.below(4) };
                self.block(&params, steps, kinds)
            })
            .collect();
        (var, arms)
    }

    /// A real in -1 ... 1 from data: the content of a box.
    pub(super) fn unboxed(&mut self, v: Var) -> ScopedVar {
        let data = self.data_of(&VarKind::Box);
        self.place();
        let (outs, _) = self.b.emit(Op::Destruct { a: v, data, tag: 0 }, &[Ty::F64], &[]);
        let x = self.one(Op::Un(Un::Tanh, outs[0]), VarKind::Real(vec![]), 1.0);
        ScopedVar { v: x, kind: VarKind::Real(vec![]), bound: 1.0 }
    }
}
