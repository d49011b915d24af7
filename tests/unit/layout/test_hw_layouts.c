/* Hardware layouts against the formulas of the PTX ISA, written here element by element
 * (groupID = lane >> 2, threadID_in_group = lane % 4 in the ISA's words). */
#include "layout/cost.h"
#include "layout/matrices.h"
#include "support/hw_models.h"
#include "unit/layout/gen.h"

int test_hw_layouts(void);

typedef struct RowCol {
   uint32_t row, col;
} RowCol;

static RowCol
isa_acc(uint32_t lane, uint32_t i)
{
   return (RowCol){(lane >> 2) + (i < 2 ? 0 : 8), lane % 4 * 2 + (i & 1)};
}

static RowCol
isa_a(unsigned bits, uint32_t lane, uint32_t i)
{
   uint32_t g = lane >> 2, t = lane % 4;
   if (bits == 32)
      return (RowCol){i == 0 || i == 2 ? g : g + 8, i < 2 ? t : t + 4};
   if (bits == 16)
      return (RowCol){i < 2 || (4 <= i && i < 6) ? g : g + 8, t * 2 + (i & 1) + (i >= 4 ? 8 : 0)};
   return (RowCol){i < 4 || (8 <= i && i < 12) ? g : g + 8, t * 4 + (i & 3) + (i >= 8 ? 16 : 0)};
}

static RowCol
isa_b(unsigned bits, uint32_t lane, uint32_t i)
{
   uint32_t g = lane >> 2, t = lane % 4;
   if (bits == 32)
      return (RowCol){i == 0 ? t : t + 4, g};
   if (bits == 16)
      return (RowCol){t * 2 + (i & 1) + (i >= 2 ? 8 : 0), g};
   return (RowCol){t * 4 + (i & 3) + (i >= 4 ? 16 : 0), g};
}

static void
fragments_of_one_instruction(void **state)
{
   (void)state;
   TlLinear d = hw_instr_acc(TL_MMA_M16N8, 0);
   assert_int_equal(tl_ll_num_regs(&d), 4);
   for (uint32_t lane = 0; lane < 32; lane++)
      for (uint32_t i = 0; i < 4; i++) {
         RowCol rc = isa_acc(lane, i);
         assert_int_equal(tl_ll_apply(&d, i, lane, 0, 0), rc.row * 8 + rc.col);
      }
   for (unsigned bits = 8; bits <= 32; bits *= 2) {
      TlLinear a = hw_instr_operand(TL_MMA_M16N8, 0, bits);
      TlLinear b = hw_instr_operand(TL_MMA_M16N8, 1, bits);
      uint32_t k = 256 / bits;
      assert_int_equal(tl_ll_num_regs(&a), 4 * 32 / bits);
      assert_int_equal(tl_ll_num_regs(&b), 2 * 32 / bits);
      for (uint32_t lane = 0; lane < 32; lane++) {
         for (uint32_t i = 0; i < 4 * 32 / bits; i++) {
            RowCol rc = isa_a(bits, lane, i);
            assert_int_equal(tl_ll_apply(&a, i, lane, 0, 0), rc.row * k + rc.col);
         }
         for (uint32_t i = 0; i < 2 * 32 / bits; i++) {
            RowCol rc = isa_b(bits, lane, i);
            assert_int_equal(tl_ll_apply(&b, i, lane, 0, 0), rc.row * 8 + rc.col);
         }
      }
   }
   TlLinear a = hw_instr_operand(TL_MMA_M8N8_F64, 0, 64);
   TlLinear b = hw_instr_operand(TL_MMA_M8N8_F64, 1, 64);
   d = hw_instr_acc(TL_MMA_M8N8_F64, 0);
   assert_int_equal(tl_ll_num_regs(&a) + tl_ll_num_regs(&b) + tl_ll_num_regs(&d), 4);
   for (uint32_t lane = 0; lane < 32; lane++) {
      assert_int_equal(tl_ll_apply(&a, 0, lane, 0, 0), (lane >> 2) * 4 + lane % 4);
      assert_int_equal(tl_ll_apply(&b, 0, lane, 0, 0), lane % 4 * 8 + (lane >> 2));
      for (uint32_t i = 0; i < 2; i++)
         assert_int_equal(tl_ll_apply(&d, i, lane, 0, 0), (lane >> 2) * 8 + lane % 4 * 2 + i);
   }
}

