/* Loops whose products take small steps take several at once:
 *
 *    for i in 0 .. n:                         for i in 0 .. n // 2 * 2 step 2:
 *       x = load p          [32, N]              x = load p'            [64, N]
 *       s = dot(k, trans(x), 0)                  s = dot(k, trans(x), 0)
 *       acc = dot(f(s), x, acc)                  acc = dot(f(s), x, acc)
 *       p += 32 rows                             p' += 64 rows
 *                                             for i in n // 2 * 2 .. n: as before
 *
 * An iteration waits for its copies and for its products and meets at barriers, however small its
 * tiles are; and shared memory is read for a product's operands in no fewer cycles for 32 columns
 * than for 64.  So operands whose steps along K are rows of less than 128 bytes are put together
 * with those of the iterations that follow.
 *
 * Every tile of the body that takes part gets its elements of the iterations one behind the other
 * along one of its dimensions: the one that the loop moves along.  That is right where
 *    - loads, comparisons and casts of indices see at element k + width what they see at k in the
 *      next iteration: by the sums of affine.h, the term of the iteration is width times that of
 *      the index.  Indices have only sums and products on the way, as far as either matters;
 *    - what is done with elements is done to each by itself, or is a product with what the loop
 *      does not change;
 *    - the loop carries sums of products whose K that dimension is, and indices and pointers that
 *      advance by what it does not change.
 * Of products of what the loop does not change, whose columns these elements are, up to 128 are put
 * together by eight warps: wgmma then reads its left operand half as often.
 * Sums are then added up in the order in which they were.  Sums kept relative to a running maximum
 * (scaled_sums.h), which are reductions and products along the dimension, share one maximum and one
 * scaling: they are put together up to 128 elements, and differ by rounding.
 *
 * No loop is left behind it where the bounds are multiples of the wide step, or the masks of all
 * loads end with the last iteration: what is beyond is zeros.  Refused: everything else in the body
 * (effects, other loops, other reductions), strict floating point, fp8 sums that are promoted,
 * tiles for which registers have no room, loops that run fewer than twice the wide one's
 * iterations, and `loop_unroll_factor=1`, which asks for the loop as it is. */
#include "ir/affine.h"
#include "ir/control.h"
#include "ir/pressure.h"
#include "ir/trips.h"
#include "ir/walk.h"
#include "passes/choose_warps.h"
#include "passes/dot_layouts.h"
#include "passes/live_words.h"
#include "passes/pass.h"
#include "passes/remark.h"
#include "passes/scaled_sums.h"
#include "passes/specialize_warps.h"

#include <assert.h>
#include <string.h>

enum {
   ROW_BYTES = 128,  /* of an operand along K: what wgmma's widest swizzle takes */
   WIDE = 128,       /* of what an iteration adds to sums that it scales, or of columns */
   WIDE_WORDS = 160, /* of a thread for products, where columns are the reason */
   MOST_TIMES = 4,
   WHOLE_WORDS = 48, /* of a thread for what a loop loads that is taken at once */
   LANES = 32,
   MOST_STEPS = 4096,     /* of the walks up from the products */
   SPARE = 40,            /* registers of a thread for addresses and what is in flight */
   SPARE_OF_COPYING = 64, /* of one that copies as well */
   MOST_ARGS = 3,         /* of what is copied */
   AS_IS = -1,            /* no dimension of the tile is widened */
};

typedef struct Widen {
   TlPassCx *cx;
   TlFunc *func;
   TlTypes *types;
   TlAffine *affine;
   TlOp *loop;
   TlBlock *body;
   uint32_t width;         /* of an iteration along the dimension that the loop moves along */
   unsigned times;         /* as wide as that it becomes */
   bool is_by_columns;     /* and not for the rows of operands, or for its sums */
   unsigned warps, stages; /* of the block and of the loop then: choose_warps may take more */
   uint64_t weights;       /* words that products of scaled sums take from registers then */
   uint8_t *use; /* by value id, of the body's: NOT_USED, USED, or USED + 1 + dimension widened */
   bool *is_sum; /* by value id: of a product that adds to what the loop carries, or a fold */
   TlScaledSums scaled; /* sums that the loop keeps relative to a statistic */
   bool has_scaled;
   bool is_settled;          /* of what is looked at: the statistic may be in it */
   unsigned steps;           /* of the walks so far */
   bool leaves_rest;         /* a loop for the last iterations stays behind the wide one */
   TlMap inner;              /* what stands for a value of the body in the wide loop */
   TlMap outer[TL_MAX_RANK]; /* for one from outside, by the dimension that is widened */
   TlBuilder before;         /* the wide loop */
} Widen;

enum { NOT_USED, USED };

/* ---- what belongs together ---- */
static bool
is_index(const TlType *t)
{
   const TlType *elem = tl_type_elem(t);
   return elem->kind == TL_TYPE_PTR || (tl_dtype_is_int(elem->dtype) && elem->dtype != TL_I1);
}

static bool
is_inside(const Widen *w, const TlValue *v)
{
   return tl_value_block(v) == w->body;
}

static bool
has_width(const Widen *w, const TlType *t, int axis)
{
   return t->kind == TL_TYPE_TILE && axis >= 0 && axis < t->rank && t->shape[axis] == w->width;
}

/* Which dimension of a value of the body is widened. */
static int
axis_of(const Widen *w, const TlValue *v)
{
   uint8_t use = w->use[v->id];
   return use > USED ? use - USED - 1 : AS_IS;
}

