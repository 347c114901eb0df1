// Sums over independent elements.
#include "bench.hpp"

/// The inner product of two vectors.
template <bool G> void dot(Inputs in, Out value, Out gradient) {
  int64_t n = in.size(0);
  const double *x = in.floats(0), *y = in.floats(1);
  double total = 0;
  for (int64_t i = 0; i < n; i++) total += x[i] * y[i];
  if (G) {
    double *g = gradient.of(2 * n);
    std::memcpy(g, y, 8 * n);
    std::memcpy(g + n, x, 8 * n);
  }
  value.set(total);
}
PROBLEM(dot)

/// Products of pairs, and both derivatives of each.
template <bool G> void multiplication(Inputs in, Out value, Out gradient) {
  int64_t n = in.size(0);
  const double *a = in.floats(0), *b = in.floats(1);
  if (G) {
    double *g = gradient.of(2 * n);
    std::memcpy(g, b, 8 * n);
    std::memcpy(g + n, a, 8 * n);
  } else {
    double *y = value.of(n);
    for (int64_t i = 0; i < n; i++) y[i] = a[i] * b[i];
  }
}
PROBLEM(multiplication)

/// Vectors turned by quaternions, added up. With u = (x, y, z), p = u × v and s = w + (1, 1, 1) × u, each is
/// 1 · v + 2 s · p.
template <bool G> void quaternions(Inputs in, Out value, Out gradient) {
  int64_t n = in.size(0);
  const double *w = in.floats(0), *x = in.floats(1), *y = in.floats(2), *z = in.floats(3);
  const double *a = in.floats(4), *b = in.floats(5), *c = in.floats(6);
  double *g = G ? gradient.of(7 * n) : nullptr, total = 0;
#pragma omp simd reduction(+ : total)
  for (int64_t i = 0; i < n; i++) {
    double p = y[i] * c[i] - z[i] * b[i], q = z[i] * a[i] - x[i] * c[i], r = x[i] * b[i] - y[i] * a[i];
    double s = w[i] + z[i] - y[i], t = w[i] + x[i] - z[i], u = w[i] + y[i] - x[i];
    total += a[i] + b[i] + c[i] + 2 * (s * p + t * q + u * r);
    if (G) {
      g[i] = 2 * (p + q + r);
      g[n + i] = 2 * (b[i] * u - c[i] * t + q - r);
      g[2 * n + i] = 2 * (c[i] * s - a[i] * u + r - p);
      g[3 * n + i] = 2 * (a[i] * t - b[i] * s + p - q);
      g[4 * n + i] = 1 + 2 * (t * z[i] - u * y[i]);
      g[5 * n + i] = 1 + 2 * (u * x[i] - s * z[i]);
      g[6 * n + i] = 1 + 2 * (s * y[i] - t * x[i]);
    }
  }
  value.set(total);
}
PROBLEM(quaternions)

/// The sum of the elements of a matrix times a vector.
template <bool G> void sum_mat_vec(Inputs in, Out value, Out gradient) {
  int64_t n = in.size(1);
  const double *a = in.floats(0), *v = in.floats(1);
  double *ga = G ? gradient.of(in.size(0) + n) : nullptr, *gv = ga + in.size(0), total = 0;
  if (G) std::fill(gv, gv + n, 0.0);
  for (int64_t i = 0; i < in.size(0) / n; i++) {
    const double *row = a + i * n;
    double *out = ga + i * n;
    for (int64_t j = 0; j < n; j++) total += row[j] * v[j];
#pragma omp simd
    for (int64_t j = 0; j < (G ? n : 0); j++) gv[j] += row[j], out[j] = v[j];
  }
  value.set(total);
}
PROBLEM(sum_mat_vec)

