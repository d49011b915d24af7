/* softmax.tile: softmax of rows, row lengths around powers of two. */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void
softmax_row(const double *x, double *y, size_t cols)
{
   double max = -INFINITY, sum = 0;
   for (size_t c = 0; c < cols; c++)
      max = fmax(max, x[c]);
   for (size_t c = 0; c < cols; c++)
      sum += y[c] = exp(x[c] - max);
   for (size_t c = 0; c < cols; c++)
      y[c] /= sum;
}

static void
run(Example *ex, TilecDtype dtype, size_t rows, size_t cols)
{
   char block[32], what[80];
   snprintf(block, sizeof block, "BLOCK=%zu", ex_next_power_of_two(cols));
   ExKernel k =
      ex_kernel(ex, "softmax.tile", "softmax", cols > 4096 ? 8 : 0, (const char *[]){block, NULL});
   ExArray x = ex_random(ex, dtype, rows * cols, 3), y = ex_output(ex, dtype, rows * cols);
   TilecArg args[] = {ex_arg(&x), ex_arg(&y), TILEC_ARG((int)rows), TILEC_ARG((int)cols)};
   ex_launch(ex, &k, args, 4);
   ex_fetch(ex, &y);

   double *oracle = ex_doubles(rows * cols);
   for (size_t r = 0; r < rows; r++)
      softmax_row(x.value + r * cols, oracle + r * cols, cols);
   snprintf(what, sizeof what, "softmax %s %zux%zu", ex_dtype_name(dtype), rows, cols);
   ex_report(ex, what, ex_relative_l2(&y, oracle), ex_tolerance(dtype));
   free(oracle);
   ex_free_array(&x);
   ex_free_array(&y);
   ex_free_kernel(&k);
}

int
main(int argc, char **argv)
{
   static const TilecDtype dtypes[] = {TILEC_FP32, TILEC_FP16, TILEC_BF16};
   static const size_t cols[] = {1, 63, 64, 65, 781, 1024};
   Example ex;
   ex_open(&ex, "softmax", argc, argv);
   for (size_t d = 0; d < sizeof dtypes / sizeof dtypes[0]; d++) {
      for (size_t i = 0; i < sizeof cols / sizeof cols[0]; i++)
         run(&ex, dtypes[d], 7, cols[i]);
      if (ex.large) {
         run(&ex, dtypes[d], 1823, 781);
         run(&ex, dtypes[d], 512, 4097);
         run(&ex, dtypes[d], 256, 16384);
      }
   }
   return ex_close(&ex);
}
