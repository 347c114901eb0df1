//! Elements of arrays that are elsewhere: on a device, or lent by another program.

use adl_interp::error::{Error, codes};
use adl_interp::internals::polling::poll;
use adl_interp::value::{Array, Buf, Kind, Remote, Value, array};
use smallvec::smallvec;
use std::cell::Cell;
use std::rc::Rc;

struct FakeRemote(Vec<f64>, Rc<Cell<u32>>, bool);

impl Remote for FakeRemote {
    fn download(&self) -> Result<Buf, Box<Error>> {
        self.1.set(self.1.get() + 1);
        if self.2 { Err(Error::new(codes::DEVICE, "gone")) } else { Ok(Buf::F64(self.0.clone())) }
    }
    fn kind(&self) -> Kind {
        Kind::F64
    }
    fn bytes(&self) -> u64 {
        8 * self.0.len() as u64
    }
    fn unsigned(&self) -> Option<Box<dyn Remote>> {
        None
    }
    fn any(&self) -> &dyn std::any::Any {
        self
    }
}

#[test]
fn elements_come_once_and_those_that_change_are_on_the_host_alone() {
    let asked = Rc::new(Cell::new(0));
    let mut a = Array::remote(smallvec![3], Box::new(FakeRemote(vec![1.0, 2.0, 3.0], asked.clone(), false)));
    assert_eq!((a.kind(), a.len(), asked.get(), a.is_remote()), (Kind::F64, 3, 0, true));
    let copy = a.clone();
    assert!(matches!(a.buf(), Buf::F64(v) if v[1] == 2.0) && matches!(a.buf(), Buf::F64(v) if v[2] == 3.0));
    assert_eq!((asked.get(), a.is_remote(), a.away().map(Remote::bytes)), (1, false, Some(24)));
    if let Buf::F64(v) = a.buf_mut() {
        v[0] = 7.0;
    }
    assert!(a.away().is_none() && copy.is_remote());
    assert!(matches!(copy.into_buf(), Buf::F64(v) if v[0] == 1.0));
}

#[test]
fn borrowed_elements_are_copied_before_they_change_and_never_freed() {
    let mut lent = std::mem::ManuallyDrop::new(vec![1.0, 2.0, 3.0]);
    let alive = Rc::new(());
    let lend = |lent: &mut Vec<f64>| {
        let buf = Buf::F64(std::mem::take(lent));
        Array::borrowed(smallvec![3], buf, Box::new(alive.clone()))
    };
    let mut a = lend(&mut lent);
    let copy = a.clone();
    assert!(a.is_borrowed() && !copy.is_borrowed() && Rc::strong_count(&alive) == 2);
    if let Buf::F64(v) = a.buf_mut() {
        v[1] = 7.0;
    }
    assert!(!a.is_borrowed() && Rc::strong_count(&alive) == 1);
    assert!(matches!(a.buf(), Buf::F64(v) if v[..] == [1.0, 7.0, 3.0]));
    assert!(matches!(copy.into_buf(), Buf::F64(v) if v[..] == [1.0, 2.0, 3.0]));
}

#[test]
fn what_cannot_be_had_stops_the_run_and_is_asked_for_again() {
    let asked = Rc::new(Cell::new(0));
    let a = Rc::new(Array::remote(smallvec![2], Box::new(FakeRemote(vec![1.0, 2.0], asked.clone(), true))));
    for k in 1..3 {
        assert!(matches!(a.buf(), Buf::F64(v) if v.len() == 2));
        assert_eq!(poll().unwrap_err().diag.code, codes::DEVICE);
        assert!(poll().is_ok());
        assert_eq!((asked.get(), a.is_remote()), (k, true));
    }
    assert!(matches!(array::elem(&a, 0), Value::Float(_)) && poll().is_err());
}
