/* The calls of runtime/core/cuda_api.def over host memory.  -DFAKE_OMIT_EVENTS leaves some symbols
 * out (a damaged or very old driver).  Single-threaded but for cuLaunchKernel, which counts
 * atomically, and for waits. */
#include "fakecuda.h"

#ifndef FAKE_DEVICES
#define FAKE_DEVICES 1
#endif

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define API __attribute__((visibility("default")))
typedef int R;

static FakeState state;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local void *stack[16];
static _Thread_local int depth;

/* Blocks handed out, so that a reset frees what a lost device left behind. */
typedef struct Live {
   void *at;
   size_t bytes; /* device memory; 0 = a handle */
   int waits;    /* for this event or stream, under way */
} Live;
static Live live[1024];
static const Live *const live_end = live + sizeof live / sizeof live[0];
static pthread_mutex_t live_lock = PTHREAD_MUTEX_INITIALIZER;

/* The row of a block that was handed out, of NULL a free one; NULL: there is none. */
static Live *
find_live(const void *block)
{
   for (Live *l = live; l < live_end; l++)
      if (l->at == block)
         return l;
   return NULL;
}

static void *
keep(void *block, size_t bytes)
{
   pthread_mutex_lock(&live_lock);
   Live *l = find_live(NULL);
   if (!l)
      abort();
   *l = (Live){block, bytes, 0};
   pthread_mutex_unlock(&live_lock);
   return block;
}

static void
drop(void *block)
{
   pthread_mutex_lock(&live_lock);
   Live *l = block ? find_live(block) : NULL;
   if (!l)
      abort(); /* freed twice, or never ours */
   state.misuse += l->waits > 0;
   l->at = NULL;
   free(block);
   pthread_mutex_unlock(&live_lock);
}

/* So many more wait for a stream or an event; false: it is none of ours. */
static bool
wait_for(const void *handle, int waits)
{
   pthread_mutex_lock(&live_lock);
   Live *l = handle ? find_live(handle) : NULL;
   if (l)
      l->waits += waits;
   pthread_mutex_unlock(&live_lock);
   return l != NULL;
}

/* A stream, which may be of the test's own making, is waited for by so many more. */
static void
use_stream(const void *stream, int waits)
{
   (void)wait_for(stream, waits);
}

static void
free_live(void)
{
   for (Live *l = live; l < live_end; l++) {
      free(l->at);
      l->at = NULL;
   }
}

/* The context of a lost device goes with all that nobody could free any more. */
static void
destroy_lost(void)
{
   free_live();
   state.modules = state.buffers = state.streams = state.events = 0;
   state.sticky = 0;
}

API FakeState *fake_state(void);
API void fake_reset(void);
/* For tests that cannot read FakeState. */
API const FakeLaunch *fake_last_launch(void);
API void fake_expect_params(unsigned count);

API FakeState *
fake_state(void)
{
   return &state;
}

API const FakeLaunch *
fake_last_launch(void)
{
   return &state.launches[(state.num_launches + FAKE_MAX_LAUNCHES - 1) % FAKE_MAX_LAUNCHES];
}

API void
fake_expect_params(unsigned count)
{
   state.expect_params = count;
}

API void
fake_reset(void)
{
   int contexts = state.contexts;
   free_live();
   memset(&state, 0, sizeof state);
   state.contexts = contexts;
   state.version = 13000;
   state.devices = FAKE_DEVICES;
   state.sm_major = 9;
   state.max_shared = 232448;
   state.expect_map = -1;
   state.free_bytes = (size_t)1 << 30;
}

/* A program that knows nothing of the stand-in finds a device, too; with FAKE_HANGS=1 one whose
 * kernels do not end. */
__attribute__((constructor)) static void
start(void)
{
   fake_reset();
   state.hangs = getenv("FAKE_HANGS") != NULL;
}

/* Results after which, as the manual says, every later call of the process answers the same. */
static int
is_sticky(R r)
{
   return r == 214 || r == 220 || r == 226 || r == 700 || r == 702 || r == 710 ||
          (r >= 714 && r <= 719) || r == 721 || r == 810 || r == 911 || r == 999;
}

