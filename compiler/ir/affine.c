/* Sums of products over scalars and tile indices, by one walk up the definitions.
 *
 * A tile of integers or pointers is a sum of terms; add, sub, mul, casts and shape operations keep
 * it one.  A loop's carried value whose next one is itself plus what the loop does not change is
 * its initial value plus iteration times that.  Masks are conjunctions of comparisons, each a sum
 * that must be positive.  What is no such sum is refused with a reason.
 *
 * Invariant: terms of one sum differ in factors or dimension; factors are sorted; each scale has
 * a negative, and is not 0. */
#include "ir/affine_impl.h"
#include "ir/control.h"
#include "ir/walk.h"
#include "ir/written.h"

#include <assert.h>
#include <string.h>

enum { MAX_DEPTH = 256, FIRST_ROOM = 4 };

const char tl_aff_no_sum[] = "its addresses are no sums of indices times strides";
static const char too_large[] = "its offsets are too large";

/* The first reason is the one told. */
bool
tl_aff_refuse(TlAffine *a, const char *why)
{
   if (!a->why)
      a->why = why;
   return false;
}

/* ---- terms and sums ---- */
static uint64_t
key_of(TlFactor f)
{
   return (uint64_t)f.value->id << 1 | f.is_iteration;
}

bool
tl_aff_same_product(const TlTerm *x, const TlTerm *y)
{
   bool same = x->num == y->num && x->dim == y->dim;
   for (unsigned i = 0; same && i < x->num; i++)
      same = key_of(x->factor[i]) == key_of(y->factor[i]);
   return same;
}

/* Terms come in arrays that double: how many there are tells how many there is room for. */
static unsigned
room_for(unsigned num)
{
   unsigned room = num ? FIRST_ROOM : 0;
   while (room < num)
      room *= 2;
   return room;
}

static TlTerm *
copied_terms(TlAffine *a, const TlTerm *from, unsigned num, unsigned room)
{
   TlTerm *to = tl_new_array(a->arena, TlTerm, room);
   if (num)
      memcpy(to, from, num * sizeof *to);
   return to;
}

bool
tl_aff_add_term(TlAffine *a, TlSum *s, TlTerm t)
{
   for (unsigned i = 0; i < s->num; i++) {
      if (!tl_aff_same_product(&s->term[i], &t))
         continue;
      if (__builtin_add_overflow(s->term[i].scale, t.scale, &t.scale) || t.scale == INT64_MIN)
         return tl_aff_refuse(a, too_large);
      s->term[i].scale = t.scale;
      if (!s->term[i].scale)
         s->term[i] = s->term[--s->num];
      return true;
   }
   if (!t.scale)
      return true;
   if (t.scale == INT64_MIN)
      return tl_aff_refuse(a, too_large);
   if (s->num == TL_AFF_TERMS)
      return tl_aff_refuse(a, "its addresses have too many parts");
   if (s->num == room_for(s->num))
      s->term = copied_terms(a, s->term, s->num, room_for(s->num + 1));
   s->term[s->num++] = t;
   return true;
}

bool
tl_aff_add_scaled(TlAffine *a, TlSum *s, const TlSum *x, int64_t scale)
{
   for (unsigned i = 0; i < x->num; i++) {
      TlTerm t = x->term[i];
      if (__builtin_mul_overflow(t.scale, scale, &t.scale))
         return tl_aff_refuse(a, too_large);
      if (!tl_aff_add_term(a, s, t))
         return false;
   }
   return true;
}

bool
tl_aff_times(TlAffine *a, const TlTerm *x, const TlTerm *y, TlTerm *out)
{
   *out = (TlTerm){.dim = x->dim >= 0 ? x->dim : y->dim};
   if (x->dim >= 0 && y->dim >= 0)
      return tl_aff_refuse(a, "two indices are multiplied");
   if (x->num + y->num > TL_TERM_FACTORS || __builtin_mul_overflow(x->scale, y->scale, &out->scale))
      return tl_aff_refuse(a, "its addresses are products of too many values");
   for (unsigned i = 0, k = 0; i < x->num || k < y->num;) {
      bool first = k == y->num || (i < x->num && key_of(x->factor[i]) <= key_of(y->factor[k]));
      out->factor[out->num++] = first ? x->factor[i++] : y->factor[k++];
   }
   return true;
}