static TlMoving
moving(const Widen *w, int axis)
{
   return (TlMoving){w->loop, axis, w->width};
}

/* Which dimension of operand i is widened where `axis` of the result is; AS_IS: none. */
static int
operand_axis(const Widen *w, const TlOp *op, unsigned i, int axis)
{
   const TlType *t = tl_arg(op, i)->type;
   if (t->kind != TL_TYPE_TILE)
      return AS_IS;
   if (op->opcode == TL_OP_DOT) {
      if (w->is_sum[tl_result(op, 0)->id])
         return i == 0 ? 1 : i == 1 ? 0 : AS_IS;
      axis = i == 2 || (int)i == axis ? axis : AS_IS;
   } else if (op->opcode == TL_OP_REDUCE) {
      int along = (int)tl_attr_int(op, TL_ATTR_AXIS);
      bool is_fold = w->is_sum[tl_result(op, 0)->id];
      axis = is_fold ? along : axis == AS_IS ? AS_IS : axis + (axis >= along);
   } else if (axis != AS_IS && op->opcode == TL_OP_TRANS) {
      axis = (int)tl_attr_ints(op, TL_ATTR_ORDER).data[axis];
   } else if (axis != AS_IS && op->opcode == TL_OP_EXPAND_DIMS) {
      axis -= axis > tl_attr_int(op, TL_ATTR_AXIS);
   }
   return has_width(w, t, axis) ? axis : AS_IS;
}

/* Sums and products of indices, and what moves them. */
static bool
is_linear(const TlOp *op)
{
   switch (op->opcode) {
   case TL_OP_CONSTANT:
   case TL_OP_SPLAT:
   case TL_OP_ARANGE:
   case TL_OP_BROADCAST:
   case TL_OP_EXPAND_DIMS:
   case TL_OP_TRANS:
   case TL_OP_HINT:
   case TL_OP_ADD:
   case TL_OP_SUB:
   case TL_OP_MUL:
   case TL_OP_ADDPTR:
      return true;
   case TL_OP_CAST:
      return is_index(tl_arg(op, 0)->type);
   default:
      return false;
   }
}

static bool
compares_indices(const TlOp *op)
{
   return op->opcode >= TL_OP_EQ && op->opcode <= TL_OP_GE && is_index(tl_arg(op, 0)->type);
}

/* ---- what advances ---- */

/* x + step, x - step, or the pointer x moved by step, of the carried x: the operation and which
 * operand the step is; NULL where it is no such, or the loop changes it or its elements differ. */
static TlOp *
step_of(const Widen *w, unsigned i, unsigned *at)
{
   const TlValue *x = tl_carried(w->body, i);
   TlOp *op = tl_yielded(w->body, i)->def;
   if (!op || op->block != w->body ||
       (op->opcode != TL_OP_ADD && op->opcode != TL_OP_SUB && op->opcode != TL_OP_ADDPTR))
      return NULL;
   *at = op->opcode == TL_OP_ADD && tl_arg(op, 1) == x ? 0 : 1;
   const TlValue *step = tl_arg(op, *at);
   uint64_t bits;
   bool is_equal = step->type->kind != TL_TYPE_TILE || tl_value_is(step, TL_OP_SPLAT) ||
                   tl_is_const(step, &bits);
   return tl_arg(op, 1 - *at) == x && !is_inside(w, step) && is_equal && is_index(x->type) ? op
                                                                                           : NULL;
}

/* ---- may it be widened? ---- */

/* The same in all iterations. */
static bool
is_invariant(Widen *w, const TlValue *v)
{
   if (!is_inside(w, v))
      return true;
   const TlOp *op = v->def;
   if (!op || !tl_op_is_pure(op) || op->num_regions || w->steps++ > MOST_STEPS)
      return false;
   for (unsigned i = 0; i < op->num_args; i++)
      if (!is_invariant(w, tl_arg(op, i)))
         return false;
   return true;
}

/* All elements along the dimension are equal. */
static bool
is_equal_along(Widen *w, const TlValue *v, int axis)
{
   const TlOp *op = v->def;
   if (!op || w->steps++ > MOST_STEPS)
      return false;
   if (op->opcode == TL_OP_CONSTANT || op->opcode == TL_OP_SPLAT)
      return true;
   bool is_moved = op->opcode == TL_OP_BROADCAST || op->opcode == TL_OP_EXPAND_DIMS ||
                   op->opcode == TL_OP_TRANS || op->opcode == TL_OP_HINT;
   if (!is_moved && !(tl_has_trait(op, TL_TRAIT_ELTWISE) && tl_op_is_pure(op)))
      return false;
   for (unsigned i = 0; i < op->num_args; i++) {
      int of = operand_axis(w, op, i, axis);
      if (of != AS_IS && !is_equal_along(w, tl_arg(op, i), of))
         return false;
   }
   return true;
}

/* Made by sums and products of indices, as far as the loop or the dimension matters. */
static bool
is_linear_value(Widen *w, const TlValue *v, int axis)
{
   const TlOp *op = v->def;
   if (w->steps++ > MOST_STEPS)
      return false;
   if (axis == AS_IS && !is_inside(w, v))
      return true;
   if (!op)
      return is_inside(w, v);
   if (!is_linear(op))
      return is_invariant(w, v) && (axis == AS_IS || is_equal_along(w, v, axis));
   for (unsigned i = 0; i < op->num_args; i++)
      if (!is_linear_value(w, tl_arg(op, i), operand_axis(w, op, i, axis)))
         return false;
   return true;
}

