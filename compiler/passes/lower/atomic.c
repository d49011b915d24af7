/* Atomics on global memory: each element once, by its owner; the old value goes to every thread
 * that holds a copy through shared memory (or a shuffle within the warp), and only when it is
 * used. */
#include "layout/hw_layouts.h"
#include "passes/coalesce.h"
#include "ir/walk.h"
#include "passes/lower/impl.h"

#include <assert.h>

/* Layout of the access: a scalar is one element that every thread holds. */
static TlLinear
access_layout(const TlLowerCx *cx, const TlType *t)
{
   if (t->kind == TL_TYPE_TILE)
      return tl_layout_of(t);
   uint32_t shape = 1;
   TlLinear l = tl_ll_empty(1, &shape);
   for (unsigned i = 0; i < TL_LANE_BITS; i++)
      tl_ll_push(&l, TL_HW_LANE, 0);
   for (unsigned i = 0; i < cx->log2_warps; i++)
      tl_ll_push(&l, TL_HW_WARP, 0);
   return l;
}

static TlLinear
scalar_layout(unsigned log2_warps)
{
   TlLowerCx cx = {.log2_warps = log2_warps};
   return access_layout(&cx, &(TlType){.kind = TL_TYPE_SCALAR});
}

/* Copies in other warps need shared memory; those in other lanes too when they are many. */
static bool
needs_shared(const TlOwner *o)
{
   return o->free_warps != 0;
}

uint32_t
tl_atomic_scratch(const TlOp *op, unsigned log2_warps)
{
   assert(log2_warps <= 5);
   const TlType *t = tl_result(op, 0)->type;
   TlLinear l = t->kind == TL_TYPE_TILE ? tl_layout_of(t) : scalar_layout(log2_warps);
   TlOwner o = tl_owner_of(&l);
   if (tl_is_unused(op) || !needs_shared(&o))
      return 0;
   return (uint32_t)tl_type_num_elems(t) * tl_dtype_info[tl_memory_dtype(tl_type_elem(t))].bytes;
}

/* Old values (registers `reg` of the owners) to all holders. */
static TlValue *
share_result(TlLowerCx *cx, const TlOp *op, const TlLinear *l, const TlOwner *o, TlValue *old,
             const uint32_t *reg, unsigned n)
{
   unsigned total = 1u << l->num[TL_HW_REG];
   assert(n > 0 && n <= total);
   uint32_t *index = tl_new_array(cx->scratch, uint32_t, total);
   for (unsigned i = 0; i < n; i++)
      index[reg[i]] = i;
   for (uint32_t r = 0; r < total; r++)
      index[r] = index[r & ~o->free_regs];
   TlValue *all = tl_regs_pick(cx, old, index, total);
   const TlType *elem = tl_type_elem(old->type);
   if (!o->free_lanes && !o->free_warps)
      return all;
   TlValue *raw = tl_regs_to_memory(cx, all);
   if (needs_shared(o)) {
      uint32_t shape = 1u << tl_ll_bits(l), order = 0;
      TlLinear memory = tl_hw_shared_plain(1, &shape, &order), flat = *l;
      flat.rank = 1;
      flat.log2_dim[0] = (uint8_t)tl_ll_bits(l);
      TlSharedRef ref = tl_scratch_ref(cx, op);
      TlDtype t = tl_type_elem(raw->type)->dtype;
      TlSharedMap map = tl_shared_map(cx, &flat, &memory, tl_dtype_info[t].bytes);
      tl_shared_store(cx, &ref, &map, raw, tl_owner_pred(cx, o));
      raw = tl_shared_load(cx, &ref, &map, t);
   } else {
      uint32_t cols[TL_LANE_BITS + 5] = {0}, bits;
      for (unsigned i = 0; i < TL_LANE_BITS; i++)
         cols[i] = 1u << i & ~o->free_lanes;
      TlValue *from = tl_thread_word(cx, cols, &bits);
      raw = tl_build_n(&cx->b, TL_OP_SHFL, (TlValue *const[]){raw, from}, 2, raw->type,
                       TL_ATTRS_({TL_ATTR_SHFL, {.i = TL_SHFL_IDX}}));
   }
   return tl_regs_from_memory(cx, raw, elem);
}

/* A scalar atomic that releases or acquires orders what the whole block did around it. */
static void
block_order(TlLowerCx *cx, const TlOp *op, int64_t other_order)
{
   int64_t sem = tl_attr_int(op, TL_ATTR_SEM);
   if (tl_result(op, 0)->type->kind != TL_TYPE_TILE &&
       (sem == TL_SEM_ACQ_REL || sem == other_order))
      tl_build_n(&cx->b, TL_OP_BAR_SYNC, NULL, 0, NULL,
                 TL_ATTRS_({TL_ATTR_BARRIER, {.i = tl_barrier_at(op)}}));
}

/* Elements of one instruction: the n owned registers hold neighbours side by side. */
static unsigned
vector_of(TlLowerCx *cx, const TlOp *op, const TlLinear *l, unsigned n)
{
   if (tl_result(op, 0)->type->kind != TL_TYPE_TILE || !tl_access_has_vectors(cx->pass->target, op))
      return 1;
   TlAccess access = tl_access_of(cx->facts, op);
   unsigned vec = tl_access_vec_in(&access, l);
   return vec < n ? vec : n;
}

/* A sum of 16-bit floats whose elements come in pairs that share aligned 32 bits and one mask: the
 * neighbour of each is an element of the operation as well. */
