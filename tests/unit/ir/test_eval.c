/* The scalar meaning of every elementwise operation, on every dtype it takes, against an oracle in
 * __float128 and __int128: exact there, then rounded by looking at the neighbours of the result. */
#include "ir/ir.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

typedef __float128 Quad;

static uint64_t seed = 20240607;

static uint64_t
next(void)
{
   seed += 0x9e3779b97f4a7c15u;
   uint64_t z = seed;
   z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
   z = (z ^ z >> 27) * 0x94d049bb133111ebu;
   return z ^ z >> 31;
}

static const TlDtype floats[] = {TL_FP16, TL_BF16, TL_FP32, TL_FP64, TL_FP8E4NV, TL_FP8E5};
static const TlDtype ints[] = {TL_I8, TL_I16, TL_I32, TL_I64, TL_U8, TL_U16, TL_U32, TL_U64, TL_I1};
enum { NUM_FLOATS = 6, NUM_INTS = 9, TRIALS = 4000 };

static uint64_t
mask(TlDtype t)
{
   return ~(uint64_t)0 >> (64 - tl_dtype_info[t].bits);
}

/* Any pattern; often a special one, or near another operand. */
static TlBits
any_bits(TlDtype t)
{
   static const double special[] = {0, -0.0, 1, -1, 0.5, 2, 3, 1e-4, 448, 65504, 1e-40, 1e30};
   if (tl_dtype_is_float(t) && next() % 8 == 0)
      return tl_double_to_bits(t, special[next() % 12], TL_ROUND_NEAREST_EVEN);
   if (tl_dtype_is_float(t) && next() % 8 == 0)
      return tl_double_to_bits(t, next() % 2 ? (double)INFINITY : (double)NAN,
                               TL_ROUND_NEAREST_EVEN);
   if (tl_dtype_is_int(t) && next() % 4 == 0) {
      const uint64_t edge[] = {0, 1, mask(t), mask(t) >> 1, (mask(t) >> 1) + 1, 2, 7};
      return edge[next() % 7] & mask(t);
   }
   return next() >> (tl_dtype_is_int(t) && next() % 2 ? next() % 64 : 0) & mask(t);
}

static TlBits
eval(TlOpcode op, TlDtype result, TlDtype t, TlBits a, TlBits b, TlBits c, int64_t attr)
{
   const TlAttr attrs[] = {{.i = attr}};
   bool undefined = false;
   return tl_eval(op, attrs, result, (TlDtype[]){t, t, t}, (TlBits[]){a, b, c}, &undefined);
}

/* ---- floats ---- */
/* v rounded to t, nearest even: among the three patterns around a double approximation. */
static TlBits
round_quad(TlDtype t, Quad v)
{
   double near = (double)v;
   TlBits guess = tl_double_to_bits(t, near, TL_ROUND_TOWARD_ZERO);
   if (v != v || near - near != 0)
      return tl_double_to_bits(t, near, TL_ROUND_NEAREST_EVEN);
   TlBits sign = guess & ~(mask(t) >> 1), magnitude = guess & mask(t) >> 1;
   Quad want = v < 0 ? -v : v;
   TlBits top = tl_double_to_bits(t, 1e308, TL_ROUND_TOWARD_ZERO) & mask(t) >> 1;
   if (t == TL_FP64)
      top = 0x7FEFFFFFFFFFFFFF;
   if (magnitude >= top) /* the overflow threshold is tl_double_to_bits' business: test_dtype.c */
      return tl_double_to_bits(t, near, TL_ROUND_NEAREST_EVEN);
   TlBits best = magnitude;
   Quad best_off = -1;
   for (TlBits p = magnitude ? magnitude - 1 : 0; p <= magnitude + 1 && p <= top; p++) {
      Quad off = want - (Quad)tl_bits_to_double(t, p);
      off = off < 0 ? -off : off;
      if (best_off < 0 || off < best_off || (off == best_off && !(p & 1))) {
         best = p;
         best_off = off;
      }
   }
   return sign | best;
}

static bool
is_nan(TlDtype t, TlBits bits)
{
   return isnan(tl_bits_to_double(t, bits));
}

