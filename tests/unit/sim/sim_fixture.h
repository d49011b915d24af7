/* The simulator where the tests of lowering use the lockstep interpreter. */
#ifndef TESTS_UNIT_SIM_FIXTURE_H
#define TESTS_UNIT_SIM_FIXTURE_H

#include "support/ir_fixture.h"
#include "support/lowered_interp.h"

#include "exec/sim/sim.h"

static inline void
count_line(void *user, const char *line, size_t len)
{
   (void)line;
   (void)len;
   ++*(unsigned *)user;
}

/* As lowered_run, on the simulator. */
static inline const char *
sim_lowered_run(TlArena *arena, const TlFunc *f, const LoweredArg *args, unsigned num_args,
                const uint32_t grid[3], LoweredStats *stats)
{
   TlExecArg *a = tl_new_array(arena, TlExecArg, num_args + 1);
   for (unsigned i = 0; i < num_args; i++)
      a[i] = (TlExecArg){.is_buffer = args[i].bytes != 0,
                         .is_writable = true,
                         .bits = args[i].bits,
                         .data = args[i].data,
                         .bytes = args[i].bytes};
   TlSimFault fault;
   TlSimStats s;
   unsigned lines = 0;
   TlSimOptions o = {.print = count_line, .user = &lines};
   TlExecStatus status = tl_sim_run(f, a, num_args, grid, &o, &fault, &s);
   if (status != TL_EXEC_OK)
      return tl_arena_printf(arena,
                             "sim: status %d, kind %d/%d at '%s', thread %u, other '%s' %u, "
                             "bytes %u+%u: %s",
                             (int)status, (int)fault.kind, (int)fault.base.kind, fault.base.op,
                             fault.thread, fault.other_op ? fault.other_op : "-",
                             fault.other_thread, fault.shared_at, fault.shared_bytes,
                             fault.base.text ? fault.base.text : "");
   if (stats)
      *stats = (LoweredStats){.block_barriers = (unsigned)s.block_barriers,
                              .warp_barriers = (unsigned)s.warp_barriers,
                              .shuffles = (unsigned)s.shuffles,
                              .mmas = (unsigned)s.mmas,
                              .matrix_loads = (unsigned)s.shared_loads,
                              .prints = lines};
   return NULL;
}

/* The simulator has models of all that sm_90a has. */
#define lowered_run sim_lowered_run
#define LOWERED_ARCH "sm_90a"
#include "support/lowered_fixture.h"

#endif
