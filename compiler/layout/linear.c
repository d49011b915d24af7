/* Linear layouts as values: construction, evaluation and the relabelling operations, which rename
 * element bits (or delete register bits) and never move data.  Invariant of every function: the
 * result holds, under the same hardware index, the element that the new coordinates name. */
#include "layout/linear.h"
#include "base/map.h"

#include <assert.h>
#include <string.h>

unsigned
tl_ll_bits(const TlLinear *l)
{
   unsigned bits = 0;
   for (unsigned d = 0; d < l->rank; d++)
      bits += l->log2_dim[d];
   return bits;
}

unsigned
tl_ll_dim_shift(const TlLinear *l, unsigned dim)
{
   unsigned shift = 0;
   for (unsigned d = dim + 1; d < l->rank; d++)
      shift += l->log2_dim[d];
   return shift;
}

unsigned
tl_ll_first(const TlLinear *l, TlHw hw)
{
   unsigned first = 0;
   for (unsigned h = 0; h < (unsigned)hw; h++)
      first += l->num[h];
   return first;
}

unsigned
tl_ll_in_bits(const TlLinear *l)
{
   return tl_ll_first(l, TL_HW_COUNT);
}

uint32_t
tl_ll_apply_packed(const TlLinear *l, uint64_t hw)
{
   uint32_t element = 0;
   assert(hw >> tl_ll_in_bits(l) == 0);
   for (; hw; hw &= hw - 1)
      element ^= l->col[__builtin_ctzll(hw)];
   return element;
}

uint64_t
tl_ll_pack(const TlLinear *l, uint32_t reg, uint32_t lane, uint32_t warp, uint32_t block)
{
   assert((uint64_t)reg >> l->num[TL_HW_REG] == 0);
   return (uint64_t)reg | (uint64_t)lane << tl_ll_first(l, TL_HW_LANE) |
          (uint64_t)warp << tl_ll_first(l, TL_HW_WARP) |
          (uint64_t)block << tl_ll_first(l, TL_HW_BLOCK);
}

uint32_t
tl_ll_apply(const TlLinear *l, uint32_t reg, uint32_t lane, uint32_t warp, uint32_t block)
{
   return tl_ll_apply_packed(l, tl_ll_pack(l, reg, lane, warp, block));
}

unsigned
tl_ll_num_regs(const TlLinear *l)
{
   unsigned regs = 1u << l->num[TL_HW_REG];
   for (unsigned d = 0; d < l->rank; d++)
      regs *= l->repeat[d];
   return regs;
}

void
tl_ll_shape(const TlLinear *l, uint32_t *shape)
{
   for (unsigned d = 0; d < l->rank; d++)
      shape[d] = (uint32_t)l->repeat[d] << l->log2_dim[d];
}

void
tl_ll_coords(const TlLinear *l, uint32_t reg, uint32_t lane, uint32_t warp, uint32_t block,
             uint32_t *coords)
{
   uint32_t linear_reg = reg & ((1u << l->num[TL_HW_REG]) - 1);
   uint32_t rep = reg >> l->num[TL_HW_REG];
   uint32_t word = tl_ll_apply(l, linear_reg, lane, warp, block);
   for (unsigned d = l->rank; d-- > 0;) {
      coords[d] = (word & ((1u << l->log2_dim[d]) - 1)) | rep % l->repeat[d] << l->log2_dim[d];
      word >>= l->log2_dim[d];
      rep /= l->repeat[d];
   }
   assert(rep == 0);
}

bool
tl_ll_has_repeats(const TlLinear *l)
{
   for (unsigned d = 0; d < l->rank; d++)
      if (l->repeat[d] != 1)
         return true;
   return false;
}

bool
tl_ll_same_shape(const TlLinear *a, const TlLinear *b)
{
   if (a->rank != b->rank)
      return false;
   for (unsigned d = 0; d < a->rank; d++)
      if (a->log2_dim[d] != b->log2_dim[d] || a->repeat[d] != b->repeat[d])
         return false;
   return true;
}

