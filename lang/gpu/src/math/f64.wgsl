// Functions on f64. WGSL's own are insufficient: `exp` is wrong, and SPIR-V has no others.
//
// Only + - * / and comparisons of f64 are the device's, which all adapters compute as IEEE 754 requires. NaN and
// infinities are created and recognised by their bits. Arithmetic must be exact (see `shader`). Functions that
// `adl_prim::elementary` defines (exp, expm1, log, log1p, tanh, sigmoid, softplus, sin, cos) use the same operations,
// so that results equal the CPU's bit for bit. The other polynomials interpolate at Chebyshev nodes, computed with
// fifty digits. Error bounds in ulps are stated above each function, and are tested.

// The absolute value.
fn d_abs(x: f64) -> f64 {
  return bitcast<f64>(bitcast<u64>(x) & 0x7ffffffffffffffflu);
}

// |x| with the sign of y.
fn d_copysign(x: f64, y: f64) -> f64 {
  return bitcast<f64>((bitcast<u64>(x) & 0x7ffffffffffffffflu) | (bitcast<u64>(y) & 0x8000000000000000lu));
}

// Whether x is NaN.
fn d_is_nan(x: f64) -> bool {
  return (bitcast<u64>(x) & 0x7ffffffffffffffflu) > 0x7ff0000000000000lu;
}

// Whether x is infinite.
fn d_is_inf(x: f64) -> bool {
  return (bitcast<u64>(x) & 0x7ffffffffffffffflu) == 0x7ff0000000000000lu;
}

// The number with these bits.
fn d_of(bits: u64) -> f64 {
  return bitcast<f64>(bits);
}

// NaN.
fn d_nan() -> f64 {
  return d_of(0x7ff8000000000000lu);
}

// Infinity.
fn d_inf() -> f64 {
  return d_of(0x7ff0000000000000lu);
}

// Exact. Rounds towards zero.
fn d_trunc(x: f64) -> f64 {
  let a = d_abs(x);
  if !(a < 4503599627370496.0lf) {
    return x;
  }
  let r = (a + 4503599627370496.0lf) - 4503599627370496.0lf;
  return d_copysign(select(r, r - 1.0lf, r > a), x);
}

// Exact. Rounds to the nearest integer, ties to even.
fn d_round(x: f64) -> f64 {
  let a = d_abs(x);
  if !(a < 4503599627370496.0lf) {
    return x;
  }
  return d_copysign((a + 4503599627370496.0lf) - 4503599627370496.0lf, x);
}

// Exact. Rounds towards negative infinity.
fn d_floor(x: f64) -> f64 {
  let r = d_round(x);
  return d_copysign(select(r, r - 1.0lf, r > x), x);
}

// Exact. Rounds towards positive infinity.
fn d_ceil(x: f64) -> f64 {
  let r = d_round(x);
  return d_copysign(select(r, r + 1.0lf, r < x), x);
}

// 1, -1, or x itself if it is zero or NaN.
fn d_sign(x: f64) -> f64 {
  return select(select(x, -1.0lf, x < 0.0lf), 1.0lf, x > 0.0lf);
}

// The minimum; x if it is NaN.
fn d_min(x: f64, y: f64) -> f64 {
  return select(y, x, d_is_nan(x) || x <= y);
}

// The maximum; x if it is NaN.
fn d_max(x: f64, y: f64) -> f64 {
  return select(y, x, d_is_nan(x) || x >= y);
}

// x y, and 0 if either is 0.
fn d_scale(x: f64, y: f64) -> f64 {
  return select(x * y, 0.0lf, x == 0.0lf || y == 0.0lf);
}

// a + b and its rounding error.
fn d_two_sum(a: f64, b: f64) -> vec2<f64> {
  let s = a + b;
  let t = s - a;
  return vec2<f64>(s, (a - (s - t)) + (b - t));
}

// a + b and its rounding error, if |a| is not less than |b|.
fn d_fast_sum(a: f64, b: f64) -> vec2<f64> {
  let s = a + b;
  return vec2<f64>(s, (a - s) + b);
}

// x truncated to its leading 26 bits.
fn d_leading(x: f64) -> f64 {
  return bitcast<f64>(bitcast<u64>(x) & 0xfffffffff8000000lu);
}

// a b and its rounding error.
fn d_two_prod(a: f64, b: f64) -> vec2<f64> {
  let p = a * b;
  let ah = d_leading(a);
  let bh = d_leading(b);
  let al = a - ah;
  let bl = b - bh;
  return vec2<f64>(p, ((ah * bh - p) + ah * bl + al * bh) + al * bl);
}

// The product of two double-double numbers.
fn d_mul2(a: vec2<f64>, b: vec2<f64>) -> vec2<f64> {
  let p = d_two_prod(a.x, b.x);
  return d_fast_sum(p.x, p.y + (a.x * b.y + a.y * b.x));
}

// The sum of two double-double numbers.
fn d_add2(a: vec2<f64>, b: vec2<f64>) -> vec2<f64> {
  let s = d_two_sum(a.x, b.x);
  return d_fast_sum(s.x, s.y + (a.y + b.y));
}

// 2 to the power k - 1024, for k from 2 to 2047.
fn d_power(k: u64) -> f64 {
  return bitcast<f64>((k - 1lu) << 52u);
}

// (exp r - 1 - r) / r².
fn d_poly_exp(x: f64) -> f64 {
  let z = x * x;
  return (((((2.0914686968086876e-09lf * z + (2.75572736431103e-07lf + 2.5105217004720745e-08lf * x)) * z + (2.4801587325547743e-05lf + 2.7557255400206422e-06lf * x)) * z + (0.0013888888888883748lf + 0.00019841269874820627lf * x)) * z + (0.04166666666666667lf + 0.008333333333326136lf * x)) * z + (0.5lf + 0.1666666666666667lf * x));
}

// The argument reduction x = k log 2 + r.
struct DReduced {
  k: u64,
  r: f64,
  q: f64,
}

// The parts of the reduction: k + 2048, r, and exp r - 1 - r.
fn d_reduced(x: f64) -> DReduced {
  let t = x * 1.4426950408889634lf + 6755399441055744.0lf;
  let n = t - 6755399441055744.0lf;
  let hi = x - n * 0.6931471805598903lf;
  let lo = n * 5.497923018708371e-14lf;
  let r = hi - lo;
  let rest = (hi - r) - lo;
  let k = bitcast<u64>(t) - 0x4338000000000000lu + 2048lu;
  return DReduced(k, r, r * r * d_poly_exp(r) + rest);
}

// At most 1 ulp. The exponential.
fn d_exp(x: f64) -> f64 {
  if d_is_nan(x) {
    return x;
  }
  let d = d_reduced(select(select(x, -746.0lf, x < -746.0lf), 710.0lf, x > 710.0lf));
  let s = d_fast_sum(1.0lf, d.r);
  let half = d.k >> 1u;
  return (s.x + (s.y + d.q)) * d_power(half) * d_power(d.k - half);
}

// The exponential of a double-double number.
fn d_exp2(x: vec2<f64>) -> f64 {
  if x.x > 710.0lf {
    return d_inf();
  }
  if x.x < -746.0lf {
    return 0.0lf;
  }
  let d = d_reduced(x.x);
  let s = d_fast_sum(1.0lf, d.r);
  let half = d.k >> 1u;
  let q = s.y + d.q;
  return (s.x + (q + (s.x + q) * x.y)) * d_power(half) * d_power(d.k - half);
}

