// Functions on f32 for devices without f64. (On others they are the rounded f64 functions, and so equal the CPU's.)
// They use the device's `log`, `exp2`, `log2` and `sqrt`. Error bounds: at most 4 ulps, except erf and erfinv (16) and erfc (32);
// asin, acos, tan, sin and cos an absolute 4e-7 for angles up to 1000, and none beyond; lgamma and digamma 4e-6 of the
// larger of 1 and the result; gamma 2e-5 of the result.

// Whether x is NaN.
fn s_is_nan(x: f32) -> bool {
  return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u;
}

// Whether x is infinite.
fn s_is_inf(x: f32) -> bool {
  return (bitcast<u32>(x) & 0x7fffffffu) == 0x7f800000u;
}

// The number with these bits.
fn s_of(bits: u32) -> f32 {
  return bitcast<f32>(bits);
}

// NaN.
fn s_nan() -> f32 {
  return s_of(0x7fc00000u);
}

// Infinity.
fn s_inf() -> f32 {
  return s_of(0x7f800000u);
}

// The absolute value.
fn s_abs(x: f32) -> f32 {
  return bitcast<f32>(bitcast<u32>(x) & 0x7fffffffu);
}

// |x| with the sign of y.
fn s_copysign(x: f32, y: f32) -> f32 {
  return bitcast<f32>((bitcast<u32>(x) & 0x7fffffffu) | (bitcast<u32>(y) & 0x80000000u));
}

// Exact. Rounds to the nearest integer, ties to even.
fn s_round(x: f32) -> f32 {
  let a = s_abs(x);
  if !(a < 8388608.0f) {
    return x;
  }
  return s_copysign((a + 8388608.0f) - 8388608.0f, x);
}

// Exact. Rounds towards negative infinity.
fn s_floor(x: f32) -> f32 {
  let r = s_round(x);
  return s_copysign(select(r, r - 1.0f, r > x), x);
}

// Exact. Rounds towards positive infinity.
fn s_ceil(x: f32) -> f32 {
  let r = s_round(x);
  return s_copysign(select(r, r + 1.0f, r < x), x);
}

// 1, -1, or x itself if it is zero or NaN.
fn s_sign(x: f32) -> f32 {
  return select(select(x, -1.0f, x < 0.0f), 1.0f, x > 0.0f);
}

// The minimum; x if it is NaN.
fn s_min(x: f32, y: f32) -> f32 {
  return select(y, x, s_is_nan(x) || x <= y);
}

// The maximum; x if it is NaN.
fn s_max(x: f32, y: f32) -> f32 {
  return select(y, x, s_is_nan(x) || x >= y);
}

// x y, and 0 if either is 0.
fn s_scale(x: f32, y: f32) -> f32 {
  return select(x * y, 0.0f, x == 0.0f || y == 0.0f);
}

// x if it is positive or NaN, else 0.
fn s_relu(x: f32) -> f32 {
  return select(0.0f, x, x > 0.0f || s_is_nan(x));
}

// The square root.
fn s_sqrt(x: f32) -> f32 {
  if s_is_nan(x) || x < 0.0f {
    return s_nan();
  }
  if x == 0.0f || s_is_inf(x) {
    return x;
  }
  return sqrt(x);
}

// 2 to the power k, for k from -126 to 127.
fn s_power(k: i32) -> f32 {
  return bitcast<f32>(u32(k + 127) << 23u);
}

// At most 2 ulps. The exponential.
fn s_exp(x: f32) -> f32 {
  if s_is_nan(x) {
    return x;
  }
  let c = max(min(x, 89.0f), -105.0f);
  let n = s_round(c * 1.442695f);
  let r = (c - n * 0.693359375f) + n * 0.00021219444f;
  let p = 0.5f + r * (0.16666667f + r * (0.041666668f + r * (0.008333334f + r * (0.0013888889f + r * 0.0001984127f))));
  let k = i32(n);
  let h = k / 2;
  return (1.0f + (r + r * r * p)) * s_power(h) * s_power(k - h);
}

