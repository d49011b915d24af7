/* What ring attention takes: time beside the arithmetic, the transfers alone, and a time line that
 * shows whether they are hidden. */
#include "ring.h"

#include <stdlib.h>

/* Keys and values go round once, with nothing beside them. */
static void
move_only(Rank *r, void *ring)
{
   for (unsigned step = 0; step + 1 < r->size; step++) {
      ring_hand_on(ring, step);
      rank_before(r);
   }
}

static double
flops_of(const Ring *a)
{
   double tokens = (double)a->tokens;
   return 4.0 * a->heads * a->dim * tokens * (tokens + 1) / 2;
}

static double
elapsed(Rank *r, TilecEvent *from, TilecEvent *to)
{
   double ms = 0;
   if (!rank_failed(r))
      rank_must(r, tilec_event_elapsed(from, to, &ms), "an event");
   return ms;
}

static void
print_line(Ring *a, unsigned rank, unsigned step, const double *ms)
{
   rank_say(a->r, "   rank %u step %u: kernels %.3f .. %.3f ms", rank, step, ms[MARK_WORK_BEGIN],
            ms[MARK_WORK_END]);
   if (step + 1 < a->r->size && a->r->comm->record)
      rank_say(a->r, ", transfer %.3f .. %.3f ms%s", ms[MARK_MOVE_BEGIN], ms[MARK_MOVE_END],
               ms[MARK_MOVE_END] <= ms[MARK_WORK_END] ? ", hidden" : "");
   rank_say(a->r, "\n");
}

/* One pass with events around kernels and transfers; every rank's, printed by the first. */
static void
time_line(Ring *a)
{
   Rank *r = a->r;
   size_t count = (size_t)r->size * RING_MARKS;
   TilecEvent **marks = calloc(count, sizeof *marks);
   double *mine = calloc(count, sizeof *mine), *all = calloc(count * r->size, sizeof *all);
   if (!marks || !mine || !all)
      rank_fail(r, "out of memory");
   for (size_t i = 0; i < count && !rank_failed(r); i++)
      rank_must(r, tilec_event_new(r->rt, &marks[i]), "an event");
   a->marks = marks;
   (void)rank_max(r, 0);
   ring_forward(r, a);
   a->marks = NULL;
   rank_sync(r);
   for (size_t i = 0; i < count && !rank_failed(r); i++)
      if (i % RING_MARKS < MARK_MOVE_BEGIN || (r->comm->record && i < count - RING_MARKS))
         mine[i] = elapsed(r, marks[0], marks[i]);
   rank_gather(r, mine, count * sizeof *mine, all);
   for (unsigned i = 0; i < r->size * r->size && !rank_failed(r); i++)
      print_line(a, i / r->size, i % r->size, all + (size_t)i * RING_MARKS);
   for (size_t i = 0; marks && i < count; i++)
      tilec_event_free(marks[i]);
   free(all);
   free(mine);
   free(marks);
}

void
ring_measure(Ring *a)
{
   Rank *r = a->r;
   double ms = rank_time(r, ring_forward, a);
   rank_say(r, "forward%s: %.3f ms, %.0f TFLOP/s a rank\n", r->options->graph ? " (graph)" : "", ms,
            1e-9 * flops_of(a) / ms / r->size);
   if (r->options->bandwidth && r->size > 1) {
      double bytes = 2 * (double)(a->kv_elems * rank_bytes_of(a->dtype)) * (r->size - 1);
      double alone = rank_time(r, move_only, a);
      rank_say(r, "transfers alone: %.3f ms, %.0f GB/s each way\n", alone, 1e-6 * bytes / alone);
   }
   if (r->options->time_line)
      time_line(a);
}
