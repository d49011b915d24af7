/* Conversions of every element type against a slow model that knows only the definition of the
 * formats: a table of all values of the type, and the nearest of two neighbours. */
#include "ir/dtype.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

typedef struct Format {
   TlDtype dtype;
   unsigned bits, mantissa;
   int bias;
   uint32_t max_finite; /* largest finite pattern */
   uint32_t nan;        /* what NaN becomes */
   uint32_t overflow;   /* what too large becomes */
   uint32_t first_nan;  /* smallest positive NaN pattern; 1 << (bits - 1) = none */
} Format;

static const Format formats[] = {
   {TL_FP16, 16, 10, 15, 0x7BFF, 0x7E00, 0x7C00, 0x7C01},
   {TL_BF16, 16, 7, 127, 0x7F7F, 0x7FC0, 0x7F80, 0x7F81},
   {TL_FP8E4NV, 8, 3, 7, 0x7E, 0x7F, 0x7E, 0x7F},
   {TL_FP8E5, 8, 2, 15, 0x7B, 0x7F, 0x7B, 0x7D},
   {TL_FP8E4B15, 8, 3, 15, 0x7F, 0x7F, 0x7F, 0x80},
};
enum { NUM_FORMATS = sizeof formats / sizeof formats[0] };

/* Positive pattern as a number, from the definition of the format. */
static long double
value_of(const Format *f, uint32_t p)
{
   int exponent = (int)(p >> f->mantissa);
   long double fraction = (long double)(p & ((1u << f->mantissa) - 1));
   long double one = (long double)(1u << f->mantissa);
   return exponent ? ldexpl(one + fraction, exponent - f->bias - (int)f->mantissa)
                   : ldexpl(fraction, 1 - f->bias - (int)f->mantissa);
}

static uint32_t
sign_bit(const Format *f)
{
   return 1u << (f->bits - 1);
}

/* Magnitude of a positive number, by bisection over all patterns. */
static uint32_t
slow_magnitude(const Format *f, long double v, bool toward_zero)
{
   uint32_t low = 0, high = f->max_finite + 1; /* value(low) <= v < value(high) */
   if (v >= value_of(f, high))
      return toward_zero ? f->max_finite : f->overflow;
   while (high - low > 1) {
      uint32_t mid = (low + high) / 2;
      if (value_of(f, mid) <= v)
         low = mid;
      else
         high = mid;
   }
   long double below = v - value_of(f, low), above = value_of(f, low + 1) - v;
   bool up = !toward_zero && (above < below || (above == below && (low & 1)));
   uint32_t p = low + up;
   return p > f->max_finite ? f->overflow : p;
}

static uint32_t
slow_round(const Format *f, double v, bool toward_zero)
{
   if (isnan(v))
      return f->nan;
   uint32_t sign = signbit(v) ? sign_bit(f) : 0;
   if (isinf(v))
      return sign | f->overflow;
   return sign | slow_magnitude(f, fabsl((long double)v), toward_zero);
}

static void
check_round(const Format *f, double v)
{
   for (int rtz = 0; rtz < 2; rtz++) {
      TlBits got =
         tl_double_to_bits(f->dtype, v, rtz ? TL_ROUND_TOWARD_ZERO : TL_ROUND_NEAREST_EVEN);
      uint32_t want = slow_round(f, v, rtz != 0);
      if (got != want)
         fail_msg("%s of %a (%s): got %llx, want %x", tl_dtype_info[f->dtype].text, v,
                  rtz ? "toward zero" : "nearest", (unsigned long long)got, want);
   }
}

static double
from_fp32(uint32_t bits)
{
   float v;
   memcpy(&v, &bits, sizeof v);
   return (double)v;
}

static uint32_t
fp32_bits(float v)
{
   uint32_t bits;
   memcpy(&bits, &v, sizeof bits);
   return bits;
}

/* ---- narrow types ---- */
static void
every_pattern_decodes_and_comes_back(void **state)
{
   (void)state;
   for (unsigned k = 0; k < NUM_FORMATS; k++) {
      const Format *f = &formats[k];
      for (uint32_t p = 0; p < sign_bit(f) * 2; p++) {
         uint32_t magnitude = p & (sign_bit(f) - 1);
         double got = tl_bits_to_double(f->dtype, p);
         if (magnitude >= f->first_nan) {
            assert_true(isnan(got));
            assert_int_equal(tl_double_to_bits(f->dtype, got, TL_ROUND_NEAREST_EVEN), f->nan);
            continue;
         }
         long double want =
            magnitude <= f->max_finite ? value_of(f, magnitude) : (long double)INFINITY;
         assert_true(fabsl((long double)got) == want);
         assert_int_equal(signbit(got) != 0, p >= sign_bit(f));
         bool is_inf = magnitude > f->max_finite;
         uint32_t back = is_inf ? (p & sign_bit(f)) | f->overflow : p;
         assert_int_equal(tl_double_to_bits(f->dtype, got, TL_ROUND_NEAREST_EVEN), back);
         assert_int_equal(tl_double_to_bits(f->dtype, got, TL_ROUND_TOWARD_ZERO), back);
      }
   }
}

