/* See driver.h. */
#include "driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

enum { CAPTURE_THREAD_LOCAL = 1 };

static const struct {
   const char *name;
   size_t at;
} symbols[] = {
   {"cuCtxSetCurrent", offsetof(Driver, set_current)},
   {"cuCtxGetStreamPriorityRange", offsetof(Driver, priorities)},
   {"cuStreamCreateWithPriority", offsetof(Driver, stream_new)},
   {"cuStreamBeginCapture_v2", offsetof(Driver, capture_begin)},
   {"cuStreamEndCapture", offsetof(Driver, capture_end)},
   {"cuGraphInstantiateWithFlags", offsetof(Driver, graph_instantiate)},
   {"cuGraphLaunch", offsetof(Driver, graph_launch)},
   {"cuGraphExecDestroy", offsetof(Driver, exec_destroy)},
   {"cuGraphDestroy", offsetof(Driver, graph_destroy)},
};

bool
driver_load(Driver *d, const char *path, char *why, size_t why_bytes)
{
   void *library = dlopen(path ? path : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
   if (!library) {
      const char *reason = dlerror();
      snprintf(why, why_bytes, "%s", reason ? reason : path);
      return false;
   }
   for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
      void *address = dlsym(library, symbols[i].name);
      if (!address) {
         snprintf(why, why_bytes, "the driver has no %s", symbols[i].name);
         return false;
      }
      memcpy((char *)d + symbols[i].at, &address, sizeof address);
   }
   return true; /* the library stays, as the runtime's does */
}

static bool
worked(int code, const char *what, char *why, size_t why_bytes)
{
   if (code != 0)
      snprintf(why, why_bytes, "%s: CUDA error %d", what, code);
   return code == 0;
}

bool
driver_make_current(const Driver *d, void *context, char *why, size_t why_bytes)
{
   return worked(d->set_current(context), "cuCtxSetCurrent", why, why_bytes);
}

bool
driver_first_stream(const Driver *d, TilecStream *out, char *why, size_t why_bytes)
{
   enum { NON_BLOCKING = 1 };
   int least = 0, greatest = 0;
   return worked(d->priorities(&least, &greatest), "cuCtxGetStreamPriorityRange", why, why_bytes) &&
          worked(d->stream_new(out, NON_BLOCKING, greatest), "cuStreamCreateWithPriority", why,
                 why_bytes);
}

bool
driver_capture_begin(const Driver *d, TilecStream stream, char *why, size_t why_bytes)
{
   return worked(d->capture_begin(stream, CAPTURE_THREAD_LOCAL), "cuStreamBeginCapture", why,
                 why_bytes);
}

bool
driver_capture_end(const Driver *d, TilecStream stream, DriverGraph *out, char *why,
                   size_t why_bytes)
{
   return worked(d->capture_end(stream, &out->graph), "cuStreamEndCapture", why, why_bytes) &&
          worked(d->graph_instantiate(&out->exec, out->graph, 0), "cuGraphInstantiate", why,
                 why_bytes);
}

bool
driver_graph_launch(const Driver *d, const DriverGraph *g, TilecStream stream, char *why,
                    size_t why_bytes)
{
   return worked(d->graph_launch(g->exec, stream), "cuGraphLaunch", why, why_bytes);
}

void
driver_graph_free(const Driver *d, DriverGraph *g)
{
   if (g->exec)
      (void)d->exec_destroy(g->exec);
   if (g->graph)
      (void)d->graph_destroy(g->graph);
   *g = (DriverGraph){0};
}
