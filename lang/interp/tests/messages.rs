//! Values as messages between ranks.

use adl_interp::internals::message::{read, size, write};
use adl_interp::value::{Array, Buf, ConInfo, Record, Tuple, Value, show};
use adl_syntax::symbol::Symbol;
use adl_typing::ty::DataId;
use std::rc::Rc;

fn sample() -> Value {
    let con = ConInfo { name: Symbol::new("Some"), tag: 1, data: DataId(7, Symbol::new("Option")), arity: 1 };
    let array = |shape: &[usize], buf| Value::Array(Rc::new(Array::new(shape.into(), buf)));
    let texts = array(&[2], Buf::Boxed(vec![Value::Str(Rc::new("é\"".into())), Value::Str(Rc::new("".into()))]));
    let flat = array(&[2, 2], Buf::F64(vec![1.5, -0.0, f64::INFINITY, 3.0]));
    let pairs = array(&[2], Buf::Tuple(vec![texts.clone(), array(&[2], Buf::I64(vec![i64::MIN, 3]))]));
    let record = Value::Record(Rc::new(Record {
        names: [Symbol::new("a"), Symbol::new("b")].into(),
        vals: vec![pairs, Value::F32(0.25)],
    }));
    let some = Value::data(Rc::new(con), vec![record]);
    Value::Tuple(Rc::new(Tuple(vec![some, flat, texts, Value::Bool(true), Value::Unit, Value::Zero])))
}

#[test]
fn what_is_written_is_read() {
    let (v, mut bytes) = (sample(), Vec::new());
    write(&v, &mut bytes);
    assert_eq!(bytes.len(), size(&v));
    bytes.extend([1, 2, 3]);
    let mut rest = bytes.as_slice();
    assert_eq!(show::show(&read(&mut rest).unwrap()), show::show(&v));
    assert_eq!(rest, [1, 2, 3]);
}

#[test]
fn a_message_that_is_cut_or_changed_is_no_panic() {
    let mut bytes = Vec::new();
    write(&sample(), &mut bytes);
    for n in 0..bytes.len() {
        assert!(read(&mut &bytes[..n]).is_err(), "{n}");
        let mut other = bytes.clone();
        other[n] ^= 0xa5;
        let _ = read(&mut other.as_slice());
    }
}
