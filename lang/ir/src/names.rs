//! Names of operators in the text form, shared by [`crate::print`] and [`crate::parse`].

use crate::op::{Cmp, Conv, Op, Out, SoacKind, Terms};
use adl_prim::{Bin, Un};

/// The keyword of a unary operator, and its parameter.
pub fn un(op: Un) -> (&'static str, Option<i64>) {
    let word = match op {
        Un::Neg => "neg",
        Un::Sin => "sin",
        Un::Cos => "cos",
        Un::Tan => "tan",
        Un::Asin => "asin",
        Un::Acos => "acos",
        Un::Atan => "atan",
        Un::Sinh => "sinh",
        Un::Cosh => "cosh",
        Un::Tanh => "tanh",
        Un::Exp => "exp",
        Un::Expm1 => "expm1",
        Un::Log => "log",
        Un::Log1p => "log1p",
        Un::Sqrt => "sqrt",
        Un::Cbrt => "cbrt",
        Un::Abs => "abs",
        Un::Sign => "sign",
        Un::Floor => "floor",
        Un::Ceil => "ceil",
        Un::Round => "round",
        Un::Sigmoid => "sigmoid",
        Un::Relu => "relu",
        Un::Softplus => "softplus",
        Un::Erf => "erf",
        Un::Erfc => "erfc",
        Un::Erfinv => "erfinv",
        Un::Lgamma => "lgamma",
        Un::Digamma => "digamma",
        Un::Gamma => "gamma",
        Un::Step => "step",
        Un::Sech2 => "sech2",
        Un::Polygamma(n) => return ("polygamma", Some(i64::from(n))),
        Un::Powi(n) => return ("powi", Some(i64::from(n))),
    };
    (word, None)
}

/// Unary operators without a parameter.
pub const UNS: &[Un] = &[
    Un::Neg,
    Un::Sin,
    Un::Cos,
    Un::Tan,
    Un::Asin,
    Un::Acos,
    Un::Atan,
    Un::Sinh,
    Un::Cosh,
    Un::Tanh,
    Un::Exp,
    Un::Expm1,
    Un::Log,
    Un::Log1p,
    Un::Sqrt,
    Un::Cbrt,
    Un::Abs,
    Un::Sign,
    Un::Floor,
    Un::Ceil,
    Un::Round,
    Un::Sigmoid,
    Un::Relu,
    Un::Softplus,
    Un::Erf,
    Un::Erfc,
    Un::Erfinv,
    Un::Lgamma,
    Un::Digamma,
    Un::Gamma,
    Un::Step,
    Un::Sech2,
];

/// The keyword of a binary operator.
pub fn bin(op: Bin) -> &'static str {
    match op {
        Bin::Add => "add",
        Bin::Sub => "sub",
        Bin::Mul => "mul",
        Bin::Div => "div",
        Bin::IntDiv => "int_div",
        Bin::Rem => "rem",
        Bin::Pow => "pow",
        Bin::Atan2 => "atan2",
        Bin::Hypot => "hypot",
        Bin::Min => "min",
        Bin::Max => "max",
        Bin::LeIndicator => "le_indicator",
        Bin::ScaleTangent => "scale_tangent",
    }
}

/// The keyword for the terms of a contraction.
pub fn terms(t: Terms) -> &'static str {
    match t {
        Terms::Mul => "mul",
        Terms::Scale => "scale",
        Terms::Scaled => "scaled",
    }
}

/// All binary operators.
pub const BINS: &[Bin] = &[
    Bin::Add,
    Bin::Sub,
    Bin::Mul,
    Bin::Div,
    Bin::IntDiv,
    Bin::Rem,
    Bin::Pow,
    Bin::Atan2,
    Bin::Hypot,
    Bin::Min,
    Bin::Max,
    Bin::LeIndicator,
    Bin::ScaleTangent,
];

/// The keyword of a comparison.
pub fn cmp(op: Cmp) -> &'static str {
    match op {
        Cmp::Eq => "eq",
        Cmp::Ne => "ne",
        Cmp::Lt => "lt",
        Cmp::Gt => "gt",
        Cmp::Le => "le",
        Cmp::Ge => "ge",
    }
}

