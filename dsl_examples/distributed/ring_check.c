/* Ring attention beside attention in one process: every rank makes the whole of q, k, v and do, and
 * compares its rows of the results. */
#include "ring.h"

#include <stdio.h>

/* Relative L2 errors, as in ../support.c, of two results with one rounding each to the type. */
static double
tolerance_of(TilecDtype dtype)
{
   return dtype == TILEC_FP32 ? 1e-3 /* products in tf32 */ : dtype == TILEC_FP16 ? 6e-4 : 4e-3;
}

typedef struct Whole {
   Array q, k, v, o, lse, dout, delta, dq, dk, dv;
} Whole;

/* The distance of the ranks' x, [planes, local, dim], from their rows of the whole. */
static double
distance(Ring *a, const Array *x, size_t x_elem, const Array *whole, unsigned planes)
{
   size_t programs = (a->chunk + 15) / 16 * planes;
   RankSums sums = rank_sums_open(a->r, 2 * programs);
   for (unsigned half = 0; half < 2; half++)
      RANK_LAUNCH(a->r, &a->differences, rank_at(x, x_elem + half * a->chunk * a->dim),
                  rank_at(whole, ring_first_token(a, half) * a->dim),
                  rank_sums_at(&sums, half * programs), (int)planes, (int)a->chunk, (int)a->local,
                  (int)a->tokens);
   return rank_sums_close(a->r, &sums);
}

static Array
whole_array(Ring *a, unsigned planes, int seed)
{
   Array x = rank_array(a->r, a->dtype, planes * a->tokens * a->dim);
   if (seed)
      ring_fill(a, rank_at(&x, 0),
                (RingRows){.planes = planes, .rows = a->tokens, .pitch = a->tokens}, seed);
   return x;
}

/* A kernel of the examples; `blocks`: "BLOCK_N=64". */
static ExKernel
example(Ring *a, const char *file, const char *kernel, const char *blocks)
{
   char defines[192];
   snprintf(defines, sizeof defines, "D=%u GROUP=%u CAUSAL=True %s", a->dim, a->group, blocks);
   return rank_kernel(a->r, file, kernel, defines);
}

static bool
is_forward_right(Ring *a, Whole *w)
{
   Rank *r = a->r;
   char blocks[64];
   snprintf(blocks, sizeof blocks, "BLOCK_M=%u BLOCK_N=%u", r->options->block_m,
            r->options->block_n);
   ExKernel forward = example(a, "../attention_forward.tile", "attn_forward", blocks);
   w->q = whole_array(a, a->heads, SEED_Q);
   w->k = whole_array(a, a->heads_kv, SEED_K);
   w->v = whole_array(a, a->heads_kv, SEED_V);
   w->o = whole_array(a, a->heads, 0);
   w->lse = rank_array(r, TILEC_FP32, a->heads * a->tokens);
   RANK_LAUNCH(r, &forward, rank_at(&w->q, 0), rank_at(&w->k, 0), rank_at(&w->v, 0),
               rank_at(&w->o, 0), rank_at(&w->lse, 0), (int)a->heads, (int)a->tokens, a->scale,
               tilec_none(), tilec_none());
   double d = distance(a, &a->o, 0, &w->o, a->heads);
   ex_free_kernel(&forward);
   return rank_is_near(r, "o", d, tolerance_of(a->dtype));
}

static void
whole_backward(Ring *a, Whole *w)
{
   Rank *r = a->r;
   const char *blocks = ring_backward_blocks(a);
   ExKernel kv = example(a, "../attention_backward_kv.tile", "attn_bwd_kv", blocks);
   ExKernel q = example(a, "../attention_backward_q.tile", "attn_bwd_q", blocks);
   RANK_LAUNCH(r, &a->make_delta, rank_at(&w->o, 0), rank_at(&w->dout, 0), rank_at(&w->delta, 0),
               (int)(a->heads * a->tokens));
   RANK_LAUNCH(r, &kv, rank_at(&w->q, 0), rank_at(&w->k, 0), rank_at(&w->v, 0),
               rank_at(&w->dout, 0), rank_at(&w->lse, 0), rank_at(&w->delta, 0), rank_at(&w->dk, 0),
               rank_at(&w->dv, 0), (int)a->heads, (int)a->tokens, a->scale, tilec_none(),
               tilec_none());
   RANK_LAUNCH(r, &q, rank_at(&w->q, 0), rank_at(&w->k, 0), rank_at(&w->v, 0), rank_at(&w->dout, 0),
               rank_at(&w->lse, 0), rank_at(&w->delta, 0), rank_at(&w->dq, 0), (int)a->heads,
               (int)a->tokens, a->scale, tilec_none(), tilec_none());
   rank_sync(r);
   ex_free_kernel(&kv);
   ex_free_kernel(&q);
}

static bool
is_backward_right(Ring *a, Whole *w)
{
   Rank *r = a->r;
   double allowed = tolerance_of(a->dtype);
   w->dout = whole_array(a, a->heads, SEED_DOUT);
   w->delta = rank_array(r, TILEC_FP32, a->heads * a->tokens);
   w->dq = whole_array(a, a->heads, 0);
   w->dk = whole_array(a, a->heads_kv, 0);
   w->dv = whole_array(a, a->heads_kv, 0);
   whole_backward(a, w);
   const Array *dkv = ring_dkv(a);
   double dq = distance(a, &a->dq, 0, &w->dq, a->heads);
   double dk = distance(a, dkv, 0, &w->dk, a->heads_kv);
   double dv = distance(a, dkv, a->kv_elems, &w->dv, a->heads_kv);
   bool right = rank_is_near(r, "dq", dq, allowed);
   right = rank_is_near(r, "dk", dk, allowed) && right;
   return rank_is_near(r, "dv", dv, allowed) && right;
}

bool
ring_is_right(Ring *a)
{
   Whole w = {0};
   bool right = is_forward_right(a, &w);
   if (a->has_backward)
      right = is_backward_right(a, &w) && right;
   rank_sync(a->r);
   Array *arrays[] = {&w.q, &w.k, &w.v, &w.o, &w.lse, &w.dout, &w.delta, &w.dq, &w.dk, &w.dv};
   for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
      rank_free_array(arrays[i]);
   return right;
}