static void
check(TlOpcode op, TlDtype t, TlBits a, TlBits b, TlBits c, TlBits got, TlBits want)
{
   if (got == want || (tl_dtype_is_float(t) && is_nan(t, got) && is_nan(t, want)))
      return;
   fail_msg("%s on %s of %llx, %llx, %llx: got %llx, want %llx", tl_op_info[op].text,
            tl_dtype_info[t].text, (unsigned long long)a, (unsigned long long)b,
            (unsigned long long)c, (unsigned long long)got, (unsigned long long)want);
}

static Quad
quad(TlDtype t, TlBits a)
{
   return (Quad)tl_bits_to_double(t, a);
}

static void
float_arithmetic_rounds_once(void **state)
{
   (void)state;
   for (unsigned k = 0; k < NUM_FLOATS; k++)
      for (unsigned i = 0; i < TRIALS; i++) {
         TlDtype t = floats[k];
         TlBits a = any_bits(t), b = any_bits(t);
         if (i % 4 == 0) /* near each other: cancellation */
            b = (a ^ (next() & 7)) & mask(t);
         if (is_nan(t, a) || is_nan(t, b) || isinf(tl_bits_to_double(t, a)) ||
             isinf(tl_bits_to_double(t, b)))
            continue;
         Quad x = quad(t, a), y = quad(t, b);
         check(TL_OP_ADD, t, a, b, 0, eval(TL_OP_ADD, t, t, a, b, 0, 0) & mask(t) >> (x + y == 0),
               round_quad(t, x + y) & mask(t) >> (x + y == 0));
         check(TL_OP_SUB, t, a, b, 0, eval(TL_OP_SUB, t, t, a, b, 0, 0) & mask(t) >> (x - y == 0),
               round_quad(t, x - y) & mask(t) >> (x - y == 0));
         check(TL_OP_MUL, t, a, b, 0, eval(TL_OP_MUL, t, t, a, b, 0, 0), round_quad(t, x * y));
         if (y != 0) {
            check(TL_OP_DIV, t, a, b, 0, eval(TL_OP_DIV, t, t, a, b, 0, 0), round_quad(t, x / y));
            assert_true(eval(TL_OP_DIV_RN, t, t, a, b, 0, 0) == eval(TL_OP_DIV, t, t, a, b, 0, 0));
         }
      }
}

/* The square root is right when its neighbours' midpoints squared are on either side. */
static void
square_root_is_the_nearest(void **state)
{
   (void)state;
   for (unsigned k = 0; k < NUM_FLOATS; k++)
      for (unsigned i = 0; i < TRIALS; i++) {
         TlDtype t = floats[k];
         TlBits a = any_bits(t) & mask(t) >> 1;
         double x = tl_bits_to_double(t, a);
         if (!isfinite(x) || x == 0)
            continue;
         TlBits r = eval(TL_OP_SQRT, t, t, a, 0, 0, 0);
         assert_true(r == eval(TL_OP_SQRT_RN, t, t, a, 0, 0, 0));
         Quad below = (quad(t, r) + quad(t, r - 1)) / 2, above = (quad(t, r) + quad(t, r + 1)) / 2;
         assert_true(below * below <= (Quad)x);
         assert_true(isinf((double)above) || is_nan(t, r + 1) || above * above >= (Quad)x);
      }
}

