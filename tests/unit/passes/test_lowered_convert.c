/* Conversions between random layouts, and shared buffers, lowered and run: elements must arrive,
 * every exchange must be separated by barriers, and none more than needed where nothing crosses
 * warps. */
#include "support/laid_fixture.h"

#include "../layout/gen.h"
#include "support/hw_models.h"

static void
run_and_check(Build *t, unsigned seed, TlDtype d, uint32_t n)
{
   Kernel *k = &t->k;
   TlPassCx cx = k_context(k);
   if (!tl_pipeline_lowered(&cx, t->f))
      fail_msg("seed %u: %s", seed, ir_messages(&k->x));
   char *y = k_buffer(k, "y", d, n);
   const char *error = lowered_run(k->scratch, t->f, k->args, 1, k->grid, &k->stats);
   if (error)
      fail_msg("seed %u: %s\n%s", seed, error, ir_print(&k->x, k->x.module));
   for (uint32_t i = 0; i < n; i++) {
      TlBits got = tl_load_elem(d, y + (size_t)i * tl_dtype_info[d].bytes);
      TlBits want = tl_cast_bits(TL_I32, d, i, TL_ROUND_NEAREST_EVEN);
      if (got != want)
         fail_msg("seed %u: element %u is %llx, want %llx\n%s", seed, i, (unsigned long long)got,
                  (unsigned long long)want, ir_print(&k->x, k->x.module));
   }
}

static const TlDtype dtypes[] = {TL_I32, TL_U8, TL_I16, TL_I64, TL_FP16};

static void
random_conversions(void **state)
{
   (void)state;
   for (unsigned seed = 0; seed < 160; seed++) {
      Build t;
      Rng r = {seed};
      unsigned warps = rng_below(&r, 4), bits = rng_below(&r, 11);
      build_open(&t, seed, warps);
      TlDtype d = dtypes[rng_below(&r, 5)];
      TlLinear shape = gen_shape(&r, 3, bits);
      unsigned mixed = rng_below(&r, 2) * rng_below(&r, 4);
      TlLinear from = gen_onto(&r, &shape, 5, warps, mixed),
               to = gen_onto(&r, &shape, 5, warps, mixed);
      if (rng_below(&r, 3) == 0) { /* the warps agree: shuffles, or a warp's own scratch */
         to = from;
         for (unsigned i = 0; i < 5; i++) {
            unsigned at = tl_ll_first(&to, TL_HW_LANE) + i;
            unsigned with = rng_below(&r, tl_ll_first(&to, TL_HW_WARP));
            uint32_t c = to.col[at];
            to.col[at] = to.col[with];
            to.col[with] = c;
         }
      }
      TlValue *p = parameter(&t, "y", d);
      TlValue *v = numbers(&t, &from);
      v = tl_t1(&t.b, TL_OP_CAST, tile(&t, tl_type_scalar(t.types, d), &from), v);
      TlValue *w = tl_t1(&t.b, TL_OP_CONVERT_LAYOUT, tile(&t, v->type->elem, &to), v);
      TlValue *u = tl_t1(&t.b, TL_OP_CONVERT_LAYOUT, v->type, w); /* and back, and again */
      w = tl_t1(&t.b, TL_OP_CONVERT_LAYOUT, w->type, u);
      finish(&t, w, d, &to, p);
      run_and_check(&t, seed, d, 1u << bits);
      k_close(&t.k);
   }
}

/* ---- every pair of the layouts that the passes use, of one tile of 32 x 64 ---- */
enum { ROWS = 32, COLS = 64 };

/* vec elements of dimension order[0] in a thread, then lanes and warps along it, then order[1]. */
static TlLinear
blocked(const unsigned order[2], uint32_t vec, unsigned log2_warps)
{
   static const uint32_t shape[2] = {ROWS, COLS};
   TlLinear l = tl_ll_empty(2, shape);
   uint32_t at[2] = {1, 1}, unit[2] = {COLS, 1};
   unsigned left[3] = {[TL_HW_REG] = 0, [TL_HW_LANE] = 5, [TL_HW_WARP] = log2_warps};
   unsigned d = order[0];
   for (; at[d] < vec; at[d] *= 2)
      tl_ll_push(&l, TL_HW_REG, at[d] * unit[d]);
   for (unsigned hw = TL_HW_LANE;; hw = TL_HW_WARP) {
      for (; left[hw]; left[hw]--) {
         d = at[order[0]] < shape[order[0]] ? order[0] : order[1];
         tl_ll_push(&l, (TlHw)hw, at[d] < shape[d] ? at[d] * unit[d] : 0);
         at[d] *= 2;
      }
      if (hw == TL_HW_WARP)
         break;
   }
   for (d = 0; d < 2; d++)
      for (; at[d] < shape[d]; at[d] *= 2)
         tl_ll_push(&l, TL_HW_REG, at[d] * unit[d]);
   return l;
}