/* Rounding is a staircase: it is right everywhere if it is right on both sides of every step. */
static void
rounding_is_right_around_every_step(void **state)
{
   (void)state;
   for (unsigned k = 0; k < NUM_FORMATS; k++) {
      const Format *f = &formats[k];
      for (uint32_t p = 0; p <= f->max_finite; p++) {
         double at = (double)value_of(f, p), next = (double)value_of(f, p + 1);
         double mid = at + (next - at) / 2;
         double points[] = {at, next, mid};
         for (unsigned i = 0; i < 3; i++)
            for (int sign = -1; sign <= 1; sign += 2) {
               double v = sign * points[i];
               check_round(f, v);
               check_round(f, nextafter(v, (double)INFINITY));
               check_round(f, nextafter(v, (double)-INFINITY));
            }
      }
   }
}

static void
fp32_values_of_every_exponent_round_right(void **state)
{
   (void)state;
   enum { PER_EXPONENT = 1024 };
   uint32_t seed = 12345;
   for (uint32_t high = 0; high < 512; high++) /* sign and exponent */
      for (uint32_t i = 0; i < PER_EXPONENT; i++) {
         seed = seed * 1664525 + 1013904223;
         uint32_t fraction = (i << 13 | seed >> 19) & 0x7FFFFF;
         uint32_t bits = high << 23 | fraction;
         for (unsigned k = 0; k < NUM_FORMATS; k++) {
            const Format *f = &formats[k];
            TlBits got = tl_cast_bits(TL_FP32, f->dtype, bits, TL_ROUND_NEAREST_EVEN);
            if (got != slow_round(f, from_fp32(bits), false))
               fail_msg("%s of fp32 %08x: %llx", tl_dtype_info[f->dtype].text, bits,
                        (unsigned long long)got);
         }
      }
}

static void
saturating_and_infinite_overflow(void **state)
{
   (void)state;
   static const struct {
      TlDtype t;
      double v;
      TlBits want;
   } rows[] = {
      {TL_FP8E4NV, 1e6, 0x7E},  {TL_FP8E4NV, -1e6, 0xFE},    {TL_FP8E4NV, (double)INFINITY, 0x7E},
      {TL_FP8E4NV, 449, 0x7E},  {TL_FP8E5, 1e6, 0x7B},       {TL_FP8E5, -(double)INFINITY, 0xFB},
      {TL_FP8E4B15, 1e6, 0x7F}, {TL_FP16, 65519.99, 0x7BFF}, {TL_FP16, 65520, 0x7C00},
      {TL_FP16, 1e300, 0x7C00}, {TL_BF16, 3.5e38, 0x7F80},   {TL_FP32, 1e39, 0x7F800000},
      {TL_FP16, 0x1p-25, 0},    {TL_FP16, 0x1.01p-25, 1},    {TL_FP16, -0x1p-26, 0x8000},
      {TL_FP32, 0x1p-150, 0},   {TL_FP32, 0x1.8p-150, 1},    {TL_FP32, 0x1p-149, 1},
      {TL_BF16, 4.9e-324, 0},
   };
   for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++)
      assert_int_equal(tl_double_to_bits(rows[i].t, rows[i].v, TL_ROUND_NEAREST_EVEN),
                       rows[i].want);
   assert_int_equal(tl_double_to_bits(TL_FP16, 1e300, TL_ROUND_TOWARD_ZERO), 0x7BFF);
   assert_int_equal(tl_double_to_bits(TL_FP16, (double)INFINITY, TL_ROUND_TOWARD_ZERO), 0x7C00);
}

