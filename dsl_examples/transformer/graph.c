/* See graph.h. */
#include "graph.h"

#include "driver.h"

#include <stdlib.h>

struct Graph {
   Example *ex;
   Driver driver;
   DriverGraph recorded;
   char why[512];
};

static void
check(const Graph *g, bool ok)
{
   if (!ok)
      ex_die(g->ex, "%s", g->why);
}

Graph *
graph_new(Example *ex)
{
   Graph *g = ex_allocate(1, sizeof *g);
   g->ex = ex;
   check(g, driver_load(&g->driver, NULL, g->why, sizeof g->why));
   check(g, driver_make_current(&g->driver, tilec_runtime_context(ex->rt), g->why, sizeof g->why));
   return g;
}

void
graph_free(Graph *g)
{
   driver_graph_free(&g->driver, &g->recorded);
   check(g, driver_make_current(&g->driver, NULL, g->why, sizeof g->why));
   free(g);
}

void
graph_begin(Graph *g, TilecStream stream)
{
   check(g, driver_capture_begin(&g->driver, stream, g->why, sizeof g->why));
}

void
graph_end(Graph *g, TilecStream stream)
{
   check(g, driver_capture_end(&g->driver, stream, &g->recorded, g->why, sizeof g->why));
}

bool
graph_is_recorded(const Graph *g)
{
   return g->recorded.exec;
}

void
graph_launch(Graph *g, TilecStream stream)
{
   check(g, driver_graph_launch(&g->driver, &g->recorded, stream, g->why, sizeof g->why));
}
