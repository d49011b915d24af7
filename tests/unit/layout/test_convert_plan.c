/* Every plan is executed by a small machine: registers of all threads, shuffles, shared memory that
 * starts as garbage.  Afterwards every dst register must hold the element that dst names. */
#include "layout/convert_plan.h"
#include "layout/cost.h"
#include "layout/hw_layouts.h"
#include "unit/layout/gen.h"

#include <stdlib.h>
#include <string.h>

int test_convert_plan(void);

enum { GARBAGE = 0x7fffffff };

typedef struct Machine {
   const TlConvertPlan *p;
   unsigned es;           /* element bytes */
   uint32_t lanes, warps; /* counts */
   uint32_t sregs, dregs; /* registers per thread and repeat */
   uint32_t *src, *dst;   /* [repeat][warp][lane][register] element identities */
   uint32_t *memory;      /* identity per byte of scratch; element at its first byte */
   unsigned accesses[2];  /* shared accesses executed, by side */
} Machine;

/* Identity of an element: row-major index in the whole shape. */
static uint32_t
identity(const TlLinear *l, uint32_t reg, uint32_t lane, uint32_t warp)
{
   uint32_t c[TL_LL_MAX_RANK], shape[TL_LL_MAX_RANK], id = 0;
   tl_ll_coords(l, reg, lane, warp, 0, c);
   tl_ll_shape(l, shape);
   for (unsigned d = 0; d < l->rank; d++)
      id = id * shape[d] + c[d];
   return id;
}

static uint32_t *
thread_regs(const Machine *m, uint32_t *base, uint32_t regs, uint32_t rep, uint32_t lane,
            uint32_t warp)
{
   return base + ((rep * m->warps + warp) * m->lanes + lane) * (size_t)regs;
}

static bool
active(const TlConvertStage *s, uint32_t lane, uint32_t warp)
{
   return __builtin_parity(lane & s->lane) ^ __builtin_parity(warp & s->warp);
}

static void
run_stages(const TlConvertStage *stages, unsigned n, uint32_t *regs, uint32_t count, uint32_t lane,
           uint32_t warp)
{
   uint32_t *old = malloc(count * sizeof *old);
   for (unsigned i = 0; i < n; i++) {
      memcpy(old, regs, count * sizeof *old);
      for (uint32_t x = 0; x < count && active(&stages[i], lane, warp); x++)
         regs[x] = old[x ^ stages[i].reg];
   }
   free(old);
}

static uint32_t
columns(const uint32_t *col, uint32_t set)
{
   uint32_t v = 0;
   for (unsigned i = 0; set >> i; i++)
      v ^= set >> i & 1 ? col[i] : 0;
   return v;
}

/* Executes with words of 2^pack_bits elements: what lowering does when it packs. */
static unsigned
run_shuffles(Machine *m, uint32_t rep, uint32_t warp)
{
   const TlConvertShuffle *sh = &m->p->shuffle;
   uint32_t *a = malloc(m->lanes * m->sregs * sizeof *a), packed = 0, packed_src = 0;
   unsigned shuffles = 0;
   for (unsigned i = 0; i < sh->pack_bits; i++) {
      packed |= 1u << sh->pack_dst[i];
      packed_src |= 1u << sh->pack_src[i];
   }
   for (unsigned i = 0; i < sh->num_pre; i++)
      assert_int_equal(sh->pre[i].reg & packed_src, 0);
   for (unsigned i = 0; i < sh->num_post; i++)
      assert_int_equal(sh->post[i].reg & packed, 0);
   for (uint32_t lane = 0; lane < m->lanes; lane++) {
      memcpy(a + lane * m->sregs, thread_regs(m, m->src, m->sregs, rep, lane, warp),
             m->sregs * sizeof *a);
      run_stages(sh->pre, sh->num_pre, a + lane * m->sregs, m->sregs, lane, warp);
   }
   for (uint32_t r = 0; r < m->dregs; r++) {
      if ((r & ~m->p->dst_live) || (r & packed))
         continue;
      uint32_t from = columns(m->p->from_reg, r);
      assert_int_equal(from & packed_src, 0);
      for (uint32_t e = 0; e < 1u << sh->pack_bits; e++) {
         uint32_t ds = 0, ss = 0;
         for (unsigned i = 0; i < sh->pack_bits; i++) {
            ds |= (e >> i & 1) << sh->pack_dst[i];
            ss |= (e >> i & 1) << sh->pack_src[i];
         }
         for (uint32_t lane = 0; lane < m->lanes; lane++) {
            uint32_t sl = columns(sh->lane_by_lane, lane) ^ columns(sh->lane_by_reg, r) ^
                          columns(sh->lane_by_warp, warp);
            if (!sh->exchange)
               assert_int_equal(sl, lane);
            assert_true(sl < m->lanes);
            thread_regs(m, m->dst, m->dregs, rep, lane, warp)[r | ds] =
               a[sl * m->sregs + (from ^ ss)];
         }
      }
      shuffles += sh->exchange ? (m->es == 8 ? 2 : 1) : 0;
   }
   for (uint32_t lane = 0; lane < m->lanes; lane++)
      run_stages(sh->post, sh->num_post, thread_regs(m, m->dst, m->dregs, rep, lane, warp),
                 m->dregs, lane, warp);
   free(a);
   return shuffles;
}