static void
fp32_matches_the_host(void **state)
{
   (void)state;
   uint64_t seed = 99;
   for (unsigned i = 0; i < 400000; i++) {
      seed = seed * 6364136223846793005u + 1442695040888963407u;
      uint64_t bits = seed ^ seed >> 29;
      if (i & 1) /* exponents where fp32 is finite or denormal */
         bits = (bits & 0x800FFFFFFFFFFFFF) | (uint64_t)(1023 - 155 + (bits >> 52) % 290) << 52;
      double v;
      memcpy(&v, &bits, sizeof v);
      if (isnan(v))
         continue;
      assert_int_equal(tl_double_to_bits(TL_FP32, v, TL_ROUND_NEAREST_EVEN), fp32_bits((float)v));
      float down = (float)v; /* toward zero: back one step when the host went away from zero */
      if (fabs((double)down) > fabs(v))
         down = nextafterf(down, 0);
      assert_int_equal(tl_double_to_bits(TL_FP32, v, TL_ROUND_TOWARD_ZERO), fp32_bits(down));
   }
   assert_int_equal(tl_double_to_bits(TL_FP32, (double)NAN, TL_ROUND_NEAREST_EVEN), 0x7FC00000);
}

/* ---- integers ---- */
static void
float_to_int_truncates_and_saturates(void **state)
{
   (void)state;
   static const TlDtype ints[] = {TL_I8, TL_I16, TL_I32, TL_I64, TL_U8, TL_U16, TL_U32, TL_U64};
   static const double base[] = {0,
                                 0.5,
                                 0.999,
                                 1,
                                 1.5,
                                 127,
                                 127.9,
                                 128,
                                 129,
                                 255,
                                 255.9,
                                 256,
                                 32767,
                                 32768,
                                 65535,
                                 65536,
                                 1e9,
                                 0x1p31,
                                 0x1p32,
                                 0x1.fffffep30,
                                 0x1.fffffffffffffp62,
                                 0x1p63,
                                 0x1.fffffffffffffp63,
                                 0x1p64,
                                 1e30,
                                 4.9e-324};
   for (unsigned k = 0; k < 8; k++) {
      unsigned bits = tl_dtype_info[ints[k]].bits;
      bool is_signed = tl_dtype_is_signed(ints[k]), is_byte = bits == 8;
      bits = is_byte ? 16 : bits; /* the low byte of what 16 bits would be */
      long double high = ldexpl(1, (int)bits - is_signed) - 1;
      long double low = is_signed ? -ldexpl(1, (int)bits - 1) : 0;
      for (unsigned i = 0; i < 2 * sizeof base / sizeof base[0]; i++) {
         double v = i & 1 ? -base[i / 2] : base[i / 2];
         long double want = truncl((long double)v);
         want = want > high ? high : want < low ? low : want;
         if (is_byte)
            want = is_signed ? (int8_t)(int16_t)want : (uint8_t)(uint16_t)want;
         uint64_t pattern;
         memcpy(&pattern, &v, sizeof pattern);
         TlBits got = tl_cast_bits(TL_FP64, ints[k], pattern, TL_ROUND_NEAREST_EVEN);
         long double as = is_signed ? (long double)tl_bits_to_int(ints[k], got) : (long double)got;
         if (as != want)
            fail_msg("%a to %s: %Lg, want %Lg", v, tl_dtype_info[ints[k]].text, as, want);
      }
      assert_int_equal(tl_cast_bits(TL_FP32, ints[k], 0x7FC00000, TL_ROUND_NEAREST_EVEN), 0);
      assert_int_equal(tl_cast_bits(TL_FP16, ints[k], 0x7E00, TL_ROUND_NEAREST_EVEN), 0);
   }
}

static void
int_to_float_rounds_once(void **state)
{
   (void)state;
   uint64_t seed = 7;
   for (unsigned i = 0; i < 200000; i++) {
      seed = seed * 6364136223846793005u + 1442695040888963407u;
      uint64_t u = (seed ^ seed >> 31) >> (seed >> 58);
      int64_t s = (int64_t)u;
      assert_int_equal(tl_cast_bits(TL_I64, TL_FP32, u, TL_ROUND_NEAREST_EVEN),
                       fp32_bits((float)s));
      assert_int_equal(tl_cast_bits(TL_U64, TL_FP32, u, TL_ROUND_NEAREST_EVEN),
                       fp32_bits((float)u));
      double d = (double)s;
      uint64_t d_bits;
      memcpy(&d_bits, &d, sizeof d_bits);
      assert_true(tl_cast_bits(TL_I64, TL_FP64, u, TL_ROUND_NEAREST_EVEN) == d_bits);
      uint32_t w = (uint32_t)u;
      for (unsigned k = 0; k < NUM_FORMATS; k++)
         assert_int_equal(tl_cast_bits(TL_I32, formats[k].dtype, w, TL_ROUND_NEAREST_EVEN),
                          slow_round(&formats[k], (double)(int32_t)w, false));
   }
   /* 2^24 + 1 halfway, then the sticky bit far below: two roundings would go wrong */
   uint64_t trap = ((uint64_t)1 << 60) + ((uint64_t)1 << 36) + 1;
   assert_int_equal(tl_cast_bits(TL_I64, TL_FP32, trap, TL_ROUND_NEAREST_EVEN),
                    fp32_bits((float)trap));
   trap = ((uint64_t)1 << 53) + ((uint64_t)1 << 42) + 1;
   assert_int_equal(tl_cast_bits(TL_U64, TL_FP8E4NV, trap, TL_ROUND_NEAREST_EVEN), 0x7E);
   assert_int_equal(tl_cast_bits(TL_I32, TL_FP16, 70000, TL_ROUND_NEAREST_EVEN), 0x7C00);
}

