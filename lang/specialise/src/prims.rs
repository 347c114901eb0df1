//! Dispatch of primitives by family. The `match` is exhaustive: a new primitive does not compile before it is added
//! here.

use crate::val::{Fun, Rep, Val};
use crate::{Res, Spec};
use adl_ir::{Op, Ty as IrTy};
use adl_prim::Prim;
use adl_syntax::span::Span;
use adl_typing::core::{Expr, ExprKind, Lit};
use adl_typing::ty::Ty;
use std::rc::Rc;

impl Spec<'_> {
    /// A primitive applied to any number of arguments, as Core has it.
    pub(crate) fn prim_app(&mut self, p: Prim, reps: Vec<Val>, args: &[&Expr], ty: Ty, span: Span) -> Res<Val> {
        if let (Prim::Error, [text]) = (p, args) {
            // The text of an `error` may be dropped: after a failure the interpreter repeats the call and reports it.
            let text = match &*text.kind {
                ExprKind::Lit(Lit::Str(s)) => s.to_string(),
                _ => "error".to_owned(),
            };
            return Ok(self.fail(&text));
        }
        let here = args.iter().any(|a| matches!(&*a.kind, ExprKind::Lam(_)));
        let Some(mut vals) = self.all(args.iter().copied())? else { return Ok(Val::Bottom) };
        self.b.span = span;
        let arity = p.row().arity as usize;
        if vals.len() < arity {
            let f = Rc::new(Fun::Prim(p, reps));
            return Ok(if vals.is_empty() { Val::Fun(f) } else { Val::fun(Fun::Partial(f, vals)) });
        }
        let rest = vals.split_off(arity);
        let known = rest.is_empty().then(|| ty.clone());
        let v = self.prim_here(p, reps, vals, known, here)?;
        match v {
            v if rest.is_empty() => Ok(v),
            Val::Fun(f) => self.call(&f, rest, Some(ty)),
            Val::Bottom => Ok(Val::Bottom),
            _ => Err(self.no("an application of something that is not a function")),
        }
    }

    /// A primitive applied to all its arguments. `ty`: the result type, if known.
    pub(crate) fn prim(&mut self, p: Prim, reps: Vec<Val>, args: Vec<Val>, ty: Option<Ty>) -> Res<Val> {
        self.prim_here(p, reps, args, ty, false)
    }

    fn prim_here(&mut self, p: Prim, reps: Vec<Val>, args: Vec<Val>, ty: Option<Ty>, here: bool) -> Res<Val> {
        use Prim as P;
        match p {
            P::Add
            | P::Sub
            | P::Mul
            | P::Div
            | P::IntDiv
            | P::Rem
            | P::Pow
            | P::PowInt
            | P::Neg
            | P::Not
            | P::EqEach
            | P::NeEach
            | P::LtEach
            | P::GtEach
            | P::LeEach
            | P::GeEach
            | P::AndEach
            | P::OrEach
            | P::Sin
            | P::Cos
            | P::Tan
            | P::Asin
            | P::Acos
            | P::Atan
            | P::Atan2
            | P::Sinh
            | P::Cosh
            | P::Tanh
            | P::Exp
            | P::Expm1
            | P::Log
            | P::Log1p
            | P::Sqrt
            | P::Cbrt
            | P::Abs
            | P::Sign
            | P::Floor
            | P::Ceil
            | P::Round
            | P::Min
            | P::Max
            | P::Clamp
            | P::Hypot
            | P::Sigmoid
            | P::Relu
            | P::Softplus
            | P::Erf
            | P::Erfc
            | P::Erfinv
            | P::Lgamma
            | P::Digamma
            | P::Gamma
            | P::IsNan
            | P::IsInf
            | P::Pi
            | P::E
            | P::Inf
            | P::Nan
            | P::ToFloat
            | P::ToInt
            | P::ToF32
            | P::F32ToFloat => self.number_prim(p, &reps, &args),
            P::Eq | P::Ne | P::Lt | P::Gt | P::Le | P::Ge => match adl_ir::Cmp::of(p) {
                Some(op) => self.compare(op, &args[0], &args[1]),
                None => Err(self.no("a comparison")),
            },
            P::Append => self.join_values(&args),
            P::Map
            | P::Map2
            | P::Map3
            | P::Reduce
            | P::Scan
            | P::ScanExclusive
            | P::ReduceByIndex
            | P::Filter
            | P::Partition
            | P::SortBy
            | P::Fold
            | P::Foldr
            | P::Invertible => self.higher_prim(p, &args, ty.as_ref(), here),
            P::Zip
            | P::Zip3
            | P::Unzip
            | P::Unzip3
            | P::Scatter
            | P::ScatterWithin
            | P::Put
            | P::Zeros
            | P::Ones
            | P::Full
            | P::Arange
            | P::Gather
            | P::Compress
            | P::Iota
            | P::Replicate
            | P::Linspace
            | P::Rotate
            | P::Reverse
            | P::Concat
            | P::Flatten
            | P::Reshape
            | P::Split
            | P::Take
            | P::Drop
            | P::First
            | P::Last
            | P::Range
            | P::Eye
            | P::Diag
            | P::TransposeArray => self.move_prim(p, &args, ty),
            P::Sort
            | P::Argsort
            | P::Argmin
            | P::Argmax
            | P::Sum
            | P::Prod
            | P::Mean
            | P::Variance
            | P::Maximum
            | P::Minimum
            | P::Cumsum
            | P::Cumprod
            | P::Dot
            | P::Outer
            | P::MatMul
            | P::Matmul
            | P::Norm
            | P::Any
            | P::All
            | P::Trace => self.reduce_prim(p, &args),
            P::Where => self.select(&args[0], &args[1], &args[2]),
            P::Stack => match &args[0] {
                Val::Data(x, d) if self.b.ty(*x).rank() == 0 => self.list_to_array(*x, *d),
                other => Ok(other.clone()),
            },
            P::Len => self.extent(&args[0], 0).map(Val::Leaf),
            P::Shape => {
                let dims = self.dims(&args[0])?;
                Ok(Val::Leaf(self.b.one(Op::ArrayLit { elems: dims, shape: None }, IrTy::shape())))
            }
            P::Rank => {
                let n = self.dims(&args[0])?.len();
                Ok(Val::Leaf(self.int(n as i64)))
            }
            P::LinSolve | P::Cholesky | P::Qr | P::Lu | P::Svd | P::Eigh | P::Inv | P::Det => {
                self.matrix_prim(p, &args)
            }
            P::RandKey | P::RandSplit | P::RandUniform | P::RandNormal | P::RandInt | P::RandPermutation => {
                self.random_prim(p, &args, ty)
            }
            P::Assert => {
                let c = self.leaf(&args[0])?;
                self.assert(c, "an assertion failed");
                Ok(Val::Unit)
            }
            P::Error => Ok(self.fail("error")),
            P::Print
            | P::Warn
            | P::Display
            | P::WriteCsv
            | P::WriteNpy
            | P::WriteJson
            | P::WriteText
            | P::PlotSave
            | P::PlotShow
            | P::PlotWatch => self.host_call(p, &args, crate::Layout::Unit),
            P::Show | P::Input | P::ReadText => self.host_call(p, &args, crate::Layout::Leaf(IrTy::Str)),
            P::Args => self.host_call(p, &args, crate::Layout::Leaf(IrTy::Str.array(1))),
            P::Along | P::ReadCsv | P::ReadNpy | P::ReadJson | P::Env | P::Time => {
                Err(self.no(format!("`{}` inside a differentiated function", p.name())))
            }
            P::StrLen | P::StrFind => self.leaf_prim(p, &args, IrTy::I64),
            P::StrSlice | P::StrJoin | P::StrTrim | P::StrReplace | P::StrUpper | P::StrLower => {
                self.leaf_prim(p, &args, IrTy::Str)
            }
            P::StrSplit => self.leaf_prim(p, &args, IrTy::Str.array(1)),
            P::ParseFloat => self.leaf_prim(p, &args, IrTy::F64.array(1)),
            P::ParseInt => self.leaf_prim(p, &args, IrTy::I64.array(1)),
            P::Fst => self.step(&args[0], adl_typing::core::Projection::Item(0)),
            P::Snd => self.step(&args[0], adl_typing::core::Projection::Item(1)),
            P::Id => Ok(args[0].clone()),
            P::Zero => match reps.first() {
                Some(Val::Rep(r)) => self.zero(&Rep::clone(r)),
                _ => Err(self.no("a zero whose type is not known here")),
            },
            P::Engine => Err(self.no("an engine of reverse mode, which is measured while it runs")),
            P::Ravel
            | P::Unravel
            | P::Jvp
            | P::Linearize
            | P::Vjp
            | P::Transpose
            | P::TransposeAt
            | P::Grad
            | P::ValueAndGrad
            | P::Jacobian
            | P::Jacfwd
            | P::Jacrev
            | P::Hessian
            | P::Hvp
            | P::StopGrad
            | P::Checkpoint
            | P::CustomJvp
            | P::CustomVjp
            | P::Gradcheck
            | P::GradWith
            | P::ValueAndGradWith
            | P::ResidualsUnder
            | P::Cost
            | P::JacobianSparse => self.derivative_prim(p, reps, &args),
        }
    }

    /// `++`.
    fn join_values(&mut self, args: &[Val]) -> Res<Val> {
        match (&args[0], &args[1]) {
            (Val::Data(x, d), Val::Data(y, _)) => self.join_lists(*x, *y, *d),
            (Val::Leaf(x), Val::Leaf(_)) if self.b.ty(*x) == IrTy::Str => self.leaf_prim(Prim::Append, args, IrTy::Str),
            (a, b) => self.concat(a, b),
        }
    }

    fn matrix_prim(&mut self, p: Prim, args: &[Val]) -> Res<Val> {
        let (vector, matrix) = (IrTy::F64.array(1), IrTy::F64.array(2));
        let tys = match p {
            Prim::LinSolve => {
                let b = self.leaf(&args[1])?;
                let t = self.b.ty(b);
                if !t.scalar().is_real() {
                    return Err(self.no("a linear system over other than Floats"));
                }
                vec![t]
            }
            Prim::Det => vec![IrTy::F64],
            Prim::Qr => vec![matrix.clone(), matrix],
            Prim::Lu => vec![matrix.clone(), matrix, IrTy::I64.array(1)],
            Prim::Svd => vec![matrix.clone(), vector, matrix],
            Prim::Eigh => vec![vector, matrix],
            _ => vec![matrix],
        };
        self.several(p, args, &tys)
    }

    /// A built-in with several results, which become the components of a tuple.
    fn several(&mut self, p: Prim, args: &[Val], tys: &[IrTy]) -> Res<Val> {
        let xs = args.iter().map(|a| self.leaf(a)).collect::<Res<Vec<_>>>()?;
        let (outs, _) = self.b.emit(Op::Prim(p, xs), tys, &[]);
        let mut vals: Vec<Val> = outs.into_iter().map(Val::Leaf).collect();
        Ok(if vals.len() == 1 { vals.swap_remove(0) } else { Val::Tuple(vals) })
    }

    fn random_prim(&mut self, p: Prim, args: &[Val], ty: Option<Ty>) -> Res<Val> {
        match p {
            Prim::RandKey => self.several(p, args, &[IrTy::I64, IrTy::I64]),
            Prim::RandSplit => {
                let ints = IrTy::I64.array(1);
                match self.several(p, args, &[ints.clone(), ints])? {
                    Val::Tuple(cols) => Ok(Val::Array(Box::new(Val::Tuple(cols)))),
                    other => Ok(other),
                }
            }
            Prim::RandPermutation => self.leaf_prim(p, args, IrTy::I64.array(1)),
            _ => {
                let Some(t) = ty else { return Err(self.no("random numbers of a shape that is not known")) };
                match self.layout(&t)? {
                    crate::Layout::Leaf(t) => self.leaf_prim(p, args, t),
                    _ => Err(self.no("random numbers of a shape that is not known")),
                }
            }
        }
    }
}
