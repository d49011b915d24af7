/* Ring attention over any number of ranks, compared with the same attention in one process.
 *
 *    ring_attention --threads 4 --on cpu            four ranks as threads
 *    mpirun -n 4 ring_attention --on cpu            four processes, keys and values by MPI
 *    ring_attention --threads 2 --on cuda --tokens 65536 --dim 128 --time 20
 *                                                   two GPUs, keys and values by NCCL
 *
 * Every rank makes its rows of q, k and v from the same seed. */
#include "ring.h"

#include <math.h>
#include <stdio.h>

/* ---- Inputs ---------------------------------------------------------------------------------- */

void
ring_fill(Ring *a, TilecArg x, RingRows rows, int seed)
{
   RANK_LAUNCH(a->r, &a->fill, x, (int)rows.planes, (int)rows.rows, (int)rows.pitch,
               (long long)a->tokens, (long long)rows.first, seed, 1.0f);
}

size_t
ring_first_token(const Ring *a, unsigned half)
{
   return a->chunk * (half ? 2 * a->r->size - 1 - a->r->rank : a->r->rank);
}

/* The rank's two chunks of an array of the whole sequence. */
static void
fill_own(Ring *a, const Array *x, size_t elem, unsigned planes, int seed)
{
   RingRows rows = {.planes = planes, .rows = a->chunk, .pitch = a->local};
   for (unsigned half = 0; half < 2; half++) {
      rows.first = ring_first_token(a, half);
      ring_fill(a, rank_at(x, elem + half * a->chunk * a->dim), rows, seed);
   }
}

/* ---- Opening --------------------------------------------------------------------------------- */

/* Two accumulators: tiles of more than 64 keys do not fit in registers. */
const char *
ring_backward_blocks(const Ring *a)
{
   return a->r->options->block_n < 64 ? "BLOCK_N=32" : "BLOCK_N=64";
}

static void
open_backward_kernels(Ring *a, const char *shape)
{
   static const char kv[] = "ring_backward_kv.tile", q[] = "ring_backward_q.tile";
   char defines[192], causal[224], add[224];
   Rank *r = a->r;
   snprintf(defines, sizeof defines, "%s GROUP=%u %s", shape, a->group, ring_backward_blocks(a));
   snprintf(causal, sizeof causal, "%s CAUSAL=True", defines);
   snprintf(add, sizeof add, "%s ADD=True", defines);
   a->causal_kv = rank_kernel(r, kv, "ring_backward_kv", causal);
   a->whole_kv = rank_kernel(r, kv, "ring_backward_kv", defines);
   a->causal_q = rank_kernel(r, q, "ring_backward_q", causal);
   a->whole_q = rank_kernel(r, q, "ring_backward_q", add);
   a->make_delta = rank_kernel(r, "../attention_backward.tile", "attn_bwd_delta", shape);
   a->add_rows = rank_kernel(r, "arrays.tile", "add_rows", shape);
}

static void
open_kernels(Ring *a)
{
   const Options *o = a->r->options;
   char shape[32], blocks[192], causal[224];
   Rank *r = a->r;
   snprintf(shape, sizeof shape, "D=%u", a->dim);
   snprintf(blocks, sizeof blocks, "%s GROUP=%u BLOCK_M=%u BLOCK_N=%u", shape, a->group, o->block_m,
            o->block_n);
   snprintf(causal, sizeof causal, "%s CAUSAL=True", blocks);
   a->causal = rank_kernel(r, "ring_attention.tile", "ring_attend", causal);
   a->whole = rank_kernel(r, "ring_attention.tile", "ring_attend", blocks);
   a->merge = rank_kernel(r, "ring_attention.tile", "ring_merge", shape);
   a->convert = rank_kernel(r, "arrays.tile", "convert", "");
   a->fill = rank_kernel(r, "arrays.tile", "fill", shape);
   a->differences = rank_kernel(r, "arrays.tile", "differences", shape);
   if (a->has_backward)
      open_backward_kernels(a, shape);
}

