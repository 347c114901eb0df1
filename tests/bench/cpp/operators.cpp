// Reductions, scans and histograms with weights on their results.
#include "bench.hpp"

namespace {

/// Work in four parts of an array at once, so that no operation waits for the one before it.
const int PARTS = 4;

struct Two {
  double a, b;
};

/// Composition of functions a + b t, and the product of sums of products; the cotangent of an element in the middle of
/// p and s is `back`.
struct Linear {
  static Two op(Two p, Two q) { return {q.a + q.b * p.a, q.b * p.b}; }
  static Two back(Two p, Two s, Two w) { return {w.a * s.b, (w.a * p.a + w.b * p.b) * s.b}; }
};
struct Products {
  static Two op(Two p, Two q) { return {p.a * q.b + p.b * q.a, p.b * q.b}; }
  static Two back(Two p, Two s, Two w) {
    return {w.a * p.b * s.b, w.a * (p.a * s.b + p.b * s.a) + w.b * p.b * s.b};
  }
};

/// The parts of an array of `n`: all but the last have `length` elements.
struct Parts {
  int64_t n, length;
  explicit Parts(int64_t n) : n(n), length(n / PARTS) {}
  template <class F> void forwards(F f) const {
    for (int64_t i = 0; i < length; i++)
      for (int k = 0; k < PARTS; k++) f(k, k * length + i);
    for (int64_t i = PARTS * length; i < n; i++) f(PARTS - 1, i);
  }
  template <class F> void backwards(F f) const {
    for (int64_t i = n - 1; i >= PARTS * length; i--) f(PARTS - 1, i);
    for (int64_t i = length - 1; i >= 0; i--)
      for (int k = 0; k < PARTS; k++) f(k, k * length + i);
  }
};

/// A reduction of pairs. The inputs are x0, x1, and a weight for each component of the result.
template <class O, bool G> void reduce_pairs(Inputs in, Out value, Out gradient) {
  int64_t n = in.size(0);
  const double *a = in.floats(0), *b = in.floats(1);
  Two w = {in.number(2), in.number(3)}, total[PARTS], before[PARTS], after[PARTS];
  Parts parts(n);
  std::fill(total, total + PARTS, Two{0, 1});
  parts.forwards([&](int k, int64_t i) { total[k] = O::op(total[k], {a[i], b[i]}); });
  before[0] = after[PARTS - 1] = {0, 1};
  for (int k = 1; k < PARTS; k++) before[k] = O::op(before[k - 1], total[k - 1]);
  for (int k = PARTS - 2; k >= 0; k--) after[k] = O::op(total[k + 1], after[k + 1]);
  Two all = O::op(before[PARTS - 1], total[PARTS - 1]);
  value.set(w.a * all.a + w.b * all.b);
  if (!G) return;
  double *ga = gradient.of(2 * n), *gb = ga + n;
  parts.forwards([&](int k, int64_t i) {
    ga[i] = before[k].a, gb[i] = before[k].b;
    before[k] = O::op(before[k], {a[i], b[i]});
  });
  parts.backwards([&](int k, int64_t i) {
    Two g = O::back({ga[i], gb[i]}, after[k], w);
    ga[i] = g.a, gb[i] = g.b;
    after[k] = O::op({a[i], b[i]}, after[k]);
  });
}

} // namespace

template <bool G> void reduce_add(Inputs in, Out value, Out gradient) {
  int64_t n = in.size(0);
  const double *x = in.floats(0);
  double w = in.number(1), total = 0;
  double *g = G ? gradient.of(n) : nullptr;
  for (int64_t i = 0; i < n; i++) {
    total += x[i];
    if (G) g[i] = w;
  }
  value.set(w * total);
}
PROBLEM(reduce_add)

template <bool G> void reduce_min(Inputs in, Out value, Out gradient) {
  int64_t n = in.size(0), at = 0;
  const double *x = in.floats(0);
  double w = in.number(1), least = x[0];
  for (int64_t i = 0; i < n; i++) least = std::min(least, x[i]);
  value.set(w * least);
  if (!G) return;
  double *g = gradient.of(n);
  while (x[at] != least) at++;
  std::fill(g, g + n, 0.0);
  g[at] = w;
}
PROBLEM(reduce_min)

