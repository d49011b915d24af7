/* Elementwise operations on the simulator against the scalar models: every dtype, random and
 * special patterns, NaN equal to NaN. */
#include "unit/sim/machine.h"

#include <math.h>

enum { N = 128 };

static bool
is_nan(TlDtype t, TlBits b)
{
   return tl_dtype_is_float(t) && isnan(tl_bits_to_double(t, b));
}

/* A few values that matter, then anything. */
static TlBits
pattern(Machine *m, TlDtype t, unsigned i)
{
   static const double special[] = {0.0, -0.0, 1.0, -1.0, 1.5, 448.0, 65504.0, 3e38, -7.25, 1e-40};
   unsigned bits = tl_dtype_info[t].bits;
   if (tl_dtype_is_float(t) && i < 10)
      return tl_double_to_bits(t, special[i], TL_ROUND_NEAREST_EVEN);
   if (tl_dtype_is_float(t) && i < 60) /* of common size */
      return tl_double_to_bits(t, (double)(int64_t)(m_random(m) % 4001 - 2000) / 64.0,
                               TL_ROUND_NEAREST_EVEN);
   if (!tl_dtype_is_float(t) && i < 20)
      return tl_int_to_bits(t, (int64_t)i - 10);
   TlBits r = m_random(m);
   return bits == 64 ? r : r & ((1ull << bits) - 1);
}

static void
check(Machine *m, TlDtype t, unsigned i, TlBits got, TlBits want, const char *what)
{
   if (got != want && !(is_nan(t, got) && is_nan(t, want)))
      fail_msg("%s, element %u: got %llx, want %llx\n%s", what, i, (unsigned long long)got,
               (unsigned long long)want, m->text);
}

/* op applied to buffers a, b, c of dtype in, result out; every thread two registers. */
static void
run_op(TlOpcode op, TlDtype in, TlDtype out, const char *attrs, const TlAttr *values, unsigned seed)
{
   static const char name[] = "abc";
   Machine m;
   m_open(&m, seed);
   unsigned n = (unsigned)tl_op_info[op].min_args;
   uint8_t *x[3] = {0};
   TlSb sb;
   tl_sb_init(&sb, m.x.arena);
   tl_sb_str(&sb, "%o = shl %tid, %k1 : i32\n");
   const char *ti = tl_dtype_info[in].text, *to = tl_dtype_info[out].text;
   for (unsigned k = 0; k < n; k++) {
      x[k] = m_buffer(&m, (const char[]){name[k], 0}, in, N);
      for (unsigned i = 0; i < N; i++)
         tl_store_elem(in, x[k] + i * tl_dtype_info[in].bytes,
                       pattern(&m, in, k ? (unsigned)(m_random(&m) % N) : i));
      tl_sb_printf(&sb, "%%p%u = addptr %%%c, %%o : ptr<%s>\n", k, name[k], ti);
      tl_sb_printf(&sb, "%%v%u = ld_global %%p%u {vec = 2} : regs<%s, 2>\n", k, k, ti);
   }
   uint8_t *y = m_buffer(&m, "y", out, N);
   tl_sb_printf(&sb, "%%r = %s %%v0", tl_op_info[op].text);
   for (unsigned k = 1; k < n; k++)
      tl_sb_printf(&sb, ", %%v%u", k);
   tl_sb_printf(&sb, "%s : regs<%s, 2>\n%%q = addptr %%y, %%o : ptr<%s>\n", attrs, to, to);
   tl_sb_str(&sb, "st_global %q, %r {vec = 2}\n");
   m_must_run(&m, 2, 0, tl_sb_cstr(&sb));
   for (unsigned i = 0; i < N; i++) {
      TlBits arg[3];
      TlDtype dtype[3] = {in, in, in};
      bool undefined = false;
      for (unsigned k = 0; k < n; k++)
         arg[k] = tl_load_elem(in, x[k] + i * tl_dtype_info[in].bytes);
      TlBits want = tl_eval(op, values, out, dtype, arg, &undefined);
      check(&m, out, i, tl_load_elem(out, y + i * tl_dtype_info[out].bytes), want,
            tl_op_info[op].text);
   }
   m_close(&m);
}

