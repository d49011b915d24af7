/* Opening: every way a machine can lack what is needed is a typed error with words. */
#include "fixture.h"

#include <sys/wait.h>
#include <unistd.h>

static TilecStatus
try_open(TilecRuntimeOptions o, char *error)
{
   TilecRuntime *rt = (TilecRuntime *)1;
   o.struct_size = sizeof o;
   o.error = error;
   o.error_bytes = 512;
   error[0] = 0;
   TilecStatus status = tilec_runtime_open(&o, &rt);
   if (status == TILEC_OK)
      tilec_runtime_close(rt);
   else
      assert_null(rt);
   assert_int_equal(fake()->contexts, 0);
   return status;
}

static void
lacks_are_typed(void **state)
{
   (void)state;
   char error[512];
   TilecRuntimeOptions o = {.driver_path = "/nonexistent/libcuda.so.1"};
   assert_int_equal(try_open(o, error), TILEC_NO_DRIVER);
   assert_non_null(strstr(error, "/nonexistent"));
   o.driver_path = BROKEN_DRIVER;
   assert_int_equal(try_open(o, error), TILEC_DRIVER_TOO_OLD);
   assert_non_null(strstr(error, "cuEventCreate"));
   o.driver_path = FAKE_DRIVER;
   fake_clear();
   fake()->version = 11080;
   assert_int_equal(try_open(o, error), TILEC_DRIVER_TOO_OLD);
   assert_non_null(strstr(error, "CUDA 11.8"));
   fake_clear();
   fake_fail("cuInit", 1, 100);
   assert_int_equal(try_open(o, error), TILEC_NO_DEVICE);
   assert_non_null(strstr(error, "CUDA_ERROR_NO_DEVICE"));
   fake_clear();
   fake()->devices = 0;
   assert_int_equal(try_open(o, error), TILEC_NO_DEVICE);
   fake_clear();
   o.device = 3;
   assert_int_equal(try_open(o, error), TILEC_NO_DEVICE);
   assert_non_null(strstr(error, "device 3"));
   o.device = -1;
   assert_int_equal(try_open(o, error), TILEC_NO_DEVICE);
   o.device = 0;
   o.use_current = true;
   assert_int_equal(try_open(o, error), TILEC_BAD_CONTEXT);
   assert_int_equal(tilec_runtime_open(NULL, NULL), TILEC_BAD_ARGUMENT);
   TilecRuntime *rt;
   TilecRuntimeOptions bad = {.struct_size = 1};
   assert_int_equal(tilec_runtime_open(&bad, &rt), TILEC_BAD_ARGUMENT);
}

/* Each driver call of the open fails in turn; nothing may stay behind. */
static void
every_call_may_fail(void **state)
{
   (void)state;
   static const char *const calls[] = {"cuDriverGetVersion",       "cuInit",
                                       "cuDeviceGetCount",         "cuDeviceGet",
                                       "cuDevicePrimaryCtxRetain", "cuDeviceGetAttribute",
                                       "cuDeviceGetName",          "cuDeviceTotalMem_v2"};
   TilecRuntimeOptions o = {.driver_path = FAKE_DRIVER};
   for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
      char error[512];
      fake_clear();
      fake_fail(calls[i], 1, 2);
      assert_int_equal(try_open(o, error), TILEC_OUT_OF_DEVICE_MEMORY);
      assert_non_null(strstr(error, "CUDA_ERROR_OUT_OF_MEMORY"));
   }
}

static void
device_is_described(void **state)
{
   (void)state;
   TilecRuntime *rt = open_fake();
   TilecDeviceInfo info;
   assert_int_equal(tilec_runtime_device(rt, &info), TILEC_OK);
   assert_string_equal(info.arch, "sm_90a");
   assert_string_equal(info.name, "Fake GPU 0");
   assert_int_equal(info.num_sms, 132);
   assert_int_equal(info.max_shared_bytes, 232448);
   assert_int_equal(info.max_ptx_version, 90);
   assert_int_equal(info.free_bytes, 1 << 30);
   assert_int_equal(tilec_runtime_executor(rt), TILEC_ON_CUDA);
   assert_non_null(tilec_runtime_context(rt));
   assert_int_equal(tilec_runtime_device(rt, NULL), TILEC_BAD_ARGUMENT);
   close_fake(rt);
}

