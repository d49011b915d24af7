/* Waiting for the GPU, and for no longer than the caller's limit.  The driver's own waits have no
 * limit.  With one, the driver is first asked whether a stream or an event is done (of a context it
 * cannot be asked); then a thread waits, and the caller for the thread.  A wait that lasts too long
 * is left to its thread: it is late, and kept in rt->late.  While a runtime has late waits, others
 * ask again and again instead, so that calls that are repeated make no more threads.
 *
 * A stream is waited for by an event that the caller's thread records behind its work: the caller
 * may free the stream while the wait is late, and the handle of a per-thread default stream means
 * another stream in another thread.
 *
 * Invariants: an event lives as long as a wait for it, a runtime's context as long as its late
 * waits; when the waits of a runtime that was given up end, their threads call no driver. */
#include "core/clock.h"
#include "core/core.h"

#include "core/lock.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>

typedef struct TlWait {
   TlCuda cu; /* the library stays open */
   TlCuContext context;
   TlEvent *event; /* NULL = all of the context */
   TlWait *next;   /* in rt->late */
   pthread_mutex_t lock;
   pthread_cond_t changed;
   unsigned refs; /* its thread's; the caller's, later the list's */
   bool is_done, has_context;
   bool is_given_up; /* nothing more is said to the driver */
   TlCuResult code;
} TlWait;

/* ---- Events ---------------------------------------------------------------------------------- */

TilecStatus
tl_rt_event_new(TilecRuntime *rt, unsigned flags, TlEvent **out)
{
   TlEvent *e = *out = calloc(1, sizeof *e);
   if (!e)
      return tl_rt_no_memory(rt, "an event");
   atomic_init(&e->refs, 1);
   TilecStatus status = tl_rt_check(rt, rt->cu.event_new(&e->cu, flags), "making an event");
   if (status != TILEC_OK) {
      free(e);
      *out = NULL;
   }
   return status;
}

TlCuResult
tl_rt_event_drop(const TlCuda *cu, TlEvent *e)
{
   assert(atomic_load(&e->refs) > 0);
   if (atomic_fetch_sub(&e->refs, 1) > 1)
      return TL_CU_SUCCESS;
   TlCuResult code = cu ? cu->event_free(e->cu) : TL_CU_SUCCESS;
   free(e);
   return code;
}

/* Drops an event of ours after a wait that came to `status`. */
static TilecStatus
done_with(TilecRuntime *rt, TlEvent *event, TilecStatus status)
{
   TlCuResult code = tl_rt_event_drop(&rt->cu, event);
   bool is_news = status == TILEC_OK && tl_cu_meaning(code).loss;
   return is_news ? tl_rt_check(rt, code, "freeing an event") : status;
}

/* One behind all that the stream has to do.  Who waits for it sleeps: a late wait would keep a core
 * busy. */
static TilecStatus
record_behind(TilecRuntime *rt, TlCuStream stream, const char *doing, TlEvent **out)
{
   TilecStatus status =
      tl_rt_event_new(rt, TL_CU_EVENT_BLOCKING_SYNC | TL_CU_EVENT_DISABLE_TIMING, out);
   if (status != TILEC_OK)
      return status;
   status = tl_rt_check(rt, rt->cu.event_record((*out)->cu, stream), doing);
   return status == TILEC_OK ? status : done_with(rt, *out, status);
}

/* ---- Threads that wait ----------------------------------------------------------------------- */

/* Called with the lock, which is gone afterwards. */
static void
drop(TlWait *w)
{
   assert(tl_is_locked(&w->lock) && w->refs > 0);
   bool is_last = --w->refs == 0;
   pthread_mutex_unlock(&w->lock);
   if (!is_last)
      return;
   assert(w->is_done);
   pthread_cond_destroy(&w->changed);
   pthread_mutex_destroy(&w->lock);
   free(w);
}

static bool
is_given_up(TlWait *w)
{
   pthread_mutex_lock(&w->lock);
   bool is = w->is_given_up;
   pthread_mutex_unlock(&w->lock);
   return is;
}

/* The driver is not called with the lock: it may keep the thread for long, and who waits for the
 * thread would wait for the lock. */
