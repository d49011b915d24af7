/* elu.tile: forward ELU in fp32, two values of alpha, sizes around the block size. */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void
run(Example *ex, const ExKernel *k, size_t n, float alpha)
{
   ExArray x = ex_random(ex, TILEC_FP32, n, 2), y = ex_output(ex, TILEC_FP32, n);
   TilecArg args[] = {ex_arg(&x), ex_arg(&y), TILEC_ARG((int)n), TILEC_ARG(alpha)};
   ex_launch(ex, k, args, 4);
   ex_fetch(ex, &y);

   double *oracle = ex_doubles(n);
   for (size_t i = 0; i < n; i++)
      oracle[i] = x.value[i] < 0 ? (double)alpha * expm1(x.value[i]) : x.value[i];
   char what[80];
   snprintf(what, sizeof what, "elu fp32 n=%zu alpha=%g", n, (double)alpha);
   ex_report(ex, what, ex_relative_l2(&y, oracle), ex_tolerance(TILEC_FP32));
   free(oracle);
   ex_free_array(&x);
   ex_free_array(&y);
}

int
main(int argc, char **argv)
{
   /* no single element: exp(v) - 1 cancels near 0, which only a norm over several forgives */
   static const size_t sizes[] = {17, 1023, 1024, 1025, 98432};
   static const size_t large[] = {(1 << 20) - 1, 1 << 20, (1 << 24) + 1};
   Example ex;
   ex_open(&ex, "elu", argc, argv);
   ExKernel k = ex_kernel(&ex, "elu.tile", "elu", 0, NULL);
   for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
      run(&ex, &k, sizes[i], i % 2 ? 0.5f : 1.0f);
   for (size_t i = 0; ex.large && i < sizeof large / sizeof large[0]; i++)
      run(&ex, &k, large[i], 1.0f);
   ex_free_kernel(&k);
   return ex_close(&ex);
}