bool
tl_ll_equal(const TlLinear *a, const TlLinear *b)
{
   if (!tl_ll_same_shape(a, b) || memcmp(a->num, b->num, sizeof a->num) != 0)
      return false;
   return memcmp(a->col, b->col, tl_ll_in_bits(a) * sizeof a->col[0]) == 0;
}

bool
tl_ll_is_valid(const TlLinear *l)
{
   if (l->rank < 1 || l->rank > TL_LL_MAX_RANK || tl_ll_bits(l) > TL_LL_MAX_BITS)
      return false;
   unsigned in = tl_ll_in_bits(l);
   if (in > TL_LL_MAX_IN || l->num[TL_HW_REG] > TL_LL_MAX_BITS)
      return false;
   uint64_t regs = 1ull << l->num[TL_HW_REG];
   for (unsigned d = 0; d < l->rank; d++) {
      regs *= l->repeat[d];
      if (regs == 0 || regs > 1u << TL_LL_MAX_BITS)
         return false;
   }
   for (unsigned i = 0; i < in; i++)
      if (l->col[i] >> tl_ll_bits(l))
         return false;
   return true;
}

uint64_t
tl_ll_hash(const TlLinear *l)
{
   uint64_t h = tl_hash(&l->rank, sizeof l->rank, 0);
   h = tl_hash(l->log2_dim, l->rank * sizeof l->log2_dim[0], h);
   h = tl_hash(l->repeat, l->rank * sizeof l->repeat[0], h);
   h = tl_hash(l->num, sizeof l->num, h);
   return tl_hash(l->col, tl_ll_in_bits(l) * sizeof l->col[0], h);
}

/* Columns. */

static void
insert_col(TlLinear *l, TlHw hw, unsigned bit, uint32_t image)
{
   unsigned at = tl_ll_first(l, hw) + bit;
   unsigned in = tl_ll_in_bits(l);
   assert(in < TL_LL_MAX_IN && bit <= l->num[hw]);
   memmove(&l->col[at + 1], &l->col[at], (in - at) * sizeof l->col[0]);
   l->col[at] = image;
   l->num[hw]++;
}

static void
remove_col(TlLinear *l, TlHw hw, unsigned bit)
{
   unsigned at = tl_ll_first(l, hw) + bit;
   unsigned in = tl_ll_in_bits(l);
   assert(bit < l->num[hw]);
   memmove(&l->col[at], &l->col[at + 1], (in - at - 1) * sizeof l->col[0]);
   l->col[in - 1] = 0;
   l->num[hw]--;
}

static void
remove_zero_regs(TlLinear *l)
{
   for (unsigned i = l->num[TL_HW_REG]; i-- > 0;)
      if (l->col[i] == 0)
         remove_col(l, TL_HW_REG, i);
}

TlLinear
tl_ll_empty(unsigned rank, const uint32_t *shape)
{
   TlLinear l = {.rank = (uint8_t)rank};
   assert(rank >= 1 && rank <= TL_LL_MAX_RANK);
   for (unsigned d = 0; d < rank; d++) {
      assert(shape[d] && (shape[d] & (shape[d] - 1)) == 0);
      l.log2_dim[d] = (uint8_t)__builtin_ctz(shape[d]);
      l.repeat[d] = 1;
   }
   assert(tl_ll_bits(&l) <= TL_LL_MAX_BITS);
   return l;
}

void
tl_ll_push(TlLinear *l, TlHw hw, uint32_t image)
{
   assert(image >> tl_ll_bits(l) == 0);
   insert_col(l, hw, l->num[hw], image);
}

/* Next bit of dimension d while the shape still has one, else 0. */
static uint32_t
take_bit(const TlLinear *l, unsigned d, unsigned *used)
{
   return used[d] < l->log2_dim[d] ? 1u << (tl_ll_dim_shift(l, d) + used[d]++) : 0;
}

static void
fill_hw(TlLinear *l, TlHw hw, const uint32_t *size, const unsigned *order, unsigned *used)
{
   for (unsigned i = 0; i < l->rank; i++) {
      assert(size[order[i]] && (size[order[i]] & (size[order[i]] - 1)) == 0);
      for (uint32_t s = size[order[i]]; s > 1; s >>= 1) {
         uint32_t image = take_bit(l, order[i], used);
         if (image || hw != TL_HW_REG)
            tl_ll_push(l, hw, image);
      }
   }
}

