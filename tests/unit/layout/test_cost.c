/* Conflict, sector and width counts on cases with known answers. */
#include "layout/cost.h"
#include "layout/hw_layouts.h"
#include "unit/layout/gen.h"

int test_cost(void);

static TlSharedCost
strided(uint32_t stride_bytes, unsigned bytes)
{
   uint32_t addr[32];
   for (uint32_t i = 0; i < 32; i++)
      addr[i] = i * stride_bytes;
   return tl_cost_shared(addr, bytes);
}

static void
bank_conflicts(void **state)
{
   (void)state;
   assert_int_equal(strided(4, 4).wavefronts, 1); /* neighbours */
   assert_int_equal(strided(0, 4).wavefronts, 1); /* broadcast */
   assert_int_equal(strided(1, 1).wavefronts, 1); /* four lanes per word */
   assert_int_equal(strided(2, 2).wavefronts, 1);
   assert_int_equal(strided(8, 4).wavefronts, 2);    /* every second bank */
   assert_int_equal(strided(128, 4).wavefronts, 32); /* a column of 32 words */
   assert_int_equal(strided(132, 4).wavefronts, 1);  /* padded column */
   assert_int_equal(strided(64, 2).wavefronts, 16);
   assert_int_equal(strided(8, 8).wavefronts, 2); /* two groups of 16 lanes */
   assert_int_equal(strided(8, 8).minimum, 2);
   assert_int_equal(strided(16, 16).wavefronts, 4); /* four groups of 8 lanes */
   assert_int_equal(strided(16, 16).minimum, 4);
   assert_int_equal(strided(128, 16).wavefronts, 32); /* rows of 128 bytes: all on four banks */
   assert_int_equal(strided(64, 16).wavefronts, 16);
   assert_int_equal(strided(144, 16).wavefronts, 4); /* padded rows */
}

/* Matrices of eight rows that lie `stride` bytes apart. */
static unsigned
matrices(unsigned num, uint32_t stride)
{
   uint32_t row[32] = {0};
   for (unsigned i = 0; i < 8 * num; i++)
      row[i] = i * stride;
   TlSharedCost cost = tl_cost_matrices(row, num);
   assert_int_equal(cost.minimum, num);
   return cost.wavefronts;
}

static void
matrices_are_served_by_eight_rows(void **state)
{
   (void)state;
   assert_int_equal(matrices(1, 16), 1);
   assert_int_equal(matrices(2, 16), 2);
   assert_int_equal(matrices(4, 144), 4);
   assert_int_equal(matrices(1, 128), 8);
   assert_int_equal(matrices(2, 32), 4);
   assert_int_equal(matrices(4, 0), 4);
}

/* Of reading 16 bytes of a layout of 16-bit elements from an arrangement. */
static TlSharedCost
shared_cost(const TlLinear *l, const TlLinear *shared)
{
   uint32_t col[TL_LL_MAX_IN];
   assert_true(tl_cost_offset_columns(l, shared, 2, col));
   return tl_cost_shared_linear(&col[tl_ll_first(l, TL_HW_LANE)], l->num[TL_HW_LANE], 16);
}

/* The 8 row addresses of one ldmatrix step (16 bytes of 8 rows), f16 tiles. */
static void
swizzle_removes_row_conflicts(void **state)
{
   (void)state;
   unsigned order[2] = {1, 0};
   for (unsigned cols = 16; cols <= 128; cols *= 2) {
      uint32_t shape[2] = {64, cols};
      TlLinear rows = tl_ll_empty(2, shape); /* lanes along rows, registers along a row */
      for (unsigned i = 1; i < 8; i *= 2)
         tl_ll_push(&rows, TL_HW_REG, i);
      for (unsigned i = 1; i < 32; i *= 2)
         tl_ll_push(&rows, TL_HW_LANE, i * cols);
      TlLinear plain = tl_hw_shared_plain(2, shape, order);
      TlLinear swizzled = tl_hw_shared_swizzled(2, shape, 2, order, 128);
      unsigned row_bytes = cols * 2, ways = row_bytes >= 128 ? 8 : row_bytes / 16;
      assert_int_equal(shared_cost(&rows, &plain).wavefronts, 4 * ways);
      assert_int_equal(shared_cost(&rows, &swizzled).wavefronts, 4);
   }
   /* A limit of 32 bytes on 128-byte rows: blocks of 32-byte rows, still free of conflicts. */
   uint32_t shape[2] = {64, 64};
   TlLinear s32 = tl_hw_shared_swizzled(2, shape, 2, order, 32);
   TlLinear rows = tl_ll_empty(2, shape);
   for (unsigned i = 1; i < 32; i *= 2)
      tl_ll_push(&rows, TL_HW_LANE, i * 64);
   assert_int_equal(shared_cost(&rows, &s32).wavefronts, 4);
}

/* Of warp 0 accessing 32-bit elements at the given pitches. */
static TlGlobalCost
global_cost(const TlLinear *l, uint64_t row_pitch, uint64_t col_pitch, unsigned bytes)
{
   uint64_t addr[32];
   for (uint32_t lane = 0; lane < 32; lane++) {
      uint32_t at[TL_LL_MAX_RANK];
      tl_ll_coords(l, 0, lane, 0, 0, at);
      addr[lane] = 4 * (at[0] * row_pitch + at[1] * col_pitch);
   }
   return tl_cost_global(addr, bytes);
}

static void
sectors_and_lines(void **state)
{
   (void)state;
   uint32_t shape[2] = {64, 64}, spt[2] = {1, 4}, tpw[2] = {2, 16}, w[2] = {4, 1};
   unsigned order[2] = {1, 0};
   TlLinear l = tl_ll_blocked(2, shape, spt, tpw, w, order);
   TlGlobalCost c = global_cost(&l, 64, 1, 16);
   assert_int_equal(c.sectors, 16); /* 512 contiguous bytes */
   assert_int_equal(c.lines, 4);
   c = global_cost(&l, 1, 64, 4);
   assert_int_equal(c.sectors, 16); /* 2 neighbours in each of 16 columns */
   assert_int_equal(c.lines, 16);
   c = global_cost(&l, 1000, 1, 16);
   assert_int_equal(c.sectors, 16);
   uint64_t addr[32];
   for (unsigned i = 0; i < 32; i++)
      addr[i] = 30 + 4ull * i; /* unaligned: one more sector and line */
   assert_int_equal(tl_cost_global(addr, 4).sectors, 5);
   assert_int_equal(tl_cost_global(addr, 4).lines, 2);
}

int
test_cost(void)
{
   const struct CMUnitTest tests[] = {
      cmocka_unit_test(bank_conflicts),
      cmocka_unit_test(matrices_are_served_by_eight_rows),
      cmocka_unit_test(swizzle_removes_row_conflicts),
      cmocka_unit_test(sectors_and_lines),
   };
   return cmocka_run_group_tests(tests, NULL, NULL);
}
