/* Matrix products.  Operands are converted to double once (exactly, after the rounding that
 * `precision` asks for), products are summed in double with k ascending, starting from the
 * accumulator, and the sum is rounded once to the accumulator's type.  Every product of fp32 or
 * narrower numbers is exact in double, and so are the sums of 8-bit integers; the order of
 * additions does not depend on blocking.
 *
 * tf32x3, bf16x3 and bf16x6 split each fp32 operand into parts and add the products that the GPU's
 * recipe keeps.
 *
 * The frame has no room for the doubles: rows are converted in panels on the stack. */
#include "exec/cpu_impl.h"
#include "ir/dot_split.h"

#include <assert.h>
#include <string.h>

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__SANITIZE_ADDRESS__) &&                  \
   !defined(__SANITIZE_THREAD__) && !defined(__clang__)
#define WIDE __attribute__((target_clones("avx2", "default")))
#else
#define WIDE
#endif

enum { ROWS = 8, DEPTH = 64, COLUMNS = 128 };

static double
round_part(const TlDotSplit *r, double v)
{
   if (r->part_type == TL_BF16)
      return tl_bits_to_double(TL_BF16, tl_double_to_bits(TL_BF16, v, TL_ROUND_NEAREST_EVEN));
   uint32_t bits = (uint32_t)tl_double_to_bits(TL_FP32, v, TL_ROUND_NEAREST_EVEN);
   return tl_bits_to_double(TL_FP32, r->is_cut ? tl_cut_tf32(bits) : tl_round_tf32(bits));
}

/* Part number `part` of an fp32 value: each part is the rounded rest after the parts before. */
static double
take_part(const TlDotSplit *r, double v, unsigned part)
{
   for (unsigned i = 0; i < part; i++)
      v -= round_part(r, v);
   return r->parts ? round_part(r, v) : v;
}

/* n consecutive elements as doubles */
static void
to_doubles(TlDtype t, const uint8_t *from, double *to, size_t n)
{
   enum { PART = 256 };
   float wide[PART];
   if (t == TL_FP32) {
      const float *f = (const float *)(const void *)from;
      for (size_t i = 0; i < n; i++)
         to[i] = (double)f[i];
   } else if (t == TL_FP16 || t == TL_BF16) {
      for (size_t at = 0; at < n; at += PART) {
         size_t part = n - at < PART ? n - at : PART;
         tl_cpu_widen(t, wide, from + at * 2, part);
         for (size_t i = 0; i < part; i++)
            to[at + i] = (double)wide[i];
      }
   } else {
      uint32_t bytes = tl_dtype_info[t].bytes;
      for (size_t i = 0; i < n; i++) {
         to[i] = tl_bits_to_number(t, tl_load_elem(t, from + i * bytes));
      }
   }
}

typedef struct Operand {
   TlDtype dtype;
   uint32_t bytes;
   const uint8_t *data;
   size_t columns;
} Operand;

/* A panel of rows x columns, each row `width` doubles apart; one part of each element. */
static void
load_panel(const Operand *o, const TlDotSplit *r, unsigned part, size_t row, size_t rows,
           size_t column, size_t columns, double *panel, size_t width)
{
   assert(columns <= width && column + columns <= o->columns);
   for (size_t i = 0; i < rows; i++) {
      double *to = panel + i * width;
      to_doubles(o->dtype, o->data + ((row + i) * o->columns + column) * o->bytes, to, columns);
      for (size_t k = 0; r->parts && k < columns; k++)
         to[k] = take_part(r, to[k], part);
   }
}

/* sum[i][j] += a[i][k] * b[k][j], k ascending */
WIDE static void
multiply_panel(double *restrict sum, const double *restrict a, const double *restrict b,
               size_t rows, size_t depth, size_t columns)
{
   assert(rows <= ROWS && depth <= DEPTH && columns <= COLUMNS);
   for (size_t i = 0; i < rows; i++) {
      double *restrict s = sum + i * COLUMNS;
      const double *x = a + i * DEPTH;
      size_t k = 0;
      for (; k + 4 <= depth; k += 4) {
         double x0 = x[k], x1 = x[k + 1], x2 = x[k + 2], x3 = x[k + 3];
         const double *y = b + k * COLUMNS;
         for (size_t j = 0; j < columns; j++)
            s[j] = (((s[j] + x0 * y[j]) + x1 * y[j + COLUMNS]) + x2 * y[j + 2 * COLUMNS]) +
                   x3 * y[j + 3 * COLUMNS];
      }
      for (; k < depth; k++)
         for (size_t j = 0; j < columns; j++)
            s[j] += x[k] * b[k * COLUMNS + j];
   }
}

typedef struct Product {
   Operand a, b, c;
   uint8_t *result;
   size_t m, n, k;
   const TlDotSplit *split;
} Product;

static void
store_row(const Product *p, const double *sum, size_t row, size_t column, size_t columns)
{
   TlDtype t = p->c.dtype;
   uint8_t *to = p->result + (row * p->n + column) * p->c.bytes;
   for (size_t j = 0; j < columns; j++) {
      TlBits bits;
      if (t == TL_FP32) {
         float f = sum[j] == sum[j] ? (float)sum[j] : __builtin_nanf("");
         memcpy(to + j * 4, &f, 4);
         continue;
      }
      bits = tl_dtype_is_float(t) ? tl_double_to_bits(t, sum[j], TL_ROUND_NEAREST_EVEN)
                                  : tl_int_to_bits(t, (int64_t)sum[j]); /* i32: wraps */
      tl_store_elem(t, to + j * p->c.bytes, bits);
   }
}

