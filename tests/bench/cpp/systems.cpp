// Simulations, filters, bodies, recursion.
#include "bench.hpp"

namespace {

struct Pair {
  double a, b;
};

/// y + h k.
Pair moved(Pair y, double h, Pair k) { return {y.a + h * k.a, y.b + h * k.b}; }

/// A step of the Runge-Kutta method; `at` gets the states at which the slope was taken.
template <class F> Pair step(F slope, double h, Pair y, Pair *at) {
  Pair k1 = slope(at[0] = y), k2 = slope(at[1] = moved(y, 0.5 * h, k1));
  Pair k3 = slope(at[2] = moved(y, 0.5 * h, k2)), k4 = slope(at[3] = moved(y, h, k3));
  return {y.a + h / 6 * (k1.a + 2 * k2.a + 2 * k3.a + k4.a), y.b + h / 6 * (k1.b + 2 * k2.b + 2 * k3.b + k4.b)};
}

/// The cotangent of a step's state. `back (state, cotangent)` is that of the slope.
template <class F> Pair step_back(F back, double h, const Pair *at, Pair d) {
  const double weight[] = {h / 6, h / 3, h / 3, h / 6}, reach[] = {0.5 * h, 0.5 * h, h, 0};
  Pair out = d, next = {0, 0};
  for (int i = 3; i >= 0; i--) {
    next = back(at[i], Pair{weight[i] * d.a + reach[i] * next.a, weight[i] * d.b + reach[i] * next.b});
    out = {out.a + next.a, out.b + next.b};
  }
  return out;
}

} // namespace

/// Van der Pol's oscillator for `n` steps up to time 20. States are kept, stages computed again.
template <bool G> void rk4(Inputs in, Out value, Out gradient) {
  double mu = in.number(0), h = 20.0 / double(in.whole(1)), dmu = 0;
  auto slope = [mu](Pair s) { return Pair{s.b, mu * (1 - s.a * s.a) * s.b - s.a}; };
  auto back = [mu, &dmu](Pair s, Pair d) {
    dmu += d.b * (1 - s.a * s.a) * s.b;
    return Pair{-d.b * (1 + 2 * mu * s.a * s.b), d.a + d.b * mu * (1 - s.a * s.a)};
  };
  int64_t n = in.whole(1);
  Pair y = {in.number(3), in.number(2)}, at[4];
  std::vector<Pair> kept(G ? n : 0);
  for (int64_t i = 0; i < n; i++) {
    if (G) kept[i] = y;
    y = step(slope, h, y, at);
  }
  value.set(y.a * y.a + y.b * y.b);
  if (!G) return;
  Pair d = {2 * y.a, 2 * y.b};
  for (int64_t i = n - 1; i >= 0; i--) {
    step(slope, h, kept[i], at);
    d = step_back(back, h, at, d);
  }
  double *g = gradient.of(3);
  g[0] = dmu, g[1] = d.b, g[2] = d.a;
}
PROBLEM(rk4)

namespace {

/// GradBench's chain y0' = x0, y_i' = x_i y_(i-1), and the buffers of a step of the Runge-Kutta method.
struct Chain {
  int64_t n;
  const double *x;
  double h;
  std::vector<double> stages, k;

  /// k = x (1, y0, y1, ...).
  void slope(const double *y) {
    k[0] = x[0];
    for (int64_t i = 1; i < n; i++) k[i] = x[i] * y[i - 1];
  }
  /// From `y` to `next`; `stages` gets the states of the last three slopes.
  void step(const double *y, double *next) {
    const double weight[] = {h / 6, h / 3, h / 3, h / 6}, reach[] = {0.5 * h, 0.5 * h, h};
    std::copy(y, y + n, next);
    for (int s = 0; s < 4; s++) {
      slope(stage(y, s));
      for (int64_t i = 0; i < n; i++) next[i] += weight[s] * k[i];
      for (int64_t i = 0; s < 3 && i < n; i++) stages[s * n + i] = y[i] + reach[s] * k[i];
    }
  }
  const double *stage(const double *y, int s) const { return s == 0 ? y : &stages[(s - 1) * n]; }
  /// The cotangent `d` of a step's result becomes that of `y`; that of `x` is added to `dx`.
  void back(const double *y, double *d, double *dx, double *sum, double *ds) {
    const double weight[] = {h / 6, h / 3, h / 3, h / 6}, reach[] = {0.5 * h, 0.5 * h, h, 0};
    std::copy(d, d + n, sum);
    std::fill(ds, ds + n, 0.0);
    for (int s = 3; s >= 0; s--) {
      const double *at = stage(y, s);
      for (int64_t i = 0; i < n; i++) k[i] = weight[s] * d[i] + reach[s] * ds[i];
      dx[0] += k[0];
      for (int64_t i = 1; i < n; i++) {
        dx[i] += at[i - 1] * k[i];
        ds[i - 1] = x[i] * k[i];
      }
      ds[n - 1] = 0;
      for (int64_t i = 0; i < n; i++) sum[i] += ds[i];
    }
    std::copy(sum, sum + n, d);
  }
};

} // namespace

