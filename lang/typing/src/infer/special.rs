//! Primitives with typing rules of their own.

use super::ops::Head;
use super::{Infer, array, fun, mk, pending};
use crate::core::{self, ExprKind};
use crate::env::{Column, NoHeader, RowType};
use crate::errors::reason::Reason;
use crate::errors::{mismatch, sizes};
use crate::ty::{Class, RecordTy, Size, Ty, rows};
use adl_prim::{ArrayFn, Bin, HigherOrderFn, IoFn, NumberFn, Prim, RandomFn, ReductionFn, Un};
use adl_syntax::ast;
use adl_syntax::diag::Diagnostic;
use adl_syntax::field_order;
use adl_syntax::span::Span;
use adl_syntax::symbol::Symbol;
use std::rc::Rc;

impl Infer<'_> {
    /// The size that an Int expression denotes: a literal, or the value of a size in scope.
    pub(super) fn size_of(&mut self, e: &ast::Expr) -> Size {
        match &super::apply::strip(e).kind {
            ast::ExprKind::Lit(ast::Lit::Int(n)) if *n >= 0 => Size::from(*n as u64, e.span),
            ast::ExprKind::Var(name) => match self.lookup(*name).and_then(|b| b.size) {
                Some(v) => Size::Var(v),
                None => Size::Unknown,
            },
            _ => Size::Unknown,
        }
    }

    pub(super) fn call(&mut self, p: Prim, reps: &[Ty], args: Vec<core::Expr>, ty: Ty, span: Span) -> core::Expr {
        let prim = mk(ExprKind::Prim(p, reps.iter().map(pending).collect()), Ty::Unit, span);
        mk(ExprKind::App(prim, args), ty, span)
    }

    pub(super) fn arg(&mut self, p: Prim, i: usize, e: &ast::Expr, ty: &Ty) -> core::Expr {
        self.check(e, ty, &Reason::argument(i, usize::from(p.row().arity), &format!("`{}`", spelled(p)).into()))
    }

    /// Infers an argument that must be an array: its size and element type.
    fn array_arg(&mut self, p: Prim, i: usize, e: &ast::Expr) -> (core::Expr, Size, Ty) {
        let (n, t) = (self.size_meta(), self.meta());
        let c = self.arg(p, i, e, &array(n, t.clone()));
        self.solve_ops();
        (c, n, t)
    }

    /// A special primitive applied to all its arguments.
    pub(super) fn special(&mut self, prim: Prim, args: &[&ast::Expr], span: Span) -> Option<core::Expr> {
        Some(match prim {
            Prim::Array(ArrayFn::Iota | ArrayFn::Eye) => {
                let n = self.arg(prim, 0, args[0], &Ty::Int);
                let size = self.size_of(args[0]);
                let ty = if prim == Prim::Array(ArrayFn::Iota) {
                    array(size, Ty::Int)
                } else {
                    array(size, array(size, Ty::Float))
                };
                self.call(prim, &[], vec![n], ty, span)
            }
            Prim::Array(ArrayFn::Replicate) => {
                let n = self.arg(prim, 0, args[0], &Ty::Int);
                let size = self.size_of(args[0]);
                let x = self.infer(args[1], None);
                let ty = array(size, x.ty.clone());
                self.call(prim, &[], vec![n, x], ty, span)
            }
            Prim::Array(ArrayFn::Zeros | ArrayFn::Ones) => {
                let t = self.number(Class::Real, span, prim.name());
                let x = if prim == Prim::Array(ArrayFn::Ones) { 1.0 } else { 0.0 };
                self.filled_shape(prim, args[0], mk(ExprKind::FloatAt(x, pending(&t)), t, span), span)
            }
            Prim::Array(ArrayFn::Full) => {
                let x = self.infer(args[1], None);
                self.filled_shape(prim, args[0], x, span)
            }
            Prim::Array(ArrayFn::Arange) => self.arange(args, span),
            Prim::Array(ArrayFn::Linspace) => {
                let a = self.arg(prim, 0, args[0], &Ty::Float);
                let b = self.arg(prim, 1, args[1], &Ty::Float);
                let n = self.arg(prim, 2, args[2], &Ty::Int);
                let ty = array(self.size_of(args[2]), Ty::Float);
                self.call(prim, &[], vec![a, b, n], ty, span)
            }
            Prim::Array(ArrayFn::Range) => {
                let a = self.arg(prim, 0, args[0], &Ty::Int);
                let b = self.arg(prim, 1, args[1], &Ty::Int);
                let size = match (self.size_of(args[0]), self.size_of(args[1])) {
                    (Size::Const(a, _), Size::Const(b, _)) => Size::from(b.saturating_sub(a), span),
                    (Size::Const(0, _), n) => n,
                    _ => Size::Unknown,
                };
                self.call(prim, &[], vec![a, b], array(size, Ty::Int), span)
            }
            Prim::Array(ArrayFn::Take | ArrayFn::Drop | ArrayFn::Split) => self.cut(prim, args, span),
            Prim::Array(ArrayFn::Flatten) => self.flatten(args[0], span),
            Prim::Array(ArrayFn::Reshape) => self.reshape(args[0], args[1], span),
            Prim::Array(ArrayFn::Stack) => {
                let c = self.infer(args[0], None);
                self.arith(prim, vec![c], span)
            }
            Prim::Array(ArrayFn::Shape | ArrayFn::Rank) => {
                let (x, _, _) = self.array_arg(prim, 0, args[0]);
                let open = matches!(self.bottom(&x.ty), Ty::Meta(m) if !self.vars[m].scalar);
                let axes = if open { Size::Unknown } else { Size::from(self.rank(&x.ty), span) };
                let ty = if prim == Prim::Array(ArrayFn::Rank) { Ty::Int } else { array(axes, Ty::Int) };
                // The type tells extents that an array without rows does not have.
                let reps = if prim == Prim::Array(ArrayFn::Shape) && !open { vec![x.ty.clone()] } else { Vec::new() };
                self.call(prim, &reps, vec![x], ty, span)
            }
            Prim::Reduction(
                ReductionFn::Sum | ReductionFn::Prod | ReductionFn::Mean | ReductionFn::Maximum | ReductionFn::Minimum,
            ) => {
                let (x, _, t) = self.array_arg(prim, 0, args[0]);
                let (x, t) = self.counted(prim, x, t);
                let ty = self.reduced(prim, &t, span);
                self.call(prim, &[t], vec![x], ty, span)
            }
            Prim::Reduction(ReductionFn::Norm) => {
                let (x, ..) = self.array_arg(prim, 0, args[0]);
                let s = self.number(Class::Real, span, "`norm`");
                self.operate_to(prim, vec![(x.ty.clone(), args[0].span)], s.clone(), span);
                self.call(prim, &[], vec![x], s, span)
            }
            Prim::HigherOrder(HigherOrderFn::Along) => self.along(args, span),
            Prim::Array(ArrayFn::Where) => {
                let cs = args.iter().map(|a| self.infer(a, None)).collect();
                self.arith(prim, cs, span)
            }
            Prim::Array(ArrayFn::Diag) => {
                let (c, _, t) = self.array_arg(prim, 0, args[0]);
                let ty = self.operate(prim, vec![(c.ty.clone(), args[0].span)], span);
                self.require(Class::Nums, &t, span, "`diag`");
                self.call(prim, &[t], vec![c], ty, span)
            }
            Prim::Random(RandomFn::RandUniform | RandomFn::RandNormal) => {
                self.random(prim, &args[..1], args[1], Ty::Float, span)
            }
            Prim::Random(RandomFn::RandInt) => self.random(prim, &args[..3], args[3], Ty::Int, span),
            Prim::Io(p) if p.reads_typed() => self.read(prim, args[0], span),
            Prim::Bin(Bin::Add | Bin::Sub | Bin::Mul | Bin::Div | Bin::IntDiv | Bin::Rem | Bin::Pow)
            | Prim::Number(NumberFn::PowInt)
            | Prim::Un(Un::Neg)
            | Prim::Reduction(ReductionFn::MatMul)
            | Prim::Array(ArrayFn::Append) => {
                let cs = args.iter().map(|a| self.infer(a, None)).collect();
                self.arith(prim, cs, span)
            }
            _ => return None,
        })
    }

    pub(super) fn rank(&self, t: &Ty) -> u64 {
        match self.resolve(t) {
            Ty::Array(_, e) => 1 + self.rank(&e),
            _ => 0,
        }
    }

    /// The result type of a reduction of elements of type `ty`.
    pub(super) fn reduced(&mut self, p: Prim, ty: &Ty, span: Span) -> Ty {
        let name = p.name();
        let head = self.head(ty);
        let class = match p {
            Prim::Reduction(ReductionFn::Any | ReductionFn::All) => return Ty::Bool,
            Prim::Reduction(ReductionFn::Maximum | ReductionFn::Minimum) => Class::Ord,
            Prim::Reduction(ReductionFn::Prod) => Class::Nums,
            Prim::Reduction(ReductionFn::Mean) if head != Head::Compound => Class::Reals,
            _ => Class::Space,
        };
        self.require(class, ty, span, name);
        ty.clone()
    }

    fn cut(&mut self, prim: Prim, args: &[&ast::Expr], span: Span) -> core::Expr {
        let count = self.arg(prim, 0, args[0], &Ty::Int);
        let (operand, n, elem) = self.array_arg(prim, 1, args[1]);
        let front = match self.size_of(args[0]) {
            Size::Meta(_) => Size::Unknown,
            s => s,
        };
        let back = match (front, self.resolve_size(n)) {
            (Size::Const(k, _), Size::Const(n, _)) if k <= n => Size::from(n - k, span),
            _ => Size::Unknown,
        };
        let ty = match prim {
            Prim::Array(ArrayFn::Take) => array(front, elem),
            Prim::Array(ArrayFn::Drop) => array(back, elem),
            _ => Ty::Tuple([array(front, elem.clone()), array(back, elem)].into()),
        };
        self.call(prim, &[], vec![count, operand], ty, span)
    }

    fn flatten(&mut self, x: &ast::Expr, span: Span) -> core::Expr {
        let (m, n, t) = (self.size_meta(), self.size_meta(), self.meta());
        let c = self.arg(Prim::Array(ArrayFn::Flatten), 0, x, &array(m, array(n, t.clone())));
        let size = match (self.resolve_size(m), self.resolve_size(n)) {
            (Size::Const(a, _), Size::Const(b, _)) => a.checked_mul(b).map_or(Size::Unknown, |n| Size::from(n, span)),
            _ => Size::Unknown,
        };
        self.call(Prim::Array(ArrayFn::Flatten), &[], vec![c], array(size, t), span)
    }

    /// A shape literal: its Core, and the sizes.
    fn shape_literal(&mut self, p: Prim, shape: &ast::Expr) -> Option<(core::Expr, Vec<Size>)> {
        let ast::ExprKind::Array(parts) = &super::apply::strip(shape).kind else {
            let diagnostic = mismatch::unknown_shape(shape.span, spelled(p));
            let extents = match &super::apply::strip(shape).kind {
                ast::ExprKind::Lit(ast::Lit::Int(_)) => {
                    Some(self.host.text(shape.span).trim_matches(['(', ')']).to_owned())
                }
                ast::ExprKind::Tuple(_) => {
                    self.host.text(shape.span).strip_prefix('(').and_then(|t| t.strip_suffix(')')).map(str::to_owned)
                }
                _ => None,
            };
            self.report(match extents {
                Some(e) => diagnostic
                    .hint(format!("a shape is written with brackets: `[{e}]`"))
                    .fix(shape.span, format!("[{e}]")),
                None => diagnostic,
            });
            return None;
        };
        let mut out = Vec::new();
        let mut sizes = Vec::new();
        for e in parts {
            out.push(self.check(e, &Ty::Int, &Reason::new("an extent")));
            sizes.push(self.size_of(e));
        }
        let n = out.len() as u64;
        Some((mk(ExprKind::Array(out), array(Size::from(n, shape.span), Ty::Int), shape.span), sizes))
    }

    fn reshape(&mut self, shape: &ast::Expr, operand: &ast::Expr, span: Span) -> core::Expr {
        let (x, ..) = self.array_arg(Prim::Array(ArrayFn::Reshape), 1, operand);
        let Some((s, sizes)) = self.shape_literal(Prim::Array(ArrayFn::Reshape), shape) else {
            return self.error_expr(span);
        };
        if let (Some(have), Some(want)) = (self.elements(&x.ty), product(&sizes))
            && have != want
        {
            self.report(sizes::reshape(span, have, want));
        }
        let ty = self.reshaped(&x.ty.clone(), x.span, sizes, span);
        self.call(Prim::Array(ArrayFn::Reshape), &[], vec![s, x], ty, span)
    }

    /// `reshape [n, m]` as a function.
    pub(super) fn reshaper(&mut self, shape: &ast::Expr, span: Span) -> core::Expr {
        let Some((s, sizes)) = self.shape_literal(Prim::Array(ArrayFn::Reshape), shape) else {
            return self.error_expr(span);
        };
        let (n, t) = (self.size_meta(), self.meta());
        let from = array(n, t);
        let to = self.reshaped(&from, span, sizes, span);
        self.call(Prim::Array(ArrayFn::Reshape), &[], vec![s], fun(from, to), span)
    }

    /// The type of an array of a given shape with the element type of `x`.
    fn reshaped(&mut self, x: &Ty, at: Span, sizes: Vec<Size>, span: Span) -> Ty {
        let leaf = self.meta();
        self.operate_to(Prim::Array(ArrayFn::Reshape), vec![(x.clone(), at)], leaf.clone(), span);
        sizes.into_iter().rev().fold(leaf, |t, n| array(n, t))
    }

    /// The number of elements of an array, if its type determines it.
    fn elements(&self, t: &Ty) -> Option<u64> {
        match self.resolve(t) {
            Ty::Array(n, e) => match self.resolve_size(n) {
                Size::Const(k, _) => self.elements(&e)?.checked_mul(k),
                _ => None,
            },
            Ty::Meta(m) if !self.vars[m].scalar => None,
            _ => Some(1),
        }
    }

    /// `List t`.
    pub(super) fn list_of(&mut self, t: Ty) -> Ty {
        match self.env.type_name(Symbol::new("List")) {
            Some(crate::env::TypeName::Data(d)) => Ty::Data(d.id, [t].into()),
            _ => self.meta(),
        }
    }

    fn random(&mut self, p: Prim, before: &[&ast::Expr], shape: &ast::Expr, elem: Ty, span: Span) -> core::Expr {
        let mut args = Vec::new();
        for (i, a) in before.iter().enumerate() {
            let t = if i == 0 { self.key_type() } else { Ty::Int };
            args.push(self.arg(p, i, a, &t));
        }
        let Some((s, sizes)) = self.shape_literal(p, shape) else { return self.error_expr(span) };
        args.push(s);
        let ty = sizes.into_iter().rev().fold(elem, |t, n| array(n, t));
        self.call(p, &[], args, ty, span)
    }

    /// `Key` of module `random`.
    fn key_type(&mut self) -> Ty {
        let name = Symbol::new("Key");
        let here = self.env.type_name(name).cloned();
        let found = here
            .filter(|_| self.internal)
            .or_else(|| self.host.std_module("random").and_then(|m| m.type_name(name).cloned()));
        match found {
            Some(crate::env::TypeName::Data(d)) => Ty::Data(d.id, [].into()),
            _ => self.meta(),
        }
    }

    /// `read_csv`, `read_parquet` and the like. If the path is a literal, the file's header determines the type.
    fn read(&mut self, prim: Prim, path: &ast::Expr, span: Span) -> core::Expr {
        let argument = self.arg(prim, 0, path, &Ty::Str);
        let data = self.meta();
        self.require(Class::Data, &data, span, spelled(prim));
        let ty = if prim == Prim::Io(IoFn::OpenRows) { rows(data.clone()) } else { data.clone() };
        if let ast::ExprKind::Lit(ast::Lit::Str(file)) = &super::apply::strip(path).kind {
            match self.file_type(prim, file, path.span) {
                Ok(known) => {
                    self.expect(&known, &ty, span, &Reason::new("the file"));
                }
                Err((code, text)) => {
                    let d = Diagnostic::error(code, path.span, text);
                    self.report(match (code, prim) {
                        (MISSING, Prim::Io(IoFn::OpenRows)) => d.hint(ROWS_FROM_THE_FILE),
                        ("E0806" | "E0807", Prim::Io(IoFn::OpenRows)) => d.hint(NAMED_ROWS),
                        (MISSING, _) => d.hint(FROM_THE_FILE),
                        (_, Prim::Io(IoFn::ReadParquet | IoFn::ReadArrow)) => d.hint(NAMED_COLUMNS),
                        _ => d,
                    });
                }
            }
        }
        self.call(prim, &[data], vec![argument], ty, span)
    }

    /// The same with an annotated type, so that the file is not read before it is needed. Only an NPY file is, for its
    /// extents, if it is there: it may still be written before it is read.
    pub(super) fn read_as(&mut self, prim: Prim, path: &ast::Expr, ty: Ty, span: Span) -> core::Expr {
        if prim == Prim::Io(IoFn::OpenRows) {
            return self.rows_as(path, &ty, span);
        }
        let argument = self.arg(prim, 0, path, &Ty::Str);
        self.require(Class::Data, &ty, span, prim.name());
        let mut made = ty.clone();
        if let (Prim::Io(IoFn::ReadNpy), ast::ExprKind::Lit(ast::Lit::Str(file))) =
            (prim, &super::apply::strip(path).kind)
        {
            match self.npy_type(file, path.span) {
                Ok(known) => {
                    let known = converted(&known, &ty);
                    self.expect(&ty, &known, span, &Reason::new("the file"));
                    made = known;
                }
                Err((MISSING, _)) => {}
                Err((code, text)) => self.report(Diagnostic::error(code, path.span, text)),
            }
        }
        self.call(prim, &[made.clone()], vec![argument], made, span)
    }

    /// `rows.open` with an annotated type. What the file lacks is found when it is opened.
    fn rows_as(&mut self, path: &ast::Expr, ty: &Ty, span: Span) -> core::Expr {
        let prim = Prim::Io(IoFn::OpenRows);
        let argument = self.arg(prim, 0, path, &Ty::Str);
        let data = self.meta();
        self.expect(&rows(data.clone()), ty, span, &Reason::new("the table"));
        self.require(Class::Data, &data, span, spelled(prim));
        self.call(prim, &[data], vec![argument], ty.clone(), span)
    }

    /// The type of what a file holds.
    fn file_type(&mut self, prim: Prim, file: &str, at: Span) -> Result<Ty, NoHeader> {
        match prim {
            Prim::Io(IoFn::ReadNpy) => self.npy_type(file, at),
            Prim::Io(IoFn::OpenRows) => self.rows_type(file, at),
            Prim::Io(reader) => self.table_type(reader, file),
            _ => Ok(Ty::Unit),
        }
    }

    fn rows_type(&mut self, file: &str, at: Span) -> Result<Ty, NoHeader> {
        Ok(rows(match self.host.row_type(file)? {
            RowType::Record(columns) => record(columns.iter().map(|(n, c)| (n.as_str(), column_type(*c)))),
            RowType::Numbers(c, shape) => shape.iter().rev().fold(column_type(c), |t, n| array(Size::from(*n, at), t)),
        }))
    }

    fn table_type(&mut self, reader: IoFn, file: &str) -> Result<Ty, NoHeader> {
        let columns = self.host.table_header(reader, file)?;
        Ok(record(columns.iter().map(|(n, c)| (n.as_str(), array(Size::Unknown, column_type(*c))))))
    }

    fn npy_type(&mut self, file: &str, at: Span) -> Result<Ty, NoHeader> {
        let arrays = self.host.npy_header(file)?;
        let ty =
            |c: Column, shape: &[u64]| shape.iter().rev().fold(column_type(c), |t, n| array(Size::from(*n, at), t));
        if let [(name, c, shape)] = arrays.as_slice()
            && name.is_empty()
        {
            return Ok(ty(*c, shape));
        }
        Ok(record(arrays.iter().map(|(n, c, s)| (n.as_str(), ty(*c, s)))))
    }
}

