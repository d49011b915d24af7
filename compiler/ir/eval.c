/* The meaning of every elementwise operation on one element: one function for each name in the eval
 * column of ops.def.  Folding, the CPU executor and the tests of code generation all ask here.
 *
 * Floats: operands are widened to double (exact), the operation is done in double, and the result
 * is rounded once to the type.  For + - * / sqrt on types of p <= 24 bits that equals rounding the
 * exact result once, because double's 53 bits are at least 2p + 2 (Figueroa 1995); denormal results
 * of the narrow type are exact for + and -, single-rounded for * (the product is exact in double),
 * and for / a quotient of p-bit numbers that is not a midpoint is at least 2^-2p away from one.
 * fp64 uses the host's IEEE operations.  Functions (exp, sin, ...) are libm's in double, rounded:
 * at most a little over half an ulp for types up to fp32.  Denormals are kept.  A NaN result is the
 * canonical NaN, except where an operand is passed on (neg, abs, select).
 *
 * Integers wrap.  Division or remainder by zero gives 0 and sets *undefined; the smallest integer
 * divided by -1 wraps to itself (remainder 0).  A shift count is read as unsigned; at or over the
 * width it gives 0, or -1 for a right shift of a negative number. */
#include "ir/ir.h"

#include <assert.h>
#include <math.h>

typedef struct Call {
   TlDtype result;
   const TlDtype *dtype; /* of the operands */
   const TlBits *arg;
   const TlAttr *attrs; /* in the order of the operation's TL_OP_ATTR rows */
   bool *undefined;
   TlOpcode opcode;
} Call;

typedef TlBits Rule(const Call *c);

/* ---- access ---- */
static double
num(const Call *c, unsigned i)
{
   return tl_bits_to_double(c->dtype[i], c->arg[i]);
}

static int64_t
sint(const Call *c, unsigned i)
{
   return tl_bits_to_int(c->dtype[i], c->arg[i]);
}

static int64_t
attr(const Call *c, TlAttrKey key)
{
   return c->attrs[tl_attr_at(c->opcode, key)].i;
}

static bool
is_float(const Call *c)
{
   return tl_dtype_is_float(c->dtype[0]);
}

static bool
is_signed(const Call *c)
{
   return tl_dtype_is_signed(c->dtype[0]);
}

static unsigned
width(const Call *c)
{
   return tl_dtype_info[c->dtype[0]].bits;
}

static TlBits
from_num(const Call *c, double v)
{
   return tl_double_to_bits(c->result, v, TL_ROUND_NEAREST_EVEN);
}

static TlBits
from_int(const Call *c, uint64_t v)
{
   return tl_int_to_bits(c->result, (int64_t)v);
}

/* ---- rules ---- */
#define RULE(name, value)                                                                          \
   static TlBits eval_##name(const Call *c)                                                        \
   {                                                                                               \
      return value;                                                                                \
   }

/* ---- one operand ---- */
RULE(neg, is_float(c) ? c->arg[0] ^ (uint64_t)1 << (width(c) - 1) : from_int(c, 0 - c->arg[0]))
RULE(bitcast, c->arg[0])
RULE(cast,
     tl_cast_bits(c->dtype[0], c->result, c->arg[0], tl_rounding_of(attr(c, TL_ATTR_ROUNDING))))

static TlBits
eval_abs(const Call *c)
{
   if (is_float(c))
      return c->arg[0] & ~((uint64_t)1 << (width(c) - 1));
   return is_signed(c) && sint(c, 0) < 0 ? from_int(c, 0 - c->arg[0]) : c->arg[0];
}

/* Functions of one double. */
#define TL_OP_MATH(id, name, expr)                                                                 \
   static TlBits eval_##name(const Call *c)                                                        \
   {                                                                                               \
      double x = num(c, 0);                                                                        \
      return from_num(c, expr);                                                                    \
   }
#include "ir/ops.def"

/* ---- arithmetic ---- */
RULE(add, is_float(c) ? from_num(c, num(c, 0) + num(c, 1)) : from_int(c, c->arg[0] + c->arg[1]))
RULE(sub, is_float(c) ? from_num(c, num(c, 0) - num(c, 1)) : from_int(c, c->arg[0] - c->arg[1]))
RULE(mul, is_float(c) ? from_num(c, num(c, 0) * num(c, 1)) : from_int(c, c->arg[0] * c->arg[1]))

static bool
divides_by_zero(const Call *c)
{
   if (c->arg[1])
      return false;
   if (c->undefined)
      *c->undefined = true;
   return true;
}

static TlBits
eval_div(const Call *c)
{
   if (is_float(c))
      return from_num(c, num(c, 0) / num(c, 1));
   if (divides_by_zero(c))
      return 0;
   if (!is_signed(c))
      return c->arg[0] / c->arg[1];
   if (sint(c, 1) == -1)
      return from_int(c, 0 - c->arg[0]);
   return from_int(c, (uint64_t)(sint(c, 0) / sint(c, 1)));
}

static TlBits
eval_rem(const Call *c)
{
   if (is_float(c))
      return from_num(c, fmod(num(c, 0), num(c, 1)));
   if (divides_by_zero(c))
      return 0;
   if (!is_signed(c))
      return c->arg[0] % c->arg[1];
   return sint(c, 1) == -1 ? 0 : from_int(c, (uint64_t)(sint(c, 0) % sint(c, 1)));
}

