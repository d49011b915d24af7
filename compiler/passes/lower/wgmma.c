/* dot by wgmma: groups of four warps multiply what lies in shared memory, A also from registers,
 * and wait for it.  The accumulator is in registers as of mma.sync; no fragments are loaded. */
#include "passes/lower/impl.h"

#include <assert.h>

typedef struct Wgmma {
   const TlDotForm *form;
   const TlOp *op;
   const TlWgmmaOperand *shared; /* of A and B */
   uint32_t m, n, k;             /* instructions of a group of warps */
   uint32_t first_m, num_m;      /* the rows of them that one operation does, */
   uint32_t first_k, num_k;      /* and the steps of K */
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
shared_operand(TlLowerCx *cx, Wgmma *w, unsigned index)
{
   const TlWgmmaOperand *o = &w->shared[index];
   const TlValue *buffer = tl_arg(w->op, index);
   TlSharedRef ref = tl_memdesc_ref(cx, buffer);
   uint32_t cols[TL_LANE_BITS + 5] = {0};
   group_columns(w, buffer->type, o, index, cols);
   const TlMmaTile *t = &w->form->tile;
   uint32_t step = index == 0 ? 16 * t->warps[0] : t->instr_n * t->warps[1];
   uint32_t first = index == 0 ? w->first_m : 0, num = index == 0 ? w->num_m : w->n;
   for (uint32_t r = first; r < first + num; r++)
      for (uint32_t k = w->first_k; k < w->first_k + w->num_k; k++)
         tl_vec_push(cx->scratch, &w->offsets,
                     ref.offset + bytes_to(buffer->type, o, index, r * step, k * w->instr_k));
   TlDesc desc = {
      .swizzle = o->mode, .mn_major = o->is_mn_major, .leading = o->lbo, .stride = o->sbo};
   w->desc[index] = tl_desc_ints(cx->arena, desc);
   w->extent[index] = ref.extent.end ? tl_extent_ints(cx->arena, ref.extent) : NULL;
   return tl_shared_start(cx, &ref, cols);
}

/* Registers of A for the rows and steps of one operation. */
static TlValue *
register_operand(TlLowerCx *cx, const Wgmma *w)
{
   TlValue *all = tl_lower_use(cx, tl_arg(w->op, 0));
   unsigned share = tl_regs_of(all->type) / (w->m * w->k), n = 0;
   uint32_t *index = tl_new_array(cx->scratch, uint32_t, tl_regs_of(all->type));
   for (uint32_t m = w->first_m; m < w->first_m + w->num_m; m++)
      for (uint32_t r = 0; r < w->num_k * share; r++)
         index[n++] = (m * w->k + w->first_k) * share + r;
   return tl_regs_pick(cx, all, index, n);
}

static TlValue *
operand(TlLowerCx *cx, Wgmma *w, unsigned index)
{
   bool is_shared = tl_arg(w->op, index)->type->kind == TL_TYPE_MEMDESC;
   return is_shared ? shared_operand(cx, w, index) : register_operand(cx, w);
}

static bool
is_zero(const TlValue *v)
{
   uint64_t bits;
   return tl_is_const(v, &bits) && bits == 0;
}

/* The product of num_m rows and num_k steps, added to acc (NULL: 0), in flight. */
static TlValue *
begin_wgmma(TlLowerCx *cx, Wgmma *w, TlValue *acc, const TlType *regs)
{
   w->offsets.len = 0;
   TlValue *args[3] = {operand(cx, w, 0), operand(cx, w, 1), acc};
   TlReps reps = {.m = w->num_m, .n = w->n, .k = w->num_k};
   TlAttrInit attrs[] = {
      {TL_ATTR_MMA, {.i = w->form->mma}},
      {TL_ATTR_REPS, {.ints = tl_reps_ints(cx->arena, reps)}},
      {TL_ATTR_COLUMNS, {.i = w->form->tile.instr_n}},
      {TL_ATTR_A_DESC, {.ints = w->desc[0]}},
      {TL_ATTR_A_EXTENT, {.ints = w->extent[0]}},
      {TL_ATTR_B_DESC, {.ints = w->desc[1]}},
      {TL_ATTR_B_EXTENT, {.ints = w->extent[1]}},
      {TL_ATTR_OFFSETS, {.ints = tl_ints(cx->arena, w->offsets.data, w->offsets.len)}},
      {TL_ATTR_COUNT, {.i = 0}}};
   return tl_build_n(&cx->b, TL_OP_WGMMA, args, acc ? 3 : 2,
                     tl_type_in_flight(cx->types, regs, true), attrs);
}

/* The same, waited for. */
static TlValue *
build_wgmma(TlLowerCx *cx, Wgmma *w, TlValue *acc, const TlType *regs)
{
   TlValue *v = begin_wgmma(cx, w, acc, regs);
   return tl_build_n(&cx->b, TL_OP_WGMMA_WAIT, &v, 1, regs, TL_ATTRS_({TL_ATTR_NUM, {.i = 0}}));
}

/* A row of instructions at a time: the registers of a part are needed besides those of the sum. */
static TlValue *
add_promoted(TlLowerCx *cx, Wgmma *w, uint32_t k, TlValue *acc, const TlType *all)
{
   uint32_t share = all->count / w->m, steps = k > w->instr_k ? k / w->instr_k : 1;
   const TlType *regs = tl_type_regs(cx->types, all->elem, share);
   TlValue **row = tl_new_array(cx->scratch, TlValue *, w->m);
   w->num_m = 1;
   for (w->first_m = 0; w->first_m < w->m; w->first_m++) {
      TlValue *sum = acc ? tl_regs_slice(cx, acc, w->first_m * share, share) : NULL;
      for (w->first_k = 0; w->first_k < w->k; w->first_k += steps) {
         w->num_k = w->k - w->first_k < steps ? w->k - w->first_k : steps;
         TlValue *part = build_wgmma(cx, w, NULL, regs);
         sum = sum ? tl_op2(cx, TL_OP_ADD, sum, part) : part;
      }
      row[w->first_m] = sum;
   }
   return tl_regs_concat(cx, row, w->m);
}

void
tl_lower_wgmma(TlLowerCx *cx, TlOp *op, const TlDotForm *f, const TlWgmmaOperand shared[2])
{
   const TlMmaTile *t = &f->tile;
   Wgmma w = {.form = f, .op = op, .shared = shared, .instr_k = 256 / tl_dot_elem_bits(&f->in)};
   w.m = w.num_m = t->shape[0] / (16 * t->warps[0]);
   w.n = t->shape[1] / (t->instr_n * t->warps[1]);
   w.k = w.num_k = tl_arg(op, 0)->type->shape[1] / w.instr_k;
   TlValue *acc = tl_lower_use(cx, tl_arg(op, 2));
   const TlType *regs = acc->type;
   if (is_zero(tl_arg(op, 2)))
      acc = NULL;
   uint32_t k = tl_dot_promoted_k(op);
   bool flies = tl_result(op, 0)->type->is_in_flight;
   tl_lower_def(cx, tl_result(op, 0),
                k       ? add_promoted(cx, &w, k, acc, regs)
                : flies ? begin_wgmma(cx, &w, acc, regs)
                        : build_wgmma(cx, &w, acc, regs));
}

void
tl_lower_dot_start(TlLowerCx *cx, TlOp *op)
{
   tl_lower_def(cx, tl_result(op, 0), tl_lower_use(cx, tl_arg(op, 0)));
}

/* The wait uses the registers that the product reads as well: nothing else gets them before. */
void
tl_lower_dot_wait(TlLowerCx *cx, TlOp *op)
{
   TlValue *args[2] = {tl_lower_use(cx, tl_arg(op, 0))};
   const TlOp *dot = args[0]->def;
   bool keeps = dot && dot->opcode == TL_OP_WGMMA && !tl_wgmma_is_shared(dot, 0);
   if (keeps)
      args[1] = tl_arg(dot, 0);
   tl_lower_def(cx, tl_result(op, 0),
                tl_build_n(&cx->b, TL_OP_WGMMA_WAIT, args, keeps ? 2 : 1,
                           tl_type_in_flight(cx->types, args[0]->type, false),
                           TL_ATTRS_({TL_ATTR_NUM, *tl_attr(op, TL_ATTR_NUM)})));
}
