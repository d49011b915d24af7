/* See reach.h.  Values that vary are programs, rounds of loops and lanes; each has a step in the
 * index.  A bound of the mask over some of them, in which their steps have the same proportions,
 * makes one coordinate of these; the others are coordinates of their own, joined where one begins
 * at the end of another. */
#include "exec/reach.h"
#include "ir/control.h"
#include "ir/interval.h"
#include "ir/walk.h"

#include <string.h>

enum { MAX_VARS = 8, MAX_BOUNDS = 8, MAX_DEPTH = 24, MAX_STEPS = 400 };

typedef struct Var {
   int dim;         /* lanes along it; -1: a scalar */
   TlFactor factor; /* the scalar */
   int64_t step, num;
   const char *step_name;
   bool is_taken; /* it belongs to a coordinate */
} Var;

typedef struct Vars {
   TlLaunched *l;
   const TlType *tile; /* whose lanes they are */
   Var var[MAX_VARS];
   unsigned num;
   int64_t start;
   unsigned steps; /* to find what wraps */
} Vars;

/* ---- numbers ---- */
static bool
is_within(TlInterval i)
{
   return i.lo >= INT64_MIN / 4 && i.hi <= INT64_MAX / 4;
}

static bool range_of(const TlLaunched *l, const TlValue *v, unsigned depth, TlInterval *out);

static bool
range_of_index(const TlLaunched *l, const TlOp *loop, unsigned depth, TlInterval *out)
{
   TlInterval from, to;
   if (!range_of(l, tl_for_lower(loop), depth, &from) ||
       !range_of(l, tl_for_upper(loop), depth, &to))
      return false;
   *out = (TlInterval){from.lo, to.hi > from.lo ? to.hi - 1 : from.lo};
   return true;
}

static bool
range_of_argument(const TlLaunched *l, const TlValue *v, TlInterval *out)
{
   TlDtype t = v->type->kind == TL_TYPE_SCALAR ? v->type->dtype : TL_FP32;
   if (v->index >= l->num_args || !tl_dtype_is_int(t) || l->args[v->index].is_buffer)
      return false;
   int64_t n = tl_bits_to_int(t, l->args[v->index].bits);
   *out = (TlInterval){n, n};
   return true;
}

/* What an integer, the same for all lanes, may be. */
static bool
range_of(const TlLaunched *l, const TlValue *v, unsigned depth, TlInterval *out)
{
   uint64_t bits;
   const TlOp *op = v->def;
   TlInterval x, y;
   if (depth > MAX_DEPTH || tl_type_elem(v->type)->kind != TL_TYPE_SCALAR)
      return false;
   if (tl_is_const(v, &bits)) {
      int64_t n = tl_bits_to_int(tl_type_elem(v->type)->dtype, bits);
      *out = (TlInterval){n, n};
      return true;
   }
   if (!op) {
      const TlOp *loop = v->block->region->parent;
      if (!loop)
         return range_of_argument(l, v, out);
      return loop->opcode == TL_OP_FOR && v == tl_for_index(loop) &&
             range_of_index(l, loop, depth + 1, out);
   }
   switch (op->opcode) {
   case TL_OP_PROGRAM_ID:
      *out = (TlInterval){0, l->grid[tl_attr_int(op, TL_ATTR_AXIS)] - 1};
      return true;
   case TL_OP_NUM_PROGRAMS:
      x.lo = x.hi = l->grid[tl_attr_int(op, TL_ATTR_AXIS)];
      *out = x;
      return true;
   case TL_OP_CAST:
   case TL_OP_SPLAT:
   case TL_OP_HINT:
      return range_of(l, tl_arg(op, 0), depth + 1, out);
   default:
      return op->num_args == 2 && range_of(l, tl_arg(op, 0), depth + 1, &x) &&
             range_of(l, tl_arg(op, 1), depth + 1, &y) && tl_interval_of(op->opcode, x, y, out) &&
             is_within(*out);
   }
}

