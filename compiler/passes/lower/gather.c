/* gather and histogram: positions that are known only at run time, through shared memory; of a
 * gather whose axis lies along lanes, by shuffles. */
#include "passes/lower/impl.h"
#include "layout/hw_layouts.h"

#include <assert.h>
#include <string.h>

/* Coordinates but the one of the axis, packed as those of the source. */
static uint32_t
off_axis(const TlLinear *l, const TlLinear *src, uint32_t word, unsigned axis)
{
   uint32_t packed = 0;
   for (unsigned d = 0; d < src->rank; d++)
      if (d != axis) {
         uint32_t field = word >> tl_ll_dim_shift(l, d) & ((1u << l->log2_dim[d]) - 1);
         packed |= field << tl_ll_dim_shift(src, d);
      }
   return packed;
}

/* Where the elements of a gather's axis are: element i in the lane whose bits `lane[k]` are those
 * of i and whose others are the asking lane's, in register reg[r] for register r of the result. */
typedef struct LaneGather {
   unsigned num_bits, lane[TL_LANE_BITS];
   uint32_t *reg;
} LaneGather;

/* Registers and warps hold the same rows in both layouts, and lanes that move off the axis too. */
static bool
are_lanes_alike(const TlLinear *from, const TlLinear *to, unsigned axis, LaneGather *g)
{
   unsigned shift = tl_ll_dim_shift(from, axis);
   uint32_t field = ((1u << from->log2_dim[axis]) - 1) << shift, seen = 0;
   if (from->log2_dim[axis] > TL_LANE_BITS)
      return false;
   for (unsigned hw = TL_HW_WARP; hw < TL_HW_COUNT; hw++) {
      if (from->num[hw] != to->num[hw])
         return false;
      for (unsigned i = 0; i < from->num[hw]; i++) {
         uint32_t col = tl_ll_col(from, hw, i);
         if ((col & field) || col != off_axis(to, from, tl_ll_col(to, hw, i), axis))
            return false;
      }
   }
   for (unsigned i = 0; i < from->num[TL_HW_LANE]; i++) {
      uint32_t col = tl_ll_col(from, TL_HW_LANE, i), on = col & field;
      if ((col & ~field) != off_axis(to, from, tl_ll_col(to, TL_HW_LANE, i), axis))
         return false;
      if (on == 0)
         continue;
      if (on != col || (on & (on - 1)) || (on & seen))
         return false;
      seen |= on;
      unsigned bit = 0;
      while (1u << (bit + shift) != on)
         bit++;
      g->lane[bit] = i;
   }
   g->num_bits = from->log2_dim[axis];
   return seen == field;
}

/* false: the elements lie in more than one warp or in several registers of a lane. */
static bool
find_lanes(TlArena *a, const TlOp *op, LaneGather *g)
{
   unsigned axis = (unsigned)tl_attr_int(op, TL_ATTR_AXIS);
   TlLinear from = tl_layout_of(tl_arg(op, 0)->type), to = tl_layout_of(tl_result(op, 0)->type);
   for (unsigned d = 0; d < from.rank; d++)
      if (from.repeat[d] != 1 || to.repeat[d] != 1)
         return false;
   if (from.num[TL_HW_LANE] != TL_LANE_BITS || to.num[TL_HW_LANE] != TL_LANE_BITS ||
       !are_lanes_alike(&from, &to, axis, g))
      return false;
   uint32_t num_from = 1u << from.num[TL_HW_REG], num_to = 1u << to.num[TL_HW_REG];
   g->reg = tl_new_array(a, uint32_t, num_to);
   for (uint32_t r = 0; r < num_to; r++) {
      uint32_t row = off_axis(&to, &from, tl_ll_apply(&to, r, 0, 0, 0), axis), k = 0;
      while (k < num_from && tl_ll_apply(&from, k, 0, 0, 0) != row)
         k++;
      if (k == num_from)
         return false;
      g->reg[r] = k;
   }
   return true;
}

/* The lane that holds element `index` of the axis, for each register. */
static TlValue *
lane_of_index(TlLowerCx *cx, const LaneGather *g, TlValue *index)
{
   uint32_t cols[TL_LANE_BITS + 5] = {0}, bits, mask = 0;
   TlValue *lane = NULL;
   for (unsigned k = 0, n; k < g->num_bits; k += n) { /* bits that stay side by side go together */
      for (n = 1; k + n < g->num_bits && g->lane[k + n] == g->lane[k] + n; n++)
         ;
      uint32_t run = (1u << n) - 1;
      mask |= run << g->lane[k];
      TlValue *part = tl_op2(cx, TL_OP_AND, index, tl_i32(cx, (int64_t)run << k));
      if (g->lane[k] > k)
         part = tl_op2(cx, TL_OP_SHL, part, tl_i32(cx, g->lane[k] - k));
      else if (g->lane[k] < k)
         part = tl_op2(cx, TL_OP_SHR, part, tl_i32(cx, k - g->lane[k]));
      lane = lane ? tl_op2(cx, TL_OP_OR, lane, part) : part;
   }
   for (unsigned i = 0; i < TL_LANE_BITS; i++)
      cols[i] = 1u << i & ~mask;
   if (mask == (1u << TL_LANE_BITS) - 1)
      return lane;
   TlValue *own = tl_thread_word(cx, cols, &bits);
   return lane ? tl_op2(cx, TL_OP_OR, lane, own) : own;
}

static void
gather_by_shuffles(TlLowerCx *cx, TlOp *op, const LaneGather *g)
{
   unsigned n = tl_regs_of(tl_lower_type(cx, tl_result(op, 0)->type));
   TlValue *raw =
      tl_regs_to_memory(cx, tl_regs_pick(cx, tl_lower_use(cx, tl_arg(op, 0)), g->reg, n));
   TlValue *index = tl_regs_cast(cx, TL_OP_CAST, tl_lower_use(cx, tl_arg(op, 1)), TL_I32);
   raw = tl_build_n(&cx->b, TL_OP_SHFL, (TlValue *const[]){raw, lane_of_index(cx, g, index)}, 2,
                    raw->type, TL_ATTRS_({TL_ATTR_SHFL, {.i = TL_SHFL_IDX}}));
   tl_lower_def(cx, tl_result(op, 0), tl_regs_from_memory(cx, raw, tl_arg(op, 0)->type->elem));
}

uint32_t
tl_gather_scratch(TlArena *arena, const TlOp *op)
{
   LaneGather lanes;
   if (find_lanes(arena, op, &lanes))
      return 0;
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
   LaneGather lanes;
   if (find_lanes(cx->scratch, op, &lanes)) {
      gather_by_shuffles(cx, op, &lanes);
      return;
   }
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
