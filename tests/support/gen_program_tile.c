/* Operations on whole tiles in random programs: shapes, reductions, scans, sorting, gathering,
 * histograms, maps, and dot. */
#include "support/gen_program_impl.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* ---- shape ---- */
static TlValue *
same_fact(Gen *g, TlValue *v, const TlValue *of)
{
   return gen_know(g, v, gen_fact(g, of));
}

static TlValue *
reshape(Gen *g, TlValue *x, unsigned rank, const uint32_t *shape)
{
   const TlType *type = gen_shaped(g, gen_dtype(x), rank, shape);
   return type == x->type ? x : same_fact(g, tl_t1(&g->b, TL_OP_RESHAPE, type, x), x);
}

static bool
shape_trans(Gen *g, TlValue *x)
{
   int64_t order[TL_MAX_RANK];
   unsigned rank = x->type->rank;
   for (unsigned d = 0; d < rank; d++)
      order[d] = d;
   for (unsigned d = rank; d > 1; d--) {
      unsigned k = gen_below(g, d);
      int64_t swap = order[k];
      order[k] = order[d - 1];
      order[d - 1] = swap;
   }
   TlValue *v =
      tl_b1(&g->b, TL_OP_TRANS, x, {TL_ATTR_ORDER, {.ints = tl_ints(g->arena, order, rank)}});
   gen_add(g, same_fact(g, v, x));
   return true;
}

static bool
shape_reshape(Gen *g, TlValue *x)
{
   uint32_t shape[3] = {1, 1, 1}, n = gen_elems(x);
   unsigned rank = 1 + gen_below(g, 3);
   for (; n > 1; n /= 2)
      shape[gen_below(g, rank)] *= 2;
   TlValue *v = reshape(g, x, rank, shape);
   if (v == x)
      return false;
   gen_add(g, v);
   return true;
}

static bool
shape_broadcast(Gen *g, TlValue *x)
{
   uint32_t shape[TL_MAX_RANK], n = gen_elems(x);
   bool any = false;
   for (unsigned d = 0; d < x->type->rank; d++) {
      shape[d] = x->type->shape[d];
      while (x->type->shape[d] == 1 && n < g->max_elems && gen_chance(g, 70))
         shape[d] *= 2, n *= 2, any = true;
   }
   if (!any)
      return false;
   const TlType *type = gen_shaped(g, gen_dtype(x), x->type->rank, shape);
   gen_add(g, same_fact(g, tl_t1(&g->b, TL_OP_BROADCAST, type, x), x));
   return true;
}

static Fact
either(Gen *g, const TlValue *a, const TlValue *b)
{
   Fact x = gen_fact(g, a), y = gen_fact(g, b);
   return (Fact){.lo = fmin(x.lo, y.lo),
                 .hi = fmax(x.hi, y.hi),
                 .nan = x.nan || y.nan,
                 .whole = x.whole && y.whole,
                 .product = x.product || y.product};
}

static bool
shape_join(Gen *g, TlValue *x, bool interleave)
{
   if (x->type->rank >= 3 || gen_elems(x) * 2 > g->max_elems)
      return false;
   TlValue *y = gen_pick_type(g, x->type);
   TlValue *v = gen_know(g, tl_b2(&g->b, TL_OP_JOIN, x, y), either(g, x, y));
   if (interleave) {
      uint32_t shape[TL_MAX_RANK];
      memcpy(shape, x->type->shape, sizeof shape);
      shape[x->type->rank - 1] *= 2;
      v = reshape(g, v, x->type->rank, shape);
   }
   gen_add(g, v);
   return true;
}

static bool
shape_split(Gen *g, TlValue *x)
{
   uint32_t n = gen_elems(x);
   if (n < 2)
      return false;
   if (x->type->shape[x->type->rank - 1] != 2) {
      uint32_t shape[3] = {n / 2, 2, 1};
      unsigned rank = 2;
      if (n >= 4 && gen_chance(g, 50)) {
         shape[0] = 1u << gen_below(g, (unsigned)log2(n / 2) + 1);
         shape[1] = n / 2 / shape[0];
         shape[2] = 2;
         rank = 3;
      }
      x = reshape(g, x, rank, shape);
   }
   TlOp *op = tl_build(&g->b, TL_OP_SPLIT, &x, 1, NULL, 2, NULL, 0, 0);
   for (unsigned i = 0; i < 2; i++)
      gen_add(g, same_fact(g, tl_result(op, i), x));
   return true;
}

/* Concatenation and free reshaping promise no order, so only a fold may see the elements. */
static bool
shape_unordered(Gen *g, TlValue *x)
{
   uint32_t n = gen_elems(x);
   if (tl_dtype_is_float(gen_dtype(x)) || n * 2 > g->max_elems)
      return false;
   TlValue *v = reshape(g, x, 1, &n);
   if (gen_chance(g, 70)) {
      v = tl_b2(&g->b, TL_OP_CAT, v, gen_pick_type(g, v->type));
   } else if (n >= 4) {
      uint32_t shape[2] = {2, n / 2};
      v = tl_t1(&g->b, TL_OP_RESHAPE, gen_shaped(g, gen_dtype(x), 2, shape), x,
                {TL_ATTR_REORDER, {.i = 1}});
      uint32_t flat = n;
      v = tl_t1(&g->b, TL_OP_RESHAPE, gen_shaped(g, gen_dtype(x), 1, &flat), v);
   }
   static const TlOpcode ops[] = {TL_OP_XOR, TL_OP_AND, TL_OP_OR, TL_OP_MIN, TL_OP_MAX};
   gen_add(g, gen_fold(g, v, 0, ops[gen_below(g, 5)]));
   return true;
}

