#include "ir/interval.h"

#include <assert.h>

static TlWide
least(TlWide a, TlWide b)
{
   return a < b ? a : b;
}

static TlWide
most(TlWide a, TlWide b)
{
   return a > b ? a : b;
}

static TlInterval
product(TlInterval x, TlInterval y)
{
   TlWide a = x.lo * y.lo, b = x.lo * y.hi, c = x.hi * y.lo, d = x.hi * y.hi;
   return (TlInterval){least(least(a, b), least(c, d)), most(most(a, b), most(c, d))};
}

static bool
shift(TlOpcode op, TlInterval x, TlInterval y, TlInterval *out)
{
   if (y.lo != y.hi || y.lo < 0 || y.lo > 63)
      return false;
   TlWide factor = (TlWide)1 << y.lo;
   *out = op == TL_OP_SHL ? product(x, (TlInterval){factor, factor})
                          : (TlInterval){x.lo >> y.lo, x.hi >> y.lo};
   return true;
}

/* No further from 0 than the dividend, whatever it is divided by: by 0 it is 0. */
static TlInterval
quotient(TlInterval x, TlInterval y)
{
   if (y.lo == y.hi && y.lo > 0)
      return (TlInterval){x.lo / y.lo, x.hi / y.lo};
   if (x.lo >= 0 && y.lo > 0)
      return (TlInterval){x.lo / y.hi, x.hi / y.lo};
   TlWide far = most(most(-x.lo, x.hi), 0);
   return y.lo >= 0 ? (TlInterval){least(x.lo, 0), most(x.hi, 0)} : (TlInterval){-far, far};
}

/* It has the dividend's sign. */
static bool
remainder_of(TlInterval x, TlInterval y, TlInterval *out)
{
   TlWide magnitude = most(y.hi, -y.lo);
   if (magnitude < 1)
      return false;
   out->lo = x.lo >= 0 ? 0 : most(x.lo, 1 - magnitude);
   out->hi = x.hi <= 0 ? 0 : least(x.hi, magnitude - 1);
   return true;
}

static bool
conjunction(TlInterval x, TlInterval y, TlInterval *out)
{
   if (x.lo < 0 && y.lo < 0)
      return false;
   *out = (TlInterval){0, x.lo < 0 ? y.hi : y.lo < 0 ? x.hi : least(x.hi, y.hi)};
   return true;
}

/* At most the sum, and all bits below the highest. */
static bool
disjunction(TlOpcode op, TlInterval x, TlInterval y, TlInterval *out)
{
   if (x.lo < 0 || y.lo < 0)
      return false;
   uint64_t bits = (uint64_t)x.hi | (uint64_t)y.hi;
   for (unsigned s = 1; s < 64; s *= 2)
      bits |= bits >> s;
   *out = (TlInterval){op == TL_OP_XOR ? 0 : most(x.lo, y.lo), least((TlWide)bits, x.hi + y.hi)};
   return true;
}

bool
tl_interval_of(TlOpcode op, TlInterval x, TlInterval y, TlInterval *out)
{
   assert(x.lo <= x.hi && y.lo <= y.hi);
   switch (op) {
   case TL_OP_ADD:
      *out = (TlInterval){x.lo + y.lo, x.hi + y.hi};
      return true;
   case TL_OP_SUB:
      *out = (TlInterval){x.lo - y.hi, x.hi - y.lo};
      return true;
   case TL_OP_MUL:
      *out = product(x, y);
      return true;
   case TL_OP_MIN:
      *out = (TlInterval){least(x.lo, y.lo), least(x.hi, y.hi)};
      return true;
   case TL_OP_MAX:
      *out = (TlInterval){most(x.lo, y.lo), most(x.hi, y.hi)};
      return true;
   case TL_OP_SHL:
   case TL_OP_SHR:
      return shift(op, x, y, out);
   case TL_OP_DIV:
      *out = quotient(x, y);
      return true;
   case TL_OP_REM:
      return remainder_of(x, y, out);
   case TL_OP_AND:
      return conjunction(x, y, out);
   case TL_OP_OR:
   case TL_OP_XOR:
      return disjunction(op, x, y, out);
   default:
      return false;
   }
}
