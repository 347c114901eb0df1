//! Arguments that do not type-check. They are tried in another order, as a tuple or separately, with one argument more
//! or less, converted, and with a function of a similar name. A variant without errors was most likely meant.

use super::apply::{describe, strip};
use super::{Infer, map_type};
use crate::errors::{calls, records};
use crate::limits::infer_argument_trials::{MAX_ARGUMENTS, MAX_BYTES};
use crate::ty::{Scheme, Ty};
use adl_prim::Prim;
use adl_syntax::ast;
use adl_syntax::diag::Diagnostic;
use adl_syntax::span::Span;
use adl_syntax::symbol::Symbol;
use std::rc::Rc;

/// A call with an error.
#[derive(Clone, Copy)]
pub(super) struct TriedCall<'a> {
    pub f: &'a ast::Expr,
    pub args: &'a [&'a ast::Expr],
    /// The expected type of its result.
    pub want: Option<&'a Ty>,
    pub span: Span,
}

impl<'a> TriedCall<'a> {
    /// The same call with other arguments.
    fn with<'b>(self, args: &'b [&'b ast::Expr]) -> TriedCall<'b>
    where
        'a: 'b,
    {
        TriedCall { args, ..self }
    }
}

impl Infer<'_> {
    /// Called after a call with errors, which are those from `before` on. Replaces them if other arguments fit.
    pub(super) fn other_arguments(&mut self, call: TriedCall<'_>, before: usize) {
        let TriedCall { f: callee, args, span, .. } = call;
        let first =
            self.diags[before..].iter().find(|d| d.is_error()).map(|d| (d.code, d.primary.span, d.hint.is_some()));
        let Some((code, at, advised)) = first else { return };
        let here =
            args.iter().any(|a| a.span == at || super::exprs::last_span(a) == at) || at == span || at == callee.span;
        let large = args.len() > MAX_ARGUMENTS || span.hi - span.lo > MAX_BYTES;
        if self.trial.on
            || large
            || !here
            || !matches!(code, "E0203" | "E0204" | "E0205" | "E0206" | "E0210" | "E0211" | "E0601" | "E0602" | "E0604")
        {
            return;
        }
        let more = self.diags[before..].iter().any(|d| d.code == "E0204");
        let found = match code {
            _ if more && advised => None,
            _ if more => self.one_too_many(call).or_else(|| self.similarly_named(call)),
            // An error inside the function says nothing about the arguments of the call.
            "E0203" if at == callee.span => self.with_conversion(call).or_else(|| self.reordered(call)),
            _ => self
                .as_tuple(call)
                .or_else(|| self.reordered(call))
                .or_else(|| self.one_missing(call, advised))
                .or_else(|| self.part_of_options(call, at))
                .or_else(|| if advised || code != "E0203" { None } else { self.similarly_named(call) }),
        };
        if let Some(mut diagnostic) = found {
            // Keep the place of the operation that rejects them.
            diagnostic.secondary.extend(
                self.diags[before..]
                    .iter()
                    .filter(|d| d.is_error())
                    .flat_map(|d| d.secondary.iter().filter(|l| l.text.starts_with("this operation")).cloned())
                    .take(1),
            );
            let mut n = 0;
            self.diags.retain(|d| {
                n += 1;
                n <= before || !d.is_error()
            });
            self.report(diagnostic);
        }
    }

    /// Whether a call has no error. If so, also the type of the argument that was added.
    fn fits(&mut self, call: TriedCall<'_>) -> Option<Option<Ty>> {
        self.attempt(|me| {
            let e = me.apply_to(call.f, call.args, call.want, call.span, false);
            me.solve_ops();
            let suits = call.want.is_none_or(|w| me.unify(&w.clone(), &e.ty).is_ok());
            me.check_points();
            (suits && me.diags.is_empty()).then(|| me.trial.hole.clone().map(|t| me.resolve_deep(&t)))
        })
        .flatten()
    }

