//! How memory is asked for, and what is said where it is short.

use adl_interp::error::codes;
use adl_interp::memory::{Shortage, check_available, grow};

#[test]
fn a_shortage_says_what_is_needed_and_what_there_is() {
    let e = Shortage { free: 900_000_000, limit: 2_000_000_000 }.error("an array", 3_200_000_000);
    assert_eq!((e.diag.code, e.diag.message.as_str()), (codes::MEMORY, "there is not enough memory for an array"));
    assert_eq!(e.diag.notes, ["3.2 GB are needed, 900.0 MB of 2.0 GB are left"]);
    assert!(check_available(1 << 40).is_ok(), "no limit is set");
}

#[test]
fn vectors_grow_by_at_least_half() {
    let mut v: Vec<u8> = Vec::new();
    for i in 0..1000u32 {
        grow(&mut v, 1).unwrap();
        v.push(i as u8);
    }
    assert!(v.capacity() <= 2048);
    assert_eq!(grow(&mut v, usize::MAX / 2).unwrap_err().diag.code, codes::EXHAUSTED);
}