static void
fragments_of_wgmma(void **state)
{
   (void)state;
   for (uint32_t n = 8; n <= 256; n += 8) {
      TlLinear d = hw_instr_acc(TL_MMA_WGMMA, n);
      uint32_t shape[2], c[2];
      tl_ll_shape(&d, shape);
      assert_int_equal(shape[0], 64);
      assert_int_equal(shape[1], n);
      assert_int_equal(tl_ll_num_regs(&d), n / 2);
      for (uint32_t i = 0; i < n / 2; i++)
         for (uint32_t lane = 0; lane < 32; lane++)
            for (uint32_t warp = 0; warp < 4; warp++) {
               tl_ll_coords(&d, i, lane, warp, 0, c);
               assert_int_equal(c[0], 16 * warp + lane / 4 + 8 * ((i >> 1) & 1));
               assert_int_equal(c[1], 8 * (i >> 2) + 2 * (lane % 4) + (i & 1));
            }
   }
   for (unsigned bits = 8; bits <= 32; bits *= 2) {
      TlLinear a = hw_instr_operand(TL_MMA_WGMMA, 0, bits);
      for (uint32_t i = 0; i < 4 * 32 / bits; i++)
         for (uint32_t lane = 0; lane < 32; lane++)
            for (uint32_t warp = 0; warp < 4; warp++) {
               RowCol rc = isa_a(bits, lane, i);
               assert_int_equal(tl_ll_apply(&a, i, lane, warp, 0),
                                (16 * warp + rc.row) * (256 / bits) + rc.col);
            }
   }
   /* Two groups along M, two rounds of rows, N = 176 counted. */
   TlMmaTile t = {TL_MMA_WGMMA, 2, {256, 176}, {8, 1}, 176};
   TlLinear d = tl_hw_mma_acc(&t);
   assert_int_equal(tl_ll_num_regs(&d), 2 * 88);
   for (uint32_t i = 0; i < 176; i++)
      for (uint32_t lane = 0; lane < 32; lane++)
         for (uint32_t warp = 0; warp < 8; warp++) {
            uint32_t c[2], r = i % 88;
            tl_ll_coords(&d, i, lane, warp, 0, c);
            assert_int_equal(c[0], 128 * (i / 88) + 16 * warp + lane / 4 + 8 * ((r >> 1) & 1));
            assert_int_equal(c[1], 8 * (r >> 2) + 2 * (lane % 4) + (r & 1));
         }
   /* A power-of-two N that is split over two groups. */
   t = (TlMmaTile){TL_MMA_WGMMA, 2, {64, 256}, {4, 2}, 64};
   d = tl_hw_mma_acc(&t);
   uint32_t c[2];
   tl_ll_coords(&d, 32 + 5, 3, 4 + 1, 0, c); /* second round along N, second group, warp 1 */
   assert_int_equal(c[0], 16 + 0);
   assert_int_equal(c[1], 128 + 64 + 8 + 6 + 1);
}

