/* max and min that reduce where the larger of two values is meant, and the other way round.
 *
 * tl.max(v, 0) is the greatest along axis 0.  Meant as max(v, 0.0), a relu, its result is stored
 * wherever v's elements were to go: nothing else is made of it, and no tile meets it on the way.
 * The greatest of all that other code stores for every element meets the tile again.
 *
 * maximum(minimum(v, 0.0), 255.0) is 255.0 whatever v is: its limits are exchanged.
 *
 * max(t, 1) of a tile and a number is Python's, element by element.  Meant as tl.max(t, 1), the
 * rows' values are given a dimension of columns again, or are what a softmax subtracts. */
#include "ir/walk.h"
#include "sema/help.h"
#include "sema/lint.h"
#include "sema/lint_access.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

enum { MAX_STEPS = 100 };

static bool
has_one_use(const TlValue *v)
{
   return v->uses && !v->uses->next;
}

/* The same for all elements: a constant, a parameter, and what is computed of such. */
static bool
is_uniform(const TlValue *v, unsigned *steps)
{
   uint64_t bits;
   const TlOp *op = v->def;
   if (tl_is_const(v, &bits) || tl_lint_is_argument(v))
      return true;
   if (!op || ++*steps > MAX_STEPS ||
       !(op->opcode == TL_OP_SPLAT || op->opcode == TL_OP_BROADCAST ||
         tl_has_trait(op, TL_TRAIT_ELTWISE)))
      return false;
   for (unsigned i = 0; i < op->num_args; i++)
      if (!is_uniform(tl_arg(op, i), steps))
         return false;
   return true;
}

/* Is the call written with the number as its second argument and nothing behind it?  *first: how
 * many characters the first argument has, from the parenthesis on. */
static bool
has_second(const char *text, char number, size_t *first)
{
   const char *open = strchr(text, '(');
   size_t n = strlen(text);
   if (!open || n < 2 || text[n - 1] != ')')
      return false;
   const char *p = text + n - 2;
   while (p > open && isspace((unsigned char)*p))
      p--;
   if (*p-- != number)
      return false;
   while (p > open && isspace((unsigned char)*p))
      p--;
   *first = (size_t)(p - open - 1);
   return p > open + 1 && *p == ',';
}

/* ---- tl.max(v, 0) for max(v, 0.0) ---- */
/* -inf for lanes that a mask leaves out is said of what is reduced. */
static bool
is_cut_off(const TlValue *v, unsigned *steps)
{
   double number;
   const TlOp *op = v->def;
   if (tl_is_number(v, &number))
      return isinf(number);
   if (!op || ++*steps > MAX_STEPS ||
       !(op->opcode == TL_OP_LOAD || tl_has_trait(op, TL_TRAIT_ELTWISE)))
      return false;
   for (unsigned i = 0; i < op->num_args; i++)
      if (is_cut_off(tl_arg(op, i), steps))
         return true;
   return false;
}

/* max(v, 0) and min(v, 0) whose result is that of an element each, were they no reductions. */
static bool
is_replacing(TlSema *s, const TlOp *op, const TlType *shape)
{
   size_t first;
   unsigned steps = 0;
   const TlType *of = tl_arg(op, 0)->type;
   TlOpcode by = op->num_args == 1 ? tl_combined_by(op) : TL_OP_COUNT;
   return op->range.file == s->impl->main->file && tl_attr_int(op, TL_ATTR_AXIS) == 0 &&
          (by == TL_OP_MAX || by == TL_OP_MIN) &&
          has_second(tl_range_text(s, op->range), '0', &first) && tl_type_same_shape(of, shape) &&
          of->shape[0] > 1 && !is_cut_off(tl_arg(op, 0), &steps);
}

/* The first of the reductions of one tile that a value comes from by steps that meet nothing but
 * numbers, each of which is used once; NULL: it comes from something else. */
