/* Creation and shape operations.  Most only rename registers: the layout rules gave the result the
 * relabelled layout of the operand.  Where text chose another layout, the data is converted. */
#include "passes/lower/impl.h"

#include <assert.h>
#include <string.h>

void
tl_lower_constant(TlLowerCx *cx, TlOp *op)
{
   const TlType *type = tl_lower_type(cx, tl_result(op, 0)->type);
   tl_lower_def(cx, tl_result(op, 0),
                tl_bits_const(cx, type, tl_attr((TlOp *)op, TL_ATTR_VALUE)->bits));
}

void
tl_lower_poison(TlLowerCx *cx, TlOp *op)
{
   const TlType *type = tl_lower_type(cx, tl_result(op, 0)->type);
   tl_lower_def(cx, tl_result(op, 0), tl_b0(&cx->b, TL_OP_POISON, type));
}

void
tl_lower_splat(TlLowerCx *cx, TlOp *op)
{
   unsigned n = tl_regs_of(tl_lower_type(cx, tl_result(op, 0)->type));
   tl_lower_def(cx, tl_result(op, 0), tl_regs_splat(cx, tl_lower_use(cx, tl_arg(op, 0)), n));
}

TlValue *
tl_element_words(TlLowerCx *cx, const TlLinear *l, uint32_t mask, unsigned shift_down, uint32_t add)
{
   uint32_t cols[TL_LANE_BITS + 5] = {0}, thread_bits;
   unsigned regs = 1u << l->num[TL_HW_REG], lane = l->num[TL_HW_REG];
   for (unsigned i = 0; i < TL_LANE_BITS + cx->log2_warps; i++)
      cols[i] = (l->col[lane + i] & mask) >> shift_down;
   TlValue *thread = tl_thread_word(cx, cols, &thread_bits);
   uint32_t *value = tl_new_array(cx->scratch, uint32_t, regs), reg_bits = 0;
   for (uint32_t r = 0; r < regs; r++) {
      for (unsigned i = 0; i < lane; i++)
         value[r] ^= r >> i & 1 ? (l->col[i] & mask) >> shift_down : 0;
      reg_bits |= value[r];
   }
   if (reg_bits & thread_bits) { /* only layouts written by hand */
      TlValue *word = tl_op2(cx, TL_OP_XOR, tl_regs_i32(cx, value, regs), thread);
      return add ? tl_op2(cx, TL_OP_ADD, word, tl_i32(cx, (int32_t)add)) : word;
   }
   for (uint32_t r = 0; r < regs; r++)
      value[r] += add;
   TlValue *consts = tl_regs_i32(cx, value, regs);
   return thread_bits ? tl_op2(cx, TL_OP_ADD, thread, consts) : consts;
}

void
tl_lower_arange(TlLowerCx *cx, TlOp *op)
{
   TlLinear l = tl_layout_of(tl_result(op, 0)->type);
   uint32_t start = (uint32_t)tl_attr_int(op, TL_ATTR_START);
   tl_lower_def(cx, tl_result(op, 0), tl_element_words(cx, &l, ~0u, 0, start));
}

/* The operand's layout under the operation's renaming of dimensions. */
bool
tl_retyped_layout(const TlOp *op, TlLinear *out)
{
   const TlType *from = tl_arg(op, 0)->type, *to = tl_result(op, 0)->type;
   if (from->kind != TL_TYPE_TILE || to->kind != TL_TYPE_TILE)
      return false; /* a scalar: every thread has it */
   TlLinear l = tl_layout_of(from);
   if (op->opcode == TL_OP_EXPAND_DIMS) {
      *out = tl_ll_expand(&l, (unsigned)tl_attr_int(op, TL_ATTR_AXIS));
   } else if (op->opcode == TL_OP_TRANS) {
      TlInts ints = tl_attr_ints(op, TL_ATTR_ORDER);
      unsigned order[TL_MAX_RANK];
      for (unsigned i = 0; i < ints.len; i++)
         order[i] = (unsigned)ints.data[i];
      *out = tl_ll_transpose(&l, order);
   } else {
      *out = tl_ll_reshape(&l, to->rank, to->shape);
   }
   return true;
}

void
tl_lower_retype(TlLowerCx *cx, TlOp *op)
{
   TlLinear from;
   TlValue *v = tl_lower_use(cx, tl_arg(op, 0));
   const TlType *to = tl_result(op, 0)->type;
   if (tl_retyped_layout(op, &from)) {
      TlLinear l = tl_layout_of(to);
      v = tl_convert_regs(cx, op, v, to->elem, &from, &l);
   } else {
      v = tl_regs_splat(cx, tl_regs_reg(cx, v, 0), tl_regs_of(tl_lower_type(cx, to)));
   }
   tl_lower_def(cx, tl_result(op, 0), v);
}

/* The layout that the operand must have for the broadcast to need no data movement; *map (one entry
 * a result register, or NULL) receives its register. */
