/* Products of matrices: plain, split along K, persistent, batched, grouped, fused, with small
 * weights, by expert; and the convolution that is one. */
#include "cases.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- any strides, three activations ---- */
static double
activated(const char *name, double x)
{
   if (x > 0 || strcmp(name, "none") == 0)
      return x;
   return strcmp(name, "relu") == 0 ? 0 : 0.01 * x;
}

static void
matmul(ExCase *c)
{
   size_t m = ex_size(c, "M"), n = ex_size(c, "N"), k = ex_size(c, "K");
   bool a_turned = ex_size(c, "TA"), b_turned = ex_size(c, "TB"); /* stored column by column */
   const double *a = ex_in(c, "a"), *b = ex_in(c, "b");
   for (size_t i = 0; i < m; i++) {
      double *row = ex_want(c, "c") + i * n;
      for (size_t l = 0; l < k; l++)
         for (size_t j = 0; j < n; j++)
            row[j] += a[a_turned ? l * m + i : i * k + l] * b[b_turned ? j * k + l : l * n + j];
      for (size_t j = 0; j < n; j++)
         row[j] = activated(ex_word(c, "ACT"), row[j]);
   }
}

/* c += a @ b of m x k and k x n */
static void
multiply(double *c, const double *a, const double *b, size_t m, size_t n, size_t k)
{
   for (size_t i = 0; i < m; i++)
      for (size_t l = 0; l < k; l++)
         for (size_t j = 0; j < n; j++)
            c[i * n + j] += a[i * k + l] * b[l * n + j];
}

static void
plain(ExCase *c)
{
   multiply(ex_want(c, "c"), ex_in(c, "a"), ex_in(c, "b"), ex_size(c, "M"), ex_size(c, "N"),
            ex_size(c, "K"));
}

static void
batched(ExCase *c)
{
   size_t m = ex_size(c, "M"), n = ex_size(c, "N"), k = ex_size(c, "K");
   for (size_t i = 0; i < ex_size(c, "B"); i++)
      multiply(ex_want(c, "c") + i * m * n, ex_in(c, "a") + i * m * k, ex_in(c, "b") + i * k * n, m,
               n, k);
}

/* ---- grouped ---- */
static void
random_ends(ExCase *c)
{
   size_t groups = ex_size(c, "G"), at = 0, m = ex_size(c, "M");
   for (size_t g = 0; g < groups; g++) { /* the second group is empty */
      at += g == 1 ? 0 : (size_t)(ex_uniform(ex_of(c)) * (double)(m - at + 1));
      ex_in(c, "ends")[g] = g + 1 == groups ? (double)m : (double)at;
   }
}

static void
grouped(ExCase *c)
{
   size_t n = ex_size(c, "N"), k = ex_size(c, "K"), begin = 0;
   for (size_t g = 0; g < ex_size(c, "G"); g++) {
      size_t end = (size_t)ex_in(c, "ends")[g];
      multiply(ex_want(c, "c") + begin * n, ex_in(c, "a") + begin * k, ex_in(c, "b") + g * k * n,
               end - begin, n, k);
      begin = end;
   }
}

/* ---- fused ---- */
static double
gelu(const ExCase *c, double x)
{
   if (ex_is(c, "GELU", "erf"))
      return 0.5 * x * (1 + erf(x / sqrt(2)));
   if (ex_is(c, "GELU", "tanh"))
      return 0.5 * x * (1 + tanh(sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x)));
   return x;
}

static void
fused(ExCase *c)
{
   size_t n = ex_size(c, "N");
   double *out = ex_want(c, "c");
   plain(c);
   for (size_t i = 0; i < ex_elems(c, "c"); i++) {
      double bias = ex_is(c, "BIAS", "None") ? 0 : ex_in(c, "bias")[i % n];
      double residual = ex_is(c, "RESIDUAL", "None") ? 0 : ex_in(c, "residual")[i];
      out[i] = gelu(c, out[i] + bias) + residual;
   }
}

