/* Conversions of whole arrays: fp16 and bf16 to and from fp32 without branches, and native loops
 * for the casts between integers, fp32 and fp64.  Bit for bit what tl_cast_bits gives. */
#include "exec/cpu_impl.h"

#include <math.h>
#include <string.h>

/* ---- fp16, bf16 <-> fp32 ---- */
static inline float
float_of(uint32_t bits)
{
   float f;
   memcpy(&f, &bits, sizeof f);
   return f;
}

static inline uint32_t
bits_of(float f)
{
   uint32_t bits;
   memcpy(&bits, &f, sizeof bits);
   return bits;
}

/* The fraction and exponent moved into place are the value times 2^-112, denormals included. */
static inline float
widen_fp16(uint16_t h)
{
   uint32_t sign = (uint32_t)(h & 0x8000) << 16, magnitude = (uint32_t)(h & 0x7FFF) << 13;
   uint32_t finite = bits_of(float_of(magnitude) * 0x1p112f);
   uint32_t special = magnitude == 0x0F800000 ? 0x7F800000 : 0x7FC00000;
   return float_of(sign | (magnitude < 0x0F800000 ? finite : special));
}

static inline uint16_t
narrow_fp16(float f)
{
   uint32_t bits = bits_of(f), sign = bits >> 16 & 0x8000, x = bits & 0x7FFFFFFF;
   /* Below 2^-14: adding 1/2 rounds to the 24th fraction bit, fp16's smallest step. */
   uint32_t tiny = bits_of(float_of(x < 0x38800000 ? x : 0) + 0.5f) - 0x3F000000;
   uint32_t normal = (x + 0xFFF + (x >> 13 & 1) - 0x38000000) >> 13;
   uint32_t big = x > 0x7F800000 ? 0x7E00 : 0x7C00;
   uint32_t h = x < 0x38800000 ? tiny : x < 0x47800000 ? normal : big;
   return (uint16_t)(x > 0x7F800000 ? h : sign | h);
}

static inline float
widen_bf16(uint16_t h)
{
   return float_of((uint32_t)h << 16);
}

static inline uint16_t
narrow_bf16(float f)
{
   uint32_t bits = bits_of(f);
   uint32_t rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;
   return (uint16_t)((bits & 0x7FFFFFFF) > 0x7F800000 ? 0x7FC0 : rounded);
}

void
tl_cpu_widen(TlDtype t, float *to, const void *from, size_t n)
{
   const uint16_t *h = from;
   if (t == TL_FP16)
      for (size_t i = 0; i < n; i++)
         to[i] = widen_fp16(h[i]);
   else
      for (size_t i = 0; i < n; i++)
         to[i] = widen_bf16(h[i]);
}

void
tl_cpu_narrow(TlDtype t, void *to, const float *from, size_t n)
{
   uint16_t *h = to;
   if (t == TL_FP16)
      for (size_t i = 0; i < n; i++)
         h[i] = narrow_fp16(from[i]);
   else
      for (size_t i = 0; i < n; i++)
         h[i] = narrow_bf16(from[i]);
}

static void
fp16_to_fp32(void *r, const void *const *a, size_t n)
{
   const uint16_t *h = a[0];
   float *to = r;
   for (size_t i = 0; i < n; i++) {
      float f = widen_fp16(h[i]);
      to[i] = f == f ? f : NAN;
   }
}

static void
bf16_to_fp32(void *r, const void *const *a, size_t n)
{
   const uint16_t *h = a[0];
   float *to = r;
   for (size_t i = 0; i < n; i++) {
      float f = widen_bf16(h[i]);
      to[i] = f == f ? f : NAN;
   }
}

static void
fp32_to_fp16(void *r, const void *const *a, size_t n)
{
   tl_cpu_narrow(TL_FP16, r, a[0], n);
}

static void
fp32_to_bf16(void *r, const void *const *a, size_t n)
{
   tl_cpu_narrow(TL_BF16, r, a[0], n);
}

/* ---- native types ---- */
typedef uint8_t i1;
typedef int8_t i8;
typedef int16_t i16;
typedef int32_t i32;
typedef int64_t i64;
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef float f32;
typedef double f64;

#define CAST(from, to, expr)                                                                       \
   static void from##_to_##to(void *rp, const void *const *ap, size_t n)                           \
   {                                                                                               \
      to *r = rp;                                                                                  \
      const from *x = ap[0];                                                                       \
      for (size_t i = 0; i < n; i++) {                                                             \
         from v = x[i];                                                                            \
         r[i] = (to)(expr);                                                                        \
      }                                                                                            \
   }
/* Out of range saturates, NaN gives 0; 8 bits are the low ones of 16 (codegen/lower_cast.c says
 * why).  `over`: 2^bits of the target, exact in both float types. */
