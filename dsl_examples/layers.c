/* What a transformer has besides norms, products and attention: rotary embedding, SwiGLU,
 * cross-entropy, embedding, AdamW, quantised rows; forward and backward. */
#include "cases.h"

#include <math.h>

/* ---- rotary position embedding ---- */
static void
rope_inputs(ExCase *c)
{
   double half = (double)ex_size(c, "D") / 2;
   for (size_t i = 0; i < ex_elems(c, "frequency"); i++)
      ex_in(c, "frequency")[i] = pow(10000, -(double)i / half);
}

static void
rope(ExCase *c)
{
   size_t heads = ex_size(c, "H"), half = ex_size(c, "D") / 2;
   double sign = ex_is(c, "INVERSE", "True") ? -1 : 1;
   for (size_t head = 0; head < ex_size(c, "N") * heads; head++) {
      const double *x = ex_in(c, "x") + head * 2 * half;
      double *y = ex_want(c, "y") + head * 2 * half;
      for (size_t i = 0; i < half; i++) {
         double angle = ex_in(c, "positions")[head / heads] * ex_in(c, "frequency")[i] * sign;
         y[i] = x[i] * cos(angle) - x[i + half] * sin(angle);
         y[i + half] = x[i] * sin(angle) + x[i + half] * cos(angle);
      }
   }
}

/* ---- SwiGLU ---- */
static void
swiglu(ExCase *c)
{
   for (size_t i = 0; i < ex_size(c, "N"); i++) {
      double g = ex_in(c, "gate")[i], u = ex_in(c, "up")[i], dy = ex_in(c, "dy")[i];
      double s = 1 / (1 + exp(-g));
      ex_want(c, "y")[i] = g * s * u;
      ex_want(c, "dup")[i] = dy * g * s;
      ex_want(c, "dgate")[i] = dy * u * (s + g * s * (1 - s));
   }
}

/* ---- cross-entropy ---- */
static void
labels(ExCase *c)
{
   size_t rows = ex_size(c, "R");
   for (size_t r = 0; r < rows; r++) /* the second row has no label */
      ex_in(c, "labels")[r] = r == 1 ? -100 : floor(ex_uniform(ex_of(c)) * ex_real(c, "C"));
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
         ex_want(c, "loss")[r] += target * (lse - x[i]);
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

/* ---- AdamW ---- */
static void
states(ExCase *c)
{
   for (size_t i = 0; i < ex_size(c, "N"); i++)
      ex_in(c, "v")[i] = ex_in(c, "g")[i] * ex_in(c, "g")[i] * ex_uniform(ex_of(c));
}

static void
adamw(ExCase *c)
{
   double beta1 = ex_real(c, "beta1"), beta2 = ex_real(c, "beta2");
   for (size_t i = 0; i < ex_size(c, "N"); i++) {
      double w = ex_in(c, "w")[i], g = ex_in(c, "g")[i];
      double m = ex_want(c, "m")[i] = beta1 * ex_in(c, "m")[i] + (1 - beta1) * g;
      double v = ex_want(c, "v")[i] = beta2 * ex_in(c, "v")[i] + (1 - beta2) * g * g;
      double step = m / ex_real(c, "c1") / (sqrt(v / ex_real(c, "c2")) + ex_real(c, "eps"));
      ex_want(c, "w")[i] = w - ex_real(c, "rate") * (step + ex_real(c, "decay") * w);
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
         double want = ex_round(q, (double)((float)x[i] / (float)scale));
         ex_want(c, "q")[r * cols + i] = want;
         ex_want(c, "y")[r * cols + i] = want * scale;
      }
   }
}

static const ExRow rows[] = {
   {.name = "rope",
    .arrays = "x: T[N*H*D], positions: i32[N] below 5000, frequency: given fp32[D/2],"
              "y: out T[N*H*D] within 1e-3 slack S",
    .launches = {"rope(x, positions, frequency, y, N, H) D=D INVERSE=INVERSE"},
    .cases = "T=fp16 N=3 H=5 D=64 INVERSE=False S=1; T=bf16 N=2 H=8 D=128 INVERSE=True S=4;"
             "T=fp32 N=5 H=9 D=32 INVERSE=False S=0.2",
    .large = "T=bf16 N=101 H=32 D=128 INVERSE=False S=4",
    .prepare = rope_inputs,
    .oracle = rope},
   {.name = "swiglu",
    .arrays = "gate: T[N], up: T[N], dy: T[N], y: out T[N], dgate: out T[N], dup: out T[N]",
    .launches = {"swiglu(gate, up, y, N)", "swiglu.swiglu_bwd(gate, up, dy, dgate, dup, N)"},
    .cases = "T=fp32 N=1023; T=fp16 N=1024; T=bf16 N=3001",
    .large = "T=bf16 N=200003",
    .oracle = swiglu},
   {.name = "cross_entropy",
    .arrays = "x: T[R*C] spread 3, labels: given i32[R], dloss: fp32[R], loss: out fp32[R],"
              "lse: out fp32[R], dx: out T[R*C]",
    .launches = {"cross_entropy(x, labels, loss, lse, R, C, smoothing)",
                 "cross_entropy.cross_entropy_bwd(x, labels, lse, dloss, dx, R, C, smoothing)"},
    .cases = "T=fp32 R=3 C=65 smoothing=0.0; T=fp16 R=5 C=2049 smoothing=0.1;"
             "T=bf16 R=2 C=5000 smoothing=0.2; T=fp32 R=1 C=2 smoothing=0.1",
    .large = "T=bf16 R=3 C=128257 smoothing=0.1",
    .prepare = labels,
    .oracle = cross_entropy},
   {.name = "embedding",
    .arrays = "table: T[V*C], index: i32[N] below V, dy: T[N*C], y: out T[N*C],"
              "dtable: zeroed fp32[V*C]",
    .launches = {"embedding(table, index, y, N, C)",
                 "embedding.embedding_bwd(dy, index, dtable, N, C)"},
    .cases = "T=fp16 V=7 N=20 C=65; T=bf16 V=100 N=3 C=1030; T=fp32 V=3 N=9 C=1",
    .large = "T=bf16 V=500 N=203 C=1024",
    .oracle = embedding},
   {.name = "adamw",
    .arrays = "w: inout T[N], g: T[N], m: inout fp32[N] spread 0.1, v: inout fp32[N]",
    .launches = {"adamw(w, g, m, v, N, rate, beta1, beta2, eps, decay, c1, c2)"},
#define RATES " rate=0.01 beta1=0.9 beta2=0.999 eps=1e-8 decay=0.1 c1=0.19 c2=0.002"
    .cases = "T=fp32 N=1025" RATES "; T=bf16 N=777" RATES,
    .large = "T=bf16 N=200001" RATES,
    .prepare = states,
    .oracle = adamw},
   {.name = "quantize",
    .arrays =
       "x: T[R*C] spread 4, q: out Q[R*C] within 0, scale: out fp32[R], y: out T[R*C] slack 2",
    .launches = {"quantize(x, q, scale, R, C) BLOCK=pow2(C)",
                 "quantize.dequantize(q, scale, y, R, C) BLOCK=pow2(C)"},
    .cases = "T=fp16 Q=i8 R=3 C=65; T=bf16 Q=fp8e4nv R=4 C=1000; T=fp32 Q=fp8e5 R=2 C=33",
    .large = "T=bf16 Q=i8 R=51 C=4096",
    .oracle = quantize},
};

int
main(int argc, char **argv)
{
   return ex_run_rows("layers", rows, sizeof rows / sizeof rows[0], argc, argv);
}
