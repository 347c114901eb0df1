//! The built-in names, and the columns of their table.

use crate::scalar::{Bin, Un};
use std::collections::HashMap;

/// How a primitive is typed.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Typing {
    /// An ordinary type scheme, in adl's own syntax: `"Num a => [n]a -> a"`.
    Scheme(&'static str),
    /// The scalar type scheme of an elementwise function (`"Real a => a -> a"`). On arrays the function acts on each
    /// element, and scalars are broadcast.
    Elementwise(&'static str),
    /// The type checker has a special rule. The text is for documentation, and for uses with fewer arguments than the
    /// arity.
    Special(&'static str),
}

/// The arguments in which a primitive is (jointly) linear; the others must not depend on the linear variable.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Linearity {
    /// Linear in no argument.
    None,
    /// Linear in all arguments jointly (`+`, `zip`, `concat`).
    Joint,
    /// Linear in the listed arguments only (`take n xs`: 1).
    In(&'static [u8]),
    /// Linear in each of its two arguments while the other is fixed (`*`, `@`, `dot`).
    Bilinear,
    /// A higher-order function (`map f xs`): linear in the data if the function is linear.
    Mapped,
    /// Combines a state with each element (`reduce op e xs`). Linear if the function is linear in the state, or in the
    /// state and the elements jointly.
    Folded(Fold),
}

/// The arguments of a primitive that combines a state with each element.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Fold {
    /// The index of the function.
    pub function: u8,
    /// The indices of the initial states.
    pub states: &'static [u8],
    /// The index of the elements.
    pub elements: u8,
    /// Whether the function takes the element before the state.
    pub element_first: bool,
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The user's name for it.
    pub name: &'static str,
    /// Its type.
    pub typing: Typing,
    /// Number of arguments of a full application.
    pub arity: u8,
    /// Its linearity.
    pub linearity: Linearity,
    /// Markdown: one to three sentences; shapes, errors, and the derivative if it is not obvious.
    pub doc: &'static str,
    /// `>>>` examples, as `expression => echo`. They run as tests.
    pub examples: &'static [&'static str],
}

/// A built-in function or constant.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum Prim {
    // Operators.
    Add, Sub, Mul, Div, IntDiv, Rem, Pow, PowInt, MatMul, Neg, Append, Eq, Ne, Lt, Gt, Le, Ge,
    Not, EqEach, NeEach, LtEach, GtEach, LeEach, GeEach, AndEach, OrEach,
    // Real functions.
    Sin, Cos, Tan, Asin, Acos, Atan, Atan2, Sinh, Cosh, Tanh, Exp, Expm1, Log, Log1p, Sqrt,
    Cbrt, Abs, Sign, Floor, Ceil, Round, Min, Max, Clamp, Hypot, Sigmoid, Relu, Softplus, Erf,
    Erfc, Lgamma, Digamma, Gamma, IsNan, IsInf,
    // Constants (type Real s => s).
    Pi, E, Inf, Nan,
    // Conversions.
    ToFloat, ToInt, ToF32, F32ToFloat,
    // Arrays.
    Map, Map2, Map3, Zip, Zip3, Unzip, Unzip3, Reduce, Scan, ScanExclusive, ReduceByIndex,
    Scatter, ScatterWithin, Gather, Compress, Along, Filter, Partition, Iota, Replicate, Linspace, Rotate, Reverse, Concat,
    Flatten, Reshape, Stack, Split, Take, Drop, First, Last, Len, Shape, Rank, Sort, SortBy,
    Argsort, Argmin, Argmax, Sum, Prod, Mean, Variance, Maximum, Minimum, Cumsum, Cumprod, Dot,
    Outer, Matmul, Norm, Any, All, Where, Fold, Foldr, Range, Eye, Diag, Trace, TransposeArray,
    Invertible, Put, Zeros, Ones, Full, Arange,
    // Linear algebra without derivatives (module `linalg` wraps them in custom rules).
    LinSolve, Cholesky, Qr, Lu, Svd, Eigh, Inv, Det,
    // Random numbers (module `random` wraps them).
    RandKey, RandSplit, RandUniform, RandNormal, RandInt, RandPermutation,
    // Input, output and text.
    Print, Show, ReadCsv, WriteCsv, ReadNpy, WriteNpy, ReadJson, WriteJson, ReadText,
    WriteText, Args, Env, Time, Input, Warn, Display, Assert, Error, StrLen, StrSlice, StrSplit, StrJoin, StrTrim,
    StrFind, StrReplace, StrUpper, StrLower, ParseFloat, ParseInt,
    // Pictures (module `plot` wraps them).
    PlotSave, PlotShow, PlotWatch,
    // General.
    Fst, Snd, Id, Zero, Ravel, Unravel,
    // Differentiation.
    Jvp, Linearize, Vjp, Transpose, TransposeAt, Grad, ValueAndGrad, Jacobian, Jacfwd, Jacrev,
    Hessian, Hvp, StopGrad, Checkpoint, CustomJvp, CustomVjp, Engine, Gradcheck,
    GradWith, ValueAndGradWith, ResidualsUnder, Cost, JacobianSparse,
}

