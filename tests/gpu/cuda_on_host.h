// What our sources take of CUDA, for a C++ compiler: a block's threads are threads, and one block runs after the other.
// SOURCE is the file, KERNELS are its kernels, and JOB is the type of their argument.
#include <barrier>
#include <atomic>
#include <cmath>
#include <cstring>
#include <ctime>
#include <mutex>
#include <thread>
#include <vector>

#define __device__
#define __global__
#define __shared__ static
#define __launch_bounds__(threads)
using std::isfinite;
using std::isinf;
using std::isnan;

struct Place { unsigned x; };
static thread_local Place threadIdx, blockIdx;
static std::barrier<>* together;
struct alignas(16) uint4 { unsigned x, y, z, w; };

static void __syncthreads() { together->arrive_and_wait(); }
static void __threadfence() { std::atomic_thread_fence(std::memory_order_seq_cst); }
static void __threadfence_system() { __threadfence(); }
static unsigned atomicAdd(unsigned* at, unsigned more) { return __atomic_fetch_add(at, more, __ATOMIC_SEQ_CST); }

static unsigned long long host_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000ull + now.tv_nsec;
}

static float __int_as_float(int bits) {
  float value;
  memcpy(&value, &bits, 4);
  return value;
}

static float host_half(unsigned short bits) {
  int sign = bits >> 15, exponent = bits >> 10 & 31, fraction = bits & 1023;
  float size = exponent == 31 ? (fraction ? NAN : INFINITY)
             : exponent       ? ldexpf(1024 + fraction, exponent - 25)
                              : ldexpf(fraction, -24);
  return sign ? -size : size;
}

#include SOURCE

typedef void (*Kernel)(const JOB);
static Kernel kernels[] = {KERNELS};
static std::mutex one_launch;

// As cuStreamSynchronize: a launch has ended when it returns.
extern "C" int synchronize(void*) { return 0; }

// The error of all launches, as of a GPU that has failed; 0 if they work.
extern "C" int launch_error;
int launch_error = 0;

// As cuLaunchKernel; `kernel` is a number of `kernels`.
extern "C" int launch(unsigned long long kernel, unsigned blocks, unsigned, unsigned, unsigned, unsigned, unsigned,
                      unsigned, void*, void** arguments, void**) {
  if (launch_error) return launch_error;
  std::lock_guard<std::mutex> lock(one_launch);
  const JOB job = *(const JOB*)arguments[0];
  std::barrier<> all(THREADS);
  together = &all;
  std::vector<std::thread> running;
  for (unsigned thread = 0; thread < THREADS; thread++)
    running.emplace_back([=, &all] {
      threadIdx.x = thread;
      for (unsigned block = 0; block < blocks; block++) {
        blockIdx.x = block;
        kernels[kernel](job);
        all.arrive_and_wait();
      }
    });
  for (auto& each : running) each.join();
  return 0;
}