// The natural logarithm.
fn s_log(x: f32) -> f32 {
  if s_is_nan(x) || x < 0.0f {
    return s_nan();
  }
  if x == 0.0f {
    return -s_inf();
  }
  if s_is_inf(x) {
    return x;
  }
  // Near 1 by the series of artanh, whose error is relative to the result.
  let f = x - 1.0f;
  if s_abs(f) < 0.2f {
    let s = f / (2.0f + f);
    let z = s * s;
    return 2.0f * s + 2.0f * s * z * (0.33333334f + z * (0.2f + z * (0.14285715f + z * 0.11111111f)));
  }
  return log(x);
}

// exp x - 1, by its series if x is small.
fn s_expm1(x: f32) -> f32 {
  if s_abs(x) < 0.4f {
    return x + x * x * (0.5f + x * (0.16666667f + x * (0.041666668f + x * (0.008333334f + x * (0.0013888889f + x * 0.0001984127f)))));
  }
  return s_exp(x) - 1.0f;
}

// log (1 + x).
fn s_log1p(x: f32) -> f32 {
  let u = 1.0f + x;
  if s_is_nan(x) || s_is_inf(x) || !(u > 0.0f) || u == 1.0f {
    return select(s_log(u), x, u == 1.0f);
  }
  return s_log(u) + (x - (u - 1.0f)) / u;
}

// The hyperbolic tangent.
fn s_tanh(x: f32) -> f32 {
  if s_is_nan(x) {
    return x;
  }
  let e = s_expm1(-2.0f * min(s_abs(x), 10.0f));
  return s_copysign(-e / (2.0f + e), x);
}

// 1 / cosh² x.
fn s_sech2(x: f32) -> f32 {
  let e = s_exp(-s_abs(x));
  let s = (e + e) / (1.0f + e * e);
  return s * s;
}

// The hyperbolic sine.
fn s_sinh(x: f32) -> f32 {
  if s_is_nan(x) || s_is_inf(x) {
    return x;
  }
  let a = s_abs(x);
  if a > 80.0f {
    let h = s_exp(0.5f * a);
    return s_copysign((0.5f * h) * h, x);
  }
  let e = s_expm1(a);
  return s_copysign(0.5f * (e + e / (e + 1.0f)), x);
}

// The hyperbolic cosine.
fn s_cosh(x: f32) -> f32 {
  if s_is_nan(x) {
    return x;
  }
  let h = s_exp(0.5f * s_abs(x));
  return (0.5f * h) * h + (0.5f / h) / h;
}

// 1 / (1 + exp -x).
fn s_sigmoid(x: f32) -> f32 {
  if s_is_nan(x) {
    return x;
  }
  let e = s_exp(-s_abs(x));
  return select(1.0f, e, x < 0.0f) / (1.0f + e);
}

// log (1 + exp x).
fn s_softplus(x: f32) -> f32 {
  if s_is_nan(x) {
    return x;
  }
  let y = s_log1p(s_exp(-s_abs(x)));
  return select(y, x + y, x > 0.0f);
}

// Argument reduction: an angle minus multiples of π / 2, and their number; accurate up to about 10000.
fn s_angle(x: f32) -> vec2<f32> {
  let n = s_round(x * 0.63661977f);
  let r = ((x - n * 1.5703125f) - n * 0.0004837513f) - n * 7.549790e-8f;
  return vec2<f32>(r, n - 4.0f * s_floor(0.25f * n));
}

// The sine of an angle plus this many multiples of π / 2.
fn s_wave(x: f32, turn: f32) -> f32 {
  if s_is_nan(x) || s_is_inf(x) {
    return s_nan();
  }
  let a = s_angle(x);
  let z = a.x * a.x;
  let s = a.x + a.x * z * (-0.16666667f + z * (0.008333331f + z * (-0.00019841f + z * 2.7557e-6f)));
  let c = 1.0f - 0.5f * z + z * z * (0.041666668f + z * (-0.0013888889f + z * (2.480158e-5f - z * 2.7e-7f)));
  let q = u32(a.y + turn) & 3u;
  let y = select(s, c, (q & 1u) == 1u);
  return select(y, -y, q >= 2u);
}

