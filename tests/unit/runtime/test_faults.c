/* The whole life of a runtime with every driver call failing in turn, for every kind of CUDA error;
 * with every symbol of the driver missing in turn; with every allocation failing in turn.  What
 * must come of it: a typed status with words, no success on a lost context, a close that works, and
 * nothing left behind (the leak sanitizer watches the host side, the stand-in driver its own). */
#include "fixture.h"

#include <sys/stat.h>
#include <unistd.h>

#include "denied.h"
#include "mock_compiler.h"

/* ---- Linked with --wrap: allocations and look-ups of symbols fail on demand ---- */
static const char *hidden_symbol;
void *__real_realloc(void *block, size_t bytes);
char *__real_strdup(const char *text);
void *__real_dlsym(void *library, const char *name);
void *__wrap_realloc(void *block, size_t bytes);
char *__wrap_strdup(const char *text);
void *__wrap_dlsym(void *library, const char *name);

void *
__wrap_realloc(void *block, size_t bytes)
{
   return denied() ? NULL : __real_realloc(block, bytes);
}

char *
__wrap_strdup(const char *text)
{
   return denied() ? NULL : __real_strdup(text);
}

void *
__wrap_dlsym(void *library, const char *name)
{
   if (hidden_symbol && strcmp(name, hidden_symbol) == 0)
      return NULL;
   return __real_dlsym(library, name);
}

/* ---- The life ---- */
typedef struct Life {
   /* how */
   bool synchronous, adopt, check;
   uint32_t timeout_ms;
   const char *cache_dir, *ptxas;
   bool tune;
   /* what came of it */
   TilecRuntime *rt;
   TilecStatus failed;        /* the first failure … */
   char step[64];             /* … was here … */
   char detail[4096];         /* … and said this */
   int num_failed, num_after; /* steps that failed; that succeeded after a lost device */
   int calls_before_free;     /* driver calls when the clean-up begins */
   bool opened;
} Life;

static bool
note_step(Life *l, const char *step, TilecStatus status)
{
   bool was_lost = l->failed == TILEC_DEVICE_LOST;
   if (status == TILEC_OK) {
      l->num_after += was_lost;
      return true;
   }
   if (was_lost && status != TILEC_DEVICE_LOST)
      fail_msg("%s on a lost context: %s", step, tilec_status_name(status));
   if (!l->num_failed++) {
      l->failed = status;
      snprintf(l->step, sizeof l->step, "%s", step);
      if (l->rt)
         tilec_runtime_error(l->rt, l->detail, sizeof l->detail);
   }
   return false;
}
#define STEP(call) note_step(l, #call, call)

static const TilecParamDecl jit_params[] = {
   {.name = "x"}, {.name = "n"}, {.name = "BLOCK", .is_constexpr = true, .default_value = "128"}};
static const TilecDefine block_values[] = {{"BLOCK", "64"}, {"BLOCK", "128"}};
static const TilecConfig configs[] = {
   {.text = "BLOCK=64, num_warps=2", .values = &block_values[0], .num_values = 1, .num_warps = 2},
   {.text = "BLOCK=128, num_warps=4", .values = &block_values[1], .num_values = 1, .num_warps = 4}};
static const TilecTuning tuning = {
   .configs = configs, .num_configs = 2, .warmup_ms = 1, .rep_ms = 1, .source_hash = 9};
static const TilecKernelDecl decls[] = {
   {.name = "other", .file = "x.tile", .line = 3, .params = jit_params, .num_params = 3},
   {.name = "k",
    .file = "x.tile",
    .line = 9,
    .params = jit_params,
    .num_params = 3,
    .tuning = &tuning}};

static Json record;