/* ---- small weights ---- */
static void
weights_8(ExCase *c)
{
   size_t n = ex_size(c, "N");
   plain(c);
   for (size_t i = 0; i < ex_elems(c, "c"); i++)
      ex_want(c, "c")[i] *= ex_in(c, "scale")[i % n];
}

static void
weights_4(ExCase *c)
{
   size_t n = ex_size(c, "N"), k = ex_size(c, "K"), step = ex_size(c, "STEP");
   TilecDtype dtype = ex_dtype_named(ex_word(c, "T"));
   double *b = ex_doubles(k * n);
   for (size_t i = 0; i < k * n; i++) {
      unsigned row = (unsigned)(i / n), byte = (unsigned)ex_in(c, "packed")[i % (k / 2 * n)];
      unsigned nibble = row < k / 2 ? byte & 15 : byte >> 4;
      b[i] = ex_round(dtype, ((double)nibble - 8) * ex_in(c, "scale")[row / step * n + i % n]);
   }
   multiply(ex_want(c, "c"), ex_in(c, "a"), b, ex_size(c, "M"), n, k);
   free(b);
}

/* ---- mixture of experts ---- */

/* Random experts; the assignments of each in blocks of BM, padded with N * TOPK. */
static void
sort_assignments(ExCase *c)
{
   size_t experts = ex_size(c, "E"), block = ex_size(c, "BM"), at = 0;
   size_t count = ex_size(c, "N") * ex_size(c, "TOPK");
   double *expert = ex_doubles(count), *out = ex_in(c, "assignments");
   for (size_t i = 0; i < count; i++)
      expert[i] = floor(ex_uniform(ex_of(c)) * (double)experts);
   for (size_t i = 0; i < ex_elems(c, "assignments"); i++)
      out[i] = (double)count;
   for (size_t e = 0; e < experts; e++) {
      for (size_t i = 0; i < count; i++)
         if (expert[i] == (double)e) {
            ex_in(c, "experts")[at / block] = (double)e;
            out[at++] = (double)i;
         }
      at = (at + block - 1) / block * block;
   }
   free(expert);
}

static void
moe(ExCase *c)
{
   size_t n = ex_size(c, "COLS"), k = ex_size(c, "K"), topk = ex_size(c, "TOPK");
   for (size_t i = 0; i < ex_elems(c, "assignments"); i++) {
      size_t which = (size_t)ex_in(c, "assignments")[i];
      if (which == ex_size(c, "N") * topk)
         continue;
      size_t expert = (size_t)ex_in(c, "experts")[i / ex_size(c, "BM")];
      double *part = ex_doubles(n);
      multiply(part, ex_in(c, "x") + which / topk * k, ex_in(c, "w") + expert * k * n, 1, n, k);
      for (size_t j = 0; j < n; j++)
         ex_want(c, "y")[which / topk * n + j] += ex_in(c, "factors")[which] * part[j];
      free(part);
   }
}

/* ---- convolution ---- */
typedef struct Conv {
   long height, width, channels, outputs, p, q, r, s, stride, pad;
} Conv;

static void
conv_pixel(const Conv *v, const double *image, const double *filter, long p, long q, double *y)
{
   for (long tap = 0; tap < v->r * v->s; tap++) {
      long row = p * v->stride - v->pad + tap / v->s, col = q * v->stride - v->pad + tap % v->s;
      if (row < 0 || row >= v->height || col < 0 || col >= v->width)
         continue;
      multiply(y, image + (row * v->width + col) * v->channels,
               filter + tap * v->channels * v->outputs, 1, (size_t)v->outputs, (size_t)v->channels);
   }
}

static void
conv2d(ExCase *c)
{
   static const char *const names[] = {"H", "W", "C", "K", "P", "Q", "R", "S", "stride", "pad"};
   Conv v;
   long *const field[] = {&v.height, &v.width, &v.channels, &v.outputs, &v.p,
                          &v.q,      &v.r,     &v.s,        &v.stride,  &v.pad};
   for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
      *field[i] = (long)ex_size(c, names[i]);
   for (size_t i = 0; i < ex_elems(c, "y") / (size_t)v.outputs; i++) {
      long pixel = (long)i, image = pixel / (v.p * v.q);
      conv_pixel(&v, ex_in(c, "x") + image * v.height * v.width * v.channels, ex_in(c, "f"),
                 pixel / v.q % v.p, pixel % v.q, ex_want(c, "y") + pixel * v.outputs);
   }
}