/* The planted failure, else 0. */
static R
enter(const char *symbol)
{
   if (state.on_call)
      state.on_call(symbol);
   pthread_mutex_lock(&lock);
   R r = state.sticky;
   state.total_calls++;
   bool this_symbol = state.fail_symbol && strcmp(state.fail_symbol, symbol) == 0;
   if (!r &&
       ((this_symbol && --state.fail_at == 0) || (state.fail_call > 0 && --state.fail_call == 0))) {
      r = state.fail_code;
      state.fail_symbol = NULL;
      state.failed = symbol;
      state.failed_thread = pthread_self();
      if (is_sticky(r))
         state.sticky = r;
   } else if (r && !pthread_equal(state.failed_thread, pthread_self()) &&
              state.num_failed_beside < FAKE_MAX_BESIDE) {
      state.failed_beside[state.num_failed_beside++] = symbol;
   }
   pthread_mutex_unlock(&lock);
   return r;
}

/* What a thread has given to a stream. */
typedef struct Work {
   void *stream;
   unsigned long thread;
} Work;

static bool
is_under_way(Work w)
{
   return state.hangs &&
          (!state.hangs_thread || (w.stream == (void *)2 && w.thread == state.hangs_thread));
}

static void
wait_for_work(Work w)
{
   state.waiting++;
   while (is_under_way(w))
      usleep(1000);
   state.waiting--;
}

static Work
work_of(void *stream)
{
   return (Work){stream, pthread_self()};
}

/* Calls that end only when all kernels have. */
static void
wait_for_kernels(void)
{
   state.waiting++;
   while (state.hangs)
      usleep(1000);
   state.waiting--;
}

#define ENTER(symbol)                                                                              \
   R r = enter(symbol);                                                                            \
   if (r)                                                                                          \
      return r

#define CALL(name, ...)                                                                            \
   API R name(__VA_ARGS__);                                                                        \
   API R name(__VA_ARGS__)

