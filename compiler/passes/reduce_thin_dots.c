/* A product with one row or column is a product of elements and a sum along the inner dimension:
 *
 *    dot(a[M, K], b[K, 1], c)  ->  c + expand(reduce(a * broadcast(trans(b)), axis 1), 1)
 *    dot(a[1, K], b[K, N], c)  ->  c + expand(reduce(broadcast(trans(a)) * b, axis 0), 0)
 *
 * No matrix instruction is that thin, so such a dot would be multiply-adds of each thread, with
 * both operands through shared memory; this way the large operand stays where it was loaded.
 * Refused: products with more rows and columns, with a batch, floats in strict mode, whose sum
 * would be rounded in another order, and fp32 that is to be rounded or cut to tf32 first.  A dot
 * is replaced once, so it ends. */
#include "ir/walk.h"
#include "ir/control.h"
#include "passes/pass.h"

#include <assert.h>

/* A tile of the accumulator's elements: products of narrower ones are exact in it. */
static TlValue *
widened(TlBuilder *b, TlTypes *types, TlValue *v, const TlType *elem)
{
   if (v->type->elem == elem)
      return v;
   return tl_t1(b, TL_OP_CAST, tl_type_with_elem(types, v->type, elem), v);
}

static TlValue *
added_along(TlBuilder *b, TlValue *v, unsigned axis)
{
   assert(v->type->kind == TL_TYPE_TILE && v->type->rank == 2 && axis < 2);
   const TlType *elem = v->type->elem;
   TlTypes *types = b->func->module->types;
   const TlType *result = tl_type_tile(types, elem, 1, &v->type->shape[1 - axis], v->type->layout);
   TlAttrInit attr = {TL_ATTR_AXIS, {.i = axis}};
   TlOp *reduce = tl_build(b, TL_OP_REDUCE, &v, 1, &result, 1, &attr, 1, 1);
   TlBlock *block = reduce->regions[0]->block;
   TlValue *x = tl_block_add_arg(block, elem, "a"), *y = tl_block_add_arg(block, elem, "b");
   TlBuilder inner = tl_builder_inside(b->func, reduce, 0, b->range);
   TlValue *sum = tl_b2(&inner, TL_OP_ADD, x, y);
   tl_build_yield(&inner, &sum, 1);
   return tl_result(reduce, 0);
}

static bool
is_thin(const TlFunc *f, const TlOp *op)
{
   if (op->opcode != TL_OP_DOT || tl_arg(op, 0)->type->rank != 2)
      return false;
   const TlType *acc = tl_result(op, 0)->type;
   bool is_exact = !tl_dtype_is_float(acc->dtype) || !f->strict_fp;
   bool is_wide = tl_dtype_info[acc->dtype].bits >= 32;
   bool is_as_given = tl_arg(op, 0)->type->dtype != TL_FP32 ||
                      tl_attr_int(op, TL_ATTR_PRECISION) == TL_PRECISION_IEEE;
   return is_exact && is_wide && is_as_given && (acc->shape[0] == 1 || acc->shape[1] == 1);
}

static void
replace(TlFunc *f, TlOp *dot)
{
   TlBuilder b = tl_builder_before(dot);
   const TlType *elem = tl_result(dot, 0)->type->elem;
   unsigned axis = tl_result(dot, 0)->type->shape[1] == 1 ? 1 : 0; /* of the sum */
   static const int64_t swap[2] = {1, 0};
   const TlInts *order = tl_ints(f->module->arena, swap, 2);
   TlValue *large = tl_arg(dot, 1 - axis), *thin = tl_arg(dot, axis);
   thin = tl_b1(&b, TL_OP_TRANS, thin, {TL_ATTR_ORDER, {.ints = order}});
   thin = widened(&b, f->module->types, thin, elem);
   large = widened(&b, f->module->types, large, elem);
   if (thin->type != large->type)
      thin = tl_t1(&b, TL_OP_BROADCAST, large->type, thin);
   TlValue *sum = added_along(&b, tl_b2(&b, TL_OP_MUL, large, thin), axis);
   sum = tl_b1(&b, TL_OP_EXPAND_DIMS, sum, {TL_ATTR_AXIS, {.i = axis}});
   tl_replace_uses(tl_result(dot, 0), tl_b2(&b, TL_OP_ADD, tl_arg(dot, 2), sum));
   tl_remove(dot);
}

bool
tl_pass_reduce_thin_dots(TlPassCx *cx, TlFunc *f)
{
   assert(f->state == TL_STATE_TYPED);
   (void)cx;
   bool changed = false;
   const TlBlock *body = f->body->block;
   for (TlOp *op = tl_walk_inner(body), *next; op; op = next) {
      next = tl_walk_inner_next(op, body);
      if (!is_thin(f, op))
         continue;
      replace(f, op);
      changed = true;
   }
   return changed;
}
