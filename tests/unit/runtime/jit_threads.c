/* 16 threads compile and launch on the CPU executor through one runtime, and others compile ahead;
 * every result is checked.  Made for a build with the thread sanitizer, where any report fails it.
 *
 *    jit_threads [COMPILES_PER_THREAD]     (default 200)
 *
 * Four threads share a module and so meet at its misses; the rest have modules of their own. */
#include "tilec/runtime.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 16, SHARED = 4, N = 64 };

static const char source[] =
   "@kernel\n"
   "def axpy(x, y, a, n, ADD: constexpr = 0, BLOCK: constexpr = 64):\n"
   "    i = program_id(0) * BLOCK + arange(0, BLOCK)\n"
   "    m = i < n\n"
   "    store(y + i, load(x + i, m, other=0.0) * a + load(y + i, m, other=0.0) + ADD, m)\n";

static TilecRuntime *rt;
static TilecModule *shared;
static _Atomic long failures;
static long rounds = 200;

static void
failed(const char *what, TilecStatus status)
{
   char text[1024];
   tilec_runtime_error(rt, text, sizeof text);
   fprintf(stderr, "%s: %s: %s\n", what, tilec_status_name(status), text);
   failures++;
}

static TilecStatus
open_module(int add, TilecModule **out)
{
   char define[32];
   const char *const defines[] = {define};
   snprintf(define, sizeof define, "ADD=%d", add);
   TilecSource s = {.struct_size = sizeof s,
                    .file = "axpy.tile",
                    .source = source,
                    .source_bytes = TILEC_STRLEN,
                    .defines = defines,
                    .num_defines = 1};
   return tilec_module_from_source(rt, &s, out);
}

/* n = 1, a multiple of 16 or neither, aligned or not: up to six variants. */
static bool
launch(TilecModule *m, int add, int kind)
{
   float x[N + 4], y[N + 4];
   int n = kind % 3 == 0 ? 1 : kind % 3 == 1 ? 48 : 37;
   for (int i = 0; i < N + 4; i++) {
      x[i] = (float)i;
      y[i] = 1.0f;
   }
   TilecKernel *k;
   TilecArg args[] = {tilec_ptr(TILEC_FP32, x + kind / 3 % 2, N * 4),
                      tilec_ptr(TILEC_FP32, y, N * 4), tilec_fp32(2.0f), tilec_int(TILEC_I32, n)};
   TilecLaunch l = {.grid = {1, 1, 1}};
   TilecStatus status = tilec_module_kernel(m, NULL, &k);
   TilecPending *p = NULL;
   if (status == TILEC_OK && kind % 5 == 0)
      status = tilec_kernel_prepare_async(k, args, 4, &p);
   if (status == TILEC_OK)
      status = tilec_launch(k, &l, args, 4);
   tilec_pending_free(p);
   if (status != TILEC_OK) {
      failed("launch", status);
      return false;
   }
   for (int i = 0; i < N; i++) {
      float want = i < n ? (float)(i + kind / 3 % 2) * 2.0f + 1.0f + (float)add : 1.0f;
      if (y[i] != want) {
         fprintf(stderr, "y[%d] is %g, not %g\n", i, (double)y[i], (double)want);
         failures++;
         return false;
      }
   }
   return true;
}

static void *
work(void *user)
{
   int id = (int)(size_t)user;
   for (long r = 0; r < rounds; r++) {
      TilecModule *m = shared;
      int add = 0;
      if (id >= SHARED || r % 8 == 7) { /* a module of its own: every launch is a compile */
         add = (int)r % 3 + id;
         TilecStatus status = open_module(add, &m);
         if (status != TILEC_OK) {
            failed("module", status);
            return NULL;
         }
      }
      bool ok = launch(m, add, (int)r + id);
      if (m != shared)
         tilec_module_free(m);
      if (!ok)
         return NULL;
   }
   return NULL;
}

int
main(int argc, char **argv)
{
   pthread_t threads[THREADS];
   if (argc > 1)
      rounds = strtol(argv[1], NULL, 10);
   TilecRuntimeOptions o = {.struct_size = sizeof o, .executor = TILEC_ON_CPU, .num_threads = 2};
   TilecStatus status = tilec_runtime_open(&o, &rt);
   if (status == TILEC_OK)
      status = tilec_jit_attach(rt, NULL);
   if (status == TILEC_OK)
      status = open_module(0, &shared);
   if (status != TILEC_OK) {
      failed("open", status);
      return 1;
   }
   for (int i = 0; i < THREADS; i++)
      pthread_create(&threads[i], NULL, work, (void *)(size_t)i);
   for (int i = 0; i < THREADS; i++)
      pthread_join(threads[i], NULL);
   tilec_module_free(shared);
   tilec_runtime_close(rt);
   printf("%d threads, %ld compiles and launches each, %ld failures\n", THREADS, rounds, failures);
   return failures != 0;
}