/* May it be the same for several iterations at once? */
static bool
is_shared(Widen *w, const TlValue *v)
{
   return is_invariant(w, v) || (w->is_settled && tl_is_of_statistic(&w->scaled, v));
}

/* Widened along the dimension, does v hold its elements of the next iteration behind its own? */
static bool
goes_on(Widen *w, const TlValue *v, int axis)
{
   const TlOp *op = v->def;
   if (w->steps++ > MOST_STEPS)
      return false;
   if (is_index(v->type) && tl_value_moves_along(w->affine, v, NULL, moving(w, axis)) &&
       is_linear_value(w, v, axis))
      return true;
   if (!is_inside(w, v))
      return is_equal_along(w, v, axis);
   if (!op || op->opcode == TL_OP_ARANGE)
      return false;
   if (compares_indices(op) &&
       tl_value_moves_along(w->affine, tl_arg(op, 0), tl_arg(op, 1), moving(w, axis)) &&
       is_linear_value(w, tl_arg(op, 0), axis) && is_linear_value(w, tl_arg(op, 1), axis))
      return true;
   for (unsigned i = 0; i < op->num_args; i++) {
      int of = operand_axis(w, op, i, axis);
      if (of == AS_IS ? !is_shared(w, tl_arg(op, i)) : !goes_on(w, tl_arg(op, i), of))
         return false;
   }
   return true;
}

/* Can the operation be made of wider operands as it is of these? */
static bool
is_clonable(const TlOp *op)
{
   switch (op->opcode) {
   case TL_OP_LOAD:
      return !tl_attr_int(op, TL_ATTR_VOLATILE);
   case TL_OP_DOT:
      return tl_result(op, 0)->type->rank == 2 && !tl_dot_promoted_k(op);
   case TL_OP_REDUCE:
      return tl_reduce_opcode(op) != TL_OP_COUNT;
   default:
      return (is_linear(op) || tl_has_trait(op, TL_TRAIT_ELTWISE)) && tl_op_is_pure(op);
   }
}

/* The wide loop needs v, with that dimension widened.  False where it cannot have it. */
static bool
claim(Widen *w, const TlValue *v, int axis)
{
   if (w->steps++ > MOST_STEPS)
      return false;
   const TlOp *op = v->def;
   bool inside = is_inside(w, v);
   if (!inside && axis == AS_IS)
      return true;
   if (inside) {
      uint8_t use = (uint8_t)(axis == AS_IS ? USED : USED + 1 + axis);
      if (w->use[v->id])
         return w->use[v->id] == use;
      w->use[v->id] = use;
      if (!op && v == tl_for_index(w->loop))
         return axis == AS_IS;
      if (!op)
         return axis == AS_IS ||
                claim(w, tl_init(w->loop, v->index - tl_first_carried(w->loop)), axis);
      if (axis == AS_IS && !tl_op_is_pure(op))
         return false;
   }
   if (!op || op->num_results != 1 || !is_clonable(op) || (!inside && op->opcode == TL_OP_LOAD))
      return false;
   for (unsigned i = 0; i < op->num_args; i++)
      if (!claim(w, tl_arg(op, i), operand_axis(w, op, i, axis)))
         return false;
   return true;
}

/* What number i of the loop sums up: products, one after the other.  NULL: it is no such sum. */
static const TlOp *
last_product(const Widen *w, unsigned i)
{
   const TlValue *carried = tl_carried(w->body, i), *v = tl_yielded(w->body, i);
   const TlOp *last = v->def;
   if (!carried->uses || carried->uses->next)
      return NULL;
   while (tl_value_is(v, TL_OP_DOT) && is_inside(w, v) && v->uses && !v->uses->next)
      v = tl_arg(v->def, 2);
   return v == carried && last ? last : NULL;
}

static TlLoopSum
scaled_sum(const Widen *w, unsigned i)
{
   return w->has_scaled ? w->scaled.sums[i] : TL_NO_SUM;
}

/* Does number i of the loop add up what it finds?  Else it advances. */
static bool
is_summed(const Widen *w, unsigned i)
{
   return scaled_sum(w, i) != TL_NO_SUM || last_product(w, i);
}

/* The last of the products that number i of the loop sums up, each adding to the one that is its
 * operand 2; NULL: they are no products. */
static const TlOp *
products_of(const Widen *w, unsigned i)
{
   if (scaled_sum(w, i) == TL_NO_SUM)
      return last_product(w, i);
   const TlOp *op = tl_yielded(w->body, i)->def;
   return scaled_sum(w, i) == TL_SCALED_SUM && op->opcode == TL_OP_DOT ? op : NULL;
}

static const TlOp *
product_before(const TlOp *dot)
{
   const TlOp *op = tl_arg(dot, 2)->def;
   return op && op->opcode == TL_OP_DOT ? op : NULL;
}

/* Marks the products of all sums and finds the width of their K; false: the loop is none of those
 * that are widened. */
