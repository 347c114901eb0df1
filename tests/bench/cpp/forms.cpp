// Programs of which a small change of form once cost adl much time.
#include "bench.hpp"

/// A chain of `n` functions, y + sin (c y) / 1000 with c from 1 to 1.6.
template <bool G> void chain(Inputs in, Out value, Out gradient) {
  double y = in.number(1), d = 1;
  for (int64_t k = 1; k <= in.whole(0); k++) {
    double c = 1 + 0.1 * double(k % 7);
    if (G) d *= 1 + 0.001 * c * std::cos(c * y);
    y += 0.001 * std::sin(c * y);
  }
  value.set(y);
  if (G) gradient.of(1)[0] = d;
}
PROBLEM(chain)

namespace {

/// The extents of a convolution: images, channels in and out, rows and columns of an output and of a kernel.
struct Extents {
  int64_t images, from, to, rows, columns, m, q;
  int64_t width() const { return columns + q - 1; }
  int64_t plane() const { return (rows + m - 1) * width(); }
};

/// Columns that are computed together, so that they stay in the cache.
const int64_t STRIP = 512;

/// Calls `f (y, x, w, count)` with the places of a strip of outputs, of the inputs below it and of a kernel's number.
template <class F> void visit(const Extents &e, F f) {
  for (int64_t i = 0; i < e.images; i++)
    for (int64_t j = 0; j < e.to; j++)
      for (int64_t r = 0; r < e.rows; r++)
        for (int64_t c = 0; c < e.columns; c += STRIP)
          for (int64_t k = 0; k < e.from; k++)
            for (int64_t u = 0; u < e.m; u++)
              for (int64_t v = 0; v < e.q; v++)
                f(((i * e.to + j) * e.rows + r) * e.columns + c,
                  (i * e.from + k) * e.plane() + (r + u) * e.width() + c + v,
                  ((j * e.from + k) * e.m + u) * e.q + v, std::min(STRIP, e.columns - c));
}

/// Adds the products of `n` numbers, in lanes.
inline void add_products(const double *x, const double *y, int64_t n, Lanes &to) {
  Lanes s = to;
  int64_t c = 0;
  for (; c + LANES <= n; c += LANES) s += *(const Unaligned *)(x + c) * *(const Unaligned *)(y + c);
  for (; c < n; c++) s[0] += x[c] * y[c];
  to = s;
}

/// The sum of squares of a convolution, and its gradient by kernels and signal.
template <bool G> void convolved(const Extents &e, const double *w, const double *x, Out value, Out gradient) {
  std::vector<double> y(e.images * e.to * e.rows * e.columns);
  visit(e, [&](int64_t to, int64_t from, int64_t k, int64_t count) {
    for (int64_t c = 0; c < count; c++) y[to + c] += w[k] * x[from + c];
  });
  double total = 0;
  for (double v : y) total += v * v;
  value.set(total);
  if (!G) return;
  for (double &v : y) v *= 2;
  int64_t kernels = e.to * e.from * e.m * e.q, signal = e.images * e.from * e.plane();
  double *gw = gradient.of(kernels + signal), *gx = gw + kernels;
  std::vector<Lanes> sums(kernels);
  std::fill(gx, gx + signal, 0.0);
  visit(e, [&](int64_t to, int64_t from, int64_t k, int64_t count) {
    add_products(&y[to], x + from, count, sums[k]);
    for (int64_t c = 0; c < count; c++) gx[from + c] += y[to + c] * w[k];
  });
  for (int64_t k = 0; k < kernels; k++) gw[k] = sum(sums[k]);
}

} // namespace

/// Convolutions of vectors, matrices and images with channels: extents of the outputs, extents of all, kernels, signal.
template <bool G> void convolution(Inputs in, Out value, Out gradient) {
  const int64_t *e = in.ints(0);
  if (in.size(0) != 7) wrong("seven extents");
  convolved<G>({e[0], e[1], e[2], e[3], e[4], e[5], e[6]}, in.floats(1), in.floats(2), value, gradient);
}
PROBLEM(convolution)

namespace {

/// The sum of the traces of a³, with the gradient 3 (a²)ᵀ.
template <int K, bool G> void cubes_of(Inputs in, Out value, Out gradient) {
  const int SIZE = K * K;
  int64_t n = in.size(1) / SIZE;
  double *g = G ? gradient.of(n * SIZE) : nullptr, total = 0;
  for (int64_t o = 0; o < n; o++) {
    const double *a = in.floats(1) + o * SIZE;
    for (int i = 0; i < K; i++)
      for (int j = 0; j < K; j++) {
        double s = 0;
        for (int l = 0; l < K; l++) s += a[i * K + l] * a[l * K + j];
        total += s * a[j * K + i];
        if (G) g[o * SIZE + j * K + i] = 3 * s;
      }
  }
  value.set(total);
}

} // namespace

template <bool G> void cubes(Inputs in, Out value, Out gradient) {
  switch (in.whole(0)) {
  case 2: return cubes_of<2, G>(in, value, gradient);
  case 4: return cubes_of<4, G>(in, value, gradient);
  default: wrong("matrices of another size");
  }
}
PROBLEM(cubes)

/// The sum of squares of the ragged sums of c[j] x[j] for j <= i.
template <bool G> void ragged(Inputs in, Out value, Out gradient) {
  int64_t n = in.size(0);
  const double *c = in.floats(0), *x = in.floats(1);
  double total = 0, *g = G ? gradient.of(n) : nullptr;
  if (G) std::fill(g, g + n, 0.0);
  for (int64_t i = 0; i < n; i++) {
    double s = 0;
    for (int64_t j = 0; j <= i; j++) s += c[j] * x[j];
    total += s * s;
    for (int64_t j = 0; G && j <= i; j++) g[j] += 2 * s * c[j];
  }
  value.set(total);
}
PROBLEM(ragged)