/* plain, with launch attributes and much shared memory, with a tensor map. */
static void
make_record(void)
{
   static const TilecArgInfo args[] = {{.name = "a", .type = "*fp16", .divisible = 16},
                                       {.name = "m", .type = "i32"}};
   static const TilecHiddenArg map = {.kind = TILEC_HIDDEN_TENSOR_MAP,
                                      .base = "a",
                                      .dtype = TILEC_FP16,
                                      .rank = 2,
                                      .dims = {"8", "m"},
                                      .strides = {NULL, "16"},
                                      .box = {8, 8}};
   const TilecKernelInfo kernels[] = {{.name = "plain",
                                       .entry = "plain",
                                       .num_warps = 4,
                                       .threads = 128,
                                       .cluster = {1, 1, 1},
                                       .args = args,
                                       .num_args = 2,
                                       .grid = {"cdiv(m, 128)"},
                                       .file = "dir/y.tile",
                                       .line = 17},
                                      {.name = "large",
                                       .entry = "large",
                                       .num_warps = 4,
                                       .threads = 128,
                                       .cluster = {16, 1, 1},
                                       .shared_bytes = 100000,
                                       .cooperative = true,
                                       .programmatic = true,
                                       .args = args,
                                       .num_args = 2},
                                      {.name = "mapped",
                                       .entry = "mapped",
                                       .num_warps = 4,
                                       .threads = 128,
                                       .cluster = {1, 1, 1},
                                       .args = args,
                                       .num_args = 2,
                                       .hidden = &map,
                                       .num_hidden = 1,
                                       .when = "m > 0"}};
   TilecImageInfo image = image_of(kernels, 3);
   record.len = 0;
   assert_int_equal(tilec_image_write_json(&image, json_put, &record), TILEC_OK);
}

static const char ptx[] = "// .entry plain .entry large .entry mapped ";
static const char cubin[] = "\177ELF plain large mapped";

static void
use_image(Life *l, const char *image, TilecBuffer *b, TilecStream stream)
{
   TilecModule *m = NULL;
   TilecKernel *plain, *large, *mapped;
   TilecKernelUse use;
   if (STEP(tilec_module_load(l->rt, image, TILEC_STRLEN, record.text, TILEC_STRLEN, &m)) &&
       STEP(tilec_module_kernel(m, "plain", &plain)) &&
       STEP(tilec_module_kernel(m, "large", &large)) &&
       STEP(tilec_module_kernel(m, "mapped", &mapped)) && b) {
      STEP(tilec_kernel_use(plain, 0, &use));
      STEP(TILEC_LAUNCH(plain, stream, TILEC_OWN_GRID, 1, 1, b, 8));
      STEP(TILEC_LAUNCH(large, stream, 16, 1, 1, b, 8));
      STEP(TILEC_LAUNCH(mapped, stream, 1, 2, 3, b, 4));
   }
   STEP(tilec_stream_sync(l->rt, stream));
   tilec_module_free(m);
}

static void
use_events(Life *l, TilecStream stream)
{
   TilecEvent *a = NULL, *b = NULL;
   double ms;
   STEP(tilec_event_new(l->rt, &a));
   STEP(tilec_event_new(l->rt, &b));
   if (a && b && STEP(tilec_event_record(a, stream)) && STEP(tilec_event_record(b, stream))) {
      STEP(tilec_stream_wait(NULL, a));
      STEP(tilec_event_sync(b));
      STEP(tilec_event_query(b));
      STEP(tilec_event_elapsed(a, b, &ms));
   }
   tilec_event_free(a);
   tilec_event_free(b);
}

static void
use_buffers(Life *l, TilecBuffer *a, TilecBuffer *b, TilecStream stream)
{
   char bytes[64] = "";
   if (!a || !b)
      return;
   STEP(tilec_buffer_upload(a, 0, bytes, sizeof bytes, stream));
   STEP(tilec_buffer_fill(a, 8, 1, 8, stream));
   STEP(tilec_buffer_copy(b, 0, a, 0, 32, stream));
   STEP(tilec_buffer_download(b, 0, bytes, 32, stream));
}

static TilecStatus
launch_while_capturing(TilecKernel *k, TilecStream stream, TilecBuffer *b, int n)
{
   fake()->capturing = 1;
   TilecStatus status = TILEC_LAUNCH(k, stream, 1, 1, 1, tilec_view(TILEC_FP32, b, 0), n);
   fake()->capturing = 0;
   return status;
}