bool
tl_aff_add_product(TlAffine *a, TlSum *s, const TlSum *x, const TlSum *y)
{
   for (unsigned i = 0; i < x->num; i++)
      for (unsigned k = 0; k < y->num; k++) {
         TlTerm t;
         if (!tl_aff_times(a, &x->term[i], &y->term[k], &t) || !tl_aff_add_term(a, s, t))
            return false;
      }
   return true;
}

TlTerm
tl_aff_constant_term(int64_t v)
{
   return (TlTerm){.scale = v, .dim = -1};
}

TlTerm
tl_aff_factor_term(const TlValue *v, bool is_iteration)
{
   return (TlTerm){.scale = 1, .num = 1, .factor = {{v, is_iteration}}, .dim = -1};
}

/* ---- forms of operations ---- */
static bool
has_form(const TlType *t)
{
   const TlType *e = tl_type_elem(t);
   return e->kind == TL_TYPE_PTR || (e->kind == TL_TYPE_SCALAR && tl_dtype_is_signed(e->dtype));
}

/* A scalar that is no sum of others is a factor of its own. */
static bool
leaf(TlAffine *a, const TlValue *v, TlAffForm *out, const char *why)
{
   if (v->type->kind == TL_TYPE_TILE)
      return tl_aff_refuse(a, why);
   if (v->type->kind == TL_TYPE_PTR) {
      out->base = v;
      return true;
   }
   return tl_aff_add_term(a, &out->sum, tl_aff_factor_term(v, false));
}

/* Where dimension d of the operand is in the result. */
int
tl_aff_moved_dim(const TlOp *op, int d)
{
   if (op->opcode == TL_OP_EXPAND_DIMS)
      return d + (d >= tl_attr_int(op, TL_ATTR_AXIS));
   if (op->opcode != TL_OP_TRANS && op->opcode != TL_OP_LOCAL_TRANS)
      return d;
   TlInts order = tl_attr_ints(op, TL_ATTR_ORDER);
   for (size_t i = 0; i < order.len; i++)
      if (order.data[i] == d)
         return (int)i;
   return d;
}

static bool
take_only(TlAffine *a, TlAffForm *f, const TlAffConditions *from)
{
   if (!from)
      return true;
   if (!f->only)
      f->only = tl_new(a->arena, TlAffConditions);
   if (f->only->num + from->num > TL_AFF_CONDITIONS)
      return tl_aff_refuse(a, "an index wraps around too often");
   for (unsigned i = 0; i < from->num; i++)
      f->only->all[f->only->num++] = from->all[i];
   return true;
}

static TlSum
moved(TlAffine *a, const TlOp *op, const TlSum *s)
{
   TlSum out = {copied_terms(a, s->term, s->num, room_for(s->num)), s->num};
   for (unsigned i = 0; i < s->num; i++) {
      if (s->term[i].dim >= 0)
         out.term[i].dim = tl_aff_moved_dim(op, s->term[i].dim);
   }
   return out;
}

static void
move_conditions(TlAffine *a, const TlOp *op, TlAffConditions *c, unsigned first)
{
   for (unsigned i = first; c && i < c->num; i++) {
      c->all[i].positive = moved(a, op, &c->all[i].positive);
      c->all[i].index = moved(a, op, &c->all[i].index);
   }
}

/* What is promised of a scalar is known of the result alone: that stands for itself; so
 * does where a tensor begins. */
static bool
is_promised_here(TlAffine *a, const TlOp *op)
{
   if (!a->is_own || op->opcode != TL_OP_HINT || tl_arg(op, 0)->type->kind == TL_TYPE_TILE)
      return false;
   return tl_attr_int(op, TL_ATTR_TENSOR) ||
          tl_axis_info(a->facts, tl_arg(op, 0))->divisibility[0] <
             tl_axis_info(a->facts, tl_result(op, 0))->divisibility[0];
}

