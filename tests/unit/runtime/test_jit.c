/* Specialisation: one compile per set of facts, errors carried through, host executors served. */
#include "core/jit_table.h"
#include "fixture.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dlpack_abi.h"
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
static TilecJitOptions jit_options;
static TilecTma source_tma;

/* ---- What a call takes from the allocator and how often it locks, on this thread ---- */
static _Thread_local int num_allocs, num_locks;
void *__real_malloc(size_t bytes);
void *__real_calloc(size_t n, size_t bytes);
void *__real_realloc(void *block, size_t bytes);
int __real_pthread_mutex_lock(pthread_mutex_t *m);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t n, size_t bytes);
void *__wrap_realloc(void *block, size_t bytes);
int __wrap_pthread_mutex_lock(pthread_mutex_t *m);

void *
__wrap_malloc(size_t bytes)
{
   num_allocs++;
   return __real_malloc(bytes);
}

void *
__wrap_calloc(size_t n, size_t bytes)
{
   num_allocs++;
   return __real_calloc(n, bytes);
}

void *
__wrap_realloc(void *block, size_t bytes)
{
   num_allocs++;
   return __real_realloc(block, bytes);
}

int
__wrap_pthread_mutex_lock(pthread_mutex_t *m)
{
   num_locks++;
   return __real_pthread_mutex_lock(m);
}

static void
start(TilecExecutor on)
{
   static const char *const defines[] = {"BLOCK=128", "ACT=relu=6"};
   memset(&mock, 0, sizeof mock);
   mock.decls = decls;
   mock.num_decls = 2;
   fake_clear();
   TilecRuntimeOptions o = {
      .struct_size = sizeof o, .executor = on, .driver_path = FAKE_DRIVER, .num_threads = 3};
   assert_int_equal(tilec_runtime_open(&o, &rt), TILEC_OK);
   jit_options.struct_size = sizeof jit_options;
   assert_int_equal(tilec_jit_attach(rt, &jit_options), TILEC_OK);
   assert_int_equal(tilec_jit_attach(rt, NULL), TILEC_BAD_ARGUMENT);
   TilecSource s = {.struct_size = sizeof s,
                    .file = "x.tile",
                    .kernel = "k",
                    .defines = defines,
                    .num_defines = 2,
                    .num_warps = 8,
                    .tma = source_tma};
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
   memset(&jit_options, 0, sizeof jit_options);
   source_tma = TILEC_TMA_DEFAULT;
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
       TILEC_ARG(1), "*bf16:16,i32,fp32,,i32,i32", 4},
      {tilec_none(), TILEC_ARG(7), TILEC_ARG(1), TILEC_ARG(3), TILEC_ARG(1),
       "None,i32,fp32,,i32,i32", 5},
      {tilec_ptr(TILEC_FP16, (void *)0x9000, 0), TILEC_ARG(16), TILEC_ARG(2), TILEC_ARG(INT64_C(9)),
       TILEC_ARG(0), "*fp16:16,i32:16,fp32,,i32,i32", 5},
      {tilec_ptr(TILEC_FP16, (void *)0x2000, 0), TILEC_ARG(1000), TILEC_ARG(1), TILEC_ARG(300),
       TILEC_ARG(1000), "*fp16:16,i32:8,fp32,,i32:4,i32", 6},
      {tilec_ptr(TILEC_FP16, (void *)0x2000, 0), TILEC_ARG(24), TILEC_ARG(1), TILEC_ARG(-4),
       TILEC_ARG(4), "*fp16:16,i32:8,fp32,,i32:4,i32", 6},
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
   assert_int_equal(fake()->num_launches, 9);
   assert_int_equal(tilec_kernel_variants(kernel), 6);
   assert_string_equal(tilec_kernel_info(kernel, 2)->args[1].value, "1");
   assert_null(tilec_kernel_info(kernel, 6));
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
   assert_says(rt, "5 arguments are taken, 2 given; the kernel takes x, n, alpha, m, seed");
   assert_int_equal(TILEC_LAUNCH(kernel, 0, 1, 1, 1, x, 1, 1, 1, 1, 5, 5), TILEC_BAD_ARGUMENT);
   assert_says(rt, "5 arguments are taken, 7 given; the kernel takes x, n");
   assert_int_equal(TILEC_LAUNCH(kernel, 0, 1, 1, 1, x, 1, 0.5f, 0.5f), TILEC_BAD_ARGUMENT);
   assert_says(rt, "4 given; the kernel takes x, n, alpha, m, seed; number 4, a float, goes to "
                   "'m', which is i32");
   assert_int_equal(TILEC_LAUNCH(kernel, 0, 1, 1, 1, (void *)x, 1, 1, 1, 1), TILEC_BAD_ARGUMENT);
   assert_says(rt, "must say its element type");
   TilecBuffer *bare, *typed; /* unless the buffer does */
   Managed m = {.major = 1, .tensor = {x, 2, 0, 0, 4, 16, 1, NULL, NULL, 0}};
   assert_int_equal(tilec_buffer_new(rt, 16, &bare), TILEC_OK);
   assert_int_equal(tilec_buffer_from_dlpack(rt, &m, &typed), TILEC_OK);
   assert_int_equal(TILEC_LAUNCH(kernel, 0, 1, 1, 1, bare, 1, 1, 1, 1), TILEC_BAD_ARGUMENT);
   assert_says(rt, "must say its element type");
   assert_int_equal(TILEC_LAUNCH(kernel, 0, 1, 1, 1, typed, 1, 1, 1, 1), TILEC_OK);
   assert_memory_equal(mock.signature, "*bf16:16,", 9);
   tilec_buffer_free(bare);
   tilec_buffer_free(typed);
   assert_int_equal(TILEC_LAUNCH(kernel, 0, 1, 1, 1, x, 1, x, 1, 1), TILEC_BAD_ARGUMENT);
   assert_says(rt, "'alpha' is not a pointer");
   fake()->load_error = "ptxas says no";
   fake_fail("cuModuleLoadDataEx", 1, 218);
   assert_int_equal(TILEC_LAUNCH(kernel, 0, 1, 1, 1, x, 33, 1, 1, 1), TILEC_BAD_IMAGE);
   assert_says(rt, "ptxas says no");
   TilecModule *other;
   TilecSource s = {.struct_size = sizeof s, .file = "x.tile"};
   TilecKernel *kernels[3];
   assert_int_equal(tilec_module_from_source(rt, &s, &other), TILEC_OK); /* all of the file's */
   assert_int_equal(tilec_module_kernel(other, NULL, &kernels[0]), TILEC_NOT_FOUND);
   assert_says(rt, "the module has 2 kernels, name one of: k, other");
   assert_int_equal(tilec_module_kernel(other, "other", &kernels[0]), TILEC_OK);
   assert_int_equal(tilec_module_kernel(other, "k", &kernels[1]), TILEC_OK);
   assert_int_equal(tilec_module_kernel(other, "nope", &kernels[2]), TILEC_NOT_FOUND);
   assert_ptr_not_equal(kernels[0], kernels[1]);
   tilec_module_free(other);
   s.kernel = "nope";
   assert_int_equal(tilec_module_from_source(rt, &s, &other), TILEC_NOT_FOUND);
   s.file = "missing.tile";
   assert_int_equal(tilec_module_from_source(rt, &s, &other), TILEC_IO);
   assert_says(rt, "mock: cannot read the file");
   s.num_defines = 1;
   assert_int_equal(tilec_module_from_source(rt, &s, &other), TILEC_BAD_ARGUMENT);
   assert_says(rt, "TilecSource.defines is NULL and num_defines is not 0");
   static const char *const bad[] = {"=3"};
   s.defines = bad;
   assert_int_equal(tilec_module_from_source(rt, &s, &other), TILEC_BAD_ARGUMENT);
   stop();
}