// At most 2 ulps. exp x - 1.
fn d_expm1(x: f64) -> f64 {
  if d_is_nan(x) || x == 0.0lf {
    return x;
  }
  if x > 40.0lf {
    return d_exp(x);
  }
  let d = d_reduced(select(x, -50.0lf, x < -50.0lf));
  let s = d_power(d.k - 1024lu);
  let one = d_two_sum(s, -1.0lf);
  let a = d_two_sum(one.x, s * d.r);
  return a.x + (a.y + (one.y + s * d.q));
}

// At most 3 ulps. The hyperbolic tangent.
fn d_tanh(x: f64) -> f64 {
  if d_is_nan(x) {
    return x;
  }
  let b = d_abs(x);
  let d = d_reduced(-2.0lf * select(b, 22.0lf, b > 22.0lf));
  let s = d_power(d.k - 1024lu);
  let part = s * (d.r + d.q);
  let e = s + part;
  let less = (1.0lf - s) - part;
  let large = e < 0.3333333333333333lf;
  return d_copysign(select(0.0lf, 1.0lf, large) + select(less, -2.0lf * e, large) / (1.0lf + e), x);
}

// At most 3 ulps. 1 / cosh² x.
fn d_sech2(x: f64) -> f64 {
  if d_is_nan(x) {
    return x;
  }
  let b = d_abs(x);
  let r = d_reduced(-2.0lf * select(b, 374.0lf, b > 374.0lf));
  let k = r.k + 2lu;
  let half = k >> 1u;
  let s = d_fast_sum(1.0lf, r.r);
  let four = (s.x + (s.y + r.q)) * d_power(half) * d_power(k - half);
  let d = 1.0lf + 0.25lf * four;
  return four / (d * d);
}

// At most 3 ulps. 1 / (1 + exp -x).
fn d_sigmoid(x: f64) -> f64 {
  if d_is_nan(x) {
    return x;
  }
  let b = -d_abs(x);
  let d = d_reduced(select(b, -746.0lf, b < -746.0lf));
  let half = d.k >> 1u;
  let s = d_fast_sum(1.0lf, d.r);
  let e = (s.x + (s.y + d.q)) * d_power(half) * d_power(d.k - half);
  return select(1.0lf, e, x < 0.0lf) / (1.0lf + e);
}

// (log ((1 + s) / (1 - s)) - 2 s) / s³, in s².
fn d_poly_log(x: f64) -> f64 {
  let z = x * x;
  return ((((0.13268759668560612lf + 0.13086767009948175lf * x) * z + (0.18181795630884753lf + 0.15386240205813478lf * x)) * z + (0.2857142857080323lf + 0.2222222239180047lf * x)) * z + (0.6666666666666666lf + 0.4000000000000088lf * x));
}

// The logarithm of a positive number as a double-double number.
fn d_logarithm(x: f64) -> vec2<f64> {
  let tiny = x < 2.2250738585072014e-308lf;
  let u = bitcast<u64>(select(x, x * 18014398509481984.0lf, tiny));
  let k = (u + 0x00095f619980c433lu) >> 52u;
  let m = bitcast<f64>(u - ((k - 1023lu) << 52u));
  let n = bitcast<f64>(0x4330000000000000lu | k) - select(4503599627371519.0lf, 4503599627371573.0lf, tiny);
  let f = m - 1.0lf;
  let s = f / (2.0lf + f);
  let z = s * s;
  let head = d_leading(f);
  let square = 0.5lf * head * head;
  let rest = 0.5lf * (f - head) * (f + head);
  let a = d_fast_sum(f, -square);
  let y = d_fast_sum(n * 0.6931471805598903lf, a.x);
  let tail = s * ((square + rest) + z * d_poly_log(z)) - rest + n * 5.497923018708371e-14lf;
  return vec2<f64>(y.x, y.y + (a.y + tail));
}

// At most 1 ulp. The natural logarithm.
fn d_log(x: f64) -> f64 {
  if d_is_nan(x) || x < 0.0lf {
    return d_nan();
  }
  if x == 0.0lf {
    return -d_inf();
  }
  if d_is_inf(x) {
    return x;
  }
  let y = d_logarithm(x);
  return y.x + y.y;
}

// At most 2 ulps. log (1 + x).
fn d_log1p(x: f64) -> f64 {
  if d_is_nan(x) || x < -1.0lf {
    return d_nan();
  }
  if x == -1.0lf {
    return -d_inf();
  }
  if d_is_inf(x) || x == 0.0lf {
    return x;
  }
  let u = d_two_sum(1.0lf, x);
  let y = d_logarithm(u.x);
  return y.x + (y.y + u.y / u.x);
}

// At most 3 ulps. log (1 + exp x).
fn d_softplus(x: f64) -> f64 {
  if d_is_nan(x) {
    return x;
  }
  let y = d_log1p(d_exp(-d_abs(x)));
  return select(y, x + y, x > 0.0lf);
}

// x if it is positive or NaN, else 0.
fn d_relu(x: f64) -> f64 {
  return select(0.0lf, x, x > 0.0lf || d_is_nan(x));
}

// (sin x - x) / x³, in x².
fn d_poly_sin(x: f64) -> f64 {
  let z = x * x;
  return (((-2.505113165023518e-08lf + 1.5918115263265974e-10lf * x) * z + (-0.00019841269836756774lf + 2.7557316101617874e-06lf * x)) * z + (-0.16666666666666666lf + 0.008333333333330948lf * x));
}

// (cos x - 1 + x² / 2) / x⁴, in x².
fn d_poly_cos(x: f64) -> f64 {
  let z = x * x;
  return (((2.087614614655861e-09lf + -1.1382623647474604e-11lf * x) * z + (2.480158729876456e-05lf + -2.7557317271145144e-07lf * x)) * z + (0.041666666666666664lf + -0.0013888888888887398lf * x));
}

// The bits of 2 / π after the binary point, preceded by 64 zeros.
const D_TWO_OVER_PI = array<u32, 40>(0x00000000u, 0x00000000u, 0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u, 0x3c439041u, 0xfe5163abu, 0xdebbc561u, 0xb7246e3au, 0x424dd2e0u, 0x06492eeau, 0x09d1921cu, 0xfe1deb1cu, 0xb129a73eu, 0xe88235f5u, 0x2ebb4484u, 0xe99c7026u, 0xb45f7e41u, 0x3991d639u, 0x835339f4u, 0x9c845f8bu, 0xbdf9283bu, 0x1ff897ffu, 0xde05980fu, 0xef2f118bu, 0x5a0a6d1fu, 0x6d367ecfu, 0x27cb09b7u, 0x4f463f66u, 0x9e5fea2du, 0x7527bac7u, 0xebe5f17bu, 0x3d0739f7u, 0x8a5292eau, 0x6bfb5fb1u, 0x1f8d5d08u, 0x56033046u, 0xfc7b6babu);

// A reduced angle: r + rest, and the number of multiples of π / 2.
struct DAngle {
  r: f64,
  rest: f64,
  quarters: u64,
}