/* One side of one round for one thread, in vectors; checks alignment and the split addresses. */
static void
run_access(Machine *m, TlConvertSide side, uint32_t rep, uint32_t round, uint32_t lane,
           uint32_t warp)
{
   const TlConvertScratch *sc = &m->p->shared;
   const TlConvertAccess *a = &sc->access[side];
   uint32_t regs = side == TL_CONVERT_STORE ? m->sregs : m->dregs, vec = 0;
   uint32_t *file = side == TL_CONVERT_STORE ? m->src : m->dst;
   uint32_t *mine = thread_regs(m, file, regs, rep, lane, warp);
   for (unsigned i = 0; i < a->vec_bits; i++)
      vec |= a->vec_reg[i];
   for (uint32_t r = 0; r < regs; r++) {
      if ((r & ~a->live) || (r & vec))
         continue;
      uint32_t offset = tl_convert_offset(m->p, side, r, lane, warp, 0);
      if (offset / sc->scratch_bytes != round)
         continue;
      offset %= sc->scratch_bytes;
      assert_true(offset % (m->es << a->vec_bits) == 0);
      for (uint32_t e = 0; e < 1u << a->vec_bits; e++) {
         uint32_t reg = r;
         for (unsigned i = 0; i < a->vec_bits; i++)
            reg ^= e >> i & 1 ? a->vec_reg[i] : 0;
         uint32_t *cell = &m->memory[offset + e * m->es];
         if (side == TL_CONVERT_STORE)
            *cell = mine[reg];
         else
            mine[reg] = *cell;
      }
      m->accesses[side]++;
   }
   if (a->static_rounds && rep == 0 && round == 0)
      for (uint32_t r = 0; r < regs; r++)
         assert_int_equal(tl_convert_offset(m->p, side, r, lane, warp, 0) / sc->scratch_bytes,
                          tl_convert_offset(m->p, side, r, 0, 0, 0) / sc->scratch_bytes);
}

/* Step 2 i stores round i (of all repeats), step 2 i + 1 loads it. */
static void
run_step(Machine *m, uint32_t step, uint32_t warp)
{
   uint32_t round = step / 2 % m->p->shared.rounds, rep = step / 2 / m->p->shared.rounds;
   for (uint32_t lane = 0; lane < m->lanes; lane++)
      run_access(m, step % 2 ? TL_CONVERT_LOAD : TL_CONVERT_STORE, rep, round, lane, warp);
}

/* Warp-local plans let every warp run at its own, random pace; the others wait for each other. */
static void
run_shared(Machine *m, Rng *pace)
{
   const TlConvertScratch *sc = &m->p->shared;
   uint32_t steps = 2 * sc->rounds * m->p->repeats, left = steps * m->warps;
   uint32_t *next = calloc(m->warps, sizeof *next);
   for (uint32_t i = 0; i < sc->scratch_bytes; i++)
      m->memory[i] = GARBAGE;
   while (left > 0) {
      uint32_t warp = rng_below(pace, m->warps), step = next[warp];
      bool wait = step == steps;
      for (uint32_t w = 0; w < m->warps && !sc->warp_local; w++)
         wait |= next[w] < step;
      if (wait)
         continue;
      run_step(m, step, warp);
      next[warp]++;
      left--;
   }
   free(next);
}

static void
run_copies(Machine *m, uint32_t rep)
{
   for (uint32_t t = 0; t < m->warps * m->lanes; t++) {
      uint32_t *d = thread_regs(m, m->dst, m->dregs, rep, t % m->lanes, t / m->lanes);
      for (uint32_t r = 0; r < m->dregs; r++)
         d[r] = d[r & m->p->dst_live];
   }
}