/* Random tiles: D, A, B of every register, lane and warp from the documented register order. */
static void
check_tile(int trial, Rng *r)
{
   bool f64 = rng_below(r, 5) == 0;
   unsigned bits = f64 ? 64 : 8u << rng_below(r, 3), rank = 2 + rng_below(r, 2);
   uint32_t im = f64 ? 8 : 16, ik = f64 ? 4 : 256 / bits, e = f64 ? 1 : 32 / bits;
   uint32_t da = f64 ? 1 : 4 * e, db = f64 ? 1 : 2 * e, dd = f64 ? 2 : 4;
   uint32_t wb = rank == 3 ? 1u << rng_below(r, 2) : 1, wm = 1u << rng_below(r, 3);
   uint32_t wn = 1u << rng_below(r, 2), rb = rank == 3 ? 1u << rng_below(r, 2) : 1;
   uint32_t rm = 1u << rng_below(r, 2), rn = 1u << rng_below(r, 3), ks = 1u << rng_below(r, 2);
   uint32_t b0 = wb * rb, m0 = im * wm * rm, n0 = 8 * wn * rn, k0 = ik * ks;
   TlMmaTile t = {.kind = f64 ? TL_MMA_M8N8_F64 : TL_MMA_M16N8, .rank = (uint8_t)rank};
   uint32_t *shape = t.shape, *warps = t.warps;
   if (rank == 3)
      *shape++ = b0, *warps++ = wb;
   shape[0] = m0, shape[1] = n0, warps[0] = wm, warps[1] = wn;
   TlLinear d = tl_hw_mma_acc(&t), a = tl_hw_mma_operand(&t, 0, k0, bits);
   TlLinear b = tl_hw_mma_operand(&t, 1, k0, bits);
   CHECK(trial, tl_ll_num_regs(&d) == rb * rm * rn * dd);
   CHECK(trial, tl_ll_num_regs(&a) == rb * rm * ks * da);
   CHECK(trial, tl_ll_num_regs(&b) == rb * rn * ks * db);
   CHECK(trial, tl_ll_is_surjective(&d) && tl_ll_is_surjective(&a) && tl_ll_is_surjective(&b));
   for (int probe = 0; probe < 64; probe++) {
      uint32_t lane = rng_below(r, 32), warp = rng_below(r, wb * wm * wn);
      uint32_t pm = warp % wm, pn = warp / wm % wn, pb = warp / wm / wn;
      uint32_t xb = rng_below(r, rb), xm = rng_below(r, rm), xn = rng_below(r, rn);
      uint32_t xk = rng_below(r, ks), i = rng_below(r, dd);
      uint32_t batch = pb + xb * wb, row = (pm + xm * wm) * im, col = (pn + xn * wn) * 8;
      RowCol rc = isa_acc(lane, i);
      uint32_t got = tl_ll_apply(&d, ((xb * rm + xm) * rn + xn) * dd + i, lane, warp, 0);
      CHECK(trial, got == (batch * m0 + row + rc.row) * n0 + col + rc.col);
      i = rng_below(r, da);
      rc = f64 ? (RowCol){lane >> 2, lane % 4} : isa_a(bits, lane, i);
      got = tl_ll_apply(&a, ((xb * rm + xm) * ks + xk) * da + i, lane, warp, 0);
      CHECK(trial, got == (batch * m0 + row + rc.row) * k0 + xk * ik + rc.col);
      i = rng_below(r, db);
      rc = f64 ? (RowCol){lane % 4, lane >> 2} : isa_b(bits, lane, i);
      got = tl_ll_apply(&b, ((xb * rn + xn) * ks + xk) * db + i, lane, warp, 0);
      CHECK(trial, got == (batch * k0 + xk * ik + rc.row) * n0 + col + rc.col);
   }
}

static void
tiles_in_documented_order(void **state)
{
   Rng r = {21};
   (void)state;
   for (int t = 0; t < 1000; t++)
      check_tile(t, &r);
   /* Narrower than the instruction: rows repeat, register count stays. */
   TlMmaTile small = {TL_MMA_M16N8, 2, {8, 4}, {4, 2}, 0};
   TlLinear d = tl_hw_mma_acc(&small);
   assert_int_equal(tl_ll_num_regs(&d), 4);
   assert_int_equal(d.num[TL_HW_WARP], 3);
   assert_true(tl_ll_is_surjective(&d));
   assert_int_equal(tl_ll_apply(&d, 3, 0, 7, 0), 1);
}

/* PTX ISA, ldmatrix: of matrix i, thread T holds in register i the elements 2 (T % 4) and the next
 * of row T / 4; with .trans of column T / 4.  stmatrix is the same table read the other way: its
 * map has to be a bijection between registers of lanes and elements of matrices. */
