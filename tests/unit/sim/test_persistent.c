/* Blocks that run many programs (passes/persist_grid.c): on the simulator with as many
 * multiprocessors as programs and with fewer, beside the CPU executor; and which kernels are so. */
#include "tilec/arg.h"
#include "tilec/tilec.h"

#include "ir/dtype.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
/* cmocka wants the headers above first. */
#include <cmocka.h>
#include <math.h>

int test_persistent(void);

/* Products of 128x64 and 64x128 in K steps; X rows and Y columns of tiles, Z matrices. */
#define HEAD_OF(multiple)                                                                          \
   "@kernel(num_warps=8, num_stages=4)\n"                                                          \
   "def k(a: *fp16:16, b: *fp16:16, c: *fp16:16, n: i32:16, rows: i32:16, columns: i32:" multiple  \
   "):\n"
#define HEAD HEAD_OF("16")
#define PLACE                                                                                      \
   "    x, y, z = program_id(0), program_id(1), program_id(2)\n"                                   \
   "    i, j, t = x * 128 + arange(0, 128), y * 128 + arange(0, 128), arange(0, 64)\n"             \
   "    a += z * rows * n\n"                                                                       \
   "    b += z * n * columns\n"                                                                    \
   "    c += z * rows * columns\n"
#define LOOP(from, to)                                                                             \
   "    acc = zeros((128, 128), fp32)\n"                                                           \
   "    for s in range(" from ", " to ", 64):\n"                                                   \
   "        p = load(a + i[:, None] * n + (s + t)[None, :])\n"                                     \
   "        q = load(b + (s + t)[:, None] * columns + j[None, :])\n"                               \
   "        acc = dot(p, q, acc)\n"
#define STORED "    store(c + i[:, None] * columns + j[None, :], acc.to(fp16))\n"

static const char product[] = HEAD PLACE LOOP("0", "n") STORED;
static const char scaled[] = HEAD PLACE LOOP("0", "n") "    acc *= load(a + x).to(fp32)\n" STORED;
/* Neighbours copy what both multiply for both (passes/pair_blocks.c). */
static const char paired[] = HEAD_OF("8") PLACE LOOP("0", "n") STORED;
static const char triangle[] = HEAD PLACE LOOP("0", "x * 64 + 64") STORED;
static const char turned[] = HEAD PLACE LOOP("64 * x", "n") STORED;
/* Weights of the first product to the second, as attention has them. */
static const char chained[] =
   HEAD PLACE "    d = arange(0, 128)\n"
              "    acc = zeros((128, 128), fp32)\n"
              "    top = full((128,), -1e6, fp32)\n"
              "    p = load(a + i[:, None] * n + d[None, :])\n"
              "    for s in range(0, columns, 64):\n"
              "        q = load(b + d[:, None] * columns + (s + t)[None, :])\n"
              "        w = dot(p, q)\n"
              "        now = maximum(top, max(w, axis=1))\n"
              "        acc *= exp2(top - now)[:, None]\n"
              "        top = now\n"
              "        w = exp2(w - now[:, None]).to(fp16)\n"
              "        v = load(b + d[None, :] * columns + (s + t)[:, None])\n"
              "        acc = dot(w, v, acc)\n" STORED;
static const char counted[] =
   HEAD PLACE LOOP("0", "n") STORED "    tl.atomic_add(c, acc.to(fp16).sum(1).sum(0) * 0)\n";
static const char guarded[] =
   HEAD "    if program_id(0) > 7:\n        return\n" PLACE LOOP("0", "n") STORED;

static TilecProgram *
compile(TilecSession *s, const char *source, TilecTma tma, bool short_programs)
{
   TilecCompileOptions o = {.struct_size = sizeof o,
                            .file = "k.tile",
                            .source = source,
                            .source_bytes = strlen(source),
                            .arch = "sm_90a",
                            .tma = tma,
                            .short_programs = short_programs};
   TilecProgram *p = NULL;
   if (tilec_compile(s, &o, &p) != TILEC_OK)
      fail_msg("%s\n%s", source, tilec_session_error(s));
   return p;
}

static TilecSession *
open_session(void)
{
   TilecSession *s;
   TilecSessionOptions so = {.struct_size = sizeof so};
   assert_int_equal(tilec_session_new(&so, &s), TILEC_OK);
   return s;
}

static bool
is_persistent(TilecSession *s, const char *source, TilecTma tma, bool short_programs)
{
   TilecProgram *p = compile(s, source, tma, short_programs);
   const TilecKernelInfo *k = tilec_program_info(p)->kernels;
   bool is = k->launch_grid[0] != NULL;
   assert_int_equal(is, k->num_hidden && k->hidden[0].kind == TILEC_HIDDEN_EXPR);
   tilec_program_free(p);
   return is;
}

