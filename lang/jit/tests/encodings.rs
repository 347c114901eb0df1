//! The bytes of vector instructions, which `llvm-mc` gives for the texts beside them. Code for AVX-512 is thereby tested
//! on processors without it, too.

#[path = "../src/wide/encode.rs"]
#[allow(dead_code, reason = "instructions on general registers are tested by running them")]
mod encode;
#[path = "../src/wide/extension.rs"]
#[allow(dead_code, reason = "see above")]
mod extension;

use encode::map::{M0F, M3A, M38};
use encode::prefix::{P66, PF2};
use encode::{MachineCode, MemoryAddress, RegOrMem, VectorOpcode};
use extension::Extension;

/// Text, instruction, operands, immediate, bytes.
type EncodingRow = (&'static str, VectorOpcode, (u8, u8, RegOrMem), Option<u8>, &'static str);

/// A packed instruction of Floats, and a scalar one.
const fn packed(opcode: u8) -> VectorOpcode {
    VectorOpcode::new(P66, M0F, opcode, 2)
}

const fn scalar(opcode: u8) -> VectorOpcode {
    VectorOpcode::new(PF2, M0F, opcode, 0)
}

/// An instruction on 128 bits.
const fn half(map: u8, opcode: u8) -> VectorOpcode {
    VectorOpcode::new(P66, map, opcode, 0)
}

const fn longer(map: u8, opcode: u8) -> VectorOpcode {
    VectorOpcode::new(P66, map, opcode, 2)
}

const fn r(register: u8) -> RegOrMem {
    RegOrMem::Register(register)
}

const fn at(base: u8, index: Option<(u8, u8)>, offset: i32) -> RegOrMem {
    RegOrMem::Memory(MemoryAddress::At(base, index, offset))
}

#[rustfmt::skip]
const AVX2: [EncodingRow; 38] = [
    ("vaddpd ymm0, ymm1, ymm2", packed(0x58), (0, 1, r(2)), None, "c5 f5 58 c2"),
    ("vaddpd ymm8, ymm1, ymm2", packed(0x58), (8, 1, r(2)), None, "c5 75 58 c2"),
    ("vaddpd ymm0, ymm9, ymm2", packed(0x58), (0, 9, r(2)), None, "c5 b5 58 c2"),
    ("vaddpd ymm0, ymm1, ymm10", packed(0x58), (0, 1, r(10)), None, "c4 c1 75 58 c2"),
    ("vsubpd ymm14, ymm13, ymm12", packed(0x5c), (14, 13, r(12)), None, "c4 41 15 5c f4"),
    ("vmulsd xmm3, xmm4, xmm13", scalar(0x59), (3, 4, r(13)), None, "c4 c1 5b 59 dd"),
    ("vdivpd ymm0, ymm1, [rax + 8*r9 + 32]", packed(0x5e), (0, 1, at(0, Some((9, 3)), 32)), None, "c4 a1 75 5e 44 c8 20"),
    ("vmovupd ymm0, [rbp]", packed(0x10), (0, 0, at(5, None, 0)), None, "c5 fd 10 45 00"),
    ("vmovupd ymm5, [r13 - 32]", packed(0x10), (5, 0, at(13, None, -32)), None, "c4 c1 7d 10 6d e0"),
    ("vmovupd [rsp + 640], ymm9", packed(0x11), (9, 0, at(4, None, 640)), None, "c5 7d 11 8c 24 80 02 00 00"),
    ("vmovupd ymm7, [r12 + 8*r14]", packed(0x10), (7, 0, at(12, Some((14, 3)), 0)), None, "c4 81 7d 10 3c f4"),
    ("vmovsd xmm2, [rdi + 127]", scalar(0x10), (2, 0, at(7, None, 127)), None, "c5 fb 10 57 7f"),
    ("vmovsd [r8 + 128], xmm2", scalar(0x11), (2, 0, at(8, None, 128)), None, "c4 c1 7b 11 90 80 00 00 00"),
    ("vmovapd ymm11, ymm4", packed(0x28), (11, 0, r(4)), None, "c5 7d 28 dc"),
    ("vbroadcastsd ymm12, [rdi + 8]", longer(M38, 0x19), (12, 0, at(7, None, 8)), None, "c4 62 7d 19 67 08"),
    ("vbroadcastsd ymm1, xmm15", longer(M38, 0x19), (1, 0, r(15)), None, "c4 c2 7d 19 cf"),
    ("vpbroadcastq ymm13, xmm13", longer(M38, 0x59), (13, 0, r(13)), None, "c4 42 7d 59 ed"),
    ("vsqrtpd ymm3, ymm9", packed(0x51), (3, 0, r(9)), None, "c4 c1 7d 51 d9"),
    ("vsqrtsd xmm3, xmm9, xmm9", scalar(0x51), (3, 9, r(9)), None, "c4 c1 33 51 d9"),
    ("vcmplt_oqpd ymm15, ymm1, ymm2", packed(0xc2), (15, 1, r(2)), Some(0x11), "c5 75 c2 fa 11"),
    ("vblendvpd ymm3, ymm4, ymm14, ymm15", longer(M3A, 0x4b), (3, 4, r(14)), Some(0xf0), "c4 c3 5d 4b de f0"),
    ("vblendvpd xmm9, xmm9, xmm2, xmm15", half(M3A, 0x4b), (9, 9, r(2)), Some(0xf0), "c4 63 31 4b ca f0"),
    ("vandpd ymm1, ymm15, ymm3", packed(0x54), (1, 15, r(3)), None, "c5 85 54 cb"),
    ("vandnpd ymm9, ymm9, ymm3", packed(0x55), (9, 9, r(3)), None, "c5 35 55 cb"),
    ("vorpd ymm1, ymm1, ymm15", packed(0x56), (1, 1, r(15)), None, "c4 c1 75 56 cf"),
    ("vxorpd ymm6, ymm6, ymm6", packed(0x57), (6, 6, r(6)), None, "c5 cd 57 f6"),
    ("vmovq xmm15, r11", half(M0F, 0x6e), (15, 0, r(11)), None, "c4 41 f9 6e fb"),
    ("vmovq r10, xmm12", half(M0F, 0x7e), (12, 0, r(10)), None, "c4 41 f9 7e e2"),
    ("vcvtsi2sd xmm9, xmm9, rax", scalar(0x2a), (9, 9, r(0)), None, "c4 61 b3 2a c8"),
    ("vcvttsd2si r10, xmm12", scalar(0x2c), (10, 0, r(12)), None, "c4 41 fb 2c d4"),
    ("vucomisd xmm1, xmm8", half(M0F, 0x2e), (1, 0, r(8)), None, "c4 c1 79 2e c8"),
    ("vroundpd ymm2, ymm10, 9", longer(M3A, 0x09), (2, 0, r(10)), Some(9), "c4 c3 7d 09 d2 09"),
    ("vroundsd xmm2, xmm10, xmm10, 11", half(M3A, 0x0b), (2, 10, r(10)), Some(11), "c4 c3 29 0b d2 0b"),
    ("vunpcklpd xmm1, xmm2, xmm3", half(M0F, 0x14), (1, 2, r(3)), None, "c5 e9 14 cb"),
    ("vunpckhpd xmm1, xmm9, xmm9", half(M0F, 0x15), (1, 9, r(9)), None, "c4 c1 31 15 c9"),
    ("vmovhpd xmm1, xmm2, [rsi + 8*rcx]", half(M0F, 0x16), (1, 2, at(6, Some((1, 3)), 0)), None, "c5 e9 16 0c ce"),
    ("vinsertf128 ymm1, ymm2, xmm3, 1", VectorOpcode::new(P66, M3A, 0x18, 1), (1, 2, r(3)), Some(1), "c4 e3 6d 18 cb 01"),
    ("vextractf128 xmm15, ymm4, 1", longer(M3A, 0x19), (4, 0, r(15)), Some(1), "c4 c3 7d 19 e7 01"),
];

