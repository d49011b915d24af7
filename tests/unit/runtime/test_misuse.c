/* The API used wrongly: NULL for every handle and result, structs of another version, arguments of
 * no known kind.  Every call answers with a status, every _free takes NULL. */
#include "fixture.h"

#include "mock_compiler.h"

static const TilecParamDecl params[] = {{.name = "x"}, {.name = "n"}};
static const TilecKernelDecl decl = {
   .name = "k", .file = "x.tile", .params = params, .num_params = 2};

static TilecRuntime *rt;
static TilecModule *module;
static TilecKernel *kernel;
static TilecBuffer *buffer;

static void
start(void)
{
   memset(&mock, 0, sizeof mock);
   mock.decls = &decl;
   mock.num_decls = 1;
   rt = open_fake();
   TilecSource s = {.struct_size = sizeof s, .file = "x.tile"};
   assert_int_equal(tilec_jit_attach(rt, NULL), TILEC_OK);
   assert_int_equal(tilec_module_from_source(rt, &s, &module), TILEC_OK);
   assert_int_equal(tilec_module_kernel(module, NULL, &kernel), TILEC_OK);
   assert_int_equal(tilec_buffer_new(rt, 64, &buffer), TILEC_OK);
}

static void
stop(void)
{
   tilec_buffer_free(buffer);
   tilec_module_free(module);
   close_fake(rt);
}

static void
null_is_refused(void **state)
{
   (void)state;
   start();
   char text[64] = "old";
   double ms;
   TilecLaunch l = {.grid = {1, 1, 1}};
   TilecArg args[2] = {tilec_view(TILEC_FP32, buffer, 0), TILEC_ARG(1)};
   TilecBuffer *other;
   TilecModule *m;
   TilecKernel *k;
   TilecEvent *e;
   TilecStream s;
   TilecPending *p;
   TilecKernelUse use;
   TilecDeviceInfo info;
   TilecSource source = {.struct_size = sizeof source, .file = "x.tile"};
   const TilecTuneOptions no_configs = {.struct_size = sizeof no_configs, .num_configs = 1};
   TilecTuneResult *r;
   const TilecStatus got[] = {
      tilec_runtime_open(NULL, NULL),
      tilec_runtime_device(NULL, &info),
      tilec_runtime_device(rt, NULL),
      tilec_runtime_sync(NULL),
      tilec_buffer_new(NULL, 1, &other),
      tilec_buffer_new(rt, 1, NULL),
      tilec_buffer_wrap(NULL, text, 1, &other),
      tilec_buffer_wrap(rt, text, 1, NULL),
      tilec_buffer_upload(NULL, 0, text, 1, NULL),
      tilec_buffer_download(NULL, 0, text, 1, NULL),
      tilec_buffer_fill(NULL, 0, 0, 1, NULL),
      tilec_buffer_copy(NULL, 0, NULL, 0, 1, NULL),
      tilec_buffer_from_dlpack(NULL, (struct DLManagedTensorVersioned *)(void *)text, &other),
      tilec_buffer_from_dlpack(rt, NULL, &other),
      tilec_module_load(NULL, "", 0, "", 0, &m),
      tilec_module_load(rt, NULL, 0, "", 0, &m),
      tilec_module_load(rt, "", 0, NULL, 0, &m),
      tilec_module_load(rt, "", 0, "", 0, NULL),
      tilec_module_kernel(NULL, "k", &k),
      tilec_module_kernel(module, "k", NULL),
      tilec_module_from_source(NULL, &source, &m),
      tilec_module_from_source(rt, NULL, &m),
      tilec_module_from_source(rt, &source, NULL),
      tilec_kernel_use(NULL, 0, &use),
      tilec_kernel_use(kernel, 0, NULL),
      tilec_launch(NULL, &l, args, 2),
      tilec_launch(kernel, NULL, args, 2),
      tilec_launch(kernel, &l, NULL, 2),
      tilec_kernel_prepare(NULL, args, 2),
      tilec_kernel_prepare(kernel, NULL, 2),
      tilec_kernel_prepare_async(NULL, args, 2, &p),
      tilec_kernel_prepare_async(kernel, NULL, 2, &p),
      tilec_kernel_prepare_async(kernel, args, 2, NULL),
      tilec_pending_wait(NULL),
      tilec_pending_query(NULL),
      tilec_kernel_explain(NULL, args, 2, text, sizeof text),
      tilec_kernel_explain(kernel, NULL, 2, text, sizeof text),
      tilec_kernel_explain(kernel, args, 2, NULL, 0),
      tilec_kernel_explain(kernel, args, 2, text, 0),
      tilec_stream_new(NULL, &s),
      tilec_stream_new(rt, NULL),
      tilec_stream_sync(NULL, NULL),
      tilec_event_new(NULL, &e),
      tilec_event_new(rt, NULL),
      tilec_event_record(NULL, NULL),
      tilec_event_sync(NULL),
      tilec_event_query(NULL),
      tilec_event_elapsed(NULL, NULL, &ms),
      tilec_jit_attach(NULL, NULL),
      tilec_kernel_tune(NULL, &l, args, 2, NULL, &r),
      tilec_kernel_tune(kernel, NULL, args, 2, NULL, &r),
      tilec_kernel_tune(kernel, &l, NULL, 2, NULL, &r),
      tilec_kernel_tune(kernel, &l, args, 2, &no_configs, &r),
   };
   for (size_t i = 0; i < sizeof got / sizeof got[0]; i++)
      if (got[i] != TILEC_BAD_ARGUMENT)
         fail_msg("call %zu: %s", i, tilec_status_name(got[i]));
   assert_int_equal(tilec_launch(NULL, &l, args, 2), TILEC_BAD_ARGUMENT);
   size_t len = tilec_runtime_error(NULL, text, sizeof text); /* no runtime is known */
   assert_string_equal(text, "tilec_launch: kernel is NULL");
   assert_int_equal(len, strlen(text));
   assert_null(tilec_runtime_context(NULL));
   assert_null(tilec_buffer_address(NULL));
   assert_int_equal(tilec_buffer_bytes(NULL), 0);
   assert_int_equal(tilec_kernel_variants(NULL), 0);
   assert_null(tilec_kernel_info(NULL, 0));
   assert_null(tilec_tune_info(NULL));
   assert_string_equal(tilec_module_log(NULL), "");
   tilec_runtime_close(NULL);
   tilec_buffer_free(NULL);
   tilec_module_free(NULL);
   tilec_pending_free(NULL);
   tilec_stream_free(NULL, NULL);
   tilec_stream_free(rt, NULL);
   tilec_event_free(NULL);
   tilec_tune_free(NULL);
   tilec_image_info_free(NULL);
   stop();
}

