/* Scans and orders: selective scan, linear attention, top-k, sorting by key, histogram,
 * the next token. */
#include "cases.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- selective scan ---- */
static void
decays(ExCase *c)
{
   for (size_t i = 0; i < ex_elems(c, "A"); i++)
      ex_in(c, "A")[i] = -(double)(i % ex_size(c, "S") + 1);
   for (size_t i = 0; i < ex_elems(c, "dt"); i++)
      ex_in(c, "dt")[i] = 0.01 + 0.3 * ex_uniform(ex_of(c));
}

static void
selective_scan(ExCase *c)
{
   size_t channels = ex_size(c, "C"), n = ex_size(c, "N"), states = ex_size(c, "S");
   double *h = ex_doubles(states);
   for (size_t row = 0; row < ex_size(c, "B") * channels; row++) {
      for (size_t s = 0; s < states; s++)
         h[s] = 0;
      for (size_t t = 0; t < n; t++) {
         double x = ex_in(c, "x")[row * n + t], dt = ex_in(c, "dt")[row * n + t];
         double *y = ex_want(c, "y") + row * n + t;
         for (size_t s = 0; s < states; s++) {
            size_t at = (row / channels * states + s) * n + t;
            h[s] *= exp(dt * ex_in(c, "A")[row % channels * states + s]);
            h[s] += dt * ex_in(c, "Bt")[at] * x;
            *y += ex_in(c, "Ct")[at] * h[s];
         }
         *y += ex_in(c, "skip")[row % channels] * x;
      }
   }
   free(h);
}

/* ---- linear attention ---- */
static void
small_decays(ExCase *c)
{
   for (size_t h = 0; h < ex_size(c, "H"); h++)
      ex_in(c, "decay")[h] = 0.2 * ex_uniform(ex_of(c));
}

static void
linear_attention(ExCase *c)
{
   size_t n = ex_size(c, "N"), d = ex_size(c, "D");
   double *state = ex_doubles(d * d);
   for (size_t h = 0; h < ex_size(c, "H"); h++) {
      double factor = exp(-ex_in(c, "decay")[h]);
      for (size_t i = 0; i < d * d; i++)
         state[i] = 0;
      for (size_t t = h * n; t < (h + 1) * n; t++)
         for (size_t i = 0; i < d; i++)
            for (size_t j = 0; j < d; j++) {
               double *s = &state[i * d + j];
               *s = *s * factor + ex_in(c, "k")[t * d + i] * ex_in(c, "v")[t * d + j];
               ex_want(c, "o")[t * d + j] += ex_real(c, "scale") * ex_in(c, "q")[t * d + i] * *s;
            }
   }
   free(state);
}

/* ---- top-k ---- */

/* Zeros of both signs, which are equal, among a few other numbers. */
static void
zeros(ExCase *c)
{
   static const double value[] = {0, -0.0, 0, -0.0, -1, 1};
   for (size_t i = 0; i < ex_elems(c, "x"); i++)
      ex_in(c, "x")[i] = value[(size_t)(ex_uniform(ex_of(c)) * 6)];
}

static void
top_k(ExCase *c)
{
   size_t cols = ex_size(c, "C"), k = ex_size(c, "K");
   double *taken = ex_doubles(cols);
   for (size_t r = 0; r < ex_size(c, "R"); r++) {
      const double *x = ex_in(c, "x") + r * cols;
      for (size_t i = 0; i < cols; i++)
         taken[i] = 0;
      for (size_t i = 0; i < k; i++) {
         size_t best = cols;
         for (size_t j = 0; j < cols; j++)
            if (taken[j] == 0 && (best == cols || x[j] > x[best]))
               best = j;
         taken[best] = 1;
         ex_want(c, "values")[r * k + i] = x[best];
         ex_want(c, "columns")[r * k + i] = (double)best;
      }
   }
   free(taken);
}

