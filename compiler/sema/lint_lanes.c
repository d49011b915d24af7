/* What sums, greatest values and orders take of lanes that a mask leaves out.
 *
 * A load gives such lanes `other`, or nothing in particular.  What arithmetic makes of them is
 * followed up to a reduction along the masked axis: a sum is right where they are 0, a greatest
 * value where they are minus infinity or where nothing is below them.  Where an operation leaves
 * open what they are, nothing is said. */
#include "ir/affine.h"
#include "ir/walk.h"
#include "sema/impl.h"
#include "sema/lint.h"
#include "sema/lint_access.h"

#include <math.h>

enum { MAX_STEPS = 400, MAX_BOUNDS = 8, ALL_AXES = TL_MAX_RANK, NO_AXIS = TL_MAX_RANK + 1 };

static const double FAR = 1e4; /* -1e9 is written for minus infinity as well */

typedef enum Lane { LANE_OPEN, LANE_ANY, LANE_ZERO, LANE_LOWEST, LANE_HIGHEST } Lane;

typedef struct Lanes {
   TlAffine *affine;
   const TlOp *load; /* masked along the axis: what it leaves out is followed */
   bool has_whole;   /* another load has all lanes: none is left out, then */
   const TlOp *cut;  /* where(mask, x, 0) or mask * x, which sets them to 0 */
   unsigned steps;
} Lanes;

static Lane lane_of(Lanes *l, const TlValue *v, unsigned axis);

static Lane
constant_lane(const TlValue *v, uint64_t bits)
{
   const TlType *elem = tl_type_elem(v->type);
   if (elem->kind != TL_TYPE_SCALAR)
      return LANE_ANY;
   double value = tl_bits_to_number(elem->dtype, bits);
   bool is_end = fabs(value) >= FAR;
   return value == 0 ? LANE_ZERO : !is_end ? LANE_ANY : value < 0 ? LANE_LOWEST : LANE_HIGHEST;
}

static bool
asks_program(const TlValue *v, unsigned *steps)
{
   if (!v->def || ++*steps > MAX_STEPS)
      return false;
   for (unsigned i = 0; i < v->def->num_args; i++)
      if (asks_program(tl_arg(v->def, i), steps))
         return true;
   return v->def->opcode == TL_OP_PROGRAM_ID;
}

/* May lanes be left out?  Not of arange(0, 64) below 64, and not in loops over whole blocks, which
 * end by something else than the limit. */
static bool
may_cut(const TlBound *b, const TlType *mask)
{
   bool is_number = !b->limit.num || (b->limit.num == 1 && !b->limit.term[0].num);
   for (unsigned i = 0; i < b->index.num; i++) {
      const TlTerm *t = &b->index.term[i];
      if (is_number && b->index.num == 1 && t->dim >= 0 && tl_type_is_tile(mask) &&
          t->dim < mask->rank && b->limit.num && b->limit.term[0].scale >= mask->shape[t->dim])
         return false;
      for (unsigned k = 0; k < t->num; k++) {
         unsigned asked = 0;
         if (!t->factor[k].is_iteration)
            continue;
         const TlValue *end = tl_for_upper(t->factor[k].value->block->region->parent);
         bool is_limited = b->limit.num == 1 && b->limit.term[0].num == 1 &&
                           tl_lint_comes_from(end, b->limit.term[0].factor[0].value);
         if (!is_limited || asks_program(end, &asked))
            return false;
      }
   }
   return true;
}

/* Does the mask compare an index along the axis with a limit, and does nothing but compare? */
static bool
is_masked_along(const Lanes *l, const TlValue *mask, unsigned axis, bool *is_open)
{
   TlBound b[MAX_BOUNDS];
   *is_open = false;
   unsigned num = tl_mask_bounds(l->affine, mask, b, MAX_BOUNDS, is_open);
   for (unsigned i = 0; i < num; i++)
      for (unsigned k = 0; k < b[i].index.num; k++) {
         int dim = b[i].index.term[k].dim;
         if (b[i].is_upper && dim >= 0 && (axis == ALL_AXES || dim == (int)axis) &&
             may_cut(&b[i], mask->type))
            return true;
      }
   return false;
}

static Lane
load_lane(Lanes *l, const TlOp *op, unsigned axis)
{
   const TlValue *mask = tl_pred(op);
   bool is_open;
   if (axis == NO_AXIS)
      return LANE_ANY;
   if (!mask || !is_masked_along(l, mask, axis, &is_open)) {
      l->has_whole = true;
      return mask && is_open ? LANE_OPEN : LANE_ANY;
   }
   l->load = op;
   uint64_t bits;
   if (op->num_args < 3)
      return LANE_ZERO;
   return tl_is_const(tl_arg(op, 2), &bits) ? constant_lane(tl_arg(op, 2), bits) : LANE_OPEN;
}