/* Where there is a runtime to ask, its detail is of this call and names what is NULL. */
static void
details_name_what_is_null(void **state)
{
   (void)state;
   start();
   TilecModule *m;
   TilecKernel *k;
   TilecEvent *e;
   double ms;
   struct DLManagedTensorVersioned *none = NULL;
   TilecLaunch l = {.grid = {1, 1, 1}};
   TilecArg args[2] = {tilec_view(TILEC_FP32, buffer, 0), TILEC_ARG(1)};
   const TilecTuneOptions no_configs = {.struct_size = sizeof no_configs, .num_configs = 1};
   assert_int_equal(tilec_event_new(rt, &e), TILEC_OK);
#define NULL_IN(what, call)                                                                        \
   do {                                                                                            \
      assert_int_equal(tilec_module_kernel(module, "another", &k), TILEC_NOT_FOUND);               \
      assert_int_equal(call, TILEC_BAD_ARGUMENT);                                                  \
      assert_says(rt, what);                                                                       \
      assert_says(rt, " is NULL");                                                                 \
   } while (0)
   assert_int_equal(tilec_module_from_source(NULL, NULL, &m), TILEC_BAD_ARGUMENT);
   assert_says(NULL, "tilec_module_from_source: rt is NULL");
   NULL_IN("out", tilec_runtime_device(rt, NULL));
   NULL_IN("out", tilec_buffer_new(rt, 1, NULL));
   NULL_IN("out", tilec_buffer_wrap(rt, args, 1, NULL));
   NULL_IN("out", tilec_buffer_from_dlpack(rt, none, NULL));
   NULL_IN("from", tilec_buffer_copy(buffer, 0, NULL, 0, 1, NULL));
   NULL_IN("to", tilec_buffer_copy(NULL, 0, buffer, 0, 1, NULL));
   NULL_IN("out", tilec_module_kernel(module, "k", NULL));
   NULL_IN("out", tilec_module_load(rt, "", 0, "", 0, NULL));
   NULL_IN("image", tilec_module_load(rt, NULL, 0, "", 0, &m));
   NULL_IN("out", tilec_kernel_use(kernel, 0, NULL));
   NULL_IN("out", tilec_kernel_prepare_async(kernel, args, 2, NULL));
   NULL_IN("out", tilec_stream_new(rt, NULL));
   NULL_IN("out", tilec_event_new(rt, NULL));
   NULL_IN("ms", tilec_event_elapsed(e, e, NULL));
   NULL_IN("stop", tilec_event_elapsed(e, NULL, &ms));
   NULL_IN("start", tilec_event_elapsed(NULL, e, &ms));
   NULL_IN("launch", tilec_kernel_tune(kernel, NULL, args, 2, NULL, NULL));
   NULL_IN("args", tilec_kernel_tune(kernel, &l, NULL, 2, NULL, NULL));
   NULL_IN("configs", tilec_kernel_tune(kernel, &l, args, 2, &no_configs, NULL));
#undef NULL_IN
   tilec_event_free(e);
   stop();
}