CALL(cuInit, unsigned flags)
{
   ENTER("cuInit");
   return flags ? 1 : 0;
}
CALL(cuDriverGetVersion, int *v)
{
   ENTER("cuDriverGetVersion");
   *v = state.version;
   return 0;
}
CALL(cuGetErrorString, int code, const char **text)
{
   static _Thread_local char words[64];
   if (state.no_words)
      return 1;
   snprintf(words, sizeof words, "fake words for %d", code);
   *text = words;
   return 0;
}
CALL(cuDeviceGetCount, int *n)
{
   ENTER("cuDeviceGetCount");
   *n = state.devices;
   return 0;
}
CALL(cuDeviceGet, int *d, int i)
{
   ENTER("cuDeviceGet");
   *d = i;
   return i < state.devices ? 0 : 101;
}
CALL(cuDeviceGetName, char *name, int len, int d)
{
   ENTER("cuDeviceGetName");
   snprintf(name, (size_t)len, "Fake GPU %d", d);
   return 0;
}
CALL(cuDeviceGetAttribute, int *v, int attr, int d)
{
   (void)d;
   ENTER("cuDeviceGetAttribute");
   switch (attr) {
   case 1:
      *v = 1024;
      break;
   case 10:
      *v = 32;
      break;
   case 16:
      *v = 132;
      break;
   case 75:
      *v = state.sm_major;
      break;
   case 76:
      *v = state.sm_minor;
      break;
   case 88:
      *v = state.pageable;
      break;
   case 97:
      *v = state.max_shared;
      break;
   case 133:
      *v = state.shared;
      break;
   default:
      *v = 7;
   }
   return 0;
}
CALL(cuDeviceTotalMem_v2, size_t *n, int d)
{
   (void)d;
   ENTER("cuDeviceTotalMem_v2");
   *n = (size_t)2 << 30;
   return 0;
}
CALL(cuDevicePrimaryCtxRetain, void **c, int d)
{
   ENTER("cuDevicePrimaryCtxRetain");
   *c = (void *)(uintptr_t)(0x1000 + d);
   state.contexts++;
   return 0;
}
CALL(cuDevicePrimaryCtxRelease_v2, int d)
{
   (void)d;
   state.misuse += state.contexts == 1 && state.waiting;
   wait_for_kernels();
   state.contexts--;
   R r = enter("cuDevicePrimaryCtxRelease_v2");
   if (state.recovers && state.contexts == 0 && state.sticky)
      destroy_lost();
   return r;
}
CALL(cuCtxGetCurrent, void **c)
{
   ENTER("cuCtxGetCurrent");
   *c = depth ? stack[depth - 1] : NULL;
   return 0;
}
CALL(cuCtxPushCurrent_v2, void *c)
{
   ENTER("cuCtxPushCurrent_v2");
   if (!c || depth == 16)
      return 201;
   bool is_primary = (uintptr_t)c - 0x1000 < FAKE_MAX_DEVICES;
   state.misuse += is_primary && !state.contexts;
   stack[depth++] = c;
   return 0;
}
CALL(cuCtxPopCurrent_v2, void **c)
{
   if (!depth)
      return 201;
   *c = stack[--depth];
   return enter("cuCtxPopCurrent_v2");
}
CALL(cuCtxGetDevice, int *d)
{
   ENTER("cuCtxGetDevice");
   *d = 0;
   return depth ? 0 : 201;
}
CALL(cuCtxGetId, void *c, unsigned long long *id)
{
   ENTER("cuCtxGetId");
   *id = (unsigned long long)(uintptr_t)c + state.context_epoch;
   return 0;
}
/* The last copy to the host, if it is still to be made. */
static struct {
   void *to, *from;
   size_t bytes;
} late;
CALL(cuCtxSynchronize, void)
{
   ENTER("cuCtxSynchronize");
   wait_for_kernels();
   pthread_mutex_lock(&lock);
   if (late.bytes)
      memcpy(late.to, late.from, late.bytes);
   late.bytes = 0;
   pthread_mutex_unlock(&lock);
   return 0;
}
CALL(cuMemGetInfo_v2, size_t *f, size_t *t)
{
   ENTER("cuMemGetInfo_v2");
   *f = state.free_bytes;
   *t = (size_t)2 << 30;
   return 0;
}
CALL(cuMemAlloc_v2, uint64_t *p, size_t n)
{
   ENTER("cuMemAlloc_v2");
   if (n > state.free_bytes)
      return 2;
   *p = (uint64_t)(uintptr_t)keep(aligned_alloc(256, (n + 255) & ~(size_t)255), n);
   state.buffers++;
   return *p ? 0 : 2;
}
CALL(cuMemFree_v2, uint64_t p)
{
   ENTER("cuMemFree_v2");
   wait_for_kernels();
   drop((void *)(uintptr_t)p);
   state.buffers--;
   return 0;
}
CALL(cuMemcpyHtoDAsync_v2, uint64_t to, const void *from, size_t n, void *s)
{
   ENTER("cuMemcpyHtoDAsync_v2");
   wait_for_work(work_of(s));
   memcpy((void *)(uintptr_t)to, from, n);
   return 0;
}
CALL(cuMemcpyDtoHAsync_v2, void *to, uint64_t from, size_t n, void *s)
{
   ENTER("cuMemcpyDtoHAsync_v2");
   if (state.late_copies) {
      late.to = to, late.from = (void *)(uintptr_t)from, late.bytes = n;
      return 0;
   }
   wait_for_work(work_of(s));
   memcpy(to, (const void *)(uintptr_t)from, n);
   return 0;
}
CALL(cuMemcpyDtoDAsync_v2, uint64_t to, uint64_t from, size_t n, void *s)
{
   (void)s;
   ENTER("cuMemcpyDtoDAsync_v2");
   memcpy((void *)(uintptr_t)to, (const void *)(uintptr_t)from, n);
   return 0;
}
CALL(cuMemsetD8Async, uint64_t to, unsigned char v, size_t n, void *s)
{
   (void)s;
   ENTER("cuMemsetD8Async");
   memset((void *)(uintptr_t)to, v, n);
   return 0;
}
CALL(cuPointerGetAttribute, void *value, int attr, uint64_t p)
{
   ENTER("cuPointerGetAttribute");
   FakeMemory m = state.memory;
   for (const Live *l = live; l < live_end; l++)
      if (l->at && l->bytes && p - (uint64_t)(uintptr_t)l->at < l->bytes)
         m = (FakeMemory){(uint64_t)(uintptr_t)l->at, l->bytes, 2, 0, 0};
   if (p - m.begin >= m.bytes)
      return 1;
   switch (attr) {
   case 2:
      *(unsigned *)value = (unsigned)m.type;
      break;
   case 8:
      *(unsigned char *)value = (unsigned char)m.managed;
      break;
   case 9:
      *(int *)value = m.device;
      break;
   case 11:
      *(uint64_t *)value = m.begin;
      break;
   case 12:
      *(size_t *)value = m.bytes;
      break;
   default:
      return 1;
   }
   return 0;
}
CALL(cuModuleLoadDataEx, void **m, const void *image, unsigned n, int *options, void **values)
{
   R failed = enter("cuModuleLoadDataEx");
   for (unsigned i = 0; i < n; i++) {
      const char *log = options[i] == 3   ? state.load_log
                        : options[i] == 5 ? state.load_error
                                          : NULL;
      if (log && (options[i] == 3 || failed))
         strcpy(values[i], log);
   }
   if (failed)
      return failed;
   pthread_mutex_lock(&lock);
   snprintf(state.ptx, sizeof state.ptx, "%s", (const char *)image);
   *m = keep(strdup(image), 0); /* a module is its image */
   state.modules++;
   pthread_mutex_unlock(&lock);
   return 0;
}
CALL(cuModuleUnload, void *m)
{
   ENTER("cuModuleUnload");
   wait_for_kernels();
   drop(m);
   state.modules--;
   return 0;
}
/* ".entry NAME " or ".entry NAME(" in a module; a cubin has all names. */
static int
has_entry(const char *image, const char *name)
{
   char text[128];
   size_t n = (size_t)snprintf(text, sizeof text, ".entry %s", name);
   const char *at = strstr(image, text);
   if (strncmp(image, "\177ELF", 4) == 0)
      return 1;
   while (at && at[n] != ' ' && at[n] != '(')
      at = strstr(at + 1, text);
   return at != NULL;
}