static void
integers_wrap_and_bools_are_zero_or_one(void **state)
{
   (void)state;
   TlRounding r = TL_ROUND_NEAREST_EVEN;
   assert_int_equal(tl_cast_bits(TL_I32, TL_I8, 0x1FF, r), 0xFF);
   assert_int_equal(tl_cast_bits(TL_I8, TL_I32, 0x80, r), 0xFFFFFF80);
   assert_int_equal(tl_cast_bits(TL_U8, TL_I32, 0x80, r), 0x80);
   assert_true(tl_cast_bits(TL_I32, TL_U64, 0xFFFFFFFF, r) == UINT64_MAX);
   assert_true(tl_cast_bits(TL_U32, TL_I64, 0xFFFFFFFF, r) == 0xFFFFFFFF);
   assert_int_equal(tl_cast_bits(TL_I32, TL_I1, 2, r), 1);
   assert_int_equal(tl_cast_bits(TL_I64, TL_I1, (uint64_t)1 << 40, r), 1);
   assert_int_equal(tl_cast_bits(TL_I32, TL_I1, 0, r), 0);
   assert_int_equal(tl_cast_bits(TL_FP32, TL_I1, 0x80000000, r), 0); /* -0.0 */
   assert_int_equal(tl_cast_bits(TL_FP32, TL_I1, 1, r), 1);          /* a denormal */
   assert_int_equal(tl_cast_bits(TL_FP16, TL_I1, 0x7E00, r), 1);     /* NaN */
   assert_int_equal(tl_cast_bits(TL_I1, TL_I32, 1, r), 1);
   assert_int_equal(tl_cast_bits(TL_I1, TL_FP16, 1, r), 0x3C00);
   assert_int_equal(tl_cast_bits(TL_I1, TL_BF16, 0, r), 0);
   assert_int_equal(tl_bits_to_int(TL_I8, 0x80), -128);
   assert_int_equal(tl_bits_to_int(TL_U8, 0x80), 128);
   assert_int_equal(tl_bits_to_int(TL_I1, 1), 1);
   assert_true(tl_bits_to_number(TL_I8, 0x80) == -128);
   assert_true(tl_bits_to_number(TL_U64, UINT64_MAX) == 0x1p64);
   assert_true(tl_bits_to_number(TL_FP16, 0xC000) == -2);
   assert_int_equal(tl_int_to_bits(TL_I16, -1), 0xFFFF);
}

/* ---- the rest ---- */
/* Nearest multiple of 2^13 in the pattern, ties away from zero. */
static void
tf32_rounds_to_nearest_away(void **state)
{
   (void)state;
   uint32_t seed = 3;
   for (unsigned i = 0; i < 500000; i++) {
      seed = seed * 1664525 + 1013904223;
      uint32_t bits = i & 7 ? seed : (seed & ~(uint32_t)0x1FFF) | 0x1000;
      if ((bits & 0x7F800000) == 0x7F800000)
         continue;
      uint32_t low = bits & ~(uint32_t)0x1FFF, high = low + 0x2000;
      uint32_t want = bits - low >= high - bits ? high : low;
      assert_int_equal(tl_round_tf32(bits), want);
   }
   assert_int_equal(tl_round_tf32(0x7F800000), 0x7F800000);
   assert_int_equal(tl_round_tf32(0xFF800000), 0xFF800000);
   assert_true(isnan(from_fp32(tl_round_tf32(0x7F800001))));
   assert_int_equal(tl_round_tf32(0x3F801000), 0x3F802000);
   assert_int_equal(tl_round_tf32(0x3F800FFF), 0x3F800000);
   assert_int_equal(tl_cut_tf32(0x3F801FFF), 0x3F800000);
   assert_int_equal(tl_cut_tf32(0xBF803000), 0xBF802000);
}

