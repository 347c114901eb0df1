//! Names of operators in the text form, shared by [`crate::print`] and [`crate::parse`].

use crate::op::{Conv, Op, Out, SoacKind, Terms};

/// The keyword for the terms of a contraction.
pub fn terms(t: Terms) -> &'static str {
    match t {
        Terms::Mul => "mul",
        Terms::Scale => "scale",
        Terms::Scaled => "scaled",
    }
}

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
        Op::Un(u, _) => u.word(),
        Op::Bin(b, ..) => b.word(),
        Op::Cmp(c, ..) => c.word(),
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
