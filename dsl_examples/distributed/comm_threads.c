/* Ranks that are threads of one process.  A board holds what each rank offers the others; who takes
 * something copies it from where it lies, and only then its owner goes on. */
#include "comm.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What one rank offers another; posted - taken is 0 or 1. */
typedef struct Offer {
   const void *data;
   size_t bytes;
   unsigned posted, taken;
   bool is_read; /* just now, without the lock */
} Offer;

struct CommBoard {
   pthread_mutex_t lock;
   pthread_cond_t changed;
   unsigned size;
   char given_up[COMM_ERROR_BYTES]; /* the first rank's reason; "" while all go on */
   Offer offers[];                  /* [from][to][COMM_MAX_PARTS] */
};

/* A transfer under way; of a sum, `part` has where it goes and its bytes. */
typedef struct Pending {
   bool is_sum;
   CommPart part;
} Pending;

typedef struct Threads {
   Comm comm;
   CommBoard *board;
   Pending pending[COMM_MAX_PARTS];
   unsigned num_pending;
} Threads;

static Offer *
offer_at(CommBoard *b, unsigned from, unsigned to, unsigned slot)
{
   return &b->offers[(from * b->size + to) * COMM_MAX_PARTS + slot];
}

CommBoard *
comm_board_new(unsigned size)
{
   size_t offers = (size_t)size * size * COMM_MAX_PARTS;
   CommBoard *b = calloc(1, sizeof *b + offers * sizeof b->offers[0]);
   if (!b)
      return NULL;
   pthread_condattr_t attr;
   pthread_condattr_init(&attr);
   pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
   pthread_mutex_init(&b->lock, NULL);
   pthread_cond_init(&b->changed, &attr);
   pthread_condattr_destroy(&attr);
   b->size = size;
   return b;
}

void
comm_board_free(CommBoard *b)
{
   if (!b)
      return;
   pthread_cond_destroy(&b->changed);
   pthread_mutex_destroy(&b->lock);
   free(b);
}

/* With the lock held: from here on nobody reads this rank's memory any more. */
static void
withdraw(Threads *t)
{
   CommBoard *b = t->board;
   Offer *mine = offer_at(b, t->comm.rank, 0, 0);
   for (unsigned i = 0; i < b->size * COMM_MAX_PARTS; i++) {
      while (mine[i].is_read)
         pthread_cond_wait(&b->changed, &b->lock);
      mine[i].taken = mine[i].posted;
   }
   t->num_pending = 0;
}

/* Ends a call that took the lock; a failed one leaves nothing on the board. */
static bool
end_call(Threads *t, bool ok)
{
   if (!ok)
      withdraw(t);
   pthread_mutex_unlock(&t->board->lock);
   return ok;
}

/* Waits, with the lock held, until the offer is there (wanted) or was taken. */
static bool
wait_for(Threads *t, const Offer *o, bool wanted, unsigned other)
{
   CommBoard *b = t->board;
   double end = comm_now() + t->comm.timeout_s;
   struct timespec until = {(time_t)end, (long)((end - (double)(time_t)end) * 1e9)};
   int code = 0;
   while ((o->posted != o->taken) != wanted && !b->given_up[0] && code != ETIMEDOUT)
      code = pthread_cond_timedwait(&b->changed, &b->lock, &until);
   if ((o->posted != o->taken) == wanted)
      return true;
   if (b->given_up[0])
      return comm_fail(&t->comm, "%s", b->given_up);
   return comm_fail(&t->comm, "nothing from rank %u for %g seconds", other, t->comm.timeout_s);
}

static void
post(Threads *t, unsigned to, unsigned slot, const void *data, size_t bytes)
{
   Offer *o = offer_at(t->board, t->comm.rank, to, slot);
   o->data = data;
   o->bytes = bytes;
   o->posted++;
   pthread_cond_broadcast(&t->board->changed);
}

/* Waits for an offer, hands it to `use`, and says that it was taken. */
static bool
take(Threads *t, unsigned from, unsigned slot, size_t bytes, void *recv,
     void (*use)(void *recv, const void *data, size_t bytes))
{
   CommBoard *b = t->board;
   Offer *o = offer_at(b, from, t->comm.rank, slot);
   if (!wait_for(t, o, true, from))
      return false;
   if (o->bytes != bytes)
      return comm_fail(&t->comm, "rank %u sends %zu bytes, %zu were expected", from, o->bytes,
                       bytes);
   o->is_read = true; /* until then its owner waits */
   pthread_mutex_unlock(&b->lock);
   use(recv, o->data, bytes);
   pthread_mutex_lock(&b->lock);
   o->is_read = false;
   o->taken++;
   pthread_cond_broadcast(&b->changed);
   return true;
}

static void
copy(void *recv, const void *data, size_t bytes)
{
   memcpy(recv, data, bytes);
}

static void
add(void *recv, const void *data, size_t bytes)
{
   float *sum = recv;
   const float *x = data;
   for (size_t i = 0; i < bytes / sizeof *x; i++)
      sum[i] += x[i];
}

