/* The tuner against a driver whose kernels take scripted times and write scripted results: a
 * configuration is known by its number of warps. */
#include "fixture.h"

#include <pthread.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include "jit/tune_db.h"
#include "mock_compiler.h"

static const TilecParamDecl params[] = {
   {.name = "x"},
   {.name = "y", .type = "*fp32"},
   {.name = "n", .type = "i32"},
   {.name = "m", .type = "i32"},
   {.name = "BLOCK", .is_constexpr = true},
};
static const TilecDefine block[] = {
   {"BLOCK", "64"}, {"BLOCK", "128"}, {"BLOCK", "256"}, {"BLOCK", "512"}, {"BLOCK", "1024"}};
static const TilecConfig configs[] = {
   {.text = "BLOCK=64, num_warps=1", .values = &block[0], .num_values = 1, .num_warps = 1},
   {.text = "BLOCK=128, num_warps=2", .values = &block[1], .num_values = 1, .num_warps = 2},
   {.text = "BLOCK=256, num_warps=4", .values = &block[2], .num_values = 1, .num_warps = 4},
   {.text = "BLOCK=512, num_warps=8", .values = &block[3], .num_values = 1, .num_warps = 8},
   {.text = "BLOCK=1024, num_warps=16", .values = &block[4], .num_values = 1, .num_warps = 16},
};
enum { NUM_CONFIGS = 5, WARPS_WRONG = 4 };
static const char *const key_names[] = {"n"};
static const char *const y_name[] = {"y"};
static TilecTuning tuning;
static TilecKernelDecl decl;
static TilecParamDecl own_params[5];

static TilecRuntime *rt;
static TilecModule *module;
static TilecKernel *kernel;
static TilecBuffer *x, *y;
static float warps_ms[32]; /* how long a launch takes */
static float seen_y[4096]; /* y[0] at each launch */
static unsigned seen;
static char database[128];
static char notes[1024];
static uint32_t timeout_ms; /* of the runtime */

/* y[0] += 1, y[1] = the result: 7, or 8 where it is wrong. */
static float
on_launch(const FakeLaunch *l)
{
   unsigned warps = l->block[0] / 32;
   float *out = (float *)(uintptr_t)l->params[1];
   if (seen < 4096)
      seen_y[seen++] = out[0];
   out[0] += 1;
   out[1] = warps == WARPS_WRONG ? 8 : 7;
   return warps_ms[warps];
}

static void
on_text(void *user, const char *text)
{
   (void)user;
   snprintf(notes + strlen(notes), sizeof notes - strlen(notes), "%s", text);
}

static void
open_runtime(TilecExecutor on, uint32_t policy)
{
   TilecRuntimeOptions o = {.struct_size = sizeof o,
                            .executor = on,
                            .driver_path = FAKE_DRIVER,
                            .timeout_ms = timeout_ms};
   TilecJitOptions jo = {.struct_size = sizeof jo,
                         .tune = policy,
                         .on_text = on_text,
                         .tune_database = database[0] ? database : NULL};
   TilecSource s = {.struct_size = sizeof s, .file = "x.tile", .kernel = "k"};
   float data[2] = {41, 0};
   fake()->on_launch = on_launch;
   fake()->expect_params = 4;
   notes[0] = 0;
   assert_int_equal(tilec_runtime_open(&o, &rt), TILEC_OK);
   assert_int_equal(tilec_jit_attach(rt, &jo), TILEC_OK);
   if (tilec_module_from_source(rt, &s, &module) != TILEC_OK)
      fail_msg("%s", detail(rt));
   assert_int_equal(tilec_module_kernel(module, NULL, &kernel), TILEC_OK);
   assert_int_equal(tilec_buffer_new(rt, 256, &x), TILEC_OK);
   assert_int_equal(tilec_buffer_new(rt, sizeof data, &y), TILEC_OK);
   assert_int_equal(tilec_buffer_upload(y, 0, data, sizeof data, NULL), TILEC_OK);
   seen = 0;
}

static void
start(TilecExecutor on, uint32_t policy)
{
   memset(&mock, 0, sizeof mock);
   memcpy(own_params, params, sizeof params);
   tuning = (TilecTuning){.configs = configs,
                          .num_configs = NUM_CONFIGS,
                          .keys = key_names,
                          .num_keys = 1,
                          .warmup_ms = 1,
                          .rep_ms = 1,
                          .source_hash = 5};
   decl = (TilecKernelDecl){
      .name = "k", .file = "x.tile", .params = own_params, .num_params = 5, .tuning = &tuning};
   mock.decls = &decl;
   mock.num_decls = 1;
   mock.bad_define = "BLOCK=512";
   const float ms[] = {3.0f, 1.001f, 0.5f, 0.1f, 1.0f}; /* 16 warps: as fast as 2, within 0.5 % */
   for (unsigned i = 0; i < NUM_CONFIGS; i++)
      warps_ms[configs[i].num_warps] = ms[i];
   fake_clear();
   open_runtime(on, policy);
}

