/* See scaled_sums.h. */
#include "passes/scaled_sums.h"

#include "ir/control.h"

#include <string.h>

enum { MOST_STEPS = 2048 /* of the walks up from one value; far above any loop's */ };

static bool
is_inside(const TlScaledSums *s, const TlValue *v)
{
   return tl_value_block(v) == s->body;
}

/* Its operand again, repeated or in another shape. */
static bool
is_shape(const TlOp *op)
{
   return op->opcode == TL_OP_BROADCAST || op->opcode == TL_OP_EXPAND_DIMS ||
          op->opcode == TL_OP_SPLAT || op->opcode == TL_OP_HINT;
}

/* The value that v repeats, or holds in another shape. */
static const TlValue *
unshaped(const TlValue *v)
{
   while (v->def && is_shape(v->def))
      v = tl_arg(v->def, 0);
   return v;
}

TlOpcode
tl_reduce_opcode(const TlOp *reduce)
{
   const TlBlock *b = reduce->regions[0]->block;
   const TlOp *op = b->first;
   bool is_one = reduce->num_args == 1 && b->num_args == 2 && op != b->last &&
                 op->next == b->last && op->num_args == 2 && tl_arg(b->last, 0) == tl_result(op, 0);
   bool is_of_both = is_one && ((tl_arg(op, 0) == b->args[0] && tl_arg(op, 1) == b->args[1]) ||
                                (tl_arg(op, 0) == b->args[1] && tl_arg(op, 1) == b->args[0]));
   bool is_known = is_of_both && (op->opcode == TL_OP_ADD || op->opcode == TL_OP_MAX);
   return is_known ? op->opcode : TL_OP_COUNT;
}

static bool
depends(const TlScaledSums *s, const TlValue *v, unsigned *steps)
{
   const TlOp *op = v->def;
   if (!is_inside(s, v))
      return false;
   if (!op)
      return tl_dtype_is_float(tl_type_elem(v->type)->dtype);
   if ((*steps)++ > MOST_STEPS || (op->num_regions && op->opcode != TL_OP_REDUCE))
      return true;
   for (unsigned i = 0; i < op->num_args; i++)
      if (depends(s, tl_arg(op, i), steps))
         return true;
   return false;
}

/* Does v depend on a number that the loop carries and that is no index? */
static bool
depends_on_sums(const TlScaledSums *s, const TlValue *v)
{
   unsigned steps = 0;
   return depends(s, v, &steps);
}

static bool
is_of_statistic(const TlScaledSums *s, const TlValue *v, unsigned *steps)
{
   const TlOp *op = v->def;
   if (v == s->after || !is_inside(s, v))
      return true;
   if (!op || (!is_shape(op) && !tl_has_trait(op, TL_TRAIT_ELTWISE)) || !tl_op_is_pure(op) ||
       (*steps)++ > MOST_STEPS)
      return false;
   for (unsigned i = 0; i < op->num_args; i++)
      if (!is_of_statistic(s, tl_arg(op, i), steps))
         return false;
   return true;
}

bool
tl_is_of_statistic(const TlScaledSums *s, const TlValue *v)
{
   unsigned steps = 0;
   return is_of_statistic(s, v, &steps);
}

/* ---- factors of exponents ---- */

/* The one number that v holds, from outside of the loop; NULL: it is no such. */
static const TlValue *
factor_of(const TlScaledSums *s, const TlValue *v)
{
   uint64_t bits;
   const TlValue *one = unshaped(v);
   return tl_is_const(one, &bits) || (!is_inside(s, one) && one->type->kind != TL_TYPE_TILE) ? one
                                                                                             : NULL;
}

static bool
same_factor(const TlValue *x, const TlValue *y)
{
   uint64_t of_x, of_y;
   if (x == y || !x || !y)
      return x == y;
   return tl_is_const(x, &of_x) && tl_is_const(y, &of_y) && of_x == of_y &&
          tl_type_elem(x->type)->dtype == tl_type_elem(y->type)->dtype;
}

/* v = x * *by, with a number from outside of the loop; NULL: it is no such product. */
static const TlValue *
multiplied(const TlScaledSums *s, const TlValue *v, const TlValue **by)
{
   for (unsigned i = 0; tl_value_is(v, TL_OP_MUL) && i < 2; i++)
      if ((*by = factor_of(s, tl_arg(v->def, i))))
         return tl_arg(v->def, 1 - i);
   return NULL;
}

/* How v depends on the statistic after the iteration. */
typedef struct Slope {
   bool is_known;
   int sign; /* 0: not at all */
   const TlValue *by;
} Slope;