/* How many rounds the loop has at most; 0: it is not known. */
static int64_t
rounds_of(const TlLaunched *l, const TlOp *loop)
{
   TlInterval from, to, step;
   if (!range_of(l, tl_for_lower(loop), 0, &from) || !range_of(l, tl_for_upper(loop), 0, &to) ||
       !range_of(l, tl_for_step(loop), 0, &step) || step.lo != step.hi || step.lo <= 0)
      return 0;
   TlWide span = to.hi - from.lo;
   return span > 0 ? (int64_t)((span + step.lo - 1) / step.lo) : 1;
}

/* ---- sums ---- */
static bool
take_factor(const TlLaunched *l, const TlFactor *f, int64_t *scale, int64_t *num)
{
   TlInterval r;
   if (f->is_iteration) {
      *num = rounds_of(l, f->value->block->region->parent);
      return *num > 0;
   }
   if (!range_of(l, f->value, 0, &r))
      return false;
   *num = 0;
   if (r.lo == r.hi && !tl_value_is(f->value, TL_OP_PROGRAM_ID))
      return !__builtin_mul_overflow(*scale, (int64_t)r.lo, scale);
   *num = (int64_t)r.hi + 1;
   return r.lo == 0;
}

static bool
is_same_var(const Var *a, const Var *b)
{
   return a->dim == b->dim && (a->dim >= 0 || (a->factor.value == b->factor.value &&
                                               a->factor.is_iteration == b->factor.is_iteration));
}

static bool
take_term(Vars *v, const TlTerm *t)
{
   Var var = {.dim = t->dim, .step = t->scale, .num = 1};
   bool is_scalar = t->dim < 0, is_found = !is_scalar;
   unsigned names = 0;
   if (t->dim >= 0)
      var.num = (int64_t)v->tile->shape[t->dim];
   for (unsigned i = 0; i < t->num; i++) {
      int64_t num;
      if (!take_factor(v->l, &t->factor[i], &var.step, &num))
         return false;
      if (!num) {
         var.step_name = names++ ? NULL : t->factor[i].value->name;
         continue;
      }
      if (is_found)
         return false; /* a product of two that vary */
      is_found = true;
      var.factor = t->factor[i];
      var.num = num;
   }
   if (t->scale != 1) /* a multiple of the argument */
      var.step_name = NULL;
   if (!is_found) {
      v->start += var.step;
      return true;
   }
   for (unsigned i = 0; i < v->num; i++)
      if (is_same_var(&v->var[i], &var)) {
         v->var[i].step += var.step;
         v->var[i].step_name = NULL;
         return true;
      }
   if (v->num == MAX_VARS)
      return false;
   v->var[v->num++] = var;
   return true;
}

static bool
read_sum(TlLaunched *l, const TlType *tile, const TlSum *sum, Vars *out)
{
   *out = (Vars){.l = l, .tile = tile};
   for (unsigned i = 0; i < sum->num; i++)
      if (!take_term(out, &sum->term[i]))
         return false;
   return true;
}

/* ---- coordinates ---- */
static void
note_var(TlCoord *c, const Var *v)
{
   if (v->dim >= 0) {
      c->lanes *= v->num;
      c->dim = v->dim;
   } else if (v->factor.is_iteration) {
      c->has_rounds = true;
      c->loop = v->factor.value->block->region->parent;
   } else if (tl_value_is(v->factor.value, TL_OP_PROGRAM_ID)) {
      c->axis = (int)tl_attr_int(v->factor.value->def, TL_ATTR_AXIS);
   }
}

/* NULL: there is no place for it. */
static TlCoord *
add_coord(TlReach *r, TlCoord c)
{
   if (r->num == TL_REACH_COORDS)
      return NULL;
   unsigned at = r->num++;
   for (; at > 0 && r->coord[at - 1].step < c.step; at--)
      r->coord[at] = r->coord[at - 1];
   r->coord[at] = c;
   return &r->coord[at];
}

static Var *
var_like(Vars *v, const Var *like)
{
   for (unsigned i = 0; i < v->num; i++)
      if (is_same_var(&v->var[i], like))
         return &v->var[i];
   return NULL;
}

static int64_t
gcd(int64_t a, int64_t b)
{
   while (b) {
      int64_t rest = a % b;
      a = b;
      b = rest;
   }
   return a;
}

