/* Boxes in a shared arrangement: PTX ISA, "Tensors", "Swizzling modes".
 *
 * A copy writes a box element by element, the last dimension innermost, and moves chunks of 16
 * bytes: of 128 bytes a[6:4] ^= a[9:7], of 64 a[5:4] ^= a[8:7], of 32 a[4] ^= a[7].  Undoing that,
 * the low bits of the offset must run along the last dimension, the next ones along the other
 * dimensions from the last to the first; what comes above them says which box it is. */
#include "layout/hw_layouts.h"

#include <assert.h>
#include <string.h>

enum { CHUNK = 16, ROWS = 8, LINE = 128, MOST = 256, MOST_BOXES = 32 };

/* Images of the offset's bits where the address is not swizzled. */
static void
undo_swizzle(const TlLinear *memory, unsigned elem_bytes, unsigned width, uint32_t *col)
{
   unsigned es = (unsigned)__builtin_ctz(elem_bytes);
   uint32_t moved = width ? width - CHUNK : 0;
   for (unsigned i = 0; i < memory->num[TL_HW_REG]; i++) {
      col[i] = memory->col[i];
      uint32_t to = (elem_bytes << i) >> 3 & moved;
      if (to)
         col[i] ^= memory->col[(unsigned)__builtin_ctz(to) - es];
   }
}

/* The next bit of the offset doubles the box along dimension d. */
static bool
grows(const TlLinear *memory, const TlBoxes *out, unsigned d, uint32_t image)
{
   return out->shape[d] < MOST && out->shape[d] >> memory->log2_dim[d] == 0 &&
          image == out->shape[d] << tl_ll_dim_shift(memory, d);
}

static bool
is_box(const TlLinear *memory, unsigned elem_bytes, const TlBoxes *boxes)
{
   uint32_t row = boxes->shape[memory->rank - 1] * elem_bytes, bytes = boxes->elems * elem_bytes;
   uint32_t width = boxes->swizzle;
   return (width ? row == width && bytes % (ROWS * width) == 0 : row % CHUNK == 0) &&
          bytes % LINE == 0;
}

static bool
fits(const TlLinear *memory, unsigned elem_bytes, unsigned width, TlBoxes *out)
{
   uint32_t col[TL_LL_MAX_BITS], inside = 0;
   unsigned n = memory->num[TL_HW_REG], at = 0;
   int d = memory->rank - 1;
   *out = (TlBoxes){.swizzle = width, .elems = 1};
   for (unsigned i = 0; i < memory->rank; i++)
      out->shape[i] = 1;
   undo_swizzle(memory, elem_bytes, width, col);
   while (at < n && d >= 0) {
      bool is_row = d == memory->rank - 1;
      bool is_full = is_row && width && out->shape[d] * elem_bytes == width;
      if (!is_full && grows(memory, out, (unsigned)d, col[at])) {
         out->shape[d] *= 2;
         out->elems *= 2;
         inside |= col[at++];
      } else {
         d--;
      }
   }
   for (unsigned i = at; i < n; i++) {
      out->start[i - at] = col[i];
      if (!col[i] || col[i] & inside)
         return false;
      inside |= col[i];
   }
   out->log2_num = n - at;
   return is_box(memory, elem_bytes, out);
}

bool
tl_hw_boxes(const TlLinear *memory, unsigned elem_bytes, TlBoxes *out)
{
   static const unsigned width[] = {128, 64, 32, 0};
   assert(elem_bytes && elem_bytes <= CHUNK && (elem_bytes & (elem_bytes - 1)) == 0);
   if (tl_ll_has_repeats(memory) || !tl_ll_is_injective(memory))
      return false;
   for (unsigned i = 0; i < sizeof width / sizeof width[0]; i++)
      if (fits(memory, elem_bytes, width[i], out) && 1u << out->log2_num <= MOST_BOXES)
         return true;
   return false;
}

bool
tl_hw_halve_boxes(const TlLinear *memory, unsigned elem_bytes, TlBoxes *boxes)
{
   TlBoxes half = *boxes;
   unsigned d = 0;
   while (d + 1u < memory->rank && half.shape[d] == 1)
      d++;
   if (half.shape[d] == 1 || 2u << half.log2_num > MOST_BOXES)
      return false;
   half.shape[d] /= 2;
   half.elems /= 2;
   memmove(half.start + 1, half.start, half.log2_num * sizeof half.start[0]);
   half.start[0] = half.shape[d] << tl_ll_dim_shift(memory, d);
   half.log2_num++;
   if (!is_box(memory, elem_bytes, &half))
      return false;
   *boxes = half;
   return true;
}

bool
tl_hw_boxes_of(const TlLinear *memory, unsigned elem_bytes, const uint32_t *shape, TlBoxes *out)
{
   bool ok = tl_hw_boxes(memory, elem_bytes, out);
   while (ok && memcmp(out->shape, shape, memory->rank * sizeof shape[0]) != 0)
      ok = tl_hw_halve_boxes(memory, elem_bytes, out);
   return ok;
}
