/* Dots through layouts and lowering: every element type, shapes on both sides of one instruction,
 * loops, chains, against sums in double.  Inputs are small integers, so that every sum is exact. */
#include "support/lowered_fixture.h"

#include <math.h>

typedef struct DotCase {
   const char *in, *acc;
   TlDtype in_code, acc_code;
   const char *precision;
   const char *b; /* of the right operand; `in`: of the left one */
   TlDtype b_code;
} DotCase;

static const DotCase cases[] = {
   {"fp16", "fp32", TL_FP16, TL_FP32, "tf32", "fp16", TL_FP16},
   {"bf16", "fp32", TL_BF16, TL_FP32, "tf32", "bf16", TL_BF16},
   {"fp16", "fp16", TL_FP16, TL_FP16, "tf32", "fp16", TL_FP16},
   {"fp32", "fp32", TL_FP32, TL_FP32, "ieee", "fp32", TL_FP32},
   {"fp32", "fp32", TL_FP32, TL_FP32, "tf32", "fp32", TL_FP32},
   {"fp32", "fp32", TL_FP32, TL_FP32, "tf32x3", "fp32", TL_FP32},
   {"fp64", "fp64", TL_FP64, TL_FP64, "tf32", "fp64", TL_FP64},
   {"i8", "i32", TL_I8, TL_I32, "tf32", "i8", TL_I8},
   {"u8", "i32", TL_U8, TL_I32, "tf32", "u8", TL_U8},
   {"fp8e4nv", "fp32", TL_FP8E4NV, TL_FP32, "tf32", "fp8e4nv", TL_FP8E4NV},
   {"fp8e5", "fp32", TL_FP8E5, TL_FP32, "tf32", "fp8e5", TL_FP8E5},
   {"fp8e4nv", "fp32", TL_FP8E4NV, TL_FP32, "tf32", "fp8e5", TL_FP8E5},
   {"fp8e5", "fp32", TL_FP8E5, TL_FP32, "tf32", "fp8e4nv", TL_FP8E4NV},
   {"fp32", "fp32", TL_FP32, TL_FP32, "bf16x3", "fp32", TL_FP32},
   {"fp32", "fp32", TL_FP32, TL_FP32, "bf16x6", "fp32", TL_FP32},
};

static void
put(void *p, TlDtype t, uint32_t i, double v)
{
   TlBits bits = tl_dtype_is_float(t) ? tl_double_to_bits(t, v, TL_ROUND_NEAREST_EVEN)
                                      : tl_int_to_bits(t, (int64_t)v);
   tl_store_elem(t, (char *)p + (size_t)i * tl_dtype_info[t].bytes, bits);
}

static double
take(const void *p, TlDtype t, uint32_t i)
{
   TlBits bits = tl_load_elem(t, (const char *)p + (size_t)i * tl_dtype_info[t].bytes);
   return tl_dtype_is_float(t) ? tl_bits_to_double(t, bits) : (double)tl_bits_to_int(t, bits);
}

static void
fill_small(Kernel *k, void *p, TlDtype t, uint32_t n)
{
   bool is_unsigned = tl_dtype_info[t].kind == TL_KIND_UINT;
   for (uint32_t i = 0; i < n; i++)
      put(p, t, i, (double)k_below(k, 5) - (is_unsigned ? 0 : 2));
}

/* How many kernels; instrumented, the interpreter of what they become is slow. */
#ifdef TL_INSTRUMENTED
enum { NUM_SEEDS = 60, FEW_LOADS = 3, MORE_LOADS = 5 };
#else
enum { NUM_SEEDS = 135, FEW_LOADS = 5, MORE_LOADS = 10 };
#endif

