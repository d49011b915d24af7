/* Loading and launching: what reaches the driver, and what is refused before. */
#include "fixture.h"

#include <math.h>

static TilecRuntime *rt;
static TilecModule *module;
static TilecKernel *kernel;

static void
start(const TilecKernelInfo *k, uint32_t n)
{
   TilecImageInfo image = image_of(k, n);
   rt = open_fake();
   if (load_info(rt, &image, &module) != TILEC_OK)
      fail_msg("%s", detail(rt));
   if (tilec_module_kernel(module, k->name, &kernel) != TILEC_OK)
      fail_msg("%s", detail(rt));
}

static void
stop(void)
{
   tilec_module_free(module);
   close_fake(rt);
}

static TilecStatus
launch1(TilecArg a)
{
   TilecLaunch l = {.grid = {1, 1, 1}};
   return tilec_launch(kernel, &l, &a, 1);
}

static uint64_t
last_param(unsigned i)
{
   return fake()->launches[(fake()->num_launches - 1) % FAKE_MAX_LAUNCHES].params[i];
}

static uint64_t
bits32(float f)
{
   uint32_t u;
   memcpy(&u, &f, 4);
   return u;
}

static uint64_t
bits64(double f)
{
   uint64_t u;
   memcpy(&u, &f, 8);
   return u;
}

/* type, argument, the parameter's bytes (low `size`), or refused */
static void
every_type_is_packed(void **state)
{
   (void)state;
   const struct {
      const char *type;
      TilecArg arg;
      unsigned bytes;
      uint64_t want;
      bool refused;
   } cases[] = {
      {"i1", TILEC_ARG((bool)true), 1, 1, false},
      {"i1", TILEC_ARG(2), 1, 0, true},
      {"i1", TILEC_ARG(-1), 1, 0, true},
      {"i8", TILEC_ARG(-128), 1, 0x80, false},
      {"i8", TILEC_ARG(128), 1, 0, true},
      {"u8", TILEC_ARG(255), 1, 255, false},
      {"u8", TILEC_ARG(256), 1, 0, true},
      {"u8", TILEC_ARG(-1), 1, 0, true},
      {"i16", TILEC_ARG((short)-2), 2, 0xfffe, false},
      {"u16", TILEC_ARG(65535), 2, 65535, false},
      {"i32", TILEC_ARG(-5), 4, 0xfffffffb, false},
      {"i32", TILEC_ARG(INT64_C(2147483647)), 4, 0x7fffffff, false},
      {"i32", TILEC_ARG(INT64_C(2147483648)), 4, 0, true},
      {"i32", TILEC_ARG(INT64_C(-2147483648)), 4, 0x80000000, false},
      {"i32", TILEC_ARG(UINT64_MAX), 4, 0, true},
      {"i32", TILEC_ARG(1.0f), 4, 0, true},
      {"u32", TILEC_ARG(UINT32_MAX), 4, UINT32_MAX, false},
      {"i64", TILEC_ARG(INT64_MIN), 8, (uint64_t)INT64_MIN, false},
      {"i64", TILEC_ARG((uint64_t)INT64_MAX + 1), 8, 0, true},
      {"u64", TILEC_ARG(UINT64_MAX), 8, UINT64_MAX, false},
      {"u64", TILEC_ARG(-1), 8, 0, true},
      {"fp32", TILEC_ARG(0.1), 4, bits32(0.1f), false},
      {"fp32", TILEC_ARG(3), 4, bits32(3), false},
      {"fp64", TILEC_ARG(0.1), 8, bits64(0.1), false},
      {"fp64", TILEC_ARG(UINT64_MAX), 8, bits64(18446744073709551616.0), false},
      {"fp16", TILEC_ARG(1.0f), 2, 0x3c00, false},
      {"fp16", TILEC_ARG(-65504.0), 2, 0xfbff, false},
      {"fp16", TILEC_ARG(65519.9), 2, 0x7bff, false},
      {"fp16", TILEC_ARG(65520.0), 2, 0x7c00, false},
      {"fp16", TILEC_ARG(5.9604644775390625e-08), 2, 1, false},
      {"fp16", TILEC_ARG(2.98023223876953125e-08), 2, 0, false}, /* half of it: ties to even */
      {"fp16", TILEC_ARG(2048.0 + 1), 2, 0x6800, false},
      {"fp16", TILEC_ARG(2048.0 + 3), 2, 0x6802, false},
      {"fp16", TILEC_ARG((double)INFINITY), 2, 0x7c00, false},
      {"fp16", TILEC_ARG((double)NAN), 2, 0x7e00, false},
      {"fp16", tilec_bits(TILEC_FP16, 0x1234), 2, 0x1234, false},
      {"fp16", tilec_bits(TILEC_BF16, 0x1234), 2, 0, true},
      {"bf16", TILEC_ARG(1.0f), 2, 0x3f80, false},
      {"bf16", TILEC_ARG(3.39e38), 2, 0x7f7f, false},
      {"bf16", TILEC_ARG(1e39), 2, 0x7f80, false},
      {"fp8e5", TILEC_ARG(1.0), 1, 0x3c, false},
      {"fp8e4nv", TILEC_ARG(448.0), 1, 0x7e, false},
      {"fp8e4nv", TILEC_ARG(1e9), 1, 0x7e, false},
      {"fp8e4nv", TILEC_ARG(-0.001953125), 1, 0x81, false},
      {"fp8e4nv", TILEC_ARG((double)NAN), 1, 0x7f, false},
      {"fp8e4b15", TILEC_ARG(1.0), 1, 0x78, false},
      {"fp8e4b15", TILEC_ARG(-1e9), 1, 0xff, false},
      {"fp8e4b15", TILEC_ARG(3.814697265625e-06), 1, 0, false}, /* half of the least */
      {"fp8e4b15", TILEC_ARG((double)NAN), 1, 0x7f, false},
      {"*fp32", tilec_ptr(TILEC_FP32, (void *)0x1000, 0), 8, 0x1000, false},
      {"*fp32", tilec_ptr(TILEC_DTYPE_NONE, (void *)0x1000, 0), 8, 0x1000, false},
      {"*fp32", tilec_ptr(TILEC_FP64, (void *)0x1000, 0), 8, 0, true},
      {"*fp32", tilec_ptr(TILEC_I32, (void *)0x1000, 0), 8, 0, true},
      {"*bf16", tilec_ptr(TILEC_U16, (void *)0x1000, 0), 8, 0x1000, false},
      {"*bf16", tilec_ptr(TILEC_FP16, (void *)0x1000, 0), 8, 0, true},
      {"*i8", tilec_ptr(TILEC_U8, (void *)0x1000, 0), 8, 0x1000, false},
      {"*const i32", tilec_ptr(TILEC_I32, (void *)0x1000, 0), 8, 0x1000, false},
      {"*fp32", TILEC_ARG(5), 8, 0, true},
      {"*fp32", tilec_none(), 8, 0, true},
      {"i32", tilec_ptr(TILEC_I32, NULL, 0), 4, 0, true},
   };
   for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
      TilecArgInfo a = {.name = "p", .type = cases[i].type};
      TilecKernelInfo k = {KERNEL_DEFAULTS, .args = &a, .num_args = 1};
      start(&k, 1);
      fake()->expect_params = 1;
      TilecStatus status = launch1(cases[i].arg);
      if ((status == TILEC_BAD_ARGUMENT) != cases[i].refused || (status && !cases[i].refused))
         fail_msg("case %zu (%s): %s %s", i, cases[i].type, tilec_status_name(status), detail(rt));
      if (cases[i].refused) {
         assert_int_equal(fake()->num_launches, 0);
         assert_says(rt, "'p'");
      } else {
         uint64_t mask = cases[i].bytes == 8 ? UINT64_MAX : ((uint64_t)1 << cases[i].bytes * 8) - 1;
         if ((last_param(0) & mask) != cases[i].want)
            fail_msg("case %zu (%s): 0x%llx, want 0x%llx", i, cases[i].type,
                     (unsigned long long)(last_param(0) & mask), (unsigned long long)cases[i].want);
      }
      stop();
   }
}

