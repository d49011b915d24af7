/* Attention, forward and backward: o, lse and the three gradients against the formulas in double
 * precision, and on a small case against differences of the forward pass. */
#include "cases.h"

#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* One head of q with its head of k and v. */
typedef struct Head {
   size_t n, d, window; /* window 0: none */
   bool causal;
   double scale, cap;     /* cap 0: none */
   double drop;           /* negative: no dropout */
   uint32_t seed, number; /* of the head */
   const double *q, *k, *v, *dout;
   double *o, *lse, *dq, *dk, *dv;
   pthread_mutex_t *sums; /* held by who adds to dk and dv */
} Head;

/* In eight sums, which a compiler keeps in vector registers. */
static double
inner(const double *a, const double *b, size_t n)
{
   double part[8] = {0}, sum = 0;
   for (size_t i = 0; i < n / 8 * 8; i++)
      part[i % 8] += a[i] * b[i];
   for (size_t i = n / 8 * 8; i < n; i++)
      sum += a[i] * b[i];
   for (size_t l = 0; l < 8; l++)
      sum += part[l];
   return sum;
}

static void
add_scaled(double *to, const double *from, double by, size_t n)
{
   for (size_t i = 0; i < n; i++)
      to[i] += from[i] * by;
}

/* ---- dropout ---- */

/* Philox 4x32-10 (Salmon, Moraes, Dror, Shaw 2011): the first word of the counter's block. */
static uint32_t
philox(const uint32_t counter[4], uint64_t seed)
{
   uint32_t c[4] = {counter[0], counter[1], counter[2], counter[3]};
   uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
   for (int round = 0; round < 10; round++) {
      uint64_t a = (uint64_t)c[0] * 0xD2511F53u, b = (uint64_t)c[2] * 0xCD9E8D57u;
      c[0] = (uint32_t)(b >> 32) ^ c[1] ^ key[0];
      c[2] = (uint32_t)(a >> 32) ^ c[3] ^ key[1];
      c[1] = (uint32_t)b;
      c[3] = (uint32_t)a;
      key[0] += 0x9E3779B9u;
      key[1] += 0xBB67AE85u;
   }
   return c[0];
}

/* What the weight of row i and key j is multiplied with. */
static double
dropout_factor(const Head *h, size_t i, size_t j)
{
   if (h->drop < 0)
      return 1;
   uint32_t word = philox((uint32_t[]){(uint32_t)j, (uint32_t)i, h->number, 0}, h->seed);
   uint32_t folded = word >> 31 ? ~word : word; /* 31 bits, to 0 .. 1 in fp32 */
   return (double)((float)folded * 4.6566127342e-10f) < h->drop ? 0 : 1 / (1 - h->drop);
}

/* ---- one row ---- */

/* Row i sees keys *begin .. *end - 1. */
static void
visible(const Head *h, size_t i, size_t *begin, size_t *end)
{
   *end = h->causal ? i + 1 : h->n;
   *begin = h->window && i + 1 > h->window ? i + 1 - h->window : 0;
}

/* The weights of row i, and its row of o and lse. */
static void
forward_row(const Head *h, size_t i, double *p)
{
   size_t begin, end, d = h->d;
   double max = -INFINITY, sum = 0;
   visible(h, i, &begin, &end);
   for (size_t j = begin; j < end; j++) {
      p[j] = h->scale * inner(h->q + i * d, h->k + j * d, d);
      p[j] = h->cap > 0 ? h->cap * tanh(p[j] / h->cap) : p[j];
      max = fmax(max, p[j]);
   }
   for (size_t j = begin; j < end; j++)
      sum += p[j] = exp(p[j] - max);
   memset(h->o + i * d, 0, d * sizeof *h->o);
   for (size_t j = begin; j < end; j++) {
      p[j] /= sum;
      add_scaled(h->o + i * d, h->v + j * d, p[j] * dropout_factor(h, i, j), d);
   }
   h->lse[i] = max + log(sum);
}

static void
backward_row(const Head *h, size_t i, const double *p)
{
   size_t begin, end, d = h->d;
   const double *q = h->q + i * d, *dout = h->dout + i * d;
   double delta = inner(h->o + i * d, dout, d);
   visible(h, i, &begin, &end);
   for (size_t j = begin; j < end; j++) {
      const double *k = h->k + j * d;
      double factor = dropout_factor(h, i, j);
      double ds = h->scale * p[j] * (factor * inner(dout, h->v + j * d, d) - delta);
      if (h->cap > 0) {
         double t = tanh(h->scale * inner(q, k, d) / h->cap);
         ds *= 1 - t * t;
      }
      add_scaled(h->dv + j * d, dout, p[j] * factor, d);
      add_scaled(h->dk + j * d, q, ds, d);
      add_scaled(h->dq + i * d, k, ds, d);
   }
}

