//! Types as text: `(Diff a, Real s) => (a -> s) -> a -> a`.

use crate::ty::{Class, Constraint, DataId, RecordTy, Scheme, Size, SizeVar, Ty, TyVar, implies};
use adl_prim::{ArrayFn, Bin, Cmp, NumberFn, Prim, ReductionFn};
use adl_syntax::field_order;
use adl_syntax::symbol::Symbol;
use std::collections::HashMap;

/// Prints types with one shared set of variable names.
#[derive(Default)]
pub struct TypePrinter {
    vars: HashMap<TyVar, String>,
    metas: HashMap<u32, String>,
    sizes: HashMap<SizeVar, String>,
    size_metas: HashMap<u32, String>,
    used: Vec<String>,
    /// Suffixes that distinguish declared types of the same name.
    marks: HashMap<DataId, String>,
}

/// A scheme as text.
pub fn scheme(scheme: &Scheme) -> String {
    let mut printer = TypePrinter::default();
    // Variables with source names are printed first, then the others in order of appearance.
    let (written, others): (Vec<_>, Vec<_>) = scheme.vars.iter().partition(|v| !v.2.as_str().is_empty());
    for (v, _, name) in written.into_iter().chain(others) {
        printer.name_var(*v, name.as_str());
    }
    for (v, name) in scheme.sizes.iter().filter(|(_, name)| !name.as_str().is_empty()) {
        printer.name_size(*v, name.as_str());
    }
    let ty = printer.ty(&scheme.ty);
    let mut constraints = Vec::new();
    for (v, classes, _) in &scheme.vars {
        for c in minimal(classes) {
            constraints.push(format!("{c:?} {}", printer.vars[v]));
        }
    }
    for c in scheme.constraints.iter().filter(|c| !is_implied(scheme, c)) {
        let text = printer.constraint(c);
        if !constraints.contains(&text) {
            constraints.push(text);
        }
    }
    for (v, classes) in &scheme.determined {
        if let Some(name) = printer.vars.get(v) {
            constraints.extend(minimal(classes).iter().map(|c| format!("{c:?} {name}")));
        }
    }
    match constraints.len() {
        0 => ty,
        1 => format!("{} => {ty}", constraints[0]),
        _ => format!("({}) => {ty}", constraints.join(", ")),
    }
}

/// Whether the scheme's classes already express a constraint: a literal beside an operand whose type the result has.
fn is_implied(s: &Scheme, c: &Constraint) -> bool {
    let given = |t: &Ty| s.constraints.iter().any(|c| c.res == *t);
    let literal = |t: &Ty| {
        !given(t)
            && matches!(t, Ty::Var(v) if s.determined.iter().any(|(w, classes)| w == v && classes.iter().any(|c| matches!(c, Class::Num | Class::Real))))
    };
    matches!(c.args.as_slice(), [a, b] if literal(a) && *b == c.res || literal(b) && *a == c.res)
}

/// A type as text.
pub fn ty(t: &Ty) -> String {
    TypePrinter::default().ty(t)
}

/// Removes the classes that other classes imply.
pub fn minimal(classes: &[Class]) -> Vec<Class> {
    let mut out: Vec<Class> = classes
        .iter()
        .copied()
        .filter(|c| match c {
            Class::Data => true,
            c => !classes.iter().any(|d| d != c && implies(*d, *c)),
        })
        .collect();
    out.sort_unstable();
    out.dedup();
    out
}

impl TypePrinter {
    fn fresh(&mut self, wish: &str, letters: &str) -> String {
        if !wish.is_empty() && !self.used.iter().any(|u| u == wish) {
            self.used.push(wish.to_owned());
            return wish.to_owned();
        }
        for round in 0.. {
            for c in letters.chars() {
                let name = if round == 0 { c.to_string() } else { format!("{c}{round}") };
                if !self.used.contains(&name) {
                    self.used.push(name.clone());
                    return name;
                }
            }
        }
        String::new()
    }

    /// Names a variable, with the wished name if it is free.
    pub fn name_var(&mut self, v: TyVar, wish: &str) {
        let name = self.fresh(wish, "abcdefgh");
        self.vars.insert(v, name);
    }

    /// Names a size, with the wished name if it is free.
    pub fn name_size(&mut self, v: SizeVar, wish: &str) {
        let name = self.fresh(wish, "nmkpq");
        self.sizes.insert(v, name);
    }

    /// Adds marks to the names of declared types: `T@1`.
    pub(crate) fn mark(&mut self, marks: &HashMap<DataId, String>) {
        self.marks.clone_from(marks);
    }

