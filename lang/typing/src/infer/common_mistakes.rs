//! Mistakes in calls and operands that are recognised by the source text around them.

use super::Infer;
use super::apply::strip;
use super::op_constraints::OpConstraint;
use crate::core;
use crate::errors::classes::{self, quoted};
use crate::errors::{calls, mismatch};
use crate::ty::Ty;
use adl_prim::{ArrayFn, Bin, Prim};
use adl_syntax::ast;
use adl_syntax::diag::Diagnostic;
use adl_syntax::span::Span;
use adl_syntax::symbol::Symbol;

impl Infer<'_> {
    /// For a function used as a value whose name abbreviates a call: the place of that definition, and a hint.
    pub(super) fn explain_missing_argument(&self, t: &Ty, span: Span) -> Option<(Span, String)> {
        let name = Symbol::new(self.host.text(span));
        let at = self
            .env
            .value(name)
            .filter(|_| matches!(self.resolve(t), Ty::Fun(..)) && self.lookup(name).is_none())?
            .span;
        let (_, whole) = self.tables.defined.get(&name)?.iter().find(|(n, _)| *n == at)?;
        let (left, value) = self.host.text(*whole).split_once('=')?;
        let call = value.trim();
        // With parameters the definition is a function itself.
        if left.split_whitespace().count() != 2
            || !call.contains(' ')
            || call.len() > 60
            || call.contains('\n')
            || call.starts_with("fun ")
        {
            return None;
        }
        Some((
            at,
            format!("`{name}` is a function, because `{call}` ({}) lacks an argument", self.host.line(*whole, span)),
        ))
    }

    /// `print "a" + "b"`: a call with an effect, whose result is `()`, as the left operand.
    pub(super) fn effect_as_operand(&self, op: &OpConstraint) -> Option<Diagnostic> {
        let [(left, at), (right, ra)] = op.args.as_slice() else { return None };
        let joins = op.prim == Prim::Bin(Bin::Add) && matches!(self.resolve(right), Ty::Str);
        self.applied_before(left, (*at, *ra), if joins { "++" } else { Infer::op_name(op.prim).trim_matches('`') })
    }

    /// The message for `f a op b` if `f a` returns `()` and `op` was meant to combine the arguments of `f`.
    pub(super) fn applied_before(&self, left: &Ty, (at, right): (Span, Span), op: &str) -> Option<Diagnostic> {
        let text = self.host.text(at);
        let (head, rest) = text
            .split_once(' ')
            .filter(|(head, _)| head.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '\'')))?;
        if !matches!(self.resolve(left), Ty::Unit) {
            return None;
        }
        let sign = Span { lo: at.hi, hi: right.lo, ..at };
        let inside = Span { lo: at.lo + head.len() as u32 + 1, hi: at.lo + head.len() as u32 + 1, ..at };
        Some(classes::applied_before(
            at,
            (head, rest),
            op,
            self.host.text(right),
            (inside, sign, Span { lo: right.hi, ..right }),
        ))
    }

    /// A function followed by a minus with a blank only before it: `f x -1.0`, `1.0 + exp -x`.
    pub(super) fn negative_argument(&self, op: &OpConstraint, t: &Ty) -> Option<Diagnostic> {
        if !matches!(self.resolve(t), Ty::Fun(..)) || op.inside.is_some() {
            return None;
        }
        let (of, at) = op.args.iter().find(|(a, _)| self.resolve(a) == self.resolve(t))?;
        let behind = self.host.rest(*at);
        let (blanks, rest) = (behind.len() - behind.trim_start_matches(' ').len(), behind.trim_start());
        let operand = rest.strip_prefix('-')?;
        let length = operand
            .find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '.' | '\'' | '[' | ']')))
            .unwrap_or(operand.len());
        if blanks == 0 || length == 0 {
            return None;
        }
        let lo = at.hi + blanks as u32;
        let minus = Span { lo, hi: lo + 1 + length as u32, ..*at };
        let power = operand[length..].trim_start().starts_with('^');
        Some(classes::negative_argument((*at, self.host.text(*at), self.show(of)), minus, (&operand[..length], power)))
    }

    /// A function applied to too many arguments. A definition of the program is marked.
    pub(super) fn more_arguments(&self, name: &str, args: &[&ast::Expr], takes: usize) -> Diagnostic {
        let symbol = Symbol::new(name.trim_matches('`'));
        if let Some(p) = self.prim_named(symbol) {
            return self.too_many_for_prim(p, args, takes);
        }
        let mut d = calls::too_many(args[takes].span, name, takes, args.len());
        let scheme = self.env.value(symbol).map(|g| &g.scheme.ty);
        if self.lookup(symbol).is_none() && matches!(scheme, Some(Ty::Fun(p, _)) if matches!(**p, Ty::Array(..))) {
            d = along_an_axis(d, symbol.as_str(), args, takes);
        }
        match self.env.values.get(&symbol).filter(|g| g.span.file == args[0].span.file && self.lookup(symbol).is_none())
        {
            Some(g) => d.also(g.span, "it is defined here"),
            None => d,
        }
    }

    /// A primitive applied to too many arguments.
    pub(super) fn too_many_for_prim(&self, prim: Prim, args: &[&ast::Expr], arity: usize) -> Diagnostic {
        let diagnostic = calls::too_many(args[arity].span, &quoted(prim.name()), arity, args.len());
        let texts: Vec<&str> = args.iter().map(|a| self.host.text(a.span)).collect();
        let extents = texts.join(", ");
        match prim {
            Prim::Reduction(_) => along_an_axis(diagnostic, prim.name(), args, arity),
            Prim::Array(ArrayFn::Zeros | ArrayFn::Ones) if extents.len() < 40 => diagnostic
                .hint(format!("a shape is written with brackets: `{} [{extents}]`", prim.name()))
                .fix(args[0].span.to(args[args.len() - 1].span), format!("[{extents}]")),
            _ => diagnostic,
        }
    }

    /// Something that is not a function is applied.
    pub(super) fn not_a_function(&self, arg: &ast::Expr, callee: &core::Expr, name: &str, ty: &Ty) -> Diagnostic {
        let diagnostic = calls::not_a_function(arg.span, callee.span, name, &self.show(ty));
        let (left, right) = (self.host.text(callee.span), self.host.text(arg.span));
        let number = matches!(ty, Ty::Int | Ty::Float | Ty::F32) || self.vars.is_scalar(ty);
        let short = left.len() + right.len() < 60
            && !left.contains('\n')
            && !right.contains('\n')
            && callee.span.hi <= arg.span.lo;
        let before = Span { lo: callee.span.lo.saturating_sub(2), hi: callee.span.lo, ..callee.span };
        if number && self.host.text(before) == " -" {
            let minus = Span { lo: before.lo + 1, hi: callee.span.hi, ..before };
            return diagnostic
                .hint(format!("a negative argument stands in parentheses: `(-{left})`"))
                .fix(minus, format!("(-{left})"));
        }
        match ty {
            _ if number && short => diagnostic.hint(format!(
                "a product is written `{left} * {right}`; the elements of an array are separated by `,`"
            )),
            Ty::Array(..) if short && right.starts_with('(') => {
                diagnostic.hint(format!("an element is written `{left}[{}]`", &right[1..right.len() - 1]))
            }
            Ty::Array(..) if short => diagnostic.hint(format!("an element is written `{left}[{right}]`")),
            _ => diagnostic,
        }
    }

    /// `print f 1 2`: the effect takes `takes` arguments.
    pub(super) fn effect_with_extra_arguments(
        &mut self,
        callee: &core::Expr,
        args: &[&ast::Expr],
        (takes, name): (usize, &str),
    ) -> Diagnostic {
        let diagnostic = calls::too_many(args[takes].span, name, takes, args.len());
        let meant = &args[takes - 1..];
        let (first, last) = (meant[0].span, meant[meant.len() - 1].span);
        let is_function = self.fits_function(meant[0]);
        let is_array = matches!(meant, [m, i] if matches!(i.kind, ast::ExprKind::Paren(_) | ast::ExprKind::Tuple(_)) && self.fits_array(m));
        let texts: Vec<&str> = std::iter::once(callee.span)
            .chain(args[..takes - 1].iter().map(|a| a.span))
            .map(|s| self.host.text(s))
            .collect();
        let inside = match meant {
            [m, i] if is_array => {
                format!("{}[{}]", self.host.text(m.span), self.host.text(i.span).trim_matches(['(', ')']))
            }
            _ if is_function => self.host.text(first.to(last)).to_owned(),
            _ => meant.iter().map(|a| self.host.text(a.span)).collect::<Vec<_>>().join(", "),
        };
        let call =
            if is_array { format!("{} {inside}", texts.join(" ")) } else { format!("{} ({inside})", texts.join(" ")) };
        let advice = match (is_function, is_array) {
            (true, _) => "an argument that is a call stands in parentheses",
            (_, true) => "an element of an array is taken with brackets",
            _ => "several values are given as a tuple",
        };
        let short = call.len() < 90 && !call.contains('\n');
        let d = diagnostic.hint(if short { format!("{advice}: `{call}`") } else { advice.to_owned() });
        match is_function {
            true => d.fix(Span { hi: first.lo, ..first }, "(").fix(Span { lo: last.hi, ..last }, ")"),
            false => d.fix(first.to(last), if is_array { inside } else { format!("({inside})") }),
        }
    }

    /// Adds to the last error, about a function that should be linear, the place that is not linear.
    pub(super) fn explain_nonlinear(&mut self, a: &ast::Expr) {
        let Some(fault) = self.not_linear_in(a) else { return };
        let literal =
            matches!(strip(a).kind, ast::ExprKind::Fun(..)) && self.host.text(strip(a).span).starts_with("fun");
        let keyword = Span { hi: strip(a).span.lo + 3, ..strip(a).span };
        if let Some(d) = self.diags.pop() {
            self.diags.push(mismatch::nonlinear(d, fault, literal.then_some(keyword), self.host.text(a.span)));
        }
    }
}

/// Adds the hint for a function of one array that is given an axis too.
fn along_an_axis(d: Diagnostic, name: &str, args: &[&ast::Expr], takes: usize) -> Diagnostic {
    let axis = args.iter().take(2).any(|a| super::along::literal(a).is_some());
    if takes == 1 && axis { d.hint(format!("along an axis: `along 1 {name} m`")) } else { d }
}