static void
stop(void)
{
   tilec_buffer_free(x);
   tilec_buffer_free(y);
   tilec_module_free(module);
   close_fake(rt);
   assert_int_equal(mock.alive, 0);
}

static TilecStatus
launch(int n)
{
   return TILEC_LAUNCH(kernel, 0, 1, 1, 1, tilec_view(TILEC_FP16, x, 0), y, n, 3);
}

static unsigned
last_warps(void)
{
   return fake()->launches[(fake()->num_launches - 1) % FAKE_MAX_LAUNCHES].block[0] / 32;
}

static float
y_at(unsigned i)
{
   float data[2];
   assert_int_equal(tilec_buffer_download(y, 0, data, sizeof data, NULL), TILEC_OK);
   return data[i];
}

static TilecStatus
tune(const TilecTuneOptions *options, TilecTuneResult **out)
{
   TilecLaunch l = {.grid = {1, 1, 1}};
   TilecArg args[] = {tilec_view(TILEC_FP16, x, 0), tilec_view(TILEC_FP32, y, 0),
                      tilec_int(TILEC_I32, 100), tilec_int(TILEC_I32, 3)};
   return tilec_kernel_tune(kernel, &l, args, 4, options, out);
}

static void
the_known_best_is_picked(void **state)
{
   (void)state;
   start(TILEC_ON_CUDA, TILEC_TUNE_DEFAULT);
   TilecTuneOptions o = {.struct_size = sizeof o, .reference = 1, .num_threads = 3};
   TilecTuneResult *r;
   if (tune(&o, &r) != TILEC_OK)
      fail_msg("%s", detail(rt));
   const TilecTuneInfo *info = tilec_tune_info(r);
   const TilecTuneCandidate *c = info->candidates;
   assert_int_equal(info->num_candidates, NUM_CONFIGS);
   assert_int_equal(info->winner, 1); /* 16 warps are no faster and need more */
   assert_string_equal(c[1].config, "BLOCK=128, num_warps=2");
   assert_true(c[1].num_samples >= 8);
   assert_float_equal(c[1].median_ms, 1.001, 1e-3);
   assert_int_equal(c[2].status, TILEC_FAULT);
   assert_string_equal(c[2].reason, "wrong result: 'y' has a relative error of 0.0235");
   assert_int_equal(c[3].status, TILEC_BAD_SOURCE);
   assert_string_equal(c[3].reason, "x.tile:3:9: error[E0204]: unknown name 'blok'");
   assert_int_equal(c[0].status, TILEC_CANCELLED); /* three times slower: dropped early */
   assert_non_null(strstr(c[0].reason, "slower: 3 ms"));
   assert_string_equal(info->key, "x=*fp16; y=*fp32; n=100");
   assert_true(!info->from_store && !info->is_stored);
   tilec_tune_free(r);
   assert_true(y_at(0) == 41 && y_at(1) == 0); /* as before */
   assert_int_equal(launch(100), TILEC_OK);
   assert_int_equal(last_warps(), 2);
   assert_true(y_at(0) == 42 && y_at(1) == 7);
   stop();
}

/* After the first round the slowest gets slower and the fastest faster. */
static void
spread_after_one(void *user, const TilecTuneProgress *p)
{
   (void)user;
   if (p->measured == 1) {
      warps_ms[1] = 12;
      warps_ms[2] = 1;
   }
}

static void
few_samples_have_a_range(void **state)
{
   (void)state;
   start(TILEC_ON_CUDA, TILEC_TUNE_DEFAULT);
   warps_ms[1] = 11;
   warps_ms[2] = warps_ms[4] = warps_ms[16] = 1.5f;
   TilecTuneOptions o = {.struct_size = sizeof o, .on_progress = spread_after_one};
   TilecTuneResult *r;
   assert_int_equal(tune(&o, &r), TILEC_OK);
   const TilecTuneCandidate *c = &tilec_tune_info(r)->candidates[0];
   assert_int_equal(c->num_samples, 2); /* then it was dropped */
   assert_float_equal(c->low_ms, 11, 1e-3);
   assert_float_equal(c->median_ms, 11.5, 1e-3);
   assert_float_equal(c->high_ms, 12, 1e-3);
   tilec_tune_free(r);
   stop();
}

/* The first round shows a candidate that turns out slow at its fastest. */
static void
slow_after_one(void *user, const TilecTuneProgress *p)
{
   (void)user;
   warps_ms[2] = p->measured ? 3 : 1;
}

/* The choice goes by the median, and so does what is left out: none that could win.  What is
 * dropped was slower at its fastest than the winner mostly is. */
