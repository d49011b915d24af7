/* From sums to boxes: the mask gives the dimensions their sizes and origins, the terms with an
 * index their strides, and what is left goes to the base, to coordinates or makes dimensions of its
 * own.
 * Then what hardware asks of tensor maps: alignment, rank, coordinates that are not negative. */
#include "ir/affine_impl.h"
#include "ir/control.h"
#include "ir/launch_expr.h"
#include "ir/walk.h"

#include <assert.h>
#include <string.h>

enum { MAP_RANK = 5, MAP_ALIGN = 16 };

/* ---- what is the same in the whole launch ---- */
static bool
is_uniform_factor(TlAffine *a, TlFactor f)
{
   uint8_t *known = &a->is_uniform[f.value->id];
   if (a->is_own)
      return !a->scope || !tl_is_defined_in(f.value, a->scope);
   if (!*known && !f.is_iteration)
      *known = 1 + (tl_launch_expr(a->arena, a->func, f.value) != NULL);
   return !f.is_iteration && *known == 2;
}

static bool
is_uniform(TlAffine *a, const TlTerm *t)
{
   bool all = true;
   for (unsigned i = 0; all && i < t->num; i++)
      all = is_uniform_factor(a, t->factor[i]);
   return all;
}

static bool
has_uniform_factor(TlAffine *a, const TlTerm *t)
{
   for (unsigned i = 0; i < t->num; i++)
      if (is_uniform_factor(a, t->factor[i]))
         return true;
   return false;
}

/* The uniform factors with the scale, and the others. */
static void
split_term(TlAffine *a, const TlTerm *t, TlTerm *uniform, TlTerm *varying)
{
   *uniform = tl_aff_constant_term(t->scale);
   *varying = tl_aff_constant_term(1);
   for (unsigned i = 0; i < t->num; i++) {
      TlTerm *to = is_uniform_factor(a, t->factor[i]) ? uniform : varying;
      to->factor[to->num++] = t->factor[i];
   }
}

/* ---- the access ---- */
/* What varies and what is the same in the launch, without the index. */
static bool
split_sum(TlAffine *a, const TlSum *s, TlSum *varying, TlSum *uniform)
{
   for (unsigned i = 0; i < s->num; i++) {
      const TlTerm *t = &s->term[i];
      if (t->dim < 0 && !tl_aff_add_term(a, is_uniform(a, t) ? uniform : varying, *t))
         return false;
   }
   return true;
}

static bool
same_sum(TlAffine *a, const TlSum *x, const TlSum *y)
{
   TlSum difference = {0};
   return tl_aff_add_scaled(a, &difference, x, 1) && tl_aff_add_scaled(a, &difference, y, -1) &&
          !difference.num;
}

static const TlTerm *
only_index(const TlSum *s)
{
   const TlTerm *index = NULL;
   for (unsigned i = 0; i < s->num; i++) {
      if (s->term[i].dim < 0)
         continue;
      if (index || s->term[i].num || (s->term[i].scale != 1 && s->term[i].scale != -1))
         return NULL;
      index = &s->term[i];
   }
   return index;
}

/* index + start < bound, or index + start + low >= 0.  The comparison's own side with the index
 * says what start is; what varies on the other side comes to it: `i < K - k` is `i + k < K`. */
static bool
take_condition(TlAffine *a, const TlAffCondition *c, TlTileAccess *out, TlSum *low, bool *has_start)
{
   const TlTerm *index = only_index(&c->positive);
   if (!index)
      return tl_aff_refuse(a, "its mask has a condition that is no bound of one index");
   TlTileDim *d = &out->dim[index->dim];
   bool is_upper = index->scale < 0;
   int64_t sign = is_upper ? -1 : 1;
   TlSum other = {0}, start = {0}, moving = {0}, fixed = {0}, uniform = {0};
   if (!tl_aff_add_scaled(a, &other, &c->positive, 1) ||
       !tl_aff_add_scaled(a, &other, &c->index, -sign) || !split_sum(a, &other, &moving, &fixed) ||
       !split_sum(a, &c->index, &start, &uniform) || !tl_aff_add_scaled(a, &start, &uniform, 1) ||
       !tl_aff_add_scaled(a, &start, &moving, sign))
      return false;
   if ((is_upper ? d->has_bound : d->checks_below) ||
       (has_start[index->dim] && !same_sum(a, &d->start, &start)))
      return tl_aff_refuse(a, "its mask bounds an index twice");
   d->start = start;
   has_start[index->dim] = true;
   d->has_bound |= is_upper;
   d->checks_below |= !is_upper;
   if (is_upper)
      d->bound = fixed;
   else
      low[index->dim] = fixed;
   return is_upper || tl_aff_add_term(a, &low[index->dim], tl_aff_constant_term(-1));
}

