//! Trials: what is inferred on a copy of the state, to see whether it has no error. Arguments that do not fit are tried (`misfits`), and
//! so is a function where a linear one is expected.

use super::apply::strip;
use super::{Infer, map_type, mk, zonk};
use crate::core::{ExprKind, Item, Lit};
use crate::errors::calls;
use crate::ty::{Scheme, Size, Ty};
use adl_syntax::ast;
use adl_syntax::diag::Diagnostic;
use adl_syntax::span::Span;
use adl_syntax::symbol::Symbol;
use std::collections::HashMap;

/// So often something is tried in one text.
const MAX_TRIALS: usize = 200;

/// What an expression in a trial stands for.
#[derive(Clone, Default)]
pub(super) struct Trial {
    /// Nothing is tried inside a trial.
    pub on: bool,
    /// The type of the argument that was added.
    pub hole: Option<Ty>,
}

impl Infer<'_> {
    /// Does something with a copy of what has been inferred so far, which is then forgotten.
    pub(super) fn attempt<T>(&mut self, f: impl FnOnce(&mut Infer<'_>) -> T) -> Option<T> {
        if self.trial.on || self.tables.tried >= MAX_TRIALS {
            return None;
        }
        self.tables.tried += 1;
        let looked_for = std::mem::replace(&mut self.tables.looked_for, usize::MAX / 2);
        let out = f(&mut self.copy());
        self.tables.looked_for = looked_for;
        Some(out)
    }

    /// What has been inferred so far, without its errors.
    fn copy(&mut self) -> Infer<'_> {
        Infer {
            env: self.env.clone(),
            tables: self.tables,
            host: self.host,
            internal: self.internal,
            metas: self.metas.clone(),
            sizes: self.sizes.clone(),
            size_levels: self.size_levels.clone(),
            scope: self.scope.clone(),
            level: self.level,
            locals: self.locals,
            ops: self.ops.clone(),
            diags: Vec::new(),
            type_names: self.type_names.clone(),
            size_names: self.size_names.clone(),
            size_labels: self.size_labels.clone(),
            size_locals: self.size_locals.clone(),
            rep_locals: self.rep_locals.clone(),
            rec_reps: self.rec_reps.clone(),
            rigid: self.rigid.clone(),
            promised: self.promised.clone(),
            given: self.given.clone(),
            beside: self.beside.clone(),
            spaces: Vec::new(),
            points: Vec::new(),
            functions: self.functions,
            defining: self.defining.clone(),
            depth: self.depth,
            met_at: self.met_at,
            rows: self.rows.clone(),
            finals: zonk::Finals::default(),
            reads: HashMap::new(),
            trial: Trial { on: true, hole: None },
        }
    }

    /// Whether an expression is a function.
    pub(super) fn fits_function(&mut self, e: &ast::Expr) -> bool {
        let found = self.attempt(|me| {
            let e = me.infer(e, None);
            matches!(me.resolve(&e.ty), Ty::Fun(..) | Ty::Lin(..))
        });
        found == Some(true)
    }

    /// Whether an expression is an array.
    pub(super) fn fits_array(&mut self, e: &ast::Expr) -> bool {
        self.attempt(|me| {
            let e = me.infer(e, None);
            matches!(me.resolve(&e.ty), Ty::Array(..))
        }) == Some(true)
    }

    /// A place for what a trial adds to the arguments.
    pub(super) fn hole(&mut self, span: Span) -> crate::core::Expr {
        let ty = self.meta();
        self.trial.hole = Some(ty.clone());
        mk(ExprKind::Lit(Lit::Unit), ty, span)
    }

    /// A type of a trial, whose own inference variables are new ones outside.
    pub(super) fn brought_out(&mut self, t: &Ty) -> Ty {
        let (types, sizes) = (self.metas.len() as u32, self.sizes.len() as u32);
        let mut new: HashMap<u32, Ty> = HashMap::new();
        map_type(t, &mut |t| match t {
            Ty::Meta(m) if *m >= types => Some(new.entry(*m).or_insert_with(|| self.meta()).clone()),
            _ => None,
        }, &mut |s| match s {
            Size::Meta(m) if m >= sizes => Size::Unknown,
            s => s,
        })
    }

