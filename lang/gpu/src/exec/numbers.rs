//! Scalar arithmetic, on the host if it knows the operands, else on the device; and symbolic zeros.

use super::{Exec, ExecFrame, Value};
use crate::array::{Array, Data};
use crate::error::{Check, Error, FailedCheck, Res, unsupported};
use crate::pointwise;
use adl_ir::eval::scalar;
use adl_ir::{Lit, Op, Stmt, Val, Var};
use adl_prim::Bin;
use std::rc::Rc;

/// A literal as a value of the reference evaluator.
pub(super) fn val(l: &Lit) -> Val {
    match l {
        Lit::F64(x) => Val::F64(*x),
        Lit::F32(x) => Val::F32(*x),
        Lit::I64(n) => Val::I64(*n),
        Lit::Bool(b) => Val::Bool(*b),
        Lit::Str(s) => Val::Str(s.clone()),
    }
}

/// A value of the reference evaluator as a literal.
pub(super) fn lit(v: &Val) -> Res<Lit> {
    Ok(match v {
        Val::F64(x) => Lit::F64(*x),
        Val::F32(x) => Lit::F32(*x),
        Val::I64(n) => Lit::I64(*n),
        Val::Bool(b) => Lit::Bool(*b),
        Val::Str(s) => Lit::Str(s.clone()),
        _ => return unsupported("no number"),
    })
}

impl<'a> Exec<'a> {
    /// Sends a host scalar to the device.
    pub(super) fn device_number(&self, l: &Lit) -> Res<Array> {
        let data = match l {
            Lit::F64(x) => Data::F64(vec![*x]),
            Lit::F32(x) => Data::F32(vec![*x]),
            Lit::I64(n) => Data::I64(vec![*n]),
            Lit::Bool(b) => Data::Bool(vec![*b]),
            Lit::Str(_) => return unsupported("texts"),
        };
        self.gpu.array(&data, Vec::new())
    }

    /// A scalar, read from the device if necessary.
    pub(super) fn number(&self, fr: &ExecFrame<'a>, v: Var) -> Res<Lit> {
        self.number_of(fr.get(v)?)
    }

    fn number_of(&self, v: &Value) -> Res<Lit> {
        match v {
            Value::Number(l) => Ok(l.clone()),
            Value::Array(a) if a.shape.is_empty() => Ok(match self.gpu.read(a)? {
                Data::F64(x) => Lit::F64(x[0]),
                Data::F32(x) => Lit::F32(x[0]),
                Data::I64(x) => Lit::I64(x[0]),
                Data::Bool(x) => Lit::Bool(x[0]),
                Data::Word(x) => Lit::I64(i64::from(x[0])),
            }),
            Value::Array(_) | Value::Ints(_) | Value::Data(..) | Value::SymbolicZero => {
                unsupported("no number in the place of one")
            }
        }
    }

    /// An Int.
    pub(super) fn int(&self, fr: &ExecFrame<'a>, v: Var) -> Res<i64> {
        self.whole_number(fr.get(v)?)
    }

    /// The Int in a value.
    pub(super) fn whole_number(&self, v: &Value) -> Res<i64> {
        match self.number_of(v)? {
            Lit::I64(n) => Ok(n),
            _ => unsupported("no Int in the place of one"),
        }
    }

    /// A non-negative Int.
    pub(super) fn size(&self, fr: &ExecFrame<'a>, v: Var) -> Res<usize> {
        usize::try_from(self.int(fr, v)?).map_or_else(|_| unsupported("a size below 0"), Ok)
    }

    /// A Bool.
    pub(super) fn holds(&self, fr: &ExecFrame<'a>, v: Var) -> Res<bool> {
        match self.number(fr, v)? {
            Lit::Bool(b) => Ok(b),
            _ => unsupported("no Bool in the place of one"),
        }
    }

    /// An operator, elementwise on arrays.
    pub(super) fn arithmetic(&mut self, fr: &mut ExecFrame<'a>, op: &Op, stmt: &Stmt, outs: &[Var]) -> Res<Value> {
        let mut vars = Vec::new();
        op.each_operand(&mut |v| vars.push(v));
        let values = fr.all(&vars)?;
        if values.iter().any(|v| matches!(v, Value::SymbolicZero | Value::Data(..))) {
            return self.vector(op, &values);
        }
        let numbers: Option<Vec<Val>> =
            values.iter().map(|v| if let Value::Number(l) = v { Some(val(l)) } else { None }).collect();
        if let Some(x) = numbers {
            let made =
                on_host(op, &x).map_err(|_| Error::Fault(FailedCheck { what: Check::Overflow, span: stmt.span }))?;
            return lit(&made).map(Value::Number);
        }
        // Operations on device scalars only run on vectors of one element.
        let scalar =
            values.iter().all(|v| matches!(v, Value::Number(_)) || matches!(v, Value::Array(a) if a.shape.is_empty()));
        let env = self.env(fr, scalar.then_some(&vars));
        let mut made = pointwise::run(self.gpu, self.program, fr.f, std::slice::from_ref(stmt), outs, &env)?;
        let made = made.remove(0);
        Ok(Value::Array(if scalar { made.reshaped(Vec::new())? } else { made }))
    }
}

