/* Attention of decoding, contiguous and paged; of a prompt, paged; of fp8. */
#include "cases.h"

#include <math.h>
#include <stdlib.h>

/* ---- one row of attention over keys that a function finds ---- */
typedef struct Row {
   size_t keys, d;
   double scale;
   const double *q;
   double *o;
} Row;

/* Of key j: where its k and v are, and what its weight is multiplied with. */
typedef struct Key {
   const double *k, *v;
   size_t v_step; /* elements between those of v */
   double k_scale, factor;
} Key;

typedef Key KeyFinder(const ExCase *c, size_t row, size_t j);

static void
attend(const ExCase *c, const Row *row, size_t number, KeyFinder *find)
{
   double *p = ex_doubles(row->keys), max = -INFINITY, sum = 0;
   for (size_t j = 0; j < row->keys; j++) {
      Key key = find(c, number, j);
      for (size_t e = 0; e < row->d; e++)
         p[j] += row->q[e] * key.k[e];
      p[j] *= row->scale * key.k_scale;
      max = fmax(max, p[j]);
   }
   for (size_t j = 0; j < row->keys; j++)
      sum += p[j] = exp(p[j] - max);
   for (size_t j = 0; j < row->keys; j++) {
      Key key = find(c, number, j);
      for (size_t e = 0; e < row->d; e++)
         row->o[e] += p[j] / sum * key.factor * key.v[e * key.v_step];
   }
   free(p);
}

/* ---- decoding ---- */
static void
random_lengths(ExCase *c)
{
   size_t batch = ex_size(c, "B"), most = ex_size(c, "N");
   for (size_t b = 0; b < batch; b++)
      ex_in(c, "lengths")[b] = 1 + floor(ex_uniform(ex_of(c)) * (double)most);
   if (batch)
      ex_in(c, "lengths")[batch - 1] = (double)most;
   if (batch > 2)
      ex_in(c, "lengths")[0] = 1;
}

/* Row: sequence times heads + head of q. */
static Key
cached(const ExCase *c, size_t row, size_t j)
{
   size_t d = ex_size(c, "D"), at = (row / ex_size(c, "G") * ex_size(c, "N") + j) * d;
   return (Key){ex_in(c, "k") + at, ex_in(c, "v") + at, 1, 1, 1};
}

static void
random_permutation(ExCase *c, const char *array)
{
   double *table = ex_in(c, array);
   for (size_t i = 0; i < ex_elems(c, array); i++) {
      size_t other = (size_t)(ex_uniform(ex_of(c)) * (double)(i + 1));
      table[i] = table[other];
      table[other] = (double)i;
   }
}

/* Every page is used once, in an order of its own. */
static void
random_pages(ExCase *c)
{
   random_lengths(c);
   random_permutation(c, "table");
}

static Key
paged(const ExCase *c, size_t row, size_t j)
{
   size_t d = ex_size(c, "D"), page_keys = ex_size(c, "PAGE"), heads = ex_size(c, "H");
   size_t kv_heads = heads / ex_size(c, "G"), head = row % heads / ex_size(c, "G");
   size_t page = (size_t)ex_in(c, "table")[row / heads * ex_size(c, "PAGES") + j / page_keys];
   size_t at = ((page * kv_heads + head) * page_keys + j % page_keys) * d;
   return (Key){ex_in(c, "k") + at, ex_in(c, "v") + at, 1, 1, 1};
}

static void
decode_with(ExCase *c, KeyFinder *find)
{
   size_t d = ex_size(c, "D"), heads = ex_size(c, "H");
   for (size_t i = 0; i < ex_size(c, "B") * heads; i++) {
      Row row = {.keys = (size_t)ex_in(c, "lengths")[i / heads],
                 .d = d,
                 .scale = ex_real(c, "scale"),
                 .q = ex_in(c, "q") + i * d,
                 .o = ex_want(c, "o") + i * d};
      attend(c, &row, i, find);
   }
}

static void
decoding(ExCase *c)
{
   decode_with(c, cached);
}

static void
paged_decoding(ExCase *c)
{
   decode_with(c, paged);
}

/* ---- many new rows at once ---- */