/* The axis of the operand that is the result's; none: the operand has the same for all of it. */
static unsigned
axis_before(const TlOp *op, unsigned axis)
{
   const TlType *from = tl_arg(op, 0)->type;
   if (axis == NO_AXIS || !tl_type_is_tile(from))
      return NO_AXIS;
   if (axis == ALL_AXES)
      return axis;
   if (op->opcode == TL_OP_EXPAND_DIMS) {
      unsigned at = (unsigned)tl_attr_int(op, TL_ATTR_AXIS);
      return axis == at ? NO_AXIS : axis - (axis > at);
   }
   return op->opcode == TL_OP_BROADCAST && from->shape[axis] == 1 ? NO_AXIS : axis;
}

static Lane
select_lane(Lanes *l, const TlOp *op, unsigned axis)
{
   uint64_t bits;
   bool is_open, is_masked = axis != NO_AXIS && is_masked_along(l, tl_arg(op, 0), axis, &is_open);
   if (is_masked) {
      Lane lane = lane_of(l, tl_arg(op, 2), axis);
      l->cut = lane == LANE_ZERO && tl_is_const(tl_arg(op, 2), &bits) ? op : l->cut;
      return lane;
   }
   Lane a = lane_of(l, tl_arg(op, 1), axis), b = lane_of(l, tl_arg(op, 2), axis);
   return a == b && a != LANE_ANY ? a : LANE_OPEN;
}

static Lane
sum_lane(Lane a, Lane b, bool is_difference)
{
   if (is_difference && (b == LANE_LOWEST || b == LANE_HIGHEST))
      b = b == LANE_LOWEST ? LANE_HIGHEST : LANE_LOWEST;
   if (a == LANE_OPEN || b == LANE_OPEN)
      return LANE_OPEN;
   bool a_ends = a == LANE_LOWEST || a == LANE_HIGHEST,
        b_ends = b == LANE_LOWEST || b == LANE_HIGHEST;
   if (a_ends || b_ends)
      return a_ends && b_ends && a != b ? LANE_OPEN : a_ends ? a : b;
   return a == LANE_ZERO && b == LANE_ZERO ? LANE_ZERO : LANE_ANY;
}

static Lane
product_lane(Lane a, Lane b)
{
   bool a_ends = a == LANE_LOWEST || a == LANE_HIGHEST,
        b_ends = b == LANE_LOWEST || b == LANE_HIGHEST;
   if (a == LANE_ZERO || b == LANE_ZERO)
      return a_ends || b_ends ? LANE_OPEN : LANE_ZERO;
   if (a == LANE_OPEN || b == LANE_OPEN || (a_ends && b_ends))
      return LANE_OPEN;
   return a_ends ? a : b_ends ? b : LANE_ANY; /* by a scale, which is positive */
}

/* What a loop carries: 0 as long as each round adds 0. */
static Lane
carried_lane(Lanes *l, const TlOp *loop, unsigned i, unsigned axis)
{
   Lane init = lane_of(l, tl_init(loop, i), axis);
   return init == LANE_ZERO || init == LANE_LOWEST ? init : LANE_OPEN;
}

static Lane
looped_lane(Lanes *l, const TlOp *loop, unsigned i, unsigned axis)
{
   if (loop->opcode != TL_OP_FOR)
      return LANE_OPEN;
   Lane init = carried_lane(l, loop, i, axis);
   return init == LANE_OPEN ? LANE_OPEN : lane_of(l, tl_yielded(loop->regions[0]->block, i), axis);
}

static Lane
argument_lane(Lanes *l, const TlValue *v, unsigned axis)
{
   const TlOp *loop = v->block->region->parent;
   if (!tl_type_is_tile(v->type))
      return LANE_ANY;
   if (!loop || loop->opcode != TL_OP_FOR || v->index < tl_first_carried(loop))
      return LANE_OPEN;
   return carried_lane(l, loop, v->index - tl_first_carried(loop), axis);
}