static TilecHostLaunch seen;
static TilecArg seen_args[8];
static uint64_t seen_written;
static TilecStatus run_answer;
static const char *fault_text;

static TilecStatus
run(const TilecHostLaunch *launch, TilecFault *fault)
{
   seen = *launch;
   memcpy(seen_args, launch->args, launch->num_args * sizeof seen_args[0]);
   seen_written = launch->written[0];
   if (run_answer == TILEC_FAULT)
      *fault = (TilecFault){.file = "x.tile",
                            .line = 4,
                            .column = 9,
                            .program_id = {2, 1, 0},
                            .argument = "x",
                            .element = 130,
                            .valid_end = 128};
   if (run_answer == TILEC_FAULT)
      snprintf(fault->message, sizeof fault->message, "%s", fault_text);
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
   TilecArg nothing = tilec_view(TILEC_FP16, b, 1024); /* known to be empty: no pointer */
   assert_int_equal(TILEC_LAUNCH(kernel, 0, 3, 2, 1, nothing, 0, 0.25, INT64_C(9), 5u), TILEC_OK);
   assert_null(seen_args[0].as.ptr);
   assert_int_equal(seen_args[0].bytes, 0);
   run_answer = TILEC_FAULT;
   fault_text = "store out of bounds";
   assert_int_equal(TILEC_LAUNCH(kernel, 0, 3, 2, 1, x, 64, 0.25, 9, 5u), TILEC_FAULT);
   assert_says(rt, "x.tile:4:9: program (2, 1, 0): store out of bounds");
   assert_says(rt, "'x' element 130, valid 0 to 127");
   fault_text = "x.tile:4:9: error[E0601]: the executor's own report";
   assert_int_equal(TILEC_LAUNCH(kernel, 0, 3, 2, 1, x, 64, 0.25, 9, 5u), TILEC_FAULT);
   char detail[256];
   tilec_runtime_error(rt, detail, sizeof detail);
   assert_string_equal(detail, fault_text); /* the place once */
   assert_int_equal(
      TILEC_LAUNCH(kernel, 0, 1, 1, 1, tilec_ptr(TILEC_FP16, &seen, 0), 64, 0.25, 9, 5u),
      TILEC_BAD_ARGUMENT);
   assert_says(rt, "the size behind pointer 'x' is not known");
   run_answer = TILEC_OK;
   const struct {
      uintptr_t at;
      uint64_t bytes;
   } nowhere[] = {{16, 64},                              /* of a GPU, or a number */
                  {(uintptr_t)&seen, UINT64_C(1) << 60}, /* too many */
                  {(uintptr_t)&seen, UINT64_MAX}};
   for (size_t i = 0; i < sizeof nowhere / sizeof nowhere[0]; i++) {
      TilecArg p = tilec_ptr(TILEC_FP16, (void *)nowhere[i].at, nowhere[i].bytes);
      assert_int_equal(TILEC_LAUNCH(kernel, 0, 1, 1, 1, p, 64, 0.25, 9, 5u), TILEC_BAD_ARGUMENT);
      assert_says(rt, "pointer 'x' is 0x");
      assert_says(rt, "no memory of this process");
   }
   TilecArg here = tilec_ptr(TILEC_FP16, &seen, sizeof seen);
   assert_int_equal(TILEC_LAUNCH(kernel, 0, 1, 1, 1, here, 64, 0.25, 9, 5u), TILEC_OK);
   TilecKernelUse use;
   assert_int_equal(tilec_kernel_use(kernel, 0, &use), TILEC_UNSUPPORTED);
   tilec_buffer_free(b);
   stop();
}

