// Networks and clusters.
#include "bench.hpp"

namespace {

/// Adds to R rows of `c`, from `at` on, the product of rows of `a` (k long) with 16 columns of `b` in a packed panel.
template <int R> void tile(int64_t k, const double *a, const Unaligned *panel, double *c, int64_t columns) {
  Lanes acc[R][2] = {};
  for (int64_t l = 0; l < k; l++)
    for (int r = 0; r < R; r++) {
      acc[r][0] += a[r * k + l] * panel[2 * l];
      acc[r][1] += a[r * k + l] * panel[2 * l + 1];
    }
  for (int r = 0; r < R; r++)
    for (int64_t j = 0; j < std::min<int64_t>(columns, 16); j++) c[r * columns + j] += acc[r][j / 8][j % 8];
}

/// c += a b, of an n × k and a k × m matrix.
void add_product(int64_t n, int64_t k, int64_t m, const double *a, const double *b, double *c) {
  std::vector<double> panel(16 * k);
  for (int64_t j = 0; j < m; j += 16) {
    int64_t some = std::min<int64_t>(16, m - j), i = 0;
    for (int64_t l = 0; l < k; l++)
      for (int64_t o = 0; o < some; o++) panel[16 * l + o] = b[l * m + j + o];
    auto *p = (const Unaligned *)panel.data();
    std::vector<double> edge(some < 16 ? 8 * 16 : 0);
    auto strip = [&](auto rows) {
      const int R = decltype(rows)::value;
      if (some == 16) {
        tile<R>(k, a + i * k, p, c + i * m + j, m);
      } else {
        std::fill(edge.begin(), edge.end(), 0.0);
        tile<R>(k, a + i * k, p, edge.data(), 16);
        for (int r = 0; r < R; r++)
          for (int64_t o = 0; o < some; o++) c[(i + r) * m + j + o] += edge[16 * r + o];
      }
      i += R;
    };
    while (i + 8 <= n) strip(std::integral_constant<int, 8>());
    while (i < n) strip(std::integral_constant<int, 1>());
  }
}

std::vector<double> transposed(const double *x, int64_t n, int64_t m) {
  const int64_t BLOCK = 16;
  std::vector<double> out(n * m);
  for (int64_t a = 0; a < n; a += BLOCK)
    for (int64_t b = 0; b < m; b += BLOCK)
      for (int64_t i = a; i < std::min(n, a + BLOCK); i++)
        for (int64_t j = b; j < std::min(m, b + BLOCK); j++) out[j * n + i] = x[i * m + j];
  return out;
}

/// Dense layers with `relu` between them, and the inputs of each for a batch of `n` pictures.
struct Net {
  int layers;
  int64_t n;
  const int64_t *labels;
  std::vector<const double *> b, w;
  std::vector<int64_t> width;
  std::vector<std::vector<double>> at;

  /// The inputs: labels, biases and weights of each layer, pictures.
  explicit Net(Inputs in) : layers(int(in.n - 2) / 2), n(in.size(0)), labels(in.ints(0)), at(layers + 1) {
    width.push_back(in.size(in.n - 1) / n);
    for (int l = 0; l < layers; l++) {
      b.push_back(in.floats(1 + 2 * l));
      w.push_back(in.floats(2 + 2 * l));
      width.push_back(in.size(1 + 2 * l));
    }
    const double *pictures = in.floats(in.n - 1);
    at[0].assign(pictures, pictures + n * width[0]);
  }
  void forward() {
    for (int l = 0; l < layers; l++) {
      int64_t m = width[l + 1];
      std::vector<double> &out = at[l + 1];
      out.resize(n * m);
      for (int64_t i = 0; i < n; i++) std::copy(b[l], b[l] + m, &out[i * m]);
      add_product(n, width[l], m, at[l].data(), w[l], out.data());
      for (double &v : out) v = l + 1 < layers ? std::max(v, 0.0) : v;
    }
  }
  /// The mean cross entropy; the scores become its cotangents.
  double loss() {
    double total = 0, scale = 1 / double(n);
    int64_t m = width[layers];
    for (int64_t i = 0; i < n; i++) {
      double *row = &at[layers][i * m], top = *std::max_element(row, row + m), all = 0;
      double wanted = row[labels[i]];
      for (int64_t j = 0; j < m; j++) all += row[j] = std::exp(row[j] - top);
      total += top + std::log(all) - wanted;
      for (int64_t j = 0; j < m; j++) row[j] *= scale / all;
      row[labels[i]] -= scale;
    }
    return total * scale;
  }
  /// The gradient by biases and weights, of the first layer first. The cotangents are in the last of `at`.
  void backward(double *g, int64_t size) {
    std::vector<double> d = at[layers];
    g += size;
    for (int l = layers - 1; l >= 0; l--) {
      int64_t k = width[l], m = width[l + 1];
      g -= m + k * m;
      std::fill(g, g + m + k * m, 0.0);
      for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < m; j++) g[j] += d[i * m + j];
      add_product(k, n, m, transposed(at[l].data(), n, k).data(), d.data(), g + m);
      if (l == 0) return;
      std::vector<double> before(n * k);
      add_product(n, m, k, d.data(), transposed(w[l], k, m).data(), before.data());
      for (int64_t i = 0; i < n * k; i++) before[i] = at[l][i] > 0 ? before[i] : 0;
      d = std::move(before);
    }
  }
};

} // namespace

