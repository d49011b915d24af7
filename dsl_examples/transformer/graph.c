/* See graph.h.  The driver is opened by name, as the runtime does it: no CUDA toolkit is needed. */
#include "graph.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { CAPTURE_OF_THIS_THREAD = 1 }; /* CU_STREAM_CAPTURE_MODE_THREAD_LOCAL */

#define DRIVER(X)                                                                                  \
   X(cuCtxPushCurrent_v2, (void *context))                                                         \
   X(cuCtxPopCurrent_v2, (void **context))                                                         \
   X(cuStreamBeginCapture_v2, (void *stream, int mode))                                            \
   X(cuStreamEndCapture, (void *stream, void **graph))                                             \
   X(cuGraphInstantiateWithFlags, (void **executable, void *graph, unsigned long long flags))      \
   X(cuGraphDestroy, (void *graph))                                                                \
   X(cuGraphLaunch, (void *executable, void *stream))                                              \
   X(cuGraphExecDestroy, (void *executable))

struct Graph {
   Example *ex;
   void *executable;
#define MEMBER(name, params) int(*name) params;
   DRIVER(MEMBER)
#undef MEMBER
};

static void
check(const Graph *g, int code, const char *what)
{
   if (code != 0)
      ex_die(g->ex, "%s: CUDA error %d", what, code);
}
#define CHECK(g, function, ...) check(g, (g)->function(__VA_ARGS__), #function)

Graph *
graph_new(Example *ex)
{
   static const struct {
      const char *name;
      size_t at;
   } symbols[] = {
#define ROW(name, params) {#name, offsetof(Graph, name)},
      DRIVER(ROW)
#undef ROW
   };
   Graph *g = ex_allocate(1, sizeof *g);
   g->ex = ex;
   void *library = dlopen("libcuda.so.1", RTLD_NOW);
   for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
      void *address = library ? dlsym(library, symbols[i].name) : NULL;
      if (!address)
         ex_die(ex, "the driver has no %s", symbols[i].name);
      memcpy((char *)g + symbols[i].at, &address, sizeof address);
   }
   CHECK(g, cuCtxPushCurrent_v2, tilec_runtime_context(ex->rt));
   return g;
}

void
graph_free(Graph *g)
{
   void *context;
   if (g->executable)
      CHECK(g, cuGraphExecDestroy, g->executable);
   CHECK(g, cuCtxPopCurrent_v2, &context);
   free(g);
}

void
graph_begin(Graph *g, TilecStream stream)
{
   CHECK(g, cuStreamBeginCapture_v2, stream, CAPTURE_OF_THIS_THREAD);
}

void
graph_end(Graph *g, TilecStream stream)
{
   void *graph;
   CHECK(g, cuStreamEndCapture, stream, &graph);
   CHECK(g, cuGraphInstantiateWithFlags, &g->executable, graph, 0);
   CHECK(g, cuGraphDestroy, graph);
}

bool
graph_is_recorded(const Graph *g)
{
   return g->executable;
}

void
graph_launch(Graph *g, TilecStream stream)
{
   CHECK(g, cuGraphLaunch, g->executable, stream);
}
