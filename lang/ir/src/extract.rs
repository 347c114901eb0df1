//! Extraction of some functions of a program as a program of their own.

use crate::func::{Block, DataDecl, FnId, Function, Program, Stmt};
use crate::op::Op;
use crate::ty::{DataId, Ty};
use std::collections::HashMap;

impl Program {
    /// The functions in `roots` and all their callees, renumbered in the order in which they are reached, with the
    /// data types that they use.
    pub fn part(&self, roots: &[FnId]) -> Program {
        let mut part = Extractor {
            p: self,
            funcs: HashMap::new(),
            order: Vec::new(),
            datas: HashMap::new(),
            out: Program::default(),
        };
        roots.iter().for_each(|f| {
            part.func(*f);
        });
        let mut done = 0;
        while let Some(f) = part.order.get(done).copied() {
            let made = part.function(self.func(f));
            part.out.add(made);
            done += 1;
        }
        part.out
    }
}

struct Extractor<'a> {
    p: &'a Program,
    funcs: HashMap<FnId, FnId>,
    order: Vec<FnId>,
    datas: HashMap<DataId, DataId>,
    out: Program,
}

impl Extractor<'_> {
    fn func(&mut self, f: FnId) -> FnId {
        let next = FnId(self.order.len() as u32);
        *self.funcs.entry(f).or_insert_with(|| {
            self.order.push(f);
            next
        })
    }

    /// The new number of a data type. The data types of its fields are added too.
    fn data(&mut self, id: DataId) -> DataId {
        if let Some(new) = self.datas.get(&id) {
            return *new;
        }
        let new = self.out.add_data(DataDecl::default());
        self.datas.insert(id, new);
        let mut todo = vec![(id, new)];
        while let Some((d, new)) = todo.pop() {
            let mut decl = (**self.p.data(d)).clone();
            for t in decl.cons.iter_mut().flat_map(|c| &mut c.1) {
                let (datas, out) = (&mut self.datas, &mut self.out);
                each_data(t, &mut |d| {
                    *datas.entry(d).or_insert_with(|| {
                        let new = out.add_data(DataDecl::default());
                        todo.push((d, new));
                        new
                    })
                });
            }
            self.out.set_data(new, decl);
        }
        new
    }

    fn ty(&mut self, t: &mut Ty) {
        each_data(t, &mut |d| self.data(d));
    }

    fn function(&mut self, f: &Function) -> Function {
        let mut f = f.clone();
        for v in &mut f.vars {
            self.ty(&mut v.ty);
        }
        self.block(&mut f.body);
        f
    }

    fn block(&mut self, b: &mut Block) {
        let mut blocks = vec![b];
        while let Some(b) = blocks.pop() {
            for Stmt { op, .. } in &mut b.stmts {
                match op {
                    Op::Zero(t) => self.ty(t),
                    Op::Construct { data, .. } | Op::Destruct { data, .. } => *data = self.data(*data),
                    Op::Call { f, rule, .. } => {
                        *f = self.func(*f);
                        if let Some(r) = rule {
                            r.func = self.func(r.func);
                        }
                    }
                    _ => {}
                }
                blocks.extend(op.blocks_mut());
            }
        }
    }
}

/// Applies `to` to the data types in a type.
fn each_data(t: &mut Ty, to: &mut dyn FnMut(DataId) -> DataId) {
    match t {
        Ty::Data(d) => *d = to(*d),
        Ty::Array(e, _) => {
            let mut elem = (**e).clone();
            each_data(&mut elem, to);
            *e = elem.into();
        }
        Ty::F64 | Ty::F32 | Ty::I64 | Ty::Bool | Ty::Str => {}
    }
}
