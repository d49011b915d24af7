/* What a conversion's plan predicts is what the simulator counts: wavefronts of shared memory, with
 * and without bank conflicts, shuffles, barriers.  Random layouts with copies in registers, lanes
 * and warps on either side, elements of 8 to 64 bits. */
#include "support/laid_fixture.h"

#include "unit/layout/gen.h"
#include "exec/sim/sim.h"
#include "layout/convert_plan.h"
#include "layout/hw_layouts.h"
#include "passes/lower/lower.h"

int test_convert_counts(void);

/* Element numbers -> convert -> store; the rest of the function touches no shared memory. */
static TlSimStats
count(Build *t, unsigned seed, TlDtype d, const TlLinear *from, const TlLinear *to)
{
   uint32_t n = 1u << tl_ll_bits(from);
   TlValue *p = parameter(t, "y", d);
   TlValue *v = numbers(t, from);
   v = tl_t1(&t->b, TL_OP_CAST, tile(t, tl_type_scalar(t->types, d), from), v);
   TlValue *w = tl_t1(&t->b, TL_OP_CONVERT_LAYOUT, tile(t, v->type->elem, to), v);
   finish(t, w, d, to, p);
   TlPassCx cx = k_context(&t->k);
   if (!tl_pipeline_lowered(&cx, t->f))
      fail_msg("seed %u: %s", seed, ir_messages(&t->k.x));
   char *y = k_buffer(&t->k, "y", d, n);
   TlExecArg arg = {.is_buffer = true,
                    .is_writable = true,
                    .data = y,
                    .bytes = (uint64_t)n * tl_dtype_info[d].bytes};
   TlSimStats s;
   TlSimFault fault;
   const uint32_t grid[3] = {1, 1, 1};
   if (tl_sim_run(t->f, &arg, 1, grid, &(TlSimOptions){.threads = 1}, &fault, &s) != TL_EXEC_OK)
      fail_msg("seed %u: fault %d", seed, (int)fault.kind);
   for (uint32_t i = 0; i < n; i++)
      if (tl_load_elem(d, y + (size_t)i * tl_dtype_info[d].bytes) !=
          tl_cast_bits(TL_I32, d, i, TL_ROUND_NEAREST_EVEN))
         fail_msg("seed %u: element %u is wrong", seed, i);
   return s;
}

static TlConvertKind
check(unsigned seed, TlDtype d, const TlLinear *from, const TlLinear *to)
{
   Build t;
   build_open(&t, seed, from->num[TL_HW_WARP]);
   TlConvertPlan p;
   const TlType *elem = tl_type_scalar(t.types, d);
   assert_true(tl_plan_conversion(elem, from, to, &p));
   TlSimStats s = count(&t, seed, d, from, to);
   bool is_shared = p.kind == TL_CONVERT_SHARED;
   CHECK((int)seed, s.shared_wavefronts == (is_shared ? tl_convert_wavefronts(&p) : 0));
   CHECK((int)seed, s.shared_min_wavefronts == (is_shared ? tl_convert_min_wavefronts(&p) : 0));
   uint64_t shuffles =
      p.kind == TL_CONVERT_SHUFFLES ? (uint64_t)p.shuffle.num_shuffles << from->num[TL_HW_WARP] : 0;
   CHECK((int)seed, s.shuffles == shuffles);
   if (!is_shared)
      CHECK((int)seed, s.block_barriers + s.warp_barriers == 0);
   k_close(&t.k);
   return p.kind;
}

static const TlDtype dtypes[] = {TL_I32, TL_U8, TL_I16, TL_I64, TL_FP16, TL_FP64};

static void
random_layouts(void **state)
{
   (void)state;
   unsigned kinds[4] = {0};
   for (unsigned seed = 0; seed < 120; seed++) {
      Rng r = {seed + 900};
      unsigned warps = rng_below(&r, 4);
      TlLinear shape = gen_shape(&r, 3, rng_below(&r, 11));
      unsigned mixed = rng_below(&r, 2) * rng_below(&r, 4);
      TlLinear from = gen_onto(&r, &shape, 5, warps, mixed);
      TlLinear to = gen_onto(&r, &shape, 5, warps, mixed);
      if (rng_below(&r, 3) == 0) { /* within the warps */
         to = from;
         unsigned at = tl_ll_first(&to, TL_HW_LANE) + rng_below(&r, 5);
         unsigned with = rng_below(&r, tl_ll_first(&to, TL_HW_WARP));
         uint32_t c = to.col[at];
         to.col[at] = to.col[with];
         to.col[with] = c;
      }
      kinds[check(seed, dtypes[rng_below(&r, 6)], &from, &to)]++;
   }
   assert_true(kinds[TL_CONVERT_SHARED] > 40 && kinds[TL_CONVERT_SHUFFLES] > 10);
}

/* The conversions of real kernels, also from and to slices, whose lanes and warps hold copies. */
static void
fragments_and_slices(void **state)
{
   (void)state;
   unsigned seed = 0, order[2] = {1, 0};
   for (unsigned d = 0; d < sizeof dtypes / sizeof dtypes[0]; d++) {
      unsigned es = tl_dtype_info[dtypes[d]].bytes;
      TlMmaTile t = {TL_MMA_M16N8, 2, {64, 64}, {2, 2}, 0};
      TlLinear acc = tl_hw_mma_acc(&t);
      uint32_t spt[2] = {1, 16 / es}, tpw[2] = {es / 2 ? es / 2 : 1, 64 / es}, w[2] = {4, 1};
      tpw[1] = 32 / tpw[0];
      TlLinear blocked = tl_ll_blocked(2, t.shape, spt, tpw, w, order);
      check(++seed, dtypes[d], &acc, &blocked);
      check(++seed, dtypes[d], &blocked, &acc);
      for (unsigned axis = 0; axis < 2; axis++) {
         TlLinear a = tl_ll_slice(&acc, axis), b = tl_ll_slice(&blocked, axis);
         check(++seed, dtypes[d], &a, &b);
         check(++seed, dtypes[d], &b, &a);
      }
      if (es < 8) {
         TlLinear operand = tl_hw_mma_operand(&t, 0, 64, es * 8);
         check(++seed, dtypes[d], &acc, &operand);
         check(++seed, dtypes[d], &blocked, &operand);
      }
   }
}

int
test_convert_counts(void)
{
   const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_layouts),
      cmocka_unit_test(fragments_and_slices),
   };
   return cmocka_run_group_tests(tests, NULL, NULL);
}