#[rustfmt::skip]
const AVX512: [EncodingRow; 6] = [
    ("vaddpd zmm31, zmm1, zmm18", packed(0x58), (31, 1, r(18)), None, "62 21 f5 48 58 fa"),
    ("vmovupd zmm5, [r13 - 64]", packed(0x10), (5, 0, at(13, None, -64)), None, "62 d1 fd 48 10 6d ff"),
    ("vmovupd [rsp + 640], zmm9", packed(0x11), (9, 0, at(4, None, 640)), None, "62 71 fd 48 11 4c 24 0a"),
    ("vmovsd xmm2, [rdi + 128]", scalar(0x10), (2, 0, at(7, None, 128)), None, "62 f1 ff 08 10 57 10"),
    ("vbroadcastsd zmm12, [rdi + 8]", longer(M38, 0x19), (12, 0, at(7, None, 8)), None, "62 72 fd 48 19 67 01"),
    ("vpternlogq zmm1, zmm2, zmm3, 202", longer(M3A, 0x25), (1, 2, r(3)), Some(202), "62 f3 ed 48 25 cb ca"),
];

fn text(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect::<Vec<String>>().join(" ")
}

#[test]
fn vector_instructions_have_these_bytes() {
    for (extension, rows) in [(Extension::Avx2, &AVX2[..]), (Extension::Avx512, &AVX512)] {
        for (what, op, operands, immediate, bytes) in rows {
            let mut code = MachineCode::new(extension);
            code.vector(*op, *operands, *immediate);
            assert_eq!(text(&code.bytes), *bytes, "{what}");
        }
    }
}

/// `vaddpd ymm1, ymm2, [rip + 56]`, and `vmulpd zmm1, zmm2, qword ptr [rip + 54]{1to8}`: the constants lie behind the
/// code, at a multiple of 64.
#[test]
fn constants_lie_behind_the_code() {
    let bits = 1.5_f64.to_bits().to_le_bytes();
    let mut short = MachineCode::new(Extension::Avx2);
    let all = short.constant(bits.repeat(4));
    short.vector(packed(0x58), (1, 2, RegOrMem::Memory(MemoryAddress::Pool(all))), None);
    short.finish();
    assert_eq!(text(&short.bytes[..8]), "c5 ed 58 0d 38 00 00 00");
    assert_eq!(short.bytes[64..], bits.repeat(4));
    let mut long = MachineCode::new(Extension::Avx512);
    let one = long.constant(bits.to_vec());
    long.evex(packed(0x59), (1, 2, RegOrMem::Memory(MemoryAddress::Pool(one))), (0, true), None);
    long.finish();
    assert_eq!(text(&long.bytes[..10]), "62 f1 ed 58 59 0d 36 00 00 00");
    assert_eq!(long.bytes[64..], bits);
}
