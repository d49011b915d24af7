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

/* ---- sums of n elements, a multiple of eight as every D is, written so that gcc -O2 makes vectors
 * of them ---- */
enum { SUM = 4 }; /* rows are added at once */

static double
inner(const double *a, const double *b, size_t n)
{
   double s[8] = {0};
   for (size_t i = 0; i < n; i += 8) {
      s[0] += a[i] * b[i];
      s[1] += a[i + 1] * b[i + 1];
      s[2] += a[i + 2] * b[i + 2];
      s[3] += a[i + 3] * b[i + 3];
      s[4] += a[i + 4] * b[i + 4];
      s[5] += a[i + 5] * b[i + 5];
      s[6] += a[i + 6] * b[i + 6];
      s[7] += a[i + 7] * b[i + 7];
   }
   return ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
}

/* to += the sum of by[k * step] * row k of `from`, of at most SUM of the `rows` that there are. */
static void
add_some(double *restrict to, const double *from, const double *by, size_t step, size_t rows,
         size_t n)
{
   if (rows < SUM) {
      for (size_t k = 0; k < rows; k++)
         for (size_t i = 0; i < n; i++)
            to[i] += by[k * step] * from[k * n + i];
      return;
   }
   const double *a = from, *b = a + n, *c = b + n, *d = c + n;
   double x = by[0], y = by[step], z = by[2 * step], w = by[3 * step];
   for (size_t i = 0; i < n; i += 4)
      for (size_t l = i; l < i + 4; l++)
         to[l] += (a[l] * x + b[l] * y) + (c[l] * z + d[l] * w);
}

