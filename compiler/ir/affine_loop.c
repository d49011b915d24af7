/* What sums say of a loop's iterations: how values move along a dimension of tiles from one to the
 * next, and that a mask leaves nothing of those beyond the last. */
#include "ir/affine_impl.h"
#include "ir/control.h"

#include <assert.h>
#include <string.h>

enum { MAX_BOUNDS = 8 };

/* Takes the iteration of the loop out of the factors; how often it was there. */
static unsigned
take_iteration(TlTerm *t, const TlOp *loop)
{
   unsigned kept = 0;
   for (unsigned i = 0; i < t->num; i++)
      if (!t->factor[i].is_iteration || t->factor[i].value != tl_for_index(loop))
         t->factor[kept++] = t->factor[i];
   unsigned taken = t->num - kept;
   t->num = kept;
   return taken;
}

/* Adds `by` times what changes with the iteration, less width times what changes with the index. */
static bool
add_moves(TlAffine *a, TlSum *moves, const TlSum *of, int64_t by, TlMoving along)
{
   for (unsigned i = 0; i < of->num; i++) {
      TlTerm t = of->term[i];
      unsigned iterations = take_iteration(&t, along.loop);
      bool is_along = t.dim == along.dim;
      if (iterations > 1 || (iterations && is_along))
         return false;
      if (is_along)
         t.dim = -1;
      if (is_along && __builtin_mul_overflow(t.scale, -(int64_t)along.width, &t.scale))
         return false;
      t.scale *= by;
      if ((iterations || is_along) && !tl_aff_add_term(a, moves, t))
         return false;
   }
   return true;
}

bool
tl_value_moves_along(TlAffine *a, const TlValue *v, const TlValue *less, TlMoving along)
{
   TlSum of, moves = {0};
   const TlValue *base;
   if (!tl_value_sum(a, v, &of, &base) || !add_moves(a, &moves, &of, 1, along))
      return false;
   if (less && (!tl_value_sum(a, less, &of, &base) || !add_moves(a, &moves, &of, -1, along)))
      return false;
   return !moves.num;
}

/* Is the sum a number, and not below `least`? */
static bool
is_at_least(const TlSum *s, int64_t least)
{
   bool is_number = !s->num || (s->num == 1 && !s->term[0].num && s->term[0].dim < 0);
   return is_number && (s->num ? s->term[0].scale : 0) >= least;
}

/* Adds to the sum what width times the number of iterations is at least:
 *    for i in lower .. upper step width      upper - lower
 *    for i in 0 .. x / width                 x - (width - 1)  */
static bool
add_length(TlAffine *a, TlSum *s, TlMoving along)
{
   const TlValue *lower = tl_for_lower(along.loop), *upper = tl_for_upper(along.loop), *base;
   uint64_t from, step, by;
   TlSum of;
   if (!tl_is_const(tl_for_step(along.loop), &step))
      return false;
   if (step == along.width)
      return tl_value_sum(a, upper, &of, &base) && tl_aff_add_scaled(a, s, &of, 1) &&
             tl_value_sum(a, lower, &of, &base) && tl_aff_add_scaled(a, s, &of, -1);
   return step == 1 && tl_is_const(lower, &from) && !from && tl_value_is(upper, TL_OP_DIV) &&
          tl_is_const(tl_arg(upper->def, 1), &by) && by == along.width &&
          tl_value_sum(a, tl_arg(upper->def, 0), &of, &base) && tl_aff_add_scaled(a, s, &of, 1) &&
          tl_aff_add_term(a, s, tl_aff_constant_term(1 - (int64_t)along.width));
}

/* index < limit, where index - limit is width times the iteration, indices of the tile, and what is
 * never below the length of the loop. */
static bool
ends_with_loop(TlAffine *a, const TlBound *bound, TlMoving along)
{
   TlSum over = {0}, rest = {0};
   int64_t of_iteration = 0;
   if (!bound->is_upper || tl_value_is_chosen(a, tl_arg(bound->compare, 0)) ||
       tl_value_is_chosen(a, tl_arg(bound->compare, 1)) ||
       !tl_aff_add_scaled(a, &over, &bound->index, 1) ||
       !tl_aff_add_scaled(a, &over, &bound->limit, -1))
      return false;
   for (unsigned i = 0; i < over.num; i++) {
      TlTerm t = over.term[i];
      unsigned iterations = take_iteration(&t, along.loop);
      if (iterations > 1 || (iterations && (t.num || t.dim >= 0)))
         return false;
      if (iterations)
         of_iteration += t.scale;
      else if (t.dim >= 0 && (t.num || t.scale < 0))
         return false;
      else if (t.dim < 0 && !tl_aff_add_term(a, &rest, t))
         return false;
   }
   return of_iteration == along.width && add_length(a, &rest, along) &&
          is_at_least(&rest, bound->is_strict ? 0 : 1);
}

bool
tl_mask_ends_with_loop(TlAffine *a, const TlValue *mask, TlMoving along)
{
   TlBound bound[MAX_BOUNDS];
   bool has_other = false;
   unsigned num = tl_mask_bounds(a, mask, bound, MAX_BOUNDS, &has_other);
   for (unsigned i = 0; i < num; i++)
      if (ends_with_loop(a, &bound[i], along))
         return true;
   return false;
}
