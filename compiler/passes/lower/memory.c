/* Loads and stores of global memory.  Neighbouring elements in consecutive registers make one
 * access when addresses and mask allow; only the first pointer of each access is kept.  A load may
 * be done by every thread that holds an element, a store is done once. */
#include "passes/coalesce.h"
#include "passes/lower/impl.h"

#include <assert.h>

/* The registers of a tile access: which are touched, vec of them at a time. */
typedef struct Regs {
   unsigned n, vec;  /* registers touched, multiple of vec */
   uint32_t *reg;    /* those registers, in access order */
   uint32_t *leader; /* n / vec: the first register of each access */
} Regs;

static Regs
regs_of(TlLowerCx *cx, const TlLinear *l, unsigned vec, uint32_t skip)
{
   unsigned total = 1u << l->num[TL_HW_REG];
   Regs r = {.vec = vec};
   r.reg = tl_new_array(cx->scratch, uint32_t, total);
   r.leader = tl_new_array(cx->scratch, uint32_t, total);
   for (uint32_t i = 0; i < total; i++) {
      if (i & skip)
         continue;
      if (r.n % vec == 0)
         r.leader[r.n / vec] = i;
      r.reg[r.n++] = i;
   }
   assert(r.n > 0 && r.n % vec == 0);
   return r;
}

static TlValue *
pick_opt(TlLowerCx *cx, const TlValue *old, const uint32_t *index, unsigned n)
{
   return old ? tl_regs_pick(cx, tl_lower_use(cx, old), index, n) : NULL;
}

void
tl_lower_load(TlLowerCx *cx, TlOp *op)
{
   assert(op->num_args >= 1 && op->num_args <= 3);
   const TlValue *ptr = tl_arg(op, 0), *mask = tl_pred(op);
   const TlValue *other = op->num_args > 2 ? tl_arg(op, 2) : NULL;
   TlAccess a = {0};
   const TlType *t = tl_result(op, 0)->type;
   uint32_t zero = 0;
   Regs r = {.n = 1, .vec = 1, .reg = &zero, .leader = &zero};
   unsigned total = 1;
   uint32_t copies = 0;
   if (t->kind == TL_TYPE_TILE) {
      TlLinear l = tl_layout_of(t);
      a = tl_access_of(cx->facts, op);
      unsigned vec = tl_access_vec_in(&a, &l);
      total = 1u << l.num[TL_HW_REG];
      copies = tl_access_equal_regs(&a, &l);
      r = regs_of(cx, &l, vec, copies);
   }
   unsigned accesses = r.n / r.vec;
   TlValue *args[3];
   unsigned num_args = 0;
   args[num_args++] = pick_opt(cx, ptr, r.leader, accesses);
   if (mask)
      args[num_args++] = tl_vector_pred(cx, op, &a, r.vec, r.leader, accesses);
   if (other)
      args[num_args++] = pick_opt(cx, other, r.reg, r.n);
   const TlType *type = tl_type_regs(cx->types, tl_type_elem(t), r.n);
   TlValue *v = tl_build_n(&cx->b, TL_OP_LD_GLOBAL, args, num_args, type,
                           TL_ATTRS_({TL_ATTR_VEC, {.i = r.vec}},
                                     {TL_ATTR_CACHE, *tl_attr(op, TL_ATTR_CACHE)},
                                     {TL_ATTR_EVICT, *tl_attr(op, TL_ATTR_EVICT)},
                                     {TL_ATTR_VOLATILE, *tl_attr(op, TL_ATTR_VOLATILE)}));
   if (r.n != total) { /* a thread's registers hold some more than once */
      uint32_t *index = tl_new_array(cx->scratch, uint32_t, total);
      uint32_t *at = tl_new_array(cx->scratch, uint32_t, total);
      for (unsigned i = 0; i < r.n; i++)
         at[r.reg[i]] = i;
      for (uint32_t i = 0; i < total; i++)
         index[i] = at[i & ~copies];
      v = tl_regs_pick(cx, v, index, total);
   }
   tl_lower_def(cx, tl_result(op, 0), v);
}

/* Only the owner stores; a number of bytes becomes 0. */
static TlValue *
with_owner(TlLowerCx *cx, TlValue *pred, TlValue *owner)
{
   if (!pred || !owner || tl_type_elem(pred->type)->dtype == TL_I1)
      return tl_and_pred(cx, pred, owner);
   unsigned n = tl_regs_of(pred->type);
   return tl_b3(&cx->b, TL_OP_SELECT, tl_regs_splat(cx, owner, n), pred,
                tl_bits_const(cx, pred->type, 0));
}

void
tl_lower_store(TlLowerCx *cx, TlOp *op)
{
   assert(op->num_args >= 2 && op->num_results == 0);
   const TlValue *ptr = tl_arg(op, 0);
   uint32_t zero = 0;
   TlAccess a = {0};
   Regs r = {.n = 1, .vec = 1, .reg = &zero, .leader = &zero};
   TlOwner owner = {.free_lanes = ~0u, .free_warps = ~0u};
   if (ptr->type->kind == TL_TYPE_TILE) {
      TlLinear l = tl_layout_of(ptr->type);
      a = tl_access_of(cx->facts, op);
      unsigned vec = tl_access_vec_in(&a, &l);
      owner = tl_owner_of(&l);
      r = regs_of(cx, &l, vec, owner.free_regs);
   }
   unsigned accesses = r.n / r.vec;
   TlValue *pred = tl_vector_pred(cx, op, &a, r.vec, r.leader, accesses);
   pred = with_owner(cx, pred, tl_owner_pred(cx, &owner));
   TlValue *args[3] = {pick_opt(cx, ptr, r.leader, accesses),
                       pick_opt(cx, tl_arg(op, 1), r.reg, r.n), pred};
   tl_build_n(&cx->b, TL_OP_ST_GLOBAL, args, pred ? 3 : 2, NULL,
              TL_ATTRS_({TL_ATTR_VEC, {.i = r.vec}}, {TL_ATTR_CACHE, *tl_attr(op, TL_ATTR_CACHE)},
                        {TL_ATTR_EVICT, *tl_attr(op, TL_ATTR_EVICT)}));
}