/// The state of a chain at time 2 after `s` steps, and the gradient of its last number.
template <bool G> void ode(Inputs in, Out value, Out gradient) {
  int64_t s = in.whole(0), n = in.size(1);
  Chain chain = {n, in.floats(1), 2.0 / double(s), std::vector<double>(3 * n), std::vector<double>(n)};
  std::vector<double> states((G ? s + 1 : 2) * n);
  for (int64_t i = 0; i < s; i++)
    chain.step(&states[(G ? i : i % 2) * n], &states[(G ? i + 1 : (i + 1) % 2) * n]);
  const double *last = &states[(G ? s : s % 2) * n];
  if (value.array) std::copy(last, last + n, value.of(n));
  if (!G) return;
  double *dx = gradient.of(n);
  std::vector<double> d(n), sum(n), ds(n);
  std::fill(dx, dx + n, 0.0);
  d[n - 1] = 1;
  for (int64_t i = s - 1; i >= 0; i--) {
    if (i < s - 1) chain.step(&states[i * n], sum.data());
    chain.back(&states[i * n], d.data(), dx, sum.data(), ds.data());
  }
}
PROBLEM(ode)

namespace {

const double DT = 0.1, NOISE[] = {DT * DT * DT / 3, DT * DT / 2, DT};

/// Position and speed with their covariance ((a, b), (b, c)); also their cotangents.
struct Filter {
  double x, v, a, b, c;
};

Filter predicted(Filter f, double q) {
  return {f.x + DT * f.v, f.v, f.a + 2 * DT * f.b + DT * DT * f.c + q * NOISE[0], f.b + DT * f.c + q * NOISE[1],
          f.c + q * NOISE[2]};
}

Filter predicted_back(Filter d, double *dq) {
  *dq += d.a * NOISE[0] + d.b * NOISE[1] + d.c * NOISE[2];
  return {d.x, d.v + DT * d.x, d.a, d.b + 2 * DT * d.a, d.c + DT * DT * d.a + DT * d.b};
}

Filter corrected(Filter f, double r, double z, double *likelihood) {
  double s = f.a + r, is = 1 / s, y = z - f.x, k = f.a * is, l = f.b * is;
  *likelihood -= 0.5 * (std::log(2 * M_PI * s) + y * y * is);
  return {f.x + k * y, f.v + l * y, f.a - k * f.a, f.b - k * f.b, f.c - l * f.b};
}

Filter corrected_back(Filter f, double r, double z, Filter d, double *dr) {
  double is = 1 / (f.a + r), y = z - f.x, k = f.a * is, l = f.b * is;
  double dk = d.x * y - d.a * f.a - d.b * f.b, dl = d.v * y - d.c * f.b, dy = d.x * k + d.v * l - y * is;
  double ds = -(dk * k + dl * l) * is - 0.5 * is + 0.5 * y * y * is * is;
  *dr += ds;
  return {d.x - dy, d.v, d.a * (1 - k) + dk * is + ds, d.b * (1 - k) - d.c * l + dl * is, d.c};
}

} // namespace