bool
gen_step_shape(Gen *g)
{
   TlValue *x = gen_pick(g);
   if (!tl_type_is_tile(x->type)) {
      if (gen_chance(g, 20)) {
         TlValue *y = gen_pick_type(g, x->type);
         gen_add(g, gen_know(g, tl_b2(&g->b, TL_OP_JOIN, x, y), either(g, x, y)));
         return true;
      }
      const TlType *type = gen_tile(g, gen_dtype(x));
      gen_add(g, same_fact(g, tl_t1(&g->b, TL_OP_SPLAT, type, x), x));
      return true;
   }
   switch (gen_below(g, 10)) {
   case 0:
      if (x->type->rank >= 3)
         return false;
      gen_add(g, same_fact(g,
                           tl_b1(&g->b, TL_OP_EXPAND_DIMS, x,
                                 {TL_ATTR_AXIS, {.i = gen_below(g, x->type->rank + 1u)}}),
                           x));
      return true;
   case 1:
      return shape_trans(g, x);
   case 2:
      return shape_reshape(g, x);
   case 3:
      return shape_broadcast(g, x);
   case 4:
      return shape_join(g, x, false);
   case 5:
   case 9:
      return shape_join(g, x, true);
   case 6:
      return shape_split(g, x);
   default:
      return shape_unordered(g, x);
   }
}

/* ---- reductions and scans ---- */
static TlOp *
folding(Gen *g, TlOpcode opcode, TlValue *const *args, unsigned k, unsigned axis, bool reverse)
{
   TlAttrInit attrs[2] = {{TL_ATTR_AXIS, {.i = axis}}, {TL_ATTR_REVERSE, {.i = reverse}}};
   TlOp *op = tl_build(&g->b, opcode, args, k, NULL, k, attrs, opcode == TL_OP_SCAN ? 2 : 1, 1);
   for (unsigned i = 0; i < 2 * k; i++)
      tl_block_add_arg(op->regions[0]->block, args[i % k]->type->elem, NULL);
   return op;
}

static TlOp *
folding_by(Gen *g, TlOpcode opcode, TlValue *x, unsigned axis, bool reverse, TlOpcode by)
{
   TlOp *op = folding(g, opcode, &x, 1, axis, reverse);
   TlBlock *body = op->regions[0]->block;
   GenRegion r = gen_open(g, op, 0);
   TlValue *out = tl_b2(&g->b, by, body->args[0], body->args[1]);
   gen_close(g, &r, &out, 1);
   return op;
}

TlValue *
gen_fold(Gen *g, TlValue *x, unsigned axis, TlOpcode by)
{
   return tl_result(folding_by(g, TL_OP_REDUCE, x, axis, false, by), 0);
}

/* The better of two (value, index) pairs; ties go to the smaller index. */
static void
combine_best(Gen *g, TlOp *op, TlOpcode better)
{
   TlBuilder *b = &g->b;
   TlValue **a = op->regions[0]->block->args;
   GenRegion r = gen_open(g, op, 0);
   TlValue *tie =
      tl_b2(b, TL_OP_AND, tl_b2(b, TL_OP_EQ, a[0], a[2]), tl_b2(b, TL_OP_LT, a[1], a[3]));
   TlValue *keep = tl_b2(b, TL_OP_OR, tl_b2(b, better, a[0], a[2]), tie);
   TlValue *out[2] = {tl_b3(b, TL_OP_SELECT, keep, a[0], a[2]),
                      tl_b3(b, TL_OP_SELECT, keep, a[1], a[3])};
   gen_close(g, &r, out, 2);
}

static bool
reduce_best(Gen *g, TlValue *x, unsigned axis)
{
   if (gen_fact(g, x).nan || gen_dtype(x) == TL_I1)
      return false;
   uint32_t n = x->type->shape[axis];
   TlValue *index = tl_b0(&g->b, TL_OP_ARANGE, NULL, {TL_ATTR_END, {.i = n}});
   for (unsigned d = 0; d < x->type->rank; d++)
      if (d != axis)
         index = tl_b1(&g->b, TL_OP_EXPAND_DIMS, index, {TL_ATTR_AXIS, {.i = d}});
   const TlType *type = gen_with(g, x->type, TL_I32);
   if (index->type != type)
      index = tl_t1(&g->b, TL_OP_BROADCAST, type, index);
   TlValue *args[2] = {x, index};
   TlOp *op = folding(g, TL_OP_REDUCE, args, 2, axis, false);
   combine_best(g, op, gen_chance(g, 50) ? TL_OP_GT : TL_OP_LT);
   gen_add(g, same_fact(g, tl_result(op, 0), x));
   gen_add(g, gen_know(g, tl_result(op, 1), (Fact){.lo = 0, .hi = n - 1}));
   return true;
}

/* a + b + a b on integers that wrap: associative and commutative, since 1 + it multiplies. */
static bool
reduce_custom(Gen *g, TlValue *x, unsigned axis)
{
   if (gen_is_float(x) || gen_dtype(x) == TL_I1)
      return false;
   TlOp *op = folding(g, TL_OP_REDUCE, &x, 1, axis, false);
   TlValue **a = op->regions[0]->block->args;
   TlBuilder *b = &g->b;
   GenRegion r = gen_open(g, op, 0);
   TlValue *out =
      tl_b2(b, TL_OP_ADD, tl_b2(b, TL_OP_ADD, a[0], a[1]), tl_b2(b, TL_OP_MUL, a[0], a[1]));
   gen_close(g, &r, &out, 1);
   gen_add(g, tl_result(op, 0));
   return true;
}

