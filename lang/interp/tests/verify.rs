//! What the verifier of lowered code refuses.

use adl_interp::ir::lower::verify::verify;
use adl_interp::value::Value;
use adl_interp::vm::code::{Code, I};
use adl_syntax::span::Span;

/// Code with three registers, of which the first is a parameter. Constant 0 is an Int, constant 1 clears.
fn code(instrs: &[I]) -> Code {
    let mut c = Code::new(None, String::new());
    (c.registers, c.params, c.consts) = (3, 1, vec![Value::Int(0), Value::Unit]);
    instrs.iter().for_each(|i| {
        c.emit(*i, Span::default());
    });
    c
}

fn broken(instrs: &[I]) -> Vec<u8> {
    verify(&code(instrs)).err().into_iter().flatten().map(|f| f.invariant).collect()
}

#[test]
fn each_invariant_is_checked() {
    assert_eq!(broken(&[I::Move(1, 0), I::Ret(1)]), []);
    assert_eq!(broken(&[I::Rep(1, 0), I::Ret(0)]), [1]);
    assert_eq!(broken(&[I::Move(1, 7), I::Ret(1)]), [2]);
    assert_eq!(broken(&[I::Const(1, 2), I::Ret(1)]), [2]);
    assert_eq!(broken(&[I::Move(1, u32::MAX), I::Ret(1)]), [2]);
    assert_eq!(broken(&[I::Jump(9)]), [3]);
    assert_eq!(broken(&[I::Move(1, 0)]), [3]);
    assert_eq!(broken(&[I::Ret(2)]), [4]);
    assert_eq!(broken(&[I::Take(1, 0), I::Ret(0)]), [5]);
    assert_eq!(broken(&[I::Const(0, 1), I::Ret(0)]), [5]);
}

#[test]
fn all_paths_count() {
    // Written on one path only; then on both.
    assert_eq!(broken(&[I::JumpUnless(0, 2), I::Const(1, 0), I::Ret(1)]), [5]);
    assert_eq!(broken(&[I::JumpUnless(0, 3), I::Const(1, 0), I::Jump(4), I::Const(1, 0), I::Ret(1)]), []);
    // Taken in a loop's first iteration, read in its second.
    assert_eq!(
        broken(&[I::Const(1, 0), I::Const(2, 0), I::LoopHead(1, 0, 5), I::Take(2, 2), I::LoopNext(1, 2), I::Ret(2)]),
        []
    );
    assert_eq!(broken(&[I::Const(1, 0), I::LoopHead(1, 0, 4), I::Take(2, 0), I::LoopNext(1, 1), I::Ret(2)]), [5, 5, 5]);
}
