/* How long a process takes from main to its first launch, with a cold and a warm disk cache:
 *    start_check FILE.tile          runs itself as a new process, several times each
 * The driver is a stand-in that does nothing, so this is tilec's own part.  Fails when a warm start
 * takes over 40 ms (best of five: the machine may be busy), or what is kept was not used. */
#include "tilec/runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double
now_ms(void)
{
   struct timespec t;
   clock_gettime(CLOCK_MONOTONIC, &t);
   return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* The embedding program: prints the milliseconds it took. */
static int
embed(const char *file, const char *cache, bool may_compile)
{
   double begin = now_ms();
   TilecRuntimeOptions options = {.struct_size = sizeof options, .driver_path = FAKE_DRIVER};
   TilecJitOptions jit = {
      .struct_size = sizeof jit, .cache_dir = cache, .never_compile = !may_compile};
   TilecSource source = {.struct_size = sizeof source, .file = file};
   TilecRuntime *rt;
   TilecModule *module;
   TilecKernel *kernel;
   TilecBuffer *x, *y;
   TilecStatus status = tilec_runtime_open(&options, &rt);
   if (status != TILEC_OK)
      return (int)status;
   if ((status = tilec_jit_attach(rt, &jit)) == TILEC_OK &&
       (status = tilec_module_from_source(rt, &source, &module)) == TILEC_OK &&
       (status = tilec_module_kernel(module, NULL, &kernel)) == TILEC_OK &&
       (status = tilec_buffer_new(rt, 4096, &x)) == TILEC_OK &&
       (status = tilec_buffer_new(rt, 4096, &y)) == TILEC_OK)
      status = TILEC_LAUNCH(kernel, NULL, TILEC_OWN_GRID, 1, 1, x, y, 1000, 1.0f);
   char text[1024];
   tilec_runtime_error(rt, text, sizeof text);
   if (status != TILEC_OK)
      fprintf(stderr, "%s: %s\n", tilec_status_name(status), text);
   printf("%.3f\n", now_ms() - begin);
   return (int)status;
}

static double
start(const char *self, const char *file, const char *cache, const char *how)
{
   char command[1024], line[64] = "";
   snprintf(command, sizeof command, "'%s' '%s' '%s' %s", self, file, cache, how);
   FILE *p = popen(command, "r");
   if (!p || !fgets(line, sizeof line, p))
      line[0] = 0;
   return p && pclose(p) == 0 && line[0] ? strtod(line, NULL) : -1;
}

int
main(int argc, char **argv)
{
   char cache[] = "/tmp/tilec-start-XXXXXX", command[256];
   if (argc == 4)
      return embed(argv[1], argv[2], strcmp(argv[3], "compile") == 0);
   if (argc != 2 || !mkdtemp(cache))
      return 2;
   double cold = start(argv[0], argv[1], cache, "compile"), warm = 1e9;
   bool ok = cold >= 0;
   for (int i = 0; i < 5 && ok; i++) {
      double ms = start(argv[0], argv[1], cache, "never");
      ok = ms >= 0;
      warm = ms < warm ? ms : warm;
   }
   printf("main to launch: %.2f ms cold, %.2f ms with a warm disk cache\n", cold, warm);
   snprintf(command, sizeof command, "rm -r '%s'", cache);
   ok = system(command) == 0 && ok && warm <= 40;
   return !ok;
}
