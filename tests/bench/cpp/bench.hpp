// What all problems share. Each problem is a template `void NAME<bool G>(Inputs, Out value, Out gradient)`, and
// PROBLEM exports it as NAME_value (without a gradient) and NAME_gradient (with it). The arrays belong to the caller.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

[[noreturn]] inline void wrong(const char *why) {
  std::fprintf(stderr, "C++ by hand: %s\n", why);
  std::abort();
}

/// An array of Floats or of Ints; the other pointer is null.
struct Array {
  const double *floats;
  const int64_t *ints;
  int64_t n;
};

/// The leaves of an adl value, in the order of its fields. Numbers are arrays of length 1.
struct Inputs {
  const Array *arrays;
  int64_t n;
  const Array &at(int64_t i) const { return i < n ? arrays[i] : (wrong("too few inputs"), arrays[0]); }
  int64_t size(int64_t i) const { return at(i).n; }
  const double *floats(int64_t i) const { return at(i).floats ? at(i).floats : (wrong("no Floats"), nullptr); }
  const int64_t *ints(int64_t i) const { return at(i).ints ? at(i).ints : (wrong("no Ints"), nullptr); }
  double number(int64_t i) const { return size(i) ? floats(i)[0] : (wrong("no number"), 0); }
  int64_t whole(int64_t i) const { return size(i) ? ints(i)[0] : (wrong("no number"), 0); }
};

/// An array for a result. Without an address, the result is not wanted.
struct Out {
  double *array;
  int64_t n;
  /// Its elements, of which the problem writes `count`.
  double *of(int64_t count) const { return count == n ? array : (wrong("a result of another length"), nullptr); }
  void set(double v) const {
    if (array) *of(1) = v;
  }
};

#define PROBLEM(name)                                                                      \
  extern "C" void name##_value(Inputs in, Out value, Out) { name<false>(in, value, {}); }  \
  extern "C" void name##_gradient(Inputs in, Out value, Out g) { name<true>(in, value, g); }

/// Eight numbers in one vector register, or in several narrower ones.
typedef double Lanes __attribute__((vector_size(64)));
const int LANES = 8;

/// The same at any place of an array.
typedef double Unaligned __attribute__((vector_size(64), aligned(8)));

inline double sum(Lanes a) {
  double s = 0;
  for (int i = 0; i < LANES; i++) s += a[i];
  return s;
}

inline double square(double x) { return x * x; }
