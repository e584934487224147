// Arithmetic of the native engine: 16 lanes of float32 whatever the registers' width, matrix products, norms, softmax.
//
// Order of sums. A product adds up over k in order, for every element alone; a sum over lanes is a fixed tree of 16. So
// numbers depend on neither the rows beside them nor the registers' width. GCC's and clang's vector extensions, no
// intrinsics: AVX-512, AVX2 and NEON compile from this source.

#pragma once
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

#if defined(__clang__)
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

namespace {

// ---- 16 lanes, in as many registers as the machine needs ----

#if defined(__AVX512F__)
constexpr int WIDTH = 16;
#elif defined(__AVX__)
constexpr int WIDTH = 8;
#else
constexpr int WIDTH = 4;  // NEON
#endif
constexpr int LANES = 16, PARTS = LANES / WIDTH;
typedef float Register __attribute__((vector_size(4 * WIDTH)));
typedef int Integers __attribute__((vector_size(4 * WIDTH)));
typedef float Anywhere __attribute__((vector_size(4 * WIDTH), aligned(4), may_alias));

inline Register read(const float* p) { return (Register) * (const Anywhere*)p; }
inline void write(float* p, Register x) { *(Anywhere*)p = (Anywhere)x; }
inline Register every(float x) { return x - Register{}; }  // x + 0 would lose the sign of -0, and cost an addition

// Eight floats at any address, for heads whose halves are no 16 lanes.
typedef float Eight __attribute__((vector_size(32)));
typedef float EightAnywhere __attribute__((vector_size(32), aligned(4), may_alias));
inline Eight eight(const float* p) { return (Eight) * (const EightAnywhere*)p; }
inline void put(float* p, Eight x) { *(EightAnywhere*)p = (EightAnywhere)x; }
inline void soon(const float* p) { __builtin_prefetch(p); }  // any address will do: a wrong one is not read

struct V {
  Register part[PARTS];
};

#define EACH_PART UNROLL for (int i = 0; i < PARTS; i++)
inline V load(const float* p) { V v; EACH_PART v.part[i] = read(p + i * WIDTH); return v; }
inline void store(float* p, V v) { EACH_PART write(p + i * WIDTH, v.part[i]); }
inline V all(float x) { V v; EACH_PART v.part[i] = every(x); return v; }
inline V operator+(V a, V b) { EACH_PART a.part[i] += b.part[i]; return a; }
inline V operator-(V a, V b) { EACH_PART a.part[i] -= b.part[i]; return a; }
inline V operator*(V a, V b) { EACH_PART a.part[i] *= b.part[i]; return a; }
inline V operator/(V a, V b) { EACH_PART a.part[i] /= b.part[i]; return a; }
inline V fused(V a, V b, V c) { EACH_PART c.part[i] = a.part[i] * b.part[i] + c.part[i]; return c; }  // a b + c
inline V larger(V a, V b) { EACH_PART a.part[i] = a.part[i] > b.part[i] ? a.part[i] : b.part[i]; return a; }

// The first n lanes of v, then `other`.
inline V first(int n, V v, float other) {
  static const int LANE[LANES] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  EACH_PART {
    Integers lane;
    memcpy(&lane, LANE + i * WIDTH, sizeof lane);
    v.part[i] = lane < n ? v.part[i] : every(other);
  }
  return v;
}

// The lanes joined by an operation, in a fixed order: each with the one 8 after it, then 4, 2 and 1 after it.
typedef float Four __attribute__((vector_size(16)));
template <class Join> inline float fold(V v, Join join) {
  Four x[4];
  memcpy(x, &v, sizeof x);
  const Four both = join(join(x[0], x[2]), join(x[1], x[3]));
  return join(join(both[0], both[2]), join(both[1], both[3]));
}
inline float total(V v) { return fold(v, [](auto a, auto b) { return a + b; }); }
inline float highest(V v) { return fold(v, [](auto a, auto b) { return a > b ? a : b; }); }

// e^x within 2 units in the last place, for x in [-87, 88] (else at the limit); NaN stays NaN. A polynomial of Cephes.
inline V exponential(V v) {
  EACH_PART {
    Register x = v.part[i];
    x = every(-87.f) > x ? every(-87.f) : x;
    x = every(88.f) < x ? every(88.f) : x;
    const Register magic = every(12582912.f), shifted = x * 1.44269504088896341f + magic;  // its low bits: round(x / ln 2)
    const Register n = shifted - magic, r = (x - n * 0.693359375f) - n * -2.12194440e-4f;
    Register p = every(1.9875691500e-4f);
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * (r * r) + (r + 1.f);
    const Integers power = (((Integers)shifted - (Integers)magic) + 127) << 23;  // 2^n
    v.part[i] = p * (Register)power;
  }
  return v;
}
inline V sigmoid(V x) { return all(1.f) / (all(1.f) + exponential(all(0.f) - x)); }

// ---- memory ----

template <class T> struct Aligned {  // to cache lines: a load of 64 bytes then touches one
  typedef T value_type;
  Aligned() = default;
  template <class U> Aligned(const Aligned<U>&) {}
  T* allocate(size_t n) {
    void* p = std::aligned_alloc(64, (n * sizeof(T) + 63) / 64 * 64);
    if (p == nullptr) throw std::bad_alloc();
    return static_cast<T*>(p);
  }
  void deallocate(T* p, size_t) { std::free(p); }
  template <class U> bool operator==(const Aligned<U>&) const { return true; }
  template <class U> bool operator!=(const Aligned<U>&) const { return false; }
};
typedef std::vector<float, Aligned<float>> Floats;

// At least n floats, of any content and zero where they are new; of many no more than asked for, and never two at once.
inline float* room(Floats& v, size_t n) {
  constexpr size_t many = 1 << 25;  // smaller ones grow often, which a quarter to spare makes rare
  if (v.size() < n && n > many) Floats().swap(v);
  if (v.size() < n) v.resize(n > many ? n : n + n / 4);
  return v.data();
}
inline int padded(int n) { return (n + LANES - 1) / LANES * LANES; }

// ---- products: C = A B, or C += A B, or C = A B + bias ----

struct Left {  // A(i, k) = at[i * row + k * column], so that the same code multiplies by A transposed
  const float* at;
  long row, column;
};
enum Into { SET, ADD, GO_ON };  // C = A B (+ bias); C += A B; C = C + A B, as if C held the sums so far

template <int ROWS, int WIDE>
inline void tile(int K, Left a, const float* b, long ldb, float* c, long ldc, Into into, const float* bias) {
  if (K >= 32)  // else the sums are there before the lines of C
    UNROLL for (int i = 0; i < ROWS; i++)
      UNROLL for (int j = 0; j < WIDE; j += LANES / WIDTH) __builtin_prefetch(c + i * ldc + WIDTH * j, 1);
  Register sum[ROWS][WIDE];
  UNROLL for (int i = 0; i < ROWS; i++)
    UNROLL for (int j = 0; j < WIDE; j++) {
      const float* start = into == GO_ON ? c + i * ldc : bias;
      sum[i][j] = start ? read(start + WIDTH * j) : Register{};
    }
  for (int k = 0; k < K; k++) {
    Register right[WIDE];
    UNROLL for (int j = 0; j < WIDE; j++) right[j] = read(b + k * ldb + WIDTH * j);
    UNROLL for (int i = 0; i < ROWS; i++) {
      const Register left = every(a.at[i * a.row + k * a.column]);
      UNROLL for (int j = 0; j < WIDE; j++) sum[i][j] += left * right[j];
    }
  }
  UNROLL for (int i = 0; i < ROWS; i++)
    UNROLL for (int j = 0; j < WIDE; j++) {
      float* p = c + i * ldc + WIDTH * j;
      write(p, into == ADD ? read(p) + sum[i][j] : sum[i][j]);
    }
}

// M rows of a panel of WIDE registers: tiles of ROWS rows, then one of the remainder.
template <int ROWS, int WIDE>
void panel(int M, int K, Left a, const float* b, long ldb, float* c, long ldc, Into into, const float* bias) {
  for (; M >= ROWS; M -= ROWS, a.at += ROWS * a.row, c += ROWS * ldc) tile<ROWS, WIDE>(K, a, b, ldb, c, ldc, into, bias);
  if constexpr (ROWS > 1)
    if (M > 0) panel<ROWS - 1, WIDE>(M, K, a, b, ldb, c, ldc, into, bias);
}

// N is a multiple of LANES. The sums of a tile fill the registers.
void panels(int M, int N, int K, Left a, const float* b, long ldb, float* c, long ldc, Into into, const float* bias) {
  for (int n = 0; n < N;) {
    const float *right = b + n, *more = bias ? bias + n : nullptr;
    int taken = 1;
#if defined(__AVX512F__)
    const int left = (N - n) / LANES;
    taken = left == 5 ? 5 : std::min(left, 4);
    switch (taken) {
      case 5: panel<5, 5>(M, K, a, right, ldb, c + n, ldc, into, more); break;
      case 4: panel<6, 4>(M, K, a, right, ldb, c + n, ldc, into, more); break;
      case 3: panel<8, 3>(M, K, a, right, ldb, c + n, ldc, into, more); break;
      case 2: panel<12, 2>(M, K, a, right, ldb, c + n, ldc, into, more); break;
      default: panel<12, 1>(M, K, a, right, ldb, c + n, ldc, into, more);
    }
#else
    panel<6, PARTS>(M, K, a, right, ldb, c + n, ldc, into, more);
#endif
    n += taken * LANES;
  }
}

// Two rows at most: the sums of a narrow tile would wait for each other.
__attribute__((noinline)) void few_rows(int M, int N, int K, Left a, const float* b, long ldb, float* c, long ldc) {
  int n = 0;
  for (; n + 2 * LANES <= N; n += 2 * LANES) panel<2, 2 * PARTS>(M, K, a, b + n, ldb, c + n, ldc, SET, nullptr);
  if (n < N) panel<2, PARTS>(M, K, a, b + n, ldb, c + n, ldc, SET, nullptr);
}

constexpr int DEEP = 512;               // a wide panel of B has so many rows in the second cache
constexpr int COPIED = 24, APART = 256;  // rows of A transposed that are copied; where they lie so far apart

// C is M x N, K the inner size; N is a multiple of LANES. Large products come in parts that fit into caches: the order of
// each sum, and so its bits, are those of the whole.
void product(int M, int N, int K, Left a, const float* b, long ldb, float* c, long ldc, bool add = false,
             const float* bias = nullptr) {
  if (add && a.row == 1 && a.column >= APART && N >= APART) {  // columns of A that lie a power of two apart share a cache set
    static thread_local Floats copied;
    float* to = room(copied, size_t(K) * COPIED);
    for (int m = 0; m < M; m += COPIED) {
      const int rows = std::min(COPIED, M - m);
      for (int k = 0; k < K; k++) memcpy(to + size_t(k) * COPIED, a.at + m + k * a.column, sizeof(float) * rows);
      panels(rows, N, K, {to, 1, COPIED}, b, ldb, c + m * ldc, ldc, ADD, nullptr);
    }
    return;
  }
  if (add || K <= 2 * DEEP) return panels(M, N, K, a, b, ldb, c, ldc, add ? ADD : SET, bias);
  for (int k = 0; k < K; k += DEEP)
    panels(M, N, std::min(DEEP, K - k), {a.at + k * a.column, a.row, a.column}, b + k * ldb, ldb, c, ldc,
           k ? GO_ON : SET, bias);
}

// ---- vectors of a multiple of 16 lanes, of which `count` are not padding ----

inline float dot(const float* x, const float* y, int width) {
  V sum = all(0.f);
  for (int i = 0; i < width; i += LANES) sum = fused(load(x + i), load(y + i), sum);
  return total(sum);
}
// 1 / sqrt(mean(x^2) + epsilon), the factor of RMSNorm.
inline float rms(const float* x, int width, int count, float epsilon) {
  return 1.f / std::sqrt(dot(x, x, width) / count + epsilon);
}
inline void scale(const float* x, float r, const float* w, int width, float* out) {
  for (int i = 0; i < width; i += LANES) store(out + i, load(x + i) * all(r) * load(w + i));
}
// Gradients of w x r with r = rms(x): dw is added to, dx is added to or set.
inline void rms_back(const float* dy, const float* x, float r, const float* w, int width, int count, float* dx,
                     float* dw, bool add) {
  V along = all(0.f);
  for (int i = 0; i < width; i += LANES) {
    const V unit = load(x + i) * all(r), both = load(dy + i) * unit;
    store(dw + i, load(dw + i) + both);
    along = fused(both, load(w + i), along);
  }
  const V mean = all(total(along) / count);
  for (int i = 0; i < width; i += LANES) {
    const V unit = load(x + i) * all(r), d = all(r) * (load(dy + i) * load(w + i) - unit * mean);
    store(dx + i, add ? load(dx + i) + d : d);
  }
}
struct Sums {  // of a softmax: the largest number, and sum(exp(x - highest))
  float highest, z;
  float log() const { return highest + std::log(z); }  // log(sum(exp(x)))
};
// p = softmax of the first `count` numbers of x, then zeros up to `width`.
inline Sums softmax(const float* x, int count, int width, float* p) {
  V high = all(-INFINITY), sum = all(0.f);
  const int whole = count / LANES * LANES, used = padded(count);
  for (int j = 0; j < whole; j += LANES) high = larger(load(x + j), high);
  if (whole < count) high = larger(first(count - whole, load(x + whole), -INFINITY), high);
  const float most = highest(high);
  for (int j = 0; j < whole; j += LANES) {
    const V e = exponential(load(x + j) - all(most));
    store(p + j, e);
    sum = sum + e;
  }
  if (whole < count) {
    const V e = first(count - whole, exponential(load(x + whole) - all(most)), 0.f);
    store(p + whole, e);
    sum = sum + e;
  }
  const float z = total(sum);
  for (int j = 0; j < used; j += LANES) store(p + j, load(p + j) * all(1.f / z));
  for (int j = used; j < width; j += LANES) store(p + j, all(0.f));
  return {most, z};
}

}  // namespace