static TlLinear
fragment(unsigned index, unsigned bits, unsigned log2_warps)
{
   TlMmaTile t = {.kind = TL_MMA_M16N8, .rank = 2, .warps = {1u << log2_warps, 1}};
   t.shape[0] = index == 1 ? 16u << log2_warps : ROWS;
   t.shape[1] = index == 0 ? 8 : COLS;
   return index == 2 ? tl_hw_mma_acc(&t) : tl_hw_mma_operand(&t, index, index ? ROWS : COLS, bits);
}

enum { NUM_KINDS = 8 };
static TlLinear
layout_kind(unsigned kind, unsigned log2_warps)
{
   static const unsigned rows[2] = {1, 0}, columns[2] = {0, 1};
   switch (kind) {
   case 0:
      return blocked(rows, 1, log2_warps);
   case 1:
      return blocked(rows, 8, log2_warps);
   case 2:
      return blocked(columns, 1, log2_warps);
   case 3:
      return blocked(columns, 4, log2_warps);
   case 4:
      return fragment(2, 32, log2_warps);
   case 5:
      return fragment(0, 16, log2_warps);
   case 6:
      return fragment(1, 16, log2_warps);
   default:
      return fragment(0, 8, log2_warps);
   }
}

static void
all_pairs_of_layouts(void **state)
{
   (void)state;
   static const TlDtype types[] = {TL_U8, TL_FP16, TL_I32, TL_I64};
   static const unsigned warps[] = {0, 2};
   unsigned done = 0;
   for (unsigned i = 0; i < 2 * 4 * NUM_KINDS * NUM_KINDS; i++) {
      unsigned w = warps[i % 2], kind = i / 8 % NUM_KINDS, kind_to = i / 8 / NUM_KINDS;
      TlDtype d = types[i / 2 % 4];
      TlLinear from = layout_kind(kind, w), to = layout_kind(kind_to, w);
      if (tl_ll_equal(&from, &to))
         continue;
      Build t;
      build_open(&t, i, w);
      TlValue *p = parameter(&t, "y", d);
      TlValue *v = numbers(&t, &from);
      v = tl_t1(&t.b, TL_OP_CAST, tile(&t, tl_type_scalar(t.types, d), &from), v);
      v = tl_t1(&t.b, TL_OP_CONVERT_LAYOUT, tile(&t, v->type->elem, &to), v);
      finish(&t, v, d, &to, p);
      run_and_check(&t, i, d, ROWS * COLS);
      k_close(&t.k);
      done++;
   }
   print_message("%u conversions: %d layouts in pairs, 4 element sizes, 1 and 4 warps\n", done,
                 NUM_KINDS);
   assert_true(done >= 400);
}

/* Registers -> swizzled buffer -> registers, any layouts, views transposed. */
static void
random_buffers(void **state)
{
   (void)state;
   for (unsigned seed = 0; seed < 120; seed++) {
      Build t;
      Rng r = {seed};
      unsigned warps = rng_below(&r, 3);
      build_open(&t, seed, warps);
      TlDtype d = dtypes[rng_below(&r, 5)];
      uint32_t shape[2] = {1u << rng_below(&r, 6), 1u << rng_below(&r, 7)};
      unsigned order[2] = {rng_below(&r, 2), 0}, bits = tl_dtype_info[d].bytes;
      order[1] = 1 - order[0];
      TlLinear s = tl_ll_empty(2, shape);
      TlLinear from = gen_onto(&r, &s, 5, warps, 0), to = gen_onto(&r, &s, 5, warps, 0);
      TlLinear memory = rng_below(&r, 2) ? tl_hw_shared_swizzled(2, shape, bits, order, 128)
                                         : hw_shared_phased(shape, order, 1, 4);
      TlValue *p = parameter(&t, "y", d);
      TlValue *v = numbers(&t, &from);
      v = tl_t1(&t.b, TL_OP_CAST, tile(&t, tl_type_scalar(t.types, d), &from), v);
      const TlType *desc = tl_type_memdesc(t.types, d, 2, shape, &memory, 1);
      TlValue *m = tl_t1(&t.b, TL_OP_LOCAL_ALLOC, desc, v);
      TlValue *w = tl_t1(&t.b, TL_OP_LOCAL_LOAD, tile(&t, v->type->elem, &to), m);
      finish(&t, w, d, &to, p);
      run_and_check(&t, seed, d, shape[0] * shape[1]);
      k_close(&t.k);
   }
}