static void
add(double *restrict to, const double *from, size_t n)
{
   for (size_t i = 0; i < n; i++)
      to[i] += from[i];
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

/* ---- some rows at a time, which share what is read of k and v ---- */
enum { ROWS = 16 };

/* What is known of ROWS rows from `first` on, of those that the head has; the arrays are [ROWS, n],
 * zero where a row sees no key. */
typedef struct Rows {
   size_t first, count;
   size_t begin, end; /* keys that one of them sees */
   double *p, *kept;  /* weights, before and after dropout */
   double *slope;     /* of the soft cap at each score */
   double *ds;
} Rows;

static Rows
new_rows(size_t n)
{
   double *all = ex_doubles(4 * ROWS * n);
   size_t each = ROWS * n;
   return (Rows){.p = all, .kept = all + each, .slope = all + 2 * each, .ds = all + 3 * each};
}

static void
free_rows(Rows *w)
{
   free(w->p);
}

/* Row i sees keys *begin .. *end - 1. */
static void
visible(const Head *h, size_t i, size_t *begin, size_t *end)
{
   *end = h->causal ? i + 1 : h->n;
   *begin = h->window && i + 1 > h->window ? i + 1 - h->window : 0;
}

static void
begin_rows(const Head *h, size_t first, Rows *w)
{
   size_t unused;
   w->first = first;
   w->count = h->n - first < ROWS ? h->n - first : ROWS;
   visible(h, first, &w->begin, &unused);
   visible(h, first + w->count - 1, &unused, &w->end);
   for (size_t r = 0; r < ROWS; r++)
      for (size_t a = 0; a < 4; a++)
         memset((double *[]){w->p, w->kept, w->slope, w->ds}[a] + r * h->n + w->begin, 0,
                (w->end - w->begin) * sizeof *w->p);
}

/* to, [ROWS, d], += weights @ from, [n, d]. */
static void
add_keys(const Head *h, const Rows *w, const double *weights, const double *from, double *to)
{
   size_t d = h->d;
   for (size_t j = w->begin; j < w->end; j += SUM)
      for (size_t r = 0; r < w->count; r++)
         add_some(to + r * d, from + j * d, weights + r * h->n + j, 1, w->end - j, d);
}

/* to, [n, d], += weights^T @ from, [ROWS, d]. */
static void
add_rows(const Head *h, const Rows *w, const double *weights, const double *from, double *to)
{
   size_t d = h->d, n = h->n;
   for (size_t j = w->begin; j < w->end; j++)
      for (size_t r = 0; r < w->count; r += SUM)
         add_some(to + j * d, from + r * d, weights + r * n + j, n, w->count - r, d);
}

/* From scores to weights: row i, which is row r of w. */
static void
weigh(const Head *h, Rows *w, size_t r)
{
   size_t i = w->first + r, begin, end;
   double *p = w->p + r * h->n, max = -INFINITY, sum = 0;
   visible(h, i, &begin, &end);
   for (size_t j = begin; j < end; j++)
      max = fmax(max, p[j]);
   for (size_t j = begin; j < end; j++)
      sum += p[j] = exp(p[j] - max);
   for (size_t j = begin; j < end; j++) {
      p[j] /= sum;
      w->kept[r * h->n + j] = p[j] * dropout_factor(h, i, j);
   }
   h->lse[i] = max + log(sum);
}

/* The weights of rows first .. first + ROWS - 1, and their rows of o and lse. */
static void
forward_rows(const Head *h, size_t first, Rows *w)
{
   size_t d = h->d, begin, end;
   begin_rows(h, first, w);
   for (size_t j = w->begin; j < w->end; j++)
      for (size_t r = 0; r < w->count; r++) {
         visible(h, first + r, &begin, &end);
         if (j < begin || j >= end)
            continue;
         double s = h->scale * inner(h->q + (first + r) * d, h->k + j * d, d);
         double t = h->cap > 0 ? tanh(s / h->cap) : 0;
         w->p[r * h->n + j] = h->cap > 0 ? h->cap * t : s;
         w->slope[r * h->n + j] = 1 - t * t;
      }
   for (size_t r = 0; r < w->count; r++)
      weigh(h, w, r);
   memset(h->o + first * d, 0, w->count * d * sizeof *h->o);
   add_keys(h, w, w->kept, h->v, h->o + first * d);
}

static void
backward_rows(const Head *h, Rows *w)
{
   size_t d = h->d, n = h->n;
   const double *dout = h->dout + w->first * d;
   double delta[ROWS];
   for (size_t r = 0; r < w->count; r++)
      delta[r] = inner(h->o + (w->first + r) * d, dout + r * d, d);
   for (size_t j = w->begin; j < w->end; j++)
      for (size_t r = 0; r < w->count; r++) {
         size_t at = r * n + j;
         double dp = inner(dout + r * d, h->v + j * d, d);
         w->ds[at] = h->scale * (w->kept[at] * dp - w->p[at] * delta[r]) * w->slope[at];
      }
   add_rows(h, w, w->kept, dout, h->dv);
   add_rows(h, w, w->ds, h->q + w->first * d, h->dk);
   add_keys(h, w, w->ds, h->k, h->dq + w->first * d);
}

/* ---- heads, their rows shared out among threads ---- */

/* Every parts-th ROWS rows of a head, from the part's own on: of causal attention all parts then
 * have about the same work. */
static void
forward_part(void *context, size_t part, size_t parts)
{
   const Head *h = context;
   Rows w = new_rows(h->n);
   for (size_t i = part * ROWS; i < h->n; i += parts * ROWS)
      forward_rows(h, i, &w);
   free_rows(&w);
}

static void
both_part(void *context, size_t part, size_t parts)
{
   Head *all = context, h = *all;
   Rows w = new_rows(h.n);
   double *gradients = ex_doubles(2 * h.n * h.d);
   h.dk = gradients;
   h.dv = gradients + h.n * h.d;
   for (size_t i = part * ROWS; i < h.n; i += parts * ROWS) {
      forward_rows(&h, i, &w);
      backward_rows(&h, &w);
   }
   pthread_mutex_lock(all->sums);
   add(all->dk, h.dk, h.n * h.d);
   add(all->dv, h.dv, h.n * h.d);
   pthread_mutex_unlock(all->sums);
   free(gradients);
   free_rows(&w);
}

static void
do_head(ExWork *work, Head *h)
{
   enum { LEAST_ROWS = 64, MOST_THREADS = 64 }; /* fewer rows are done before a thread starts */
   pthread_mutex_t sums = PTHREAD_MUTEX_INITIALIZER;
   size_t threads = h->n / LEAST_ROWS, processors = ex_processors();
   threads = threads < processors ? threads : processors;
   threads = threads < MOST_THREADS ? threads : MOST_THREADS;
   h->sums = &sums;
   ex_in_threads(work, h, threads ? threads : 1);
}

static void
forward_into(ExCase *c, double *lse)
{
   size_t n = ex_size(c, "N"), d = ex_size(c, "D");
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
      do_head(forward_part, &h);
   }
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

static void
formulas(ExCase *c)
{
   for (size_t head = 0; head < ex_size(c, "H"); head++) {
      Head h = head_of(c, head);
      do_head(both_part, &h);
   }
}

/* The sum of o * do over all heads: what the gradients are of. */
static double
loss(const ExCase *c)
{
   size_t n = ex_size(c, "N"), d = ex_size(c, "D");
   double sum = 0;
   for (size_t head = 0; head < ex_size(c, "H"); head++) {
      Head h = head_of(c, head);
      forward_part(&h, 0, 1);
      sum += inner(h.o, h.dout, n * d);
   }
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

#define FORWARD(file, kernel, more)                                                                \
   .arrays = "q: T[H*N*D], k: T[H*N*D], v: T[H*N*D], o: out T[H*N*D], lse: out fp32[H*N]",         \
   .launches = {file "." kernel "(q, k, v, o, lse, H, N, scale" more ") D=D CAUSAL=CAUSAL"         \
                " BLOCK_M=BM BLOCK_N=BN flops=4*H*D*PAIRS"},                                       \
   .defaults = "CAUSAL=False P=3",                                                                 \
   .cases = "T=fp16 H=2 N=128" D64 "; T=fp16 H=2 N=128" D64 CAUSAL "; T=fp16 H=1 N=127" D32        \
            "; T=fp16 H=1 N=129" D32 CAUSAL "; T=bf16 H=1 N=65" WIDE CAUSAL                        \
            "; T=bf16 H=2 N=63" D16 "; T=fp16 H=1 N=1" D64 CAUSAL,                                 \
   .large = "T=fp16 H=4 N=1024" D64 "; T=fp16 H=4 N=1024" D64 CAUSAL "; T=fp16 H=2 N=1023" WIDE    \
            "; T=fp16 H=2 N=1025" WIDE CAUSAL "; T=bf16 H=3 N=1000" D64 CAUSAL                     \
            "; T=bf16 H=2 N=1024" WIDE CAUSAL "; T=bf16 H=5 N=777" D32                             \
            "; T=fp16 H=3 N=1009" D16 CAUSAL,                                                      \
   .timed = "T=fp16 H=64 N=4096 P=132 PAIRS=16777216" WIDE                                         \
            "; T=fp16 H=64 N=4096 P=132 PAIRS=8390656" WIDE CAUSAL,                                \
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
#define FIXED BACKWARD("attention_backward_kv.attn_bwd_kv", "attention_backward_q.attn_bwd_q")
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
   {.name = "attn_fwd", FORWARD("attention", "attn_fwd", "")},
   {.name = "attn_fwd_bp", FORWARD("attention_block_pointers", "attn_fwd_bp", "")},
   {.name = "attn_fwd_persistent", FORWARD("attention_persistent", "attn_fwd_persistent", ", P")},
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
