/* Checked launches, and whom a fault is blamed on. */
#include "fixture.h"

#include <pthread.h>

static TilecRuntime *rt;
static TilecModule *module;
static TilecKernel *kernel;
static TilecBuffer *buffer;

enum { BYTES = 4096 };

static const TilecArgInfo args[] = {{.name = "x", .type = "*fp32"},
                                    {.name = "y", .type = "*fp16", .divisible = 16},
                                    {.name = "m", .type = "i32"}};
static const TilecHiddenArg map = {.kind = TILEC_HIDDEN_TENSOR_MAP,
                                   .base = "y",
                                   .dtype = TILEC_FP16,
                                   .rank = 2,
                                   .dims = {"64", "m"},
                                   .strides = {NULL, "128"},
                                   .box = {64, 8}};

static void
start(TilecRuntimeOptions o)
{
   TilecKernelInfo k = {KERNEL_DEFAULTS, .file = "deep/down/k.tile",
                        .line = 12,      .args = args,
                        .num_args = 3,   .hidden = &map,
                        .num_hidden = 1};
   TilecImageInfo image = image_of(&k, 1);
   o.struct_size = sizeof o;
   o.driver_path = FAKE_DRIVER;
   fake_clear();
   assert_int_equal(tilec_runtime_open(&o, &rt), TILEC_OK);
   assert_int_equal(load_info(rt, &image, &module), TILEC_OK);
   assert_int_equal(tilec_module_kernel(module, NULL, &kernel), TILEC_OK);
   assert_int_equal(tilec_buffer_new(rt, BYTES, &buffer), TILEC_OK);
}

static void
stop(void)
{
   tilec_buffer_free(buffer);
   tilec_module_free(module);
   close_fake(rt);
}

static TilecStatus
launch(TilecArg x, TilecArg y, int m)
{
   TilecArg list[] = {x, y, TILEC_ARG(m)};
   TilecLaunch l = {.grid = {1, 1, 1}};
   return tilec_launch(kernel, &l, list, 3);
}

static TilecArg
at(TilecDtype dtype, uint64_t offset, uint64_t bytes)
{
   return tilec_ptr(dtype, (char *)tilec_buffer_address(buffer) + offset, bytes);
}

static void
expect_refusal(TilecArg x, TilecArg y, int m, const char *words)
{
   unsigned before = fake()->num_launches;
   assert_int_equal(launch(x, y, m), TILEC_BAD_ARGUMENT);
   assert_says(rt, words);
   assert_says(rt, "kernel 'k'");
   assert_int_equal(fake()->num_launches, before);
}

static void
good_launches_pass(void **state)
{
   (void)state;
   start((TilecRuntimeOptions){.check = true});
   TilecBuffer *empty;
   assert_int_equal(tilec_buffer_new(rt, 0, &empty), TILEC_OK);
   TilecArg x = at(TILEC_FP32, 0, 0), y = at(TILEC_FP16, 0, 0);
   assert_int_equal(launch(x, y, 32), TILEC_OK);
   assert_int_equal(launch(at(TILEC_FP32, 4092, 4), y, 32), TILEC_OK); /* its last element */
   assert_int_equal(launch(TILEC_ARG(empty), y, 32), TILEC_OK);        /* nothing is behind it */
   assert_int_equal(launch(tilec_view(TILEC_FP32, buffer, 64), y, 32), TILEC_OK);
   /* pinned memory of the host, managed memory wherever it is */
   fake()->memory = (FakeMemory){0x10000, 0x1000, .type = 1};
   assert_int_equal(launch(tilec_ptr(TILEC_FP32, (void *)0x10000, 16), y, 1), TILEC_OK);
   fake()->memory = (FakeMemory){0x10000, 0x1000, .type = 2, .managed = 1, .device = 1};
   assert_int_equal(launch(tilec_ptr(TILEC_FP32, (void *)0x10000, 16), y, 1), TILEC_OK);
   TilecLaunch none = {.grid = {0, 1, 1}}; /* nothing is launched, nothing is looked at */
   TilecArg nulls[] = {tilec_ptr(TILEC_FP32, NULL, 0), tilec_ptr(TILEC_FP16, NULL, 0),
                       TILEC_ARG(1)};
   assert_int_equal(tilec_launch(kernel, &none, nulls, 3), TILEC_OK);
   tilec_buffer_free(empty);
   stop();
}

