//! Functions on arrays of numbers: sums, extrema, transposes, random words, and their division into parts.

use adl_interp::internals::InterruptFlag;
use adl_interp::internals::{philox, transpose_rows};
use adl_interp::ops::kernels::{Adder, arg_extremum, sum};
use adl_interp::ops::parallel::{changed, made, set_threads};
use adl_interp::ops::strip_mining::{all, around};
use std::sync::atomic::AtomicBool;

#[test]
fn the_first_of_the_best_is_found_wherever_it_stands() {
    let plain = |x: &[f64], less: bool| {
        let mut best = 0;
        for i in 0..x.len() {
            if x[i].is_nan() {
                return i;
            }
            if less && x[i] < x[best] || !less && x[i] > x[best] {
                best = i;
            }
        }
        best
    };
    for len in [0, 1, 7, 8, 9, 1023, 1024, 1025, 70_000] {
        for salt in [1usize, 3, 12_345] {
            let mut values: Vec<f64> =
                (0..len).map(|i: usize| ((i.wrapping_mul(salt * 2_654_435_761) >> 7) % 97) as f64 - 48.0).collect();
            let check = |x: &[f64]| {
                [true, false]
                    .iter()
                    .for_each(|less| assert_eq!(arg_extremum(x, *less), plain(x, *less), "{len} {salt}"));
            };
            check(&values);
            values.iter_mut().for_each(|v| *v = if *v > 0.0 { f64::INFINITY } else { *v * -0.0 });
            check(&values);
            if let Some(v) = values.get_mut(len / 2) {
                *v = f64::NAN;
            }
            check(&values);
        }
    }
}

#[test]
fn terms_add_up_as_arrays_do() {
    for n in [1, 7, 8, 1023, 1024, 1025, 5000] {
        let x: Vec<f64> = (0..n).map(|i| (i as f64 * 0.7).sin()).collect();
        let mut a = Adder::default();
        x.iter().for_each(|v| a.push(*v));
        assert_eq!(a.total().to_bits(), sum(&x).to_bits(), "{n}");
    }
}

#[test]
fn totals_of_strips_are_sums() {
    let off = AtomicBool::new(false);
    for n in [1, 1023, 1024, 1025, 70_000, 200_001] {
        let x: Vec<f64> = (0..n).map(|i| (i as f64 * 0.7).sin()).collect();
        let f = |start: usize, len: usize, room: &mut [f64]| {
            room[0] = sum(&x[start..start + len]);
        };
        for threads in [false, true] {
            assert_eq!(all((&off, &|_| {}), n, (1, 1), threads, &f).unwrap()[0].to_bits(), sum(&x).to_bits(), "{n}");
        }
    }
}

#[test]
fn the_turn_that_is_alone_is() {
    let off = AtomicBool::new(false);
    for (n, alone) in [(1, 0), (20, 0), (20, 19), (3000, 1500)] {
        let seen = std::sync::Mutex::new(Vec::new());
        around(&off, n, alone, &mut [], &|start, len, _| seen.lock().unwrap().push((start, len))).unwrap();
        let seen = seen.into_inner().unwrap();
        assert!(seen.contains(&(alone, 1)) && seen.iter().map(|s| s.1).sum::<usize>() == n, "{n} {seen:?}");
    }
}

#[test]
fn parts_cover_everything_once_with_any_number_of_threads() {
    let off = AtomicBool::new(false);
    for threads in [1, 2, 3, 5] {
        set_threads(threads);
        for len in [0, 1, 255, 256, 257, 70_000, 200_001] {
            let v: Vec<i64> = made(InterruptFlag(&off), len, |at, part| {
                part.iter_mut().enumerate().for_each(|(i, x)| *x = (at + i) as i64);
            })
            .unwrap();
            assert!(v.iter().enumerate().all(|(i, x)| *x == i as i64) && v.len() == len, "{len}");
            let mut v = v;
            changed(InterruptFlag(&off), &mut v, |at, part| {
                part.iter_mut().enumerate().for_each(|(i, x)| *x += (at + i) as i64);
            })
            .unwrap();
            assert!(v.iter().enumerate().all(|(i, x)| *x == 2 * i as i64), "{len}");
        }
    }
    set_threads(0);
}

#[test]
fn parts_of_a_transpose_make_it() {
    for (n, k) in [(1, 1), (1, 7), (7, 1), (513, 8), (600, 3), (9, 700)] {
        let v: Vec<f64> = (0..n * k).map(|i| i as f64).collect();
        for rows in [1, 2, k] {
            let mut out = vec![0.0; n * k];
            out.chunks_mut(rows * n).enumerate().for_each(|(i, c)| transpose_rows(&v, (n, k), i * rows, c));
            assert!((0..n * k).all(|t| out[t] == v[(t % n) * k + t / n]), "{n} by {k}, {rows} rows at once");
        }
    }
}

/// Known answers published with Random123.
#[test]
fn philox_known_answers() {
    assert_eq!(philox([0; 4], [0; 2]), [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8]);
    assert_eq!(philox([u32::MAX; 4], [u32::MAX; 2]), [0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd]);
    assert_eq!(
        philox([0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344], [0xa4093822, 0x299f31d0]),
        [0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1]
    );
}
