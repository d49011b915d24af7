/* Ring attention over any number of ranks, compared with the same attention in one process.
 *
 *    ring_attention --threads 4 --on cpu            four ranks as threads
 *    mpirun -n 4 ring_attention --on cpu            four processes, keys and values by MPI
 *    ring_attention --threads 2 --on cuda --tokens 65536 --dim 128 --time 20
 *                                                   two GPUs, keys and values by NCCL
 *
 * Every rank makes its rows of q, k, v from the same seed.  For the comparison each of them makes
 * the whole of k and v, and o by attention_forward.tile's kernel. */
#include "ring.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { SEED_Q = 1, SEED_K, SEED_V };

/* Relative L2 errors, as in ../support.c, of two results with one rounding each to the type. */
static double
tolerance_of(TilecDtype dtype)
{
   return dtype == TILEC_FP32 ? 1e-3 /* products in tf32 */ : dtype == TILEC_FP16 ? 6e-4 : 4e-3;
}

/* ---- Making and comparing arrays ------------------------------------------------------------- */

/* `rows` rows from row `to` on of each plane become those of the whole sequence from `first` on. */
static void
fill(Ring *a, const Array *x, size_t elem, unsigned planes, size_t rows, size_t pitch, size_t first,
     int seed)
{
   RANK_LAUNCH(a->r, &a->fill, rank_at(x, elem), (int)planes, (int)rows, (int)pitch,
               (long long)a->tokens, (long long)first, seed, 1.0f);
}

/* The first token of each of the rank's two chunks. */
static size_t
first_token(const Ring *a, unsigned half)
{
   return a->chunk * (half ? 2 * a->r->size - 1 - a->r->rank : a->r->rank);
}

static void
fill_own(Ring *a)
{
   for (unsigned half = 0; half < 2; half++) {
      size_t at = half * a->chunk * a->dim, first = first_token(a, half);
      fill(a, &a->q, at, a->heads, a->chunk, a->local, first, SEED_Q);
      fill(a, &a->own_kv, at, a->heads_kv, a->chunk, a->local, first, SEED_K);
      fill(a, &a->own_kv, a->kv_elems + at, a->heads_kv, a->chunk, a->local, first, SEED_V);
   }
}

/* The relative L2 distance of the ranks' x, [planes, local, dim], from their rows of `whole`. */
static double
distance(Ring *a, const Array *x, size_t x_elem, const Array *whole, unsigned planes)
{
   size_t programs = (a->chunk + 15) / 16 * planes;
   RankSums sums = rank_sums_open(a->r, 2 * programs);
   for (unsigned half = 0; half < 2; half++)
      RANK_LAUNCH(a->r, &a->differences, rank_at(x, x_elem + half * a->chunk * a->dim),
                  rank_at(whole, first_token(a, half) * a->dim),
                  rank_sums_at(&sums, half * programs), (int)planes, (int)a->chunk, (int)a->local,
                  (int)a->tokens);
   return rank_sums_close(a->r, &sums);
}

/* ---- Opening --------------------------------------------------------------------------------- */

static void
open_kernels(Ring *a)
{
   const Options *o = a->r->options;
   char shape[128], blocks[192], defines[256];
   Rank *r = a->r;
   snprintf(shape, sizeof shape, "D=%u", a->dim);
   snprintf(blocks, sizeof blocks, "%s GROUP=%u BLOCK_M=%u BLOCK_N=%u", shape, a->group, o->block_m,
            o->block_n);
   snprintf(defines, sizeof defines, "%s CAUSAL=True", blocks);
   a->causal = rank_kernel(r, "ring_attention.tile", "ring_attend", defines);
   a->whole = rank_kernel(r, "ring_attention.tile", "ring_attend", blocks);
   a->merge = rank_kernel(r, "ring_attention.tile", "ring_merge", shape);
   a->convert = rank_kernel(r, "arrays.tile", "convert", "");
   a->fill = rank_kernel(r, "arrays.tile", "fill", shape);
   a->differences = rank_kernel(r, "arrays.tile", "differences", shape);
}

static void
open_arrays(Ring *a)
{
   Rank *r = a->r;
   size_t rows = a->heads * a->local;
   bool alone = r->size == 1;
   a->q = rank_array(r, a->dtype, a->q_elems);
   a->o = rank_array(r, a->dtype, a->q_elems);
   a->lse = rank_array(r, TILEC_FP32, rows);
   a->own_kv = rank_array(r, a->dtype, 2 * a->kv_elems);
   for (unsigned i = 0; i < 2; i++)
      a->kv[i] = rank_array(r, a->dtype, alone ? 0 : 2 * a->kv_elems);
   a->acc = rank_array(r, TILEC_FP32, alone ? 0 : a->q_elems);
   a->part = rank_array(r, TILEC_FP32, alone ? 0 : a->q_elems);
   a->part_lse = rank_array(r, TILEC_FP32, alone ? 0 : rows);
}