static bool
moved_form(TlAffine *a, const TlOp *op, TlAffForm *out)
{
   if (is_promised_here(a, op))
      return leaf(a, tl_result(op, 0), out, NULL);
   const TlAffForm *from = tl_aff_form_of(a, tl_arg(op, 0));
   *out = *from;
   out->only = NULL;
   out->sum = moved(a, op, &from->sum);
   if (!from->is_known || !take_only(a, out, from->only))
      return tl_aff_refuse(a, from->why);
   move_conditions(a, op, out->only, 0);
   return true;
}

bool
tl_aff_is_moved(const TlOp *op)
{
   switch ((int)op->opcode) {
   case TL_OP_SPLAT:
   case TL_OP_BROADCAST:
   case TL_OP_EXPAND_DIMS:
   case TL_OP_TRANS:
   case TL_OP_HINT:
   case TL_OP_CONVERT_LAYOUT:
      return true;
   }
   return false;
}

static bool
sum_form(TlAffine *a, const TlOp *op, TlAffForm *out)
{
   const TlAffForm *x = tl_aff_form_of(a, tl_arg(op, 0)), *y = tl_aff_form_of(a, tl_arg(op, 1));
   if (!x->is_known || !y->is_known)
      return tl_aff_refuse(a, x->is_known ? y->why : x->why);
   out->base = x->base;
   if (!take_only(a, out, x->only) || !take_only(a, out, y->only))
      return false;
   if (op->opcode == TL_OP_MUL)
      return tl_aff_add_product(a, &out->sum, &x->sum, &y->sum);
   return tl_aff_add_scaled(a, &out->sum, &x->sum, 1) &&
          tl_aff_add_scaled(a, &out->sum, &y->sum, op->opcode == TL_OP_SUB ? -1 : 1);
}

static bool
same_size(const TlType *x, const TlType *y)
{
   const TlType *p = tl_type_elem(x)->elem, *q = tl_type_elem(y)->elem;
   return p && q && p->kind == TL_TYPE_SCALAR && q->kind == TL_TYPE_SCALAR &&
          tl_dtype_info[p->dtype].bytes == tl_dtype_info[q->dtype].bytes;
}

static bool
cast_form(TlAffine *a, const TlOp *op, TlAffForm *out)
{
   const TlType *from = tl_arg(op, 0)->type, *to = tl_result(op, 0)->type;
   bool keeps = op->opcode == TL_OP_BITCAST
                   ? same_size(from, to)
                   : has_form(from) && tl_dtype_info[tl_type_elem(from)->dtype].bits <=
                                          tl_dtype_info[tl_type_elem(to)->dtype].bits;
   if (!keeps)
      return leaf(a, tl_result(op, 0), out, "an index is converted from another kind of number");
   *out = *tl_aff_form_of(a, tl_arg(op, 0));
   return out->is_known || tl_aff_refuse(a, out->why);
}

static const char *
reason(const TlOp *op)
{
   switch ((int)op->opcode) {
   case TL_OP_LOAD:
   case TL_OP_GATHER:
      return "its addresses are loaded from memory";
   case TL_OP_REM:
      return "an index wraps around ('%')";
   case TL_OP_DIV:
      return "an index is divided";
   case TL_OP_SELECT:
   case TL_OP_MIN:
   case TL_OP_MAX:
      return "an index is chosen element by element";
   case TL_OP_RESHAPE:
      return "an index is reshaped";
   }
   return tl_aff_no_sum;
}

/* Of a multiple of the divisor. */
static bool
quotient_form(TlAffine *a, const TlOp *op, TlAffForm *out)
{
   const TlAffForm *x = tl_aff_form_of(a, tl_arg(op, 0));
   uint64_t bits;
   if (!x->is_known || x->only || !tl_is_const(tl_arg(op, 1), &bits))
      return false;
   int64_t by = tl_bits_to_int(tl_type_elem(tl_arg(op, 1)->type)->dtype, bits);
   TlSum quotient = {0};
   for (unsigned i = 0; i < x->sum.num; i++) {
      TlTerm t = x->sum.term[i];
      if (by <= 0 || t.scale % by || t.dim >= 0)
         return false;
      t.scale /= by;
      if (!tl_aff_add_term(a, &quotient, t))
         return false;
   }
   out->sum = quotient;
   return true;
}