static Lane
mask_lane(Lanes *l, const TlValue *v, unsigned axis)
{
   bool is_open;
   const TlOp *op = v->def;
   if (axis != NO_AXIS && is_masked_along(l, v, axis, &is_open)) {
      l->cut = op;
      return LANE_ZERO;
   }
   bool is_equality = op && (op->opcode == TL_OP_EQ || op->opcode == TL_OP_NE);
   if (!is_equality || lane_of(l, tl_arg(op, 0), axis) != LANE_ZERO)
      return LANE_OPEN;
   Lane other = lane_of(l, tl_arg(op, 1), axis);
   uint64_t bits;
   if (!tl_is_const(tl_arg(op, 1), &bits))
      return LANE_OPEN;
   return (other == LANE_ZERO) == (op->opcode == TL_OP_EQ) ? LANE_ANY : LANE_ZERO;
}

static Lane
unary_lane(Lanes *l, const TlOp *op, unsigned axis)
{
   Lane x = lane_of(l, tl_arg(op, 0), axis);
   bool is_end = x == LANE_LOWEST || x == LANE_HIGHEST;
   switch ((int)op->opcode) {
   case TL_OP_NEG:
      return is_end ? (x == LANE_LOWEST ? LANE_HIGHEST : LANE_LOWEST) : x;
   case TL_OP_EXP:
   case TL_OP_EXP2:
      return x == LANE_LOWEST ? LANE_ZERO : x == LANE_ZERO || x == LANE_ANY ? LANE_ANY : LANE_OPEN;
   case TL_OP_ABS:
      return is_end ? LANE_HIGHEST : x;
   case TL_OP_SQRT:
   case TL_OP_TANH:
   case TL_OP_ERF:
   case TL_OP_SIN:
      return is_end ? LANE_OPEN : x;
   }
   return x == LANE_ANY ? LANE_ANY : LANE_OPEN;
}

/* Along an axis that is left: sums of zeros, the greatest of what is lowest. */
static Lane
reduced_lane(Lanes *l, const TlOp *op, unsigned axis)
{
   unsigned gone = (unsigned)tl_attr_int(op, TL_ATTR_AXIS);
   if (axis >= TL_MAX_RANK || tl_combined_by(op) == TL_OP_COUNT || tl_combined_by(op) == TL_OP_MUL)
      return LANE_OPEN;
   return lane_of(l, tl_arg(op, 0), axis + (axis >= gone));
}

/* Rows of zeros on the left, or columns on the right, give zeros. */
static Lane
product_of_tables_lane(Lanes *l, const TlOp *op, unsigned axis)
{
   unsigned rank = tl_result(op, 0)->type->rank;
   if (axis >= rank || axis + 2 < rank || lane_of(l, tl_arg(op, 2), axis) != LANE_ZERO)
      return LANE_OPEN;
   Lane lane = lane_of(l, tl_arg(op, axis + 1 == rank ? 1 : 0), axis);
   return lane == LANE_ZERO || lane == LANE_ANY ? lane : LANE_OPEN;
}

static Lane
op_lane(Lanes *l, const TlOp *op, unsigned axis)
{
   switch ((int)op->opcode) {
   case TL_OP_LOAD:
      return load_lane(l, op, axis);
   case TL_OP_SPLAT:
   case TL_OP_BROADCAST:
   case TL_OP_EXPAND_DIMS:
      return lane_of(l, tl_arg(op, 0), axis_before(op, axis));
   case TL_OP_CAST:
      if (tl_type_elem(tl_arg(op, 0)->type)->dtype == TL_I1)
         return mask_lane(l, tl_arg(op, 0), axis);
      return lane_of(l, tl_arg(op, 0), axis);
   case TL_OP_HINT:
      return lane_of(l, tl_arg(op, 0), axis);
   case TL_OP_RESHAPE:
      return axis == ALL_AXES || axis == NO_AXIS ? lane_of(l, tl_arg(op, 0), axis) : LANE_OPEN;
   case TL_OP_ADD:
   case TL_OP_SUB:
      return sum_lane(lane_of(l, tl_arg(op, 0), axis), lane_of(l, tl_arg(op, 1), axis),
                      op->opcode == TL_OP_SUB);
   case TL_OP_MUL:
      return product_lane(lane_of(l, tl_arg(op, 0), axis), lane_of(l, tl_arg(op, 1), axis));
   case TL_OP_DIV: {
      Lane a = lane_of(l, tl_arg(op, 0), axis), b = lane_of(l, tl_arg(op, 1), axis);
      bool is_whole = tl_dtype_is_int(tl_type_elem(tl_result(op, 0)->type)->dtype);
      return b != LANE_ANY || (is_whole && a != LANE_ZERO) ? LANE_OPEN : a;
   }
   case TL_OP_SELECT:
      return select_lane(l, op, axis);
   case TL_OP_FOR:
      return LANE_OPEN;
   case TL_OP_REDUCE:
      return reduced_lane(l, op, axis);
   case TL_OP_DOT:
      return product_of_tables_lane(l, op, axis);
   case TL_OP_TRANS:
      return axis < TL_MAX_RANK
                ? lane_of(l, tl_arg(op, 0), (unsigned)tl_attr_ints(op, TL_ATTR_ORDER).data[axis])
                : lane_of(l, tl_arg(op, 0), axis);
   }
   return op->num_args == 1 && tl_has_trait(op, TL_TRAIT_ELTWISE) ? unary_lane(l, op, axis)
                                                                  : LANE_OPEN;
}

