/* Kernels that do not end, devices that are lost, and what comes after. */
#include "fixture.h"

#include "core/clock.h"

#include <dirent.h>
#include <pthread.h>
#include <unistd.h>

enum { BYTES = 256, LIMIT_MS = 40 };

static TilecRuntime *rt;
static TilecModule *module;
static TilecKernel *kernel;
static TilecBuffer *buffer;
static TilecStream stream;
static TilecEvent *event;

static void
open_again(TilecRuntimeOptions o)
{
   static const TilecArgInfo n = {.name = "n", .type = "i32"};
   static const TilecKernelInfo k = {KERNEL_DEFAULTS, .file = "a/k.tile", .line = 12, .args = &n,
                                     .num_args = 1};
   TilecImageInfo image = image_of(&k, 1);
   o.struct_size = sizeof o;
   o.driver_path = FAKE_DRIVER;
   assert_int_equal(tilec_runtime_open(&o, &rt), TILEC_OK);
   assert_int_equal(tilec_buffer_new(rt, BYTES, &buffer), TILEC_OK);
   assert_int_equal(tilec_stream_new(rt, &stream), TILEC_OK);
   assert_int_equal(tilec_event_new(rt, &event), TILEC_OK);
   assert_int_equal(load_info(rt, &image, &module), TILEC_OK);
   assert_int_equal(tilec_module_kernel(module, NULL, &kernel), TILEC_OK);
}

static void
start(TilecRuntimeOptions o)
{
   fake_clear();
   open_again(o);
}

static void
free_all(void)
{
   tilec_module_free(module);
   tilec_event_free(event);
   tilec_stream_free(rt, stream);
   tilec_buffer_free(buffer);
}

static void
stop(void)
{
   free_all();
   close_fake(rt);
}

static void
end_the_kernel(void)
{
   fake()->hangs = 0;
}

/* ---- Kernels that do not end ----------------------------------------------------------------- */

static TilecStatus
launch(void)
{
   return TILEC_LAUNCH(kernel, stream, 3, 1, 1, 0x51);
}

static TilecStatus
sync_all(void)
{
   return tilec_runtime_sync(rt);
}

static TilecStatus
sync_stream(void)
{
   return tilec_stream_sync(rt, stream);
}

static TilecStatus
sync_event(void)
{
   return tilec_event_sync(event);
}

static TilecStatus
upload(void)
{
   return tilec_buffer_upload(buffer, 0, "abcd", 4, stream);
}

static TilecStatus
download(void)
{
   char target[4];
   return tilec_buffer_download(buffer, 0, target, 4, stream);
}

static const struct {
   TilecStatus (*call)(void);
   const char *says;
} waits[] = {{sync_all, "synchronising: the GPU has not finished within 40 ms"},
             {sync_stream, "synchronising a stream: the GPU has not finished within 40 ms"},
             {sync_event, "waiting for an event: the GPU has not finished within 40 ms"},
             {upload, "uploading: the GPU has not finished within 40 ms"},
             {download, "downloading: the GPU has not finished within 40 ms"}};
enum { WAITS = sizeof waits / sizeof waits[0] };

/* On a busy machine more than once. */
static void
wait_in_the_end(TilecStatus (*call)(void))
{
   TilecStatus status;
   while ((status = call()) == TILEC_TIMED_OUT)
      ;
   assert_int_equal(status, TILEC_OK);
}

static void
waits_end_in_time(void **state)
{
   (void)state;
   alarm(60);
   start((TilecRuntimeOptions){.timeout_ms = LIMIT_MS});
   assert_int_equal(tilec_event_record(event, stream), TILEC_OK);
   for (int i = 0; i < WAITS; i++) {
      assert_int_equal(waits[i].call(), TILEC_OK);
      assert_int_equal(launch(), TILEC_OK);
      fake()->hangs = 1;
      double begin = tl_rt_now_ms();
      for (int twice = 0; twice < 2; twice++) {
         assert_int_equal(waits[i].call(), TILEC_TIMED_OUT);
         assert_says(rt, waits[i].says);
         assert_says(rt, ": k (k.tile:12), grid (3, 1, 1), args (0x51)");
      }
      assert_true(tl_rt_now_ms() - begin >= 2 * LIMIT_MS); /* and less than alarm() allows */
      assert_int_equal(tilec_runtime_loss(rt), TILEC_NOT_LOST);
      assert_int_equal(launch(), TILEC_OK); /* it was only slow, or is given time */
      end_the_kernel();
      wait_in_the_end(waits[i].call);
   }
   stop();
   alarm(0);
}