TlLinear
tl_ll_blocked(unsigned rank, const uint32_t *shape, const uint32_t *size_per_thread,
              const uint32_t *threads_per_warp, const uint32_t *warps_per_block,
              const unsigned *order)
{
   TlLinear l = tl_ll_empty(rank, shape);
   unsigned used[TL_LL_MAX_RANK] = {0};
   fill_hw(&l, TL_HW_REG, size_per_thread, order, used);
   fill_hw(&l, TL_HW_LANE, threads_per_warp, order, used);
   fill_hw(&l, TL_HW_WARP, warps_per_block, order, used);
   fill_hw(&l, TL_HW_REG, shape, order, used);
   return l;
}

/* Relabelling. */

static unsigned
repeated_dims(const TlLinear *l)
{
   unsigned n = 0;
   for (unsigned d = 0; d < l->rank; d++)
      n += l->repeat[d] != 1;
   return n;
}

/* Field of dimension d in an element word of l. */
static uint32_t
field(const TlLinear *l, uint32_t word, unsigned d)
{
   return word >> tl_ll_dim_shift(l, d) & ((1u << l->log2_dim[d]) - 1);
}

TlLinear
tl_ll_transpose(const TlLinear *l, const unsigned *order)
{
   TlLinear t = *l;
   assert(repeated_dims(l) <= 1); /* two repeated dims would reorder registers */
   for (unsigned d = 0; d < l->rank; d++) {
      t.log2_dim[d] = l->log2_dim[order[d]];
      t.repeat[d] = l->repeat[order[d]];
   }
   assert(tl_ll_bits(&t) == tl_ll_bits(l));
   for (unsigned i = 0; i < tl_ll_in_bits(l); i++) {
      t.col[i] = 0;
      for (unsigned d = 0; d < l->rank; d++)
         t.col[i] |= field(l, l->col[i], order[d]) << tl_ll_dim_shift(&t, d);
   }
   return t;
}

TlLinear
tl_ll_reshape(const TlLinear *l, unsigned rank, const uint32_t *shape)
{
   TlLinear from = tl_ll_fold_repeats(l);
   TlLinear t = tl_ll_empty(rank, shape);
   assert(!tl_ll_has_repeats(&from) && tl_ll_bits(&t) == tl_ll_bits(&from));
   memcpy(t.num, from.num, sizeof t.num);
   memcpy(t.col, from.col, sizeof t.col);
   return t;
}

/* The word without the field of dimension d. */
static uint32_t
drop_field(const TlLinear *l, uint32_t word, unsigned d)
{
   unsigned shift = tl_ll_dim_shift(l, d);
   uint32_t low = word & ((1u << shift) - 1);
   return low | word >> (shift + l->log2_dim[d]) << shift;
}

TlLinear
tl_ll_unbroadcast(const TlLinear *l, unsigned dim)
{
   TlLinear t = *l;
   assert(dim < l->rank);
   for (unsigned i = 0; i < tl_ll_in_bits(l); i++)
      t.col[i] = drop_field(l, l->col[i], dim);
   t.log2_dim[dim] = 0;
   t.repeat[dim] = 1;
   remove_zero_regs(&t);
   return t;
}

TlLinear
tl_ll_slice(const TlLinear *l, unsigned dim)
{
   TlLinear t = tl_ll_unbroadcast(l, dim);
   assert(l->rank >= 2);
   t.rank--;
   for (unsigned d = dim; d < t.rank; d++) {
      t.log2_dim[d] = t.log2_dim[d + 1];
      t.repeat[d] = t.repeat[d + 1];
   }
   t.log2_dim[t.rank] = 0;
   t.repeat[t.rank] = 0;
   return t;
}

TlLinear
tl_ll_expand(const TlLinear *l, unsigned dim)
{
   TlLinear t = *l;
   assert(l->rank < TL_LL_MAX_RANK && dim <= l->rank);
   for (unsigned d = l->rank; d > dim; d--) {
      t.log2_dim[d] = t.log2_dim[d - 1];
      t.repeat[d] = t.repeat[d - 1];
   }
   t.log2_dim[dim] = 0;
   t.repeat[dim] = 1;
   t.rank++;
   return t;
}