/* index % size is index, where that is below size. */
static bool
wrapped_form(TlAffine *a, const TlOp *op, TlAffForm *out)
{
   const TlAffForm *x = tl_aff_form_of(a, tl_arg(op, 0)), *y = tl_aff_form_of(a, tl_arg(op, 1));
   TlAffConditions below = {.num = 1};
   if (!x->is_known || !y->is_known)
      return tl_aff_refuse(a, reason(op));
   below.all[0].index = x->sum;
   return tl_aff_add_scaled(a, &out->sum, &x->sum, 1) &&
          tl_aff_add_scaled(a, &below.all[0].positive, &y->sum, 1) &&
          tl_aff_add_scaled(a, &below.all[0].positive, &x->sum, -1) && take_only(a, out, x->only) &&
          take_only(a, out, &below);
}

/* where(condition, index, other) is index, where the condition holds. */
static bool
chosen_form(TlAffine *a, const TlOp *op, TlAffForm *out)
{
   const TlAffForm *x = tl_aff_form_of(a, tl_arg(op, 1));
   TlAffConditions c = {.num = 0};
   uint64_t bits;
   if (!x->is_known || !tl_is_const(tl_arg(op, 2), &bits) ||
       !tl_aff_conditions_of(a, tl_arg(op, 0), &c))
      return tl_aff_refuse(a, reason(op));
   out->base = x->base;
   return tl_aff_add_scaled(a, &out->sum, &x->sum, 1) && take_only(a, out, x->only) &&
          take_only(a, out, &c);
}

static bool
op_form(TlAffine *a, const TlValue *v, TlAffForm *out)
{
   const TlOp *op = v->def;
   if (tl_aff_is_moved(op))
      return moved_form(a, op, out);
   switch ((int)op->opcode) {
   case TL_OP_ARANGE: {
      TlTerm index = {.scale = 1, .dim = 0};
      return tl_aff_add_term(a, &out->sum, tl_aff_constant_term(tl_attr_int(op, TL_ATTR_START))) &&
             (v->type->shape[0] == 1 || tl_aff_add_term(a, &out->sum, index));
   }
   case TL_OP_CAST:
   case TL_OP_BITCAST:
      return cast_form(a, op, out);
   case TL_OP_DIV:
      return quotient_form(a, op, out) || leaf(a, v, out, reason(op));
   case TL_OP_REM:
      if (v->type->kind == TL_TYPE_TILE)
         return wrapped_form(a, op, out);
      break;
   case TL_OP_SELECT:
      if (v->type->kind == TL_TYPE_TILE)
         return chosen_form(a, op, out);
      break;
   case TL_OP_MUL:
   case TL_OP_ADD:
   case TL_OP_SUB:
   case TL_OP_ADDPTR:
      return sum_form(a, op, out);
   }
   return leaf(a, v, out, reason(op));
}

/* ---- loops ---- */
/* What is added to the carried value in an iteration, found as the other operands of additions on
 * the way from what is yielded to it. */
static bool
step_of(TlAffine *a, const TlOp *loop, const TlValue *arg, const TlValue *next, TlSum *step)
{
   for (unsigned depth = 0; next != arg; depth++) {
      const TlOp *op = next->def;
      if (op && op->opcode == TL_OP_HINT) {
         next = tl_arg(op, 0);
         continue;
      }
      if (!op || depth == MAX_DEPTH ||
          (op->opcode != TL_OP_ADD && op->opcode != TL_OP_ADDPTR && op->opcode != TL_OP_SUB))
         return false;
      bool is_second = op->opcode == TL_OP_ADD && tl_arg(op, 1) == arg;
      const TlAffForm *x = tl_aff_form_of(a, tl_arg(op, is_second ? 0 : 1));
      if (!x->is_known || x->base || x->only ||
          !tl_aff_add_scaled(a, step, &x->sum, op->opcode == TL_OP_SUB ? -1 : 1))
         return false;
      next = tl_arg(op, is_second ? 1 : 0);
   }
   for (unsigned i = 0; i < step->num; i++) {
      if (step->term[i].dim >= 0)
         return false;
      for (unsigned k = 0; k < step->term[i].num; k++)
         if (tl_is_defined_in(step->term[i].factor[k].value, loop))
            return false;
   }
   return true;
}

