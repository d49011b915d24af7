/* Buffers, streams, events, and many threads at once. */
#include "fixture.h"

#include <pthread.h>

#include "core/jit_table.h"
#include "denied.h"

static void
copies_stay_inside(void **state)
{
   (void)state;
   TilecRuntime *rt = open_fake();
   TilecBuffer *b;
   unsigned char in[100], out[100];
   for (int i = 0; i < 100; i++)
      in[i] = (unsigned char)i;
   assert_int_equal(tilec_buffer_new(rt, 100, &b), TILEC_OK);
   assert_int_equal(tilec_buffer_bytes(b), 100);
   assert_int_equal(tilec_buffer_upload(b, 0, in, 100, NULL), TILEC_OK);
   assert_int_equal(tilec_buffer_fill(b, 10, 0xee, 5, NULL), TILEC_OK);
   assert_int_equal(tilec_buffer_download(b, 8, out, 10, NULL), TILEC_OK);
   assert_memory_equal(out, "\x08\x09\xee\xee\xee\xee\xee\x0f\x10\x11", 10);
   assert_int_equal(tilec_buffer_download(b, 91, out, 10, NULL), TILEC_BAD_ARGUMENT);
   assert_says(rt, "bytes 91 + 10 of a buffer of 100");
   assert_says(rt, "sizes count bytes, not elements");
   assert_int_equal(tilec_buffer_download(b, UINT64_MAX, out, 10, NULL), TILEC_BAD_ARGUMENT);
   assert_int_equal(tilec_buffer_fill(b, 1, 0, UINT64_MAX, NULL), TILEC_BAD_ARGUMENT);
   assert_int_equal(tilec_buffer_upload(b, 0, NULL, 1, NULL), TILEC_BAD_ARGUMENT);
   assert_int_equal(tilec_buffer_upload(b, 100, NULL, 0, NULL), TILEC_OK);
   assert_int_equal(tilec_buffer_copy(b, 0, b, 40, 40, NULL), TILEC_OK);
   assert_int_equal(tilec_buffer_copy(b, 40, b, 0, 40, NULL), TILEC_OK);
   assert_int_equal(tilec_buffer_copy(b, 0, b, 39, 40, NULL), TILEC_BAD_ARGUMENT);
   assert_says(rt, "bytes 39 + 40 and 0 + 40 of one buffer overlap");
   assert_int_equal(tilec_buffer_copy(b, 8, b, 8, 1, NULL), TILEC_BAD_ARGUMENT);
   assert_int_equal(tilec_buffer_copy(b, 8, b, 8, 0, NULL), TILEC_OK);
   fake_fail("cuMemcpyHtoDAsync_v2", 1, 999);
   assert_int_equal(tilec_buffer_upload(b, 0, in, 1, NULL), TILEC_DEVICE_LOST);
   tilec_buffer_free(b); /* the driver is gone: only our side is freed */
   tilec_runtime_close(rt);
   fake_clear();
}

static void
out_of_memory_says_how_much(void **state)
{
   (void)state;
   TilecRuntime *rt = open_fake();
   TilecBuffer *b;
   fake()->free_bytes = 1000;
   assert_int_equal(tilec_buffer_new(rt, 2000, &b), TILEC_OUT_OF_DEVICE_MEMORY);
   assert_null(b);
   assert_says(rt, "asked for 2000 bytes; 1000 of");
   assert_int_equal(tilec_buffer_new(rt, 0, &b), TILEC_OK);
   assert_null(tilec_buffer_address(b));
   tilec_buffer_free(b);
   char mine[8];
   assert_int_equal(tilec_buffer_wrap(rt, mine, 8, &b), TILEC_OK);
   assert_ptr_equal(tilec_buffer_address(b), mine);
   tilec_buffer_free(b);
   assert_int_equal(tilec_buffer_wrap(rt, NULL, 8, &b), TILEC_BAD_ARGUMENT);
   tilec_buffer_free(NULL);
   assert_int_equal(tilec_buffer_new(NULL, 8, &b), TILEC_BAD_ARGUMENT);
   assert_int_equal(tilec_buffer_new(rt, 8, NULL), TILEC_BAD_ARGUMENT);
   assert_int_equal(tilec_buffer_upload(NULL, 0, mine, 1, NULL), TILEC_BAD_ARGUMENT);
   close_fake(rt);
}