/* ---- one vector ---- */

/* x, or what an RMS norm makes of it; the caller frees it. */
static double *
vector(const ExCase *c)
{
   size_t cols = ex_size(c, "C");
   double *x = ex_doubles(cols), squares = 0, factor = 1;
   for (size_t j = 0; j < cols; j++)
      squares += ex_in(c, "x")[j] * ex_in(c, "x")[j];
   if (!ex_is(c, "NORM", "None"))
      factor = 1 / sqrt(squares / (double)cols + ex_real(c, "eps"));
   for (size_t j = 0; j < cols; j++)
      x[j] = ex_in(c, "x")[j] * factor * (ex_is(c, "NORM", "None") ? 1 : ex_in(c, "norm")[j]);
   return x;
}

static double
row_times(const ExCase *c, size_t row, const double *x)
{
   size_t cols = ex_size(c, "C");
   double sum = 0;
   for (size_t j = 0; j < cols; j++)
      sum += ex_in(c, "w")[row * cols + j] * x[j];
   return sum;
}

static void
matvec(ExCase *c)
{
   bool with_residual = !ex_is(c, "RESIDUAL", "None");
   double *x = vector(c);
   for (size_t i = 0; i < ex_size(c, "R"); i++)
      ex_want(c, "y")[i] = row_times(c, i, x) + (with_residual ? ex_in(c, "y")[i] : 0);
   free(x);
}

static void
matvec_swiglu(ExCase *c)
{
   size_t rows = ex_size(c, "R");
   double *x = vector(c);
   for (size_t i = 0; i < rows; i++) {
      double gate = row_times(c, i, x);
      ex_want(c, "y")[i] = gate / (1 + exp(-gate)) * row_times(c, rows + i, x);
   }
   free(x);
}

