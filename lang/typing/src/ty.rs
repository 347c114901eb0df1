//! Types, sizes, classes and schemes, after inference.

use adl_prim::Prim;
use adl_syntax::span::Span;
use adl_syntax::symbol::Symbol;
use std::rc::Rc;

/// A quantified or rigid type variable; numbers are unique within a session.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct TyVar(pub u32);

/// A quantified or rigid size variable.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct SizeVar(pub u32);

/// A declared data type: its number and its display name.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct DataId(pub u32, pub Symbol);

/// A type. `Meta` occurs only during inference.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Ty {
    /// `()`.
    Unit,
    /// `Bool`.
    Bool,
    /// `Int`.
    Int,
    /// `Float`.
    Float,
    /// `F32`.
    F32,
    /// `String`.
    Str,
    /// `a`.
    Var(TyVar),
    /// An inference variable (never in Core).
    Meta(u32),
    /// `a -> b`.
    Fun(Rc<Ty>, Rc<Ty>),
    /// `a -o b`.
    Lin(Rc<Ty>, Rc<Ty>),
    /// `(a, b)`, two or more.
    Tuple(Rc<[Ty]>),
    /// `{x : a | r}`.
    Record(Rc<RecordTy>),
    /// `[n]a`.
    Array(Size, Rc<Ty>),
    /// `Shape`, `List a`, and opaque types such as `Key`.
    Data(DataId, Rc<[Ty]>),
}

/// The number of the type `Each`, which no declaration has.
const EACH: u32 = u32::MAX - 1;

/// `Each a`: a value that may differ from rank to rank. A value of it is a record with the field [`each_field`].
pub fn each(a: Ty) -> Ty {
    Ty::Data(DataId(EACH, Symbol::new("Each")), Rc::new([a]))
}

/// The `a` of `Each a`.
pub fn part_of_each(t: &Ty) -> Option<&Ty> {
    match t {
        Ty::Data(DataId(EACH, _), args) => args.first(),
        _ => None,
    }
}

/// The field of the record that an `Each` is at run time. No program can write it.
pub fn each_field() -> Symbol {
    Symbol::new("Each")
}

/// The number of the type `Rows`, which no declaration has.
const ROWS: u32 = u32::MAX - 2;

/// `Rows a`: a table in chunks, which are read when they are needed. A value of it is a record with the fields
/// [`rows_fields`].
pub fn rows(a: Ty) -> Ty {
    Ty::Data(DataId(ROWS, Symbol::new("Rows")), Rc::new([a]))
}

/// The `a` of `Rows a`.
pub fn element_of_rows(t: &Ty) -> Option<&Ty> {
    match t {
        Ty::Data(DataId(ROWS, _), args) => args.first(),
        _ => None,
    }
}

/// The fields of the record that a `Rows` is at run time: the function from chunks to rows, and the numbers of rows.
/// No program can write them.
pub fn rows_fields() -> [Symbol; 2] {
    [Symbol::new("Rows"), Symbol::new("Sizes")]
}

/// A record type: fields sorted by name, and optionally a row.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct RecordTy {
    /// Sorted by `Symbol::as_str`.
    pub fields: Vec<(Symbol, Ty)>,
    /// `None`: closed. Otherwise `Ty::Var` or `Ty::Meta` of a row.
    pub tail: Option<Ty>,
}

/// A size.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Size {
    /// A constant such as `3`, with the place that determined it.
    Const(u64, Origin),
    /// `n`.
    Var(SizeVar),
    /// An inference variable (never in Core).
    Meta(u32),
    /// Determined only at run time.
    Unknown,
}

/// Where a size came from, for messages. All origins are equal: a size is the same wherever it came from.
#[derive(Clone, Copy, Debug, Default)]
pub struct Origin(pub Span);

impl PartialEq for Origin {
    fn eq(&self, _: &Origin) -> bool {
        true
    }
}

impl Eq for Origin {}

impl std::hash::Hash for Origin {
    fn hash<H: std::hash::Hasher>(&self, _: &mut H) {}
}

impl Size {
    /// A constant size without an origin.
    pub fn known(n: u64) -> Size {
        Size::Const(n, Origin::default())
    }

    /// A constant size with its origin.
    pub fn from(n: u64, span: Span) -> Size {
        Size::Const(n, Origin(span))
    }
}

/// The built-in classes. `Num` and `Real` are single numbers; `Nums` and `Reals` are such numbers or arrays of them of
/// any rank. `Space` also includes data with a real leaf. `Data` is what `read_csv` and `read_json` require of their
/// result: first-order data, whose type is known at run time.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[allow(missing_docs)]
pub enum Class {
    Eq,
    Ord,
    Show,
    Num,
    Real,
    Nums,
    Reals,
    Space,
    Diff,
    Data,
}

impl Class {
    /// Whether type variables of this class take a hidden representation at run time.
    pub fn has_rep(self) -> bool {
        match self {
            Class::Num | Class::Real | Class::Nums | Class::Reals | Class::Space | Class::Diff | Class::Data => true,
            Class::Eq | Class::Ord | Class::Show => false,
        }
    }
}

/// `(Diff a, Real s) => (a -> s) -> a -> a`, quantified over its variables.
#[derive(Clone, PartialEq, Debug)]
pub struct Scheme {
    /// Quantified type variables, in the order of first appearance, each with its constraints and
    /// the name it prints with. Row variables are among them.
    pub vars: Vec<(TyVar, Vec<Class>, Symbol)>,
    /// Quantified size variables.
    pub sizes: Vec<(SizeVar, Symbol)>,
    /// Operators whose operand ranks are decided at each use.
    pub constraints: Rc<[Constraint]>,
    /// Variables that only the constraints mention: the types of literals and of intermediate results. Each use solves
    /// for them and passes their representations.
    pub determined: Vec<(TyVar, Vec<Class>)>,
    /// The type.
    pub ty: Ty,
}