/* i * 8 < n is i < n / 8, rounded up, where elements i are accessed. */
static int64_t
unit_of(Vars *v, const Vars *index)
{
   int64_t unit = 0;
   bool is_apart = false;
   for (unsigned i = 0; i < index->num; i++) {
      const Var *own = var_like(v, &index->var[i]);
      int64_t by = index->var[i].step;
      if (!own || by <= 0)
         return 1;
      is_apart |= own->step % by != 0;
      unit = gcd(unit, by);
   }
   return is_apart && !index->start ? unit : 1;
}

/* The variables of a bound as one coordinate; NULL: they are none, and the bound says nothing. */
static TlCoord *
take_bound(Vars *v, const TlBound *b, TlReach *r)
{
   Vars index, limit;
   if (!b->is_upper || !read_sum(v->l, v->tile, &b->index, &index) ||
       !read_sum(v->l, v->tile, &b->limit, &limit) || limit.num || !index.num)
      return NULL;
   TlCoord c = {.lanes = 1, .axis = -1, .dim = -1, .natural = 1 + index.start};
   c.unit = unit_of(v, &index);
   for (unsigned i = 0; i < index.num; i++) {
      const Var *own = var_like(v, &index.var[i]);
      int64_t by = index.var[i].step / c.unit;
      if (!own || own->is_taken || by <= 0 || own->step <= 0 || own->step % by ||
          (c.step && own->step / by != c.step))
         return NULL;
      c.step = own->step / by;
      c.step_name = by == 1 ? own->step_name : c.step_name;
      c.natural += by * (own->num - 1);
   }
   for (unsigned i = 0; i < index.num; i++) {
      Var *own = var_like(v, &index.var[i]);
      own->is_taken = true;
      note_var(&c, own);
   }
   const TlTerm *t = b->limit.num == 1 ? &b->limit.term[0] : NULL;
   if (t && t->num == 1 && t->scale == 1 && !t->factor[0].is_iteration)
      *(c.unit > 1 ? &c.divided_name : &c.limit_name) = t->factor[0].value->name;
   c.limit = limit.start + !b->is_strict;
   if (c.unit > 1)
      c.limit = c.limit > 0 ? (c.limit - 1) / c.unit + 1 : 0;
   c.num = c.limit < c.natural ? c.limit : c.natural;
   v->start -= c.step * index.start; /* it is a part of the coordinate */
   return add_coord(r, c);
}

/* index % limit: no more than limit of them are reached. */
static void
take_wrapped(Vars *v, const TlValue *index, const TlValue *by, TlReach *r)
{
   TlBound b = {.is_upper = true, .is_strict = true};
   const TlValue *base;
   if (!tl_value_sum(v->l->affine, index, &b.index, &base) || base ||
       !tl_value_sum(v->l->affine, by, &b.limit, &base) || base)
      return;
   TlCoord *c = take_bound(v, &b, r);
   if (!c)
      return;
   c->wraps = c->natural > c->num;
   c->natural = c->num;
   c->limit = -1;
   c->limit_name = NULL;
   c->axis = c->wraps ? -1 : c->axis;
}

/* Those '%' that the pointers are made of, as tiles of their rank. */
static void
find_wrapped(Vars *v, const TlValue *of, unsigned depth, TlReach *r)
{
   const TlOp *op = of->def;
   const TlOp *loop = op ? NULL : of->block->region->parent;
   if (depth > MAX_DEPTH || ++v->steps > MAX_STEPS)
      return;
   if (loop && tl_is_loop(loop) && of->index >= tl_first_carried(loop))
      find_wrapped(v, tl_init(loop, of->index - tl_first_carried(loop)), depth + 1, r);
   if (!op || (op->opcode != TL_OP_EXPAND_DIMS && !tl_type_is_tile(of->type)) || !tl_op_is_pure(op))
      return;
   const TlValue *from = of;
   while (from->def && (from->def->opcode == TL_OP_EXPAND_DIMS || from->def->opcode == TL_OP_HINT))
      from = tl_arg(from->def, 0);
   if (tl_value_is(from, TL_OP_REM) && of->type->rank == v->tile->rank) {
      take_wrapped(v, of, tl_arg(from->def, 1), r);
      return;
   }
   for (unsigned i = 0; i < op->num_args; i++)
      find_wrapped(v, tl_arg(op, i), depth + 1, r);
}

