/* One process that compiles and launches for long: its resident memory stays flat.
 *
 *    soak [COMPILES [LAUNCHES]]     (default 1000 100000), on CPU executor and stand-in driver each
 *
 * Every compile is a module of its own, opened, launched and freed; one in ten has an error in its
 * source; the runtime is closed and opened again on the way.  The memory at the end may be 1 %
 * above what it was after a quarter of the work. */
#include "tilec/runtime.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N = 64, REOPEN = 64 };

static const char good[] =
   "@kernel\n"
   "def axpy(x, y, a, n, ADD: constexpr = 0, BLOCK: constexpr = 64):\n"
   "    i = program_id(0) * BLOCK + arange(0, BLOCK)\n"
   "    m = i < n\n"
   "    store(y + i, load(x + i, m, other=0.0) * a + load(y + i, m, other=0.0) + ADD, m)\n";
static const char bad[] = "@kernel\ndef axpy(x, y, a, n):\n    store(x, nowhere)\n";

static TilecRuntime *rt;
static TilecBuffer *x, *y;

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
   TilecRuntimeOptions o = {
      .struct_size = sizeof o, .executor = on, .driver_path = FAKE_DRIVER, .num_threads = 1};
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

static bool
soak(TilecExecutor on, const char *name, long compiles, long launches)
{
   open_runtime(on);
   work(on, compiles / 4 + 1, launches / 4);
   long before = resident_kib();
   work(on, compiles, launches);
   long after = resident_kib();
   close_runtime();
   bool ok = after * 100 <= before * 101;
   printf("%s %s: %ld compiles, %ld launches: %ld KiB, then %ld KiB (%+.2f %%)\n",
          ok ? "ok    " : "FAILED", name, compiles, launches, before, after,
          100.0 * (double)(after - before) / (double)before);
   return ok;
}

int
main(int argc, char **argv)
{
   long compiles = argc > 1 ? strtol(argv[1], NULL, 10) : 1000;
   long launches = argc > 2 ? strtol(argv[2], NULL, 10) : 100000;
   if (compiles < 1)
      return 2;
   bool cpu = soak(TILEC_ON_CPU, "CPU executor", compiles, launches);
   return soak(TILEC_ON_CUDA, "stand-in driver", compiles, launches) && cpu ? 0 : 1;
}