static void
dots_of_every_type(void **state)
{
   (void)state;
   unsigned with_matrix_loads[2] = {0}; /* of 32-bit, of 8-bit elements */
   for (unsigned seed = 0; seed < NUM_SEEDS; seed++) {
      Kernel k;
      static const char *const archs[] = {"sm_90a", "sm_89", "sm_80"};
      k_open(&k, seed);
      k.arch = archs[k_below(&k, 3)];
      const DotCase *c = &cases[seed % (sizeof cases / sizeof cases[0])];
      unsigned rank = k_below(&k, 4) ? 2 : 3, small = tl_dtype_info[c->in_code].bits == 8;
      uint32_t batch = rank == 3 ? 1u << k_below(&k, 3) : 1;
      uint32_t m = 1u << k_below(&k, 7), n = 1u << k_below(&k, 7),
               kk = 16u << (small + k_below(&k, 3));
      if (batch * m * n > 4096)
         m = 8;
      uint32_t sa[3] = {batch, m, kk}, sb[3] = {batch, kk, n}, sc[3] = {batch, m, n};
      unsigned skip = rank == 2; /* no batch dimension */
      void *a = k_buffer(&k, "a", c->in_code, batch * m * kk);
      void *b = k_buffer(&k, "b", c->b_code, batch * kk * n);
      void *acc = k_buffer(&k, "c", c->acc_code, batch * m * n);
      void *y = k_buffer(&k, "y", c->acc_code, batch * m * n);
      fill_small(&k, a, c->in_code, batch * m * kk);
      fill_small(&k, b, c->b_code, batch * kk * n);
      fill_small(&k, acc, c->acc_code, batch * m * n);
      k_load(&k, "va", "a", c->in, rank, sa + skip);
      bool turned = rank == 2 && k_below(&k, 2);
      if (turned) { /* B stored as n x k */
         uint32_t st[2] = {n, kk};
         k_load(&k, "vt", "b", c->b, 2, st);
         k_line(&k, "%%vb = trans %%vt {order = [1, 0]} : %s", k_type(&k, c->b, 2, sb + 1));
      } else {
         k_load(&k, "vb", "b", c->b, rank, sb + skip);
      }
      k_load(&k, "vc", "c", c->acc, rank, sc + skip);
      k_line(&k, "%%d = dot %%va, %%vb, %%vc {precision = %s} : %s", c->precision,
             k_type(&k, c->acc, rank, sc + skip));
      k_store(&k, "d", "y", c->acc, rank, sc + skip);
      k_run(&k);
      for (uint32_t g = 0; g < batch; g++)
         for (uint32_t i = 0; i < m; i++)
            for (uint32_t j = 0; j < n; j++) {
               double want = take(acc, c->acc_code, (g * m + i) * n + j);
               for (uint32_t x = 0; x < kk; x++)
                  want += take(a, c->in_code, (g * m + i) * kk + x) *
                          take(b, c->b_code, turned ? j * kk + x : (g * kk + x) * n + j);
               double got = take(y, c->acc_code, (g * m + i) * n + j);
               if (got != want)
                  fail_msg("seed %u (%u,%u,%u): %g, want %g\n%s", seed, g, i, j, got, want,
                           k_text(&k));
            }
      bool whole = m >= (c->in_code == TL_FP64 ? 8 : 16) && n >= 8;
      bool has_kind = strcmp(c->precision, "ieee") != 0;
      unsigned bits = tl_dtype_info[c->in_code].bits;
      bool is_turned = bits == 16 && rank == 2 && m == 8 && n >= 16;
      if ((k.stats.mmas > 0) != ((whole || is_turned) && has_kind))
         fail_msg("seed %u: %u x %u x %u of %s", seed, m, n, kk, c->in);
      if (whole && bits == 16)
         assert_true(k.stats.matrix_loads > 0);
      with_matrix_loads[bits == 8] += bits != 16 && k.stats.matrix_loads > 0;
      k_close(&k);
   }
   assert_true(with_matrix_loads[0] >= FEW_LOADS && with_matrix_loads[1] >= MORE_LOADS);
}

/* tf32 rounds its inputs to 10 fraction bits; ieee does not. */
static void
tf32_rounds_its_inputs(void **state)
{
   (void)state;
   for (unsigned ieee = 0; ieee < 2; ieee++) {
      Kernel k;
      k_open(&k, ieee);
      uint32_t s[2] = {16, 16};
      float *x = k_buffer(&k, "x", TL_FP32, 256), *y = k_buffer(&k, "y", TL_FP32, 256);
      x[0] = 1.0f + 0x1p-11f + 0x1p-20f;
      for (uint32_t i = 1; i < 16; i++)
         x[i * 17] = 1.0f;
      k_load(&k, "v", "x", "fp32", 2, s);
      k_line(&k, "%%z = constant 0.0 : tile<fp32, 16x16>");
      k_line(&k, "%%d = dot %%v, %%v, %%z {precision = %s} : tile<fp32, 16x16>",
             ieee ? "ieee" : "tf32");
      k_store(&k, "d", "y", "fp32", 2, s);
      k_run(&k);
      float r = ieee ? x[0] : 1.0f + 0x1p-10f;
      assert_true(y[0] == r * r);
      k_close(&k);
   }
}