static void
events_and_streams(void **state)
{
   (void)state;
   TilecRuntime *rt = open_fake();
   TilecEvent *a, *b;
   TilecStream s;
   double ms;
   assert_int_equal(tilec_stream_new(rt, &s), TILEC_OK);
   assert_int_equal(tilec_event_new(rt, &a), TILEC_OK);
   assert_int_equal(tilec_event_new(rt, &b), TILEC_OK);
   assert_int_equal(tilec_event_query(a), TILEC_BAD_ARGUMENT);
   assert_int_equal(tilec_stream_wait(s, a), TILEC_BAD_ARGUMENT);
   assert_int_equal(tilec_stream_wait(s, NULL), TILEC_BAD_ARGUMENT);
   assert_int_equal(tilec_event_record(a, s), TILEC_OK);
   assert_int_equal(tilec_event_record(b, s), TILEC_OK);
   assert_int_equal(tilec_stream_wait(NULL, a), TILEC_OK);
   fake_fail("cuEventQuery", 1, 600);
   assert_int_equal(tilec_event_query(b), TILEC_NOT_READY);
   assert_int_equal(tilec_event_query(b), TILEC_OK);
   assert_int_equal(tilec_event_sync(b), TILEC_OK);
   assert_int_equal(tilec_event_elapsed(a, b, &ms), TILEC_OK);
   assert_true(ms == 1.5);
   assert_int_equal(tilec_event_elapsed(a, NULL, &ms), TILEC_BAD_ARGUMENT);
   assert_int_equal(tilec_stream_sync(rt, s), TILEC_OK);
   fake_fail("cuEventCreate", 1, 2);
   TilecEvent *c;
   assert_int_equal(tilec_event_new(rt, &c), TILEC_OUT_OF_DEVICE_MEMORY);
   assert_null(c);
   tilec_event_free(a);
   tilec_event_free(b);
   tilec_event_free(NULL);
   tilec_stream_free(rt, s);
   close_fake(rt);
}

typedef struct Work {
   TilecRuntime *rt;
   TilecKernel *kernel;
   int id;
   int failures;
} Work;

static void *
launch_many(void *arg)
{
   Work *w = arg;
   char text[256], mine[32];
   snprintf(mine, sizeof mine, "got i64 %lld", (long long)INT64_MAX - w->id);
   for (int i = 0; i < 500; i++) {
      if (TILEC_LAUNCH(w->kernel, 0, 1, 1, 1, i) != TILEC_OK)
         w->failures++;
      if (TILEC_LAUNCH(w->kernel, 0, 1, 1, 1, (long long)INT64_MAX - w->id) != TILEC_BAD_ARGUMENT)
         w->failures++;
      tilec_runtime_error(w->rt, text, sizeof text);
      if (!strstr(text, mine)) /* each thread sees its own error */
         w->failures++;
   }
   return NULL;
}

static void
threads_do_not_disturb_each_other(void **state)
{
   (void)state;
   TilecArgInfo a = {.name = "n", .type = "i32"};
   TilecKernelInfo k = {KERNEL_DEFAULTS, .args = &a, .num_args = 1};
   TilecImageInfo image = image_of(&k, 1);
   TilecRuntime *rt = open_fake();
   TilecModule *m;
   TilecKernel *kernel;
   pthread_t threads[8];
   Work work[8];
   assert_int_equal(load_info(rt, &image, &m), TILEC_OK);
   assert_int_equal(tilec_module_kernel(m, "k", &kernel), TILEC_OK);
   for (int i = 0; i < 8; i++) {
      work[i] = (Work){rt, kernel, i, 0};
      pthread_create(&threads[i], NULL, launch_many, &work[i]);
   }
   for (int i = 0; i < 8; i++) {
      pthread_join(threads[i], NULL);
      assert_int_equal(work[i].failures, 0);
   }
   assert_int_equal(fake()->num_launches, 8 * 500);
   tilec_module_free(m);
   close_fake(rt);
}