static void
synchronous_launches_end_in_time(void **state)
{
   (void)state;
   alarm(60);
   start((TilecRuntimeOptions){.timeout_ms = LIMIT_MS, .synchronous = true});
   assert_int_equal(launch(), TILEC_OK);
   fake()->hangs = 1;
   assert_int_equal(launch(), TILEC_TIMED_OUT);
   assert_says(rt, "running 'k': the GPU has not finished within 40 ms; not known to have ended "
                   "are, newest first:\n   launch 2: k (k.tile:12)");
   assert_null(strstr(detail(rt), "launch 1"));
   end_the_kernel();
   stop();
   alarm(0);
}

static long
threads(void)
{
   long count = 0;
   DIR *dir = opendir("/proc/self/task");
   assert_non_null(dir);
   for (struct dirent *d; (d = readdir(dir));)
      count += d->d_name[0] != '.';
   closedir(dir);
   return count;
}

/* What is waited for may be freed, and the runtime closed, when nobody waits for the call. */
static void
late_waits_use_nothing_that_is_freed(void **state)
{
   (void)state;
   alarm(60);
   for (int i = 0; i < WAITS; i++) {
      start((TilecRuntimeOptions){.timeout_ms = LIMIT_MS});
      assert_int_equal(tilec_event_record(event, stream), TILEC_OK);
      fake()->hangs = 1;
      assert_int_equal(waits[i].call(), TILEC_TIMED_OUT);
      tilec_event_free(event);
      event = NULL;
      end_the_kernel();
      tilec_stream_free(rt, stream);
      stream = NULL;
      stop();
   }
   alarm(0);
}

/* Threads would be a program's end that asks every 5 ms whether a long kernel is done. */
static void
asking_again_takes_no_more_threads(void **state)
{
   (void)state;
   alarm(60);
   start((TilecRuntimeOptions){.timeout_ms = 5});
   assert_int_equal(tilec_event_record(event, stream), TILEC_OK);
   fake()->hangs = 1;
   for (int times = 0; times < 10; times++)
      for (int i = 0; i < WAITS; i++)
         assert_int_equal(waits[i].call(), TILEC_TIMED_OUT);
   assert_in_range(threads(), 2, 3); /* one waits for the context, one for an event */
   end_the_kernel();
   for (int i = 0; i < WAITS; i++)
      wait_in_the_end(waits[i].call);
   stop();
   alarm(0);
}

static void *
wait_often(void *user)
{
   (void)user;
   for (int times = 0; times < 10; times++)
      for (int i = 0; i < WAITS; i++)
         if (waits[i].call() != TILEC_TIMED_OUT)
            return "a wait ended";
   return NULL;
}

static void
many_threads_wait_at_once(void **state)
{
   enum { THREADS = 4 };
   pthread_t thread[THREADS];
   void *says;
   (void)state;
   alarm(60);
   start((TilecRuntimeOptions){.timeout_ms = 2});
   assert_int_equal(tilec_event_record(event, stream), TILEC_OK);
   fake()->hangs = 1;
   for (int i = 0; i < THREADS; i++)
      assert_int_equal(pthread_create(&thread[i], NULL, wait_often, NULL), 0);
   for (int i = 0; i < THREADS; i++) {
      pthread_join(thread[i], &says);
      assert_null(says);
   }
   end_the_kernel();
   stop(); /* with the late waits of all of them */
   alarm(0);
}

/* The handle 0x2 is the stream of whoever uses it. */
static void
per_thread_streams_are_the_callers(void **state)
{
   (void)state;
   alarm(60);
   for (int mine = 0; mine < 2; mine++) {
      start((TilecRuntimeOptions){.timeout_ms = LIMIT_MS});
      fake()->hangs_thread = pthread_self() + !mine; /* of another thread: the handle is odd */
      fake()->hangs = 1;
      TilecStatus status = tilec_stream_sync(rt, (TilecStream)2);
      assert_int_equal(status, mine ? TILEC_TIMED_OUT : TILEC_OK);
      end_the_kernel();
      stop();
   }
   alarm(0);
}