    /// Tries the arguments as one tuple, or a tuple as several arguments.
    fn as_tuple(&mut self, call: TriedCall<'_>) -> Option<Diagnostic> {
        let TriedCall { f: callee, args, .. } = call;
        if let ([one], ast::ExprKind::Tuple(parts)) = (args, &strip(args[0]).kind) {
            let all: Vec<&ast::Expr> = parts.iter().collect();
            self.fits(call.with(&all))?;
            let new = parts.iter().map(|p| self.as_argument(p)).collect::<Vec<_>>().join(" ");
            let behind = self
                .host
                .text(Span { lo: one.span.lo.saturating_sub(1), hi: one.span.lo, ..one.span })
                .starts_with(char::is_whitespace);
            let spaced = if behind { new.clone() } else { format!(" {new}") };
            return Some(calls::one_by_one(one.span, &describe(callee), self.host.text(callee.span), &new, spaced));
        }
        for from in (0..args.len().checked_sub(1)?).rev() {
            let place = args[from].span.to(args[args.len() - 1].span);
            let parts: Vec<ast::Expr> = args[from..].iter().map(|a| (*a).clone()).collect();
            let tuple = ast::Expr { kind: ast::ExprKind::Tuple(parts), span: place };
            let mut all = args[..from].to_vec();
            all.push(&tuple);
            if self.fits(call.with(&all)).is_some() && !self.waits(call.with(&all)) {
                let parts = args[from..].iter().map(|a| self.host.text(a.span)).collect::<Vec<_>>().join(", ");
                let call: Vec<&str> = std::iter::once(callee)
                    .chain(args[..from].iter().copied())
                    .map(|e| self.host.text(e.span))
                    .collect();
                return Some(calls::as_tuple(
                    place,
                    &describe(callee),
                    (from, args.len() - from),
                    &call.join(" "),
                    parts,
                ));
            }
        }
        None
    }

    /// Whether a call returns a function.
    fn waits(&mut self, call: TriedCall<'_>) -> bool {
        self.attempt(|me| {
            let e = me.apply_to(call.f, call.args, None, call.span, false);
            matches!(me.resolve(&e.ty), Ty::Fun(..) | Ty::Lin(..))
        }) != Some(false)
    }

    /// The source of an expression as an argument, in parentheses if needed.
    fn as_argument(&self, e: &ast::Expr) -> String {
        let text = self.host.text(e.span);
        let plain = matches!(
            e.kind,
            ast::ExprKind::Lit(_)
                | ast::ExprKind::Var(_)
                | ast::ExprKind::Paren(_)
                | ast::ExprKind::Tuple(_)
                | ast::ExprKind::Array(_)
                | ast::ExprKind::Field(..)
                | ast::ExprKind::Index(..)
                | ast::ExprKind::Record(_)
        );
        if plain { text.to_owned() } else { format!("({text})") }
    }

    fn reordered(&mut self, call: TriedCall<'_>) -> Option<Diagnostic> {
        let TriedCall { f, args, .. } = call;
        for order in orders(args.len()) {
            let other: Vec<&ast::Expr> = order.iter().map(|i| args[*i]).collect();
            if self.fits(call.with(&other)).is_some() {
                let texts: Vec<String> = args.iter().map(|a| self.host.text(a.span).to_owned()).collect();
                let spans: Vec<Span> = args.iter().map(|a| a.span).collect();
                return Some(calls::other_order(&describe(f), self.host.text(f.span), &spans, &texts, &order));
            }
        }
        None
    }

