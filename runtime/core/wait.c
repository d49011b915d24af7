/* Waiting for the GPU, and for no longer than the caller's limit.  The driver's own waits have
 * none, so with a limit they are made by a thread of their own; one that lasts too long is left to
 * it.
 * What that thread uses belongs to both, and outlives the runtime. */
#include "core/core.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <time.h>

typedef struct Wait {
   TlCuda cu; /* the library stays open */
   TlCuContext context;
   TlWaitFor what;
   void *handle;
   pthread_mutex_t lock;
   pthread_cond_t changed;
   unsigned refs;
   bool is_done, has_context;
   TlCuResult code;
} Wait;

static TlCuResult
wait_now(const TlCuda *cu, TlWaitFor what, void *handle)
{
   switch (what) {
   case TL_WAIT_CONTEXT:
      return cu->ctx_sync();
   case TL_WAIT_STREAM:
      return cu->stream_sync(handle);
   case TL_WAIT_EVENT:
      return cu->event_sync(handle);
   }
   assert(0);
   return TL_CU_INVALID_VALUE;
}

/* Called with the lock, which is gone afterwards. */
static void
drop(Wait *w)
{
   bool is_last = --w->refs == 0;
   pthread_mutex_unlock(&w->lock);
   if (!is_last)
      return;
   pthread_cond_destroy(&w->changed);
   pthread_mutex_destroy(&w->lock);
   free(w);
}

static void *
wait_main(void *user)
{
   Wait *w = user;
   TlCuResult code = w->cu.ctx_push(w->context);
   bool has_context = code == TL_CU_SUCCESS;
   if (has_context) /* until the thread ends */
      code = wait_now(&w->cu, w->what, w->handle);
   pthread_mutex_lock(&w->lock);
   w->code = code;
   w->has_context = has_context;
   w->is_done = true;
   pthread_cond_signal(&w->changed);
   drop(w);
   return NULL;
}

static Wait *
begin(TilecRuntime *rt, TlWaitFor what, void *handle)
{
   enum { STACK_BYTES = 256 << 10 };
   pthread_t thread;
   pthread_attr_t attr;
   pthread_condattr_t clock;
   Wait *w = calloc(1, sizeof *w);
   if (!w)
      return NULL;
   w->cu = rt->cu;
   w->context = rt->context;
   w->what = what;
   w->handle = handle;
   w->refs = 2;
   pthread_mutex_init(&w->lock, NULL);
   pthread_condattr_init(&clock);
   pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
   pthread_cond_init(&w->changed, &clock);
   pthread_condattr_destroy(&clock);
   pthread_attr_init(&attr);
   pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
   pthread_attr_setstacksize(&attr, STACK_BYTES);
   int error = pthread_create(&thread, &attr, wait_main, w);
   pthread_attr_destroy(&attr);
   if (error == 0)
      return w;
   w->refs = 1;
   pthread_mutex_lock(&w->lock);
   drop(w);
   return NULL;
}

TilecStatus
tl_rt_wait(TilecRuntime *rt, TlWaitFor what, void *handle, const char *doing)
{
   if (!rt->timeout_ms)
      return tl_rt_check(rt, wait_now(&rt->cu, what, handle), doing);
   struct timespec end;
   clock_gettime(CLOCK_MONOTONIC, &end);
   end.tv_sec += rt->timeout_ms / 1000;
   end.tv_nsec += (long)(rt->timeout_ms % 1000) * 1000000;
   end.tv_sec += end.tv_nsec / 1000000000;
   end.tv_nsec %= 1000000000;
   Wait *w = begin(rt, what, handle);
   if (!w)
      return tl_rt_no_memory(rt, "a thread that waits for the GPU");
   pthread_mutex_lock(&w->lock);
   int error = 0;
   while (!w->is_done && error != ETIMEDOUT)
      error = pthread_cond_timedwait(&w->changed, &w->lock, &end);
   bool is_done = w->is_done, has_context = w->has_context;
   TlCuResult code = w->code;
   drop(w);
   if (!is_done)
      return tl_rt_fail_late(rt, doing);
   return tl_rt_check(rt, code, has_context ? doing : "making the context current");
}
