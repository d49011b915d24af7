/* Opening and closing a runtime, what its device is, and the bracket around every public call.
 * Invariant: between enter and leave the runtime's context is current on the calling thread, and
 * after leave the thread's own one is again. */
#include "core/core.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A flag that reads false in a forked child: asking for the pid would be a system call at every
 * launch.  Linux 4.14 and later; elsewhere NULL. */
static atomic_bool *
new_alive_flag(void)
{
   size_t page = (size_t)sysconf(_SC_PAGESIZE);
   void *at = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
   if (at == MAP_FAILED)
      return NULL;
   if (madvise(at, page, MADV_WIPEONFORK) != 0) {
      munmap(at, page);
      return NULL;
   }
   atomic_bool *flag = at;
   atomic_store(flag, true);
   return flag;
}

bool
tl_core_is_forked(const TilecRuntime *rt)
{
   return rt->alive ? !atomic_load_explicit(rt->alive, memory_order_relaxed) : getpid() != rt->pid;
}

TilecStatus
tl_rt_check_open(const TilecRuntime *rt)
{
   if (tl_core_is_forked(rt))
      return tl_rt_fail(rt, TILEC_FORKED, "this runtime was opened by process %ld, this is %ld",
                        (long)rt->pid, (long)getpid());
   if (atomic_load_explicit(&rt->is_closed, memory_order_relaxed))
      return tl_rt_fail(rt, TILEC_BAD_ARGUMENT,
                        "the runtime was closed: only objects of it can be freed now");
   return TILEC_OK;
}

/* Of a runtime that is open, or closed and waiting for its last object to be freed. */
static TilecStatus
enter(TilecRuntime *rt, bool *pushed)
{
   *pushed = false;
   if (rt->executor != TILEC_ON_CUDA)
      return TILEC_OK;
   if (atomic_load_explicit(&rt->loss, memory_order_acquire))
      return tl_rt_fail(rt, TILEC_DEVICE_LOST, "%s", rt->lost_text);
   TlCuContext now = NULL;
   TilecStatus status = tl_rt_check(rt, rt->cu.ctx_current(&now), "asking for the current context");
   if (status != TILEC_OK || now == rt->context)
      return status;
   status = tl_rt_check(rt, rt->cu.ctx_push(rt->context), "making the context current");
   *pushed = status == TILEC_OK;
   return status;
}

TilecStatus
tl_rt_enter(TilecRuntime *rt, bool *pushed)
{
   *pushed = false;
   if (tl_core_is_forked(rt) || atomic_load_explicit(&rt->is_closed, memory_order_relaxed))
      return tl_rt_check_open(rt);
   return enter(rt, pushed);
}

bool
tl_rt_enter_to_free(TilecRuntime *rt, bool *pushed)
{
   *pushed = false;
   return !tl_core_is_forked(rt) && !atomic_load_explicit(&rt->loss, memory_order_acquire) &&
          enter(rt, pushed) == TILEC_OK;
}

void
tl_rt_leave(TilecRuntime *rt, bool pushed)
{
   TlCuContext popped;
   if (!pushed)
      return;
   assert(rt->executor == TILEC_ON_CUDA);
   TlCuResult code = rt->cu.ctx_pop(&popped);
   if (tl_cu_meaning(code).loss) /* nothing else is for the caller to act on */
      (void)tl_rt_check(rt, code, "restoring the thread's context");
}

TilecStatus
tl_core_usable(TilecRuntime *rt)
{
   bool pushed;
   TilecStatus status = tl_rt_enter(rt, &pushed);
   tl_rt_leave(rt, pushed);
   return status;
}

/* The best target for a device: the arch-specific form where one exists (sm_90a, sm_100a, …). */
static void
name_arch(TilecDeviceInfo *info)
{
   unsigned sm = info->sm_major * 10 + info->sm_minor;
   snprintf(info->arch, sizeof info->arch, "sm_%u%s", sm, sm >= 90 ? "a" : "");
}

/* One that older drivers do not know: false there. */
static TilecStatus
read_newer_attr(TilecRuntime *rt, int attr, bool *out)
{
   int value = 0;
   TlCuResult code = rt->cu.device_attr(&value, attr, rt->device);
   if (code == TL_CU_INVALID_VALUE)
      return TILEC_OK;
   *out = value != 0;
   return tl_rt_check(rt, code, "reading a device attribute");
}