/// The log likelihood of measurements under Kalman's filter with constant velocity.
template <bool G> void kalman(Inputs in, Out value, Out gradient) {
  double q = in.number(0), r = in.number(1), total = 0;
  int64_t n = in.size(3);
  const double *start = in.floats(2), *z = in.floats(3);
  std::vector<Filter> kept(G ? n : 0);
  Filter f = {start[0], start[1], 1, 0, 1};
  for (int64_t t = 0; t < n; t++) {
    f = predicted(f, q);
    if (G) kept[t] = f;
    f = corrected(f, r, z[t], &total);
  }
  value.set(total);
  if (!G) return;
  double *g = gradient.of(4 + n);
  g[0] = g[1] = 0;
  Filter d = {0, 0, 0, 0, 0};
  for (int64_t t = n - 1; t >= 0; t--) {
    double x = d.x;
    d = corrected_back(kept[t], r, z[t], d, &g[1]);
    g[4 + t] = x - d.x; // a measurement acts by its difference from the prediction
    d = predicted_back(d, &g[0]);
  }
  g[2] = d.x, g[3] = d.v;
}
PROBLEM(kalman)

namespace {

/// A 4 by 4 matrix, by rows.
struct Four {
  double m[16];
  double &at(int i, int j) { return m[4 * i + j]; }
  double at(int i, int j) const { return m[4 * i + j]; }
};

/// a b, a bᵀ and aᵀ b.
Four times(const Four &a, const Four &b) {
  Four out = {};
  for (int i = 0; i < 4; i++)
    for (int k = 0; k < 4; k++)
      for (int j = 0; j < 4; j++) out.at(i, j) += a.at(i, k) * b.at(k, j);
  return out;
}
Four transposed(const Four &a) {
  Four out;
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++) out.at(i, j) = a.at(j, i);
  return out;
}
Four times_t(const Four &a, const Four &b) { return times(a, transposed(b)); }
Four t_times(const Four &a, const Four &b) { return times(transposed(a), b); }

/// A filter of positions in the plane and their speeds: state and covariance before and after a prediction, the inverse
/// of the innovation's covariance, the error and the gain of a step.
struct Step {
  double x[4], y[4], inverse[3], e[2], gain[4][2];
  Four p, a, b;
};

/// A step from (x, p); returns its part of the log likelihood.
double plane_step(const Four &f, double q2, double r2, const double *z, Step &s, double *x, Four &p) {
  s.p = p;
  s.a = times(f, p);
  s.b = times_t(s.a, f);
  for (int i = 0; i < 4; i++) {
    s.x[i] = x[i], s.y[i] = 0;
    s.b.at(i, i) += q2;
  }
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++) s.y[i] += f.at(i, j) * x[j];
  double u = s.b.at(0, 0) + r2, v = s.b.at(0, 1), w = s.b.at(1, 1) + r2, det = u * w - v * v, id = 1 / det;
  double *n = s.inverse;
  n[0] = w * id, n[1] = -v * id, n[2] = u * id;
  double e = s.e[0] = z[0] - s.y[0], g = s.e[1] = z[1] - s.y[1];
  for (int i = 0; i < 4; i++) {
    double *k = s.gain[i];
    k[0] = s.b.at(i, 0) * n[0] + s.b.at(i, 1) * n[1], k[1] = s.b.at(i, 0) * n[1] + s.b.at(i, 1) * n[2];
    x[i] = s.y[i] + k[0] * e + k[1] * g;
    for (int j = 0; j < 4; j++) p.at(i, j) = s.b.at(i, j) - k[0] * s.b.at(0, j) - k[1] * s.b.at(1, j);
  }
  return -0.5 * (n[0] * e * e + 2 * n[1] * e * g + n[2] * g * g + std::log(det)) - std::log(2 * M_PI);
}