static void
ldmatrix_maps(void **state)
{
   (void)state;
   for (unsigned count = 1; count <= 4; count *= 2) {
      TlLinear rows = hw_ldmatrix_rows(count);
      for (unsigned es = 1; es <= 4; es *= 2) {
         TlLinear p = hw_ldmatrix(count, es, false);
         uint32_t cols = 16 / es, packed = 4 / es;
         assert_int_equal(tl_ll_num_regs(&p), count * packed);
         assert_true(tl_ll_is_injective(&p) && tl_ll_is_surjective(&p));
         for (uint32_t lane = 0; lane < 32; lane++)
            for (uint32_t reg = 0; reg < count * packed; reg++)
               assert_int_equal(tl_ll_apply(&p, reg, lane, 0, 0),
                                reg / packed * 8 * cols + lane / 4 * cols + lane % 4 * packed +
                                   reg % packed);
      }
      TlLinear t = hw_ldmatrix(count, 2, true);
      assert_true(tl_ll_is_injective(&t) && tl_ll_is_surjective(&t));
      for (uint32_t lane = 0; lane < 32; lane++) {
         for (uint32_t reg = 0; reg < 2 * count; reg++)
            assert_int_equal(tl_ll_apply(&t, reg, lane, 0, 0),
                             reg / 2 * 64 + (lane % 4 * 2 + reg % 2) * 8 + lane / 4);
         assert_int_equal(tl_ll_apply(&rows, 0, lane, 0, 0), lane % (8 * count));
      }
   }
}

/* Matrices in the order of the operand's registers make its fragment: A of 16 bits from .x4 of
 * (row half, K half), B from .x2 with .trans of K halves stored row by row. */
static void
fragments_from_ldmatrix(void **state)
{
   (void)state;
   TlLinear a = hw_instr_operand(TL_MMA_M16N8, 0, 16);
   TlLinear b = hw_instr_operand(TL_MMA_M16N8, 1, 16);
   TlLinear x4 = hw_ldmatrix(4, 2, false), x2 = hw_ldmatrix(2, 2, true);
   for (uint32_t lane = 0; lane < 32; lane++) {
      for (uint32_t reg = 0; reg < 8; reg++) {
         uint32_t e = tl_ll_apply(&x4, reg, lane, 0, 0), m = e / 64, r = e / 8 % 8, c = e % 8;
         assert_int_equal(tl_ll_apply(&a, reg, lane, 0, 0),
                          (r + 8 * (m & 1)) * 16 + c + 8 * (m >> 1));
      }
      for (uint32_t reg = 0; reg < 4; reg++) {
         uint32_t e = tl_ll_apply(&x2, reg, lane, 0, 0), m = e / 64, r = e / 8 % 8, c = e % 8;
         assert_int_equal(tl_ll_apply(&b, reg, lane, 0, 0), (r + 8 * m) * 8 + c);
      }
   }
}

static void
swizzles_follow_the_address_rule(void **state)
{
   Rng r = {22};
   (void)state;
   for (int t = 0; t < 3000; t++) {
      uint32_t shape[2] = {1u << rng_below(&r, 8), 1u << rng_below(&r, 9)};
      unsigned es = 1u << rng_below(&r, 4), max = 16u << rng_below(&r, 4);
      unsigned fast = rng_below(&r, 2), order[2] = {fast, 1 - fast};
      uint32_t rows = shape[1 - fast], cols = shape[fast];
      TlLinear l = tl_hw_shared_swizzled(2, shape, es, order, max);
      CHECK(t, tl_ll_is_injective(&l) && tl_ll_is_surjective(&l));
      unsigned w = tl_hw_swizzle_width(cols * es, max);
      CHECK(t, w <= max && (w == 0 || cols * es % w == 0));
      for (uint32_t row = 0; row < rows; row++)
         for (uint32_t col = 0; col < cols; col++) {
            uint32_t a = (row * cols + col) * es, b = col * es;
            if (w)
               a = b / w * rows * w + row * w + b % w;
            a ^= w == 128  ? (a >> 7 & 7) << 4
                 : w == 64 ? (a >> 7 & 3) << 4
                 : w == 32 ? (a >> 7 & 1) << 4
                           : 0;
            uint32_t element = fast == 1 ? row * cols + col : col * rows + row;
            CHECK(t, tl_ll_apply(&l, a / es, 0, 0, 0) == element);
         }
   }
}