/* A launch is told how much of a buffer something may have written. */
static void
host_launches_know_what_is_written(void **state)
{
   (void)state;
   static char data[64];
   TilecBuffer *b, *other;
   start(TILEC_ON_CPU);
   mock.run = run;
   mock.is_const = true;
   run_answer = TILEC_OK;
   assert_int_equal(tilec_buffer_new(rt, sizeof data, &b), TILEC_OK);
   assert_int_equal(tilec_buffer_new(rt, sizeof data, &other), TILEC_OK);
   for (int step = 0; step < 7; step++) {
      static const uint64_t wanted[] = {0, 16, 16, 24, 40, 64, UINT64_MAX};
      TilecArg x = tilec_view(TILEC_FP16, b, 0);
      switch (step) {
      case 1:
         assert_int_equal(tilec_buffer_upload(b, 8, data, 8, NULL), TILEC_OK);
         break;
      case 2:
         assert_int_equal(tilec_buffer_upload(b, 0, data, 4, NULL), TILEC_OK);
         break;
      case 3:
         assert_int_equal(tilec_buffer_fill(b, 16, 1, 8, NULL), TILEC_OK);
         break;
      case 4:
         assert_int_equal(tilec_buffer_copy(b, 32, other, 0, 8, NULL), TILEC_OK);
         break;
      case 5:
         assert_non_null(tilec_buffer_address(b)); /* who has it may write there */
         break;
      case 6:
         x = tilec_ptr(TILEC_FP16, data, sizeof data);
         break;
      default:
         break;
      }
      assert_int_equal(TILEC_LAUNCH(kernel, 0, 3, 2, 1, x, 64, 0.25, INT64_C(9), 5u), TILEC_OK);
      assert_true(seen_written == wanted[step]);
   }
   assert_int_equal(
      TILEC_LAUNCH(kernel, 0, 3, 2, 1, tilec_view(TILEC_FP16, b, 16), 64, 0.25, INT64_C(9), 5u),
      TILEC_OK);
   assert_true(seen_written == 48);
   tilec_buffer_free(b);
   tilec_buffer_free(other);
   stop();
   start(TILEC_ON_CPU); /* what a launch may store counts from then on */
   mock.run = run;
   TilecBuffer *stored;
   assert_int_equal(tilec_buffer_new(rt, sizeof data, &stored), TILEC_OK);
   for (int i = 0; i < 2; i++) {
      TilecArg x = tilec_view(TILEC_FP16, stored, 0);
      assert_int_equal(TILEC_LAUNCH(kernel, 0, 3, 2, 1, x, 64, 0.25, INT64_C(9), 5u), TILEC_OK);
      assert_true(seen_written == (i ? 64 : 0));
   }
   tilec_buffer_free(stored);
   stop();
}

static char warned[64];

static void
hear(void *user, const char *text)
{
   assert_null(user);
   snprintf(warned, sizeof warned, "%s", text);
}

static TilecStatus
warn(const TilecHostLaunch *launch, TilecFault *fault)
{
   (void)fault;
   if (launch->on_warning)
      launch->on_warning(launch->user, "x.tile:4:9: warning[W0604]", 26);
   return TILEC_OK;
}

/* Where it is asked for, and where there is somebody to hear it. */
static void
host_launches_warn(void **state)
{
   (void)state;
   for (int i = 0; i < 4; i++) {
      jit_options.warn = i & 1;
      jit_options.on_text = i & 2 ? hear : NULL;
      start(TILEC_ON_CPU);
      mock.run = warn;
      warned[0] = 0;
      TilecArg x = tilec_ptr(TILEC_FP16, warned, sizeof warned);
      assert_int_equal(TILEC_LAUNCH(kernel, 0, 3, 2, 1, x, 64, 0.25, 9, 5u), TILEC_OK);
      assert_int_equal(mock.lints, i == 3);
      assert_string_equal(warned, i == 3 ? "x.tile:4:9: warning[W0604]" : "");
      stop();
   }
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

static TilecStatus
launch_n(int64_t n)
{
   return TILEC_LAUNCH(kernel, 0, 1, 1, 1, (float *)0x1000, n, 1.0f, 3, 7);
}

static void
integers_are_as_wide_as_they_need(void **state)
{
   (void)state;
   start(TILEC_ON_CUDA);
   const struct {
      TilecArg n, seed;
      const char *signature;
   } cases[] = {
      {TILEC_ARG(INT64_C(5)), TILEC_ARG(INT64_C(5)), "*fp32:16,i32,fp32,,i32,i64"},
      {TILEC_ARG(INT64_C(1) << 31), TILEC_ARG(5), "*fp32:16,i64:16,fp32,,i32,i32"},
      {TILEC_ARG((INT64_C(1) << 31) + 1), TILEC_ARG(5), "*fp32:16,i64,fp32,,i32,i32"},
      {TILEC_ARG(-(INT64_C(1) << 31) - 1), TILEC_ARG(6u), "*fp32:16,i64,fp32,,i32,u32"},
      {TILEC_ARG(UINT64_C(1) << 63), TILEC_ARG(5), "*fp32:16,u64:16,fp32,,i32,i32"},
      {TILEC_ARG(UINT64_C(48)), TILEC_ARG(5), "*fp32:16,i32:16,fp32,,i32,i32"},
      {TILEC_ARG(7u), TILEC_ARG(5), "*fp32:16,u32,fp32,,i32,i32"},
      {TILEC_ARG((short)7), TILEC_ARG(5), "*fp32:16,i16,fp32,,i32,i32"},
   };
   for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
      if (TILEC_LAUNCH(kernel, 0, 1, 1, 1, (float *)0x1000, cases[i].n, 1.0f, 3, cases[i].seed) !=
          TILEC_OK)
         fail_msg("case %zu: %s", i, detail(rt));
      assert_string_equal(mock.signature, cases[i].signature);
   }
   assert_int_equal(mock.compiles, 8);
   stop();
}