/* Functions that are associative but not commutative, over integers that wrap. */
typedef enum Ordered {
   ORDERED_AFFINE,
   ORDERED_MATRIX,
   ORDERED_LAST_SET,
   ORDERED_LAST_LARGEST,
   NUM_ORDERED
} Ordered;

/* What `a`, the first, and `b` make. */
static void
combine_ordered(TlBuilder *b, Ordered what, TlValue *const *v, TlValue *zero, TlValue **out)
{
   switch (what) {
   case ORDERED_AFFINE: /* x -> p x + q, the first one first */
      out[0] = tl_b2(b, TL_OP_MUL, v[2], v[0]);
      out[1] = tl_b2(b, TL_OP_ADD, tl_b2(b, TL_OP_MUL, v[2], v[1]), v[3]);
      return;
   case ORDERED_MATRIX: /* 2 x 2 */
      for (unsigned i = 0; i < 4; i++)
         out[i] = tl_b2(b, TL_OP_ADD, tl_b2(b, TL_OP_MUL, v[i & 2], v[4 + (i & 1)]),
                        tl_b2(b, TL_OP_MUL, v[(i & 2) + 1], v[6 + (i & 1)]));
      return;
   case ORDERED_LAST_SET:
      out[0] = tl_b3(b, TL_OP_SELECT, tl_b2(b, TL_OP_NE, v[1], zero), v[1], v[0]);
      return;
   case ORDERED_LAST_LARGEST: { /* with what lies beside it */
      TlValue *later = tl_b2(b, TL_OP_GE, v[2], v[0]);
      out[0] = tl_b3(b, TL_OP_SELECT, later, v[2], v[0]);
      out[1] = tl_b3(b, TL_OP_SELECT, later, v[3], v[1]);
      return;
   }
   case NUM_ORDERED:
      break;
   }
   assert(false);
}

static bool
fold_ordered(Gen *g, TlOpcode opcode, TlValue *x, unsigned axis, bool reverse)
{
   static const unsigned operands[NUM_ORDERED] = {2, 4, 1, 2};
   enum { MOST = 4 };
   if (gen_is_float(x) || gen_dtype(x) == TL_I1)
      x = gen_pick_type(g, gen_with(g, x->type, TL_I32));
   Ordered what = (Ordered)gen_below(g, NUM_ORDERED);
   TlValue *args[MOST] = {x}, *out[MOST];
   for (unsigned i = 1; i < operands[what]; i++)
      args[i] = gen_pick_type(g, x->type);
   TlOp *op = folding(g, opcode, args, operands[what], axis, reverse);
   GenRegion r = gen_open(g, op, 0);
   TlValue *zero = gen_number(g, gen_scalar(g, gen_dtype(x)), 0);
   combine_ordered(&g->b, what, op->regions[0]->block->args, zero, out);
   gen_close(g, &r, out, operands[what]);
   for (unsigned i = 0; i < operands[what]; i++)
      gen_add(g, tl_result(op, i));
   return true;
}

static TlOpcode
combine_op(Gen *g, const TlValue *x)
{
   static const TlOpcode ints[] = {TL_OP_ADD, TL_OP_ADD, TL_OP_MIN, TL_OP_MAX,
                                   TL_OP_AND, TL_OP_OR,  TL_OP_XOR, TL_OP_MUL};
   static const TlOpcode floats[] = {TL_OP_ADD, TL_OP_ADD, TL_OP_MIN, TL_OP_MAX};
   static const TlOpcode bools[] = {TL_OP_AND, TL_OP_OR, TL_OP_XOR};
   if (gen_is_float(x))
      return floats[gen_below(g, 4)];
   return gen_dtype(x) == TL_I1 ? bools[gen_below(g, 3)] : ints[gen_below(g, 8)];
}

/* A float sum that is not exact: stored with its terms, and not used further. */
static bool
rounded_sum(Gen *g, TlOpcode opcode, TlValue *x, unsigned axis, bool reverse)
{
   TlDtype d = gen_dtype(x);
   if (tl_dtype_info[d].bits < 16)
      return false;
   x = gen_fit(g, x, -8, 8);
   TlValue *sum = tl_result(folding_by(g, opcode, x, axis, reverse, TL_OP_ADD), 0);
   int f = gen_store_plain(g, x), out = gen_store_plain(g, sum);
   GenBuffer *b = &g->p->buffer[out];
   b->agree = opcode == TL_OP_SCAN ? GEN_SCAN : GEN_SUM;
   b->f = f;
   b->unit = ldexp(1, -(tl_dtype_info[d].mantissa + 1));
   b->dims[0] = b->dims[2] = 1;
   for (unsigned i = 0; i < x->type->rank; i++)
      b->dims[i < axis    ? 0
              : i == axis ? 1
                          : 2] =
         i == axis ? x->type->shape[i] : b->dims[i < axis ? 0 : 2] * x->type->shape[i];
   return true;
}

/* Sums that stay exact: false when they do not. */
static bool
sum_fact(Gen *g, const TlValue *x, uint32_t n, Fact *f)
{
   *f = gen_fact(g, x);
   f->lo = f->lo < 0 ? f->lo * n : f->lo;
   f->hi = f->hi > 0 ? f->hi * n : f->hi;
   if (gen_is_float(x))
      return fmax(-f->lo, f->hi) <= gen_exact_limit(gen_dtype(x));
   Fact full = gen_full(gen_dtype(x));
   if (f->lo < full.lo || f->hi > full.hi)
      *f = full;
   return true;
}