/* Larger than ours, or too small to hold even its size; what an older caller knew is taken. */
static void
structs_of_another_version(void **state)
{
   (void)state;
   TilecRuntime *other = NULL;
   TilecModule *m = NULL;
   start();
   const size_t bad[] = {0, 1, 7, sizeof(TilecSource) + 1, SIZE_MAX, 4096};
   for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
      char text[200] = "";
      TilecRuntimeOptions o = {.struct_size = bad[i],
                               .driver_path = FAKE_DRIVER,
                               .error = text,
                               .error_bytes = sizeof text};
      TilecSource s = {.struct_size = bad[i], .file = "x.tile"};
      TilecJitOptions j = {.struct_size = bad[i]};
      TilecTuneOptions t = {.struct_size = bad[i]};
      TilecLaunch l = {.grid = {1, 1, 1}};
      if (bad[i] < sizeof(size_t) || bad[i] > sizeof o)
         assert_int_equal(tilec_runtime_open(&o, &other), TILEC_BAD_ARGUMENT),
            assert_non_null(strstr(text, "it is to be sizeof (TilecRuntimeOptions), "));
      assert_int_equal(tilec_module_from_source(rt, &s, &m), TILEC_BAD_ARGUMENT);
      assert_says(rt, "it is to be sizeof (TilecSource), ");
      if (bad[i] < sizeof(size_t) || bad[i] > sizeof j)
         assert_int_equal(tilec_jit_attach(rt, &j), TILEC_BAD_ARGUMENT),
            assert_says(rt, "tilec_jit_attach: struct_size");
      if (bad[i] < sizeof(size_t) || bad[i] > sizeof t)
         assert_int_equal(tilec_kernel_tune(kernel, &l, NULL, 0, &t, NULL), TILEC_BAD_ARGUMENT),
            assert_says(rt, "tilec_kernel_tune: struct_size");
      assert_null(other);
      assert_null(m);
   }
   char why[64] = "";
   TilecRuntimeOptions odd = {.struct_size = sizeof odd,
                              .executor = (TilecExecutor)77,
                              .error = why,
                              .error_bytes = sizeof why};
   assert_int_equal(tilec_runtime_open(&odd, &other), TILEC_BAD_ARGUMENT);
   assert_non_null(strstr(why, "no such executor, "));
   TilecRuntimeOptions old = {.struct_size = offsetof(TilecRuntimeOptions, check),
                              .driver_path = FAKE_DRIVER,
                              .check = true};
   assert_int_equal(tilec_runtime_open(&old, &other), TILEC_OK);
   tilec_runtime_close(other);
   TilecSource older = {.struct_size = offsetof(TilecSource, tune), .file = "x.tile", .tune = 77};
   assert_int_equal(tilec_module_from_source(rt, &older, &m), TILEC_OK);
   tilec_module_free(m);
   stop();
}

