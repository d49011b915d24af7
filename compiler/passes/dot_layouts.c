/* Choice of the matrix instruction and of the way warps share a dot's result (hopper.md 2.5).
 * Invariant: a matrix form is chosen only when the tile holds whole instructions (m16n8 and its K),
 * so no fragment has copies within a thread. */
#include "passes/dot_layouts.h"
#include "passes/coalesce.h"

#include <assert.h>

enum { MMA_M = 16, MMA_N = 8 };

/* The instruction for operand and accumulator types, -1 = none. */
static int
mma_word(TlDtype in, TlDtype acc)
{
   if (in == TL_FP32)
      return acc == TL_FP32 ? TL_MMA_TF32_F32 : -1;
   if (in == TL_FP16)
      return acc == TL_FP32 ? TL_MMA_F16_F32 : acc == TL_FP16 ? TL_MMA_F16_F16 : -1;
   if (in == TL_BF16)
      return acc == TL_FP32 ? TL_MMA_BF16_F32 : -1;
   return -1;
}

/* Warps for a result of m x n: rows first when rows must stay in a warp, else so that the fragments
 * a warp reads (its rows plus its columns) are fewest. */
static void
split_warps(uint32_t m, uint32_t n, unsigned num_warps, TlDotUse use, uint32_t *warps)
{
   uint32_t wm = 1, wn = 1;
   uint32_t most_m = m / MMA_M, most_n = n / MMA_N;
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

static TlMmaTile
mma_tile(const TlType *acc, unsigned num_warps, TlDotUse use)
{
   unsigned r = acc->rank;
   TlMmaTile t = {.kind = TL_MMA_M16N8, .rank = (uint8_t)r};
   for (unsigned d = 0; d < r; d++) {
      t.shape[d] = acc->shape[d];
      t.warps[d] = 1;
   }
   unsigned left = num_warps;
   if (r == 3) {
      t.warps[0] = acc->shape[0] < left ? acc->shape[0] : left;
      left /= t.warps[0];
   }
   split_warps(acc->shape[r - 2], acc->shape[r - 1], left, use, &t.warps[r - 2]);
   return t;
}

/* A thread of the multiply-add path owns a block of about 4 x 4 results. */
static TlLinear
fma_acc(const TlType *acc, unsigned num_warps)
{
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
   unsigned r = acc->rank;
   TlDotForm f = {.mma = mma_word(in.dtype, acc->dtype)};
   uint32_t k = a->shape[r - 1];
   unsigned bits = tl_dtype_info[in.dtype].bits;
   uint32_t feature = in.dtype == TL_FP32 ? TL_FEAT_MMA_TF32 : TL_FEAT_MMA_F16;
   f.is_mma = f.mma >= 0 && target && (target->features & feature) && r <= 3 &&
              (in.dtype != TL_FP32 || in.is_tf32) && acc->shape[r - 2] >= MMA_M &&
              acc->shape[r - 1] >= MMA_N && k >= 256 / bits;
   if (!f.is_mma) {
      f.acc = fma_acc(acc, num_warps);
      return f;
   }
   f.tile = mma_tile(acc, num_warps, use);
   f.acc = tl_hw_mma_acc(&f.tile);
   for (unsigned i = 0; i < 2; i++)
      f.operand[i] = tl_hw_mma_operand(&f.tile, i, k, bits);
   return f;
}

/* The form of one way to share the result among the warps, if the layouts are its. */
static bool
matches(const TlMmaTile *tile, const TlType *a, const TlType *b, const TlType *acc, TlDotForm *f)
{
   uint32_t k = a->shape[a->rank - 1];
   unsigned bits = tl_dtype_info[a->dtype].bits;
   f->tile = *tile;
   f->acc = tl_hw_mma_acc(tile);
   if (!tl_ll_equal(&f->acc, acc->layout))
      return false;
   f->operand[0] = tl_hw_mma_operand(tile, 0, k, bits);
   f->operand[1] = tl_hw_mma_operand(tile, 1, k, bits);
   return tl_ll_equal(&f->operand[0], a->layout) && tl_ll_equal(&f->operand[1], b->layout);
}

bool
tl_match_mma(const TlType *a, const TlType *b, const TlType *acc, TlDotForm *f)
{
   unsigned r = acc->rank;
   if (a->kind != TL_TYPE_TILE || b->kind != TL_TYPE_TILE || r > 3)
      return false;
   *f = (TlDotForm){.is_mma = true, .mma = mma_word(a->dtype, acc->dtype)};
   if (f->mma < 0 || acc->shape[r - 2] < MMA_M || acc->shape[r - 1] < MMA_N ||
       a->shape[r - 1] < 256u / tl_dtype_info[a->dtype].bits)
      return false;
   TlMmaTile t = {.kind = TL_MMA_M16N8, .rank = (uint8_t)r};
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

TlLinear
tl_fma_operand_memory(const TlType *operand, unsigned index)
{
   unsigned order[TL_MAX_RANK], r = operand->rank;
   for (unsigned d = 0; d < r; d++)
      order[d] = r - 1 - d;
   if (index == 0) { /* rows together */
      order[0] = r - 2;
      order[1] = r - 1;
   }
   return tl_hw_shared_plain(r, operand->shape, order);
}
