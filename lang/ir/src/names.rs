//! Names of operators in the text form, shared by [`crate::print`] and [`crate::parse`].

use crate::op::{Conv, Out, SoacKind, Terms};

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

/// Whether a name needs no quotes in the text form: letters, digits, `_` and `'`, not starting with a digit.
pub fn plain(name: &str) -> bool {
    let first = name.chars().next();
    first.is_some_and(|c| c.is_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '\'')
}
