/* Details of failures, one per thread and runtime, and the memory of how the device was lost.
 * A fault shows up at some later call, so the launches since the last clean synchronisation
 * are kept in a ring and named in the report.  Invariant: lost_text is written once, before
 * `loss`. */
#include "core/core.h"

#include "core/lock.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static TlErrorSlot *
slot_of_thread(TilecRuntime *rt)
{
   TlErrorSlot *oldest = &rt->slots[0];
   assert(tl_is_locked(&rt->lock));
   for (int i = 0; i < TL_RT_ERROR_SLOTS; i++) {
      TlErrorSlot *s = &rt->slots[i];
      if (s->stamp && pthread_equal(s->thread, pthread_self()))
         return s;
      if (s->stamp < oldest->stamp)
         oldest = s;
   }
   return oldest;
}

/* Of a call that was given NULL in place of what knows its runtime, or that opened none. */
static _Thread_local char nowhere[512];

static void
store(const TilecRuntime *const_rt, const char *text)
{
   TilecRuntime *rt = (TilecRuntime *)(uintptr_t)const_rt;
   if (!rt) {
      snprintf(nowhere, sizeof nowhere, "%s", text);
      return;
   }
   if (tl_core_is_forked(rt))
      return; /* the lock may be held by a thread that is not here any more */
   pthread_mutex_lock(&rt->lock);
   TlErrorSlot *s = slot_of_thread(rt);
   s->thread = pthread_self();
   s->stamp = ++rt->stamp;
   assert(s->stamp > 0); /* 0 marks a free slot */
   snprintf(s->text, sizeof s->text, "%s", text);
   pthread_mutex_unlock(&rt->lock);
}

TilecStatus
tl_rt_fail(const TilecRuntime *rt, TilecStatus status, const char *format, ...)
{
   char text[TL_RT_ERROR_BYTES];
   va_list ap;
   va_start(ap, format);
   vsnprintf(text, sizeof text, format, ap);
   va_end(ap);
   store(rt, text);
   return status;
}

TilecStatus
tl_core_bad_size(TilecRuntime *rt, const char *what, size_t size, const char *type, size_t wanted)
{
   return tl_rt_fail(rt, TILEC_BAD_ARGUMENT, "%s is %zu; it is to be sizeof (%s), %zu", what, size,
                     type, wanted);
}

TilecStatus
tl_core_fail(TilecRuntime *rt, TilecStatus status, const char *text)
{
   store(rt, text);
   return status;
}

TilecStatus
tl_core_no_memory(TilecRuntime *rt)
{
   return tl_rt_fail(rt, TILEC_NO_MEMORY, "out of host memory");
}

TilecStatus
tl_rt_no_memory(TilecRuntime *rt, const char *what)
{
   return tl_rt_fail(rt, TILEC_NO_MEMORY, "out of host memory: %s", what);
}

TilecStatus
tl_rt_null(const TilecRuntime *rt, const char *what)
{
   return tl_rt_fail(rt, TILEC_BAD_ARGUMENT, "%s is NULL", what);
}

/* What every call of a forked child has to say. */
static size_t
forked_error(const TilecRuntime *rt, char *buffer, size_t bytes)
{
   char text[128];
   int len = snprintf(text, sizeof text, "this runtime was opened by process %ld, this is %ld",
                      (long)rt->pid, (long)getpid());
   if (buffer && bytes)
      snprintf(buffer, bytes, "%s", text);
   return (size_t)len;
}

size_t
tilec_runtime_error(const TilecRuntime *const_rt, char *buffer, size_t bytes)
{
   TilecRuntime *rt = (TilecRuntime *)(uintptr_t)const_rt;
   if (buffer && bytes)
      buffer[0] = 0;
   if (!rt && buffer && bytes)
      snprintf(buffer, bytes, "%s", nowhere);
   if (!rt)
      return strlen(nowhere);
   if (tl_core_is_forked(rt))
      return forked_error(rt, buffer, bytes);
   pthread_mutex_lock(&rt->lock);
   TlErrorSlot *s = slot_of_thread(rt);
   bool mine = s->stamp && pthread_equal(s->thread, pthread_self());
   const char *text = mine ? s->text : "";
   size_t len = strlen(text);
   if (buffer && bytes)
      snprintf(buffer, bytes, "%s", text);
   pthread_mutex_unlock(&rt->lock);
   return len;
}