static void
names_of_signatures_are_known(void **state)
{
   (void)state;
   static const struct {
      const char *text;
      TlDtype want;
   } rows[] = {{"fp16", TL_FP16},     {"float16", TL_FP16},    {"f16", TL_FP16},
               {"half", TL_FP16},     {"bf16", TL_BF16},       {"bfloat16", TL_BF16},
               {"i32", TL_I32},       {"int32", TL_I32},       {"s32", TL_I32},
               {"u8", TL_U8},         {"uint8", TL_U8},        {"bool", TL_I1},
               {"int1", TL_I1},       {"float", TL_FP32},      {"fp64", TL_FP64},
               {"double", TL_FP64},   {"fp8e4nv", TL_FP8E4NV}, {"float8_e4m3fn", TL_FP8E4NV},
               {"float8e5", TL_FP8E5}};
   TlDtype t;
   for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
      assert_true(tl_dtype_from_text(rows[i].text, strlen(rows[i].text), &t));
      assert_int_equal(t, rows[i].want);
   }
   for (unsigned i = 0; i < TL_DTYPE_COUNT; i++) {
      const TlDtypeInfo *info = &tl_dtype_info[i];
      assert_true(tl_dtype_from_text(info->text, strlen(info->text), &t) && t == (TlDtype)i);
      assert_int_equal(info->bytes, info->bits == 1 ? 1 : info->bits / 8);
      if (tl_dtype_is_int((TlDtype)i))
         assert_int_equal(tl_dtype_int(info->bits, tl_dtype_is_signed((TlDtype)i)), i);
   }
   assert_false(tl_dtype_from_text("fp17", 4, &t));
   assert_false(tl_dtype_from_text("i3", 2, &t));
   assert_false(tl_dtype_from_text("", 0, &t));
}

static void
elements_go_through_memory(void **state)
{
   (void)state;
   for (unsigned i = 0; i < TL_DTYPE_COUNT; i++) {
      TlDtype t = (TlDtype)i;
      uint8_t room[16];
      memset(room, 0xAA, sizeof room);
      TlBits bits = 0xF1E2D3C4B5A69781 & (~(uint64_t)0 >> (64 - tl_dtype_info[t].bits));
      tl_store_elem(t, room + 1, bits);
      assert_true(tl_load_elem(t, room + 1) == bits);
      assert_int_equal(room[0], 0xAA);
      assert_int_equal(room[1 + tl_dtype_info[t].bytes], 0xAA);
   }
   assert_int_equal(tl_load_elem(TL_I1, &(uint8_t){2}), 1);
}

static void
narrowest_type_holds_number(void **state)
{
   (void)state;
   static const struct {
      int64_t number;
      unsigned min_bits;
      TlDtype type;
   } rows[] = {
      {127, 8, TL_I8},        {128, 8, TL_U8},        {-129, 8, TL_I16},
      {40000, 8, TL_U16},     {65536, 8, TL_I32},     {UINT32_MAX, 8, TL_U32},
      {-1, 32, TL_I32},       {200, 16, TL_I16},      {INT64_C(1) << 32, 8, TL_I64},
      {INT64_MIN, 8, TL_I64}, {INT32_MIN, 8, TL_I32},
   };
   for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
      assert_int_equal(tl_dtype_holding(rows[i].number, rows[i].min_bits), rows[i].type);
}

int test_dtype(void);
int
test_dtype(void)
{
   const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_pattern_decodes_and_comes_back),
      cmocka_unit_test(rounding_is_right_around_every_step),
      cmocka_unit_test(fp32_values_of_every_exponent_round_right),
      cmocka_unit_test(saturating_and_infinite_overflow),
      cmocka_unit_test(fp32_matches_the_host),
      cmocka_unit_test(float_to_int_truncates_and_saturates),
      cmocka_unit_test(int_to_float_rounds_once),
      cmocka_unit_test(integers_wrap_and_bools_are_zero_or_one),
      cmocka_unit_test(tf32_rounds_to_nearest_away),
      cmocka_unit_test(names_of_signatures_are_known),
      cmocka_unit_test(elements_go_through_memory),
      cmocka_unit_test(narrowest_type_holds_number),
   };
   return cmocka_run_group_tests(tests, NULL, NULL);
}
