/* gather and histogram: positions that are known only at run time, through shared memory. */
#include "passes/lower/impl.h"
#include "layout/hw_layouts.h"

#include <assert.h>
#include <string.h>

uint32_t
tl_gather_scratch(const TlOp *op)
{
   const TlType *src = tl_arg(op, 0)->type;
   return (uint32_t)tl_type_num_elems(src) * tl_dtype_info[tl_memory_dtype(src->elem)].bytes;
}

/* Source element word of the non-axis coordinates of every result register. */
static TlValue *
source_words(TlLowerCx *cx, const TlType *src, const TlLinear *result, unsigned axis)
{
   assert(axis < src->rank && result->rank == src->rank);
   /* Same fields in the source's packing, the axis field empty. */
   TlLinear moved = *result, shape = tl_ll_empty(src->rank, src->shape);
   for (unsigned i = 0; i < tl_ll_in_bits(result); i++) {
      moved.col[i] = 0;
      for (unsigned d = 0; d < src->rank; d++)
         if (d != axis) {
            uint32_t field =
               result->col[i] >> tl_ll_dim_shift(result, d) & ((1u << result->log2_dim[d]) - 1);
            moved.col[i] |= field << tl_ll_dim_shift(&shape, d);
         }
   }
   return tl_element_words(cx, &moved, ~0u, 0, 0);
}

void
tl_lower_gather(TlLowerCx *cx, TlOp *op)
{
   unsigned axis = (unsigned)tl_attr_int(op, TL_ATTR_AXIS), order[TL_MAX_RANK];
   const TlType *src = tl_arg(op, 0)->type;
   assert(axis < src->rank);
   TlLinear from = tl_layout_of(src), to = tl_layout_of(tl_result(op, 0)->type);
   for (unsigned d = 0; d < src->rank; d++)
      order[d] = src->rank - 1u - d;
   TlLinear memory = tl_hw_shared_plain(src->rank, src->shape, order);
   TlSharedRef ref = tl_scratch_ref(cx, op);
   TlValue *raw = tl_regs_to_memory(cx, tl_lower_use(cx, tl_arg(op, 0)));
   TlDtype t = tl_type_elem(raw->type)->dtype;
   unsigned es = tl_dtype_info[t].bytes;
   TlSharedMap map = tl_shared_map(cx, &from, &memory, es);
   tl_shared_store(cx, &ref, &map, raw, tl_thread_is_zero(cx, 0, tl_owner_of(&from).free_warps));
   TlValue *index = tl_regs_cast(cx, TL_OP_CAST, tl_lower_use(cx, tl_arg(op, 1)), TL_I32);
   /* An index outside the source is undefined; it must not leave the buffer. */
   index = tl_op2(cx, TL_OP_AND, index, tl_i32(cx, src->shape[axis] - 1));
   uint32_t stride = 1u << tl_ll_dim_shift(&from, axis);
   TlValue *word = tl_op2(cx, TL_OP_MUL, index, tl_i32(cx, stride));
   word = tl_op2(cx, TL_OP_ADD, word, source_words(cx, src, &to, axis));
   TlValue *bytes = tl_op2(cx, TL_OP_MUL, word, tl_i32(cx, es));
   raw = tl_shared_load_at(cx, &ref, bytes, t);
   tl_lower_def(cx, tl_result(op, 0), tl_regs_from_memory(cx, raw, src->elem));
}

uint32_t
tl_histogram_scratch(const TlOp *op)
{
   return (uint32_t)tl_attr_int(op, TL_ATTR_BINS) * 4;
}

void
tl_lower_histogram(TlLowerCx *cx, TlOp *op)
{
   const TlType *src = tl_arg(op, 0)->type, *to = tl_result(op, 0)->type;
   assert(src->rank == 1 && to->rank == 1);
   assert((to->shape[0] & (to->shape[0] - 1)) == 0 && "bins - 1 is a mask");
   TlLinear from = tl_layout_of(src), result = tl_layout_of(to);
   unsigned order = 0, bins = to->shape[0], total = 1u << from.num[TL_HW_REG];
   TlLinear memory = tl_hw_shared_plain(1, to->shape, &order);
   TlSharedRef ref = tl_scratch_ref(cx, op);
   TlSharedMap map = tl_shared_map(cx, &result, &memory, 4);
   const TlType *i32 = tl_type_scalar(cx->types, TL_I32);
   TlValue *zero = tl_bits_const(cx, tl_type_regs(cx->types, i32, map.num_regs), 0);
   tl_shared_store(cx, &ref, &map, zero, NULL);
   TlOwner o = tl_owner_of(&from);
   uint32_t *reg = tl_new_array(cx->scratch, uint32_t, total);
   unsigned n = tl_owner_regs(&o, total, reg);
   TlValue *x = tl_regs_pick(cx, tl_lower_use(cx, tl_arg(op, 0)), reg, n);
   TlDtype dtype = src->dtype;
   unsigned bits = tl_dtype_info[dtype].bits;
   TlValue *pred = tl_owner_pred(cx, &o);
   if (op->num_args > 1)
      pred = tl_and_pred(cx, tl_regs_pick(cx, tl_lower_use(cx, tl_arg(op, 1)), reg, n), pred);
   if (bits >= 32 || 1u << bits > bins) { /* values outside the bins are not counted */
      TlDtype wide = bits == 64 ? TL_U64 : TL_U32;
      TlValue *u = tl_regs_cast(cx, TL_OP_CAST, x, wide);
      TlValue *limit = tl_const_int(&cx->b, wide, bins);
      pred = tl_and_pred(cx, tl_op2(cx, TL_OP_LT, u, limit), pred);
   }
   TlValue *bin = tl_regs_cast(cx, TL_OP_CAST, x, TL_I32);
   bin = tl_op2(cx, TL_OP_AND, bin, tl_i32(cx, bins - 1));
   TlValue *one = tl_bits_const(cx, tl_type_regs(cx->types, i32, n), 1);
   tl_shared_add_at(cx, &ref, tl_op2(cx, TL_OP_MUL, bin, tl_i32(cx, 4)), one, pred);
   tl_lower_def(cx, tl_result(op, 0), tl_shared_load(cx, &ref, &map, TL_I32));
}
