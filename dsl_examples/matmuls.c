/* Products of an engine: persistent, batched, grouped, fused, with small weights, by expert; and
 * the convolution that is one. */
#include "cases.h"

#include <math.h>
#include <stdlib.h>

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
persistent(ExCase *c)
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
   persistent(c);
   for (size_t i = 0; i < ex_elems(c, "c"); i++)
      out[i] = gelu(c, out[i] + ex_in(c, "bias")[i % n]) + ex_in(c, "residual")[i];
}

/* ---- small weights ---- */
static void
weights_8(ExCase *c)
{
   size_t n = ex_size(c, "N");
   persistent(c);
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

#define TILE  " BLOCK_M=64 BLOCK_N=64 BLOCK_K=32 warps=4"
#define SIZES "T=fp16 M=129 N=65 K=33 P=3; T=bf16 M=64 N=192 K=64 P=2; T=bf16 M=1 N=70 K=40 P=4"
static const ExRow rows[] = {
   {.name = "matmul_persistent",
    .arrays = "a: T[M*K], b: T[K*N], c: out T[M*N]",
    .launches = {"matmul_persistent(a, b, c, M, N, K, P)" TILE},
    .cases = SIZES,
    .large = "T=fp16 M=511 N=513 K=515 P=7",
    .oracle = persistent},
   {.name = "matmul_batched",
    .arrays = "a: T[B*M*K], b: T[B*K*N], c: out T[B*M*N]",
    .launches = {"matmul_batched(a, b, c, B, M, N, K)" TILE},
    .cases = "T=fp16 B=3 M=65 N=63 K=64; T=bf16 B=2 M=1 N=130 K=31",
    .large = "T=fp16 B=5 M=257 N=255 K=130",
    .oracle = batched},
   {.name = "matmul_grouped",
    .arrays = "a: T[M*K], b: T[G*K*N], ends: given i32[G], c: out T[M*N]",
    .launches = {"matmul_batched.matmul_grouped(a, b, c, ends, G, N, K, P)" TILE},
    .cases = "T=fp16 M=200 G=4 N=65 K=64 P=3; T=bf16 M=77 G=3 N=64 K=33 P=2",
    .large = "T=bf16 M=1000 G=17 N=200 K=100 P=13",
    .prepare = random_ends,
    .oracle = grouped},
   {.name = "matmul_fused",
    .arrays = "a: T[M*K] spread 0.3, b: T[K*N], bias: T[N], residual: T[M*N], c: out T[M*N]",
    .launches = {"matmul_fused(a, b, bias, residual, c, M, N, K) GELU=GELU" TILE},
    .cases = "T=fp16 M=65 N=63 K=64 GELU=erf; T=bf16 M=64 N=64 K=31 GELU=tanh;"
             "T=fp16 M=3 N=129 K=40 GELU=none",
    .large = "T=fp16 M=257 N=513 K=300 GELU=tanh",
    .oracle = fused},
   {.name = "matmul_w8",
    .arrays = "a: T[M*K], b: B[K*N] spread SPREAD, scale: fp32[N], c: out T[M*N]",
    .launches = {"matmul_weights.matmul_w8(a, b, scale, c, M, N, K)" TILE},
    .cases = "T=fp16 B=fp8e4nv M=65 N=63 K=64 SPREAD=1; T=bf16 B=i8 M=17 N=64 K=70 SPREAD=20;"
             "T=bf16 B=fp8e5 M=1 N=130 K=33 SPREAD=1",
    .large = "T=fp16 B=fp8e4nv M=127 N=513 K=300 SPREAD=1",
    .oracle = weights_8},
   {.name = "matmul_w4",
    .arrays = "a: T[M*K], packed: u8[K/2*N] below 256, scale: T[K/STEP*N] spread 0.1,"
              "c: out T[M*N]",
    .launches = {"matmul_weights.matmul_w4(a, packed, scale, c, M, N, K) STEP=STEP" TILE},
    .cases = "T=fp16 M=65 N=63 K=128 STEP=32; T=bf16 M=1 N=64 K=256 STEP=128",
    .large = "T=fp16 M=33 N=511 K=1024 STEP=128",
    .oracle = weights_4},
   {.name = "moe",
    .arrays = "x: T[N*K], w: T[E*K*COLS], factors: fp32[N*TOPK], assignments: given i32[B*BM],"
              "experts: given i32[B], parts: scratch T[N*TOPK*COLS], y: out T[N*COLS] slack 1.5",
    .launches = {"moe.moe_gemm(x, w, factors, assignments, experts, parts, N, B, COLS, K)"
                 " TOPK=TOPK BLOCK_M=BM BLOCK_N=64",
                 "moe.moe_sum(parts, y, N, COLS) TOPK=TOPK"},
    .cases = "T=fp16 N=35 E=4 TOPK=2 K=64 COLS=65 B=9 BM=16;"
             "T=bf16 N=9 E=3 TOPK=1 K=33 COLS=64 B=4 BM=32",
    .large = "T=bf16 N=301 E=16 TOPK=4 K=200 COLS=300 B=35 BM=64",
    .prepare = sort_assignments,
    .oracle = moe},
   {.name = "conv2d",
    .arrays = "x: T[N*H*W*C], f: T[R*S*C*K], y: out T[N*P*Q*K]",
    .launches = {"conv2d(x, f, y, N, H, W, C, K, P, Q, stride, pad) R=R S=S BLOCK_M=64"},
    .cases = "T=fp16 N=2 H=9 W=7 C=32 K=64 P=9 Q=7 R=3 S=3 stride=1 pad=1;"
             "T=bf16 N=1 H=11 W=13 C=3 K=65 P=5 Q=6 R=3 S=3 stride=2 pad=0;"
             "T=fp16 N=1 H=5 W=5 C=40 K=16 P=5 Q=5 R=1 S=1 stride=1 pad=0",
    .large = "T=fp16 N=3 H=28 W=27 C=96 K=100 P=14 Q=14 R=3 S=3 stride=2 pad=1",
    .oracle = conv2d},
};

int
main(int argc, char **argv)
{
   return ex_run_rows("matmuls", rows, sizeof rows / sizeof rows[0], argc, argv);
}