/// Square roots by Newton's method; the derivative is carried along.
template <bool G> void newton(Inputs in, Out value, Out gradient) {
  int64_t n = in.size(0);
  const double *a = in.floats(0);
  double *g = G ? gradient.of(n) : nullptr, total = 0;
  for (int64_t i = 0; i < n; i++) {
    double x = a[i], d = 1, change = 1;
    while (change > 1e-12) {
      double r = 1 / x, next = 0.5 * (x + a[i] * r);
      if (G) d = 0.5 * (d + r - a[i] * d * r * r);
      change = std::fabs(next - x);
      x = next;
    }
    total += x;
    if (G) g[i] = d;
  }
  value.set(total);
}
PROBLEM(newton)

/// Call options after Black and Scholes: their total price, and the greeks of each.
template <bool G> void options(Inputs in, Out value, Out gradient) {
  int64_t n = in.size(0);
  const double *rate = in.floats(0), *spot = in.floats(1), *strike = in.floats(2);
  const double *time = in.floats(3), *vol = in.floats(4);
  double *g = G ? gradient.of(5 * n) : nullptr, total = 0;
#pragma omp simd reduction(+ : total)
  for (int64_t i = 0; i < n; i++) {
    double root = std::sqrt(time[i]), spread = vol[i] * root;
    double d1 = (std::log(spot[i] / strike[i]) + (rate[i] + 0.5 * vol[i] * vol[i]) * time[i]) / spread;
    double n1 = 0.5 * (1 + std::erf(d1 * M_SQRT1_2)), n2 = 0.5 * (1 + std::erf((d1 - spread) * M_SQRT1_2));
    double discount = std::exp(-rate[i] * time[i]), owed = strike[i] * discount * n2;
    total += spot[i] * n1 - owed;
    if (G) {
      double density = spot[i] * 0.3989422804014327 * std::exp(-0.5 * d1 * d1);
      g[i] = owed * time[i];
      g[n + i] = n1;
      g[2 * n + i] = -discount * n2;
      g[3 * n + i] = 0.5 * density * vol[i] / root + rate[i] * owed;
      g[4 * n + i] = density * root;
    }
  }
  value.set(total);
}
PROBLEM(options)

/// How far a polynomial is from the sign function, at `n` points from -1 to 1, a block of points at a time.
template <bool G> void llsq(Inputs in, Out value, Out gradient) {
  const int BLOCK = 32;
  int64_t n = in.whole(0), m = in.size(1);
  const double *x = in.floats(1);
  double *g = G ? gradient.of(m) : nullptr, total = 0;
  if (G) std::fill(g, g + m, 0.0);
  for (int64_t start = 0; start < n; start += BLOCK) {
    double t[BLOCK], y[BLOCK] = {};
    for (int k = 0; k < BLOCK; k++) t[k] = -1.0 + 2.0 * double(start + k) / double(n - 1);
    for (int64_t j = m - 1; j >= 0; j--)
      for (int k = 0; k < BLOCK; k++) y[k] = x[j] + t[k] * y[k];
    for (int k = 0; k < BLOCK; k++) {
      int64_t twice = 2 * (start + k); // exact, where t is rounded
      double sign = double(twice > n - 1) - double(twice < n - 1);
      y[k] = start + k < n ? sign - y[k] : 0;
      total += y[k] * y[k];
    }
    for (int64_t j = 0; G && j < m; j++) {
      double s = 0;
      for (int k = 0; k < BLOCK; k++) {
        s += y[k];
        y[k] *= t[k];
      }
      g[j] -= s;
    }
  }
  value.set(0.5 * total);
}
PROBLEM(llsq)

/// log (sum (exp x)).
template <bool G> void lse(Inputs in, Out value, Out gradient) {
  int64_t n = in.size(0);
  const double *x = in.floats(0);
  double *g = G ? gradient.of(n) : nullptr, top = x[0], total = 0;
  for (int64_t i = 1; i < n; i++) top = std::max(top, x[i]);
  for (int64_t i = 0; i < n; i++) {
    double e = std::exp(x[i] - top);
    if (G) g[i] = e;
    total += e;
  }
  for (int64_t i = 0; G && i < n; i++) g[i] /= total;
  value.set(top + std::log(total));
}
PROBLEM(lse)
