/* Results beside those of one process; see ranks.h. */
#include "ranks.h"

#include <math.h>
#include <stdlib.h>

RankSums
rank_sums_open(Rank *r, size_t programs)
{
   return (RankSums){.array = rank_array(r, TILEC_FP32, 2 * programs), .programs = programs};
}

TilecArg
rank_sums_at(const RankSums *s, size_t program)
{
   return rank_at(&s->array, 2 * program);
}

double
rank_sums_close(Rank *r, RankSums *s)
{
   double difference = 0, norm = 0;
   float *host = calloc(2 * s->programs, sizeof *host);
   if (!host)
      rank_fail(r, "out of memory");
   rank_sync(r);
   if (!rank_failed(r))
      rank_must(
         r,
         tilec_buffer_download(s->array.buffer, 0, host, 2 * s->programs * sizeof *host, r->work),
         "a download");
   for (size_t i = 0; host && i < s->programs; i++) {
      difference += (double)host[2 * i];
      norm += (double)host[2 * i + 1];
   }
   free(host);
   rank_free_array(&s->array);
   /* Zeros everywhere are no result, nor is a NaN. */
   double mine = norm > 0 ? sqrt(difference / norm) : HUGE_VAL;
   return rank_max(r, isnan(mine) ? HUGE_VAL : mine);
}

bool
rank_is_near(Rank *r, const char *what, double distance, double allowed)
{
   bool is_near = distance <= allowed && !rank_failed(r);
   rank_say(r, "%s against one process: rel L2 %.2e %s %.1e  %s\n", what, distance,
            is_near ? "<=" : ">", allowed, is_near ? "ok" : "FAILED");
   return is_near;
}