/* ---- rows that wrap around ----
 * A row of A beyond its last wraps around to another; that only reaches the same row of the dot,
 * and what is stored of that is masked by the index before it wrapped: then it may as well be 0.
 * The walk goes down from the load with the row's dimension. */
enum { MAX_WALK = 128 };

typedef struct Row {
   const TlValue *value;
   int dim;
} Row;

typedef struct RowWalk {
   TlAffine *a;
   const TlSum *within; /* positive for the rows that stay */
   Row row[MAX_WALK];
   unsigned num;
} RowWalk;

static bool
row_reaches(RowWalk *w, const TlValue *v, int dim)
{
   bool is_tile = v->type->kind == TL_TYPE_TILE || v->type->kind == TL_TYPE_MEMDESC;
   for (unsigned i = 0; i < w->num; i++)
      if (w->row[i].value == v)
         return w->row[i].dim == dim;
   if (w->num == MAX_WALK || !is_tile || dim < 0)
      return false;
   w->row[w->num++] = (Row){v, dim};
   return true;
}

static bool
is_condition(RowWalk *w, const TlSum *s, int dim)
{
   TlSum difference = {0};
   if (!tl_aff_add_scaled(w->a, &difference, s, 1))
      return false;
   for (unsigned i = 0; i < w->within->num; i++) {
      TlTerm t = w->within->term[i];
      t.scale = -t.scale;
      t.dim = t.dim < 0 ? -1 : dim;
      if (!tl_aff_add_term(w->a, &difference, t))
         return false;
   }
   return difference.num == 0;
}

static bool
is_masked(RowWalk *w, const TlOp *store, int dim)
{
   TlAffConditions c = {.num = 0};
   bool found = false;
   if (!tl_pred(store) || !tl_aff_conditions_of(w->a, tl_pred(store), &c))
      return false;
   for (unsigned i = 0; i < c.num; i++)
      found |= is_condition(w, &c.all[i].positive, dim);
   return found;
}

static bool
row_of_dot(RowWalk *w, const TlOp *dot, unsigned arg, int dim)
{
   int last = dot->results[0].type->rank - 1, kept = arg == 0 ? last - 1 : arg == 1 ? last : dim;
   return dim == kept && row_reaches(w, tl_result(dot, 0), dim);
}

static bool
row_of_yield(RowWalk *w, const TlOp *end, unsigned arg, int dim)
{
   const TlOp *op = tl_parent(end);
   if (!op || (op->opcode != TL_OP_FOR && op->opcode != TL_OP_IF))
      return false;
   return row_reaches(w, tl_result(op, arg), dim) &&
          (op->opcode == TL_OP_IF || row_reaches(w, tl_carried(end->block, arg), dim));
}

static bool
row_use(RowWalk *w, const TlOp *op, unsigned arg, int dim)
{
   if (tl_aff_is_moved(op) || tl_has_trait(op, TL_TRAIT_ELTWISE)) {
      bool joins = op->opcode == TL_OP_BROADCAST && /* a row of 1 becomes many */
                   tl_arg(op, arg)->type->shape[dim] != tl_result(op, 0)->type->shape[dim];
      return !joins && row_reaches(w, tl_result(op, 0), tl_aff_moved_dim(op, dim));
   }
   switch ((int)op->opcode) {
   case TL_OP_LOCAL_ALLOC:
   case TL_OP_LOCAL_LOAD:
   case TL_OP_LOCAL_TRANS:
      return row_reaches(w, tl_result(op, 0), tl_aff_moved_dim(op, dim));
   case TL_OP_DOT:
      return row_of_dot(w, op, arg, dim);
   case TL_OP_FOR:
      return arg >= tl_first_init(op) &&
             row_reaches(w, tl_carried(op->regions[0]->block, arg - tl_first_init(op)), dim) &&
             row_reaches(w, tl_result(op, arg - tl_first_init(op)), dim);
   case TL_OP_YIELD:
      return row_of_yield(w, op, arg, dim);
   case TL_OP_STORE:
      return arg == 1 && is_masked(w, op, dim);
   }
   return false;
}