template <bool G> void reduce_mul(Inputs in, Out value, Out gradient) {
  int64_t n = in.size(0);
  const double *x = in.floats(0);
  double w = in.number(1);
  if (!G) {
    double all = w;
    for (int64_t i = 0; i < n; i++) all *= x[i];
    return value.set(all);
  }
  double total[PARTS], before[PARTS], after[PARTS], *g = gradient.of(n);
  Parts parts(n);
  std::fill(total, total + PARTS, 1.0);
  parts.forwards([&](int k, int64_t i) { total[k] *= x[i]; });
  before[0] = 1, after[PARTS - 1] = w;
  for (int k = 1; k < PARTS; k++) before[k] = before[k - 1] * total[k - 1];
  for (int k = PARTS - 2; k >= 0; k--) after[k] = after[k + 1] * total[k + 1];
  parts.forwards([&](int k, int64_t i) { g[i] = before[k], before[k] *= x[i]; });
  value.set(w * before[PARTS - 1]);
  parts.backwards([&](int k, int64_t i) { g[i] *= after[k], after[k] *= x[i]; });
}
PROBLEM(reduce_mul)

template <bool G> void reduce_linear(Inputs in, Out value, Out g) { reduce_pairs<Linear, G>(in, value, g); }
PROBLEM(reduce_linear)
template <bool G> void reduce_products(Inputs in, Out value, Out g) { reduce_pairs<Products, G>(in, value, g); }
PROBLEM(reduce_products)

/// Running sums. The inputs are x and a weight for each result.
template <bool G> void scan_add(Inputs in, Out value, Out gradient) {
  int64_t n = in.size(0);
  const double *x = in.floats(0), *w = in.floats(1);
  double so_far = 0, total = 0;
  for (int64_t i = 0; i < n; i++) {
    so_far += x[i];
    total += w[i] * so_far;
  }
  value.set(total);
  double *g = G ? gradient.of(n) : nullptr, d = 0;
  for (int64_t i = n - 1; G && i >= 0; i--) g[i] = d += w[i];
}
PROBLEM(scan_add)

/// Running minima. An element gets the weights of all places where it is the least so far.
template <bool G> void scan_min(Inputs in, Out value, Out gradient) {
  int64_t n = in.size(0), at = 0;
  const double *x = in.floats(0), *w = in.floats(1);
  double least = x[0], total = 0, weights = 0, *g = G ? gradient.of(n) : nullptr;
  if (G) std::fill(g, g + n, 0.0);
  for (int64_t i = 0; i < n; i++) {
    if (x[i] < least) {
      if (G) g[at] = weights;
      at = i, least = x[i], weights = 0;
    }
    total += least * w[i];
    weights += w[i];
  }
  if (G) g[at] = weights;
  value.set(total);
}
PROBLEM(scan_min)

template <bool G> void scan_mul(Inputs in, Out value, Out gradient) {
  int64_t n = in.size(0);
  const double *x = in.floats(0), *w = in.floats(1);
  double so_far = 1, total = 0, d = 0, *g = G ? gradient.of(n) : nullptr;
  for (int64_t i = 0; i < n; i++) {
    if (G) g[i] = so_far;
    so_far *= x[i];
    total += so_far * w[i];
  }
  value.set(total);
  for (int64_t i = n - 1; G && i >= 0; i--) {
    d += w[i];
    g[i] *= d;
    d *= x[i];
  }
}
PROBLEM(scan_mul)

namespace {

/// A scan of pairs. The inputs are x0, x1, and a weight for each number of the result; `back` takes a cotangent of a
/// result to that of the result before it.
template <class O, bool G, class F> void scan_pairs(Inputs in, Out value, Out gradient, F back) {
  int64_t n = in.size(0);
  const double *a = in.floats(0), *b = in.floats(1), *wa = in.floats(2), *wb = in.floats(3);
  double *ga = G ? gradient.of(2 * n) : nullptr, *gb = ga + n, total = 0;
  Two so_far = {0, 1}, d = {0, 0};
  for (int64_t i = 0; i < n; i++) {
    if (G) ga[i] = so_far.a, gb[i] = so_far.b;
    so_far = O::op(so_far, {a[i], b[i]});
    total += wa[i] * so_far.a + wb[i] * so_far.b;
  }
  value.set(total);
  for (int64_t i = n - 1; G && i >= 0; i--) {
    d = {d.a + wa[i], d.b + wb[i]};
    Two g = O::back({ga[i], gb[i]}, {0, 1}, d);
    ga[i] = g.a, gb[i] = g.b;
    d = back(Two{a[i], b[i]}, d);
  }
}

} // namespace

