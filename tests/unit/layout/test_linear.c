/* Linear layouts against brute force over every hardware index. */
#include "unit/layout/gen.h"

#include <string.h>

int test_linear(void);

enum { TRIALS = 20000 };

/* Does any hardware index of l hold `element`? */
static bool
held(const TlLinear *l, uint32_t element)
{
   for (uint64_t hw = 0; hw < 1ull << tl_ll_in_bits(l); hw++)
      if (tl_ll_apply_packed(l, hw) == element)
         return true;
   return false;
}

static void
apply_is_xor_of_columns(void **state)
{
   Rng r = {1};
   (void)state;
   for (int t = 0; t < TRIALS; t++) {
      TlLinear l = gen_any(&r, 4, rng_below(&r, 8), 9);
      assert_true(tl_ll_is_valid(&l));
      uint32_t idx[TL_HW_COUNT], want = 0;
      for (unsigned h = 0; h < TL_HW_COUNT; h++) {
         idx[h] = rng_below(&r, 1u << l.num[h]);
         for (unsigned i = 0; i < l.num[h]; i++)
            if (idx[h] >> i & 1)
               want ^= tl_ll_col(&l, (TlHw)h, i);
      }
      CHECK(t, tl_ll_apply(&l, idx[0], idx[1], idx[2], idx[3]) == want);
      uint32_t coords[TL_LL_MAX_RANK];
      tl_ll_coords(&l, idx[0], idx[1], idx[2], idx[3], coords);
      for (unsigned d = 0; d < l.rank; d++)
         CHECK(t, coords[d] == gen_field(&l, want, d));
   }
}

static void
surjective_and_injective(void **state)
{
   Rng r = {2};
   unsigned yes[2] = {0};
   (void)state;
   for (int t = 0; t < TRIALS; t++) {
      TlLinear l = rng_below(&r, 2) ? gen_any(&r, 3, rng_below(&r, 6), 7)
                                    : gen_any(&r, 3, rng_below(&r, 3), 4);
      uint64_t seen = 0;
      bool twice = false;
      for (uint64_t hw = 0; hw < 1ull << tl_ll_in_bits(&l); hw++) {
         uint64_t bit = 1ull << tl_ll_apply_packed(&l, hw);
         twice |= (seen & bit) != 0;
         seen |= bit;
      }
      bool all = (unsigned)__builtin_popcountll(seen) == 1u << tl_ll_bits(&l);
      CHECK(t, tl_ll_is_surjective(&l) == all);
      CHECK(t, tl_ll_is_injective(&l) == !twice);
      yes[0] += all;
      yes[1] += !twice;
   }
   assert_true(yes[0] > 500 && yes[1] > 500); /* the generator reaches both answers */
}

static void
convert_map_finds_a_holder(void **state)
{
   Rng r = {3};
   unsigned solved = 0;
   (void)state;
   for (int t = 0; t < TRIALS; t++) {
      unsigned bits = rng_below(&r, 6);
      TlLinear a = gen_any(&r, 1, bits, 7), b = gen_any(&r, 1, bits, 5);
      uint64_t x[TL_LL_MAX_IN];
      bool ok = tl_ll_convert_map(&a, &b, x), all = true;
      for (unsigned j = 0; j < tl_ll_in_bits(&b); j++)
         all &= held(&a, b.col[j]);
      CHECK(t, ok == all);
      for (unsigned j = 0; ok && j < tl_ll_in_bits(&b); j++)
         CHECK(t, tl_ll_apply_packed(&a, x[j]) == b.col[j]);
      solved += ok;
   }
   assert_true(solved > 2000 && solved < TRIALS - 2000);
}

/* Nearness: brute force over all holders of each column's element. */
static void
convert_map_stays_near(void **state)
{
   Rng r = {4};
   (void)state;
   for (int t = 0; t < TRIALS; t++) {
      TlLinear shape = gen_shape(&r, 2, 1 + rng_below(&r, 5));
      TlLinear a = gen_onto(&r, &shape, 3, 2, rng_below(&r, 3));
      TlLinear b = gen_onto(&r, &shape, 3, 2, rng_below(&r, 3));
      uint64_t x[TL_LL_MAX_IN];
      CHECK(t, tl_ll_convert_map(&a, &b, x));
      unsigned lane0 = tl_ll_first(&a, TL_HW_LANE), warp0 = tl_ll_first(&a, TL_HW_WARP);
      for (unsigned j = 0; j < tl_ll_in_bits(&b); j++) {
         uint64_t self_lane = 0, self_warp = 0;
         if (j >= tl_ll_first(&b, TL_HW_WARP))
            self_warp = 1ull << (warp0 + j - tl_ll_first(&b, TL_HW_WARP));
         else if (j >= tl_ll_first(&b, TL_HW_LANE))
            self_lane = 1ull << (lane0 + j - tl_ll_first(&b, TL_HW_LANE));
         bool same_thread = false, same_warp = false;
         for (uint64_t hw = 0; hw < 1ull << tl_ll_in_bits(&a); hw++)
            if (tl_ll_apply_packed(&a, hw) == b.col[j] && hw >> warp0 == self_warp >> warp0) {
               same_warp = true;
               same_thread |= hw >> lane0 == (self_lane | self_warp) >> lane0;
            }
         CHECK(t, !same_warp || x[j] >> warp0 == self_warp >> warp0);
         CHECK(t, !same_thread || x[j] >> lane0 == (self_lane | self_warp) >> lane0);
      }
   }
}

