/* layer_norm.tile: rows normalised, scaled and shifted; mean and reciprocal deviation as well. */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const float eps = 1e-5f;

typedef struct Oracle {
   double *y, *mean, *rstd;
} Oracle;

static void
norm_row(const double *x, const double *w, const double *b, size_t cols, double *y, double *mean,
         double *rstd)
{
   double sum = 0, squares = 0;
   for (size_t c = 0; c < cols; c++)
      sum += x[c];
   *mean = sum / (double)cols;
   for (size_t c = 0; c < cols; c++)
      squares += (x[c] - *mean) * (x[c] - *mean);
   *rstd = 1 / sqrt(squares / (double)cols + (double)eps);
   for (size_t c = 0; c < cols; c++)
      y[c] = (x[c] - *mean) * *rstd * w[c] + b[c];
}

static void
report(Example *ex, const char *what, const char *part, ExArray *out, double *oracle,
       double tolerance)
{
   char text[120];
   snprintf(text, sizeof text, "%s %s", what, part);
   ex_fetch(ex, out);
   ex_report(ex, text, ex_relative_l2(out, oracle), tolerance);
   free(oracle);
   ex_free_array(out);
}

static void
run(Example *ex, TilecDtype dtype, size_t rows, size_t cols)
{
   char block[32], what[80];
   snprintf(block, sizeof block, "BLOCK=%zu", ex_next_power_of_two(cols));
   ExKernel k = ex_kernel(ex, "layer_norm.tile", "layer_norm", cols > 4096 ? 8 : 0,
                          (const char *[]){block, NULL});
   ExArray x = ex_random(ex, dtype, rows * cols, 2), w = ex_random(ex, dtype, cols, 1);
   ExArray b = ex_random(ex, dtype, cols, 1), y = ex_output(ex, dtype, rows * cols);
   ExArray mean = ex_output(ex, TILEC_FP32, rows), rstd = ex_output(ex, TILEC_FP32, rows);
   TilecArg args[] = {ex_arg(&x),           ex_arg(&w),           ex_arg(&b),
                      ex_arg(&y),           ex_arg(&mean),        ex_arg(&rstd),
                      TILEC_ARG((int)rows), TILEC_ARG((int)cols), TILEC_ARG(eps)};
   ex_launch(ex, &k, args, sizeof args / sizeof args[0]);

   Oracle o = {ex_doubles(rows * cols), ex_doubles(rows), ex_doubles(rows)};
   for (size_t r = 0; r < rows; r++)
      norm_row(x.value + r * cols, w.value, b.value, cols, o.y + r * cols, &o.mean[r], &o.rstd[r]);
   snprintf(what, sizeof what, "layer_norm %s %zux%zu", ex_dtype_name(dtype), rows, cols);
   report(ex, what, "y", &y, o.y, ex_tolerance(dtype));
   report(ex, what, "mean", &mean, o.mean, 1e-6);
   report(ex, what, "rstd", &rstd, o.rstd, 1e-6);
   ex_free_array(&x);
   ex_free_array(&w);
   ex_free_array(&b);
   ex_free_kernel(&k);
}

int
main(int argc, char **argv)
{
   static const TilecDtype dtypes[] = {TILEC_FP32, TILEC_FP16, TILEC_BF16};
   static const size_t cols[] = {63, 64, 65, 1000};
   Example ex;
   ex_open(&ex, "layer_norm", argc, argv);
   for (size_t d = 0; d < sizeof dtypes / sizeof dtypes[0]; d++) {
      for (size_t i = 0; i < sizeof cols / sizeof cols[0]; i++)
         run(&ex, dtypes[d], 5, cols[i]);
      if (ex.large) {
         run(&ex, dtypes[d], 1151, 1024);
         run(&ex, dtypes[d], 128, 8191);
      }
   }
   return ex_close(&ex);
}
