/* Choice of the matrix instruction and of the way warps share a dot's result.
 * Invariant: a matrix form is chosen only when the tile holds whole instructions (m16n8 and its K),
 * so no fragment has copies within a thread. */
#include "passes/dot_layouts.h"
#include "passes/coalesce.h"
#include "passes/place/place.h"

#include <assert.h>

/* A group of four warps has 64 rows of an accumulator; more registers of it than these leave too
 * few for addresses and operands, and ptxas would compute one product after the other. */
enum { MMA_N = 8, WGMMA_WARPS = 4, WGMMA_ROWS = 64, WGMMA_MOST_N = 256, MOST_WGMMA_REGS = 128 };

/* The same of sums and words of A that come from shared memory as fragments: some 64 registers are
 * left, of all that a thread has, or of those that threads of a role with others beside it get. */
enum { MOST_WORDS_ALONE = 192, MOST_WORDS_IN_ROLES = 160 };

/* A matrix instruction: what it multiplies and adds to. */
typedef struct MmaInstr {
   TlDtype a, b;   /* elements of the operands; FP32 as tf32 */
   TlDtype acc;    /* of accumulator and result */
   int word;       /* TL_MMA_* */
   TlMmaKind kind; /* its fragments */
} MmaInstr;

static const MmaInstr instrs[] = {
   {TL_FP16, TL_FP16, TL_FP32, TL_MMA_WG_F16_F32, TL_MMA_WGMMA},
   {TL_BF16, TL_BF16, TL_FP32, TL_MMA_WG_BF16_F32, TL_MMA_WGMMA},
   {TL_FP32, TL_FP32, TL_FP32, TL_MMA_WG_TF32_F32, TL_MMA_WGMMA},
   {TL_I8, TL_I8, TL_I32, TL_MMA_WG_S8_S32, TL_MMA_WGMMA},
   {TL_U8, TL_U8, TL_I32, TL_MMA_WG_U8_S32, TL_MMA_WGMMA},
   {TL_FP8E4NV, TL_FP8E4NV, TL_FP32, TL_MMA_WG_E4M3_F32, TL_MMA_WGMMA},
   {TL_FP8E5, TL_FP8E5, TL_FP32, TL_MMA_WG_E5M2_F32, TL_MMA_WGMMA},
   {TL_FP8E4NV, TL_FP8E5, TL_FP32, TL_MMA_WG_E4M3_E5M2_F32, TL_MMA_WGMMA},
   {TL_FP8E5, TL_FP8E4NV, TL_FP32, TL_MMA_WG_E5M2_E4M3_F32, TL_MMA_WGMMA},
   {TL_FP16, TL_FP16, TL_FP32, TL_MMA_F16_F32, TL_MMA_M16N8},
   {TL_FP16, TL_FP16, TL_FP16, TL_MMA_F16_F16, TL_MMA_M16N8},
   {TL_BF16, TL_BF16, TL_FP32, TL_MMA_BF16_F32, TL_MMA_M16N8},
   {TL_FP32, TL_FP32, TL_FP32, TL_MMA_TF32_F32, TL_MMA_M16N8},
   {TL_I8, TL_I8, TL_I32, TL_MMA_S8_S32, TL_MMA_M16N8},
   {TL_U8, TL_U8, TL_I32, TL_MMA_U8_S32, TL_MMA_M16N8},
   {TL_FP8E4NV, TL_FP8E4NV, TL_FP32, TL_MMA_E4M3_F32, TL_MMA_M16N8},
   {TL_FP8E5, TL_FP8E5, TL_FP32, TL_MMA_E5M2_F32, TL_MMA_M16N8},
   {TL_FP8E4NV, TL_FP8E5, TL_FP32, TL_MMA_E4M3_E5M2_F32, TL_MMA_M16N8},
   {TL_FP8E5, TL_FP8E4NV, TL_FP32, TL_MMA_E5M2_E4M3_F32, TL_MMA_M16N8},
   {TL_FP64, TL_FP64, TL_FP64, TL_MMA_F64, TL_MMA_M8N8_F64},
};