static void
alignment_alone_can_be_switched_off(void **state)
{
   (void)state;
   static const TilecParamDecl loose[] = {{.name = "x", .no_align = true},
                                          {.name = "n", .no_align = true}};
   static const TilecKernelDecl decl = {.name = "k", .params = loose, .num_params = 2};
   start(TILEC_ON_CUDA);
   mock.decls = &decl;
   mock.num_decls = 1;
   TilecModule *m;
   TilecKernel *k;
   TilecSource s = {.struct_size = sizeof s, .file = "y.tile"};
   assert_int_equal(tilec_module_from_source(rt, &s, &m), TILEC_OK);
   assert_int_equal(tilec_module_kernel(m, "k", &k), TILEC_OK);
   assert_int_equal(TILEC_LAUNCH(k, 0, 1, 1, 1, (float *)0x1000, 16), TILEC_OK);
   assert_string_equal(mock.signature, "*fp32,i32");
   assert_int_equal(TILEC_LAUNCH(k, 0, 1, 1, 1, (float *)0x1004, 17), TILEC_OK);
   assert_int_equal(mock.compiles, 1);
   assert_int_equal(TILEC_LAUNCH(k, 0, 1, 1, 1, (float *)0x1004, 1), TILEC_OK);
   assert_string_equal(mock.signature, "*fp32,i32:1");
   tilec_module_free(m);
   stop();
}

static void
a_hit_takes_no_memory_and_no_lock(void **state)
{
   (void)state;
   start(TILEC_ON_CUDA);
   assert_int_equal(launch_n(16), TILEC_OK);
   assert_true(num_allocs > 0 && num_locks > 0); /* the counters count */
   num_allocs = num_locks = 0;
   int calls = fake()->total_calls;
   for (int i = 1; i <= 100; i++)
      assert_int_equal(launch_n(16 * i), TILEC_OK);
   assert_int_equal(num_allocs, 0);
   assert_int_equal(num_locks, 0);
   /* of the driver: the current context, its exchange and return on a thread without one, the
    * launch */
   assert_in_range(fake()->total_calls - calls, 200, 400);
   stop();
}

static void
explains_what_a_launch_would_use(void **state)
{
   (void)state;
   start(TILEC_ON_CUDA);
   char text[1024], small[20];
   TilecArg args[] = {TILEC_ARG((float *)0x1000), TILEC_ARG(64), TILEC_ARG(1.0f), TILEC_ARG(3),
                      TILEC_ARG(7)};
   assert_int_equal(tilec_kernel_explain(kernel, args, 5, NULL, 0), TILEC_BAD_ARGUMENT);
   assert_says(rt, "no room for the text");
   assert_int_equal(tilec_kernel_explain(kernel, args, 5, text, sizeof text), TILEC_OK);
   assert_string_equal(text, "kernel 'k': a variant (*fp32:16,i32:16,fp32,,i32,i32) would be made: "
                             "it is the first");
   assert_int_equal(mock.compiles, 0);
   assert_int_equal(tilec_kernel_prepare(kernel, args, 5), TILEC_OK);
   assert_int_equal(tilec_kernel_explain(kernel, args, 5, text, sizeof text), TILEC_OK);
   assert_string_equal(text, "kernel 'k': variant 0 (*fp32:16,i32:16,fp32,,i32,i32) would be used");
   args[1] = TILEC_ARG(65);
   args[0] = TILEC_ARG((double *)0x1000);
   assert_int_equal(tilec_kernel_explain(kernel, args, 5, text, sizeof text), TILEC_OK);
   assert_string_equal(text,
                       "kernel 'k': a new variant (*fp64:16,i32,fp32,,i32,i32) would be made; "
                       "against variant 0:\n   'x': type was *fp32, now *fp64\n"
                       "   'n': was divisible by 16, now not divisible");
   args[1] = TILEC_ARG(1);
   args[0] = tilec_none();
   assert_int_equal(tilec_kernel_explain(kernel, args, 5, text, sizeof text), TILEC_OK);
   assert_non_null(strstr(text, "'x': type was *fp32, now None"));
   assert_non_null(strstr(text, "'n': == 1 was false, now true"));
   assert_null(strstr(text, "'n': was"));
   assert_int_equal(tilec_kernel_explain(kernel, args, 5, small, sizeof small), TILEC_OK);
   assert_string_equal(small, "kernel 'k': a new v");
   assert_int_equal(tilec_kernel_explain(kernel, args, 4, text, sizeof text), TILEC_BAD_ARGUMENT);
   assert_int_equal(tilec_kernel_explain(kernel, args, 5, NULL, 0), TILEC_BAD_ARGUMENT);
   assert_int_equal(mock.compiles, 1);
   stop();
}

static void
compiling_ahead(void **state)
{
   (void)state;
   jit_options.num_workers = 3;
   start(TILEC_ON_CUDA);
   mock.hold = 1;
   TilecPending *pending[6];
   TilecArg args[5];
   for (int i = 0; i < 6; i++) { /* three kinds, each asked for twice */
      TilecArg a[] = {TILEC_ARG((float *)0x1000),
                      TILEC_ARG(i % 3 == 0   ? 1
                                : i % 3 == 1 ? 16
                                             : 7),
                      TILEC_ARG(1.0f), TILEC_ARG(3), TILEC_ARG(7)};
      memcpy(args, a, sizeof a);
      assert_int_equal(tilec_kernel_prepare_async(kernel, a, 5, &pending[i]), TILEC_OK);
   }
   assert_int_equal(tilec_pending_query(pending[5]), TILEC_NOT_READY);
   mock.hold = 0;
   assert_int_equal(launch_n(16), TILEC_OK); /* joins the one under way */
   for (int i = 0; i < 6; i++) {
      assert_int_equal(tilec_pending_wait(pending[i]), TILEC_OK);
      assert_int_equal(tilec_pending_query(pending[i]), TILEC_OK);
      tilec_pending_free(pending[i]);
   }
   assert_int_equal(mock.compiles, 3);
   assert_int_equal(tilec_kernel_prepare_async(kernel, args, 5, &pending[0]), TILEC_OK);
   assert_int_equal(tilec_pending_query(pending[0]), TILEC_OK); /* it is there */
   tilec_pending_free(pending[0]);
   mock.fail = TILEC_BAD_SOURCE;
   args[0] = tilec_none();
   assert_int_equal(tilec_kernel_prepare_async(kernel, args, 5, &pending[0]), TILEC_OK);
   assert_int_equal(tilec_pending_wait(pending[0]), TILEC_BAD_SOURCE);
   assert_says(rt, "unknown name 'blok'");
   tilec_pending_free(pending[0]);
   assert_int_equal(tilec_kernel_prepare_async(kernel, args, 4, &pending[0]), TILEC_BAD_ARGUMENT);
   assert_null(pending[0]);
   for (int i = 0; i < 6; i++) { /* freed while under way: the module waits or calls it off */
      args[1] = TILEC_ARG(INT64_C(1) << (31 + i));
      args[0] = tilec_ptr((TilecDtype)(TILEC_FP16 + i % 4), (void *)0x1000, 0);
      assert_int_equal(tilec_kernel_prepare_async(kernel, args, 5, &pending[i]), TILEC_OK);
      tilec_pending_free(pending[i]);
   }
   tilec_pending_free(NULL);
   assert_int_equal(tilec_pending_wait(NULL), TILEC_BAD_ARGUMENT);
   stop();
}

