/* What a launch costs beyond the driver: a loop of bare cuLaunchKernel, tilec_launch with an array
 * and TILEC_LAUNCH, on the same empty kernel with 3, 8 and 20 arguments, interleaved in one run.
 *    launch_time [--driver PATH] [--launches N] [--limit US]
 * Each of 100 rounds makes a hundredth of N (100000) launches of each kind, fewer than the driver's
 * queue holds, and waits; printed are the medians over rounds and the median of the difference
 * within a round.  Ends with 1 when a difference is beyond US (0 = no limit), with 77 where there
 * is no driver or GPU. */
#include "tilec/runtime.h"
#include "tilec/tilec.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 100, MAX_ARGS = 20, KINDS = 3 };

typedef int LaunchFn(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                     void *, void **, void **);
typedef struct Bare {
   LaunchFn *launch;
   int (*load)(void **, const void *, unsigned, int *, void **);
   int (*get)(void **, void *, const char *);
   int (*push)(void *);
   int (*pop)(void **);
} Bare;

/* One number of arguments: the first half are pointers, the others integers. */
typedef struct Case {
   int num_args;
   TilecKernel *kernel;
   TilecArg args[MAX_ARGS];
   void *function;         /* the same kernel, loaded by hand */
   void *params[MAX_ARGS]; /* of cuLaunchKernel */
   float *p;
   int n;
} Case;

static TilecRuntime *rt;

static void
check(TilecStatus status, const char *what)
{
   if (status == TILEC_OK)
      return;
   char text[4096];
   tilec_runtime_error(rt, text, sizeof text);
   printf("FAILED %s: %s: %s\n", what, tilec_status_name(status), text);
   exit(1);
}

