/* One process that compiles and launches for long: its resident memory stays flat, and it has no
 * more files, threads and handles of the driver than it began with.
 *
 *    soak [COMPILES [LAUNCHES]]     (default 1000 100000), on CPU executor and stand-in driver each
 *
 * Every compile is a module of its own, opened, launched and freed; one in ten has an error in its
 * source.  With each go streams, events, copies, fills, waits with a limit and a compilation by a
 * worker.  On the way the runtime is closed and opened again, on the stand-in driver with a kernel
 * that hangs until the wait is given up, and with a device that is lost.  The memory at the end may
 * be 1 % above what it was after a quarter of the work. */
#include "tilec/runtime.h"

#include "fakecuda.h"

#include <dirent.h>
#include <dlfcn.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Milliseconds: of waits that end, on a busy machine, too; of those that are given up. */
enum { N = 64, REOPEN = 64, LONG_MS = 60000, SHORT_MS = 20 };

static const char good[] =
   "@kernel\n"
   "def axpy(x, y, a, n, ADD: constexpr = 0, BLOCK: constexpr = 64):\n"
   "    i = program_id(0) * BLOCK + arange(0, BLOCK)\n"
   "    m = i < n\n"
   "    store(y + i, load(x + i, m, other=0.0) * a + load(y + i, m, other=0.0) + ADD, m)\n";
static const char bad[] = "@kernel\ndef axpy(x, y, a, n):\n    store(x, nowhere)\n";

static TilecRuntime *rt;
static TilecBuffer *x, *y;
static FakeState *fake;
static long hangs, losses;

static void
must(TilecStatus status, const char *what)
{
   char text[2048] = "";
   if (status == TILEC_OK)
      return;
   tilec_runtime_error(rt, text, sizeof text);
   fprintf(stderr, "%s: %s: %s\n", what, tilec_status_name(status), text);
   exit(1);
}

static void
open_runtime(TilecExecutor on)
{
   TilecRuntimeOptions o = {.struct_size = sizeof o,
                            .executor = on,
                            .driver_path = FAKE_DRIVER,
                            .num_threads = 1,
                            .timeout_ms = LONG_MS};
   must(tilec_runtime_open(&o, &rt), "open");
   must(tilec_jit_attach(rt, NULL), "attach");
   must(tilec_buffer_new(rt, N * 4, &x), "buffer");
   must(tilec_buffer_new(rt, N * 4, &y), "buffer");
   must(tilec_buffer_fill(x, 0, 0, N * 4, NULL), "fill");
   must(tilec_buffer_fill(y, 0, 0, N * 4, NULL), "fill");
}

static void
close_runtime(void)
{
   tilec_buffer_free(x);
   tilec_buffer_free(y);
   tilec_runtime_close(rt);
}

static TilecModule *
open_module(const char *text, long add, TilecKernel **kernel)
{
   char define[32];
   const char *const defines[] = {define};
   TilecModule *m;
   snprintf(define, sizeof define, "ADD=%ld", add);
   TilecSource s = {.struct_size = sizeof s,
                    .file = "axpy.tile",
                    .source = text,
                    .source_bytes = TILEC_STRLEN,
                    .defines = defines,
                    .num_defines = text == good};
   must(tilec_module_from_source(rt, &s, &m), "module");
   must(tilec_module_kernel(m, NULL, kernel), "kernel");
   return m;
}

static TilecStatus
launch(TilecKernel *k, uint32_t grid, int n)
{
   return TILEC_LAUNCH(k, NULL, grid, 1, 1, tilec_view(TILEC_FP32, x, 0),
                       tilec_view(TILEC_FP32, y, 0), 2.0f, n);
}

static void
expect(TilecStatus got, TilecStatus want, const char *what)
{
   if (got == want)
      return;
   must(got, what);
   fprintf(stderr, "%s: %s, not %s\n", what, tilec_status_name(got), tilec_status_name(want));
   exit(1);
}

/* All that is not a launch: each thing is made, used and freed. */
static void
use_the_rest(TilecKernel *k)
{
   static float host[N];
   TilecStream stream;
   TilecEvent *begin, *end;
   TilecPending *pending;
   double ms;
   TilecArg args[] = {tilec_view(TILEC_FP32, x, 0), tilec_view(TILEC_FP32, y, 0), TILEC_ARG(2.0f),
                      TILEC_ARG(N)}; /* N is divisible by 16: another variant */
   must(tilec_kernel_prepare_async(k, args, 4, &pending), "prepare");
   must(tilec_stream_new(rt, &stream), "stream");
   must(tilec_event_new(rt, &begin), "event");
   must(tilec_event_new(rt, &end), "event");
   must(tilec_event_record(begin, stream), "record");
   must(tilec_buffer_upload(x, 0, host, sizeof host, stream), "upload");
   must(tilec_buffer_fill(y, 0, 0, sizeof host, stream), "fill");
   must(tilec_buffer_copy(y, 0, x, 0, sizeof host, stream), "copy");
   must(tilec_event_record(end, stream), "record");
   must(tilec_stream_wait(NULL, end), "a stream's wait");
   must(tilec_event_sync(end), "wait");
   must(tilec_event_elapsed(begin, end, &ms), "elapsed");
   must(tilec_buffer_download(y, 0, host, sizeof host, stream), "download");
   must(tilec_pending_wait(pending), "prepared");
   must(tilec_launch(k, &(TilecLaunch){.stream = stream, .grid = {1, 1, 1}}, args, 4), "launch");
   must(tilec_stream_sync(rt, stream), "wait");
   tilec_pending_free(pending);
   tilec_event_free(begin);
   tilec_event_free(end);
   tilec_stream_free(rt, stream);
}