static void
launches_that_may_not_compile(void **state)
{
   (void)state;
   jit_options.never_compile = true;
   start(TILEC_ON_CUDA);
   assert_int_equal(launch_n(16), TILEC_NOT_FOUND);
   assert_says(rt, "the variant (*fp32:16,i32:16,fp32,,i32,i32) is not ready");
   assert_says(rt, "tilec_kernel_prepare");
   TilecArg args[] = {TILEC_ARG((float *)0x1000), TILEC_ARG(64), TILEC_ARG(1.0f), TILEC_ARG(3),
                      TILEC_ARG(7)};
   assert_int_equal(tilec_kernel_prepare(kernel, args, 5), TILEC_OK);
   assert_int_equal(launch_n(16), TILEC_OK);
   assert_int_equal(launch_n(17), TILEC_NOT_FOUND);
   assert_int_equal(launch_n(24), TILEC_NOT_FOUND);
   assert_says(rt, "the variant (*fp32:16,i32:8,fp32,,i32,i32) is not ready");
   assert_int_equal(mock.compiles, 1);
   args[1] = TILEC_ARG(19);
   assert_int_equal(tilec_kernel_prepare(kernel, args, 5), TILEC_OK);
   assert_int_equal(launch_n(24), TILEC_OK); /* what no multiple is counted on in serves */
   assert_int_equal(launch_n(24), TILEC_OK);
   assert_int_equal(mock.compiles, 2);
   assert_int_equal(fake()->modules, 2);
   stop();
}

static void
capture_refuses_to_compile(void **state)
{
   (void)state;
   start(TILEC_ON_CUDA);
   fake()->capturing = 1;
   assert_int_equal(launch_n(16), TILEC_NOT_FOUND);
   assert_says(rt, "captures a graph; call tilec_kernel_prepare");
   assert_int_equal(mock.compiles, 0);
   assert_int_equal(fake()->modules, 0);
   fake()->capturing = 0;
   assert_int_equal(launch_n(16), TILEC_OK);
   fake()->capturing = 1;
   assert_int_equal(launch_n(32), TILEC_OK);
   assert_int_equal(launch_n(24), TILEC_NOT_FOUND);
   fake()->capturing = 0;
   assert_int_equal(launch_n(17), TILEC_OK);
   fake()->capturing = 1;
   assert_int_equal(launch_n(24), TILEC_OK); /* as Triton's variants serve both */
   assert_int_equal(mock.compiles, 2);
   fake()->capturing = 0;
   assert_int_equal(launch_n(24), TILEC_OK);
   assert_int_equal(mock.compiles, 3);
   stop();
}

static const TilecHiddenArg map = {.kind = TILEC_HIDDEN_TENSOR_MAP,
                                   .base = "x",
                                   .dtype = TILEC_FP16,
                                   .rank = 2,
                                   .dims = {"n", "16"},
                                   .strides = {NULL, "n * 2"},
                                   .box = {64, 16},
                                   .swizzle_bytes = 128};

/* Sizes of 2^31 and what the encoder refuses: the launch takes a variant compiled without maps. */
static void
launches_without_maps_take_another_variant(void **state)
{
   (void)state;
   source_tma = TILEC_TMA_OFF;
   start(TILEC_ON_CUDA);
   assert_int_equal(launch_n(64), TILEC_OK);
   assert_int_equal(mock.tma, TILEC_TMA_OFF);
   stop();
   start(TILEC_ON_CUDA); /* on unless it is switched off */
   mock.map = &map;
   assert_int_equal(launch_n(64), TILEC_OK);
   assert_int_equal(mock.compiles, 1);
   assert_int_equal(mock.tma, TILEC_TMA_ON);
   assert_int_equal(fake()->map_dims[0], 64);
   fake_fail("cuTensorMapEncodeTiled", 1, 1);
   assert_int_equal(launch_n(128), TILEC_OK);
   assert_int_equal(mock.compiles, 2);
   assert_int_equal(mock.tma, TILEC_TMA_OFF);
   assert_string_equal(mock.signature, "*fp32:16,i32:16,fp32,,i32,i32");
   assert_null(strstr(detail(rt), "tensor map"));
   fake_fail("cuTensorMapEncodeTiled", 1, 1);
   assert_int_equal(launch_n(256), TILEC_OK); /* it is there now */
   assert_int_equal(launch_n(64), TILEC_OK);
   assert_int_equal(mock.compiles, 2);
   assert_int_equal(launch_n(INT64_C(1) << 31), TILEC_OK);
   assert_int_equal(mock.compiles, 4); /* an i64 of both kinds */
   assert_int_equal(fake()->num_launches, 5);
   fake_fail("cuTensorMapEncodeTiled", 1, 2); /* out of memory is no refusal */
   assert_int_equal(launch_n(512), TILEC_OUT_OF_DEVICE_MEMORY);
   assert_int_equal(mock.compiles, 4);
   stop();
}

