/* Element types: the table, names, and exact bit models of every conversion.
 * Invariant: no result depends on the host's half-precision support or rounding mode.  Every value
 * that is to be rounded is first written as sign * significand * 2^exponent with a 64-bit integer
 * significand, and rounded once, by round_pack, on integers. */
#include "ir/dtype.h"

#include <assert.h>
#include <string.h>

const TlDtypeInfo tl_dtype_info[TL_DTYPE_COUNT] = {
#define TL_DTYPE(id, text, kind, bits, mantissa, exponent, bias, triton)                           \
   [TL_##id] = {text, TL_KIND_##kind, bits, (bits + 7) / 8, mantissa, exponent, bias, triton},
#include "ir/dtypes.def"
};

/* What the field widths do not say: the largest finite pattern, the canonical NaN, and whether the
 * format has infinities (then exponent all ones is Inf or NaN) or saturates. */
typedef struct Special {
   uint64_t max_finite;
   uint64_t nan;      /* formats without NaN: what a NaN becomes */
   uint64_t inf;      /* 0: conversion saturates */
   uint64_t nan_from; /* magnitudes above this are NaN */
} Special;

static const Special special[TL_DTYPE_COUNT] = {
   [TL_FP8E4NV] = {0x7E, 0x7F, 0, 0x7E},
   [TL_FP8E5] = {0x7B, 0x7F, 0, 0x7C},
   [TL_FP8E4B15] = {0x7F, 0x7F, 0, 0x7F},
   [TL_FP16] = {0x7BFF, 0x7E00, 0x7C00, 0x7C00},
   [TL_BF16] = {0x7F7F, 0x7FC0, 0x7F80, 0x7F80},
   [TL_FP32] = {0x7F7FFFFF, 0x7FC00000, 0x7F800000, 0x7F800000},
   [TL_FP64] = {0x7FEFFFFFFFFFFFFF, 0x7FF8000000000000, 0x7FF0000000000000, 0x7FF0000000000000},
};

/* ---- names ---- */
static const struct {
   const char *text;
   TlDtype dtype;
} aliases[] = {
   {"bool", TL_I1},
   {"b1", TL_I1},
   {"i1", TL_I1},
   {"u1", TL_I1},
   {"s8", TL_I8},
   {"s16", TL_I16},
   {"s32", TL_I32},
   {"s64", TL_I64},
   {"int", TL_I32},
   {"f16", TL_FP16},
   {"half", TL_FP16},
   {"f32", TL_FP32},
   {"float", TL_FP32},
   {"f64", TL_FP64},
   {"double", TL_FP64},
   {"e4m3", TL_FP8E4NV},
   {"e5m2", TL_FP8E5},
   {"float8_e4m3fn", TL_FP8E4NV},
   {"fp8e4m3", TL_FP8E4NV},
   {"fp8e5m2", TL_FP8E5},
   {"float8_e5m2", TL_FP8E5},
   {"float8_e4m3", TL_FP8E4NV},
   {"fp8e4m3fn", TL_FP8E4NV},
   {"fp8_e4m3", TL_FP8E4NV},
   {"fp8_e4m3fn", TL_FP8E4NV},
   {"fp8_e5m2", TL_FP8E5},
   {"float8_e4b15", TL_FP8E4B15},
};

static bool
text_is(const char *name, const char *s, size_t len)
{
   return strlen(name) == len && memcmp(name, s, len) == 0;
}

bool
tl_dtype_from_text(const char *s, size_t len, TlDtype *out)
{
   for (unsigned i = 0; i < TL_DTYPE_COUNT; i++)
      if (text_is(tl_dtype_info[i].text, s, len) || text_is(tl_dtype_info[i].triton_name, s, len)) {
         *out = (TlDtype)i;
         return true;
      }
   for (unsigned i = 0; i < sizeof aliases / sizeof aliases[0]; i++)
      if (text_is(aliases[i].text, s, len)) {
         *out = aliases[i].dtype;
         return true;
      }
   return false;
}

TlDtype
tl_dtype_int(unsigned bits, bool is_signed)
{
   assert(bits == 1 || bits == 8 || bits == 16 || bits == 32 || bits == 64);
   TlDtypeKind kind = bits == 1 ? TL_KIND_BOOL : is_signed ? TL_KIND_SINT : TL_KIND_UINT;
   for (unsigned i = 0; i < TL_DTYPE_COUNT; i++)
      if (tl_dtype_info[i].kind == kind && tl_dtype_info[i].bits == bits)
         return (TlDtype)i;
   assert(false && "no integer type of this width");
   return TL_I32;
}

/* ---- integers ---- */
static uint64_t
mask_of(TlDtype t)
{
   return ~(uint64_t)0 >> (64 - tl_dtype_info[t].bits);
}

int64_t
tl_bits_to_int(TlDtype t, TlBits bits)
{
   assert(t < TL_DTYPE_COUNT);
   unsigned unused = 64u - tl_dtype_info[t].bits;
   if (tl_dtype_info[t].kind == TL_KIND_SINT)
      return (int64_t)(bits << unused) >> unused;
   return (int64_t)(bits << unused >> unused);
}

TlBits
tl_int_to_bits(TlDtype t, int64_t v)
{
   assert(t < TL_DTYPE_COUNT);
   return (uint64_t)v & mask_of(t);
}

TlDtype
tl_dtype_holding(int64_t number, unsigned min_bits)
{
   assert(min_bits == 8 || min_bits == 16 || min_bits == 32 || min_bits == 64);
   for (unsigned bits = min_bits; bits < 64; bits *= 2)
      for (int is_signed = 1; is_signed >= 0; is_signed--) {
         TlDtype t = tl_dtype_int(bits, is_signed);
         if (tl_bits_to_int(t, tl_int_to_bits(t, number)) == number)
            return t;
      }
   return TL_I64;
}

/* ---- floats ---- */
static double
double_of(uint64_t bits)
{
   double v;
   memcpy(&v, &bits, sizeof v);
   return v;
}

double
tl_bits_to_double(TlDtype t, TlBits bits)
{
   assert(t < TL_DTYPE_COUNT);
   if (t == TL_FP64)
      return double_of(bits);
   if (t == TL_FP32) {
      uint32_t word = (uint32_t)bits;
      float f;
      memcpy(&f, &word, sizeof f);
      return (double)f;
   }
   const TlDtypeInfo *info = &tl_dtype_info[t];
   unsigned m = info->mantissa;
   uint64_t sign = (bits >> (info->bits - 1) & 1) << 63;
   uint64_t magnitude = bits & mask_of(t) >> 1;
   uint64_t exponent = magnitude >> m, fraction = magnitude & (((uint64_t)1 << m) - 1);
   if (magnitude > special[t].nan_from)
      return double_of(sign | special[TL_FP64].nan);
   if (magnitude == special[t].nan_from && magnitude > special[t].max_finite)
      return double_of(sign | special[TL_FP64].inf);
   if (exponent == 0) { /* fraction * 2^(1 - bias - m): both factors and the product are exact */
      uint64_t scale = (uint64_t)(1023 + 1 - (int)info->bias - (int)m) << 52;
      double v = (double)fraction * double_of(scale);
      return sign ? -v : v;
   }
   return double_of(sign | (exponent + 1023 - info->bias) << 52 | fraction << (52 - m));
}

/* Rounds significand * 2^exponent (significand != 0) to the magnitude bits of a float type. */
static uint64_t
round_pack(TlDtype t, uint64_t significand, int exponent, TlRounding rounding)
{
   const TlDtypeInfo *info = &tl_dtype_info[t];
   int m = info->mantissa, bias = info->bias;
   int lead = __builtin_clzll(significand);
   significand <<= lead;
   int e = exponent + 63 - lead;                /* value = 1.xxx * 2^e */
   int below = e < 1 - bias ? 1 - bias - e : 0; /* places lost to a denormal result */
   int shift = 63 - m + below;
   uint64_t kept = 0, rest = significand, half = 1;
   bool is_tiny = shift > 64; /* less than half of the last place */
   if (shift <= 63) {
      kept = significand >> shift;
      rest = significand & (((uint64_t)1 << shift) - 1);
      half = (uint64_t)1 << (shift - 1);
   } else {
      half = (uint64_t)1 << 63; /* shift 64: the leading one is the half */
   }
   if (rounding == TL_ROUND_NEAREST_EVEN && !is_tiny &&
       (rest > half || (rest == half && (kept & 1))))
      kept++;
   /* A carry out of the fraction moves into the exponent field by itself. */
   uint64_t magnitude = below ? kept : ((uint64_t)(e + bias - 1) << m) + kept;
   if (magnitude <= special[t].max_finite)
      return magnitude;
   return special[t].inf && rounding == TL_ROUND_NEAREST_EVEN ? special[t].inf
                                                              : special[t].max_finite;
}

static TlBits
with_sign(TlDtype t, bool negative, uint64_t magnitude)
{
   return negative ? magnitude | (uint64_t)1 << (tl_dtype_info[t].bits - 1) : magnitude;
}

TlBits
tl_double_to_bits(TlDtype t, double v, TlRounding rounding)
{
   assert(t < TL_DTYPE_COUNT);
   uint64_t bits;
   memcpy(&bits, &v, sizeof bits);
   bool negative = bits >> 63;
   uint64_t magnitude = bits & ~(uint64_t)0 >> 1;
   if (magnitude > special[TL_FP64].inf)
      return special[t].nan;
   if (t == TL_FP64)
      return bits;
   if (magnitude == special[TL_FP64].inf)
      return with_sign(t, negative, special[t].inf ? special[t].inf : special[t].max_finite);
   if (magnitude == 0)
      return with_sign(t, negative, 0);
   int exponent = (int)(magnitude >> 52);
   uint64_t fraction = magnitude & (((uint64_t)1 << 52) - 1);
   if (exponent)
      fraction |= (uint64_t)1 << 52;
   else
      exponent = 1;
   return with_sign(t, negative, round_pack(t, fraction, exponent - 1075, rounding));
}

static TlBits
int_to_float(TlDtype from, TlDtype to, TlBits bits, TlRounding rounding)
{
   int64_t v = tl_bits_to_int(from, bits);
   bool negative = v < 0 && tl_dtype_is_signed(from);
   uint64_t magnitude = negative ? 0 - (uint64_t)v : (uint64_t)v;
   return magnitude ? with_sign(to, negative, round_pack(to, magnitude, 0, rounding)) : 0;
}

/* Saturates; 8 bits are the low ones of 16 (codegen/lower_cast.c says why). */
static TlBits
double_to_int(TlDtype to, double v)
{
   bool is_signed = tl_dtype_is_signed(to);
   if (tl_dtype_info[to].bits == 8)
      return double_to_int(is_signed ? TL_I16 : TL_U16, v) & mask_of(to);
   unsigned bits = tl_dtype_info[to].bits;
   uint64_t max = mask_of(to) >> is_signed;
   double limit = double_of((uint64_t)(1023 + (int)bits - is_signed) << 52); /* 2^(bits - sign) */
   if (v != v)
      return 0;
   if (v >= limit)
      return max;
   if (v <= (is_signed ? -limit : 0.0))
      return is_signed ? max + 1 : 0;
   return is_signed ? tl_int_to_bits(to, (int64_t)v) : (uint64_t)v;
}

TlBits
tl_cast_bits(TlDtype from, TlDtype to, TlBits bits, TlRounding rounding)
{
   assert(from < TL_DTYPE_COUNT && to < TL_DTYPE_COUNT);
   bool from_float = tl_dtype_is_float(from), to_float = tl_dtype_is_float(to);
   if (to == TL_I1) /* -0.0 is zero; NaN is not */
      return from_float ? tl_bits_to_double(from, bits) != 0.0 : (bits & mask_of(from)) != 0;
   if (from == to)
      return bits;
   if (!from_float)
      return to_float ? int_to_float(from, to, bits, rounding)
                      : tl_int_to_bits(to, tl_bits_to_int(from, bits));
   double v = tl_bits_to_double(from, bits);
   return to_float ? tl_double_to_bits(to, v, rounding) : double_to_int(to, v);
}

double
tl_bits_to_number(TlDtype t, TlBits bits)
{
   if (tl_dtype_is_float(t))
      return tl_bits_to_double(t, bits);
   int64_t v = tl_bits_to_int(t, bits);
   return tl_dtype_is_signed(t) ? (double)v : (double)(uint64_t)v;
}

uint32_t
tl_round_tf32(uint32_t bits)
{
   if ((bits & 0x7F800000) == 0x7F800000) /* Inf stays, NaN stays a NaN */
      return bits & 0x7FFFFF ? bits | 0x400000 : bits;
   return (bits + 0x1000) & ~(uint32_t)0x1FFF;
}

uint32_t
tl_cut_tf32(uint32_t bits)
{
   return bits & ~(uint32_t)0x1FFF;
}

/* ---- memory; little-endian hosts only, as everywhere ----
 * Executors spend their time here: copies of a constant size are one instruction, of another one
 * `rep movs`, thirty times as slow. */
TlBits
tl_load_elem(TlDtype t, const void *p)
{
   uint64_t bits = 0;
   switch (tl_dtype_info[t].bytes) {
   case 1:
      memcpy(&bits, p, 1);
      return t == TL_I1 ? bits != 0 : bits;
   case 2:
      memcpy(&bits, p, 2);
      return bits;
   case 4:
      memcpy(&bits, p, 4);
      return bits;
   default:
      assert(tl_dtype_info[t].bytes == 8);
      memcpy(&bits, p, 8);
      return bits;
   }
}

void
tl_store_elem(TlDtype t, void *p, TlBits bits)
{
   switch (tl_dtype_info[t].bytes) {
   case 1:
      memcpy(p, &bits, 1);
      return;
   case 2:
      memcpy(p, &bits, 2);
      return;
   case 4:
      memcpy(p, &bits, 4);
      return;
   default:
      assert(tl_dtype_info[t].bytes == 8);
      memcpy(p, &bits, 8);
   }
}

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "element memory is little-endian");
