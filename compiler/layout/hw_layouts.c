/* Hardware layouts from the tables of the PTX ISA (fragments of mma.m16n8k*, mma.m8n8k4, wgmma
 * m64nNk*, ldmatrix; swizzle modes of the tensor map).  Invariant: images are unit vectors or zero
 * for fragments; shared maps are bijections. */
#include "layout/hw_layouts.h"

#include <assert.h>

static unsigned
log2u(uint32_t v)
{
   assert(v && (v & (v - 1)) == 0);
   return (unsigned)__builtin_ctz(v);
}

/* Appends bits of `hw` that move from, 2 from, .. below `to` along dimension d; zero outside the
 * shape. */
static void
push_range(TlLinear *l, TlHw hw, unsigned d, uint32_t from, uint32_t to)
{
   for (uint32_t step = from; step < to; step *= 2)
      tl_ll_push(l, hw, step >> l->log2_dim[d] ? 0 : step << tl_ll_dim_shift(l, d));
}

/* Geometry of one instruction, per warp. */
typedef struct Instr {
   uint32_t m, n; /* rows and columns that one warp's registers and lanes cover */
   uint32_t k;    /* inner dimension */
   uint32_t e;    /* elements per operand register */
} Instr;

static Instr
instr_of(TlMmaKind kind, unsigned elem_bits)
{
   if (kind == TL_MMA_M8N8_F64)
      return (Instr){.m = 8, .n = 8, .k = 4, .e = 1};
   uint32_t e = 32 / elem_bits;
   return (Instr){.m = 16, .n = 8, .k = 8 * e, .e = e};
}

/* Registers and lanes of one instruction's result at dims m, n of l. */
static void
push_acc(TlLinear *l, TlMmaKind kind, unsigned m, unsigned n, uint32_t instr_n)
{
   push_range(l, TL_HW_REG, n, 1, 2);
   if (kind != TL_MMA_M8N8_F64)
      push_range(l, TL_HW_REG, m, 8, 16);
   push_range(l, TL_HW_REG, n, 8, instr_n);
   push_range(l, TL_HW_LANE, n, 2, 8);
   push_range(l, TL_HW_LANE, m, 1, 8);
}

/* `row` is m for A and n for B; A has the second row half in a register. */
static void
push_operand(TlLinear *l, const Instr *in, unsigned row, unsigned k, bool is_a)
{
   push_range(l, TL_HW_REG, k, 1, in->e);
   if (is_a && in->m == 16)
      push_range(l, TL_HW_REG, row, 8, 16);
   push_range(l, TL_HW_REG, k, 4 * in->e, in->k);
   push_range(l, TL_HW_LANE, k, in->e, 4 * in->e);
   push_range(l, TL_HW_LANE, row, 1, 8);
}

/* The result tile whose N is counted, not linear. */
static TlLinear
repeated_acc(const TlMmaTile *t)
{
   unsigned m = t->rank - 2u, n = m + 1;
   uint32_t rows = 16 * t->warps[m]; /* covered by one round of the warps */
   uint32_t shape[3] = {1, 1, 1};
   assert(t->kind == TL_MMA_WGMMA && t->shape[n] % 8 == 0 && t->warps[n] == 1);
   assert(t->rank == 2 || t->warps[0] == 1);
   shape[m] = rows < t->shape[m] ? rows : t->shape[m];
   shape[n] = 8;
   TlLinear l = tl_ll_empty(t->rank, shape);
   push_acc(&l, t->kind, m, n, 8);
   push_range(&l, TL_HW_WARP, m, 16, rows);
   if (t->rank == 3)
      l.repeat[0] = (uint16_t)t->shape[0];
   l.repeat[m] = (uint16_t)(t->shape[m] / shape[m]);
   l.repeat[n] = (uint16_t)(t->shape[n] / 8);
   return l;
}

static bool
is_pow2(uint32_t v)
{
   return v && (v & (v - 1)) == 0;
}

TlLinear
tl_hw_mma_acc(const TlMmaTile *t)
{
   unsigned m = t->rank - 2u, n = m + 1;
   Instr in = instr_of(t->kind, 32);
   bool wgmma = t->kind == TL_MMA_WGMMA;
   assert(t->rank == 2 || t->rank == 3);
   assert(!wgmma || (t->warps[m] % 4 == 0 && t->instr_n % 8 == 0 && t->shape[n] % t->instr_n == 0));
   if (wgmma && !(is_pow2(t->shape[n]) && is_pow2(t->instr_n)))
      return repeated_acc(t);
   uint32_t cols = wgmma ? t->instr_n : in.n;
   TlLinear l = tl_ll_empty(t->rank, t->shape);
   push_acc(&l, t->kind, m, n, cols);
   push_range(&l, TL_HW_WARP, m, in.m, in.m * t->warps[m]);
   push_range(&l, TL_HW_WARP, n, cols, cols * t->warps[n]);
   if (t->rank == 3)
      push_range(&l, TL_HW_WARP, 0, 1, t->warps[0]);
   push_range(&l, TL_HW_REG, n, cols * t->warps[n], t->shape[n]);
   push_range(&l, TL_HW_REG, m, in.m * t->warps[m], t->shape[m]);
   if (t->rank == 3)
      push_range(&l, TL_HW_REG, 0, t->warps[0], t->shape[0]);
   return l;
}