/// The sum of squares of the sums of x / (1 + x²) in windows of 20. The quotients are computed once.
template <bool G> void windows(Inputs in, Out value, Out gradient) {
  const int WINDOW = 20;
  int64_t n = in.size(0);
  const double *x = in.floats(0);
  std::vector<double> q(n), d(n);
  for (int64_t i = 0; i < n; i++) q[i] = x[i] / (1 + x[i] * x[i]);
  double total = 0;
  for (int64_t i = 0; i + WINDOW < n; i++) {
    double s = 0;
    for (int j = 0; j < WINDOW; j++) s += q[i + j];
    total += s * s;
    for (int j = 0; G && j < WINDOW; j++) d[i + j] += 2 * s;
  }
  value.set(total);
  double *g = G ? gradient.of(n) : nullptr;
  for (int64_t i = 0; G && i < n; i++) g[i] = d[i] * (1 - x[i] * x[i]) / square(1 + x[i] * x[i]);
}
PROBLEM(windows)

/// The sum of squares of m = q qᵀ, with the gradient 4 m q.
template <bool G> void contraction(Inputs in, Out value, Out gradient) {
  int64_t p = in.whole(0), n = in.size(1) / p;
  const double *q = in.floats(1);
  double total = 0, *g = G ? gradient.of(n * p) : nullptr;
  if (G) std::fill(g, g + n * p, 0.0);
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < n; j++) {
      double s = 0;
      for (int64_t k = 0; k < p; k++) s += q[i * p + k] * q[j * p + k];
      total += s * s;
      for (int64_t k = 0; G && k < p; k++) g[i * p + k] += 4 * s * q[j * p + k];
    }
  value.set(total);
}
PROBLEM(contraction)

/// Squares in a band below the diagonal: x[j]² for each i with i - 5 <= j < i.
template <bool G> void band(Inputs in, Out value, Out gradient) {
  int64_t n = in.size(0);
  const double *x = in.floats(0);
  double total = 0, *g = G ? gradient.of(n) : nullptr;
  for (int64_t j = 0; j < n; j++) {
    double count = double(std::min<int64_t>(5, n - 1 - j));
    total += count * x[j] * x[j];
    if (G) g[j] = 2 * count * x[j];
  }
  value.set(total);
}
PROBLEM(band)

/// x[0]² times the sum of the other squares, and its Hessian by rows: the first one, then two numbers of each.
template <bool G> void arrow(Inputs in, Out value, Out gradient) {
  int64_t n = in.size(0);
  const double *x = in.floats(0);
  double total = 0;
  for (int64_t i = 1; i < n; i++) total += x[i] * x[i];
  value.set(x[0] * x[0] * total);
  if (!G) return;
  double *g = gradient.of(3 * n - 2);
  g[0] = 2 * total;
  for (int64_t i = 1; i < n; i++) {
    g[i] = g[n + 2 * (i - 1)] = 4 * x[0] * x[i];
    g[n + 2 * (i - 1) + 1] = 2 * x[0] * x[0];
  }
}
PROBLEM(arrow)

/// Rosenbrock's function, and its Hessian by rows: a diagonal with a band on either side.
template <bool G> void valley(Inputs in, Out value, Out gradient) {
  int64_t n = in.size(0);
  const double *x = in.floats(0);
  double total = 0, *g = G ? gradient.of(3 * n - 2) : nullptr;
  for (int64_t i = 0; i + 1 < n; i++) total += 100 * square(x[i + 1] - x[i] * x[i]) + square(1 - x[i]);
  value.set(total);
  for (int64_t i = 0; G && i < n; i++) {
    double diagonal = (i > 0 ? 200 : 0) + (i + 1 < n ? 1200 * x[i] * x[i] - 400 * x[i + 1] + 2 : 0);
    if (i > 0) *g++ = -400 * x[i - 1];
    *g++ = diagonal;
    if (i + 1 < n) *g++ = -400 * x[i];
  }
}
PROBLEM(valley)

namespace {

/// The sum of the norms of rows of K numbers.
template <int K, bool G> void norms_of(Inputs in, Out value, Out gradient) {
  int64_t n = in.size(1) / K;
  const double *x = in.floats(1);
  double total = 0, *g = G ? gradient.of(n * K) : nullptr;
  for (int64_t i = 0; i < n; i++) {
    double s = 0;
    for (int k = 0; k < K; k++) s += square(x[i * K + k]);
    double norm = std::sqrt(s);
    total += norm;
    for (int k = 0; G && k < K; k++) g[i * K + k] = x[i * K + k] / norm;
  }
  value.set(total);
}

} // namespace

template <bool G> void norms(Inputs in, Out value, Out gradient) {
  switch (in.whole(0)) {
  case 3: return norms_of<3, G>(in, value, gradient);
  case 16: return norms_of<16, G>(in, value, gradient);
  default: wrong("rows of another length");
  }
}
PROBLEM(norms)

/// The sum of squares of a vector.
template <bool G> void squares(Inputs in, Out value, Out gradient) {
  int64_t n = in.size(0);
  const double *x = in.floats(0);
  double total = 0, *g = G ? gradient.of(n) : nullptr;
  for (int64_t i = 0; i < n; i++) {
    total += x[i] * x[i];
    if (G) g[i] = 2 * x[i];
  }
  value.set(total);
}
PROBLEM(squares)