/* A stream that records a graph refuses to be waited for, and its graph gets no event of ours. */
static void
captured_streams_are_not_waited_for(void **state)
{
   (void)state;
   for (uint32_t timeout = 0; timeout < 20000; timeout += 10000) {
      start((TilecRuntimeOptions){.timeout_ms = timeout});
      fake()->capturing = 1;
      assert_int_equal(tilec_stream_sync(rt, stream), TILEC_UNSUPPORTED);
      assert_says(rt, "synchronising a stream: CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED (900)");
      fake()->capturing = 0;
      stop();
   }
}

/* The wait before a copy ends when half of the limit is left, the one behind it when more than half
 * is over. */
enum { COPY_LIMIT_MS = 400 };
static int records;

static void *
end_twice(void *user)
{
   (void)user;
   usleep(COPY_LIMIT_MS * 500);
   fake()->hangs = 0;
   usleep(COPY_LIMIT_MS * 900);
   fake()->hangs = 0;
   return NULL;
}

static void
hang_behind_the_copy(const char *symbol)
{
   if (strcmp(symbol, "cuEventRecord") == 0 && ++records == 2)
      fake()->hangs = 1;
}

static void
a_copy_has_one_limit(void **state)
{
   (void)state;
   alarm(60);
   for (int i = 0; i < 2; i++) {
      pthread_t thread;
      start((TilecRuntimeOptions){.timeout_ms = COPY_LIMIT_MS});
      records = 0;
      fake()->on_call = hang_behind_the_copy;
      fake()->hangs = 1;
      assert_int_equal(pthread_create(&thread, NULL, end_twice, NULL), 0);
      assert_int_equal(i ? upload() : download(), TILEC_TIMED_OUT);
      pthread_join(thread, NULL);
      stop();
   }
   alarm(0);
}

/* An error that a wait reports is that error, with a limit as without. */
static void
waits_report_faults(void **state)
{
   (void)state;
   static const char *const symbols[3][3] = {
      /* without a limit; with one; the same for what has not ended */
      {"cuCtxSynchronize", "cuCtxSynchronize", "cuCtxSynchronize"},
      {"cuStreamSynchronize", "cuEventQuery", "cuEventSynchronize"},
      {"cuEventSynchronize", "cuEventQuery", "cuEventSynchronize"},
   };
   for (int way = 0; way < 3; way++)
      for (int i = 0; i < 3; i++) {
         start((TilecRuntimeOptions){.timeout_ms = way ? 10000 : 0});
         assert_int_equal(tilec_event_record(event, stream), TILEC_OK);
         fake()->hangs = way == 2;
         fake_fail(symbols[i][way], 1, 716);
         assert_int_equal(waits[i].call(), TILEC_DEVICE_LOST);
         assert_says(rt, "CUDA_ERROR_MISALIGNED_ADDRESS");
         fake()->hangs = 0;
         free_all();
         tilec_runtime_close(rt);
      }
}

static void
an_abandoned_runtime_waits_for_nothing(void **state)
{
   (void)state;
   alarm(60);
   TilecBuffer *other;
   start((TilecRuntimeOptions){.timeout_ms = LIMIT_MS});
   assert_int_equal(tilec_event_record(event, stream), TILEC_OK);
   assert_int_equal(launch(), TILEC_OK);
   fake()->hangs = 1;
   assert_int_equal(tilec_runtime_sync(rt), TILEC_TIMED_OUT);
   assert_int_equal(tilec_runtime_abandon(rt), TILEC_OK);
   assert_int_equal(tilec_runtime_abandon(rt), TILEC_OK);
   assert_int_equal(tilec_runtime_loss(rt), TILEC_ABANDONED);
   for (int i = 0; i < WAITS; i++)
      assert_int_equal(waits[i].call(), TILEC_DEVICE_LOST);
   assert_int_equal(launch(), TILEC_DEVICE_LOST);
   assert_int_equal(tilec_buffer_new(rt, 16, &other), TILEC_DEVICE_LOST);
   assert_says(rt, "given up by tilec_runtime_abandon; the GPU cannot be used by this process any "
                   "more.  An earlier launch is to blame:\n   launch 1: k (k.tile:12)");
   int calls = fake()->total_calls;
   assert_int_equal(tilec_buffer_upload(buffer, BYTES, "", 1, stream), TILEC_BAD_ARGUMENT);
   free_all();
   assert_says(rt,
               "tilec_buffer_upload: bytes 256 + 1"); /* what cannot be given back is no failure */
   tilec_runtime_close(rt);
   assert_int_equal(fake()->total_calls, calls); /* which would have waited */
   end_the_kernel();
   while (fake()->waiting) /* left to the process, as is the context */
      usleep(1000);
   fake()->contexts = 0;
   fake_clear();
   alarm(0);
}