/* All fp16 values survive fp16 → double → fp16, and midpoints go to even. */
static void
half_rounding_is_exhaustive(void **state)
{
   (void)state;
   TilecArgInfo a = {.name = "p", .type = "fp16"};
   TilecKernelInfo k = {KERNEL_DEFAULTS, .args = &a, .num_args = 1};
   start(&k, 1);
   fake()->expect_params = 1;
   for (unsigned h = 0; h < 0x7c00; h++) {
      unsigned e = h >> 10, m = h & 1023;
      double v = e ? ldexp(1024 + m, (int)e - 25) : ldexp(m, -24);
      double ulp = ldexp(1, (e ? (int)e : 1) - 25);
      unsigned up = h == 0x7bff ? 0x7c00 : h + 1;
      assert_int_equal(launch1(TILEC_ARG(v)), TILEC_OK);
      assert_int_equal(last_param(0) & 0xffff, h);
      launch1(TILEC_ARG(-(v + ulp / 2)));
      assert_int_equal(last_param(0) & 0xffff, 0x8000 | (h & 1 ? up : h));
      launch1(TILEC_ARG(nextafter(v + ulp / 2, 1e9)));
      assert_int_equal(last_param(0) & 0xffff, up);
   }
   stop();
}

static const TilecArgInfo spec_args[] = {
   {.name = "x", .type = "*fp32", .divisible = 16},
   {.name = "n", .type = "i32", .divisible = 16},
   {.name = "stride", .type = "i32", .value = "1"},
   {.name = "bias", .type = "*fp32", .value = "None"},
   {.name = "BLOCK", .type = "constexpr", .value = "1024", .is_constexpr = true},
   {.name = "ACT", .type = "constexpr", .value = "'relu'", .is_constexpr = true},
   {.name = "alpha", .type = "fp32"},
};

