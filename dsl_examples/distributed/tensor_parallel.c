/* A pair of products over any number of ranks, y = relu(x a) b, compared with one process.
 *
 * a is cut by columns and b by rows, so that a rank makes its columns of the product between and
 * with them a summand of y; the sum over the ranks is spread over the ranks (reduce-scatter).  x is
 * cut into chunks of rows: one chunk's summands are added while the next chunk is computed.
 *
 *    tensor_parallel --threads 4 --on cpu
 *    mpirun -n 4 tensor_parallel --on cpu
 *    tensor_parallel --threads 2 --on cuda --tokens 16384 --wide 8192 --hidden 28672 --time 10 */
#include "ranks.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { SEED_X = 1, SEED_A, SEED_B };
enum { COLUMNS = 32 }; /* that `fill` and `differences` take together */

typedef struct Pair {
   Rank *r;
   size_t rows, wide, hidden; /* x is rows x wide, a wide x hidden, b hidden x wide */
   size_t chunks, chunk;      /* rows of a chunk */
   size_t mine;               /* columns of a and rows of b */
   TilecDtype dtype, sum;     /* of x, a, b; of y */
   Array x, a, b, between, summand, y;
   ExKernel first, second, fill, differences;
   TilecEvent **marks; /* of the time line: MARKS a chunk; NULL when there is none */
} Pair;

/* ---- The pair -------------------------------------------------------------------------------- */

typedef struct Sizes {
   size_t m, n, k;
} Sizes;

/* c = left @ right, row-major, m x k and k x n. */
static void
multiply(Pair *p, const ExKernel *kernel, TilecArg left, TilecArg right, TilecArg c, Sizes s)
{
   int m = (int)s.m, n = (int)s.n, k = (int)s.k;
   RANK_LAUNCH(p->r, kernel, left, right, c, m, n, k, k, 1, n, 1, n, 1);
}

/* The rows of y that a rank has: chunk by chunk the rank's part of it. */
static void
add_up(Pair *p, size_t chunk)
{
   size_t elems = p->chunk * p->wide, part = elems / p->r->size;
   rank_after(p->r);
   rank_mark(p->r, p->marks, chunk, MARK_MOVE_BEGIN);
   rank_reduce_scatter(p->r, rank_address(&p->summand, chunk * elems),
                       rank_address(&p->y, chunk * part), part, p->sum);
   rank_mark(p->r, p->marks, chunk, MARK_MOVE_END);
}

static void
run_pair(Rank *r, void *user)
{
   Pair *p = user;
   for (size_t c = 0; c < p->chunks && !rank_failed(r); c++) {
      size_t first = c * p->chunk;
      rank_fault(r, (unsigned)c);
      rank_mark(p->r, p->marks, c, MARK_WORK_BEGIN);
      multiply(p, &p->first, rank_at(&p->x, first * p->wide), rank_at(&p->a, 0),
               rank_at(&p->between, 0), (Sizes){p->chunk, p->mine, p->wide});
      multiply(p, &p->second, rank_at(&p->between, 0), rank_at(&p->b, 0),
               rank_at(r->size > 1 ? &p->summand : &p->y, first * p->wide),
               (Sizes){p->chunk, p->wide, p->mine});
      rank_mark(p->r, p->marks, c, MARK_WORK_END);
      if (r->size > 1)
         add_up(p, c);
   }
   rank_before(r);
}

/* ---- Opening --------------------------------------------------------------------------------- */

/* A part, from (row, column) on, of a matrix of `whole` columns. */
typedef struct Part {
   size_t rows, columns, whole, row, column;
} Part;

static void
fill(Pair *p, const Array *to, Part part, int seed, double spread)
{
   size_t first = (part.row * part.whole + part.column) / COLUMNS;
   int columns = (int)(part.columns / COLUMNS);
   RANK_LAUNCH(p->r, &p->fill, rank_at(to, 0), (int)part.rows, columns, columns,
               (long long)(part.whole / COLUMNS), (long long)first, seed, (float)spread);
}