static void
forward_into(ExCase *c, double *lse)
{
   size_t n = ex_size(c, "N"), d = ex_size(c, "D");
   double *p = ex_doubles(n);
   for (size_t head = 0; head < ex_size(c, "H"); head++) {
      Head h = {.n = n,
                .d = d,
                .causal = ex_is(c, "CAUSAL", "True"),
                .scale = ex_real(c, "scale"),
                .drop = -1,
                .q = ex_in(c, "q") + head * n * d,
                .k = ex_in(c, "k") + head * n * d,
                .v = ex_in(c, "v") + head * n * d,
                .o = ex_want(c, "o") + head * n * d,
                .lse = lse + head * n};
      for (size_t i = 0; i < n; i++)
         forward_row(&h, i, p);
   }
   free(p);
}

static void
forward(ExCase *c)
{
   forward_into(c, ex_want(c, "lse"));
}

static void
forward_without_lse(ExCase *c)
{
   double *lse = ex_doubles(ex_size(c, "H") * ex_size(c, "N"));
   forward_into(c, lse);
   free(lse);
}

static Head
head_of(const ExCase *c, size_t head)
{
   size_t n = ex_size(c, "N"), d = ex_size(c, "D"), at = head * n * d;
   size_t at_kv = head / ex_size(c, "G") * n * d;
   bool drops = !ex_is(c, "DROP", "None");
   return (Head){.n = n,
                 .d = d,
                 .window = ex_size(c, "W"),
                 .causal = ex_is(c, "CAUSAL", "True"),
                 .scale = ex_real(c, "scale"),
                 .cap = ex_real(c, "CAP"),
                 .drop = drops ? ex_real(c, "DROP") : -1,
                 .seed = drops ? (uint32_t)ex_size(c, "SEED") : 0,
                 .number = (uint32_t)head,
                 .q = ex_in(c, "q") + at,
                 .k = ex_in(c, "k") + at_kv,
                 .v = ex_in(c, "v") + at_kv,
                 .dout = ex_in(c, "do") + at,
                 .o = ex_want(c, "o") + at,
                 .lse = ex_want(c, "lse") + head * n,
                 .dq = ex_want(c, "dq") + at,
                 .dk = ex_want(c, "dk") + at_kv,
                 .dv = ex_want(c, "dv") + at_kv};
}

/* Every parts-th row of a head, from row `part` on: of causal attention all parts then have about
 * the same work. */
static void
rows_of_head(void *context, size_t part, size_t parts)
{
   Head *all = context, h = *all;
   double *p = ex_doubles(h.n), *gradients = ex_doubles(2 * h.n * h.d);
   h.dk = gradients;
   h.dv = gradients + h.n * h.d;
   for (size_t i = part; i < h.n; i += parts) {
      forward_row(&h, i, p);
      backward_row(&h, i, p);
   }
   pthread_mutex_lock(all->sums);
   add_scaled(all->dk, h.dk, 1, h.n * h.d);
   add_scaled(all->dv, h.dv, 1, h.n * h.d);
   pthread_mutex_unlock(all->sums);
   free(gradients);
   free(p);
}

static void
formulas(ExCase *c)
{
   enum { LEAST_ROWS = 64, MOST_THREADS = 64 }; /* fewer rows are done before a thread starts */
   size_t threads = ex_size(c, "N") / LEAST_ROWS, processors = ex_processors();
   threads = threads < processors ? threads : processors;
   threads = threads < MOST_THREADS ? threads : MOST_THREADS;
   pthread_mutex_t sums = PTHREAD_MUTEX_INITIALIZER;
   for (size_t head = 0; head < ex_size(c, "H"); head++) {
      Head h = head_of(c, head);
      h.sums = &sums;
      ex_in_threads(rows_of_head, &h, threads ? threads : 1);
   }
}

