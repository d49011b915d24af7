/* dot by wgmma: groups of four warps multiply what lies in shared memory, A also from registers,
 * and wait for it.  The accumulator is in registers as of mma.sync; no fragments are loaded. */
#include "passes/lower/impl.h"

#include <assert.h>

typedef struct Wgmma {
   const TlDotForm *form;
   const TlOp *op;
   uint32_t m, n, k; /* instructions of a group of warps */
   uint32_t instr_k;
   TL_VEC(int64_t) offsets;
   const TlInts *desc[2], *extent[2]; /* of A and B; NULL = in registers */
} Wgmma;

/* Bytes from the start of an operand to its element (row of M or column of N, k). */
static uint32_t
bytes_to(const TlType *memory, const TlWgmmaOperand *o, unsigned index, uint32_t row, uint32_t k)
{
   uint32_t at[2] = {index == 0 ? row : k, index == 0 ? k : row}, bytes = 0;
   uint32_t word =
      at[0] << tl_ll_dim_shift(memory->layout, 0) | at[1] << tl_ll_dim_shift(memory->layout, 1);
   for (unsigned i = 0; i < tl_ll_bits(memory->layout); i++)
      bytes += word >> i & 1 ? o->col[i] : 0;
   return bytes;
}

/* Where the thread's group of warps begins to read: of the accumulator's warp bits those that move
 * along the operand, by whole instructions. */
static void
group_columns(const Wgmma *w, const TlType *memory, const TlWgmmaOperand *o, unsigned index,
              uint32_t *cols)
{
   const TlLinear *acc = &w->form->acc;
   uint32_t rows = index == 0 ? 64 : w->form->tile.instr_n;
   for (unsigned i = 0; i < acc->num[TL_HW_WARP]; i++) {
      uint32_t word = tl_ll_col(acc, TL_HW_WARP, i) >> tl_ll_dim_shift(acc, index);
      uint32_t row = word & ((1u << acc->log2_dim[index]) - 1);
      cols[TL_LANE_BITS + i] = row < rows ? 0 : bytes_to(memory, o, index, row, 0);
   }
}

/* The address of an operand; what the instruction must know of it is added to w. */
static TlValue *
shared_operand(TlLowerCx *cx, Wgmma *w, unsigned index, const TlWgmmaOperand *o)
{
   const TlValue *buffer = tl_arg(w->op, index);
   TlSharedRef ref = tl_memdesc_ref(cx, buffer);
   uint32_t cols[TL_LANE_BITS + 5] = {0};
   group_columns(w, buffer->type, o, index, cols);
   const TlMmaTile *t = &w->form->tile;
   uint32_t step = index == 0 ? 16 * t->warps[0] : t->instr_n * t->warps[1];
   for (uint32_t r = 0; r < (index == 0 ? w->m : w->n); r++)
      for (uint32_t k = 0; k < w->k; k++)
         tl_vec_push(cx->scratch, &w->offsets,
                     ref.offset + bytes_to(buffer->type, o, index, r * step, k * w->instr_k));
   TlDesc desc = {
      .swizzle = o->mode, .mn_major = o->is_mn_major, .leading = o->lbo, .stride = o->sbo};
   w->desc[index] = tl_desc_ints(cx->arena, desc);
   w->extent[index] = ref.extent.end ? tl_extent_ints(cx->arena, ref.extent) : NULL;
   return tl_shared_start(cx, &ref, cols);
}

static bool
is_zero(const TlValue *v)
{
   uint64_t bits;
   return tl_is_const(v, &bits) && bits == 0;
}

void
tl_lower_wgmma(TlLowerCx *cx, TlOp *op, const TlDotForm *f, const TlWgmmaOperand shared[2])
{
   const TlMmaTile *t = &f->tile;
   Wgmma w = {.form = f, .op = op, .instr_k = 256 / tl_dot_elem_bits(&f->in)};
   w.m = t->shape[0] / (16 * t->warps[0]);
   w.n = t->shape[1] / (t->instr_n * t->warps[1]);
   w.k = tl_arg(op, 0)->type->shape[1] / w.instr_k;
   TlValue *args[3];
   for (unsigned i = 0; i < 2; i++)
      args[i] = tl_arg(op, i)->type->kind == TL_TYPE_MEMDESC ? shared_operand(cx, &w, i, &shared[i])
                                                             : tl_lower_use(cx, tl_arg(op, i));
   bool has_acc = !is_zero(tl_arg(op, 2));
   args[2] = tl_lower_use(cx, tl_arg(op, 2));
   const TlType *regs = args[2]->type;
   TlReps reps = {.m = w.m, .n = w.n, .k = w.k};
   TlAttrInit attrs[] = {
      {TL_ATTR_MMA, {.i = f->mma}},
      {TL_ATTR_REPS, {.ints = tl_reps_ints(cx->arena, reps)}},
      {TL_ATTR_COLUMNS, {.i = t->instr_n}},
      {TL_ATTR_A_DESC, {.ints = w.desc[0]}},
      {TL_ATTR_A_EXTENT, {.ints = w.extent[0]}},
      {TL_ATTR_B_DESC, {.ints = w.desc[1]}},
      {TL_ATTR_B_EXTENT, {.ints = w.extent[1]}},
      {TL_ATTR_OFFSETS, {.ints = tl_ints(cx->arena, w.offsets.data, w.offsets.len)}},
      {TL_ATTR_COUNT, {.i = 0}}};
   TlValue *v = tl_build_n(&cx->b, TL_OP_WGMMA, args, has_acc ? 3 : 2,
                           tl_type_in_flight(cx->types, regs, true), attrs);
   tl_lower_def(
      cx, tl_result(op, 0),
      tl_build_n(&cx->b, TL_OP_WGMMA_WAIT, &v, 1, regs, TL_ATTRS_({TL_ATTR_NUM, {.i = 0}})));
}