static bool
carried_form(TlAffine *a, const TlOp *loop, const TlValue *arg, unsigned i, TlAffForm *out)
{
   const TlBlock *body = loop->regions[0]->block;
   const TlAffForm *init = tl_aff_form_of(a, tl_init(loop, i));
   TlTerm iteration = tl_aff_factor_term(tl_for_index(loop), true);
   TlSum step = {0}, once = {&iteration, 1};
   out->base = init->base;
   return init->is_known && step_of(a, loop, arg, tl_yielded(body, i), &step) &&
          take_only(a, out, init->only) && tl_aff_add_scaled(a, &out->sum, &init->sum, 1) &&
          tl_aff_add_product(a, &out->sum, &step, &once);
}

/* lower + step * iteration */
static bool
index_form(TlAffine *a, const TlOp *loop, TlAffForm *out)
{
   const TlAffForm *lower = tl_aff_form_of(a, tl_for_lower(loop)),
                   *step = tl_aff_form_of(a, tl_for_step(loop));
   TlTerm iteration = tl_aff_factor_term(tl_for_index(loop), true);
   TlSum once = {&iteration, 1};
   return lower->is_known && step->is_known && tl_aff_add_scaled(a, &out->sum, &lower->sum, 1) &&
          tl_aff_add_product(a, &out->sum, &step->sum, &once);
}

static bool
arg_form(TlAffine *a, const TlValue *v, TlAffForm *out)
{
   const TlBlock *block = tl_value_block(v);
   const TlOp *loop = block->region->parent;
   unsigned i = 0;
   if (loop && loop->opcode == TL_OP_FOR) {
      while (block->args[i] != v)
         i++;
      if (i == 0 ? index_form(a, loop, out) : carried_form(a, loop, v, i - 1, out))
         return true;
   }
   *out = (TlAffForm){0};
   return leaf(a, v, out, "a loop changes its addresses by other than a fixed step");
}

/* A value that is being looked at, in its own loop, stands for itself. */
const TlAffForm *
tl_aff_form_of(TlAffine *a, const TlValue *v)
{
   assert(v->id < a->func->next_value_id);
   if (a->form[v->id])
      return a->form[v->id];
   TlAffForm *f = a->form[v->id] = tl_new(a->arena, TlAffForm);
   const char *why = a->why;
   bool is_tile = v->type->kind == TL_TYPE_TILE;
   if (!has_form(v->type))
      return f;
   uint64_t bits;
   if (tl_type_elem(v->type)->kind == TL_TYPE_SCALAR && tl_is_const(v, &bits)) {
      int64_t value = tl_bits_to_int(tl_type_elem(v->type)->dtype, bits);
      f->is_known = tl_aff_add_term(a, &f->sum, tl_aff_constant_term(value));
      return f;
   }
   if (!is_tile)
      f->is_known = leaf(a, v, f, NULL);
   if (a->depth == MAX_DEPTH)
      return f;
   a->depth++;
   TlAffForm found = {0};
   found.is_known = v->def ? op_form(a, v, &found) : arg_form(a, v, &found);
   a->depth--;
   if (found.is_known || is_tile)
      *f = found;
   f->why = f->is_known ? NULL : a->why ? a->why : tl_aff_no_sum;
   if (f->is_known || !is_tile)
      a->why = why;
   return f;
}

/* ---- masks ---- */
bool
tl_sum_has_index(const TlSum *s)
{
   for (unsigned i = 0; i < s->num; i++)
      if (s->term[i].dim >= 0)
         return true;
   return false;
}