/// The mean cross entropy of a batch.
template <bool G> void network(Inputs in, Out value, Out gradient) {
  Net net(in);
  net.forward();
  value.set(net.loss());
  if (!G) return;
  int64_t size = 0;
  for (int l = 0; l < net.layers; l++) size += (net.width[l] + 1) * net.width[l + 1];
  net.backward(gradient.of(size), size);
}
PROBLEM(network)

namespace {

/// Bits of a character, padded to whole vectors.
const int BITS = 16;

/// What a layer keeps of a character for the way back.
struct Kept {
  double in[BITS], hidden[BITS], cell[BITS], forget[BITS], ingate[BITS], out[BITS], change[BITS], top[BITS];
};

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double tanh_of(double x) { return 2 / (1 + std::exp(-2 * x)) - 1; }

/// A character model with diagonal weights: rows `w` (8 for each layer: four of weights, four of biases), `extra` (3).
struct Lstm {
  int64_t layers, bits, length;
  const double *sequence;
  std::vector<double> w, extra, hidden, cell;

  /// The inputs: extra parameters, main parameters, sequence, state.
  explicit Lstm(Inputs in)
      : layers(in.size(1) / (8 * (in.size(0) / 3))), bits(in.size(0) / 3), length(in.size(2) / bits),
        sequence(in.floats(2)), w(padded(in.floats(1), 8 * layers)), extra(padded(in.floats(0), 3)) {
    if (bits > BITS) wrong("too many bits");
    std::vector<double> state = padded(in.floats(3), 2 * layers);
    for (int64_t i = 0; i < 2 * layers; i++) {
      std::vector<double> &to = i % 2 ? cell : hidden;
      to.insert(to.end(), &state[i * BITS], &state[i * BITS] + BITS);
    }
  }
  std::vector<double> padded(const double *from, int64_t rows) const {
    std::vector<double> out(rows * BITS);
    for (int64_t i = 0; i < rows; i++) std::copy(from + i * bits, from + (i + 1) * bits, &out[i * BITS]);
    return out;
  }
  /// A layer: `v` becomes its output.
  void layer(int64_t i, double *v, Kept &k) {
    const double *p = &w[i * 8 * BITS];
    double *h = &hidden[i * BITS], *c = &cell[i * BITS];
#pragma omp simd
    for (int j = 0; j < BITS; j++) {
      k.in[j] = v[j], k.hidden[j] = h[j], k.cell[j] = c[j];
      k.forget[j] = sigmoid(v[j] * p[j] + p[4 * BITS + j]);
      k.ingate[j] = sigmoid(h[j] * p[BITS + j] + p[5 * BITS + j]);
      k.out[j] = sigmoid(v[j] * p[2 * BITS + j] + p[6 * BITS + j]);
      k.change[j] = tanh_of(h[j] * p[3 * BITS + j] + p[7 * BITS + j]);
      c[j] = c[j] * k.forget[j] + k.ingate[j] * k.change[j];
      k.top[j] = tanh_of(c[j]);
      v[j] = h[j] = k.out[j] * k.top[j];
    }
  }
  /// The log likelihood of a character after an output; `dy` gets its cotangent of y.
  double likelihood(const double *wanted, const double *v, double *dy) const {
    double y[BITS], all = 2, given = 0, ones = 0;
    for (int j = 0; j < BITS; j++) y[j] = v[j] * extra[BITS + j] + extra[2 * BITS + j];
    for (int j = 0; j < BITS; j++) dy[j] = std::exp(y[j]);
    for (int j = 0; j < bits; j++) all += dy[j], given += wanted[j] * y[j], ones += wanted[j];
    for (int j = 0; j < BITS; j++) dy[j] = j < bits ? wanted[j] - ones * dy[j] / all : 0;
    return given - ones * std::log(all);
  }
};

/// The way back through a layer: cotangents of its state, output (which becomes that of its input) and rows.
void layer_back(const double *p, const Kept &k, double *dh, double *dc, double *dv, double *g) {
#pragma omp simd
  for (int j = 0; j < BITS; j++) {
    double a = dh[j] + dv[j], c = dc[j] + a * k.out[j] * (1 - square(k.top[j]));
    double o = a * k.top[j] * k.out[j] * (1 - k.out[j]), f = c * k.cell[j] * k.forget[j] * (1 - k.forget[j]);
    double i = c * k.change[j] * k.ingate[j] * (1 - k.ingate[j]), t = c * k.ingate[j] * (1 - square(k.change[j]));
    dc[j] = c * k.forget[j];
    g[j] += f * k.in[j], g[BITS + j] += i * k.hidden[j], g[2 * BITS + j] += o * k.in[j];
    g[3 * BITS + j] += t * k.hidden[j];
    g[4 * BITS + j] += f, g[5 * BITS + j] += i, g[6 * BITS + j] += o, g[7 * BITS + j] += t;
    dh[j] = i * p[BITS + j] + t * p[3 * BITS + j];
    dv[j] = f * p[j] + o * p[2 * BITS + j];
  }
}

/// Rows without their padding.
void unpadded(const std::vector<double> &from, int64_t bits, double *to) {
  for (size_t i = 0; i < from.size() / BITS; i++)
    std::copy(&from[i * BITS], &from[i * BITS] + bits, to + i * bits);
}

} // namespace

