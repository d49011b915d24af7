/* Counting of bank conflicts, sectors and vector widths by brute force over one warp. */
#include "layout/cost.h"

#include <assert.h>

/* Of lanes that are served together: words that the most loaded bank has to give. */
static unsigned
wavefronts_of(const uint32_t *lane_addr, unsigned lanes, unsigned words)
{
   uint32_t seen[32][32];
   unsigned count[32] = {0}, worst = 0;
   assert(lanes * words <= 32);
   for (unsigned i = 0; i < lanes * words; i++) {
      uint32_t word = lane_addr[i / words] / 4 + i % words;
      unsigned bank = word % 32, k = 0;
      while (k < count[bank] && seen[bank][k] != word)
         k++;
      if (k == count[bank])
         seen[bank][count[bank]++] = word;
      worst = count[bank] > worst ? count[bank] : worst;
   }
   return worst;
}

TlSharedCost
tl_cost_shared(const uint32_t lane_addr[32], unsigned bytes)
{
   unsigned group = bytes <= 4 ? 32 : 128 / bytes, words = bytes <= 4 ? 1 : bytes / 4;
   TlSharedCost cost = {0, 32 / group};
   for (unsigned first = 0; first < 32; first += group)
      cost.wavefronts += wavefronts_of(lane_addr + first, group, words);
   return cost;
}

TlSharedCost
tl_cost_matrices(const uint32_t *row_addr, unsigned matrices)
{
   enum { ROWS = 8, ROW_WORDS = 4 };
   TlSharedCost cost = {0, matrices};
   for (unsigned j = 0; j < matrices; j++)
      cost.wavefronts += wavefronts_of(row_addr + (size_t)ROWS * j, ROWS, ROW_WORDS);
   return cost;
}

TlSharedCost
tl_cost_shared_linear(const uint32_t *lane_col, unsigned lane_bits, unsigned bytes)
{
   uint32_t addr[32] = {0};
   for (unsigned lane = 0; lane < 32; lane++)
      for (unsigned i = 0; i < lane_bits && i < 5; i++)
         addr[lane] ^= lane >> i & 1 ? lane_col[i] : 0;
   return tl_cost_shared(addr, bytes);
}

bool
tl_cost_offset_columns(const TlLinear *l, const TlLinear *shared, unsigned elem_bytes,
                       uint32_t *col)
{
   uint64_t inv[TL_LL_MAX_IN];
   assert(tl_ll_bits(l) == tl_ll_bits(shared));
   if (!tl_ll_invert(shared, inv))
      return false;
   for (unsigned i = 0; i < tl_ll_in_bits(l); i++) {
      uint64_t offset = 0;
      for (unsigned bit = 0; bit < tl_ll_bits(l); bit++)
         offset ^= l->col[i] >> bit & 1 ? inv[bit] : 0;
      col[i] = (uint32_t)offset * elem_bytes;
   }
   return true;
}

/* Distinct blocks of `size` bytes touched. */
static unsigned
count_blocks(const uint64_t lane_addr[32], unsigned bytes, unsigned size)
{
   uint64_t seen[32 * 16];
   unsigned n = 0;
   for (unsigned lane = 0; lane < 32; lane++) {
      uint64_t last = (lane_addr[lane] + bytes - 1) / size;
      for (uint64_t block = lane_addr[lane] / size; block <= last; block++) {
         unsigned k = 0;
         while (k < n && seen[k] != block)
            k++;
         if (k == n)
            seen[n++] = block;
      }
   }
   return n;
}

TlGlobalCost
tl_cost_global(const uint64_t lane_addr[32], unsigned bytes)
{
   assert(bytes && bytes <= 256);
   return (TlGlobalCost){count_blocks(lane_addr, bytes, 32), count_blocks(lane_addr, bytes, 128)};
}