static unsigned
count_ops(const TlBlock *block, TlOpcode opcode)
{
   unsigned n = 0;
   for (const TlOp *op = block->first; op; op = op->next) {
      n += op->opcode == opcode;
      for (unsigned i = 0; i < op->num_regions; i++)
         n += count_ops(op->regions[i]->block, opcode);
   }
   return n;
}

/* Two tf32 parts keep 21 bits. */
static void
tf32x3_keeps_most_bits(void **state)
{
   (void)state;
   for (unsigned seed = 0; seed < 8; seed++) {
      Kernel k;
      k_open(&k, seed);
      enum { M = 32, N = 16, K = 64 };
      uint32_t sa[2] = {M, K}, sb[2] = {K, N}, sc[2] = {M, N};
      float *a = k_buffer(&k, "a", TL_FP32, M * K), *b = k_buffer(&k, "b", TL_FP32, K * N);
      float *y = k_buffer(&k, "y", TL_FP32, M * N);
      for (uint32_t i = 0; i < M * K; i++)
         a[i] = (float)k_below(&k, 1 << 24) / (1 << 23) - 1;
      for (uint32_t i = 0; i < K * N; i++)
         b[i] = (float)k_below(&k, 1 << 24) / (1 << 24) + 0x1p-10f;
      k_load(&k, "va", "a", "fp32", 2, sa);
      k_load(&k, "vb", "b", "fp32", 2, sb);
      k_line(&k, "%%z = constant 0.0 : tile<fp32, 32x16>");
      k_line(&k, "%%d = dot %%va, %%vb, %%z {precision = tf32x3} : tile<fp32, 32x16>");
      k_store(&k, "d", "y", "fp32", 2, sc);
      TlFunc *f = k_run(&k);
      assert_int_equal(count_ops(f->body->block, TL_OP_MMA) % (3 * K / 8), 0);
      for (uint32_t i = 0; i < M; i++)
         for (uint32_t j = 0; j < N; j++) {
            double want = 0, size = 0;
            for (uint32_t x = 0; x < K; x++) {
               double term = (double)a[i * K + x] * (double)b[x * N + j];
               want += term;
               size += fabs(term);
            }
            double got = (double)y[i * N + j];
            if (!(fabs(got - want) <= 1e-6 * size))
               fail_msg("seed %u (%u,%u): %.9g, want %.9g", seed, i, j, got, want);
         }
      k_close(&k);
   }
}

