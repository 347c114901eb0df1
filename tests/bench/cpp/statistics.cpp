// Log likelihoods of statistical models.
#include "bench.hpp"

/// The log likelihood of a hidden Markov model, by the forward algorithm with normalised probabilities. The inputs are
/// emissions (a row for each symbol), initial and transition probabilities, and the symbols.
template <bool G> void hmm(Inputs in, Out value, Out gradient) {
  int64_t k = in.size(1), n = in.size(3), symbols = in.size(0) / k;
  const double *emission = in.floats(0), *initial = in.floats(1), *transition = in.floats(2);
  const int64_t *seen = in.ints(3);
  std::vector<double> before(n * k), all(n), a(k), d(k), da(k);
  double total = 0;
  for (int64_t t = 0; t < n; t++) {
    double *b = &before[t * k];
    if (t == 0) std::copy(initial, initial + k, b);
    for (int64_t i = 0; t > 0 && i < k; i++)
      for (int64_t j = 0; j < k; j++) b[j] += a[i] * transition[i * k + j];
    for (int64_t j = 0; j < k; j++) all[t] += a[j] = b[j] * emission[seen[t] * k + j];
    for (double &v : a) v /= all[t];
    total += std::log(all[t]);
  }
  value.set(total);
  if (!G) return;
  double *ge = gradient.of(symbols * k + k + k * k), *gi = ge + symbols * k, *gt = gi + k;
  std::fill(ge, gt + k * k, 0.0);
  for (int64_t t = n - 1; t >= 0; t--) {
    const double *b = &before[t * k], *e = emission + seen[t] * k, *p = b - k, *pe = emission + seen[t ? t - 1 : 0] * k;
    double mean = 0;
    for (int64_t j = 0; j < k; j++) mean += d[j] * b[j] * e[j] / all[t];
    for (int64_t j = 0; j < k; j++) {
      double g = (d[j] - mean + 1) / all[t];
      ge[seen[t] * k + j] += g * b[j];
      da[j] = g * e[j];
    }
    if (t == 0) std::copy(da.begin(), da.end(), gi);
    for (int64_t i = 0; t > 0 && i < k; i++) {
      double s = 0, alpha = p[i] * pe[i] / all[t - 1];
      for (int64_t j = 0; j < k; j++) {
        s += transition[i * k + j] * da[j];
        gt[i * k + j] += alpha * da[j];
      }
      d[i] = s;
    }
  }
}
PROBLEM(hmm)

/// A series whose variance depends on the last value and variance. The inputs are level, mean, the factors of the last
/// value and of the last variance, and the series.
template <bool G> void garch(Inputs in, Out value, Out gradient) {
  double level = in.number(0), mean = in.number(1), a = in.number(2), b = in.number(3), v = 1, total = 0;
  int64_t n = in.size(4);
  const double *y = in.floats(4);
  std::vector<double> kept(G ? n : 0);
  for (int64_t t = 1; t < n; t++) {
    if (G) kept[t] = v;
    v = level + a * square(y[t - 1] - mean) + b * v;
    total -= 0.5 * (std::log(v) + square(y[t] - mean) / v);
  }
  value.set(total);
  if (!G) return;
  double *g = gradient.of(4), d = 0;
  std::fill(g, g + 4, 0.0);
  for (int64_t t = n - 1; t > 0; t--) {
    double f = y[t - 1] - mean, e = y[t] - mean, iv = 1 / v;
    d += 0.5 * iv * (e * e * iv - 1);
    g[0] += d;
    g[1] += e * iv - 2 * d * a * f;
    g[2] += d * f * f;
    g[3] += d * kept[t];
    d *= b;
    v = kept[t];
  }
}
PROBLEM(garch)

/// A mixture of normal distributions, a block of numbers at a time. The inputs are deviations, means, log weights, and
/// the numbers.
template <bool G> void normals(Inputs in, Out value, Out gradient) {
  const int BLOCK = 256;
  int64_t k = in.size(0), n = in.size(3);
  const double *deviation = in.floats(0), *mean = in.floats(1), *weight = in.floats(2), *y = in.floats(3);
  std::vector<double> density(k * BLOCK);
  double *g = G ? gradient.of(3 * k) : nullptr, total = 0;
  if (G) std::fill(g, g + 3 * k, 0.0);
  for (int64_t start = 0; start < n; start += BLOCK) {
    int count = int(std::min<int64_t>(BLOCK, n - start));
    double all[BLOCK] = {};
    // Without the maximum: no log density here is far from 0.
    for (int64_t c = 0; c < k; c++)
      for (int i = 0; i < count; i++) {
        double u = (y[start + i] - mean[c]) / deviation[c];
        all[i] += density[c * BLOCK + i] = std::exp(weight[c] - 0.5 * u * u) / deviation[c];
      }
    for (int i = 0; i < count; i++) total += std::log(all[i]);
    for (int64_t c = 0; G && c < k; c++)
      for (int i = 0; i < count; i++) {
        double u = (y[start + i] - mean[c]) / deviation[c], share = density[c * BLOCK + i] / all[i];
        g[c] += share * (u * u - 1) / deviation[c];
        g[k + c] += share * u / deviation[c];
        g[2 * k + c] += share;
      }
  }
  double all = 0;
  for (int64_t c = 0; c < k; c++) all += std::exp(weight[c]);
  for (int64_t c = 0; G && c < k; c++) g[2 * k + c] -= double(n) * std::exp(weight[c]) / all;
  value.set(total - double(n) * std::log(all));
}
PROBLEM(normals)

/// A value that depends on the five before it: factors, level, and the series.
template <bool G> void autoregression(Inputs in, Out value, Out gradient) {
  const int LAGS = 5;
  int64_t n = in.size(2);
  const double *factor = in.floats(0), *y = in.floats(2);
  double level = in.number(1), total = 0, g[LAGS + 1] = {};
  for (int64_t t = LAGS; t < n; t++) {
    double e = y[t] - level;
    for (int k = 0; k < LAGS; k++) e -= factor[k] * y[t - 1 - k];
    total -= e * e;
    for (int k = 0; G && k < LAGS; k++) g[k] += 2 * e * y[t - 1 - k];
    g[LAGS] += 2 * e;
  }
  value.set(total);
  if (G) std::copy(g, g + LAGS + 1, gradient.of(LAGS + 1));
}
PROBLEM(autoregression)