/* Executes p and compares with what src and dst say.  Returns shuffles per warp and repeat. */
static unsigned
execute(int trial, const TlConvertPlan *p, const TlLinear *src, const TlLinear *dst, unsigned es)
{
   Machine m = {.p = p,
                .es = es,
                .lanes = 1u << src->num[TL_HW_LANE],
                .warps = 1u << src->num[TL_HW_WARP],
                .sregs = 1u << p->src.num[TL_HW_REG],
                .dregs = 1u << p->dst.num[TL_HW_REG]};
   uint32_t threads = m.lanes * m.warps, ns = tl_ll_num_regs(src), nd = tl_ll_num_regs(dst);
   unsigned shuffles = 0;
   CHECK(trial, ns == m.sregs * p->repeats && nd == m.dregs * p->repeats);
   m.src = malloc((size_t)threads * ns * sizeof *m.src);
   m.dst = malloc((size_t)threads * nd * sizeof *m.dst);
   m.memory = malloc((p->shared.scratch_bytes + 1) * sizeof *m.memory);
   for (uint32_t i = 0; i < threads * nd; i++)
      m.dst[i] = GARBAGE;
   for (uint32_t rep = 0; rep < p->repeats; rep++)
      for (uint32_t t = 0; t < threads; t++) {
         uint32_t lane = t % m.lanes, warp = t / m.lanes;
         uint32_t *s = thread_regs(&m, m.src, m.sregs, rep, lane, warp);
         for (uint32_t r = 0; r < m.sregs; r++)
            s[r] = identity(src, rep * m.sregs + r, lane, warp);
      }
   for (uint32_t rep = 0; rep < p->repeats && p->kind == TL_CONVERT_SHUFFLES; rep++)
      for (uint32_t warp = 0; warp < m.warps; warp++)
         shuffles = run_shuffles(&m, rep, warp);
   Rng pace = {(uint64_t)trial};
   if (p->kind == TL_CONVERT_SHARED)
      run_shared(&m, &pace);
   for (uint32_t rep = 0; rep < p->repeats && p->kind >= TL_CONVERT_SHUFFLES; rep++)
      run_copies(&m, rep);
   for (uint32_t rep = 0; rep < p->repeats; rep++)
      for (uint32_t t = 0; t < threads; t++)
         for (uint32_t r = 0; r < m.dregs; r++) {
            uint32_t lane = t % m.lanes, warp = t / m.lanes, all = rep * m.dregs + r;
            uint32_t got = thread_regs(&m, m.dst, m.dregs, rep, lane, warp)[r];
            if (p->kind <= TL_CONVERT_REGISTERS)
               got = identity(src, tl_convert_source_reg(p, all), lane, warp);
            CHECK(trial, got == identity(dst, all, lane, warp));
         }
   free(m.src);
   free(m.dst);
   free(m.memory);
   return shuffles;
}

static void
random_pairs(void **state)
{
   Rng r = {31};
   unsigned kinds[4] = {0}, rounds = 0, local = 0, vectors = 0, packed = 0, predicated = 0;
   (void)state;
#ifdef TL_INSTRUMENTED
   const int count = 2000;
#else
   const int count = 6000;
#endif
   for (int t = 0; t < count; t++) {
      TlLinear shape = gen_shape(&r, 3, rng_below(&r, 11));
      unsigned warps = rng_below(&r, 4), es = 1u << rng_below(&r, 4);
      TlLinear s = gen_onto(&r, &shape, 5, warps, rng_below(&r, 2) * rng_below(&r, 4));
      TlLinear d = gen_onto(&r, &shape, 5, warps, rng_below(&r, 2) * rng_below(&r, 4));
      if (rng_below(&r, 3) == 0) { /* near relative: a few columns exchanged */
         d = s;
         for (unsigned k = rng_below(&r, 3); k > 0 && tl_ll_in_bits(&d) > 1; k--) {
            unsigned n = rng_below(&r, 2) ? tl_ll_in_bits(&d) : tl_ll_first(&d, TL_HW_WARP);
            unsigned i = rng_below(&r, n), j = rng_below(&r, n);
            uint32_t tmp = d.col[i];
            d.col[i] = d.col[j];
            d.col[j] = rng_below(&r, 4) ? tmp : tmp ^ d.col[i];
         }
      }
      uint32_t budget = rng_below(&r, 3) ? 1u << 20 : 16u << rng_below(&r, 6);
      TlConvertPlan p, q;
      CHECK(t, tl_convert_plan(&s, &d, es, budget, &p));
      unsigned shuffles = execute(t, &p, &s, &d, es);
      kinds[p.kind]++;
      if (p.kind == TL_CONVERT_SHUFFLES) {
         CHECK(t, shuffles == p.shuffle.num_shuffles);
         packed += p.shuffle.pack_bits > 0;
      }
      CHECK(t, tl_convert_plan_shared(&s, &d, es, budget, &q));
      execute(t, &q, &s, &d, es);
      CHECK(t, q.shared.scratch_bytes <= budget && q.kind == TL_CONVERT_SHARED);
      rounds += q.shared.rounds > 1;
      local += q.shared.warp_local;
      vectors += q.shared.access[0].vec_bits > 0 && q.shared.access[1].vec_bits > 0;
      predicated += !q.shared.access[0].static_rounds;
   }
   const unsigned few = (unsigned)count / 120;
   for (unsigned k = 0; k < 4; k++) /* every kind and feature was met */
      assert_true(kinds[k] > 2 * few);
   assert_true(rounds > 6 * few && local > 6 * few && vectors > 6 * few);
   assert_true(packed > few && predicated > few);
}