static const TlOp *
sole_reduction(TlSema *s, const TlValue *v, const TlType *shape, unsigned *steps)
{
   const TlOp *op = v->def, *found = NULL;
   if (!op || !has_one_use(v) || ++*steps > MAX_STEPS)
      return NULL;
   if (op->opcode == TL_OP_REDUCE)
      return is_replacing(s, op, shape) ? op : NULL;
   if (op->opcode != TL_OP_SPLAT && op->opcode != TL_OP_BROADCAST &&
       op->opcode != TL_OP_EXPAND_DIMS && !tl_has_trait(op, TL_TRAIT_ELTWISE))
      return NULL;
   for (unsigned i = 0; i < op->num_args; i++) {
      unsigned looked = 0;
      if (is_uniform(tl_arg(op, i), &looked))
         continue;
      const TlOp *here = sole_reduction(s, tl_arg(op, i), shape, steps);
      if (!here || (found && tl_arg(found, 0) != tl_arg(here, 0)))
         return NULL;
      found = found ? found : here;
   }
   return found;
}

/* The reduction that max(v, 0) is whose result the store puts where v's elements go; or NULL. */
static const TlOp *
replaced_by(TlSema *s, const TlOp *store)
{
   unsigned steps = 0;
   if (store->opcode != TL_OP_STORE || !tl_type_is_tile(tl_arg(store, 0)->type))
      return NULL;
   return sole_reduction(s, tl_arg(store, 1), tl_arg(store, 0)->type, &steps);
}

static void
report_replaced(TlSema *s, const TlOp *op, const TlOp *store)
{
   const char *text = tl_range_text(s, op->range), *open = strchr(text, '(');
   const TlType *of = tl_arg(op, 0)->type;
   size_t len = 0;
   (void)has_second(text, '0', &len);
   bool is_float = tl_dtype_is_float(tl_type_elem(of)->dtype);
   bool is_max = tl_combined_by(op) == TL_OP_MAX;
   tl_report(s->diags, W0283, op->range, text,
             of->rank == 1 ? "one number, which every element gets"
                           : "one row, which all rows become");
   tl_help(s->diags, "the %s of each element and 0 is tl.%s(%.*s, %s)",
           is_max ? "larger" : "smaller", is_max ? "maximum" : "minimum", (int)(len < 60 ? len : 1),
           len < 60 ? open + 1 : "x", is_float ? "0.0" : "0");
   tl_note(s->diags, N0200, store->range, "it is stored where the elements go");
}

/* ---- max(t, 1) for tl.max(t, 1) ---- */
/* Python's max or min of a tile and 0 or 1, which is an axis of it; *axis: the number. */
static bool
is_taken_for_axis(TlSema *s, const TlOp *op, unsigned *axis)
{
   bool is_extreme = op->opcode == TL_OP_MAX || op->opcode == TL_OP_MIN;
   if (!is_extreme || op->range.file != s->impl->main->file)
      return false;
   const char *text = tl_range_text(s, op->range);
   size_t first;
   for (*axis = 0; *axis < 2; ++*axis)
      if (*axis < tl_result(op, 0)->type->rank && has_second(text, "01"[*axis], &first))
         return strncmp(text, op->opcode == TL_OP_MAX ? "max(" : "min(", 4) == 0;
   return false;
}

/* Where values meet others on the way it is what is given a dimension behind another: rows' values,
 * as it is written. */
static const TlOp *
taken_for_axis_in(TlSema *s, const TlValue *v, bool meets, unsigned *steps)
{
   unsigned axis, others = 0;
   uint64_t bits;
   const TlOp *op = v->def, *found = NULL;
   if (!op || ++*steps > MAX_STEPS || op->num_regions || op->opcode == TL_OP_LOAD)
      return NULL;
   if (op->num_args && !meets && tl_result(op, 0)->type->rank > 1 &&
       is_taken_for_axis(s, op, &axis))
      return op;
   for (unsigned i = 0; i < op->num_args; i++)
      others += !tl_is_const(tl_arg(op, i), &bits);
   bool is_column = op->opcode == TL_OP_EXPAND_DIMS && tl_attr_int(op, TL_ATTR_AXIS) > 0;
   for (unsigned i = 0; i < op->num_args && !found; i++)
      found = taken_for_axis_in(s, tl_arg(op, i), !is_column && (meets || others > 1), steps);
   return found;
}