static void
facts_are_checked_and_folded_arguments_left_out(void **state)
{
   (void)state;
   TilecKernelInfo k = {KERNEL_DEFAULTS, .args = spec_args, .num_args = 7,
                        .grid = {"cdiv(n, BLOCK)", "stride + 1"}};
   start(&k, 1);
   fake()->expect_params = 3;
   float *x = (float *)0x1000;
   assert_int_equal(
      TILEC_LAUNCH(kernel, (void *)0x5, TILEC_OWN_GRID, 1, 1, x, 4096, 1, tilec_none(), 0.5f),
      TILEC_OK);
   FakeLaunch *l = &fake()->launches[0];
   assert_string_equal(l->function, "k");
   assert_int_equal(l->params[0], 0x1000);
   assert_int_equal((uint32_t)l->params[1], 4096);
   assert_int_equal((uint32_t)l->params[2], bits32(0.5f));
   assert_int_equal(l->grid[0], 4);
   assert_int_equal(l->grid[1], 2);
   assert_int_equal(l->grid[2], 1);
   assert_int_equal(l->block[0], 128);
   assert_ptr_equal(l->stream, (void *)0x5);
   assert_int_equal(TILEC_LAUNCH(kernel, 0, 1, 1, 1, x + 1, 4096, 1, tilec_none(), 0.5f),
                    TILEC_BAD_ARGUMENT);
   assert_says(rt, "'x' divisible by 16");
   assert_int_equal(TILEC_LAUNCH(kernel, 0, 1, 1, 1, x, 4097, 1, tilec_none(), 0.5f),
                    TILEC_BAD_ARGUMENT);
   assert_int_equal(TILEC_LAUNCH(kernel, 0, 1, 1, 1, x, 4096, 2, tilec_none(), 0.5f),
                    TILEC_BAD_ARGUMENT);
   assert_says(rt, "'stride' = 1");
   assert_int_equal(TILEC_LAUNCH(kernel, 0, 1, 1, 1, x, 4096, 1, x, 0.5f), TILEC_BAD_ARGUMENT);
   assert_says(rt, "compiled for None");
   assert_int_equal(TILEC_LAUNCH(kernel, 0, 1, 1, 1, x, 4096), TILEC_BAD_ARGUMENT);
   assert_says(rt, "5 arguments are taken, 2 given");
   assert_int_equal(fake()->num_launches, 1);
   stop();
}

static void
first_fitting_variant_is_taken(void **state)
{
   (void)state;
   const TilecArgInfo fast[] = {{.name = "n", .type = "i32", .divisible = 16}};
   const TilecArgInfo big[] = {{.name = "n", .type = "i32"}};
   const TilecKernelInfo k[] = {
      {.name = "k",
       .entry = "k_fast",
       .num_warps = 4,
       .threads = 256,
       .cluster = {1, 1, 1},
       .args = fast,
       .num_args = 1},
      {.name = "k",
       .entry = "k_big",
       .num_warps = 4,
       .threads = 128,
       .cluster = {1, 1, 1},
       .when = "n > 1000",
       .args = big,
       .num_args = 1},
   };
   start(k, 2);
   assert_int_equal(tilec_kernel_variants(kernel), 2);
   assert_string_equal(tilec_kernel_info(kernel, 1)->entry, "k_big");
   assert_null(tilec_kernel_info(kernel, 2));
   assert_int_equal(launch1(TILEC_ARG(2000)), TILEC_OK);
   assert_string_equal(fake()->launches[0].function, "k_fast");
   assert_int_equal(launch1(TILEC_ARG(2001)), TILEC_OK);
   assert_string_equal(fake()->launches[1].function, "k_big");
   assert_int_equal(fake()->launches[1].block[0], 128);
   assert_int_equal(launch1(TILEC_ARG(7)), TILEC_BAD_ARGUMENT);
   assert_says(rt, "n > 1000");
   TilecArg a = TILEC_ARG(32);
   assert_int_equal(tilec_kernel_prepare(kernel, &a, 1), TILEC_OK);
   assert_int_equal(fake()->num_launches, 2);
   stop();
}

static void
grid_limits_hold(void **state)
{
   (void)state;
   TilecArgInfo a = {.name = "n", .type = "i64"};
   TilecKernelInfo k = {KERNEL_DEFAULTS, .args = &a, .num_args = 1, .grid = {"n", "1000 // n"},
                        .launch_grid = {"min(grid_x * grid_y, num_sms)"}};
   start(&k, 1);
   static const struct {
      uint32_t grid[3];
      TilecStatus want;
      unsigned launches;
   } cases[] = {
      {{0, 1, 1}, TILEC_OK, 0},         {{1, 0, 1}, TILEC_OK, 0},
      {{1, 1, 0}, TILEC_OK, 0},         {{1, 65536, 1}, TILEC_LIMIT, 0},
      {{1, 1, 65536}, TILEC_LIMIT, 0},  {{0x80000000u, 1, 1}, TILEC_LIMIT, 0},
      {{1, 65535, 65535}, TILEC_OK, 1}, {{0x7fffffff, 1, 1}, TILEC_OK, 1},
   };
   for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
      TilecLaunch l = {.grid = {cases[i].grid[0], cases[i].grid[1], cases[i].grid[2]}};
      TilecArg n = TILEC_ARG(5);
      fake()->num_launches = 0;
      assert_int_equal(tilec_launch(kernel, &l, &n, 1), cases[i].want);
      assert_int_equal(fake()->num_launches, cases[i].launches);
   }
   fake()->num_launches = 0;
   assert_int_equal(TILEC_LAUNCH(kernel, 0, 100, 7, 1, 5), TILEC_OK);
   assert_int_equal(fake()->launches[0].grid[0], 132); /* persistent: capped at the SMs */
   assert_int_equal(fake()->launches[0].grid[1], 1);
   assert_int_equal(TILEC_LAUNCH(kernel, 0, TILEC_OWN_GRID, 1, 1, 0), TILEC_BAD_ARGUMENT);
   assert_says(rt, "division by zero");
   assert_int_equal(TILEC_LAUNCH(kernel, 0, TILEC_OWN_GRID, 1, 1, -1), TILEC_BAD_ARGUMENT);
   assert_int_equal(TILEC_LAUNCH(kernel, 0, TILEC_OWN_GRID, 1, 1, INT64_C(4294967296)), TILEC_OK);
   assert_int_equal(fake()->num_launches, 1); /* 1000 // n is 0: no-op */
   stop();
}