// Argument reduction of any finite number: the product of its bits with those of 2 / π, without full circles (Payne and
// Hanek, 1983).
fn d_large_angle(x: f64) -> DAngle {
  let u = bitcast<u64>(d_abs(x));
  let m = (u & 0x000ffffffffffffflu) | 0x0010000000000000lu;
  // x is m 2^e; the bits of 2 / π from weight 2^(1 - e) on are needed.
  let start = u32(u >> 52u) - 1075u + 62u;
  let word = start / 32u;
  let shift = start % 32u;
  var table = D_TWO_OVER_PI;
  var low = m & 0xfffffffflu;
  var high = m >> 32u;
  // Six words of them, from the lowest, times m; higher bits are full circles.
  var p: array<u64, 6>;
  var carry = 0lu;
  var before = 0lu;
  for (var i = 0u; i < 6u; i++) {
    let at = word + 5u - i;
    var w = table[at] << shift;
    if shift > 0u {
      w |= table[at + 1u] >> (32u - shift);
    }
    let a = u64(w) * low + carry;
    let b = u64(before) * high + (a & 0xfffffffflu);
    p[i] = b & 0xfffffffflu;
    carry = (a >> 32u) + (b >> 32u);
    before = u64(w);
  }
  let top = (p[5] << 32u) | p[4];
  let mid = (p[3] << 32u) | p[2];
  let end = (p[1] << 32u) | p[0];
  var f1 = (top << 2u) | (mid >> 62u);
  var f0 = (mid << 2u) | (end >> 62u);
  var quarters = top >> 62u;
  let above = (f1 >> 63u) == 1lu;
  if above {
    quarters += 1lu;
    f0 = ~f0 + 1lu;
    f1 = ~f1 + select(0lu, 1lu, f0 == 0lu);
  }
  // The normalised fraction: 53 bits, then 53 more.
  var scale = 5.421010862427522e-20lf;
  if f1 == 0lu {
    f1 = f0;
    f0 = 0lu;
    scale *= 5.421010862427522e-20lf;
  }
  for (var i = 0u; i < 64u; i++) {
    if (f1 >> 63u) == 1lu || f1 == 0lu {
      break;
    }
    f1 = (f1 << 1u) | (f0 >> 63u);
    f0 = f0 << 1u;
    scale *= 0.5lf;
  }
  let a = f64(f1 >> 11u) * 2048.0lf;
  let b = f64(((f1 & 2047lu) << 42u) | (f0 >> 22u)) * 2.2737367544323206e-13lf;
  let sum = d_fast_sum(a * scale, b * scale);
  let y = d_mul2(sum, vec2<f64>(1.5707963267948966lf, 6.123233995736766e-17lf));
  let minus = above != (x < 0.0lf);
  let v = select(y, -y, minus);
  return DAngle(v.x, v.y, select(quarters, 4lu - quarters, x < 0.0lf));
}

// Argument reduction of a finite number.
fn d_angle(x: f64) -> DAngle {
  if d_abs(x) > 1e6lf {
    return d_large_angle(x);
  }
  let t = x * 0.6366197723675814lf + 6755399441055744.0lf;
  let n = t - 6755399441055744.0lf;
  let a = d_two_sum(x - n * 1.5707963267341256lf, -(n * 6.077100506303966e-11lf));
  let r = d_fast_sum(a.x, a.y - n * 2.0222662487959506e-21lf);
  return DAngle(r.x, r.y, bitcast<u64>(t));
}

// The sine of a reduced angle, ignoring the multiples of π / 2.
fn d_small_sin(a: DAngle) -> f64 {
  let z = a.r * a.r;
  return a.r + (a.r * z * d_poly_sin(z) + a.rest * (1.0lf - 0.5lf * z));
}

// The cosine of a reduced angle, ignoring the multiples of π / 2.
fn d_small_cos(a: DAngle) -> f64 {
  let z = a.r * a.r;
  let c = d_fast_sum(1.0lf, -0.5lf * z);
  return c.x + (c.y + (z * z * d_poly_cos(z) - a.r * a.rest));
}

// The sine of a reduced angle plus this many multiples of π / 2.
fn d_wave(a: DAngle, turn: u64) -> f64 {
  let quarter = a.quarters + turn;
  let y = select(d_small_sin(a), d_small_cos(a), (quarter & 1lu) == 1lu);
  return bitcast<f64>(bitcast<u64>(y) ^ ((quarter & 2lu) << 62u));
}

// At most 1 ulp. The sine.
fn d_sin(x: f64) -> f64 {
  if x == 0.0lf {
    return x;
  }
  if d_is_nan(x) || d_is_inf(x) {
    return d_nan();
  }
  return d_wave(d_angle(x), 0lu);
}

// At most 1 ulp. The cosine.
fn d_cos(x: f64) -> f64 {
  if d_is_nan(x) || d_is_inf(x) {
    return d_nan();
  }
  return d_wave(d_angle(x), 1lu);
}

// At most 3 ulps. The tangent.
fn d_tan(x: f64) -> f64 {
  if x == 0.0lf {
    return x;
  }
  if d_is_nan(x) || d_is_inf(x) {
    return d_nan();
  }
  let a = d_angle(x);
  let s = d_small_sin(a);
  let c = d_small_cos(a);
  return select(s / c, -c / s, (a.quarters & 1lu) == 1lu);
}

// Correctly rounded. The square root: Newton's method from the f32 root, then the nearest of the neighbouring numbers.
fn d_sqrt(x: f64) -> f64 {
  if d_is_nan(x) || x < 0.0lf {
    return d_nan();
  }
  if x == 0.0lf || d_is_inf(x) {
    return x;
  }
  let tiny = x < 2.2250738585072014e-308lf;
  let u = bitcast<u64>(select(x, x * 18014398509481984.0lf, tiny));
  // x is m 4^e, with m from 1 to 4.
  let k = (u >> 52u) + 1lu;
  let odd = k & 1lu;
  let m = bitcast<f64>((u & 0x000ffffffffffffflu) | ((0x3fflu + odd) << 52u));
  let e = (k - odd) >> 1u;
  var s = f64(inverseSqrt(f32(m)));
  s = s * (1.5lf - 0.5lf * m * s * s);
  s = s * (1.5lf - 0.5lf * m * s * s);
  s = s * (1.5lf - 0.5lf * m * s * s);
  var y = m * s;
  let p = d_two_prod(y, y);
  y = y + 0.5lf * s * ((m - p.x) - p.y);
  let q = d_two_prod(y, y);
  let left = (m - q.x) - q.y;
  let unit = y * 2.220446049250313e-16lf;
  y = select(y, y + 2.220446049250313e-16lf, left > unit);
  y = select(y, y - 2.220446049250313e-16lf, left <= -unit);
  return y * bitcast<f64>((e + 511lu - select(0lu, 27lu, tiny)) << 52u);
}

// At most 1 ulp. The cube root.
fn d_cbrt(x: f64) -> f64 {
  if x == 0.0lf || d_is_nan(x) || d_is_inf(x) {
    return x;
  }
  let a = d_abs(x);
  let tiny = a < 2.2250738585072014e-308lf;
  let u = bitcast<u64>(select(a, a * 18014398509481984.0lf, tiny));
  // a is m 8^e, with m from 1 to 8.
  let k = u >> 52u;
  let e = k / 3lu;
  let m = bitcast<f64>((u & 0x000ffffffffffffflu) | ((0x3fflu + k % 3lu) << 52u));
  var y = f64(exp2(log2(f32(m)) / 3.0f));
  for (var i = 0u; i < 2u; i++) {
    let c = y * y * y;
    y = y - y * (c - m) / (c + c + m);
  }
  let s = d_two_prod(y, y);
  let c = d_two_prod(s.x, y);
  y = y + ((m - c.x) - (c.y + s.y * y)) / (3.0lf * s.x);
  return d_copysign(y * bitcast<f64>((e + 682lu - select(0lu, 18lu, tiny)) << 52u), x);
}