/* C += A B over K in a loop with carried pointers, as a matmul kernel is written. */
static void
matmul_loop(void **state)
{
   (void)state;
   for (unsigned seed = 0; seed < 12; seed++) {
      Kernel k;
      k_open(&k, seed);
      uint32_t m = 16u << k_below(&k, 3), n = 16u << k_below(&k, 3), kk = 32, steps = 3;
      uint32_t ms[1] = {m}, ns[1] = {n}, ks[1] = {kk}, sc[2] = {m, n}, sa[2] = {m, kk},
               sb[2] = {kk, n};
      uint32_t total = kk * steps;
      uint16_t *a = k_buffer(&k, "a", TL_FP16, m * total),
               *b = k_buffer(&k, "b", TL_FP16, total * n);
      float *y = k_buffer(&k, "y", TL_FP32, m * n);
      fill_small(&k, a, TL_FP16, m * total);
      fill_small(&k, b, TL_FP16, total * n);
      const char *im = k_index(&k, 1, ms), *in = k_index(&k, 1, ns), *ik = k_index(&k, 1, ks);
      const char *ta = k_type(&k, "i32", 2, sa), *tb = k_type(&k, "i32", 2, sb);
      const char *pa = k_type(&k, "ptr<fp16>", 2, sa), *pb = k_type(&k, "ptr<fp16>", 2, sb);
      const char *tc = k_type(&k, "fp32", 2, sc);
      k_line(&k, "%%am = expand_dims %s {axis = 1} : tile<i32, %ux1>", im, m);
      k_line(&k, "%%ak = expand_dims %s {axis = 0} : tile<i32, 1x%u>", ik, kk);
      k_line(&k, "%%bk = expand_dims %s {axis = 1} : tile<i32, %ux1>", ik, kk);
      k_line(&k, "%%bn = expand_dims %s {axis = 0} : tile<i32, 1x%u>", in, n);
      k_line(&k, "%%am2 = broadcast %%am : %s\n %%ak2 = broadcast %%ak : %s", ta, ta);
      k_line(&k, "%%bk2 = broadcast %%bk : %s\n %%bn2 = broadcast %%bn : %s", tb, tb);
      k_line(&k, "%%lda = constant %u : %s\n %%ldb = constant %u : %s", total, ta, n, tb);
      k_line(&k, "%%ao = mul %%am2, %%lda : %s\n %%aoff = add %%ao, %%ak2 : %s", ta, ta);
      k_line(&k, "%%bo = mul %%bk2, %%ldb : %s\n %%boff = add %%bo, %%bn2 : %s", tb, tb);
      k_line(&k, "%%as = splat %%a : %s\n %%bs = splat %%b : %s", pa, pb);
      k_line(&k, "%%ap = addptr %%as, %%aoff : %s\n %%bp = addptr %%bs, %%boff : %s", pa, pb);
      k_line(&k, "%%sa = constant %u : %s\n %%sb = constant %u : %s", kk, ta, kk * n, tb);
      k_line(&k, "%%zero = constant 0.0 : %s", tc);
      k_line(&k,
             "%%lo = constant : i32\n %%hi = constant %u : i32\n "
             "%%one = constant 1 : i32",
             steps);
      k_line(&k,
             "%%c, %%ae, %%be = for %%i = %%lo to %%hi step %%one "
             "iter(%%acc = %%zero, %%pa = %%ap, %%pb = %%bp) : %s, %s, %s {",
             tc, pa, pb);
      k_line(&k, "%%va = load %%pa : %s\n %%vb = load %%pb : %s", k_type(&k, "fp16", 2, sa),
             k_type(&k, "fp16", 2, sb));
      k_line(&k, "%%zz = constant 0.0 : %s", tc);
      k_line(&k, "%%ab = dot %%va, %%vb, %%zz : %s\n %%nc = add %%acc, %%ab : %s", tc, tc);
      k_line(&k, "%%na = addptr %%pa, %%sa : %s\n %%nb = addptr %%pb, %%sb : %s", pa, pb);
      k_line(&k, "yield %%nc, %%na, %%nb\n   }");
      k_store(&k, "c", "y", "fp32", 2, sc);
      k_run(&k);
      for (uint32_t i = 0; i < m; i++)
         for (uint32_t j = 0; j < n; j++) {
            double want = 0;
            for (uint32_t x = 0; x < total; x++)
               want += take(a, TL_FP16, i * total + x) * take(b, TL_FP16, x * n + j);
            if (y[i * n + j] != (float)want)
               fail_msg("seed %u (%u,%u): %g, want %g\n%s\n%s", seed, i, j, (double)y[i * n + j],
                        want, k_text(&k), ir_print(&k.x, k.x.module));
         }
      k_close(&k);
   }
}

/* softmax(Q K^T) V of one block: the second dot's A comes from the first dot's result and must stay
 * in registers, and row maxima and sums within a warp. */
