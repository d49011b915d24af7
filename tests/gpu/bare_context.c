/* The least that a process pays for the GPU: opens the driver, cuInit, the primary context.  Prints
 * the clock (CLOCK_MONOTONIC, microseconds) when that is done; see first_result.c.
 *    bare_context DRIVER */
#include <dlfcn.h>
#include <stdio.h>
#include <time.h>

int
main(int argc, char **argv)
{
   int (*init)(unsigned), (*device)(int *, int), (*retain)(void **, int), (*set)(void *);
   void *context, *lib = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
   int ordinal;
   if (!lib)
      return 77;
   *(void **)(void *)&init = dlsym(lib, "cuInit");
   *(void **)(void *)&device = dlsym(lib, "cuDeviceGet");
   *(void **)(void *)&retain = dlsym(lib, "cuDevicePrimaryCtxRetain");
   *(void **)(void *)&set = dlsym(lib, "cuCtxPushCurrent_v2");
   if (!init || !device || !retain || !set || init(0) || device(&ordinal, 0))
      return 77;
   if (retain(&context, ordinal) || set(context))
      return 1;
   struct timespec t;
   clock_gettime(CLOCK_MONOTONIC, &t);
   printf("%.3f\n", (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3);
   return 0;
}