static void
use_source(Life *l, TilecBuffer *b, TilecStream stream)
{
   TilecModule *m = NULL;
   TilecKernel *k = NULL;
   TilecPending *pending = NULL;
   TilecSource s = {.struct_size = sizeof s, .file = "x.tile", .kernel = l->tune ? "k" : "other"};
   if (!STEP(tilec_module_from_source(l->rt, &s, &m)) || !b)
      goto done;
   STEP(tilec_module_kernel(m, NULL, &k));
   TilecArg args[] = {tilec_view(TILEC_FP32, b, 0), TILEC_ARG(16)},
            other[] = {args[0], TILEC_ARG(7)};
   char text[512];
   TilecLaunch launch = {.stream = stream, .grid = {2, 1, 1}};
   if (l->tune) {
      TilecTuneOptions o = {.struct_size = sizeof o, .num_threads = 1};
      TilecTuneResult *r = NULL;
      STEP(tilec_kernel_tune(k, &launch, args, 2, &o, &r));
      tilec_tune_free(r);
   }
   STEP(tilec_launch(k, &launch, args, 2));
   STEP(tilec_launch(k, &launch, args, 2));
   STEP(launch_while_capturing(k, stream, b, 16));
   if (STEP(tilec_kernel_prepare_async(k, other, 2, &pending)))
      STEP(tilec_pending_wait(pending));
   STEP(tilec_kernel_prepare(k, other, 2));
   TilecStatus status = tilec_kernel_explain(k, other, 2, text, sizeof text);
   if (status != TILEC_OK) /* it needs no driver, so success says nothing */
      note_step(l, "tilec_kernel_explain", status);
   STEP(tilec_runtime_sync(l->rt));
done:
   tilec_pending_free(pending);
   tilec_module_free(m);
}

static void
live(Life *l)
{
   char why[512] = "";
   TilecBuffer *a = NULL, *b = NULL;
   TilecStream stream = NULL;
   TilecDeviceInfo info;
   TilecRuntimeOptions o = {.struct_size = sizeof o,
                            .driver_path = FAKE_DRIVER,
                            .synchronous = l->synchronous,
                            .check = l->check,
                            .timeout_ms = l->timeout_ms,
                            .error = why,
                            .error_bytes = sizeof why,
                            .context = l->adopt ? (void *)0x1000 : NULL};
   TilecJitOptions jo = {
      .struct_size = sizeof jo, .num_workers = 1, .cache_dir = l->cache_dir, .ptxas = l->ptxas};
   l->opened = STEP(tilec_runtime_open(&o, &l->rt));
   if (!l->opened) {
      snprintf(l->detail, sizeof l->detail, "%s", why);
      return;
   }
   bool has_jit = STEP(tilec_jit_attach(l->rt, &jo));
   STEP(tilec_runtime_device(l->rt, &info));
   STEP(tilec_buffer_new(l->rt, 64, &a));
   STEP(tilec_buffer_new(l->rt, 4096, &b));
   STEP(tilec_stream_new(l->rt, &stream));
   use_buffers(l, a, b, stream);
   use_events(l, stream);
   use_image(l, ptx, b, stream);
   use_image(l, cubin, b, stream);
   if (has_jit)
      use_source(l, b, stream);
   l->calls_before_free = fake()->total_calls;
   tilec_stream_free(l->rt, stream);
   tilec_buffer_free(a);
   tilec_buffer_free(b);
   tilec_runtime_close(l->rt);
   l->rt = NULL;
}

static void
begin(void)
{
   memset(&mock, 0, sizeof mock);
   mock.decls = decls;
   mock.num_decls = 2;
   fake_clear();
   make_record();
}

static void
expect_nothing_left(const char *when)
{
   FakeState *f = fake();
   if (f->contexts || f->modules || f->buffers || f->streams || f->events || mock.alive)
      fail_msg("%s: left: %d contexts, %d modules, %d buffers, %d streams, %d events, %d of the "
               "compiler",
               when, f->contexts, f->modules, f->buffers, f->streams, f->events, mock.alive);
}