/* The rank's part of a and b, or all of them. */
static void
fill_weights(Pair *p, const Array *a, const Array *b, size_t columns, size_t first)
{
   Part of_a = {.rows = p->wide, .columns = columns, .whole = p->hidden, .column = first};
   Part of_b = {.rows = columns, .columns = p->wide, .whole = p->wide, .row = first};
   fill(p, a, of_a, SEED_A, 1 / sqrt((double)p->wide));
   fill(p, b, of_b, SEED_B, 1 / sqrt((double)p->hidden));
}

static void
open_kernels(Pair *p)
{
   const Options *o = p->r->options;
   char blocks[128], relu[192], columns[32];
   snprintf(blocks, sizeof blocks, "BLOCK_M=%u BLOCK_N=%u BLOCK_K=%u", o->block_m, o->block_n,
            o->block_k);
   snprintf(relu, sizeof relu, "%s ACTIVATION='relu'", blocks);
   snprintf(columns, sizeof columns, "D=%d", COLUMNS);
   p->first = rank_kernel(p->r, "../matmul.tile", "matmul", relu);
   p->second = rank_kernel(p->r, "../matmul.tile", "matmul", blocks);
   p->fill = rank_kernel(p->r, "arrays.tile", "fill", columns);
   p->differences = rank_kernel(p->r, "arrays.tile", "differences", columns);
}

static void
check_sizes(const Pair *p)
{
   const Options *o = p->r->options;
   unsigned size = p->r->size;
   if (o->chunks < 1 || o->chunks > COMM_MAX_PARTS)
      rank_fail(p->r, "%u chunks; from 1 to %d are possible", o->chunks, COMM_MAX_PARTS);
   else if (o->tokens % (o->chunks * size) != 0 || !o->tokens)
      rank_fail(p->r, "%u tokens cannot be cut into %u chunks for each of %u ranks", o->tokens,
                o->chunks, size);
   else if (o->hidden % (size * COLUMNS) != 0 || o->wide % COLUMNS != 0 || !o->hidden || !o->wide)
      rank_fail(p->r, "%u hidden and %u wide: parts must be multiples of %d", o->hidden, o->wide,
                COLUMNS);
}

static Pair
open_pair(Rank *r)
{
   const Options *o = r->options;
   Pair p = {.r = r,
             .rows = o->tokens,
             .wide = o->wide,
             .hidden = o->hidden,
             .chunks = o->chunks,
             .mine = o->hidden / r->size,
             .dtype = o->dtype,
             .sum = o->sum};
   check_sizes(&p);
   if (rank_failed(r))
      return p;
   p.chunk = p.rows / p.chunks;
   p.x = rank_array(r, p.dtype, p.rows * p.wide);
   p.a = rank_array(r, p.dtype, p.wide * p.mine);
   p.b = rank_array(r, p.dtype, p.mine * p.wide);
   p.between = rank_array(r, p.dtype, p.chunk * p.mine);
   p.summand = rank_array(r, p.sum, r->size > 1 ? p.rows * p.wide : 0);
   p.y = rank_array(r, p.sum, p.rows / r->size * p.wide);
   open_kernels(&p);
   fill(&p, &p.x, (Part){.rows = p.rows, .columns = p.wide, .whole = p.wide}, SEED_X, 1);
   fill_weights(&p, &p.a, &p.b, p.mine, r->rank * p.mine);
   return p;
}

static void
close_pair(Pair *p)
{
   ExKernel *kernels[] = {&p->first, &p->second, &p->fill, &p->differences};
   Array *arrays[] = {&p->x, &p->a, &p->b, &p->between, &p->summand, &p->y};
   for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++)
      ex_free_kernel(kernels[i]);
   for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
      rank_free_array(arrays[i]);
}

/* ---- Checking and measuring ------------------------------------------------------------------ */

/* Relative L2: fp32 sums of at most 2^15 terms in another order; 16-bit ones are rounded twice
 * more. */
static double
tolerance_of(TilecDtype dtype)
{
   return dtype == TILEC_FP32 ? 1e-4 : dtype == TILEC_FP16 ? 1e-3 : 8e-3;
}