/// The record with these fields, which are shown in this order.
fn record<'a>(fields: impl Iterator<Item = (&'a str, Ty)>) -> Ty {
    let mut fields: Vec<(Symbol, Ty)> = fields.map(|(n, t)| (Symbol::new(n), t)).collect();
    field_order::written(fields.iter().map(|(n, _)| *n));
    fields.sort_by_key(|(n, _)| n.as_str());
    Ty::Record(Rc::new(RecordTy { fields, tail: None }))
}

/// The code of the error for a missing file.
const MISSING: &str = "E0801";

const FROM_THE_FILE: &str = "the file is looked at before anything runs, for its type; with an annotation, as in `let t : {a : [_]Float} = ...`, it may be written by the program";

const NAMED_COLUMNS: &str =
    "with an annotation, as in `let t : {a : [_]Float} = ...`, only the columns that it names are read";

const ROWS_FROM_THE_FILE: &str = "the file is looked at before anything runs, for its type; with an annotation, as in `let t : Rows {a : Float} = ...`, it may be written by the program";

const NAMED_ROWS: &str =
    "with an annotation, as in `let t : Rows {a : Float} = ...`, only the columns that it names are read";

/// The type as which a file is read if another one is expected: whole numbers as Floats, Floats as F32.
fn converted(known: &Ty, want: &Ty) -> Ty {
    match (known, want) {
        (Ty::Array(n, k), Ty::Array(_, w)) => array(*n, converted(k, w)),
        (Ty::Record(k), Ty::Record(w)) => {
            let field = |(name, t): &(Symbol, Ty)| {
                let wanted = w.fields.iter().find(|(n, _)| n == name);
                (*name, wanted.map_or_else(|| t.clone(), |(_, w)| converted(t, w)))
            };
            Ty::Record(Rc::new(RecordTy { fields: k.fields.iter().map(field).collect(), tail: None }))
        }
        (Ty::Int | Ty::Float, Ty::Float | Ty::F32) => want.clone(),
        _ => known.clone(),
    }
}