static Slope
slope_of(const TlScaledSums *s, const TlValue *v, unsigned depth)
{
   enum { MOST_DEPTH = 16 };
   const Slope unknown = {0};
   const TlValue *at = unshaped(v), *by, *x;
   if (at == s->after)
      return (Slope){true, 1, NULL};
   if (!depends_on_sums(s, at))
      return (Slope){true, 0, NULL};
   if (!at->def || depth > MOST_DEPTH)
      return unknown;
   if (at->def->opcode == TL_OP_ADD || at->def->opcode == TL_OP_SUB) {
      Slope a = slope_of(s, tl_arg(at->def, 0), depth + 1);
      Slope b = slope_of(s, tl_arg(at->def, 1), depth + 1);
      if (!a.is_known || !b.is_known || (a.sign && b.sign))
         return unknown;
      if (at->def->opcode == TL_OP_SUB)
         b.sign = -b.sign;
      return a.sign ? a : b;
   }
   if ((x = multiplied(s, at, &by))) {
      Slope of = slope_of(s, x, depth + 1);
      if (of.by)
         return unknown;
      of.by = of.sign ? by : NULL;
      return of;
   }
   return unknown;
}

/* Is v (before - after) * by, in one of its spellings? */
static bool
is_shrink(const TlScaledSums *s, const TlValue *v, const TlValue **by)
{
   const TlValue *x = multiplied(s, v, by), *of_before, *of_after;
   if (!x) {
      x = v;
      *by = NULL;
   }
   if (!tl_value_is(x, TL_OP_SUB))
      return false;
   const TlValue *before = tl_arg(x->def, 0), *after = tl_arg(x->def, 1);
   if (before == s->before && after == s->after)
      return true;
   const TlValue *b = multiplied(s, before, &of_before), *a = multiplied(s, after, &of_after);
   if (*by || b != s->before || a != s->after || !same_factor(of_before, of_after))
      return false;
   *by = of_before;
   return true;
}

/* ---- the scaled sums ---- */

/* What a number of the loop is scaled by, x of x * scale; NULL: it is no product of x. */
static const TlValue *
scale_of(const TlValue *v, const TlValue *x)
{
   if (!tl_value_is(v, TL_OP_MUL) || !v->uses || v->uses->next)
      return NULL;
   return tl_arg(v->def, 0) == x   ? tl_arg(v->def, 1)
          : tl_arg(v->def, 1) == x ? tl_arg(v->def, 0)
                                   : NULL;
}

/* The operation that adds to the scaled number i, and what scales it. */
static const TlOp *
adding(const TlScaledSums *s, unsigned i, const TlValue **scale)
{
   const TlValue *x = tl_carried(s->body, i), *v = tl_yielded(s->body, i);
   const TlOp *op = v->def;
   if (!x->uses || x->uses->next || !op || !is_inside(s, v) || !v->uses || v->uses->next)
      return NULL;
   for (unsigned k = 0; op->opcode == TL_OP_ADD && k < 2; k++)
      if ((*scale = scale_of(tl_arg(op, k), x)))
         return op;
   while (op && op->opcode == TL_OP_DOT && is_inside(s, v)) {
      const TlValue *sum = tl_arg(op, 2);
      if ((*scale = scale_of(sum, x)))
         return op;
      if (!sum->uses || sum->uses->next)
         return NULL;
      v = sum;
      op = v->def;
   }
   return NULL;
}

/* Is v = e^(by * -after) times what does not depend on the statistic? */
static bool
is_weight(const TlScaledSums *s, const TlValue *v, unsigned *steps)
{
   const TlOp *op = v->def;
   if (!op || !is_inside(s, v) || (*steps)++ > MOST_STEPS)
      return false;
   uint64_t bits;
   bool second;
   switch (op->opcode) {
   case TL_OP_EXP:
   case TL_OP_EXP2: {
      Slope slope = slope_of(s, tl_arg(op, 0), 0);
      return op->opcode == s->exp && slope.is_known && slope.sign == -1 &&
             same_factor(slope.by, s->by);
   }
   case TL_OP_CAST:
      return tl_dtype_is_float(tl_type_elem(v->type)->dtype) && is_weight(s, tl_arg(op, 0), steps);
   case TL_OP_BROADCAST:
   case TL_OP_EXPAND_DIMS:
   case TL_OP_TRANS:
   case TL_OP_HINT:
   case TL_OP_NEG:
      return is_weight(s, tl_arg(op, 0), steps);
   case TL_OP_MUL:
      second = depends_on_sums(s, tl_arg(op, 1));
      return !depends_on_sums(s, tl_arg(op, !second)) && is_weight(s, tl_arg(op, second), steps);
   case TL_OP_DIV:
      return !depends_on_sums(s, tl_arg(op, 1)) && is_weight(s, tl_arg(op, 0), steps);
   case TL_OP_SELECT:
      for (unsigned i = 1; i < 3; i++)
         if (!(tl_is_const(tl_arg(op, i), &bits) && !bits) && !is_weight(s, tl_arg(op, i), steps))
            return false;
      return !depends_on_sums(s, tl_arg(op, 0));
   default:
      return false;
   }
}