/* The sum of o * do over all heads: what the gradients are of. */
static double
loss(const ExCase *c)
{
   size_t n = ex_size(c, "N");
   double sum = 0, *p = ex_doubles(n);
   for (size_t head = 0; head < ex_size(c, "H"); head++) {
      Head h = head_of(c, head);
      for (size_t i = 0; i < n; i++)
         forward_row(&h, i, p);
      sum += inner(h.o, h.dout, n * h.d);
   }
   free(p);
   return sum;
}

/* Differences of the fourth order, a step of 1e-3: their own error is some 1e-9. */
static void
differences(ExCase *c)
{
   static const char *const of[3][2] = {{"q", "dq"}, {"k", "dk"}, {"v", "dv"}};
   for (size_t a = 0; a < 3; a++) {
      double *x = ex_in(c, of[a][0]), *dx = ex_want(c, of[a][1]);
      for (size_t i = 0; i < ex_elems(c, of[a][0]); i++) {
         const double step = 1e-3, at = x[i];
         double l[5];
         for (int s = -2; s <= 2; s++) {
            x[i] = at + s * step;
            l[s + 2] = s ? loss(c) : 0;
         }
         x[i] = at;
         dx[i] = (l[0] - 8 * l[1] + 8 * l[3] - l[4]) / (12 * step);
      }
   }
   loss(c); /* o and lse of the values themselves */
}

#define D16    " D=16 scale=0.25 BM=64 BN=32"
#define D32    " D=32 scale=0.1767767 BM=64 BN=32"
#define D64    " D=64 scale=0.125 BM=64 BN=128"
#define D128   " D=128 scale=0.08838835 BM=128 BN=64"
#define WIDE   " D=128 scale=0.08838835 BM=128 BN=128"
#define CAUSAL " CAUSAL=True"

#define FORWARD(kernel)                                                                            \
   .arrays = "q: T[H*N*D], k: T[H*N*D], v: T[H*N*D], o: out T[H*N*D], lse: out fp32[H*N]",         \
   .launches = {"attention." kernel "(q, k, v, o, lse, H, N, scale) D=D CAUSAL=CAUSAL"             \
                " BLOCK_M=BM BLOCK_N=BN flops=4*H*D*PAIRS"},                                       \
   .defaults = "CAUSAL=False",                                                                     \
   .cases = "T=fp16 H=2 N=128" D64 "; T=fp16 H=2 N=128" D64 CAUSAL "; T=fp16 H=1 N=127" D32        \
            "; T=fp16 H=1 N=129" D32 CAUSAL "; T=bf16 H=1 N=65" WIDE CAUSAL                        \
            "; T=bf16 H=2 N=63" D16 "; T=fp16 H=1 N=1" D64 CAUSAL,                                 \
   .large = "T=fp16 H=4 N=1024" D64 "; T=fp16 H=4 N=1024" D64 CAUSAL "; T=fp16 H=2 N=1023" WIDE    \
            "; T=fp16 H=2 N=1025" WIDE CAUSAL "; T=bf16 H=3 N=1000" D64 CAUSAL                     \
            "; T=bf16 H=2 N=1024" WIDE CAUSAL "; T=bf16 H=5 N=777" D32                             \
            "; T=fp16 H=3 N=1009" D16 CAUSAL,                                                      \
   .timed = "T=fp16 H=64 N=4096 PAIRS=16777216" WIDE                                               \
            "; T=fp16 H=64 N=4096 PAIRS=8390656" WIDE CAUSAL,                                      \
   .oracle = forward

#define MASK "D=D GROUP=G CAUSAL=CAUSAL WINDOW=W SOFTCAP=CAP"
#define BACKWARD(kv, rows)                                                                         \
   .arrays = "q: T[H*N*D], k: T[H/G*N*D], v: T[H/G*N*D], do: T[H*N*D], o: out T[H*N*D],"           \
             "lse: out fp32[H*N], delta: scratch fp32[H*N], dq: out T[H*N*D] slack 3.3 floor 0.01,"\
             "dk: out T[H/G*N*D] slack 3.3 floor 0.01, dv: out T[H/G*N*D] slack 3.3 floor 0.01",   \
   .launches = {"attention_forward.attn_forward(q, k, v, o, lse, H, N, scale, DROP, SEED) " MASK   \
                " BLOCK_M=BM BLOCK_N=BN flops=4*H*D*PAIRS",                                        \
                "attention_backward.attn_bwd_delta(o, do, delta, H*N) D=D",                        \
                kv "(q, k, v, do, lse, delta, dk, dv, H, N, scale, DROP, SEED) " MASK              \
                " flops=8*H*D*PAIRS",                                                              \
                rows "(q, k, v, do, lse, delta, dq, H, N, scale, DROP, SEED) " MASK                \
                " flops=6*H*D*PAIRS"},                                                             \
   .defaults = "H=6 G=1 W=0 CAP=0.0 CAUSAL=False DROP=None SEED=None"