// At most 1 ulp. The length of the vector (x, y).
fn d_hypot(x: f64, y: f64) -> f64 {
  if d_is_inf(x) || d_is_inf(y) {
    return d_inf();
  }
  if d_is_nan(x) || d_is_nan(y) {
    return d_nan();
  }
  var a = d_abs(x);
  var b = d_abs(y);
  if a < b {
    let t = a;
    a = b;
    b = t;
  }
  if a == 0.0lf || a + b == a {
    return a + b;
  }
  // Scaled by a power of two, so that the squares neither overflow nor underflow.
  let f = select(select(1.0lf, 2.409919865102884e-181lf, a > 1e150lf), 5.260135901548374e210lf, a < 1e-100lf);
  a = a * f;
  b = b * f;
  let sum = d_add2(d_two_prod(a, a), d_two_prod(b, b));
  let r = d_sqrt(sum.x);
  let p = d_two_prod(r, r);
  let h = r + 0.5lf * (((sum.x - p.x) - p.y) + sum.y) / r;
  return h / f;
}

// (asin x - x) / x³, in x².
fn d_poly_asin(x: f64) -> f64 {
  let z = x * x;
  return (((((((-0.019277545928584557lf + 0.02963502626354855lf * x) * z + (0.0030350071727267623lf + 0.019579201619744684lf * x)) * z + (0.00962140274734483lf + 0.009322101501082774lf * x)) * z + (0.013963775787848137lf + 0.011566511821890942lf * x)) * z + (0.022372157435623815lf + 0.017352816768546473lf * x)) * z + (0.04464285714255019lf + 0.030381944475693704lf * x)) * z + (0.16666666666666666lf + 0.07500000000000119lf * x));
}

// √((1 - a) / 2) as a double-double number, for the arcs of a from 0.5 to 1: z, its root, and the root's error.
fn d_half_chord(a: f64) -> vec3<f64> {
  let z = (1.0lf - a) * 0.5lf;
  let s = d_sqrt(z);
  let p = d_two_prod(s, s);
  return vec3<f64>(z, s, select(((z - p.x) - p.y) / (s + s), 0.0lf, s == 0.0lf));
}

// At most 2 ulps. The arcsine, from -π/2 to π/2.
fn d_asin(x: f64) -> f64 {
  let a = d_abs(x);
  if !(a <= 1.0lf) {
    return d_nan();
  }
  if a <= 0.5lf {
    return x + x * (x * x * d_poly_asin(x * x));
  }
  let c = d_half_chord(a);
  let b = c.y * (c.x * d_poly_asin(c.x)) + c.z;
  let s = d_two_sum(1.5707963267948966lf, -2.0lf * c.y);
  return d_copysign(s.x + (s.y + (6.123233995736766e-17lf - 2.0lf * b)), x);
}

// At most 2 ulps. The arccosine, from 0 to π.
fn d_acos(x: f64) -> f64 {
  let a = d_abs(x);
  if !(a <= 1.0lf) {
    return d_nan();
  }
  if a <= 0.5lf {
    let s = d_two_sum(1.5707963267948966lf, -x);
    return s.x + (s.y + (6.123233995736766e-17lf - x * (x * x * d_poly_asin(x * x))));
  }
  let c = d_half_chord(a);
  let b = c.y * (c.x * d_poly_asin(c.x)) + c.z;
  if x > 0.0lf {
    return 2.0lf * (c.y + b);
  }
  let s = d_two_sum(3.141592653589793lf, -2.0lf * c.y);
  return s.x + (s.y + (1.2246467991473532e-16lf - 2.0lf * b));
}

// (atan x - x) / x³, in x².
fn d_poly_atan(x: f64) -> f64 {
  let z = x * x;
  return ((((((-0.033114228762660534lf + 0.014759380407779155lf * x) * z + (-0.05216532007308444lf + 0.044916556747777434lf * x)) * z + (-0.06666239748865294lf + 0.05876924062763387lf * x)) * z + (-0.09090908350382436lf + 0.07692285419714515lf * x)) * z + (-0.14285714285565465lf + 0.111111110965279lf * x)) * z + (-0.3333333333333333lf + 0.19999999999999404lf * x));
}

// The arctangent of a positive number, reduced to a number up to 7/16 and a known angle.
fn d_arc(a: f64) -> f64 {
  var base = vec2<f64>(0.0lf, 0.0lf);
  var t = a;
  if a >= 2.4375lf {
    base = vec2<f64>(1.5707963267948966lf, 6.123233995736766e-17lf);
    t = -1.0lf / a;
  } else if a >= 1.1875lf {
    base = vec2<f64>(0.982793723247329lf, 1.3903311031230998e-17lf);
    t = (a - 1.5lf) / (1.0lf + 1.5lf * a);
  } else if a >= 0.6875lf {
    base = vec2<f64>(0.7853981633974483lf, 3.061616997868383e-17lf);
    t = (a - 1.0lf) / (1.0lf + a);
  } else if a >= 0.4375lf {
    base = vec2<f64>(0.4636476090008061lf, 2.2698777452961687e-17lf);
    t = (2.0lf * a - 1.0lf) / (2.0lf + a);
  }
  let s = d_fast_sum(base.x, t);
  return s.x + (s.y + (t * (t * t * d_poly_atan(t * t)) + base.y));
}

// At most 2 ulps. The arctangent, from -π/2 to π/2.
fn d_atan(x: f64) -> f64 {
  if d_is_nan(x) || x == 0.0lf {
    return x;
  }
  let a = d_abs(x);
  if a < 0.4375lf {
    return x + x * (x * x * d_poly_atan(x * x));
  }
  return d_copysign(d_arc(a), x);
}

// At most 3 ulps. The angle of the point (x, y).
fn d_atan2(y: f64, x: f64) -> f64 {
  if d_is_nan(x) || d_is_nan(y) {
    return d_nan();
  }
  let left = (bitcast<u64>(x) >> 63u) == 1lu;
  let a = d_abs(y);
  let b = d_abs(x);
  if a == 0.0lf {
    return d_copysign(select(0.0lf, 3.141592653589793lf, left), y);
  }
  if d_is_inf(x) {
    let r = select(select(0.0lf, 3.141592653589793lf, left), select(0.7853981633974483lf, 2.356194490192345lf, left), d_is_inf(y));
    return d_copysign(r, y);
  }
  if b == 0.0lf || d_is_inf(y) {
    return d_copysign(1.5707963267948966lf, y);
  }
  // Steeper than 2^60, or flatter than 2^-60: the quotient does not affect the result.
  let steep = i64(bitcast<u64>(a) >> 52u) - i64(bitcast<u64>(b) >> 52u);
  if steep > 60li {
    return d_copysign(1.5707963267948966lf, y);
  }
  if left && steep < -60li {
    return d_copysign(3.141592653589793lf, y);
  }
  let r = d_arc(a / b);
  return d_copysign(select(r, 3.141592653589793lf - (r - 1.2246467991473532e-16lf), left), y);
}