static void
odd_arguments_are_refused(void **state)
{
   (void)state;
   start();
   TilecLaunch l = {.grid = {1, 1, 1}};
   const TilecArg odd[] = {
      {.kind = (TilecArgKind)9, .dtype = TILEC_FP32},
      {.kind = (TilecArgKind)-1, .dtype = TILEC_FP32},
      {.kind = TILEC_ARG_SCALAR, .dtype = (TilecDtype)99},
      {.kind = TILEC_ARG_SCALAR, .dtype = TILEC_DTYPE_NONE},
      {.kind = TILEC_ARG_POINTER, .dtype = (TilecDtype)99},
      {.kind = TILEC_ARG_BUFFER, .dtype = TILEC_FP32}, /* a NULL buffer */
      {.kind = TILEC_ARG_BUFFER, .dtype = TILEC_FP32, .as.buffer = buffer, .bytes = 65},
      {.kind = TILEC_ARG_BUFFER, .dtype = TILEC_FP32, .as.buffer = buffer, .bytes = UINT64_MAX},
   };
   for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
      TilecArg args[] = {odd[i], TILEC_ARG(1)};
      TilecStatus status = tilec_launch(kernel, &l, args, 2);
      if (status != TILEC_BAD_ARGUMENT)
         fail_msg("argument %zu: %s", i, tilec_status_name(status));
      assert_true(detail(rt)[0] != 0);
   }
   TilecArg many[300] = {{0}};
   assert_int_equal(tilec_launch(kernel, &l, many, 300), TILEC_LIMIT);
   assert_int_equal(tilec_launch(kernel, &l, many, SIZE_MAX), TILEC_LIMIT);
   assert_int_equal(fake()->num_launches, 0);
   assert_int_equal(mock.compiles, 1); /* for what lies beyond the buffer, which is no fact */
   stop();
}

static void
says(const char *words)
{
   if (!strstr(detail(rt), words))
      fail_msg("'%s' lacks '%s'", detail(rt), words);
}

/* What was freed answers every call by a status and says so; freeing it again does nothing else. */
static void
freed_handles_are_refused(void **state)
{
   (void)state;
   start();
   double ms;
   char text[64];
   TilecLaunch l = {.grid = {1, 1, 1}};
   TilecKernelUse use;
   TilecPending *p;
   TilecKernel *k;
   TilecEvent *e;
   TilecBuffer *gone, *other;
   assert_int_equal(tilec_event_new(rt, &e), TILEC_OK);
   assert_int_equal(tilec_buffer_new(rt, 64, &gone), TILEC_OK);
   tilec_buffer_free(gone);
   tilec_buffer_free(gone);
   says("tilec_buffer_free: the buffer was freed before");
   assert_int_equal(fake()->buffers, 1);
   assert_null(tilec_buffer_address(gone));
   assert_null(tilec_buffer_layout(gone));
   assert_int_equal(tilec_buffer_bytes(gone), 0);
   assert_int_equal(tilec_buffer_upload(gone, 0, text, 1, NULL), TILEC_BAD_ARGUMENT);
   says("tilec_buffer_upload: the buffer was freed");
   assert_int_equal(tilec_buffer_download(gone, 0, text, 1, NULL), TILEC_BAD_ARGUMENT);
   assert_int_equal(tilec_buffer_fill(gone, 0, 0, 1, NULL), TILEC_BAD_ARGUMENT);
   assert_int_equal(tilec_buffer_copy(gone, 0, buffer, 0, 1, NULL), TILEC_BAD_ARGUMENT);
   assert_int_equal(tilec_buffer_copy(buffer, 0, gone, 0, 1, NULL), TILEC_BAD_ARGUMENT);
   TilecArg args[2] = {tilec_view(TILEC_FP32, gone, 0), TILEC_ARG(1)};
   assert_int_equal(tilec_launch(kernel, &l, args, 2), TILEC_BAD_ARGUMENT);
   says("is given a buffer that was freed");
   assert_int_equal(tilec_event_record(e, NULL), TILEC_OK);
   tilec_event_free(e);
   tilec_event_free(e);
   says("tilec_event_free: the event was freed before");
   const TilecStatus of_event[] = {
      tilec_event_record(e, NULL), tilec_stream_wait(NULL, e),     tilec_event_sync(e),
      tilec_event_query(e),        tilec_event_elapsed(e, e, &ms),
   };
   for (size_t i = 0; i < sizeof of_event / sizeof of_event[0]; i++)
      assert_int_equal(of_event[i], TILEC_BAD_ARGUMENT);
   args[0] = tilec_view(TILEC_FP32, buffer, 0);
   assert_int_equal(tilec_launch(kernel, &l, args, 2), TILEC_OK);
   tilec_module_free(module);
   assert_int_equal(tilec_launch(kernel, &l, args, 2), TILEC_BAD_ARGUMENT);
   says("tilec_launch: the kernel's module was freed");
   const TilecStatus of_module[] = {
      tilec_module_kernel(module, NULL, &k),
      tilec_kernel_prepare(kernel, args, 2),
      tilec_kernel_prepare_async(kernel, args, 2, &p),
      tilec_kernel_explain(kernel, args, 2, text, sizeof text),
      tilec_kernel_use(kernel, 0, &use),
      tilec_kernel_tune(kernel, &l, args, 2, NULL, NULL),
   };
   for (size_t i = 0; i < sizeof of_module / sizeof of_module[0]; i++)
      assert_int_equal(of_module[i], TILEC_BAD_ARGUMENT);
   assert_int_equal(tilec_kernel_variants(kernel), 0);
   assert_null(tilec_kernel_info(kernel, 0));
   assert_string_equal(tilec_module_log(module), "");
   tilec_module_free(module);
   says("tilec_module_free: the module was freed before");
   module = NULL;
   for (int i = 0; i < 1000; i++) { /* many more than are remembered */
      assert_int_equal(tilec_buffer_wrap(rt, text, 1, &other), TILEC_OK);
      tilec_buffer_free(other);
   }
   stop();
}

