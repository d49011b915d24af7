/* How long things take on all ranks; see ranks.h. */
#include "ranks.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct Timed {
   Rank *r;
   void (*run)(Rank *r, void *user);
   void *user;
   DriverGraph graph; /* empty: run is called each time */
   TilecEvent *start, *stop;
} Timed;

static void
capture(Timed *t)
{
   Rank *r = t->r;
   char why[256] = "";
   if (rank_failed(r) || r->options->executor != TILEC_ON_CUDA)
      return;
   if (!driver_capture_begin(&r->driver, r->work, why, sizeof why)) {
      rank_fail(r, "%s", why);
      return;
   }
   t->run(r, t->user);
   if (!driver_capture_end(&r->driver, r->work, &t->graph, why, sizeof why))
      rank_fail(r, "%s", why);
}

static void
run_once(Timed *t)
{
   char why[256] = "";
   Rank *r = t->r;
   if (!t->graph.exec)
      t->run(r, t->user);
   else if (!driver_graph_launch(&r->driver, &t->graph, r->work, why, sizeof why))
      rank_fail(r, "%s", why);
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

double
rank_time(Rank *r, void (*run)(Rank *r, void *user), void *user)
{
   enum { WARM_UP = 2 };
   Timed t = {.r = r, .run = run, .user = user};
   unsigned repeats = r->options->repeats;
   double median = 0, *ms = calloc(repeats, sizeof *ms);
   if (!ms)
      rank_fail(r, "out of memory");
   if (rank_failed(r)) {
      free(ms);
      return 0;
   }
   rank_must(r, tilec_event_new(r->rt, &t.start), "an event");
   rank_must(r, tilec_event_new(r->rt, &t.stop), "an event");
   run_once(&t); /* what is not there yet is compiled, connections are made */
   rank_sync(r);
   (void)rank_max(r, 0);
   if (r->options->graph)
      capture(&t);
   for (unsigned i = 0; i < WARM_UP + repeats && !rank_failed(r); i++)
      ms[i < WARM_UP ? 0 : i - WARM_UP] = time_once(&t);
   median = ex_median(ms, repeats);
   driver_graph_free(&r->driver, &t.graph);
   tilec_event_free(t.start);
   tilec_event_free(t.stop);
   free(ms);
   return median;
}

/* ---- Time lines ------------------------------------------------------------------------------ */

void
rank_mark(Rank *r, TilecEvent **marks, size_t step, Mark which)
{
   if (!marks || rank_failed(r))
      return;
   TilecEvent *event = marks[step * MARKS + which];
   if (which < MARK_MOVE_BEGIN)
      rank_must(r, tilec_event_record(event, r->work), "an event");
   else if (r->comm->record && !r->comm->record(r->comm, event))
      rank_fail(r, "%s", r->comm->error);
}

/* What a rank measured: marks and steps relative to its first. */
static void
read_marks(Rank *r, TilecEvent **marks, unsigned steps, unsigned unmoved, double *ms)
{
   bool has_moves = r->comm->record != NULL && r->size > 1;
   for (unsigned i = 0; i < steps * MARKS && !rank_failed(r); i++) {
      bool is_move = i % MARKS >= MARK_MOVE_BEGIN;
      if (!is_move || (has_moves && i / MARKS < steps - unmoved))
         rank_must(r, tilec_event_elapsed(marks[0], marks[i], &ms[i]), "an event");
   }
}

static void
print_step(Rank *r, unsigned rank, unsigned step, bool has_move, const double *ms)
{
   rank_say(r, "   rank %u step %u: kernels %.3f .. %.3f ms", rank, step, ms[MARK_WORK_BEGIN],
            ms[MARK_WORK_END]);
   if (has_move && r->comm->record)
      rank_say(r, ", transfer %.3f .. %.3f ms", ms[MARK_MOVE_BEGIN], ms[MARK_MOVE_END]);
   rank_say(r, "\n");
}

void
rank_time_line(Rank *r, void (*run)(Rank *r, void *user), void *user, TilecEvent ***marks,
               unsigned steps, unsigned unmoved)
{
   size_t count = (size_t)steps * MARKS;
   TilecEvent **events = calloc(count, sizeof(TilecEvent *));
   double *mine = calloc(count, sizeof *mine), *all = calloc(count * r->size, sizeof *all);
   if (!events || !mine || !all)
      rank_fail(r, "out of memory");
   for (size_t i = 0; i < count && !rank_failed(r); i++)
      rank_must(r, tilec_event_new(r->rt, &events[i]), "an event");
   *marks = events;
   (void)rank_max(r, 0);
   run(r, user);
   *marks = NULL;
   rank_sync(r);
   read_marks(r, events, steps, unmoved, mine);
   rank_gather(r, mine, count * sizeof *mine, all);
   for (unsigned i = 0; i < r->size * steps && !rank_failed(r); i++)
      print_step(r, i / steps, i % steps, r->size > 1 && i % steps < steps - unmoved,
                 all + (size_t)i * MARKS);
   for (size_t i = 0; events && i < count; i++)
      tilec_event_free(events[i]);
   free(all);
   free(mine);
   free(events);
}
