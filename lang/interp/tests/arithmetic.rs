//! Operators on arrays: overflow, and comparisons with nan.

use adl_interp::host::NullHost;
use adl_interp::ops::{self, arith::int_bin};
use adl_interp::value::{Buf, Value, array};
use adl_interp::vm::Machine;
use adl_ir::Cmp;
use adl_prim::{Bin, Prim};

#[test]
fn sums_of_ints_overflow_as_they_do_one_by_one() {
    let mut m = Machine::new(Box::new(NullHost));
    for (left, right) in
        [(i64::MAX, 1), (i64::MIN, -1), (i64::MIN, 1), (3, 4), (0, i64::MIN), (-1, i64::MIN), (i64::MAX, i64::MAX)]
    {
        for op in [Bin::Add, Bin::Sub] {
            for n in [1, 300] {
                let got = ops::apply(&mut m, Prim::Bin(op), &[], &mut [array::ints(vec![left; n]), Value::Int(right)]);
                match int_bin(op, left, right) {
                    Ok(z) => {
                        let Value::Array(got) = got.unwrap() else { panic!("no array") };
                        assert!(matches!(got.buf(), Buf::I64(v) if *v == vec![z; n]), "{op:?} {left} {right}: {got:?}");
                    }
                    Err(_) => assert!(got.is_err(), "{op:?} {left} {right}"),
                }
            }
        }
    }
}

#[test]
fn comparisons_with_nan_are_as_of_numbers() {
    let mut m = Machine::new(Box::new(NullHost));
    let mut is = |c, want: [bool; 3]| {
        let mut args = [array::floats(vec![f64::NAN, 1.0, 2.0]), Value::Float(1.0)];
        let Value::Array(got) = ops::apply(&mut m, Prim::CompareEach(c), &[], &mut args).unwrap() else {
            panic!("no array")
        };
        assert!(matches!(got.buf(), Buf::Bool(v) if v[..] == want), "{c:?}: {got:?}");
    };
    is(Cmp::Ne, [true, false, true]);
    is(Cmp::Eq, [false, true, false]);
    is(Cmp::Ge, [false, true, true]);
    is(Cmp::Lt, [false, false, false]);
}