static bool
is_row_dropped(TlAffine *a, const TlOp *load, const TlSum *within)
{
   RowWalk *w = tl_new(a->arena, RowWalk);
   *w = (RowWalk){.a = a, .within = within};
   int dim = -1;
   for (unsigned i = 0; i < within->num; i++)
      dim = within->term[i].dim >= 0 ? within->term[i].dim : dim;
   const char *why = a->why;
   bool ok = load->opcode == TL_OP_LOAD && row_reaches(w, tl_result(load, 0), dim);
   for (unsigned i = 0; ok && i < w->num; i++)
      for (const TlUse *u = w->row[i].value->uses; ok && u; u = u->next)
         ok = row_use(w, u->user, (unsigned)(u - u->user->args), w->row[i].dim);
   a->why = why;
   return ok || tl_aff_refuse(a, "an index wraps around, and what comes of it is not masked off");
}

/* Sizes, then origins, of the dimensions that the mask bounds. */
static bool
take_mask(TlAffine *a, const TlOp *op, const TlAffConditions *only, TlTileAccess *out,
          bool *has_start)
{
   TlAffConditions c = {.num = 0};
   TlSum low[TL_MAX_RANK] = {{0}};
   if (tl_pred(op) && !tl_aff_conditions_of(a, tl_pred(op), &c))
      return false;
   for (unsigned i = 0; i < c.num; i++)
      if (!take_condition(a, &c.all[i], out, low, has_start))
         return false;
   for (unsigned i = 0; only && i < only->num; i++)
      if (!take_condition(a, &only->all[i], out, low, has_start) ||
          !is_row_dropped(a, op, &only->all[i].positive))
         return false;
   for (unsigned d = 0; d < out->rank; d++)
      if (!tl_aff_add_scaled(a, &out->dim[d].start, &low[d], 1) ||
          !tl_aff_add_scaled(a, &out->dim[d].bound, &low[d], 1))
         return false;
   return true;
}

static bool
take_strides(TlAffine *a, const TlSum *s, TlTileAccess *out)
{
   for (unsigned i = 0; i < s->num; i++) {
      TlTerm stride = s->term[i];
      if (stride.dim < 0)
         continue;
      TlTileDim *d = &out->dim[stride.dim];
      stride.dim = -1;
      if (d->stride.scale)
         return tl_aff_refuse(a, "an index has two strides");
      if (!is_uniform(a, &stride))
         return tl_aff_refuse(a, a->is_own ? "a stride is not known before the loop"
                                           : "a stride is not known at the launch");
      if (stride.scale < 0)
         return tl_aff_refuse(a, "an index counts down");
      d->stride = stride;
   }
   return true;
}

/* The dimension without bounds, of the most factors, in whose start the term fits; -1: none.  What
 * is a size times an index, as a batch or a head, is a dimension of its own: coordinates have 32
 * bits. */
static int
dim_for(TlAffine *a, const TlTerm *t, const TlTileAccess *out, const bool *has_start,
        TlTerm *quotient)
{
   int best = -1;
   TlTerm q;
   for (unsigned d = 0; d < out->rank; d++)
      if (!has_start[d] && tl_term_quotient(t, &out->dim[d].stride, &q) &&
          !has_uniform_factor(a, &q) &&
          (best < 0 || out->dim[d].stride.num > out->dim[best].stride.num ||
           (out->dim[d].stride.num == out->dim[best].stride.num &&
            out->dim[d].stride.scale > out->dim[best].stride.scale))) {
         best = (int)d;
         *quotient = q;
      }
   return best;
}

static bool
take_outer(TlAffine *a, const TlTerm *t, TlTileAccess *out)
{
   TlTerm stride, index;
   split_term(a, t, &stride, &index);
   if (stride.scale < 0)
      return tl_aff_refuse(a, "its mask bounds other indices than its addresses have");
   for (unsigned k = 0; k < out->num_outer; k++)
      if (tl_aff_same_product(&out->outer[k].stride, &stride) &&
          out->outer[k].stride.scale == stride.scale)
         return tl_aff_add_term(a, &out->outer[k].index, index);
   if (out->num_outer == TL_OUTER_DIMS)
      return tl_aff_refuse(a, "it has more dimensions than a tensor map");
   out->outer[out->num_outer].stride = stride;
   return tl_aff_add_term(a, &out->outer[out->num_outer++].index, index);
}