static uint32_t
instr_m(TlMmaKind kind)
{
   return kind == TL_MMA_M8N8_F64 ? 8 : 16;
}

/* What an operand of type t becomes. */
static TlDtype
part_type(TlDtype t, const TlDotSplit *split)
{
   return split->parts ? split->part_type : t;
}

unsigned
tl_dot_elem_bits(const TlDotInput *in)
{
   return tl_dtype_info[part_type(in->a, in->split)].bits;
}

/* The instruction for these types, or NULL. */
static const MmaInstr *
find_types(const TlDotInput *in, TlDtype acc, bool is_wgmma)
{
   if (is_wgmma && in->split->parts && !in->split->is_cut)
      return NULL; /* parts are made of registers; wgmma cuts fp32 where it lies */
   if (in->a == TL_FP32 && !in->split->parts)
      return NULL; /* multiplied exactly */
   for (size_t i = 0; i < sizeof instrs / sizeof instrs[0]; i++) {
      const MmaInstr *x = &instrs[i];
      if (x->a == part_type(in->a, in->split) && x->b == part_type(in->b, in->split) &&
          x->acc == acc && (x->kind == TL_MMA_WGMMA) == is_wgmma)
         return x;
   }
   return NULL;
}

/* Does the tile hold its rows, columns and K? */
static bool
has_room(const MmaInstr *x, const TlType *acc, uint32_t k)
{
   assert(acc->rank >= 2);
   const uint32_t *shape = acc->shape + acc->rank - 2;
   return shape[0] >= instr_m(x->kind) && shape[1] >= MMA_N && acc->rank <= 3 &&
          k >= 256u / tl_dtype_info[x->a].bits;
}

/* Warps for a result of m x n: rows first when rows must stay in a warp, else so that the fragments
 * a warp reads (its rows plus its columns) are fewest. */
static void
split_warps(const TlMmaTile *t, unsigned num_warps, TlDotUse use, uint32_t *warps)
{
   assert(num_warps && (num_warps & (num_warps - 1)) == 0);
   uint32_t wm = 1, wn = 1, m = t->shape[t->rank - 2], n = t->shape[t->rank - 1];
   uint32_t most_m = m / instr_m(t->kind), most_n = n / MMA_N;
   while (wm * wn < num_warps) {
      bool can_m = wm < most_m, can_n = wn < most_n;
      if (!can_m && !can_n)
         break;
      bool rows = use == TL_DOT_ROWS_IN_WARP ? can_m : can_m && (!can_n || m / wm >= n / wn);
      if (rows)
         wm *= 2;
      else
         wn *= 2;
   }
   warps[0] = wm * (num_warps / (wm * wn)); /* warps beyond the tile repeat it */
   warps[1] = wn;
}

/* Groups of warps first along M, where each reads rows of A of its own, then along N. */
static bool
wgmma_tile(const TlType *acc, unsigned num_warps, TlMmaTile *t)
{
   uint32_t m = acc->shape[0], n = acc->shape[1], groups = num_warps / WGMMA_WARPS;
   if (acc->rank != 2 || num_warps % WGMMA_WARPS || m < WGMMA_ROWS || n < MMA_N)
      return false;
   uint32_t along_m = m / WGMMA_ROWS < groups ? m / WGMMA_ROWS : groups, along_n = groups / along_m;
   if (n / along_n < (along_n > 1 ? 2 * MMA_N : MMA_N) ||
       (uint64_t)m * n > 32ull * num_warps * MOST_WGMMA_REGS)
      return false;
   uint32_t columns = n / along_n < WGMMA_MOST_N ? n / along_n : WGMMA_MOST_N;
   *t = (TlMmaTile){.kind = TL_MMA_WGMMA,
                    .rank = 2,
                    .shape = {m, n},
                    .warps = {along_m * WGMMA_WARPS, along_n},
                    .instr_n = columns};
   return true;
}

/* K must lie together in shared memory for bytes and words.  Words are turned by the copies there,
 * bytes on their way through registers where a copy brings them; stored one by one they would take
 * longer than mma.sync. */
