/* A stand-in for libcuda.so.1 for tests: keeps "device" memory on the host, records launches, and
 * fails on demand.  The state is found by dlsym(handle, "fake_state") on the same path the runtime
 * opened. */
#ifndef TL_TEST_FAKECUDA_H
#define TL_TEST_FAKECUDA_H

#include <stddef.h>
#include <stdint.h>

enum { FAKE_MAX_PARAMS = 64, FAKE_MAX_LAUNCHES = 8, FAKE_MAX_DEVICES = 8, FAKE_MAX_BESIDE = 8 };

typedef struct FakeLaunch {
   char function[64]; /* entry name */
   unsigned grid[3], block[3];
   unsigned shared_bytes;
   void *stream;
   unsigned cluster[3]; /* zeros without the attribute */
   int cooperative, programmatic;
   uint64_t params[FAKE_MAX_PARAMS]; /* 8 bytes at each parameter's address */
   unsigned num_params;              /* as many as fake_state()->expect_params */
   unsigned char map[128];           /* bytes at the parameter number expect_map */
} FakeLaunch;

/* Memory that cuPointerGetAttribute knows besides what cuMemAlloc gave. */
typedef struct FakeMemory {
   uint64_t begin, bytes;
   int type; /* CUmemorytype: 1 = host, 2 = device */
   int managed;
   int device;
} FakeMemory;

typedef struct FakeState {
   int version; /* cuDriverGetVersion */
   int devices; /* cuDeviceGetCount */
   int sm_major, sm_minor;
   int max_shared;              /* opt-in bytes */
   const char *fail_symbol;     /* this call fails … */
   int fail_at;                 /* … when it is made for the Nth time from now on (1 = next) */
   int fail_code;               /* … with this CUresult */
   int fail_call;               /* the Nth call from now on, whatever it is, answers it as well */
   const char *failed;          /* the call that was made to fail */
   unsigned long failed_thread; /* its thread (pthread_self) .. */
   /* .. and calls of other threads that the sticky failure answered */
   const char *failed_beside[FAKE_MAX_BESIDE];
   int num_failed_beside;
   int no_words; /* cuGetErrorString fails */
   FakeMemory memory;
   int pageable;      /* cuDeviceGetAttribute: the device reads any host memory */
   int sticky;        /* non-zero: every later call answers it (set by a sticky failure) */
   int recovers;      /* until the last context is released */
   int shared;        /* cuDeviceGetAttribute: contexts are those of an MPS server */
   _Atomic int hangs; /* a kernel does not end: what waits for the GPU waits until this is 0 */
   int late_copies;   /* to the host are made when the context is next waited for */
   unsigned long hangs_thread; /* of this thread (pthread_self) in its stream 0x2; 0 = of any */
   _Atomic int waiting;        /* calls that do */
   _Atomic int misuse;         /* handles that were gone when used, or used when freed */
   void (*on_call)(const char *symbol);        /* each call begins by this one; may be NULL */
   const char *load_log;                       /* written to the info log */
   const char *load_error;                     /* written to the error log when the load fails */
   unsigned expect_params;                     /* parameters to read at each launch */
   unsigned char param_bytes[FAKE_MAX_PARAMS]; /* of each; 0 = 8 */
   int expect_map;                             /* parameter that is a tensor map; -1 = none */
   int capturing;                              /* cuStreamIsCapturing */
   /* Called at each cuLaunchKernel with what was recorded: may write "device" memory, and answers
    * how long the kernel takes, which event times then show; NULL: every event time is 1.5 ms. */
   float (*on_launch)(const FakeLaunch *launch);
   double clock_ms;                  /* of launches so far */
   size_t free_bytes;                /* cuMemGetInfo; allocations beyond fail with OUT_OF_MEMORY */
   unsigned long long context_epoch; /* raised: every context is a new one at an old address */
   /* recorded */
   unsigned num_launches; /* counts on beyond FAKE_MAX_LAUNCHES */
   FakeLaunch launches[FAKE_MAX_LAUNCHES];
   unsigned launches_on[FAKE_MAX_DEVICES]; /* by the calling thread's current context */
   int func_attr[16];                      /* last value set by cuFuncSetAttribute */
   _Atomic int contexts, modules, buffers, streams, events; /* alive */
   int total_calls;
   char ptx[4096];                                 /* begin of the last image loaded */
   uint64_t map_dims[5], map_strides[5], map_base; /* of the last tensor map */
   unsigned map_rank, map_box[5];
   int map_dtype, map_swizzle, map_l2, map_fill;
   int encodings; /* of tensor maps, refused ones too */
} FakeState;

typedef FakeState *FakeStateFn(void);
typedef void FakeResetFn(void);

#endif
