/* The examples through the public API: the same program on the CPU executor and on the
 * simulator, for two targets, several warps, stages and sizes on and off the tile boundaries.
 * Results may differ by rounding only: sums are taken in another order, and matrix instructions
 * round more often. */
#include "tilec/arg.h"
#include "tilec/tilec.h"

#include "ir/dtype.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka wants the headers above first. */
#include <cmocka.h>
#include <math.h>

enum { MAX_ARGS = 20 };

/* 'b' a buffer of n elements filled with random numbers, 'o' one that the kernel writes, 'i' an
 * int, 'f' a float */
typedef struct Spec {
   char kind;
   TlDtype dtype;
   int64_t n;
   double f;
} Spec;

typedef struct Case {
   const char *file, *kernel;
   const TilecDefine *defines;
   size_t num_defines;
   Spec arg[MAX_ARGS];
   uint32_t grid[3];
   double tolerance; /* relative to 1 + |value| */
   uint32_t stages, warps;
   uint32_t seed;
} Case;

static uint32_t
next_random(uint32_t *state)
{
   *state = *state * 1664525u + 1013904223u;
   return *state >> 8;
}

static void
fill(TlDtype t, uint8_t *p, int64_t n, uint32_t *rng)
{
   for (int64_t i = 0; i < n; i++) {
      double v = ((double)next_random(rng) + next_random(rng) + next_random(rng)) / (1 << 24) - 1.5;
      tl_store_elem(t, p + i * tl_dtype_info[t].bytes,
                    tl_dtype_is_float(t) ? tl_double_to_bits(t, 2 * v, TL_ROUND_NEAREST_EVEN)
                                         : tl_int_to_bits(t, (int64_t)(v * 20)));
   }
}

static void
show(void *user, const TilecDiag *d)
{
   (void)user;
   if (d->rendered)
      print_error("%s", d->rendered);
}

static TilecProgram *
compile(TilecSession *s, const Case *c, const char *arch)
{
   char path[512], signature[512] = "";
   snprintf(path, sizeof path, "%s/dsl_examples/%s", TL_SOURCE_DIR, c->file);
   for (unsigned i = 0; i < MAX_ARGS && c->arg[i].kind; i++) {
      const Spec *a = &c->arg[i];
      size_t n = strlen(signature);
      const char *sep = i ? ", " : "", *t = tl_dtype_info[a->dtype].text;
      if (a->kind == 'b' || a->kind == 'o')
         snprintf(signature + n, sizeof signature - n, "%s*%s:16", sep, t);
      else if (a->kind == 'f')
         snprintf(signature + n, sizeof signature - n, "%sfp32", sep);
      else
         snprintf(signature + n, sizeof signature - n, "%si32%s", sep,
                  a->n == 1        ? ":1"
                  : a->n % 16 == 0 ? ":16"
                                   : "");
   }
   TilecCompileOptions o = {.struct_size = sizeof o,
                            .file = path,
                            .kernel = c->kernel,
                            .signature = signature,
                            .defines = c->defines,
                            .num_defines = c->num_defines,
                            .arch = arch,
                            .num_stages = c->stages,
                            .num_warps = c->warps,
                            .stop_after = TILEC_STAGE_LOWERED};
   TilecProgram *p = NULL;
   TilecStatus status = tilec_compile(s, &o, &p);
   if (status != TILEC_OK)
      fail_msg("%s %s: status %d, %s", c->file, signature, (int)status, tilec_session_error(s));
   return p;
}

/* Runs on one executor; outputs are the buffers of out. */
static void
run(const TilecProgram *p, const Case *c, TilecHostMode mode, uint8_t *out[MAX_ARGS])
{
   TilecArg args[MAX_ARGS];
   uint32_t rng = c->seed;
   size_t n = 0;
   for (unsigned i = 0; i < MAX_ARGS && c->arg[i].kind; i++) {
      const Spec *a = &c->arg[i];
      size_t bytes = (size_t)a->n * tl_dtype_info[a->dtype].bytes;
      if (a->kind == 'i') {
         args[n++] = tilec_int(TILEC_I32, a->n);
      } else if (a->kind == 'f') {
         args[n++] = tilec_fp32((float)a->f);
      } else {
         out[i] = aligned_alloc(64, (bytes + 63) / 64 * 64);
         memset(out[i], 0, bytes);
         if (a->kind == 'b')
            fill(a->dtype, out[i], a->n, &rng);
         args[n++] = tilec_ptr(TILEC_DTYPE_NONE, out[i], bytes);
      }
   }
   TilecHostLaunch l = {.struct_size = sizeof l,
                        .mode = mode,
                        .grid = {c->grid[0], c->grid[1], c->grid[2]},
                        .args = args,
                        .num_args = n};
   TilecFault fault;
   if (tilec_program_run_cpu(p, &l, &fault) != TILEC_OK)
      fail_msg("%s on %s: %s", c->file, mode == TILEC_HOST_SIM ? "sim" : "cpu", fault.message);
}

