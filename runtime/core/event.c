/* Streams and events.  On host executors everything is finished when it returns, so a stream is a
 * token and an event is a reading of the monotonic clock. */
#include "core/clock.h"
#include "core/core.h"

#include <assert.h>
#include <stdlib.h>

struct TilecEvent {
   TlHandle handle; /* first */
   TilecRuntime *rt;
   TlEvent *cu;    /* CUDA only */
   double host_ms; /* host executors: when recorded */
   bool recorded;
};

TilecStatus
tilec_stream_new(TilecRuntime *rt, TilecStream *out)
{
   bool pushed;
   if (out)
      *out = NULL;
   if (!rt || !out)
      return tl_rt_null(rt, "tilec_stream_new: out");
   TilecStatus status = tl_rt_enter(rt, &pushed);
   if (status == TILEC_OK && rt->executor == TILEC_ON_CUDA) {
      TlCuStream stream = NULL;
      status =
         tl_rt_check(rt, rt->cu.stream_new(&stream, 1), "making a stream"); /* 1: non-blocking */
      *out = stream;
   }
   tl_rt_leave(rt, pushed);
   return status;
}

void
tilec_stream_free(TilecRuntime *rt, TilecStream stream)
{
   bool pushed;
   if (!rt || !stream || rt->executor != TILEC_ON_CUDA || !tl_rt_enter_to_free(rt, &pushed))
      return;
   (void)tl_rt_check(rt, rt->cu.stream_free(stream), "freeing a stream");
   tl_rt_leave(rt, pushed);
}

TilecStatus
tilec_stream_sync(TilecRuntime *rt, TilecStream stream)
{
   bool pushed;
   if (!rt)
      return tl_rt_null(NULL, "tilec_stream_sync: rt");
   TilecStatus status = tl_rt_enter(rt, &pushed);
   if (status == TILEC_OK && rt->executor == TILEC_ON_CUDA)
      status = tl_rt_wait_stream(rt, stream, tl_rt_end_of_waits(rt), "synchronising a stream");
   tl_rt_leave(rt, pushed);
   return status;
}

TilecStatus
tilec_event_new(TilecRuntime *rt, TilecEvent **out)
{
   bool pushed;
   if (out)
      *out = NULL;
   if (!rt || !out)
      return tl_rt_null(rt, "tilec_event_new: out");
   TilecEvent *e = calloc(1, sizeof *e);
   if (!e)
      return tl_rt_no_memory(rt, "an event");
   e->rt = rt;
   TilecStatus status = tl_rt_enter(rt, &pushed);
   if (status == TILEC_OK && rt->executor == TILEC_ON_CUDA)
      status = tl_rt_event_new(rt, 0, &e->cu);
   tl_rt_leave(rt, pushed);
   if (status == TILEC_OK) {
      tl_handle_begin(rt, &e->handle);
      *out = e;
   } else {
      free(e);
   }
   return status;
}

void
tilec_event_free(TilecEvent *e)
{
   bool pushed;
   if (!e || !tl_handle_end(e->rt, &e->handle, "tilec_event_free: the event"))
      return;
   if (e->cu) {
      bool in_use = tl_rt_enter_to_free(e->rt, &pushed);
      TlCuResult code = tl_rt_event_drop(in_use ? &e->rt->cu : NULL, e->cu);
      (void)tl_rt_check(e->rt, code, "freeing an event");
      tl_rt_leave(e->rt, pushed);
   }
   tl_handle_bury(e->rt, &e->handle, NULL);
}

TilecStatus
tilec_event_record(TilecEvent *e, TilecStream stream)
{
   bool pushed;
   if (!e)
      return tl_rt_null(NULL, "tilec_event_record: event");
   if (!tl_handle_is_live(&e->handle))
      return tl_handle_refuse(e->rt, "tilec_event_record: the event");
   assert((e->cu != NULL) == (e->rt->executor == TILEC_ON_CUDA));
   TilecStatus status = tl_rt_enter(e->rt, &pushed);
   if (status == TILEC_OK && e->rt->executor == TILEC_ON_CUDA) {
      status = tl_rt_check(e->rt, e->rt->cu.event_record(e->cu->cu, stream), "recording an event");
   } else if (status == TILEC_OK) {
      e->host_ms = tl_rt_now_ms();
   }
   tl_rt_leave(e->rt, pushed);
   e->recorded = e->recorded || status == TILEC_OK;
   return status;
}