TlLinear
tl_ll_join(const TlLinear *l)
{
   TlLinear t = tl_ll_expand(l, l->rank);
   t.log2_dim[l->rank] = 1;
   assert(tl_ll_bits(&t) <= TL_LL_MAX_BITS);
   for (unsigned i = 0; i < tl_ll_in_bits(l); i++)
      t.col[i] <<= 1;
   insert_col(&t, TL_HW_REG, 0, 1);
   return t;
}

bool
tl_ll_split(const TlLinear *l, TlLinear *half, unsigned *reg_bit)
{
   unsigned last = l->rank - 1u, found = 0;
   if (l->rank < 2 || l->log2_dim[last] != 1 || l->repeat[last] != 1)
      return false;
   for (unsigned i = 0; i < tl_ll_in_bits(l); i++)
      if (l->col[i] & 1) {
         if (l->col[i] != 1 || i >= l->num[TL_HW_REG] || found++)
            return false;
         *reg_bit = i;
      }
   if (!found)
      return false;
   TlLinear t = *l;
   remove_col(&t, TL_HW_REG, *reg_bit);
   for (unsigned i = 0; i < tl_ll_in_bits(&t); i++)
      t.col[i] >>= 1;
   t.log2_dim[last] = 0;
   t.repeat[last] = 0;
   t.rank--;
   *half = t;
   return true;
}

/* Moves the power-of-two part of dim d's repeat count into register bits. */
static void
fold_dim(TlLinear *l, unsigned d)
{
   while (l->repeat[d] % 2 == 0) {
      unsigned at = tl_ll_dim_shift(l, d) + l->log2_dim[d];
      assert(tl_ll_bits(l) < TL_LL_MAX_BITS);
      for (unsigned i = 0; i < tl_ll_in_bits(l); i++)
         l->col[i] = (l->col[i] & ((1u << at) - 1)) | l->col[i] >> at << (at + 1);
      l->log2_dim[d]++;
      l->repeat[d] /= 2;
      insert_col(l, TL_HW_REG, l->num[TL_HW_REG], 1u << at);
   }
}

TlLinear
tl_ll_fold_repeats(const TlLinear *l)
{
   TlLinear t = *l;
   for (unsigned d = l->rank; d-- > 0;) {
      fold_dim(&t, d);
      if (t.repeat[d] != 1)
         break; /* folding outer repeats, whose indices are above, would reorder registers */
   }
   return t;
}

TlLinear
tl_ll_warps_to_registers(const TlLinear *l, unsigned keep)
{
   TlLinear from = tl_ll_fold_repeats(l), t = from;
   unsigned regs = from.num[TL_HW_REG], n = regs;
   for (unsigned i = keep; i < from.num[TL_HW_WARP]; i++)
      if (tl_ll_col(&from, TL_HW_WARP, i))
         t.col[n++] = tl_ll_col(&from, TL_HW_WARP, i);
   t.num[TL_HW_REG] = (uint8_t)n;
   t.num[TL_HW_WARP] = (uint8_t)keep;
   unsigned rest = from.num[TL_HW_LANE] + keep;
   memcpy(&t.col[n], &from.col[regs], rest * sizeof t.col[0]);
   memcpy(&t.col[n + rest], &from.col[tl_ll_first(&from, TL_HW_BLOCK)],
          from.num[TL_HW_BLOCK] * sizeof t.col[0]);
   return t;
}

unsigned
tl_ll_contiguous_regs(const TlLinear *l, unsigned dim)
{
   unsigned shift = tl_ll_dim_shift(l, dim), v = 0;
   while (v < l->num[TL_HW_REG] && v < l->log2_dim[dim] && l->col[v] == 1u << (shift + v))
      v++;
   /* Every other column must keep the run aligned. */
   for (; v > 0; v--) {
      uint32_t others = 0;
      for (unsigned i = v; i < tl_ll_in_bits(l); i++)
         others |= l->col[i];
      if ((field(l, others, dim) & ((1u << v) - 1)) == 0)
         break;
   }
   return 1u << v;
}