static void
large_shared_memory_is_opted_into(void **state)
{
   (void)state;
   TilecKernelInfo k = {KERNEL_DEFAULTS, .shared_bytes = 49152};
   start(&k, 1);
   assert_int_equal(fake()->func_attr[8], 0);
   stop();
   k.shared_bytes = 49153;
   start(&k, 1);
   assert_int_equal(fake()->func_attr[8], 49153);
   TilecLaunch l = {.grid = {1, 1, 1}};
   assert_int_equal(tilec_launch(kernel, &l, NULL, 0), TILEC_OK);
   assert_int_equal(fake()->launches[0].shared_bytes, 49153);
   stop();
   rt = open_fake();
   k.shared_bytes = 232449;
   TilecImageInfo image = image_of(&k, 1);
   assert_int_equal(load_info(rt, &image, &module), TILEC_LIMIT);
   assert_says(rt, "232449 bytes of shared memory; the device allows 232448");
   k.shared_bytes = 0;
   k.threads = 1025;
   assert_int_equal(load_info(rt, &image, &module), TILEC_LIMIT);
   close_fake(rt);
}

static void
launch_attributes_are_passed(void **state)
{
   (void)state;
   TilecKernelInfo k = {KERNEL_DEFAULTS, .cooperative = true, .programmatic = true};
   k.cluster[0] = 4, k.cluster[1] = 4;
   start(&k, 1);
   TilecLaunch l = {.grid = {8, 4, 2}};
   assert_int_equal(tilec_launch(kernel, &l, NULL, 0), TILEC_OK);
   assert_int_equal(fake()->launches[0].cluster[0], 4);
   assert_int_equal(fake()->launches[0].cluster[2], 1);
   assert_int_equal(fake()->launches[0].cooperative, 1);
   assert_int_equal(fake()->launches[0].programmatic, 1);
   assert_int_equal(fake()->launches[0].grid[2], 2);
   assert_int_equal(fake()->func_attr[14], 1); /* 16 blocks: not portable */
   stop();
}

static void
hidden_arguments_are_built(void **state)
{
   (void)state;
   const TilecArgInfo args[] = {{.name = "a", .type = "*fp16", .divisible = 16},
                                {.name = "M", .type = "i32"},
                                {.name = "K", .type = "i32"}};
   const TilecHiddenArg hidden[] = {
      {.kind = TILEC_HIDDEN_TENSOR_MAP,
       .base = "a + 32",
       .dtype = TILEC_FP16,
       .rank = 2,
       .dims = {"K", "M"},
       .strides = {NULL, "K * 2"},
       .box = {64, 128},
       .swizzle_bytes = 128},
      {.kind = TILEC_HIDDEN_EXPR, .dtype = TILEC_I32, .dims = {"cdiv(M, 128)"}},
   };
   TilecKernelInfo k = {KERNEL_DEFAULTS, .args = args, .num_args = 3, .hidden = hidden,
                        .num_hidden = 2};
   start(&k, 1);
   fake()->expect_params = 5;
   fake()->expect_map = 3;
   assert_int_equal(TILEC_LAUNCH(kernel, 0, 1, 1, 1, (uint16_t *)0x1000, 1000, 512), TILEC_OK);
   FakeState *f = fake();
   assert_int_equal(f->map_base, 0x1020);
   assert_int_equal(f->map_rank, 2);
   assert_int_equal(f->map_dims[0], 512);
   assert_int_equal(f->map_dims[1], 1000);
   assert_int_equal(f->map_strides[0], 1024);
   assert_int_equal(f->map_box[1], 128);
   assert_int_equal(f->map_swizzle, 3);
   assert_int_equal(f->map_l2, 3); /* rows of 128 bytes: promoted to 256 */
   assert_int_equal(f->map_dtype, 6);
   for (int i = 0; i < 128; i++)
      assert_int_equal(f->launches[0].map[i], 0x5a);
   assert_int_equal((uint32_t)f->launches[0].params[4], 8);
   fake_fail("cuTensorMapEncodeTiled", 1, 1); /* the same values: it is not called again */
   assert_int_equal(TILEC_LAUNCH(kernel, 0, 1, 1, 1, (uint16_t *)0x1000, 1000, 512), TILEC_OK);
   assert_memory_equal(f->launches[1].map, f->launches[0].map, 128);
   assert_int_equal(TILEC_LAUNCH(kernel, 0, 1, 1, 1, (uint16_t *)0x1000, 1001, 512),
                    TILEC_BAD_ARGUMENT);
   assert_says(rt, "tensor map 0");
   stop();
}