static void
only_what_runs_is_abandoned(void **state)
{
   (void)state;
   TilecRuntimeOptions o = {.struct_size = sizeof o, .executor = TILEC_ON_CPU};
   assert_int_equal(tilec_runtime_open(&o, &rt), TILEC_OK);
   assert_int_equal(tilec_runtime_abandon(rt), TILEC_UNSUPPORTED);
   assert_int_equal(tilec_runtime_loss(rt), TILEC_NOT_LOST);
   tilec_runtime_close(rt);
   assert_int_equal(tilec_runtime_abandon(NULL), TILEC_BAD_ARGUMENT);
   assert_int_equal(tilec_runtime_loss(NULL), TILEC_NOT_LOST);
   start((TilecRuntimeOptions){0});
   fake_fail("cuCtxSynchronize", 1, 700);
   assert_int_equal(tilec_runtime_sync(rt), TILEC_DEVICE_LOST);
   assert_int_equal(tilec_runtime_abandon(rt), TILEC_OK);
   assert_int_equal(tilec_runtime_loss(rt), TILEC_LOST_TO_KERNEL); /* the first cause stays */
   free_all();
   tilec_runtime_close(rt);
   assert_int_equal(fake()->contexts, 0);
}

/* ---- Lost devices ---------------------------------------------------------------------------- */

static void
losses_are_told_apart(void **state)
{
   static const struct {
      int code;
      TilecLoss loss;
      const char *says;
      bool blames;
   } cases[] = {
      {700, TILEC_LOST_TO_KERNEL, "CUDA_ERROR_ILLEGAL_ADDRESS (700)", true},
      {719, TILEC_LOST_TO_KERNEL, "CUDA_ERROR_LAUNCH_FAILED (719)", true},
      {721, TILEC_LOST_TO_KERNEL, "CUDA_ERROR_TENSOR_MEMORY_LEAK (721)", true},
      {214, TILEC_LOST_TO_HARDWARE, "no launch did: the system's log has an Xid", false},
      {220, TILEC_LOST_TO_HARDWARE, "CUDA_ERROR_NVLINK_UNCORRECTABLE (220)", false},
      {226, TILEC_LOST_TO_HARDWARE, "CUDA_ERROR_CONTAINED (226)", false},
      {911, TILEC_LOST_TO_HARDWARE, "CUDA_ERROR_EXTERNAL_DEVICE (911)", false},
      {702, TILEC_LOST_TO_WATCHDOG, "A GPU with a display ends kernels that take too long", true},
      {810, TILEC_LOST_TO_MPS, "The MPS server ended this process's use of it", false},
      {999, TILEC_LOST_TO_UNKNOWN, "The driver does not say why", true},
   };
   (void)state;
   for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
      start((TilecRuntimeOptions){0});
      assert_int_equal(launch(), TILEC_OK);
      fake_fail("cuCtxSynchronize", 1, cases[i].code);
      assert_int_equal(tilec_runtime_sync(rt), TILEC_DEVICE_LOST);
      assert_int_equal(tilec_runtime_loss(rt), cases[i].loss);
      assert_says(rt, cases[i].says);
      assert_int_equal(strstr(detail(rt), "to blame:\n   launch 1: k") != NULL, cases[i].blames);
      free_all();
      tilec_runtime_close(rt);
   }
}

/* What the driver says when no GPU can be had just now is no lost one. */
static void
a_busy_mps_server_is_no_device(void **state)
{
   static const int codes[] = {46, 802, 805, 807, 808, 809};
   (void)state;
   for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
      TilecRuntimeOptions o = {.struct_size = sizeof o, .driver_path = FAKE_DRIVER};
      fake_clear();
      fake_fail("cuDevicePrimaryCtxRetain", 1, codes[i]);
      assert_int_equal(tilec_runtime_open(&o, &rt), TILEC_NO_DEVICE);
   }
}