/* ---- sorting by key ---- */
static void
sort_by_key(ExCase *c)
{
   size_t n = ex_size(c, "N"), at = 0;
   for (double key = 0; key < ex_real(c, "KEYS"); key++)
      for (size_t i = 0; i < n; i++)
         if (ex_in(c, "keys")[i] == key) {
            ex_want(c, "sorted")[at] = key;
            ex_want(c, "sorted_v")[at++] = ex_in(c, "keys_v")[i];
         }
}

/* ---- histogram ---- */
static void
count_values(ExCase *c)
{
   for (size_t i = 0; i < ex_size(c, "N"); i++)
      ex_want(c, "counts")[(size_t)ex_in(c, "x")[i]]++;
}

/* ---- greedy decoding ---- */
static void
random_position(ExCase *c)
{
   ex_in(c, "position")[0] = floor(ex_uniform(ex_of(c)) * (double)(ex_elems(c, "tokens") - 1));
   ex_in(c, "length")[0] = ex_in(c, "position")[0] + 1;
}

static void
greedy(ExCase *c)
{
   const double *logits = ex_in(c, "logits"), *position = ex_in(c, "position");
   size_t best = 0, n = ex_elems(c, "tokens");
   for (size_t i = 1; i < ex_size(c, "N"); i++)
      best = logits[i] > logits[best] ? i : best;
   memcpy(ex_want(c, "tokens"), ex_in(c, "tokens"), n * sizeof(double));
   ex_want(c, "token")[0] = ex_want(c, "tokens")[(size_t)*position + 1] = (double)best;
   ex_want(c, "position")[0] = *position + 1;
   ex_want(c, "length")[0] = *position + 2;
}

/* A pass from arrays A, A_v to B, B_v: keys and values. */
#define PASS(from, to, shift)                                                                      \
   "sort_by_key.radix_count(" from ", counts, N, cdiv(N, BLOCK), " shift ") BLOCK=BLOCK",          \
      "sort_by_key.radix_offsets(counts, offsets, 16*cdiv(N, BLOCK)) BLOCK=256",                   \
      "sort_by_key.radix_scatter(" from "," from "_v, offsets," to "," to "_v, N,"                 \
      "cdiv(N, BLOCK)," shift ") BLOCK=BLOCK"