/* The rank's rows of `want`, compared with its y. */
static double
distance(Pair *p, const Array *want)
{
   Rank *r = p->r;
   size_t part = p->chunk / r->size, parts = p->wide / COLUMNS;
   RankSums sums = rank_sums_open(r, p->chunks * part * ((parts + 15) / 16));
   for (size_t c = 0; c < p->chunks; c++)
      RANK_LAUNCH(r, &p->differences, rank_at(&p->y, c * part * p->wide),
                  rank_at(want, (c * p->chunk + r->rank * part) * p->wide),
                  rank_sums_at(&sums, c * part * ((parts + 15) / 16)), (int)part, (int)parts,
                  (int)parts, (int)parts);
   return rank_sums_close(r, &sums);
}

static bool
is_right(Pair *p)
{
   Rank *r = p->r;
   Array a = rank_array(r, p->dtype, p->wide * p->hidden);
   Array b = rank_array(r, p->dtype, p->hidden * p->wide);
   Array between = rank_array(r, p->dtype, p->rows * p->hidden);
   Array want = rank_array(r, p->sum, p->rows * p->wide);
   fill_weights(p, &a, &b, p->hidden, 0);
   multiply(p, &p->first, rank_at(&p->x, 0), rank_at(&a, 0), rank_at(&between, 0),
            (Sizes){p->rows, p->hidden, p->wide});
   multiply(p, &p->second, rank_at(&between, 0), rank_at(&b, 0), rank_at(&want, 0),
            (Sizes){p->rows, p->wide, p->hidden});
   bool right = rank_is_near(r, "y", distance(p, &want), tolerance_of(p->sum));
   Array *arrays[] = {&a, &b, &between, &want};
   for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
      rank_free_array(arrays[i]);
   return right;
}

static void
add_only(Rank *r, void *user)
{
   Pair *p = user;
   for (size_t c = 0; c < p->chunks; c++)
      add_up(p, c);
   rank_before(r);
}

static void
measure(Pair *p)
{
   Rank *r = p->r;
   double flops = 4.0 * (double)p->rows * (double)p->wide * (double)p->hidden;
   double ms = rank_time(r, run_pair, p);
   rank_say(r, "pair%s: %.3f ms, %.0f TFLOP/s a rank\n", r->options->graph ? " (graph)" : "", ms,
            1e-9 * flops / ms / r->size);
   if (r->options->bandwidth && r->size > 1) {
      double bytes = (double)(p->rows * p->wide * ex_dtype_bytes(p->sum));
      double alone = rank_time(r, add_only, p);
      rank_say(r, "sums alone: %.3f ms, %.0f GB/s of summands, %.0f GB/s on the bus\n", alone,
               1e-6 * bytes / alone, 1e-6 * bytes / alone * (r->size - 1) / r->size);
   }
   if (r->options->time_line)
      rank_time_line(r, run_pair, p, &p->marks, (unsigned)p->chunks, 0);
}

static bool
pair_main(Rank *r)
{
   static const char *const files[] = {"arrays.tile", "../matmul.tile"};
   rank_compare_kernels(r, files, sizeof files / sizeof files[0]);
   Pair p = open_pair(r);
   rank_say(r, "tensor-parallel pair: x %zu x %zu, hidden %zu, %zu chunks, on %u ranks by %s\n",
            p.rows, p.wide, p.hidden, p.chunks, r->size, r->comm->engine);
   unsigned long long held = r->held;
   run_pair(r, &p);
   rank_say(r, "a rank holds %llu bytes, sends %llu\n", held, (unsigned long long)r->sent);
   rank_sync(r);
   bool right = r->options->no_check || is_right(&p);
   if (r->options->repeats)
      measure(&p);
   close_pair(&p);
   return right;
}

int
main(int argc, char **argv)
{
   Options defaults = {.program = "tensor_parallel",
                       .executor = TILEC_ON_CPU,
                       .dtype = TILEC_FP16,
                       .sum = TILEC_FP32,
                       .tokens = 128,
                       .wide = 128,
                       .hidden = 256,
                       .chunks = 4,
                       .block_m = 32,
                       .block_n = 64,
                       .block_k = 32};
   return rank_main(&defaults, argc, argv, pair_main);
}