static void
noise_drops_no_winner(void **state)
{
   (void)state;
   start(TILEC_ON_CUDA, TILEC_TUNE_DEFAULT);
   warps_ms[1] = 9.5f;
   warps_ms[2] = 1;
   warps_ms[4] = 2;
   warps_ms[16] = 1.9f;
   TilecTuneOptions o = {.struct_size = sizeof o, .on_progress = slow_after_one};
   TilecTuneResult *r;
   assert_int_equal(tune(&o, &r), TILEC_OK);
   const TilecTuneInfo *info = tilec_tune_info(r);
   const TilecTuneCandidate *c = info->candidates;
   assert_int_equal(info->winner, 4);
   assert_true(c[4].is_tied && !c[2].is_tied && !c[1].is_tied);
   assert_int_equal(c[2].status, TILEC_OK);
   assert_int_equal(c[0].status, TILEC_CANCELLED);
   for (uint32_t i = 0; i < info->num_candidates; i++)
      assert_true(c[i].status != TILEC_CANCELLED || c[i].samples[0] > c[info->winner].median_ms);
   tilec_tune_free(r);
   stop();
}

static void
spread_around(void *user, const TilecTuneProgress *p)
{
   (void)user;
   warps_ms[2] = 1 + 0.5f * (float)(p->measured % 3); /* median 1.5, 1 to 2 */
}

/* Between medians that differ by less than they are known the smaller one is taken. */
static void
noise_is_a_tie(void **state)
{
   (void)state;
   start(TILEC_ON_CUDA, TILEC_TUNE_DEFAULT);
   warps_ms[1] = warps_ms[4] = 6;
   warps_ms[16] = 1.48f;
   TilecTuneOptions o = {.struct_size = sizeof o, .on_progress = spread_around, .rep_ms = 30};
   TilecTuneResult *r;
   assert_int_equal(tune(&o, &r), TILEC_OK);
   const TilecTuneInfo *info = tilec_tune_info(r);
   assert_true(info->candidates[1].is_tied && info->candidates[4].is_tied);
   assert_true(info->candidates[4].median_ms < info->candidates[1].median_ms);
   assert_int_equal(info->winner, 1); /* fewer threads */
   tilec_tune_free(r);
   stop();
}

static bool
refuse_all_but_slow(void *user, const char *config, const TilecArg *args, size_t num_args)
{
   (*(unsigned *)user)++;
   assert_int_equal(num_args, 4);
   assert_true(args[2].as.i == 100);
   assert_true(y_at(0) == 42); /* one launch on the arguments as they were */
   return strstr(config, "=64") != NULL;
}

static void
the_callers_check_decides(void **state)
{
   (void)state;
   unsigned calls = 0;
   start(TILEC_ON_CUDA, TILEC_TUNE_DEFAULT);
   TilecTuneOptions o = {
      .struct_size = sizeof o, .check = refuse_all_but_slow, .user = &calls, .keep_all = true};
   TilecTuneResult *r;
   assert_int_equal(tune(&o, &r), TILEC_OK);
   assert_int_equal(calls, 4);
   assert_int_equal(tilec_tune_info(r)->winner, 0);
   tilec_tune_free(r);
   mock.bad_define = "BLOCK=64";
   o.force = true;
   o.reference = 4; /* what is wrong elsewhere is dropped, the rest is refused */
   tilec_module_free(module);
   TilecSource s = {.struct_size = sizeof s, .file = "x.tile", .kernel = "k"};
   assert_int_equal(tilec_module_from_source(rt, &s, &module), TILEC_OK);
   assert_int_equal(tilec_module_kernel(module, NULL, &kernel), TILEC_OK);
   assert_int_equal(tune(&o, &r), TILEC_NOT_FOUND);
   assert_null(r);
   assert_says(rt, "no configuration can be used");
   assert_says(rt, "BLOCK=64, num_warps=1: x.tile:3:9");
   assert_says(rt, "the caller's check refused it");
   stop();
}

static void
first_launches_tune(void **state)
{
   (void)state;
   start(TILEC_ON_CUDA, TILEC_TUNE_DEFAULT);
   assert_int_equal(launch(100), TILEC_OK);
   assert_int_equal(last_warps(), WARPS_WRONG); /* the fastest; nobody said what is right */
   assert_true(y_at(0) == 42);
   unsigned launches = fake()->num_launches;
   int compiles = mock.compiles;
   assert_int_equal(launch(100), TILEC_OK);
   assert_int_equal(fake()->num_launches, launches + 1);
   warps_ms[2] = 0.25f;
   assert_int_equal(launch(101), TILEC_OK); /* another key */
   assert_int_equal(last_warps(), 2);
   assert_true(mock.compiles > compiles);
   launches = fake()->num_launches;
   assert_int_equal(launch(100), TILEC_OK);
   assert_int_equal(last_warps(), WARPS_WRONG);
   assert_int_equal(TILEC_LAUNCH(kernel, 0, 1, 1, 1, tilec_view(TILEC_FP16, x, 0), y, 100, 99),
                    TILEC_OK); /* m is no key */
   assert_int_equal(fake()->num_launches, launches + 2);
   assert_int_equal(TILEC_LAUNCH(kernel, 0, 1, 1, 1, x, y), TILEC_BAD_ARGUMENT);
   assert_says(rt, "4 arguments are taken, 2 given");
   assert_true(tilec_kernel_variants(kernel) >= 2);
   assert_non_null(tilec_kernel_info(kernel, 0));
   assert_null(tilec_kernel_info(kernel, 100));
   stop();
}

/* A candidate that is given up, and for good or only for a while: what ends later does so when the
 * tuner, for which the limit of its measurement has passed, waits for the context. */