/* `columns` columns of the result from `column` on, all rows: the panel of b is converted once for
 * each depth step of a block of rows.  False when there is no time left. */
static bool
multiply_columns(TlExecThread *t, const TlExecInst *inst, const Product *p, size_t column,
                 size_t columns)
{
   const TlDotSplit *r = p->split;
   double a[ROWS * DEPTH], b[DEPTH * COLUMNS];
   enum { BLOCK = 8 }; /* row blocks whose sums are kept while b's panels pass */
   double sums[BLOCK][ROWS * COLUMNS];
   for (size_t first = 0; first < p->m; first += BLOCK * ROWS) {
      size_t left = p->m - first, blocks = left < BLOCK * ROWS ? (left + ROWS - 1) / ROWS : BLOCK;
      for (size_t i = 0; i < left && i < blocks * ROWS; i++)
         to_doubles(p->c.dtype, p->c.data + ((first + i) * p->n + column) * p->c.bytes,
                    &sums[i / ROWS][i % ROWS * COLUMNS], columns);
      for (unsigned term = 0; term < r->terms; term++)
         for (size_t k = 0; k < p->k; k += DEPTH) {
            size_t depth = p->k - k < DEPTH ? p->k - k : DEPTH;
            load_panel(&p->b, r, r->term[term][1], k, depth, column, columns, b, COLUMNS);
            for (size_t block = 0; block < blocks; block++) {
               size_t row = first + block * ROWS, rows = p->m - row < ROWS ? p->m - row : ROWS;
               load_panel(&p->a, r, r->term[term][0], row, rows, k, depth, a, DEPTH);
               multiply_panel(sums[block], a, b, rows, depth, columns);
            }
         }
      for (size_t i = 0; i < left && i < blocks * ROWS; i++)
         store_row(p, &sums[i / ROWS][i % ROWS * COLUMNS], first + i, column, columns);
      if (left > BLOCK * ROWS && !tl_cpu_look(t, inst))
         return false;
   }
   return true;
}

/* Checked: an element of the result is undefined when its row of a, its column of b or its
 * accumulator has an undefined element. */
static void
propagate(TlExecThread *t, const TlExecInst *inst, size_t batches, size_t m, size_t n, size_t k)
{
   const TlExecSlot *r = inst->result[0];
   const uint8_t *in[3];
   bool any = false;
   for (unsigned i = 0; i < 3; i++) {
      in[i] = tl_cpu_is_undef(t, inst->arg[i]) ? tl_cpu_shadow(t, inst->arg[i]) : NULL;
      any |= in[i] != NULL;
   }
   if (!any)
      return;
   uint8_t *shadow = tl_cpu_shadow(t, r);
   t->undef[r->root] = true;
   memset(shadow, 0, r->n);
   if (in[2])
      memcpy(shadow, in[2], r->n);
   for (size_t z = 0; z < batches; z++) {
      for (size_t i = 0; in[0] && i < m * k; i++)
         if (in[0][z * m * k + i])
            memset(shadow + z * m * n + i / k * n, in[0][z * m * k + i], n);
      for (size_t i = 0; in[1] && i < k * n; i++)
         for (size_t row = 0; in[1][z * k * n + i] && row < m; row++)
            shadow[z * m * n + row * n + i % n] = in[1][z * k * n + i];
   }
}

bool
tl_cpu_dot(TlExecThread *t, const TlExecInst *inst)
{
   const TlExecSlot *a = inst->arg[0], *b = inst->arg[1], *c = inst->arg[2], *r = inst->result[0];
   unsigned rank = r->type->rank;
   size_t m = r->type->shape[rank - 2], n = r->type->shape[rank - 1];
   size_t k = a->type->shape[rank - 1], batches = rank == 3 ? r->type->shape[0] : 1;
   assert(a->n == batches * m * k && b->n == batches * k * n && c->n == r->n);
   for (size_t z = 0; z < batches; z++) {
      Product p = {.m = m,
                   .n = n,
                   .k = k,
                   .split = tl_dot_split(a->dtype, tl_attr_int(inst->op, TL_ATTR_PRECISION))};
      p.a = (Operand){a->dtype, a->elem_bytes, tl_cpu_data(t, a), k};
      p.b = (Operand){b->dtype, b->elem_bytes, tl_cpu_data(t, b), n};
      p.c = (Operand){c->dtype, c->elem_bytes, tl_cpu_data(t, c), n};
      p.a.data += z * m * k * p.a.bytes;
      p.b.data += z * k * n * p.b.bytes;
      p.c.data += z * m * n * p.c.bytes;
      p.result = (uint8_t *)tl_cpu_data(t, r) + z * m * n * r->elem_bytes;
      for (size_t column = 0; column < n; column += COLUMNS)
         if (!multiply_columns(t, inst, &p, column, n - column < COLUMNS ? n - column : COLUMNS))
            return false;
   }
   propagate(t, inst, batches, m, n, k);
   return true;
}
