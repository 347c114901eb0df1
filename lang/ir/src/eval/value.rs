//! Values of the reference evaluator.

use crate::print;
use crate::ty::Ty;
use std::cell::Cell;
use std::rc::Rc;

/// A value. The representation favours simplicity: elements of arrays are values too.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum Val {
    F64(f64),
    F32(f32),
    I64(i64),
    Bool(bool),
    Str(Rc<str>),
    Array(Rc<Arr>),
    Data(Rc<Con>),
    /// A symbolic zero: a zero array or zero data of unknown shape.
    SymbolicZero,
    /// Instead of a linear number, the set of inputs on which it depends. Evaluating a linear function on such sets
    /// gives the sparsity pattern of its matrix.
    Deps(Rc<Deps>),
}

/// The inputs on which a linear number depends, in ascending order.
#[derive(Clone, Debug)]
pub struct Deps {
    /// The indices of the inputs.
    pub of: Vec<u32>,
    /// The total number of entries that the sets of an evaluation may still have, shared by all sets. When it
    /// reaches 0, sets become incomplete: a pattern with that many entries is useless.
    pub left: Rc<Cell<u64>>,
}

impl PartialEq for Deps {
    fn eq(&self, other: &Deps) -> bool {
        self.of == other.of
    }
}

impl Deps {
    /// The union of two dependence sets.
    pub(super) fn union(deps: &Rc<Deps>, b: &Rc<Deps>) -> Rc<Deps> {
        if Rc::ptr_eq(deps, b) {
            return deps.clone();
        }
        deps.left.set(deps.left.get().saturating_sub((deps.of.len() + b.of.len()) as u64));
        if deps.left.get() == 0 {
            return deps.clone();
        }
        let (mut x, mut y) = (deps.of.iter().copied().peekable(), b.of.iter().copied().peekable());
        let mut of = Vec::with_capacity(deps.of.len() + b.of.len());
        while let (Some(p), Some(q)) = (x.peek(), y.peek()) {
            let least = *p.min(q);
            x.next_if_eq(&least);
            y.next_if_eq(&least);
            of.push(least);
        }
        of.extend(x.chain(y));
        Rc::new(Deps { of, left: deps.left.clone() })
    }
}

/// An array.
#[derive(Clone, Debug)]
pub struct Arr {
    /// Extents.
    pub shape: Vec<usize>,
    /// Elements in row-major order.
    pub elems: Vec<Val>,
}

/// Data: a constructor with its fields.
#[derive(Clone, Debug)]
pub struct Con {
    /// The index of the constructor.
    pub tag: u32,
    /// Its fields.
    pub fields: Vec<Val>,
}

/// Drops values without recursion, so that deep data does not overflow the stack.
fn free(mut todo: Vec<Val>) {
    while let Some(v) = todo.pop() {
        match v {
            Val::Data(c) => {
                todo.extend(Rc::into_inner(c).map(|mut c| std::mem::take(&mut c.fields)).unwrap_or_default());
            }
            Val::Array(a) => {
                todo.extend(Rc::into_inner(a).map(|mut a| std::mem::take(&mut a.elems)).unwrap_or_default());
            }
            Val::F64(_) | Val::F32(_) | Val::I64(_) | Val::Bool(_) | Val::Str(_) | Val::SymbolicZero | Val::Deps(_) => {
            }
        }
    }
}

impl Drop for Con {
    fn drop(&mut self) {
        free(std::mem::take(&mut self.fields));
    }
}

impl Drop for Arr {
    fn drop(&mut self) {
        if matches!(self.elems.first(), Some(Val::Data(_) | Val::Array(_) | Val::SymbolicZero)) {
            free(std::mem::take(&mut self.elems));
        }
    }
}

impl PartialEq for Val {
    /// Structural equality; nan equals nan.
    fn eq(&self, other: &Val) -> bool {
        let mut todo = vec![(self, other)];
        while let Some((a, b)) = todo.pop() {
            let same = match (a, b) {
                (Val::F64(x), Val::F64(y)) => x == y || x.is_nan() && y.is_nan(),
                (Val::F32(x), Val::F32(y)) => x == y || x.is_nan() && y.is_nan(),
                (Val::I64(x), Val::I64(y)) => x == y,
                (Val::Bool(x), Val::Bool(y)) => x == y,
                (Val::Str(x), Val::Str(y)) => x == y,
                (Val::SymbolicZero, Val::SymbolicZero) => true,
                (Val::Deps(x), Val::Deps(y)) => x == y,
                (Val::Array(x), Val::Array(y)) => {
                    todo.extend(x.elems.iter().zip(&y.elems));
                    x.shape == y.shape
                }
                (Val::Data(x), Val::Data(y)) => {
                    todo.extend(x.fields.iter().zip(&y.fields));
                    x.tag == y.tag && x.fields.len() == y.fields.len()
                }
                _ => false,
            };
            if !same {
                return false;
            }
        }
        true
    }
}

