/* The numbers of the examples: formats, random ones, arrays of them; see support.h.  Rounding to
 * the small types is done here in doubles, independently of the compiler's own conversions, so that
 * a mistake there is seen. */
#include "support.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Format {
   TilecDtype dtype;
   const char *name;
   unsigned bytes;
   int fraction_bits; /* stored */
   int min_exponent;  /* of normal numbers */
   double largest;    /* finite number; of integers the largest that poison is not */
   double tolerance;
} Format;

static const Format formats[] = {
   {TILEC_FP16, "fp16", 2, 10, -14, 65504, 6e-4},
   {TILEC_BF16, "bf16", 2, 7, -126, 0x1.fep127, 4e-3},
   {TILEC_FP32, "fp32", 4, 23, -126, 0x1.fffffep127, 1e-6},
   {TILEC_FP64, "fp64", 8, 52, -1022, 0x1.fffffffffffffp1023, 1e-15},
   {TILEC_FP8E4NV, "fp8e4nv", 1, 3, -6, 448, 4e-2},
   {TILEC_FP8E5, "fp8e5", 1, 2, -14, 57344, 8e-2},
   {TILEC_I32, "i32", 4, 0, 0, INT32_MAX, 0},
   {TILEC_I8, "i8", 1, 0, 0, INT8_MAX, 0},
   {TILEC_U8, "u8", 1, 0, 0, UINT8_MAX, 0},
};

static const Format *
format_of(TilecDtype dtype)
{
   for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
      if (formats[i].dtype == dtype)
         return &formats[i];
   fprintf(stderr, "no format for dtype %d\n", (int)dtype);
   exit(1);
}

/* To nearest, ties to even, with `fraction_bits` after the leading one; exact in a double. */
static double
round_to(const Format *f, int fraction_bits, double x)
{
   if (x == 0 || !isfinite(x))
      return x;
   if (f->min_exponent == 0)
      return rint(x);
   int e;
   frexp(x, &e);
   e = e - 1 < f->min_exponent ? f->min_exponent : e - 1;
   double quantum = ldexp(1, e - fraction_bits);
   double r = rint(x / quantum) * quantum;
   return fabs(r) > f->largest ? copysign(INFINITY, x) : r;
}

/* Of the formats with infinities the patterns above the largest exponent are special; fp8e4nv has
 * one NaN and no infinity. */
static bool
has_infinity(const Format *f)
{
   return f->dtype != TILEC_FP8E4NV;
}

/* The pattern of 8 or 16 bits of a value that the format holds exactly. */
static uint16_t
encode_small(const Format *f, double x)
{
   unsigned exponent_bits = 8 * f->bytes - 1 - (unsigned)f->fraction_bits;
   uint32_t sign_bit = 1u << (8 * f->bytes - 1), exp_mask = (1u << exponent_bits) - 1;
   uint32_t sign = signbit(x) ? sign_bit : 0;
   if (isnan(x) || (isinf(x) && !has_infinity(f)))
      return (uint16_t)(sign | (sign_bit - 1));
   if (isinf(x))
      return (uint16_t)(sign | exp_mask << f->fraction_bits);
   if (fabs(x) < ldexp(1, f->min_exponent))
      return (uint16_t)(sign | (uint32_t)ldexp(fabs(x), f->fraction_bits - f->min_exponent));
   int e;
   double m = frexp(fabs(x), &e); /* m in [0.5, 1) */
   uint32_t fraction = (uint32_t)ldexp(2 * m - 1, f->fraction_bits);
   uint32_t biased = (uint32_t)(e - f->min_exponent);
   return (uint16_t)(sign | biased << f->fraction_bits | fraction);
}

static double
decode_small(const Format *f, uint16_t bits)
{
   unsigned exponent_bits = 8 * f->bytes - 1 - (unsigned)f->fraction_bits;
   uint32_t sign_bit = 1u << (8 * f->bytes - 1), exp_mask = (1u << exponent_bits) - 1;
   uint32_t fraction_mask = (1u << f->fraction_bits) - 1;
   uint32_t biased = (uint32_t)bits >> f->fraction_bits & exp_mask, fraction = bits & fraction_mask;
   double v;
   if (biased == exp_mask && (has_infinity(f) || fraction == fraction_mask))
      v = fraction ? (double)NAN : (double)INFINITY;
   else if (biased == 0)
      v = ldexp(fraction, f->min_exponent - f->fraction_bits);
   else
      v = ldexp(1 + ldexp(fraction, -f->fraction_bits), (int)biased - 1 + f->min_exponent);
   return bits & sign_bit ? -v : v;
}

