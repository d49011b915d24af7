/* Asynchronous copies from global to shared memory (cp.async).  Tokens only order operations: in
 * straight-line code the order of cp_async, commit and wait is already right, so they become 0. */
#include "passes/coalesce.h"
#include "passes/lower/impl.h"

#include <assert.h>

/* Elements of one copy: neighbours in memory on both sides, at most 16 bytes. */
static unsigned
copy_vec(const TlAccess *a, const TlSharedMap *map, const TlLinear *l)
{
   unsigned vec = tl_access_vec_in(a, l);
   vec = vec < map->vec ? vec : map->vec;
   assert(map->num % vec == 0);
   for (unsigned i = 0; i < vec; i++)
      if (map->reg[i] != i)
         return 1;
   return tl_access_vec_of(a, vec);
}

unsigned
tl_async_copy_bytes(TlArena *arena, TlAnalysis *facts, const TlOp *load, const TlType *buffer)
{
   assert(buffer->kind == TL_TYPE_MEMDESC);
   TlLowerCx cx = {.scratch = arena};
   TlLinear l = tl_layout_of(tl_arg(load, 0)->type);
   unsigned es = tl_dtype_info[buffer->dtype].bytes;
   TlSharedMap map = tl_shared_map(&cx, &l, buffer->layout, es);
   TlAccess a = tl_access_of(facts, load);
   return copy_vec(&a, &map, &l) * es;
}

/* What cp.async cannot do (less than 4 bytes, `other`): an ordinary load and store. */
static void
copy_now(TlLowerCx *cx, TlOp *op, const TlSharedMap *map, const TlSharedRef *ref, TlValue *ptrs,
         TlValue *pred)
{
   assert(op->opcode == TL_OP_ASYNC_COPY);
   TlDtype t = tl_arg(op, 1)->type->dtype;
   const TlType *type = tl_type_regs(cx->types, tl_type_scalar(cx->types, t), map->num);
   TlValue *other = op->num_args > 3
                       ? tl_regs_pick(cx, tl_lower_use(cx, tl_arg(op, 3)), map->reg, map->num)
                       : tl_bits_const(cx, type, 0);
   TlValue *args[3] = {ptrs, pred, other};
   TlValue *v = tl_build_n(&cx->b, TL_OP_LD_GLOBAL, args, pred ? 3 : 1, type,
                           TL_ATTRS_({TL_ATTR_VEC, {.i = map->vec}},
                                     {TL_ATTR_CACHE, *tl_attr(op, TL_ATTR_CACHE)},
                                     {TL_ATTR_EVICT, *tl_attr(op, TL_ATTR_EVICT)}));
   tl_shared_store(cx, ref, map, tl_regs_pick(cx, v, map->position, map->num_regs), NULL);
}

void
tl_lower_async_copy(TlLowerCx *cx, TlOp *op)
{
   const TlValue *ptr = tl_arg(op, 0), *buffer = tl_arg(op, 1);
   assert(ptr->type->kind == TL_TYPE_TILE && buffer->type->kind == TL_TYPE_MEMDESC);
   TlAccess a = tl_access_of(cx->facts, op);
   TlLinear l = tl_layout_of(ptr->type);
   unsigned es = tl_dtype_info[buffer->type->dtype].bytes;
   TlSharedMap map = tl_shared_map(cx, &l, buffer->type->layout, es);
   map.vec = copy_vec(&a, &map, &l);
   unsigned n = map.num / map.vec;
   uint32_t *leader = tl_new_array(cx->scratch, uint32_t, n);
   for (unsigned i = 0; i < n; i++)
      leader[i] = map.reg[i * map.vec];
   TlValue *ptrs = tl_regs_pick(cx, tl_lower_use(cx, ptr), leader, n);
   TlValue *pred = tl_vector_pred(cx, op, &a, map.vec, leader, n);
   TlSharedRef ref = tl_memdesc_ref(cx, buffer);
   if (map.vec * es < 4 || op->num_args > 3)
      copy_now(cx, op, &map, &ref, ptrs, pred);
   else
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