static void *
wait_main(void *user)
{
   TlWait *w = user;
   TlCuContext popped;
   TlCuResult code = w->cu.ctx_push(w->context);
   bool has_context = code == TL_CU_SUCCESS;
   if (has_context)
      code = w->event ? w->cu.event_sync(w->event->cu) : w->cu.ctx_sync();
   bool tells = !is_given_up(w);
   if (w->event) {
      TlCuResult freed = tl_rt_event_drop(tells ? &w->cu : NULL, w->event);
      code = code == TL_CU_SUCCESS && tl_cu_meaning(freed).loss ? freed : code;
   }
   if (has_context && tells)
      (void)w->cu.ctx_pop(&popped);
   pthread_mutex_lock(&w->lock);
   w->code = code;
   w->has_context = has_context;
   w->is_done = true;
   pthread_cond_signal(&w->changed);
   drop(w);
   return NULL;
}

static TlWait *
new_wait(TilecRuntime *rt, TlEvent *event)
{
   pthread_condattr_t clock;
   TlWait *w = calloc(1, sizeof *w);
   if (!w)
      return NULL;
   w->cu = rt->cu;
   w->context = rt->context;
   w->event = event;
   w->refs = 2;
   pthread_mutex_init(&w->lock, NULL);
   pthread_condattr_init(&clock);
   pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
   pthread_cond_init(&w->changed, &clock);
   pthread_condattr_destroy(&clock);
   return w;
}

/* The thread has the event from here on; NULL: there is no such thread, and the event stays. */
static TlWait *
begin(TilecRuntime *rt, TlEvent *event)
{
   enum { STACK_BYTES = 256 << 10 };
   pthread_t thread;
   pthread_attr_t attr;
   TlWait *w = new_wait(rt, event);
   if (!w)
      return NULL;
   pthread_attr_init(&attr);
   pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
   pthread_attr_setstacksize(&attr, STACK_BYTES);
   int error = pthread_create(&thread, &attr, wait_main, w);
   pthread_attr_destroy(&attr);
   if (error == 0)
      return w;
   w->is_done = true;
   w->refs = 1;
   pthread_mutex_lock(&w->lock);
   drop(w);
   return NULL;
}

/* ---- Late waits ------------------------------------------------------------------------------ */

/* Called with the lock of w, which is gone afterwards. */
static void
give_up(TlWait *w)
{
   w->is_given_up = true;
   drop(w);
}

static void
leave_to_thread(TilecRuntime *rt, TlWait *w)
{
   pthread_mutex_lock(&rt->lock);
   if (atomic_load(&rt->loss) == TILEC_ABANDONED) {
      pthread_mutex_lock(&w->lock);
      give_up(w);
   } else {
      w->next = rt->late;
      rt->late = w;
   }
   pthread_mutex_unlock(&rt->lock);
}

/* Whether any goes on; of_context: one for all of the context.  Those that have ended are let
 * go. */
static bool
has_late(TilecRuntime *rt, bool of_context)
{
   bool found = false;
   pthread_mutex_lock(&rt->lock);
   for (TlWait **at = &rt->late; *at;) {
      TlWait *w = *at;
      pthread_mutex_lock(&w->lock);
      if (w->is_done) {
         *at = w->next;
         drop(w);
      } else {
         found = found || !of_context || !w->event;
         at = &w->next;
         pthread_mutex_unlock(&w->lock);
      }
   }
   pthread_mutex_unlock(&rt->lock);
   return found;
}

static TlWait *
take_late(TilecRuntime *rt)
{
   pthread_mutex_lock(&rt->lock);
   TlWait *first = rt->late;
   rt->late = NULL;
   pthread_mutex_unlock(&rt->lock);
   return first;
}

void
tl_rt_end_waits(TilecRuntime *rt)
{
   for (TlWait *w = take_late(rt), *next; w; w = next) {
      next = w->next;
      pthread_mutex_lock(&w->lock);
      while (!w->is_done)
         pthread_cond_wait(&w->changed, &w->lock);
      drop(w);
   }
}

void
tl_rt_give_waits_up(TilecRuntime *rt)
{
   for (TlWait *w = take_late(rt), *next; w; w = next) {
      next = w->next;
      pthread_mutex_lock(&w->lock);
      give_up(w);
   }
}

/* ---- Waiting --------------------------------------------------------------------------------- */

double
tl_rt_end_of_waits(const TilecRuntime *rt)
{
   return rt->timeout_ms ? tl_rt_now_ms() + rt->timeout_ms : (double)INFINITY;
}