static bool
choose_wgmma(TlDotForm *f, const TlTarget *target, const TlType *a, const TlType *acc,
             unsigned num_warps)
{
   const MmaInstr *x = find_types(&f->in, acc->dtype, true);
   uint32_t k = a->shape[a->rank - 1];
   bool stays_turned = f->in.is_turned && tl_dot_elem_bits(&f->in) == 8;
   if (!x || stays_turned || !target || !tl_target_has_mma(target, x->word) ||
       k < 256u / tl_dtype_info[x->a].bits || !wgmma_tile(acc, num_warps, &f->tile))
      return false;
   f->is_mma = f->is_wgmma = true;
   f->mma = x->word;
   f->acc = tl_hw_mma_acc(&f->tile);
   f->operand[0] = tl_hw_mma_operand(&f->tile, 0, k, tl_dot_elem_bits(&f->in));
   return true;
}

static TlMmaTile
mma_tile(const TlType *acc, TlMmaKind kind, unsigned num_warps, TlDotUse use)
{
   unsigned r = acc->rank;
   TlMmaTile t = {.kind = kind, .rank = (uint8_t)r};
   for (unsigned d = 0; d < r; d++) {
      t.shape[d] = acc->shape[d];
      t.warps[d] = 1;
   }
   unsigned left = num_warps;
   if (r == 3) {
      t.warps[0] = acc->shape[0] < left ? acc->shape[0] : left;
      left /= t.warps[0];
   }
   split_warps(&t, left, use, &t.warps[r - 2]);
   return t;
}

/* A thread of the multiply-add path owns a block of about 4 x 4 results. */
static TlLinear
fma_acc(const TlType *acc, unsigned num_warps)
{
   assert(acc->kind == TL_TYPE_TILE && acc->rank >= 2);
   uint32_t size[TL_MAX_RANK], lanes[TL_MAX_RANK], warps[TL_MAX_RANK];
   unsigned order[TL_MAX_RANK], r = acc->rank;
   uint32_t threads = 32 * num_warps, m = acc->shape[r - 2], n = acc->shape[r - 1];
   uint64_t per = tl_type_num_elems(acc) / threads;
   for (unsigned d = 0; d < r; d++) {
      size[d] = lanes[d] = warps[d] = 1;
      order[d] = r - 1 - d;
   }
   size[r - 1] = per >= 4 ? 4 : per >= 2 ? 2 : 1;
   size[r - 2] = per >= 16 ? 4 : per >= 8 ? 2 : 1;
   size[r - 1] = size[r - 1] < n ? size[r - 1] : n;
   size[r - 2] = size[r - 2] < m ? size[r - 2] : m;
   uint32_t left_n = n / size[r - 1], left_m = m / size[r - 2];
   lanes[r - 1] = left_n < 8 ? left_n : 8;
   lanes[r - 2] = 32 / lanes[r - 1];
   if (lanes[r - 2] > left_m) {
      lanes[r - 2] = left_m;
      lanes[r - 1] = 32 / left_m;
   }
   uint32_t rest = num_warps;
   for (unsigned d = 0; d + 2 < r && rest > 1; d++) {
      warps[d] = acc->shape[d] < rest ? acc->shape[d] : rest;
      rest /= warps[d];
   }
   uint32_t room_m = left_m > lanes[r - 2] ? left_m / lanes[r - 2] : 1;
   warps[r - 2] = room_m < rest ? room_m : rest;
   warps[r - 1] = rest / warps[r - 2];
   return tl_ll_blocked(r, acc->shape, size, lanes, warps, order);
}

TlDotForm
tl_choose_dot_form(const TlTarget *target, const TlType *a, const TlType *acc, TlDotInput in,
                   unsigned num_warps, TlDotUse use)
{
   assert(a->rank == acc->rank && acc->rank >= 2);
   TlDotForm f = {.mma = -1, .in = in};
   uint32_t k = a->shape[acc->rank - 1];
   if (choose_wgmma(&f, target, a, acc, num_warps))
      return f;
   const MmaInstr *x = find_types(&in, acc->dtype, false);
   f.is_mma = x && has_room(x, acc, k) && target && tl_target_has_mma(target, x->word);
   if (!f.is_mma) {
      f.acc = fma_acc(acc, num_warps);
      return f;
   }
   f.mma = x->word;
   f.tile = mma_tile(acc, x->kind, num_warps, use);
   f.acc = tl_hw_mma_acc(&f.tile);
   for (unsigned i = 0; i < 2; i++)
      f.operand[i] = tl_hw_mma_operand(&f.tile, i, k, tl_dot_elem_bits(&in));
   return f;
}