static void
inverse_undoes_layout(void **state)
{
   Rng r = {5};
   unsigned found = 0;
   (void)state;
   for (int t = 0; t < TRIALS; t++) {
      TlLinear l = gen_any(&r, 3, rng_below(&r, 6), 6);
      uint64_t inv[TL_LL_MAX_IN];
      bool ok = tl_ll_invert(&l, inv);
      CHECK(t, ok == (tl_ll_is_injective(&l) && tl_ll_is_surjective(&l)));
      for (uint32_t e = 0; ok && e < 1u << tl_ll_bits(&l); e++) {
         uint64_t hw = 0;
         for (unsigned i = 0; i < tl_ll_bits(&l); i++)
            hw ^= e >> i & 1 ? inv[i] : 0;
         CHECK(t, tl_ll_apply_packed(&l, hw) == e);
      }
      found += ok;
   }
   assert_true(found > 500);
}

static void
relabelling_moves_no_data(void **state)
{
   Rng r = {6};
   (void)state;
   for (int t = 0; t < TRIALS; t++) {
      TlLinear l = gen_any(&r, 4, rng_below(&r, 8), 8);
      unsigned order[TL_LL_MAX_RANK];
      for (unsigned d = 0; d < l.rank; d++)
         order[d] = d;
      for (unsigned d = l.rank; d > 1; d--) {
         unsigned j = rng_below(&r, d), tmp = order[d - 1];
         order[d - 1] = order[j];
         order[j] = tmp;
      }
      TlLinear tr = tl_ll_transpose(&l, order);
      TlLinear other = gen_shape(&r, 5, tl_ll_bits(&l));
      uint32_t shape[TL_LL_MAX_RANK];
      tl_ll_shape(&other, shape);
      TlLinear re = tl_ll_reshape(&l, other.rank, shape);
      unsigned at = rng_below(&r, l.rank + 1u);
      TlLinear ex = tl_ll_expand(&l, at), jo = tl_ll_join(&l);
      for (uint64_t hw = 0; hw < 1ull << tl_ll_in_bits(&l); hw++) {
         uint32_t e = tl_ll_apply_packed(&l, hw), te = tl_ll_apply_packed(&tr, hw);
         for (unsigned d = 0; d < l.rank; d++)
            CHECK(t, gen_field(&tr, te, d) == gen_field(&l, e, order[d]));
         CHECK(t, tl_ll_apply_packed(&re, hw) == e);
         CHECK(t, tl_ll_apply_packed(&ex, hw) == e && ex.rank == l.rank + 1);
         for (unsigned half = 0; half < 2; half++)
            CHECK(t, tl_ll_apply_packed(&jo, hw << 1 | half) == (e << 1 | half));
      }
      TlLinear back;
      unsigned bit = 99;
      CHECK(t, tl_ll_split(&jo, &back, &bit) && bit == 0 && tl_ll_equal(&back, &l));
      assert_true(tl_ll_is_valid(&tr) && tl_ll_is_valid(&re) && tl_ll_is_valid(&ex));
   }
}

