/* vector_add.tile: out = x + y for four element types and sizes around the block size. */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>

static void
run(Example *ex, const ExKernel *k, TilecDtype dtype, size_t n)
{
   double spread = dtype == TILEC_I32 ? 1e6 : 1;
   ExArray x = ex_random(ex, dtype, n, spread), y = ex_random(ex, dtype, n, spread);
   ExArray out = ex_output(ex, dtype, n);
   TilecArg args[] = {ex_arg(&x), ex_arg(&y), ex_arg(&out), TILEC_ARG((int)n)};
   ex_launch(ex, k, args, 4);
   ex_fetch(ex, &out);

   double *oracle = ex_doubles(n);
   for (size_t i = 0; i < n; i++)
      oracle[i] = x.value[i] + y.value[i];
   char what[80];
   snprintf(what, sizeof what, "vector_add %s n=%zu", ex_dtype_name(dtype), n);
   ex_report(ex, what, ex_relative_l2(&out, oracle), ex_tolerance(dtype));
   free(oracle);
   ex_free_array(&x);
   ex_free_array(&y);
   ex_free_array(&out);
}

int
main(int argc, char **argv)
{
   static const TilecDtype dtypes[] = {TILEC_FP32, TILEC_FP16, TILEC_BF16, TILEC_I32};
   static const size_t sizes[] = {1, 1023, 1024, 1025, 98432};
   static const size_t large[] = {(1 << 20) - 1, 1 << 20, (1 << 24) + 1};
   Example ex;
   ex_open(&ex, "vector_add", argc, argv);
   ExKernel k = ex_kernel(&ex, "vector_add.tile", "vector_add", 0, NULL);
   for (size_t d = 0; d < sizeof dtypes / sizeof dtypes[0]; d++) {
      for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
         run(&ex, &k, dtypes[d], sizes[i]);
      for (size_t i = 0; ex.large && i < sizeof large / sizeof large[0]; i++)
         run(&ex, &k, dtypes[d], large[i]);
   }
   ex_free_kernel(&k);
   return ex_close(&ex);
}