/* Counts the driver's map encodings during a launch. */
static int
encodings_of_launch(int64_t n)
{
   int before = fake()->encodings;
   assert_int_equal(launch_n(n), TILEC_OK);
   return fake()->encodings - before;
}

static void
refusals_of_maps_are_remembered(void **state)
{
   (void)state;
   start(TILEC_ON_CUDA);
   mock.map = &map;
   assert_int_equal(encodings_of_launch(0), 1); /* a size of 0: refused */
   assert_int_equal(mock.tma, TILEC_TMA_OFF);
   assert_int_equal(encodings_of_launch(0), 0);
   assert_int_equal(encodings_of_launch(16), 1);
   assert_int_equal(encodings_of_launch(16), 0);
   assert_int_equal(encodings_of_launch(0), 0);
   assert_int_equal(encodings_of_launch(INT64_C(1) << 31), 0); /* known without asking */
   fake_fail("cuTensorMapEncodeTiled", 1, 2);
   assert_int_equal(launch_n(32), TILEC_OUT_OF_DEVICE_MEMORY);
   assert_int_equal(encodings_of_launch(32), 1); /* what was no refusal is asked again */
   assert_int_equal(fake()->num_launches, 7);
   stop();
}

#define PREPARED                                                                                   \
   TILEC_ARG((float *)0x1000), TILEC_ARG(64), TILEC_ARG(1.0f), TILEC_ARG(3), TILEC_ARG(7)

/* After a preparation no launch compiles, whatever the sizes say about maps. */
static void
launches_without_maps_are_prepared_too(void **state)
{
   TilecArg args[] = {PREPARED};
   TilecPending *pending[2];
   (void)state;
   for (int way = 0; way < 4;
        way++) { /* waiting, by a worker, queued, by a worker after a launch */
      jit_options.never_compile = way < 3;
      jit_options.num_workers = 1;
      start(TILEC_ON_CUDA);
      mock.map = &map;
      mock.hold = way == 2;
      if (way == 3)
         assert_int_equal(launch_n(64), TILEC_OK);
      for (int i = 0; way && i < 2; i++)
         assert_int_equal(tilec_kernel_prepare_async(kernel, args, 5, &pending[i]), TILEC_OK);
      mock.hold = 0;
      for (int i = 0; way && i < 2; i++) {
         assert_int_equal(tilec_pending_wait(pending[i]), TILEC_OK);
         assert_int_equal(tilec_pending_query(pending[i]), TILEC_OK);
         tilec_pending_free(pending[i]);
      }
      if (!way)
         assert_int_equal(tilec_kernel_prepare(kernel, args, 5), TILEC_OK);
      assert_int_equal(mock.compiles, 2);
      assert_int_equal(launch_n(64), TILEC_OK);
      assert_int_equal(launch_n(0), TILEC_OK);
      assert_int_equal(mock.compiles, 2);
      stop();
   }
   source_tma = TILEC_TMA_OFF;
   start(TILEC_ON_CUDA);
   mock.map = &map;
   assert_int_equal(tilec_kernel_prepare(kernel, args, 5), TILEC_OK);
   assert_int_equal(mock.compiles, 1); /* nothing to fall back from */
   stop();
}

static TilecStatus
launch_on(uint32_t grid, int64_t n)
{
   return TILEC_LAUNCH(kernel, 0, grid, 1, 1, (float *)0x1000, n, 1.0f, 3, 7);
}

/* Each launch takes the form of its sizes; from the short one it may have to go on, too. */
static void
short_programs_take_another_variant(void **state)
{
   (void)state;
   start(TILEC_ON_CUDA);
   mock.map = &map;
   mock.short_when = "n < 100 and grid_x > 4";
   assert_int_equal(launch_on(8, 128), TILEC_OK);
   assert_int_equal(mock.compiles, 1);
   assert_false(mock.short_programs);
   assert_int_equal(launch_on(4, 64), TILEC_OK);
   assert_int_equal(mock.compiles, 1);
   assert_int_equal(launch_on(8, 64), TILEC_OK);
   assert_int_equal(mock.compiles, 2);
   assert_true(mock.short_programs);
   assert_int_equal(mock.tma, TILEC_TMA_ON);
   assert_string_equal(mock.signature, "*fp32:16,i32:16,fp32,,i32,i32");
   assert_int_equal(launch_on(8, 48), TILEC_OK);
   assert_int_equal(launch_on(8, 128), TILEC_OK);
   assert_int_equal(mock.compiles, 2);
   fake_fail("cuTensorMapEncodeTiled", 1, 1);
   assert_int_equal(launch_on(8, 32), TILEC_OK); /* no map: the third */
   assert_int_equal(mock.compiles, 3);
   assert_int_equal(mock.tma, TILEC_TMA_OFF);
   assert_false(mock.short_programs);
   assert_int_equal(fake()->num_launches, 6);
   mock.fail = TILEC_BAD_SOURCE; /* is not hidden by the first one */
   assert_int_equal(launch_on(8, 7), TILEC_BAD_SOURCE);
   stop();
   start(TILEC_ON_CUDA); /* what cannot be worked out does not hold */
   mock.short_when = "1 // (n - 16) < 5";
   assert_int_equal(launch_n(16), TILEC_OK);
   assert_int_equal(mock.compiles, 1);
   assert_int_equal(launch_n(32), TILEC_OK);
   assert_int_equal(mock.compiles, 2);
   stop();
}