static void
compare(const Case *c, const char *arch, uint8_t *const cpu[], uint8_t *const sim[])
{
   for (unsigned i = 0; i < MAX_ARGS && c->arg[i].kind; i++) {
      const Spec *a = &c->arg[i];
      if (a->kind != 'o')
         continue;
      double biggest = 0;
      for (int64_t k = 0; k < a->n; k++) {
         size_t at = (size_t)k * tl_dtype_info[a->dtype].bytes;
         double x = tl_bits_to_double(a->dtype, tl_load_elem(a->dtype, cpu[i] + at));
         double y = tl_bits_to_double(a->dtype, tl_load_elem(a->dtype, sim[i] + at));
         biggest = fabs(x) > biggest ? fabs(x) : biggest;
         if (!(fabs(x - y) <= c->tolerance * (1 + fabs(x))))
            fail_msg("%s %s on %s, seed %u, argument %u, element %lld: cpu %.9g, sim %.9g", c->file,
                     c->kernel, arch, c->seed, i, (long long)k, x, y);
      }
      assert_true(biggest > 0.01); /* something was computed */
   }
}

static void
check(const Case *c)
{
   static const char *const arch[] = {"sm_80", "sm_90a"};
   TilecSession *s;
   TilecSessionOptions so = {.struct_size = sizeof so, .on_diag = show};
   assert_int_equal(tilec_session_new(&so, &s), TILEC_OK);
   for (unsigned i = 0; i < 2; i++) {
      TilecProgram *p = compile(s, c, arch[i]);
      uint8_t *cpu[MAX_ARGS] = {0}, *sim[MAX_ARGS] = {0};
      run(p, c, TILEC_HOST_CPU, cpu);
      run(p, c, TILEC_HOST_SIM, sim);
      compare(c, arch[i], cpu, sim);
      for (unsigned k = 0; k < MAX_ARGS; k++) {
         free(cpu[k]);
         free(sim[k]);
      }
      tilec_program_free(p);
   }
   tilec_session_free(s);
}

#define BUF(t, n) {'b', TL_##t, n, 0}
#define OUT(t, n) {'o', TL_##t, n, 0}
#define INT(n) {'i', TL_I32, n, 0}
#define FLT(v) {'f', TL_FP32, 0, v}
#define DEFINES(...)                                                                               \
   .defines = (const TilecDefine[]){__VA_ARGS__},                                                  \
   .num_defines = sizeof((const TilecDefine[]){__VA_ARGS__}) / sizeof(TilecDefine)

static void
pointwise_kernels(void **state)
{
   (void)state;
   for (int64_t n = 1; n < 5000; n = n * 7 + 9) {
      uint32_t grid = (uint32_t)(n + 1023) / 1024;
      check(&(Case){.file = "elu.tile",
                    .kernel = "elu",
                    .grid = {grid, 1, 1},
                    .tolerance = 1e-6,
                    .arg = {BUF(FP32, n), OUT(FP32, n), INT(n), FLT(1.25)}});
      check(&(Case){.file = "vector_add.tile",
                    .kernel = "vector_add",
                    .grid = {grid, 1, 1},
                    .arg = {BUF(BF16, n), BUF(BF16, n), OUT(BF16, n), INT(n)}});
      check(&(Case){.file = "pointwise.tile",
                    .kernel = "pointwise",
                    .grid = {grid, 1, 1},
                    .tolerance = 2e-3,
                    .warps = 2,
                    .arg = {BUF(FP16, n), BUF(FP16, n), OUT(FP16, n), INT(n), FLT(0.75)}});
   }
}