/* ---- operands of wgmma in shared memory ---- */
/* Where the hardware reads element (row, k) of an instruction that begins at `start`, by the
 * sentences of the ISA on leading and stride dimension byte offsets. */
static uint32_t
isa_wgmma_address(const TlWgmmaOperand *o, unsigned es, uint32_t start, uint32_t row, uint32_t k)
{
   static const uint32_t width_of[] = {0, 128, 64, 32};
   uint32_t w = width_of[o->mode], at;
   if (o->is_mn_major)
      at = w ? row * es / w * o->lbo + k / 8 * o->sbo + k % 8 * w + row * es % w
             : row * es / 16 * o->sbo + k / 8 * o->lbo + k % 8 * 16 + row * es % 16;
   else
      at = w ? row / 8 * o->sbo + row % 8 * w + k * es
             : row / 8 * o->sbo + k * es / 16 * o->lbo + row % 8 * 16 + k * es % 16;
   at += start;
   if (w)
      at ^= (at >> 7 & (w / 16 - 1)) << 4;
   return at;
}

/* Every element of every instruction of a tile; false when the arrangement is refused. */
static bool
wgmma_reads_all(const TlLinear *memory, unsigned index, unsigned es, uint32_t instr_rows)
{
   TlWgmmaOperand o = {0};
   if (!tl_hw_wgmma_operand(memory, index, 8 * es, instr_rows, &o))
      return false;
   uint32_t shape[TL_LL_MAX_RANK], instr_k = 32 / es;
   tl_ll_shape(memory, shape);
   unsigned row_dim = index == 0 ? 0 : 1;
   for (uint32_t at = 0; at < shape[0] * shape[1]; at++) {
      uint32_t word = tl_ll_apply(memory, at, 0, 0, 0), start = 0;
      uint32_t c[2] = {word / shape[1], word % shape[1]};
      uint32_t row = c[row_dim], k = c[1 - row_dim], first[2];
      first[row_dim] = row - row % instr_rows;
      first[1 - row_dim] = k - k % instr_k;
      uint32_t first_word = first[0] * shape[1] + first[1];
      for (unsigned bit = 0; bit < tl_ll_bits(memory); bit++)
         start += first_word >> bit & 1 ? o.col[bit] : 0;
      assert_int_equal(isa_wgmma_address(&o, es, start, row % instr_rows, k % instr_k), at * es);
   }
   return true;
}

static void
wgmma_operands(void **state)
{
   (void)state;
   unsigned found = 0;
   for (unsigned es = 1; es <= 4; es *= 2)
      for (uint32_t rows = 8; rows <= 256; rows *= 2)
         for (uint32_t k = 32 / es; k <= 128; k *= 2)
            for (unsigned index = 0; index < 2; index++)
               for (unsigned k_fast = 0; k_fast < 2; k_fast++)
                  for (unsigned max = 16; max <= 128; max *= 2) {
                     uint32_t shape[2] = {index == 0 ? rows : k, index == 0 ? k : rows};
                     unsigned k_dim = index == 0 ? 1 : 0;
                     unsigned order[2] = {k_fast ? k_dim : 1 - k_dim, k_fast ? 1 - k_dim : k_dim};
                     TlLinear l = tl_hw_shared_swizzled(2, shape, es, order, max);
                     for (uint32_t instr = 8; instr <= rows; instr *= 2) {
                        bool ok = wgmma_reads_all(&l, index, es, instr);
                        found += ok;
                        if (!k_fast && es != 2 && k * es > 32)
                           assert_false(ok); /* only 16-bit elements may be MN-major */
                        if (k_fast && max >= 32)
                           assert_true(ok);
                        if (es == 2 && max == 128 && instr == rows)
                           assert_true(ok);
                     }
                  }
   assert_in_range(found, 1000, 100000);
   /* Rows of 16 bytes; what is moved for the sake of banks; nothing that is no bijection. */
   unsigned order[2] = {1, 0};
   uint32_t shape[2] = {64, 64};
   TlLinear phased = hw_shared_phased(shape, order, 8, 4);
   assert_false(wgmma_reads_all(&phased, 0, 2, 64));
   TlLinear plain = tl_hw_shared_plain(2, shape, order);
   assert_false(wgmma_reads_all(&plain, 0, 2, 64));
   TlLinear broken = tl_hw_shared_swizzled(2, shape, 2, order, 128);
   broken.col[3] = broken.col[4];
   assert_false(wgmma_reads_all(&broken, 0, 2, 64));
}

