/* Specialisation: one compile per set of facts, errors carried through, host executors served. */
#include "fixture.h"

#include <pthread.h>

#include "mock_compiler.h"

static const TilecParamDecl params[] = {
   {.name = "x"},
   {.name = "n"},
   {.name = "alpha", .type = "fp32"},
   {.name = "BLOCK", .is_constexpr = true},
   {.name = "m", .type = "i32"},
   {.name = "seed", .no_specialize = true},
};
static const TilecKernelDecl decls[] = {
   {.name = "k", .file = "x.tile", .params = params, .num_params = 6},
   {.name = "other", .file = "x.tile"},
};

static TilecRuntime *rt;
static TilecModule *module;
static TilecKernel *kernel;

static void
start(TilecExecutor on)
{
   static const char *const defines[] = {"BLOCK=128", "ACT=relu=6"};
   memset(&mock, 0, sizeof mock);
   mock.decls = decls;
   mock.num_decls = 2;
   fake_clear();
   TilecRuntimeOptions o = {.struct_size = sizeof o, .executor = on, .driver_path = FAKE_DRIVER,
                            .num_threads = 3};
   assert_int_equal(tilec_runtime_open(&o, &rt), TILEC_OK);
   assert_int_equal(tilec_jit_attach(rt, NULL), TILEC_OK);
   assert_int_equal(tilec_jit_attach(rt, NULL), TILEC_BAD_ARGUMENT);
   TilecSource s = {.struct_size = sizeof s, .file = "x.tile", .kernel = "k", .defines = defines,
                    .num_defines = 2, .num_warps = 8};
   if (tilec_module_from_source(rt, &s, &module) != TILEC_OK)
      fail_msg("%s", detail(rt));
   assert_int_equal(tilec_module_kernel(module, "k", &kernel), TILEC_OK);
}

static void
stop(void)
{
   tilec_module_free(module);
   close_fake(rt);
   assert_int_equal(mock.alive, 0);
}

static void
one_compile_per_set_of_facts(void **state)
{
   (void)state;
   start(TILEC_ON_CUDA);
   const struct {
      TilecArg x, n, alpha, m, seed;
      const char *signature;
      int compiles;
   } cases[] = {
      {tilec_ptr(TILEC_FP16, (void *)0x1000, 0), TILEC_ARG(64), TILEC_ARG(0.5), TILEC_ARG(1),
       TILEC_ARG(16), "*fp16:16,i32:16,fp32,,i32,i32", 1},
      {tilec_ptr(TILEC_FP16, (void *)0x2000, 0), TILEC_ARG(4096), TILEC_ARG(1.5f), TILEC_ARG(3),
       TILEC_ARG(1), "*fp16:16,i32:16,fp32,,i32,i32", 1},
      {tilec_ptr(TILEC_FP16, (void *)0x2002, 0), TILEC_ARG(4096), TILEC_ARG(1), TILEC_ARG(3),
       TILEC_ARG(1), "*fp16,i32:16,fp32,,i32,i32", 2},
      {tilec_ptr(TILEC_FP16, (void *)0x2000, 0), TILEC_ARG(1), TILEC_ARG(1), TILEC_ARG(32),
       TILEC_ARG(1), "*fp16:16,i32:1,fp32,,i32:16,i32", 3},
      {tilec_ptr(TILEC_BF16, (void *)0x2000, 0), TILEC_ARG(INT64_C(5)), TILEC_ARG(1), TILEC_ARG(3),
       TILEC_ARG(1), "*bf16:16,i64,fp32,,i32,i32", 4},
      {tilec_none(), TILEC_ARG(7), TILEC_ARG(1), TILEC_ARG(3), TILEC_ARG(1),
       "None,i32,fp32,,i32,i32", 5},
      {tilec_ptr(TILEC_FP16, (void *)0x9000, 0), TILEC_ARG(16), TILEC_ARG(2), TILEC_ARG(INT64_C(9)),
       TILEC_ARG(0), "*fp16:16,i32:16,fp32,,i32,i32", 5},
   };
   for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
      int before = mock.compiles;
      if (TILEC_LAUNCH(kernel, 0, 1, 1, 1, cases[i].x, cases[i].n, cases[i].alpha, cases[i].m,
                       cases[i].seed) != TILEC_OK)
         fail_msg("case %zu: %s", i, detail(rt));
      assert_int_equal(mock.compiles, cases[i].compiles);
      if (mock.compiles != before)
         assert_string_equal(mock.signature, cases[i].signature);
   }
   assert_int_equal(fake()->num_launches, 7);
   assert_int_equal(tilec_kernel_variants(kernel), 5);
   assert_string_equal(tilec_kernel_info(kernel, 2)->args[1].value, "1");
   assert_null(tilec_kernel_info(kernel, 5));
   assert_string_equal(mock.arch, "sm_90a");
   assert_string_equal(mock.defines, "BLOCK=128;ACT=relu=6;");
   assert_int_equal(mock.num_warps, 8);
   stop();
}