template <bool G> void scan_linear(Inputs in, Out value, Out gradient) {
  scan_pairs<Linear, G>(in, value, gradient, [](Two x, Two d) { return Two{d.a * x.b, d.b * x.b}; });
}
PROBLEM(scan_linear)

template <bool G> void scan_products(Inputs in, Out value, Out gradient) {
  scan_pairs<Products, G>(in, value, gradient, [](Two x, Two d) { return Two{d.a * x.b, d.a * x.a + d.b * x.b}; });
}
PROBLEM(scan_products)

namespace {

template <int K> struct Matrix {
  double m[K * K];
  static Matrix eye() {
    Matrix out = {};
    for (int i = 0; i < K; i++) out.m[i * K + i] = 1;
    return out;
  }
  static Matrix at(const double *x) {
    Matrix out;
    std::copy(x, x + K * K, out.m);
    return out;
  }
};

/// a b, aᵀ b and a bᵀ.
template <int K> Matrix<K> times(const Matrix<K> &a, const Matrix<K> &b) {
  Matrix<K> out;
  for (int i = 0; i < K; i++)
    for (int j = 0; j < K; j++) {
      double s = 0;
      for (int l = 0; l < K; l++) s += a.m[i * K + l] * b.m[l * K + j];
      out.m[i * K + j] = s;
    }
  return out;
}
template <int K> Matrix<K> left(const Matrix<K> &a, const Matrix<K> &b) {
  Matrix<K> out;
  for (int i = 0; i < K; i++)
    for (int j = 0; j < K; j++) {
      double s = 0;
      for (int l = 0; l < K; l++) s += a.m[l * K + i] * b.m[l * K + j];
      out.m[i * K + j] = s;
    }
  return out;
}
template <int K> Matrix<K> right(const Matrix<K> &a, const Matrix<K> &b) {
  Matrix<K> out;
  for (int i = 0; i < K; i++)
    for (int j = 0; j < K; j++) {
      double s = 0;
      for (int l = 0; l < K; l++) s += a.m[i * K + l] * b.m[j * K + l];
      out.m[i * K + j] = s;
    }
  return out;
}

/// Products of matrices: the last one (`S` is false) or all, times weights.
template <int K, bool S, bool G> void products(Inputs in, Out value, Out gradient) {
  const int SIZE = K * K;
  int64_t n = in.size(0) / SIZE;
  const double *x = in.floats(0), *w = in.floats(1);
  double *g = G ? gradient.of(n * SIZE) : nullptr, total = 0;
  Matrix<K> p = Matrix<K>::eye(), d = {};
  auto weigh = [&](const double *w) {
    for (int j = 0; j < SIZE; j++) total += w[j] * p.m[j];
  };
  if (!S && !G) { // both halves at once
    Matrix<K> q = Matrix<K>::eye();
    for (int64_t i = 0; i < n / 2; i++) {
      p = times(p, Matrix<K>::at(x + i * SIZE));
      q = times(q, Matrix<K>::at(x + (n / 2 + i) * SIZE));
    }
    if (n % 2) q = times(q, Matrix<K>::at(x + (n - 1) * SIZE));
    p = times(p, q);
  }
  for (int64_t i = 0; (S || G) && i < n; i++) {
    if (G) std::copy(p.m, p.m + SIZE, g + i * SIZE);
    p = times(p, Matrix<K>::at(x + i * SIZE));
    if (S) weigh(w + i * SIZE);
  }
  if (!S) weigh(w), d = Matrix<K>::at(w);
  value.set(total);
  for (int64_t i = n - 1; G && i >= 0; i--) {
    for (int j = 0; S && j < SIZE; j++) d.m[j] += w[i * SIZE + j];
    Matrix<K> out = left(Matrix<K>::at(g + i * SIZE), d);
    std::copy(out.m, out.m + SIZE, g + i * SIZE);
    d = right(d, Matrix<K>::at(x + i * SIZE));
  }
}

/// The same for a size that is known when it runs: that of the third input.
template <bool S, bool G> void products_of(Inputs in, Out value, Out gradient) {
  switch (in.whole(2)) {
  case 2: return products<2, S, G>(in, value, gradient);
  case 3: return products<3, S, G>(in, value, gradient);
  case 5: return products<5, S, G>(in, value, gradient);
  default: wrong("matrices of another size");
  }
}

} // namespace