static Lane
lane_of(Lanes *l, const TlValue *v, unsigned axis)
{
   uint64_t bits;
   if (++l->steps > MAX_STEPS)
      return LANE_OPEN;
   if (tl_is_const(v, &bits))
      return constant_lane(v, bits);
   if (!v->def)
      return argument_lane(l, v, axis);
   if (v->def->opcode == TL_OP_FOR)
      return looped_lane(l, v->def, v->index, axis);
   if (!tl_type_is_tile(v->type) || axis == NO_AXIS)
      return LANE_ANY; /* one number for the whole axis */
   return op_lane(l, v->def, axis);
}

/* What arithmetic makes of floating-point numbers. */
static bool
number_of(const TlOp *op, const double *numbers, double *out)
{
   TlDtype in[2], to = tl_type_elem(tl_result(op, 0)->type)->dtype;
   TlBits bits[2];
   bool undefined = false;
   switch ((int)op->opcode) {
   default:
      return false;
   case TL_OP_NEG:
   case TL_OP_ABS:
   case TL_OP_EXP:
   case TL_OP_EXP2:
   case TL_OP_LOG:
   case TL_OP_LOG2:
   case TL_OP_SQRT:
   case TL_OP_ADD:
   case TL_OP_SUB:
   case TL_OP_MUL:
   case TL_OP_DIV:
      break;
   }
   for (unsigned i = 0; i < op->num_args; i++) {
      in[i] = tl_type_elem(tl_arg(op, i)->type)->dtype;
      if (!tl_dtype_is_float(in[i]))
         return false;
      bits[i] = tl_double_to_bits(in[i], numbers[i], TL_ROUND_NEAREST_EVEN);
   }
   *out = tl_bits_to_number(to, tl_eval(op->opcode, op->attrs, to, in, bits, &undefined));
   return !undefined;
}

/* The number that lanes hold which the mask leaves out, if it is known: log(x) with other=1.0. */
static bool
lane_number(Lanes *l, const TlValue *v, unsigned axis, double *out)
{
   const TlOp *op = v->def;
   const TlType *elem = tl_type_elem(v->type);
   uint64_t bits;
   bool is_open;
   if (++l->steps > MAX_STEPS || elem->kind != TL_TYPE_SCALAR)
      return false;
   if (tl_is_const(v, &bits))
      return *out = tl_bits_to_number(elem->dtype, bits), true;
   if (!op || axis == NO_AXIS || !tl_type_is_tile(v->type))
      return false;
   switch ((int)op->opcode) {
   case TL_OP_LOAD:
      return op->num_args == 3 && is_masked_along(l, tl_pred(op), axis, &is_open) &&
             lane_number(l, tl_arg(op, 2), axis, out);
   case TL_OP_SELECT:
      return is_masked_along(l, tl_arg(op, 0), axis, &is_open) &&
             lane_number(l, tl_arg(op, 2), axis, out);
   case TL_OP_SPLAT:
   case TL_OP_BROADCAST:
   case TL_OP_EXPAND_DIMS:
      return lane_number(l, tl_arg(op, 0), axis_before(op, axis), out);
   case TL_OP_CAST:
      return tl_type_elem(tl_arg(op, 0)->type)->dtype != TL_I1 &&
             lane_number(l, tl_arg(op, 0), axis, out);
   }
   double x[2] = {0};
   if (!tl_has_trait(op, TL_TRAIT_ELTWISE) || op->num_args < 1 || op->num_args > 2)
      return false;
   bool has_a = lane_number(l, tl_arg(op, 0), axis, &x[0]);
   bool has_b = op->num_args == 1 || lane_number(l, tl_arg(op, 1), axis, &x[1]);
   if (op->opcode == TL_OP_MUL && ((has_a && x[0] == 0) || (has_b && x[1] == 0)))
      return *out = 0, true;
   return has_a && has_b && number_of(op, x, out);
}

static bool
adds_nothing(const Lanes *before, const TlValue *v, unsigned axis)
{
   Lanes l = {.affine = before->affine};
   double number;
   return lane_number(&l, v, axis, &number) && number == 0;
}

