/* Softmax, RMS norm, layer norm, group norm: values and gradients of rows, odd lengths. */
#include "cases.h"

#include <math.h>

/* ---- softmax ---- */
static void
softmax(ExCase *c)
{
   size_t cols = ex_size(c, "C");
   for (size_t r = 0; r < ex_size(c, "R"); r++) {
      const double *x = ex_in(c, "x") + r * cols;
      double *y = ex_want(c, "y") + r * cols, max = -INFINITY, sum = 0;
      for (size_t i = 0; i < cols; i++)
         max = fmax(max, x[i]);
      for (size_t i = 0; i < cols; i++)
         sum += y[i] = exp(x[i] - max);
      for (size_t i = 0; i < cols; i++)
         y[i] /= sum;
   }
}

/* ---- RMS norm ---- */
static void
rms_norm(ExCase *c)
{
   size_t rows = ex_size(c, "R"), cols = ex_size(c, "C");
   const double *w = ex_in(c, "w");
   for (size_t r = 0; r < rows; r++) {
      const double *x = ex_in(c, "x") + r * cols, *dy = ex_in(c, "dy") + r * cols;
      double *y = ex_want(c, "y") + r * cols, *dx = ex_want(c, "dx") + r * cols;
      double squares = 0, along = 0;
      for (size_t i = 0; i < cols; i++)
         squares += x[i] * x[i];
      double rstd = ex_want(c, "rstd")[r] = 1 / sqrt(squares / (double)cols + ex_real(c, "eps"));
      for (size_t i = 0; i < cols; i++)
         along += dy[i] * w[i] * x[i] * rstd / (double)cols;
      for (size_t i = 0; i < cols; i++) {
         y[i] = x[i] * rstd * w[i];
         dx[i] = rstd * (dy[i] * w[i] - x[i] * rstd * along);
         ex_want(c, "dw")[i] += dy[i] * x[i] * rstd;
      }
   }
}

/* ---- layer norm ---- */
static void
layer_norm(ExCase *c)
{
   size_t rows = ex_size(c, "R"), cols = ex_size(c, "C");
   const double *w = ex_in(c, "w"), *b = ex_in(c, "b"), n = (double)cols;
   for (size_t r = 0; r < rows; r++) {
      const double *x = ex_in(c, "x") + r * cols, *dy = ex_in(c, "dy") + r * cols;
      double *dx = ex_want(c, "dx") + r * cols, mean = 0, squares = 0, along_x = 0, along_1 = 0;
      for (size_t i = 0; i < cols; i++)
         mean += x[i] / n;
      for (size_t i = 0; i < cols; i++)
         squares += (x[i] - mean) * (x[i] - mean);
      double rstd = 1 / sqrt(squares / n + ex_real(c, "eps"));
      for (size_t i = 0; i < cols; i++) {
         along_x += dy[i] * w[i] * (x[i] - mean) * rstd / n;
         along_1 += dy[i] * w[i] / n;
      }
      for (size_t i = 0; i < cols; i++) {
         double normal = (x[i] - mean) * rstd;
         ex_want(c, "y")[r * cols + i] = normal * w[i] + b[i];
         dx[i] = rstd * (dy[i] * w[i] - normal * along_x - along_1);
         ex_want(c, "dw")[i] += dy[i] * normal;
         ex_want(c, "db")[i] += dy[i];
      }
      ex_want(c, "mean")[r] = mean;
      ex_want(c, "rstd")[r] = rstd;
   }
}

/* ---- group norm ---- */
static void
group_norm(ExCase *c)
{
   size_t groups = ex_size(c, "G"), channels = ex_size(c, "C"), pixels = ex_size(c, "S");
   size_t size = channels * pixels;
   for (size_t at = 0; at < ex_size(c, "N") * groups; at++) {
      const double *x = ex_in(c, "x") + at * size;
      double *y = ex_want(c, "y") + at * size, mean = 0, squares = 0;
      for (size_t i = 0; i < size; i++)
         mean += x[i] / (double)size;
      for (size_t i = 0; i < size; i++)
         squares += (x[i] - mean) * (x[i] - mean);
      double rstd = 1 / sqrt(squares / (double)size + ex_real(c, "eps"));
      for (size_t i = 0; i < size; i++) {
         size_t channel = at % groups * channels + i / pixels;
         y[i] = (x[i] - mean) * rstd * ex_in(c, "w")[channel] + ex_in(c, "b")[channel];
      }
      ex_want(c, "mean")[at] = mean;
      ex_want(c, "rstd")[at] = rstd;
   }
}