/* ---- Errors of the driver ---- */
static const struct {
   int code;
   const char *name;
   TilecStatus status, at_launch; /* what it becomes; at_launch: where a launch says more */
   bool lost;
} errors[] = {
   {1, "INVALID_VALUE", TILEC_BAD_ARGUMENT, TILEC_LAUNCH_FAILED, false},
   {2, "OUT_OF_MEMORY", TILEC_OUT_OF_DEVICE_MEMORY, TILEC_OUT_OF_DEVICE_MEMORY, false},
   {3, "NOT_INITIALIZED", TILEC_DRIVER_ERROR, TILEC_DRIVER_ERROR, false},
   {4, "DEINITIALIZED", TILEC_DRIVER_ERROR, TILEC_DRIVER_ERROR, false},
   {100, "NO_DEVICE", TILEC_NO_DEVICE, TILEC_NO_DEVICE, false},
   {200, "INVALID_IMAGE", TILEC_BAD_IMAGE, TILEC_BAD_IMAGE, false},
   {201, "INVALID_CONTEXT", TILEC_BAD_CONTEXT, TILEC_BAD_CONTEXT, false},
   {209, "NO_BINARY_FOR_GPU", TILEC_BAD_TARGET, TILEC_BAD_TARGET, false},
   {214, "ECC_UNCORRECTABLE", TILEC_DEVICE_LOST, TILEC_DEVICE_LOST, true},
   {218, "INVALID_PTX", TILEC_BAD_IMAGE, TILEC_BAD_IMAGE, false},
   {221, "JIT_COMPILER_NOT_FOUND", TILEC_NO_DRIVER, TILEC_NO_DRIVER, false},
   {222, "UNSUPPORTED_PTX_VERSION", TILEC_DRIVER_TOO_OLD, TILEC_DRIVER_TOO_OLD, false},
   {400, "INVALID_HANDLE", TILEC_BAD_CONTEXT, TILEC_BAD_CONTEXT, false},
   {500, "NOT_FOUND", TILEC_NOT_FOUND, TILEC_BAD_IMAGE, false},
   {700, "ILLEGAL_ADDRESS", TILEC_DEVICE_LOST, TILEC_DEVICE_LOST, true},
   {701, "LAUNCH_OUT_OF_RESOURCES", TILEC_LAUNCH_FAILED, TILEC_LAUNCH_FAILED, false},
   {226, "CONTAINED", TILEC_DEVICE_LOST, TILEC_DEVICE_LOST, true},
   {702, "LAUNCH_TIMEOUT", TILEC_DEVICE_LOST, TILEC_DEVICE_LOST, true},
   {710, "ASSERT", TILEC_DEVICE_LOST, TILEC_DEVICE_LOST, true},
   {716, "MISALIGNED_ADDRESS", TILEC_DEVICE_LOST, TILEC_DEVICE_LOST, true},
   {719, "LAUNCH_FAILED", TILEC_DEVICE_LOST, TILEC_DEVICE_LOST, true},
   {807, "MPS_SERVER_NOT_READY", TILEC_NO_DEVICE, TILEC_NO_DEVICE, false},
   {810, "MPS_CLIENT_TERMINATED", TILEC_DEVICE_LOST, TILEC_DEVICE_LOST, true},
   {802, "SYSTEM_NOT_READY", TILEC_NO_DEVICE, TILEC_NO_DEVICE, false},
   {900, "STREAM_CAPTURE_UNSUPPORTED", TILEC_UNSUPPORTED, TILEC_UNSUPPORTED, false},
   {906, "STREAM_CAPTURE_IMPLICIT", TILEC_LAUNCH_FAILED, TILEC_LAUNCH_FAILED, false},
   {907, "CAPTURED_EVENT", TILEC_LAUNCH_FAILED, TILEC_LAUNCH_FAILED, false},
};
enum { NUM_ERRORS = sizeof errors / sizeof errors[0] };

/* Calls whose failure has nobody to tell: something is given back, or an answer is not needed. */
static bool
is_quiet(const char *symbol)
{
   static const char *const quiet[] = {"cuCtxPopCurrent_v2", "cuDevicePrimaryCtxRelease_v2",
                                       "cuMemFree_v2",       "cuModuleUnload",
                                       "cuStreamDestroy_v2", "cuEventDestroy_v2"};
   for (size_t i = 0; i < sizeof quiet / sizeof quiet[0]; i++)
      if (strcmp(symbol, quiet[i]) == 0)
         return true;
   return false;
}