#define SATURATE(v, to, low, over, high)                                                           \
   ((v) != (v) ? 0 : (v) >= (over) ? (high) : (v) <= (low) ? (to)(low) : (to)(v))
#define FROM_INT(from)                                                                             \
   CAST(from, i1, v != 0)                                                                          \
   CAST(from, i8, v)                                                                               \
   CAST(from, i16, v)                                                                              \
   CAST(from, i32, v)                                                                              \
   CAST(from, i64, v)                                                                              \
   CAST(from, f32, v)                                                                              \
   CAST(from, f64, v)
#define FROM_FLOAT(from)                                                                           \
   CAST(from, i1, v != 0)                                                                          \
   CAST(from, i8, SATURATE(v, i16, -0x1p15f, 0x1p15f, INT16_MAX))                                  \
   CAST(from, i16, SATURATE(v, i16, -0x1p15f, 0x1p15f, INT16_MAX))                                 \
   CAST(from, i32, SATURATE(v, i32, -0x1p31f, 0x1p31f, INT32_MAX))                                 \
   CAST(from, i64, SATURATE(v, i64, -0x1p63f, 0x1p63f, INT64_MAX))                                 \
   CAST(from, u8, SATURATE(v, u16, 0, 0x1p16f, UINT16_MAX))                                        \
   CAST(from, u16, SATURATE(v, u16, 0, 0x1p16f, UINT16_MAX))                                       \
   CAST(from, u32, SATURATE(v, u32, 0, 0x1p32f, UINT32_MAX))                                       \
   CAST(from, u64, SATURATE(v, u64, 0, 0x1p64f, UINT64_MAX))
FROM_INT(i8)
FROM_INT(i16)
FROM_INT(i32)
FROM_INT(i64)
FROM_INT(u8)
FROM_INT(u16)
FROM_INT(u32)
FROM_INT(u64)
FROM_FLOAT(f32)
FROM_FLOAT(f64)
CAST(f32, f64, v == v ? (double)v : (double)NAN)
CAST(f64, f32, v == v ? v : (double)NAN)

/* Integers of one width have the same bits: the signed target's loop serves the unsigned one. */
#define INT_ROW(D, from)                                                                           \
   [D] = {[TL_I1] = from##_to_i1,    [TL_I8] = from##_to_i8,   [TL_U8] = from##_to_i8,             \
          [TL_I16] = from##_to_i16,  [TL_U16] = from##_to_i16, [TL_I32] = from##_to_i32,           \
          [TL_U32] = from##_to_i32,  [TL_I64] = from##_to_i64, [TL_U64] = from##_to_i64,           \
          [TL_FP32] = from##_to_f32, [TL_FP64] = from##_to_f64}
#define FLOAT_ROW(D, from, other, other_dtype)                                                     \
   [D] = {[TL_I1] = from##_to_i1,           [TL_I8] = from##_to_i8,   [TL_U8] = from##_to_u8,      \
          [TL_I16] = from##_to_i16,         [TL_U16] = from##_to_u16, [TL_I32] = from##_to_i32,    \
          [TL_U32] = from##_to_u32,         [TL_I64] = from##_to_i64, [TL_U64] = from##_to_u64,    \
          [other_dtype] = from##_to_##other}

static TlExecKernel *const casts[TL_DTYPE_COUNT][TL_DTYPE_COUNT] = {
   INT_ROW(TL_I1, u8),
   INT_ROW(TL_I8, i8),
   INT_ROW(TL_I16, i16),
   INT_ROW(TL_I32, i32),
   INT_ROW(TL_I64, i64),
   INT_ROW(TL_U8, u8),
   INT_ROW(TL_U16, u16),
   INT_ROW(TL_U32, u32),
   INT_ROW(TL_U64, u64),
   FLOAT_ROW(TL_FP32, f32, f64, TL_FP64),
   FLOAT_ROW(TL_FP64, f64, f32, TL_FP32),
   [TL_FP16][TL_FP32] = fp16_to_fp32,
   [TL_BF16][TL_FP32] = bf16_to_fp32,
};

TlExecKernel *
tl_cpu_cast_kernel(TlDtype from, TlDtype to, TlRounding rounding)
{
   if (rounding == TL_ROUND_TOWARD_ZERO && tl_dtype_is_float(to))
      return tl_dtype_is_int(from) || tl_dtype_info[from].bits > tl_dtype_info[to].bits
                ? NULL
                : casts[from][to];
   if (from == TL_FP32 && to == TL_FP16)
      return fp32_to_fp16;
   if (from == TL_FP32 && to == TL_BF16)
      return fp32_to_bf16;
   return casts[from][to];
}