/* The form of one way to share the result among the warps, if the layouts are its. */
static bool
matches(const TlMmaTile *tile, const TlType *a, const TlType *b, const TlType *acc, TlDotForm *f)
{
   uint32_t k = a->shape[a->rank - 1];
   unsigned bits = tl_dot_elem_bits(&f->in);
   f->tile = *tile;
   f->acc = tl_hw_mma_acc(tile);
   if (!tl_ll_equal(&f->acc, acc->layout))
      return false;
   f->operand[0] = tl_hw_mma_operand(tile, 0, k, bits);
   f->operand[1] = tl_hw_mma_operand(tile, 1, k, bits);
   return tl_ll_equal(&f->operand[0], a->layout) && tl_ll_equal(&f->operand[1], b->layout);
}

static TlDotInput
input_of(const TlOp *dot)
{
   assert(dot->opcode == TL_OP_DOT);
   TlDtype a = tl_arg(dot, 0)->type->dtype;
   return (TlDotInput){.a = a,
                       .b = tl_arg(dot, 1)->type->dtype,
                       .split = tl_dot_split(a, tl_attr_int(dot, TL_ATTR_PRECISION))};
}

bool
tl_match_mma(const TlOp *dot, TlDotForm *f)
{
   assert(dot->opcode == TL_OP_DOT);
   const TlType *a = tl_arg(dot, 0)->type, *b = tl_arg(dot, 1)->type;
   const TlType *acc = tl_result(dot, 0)->type;
   unsigned r = acc->rank;
   if (a->kind != TL_TYPE_TILE || b->kind != TL_TYPE_TILE || r > 3)
      return false;
   TlDotInput in = input_of(dot);
   const MmaInstr *x = find_types(&in, acc->dtype, false);
   if (!x || !has_room(x, acc, a->shape[r - 1]))
      return false;
   *f = (TlDotForm){.is_mma = true, .mma = x->word, .in = in};
   TlMmaTile t = {.kind = x->kind, .rank = (uint8_t)r};
   for (unsigned d = 0; d < r; d++)
      t.shape[d] = acc->shape[d];
   unsigned log2_warps = acc->layout->num[TL_HW_WARP];
   for (unsigned lm = 0; lm <= log2_warps; lm++)
      for (unsigned ln = 0; lm + ln <= log2_warps; ln++) {
         unsigned lb = log2_warps - lm - ln;
         if (lb && r < 3)
            continue;
         t.warps[0] = 1u << lb;
         t.warps[r - 2] = 1u << lm;
         t.warps[r - 1] = 1u << ln;
         if (matches(&t, a, b, acc, f))
            return true;
      }
   return false;
}

bool
tl_match_wgmma(const TlOp *dot, TlDotForm *f, TlWgmmaOperand shared[2])
{
   const TlType *operand[2] = {tl_arg(dot, 0)->type, tl_arg(dot, 1)->type};
   const TlType *acc = tl_result(dot, 0)->type;
   *f = (TlDotForm){.is_mma = true, .is_wgmma = true, .in = input_of(dot)};
   const MmaInstr *x = find_types(&f->in, acc->dtype, true);
   unsigned bits = tl_dot_elem_bits(&f->in);
   uint32_t k = operand[0]->shape[operand[0]->rank - 1];
   if (!x || operand[1]->kind != TL_TYPE_MEMDESC || k < 256u / bits ||
       !wgmma_tile(acc, 1u << acc->layout->num[TL_HW_WARP], &f->tile))
      return false;
   f->mma = x->word;
   f->acc = tl_hw_mma_acc(&f->tile);
   if (!tl_ll_equal(&f->acc, acc->layout))
      return false;
   for (unsigned i = 0; i < 2; i++) {
      uint32_t rows = i == 0 ? WGMMA_ROWS : f->tile.instr_n;
      if (operand[i]->kind == TL_TYPE_MEMDESC &&
          !tl_hw_wgmma_operand(operand[i]->layout, i, bits, rows, &shared[i]))
         return false;
   }
   f->operand[0] = tl_hw_mma_operand(&f->tile, 0, k, bits);
   return operand[0]->kind == TL_TYPE_MEMDESC || tl_ll_equal(&f->operand[0], operand[0]->layout);
}