static TilecStatus
read_device(TilecRuntime *rt)
{
   TilecDeviceInfo *info = &rt->info;
   const struct {
      int attr;
      uint32_t *to;
   } wanted[] = {
      {TL_CU_DEV_SM_MAJOR, &info->sm_major},
      {TL_CU_DEV_SM_MINOR, &info->sm_minor},
      {TL_CU_DEV_NUM_SMS, &info->num_sms},
      {TL_CU_DEV_WARP_SIZE, &info->warp_size},
      {TL_CU_DEV_CLOCK_KHZ, &info->clock_khz},
      {TL_CU_DEV_L2_BYTES, &info->l2_bytes},
      {TL_CU_DEV_MAX_THREADS, &info->max_threads},
      {TL_CU_DEV_MAX_SHARED_OPTIN, &info->max_shared_bytes},
   };
   for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
      int value = 0;
      TilecStatus status = tl_rt_check(rt, rt->cu.device_attr(&value, wanted[i].attr, rt->device),
                                       "reading a device attribute");
      if (status != TILEC_OK)
         return status;
      *wanted[i].to = (uint32_t)value;
   }
   if (rt->check && !rt->cu.pointer_get)
      return tl_rt_fail(rt, TILEC_DRIVER_TOO_OLD, "the driver lacks cuPointerGetAttribute");
   TilecStatus status = read_newer_attr(rt, TL_CU_DEV_MPS_ENABLED, &rt->is_shared);
   if (status == TILEC_OK && rt->check)
      status = read_newer_attr(rt, TL_CU_DEV_PAGEABLE, &rt->reads_host);
   if (status != TILEC_OK)
      return status;
   size_t total = 0;
   status = tl_rt_check(rt, rt->cu.device_name(info->name, (int)sizeof info->name, rt->device),
                        "reading its name");
   if (status == TILEC_OK)
      status = tl_rt_check(rt, rt->cu.device_memory(&total, rt->device), "reading its memory size");
   info->memory_bytes = total;
   info->driver_version = rt->cu.version;
   info->max_ptx_version = tl_cu_ptx_version(rt->cu.version);
   name_arch(info);
   return status;
}

/* A context of the caller: the device is whatever it is on. */
static TilecStatus
adopt_context(TilecRuntime *rt, TlCuContext context)
{
   bool pushed;
   rt->context = context;
   TilecStatus status = tl_rt_enter(rt, &pushed);
   if (status != TILEC_OK)
      return status == TILEC_BAD_ARGUMENT ? TILEC_BAD_CONTEXT : status;
   status = tl_rt_check(rt, rt->cu.ctx_device(&rt->device), "asking for the context's device");
   tl_rt_leave(rt, pushed);
   rt->info.ordinal = rt->device; /* a CUdevice is its ordinal */
   return status;
}

/* A context that an earlier fault of this process spoiled answers with that fault. */
static TilecStatus
try_context(TilecRuntime *rt)
{
   bool pushed;
   size_t free_bytes = 0, total = 0;
   TilecStatus status = tl_rt_enter(rt, &pushed);
   if (status == TILEC_OK)
      status = tl_rt_check(rt, rt->cu.mem_info(&free_bytes, &total), "asking for free memory");
   tl_rt_leave(rt, pushed);
   return status;
}