enum { WARPS_HANG = 2, LIMIT_MS = 1000 };
static bool ends_later;

static void
end_in_time(const char *symbol)
{
   if (ends_later && strcmp(symbol, "cuCtxSynchronize") == 0)
      fake()->hangs = 0;
}

static float
hang_on_launch(const FakeLaunch *l)
{
   if (l->block[0] / 32 == WARPS_HANG)
      fake()->hangs = 1;
   return on_launch(l);
}

static void
close_given_up(void)
{
   tilec_buffer_free(x);
   tilec_buffer_free(y);
   tilec_module_free(module);
   tilec_runtime_close(rt); /* waits for nothing */
   fake()->hangs = 0;
   while (fake()->waiting) /* left to the process, as is the context */
      usleep(1000);
   assert_int_equal(mock.alive, 0);
   fake()->contexts = 0;
}

static int copies;

static void
count_copies(const char *symbol)
{
   copies += strcmp(symbol, "cuMemcpyDtoDAsync_v2") == 0;
}

static void
a_candidate_may_hang(void **state)
{
   (void)state;
   for (int later = 0; later < 2; later++) {
      TilecTuneOptions o = {.struct_size = sizeof o};
      TilecTuneResult *r = NULL;
      alarm(60);
      timeout_ms = LIMIT_MS;
      start(TILEC_ON_CUDA, TILEC_TUNE_DEFAULT);
      timeout_ms = 0;
      ends_later = later;
      fake()->on_launch = hang_on_launch;
      fake()->on_call = end_in_time;
      assert_int_equal(tune(&o, &r), TILEC_TIMED_OUT);
      assert_says(rt, "the GPU has not finished within 1000 ms");
      assert_int_equal(tilec_runtime_loss(rt), later ? TILEC_NOT_LOST : TILEC_ABANDONED);
      tilec_tune_free(r);
      if (later) {
         assert_true(y_at(0) == 41); /* put back */
         stop();
      } else {
         close_given_up();
      }
      alarm(0);
   }
}

/* From the hang_after-th call of `hang_at` on the stream does not get on:
 * for a while, or (ends_later false) for good. */
static const char *hang_at;
static int hang_after;

static void
hang_on_call(const char *symbol)
{
   if (hang_at && strcmp(symbol, hang_at) == 0 && --hang_after == 0)
      fake()->hangs = fake()->late_copies = 1;
   else
      end_in_time(symbol);
}

static void
start_to_hang(const char *at, int after, bool later)
{
   timeout_ms = LIMIT_MS;
   start(TILEC_ON_CUDA, TILEC_TUNE_DEFAULT);
   timeout_ms = 0;
   hang_at = at;
   hang_after = after;
   ends_later = later;
   fake()->on_call = hang_on_call;
}

/* The memory is back, and nobody touches it any more, or the GPU was given up. */
static void
putting_back_may_take_long(void **state)
{
   (void)state;
   alarm(60);
   start_to_hang(NULL, 0, false);
   copies = 0;
   fake()->on_call = count_copies;
   assert_int_equal(tune(NULL, NULL), TILEC_OK);
   stop();
   int last = copies;
   for (int later = 0; later < 2; later++) {
      start_to_hang("cuMemcpyDtoDAsync_v2", last, later);
      TilecStatus status = tune(NULL, NULL);
      assert_int_equal(hang_after, 0);
      assert_int_equal(status, later ? TILEC_OK : TILEC_TIMED_OUT);
      assert_int_equal(tilec_runtime_loss(rt), later ? TILEC_NOT_LOST : TILEC_ABANDONED);
      if (later) {
         fake()->late_copies = 0;
         assert_true(y_at(0) == 41);
         stop();
         continue;
      }
      assert_says(rt, "the GPU has not finished within 1000 ms");
      close_given_up();
   }
   alarm(0);
}

/* Results that are compared may come when the call that asked for them has timed out. */
static void
results_may_come_late(void **state)
{
   (void)state;
   alarm(60);
   start_to_hang("cuMemcpyDtoHAsync_v2", 3, true); /* two arrays of the reference, a candidate's */
   TilecTuneOptions o = {.struct_size = sizeof o, .reference = 1};
   assert_int_equal(tune(&o, NULL), TILEC_TIMED_OUT);
   assert_int_equal(tilec_runtime_loss(rt), TILEC_NOT_LOST);
   fake()->late_copies = 0;
   stop();
   alarm(0);
}

static void
images_are_not_tuned(void **state)
{
   (void)state;
   static const TilecKernelInfo k = {KERNEL_DEFAULTS, .file = "k.tile", .line = 1};
   TilecImageInfo image = image_of(&k, 1);
   TilecKernel *ready;
   rt = open_fake();
   assert_int_equal(load_info(rt, &image, &module), TILEC_OK);
   assert_int_equal(tilec_module_kernel(module, NULL, &ready), TILEC_OK);
   TilecLaunch l = {.grid = {1, 1, 1}};
   assert_int_equal(tilec_kernel_tune(ready, &l, NULL, 0, NULL, NULL), TILEC_UNSUPPORTED);
   assert_says(rt, "only kernels opened from source are tuned");
   tilec_module_free(module);
   close_fake(rt);
}