/* Where nothing may be compiled, the first form does. */
static void
short_programs_do_with_what_is_there(void **state)
{
   TilecArg args[] = {PREPARED};
   (void)state;
   start(TILEC_ON_CUDA);
   mock.short_when = "n < 100";
   assert_int_equal(launch_n(128), TILEC_OK);
   fake()->capturing = 1;
   assert_int_equal(launch_n(64), TILEC_OK);
   assert_int_equal(mock.compiles, 1);
   fake()->capturing = 0;
   assert_int_equal(launch_n(64), TILEC_OK);
   assert_int_equal(mock.compiles, 2);
   stop();
   for (int way = 0; way < 2; way++) {
      TilecPending *pending;
      jit_options.never_compile = true;
      start(TILEC_ON_CUDA);
      mock.map = &map;
      mock.short_when = "n < 100";
      if (way) {
         assert_int_equal(tilec_kernel_prepare_async(kernel, args, 5, &pending), TILEC_OK);
         assert_int_equal(tilec_pending_wait(pending), TILEC_OK);
         tilec_pending_free(pending);
      } else {
         assert_int_equal(tilec_kernel_prepare(kernel, args, 5), TILEC_OK);
      }
      assert_int_equal(mock.compiles, 3);
      assert_int_equal(launch_n(64), TILEC_OK);
      assert_int_equal(launch_n(128), TILEC_OK);
      assert_int_equal(launch_n(0), TILEC_OK); /* no map */
      assert_int_equal(mock.compiles, 3);
      stop();
   }
}

/* Of launches that may not compile: the first form is in memory, and stands for the short one. */
static void
short_programs_that_may_not_be_compiled(void **state)
{
   TilecArg args[] = {PREPARED};
   (void)state;
   jit_options.never_compile = true;
   start(TILEC_ON_CUDA);
   mock.short_when = "n < 100";
   assert_int_equal(tl_core_prepare_one(kernel, args, 5), TILEC_OK);
   assert_int_equal(launch_n(64), TILEC_OK);
   int calls = fake()->total_calls;
   assert_int_equal(launch_n(32), TILEC_OK);
   assert_in_range(fake()->total_calls - calls, 1, 4);
   assert_int_equal(mock.compiles, 1);
   stop();
}

enum { SMS = 132 }; /* of the fake device */

/* One compile for each kind of launch, of the kinds that come.  Of eight warps two programs for
 * each multiprocessor are taken for few until there is a variant that knows. */
static void
few_programs_take_another_variant(void **state)
{
   (void)state;
   start(TILEC_ON_CUDA);
   mock.few_per_sm = 2;
   assert_int_equal(launch_on(2 * SMS, 64), TILEC_OK);
   assert_true(mock.few_programs);
   assert_int_equal(launch_on(1, 48), TILEC_OK);
   assert_int_equal(mock.compiles, 1);
   assert_int_equal(launch_on(2 * SMS + 1, 64), TILEC_OK);
   assert_int_equal(mock.compiles, 2);
   assert_false(mock.few_programs);
   assert_int_equal(fake()->modules, 2);
   assert_int_equal(launch_on(1, 64), TILEC_OK);
   assert_int_equal(mock.compiles, 2);
   assert_int_equal(fake()->num_launches, 4);
   mock.fail = TILEC_BAD_SOURCE; /* is not hidden by the other one */
   assert_int_equal(launch_on(2 * SMS + 1, 8), TILEC_BAD_SOURCE);
   assert_int_equal(launch_on(2 * SMS + 1, 8), TILEC_OK);
   mock.fail = TILEC_BAD_SOURCE;
   assert_int_equal(launch_on(1, 8), TILEC_BAD_SOURCE);
   assert_int_equal(fake()->num_launches, 5);
   stop();
   for (uint32_t few = 1; few <= 4; few += 3) { /* fewer, and more */
      start(TILEC_ON_CUDA);
      mock.few_per_sm = few;
      for (int times = 0; times < 2; times++) {
         assert_int_equal(launch_on((few == 1 ? 2 : 4) * SMS, 64), TILEC_OK);
         assert_int_equal(mock.compiles, 2);
         assert_int_equal(mock.few_programs, few == 4);
      }
      assert_int_equal(launch_on(few * SMS, 64), TILEC_OK);
      assert_int_equal(launch_on(few * SMS + 1, 64), TILEC_OK);
      assert_int_equal(mock.compiles, 2);
      assert_int_equal(fake()->num_launches, 4);
      stop();
   }
   for (int way = 0; way < 2; way++) { /* the same code */
      start(TILEC_ON_CUDA);
      assert_int_equal(launch_on(way ? 1 : 1000, 64), TILEC_OK);
      assert_int_equal(launch_on(way ? 1000 : 1, 64), TILEC_OK);
      assert_int_equal(launch_on(1, 64), TILEC_OK);
      assert_int_equal(mock.compiles, 1);
      assert_int_equal(fake()->modules, 1);
      stop();
   }
   start(TILEC_ON_CPU);
   mock.few_per_sm = 2;
   mock.run = run;
   run_answer = TILEC_OK;
   TilecBuffer *b;
   assert_int_equal(tilec_buffer_new(rt, 1024, &b), TILEC_OK);
   assert_int_equal(TILEC_LAUNCH(kernel, 0, 1, 1, 1, tilec_view(TILEC_FP16, b, 0), 1, 1.0f, 3, 7),
                    TILEC_OK);
   tilec_buffer_free(b);
   assert_false(mock.few_programs);
   stop();
}

/* An explanation knows no grid: what is there in either form would be used. */
static void
few_programs_are_explained(void **state)
{
   TilecArg args[] = {PREPARED};
   char text[256];
   (void)state;
   for (int grid = 1; grid <= 1000; grid += 999) {
      start(TILEC_ON_CUDA);
      mock.few_per_sm = 2;
      assert_int_equal(launch_on((uint32_t)grid, 64), TILEC_OK);
      assert_int_equal(tilec_kernel_explain(kernel, args, 5, text, sizeof text), TILEC_OK);
      assert_non_null(strstr(text, "variant 0 (*fp32:16,i32:16,fp32,,i32,i32) would be used"));
      stop();
   }
}