static void
bad_pointers_are_named(void **state)
{
   (void)state;
   start((TilecRuntimeOptions){.check = true});
   TilecArg x = at(TILEC_FP32, 0, 0), y = at(TILEC_FP16, 0, 0);
   char local[64] = "";
   expect_refusal(tilec_ptr(TILEC_FP32, NULL, 0), y, 1, "parameter 'x' is *fp32 0x0: NULL");
   expect_refusal(x, tilec_ptr(TILEC_FP16, NULL, 0), 1, "parameter 'y' is *fp16 0x0: NULL");
   expect_refusal(at(TILEC_FP32, 2, 0), y, 1, "not aligned to its elements of 4 bytes");
   expect_refusal(x, at(TILEC_FP16, 8, 0), 1, "'y' divisible by 16");
   uintptr_t mine = ((uintptr_t)local + 15) & ~(uintptr_t)15;
   expect_refusal(tilec_ptr(TILEC_FP32, (void *)mine, 0), y, 1, "memory of the host, or freed");
   fake()->memory = (FakeMemory){0x10000, 0x1000, .type = 2, .device = 1};
   expect_refusal(tilec_ptr(TILEC_FP32, (void *)0x10000, 0), y, 1,
                  "parameter 'x' is *fp32 0x10000: memory of device 1; the kernel runs on device "
                  "0");
   stop();
}

static void
short_memory_is_named(void **state)
{
   (void)state;
   start((TilecRuntimeOptions){.check = true});
   TilecArg x = at(TILEC_FP32, 0, 0), y = at(TILEC_FP16, 0, 0);
   expect_refusal(at(TILEC_FP32, 0, BYTES + 1), y, 1,
                  "4097 bytes are said to be there; its allocation has 4096");
   expect_refusal(at(TILEC_FP32, 16, BYTES), y, 1, "its allocation has 4080");
   TilecBuffer *wrapped;
   assert_int_equal(tilec_buffer_wrap(rt, tilec_buffer_address(buffer), 5000, &wrapped), TILEC_OK);
   expect_refusal(TILEC_ARG(wrapped), y, 1, "5000 bytes are said to be there");
   tilec_buffer_free(wrapped);
   /* the tensor map has rows of 128 bytes */
   assert_int_equal(launch(x, y, 32), TILEC_OK);
   expect_refusal(x, y, 33, "parameter 'y'");
   expect_refusal(x, y, 33, "4096 bytes are there; the kernel reaches 4224 (tensor map 0)");
   expect_refusal(x, at(TILEC_FP16, 0, 128), 2, "128 bytes are there; the kernel reaches 256");
   expect_refusal(x, tilec_view(TILEC_FP16, buffer, 4032), 1, "64 bytes are there");
   stop();
}

/* Off, the driver is asked nothing. */
static void
unchecked_launches_ask_nothing(void **state)
{
   (void)state;
   start((TilecRuntimeOptions){0});
   assert_int_equal(launch(at(TILEC_FP32, 0, 0), at(TILEC_FP16, 0, 0), 1), TILEC_OK);
   int calls = fake()->total_calls;
   assert_int_equal(launch(tilec_ptr(TILEC_FP32, NULL, 0), at(TILEC_FP16, 0, 0), 1), TILEC_OK);
   assert_int_equal(fake()->total_calls - calls, 4); /* current, push, launch, pop */
   stop();
}

static void
a_device_that_reads_the_host(void **state)
{
   (void)state;
   char local[64] = "";
   start((TilecRuntimeOptions){0}); /* clears the stand-in */
   stop();
   fake()->pageable = 1;
   TilecRuntimeOptions o = {.struct_size = sizeof o, .driver_path = FAKE_DRIVER, .check = true};
   TilecKernelInfo k = {KERNEL_DEFAULTS, .args = args, .num_args = 1};
   TilecImageInfo image = image_of(&k, 1);
   assert_int_equal(tilec_runtime_open(&o, &rt), TILEC_OK);
   assert_int_equal(load_info(rt, &image, &module), TILEC_OK);
   assert_int_equal(tilec_module_kernel(module, NULL, &kernel), TILEC_OK);
   uintptr_t mine = ((uintptr_t)local + 15) & ~(uintptr_t)15;
   assert_int_equal(TILEC_LAUNCH(kernel, NULL, 1, 1, 1, tilec_ptr(TILEC_FP32, (void *)mine, 0)),
                    TILEC_OK);
   tilec_module_free(module);
   close_fake(rt);
}

/* ---- Blame ---- */
static void
lose(const char *symbol, int code)
{
   fake_fail(symbol, 1, code);
}

static void
stop_lost(void)
{
   tilec_buffer_free(buffer);
   tilec_module_free(module);
   tilec_runtime_close(rt);
   assert_int_equal(fake()->contexts, 0);
   fake_clear();
}

static void
one_suspect_is_named_with_its_place(void **state)
{
   (void)state;
   start((TilecRuntimeOptions){0});
   assert_int_equal(launch(at(TILEC_FP32, 0, 0), at(TILEC_FP16, 0, 0), 5), TILEC_OK);
   lose("cuStreamSynchronize", 700);
   assert_int_equal(tilec_stream_sync(rt, NULL), TILEC_DEVICE_LOST);
   assert_says(rt, "synchronising a stream: CUDA_ERROR_ILLEGAL_ADDRESS (700)");
   assert_says(rt, "An earlier launch is to blame:\n   launch 1: k (k.tile:12), grid (1, 1, 1), "
                   "args (0x");
   assert_says(rt, ", 0x5)");
   stop_lost();
}