TlLinear
tl_broadcast_source(const TlType *from, const TlType *to, uint32_t *map)
{
   assert(from->rank == to->rank && from->elem == to->elem);
   TlLinear full = tl_layout_of(to), l = full;
   uint32_t keep = ~0u;
   for (unsigned d = 0; d < to->rank; d++)
      if (from->shape[d] != to->shape[d])
         keep &= ~(((1u << full.log2_dim[d]) - 1) << tl_ll_dim_shift(&full, d));
   for (unsigned d = 0; d < to->rank; d++)
      if (from->shape[d] != to->shape[d])
         l = tl_ll_unbroadcast(&l, d);
   for (uint32_t r = 0; map && r < 1u << full.num[TL_HW_REG]; r++) {
      unsigned kept = 0;
      map[r] = 0;
      for (unsigned i = 0; i < full.num[TL_HW_REG]; i++)
         if (full.col[i] & keep)
            map[r] |= (r >> i & 1) << kept++;
   }
   return l;
}

void
tl_lower_broadcast(TlLowerCx *cx, TlOp *op)
{
   const TlType *from = tl_arg(op, 0)->type, *to = tl_result(op, 0)->type;
   unsigned n = tl_ll_num_regs(to->layout);
   uint32_t *map = tl_new_array(cx->scratch, uint32_t, n);
   TlLinear have = tl_layout_of(from), want = tl_broadcast_source(from, to, map);
   TlValue *v = tl_convert_regs(cx, op, tl_lower_use(cx, tl_arg(op, 0)), from->elem, &have, &want);
   tl_lower_def(cx, tl_result(op, 0), tl_regs_pick(cx, v, map, n));
}

/* Registers of a result built from two operands: `from` is the layout of all their registers (first
 * operand's first) over the result's elements. */
static void
combine_pair(TlLowerCx *cx, TlOp *op, const TlLinear *from)
{
   assert(op->num_args == 2);
   const TlType *to = tl_result(op, 0)->type;
   TlValue *parts[2] = {tl_lower_use(cx, tl_arg(op, 0)), tl_lower_use(cx, tl_arg(op, 1))};
   TlLinear l = tl_layout_of(to);
   TlValue *both = tl_regs_concat(cx, parts, 2);
   tl_lower_def(cx, tl_result(op, 0), tl_convert_regs(cx, op, both, to->elem, from, &l));
}

/* Layout whose top register bit chooses the operand, which moves an element by `step`. */
static void
push_choice(TlLinear *l, uint32_t step)
{
   tl_ll_push(l, TL_HW_REG, step);
}

TlLinear
tl_pair_layout(const TlOp *op)
{
   assert(op->opcode == TL_OP_JOIN || op->opcode == TL_OP_CAT);
   const TlType *from = tl_arg(op, 0)->type, *to = tl_result(op, 0)->type;
   TlLinear l = {0};
   if (from->kind != TL_TYPE_TILE) { /* join of scalars: every thread has both */
      const TlLinear *t = to->layout;
      l = tl_ll_empty(to->rank, to->shape);
      for (unsigned h = TL_HW_LANE; h <= TL_HW_WARP; h++)
         for (unsigned i = 0; i < t->num[h]; i++)
            tl_ll_push(&l, (TlHw)h, 0);
      push_choice(&l, 1);
      return l;
   }
   TlLinear half = tl_layout_of(from);
   l = tl_ll_empty(to->rank, to->shape);
   unsigned up = op->opcode == TL_OP_JOIN ? 1 : 0;
   for (unsigned h = 0; h < TL_HW_COUNT; h++)
      for (unsigned i = 0; i < half.num[h]; i++)
         tl_ll_push(&l, (TlHw)h, tl_ll_col(&half, (TlHw)h, i) << up);
   push_choice(&l, up ? 1 : from->shape[0]);
   return l;
}

void
tl_lower_join(TlLowerCx *cx, TlOp *op)
{
   TlLinear l = tl_pair_layout(op);
   combine_pair(cx, op, &l);
}

void
tl_lower_cat(TlLowerCx *cx, TlOp *op)
{
   TlLinear l = tl_pair_layout(op);
   combine_pair(cx, op, &l);
}

void
tl_lower_split(TlLowerCx *cx, TlOp *op)
{
   const TlType *from = tl_arg(op, 0)->type;
   TlLinear l = tl_layout_of(from);
   TlValue *v = tl_lower_use(cx, tl_arg(op, 0));
   unsigned bit = l.num[TL_HW_REG], n = 1u << l.num[TL_HW_REG];
   for (unsigned i = 0; i < l.num[TL_HW_REG]; i++)
      if (l.col[i] == 1)
         bit = i;
   assert(bit < l.num[TL_HW_REG] && "the layout rule puts both halves in registers");
   uint32_t *index = tl_new_array(cx->scratch, uint32_t, n);
   for (unsigned half = 0; half < 2; half++) {
      unsigned count = 0;
      for (uint32_t r = 0; r < n; r++)
         if ((r >> bit & 1) == half)
            index[count++] = r;
      TlValue *part = tl_regs_pick(cx, v, index, count);
      const TlType *to = tl_result(op, half)->type;
      if (to->kind != TL_TYPE_TILE)
         part = tl_regs_reg(cx, part, 0);
      tl_lower_def(cx, tl_result(op, half), part);
   }
}
