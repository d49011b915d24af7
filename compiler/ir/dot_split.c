/* The recipes of tf32x3, bf16x3 and bf16x6: what is left out is below the last bit that counts. */
#include "ir/dot_split.h"
#include "ir/ir.h"

static const TlDotSplit splits[] = {
   [TL_PRECISION_TF32] = {TL_FP32, 1, 1, false, {{0, 0}}},
   [TL_PRECISION_TF32_CUT] = {TL_FP32, 1, 1, true, {{0, 0}}},
   [TL_PRECISION_TF32X3] = {TL_FP32, 2, 3, false, {{1, 0}, {0, 1}, {0, 0}}},
   [TL_PRECISION_IEEE] = {TL_FP32, 0, 1, false, {{0, 0}}},
   [TL_PRECISION_BF16X3] = {TL_BF16, 2, 3, false, {{1, 0}, {0, 1}, {0, 0}}},
   [TL_PRECISION_BF16X6] = {TL_BF16, 3, 6, false, {{0, 2}, {2, 0}, {1, 1}, {0, 1}, {1, 0}, {0, 0}}},
};

const TlDotSplit *
tl_dot_split(TlDtype operand, int64_t precision)
{
   return &splits[operand == TL_FP32 ? precision : TL_PRECISION_IEEE];
}