// At most 3 ulps. The hyperbolic sine.
fn d_sinh(x: f64) -> f64 {
  if d_is_nan(x) || d_is_inf(x) || x == 0.0lf {
    return x;
  }
  let a = d_abs(x);
  if a > 22.0lf {
    let h = d_exp(0.5lf * a);
    return d_copysign(select(0.5lf * d_exp(a), (0.5lf * h) * h, a > 709.0lf), x);
  }
  let e = d_expm1(a);
  if a < 1.0lf {
    return d_copysign(0.5lf * (2.0lf * e - e * e / (e + 1.0lf)), x);
  }
  return d_copysign(0.5lf * (e + e / (e + 1.0lf)), x);
}

// At most 3 ulps. The hyperbolic cosine.
fn d_cosh(x: f64) -> f64 {
  if d_is_nan(x) {
    return x;
  }
  let a = d_abs(x);
  if a > 22.0lf {
    let h = d_exp(0.5lf * a);
    return select(0.5lf * d_exp(a), (0.5lf * h) * h, a > 709.0lf);
  }
  if a < 0.5lf {
    let e = d_expm1(a);
    return 1.0lf + e * e / (2.0lf * (1.0lf + e));
  }
  let e = d_exp(a);
  return 0.5lf * e + 0.5lf / e;
}

// (log ((1 + s) / (1 - s)) - 2 s - 2 s³ / 3) / s⁵, in s².
fn d_poly_pow(x: f64) -> f64 {
  let z = x * x;
  return ((((0.10769647487380807lf * z + (0.11766848885567724lf + 0.10455528040257733lf * x)) * z + (0.15384615771752186lf + 0.13333295705394957lf * x)) * z + (0.22222222222228674lf + 0.18181818179584094lf * x)) * z + (0.4lf + 0.28571428571428564lf * x));
}

// The logarithm of a positive number as a double-double number, with about 64 bits.
fn d_log_exactly(x: f64) -> vec2<f64> {
  let tiny = x < 2.2250738585072014e-308lf;
  let u = bitcast<u64>(select(x, x * 18014398509481984.0lf, tiny));
  let k = (u + 0x00095f619980c433lu) >> 52u;
  let m = bitcast<f64>(u - ((k - 1023lu) << 52u));
  let n = bitcast<f64>(0x4330000000000000lu | k) - select(4503599627371519.0lf, 4503599627371573.0lf, tiny);
  let f = m - 1.0lf;
  let d = d_two_sum(2.0lf, f);
  let s = f / d.x;
  let p = d_two_prod(s, d.x);
  let ss = vec2<f64>(s, (((f - p.x) - p.y) - s * d.y) / d.x);
  let z = d_mul2(ss, ss);
  let w = d_add2(d_mul2(z, vec2<f64>(0.6666666666666666lf, 3.700743415417188e-17lf)), vec2<f64>(z.x * z.x * d_poly_pow(z.x), 0.0lf));
  let l = d_add2(2.0lf * ss, d_mul2(ss, w));
  return d_add2(vec2<f64>(n * 0.6931471805598903lf, n * 5.497923018708371e-14lf), l);
}

// At most 2 ulps. x to the power y.
fn d_pow(x: f64, y: f64) -> f64 {
  if y == 2.0lf {
    return x * x;
  }
  if y == 1.0lf {
    return x;
  }
  if y == 0.0lf || x == 1.0lf {
    return 1.0lf;
  }
  if d_is_nan(x) || d_is_nan(y) {
    return d_nan();
  }
  let a = d_abs(x);
  let b = d_abs(y);
  let whole = d_floor(y) == y;
  let odd = whole && b < 9007199254740992.0lf && d_floor(0.5lf * y) != 0.5lf * y;
  let minus = odd && (bitcast<u64>(x) >> 63u) == 1lu;
  if d_is_inf(y) {
    return select(select(0.0lf, d_inf(), (a > 1.0lf) == (y > 0.0lf)), 1.0lf, a == 1.0lf);
  }
  if a == 0.0lf || d_is_inf(x) {
    let r = select(0.0lf, d_inf(), (a == 0.0lf) == (y < 0.0lf));
    return select(r, -r, minus);
  }
  if x < 0.0lf && !whole {
    return d_nan();
  }
  var r: f64;
  // The result is 0, 1 or infinite.
  if b > 1e300lf {
    r = select(select(0.0lf, d_inf(), (a > 1.0lf) == (y > 0.0lf)), 1.0lf, a == 1.0lf);
  } else {
    let l = d_log_exactly(a);
    let e = l.x * y;
    if !(d_abs(e) < 1000.0lf) {
      r = select(0.0lf, d_inf(), e > 0.0lf);
    } else if b < 1e-300lf {
      r = 1.0lf + e;
    } else {
      r = d_exp2(d_mul2(l, vec2<f64>(y, 0.0lf)));
    }
  }
  return select(r, -r, minus);
}

// Exact. The remainder of |x| by |y|, which is not 0.
fn d_mod(x: f64, y: f64) -> f64 {
  var a = bitcast<u64>(d_abs(x));
  let b = bitcast<u64>(d_abs(y));
  if a < b {
    return d_abs(x);
  }
  var ea = i32(a >> 52u);
  var eb = i32(b >> 52u);
  var m = (a & 0x000ffffffffffffflu) | select(0lu, 0x0010000000000000lu, ea > 0);
  let n = (b & 0x000ffffffffffffflu) | select(0lu, 0x0010000000000000lu, eb > 0);
  ea = max(ea, 1);
  eb = max(eb, 1);
  m = m % n;
  var left = ea - eb;
  while left > 0 && m > 0lu {
    let k = min(left, 11);
    m = (m << u32(k)) % n;
    left -= k;
  }
  // m 2^(eb - 1075), exactly.
  let head = f64(m);
  if eb > 53 {
    return head * bitcast<f64>(u64(eb - 52) << 52u);
  }
  return head * bitcast<f64>(u64(eb + 971) << 52u) * 1.1125369292536007e-308lf;
}

// Exact except for one rounding. The remainder, with the divisor's sign.
fn d_rem(x: f64, y: f64) -> f64 {
  if d_is_nan(x) || d_is_nan(y) || d_is_inf(x) || y == 0.0lf {
    return d_nan();
  }
  let r = select(d_copysign(d_mod(x, select(y, 1.0lf, d_is_inf(y))), x), x, d_is_inf(y));
  return select(r, r + y, r != 0.0lf && (r < 0.0lf) != (y < 0.0lf));
}

// erf x / x - 2 / √π, in x².
fn d_poly_erf(x: f64) -> f64 {
  let z = x * x;
  return ((((((5.957176147748911e-11lf * z + (1.4659775274047436e-08lf + -1.1372848856791674e-09lf * x)) * z + (1.6461000484121368e-06lf + -1.6350312701054695e-07lf * x)) * z + (0.0001205533111164271lf + -1.4925595266831182e-05lf * x)) * z + (0.0052239776248180145lf + -0.000854832698083379lf * x)) * z + (0.11283791670954879lf + -0.026866170645076792lf * x)) * z + (1.5205085734379166e-17lf + -0.3761263890318375lf * x));
}

// At most 2 ulps, for |x| up to 1. The error function.
fn d_small_erf(x: f64) -> f64 {
  return 1.1283791670955126lf * x + x * d_poly_erf(x * x);
}

