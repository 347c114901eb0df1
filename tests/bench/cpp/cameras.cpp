// Bundle adjustment and hand tracking: Jacobians of rotations.
#include "bench.hpp"

namespace {

struct Vec {
  double x, y, z;
};

inline Vec operator+(Vec a, Vec b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
inline Vec operator-(Vec a, Vec b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
inline Vec operator*(double s, Vec a) { return {s * a.x, s * a.y, s * a.z}; }
inline double dot(Vec a, Vec b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
inline Vec cross(Vec a, Vec b) { return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x}; }

/// The rotation about an axis by its length.
struct Rotation {
  double angle, sin, cos;
  Vec axis;
  explicit Rotation(Vec r)
      : angle(std::sqrt(dot(r, r))), sin(std::sin(angle)), cos(std::cos(angle)), axis(1 / angle * r) {}
  Vec of(Vec v) const { return cos * v + sin * cross(axis, v) + dot(axis, v) * (1 - cos) * axis; }
  /// The cotangent of `v`.
  Vec back(Vec d) const { return cos * d + sin * cross(d, axis) + dot(axis, d) * (1 - cos) * axis; }
  /// The cotangent of the axis, with its length.
  Vec back_axis(Vec v, Vec d) const {
    double along = dot(axis, v), out = dot(axis, d);
    Vec by_axis = sin * cross(v, d) + (1 - cos) * (along * d + out * v);
    double by_angle = cos * dot(cross(axis, v), d) - sin * dot(v, d) + sin * along * out;
    return 1 / angle * (by_axis - dot(axis, by_axis) * axis) + by_angle * axis;
  }
};

/// Observations in one block, their inputs by columns.
const int BLOCK = 16;
struct Observations {
  double in[15][BLOCK], seen[2][BLOCK], error[2][BLOCK], jacobian[30][BLOCK];
};

/// The error of observation `b` and, if wanted, the two rows of its Jacobian by camera, point and weight.
template <bool G> inline void observe(Observations &o, int b) {
  auto in = [&](int k) { return o.in[k][b]; };
  Rotation turn({in(0), in(1), in(2)});
  Vec x = {in(11) - in(3), in(12) - in(4), in(13) - in(5)}, z = turn.of(x);
  double focal = in(6), weight = in(14), iz = 1 / z.z, flat[] = {z.x * iz, z.y * iz};
  double r2 = flat[0] * flat[0] + flat[1] * flat[1], lens = 1 + in(9) * r2 + in(10) * r2 * r2;
  for (int a = 0; a < 2; a++) {
    double off = flat[a] * lens * focal + in(7 + a) - o.seen[a][b];
    o.error[a][b] = weight * off;
    if (!G) continue;
    double scale = weight * focal, bend = 2 * scale * flat[a] * (in(9) + 2 * in(10) * r2);
    double u = flat[0] * bend + (a == 0 ? scale * lens : 0), v = flat[1] * bend + (a == 1 ? scale * lens : 0);
    Vec d = {u * iz, v * iz, -(u * flat[0] + v * flat[1]) * iz}, dx = turn.back(d), dr = turn.back_axis(x, d);
    double row[] = {dr.x, dr.y, dr.z, -dx.x, -dx.y, -dx.z, weight * flat[a] * lens, a == 0 ? weight : 0,
                    a == 1 ? weight : 0, scale * r2 * flat[a], scale * r2 * r2 * flat[a], dx.x, dx.y, dx.z, off};
    for (int k = 0; k < 15; k++) o.jacobian[15 * a + k][b] = row[k];
  }
}

} // namespace

/// Bundle adjustment: the errors of all observations and weights, and the Jacobian of each. The inputs are indices
/// of cameras, cameras, what was seen, indices of points, points, weights; the Jacobian goes by observation, then by
/// weight.
template <bool G> void ba(Inputs in, Out value, Out gradient) {
  int64_t p = in.size(5);
  const int64_t *camera = in.ints(0), *point = in.ints(3);
  const double *cameras = in.floats(1), *seen = in.floats(2), *points = in.floats(4), *weights = in.floats(5);
  double *errors = value.array ? value.of(3 * p) : nullptr, *jacobian = G ? gradient.of(31 * p) : nullptr;
  Observations o;
  for (int64_t start = 0; start < p; start += BLOCK) {
    int count = int(std::min<int64_t>(BLOCK, p - start));
    for (int b = 0; b < BLOCK; b++) {
      int64_t i = start + std::min(b, count - 1);
      for (int k = 0; k < 11; k++) o.in[k][b] = cameras[11 * camera[i] + k];
      for (int k = 0; k < 3; k++) o.in[11 + k][b] = points[3 * point[i] + k];
      o.in[14][b] = weights[i];
      for (int a = 0; a < 2; a++) o.seen[a][b] = seen[2 * i + a];
    }
#pragma omp simd
    for (int b = 0; b < BLOCK; b++) observe<G>(o, b);
    for (int b = 0; b < count; b++) {
      for (int a = 0; errors && a < 2; a++) errors[2 * (start + b) + a] = o.error[a][b];
      for (int k = 0; G && k < 30; k++) jacobian[30 * (start + b) + k] = o.jacobian[k][b];
    }
  }
  for (int64_t i = 0; i < p; i++) {
    if (errors) errors[2 * p + i] = 1 - weights[i] * weights[i];
    if (G) jacobian[30 * p + i] = -2 * weights[i];
  }
}
PROBLEM(ba)

namespace {

/// The upper three rows of a map of homogeneous coordinates.
struct Map {
  double m[12];
  Vec of(const double *p) const {
    auto row = [&](int i) { return m[i] * p[0] + m[i + 1] * p[1] + m[i + 2] * p[2] + m[i + 3] * p[3]; };
    return {row(0), row(4), row(8)};
  }
};

/// A product; the last row of `b` is (0, 0, 0, `last`).
Map times(const Map &a, const Map &b, double last = 1) {
  Map out;
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 4; j++) {
      double s = j == 3 ? a.m[4 * i + 3] * last : 0;
      for (int k = 0; k < 3; k++) s += a.m[4 * i + k] * b.m[4 * k + j];
      out.m[4 * i + j] = s;
    }
  return out;
}

/// Rotations about the first and the third axis, or their derivatives.
Map about_x(double a, bool slope) {
  double s = slope ? std::cos(a) : std::sin(a), c = slope ? -std::sin(a) : std::cos(a), one = !slope;
  return {{one, 0, 0, 0, 0, c, -s, 0, 0, s, c, 0}};
}
Map about_z(double a, bool slope) {
  double s = slope ? std::cos(a) : std::sin(a), c = slope ? -std::sin(a) : std::cos(a), one = !slope;
  return {{c, -s, 0, 0, s, c, 0, 0, 0, 0, one, 0}};
}

/// How the map of a bone depends on an angle.
struct Slope {
  int bone, angle;
  Map map;
};

/// The model of a hand, in the order of the fields of adl's record.
struct Hand {
  const double *positions, *relatives, *inverses, *weights, *points, *theta, *us;
  const int64_t *corners, *parents, *triangles;
  int bones;
  int64_t count;
  double mirror;
  std::vector<Map> maps;
  std::vector<Slope> slopes;

  explicit Hand(Inputs in)
      : positions(in.floats(0)), relatives(in.floats(1)), inverses(in.floats(2)), weights(in.floats(3)),
        points(in.floats(4)), theta(in.floats(5)), us(in.floats(6)), corners(in.ints(7)), parents(in.ints(8)),
        triangles(in.ints(9)), bones(int(in.size(8))), count(in.size(7)), mirror(in.number(10)) {}

  static Map top(const double *m) {
    Map out;
    std::copy(m, m + 12, out.m);
    return out;
  }
  /// The rotation of bone `b` in its joint, or its derivative by an angle (of -1: by none).
  Map joint(int b, int by) const {
    int finger = (b - 2) / 4, at = (b - 2) % 4, t = 6 + 4 * finger;
    if (b < 2 || at == 3) return about_x(0, false);
    if (at > 0) return about_x(theta[t + at + 1], by == t + at + 1);
    Map z = about_z(theta[t + 1], by == t + 1), x = about_x(theta[t], by == t);
    return times(z, x);
  }
  /// Fills `maps` and, with derivatives, `slopes`.
  void pose(bool derive) {
    std::vector<Map> absolute;
    for (int b = 0; b < bones; b++) {
      int64_t parent = parents[b];
      Map base = top(relatives + 16 * b), up = parent < 0 ? base : times(absolute[parent], base);
      size_t before = slopes.size();
      Map relative = times(base, joint(b, -1));
      for (size_t s = 0; derive && s < before; s++)
        if (slopes[s].bone == parent) slopes.push_back({b, slopes[s].angle, times(slopes[s].map, relative)});
      int at = (b - 2) % 4, t = 6 + 4 * ((b - 2) / 4);
      if (derive && b >= 2 && at < 3) {
        int first = at == 0 ? t : t + at + 1, last = at == 0 ? t + 1 : first;
        for (int angle = first; angle <= last; angle++) slopes.push_back({b, angle, times(up, joint(b, angle), 0)});
      }
      absolute.push_back(times(up, joint(b, -1)));
    }
    for (int b = 0; b < bones; b++) maps.push_back(times(absolute[b], top(inverses + 16 * b)));
    for (Slope &s : slopes) s.map = times(s.map, top(inverses + 16 * s.bone));
  }
  /// A vertex before the hand is turned.
  Vec bent(int64_t v) const {
    Vec out = {0, 0, 0};
    for (int b = 0; b < bones; b++) out = out + weights[v * bones + b] * maps[b].of(positions + 4 * v);
    return {mirror * out.x, out.y, out.z};
  }
  /// The columns of a point's rows, from its vertices and their weights.
  void rows(const Rotation &turn, const int64_t *corner, const double *u, const Vec *at, double *row) const {
    auto put = [&](int column, Vec v) { row[column] -= v.x, row[28 + column] -= v.y, row[56 + column] -= v.z; };
    for (int k = 0; k < 2; k++) put(k, turn.of(at[k] - at[2]));
    Vec inside = u[0] * at[0] + u[1] * at[1] + u[2] * at[2];
    for (int i = 0; i < 3; i++) {
      Vec d = turn.back_axis(inside, {double(i == 0), double(i == 1), double(i == 2)});
      row[28 * i + 2] -= d.x, row[28 * i + 3] -= d.y, row[28 * i + 4] -= d.z;
      row[28 * i + 5 + i] -= 1;
    }
    Vec by_angle[26] = {};
    for (const Slope &s : slopes)
      for (int k = 0; k < 3; k++) {
        double w = u[k] * weights[corner[k] * bones + s.bone];
        by_angle[s.angle] = by_angle[s.angle] + w * s.map.of(positions + 4 * corner[k]);
      }
    for (int k = 6; k < 26; k++) put(2 + k, turn.of({mirror * by_angle[k].x, by_angle[k].y, by_angle[k].z}));
  }
};

} // namespace

/// Hand tracking with points inside triangles: what the points are off by, and 28 derivatives of each coordinate.
template <bool G> void ht(Inputs in, Out value, Out gradient) {
  Hand hand(in);
  hand.pose(G);
  Rotation turn({hand.theta[0], hand.theta[1], hand.theta[2]});
  double *out = value.array ? value.of(3 * hand.count) : nullptr, *g = G ? gradient.of(84 * hand.count) : nullptr;
  if (G) std::fill(g, g + 84 * hand.count, 0.0);
  for (int64_t c = 0; c < hand.count; c++) {
    const int64_t *corner = hand.triangles + 3 * hand.corners[c];
    double u[] = {hand.us[2 * c], hand.us[2 * c + 1], 1 - hand.us[2 * c] - hand.us[2 * c + 1]};
    Vec at[3];
    for (int k = 0; k < 3; k++) at[k] = hand.bent(corner[k]);
    Vec place = turn.of(u[0] * at[0] + u[1] * at[1] + u[2] * at[2]);
    const double *p = hand.points + 3 * c, *centre = hand.theta + 3;
    if (out) out[3 * c] = p[0] - place.x - centre[0];
    if (out) out[3 * c + 1] = p[1] - place.y - centre[1], out[3 * c + 2] = p[2] - place.z - centre[2];
    if (G) hand.rows(turn, corner, u, at, g + 84 * c);
  }
}
PROBLEM(ht)
