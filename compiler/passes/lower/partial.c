/* Accesses whose vectors the mask may cut.  Before lowering, their masks are measured: how many
 * bytes of a vector are inside, as a tile of i32 beside the mask, lowered like every other. */
#include "ir/walk.h"
#include "passes/coalesce.h"
#include "passes/lower/impl.h"
#include "passes/prefix_masks.h"

#include <assert.h>

typedef struct Measured {
   TlValue *bytes; /* of the old body */
   uint32_t vec;   /* of how many elements, at most */
} Measured;

static bool
measure(TlLowerCx *cx, TlOp *op)
{
   if (!tl_has_trait(op, TL_TRAIT_ACCESS) && op->opcode != TL_OP_ASYNC_COPY)
      return false;
   TlValue *mask = (TlValue *)tl_pred(op);
   if (!mask || mask->type->kind != TL_TYPE_TILE)
      return false;
   TlAccess a = tl_access_of(cx->facts, op);
   TlLinear l = tl_layout_of(mask->type);
   Measured *m = tl_new(cx->scratch, Measured);
   m->vec = tl_access_vec_in(&a, &l);
   if (m->vec <= a.mask_run)
      return false;
   TlBuilder b = tl_builder_before(op);
   m->bytes = tl_mask_bytes(cx->facts, &b, mask, a.dim, m->vec, a.elem_bytes);
   tl_map_put(&cx->measured, op, m);
   return true;
}

void
tl_measure_masks(TlLowerCx *cx)
{
   const TlBlock *body = cx->func->body->block;
   bool any = false;
   for (TlOp *op = body->first; op; op = tl_walk_next(op, body))
      any |= measure(cx, op);
   if (any) /* of the new values, too */
      cx->facts = tl_analysis_new(cx->scratch, cx->func);
}

TlValue *
tl_vector_pred(TlLowerCx *cx, const TlOp *op, const TlAccess *a, unsigned vec,
               const uint32_t *leader, unsigned n)
{
   const TlValue *mask = tl_pred(op);
   const Measured *m = tl_map_get(&cx->measured, op);
   if (!mask)
      return NULL;
   assert(tl_type_elem(mask->type)->dtype == TL_I1);
   if (m && vec > a->mask_run) {
      TlValue *bytes = tl_regs_pick(cx, tl_lower_use(cx, m->bytes), leader, n);
      return vec == m->vec ? bytes : tl_op2(cx, TL_OP_MIN, bytes, tl_i32(cx, vec * a->elem_bytes));
   }
   if (tl_value_is(mask, TL_OP_SPLAT)) /* a mask that is equal everywhere stays a scalar */
      return tl_lower_use(cx, tl_arg(mask->def, 0));
   return tl_regs_pick(cx, tl_lower_use(cx, mask), leader, n);
}