template <bool G> void lstm(Inputs in, Out value, Out gradient) {
  Lstm m(in);
  int64_t steps = m.length - 1;
  std::vector<Kept> kept(G ? steps * m.layers : m.layers);
  std::vector<double> dy((G ? steps : 1) * BITS), last(dy.size());
  double total = 0, scale = -1 / double(m.bits * steps);
  for (int64_t t = 0; t < steps; t++) {
    double v[BITS] = {};
    for (int j = 0; j < m.bits; j++) v[j] = m.sequence[t * m.bits + j] * m.extra[j];
    for (int64_t i = 0; i < m.layers; i++) m.layer(i, v, kept[(G ? t * m.layers : 0) + i]);
    std::copy(v, v + BITS, &last[G ? t * BITS : 0]);
    total += m.likelihood(m.sequence + (t + 1) * m.bits, v, &dy[G ? t * BITS : 0]);
  }
  value.set(total * scale);
  if (!G) return;
  std::vector<double> gw(m.w.size()), ge(3 * BITS), dh(m.layers * BITS), dc(m.layers * BITS);
  for (int64_t t = steps - 1; t >= 0; t--) {
    double dv[BITS];
    for (int j = 0; j < BITS; j++) {
      double d = scale * dy[t * BITS + j];
      ge[2 * BITS + j] += d, ge[BITS + j] += d * last[t * BITS + j];
      dv[j] = d * m.extra[BITS + j];
    }
    for (int64_t i = m.layers - 1; i >= 0; i--)
      layer_back(&m.w[i * 8 * BITS], kept[t * m.layers + i], &dh[i * BITS], &dc[i * BITS], dv, &gw[i * 8 * BITS]);
    for (int j = 0; j < m.bits; j++) ge[j] += dv[j] * m.sequence[t * m.bits + j];
  }
  double *g = gradient.of((3 + 8 * m.layers) * m.bits);
  unpadded(ge, m.bits, g);
  unpadded(gw, m.bits, g + 3 * m.bits);
}
PROBLEM(lstm)

/// The squared distances of points from the nearest centroids, and the Newton direction of the centroids. Eight
/// centroids are compared at a time.
template <bool G> void kmeans(Inputs in, Out value, Out gradient) {
  typedef int64_t Whole __attribute__((vector_size(64)));
  int64_t d = in.whole(1), k = in.size(0) / d, groups = (k + 7) / 8;
  const double *centroids = in.floats(0), *points = in.floats(2);
  std::vector<double> lanes(groups * d * 8, 1e140), counts(G ? k : 0), sums(G ? k * d : 0);
  for (int64_t c = 0; c < k; c++)
    for (int64_t j = 0; j < d; j++) lanes[(c / 8 * d + j) * 8 + c % 8] = centroids[c * d + j];
  double total = 0;
  for (const double *p = points; p < points + in.size(2); p += d) {
    Lanes least = Lanes{} + 1e300;
    Whole group = {};
    for (int64_t b = 0; b < groups; b++) {
      Lanes acc = {};
      for (int64_t j = 0; j < d; j++) {
        Lanes v = p[j] - *(const Unaligned *)&lanes[(b * d + j) * 8];
        acc += v * v;
      }
      auto less = acc < least;
      least = less ? acc : least;
      group = less ? Whole{} + b : group;
    }
    int best = 0;
    for (int i = 1; i < 8; i++) best = least[i] < least[best] ? i : best;
    total += least[best];
    if (!G) continue;
    int64_t at = 8 * group[best] + best;
    counts[at] += 1;
    for (int64_t j = 0; j < d; j++) sums[at * d + j] += p[j];
  }
  value.set(total);
  if (!G) return;
  double *g = gradient.of(k * d);
  for (int64_t i = 0; i < k * d; i++) g[i] = centroids[i] - sums[i] / counts[i / d];
}
PROBLEM(kmeans)
