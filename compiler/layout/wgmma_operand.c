/* How wgmma finds an operand in shared memory (PTX ISA, "asynchronous warpgroup level matrix shared
 * memory layout"; the rules below were checked on the device).
 *
 * With `start` the descriptor's address, W the bytes of a swizzled row and r a row of M or N, the
 * element (r, k) of an instruction lies at
 *
 *    K-major, swizzled   start + (r / 8) SBO + (r % 8) W + k es
 *    K-major, plain      start + (r / 8) SBO + (k es / 16) LBO + (r % 8) 16 + k es % 16
 *    MN-major, swizzled  start + (r es / W) LBO + (k / 8) SBO + (k % 8) W + r es % W
 *    MN-major, plain     start + (r es / 16) SBO + (k / 8) LBO + (k % 8) 16 + r es % 16
 *
 * after which the bits 4.. of a swizzled address are XORed with its bits 7..9.  All bytes; MN-major
 * for 16-bit elements only.  An arrangement is an operand when undoing that XOR leaves every bit of
 * k and r a power of two that one of the four lines gives for one LBO and one SBO. */
#include "layout/hw_layouts.h"

#include <assert.h>

enum { ROWS_OF_CORE = 8, BYTES_OF_CORE = 16, K_BYTES = 32 };

typedef struct Find {
   TlWgmmaOperand *out;
   unsigned es, width;                      /* bytes of an element; of a swizzled row, 0 = plain */
   uint32_t rows, k;                        /* of an instruction */
   unsigned row_at, row_bits, k_at, k_bits; /* of the tile, in the element word */
} Find;

/* The address without its XOR: bits 7.. stay what they are. */
static uint32_t
unswizzled(uint32_t address, unsigned width)
{
   return address ^ (address >> 3 & (width ? width - 1 : 0) & ~(uint32_t)(BYTES_OF_CORE - 1));
}

/* The bit moves by `want`, or decides what that is. */
static bool
moves_by(uint32_t col, uint32_t *want, unsigned times)
{
   if (!*want)
      *want = col >> times;
   return *want && col == *want << times;
}

static bool
fits_k_major(const Find *f, uint32_t *lbo, uint32_t *sbo)
{
   const uint32_t *k = &f->out->col[f->k_at], *row = &f->out->col[f->row_at];
   uint32_t pitch = f->width ? f->width : BYTES_OF_CORE;
   for (unsigned i = 0; f->es << i < K_BYTES; i++) {
      bool is_next_core = !f->width && f->es << i >= BYTES_OF_CORE;
      if (is_next_core ? !moves_by(k[i], lbo, 0) : k[i] != f->es << i)
         return false;
   }
   for (unsigned i = 0; 1u << i < f->rows; i++)
      if (1u << i < ROWS_OF_CORE ? row[i] != pitch << i : !moves_by(row[i], sbo, i - 3))
         return false;
   return true;
}

static bool
fits_mn_major(const Find *f, uint32_t *lbo, uint32_t *sbo)
{
   const uint32_t *k = &f->out->col[f->k_at], *row = &f->out->col[f->row_at];
   uint32_t pitch = f->width ? f->width : BYTES_OF_CORE;
   uint32_t *next_rows = f->width ? lbo : sbo, *next_k = f->width ? sbo : lbo;
   if (f->es != 2 || f->rows * f->es < pitch)
      return false;
   for (unsigned i = 0; 1u << i < f->k; i++)
      if (1u << i < ROWS_OF_CORE ? k[i] != pitch << i : !moves_by(k[i], next_k, i - 3))
         return false;
   for (unsigned i = 0, own = 0; 1u << i < f->rows; i++) {
      bool is_inside = f->es << i < pitch;
      if (is_inside ? row[i] != f->es << i : !moves_by(row[i], next_rows, own++))
         return false;
   }
   return true;
}

/* Instructions begin at whole periods of the swizzle, or, along K, inside of a row. */
static bool
starts_are_aligned(const Find *f)
{
   uint32_t period = f->width ? f->width * ROWS_OF_CORE : BYTES_OF_CORE;
   for (unsigned i = 0; i < f->row_bits; i++)
      if (1u << i >= f->rows && f->out->col[f->row_at + i] % period)
         return false;
   for (unsigned i = 0; i < f->k_bits; i++) {
      uint32_t col = f->out->col[f->k_at + i];
      bool is_in_row = !f->out->is_mn_major && col < f->width;
      if (1u << i >= f->k && !is_in_row && col % period)
         return false;
   }
   return true;
}

static bool
fits(Find *f, const uint64_t *inverse, unsigned bits, bool is_mn_major)
{
   TlWgmmaOperand *out = f->out;
   uint32_t lbo = 0, sbo = 0;
   for (unsigned i = 0; i < bits; i++) {
      out->col[i] = unswizzled((uint32_t)inverse[i] * f->es, f->width);
      if (out->col[i] & (out->col[i] - 1))
         return false;
   }
   out->is_mn_major = is_mn_major;
   bool ok = is_mn_major ? fits_mn_major(f, &lbo, &sbo) : fits_k_major(f, &lbo, &sbo);
   if (!ok || !starts_are_aligned(f))
      return false;
   out->lbo = lbo ? lbo : BYTES_OF_CORE; /* not looked at */
   out->sbo = sbo ? sbo : BYTES_OF_CORE;
   return true;
}

bool
tl_hw_wgmma_operand(const TlLinear *memory, unsigned index, unsigned elem_bits, uint32_t rows,
                    TlWgmmaOperand *out)
{
   static const struct {
      unsigned mode, width;
   } swizzle[] = {{1, 128}, {2, 64}, {3, 32}, {0, 0}};
   uint64_t inverse[TL_LL_MAX_BITS];
   unsigned r = memory->rank, row_dim = index == 0 ? r - 2 : r - 1,
            k_dim = index == 0 ? r - 1 : r - 2;
   assert(r >= 2 && index < 2);
   if (elem_bits < 8 || elem_bits > 32 || tl_ll_has_repeats(memory) ||
       !tl_ll_invert(memory, inverse))
      return false;
   Find f = {.out = out,
             .es = elem_bits / 8,
             .rows = rows,
             .k = K_BYTES * 8 / elem_bits,
             .row_at = tl_ll_dim_shift(memory, row_dim),
             .row_bits = memory->log2_dim[row_dim],
             .k_at = tl_ll_dim_shift(memory, k_dim),
             .k_bits = memory->log2_dim[k_dim]};
   if (rows >> f.row_bits > 1 || f.k >> f.k_bits > 1)
      return false;
   for (unsigned i = 0; i < sizeof swizzle / sizeof swizzle[0]; i++) {
      f.width = swizzle[i].width;
      out->mode = swizzle[i].mode;
      for (unsigned is_mn_major = 0; is_mn_major < 2; is_mn_major++)
         if (fits(&f, inverse, tl_ll_bits(memory), is_mn_major))
            return true;
   }
   return false;
}