    fn one_missing(&mut self, call: TriedCall<'_>, advised: bool) -> Option<Diagnostic> {
        let TriedCall { f: callee, args, .. } = call;
        if !self.takes_more(callee, args.len()) {
            return None;
        }
        for place in 0..args.len() {
            let at = args[place].span;
            let hole = ast::Expr { kind: ast::ExprKind::Error, span: Span { hi: at.lo, ..at } };
            let mut all = args.to_vec();
            all.insert(place, &hole);
            let Some(Some(ty)) = self.fits(call.with(&all)) else { continue };
            let ty = self.export_type(&ty);
            let value = self.predefined_value(callee, &ty);
            // A message with its own hint is more useful than a missing argument.
            let open = value.is_none() && (advised || self.is_vague(&ty));
            if open {
                return None;
            }
            let texts: Vec<String> = args.iter().map(|a| self.host.text(a.span).to_owned()).collect();
            let shown = self.show(&ty);
            return Some(
                calls::MissingArgument {
                    of: &describe(callee),
                    f: self.host.text(callee.span),
                    texts: &texts,
                    place,
                    at,
                    ty: shown,
                    value,
                }
                .diagnostic(),
            );
        }
        None
    }

    /// Whether a type is too vague for a suggestion: not fully known, or a function.
    fn is_vague(&self, t: &Ty) -> bool {
        let mut open = matches!(self.resolve(t), Ty::Fun(..));
        map_type(
            &self.resolve_deep(t),
            &mut |t| {
                open |= matches!(t, Ty::Meta(_));
                None
            },
            &mut |s| s,
        );
        open
    }