const char *
tl_help_extremum(TlSema *s, const TlValue *v)
{
   unsigned steps = 0, axis;
   const TlOp *op = taken_for_axis_in(s, v, false, &steps);
   if (!op || !is_taken_for_axis(s, op, &axis))
      return NULL;
   const char *text = tl_range_text(s, op->range);
   return tl_arena_printf(s->arena,
                          "'%.40s' of a tile and a number is the %s of each element and %u; along "
                          "axis %u it is tl.%.3s(.., axis=%u)",
                          text, op->opcode == TL_OP_MAX ? "larger" : "smaller", axis, axis, text,
                          axis);
}

/* max(t, 1)[:, None] */
static bool
gets_dimension(const TlValue *v)
{
   for (const TlUse *u = v->uses; u; u = u->next)
      if (u->user->opcode == TL_OP_EXPAND_DIMS && tl_attr_int(u->user, TL_ATTR_AXIS) > 0)
         return true;
   return false;
}

static bool
is_summed(const TlValue *v)
{
   for (const TlUse *u = v->uses; u; u = u->next)
      if (u->user->opcode == TL_OP_REDUCE)
         return true;
   return false;
}

/* e = exp(t - max(t, 0)); .. sum(e) */
static bool
is_base(const TlOp *op)
{
   for (const TlUse *u = tl_result(op, 0)->uses; u; u = u->next) {
      const TlOp *minus = u->user;
      if (minus->opcode != TL_OP_SUB || tl_arg(minus, 1) != tl_result(op, 0) ||
          (tl_arg(minus, 0) != tl_arg(op, 0) && tl_arg(minus, 0) != tl_arg(op, 1)))
         continue;
      for (const TlUse *e = tl_result(minus, 0)->uses; e; e = e->next)
         if ((e->user->opcode == TL_OP_EXP || e->user->opcode == TL_OP_EXP2) &&
             is_summed(tl_result(e->user, 0)))
            return true;
   }
   return false;
}

static void
check_elementwise(TlSema *s, const TlOp *op)
{
   unsigned axis;
   if ((op->opcode != TL_OP_MAX && op->opcode != TL_OP_MIN) || !is_taken_for_axis(s, op, &axis))
      return;
   const TlValue *v = tl_result(op, 0);
   bool is_row = v->type->rank > 1 && gets_dimension(v);
   if (!is_row && !is_base(op))
      return;
   tl_report(s->diags, W0284, op->range, tl_range_text(s, op->range),
             op->opcode == TL_OP_MAX ? "larger" : "smaller", axis);
   tl_help(s->diags, "along axis %u it is tl.%.3s(.., axis=%u)", axis, tl_range_text(s, op->range),
           axis);
}

/* ---- limits that leave one value ---- */
typedef struct Between {
   double lo, hi;
} Between;

static bool
is_limiting(const TlOp *op)
{
   return op->opcode == TL_OP_MAX || op->opcode == TL_OP_MIN || op->opcode == TL_OP_CLAMP;
}

/* What the constants on its way, and its type, keep each element between. */
static Between
between(const TlValue *v, unsigned *steps)
{
   enum { EXACT_BITS = 53 };
   const TlType *e = tl_type_elem(v->type);
   bool is_unsigned =
      e->kind == TL_TYPE_SCALAR && !tl_dtype_is_float(e->dtype) && !tl_dtype_is_signed(e->dtype);
   Between x = {is_unsigned ? 0 : -INFINITY, INFINITY}, y, z;
   const TlOp *op = v->def;
   double number;
   if (tl_is_number(v, &number))
      return fabs(number) <= ldexp(1, EXACT_BITS) || isinf(number) ? (Between){number, number} : x;
   if (!op || ++*steps > MAX_STEPS)
      return x;
   if (op->opcode == TL_OP_SPLAT || op->opcode == TL_OP_BROADCAST ||
       op->opcode == TL_OP_EXPAND_DIMS)
      return between(tl_arg(op, 0), steps);
   if (op->opcode == TL_OP_CAST) { /* to a type that holds all of an unsigned one */
      const TlType *from = tl_type_elem(tl_arg(op, 0)->type);
      bool is_wider = from->kind == TL_TYPE_SCALAR && e->kind == TL_TYPE_SCALAR &&
                      !tl_dtype_is_float(from->dtype) && !tl_dtype_is_signed(from->dtype) &&
                      tl_dtype_info[from->dtype].bits < tl_dtype_info[e->dtype].bits;
      return is_wider ? between(tl_arg(op, 0), steps) : x;
   }
   if (!is_limiting(op))
      return x;
   x = between(tl_arg(op, 0), steps);
   y = between(tl_arg(op, 1), steps);
   switch (op->opcode) {
   case TL_OP_MAX:
      return (Between){fmax(x.lo, y.lo), fmax(x.hi, y.hi)};
   case TL_OP_MIN:
      return (Between){fmin(x.lo, y.lo), fmin(x.hi, y.hi)};
   default: /* min(max(x, low), high) */
      z = between(tl_arg(op, 2), steps);
      return (Between){fmin(fmax(x.lo, y.lo), z.lo), fmin(fmax(x.hi, y.hi), z.hi)};
   }
}