static TilecStatus
open_cuda(TilecRuntime *rt, const TilecRuntimeOptions *o, char *error, size_t error_bytes)
{
   TilecStatus status = tl_cu_load(&rt->cu, o->driver_path, error, error_bytes);
   if (status != TILEC_OK)
      return tl_rt_fail(rt, status, "%s", error);
   status = tl_rt_check(rt, rt->cu.device_count(&rt->info.device_count), "counting devices");
   if (status != TILEC_OK)
      return status;
   TlCuContext context = o->context;
   if (!context && o->use_current) {
      status = tl_rt_check(rt, rt->cu.ctx_current(&context), "asking for the current context");
      if (status == TILEC_OK && !context)
         status = tl_rt_fail(rt, TILEC_BAD_CONTEXT, "the calling thread has no current context");
      if (status != TILEC_OK)
         return status;
   }
   if (context) {
      status = adopt_context(rt, context);
   } else {
      if (o->device < 0 || o->device >= rt->info.device_count)
         return tl_rt_fail(rt, TILEC_NO_DEVICE, "device %d was asked for; the driver shows %d",
                           o->device, rt->info.device_count);
      rt->info.ordinal = o->device;
      status = tl_rt_check(rt, rt->cu.device_get(&rt->device, o->device), "opening the device");
      if (status == TILEC_OK)
         status = tl_rt_check(rt, rt->cu.primary_retain(&rt->context, rt->device),
                              "making the device's primary context");
      rt->owns_primary = status == TILEC_OK;
   }
   if (status == TILEC_OK)
      status = read_device(rt);
   return status == TILEC_OK ? try_context(rt) : status;
}

static void
open_host(TilecRuntime *rt)
{
   TilecDeviceInfo *info = &rt->info;
   long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
   long cores = sysconf(_SC_NPROCESSORS_ONLN);
   snprintf(info->name, sizeof info->name, "%s",
            rt->executor == TILEC_ON_CPU ? "cpu executor" : "sim executor");
   snprintf(info->arch, sizeof info->arch, "host");
   info->device_count = 1;
   info->num_sms = cores > 0 ? (uint32_t)cores : 1;
   info->warp_size = 32;
   info->max_threads = 1024;
   info->memory_bytes = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : 0;
}

static void
destroy(TilecRuntime *rt)
{
   assert(!rt->owns_primary || rt->executor == TILEC_ON_CUDA);
   if (rt->owns_primary)
      rt->cu.primary_release(rt->device); /* nothing to do about a failure here */
   if (rt->alive)
      munmap(rt->alive, (size_t)sysconf(_SC_PAGESIZE));
   tl_handles_done(rt);
   pthread_mutex_destroy(&rt->lock);
   free(rt->slots);
   free(rt);
}

/* A refusal before there is a runtime that keeps its words. */
static TilecStatus
refuse(const TilecRuntimeOptions *o, TilecStatus status, const char *why)
{
   if (o->error && o->error_bytes)
      snprintf(o->error, o->error_bytes, "%s", why);
   return tl_rt_fail(NULL, status, "%s", why);
}

TilecStatus
tilec_runtime_open(const TilecRuntimeOptions *options, TilecRuntime **out)
{
   TilecRuntimeOptions o = {.struct_size = sizeof o};
   char detail[TL_RT_ERROR_BYTES] = "";
   if (!out)
      return tl_rt_null(NULL, "tilec_runtime_open: out");
   *out = NULL;
   if (options) {
      if (options->struct_size <= sizeof(size_t) || /* a pointer's */
          options->struct_size > sizeof o) {
         char why[160];
         snprintf(why, sizeof why,
                  "tilec_runtime_open: options->struct_size is %zu; it is to be sizeof "
                  "(TilecRuntimeOptions), %zu",
                  options->struct_size, sizeof o);
         return refuse(options, TILEC_BAD_ARGUMENT, why); /* every version has `error` */
      }
      memcpy(&o, options, options->struct_size);
   }
   if ((unsigned)o.executor > TILEC_ON_SIM) {
      char why[128];
      snprintf(why, sizeof why,
               "no such executor, %u: there are TILEC_ON_CUDA, TILEC_ON_CPU and TILEC_ON_SIM",
               (unsigned)o.executor);
      return refuse(&o, TILEC_BAD_ARGUMENT, why);
   }
   TilecRuntime *rt = calloc(1, sizeof *rt);
   TlErrorSlot *slots = calloc(TL_RT_ERROR_SLOTS, sizeof *slots);
   if (!rt || !slots) {
      free(rt);
      free(slots);
      return refuse(&o, TILEC_NO_MEMORY, "out of host memory: a runtime");
   }
   rt->slots = slots;
   rt->executor = o.executor;
   rt->pid = getpid();
   rt->alive = new_alive_flag();
   rt->synchronous = o.synchronous;
   rt->check = o.check;
   rt->timeout_ms = o.timeout_ms;
   rt->num_threads = o.num_threads;
   rt->memory = o.memory;
   rt->memory_user = o.memory_user;
   atomic_init(&rt->lives, 1);
   pthread_mutex_init(&rt->lock, NULL);
   TilecStatus status = TILEC_OK;
   if (rt->executor == TILEC_ON_CUDA)
      status = open_cuda(rt, &o, detail, sizeof detail);
   else
      open_host(rt);
   if (status != TILEC_OK) {
      tilec_runtime_error(rt, detail, sizeof detail);
      destroy(rt);
      return refuse(&o, status, detail);
   }
   *out = rt;
   return TILEC_OK;
}