/* What is left of the addresses: to the base, to coordinates, or dimensions of their own. */
static bool
take_rest(TlAffine *a, const TlSum *s, TlTileAccess *out, const bool *has_start)
{
   TlSum rest = {0};
   for (unsigned i = 0; i < s->num; i++)
      if (s->term[i].dim < 0 && !tl_aff_add_term(a, &rest, s->term[i]))
         return false;
   for (unsigned d = 0; d < out->rank; d++) {
      TlSum stride = {&out->dim[d].stride, out->dim[d].stride.scale != 0}, part = {0};
      if (!tl_aff_add_product(a, &part, &out->dim[d].start, &stride) ||
          !tl_aff_add_scaled(a, &rest, &part, -1))
         return false;
   }
   for (unsigned i = 0; i < rest.num; i++) {
      TlTerm *t = &rest.term[i], q;
      int d = is_uniform(a, t) ? -1 : dim_for(a, t, out, has_start, &q);
      bool ok = is_uniform(a, t) ? tl_aff_add_term(a, &out->offset, *t)
                : d >= 0         ? tl_aff_add_term(a, &out->dim[d].start, q)
                                 : take_outer(a, t, out);
      if (!ok)
         return false;
   }
   return true;
}

/* ---- what hardware asks for ---- */
static uint32_t
divisor_of(TlAffine *a, const TlTerm *t)
{
   uint64_t d = (uint64_t)t->scale & -(uint64_t)t->scale;
   for (unsigned i = 0; i < t->num && d < MAP_ALIGN; i++)
      if (!t->factor[i].is_iteration)
         d *= tl_axis_info(a->facts, t->factor[i].value)->divisibility[0];
   return d > MAP_ALIGN ? MAP_ALIGN : (uint32_t)d;
}

static bool
is_aligned(TlAffine *a, const TlTerm *t, unsigned elem_bytes)
{
   return divisor_of(a, t) * elem_bytes % MAP_ALIGN == 0;
}

bool
tl_sum_is_aligned(TlAffine *a, const TlSum *sum, unsigned elem_bytes)
{
   for (unsigned i = 0; i < sum->num; i++)
      if (!is_aligned(a, &sum->term[i], elem_bytes))
         return false;
   return true;
}

/* Rows of a box begin at whole chunks: an H200 answers others with "illegal instruction". */
static bool
begins_at_chunk(TlAffine *a, const TlTileDim *d, unsigned bytes)
{
   return tl_sum_is_aligned(a, &d->start, bytes) ||
          tl_aff_refuse(a, "its rows are not known to begin at a multiple of 16 bytes");
}

static bool
check_alignment(TlAffine *a, const TlTileAccess *out, unsigned bytes)
{
   static const char odd[] = "a stride is not known to be a multiple of 16 bytes";
   unsigned inner = 0;
   for (unsigned d = 0; d < out->rank; d++) {
      const TlTerm *s = &out->dim[d].stride;
      bool is_inner = s->scale == 1 && !s->num;
      inner += is_inner;
      if (is_inner && !begins_at_chunk(a, &out->dim[d], bytes))
         return false;
      if (!is_inner && s->scale && !is_aligned(a, s, bytes))
         return tl_aff_refuse(a, odd);
   }
   if (inner != 1)
      return tl_aff_refuse(a, inner ? "two of its dimensions are contiguous"
                                    : "none of its dimensions is known to be contiguous");
   for (unsigned k = 0; k < out->num_outer; k++)
      if (!is_aligned(a, &out->outer[k].stride, bytes))
         return tl_aff_refuse(a, odd);
   for (unsigned i = 0; i < out->offset.num; i++)
      if (!is_aligned(a, &out->offset.term[i], bytes))
         return tl_aff_refuse(a, "its base is not known to be a multiple of 16 bytes");
   return tl_axis_info(a->facts, out->base)->divisibility[0] % MAP_ALIGN == 0 ||
          tl_aff_refuse(a, "its base is not known to be a multiple of 16 bytes");
}