static void
impossible_plans_are_refused(void **state)
{
   uint32_t shape[1] = {64};
   TlLinear s = tl_ll_empty(1, shape), d;
   TlConvertPlan p;
   (void)state;
   for (unsigned i = 0; i < 5; i++)
      tl_ll_push(&s, TL_HW_LANE, 1u << i);
   d = s;
   tl_ll_push(&d, TL_HW_REG, 32); /* nobody holds elements 32.. in src */
   assert_false(tl_convert_plan(&s, &d, 4, 1 << 16, &p));
   tl_ll_push(&s, TL_HW_REG, 32);
   assert_true(tl_convert_plan(&s, &d, 4, 1 << 16, &p));
   assert_int_equal(p.kind, TL_CONVERT_NOTHING);
   tl_ll_push(&s, TL_HW_WARP, 0); /* different numbers of warps */
   assert_false(tl_convert_plan(&s, &d, 4, 1 << 16, &p));
   TlLinear a = tl_ll_empty(1, shape), b;
   for (unsigned i = 0; i < 5; i++)
      tl_ll_push(&a, TL_HW_LANE, 1u << i);
   b = a;
   tl_ll_push(&a, TL_HW_BLOCK, 32);
   tl_ll_push(&b, TL_HW_BLOCK, 0);
   tl_ll_push(&b, TL_HW_REG, 32); /* the other block holds it */
   assert_false(tl_convert_plan(&a, &b, 4, 1 << 16, &p));
}

/* Scratch conversions that real kernels need, with the conflict counts that they must reach. */
static void
known_conversions(void **state)
{
   (void)state;
   TlConvertPlan p;
   unsigned rows[2] = {1, 0}, cols[2] = {0, 1};
   for (unsigned es = 1; es <= 8; es *= 2) {
      /* 32 x 32 by one warp: a lane holds a row, then a column. */
      uint32_t shape[2] = {32, 32}, one[2] = {1, 1}, wide[2] = {1, 32}, tall[2] = {32, 1};
      TlLinear s = tl_ll_blocked(2, shape, wide, tall, one, rows);
      TlLinear d = tl_ll_blocked(2, shape, tall, wide, one, cols);
      assert_true(tl_convert_plan_shared(&s, &d, es, 1 << 16, &p));
      execute((int)es, &p, &s, &d, es);
      assert_true(p.shared.warp_local);
      for (unsigned k = 0; k < 2; k++)
         assert_int_equal(p.shared.access[k].wavefronts, p.shared.access[k].minimum);
      /* 64 x 64 by 4 warps, row vectors to column vectors of 16 bytes. */
      uint32_t big[2] = {64, 64}, w[2] = {4, 1};
      uint32_t row_vec[2] = {1, 16 / es}, col_vec[2] = {16 / es, 1};
      uint32_t tpw_row[2] = {es * 2, 16 / es}, tpw_col[2] = {16 / es, es * 2};
      s = tl_ll_blocked(2, big, row_vec, tpw_row, w, rows);
      d = tl_ll_blocked(2, big, col_vec, tpw_col, w, cols);
      assert_true(tl_convert_plan_shared(&s, &d, es, 1 << 16, &p));
      execute((int)es, &p, &s, &d, es);
      for (unsigned k = 0; k < 2; k++)
         assert_int_equal(p.shared.access[k].wavefronts, p.shared.access[k].minimum);
   }
}

