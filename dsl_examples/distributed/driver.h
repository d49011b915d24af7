/* The few calls of the CUDA driver that a program makes beside the runtime: which device a thread
 * works on, as NCCL wants to know, and graphs. */
#ifndef DISTRIBUTED_DRIVER_H
#define DISTRIBUTED_DRIVER_H

#include "tilec/runtime.h"

/* Makes a CUcontext the calling thread's; false with a reason. */
bool driver_make_current(void *context, char *why, size_t why_bytes);

/* Records what is given to `stream` between the two, and to the streams that it is joined with;
 * other threads go on as they like.  `graph` is freed with driver_graph_free; NULL is fine. */
typedef struct DriverGraph DriverGraph;
bool driver_capture_begin(TilecStream stream, char *why, size_t why_bytes);
DriverGraph *driver_capture_end(TilecStream stream, char *why, size_t why_bytes);
bool driver_graph_launch(DriverGraph *graph, TilecStream stream, char *why, size_t why_bytes);
void driver_graph_free(DriverGraph *graph);
#endif