bool
gen_step_reduce(Gen *g)
{
   TlValue *x = gen_pick_tile(g);
   if (!x)
      return false;
   unsigned axis = gen_below(g, x->type->rank);
   if (gen_chance(g, 20))
      return reduce_best(g, x, axis);
   if (gen_chance(g, 10))
      return reduce_custom(g, x, axis);
   if (gen_chance(g, 30))
      return fold_ordered(g, TL_OP_REDUCE, x, axis, false);
   TlOpcode by = combine_op(g, x);
   Fact f = gen_fact(g, x);
   if (by == TL_OP_ADD && gen_is_float(x)) {
      if (g->p->class != GEN_EXACT)
         return rounded_sum(g, TL_OP_REDUCE, x, axis, false);
      if (!sum_fact(g, x, x->type->shape[axis], &f))
         return false;
   } else if (by == TL_OP_ADD) {
      sum_fact(g, x, x->type->shape[axis], &f);
   } else if (by != TL_OP_MIN && by != TL_OP_MAX) {
      f = gen_full(gen_dtype(x));
   }
   gen_add(g, gen_know(g, gen_fold(g, x, axis, by), f));
   return true;
}

bool
gen_step_scan(Gen *g)
{
   TlValue *x = gen_pick_tile(g);
   if (!x)
      return false;
   unsigned axis = gen_below(g, x->type->rank);
   bool reverse = gen_chance(g, 40);
   if (gen_chance(g, 35))
      return fold_ordered(g, TL_OP_SCAN, x, axis, reverse);
   TlOpcode by = combine_op(g, x);
   Fact f = gen_fact(g, x);
   if (by == TL_OP_ADD && gen_is_float(x) && g->p->class != GEN_EXACT)
      return rounded_sum(g, TL_OP_SCAN, x, axis, reverse);
   if (by == TL_OP_ADD && !sum_fact(g, x, x->type->shape[axis], &f))
      return false;
   if (by != TL_OP_ADD && by != TL_OP_MIN && by != TL_OP_MAX)
      f = gen_full(gen_dtype(x));
   TlOp *op = folding_by(g, TL_OP_SCAN, x, axis, reverse, by);
   gen_add(g, gen_know(g, tl_result(op, 0), f));
   return true;
}

/* ---- sorting: the bitonic network of stdlib/sort.tile ---- */
static TlValue *
partner(Gen *g, TlValue *bits, uint32_t n, uint32_t j)
{
   TlBuilder *b = &g->b;
   uint32_t shape[3] = {n / (2 * j), 2, j};
   const TlType *type = gen_shaped(g, gen_dtype(bits), 3, shape);
   TlValue *pairs = tl_t1(b, TL_OP_RESHAPE, type, bits);
   TlValue *both =
      tl_b1(b, TL_OP_EXPAND_DIMS, gen_fold(g, pairs, 1, TL_OP_XOR), {TL_ATTR_AXIS, {.i = 1}});
   both = tl_t1(b, TL_OP_BROADCAST, type, both);
   return tl_t1(b, TL_OP_RESHAPE, bits->type, tl_b2(b, TL_OP_XOR, pairs, both));
}

static TlValue *
exchange(Gen *g, TlValue *bits, TlDtype d, uint32_t n, uint32_t j, TlValue *down)
{
   TlBuilder *b = &g->b;
   TlValue *other = partner(g, bits, n, j), *i = gen_numbers(g, 1, &n);
   TlValue *mine = tl_b2(b, TL_OP_AND, i, gen_number(g, i->type, j));
   TlValue *second = tl_b2(b, TL_OP_NE, mine, gen_number(g, i->type, 0));
   const TlType *type = gen_with(g, bits->type, d);
   TlValue *x = bits, *y = other;
   if (type != bits->type) {
      x = tl_t1(b, TL_OP_BITCAST, type, bits);
      y = tl_t1(b, TL_OP_BITCAST, type, other);
   }
   TlValue *swap =
      tl_b3(b, TL_OP_SELECT, second, tl_b2(b, TL_OP_LT, x, y), tl_b2(b, TL_OP_GT, x, y));
   TlValue *differ = tl_b2(b, TL_OP_AND, down, tl_b2(b, TL_OP_NE, x, y));
   return tl_b3(b, TL_OP_SELECT, tl_b2(b, TL_OP_XOR, swap, differ), other, bits);
}

bool
gen_step_sort(Gen *g)
{
   TlBuilder *b = &g->b;
   TlValue *x = gen_pick_tile(g);
   if (!x || gen_dtype(x) == TL_I1 || gen_fact(g, x).nan)
      return false;
   uint32_t n = gen_elems(x), length = x->type->shape[x->type->rank - 1];
   if (length < 2 || length > 16 || n > 256)
      return false;
   TlDtype d = gen_dtype(x);
   TlValue *bits = reshape(g, x, 1, &n);
   const TlType *type = gen_with(g, bits->type, tl_dtype_int(tl_dtype_info[d].bits, true));
   if (type != bits->type)
      bits = tl_t1(b, TL_OP_BITCAST, type, bits);
   for (uint32_t run = 2; run <= length; run *= 2) {
      TlValue *i = gen_numbers(g, 1, &n);
      TlValue *down = tl_b2(b, TL_OP_AND, i, gen_number(g, i->type, run == length ? 0 : run));
      down = tl_b2(b, TL_OP_NE, down, gen_number(g, i->type, 0));
      for (uint32_t j = run / 2; j; j /= 2)
         bits = exchange(g, bits, d, n, j, down);
   }
   if (gen_dtype(bits) != d)
      bits = tl_t1(b, TL_OP_BITCAST, gen_with(g, bits->type, d), bits);
   gen_know(g, bits, gen_fact(g, x));
   bits = reshape(g, bits, x->type->rank, x->type->shape);
   bits->name = "sorted";
   gen_add(g, bits);
   return true;
}