bool
tl_is_by_wgmma(const TlOp *dot)
{
   TlDotForm form;
   TlWgmmaOperand shared[2];
   return tl_match_wgmma(dot, &form, shared);
}

bool
tl_only_by_wgmma(const TlBlock *body)
{
   for (const TlOp *op = body->first; op; op = op->next)
      if (op->opcode == TL_OP_DOT && !tl_is_by_wgmma(op))
         return false;
   return true;
}

/* Where K runs along the rows, four lanes read neighbouring rows and the others 32 bytes of each:
 * neighbouring rows are moved by 32 bytes first, not by 16. */
static void
spread_rows(TlLinear *l, unsigned elem_bytes, unsigned width)
{
   assert(elem_bytes && (elem_bytes & (elem_bytes - 1)) == 0);
   unsigned es = (unsigned)__builtin_ctz(elem_bytes), num = 0;
   while (16u << num < width)
      num++;
   for (unsigned i = 0; i < num && 7 + i - es < l->num[TL_HW_REG]; i++)
      l->col[7 + i - es] ^= l->col[4 + i - es] ^ l->col[4 + (i + 1) % num - es];
}

/* The dimension that the bits of column `col` go along, the last of several; rank: of none. */
static unsigned
dim_of(const TlLinear *l, uint32_t col)
{
   unsigned found = l->rank;
   for (unsigned dim = 0; dim < l->rank; dim++)
      if (col >> tl_ll_dim_shift(l, dim) & ((1u << l->log2_dim[dim]) - 1))
         found = dim;
   return found;
}

unsigned
tl_dim_together(const TlType *t)
{
   assert(t->layout && t->rank >= 2);
   unsigned r = t->rank, fast = r, nearest = r;
   const TlLinear *l = t->layout;
   for (unsigned i = 0; i < tl_ll_in_bits(l) && nearest == r; i++) {
      unsigned dim = dim_of(l, l->col[i]);
      fast = fast == r ? dim : fast;
      nearest = dim < r && l->col[i] == 1u << tl_ll_dim_shift(l, dim) ? dim : nearest;
   }
   fast = nearest < r ? nearest : fast;
   return fast + 2 < r || fast == r ? r - 1 : fast;
}

/* A 16-byte access is made by eight lanes at a time, who read so many rows of A. */
static unsigned
rows_at_a_time(const TlLinear *acc)
{
   unsigned rows = 1, first = acc->num[TL_HW_REG], n = acc->rank - 1u;
   uint32_t columns = ((1u << acc->log2_dim[n]) - 1) << tl_ll_dim_shift(acc, n);
   for (unsigned i = first; i < first + 3; i++)
      if (!(acc->col[i] & columns))
         rows *= 2;
   return rows;
}

/* Every TL_FMA_FLIPPED steps along the slow dimension the groups of 16 bytes of a row come in
 * another order, of up to eight: lanes that store to one column and go along the slow dimension
 * reach eight times as many banks.  Who reads a whole row does not notice. */
static void
flip_rows(TlLinear *l, unsigned elem_bytes, uint32_t columns, uint32_t rows)
{
   assert(columns && rows && elem_bytes && (elem_bytes & (elem_bytes - 1)) == 0);
   unsigned chunk = 4 - (unsigned)__builtin_ctz(elem_bytes), row = (unsigned)__builtin_ctz(columns);
   for (unsigned i = 0; i < 3 && chunk + i < row && rows >> i > TL_FMA_FLIPPED; i++)
      l->col[row + TL_FMA_LOG2_FLIPPED + i] ^= l->col[chunk + i];
}