/* What a launch takes where there are no maps is made for the winner alone, when it is wanted. */
static void
candidates_have_no_second_variant(void **state)
{
   static const TilecHiddenArg map = {.kind = TILEC_HIDDEN_TENSOR_MAP,
                                      .base = "y",
                                      .dtype = TILEC_FP32,
                                      .rank = 1,
                                      .dims = {"n"},
                                      .box = {64}};
   (void)state;
   start(TILEC_ON_CUDA, TILEC_TUNE_DEFAULT);
   mock.map = &map;
   assert_int_equal(launch(100), TILEC_OK);
   assert_int_equal(mock.compiles, NUM_CONFIGS);
   TilecArg args[] = {tilec_view(TILEC_FP16, x, 0), tilec_view(TILEC_FP32, y, 0),
                      tilec_int(TILEC_I32, 100), tilec_int(TILEC_I32, 3)};
   assert_int_equal(tilec_kernel_prepare(kernel, args, 4), TILEC_OK);
   assert_int_equal(mock.compiles, NUM_CONFIGS + 1);
   stop();
}

static void
nothing_is_measured_in_capture(void **state)
{
   (void)state;
   TilecTuneResult *r;
   start(TILEC_ON_CUDA, TILEC_TUNE_DEFAULT);
   TilecArg args[] = {tilec_view(TILEC_FP16, x, 0), tilec_view(TILEC_FP32, y, 0),
                      tilec_int(TILEC_I32, 100), tilec_int(TILEC_I32, 3)};
   assert_int_equal(tilec_kernel_prepare(kernel, args, 4), TILEC_OK);
   fake()->capturing = 1;
   assert_int_equal(launch(100), TILEC_OK);
   assert_int_equal(last_warps(), 1); /* the first configuration */
   assert_int_equal(fake()->num_launches, 1);
   assert_int_equal(tune(NULL, &r), TILEC_BAD_CONTEXT);
   fake()->capturing = 0;
   assert_int_equal(launch(100), TILEC_OK); /* now it can be measured */
   assert_int_equal(last_warps(), WARPS_WRONG);
   fake()->capturing = 1;
   assert_int_equal(launch(100), TILEC_OK);
   assert_int_equal(last_warps(), WARPS_WRONG);
   fake()->capturing = 0;
   stop();
   start(TILEC_ON_CUDA, TILEC_TUNE_STORED);
   assert_int_equal(launch(100), TILEC_OK);
   assert_int_equal(fake()->num_launches, 1);
   assert_int_equal(last_warps(), 1);
   stop();
   start(TILEC_ON_CUDA, TILEC_TUNE_OFF);
   assert_int_equal(launch(100), TILEC_OK);
   assert_int_equal(fake()->num_launches, 1);
   stop();
}

static void
arrays_are_reset_and_restored(void **state)
{
   (void)state;
   start(TILEC_ON_CUDA, TILEC_TUNE_DEFAULT);
   tuning.reset_to_zero = y_name;
   tuning.num_reset = 1;
   assert_int_equal(launch(100), TILEC_OK);
   for (unsigned i = 0; i + 1 < seen; i++)
      assert_true(seen_y[i] == 0);
   assert_true(seen_y[seen - 1] == 41 && y_at(0) == 42);
   stop();
   start(TILEC_ON_CUDA, TILEC_TUNE_DEFAULT);
   tuning.restore_value = y_name;
   tuning.num_restore = 1;
   assert_int_equal(launch(100), TILEC_OK);
   assert_true(seen > 30);
   for (unsigned i = 0; i < seen; i++)
      assert_true(seen_y[i] == 41);
   stop();
}

static void
failing_calls_end_in_errors(void **state)
{
   (void)state;
   start(TILEC_ON_CUDA, TILEC_TUNE_DEFAULT);
   fake_fail("cuLaunchKernel", 2, 1); /* one candidate cannot be launched */
   assert_int_equal(launch(100), TILEC_OK);
   assert_true(y_at(0) == 42);
   stop();
   start(TILEC_ON_CUDA, TILEC_TUNE_DEFAULT);
   fake_fail("cuMemAlloc_v2", 1, 2); /* no memory to save y: the first configuration, unmeasured */
   assert_int_equal(launch(100), TILEC_OK);
   assert_int_equal(last_warps(), 1);
   assert_non_null(strstr(notes, "no memory to save the arguments"));
   stop();
   start(TILEC_ON_CUDA, TILEC_TUNE_DEFAULT);
   fake_fail("cuEventRecord", 3, 719); /* a kernel faulted: the context is gone */
   assert_int_equal(launch(100), TILEC_DEVICE_LOST);
   tilec_buffer_free(x);
   tilec_buffer_free(y);
   tilec_module_free(module);
   tilec_runtime_close(rt);
   assert_int_equal(mock.alive, 0);
}

