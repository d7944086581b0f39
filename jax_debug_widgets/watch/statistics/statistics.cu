// The statistics of arrays of any sizes and types: a row of `layout.STATISTICS` for each. NVRTC compiles this file.
//
// Three kernels run one after the other on XLA's stream:
//   statistics_read      reads all arrays once. Each block has a part of one array.
//   statistics_write     makes the row of each array. It marks the arrays that are odd, see `layout.SMALL`.
//   statistics_read_odd  reads the odd arrays again, and makes their rows. Where none is odd, its blocks return at once.
//
// Sums of a few elements are float32, and sums of those are float64. Elements are compared with the mean of their chunk:
// squares of numbers far from zero keep no digits of how they differ.

#define MOST 128  // Arrays of a job.
#ifndef THREADS
#define THREADS 256
#endif
#define CHUNK 16  // Elements that a thread has in registers at once.
#define STRETCH (THREADS * CHUNK)
#define PART_BYTES 64
#define LARGEST 3.4028234663852886e38f
#define LEAST 1.1754943508222875e-38f
#define SMALL 1e-16f

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned long long u64;

// What the handler in `cuda.py` writes. The order and the types of the fields must agree with its `_JOB`.
struct Job {
  const void* data[MOST];
  long long size[MOST];
  int type[MOST];       // XLA's number of the element type.
  int first[MOST + 1];  // The first block of each array, and how many blocks there are.
  int arrays;
  int base;   // How many arrays earlier jobs of this call had.
  int rows;   // Of the table.
  int width;  // Columns of the table.
  const int* order;  // For each row of the table, the number of its array.
  float* table;
  void* parts;      // For each block, a `Plain` or an `Odd`.
  unsigned* marks;  // For each array: whether it is odd, and how many blocks have read it again.
  const u8* wanted;  // A boolean of the program: whether to read the arrays. Null if they are always read.
};

struct Plain {  // `apart` is the sum of squares of distances from the mean.
  double count, mean, apart;
  float low, high;
  u64 zeros;
};

struct Odd {  // `total` to `zeros` are those of the finite elements.
  double total, squares;
  float low, high;
  u64 count, zeros, nan, above, below;
};

static_assert(sizeof(Plain) <= PART_BYTES && sizeof(Odd) <= PART_BYTES, "each block has so much scratch: `layout.scratch_of`");

// --- Elements as float32, as `statistics.as_float` has them ---

__device__ float infinity() { return __int_as_float(0x7f800000); }
__device__ float not_a_number() { return __int_as_float(0x7fc00000); }

__device__ float of_half(u16 bits) {
#ifdef __CUDA_ARCH__
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
#else
  return host_half(bits);
#endif
}

__device__ float of_double(double value) {
  if (!isfinite(value)) return (float)value;
  if (fabs(value) > LARGEST) return value > 0 ? LARGEST : -LARGEST;
  if (value != 0 && fabs(value) < LEAST) return value > 0 ? LEAST : -LEAST;
  return (float)value;
}

__device__ float of_e4m3fn(u8 bits) {
  if ((bits & 0x7f) == 0x7f) return not_a_number();
  unsigned wide = (unsigned)(bits & 0x80) << 24 | (unsigned)(bits & 0x7f) << 20;
  return __int_as_float((int)wide) * __int_as_float(0x7b800000);  // 2^120: the difference of the exponents' biases.
}

struct Bool { typedef u8 Kept; static __device__ float of(Kept x) { return x ? 1.f : 0.f; } };
struct Half { typedef u16 Kept; static __device__ float of(Kept x) { return of_half(x); } };
struct Brain { typedef u16 Kept; static __device__ float of(Kept x) { return __int_as_float((int)((unsigned)x << 16)); } };
struct E5M2 { typedef u8 Kept; static __device__ float of(Kept x) { return of_half((u16)(x << 8)); } };
struct E4M3 { typedef u8 Kept; static __device__ float of(Kept x) { return of_e4m3fn(x); } };
struct Double { typedef double Kept; static __device__ float of(Kept x) { return of_double(x); } };
template <class T> struct Number { typedef T Kept; static __device__ float of(Kept x) { return (float)x; } };

struct Complex64 {
  struct Kept { float real, imag; };
  static __device__ float of(Kept x) {
    if (isinf(x.real) || isinf(x.imag)) return infinity();
    float size = hypotf(x.real, x.imag);
    return size > LARGEST ? LARGEST : size;
  }
};

struct Complex128 {
  struct Kept { double real, imag; };
  static __device__ float of(Kept x) {
    if (isinf(x.real) || isinf(x.imag)) return infinity();
    double size = hypot(x.real, x.imag);
    return isinf(size) ? LARGEST : of_double(size);
  }
};

// --- What is seen ---

__device__ void clear(Plain& to) { to = {0, 0, 0, infinity(), -infinity(), 0}; }
__device__ void clear(Odd& to) { to = {0, 0, infinity(), -infinity(), 0, 0, 0, 0, 0}; }