/* A function is its name, kept for good. */
CALL(cuModuleGetFunction, void **f, void *m, const char *name)
{
   static char names[256][64];
   ENTER("cuModuleGetFunction");
   *f = NULL;
   pthread_mutex_lock(&lock);
   for (int i = 0; i < 256 && !*f && has_entry(m, name); i++) {
      if (!names[i][0])
         snprintf(names[i], sizeof names[i], "%s", name);
      if (strcmp(names[i], name) == 0)
         *f = names[i];
   }
   pthread_mutex_unlock(&lock);
   return *f ? 0 : 500;
}
CALL(cuFuncGetAttribute, int *v, int attr, void *f)
{
   (void)f;
   ENTER("cuFuncGetAttribute");
   *v = attr == 4 ? 40 : attr == 3 ? 16 : 8;
   return 0;
}
CALL(cuFuncSetAttribute, void *f, int attr, int v)
{
   (void)f;
   ENTER("cuFuncSetAttribute");
   state.func_attr[attr & 15] = v;
   return 0;
}
CALL(cuOccupancyMaxActiveBlocksPerMultiprocessor, int *n, void *f, int threads, size_t shared)
{
   (void)f;
   (void)shared;
   ENTER("cuOccupancyMaxActiveBlocksPerMultiprocessor");
   *n = 2048 / threads;
   return 0;
}