/* Operands for which rounding twice (through double, or through fp32) gives another answer. */
static void
fma_rounds_once(void **state)
{
   (void)state;
   for (unsigned k = 0; k < NUM_FLOATS; k++) {
      TlDtype t = floats[k];
      if (t == TL_FP64)
         continue; /* fma() of the host */
      for (unsigned i = 0; i < TRIALS; i++) {
         TlBits a = any_bits(t), b = any_bits(t), c = any_bits(t);
         Quad x = quad(t, a), y = quad(t, b), z = quad(t, c);
         double size = fabs((double)(x * y)), add = fabs((double)z);
         /* the exact sum must fit 113 bits for the oracle to be exact */
         if (!isfinite(size) || !isfinite(add) || size == 0 || add == 0 ||
             fabs(log2(size) - log2(add)) > 60)
            continue;
         if (x * y + z == 0)
            continue;
         check(TL_OP_FMA, t, a, b, c, eval(TL_OP_FMA, t, t, a, b, c, 0), round_quad(t, x * y + z));
      }
   }
   /* fp32: 1 + 2^-24 is a midpoint; a product of 2^-80 above or below decides. */
   TlBits one = 0x3F800000;
   TlBits tiny = tl_double_to_bits(TL_FP32, 0x1p-40, TL_ROUND_NEAREST_EVEN);
   TlBits minus = tl_double_to_bits(TL_FP32, -0x1p-40, TL_ROUND_NEAREST_EVEN);
   TlBits odd = tl_double_to_bits(TL_FP32, 0x1.000002p+0, TL_ROUND_NEAREST_EVEN);
   assert_int_equal(eval(TL_OP_FMA, TL_FP32, TL_FP32, tiny, tiny, odd, 0), odd);
   assert_int_equal(eval(TL_OP_FMA, TL_FP32, TL_FP32, minus, tiny, one, 0), one);
   /* (1 + 2^-23)(1 - 2^-23) = 1 - 2^-46: with -1 added only the error is left */
   TlBits up = 0x3F800001, down = tl_double_to_bits(TL_FP32, 1 - 0x1p-23, TL_ROUND_NEAREST_EVEN);
   TlBits left = eval(TL_OP_FMA, TL_FP32, TL_FP32, up, down, 0xBF800000, 0);
   assert_true(tl_bits_to_double(TL_FP32, left) == -0x1p-46);
   /* bf16: c is far below the product's midpoint and beyond double's 53 bits */
   TlBits m = tl_double_to_bits(TL_BF16, 0x1.02p0, TL_ROUND_NEAREST_EVEN);
   TlBits n = tl_double_to_bits(TL_BF16, 0x1.8p0, TL_ROUND_NEAREST_EVEN);
   for (int sign = -1; sign <= 1; sign += 2) { /* 0x1.83p0 lies between 0x1.82 and 0x1.84 */
      TlBits c = tl_double_to_bits(TL_BF16, sign * 0x1p-100, TL_ROUND_NEAREST_EVEN);
      double r = tl_bits_to_double(TL_BF16, eval(TL_OP_FMA, TL_BF16, TL_BF16, m, n, c, 0));
      assert_true(r == (sign > 0 ? 0x1.84p0 : 0x1.82p0));
   }
}

typedef struct Function {
   TlOpcode op;
   double (*fn)(double);
   double low, high;
} Function;

static double
reciprocal_root(double x)
{
   return 1 / sqrt(x);
}

/* Within one last place of libm in double for fp32 and narrower, and exact for the rounding
 * functions. */
static void
functions_follow_libm(void **state)
{
   (void)state;
   static const Function rows[] = {
      {TL_OP_EXP, exp, -80, 80},
      {TL_OP_EXP2, exp2, -120, 120},
      {TL_OP_LOG, log, 1e-30, 1e30},
      {TL_OP_LOG2, log2, 1e-30, 1e30},
      {TL_OP_SIN, sin, -100, 100},
      {TL_OP_COS, cos, -100, 100},
      {TL_OP_ERF, erf, -4, 4},
      {TL_OP_TANH, tanh, -10, 10},
      {TL_OP_RSQRT, reciprocal_root, 1e-30, 1e30},
      {TL_OP_FLOOR, floor, -1e4, 1e4},
      {TL_OP_CEIL, ceil, -1e4, 1e4},
      {TL_OP_TRUNC, trunc, -1e4, 1e4},
      {TL_OP_RINT, rint, -1e4, 1e4},
   };
   for (unsigned r = 0; r < sizeof rows / sizeof rows[0]; r++)
      for (unsigned k = 0; k < NUM_FLOATS; k++)
         for (unsigned i = 0; i < 500; i++) {
            TlDtype t = floats[k];
            double u = (double)(next() >> 11) * 0x1p-53;
            double x = rows[r].low + u * (rows[r].high - rows[r].low);
            TlBits a = tl_double_to_bits(t, x, TL_ROUND_NEAREST_EVEN);
            double at = tl_bits_to_double(t, a);
            if (!isfinite(at) || (rows[r].low > 0 && at <= 0))
               continue;
            TlBits want = tl_double_to_bits(t, rows[r].fn(at), TL_ROUND_NEAREST_EVEN);
            check(rows[r].op, t, a, 0, 0, eval(rows[r].op, t, t, a, 0, 0, 0), want);
         }
   TlBits inf = 0x7F800000, minus_inf = 0xFF800000;
   assert_int_equal(eval(TL_OP_EXP, TL_FP32, TL_FP32, minus_inf, 0, 0, 0), 0);
   assert_int_equal(eval(TL_OP_EXP, TL_FP32, TL_FP32, inf, 0, 0, 0), inf);
   assert_int_equal(eval(TL_OP_LOG, TL_FP32, TL_FP32, 0, 0, 0, 0), minus_inf);
   assert_int_equal(eval(TL_OP_LOG, TL_FP32, TL_FP32, 0xBF800000, 0, 0, 0), 0x7FC00000);
   assert_int_equal(eval(TL_OP_RINT, TL_FP32, TL_FP32, 0x40200000, 0, 0, 0), 0x40000000); /* 2.5 */
   assert_int_equal(eval(TL_OP_RINT, TL_FP32, TL_FP32, 0xBF000000, 0, 0, 0), 0x80000000); /* -0.5 */
   assert_int_equal(eval(TL_OP_FLOOR, TL_FP16, TL_FP16, 0xB800, 0, 0, 0), 0xBC00);        /* -0.5 */
}