/* Is W of x * scale + W a sum of weights?  Notes the reduction that makes it. */
static bool
is_sum_of_weights(TlScaledSums *s, const TlValue *v)
{
   unsigned steps = 0;
   v = unshaped(v);
   const TlOp *op = v->def;
   if (!op || op->opcode != TL_OP_REDUCE || !is_inside(s, v) || tl_reduce_opcode(op) != TL_OP_ADD ||
       !is_weight(s, tl_arg(op, 0), &steps))
      return false;
   s->folds[s->num_folds++] = op;
   return true;
}

/* Does the product add up weights? */
static bool
is_product_of_weights(const TlScaledSums *s, const TlOp *dot)
{
   unsigned steps = 0;
   bool second = depends_on_sums(s, tl_arg(dot, 1));
   return !depends_on_sums(s, tl_arg(dot, !second)) && is_weight(s, tl_arg(dot, second), &steps);
}

static bool
is_scaled_sum(TlScaledSums *s, unsigned i)
{
   const TlValue *scale, *by;
   const TlOp *op = adding(s, i, &scale), *exp = op ? unshaped(scale)->def : NULL;
   if (!exp || exp->opcode != s->exp || !is_shrink(s, tl_arg(exp, 0), &by) ||
       !same_factor(by, s->by))
      return false;
   if (op->opcode == TL_OP_ADD) {
      const TlValue *x = tl_carried(s->body, i);
      return is_sum_of_weights(s, tl_arg(op, scale_of(tl_arg(op, 0), x) ? 1 : 0));
   }
   for (const TlValue *v = tl_yielded(s->body, i); tl_value_is(v, TL_OP_DOT); v = tl_arg(v->def, 2))
      if (!is_product_of_weights(s, v->def))
         return false;
   return true;
}

/* ---- the statistic ---- */

/* Made of the statistic before, of maxima of what does not depend on it, and of what the loop does
 * not change?  Notes the reductions. */
static bool
is_statistic(TlScaledSums *s, const TlValue *v, unsigned *steps, unsigned most)
{
   const TlOp *op = v->def;
   if (v == s->before || !is_inside(s, v))
      return true;
   if (!op || (*steps)++ > MOST_STEPS)
      return false;
   if (op->opcode == TL_OP_REDUCE) {
      for (unsigned i = 0; i < s->num_folds; i++)
         if (s->folds[i] == op)
            return true;
      if (tl_reduce_opcode(op) != TL_OP_MAX || depends_on_sums(s, tl_arg(op, 0)) ||
          s->num_folds == most)
         return false;
      s->folds[s->num_folds++] = op;
      return true;
   }
   if (!is_shape(op) && (!tl_has_trait(op, TL_TRAIT_ELTWISE) || !tl_op_is_pure(op)))
      return false;
   for (unsigned i = 0; i < op->num_args; i++)
      if (!is_statistic(s, tl_arg(op, i), steps, most))
         return false;
   return true;
}

/* Finds which number of the loop is the statistic, and in which exponent, by what scales a sum. */
static bool
find_statistic(TlScaledSums *s, unsigned num)
{
   for (unsigned i = 0; i < num; i++) {
      const TlValue *scale;
      const TlOp *exp = adding(s, i, &scale) ? unshaped(scale)->def : NULL;
      if (!exp || (exp->opcode != TL_OP_EXP && exp->opcode != TL_OP_EXP2))
         continue;
      s->exp = exp->opcode;
      for (unsigned k = 0; k < num; k++) {
         s->before = tl_carried(s->body, k);
         s->after = tl_yielded(s->body, k);
         if (k != i && is_shrink(s, tl_arg(exp, 0), &s->by) && is_inside(s, s->after) &&
             s->after->def) {
            s->sums[k] = TL_STATISTIC;
            return true;
         }
      }
   }
   return false;
}

bool
tl_find_scaled_sums(TlArena *arena, const TlOp *loop, TlScaledSums *out)
{
   unsigned num = loop->num_results, steps = 0, scaled = 0;
   *out = (TlScaledSums){.body = loop->regions[0]->block};
   unsigned most = num + 4; /* a statistic reads one, mostly */
   out->sums = tl_new_array(arena, TlLoopSum, num + 1);
   out->folds = tl_new_array(arena, const TlOp *, most);
   if (!find_statistic(out, num) || !is_statistic(out, out->after, &steps, most - num) ||
       !out->num_folds)
      return false;
   for (unsigned i = 0; i < num; i++)
      if (out->sums[i] == TL_NO_SUM && is_scaled_sum(out, i)) {
         out->sums[i] = TL_SCALED_SUM;
         scaled++;
      }
   return scaled > 0;
}
