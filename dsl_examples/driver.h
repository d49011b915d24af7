/* The few calls of the CUDA driver that a program makes beside the runtime: which device a thread
 * works on, as NCCL wants to know, and graphs.  The driver is opened by name, as the runtime does
 * it: no CUDA toolkit is needed.  All return false with a reason in `why`. */
#ifndef EXAMPLES_DRIVER_H
#define EXAMPLES_DRIVER_H

#include "tilec/runtime.h"

typedef struct Driver {
   int (*set_current)(void *context);
   int (*priorities)(int *least, int *greatest);
   int (*stream_new)(TilecStream *out, unsigned flags, int priority);
   int (*capture_begin)(TilecStream stream, int mode);
   int (*capture_end)(TilecStream stream, void **graph);
   int (*graph_instantiate)(void **exec, void *graph, unsigned long long flags);
   int (*graph_launch)(void *exec, TilecStream stream);
   int (*exec_destroy)(void *exec);
   int (*graph_destroy)(void *graph);
} Driver;

/* `path` NULL: libcuda.so.1. */
bool driver_load(Driver *d, const char *path, char *why, size_t why_bytes);
/* Makes a CUcontext the calling thread's. */
bool driver_make_current(const Driver *d, void *context, char *why, size_t why_bytes);

/* A stream whose blocks come first where multiprocessors are short: transfers need few of them, and
 * kernels wait for transfers.  Freed by tilec_stream_free. */
bool driver_first_stream(const Driver *d, TilecStream *out, char *why, size_t why_bytes);

/* Records what is given to `stream` between the two, and to the streams that it is joined with;
 * other threads go on as they like. */
typedef struct DriverGraph {
   void *graph, *exec;
} DriverGraph;
bool driver_capture_begin(const Driver *d, TilecStream stream, char *why, size_t why_bytes);
bool driver_capture_end(const Driver *d, TilecStream stream, DriverGraph *out, char *why,
                        size_t why_bytes);
bool driver_graph_launch(const Driver *d, const DriverGraph *g, TilecStream stream, char *why,
                         size_t why_bytes);
void driver_graph_free(const Driver *d, DriverGraph *g);
#endif