static bool
find_sums(Widen *w)
{
   w->has_scaled = tl_find_scaled_sums(w->cx->scratch, w->loop, &w->scaled);
   for (unsigned i = 0; i < w->loop->num_results; i++) {
      unsigned at;
      if (!is_summed(w, i) && !step_of(w, i, &at))
         return false;
      for (const TlOp *dot = products_of(w, i); dot; dot = product_before(dot)) {
         const TlType *a = tl_arg(dot, 0)->type;
         if (a->rank != 2 || (w->width && w->width != a->shape[1]) || !is_clonable(dot))
            return false;
         w->width = a->shape[1];
         w->is_sum[tl_result(dot, 0)->id] = true;
      }
   }
   for (unsigned i = 0; w->has_scaled && i < w->scaled.num_folds; i++)
      w->is_sum[tl_result(w->scaled.folds[i], 0)->id] = true;
   return w->width != 0;
}

/* Is every product by wgmma, or is every one by mma.sync and none scaled?  What narrow steps cost
 * these is known of GPUs that have both.  *bits: the fewest of an element. */
static bool
are_by_matrix_units(const Widen *w, unsigned *bits)
{
   bool may_sync = !w->has_scaled && tl_target_has_mma(w->cx->target, TL_MMA_WG_F16_F32);
   unsigned by_wgmma = 0, products = 0;
   *bits = 64;
   for (const TlOp *op = w->body->first; op; op = op->next) {
      if (op->opcode != TL_OP_DOT)
         continue;
      const TlType *a = tl_arg(op, 0)->type, *b = tl_arg(op, 1)->type;
      unsigned of = tl_dtype_info[a->dtype].bits;
      TlDotForm form = tl_dot_form_as(w->cx->target, op, a, tl_result(op, 0)->type);
      if (a->dtype != b->dtype || a->rank != 2 || !form.is_mma)
         return false;
      by_wgmma += form.is_wgmma;
      products++;
      *bits = of < *bits ? of : *bits;
   }
   return by_wgmma == products || (by_wgmma == 0 && may_sync);
}

/* Loads, and nothing else that memory or other threads matter to. */
static bool
is_plain_body(const Widen *w)
{
   for (const TlOp *op = w->body->first; op != w->body->last; op = op->next) {
      bool is_load = op->opcode == TL_OP_LOAD, is_reduce = op->opcode == TL_OP_REDUCE;
      if ((op->num_regions && !(is_reduce && is_clonable(op))) || (!is_load && !tl_op_is_pure(op)))
         return false;
   }
   return true;
}

static bool
is_const_zero(const TlValue *v)
{
   uint64_t bits;
   return tl_is_const(v, &bits) && !bits;
}

/* Is what a product takes zero in all iterations that would follow?  0 * 0 is, 0 * x may not. */
static bool
is_zero_behind(Widen *w, const TlValue *v, int axis)
{
   const TlOp *op = v->def;
   if (w->steps++ > MOST_STEPS || !op || !is_inside(w, v))
      return false;
   switch (op->opcode) {
   case TL_OP_TRANS:
   case TL_OP_CAST:
   case TL_OP_EXPAND_DIMS:
   case TL_OP_BROADCAST:
      return is_zero_behind(w, tl_arg(op, 0), operand_axis(w, op, 0, axis));
   case TL_OP_MUL:
      return is_zero_behind(w, tl_arg(op, 0), axis) && is_zero_behind(w, tl_arg(op, 1), axis);
   case TL_OP_SELECT:
      return is_const_zero(tl_arg(op, 2)) &&
             tl_mask_ends_with_loop(w->affine, tl_arg(op, 0), moving(w, axis));
   case TL_OP_LOAD:
      return op->num_args > 2 && is_const_zero(tl_arg(op, 2)) &&
             tl_mask_ends_with_loop(w->affine, tl_pred(op), moving(w, axis));
   default:
      return false;
   }
}

/* Can the wide loop run beyond the end? */
static bool
may_run_on(Widen *w)
{
   if (w->has_scaled)
      return false;
   for (unsigned i = 0; i < w->loop->num_results; i++)
      if (!last_product(w, i) && tl_result(w->loop, i)->uses)
         return false;
   for (const TlOp *op = w->body->first; op; op = op->next) {
      int axis = op->num_results ? axis_of(w, tl_result(op, 0)) : AS_IS;
      bool is_sum = op->opcode == TL_OP_DOT && w->is_sum[tl_result(op, 0)->id];
      if (op->opcode == TL_OP_LOAD &&
          (!tl_pred(op) || !tl_mask_ends_with_loop(w->affine, tl_pred(op), moving(w, axis))))
         return false;
      if (is_sum && (!is_zero_behind(w, tl_arg(op, 0), 1) || !is_zero_behind(w, tl_arg(op, 1), 0)))
         return false;
   }
   return true;
}

/* Words of what products of scaled sums take from registers, and of the rows that scale them. */
static uint64_t
words_of_weights(const Widen *w, const uint32_t *words)
{
   uint64_t weights = 0;
   for (unsigned n = 0; w->has_scaled && n < w->loop->num_results; n++) {
      if (scaled_sum(w, n) != TL_NO_SUM && !products_of(w, n))
         weights += words[tl_carried(w->body, n)->id];
      for (const TlOp *dot = products_of(w, n); dot; dot = product_before(dot))
         for (unsigned i = 0; i < 2; i++)
            weights += tl_dot_load(dot, i) ? 0 : words[tl_arg(dot, i)->id];
   }
   return weights;
}

/* Do registers hold the wider tiles (of how many warps is noted), and would these have roles as
 * before?  Masks are counted beside what lives at once, as products are begun early: half a
 * register for an element; and so are weights, which live beside the next iteration's scores. */