/* exp(..), or a multiple of it */
static bool
is_exponential(const TlValue *v)
{
   const TlOp *op = tl_lint_before_casts(v)->def;
   if (op && op->opcode == TL_OP_MUL)
      return is_exponential(tl_arg(op, 0)) || is_exponential(tl_arg(op, 1));
   return op && (op->opcode == TL_OP_EXP || op->opcode == TL_OP_EXP2);
}

/* Of norms, counts and what a first kernel left of such nothing is below 0. */
static bool
is_named_positive(const TlOp *load)
{
   static const char *const words[] = {"abs",  "norm", "amax",  "max",    "count", "len",
                                       "size", "mid",  "scale", "weight", "prob",  "num"};
   const TlValue *p = tl_arg(load, 0);
   while (p->def && (p->def->opcode == TL_OP_ADDPTR || p->def->opcode == TL_OP_SPLAT ||
                     p->def->opcode == TL_OP_BROADCAST || p->def->opcode == TL_OP_EXPAND_DIMS))
      p = tl_arg(p->def, 0);
   for (size_t i = 0; !p->def && p->name && i < sizeof words / sizeof words[0]; i++)
      if (tl_has_word(p->name, words[i]))
         return true;
   return false;
}

/* Is it subtracted before exp?  What is may be too great. */
static bool
is_base(const TlValue *v, unsigned *steps)
{
   for (const TlUse *u = v->uses; u; u = u->next) {
      const TlOp *op = u->user;
      bool goes_on = op->num_results == 1 && ++*steps < MAX_STEPS &&
                     (tl_has_trait(op, TL_TRAIT_ELTWISE) ||
                      tl_has_trait(op, TL_TRAIT_SAME_ELEMENTS) || op->opcode == TL_OP_BROADCAST);
      if (op->opcode == TL_OP_EXP || op->opcode == TL_OP_EXP2 ||
          (goes_on && is_base(tl_result(op, 0), steps)))
         return true;
   }
   return false;
}

static bool
is_negative(const TlValue *v, uint64_t bits)
{
   return tl_bits_to_number(tl_type_elem(v->type)->dtype, bits) < 0;
}

/* Nothing is below 0. */
static bool
is_never_negative(const TlValue *v, unsigned *steps)
{
   const TlOp *op = v->def;
   uint64_t bits;
   if (++*steps > MAX_STEPS)
      return false;
   if (tl_is_const(v, &bits))
      return !is_negative(v, bits);
   if (!op) { /* carried by a loop: as it is entered */
      const TlOp *loop = v->block->region->parent;
      unsigned first = loop ? tl_first_carried(loop) : 0;
      return loop && loop->opcode == TL_OP_FOR && v->index >= first &&
             is_never_negative(tl_init(loop, v->index - first), steps);
   }
   switch ((int)op->opcode) {
   case TL_OP_LOAD:
      return is_named_positive(op);
   case TL_OP_FOR:
      return is_never_negative(tl_init(op, v->index), steps);
   case TL_OP_SELECT:
      return is_never_negative(tl_arg(op, 1), steps) && is_never_negative(tl_arg(op, 2), steps);
   case TL_OP_ABS:
   case TL_OP_EXP:
   case TL_OP_EXP2:
   case TL_OP_SQRT:
      return true;
   case TL_OP_MUL:
      if (tl_arg(op, 0) == tl_arg(op, 1))
         return true;
      /* fall through */
   case TL_OP_ADD:
      return is_never_negative(tl_arg(op, 0), steps) && is_never_negative(tl_arg(op, 1), steps);
   case TL_OP_DIV:
   case TL_OP_CAST:
   case TL_OP_RESHAPE:
   case TL_OP_BROADCAST:
   case TL_OP_EXPAND_DIMS:
      return is_never_negative(tl_arg(op, 0), steps);
   case TL_OP_MAX:
      return (tl_is_const(tl_arg(op, 1), &bits) &&
              constant_lane(tl_arg(op, 1), bits) == LANE_ZERO) ||
             is_never_negative(tl_arg(op, 0), steps) || is_never_negative(tl_arg(op, 1), steps);
   }
   return false;
}

static void
report_sum(TlSema *s, const TlOp *op, const TlOp *load)
{
   tl_report(s->diags, W0237, op->range, "the sum has", "not 0");
   const TlOp *of = tl_arg(op, 0)->def;
   if (of && (of->opcode == TL_OP_EXP || of->opcode == TL_OP_EXP2))
      tl_help(s->diags,
              "give the load other=-float(\"inf\"), of which this makes 0, or set them to "
              "0 before: tl.where(mask, .., 0.0)");
   else
      tl_help(s->diags, "set them to 0 before: tl.where(mask, .., 0.0), with the mask of the load");
   tl_note(s->diags, N0200, load->range, "the load, with its mask");
}