static void
nan_and_zero_rules_of_min_and_max(void **state)
{
   (void)state;
   for (unsigned k = 0; k < 4; k++) {
      TlDtype t = floats[k];
      TlBits one = tl_double_to_bits(t, 1, 0), nan = tl_double_to_bits(t, (double)NAN, 0);
      TlBits zero = 0, minus_zero = tl_double_to_bits(t, -0.0, 0), two = tl_double_to_bits(t, 2, 0);
      for (int is_max = 0; is_max < 2; is_max++) {
         TlOpcode op = is_max ? TL_OP_MAX : TL_OP_MIN;
         assert_true(eval(op, t, t, one, nan, 0, TL_NAN_NONE) == one);
         assert_true(eval(op, t, t, nan, one, 0, TL_NAN_NONE) == one);
         assert_true(eval(op, t, t, nan, nan, 0, TL_NAN_NONE) == nan);
         assert_true(eval(op, t, t, one, nan, 0, TL_NAN_ALL) == nan);
         assert_true(eval(op, t, t, nan, one, 0, TL_NAN_ALL) == nan);
         assert_true(eval(op, t, t, one, two, 0, 0) == (is_max ? two : one));
         assert_true(eval(op, t, t, two, one, 0, TL_NAN_ALL) == (is_max ? two : one));
         assert_true(eval(op, t, t, zero, minus_zero, 0, 0) == (is_max ? zero : minus_zero));
         assert_true(eval(op, t, t, minus_zero, zero, 0, 0) == (is_max ? zero : minus_zero));
      }
      TlBits minus = tl_double_to_bits(t, -3, 0);
      assert_true(eval(TL_OP_CLAMP, t, t, minus, one, two, 0) == one);
      assert_true(eval(TL_OP_CLAMP, t, t, nan, one, two, TL_NAN_NONE) == one);
      assert_true(eval(TL_OP_CLAMP, t, t, nan, one, two, TL_NAN_ALL) == nan);
   }
}

static void
comparisons(void **state)
{
   (void)state;
   static const TlOpcode ops[] = {TL_OP_EQ, TL_OP_NE, TL_OP_LT, TL_OP_LE, TL_OP_GT, TL_OP_GE};
   for (unsigned k = 0; k < NUM_FLOATS + NUM_INTS; k++)
      for (unsigned i = 0; i < TRIALS; i++) {
         TlDtype t = k < NUM_FLOATS ? floats[k] : ints[k - NUM_FLOATS];
         TlBits a = any_bits(t), b = i % 3 ? any_bits(t) : a;
         bool want[6];
         if (k < NUM_FLOATS) {
            double x = tl_bits_to_double(t, a), y = tl_bits_to_double(t, b);
            want[0] = x == y, want[1] = x != y, want[2] = x<y, want[3] = x <= y, want[4] = x> y,
            want[5] = x >= y;
         } else {
            __int128 x = tl_dtype_is_signed(t) ? (__int128)tl_bits_to_int(t, a) : (__int128)a;
            __int128 y = tl_dtype_is_signed(t) ? (__int128)tl_bits_to_int(t, b) : (__int128)b;
            want[0] = x == y, want[1] = x != y, want[2] = x<y, want[3] = x <= y, want[4] = x> y,
            want[5] = x >= y;
         }
         for (unsigned j = 0; j < 6; j++)
            assert_int_equal(eval(ops[j], TL_I1, t, a, b, 0, 0), want[j]);
      }
}

