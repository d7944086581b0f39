// Write one record of a ring into memory of the host, which the GPU reaches. NVRTC compiles this file.
//
// One block copies the bytes of all arrays behind the stamp of the record. Then it writes the device's time, and at last the
// number of the record: whoever reads that number sees all that was written before it.

#define MOST 64  // Arrays of a record.
#ifndef THREADS
#define THREADS 256
#endif

typedef unsigned char u8;
typedef unsigned long long u64;

// What the handler in `device_rings_native.py` writes. The order and the types of the fields must agree with its `_JOB`.
struct Record {
  u64* at;        // Where the record begins. Arrays begin at multiples of 8 bytes.
  u64 number;     // The number of the record, from 1 on.
  const u8* wanted;  // A boolean of the program: whether to write the values. Null if they are always written.
  const void* data[MOST];
  int bytes[MOST];
  int arrays;
};

// The stamp, in words of 8 bytes. The handler writes the others.
#define DEVICE_NS 0
#define NUMBER 1
#define HANDOVER 5
#define DONE 2
#define STAMP_WORDS 6

__device__ u64 device_ns() {
#ifdef __CUDA_ARCH__
  u64 now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
#else
  return host_ns();
#endif
}

extern "C" __global__ void __launch_bounds__(THREADS) ring_write(const Record record) {
  u64* to = record.at + STAMP_WORDS;
  bool is_wanted = !record.wanted || *record.wanted;
  for (int array = 0; is_wanted && array < record.arrays; array++) {
    const void* from = record.data[array];
    int bytes = record.bytes[array], words = ((u64)from & 7) == 0 ? bytes / 8 : 0;
    for (int at = threadIdx.x; at < words; at += THREADS) to[at] = ((const u64*)from)[at];
    for (int at = 8 * words + threadIdx.x; at < bytes; at += THREADS) ((u8*)to)[at] = ((const u8*)from)[at];
    to += (bytes + 7) / 8;
  }
  __threadfence_system();
  __syncthreads();
  if (threadIdx.x != 0) return;
  volatile u64* stamp = record.at;
  stamp[DEVICE_NS] = device_ns();
  if (!is_wanted) stamp[HANDOVER] = DONE;
  __threadfence_system();
  stamp[NUMBER] = record.number;
}