static void
mistakes_are_reported(void **state)
{
   (void)state;
   start(TILEC_ON_CUDA);
   float *x = (float *)0x1000;
   mock.fail = TILEC_BAD_SOURCE;
   assert_int_equal(TILEC_LAUNCH(kernel, 0, 1, 1, 1, x, 1, 1, 1, 1), TILEC_BAD_SOURCE);
   assert_says(rt, "x.tile:3:9: error[E0204]: unknown name 'blok'");
   mock.fail = TILEC_CANCELLED;
   assert_int_equal(TILEC_LAUNCH(kernel, 0, 1, 1, 1, x, 1, 1, 1, 1), TILEC_CANCELLED);
   assert_int_equal(TILEC_LAUNCH(kernel, 0, 1, 1, 1, x, 1, 1, 1, 1), TILEC_OK); /* not remembered */
   assert_int_equal(TILEC_LAUNCH(kernel, 0, 1, 1, 1, x, 1), TILEC_BAD_ARGUMENT);
   assert_says(rt, "5 arguments are taken, 2 given");
   assert_int_equal(TILEC_LAUNCH(kernel, 0, 1, 1, 1, (void *)x, 1, 1, 1, 1), TILEC_BAD_ARGUMENT);
   assert_says(rt, "must say its element type");
   assert_int_equal(TILEC_LAUNCH(kernel, 0, 1, 1, 1, x, 1, x, 1, 1), TILEC_BAD_ARGUMENT);
   assert_says(rt, "'alpha' is no pointer");
   fake()->load_error = "ptxas says no";
   fake_fail("cuModuleLoadDataEx", 1, 218);
   assert_int_equal(TILEC_LAUNCH(kernel, 0, 1, 1, 1, x, 33, 1, 1, 1), TILEC_BAD_IMAGE);
   assert_says(rt, "ptxas says no");
   TilecModule *other;
   TilecSource s = {.struct_size = sizeof s, .file = "x.tile"};
   assert_int_equal(tilec_module_from_source(rt, &s, &other), TILEC_NOT_FOUND);
   assert_says(rt, "name one of: k, other");
   s.kernel = "nope";
   assert_int_equal(tilec_module_from_source(rt, &s, &other), TILEC_NOT_FOUND);
   s.file = "missing.tile";
   assert_int_equal(tilec_module_from_source(rt, &s, &other), TILEC_IO);
   assert_says(rt, "mock: cannot read the file");
   static const char *const bad[] = {"=3"};
   s.defines = bad, s.num_defines = 1;
   assert_int_equal(tilec_module_from_source(rt, &s, &other), TILEC_BAD_ARGUMENT);
   stop();
}

static TilecHostLaunch seen;
static TilecArg seen_args[8];
static TilecStatus run_answer;

static TilecStatus
run(const TilecHostLaunch *launch, TilecFault *fault)
{
   seen = *launch;
   memcpy(seen_args, launch->args, launch->num_args * sizeof seen_args[0]);
   if (run_answer == TILEC_FAULT)
      *fault = (TilecFault){.file = "x.tile", .line = 4, .column = 9, .program_id = {2, 1, 0},
                            .argument = "x", .element = 130, .valid_end = 128,
                            .message = "store out of bounds"};
   return run_answer;
}

