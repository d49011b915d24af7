/* A carried index tile that advances by the same step everywhere,
 *    x = init;  for ..: use x;  x = x + step
 * becomes a carried scalar:  s = 0;  for ..: use init + s;  s = s + step.  The tile is then
 * computed from init wherever it is used, in the layout of its user, instead of being carried in
 * one layout and converted to the others in every iteration.  Integers wrap, so the sums agree. */
#include "ir/control.h"
#include "ir/walk.h"
#include "passes/pass.h"

#include <assert.h>

enum { MAX_CHAIN = 64 };

/* Computed from ranges, splats and constants by cheap operations; at most *budget of them. */
static bool
is_index_arithmetic(const TlValue *v, unsigned *budget)
{
   const TlOp *op = v->def;
   if (v->type->kind != TL_TYPE_TILE)
      return true;
   if (!op || (*budget)-- == 0)
      return false;
   switch (op->opcode) {
   case TL_OP_CONSTANT:
   case TL_OP_ARANGE:
   case TL_OP_SPLAT:
      return true;
   case TL_OP_BROADCAST:
   case TL_OP_EXPAND_DIMS:
   case TL_OP_TRANS:
   case TL_OP_RESHAPE:
   case TL_OP_HINT:
      break;
   default:
      if (!tl_has_trait(op, TL_TRAIT_ELTWISE) || !tl_has_trait(op, TL_TRAIT_PURE))
         return false;
   }
   for (unsigned i = 0; i < op->num_args; i++)
      if (!is_index_arithmetic(tl_arg(op, i), budget))
         return false;
   return true;
}

/* The scalar that all elements of v equal, built at the cursor when it is a constant; or NULL. */
static TlValue *
equal_element(TlBuilder *b, TlTypes *types, const TlValue *v)
{
   uint64_t bits;
   if (tl_value_is(v, TL_OP_SPLAT))
      return tl_arg(v->def, 0);
   if (tl_is_const(v, &bits))
      return tl_const_bits(b, tl_type_scalar(types, v->type->dtype), bits);
   return NULL;
}

/* x + step or x - step of the carried x, or NULL. */
static TlOp *
find_step(const TlOp *loop, unsigned i, unsigned *step)
{
   assert(loop->opcode == TL_OP_FOR && i < loop->num_results);
   const TlBlock *body = loop->regions[0]->block;
   const TlValue *x = tl_carried(body, i), *next = tl_yielded(body, i);
   TlOp *op = next->def;
   if (!op || (op->opcode != TL_OP_ADD && op->opcode != TL_OP_SUB) || op->block != body)
      return NULL;
   *step = 1;
   if (op->opcode == TL_OP_ADD && tl_arg(op, 1) == x)
      *step = 0;
   return tl_arg(op, 1 - *step) == x && tl_arg(op, *step) != x ? op : NULL;
}

static bool
scalarize(TlFunc *f, TlOp *loop, unsigned i)
{
   assert(i < loop->num_results);
   TlTypes *types = f->module->types;
   TlBlock *body = loop->regions[0]->block;
   TlValue *result = tl_result(loop, i), *x = tl_carried(body, i), *init = tl_init(loop, i);
   const TlType *tile = result->type;
   unsigned budget = MAX_CHAIN, at;
   if (tile->kind != TL_TYPE_TILE || tile->elem->kind != TL_TYPE_SCALAR ||
       !tl_dtype_is_int(tile->dtype) || tl_dtype_info[tile->dtype].bits < 8)
      return false;
   TlOp *next = find_step(loop, i, &at);
   if (!next || !is_index_arithmetic(init, &budget))
      return false;
   TlBuilder b = tl_builder_before(next);
   TlValue *step = equal_element(&b, types, tl_arg(next, at));
   if (!step)
      return false;
   /* The tile, for its users in the loop and after it. */
   TlValue *of[2] = {x, result};
   for (unsigned k = 0; k < 2; k++) {
      TlBuilder at_use = tl_builder_before(k ? loop : body->first);
      at_use.before = k ? loop->next : body->first;
      of[k]->type = tl_type_scalar(types, tile->dtype);
      TlValue *sum = tl_t1(&at_use, TL_OP_SPLAT, tile, of[k]);
      TlOp *splat = sum->def;
      sum = tl_b2(&at_use, TL_OP_ADD, init, sum);
      tl_replace_uses(of[k], sum);
      tl_set_arg(splat, 0, of[k]);
   }
   TlValue *moved =
      next->opcode == TL_OP_ADD ? tl_b2(&b, TL_OP_ADD, x, step) : tl_b2(&b, TL_OP_SUB, x, step);
   TlBuilder before = tl_builder_before(loop);
   tl_set_init(loop, i, tl_const_int(&before, tile->dtype, 0));
   tl_set_yielded(body, i, moved);
   return true;
}

bool
tl_pass_scalarize_steps(TlPassCx *cx, TlFunc *f)
{
   assert(f->state == TL_STATE_TYPED);
   (void)cx;
   bool changed = false;
   const TlBlock *body = f->body->block;
   for (TlOp *op = tl_walk_inner(body); op; op = tl_walk_inner_next(op, body))
      for (unsigned i = 0; op->opcode == TL_OP_FOR && i < op->num_results; i++)
         changed |= scalarize(f, op, i);
   return changed;
}