template <bool G> void reduce_matrices(Inputs in, Out value, Out g) { products_of<false, G>(in, value, g); }
PROBLEM(reduce_matrices)
template <bool G> void scan_matrices(Inputs in, Out value, Out g) { products_of<true, G>(in, value, g); }
PROBLEM(scan_matrices)

/// Histograms of rows of `W` numbers. The inputs are bins, weights of the results, and the rows.
template <int W, bool G> void count_add(Inputs in, Out value, Out gradient) {
  int64_t n = in.size(0), bins = in.size(1);
  const int64_t *bin = in.ints(0);
  const double *w = in.floats(1), *x = in.floats(2);
  std::vector<double> h(bins);
  double total = 0, *g = G ? gradient.of(W * n) : nullptr;
  for (int64_t i = 0; i < n; i++)
    for (int j = 0; j < W; j++) h[W * bin[i] + j] += x[W * i + j];
  for (int64_t b = 0; b < bins; b++) total += w[b] * h[b];
  value.set(total);
  for (int64_t i = 0; G && i < n; i++)
    for (int j = 0; j < W; j++) g[W * i + j] = w[W * bin[i] + j];
}

template <int W, bool G> void count_mul(Inputs in, Out value, Out gradient) {
  int64_t n = in.size(0), bins = in.size(1);
  const int64_t *bin = in.ints(0);
  const double *w = in.floats(1), *x = in.floats(2);
  std::vector<double> h(bins, 1.0);
  double total = 0, *g = G ? gradient.of(W * n) : nullptr;
  for (int64_t i = 0; i < n; i++)
    for (int j = 0; j < W; j++) h[W * bin[i] + j] *= x[W * i + j];
  for (int64_t b = 0; b < bins; b++) total += h[b] *= w[b];
  value.set(total);
  for (int64_t i = 0; G && i < n; i++) // no element of these inputs is 0
    for (int j = 0; j < W; j++) g[W * i + j] = h[W * bin[i] + j] / x[W * i + j];
}

template <int W, bool G> void count_min(Inputs in, Out value, Out gradient) {
  int64_t n = in.size(0), bins = in.size(1);
  const int64_t *bin = in.ints(0);
  const double *w = in.floats(1), *x = in.floats(2);
  std::vector<double> h(bins, 1e300);
  std::vector<int32_t> at(G ? bins : 0, -1);
  for (int64_t i = 0; i < n; i++)
    for (int j = 0; j < W; j++) {
      double &least = h[W * bin[i] + j], v = x[W * i + j];
      if (G) at[W * bin[i] + j] = v < least ? int32_t(i) : at[W * bin[i] + j];
      least = std::min(v, least);
    }
  double total = 0, *g = G ? gradient.of(W * n) : nullptr;
  for (int64_t b = 0; b < bins; b++) total += h[b] < 1e300 ? w[b] * h[b] : 0;
  value.set(total);
  if (!G) return;
  std::fill(g, g + W * n, 0.0);
  for (int64_t b = 0; b < bins; b++)
    if (at[b] >= 0) g[W * at[b] + b % W] = w[b];
}

template <bool G> void hist_add(Inputs in, Out value, Out g) { count_add<1, G>(in, value, g); }
PROBLEM(hist_add)
template <bool G> void hist_mul(Inputs in, Out value, Out g) { count_mul<1, G>(in, value, g); }
PROBLEM(hist_mul)
template <bool G> void hist_min(Inputs in, Out value, Out g) { count_min<1, G>(in, value, g); }
PROBLEM(hist_min)
template <bool G> void hist_rows_add(Inputs in, Out value, Out g) { count_add<16, G>(in, value, g); }
PROBLEM(hist_rows_add)
template <bool G> void hist_rows_mul(Inputs in, Out value, Out g) { count_mul<16, G>(in, value, g); }
PROBLEM(hist_rows_mul)
template <bool G> void hist_rows_min(Inputs in, Out value, Out g) { count_min<16, G>(in, value, g); }
PROBLEM(hist_rows_min)
