//! The range of an array's numbers, and the counts of nan and infinity.

use adl_interp::value::{Array, Buf, digits};

/// `-1.0 .. 3.5, 2 nan, 1 inf`; `None` if there are no numbers, or if they are only on a device.
pub fn of(a: &Array) -> Option<String> {
    if a.is_remote() {
        return None;
    }
    match a.buf() {
        Buf::F64(v) => Some(floats(v.iter().copied())),
        Buf::F32(v) => Some(floats(v.iter().map(|x| f64::from(*x)))),
        Buf::I64(v) => Some(format!("{} .. {}", v.iter().min()?, v.iter().max()?)),
        Buf::Bool(v) => Some(format!("{} true", v.iter().filter(|b| **b).count())),
        Buf::Unit | Buf::Boxed(_) | Buf::Tuple(_) | Buf::Record(..) => None,
    }
}

fn floats(numbers: impl Iterator<Item = f64>) -> String {
    let (mut least, mut largest, mut nan, mut inf) = (f64::INFINITY, f64::NEG_INFINITY, 0usize, 0usize);
    for x in numbers {
        if x.is_finite() {
            (least, largest) = (least.min(x), largest.max(x));
        } else if x.is_nan() {
            nan += 1;
        } else {
            inf += 1;
        }
    }
    let range = (least <= largest).then(|| format!("{} .. {}", digits::rounded(least), digits::rounded(largest)));
    let count = |n: usize, what: &str| (n > 0).then(|| format!("{n} {what}"));
    [range, count(nan, "nan"), count(inf, "inf")].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Whether an array contains a nan or an infinity.
pub(super) fn has_none(a: &Array) -> bool {
    !a.is_remote()
        && match a.buf() {
            Buf::F64(v) => v.iter().any(|x| !x.is_finite()),
            Buf::F32(v) => v.iter().any(|x| !x.is_finite()),
            _ => false,
        }
}