static void
host_executor_runs_the_program(void **state)
{
   (void)state;
   start(TILEC_ON_CPU);
   mock.run = run;
   run_answer = TILEC_OK;
   TilecBuffer *b;
   assert_int_equal(tilec_buffer_new(rt, 1024, &b), TILEC_OK);
   TilecArg x = tilec_view(TILEC_FP16, b, 256);
   assert_int_equal(TILEC_LAUNCH(kernel, 0, 3, 2, 1, x, 64, 0.25, INT64_C(9), 5u), TILEC_OK);
   assert_int_equal(mock.stop_after, TILEC_STAGE_IR);
   assert_int_equal(seen.mode, TILEC_HOST_CPU);
   assert_int_equal(seen.grid[1], 2);
   assert_int_equal(seen.num_threads, 3);
   assert_int_equal(seen.num_args, 5);
   assert_int_equal(seen_args[0].kind, TILEC_ARG_POINTER);
   assert_ptr_equal(seen_args[0].as.ptr, (char *)tilec_buffer_address(b) + 256);
   assert_int_equal(seen_args[0].bytes, 768);
   assert_int_equal(seen_args[0].dtype, TILEC_FP16);
   assert_int_equal(seen_args[2].dtype, TILEC_FP32);
   assert_true(seen_args[2].as.f == 0.25);
   assert_int_equal(seen_args[3].dtype, TILEC_I32);
   assert_int_equal(seen_args[4].dtype, TILEC_U32);
   run_answer = TILEC_FAULT;
   assert_int_equal(TILEC_LAUNCH(kernel, 0, 3, 2, 1, x, 64, 0.25, 9, 5u), TILEC_FAULT);
   assert_says(rt, "x.tile:4:9: program (2, 1, 0): store out of bounds");
   assert_says(rt, "'x' element 130, valid 0 to 127");
   assert_int_equal(
       TILEC_LAUNCH(kernel, 0, 1, 1, 1, tilec_ptr(TILEC_FP16, &seen, 0), 64, 0.25, 9, 5u),
       TILEC_BAD_ARGUMENT);
   assert_says(rt, "the size behind pointer 'x' is not known");
   TilecKernelUse use;
   assert_int_equal(tilec_kernel_use(kernel, 0, &use), TILEC_UNSUPPORTED);
   tilec_buffer_free(b);
   stop();
}

static void *
launch_kinds(void *arg)
{
   long bad = 0;
   for (int i = 0; i < 400; i++)
      bad += TILEC_LAUNCH(kernel, 0, 1, 1, 1, (float *)0x1000, (i % 3) * 15 + 1, 1.0f,
                          i % 2 * 16 + 3, i) != TILEC_OK;
   *(long *)arg = bad;
   return NULL;
}

static void
racing_misses_compile_once(void **state)
{
   (void)state;
   start(TILEC_ON_CUDA);
   pthread_t threads[8];
   long bad[8];
   for (int i = 0; i < 8; i++)
      pthread_create(&threads[i], NULL, launch_kinds, &bad[i]);
   for (int i = 0; i < 8; i++) {
      pthread_join(threads[i], NULL);
      assert_int_equal(bad[i], 0);
   }
   assert_int_equal(mock.compiles, 3); /* n = 1, 16, 31 */
   assert_int_equal(fake()->num_launches, 8 * 400);
   stop();
}

int test_jit(void);
int
test_jit(void)
{
   const struct CMUnitTest tests[] = {
       cmocka_unit_test(one_compile_per_set_of_facts),
       cmocka_unit_test(mistakes_are_reported),
       cmocka_unit_test(host_executor_runs_the_program),
       cmocka_unit_test(racing_misses_compile_once),
   };
   return cmocka_run_group_tests(tests, NULL, NULL);
}