/* Fragments of 16-bit operands come by ldmatrix from both orders of the buffer. */
static void
fragments_by_ldmatrix(void **state)
{
   (void)state;
   for (unsigned seed = 0; seed < 32; seed++) {
      Build t;
      Rng r = {seed};
      unsigned warps = rng_below(&r, 3), index = rng_below(&r, 2), fast = rng_below(&r, 2);
      uint32_t m = 16u << rng_below(&r, 3), n = 8u << rng_below(&r, 4),
               kk = 16u << rng_below(&r, 3);
      build_open(&t, seed, warps);
      TlMmaTile tile_ = {
         .kind = TL_MMA_M16N8, .rank = 2, .shape = {m, n}, .warps = {1u << warps, 1}};
      TlLinear to = tl_hw_mma_operand(&tile_, index, kk, 16);
      uint32_t shape[2] = {index ? kk : m, index ? n : kk};
      unsigned order[2] = {fast, 1 - fast};
      TlLinear s = tl_ll_empty(2, shape), from = gen_onto(&r, &s, 5, warps, 0);
      TlLinear memory = tl_hw_shared_swizzled(2, shape, 2, order, 128);
      TlValue *p = parameter(&t, "y", TL_FP16);
      TlValue *v = numbers(&t, &from);
      v = tl_t1(&t.b, TL_OP_CAST, tile(&t, tl_type_scalar(t.types, TL_FP16), &from), v);
      TlValue *b =
         tl_t1(&t.b, TL_OP_LOCAL_ALLOC, tl_type_memdesc(t.types, TL_FP16, 2, shape, &memory, 1), v);
      TlValue *w = tl_t1(&t.b, TL_OP_LOCAL_LOAD, tile(&t, v->type->elem, &to), b);
      finish(&t, w, TL_FP16, &to, p);
      run_and_check(&t, seed, TL_FP16, shape[0] * shape[1]);
      assert_true(t.k.stats.matrix_loads > 0 || shape[fast] < 8);
      k_close(&t.k);
   }
}

/* Sums of matrix products go to buffers of both orders by stmatrix where the target has it. */
static void
fragments_by_stmatrix(void **state)
{
   (void)state;
   for (unsigned seed = 0; seed < 64; seed++) {
      Build t;
      Rng r = {seed};
      unsigned warps = rng_below(&r, 3), fast = rng_below(&r, 2), es = 1u << rng_below(&r, 2);
      uint32_t m = 16u << (warps + rng_below(&r, 2)), n = 8u << rng_below(&r, 5);
      build_open(&t, seed, warps);
      TlMmaTile tile_ = {
         .kind = TL_MMA_M16N8, .rank = 2, .shape = {m, n}, .warps = {1u << warps, 1}};
      TlLinear from = tl_hw_mma_acc(&tile_);
      uint32_t shape[2] = {m, n};
      unsigned order[2] = {fast, 1 - fast};
      TlLinear s = tl_ll_empty(2, shape), to = gen_onto(&r, &s, 5, warps, 0);
      TlLinear memory = tl_hw_shared_swizzled(2, shape, es, order, 128);
      TlDtype d = es == 2 ? TL_FP16 : TL_I8;
      TlValue *p = parameter(&t, "y", d);
      TlValue *v = numbers(&t, &from);
      v = tl_t1(&t.b, TL_OP_CAST, tile(&t, tl_type_scalar(t.types, d), &from), v);
      TlValue *b =
         tl_t1(&t.b, TL_OP_LOCAL_ALLOC, tl_type_memdesc(t.types, d, 2, shape, &memory, 1), v);
      finish(&t, tl_t1(&t.b, TL_OP_LOCAL_LOAD, tile(&t, v->type->elem, &to), b), d, &to, p);
      run_and_check(&t, seed, d, shape[0] * shape[1]);
      bool has_stores = false;
      for (const TlOp *op = t.f->body->block->first; op; op = op->next)
         has_stores |= op->opcode == TL_OP_STMATRIX;
      assert_int_equal(has_stores, es == 2);
      k_close(&t.k);
   }
}

int test_lowered_convert(void);
int
test_lowered_convert(void)
{
   static const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_conversions),    cmocka_unit_test(all_pairs_of_layouts),
      cmocka_unit_test(random_buffers),        cmocka_unit_test(fragments_by_ldmatrix),
      cmocka_unit_test(fragments_by_stmatrix),
   };
   return cmocka_run_group_tests(tests, NULL, NULL);
}