static bool
is_of(const TlTerm *t, const TlValue *v)
{
   return t->scale > 0 && t->num == 1 && t->factor[0].value == v && !t->factor[0].is_iteration;
}

/* Is it a size or a stride, up to a factor?  Then it is not negative where there is a map. */
static bool
is_seen_by_map(const TlTileAccess *x, const TlValue *v)
{
   bool seen = false;
   for (unsigned d = 0; d < x->rank; d++)
      seen |= is_of(&x->dim[d].stride, v) || (x->dim[d].has_bound && x->dim[d].bound.num == 1 &&
                                              is_of(&x->dim[d].bound.term[0], v));
   for (unsigned k = 0; k < x->num_outer; k++)
      seen |= is_of(&x->outer[k].stride, v);
   return seen;
}

/* Arguments are taken to be sizes and strides, and these positive: a launch with others has no map.
 * Quotients are block numbers, as in analysis.h. */
static bool is_non_negative(TlAffine *a, const TlSum *s);

static bool
is_difference(TlAffine *a, const TlValue *v)
{
   const TlSum *s = &tl_aff_form_of(a, v)->sum;
   for (unsigned i = 0; i < s->num; i++) /* of other values than itself */
      for (unsigned k = 0; k < s->term[i].num; k++)
         if (s->term[i].factor[k].value == v)
            return false;
   return is_non_negative(a, s);
}

static bool
is_index(TlAffine *a, const TlValue *v, unsigned depth)
{
   enum { MOST = 12 };
   const TlAxisInfo *info = tl_axis_info(a->facts, v);
   if ((info->has_range && info->lo >= 0) ||
       (is_uniform_factor(a, (TlFactor){v, false}) &&
        (!a->doubts_arguments || is_seen_by_map(a->access, v))))
      return true;
   if (!v->def || depth == MOST)
      return false;
   const TlOp *op = v->def;
   switch ((int)op->opcode) {
   case TL_OP_DIV:
   case TL_OP_REM:
   case TL_OP_CAST:
   case TL_OP_HINT:
      return is_index(a, tl_arg(op, 0), depth + 1);
   case TL_OP_MAX:
      return is_index(a, tl_arg(op, 0), depth + 1) || is_index(a, tl_arg(op, 1), depth + 1);
   case TL_OP_ADD:
   case TL_OP_MUL:
   case TL_OP_MIN:
      return is_index(a, tl_arg(op, 0), depth + 1) && is_index(a, tl_arg(op, 1), depth + 1);
   case TL_OP_SELECT:
      return is_index(a, tl_arg(op, 1), depth + 1) && is_index(a, tl_arg(op, 2), depth + 1);
   case TL_OP_SUB: /* programs from the last one on */
      return is_difference(a, v);
   }
   return false;
}

static bool
is_sum_of_indices(TlAffine *a, const TlSum *s)
{
   for (unsigned i = 0; i < s->num; i++) {
      const TlTerm *t = &s->term[i];
      for (unsigned k = 0; k < t->num; k++)
         if (!t->factor[k].is_iteration && !is_index(a, t->factor[k].value, 0))
            return false;
      if (t->scale < 0)
         return false;
   }
   return true;
}

static bool
is_position(const TlTerm *t, TlOpcode opcode)
{
   return t->num == 1 && !t->factor[0].is_iteration && tl_value_is(t->factor[0].value, opcode);
}

/* The number of programs along the axis, where the sum has it. */
static const TlTerm *
num_programs_of(const TlSum *s, int64_t axis)
{
   for (unsigned i = 0; i < s->num; i++)
      if (is_position(&s->term[i], TL_OP_NUM_PROGRAMS) &&
          tl_attr_int(s->term[i].factor[0].value->def, TL_ATTR_AXIS) == axis)
         return &s->term[i];
   return NULL;
}

/* The value as a sum in which the number of programs is the one that s counts from. */
static bool
add_value(TlAffine *a, const TlSum *s, const TlValue *v, TlSum *out)
{
   const TlTerm *num = NULL;
   if (tl_value_is(v, TL_OP_NUM_PROGRAMS))
      num = num_programs_of(s, tl_attr_int(v->def, TL_ATTR_AXIS));
   if (num)
      return tl_aff_add_term(a, out, tl_aff_factor_term(num->factor[0].value, false));
   const TlAffForm *f = tl_aff_form_of(a, v);
   return f->is_known && !f->base && !f->only && tl_aff_add_scaled(a, out, &f->sum, 1);
}