/* ---- gather, histogram ---- */
static TlValue *
below_power(Gen *g, TlValue *v, uint32_t limit)
{
   if (tl_dtype_info[gen_dtype(v)].bits <= 8 && limit > 64)
      return NULL;
   v = tl_b2(&g->b, TL_OP_AND, v, gen_number(g, v->type, limit - 1));
   return gen_know(g, v, (Fact){.lo = 0, .hi = limit - 1});
}

bool
gen_step_gather(Gen *g)
{
   static const TlDtype types[] = {TL_I32, TL_I32, TL_I32, TL_I64, TL_I16, TL_U8, TL_U32};
   TlValue *x = gen_pick_tile(g);
   if (!x)
      return false;
   unsigned axis = gen_below(g, x->type->rank);
   uint32_t shape[TL_MAX_RANK], n = x->type->shape[axis], others = gen_elems(x) / n;
   memcpy(shape, x->type->shape, sizeof shape);
   shape[axis] = 1u << gen_below(g, 8);
   while (shape[axis] > 1 && shape[axis] * others > g->max_elems)
      shape[axis] /= 2;
   const TlType *type = gen_shaped(g, types[gen_below(g, 7)], x->type->rank, shape);
   TlValue *index = below_power(g, gen_pick_type(g, type), n);
   if (!index)
      return false;
   TlValue *v = tl_b2(&g->b, TL_OP_GATHER, x, index, {TL_ATTR_AXIS, {.i = axis}});
   gen_add(g, same_fact(g, v, x));
   return true;
}

bool
gen_step_histogram(Gen *g)
{
   TlValue *x = gen_pick_tile(g);
   if (!x || gen_is_float(x) || gen_dtype(x) == TL_I1)
      return false;
   uint32_t n = gen_elems(x), bins = 1u << gen_below(g, 9);
   x = below_power(g, reshape(g, x, 1, &n), bins);
   if (!x)
      return false;
   TlValue *args[2] = {x, NULL};
   unsigned num_args = 1;
   if (gen_chance(g, 40))
      args[num_args++] = gen_pick_type(g, gen_with(g, x->type, TL_I1));
   TlValue *v = tl_build_n(&g->b, TL_OP_HISTOGRAM, args, num_args, NULL,
                           TL_ATTRS_({TL_ATTR_BINS, {.i = bins}}));
   gen_add(g, gen_know(g, v, (Fact){.lo = 0, .hi = n}));
   return true;
}

/* ---- map ---- */
/* Repeats what the region does to its first elements for element e of each pack: which elements of
 * a tile come together is not promised, so all must be treated alike. */
static void
repeat_for(Gen *g, TlBlock *body, const TlOp *last, unsigned k, unsigned pack, unsigned e,
           TlValue *const *of, TlValue **out, unsigned n)
{
   TlMap map;
   tl_map_init(&map, g->arena);
   for (unsigned i = 0; i < k; i++)
      tl_map_put(&map, body->args[i * pack], body->args[i * pack + e]);
   for (const TlOp *op = body->first; op; op = op->next) {
      tl_clone_op(&g->b, op, &map);
      if (op == last)
         break;
   }
   for (unsigned i = 0; i < n; i++) {
      TlValue *copy = tl_map_get(&map, of[i]);
      out[i] = copy ? copy : of[i];
   }
}

bool
gen_step_map(Gen *g)
{
   TlValue *x = gen_pick_tile(g);
   if (!x)
      return false;
   TlValue *args[2] = {x, gen_pick_type(g, gen_with(g, x->type, gen_any_dtype(g)))};
   const TlType *types[2];
   unsigned k = 1 + gen_below(g, 2), results = 1 + gen_below(g, 2), pack = 1u << gen_below(g, 3);
   while (pack > gen_elems(x))
      pack /= 2;
   /* result types are those of operands, so that a value can always be passed on */
   for (unsigned i = 0; i < results; i++)
      types[i] = args[gen_below(g, k)]->type;
   TlOp *op = tl_build(&g->b, TL_OP_MAP, args, k, types, results,
                       (const TlAttrInit[]){{TL_ATTR_PACK, {.i = pack}}}, 1, 1);
   TlBlock *body = op->regions[0]->block;
   for (unsigned i = 0; i < k * pack; i++)
      tl_block_add_arg(body, args[i / pack]->type->elem, NULL);
   GenRegion r = gen_open(g, op, 0);
   TlValue **outside = tl_new_array(g->arena, TlValue *, r.pool + 1), *first[2], *out[8];
   memcpy(outside, g->pool.data, r.pool * sizeof outside[0]);
   g->pool.len = 0; /* scalars of the region only */
   g->in_scalars = true;
   for (unsigned i = 0; i < k; i++)
      gen_add(g, same_fact(g, body->args[i * pack], args[i]));
   gen_grow(g, 1 + gen_below(g, 4));
   if (gen_chance(g, 40))
      gen_step_if(g);
   for (unsigned i = 0; i < results; i++)
      first[i] = out[i * pack] = gen_pick_type(g, types[i]->elem);
   const TlOp *last = body->last;
   for (unsigned e = 1; e < pack && last; e++) {
      TlValue *copy[2];
      repeat_for(g, body, last, k, pack, e, first, copy, results);
      for (unsigned i = 0; i < results; i++)
         out[i * pack + e] = copy[i];
   }
   g->pool.len = 0;
   for (size_t i = 0; i < r.pool; i++)
      gen_add(g, outside[i]);
   gen_close(g, &r, out, results * pack);
   for (unsigned i = 0; i < results; i++)
      gen_add(g, gen_know(g, tl_result(op, i), gen_fact(g, first[i])));
   return true;
}