// The sine.
fn s_sin(x: f32) -> f32 {
  return select(s_wave(x, 0.0f), x, x == 0.0f);
}

// The cosine.
fn s_cos(x: f32) -> f32 {
  return s_wave(x, 1.0f);
}

// The tangent.
fn s_tan(x: f32) -> f32 {
  return select(s_wave(x, 0.0f) / s_wave(x, 1.0f), x, x == 0.0f);
}

// The arctangent, from -π/2 to π/2.
fn s_atan(x: f32) -> f32 {
  if s_is_nan(x) || x == 0.0f {
    return x;
  }
  let a = s_abs(x);
  var base = 0.0f;
  var t = a;
  if a > 2.4142137f {
    base = 1.5707964f;
    t = -1.0f / a;
  } else if a > 0.41421357f {
    base = 0.7853982f;
    t = (a - 1.0f) / (a + 1.0f);
  }
  let z = t * t;
  let p = -0.33333334f + z * (0.2f + z * (-0.142857f + z * (0.111f + z * (-0.0885f + z * 0.0589f))));
  return s_copysign(base + (t + t * z * p), x);
}

// The arcsine, from -π/2 to π/2.
fn s_asin(x: f32) -> f32 {
  let a = s_abs(x);
  if !(a <= 1.0f) {
    return s_nan();
  }
  return select(s_atan(x / s_sqrt((1.0f - x) * (1.0f + x))), s_copysign(1.5707964f, x), a == 1.0f);
}

// The arccosine, from 0 to π.
fn s_acos(x: f32) -> f32 {
  if !(s_abs(x) <= 1.0f) {
    return s_nan();
  }
  if x == -1.0f {
    return 3.1415927f;
  }
  return 2.0f * s_atan(s_sqrt((1.0f - x) / (1.0f + x)));
}

// The angle of the point (x, y).
fn s_atan2(y: f32, x: f32) -> f32 {
  if s_is_nan(x) || s_is_nan(y) {
    return s_nan();
  }
  let left = (bitcast<u32>(x) >> 31u) == 1u;
  let a = s_abs(y);
  let b = s_abs(x);
  if a == 0.0f {
    return s_copysign(select(0.0f, 3.1415927f, left), y);
  }
  if s_is_inf(x) {
    return s_copysign(select(select(0.0f, 3.1415927f, left), select(0.7853982f, 2.3561945f, left), s_is_inf(y)), y);
  }
  if b == 0.0f || s_is_inf(y) {
    return s_copysign(1.5707964f, y);
  }
  // Halved, so that neither overflows.
  let r = select(s_atan(a / b), 1.5707964f, a * 1e-30f > b);
  return s_copysign(select(r, 3.1415927f - r, left), y);
}

// The length of the vector (x, y).
fn s_hypot(x: f32, y: f32) -> f32 {
  if s_is_inf(x) || s_is_inf(y) {
    return s_inf();
  }
  let m = max(s_abs(x), s_abs(y));
  if s_is_nan(x) || s_is_nan(y) || m == 0.0f {
    return select(m, s_nan(), s_is_nan(x) || s_is_nan(y));
  }
  let a = x / m;
  let b = y / m;
  return m * s_sqrt(a * a + b * b);
}

// The cube root.
fn s_cbrt(x: f32) -> f32 {
  if x == 0.0f || s_is_nan(x) || s_is_inf(x) {
    return x;
  }
  let a = s_abs(x);
  var y = exp2(log2(a) / 3.0f);
  y = y - (y - a / (y * y)) / 3.0f;
  return s_copysign(y, x);
}