static void
a_launch_that_fails_is_not_to_blame(void **state)
{
   (void)state;
   start((TilecRuntimeOptions){0});
   TilecArg x = at(TILEC_FP32, 0, 0), y = at(TILEC_FP16, 0, 0);
   assert_int_equal(launch(x, y, 0x51), TILEC_OK);
   lose("cuLaunchKernel", 716);
   assert_int_equal(launch(x, y, 0x52), TILEC_DEVICE_LOST);
   assert_says(rt, "launching 'k'");
   assert_says(rt, "An earlier launch is to blame");
   assert_says(rt, "0x51)");
   assert_null(strstr(detail(rt), "0x52)"));
   stop_lost();
}

static void
no_launch_is_to_blame_for_what_came_from_outside(void **state)
{
   (void)state;
   start((TilecRuntimeOptions){0});
   lose("cuMemsetD8Async", 700);
   assert_int_equal(tilec_buffer_fill(buffer, 0, 0, 4, NULL), TILEC_DEVICE_LOST);
   assert_says(rt, "CUDA_ERROR_ILLEGAL_ADDRESS");
   assert_says(rt, "No launch of this runtime is under way");
   stop_lost();
}

static void
a_synchronous_launch_is_named_alone(void **state)
{
   (void)state;
   start((TilecRuntimeOptions){.synchronous = true});
   TilecStream stream;
   assert_int_equal(tilec_stream_new(rt, &stream), TILEC_OK);
   TilecArg list[] = {at(TILEC_FP32, 0, 0), at(TILEC_FP16, 0, 0), TILEC_ARG(0x61)};
   TilecLaunch l = {.grid = {1, 1, 1}, .stream = stream};
   for (int i = 0; i < 3; i++)
      assert_int_equal(tilec_launch(kernel, &l, list, 3), TILEC_OK);
   list[2] = TILEC_ARG(0x62);
   lose("cuStreamSynchronize", 719);
   assert_int_equal(tilec_launch(kernel, &l, list, 3), TILEC_DEVICE_LOST);
   assert_says(rt, "running 'k': CUDA_ERROR_LAUNCH_FAILED");
   assert_says(rt, "The launch to blame:\n   launch 4: k (k.tile:12)");
   assert_null(strstr(detail(rt), "launch 3"));
   tilec_stream_free(rt, stream);
   stop_lost();
}

/* ---- Threads ---- */
typedef struct Witness {
   char text[4096];
   int successes_after;
} Witness;

static void *
launch_until_lost(void *user)
{
   Witness *w = user;
   TilecArg x = at(TILEC_FP32, 0, 0), y = at(TILEC_FP16, 0, 0);
   while (launch(x, y, 7) == TILEC_OK)
      continue;
   tilec_runtime_error(rt, w->text, sizeof w->text);
   for (int i = 0; i < 100; i++)
      w->successes_after += launch(x, y, 7) != TILEC_DEVICE_LOST;
   return NULL;
}

static void
all_threads_hear_of_one_cause(void **state)
{
   (void)state;
   enum { THREADS = 8 };
   static Witness witnesses[THREADS];
   pthread_t threads[THREADS];
   start((TilecRuntimeOptions){0});
   lose("cuLaunchKernel", 700);
   fake()->fail_at = 3000;
   for (int i = 0; i < THREADS; i++) {
      witnesses[i] = (Witness){.successes_after = 0};
      assert_int_equal(pthread_create(&threads[i], NULL, launch_until_lost, &witnesses[i]), 0);
   }
   for (int i = 0; i < THREADS; i++)
      pthread_join(threads[i], NULL);
   for (int i = 0; i < THREADS; i++) {
      assert_int_equal(witnesses[i].successes_after, 0);
      assert_string_equal(witnesses[i].text, witnesses[0].text);
   }
   assert_non_null(strstr(witnesses[0].text, "CUDA_ERROR_ILLEGAL_ADDRESS"));
   stop_lost();
}

int test_check(void);
int
test_check(void)
{
   const struct CMUnitTest tests[] = {
      cmocka_unit_test(good_launches_pass),
      cmocka_unit_test(bad_pointers_are_named),
      cmocka_unit_test(short_memory_is_named),
      cmocka_unit_test(unchecked_launches_ask_nothing),
      cmocka_unit_test(a_device_that_reads_the_host),
      cmocka_unit_test(one_suspect_is_named_with_its_place),
      cmocka_unit_test(a_launch_that_fails_is_not_to_blame),
      cmocka_unit_test(no_launch_is_to_blame_for_what_came_from_outside),
      cmocka_unit_test(a_synchronous_launch_is_named_alone),
      cmocka_unit_test(all_threads_hear_of_one_cause),
   };
   return cmocka_run_group_tests(tests, NULL, NULL);
}