impl Val {
    /// An array of this shape.
    pub fn array(shape: Vec<usize>, elems: Vec<Val>) -> Val {
        Val::Array(Rc::new(Arr { shape, elems }))
    }

    /// A vector of Floats.
    pub fn floats(xs: &[f64]) -> Val {
        Val::array(vec![xs.len()], xs.iter().map(|x| Val::F64(*x)).collect())
    }

    /// A vector of Ints.
    pub fn ints(xs: &[i64]) -> Val {
        Val::array(vec![xs.len()], xs.iter().map(|x| Val::I64(*x)).collect())
    }

    /// A matrix of Floats, in row-major order.
    pub fn matrix(rows: usize, cols: usize, xs: &[f64]) -> Val {
        Val::array(vec![rows, cols], xs.iter().map(|x| Val::F64(*x)).collect())
    }

    /// A data value.
    pub fn data(tag: u32, fields: Vec<Val>) -> Val {
        Val::Data(Rc::new(Con { tag, fields }))
    }

    /// The zero of a type: symbolic for arrays and data.
    pub fn zero(ty: &Ty) -> Val {
        match ty {
            Ty::F64 => Val::F64(0.0),
            Ty::F32 => Val::F32(0.0),
            Ty::I64 => Val::I64(0),
            Ty::Bool => Val::Bool(false),
            Ty::Str | Ty::Array(..) | Ty::Data(_) => Val::SymbolicZero,
        }
    }

    /// The value of a real number; `None` for other values.
    pub fn float(&self) -> Option<f64> {
        match self {
            Val::F64(x) => Some(*x),
            Val::F32(x) => Some(f64::from(*x)),
            _ => None,
        }
    }

    /// The array, if the value is one.
    pub fn arr(&self) -> Option<&Rc<Arr>> {
        match self {
            Val::Array(a) => Some(a),
            _ => None,
        }
    }

    /// Whether it is a symbolic zero.
    pub fn is_symbolic_zero(&self) -> bool {
        matches!(self, Val::SymbolicZero)
    }

    /// All real numbers in it, in order. A symbolic zero has none.
    pub fn reals(&self) -> Vec<f64> {
        self.leaves().into_iter().filter_map(Val::float).collect()
    }

    /// All parts that are neither arrays nor data, in order. A symbolic zero has none.
    pub fn leaves(&self) -> Vec<&Val> {
        let mut out = Vec::new();
        let mut todo = vec![self];
        while let Some(v) = todo.pop() {
            match v {
                Val::Array(a) => todo.extend(a.elems.iter().rev()),
                Val::Data(c) => todo.extend(c.fields.iter().rev()),
                Val::SymbolicZero => {}
                leaf => out.push(leaf),
            }
        }
        out
    }

    /// The number of [`leaves`](Val::leaves). An array of scalars takes constant time, because loops ask at each iteration.
    pub fn scalars(&self) -> u64 {
        let (mut count, mut todo) = (0, vec![self]);
        while let Some(v) = todo.pop() {
            match v {
                Val::Array(a) if a.elems.first().is_some_and(Val::is_scalar) => count += a.elems.len() as u64,
                Val::Array(a) => todo.extend(&a.elems),
                Val::Data(c) => todo.extend(&c.fields),
                Val::SymbolicZero => {}
                _ => count += 1,
            }
        }
        count
    }

    /// Whether it is neither an array nor data. Then so are the other elements of an array that holds it.
    fn is_scalar(&self) -> bool {
        !matches!(self, Val::Array(_) | Val::Data(_) | Val::SymbolicZero)
    }

    /// Whether it has this type. A symbolic zero has every array and data type.
    pub fn fits(&self, ty: &Ty) -> bool {
        match (self, ty) {
            (Val::F64(_), Ty::F64)
            | (Val::F32(_), Ty::F32)
            | (Val::I64(_), Ty::I64)
            | (Val::Bool(_), Ty::Bool)
            | (Val::Str(_), Ty::Str) => true,
            (Val::Deps(_), Ty::F64 | Ty::F32)
            | (Val::Data(_), Ty::Data(_))
            | (Val::SymbolicZero, Ty::Array(..) | Ty::Data(_)) => true,
            (Val::Array(a), Ty::Array(e, r)) => {
                a.shape.len() == *r as usize && a.elems.first().is_none_or(|x| x.fits(e))
            }
            _ => false,
        }
    }

    /// A short description for messages.
    pub(crate) fn kind(&self) -> String {
        match self {
            Val::F64(_) => print::ty(&Ty::F64),
            Val::F32(_) => print::ty(&Ty::F32),
            Val::I64(_) => print::ty(&Ty::I64),
            Val::Bool(_) => print::ty(&Ty::Bool),
            Val::Str(_) => print::ty(&Ty::Str),
            Val::Array(a) => format!("an array of shape {:?}", a.shape),
            Val::Data(c) => format!("data with constructor {}", c.tag),
            Val::SymbolicZero => "an absent zero".to_owned(),
            Val::Deps(_) => "a set of inputs".to_owned(),
        }
    }
}