/// An operator on operands whose types are decided at each use: `a @ b : c`. The operand types determine the result
/// type.
#[derive(Clone, Debug)]
pub struct Constraint {
    /// The operator.
    pub prim: Prim,
    /// Its operands.
    pub args: Vec<Ty>,
    /// Its result.
    pub res: Ty,
    /// The places of the operation and its operands in the definition.
    pub at: Rc<OperationSite>,
}

/// Where the operation of a constraint stands.
#[derive(Clone, Debug)]
pub struct OperationSite {
    /// The operation.
    pub span: Span,
    /// Its operands.
    pub operands: Vec<Span>,
    /// The enclosing definition.
    pub within: Option<Symbol>,
}

/// Constraints are compared without their places.
impl PartialEq for Constraint {
    fn eq(&self, other: &Constraint) -> bool {
        (self.prim, &self.args, &self.res) == (other.prim, &other.args, &other.res)
    }
}

impl Scheme {
    /// A type without quantified variables.
    pub fn mono(ty: Ty) -> Scheme {
        Scheme { vars: Vec::new(), sizes: Vec::new(), constraints: Rc::new([]), determined: Vec::new(), ty }
    }

    /// The variables that take a hidden representation, in order.
    pub fn rep_vars(&self) -> impl Iterator<Item = TyVar> + '_ {
        let own = self.vars.iter().filter(|(_, classes, _)| classes.iter().any(|c| c.has_rep())).map(|(v, _, _)| *v);
        own.chain(self.determined.iter().map(|(v, _)| *v))
    }
}

/// A declared data type.
#[derive(Clone, PartialEq, Debug)]
pub struct DataDecl {
    /// Its identity.
    pub id: DataId,
    /// Its name (`Shape`).
    pub name: Symbol,
    /// Type parameters.
    pub params: Vec<TyVar>,
    /// In tag order; empty for opaque types (`Key`).
    pub cons: Vec<ConDecl>,
}

/// A constructor.
#[derive(Clone, PartialEq, Debug)]
pub struct ConDecl {
    /// `Circle`.
    pub name: Symbol,
    /// Position in the declaration.
    pub tag: u32,
    /// Field types, over the declaration's parameters.
    pub fields: Vec<Ty>,
}

/// Whether one class implies another.
pub(crate) fn implies(has: Class, wants: Class) -> bool {
    has == wants
        || match has {
            Class::Real => wants != Class::Real,
            Class::Num => !matches!(wants, Class::Real | Class::Reals),
            Class::Reals => matches!(
                wants,
                Class::Nums | Class::Space | Class::Eq | Class::Ord | Class::Show | Class::Diff | Class::Data
            ),
            Class::Nums => {
                matches!(wants, Class::Space | Class::Eq | Class::Ord | Class::Show | Class::Diff | Class::Data)
            }
            Class::Space => matches!(wants, Class::Diff | Class::Show),
            Class::Ord => wants == Class::Eq,
            Class::Eq | Class::Show | Class::Diff | Class::Data => false,
        }
}

/// Rebuilds a type bottom-up: `f` may replace a node, `g` a size.
pub(crate) fn map_type(t: &Ty, f: &mut dyn FnMut(&Ty) -> Option<Ty>, g: &mut dyn FnMut(Size) -> Size) -> Ty {
    stacker::maybe_grow(32 * 1024, 1024 * 1024, || map_parts(t, f, g))
}

fn map_parts(ty: &Ty, on_type: &mut dyn FnMut(&Ty) -> Option<Ty>, on_size: &mut dyn FnMut(Size) -> Size) -> Ty {
    if let Some(r) = on_type(ty) {
        return r;
    }
    match ty {
        Ty::Unit | Ty::Bool | Ty::Int | Ty::Float | Ty::F32 | Ty::Str | Ty::Var(_) | Ty::Meta(_) => ty.clone(),
        Ty::Fun(a, b) => Ty::Fun(Rc::new(map_type(a, on_type, on_size)), Rc::new(map_type(b, on_type, on_size))),
        Ty::Lin(a, b) => Ty::Lin(Rc::new(map_type(a, on_type, on_size)), Rc::new(map_type(b, on_type, on_size))),
        Ty::Tuple(parts) => Ty::Tuple(parts.iter().map(|p| map_type(p, on_type, on_size)).collect()),
        Ty::Array(n, e) => Ty::Array(on_size(*n), Rc::new(map_type(e, on_type, on_size))),
        Ty::Data(id, args) => Ty::Data(*id, args.iter().map(|a| map_type(a, on_type, on_size)).collect()),
        Ty::Record(r) => {
            let mut fields: Vec<(Symbol, Ty)> =
                r.fields.iter().map(|(n, t)| (*n, map_type(t, on_type, on_size))).collect();
            let mut tail = r.tail.as_ref().map(|t| map_type(t, on_type, on_size));
            // The fields of a row that is now known are merged.
            while let Some(Ty::Record(more)) = tail {
                fields.extend(more.fields.iter().cloned());
                tail = more.tail.clone();
            }
            fields.sort_by_key(|(n, _)| n.as_str());
            Ty::Record(Rc::new(RecordTy { fields, tail }))
        }
    }
}

/// `a -> b`.
pub(crate) fn fun(a: Ty, b: Ty) -> Ty {
    Ty::Fun(Rc::new(a), Rc::new(b))
}

/// `[n]a`.
pub(crate) fn array(n: Size, a: Ty) -> Ty {
    Ty::Array(n, Rc::new(a))
}
