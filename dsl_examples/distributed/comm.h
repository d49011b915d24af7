/* What moves bytes between ranks: one interface, and behind it an engine that exists.
 *
 *    threads  one process, a rank a thread; host memory.  For host executors
 *    files    agreement alone, by files in a folder that all ranks see
 *    mpi      MPI: agreement, and host memory of the host executors
 *    nccl     NCCL over memory of the GPU, on a stream of its own; agreement by one of the others
 *
 * Agreement: `gather`, of a few bytes of host memory.  Transfers: started by `exchange` and
 * `reduce_scatter`, in order; nobody touches their memory between `after` and `before`:
 *
 *    c->after(c, work);          transfers from here on wait for what `work` has been given so far
 *    c->exchange(c, parts, n);   returns at once
 *    ...                         kernels launched on `work` run beside the transfer
 *    c->before(c, work);         what `work` is given from here on waits for the transfers
 *
 * Every call returns false when it failed, and `error` says why in one line.  No call lasts longer
 * than timeout_s; a rank that ended, fell silent or gave up is named. */
#ifndef DISTRIBUTED_COMM_H
#define DISTRIBUTED_COMM_H

#include "tilec/runtime.h"

#include <stdarg.h>
#include <time.h>

enum { COMM_ERROR_BYTES = 1024, COMM_MAX_PARTS = 16 };

/* One of the sends and receives that go together; both of `bytes` bytes. */
typedef struct CommPart {
   unsigned to, from;
   const void *send;
   void *recv;
   size_t bytes;
} CommPart;

typedef struct Comm Comm;
struct Comm {
   unsigned rank, size;
   double timeout_s;
   const char *engine;
   char error[COMM_ERROR_BYTES];
   /* all = mine of rank 0, mine of rank 1 … */
   bool (*gather)(Comm *c, const void *mine, size_t bytes, void *all);
   bool (*exchange)(Comm *c, const CommPart *parts, unsigned count);
   /* recv, `elems` elements, = the sum over the ranks of the part of `send` that is this rank's;
    * `send` has elems elements for each rank */
   bool (*reduce_scatter)(Comm *c, const void *send, void *recv, size_t elems, TilecDtype dtype);
   bool (*after)(Comm *c, TilecStream work);
   bool (*before)(Comm *c, TilecStream work);
   bool (*sync)(Comm *c, TilecStream work); /* waits for all that `work` was given */
   /* Events around transfers for time lines; NULL where transfers have no stream. */
   bool (*record)(Comm *c, TilecEvent *event);
   /* Whether all ranks are still there, as far as can be told at once, by any thread; NULL:
    * cannot be told. */
   bool (*is_there)(Comm *c, char *why, size_t why_bytes);
   /* Tells the others that this rank gives up because of `why`, and ends its transfers: its memory
    * may be freed after it; NULL where the process is about to end in any case. */
   void (*give_up)(Comm *c, const char *why);
   void (*close)(Comm *c);
};

/* Sets the error and returns false. */
__attribute__((format(printf, 2, 3))) bool comm_fail(Comm *c, const char *format, ...);

/* Seconds of a clock that never goes back. */
static inline double
comm_now(void)
{
   struct timespec t;
   clock_gettime(CLOCK_MONOTONIC, &t);
   return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* For engines without streams: everything on the host is finished when it returns. */
bool comm_nothing(Comm *c, TilecStream work);

/* The board is shared by the `size` threads of one process, and freed after the last of them. */
typedef struct CommBoard CommBoard;
CommBoard *comm_board_new(unsigned size);
void comm_board_free(CommBoard *board);
Comm *comm_threads_open(CommBoard *board, unsigned rank, double timeout_s);

/* `dir` is empty or missing when the first rank comes. */
Comm *comm_files_open(const char *dir, unsigned rank, unsigned size, double timeout_s, char *why,
                      size_t why_bytes);

/* Opens libtilec_comm_mpi.so, which is linked against MPI; NULL and a reason in `why`. */
Comm *comm_mpi_load(double timeout_s, char *why, size_t why_bytes);
Comm *comm_mpi_open(double timeout_s); /* in there */

/* The thread's current CUDA context is the runtime's.  Takes `meeting` and `stream`, which
 * transfers run on, over, also on failure; `library` NULL: libnccl.so.2.  NULL and a reason in
 * `why`. */
Comm *comm_nccl_open(Comm *meeting, TilecRuntime *rt, TilecStream stream, const char *library,
                     char *why, size_t why_bytes);
#endif