/* What the detail says of each call, so that whoever reads it knows what was being done. */
#define WAITS_FOR_STREAMS "synchronising a stream|uploading|downloading|running '"
static const char *const words[][2] = {
   {"cuInit", "cuInit"},
   {"cuDriverGetVersion", "cuDriverGetVersion"},
   {"cuDeviceGetCount", "counting devices"},
   {"cuDeviceGet", "opening the device"},
   {"cuDeviceGetName", "reading its name"},
   {"cuDeviceGetAttribute", "device attribute"},
   {"cuDeviceTotalMem_v2", "memory size"},
   {"cuDevicePrimaryCtxRetain", "primary context"},
   {"cuCtxGetCurrent", "the current context"},
   {"cuCtxPushCurrent_v2", "context"},
   {"cuCtxPopCurrent_v2", "restoring the thread's context"},
   {"cuCtxGetDevice", "the context's device"},
   {"cuCtxSynchronize", "synchronising"},
   {"cuMemGetInfo_v2", "free memory"},
   {"cuMemAlloc_v2", "allocating device memory"},
   {"cuMemFree_v2", "freeing device memory"},
   {"cuMemcpyHtoDAsync_v2", "uploading"},
   {"cuMemcpyDtoHAsync_v2", "downloading"},
   {"cuMemcpyDtoDAsync_v2", "copying device memory"},
   {"cuMemsetD8Async", "filling"},
   {"cuPointerGetAttribute", "what a pointer points to"},
   {"cuModuleLoadDataEx", "loading the image"},
   {"cuModuleUnload", "unloading a module"},
   {"cuModuleGetFunction", "looking up entry"},
   {"cuFuncGetAttribute", "a kernel's resources"},
   {"cuFuncSetAttribute", "opting"},
   {"cuOccupancyMaxActiveBlocksPerMultiprocessor", "a kernel's resources"},
   {"cuLaunchKernel", "launching 'plain'|launching 'mapped'|launching 'other'"},
   {"cuLaunchKernelEx", "launching 'large'"},
   {"cuStreamCreate", "making a stream"},
   {"cuStreamDestroy_v2", "freeing a stream"},
   {"cuStreamSynchronize", WAITS_FOR_STREAMS},
   {"cuStreamIsCapturing", "whether the stream captures|" WAITS_FOR_STREAMS},
   {"cuEventCreate", "making an event"},
   {"cuEventDestroy_v2", "freeing an event"},
   {"cuEventRecord", "recording an event|" WAITS_FOR_STREAMS},
   {"cuStreamWaitEvent", "making a stream wait"},
   {"cuEventSynchronize", "waiting for an event"},
   {"cuEventQuery", "waiting for an event|" WAITS_FOR_STREAMS},
   {"cuEventElapsedTime", "timing events"},
   {"cuTensorMapEncodeTiled", "tensor map 0"},
};

/* One of the alternatives is in the text. */
static bool
says_one_of(const char *text, const char *alternatives)
{
   for (const char *at = alternatives; *at;) {
      char one[64];
      size_t n = strcspn(at, "|");
      snprintf(one, sizeof one, "%.*s", (int)n, at);
      if (strstr(text, one))
         return true;
      at += n + (at[n] == '|');
   }
   return false;
}

static const char *
words_of(const char *symbol)
{
   for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
      if (strcmp(words[i][0], symbol) == 0)
         return words[i][1];
   fail_msg("no words for %s: add them", symbol);
   return "";
}

/* Where a worker and its caller were in the driver at once, a sticky error is told of by the one
 * that is back first, in the words of its own call. */
static void
expect_words(const Life *l, const char *symbol, const char *when)
{
   bool says = says_one_of(l->detail, words_of(symbol));
   for (int i = 0; !says && i < fake()->num_failed_beside; i++)
      says = says_one_of(l->detail, words_of(fake()->failed_beside[i]));
   if (!says)
      fail_msg("%s: '%s' is not in '%s'", when, words_of(symbol), l->detail);
}

/* What one error must come to.  `in_free`: the call belonged to giving something back, at the end
 * or on the way. */