/* ---- dot ---- */
/* Operand of a dot: its type when loaded, and what happens on the way. */
typedef struct DotOperand {
   TlDtype memory; /* the dot's own, or i8 to be converted */
   bool trans, mask, negate;
   int buffer;
   TlValue *carried; /* pointers of this iteration, when the loop carries them */
} DotOperand;

typedef struct Dot {
   TlDtype in, in_b, acc;
   unsigned rank;
   uint32_t batch, m, n, k;
   int precision;
   int64_t imprecise; /* K between promotions of fp8 */
   bool loop;
   bool turn;    /* the loop negates its sum each time: whole-number programs only */
   double bound; /* of |sum of products| and accumulator in whole-number programs */
   DotOperand op[2];
   GenFill fill;
} Dot;

static const struct {
   TlDtype in, acc;
   int precision;
} dot_kinds[] = {
   {TL_FP16, TL_FP32, 0},
   {TL_FP16, TL_FP32, 0},
   {TL_FP16, TL_FP16, 0},
   {TL_BF16, TL_FP32, 0},
   {TL_BF16, TL_FP32, 0},
   {TL_FP32, TL_FP32, TL_PRECISION_TF32},
   {TL_FP32, TL_FP32, TL_PRECISION_TF32_CUT},
   {TL_FP32, TL_FP32, TL_PRECISION_TF32X3},
   {TL_FP32, TL_FP32, TL_PRECISION_IEEE},
   {TL_FP64, TL_FP64, 0},
   {TL_I8, TL_I32, 0},
   {TL_U8, TL_I32, 0},
   {TL_FP8E4NV, TL_FP32, 0},
   {TL_FP8E5, TL_FP32, 0},
   {TL_FP8E4NV, TL_FP16, 0},
};

static Dot
choose_dot(Gen *g)
{
   unsigned kind = gen_below(g, sizeof dot_kinds / sizeof dot_kinds[0]);
   Dot d = {
      .in = dot_kinds[kind].in, .acc = dot_kinds[kind].acc, .precision = dot_kinds[kind].precision};
   d.in_b = d.in;
   if (tl_dtype_info[d.in].bits == 8 && tl_dtype_is_float(d.in) && gen_chance(g, 30))
      d.in_b = d.in == TL_FP8E5 ? TL_FP8E4NV : TL_FP8E5;
   d.rank = gen_chance(g, 20) ? 3 : 2;
   d.batch = d.rank == 3 ? 1u << gen_below(g, 3) : 1;
   d.m = gen_chance(g, 15) ? 64 : 1u << gen_below(g, 7); /* wgmma has 64 rows */
   d.n = 1u << gen_below(g, 7);
   d.k = (tl_dtype_info[d.in].bits == 8 ? 32u : 16u) << gen_below(g, 2);
   while (d.batch * d.m * d.n > 2048 || d.batch * (d.m + d.n) * d.k > 8192)
      if (d.m > d.n)
         d.m /= 2;
      else
         d.n /= 2;
   bool exact = g->p->class == GEN_EXACT || !tl_dtype_is_float(d.in);
   for (unsigned i = 0; i < 2; i++) {
      TlDtype in = i ? d.in_b : d.in;
      d.op[i] = (DotOperand){.memory = in,
                             .trans = gen_chance(g, 30),
                             .mask = exact && gen_chance(g, 30),
                             .negate = exact && tl_dtype_is_float(in) && gen_chance(g, 15)};
      if (exact && tl_dtype_is_float(in) && gen_chance(g, 15))
         d.op[i].memory = TL_I8;
   }
   if (tl_dtype_is_fp8(d.in))
      d.imprecise = gen_chance(g, 50) ? 1 << 30 : 32 * gen_below(g, 4);
   d.turn = exact && gen_chance(g, 15);
   d.loop = gen_chance(g, 45);
   d.fill = gen_chance(g, 50) ? GEN_TINY : GEN_SMALL;
   if (g->p->class != GEN_EXACT && tl_dtype_is_float(d.in))
      d.fill = GEN_NORMAL;
   return d;
}

/* Sums of whole numbers: an fp8 product sum keeps 13 bits on some hardware. */
static bool
dot_is_exact(Dot *d)
{
   Fact a = gen_fill_fact(d->in, d->fill);
   double most = fmax(-a.lo, a.hi), limit = gen_exact_limit(d->acc);
   if (tl_dtype_info[d->in].bits == 8 && tl_dtype_is_float(d->in))
      limit = fmin(limit, 4096);
   d->bound = d->k * most * most * (d->loop ? GEN_MAX_TRIPS : 1);
   return !tl_dtype_is_float(d->in) || d->bound + 8 <= limit;
}

