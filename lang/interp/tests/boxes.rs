//! Boxed arrays of numbers, packed into one buffer and unpacked.

use adl_interp::ir::boxes::{boxes, pack, ragged, unpack};
use adl_interp::value::{Buf, Value, array};
use adl_ir::Ty;
use smallvec::smallvec;

fn row(x: &[f64]) -> Value {
    array::make(smallvec![x.len()], Buf::F64(x.to_vec()))
}

fn boxed(v: Vec<Value>) -> Value {
    array::make(smallvec![v.len()], Buf::Boxed(v))
}

fn text(v: &Value) -> String {
    format!("{v:?}")
}

#[test]
fn packing_and_unpacking_are_inverse() {
    let v = boxed(vec![boxed(vec![row(&[1.0, 2.0])]), boxed(vec![row(&[3.0, 4.0])])]);
    let p = pack(&v, 2).unwrap();
    assert!(text(&p).contains("F64([1.0, 2.0, 3.0, 4.0])"), "{p:?}");
    assert_eq!(text(&unpack(p, 2)), text(&v));
    assert_eq!(text(&unpack(v.clone(), 2)), text(&v));
}

#[test]
fn rows_of_different_lengths_come_apart() {
    let v = ragged(row(&[1.0, 2.0, 3.0]), array::ints(vec![0, 2, 2, 3]));
    assert_eq!(text(&unpack(v, 1)), text(&boxed(vec![row(&[1.0, 2.0]), row(&[]), row(&[3.0])])));
}

#[test]
fn what_is_not_regular_is_not_packed() {
    assert!(pack(&boxed(vec![row(&[1.0]), row(&[1.0, 2.0])]), 1).is_none());
    assert!(pack(&boxed(vec![row(&[1.0]), Value::Zero]), 1).is_none());
    assert!(pack(&boxed(Vec::new()), 1).is_none());
    assert!(pack(&row(&[1.0]), 0).is_none());
}

#[test]
fn types_say_which_axes_are_boxes() {
    let array = |e: Ty, r| Ty::Array(std::rc::Rc::new(e), r);
    assert_eq!(boxes(&array(Ty::F64, 3)), 0);
    assert_eq!(boxes(&array(array(Ty::F64, 2), 1)), 1);
    assert_eq!(boxes(&array(array(array(Ty::F64, 1), 1), 1)), 2);
    assert_eq!(boxes(&array(array(Ty::I64, 1), 1)), 0);
}