/// Whether a type contains no undetermined parts.
pub(super) fn settled(t: &Ty) -> bool {
    match t {
        Ty::Meta(_) => false,
        Ty::Record(r) => r.tail.is_none() && r.fields.iter().all(|(_, t)| settled(t)),
        Ty::Array(_, e) => settled(e),
        Ty::Tuple(ps) => ps.iter().all(settled),
        Ty::Data(_, args) => args.iter().all(settled),
        Ty::Fun(a, b) | Ty::Lin(a, b) => settled(a) && settled(b),
        Ty::Unit | Ty::Bool | Ty::Int | Ty::Float | Ty::F32 | Ty::Str | Ty::Var(_) => true,
    }
}

fn column_type(c: Column) -> Ty {
    match c {
        Column::Int => Ty::Int,
        Column::Float => Ty::Float,
        Column::Bool => Ty::Bool,
        Column::Text => Ty::Str,
    }
}

/// The number of elements of a constant shape.
fn product(sizes: &[Size]) -> Option<u64> {
    sizes.iter().try_fold(1u64, |acc, s| match s {
        Size::Const(k, _) => acc.checked_mul(*k),
        _ => None,
    })
}

/// The name of a primitive in source programs.
fn spelled(p: Prim) -> &'static str {
    match p {
        Prim::Random(RandomFn::RandUniform) => "random.uniform",
        Prim::Random(RandomFn::RandNormal) => "random.normal",
        Prim::Random(RandomFn::RandInt) => "random.int",
        Prim::Io(IoFn::OpenRows) => "rows.open",
        p => p.name(),
    }
}