typedef struct OnDevice {
   TilecRuntime *rt;
   TilecModule *module;
   TilecKernel *kernel;
   int failures;
} OnDevice;

static void *
launch_there(void *arg)
{
   OnDevice *d = arg;
   for (int i = 0; i < 300; i++)
      d->failures += TILEC_LAUNCH(d->kernel, 0, 1, 1, 1, i) != TILEC_OK;
   return NULL;
}

/* A runtime for each device; a launch goes to its own whichever thread makes it. */
static void
two_devices_in_one_process(void **state)
{
   (void)state;
   TilecArgInfo a = {.name = "n", .type = "i32"};
   TilecKernelInfo k = {KERNEL_DEFAULTS, .args = &a, .num_args = 1};
   TilecImageInfo image = image_of(&k, 1);
   OnDevice on[2] = {0};
   pthread_t threads[2];
   fake_clear();
   fake()->devices = 2;
   for (int i = 0; i < 2; i++) {
      TilecRuntimeOptions o = {.struct_size = sizeof o, .driver_path = FAKE_DRIVER, .device = i};
      assert_int_equal(tilec_runtime_open(&o, &on[i].rt), TILEC_OK);
      assert_int_equal(load_info(on[i].rt, &image, &on[i].module), TILEC_OK);
      assert_int_equal(tilec_module_kernel(on[i].module, "k", &on[i].kernel), TILEC_OK);
   }
   assert_ptr_not_equal(tilec_runtime_context(on[0].rt), tilec_runtime_context(on[1].rt));
   for (int i = 0; i < 2; i++)
      pthread_create(&threads[i], NULL, launch_there, &on[i]);
   for (int i = 0; i < 100; i++)
      launch_there(&(OnDevice){.kernel = on[1].kernel}); /* this thread, beside them */
   for (int i = 0; i < 2; i++) {
      pthread_join(threads[i], NULL);
      assert_int_equal(on[i].failures, 0);
   }
   assert_int_equal(fake()->launches_on[0], 300);
   assert_int_equal(fake()->launches_on[1], 300 + 100 * 300);
   TilecStream stream; /* of one device, waits for an event of the other */
   TilecEvent *event;
   assert_int_equal(tilec_stream_new(on[1].rt, &stream), TILEC_OK);
   assert_int_equal(tilec_event_new(on[0].rt, &event), TILEC_OK);
   assert_int_equal(tilec_event_record(event, NULL), TILEC_OK);
   assert_int_equal(tilec_stream_wait(stream, event), TILEC_OK);
   tilec_event_free(event);
   tilec_stream_free(on[1].rt, stream);
   tilec_module_free(on[0].module);
   tilec_module_free(on[1].module);
   tilec_runtime_close(on[0].rt);
   close_fake(on[1].rt);
}

/* A whole life of a runtime; the first failure ends it. */
static TilecStatus
live(const char *json)
{
   TilecRuntime *rt = NULL;
   TilecModule *m = NULL;
   TilecKernel *kernel = NULL;
   TilecBuffer *b = NULL, *w = NULL;
   TilecEvent *e = NULL;
   char byte;
   TilecRuntimeOptions o = {.struct_size = sizeof o, .driver_path = FAKE_DRIVER};
   TilecStatus status = tilec_runtime_open(&o, &rt);
   if (status == TILEC_OK)
      status = tilec_module_load(rt, "// .entry k ", TILEC_STRLEN, json, TILEC_STRLEN, &m);
   if (status == TILEC_OK)
      status = tilec_module_kernel(m, "k", &kernel);
   if (status == TILEC_OK)
      status = tilec_buffer_new(rt, 64, &b);
   if (status == TILEC_OK)
      status = tilec_buffer_wrap(rt, &byte, 1, &w);
   if (status == TILEC_OK)
      status = tilec_event_new(rt, &e);
   if (status == TILEC_OK)
      status = TILEC_LAUNCH(kernel, NULL, TILEC_OWN_GRID, 1, 1, 5);
   tilec_event_free(e);
   tilec_buffer_free(w);
   tilec_buffer_free(b);
   tilec_module_free(m);
   tilec_runtime_close(rt);
   return status;
}