/* Whatever call fails: an answer, nothing leaked, and the next launch works. */
static void
each_call_may_fail(void **state)
{
   static const char *const symbols[] = {
      "cuMemAlloc_v2",       "cuMemcpyDtoDAsync_v2", "cuMemcpyDtoHAsync_v2", "cuMemsetD8Async",
      "cuModuleLoadDataEx",  "cuModuleGetFunction",  "cuFuncGetAttribute",   "cuLaunchKernel",
      "cuStreamSynchronize", "cuStreamIsCapturing",  "cuEventCreate",        "cuEventRecord",
      "cuEventElapsedTime",  "cuCtxPushCurrent_v2",
   };
   (void)state;
   for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++)
      for (int at = 1; at <= 40; at += at < 8 ? 1 : 8) {
         TilecTuneOptions o = {.struct_size = sizeof o, .reference = 1, .num_threads = 1};
         TilecTuneResult *r;
         start(TILEC_ON_CUDA, TILEC_TUNE_DEFAULT);
         fake_fail(symbols[i], at, 1);
         TilecStatus status = tune(&o, &r);
         assert_true((status == TILEC_OK) == (r != NULL));
         tilec_tune_free(r);
         fake()->fail_symbol = NULL;
         assert_int_equal(launch(100), TILEC_OK);
         stop();
      }
}

static TilecStatus
run_on_host(const TilecHostLaunch *l, TilecFault *fault)
{
   (void)fault;
   ((float *)l->args[1].as.ptr)[0] += 1;
   usleep(200);
   return TILEC_OK;
}

static void
host_executors_measure_when_asked(void **state)
{
   (void)state;
   TilecTuneResult *r;
   start(TILEC_ON_CPU, TILEC_TUNE_DEFAULT);
   mock.run = run_on_host;
   assert_int_equal(launch(100), TILEC_OK);
   assert_true(y_at(0) == 42); /* one launch, not tuned */
   assert_int_equal(tune(NULL, &r), TILEC_UNSUPPORTED);
   TilecTuneOptions o = {.struct_size = sizeof o, .on_host = true, .keep_all = true};
   assert_int_equal(tune(&o, &r), TILEC_OK);
   const TilecTuneCandidate *c = tilec_tune_info(r)->candidates;
   assert_true(c[0].median_ms >= 0.2 && c[0].low_ms <= c[0].median_ms &&
               c[0].median_ms <= c[0].high_ms);
   tilec_tune_free(r);
   assert_true(y_at(0) == 42);
   stop();
}

/* ---- heuristics ---- */
static const TilecKernelDecl *
describe(const TilecCompileOptions *o)
{
   static TilecKernelDecl d;
   static const TilecDefine even = {"EVEN", "True"}, odd = {"EVEN", "False"};
   d = decl;
   for (size_t i = 0; i < o->num_values; i++)
      if (strcmp(o->values[i].name, "m") == 0) {
         d.heuristics = strtol(o->values[i].value, NULL, 10) % 2 ? &odd : &even;
         d.num_heuristics = 1;
      }
   return &d;
}

static void
heuristics_see_values(void **state)
{
   (void)state;
   start(TILEC_ON_CUDA, TILEC_TUNE_DEFAULT);
   decl.tuning = NULL;
   own_params[3].value_matters = true;
   mock.describe = describe;
   tilec_module_free(module);
   TilecSource s = {.struct_size = sizeof s, .file = "x.tile", .kernel = "k", .num_warps = 2};
   assert_int_equal(tilec_module_from_source(rt, &s, &module), TILEC_OK);
   assert_int_equal(tilec_module_kernel(module, NULL, &kernel), TILEC_OK);
   TilecArg view = tilec_view(TILEC_FP16, x, 0);
   assert_int_equal(TILEC_LAUNCH(kernel, 0, 1, 1, 1, view, y, 100, 3), TILEC_OK);
   assert_int_equal(mock.compiles, 1);
   assert_string_equal(mock.defines, "EVEN=False;");
   assert_int_equal(TILEC_LAUNCH(kernel, 0, 1, 1, 1, view, y, 100, 4), TILEC_OK);
   assert_string_equal(mock.defines, "EVEN=True;");
   assert_int_equal(TILEC_LAUNCH(kernel, 0, 1, 1, 1, view, y, 100, 5), TILEC_OK);
   assert_int_equal(TILEC_LAUNCH(kernel, 0, 1, 1, 1, view, y, 100, 3), TILEC_OK);
   assert_int_equal(mock.compiles, 2); /* equal results are one specialisation */
   assert_int_equal(fake()->num_launches, 4);
   stop();
}

/* ---- the database ---- */
static void
new_database(void)
{
   const char *dir = getenv("TMPDIR");
   snprintf(database, sizeof database, "%s/tilec_tune_%d.db", dir ? dir : "/tmp", (int)getpid());
   unlink(database);
}

static void
end_database(void)
{
   char side[160];
   unlink(database);
   snprintf(side, sizeof side, "%s-wal", database);
   unlink(side);
   snprintf(side, sizeof side, "%s-shm", database);
   unlink(side);
   snprintf(side, sizeof side, "%s-turn", database);
   unlink(side);
   database[0] = 0;
}