static void
share_and_lose(int code)
{
   fake_clear();
   fake()->shared = 1;
   open_again((TilecRuntimeOptions){0});
   if (code) {
      fake_fail("cuCtxSynchronize", 1, code);
      assert_int_equal(tilec_runtime_sync(rt), TILEC_DEVICE_LOST);
   } else {
      assert_int_equal(tilec_runtime_abandon(rt), TILEC_OK);
      assert_int_equal(tilec_runtime_sync(rt), TILEC_DEVICE_LOST);
   }
}

/* Another process is suspected of a fault, and not of what this one gave up. */
static void
suspects_without_a_launch(void **state)
{
   (void)state;
   share_and_lose(700);
   assert_says(rt,
               "No launch of this runtime is under way; one of another process may be to blame: "
               "the GPU is shared by MPS");
   free_all();
   tilec_runtime_close(rt);
   share_and_lose(0);
   assert_says(rt, "No launch of this runtime is under way");
   assert_null(strstr(detail(rt), "MPS"));
   free_all();
   tilec_runtime_close(rt);
   fake()->contexts = 0; /* left to the process */
   fake_clear();
}

/* Under MPS a fault of any process ends all of them. */
static void
a_shared_gpu_has_more_suspects(void **state)
{
   (void)state;
   for (int shared = 0; shared < 2; shared++) {
      fake_clear();
      fake()->shared = shared;
      open_again((TilecRuntimeOptions){0});
      assert_int_equal(launch(), TILEC_OK);
      fake_fail("cuCtxSynchronize", 1, 700);
      assert_int_equal(tilec_runtime_sync(rt), TILEC_DEVICE_LOST);
      assert_says(rt, "launch 1: k (k.tile:12)");
      assert_int_equal(
         strstr(detail(rt), "or one of another process: the GPU is shared by MPS") != NULL, shared);
      free_all();
      tilec_runtime_close(rt);
   }
}

/* Where the driver makes a new context the process goes on; elsewhere opening says why not. */
static void
a_lost_device_is_opened_again(void **state)
{
   (void)state;
   for (int recovers = 0; recovers < 2; recovers++) {
      char why[512] = "";
      TilecRuntimeOptions o = {.struct_size = sizeof o,
                               .driver_path = FAKE_DRIVER,
                               .error = why,
                               .error_bytes = sizeof why};
      start((TilecRuntimeOptions){0});
      fake()->recovers = recovers;
      assert_int_equal(launch(), TILEC_OK);
      fake_fail("cuCtxSynchronize", 1, 700);
      assert_int_equal(tilec_runtime_sync(rt), TILEC_DEVICE_LOST);
      free_all();
      tilec_runtime_close(rt);
      if (recovers) {
         open_again((TilecRuntimeOptions){0});
         assert_int_equal(launch(), TILEC_OK);
         assert_int_equal(tilec_runtime_sync(rt), TILEC_OK);
         free_all();
         tilec_runtime_close(rt);
      } else {
         assert_int_equal(tilec_runtime_open(&o, &rt), TILEC_DEVICE_LOST);
         assert_non_null(strstr(why, "CUDA_ERROR_ILLEGAL_ADDRESS (700)"));
         assert_non_null(strstr(why, "cannot be used by this process any more"));
      }
      assert_int_equal(fake()->contexts, 0);
   }
   fake_clear();
}

int test_lost(void);
int
test_lost(void)
{
   const struct CMUnitTest tests[] = {
      cmocka_unit_test(waits_end_in_time),
      cmocka_unit_test(synchronous_launches_end_in_time),
      cmocka_unit_test(late_waits_use_nothing_that_is_freed),
      cmocka_unit_test(asking_again_takes_no_more_threads),
      cmocka_unit_test(many_threads_wait_at_once),
      cmocka_unit_test(per_thread_streams_are_the_callers),
      cmocka_unit_test(captured_streams_are_not_waited_for),
      cmocka_unit_test(a_copy_has_one_limit),
      cmocka_unit_test(waits_report_faults),
      cmocka_unit_test(an_abandoned_runtime_waits_for_nothing),
      cmocka_unit_test(only_what_runs_is_abandoned),
      cmocka_unit_test(losses_are_told_apart),
      cmocka_unit_test(a_busy_mps_server_is_no_device),
      cmocka_unit_test(a_shared_gpu_has_more_suspects),
      cmocka_unit_test(suspects_without_a_launch),
      cmocka_unit_test(a_lost_device_is_opened_again),
   };
   return cmocka_run_group_tests(tests, NULL, NULL);
}