static void
uniform_programs_share_blocks(void **state)
{
   (void)state;
   TilecSession *s = open_session();
   assert_true(is_persistent(s, product, TILEC_TMA_ON, false));
   assert_true(is_persistent(s, scaled, TILEC_TMA_ON, false));
   assert_true(is_persistent(s, paired, TILEC_TMA_ON, false));
   assert_false(is_persistent(s, product, TILEC_TMA_OFF, false)); /* threads copy */
   assert_false(is_persistent(s, triangle, TILEC_TMA_ON, false)); /* not equally long */
   assert_false(is_persistent(s, counted, TILEC_TMA_ON, false));  /* atomics */
   assert_false(is_persistent(s, guarded, TILEC_TMA_ON, false));  /* some have nothing to do */
   assert_false(is_persistent(s, chained, TILEC_TMA_ON, false));  /* if they are short */
   assert_true(is_persistent(s, chained, TILEC_TMA_ON, true));
   assert_true(is_persistent(s, triangle, TILEC_TMA_ON, true));
   assert_true(is_persistent(s, turned, TILEC_TMA_ON, true));
   assert_false(is_persistent(s, counted, TILEC_TMA_ON, true));
   assert_false(is_persistent(s, guarded, TILEC_TMA_ON, true));
   tilec_session_free(s);
}

/* Where rows of b may begin at any 16 bytes, and programs are alike; what a launch has to know. */
static void
some_blocks_are_pairs(void **state)
{
   static const struct {
      const char *source;
      uint32_t cluster;
   } kernels[] = {{product, 1}, {paired, 2}, {chained, 1}, {triangle, 1}};
   (void)state;
   TilecSession *s = open_session();
   for (unsigned i = 0; i < sizeof kernels / sizeof kernels[0]; i++) {
      TilecProgram *p = compile(s, kernels[i].source, TILEC_TMA_ON, false);
      const TilecKernelInfo *k = tilec_program_info(p)->kernels;
      assert_int_equal(k->cluster[0], kernels[i].cluster);
      assert_int_equal(k->cluster[1] * k->cluster[2], 1);
      if (kernels[i].cluster > 1) /* of whole clusters */
         assert_non_null(strstr(k->launch_grid[0], "+ 1) // 2 * 2, num_sms // 2 * 2)"));
      tilec_program_free(p);
   }
   tilec_session_free(s);
}

/* What a launch asks the record: whether such programs are short. */
static void
short_programs_are_told_by_the_record(void **state)
{
#define PROGRAMS "grid_x * grid_y * grid_z"
#define FEW PROGRAMS " <= num_sms // 2 or "
#define LAST "(" PROGRAMS " - 1) % num_sms < num_sms // 2 and " PROGRAMS " < 6 * num_sms or "
   static const struct {
      const char *source, *short_when;
   } kernels[] = {
      {product, NULL},
      {chained,
       LAST "(((((columns + 63) // 64) // 2) * 128) - 0) // 128 * 2048 < 50000 and grid_x * "
            "grid_y * grid_z > num_sms"},
      {triangle, FEW "((((grid_x // 2) * 64) + 64) - 0) // 64 * 512 < 25000 and grid_x * grid_y * "
                     "grid_z > num_sms"},
      {turned, FEW "(n - ((grid_x // 2) * 64)) // 64 * 512 < 25000 and grid_x * grid_y * grid_z > "
                   "num_sms"},
      {counted, NULL},
   };
   (void)state;
   TilecSession *s = open_session();
   for (unsigned i = 0; i < sizeof kernels / sizeof kernels[0]; i++)
      for (int is_short = 0; is_short < 2; is_short++) {
         TilecProgram *p = compile(s, kernels[i].source, TILEC_TMA_ON, is_short);
         const char *got = tilec_program_info(p)->kernels->short_when;
         const char *want = is_short ? NULL : kernels[i].short_when;
         if (!got != !want || (got && strcmp(got, want) != 0))
            fail_msg("kernel %u: %s", i, got ? got : "no short_when");
         tilec_program_free(p);
      }
   tilec_session_free(s);
}

typedef struct Buffers {
   uint16_t *a, *b, *c;
   size_t na, nb, nc;
} Buffers;

static uint16_t *
filled(size_t n, uint32_t *rng)
{
   uint16_t *x = aligned_alloc(128, (2 * n + 127) / 128 * 128);
   for (size_t i = 0; i < n; i++) {
      *rng = *rng * 1664525u + 1013904223u;
      x[i] = (uint16_t)tl_double_to_bits(TL_FP16, (double)(*rng >> 8) / (1 << 23) - 1,
                                         TL_ROUND_NEAREST_EVEN);
   }
   return x;
}