/// The cotangents of a step's result become those of its (x, p); those of f, q² and r² are added.
void plane_back(const Four &f, const Step &s, double *dx, Four &dp, Four &df, double *dq2, double *dr2) {
  const double *n = s.inverse;
  double inverse[2][2] = {{n[0], n[1]}, {n[1], n[2]}}, de[2], dn[2][2], ds[2][2] = {}, dk[4][2];
  Four db = dp;
  for (int a = 0; a < 2; a++) {
    de[a] = -inverse[a][0] * s.e[0] - inverse[a][1] * s.e[1];
    for (int c = 0; c < 2; c++) dn[a][c] = -0.5 * s.e[a] * s.e[c];
    for (int i = 0; i < 4; i++) {
      de[a] += s.gain[i][a] * dx[i];
      dk[i][a] = dx[i] * s.e[a];
      for (int j = 0; j < 4; j++) {
        dk[i][a] -= dp.at(i, j) * s.b.at(a, j);
        db.at(a, j) -= s.gain[i][a] * dp.at(i, j);
      }
    }
  }
  for (int i = 0; i < 4; i++)
    for (int a = 0; a < 2; a++)
      for (int c = 0; c < 2; c++) {
        dn[a][c] += s.b.at(i, a) * dk[i][c];
        db.at(i, a) += dk[i][c] * inverse[a][c];
      }
  for (int a = 0; a < 2; a++)
    for (int c = 0; c < 2; c++) {
      ds[a][c] = -0.5 * inverse[a][c];
      for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) ds[a][c] -= inverse[a][i] * dn[i][j] * inverse[j][c];
      db.at(a, c) += ds[a][c];
    }
  *dr2 += ds[0][0] + ds[1][1];
  for (int i = 0; i < 4; i++) *dq2 += db.at(i, i);
  Four da = times(db, f), by_b = t_times(db, s.a), by_a = times_t(da, s.p);
  double dy[4] = {dx[0] - de[0], dx[1] - de[1], dx[2], dx[3]};
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++) df.at(i, j) += by_b.at(i, j) + by_a.at(i, j) + dy[i] * s.x[j];
  dp = t_times(f, da);
  for (int j = 0; j < 4; j++) {
    dx[j] = 0;
    for (int i = 0; i < 4; i++) dx[j] += f.at(i, j) * dy[i];
  }
}

} // namespace

/// The log likelihood of positions in the plane. The inputs are damping, the time of a step, noises, and positions.
template <bool G> void plane(Inputs in, Out value, Out gradient) {
  double damping = in.number(0), dt = in.number(1), q = in.number(2), r = in.number(3), total = 0;
  int64_t n = in.size(4) / 2;
  Four f = {{1, 0, dt, 0, 0, 1, 0, dt, 0, 0, damping, 0, 0, 0, 0, damping}}, p = {};
  double x[4] = {};
  for (int i = 0; i < 4; i++) p.at(i, i) = 10;
  std::vector<Step> steps(G ? n : 1);
  for (int64_t t = 0; t < n; t++)
    total += plane_step(f, q * q, r * r, in.floats(4) + 2 * t, steps[G ? t : 0], x, p);
  value.set(total);
  if (!G) return;
  Four df = {}, dp = {};
  double dx[4] = {}, dq2 = 0, dr2 = 0, *g = gradient.of(4);
  for (int64_t t = n - 1; t >= 0; t--) plane_back(f, steps[t], dx, dp, df, &dq2, &dr2);
  g[0] = df.at(2, 2) + df.at(3, 3), g[1] = df.at(0, 2) + df.at(1, 3), g[2] = 2 * q * dq2, g[3] = 2 * r * dr2;
}
PROBLEM(plane)

/// The potential of bodies that attract each other: pairs once for the value, all pairs for the forces.
template <bool G> void bodies(Inputs in, Out value, Out gradient) {
  int64_t n = in.size(0) / 3;
  const double *at = in.floats(0);
  double *g = G ? gradient.of(3 * n) : nullptr, total = 0;
  std::vector<double> x(n), y(n), z(n);
  for (int64_t i = 0; i < n; i++) x[i] = at[3 * i], y[i] = at[3 * i + 1], z[i] = at[3 * i + 2];
  for (int64_t i = 0; i < n; i++) {
    double a = x[i], b = y[i], c = z[i], e = 0, fx = 0, fy = 0, fz = 0;
    for (int64_t j = 0; j < (G ? n : i); j++) {
      double dx = a - x[j], dy = b - y[j], dz = c - z[j], r = 1 / std::sqrt(dx * dx + dy * dy + dz * dz + 0.01);
      e += r;
      if (G) fx += dx * r * r * r, fy += dy * r * r * r, fz += dz * r * r * r;
    }
    total += e;
    if (G) g[3 * i] = fx, g[3 * i + 1] = fy, g[3 * i + 2] = fz;
  }
  value.set(G ? -0.5 * (total - double(n) / std::sqrt(0.01)) : -total);
}
PROBLEM(bodies)

namespace {

/// A tree of which the nodes are numbers: their children, or -1 for a leaf. Leaf k has the number k - (leaves - 1).
struct Tree {
  const double *leaves;
  int64_t n;
  const int64_t *left, *right;