/* ---- integers ---- */
static __int128
wide(TlDtype t, TlBits a)
{
   return tl_dtype_is_signed(t) ? (__int128)tl_bits_to_int(t, a) : (__int128)a;
}

static TlBits
wrap(TlDtype t, __int128 v)
{
   return (TlBits)v & mask(t);
}

/* High half of a double-width product, by halves. */
static TlBits
slow_mulhi(TlDtype t, TlBits a, TlBits b)
{
   unsigned bits = tl_dtype_info[t].bits;
   if (bits < 64)
      return wrap(t, (wide(t, a) * wide(t, b)) >> bits);
   uint64_t al = a & 0xFFFFFFFF, ah = a >> 32, bl = b & 0xFFFFFFFF, bh = b >> 32;
   uint64_t mid = ah * bl + (al * bl >> 32), mid2 = al * bh + (mid & 0xFFFFFFFF);
   uint64_t high = ah * bh + (mid >> 32) + (mid2 >> 32);
   if (t == TL_I64)
      high -= (a >> 63 ? b : 0) + (b >> 63 ? a : 0);
   return high;
}

static void
integer_arithmetic_wraps(void **state)
{
   (void)state;
   for (unsigned k = 0; k < NUM_INTS; k++)
      for (unsigned i = 0; i < TRIALS; i++) {
         TlDtype t = ints[k];
         TlBits a = any_bits(t), b = any_bits(t);
         __int128 x = wide(t, a), y = wide(t, b);
         unsigned bits = tl_dtype_info[t].bits;
         const struct {
            TlOpcode op;
            TlBits want;
         } rows[] = {
            {TL_OP_ADD, wrap(t, x + y)},
            {TL_OP_SUB, wrap(t, x - y)},
            {TL_OP_MUL, wrap(t, (__int128)((unsigned __int128)x * (unsigned __int128)y))},
            {TL_OP_DIV, y ? wrap(t, x / y) : 0},
            {TL_OP_REM, y ? wrap(t, x % y) : 0},
            {TL_OP_MIN, x < y ? a : b},
            {TL_OP_MAX, x > y ? a : b},
            {TL_OP_AND, a & b},
            {TL_OP_OR, a | b},
            {TL_OP_XOR, a ^ b},
            {TL_OP_SHL, b >= bits ? 0 : wrap(t, (__int128)((unsigned __int128)x << b))},
            {TL_OP_SHR, b >= bits ? (x < 0 ? mask(t) : 0) : wrap(t, x >> b)},
            {TL_OP_MULHI, slow_mulhi(t, a, b)},
         };
         for (unsigned j = 0; j < sizeof rows / sizeof rows[0]; j++)
            check(rows[j].op, t, a, b, 0, eval(rows[j].op, t, t, a, b, 0, 0), rows[j].want);
         check(TL_OP_NEG, t, a, 0, 0, eval(TL_OP_NEG, t, t, a, 0, 0, 0), wrap(t, -x));
         check(TL_OP_ABS, t, a, 0, 0, eval(TL_OP_ABS, t, t, a, 0, 0, 0), wrap(t, x < 0 ? -x : x));
      }
}