/* Blocks that run many programs are told the grid that was asked for. */
static void
persistent_kernels_are_told_the_grid(void **state)
{
   (void)state;
   const TilecHiddenArg hidden[] = {
      {.kind = TILEC_HIDDEN_EXPR, .dtype = TILEC_I32, .dims = {"grid_x"}},
      {.kind = TILEC_HIDDEN_EXPR, .dtype = TILEC_I32, .dims = {"grid_y"}},
      {.kind = TILEC_HIDDEN_EXPR, .dtype = TILEC_I32, .dims = {"grid_z"}},
   };
   TilecKernelInfo k = {KERNEL_DEFAULTS, .hidden = hidden, .num_hidden = 3,
                        .launch_grid = {"min(grid_x * grid_y * grid_z, num_sms)"}};
   start(&k, 1);
   FakeState *f = fake();
   f->expect_params = 3;
   static const uint32_t grids[][4] = {
      {1, 1, 1, 1}, {131, 1, 1, 131}, {12, 11, 1, 132}, {7, 5, 4, 132}, {0x7ffffef7, 1, 1, 132}};
   unsigned n = 0;
   for (; n < sizeof grids / sizeof grids[0]; n++) {
      const uint32_t *g = grids[n];
      TilecLaunch l = {.grid = {g[0], g[1], g[2]}};
      assert_int_equal(tilec_launch(kernel, &l, NULL, 0), TILEC_OK);
      for (int d = 0; d < 3; d++)
         assert_int_equal((uint32_t)f->launches[n].params[d], g[d]);
      assert_int_equal(f->launches[n].grid[0], g[3]);
      assert_int_equal(f->launches[n].grid[1], 1);
      assert_int_equal(f->launches[n].grid[2], 1);
   }
   TilecLaunch l = {.grid = {0x7ffffef8, 1, 1}}; /* and 2 * 132: beyond what i32 counts */
   assert_int_equal(tilec_launch(kernel, &l, NULL, 0), TILEC_LIMIT);
   assert_says(rt, "blocks that run many programs count to 2^31");
   l = (TilecLaunch){.grid = {65536, 65535, 2}};
   assert_int_equal(tilec_launch(kernel, &l, NULL, 0), TILEC_LIMIT);
   assert_int_equal(f->num_launches, n);
   stop();
   k.launch_grid[0] = NULL; /* a block for each program may ask as well */
   start(&k, 1);
   f = fake();
   f->expect_params = 3;
   l = (TilecLaunch){.grid = {7, 5, 4}};
   assert_int_equal(tilec_launch(kernel, &l, NULL, 0), TILEC_OK);
   for (unsigned d = 0; d < 3; d++) {
      assert_int_equal((uint32_t)f->launches[0].params[d], l.grid[d]);
      assert_int_equal(f->launches[0].grid[d], l.grid[d]);
   }
   stop();
}

/* An image has no variant without maps: what coordinates do not reach is an error. */
static void
sizes_beyond_coordinates_are_refused(void **state)
{
   (void)state;
   const TilecArgInfo args[] = {{.name = "a", .type = "*fp16", .divisible = 16},
                                {.name = "M", .type = "i64"}};
   const TilecHiddenArg map = {.kind = TILEC_HIDDEN_TENSOR_MAP,
                               .base = "a",
                               .dtype = TILEC_FP16,
                               .rank = 2,
                               .dims = {"64", "M"},
                               .strides = {NULL, "128"},
                               .box = {64, 128}};
   TilecKernelInfo k = {KERNEL_DEFAULTS, .args = args, .num_args = 2, .hidden = &map,
                        .num_hidden = 1};
   start(&k, 1);
   uint16_t *a = (uint16_t *)0x1000;
   assert_int_equal(TILEC_LAUNCH(kernel, 0, 1, 1, 1, a, INT64_C(2147483647)), TILEC_OK);
   assert_int_equal(TILEC_LAUNCH(kernel, 0, 1, 1, 1, a, INT64_C(2147483648)), TILEC_LIMIT);
   assert_says(rt, "kernel 'k': tensor map 0 (rank 2, base 0x1000): dimension 1 has 2147483648 "
                   "elements, at most 2147483647 are allowed");
   assert_int_equal(fake()->num_launches, 1);
   stop();
}

static void
narrow_boxes_are_promoted_less(void **state)
{
   (void)state;
   const TilecArgInfo args[] = {{.name = "a", .type = "*fp8e5", .divisible = 16}};
   const TilecHiddenArg map = {.kind = TILEC_HIDDEN_TENSOR_MAP,
                               .base = "a",
                               .dtype = TILEC_FP8E5,
                               .rank = 2,
                               .dims = {"64", "64"},
                               .strides = {NULL, "64"},
                               .box = {64, 32}};
   TilecKernelInfo k = {KERNEL_DEFAULTS, .args = args, .num_args = 1, .hidden = &map,
                        .num_hidden = 1};
   start(&k, 1);
   assert_int_equal(TILEC_LAUNCH(kernel, 0, 1, 1, 1, (void *)0x1000), TILEC_OK);
   assert_int_equal(fake()->map_l2, 2);
   stop();
}