impl Exec<'_> {
    /// Applies an operator to values that may be symbolic zeros or data, field by field. (The operands in `op` are
    /// ignored.)
    pub(super) fn vector(&mut self, op: &Op, operands: &[Value]) -> Res<Value> {
        if let (Op::Select(..), [c, a, b]) = (op, operands)
            && [a, b].iter().any(|v| matches!(v, Value::SymbolicZero | Value::Data(..)))
        {
            return self.select_parts(c, a, b);
        }
        if operands.iter().any(|v| matches!(v, Value::SymbolicZero)) {
            return symbolic_zero(op, operands);
        }
        let fields = |exec: &mut Self, n: usize, of: &dyn Fn(usize) -> Vec<Value>| {
            (0..n).map(|k| exec.vector(op, &of(k))).collect::<Res<Vec<_>>>()
        };
        match (op, operands) {
            (Op::Bin(Bin::Add | Bin::Sub, ..), [Value::Data(s, a), Value::Data(t, b)])
                if s == t && a.len() == b.len() =>
            {
                Ok(Value::Data(*s, Rc::new(fields(self, a.len(), &|k| vec![a[k].clone(), b[k].clone()])?)))
            }
            (
                Op::Bin(Bin::Mul | Bin::ScaleTangent, ..),
                [c @ (Value::Number(_) | Value::Array(_)), Value::Data(t, b)],
            ) => Ok(Value::Data(*t, Rc::new(fields(self, b.len(), &|k| vec![c.clone(), b[k].clone()])?))),
            (Op::Bin(Bin::Mul | Bin::Div, ..), [Value::Data(t, a), c @ (Value::Number(_) | Value::Array(_))]) => {
                Ok(Value::Data(*t, Rc::new(fields(self, a.len(), &|k| vec![a[k].clone(), c.clone()])?)))
            }
            (Op::Un(adl_prim::Un::Neg, _), [Value::Data(t, a)]) => {
                Ok(Value::Data(*t, Rc::new(fields(self, a.len(), &|k| vec![a[k].clone()])?)))
            }
            (_, x) if x.iter().any(|v| matches!(v, Value::Data(..))) => unsupported("arithmetic on data"),
            (Op::Bin(b, ..), [p, q]) => self.pair(*b, p.clone(), q.clone()),
            (Op::Un(u, _), [_]) => self.made_of(operands, |vs| Op::Un(*u, vs[0])),
            _ => unsupported("arithmetic on data"),
        }
    }
}

impl Exec<'_> {
    /// Selects between two values, which may be data or symbolic zeros.
    fn select_parts(&mut self, condition: &Value, yes: &Value, no: &Value) -> Res<Value> {
        let zeros = |exec: &Self, like: &Value| match like {
            Value::Array(x) => exec.zeros(x.scalar, x.shape.clone()).map(Value::Array),
            Value::Number(l) => Ok(super::zero(&l.ty())),
            _ => unsupported("a choice between data and what is absent"),
        };
        match (condition, yes, no) {
            (_, Value::SymbolicZero, Value::SymbolicZero) => Ok(Value::SymbolicZero),
            (Value::Number(Lit::Bool(c)), ..) => Ok(if *c { yes.clone() } else { no.clone() }),
            (_, Value::Data(..), _) | (_, _, Value::Data(..)) => match self.number_of(condition)? {
                Lit::Bool(c) => Ok(if c { yes.clone() } else { no.clone() }),
                _ => unsupported("no Bool in the place of one"),
            },
            (_, Value::SymbolicZero, b) => {
                self.made_of(&[condition.clone(), zeros(self, b)?, b.clone()], |v| Op::Select(v[0], v[1], v[2]))
            }
            (_, a, _) => {
                self.made_of(&[condition.clone(), a.clone(), zeros(self, a)?], |v| Op::Select(v[0], v[1], v[2]))
            }
        }
    }
}

fn on_host(op: &Op, x: &[Val]) -> scalar::Evaluated {
    match (op, x) {
        (Op::Un(u, _), [a]) => scalar::un(*u, a),
        (Op::Bin(b, ..), [p, q]) => scalar::bin(*b, p, q),
        (Op::Cmp(c, ..), [p, q]) => scalar::cmp(*c, p, q),
        (Op::Not(_), [a]) => scalar::not(a),
        (Op::Select(..), [c, p, q]) => scalar::select(c, p, q),
        (Op::Convert(c, _), [a]) => scalar::convert(*c, a),
        _ => Err("not a number's".to_owned()),
    }
}

/// Arithmetic with symbolic zeros.
fn symbolic_zero(op: &Op, x: &[Value]) -> Res<Value> {
    match (op, x) {
        (Op::Un(adl_prim::Un::Neg, _) | Op::Convert(..), _) => Ok(Value::SymbolicZero),
        // The extents of a symbolic zero are unknown, so that it cannot be combined with a scalar.
        (
            Op::Bin(Bin::Add | Bin::Sub, ..),
            [Value::Number(Lit::F64(0.0) | Lit::F32(0.0)), Value::SymbolicZero]
            | [Value::SymbolicZero, Value::Number(Lit::F64(0.0) | Lit::F32(0.0))],
        ) => Ok(Value::SymbolicZero),
        (Op::Bin(Bin::Add | Bin::Sub, ..), [Value::Number(_), _] | [_, Value::Number(_)]) => {
            unsupported("a number beside an absent zero")
        }
        (Op::Bin(Bin::Add, ..), [Value::SymbolicZero, y]) => Ok(y.clone()),
        (Op::Bin(Bin::Add | Bin::Sub, ..), [y, Value::SymbolicZero]) => Ok(y.clone()),
        (Op::Bin(Bin::Mul | Bin::ScaleTangent, ..), _) | (Op::Bin(Bin::Div, ..), [Value::SymbolicZero, _]) => {
            Ok(Value::SymbolicZero)
        }
        (op, _) => unsupported(format!("the elements of an absent zero ({op:?})")),
    }
}