/* The lock is held until the launch is filled in. */
static FakeLaunch *
record(const char *function, void *stream, void **params)
{
   FakeLaunch *l = &state.launches[state.num_launches++ % FAKE_MAX_LAUNCHES];
   memset(l, 0, sizeof *l);
   snprintf(l->function, sizeof l->function, "%s", function);
   l->stream = stream;
   uintptr_t device = depth ? (uintptr_t)stack[depth - 1] - 0x1000 : FAKE_MAX_DEVICES;
   if (device < FAKE_MAX_DEVICES)
      state.launches_on[device]++;
   l->num_params = state.expect_params;
   for (unsigned i = 0; i < state.expect_params; i++) {
      memcpy(&l->params[i], params[i], state.param_bytes[i] ? state.param_bytes[i] : 8);
      if ((int)i == state.expect_map)
         memcpy(l->map, params[i], sizeof l->map);
   }
   return l;
}
CALL(cuLaunchKernel, void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
     unsigned bz, unsigned shared, void *stream, void **params, void **extra)
{
   ENTER("cuLaunchKernel");
   if (extra)
      return 1;
   pthread_mutex_lock(&lock);
   FakeLaunch *l = record(f, stream, params);
   l->grid[0] = gx, l->grid[1] = gy, l->grid[2] = gz;
   l->block[0] = bx, l->block[1] = by, l->block[2] = bz;
   l->shared_bytes = shared;
   if (state.on_launch)
      state.clock_ms += (double)state.on_launch(l);
   pthread_mutex_unlock(&lock);
   return 0;
}

typedef struct FakeConfig {
   unsigned grid[3], block[3], shared;
   void *stream;
   struct {
      int id;
      int pad;
      unsigned value[16];
   } *attrs;
   unsigned num_attrs;
} FakeConfig;
CALL(cuLaunchKernelEx, const FakeConfig *c, void *f, void **params, void **extra)
{
   ENTER("cuLaunchKernelEx");
   if (extra)
      return 1;
   pthread_mutex_lock(&lock);
   FakeLaunch *l = record(f, c->stream, params);
   memcpy(l->grid, c->grid, sizeof l->grid);
   memcpy(l->block, c->block, sizeof l->block);
   l->shared_bytes = c->shared;
   for (unsigned i = 0; i < c->num_attrs; i++) {
      if (c->attrs[i].id == 4)
         memcpy(l->cluster, c->attrs[i].value, sizeof l->cluster);
      else if (c->attrs[i].id == 2)
         l->cooperative = (int)c->attrs[i].value[0];
      else if (c->attrs[i].id == 6)
         l->programmatic = (int)c->attrs[i].value[0];
   }
   pthread_mutex_unlock(&lock);
   return 0;
}
CALL(cuStreamCreate, void **s, unsigned flags)
{
   (void)flags;
   ENTER("cuStreamCreate");
   *s = keep(malloc(1), 0);
   state.streams++;
   return 0;
}
CALL(cuStreamDestroy_v2, void *s)
{
   ENTER("cuStreamDestroy_v2");
   wait_for_kernels();
   drop(s);
   state.streams--;
   return 0;
}
CALL(cuStreamSynchronize, void *s)
{
   ENTER("cuStreamSynchronize");
   if (state.capturing)
      return 900;
   use_stream(s, 1);
   wait_for_work(work_of(s));
   use_stream(s, -1);
   return 0;
}
CALL(cuStreamIsCapturing, void *s, int *v)
{
   (void)s;
   ENTER("cuStreamIsCapturing");
   *v = state.capturing;
   return 0;
}
/* Graphs: launches are recorded in fake_state() when they are captured, not when replayed. */
CALL(cuStreamBeginCapture_v2, void *s, int mode)
{
   (void)s, (void)mode;
   ENTER("cuStreamBeginCapture_v2");
   state.capturing = 1;
   return 0;
}
CALL(cuStreamEndCapture, void *s, void **graph)
{
   (void)s;
   ENTER("cuStreamEndCapture");
   state.capturing = 0;
   *graph = keep(malloc(1), 0);
   return 0;
}
CALL(cuGraphInstantiateWithFlags, void **executable, void *graph, unsigned long long flags)
{
   (void)graph, (void)flags;
   ENTER("cuGraphInstantiateWithFlags");
   *executable = keep(malloc(1), 0);
   return 0;
}
CALL(cuGraphDestroy, void *graph)
{
   ENTER("cuGraphDestroy");
   drop(graph);
   return 0;
}
CALL(cuGraphLaunch, void *executable, void *s)
{
   (void)executable, (void)s;
   ENTER("cuGraphLaunch");
   return 0;
}
CALL(cuGraphExecDestroy, void *executable)
{
   ENTER("cuGraphExecDestroy");
   drop(executable);
   return 0;
}
#ifndef FAKE_OMIT_EVENTS
/* An event is about to be used; waits: how many more wait for it. */
static R
use(const void *event, int waits)
{
   enum { INVALID_HANDLE = 400 };
   bool is_ours = wait_for(event, waits);
   state.misuse += !is_ours;
   return is_ours ? 0 : INVALID_HANDLE;
}