/* sum(exp(where(mask, x, 0))): each lane beyond adds 1, or what another maximum makes of it. */
static void
report_cut_sum(TlSema *s, const TlOp *op, const TlOp *cut)
{
   tl_report(s->diags, W0237, op->range, "the sum has", "not 0");
   tl_help(s->diags, "set them to minus infinity, of which exp makes 0: "
                     "tl.where(mask, x, -float(\"inf\"))");
   tl_note(s->diags, N0200, cut->range, "they are set to 0 here, before exp");
}

/* Of lanes that the load leaves 0 or undefined, or that are set to 0. */
static void
report_end(TlSema *s, TlRange taken, const Lanes *l, const char *what, const char *neutral)
{
   const TlOp *from = l->load ? l->load : l->cut;
   bool is_bare = l->load && l->load->num_args < 3;
   bool is_here = from->range.file == taken.file;
   tl_report(s->diags, W0237, is_here ? from->range : taken, what, is_bare ? "undefined" : "0");
   if (l->load)
      tl_help(s->diags, "give the load other=%s", neutral);
   else
      tl_help(s->diags, "choose what changes nothing: tl.where(mask, x, %s)", neutral);
   tl_note(s->diags, N0200, is_here ? taken : from->range,
           is_here ? "it is taken here" : "the lanes that are left out");
}

static const char *
neutral_of(TlOpcode by)
{
   return by == TL_OP_MAX ? "-float(\"inf\")" : by == TL_OP_MIN ? "float(\"inf\")" : "1.0";
}

/* min(abs(load(x + i, i < n, other=0.0) - q)): what is computed of lanes that are left out. */
static void
report_extreme(TlSema *s, const TlOp *op, const TlOp *load, TlOpcode by)
{
   const TlValue *x = tl_arg(op, 0);
   bool is_max = by == TL_OP_MAX;
   tl_report(s->diags, W0237, op->range,
             is_max ? "the greatest is taken of" : "the least is taken of",
             is_max ? "not -inf" : "not inf");
   tl_help(s->diags, "set them to %s before: tl.where(mask, %.40s, %s), with the mask of the load",
           is_max ? "minus infinity" : "infinity", x->name ? x->name : "x", neutral_of(by));
   tl_note(s->diags, N0200, load->range, "the load, with its mask");
}

/* topk(load(x + i, i < n, other=0.0), 8) */
static void
check_sorted(TlSema *s, TlAffine *a, const TlSorted *x)
{
   const TlType *elem = tl_type_elem(x->tile->type);
   Lanes l = {.affine = a};
   unsigned steps = 0;
   if (elem->kind != TL_TYPE_SCALAR || !tl_dtype_is_float(elem->dtype) ||
       lane_of(&l, x->tile, x->tile->type->rank - 1u) != LANE_ZERO || !l.load || l.has_whole ||
       (x->falls && is_never_negative(x->tile, &steps)))
      return;
   report_end(s, x->range, &l, x->is_part ? "the greatest are taken of" : "the order has",
              neutral_of(x->falls ? TL_OP_MAX : TL_OP_MIN));
}

void
tl_sema_lint_sorted(TlSema *s, TlAffine *a, const TlFunc *f)
{
   for (size_t i = 0; i < s->impl->sorted.len; i++) {
      const TlSorted *x = &s->impl->sorted.data[i];
      if (x->func == f && x->range.file == s->impl->main->file)
         check_sorted(s, a, x);
   }
}

/* ---- where with its sides exchanged ---- */
/* Is v computed, element by element, of what a load gives under the mask, and of nothing else that
 * was loaded? */
static bool
is_loaded_under(const TlValue *v, const TlValue *mask, bool *any, unsigned *steps)
{
   const TlOp *op = v->def;
   uint64_t bits;
   if (tl_is_const(v, &bits))
      return true;
   if (!op || ++*steps > MAX_STEPS)
      return false;
   if (op->opcode == TL_OP_LOAD) {
      const TlValue *own = tl_pred(op);
      bool is_under = own && tl_lint_is_same(own, mask);
      *any |= is_under;
      return is_under || !tl_type_is_tile(v->type);
   }
   if (!tl_type_is_tile(v->type) || op->opcode == TL_OP_SPLAT)
      return true;
   for (unsigned i = 0; i < op->num_args; i++)
      if (!is_loaded_under(tl_arg(op, i), mask, any, steps))
         return false;
   return tl_has_trait(op, TL_TRAIT_ELTWISE);
}