<<<<<<< HEAD
=======
    /// The call with one of its arguments as another type of number.
    fn with_conversion(&mut self, f: &ast::Expr, args: &[&ast::Expr], want: Option<&Ty>, span: Span) -> Option<Diagnostic> {
        for (i, a) in args.iter().enumerate() {
            let found = self.attempt(|me| {
                let e = me.infer(a, None);
                me.solve_ops();
                me.resolve_deep(&e.ty)
            })?;
            let mut leaf = &found;
            while let Ty::Array(_, e) = leaf {
                leaf = e;
            }
            let conversions: &[&str] = match leaf {
                Ty::Int => &["float", "to_f32"],
                Ty::Float => &["int", "to_f32"],
                Ty::F32 => &["to_float"],
                _ => continue,
            };
            for convert in conversions {
                let call = ast::Expr { kind: ast::ExprKind::Var(Symbol::new(convert)), span: a.span };
                let whole = ast::Expr { kind: ast::ExprKind::App(Box::new(call), vec![(*a).clone()]), span: a.span };
                let mut all = args.to_vec();
                all[i] = &whole;
                if self.fits(f, &all, want, span).is_some() {
                    let new = super::clash::conversion(convert, self.host.text(a.span));
                    let expected = match *convert {
                        "int" => "Int",
                        "to_f32" => "F32",
                        _ => "Float",
                    };
                    let expected = self.show(&map_type(&found, &mut |_| None, &mut |s| s)).replace(&self.show(leaf), expected);
                    let found = self.show(&found);
                    return Some(calls::converted(a.span, (i, &describe(f)), (expected, found), new));
                }
            }
        }
        None
    }

    /// Whether a function takes more arguments than are given.
    fn takes_more(&mut self, f: &ast::Expr, given: usize) -> bool {
        let more = self.attempt(|me| {
            let callee = me.infer(f, None);
            let (_, rest, wrong) = me.parameters_of(&callee, given);
            wrong.is_none() && matches!(me.resolve(&rest), Ty::Fun(..) | Ty::Lin(..))
        });
        more == Some(true)
    }

    fn one_too_many(&mut self, f: &ast::Expr, args: &[&ast::Expr], want: Option<&Ty>, span: Span) -> Option<Diagnostic> {
        let last = args.len().checked_sub(1)?;
        // That the last one is too many is what the message says anyway.
        if last == 0 || self.fits(f, &args[..last], want, span).is_some() {
            return None;
        }
        for place in 0..last {
            let mut others = args.to_vec();
            let out = others.remove(place);
            if self.fits(f, &others, want, span).is_some() {
                let all = std::iter::once(f).chain(others).map(|e| self.host.text(e.span).to_owned()).collect::<Vec<_>>().join(" ");
                let (name, cut) = (describe(f), Span { hi: args[place + 1].span.lo, ..out.span });
                return Some(calls::one_too_many(out.span, &name, (args.len() - 1, args.len()), place, all, cut));
            }
        }
        None
    }

    /// A value beside a function that has a type: `optim.lbfgs_defaults` for `optim.lbfgs`.
    fn default_of(&mut self, f: &ast::Expr, ty: &Ty) -> Option<String> {
        if !matches!(self.resolve(ty), Ty::Record(_) | Ty::Data(..)) {
            return None;
        }
        let (module, name) = match &strip(f).kind {
            ast::ExprKind::Var(n) => (None, *n),
            ast::ExprKind::Field(m, n) => match &m.kind {
                ast::ExprKind::Var(m) | ast::ExprKind::Con(None, ast::Ident { name: m, .. }) => (Some(*m), n.name),
                _ => return None,
            },
            _ => return None,
        };
        let env = match module {
            Some(m) => self.module(m)?,
            None => Rc::new(self.env.clone()),
        };
        let mut named: Vec<(Symbol, Rc<Scheme>)> = env.values.iter().filter(|(n, _)| n.as_str().ends_with("defaults")).map(|(n, g)| (*n, g.scheme.clone())).collect();
        // The one that is called after the function goes first.
        named.sort_by_key(|(n, _)| (!n.as_str().starts_with(name.as_str()), n.as_str()));
        let fits = |me: &mut Self, s: &Scheme| {
            me.attempt(|me| {
                let (t, _) = me.instantiate(s, Span::default(), "");
                me.unify(&ty.clone(), &t).is_ok()
            }) == Some(true)
        };
        let (found, _) = named.into_iter().find(|(_, s)| fits(self, s))?;
        Some(module.map_or_else(|| found.to_string(), |m| format!("{m}.{found}")))
    }

