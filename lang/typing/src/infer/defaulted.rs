//! Functions that are computed, as `let h = compose f g`: nothing generalises them, so that what is open in their types is decided by default.
//! Where such a function is used at another type, the error says how to write it as a function of its argument.

use super::Infer;
use super::ops::Head;
use crate::errors::reason::Role;
use crate::ty::{Scheme, Ty};
use adl_syntax::ast;
use adl_syntax::diag::Diagnostic;
use adl_syntax::span::Span;
use adl_syntax::symbol::Symbol;

/// The definition of a function that was computed.
#[derive(Clone, Debug)]
pub(crate) struct Computed {
    /// Its name.
    name: Span,
    /// Its value.
    body: Span,
    /// Its type when it was defined.
    ty: Ty,
    /// Whether the value is a call or a name, to which an argument can be added.
    applied: bool,
}

impl Computed {
    /// Moves its places.
    pub fn shift(&mut self, by: crate::Moved<'_>) {
        (self.name, self.body, self.ty) = (by(self.name), by(self.body), crate::moved::ty(&self.ty, by));
    }
}

impl Infer<'_> {
    /// Remembers a definition whose value is a function with a type that is decided by default.
    pub(super) fn note_computed(&mut self, b: &ast::Binding, name: Symbol, scheme: &Scheme) {
        let ty = self.resolve_deep(&scheme.ty);
        let open =
            || self.metas_of(&ty).into_iter().any(|m| self.metas[m as usize].classes.iter().any(|c| c.0.has_rep()));
        if b.params.is_empty() && b.sig.is_none() && matches!(ty, Ty::Fun(..) | Ty::Lin(..)) && open() {
            let applied =
                matches!(b.body.kind, ast::ExprKind::App(..) | ast::ExprKind::Var(_) | ast::ExprKind::Paren(_));
            self.tables.computed.insert(name, Computed { name: b.pat.span, body: b.body.span, ty, applied });
        }
    }

    /// The advice for an argument of such a function that has numbers of another type or rank.
    pub(super) fn told_computed(
        &self,
        diagnostic: Diagnostic,
        expected: &Ty,
        actual: &Ty,
        what: &Role,
    ) -> Result<Diagnostic, Diagnostic> {
        let Role::Argument { of, .. } = what else { return Err(diagnostic) };
        let number = |t: &Ty| self.head(&self.bottom(t)) == Head::Scalar;
        let name = Symbol::new(of.trim_matches('`'));
        let found =
            self.tables.computed.get(&name).filter(|_| number(expected) && number(actual) && of.starts_with('`'));
        let Some(computed) = found.filter(|c| self.is_computed(name, c)) else { return Err(diagnostic) };
        let body = self.host.text(computed.body);
        let words: Vec<&str> = body.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '\'')).collect();
        let Some(parameter) = ["x", "y", "t", "v", "arg"].into_iter().find(|x| !words.contains(x)) else {
            return Err(diagnostic);
        };
        let whole = if computed.applied { format!("{body} {parameter}") } else { format!("({body}) {parameter}") };
        let why = format!("the value of {of} is computed once, at one type");
        if body.is_empty() || body.contains('\n') {
            return Ok(diagnostic.hint(format!(
                "{why}: as a function of its argument, `let {name} {parameter} = ...`, it takes others"
            )));
        }
        let after = Span { lo: computed.name.hi, ..computed.name };
        Ok(diagnostic
            .hint(format!("{why}: `let {name} {parameter} = {whole}` takes others"))
            .fix(after, format!(" {parameter}"))
            .fix(computed.body, whole))
    }

    /// Whether a name means that definition here.
    fn is_computed(&self, name: Symbol, c: &Computed) -> bool {
        match (self.lookup(name), self.env.value(name)) {
            (Some(b), _) => {
                b.arity == 0 && b.scheme.vars.is_empty() && self.resolve_deep(&b.scheme.ty) == self.resolve_deep(&c.ty)
            }
            (None, g) => g.is_some_and(|g| g.span == c.name),
        }
    }
}