static void
judge(const Life *l, int e, const char *symbol, const char *when)
{
   char name[64];
   snprintf(name, sizeof name, "CUDA_ERROR_%s", errors[e].name);
   if (!l->num_failed) {
      bool context = strcmp(symbol, "cuCtxGetCurrent") == 0 ||
                     strcmp(symbol, "cuCtxPushCurrent_v2") == 0; /* of a call that frees */
      bool asks = strcmp(symbol, "cuPointerGetAttribute") == 0 && errors[e].code == 1;
      bool looks = strcmp(symbol, "cuDeviceGetAttribute") == 0 &&
                   errors[e].code == 1;           /* of a driver that does not know the attribute */
      bool has_another = l->tune || l->cache_dir; /* candidate; the PTX beside a cubin; a compile */
      if (!is_quiet(symbol) && !context && !asks && !looks && !has_another)
         fail_msg("%s: nothing failed", when);
      return;
   }
   if (l->failed != errors[e].status && l->failed != errors[e].at_launch && !l->tune &&
       !(l->adopt && !l->opened && l->failed == TILEC_BAD_CONTEXT) &&
       !(l->check && errors[e].code == 1 && strcmp(symbol, "cuPointerGetAttribute") == 0))
      fail_msg("%s: %s at %s: %s", when, tilec_status_name(l->failed), l->step, l->detail);
   bool asked = strcmp(symbol, "cuPointerGetAttribute") == 0 && errors[e].code == 1;
   if (!strstr(l->detail, name) && !asked && !l->tune)
      fail_msg("%s: at %s the detail names no %s: '%s'", when, l->step, name, l->detail);
   if (!asked && !l->tune)
      expect_words(l, symbol, when);
   if (!errors[e].lost && l->num_failed > 1 && !strstr(l->step, "_new") &&
       !strstr(l->step, "from_source"))
      fail_msg("%s: %d steps failed, the first was %s: %s", when, l->num_failed, l->step,
               l->detail);
   if (l->num_after)
      fail_msg("%s: %d steps succeeded on a lost context", when, l->num_after);
}

static bool seen_to_fail[128];
static const char *const all_symbols[] = {
#define TL_CU(member, symbol, since, params) symbol,
#include "core/cuda_api.def"
};
static const int since[] = {
#define TL_CU(member, symbol, version, params) version,
#include "core/cuda_api.def"
};
enum { NUM_SYMBOLS = sizeof all_symbols / sizeof all_symbols[0] };

static void
mark_failed(const char *symbol)
{
   for (int i = 0; i < NUM_SYMBOLS; i++)
      seen_to_fail[i] |= strcmp(all_symbols[i], symbol) == 0;
}

/* One life with call number `index` failing; false when the life has fewer calls. */
static bool
live_with_failure(Life how, int e, int index)
{
   char when[160];
   begin();
   fake()->fail_call = index;
   fake()->fail_code = errors[e].code;
   live(&how);
   const char *symbol = fake()->failed;
   if (!symbol) {
      if (how.num_failed)
         fail_msg("undisturbed, %s failed: %s", how.step, how.detail);
      expect_nothing_left("undisturbed");
      return false;
   }
   mark_failed(symbol);
   snprintf(when, sizeof when, "call %d (%s) with %s%s%s%s", index, symbol, errors[e].name,
            how.synchronous ? ", synchronous" : "", how.adopt ? ", adopted" : "",
            how.check        ? ", checked"
            : how.timeout_ms ? ", with a limit"
                             : "");
   judge(&how, e, symbol, when);
   bool in_bracket =
      strcmp(symbol, "cuCtxGetCurrent") == 0 || strcmp(symbol, "cuCtxPushCurrent_v2") == 0;
   if (!errors[e].lost && !is_quiet(symbol) && !(in_bracket && !how.num_failed))
      expect_nothing_left(when); /* what could not be given back is the driver's */
   assert_int_equal(mock.alive, 0);
   assert_int_equal(fake()->contexts, 0);
   return true;
}

/* One in how many of the errors each call fails with, where the driver is opened in the plain way
 * and in others: instrumented, thousands of lives take a minute. */
#ifdef TL_INSTRUMENTED
enum { PLAIN_ONE_IN = 2, OTHERS_ONE_IN = 7, TUNER_ONE_IN = 4 };
#else
enum { PLAIN_ONE_IN = 1, OTHERS_ONE_IN = 3, TUNER_ONE_IN = 1 };
#endif