static bool
threads_gather(Comm *c, const void *mine, size_t bytes, void *all)
{
   Threads *t = (Threads *)c;
   bool ok = true;
   pthread_mutex_lock(&t->board->lock);
   for (unsigned r = 0; r < c->size; r++)
      post(t, r, 0, mine, bytes);
   for (unsigned r = 0; ok && r < c->size; r++)
      ok = take(t, r, 0, bytes, (char *)all + r * bytes, copy);
   for (unsigned r = 0; ok && r < c->size; r++)
      ok = wait_for(t, offer_at(t->board, c->rank, r, 0), false, r);
   return end_call(t, ok);
}

static bool
has_room(Threads *t, unsigned count)
{
   return t->num_pending + count <= COMM_MAX_PARTS ||
          comm_fail(&t->comm, "more than %d transfers at once", COMM_MAX_PARTS);
}

static bool
threads_exchange(Comm *c, const CommPart *parts, unsigned count)
{
   Threads *t = (Threads *)c;
   pthread_mutex_lock(&t->board->lock);
   bool ok = has_room(t, count);
   for (unsigned i = 0; ok && i < count; i++) {
      post(t, parts[i].to, t->num_pending, parts[i].send, parts[i].bytes);
      t->pending[t->num_pending++] = (Pending){.part = parts[i]};
   }
   return end_call(t, ok);
}

static bool
threads_reduce_scatter(Comm *c, const void *send, void *recv, size_t elems, TilecDtype dtype)
{
   Threads *t = (Threads *)c;
   size_t bytes = elems * sizeof(float);
   pthread_mutex_lock(&t->board->lock);
   bool ok = dtype == TILEC_FP32 || comm_fail(c, "sums between threads are of fp32");
   ok = ok && has_room(t, 1);
   for (unsigned r = 0; ok && r < c->size; r++)
      post(t, r, t->num_pending, (const char *)send + r * bytes, bytes);
   if (ok)
      t->pending[t->num_pending++] =
         (Pending){.is_sum = true, .part = {.recv = recv, .bytes = bytes}};
   return end_call(t, ok);
}

static bool
finish_sum(Threads *t, const CommPart *p, unsigned slot)
{
   bool ok = true;
   memset(p->recv, 0, p->bytes);
   for (unsigned r = 0; ok && r < t->comm.size; r++)
      ok = take(t, r, slot, p->bytes, p->recv, add);
   for (unsigned r = 0; ok && r < t->comm.size; r++)
      ok = wait_for(t, offer_at(t->board, t->comm.rank, r, slot), false, r);
   return ok;
}

static bool
finish_copy(Threads *t, const CommPart *p, unsigned slot)
{
   return take(t, p->from, slot, p->bytes, p->recv, copy) &&
          wait_for(t, offer_at(t->board, t->comm.rank, p->to, slot), false, p->to);
}

static bool
threads_before(Comm *c, TilecStream work)
{
   Threads *t = (Threads *)c;
   bool ok = true;
   (void)work;
   pthread_mutex_lock(&t->board->lock);
   for (unsigned i = 0; ok && i < t->num_pending; i++)
      ok = t->pending[i].is_sum ? finish_sum(t, &t->pending[i].part, i)
                                : finish_copy(t, &t->pending[i].part, i);
   t->num_pending = 0;
   return end_call(t, ok);
}

static void
threads_give_up(Comm *c, const char *why)
{
   Threads *t = (Threads *)c;
   CommBoard *b = t->board;
   pthread_mutex_lock(&b->lock);
   if (!b->given_up[0])
      snprintf(b->given_up, sizeof b->given_up, "rank %u gave up: %.900s", c->rank, why);
   pthread_cond_broadcast(&b->changed);
   (void)end_call(t, false);
}

static bool
threads_is_there(Comm *c, char *why, size_t why_bytes)
{
   CommBoard *b = ((Threads *)c)->board;
   pthread_mutex_lock(&b->lock);
   bool ok = !b->given_up[0];
   if (!ok)
      snprintf(why, why_bytes, "%s", b->given_up);
   pthread_mutex_unlock(&b->lock);
   return ok;
}

static void
threads_close(Comm *c)
{
   free(c);
}

Comm *
comm_threads_open(CommBoard *board, unsigned rank, double timeout_s)
{
   Threads *t = calloc(1, sizeof *t);
   if (!t)
      return NULL;
   t->board = board;
   t->comm = (Comm){.rank = rank,
                    .size = board->size,
                    .timeout_s = timeout_s,
                    .engine = "threads",
                    .gather = threads_gather,
                    .exchange = threads_exchange,
                    .reduce_scatter = threads_reduce_scatter,
                    .after = comm_nothing,
                    .before = threads_before,
                    .sync = comm_nothing,
                    .is_there = threads_is_there,
                    .give_up = threads_give_up,
                    .close = threads_close};
   return &t->comm;
}
