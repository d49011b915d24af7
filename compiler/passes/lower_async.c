/* Asynchronous copies from global to shared memory (cp.async).  Tokens only order operations: in
 * straight-line code the order of cp_async, commit and wait is already right, so they become 0. */
#include "passes/coalesce.h"
#include "passes/lower.h"

/* Elements of one copy: neighbours in memory on both sides, at most 16 bytes. */
static unsigned
copy_vec(TlLowerCx *cx, const TlOp *op, const TlSharedMap *map, const TlLinear *l)
{
   const TlValue *mask = op->num_args > 2 ? tl_arg(op, 2) : NULL;
   TlAccess a = tl_access_of(cx->facts, tl_arg(op, 0), mask);
   unsigned vec = tl_access_vec_in(&a, l);
   vec = vec < map->vec ? vec : map->vec;
   for (unsigned i = 0; i < vec; i++)
      if (map->reg[i] != i)
         return 1;
   return vec;
}

void
tl_lower_async_copy(TlLowerCx *cx, TlOp *op)
{
   const TlValue *ptr = tl_arg(op, 0), *buffer = tl_arg(op, 1);
   TlLinear l = tl_layout_of(ptr->type);
   unsigned es = tl_dtype_info[buffer->type->dtype].bytes;
   TlSharedMap map = tl_shared_map(cx, &l, buffer->type->layout, es);
   map.vec = copy_vec(cx, op, &map, &l);
   if (map.vec * es < 4 || op->num_args > 3) {
      tl_report(cx->pass->diags, E0410, op->range, map.vec * es);
      tl_fail(cx);
      return;
   }
   unsigned n = map.num / map.vec;
   uint32_t *leader = tl_new_array(cx->scratch, uint32_t, n);
   for (unsigned i = 0; i < n; i++)
      leader[i] = map.reg[i * map.vec];
   TlValue *ptrs = tl_regs_pick(cx, tl_lower_use(cx, ptr), leader, n), *pred = NULL;
   if (op->num_args > 2)
      pred = tl_regs_pick(cx, tl_lower_use(cx, tl_arg(op, 2)), leader, n);
   TlSharedRef ref = tl_memdesc_ref(cx, buffer);
   tl_shared_copy_async(cx, &ref, &map, ptrs, pred, op);
   tl_lower_def(cx, tl_result(op, 0), tl_i32(cx, 0));
}

void
tl_lower_async_commit(TlLowerCx *cx, TlOp *op)
{
   tl_build_n(&cx->b, TL_OP_CP_ASYNC_COMMIT, NULL, 0, NULL, TL_ATTRS_());
   tl_lower_def(cx, tl_result(op, 0), tl_i32(cx, 0));
}

void
tl_lower_async_wait(TlLowerCx *cx, TlOp *op)
{
   tl_build_n(&cx->b, TL_OP_CP_ASYNC_WAIT, NULL, 0, NULL,
              TL_ATTRS_({TL_ATTR_NUM, *tl_attr(op, TL_ATTR_NUM)}));
   tl_lower_def(cx, tl_result(op, 0), tl_i32(cx, 0));
}