static void
choices_are_stored(void **state)
{
   (void)state;
   new_database();
   start(TILEC_ON_CUDA, TILEC_TUNE_DEFAULT);
   mock.bad_define = NULL;
   warps_ms[8] = 4;
   assert_int_equal(launch(100), TILEC_OK);
   assert_string_equal(notes, "");
   stop();
   for (int policy = TILEC_TUNE_AUTO; policy <= TILEC_TUNE_STORED; policy++) {
      start(TILEC_ON_CUDA, (uint32_t)policy); /* another process, later */
      assert_int_equal(launch(100), TILEC_OK);
      assert_int_equal(fake()->num_launches, 1);
      assert_int_equal(last_warps(), WARPS_WRONG);
      TilecTuneResult *r;
      assert_int_equal(tune(NULL, &r), TILEC_OK);
      assert_true(tilec_tune_info(r)->from_store);
      assert_string_equal(tilec_tune_info(r)->candidates[0].config, configs[2].text);
      tilec_tune_free(r);
      assert_int_equal(fake()->num_launches, 1);
      stop();
   }
   start(TILEC_ON_CUDA, TILEC_TUNE_STORED); /* other source: nothing is known of it */
   tuning.source_hash = 6;
   assert_int_equal(launch(100), TILEC_OK);
   assert_int_equal(last_warps(), 1);
   stop();
   start(TILEC_ON_CUDA, TILEC_TUNE_STORED);
   tuning.num_configs = 2; /* what is stored is no configuration any more */
   assert_int_equal(launch(100), TILEC_OK);
   assert_int_equal(last_warps(), 1);
   assert_non_null(strstr(notes, "is not one of its own"));
   stop();
   end_database();
}

static int told;

/* The child's first launch: its measuring has begun. */
static float
slow_launch(const FakeLaunch *l)
{
   if (told >= 0) {
      (void)!write(told, "x", 1);
      told = -1;
      usleep(300000);
   }
   return on_launch(l);
}

static void
one_process_measures_and_others_wait(void **state)
{
   (void)state;
   int ends[2], status = 0;
   char byte = 0;
   new_database();
   assert_int_equal(pipe(ends), 0);
   pid_t child = fork();
   assert_true(child >= 0);
   if (child == 0) {
      told = ends[1];
      start(TILEC_ON_CUDA, TILEC_TUNE_DEFAULT);
      fake()->on_launch = slow_launch;
      _exit(launch(100) == TILEC_OK && fake()->num_launches > NUM_CONFIGS ? 0 : 1);
   }
   assert_int_equal(read(ends[0], &byte, 1), 1);
   start(TILEC_ON_CUDA, TILEC_TUNE_DEFAULT);
   assert_int_equal(launch(100), TILEC_OK);
   assert_int_equal(fake()->num_launches, 1); /* measured nothing */
   stop();
   assert_int_equal(waitpid(child, &status, 0), child);
   assert_int_equal(status, 0);
   close(ends[0]);
   close(ends[1]);
   end_database();
}

static void
damage_costs_nothing(void **state)
{
   (void)state;
   new_database();
   FILE *f = fopen(database, "wb");
   for (int i = 0; i < 5000; i++)
      fputc(i * 7, f);
   fclose(f);
   start(TILEC_ON_CUDA, TILEC_TUNE_DEFAULT);
   TilecTuneOptions o = {.struct_size = sizeof o, .reference = 2};
   TilecTuneResult *r;
   assert_int_equal(tune(&o, &r), TILEC_OK);
   assert_int_equal(tilec_tune_info(r)->winner, 1);
   assert_true(!tilec_tune_info(r)->is_stored);
   assert_non_null(strstr(tilec_tune_info(r)->note, "file is not a database"));
   tilec_tune_free(r);
   assert_int_equal(launch(100), TILEC_OK);
   assert_int_equal(last_warps(), 2);
   stop();
   snprintf(database, sizeof database, "/proc/no/such/folder/tune.db");
   start(TILEC_ON_CUDA, TILEC_TUNE_DEFAULT);
   assert_int_equal(launch(100), TILEC_OK);
   assert_non_null(strstr(notes, "unable to open"));
   stop();
   database[0] = 0;
}

static void
a_locked_database_is_waited_for(void **state)
{
   (void)state;
   char note[TL_TUNE_NOTE_BYTES], config[TL_TUNE_CONFIG_BYTES];
   TlTuneId id = {"gpu", "k", "1", "n=1"};
   new_database();
   assert_true(tl_tune_db_put(database, &id, "A=1", 1.5, 2, note));
   sqlite3 *db;
   assert_int_equal(sqlite3_open(database, &db), SQLITE_OK);
   assert_int_equal(sqlite3_exec(db, "BEGIN EXCLUSIVE", 0, 0, 0), SQLITE_OK);
   assert_true(!tl_tune_db_put(database, &id, "A=2", 1.5, 2, note));
   assert_non_null(strstr(note, "locked"));
   assert_true(tl_tune_db_get(database, &id, config, note)); /* readers are not kept out */
   assert_string_equal(config, "A=1");
   sqlite3_close(db);
   assert_true(tl_tune_db_put(database, &id, "A=2", 1.5, 2, note));
   end_database();
}