/* Where PTX ISA "Swizzling modes" has an element of box i, by its place in the box. */
static uint32_t
isa_box_address(const TlBoxes *b, unsigned rank, unsigned es, uint32_t box, const uint32_t *place)
{
   uint32_t at = 0;
   for (unsigned d = 0; d < rank; d++)
      at = at * b->shape[d] + place[d];
   at = (box * b->elems + at) * es;
   return b->swizzle ? at ^ (at >> 3 & (b->swizzle - 16)) : at;
}

/* Every element of every box. */
static void
check_boxes(const TlLinear *memory, unsigned es, const TlBoxes *b)
{
   uint32_t elems = 1u << tl_ll_bits(memory);
   assert_int_equal(b->elems << b->log2_num, elems);
   for (uint32_t at = 0; at < elems; at++) {
      uint32_t box = at / b->elems, rest = at % b->elems, start = 0, place[TL_LL_MAX_RANK];
      for (unsigned i = 0; i < b->log2_num; i++)
         start += box >> i & 1 ? b->start[i] : 0;
      uint32_t word = start;
      for (unsigned d = memory->rank; d-- > 0; rest /= b->shape[d]) {
         place[d] = rest % b->shape[d];
         word += place[d] << tl_ll_dim_shift(memory, d);
      }
      uint32_t address = isa_box_address(b, memory->rank, es, box, place);
      assert_int_equal(tl_ll_apply(memory, address / es, 0, 0, 0), word);
   }
}

/* Also halved as often as they can be; false when the arrangement is refused. */
static bool
boxes_fill_all(const TlLinear *memory, unsigned es, TlBoxes *b)
{
   TlBoxes half, same;
   if (!tl_hw_boxes(memory, es, b))
      return false;
   check_boxes(memory, es, b);
   for (half = *b; tl_hw_halve_boxes(memory, es, &half);) {
      check_boxes(memory, es, &half);
      assert_true(tl_hw_boxes_of(memory, es, half.shape, &same));
      assert_memory_equal(half.start, same.start, half.log2_num * sizeof half.start[0]);
   }
   return true;
}

