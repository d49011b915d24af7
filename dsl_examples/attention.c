/* attention.tile: both kernels, causal and not, four head dimensions, two types, odd lengths. */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Case {
   TilecDtype dtype;
   size_t heads, n, d;
   bool causal;
   uint32_t num_warps; /* 0: the kernel's own */
   int block_m, block_n;
} Case;

/* Row `i` of one head in double precision. */
static void
attend_row(const Case *c, const double *q, const double *k, const double *v, double scale, size_t i,
           double *weight, double *o, double *lse)
{
   size_t keys = c->causal ? i + 1 : c->n, d = c->d;
   double max = -INFINITY, sum = 0;
   for (size_t j = 0; j < keys; j++) {
      double s = 0;
      for (size_t e = 0; e < d; e++)
         s += q[i * d + e] * k[j * d + e];
      weight[j] = s * scale;
      max = fmax(max, weight[j]);
   }
   for (size_t j = 0; j < keys; j++)
      sum += weight[j] = exp(weight[j] - max);
   for (size_t j = 0; j < keys; j++)
      for (size_t e = 0; e < d; e++)
         o[i * d + e] += weight[j] / sum * v[j * d + e];
   *lse = max + log(sum);
}

static void
run(Example *ex, const char *kernel, const Case *c)
{
   size_t elems = c->heads * c->n * c->d;
   char text[4][40], what[160];
   snprintf(text[0], sizeof text[0], "D=%zu", c->d);
   snprintf(text[1], sizeof text[1], "CAUSAL=%s", c->causal ? "True" : "False");
   snprintf(text[2], sizeof text[2], "BLOCK_M=%d", c->block_m);
   snprintf(text[3], sizeof text[3], "BLOCK_N=%d", c->block_n);
   ExKernel k = ex_kernel(ex, "attention.tile", kernel, c->num_warps,
                          (const char *[]){text[0], text[1], text[2], text[3], NULL});
   ExArray q = ex_random(ex, c->dtype, elems, 1), key = ex_random(ex, c->dtype, elems, 1);
   ExArray v = ex_random(ex, c->dtype, elems, 1), o = ex_output(ex, c->dtype, elems);
   ExArray lse = ex_output(ex, TILEC_FP32, c->heads * c->n);
   float scale = (float)(1 / sqrt((double)c->d));
   TilecArg args[] = {ex_arg(&q),           ex_arg(&key),    ex_arg(&v),
                      ex_arg(&o),           ex_arg(&lse),    TILEC_ARG((int)c->heads),
                      TILEC_ARG((int)c->n), TILEC_ARG(scale)};
   ex_launch(ex, &k, args, sizeof args / sizeof args[0]);
   ex_fetch(ex, &o);
   ex_fetch(ex, &lse);

   double *oracle = ex_doubles(elems), *oracle_lse = ex_doubles(c->heads * c->n);
   double *weight = ex_doubles(c->n);
   for (size_t h = 0; h < c->heads; h++) {
      size_t base = h * c->n * c->d;
      for (size_t i = 0; i < c->n; i++)
         attend_row(c, q.value + base, key.value + base, v.value + base, (double)scale, i, weight,
                    oracle + base, &oracle_lse[h * c->n + i]);
   }
   snprintf(what, sizeof what, "%s %s heads=%zu n=%zu D=%zu %s", kernel, ex_dtype_name(c->dtype),
            c->heads, c->n, c->d, c->causal ? "causal" : "full");
   ex_report(ex, what, ex_relative_l2(&o, oracle), ex_tolerance(c->dtype));
   snprintf(what + strlen(what), sizeof what - strlen(what), " lse");
   ex_report(ex, what, ex_relative_l2(&lse, oracle_lse), 1e-6);
   free(weight);
   free(oracle);
   free(oracle_lse);
   ex_free_array(&q);
   ex_free_array(&key);
   ex_free_array(&v);
   ex_free_array(&o);
   ex_free_array(&lse);
   ex_free_kernel(&k);
}

static const Case small_cases[] = {
   {TILEC_FP16, 2, 128, 64, false, 0, 128, 64}, {TILEC_FP16, 2, 128, 64, true, 0, 128, 64},
   {TILEC_FP16, 1, 127, 32, false, 0, 64, 32},  {TILEC_FP16, 1, 129, 32, true, 0, 64, 32},
   {TILEC_BF16, 1, 65, 128, true, 8, 128, 64},  {TILEC_BF16, 2, 63, 16, false, 0, 64, 32},
   {TILEC_FP16, 1, 1, 64, true, 0, 128, 64},
};
static const Case large_cases[] = {
   {TILEC_FP16, 4, 1024, 64, false, 0, 128, 64},  {TILEC_FP16, 4, 1024, 64, true, 0, 128, 64},
   {TILEC_FP16, 2, 1023, 128, false, 8, 128, 64}, {TILEC_FP16, 2, 1025, 128, true, 8, 128, 64},
   {TILEC_BF16, 3, 1000, 64, true, 0, 128, 64},   {TILEC_BF16, 2, 1024, 128, true, 8, 128, 64},
   {TILEC_BF16, 5, 777, 32, false, 0, 64, 64},    {TILEC_FP16, 3, 1009, 16, true, 0, 64, 32},
};

int
main(int argc, char **argv)
{
   static const char *const kernels[] = {"attn_fwd", "attn_fwd_bp"};
   Example ex;
   ex_open(&ex, "attention", argc, argv);
   for (size_t k = 0; k < 2; k++) {
      for (size_t i = 0; i < sizeof small_cases / sizeof small_cases[0]; i++)
         run(&ex, kernels[k], &small_cases[i]);
      for (size_t i = 0; ex.large && i < sizeof large_cases / sizeof large_cases[0]; i++)
         run(&ex, kernels[k], &large_cases[i]);
   }
   return ex_close(&ex);
}
