/* The GPU simulator: runs LOWERED functions on this CPU, every thread of a block a fiber, every
 * machine operation a model in C.  What a GPU would leave to chance is a reported fault: bytes of
 * shared memory, or of global memory within a block, touched by two threads with no barrier
 * between; shared bytes read before anything was written, or touched while an asynchronous copy to
 * them is not waited for (copies land when they are waited for, not before); barriers and warp
 * operations that some threads do not reach; shared accesses outside the memory that the operation
 * was given; and what the CPU executor reports too: global accesses outside a buffer, misaligned
 * ones, assertions.  Pointers are virtual, as in exec/cpu.h.
 *
 * Results do not depend on the host or on the number of threads: code is made for a fixed CPU,
 * 16-bit and 8-bit floats are computed by our own models, mma sums exact products in double and
 * rounds once for each instruction.  Masked-off loads without `other` and poison give zero, as the
 * code for the GPU does. */
#ifndef TL_EXEC_SIM_SIM_H
#define TL_EXEC_SIM_SIM_H

#include "exec/cpu.h"

typedef enum TlSimFaultKind {
   TL_SIM_FAULT_BASE,      /* base.kind says what */
   TL_SIM_FAULT_RACE,      /* two threads, one shared location, no barrier between */
   TL_SIM_FAULT_IN_FLIGHT, /* touched while a copy to it is not waited for */
   TL_SIM_FAULT_UNWRITTEN, /* shared memory read that nothing wrote */
   TL_SIM_FAULT_EXTENT,    /* outside the shared bytes that the operation may touch */
   TL_SIM_FAULT_ALIGNMENT, /* of a shared address */
   TL_SIM_FAULT_DIVERGED,  /* lanes of a warp at different warp operations, or warps of a barrier */
   TL_SIM_FAULT_STUCK,     /* threads wait for others that ended or wait elsewhere */
   TL_SIM_FAULT_PROXY,     /* wgmma or a box meets what was written and not fenced */
   TL_SIM_FAULT_WGMMA,     /* a result taken before its group was waited for */
   TL_SIM_FAULT_STORED,    /* the end, while a box that was stored is being read */
   TL_SIM_FAULT_ARRIVALS,  /* at an mbarrier, more than the phase counts */
   TL_SIM_FAULT_MAP,       /* a map of the kernel's own: shared_at is a SimMapFault */
   TL_SIM_FAULT_GONE,      /* it goes to a block of a cluster that may have ended */
   TL_SIM_FAULT_GLOBAL_RACE, /* as RACE, of global memory: base has the place */
   TL_SIM_FAULT_BLOCK_RACE,  /* the same of two programs */
} TlSimFaultKind;

typedef struct TlSimFault {
   TlSimFaultKind kind;
   TlExecFault base; /* range, op, program; of the access that found it */
   uint32_t thread;  /* in the block */
   bool is_write;    /* RACE, IN_FLIGHT: what the thread did */
   TlRange other;    /* the other access, the copy, or where others wait */
   const char *other_op;
   uint32_t other_thread;
   bool other_is_write, other_ended;
   uint32_t other_program[3];        /* BLOCK_RACE */
   uint32_t shared_at, shared_bytes; /* the access; EXTENT: limits in extent */
   uint32_t extent[2];
} TlSimFault;

/* Counted when asked for.  A warp instruction is one machine access of up to 32 lanes. */
typedef struct TlSimStats {
#define STAT(name, doc) uint64_t name;
#include "exec/sim/stats.def"
} TlSimStats;

typedef struct TlSimOptions {
   const volatile int *cancel; /* non-zero: no further block is begun; may be NULL */
   unsigned threads;           /* host threads; 0 = one for each core that this process may use */
   uint64_t max_steps;         /* loop iterations of all threads of one program; 0 = no limit */
   uint64_t max_ms;            /* wall time of the launch; 0 = no limit */
   uint32_t multiprocessors;   /* a persistent kernel runs so many blocks at most; 0 = one for each
                                  program */
   void (*print)(void *user, const char *line, size_t len); /* device_print; one call at a time; the
                                 line has its newline; NULL = dropped */
   void (*warn)(void *user,
                const TlExecFault *warning); /* of broken promises, where the code checks
                                 them, and of reads of what is_empty and not written
                                 them; after the run; NULL = dropped */
   TilecMemoryFn *memory;                    /* as TlExecOptions has it */
   void *user;
} TlSimOptions;

/* Compiles f for this CPU and runs grid[0] * grid[1] * grid[2] blocks.  opts and stats may be NULL.
 * Not TL_EXEC_OK: *fault says why, of all failing blocks that of the lowest number;
 * TL_EXEC_UNSUPPORTED also when this machine cannot run generated code (kind BASE, text says so).
 * f must be LOWERED and verify; texts of the fault live as long as f and args. */
TlExecStatus tl_sim_run(const TlFunc *f, const TlExecArg *args, unsigned num_args,
                        const uint32_t grid[3], const TlSimOptions *opts, TlSimFault *fault,
                        TlSimStats *stats);

/* The same in two steps, for many launches of one function.  Of opts only cancel and max_ms are
 * looked at. */
typedef struct TlSimKernel TlSimKernel;
/* NULL: *fault says why. */
TlSimKernel *tl_sim_compile(const TlFunc *f, const TlSimOptions *opts, TlSimFault *fault);
void tl_sim_free(TlSimKernel *kernel); /* NULL is fine */
TlExecStatus tl_sim_launch(const TlSimKernel *kernel, const TlExecArg *args, unsigned num_args,
                           const uint32_t grid[3], const TlSimOptions *opts, TlSimFault *fault,
                           TlSimStats *stats);

/* Turns a fault into a diagnostic with its notes and help. */
void tl_sim_report(TlDiags *diags, const TlSimFault *fault);
/* Lines "name value meaning" of all counters. */
void tl_sim_stats_print(const TlSimStats *stats, TlSb *out);

#endif