/* x = quotient * by, with `by` a factor of each term. */
static bool
divide(TlAffine *a, const TlSum *x, const TlTerm *by, TlSum *quotient)
{
   TlTerm q;
   for (unsigned i = 0; i < x->num; i++)
      if (by->scale <= 0 || !tl_term_quotient(&x->term[i], by, &q) ||
          !tl_aff_add_term(a, quotient, q))
         return false;
   return x->num > 0;
}

/* What v, which is not negative, is less than: v is the program's number, a loop's index, a
 * remainder, or the quotient of such a number.  What divides the number's end is taken out of
 * it; another divisor leaves it. */
static bool
end_of(TlAffine *a, const TlSum *s, const TlValue *v, TlSum *end)
{
   const TlOp *op = v->def, *loop = op ? NULL : tl_value_block(v)->region->parent;
   if (loop && loop->opcode == TL_OP_FOR && tl_for_index(loop) == v) {
      int64_t step;
      const TlAxisInfo *by = tl_axis_info(a->facts, tl_for_step(loop));
      bool is_up = (by->has_range && by->lo > 0) || (tl_axis_known(by, &step) && step > 0);
      return is_up && add_value(a, s, tl_for_upper(loop), end);
   }
   if (!op)
      return false;
   if (op->opcode == TL_OP_PROGRAM_ID) {
      const TlTerm *num = num_programs_of(s, tl_attr_int(op, TL_ATTR_AXIS));
      return num && tl_aff_add_term(a, end, tl_aff_factor_term(num->factor[0].value, false));
   }
   if ((op->opcode != TL_OP_REM && op->opcode != TL_OP_DIV) || !is_index(a, tl_arg(op, 0), 0))
      return false;
   TlSum whole = {0}, by = {0};
   if (op->opcode == TL_OP_REM)
      return is_index(a, tl_arg(op, 1), 0) && add_value(a, s, tl_arg(op, 1), end);
   if (!end_of(a, s, tl_arg(op, 0), &whole))
      return false;
   /* 0 <= number < whole = end * by: they have one sign, and neither is 0 */
   if (add_value(a, s, tl_arg(op, 1), &by) && by.num == 1 && divide(a, &whole, &by.term[0], end) &&
       is_sum_of_indices(a, end))
      return true;
   *end = whole; /* no quotient is larger than the number */
   return is_index(a, tl_arg(op, 1), 0);
}

/* Adds what a term of one factor with a negative scale is at least: the factor is at most its end
 * less 1. */
static bool
add_by_end(TlAffine *a, const TlSum *s, const TlTerm *t, TlSum *out)
{
   TlSum end = {0};
   return t->num == 1 && !t->factor[0].is_iteration && end_of(a, s, t->factor[0].value, &end) &&
          tl_aff_add_scaled(a, out, &end, t->scale) &&
          tl_aff_add_term(a, out, tl_aff_constant_term(-t->scale));
}

/* iteration = (index - lower) / step, in a term that has it; false: it cannot be had so. */
static bool
add_by_index(TlAffine *a, const TlTerm *t, TlSum *out)
{
   unsigned at = 0;
   int64_t step;
   while (at < t->num && !t->factor[at].is_iteration)
      at++;
   if (at == t->num)
      return false;
   const TlValue *index = t->factor[at].value;
   const TlOp *loop = tl_value_block(index)->region->parent;
   if (!tl_axis_known(tl_axis_info(a->facts, tl_for_step(loop)), &step) || !step || t->scale % step)
      return false;
   TlTerm rest = {.scale = t->scale / step, .dim = -1}, self = tl_aff_factor_term(index, false),
          product;
   for (unsigned k = 0; k < t->num; k++)
      if (k != at)
         rest.factor[rest.num++] = t->factor[k];
   TlTerm minus = rest;
   minus.scale = -rest.scale;
   return tl_aff_times(a, &rest, &self, &product) && tl_aff_add_term(a, out, product) &&
          tl_aff_add_product(a, out, &(TlSum){&minus, 1},
                             &tl_aff_form_of(a, tl_for_lower(loop))->sum);
}