__device__ void join(Plain& to, const Plain& other) {
  if (other.count == 0) return;
  double count = to.count + other.count, away = other.mean - to.mean;
  to.apart += other.apart + away * away * to.count * (other.count / count);
  to.mean = to.count == 0 ? other.mean : to.mean + away * (other.count / count);
  to.count = count;
  to.low = fminf(to.low, other.low);
  to.high = fmaxf(to.high, other.high);
  to.zeros += other.zeros;
}

__device__ void join(Odd& to, const Odd& other) {
  to.total += other.total;
  to.squares += other.squares;
  to.low = fminf(to.low, other.low);
  to.high = fmaxf(to.high, other.high);
  to.count += other.count;
  to.zeros += other.zeros;
  to.nan += other.nan;
  to.above += other.above;
  to.below += other.below;
}

// The threads of a block join what they have seen; thread 0 returns all of it.
template <class Seen> __device__ Seen joined(Seen mine) {
  __shared__ Seen all[THREADS];
  all[threadIdx.x] = mine;
  __syncthreads();
  for (int half = THREADS / 2; half; half /= 2) {
    if ((int)threadIdx.x < half) join(all[threadIdx.x], all[threadIdx.x + half]);
    __syncthreads();
  }
  Seen found = all[0];
  __syncthreads();
  return found;
}

// What one thread has seen: float32, for speed.
struct Few { float count, mean, apart, low, high; unsigned zeros; };

template <int N> __device__ void see_chunk(Few& to, const float (&x)[N]) {
  float total = 0, apart = 0;
#pragma unroll
  for (int i = 0; i < N; i++) {
    total += x[i];
    to.low = fminf(to.low, x[i]);
    to.high = fmaxf(to.high, x[i]);
    to.zeros += x[i] == 0;
  }
  float mean = total * (1.f / N);
#pragma unroll
  for (int i = 0; i < N; i++) apart = fmaf(x[i] - mean, x[i] - mean, apart);
  float count = to.count + N, away = mean - to.mean, share = N / count;
  to.apart += apart + away * away * to.count * share;
  to.mean = fmaf(away, share, to.mean);
  to.count = count;
}

__device__ void see_odd_one(Odd& to, float x) {
  if (isnan(x)) to.nan++;
  else if (isinf(x)) x > 0 ? to.above++ : to.below++;
  else {
    to.total += x;
    to.squares += (double)x * x;
    to.low = fminf(to.low, x);
    to.high = fmaxf(to.high, x);
    to.count++;
    to.zeros += x == 0;
  }
}

// Elements `start` to `stop` of an array; `start` is a multiple of STRETCH. Each load of a thread is 16 bytes.
template <class Type> __device__ Plain see_part(const void* data, long long start, long long stop) {
  typedef typename Type::Kept Kept;
  const int in_load = 16 / sizeof(Kept), loads = CHUNK / in_load;
  const Kept* x = (const Kept*)data;
  Few few = {0, 0, 0, infinity(), -infinity(), 0};
  long long at = start;
  if (((u64)data & 15) == 0)
    for (; at + STRETCH <= stop; at += STRETCH) {
      union Load { uint4 bits; Kept kept[in_load]; __device__ Load() {} };
      float chunk[CHUNK];
      const uint4* from = (const uint4*)(x + at) + threadIdx.x;
#pragma unroll
      for (int load = 0; load < loads; load++) {
        Load now;
        now.bits = from[load * THREADS];
#pragma unroll
        for (int i = 0; i < in_load; i++) chunk[load * in_load + i] = Type::of(now.kept[i]);
      }
      see_chunk(few, chunk);
    }
  for (at += threadIdx.x; at < stop; at += THREADS) {
    float one[1] = {Type::of(x[at])};
    see_chunk(few, one);
  }
  return {few.count, few.mean, few.apart, few.low, few.high, few.zeros};
}

template <class Type> __device__ Odd see_odd_part(const void* data, long long start, long long stop) {
  const typename Type::Kept* x = (const typename Type::Kept*)data;
  Odd odd;
  clear(odd);
  for (long long at = start + threadIdx.x; at < stop; at += THREADS) see_odd_one(odd, Type::of(x[at]));
  return odd;
}

#define OF_EACH_TYPE(DO)                                                                        \
  switch (type) {                                                                               \
    case 1: DO(Bool) case 2: DO(Number<signed char>) case 3: DO(Number<short>)                  \
    case 4: DO(Number<int>) case 5: DO(Number<long long>) case 6: DO(Number<u8>)                \
    case 7: DO(Number<u16>) case 8: DO(Number<unsigned>) case 9: DO(Number<u64>)                \
    case 10: DO(Half) case 12: DO(Double) case 15: DO(Complex64) case 16: DO(Brain)             \
    case 18: DO(Complex128) case 19: DO(E5M2) case 20: DO(E4M3) default: DO(Number<float>)      \
  }