static bool
is_paired(TlLowerCx *cx, const TlOp *op)
{
   const TlType *t = tl_result(op, 0)->type;
   if (t->kind != TL_TYPE_TILE || op->opcode != TL_OP_ATOMIC_RMW ||
       tl_attr_int(op, TL_ATTR_RMW) != TL_RMW_ADD || tl_dtype_info[t->dtype].bits != 16 ||
       !tl_dtype_is_float(t->dtype))
      return false;
   TlAccess access = tl_access_of(cx->facts, op);
   return tl_access_vec(&access) >= 2 && access.mask_run >= 2;
}

static TlValue *
pick_leaders(TlLowerCx *cx, const TlValue *v, const uint32_t *reg, unsigned n, unsigned vec)
{
   assert(n % vec == 0);
   uint32_t *leader = tl_new_array(cx->scratch, uint32_t, n);
   for (unsigned i = 0; i < n / vec; i++)
      leader[i] = reg[i * vec];
   return tl_regs_pick(cx, tl_lower_use(cx, v), leader, n / vec);
}

/* Lanes that hold copies take registers off the owner, half of them each: where a warp has the same
 * four sums in all lanes, four lanes add one each by one instruction, which memory takes as one
 * request, in place of four.  Of `num` operands, each one register an element or a scalar; returns
 * how many registers are left of n. */
static unsigned
share_out(TlLowerCx *cx, TlOwner *o, TlValue **args, unsigned num, unsigned n)
{
   for (unsigned bit = 0; bit < TL_LANE_BITS && n > 1; bit++) {
      uint32_t lane = o->free_lanes & 1u << bit;
      if (!lane)
         continue;
      TlValue *is_low = tl_thread_is_zero(cx, lane, 0);
      for (unsigned i = 0; i < num; i++)
         if (args[i]->type->kind == TL_TYPE_REGS)
            args[i] = tl_regs_select(cx, is_low, tl_regs_slice(cx, args[i], 0, n / 2),
                                     tl_regs_slice(cx, args[i], n / 2, n / 2));
      n /= 2;
      o->free_lanes &= ~lane;
   }
   return n;
}

static void
lower_atomic(TlLowerCx *cx, TlOp *op, TlOpcode machine, unsigned num_values)
{
   assert(num_values + 1 <= op->num_args);
   const TlType *t = tl_result(op, 0)->type;
   TlLinear l = access_layout(cx, t);
   TlOwner o = tl_owner_of(&l);
   if (!o.is_plain) {
      tl_report(cx->pass->diags, E0411, op->range, tl_info(op)->text);
      tl_fail(cx);
      return;
   }
   unsigned total = 1u << l.num[TL_HW_REG];
   uint32_t *reg = tl_new_array(cx->scratch, uint32_t, total);
   unsigned n = tl_owner_regs(&o, total, reg), num_args = 0, vec = vector_of(cx, op, &l, n);
   TlValue *args[4];
   args[num_args++] = pick_leaders(cx, tl_arg(op, 0), reg, n, vec);
   for (unsigned i = 1; i <= num_values; i++)
      args[num_args++] = tl_regs_pick(cx, tl_lower_use(cx, tl_arg(op, i)), reg, n);
   TlValue *pred = tl_pred(op) ? pick_leaders(cx, tl_pred(op), reg, n, vec) : NULL;
   if (pred)
      args[num_args++] = pred;
   if (vec == 1 && tl_is_unused(op))
      n = share_out(cx, &o, args, num_args, n);
   if (pred)
      pred = args[--num_args];
   pred = tl_and_pred(cx, pred, tl_owner_pred(cx, &o));
   if (pred)
      args[num_args++] = pred;
   TlAttrInit attrs[6] = {{TL_ATTR_SEM, *tl_attr(op, TL_ATTR_SEM)},
                          {TL_ATTR_SCOPE, *tl_attr(op, TL_ATTR_SCOPE)},
                          {TL_ATTR_COUNT, {.i = 0}},
                          {TL_ATTR_COUNT, {.i = 0}},
                          {TL_ATTR_COUNT, {.i = 0}},
                          {TL_ATTR_COUNT, {.i = 0}}};
   if (op->opcode == TL_OP_ATOMIC_RMW) {
      attrs[2] = (TlAttrInit){TL_ATTR_RMW, *tl_attr(op, TL_ATTR_RMW)};
      attrs[3] = (TlAttrInit){TL_ATTR_VEC, {.i = vec}};
      attrs[4] = (TlAttrInit){TL_ATTR_PAIRED, {.i = vec == 1 && is_paired(cx, op)}};
   }
   block_order(cx, op, TL_SEM_RELEASE);
   const TlType *type = tl_type_regs(cx->types, tl_type_elem(t), n);
   TlValue *old = tl_build_n(&cx->b, machine, args, num_args, type, attrs);
   if (tl_is_unused(op))
      tl_lower_def(cx, tl_result(op, 0), old); /* nobody looks */
   else
      tl_lower_def(cx, tl_result(op, 0), share_result(cx, op, &l, &o, old, reg, n));
   block_order(cx, op, TL_SEM_ACQUIRE);
}

void
tl_lower_atomic_rmw(TlLowerCx *cx, TlOp *op)
{
   lower_atomic(cx, op, TL_OP_ATOM_RMW, 1);
}

void
tl_lower_atomic_cas(TlLowerCx *cx, TlOp *op)
{
   lower_atomic(cx, op, TL_OP_ATOM_CAS, 2);
}