static bool
compare_condition(TlAffine *a, const TlOp *op, TlAffConditions *out)
{
   const TlAffForm *x = tl_aff_form_of(a, tl_arg(op, 0)), *y = tl_aff_form_of(a, tl_arg(op, 1));
   bool greater = op->opcode == TL_OP_GT || op->opcode == TL_OP_GE;
   bool equal = op->opcode == TL_OP_LE || op->opcode == TL_OP_GE;
   if (!x->is_known || !y->is_known || x->base || y->base || x->only || y->only ||
       out->num == TL_AFF_CONDITIONS)
      return tl_aff_refuse(a, "its mask compares more than indices with bounds");
   TlAffCondition *c = &out->all[out->num++];
   *c = (TlAffCondition){.index = tl_sum_has_index(&y->sum) ? y->sum : x->sum};
   return tl_aff_add_scaled(a, &c->positive, &x->sum, greater ? 1 : -1) &&
          tl_aff_add_scaled(a, &c->positive, &y->sum, greater ? -1 : 1) &&
          (!equal || tl_aff_add_term(a, &c->positive, tl_aff_constant_term(1)));
}

bool
tl_aff_conditions_of(TlAffine *a, const TlValue *mask, TlAffConditions *out)
{
   const TlOp *op = mask->def;
   uint64_t bits;
   if (tl_is_const(mask, &bits) && bits)
      return true;
   if (!op)
      return tl_aff_refuse(a, "its mask is carried by a loop");
   if (tl_aff_is_moved(op)) {
      unsigned first = out->num;
      if (!tl_aff_conditions_of(a, tl_arg(op, 0), out))
         return false;
      move_conditions(a, op, out, first);
      return true;
   }
   switch ((int)op->opcode) {
   case TL_OP_AND:
      return tl_aff_conditions_of(a, tl_arg(op, 0), out) &&
             tl_aff_conditions_of(a, tl_arg(op, 1), out);
   case TL_OP_LT:
   case TL_OP_LE:
   case TL_OP_GT:
   case TL_OP_GE:
      return compare_condition(a, op, out);
   }
   return tl_aff_refuse(a, "its mask is more than bounds of indices");
}

/* ---- sums and bounds for their own sake ---- */
bool
tl_value_sum(TlAffine *a, const TlValue *v, TlSum *sum, const TlValue **base)
{
   const TlAffForm *f = tl_aff_form_of(a, v);
   *sum = f->sum;
   *base = f->base;
   return f->is_known;
}

bool
tl_value_is_chosen(TlAffine *a, const TlValue *v)
{
   return tl_aff_form_of(a, v)->only != NULL;
}

static bool
bound_of(TlAffine *a, const TlOp *op, TlBound *out)
{
   const TlAffForm *x = tl_aff_form_of(a, tl_arg(op, 0)), *y = tl_aff_form_of(a, tl_arg(op, 1));
   bool is_less = op->opcode == TL_OP_LT || op->opcode == TL_OP_LE;
   if (!x->is_known || !y->is_known || x->base || y->base)
      return false;
   bool is_second = !tl_sum_has_index(&x->sum);
   if (is_second == !tl_sum_has_index(&y->sum))
      return false;
   *out = (TlBound){.compare = op,
                    .index = is_second ? y->sum : x->sum,
                    .limit = is_second ? x->sum : y->sum,
                    .is_upper = is_less != is_second,
                    .is_strict = op->opcode == TL_OP_LT || op->opcode == TL_OP_GT};
   return true;
}

unsigned
tl_mask_bounds(TlAffine *a, const TlValue *mask, TlBound *out, unsigned max, bool *has_other)
{
   const TlOp *op = mask->def;
   uint64_t bits;
   unsigned num = 0;
   if (op && tl_aff_is_moved(op)) {
      num = tl_mask_bounds(a, tl_arg(op, 0), out, max, has_other);
      for (unsigned i = 0; i < num; i++)
         out[i].index = moved(a, op, &out[i].index);
      return num;
   }
   if (op && op->opcode == TL_OP_AND) {
      num = tl_mask_bounds(a, tl_arg(op, 0), out, max, has_other);
      return num + tl_mask_bounds(a, tl_arg(op, 1), out + num, max - num, has_other);
   }
   bool is_order = op && (op->opcode == TL_OP_LT || op->opcode == TL_OP_LE ||
                          op->opcode == TL_OP_GT || op->opcode == TL_OP_GE);
   if (is_order && max && bound_of(a, op, out))
      return 1;
   *has_other |= !tl_is_const(mask, &bits) || !bits;
   return 0;
}

