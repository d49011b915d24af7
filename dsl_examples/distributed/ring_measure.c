/* What ring attention takes: time beside the arithmetic, the transfers alone, and a time line that
 * shows whether they are hidden. */
#include "ring.h"

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

/* `products`: how many times the forward pass's. */
static void
time_pass(Ring *a, const char *name, void (*run)(Rank *r, void *ring), double products)
{
   Rank *r = a->r;
   double ms = rank_time(r, run, a);
   rank_say(r, "%s%s: %.3f ms, %.0f TFLOP/s a rank\n", name, r->options->graph ? " (graph)" : "",
            ms, 1e-9 * products * flops_of(a) / ms / r->size);
}

void
ring_measure(Ring *a)
{
   Rank *r = a->r;
   time_pass(a, "forward", ring_forward, 1);
   if (a->has_backward)
      time_pass(a, "backward", ring_backward, 2.5);
   if (r->options->bandwidth && r->size > 1) {
      double bytes = 2 * (double)(a->kv_elems * ex_dtype_bytes(a->dtype)) * (r->size - 1);
      double alone = rank_time(r, move_only, a);
      rank_say(r, "transfers alone: %.3f ms, %.0f GB/s each way\n", alone, 1e-6 * bytes / alone);
   }
   if (r->options->time_line)
      rank_time_line(r, ring_forward, a, &a->marks, r->size, 1);
   if (r->options->time_line && a->has_backward)
      rank_time_line(r, ring_backward, a, &a->marks, r->size, 0);
}
