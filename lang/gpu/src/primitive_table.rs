//! The table of primitives: which ones run on a GPU, and how. It is exhaustive, so that a new primitive must be added
//! here.

use adl_prim::Prim;

/// How a primitive runs on a GPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OnGpu {
    /// A scalar function: code inside of kernels (`wgsl::scalar`).
    Number,
    /// An array operation with kernels in this crate.
    Kernels,
    /// Not part of the IR: higher-order functions, derivatives and the like are resolved before.
    Resolved,
    /// Only the CPU supports it, for this reason.
    Cpu(&'static str),
}

/// How a primitive runs on a GPU.
pub fn on_gpu(p: Prim) -> OnGpu {
    use OnGpu::{Cpu, Kernels, Number, Resolved};
    use Prim as P;
    match p {
        P::Add
        | P::Sub
        | P::Mul
        | P::Div
        | P::IntDiv
        | P::Rem
        | P::Pow
        | P::Neg
        | P::Eq
        | P::Ne
        | P::Lt
        | P::Gt
        | P::Le
        | P::Ge
        | P::Not
        | P::Sin
        | P::Cos
        | P::Tan
        | P::Asin
        | P::Acos
        | P::Atan
        | P::Atan2
        | P::Sinh
        | P::Cosh
        | P::Tanh
        | P::Exp
        | P::Expm1
        | P::Log
        | P::Log1p
        | P::Sqrt
        | P::Cbrt
        | P::Abs
        | P::Sign
        | P::Floor
        | P::Ceil
        | P::Round
        | P::Min
        | P::Max
        | P::Clamp
        | P::Hypot
        | P::Sigmoid
        | P::Relu
        | P::Softplus
        | P::Erf
        | P::Erfc
        | P::Erfinv
        | P::Lgamma
        | P::Digamma
        | P::Gamma
        | P::IsNan
        | P::IsInf
        | P::ToFloat
        | P::ToInt
        | P::ToF32
        | P::F32ToFloat
        | P::Assert
        | P::StopGrad
        | P::Id => Number,
        P::MatMul
        | P::Matmul
        | P::Append
        | P::Reduce
        | P::Scan
        | P::ScanExclusive
        | P::ReduceByIndex
        | P::Scatter
        | P::ScatterWithin
        | P::Put
        | P::Gather
        | P::Iota
        | P::Replicate
        | P::Rotate
        | P::Reverse
        | P::Concat
        | P::Take
        | P::Drop
        | P::First
        | P::Last
        | P::Len
        | P::Shape
        | P::Rank
        | P::Reshape
        | P::Flatten
        | P::Sort
        | P::Argsort
        | P::Sum
        | P::Dot
        | P::TransposeArray
        | P::Minimum
        | P::Maximum
        | P::Argmin
        | P::Argmax
        | P::Map
        | P::Map2
        | P::Map3
        | P::Prod
        | P::Mean
        | P::Variance
        | P::Cumsum
        | P::Cumprod
        | P::Outer
        | P::Norm
        | P::Any
        | P::All
        | P::Diag
        | P::Trace
        | P::Stack
        | P::Where
        | P::Range
        | P::Linspace
        | P::Eye
        | P::Split
        | P::RandUniform
        | P::RandNormal
        | P::RandInt
        | P::RandKey
        | P::RandSplit => Kernels,
        P::EqEach
        | P::NeEach
        | P::LtEach
        | P::GtEach
        | P::LeEach
        | P::GeEach
        | P::AndEach
        | P::OrEach
        | P::Compress
        | P::Along
        | P::PowInt
        | P::Zeros
        | P::Ones
        | P::Full
        | P::Arange
        | P::Pi
        | P::E
        | P::Inf
        | P::Nan
        | P::Zip
        | P::Zip3
        | P::Unzip
        | P::Unzip3
        | P::Filter
        | P::Partition
        | P::SortBy
        | P::Fold
        | P::Foldr
        | P::Invertible
        | P::Fst
        | P::Snd
        | P::Zero
        | P::Ravel
        | P::Unravel
        | P::Jvp
        | P::Linearize
        | P::Vjp
        | P::Transpose
        | P::TransposeAt
        | P::Grad
        | P::ValueAndGrad
        | P::Jacobian
        | P::Jacfwd
        | P::Jacrev
        | P::Hessian
        | P::Hvp
        | P::Checkpoint
        | P::CustomJvp
        | P::CustomVjp
        | P::Engine
        | P::Gradcheck
        | P::GradWith
        | P::ValueAndGradWith
        | P::ResidualsUnder
        | P::Cost
        | P::JacobianSparse => Resolved,
        P::LinSolve | P::Cholesky | P::Qr | P::Lu | P::Svd | P::Eigh | P::Inv | P::Det => {
            Cpu("linear algebra goes from step to step")
        }
        P::RandPermutation => Cpu("permutations are drawn element after element"),
        P::Print
        | P::Show
        | P::ReadCsv
        | P::WriteCsv
        | P::ReadNpy
        | P::WriteNpy
        | P::ReadJson
        | P::WriteJson
        | P::ReadText
        | P::WriteText
        | P::Args
        | P::Env
        | P::Time
        | P::Input
        | P::Warn
        | P::Display
        | P::PlotSave
        | P::PlotShow
        | P::PlotWatch => Cpu("a GPU has no input and output"),
        P::Error => Cpu("an error in the user's words"),
        P::StrLen
        | P::StrSlice
        | P::StrSplit
        | P::StrJoin
        | P::StrTrim
        | P::StrFind
        | P::StrReplace
        | P::StrUpper
        | P::StrLower
        | P::ParseFloat
        | P::ParseInt => Cpu("texts are not on a GPU"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_of_numbers_is_one_there() {
        for p in Prim::ALL.iter().filter(|p| p.un().is_some() || p.bin().is_some()) {
            assert_eq!(on_gpu(*p), OnGpu::Number, "{p:?}");
        }
        assert!(Prim::ALL.iter().filter(|p| on_gpu(**p) == OnGpu::Kernels).count() > 20);
    }
}