// x to the power y.
fn s_pow(x: f32, y: f32) -> f32 {
  if y == 2.0f {
    return x * x;
  }
  if y == 1.0f {
    return x;
  }
  if y == 0.0f || x == 1.0f {
    return 1.0f;
  }
  if s_is_nan(x) || s_is_nan(y) {
    return s_nan();
  }
  let a = s_abs(x);
  let whole = s_floor(y) == y;
  let odd = whole && s_abs(y) < 16777216.0f && s_floor(0.5f * y) != 0.5f * y;
  let minus = odd && (bitcast<u32>(x) >> 31u) == 1u;
  if s_is_inf(y) {
    return select(select(0.0f, s_inf(), (a > 1.0f) == (y > 0.0f)), 1.0f, a == 1.0f);
  }
  if a == 0.0f || s_is_inf(x) {
    let r = select(0.0f, s_inf(), (a == 0.0f) == (y < 0.0f));
    return select(r, -r, minus);
  }
  if x < 0.0f && !whole {
    return s_nan();
  }
  // Integer powers by multiplication, others by the logarithm.
  var r: f32;
  if whole && s_abs(y) <= 64.0f {
    r = s_powi(a, i32(y));
  } else {
    r = s_exp(s_log(a) * y);
  }
  return select(r, -r, minus);
}

// x to the integer power n, by repeated squaring.
fn s_powi(x: f32, n: i32) -> f32 {
  var r = 1.0f;
  var a = x;
  var b = n;
  loop {
    if (b & 1) != 0 {
      r *= a;
    }
    b = b / 2;
    if b == 0 {
      break;
    }
    a *= a;
  }
  return select(r, 1.0f / r, n < 0);
}

// Exact. The remainder, with the divisor's sign.
fn s_rem(x: f32, y: f32) -> f32 {
  if s_is_nan(x) || s_is_nan(y) || s_is_inf(x) || y == 0.0f {
    return s_nan();
  }
  let b = s_abs(y);
  var r = s_abs(x);
  if !s_is_inf(y) {
    // Divisors are y times powers of two, from the largest: each difference is exact.
    var d = b;
    var steps = 0u;
    while d <= 0.5f * r && steps < 300u {
      d = d * 2.0f;
      steps++;
    }
    loop {
      if r >= d {
        r -= d;
      }
      if steps == 0u {
        break;
      }
      d = d * 0.5f;
      steps--;
    }
  }
  r = s_copysign(r, x);
  return select(r, r + y, r != 0.0f && (r < 0.0f) != (y < 0.0f));
}

// The error function, by its series or as 1 minus erfc.
fn s_erf(x: f32) -> f32 {
  let a = s_abs(x);
  if s_is_nan(x) || a < 1.0f {
    let z = x * x;
    return x * (1.1283792f + z * (-0.37612638f + z * (0.11283792f + z * (-0.026866170f + z * (0.005223978f + z * (-0.00085483274f + z * (0.00012055333f - z * 0.00001492565f)))))));
  }
  return s_copysign(1.0f - s_tail(min(a, 5.0f)), x);
}

// erfc x for x from 0.5 on: a continued fraction of forty terms. The rest is replaced by the fixed point of its step.
fn s_tail(x: f32) -> f32 {
  var f = 0.5f * (x + s_sqrt(x * x + 82.0f));
  for (var k = 40u; k > 0u; k--) {
    f = x + 0.5f * f32(k) / f;
  }
  // exp (-x²) from the leading bits of x, whose square is exact.
  let h = bitcast<f32>(bitcast<u32>(x) & 0xfffff000u);
  return s_exp(-h * h) * s_exp((h - x) * (h + x)) * 0.5641896f / f;
}

// The complementary error function.
fn s_erfc(x: f32) -> f32 {
  if s_is_nan(x) {
    return x;
  }
  if x < 0.8f {
    return 1.0f - s_erf(x);
  }
  return select(s_tail(min(x, 11.0f)), 0.0f, x > 10.5f);
}

// The inverse hyperbolic sine.
fn s_asinh(x: f32) -> f32 {
  let a = s_abs(x);
  if a > 10000.0f {
    return s_copysign(s_log(a) + 0.6931472f, x);
  }
  return s_copysign(s_log1p(a + a * a / (1.0f + s_sqrt(a * a + 1.0f))), x);
}