/* Enters the runtime of an event that was recorded. */
static TilecStatus
enter_recorded(TilecEvent *e, bool *pushed)
{
   *pushed = false;
   if (!tl_handle_is_live(&e->handle))
      return tl_handle_refuse(e->rt, "the event");
   if (!e->recorded && !tl_core_is_forked(e->rt))
      return tl_rt_fail(e->rt, TILEC_BAD_ARGUMENT,
                        "the event was never recorded: tilec_event_record comes first");
   return tl_rt_enter(e->rt, pushed);
}

TilecStatus
tilec_stream_wait(TilecStream stream, TilecEvent *e)
{
   bool pushed;
   if (!e)
      return tl_rt_null(NULL, "tilec_stream_wait: event");
   TilecStatus status = enter_recorded(e, &pushed);
   if (status == TILEC_OK && e->rt->executor == TILEC_ON_CUDA)
      status = tl_rt_check(e->rt, e->rt->cu.stream_wait(stream, e->cu->cu, 0),
                           "making a stream wait for an event");
   tl_rt_leave(e->rt, pushed);
   return status;
}

static TilecStatus
ask(TilecEvent *e, bool wait)
{
   static const char doing[] = "waiting for an event";
   bool pushed;
   if (!e)
      return tl_rt_null(NULL, wait ? "tilec_event_sync: event" : "tilec_event_query: event");
   TilecStatus status = enter_recorded(e, &pushed);
   if (status == TILEC_OK && e->rt->executor == TILEC_ON_CUDA) {
      TlCuResult code = wait ? TL_CU_SUCCESS : e->rt->cu.event_query(e->cu->cu);
      status = wait                      ? tl_rt_wait_event(e->rt, e->cu, doing)
               : code == TL_CU_NOT_READY ? TILEC_NOT_READY
                                         : tl_rt_check(e->rt, code, doing);
   }
   tl_rt_leave(e->rt, pushed);
   return status;
}

TilecStatus
tilec_event_sync(TilecEvent *e)
{
   return ask(e, true);
}

TilecStatus
tilec_event_query(TilecEvent *e)
{
   return ask(e, false);
}

TilecStatus
tilec_event_elapsed(TilecEvent *start, TilecEvent *stop, double *ms)
{
   bool pushed;
   if (!start || !stop || !ms)
      return tl_rt_null(start  ? start->rt
                        : stop ? stop->rt
                               : NULL,
                        !start  ? "tilec_event_elapsed: start"
                        : !stop ? "tilec_event_elapsed: stop"
                                : "tilec_event_elapsed: ms");
   TilecRuntime *rt = start->rt;
   *ms = 0;
   if (!tl_handle_is_live(&start->handle) || !tl_handle_is_live(&stop->handle))
      return tl_handle_refuse(rt, "tilec_event_elapsed: one of the events");
   if (rt != stop->rt || !start->recorded || !stop->recorded)
      return tl_rt_fail(rt, TILEC_BAD_ARGUMENT, "both events must be recorded, on one runtime");
   TilecStatus status = tl_rt_enter(rt, &pushed);
   if (status == TILEC_OK && rt->executor == TILEC_ON_CUDA) {
      float f = 0;
      TlCuResult code = rt->cu.event_elapsed(&f, start->cu->cu, stop->cu->cu);
      status = code == TL_CU_NOT_READY ? TILEC_NOT_READY : tl_rt_check(rt, code, "timing events");
      *ms = (double)f;
   } else if (status == TILEC_OK) {
      *ms = stop->host_ms - start->host_ms;
   }
   tl_rt_leave(rt, pushed);
   return status;
}