static void
images_are_prepared_and_explained(void **state)
{
   (void)state;
   const TilecArgInfo wide[] = {{.name = "n", .type = "i32", .divisible = 16}};
   const TilecArgInfo any[] = {{.name = "n", .type = "i32"}};
   TilecKernelInfo k[] = {{KERNEL_DEFAULTS, .args = wide, .num_args = 1},
                          {KERNEL_DEFAULTS, .args = any, .num_args = 1, .when = "n < 100"}};
   start(k, 2);
   char text[1024];
   TilecPending *pending;
   TilecArg n = TILEC_ARG(32);
   assert_int_equal(tilec_kernel_explain(kernel, &n, 1, text, sizeof text), TILEC_OK);
   assert_string_equal(text, "kernel 'k': variant 0 of 2 would be used");
   assert_int_equal(tilec_kernel_prepare_async(kernel, &n, 1, &pending), TILEC_OK);
   assert_int_equal(tilec_pending_query(pending), TILEC_OK); /* nothing is to be made */
   assert_int_equal(tilec_pending_wait(pending), TILEC_OK);
   tilec_pending_free(pending);
   n = TILEC_ARG(33);
   assert_int_equal(tilec_kernel_explain(kernel, &n, 1, text, sizeof text), TILEC_OK);
   assert_string_equal(text, "kernel 'k': variant 1 of 2 would be used");
   n = TILEC_ARG(333);
   assert_int_equal(tilec_kernel_explain(kernel, &n, 1, text, sizeof text), TILEC_OK);
   assert_non_null(strstr(text, "no variant fits (variant 0: the code was compiled for 'n'"));
   assert_non_null(strstr(text, "; variant 1: the condition 'n < 100' does not hold)"));
   assert_int_equal(tilec_kernel_prepare_async(kernel, &n, 1, &pending), TILEC_BAD_ARGUMENT);
   assert_null(pending);
   assert_int_equal(tilec_kernel_explain(kernel, NULL, 1, text, sizeof text), TILEC_BAD_ARGUMENT);
   assert_int_equal(fake()->num_launches, 0);
   stop();
}

static void
bad_images_are_explained(void **state)
{
   (void)state;
   TilecKernelInfo k = {KERNEL_DEFAULTS};
   TilecImageInfo image = image_of(&k, 1);
   rt = open_fake();
   fake()->load_error = "ptxas application ptx input, line 7; fatal: Parsing error near '!'";
   fake_fail("cuModuleLoadDataEx", 1, 218);
   assert_int_equal(load_info(rt, &image, &module), TILEC_BAD_IMAGE);
   assert_null(module);
   assert_says(rt, "CUDA_ERROR_INVALID_PTX");
   assert_says(rt, "line 7; fatal: Parsing error");
   fake_fail("cuModuleLoadDataEx", 1, 222);
   assert_int_equal(load_info(rt, &image, &module), TILEC_DRIVER_TOO_OLD);
   fake_fail("cuModuleGetFunction", 1, 500);
   assert_int_equal(load_info(rt, &image, &module), TILEC_BAD_IMAGE);
   image.ptx_version = 91;
   assert_int_equal(load_info(rt, &image, &module), TILEC_DRIVER_TOO_OLD);
   assert_says(rt, "PTX 9.1");
   image.ptx_version = 90;
   static const struct {
      const char *arch;
      TilecStatus want;
   } arches[] = {{"sm_80", TILEC_OK},          {"sm_90", TILEC_OK},
                 {"sm_90a", TILEC_OK},         {"sm_80a", TILEC_BAD_TARGET},
                 {"sm_100", TILEC_BAD_TARGET}, {"sm_90f", TILEC_OK},
                 {"sm_80f", TILEC_BAD_TARGET}, {"gfx90", TILEC_BAD_IMAGE},
                 {"sm_90x", TILEC_BAD_IMAGE},  {"sm_90ab", TILEC_BAD_IMAGE}};
   for (size_t i = 0; i < sizeof arches / sizeof arches[0]; i++) {
      image.arch = arches[i].arch;
      TilecStatus got = load_info(rt, &image, &module);
      if (got != arches[i].want)
         fail_msg("%s: %s", arches[i].arch, tilec_status_name(got));
      tilec_module_free(module);
   }
   image.arch = "sm_90a";
   k.grid[0] = "cdiv(nope, 2)";
   assert_int_equal(load_info(rt, &image, &module), TILEC_BAD_IMAGE);
   assert_says(rt, "unknown name");
   k.grid[0] = NULL;
   TilecArgInfo odd = {.name = "d", .type = "tensordesc<fp16[128,64]>"};
   k.args = &odd, k.num_args = 1;
   assert_int_equal(load_info(rt, &image, &module), TILEC_BAD_IMAGE);
   assert_says(rt, "the sizes and strides of 'd' do not follow it");
   odd.type = "tensordesc<fp16>";
   assert_int_equal(load_info(rt, &image, &module), TILEC_BAD_IMAGE);
   odd.type = "complex<fp16>";
   assert_int_equal(load_info(rt, &image, &module), TILEC_UNSUPPORTED);
   assert_int_equal(tilec_module_load(rt, "x", 1, "{}", 2, &module), TILEC_BAD_IMAGE);
   assert_int_equal(tilec_module_load(rt, NULL, 1, "{}", 2, &module), TILEC_BAD_ARGUMENT);
   assert_int_equal(tilec_module_load(NULL, "x", 1, "{}", 2, &module), TILEC_BAD_ARGUMENT);
   close_fake(rt);
}