static void
every_call_fails_with_every_error(void **state)
{
   (void)state;
   const Life hows[] = {
      {0}, {.synchronous = true, .adopt = true}, {.check = true}, {.timeout_ms = 60000}};
   memset(seen_to_fail, 0, sizeof seen_to_fail);
   for (size_t h = 0; h < sizeof hows / sizeof hows[0]; h++)
      for (int e = 0; e < NUM_ERRORS; e += h ? OTHERS_ONE_IN : PLAIN_ONE_IN) {
         int index = 1;
         while (live_with_failure(hows[h], e, index))
            index++;
         assert_true(index > 150);
      }
   for (int i = 0; i < NUM_SYMBOLS; i++)
      if (!seen_to_fail[i] && strcmp(all_symbols[i], "cuGetErrorString") != 0)
         fail_msg("%s was never made to fail: give it a step in live()", all_symbols[i]);
}

/* A tuner drops candidates that fail, unless the device is lost; how often it launches depends on
 * the clock, so each call fails at its first times only. */
static void
every_call_of_the_tuner_fails(void **state)
{
   (void)state;
   for (int e = 0; e < NUM_ERRORS; e += TUNER_ONE_IN)
      for (int s = 0; s < NUM_SYMBOLS; s++)
         for (int nth = 1; nth <= 24; nth = nth < 4 ? nth + 1 : nth * 2) {
            Life l = {.tune = true};
            char when[128];
            begin();
            fake_fail(all_symbols[s], nth, errors[e].code);
            live(&l);
            if (!fake()->failed)
               break;
            snprintf(when, sizeof when, "tuning: %s number %d with %s", all_symbols[s], nth,
                     errors[e].name);
            judge(&l, e, all_symbols[s], when);
            assert_int_equal(mock.alive, 0);
            assert_int_equal(fake()->contexts, 0);
         }
}

/* A kernel kept on disk, with a cubin: what does not load is made anew, but for a lost device and
 * missing memory. */
static void
loads_from_the_disk_cache_fail(void **state)
{
   (void)state;
   static const char script[] = "#!/bin/sh\nprintf '\\177ELF .entry other ' >\"$3\"\n";
   char folder[] = "/tmp/tilec_faults_XXXXXX", path[64], cache[64], command[128];
   assert_non_null(mkdtemp(folder));
   snprintf(path, sizeof path, "%s/ptxas", folder);
   snprintf(cache, sizeof cache, "%s/cache", folder);
   FILE *f = fopen(path, "w");
   assert_non_null(f);
   fputs(script, f);
   assert_int_equal(fchmod(fileno(f), 0700), 0);
   fclose(f);
   Life fill = {.cache_dir = cache, .ptxas = path};
   begin();
   live(&fill);
   assert_int_equal(fill.num_failed, 0);
   Life again = {.cache_dir = cache};
   begin();
   live(&again);
   assert_int_equal(again.num_failed, 0);
   assert_int_equal(mock.compiles, 0);
   assert_memory_equal(fake()->ptx, "\177ELF", 4);
   static const char *const symbols[] = {"cuModuleLoadDataEx", "cuModuleGetFunction"};
   for (int e = 0; e < NUM_ERRORS; e++)
      for (int s = 0; s < 2; s++)
         for (int nth = 1;; nth++) {
            Life l = {.cache_dir = cache};
            char when[128];
            begin();
            fake_fail(symbols[s], nth, errors[e].code);
            live(&l);
            if (!fake()->failed)
               break;
            snprintf(when, sizeof when, "with a cache: %s number %d with %s", symbols[s], nth,
                     errors[e].name);
            judge(&l, e, symbols[s], when);
            if (!errors[e].lost)
               expect_nothing_left(when);
            assert_int_equal(mock.alive, 0);
         }
   snprintf(command, sizeof command, "rm -rf %s", folder);
   assert_int_equal(system(command), 0);
}

/* Words that cannot be had are no second failure. */
static void
errors_without_words(void **state)
{
   (void)state;
   Life l = {0};
   begin();
   fake()->no_words = 1;
   fake_fail("cuMemsetD8Async", 1, 1);
   live(&l);
   assert_int_equal(l.failed, TILEC_BAD_ARGUMENT);
   assert_non_null(strstr(l.detail, "filling: CUDA_ERROR_INVALID_VALUE (1): no description"));
}