/* Row: token times heads + head of q. */
static Key
paged_of_one(const ExCase *c, size_t row, size_t j)
{
   return paged(c, row % ex_size(c, "H"), j);
}

static void
any_pages(ExCase *c)
{
   random_permutation(c, "table");
}

static void
prefill(ExCase *c)
{
   size_t d = ex_size(c, "D"), heads = ex_size(c, "H");
   for (size_t i = 0; i < ex_size(c, "N") * heads; i++) {
      Row row = {.keys = ex_size(c, "FIRST") + i / heads + 1,
                 .d = d,
                 .scale = ex_real(c, "scale"),
                 .q = ex_in(c, "q") + i * d,
                 .o = ex_want(c, "o") + i * d};
      attend(c, &row, i, paged_of_one);
   }
}

/* ---- fp8 ---- */
static void
rows_with(ExCase *c, KeyFinder *find)
{
   size_t n = ex_size(c, "N"), d = ex_size(c, "D");
   for (size_t i = 0; i < ex_size(c, "H") * n; i++) {
      Row row = {.keys = ex_is(c, "CAUSAL", "True") ? i % n + 1 : n,
                 .d = d,
                 .scale = ex_real(c, "scale"),
                 .q = ex_in(c, "q") + i * d,
                 .o = ex_want(c, "o") + i * d};
      attend(c, &row, i, find);
   }
}

static Key
scaled(const ExCase *c, size_t row, size_t j)
{
   size_t n = ex_size(c, "N"), d = ex_size(c, "D"), head = row / n;
   size_t bm = ex_size(c, "BM"), bn = ex_size(c, "BN");
   double q_scale = ex_in(c, "q_scale")[head * ((n + bm - 1) / bm) + row % n / bm];
   double k_scale = ex_in(c, "k_scale")[head * ((n + bn - 1) / bn) + j / bn];
   return (Key){ex_in(c, "k") + (head * n + j) * d, ex_in(c, "v") + head * n * d + j, n,
                q_scale * k_scale, ex_in(c, "v_scale")[head]};
}

static void
random_scales(ExCase *c)
{
   static const char *const scales[] = {"q_scale", "k_scale", "v_scale"};
   for (size_t s = 0; s < 3; s++)
      for (size_t i = 0; i < ex_elems(c, scales[s]); i++)
         ex_in(c, scales[s])[i] = 0.5 + ex_uniform(ex_of(c));
}

static void
fp8(ExCase *c)
{
   rows_with(c, scaled);
}

#define SPLIT_ARGS "parts, parts_lse, B, H, "
#define MERGE                                                                                      \
   "flash_decoding.decode_merge(parts, parts_lse, o, B*H, SPLITS) D=D SPLITS=pow2(SPLITS)"
#define PARTS                                                                                      \
   "lengths: given i32[B], parts: scratch fp32[B*H*SPLITS*D],"                                     \
   "parts_lse: scratch fp32[B*H*SPLITS], o: out T[B*H*D]"
