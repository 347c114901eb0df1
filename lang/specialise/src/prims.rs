//! Dispatch of primitives by family. The `match` is exhaustive: a new primitive does not compile before it is added
//! here.

use crate::val::{Fun, KnownRep, Val};
use crate::{Attempt, Spec};
use adl_ir::{Op, Ty as IrTy};
use adl_prim::{ArrayFn, GeneralFn, IoFn, LinalgFn, Prim, RandomFn, TextFn};
use adl_syntax::span::Span;
use adl_typing::core::{CoreLit, Expr, ExprKind};
use adl_typing::ty::Ty;
use std::rc::Rc;

impl Spec<'_> {
    /// A primitive applied to any number of arguments, as Core has it.
    pub(crate) fn prim_app(&mut self, prim: Prim, reps: Vec<Val>, args: &[&Expr], ty: Ty, span: Span) -> Attempt<Val> {
        if let (Prim::General(GeneralFn::Error), [text]) = (prim, args) {
            // The text of an `error` may be dropped: after a failure the interpreter repeats the call and reports it.
            let text = match &*text.kind {
                ExprKind::Lit(CoreLit::Str(s)) => s.to_string(),
                _ => "error".to_owned(),
            };
            return Ok(self.fail(&text));
        }
        let here = args.iter().any(|a| matches!(&*a.kind, ExprKind::Lam(_)));
        let Some(mut vals) = self.all(args.iter().copied())? else { return Ok(Val::Bottom) };
        self.b.span = span;
        let arity = prim.row().arity as usize;
        if vals.len() < arity {
            let f = Rc::new(Fun::Prim(prim, reps));
            return Ok(if vals.is_empty() { Val::Fun(f) } else { Val::fun(Fun::Partial(f, vals)) });
        }
        let rest = vals.split_off(arity);
        let after = args.iter().skip(arity).rev();
        let known = after.fold(ty.clone(), |result, a| Ty::Fun(Rc::new(self.ty(&a.ty)), Rc::new(result)));
        let v = self.prim_here(prim, reps, vals, Some(known), here)?;
        match v {
            v if rest.is_empty() => Ok(v),
            Val::Fun(f) => self.call(&f, rest, Some(ty)),
            Val::Bottom => Ok(Val::Bottom),
            _ => Err(self.no("an application of something that is not a function")),
        }
    }

    /// A primitive applied to all its arguments. `ty`: the result type, if known.
    pub(crate) fn prim(&mut self, p: Prim, reps: Vec<Val>, args: Vec<Val>, ty: Option<Ty>) -> Attempt<Val> {
        self.prim_here(p, reps, args, ty, false)
    }

    fn prim_here(&mut self, prim: Prim, reps: Vec<Val>, args: Vec<Val>, ty: Option<Ty>, here: bool) -> Attempt<Val> {
        match prim {
            Prim::Bin(op) => self.bin(op, &args[0], &args[1]),
            Prim::Un(op) => self.un(op, &args[0]),
            Prim::Number(p) => self.number_prim(p, &reps, &args),
            Prim::Compare(op) => self.compare(op, &args[0], &args[1]),
            Prim::CompareEach(op) => self.compare_each(op, &args[0], &args[1]),
            Prim::General(p) => self.general_prim(p, &reps, &args),
            Prim::HigherOrder(p) => self.higher_prim(p, &args, ty.as_ref(), here),
            Prim::Array(p) => self.array_prim(p, &args, ty),
            Prim::Reduction(p) => self.reduce_prim(p, &args),
            Prim::Linalg(p) => self.matrix_prim(p, &args),
            Prim::Random(p) => self.random_prim(p, &args, ty),
            Prim::Text(p) => self.text_prim(p, &args),
            Prim::Io(p) => self.io_prim(p, &args),
            Prim::Derivative(p) => self.derivative_prim(p, reps, &args),
            Prim::Comm(p) => self.comm_prim(p, &args, here),
            Prim::Rows(p) => self.rows_prim(p, &args, ty),
        }
    }

    fn general_prim(&mut self, p: GeneralFn, reps: &[Val], args: &[Val]) -> Attempt<Val> {
        match p {
            GeneralFn::Assert => {
                let c = self.leaf(&args[0])?;
                self.assert(c, "an assertion failed");
                Ok(Val::Unit)
            }
            GeneralFn::Error => Ok(self.fail("error")),
            GeneralFn::Fst => self.step(&args[0], adl_typing::core::Projection::Item(0)),
            GeneralFn::Snd => self.step(&args[0], adl_typing::core::Projection::Item(1)),
            GeneralFn::Id => Ok(args[0].clone()),
            GeneralFn::Zero => match reps.first() {
                Some(Val::Rep(r)) => self.zero(&KnownRep::clone(r)),
                _ => Err(self.no("a zero whose type is not known here")),
            },
        }
    }

    fn text_prim(&mut self, prim: TextFn, args: &[Val]) -> Attempt<Val> {
        let ty = match prim {
            TextFn::Show => return self.host_call(prim, args, crate::Layout::Leaf(IrTy::Str)),
            TextFn::StrLen | TextFn::StrFind => IrTy::I64,
            TextFn::StrSlice
            | TextFn::StrJoin
            | TextFn::StrTrim
            | TextFn::StrReplace
            | TextFn::StrUpper
            | TextFn::StrLower => IrTy::Str,
            TextFn::StrSplit => IrTy::Str.array(1),
            TextFn::ParseFloat => IrTy::F64.array(1),
            TextFn::ParseInt => IrTy::I64.array(1),
        };
        self.leaf_prim(prim, args, ty)
    }

    fn io_prim(&mut self, prim: IoFn, args: &[Val]) -> Attempt<Val> {
        if self.local {
            return Err(self.no("output or input of one rank inside `comm.each`"));
        }
        let result = match prim {
            IoFn::Print
            | IoFn::Warn
            | IoFn::Display
            | IoFn::WriteCsv
            | IoFn::WriteNpy
            | IoFn::WriteArrow
            | IoFn::WriteParquet
            | IoFn::WriteJson
            | IoFn::WriteText
            | IoFn::PlotSave
            | IoFn::PlotShow
            | IoFn::PlotWatch => crate::Layout::Unit,
            IoFn::Input | IoFn::ReadText => crate::Layout::Leaf(IrTy::Str),
            IoFn::Args => crate::Layout::Leaf(IrTy::Str.array(1)),
            IoFn::OpenRows
            | IoFn::ReadCsv
            | IoFn::ReadParquet
            | IoFn::ReadArrow
            | IoFn::ReadNpy
            | IoFn::ReadJson
            | IoFn::Env
            | IoFn::Time => {
                return Err(self.no(format!("`{}` inside a differentiated function", Prim::from(prim).name())));
            }
        };
        self.host_call(prim, args, result)
    }

    /// `++`.
    pub(crate) fn join_values(&mut self, args: &[Val]) -> Attempt<Val> {
        match (&args[0], &args[1]) {
            (Val::Data(x, d), Val::Data(y, _)) => self.join_lists(*x, *y, *d),
            (Val::Leaf(x), Val::Leaf(_)) if self.b.ty(*x) == IrTy::Str => {
                self.leaf_prim(ArrayFn::Append, args, IrTy::Str)
            }
            (a, b) => self.concat(a, b),
        }
    }

    fn matrix_prim(&mut self, prim: LinalgFn, args: &[Val]) -> Attempt<Val> {
        let (vector, matrix) = (IrTy::F64.array(1), IrTy::F64.array(2));
        let tys = match prim {
            LinalgFn::LinSolve => {
                let b = self.leaf(&args[1])?;
                let t = self.b.ty(b);
                if !t.scalar().is_real() {
                    return Err(self.no("a linear system over other than Floats"));
                }
                vec![t]
            }
            LinalgFn::Det => vec![IrTy::F64],
            LinalgFn::Qr => vec![matrix.clone(), matrix],
            LinalgFn::Lu => vec![matrix.clone(), matrix, IrTy::I64.array(1)],
            LinalgFn::Svd => vec![matrix.clone(), vector, matrix],
            LinalgFn::Eigh => vec![vector, matrix],
            LinalgFn::Cholesky | LinalgFn::Inv => vec![matrix],
        };
        self.several(prim, args, &tys)
    }

    /// A built-in with several results, which become the components of a tuple.
    fn several(&mut self, p: impl Into<Prim>, args: &[Val], tys: &[IrTy]) -> Attempt<Val> {
        let xs = args.iter().map(|a| self.leaf(a)).collect::<Attempt<Vec<_>>>()?;
        let (outs, _) = self.b.emit(Op::Prim(p.into(), xs), tys, &[]);
        let mut vals: Vec<Val> = outs.into_iter().map(Val::Leaf).collect();
        Ok(if vals.len() == 1 { vals.swap_remove(0) } else { Val::Tuple(vals) })
    }

    fn random_prim(&mut self, prim: RandomFn, args: &[Val], ty: Option<Ty>) -> Attempt<Val> {
        match prim {
            RandomFn::RandKey => self.several(prim, args, &[IrTy::I64, IrTy::I64]),
            RandomFn::RandSplit => {
                let ints = IrTy::I64.array(1);
                match self.several(prim, args, &[ints.clone(), ints])? {
                    Val::Tuple(cols) => Ok(Val::Array(Box::new(Val::Tuple(cols)))),
                    other => Ok(other),
                }
            }
            RandomFn::RandPermutation => self.leaf_prim(prim, args, IrTy::I64.array(1)),
            RandomFn::RandUniform | RandomFn::RandNormal | RandomFn::RandInt => {
                let Some(t) = ty else { return Err(self.no("random numbers of a shape that is not known")) };
                match self.layout(&t)? {
                    crate::Layout::Leaf(t) => self.leaf_prim(prim, args, t),
                    _ => Err(self.no("random numbers of a shape that is not known")),
                }
            }
        }
    }
}