// erfc x exp x² (1 + 2 x), in (x - 3.75) / (x + 3.75) scaled to -1 to 1.
fn d_poly_erfc(t: f64) -> f64 {
  let u = t + t;
  let b0 = u * 0.0lf - 0.0lf + -5.502163238603025e-18lf;
  let b1 = u * b0 - 0.0lf + -9.188491138000569e-18lf;
  let b2 = u * b1 - b0 + 2.3018470415525463e-16lf;
  let b3 = u * b2 - b1 + 2.971357706737935e-16lf;
  let b4 = u * b3 - b2 + -1.0695454183663431e-14lf;
  let b5 = u * b4 - b3 + -3.2943772450404623e-19lf;
  let b6 = u * b5 - b4 + 5.194726141585937e-13lf;
  let b7 = u * b6 - b5 + -1.2313379974072308e-12lf;
  let b8 = u * b7 - b6 + -2.357652161430787e-11lf;
  let b9 = u * b8 - b7 + 1.5664515040115427e-10lf;
  let b10 = u * b9 - b8 + 6.28918748976934e-10lf;
  let b11 = u * b10 - b9 + -1.3100926809827141e-08lf;
  let b12 = u * b11 - b10 + 5.073679857888275e-08lf;
  let b13 = u * b12 - b11 + 4.6770516969483637e-07lf;
  let b14 = u * b13 - b12 + -8.625263300865897e-06lf;
  let b15 = u * b14 - b13 + 7.407042984492768e-05lf;
  let b16 = u * b15 - b14 + -0.0004453688746834122lf;
  let b17 = u * b16 - b15 + 0.002044316377754164lf;
  let b18 = u * b17 - b16 + -0.007238439083093136lf;
  let b19 = u * b18 - b17 + 0.018581262857506737lf;
  let b20 = u * b19 - b18 + -0.024217551965326333lf;
  let b21 = u * b20 - b19 + -0.06144610481584469lf;
  return t * b21 - b20 + 1.2204536461950497lf;
}

// At most 4 ulps, for x from 0.49 to 28: the complementary error function.
fn d_large_erfc(x: f64) -> f64 {
  let t = (x - 3.75lf) / (x + 3.75lf);
  let s = d_two_prod(x, x);
  return d_exp2(vec2<f64>(-s.x, -s.y)) * (d_poly_erfc(0.003320004846722404lf + 1.304931540046044lf * t) / (1.0lf + 2.0lf * x));
}

// At most 2 ulps. The error function.
fn d_erf(x: f64) -> f64 {
  if d_is_nan(x) || x == 0.0lf {
    return x;
  }
  let a = d_abs(x);
  if a <= 1.0lf {
    return d_small_erf(x);
  }
  return d_copysign(1.0lf - select(0.0lf, d_large_erfc(select(6.0lf, a, a < 6.0lf)), a < 6.0lf), x);
}

// At most 4 ulps. The complementary error function.
fn d_erfc(x: f64) -> f64 {
  if d_is_nan(x) {
    return x;
  }
  if x > 27.5lf {
    return 0.0lf;
  }
  if x < -6.0lf {
    return 2.0lf;
  }
  let a = d_abs(x);
  if a < 0.5lf {
    return 1.0lf - d_small_erf(x);
  }
  let c = d_large_erfc(a);
  return select(c, 2.0lf - c, x < 0.0lf);
}

// The same bits as `adl_prim::special::asinh`, at most 3 ulps.
fn d_asinh(x: f64) -> f64 {
  let a = d_abs(x);
  if a > 268435456.0lf {
    return d_copysign(d_log(a) + 0.6931471805599453lf, x);
  }
  return d_copysign(d_log1p(a + a * a / (1.0lf + d_sqrt(a * a + 1.0lf))), x);
}

// The same bits as `adl_prim::special::acosh`, at most 3 ulps.
fn d_acosh(x: f64) -> f64 {
  if x < 1.0lf {
    return d_nan();
  }
  if x > 268435456.0lf {
    return d_log(x) + 0.6931471805599453lf;
  }
  let t = x - 1.0lf;
  return d_log1p(t + d_sqrt(2.0lf * t + t * t));
}

// The same bits as `adl_prim::special::atanh`, at most 3 ulps.
fn d_atanh(x: f64) -> f64 {
  let a = d_abs(x);
  if a > 1.0lf {
    return d_nan();
  }
  return d_copysign(0.5lf * d_log1p(2.0lf * a / (1.0lf - a)), x);
}

// (p - 0.5) times it is the quantile of the normal distribution at p, in 0.180625 - (p - 0.5)².
fn d_quantile_middle(x: f64) -> f64 {
  let top = ((((((2509.0809287301227lf * x + 33430.57558358813lf) * x + 67265.7709270087lf) * x + 45921.95393154987lf) * x + 13731.69376550946lf) * x + 1971.5909503065513lf) * x + 133.14166789178438lf) * x + 3.3871328727963665lf;
  let bottom = ((((((5226.495278852854lf * x + 28729.085735721943lf) * x + 39307.89580009271lf) * x + 21213.794301586597lf) * x + 5394.196021424751lf) * x + 687.1870074920579lf) * x + 42.31333070160091lf) * x + 1.0lf;
  return top / bottom;
}

// The quantile at 1 - q, in sqrt (-log q) - 1.6 up to 3.4.
fn d_quantile_tail(x: f64) -> f64 {
  let top = ((((((0.0007745450142783414lf * x + 0.022723844989269184lf) * x + 0.2417807251774506lf) * x + 1.2704582524523684lf) * x + 3.6478483247632045lf) * x + 5.769497221460691lf) * x + 4.630337846156546lf) * x + 1.4234371107496835lf;
  let bottom = ((((((1.0507500716444169e-09lf * x + 0.0005475938084995345lf) * x + 0.015198666563616457lf) * x + 0.14810397642748008lf) * x + 0.6897673349851lf) * x + 1.6763848301838038lf) * x + 2.053191626637759lf) * x + 1.0lf;
  return top / bottom;
}

// The quantile at 1 - q, in sqrt (-log q) - 5 from 0 on.
fn d_quantile_far(x: f64) -> f64 {
  let top = ((((((2.0103343992922881e-07lf * x + 2.7115555687434876e-05lf) * x + 0.0012426609473880784lf) * x + 0.026532189526576124lf) * x + 0.29656057182850487lf) * x + 1.7848265399172913lf) * x + 5.463784911164114lf) * x + 6.657904643501103lf;
  let bottom = ((((((2.0442631033899397e-15lf * x + 1.421511758316446e-07lf) * x + 1.8463183175100548e-05lf) * x + 0.0007868691311456133lf) * x + 0.014875361290850615lf) * x + 0.1369298809227358lf) * x + 0.599832206555888lf) * x + 1.0lf;
  return top / bottom;
}

// At most 6 ulps, and the same bits as `adl_prim::special::erfinv`. The inverse of the error function.
fn d_erfinv(x: f64) -> f64 {
  let a = d_abs(x);
  if a <= 0.85lf {
    let p = 0.5lf * x;
    return x * (d_quantile_middle(0.180625lf - p * p) * 0.3535533905932738lf);
  }
  if !(a < 1.0lf) {
    if a == 1.0lf {
      return d_copysign(d_inf(), x);
    }
    return d_nan();
  }
  let r = d_sqrt(-d_log(0.5lf * (1.0lf - a)));
  var z = 0.0lf;
  if r <= 5.0lf {
    z = d_quantile_tail(r - 1.6lf);
  } else {
    z = d_quantile_far(r - 5.0lf);
  }
  return d_copysign(z * 0.7071067811865476lf, x);
}

