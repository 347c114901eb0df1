//! The extensions of the instruction set that kernels are compiled for, and what depends on them.
//!
//! | | AVX-512 | AVX2 |
//! |---|---|---|
//! | lanes of 64 bits | 8 | 4 |
//! | vector registers | 32 | 16 |
//! | result of a comparison | a mask register | all bits of a lane |
//! | a constant in memory, for all lanes | 8 bytes | 32 bytes |

use super::encode::VectorOpcode;
use super::encode::map::M0F;
use super::encode::prefix::P66;
use cranelift_codegen::ir::{Type, types};

/// An extension with vectors of more than 128 bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Extension {
    Avx512,
    Avx2,
}

/// An operation on all bits of two vectors. `AndNot` complements the first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Bits {
    And,
    AndNot,
    Or,
    Xor,
}

impl Extension {
    /// The extension of this processor with the most lanes.
    pub(crate) fn of_processor() -> Option<Extension> {
        [Extension::Avx512, Extension::Avx2].into_iter().find(|e| e.is_available())
    }

    /// Whether this processor has the instructions.
    pub(crate) fn is_available(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        match self {
            Extension::Avx512 => {
                std::arch::is_x86_feature_detected!("avx512f")
                    && std::arch::is_x86_feature_detected!("avx512dq")
                    && std::arch::is_x86_feature_detected!("avx512vl")
            }
            Extension::Avx2 => std::arch::is_x86_feature_detected!("avx2"),
        }
        #[cfg(not(target_arch = "x86_64"))]
        false
    }

    /// The type of a vector of Floats.
    pub(crate) fn vector(self) -> Type {
        match self {
            Extension::Avx512 => types::F64X8,
            Extension::Avx2 => types::F64X4,
        }
    }

    /// The number of lanes.
    pub(super) fn lanes(self) -> usize {
        self.vector().lane_count() as usize
    }

    /// The vector register that is not allocated: the last one.
    pub(super) fn scratch(self) -> u8 {
        match self {
            Extension::Avx512 => 31,
            Extension::Avx2 => 15,
        }
    }

    /// The instruction of an operation on bits. AVX2 has one for Floats, too: some processors take a cycle to hand the
    /// result of an operation on Floats to one on Ints.
    pub(super) fn bits(self, op: Bits) -> VectorOpcode {
        let opcode = match (self, op) {
            (Extension::Avx512, Bits::And) => 0xdb,
            (Extension::Avx512, Bits::AndNot) => 0xdf,
            (Extension::Avx512, Bits::Or) => 0xeb,
            (Extension::Avx512, Bits::Xor) => 0xef,
            (Extension::Avx2, Bits::And) => 0x54,
            (Extension::Avx2, Bits::AndNot) => 0x55,
            (Extension::Avx2, Bits::Or) => 0x56,
            (Extension::Avx2, Bits::Xor) => 0x57,
        };
        VectorOpcode::new(P66, M0F, opcode, 2)
    }
}