/* mma accumulator to a coalesced store layout, f32 and f16: full vectors out, no conflicts. */
static void
epilogue_is_conflict_free(void **state)
{
   (void)state;
   unsigned order[2] = {1, 0};
   for (unsigned es = 2; es <= 4; es *= 2) {
      TlMmaTile t = {TL_MMA_M16N8, 2, {128, 128}, {2, 2}, 0};
      TlLinear s = tl_hw_mma_acc(&t);
      uint32_t spt[2] = {1, 16 / es}, tpw[2] = {es == 4 ? 1 : 2, es == 4 ? 32 : 16}, w[2] = {4, 1};
      TlLinear d = tl_ll_blocked(2, t.shape, spt, tpw, w, order);
      TlConvertPlan p;
      assert_true(tl_convert_plan(&s, &d, es, 16384, &p));
      assert_int_equal(p.kind, TL_CONVERT_SHARED);
      assert_int_equal(p.shared.rounds, 128 * 128 * es / 16384);
      execute((int)es, &p, &s, &d, es);
      assert_true(p.shared.access[0].vec_bits >= 1); /* n1 pair is common */
      for (unsigned k = 0; k < 2; k++) {
         assert_int_equal(p.shared.access[k].wavefronts, p.shared.access[k].minimum);
         assert_true(p.shared.access[k].static_rounds);
      }
   }
}

/* The accumulator of one dot as the A operand of the next: free for 16 bits, shuffles for tf32. */
static void
chained_dot(void **state)
{
   (void)state;
   TlMmaTile t = {TL_MMA_M16N8, 2, {64, 64}, {4, 1}, 0};
   TlLinear acc = tl_hw_mma_acc(&t), a16 = tl_hw_mma_operand(&t, 0, 64, 16);
   TlLinear a32 = tl_hw_mma_operand(&t, 0, 64, 32), a8 = tl_hw_mma_operand(&t, 0, 64, 8);
   TlConvertPlan p;
   assert_true(tl_convert_plan(&acc, &a16, 2, 1 << 16, &p));
   assert_true(p.kind <= TL_CONVERT_REGISTERS);
   execute(16, &p, &acc, &a16, 2);
   assert_true(tl_convert_plan(&acc, &a32, 4, 1 << 16, &p));
   assert_int_equal(p.kind, TL_CONVERT_SHUFFLES);
   execute(32, &p, &acc, &a32, 4);
   assert_true(tl_convert_plan(&acc, &a8, 1, 1 << 16, &p));
   execute(8, &p, &acc, &a8, 1);
   /* wgmma with N = 176: both sides counted, 22 repeats of a permutation of 8 columns. */
   TlMmaTile w = {TL_MMA_WGMMA, 2, {64, 176}, {4, 1}, 176};
   TlLinear s = tl_hw_mma_acc(&w), d = s;
   uint32_t c = d.col[0];
   d.col[0] = d.col[2];
   d.col[2] = c;
   assert_true(tl_convert_plan(&s, &d, 4, 1 << 16, &p));
   assert_int_equal(p.repeats, 11);
   execute(176, &p, &s, &d, 4);
   assert_true(tl_convert_plan_shared(&s, &d, 4, 1 << 9, &p));
   assert_true(p.shared.warp_local);
   execute(177, &p, &s, &d, 4);
}

/* Every stage of shuffles selects each element, however many share a word: one warp's halves of an
 * accumulator become rows of 16 bytes by shuffles when they are 8, through memory when 32. */
static void
halves_turn_by_number(void **state)
{
   (void)state;
   unsigned order[2] = {1, 0};
   for (uint32_t n = 16; n <= 32; n *= 2) {
      TlMmaTile t = {TL_MMA_M16N8, 2, {n, n}, {1, 1}, 0};
      uint32_t size[2] = {1, 8}, lanes[2] = {32 / (n / 8), n / 8}, warps[2] = {1, 1};
      TlLinear s = tl_hw_mma_acc(&t), d = tl_ll_blocked(2, t.shape, size, lanes, warps, order);
      TlConvertPlan p;
      assert_true(tl_convert_plan(&s, &d, 2, 1 << 16, &p));
      assert_int_equal(p.kind, n == 16 ? TL_CONVERT_SHUFFLES : TL_CONVERT_SHARED);
      execute((int)n, &p, &s, &d, 2);
   }
}

int
test_convert_plan(void)
{
   const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_pairs),      cmocka_unit_test(impossible_plans_are_refused),
      cmocka_unit_test(known_conversions), cmocka_unit_test(epilogue_is_conflict_free),
      cmocka_unit_test(chained_dot),       cmocka_unit_test(halves_turn_by_number),
   };
   return cmocka_run_group_tests(tests, NULL, NULL);
}