    /// Tries the call with one of its arguments converted to another number type.
    fn with_conversion(&mut self, call: TriedCall<'_>) -> Option<Diagnostic> {
        let TriedCall { f: callee, args, .. } = call;
        for (index, argument) in args.iter().enumerate() {
            let found = self.attempt(|me| {
                let e = me.infer(argument, None);
                me.solve_ops();
                me.resolve_deep(&e.ty)
            })?;
            let found = self.export_type(&found);
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
                let function = ast::Expr { kind: ast::ExprKind::Var(Symbol::new(convert)), span: argument.span };
                let whole = ast::Expr {
                    kind: ast::ExprKind::App(Box::new(function), vec![(*argument).clone()]),
                    span: argument.span,
                };
                let mut all = args.to_vec();
                all[index] = &whole;
                if self.fits(call.with(&all)).is_some() {
                    let new = super::unify_errors::conversion(convert, self.host.text(argument.span));
                    let expected = match *convert {
                        "int" => "Int",
                        "to_f32" => "F32",
                        _ => "Float",
                    };
                    let expected =
                        self.show(&map_type(&found, &mut |_| None, &mut |s| s)).replace(&self.show(leaf), expected);
                    let found = self.show(&found);
                    return Some(calls::converted(argument.span, (index, &describe(callee)), (expected, found), new));
                }
            }
        }
        None
    }

    /// A record with only some of the options, if a value beside the function has all of them.
    fn part_of_options(&mut self, call: TriedCall<'_>, at: Span) -> Option<Diagnostic> {
        let TriedCall { f: callee, args, .. } = call;
        let place = args.iter().position(|a| a.span == at)?;
        let ast::ExprKind::Record(fields) = &strip(args[place]).kind else { return None };
        let hole = ast::Expr { kind: ast::ExprKind::Error, span: at };
        let mut all = args.to_vec();
        all[place] = &hole;
        let ty = self.fits(call.with(&all))??;
        let ty = self.export_type(&ty);
        let value = self.predefined_value(callee, &ty)?;
        let Ty::Record(r) = self.resolve(&ty) else { return None };
        let known = self.vars.open_record(&r).fields;
        let other = fields
            .iter()
            .find(|(n, _)| known.iter().all(|(k, _)| *k != n.name))
            .map(|(n, _)| (n.span, n.name.to_string()));
        let names: Vec<String> = known.iter().map(|(n, _)| n.to_string()).collect();
        Some(records::part_of_options((at, self.host.text(at)), &describe(callee), &value, other, &names))
    }

    /// A function that the arguments fit, one of whose names is a prefix of the other.
    fn similarly_named(&mut self, call: TriedCall<'_>) -> Option<Diagnostic> {
        let ast::ExprKind::Var(name) = strip(call.f).kind else { return None };
        self.prim_named(name)?;
        let like = |n: &str| {
            n != name.as_str()
                && n.len() > 2
                && (n.starts_with(name.as_str())
                    || name.as_str().starts_with(n)
                    || n.len() == name.as_str().len() + 1 && n.ends_with(name.as_str()))
        };
        let near = Prim::ALL
            .iter()
            .map(|p| p.name())
            .filter(|n| like(n) && self.visible_prim(Symbol::new(n)).is_some())
            .take(8);
        for other in near.map(Symbol::new).collect::<Vec<_>>() {
            let f = ast::Expr { kind: ast::ExprKind::Var(other), span: call.f.span };
            let instead = TriedCall { f: &f, ..call };
            if self.fits(instead).is_some() && !self.waits(instead) {
                let texts: Vec<&str> = call.args.iter().map(|a| self.host.text(a.span)).collect();
                return Some(calls::like_name(call.f.span, name.as_str(), other.as_str(), &texts));
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

    fn one_too_many(&mut self, call: TriedCall<'_>) -> Option<Diagnostic> {
        let TriedCall { f: callee, args, .. } = call;
        let last = args.len().checked_sub(1)?;
        // The message already says that the last argument is surplus.
        if last == 0 || self.fits(call.with(&args[..last])).is_some() {
            return None;
        }
        for place in 0..last {
            let mut others = args.to_vec();
            let out = others.remove(place);
            if self.fits(call.with(&others)).is_some() {
                let all = std::iter::once(callee)
                    .chain(others)
                    .map(|e| self.host.text(e.span).to_owned())
                    .collect::<Vec<_>>()
                    .join(" ");
                let (name, cut) = (describe(callee), Span { hi: args[place + 1].span.lo, ..out.span });
                return Some(calls::one_too_many(out.span, &name, (args.len() - 1, args.len()), place, all, cut));
            }
        }
        None
    }

    /// A value with a given type beside a function: `optim.lbfgs_defaults` for `optim.lbfgs`.
    fn predefined_value(&mut self, expr: &ast::Expr, ty: &Ty) -> Option<String> {
        if !matches!(self.resolve(ty), Ty::Record(_) | Ty::Data(..)) {
            return None;
        }
        let (module, name) = match &strip(expr).kind {
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
        let mut named: Vec<(Symbol, Rc<Scheme>)> = env
            .values
            .iter()
            .filter(|(n, _)| n.as_str().ends_with("defaults"))
            .map(|(n, g)| (*n, g.scheme.clone()))
            .collect();
        // A value named after the function comes first.
        named.sort_by_key(|(n, _)| (!n.as_str().starts_with(name.as_str()), n.as_str()));
        let fits = |me: &mut Self, s: &Scheme| {
            me.attempt(|me| {
                let (t, _) = me.instantiate(s, expr.span, "");
                me.unify(ty, &t).is_ok()
            }) == Some(true)
        };
        let (found, _) = named.into_iter().find(|(_, s)| fits(self, s))?;
        Some(module.map_or_else(|| found.to_string(), |m| format!("{m}.{found}")))
    }
}

/// Likely orders of arguments: two exchanged, or one moved to the other end.
fn orders(count: usize) -> Vec<Vec<usize>> {
    let plain: Vec<usize> = (0..count).collect();
    let mut all: Vec<Vec<usize>> = Vec::new();
    let exchanged = |apart: usize| (0..count.saturating_sub(apart)).map(move |i| (i, i + apart));
    let swapped = |(i, j): (usize, usize)| {
        let mut order = plain.clone();
        order.swap(i, j);
        order
    };
    all.extend(exchanged(1).map(swapped));
    if count > 2 {
        let (mut left, mut right) = (plain.clone(), plain.clone());
        left.rotate_left(1);
        right.rotate_right(1);
        all.extend([left, right]);
    }
    all.extend((2..count).flat_map(exchanged).map(swapped));
    all
}

#[cfg(test)]
mod tests {
    use super::orders;

    #[test]
    fn orders_are_few() {
        assert_eq!(orders(2), [[1, 0]]);
        assert_eq!(orders(3).len(), 5);
        assert!(orders(1).is_empty());
    }
}