/* ---- Drivers that lack something ---- */
static void
every_symbol_may_be_missing(void **state)
{
   (void)state;
   for (int i = 0; i < NUM_SYMBOLS; i++) {
      Life l = {.check = strcmp(all_symbols[i], "cuPointerGetAttribute") == 0};
      begin();
      hidden_symbol = all_symbols[i];
      live(&l);
      hidden_symbol = NULL;
      if (l.failed != TILEC_DRIVER_TOO_OLD || !strstr(l.detail, all_symbols[i]))
         fail_msg("without %s: %s at %s: %s", all_symbols[i], tilec_status_name(l.failed), l.step,
                  l.detail);
      if (since[i] && !l.check)
         assert_true(l.opened); /* only what needs it fails */
      expect_nothing_left(all_symbols[i]);
   }
}

static void
what_is_no_driver_is_refused(void **state)
{
   (void)state;
   char path[] = "/tmp/tilec_no_driver_XXXXXX", error[512];
   int fd = mkstemp(path);
   assert_true(fd >= 0);
   const struct {
      const char *text;
      size_t len;
   } files[] = {{"", 0}, {"this is no library\n", 19}, {"\177ELF\2\1\1\0\0\0\0\0\0\0\0\0\3\0", 18}};
   TilecRuntimeOptions o = {
      .struct_size = sizeof o, .driver_path = path, .error = error, .error_bytes = sizeof error};
   for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
      TilecRuntime *rt = NULL;
      assert_int_equal(ftruncate(fd, 0), 0);
      assert_int_equal(pwrite(fd, files[i].text, files[i].len, 0), (ssize_t)files[i].len);
      assert_int_equal(tilec_runtime_open(&o, &rt), TILEC_NO_DRIVER);
      assert_null(rt);
      assert_non_null(strstr(error, path));
   }
   close(fd);
   unlink(path);
   TilecRuntime *rt;
   assert_int_equal(tilec_runtime_open(&o, &rt), TILEC_NO_DRIVER);
   const int versions[] = {0, 1, 9000, 11080, 11999};
   o.driver_path = FAKE_DRIVER;
   for (size_t i = 0; i < sizeof versions / sizeof versions[0]; i++) {
      begin();
      fake()->version = versions[i];
      assert_int_equal(tilec_runtime_open(&o, &rt), TILEC_DRIVER_TOO_OLD);
      assert_non_null(strstr(error, "12.0 or newer"));
   }
   begin();
   fake_fail("cuDriverGetVersion", 1, 803);
   assert_int_equal(tilec_runtime_open(&o, &rt), TILEC_NO_DRIVER);
   assert_non_null(strstr(error, "cuDriverGetVersion: CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"));
   expect_nothing_left("no driver");
}

/* ---- Memory of the host ---- */
static void
every_allocation_fails(void **state)
{
   (void)state;
   char folder[] = "/tmp/tilec_faults_XXXXXX", command[128];
   assert_non_null(mkdtemp(folder));
   const Life hows[] = {{0}, {.cache_dir = folder}, {.tune = true}, {.timeout_ms = 60000}};
   for (size_t h = 0; h < sizeof hows / sizeof hows[0]; h++) {
      int n = 0;
      bool more = true;
      for (; more && n < 5000; n++) {
         Life l = hows[h];
         begin();
         allocations_left = n;
         live(&l);
         more = allocations_left < 0;
         allocations_left = -1;
         if (l.num_failed && l.failed != TILEC_NO_MEMORY)
            fail_msg("allocation %d: %s at %s: %s", n, tilec_status_name(l.failed), l.step,
                     l.detail);
         if (l.num_failed && !strstr(l.detail, "memory"))
            fail_msg("allocation %d: at %s it says '%s'", n, l.step, l.detail);
         expect_nothing_left("no memory");
         /* a tuner's number of samples, and so of allocations, is the clock's */
         more = more || (h == 2 && n < 200);
      }
      assert_true(n > 60 && n < 5000);
   }
   snprintf(command, sizeof command, "rm -rf %s", folder);
   assert_int_equal(system(command), 0);
}

int test_faults(void);
int
test_faults(void)
{
   const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_call_fails_with_every_error),
      cmocka_unit_test(every_call_of_the_tuner_fails),
      cmocka_unit_test(loads_from_the_disk_cache_fail),
      cmocka_unit_test(errors_without_words),
      cmocka_unit_test(every_symbol_may_be_missing),
      cmocka_unit_test(what_is_no_driver_is_refused),
      cmocka_unit_test(every_allocation_fails),
   };
   return cmocka_run_group_tests(tests, NULL, NULL);
}
