/* See trips.h. */
#include "ir/trips.h"

#include "ir/control.h"

/* Terms deeper than this are not looked into; far above any bound. */
enum { MAX_DEPTH = 6, FAR = 1 << 30 };

/* Of a signed integer, if it is near enough for sums of such. */
static bool
is_near(const TlValue *v, int64_t *number)
{
   uint64_t bits;
   if (!tl_is_const(v, &bits))
      return false;
   *number = tl_bits_to_int(v->type->dtype, bits);
   return *number > -FAR && *number < FAR;
}

/* v = x // c * c, in any of its spellings: x, and the most by which x is above v, or v above x. */
static const TlValue *
rounded_down(TlAnalysis *facts, const TlValue *v, int64_t *most)
{
   int64_t c, factor;
   const TlValue *x = NULL;
   if (tl_value_is(v, TL_OP_MUL) && tl_value_is(tl_arg(v->def, 0), TL_OP_DIV) &&
       is_near(tl_arg(v->def, 1), &factor)) {
      const TlOp *div = tl_arg(v->def, 0)->def;
      if (is_near(tl_arg(div, 1), &c) && c == factor)
         x = tl_arg(div, 0);
   } else if (tl_value_is(v, TL_OP_SUB) && tl_value_is(tl_arg(v->def, 1), TL_OP_REM)) {
      const TlOp *rem = tl_arg(v->def, 1)->def;
      if (is_near(tl_arg(rem, 1), &c) && tl_arg(rem, 0) == tl_arg(v->def, 0))
         x = tl_arg(rem, 0);
   }
   if (!x || c <= 0)
      return NULL;
   int64_t divisor = tl_axis_info(facts, x)->divisibility[0], power = c & -c;
   *most = c - (divisor < power ? divisor : power); /* both divide what is left of x */
   return x;
}

/* The lesser of two bounds, of which one is moved by `more`. */
static int64_t
least(int64_t bound, int64_t other, int64_t more)
{
   return other < FAR && other + more < bound ? other + more : bound;
}

static const TlValue *
without_hints(const TlValue *v)
{
   while (tl_value_is(v, TL_OP_HINT))
      v = tl_arg(v->def, 0);
   return v;
}

/* The most by which x is above y; FAR where nothing is known. */
static int64_t
most_above(TlAnalysis *facts, const TlValue *x, const TlValue *y, unsigned depth)
{
   int64_t c, d, best = FAR;
   x = without_hints(x);
   y = without_hints(y);
   if (x == y)
      return 0;
   if (is_near(x, &c) && is_near(y, &d))
      return c - d;
   if (!depth)
      return FAR;
   if (tl_value_is(x, TL_OP_ADD) && is_near(tl_arg(x->def, 1), &c))
      best = least(best, most_above(facts, tl_arg(x->def, 0), y, depth - 1), c);
   if (tl_value_is(y, TL_OP_ADD) && is_near(tl_arg(y->def, 1), &c))
      best = least(best, most_above(facts, x, tl_arg(y->def, 0), depth - 1), -c);
   if (tl_value_is(x, TL_OP_MUL) && tl_value_is(y, TL_OP_MUL) && is_near(tl_arg(x->def, 1), &c) &&
       is_near(tl_arg(y->def, 1), &d) && c == d && c > 0) {
      int64_t most = most_above(facts, tl_arg(x->def, 0), tl_arg(y->def, 0), depth - 1);
      best = most < FAR / c && most > -FAR / c ? least(best, most * c, 0) : best;
   }
   for (unsigned k = 0; k < 2; k++) {
      if (tl_value_is(x, TL_OP_MIN))
         best = least(best, most_above(facts, tl_arg(x->def, k), y, depth - 1), 0);
      if (tl_value_is(y, TL_OP_MAX))
         best = least(best, most_above(facts, x, tl_arg(y->def, k), depth - 1), 0);
   }
   const TlValue *near_x = rounded_down(facts, x, &d);
   if (near_x) { /* towards 0: what may be negative is rounded up */
      const TlAxisInfo *info = tl_axis_info(facts, near_x);
      bool is_below = info->has_range && info->lo >= 0;
      best = least(best, most_above(facts, near_x, y, depth - 1), is_below ? 0 : d);
   }
   const TlValue *above_y = rounded_down(facts, y, &d);
   return above_y ? least(best, most_above(facts, x, above_y, depth - 1), d) : best;
}

uint64_t
tl_most_trips(TlAnalysis *facts, const TlOp *loop)
{
   int64_t step;
   uint64_t known = tl_known_trips(loop);
   TlDtype t = tl_for_index(loop)->type->dtype;
   if (known != UINT64_MAX || !tl_dtype_is_signed(t) || !is_near(tl_for_step(loop), &step) ||
       step <= 0)
      return known;
   int64_t most = most_above(facts, tl_for_upper(loop), tl_for_lower(loop), MAX_DEPTH);
   return most >= FAR ? UINT64_MAX : most <= 0 ? 0 : (uint64_t)((most + step - 1) / step);
}

uint64_t
tl_known_trips(const TlOp *loop)
{
   const TlValue *bounds[] = {tl_for_lower(loop), tl_for_upper(loop), tl_for_step(loop)};
   __int128 number[3];
   for (unsigned i = 0; i < 3; i++) {
      uint64_t bits;
      if (!tl_is_const(bounds[i], &bits))
         return UINT64_MAX;
      number[i] = tl_bits_to_int(tl_for_index(loop)->type->dtype, bits);
   }
   __int128 way = number[1] - number[0], step = number[2];
   if (step < 0) {
      way = -way;
      step = -step;
   }
   return !step ? UINT64_MAX : way <= 0 ? 0 : (uint64_t)((way + step - 1) / step);
}

bool
tl_trips_are_multiple(TlAnalysis *facts, const TlOp *loop, unsigned by)
{
   int64_t step;
   if (!is_near(tl_for_step(loop), &step) || step <= 0)
      return false;
   const TlAxisInfo *lower = tl_axis_info(facts, tl_for_lower(loop));
   const TlAxisInfo *upper = tl_axis_info(facts, tl_for_upper(loop));
   uint64_t all = (uint64_t)step * by;
   return !lower->assumes_index && !upper->assumes_index && lower->divisibility[0] % all == 0 &&
          upper->divisibility[0] % all == 0;
}
