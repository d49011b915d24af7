/* device_print and device_assert: once for each element. */
#include "passes/lower.h"

/* An `if` whose body is filled by the caller between begin and end; pred NULL = no `if`. */
static TlBuilder
begin_if(TlLowerCx *cx, TlValue *pred)
{
   TlBuilder saved = cx->b;
   if (!pred)
      return saved;
   TlOp *op = tl_build(&cx->b, TL_OP_IF, &pred, 1, NULL, 0, NULL, 0, 2);
   for (unsigned i = 0; i < 2; i++) {
      cx->b.block = op->regions[i]->block;
      cx->b.before = NULL;
      tl_build(&cx->b, TL_OP_YIELD, NULL, 0, NULL, 0, NULL, 0, 0);
   }
   cx->b.block = op->regions[0]->block;
   cx->b.before = cx->b.block->last;
   return saved;
}

void
tl_lower_device_print(TlLowerCx *cx, TlOp *op)
{
   TlOwner o = {.free_lanes = ~0u, .free_warps = ~0u};
   unsigned total = 1, n = 1;
   for (unsigned i = 0; i < op->num_args; i++)
      if (tl_arg(op, i)->type->kind == TL_TYPE_TILE) {
         TlLinear l = tl_layout_of(tl_arg(op, i)->type);
         o = tl_owner_of(&l);
         total = 1u << l.num[TL_HW_REG];
      }
   uint32_t *reg = tl_new_array(cx->scratch, uint32_t, total);
   n = tl_owner_regs(&o, total, reg);
   TlBuilder saved = begin_if(cx, tl_owner_pred(cx, &o));
   TlValue **args = tl_new_array(cx->scratch, TlValue *, op->num_args);
   for (unsigned i = 0; i < op->num_args; i++) {
      TlValue *v = tl_lower_use(cx, tl_arg(op, i));
      args[i] = tl_regs_of(v->type) == total ? tl_regs_pick(cx, v, reg, n)
                                             : tl_regs_splat(cx, v, n);
   }
   tl_lower_clone(cx, op, args, op->num_args, NULL, 0);
   cx->b = saved;
}

void
tl_lower_device_assert(TlLowerCx *cx, TlOp *op)
{
   tl_lower_same(cx, op); /* a copy fails like its original */
}