static void
slice_and_unbroadcast(void **state)
{
   Rng r = {7};
   (void)state;
   for (int t = 0; t < TRIALS; t++) {
      TlLinear l = gen_any(&r, 4, rng_below(&r, 8), 8);
      unsigned dim = rng_below(&r, l.rank);
      TlLinear u = tl_ll_unbroadcast(&l, dim), s = u;
      if (l.rank > 1) {
         s = tl_ll_slice(&l, dim);
         TlLinear again = tl_ll_expand(&s, dim);
         CHECK(t, tl_ll_equal(&again, &u));
      }
      for (unsigned i = 0; i < u.num[TL_HW_REG]; i++)
         CHECK(t, u.col[i] != 0);
      for (unsigned h = TL_HW_LANE; h < TL_HW_COUNT; h++)
         CHECK(t, u.num[h] == l.num[h]);
      /* Every element of a thread has, with `dim` forgotten, a holder in the same thread. */
      for (uint64_t hw = 0; hw < 1ull << tl_ll_in_bits(&l); hw++) {
         uint32_t e = tl_ll_apply_packed(&l, hw);
         uint64_t thread = hw >> l.num[TL_HW_REG] << u.num[TL_HW_REG];
         bool found = false;
         for (uint32_t reg = 0; reg < 1u << u.num[TL_HW_REG] && !found; reg++) {
            uint32_t f = tl_ll_apply_packed(&u, thread | reg);
            bool same = true;
            for (unsigned d = 0; d < l.rank; d++)
               same &= gen_field(&u, f, d) == (d == dim ? 0 : gen_field(&l, e, d));
            found = same;
         }
         CHECK(t, found);
      }
   }
}

static void
text_round_trip(void **state)
{
   Rng r = {10};
   TlMem mem;
   jmp_buf oom;
   (void)state;
   tl_mem_init(&mem);
   mem.oom = &oom;
   if (setjmp(oom))
      fail();
   TlArena *arena = tl_arena_new(&mem);
   for (int t = 0; t < TRIALS; t++) {
      TlArenaMark mark = tl_arena_mark(arena);
      TlLinear l = gen_any(&r, 4, rng_below(&r, 10), 12), back;
      if (rng_below(&r, 3) == 0)
         l.repeat[rng_below(&r, l.rank)] = (uint16_t)(1 + rng_below(&r, 30));
      TlSb sb;
      tl_sb_init(&sb, arena);
      tl_ll_print(&l, &sb);
      const char *text = tl_sb_cstr(&sb), *end = text;
      CHECK(t, tl_ll_read(&end, &back) && *end == 0);
      CHECK(t, tl_ll_equal(&l, &back) && tl_ll_hash(&l) == tl_ll_hash(&back));
      /* One character changed: refused, or a valid layout that prints as itself. */
      char *bad = tl_arena_strndup(arena, text, sb.len);
      bad[rng_below(&r, (uint32_t)sb.len)] = "[]{},=019 rx"[rng_below(&r, 12)];
      const char *at = bad;
      if (tl_ll_read(&at, &back))
         CHECK(t, tl_ll_is_valid(&back));
      else
         CHECK(t, at == bad);
      tl_arena_reset(arena, mark);
   }
   tl_arena_free(arena);
}

static void
bad_text_is_refused(void **state)
{
   static const char *const bad[] = {
      "",
      "{",
      "{shape=[]",
      "{shape=[3], reg=[], lane=[], warp=[], block=[]}",
      "{shape=[0], reg=[], lane=[], warp=[], block=[]}",
      "{shape=[2097152], reg=[], lane=[], warp=[], block=[]}",
      "{shape=[1024,1024,2], reg=[], lane=[], warp=[], block=[]}",
      "{shape=[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1], reg=[], lane=[], warp=[], block=[]}",
      "{shape=[8], reg=[[8]], lane=[], warp=[], block=[]}",
      "{shape=[8], reg=[[1,1]], lane=[], warp=[], block=[]}",
      "{shape=[8], reg=[[1],], lane=[], warp=[], block=[]}",
      "{shape=[8], reg=[], lane=[], warp=[]}",
      "{shape=[8], reg=[], lane=[], warp=[], block=[], repeat=[0]}",
      "{shape=[8], reg=[], lane=[], warp=[], block=[], repeat=[1,1]}",
      "{shape=[8], reg=[], lane=[], warp=[], block=[], repeat=[65536]}",
      "{shape=[99999999999999999999], reg=[], lane=[], warp=[], block=[]}",
   };
   (void)state;
   for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
      const char *s = bad[i];
      TlLinear l;
      assert_false(tl_ll_read(&s, &l));
      assert_ptr_equal(s, bad[i]);
   }
   const char *good = " { shape = [ 8 , 8 ] , reg=[[0,1] , [0,2]], lane=[[0,4],[1,0],[2,0],[4,0]],"
                      " warp=[], block=[], repeat=[1,22] } tail";
   TlLinear l;
   assert_true(tl_ll_read(&good, &l));
   assert_string_equal(good, " tail");
   assert_int_equal(tl_ll_num_regs(&l), 88);
   uint32_t c[2];
   tl_ll_coords(&l, 4 * 21 + 3, 7, 0, 0, c); /* lane 7: columns +4, rows 1 + 2 */
   assert_int_equal(c[0], 3);
   assert_int_equal(c[1], 21 * 8 + 3 + 4);
}

