/* See dtype.h. */
#include "core/dtype.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static const struct {
   const char *name;
   unsigned bytes;
   char kind; /* B, I, U, F */
} dtypes[TILEC_DTYPE_COUNT] = {[TILEC_DTYPE_NONE] = {"void", 0, 0},
#define ROW(id, number, text, bytes, kind) [TILEC_##id] = {text, bytes, #kind[0]},
                               TILEC_DTYPE_TABLE(ROW)
#undef ROW
};

const char *
tl_dtype_name(TilecDtype dtype)
{
   return (unsigned)dtype < TILEC_DTYPE_COUNT ? dtypes[dtype].name : "?";
}

char
tl_dtype_kind(TilecDtype dtype)
{
   return (char)((unsigned)dtype < TILEC_DTYPE_COUNT ? dtypes[dtype].kind : 0);
}

unsigned
tl_dtype_bytes(TilecDtype dtype)
{
   return (unsigned)dtype < TILEC_DTYPE_COUNT ? dtypes[dtype].bytes : 0;
}

TilecDtype
tl_dtype_named(const char *name, size_t len)
{
   for (unsigned i = 1; i < TILEC_DTYPE_COUNT; i++)
      if (strlen(dtypes[i].name) == len && memcmp(dtypes[i].name, name, len) == 0)
         return (TilecDtype)i;
   return TILEC_DTYPE_NONE;
}

/* Floats of up to 16 bits: what lies above the largest finite number becomes `above`, which is
 * infinity where it is another pattern; all patterns beyond are NaN. */
typedef struct SmallFloat {
   int exp_bits, mant, bias;
   uint16_t max_finite, above, nan;
} SmallFloat;
static const SmallFloat small_floats[TILEC_DTYPE_COUNT] = {
   [TILEC_FP16] = {5, 10, 15, 0x7bff, 0x7c00, 0x7e00},
   [TILEC_BF16] = {8, 7, 127, 0x7f7f, 0x7f80, 0x7fc0},
   [TILEC_FP8E5] = {5, 2, 15, 0x7b, 0x7c, 0x7e},
   [TILEC_FP8E4NV] = {4, 3, 7, 0x7e, 0x7e, 0x7f},
   [TILEC_FP8E4B15] = {4, 3, 15, 0x7f, 0x7f, 0x7f}, /* no NaN: the largest number instead */
};

bool
tl_dtype_is_small_float(TilecDtype dtype)
{
   return (unsigned)dtype < TILEC_DTYPE_COUNT && small_floats[dtype].mant;
}

/* Counting in units of the result's last place, the bit pattern is the
 * count itself plus the steps above the subnormals, so a carry out of the mantissa lands in the
 * exponent by itself. */
uint16_t
tl_dtype_narrow(TilecDtype dtype, double v)
{
   assert(tl_dtype_is_small_float(dtype));
   const SmallFloat *to = &small_floats[dtype];
   uint16_t sign = (uint16_t)((signbit(v) != 0) << (to->exp_bits + to->mant));
   int exponent;
   if (isnan(v))
      return (uint16_t)(sign | to->nan);
   v = fabs(v);
   if (v == 0)
      return sign;
   (void)frexp(v, &exponent); /* v = m * 2^exponent, 0.5 <= m < 1 */
   int lowest = 1 - to->bias - to->mant;
   int unit = exponent - 1 - to->mant > lowest ? exponent - 1 - to->mant : lowest;
   if (isinf(v) || unit - lowest > 1 << to->exp_bits)
      return (uint16_t)(sign | to->above);
   uint32_t bits = ((uint32_t)(unit - lowest) << to->mant) + (uint32_t)nearbyint(ldexp(v, -unit));
   return (uint16_t)(sign | (bits > to->max_finite ? to->above : bits));
}

double
tl_dtype_widen(TilecDtype dtype, uint16_t bits)
{
   assert(tl_dtype_is_small_float(dtype));
   const SmallFloat *from = &small_floats[dtype];
   int sign_at = from->exp_bits + from->mant;
   uint32_t magnitude = bits & ((1u << sign_at) - 1), one = 1u << from->mant;
   uint32_t exponent = magnitude >> from->mant, fraction = magnitude & (one - 1);
   int lowest = 1 - from->bias - from->mant;
   double v =
      exponent ? ldexp(fraction + one, (int)exponent - 1 + lowest) : ldexp(fraction, lowest);
   if (magnitude > from->max_finite)
      v = magnitude == from->above ? (double)INFINITY : (double)NAN;
   return bits >> sign_at & 1 ? -v : v;
}
