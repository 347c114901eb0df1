//! Turns a failed constraint into a message: the types as text, the places involved, and a hint.

use super::Infer;
use crate::errors::classes::{NoInstance, quoted};
use crate::errors::each::{OF_EACH, PLAIN};
use crate::errors::elements;
use crate::errors::mismatch::Mismatch;
use crate::errors::reason::{Evidence, Reason, Role};
use crate::errors::records::{FieldsDiffer, NoField};
use crate::errors::sizes::{KnownSize, SizeMismatch};
use crate::ty::{Class, Origin, RecordTy, Size, Ty, element_of_rows, part_of_each};
use adl_syntax::diag::Diagnostic;
use adl_syntax::span::Span;
use adl_syntax::symbol::Symbol;

/// The reason why two types do not unify.
pub(crate) enum UnifyError {
    Types,
    /// A number meets another type. Holds the place and the operation that require a number.
    Number(Span, &'static str),
    Sizes(Size, Size),
    Infinite,
    /// A linear function was expected.
    Linear,
    /// A field that only one record has, and whether it is the found type that lacks it.
    Field(Symbol, bool),
    Class(Class, Span, &'static str, Ty),
    Rigid,
}

impl Infer<'_> {
    /// Requires that `actual` is assignable to `expected`. Reports a mismatch and continues.
    pub(super) fn expect(&mut self, expected: &Ty, actual: &Ty, span: Span, why: &Reason) -> bool {
        let met = self.unify(expected, actual);
        self.met(met, expected, actual, span, why)
    }

    /// Reports a constraint that failed.
    pub(super) fn met(
        &mut self,
        met: Result<(), UnifyError>,
        expected: &Ty,
        actual: &Ty,
        span: Span,
        why: &Reason,
    ) -> bool {
        match met {
            Ok(()) => true,
            Err(unify_error) => {
                let d = self.unify_error(unify_error, expected, actual, span, why);
                self.report(d);
                false
            }
        }
    }

    /// The message for a constraint that failed.
    pub(super) fn unify_error(
        &self,
        unify_error: UnifyError,
        expected: &Ty,
        actual: &Ty,
        span: Span,
        why: &Reason,
    ) -> Diagnostic {
        let mut mismatch = Mismatch {
            what: why.what.to_string(),
            span,
            actual: self.show(actual),
            expected: self.wanted(expected),
            places: self.places(why),
            hint: None,
        };
        let versions =
            if matches!(unify_error, UnifyError::Types) { self.versions(expected, actual, span) } else { Vec::new() };
        match unify_error {
            UnifyError::Types if !versions.is_empty() => {
                let marks = versions.iter().map(|v| (v.id, v.mark.clone())).collect();
                (mismatch.actual, mismatch.expected) =
                    (self.show_marked(actual, &marks), self.show_marked(expected, &marks));
                mismatch.of_versions(versions.iter().map(|v| (v.at, format!("`{}{}`", v.id.1, v.mark))).collect())
            }
            UnifyError::Sizes(e, a) => self.size_mismatch((e, a), self.rank(expected), mismatch, why),
            UnifyError::Types | UnifyError::Rigid | UnifyError::Number(..) => {
                if let UnifyError::Number(place, op) = unify_error {
                    self.number_place(&mut mismatch, (place, op), actual, &why.what);
                }
                mismatch.hint = self.mismatch_hint(expected, actual, &why.what, span);
                match self.told_computed(mismatch.diagnostic(), expected, actual, &why.what) {
                    Ok(d) => d,
                    Err(d) => self.mended(d, expected, actual, (&why.what, span)),
                }
            }
            UnifyError::Infinite => {
                mismatch.hint = Some(self.endless_hint(expected, actual, &why.what));
                mismatch.infinite()
            }
            UnifyError::Linear => mismatch.not_linear(),
            UnifyError::Field(field, missing) => {
                let Mismatch { what, span, actual, expected, places, .. } = mismatch;
                FieldsDiffer { what, span, actual, expected, field: field.to_string(), missing, places }.diagnostic()
            }
            UnifyError::Class(c, place, op, t) => self.class_error(c, place, op, &t, span),
        }
    }

    /// The expected type for the text after "but". A number of undetermined type is described as a number.
    fn wanted(&self, t: &Ty) -> String {
        match self.resolve(t) {
            Ty::Meta(m)
                if self.vars[m].scalar
                    && self.vars[m].classes.iter().all(|c| c.0 == Class::Num && c.2 != "a number") =>
            {
                "a number".to_owned()
            }
            t => self.show(&t),
        }
    }

    /// The other places of a reason, with their labels.
    fn places(&self, why: &Reason) -> Vec<(Span, String)> {
        let text = |b: &Evidence| match b {
            Evidence::Is(what, ty) => format!("{what} is {}", self.show(ty)),
            Evidence::Said(text) => (*text).to_owned(),
        };
        why.because.iter().map(|(at, b)| (*at, text(b))).collect()
    }

    fn size_mismatch(
        &self,
        (expected, actual): (Size, Size),
        rank: u64,
        mismatch: Mismatch,
        why: &Reason,
    ) -> Diagnostic {
        let known = |s: Size| match s {
            Size::Const(size, Origin(at)) => {
                KnownSize { size, origin: (at != Span::default()).then(|| (at, self.host.line(at, mismatch.span))) }
            }
            _ => KnownSize { size: 0, origin: None },
        };
        let (e, a) = ((mismatch.expected.clone(), known(expected)), (mismatch.actual.clone(), known(actual)));
        // Operands of an operator are listed in source order. Otherwise the found type comes first.
        let (first, second) = if matches!(why.what, Role::Right(_)) { (e, a) } else { (a, e) };
        let stretched =
            matches!(why.what, Role::Right(op) if op != "`@`") && [&first.1, &second.1].iter().any(|k| k.size == 1);
        let d = SizeMismatch { first, second, span: mismatch.span, what: mismatch.what, places: mismatch.places }
            .diagnostic();
        match rank {
            _ if !stretched => d,
            1 => d.hint("an extent of 1 is not stretched: write the number without brackets, it spreads over an array"),
            _ => d.hint("an extent of 1 is not stretched: for one number a row write `map2 (fun row x -> ...) m v`, with a vector `v`"),
        }
    }

    /// Adds the place that requires a number.
    fn number_place(&self, m: &mut Mismatch, (place, op): (Span, &str), actual: &Ty, what: &Role) {
        // For an array the hint is more specific.
        let own = matches!(what, Role::Argument { of, .. } if *of.trim_matches('`') == *op.trim_matches('`'));
        let said = own && matches!(self.resolve(actual), Ty::Array(..));
        if m.places.is_empty() && !said && !contains(m.span, place) && !contains(place, m.span) {
            let text = if op.starts_with("a ") {
                format!("{op} stands here")
            } else {
                format!("{} needs a number", quoted(op))
            };
            m.places.push((place, text));
        }
    }

    /// A hint for a type that would contain itself.
    fn endless_hint(&self, expected: &Ty, actual: &Ty, what: &Role) -> String {
        let array = |t: &Ty| matches!(self.resolve(t), Ty::Array(..));
        match (what, self.resolve(actual)) {
            (Role::Argument { .. }, Ty::Fun(..)) => "a function cannot take itself as an argument: recursion is written `let rec f x = ...`, other knots with a declared type",
            _ if array(expected) != array(actual) => "an array cannot be one of its own elements: was the element itself meant, or `xs ++ ys`, which joins arrays? Data that contains itself is declared: `type Tree = Leaf | Node Tree Tree`",
            (_, Ty::Fun(..)) => "an argument may be missing: the function itself is given where its result is expected",
            _ => "data that contains itself has a declared type: `type Tree = Leaf | Node Tree Tree`",
        }
        .to_owned()
    }

    /// An error for a field that a record is known to lack.
    pub(super) fn no_field(&self, field: Symbol, span: Span, record: &RecordTy, at: Option<Span>) -> Diagnostic {
        let known = record.fields.iter().map(|(n, _)| n.to_string()).collect();
        let shown = self.show(&Ty::Record(std::rc::Rc::new(record.clone())));
        NoField { field: field.as_str(), span, record: shown, at, known }.diagnostic()
    }

    pub(super) fn class_error(&self, class: Class, place: Span, op: &str, t: &Ty, span: Span) -> Diagnostic {
        let hint = self.class_hint(class, &self.resolve(t), span);
        NoInstance { class, op, place, ty: self.show(t), span, hint }.diagnostic()
    }

    fn class_hint(&self, class: Class, ty: &Ty, span: Span) -> Option<String> {
        Some(match (class, ty) {
            (_, t) if part_of_each(t).is_some() => OF_EACH.into(),
            (class, Ty::Str) if is_numeric(class) => {
                "numbers and texts do not mix: `++` joins texts, `show x` gives the text of a value".into()
            }
            (class, Ty::Bool) if is_numeric(class) => "`[| p |]` is 1 where `p` holds, and 0 elsewhere".into(),
            (Class::Real | Class::Reals, Ty::Int) => {
                format!("convert with `{}`; whole numbers are divided with `//`", self.converted("float", span))
            }
            (Class::Num | Class::Real, Ty::Array(..)) => {
                "to apply a function of one number to each element, use `map f xs`".into()
            }
            (class, Ty::Fun(..) | Ty::Lin(..)) if is_numeric(class) => "is an argument missing?".into(),
            (Class::Num | Class::Real | Class::Nums | Class::Reals, Ty::Data(..)) => {
                "take the number out with `match`".into()
            }
            (Class::Diff, Ty::Fun(..) | Ty::Lin(..)) => {
                "a function has no tangent: return the data that it computes".into()
            }
            (Class::Diff, t) if element_of_rows(t).is_some() => {
                "rows are read when they are needed: differentiate with respect to data that the function of a row reads"
                    .into()
            }
            (Class::Diff, Ty::Data(..)) => "its declaration holds a function, which has no tangent".into(),
            (Class::Eq | Class::Ord, Ty::Fun(..) | Ty::Lin(..)) => {
                "functions cannot be compared: compare their results".into()
            }
            (_, Ty::Var(v)) => {
                let (_, name) = self.annotated.rigid.get(v)?;
                format!("add the constraint to the signature: `{class:?} {name} => ...`")
            }
            _ => return None,
        })
    }

    /// A hint for common mistakes.
    fn mismatch_hint(&self, expected: &Ty, actual: &Ty, what: &Role, span: Span) -> Option<String> {
        let (wanted, found) = (self.resolve(expected), self.resolve(actual));
        if part_of_each(&found).is_some() && part_of_each(&wanted).is_none() {
            return Some(OF_EACH.to_owned());
        }
        if part_of_each(&wanted).is_some() && part_of_each(&found).is_none() {
            return Some(if matches!(what, Role::Right(_)) { OF_EACH } else { PLAIN }.to_owned());
        }
        if let Some(hint) =
            self.foreign_convention_hint(&wanted, &found, what).or_else(|| self.data_hint(&wanted, &found, what))
        {
            return Some(hint);
        }
        let number = |t: &Ty| matches!(t, Ty::Int | Ty::Float | Ty::F32) || self.vars.is_scalar(t);
        Some(match (&wanted, &found) {
            (t, Ty::Array(..)) if number(t) => match what {
                Role::Argument { total: 1, of, .. } if of.starts_with('`') => format!("{of} acts on one number: `map {} xs` applies it to each element", of.trim_matches('`')),
                Role::Argument { of, .. } if self.is_own(of) => {
                    format!("`map` applies a function of one number to each element; where {of} is meant for arrays, annotate its parameter, as in `(x : [n]Float)`")
                }
                _ => "to apply a function of one number to each element, use `map f xs`".into(),
            },
            (Ty::Str, _) => "`show x` gives the text of a value; texts may hold values: f\"... {x} ...\"".into(),
            (Ty::Bool, Ty::Array(..)) if self.leaf_of(&found) == Ty::Bool => several_bools(what),
            (Ty::Bool, t) if number(t) => "write the comparison: `x != 0`".into(),
            (t, Ty::Bool) if number(t) && matches!(what, Role::Right(_)) => "`[| p |]` is 1 where `p` holds, and 0 elsewhere".into(),
            (Ty::Unit, _) if matches!(what, Role::Thing(t) if t.contains("not the last")) => "its value would be lost: name it with `let`, or drop it with `let _ = ...`".into(),
            (Ty::Unit, _) if matches!(what, Role::Thing(t) if t.contains("without `else`")) => "add an `else` branch".into(),
            (Ty::Array(_, x), Ty::Array(_, y)) if number(&self.resolve(x)) && matches!((self.resolve(y), what), (Ty::Array(..), Role::Argument { total: 1, .. })) => self.each_row(what),
            (Ty::Array(_, x), Ty::Array(_, y)) if !number(&self.resolve(y)) || !matches!(self.resolve(x), Ty::Array(..)) => return None,
            (Ty::Array(_, x), t) if number(&self.resolve(x)) && number(t) => return self.array_wanted(what),
            (t, Ty::Fun(_, r)) if self.alike(t, r) => "an argument is missing".into(),
            (Ty::Array(..), t) if element_of_rows(t).is_some() => elements::ROWS_FOR_ARRAY.into(),
            (Ty::Array(..), Ty::Bool) => "`==`, `<` and their like compare whole values and give one Bool; of elements they are written `.==`, `.<`".into(),
            (t, Ty::Array(_, y)) if self.alike(t, y) => "this is an array of them: one is `x[0]`".into(),
            (Ty::Array(..), Ty::Fun(_, r)) if self.ends_in_array(r) => "this is a function: is an argument missing?".into(),
            _ => return self.number_hint(&self.real_leaf(&wanted), &self.leaf_of(&found), span),
        })
    }

    /// A hint if a vector is expected and a matrix is given.
    fn each_row(&self, what: &Role) -> String {
        match what {
            Role::Argument { of, .. } if self.is_own(of) => {
                format!(
                    "`map` applies it to each row; where {of} is meant for matrices, annotate its parameter, as in `(x : [n][m]Float)`"
                )
            }
            _ => "to apply it to each row, use `map`".into(),
        }
    }

    /// A hint if an array of numbers is expected and a number is given.
    fn array_wanted(&self, what: &Role) -> Option<String> {
        Some(match what {
            Role::Argument { .. } => "an array of one element is `[x]`".into(),
            Role::Thing(t) if t.contains("`++`") => "an array of one element is `[x]`".into(),
            Role::Right(_) | Role::Thing(_) => return None,
        })
    }

    /// A hint if a list or an `Option` is given in place of its element, or the reverse.
    fn data_hint(&self, e: &Ty, a: &Ty, what: &Role) -> Option<String> {
        let list = |t: &Ty| matches!(t, Ty::Data(d, _) if d.1.as_str() == "List");
        let pattern = matches!(what, Role::Thing(t) if t.contains("pattern"));
        Some(match (e, a) {
            (Ty::Array(..), t) | (t, Ty::Array(..)) if pattern && list(t) => {
                "the pattern of the empty list is `Nil`, and `x :: rest` that of others; `[]` and `[x, y]` are for arrays".into()
            }
            (Ty::Array(..), Ty::Data(d, _)) if d.1.as_str() == "List" => "this is a list, and an array is expected: arrays are written `[1, 2]`".into(),
            (Ty::Data(d, _), Ty::Array(..)) if d.1.as_str() == "List" => "`[...]` is an array; a list is written `1 :: 2 :: Nil`, and arrays are joined with `++`".into(),
            (Ty::Data(d, args), _) if d.1.as_str() == "Option" && args.first().is_some_and(|t| self.alike(t, a)) => "wrap it: `Some x`".into(),
            (t, Ty::Data(d, args)) if d.1.as_str() == "Option" && args.first().is_some_and(|x| self.alike(x, t)) => "take the value out with `match ... with | Some x -> ... | None -> ...`".into(),
            _ => return None,
        })
    }

    /// Whether the quoted name is a function of the program, not of the library.
    fn is_own(&self, quoted: &str) -> bool {
        let name = Symbol::new(quoted.trim_matches('`'));
        quoted.starts_with('`')
            && (self.lookup(name).is_some() || self.env.value(name).is_some_and(|g| g.alias.is_none()))
    }

    /// A hint that converts the given number type to the expected one.
    fn number_hint(&self, expected: &Ty, actual: &Ty, span: Span) -> Option<String> {
        let source = self.host.text(span);
        Some(match (expected, actual) {
            (Ty::Float, Ty::Int) => format!("convert it: `{}`", self.converted("float", span)),
            (Ty::F32, Ty::Float | Ty::Int) => {
                format!("convert it: `{}`; a literal is an F32 as `1.5f32`", self.converted("to_f32", span))
            }
            (Ty::Float, Ty::F32) => format!("convert it: `{}`", self.converted("to_float", span)),
            (Ty::Int, Ty::Float | Ty::Meta(_)) if source.parse::<f64>().is_ok_and(|x| x.fract() == 0.0) => {
                format!("an Int is written without a point: `{}`", source.split('.').next().unwrap_or_default())
            }
            (Ty::Int, Ty::Float | Ty::F32) => {
                format!("convert it: `{}` drops the fraction", self.converted("int", span))
            }
            (Ty::Int, Ty::Meta(m)) if self.vars[*m].has(Class::Real) => {
                format!("convert it: `{}` drops the fraction", self.converted("int", span))
            }
            _ => return None,
        })
    }

    /// Adds the conversion of a number as a fix.
    fn mended(&self, diagnostic: Diagnostic, expected: &Ty, actual: &Ty, (what, span): (&Role, Span)) -> Diagnostic {
        let source = self.host.text(span);
        if diagnostic.hint.as_ref().is_some_and(|h| h.starts_with("an array of one element")) {
            return diagnostic.fix(span, format!("[{source}]"));
        }
        let convert = match (self.real_leaf(expected), self.leaf_of(actual)) {
            (Ty::Float, Ty::Int) => "float",
            (Ty::F32, Ty::Float | Ty::Int) => "to_f32",
            (Ty::Float, Ty::F32) => "to_float",
            (Ty::Int, Ty::Float | Ty::Meta(_)) if source.parse::<f64>().is_ok_and(|x| x.fract() == 0.0) => {
                return diagnostic.fix(span, source.split('.').next().unwrap_or_default());
            }
            (Ty::Int, Ty::Float | Ty::F32) => "int",
            _ => return diagnostic,
        };
        if !diagnostic.hint.as_ref().is_some_and(|h| h.starts_with("convert it")) {
            return diagnostic;
        }
        let call = conversion(convert, source);
        diagnostic.fix(span, if matches!(what, Role::Argument { .. }) { format!("({call})") } else { call })
    }

    /// The conversion `float n` of the source at a span, if that is short.
    pub(super) fn converted(&self, f: &str, span: Span) -> String {
        let text = self.host.text(span);
        let simple = text.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '\'' | '[' | ']'));
        match text.len() {
            0 => format!("{f} n"),
            1..=30 if simple || text.starts_with('(') && text.ends_with(')') => format!("{f} {text}"),
            1..=30 if !text.contains('\n') => format!("{f} ({text})"),
            _ => format!("{f} (...)"),
        }
    }

    /// The number at the bottom of nested arrays.
    fn leaf_of(&self, t: &Ty) -> Ty {
        match self.resolve(t) {
            Ty::Array(_, e) => self.leaf_of(&e),
            t => t,
        }
    }

    /// Like `leaf_of`, with Float for a variable that can only become a real number.
    fn real_leaf(&self, t: &Ty) -> Ty {
        match self.leaf_of(t) {
            Ty::Meta(m) if self.vars[m].scalar && self.vars[m].has(Class::Real) => Ty::Float,
            t => t,
        }
    }

    /// Whether the final result of a function is an array.
    fn ends_in_array(&self, t: &Ty) -> bool {
        match self.resolve(t) {
            Ty::Fun(_, r) => self.ends_in_array(&r),
            t => matches!(t, Ty::Array(..)),
        }
    }

    /// Whether two types are equal as far as they are known.
    fn alike(&self, a: &Ty, b: &Ty) -> bool {
        !matches!((self.resolve(a), self.resolve(b)), (Ty::Meta(_), _) | (_, Ty::Meta(_)))
            && self.show(a) == self.show(b)
    }
}

fn is_numeric(class: Class) -> bool {
    matches!(class, Class::Num | Class::Real | Class::Nums | Class::Reals | Class::Space)
}

/// A hint if an array of Bools is given where a Bool is expected.
fn several_bools(what: &Role) -> String {
    match what {
        Role::Thing(t) if t.contains("`&&`") || t.contains("`||`") => {
            "`.&&` and `.||` combine arrays of Bools element by element".into()
        }
        _ => "one Bool of many: `all mask` or `any mask`".into(),
    }
}

/// A conversion function applied to an expression in source form, with parentheses if needed.
pub(super) fn conversion(f: &str, source: &str) -> String {
    let simple = source.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '\''))
        || source.starts_with('(') && source.ends_with(')') && !source[1..].contains('(');
    if simple { format!("{f} {source}") } else { format!("{f} ({source})") }
}

fn contains(outer: Span, inner: Span) -> bool {
    outer.file == inner.file && outer.lo <= inner.lo && inner.hi <= outer.hi
}