static void
caller_context_is_left_alone(void **state)
{
   (void)state;
   void *lib = dlopen(FAKE_DRIVER, RTLD_NOW);
   int (*push)(void *), (*pop)(void **), (*current)(void **);
   *(void **)(void *)&push = dlsym(lib, "cuCtxPushCurrent_v2");
   *(void **)(void *)&pop = dlsym(lib, "cuCtxPopCurrent_v2");
   *(void **)(void *)&current = dlsym(lib, "cuCtxGetCurrent");
   fake_clear();
   void *mine = (void *)0x77, *now = NULL;
   push(mine);
   TilecRuntimeOptions o = {
      .struct_size = sizeof o, .driver_path = FAKE_DRIVER, .use_current = true};
   TilecRuntime *rt;
   assert_int_equal(tilec_runtime_open(&o, &rt), TILEC_OK);
   assert_ptr_equal(tilec_runtime_context(rt), mine);
   assert_int_equal(tilec_runtime_sync(rt), TILEC_OK);
   current(&now);
   assert_ptr_equal(now, mine);
   close_fake(rt);
   rt = open_fake(); /* another context: pushed and popped around each call */
   assert_int_equal(tilec_runtime_sync(rt), TILEC_OK);
   current(&now);
   assert_ptr_equal(now, mine);
   close_fake(rt);
   pop(&now);
   assert_ptr_equal(now, mine);
}

static void
forked_child_is_refused(void **state)
{
   (void)state;
   TilecRuntime *rt = open_fake();
   pid_t child = fork();
   if (child == 0) {
      TilecBuffer *b;
      bool ok =
         tilec_runtime_sync(rt) == TILEC_FORKED && tilec_buffer_new(rt, 4, &b) == TILEC_FORKED;
      _exit(ok ? 0 : 1);
   }
   int how;
   waitpid(child, &how, 0);
   assert_int_equal(how, 0);
   close_fake(rt);
}

static void
status_words_exist(void **state)
{
   (void)state;
   assert_string_equal(tilec_status_string(TILEC_OK), "success");
   assert_string_equal(tilec_status_name(TILEC_DEVICE_LOST), "TILEC_DEVICE_LOST");
   assert_string_equal(tilec_status_string((TilecStatus)999), "unknown status");
}

static void
host_runtime_opens_without_driver(void **state)
{
   (void)state;
   TilecRuntimeOptions o = {
      .struct_size = sizeof o, .executor = TILEC_ON_CPU, .driver_path = "/nonexistent"};
   TilecRuntime *rt;
   TilecModule *m;
   TilecDeviceInfo info;
   TilecBuffer *b;
   char out[4] = "";
   assert_int_equal(tilec_runtime_open(&o, &rt), TILEC_OK);
   assert_int_equal(tilec_runtime_device(rt, &info), TILEC_OK);
   assert_string_equal(info.arch, "host");
   assert_int_equal(tilec_module_load(rt, "x", 1, "{}", 2, &m), TILEC_UNSUPPORTED);
   TilecSource s = {.struct_size = sizeof s, .file = "x.tile"};
   assert_int_equal(tilec_module_from_source(rt, &s, &m), TILEC_UNSUPPORTED);
   assert_says(rt, "call tilec_jit_attach (rt, NULL) before");
   assert_int_equal(tilec_buffer_new(rt, 1000, &b), TILEC_OK);
   assert_int_equal((uintptr_t)tilec_buffer_address(b) % 256, 0);
   assert_int_equal(tilec_buffer_upload(b, 996, "abc", 4, NULL), TILEC_OK);
   assert_int_equal(tilec_buffer_download(b, 996, out, 4, NULL), TILEC_OK);
   assert_string_equal(out, "abc");
   assert_int_equal(tilec_buffer_upload(b, 997, "abc", 4, NULL), TILEC_BAD_ARGUMENT);
   tilec_buffer_free(b);
   assert_int_equal(tilec_buffer_new(rt, UINT64_MAX, &b), TILEC_NO_MEMORY);
   TilecEvent *e, *f;
   double ms = -1;
   assert_int_equal(tilec_event_new(rt, &e), TILEC_OK);
   assert_int_equal(tilec_event_new(rt, &f), TILEC_OK);
   assert_int_equal(tilec_event_elapsed(e, f, &ms), TILEC_BAD_ARGUMENT);
   assert_int_equal(tilec_event_record(e, NULL), TILEC_OK);
   assert_int_equal(tilec_event_record(f, NULL), TILEC_OK);
   assert_int_equal(tilec_event_elapsed(e, f, &ms), TILEC_OK);
   assert_true(ms >= 0 && ms < 1000);
   tilec_event_free(e);
   tilec_event_free(f);
   tilec_runtime_close(rt);
   tilec_runtime_close(NULL);
}

int test_open(void);
int
test_open(void)
{
   const struct CMUnitTest tests[] = {
      cmocka_unit_test(lacks_are_typed),
      cmocka_unit_test(every_call_may_fail),
      cmocka_unit_test(device_is_described),
      cmocka_unit_test(caller_context_is_left_alone),
      cmocka_unit_test(forked_child_is_refused),
      cmocka_unit_test(status_words_exist),
      cmocka_unit_test(host_runtime_opens_without_driver),
   };
   return cmocka_run_group_tests(tests, NULL, NULL);
}