/* Elements of an operand of one step, and their shape in memory. */
static uint32_t
dot_operand_shape(const Dot *d, unsigned which, uint32_t shape[3])
{
   uint32_t rows = which ? d->k : d->m, cols = which ? d->n : d->k;
   bool trans = d->op[which].trans;
   shape[0] = d->batch;
   shape[1] = trans ? cols : rows;
   shape[2] = trans ? rows : cols;
   return d->batch * rows * cols;
}

/* Pointers to an operand, of step 0 or of `step`. */
static TlValue *
dot_pointers(Gen *g, const Dot *d, unsigned which, TlValue *step)
{
   uint32_t shape[3], n = dot_operand_shape(d, which, shape);
   TlValue *offset = gen_offset_of_program(g, n * (d->loop ? GEN_MAX_TRIPS : 1));
   if (step) {
      TlValue *at = tl_b2(&g->b, TL_OP_MUL, step, gen_number(g, step->type, n));
      offset = offset ? tl_b2(&g->b, TL_OP_ADD, offset, at) : at;
   }
   TlValue *index = gen_numbers(g, d->rank, shape + 3 - d->rank);
   return gen_pointers(g, d->op[which].buffer, index, offset);
}

/* Rows or columns below a limit that is known at run time only. */
static TlValue *
dot_mask(Gen *g, const TlType *type, const Dot *d)
{
   TlBuilder *b = &g->b;
   unsigned axis = type->rank - 1 - gen_below(g, 2);
   TlValue *v = tl_b0(b, TL_OP_ARANGE, NULL, {TL_ATTR_END, {.i = type->shape[axis]}});
   TlValue *limit =
      tl_b2(b, TL_OP_AND, g->scalar[GEN_LIMIT], gen_number(g, g->scalar[0]->type, 2 * d->k - 1));
   v = tl_b2(b, TL_OP_LT, v, tl_t1(b, TL_OP_SPLAT, v->type, limit));
   for (unsigned e = 0; e < type->rank; e++)
      if (e != axis)
         v = tl_b1(b, TL_OP_EXPAND_DIMS, v, {TL_ATTR_AXIS, {.i = e}});
   const TlType *mask = gen_with(g, type, TL_I1);
   return v->type == mask ? v : tl_t1(b, TL_OP_BROADCAST, mask, v);
}

/* Loads operand `which`, of `step` when in a loop. */
static TlValue *
dot_operand(Gen *g, const Dot *d, unsigned which, TlValue *step)
{
   TlBuilder *b = &g->b;
   const DotOperand *o = &d->op[which];
   TlValue *ptr = o->carried ? o->carried : dot_pointers(g, d, which, step), *v;
   uint32_t shape[3];
   dot_operand_shape(d, which, shape);
   const TlType *type = gen_shaped(g, o->memory, d->rank, shape + 3 - d->rank);
   if (o->mask) {
      TlValue *args[] = {ptr, dot_mask(g, type, d), gen_number(g, type, gen_below(g, 3) == 0)};
      v = tl_build_n(b, TL_OP_LOAD, args, 3, NULL, TL_ATTRS_());
   } else {
      v = tl_b1(b, TL_OP_LOAD, ptr);
   }
   TlDtype in = which ? d->in_b : d->in;
   if (o->memory != in)
      v = tl_t1(b, TL_OP_CAST, gen_with(g, v->type, in), v);
   if (o->negate)
      v = tl_b1(b, TL_OP_NEG, v);
   if (o->trans) {
      int64_t order[3] = {0, 2, 1}, flat[2] = {1, 0};
      v = tl_b1(b, TL_OP_TRANS, v,
                {TL_ATTR_ORDER, {.ints = tl_ints(g->arena, d->rank == 2 ? flat : order, d->rank)}});
   }
   return v;
}

/* In whole-number programs an operand may be anything of the right size that was computed. */
static TlValue *
dot_operand_from_pool(Gen *g, const Dot *d, unsigned which, double most)
{
   uint32_t shape[3] = {d->batch, which ? d->k : d->m, which ? d->n : d->k};
   unsigned skip = 3 - d->rank;
   for (unsigned t = 0; t < 12; t++) {
      TlValue *v = gen_pick(g);
      TlDtype from = gen_dtype(v), to = which ? d->in_b : d->in;
      if (gen_elems(v) != d->batch * shape[1] * shape[2] || from == TL_I1 || from == TL_FP8E4B15 ||
          !tl_type_is_tile(v->type))
         continue;
      v = gen_fit(g, v, gen_full(from).lo < 0 ? -most : 0, most);
      return reshape(g, gen_cast(g, v, to), d->rank, shape + skip);
   }
   return NULL;
}

static TlValue *
build_dot(Gen *g, const Dot *d, TlValue *a, TlValue *b, TlValue *acc)
{
   TlValue *args[] = {a, b, acc};
   return tl_build_n(&g->b, TL_OP_DOT, args, 3, NULL,
                     TL_ATTRS_({TL_ATTR_PRECISION, {.i = d->precision}},
                               {TL_ATTR_IMPRECISE, {.i = d->imprecise}}));
}

/* The pointers of the next iteration. */
static TlValue *
advanced(Gen *g, const Dot *d, unsigned which)
{
   uint32_t shape[3], n = dot_operand_shape(d, which, shape);
   TlValue *p = d->op[which].carried;
   return tl_b2(&g->b, TL_OP_ADDPTR, p, gen_number(g, gen_with(g, p->type, TL_I32), n));
}

