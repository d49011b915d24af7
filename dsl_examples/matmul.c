/* matmul.tile: three input types, odd sizes, transposed operands, fused activations. */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Case {
   TilecDtype dtype;
   int m, n, k;
   bool a_transposed, b_transposed; /* stored column by column */
   const char *activation;          /* none, relu, leaky_relu */
   const char *precision;           /* fp32 only: tf32, ieee */
   bool tf32_inputs;                /* inputs that tf32 holds exactly: only sums are rounded */
   uint32_t num_warps;
   int block_m, block_n, block_k;
} Case;

static double
activate(const char *name, double x)
{
   if (x > 0 || strcmp(name, "none") == 0)
      return x;
   return strcmp(name, "relu") == 0 ? 0 : 0.01 * x;
}

static void
oracle_matmul(const Case *c, const double *a, const double *b, double *out)
{
   size_t m = (size_t)c->m, n = (size_t)c->n, k = (size_t)c->k;
   size_t a_row = c->a_transposed ? 1 : k, a_col = c->a_transposed ? m : 1;
   size_t b_row = c->b_transposed ? 1 : n, b_col = c->b_transposed ? k : 1;
   for (size_t i = 0; i < m; i++) {
      double *row = out + i * n;
      for (size_t l = 0; l < k; l++) {
         double x = a[i * a_row + l * a_col];
         for (size_t j = 0; j < n; j++)
            row[j] += x * b[l * b_row + j * b_col];
      }
      for (size_t j = 0; j < n; j++)
         row[j] = activate(c->activation, row[j]);
   }
}

static double
tolerance_of(const Case *c)
{
   if (c->dtype != TILEC_FP32)
      return ex_tolerance(c->dtype);
   if (strcmp(c->precision, "ieee") == 0)
      return 1e-6;
   return c->tf32_inputs ? 2e-6 : 1e-3;
}

static void
run(Example *ex, const Case *c)
{
   size_t m = (size_t)c->m, n = (size_t)c->n, k = (size_t)c->k;
   char text[5][40];
   snprintf(text[0], sizeof text[0], "BLOCK_M=%d", c->block_m);
   snprintf(text[1], sizeof text[1], "BLOCK_N=%d", c->block_n);
   snprintf(text[2], sizeof text[2], "BLOCK_K=%d", c->block_k);
   snprintf(text[3], sizeof text[3], "ACTIVATION=%s", c->activation);
   snprintf(text[4], sizeof text[4], "PRECISION=%s", c->precision);
   ExKernel kernel = ex_kernel(ex, "matmul.tile", "matmul", c->num_warps,
                               (const char *[]){text[0], text[1], text[2], text[3], text[4], NULL});
   ExArray a = c->tf32_inputs ? ex_random_tf32(ex, m * k, 1) : ex_random(ex, c->dtype, m * k, 1);
   ExArray b = c->tf32_inputs ? ex_random_tf32(ex, k * n, 1) : ex_random(ex, c->dtype, k * n, 1);
   ExArray out = ex_output(ex, c->dtype, m * n);
   TilecArg args[] = {ex_arg(&a),
                      ex_arg(&b),
                      ex_arg(&out),
                      TILEC_ARG(c->m),
                      TILEC_ARG(c->n),
                      TILEC_ARG(c->k),
                      TILEC_ARG(c->a_transposed ? 1 : c->k),
                      TILEC_ARG(c->a_transposed ? c->m : 1),
                      TILEC_ARG(c->b_transposed ? 1 : c->n),
                      TILEC_ARG(c->b_transposed ? c->k : 1),
                      TILEC_ARG(c->n),
                      TILEC_ARG(1)};
   ex_launch(ex, &kernel, args, sizeof args / sizeof args[0]);
   ex_fetch(ex, &out);

   double *oracle = ex_doubles(m * n);
   oracle_matmul(c, a.value, b.value, oracle);
   char what[160];
   snprintf(what, sizeof what, "matmul %s%s%s%s %dx%dx%d%s%s%s%s", ex_dtype_name(c->dtype),
            c->dtype == TILEC_FP32 ? " " : "", c->dtype == TILEC_FP32 ? c->precision : "",
            c->tf32_inputs ? " (tf32 inputs)" : "", c->m, c->n, c->k, c->a_transposed ? " a^T" : "",
            c->b_transposed ? " b^T" : "", strcmp(c->activation, "none") ? " " : "",
            strcmp(c->activation, "none") ? c->activation : "");
   ex_report(ex, what, ex_relative_l2(&out, oracle), tolerance_of(c));
   free(oracle);
   ex_free_array(&a);
   ex_free_array(&b);
   ex_free_array(&out);
   ex_free_kernel(&kernel);
}

#define TILE 4, 64, 64, 32
static const Case small_cases[] = {
   {TILEC_FP16, 64, 64, 64, false, false, "none", "tf32", false, TILE},
   {TILEC_FP16, 127, 65, 33, false, false, "none", "tf32", false, TILE},
   {TILEC_FP16, 129, 130, 100, false, true, "relu", "tf32", false, TILE},
   {TILEC_BF16, 128, 64, 96, true, false, "leaky_relu", "tf32", false, TILE},
   {TILEC_BF16, 65, 127, 1, false, false, "none", "tf32", false, TILE},
   {TILEC_FP32, 63, 65, 64, false, false, "none", "tf32", false, TILE},
   {TILEC_FP32, 63, 65, 64, false, false, "none", "tf32", true, TILE},
   {TILEC_FP32, 65, 63, 40, false, false, "relu", "ieee", false, TILE},
   {TILEC_FP16, 130, 250, 70, false, false, "none", "tf32", false, 4, 128, 128, 32},
};
static const Case large_cases[] = {
   {TILEC_FP16, 512, 512, 512, false, false, "none", "tf32", false, 4, 128, 128, 32},
   {TILEC_FP16, 511, 513, 515, false, false, "leaky_relu", "tf32", false, 8, 128, 128, 64},
   {TILEC_BF16, 1024, 768, 512, true, true, "none", "tf32", false, 8, 128, 256, 64},
   {TILEC_BF16, 513, 1025, 129, false, true, "relu", "tf32", false, 4, 64, 128, 32},
   {TILEC_FP32, 512, 511, 512, false, false, "none", "tf32", false, 4, 64, 64, 32},
   {TILEC_FP32, 512, 511, 512, false, false, "none", "tf32", true, 4, 64, 64, 32},
   {TILEC_FP32, 257, 256, 255, true, false, "none", "ieee", false, 4, 64, 64, 32},
   {TILEC_FP16, 1000, 1000, 1000, false, false, "none", "tf32", false, 4, 128, 64, 32},
};

int
main(int argc, char **argv)
{
   Example ex;
   ex_open(&ex, "matmul", argc, argv);
   for (size_t i = 0; i < sizeof small_cases / sizeof small_cases[0]; i++)
      run(&ex, &small_cases[i]);
   for (size_t i = 0; ex.large && i < sizeof large_cases / sizeof large_cases[0]; i++)
      run(&ex, &large_cases[i]);
   return ex_close(&ex);
}
