//! Sorting: by keys, by comparison, and by the first of several columns.

use adl_interp::internals::{InterruptFlag, argsort};
use adl_interp::value::{Array, Buf, Shape, Value, array, compare};
use std::rc::Rc;
use std::sync::atomic::AtomicBool;

/// Pseudo-random numbers with repetitions.
fn noise(n: u64) -> Vec<u64> {
    (0..n)
        .map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 7 ^ (i % 3) << 63)
        .map(|k| if k % 5 == 0 { k % 1000 } else { k })
        .collect()
}

/// Ints in the order of these numbers, which are sorted by keys.
fn by_keys(keys: &[u64]) -> Value {
    array::ints(keys.iter().map(|k| (k ^ 1 << 63) as i64).collect())
}

/// The same Ints as values, which are compared.
fn by_comparison(keys: &[u64]) -> Value {
    let values = keys.iter().map(|k| Value::Int((k ^ 1 << 63) as i64)).collect();
    array::make(Shape::from_slice(&[keys.len()]), Buf::Boxed(values))
}

fn order(v: &Value) -> Vec<usize> {
    let Value::Array(a) = argsort(InterruptFlag(&AtomicBool::new(false)), v).unwrap() else { panic!("no array") };
    let Buf::I64(at) = a.buf() else { panic!("no Ints") };
    at.iter().map(|i| *i as usize).collect()
}

#[test]
fn tuples_are_sorted_by_their_first_number_and_then_by_the_rest() {
    let first = |k: &u64| {
        if k.is_multiple_of(11) {
            f64::NAN
        } else if k % 97 == 40 {
            [0.0, -0.0][(k % 2) as usize]
        } else {
            (k % 97) as f64 - 40.0
        }
    };
    // From 2,048 elements on, keys are made of the first column.
    let (xs, ys): (Vec<f64>, Vec<i64>) = noise(5000).iter().map(|k| (first(k), (k % 7) as i64)).unzip();
    let a = Array::new(Shape::from_slice(&[xs.len()]), Buf::Tuple(vec![array::floats(xs), array::ints(ys)]));
    let mut want: Vec<usize> = (0..a.len()).collect();
    want.sort_by(|i, j| compare::total(&array::elem(&a, *i), &array::elem(&a, *j)));
    assert_eq!(order(&Value::Array(Rc::new(a))), want);
}

#[test]
fn both_ways_of_sorting_are_stable_and_right() {
    for n in [0, 1, 2, 100, 2047, 2048, 5000, 20_000] {
        let keys = noise(n);
        let mut want: Vec<usize> = (0..keys.len()).collect();
        want.sort_by_key(|i| keys[*i]);
        assert_eq!(order(&by_keys(&keys)), want, "{n}");
        assert_eq!(order(&by_comparison(&keys)), want, "{n}");
    }
}

#[test]
fn keys_of_floats_are_in_their_order() {
    let ascending = [f64::NEG_INFINITY, -1.5, -f64::MIN_POSITIVE, 0.0, 5e-324, 1.0, f64::INFINITY, f64::NAN];
    for pair in ascending.windows(2) {
        assert_eq!(order(&array::floats(vec![pair[1], pair[0]])), [1, 0], "{pair:?}");
    }
    // What is equal stays where it is.
    for (x, y) in [(-0.0, 0.0), (-f64::NAN, f64::NAN)] {
        assert_eq!(order(&array::floats(vec![x, y])), [0, 1]);
        assert_eq!(order(&array::floats(vec![y, x])), [0, 1]);
    }
}

#[test]
fn an_interrupt_ends_a_sort() {
    let on = AtomicBool::new(true);
    assert!(argsort(InterruptFlag(&on), &by_keys(&noise(5000))).is_err());
    assert!(argsort(InterruptFlag(&on), &by_comparison(&noise(5000))).is_err());
}