static void
blocked_like_the_definition(void **state)
{
   uint32_t shape[2] = {32, 64}, spt[2] = {1, 4}, tpw[2] = {4, 8}, wpb[2] = {4, 1};
   unsigned order[2] = {1, 0};
   (void)state;
   TlLinear l = tl_ll_blocked(2, shape, spt, tpw, wpb, order);
   assert_int_equal(tl_ll_num_regs(&l), 16);
   assert_true(tl_ll_is_injective(&l) && tl_ll_is_surjective(&l));
   for (uint32_t reg = 0; reg < 16; reg++)
      for (uint32_t lane = 0; lane < 32; lane++)
         for (uint32_t warp = 0; warp < 4; warp++) {
            uint32_t col = reg % 4 + lane % 8 * 4 + (reg / 4) % 2 * 32;
            uint32_t row = lane / 8 + warp * 4 + reg / 8 * 16;
            assert_int_equal(tl_ll_apply(&l, reg, lane, warp, 0), row * 64 + col);
         }
   assert_int_equal(tl_ll_contiguous_regs(&l, 1), 4);
   assert_int_equal(tl_ll_contiguous_regs(&l, 0), 1);
   /* Larger than the shape: lanes and warps replicate, registers do not. */
   uint32_t small[1] = {16}, s4[1] = {4}, t32[1] = {32}, w2[1] = {2};
   unsigned o[1] = {0};
   l = tl_ll_blocked(1, small, s4, t32, w2, o);
   for (uint32_t lane = 0; lane < 32; lane++)
      for (uint32_t reg = 0; reg < 4; reg++)
         assert_int_equal(tl_ll_apply(&l, reg, lane, 1, 0), lane % 4 * 4 + reg);
   uint32_t tiny[1] = {2};
   l = tl_ll_blocked(1, tiny, s4, t32, w2, o);
   assert_int_equal(tl_ll_num_regs(&l), 2);
   assert_int_equal(tl_ll_in_bits(&l), 1 + 5 + 1);
   /* A lane that starts inside a run breaks it. */
   TlLinear odd = tl_ll_empty(1, small);
   tl_ll_push(&odd, TL_HW_REG, 1);
   tl_ll_push(&odd, TL_HW_REG, 2);
   tl_ll_push(&odd, TL_HW_LANE, 6);
   assert_int_equal(tl_ll_contiguous_regs(&odd, 0), 2);
}

static void
folding_repeats_keeps_registers(void **state)
{
   Rng r = {11};
   (void)state;
   for (int t = 0; t < 2000; t++) {
      TlLinear l = gen_any(&r, 3, rng_below(&r, 5), 5);
      for (unsigned d = 0; d < l.rank; d++)
         l.repeat[d] = (uint16_t)(1 + rng_below(&r, 7));
      TlLinear f = tl_ll_fold_repeats(&l);
      assert_true(tl_ll_is_valid(&f));
      CHECK(t, tl_ll_num_regs(&l) == tl_ll_num_regs(&f));
      for (uint32_t reg = 0; reg < tl_ll_num_regs(&l); reg++) {
         uint32_t a[TL_LL_MAX_RANK], b[TL_LL_MAX_RANK];
         uint32_t lane = rng_below(&r, 1u << l.num[TL_HW_LANE]);
         tl_ll_coords(&l, reg, lane, 0, 0, a);
         tl_ll_coords(&f, reg, lane, 0, 0, b);
         CHECK(t, memcmp(a, b, l.rank * sizeof a[0]) == 0);
      }
      CHECK(t, f.repeat[l.rank - 1] % 2 == 1);
   }
}

int
test_linear(void)
{
   const struct CMUnitTest tests[] = {
      cmocka_unit_test(apply_is_xor_of_columns),
      cmocka_unit_test(surjective_and_injective),
      cmocka_unit_test(convert_map_finds_a_holder),
      cmocka_unit_test(convert_map_stays_near),
      cmocka_unit_test(inverse_undoes_layout),
      cmocka_unit_test(relabelling_moves_no_data),
      cmocka_unit_test(slice_and_unbroadcast),
      cmocka_unit_test(text_round_trip),
      cmocka_unit_test(bad_text_is_refused),
      cmocka_unit_test(blocked_like_the_definition),
      cmocka_unit_test(folding_repeats_keeps_registers),
   };
   return cmocka_run_group_tests(tests, NULL, NULL);
}