/* Its operands that are numbers; those that are not have a limit, or are not told of. */
static unsigned
numbers_of(const TlOp *op, double out[2])
{
   unsigned n = 0;
   for (unsigned i = 0; i < op->num_args; i++)
      n += n < 2 && tl_is_number(tl_arg(op, i), &out[n]);
   return n;
}

static const TlOp *
limiting_operand(const TlOp *op)
{
   for (unsigned i = 0; i < op->num_args; i++) {
      const TlOp *from = tl_arg(op, i)->def;
      if (from && is_limiting(from))
         return from;
   }
   return NULL;
}

/* Is a number of it one that was guessed? */
static bool
has_guessed_limit(const TlLintFacts *f, const TlOp *op)
{
   const char *text = tl_range_text(f->s, op->range);
   for (unsigned i = 0; f->s->impl->has_guessed_numbers && i < f->func->num_params; i++) {
      const TlParam *p = &f->func->params[i];
      if (p->constant && tl_lint_is_written(text, p->name))
         return true;
   }
   return false;
}

/* maximum(minimum(v, 0.0), 255.0), clamp(v, 255.0, 0.0) */
static bool
check_limits(TlLintFacts *f, const TlOp *op)
{
   unsigned steps = 0;
   double at[4], number;
   if (!is_limiting(op) || op->range.file != f->s->impl->main->file || !tl_lint_trusts_numbers(f) ||
       tl_is_number(tl_result(op, 0), &number) || has_guessed_limit(f, op))
      return false;
   Between x = between(tl_result(op, 0), &steps);
   unsigned n = numbers_of(op, at);
   if (x.lo != x.hi || n == op->num_args) /* NaN is neither */
      return false;
   for (unsigned i = 0; i < op->num_args; i++) {
      Between own = between(tl_arg(op, i), &steps);
      if (own.lo == own.hi && !tl_is_number(tl_arg(op, i), &number))
         return false; /* it is told of there */
   }
   const TlOp *inner = limiting_operand(op);
   n += n == 1 && inner ? numbers_of(inner, at + 1) : 0;
   bool is_float = tl_dtype_is_float(tl_type_elem(tl_result(op, 0)->type)->dtype);
   tl_report(f->s->diags, W0299, op->range, tl_range_text(f->s, op->range),
             tl_arena_printf(f->s->arena, "%.*g", is_float ? 6 : 17, x.lo));
   if (n == 2 && at[0] != at[1]) {
      double low = fmin(at[0], at[1]), high = fmax(at[0], at[1]);
      tl_help(f->s->diags,
              "the lower limit is %g, the upper %g: tl.minimum(tl.maximum(x, %g), %g), or "
              "tl.clamp(x, %g, %g)",
              low, high, low, high, low, high);
   }
   return true;
}

const TlOp *
tl_lint_extrema(TlLintFacts *f)
{
   const TlBlock *top = f->func->body->block;
   const TlOp *first = NULL;
   for (const TlOp *op = top->first; op; op = tl_walk_next(op, top))
      if (check_limits(f, op))
         break;
   for (const TlOp *op = top->first; op; op = tl_walk_next(op, top)) {
      const TlOp *reduce = replaced_by(f->s, op);
      if (reduce)
         report_replaced(f->s, reduce, op);
      first = first ? first : reduce;
      check_elementwise(f->s, op);
   }
   return first;
}
