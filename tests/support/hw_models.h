/* What tests know of the hardware beside the layouts that the compiler uses: the fragments of one
 * instruction, the matrices of ldmatrix, a swizzle by phases. */
#ifndef TL_TESTS_HW_MODELS_H
#define TL_TESTS_HW_MODELS_H

#include "layout/hw_layouts.h"

/* Appends bits of `hw` that move from, 2 from, .. below `to` along dimension d. */
static inline void
hw_push(TlLinear *l, TlHw hw, unsigned d, uint32_t from, uint32_t to)
{
   for (uint32_t step = from; step < to; step *= 2)
      tl_ll_push(l, hw, step >> l->log2_dim[d] ? 0 : step << tl_ll_dim_shift(l, d));
}

/* D of one instruction: of one warp, of wgmma one group of four. */
static inline TlLinear
hw_instr_acc(TlMmaKind kind, uint32_t instr_n)
{
   TlMmaTile t = {.kind = kind, .rank = 2, .shape = {16, 8}, .warps = {1, 1}, .instr_n = instr_n};
   if (kind == TL_MMA_M8N8_F64)
      t.shape[0] = 8;
   if (kind == TL_MMA_WGMMA) {
      t.shape[0] = 64;
      t.shape[1] = instr_n;
      t.warps[0] = 4;
   }
   return tl_hw_mma_acc(&t);
}

/* Its operand 0 (A) or 1 (B). */
static inline TlLinear
hw_instr_operand(TlMmaKind kind, unsigned op_index, unsigned elem_bits)
{
   bool is_wgmma = kind == TL_MMA_WGMMA, is_f64 = kind == TL_MMA_M8N8_F64;
   TlMmaTile t = {.kind = kind,
                  .rank = 2,
                  .shape = {is_wgmma ? 64
                            : is_f64 ? 8
                                     : 16,
                            8},
                  .warps = {is_wgmma ? 4 : 1, 1},
                  .instr_n = 8};
   return tl_hw_mma_operand(&t, op_index, is_f64 ? 4 : 256 / elem_bits, elem_bits);
}

/* ldmatrix / stmatrix .x{count} of 8 rows of 16 bytes: (register, lane) -> (matrix, row, column)
 * with 16 / elem_bytes columns.  Register bits: packed elements, then the matrix.  `trans`:
 * elem_bytes 2 only; rows and columns of every matrix swapped. */
static inline TlLinear
hw_ldmatrix(unsigned count, unsigned elem_bytes, bool trans)
{
   uint32_t cols = 16 / elem_bytes, packed = 4 / elem_bytes;
   uint32_t shape[3] = {count, 8, cols};
   unsigned row = trans ? 2 : 1, col = trans ? 1 : 2;
   TlLinear l = tl_ll_empty(3, shape);
   hw_push(&l, TL_HW_REG, col, 1, packed);
   hw_push(&l, TL_HW_REG, 0, 1, count);
   hw_push(&l, TL_HW_LANE, col, packed, cols);
   hw_push(&l, TL_HW_LANE, row, 1, 8);
   return l;
}

/* Which (matrix, row) the address of a lane names; surplus lanes are zero. */
static inline TlLinear
hw_ldmatrix_rows(unsigned count)
{
   uint32_t shape[2] = {count, 8};
   TlLinear l = tl_ll_empty(2, shape);
   hw_push(&l, TL_HW_LANE, 1, 1, 8);
   hw_push(&l, TL_HW_LANE, 0, 1, 4);
   return l;
}

/* Element (r, c) at r * C + (((c / vec) ^ (r % max_phase)) * vec) + c % vec, with c along order[0]
 * and r along order[1]. */
static inline TlLinear
hw_shared_phased(const uint32_t shape[2], const unsigned order[2], uint32_t vec, uint32_t max_phase)
{
   TlLinear l = tl_hw_shared_plain(2, shape, order);
   unsigned cols = l.log2_dim[order[0]], log2_vec = (unsigned)__builtin_ctz(vec);
   for (unsigned i = 0; 1u << i < max_phase; i++)
      if (i < l.log2_dim[order[1]] && log2_vec + i < cols)
         l.col[cols + i] ^= l.col[log2_vec + i];
   return l;
}

#endif