static Buffers
run(const TilecProgram *p, const uint32_t grid[3], int n, TilecHostMode mode, uint32_t sms)
{
   uint32_t rng = grid[0] * 7919 + grid[1] * 31 + grid[2];
   size_t rows = grid[0] * 128u, columns = grid[1] * 128u, z = grid[2], k = (size_t)n;
   Buffers x = {.na = z * rows * k, .nb = z * k * columns, .nc = z * rows * columns};
   x.a = filled(x.na, &rng);
   x.b = filled(x.nb, &rng);
   x.c = aligned_alloc(128, 2 * x.nc);
   memset(x.c, 0xff, 2 * x.nc); /* NaN */
   const TilecArg args[] = {tilec_ptr(TILEC_DTYPE_NONE, x.a, 2 * x.na),
                            tilec_ptr(TILEC_DTYPE_NONE, x.b, 2 * x.nb),
                            tilec_ptr(TILEC_DTYPE_NONE, x.c, 2 * x.nc),
                            tilec_int(TILEC_I32, n),
                            tilec_int(TILEC_I32, (int)rows),
                            tilec_int(TILEC_I32, (int)columns)};
   TilecHostLaunch l = {.struct_size = sizeof l,
                        .mode = mode,
                        .grid = {grid[0], grid[1], grid[2]},
                        .args = args,
                        .num_args = sizeof args / sizeof args[0],
                        .multiprocessors = sms};
   TilecFault fault;
   if (tilec_program_run_cpu(p, &l, &fault) != TILEC_OK)
      fail_msg("grid %u, %u, %u on %u: %s", grid[0], grid[1], grid[2], sms, fault.message);
   return x;
}

static void
release(Buffers *x)
{
   free(x->a);
   free(x->b);
   free(x->c);
}

/* Sums of n products in another order, rounded to fp16 once. */
static void
compare(const Buffers *want, const Buffers *got, const uint32_t grid[3], uint32_t sms)
{
   for (size_t i = 0; i < want->nc; i++) {
      double x = tl_bits_to_double(TL_FP16, want->c[i]), y = tl_bits_to_double(TL_FP16, got->c[i]);
      if (!(fabs(x - y) <= 2e-3 * (1 + fabs(x))))
         fail_msg("grid %u, %u, %u on %u: element %zu is %g, not %g", grid[0], grid[1], grid[2],
                  sms, i, y, x);
   }
}

/* One of how many grids a kernel takes: the simulator is slow, more so where instrumented. */
static unsigned
one_in(bool is_sample)
{
#ifdef TL_INSTRUMENTED
   (void)is_sample;
   return 6;
#else
   return is_sample ? 3 : 1;
#endif
}

static void
every_program_runs_once(void **state)
{
   static const uint32_t grids[][3] = {{1, 1, 1}, {3, 1, 1}, {2, 2, 1},
                                       {1, 2, 2}, {3, 1, 2}, {2, 5, 1}};
   static const struct {
      const char *text;
      bool short_programs, is_sample;
   } sources[] = {{product, false, false}, {scaled, false, true},  {paired, false, false},
                  {chained, true, true},   {triangle, true, true}, {turned, true, true}};
   (void)state;
   TilecSession *s = open_session();
   for (unsigned i = 0; i < sizeof sources / sizeof sources[0]; i++) {
      unsigned step = one_in(sources[i].is_sample);
      TilecProgram *p = compile(s, sources[i].text, TILEC_TMA_ON, sources[i].short_programs);
      for (unsigned g = i % step; g < sizeof grids / sizeof grids[0]; g += step) {
         int n = 256 + 64 * (int)(g % 4); /* more than a triangle takes */
         Buffers want = run(p, grids[g], n, TILEC_HOST_CPU, 0);
         static const uint32_t counts[] = {0, 1, 2, 7, 3, 4}; /* two of them in turn */
         for (unsigned m = 0; m < 2; m++) {
            uint32_t sms = counts[(2 * g + 3 * m) % (sizeof counts / sizeof counts[0])];
            Buffers got = run(p, grids[g], n, TILEC_HOST_SIM, sms);
            compare(&want, &got, grids[g], sms);
            release(&got);
         }
         release(&want);
      }
      tilec_program_free(p);
   }
   tilec_session_free(s);
}

int
test_persistent(void)
{
   const struct CMUnitTest tests[] = {
      cmocka_unit_test(uniform_programs_share_blocks),
      cmocka_unit_test(some_blocks_are_pairs),
      cmocka_unit_test(short_programs_are_told_by_the_record),
      cmocka_unit_test(every_program_runs_once),
   };
   return cmocka_run_group_tests(tests, NULL, NULL);
}