/* Each driver call of a load fails in turn: typed, and nothing is left behind. */
static void
every_load_call_may_fail(void **state)
{
   (void)state;
   static const char *const calls[] = {"cuCtxGetCurrent", "cuCtxPushCurrent_v2",
                                       "cuModuleLoadDataEx", "cuModuleGetFunction",
                                       "cuFuncSetAttribute"};
   TilecKernelInfo k = {KERNEL_DEFAULTS, .shared_bytes = 100000};
   TilecImageInfo image = image_of(&k, 1);
   for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
      rt = open_fake();
      fake_fail(calls[i], 1, 2);
      assert_int_equal(load_info(rt, &image, &module), TILEC_OUT_OF_DEVICE_MEMORY);
      assert_null(module);
      close_fake(rt);
   }
}

static void
log_and_resources_are_shown(void **state)
{
   (void)state;
   TilecKernelInfo k = {KERNEL_DEFAULTS};
   TilecImageInfo image = image_of(&k, 1);
   TilecKernelUse use;
   rt = open_fake();
   fake()->load_log = "ptxas info : (C7510) Potential Performance Loss: wgmma serialized";
   assert_int_equal(load_info(rt, &image, &module), TILEC_OK);
   assert_non_null(strstr(tilec_module_log(module), "C7510"));
   assert_int_equal(tilec_module_kernel(module, NULL, &kernel), TILEC_OK);
   assert_int_equal(tilec_kernel_use(kernel, 0, &use), TILEC_OK);
   assert_int_equal(use.registers, 40);
   assert_int_equal(use.spill_bytes, 16);
   assert_int_equal(use.blocks_per_sm, 16);
   assert_int_equal(tilec_kernel_use(kernel, 1, &use), TILEC_BAD_ARGUMENT);
   assert_int_equal(tilec_module_kernel(module, "other", &kernel), TILEC_NOT_FOUND);
   assert_says(rt, "the module has: k");
   stop();
}

static void
sticky_fault_names_its_launch(void **state)
{
   (void)state;
   TilecArgInfo a = {.name = "n", .type = "i32"};
   TilecKernelInfo k = {KERNEL_DEFAULTS, .args = &a, .num_args = 1};
   start(&k, 1);
   assert_int_equal(TILEC_LAUNCH(kernel, 0, 3, 1, 1, 0x111), TILEC_OK);
   assert_int_equal(tilec_runtime_sync(rt), TILEC_OK);
   assert_int_equal(TILEC_LAUNCH(kernel, 0, 3, 2, 1, 0x222), TILEC_OK);
   fake_fail("cuCtxSynchronize", 1, 700);
   assert_int_equal(tilec_runtime_sync(rt), TILEC_DEVICE_LOST);
   assert_says(rt, "CUDA_ERROR_ILLEGAL_ADDRESS");
   assert_says(rt, "k, grid (3, 2, 1), args (0x222)");
   assert_null(strstr(detail(rt), "0x111")); /* that one was known to be clean */
   int calls = fake()->total_calls;
   TilecBuffer *b;
   assert_int_equal(TILEC_LAUNCH(kernel, 0, 9, 9, 9, 1), TILEC_DEVICE_LOST);
   assert_says(rt, "args (0x222)"); /* the first cause */
   assert_int_equal(tilec_buffer_new(rt, 16, &b), TILEC_DEVICE_LOST);
   assert_int_equal(fake()->total_calls, calls); /* the driver is not asked again */
   tilec_module_free(module);
   tilec_runtime_close(rt);
   fake_clear(); /* what the lost device held */
}

static void
synchronous_launch_blames_its_kernel(void **state)
{
   (void)state;
   TilecKernelInfo k = {KERNEL_DEFAULTS};
   TilecImageInfo image = image_of(&k, 1);
   TilecRuntimeOptions o = {
      .struct_size = sizeof o, .driver_path = FAKE_DRIVER, .synchronous = true};
   TilecLaunch l = {.grid = {1, 1, 1}};
   fake_clear();
   assert_int_equal(tilec_runtime_open(&o, &rt), TILEC_OK);
   assert_int_equal(load_info(rt, &image, &module), TILEC_OK);
   assert_int_equal(tilec_module_kernel(module, NULL, &kernel), TILEC_OK);
   assert_int_equal(tilec_launch(kernel, &l, NULL, 0), TILEC_OK);
   fake_fail("cuStreamSynchronize", 1, 715);
   fake()->capturing = 1;
   assert_int_equal(tilec_launch(kernel, &l, NULL, 0), TILEC_OK); /* no waiting while capturing */
   fake()->capturing = 0;
   assert_int_equal(tilec_launch(kernel, &l, NULL, 0), TILEC_DEVICE_LOST);
   assert_says(rt, "running 'k'");
   tilec_module_free(module);
   tilec_runtime_close(rt);
   fake_clear(); /* what the lost device held */
}

