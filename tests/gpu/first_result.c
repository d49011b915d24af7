/* From the start of a process to its first ELU result, beyond what the driver takes to start:
 *    first_result FILE.tile [--driver PATH] [--repeats N] [--limit COLD_MS,WARM_MS]
 * Starts, in turn, bare_context (cuInit and the context alone), this program with an empty disk
 * cache, and this program with a filled one, each a new process, timed from before its start to
 * when the result has been read and compared.  The driver's own cache is emptied and filled along.
 * Prints medians, the differences, and where the time goes.  1: beyond the limits or a wrong
 * result; 77: no driver or GPU. */
#include "tilec/runtime.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Moments of one start, in order; each is printed as the clock in microseconds. */
#define MOMENTS(X)                                                                                 \
   X(MAIN, "to main (loading the library)")                                                        \
   X(OPEN, "opening (cuInit, context)")                                                            \
   X(SOURCE, "reading the source")                                                                 \
   X(READY, "the kernel: compiled or found, loaded")                                               \
   X(RESULT, "copies, launch, result")
enum Moment {
#define MOMENT(id, text) AT_##id,
   MOMENTS(MOMENT)
#undef MOMENT
      NUM_MOMENTS
};
enum { COUNT = 1000, MAX_REPEATS = 99 };

static double
now_us(void)
{
   struct timespec t;
   clock_gettime(CLOCK_MONOTONIC, &t);
   return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

/* ---- The embedding program ------------------------------------------------------------------- */

static TilecStatus
run_elu(TilecRuntime *rt, const char *file, double at[NUM_MOMENTS], bool *right)
{
   TilecSource source = {.struct_size = sizeof source, .file = file};
   TilecModule *module;
   TilecKernel *elu;
   TilecBuffer *x, *y;
   float in[COUNT], out[COUNT];
   for (int i = 0; i < COUNT; i++)
      in[i] = (float)(i - COUNT / 2) / 100;
   TilecStatus status = tilec_module_from_source(rt, &source, &module);
   at[AT_SOURCE] = now_us();
   if (status || (status = tilec_module_kernel(module, NULL, &elu)) ||
       (status = tilec_buffer_new(rt, sizeof in, &x)) ||
       (status = tilec_buffer_new(rt, sizeof out, &y)))
      return status;
   const TilecArg args[] = {TILEC_ARG(x), TILEC_ARG(y), TILEC_ARG(COUNT), TILEC_ARG(1.0f)};
   status = tilec_kernel_prepare(elu, args, 4);
   at[AT_READY] = now_us();
   TilecLaunch launch = {NULL, {TILEC_OWN_GRID, 1, 1}};
   if (status || (status = tilec_buffer_upload(x, 0, in, sizeof in, NULL)) ||
       (status = tilec_launch(elu, &launch, args, 4)) ||
       (status = tilec_buffer_download(y, 0, out, sizeof out, NULL)))
      return status;
   *right = true;
   for (int i = 0; i < COUNT; i++)
      *right &= fabs(out[i] - (in[i] < 0 ? expm1(in[i]) : (double)in[i])) < 1e-5;
   at[AT_RESULT] = now_us();
   return TILEC_OK;
}

static int
child(const char *file, const char *driver, const char *cache)
{
   double at[NUM_MOMENTS] = {[AT_MAIN] = now_us()};
   char text[4096] = "";
   bool right = false;
   TilecRuntime *rt;
   TilecRuntimeOptions options = {.struct_size = sizeof options,
                                  .driver_path = driver,
                                  .error = text,
                                  .error_bytes = sizeof text};
   TilecJitOptions jit = {.struct_size = sizeof jit, .cache_dir = cache};
   TilecStatus status = tilec_runtime_open(&options, &rt);
   at[AT_OPEN] = now_us();
   if (status == TILEC_OK && (status = tilec_jit_attach(rt, &jit)) == TILEC_OK)
      status = run_elu(rt, file, at, &right);
   if (status != TILEC_OK) {
      if (!text[0])
         tilec_runtime_error(rt, text, sizeof text);
      fprintf(stderr, "%s: %s\n", tilec_status_name(status), text);
      return status == TILEC_NO_DRIVER || status == TILEC_NO_DEVICE ? 77 : 1;
   }
   for (int i = 0; i < NUM_MOMENTS; i++)
      printf("%.3f\n", at[i]);
   printf("%d\n", right);
   return 0;
}

/* ---- Measuring ------------------------------------------------------------------------------- */

/* Runs argv as a new process and reads up to `max` numbers of its output; the first of `out` is
 * the clock before it.  Exit status of the process, and how many numbers. */
static int
start(char *const argv[], double *out, int max, int *got)
{
   int fds[2], status = 0;
   if (pipe(fds) != 0)
      return 1;
   out[0] = now_us();
   *got = 1;
   pid_t pid = fork();
   if (pid == 0) {
      dup2(fds[1], STDOUT_FILENO);
      close(fds[0]);
      close(fds[1]);
      execv(argv[0], argv);
      _exit(1);
   }
   close(fds[1]);
   FILE *f = fdopen(fds[0], "r");
   while (f && *got < max && fscanf(f, "%lf", &out[*got]) == 1)
      ++*got;
   if (f)
      fclose(f);
   if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
      return 1;
   return WEXITSTATUS(status);
}

static int
ascending(const void *a, const void *b)
{
   double x = *(const double *)a, y = *(const double *)b;
   return (x > y) - (x < y);
}

static double
median(double *v, int n)
{
   qsort(v, (size_t)n, sizeof *v, ascending);
   return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

typedef struct Samples {
   double total[MAX_REPEATS];             /* milliseconds from before the start to the result */
   double step[NUM_MOMENTS][MAX_REPEATS]; /* of it, up to each moment from the one before */
} Samples;

static int
measure(const char *self, const char *file, const char *driver, const char *cache, int i,
        Samples *s, bool *right)
{
   double v[NUM_MOMENTS + 2];
   int got;
   char *const argv[] = {(char *)self,   "--child",     (char *)file,
                         (char *)driver, (char *)cache, NULL};
   int status = start(argv, v, NUM_MOMENTS + 2, &got);
   if (status != 0 || got != NUM_MOMENTS + 2)
      return status ? status : 1;
   s->total[i] = (v[NUM_MOMENTS] - v[0]) * 1e-3;
   for (int m = 0; m < NUM_MOMENTS; m++)
      s->step[m][i] = (v[m + 1] - v[m]) * 1e-3;
   *right &= v[NUM_MOMENTS + 1] == 1;
   return 0;
}

/* An empty folder of this name, which the driver keeps its own cache in, too. */
static bool
empty(const char *cache)
{
   char command[512];
   snprintf(command, sizeof command, "rm -rf '%s' && mkdir -m 700 '%s' '%s/driver'", cache, cache,
            cache);
   return system(command) == 0;
}

static void
report(Samples *cold, Samples *warm, double *bare, int n, double extra[2])
{
   static const char *const names[] = {
#define NAME(id, text) text,
      MOMENTS(NAME)
#undef NAME
   };
   double b = median(bare, n), c = median(cold->total, n), w = median(warm->total, n);
   extra[0] = c - b;
   extra[1] = w - b;
   printf("process start to first result, medians of %d, milliseconds\n", n);
   printf("%-40s %9.2f\n%-40s %9.2f  (%+.2f)\n%-40s %9.2f  (%+.2f)\n", "cuInit and context alone",
          b, "cold", c, extra[0], "warm disk cache", w, extra[1]);
   for (int m = 0; m < NUM_MOMENTS; m++)
      printf("   %-40s cold %9.2f   warm %9.2f\n", names[m], median(cold->step[m], n),
             median(warm->step[m], n));
}

static int
measure_all(const char *self, const char *file, const char *driver, int repeats,
            const double limit[2], bool check_result)
{
   static Samples cold, warm;
   double bare[MAX_REPEATS], extra[2];
   char cache[] = "/tmp/tilec-first-XXXXXX", own[1024], driver_cache[64];
   bool right = true;
   const char *slash = strrchr(self, '/');
   snprintf(own, sizeof own, "%.*sbare_context", slash ? (int)(slash + 1 - self) : 0, self);
   if (!mkdtemp(cache))
      return 1;
   snprintf(driver_cache, sizeof driver_cache, "%s/driver", cache);
   setenv("CUDA_CACHE_PATH", driver_cache, 1);
   int status = 0, got;
   for (int i = -1; i < repeats && status == 0; i++) { /* -1: files come into memory */
      double v[2];
      int at = i < 0 ? 0 : i;
      char *const argv[] = {own, (char *)driver, NULL};
      status = start(argv, v, 2, &got);
      if (status == 0)
         status = got != 2 || !empty(cache);
      bare[at] = (v[1] - v[0]) * 1e-3;
      if (status == 0)
         status = measure(self, file, driver, cache, at, &cold, &right);
      if (status == 0)
         status = measure(self, file, driver, cache, at, &warm, &right);
   }
   char command[256];
   snprintf(command, sizeof command, "rm -rf '%s'", cache);
   if (system(command) != 0 || status != 0)
      return status ? status : 1;
   report(&cold, &warm, bare, repeats, extra);
   if (check_result && !right) {
      printf("FAILED: a wrong result\n");
      return 1;
   }
   bool late = (limit[0] > 0 && extra[0] > limit[0]) || (limit[1] > 0 && extra[1] > limit[1]);
   if (late)
      printf("FAILED: at most %.0f cold and %.0f warm wanted\n", limit[0], limit[1]);
   return late;
}

int
main(int argc, char **argv)
{
   const char *driver = "libcuda.so.1";
   double limit[2] = {0, 0};
   int repeats = 9;
   bool check_result = true;
   if (argc == 5 && strcmp(argv[1], "--child") == 0)
      return child(argv[2], argv[3], argv[4]);
   for (int i = 2; i < argc; i++) {
      if (strcmp(argv[i], "--no-check") == 0) { /* a driver that runs nothing */
         check_result = false;
      } else if (i + 1 < argc && strcmp(argv[i], "--driver") == 0) {
         driver = argv[++i];
      } else if (i + 1 < argc && strcmp(argv[i], "--repeats") == 0) {
         repeats = (int)strtol(argv[++i], NULL, 10);
      } else if (i + 1 < argc && strcmp(argv[i], "--limit") == 0) {
         char *comma;
         limit[0] = strtod(argv[++i], &comma);
         limit[1] = *comma == ',' ? strtod(comma + 1, NULL) : 0;
      } else {
         return 2;
      }
   }
   if (argc < 2 || repeats < 1 || repeats > MAX_REPEATS)
      return 2;
   return measure_all(argv[0], argv[1], driver, repeats, limit, check_result);
}
