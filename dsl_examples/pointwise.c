/* Element by element: addition, ELU, a chain of operations, SwiGLU, AdamW, rotary embedding. */
#include "cases.h"

#include <math.h>
#include <string.h>

static void
vector_add(ExCase *c)
{
   for (size_t i = 0; i < ex_size(c, "N"); i++)
      ex_want(c, "out")[i] = ex_in(c, "x")[i] + ex_in(c, "y")[i];
}

static void
elu(ExCase *c)
{
   for (size_t i = 0; i < ex_size(c, "N"); i++) {
      double x = ex_in(c, "x")[i];
      ex_want(c, "y")[i] = x < 0 ? ex_real(c, "alpha") * expm1(x) : x;
   }
}

static void
pointwise(ExCase *c)
{
   for (size_t i = 0; i < ex_size(c, "N"); i++) {
      double x = ex_in(c, "x")[i], y = ex_in(c, "y")[i];
      double d = fmin(fmax(x * ex_real(c, "scale") + y, -4), 4), f = exp(-fabs(d));
      ex_want(c, "out")[i] = d > 0 ? d * sqrt(f + 1) : f;
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

/* A head turned by its token's angles. */
static void
turn(const ExCase *c, const double *x, double *y, size_t token)
{
   size_t half = ex_size(c, "D") / 2;
   for (size_t i = 0; i < half; i++) {
      double angle = ex_in(c, "positions")[token] * ex_in(c, "frequency")[i];
      y[i] = x[i] * cos(angle) - x[i + half] * sin(angle);
      y[i + half] = x[i] * sin(angle) + x[i + half] * cos(angle);
   }
}

/* The tokens come in any order and fill all pages. */
static void
rope_append_inputs(ExCase *c)
{
   rope_inputs(c);
   for (size_t i = 0; i < ex_elems(c, "table"); i++)
      ex_in(c, "table")[i] = (double)(ex_elems(c, "table") - 1 - i);
   for (size_t i = 0; i < ex_size(c, "N"); i++)
      ex_in(c, "positions")[i] = (double)(ex_size(c, "N") - 1 - i);
}

static void
rope_append(ExCase *c)
{
   size_t heads = ex_size(c, "H"), kv_heads = heads / ex_size(c, "G"), d = ex_size(c, "D");
   size_t page_keys = ex_size(c, "PAGE");
   for (size_t i = 0; i < ex_size(c, "N") * heads; i++)
      turn(c, ex_in(c, "q") + i * d, ex_want(c, "q") + i * d, i / heads);
   for (size_t i = 0; i < ex_size(c, "N") * kv_heads; i++) {
      size_t position = (size_t)ex_in(c, "positions")[i / kv_heads];
      size_t page = (size_t)ex_in(c, "table")[position / page_keys];
      size_t to = (page * kv_heads + i % kv_heads) * page_keys + position % page_keys;
      turn(c, ex_in(c, "k") + i * d, ex_want(c, "k_pages") + to * d, i / kv_heads);
      memcpy(ex_want(c, "v_pages") + to * d, ex_in(c, "v") + i * d, d * sizeof(double));
   }
}

/* N of one block and next to it. */
#define AROUND_A_BLOCK(rest) "N=1023" rest "; N=1024" rest "; N=1025" rest ";"
#define SUMS(rest)           "N=1" rest ";" AROUND_A_BLOCK(rest) "N=98432" rest ";"
#define LARGE_SUMS(rest)     "N=1048575" rest "; N=1048576" rest ";"
#define CHAINS(rest)         AROUND_A_BLOCK(rest) "N=30001" rest ";"
#define LARGE                " N=16777216"

static const ExRow rows[] = {
   {.name = "vector_add",
    .arrays = "x: T[N] spread S, y: T[N] spread S, out: out T[N]",
    .launches = {"vector_add(x, y, out, N)"},
    .defaults = "S=1",
    .cases = SUMS(" T=fp32") SUMS(" T=fp16") SUMS(" T=bf16") SUMS(" T=i32 S=1e6"),
    .large = LARGE_SUMS(" T=fp32") LARGE_SUMS(" T=i32 S=1e6"),
    .gpu = "T=fp32 N=16777217; T=i32 N=16777217 S=1e6",
    .timed = "T=fp32" LARGE,
    .oracle = vector_add},
   {.name = "elu", /* no single element: exp(v) - 1 cancels near 0, which a norm forgives */
    .arrays = "x: fp32[N] spread 2, y: out fp32[N]",
    .launches = {"elu(x, y, N, alpha)"},
    .defaults = "alpha=1.0",
    .cases = "N=17;" AROUND_A_BLOCK(" alpha=0.5") "N=98432",
    .large = LARGE_SUMS(""),
    .gpu = "N=16777217",
    .timed = LARGE,
    .oracle = elu},
   {.name = "pointwise",
    .arrays = "x: T[N] spread 2, y: T[N], out: out T[N]",
    .launches = {"pointwise(x, y, out, N, scale)"},
    .defaults = "scale=1.5",
    .cases = CHAINS(" T=fp32") CHAINS(" T=fp16") CHAINS(" T=bf16"),
    .gpu = "T=fp16 N=8388613",
    .timed = "T=bf16" LARGE,
    .oracle = pointwise},
   {.name = "swiglu",
    .arrays = "gate: T[N], up: T[N], dy: T[N], y: out T[N], dgate: out T[N], dup: out T[N]",
    .launches = {"swiglu(gate, up, y, N)", "swiglu.swiglu_bwd(gate, up, dy, dgate, dup, N)"},
    .cases = "T=fp32 N=1023; T=fp16 N=1024; T=bf16 N=3001",
    .large = "T=bf16 N=200003",
    .timed = "T=bf16" LARGE,
    .oracle = swiglu},
   {.name = "adamw",
    .arrays = "w: inout T[N], g: T[N], m: inout fp32[N] spread 0.1, v: inout fp32[N]",
    .launches = {"adamw(w, g, m, v, N, rate, beta1, beta2, eps, decay, c1, c2)"},
    .defaults = "rate=0.01 beta1=0.9 beta2=0.999 eps=0.01 decay=0.1 c1=0.19 c2=0.002",
    .cases = "T=fp32 N=1025; T=bf16 N=777",
    .large = "T=bf16 N=200001",
    .timed = "T=bf16" LARGE,
    .prepare = states,
    .oracle = adamw},
   {.name = "rope", /* an angle of 5000 has 11 bits of fraction */
    .arrays = "x: T[N*H*D], positions: i32[N] below 5000, frequency: given fp32[D/2],"
              "y: out T[N*H*D] slack S",
    .launches = {"rope(x, positions, frequency, y, N, H) D=D INVERSE=INVERSE"},
    .defaults = "INVERSE=False S=1",
    .cases = "T=fp16 N=3 H=5 D=64; T=bf16 N=2 H=8 D=128 INVERSE=True; T=fp32 N=5 H=9 D=32 S=50",
    .large = "T=bf16 N=101 H=32 D=128",
    .timed = "T=bf16 N=4096 H=32 D=128",
    .prepare = rope_inputs,
    .oracle = rope},
   {.name = "rope_append",
    .arrays = "q: inout T[N*H*D], k: T[N*H/G*D], v: T[N*H/G*D], positions: given i32[N],"
              "frequency: given fp32[D/2], table: given i32[N/PAGE],"
              "k_pages: out T[N*H/G*D], v_pages: out T[N*H/G*D] within 0",
    .launches = {"paged_prefill.rope_append(q, k, v, positions, frequency, table, k_pages, v_pages,"
                 " N, H) D=D GROUP=G PAGE=PAGE"},
    .cases = "T=fp16 N=12 H=9 G=3 D=64 PAGE=4; T=bf16 N=5 H=2 G=1 D=16 PAGE=1",
    .large = "T=bf16 N=96 H=32 G=4 D=128 PAGE=16",
    .timed = "T=bf16 N=1 H=32 G=4 D=128 PAGE=1; T=bf16 N=4096 H=32 G=4 D=128 PAGE=16",
    .prepare = rope_append_inputs,
    .oracle = rope_append},
};

int
main(int argc, char **argv)
{
   return ex_run_rows("pointwise", rows, sizeof rows / sizeof rows[0], argc, argv);
}