#define BLOCKS      " BLOCK_M=BM BLOCK_N=BN BLOCK_K=BK warps=W"
#define SMALL_TILES "BM=64 BN=64 BK=32 W=4"
#define LARGE_TILES " BM=128 BN=256 BK=64 W=8"
static const ExRow rows[] = {
   {.name = "matmul", /* TA, TB: stored column by column; BITS 10: inputs that tf32 holds */
    .arrays = "a: T[M*K] bits BITS, b: T[K*N] bits BITS, c: out T[M*N] slack S",
    .launches = {"matmul(a, b, c, M, N, K, K*(1-TA)+TA, 1-TA+M*TA, N*(1-TB)+TB, 1-TB+K*TB, N, 1)"
                 " ACTIVATION=ACT PRECISION=PREC" BLOCKS " flops=2*M*N*K"},
    .defaults = "TA=0 TB=0 ACT=none BITS=52 S=1 PREC=tf32 " SMALL_TILES,
    .cases = "T=fp16 M=64 N=64 K=64; T=fp16 M=127 N=65 K=33; T=bf16 M=65 N=127 K=1;"
             "T=fp16 M=129 N=130 K=100 TB=1 ACT=relu; T=bf16 M=128 N=64 K=96 TA=1 ACT=leaky_relu;"
             "T=fp32 M=63 N=65 K=64 S=1000; T=fp32 M=63 N=65 K=64 BITS=10 S=2;"
             "T=fp32 M=65 N=63 K=40 ACT=relu PREC=ieee; T=fp16 M=130 N=250 K=70 BM=128 BN=128",
    .large = "T=fp16 M=512 N=512 K=512 BM=128 BN=128; T=fp32 M=512 N=511 K=512 BITS=10 S=2;"
             "T=fp16 M=511 N=513 K=515 ACT=leaky_relu BM=128 BN=128 BK=64 W=8;"
             "T=bf16 M=1024 N=768 K=512 TA=1 TB=1" LARGE_TILES ";"
             "T=bf16 M=513 N=1025 K=129 TB=1 ACT=relu BN=128;"
             "T=fp32 M=512 N=511 K=512 S=1000; T=fp32 M=257 N=256 K=255 TA=1 PREC=ieee;"
             "T=fp16 M=1000 N=1000 K=1000 BM=128",
    .timed = "T=fp16 M=4096 N=4096 K=4096" LARGE_TILES "; T=fp16 M=8192 N=8192 K=8192" LARGE_TILES,
    .oracle = matmul},
   {.name = "matmul_wide",
    .arrays = "a: T[M*K], b: T[K*N], c: out T[M*N]",
    .launches = {"matmul_wide(a, b, c, M, N, K, K*(1-TA)+TA, 1-TA+M*TA, N*(1-TB)+TB,"
                 " 1-TB+K*TB, N, 1) ACTIVATION=ACT MORE_N=MORE" BLOCKS " flops=2*M*N*K"},
    .defaults = "TA=0 TB=0 ACT=none BITS=52 MORE=32 " SMALL_TILES,
    .cases = "T=fp16 M=64 N=96 K=64; T=bf16 M=65 N=95 K=33 ACT=relu; T=fp16 M=1 N=97 K=40 TB=1;"
             "T=fp16 M=129 N=250 K=100 TA=1 MORE=64 BM=128 BN=128 BK=64 W=8;"
             "T=fp16 M=63 N=64 K=70; T=bf16 M=40 N=65 K=1",
    .large = "T=fp16 M=511 N=577 K=515 TB=1 ACT=leaky_relu MORE=64 BM=128 BN=128 BK=64 W=8;"
             "T=bf16 M=512 N=768 K=512 MORE=64 BM=128 BN=128 BK=64 W=8",
    .timed = "T=fp16 M=3072 N=3072 K=3072 MORE=64 BM=128 BN=128 BK=64 W=8",
    .oracle = matmul},
   {.name = "matmul_split",
    .arrays = "a: T[M*K], b: T[K*N], parts: scratch fp32[SPLIT*M*N],"
              "arrived: zeroed i32[cdiv(M,64)*cdiv(N,64)], c: out T[M*N]",
    .launches = {"matmul_split(a, b, c, parts, arrived, M, N, K) SPLIT=SPLIT BLOCK_K=32",
                 "matmul_split(a, b, c, parts, arrived, M, N, K) SPLIT=SPLIT BLOCK_K=32"},
    .cases = "T=fp16 M=65 N=63 K=200 SPLIT=2; T=bf16 M=1 N=130 K=40 SPLIT=4;"
             "T=fp16 M=64 N=64 K=33 SPLIT=1",
    .large = "T=fp16 M=130 N=257 K=1000 SPLIT=7",
    .oracle = plain},
   {.name = "matmul_persistent",
    .arrays = "a: T[M*K], b: T[K*N], c: out T[M*N]",
    .launches = {"matmul_persistent(a, b, c, M, N, K, P)" BLOCKS " flops=2*M*N*K"},
    .defaults = SMALL_TILES,
    .cases = "T=fp16 M=129 N=65 K=33 P=3; T=bf16 M=64 N=192 K=64 P=2; T=bf16 M=1 N=70 K=40 P=4",
    .large = "T=fp16 M=511 N=513 K=515 P=7",
    .timed = "T=fp16 M=4096 N=4096 K=4096 P=132" LARGE_TILES,
    .oracle = plain},
   {.name = "matmul_batched",
    .arrays = "a: T[B*M*K], b: T[B*K*N], c: out T[B*M*N]",
    .launches = {"matmul_batched(a, b, c, B, M, N, K)" BLOCKS " flops=2*B*M*N*K"},
    .defaults = SMALL_TILES,
    .cases = "T=fp16 B=3 M=65 N=63 K=64; T=bf16 B=2 M=1 N=130 K=31",
    .large = "T=fp16 B=5 M=257 N=255 K=130",
    .timed = "T=fp16 B=64 M=1024 N=1024 K=128" LARGE_TILES,
    .oracle = batched},
   {.name = "matmul_grouped",
    .arrays = "a: T[M*K], b: T[G*K*N], ends: given i32[G], c: out T[M*N]",
    .launches = {"matmul_batched.matmul_grouped(a, b, c, ends, G, N, K, P)" BLOCKS
                 " flops=2*M*N*K"},
    .defaults = SMALL_TILES,
    .cases = "T=fp16 M=300 G=4 N=200 K=64 P=3; T=bf16 M=77 G=3 N=64 K=33 P=2",
    .large = "T=bf16 M=1000 G=17 N=200 K=100 P=13",
    .timed = "T=bf16 M=8192 G=16 N=4096 K=2048 P=132" LARGE_TILES,
    .prepare = random_ends,
    .oracle = grouped},
   {.name = "matmul_fused",
    .arrays = "a: T[M*K] spread 0.3, b: T[K*N], bias: T[N], residual: T[M*N], c: out T[M*N]",
    .launches = {"matmul_fused(a, b, BIAS, RESIDUAL, c, M, N, K) GELU=GELU" BLOCKS
                 " flops=2*M*N*K"},
    .defaults = "BIAS=bias RESIDUAL=residual " SMALL_TILES,
    .cases = "T=fp16 M=65 N=63 K=64 GELU=erf; T=bf16 M=64 N=64 K=31 GELU=tanh;"
             "T=fp16 M=3 N=129 K=40 GELU=none BIAS=None;"
             "T=bf16 M=65 N=64 K=32 GELU=erf RESIDUAL=None",
    .large = "T=fp16 M=257 N=513 K=300 GELU=tanh",
    .timed = "T=fp16 M=4096 N=4096 K=4096 GELU=tanh BM=128 BN=128 BK=64 W=8",
    .oracle = fused},
   {.name = "matmul_w8",
    .arrays = "a: T[M*K], b: B[K*N] spread SPREAD, scale: fp32[N], c: out T[M*N]",
    .launches = {"matmul_weights.matmul_w8(a, b, scale, c, M, N, K)" BLOCKS " flops=2*M*N*K"},
    .defaults = "SPREAD=1 " SMALL_TILES,
    .cases = "T=fp16 B=fp8e4nv M=65 N=63 K=64; T=bf16 B=i8 M=17 N=64 K=70 SPREAD=20;"
             "T=bf16 B=fp8e5 M=1 N=130 K=33",
    .large = "T=fp16 B=fp8e4nv M=127 N=513 K=300",
    .timed = "T=bf16 B=fp8e4nv M=16 N=14336 K=4096 BM=16 BN=128 BK=64;"
             "T=bf16 B=fp8e4nv M=4096 N=4096 K=4096 BM=128 BN=128 BK=64 W=8",
    .oracle = weights_8},
   {.name = "matmul_w4",
    .arrays = "a: T[M*K], packed: u8[K/2*N] below 256, scale: T[K/STEP*N] spread 0.1,"
              "c: out T[M*N]",
    .launches = {"matmul_weights.matmul_w4(a, packed, scale, c, M, N, K) STEP=STEP" BLOCKS
                 " flops=2*M*N*K"},
    .defaults = SMALL_TILES,
    .cases = "T=fp16 M=65 N=63 K=128 STEP=32; T=bf16 M=1 N=64 K=256 STEP=128",
    .large = "T=fp16 M=33 N=511 K=1024 STEP=128",
    .timed = "T=bf16 M=16 N=14336 K=4096 STEP=128 BM=16 BN=128;"
             "T=bf16 M=2048 N=4096 K=4096 STEP=128 BM=64 BN=128",
    .oracle = weights_4},
   {.name = "moe",
    .arrays = "x: T[N*K], w: T[E*K*COLS], factors: fp32[N*TOPK], assignments: given i32[B*BM],"
              "experts: given i32[B], parts: scratch T[N*TOPK*COLS], y: out T[N*COLS] slack 1.5",
    .launches = {"moe.moe_gemm(x, w, factors, assignments, experts, parts, N, B, COLS, K)"
                 " TOPK=TOPK BLOCK_M=BM BLOCK_N=BN flops=2*N*TOPK*COLS*K",
                 "moe.moe_sum(parts, y, N, COLS) TOPK=TOPK"},
    .defaults = "BN=64",
    .cases = "T=fp16 N=35 E=4 TOPK=2 K=64 COLS=65 B=9 BM=16;"
             "T=bf16 N=9 E=3 TOPK=1 K=33 COLS=64 B=4 BM=32",
    .large = "T=bf16 N=301 E=16 TOPK=4 K=200 COLS=300 B=35 BM=64",
    .timed = "T=bf16 N=4096 E=8 TOPK=2 K=4096 COLS=4096 B=136 BM=64 BN=128",
    .prepare = sort_assignments,
    .oracle = moe},
   {.name = "conv2d",
    .arrays = "x: T[N*H*W*C], f: T[R*S*C*K], y: out T[N*P*Q*K]",
    .launches = {"conv2d(x, f, y, N, H, W, C, K, P, Q, stride, pad) R=R S=S BLOCK_M=BM"
                 " flops=2*N*P*Q*K*R*S*C"},
    .defaults = "BM=64 R=3 S=3 stride=1 pad=1",
    .cases = "T=fp16 N=2 H=9 W=7 C=32 K=64 P=9 Q=7;"
             "T=bf16 N=1 H=11 W=13 C=3 K=65 P=5 Q=6 stride=2 pad=0;"
             "T=fp16 N=1 H=5 W=5 C=40 K=16 P=5 Q=5 R=1 S=1 pad=0",
    .large = "T=fp16 N=3 H=28 W=27 C=96 K=100 P=14 Q=14 stride=2",
    .timed = "T=fp16 N=32 H=56 W=56 C=128 K=128 P=56 Q=56 BM=128",
    .oracle = conv2d},
   {.name = "matvec",
    .arrays = "w: T[R*C], x: X[C], norm: T[C], y: inout Y[R]",
    .launches = {"matvec(w, x, NORM, RESIDUAL, y, R, C, eps) ROWS=ROWS BLOCK=BLOCK warps=W"
                 " flops=2*R*C"},
    .defaults = "X=fp32 Y=fp32 NORM=norm RESIDUAL=y eps=1e-5 ROWS=4 BLOCK=512 W=4",
    .cases = "T=fp16 R=65 C=1000; T=bf16 R=3 C=512 RESIDUAL=None;"
             "T=fp16 X=fp16 Y=fp16 R=33 C=31 NORM=None RESIDUAL=None ROWS=8;"
             "T=bf16 X=bf16 Y=bf16 R=17 C=513 NORM=None ROWS=1 W=1",
    .large = "T=bf16 R=1000 C=4096",
    .timed = "T=fp16 R=1024 C=1024; T=fp16 R=1024 C=1024 ROWS=8;"
             "T=fp16 R=2048 C=8192 X=fp16 NORM=None; T=fp16 R=2048 C=8192 X=fp16 NORM=None ROWS=8;"
             "T=fp16 R=16384 C=2048; T=fp16 R=16384 C=2048 ROWS=8;"
             "T=fp16 R=16384 C=2048 ROWS=16 W=8",
    .oracle = matvec},
   {.name = "matvec_swiglu",
    .arrays = "w: T[2*R*C] spread 0.1, x: X[C], norm: T[C], y: out T[R]",
    .launches = {"matvec.matvec_swiglu(w, x, NORM, y, R, C, eps) ROWS=ROWS warps=W flops=4*R*C"},
    .defaults = "X=fp32 NORM=norm eps=1e-5 ROWS=4 W=4",
    .cases = "T=fp16 R=65 C=1000; T=bf16 R=3 C=512; T=fp16 X=fp16 R=33 C=31 NORM=None ROWS=2",
    .large = "T=bf16 R=1000 C=4096",
    .timed = "T=fp16 R=8192 C=2048; T=fp16 R=8192 C=2048 ROWS=2; T=fp16 R=2816 C=1024;"
             "T=fp16 R=2816 C=1024 ROWS=2",
    .oracle = matvec_swiglu},
};

int
main(int argc, char **argv)
{
   return ex_run_rows("matmuls", rows, sizeof rows / sizeof rows[0], argc, argv);
}