  double squares(int64_t k) const {
    return left[k] < 0 ? square(leaves[k - (n - 1)]) : squares(left[k]) + squares(right[k]);
  }
  void back(int64_t k, double d, double *g) const {
    if (left[k] < 0) {
      g[k - (n - 1)] = 2 * d * leaves[k - (n - 1)];
    } else {
      back(left[k], d, g);
      back(right[k], d, g);
    }
  }
};

} // namespace

/// The sum of squares of a tree's leaves, by recursion.
template <bool G> void tree(Inputs in, Out value, Out gradient) {
  Tree t = {in.floats(0), in.size(0), in.ints(1), in.ints(2)};
  value.set(t.squares(0));
  if (G) t.back(0, 1, gradient.of(t.n));
}
PROBLEM(tree)

namespace {

double factor(int depth) { return depth % 2 ? 0.5 : 1.0; }

/// l + factor r + 0.1 l r of both halves; `kept`, if there is one, gets l and r of each node.
double folded(const double *x, int64_t n, int depth, double **kept) {
  if (n == 1) return std::sin(x[0]);
  double l = folded(x, n / 2, depth + 1, kept), r = folded(x + n / 2, n - n / 2, depth + 1, kept);
  if (kept) *(*kept)++ = l, *(*kept)++ = r;
  return l + r * factor(depth) + 0.1 * l * r;
}

void folded_back(const double *x, int64_t n, int depth, double **kept, double d, double *g) {
  if (n == 1) {
    g[0] = d * std::cos(x[0]);
    return;
  }
  double r = *--*kept, l = *--*kept;
  folded_back(x + n / 2, n - n / 2, depth + 1, kept, d * (factor(depth) + 0.1 * l), g + n / 2);
  folded_back(x, n / 2, depth + 1, kept, d * (1 + 0.1 * r), g);
}

} // namespace

/// A fold over halves of an array that is not linear in either half.
template <bool G> void treesum(Inputs in, Out value, Out gradient) {
  int64_t n = in.size(0);
  std::vector<double> kept(G ? 2 * n : 0);
  double *top = kept.data();
  value.set(folded(in.floats(0), n, 0, G ? &top : nullptr));
  if (G) folded_back(in.floats(0), n, 0, &top, 1, gradient.of(n));
}
PROBLEM(treesum)

namespace {

/// The minor of a matrix below `row` in the columns `cols`; `kept`, if there is one, gets all smaller minors.
double minor_of(const double *a, int l, int row, const int *cols, std::vector<double> *kept) {
  int n = l - row, rest[32];
  if (n == 1) return a[row * l + cols[0]];
  double total = 0;
  for (int j = 0; j < n; j++) {
    std::copy(cols, cols + j, rest);
    std::copy(cols + j + 1, cols + n, rest + j);
    double m = minor_of(a, l, row + 1, rest, kept);
    total += (j % 2 ? -m : m) * a[row * l + cols[j]];
    if (kept) kept->push_back(m);
  }
  return total;
}

void minor_back(const double *a, int l, int row, const int *cols, const double **kept, double d, double *g) {
  int n = l - row, rest[32];
  if (n == 1) {
    g[row * l + cols[0]] += d;
    return;
  }
  for (int j = n - 1; j >= 0; j--) {
    std::copy(cols, cols + j, rest);
    std::copy(cols + j + 1, cols + n, rest + j);
    double s = j % 2 ? -d : d;
    g[row * l + cols[j]] += s * *--*kept;
    minor_back(a, l, row + 1, rest, kept, s * a[row * l + cols[j]], g);
  }
}

} // namespace

/// The determinant by minors, along the first row of what is left.
template <bool G> void det(Inputs in, Out value, Out gradient) {
  int l = int(in.whole(1)), cols[32];
  if (l > 32 || l * l != in.size(0)) wrong("a matrix of another size");
  for (int j = 0; j < l; j++) cols[j] = j;
  std::vector<double> kept;
  value.set(minor_of(in.floats(0), l, 0, cols, G ? &kept : nullptr));
  if (!G) return;
  double *g = gradient.of(l * l);
  std::fill(g, g + l * l, 0.0);
  const double *top = kept.data() + kept.size();
  minor_back(in.floats(0), l, 0, cols, &top, 1, g);
}
PROBLEM(det)