/* A sum that is not larger, without what counts down where that has an end: a loop's index, and
 * programs or tiles from the last one on. */
static bool
least_of(TlAffine *a, const TlSum *s, TlSum *out)
{
   for (unsigned i = 0; i < s->num; i++) {
      const TlTerm *t = &s->term[i];
      if (t->scale < 0 && (add_by_end(a, s, t, out) || add_by_index(a, t, out)))
         continue;
      if (!tl_aff_add_term(a, out, *t))
         return false;
   }
   return true;
}

static bool
is_non_negative(TlAffine *a, const TlSum *s)
{
   TlSum other = {0};
   return is_sum_of_indices(a, s) || (least_of(a, s, &other) && is_sum_of_indices(a, &other));
}

static bool
check_signs(TlAffine *a, const TlTileAccess *out)
{
   bool ok = true;
   a->access = out;
   for (unsigned d = 0; d < out->rank; d++)
      ok = ok && (out->dim[d].checks_below || is_non_negative(a, &out->dim[d].start));
   for (unsigned k = 0; k < out->num_outer; k++)
      ok = ok && is_non_negative(a, &out->outer[k].index);
   return ok || tl_aff_refuse(a, "a coordinate may be negative");
}

static bool
check_fill(TlAffine *a, const TlOp *op, TlTileAccess *out)
{
   uint64_t bits;
   if (op->opcode != TL_OP_LOAD || op->num_args < 3)
      return true;
   const TlValue *other = tl_arg(op, 2);
   TlDtype t = tl_type_elem(other->type)->dtype;
   if (!tl_is_const(other, &bits))
      return tl_aff_refuse(a, "what its mask leaves out is neither 0 nor NaN");
   if (!bits)
      return true;
   double v = tl_dtype_is_float(t) ? tl_bits_to_double(t, bits) : 0;
   out->fill_nan = v != v;
   return out->fill_nan || v == 0 ||
          tl_aff_refuse(a, "what its mask leaves out is neither 0 nor NaN");
}

/* A map of its own is made anew when its tensor is another: that is not to be another one for each
 * tile of one tensor.  Only of a descriptor it is known that no stride is negative, where no launch
 * looks at it. */
static bool
check_own_base(TlAffine *a, const TlTileAccess *out)
{
   const TlOp *def = out->base->def;
   if (!def || def->opcode != TL_OP_HINT || !tl_attr_int(def, TL_ATTR_TENSOR))
      return tl_aff_refuse(a, "its base is not a parameter of the kernel");
   if (out->base->type->kind != TL_TYPE_PTR || (a->scope && tl_is_defined_in(out->base, a->scope)))
      return tl_aff_refuse(a, "its base is not known before the loop");
   return !out->offset.num ||
          tl_aff_refuse(a, "its tensor begins elsewhere in each tile: no mask bounds an index");
}

static bool
check_base(TlAffine *a, const TlOp *op, const TlTileAccess *out)
{
   if (a->is_own)
      return true; /* check_own_base */
   const TlBlock *body = a->func->body->block;
   for (uint32_t p = 0, i = 0; p < a->func->num_params; p++) {
      if (!a->func->params[p].is_runtime)
         continue;
      if (body->args[i++] == out->base)
         return op->opcode != TL_OP_LOAD || !a->written[p] ||
                tl_aff_refuse(a, "the kernel writes to the memory it reads");
   }
   return tl_aff_refuse(a, "its base is not a parameter of the kernel");
}

static bool
check_sizes(TlAffine *a, const TlOp *op, const TlTileAccess *out)
{
   const TlType *tile = tl_arg(op, 0)->type;
   for (unsigned d = 0; d < out->rank; d++)
      if (tile->shape[d] > 1 && !out->dim[d].stride.scale)
         return tl_aff_refuse(a, "its elements repeat along a dimension");
   return out->rank + out->num_outer <= MAP_RANK ||
          tl_aff_refuse(a, "it has more dimensions than a tensor map");
}