/* where(mask, 0, x) of an x that was loaded under the same mask: none of it is chosen. */
static bool
check_exchanged(TlSema *s, TlAffine *a, const TlOp *op)
{
   const TlValue *mask = tl_arg(op, 0);
   Lanes l = {.affine = a};
   uint64_t bits;
   bool is_open, any = false;
   unsigned steps = 0;
   if (!tl_type_is_tile(mask->type) || !tl_is_const(tl_arg(op, 1), &bits) ||
       tl_is_const(tl_arg(op, 2), &bits) || !is_masked_along(&l, mask, ALL_AXES, &is_open) ||
       is_open || !is_loaded_under(tl_arg(op, 2), mask, &any, &steps) || !any)
      return false;
   tl_report(s->diags, W0295, op->range);
   tl_help(s->diags, "where the condition holds its second argument is taken, else the third: "
                     "tl.where(mask, x, ..)");
   return true;
}

/* What the counts are is subtracted from: lanes that are left out are looked after. */
static bool
is_corrected(const TlOp *op)
{
   for (const TlUse *u = tl_result(op, 0)->uses; u; u = u->next)
      if (u->user->opcode == TL_OP_SUB)
         return true;
   return false;
}

/* histogram(load(x + i, i < n, other=0), 256) */
static void
check_counted(TlSema *s, TlAffine *a, const TlOp *op)
{
   const TlValue *x = tl_arg(op, 0);
   Lanes l = {.affine = a};
   if (tl_pred(op) || op->range.file != s->impl->main->file)
      return;
   Lane lane = lane_of(&l, x, x->type->rank == 1 ? 0 : ALL_AXES);
   if (!l.load || l.has_whole || lane == LANE_OPEN || is_corrected(op))
      return;
   bool is_bare = l.load->num_args < 3;
   const TlValue *mask = tl_pred(l.load);
   tl_report(s->diags, W0237, op->range, "the histogram counts",
             is_bare             ? "undefined"
             : lane == LANE_ZERO ? "0"
                                 : "what 'other' becomes");
   tl_help(s->diags, "give it the mask of the load: tl.histogram(x, %lld, mask=%.40s)",
           (long long)tl_attr_int(op, TL_ATTR_BINS), mask->name ? mask->name : "mask");
   tl_note(s->diags, N0200, l.load->range, "the load, with its mask");
}

/* ---- places that a mask leaves out ---- */
/* The load that an index is computed from; NULL: none, or something chooses or limits on the
 * way. */
static const TlOp *
loaded_place(const TlValue *v, unsigned *steps)
{
   const TlOp *op = v->def, *found = NULL;
   if (!op || ++*steps > MAX_STEPS)
      return NULL;
   if (op->opcode == TL_OP_LOAD) {
      const TlType *elem = tl_type_elem(v->type);
      return elem->kind == TL_TYPE_SCALAR && tl_dtype_is_int(elem->dtype) ? op : NULL;
   }
   bool goes_on = op->opcode == TL_OP_ADDPTR || op->opcode == TL_OP_ADD ||
                  op->opcode == TL_OP_MUL || op->opcode == TL_OP_CAST ||
                  op->opcode == TL_OP_BROADCAST || op->opcode == TL_OP_EXPAND_DIMS;
   for (unsigned i = 0; goes_on && !found && i < op->num_args; i++)
      found = loaded_place(tl_arg(op, i), steps);
   return found;
}

/* Is the mask true of an index 0 that was loaded: (b >= 0) & (b < bins) and nothing else? */
static bool
lets_in_zero(const TlValue *mask, const TlOp *load, unsigned *steps)
{
   const TlOp *op = mask->def;
   uint64_t bits;
   if (!op || ++*steps > MAX_STEPS)
      return false;
   if (op->opcode == TL_OP_AND)
      return lets_in_zero(tl_arg(op, 0), load, steps) && lets_in_zero(tl_arg(op, 1), load, steps);
   bool is_below = op->opcode == TL_OP_LT, is_from = op->opcode == TL_OP_GE;
   if ((!is_below && !is_from) || tl_lint_before_casts(tl_arg(op, 0)) != tl_result(load, 0))
      return false;
   const TlValue *limit = tl_arg(op, 1);
   bool is_const = tl_is_const(limit, &bits);
   if (is_from)
      return is_const && constant_lane(limit, bits) == LANE_ZERO;
   while (limit->def && (limit->def->opcode == TL_OP_SPLAT || limit->def->opcode == TL_OP_CAST))
      limit = tl_arg(limit->def, 0);
   return is_const
             ? constant_lane(tl_arg(op, 1), bits) != LANE_ZERO && !is_negative(tl_arg(op, 1), bits)
             : tl_lint_is_argument(limit);
}