static void
arithmetic(void **state)
{
   static const TlOpcode any[] = {TL_OP_ADD, TL_OP_SUB, TL_OP_MUL, TL_OP_DIV, TL_OP_REM,
                                  TL_OP_MIN, TL_OP_MAX, TL_OP_NEG, TL_OP_ABS, TL_OP_CLAMP};
   static const TlOpcode floats[] = {
      TL_OP_FLOOR, TL_OP_CEIL, TL_OP_RINT,  TL_OP_TRUNC,  TL_OP_FMA, TL_OP_SQRT, TL_OP_SQRT_RN,
      TL_OP_EXP2,  TL_OP_TANH, TL_OP_RSQRT, TL_OP_DIV_RN, TL_OP_LOG, TL_OP_ERF};
   static const TlOpcode ints[] = {TL_OP_AND, TL_OP_OR,  TL_OP_XOR,
                                   TL_OP_SHL, TL_OP_SHR, TL_OP_MULHI};
   static const TlAttr none[TL_MAX_OP_ATTRS];
   (void)state;
   for (TlDtype t = TL_I8; t < TL_DTYPE_COUNT; t++) {
      bool is_float = tl_dtype_is_float(t);
      for (unsigned i = 0; i < sizeof any / sizeof any[0]; i++)
         run_op(any[i], t, t, "", none, t * 100 + i);
      for (unsigned i = 0; is_float && i < sizeof floats / sizeof floats[0]; i++)
         run_op(floats[i], t, t, "", none, t * 100 + 20 + i);
      for (unsigned i = 0; !is_float && i < sizeof ints / sizeof ints[0]; i++)
         if (ints[i] != TL_OP_MULHI || tl_dtype_info[t].bits >= 32)
            run_op(ints[i], t, t, "", none, t * 100 + 40 + i);
   }
}

static void
nan_rules(void **state)
{
   static const TlAttr all[TL_MAX_OP_ATTRS] = {{.i = TL_NAN_ALL}};
   (void)state;
   for (TlDtype t = TL_FP8E4NV; t < TL_DTYPE_COUNT; t++) {
      run_op(TL_OP_MIN, t, t, " {nan = all}", all, t);
      run_op(TL_OP_MAX, t, t, " {nan = all}", all, t);
   }
}

static void
comparisons(void **state)
{
   static const TlOpcode ops[] = {TL_OP_EQ, TL_OP_NE, TL_OP_LT, TL_OP_LE, TL_OP_GT, TL_OP_GE};
   static const TlAttr none[TL_MAX_OP_ATTRS];
   (void)state;
   for (TlDtype t = TL_I8; t < TL_DTYPE_COUNT; t++)
      for (unsigned i = 0; i < 6; i++)
         run_op(ops[i], t, TL_I1, "", none, t * 10 + i);
}

static void
casts(void **state)
{
   static const TlAttr nearest[TL_MAX_OP_ATTRS] = {{.i = TL_ROUNDING_RTNE}};
   static const TlAttr zero[TL_MAX_OP_ATTRS] = {{.i = TL_ROUNDING_RTZ}};
   (void)state;
   for (TlDtype from = 0; from < TL_DTYPE_COUNT; from++)
      for (TlDtype to = 0; to < TL_DTYPE_COUNT; to++) {
         if (from == to)
            continue;
         run_op(TL_OP_CAST, from, to, "", nearest, from * 31 + to);
         bool narrows = tl_dtype_is_float(from) && tl_dtype_is_float(to) &&
                        tl_dtype_info[from].bits > tl_dtype_info[to].bits;
         if (narrows)
            run_op(TL_OP_CAST, from, to, " {rounding = rtz}", zero, from * 37 + to);
      }
}

int test_scalar(void);
int
test_scalar(void)
{
   const struct CMUnitTest tests[] = {
      cmocka_unit_test(arithmetic),
      cmocka_unit_test(nan_rules),
      cmocka_unit_test(comparisons),
      cmocka_unit_test(casts),
   };
   return cmocka_run_group_tests(tests, NULL, NULL);
}