static bool
have_room(Widen *w)
{
   bool needs_warps, room;
   const TlOp *at;
   uint64_t masks = 0, products = 0;
   uint32_t *words = tl_tile_words(w->cx, w->func, &needs_warps);
   for (const TlOp *op = w->body->first; op; op = op->next) {
      const TlValue *v = op->num_results == 1 ? tl_result(op, 0) : NULL;
      unsigned times = v && axis_of(w, v) != AS_IS ? w->times : 1;
      if (v)
         words[v->id] *= times;
      if (op->opcode == TL_OP_DOT)
         products += words[v->id];
      if (times > 1 && compares_indices(op))
         masks += tl_type_num_elems(v->type) * times / 2;
   }
   w->weights = words_of_weights(w, words);
   uint64_t most = masks + w->weights + tl_pressure(w->cx->scratch, w->func, words, &at);
   unsigned spare = w->cx->uses_boxes ? SPARE : SPARE_OF_COPYING;
   w->warps = tl_warps_for_words(w->cx->target, w->func->num_warps, spare, most, &room);
   if (!room || (needs_warps && w->warps != w->func->num_warps))
      return false;
   if (w->is_by_columns &&
       (w->warps != TL_CONSUMER_WARPS || products > (uint64_t)w->warps * LANES * WIDE_WORDS))
      return false;
   return w->warps != TL_CONSUMER_WARPS ||
          products + w->weights <= (uint64_t)w->warps * LANES * tl_most_words_of_products(w->cx);
}

static uint64_t
bytes_of(const TlType *t)
{
   return tl_type_num_elems(t) * tl_dtype_info[tl_type_elem(t)->dtype].bits / 8;
}

/* Bytes of the tiles that a loop loads in an iteration. */
static uint64_t
bytes_of_loads(const TlBlock *body)
{
   uint64_t bytes = 0;
   for (const TlOp *op = body->first; op; op = op->next)
      if (op->opcode == TL_OP_LOAD)
         bytes += bytes_of(tl_result(op, 0)->type);
   return bytes;
}

/* Of those from outside of the loop that it multiplies. */
static uint64_t
bytes_standing(const Widen *w)
{
   uint64_t bytes = 0;
   for (const TlOp *op = w->body->first; op; op = op->next)
      for (unsigned i = 0; op->opcode == TL_OP_DOT && i < 2; i++)
         if (!is_inside(w, tl_arg(op, i)))
            bytes += bytes_of(tl_arg(op, i)->type);
   return bytes;
}

/* Of rings of the other loops with products, two stages each, where they are none of the wide one:
 * successive loops share theirs when they load as much. */
static uint64_t
bytes_of_other_rings(const Widen *w)
{
   uint64_t bytes = 0, own = w->times * bytes_of_loads(w->body);
   const TlBlock *top = w->func->body->block;
   const TlOp *last = w->loop;
   for (const TlOp *op = top->first; op; op = tl_walk_next(op, top)) {
      const TlOp *loop = op->opcode == TL_OP_DOT ? tl_parent(op) : NULL;
      if (!loop || loop->opcode != TL_OP_FOR || loop == w->loop || loop == last)
         continue;
      uint64_t of = bytes_of_loads(loop->regions[0]->block);
      bytes += of == own || tl_for_stages(loop) < 2 ? 0 : 2 * of;
      last = loop;
   }
   return bytes;
}

/* Would roles hold what the kernel has in shared memory then?  Sums that are scaled gain from roles
 * more than from width. */
static bool
keeps_roles(const Widen *w)
{
   if (!w->has_scaled || w->warps != TL_CONSUMER_WARPS)
      return true;
   uint64_t bytes = bytes_of_loads(w->body), rest = w->leaves_rest ? bytes : 0;
   return 2 * w->times * bytes + rest + bytes_standing(w) + bytes_of_other_rings(w) <=
          w->cx->target->max_shared_bytes;
}

/* Stages of the wide loop: copies are to be as far ahead as they were, and two steps where the loop
 * multiplies what it loads alone, was to have three stages and leaves two blocks room for them; a
 * block that is alone on its multiprocessor has it.  0: two do not fit beside what the loop
 * multiplies and a quarter of the memory for what is exchanged and stored; or two blocks shared a
 * multiprocessor and would no longer, for the stages or the sums that this takes. */
static unsigned
wide_stages(const Widen *w)
{
   enum { BLOCKS = 2, ENOUGH = 3 };
   const TlTarget *target = w->cx->target;
   uint64_t bytes = bytes_of_loads(w->body), sums = 0, wide_sums = w->weights;
   uint64_t most = target->sm_shared_bytes / BLOCKS;
   for (const TlOp *op = w->body->first; op; op = op->next)
      if (op->opcode == TL_OP_DOT) {
         uint64_t num = tl_type_num_elems(tl_result(op, 0)->type);
         sums += num;
         wide_sums += axis_of(w, tl_result(op, 0)) == AS_IS ? num : num * w->times;
      }
   unsigned stages = tl_for_stages(w->loop), threads = w->warps * LANES;
   unsigned wide = stages > w->times ? stages / w->times + 1 : 2;
   bool is_alone = tl_is_alone(target, w->warps, (unsigned)(sums / threads));
   if (w->has_scaled && w->warps == w->func->num_warps && !is_alone &&
       tl_is_alone(target, w->warps, (unsigned)(wide_sums / threads)))
      return 0;
   if (stages < 2)
      return 1;
   if (2 * w->times * bytes + bytes_standing(w) > target->max_shared_bytes / 4 * 3 ||
       !keeps_roles(w))
      return 0;
   bool is_plain = !w->has_scaled && stages >= ENOUGH && !bytes_standing(w) &&
                   !tl_is_of_loop(tl_parent(w->loop)); /* each stage would be filled anew */
   if (wide < ENOUGH && (is_alone || (is_plain && ENOUGH * w->times * bytes <= most)))
      return ENOUGH;
   if (is_alone)
      return wide;
   return stages * bytes <= most && wide * w->times * bytes > most ? 0 : wide;
}