    fn size(&mut self, s: Size) -> String {
        match s {
            Size::Const(n, _) => n.to_string(),
            Size::Unknown => "_".into(),
            Size::Var(v) => {
                if !self.sizes.contains_key(&v) {
                    self.name_size(v, "");
                }
                self.sizes[&v].clone()
            }
            Size::Meta(m) => {
                if !self.size_metas.contains_key(&m) {
                    let name = self.fresh("", "nmkpq");
                    self.size_metas.insert(m, name);
                }
                self.size_metas[&m].clone()
            }
        }
    }

    fn constraint(&mut self, c: &Constraint) -> String {
        let args: Vec<String> = c.args.iter().map(|t| self.at(t, 2)).collect();
        let res = self.at(&c.res, 1);
        match (spelling(c.prim), args.as_slice()) {
            ((op, true), [a, b]) => format!("{a} {op} {b} : {res}"),
            ((name, _), args) => format!("{name} {} : {res}", args.join(" ")),
        }
    }

    /// A type as text.
    pub fn ty(&mut self, t: &Ty) -> String {
        self.at(t, 0)
    }

    /// Level 0: anywhere; 1: left of an arrow; 2: an argument of a type constructor.
    fn at(&mut self, t: &Ty, level: u8) -> String {
        stacker::maybe_grow(32 * 1024, 1024 * 1024, || self.parts(t, level))
    }

    fn record(&mut self, r: &RecordTy) -> String {
        let names: Vec<Symbol> = r.fields.iter().map(|(n, _)| *n).collect();
        let fields = field_order::shown(&names).into_iter().map(|i| &r.fields[i]);
        let text: Vec<String> = fields.map(|(name, t)| format!("{name} : {}", self.at(t, 0))).collect();
        let tail = r.tail.as_ref().map_or(String::new(), |t| format!(" | {}", self.at(t, 0)));
        format!("{{{}{tail}}}", text.join(", "))
    }

    fn parts(&mut self, ty: &Ty, level: u8) -> String {
        match ty {
            Ty::Unit => "()".into(),
            Ty::Bool => "Bool".into(),
            Ty::Int => "Int".into(),
            Ty::Float => "Float".into(),
            Ty::F32 => "F32".into(),
            Ty::Str => "String".into(),
            Ty::Var(v) => {
                if !self.vars.contains_key(v) {
                    self.name_var(*v, "");
                }
                self.vars[v].clone()
            }
            Ty::Meta(m) => {
                if !self.metas.contains_key(m) {
                    let name = self.fresh("", "abcdefgh");
                    self.metas.insert(*m, name);
                }
                self.metas[m].clone()
            }
            Ty::Fun(a, b) | Ty::Lin(a, b) => {
                let arrow = if matches!(ty, Ty::Lin(..)) { "-o" } else { "->" };
                let text = format!("{} {arrow} {}", self.at(a, 1), self.at(b, 0));
                if level > 0 { format!("({text})") } else { text }
            }
            Ty::Tuple(parts) => {
                let parts: Vec<String> = parts.iter().map(|p| self.at(p, 0)).collect();
                format!("({})", parts.join(", "))
            }
            Ty::Array(n, elem) => format!("[{}]{}", self.size(*n), self.at(elem, 1)),
            Ty::Record(r) => self.record(r),
            Ty::Data(id, args) => {
                let name = format!("{}{}", id.1, self.marks.get(id).map_or("", String::as_str));
                if args.is_empty() {
                    return name;
                }
                let args: Vec<String> = args.iter().map(|a| self.at(a, 2)).collect();
                let text = format!("{name} {}", args.join(" "));
                if level > 1 { format!("({text})") } else { text }
            }
        }
    }
}

/// Operators that are written infix.
pub(crate) const INFIX: [(Prim, &str); 17] = [
    (Prim::Bin(Bin::Add), "+"),
    (Prim::Bin(Bin::Sub), "-"),
    (Prim::Bin(Bin::Mul), "*"),
    (Prim::Bin(Bin::Div), "/"),
    (Prim::Bin(Bin::IntDiv), "//"),
    (Prim::Bin(Bin::Rem), "%"),
    (Prim::Bin(Bin::Pow), "^"),
    (Prim::Reduction(ReductionFn::MatMul), "@"),
    (Prim::Array(ArrayFn::Append), "++"),
    (Prim::CompareEach(Cmp::Eq), ".=="),
    (Prim::CompareEach(Cmp::Ne), ".!="),
    (Prim::CompareEach(Cmp::Lt), ".<"),
    (Prim::CompareEach(Cmp::Gt), ".>"),
    (Prim::CompareEach(Cmp::Le), ".<="),
    (Prim::CompareEach(Cmp::Ge), ".>="),
    (Prim::Number(NumberFn::AndEach), ".&&"),
    (Prim::Number(NumberFn::OrEach), ".||"),
];

/// The spelling of an operation in a constraint, and whether it is infix.
pub(crate) fn spelling(p: Prim) -> (&'static str, bool) {
    INFIX.iter().find(|(q, _)| *q == p).map_or((p.name(), false), |(_, text)| (text, true))
}