static void *
put_many(void *arg)
{
   char note[TL_TUNE_NOTE_BYTES], key[32];
   long bad = 0;
   for (int i = 0; i < 20; i++) {
      snprintf(key, sizeof key, "n=%d", i);
      TlTuneId id = {"gpu", "k", (const char *)arg, key};
      bad += !tl_tune_db_put(database, &id, "A=1", 1.5, 2, note);
   }
   return (void *)bad;
}

typedef struct Text {
   char bytes[65536];
   size_t len;
} Text;

static bool
put_text(void *user, const char *text, size_t len)
{
   Text *t = user;
   if (t->len + len >= sizeof t->bytes)
      return false;
   memcpy(t->bytes + t->len, text, len);
   t->bytes[t->len += len] = 0;
   return true;
}

static void
choices_travel_as_json(void **state)
{
   (void)state;
   static Text out, again;
   char error[256], note[TL_TUNE_NOTE_BYTES], config[TL_TUNE_CONFIG_BYTES];
   uint32_t count;
   new_database();
   assert_int_equal(tilec_tune_export(database, put_text, &out, error, sizeof error), TILEC_IO);
   assert_true(error[0] != 0);
   pthread_t threads[4];
   for (int i = 0; i < 4; i++)
      pthread_create(&threads[i], NULL, put_many, &"a\0b\0c\0d"[2 * i]);
   for (int i = 0; i < 4; i++) {
      void *bad;
      pthread_join(threads[i], &bad);
      assert_null(bad);
   }
   TlTuneId id = {"gpu \"1\"", "k", "1", "n=\n\\"};
   assert_true(tl_tune_db_put(database, &id, "ACT='a\\'b'", 0.25, 7, note));
   out.len = again.len = 0;
   assert_int_equal(tilec_tune_export(database, put_text, &out, error, sizeof error), TILEC_OK);
   end_database();
   new_database();
   assert_int_equal(tilec_tune_import(database, out.bytes, out.len, &count, error, sizeof error),
                    TILEC_OK);
   assert_int_equal(count, 81);
   assert_true(tl_tune_db_get(database, &id, config, note));
   assert_string_equal(config, "ACT='a\\'b'");
   assert_int_equal(tilec_tune_export(database, put_text, &again, error, sizeof error), TILEC_OK);
   assert_string_equal(out.bytes, again.bytes);
   static const char *const wrong[] = {"",
                                       "[",
                                       "{}",
                                       "[1]",
                                       "[{\"device\":1}]",
                                       "[{\"device\":\"a\",\"kernel\":\"b\",\"hash\":\"c\"}]"};
   for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
      assert_int_equal(
         tilec_tune_import(database, wrong[i], TILEC_STRLEN, &count, error, sizeof error),
         TILEC_BAD_IMAGE);
   static const char cut[] = "{\n \"choices\": [\n  {\"kernel\": \"]]}}\\\"\",\n\n";
   assert_int_equal(tilec_tune_import(database, cut, TILEC_STRLEN, &count, error, sizeof error),
                    TILEC_BAD_IMAGE);
   assert_non_null(strstr(error, "ends too early, in line 3"));
   assert_non_null(strstr(error, "--export="));
   assert_int_equal(tilec_tune_import(database, "[]", TILEC_STRLEN, &count, NULL, 0), TILEC_OK);
   assert_int_equal(tilec_tune_import(NULL, "[]", 2, NULL, NULL, 0), TILEC_BAD_ARGUMENT);
   end_database();
}

int test_tune(void);
int
test_tune(void)
{
   const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_known_best_is_picked),
      cmocka_unit_test(few_samples_have_a_range),
      cmocka_unit_test(noise_drops_no_winner),
      cmocka_unit_test(noise_is_a_tie),
      cmocka_unit_test(the_callers_check_decides),
      cmocka_unit_test(candidates_have_no_second_variant),
      cmocka_unit_test(a_candidate_may_hang),
      cmocka_unit_test(putting_back_may_take_long),
      cmocka_unit_test(results_may_come_late),
      cmocka_unit_test(images_are_not_tuned),
      cmocka_unit_test(first_launches_tune),
      cmocka_unit_test(nothing_is_measured_in_capture),
      cmocka_unit_test(arrays_are_reset_and_restored),
      cmocka_unit_test(failing_calls_end_in_errors),
      cmocka_unit_test(each_call_may_fail),
      cmocka_unit_test(host_executors_measure_when_asked),
      cmocka_unit_test(heuristics_see_values),
      cmocka_unit_test(choices_are_stored),
      cmocka_unit_test(one_process_measures_and_others_wait),
      cmocka_unit_test(damage_costs_nothing),
      cmocka_unit_test(a_locked_database_is_waited_for),
      cmocka_unit_test(choices_travel_as_json),
   };
   return cmocka_run_group_tests(tests, NULL, NULL);
}
