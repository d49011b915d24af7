/* Recognises matrices in the addresses of a tile's elements. */
#include "layout/matrices.h"

#include <assert.h>

enum { LANE_BITS = 5, ROW_BYTES = 16 };

uint32_t
tl_matrices_word(const TlMatrices *m)
{
   uint32_t mask = 0;
   for (unsigned i = 0; i < m->word_bits; i++)
      mask |= 1u << m->word[i];
   return mask;
}

/* The register bits of a word of pairs of bytes: the pair's, and the first that names a row. */
static bool
find_pairs(const uint32_t *reg, unsigned regs, uint32_t fixed, TlMatrices *m)
{
   unsigned n = 0, row = 0;
   while (n < regs && reg[n] != 1)
      n++;
   while (row < regs && (row == n || !reg[row] || (fixed >> row & 1)))
      row++;
   m->word[0] = n;
   m->word[1] = row;
   return n < regs && row < regs;
}

/* How rows lie, and with it the word. */
static bool
find_rows(const TlLinear *l, const uint32_t *col, uint32_t fixed, unsigned elem_bytes,
          TlMatrices *m)
{
   unsigned regs = l->num[TL_HW_REG];
   const uint32_t *lane = col + regs;
   bool in_order = lane[0] == 4 && lane[1] == 8;
   for (unsigned i = 0; i < m->word_bits; i++) {
      m->word[i] = i;
      in_order &= col[i] == elem_bytes << i;
   }
   m->trans = !in_order;
   if (in_order)
      return true;
   return elem_bytes <= 2 && lane[2] == 2 && lane[3] == 4 && lane[4] == 8 &&
          (elem_bytes == 2 || find_pairs(col, regs, fixed, m));
}

bool
tl_find_matrices(const TlLinear *l, const uint32_t *col, uint32_t fixed, unsigned elem_bytes,
                 TlMatrices *m)
{
   unsigned regs = l->num[TL_HW_REG], n = 0;
   const uint32_t *lane = col + regs;
   assert(elem_bytes && (elem_bytes & (elem_bytes - 1)) == 0);
   if (elem_bytes > 4)
      return false;
   m->word_bits = elem_bytes == 4 ? 0 : elem_bytes == 2 ? 1 : 2;
   if (regs < m->word_bits || l->num[TL_HW_LANE] != LANE_BITS ||
       !find_rows(l, col, fixed, elem_bytes, m))
      return false;
   uint32_t others = 0, word = tl_matrices_word(m), in_row = word;
   if (m->trans) /* the word's high bit names a row */
      in_row &= ~(1u << m->word[m->word_bits - 1]);
   for (unsigned i = 0; i < tl_ll_in_bits(l); i++) {
      unsigned at = i - regs; /* lane bit */
      bool is_row_lane = i >= regs && (m->trans ? at >= 2 && at < 5 : at < 2);
      if (!is_row_lane && !(i < regs && (in_row >> i & 1)))
         others |= col[i];
   }
   if ((others & (ROW_BYTES - 1)) || (fixed & word))
      return false;
   for (unsigned i = 0; i < regs && n < 2; i++)
      if (col[i] && !((fixed | word) >> i & 1))
         m->select[n++] = i;
   m->num = 1u << n;
   for (unsigned i = 0; i < 3; i++)
      m->thread_cols[i] = !m->trans ? lane[2 + i]
                          : i == 0  ? col[m->word[m->word_bits - 1]]
                                    : lane[i - 1];
   for (unsigned i = 0; i < n; i++)
      m->thread_cols[3 + i] = col[m->select[i]];
   for (unsigned i = 0; i < l->num[TL_HW_WARP]; i++)
      m->thread_cols[LANE_BITS + i] = lane[LANE_BITS + i];
   return true;
}
