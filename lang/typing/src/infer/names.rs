//! Names: variables, members of modules, primitives as values.

use super::{Infer, array, fun, map_type, mk, pending};
use crate::core::{self, ExprKind};
use crate::errors::foreign_names::{self, Counterpart};
use crate::errors::{mismatch, names};
use crate::limits::infer_names::MAX_LOOKED_FOR;
use crate::ty::{Class, Size, SizeVar, Ty};
use adl_prim::{ArrayFn, Bin, DerivativeFn, Prim, RandomFn, ReductionFn, Un};
use adl_syntax::ast;
use adl_syntax::diag::Diagnostic;
use adl_syntax::span::Span;
use adl_syntax::symbol::Symbol;
use std::collections::HashMap;

impl Infer<'_> {
    pub(super) fn variable(&mut self, name: Symbol, span: Span) -> core::Expr {
        if let Some(bound) = self.lookup(name).cloned() {
            // A member of a recursive group of globals is in scope under a reserved local.
            let kind = if bound.recursive.is_some() && bound.local.0 > u32::MAX / 2 {
                ExprKind::Global(core::GlobalId(u32::MAX - bound.local.0))
            } else {
                ExprKind::Local(bound.local)
            };
            if let Some(r) = &bound.recursive {
                if self.enclosing.functions == r.functions {
                    self.report(names::too_early(span, name.as_str(), r.at));
                }
                let ty = self.with_fresh_sizes(&bound.scheme.ty, &r.outer);
                return mk(ExprKind::Inst(mk(kind, ty.clone(), span), Vec::new()), ty, span);
            }
            return self.instance(kind, &bound.scheme, span, name.as_str());
        }
        if let Some(g) = self.env.value(name).cloned() {
            if let Some(p) = g.alias {
                return self.prim_value(p, span);
            }
            return self.instance(ExprKind::Global(g.id), &g.scheme, span, g_name(name));
        }
        if self.env.broken.contains_key(&name) {
            return self.error_expr(span);
        }
        if let Some(p) = self.visible_prim(name) {
            return self.prim_value(p, span);
        }
        if let Some(home) = self.host.prelude_home(name.as_str())
            && let Some(g) = self.host.std_module(home).and_then(|m| m.value(name).cloned())
        {
            return self.instance(ExprKind::Global(g.id), &g.scheme, span, g_name(name));
        }
        let d = self.unknown(name, span);
        self.report(d);
        self.error_expr(span)
    }

    /// The type of a recursive use: each call may have its own values for the sizes that the function's annotations
    /// name.
    fn with_fresh_sizes(&mut self, t: &Ty, outer: &[SizeVar]) -> Ty {
        let t = self.resolve_deep(t);
        let mut fresh: HashMap<SizeVar, Size> = HashMap::new();
        map_type(&t, &mut |_| None, &mut |s| match s {
            Size::Var(v) if !outer.contains(&v) => *fresh.entry(v).or_insert_with(|| self.size_meta()),
            s => s,
        })
    }

    /// The candidate nearest to an unknown name, of equally near ones that of the first group. In a text with very many unknown names the later ones go without.
    pub(super) fn nearest<'a, const N: usize>(
        &mut self,
        name: &str,
        groups: impl FnOnce(&Self) -> [Vec<&'a str>; N],
    ) -> Option<String> {
        self.tables.looked_for += 1;
        if self.tables.looked_for > MAX_LOOKED_FOR {
            return None;
        }
        names::nearest_of(name, groups(self).map(Vec::into_iter)).map(str::to_owned)
    }

    /// Whether an unknown name is similar to a known one.
    pub(super) fn has_near(&mut self, name: Symbol) -> bool {
        self.near(name).is_some()
    }

    fn near(&mut self, name: Symbol) -> Option<String> {
        self.nearest(name.as_str(), |me| {
            let own = me.scope.iter().map(|b| b.name.as_str()).chain(me.env.values.keys().map(|s| s.as_str()));
            let library = Prim::ALL.iter().map(|p| p.name()).chain(me.host.std_modules());
            [own.collect(), library.collect()]
        })
    }

    fn unknown(&mut self, name: Symbol, span: Span) -> Diagnostic {
        if let Some((_, at, function)) = self.enclosing.defining.iter().rev().find(|(n, _, _)| *n == name) {
            return names::needs_rec(span, name.as_str(), *at, *function);
        }
        if let Some(d) = self.later(name, span).or_else(|| self.nearly(name, span)) {
            return d;
        }
        if self.tables.looked_for >= MAX_LOOKED_FOR {
            return names::Unknown { what: None, name: name.as_str(), span, near: None }.diagnostic();
        }
        let members: Vec<String> = self.host.std_homes(name.as_str()).iter().map(|m| format!("{m}.{name}")).collect();
        if !members.is_empty() {
            return names::Unknown { what: None, name: name.as_str(), span, near: Some(members.join("` or `")) }
                .diagnostic();
        }
        let near = self.near(name);
        let d = names::Unknown { what: None, name: name.as_str(), span, near }.diagnostic();
        if self.enclosing.indices.contains(&name) { names::index_beside(d) } else { d }
    }

    /// An error for a name that is defined further down.
    fn later(&self, name: Symbol, span: Span) -> Option<Diagnostic> {
        let (at, whole) =
            self.tables.defined.get(&name)?.iter().find(|(at, _)| at.file == span.file && at.lo > span.hi)?;
        let uses = |f: &Symbol| {
            self.host
                .text(*whole)
                .split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '\''))
                .any(|w| w == f.as_str())
        };
        let around =
            self.tables.defined.iter().find(|(_, places)| {
                places.iter().any(|(_, w)| w.file == span.file && w.lo <= span.lo && span.hi <= w.hi)
            });
        let within = around.map(|(f, _)| *f).filter(uses);
        Some(names::later(span, name.as_str(), (*at, &self.host.line(*at, span)), within.as_ref().map(|f| f.as_str())))
    }

    /// `some` for `Some`, and `a'` for `a.T`.
    fn nearly(&mut self, name: Symbol, span: Span) -> Option<Diagnostic> {
        let text = name.as_str();
        let mut letters = text.chars();
        let capital: String = letters.next()?.to_uppercase().chain(letters).collect();
        let taken = foreign_names::value(text).is_some() || !self.host.std_homes(text).is_empty();
        if !taken && self.env.con(Symbol::new(&capital)).is_some() {
            return Some(names::capital(span, text, &capital));
        }
        let of = text.strip_suffix('\'').filter(|of| !of.ends_with('\''))?;
        self.is_defined(Symbol::new(of)).then(|| names::transposed(span, text, of))
    }

    /// `read_csv data.csv`: a file name without quotes.
    pub(super) fn file_name(&mut self, r: &ast::Expr, name: ast::Ident, span: Span) -> Option<core::Expr> {
        let ast::ExprKind::Var(root) = r.kind else { return None };
        if !matches!(name.name.as_str(), "csv" | "tsv" | "txt" | "json" | "npy" | "npz" | "adl")
            || self.is_defined(root)
            || self.module(root).is_some()
        {
            return None;
        }
        self.report(names::file_name(span, self.host.text(span)));
        Some(self.error_expr(span))
    }

    /// The adl counterparts of an unknown module member.
    fn called(&mut self, member: &str) -> (Vec<String>, Option<Counterpart>) {
        let ours = foreign_names::value(member);
        let name = match ours {
            Some(Counterpart::Name(n)) => n,
            _ => member,
        };
        if name.contains('.') || self.is_defined(Symbol::new(name)) {
            return (vec![name.to_owned()], None);
        }
        let homes = self.host.std_homes(name).iter().map(|m| format!("{m}.{name}")).collect();
        (homes, ours)
    }

    /// `np.linalg.norm`, `List.map`: a path into a library of another language. One error covers the whole path.
    pub(super) fn library_member(&mut self, r: &ast::Expr, name: ast::Ident, span: Span) -> Option<core::Expr> {
        let mut root = r;
        while let ast::ExprKind::Field(inner, _) = &root.kind {
            root = inner;
        }
        let (library, module) = match &root.kind {
            ast::ExprKind::Con(None, m) => (m.name, true),
            ast::ExprKind::Var(m) => (*m, false),
            _ => return None,
        };
        let local = !module && self.lookup(library).is_some();
        if local || !foreign_names::is_library(library.as_str()) || self.module(library).is_some() {
            return None;
        }
        if if module { self.env.con(library).is_some() } else { self.is_defined(library) } {
            return None;
        }
        let (mut ours, words) = self.called(name.name.as_str());
        // Modules of lists, strings and tables have their own counterparts.
        let home = match library.as_str() {
            "List" => "list",
            "String" | "Bytes" => "io",
            "Map" | "Hashtbl" => "maps",
            "Set" => "sets",
            "Option" => "option",
            _ => "",
        };
        if self.host.std_homes(name.name.as_str()).contains(&home) {
            ours.retain(|_| home == "list");
            ours.push(format!("{home}.{}", name.name));
            ours.dedup();
        }
        let words = words.or(foreign_names::library(library.as_str()).filter(|_| ours.is_empty()));
        let d = names::of_library(span, self.host.text(span), module, &ours, words);
        self.report(d);
        Some(self.error_expr(span))
    }

    /// A primitive as a value.
    pub(super) fn prim_value(&mut self, prim: Prim, span: Span) -> core::Expr {
        if let Some(e) = self.operator_value(prim, span).or_else(|| self.reduction_value(prim, span)) {
            return e;
        }
        if !self.internal
            && matches!(
                prim,
                Prim::Array(ArrayFn::Reshape)
                    | Prim::Random(RandomFn::RandUniform | RandomFn::RandNormal | RandomFn::RandInt)
            )
        {
            let d = mismatch::unknown_shape(span, self.host.text(span));
            self.report(d);
            return self.error_expr(span);
        }
        let (adl_prim::Typing::Scheme(text) | adl_prim::Typing::Elementwise(text) | adl_prim::Typing::Special(text)) =
            prim.row().typing;
        let scheme = self.prim_scheme(text);
        let (ty, reps) = self.instantiate(&scheme, span, prim.name());
        if differentiates(prim) {
            self.at_end.points.extend(reps.first().map(|t| (t.clone(), span, prim.name())));
        }
        mk(ExprKind::Prim(prim, reps.iter().map(pending).collect()), ty, span)
    }

    /// Elementwise primitives as values. The context decides whether their operands are scalars or arrays.
    pub(super) fn operator_value(&mut self, prim: Prim, span: Span) -> Option<core::Expr> {
        let elementwise = matches!(prim.row().typing, adl_prim::Typing::Elementwise(_));
        let arithmetic = matches!(
            prim,
            Prim::Bin(Bin::Add | Bin::Sub | Bin::Mul | Bin::Div | Bin::IntDiv | Bin::Rem | Bin::Pow)
                | Prim::Un(Un::Neg)
                | Prim::Array(ArrayFn::Append | ArrayFn::Where | ArrayFn::Diag | ArrayFn::Stack)
                | Prim::Reduction(ReductionFn::MatMul)
        );
        if !elementwise && !arithmetic {
            return None;
        }
        let args: Vec<Ty> = (0..prim.row().arity).map(|_| self.meta()).collect();
        let res = self.operate(prim, args.iter().map(|t| (t.clone(), span)).collect(), span);
        let ty = args.into_iter().rev().fold(res, |r, a| fun(a, r));
        Some(mk(ExprKind::Prim(prim, Vec::new()), ty, span))
    }

    /// A reduction as a value. The context decides whether it reduces numbers, arrays or data.
    fn reduction_value(&mut self, prim: Prim, span: Span) -> Option<core::Expr> {
        if !matches!(
            prim,
            Prim::Reduction(ReductionFn::Sum | ReductionFn::Prod | ReductionFn::Mean | ReductionFn::Norm)
        ) {
            return None;
        }
        let (n, t) = (self.size_meta(), self.meta());
        let xs = array(n, t.clone());
        let (res, reps) = match prim {
            Prim::Reduction(ReductionFn::Norm) => (self.number(Class::Real, span, "`norm`"), Vec::new()),
            _ => (self.reduced(prim, &t, span), vec![pending(&t)]),
        };
        if prim == Prim::Reduction(ReductionFn::Norm) {
            self.operate_to(prim, vec![(xs.clone(), span)], res.clone(), span);
        }
        Some(mk(ExprKind::Prim(prim, reps), fun(xs, res), span))
    }

    /// `M.f` and `random.key`.
    pub(super) fn module_member(&mut self, r: &ast::Expr, name: ast::Ident, span: Span) -> Option<core::Expr> {
        let (module, at) = match &r.kind {
            ast::ExprKind::Con(None, m) => (m.name, m.span),
            ast::ExprKind::Var(m) if self.lookup(*m).is_none() && self.env.value(*m).is_none() => (*m, r.span),
            _ => return None,
        };
        let Some(env) = self.module(module) else {
            if matches!(r.kind, ast::ExprKind::Con(..)) {
                self.report(names::unknown_module(at, module.as_str()));
                return Some(self.error_expr(span));
            }
            return None;
        };
        if let Some(g) = env.values.get(&name.name).cloned() {
            if let Some(p) = g.alias {
                return Some(self.prim_value(p, span));
            }
            return Some(self.instance(ExprKind::Global(g.id), &g.scheme, span, g_name(name.name)));
        }
        if env.broken.contains_key(&name.name) {
            return Some(self.error_expr(span));
        }
        let path = format!("{module}.{}", name.name);
        let (ours, _) = self.called(name.name.as_str());
        let d = match ours.is_empty() {
            false => names::elsewhere(span, &path, &ours),
            true => {
                let near = self
                    .nearest(name.name.as_str(), |_| [env.values.keys().map(|s| s.as_str()).collect()])
                    .map(|n| format!("{module}.{n}"));
                names::Unknown { what: None, name: &path, span, near }.diagnostic()
            }
        };
        self.report(d);
        Some(self.error_expr(span))
    }

    /// The primitive that a module member is an alias of.
    pub(super) fn member_alias(&mut self, e: &ast::Expr) -> Option<Prim> {
        let ast::ExprKind::Field(r, name) = &e.kind else { return None };
        let module = match &r.kind {
            ast::ExprKind::Con(None, m) => m.name,
            ast::ExprKind::Var(m) if self.lookup(*m).is_none() && self.env.value(*m).is_none() => *m,
            _ => return None,
        };
        self.module(module)?.values.get(&name.name)?.alias
    }
}

/// Whether a primitive differentiates at its first type variable.
fn differentiates(p: Prim) -> bool {
    use Prim as P;
    matches!(
        p,
        P::Derivative(
            DerivativeFn::Grad
                | DerivativeFn::ValueAndGrad
                | DerivativeFn::Jvp
                | DerivativeFn::Vjp
                | DerivativeFn::Linearize
                | DerivativeFn::Hvp
                | DerivativeFn::Gradcheck
                | DerivativeFn::GradWith
                | DerivativeFn::ValueAndGradWith
                | DerivativeFn::ResidualsUnder
        )
    )
}

fn g_name(name: Symbol) -> &'static str {
    name.as_str()
}
