/* How long things take on all ranks; see ranks.h. */
#include "driver.h"
#include "ranks.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct Timed {
   Rank *r;
   void (*run)(Rank *r, void *user);
   void *user;
   DriverGraph *graph; /* NULL: run is called each time */
   TilecEvent *start, *stop;
} Timed;

static void
capture(Timed *t)
{
   Rank *r = t->r;
   char why[256] = "";
   if (rank_failed(r) || r->options->executor != TILEC_ON_CUDA)
      return;
   if (!driver_capture_begin(r->work, why, sizeof why)) {
      rank_fail(r, "%s", why);
      return;
   }
   t->run(r, t->user);
   t->graph = driver_capture_end(r->work, why, sizeof why);
   if (!t->graph)
      rank_fail(r, "%s", why);
}

static void
run_once(Timed *t)
{
   char why[256] = "";
   if (!t->graph)
      t->run(t->r, t->user);
   else if (!driver_graph_launch(t->graph, t->r->work, why, sizeof why))
      rank_fail(t->r, "%s", why);
}

/* All ranks begin together; the slowest counts. */
static double
time_once(Timed *t)
{
   Rank *r = t->r;
   double ms = 0;
   rank_sync(r);
   (void)rank_max(r, 0);
   if (!rank_failed(r))
      rank_must(r, tilec_event_record(t->start, r->work), "an event");
   run_once(t);
   if (!rank_failed(r))
      rank_must(r, tilec_event_record(t->stop, r->work), "an event");
   rank_sync(r);
   if (!rank_failed(r))
      rank_must(r, tilec_event_elapsed(t->start, t->stop, &ms), "an event");
   return rank_max(r, ms);
}

static int
ascending(const void *a, const void *b)
{
   double x = *(const double *)a, y = *(const double *)b;
   return (x > y) - (x < y);
}

double
rank_time(Rank *r, void (*run)(Rank *r, void *user), void *user)
{
   enum { WARM_UP = 2 };
   Timed t = {.r = r, .run = run, .user = user};
   unsigned repeats = r->options->repeats;
   double median = 0, *ms = calloc(repeats, sizeof *ms);
   if (!ms || rank_failed(r)) {
      free(ms);
      return 0;
   }
   rank_must(r, tilec_event_new(r->rt, &t.start), "an event");
   rank_must(r, tilec_event_new(r->rt, &t.stop), "an event");
   run_once(&t); /* what is not there yet is compiled, connections are made */
   rank_sync(r);
   if (r->options->graph)
      capture(&t);
   for (unsigned i = 0; i < WARM_UP + repeats && !rank_failed(r); i++)
      ms[i < WARM_UP ? 0 : i - WARM_UP] = time_once(&t);
   qsort(ms, repeats, sizeof *ms, ascending);
   median = ms[repeats / 2];
   driver_graph_free(t.graph);
   tilec_event_free(t.start);
   tilec_event_free(t.stop);
   free(ms);
   return median;
}
