/* See driver.h. */
#include "driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CAPTURE_THREAD_LOCAL = 1 };

struct DriverGraph {
   void *graph, *exec;
};

/* The address of a driver function in *function; the driver is open already, by the runtime. */
static bool
find(const char *name, void *function, char *why, size_t why_bytes)
{
   void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
   void *address = library ? dlsym(library, name) : NULL;
   if (library)
      dlclose(library);
   memcpy(function, &address, sizeof address);
   if (!address)
      snprintf(why, why_bytes, "the driver has no %s", name);
   return address != NULL;
}

static bool
worked(int code, const char *what, char *why, size_t why_bytes)
{
   if (code != 0)
      snprintf(why, why_bytes, "%s: CUDA error %d", what, code);
   return code == 0;
}

bool
driver_make_current(void *context, char *why, size_t why_bytes)
{
   int (*set)(void *context);
   return find("cuCtxSetCurrent", &set, why, why_bytes) &&
          worked(set(context), "cuCtxSetCurrent", why, why_bytes);
}

bool
driver_capture_begin(TilecStream stream, char *why, size_t why_bytes)
{
   int (*begin)(TilecStream stream, int mode);
   return find("cuStreamBeginCapture_v2", &begin, why, why_bytes) &&
          worked(begin(stream, CAPTURE_THREAD_LOCAL), "cuStreamBeginCapture", why, why_bytes);
}

DriverGraph *
driver_capture_end(TilecStream stream, char *why, size_t why_bytes)
{
   int (*end)(TilecStream stream, void **graph);
   int (*instantiate)(void **exec, void *graph, unsigned long long flags);
   DriverGraph *g = calloc(1, sizeof *g);
   if (g && find("cuStreamEndCapture", &end, why, why_bytes) &&
       find("cuGraphInstantiateWithFlags", &instantiate, why, why_bytes) &&
       worked(end(stream, &g->graph), "cuStreamEndCapture", why, why_bytes) &&
       worked(instantiate(&g->exec, g->graph, 0), "cuGraphInstantiate", why, why_bytes))
      return g;
   driver_graph_free(g);
   return NULL;
}

bool
driver_graph_launch(DriverGraph *g, TilecStream stream, char *why, size_t why_bytes)
{
   int (*launch)(void *exec, TilecStream stream);
   return find("cuGraphLaunch", &launch, why, why_bytes) &&
          worked(launch(g->exec, stream), "cuGraphLaunch", why, why_bytes);
}

void
driver_graph_free(DriverGraph *g)
{
   char why[64];
   int (*destroy)(void *handle);
   if (!g)
      return;
   if (g->exec && find("cuGraphExecDestroy", &destroy, why, sizeof why))
      (void)destroy(g->exec);
   if (g->graph && find("cuGraphDestroy", &destroy, why, sizeof why))
      (void)destroy(g->graph);
   free(g);
}
