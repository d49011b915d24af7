/* Cross-entropy, embedding, quantised rows: forward and backward. */
#include "cases.h"

#include <math.h>

/* ---- cross-entropy ---- */
static void
labels(ExCase *c)
{
   size_t rows = ex_size(c, "R");
   for (size_t r = 0; r < rows; r++) /* the second row has no label */
      ex_in(c, "labels")[r] = r == 1 ? -100 : floor(ex_uniform(ex_of(c)) * ex_real(c, "C"));
}

/* A third of the columns, never a label's, are switched off. */
static void
masked_logits(ExCase *c)
{
   size_t cols = ex_size(c, "C");
   labels(c);
   for (size_t i = 0; i < ex_elems(c, "x"); i++) {
      bool is_masked = i % cols % 3 == 0 && (double)(i % cols) != ex_in(c, "labels")[i / cols];
      ex_in(c, "x")[i] = is_masked ? -(double)INFINITY : 3 * ex_normal(ex_of(c));
   }
}

static void
cross_entropy(ExCase *c)
{
   size_t rows = ex_size(c, "R"), cols = ex_size(c, "C");
   double smoothing = ex_real(c, "smoothing");
   for (size_t r = 0; r < rows; r++) {
      const double *x = ex_in(c, "x") + r * cols, label = ex_in(c, "labels")[r];
      double max = -INFINITY, sum = 0;
      for (size_t i = 0; i < cols; i++)
         max = fmax(max, x[i]);
      for (size_t i = 0; i < cols; i++)
         sum += exp(x[i] - max);
      double lse = ex_want(c, "lse")[r] = max + log(sum);
      for (size_t i = 0; i < cols && label >= 0; i++) {
         double target = ((double)i == label ? 1 - smoothing : 0) + smoothing / (double)cols;
         ex_want(c, "loss")[r] += target > 0 ? target * (lse - x[i]) : 0;
         ex_want(c, "dx")[r * cols + i] = ex_in(c, "dloss")[r] * (exp(x[i] - lse) - target);
      }
   }
}

/* ---- embedding ---- */
static void
embedding(ExCase *c)
{
   size_t cols = ex_size(c, "C");
   for (size_t t = 0; t < ex_size(c, "N"); t++) {
      size_t entry = (size_t)ex_in(c, "index")[t];
      for (size_t i = 0; i < cols; i++) {
         ex_want(c, "y")[t * cols + i] = ex_in(c, "table")[entry * cols + i];
         ex_want(c, "dtable")[entry * cols + i] += ex_in(c, "dy")[t * cols + i];
      }
   }
}

/* ---- quantised rows ---- */
static void
quantize(ExCase *c)
{
   size_t rows = ex_size(c, "R"), cols = ex_size(c, "C");
   TilecDtype q = ex_dtype_named(ex_word(c, "Q"));
   double limit = q == TILEC_I8 ? 127 : q == TILEC_FP8E4NV ? 448 : 57344;
   for (size_t r = 0; r < rows; r++) {
      const double *x = ex_in(c, "x") + r * cols;
      double most = 0;
      for (size_t i = 0; i < cols; i++)
         most = fmax(most, fabs(x[i]));
      double scale = ex_want(c, "scale")[r] = (double)((float)most / (float)limit);
      for (size_t i = 0; i < cols; i++) {
         /* more than the limit where the scale is denormal and so has few bits */
         double ratio = fmin(fmax((double)((float)x[i] / (float)scale), -limit), limit);
         double want = scale > 0 ? ex_round(q, ratio) : 0;
         ex_want(c, "q")[r * cols + i] = want;
         ex_want(c, "y")[r * cols + i] = want * scale;
      }
   }
}

#define LOSSES                                                                                     \
   "labels: given i32[R], dloss: fp32[R], loss: out fp32[R], lse: out fp32[R], dx: out T[R*C]"
#define CROSS_ENTROPY                                                                              \
   "cross_entropy(x, labels, loss, lse, R, C, smoothing)",                                         \
      "cross_entropy.cross_entropy_bwd(x, labels, lse, dloss, dx, R, C, smoothing)"
static const ExRow rows[] = {
   {.name = "cross_entropy",
    .arrays = "x: T[R*C] spread 3," LOSSES,
    .launches = {CROSS_ENTROPY},
    .cases = "T=fp32 R=3 C=65 smoothing=0.0; T=fp16 R=5 C=2049 smoothing=0.1;"
             "T=bf16 R=2 C=5000 smoothing=0.2; T=fp32 R=9 C=2 smoothing=0.1",
    .large = "T=bf16 R=3 C=128257 smoothing=0.1",
    .timed = "T=bf16 R=1024 C=128256 smoothing=0.1",
    .prepare = labels,
    .oracle = cross_entropy},
   {.name = "cross_entropy_masked",
    .arrays = "x: given T[R*C]," LOSSES,
    .launches = {CROSS_ENTROPY},
    .cases = "T=fp32 R=3 C=65 smoothing=0.0; T=bf16 R=4 C=4099 smoothing=0.0",
    .prepare = masked_logits,
    .oracle = cross_entropy},
   {.name = "embedding",
    .arrays = "table: T[V*C], index: i32[N] below V, dy: T[N*C], y: out T[N*C],"
              "dtable: zeroed fp32[V*C]",
    .launches = {"embedding(table, index, y, N, C)",
                 "embedding.embedding_bwd(dy, index, dtable, N, C)"},
    .cases = "T=fp16 V=7 N=20 C=65; T=bf16 V=100 N=3 C=1030; T=fp32 V=3 N=9 C=1",
    .large = "T=bf16 V=500 N=203 C=1024",
    .timed = "T=bf16 V=32000 N=8192 C=4096",
    .oracle = embedding},
   {.name = "quantize",
    .arrays =
       "x: T[R*C] spread SPREAD, q: out Q[R*C] within 0, scale: out fp32[R], y: out T[R*C] slack 2",
    .launches = {"quantize(x, q, scale, R, C) BLOCK=pow2(C)",
                 "quantize.dequantize(q, scale, y, R, C) BLOCK=pow2(C)"},
    .defaults = "SPREAD=4",
    .cases = "T=fp16 Q=i8 R=1 C=17 SPREAD=0; T=fp32 Q=i8 R=3 C=65 SPREAD=1e-43;"
             "T=fp32 Q=fp8e4nv R=3 C=65 SPREAD=1e-43;"
             "T=fp16 Q=i8 R=3 C=65; T=bf16 Q=fp8e4nv R=4 C=1000; T=fp32 Q=fp8e5 R=2 C=33",
    .large = "T=bf16 Q=i8 R=51 C=4096",
    .timed = "T=bf16 Q=i8 R=4096 C=4096; T=bf16 Q=fp8e4nv R=4096 C=4096",
    .oracle = quantize},
};

int
main(int argc, char **argv)
{
   return ex_run_rows("layers", rows, sizeof rows / sizeof rows[0], argc, argv);
}