/* A wait that ends without its kernel; then the kernel ends, and all is well. */
static void
hang(void)
{
   TilecRuntime *other;
   TilecStatus status;
   TilecRuntimeOptions o = {
      .struct_size = sizeof o, .driver_path = FAKE_DRIVER, .timeout_ms = SHORT_MS};
   must(tilec_runtime_open(&o, &other), "a second runtime");
   fake->hangs = 1;
   expect(tilec_runtime_sync(other), TILEC_TIMED_OUT, "a kernel that hangs");
   fake->hangs = 0;
   while ((status = tilec_runtime_sync(other)) == TILEC_TIMED_OUT)
      ; /* a busy machine */
   must(status, "a kernel that was slow");
   tilec_runtime_close(other);
   hangs++;
}

static void
lose_device(void)
{
   fake->recovers = 1;
   fake->fail_code = 700;
   fake->fail_at = 1;
   fake->fail_symbol = "cuCtxSynchronize";
   expect(tilec_runtime_sync(rt), TILEC_DEVICE_LOST, "a fault");
   losses++;
}

static void
work(TilecExecutor on, long compiles, long launches)
{
   TilecKernel *k;
   for (long c = 0; c < compiles; c++) {
      bool is_bad = c % 10 == 9;
      TilecModule *m = open_module(is_bad ? bad : good, c % 100, &k);
      TilecStatus status = launch(k, 1, 37);
      if (is_bad ? status != TILEC_BAD_SOURCE : status != TILEC_OK)
         must(status ? status : TILEC_INTERNAL, "launch of a new kernel");
      for (long l = 0; !is_bad && l < launches / compiles; l++) {
         must(launch(k, 1, l % 2 ? 37 : 39), "launch");
         if (l % 64 == 0 && launch(k, 2, 1 << 30) == TILEC_OK && on == TILEC_ON_CPU)
            must(TILEC_INTERNAL, "a launch out of bounds succeeded");
      }
      if (!is_bad)
         use_the_rest(k);
      if (on == TILEC_ON_CUDA && c % REOPEN == REOPEN / 2)
         hang();
      if (on == TILEC_ON_CUDA && c % (2 * REOPEN) == REOPEN - 1)
         lose_device();
      tilec_module_free(m);
      if (c % REOPEN == REOPEN - 1) {
         close_runtime();
         open_runtime(on);
      }
   }
}

static long
resident_kib(void)
{
   long pages = 0, ignored;
   malloc_trim(0);
   FILE *f = fopen("/proc/self/statm", "r");
   if (!f || fscanf(f, "%ld %ld", &ignored, &pages) != 2)
      exit(1);
   fclose(f);
   return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static long
entries(const char *folder)
{
   long count = 0;
   DIR *dir = opendir(folder);
   if (!dir)
      exit(1);
   for (struct dirent *d; (d = readdir(dir));)
      count += d->d_name[0] != '.';
   closedir(dir);
   return count;
}

/* What a process runs out of. */
typedef struct Held {
   long files, threads, handles;
} Held;

/* Threads that are done take a moment to be gone. */
static Held
held(long threads)
{
   for (int i = 0; i < 1000 && entries("/proc/self/task") > threads; i++)
      usleep(1000);
   return (Held){entries("/proc/self/fd"), entries("/proc/self/task"),
                 fake->contexts + fake->modules + fake->buffers + fake->streams + fake->events};
}

static bool
soak(TilecExecutor on, const char *name, long compiles, long launches)
{
   hangs = losses = 0;
   open_runtime(on);
   work(on, compiles / 4 + 1, launches / 4);
   close_runtime();
   Held first = held(1);
   open_runtime(on);
   long before = resident_kib();
   work(on, compiles, launches);
   long after = resident_kib();
   close_runtime();
   Held last = held(first.threads);
   bool ok = after * 100 <= before * 101 && last.files == first.files &&
             last.threads == first.threads && last.handles == 0;
   printf("%s %s: %ld compiles, %ld launches, %ld hangs, %ld devices lost: %ld KiB, then %ld KiB "
          "(%+.2f %%); %ld files, then %ld; %ld threads, then %ld; %ld handles left\n",
          ok ? "ok    " : "FAILED", name, compiles, launches, hangs, losses, before, after,
          100.0 * (double)(after - before) / (double)before, first.files, last.files, first.threads,
          last.threads, last.handles);
   return ok;
}

int
main(int argc, char **argv)
{
   long compiles = argc > 1 ? strtol(argv[1], NULL, 10) : 1000;
   long launches = argc > 2 ? strtol(argv[2], NULL, 10) : 100000;
   void *driver = dlopen(FAKE_DRIVER, RTLD_NOW | RTLD_LOCAL);
   FakeStateFn *state = NULL;
   if (compiles < 1 || !driver)
      return 2;
   *(void **)(void *)&state = dlsym(driver, "fake_state");
   fake = state();
   bool cpu = soak(TILEC_ON_CPU, "CPU executor", compiles, launches);
   return soak(TILEC_ON_CUDA, "stand-in driver", compiles, launches) && cpu ? 0 : 1;
}
