// A mixture of Gaussians with a Wishart prior. Points are taken in blocks whose coordinates stand one behind the other,
// so that vectors go along the points, for any dimension.
#include "bench.hpp"
#ifdef __SSE2__
#include <immintrin.h>
#endif

namespace {

const int BLOCK = 64, VECTORS = BLOCK / LANES;

/// Weights of far components are subnormal, and slow, unless they are flushed to zero.
struct FlushSubnormals {
#ifdef __SSE2__
  unsigned before = _mm_getcsr();
  FlushSubnormals() { _mm_setcsr(before | 0x8040); }
  ~FlushSubnormals() { _mm_setcsr(before); }
#endif
};

/// Vectors on their alignment.
struct Vectors {
  Lanes *at;
  explicit Vectors(size_t n) : at((Lanes *)std::aligned_alloc(64, n * sizeof(Lanes))) {}
  ~Vectors() { std::free(at); }
};

/// The inputs, in the order of their names, and the factors of the precisions, by rows of the lower triangle.
struct Mixture {
  const double *alpha, *l, *mu, *q, *x;
  int64_t d, k, n, m;
  double gamma;
  std::vector<double> factors, sums;

  explicit Mixture(Inputs in)
      : alpha(in.floats(0)), l(in.floats(4)), mu(in.floats(6)), q(in.floats(8)), x(in.floats(9)), d(in.whole(1)),
        k(in.whole(3)), n(in.whole(7)), m(in.whole(5)), gamma(in.number(2)), factors(k * d * (d + 1) / 2), sums(k) {
    for (int64_t c = 0; c < k; c++)
      for (int64_t i = 0; i < d; i++) {
        for (int64_t j = 0; j < i; j++) factor(c)[i * (i + 1) / 2 + j] = l[below(c, i, j)];
        factor(c)[i * (i + 1) / 2 + i] = std::exp(q[c * d + i]);
        sums[c] += q[c * d + i];
      }
  }
  double *factor(int64_t c) { return &factors[c * d * (d + 1) / 2]; }
  /// The position in `l` of row i, column j of a factor.
  int64_t below(int64_t c, int64_t i, int64_t j) const {
    return c * (d * (d - 1) / 2) + j * (2 * d - j - 1) / 2 + i - j - 1;
  }
  /// Differences of the block's points `xs` from a mean.
  void centre(const Lanes *xs, int64_t c, Lanes *out) const {
    for (int64_t i = 0; i < d; i++)
      for (int v = 0; v < VECTORS; v++) out[i * VECTORS + v] = xs[i * VECTORS + v] - mu[c * d + i];
  }
};

/// Coordinates of the points from `start` on, the last one repeated.
void load(const Mixture &p, int64_t start, Lanes *to) {
  for (int b = 0; b < BLOCK; b++) {
    const double *point = p.x + std::min(start + b, p.n - 1) * p.d;
    for (int64_t i = 0; i < p.d; i++) ((double *)to)[i * BLOCK + b] = point[i];
  }
}

/// Log densities of a block under a component; `z`, if wanted, gets the factor times the differences.
template <bool G> void densities(Mixture &p, int64_t c, const Lanes *centred, Lanes *z, Lanes *out) {
  Lanes norm[VECTORS] = {};
  for (int64_t i = 0; i < p.d; i++) {
    Lanes a[VECTORS] = {};
    const double *row = p.factor(c) + i * (i + 1) / 2;
    for (int64_t j = 0; j <= i; j++)
#pragma GCC unroll 8
      for (int v = 0; v < VECTORS; v++) a[v] += row[j] * centred[j * VECTORS + v];
    for (int v = 0; v < VECTORS; v++) {
      norm[v] += a[v] * a[v];
      if (G) z[i * VECTORS + v] = a[v];
    }
  }
  for (int v = 0; v < VECTORS; v++) out[v] = p.alpha[c] + p.sums[c] - 0.5 * norm[v];
}

/// Log densities become weights of the first `count` points; returns the sum of their logarithms of sums.
double weigh(int64_t k, int count, double *beta) {
  double top[BLOCK], total[BLOCK] = {}, out = 0;
  std::copy(beta, beta + BLOCK, top);
  for (int64_t c = 1; c < k; c++)
    for (int b = 0; b < BLOCK; b++) top[b] = std::max(top[b], beta[c * BLOCK + b]);
  for (int64_t c = 0; c < k; c++)
    for (int b = 0; b < BLOCK; b++) {
      beta[c * BLOCK + b] = std::exp(beta[c * BLOCK + b] - top[b]);
      total[b] += beta[c * BLOCK + b];
    }
  for (int b = 0; b < count; b++) out += top[b] + std::log(total[b]);
  for (int b = 0; b < BLOCK; b++) total[b] = b < count ? 1 / total[b] : 0;
  for (int64_t c = 0; c < k; c++)
    for (int b = 0; b < BLOCK; b++) beta[c * BLOCK + b] *= total[b];
  return out;
}

/// Adds a block's part to the sum of a component's weights, to those of its z, and to the cotangent of its factor.
void add_back(const Mixture &p, const Lanes *w, const Lanes *z, const Lanes *centred, double *weight, double *zs,
              double *factor) {
  Lanes all = {};
  for (int v = 0; v < VECTORS; v++) all += w[v];
  *weight += sum(all);
  for (int64_t i = 0; i < p.d; i++) {
    Lanes wz[VECTORS], s = {};
    for (int v = 0; v < VECTORS; v++) {
      wz[v] = w[v] * z[i * VECTORS + v];
      s += wz[v];
    }
    zs[i] += sum(s);
    for (int64_t j = 0; j <= i; j++) {
      Lanes t = {}, u = {};
#pragma GCC unroll 8
      for (int v = 0; v < VECTORS; v += 2) {
        t += wz[v] * centred[j * VECTORS + v];
        u += wz[v + 1] * centred[j * VECTORS + v + 1];
      }
      factor[i * (i + 1) / 2 + j] -= sum(t + u);
    }
  }
}

/// The prior and the constants.
double constant(const Mixture &p) {
  double d = double(p.d), nu = d + double(p.m) + 1, squares = 0, logs = 0;
  double log_gamma = 0.25 * d * (d - 1) * std::log(M_PI);
  for (int64_t j = 0; j < p.d; j++) log_gamma += std::lgamma(0.5 * nu - 0.5 * double(j));
  for (double f : p.factors) squares += f * f;
  for (double s : p.sums) logs += s;
  double normal = nu * d * std::log(p.gamma / M_SQRT2) - log_gamma;
  return double(p.k) * normal + double(p.m) * logs - 0.5 * square(p.gamma) * squares
         - 0.5 * double(p.n) * d * std::log(2 * M_PI);
}

/// The gradient in the order alpha, l, mu, q, from the sums over all points.
void finish(Mixture &p, const std::vector<double> &share, const double *weights, const double *zs,
            const double *factors, double *g) {
  int64_t triangle = p.d * (p.d + 1) / 2;
  double *gl = g + p.k, *gmu = gl + p.k * (triangle - p.d), *gq = gmu + p.k * p.d, g2 = square(p.gamma);
  for (int64_t c = 0; c < p.k; c++) {
    const double *f = p.factor(c), *df = factors + c * triangle, *z = zs + c * p.d;
    g[c] = weights[c] - double(p.n) * share[c];
    std::fill(gmu + c * p.d, gmu + (c + 1) * p.d, 0.0);
    for (int64_t i = 0; i < p.d; i++) {
      int64_t row = i * (i + 1) / 2;
      for (int64_t j = 0; j <= i; j++) gmu[c * p.d + j] += f[row + j] * z[i];
      for (int64_t j = 0; j < i; j++) gl[p.below(c, i, j)] = df[row + j] - g2 * f[row + j];
      gq[c * p.d + i] = weights[c] + df[row + i] * f[row + i] + double(p.m) - g2 * square(f[row + i]);
    }
  }
}

} // namespace

