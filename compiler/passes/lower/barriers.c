/* mbarriers: rings of them in shared memory by which the warps of one role tell those of another
 * that a stage is full, or empty again. */
#include "passes/lower/impl.h"

#include <assert.h>

enum { MBARRIER_BYTES = 8 };

/* The first thread makes them; all see them after the barrier that roles begin with. */
void
tl_lower_barriers(TlLowerCx *cx, TlOp *op)
{
   const TlType *t = tl_result(op, 0)->type;
   assert(cx->first_warp == 0 && tl_memdesc_stage_bytes(t) == MBARRIER_BYTES);
   int64_t offset = tl_attr_int(op, TL_ATTR_OFFSET);
   for (uint32_t i = 0; i < t->count; i++) {
      TlValue *args[] = {tl_i32(cx, offset + i * MBARRIER_BYTES),
                         tl_thread_is_zero(cx, UINT32_MAX, UINT32_MAX)};
      tl_build_n(&cx->b, TL_OP_MBAR_INIT, args, 2, NULL,
                 TL_ATTRS_({TL_ATTR_ARRIVALS, *tl_attr(op, TL_ATTR_ARRIVALS)}));
   }
   tl_lower_def(cx, tl_result(op, 0), tl_i32(cx, offset));
}

static TlValue *
stage_address(TlLowerCx *cx, const TlOp *op)
{
   TlValue *stage = tl_lower_use(cx, tl_arg(op, 1));
   TlValue *bytes = tl_op2(cx, TL_OP_MUL, stage, tl_i32(cx, MBARRIER_BYTES));
   return tl_op2(cx, TL_OP_ADD, bytes, tl_lower_use(cx, tl_arg(op, 0)));
}

void
tl_lower_barrier_wait(TlLowerCx *cx, TlOp *op)
{
   TlValue *args[] = {stage_address(cx, op), tl_lower_use(cx, tl_arg(op, 2))};
   tl_build_n(&cx->b, TL_OP_MBAR_WAIT, args, 2, NULL, TL_ATTRS_());
}

void
tl_lower_copy_arrive(TlLowerCx *cx, TlOp *op)
{
   TlValue *at = stage_address(cx, op);
   tl_build_n(&cx->b, TL_OP_CP_ASYNC_ARRIVE, &at, 1, NULL, TL_ATTRS_());
}

/* One lane speaks for its warp, once all of them are here. */
void
tl_lower_barrier_arrive(TlLowerCx *cx, TlOp *op)
{
   tl_build_n(&cx->b, TL_OP_BAR_WARP, NULL, 0, NULL, TL_ATTRS_());
   TlValue *args[] = {stage_address(cx, op), tl_thread_is_zero(cx, UINT32_MAX, 0)};
   tl_build_n(&cx->b, TL_OP_MBAR_ARRIVE, args, 2, NULL, TL_ATTRS_());
}