/* Whether what a product or a fold sees together takes part. */
static bool
takes_operands(Widen *w, const TlOp *op, bool is_settled)
{
   w->is_settled = is_settled;
   for (unsigned i = 0; i < (op->opcode == TL_OP_DOT ? 2 : 1); i++) {
      int axis = operand_axis(w, op, i, AS_IS);
      if (axis == AS_IS || !claim(w, tl_arg(op, i), axis) || !goes_on(w, tl_arg(op, i), axis))
         return false;
   }
   return true;
}

/* All loads, and what the sums are made of. */
static bool
takes_part(Widen *w)
{
   for (unsigned i = 0; i < w->loop->num_results; i++) {
      bool is_scaled = scaled_sum(w, i) != TL_NO_SUM;
      if (is_scaled && !claim(w, tl_yielded(w->body, i), AS_IS))
         return false;
      for (const TlOp *dot = products_of(w, i); dot; dot = product_before(dot))
         if (!takes_operands(w, dot, is_scaled))
            return false;
   }
   for (unsigned i = 0; w->has_scaled && i < w->scaled.num_folds; i++) {
      const TlOp *fold = w->scaled.folds[i];
      if (!takes_operands(w, fold, tl_reduce_opcode(fold) == TL_OP_ADD))
         return false;
   }
   for (const TlOp *op = w->body->first; op; op = op->next)
      if (op->opcode == TL_OP_LOAD && axis_of(w, tl_result(op, 0)) == AS_IS)
         return false;
   return true;
}

/* Does code behind the loop read index tiles that it advanced?  The wide loop has wider ones. */
static bool
has_tiles_behind(const Widen *w)
{
   for (unsigned i = 0; i < w->loop->num_results; i++)
      if (tl_result(w->loop, i)->uses && axis_of(w, tl_carried(w->body, i)) != AS_IS)
         return true;
   return false;
}

/* A loop of few iterations, all of which the registers hold: its copies would wait for memory twice
 * or more, one behind the other, with no time to hide that; at once they wait once, together with
 * what is loaded behind the loop (advance_loads). */
static bool
is_short(const Widen *w, uint64_t trips)
{
   return !w->has_scaled && (trips == 2 || trips == MOST_TIMES) &&
          trips * bytes_of_loads(w->body) <= (uint64_t)WHOLE_WORDS * 4 * w->func->num_warps * LANES;
}

/* Does a product of what the loop does not change have the iteration's elements for columns? */
static bool
moves_columns(const Widen *w)
{
   for (const TlOp *op = w->body->first; op; op = op->next) {
      bool is_score = op->opcode == TL_OP_DOT && !w->is_sum[tl_result(op, 0)->id];
      if (is_score && !is_inside(w, tl_arg(op, 0)) && has_width(w, tl_result(op, 0)->type, 1))
         return true;
   }
   return false;
}

static bool
may_widen(Widen *w)
{
   uint64_t step, trips = tl_known_trips(w->loop);
   unsigned bits;
   if (!tl_is_const(tl_for_step(w->loop), &step) || step - 1 >= INT32_MAX / MOST_TIMES ||
       tl_attr_int(w->loop, TL_ATTR_UNROLL) || !is_plain_body(w) || !find_sums(w) ||
       !are_by_matrix_units(w, &bits))
      return false;
   uint32_t most = ROW_BYTES * 8 / bits / w->width;
   if (w->has_scaled && most < WIDE / w->width)
      most = WIDE / w->width;
   uint32_t by_rows = most;
   if (moves_columns(w) && most < WIDE / w->width)
      most = WIDE / w->width;
   bool is_known = trips != UINT64_MAX;
   w->times = most < MOST_TIMES ? most : MOST_TIMES;
   if (is_short(w, trips) && trips > w->times)
      w->times = (unsigned)trips;
   if (w->times < 2 || !takes_part(w))
      return false;
   TlAnalysis *facts = tl_analysis_new(w->cx->scratch, w->func);
   uint64_t most_trips = tl_most_trips(facts, w->loop);
   for (; w->times > 1; w->times /= 2) {
      if (w->times > most && w->times != trips)
         continue;
      w->is_by_columns = w->times > by_rows && w->times != trips;
      bool is_whole = is_known || tl_trips_are_multiple(facts, w->loop, w->times);
      w->leaves_rest = is_whole ? has_tiles_behind(w) : !may_run_on(w);
      bool is_one = is_known ? trips == w->times : is_whole;
      uint64_t enough = is_one ? w->times : 2 * w->times;
      if ((!is_known || trips % w->times == 0) && most_trips >= enough && have_room(w) &&
          (w->stages = wide_stages(w)))
         return true;
   }
   return false;
}

/* ---- the wide loop ---- */
static const TlType *
widened(const Widen *w, const TlType *t, int axis)
{
   uint32_t shape[TL_MAX_RANK];
   if (axis == AS_IS)
      return t;
   memcpy(shape, t->shape, sizeof shape);
   shape[axis] *= w->times;
   return tl_type_tile(w->types, t->elem, t->rank, shape, NULL);
}