#define ROW " BLOCK=pow2(C) warps=max(4, pow2(C)/1024)"
static const char row_cases[] = "T=fp32 R=5 C=63 P=3 eps=1e-5; T=fp16 R=7 C=64 P=2 eps=1e-5;"
                                "T=bf16 R=4 C=65 P=5 eps=1e-6; T=fp16 R=5 C=1000 P=2 eps=1e-5;"
                                "T=bf16 R=9 C=1000 P=4 eps=1e-5;"
                                "T=fp32 R=2 C=3 P=1 eps=1e-5";
static const char row_large[] =
   "T=fp32 R=40 C=8191 P=132 eps=1e-6; T=bf16 R=150 C=4096 P=132 eps=1e-6";

#define SOFTMAX(T)                                                                                 \
   "R=7 C=1 T=" T "; R=7 C=63 T=" T "; R=7 C=64 T=" T "; R=7 C=65 T=" T "; R=7 C=781 T=" T         \
   "; R=7 C=1024 T=" T ";"
#define LARGE_SOFTMAX(T) "T=" T " R=1823 C=781; T=" T " R=256 C=4097; T=" T " R=64 C=16384;"
static const char row_timed[] = "T=bf16 R=8192 C=4096 P=264 eps=1e-6";

static const ExRow rows[] = {
   {.name = "softmax",
    .arrays = "x: T[R*C] spread 3, y: out T[R*C]",
    .launches = {"softmax(x, y, R, C)" ROW},
    .cases = SOFTMAX("fp32") SOFTMAX("fp16") SOFTMAX("bf16"),
    .large = LARGE_SOFTMAX("fp32") LARGE_SOFTMAX("bf16"),
    .timed = "T=fp32 R=8192 C=4096",
    .oracle = softmax},
   {.name = "rms_norm",
    .arrays = "x: T[R*C] spread 2, w: T[C], dy: T[R*C], y: out T[R*C], rstd: out fp32[R],"
              "dx: out T[R*C], parts: scratch fp32[P*C], dw: out fp32[C]",
    .launches = {"rms_norm(x, w, y, rstd, R, C, eps)" ROW,
                 "rms_norm.rms_norm_bwd(x, w, dy, rstd, dx, parts, R, C, P)" ROW,
                 "column_sums(parts, dw, P, C)"},
    .cases = row_cases,
    .large = row_large,
    .timed = row_timed,
    .oracle = rms_norm},
   {.name = "layer_norm",
    .arrays = "x: T[R*C] spread 2, w: T[C], b: T[C], dy: T[R*C], y: out T[R*C],"
              "mean: out fp32[R], rstd: out fp32[R], dx: out T[R*C],"
              "parts: scratch fp32[P*C], dw: out fp32[C], db: out fp32[C],"
              "db_parts: scratch fp32[P*C]",
    .launches = {"layer_norm(x, w, b, y, mean, rstd, R, C, eps)" ROW,
                 "layer_norm_backward.layer_norm_bwd(x, w, dy, mean, rstd, dx, parts, db_parts, R, "
                 "C, P)" ROW,
                 "column_sums(parts, dw, P, C)", "column_sums(db_parts, db, P, C)"},
    .cases = row_cases,
    .large = row_large,
    .timed = row_timed,
    .oracle = layer_norm},
   {.name = "group_norm",
    .arrays = "x: T[N*G*C*S] spread 2, w: T[G*C], b: T[G*C], y: out T[N*G*C*S],"
              "mean: out fp32[N*G], rstd: out fp32[N*G]",
    .launches = {"group_norm(x, w, b, y, mean, rstd, N, G, C, S, eps)"},
    .cases = "T=fp32 N=2 G=3 C=4 S=49 eps=1e-5; T=fp16 N=1 G=2 C=5 S=513 eps=1e-5;"
             "T=bf16 N=3 G=1 C=1 S=17 eps=1e-6",
    .large = "T=bf16 N=2 G=32 C=10 S=4095 eps=1e-5",
    .timed = "T=bf16 N=16 G=32 C=10 S=4096 eps=1e-5",
    .oracle = group_norm},
};

int
main(int argc, char **argv)
{
   return ex_run_rows("norms", rows, sizeof rows / sizeof rows[0], argc, argv);
}