/* Wavefronts of stores from its layout. */
static int64_t
store_wavefronts(const TlType *operand, const TlLinear *memory)
{
   return tl_place_shared_wavefronts(operand->layout, memory, tl_dtype_info[operand->dtype].bytes,
                                     TL_TILE_STORE);
}

TlLinear
tl_fma_operand_memory(const TlDotForm *f, unsigned index, const TlType *operand)
{
   assert(operand->rank >= 2 && index < 2 && !f->is_mma);
   unsigned order[TL_MAX_RANK], r = operand->rank, k = index == 0 ? r - 1u : r - 2u;
   for (unsigned d = 0; d < r; d++)
      order[d] = r - 1 - d;
   TlLinear by_k = tl_hw_shared_plain(r, operand->shape, order);
   order[0] = index == 0 ? r - 2 : r - 1;
   order[1] = k;
   TlLinear plain = tl_hw_shared_plain(r, operand->shape, order), flipped = plain;
   flip_rows(&flipped, tl_dtype_info[operand->dtype].bytes, operand->shape[order[0]],
             operand->shape[k]);
   TlLinear *best =
      store_wavefronts(operand, &flipped) < store_wavefronts(operand, &plain) ? &flipped : &plain;
   if (index == 0 && rows_at_a_time(&f->acc) <= 2 &&
       store_wavefronts(operand, &by_k) <= store_wavefronts(operand, best))
      best = &by_k;
   return *best;
}

static TlLinear
operand_memory(const TlType *t, unsigned fast, unsigned max_swizzle, bool spread)
{
   unsigned order[TL_MAX_RANK], r = t->rank;
   order[0] = fast;
   order[1] = fast == r - 1 ? r - 2 : r - 1;
   for (unsigned i = 2; i < r; i++)
      order[i] = r - 1 - i;
   unsigned bytes = tl_dtype_info[t->dtype].bytes;
   TlLinear memory = tl_hw_shared_swizzled(r, t->shape, bytes, order, max_swizzle);
   if (bytes >= 4 && spread)
      spread_rows(&memory, bytes, tl_hw_swizzle_width(t->shape[fast] * bytes, max_swizzle));
   return memory;
}

bool
tl_dot_reads_memory(const TlDotForm *f, unsigned index, const TlLinear *memory)
{
   TlWgmmaOperand o;
   uint32_t rows = index == 0 ? WGMMA_ROWS : f->tile.instr_n;
   return f->is_wgmma && tl_hw_wgmma_operand(memory, index, tl_dot_elem_bits(&f->in), rows, &o);
}

TlLinear
tl_mma_operand_memory(const TlDotForm *f, unsigned index, const TlType *t)
{
   unsigned fast = tl_dot_needs_k_together(f, index) ? 1 - index : tl_dim_together(t);
   bool is_read_across = index == 0 && fast != 1 && tl_dot_elem_bits(&f->in) == 32;
   if (!f->is_wgmma || is_read_across)
      return operand_memory(t, fast, 128, true);
   for (unsigned swizzle = 128; swizzle > 16; swizzle /= 2) {
      TlLinear memory = operand_memory(t, fast, swizzle, false);
      if (tl_dot_reads_memory(f, index, &memory))
         return memory;
   }
   return operand_memory(t, fast, 16, false);
}

TlLinear
tl_fragment_rows(const TlType *t, unsigned fast)
{
   assert(fast < t->rank);
   return operand_memory(t, fast, 128, true);
}

