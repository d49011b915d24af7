/* Minimum cuts against all labellings of small graphs. */
#include "passes/place/min_cut.h"
#include "unit/layout/gen.h"

int test_min_cut(void);

enum { MAX_NODES = 9, MAX_PAIRS = 16 };

typedef struct Problem {
   unsigned nodes, pairs;
   int64_t alone[MAX_NODES];
   unsigned a[MAX_PAIRS], b[MAX_PAIRS];
   int64_t cost[MAX_PAIRS][2][2];
} Problem;

static int64_t
cost_of(const Problem *p, uint32_t labels)
{
   int64_t sum = 0;
   for (unsigned i = 0; i < p->nodes; i++)
      sum += labels >> i & 1 ? p->alone[i] : 0;
   for (unsigned k = 0; k < p->pairs; k++)
      sum += p->cost[k][labels >> p->a[k] & 1][labels >> p->b[k] & 1];
   return sum;
}

static void
against_all_labellings(void **state)
{
   (void)state;
   Rng r = {41};
   unsigned mixed = 0;
   for (int trial = 0; trial < 2000; trial++) {
      Problem p = {.nodes = 1 + rng_below(&r, MAX_NODES), .pairs = rng_below(&r, MAX_PAIRS + 1)};
      TlMem mem;
      tl_mem_init(&mem);
      TlArena *arena = tl_arena_new(&mem);
      TlCut cut;
      tl_cut_init(&cut, arena, p.nodes);
      for (unsigned i = 0; i < p.nodes; i++) {
         p.alone[i] = (int64_t)rng_below(&r, 41) - 20;
         tl_cut_add(&cut, i, p.alone[i]);
      }
      for (unsigned k = 0; k < p.pairs; k++) {
         p.a[k] = rng_below(&r, p.nodes);
         p.b[k] = (p.a[k] + 1 + rng_below(&r, p.nodes)) % p.nodes;
         if (p.a[k] == p.b[k]) {
            p.pairs = k;
            break;
         }
         for (unsigned i = 0; i < 4; i++)
            p.cost[k][i >> 1][i & 1] = rng_below(&r, 20);
         int64_t agree = p.cost[k][0][0] + p.cost[k][1][1];
         int64_t differ = p.cost[k][0][1] + p.cost[k][1][0];
         if (agree > differ)
            p.cost[k][0][1] += agree - differ;
         tl_cut_add_pair(&cut, p.a[k], p.b[k], p.cost[k]);
      }
      bool label[MAX_NODES];
      tl_cut_solve(&cut, label);
      uint32_t got = 0;
      for (unsigned i = 0; i < p.nodes; i++)
         got |= (uint32_t)label[i] << i;
      mixed += got != 0 && got != (1u << p.nodes) - 1;
      for (uint32_t all = 0; all < 1u << p.nodes; all++) {
         CHECK(trial, cost_of(&p, got) <= cost_of(&p, all));
         if (cost_of(&p, got) == cost_of(&p, all)) /* of equal ones the fewest changes */
            CHECK(trial, __builtin_popcount(got) <= __builtin_popcount(all));
      }
      tl_arena_free(arena);
   }
   assert_true(mixed > 500);
}

int
test_min_cut(void)
{
   const struct CMUnitTest tests[] = {cmocka_unit_test(against_all_labellings)};
   return cmocka_run_group_tests(tests, NULL, NULL);
}