static TlValue *value_of(Widen *w, TlValue *v, int axis);

static TlValue *
copied(Widen *w, TlBuilder *b, const TlOp *op, int axis)
{
   TlValue *args[MOST_ARGS];
   assert(op->num_args <= MOST_ARGS);
   for (unsigned i = 0; i < op->num_args; i++)
      args[i] = value_of(w, tl_arg(op, i), operand_axis(w, op, i, axis));
   TlOp *copy = tl_clone_op(b, op, NULL);
   for (unsigned i = 0; i < op->num_args; i++)
      tl_set_arg(copy, i, args[i]);
   if (op->opcode == TL_OP_ARANGE && axis != AS_IS)
      tl_attr(copy, TL_ATTR_END)->i = tl_attr_int(op, TL_ATTR_START) + (int64_t)w->width * w->times;
   copy->results[0].type = widened(w, tl_result(op, 0)->type, axis);
   copy->results[0].name = tl_result(op, 0)->name;
   return tl_result(copy, 0);
}

/* What stands for v in the wide loop; of one from outside with a wider dimension a copy is made. */
static TlValue *
value_of(Widen *w, TlValue *v, int axis)
{
   if (is_inside(w, v))
      return tl_map_get(&w->inner, v);
   if (axis == AS_IS)
      return v;
   TlValue *wide = tl_map_get(&w->outer[axis], v);
   if (!wide) {
      wide = copied(w, &w->before, v->def, axis);
      tl_map_put(&w->outer[axis], v, wide);
   }
   return wide;
}

/* Operand `at` of a step, so many times (NULL: as the wide loop takes at once), for a value of x's
 * type: a scalar, or a tile; pointers move by 64 bits. */
static TlValue *
multiple(Widen *w, TlBuilder *b, const TlOp *op, unsigned at, TlValue *iterations, const TlType *x)
{
   TlValue *step = tl_arg(op, at), *by = step;
   uint64_t bits;
   TlDtype t = op->opcode == TL_OP_ADDPTR ? TL_I64 : tl_type_elem(step->type)->dtype;
   const TlType *scalar = tl_type_scalar(w->types, t);
   if (tl_is_const(step, &bits))
      by = tl_const_int(b, t, tl_bits_to_int(tl_type_elem(step->type)->dtype, bits));
   else if (step->type->kind == TL_TYPE_TILE)
      by = tl_arg(step->def, 0);
   if (by->type != scalar)
      by = tl_t1(b, TL_OP_CAST, scalar, by);
   TlValue *times = iterations ? iterations : tl_const_int(b, t, w->times);
   if (times->type != scalar)
      times = tl_t1(b, TL_OP_CAST, scalar, times);
   by = tl_b2(b, TL_OP_MUL, by, times);
   bool is_tile = x->kind == TL_TYPE_TILE;
   return is_tile ? tl_t1(b, TL_OP_SPLAT, tl_type_with_elem(w->types, x, scalar), by) : by;
}

/* What number i of the loop is so many iterations after x, at the cursor b, with the distance built
 * at the cursor of_step; NULL where it is a sum. */
static TlValue *
advanced(Widen *w, unsigned i, TlValue *x, TlBuilder *b, TlBuilder *of_step, TlValue *iterations)
{
   unsigned at;
   const TlOp *step = is_summed(w, i) ? NULL : step_of(w, i, &at);
   if (!step)
      return NULL;
   TlValue *args[] = {x, multiple(w, of_step, step, at, iterations, x->type)};
   return tl_result(tl_build(b, step->opcode, args, 2, NULL, 1, NULL, 0, 0), 0);
}

/* What the loop for the rest begins with: as many iterations of the narrow one are done. */
static void
begin_rest(Widen *w, const TlOp *made, TlValue *whole)
{
   TlBuilder b = tl_builder_before(w->loop);
   const TlType *t = whole->type;
   TlValue *none = tl_const_int(&b, t->dtype, 0), *times = tl_const_int(&b, t->dtype, w->times);
   TlValue *done = tl_b2(&b, TL_OP_MUL, tl_b2(&b, TL_OP_MAX, whole, none), times);
   for (unsigned i = 0; i < w->loop->num_results; i++) {
      TlValue *init = advanced(w, i, tl_init(w->loop, i), &b, &b, done);
      tl_set_init(w->loop, i, init ? init : tl_result(made, i));
   }
   tl_set_arg(w->loop, 0, tl_for_upper(made));
   tl_attr(w->loop, TL_ATTR_NUM_STAGES)->i = 1;
}

/* Where the wide loop ends; *whole: how often it runs, where a rest is left. */
static TlValue *
wide_end(Widen *w, TlBuilder *b, TlValue **whole)
{
   TlValue *lower = tl_for_lower(w->loop), *upper = tl_for_upper(w->loop);
   TlValue *step = tl_for_step(w->loop);
   TlDtype t = lower->type->dtype;
   uint64_t bits, by = 1;
   if (!w->leaves_rest)
      return upper;
   bool from_zero = tl_is_const(lower, &bits) && !bits;
   TlValue *n = from_zero ? upper : tl_b2(b, TL_OP_SUB, upper, lower);
   tl_is_const(step, &by);
   if (by > 1) {
      n = tl_b2(b, TL_OP_ADD, n, tl_const_int(b, t, (int64_t)by - 1));
      n = tl_b2(b, TL_OP_DIV, n, step);
   }
   *whole = tl_b2(b, TL_OP_DIV, n, tl_const_int(b, t, w->times));
   TlValue *length = tl_b2(b, TL_OP_MUL, *whole, tl_const_int(b, t, (int64_t)by * w->times));
   return from_zero ? length : tl_b2(b, TL_OP_ADD, lower, length);
}