uint64_t
tl_rt_note_launch(TilecRuntime *rt, const TlVariant *v, const uint32_t grid[3],
                  const uint64_t *args)
{
   uint64_t serial = atomic_fetch_add(&rt->launches, 1) + 1;
   TlRecent *r = &rt->recent[serial % TL_RT_RECENT];
   if (atomic_flag_test_and_set_explicit(&r->busy, memory_order_acquire))
      return serial; /* 64 launches at once: this one goes unrecorded rather than waits */
   uint32_t kept = v->num_params < TL_RT_RECENT_ARGS ? v->num_params : TL_RT_RECENT_ARGS;
   r->serial = serial;
   memcpy(r->kernel, v->name, sizeof r->kernel);
   memcpy(r->grid, grid, sizeof r->grid);
   r->num_args = v->num_params;
   memcpy(r->args, args, kept * sizeof args[0]);
   atomic_flag_clear_explicit(&r->busy, memory_order_release);
   return serial;
}

void
tl_rt_acquit_launch(TilecRuntime *rt, uint64_t serial)
{
   assert(serial > 0 && serial <= atomic_load(&rt->launches));
   TlRecent *r = &rt->recent[serial % TL_RT_RECENT];
   if (atomic_flag_test_and_set_explicit(&r->busy, memory_order_acquire))
      return;
   if (r->serial == serial)
      r->serial = 0;
   atomic_flag_clear_explicit(&r->busy, memory_order_release);
}

static int
describe(const TlRecent *r, char *text, size_t bytes)
{
   assert(r->serial > 0 && bytes > 0);
   size_t n =
      (size_t)snprintf(text, bytes, "\n   launch %" PRIu64 ": %s, grid (%u, %u, %u), args (",
                       r->serial, r->kernel, r->grid[0], r->grid[1], r->grid[2]);
   for (uint32_t i = 0; i < r->num_args && i < TL_RT_RECENT_ARGS && n < bytes; i++)
      n += (size_t)snprintf(text + n, bytes - n, "%s0x%" PRIx64, i ? ", " : "", r->args[i]);
   if (n < bytes)
      n += (size_t)snprintf(text + n, bytes - n, "%s",
                            r->num_args > TL_RT_RECENT_ARGS ? ", …)" : ")");
   return n < bytes ? (int)n : (int)bytes - 1;
}

/* Names the launches that may be to blame, newest first; how many. */
static int
blame(TilecRuntime *rt, char *text, size_t bytes)
{
   text[0] = 0;
   uint64_t last = atomic_load(&rt->launches), clean = atomic_load(&rt->synced);
   int shown = 0;
   for (uint64_t serial = last; serial > clean && last - serial < TL_RT_RECENT && shown < 8;
        serial--) {
      TlRecent *r = &rt->recent[serial % TL_RT_RECENT];
      if (atomic_flag_test_and_set_explicit(&r->busy, memory_order_acquire))
         continue;
      if (r->serial == serial) {
         int n = describe(r, text, bytes);
         text += n;
         assert((size_t)n < bytes);
         bytes -= (size_t)n;
         shown++;
      }
      atomic_flag_clear_explicit(&r->busy, memory_order_release);
   }
   return shown;
}