bool
tl_tile_access(TlAffine *a, const TlOp *op, TlTileAccess *out)
{
   assert(tl_has_trait(op, TL_TRAIT_ACCESS));
   const TlType *tile = tl_arg(op, 0)->type;
   bool has_start[TL_MAX_RANK] = {false};
   *out = (TlTileAccess){.rank = tile->rank};
   a->why = NULL;
   bool ok = tile->kind == TL_TYPE_TILE || tl_aff_refuse(a, "it is one element");
   const TlAffForm *f = ok ? tl_aff_form_of(a, tl_arg(op, 0)) : NULL;
   ok = ok && (f->is_known || tl_aff_refuse(a, f->why));
   if (ok) {
      const TlType *elem = tl_type_elem(tile)->elem;
      unsigned bytes = elem->kind == TL_TYPE_PTR ? 8 : tl_dtype_info[elem->dtype].bytes;
      out->base = f->base;
      ok = check_base(a, op, out) && check_fill(a, op, out) && take_strides(a, &f->sum, out) &&
           take_mask(a, op, f->only, out, has_start) && take_rest(a, &f->sum, out, has_start) &&
           (!a->is_own || check_own_base(a, out)) && check_sizes(a, op, out) &&
           check_alignment(a, out, bytes) && check_signs(a, out);
   }
   out->why = ok ? NULL : a->why ? a->why : tl_aff_no_sum;
   return ok;
}

bool
tl_own_tile_access(TlAffine *a, const TlOp *op, TlTileAccess *out)
{
   if (!a->own) {
      a->own = tl_affine_new(a->arena, a->func);
      a->own->is_own = a->own->doubts_arguments = true;
   }
   const TlOp *loop = op->opcode == TL_OP_LOAD ? tl_parent(op) : NULL;
   while (loop && !tl_is_loop(loop))
      loop = tl_parent(loop);
   a->own->scope = loop;
   return tl_tile_access(a->own, op, out);
}

bool
tl_any_tile_access(TlAffine *a, const TlOp *op, TlTileAccess *out, bool *is_own)
{
   *is_own = false;
   if (tl_tile_access(a, op, out))
      return true;
   const char *why = out->why;
   bool is_parameter = !out->base || !out->base->def;
   *is_own = tl_own_tile_access(a, op, out);
   if (!*is_own && is_parameter)
      out->why = why;
   return *is_own;
}

/* y - x where that is one number. */
static bool
distance(TlAffine *a, const TlSum *x, const TlSum *y, int64_t *out)
{
   TlSum d = {0};
   if (!tl_aff_add_scaled(a, &d, y, 1) || !tl_aff_add_scaled(a, &d, x, -1) || d.num > 1 ||
       (d.num && d.term[0].num))
      return false;
   *out = d.num ? d.term[0].scale : 0;
   return true;
}

bool
tl_tiles_share_tensor(TlAffine *a, const TlTileAccess *x, const TlTileAccess *y)
{
   bool is_one = x->base == y->base && x->rank == y->rank && x->num_outer == y->num_outer &&
                 same_sum(a, &x->offset, &y->offset);
   for (unsigned d = 0; is_one && d < x->rank; d++)
      is_one = x->dim[d].stride.scale == y->dim[d].stride.scale &&
               tl_aff_same_product(&x->dim[d].stride, &y->dim[d].stride);
   for (unsigned k = 0; is_one && k < x->num_outer; k++)
      is_one = x->outer[k].stride.scale == y->outer[k].stride.scale &&
               tl_aff_same_product(&x->outer[k].stride, &y->outer[k].stride);
   return is_one;
}

bool
tl_tiles_are_apart(TlAffine *a, const TlTileAccess *x, const TlTileAccess *y, const uint32_t *shape)
{
   bool is_apart = false;
   if (!tl_tiles_share_tensor(a, x, y))
      return false;
   for (unsigned d = 0; d < x->rank; d++) {
      int64_t by;
      if (distance(a, &x->dim[d].start, &y->dim[d].start, &by))
         is_apart |= by >= (int64_t)shape[d] || by <= -(int64_t)shape[d];
   }
   return is_apart;
}

const TlOp *
tl_dot_load(const TlOp *dot, unsigned i)
{
   const TlOp *op = tl_arg(dot, i)->def;
   while (op && (tl_aff_is_moved(op) || op->opcode == TL_OP_RESHAPE))
      op = tl_arg(op, 0)->def;
   return op && op->opcode == TL_OP_LOAD ? op : NULL;
}