typedef struct Event {
   double ms; /* when it was recorded */
   Work after;
   bool is_captured;
} Event;
CALL(cuEventCreate, void **e, unsigned flags)
{
   (void)flags;
   ENTER("cuEventCreate");
   *e = keep(calloc(1, sizeof(Event)), 0);
   state.events++;
   return 0;
}
CALL(cuEventDestroy_v2, void *e)
{
   ENTER("cuEventDestroy_v2");
   drop(e);
   state.events--;
   return 0;
}
CALL(cuEventRecord, Event *e, void *s)
{
   ENTER("cuEventRecord");
   r = use(e, 0);
   if (!r)
      *e = (Event){state.clock_ms, work_of(s), state.capturing};
   return r;
}
CALL(cuStreamWaitEvent, void *s, void *e, unsigned flags)
{
   (void)s;
   ENTER("cuStreamWaitEvent");
   r = use(e, 0);
   return r ? r : flags == 0 ? 0 : 1;
}
CALL(cuEventSynchronize, Event *e)
{
   ENTER("cuEventSynchronize");
   r = use(e, 1);
   if (r)
      return r;
   bool is_captured = e->is_captured;
   if (!is_captured)
      wait_for_work(e->after);
   return use(e, -1) ? 400 : is_captured ? 907 : 0;
}
CALL(cuEventQuery, Event *e)
{
   ENTER("cuEventQuery");
   r = use(e, 0);
   return r ? r : e->is_captured ? 907 : is_under_way(e->after) ? 600 : 0;
}
CALL(cuEventElapsedTime, float *ms, const Event *a, const Event *b)
{
   ENTER("cuEventElapsedTime");
   *ms = state.on_launch ? (float)(b->ms - a->ms) : 1.5f;
   return 0;
}
#endif
/* What programs call beside the runtime. */
CALL(cuCtxSetCurrent, void *c)
{
   ENTER("cuCtxSetCurrent");
   depth = 1;
   stack[0] = c;
   return 0;
}
CALL(cuCtxGetStreamPriorityRange, int *least, int *greatest)
{
   ENTER("cuCtxGetStreamPriorityRange");
   *least = 0;
   *greatest = -5;
   return 0;
}
CALL(cuStreamCreateWithPriority, void **s, unsigned flags, int priority)
{
   return priority > 0 || priority < -5 ? 1 : cuStreamCreate(s, flags);
}
CALL(cuTensorMapEncodeTiled, void *map, int dtype, uint32_t rank, void *base, const uint64_t *dims,
     const uint64_t *strides, const uint32_t *box, const uint32_t *steps, int interleave,
     int swizzle, int l2, int fill)
{
   (void)steps;
   (void)interleave;
   state.encodings++;
   ENTER("cuTensorMapEncodeTiled");
   for (uint32_t i = 0; i < rank; i++) /* as cuTensorMapEncodeTiled's description says */
      if (!dims[i] || dims[i] > UINT64_C(1) << 32 ||
          (i + 1 < rank && (strides[i] % 16 || strides[i] >= UINT64_C(1) << 40)))
         return 1;
   memset(map, 0x5a, 128);
   state.map_dtype = dtype;
   state.map_rank = rank;
   state.map_base = (uint64_t)(uintptr_t)base;
   for (uint32_t i = 0; i < rank; i++) {
      state.map_dims[i] = dims[i];
      state.map_box[i] = box[i];
      if (i + 1 < rank)
         state.map_strides[i] = strides[i];
   }
   state.map_swizzle = swizzle;
   state.map_l2 = l2;
   state.map_fill = fill;
   return 0;
}
