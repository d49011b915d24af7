/* Element types and their exact scalar models, independent of the host's floating-point types:
 * every conversion is done on bits, round to nearest even unless said, and proven by exhaustive
 * tests. */
#ifndef TL_IR_DTYPE_H
#define TL_IR_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum TlDtype {
#define TL_DTYPE(id, ...) TL_##id,
#include "ir/dtypes.def"
   TL_DTYPE_COUNT
} TlDtype;

typedef enum TlDtypeKind { TL_KIND_BOOL, TL_KIND_SINT, TL_KIND_UINT, TL_KIND_FLOAT } TlDtypeKind;

typedef struct TlDtypeInfo {
   const char *text; /* "fp16" */
   TlDtypeKind kind;
   uint8_t bits;     /* 1 for i1 */
   uint8_t bytes;    /* in memory; 1 for i1 */
   uint8_t mantissa; /* explicit fraction bits */
   uint8_t exponent; /* exponent bits */
   uint16_t bias;
   const char *triton_name; /* "float16" */
} TlDtypeInfo;

extern const TlDtypeInfo tl_dtype_info[TL_DTYPE_COUNT];

static inline bool
tl_dtype_is_float(TlDtype t)
{
   return tl_dtype_info[t].kind == TL_KIND_FLOAT;
}
static inline bool
tl_dtype_is_int(TlDtype t) /* i1 included */
{
   return tl_dtype_info[t].kind != TL_KIND_FLOAT;
}
static inline bool
tl_dtype_is_signed(TlDtype t)
{
   return tl_dtype_info[t].kind == TL_KIND_SINT;
}
static inline bool
tl_dtype_is_fp8(TlDtype t)
{
   return tl_dtype_is_float(t) && tl_dtype_info[t].bits == 8;
}
/* By "fp16", "float16", "f16", "half", "i32", "int32", "s32", "bool", "fp8e4nv", "float8_e4m3fn"...
 * (the spellings of signatures and tl.*).  false if unknown. */
bool tl_dtype_from_text(const char *s, size_t len, TlDtype *out);
/* Integer type of the given width and sign; bits 1 gives i1. */
TlDtype tl_dtype_int(unsigned bits, bool is_signed);
/* The narrowest integer type from min_bits on that has the number, signed where both do. */
TlDtype tl_dtype_holding(int64_t number, unsigned min_bits);

/* A scalar's bits: the value's bit pattern in the low `bits`, upper bits zero. */
typedef uint64_t TlBits;

typedef enum TlRounding { TL_ROUND_NEAREST_EVEN, TL_ROUND_TOWARD_ZERO } TlRounding;

/* Exact value of a float pattern as a double (every supported type fits), NaN payload not kept. */
double tl_bits_to_double(TlDtype t, TlBits bits);
/* Rounds a double to a float type.  Overflow: Inf for fp16, bf16, fp32, fp64, and for fp8 kinds the
 * largest finite value (NVIDIA's saturating conversion); NaN gives the type's canonical NaN
 * (fp8e4b15, which has none: the largest finite value). */
TlBits tl_double_to_bits(TlDtype t, double v, TlRounding rounding);
/* The numeric conversion of the language's `cast`: float narrowing rounds, float to int truncates
 * (out of range: saturates, as the GPU's cvt does; NaN gives 0), int to int wraps, anything to i1
 * is != 0, i1 to float 0/1; fp16/bf16 <-> fp8 through fp32. */
TlBits tl_cast_bits(TlDtype from, TlDtype to, TlBits bits, TlRounding rounding);
/* Sign- or zero-extended integer value of an integer pattern. */
int64_t tl_bits_to_int(TlDtype t, TlBits bits);
/* The value of a float's or an integer's pattern, of a wide integer the nearest double. */
double tl_bits_to_number(TlDtype t, TlBits bits);
TlBits tl_int_to_bits(TlDtype t, int64_t v); /* wraps */
/* fp32 pattern rounded to the 10-bit fraction of tf32, to nearest, ties away from zero:
 * cvt.rna.tf32 */
uint32_t tl_round_tf32(uint32_t fp32_bits);
/* The same fraction without rounding: a NaN whose payload is in the bits cut becomes infinite. */
uint32_t tl_cut_tf32(uint32_t fp32_bits);

/* Array conversions used by .npy files, buffers and tests: n elements of `t` in memory (i1 as one
 * byte, != 0). */
TlBits tl_load_elem(TlDtype t, const void *p);
void tl_store_elem(TlDtype t, void *p, TlBits bits);

#endif