// The inverse hyperbolic cosine.
fn s_acosh(x: f32) -> f32 {
  if x < 1.0f {
    return s_nan();
  }
  if x > 10000.0f {
    return s_log(x) + 0.6931472f;
  }
  let t = x - 1.0f;
  return s_log1p(t + s_sqrt(2.0f * t + t * t));
}

// The inverse hyperbolic tangent.
fn s_atanh(x: f32) -> f32 {
  let a = s_abs(x);
  if a > 1.0f {
    return s_nan();
  }
  return s_copysign(0.5f * s_log1p(2.0f * a / (1.0f - a)), x);
}

// The inverse of the error function (Giles, *Approximating the erfinv function*, 2012).
fn s_erfinv(x: f32) -> f32 {
  let a = s_abs(x);
  if s_is_nan(x) || a > 1.0f {
    return s_nan();
  }
  if a == 1.0f {
    return s_copysign(s_inf(), x);
  }
  let w = -s_log((1.0f - a) * (1.0f + a));
  if w < 5.0f {
    let t = w - 2.5f;
    return x * ((((((((2.81022636e-08f * t + 3.43273939e-07f) * t + -3.5233877e-06f) * t + -4.39150654e-06f) * t + 0.00021858087f) * t + -0.00125372503f) * t + -0.00417768164f) * t + 0.246640727f) * t + 1.50140941f);
  }
  let t = s_sqrt(w) - 3.0f;
  return x * ((((((((-0.000200214257f * t + 0.000100950558f) * t + 0.00134934322f) * t + -0.00367342844f) * t + 0.00573950773f) * t + -0.0076224613f) * t + 0.00943887047f) * t + 1.00167406f) * t + 2.83297682f);
}

// log |Γ(x)|, with an error of about 1e-6 of the larger of 1 and the result.
fn s_lgamma(x: f32) -> f32 {
  if s_is_nan(x) {
    return x;
  }
  if s_is_inf(x) || (x <= 0.0f && x == s_floor(x)) {
    return s_inf();
  }
  var y = select(x, 1.0f - x, x < 0.5f);
  var p = 1.0f;
  let z = y;
  while y < 6.0f {
    p *= y;
    y += 1.0f;
  }
  let r = 1.0f / (y * y);
  let l = (y - 0.5f) * (s_log(y) - 1.0f) + 0.41893853f + (0.083333336f - r * (0.0027777778f - r * 0.0007936508f)) / y - s_log(p);
  if x < 0.5f {
    return s_log(3.1415927f / s_abs(s_sin(3.1415927f * (x - s_round(x))))) - l;
  }
  return l;
}

// Γ(x), with an error of about 2e-5 of the result.
fn s_gamma(x: f32) -> f32 {
  if s_is_nan(x) || x == 0.0f {
    return select(x, 1.0f / x, x == 0.0f);
  }
  if x < 0.0f && (s_is_inf(x) || x == s_floor(x)) {
    return s_nan();
  }
  if x > 35.1f {
    return s_inf();
  }
  let g = s_exp(s_lgamma(x));
  let k = s_floor(x);
  return select(g, -g, x < 0.0f && s_floor(0.5f * k) != 0.5f * k);
}

// The derivative of log Γ, with an error of about 1e-6 of the larger of 1 and the result.
fn s_digamma(x: f32) -> f32 {
  if s_is_nan(x) || (x <= 0.0f && (x == s_floor(x) || s_is_inf(x))) {
    return s_nan();
  }
  if s_is_inf(x) {
    return x;
  }
  var y = select(x, 1.0f - x, x < 0.0f);
  var shift = 0.0f;
  while y < 6.0f {
    shift -= 1.0f / y;
    y += 1.0f;
  }
  let r = 1.0f / (y * y);
  let v = shift + s_log(y) - 0.5f / y - r * (0.083333336f - r * (0.008333334f - r * 0.003968254f));
  return select(v, v - 3.1415927f / s_tan(3.1415927f * (x - s_round(x))), x < 0.0f);
}