__device__ float element(const void* data, long long at, int type) {
#define DO(Type) return Type::of(((const typename Type::Kept*)data)[at]);
  OF_EACH_TYPE(DO)
#undef DO
}

// --- Rows ---

__device__ void write_rows(const Job& job, int array, const float (&row)[9]) {
  for (int at = threadIdx.x; at < job.rows; at += THREADS)
    if (job.order[at] == job.base + array)
      for (int column = 0; column < job.width; column++) job.table[(long long)at * job.width + column] = row[column];
}

// The array that this block reads, and which part of it.
struct Mine { int array; long long start, stop; };

__device__ Mine mine_of(const Job& job) {
  int array = 0, block = blockIdx.x;
  while (job.first[array + 1] <= block) array++;
  long long size = job.size[array], blocks = job.first[array + 1] - job.first[array];
  long long length = ((size + blocks - 1) / blocks + STRETCH - 1) / STRETCH * STRETCH;
  long long start = length * (block - job.first[array]);
  return {array, start, start + length < size ? start + length : size};
}

__device__ bool is_wanted(const Job& job) { return !job.wanted || *job.wanted; }

extern "C" __global__ void __launch_bounds__(THREADS) statistics_read(const Job job) {
  if (!is_wanted(job)) return;
  Mine mine = mine_of(job);
  const void* data = job.data[mine.array];
  int type = job.type[mine.array];
  Plain seen;
#define DO(Type) seen = see_part<Type>(data, mine.start, mine.stop); break;
  OF_EACH_TYPE(DO)
#undef DO
  seen = joined(seen);
  if (threadIdx.x == 0) ((Plain*)job.parts)[blockIdx.x] = seen;
}

// One block for each array.
extern "C" __global__ void __launch_bounds__(THREADS) statistics_write(const Job job) {
  if (!is_wanted(job)) return;
  int array = blockIdx.x, type = job.type[array];
  if (job.size[array] == 1) {
    float value = type == 4 || type == 8 ? *(const float*)job.data[array] : element(job.data[array], 0, type);
    float row[9] = {value, 0, 0, 0, 0, 0, 0, 0, 0};
    write_rows(job, array, row);
    return;
  }
  Plain seen;
  clear(seen);
  for (int block = job.first[array] + threadIdx.x; block < job.first[array + 1]; block += THREADS)
    join(seen, ((const Plain*)job.parts)[block]);
  seen = joined(seen);
  float largest = fmaxf(-seen.low, seen.high);
  bool is_plain = isfinite(seen.mean) && isfinite(seen.apart) && (largest > SMALL || largest == 0);
  if (threadIdx.x == 0) job.marks[2 * array] = !is_plain, job.marks[2 * array + 1] = 0;
  if (!is_plain) return;
  float std = (float)sqrt(seen.apart / seen.count);
  double norm = sqrt(seen.apart + seen.count * seen.mean * seen.mean);
  float row[9] = {seen.low, seen.high, (float)seen.mean, std, of_double(norm), (float)seen.zeros, 0, 0, 0};
  write_rows(job, array, row);
}

extern "C" __global__ void __launch_bounds__(THREADS) statistics_read_odd(const Job job) {
  if (!is_wanted(job)) return;
  Mine mine = mine_of(job);
  int array = mine.array, type = job.type[array], first = job.first[array], blocks = job.first[array + 1] - first;
  if (job.marks[2 * array] == 0) return;
  Odd seen;
#define DO(Type) seen = see_odd_part<Type>(job.data[array], mine.start, mine.stop); break;
  OF_EACH_TYPE(DO)
#undef DO
  seen = joined(seen);
  __shared__ bool is_last;
  if (threadIdx.x == 0) {
    ((Odd*)job.parts)[blockIdx.x] = seen;
    __threadfence();
    is_last = atomicAdd(job.marks + 2 * array + 1, 1u) == (unsigned)blocks - 1;
    __threadfence();  // What the other blocks wrote is seen after their count, by all threads behind the barrier.
  }
  __syncthreads();
  if (!is_last) return;
  clear(seen);
  for (int block = first + threadIdx.x; block < first + blocks; block += THREADS)
    join(seen, ((const Odd*)job.parts)[block]);
  seen = joined(seen);
  double count = seen.count ? (double)seen.count : 1, norm = sqrt(seen.squares);
  double spread = (seen.squares - seen.total * seen.total / count) / count;
  float none = not_a_number();
  float row[9] = {
    seen.count ? seen.low : none,
    seen.count ? seen.high : none,
    seen.count ? (float)(seen.total / count) : none,
    seen.count ? (float)sqrt(spread > 0 ? spread : 0) : none,
    seen.nan ? none : seen.above + seen.below ? infinity() : of_double(norm),
    (float)seen.zeros,
    (float)seen.nan,
    (float)seen.above,
    (float)seen.below,
  };
  write_rows(job, array, row);
}