static void
row_kernels(void **state)
{
   static const int64_t cols[] = {5, 64, 100, 1000, 1024};
   (void)state;
   for (unsigned i = 0; i < 5; i++) {
      int64_t n = cols[i] * 3;
      for (uint32_t warps = 1; warps <= 8; warps *= 2) {
         check(&(Case){.file = "softmax.tile",
                       .kernel = "softmax",
                       .grid = {3, 1, 1},
                       .tolerance = 1e-6,
                       .warps = warps,
                       .seed = i,
                       DEFINES({"BLOCK", "1024"}),
                       .arg = {BUF(FP32, n), OUT(FP32, n), INT(3), INT(cols[i])}});
         check(&(Case){.file = "layer_norm.tile",
                       .kernel = "layer_norm",
                       .grid = {3, 1, 1},
                       .tolerance = 2e-3,
                       .warps = warps,
                       .seed = i,
                       .arg = {BUF(FP16, n), BUF(FP16, cols[i]), BUF(FP16, cols[i]), OUT(FP16, n),
                               OUT(FP32, 3), OUT(FP32, 3), INT(3), INT(cols[i]), FLT(1e-5)}});
      }
   }
}

/* One in how many of the products and attentions. */
#ifdef TL_INSTRUMENTED
enum { ONE_IN = 3 };
#else
enum { ONE_IN = 1 };
#endif

static void
products(void **state)
{
   static const struct {
      TlDtype in, out;
      double tolerance;
   } kinds[] = {{TL_FP16, TL_FP16, 4e-3},
                {TL_BF16, TL_BF16, 2e-2},
                {TL_FP32, TL_FP32, 2e-2},
                {TL_FP8E5, TL_FP32, 1e-4}};
   static const int64_t sizes[][3] = {{128, 128, 64}, {64, 32, 96}, {100, 65, 70}};
   (void)state;
   for (unsigned i = 0; i < 12; i++) {
      int64_t m = sizes[i % 3][0], n = sizes[i % 3][1], k = sizes[i % 3][2];
      Spec a = {'b', kinds[i / 3].in, m * k, 0}, b = {'b', kinds[i / 3].in, k * n, 0};
      Spec c = {'o', kinds[i / 3].out, m * n, 0};
      for (uint32_t stages = 1 + i % ONE_IN; stages <= 4; stages += ONE_IN)
         check(&(Case){.file = "matmul.tile",
                       .kernel = "matmul",
                       .tolerance = kinds[i / 3].tolerance,
                       .grid = {(uint32_t)(((m + 63) / 64) * ((n + 63) / 64)), 1, 1},
                       .stages = stages,
                       .warps = 4,
                       .seed = i,
                       DEFINES({"BLOCK_M", "64"}, {"BLOCK_N", "64"}, {"BLOCK_K", "32"}),
                       .arg = {a, b, c, INT(m), INT(n), INT(k), INT(k), INT(1), INT(n), INT(1),
                               INT(n), INT(1)}});
   }
}

static void
attention(void **state)
{
   static const char *const files[] = {"attention.tile", "attention_block_pointers.tile"};
   static const char *const kernels[] = {"attn_fwd", "attn_fwd_bp"};
   (void)state;
   for (unsigned i = 0; i < 16; i += ONE_IN) {
      int64_t n = i & 1 ? 128 : 150, d = 64, e = n * d * 2;
      TlDtype t = i & 2 ? TL_BF16 : TL_FP16;
      const char *causal = i & 4 ? "True" : "False";
      Spec in = {'b', t, e, 0}, out = {'o', t, e, 0};
      check(&(Case){.file = files[i >> 3],
                    .kernel = kernels[i >> 3],
                    .tolerance = 1e-2,
                    .grid = {(uint32_t)(n + 63) / 64, 2, 1},
                    .stages = 1 + i % 3,
                    .seed = i,
                    DEFINES({"BLOCK_M", "64"}, {"BLOCK_N", "32"}, {"CAUSAL", causal}),
                    .arg = {in, in, in, out, OUT(FP32, n * 2), INT(2), INT(n), FLT(0.125)}});
   }
}

int test_examples(void);
int
test_examples(void)
{
   const struct CMUnitTest tests[] = {
      cmocka_unit_test(pointwise_kernels),
      cmocka_unit_test(row_kernels),
      cmocka_unit_test(products),
      cmocka_unit_test(attention),
   };
   return cmocka_run_group_tests(tests, NULL, NULL);
}