static void
chained_dots_stay_in_registers(void **state)
{
   (void)state;
   for (unsigned w = 0; w < 4; w++) {
      Kernel k;
      k_open(&k, w);
      k.arch = "sm_90";
      k.warps = 1u << w;
      uint32_t m = 64, n = 32, d = 64, q[2] = {m, d}, kv[2] = {n, d}, s[2] = {m, n};
      void *bq = k_buffer(&k, "q", TL_FP16, m * d), *bk = k_buffer(&k, "k", TL_FP16, n * d);
      void *bv = k_buffer(&k, "v", TL_FP16, n * d);
      float *y = k_buffer(&k, "y", TL_FP32, m * d);
      for (uint32_t i = 0; i < m * d; i++)
         put(bq, TL_FP16, i, ((double)k_below(&k, 17) - 8) / 16);
      for (uint32_t i = 0; i < n * d; i++) {
         put(bk, TL_FP16, i, ((double)k_below(&k, 17) - 8) / 16);
         put(bv, TL_FP16, i, ((double)k_below(&k, 17) - 8) / 16);
      }
      k_load(&k, "vq", "q", "fp16", 2, q);
      k_load(&k, "vk", "k", "fp16", 2, kv);
      k_load(&k, "vv", "v", "fp16", 2, kv);
      const char *ts = k_type(&k, "fp32", 2, s);
      k_line(&k, "%%kt = trans %%vk {order = [1, 0]} : tile<fp16, %ux%u>", d, n);
      k_line(&k, "%%z = constant 0.0 : %s", ts);
      k_line(&k, "%%s = dot %%vq, %%kt, %%z : %s", ts);
      k_line(&k,
             "%%mx = reduce %%s {axis = 1} : tile<fp32, %u> (%%a: fp32, %%b: fp32) {\n"
             " %%c = max %%a, %%b : fp32\n yield %%c\n }",
             m);
      k_line(&k, "%%mx1 = expand_dims %%mx {axis = 1} : tile<fp32, %ux1>", m);
      k_line(&k, "%%mx2 = broadcast %%mx1 : %s\n %%e = sub %%s, %%mx2 : %s\n %%p = exp %%e : %s",
             ts, ts, ts);
      k_line(&k,
             "%%l = reduce %%p {axis = 1} : tile<fp32, %u> (%%ua: fp32, %%ub: fp32) {\n"
             " %%uc = add %%ua, %%ub : fp32\n yield %%uc\n }",
             m);
      k_line(&k, "%%ph = cast %%p : tile<fp16, %ux%u>", m, n);
      k_line(&k, "%%zo = constant 0.0 : tile<fp32, %ux%u>", m, d);
      k_line(&k, "%%o = dot %%ph, %%vv, %%zo : tile<fp32, %ux%u>", m, d);
      k_line(&k, "%%l1 = expand_dims %%l {axis = 1} : tile<fp32, %ux1>", m);
      k_line(&k, "%%l2 = broadcast %%l1 : tile<fp32, %ux%u>", m, d);
      k_line(&k, "%%r = div %%o, %%l2 : tile<fp32, %ux%u>", m, d);
      k_store(&k, "r", "y", "fp32", 2, q);
      TlFunc *f = k_run(&k);
      assert_int_equal(count_ops(f->body->block, TL_OP_MMA), d / 16 + n / 16);
      /* steps of Q, K, V; P only when 8 warps have more than the 64 rows */
      assert_int_equal(count_ops(f->body->block, TL_OP_LDMATRIX),
                       2 * (d / 16) + n / 16 + (w < 3 ? 0 : n / 16));
      for (uint32_t i = 0; i < m; i++) {
         double row[64], most = -INFINITY, sum = 0;
         for (uint32_t j = 0; j < n; j++) {
            row[j] = 0;
            for (uint32_t x = 0; x < d; x++)
               row[j] += take(bq, TL_FP16, i * d + x) * take(bk, TL_FP16, j * d + x);
            most = fmax(most, row[j]);
         }
         for (uint32_t j = 0; j < n; j++)
            sum += row[j] = exp(row[j] - most);
         for (uint32_t x = 0; x < d; x++) {
            double want = 0;
            for (uint32_t j = 0; j < n; j++)
               want += row[j] * take(bv, TL_FP16, j * d + x);
            want /= sum;
            if (fabs(y[i * d + x] - want) > 2e-3)
               fail_msg("(%u,%u): %g, want %g", i, x, (double)y[i * d + x], want);
         }
      }
      k_close(&k);
   }
}

int test_lowered_dot(void);
int
test_lowered_dot(void)
{
   static const struct CMUnitTest tests[] = {
      cmocka_unit_test(dots_of_every_type),
      cmocka_unit_test(tf32_rounds_its_inputs),
      cmocka_unit_test(tf32x3_keeps_most_bits),
      cmocka_unit_test(matmul_loop),
      cmocka_unit_test(chained_dots_stay_in_registers),
   };
   return cmocka_run_group_tests(tests, NULL, NULL);
}