/* Where nothing may be compiled, each form stands for the other. */
static void
few_programs_do_with_what_is_there(void **state)
{
   TilecArg args[] = {PREPARED};
   (void)state;
   for (int way = 0; way < 2; way++) {
      start(TILEC_ON_CUDA);
      mock.few_per_sm = 2;
      assert_int_equal(launch_on(way ? 1 : 1000, 64), TILEC_OK);
      fake()->capturing = 1;
      assert_int_equal(launch_on(way ? 1000 : 1, 64), TILEC_OK);
      assert_int_equal(launch_on(way ? 1000 : 1, 7), TILEC_NOT_FOUND);
      assert_int_equal(mock.compiles, 1);
      fake()->capturing = 0;
      assert_int_equal(launch_on(way ? 1000 : 1, 64), TILEC_OK);
      assert_int_equal(mock.compiles, 2);
      stop();
   }
   jit_options.never_compile = true;
   start(TILEC_ON_CUDA);
   mock.few_per_sm = 2;
   mock.map = &map;
   assert_int_equal(tilec_kernel_prepare(kernel, args, 5), TILEC_OK);
   assert_int_equal(mock.compiles, 3); /* and without maps */
   assert_int_equal(launch_on(1, 64), TILEC_OK);
   assert_int_equal(launch_on(1000, 64), TILEC_OK);
   assert_int_equal(launch_on(1, 0), TILEC_OK); /* no map */
   assert_int_equal(launch_on(1000, 0), TILEC_OK);
   assert_int_equal(mock.compiles, 3);
   stop();
   jit_options.never_compile = true;
   start(TILEC_ON_CUDA);
   mock.few_per_sm = 2;
   assert_int_equal(tl_core_prepare_one(kernel, args, 5), TILEC_OK);
   assert_int_equal(launch_on(1, 64), TILEC_OK);
   assert_int_equal(launch_on(3 * SMS, 64), TILEC_OK);
   assert_int_equal(launch_on(1, 7), TILEC_NOT_FOUND);
   assert_int_equal(mock.compiles, 1);
   stop();
}

/* A module freed meanwhile waits for both, and the second's failure is told. */
static void
preparing_without_maps_may_fail(void **state)
{
   TilecArg args[] = {PREPARED};
   TilecPending *pending;
   (void)state;
   start(TILEC_ON_CUDA);
   mock.map = &map;
   assert_int_equal(launch_n(64), TILEC_OK);
   mock.fail = TILEC_BAD_SOURCE;
   assert_int_equal(tilec_kernel_prepare_async(kernel, args, 5, &pending), TILEC_OK);
   assert_int_equal(tilec_pending_wait(pending), TILEC_BAD_SOURCE);
   assert_says(rt, "unknown name 'blok'");
   tilec_pending_free(pending);
   assert_int_equal(tilec_kernel_prepare_async(kernel, args, 5, &pending), TILEC_OK);
   tilec_pending_free(pending);
   args[1] = TILEC_ARG(7);
   assert_int_equal(tilec_kernel_prepare_async(kernel, args, 5, &pending), TILEC_OK);
   tilec_pending_free(pending);
   stop();
}

/* The child of a fork has no workers and must not wait for them. */
static void
a_forked_child_closes_without_waiting(void **state)
{
   (void)state;
   jit_options.num_workers = 2;
   start(TILEC_ON_CUDA);
   mock.hold = 1;
   TilecPending *pending;
   TilecArg args[] = {TILEC_ARG((float *)0x1000), TILEC_ARG(64), TILEC_ARG(1.0f), TILEC_ARG(3),
                      TILEC_ARG(7)};
   assert_int_equal(tilec_kernel_prepare_async(kernel, args, 5, &pending), TILEC_OK);
   pid_t child = fork();
   if (child == 0) {
      alarm(10);
      bool ok = tilec_pending_wait(pending) == TILEC_FORKED && launch_n(16) == TILEC_FORKED;
      tilec_pending_free(pending);
      tilec_module_free(module);
      tilec_runtime_close(rt);
      _exit(!ok);
   }
   int status = 1;
   assert_int_equal(waitpid(child, &status, 0), child);
   assert_int_equal(status, 0);
   mock.hold = 0;
   assert_int_equal(tilec_pending_wait(pending), TILEC_OK);
   tilec_pending_free(pending);
   stop();
}

int test_jit(void);
int
test_jit(void)
{
   const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_compile_per_set_of_facts),
      cmocka_unit_test(mistakes_are_reported),
      cmocka_unit_test(host_launches_know_what_is_written),
      cmocka_unit_test(host_launches_warn),
      cmocka_unit_test(host_executor_runs_the_program),
      cmocka_unit_test(racing_misses_compile_once),
      cmocka_unit_test(integers_are_as_wide_as_they_need),
      cmocka_unit_test(alignment_alone_can_be_switched_off),
      cmocka_unit_test(a_hit_takes_no_memory_and_no_lock),
      cmocka_unit_test(explains_what_a_launch_would_use),
      cmocka_unit_test(compiling_ahead),
      cmocka_unit_test(launches_that_may_not_compile),
      cmocka_unit_test(capture_refuses_to_compile),
      cmocka_unit_test(launches_without_maps_take_another_variant),
      cmocka_unit_test(refusals_of_maps_are_remembered),
      cmocka_unit_test(launches_without_maps_are_prepared_too),
      cmocka_unit_test(preparing_without_maps_may_fail),
      cmocka_unit_test(short_programs_take_another_variant),
      cmocka_unit_test(short_programs_do_with_what_is_there),
      cmocka_unit_test(short_programs_that_may_not_be_compiled),
      cmocka_unit_test(few_programs_take_another_variant),
      cmocka_unit_test(few_programs_are_explained),
      cmocka_unit_test(few_programs_do_with_what_is_there),
      cmocka_unit_test(a_forked_child_closes_without_waiting),
   };
   return cmocka_run_group_tests(tests, NULL, NULL);
}