#define FIXED BACKWARD("attention_backward.attn_bwd_kv", "attention_backward.attn_bwd_q")
#define TUNED                                                                                      \
   BACKWARD("tuned_attention_backward.tuned_bwd_kv", "tuned_attention_backward.tuned_bwd_q")

/* Z 2 x H 3, or with G 3: one head of k and v for each of Z. */
#define GROUPS CAUSAL " G=3"
#define WINDOW CAUSAL " G=3 W=200 CAP=2.0"
#define ALL_N(mode) "N=1" mode ";N=64" mode ";N=256" mode ";N=513" mode ";"
#define ALL(T, D)                                                                                  \
   ALL_N(" T=" T D) ALL_N(" T=" T D CAUSAL) ALL_N(" T=" T D GROUPS) ALL_N(" T=" T D WINDOW)

#define TIMED                                                                                      \
   "T=fp16 H=64 N=4096 PAIRS=16777216" D128 "; T=fp16 H=64 N=4096 PAIRS=8390656" D128 CAUSAL       \
   "; T=fp16 H=64 N=4096 PAIRS=8390656" D64 CAUSAL                                                 \
   "; T=fp16 H=64 N=4096 PAIRS=8390656 G=8" D128 CAUSAL                                            \
   "; T=fp16 H=64 N=4096 PAIRS=8390656 DROP=0.1 SEED=1" D128 CAUSAL                                \
   "; T=fp16 H=16 N=16384 PAIRS=16252928 G=8 W=1024 CAP=30.0" D128 CAUSAL

static const ExRow rows[] = {
   {.name = "attn_fwd", FORWARD("attn_fwd")},
   {.name = "attn_fwd_bp", FORWARD("attn_fwd_bp")},
   {.name = "attention_without_lse",
    .arrays = "q: T[H*N*D], k: T[H*N*D], v: T[H*N*D], o: out T[H*N*D]",
    .launches = {"attention.attn_fwd(q, k, v, o, None, H, N, scale) D=D CAUSAL=CAUSAL"},
    .cases = "T=fp16 H=2 N=65" D64 CAUSAL,
    .oracle = forward_without_lse},
   {.name = "attention_backward",
    FIXED,
    .cases = "T=fp16 N=64" D64 "; T=fp16 N=1" D64 CAUSAL "; T=bf16 N=333 H=3" D32 WINDOW
             "; T=fp16 N=67 H=4 G=2 CAP=5.0" D16 "; T=bf16 N=65" D128 CAUSAL
             "; T=fp16 N=65 H=2 G=2 DROP=0.1 SEED=7" D64 CAUSAL
             "; T=bf16 N=100 H=1 DROP=0.5 SEED=123456" D32,
    .large = ALL("fp16", D64) ALL("bf16", D64) ALL("fp16", D128)
       ALL("bf16", D128) "T=bf16 N=513 H=3 DROP=0.2 SEED=1" D128 CAUSAL ";"
                         "T=fp16 N=70 H=2 D=256 scale=0.0625 BM=128 BN=64" CAUSAL,
    .gpu = "T=fp16 N=4096" D128 GROUPS "; T=bf16 N=4096" D64 "; T=bf16 N=4097" D128 WINDOW
           "; T=fp16 N=16384 H=1" D64 CAUSAL "; T=bf16 N=16384 H=3" D128 WINDOW,
    .timed = TIMED,
    .oracle = formulas},
   {.name = "tuned_attention_backward",
    TUNED,
    .cases = "T=fp16 N=65" D64 GROUPS,
    .timed = TIMED,
    .oracle = formulas},
   {.name = "attention_differences",
    FIXED,
    .cases = "T=fp16 N=9 H=4 G=2 DROP=0.3 SEED=5 W=5 CAP=3.0 D=16 scale=0.25 BM=32 BN=16" CAUSAL,
    .oracle = differences},
};

int
main(int argc, char **argv)
{
   return ex_run_rows("attention", rows, sizeof rows / sizeof rows[0], argc, argv);
}
