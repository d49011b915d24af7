/* What the machine can do at best, measured beside a kernel. */
#include "command/measure.h"

#include <stdlib.h>

double
tl_copy_gbps(TilecRuntime *rt)
{
   enum { RUNS = 15, WARM = 3 };
   bool gpu = tilec_runtime_executor(rt) == TILEC_ON_CUDA;
   uint64_t bytes = gpu ? (uint64_t)1 << 30 : (uint64_t)64 << 20;
   TilecBuffer *from = NULL, *to = NULL;
   TilecEvent *start = NULL, *stop = NULL;
   double ms[RUNS] = {0};
   TilecStatus status = TILEC_OUT_OF_DEVICE_MEMORY;
   while (status != TILEC_OK && bytes >= 1 << 20) {
      status = tilec_buffer_new(rt, bytes, &from);
      if (status == TILEC_OK)
         status = tilec_buffer_new(rt, bytes, &to);
      if (status == TILEC_OK)
         break;
      tilec_buffer_free(from);
      from = NULL;
      bytes /= 4;
   }
   if (status == TILEC_OK)
      status = tilec_buffer_fill(from, 0, 1, bytes, NULL);
   if (status == TILEC_OK)
      status = tilec_event_new(rt, &start);
   if (status == TILEC_OK)
      status = tilec_event_new(rt, &stop);
   for (int i = 0; i < RUNS + WARM && status == TILEC_OK; i++) {
      status = tilec_event_record(start, NULL);
      if (status == TILEC_OK)
         status = tilec_buffer_copy(to, 0, from, 0, bytes, NULL);
      if (status == TILEC_OK)
         status = tilec_event_record(stop, NULL);
      if (status == TILEC_OK)
         status = tilec_event_sync(stop);
      if (status == TILEC_OK)
         status = tilec_event_elapsed(start, stop, &ms[i < WARM ? 0 : i - WARM]);
   }
   tilec_event_free(start);
   tilec_event_free(stop);
   tilec_buffer_free(from);
   tilec_buffer_free(to);
   qsort(ms, RUNS, sizeof ms[0], tl_cmd_ascending);
   return status == TILEC_OK && ms[RUNS / 2] > 0 ? 2e-6 * (double)bytes / ms[RUNS / 2] : 0;
}