/* Between two looks at what is not waited for by a thread. */
static void
pause_a_while(void)
{
   const struct timespec pause = {.tv_nsec = 1000000};
   nanosleep(&pause, NULL);
}

/* Takes the event. */
static TilecStatus
ask_again(TilecRuntime *rt, TlEvent *event, double end_ms, const char *doing)
{
   TlCuResult code;
   while ((code = rt->cu.event_query(event->cu)) == TL_CU_NOT_READY && tl_rt_now_ms() < end_ms)
      pause_a_while();
   TilecStatus status =
      code == TL_CU_NOT_READY ? tl_rt_fail_late(rt, doing) : tl_rt_check(rt, code, doing);
   return done_with(rt, event, status);
}

static TilecStatus
wait_for_thread(TilecRuntime *rt, TlWait *w, double end_ms, const char *doing)
{
   int64_t end_ns = (int64_t)(end_ms * 1e6);
   struct timespec end = {(time_t)(end_ns / 1000000000), (long)(end_ns % 1000000000)};
   int error = 0;
   pthread_mutex_lock(&w->lock);
   while (!w->is_done && error != ETIMEDOUT)
      error = pthread_cond_timedwait(&w->changed, &w->lock, &end);
   if (!w->is_done) {
      pthread_mutex_unlock(&w->lock);
      leave_to_thread(rt, w);
      return tl_rt_fail_late(rt, doing);
   }
   bool has_context = w->has_context;
   TlCuResult code = w->code;
   drop(w);
   return tl_rt_check(rt, code, has_context ? doing : "making the context current");
}

static TilecStatus
wait_for_context(TilecRuntime *rt, double end_ms, const char *doing)
{
   while (has_late(rt, true)) { /* which waits for less */
      if (tl_rt_now_ms() >= end_ms)
         return tl_rt_fail_late(rt, doing);
      pause_a_while();
   }
   TlWait *w = begin(rt, NULL);
   return w ? wait_for_thread(rt, w, end_ms, doing)
            : tl_rt_no_memory(rt, "a thread that waits for the GPU");
}

/* Takes the event. */
static TilecStatus
wait_for_event(TilecRuntime *rt, TlEvent *event, double end_ms, const char *doing)
{
   TlCuResult code = rt->cu.event_query(event->cu);
   if (code != TL_CU_NOT_READY)
      return done_with(rt, event, tl_rt_check(rt, code, doing));
   TlWait *w = has_late(rt, false) ? NULL : begin(rt, event);
   return w ? wait_for_thread(rt, w, end_ms, doing) : ask_again(rt, event, end_ms, doing);
}

static TilecStatus
wait_for_stream(TilecRuntime *rt, TlCuStream stream, double end_ms, const char *doing)
{
   int capturing = 0;
   TlEvent *event;
   TilecStatus status = tl_rt_check(rt, rt->cu.stream_capturing(stream, &capturing), doing);
   if (status == TILEC_OK && capturing) /* an event would become part of the graph */
      return tl_rt_check(rt, rt->cu.stream_sync(stream), doing);
   if (status == TILEC_OK)
      status = record_behind(rt, stream, doing, &event);
   return status == TILEC_OK ? wait_for_event(rt, event, end_ms, doing) : status;
}

TilecStatus
tl_rt_wait_context(TilecRuntime *rt, const char *doing)
{
   return rt->timeout_ms ? wait_for_context(rt, tl_rt_end_of_waits(rt), doing)
                         : tl_rt_check(rt, rt->cu.ctx_sync(), doing);
}

TilecStatus
tl_rt_wait_stream(TilecRuntime *rt, TlCuStream stream, double end_ms, const char *doing)
{
   return rt->timeout_ms ? wait_for_stream(rt, stream, end_ms, doing)
                         : tl_rt_check(rt, rt->cu.stream_sync(stream), doing);
}

TilecStatus
tl_rt_wait_event(TilecRuntime *rt, TlEvent *event, const char *doing)
{
   if (!rt->timeout_ms)
      return tl_rt_check(rt, rt->cu.event_sync(event->cu), doing);
   atomic_fetch_add(&event->refs, 1);
   return wait_for_event(rt, event, tl_rt_end_of_waits(rt), doing);
}
