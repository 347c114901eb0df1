//! Which primitives run on a GPU, and how. The table is exhaustive, so that a primitive whose family does not decide must
//! be added here. (The rows of scalar operators say how exact their functions are.)

use adl_prim::{ArrayFn, DerivativeFn, GeneralFn, Prim, RandomFn};

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
pub fn on_gpu(prim: Prim) -> OnGpu {
    use OnGpu::{Cpu, Kernels, Number, Resolved};
    match prim {
        Prim::Un(_) | Prim::Bin(_) | Prim::Compare(_) => Number,
        Prim::CompareEach(_) | Prim::HigherOrder(_) | Prim::Number(_) => Resolved,
        Prim::General(p) => match p {
            GeneralFn::Assert | GeneralFn::Id => Number,
            GeneralFn::Fst | GeneralFn::Snd | GeneralFn::Zero => Resolved,
            GeneralFn::Error => Cpu("an error in the user's words"),
        },
        Prim::Array(p) => array_on_gpu(p),
        Prim::Reduction(_) => Kernels,
        Prim::Linalg(_) => Cpu("linear algebra goes from step to step"),
        Prim::Random(p) => match p {
            RandomFn::RandKey
            | RandomFn::RandSplit
            | RandomFn::RandUniform
            | RandomFn::RandNormal
            | RandomFn::RandInt => Kernels,
            RandomFn::RandPermutation => Cpu("permutations are drawn element after element"),
        },
        Prim::Text(_) => Cpu("texts are not on a GPU"),
        Prim::Io(_) => Cpu("a GPU has no input and output"),
        Prim::Comm(_) => Cpu("messages are sent by the CPU"),
        Prim::Rows(_) => Cpu("a GPU has no files"),
        Prim::Derivative(DerivativeFn::StopGrad) => Number,
        Prim::Derivative(_) => Resolved,
    }
}

fn array_on_gpu(p: ArrayFn) -> OnGpu {
    use OnGpu::{Kernels, Resolved};
    match p {
        ArrayFn::Append
        | ArrayFn::Drop
        | ArrayFn::Eye
        | ArrayFn::Flatten
        | ArrayFn::Gather
        | ArrayFn::Iota
        | ArrayFn::Len
        | ArrayFn::Put
        | ArrayFn::Range
        | ArrayFn::Rank
        | ArrayFn::Replicate
        | ArrayFn::Reshape
        | ArrayFn::Reverse
        | ArrayFn::Rotate
        | ArrayFn::Scatter
        | ArrayFn::ScatterWithin
        | ArrayFn::Shape
        | ArrayFn::Split
        | ArrayFn::Stack
        | ArrayFn::Take
        | ArrayFn::TransposeArray
        | ArrayFn::Where => Kernels,
        ArrayFn::Arange
        | ArrayFn::Compress
        | ArrayFn::Diag
        | ArrayFn::Full
        | ArrayFn::Linspace
        | ArrayFn::Ones
        | ArrayFn::Unzip
        | ArrayFn::Unzip3
        | ArrayFn::Zeros
        | ArrayFn::Zip
        | ArrayFn::Zip3 => Resolved,
    }
}