static void
open_backward_arrays(Ring *a, bool alone)
{
   Rank *r = a->r;
   a->dout = rank_array(r, a->dtype, a->q_elems);
   a->delta = rank_array(r, TILEC_FP32, a->heads * a->local);
   a->dq = rank_array(r, TILEC_FP32, a->q_elems);
   a->dkv[0] = rank_array(r, TILEC_FP32, 2 * a->kv_elems);
   a->dkv[1] = rank_array(r, TILEC_FP32, alone ? 0 : 2 * a->kv_elems);
   a->part_dkv = rank_array(r, TILEC_FP32, alone ? 0 : 2 * a->kv_elems);
   fill_own(a, &a->dout, 0, a->heads, SEED_DOUT);
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
   fill_own(a, &a->q, 0, a->heads, SEED_Q);
   fill_own(a, &a->own_kv, 0, a->heads_kv, SEED_K);
   fill_own(a, &a->own_kv, a->kv_elems, a->heads_kv, SEED_V);
   if (a->has_backward)
      open_backward_arrays(a, alone);
}

static bool
sizes_are_right(Rank *r)
{
   const Options *o = r->options;
   if (!o->group || !o->heads || o->heads % o->group != 0)
      rank_fail(r, "%u heads cannot share k and v in groups of %u", o->heads, o->group);
   else if (o->tokens % (2 * r->size) != 0 || !o->tokens)
      rank_fail(r, "%u tokens cannot be cut into 2 chunks for each of %u ranks", o->tokens,
                r->size);
   return !rank_failed(r);
}

static Ring
open_ring(Rank *r)
{
   const Options *o = r->options;
   Ring a = {.r = r, .heads = o->heads, .dim = o->dim, .group = o->group, .tokens = o->tokens};
   if (!sizes_are_right(r))
      return a;
   a.heads_kv = a.heads / a.group;
   a.chunk = a.tokens / (2 * r->size);
   a.local = 2 * a.chunk;
   a.q_elems = a.heads * a.local * a.dim;
   a.kv_elems = a.heads_kv * a.local * a.dim;
   a.dtype = o->dtype;
   a.scale = 1 / sqrtf((float)a.dim);
   a.has_backward = o->backward;
   open_kernels(&a);
   open_arrays(&a);
   return a;
}

static void
close_ring(Ring *a)
{
   ExKernel *kernels[] = {&a->causal,   &a->whole,       &a->merge,      &a->convert,
                          &a->fill,     &a->differences, &a->causal_kv,  &a->whole_kv,
                          &a->causal_q, &a->whole_q,     &a->make_delta, &a->add_rows};
   Array *arrays[] = {&a->q,     &a->o,   &a->lse,    &a->own_kv,   &a->kv[0],
                      &a->kv[1], &a->acc, &a->part,   &a->part_lse, &a->dout,
                      &a->delta, &a->dq,  &a->dkv[0], &a->dkv[1],   &a->part_dkv};
   for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++)
      ex_free_kernel(kernels[i]);
   for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
      rank_free_array(arrays[i]);
}

static bool
ring_main(Rank *r)
{
   static const char *const files[] = {
      "ring_attention.tile",         "ring_backward_kv.tile",
      "ring_backward_q.tile",        "arrays.tile",
      "../attention.tile",           "../attention_forward.tile",
      "../attention_scores.tile",    "../online_softmax.tile",
      "../attention_backward.tile",  "../attention_backward_kv.tile",
      "../attention_backward_q.tile"};
   rank_compare_kernels(r, files, sizeof files / sizeof files[0]);
   Ring a = open_ring(r);
   rank_say(r, "ring attention: %zu tokens, %u heads, D %u, on %u ranks by %s, %.1f MB a message\n",
            a.tokens, a.heads, a.dim, r->size, r->comm->engine,
            1e-6 * 2 * (double)(a.kv_elems * ex_dtype_bytes(a.dtype)));
   unsigned long long held = r->held;
   ring_forward(r, &a);
   if (a.has_backward)
      ring_backward(r, &a);
   rank_say(r, "a rank holds %llu bytes, sends %llu\n", held, (unsigned long long)r->sent);
   rank_sync(r);
   bool right = r->options->no_check || ring_is_right(&a);
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