TlLinear
tl_hw_mma_operand(const TlMmaTile *t, unsigned op_index, uint32_t k, unsigned elem_bits)
{
   bool is_a = op_index == 0, wgmma = t->kind == TL_MMA_WGMMA;
   unsigned m = t->rank - 2u, n = m + 1; /* A: dims m, k = n; B: dims k = m, n */
   unsigned row = is_a ? m : n, inner = is_a ? n : m;
   Instr in = instr_of(t->kind, elem_bits);
   assert(op_index < 2 && (is_a || !wgmma) && k >= in.k);
   assert(t->rank == 2 || t->rank == 3);
   uint32_t shape[3] = {t->shape[0], t->shape[1], t->shape[2]};
   shape[inner] = k;
   TlLinear l = tl_ll_empty(t->rank, shape);
   push_operand(&l, &in, row, inner, is_a);
   uint32_t size = is_a ? in.m : in.n; /* rows of one instruction */
   uint32_t step = size * t->warps[row];
   /* Warp bits in the result's order: M, N, batch. */
   for (unsigned d = m; d <= n; d++)
      if (d == row)
         push_range(&l, TL_HW_WARP, row, size, step);
      else
         for (unsigned i = 0; i < log2u(t->warps[d]); i++)
            tl_ll_push(&l, TL_HW_WARP, 0);
   if (t->rank == 3)
      push_range(&l, TL_HW_WARP, 0, 1, t->warps[0]);
   push_range(&l, TL_HW_REG, inner, in.k, k);
   push_range(&l, TL_HW_REG, row, step, shape[row]);
   if (t->rank == 3)
      push_range(&l, TL_HW_REG, 0, t->warps[0], t->shape[0]);
   return l;
}

bool
tl_hw_turned_bytes(const uint32_t *shape, unsigned k, unsigned num_warps, TlLinear *out)
{
   enum { BLOCK = 16, WORD = 4 };
   unsigned row = 1 - k;
   assert(k < 2);
   if (shape[k] < BLOCK || shape[row] < BLOCK)
      return false;
   TlLinear l = tl_ll_empty(2, shape);
   uint32_t along_row = shape[row] / BLOCK < num_warps ? shape[row] / BLOCK : num_warps;
   uint32_t along_k = num_warps / along_row;
   push_range(&l, TL_HW_REG, k, 1, WORD);
   push_range(&l, TL_HW_REG, row, 1, 2);
   push_range(&l, TL_HW_LANE, k, WORD, BLOCK);
   push_range(&l, TL_HW_LANE, row, 2, BLOCK);
   push_range(&l, TL_HW_WARP, row, BLOCK, BLOCK * along_row);
   push_range(&l, TL_HW_WARP, k, BLOCK, BLOCK * along_k);
   push_range(&l, TL_HW_REG, k, BLOCK * along_k, shape[k]);
   push_range(&l, TL_HW_REG, row, BLOCK * along_row, shape[row]);
   *out = l;
   return true;
}

TlLinear
tl_hw_shared_plain(unsigned rank, const uint32_t *shape, const unsigned *order)
{
   TlLinear l = tl_ll_empty(rank, shape);
   for (unsigned i = 0; i < rank; i++)
      push_range(&l, TL_HW_REG, order[i], 1, shape[order[i]]);
   return l;
}

unsigned
tl_hw_swizzle_width(uint32_t row_bytes, unsigned max_bytes)
{
   for (unsigned w = 128; w >= 32; w /= 2)
      if (w <= max_bytes && row_bytes % w == 0)
         return w;
   return 0;
}

TlLinear
tl_hw_shared_swizzled(unsigned rank, const uint32_t *shape, unsigned elem_bytes,
                      const unsigned *order, unsigned max_swizzle_bytes)
{
   unsigned es = log2u(elem_bytes);
   unsigned width = tl_hw_swizzle_width(shape[order[0]] * elem_bytes, max_swizzle_bytes);
   if (width == 0)
      return tl_hw_shared_plain(rank, shape, order);
   TlLinear l = tl_ll_empty(rank, shape);
   push_range(&l, TL_HW_REG, order[0], 1, width / elem_bytes);
   for (unsigned i = 1; i < rank; i++)
      push_range(&l, TL_HW_REG, order[i], 1, shape[order[i]]);
   push_range(&l, TL_HW_REG, order[0], width / elem_bytes, shape[order[0]]);
   /* Address bits 7.. are XORed into bits 4..; the XOR is its own inverse, so the element at a
    * physical offset is the one whose plain offset is the XORed one.  The hardware looks at
    * addresses alone: with fewer than 8 rows a source bit may be a column block bit. */
   for (unsigned bit = 7; bit < 10 && bit - es < l.num[TL_HW_REG]; bit++)
      if (1u << (bit - 3) < width)
         l.col[bit - es] ^= l.col[bit - 3 - es];
   return l;
}