/* program_id may be asked for twice. */
static bool
is_same_factor(TlFactor x, TlFactor y)
{
   const TlOp *p = x.value->def, *q = y.value->def;
   bool are_programs = p && q && p->opcode == TL_OP_PROGRAM_ID && q->opcode == TL_OP_PROGRAM_ID;
   return key_of(x) == key_of(y) ||
          (are_programs && tl_attr_int(p, TL_ATTR_AXIS) == tl_attr_int(q, TL_ATTR_AXIS));
}

bool
tl_term_quotient(const TlTerm *t, const TlTerm *by, TlTerm *out)
{
   bool is_taken[TL_TERM_FACTORS] = {false};
   if (!by->scale || t->scale % by->scale)
      return false;
   *out = (TlTerm){.scale = t->scale / by->scale, .dim = t->dim};
   unsigned taken = 0;
   for (unsigned i = 0; i < t->num; i++) {
      unsigned k = 0;
      while (k < by->num && (is_taken[k] || !is_same_factor(t->factor[i], by->factor[k])))
         k++;
      if (k == by->num)
         out->factor[out->num++] = t->factor[i];
      else
         is_taken[k] = true;
      taken += k < by->num;
   }
   return taken == by->num;
}

bool
tl_same_term(const TlTerm *x, const TlTerm *y)
{
   TlTerm q;
   return (x->dim >= 0) == (y->dim >= 0) && tl_term_quotient(x, y, &q) && q.scale == 1 && !q.num;
}

bool
tl_same_sum(const TlSum *x, const TlSum *y)
{
   for (unsigned i = 0; i < x->num; i++) {
      unsigned k = 0;
      while (k < y->num && !tl_same_term(&x->term[i], &y->term[k]))
         k++;
      if (k == y->num)
         return false;
   }
   return x->num == y->num;
}

TlAffine *
tl_affine_new(TlArena *arena, const TlFunc *f)
{
   TlAffine *a = tl_new(arena, TlAffine);
   *a = (TlAffine){.arena = arena, .func = f, .facts = tl_analysis_new(arena, f)};
   a->form = tl_new_array(arena, TlAffForm *, f->next_value_id + 1);
   a->is_uniform = tl_new_array(arena, uint8_t, f->next_value_id + 1);
   a->written = tl_new_array(arena, bool, f->num_params + 1);
   tl_written_params(arena, f, a->written);
   return a;
}

void
tl_affine_doubt_arguments(TlAffine *a)
{
   a->doubts_arguments = true;
}

static void
print_factor(TlFactor f, TlSb *sb)
{
   while (!f.value->name && (tl_value_is(f.value, TL_OP_HINT) || tl_value_is(f.value, TL_OP_CAST)))
      f.value = tl_arg(f.value->def, 0);
   if (f.is_iteration)
      tl_sb_str(sb, "iteration");
   else if (f.value->name)
      tl_sb_str(sb, f.value->name);
   else if (f.value->def && f.value->def->opcode == TL_OP_PROGRAM_ID)
      tl_sb_printf(sb, "program_id(%d)", (int)tl_attr_int(f.value->def, TL_ATTR_AXIS));
   else
      tl_sb_printf(sb, "(%s)", f.value->def ? tl_info(f.value->def)->text : "carried");
}

void
tl_sum_print(const TlSum *sum, TlSb *sb)
{
   for (unsigned i = 0; i < sum->num; i++) {
      const TlTerm *t = &sum->term[i];
      bool shows_scale = t->scale != 1 || !t->num;
      if (i)
         tl_sb_str(sb, " + ");
      for (unsigned k = 0; k < t->num; k++) {
         if (k)
            tl_sb_str(sb, "*");
         print_factor(t->factor[k], sb);
      }
      if (shows_scale)
         tl_sb_printf(sb, t->num ? "*%lld" : "%lld", (long long)t->scale);
   }
   if (!sum->num)
      tl_sb_char(sb, '0');
}