TlOperandOrder
tl_dot_operand_order(TlAnalysis *facts, const TlOp *dot, unsigned index)
{
   assert(dot->opcode == TL_OP_DOT && index < 2);
   const TlValue *v = tl_arg(dot, index);
   unsigned k = index == 0 ? v->type->rank - 1u : v->type->rank - 2u;
   while (v->def && (v->def->opcode == TL_OP_TRANS || tl_has_trait(v->def, TL_TRAIT_ELTWISE))) {
      if (v->def->opcode == TL_OP_TRANS)
         k = (unsigned)tl_attr_ints(v->def, TL_ATTR_ORDER).data[k];
      v = tl_arg(v->def, 0);
   }
   if (!tl_value_is(v, TL_OP_LOAD) || v->type->kind != TL_TYPE_TILE)
      return TL_ORDER_NONE;
   TlAccess a = tl_access_of(facts, v->def);
   if (a.contiguity <= 1)
      return TL_ORDER_NONE;
   return a.dim == k ? TL_ORDER_K : TL_ORDER_MN;
}

bool
tl_dot_needs_k_together(const TlDotForm *f, unsigned index)
{
   unsigned bits = tl_dot_elem_bits(&f->in);
   if (!f->is_wgmma || bits == 16)
      return false;
   unsigned most =
      f->tile.warps[0] * f->tile.warps[1] > WGMMA_WARPS ? MOST_WORDS_IN_ROLES : MOST_WORDS_ALONE;
   bool has_room = tl_ll_num_regs(&f->acc) + tl_ll_num_regs(&f->operand[0]) <= most;
   return bits == 8 || index == 1 || !has_room;
}

TlDotForm
tl_dot_form_as(const TlTarget *target, const TlOp *dot, const TlType *a, const TlType *acc)
{
   TlDtype t = a->dtype;
   TlDotInput in = {.a = t, .b = t, .split = tl_dot_split(t, tl_attr_int(dot, TL_ATTR_PRECISION))};
   return tl_choose_dot_form(target, a, acc, in, tl_op_func(dot)->num_warps, TL_DOT_FREE);
}

uint32_t
tl_dot_promoted_k(const TlOp *dot)
{
   const TlType *a = tl_arg(dot, 0)->type;
   uint32_t k = a->shape[a->rank - 1];
   int64_t most = tl_op_func(dot)->strict_fp ? 0 : tl_attr_int(dot, TL_ATTR_IMPRECISE);
   if (!tl_dtype_is_fp8(a->dtype) || most > k)
      return 0;
   return most > 256 / 8 ? (uint32_t)most : 256 / 8;
}

const char *
tl_why_no_mma(const TlTarget *target, const TlOp *dot)
{
   assert(dot->opcode == TL_OP_DOT);
   const TlType *a = tl_arg(dot, 0)->type, *acc = tl_result(dot, 0)->type;
   TlDotInput in = input_of(dot);
   const MmaInstr *x = find_types(&in, acc->dtype, false);
   if (!x)
      return in.a == TL_FP32 ? "fp32 inputs are multiplied exactly"
                             : "no matrix instruction has these types";
   if (!has_room(x, acc, a->shape[a->rank - 1]))
      return "the tile is smaller than a matrix instruction";
   if (!target || !tl_target_has_mma(target, x->word))
      return "the target has no matrix instruction for these types";
   return "fragments would take too many registers";
}

const char *
tl_why_no_wgmma(const TlTarget *target, const TlOp *dot)
{
   const TlType *a = tl_arg(dot, 0)->type, *acc = tl_result(dot, 0)->type;
   uint32_t warps = 1u << acc->layout->num[TL_HW_WARP];
   TlDotInput in = input_of(dot);
   TlDotSplit cut = *in.split;
   TlMmaTile t;
   cut.is_cut = true;
   bool rounds = in.split->parts == 1 && !in.split->is_cut;
   if (rounds)
      in.split = &cut;
   const MmaInstr *x = find_types(&in, acc->dtype, true);
   if (!x || !target || !tl_target_has_mma(target, x->word))
      return NULL;
   if (rounds)
      return "wgmma would not round its operands";
   if (acc->rank != 2 || acc->shape[0] < WGMMA_ROWS || warps % WGMMA_WARPS ||
       a->shape[1] < 256 / tl_dot_elem_bits(&in))
      return "wgmma wants two dimensions, 64 rows and four warps";
   if (!wgmma_tile(acc, warps, &t))
      return "the accumulators of wgmma would take too many registers";
   return "K of an operand does not lie together in memory, as 8-bit wgmma wants it";
}