/* Operand pointers are computed from the loop's counter, or carried and advanced. */
static TlValue *
dot_loop(Gen *g, Dot *d, TlValue *acc)
{
   TlBuilder *b = &g->b;
   TlValue *args[6] = {tl_const_int(b, TL_I32, 0), g->scalar[GEN_TRIPS], tl_const_int(b, TL_I32, 1),
                       acc};
   unsigned n = 4;
   bool carry[2] = {gen_chance(g, 50), gen_chance(g, 50)};
   for (unsigned i = 0; i < 2; i++)
      if (carry[i])
         args[n++] = dot_pointers(g, d, i, NULL);
   TlAttrInit attrs[] = {{TL_ATTR_NUM_STAGES, {.i = gen_chance(g, 50) ? gen_below(g, 5) : 0}}};
   TlOp *op = tl_build(b, TL_OP_FOR, args, n, NULL, n - 3, attrs, 1, 1);
   TlBlock *body = op->regions[0]->block;
   TlValue *step = tl_block_add_arg(body, args[0]->type, "step");
   TlValue *out[3] = {tl_block_add_arg(body, acc->type, "sum")};
   n = 4;
   for (unsigned i = 0; i < 2; i++)
      if (carry[i])
         d->op[i].carried = tl_block_add_arg(body, args[n++]->type, i ? "q" : "p");
   GenRegion r = gen_open(g, op, 0);
   TlValue *x = dot_operand(g, d, 0, step), *y = dot_operand(g, d, 1, step);
   if (d->turn)
      out[0] = tl_b1(b, TL_OP_NEG, out[0]);
   out[0] = build_dot(g, d, x, y, out[0]);
   n = 1;
   for (unsigned i = 0; i < 2; i++)
      if (carry[i])
         out[n++] = advanced(g, d, i);
   gen_close(g, &r, out, n);
   return tl_result(op, 0);
}

/* The accumulator to start from: zero, or loaded in plain order into *buffer. */
static TlValue *
dot_start(Gen *g, const Dot *d, int *buffer)
{
   uint32_t shape[3] = {d->batch, d->m, d->n};
   const TlType *type = gen_shaped(g, d->acc, d->rank, shape + 3 - d->rank);
   *buffer = -1;
   if (gen_chance(g, 50))
      return gen_number(g, type, 0);
   uint32_t n = d->batch * d->m * d->n;
   GenFill fill = g->p->class == GEN_EXACT || !tl_dtype_is_float(d->acc) ? GEN_SMALL : GEN_NORMAL;
   *buffer = gen_buffer(g, d->acc, n * gen_programs(g), fill);
   TlValue *index = gen_numbers(g, type->rank, type->shape);
   TlValue *v =
      tl_b1(&g->b, TL_OP_LOAD, gen_pointers(g, *buffer, index, gen_offset_of_program(g, n)));
   return gen_know(g, v, gen_fill_fact(d->acc, fill));
}

static void
dot_bound(Gen *g, const Dot *d, int out, int start)
{
   GenBuffer *b = &g->p->buffer[out];
   bool fp8 = tl_dtype_info[d->in].bits == 8;
   *b = (GenBuffer){.dtype = b->dtype,
                    .elems = b->elems,
                    .fill = b->fill,
                    .skip = b->skip,
                    .is_output = true,
                    .agree = GEN_DOT,
                    .f = d->op[0].buffer,
                    .g = d->op[1].buffer,
                    .h = start,
                    .f_trans = d->op[0].trans,
                    .g_trans = d->op[1].trans,
                    .dims = {d->loop ? GEN_MAX_TRIPS : 0, d->batch, d->m, d->n, d->k},
                    .unit = fp8 ? 0x1p-13 : ldexp(1, -(tl_dtype_info[d->acc].mantissa + 1))};
}

bool
gen_step_dot(Gen *g)
{
   Dot d = choose_dot(g);
   bool exact = g->p->class == GEN_EXACT || !tl_dtype_is_float(d.in);
   if (exact && !dot_is_exact(&d))
      return false;
   if (g->depth)
      d.loop = false;
   Fact operand = gen_fill_fact(d.in, d.fill);
   TlValue *given[2] = {NULL, NULL};
   uint32_t programs = gen_programs(g), steps = d.loop ? GEN_MAX_TRIPS : 1;
   for (unsigned i = 0; i < 2; i++) {
      if (exact && !d.loop && gen_chance(g, 50))
         given[i] = dot_operand_from_pool(g, &d, i, operand.hi);
      uint32_t n = d.batch * d.k * (i ? d.n : d.m);
      if (!given[i])
         d.op[i].buffer = gen_buffer(g, d.op[i].memory, n * steps * programs, d.fill);
   }
   int start;
   TlValue *acc = dot_start(g, &d, &start), *v;
   if (d.loop) {
      v = dot_loop(g, &d, acc);
   } else {
      for (unsigned i = 0; i < 2; i++)
         given[i] = given[i] ? given[i] : dot_operand(g, &d, i, NULL);
      v = build_dot(g, &d, given[0], given[1], acc);
   }
   if (!exact) {
      dot_bound(g, &d, gen_store_plain(g, v), start);
      return true;
   }
   if (d.turn && d.loop && gen_is_float(v)) /* a sum of zeros loses its sign */
      v = tl_b2(&g->b, TL_OP_ADD, v, gen_number(g, v->type, 0));
   Fact f = gen_full(d.acc);
   if (tl_dtype_is_float(d.acc))
      f = (Fact){.lo = -d.bound - 8, .hi = d.bound + 8, .whole = true};
   gen_add(g, gen_know(g, v, f));
   return true;
}