/// All comparisons.
pub const CMPS: &[Cmp] = &[Cmp::Eq, Cmp::Ne, Cmp::Lt, Cmp::Gt, Cmp::Le, Cmp::Ge];

/// The keyword of a conversion.
pub fn conv(c: Conv) -> &'static str {
    match c {
        Conv::ToF64 => "to_f64",
        Conv::ToF32 => "to_f32",
        Conv::ToI64 => "to_i64",
    }
}

/// All conversions.
pub const CONVS: &[Conv] = &[Conv::ToF64, Conv::ToF32, Conv::ToI64];

/// The keyword of a loop's output mode.
pub fn out(o: Out) -> &'static str {
    match o {
        Out::Collect => "collect",
        Out::Boxed => "boxed",
        Out::Sum => "sum",
    }
}

/// All output modes.
pub const OUTS: &[Out] = &[Out::Collect, Out::Boxed, Out::Sum];

/// The keyword of a reduction or scan.
pub fn soac(k: SoacKind) -> &'static str {
    match k {
        SoacKind::Reduce => "reduce",
        SoacKind::Scan => "scan",
        SoacKind::ScanExclusive => "scan_exclusive",
    }
}

/// All reductions and scans.
pub const SOACS: &[SoacKind] = &[SoacKind::Reduce, SoacKind::Scan, SoacKind::ScanExclusive];

/// The keyword with which an operation begins in the text form. A literal has none.
pub fn word(op: &Op) -> &'static str {
    match op {
        Op::Lit(_) => "",
        Op::Zero(_) => "zero",
        Op::Un(u, _) => un(*u).0,
        Op::Bin(b, ..) => bin(*b),
        Op::Cmp(c, ..) => cmp(*c),
        Op::Not(_) => "not",
        Op::Select(..) => "select",
        Op::Convert(c, _) => conv(*c),
        Op::Prim(..) => "prim",
        Op::Dim(..) => "dim",
        Op::Shape(_) => "shape",
        Op::Size(_) => "size",
        Op::Index { .. } => "index",
        Op::IndexAdd { .. } => "index_add",
        Op::IndexSet { .. } => "index_set",
        Op::Slice { .. } => "slice",
        Op::SliceAdd { .. } => "slice_add",
        Op::Gather { .. } => "gather",
        Op::GatherAdd { .. } => "gather_add",
        Op::Reverse(_) => "reverse",
        Op::Rotate { .. } => "rotate",
        Op::Concat { .. } => "concat",
        Op::Reshape { .. } => "reshape",
        Op::Transpose(_) => "transpose",
        Op::Replicate { .. } => "replicate",
        Op::Sum { .. } => "sum",
        Op::Broadcast { .. } => "broadcast",
        Op::SumAll { .. } => "sum_all",
        Op::ArrayLit { .. } => "array",
        Op::Dot(..) => "dot",
        Op::MatMul(..) => "matmul",
        Op::Outer(..) => "outer",
        Op::Contract(_) => "contract",
        Op::Cumsum { reverse: false, .. } => "cumsum",
        Op::Cumsum { reverse: true, .. } => "cumsum_reversed",
        Op::Nonzero(_) => "nonzero",
        Op::Zeros(_) => "zeros",
        Op::Construct { .. } => "construct",
        Op::Destruct { .. } => "destruct",
        Op::Dup(_) => "dup",
        Op::Drop(_) => "drop",
        Op::If(..) => "if",
        Op::Switch(..) => "switch",
        Op::Loop(_) => "loop",
        Op::Call { .. } => "call",
        Op::Soac(s) => soac(s.kind),
        Op::ReduceByIndex { .. } => "reduce_by_index",
    }
}

/// Whether a name needs no quotes in the text form: letters, digits, `_` and `'`, not starting with a digit.
pub fn plain(name: &str) -> bool {
    let first = name.chars().next();
    first.is_some_and(|c| c.is_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '\'')
}