impl Prim {
    /// Its row in the table.
    pub fn row(self) -> Row {
        crate::rows::row_of(self)
    }

    /// The built-in of that name.
    pub fn by_name(name: &str) -> Option<Prim> {
        thread_local! {
            static NAMES: HashMap<&'static str, Prim> = {
                // `^` also has a spelled-out name.
                Prim::ALL.iter().map(|p| (p.name(), *p)).chain([("pow", Prim::Pow)]).collect()
            };
        }
        NAMES.with(|names| names.get(name).copied())
    }

    /// The unary scalar operator that the primitive applies elementwise.
    pub fn un(self) -> Option<Un> {
        Some(match self {
            Prim::Neg => Un::Neg, Prim::Sin => Un::Sin, Prim::Cos => Un::Cos, Prim::Tan => Un::Tan, Prim::Asin => Un::Asin,
            Prim::Acos => Un::Acos, Prim::Atan => Un::Atan, Prim::Sinh => Un::Sinh, Prim::Cosh => Un::Cosh,
            Prim::Tanh => Un::Tanh, Prim::Exp => Un::Exp, Prim::Expm1 => Un::Expm1, Prim::Log => Un::Log,
            Prim::Log1p => Un::Log1p, Prim::Sqrt => Un::Sqrt, Prim::Cbrt => Un::Cbrt, Prim::Abs => Un::Abs,
            Prim::Sign => Un::Sign, Prim::Floor => Un::Floor, Prim::Ceil => Un::Ceil, Prim::Round => Un::Round,
            Prim::Sigmoid => Un::Sigmoid, Prim::Relu => Un::Relu, Prim::Softplus => Un::Softplus, Prim::Erf => Un::Erf,
            Prim::Erfc => Un::Erfc, Prim::Lgamma => Un::Lgamma, Prim::Digamma => Un::Digamma, Prim::Gamma => Un::Gamma,
            _ => return None,
        })
    }

    /// The binary scalar operator that the primitive applies elementwise.
    pub fn bin(self) -> Option<Bin> {
        Some(match self {
            Prim::Add => Bin::Add, Prim::Sub => Bin::Sub, Prim::Mul => Bin::Mul, Prim::Div => Bin::Div,
            Prim::IntDiv => Bin::IntDiv, Prim::Rem => Bin::Rem, Prim::Pow => Bin::Pow, Prim::Atan2 => Bin::Atan2,
            Prim::Hypot => Bin::Hypot, Prim::Min => Bin::Min, Prim::Max => Bin::Max,
            _ => return None,
        })
    }

    /// The built-in for a binary scalar operator.
    pub fn of_bin(op: Bin) -> Option<Prim> {
        Prim::ALL.iter().copied().find(|p| p.bin() == Some(op))
    }

    /// The built-in for a unary scalar operator.
    pub fn of_un(op: Un) -> Option<Prim> {
        Prim::ALL.iter().copied().find(|p| p.un() == Some(op))
    }

    /// Every built-in, in table order.
    pub const ALL: &'static [Prim] = &[
        Prim::Add, Prim::Sub, Prim::Mul, Prim::Div, Prim::IntDiv, Prim::Rem, Prim::Pow,
        Prim::PowInt, Prim::MatMul, Prim::Neg, Prim::Append, Prim::Eq, Prim::Ne, Prim::Lt,
        Prim::Gt, Prim::Le, Prim::Ge, Prim::Not, Prim::EqEach, Prim::NeEach, Prim::LtEach, Prim::GtEach, Prim::LeEach, Prim::GeEach,
        Prim::AndEach, Prim::OrEach, Prim::Sin, Prim::Cos, Prim::Tan, Prim::Asin,
        Prim::Acos, Prim::Atan, Prim::Atan2, Prim::Sinh, Prim::Cosh, Prim::Tanh, Prim::Exp,
        Prim::Expm1, Prim::Log, Prim::Log1p, Prim::Sqrt, Prim::Cbrt, Prim::Abs, Prim::Sign,
        Prim::Floor, Prim::Ceil, Prim::Round, Prim::Min, Prim::Max, Prim::Clamp, Prim::Hypot,
        Prim::Sigmoid, Prim::Relu, Prim::Softplus, Prim::Erf, Prim::Erfc, Prim::Lgamma,
        Prim::Digamma, Prim::Gamma, Prim::IsNan, Prim::IsInf, Prim::Pi, Prim::E, Prim::Inf,
        Prim::Nan, Prim::ToFloat, Prim::ToInt, Prim::ToF32, Prim::F32ToFloat, Prim::Map,
        Prim::Map2, Prim::Map3, Prim::Zip, Prim::Zip3, Prim::Unzip, Prim::Unzip3, Prim::Reduce,
        Prim::Scan, Prim::ScanExclusive, Prim::ReduceByIndex, Prim::Scatter, Prim::ScatterWithin, Prim::Gather, Prim::Compress, Prim::Along,
        Prim::Filter, Prim::Partition, Prim::Iota, Prim::Replicate, Prim::Linspace, Prim::Rotate,
        Prim::Reverse, Prim::Concat, Prim::Flatten, Prim::Reshape, Prim::Stack, Prim::Split,
        Prim::Take, Prim::Drop, Prim::First, Prim::Last, Prim::Len, Prim::Shape, Prim::Rank,
        Prim::Sort, Prim::SortBy, Prim::Argsort, Prim::Argmin, Prim::Argmax, Prim::Sum,
        Prim::Prod, Prim::Mean, Prim::Variance, Prim::Maximum, Prim::Minimum, Prim::Cumsum,
        Prim::Cumprod, Prim::Dot, Prim::Outer, Prim::Matmul, Prim::Norm, Prim::Any, Prim::All,
        Prim::Where, Prim::Fold, Prim::Foldr, Prim::Range, Prim::Eye, Prim::Diag, Prim::Trace,
        Prim::TransposeArray, Prim::Invertible, Prim::Put, Prim::Zeros, Prim::Ones, Prim::Full, Prim::Arange, Prim::LinSolve, Prim::Cholesky, Prim::Qr,
        Prim::Lu, Prim::Svd, Prim::Eigh, Prim::Inv, Prim::Det, Prim::RandKey, Prim::RandSplit,
        Prim::RandUniform, Prim::RandNormal, Prim::RandInt, Prim::RandPermutation, Prim::Print,
        Prim::Show, Prim::ReadCsv, Prim::WriteCsv, Prim::ReadNpy, Prim::WriteNpy, Prim::ReadJson,
        Prim::WriteJson, Prim::ReadText, Prim::WriteText, Prim::Args, Prim::Env, Prim::Time, Prim::Input, Prim::Warn, Prim::Display,
        Prim::Assert, Prim::Error, Prim::StrLen, Prim::StrSlice, Prim::StrSplit, Prim::StrJoin,
        Prim::StrTrim, Prim::StrFind, Prim::StrReplace, Prim::StrUpper, Prim::StrLower,
        Prim::ParseFloat, Prim::ParseInt, Prim::PlotSave, Prim::PlotShow, Prim::PlotWatch, Prim::Fst, Prim::Snd, Prim::Id, Prim::Zero, Prim::Ravel, Prim::Unravel, Prim::Jvp,
        Prim::Linearize, Prim::Vjp, Prim::Transpose, Prim::TransposeAt, Prim::Grad,
        Prim::ValueAndGrad, Prim::Jacobian, Prim::Jacfwd, Prim::Jacrev, Prim::Hessian, Prim::Hvp,
        Prim::StopGrad, Prim::Checkpoint, Prim::CustomJvp, Prim::CustomVjp, Prim::Engine, Prim::Gradcheck,
        Prim::GradWith, Prim::ValueAndGradWith, Prim::ResidualsUnder, Prim::Cost, Prim::JacobianSparse,
    ];

    /// The name in source programs (operators as written; names with `__` are reserved for the standard modules).
    pub fn name(self) -> &'static str {
        match self {
            Prim::Add => "+",
            Prim::Sub => "-",
            Prim::Mul => "*",
            Prim::Div => "/",
            Prim::IntDiv => "//",
            Prim::Rem => "%",
            Prim::Pow => "^",
            Prim::PowInt => "__powi",
            Prim::MatMul => "@",
            Prim::Neg => "neg",
            Prim::Append => "++",
            Prim::Eq => "==",
            Prim::Ne => "!=",
            Prim::Lt => "<",
            Prim::Gt => ">",
            Prim::Le => "<=",
            Prim::Ge => ">=",
            Prim::Not => "not",
            Prim::EqEach => ".==",
            Prim::NeEach => ".!=",
            Prim::LtEach => ".<",
            Prim::GtEach => ".>",
            Prim::LeEach => ".<=",
            Prim::GeEach => ".>=",
            Prim::AndEach => ".&&",
            Prim::OrEach => ".||",
            Prim::Sin => "sin",
            Prim::Cos => "cos",
            Prim::Tan => "tan",
            Prim::Asin => "asin",
            Prim::Acos => "acos",
            Prim::Atan => "atan",
            Prim::Atan2 => "atan2",
            Prim::Sinh => "sinh",
            Prim::Cosh => "cosh",
            Prim::Tanh => "tanh",
            Prim::Exp => "exp",
            Prim::Expm1 => "expm1",
            Prim::Log => "log",
            Prim::Log1p => "log1p",
            Prim::Sqrt => "sqrt",
            Prim::Cbrt => "cbrt",
            Prim::Abs => "abs",
            Prim::Sign => "sign",
            Prim::Floor => "floor",
            Prim::Ceil => "ceil",
            Prim::Round => "round",
            Prim::Min => "min",
            Prim::Max => "max",
            Prim::Clamp => "clamp",
            Prim::Hypot => "hypot",
            Prim::Sigmoid => "sigmoid",
            Prim::Relu => "relu",
            Prim::Softplus => "softplus",
            Prim::Erf => "erf",
            Prim::Erfc => "erfc",
            Prim::Lgamma => "lgamma",
            Prim::Digamma => "digamma",
            Prim::Gamma => "gamma",
            Prim::IsNan => "is_nan",
            Prim::IsInf => "is_inf",
            Prim::Pi => "pi",
            Prim::E => "e",
            Prim::Inf => "inf",
            Prim::Nan => "nan",
            Prim::ToFloat => "float",
            Prim::ToInt => "int",
            Prim::ToF32 => "to_f32",
            Prim::F32ToFloat => "to_float",
            Prim::Map => "map",
            Prim::Map2 => "map2",
            Prim::Map3 => "map3",
            Prim::Zip => "zip",
            Prim::Zip3 => "zip3",
            Prim::Unzip => "unzip",
            Prim::Unzip3 => "unzip3",
            Prim::Reduce => "reduce",
            Prim::Scan => "scan",
            Prim::ScanExclusive => "scan_exclusive",
            Prim::ReduceByIndex => "reduce_by_index",
            Prim::Scatter => "scatter",
            Prim::ScatterWithin => "scatter_within",
            Prim::Gather => "gather",
            Prim::Compress => "compress",
            Prim::Along => "along",
            Prim::Filter => "filter",
            Prim::Partition => "partition",
            Prim::Iota => "iota",
            Prim::Replicate => "replicate",
            Prim::Linspace => "linspace",
            Prim::Rotate => "rotate",
            Prim::Reverse => "reverse",
            Prim::Concat => "concat",
            Prim::Flatten => "flatten",
            Prim::Reshape => "reshape",
            Prim::Stack => "stack",
            Prim::Split => "split",
            Prim::Take => "take",
            Prim::Drop => "drop",
            Prim::First => "first",
            Prim::Last => "last",
            Prim::Len => "len",
            Prim::Shape => "shape",
            Prim::Rank => "rank",
            Prim::Sort => "sort",
            Prim::SortBy => "sort_by",
            Prim::Argsort => "argsort",
            Prim::Argmin => "argmin",
            Prim::Argmax => "argmax",
            Prim::Sum => "sum",
            Prim::Prod => "prod",
            Prim::Mean => "mean",
            Prim::Variance => "variance",
            Prim::Maximum => "maximum",
            Prim::Minimum => "minimum",
            Prim::Cumsum => "cumsum",
            Prim::Cumprod => "cumprod",
            Prim::Dot => "dot",
            Prim::Outer => "outer",
            Prim::Matmul => "matmul",
            Prim::Norm => "norm",
            Prim::Any => "any",
            Prim::All => "all",
            Prim::Where => "where",
            Prim::Fold => "fold",
            Prim::Foldr => "foldr",
            Prim::Range => "range",
            Prim::Eye => "eye",
            Prim::Diag => "diag",
            Prim::Trace => "trace",
            Prim::TransposeArray => "__transpose",
            Prim::Invertible => "invertible",
            Prim::Put => "__put",
            Prim::Zeros => "zeros",
            Prim::Ones => "ones",
            Prim::Full => "full",
            Prim::Arange => "arange",
            Prim::LinSolve => "__solve",
            Prim::Cholesky => "__cholesky",
            Prim::Qr => "__qr",
            Prim::Lu => "__lu",
            Prim::Svd => "__svd",
            Prim::Eigh => "__eigh",
            Prim::Inv => "__inv",
            Prim::Det => "__det",
            Prim::RandKey => "__rand_key",
            Prim::RandSplit => "__rand_split",
            Prim::RandUniform => "__rand_uniform",
            Prim::RandNormal => "__rand_normal",
            Prim::RandInt => "__rand_int",
            Prim::RandPermutation => "__rand_permutation",
            Prim::Print => "print",
            Prim::Show => "show",
            Prim::ReadCsv => "read_csv",
            Prim::WriteCsv => "write_csv",
            Prim::ReadNpy => "read_npy",
            Prim::WriteNpy => "write_npy",
            Prim::ReadJson => "read_json",
            Prim::WriteJson => "write_json",
            Prim::ReadText => "read_text",
            Prim::WriteText => "write_text",
            Prim::Args => "args",
            Prim::Env => "env",
            Prim::Time => "time",
            Prim::Input => "__input",
            Prim::Warn => "__warn",
            Prim::Display => "__display",
            Prim::Assert => "assert",
            Prim::Error => "error",
            Prim::StrLen => "__str_len",
            Prim::StrSlice => "__str_slice",
            Prim::StrSplit => "__str_split",
            Prim::StrJoin => "__str_join",
            Prim::StrTrim => "__str_trim",
            Prim::StrFind => "__str_find",
            Prim::StrReplace => "__str_replace",
            Prim::StrUpper => "__str_upper",
            Prim::StrLower => "__str_lower",
            Prim::ParseFloat => "__parse_float",
            Prim::ParseInt => "__parse_int",
            Prim::PlotSave => "__plot_save",
            Prim::PlotShow => "__plot_show",
            Prim::PlotWatch => "__plot_watch",
            Prim::Fst => "fst",
            Prim::Snd => "snd",
            Prim::Id => "id",
            Prim::Zero => "zero",
            Prim::Ravel => "ravel",
            Prim::Unravel => "unravel",
            Prim::Jvp => "jvp",
            Prim::Linearize => "linearize",
            Prim::Vjp => "vjp",
            Prim::Transpose => "transpose",
            Prim::TransposeAt => "transpose_at",
            Prim::Grad => "grad",
            Prim::ValueAndGrad => "value_and_grad",
            Prim::Jacobian => "jacobian",
            Prim::Jacfwd => "jacfwd",
            Prim::Jacrev => "jacrev",
            Prim::Hessian => "hessian",
            Prim::Hvp => "hvp",
            Prim::StopGrad => "stop_grad",
            Prim::Checkpoint => "checkpoint",
            Prim::CustomJvp => "custom_jvp",
            Prim::CustomVjp => "custom_vjp",
            Prim::Engine => "__engine",
            Prim::Gradcheck => "gradcheck",
            Prim::GradWith => "grad_with",
            Prim::ValueAndGradWith => "value_and_grad_with",
            Prim::ResidualsUnder => "__residuals",
            Prim::Cost => "cost",
            Prim::JacobianSparse => "__jacobian_sparse",
        }
    }
}

/// Checks at compile time that the list contains every variant, in order (`Cost` is the last).
const _: () = {
    let mut i = 0;
    while i < Prim::ALL.len() {
        assert!(Prim::ALL[i] as usize == i);
        i += 1;
    }
    assert!(Prim::ALL.len() == Prim::JacobianSparse as usize + 1);
};