>>>>>>> spread
    /// What is not linear in a function that is given where a linear one is wanted, or nothing if it is linear; `None` if its text is not known.
    pub(super) fn not_linear_in(&mut self, a: &ast::Expr) -> Option<Option<Diagnostic>> {
        let (lin, here) = match &strip(a).kind {
            ast::ExprKind::Fun(params, body) => (as_linear(params, body)?, true),
            ast::ExprKind::Var(name) if self.lookup(*name).is_none() => (self.defined_as(*name)?, false),
            _ => return None,
        };
        self.attempt(|me| {
            if !here {
                me.scope = Default::default();
                me.level = 0;
            }
            let e = me.infer(&lin, None);
            me.solve_ops();
            if let Ty::Lin(p, _) = me.resolve(&e.ty) {
                me.make_floats(&p);
            }
            me.zonk_item(Item::Expr(e));
            me.diags.iter().find(|d| d.is_error()).cloned()
        })
        .filter(|d| d.as_ref().is_none_or(|d| d.code == "E0501"))
    }

    /// What is not known in a type is a Float.
    fn make_floats(&mut self, t: &Ty) {
        let mut open = Vec::new();
        map_type(&self.resolve_deep(t), &mut |t| {
            if matches!(t, Ty::Meta(_)) {
                open.push(t.clone());
            }
            None
        }, &mut |s| s);
        for t in open {
            let _ = self.unify(&t, &Ty::Float);
        }
    }

    /// The function of one parameter that a name is defined as, as a linear one, from the text of its definition.
    fn defined_as(&mut self, name: Symbol) -> Option<ast::Expr> {
        let at = self.env.value(name)?.span;
        let (_, whole) = *self.tables.defined.get(&name)?.iter().find(|(_, whole)| whole.file == at.file && whole.lo <= at.lo && at.hi <= whole.hi)?;
        let text = self.host.text(Span { lo: 0, ..whole }).to_owned();
        let (program, _) = adl_syntax::parse(whole.file, &text);
        let item = program.items.into_iter().find(|i| i.span.lo == whole.lo)?;
        let ast::ItemKind::Let(group) = item.kind else { return None };
        let binding = group.bindings.into_iter().find(|b| matches!(b.pat.kind, ast::PatKind::Var(n) if n == name)).filter(|_| !group.rec)?;
        match (binding.params.as_slice(), &binding.body.kind) {
            ([], ast::ExprKind::Fun(params, body)) => as_linear(params, body),
            (params, _) => as_linear(params, &binding.body),
        }
    }
}

/// `fun p -> e` as `lin p -> e`.
fn as_linear(params: &[ast::Pat], body: &ast::Expr) -> Option<ast::Expr> {
    let [p] = params else { return None };
    Some(ast::Expr { span: p.span.to(body.span), kind: ast::ExprKind::Lin(Box::new(p.clone()), Box::new(body.clone())) })
}

/// Names that the definitions of a text give, each with its place and that of its definition.
pub fn definitions(items: &[ast::Item]) -> HashMap<Symbol, Vec<(Span, Span)>> {
    let mut all: HashMap<Symbol, Vec<(Span, Span)>> = HashMap::new();
    for item in items {
        if let ast::ItemKind::Let(group) = &item.kind {
            let mut names = Vec::new();
            group.bindings.iter().for_each(|b| super::items::bound(&b.pat, &mut names));
            names.into_iter().for_each(|(name, at)| all.entry(name).or_default().push((at, item.span)));
        }
    }
    all
}
