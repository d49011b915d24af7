/* Interpreter of LOWERED functions for tests: all threads of one block in lockstep, operation by
 * operation.  It finds what lockstep would hide: shared bytes that two threads touch without a
 * barrier between them (warp barriers count within a warp only), reads of bytes never written,
 * barriers and shuffles under divergence, misaligned vectors, accesses outside a buffer.
 * Asynchronous copies arrive when their group is waited for: bytes in flight may not be touched. */
#ifndef TESTS_SUPPORT_LOWERED_INTERP_H
#define TESTS_SUPPORT_LOWERED_INTERP_H

#include "ir/ir.h"

/* One for each run-time parameter: a buffer, or a scalar's bits. */
typedef struct LoweredArg {
   void *data;
   uint64_t bytes; /* 0 = a scalar */
   TlBits bits;
} LoweredArg;

typedef struct LoweredStats {
   unsigned block_barriers, warp_barriers, shuffles, mmas, matrix_loads;
   unsigned global_loads, global_stores; /* instructions of a thread, executed ones only */
   unsigned async_copies;                /* accesses of a thread that read global memory */
   unsigned prints;                      /* lines */
} LoweredStats;

/* Runs every program of the grid.  NULL, or what went wrong (arena text). */
const char *lowered_run(TlArena *arena, const TlFunc *f, const LoweredArg *args, unsigned num_args,
                        const uint32_t grid[3], LoweredStats *stats);

#endif