// log Γ(y) / ((y - 1) (y - 2)), in 2 y - 3.
fn d_poly_lgamma(t: f64) -> f64 {
  let u = t + t;
  let b0 = u * 0.0lf - 0.0lf + 5.80327902764587e-19lf;
  let b1 = u * b0 - 0.0lf + -3.624733526290953e-18lf;
  let b2 = u * b1 - b0 + 2.2098317807745667e-17lf;
  let b3 = u * b2 - b1 + -1.3490571642073269e-16lf;
  let b4 = u * b3 - b2 + 8.254150159788434e-16lf;
  let b5 = u * b4 - b3 + -5.062843296425325e-15lf;
  let b6 = u * b5 - b4 + 3.113975526353531e-14lf;
  let b7 = u * b6 - b5 + -1.921206867651721e-13lf;
  let b8 = u * b7 - b6 + 1.1894280008332992e-12lf;
  let b9 = u * b8 - b7 + -7.392810230497981e-12lf;
  let b10 = u * b9 - b8 + 4.61570140620909e-11lf;
  let b11 = u * b10 - b9 + -2.8969180607129607e-10lf;
  let b12 = u * b11 - b10 + 1.829400437118668e-09lf;
  let b13 = u * b12 - b11 + -1.1638296700170518e-08lf;
  let b14 = u * b13 - b12 + 7.47148782116316e-08lf;
  let b15 = u * b14 - b13 + -4.851693012139927e-07lf;
  let b16 = u * b15 - b14 + 3.1979329860862186e-06lf;
  let b17 = u * b16 - b15 + -2.1512399888556784e-05lf;
  let b18 = u * b17 - b16 + 0.00014900748003692963lf;
  let b19 = u * b18 - b17 + -0.001079493726328608lf;
  let b20 = u * b19 - b18 + 0.008432324965932778lf;
  let b21 = u * b20 - b19 + -0.07611416167043585lf;
  return t * b21 - b20 + 0.49141539302938714lf;
}

// The series in Stirling's formula, in 1 / x.
fn d_stirling(x: f64) -> f64 {
  let r = 1.0lf / (x * x);
  return (0.08333333333333333lf - r * (0.002777777777777778lf - r * (0.0007936507936507937lf - r * (0.0005952380952380953lf - r * (0.0008417508417508417lf - r * (0.0019175269175269176lf - r * (0.00641025641025641lf - r * 0.029550653594771243lf))))))) / x;
}

// log Γ of a positive number.
fn d_positive_lgamma(x: f64) -> f64 {
  if x < 1.0lf {
    // With y = 1 + x, whose factors are exact.
    return x * (x - 1.0lf) * d_poly_lgamma(2.0lf * x - 1.0lf) - d_log(x);
  }
  if x < 12.0lf {
    var y = x;
    var p = 1.0lf;
    while y > 2.0lf {
      y -= 1.0lf;
      p *= y;
    }
    // Its zeros are 0, not -0.
    let l = (y - 1.0lf) * (y - 2.0lf) * d_poly_lgamma(2.0lf * y - 3.0lf);
    return select(select(l, 0.0lf, l == 0.0lf), l + d_log(p), x > 2.0lf);
  }
  if x > 1e17lf {
    return x * (d_log(x) - 1.0lf);
  }
  return (x - 0.5lf) * d_log(x) - x + (0.9189385332046728lf + d_stirling(x));
}

// sin π x, at most 3 ulps.
fn d_sin_pi(x: f64) -> f64 {
  let r = x - 2.0lf * d_round(0.5lf * x);
  // |r| is at most 1.
  let a = d_abs(r);
  let y = select(a, 1.0lf - a, a > 0.5lf);
  let s = d_mul2(vec2<f64>(y, 0.0lf), vec2<f64>(3.141592653589793lf, 1.2246467991473532e-16lf));
  return d_copysign(d_wave(d_angle_of(s), 0lu), r);
}

// The sine of a small double-double number.
fn d_angle_of(s: vec2<f64>) -> DAngle {
  if s.x < 0.7853981633974483lf {
    return DAngle(s.x, s.y, 0lu);
  }
  let d = d_add2(s, vec2<f64>(-1.5707963267948966lf, -6.123233995736766e-17lf));
  return DAngle(d.x, d.y, 1lu);
}

// At most 6 ulps for positive numbers; below 0, 1e-14 of the larger of 1 and the result. log |Γ(x)|.
fn d_lgamma(x: f64) -> f64 {
  if d_is_nan(x) {
    return x;
  }
  if d_is_inf(x) {
    return d_inf();
  }
  if x > 0.0lf {
    return d_positive_lgamma(x);
  }
  if x == d_floor(x) {
    return d_inf();
  }
  let a = -x;
  if a < 1e-17lf {
    return -d_log(a);
  }
  return d_log(3.141592653589793lf / (a * d_abs(d_sin_pi(x)))) - d_positive_lgamma(a);
}

// Γ(y), in 2 y - 3.
fn d_poly_gamma(t: f64) -> f64 {
  let u = t + t;
  let b0 = u * 0.0lf - 0.0lf + 1.974268603931521e-17lf;
  let b1 = u * b0 - 0.0lf + -1.1845571221641206e-16lf;
  let b2 = u * b1 - b0 + 6.909875477090495e-16lf;
  let b3 = u * b2 - b1 + -4.027429590628413e-15lf;
  let b4 = u * b3 - b2 + 2.347319434674654e-14lf;
  let b5 = u * b4 - b3 + -1.368078208940639e-13lf;
  let b6 = u * b5 - b4 + 7.973350191854672e-13lf;
  let b7 = u * b6 - b5 + -4.6468186538231095e-12lf;
  let b8 = u * b7 - b6 + 2.7079806229349095e-11lf;
  let b9 = u * b8 - b7 + -1.577941280288339e-10lf;
  let b10 = u * b9 - b8 + 9.193275519859589e-10lf;
  let b11 = u * b10 - b9 + -5.354219639019687e-09lf;
  let b12 = u * b11 - b10 + 3.117724964715322e-08lf;
  let b13 = u * b12 - b11 + -1.811967365542384e-07lf;
  let b14 = u * b13 - b12 + 1.0558295463022833e-06lf;
  let b15 = u * b14 - b13 + -6.056761904460864e-06lf;
  let b16 = u * b15 - b14 + 3.606925327441245e-05lf;
  let b17 = u * b16 - b15 + -0.00018930245297988805lf;
  let b18 = u * b17 - b16 + 0.0013268081812124603lf;
  let b19 = u * b18 - b17 + -0.00421983539641856lf;
  let b20 = u * b19 - b18 + 0.05685043681599363lf;
  let b21 = u * b20 - b19 + 0.004415381324841007lf;
  return t * b21 - b20 + 0.9417855977954946lf;
}