/* Nothing of it lives any more. */
static void
end(TilecRuntime *rt)
{
   if (rt->jit)
      rt->jit->detach(rt->jit_state);
   /* a forked child must not touch the driver, and a kernel that never ends is not waited for */
   if (tl_core_is_forked(rt) || atomic_load(&rt->loss) == TILEC_ABANDONED)
      rt->owns_primary = false;
   else
      tl_rt_end_waits(rt);
   destroy(rt);
}

void
tl_rt_drop(TilecRuntime *rt)
{
   if (atomic_fetch_sub(&rt->lives, 1) == 1)
      end(rt);
}

void
tilec_runtime_close(TilecRuntime *rt)
{
   if (!rt)
      return;
   if (!atomic_exchange(&rt->is_closed, true))
      tl_rt_drop(rt);
   else
      (void)tl_rt_check_open(rt); /* closed before, and some object still lives */
}

TilecStatus
tilec_runtime_device(TilecRuntime *rt, TilecDeviceInfo *out)
{
   if (!rt || !out)
      return tl_rt_null(rt, "tilec_runtime_device: out");
   memset(out, 0, sizeof *out);
   bool pushed;
   TilecStatus status = tl_rt_enter(rt, &pushed);
   if (status == TILEC_OK)
      *out = rt->info;
   if (status == TILEC_OK && rt->executor == TILEC_ON_CUDA) {
      size_t free_bytes = 0, total = 0;
      status = tl_rt_check(rt, rt->cu.mem_info(&free_bytes, &total), "asking for free memory");
      out->free_bytes = free_bytes;
   } else if (status == TILEC_OK) {
      long pages = sysconf(_SC_AVPHYS_PAGES), page = sysconf(_SC_PAGESIZE);
      out->free_bytes = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : 0;
   }
   tl_rt_leave(rt, pushed);
   return status;
}

TilecExecutor
tilec_runtime_executor(const TilecRuntime *rt)
{
   return rt ? rt->executor : TILEC_ON_CUDA;
}

void *
tilec_runtime_context(const TilecRuntime *rt)
{
   return rt ? (void *)rt->context : NULL;
}

TilecStatus
tilec_runtime_sync(TilecRuntime *rt)
{
   bool pushed;
   if (!rt)
      return tl_rt_null(NULL, "tilec_runtime_sync: rt");
   uint64_t before = atomic_load(&rt->launches);
   TilecStatus status = tl_rt_enter(rt, &pushed);
   if (status == TILEC_OK && rt->executor == TILEC_ON_CUDA) {
      status = tl_rt_wait_context(rt, "synchronising");
      if (status == TILEC_OK)
         atomic_store(&rt->synced, before);
   }
   tl_rt_leave(rt, pushed);
   return status;
}

TilecStatus
tl_core_attach(TilecRuntime *rt, const TilecJitVtable *table, void *jit)
{
   if (!rt || !table)
      return TILEC_BAD_ARGUMENT;
   if (tl_core_is_forked(rt))
      return TILEC_FORKED;
   if (rt->jit)
      return tl_rt_fail(rt, TILEC_BAD_ARGUMENT, "a compiler is attached already");
   assert(!rt->jit_state);
   rt->jit = table;
   rt->jit_state = jit;
   return TILEC_OK;
}

uint32_t
tl_core_threads(const TilecRuntime *rt)
{
   return rt->num_threads;
}

const TilecDeviceInfo *
tl_core_device(const TilecRuntime *rt)
{
   return &rt->info;
}