static const ExRow rows[] = {
   {.name = "selective_scan",
    .arrays = "x: T[B*C*N], dt: given T[B*C*N], A: given fp32[C*S], Bt: T[B*S*N], Ct: T[B*S*N],"
              "skip: fp32[C], y: out T[B*C*N] slack 2",
    .launches = {"selective_scan(x, dt, A, Bt, Ct, skip, y, B, C, N) STATES=S CHUNK=CHUNK"},
    .cases = "T=fp32 B=2 C=3 N=65 S=16 CHUNK=64; T=bf16 B=1 C=2 N=300 S=8 CHUNK=128;"
             "T=fp16 B=2 C=1 N=31 S=16 CHUNK=32",
    .large = "T=fp16 B=2 C=50 N=1025 S=16 CHUNK=64",
    .timed = "T=bf16 B=2 C=4096 N=4096 S=16 CHUNK=64",
    .prepare = decays,
    .oracle = selective_scan},
   {.name = "linear_attention",
    .arrays = "q: T[H*N*D], k: T[H*N*D], v: T[H*N*D], decay: given fp32[H],"
              "o: out T[H*N*D] slack 2",
    .launches = {"linear_attention(q, k, v, o, decay, H, N, scale) D=D BLOCK_V=V flops=8*H*N*64*D"},
    .cases = "T=fp16 H=2 N=129 D=64 V=64 scale=0.125; T=bf16 H=1 N=200 D=32 V=16 scale=0.176",
    .large = "T=bf16 H=3 N=513 D=128 V=64 scale=0.08838835",
    .timed = "T=bf16 H=128 N=4096 D=128 V=64 scale=0.08838835",
    .prepare = small_decays,
    .oracle = linear_attention},
   {.name = "top_k",
    .arrays = "x: T[R*C], values: out T[R*K] within 0, columns: out i32[R*K]",
    .launches = {"top_k(x, values, columns, R, C) K=K SLOTS=SLOTS GROUP=GROUP"},
    .cases = "T=fp32 R=3 C=65 K=8 SLOTS=8 GROUP=4; T=bf16 R=2 C=500 K=16 SLOTS=64 GROUP=2;"
             "T=fp16 R=2 C=9 K=1 SLOTS=2 GROUP=1; T=fp16 R=3 C=8 K=8 SLOTS=512 GROUP=16;"
             "T=bf16 R=2 C=1025 K=4 SLOTS=32 GROUP=8",
    .large = "T=bf16 R=2 C=32001 K=64 SLOTS=512 GROUP=16",
    .timed = "T=bf16 R=256 C=128256 K=64 SLOTS=512 GROUP=16",
    .oracle = top_k},
   {.name = "top_k",
    .arrays = "x: T[R*C] below 7, values: out T[R*K] within 0, columns: out i32[R*K]",
    .launches = {"top_k(x, values, columns, R, C) K=K SLOTS=SLOTS GROUP=GROUP"},
    .cases = "T=fp32 R=2 C=700 K=32 SLOTS=32 GROUP=4; T=bf16 R=2 C=333 K=2 SLOTS=16 GROUP=8",
    .oracle = top_k},
   {.name = "top_k",
    .arrays = "x: given T[R*C], values: out T[R*K] within 0, columns: out i32[R*K]",
    .launches = {"top_k(x, values, columns, R, C) K=K SLOTS=SLOTS GROUP=GROUP"},
    .cases = "T=fp32 R=2 C=70 K=32 SLOTS=32 GROUP=4; T=bf16 R=3 C=333 K=16 SLOTS=64 GROUP=8",
    .prepare = zeros,
    .oracle = top_k},
   {.name = "sort_by_key",
    .arrays = "keys: i32[N] below KEYS, keys_v: i32[N] below 1000000,"
              "counts: scratch i32[16*cdiv(N,BLOCK)], offsets: scratch i32[16*cdiv(N,BLOCK)],"
              "one: scratch i32[N], one_v: scratch i32[N], two: scratch i32[N], two_v: scratch "
              "i32[N], sorted: out i32[N], sorted_v: out i32[N]",
    .launches = {PASS("keys", "one", "0"), PASS("one", "two", "4"), PASS("two", "sorted", "8")},
    .cases = "N=1000 KEYS=4000 BLOCK=256; N=63 KEYS=10 BLOCK=64",
    .large = "N=20001 KEYS=4096 BLOCK=1024",
    .timed = "N=1048576 KEYS=4096 BLOCK=1024",
    .oracle = sort_by_key},
   {.name = "histogram",
    .arrays = "x: i32[N] below BINS, counts: zeroed i32[BINS]",
    .launches = {"histogram.count_values(x, counts, N, P) BINS=pow2(BINS)"},
    .cases = "N=1025 BINS=64 P=2; N=5000 BINS=256 P=3",
    .large = "N=1000001 BINS=1024 P=132",
    .timed = "N=16777216 BINS=256 P=264",
    .oracle = count_values},
   {.name = "greedy",
    .arrays =
       "logits: T[N] bits 4, value: scratch fp32[cdiv(N,BLOCK)],"
       "column: scratch i32[cdiv(N,BLOCK)], token: out i32[1], tokens: inout i32[20] below 9,"
       "position: inout i32[1], length: inout i32[1]",
    .launches = {"greedy.best_of_block(logits, value, column, N) BLOCK=BLOCK",
                 "greedy.next_token(value, column, token, tokens, position, length, cdiv(N, BLOCK))"
                 " BLOCKS=pow2(cdiv(N,BLOCK))"},
    .cases = "T=fp32 N=1000 BLOCK=64; T=fp16 N=65 BLOCK=64; T=bf16 N=31 BLOCK=128",
    .large = "T=fp32 N=32001 BLOCK=1024",
    .timed = "T=fp32 N=128256 BLOCK=1024",
    .prepare = random_position,
    .oracle = greedy},
};

int
main(int argc, char **argv)
{
   return ex_run_rows("sequences", rows, sizeof rows / sizeof rows[0], argc, argv);
}