template <bool G> void gmm(Inputs in, Out value, Out gradient) {
  [[maybe_unused]] FlushSubnormals flush;
  Mixture p(in);
  int64_t triangle = p.d * (p.d + 1) / 2, row = p.d * VECTORS;
  Vectors xs(row), centred(row), z(G ? row * p.k : row), beta(p.k * VECTORS);
  std::vector<double> weights(p.k), zs(p.k * p.d), factors(p.k * triangle), share(p.k);
  double total = 0;
  for (int64_t start = 0; start < p.n; start += BLOCK) {
    load(p, start, xs.at);
    for (int64_t c = 0; c < p.k; c++) {
      p.centre(xs.at, c, centred.at);
      densities<G>(p, c, centred.at, z.at + (G ? c * row : 0), beta.at + c * VECTORS);
    }
    total += weigh(p.k, int(std::min<int64_t>(BLOCK, p.n - start)), (double *)beta.at);
    for (int64_t c = 0; G && c < p.k; c++) {
      p.centre(xs.at, c, centred.at);
      add_back(p, beta.at + c * VECTORS, z.at + c * row, centred.at, &weights[c], &zs[c * p.d], &factors[c * triangle]);
    }
  }
  double top = *std::max_element(p.alpha, p.alpha + p.k), all = 0;
  for (int64_t c = 0; c < p.k; c++) all += share[c] = std::exp(p.alpha[c] - top);
  for (double &s : share) s /= all;
  if (G) finish(p, share, weights.data(), zs.data(), factors.data(), gradient.of(p.k * (1 + p.d + triangle)));
  value.set(total - double(p.n) * (top + std::log(all)) + constant(p));
}
PROBLEM(gmm)
