// Int operators that may overflow: the check with the given number then fails. Also division, rounded towards negative
// infinity.

// Records a failed check; of several, the one with the highest number is kept.
fn fault(site: u32) {
  failed = true;
  atomicMax(&faults[0], params[1] + site);
}

// Converts a word to an Int. Not by `i64`, which sign-extends, and whose comparisons with constants Mesa 22
// miscompiles.
fn l_of(word: u32) -> i64 {
  return i64(u64(word));
}

// a + b.
fn l_add(a: i64, b: i64, site: u32) -> i64 {
  let r = a + b;
  if ((a ^ r) & (b ^ r)) < 0li {
    fault(site);
  }
  return r;
}

// a - b.
fn l_sub(a: i64, b: i64, site: u32) -> i64 {
  let r = a - b;
  if ((a ^ b) & (a ^ r)) < 0li {
    fault(site);
  }
  return r;
}

// Whether a is the minimum Int, which has no negation.
fn l_is_least(a: i64) -> bool {
  return bitcast<u64>(a) == 0x8000000000000000lu;
}

// a b.
fn l_mul(a: i64, b: i64, site: u32) -> i64 {
  let r = a * b;
  let small = a == i64(i32(a)) && b == i64(i32(b));
  if !small && a != 0li && b != 0li {
    if (a == -1li && l_is_least(b)) || (b == -1li && l_is_least(a)) {
      fault(site);
    } else if r / b != a {
      fault(site);
    }
  }
  return r;
}

// -a.
fn l_neg(a: i64, site: u32) -> i64 {
  if l_is_least(a) {
    fault(site);
  }
  return 0li - a;
}

// |a|.
fn l_abs(a: i64, site: u32) -> i64 {
  if a < 0li {
    return l_neg(a, site);
  }
  return a;
}

// 1, 0 or -1.
fn l_sign(a: i64) -> i64 {
  return select(select(0li, -1li, a < 0li), 1li, a > 0li);
}

// a to the power n, where n is not negative.
fn l_powi(a: i64, n: u32, site: u32) -> i64 {
  var r = 1li;
  var p = a;
  var left = n;
  while left > 0u && !failed {
    if (left & 1u) == 1u {
      r = l_mul(r, p, site);
    }
    left = left >> 1u;
    if left > 0u {
      p = l_mul(p, p, site);
    }
  }
  return r;
}

// a / b. The first check is for a zero divisor, the second for overflow.
fn l_div(a: i64, b: i64, zero: u32, site: u32) -> i64 {
  if b == 0li {
    fault(zero);
    return 0li;
  }
  if b == -1li {
    return l_neg(a, site);
  }
  let q = a / b;
  return select(q, q - 1li, q * b != a && (a < 0li) != (b < 0li));
}

// The remainder of a / b, with the sign of b.
fn l_rem(a: i64, b: i64, zero: u32) -> i64 {
  if b == 0li {
    fault(zero);
    return 0li;
  }
  if b == -1li {
    return 0li;
  }
  let r = a - (a / b) * b;
  return select(r, r + b, r != 0li && (r < 0li) != (b < 0li));
}

// A Float truncated to an Int.
fn l_of_f64(x: f64, site: u32) -> i64 {
  let t = d_trunc(x);
  if !(t >= -9223372036854775808.0lf && t < 9223372036854775808.0lf) {
    fault(site);
    return 0li;
  }
  return i64(t);
}

// An f32 truncated to an Int, by its bits.
fn l_of_f32(x: f32, site: u32) -> i64 {
  if !(x >= -9223372036854775808.0f && x < 9223372036854775808.0f) {
    fault(site);
    return 0li;
  }
  let u = bitcast<u32>(x);
  let e = i32((u >> 23u) & 0xffu) - 150;
  let m = l_of((u & 0x7fffffu) | 0x800000u);
  if e < -24 {
    return 0li;
  }
  let a = select(m >> u32(max(-e, 0)), m << u32(max(e, 0)), e >= 0);
  return select(a, 0li - a, (u >> 31u) == 1u);
}

// Converts an index on an axis of this length; if it is out of bounds, the check fails and the result is 0.
fn l_at(i: i64, n: u32, site: u32) -> u32 {
  if i < 0li || i >= l_of(n) {
    fault(site);
    return 0u;
  }
  return u32(i);
}

// The bits of the minimum Int.
fn l_least() -> u64 {
  return 0x8000000000000000lu;
}