/* Closed before its objects, a runtime lives for as long as they do, and does nothing else. */
static void
closed_runtimes_wait_for_their_objects(void **state)
{
   (void)state;
   start();
   TilecBuffer *other;
   TilecModule *m;
   TilecDeviceInfo info;
   char text[64];
   TilecLaunch l = {.grid = {1, 1, 1}};
   TilecArg args[2] = {tilec_view(TILEC_FP32, buffer, 0), TILEC_ARG(1)};
   TilecSource source = {.struct_size = sizeof source, .file = "x.tile"};
   assert_int_equal(tilec_launch(kernel, &l, args, 2), TILEC_OK);
   tilec_runtime_close(rt);
   tilec_runtime_close(rt);
   const TilecStatus got[] = {
      tilec_launch(kernel, &l, args, 2),
      tilec_kernel_prepare(kernel, args, 2),
      tilec_runtime_sync(rt),
      tilec_runtime_device(rt, &info),
      tilec_buffer_new(rt, 64, &other),
      tilec_buffer_wrap(rt, text, 1, &other),
      tilec_buffer_fill(buffer, 0, 0, 1, NULL),
      tilec_module_from_source(rt, &source, &m),
   };
   for (size_t i = 0; i < sizeof got / sizeof got[0]; i++)
      assert_int_equal(got[i], TILEC_BAD_ARGUMENT);
   says("the runtime was closed");
   assert_int_equal(fake()->contexts, 1);
   tilec_module_free(module);
   assert_int_equal(fake()->contexts, 1);
   tilec_buffer_free(buffer);
   assert_int_equal(fake()->contexts, 0);
}

int test_misuse(void);
int
test_misuse(void)
{
   const struct CMUnitTest tests[] = {
      cmocka_unit_test(null_is_refused),
      cmocka_unit_test(details_name_what_is_null),
      cmocka_unit_test(structs_of_another_version),
      cmocka_unit_test(odd_arguments_are_refused),
      cmocka_unit_test(freed_handles_are_refused),
      cmocka_unit_test(closed_runtimes_wait_for_their_objects),
   };
   return cmocka_run_group_tests(tests, NULL, NULL);
}