/* One element; poison has to have a pattern in every type. */
static void
pack_one(const Format *f, double x, void *to)
{
   if (f->dtype == TILEC_FP64)
      *(double *)to = x;
   else if (f->dtype == TILEC_FP32)
      *(float *)to = (float)x;
   else if (f->dtype == TILEC_I32)
      *(int32_t *)to = isnan(x) ? INT32_MIN : (int32_t)x;
   else if (f->dtype == TILEC_I8)
      *(int8_t *)to = isnan(x) ? INT8_MIN : (int8_t)x;
   else if (f->dtype == TILEC_U8)
      *(uint8_t *)to = isnan(x) ? UINT8_MAX : (uint8_t)x;
   else if (f->bytes == 1)
      *(uint8_t *)to = (uint8_t)encode_small(f, x);
   else
      *(uint16_t *)to = encode_small(f, x);
}

static double
unpack_one(const Format *f, const void *from)
{
   switch (f->dtype) {
   case TILEC_FP64:
      return *(const double *)from;
   case TILEC_FP32:
      return (double)*(const float *)from;
   case TILEC_I32:
      return *(const int32_t *)from == INT32_MIN ? (double)NAN : *(const int32_t *)from;
   case TILEC_I8:
      return *(const int8_t *)from == INT8_MIN ? (double)NAN : *(const int8_t *)from;
   case TILEC_U8:
      return *(const uint8_t *)from;
   case TILEC_FP8E4NV:
   case TILEC_FP8E5:
      return decode_small(f, *(const uint8_t *)from);
   default:
      return decode_small(f, *(const uint16_t *)from);
   }
}

void
ex_pack(TilecDtype dtype, const double *value, size_t elems, void *bytes)
{
   const Format *f = format_of(dtype);
   for (size_t i = 0; i < elems; i++)
      pack_one(f, value[i], (char *)bytes + i * f->bytes);
}

void
ex_unpack(TilecDtype dtype, const void *bytes, size_t elems, double *value)
{
   const Format *f = format_of(dtype);
   for (size_t i = 0; i < elems; i++)
      value[i] = unpack_one(f, (const char *)bytes + i * f->bytes);
}

double
ex_tolerance(TilecDtype dtype)
{
   return format_of(dtype)->tolerance;
}

const char *
ex_dtype_name(TilecDtype dtype)
{
   return format_of(dtype)->name;
}

size_t
ex_dtype_bytes(TilecDtype dtype)
{
   return dtype == TILEC_DTYPE_NONE ? 0 : format_of(dtype)->bytes;
}

TilecDtype
ex_dtype_named(const char *name)
{
   for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
      if (strcmp(formats[i].name, name) == 0)
         return formats[i].dtype;
   return TILEC_DTYPE_NONE;
}

double
ex_round(TilecDtype dtype, double x)
{
   return ex_round_to(dtype, INT_MAX, x);
}

double
ex_round_to(TilecDtype dtype, int fraction_bits, double x)
{
   const Format *f = format_of(dtype);
   return round_to(f, fraction_bits < f->fraction_bits ? fraction_bits : f->fraction_bits, x);
}

/* ---- random numbers ---- */

/* SplitMix64 (Steele, Lea, Flood 2014). */
double
ex_uniform(Example *ex)
{
   uint64_t z = (ex->rng += 0x9E3779B97F4A7C15u);
   z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
   z = (z ^ z >> 27) * 0x94D049BB133111EBu;
   return ((double)((z ^ z >> 31) >> 11) + 0.5) * 0x1p-53;
}

double
ex_normal(Example *ex)
{
   double radius = sqrt(-2 * log(ex_uniform(ex)));
   return radius * cos(6.283185307179586 * ex_uniform(ex));
}

static int
ascending(const void *a, const void *b)
{
   double x = *(const double *)a, y = *(const double *)b;
   return (x > y) - (x < y);
}

double
ex_median(double *values, size_t count)
{
   qsort(values, count, sizeof *values, ascending);
   return values[count / 2];
}

/* ---- arrays ---- */
void *
ex_allocate(size_t count, size_t size)
{
   void *p = calloc(count ? count : 1, size);
   if (!p) {
      fputs("out of memory\n", stderr);
      exit(1);
   }
   return p;
}

double *
ex_doubles(size_t elems)
{
   return ex_allocate(elems, sizeof(double));
}