static void
division_by_zero_is_zero_and_undefined(void **state)
{
   (void)state;
   const TlAttr none[1] = {{0}};
   for (unsigned k = 0; k < NUM_INTS; k++) {
      TlDtype t = ints[k];
      bool undefined = false;
      TlOpcode ops[] = {TL_OP_DIV, TL_OP_REM};
      for (unsigned i = 0; i < 2; i++) {
         undefined = false;
         assert_int_equal(tl_eval(ops[i], none, t, (TlDtype[]){t, t}, (TlBits[]){1, 0}, &undefined),
                          0);
         assert_true(undefined);
         undefined = false;
         tl_eval(ops[i], none, t, (TlDtype[]){t, t}, (TlBits[]){1, 1}, &undefined);
         assert_false(undefined);
         tl_eval(ops[i], none, t, (TlDtype[]){t, t}, (TlBits[]){1, 0}, NULL); /* nobody asks */
      }
   }
   TlBits low = 0x80000000;
   assert_int_equal(eval(TL_OP_DIV, TL_I32, TL_I32, low, 0xFFFFFFFF, 0, 0), low);
   assert_int_equal(eval(TL_OP_REM, TL_I32, TL_I32, low, 0xFFFFFFFF, 0, 0), 0);
   assert_int_equal(eval(TL_OP_DIV, TL_I32, TL_I32, (uint32_t)-7, 2, 0, 0), (uint32_t)-3);
   assert_int_equal(eval(TL_OP_REM, TL_I32, TL_I32, (uint32_t)-7, 2, 0, 0), (uint32_t)-1);
   TlBits f = eval(TL_OP_REM, TL_FP32, TL_FP32, 0xC0F00000, 0x40000000, 0, 0); /* -7.5 fmod 2 */
   assert_true(tl_bits_to_double(TL_FP32, f) == -1.5);
}

static void
sign_operations_are_on_bits(void **state)
{
   (void)state;
   for (unsigned k = 0; k < NUM_FLOATS; k++) {
      TlDtype t = floats[k];
      TlBits top = mask(t) ^ mask(t) >> 1;
      for (unsigned i = 0; i < 100; i++) {
         TlBits a = any_bits(t);
         assert_true(eval(TL_OP_NEG, t, t, a, 0, 0, 0) == (a ^ top));
         assert_true(eval(TL_OP_ABS, t, t, a, 0, 0, 0) == (a & ~top));
      }
   }
}

static void
select_cast_and_bitcast(void **state)
{
   (void)state;
   const TlAttr rtne[1] = {{.i = TL_ROUNDING_RTNE}}, rtz[1] = {{.i = TL_ROUNDING_RTZ}};
   TlDtype three[] = {TL_I1, TL_FP16, TL_FP16};
   assert_int_equal(tl_eval(TL_OP_SELECT, rtne, TL_FP16, three, (TlBits[]){1, 5, 6}, NULL), 5);
   assert_int_equal(tl_eval(TL_OP_SELECT, rtne, TL_FP16, three, (TlBits[]){0, 5, 6}, NULL), 6);
   TlDtype fp32 = TL_FP32;
   TlBits third = 0x3EAAAAAB; /* 1/3: fp16 0x3555 either way; 0.1 differs for bf16 */
   assert_int_equal(tl_eval(TL_OP_CAST, rtne, TL_FP16, &fp32, &third, NULL), 0x3555);
   TlBits tenth = 0x3DCCCCCD;
   assert_int_equal(tl_eval(TL_OP_CAST, rtne, TL_BF16, &fp32, &tenth, NULL), 0x3DCD);
   assert_int_equal(tl_eval(TL_OP_CAST, rtz, TL_BF16, &fp32, &tenth, NULL), 0x3DCC);
   assert_int_equal(tl_eval(TL_OP_BITCAST, rtne, TL_I32, &fp32, &tenth, NULL), 0x3DCCCCCD);
}

int test_eval(void);
int
test_eval(void)
{
   printf("seed %llu\n", (unsigned long long)seed);
   const struct CMUnitTest tests[] = {
      cmocka_unit_test(float_arithmetic_rounds_once),
      cmocka_unit_test(square_root_is_the_nearest),
      cmocka_unit_test(fma_rounds_once),
      cmocka_unit_test(functions_follow_libm),
      cmocka_unit_test(nan_and_zero_rules_of_min_and_max),
      cmocka_unit_test(comparisons),
      cmocka_unit_test(integer_arithmetic_wraps),
      cmocka_unit_test(division_by_zero_is_zero_and_undefined),
      cmocka_unit_test(sign_operations_are_on_bits),
      cmocka_unit_test(select_cast_and_bitcast),
   };
   return cmocka_run_group_tests(tests, NULL, NULL);
}