static double
now_us(void)
{
   struct timespec t;
   clock_gettime(CLOCK_MONOTONIC, &t);
   return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static Bare
open_bare(const char *driver)
{
   Bare b;
   void *lib = dlopen(driver, RTLD_NOW);
   if (!lib)
      exit(77);
   *(void **)(void *)&b.launch = dlsym(lib, "cuLaunchKernel");
   *(void **)(void *)&b.load = dlsym(lib, "cuModuleLoadDataEx");
   *(void **)(void *)&b.get = dlsym(lib, "cuModuleGetFunction");
   *(void **)(void *)&b.push = dlsym(lib, "cuCtxPushCurrent_v2");
   *(void **)(void *)&b.pop = dlsym(lib, "cuCtxPopCurrent_v2");
   return b;
}

/* The same specialisation that tilec_launch uses, loaded by hand. */
static void
load_bare(const Bare *bare, Case *c, const char *text)
{
   TilecSession *s;
   TilecProgram *program;
   TilecDeviceInfo device;
   char signature[MAX_ARGS * 16] = "";
   check(tilec_runtime_device(rt, &device), "asking for the device");
   for (int i = 0; i < c->num_args; i++)
      strcat(signature, i < c->num_args / 2 ? "*fp32:16," : "i32:16,");
   TilecCompileOptions o = {.struct_size = sizeof o,
                            .source = text,
                            .source_bytes = TILEC_STRLEN,
                            .signature = signature,
                            .arch = device.arch,
                            .ptx_version = device.max_ptx_version};
   check(tilec_session_new(NULL, &s), "a session");
   check(tilec_compile(s, &o, &program), "compiling for the bare loop");
   void *module;
   if (bare->load(&module, tilec_program_text(program, TILEC_STAGE_PTX, NULL), 0, NULL, NULL) ||
       bare->get(&c->function, module, "empty")) {
      printf("FAILED loading for the bare loop\n");
      exit(1);
   }
   tilec_program_free(program);
   tilec_session_free(s);
}

static void
open_case(Case *c, const Bare *bare, int num_args, TilecBuffer *buffer)
{
   char text[1024] = "@kernel\ndef empty(";
   TilecModule *module;
   c->num_args = num_args;
   c->p = tilec_buffer_address(buffer);
   c->n = 64;
   for (int i = 0; i < num_args; i++) {
      bool pointer = i < num_args / 2;
      snprintf(text + strlen(text), sizeof text - strlen(text), "%sa%d: %s", i ? ", " : "", i,
               pointer ? "*fp32" : "i32");
      c->args[i] = pointer ? tilec_ptr(TILEC_FP32, c->p, 0) : tilec_int(TILEC_I32, c->n);
      c->params[i] = pointer ? (void *)&c->p : (void *)&c->n;
   }
   strcat(text, "):\n    pass\n");
   TilecSource source = {
      .struct_size = sizeof source, .source = text, .source_bytes = TILEC_STRLEN};
   check(tilec_module_from_source(rt, &source, &module), "opening the source");
   check(tilec_module_kernel(module, "empty", &c->kernel), "the kernel");
   check(tilec_kernel_prepare(c->kernel, c->args, (size_t)num_args), "compiling");
   load_bare(bare, c, text);
}

static void
bare_loop(const Bare *bare, Case *c, int count)
{
   for (int i = 0; i < count; i++)
      bare->launch(c->function, 1, 1, 1, 128, 1, 1, 0, NULL, c->params, NULL);
}

static void
array_loop(Case *c, int count)
{
   TilecLaunch launch = {NULL, {1, 1, 1}};
   for (int i = 0; i < count; i++)
      check(tilec_launch(c->kernel, &launch, c->args, (size_t)c->num_args), "launching");
}

static void
typed_loop(Case *c, int count)
{
   TilecKernel *k = c->kernel;
   float *p = c->p;
   int n = c->n;
   for (int i = 0; i < count; i++) {
      TilecStatus status;
      if (c->num_args == 3)
         status = TILEC_LAUNCH(k, NULL, 1, 1, 1, p, n, n);
      else if (c->num_args == 8)
         status = TILEC_LAUNCH(k, NULL, 1, 1, 1, p, p, p, p, n, n, n, n);
      else
         status = TILEC_LAUNCH(k, NULL, 1, 1, 1, p, p, p, p, p, p, p, p, p, p, n, n, n, n, n, n, n,
                               n, n, n);
      check(status, "launching");
   }
}

static int
ascending(const void *a, const void *b)
{
   double x = *(const double *)a, y = *(const double *)b;
   return (x > y) - (x < y);
}

static double
median(double *v)
{
   qsort(v, ROUNDS, sizeof *v, ascending);
   return (v[ROUNDS / 2 - 1] + v[ROUNDS / 2]) / 2;
}

/* Largest difference to the bare loop, in microseconds. */
static double
measure(const Bare *bare, Case *c, int launches)
{
   double us[KINDS][ROUNDS], extra[KINDS][ROUNDS];
   int count = launches / ROUNDS;
   void *popped;
   for (int round = -1; round < ROUNDS; round++) { /* -1: warm up */
      for (int kind = 0; kind < KINDS; kind++) {
         check(tilec_runtime_sync(rt), "waiting");
         bare->push(tilec_runtime_context(rt));
         double begin = now_us();
         switch (kind) {
         case 0:
            bare_loop(bare, c, count);
            break;
         case 1:
            array_loop(c, count);
            break;
         case 2:
            typed_loop(c, count);
            break;
         }
         double per = (now_us() - begin) / count;
         bare->pop(&popped);
         if (round >= 0) {
            us[kind][round] = per;
            extra[kind][round] = per - us[0][round];
         }
      }
   }
   double array = median(extra[1]), typed = median(extra[2]);
   printf("%2d arguments: bare %6.3f us   tilec_launch %6.3f us (%+.3f)   TILEC_LAUNCH %6.3f us "
          "(%+.3f)\n",
          c->num_args, median(us[0]), median(us[1]), array, median(us[2]), typed);
   return array > typed ? array : typed;
}

int
main(int argc, char **argv)
{
   static const int counts[] = {3, 8, MAX_ARGS};
   const char *driver = "libcuda.so.1";
   int launches = 100000;
   double limit = 0, worst = 0;
   for (int i = 1; i + 1 < argc; i += 2) {
      if (strcmp(argv[i], "--driver") == 0)
         driver = argv[i + 1];
      else if (strcmp(argv[i], "--launches") == 0)
         launches = (int)strtol(argv[i + 1], NULL, 10);
      else if (strcmp(argv[i], "--limit") == 0)
         limit = strtod(argv[i + 1], NULL);
      else
         return 2;
   }
   char error[512] = "";
   TilecRuntimeOptions o = {
      .struct_size = sizeof o, .driver_path = driver, .error = error, .error_bytes = sizeof error};
   TilecStatus status = tilec_runtime_open(&o, &rt);
   if (status == TILEC_NO_DRIVER || status == TILEC_NO_DEVICE) {
      printf("skipped: %s\n", error);
      return 77;
   }
   check(status, "opening");
   check(tilec_jit_attach(rt, NULL), "attaching the compiler");
   Bare bare = open_bare(driver);
   TilecBuffer *buffer;
   void *popped;
   check(tilec_buffer_new(rt, 4096, &buffer), "a buffer");
   printf("%d launches of each kind in %d rounds, microseconds per launch, medians\n", launches,
          ROUNDS);
   for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
      Case c = {0};
      bare.push(tilec_runtime_context(rt));
      open_case(&c, &bare, counts[i], buffer);
      bare.pop(&popped);
      double extra = measure(&bare, &c, launches);
      worst = extra > worst ? extra : worst;
   }
   check(tilec_runtime_sync(rt), "waiting at the end");
   if (limit > 0 && worst > limit) {
      printf("FAILED: %.3f us over a bare launch, at most %.3f wanted\n", worst, limit);
      return 1;
   }
   return 0;
}