static TlOp *
make_loop(Widen *w, TlValue **whole)
{
   TlBuilder *b = &w->before;
   unsigned num = w->loop->num_results;
   TlValue **args = tl_new_array(w->cx->scratch, TlValue *, num + 3);
   const TlType **types = tl_new_array(w->cx->scratch, const TlType *, num + 1);
   TlValue *step = tl_for_step(w->loop);
   uint64_t by = 1;
   tl_is_const(step, &by);
   args[0] = tl_for_lower(w->loop);
   args[1] = wide_end(w, b, whole);
   args[2] = tl_const_int(b, step->type->dtype, (int64_t)by * w->times);
   for (unsigned i = 0; i < num; i++) {
      args[3 + i] = value_of(w, tl_init(w->loop, i), axis_of(w, tl_carried(w->body, i)));
      types[i] = args[3 + i]->type;
   }
   TlOp *made = tl_op_new(b, TL_OP_FOR, num + 3, num, 1);
   memcpy(made->attrs, w->loop->attrs, sizeof made->attrs);
   made->range = w->loop->range;
   tl_attr(made, TL_ATTR_NUM_STAGES)->i = w->stages;
   TlBlock *body = made->regions[0]->block;
   TlValue *index = tl_for_index(w->loop);
   tl_map_put(&w->inner, index, tl_block_add_arg(body, index->type, index->name));
   for (unsigned i = 0; i < num + 3; i++)
      tl_set_arg(made, i, args[i]);
   for (unsigned i = 0; i < num; i++) {
      TlValue *carried = tl_carried(w->body, i);
      made->results[i].type = types[i];
      tl_map_put(&w->inner, carried, tl_block_add_arg(body, types[i], carried->name));
   }
   return made;
}

static void
fill_loop(Widen *w, TlOp *made)
{
   TlBuilder in = tl_builder_inside(w->func, made, 0, w->loop->range);
   for (TlOp *op = w->body->first; op != w->body->last; op = op->next) {
      TlValue *v = op->num_results == 1 ? tl_result(op, 0) : NULL;
      if (v && (w->use[v->id] || w->is_sum[v->id]))
         tl_map_put(&w->inner, v, copied(w, &in, op, axis_of(w, v)));
   }
   TlValue **next = tl_new_array(w->cx->scratch, TlValue *, w->loop->num_results + 1);
   for (unsigned i = 0; i < w->loop->num_results; i++) {
      TlValue *x = tl_carried(made->regions[0]->block, i);
      next[i] = advanced(w, i, x, &in, &w->before, NULL);
      if (!next[i])
         next[i] = value_of(w, tl_yielded(w->body, i), AS_IS);
   }
   tl_build_yield(&in, next, w->loop->num_results);
}

static void
widen(Widen *w)
{
   TlValue *whole = NULL;
   tl_map_init(&w->inner, w->cx->scratch);
   for (unsigned i = 0; i < TL_MAX_RANK; i++)
      tl_map_init(&w->outer[i], w->cx->scratch);
   w->before = tl_builder_before(w->loop);
   TlOp *made = make_loop(w, &whole);
   w->before.before = made;
   fill_loop(w, made);
   if (w->leaves_rest) {
      begin_rest(w, made, whole);
      return;
   }
   for (unsigned i = 0; i < w->loop->num_results; i++)
      if (tl_result(w->loop, i)->uses)
         tl_replace_uses(tl_result(w->loop, i), tl_result(made, i));
   tl_remove(w->loop);
}

static bool
try_loop(TlPassCx *cx, TlFunc *f, TlOp *loop)
{
   unsigned num = f->next_value_id;
   Widen w = {.cx = cx,
              .func = f,
              .types = f->module->types,
              .loop = loop,
              .body = loop->regions[0]->block};
   w.affine = tl_affine_new(cx->scratch, f);
   w.use = tl_new_array(cx->scratch, uint8_t, num);
   w.is_sum = tl_new_array(cx->scratch, bool, num);
   if (!may_widen(&w))
      return false;
   if (tl_wants_remarks(cx->diags, "pipeline"))
      tl_report(cx->diags, R0427, loop->range, w.times, w.width, w.width * w.times);
   widen(&w);
   return true;
}

bool
tl_pass_widen_loops(TlPassCx *cx, TlFunc *f)
{
   assert(f->state == TL_STATE_TYPED);
   TL_VEC(TlOp *) loops = {0};
   const TlBlock *body = f->body->block;
   if (!cx->target || !(cx->target->features & TL_FEAT_WGMMA) || f->strict_fp)
      return false;
   for (TlOp *op = body->first; op; op = tl_walk_next(op, body)) {
      TlOp *loop = op->opcode == TL_OP_DOT ? tl_parent(op) : NULL;
      if (loop && loop->opcode == TL_OP_FOR && (!loops.len || loops.data[loops.len - 1] != loop))
         tl_vec_push(cx->scratch, &loops, loop);
   }
   bool changed = false;
   for (size_t i = 0; i < loops.len; i++)
      changed |= try_loop(cx, f, loops.data[i]);
   return changed;
}