/* Who or what is to blame, by the kind of loss. */
static void
give_verdict(TilecRuntime *rt, TilecLoss loss, char *text, size_t bytes)
{
   static const char *const words[] = {
      [TILEC_LOST_TO_HARDWARE] = "The hardware failed (its memory, NVLink, another GPU), no launch "
                                 "did: the system's log has an Xid",
      [TILEC_LOST_TO_WATCHDOG] = "A GPU with a display ends kernels that take too long.  ",
      [TILEC_LOST_TO_MPS] = "The MPS server ended this process's use of it, perhaps because a "
                            "kernel of another process faulted",
      [TILEC_LOST_TO_UNKNOWN] = "The driver does not say why; the system's log may have an Xid.  ",
      [TILEC_LOST_TO_KERNEL] = "",
      [TILEC_ABANDONED] = "",
   };
   char launches[TL_RT_ERROR_BYTES / 2];
   assert(loss != TILEC_NOT_LOST && loss < (int)(sizeof words / sizeof words[0]));
   if (loss == TILEC_LOST_TO_HARDWARE || loss == TILEC_LOST_TO_MPS) {
      snprintf(text, bytes, "%s", words[loss]);
      return;
   }
   int n = blame(rt, launches, sizeof launches);
   const char *verdict = n == 0  ? "No launch of this runtime is under way"
                         : n > 1 ? "An earlier launch is to blame; not yet known to be clean are, "
                                   "newest first:"
                         : rt->synchronous ? "The launch to blame:"
                                           : "An earlier launch is to blame:";
   const char *others = !rt->is_shared || loss == TILEC_ABANDONED ? ""
                        : n > 0
                           ? "\n   or one of another process: the GPU is shared by MPS"
                           : "; one of another process may be to blame: the GPU is shared by MPS";
   snprintf(text, bytes, "%s%s%s%s", words[loss], verdict, launches, others);
}

/* The context is lost: the first cause stays for every later call. */
static TilecStatus
lose(TilecRuntime *rt, TilecLoss loss, const char *cause)
{
   char text[TL_RT_ERROR_BYTES], verdict[TL_RT_ERROR_BYTES / 4 * 3];
   give_verdict(rt, loss, verdict, sizeof verdict);
   snprintf(text, sizeof text, "%s; " TL_CU_LOST ".  %s", cause, verdict);
   pthread_mutex_lock(&rt->lock);
   if (!atomic_load(&rt->loss)) {
      memcpy(rt->lost_text, text, sizeof text);
      atomic_store(&rt->loss, loss);
   }
   pthread_mutex_unlock(&rt->lock);
   assert(rt->lost_text[0]); /* never changes from here on: read without the lock */
   store(rt, rt->lost_text);
   return TILEC_DEVICE_LOST;
}

TilecStatus
tl_rt_check(TilecRuntime *rt, TlCuResult code, const char *doing)
{
   if (code == TL_CU_SUCCESS)
      return TILEC_OK;
   TlCuMeaning meaning = tl_cu_meaning(code);
   const char *words = NULL;
   if (!rt->cu.error_string || rt->cu.error_string(code, &words) != TL_CU_SUCCESS || !words)
      words = "no description";
   if (meaning.loss == TILEC_NOT_LOST)
      return tl_rt_fail(rt, meaning.status, "%s: %s (%d): %s", doing, meaning.name, code, words);
   char cause[TL_RT_ERROR_BYTES / 4];
   snprintf(cause, sizeof cause, "%s: %s (%d): %s", doing, meaning.name, code, words);
   return lose(rt, meaning.loss, cause);
}

TilecStatus
tl_rt_fail_late(TilecRuntime *rt, const char *doing)
{
   char launches[TL_RT_ERROR_BYTES / 2];
   int n = blame(rt, launches, sizeof launches);
   return tl_rt_fail(rt, TILEC_TIMED_OUT, "%s: the GPU has not finished within %u ms%s%s", doing,
                     rt->timeout_ms, n ? "; not known to have ended are, newest first:" : "",
                     launches);
}

TilecStatus
tilec_runtime_abandon(TilecRuntime *rt)
{
   if (!rt)
      return tl_rt_null(NULL, "tilec_runtime_abandon: rt");
   if (tl_core_is_forked(rt))
      return TILEC_FORKED;
   if (rt->executor != TILEC_ON_CUDA)
      return tl_rt_fail(rt, TILEC_UNSUPPORTED, "a host executor has nothing under way");
   if (!atomic_load(&rt->loss))
      (void)lose(rt, TILEC_ABANDONED, "given up by tilec_runtime_abandon");
   if (atomic_load(&rt->loss) == TILEC_ABANDONED)
      tl_rt_give_waits_up(rt);
   return TILEC_OK;
}

TilecLoss
tilec_runtime_loss(const TilecRuntime *rt)
{
   return rt ? (TilecLoss)atomic_load(&rt->loss) : TILEC_NOT_LOST;
}
