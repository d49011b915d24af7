/* Ranks that are threads: when one fails nobody reads its memory any more, wherever it was. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "distributed/comm.h"

int test_comm_threads(void);

enum { RANKS = 4, ROUNDS = 6, BYTES = 256 };

/* What a rank sends and receives; on the heap, so that an address sanitizer sees late reads. */
typedef struct Buffers {
   char *send, *recv;
} Buffers;

static Buffers
buffers_new(char fill)
{
   Buffers b = {malloc(BYTES), malloc(BYTES)};
   assert_non_null(b.send);
   assert_non_null(b.recv);
   memset(b.send, fill, BYTES);
   memset(b.recv, 0, BYTES);
   return b;
}

static void
buffers_free(Buffers *b)
{
   free(b->send);
   free(b->recv);
}

/* To the next rank, from the one before. */
static CommPart
around(const Comm *c, const Buffers *b, size_t bytes)
{
   return (CommPart){.to = (c->rank + 1) % c->size,
                     .from = (c->rank + c->size - 1) % c->size,
                     .send = b->send,
                     .recv = b->recv,
                     .bytes = bytes};
}

typedef struct Two {
   CommBoard *board;
   Comm *a, *b;
   Buffers of_a, of_b;
} Two;

/* Both have offered the other something, a of a_bytes. */
static Two
two_open(double timeout_s, size_t a_bytes)
{
   Two t = {.board = comm_board_new(2), .of_a = buffers_new(1), .of_b = buffers_new(2)};
   assert_non_null(t.board);
   t.a = comm_threads_open(t.board, 0, timeout_s);
   t.b = comm_threads_open(t.board, 1, timeout_s);
   assert_true(t.a && t.b);
   CommPart to_b = around(t.a, &t.of_a, a_bytes), to_a = around(t.b, &t.of_b, BYTES);
   assert_true(t.a->exchange(t.a, &to_b, 1));
   assert_true(t.b->exchange(t.b, &to_a, 1));
   return t;
}

/* b is gone with its memory; what a still receives is an error, and nothing. */
static void
two_end(Two *t, const char *says)
{
   memset(t->of_b.send, 99, BYTES); /* seen without a sanitizer too */
   buffers_free(&t->of_b);
   assert_false(t->a->before(t->a, NULL));
   if (!strstr(t->a->error, says))
      fail_msg("says: %s\n   not:  %s", t->a->error, says);
   assert_int_equal(t->of_a.recv[0], 0);
   buffers_free(&t->of_a);
   t->a->close(t->a);
   t->b->close(t->b);
   comm_board_free(t->board);
}

static void
given_up_while_sending(void **state)
{
   (void)state;
   Two t = two_open(5, BYTES);
   t.b->give_up(t.b, "no more memory");
   two_end(&t, "rank 1 gave up: no more memory");
}

static void
other_size_than_expected(void **state)
{
   (void)state;
   Two t = two_open(0.2, BYTES / 2);
   assert_false(t.b->before(t.b, NULL));
   assert_string_equal(t.b->error, "rank 0 sends 128 bytes, 256 were expected");
   two_end(&t, "nothing from rank 1 for 0.2 seconds");
}

static void
sum_of_another_type(void **state)
{
   (void)state;
   Two t = two_open(0.2, BYTES);
   assert_false(t.b->reduce_scatter(t.b, t.of_b.send, t.of_b.recv, 1, TILEC_FP16));
   two_end(&t, "nothing from rank 1 for 0.2 seconds");
}

/* ---- One of four threads gives up, each at each place ---------------------------------------- */

enum { PLACES = 3 * ROUNDS };

typedef struct Runner {
   Comm *comm;
   int fails_at; /* a place; -1: nowhere */
   bool is_right, has_failed;
} Runner;

/* False once the rank has failed, itself or after another. */
static bool
go_on(Runner *r, int place, bool ok)
{
   Comm *c = r->comm;
   if (ok && r->fails_at == place)
      ok = comm_fail(c, "asked to");
   if (!ok) {
      r->has_failed = true;
      c->give_up(c, c->error);
   }
   return ok;
}

static bool
run_round(Runner *r, int round, Buffers *b)
{
   Comm *c = r->comm;
   unsigned mine = c->rank + 1, all[RANKS] = {0};
   CommPart part = around(c, b, BYTES);
   float *sums = (float *)(void *)b->send;
   if (!go_on(r, 3 * round, c->exchange(c, &part, 1)) ||
       !go_on(r, 3 * round + 1, c->before(c, NULL)))
      return false;
   r->is_right = r->is_right && b->recv[0] == (char)((c->rank + c->size - 1) % c->size + 1);
   for (unsigned i = 0; i < BYTES / sizeof *sums; i++)
      sums[i] = (float)mine;
   if (!go_on(r, 3 * round + 2,
              c->reduce_scatter(c, sums, b->recv, BYTES / sizeof *sums / RANKS, TILEC_FP32)) ||
       !go_on(r, -2, c->before(c, NULL)) || !go_on(r, -2, c->gather(c, &mine, sizeof mine, all)))
      return false;
   r->is_right = r->is_right && ((float *)(void *)b->recv)[0] == 10 && all[2] == 3;
   return true;
}

static void *
run(void *user)
{
   Runner *r = user;
   bool ok = true;
   for (int round = 0; ok && round < ROUNDS; round++) {
      Buffers b = buffers_new((char)(r->comm->rank + 1));
      ok = run_round(r, round, &b);
      buffers_free(&b);
   }
   return NULL;
}

static void
run_four(unsigned failing, int fails_at)
{
   CommBoard *board = comm_board_new(RANKS);
   pthread_t threads[RANKS];
   Runner runners[RANKS];
   for (unsigned i = 0; i < RANKS; i++) {
      runners[i] = (Runner){.comm = comm_threads_open(board, i, 10),
                            .fails_at = i == failing ? fails_at : -1,
                            .is_right = true};
      assert_non_null(runners[i].comm);
      assert_int_equal(pthread_create(&threads[i], NULL, run, &runners[i]), 0);
   }
   for (unsigned i = 0; i < RANKS; i++) {
      pthread_join(threads[i], NULL);
      assert_true(runners[i].is_right);
      assert_int_equal(runners[i].has_failed, fails_at >= 0);
      runners[i].comm->close(runners[i].comm);
   }
   comm_board_free(board);
}

static void
each_rank_at_each_place(void **state)
{
   (void)state;
   run_four(0, -1);
   for (unsigned rank = 0; rank < RANKS; rank++)
      for (int place = 0; place < PLACES; place++)
         run_four(rank, place);
}

int
test_comm_threads(void)
{
   const struct CMUnitTest tests[] = {
      cmocka_unit_test(given_up_while_sending),
      cmocka_unit_test(other_size_than_expected),
      cmocka_unit_test(sum_of_another_type),
      cmocka_unit_test(each_rank_at_each_place),
   };
   return cmocka_run_group_tests(tests, NULL, NULL);
}