/* b = load(x + i, i < n, other=0); atomic_add(bins + b, 1): lanes left out go to bin 0. */
static void
check_places(TlSema *s, TlAffine *a, const TlOp *op)
{
   unsigned steps = 0;
   const TlOp *load = loaded_place(tl_arg(op, 0), &steps);
   const TlValue *mask = load ? tl_pred(load) : NULL, *own = tl_pred(op);
   Lanes l = {.affine = a};
   uint64_t bits;
   bool is_open, is_bare = mask && load->num_args < 3;
   steps = 0;
   if (!mask || !tl_type_is_tile(mask->type) || op->range.file != s->impl->main->file ||
       (own && !lets_in_zero(own, load, &steps)) ||
       !is_masked_along(&l, mask, ALL_AXES, &is_open) || is_open ||
       (!is_bare && (!tl_is_const(tl_arg(load, 2), &bits) ||
                     constant_lane(tl_arg(load, 2), bits) != LANE_ZERO)))
      return;
   Lanes of = {.affine = a};
   Lane value = lane_of(&of, tl_arg(op, 1), ALL_AXES);
   if (op->opcode != TL_OP_STORE && value != LANE_ANY) /* it adds nothing, or is not known */
      return;
   tl_report(s->diags, W0237, op->range,
             tl_arena_printf(s->arena, "this %s has", tl_source_name(op)),
             is_bare ? "at undefined indices" : "at index 0");
   tl_help(s->diags, "give it the mask of the load%s: mask=%.40s", own ? ", too" : "",
           mask->name ? mask->name : tl_range_text(s, mask->def->range));
   tl_note(s->diags, N0200, load->range, "the load of the index, with its mask");
}

void
tl_sema_lint_lanes(TlSema *s, TlAffine *a, const TlOp *op)
{
   if (op->opcode == TL_OP_ATOMIC_RMW || op->opcode == TL_OP_STORE)
      check_places(s, a, op);
   if (op->opcode == TL_OP_HISTOGRAM)
      check_counted(s, a, op);
   if (op->opcode == TL_OP_SELECT && op->range.file == s->impl->main->file &&
       check_exchanged(s, a, op))
      return;
   bool takes_all =
      op->opcode == TL_OP_REDUCE || /* of a scan from the end they come first */
      (op->opcode == TL_OP_SCAN && op->num_args == 1 && tl_attr_int(op, TL_ATTR_REVERSE));
   TlOpcode by = takes_all ? tl_combined_by(op) : TL_OP_COUNT;
   if (by == TL_OP_COUNT || op->range.file != s->impl->main->file)
      return;
   const TlValue *x = tl_arg(op, 0);
   const TlType *elem = tl_type_elem(x->type);
   bool is_whole = x->def && x->def->opcode == TL_OP_RESHAPE;
   Lanes l = {.affine = a};
   unsigned axis = is_whole ? ALL_AXES : (unsigned)tl_attr_int(op, TL_ATTR_AXIS), steps = 0;
   Lane lane = lane_of(&l, x, axis);
   bool is_float = elem->kind == TL_TYPE_SCALAR && tl_dtype_is_float(elem->dtype);
   if ((!l.load && !l.cut) || l.has_whole || lane == LANE_OPEN || (!is_float && by != TL_OP_ADD))
      return;
   if (by == TL_OP_ADD && lane != LANE_ZERO && !adds_nothing(&l, x, axis)) {
      if (l.load)
         report_sum(s, op, l.load);
      else if (is_exponential(x))
         report_cut_sum(s, op, l.cut);
   }
   if (lane == LANE_ANY && l.load && (by == TL_OP_MAX || by == TL_OP_MIN) &&
       !is_base(tl_result(op, 0), &steps)) {
      report_extreme(s, op, l.load, by);
      return;
   }
   steps = 0;
   bool counts = lane == LANE_ZERO && by != TL_OP_ADD && !is_base(tl_result(op, 0), &steps);
   steps = 0;
   if (counts && (by != TL_OP_MAX || !is_never_negative(x, &steps)))
      report_end(s, op->range, &l,
                 by == TL_OP_MAX   ? "the greatest is taken of"
                 : by == TL_OP_MIN ? "the least is taken of"
                                   : "the product has",
                 neutral_of(by));
}