static const ExRow rows[] = {
   {.name = "flash_decoding",
    .arrays = "q: T[B*H*D], k: T[B*H/G*N*D], v: T[B*H/G*N*D]," PARTS,
    .launches = {"flash_decoding.decode_split(q, k, v, lengths," SPLIT_ARGS
                 "N, SPLITS, scale) D=D GROUP=G flops=4*B*H*N*D",
                 MERGE},
    .cases = "T=fp16 B=3 H=6 G=3 N=300 D=64 SPLITS=3 scale=0.125;"
             "T=bf16 B=2 H=2 G=1 N=129 D=128 SPLITS=5 scale=0.08838835;"
             "T=fp16 B=2 H=8 G=8 N=70 D=32 SPLITS=1 scale=0.176;"
             "T=bf16 B=1 H=20 G=20 N=65 D=16 SPLITS=20 scale=0.25",
    .large = "T=bf16 B=2 H=16 G=8 N=2049 D=128 SPLITS=7 scale=0.08838835",
    .timed = "T=bf16 B=8 H=64 G=8 N=16384 D=128 SPLITS=8 scale=0.08838835",
    .prepare = random_lengths,
    .oracle = decoding},
   {.name = "paged_attention",
    .arrays = "q: T[B*H*D], k: T[B*PAGES*H/G*PAGE*D], v: T[B*PAGES*H/G*PAGE*D],"
              "table: given i32[B*PAGES]," PARTS,
    .launches = {"paged_attention.paged_split(q, k, v, table, lengths," SPLIT_ARGS
                 "PAGES, SPLITS, scale) D=D GROUP=G PAGE=PAGE flops=4*B*H*N*D",
                 MERGE},
    .cases = "T=fp16 B=3 H=6 G=3 N=150 PAGE=16 PAGES=10 D=64 SPLITS=3 scale=0.125;"
             "T=bf16 B=2 H=2 G=1 N=128 PAGE=64 PAGES=2 D=128 SPLITS=4 scale=0.08838835;"
             "T=fp16 B=1 H=2 G=2 N=23 PAGE=5 PAGES=5 D=16 SPLITS=1 scale=0.25;"
             "T=bf16 B=1 H=40 G=20 N=65 PAGE=7 PAGES=10 D=16 SPLITS=2 scale=0.25",
    .large = "T=bf16 B=4 H=16 G=8 N=2047 PAGE=16 PAGES=128 D=128 SPLITS=7 scale=0.08838835",
    .timed = "T=bf16 B=8 H=64 G=8 N=16384 PAGE=16 PAGES=1024 D=128 SPLITS=8 scale=0.08838835;"
             "T=bf16 B=8 H=64 G=8 N=16384 PAGE=64 PAGES=256 D=128 SPLITS=8 scale=0.08838835",
    .prepare = random_pages,
    .oracle = paged_decoding},
   {.name = "paged_prefill",
    .arrays = "q: T[N*H*D], k: T[PAGES*H/G*PAGE*D], v: T[PAGES*H/G*PAGE*D],"
              "table: given i32[PAGES], o: out T[N*H*D]",
    .launches = {"paged_prefill(q, k, v, table, o, H, FIRST, N, scale)"
                 " D=D GROUP=G PAGE=PAGE flops=4*H*D*PAIRS"},
    .defaults = "FIRST=0",
    .cases = "T=fp16 N=65 H=6 G=3 D=64 PAGE=16 PAGES=6 scale=0.125;"
             "T=bf16 N=65 FIRST=65 H=2 G=1 D=32 PAGE=5 PAGES=26 scale=0.176",
    .large = "T=bf16 N=413 FIRST=100 H=8 G=4 D=128 PAGE=16 PAGES=40 scale=0.08838835",
    .timed = "T=bf16 N=4096 H=64 G=8 D=128 PAGE=16 PAGES=256 scale=0.08838835 PAIRS=8390656",
    .prepare = any_pages,
    .oracle = prefill},
   {.name = "attention_fp8",
    .arrays = "q: fp8e4nv[H*N*D], k: fp8e4nv[H*N*D], v: fp8e4nv[H*N*D],"
              "q_scale: given fp32[H*cdiv(N,BM)], k_scale: given fp32[H*cdiv(N,BN)],"
              "v_scale: given fp32[H], o: out T[H*N*D] within 0.04",
    .launches = {"attention_fp8.attn_fp8(q, k, v, q_scale, k_scale, v_scale, o, H, N, scale)"
                 " D=D CAUSAL=CAUSAL BLOCK_M=BM BLOCK_N=BN flops=4*H*D*PAIRS"},
    .cases = "T=fp16 H=2 N=65 D=64 scale=0.125 CAUSAL=True BM=64 BN=32;"
             "T=bf16 H=1 N=128 D=32 scale=0.176 CAUSAL=False BM=64 BN=64",
    .large = "T=bf16 H=2 N=513 D=128 scale=0.08838835 CAUSAL=False BM=128 BN=64",
    .timed = "T=fp16 H=64 N=4096 D=128 scale=0.08838835 CAUSAL=False BM=128 BN=64 PAIRS=16777216",
    .prepare = random_scales,
    .oracle = fp8},
};

int
main(int argc, char **argv)
{
   return ex_run_rows("decoding", rows, sizeof rows / sizeof rows[0], argc, argv);
}
