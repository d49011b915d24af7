/* pointwise.tile: ten pointwise operations in one pass, in three element types. */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static double
chain(double x, double y, double scale)
{
   double d = fmin(fmax(x * scale + y, -4), 4);
   double f = exp(-fabs(d));
   return d > 0 ? d * sqrt(f + 1) : f;
}

static void
run(Example *ex, const ExKernel *k, TilecDtype dtype, size_t n)
{
   float scale = 1.5f;
   ExArray x = ex_random(ex, dtype, n, 2), y = ex_random(ex, dtype, n, 1);
   ExArray out = ex_output(ex, dtype, n);
   TilecArg args[] = {ex_arg(&x), ex_arg(&y), ex_arg(&out), TILEC_ARG((int)n), TILEC_ARG(scale)};
   ex_launch(ex, k, args, 5);
   ex_fetch(ex, &out);

   double *oracle = ex_doubles(n);
   for (size_t i = 0; i < n; i++)
      oracle[i] = chain(x.value[i], y.value[i], (double)scale);
   char what[80];
   snprintf(what, sizeof what, "pointwise %s n=%zu", ex_dtype_name(dtype), n);
   ex_report(ex, what, ex_relative_l2(&out, oracle), ex_tolerance(dtype));
   free(oracle);
   ex_free_array(&x);
   ex_free_array(&y);
   ex_free_array(&out);
}

int
main(int argc, char **argv)
{
   static const TilecDtype dtypes[] = {TILEC_FP32, TILEC_FP16, TILEC_BF16};
   static const size_t sizes[] = {1023, 1024, 1025, 30001};
   Example ex;
   ex_open(&ex, "pointwise", argc, argv);
   ExKernel k = ex_kernel(&ex, "pointwise.tile", "pointwise", 0, NULL);
   for (size_t d = 0; d < sizeof dtypes / sizeof dtypes[0]; d++) {
      for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
         run(&ex, &k, dtypes[d], sizes[i]);
      if (ex.large)
         run(&ex, &k, dtypes[d], (1 << 23) + 5);
   }
   ex_free_kernel(&k);
   return ex_close(&ex);
}