/* Memory, stream and context made elsewhere: what another library gives is what the driver gets. */
static void
what_the_caller_made_reaches_the_driver(void **state)
{
   (void)state;
   const TilecArgInfo a = {.name = "x", .type = "*fp16", .divisible = 16};
   const TilecKernelInfo k = {KERNEL_DEFAULTS, .args = &a, .num_args = 1};
   TilecImageInfo image = image_of(&k, 1);
   void *lib = dlopen(FAKE_DRIVER, RTLD_NOW), *now = NULL, *mine = (void *)0x77;
   int (*push)(void *), (*pop)(void **), (*current)(void **);
   *(void **)(void *)&push = dlsym(lib, "cuCtxPushCurrent_v2");
   *(void **)(void *)&pop = dlsym(lib, "cuCtxPopCurrent_v2");
   *(void **)(void *)&current = dlsym(lib, "cuCtxGetCurrent");
   fake_clear();
   TilecRuntimeOptions o = {.struct_size = sizeof o, .driver_path = FAKE_DRIVER, .context = mine};
   assert_int_equal(tilec_runtime_open(&o, &rt), TILEC_OK);
   assert_int_equal(load_info(rt, &image, &module), TILEC_OK);
   assert_int_equal(tilec_module_kernel(module, "k", &kernel), TILEC_OK);
   fake()->expect_params = 1;
   uint64_t device_ptr = 0x7f0000001230; /* a CUdeviceptr */
   TilecStream stream = (TilecStream)0x5150;
   for (int is_current = 0; is_current < 2; is_current++) {
      if (is_current)
         push(mine);
      TilecArg arg = tilec_ptr(TILEC_FP16, (void *)(uintptr_t)device_ptr, 0);
      assert_int_equal(TILEC_LAUNCH(kernel, stream, 3, 1, 1, arg), TILEC_OK);
      const FakeLaunch *l = &fake()->launches[(fake()->num_launches - 1) % FAKE_MAX_LAUNCHES];
      assert_int_equal(l->params[0], device_ptr);
      assert_ptr_equal(l->stream, stream);
      current(&now);
      assert_ptr_equal(now, is_current ? mine : NULL);
   }
   tilec_module_free(module);
   tilec_runtime_close(rt);
   current(&now);
   assert_ptr_equal(now, mine); /* not taken over, not destroyed */
   pop(&now);
   assert_ptr_equal(now, mine);
}

static void
refused_launches_are_typed(void **state)
{
   (void)state;
   TilecKernelInfo k = {KERNEL_DEFAULTS};
   start(&k, 1);
   TilecLaunch l = {.grid = {1, 1, 1}};
   fake_fail("cuLaunchKernel", 1, 701);
   assert_int_equal(tilec_launch(kernel, &l, NULL, 0), TILEC_LAUNCH_FAILED);
   assert_says(rt, "launching 'k' (grid 1, 1, 1, 128 threads");
   fake_fail("cuLaunchKernel", 1, 1);
   assert_int_equal(tilec_launch(kernel, &l, NULL, 0), TILEC_LAUNCH_FAILED);
   fake_fail("cuLaunchKernel", 1, 400);
   assert_int_equal(tilec_launch(kernel, &l, NULL, 0), TILEC_BAD_CONTEXT);
   fake_fail("cuLaunchKernel", 1, 12345);
   assert_int_equal(tilec_launch(kernel, &l, NULL, 0), TILEC_DRIVER_ERROR);
   assert_int_equal(tilec_launch(kernel, &l, NULL, 0), TILEC_OK);
   assert_int_equal(tilec_launch(NULL, &l, NULL, 0), TILEC_BAD_ARGUMENT);
   assert_int_equal(tilec_launch(kernel, NULL, NULL, 0), TILEC_BAD_ARGUMENT);
   assert_int_equal(tilec_launch(kernel, &l, NULL, 3), TILEC_BAD_ARGUMENT);
   assert_int_equal(tilec_module_kernel(NULL, NULL, &kernel), TILEC_BAD_ARGUMENT);
   assert_int_equal(tilec_kernel_variants(NULL), 0);
   assert_null(tilec_kernel_info(NULL, 0));
   stop();
}

int test_launch(void);
int
test_launch(void)
{
   const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_type_is_packed),
      cmocka_unit_test(half_rounding_is_exhaustive),
      cmocka_unit_test(facts_are_checked_and_folded_arguments_left_out),
      cmocka_unit_test(first_fitting_variant_is_taken),
      cmocka_unit_test(grid_limits_hold),
      cmocka_unit_test(large_shared_memory_is_opted_into),
      cmocka_unit_test(launch_attributes_are_passed),
      cmocka_unit_test(hidden_arguments_are_built),
      cmocka_unit_test(persistent_kernels_are_told_the_grid),
      cmocka_unit_test(sizes_beyond_coordinates_are_refused),
      cmocka_unit_test(narrow_boxes_are_promoted_less),
      cmocka_unit_test(images_are_prepared_and_explained),
      cmocka_unit_test(bad_images_are_explained),
      cmocka_unit_test(every_load_call_may_fail),
      cmocka_unit_test(log_and_resources_are_shown),
      cmocka_unit_test(sticky_fault_names_its_launch),
      cmocka_unit_test(synchronous_launch_blames_its_kernel),
      cmocka_unit_test(what_the_caller_made_reaches_the_driver),
      cmocka_unit_test(refused_launches_are_typed),
   };
   return cmocka_run_group_tests(tests, NULL, NULL);
}
