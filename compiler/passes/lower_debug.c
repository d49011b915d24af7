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

static bool
is_tile(const TlValue *v)
{
   return v->type->kind == TL_TYPE_TILE;
}

/* Operands first .. last - 1, tiles of one shape and scalars: a line for each element. */
static void
print_group(TlLowerCx *cx, const TlOp *op, unsigned first, unsigned last)
{
   TlOwner o = {.free_lanes = ~0u, .free_warps = ~0u};
   unsigned total = 1;
   for (unsigned i = first; i < last; i++)
      if (is_tile(tl_arg(op, i))) {
         TlLinear l = tl_layout_of(tl_arg(op, i)->type);
         o = tl_owner_of(&l);
         total = 1u << l.num[TL_HW_REG];
      }
   uint32_t *reg = tl_new_array(cx->scratch, uint32_t, total);
   unsigned n = tl_owner_regs(&o, total, reg);
   TlBuilder saved = begin_if(cx, tl_owner_pred(cx, &o));
   TlValue **args = tl_new_array(cx->scratch, TlValue *, last - first);
   for (unsigned i = first; i < last; i++) {
      TlValue *v = tl_lower_use(cx, tl_arg(op, i));
      args[i - first] =
          is_tile(tl_arg(op, i)) ? tl_regs_pick(cx, v, reg, n) : tl_regs_splat(cx, v, n);
   }
   tl_lower_clone(cx, op, args, last - first, NULL, 0);
   cx->b = saved;
}

void
tl_lower_device_print(TlLowerCx *cx, TlOp *op)
{
   unsigned first = 0;
   const TlType *tile = NULL;
   for (unsigned i = 0; i < op->num_args; i++) {
      const TlType *t = tl_arg(op, i)->type;
      if (t->kind != TL_TYPE_TILE)
         continue;
      if (tile && (!tl_type_same_shape(tile, t) || tile->layout != t->layout)) {
         print_group(cx, op, first, i); /* tiles of another shape have lines of their own */
         first = i;
      }
      tile = t;
   }
   print_group(cx, op, first, op->num_args);
}

void
tl_lower_device_assert(TlLowerCx *cx, TlOp *op)
{
   tl_lower_same(cx, op); /* a copy fails like its original */
}