static void
every_allocation_may_fail(void **state)
{
   (void)state;
   TilecArgInfo a[] = {{.name = "n", .type = "i32"},
                       {.name = "B", .type = "constexpr", .value = "64", .is_constexpr = true}};
   TilecHiddenArg h = {.kind = TILEC_HIDDEN_EXPR, .dtype = TILEC_I32, .dims = {"n * B"}};
   TilecKernelInfo k = {KERNEL_DEFAULTS, .args = a,       .num_args = 2,
                        .hidden = &h,    .num_hidden = 1, .grid = {"cdiv(n, B)"},
                        .when = "n > 0"};
   TilecImageInfo image = image_of(&k, 1);
   Json j = {.len = 0};
   tilec_image_write_json(&image, json_put, &j);
   fake_clear();
   int n = 0;
   TilecStatus status = TILEC_NO_MEMORY;
   for (; n < 1000 && status != TILEC_OK; n++) {
      allocations_left = n;
      status = live(j.text);
      allocations_left = -1;
      if (status != TILEC_OK && status != TILEC_NO_MEMORY)
         fail_msg("allocation %d: %s", n, tilec_status_name(status));
      assert_int_equal(fake()->modules + fake()->buffers + fake()->events + fake()->contexts, 0);
   }
   assert_int_equal(status, TILEC_OK);
   assert_true(n > 20);
}

/* Of a host executor: buffers by their addresses, then what the user knows. */
static bool
mine(void *user, uint64_t address, TilecMemory *out)
{
   *out = (TilecMemory){user, 8, true};
   return address - (uintptr_t)user < 8;
}

static void
memory_is_known_by_its_address(void **state)
{
   (void)state;
   char own[8], wrapped[16];
   TilecRuntimeOptions o = {
      .struct_size = sizeof o, .executor = TILEC_ON_CPU, .memory = mine, .memory_user = own};
   TilecRuntime *rt;
   TilecBuffer *b[3];
   TilecMemory m;
   assert_int_equal(tilec_runtime_open(&o, &rt), TILEC_OK);
   assert_int_equal(tilec_buffer_new(rt, 100, &b[0]), TILEC_OK);
   assert_int_equal(tilec_buffer_new(rt, 0, &b[1]), TILEC_OK);
   assert_int_equal(tilec_buffer_wrap(rt, wrapped, sizeof wrapped, &b[2]), TILEC_OK);
   uint64_t first = (uintptr_t)tilec_buffer_address(b[0]);
   assert_true(tl_core_memory(rt, first + 99, &m));
   assert_true((uintptr_t)m.begin == first && m.bytes == 100 && !m.is_read_only);
   assert_true(tl_core_memory(rt, (uintptr_t)wrapped + 15, &m) && m.begin == wrapped);
   assert_true(tl_core_memory(rt, (uintptr_t)own + 7, &m) && m.begin == own && m.is_read_only);
   assert_false(tl_core_memory(rt, 0, &m));
   tilec_buffer_free(b[1]);
   assert_true(tl_core_memory(rt, first, &m));
   tilec_buffer_free(b[0]);
   assert_false(tl_core_memory(rt, first, &m));
   tilec_buffer_free(b[2]);
   assert_false(tl_core_memory(rt, (uintptr_t)wrapped, &m));
   tilec_runtime_close(rt);
}

int test_memory(void);
int
test_memory(void)
{
   const struct CMUnitTest tests[] = {
      cmocka_unit_test(copies_stay_inside),
      cmocka_unit_test(out_of_memory_says_how_much),
      cmocka_unit_test(memory_is_known_by_its_address),
      cmocka_unit_test(events_and_streams),
      cmocka_unit_test(every_allocation_may_fail),
      cmocka_unit_test(threads_do_not_disturb_each_other),
      cmocka_unit_test(two_devices_in_one_process),
   };
   return cmocka_run_group_tests(tests, NULL, NULL);
}