// Γ of a positive number.
fn d_positive_gamma(x: f64) -> f64 {
  if x < 1.0lf {
    return d_poly_gamma(2.0lf * x - 1.0lf) / x;
  }
  if x < 14.0lf {
    var y = x;
    var p = vec2<f64>(1.0lf, 0.0lf);
    while y > 2.0lf {
      y -= 1.0lf;
      p = d_mul2(p, vec2<f64>(y, 0.0lf));
    }
    return d_poly_gamma(2.0lf * y - 3.0lf) * p.x;
  }
  if x > 172.0lf {
    return d_inf();
  }
  let l = d_mul2(d_log_exactly(x), vec2<f64>(x - 0.5lf, 0.0lf));
  let e = d_add2(d_add2(l, vec2<f64>(-x, 0.0lf)), vec2<f64>(0.9189385332046728lf, -3.8782941580672414e-17lf));
  return d_exp2(d_add2(e, vec2<f64>(d_stirling(x), 0.0lf)));
}

// At most 6 ulps for positive numbers, 12 below. Γ(x).
fn d_gamma(x: f64) -> f64 {
  if d_is_nan(x) {
    return x;
  }
  if x == 0.0lf {
    return 1.0lf / x;
  }
  if x > 0.0lf {
    return d_positive_gamma(x);
  }
  if d_is_inf(x) || x == d_floor(x) {
    return d_nan();
  }
  let a = -x;
  if a < 1e-17lf {
    return 1.0lf / x;
  }
  let s = d_sin_pi(x);
  if a > 184.0lf {
    return d_copysign(0.0lf, s);
  }
  if a > 160.0lf {
    // Γ(a) alone may overflow.
    let half = d_positive_gamma(a - 20.0lf);
    var p = 1.0lf;
    for (var i = 20u; i > 0u; i--) {
      p *= a - f64(i);
    }
    return 3.141592653589793lf / (a * s) / half / p;
  }
  return 3.141592653589793lf / (a * s * d_positive_gamma(a));
}

// ψ(x) / (x - root), in 2 x - 3.
fn d_poly_digamma(t: f64) -> f64 {
  let u = t + t;
  let b0 = u * 0.0lf - 0.0lf + 4.096797187161558e-19lf;
  let b1 = u * b0 - 0.0lf + -2.3877901082188625e-18lf;
  let b2 = u * b1 - b0 + 1.391707769474154e-17lf;
  let b3 = u * b2 - b1 + -8.11148420346509e-17lf;
  let b4 = u * b3 - b2 + 4.727736178601912e-16lf;
  let b5 = u * b4 - b3 + -2.7555431377438815e-15lf;
  let b6 = u * b5 - b4 + 1.606064636295075e-14lf;
  let b7 = u * b6 - b5 + -9.360993131036438e-14lf;
  let b8 = u * b7 - b6 + 5.456147570322795e-13lf;
  let b9 = u * b8 - b7 + -3.18023536582553e-12lf;
  let b10 = u * b9 - b8 + 1.853735192053638e-11lf;
  let b11 = u * b10 - b9 + -1.080593028883266e-10lf;
  let b12 = u * b11 - b10 + 6.299717236108931e-10lf;
  let b13 = u * b12 - b11 + -3.673295918565179e-09lf;
  let b14 = u * b13 - b12 + 2.1425009322359472e-08lf;
  let b15 = u * b14 - b13 + -1.2502886812559595e-07lf;
  let b16 = u * b15 - b14 + 7.302769272465923e-07lf;
  let b17 = u * b16 - b15 + -4.2721034029993324e-06lf;
  let b18 = u * b17 - b16 + 2.5060543468359146e-05lf;
  let b19 = u * b18 - b17 + -0.00014773492650606044lf;
  let b20 = u * b19 - b18 + 0.0008788656937820505lf;
  let b21 = u * b20 - b19 + -0.005320077271596548lf;
  let b22 = u * b21 - b20 + 0.03336889902393011lf;
  let b23 = u * b22 - b21 + -0.2270640863346444lf;
  return t * b23 - b22 + 0.983570260441567lf;
}

// At most 8 ulps where |ψ| is not small compared with 1, else an absolute 4e-15. The derivative of log Γ for positive
// numbers.
fn d_positive_digamma(x: f64) -> f64 {
  if d_is_inf(x) {
    return x;
  }
  if x >= 12.0lf {
    let r = 1.0lf / (x * x);
    let series = r * (0.08333333333333333lf - r * (0.008333333333333333lf - r * (0.003968253968253968lf - r * (0.004166666666666667lf - r * (0.007575757575757576lf - r * 691.0lf / 32760.0lf)))));
    return d_log(x) - 0.5lf / x - series;
  }
  var y = x;
  var shift = 0.0lf;
  if y < 1.0lf {
    shift = -1.0lf / y;
    y += 1.0lf;
  }
  while y > 2.0lf {
    y -= 1.0lf;
    shift += 1.0lf / y;
  }
  return shift + (y - 1.4616321449683622lf - 9.549995429965697e-17lf) * d_poly_digamma(2.0lf * y - 3.0lf);
}

// The same bound for positive numbers; below 0 by reflection. NaN at 0, -1, -2, …
fn d_digamma(x: f64) -> f64 {
  if d_is_nan(x) || (x <= 0.0lf && (x == d_floor(x) || d_is_inf(x))) {
    return d_nan();
  }
  if x > 0.0lf {
    return d_positive_digamma(x);
  }
  return d_positive_digamma(1.0lf - x) - 3.141592653589793lf / d_tan(3.141592653589793lf * (x - d_round(x)));
}

// x to the integer power n by repeated squaring, with the CPU's order of operations.
fn d_powi(x: f64, n: i32) -> f64 {
  var r = 1.0lf;
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
  return select(r, 1.0lf / r, n < 0);
}

// The Bernoulli numbers B₂, B₄, …
const D_BERNOULLI = array<f64, 12>(0.16666666666666666lf, -0.03333333333333333lf, 0.023809523809523808lf, -0.03333333333333333lf, 0.07575757575757576lf, -0.2531135531135531lf, 1.1666666666666667lf, -7.092156862745098lf, 54.971177944862156lf, -529.1242424242424lf, 6192.123188405797lf, -86580.25311355312lf);

// About 20 ulps. The n-th derivative of digamma, for n at least 1: recurrence and the asymptotic series. NaN at 0, -1,
// …, and below -1e6.
fn d_polygamma(n: u32, at: f64) -> f64 {
  if d_is_nan(at) || (at <= 0.0lf && at == d_floor(at)) || at < -1e6lf {
    return d_nan();
  }
  let order = f64(n);
  var factorial = 1.0lf;
  for (var i = 1u; i <= n; i++) {
    factorial *= f64(i);
  }
  var x = at;
  var sum = 0.0lf;
  while x < 15.0lf + order {
    let term = factorial / d_abs(d_powi(x, i32(n) + 1));
    sum += select(term, -term, x < 0.0lf && n % 2u == 0u);
    x += 1.0lf;
  }
  let p = d_powi(x, i32(n));
  var tail = factorial / order / p + factorial / 2.0lf / (p * x);
  var ratio = factorial * (order + 1.0lf) / 2.0lf;
  var power = p * x * x;
  var bernoulli = D_BERNOULLI;
  for (var k = 0u; k < 12u; k++) {
    tail += bernoulli[k] * ratio / power;
    let k2 = 2.0lf * (f64(k) + 1.0lf);
    ratio *= (k2 + order) * (k2 + order + 1.0lf) / ((k2 + 1.0lf) * (k2 + 2.0lf));
    power *= x * x;
  }
  return select(sum + tail, -(sum + tail), n % 2u == 0u);
}