static bool
add_free(Vars *v, TlReach *r)
{
   for (unsigned i = 0; i < v->num; i++) {
      Var *own = &v->var[i];
      TlCoord c = {.step = own->step,
                   .natural = own->num,
                   .num = own->num,
                   .limit = -1,
                   .unit = 1,
                   .lanes = 1,
                   .axis = -1,
                   .dim = -1,
                   .step_name = own->step_name};
      if (own->is_taken || (own->num == 1 && own->dim >= 0))
         continue;
      note_var(&c, own);
      if (own->step < 0 || !add_coord(r, c))
         return false;
   }
   return true;
}

/* pid * BLOCK and the lanes of a block, without a mask */
static void
join_free(TlReach *r)
{
   for (unsigned i = 0; i + 1 < r->num;) {
      TlCoord *a = &r->coord[i], *b = a + 1;
      bool is_joined = a->limit < 0 && b->limit < 0 && !a->wraps && !b->wraps &&
                       a->step == b->step * b->natural && !a->step_name &&
                       (a->axis < 0 || b->axis < 0);
      if (!is_joined) {
         i++;
         continue;
      }
      b->natural *= a->natural;
      b->num = b->natural;
      b->lanes *= a->lanes;
      b->axis = a->axis >= 0 ? a->axis : b->axis;
      b->has_rounds |= a->has_rounds;
      b->loop = b->loop ? b->loop : a->loop;
      b->dim = b->dim >= 0 ? b->dim : a->dim;
      memmove(a, b, (r->num - i - 1) * sizeof *a);
      r->num--;
   }
}

bool
tl_reach_of(TlLaunched *l, const TlOp *access, TlReach *out)
{
   const TlValue *pointers = tl_arg(access, 0), *base, *mask = tl_pred(access);
   TlBound bounds[MAX_BOUNDS];
   TlSum sum;
   Vars vars;
   bool has_other;
   *out = (TlReach){.op = access};
   l->affine = l->affine ? l->affine : tl_affine_new(l->arena, l->func);
   if (!tl_value_sum(l->affine, pointers, &sum, &base) || !base || base->def ||
       base->block->region->parent || base->index >= l->num_args ||
       !read_sum(l, pointers->type, &sum, &vars))
      return false;
   out->arg = base->index;
   unsigned n = mask ? tl_mask_bounds(l->affine, mask, bounds, MAX_BOUNDS, &has_other) : 0;
   for (unsigned i = 0; i < n; i++)
      (void)take_bound(&vars, &bounds[i], out);
   find_wrapped(&vars, pointers, 0, out);
   if (!add_free(&vars, out))
      return false;
   join_free(out);
   out->start = vars.start;
   out->end = vars.start + 1;
   for (unsigned i = 0; i < out->num; i++)
      out->end += out->coord[i].step * (out->coord[i].num - 1);
   return true;
}

bool
tl_reach_number(const TlLaunched *l, const TlValue *v, int64_t *out)
{
   TlInterval r;
   bool is_known = range_of(l, v, 0, &r) && r.lo == r.hi;
   *out = is_known ? (int64_t)r.lo : 0;
   return is_known;
}

int64_t
tl_reach_count(const TlLaunched *l, unsigned arg)
{
   const TlType *t = l->func->body->block->args[arg]->type;
   unsigned bytes = 8;
   if (t->kind == TL_TYPE_PTR && t->elem->kind == TL_TYPE_SCALAR)
      bytes = tl_dtype_info[t->elem->dtype].bytes;
   return (int64_t)(l->args[arg].bytes / (bytes ? bytes : 1));
}

int64_t
tl_reach_row(const TlLaunched *l, unsigned arg)
{
   const TlExecArg *a = &l->args[arg];
   return a->shape && a->shape_rank >= 2 ? (int64_t)a->shape[a->shape_rank - 1] : 0;
}