static void
boxes_fill_what_wgmma_reads(void **state)
{
   TlBoxes b;
   (void)state;
   for (unsigned es = 1; es <= 8; es *= 2)
      for (uint32_t rows = 1; rows <= 512; rows *= 2)
         for (uint32_t columns = 1; columns <= 512; columns *= 2)
            for (unsigned fast = 0; fast < 2; fast++)
               for (unsigned max = 16; max <= 128; max *= 2) {
                  uint32_t shape[2] = {rows, columns};
                  unsigned order[2] = {fast, 1 - fast}, row_bytes = columns * es;
                  TlLinear l = tl_hw_shared_swizzled(2, shape, es, order, max);
                  bool ok = boxes_fill_all(&l, es, &b);
                  unsigned width = tl_hw_swizzle_width(row_bytes, max);
                  bool is_few = width && row_bytes / width * ((rows + 255) / 256) <= 32;
                  if (fast == 1 && is_few && rows >= 8 && max >= 32)
                     assert_true(ok);
                  if (fast == 0 && rows >= 8 && columns >= 8)
                     assert_false(ok);
               }
   unsigned order[3] = {2, 1, 0};
   uint32_t shape[3] = {4, 16, 64};
   TlLinear l = tl_hw_shared_swizzled(3, shape, 2, order, 128);
   assert_true(boxes_fill_all(&l, 2, &b));
   assert_int_equal(b.log2_num, 0);
   uint32_t wide[2] = {64, 256}; /* K x N: four boxes of 64 columns */
   l = tl_hw_shared_swizzled(2, wide, 2, (const unsigned[]){1, 0}, 128);
   assert_true(boxes_fill_all(&l, 2, &b));
   assert_int_equal(b.log2_num, 2);
   assert_int_equal(b.shape[0], 64);
   assert_true(tl_hw_halve_boxes(&l, 2, &b));
   assert_int_equal(b.log2_num, 3);
   assert_int_equal(b.shape[0], 32);
   assert_int_equal(b.start[0], 32 << 8); /* rows 32 to 63 of the same columns */
   assert_false(tl_hw_boxes_of(&l, 2, (const uint32_t[]){4, 64}, &b)); /* a swizzle has 8 rows */
   assert_true(tl_hw_boxes(&l, 2, &b));
   assert_int_equal(b.shape[1], 64);
   TlLinear phased = hw_shared_phased(wide, (const unsigned[]){1, 0}, 8, 4);
   assert_false(boxes_fill_all(&phased, 2, &b));
   l.col[3] = l.col[4];
   assert_false(tl_hw_boxes(&l, 2, &b));
}

/* Read across swizzled rows by pairs, stored by rows of 16 bytes of K; all elements once. */
static void
turned_bytes_are_matrices(void **state)
{
   (void)state;
   for (uint32_t rows = 8; rows <= 256; rows *= 2)
      for (uint32_t depth = 8; depth <= 128; depth *= 2)
         for (unsigned k = 0; k < 2; k++)
            for (unsigned warps = 1; warps <= 16; warps *= 2) {
               uint32_t shape[2], col[TL_LL_MAX_IN];
               TlLinear l;
               TlMatrices m;
               shape[k] = depth;
               shape[1 - k] = rows;
               bool ok = tl_hw_turned_bytes(shape, k, warps, &l);
               assert_int_equal(ok, rows >= 16 && depth >= 16);
               if (!ok)
                  continue;
               assert_true(tl_ll_is_valid(&l) && tl_ll_is_surjective(&l));
               assert_int_equal(tl_ll_is_injective(&l), rows * depth >= 256 * warps);
               unsigned by_row[2] = {1 - k, k}, by_k[2] = {k, 1 - k};
               TlLinear memory = tl_hw_shared_swizzled(2, shape, 1, by_row, 128);
               assert_true(tl_cost_offset_columns(&l, &memory, 1, col));
               assert_true(tl_find_matrices(&l, col, 0, 1, &m));
               assert_true(m.trans);
               memory = tl_hw_shared_swizzled(2, shape, 1, by_k, 128);
               assert_true(tl_cost_offset_columns(&l, &memory, 1, col));
               assert_true(tl_find_matrices(&l, col, 0, 1, &m));
               assert_false(m.trans);
            }
}

int
test_hw_layouts(void)
{
   const struct CMUnitTest tests[] = {
      cmocka_unit_test(fragments_of_one_instruction),
      cmocka_unit_test(fragments_of_wgmma),
      cmocka_unit_test(tiles_in_documented_order),
      cmocka_unit_test(ldmatrix_maps),
      cmocka_unit_test(fragments_from_ldmatrix),
      cmocka_unit_test(swizzles_follow_the_address_rule),
      cmocka_unit_test(wgmma_operands),
      cmocka_unit_test(boxes_fill_what_wgmma_reads),
      cmocka_unit_test(turned_bytes_are_matrices),
   };
   return cmocka_run_group_tests(tests, NULL, NULL);
}
