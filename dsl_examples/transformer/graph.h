/* A CUDA graph of launches: launches into a stream between begin and end are recorded, not run, and
 * graph_launch runs all of them by one call.  Failures end the process. */
#ifndef TRANSFORMER_GRAPH_H
#define TRANSFORMER_GRAPH_H

#include "support.h"

typedef struct Graph Graph;

/* Makes the runtime's context the calling thread's current one until graph_free. */
Graph *graph_new(Example *ex);
void graph_free(Graph *g);

/* Each kernel must have been launched once before: while a graph is recorded, none can be compiled
 * or loaded. */
void graph_begin(Graph *g, TilecStream stream);
void graph_end(Graph *g, TilecStream stream);
bool graph_is_recorded(const Graph *g);
void graph_launch(Graph *g, TilecStream stream);
#endif