static Ring
open_ring(Rank *r)
{
   const Options *o = r->options;
   Ring a = {.r = r,
             .heads = o->heads,
             .heads_kv = o->heads / o->group,
             .dim = o->dim,
             .group = o->group,
             .tokens = o->tokens,
             .chunk = o->tokens / (2 * r->size),
             .dtype = o->dtype,
             .scale = 1 / sqrtf((float)o->dim)};
   a.local = 2 * a.chunk;
   a.q_elems = a.heads * a.local * a.dim;
   a.kv_elems = a.heads_kv * a.local * a.dim;
   if (o->heads % o->group != 0)
      rank_fail(r, "%u heads cannot share k and v in groups of %u", o->heads, o->group);
   if (o->tokens % (2 * r->size) != 0 || !o->tokens)
      rank_fail(r, "%u tokens cannot be cut into 2 chunks for each of %u ranks", o->tokens,
                r->size);
   open_kernels(&a);
   open_arrays(&a);
   return a;
}

static void
close_ring(Ring *a)
{
   RankKernel *kernels[] = {&a->causal,  &a->whole, &a->merge,
                            &a->convert, &a->fill,  &a->differences};
   Array *arrays[] = {&a->q,     &a->o,   &a->lse,  &a->own_kv,  &a->kv[0],
                      &a->kv[1], &a->acc, &a->part, &a->part_lse};
   for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++)
      rank_free_kernel(kernels[i]);
   for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
      rank_free_array(arrays[i]);
}

/* ---- The comparison -------------------------------------------------------------------------- */

static bool
is_right(Ring *a)
{
   Rank *r = a->r;
   size_t q = a->heads * a->tokens * a->dim, kv = a->heads_kv * a->tokens * a->dim;
   char defines[192];
   snprintf(defines, sizeof defines, "D=%u GROUP=%u CAUSAL=True BLOCK_M=%u BLOCK_N=%u", a->dim,
            a->group, r->options->block_m, r->options->block_n);
   RankKernel forward = rank_kernel(r, "../attention_forward.tile", "attn_forward", defines);
   Array whole_q = rank_array(r, a->dtype, q), whole_k = rank_array(r, a->dtype, kv);
   Array whole_v = rank_array(r, a->dtype, kv), want = rank_array(r, a->dtype, q);
   fill(a, &whole_q, 0, a->heads, a->tokens, a->tokens, 0, SEED_Q);
   fill(a, &whole_k, 0, a->heads_kv, a->tokens, a->tokens, 0, SEED_K);
   fill(a, &whole_v, 0, a->heads_kv, a->tokens, a->tokens, 0, SEED_V);
   RANK_LAUNCH(r, &forward, rank_at(&whole_q, 0), rank_at(&whole_k, 0), rank_at(&whole_v, 0),
               rank_at(&want, 0), tilec_none(), (int)a->heads, (int)a->tokens, a->scale,
               tilec_none(), tilec_none());
   bool right =
      rank_is_near(r, "o", distance(a, &a->o, 0, &want, a->heads), tolerance_of(a->dtype));
   Array *arrays[] = {&whole_q, &whole_k, &whole_v, &want};
   for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
      rank_free_array(arrays[i]);
   rank_free_kernel(&forward);
   return right;
}

static bool
ring_main(Rank *r)
{
   static const char *const files[] = {"ring_attention.tile", "arrays.tile", "../attention.tile"};
   rank_compare_kernels(r, files, sizeof files / sizeof files[0]);
   Ring a = open_ring(r);
   rank_say(r, "ring attention: %zu tokens, %u heads, D %u, on %u ranks by %s, %.1f MB a message\n",
            a.tokens, a.heads, a.dim, r->size, r->comm->engine,
            1e-6 * 2 * (double)(a.kv_elems * rank_bytes_of(a.dtype)));
   fill_own(&a);
   ring_forward(r, &a);
   rank_sync(r);
   bool right = r->options->no_check || is_right(&a);
   if (r->options->repeats)
      ring_measure(&a);
   close_ring(&a);
   return right;
}

int
main(int argc, char **argv)
{
   Options defaults = {.program = "ring_attention",
                       .executor = TILEC_ON_CPU,
                       .dtype = TILEC_FP16,
                       .tokens = 512,
                       .heads = 2,
                       .group = 1,
                       .dim = 32,
                       .block_m = 64,
                       .block_n = 32};
   return rank_main(&defaults, argc, argv, ring_main);
}