/* a * b + c rounded once.  Up to fp32 the product is exact in double; the sum is taken with its
 * exact error (Knuth's TwoSum) and made odd when inexact, after which rounding to at most 24 bits
 * sees which side of every midpoint the exact sum was on (Boldo and Melquiond: 53 >= 24 + 2). */
static TlBits
eval_fma(const Call *c)
{
   double a = num(c, 0), b = num(c, 1), z = num(c, 2);
   if (c->result == TL_FP64)
      return from_num(c, fma(a, b, z));
   double p = a * b, s = p + z;
   if (isfinite(s)) {
      double zz = s - p;
      double error = (p - (s - zz)) + (z - zz);
      union {
         double d;
         uint64_t u;
      } odd = {s};
      if (error != 0 && !(odd.u & 1))
         odd.u += (error > 0) == (s > 0) ? 1 : (uint64_t)-1;
      s = odd.d;
   }
   return from_num(c, s);
}

/* ---- order ---- */
/* -1, 0, 1; 2 when a NaN takes part */
static int
order(TlDtype t, TlBits x, TlBits y)
{
   if (tl_dtype_is_float(t)) {
      double a = tl_bits_to_double(t, x), b = tl_bits_to_double(t, y);
      return a < b ? -1 : a > b ? 1 : a == b ? 0 : 2;
   }
   if (tl_dtype_is_signed(t)) {
      int64_t a = tl_bits_to_int(t, x), b = tl_bits_to_int(t, y);
      return (a > b) - (a < b);
   }
   return (x > y) - (x < y);
}

static bool
is_nan(TlDtype t, TlBits x)
{
   return tl_dtype_is_float(t) && isnan(tl_bits_to_double(t, x));
}

/* The operand that comes first when want is -1, last when it is 1; -0 comes before +0. */
static TlBits
pick(TlDtype t, TlBits a, TlBits b, int64_t nan_rule, int want)
{
   bool nan_a = is_nan(t, a), nan_b = is_nan(t, b);
   if ((nan_a && nan_b) || (nan_rule == TL_NAN_ALL && (nan_a || nan_b)))
      return tl_double_to_bits(t, (double)NAN, TL_ROUND_NEAREST_EVEN);
   if (nan_a)
      return b;
   if (nan_b)
      return a;
   int cmp = order(t, a, b);
   if (cmp == 0 && tl_dtype_is_float(t)) {
      bool negative = a >> (tl_dtype_info[t].bits - 1) & 1;
      return negative == (want < 0) ? a : b;
   }
   return cmp == want ? a : b;
}

RULE(min, pick(c->result, c->arg[0], c->arg[1], attr(c, TL_ATTR_NAN), -1))
RULE(max, pick(c->result, c->arg[0], c->arg[1], attr(c, TL_ATTR_NAN), 1))

static TlBits
eval_clamp(const Call *c)
{
   TlBits low = pick(c->result, c->arg[0], c->arg[1], attr(c, TL_ATTR_NAN), 1);
   return pick(c->result, low, c->arg[2], attr(c, TL_ATTR_NAN), -1);
}

static int
compared(const Call *c)
{
   return order(c->dtype[0], c->arg[0], c->arg[1]);
}

RULE(eq, compared(c) == 0)
RULE(ne, compared(c) != 0)
RULE(lt, compared(c) == -1)
RULE(le, compared(c) <= 0)
RULE(gt, compared(c) == 1)
RULE(ge, compared(c) == 0 || compared(c) == 1)
RULE(select, c->arg[0] & 1 ? c->arg[1] : c->arg[2])

/* ---- bits ---- */
RULE(and, c->arg[0] & c->arg[1])
RULE(or, c->arg[0] | c->arg[1])
RULE(xor, c->arg[0] ^ c->arg[1])
RULE(shl, c->arg[1] >= width(c) ? 0 : from_int(c, c->arg[0] << c->arg[1]))

static TlBits
eval_shr(const Call *c)
{
   bool over = c->arg[1] >= width(c);
   if (is_signed(c))
      return from_int(c, (uint64_t)(sint(c, 0) >> (over ? 63 : c->arg[1])));
   return over ? 0 : c->arg[0] >> c->arg[1];
}

static TlBits
eval_mulhi(const Call *c)
{
   if (is_signed(c))
      return from_int(c, (uint64_t)((__int128)sint(c, 0) * sint(c, 1) >> width(c)));
   return (TlBits)((unsigned __int128)c->arg[0] * c->arg[1] >> width(c));
}

/* ---- the table ---- */
#define eval_none   NULL
#define eval_div_rn eval_div /* only the GPU's plain division rounds otherwise */
static Rule *const rules[TL_OP_COUNT] = {
#define TL_OP(id, name, args, n, infer, layout, eval, ...) [TL_OP_##id] = eval_##eval,
#include "ir/ops.def"
};

TlBits
tl_eval(TlOpcode opcode, const TlAttr *attrs, TlDtype result, const TlDtype *arg_dtypes,
        const TlBits *args, bool *undefined)
{
   assert(opcode < TL_OP_COUNT);
   assert(rules[opcode] && "only elementwise operations have a scalar meaning");
   Call c = {result, arg_dtypes, args, attrs, undefined, opcode};
   return rules[opcode](&c);
}
