/* State of the simulator.  Private to exec/sim/.
 *
 * A launch has workers (host threads); each worker runs one block at a time with memory of its
 * own.  All that fibers need is allocated by the worker's scheduler, never on a fiber's stack
 * (sim_alloc). */
#ifndef TL_EXEC_SIM_IMPL_H
#define TL_EXEC_SIM_IMPL_H

#include "codegen/host.h"
#include "exec/ptx.h"
#include "exec/sim/fiber.h"
#include "exec/sim/sim.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

enum {
   SIM_WARP = 32,
   SIM_MAX_WARPS = TL_MAX_WARPS,
   SIM_MAX_CLUSTER = 2,
   SIM_BLOCK_BARRIERS = 16, /* of each block */
   SIM_AT_CLUSTER = SIM_MAX_CLUSTER * SIM_BLOCK_BARRIERS,
   SIM_BARRIERS,
   SIM_AT_MBARRIER = SIM_BARRIERS,
   SIM_ATOMIC_LOCKS = 64,
   SIM_MEMORIES = 8,           /* allocations beside the arguments that a block remembers */
   SIM_WGMMA_GROUPS = 16,      /* whose results are kept */
   SIM_FENCES = 16,            /* of a thread, the last ones */
   SIM_STEP_QUANTUM = 1 << 14, /* loop iterations between looks at the clock; also a fiber's turn */
   SIM_TOGETHER_BETWEEN_LOOKS = 8, /* operations of whole warps, likewise */
};

typedef struct SimBlock SimBlock;
typedef struct SimThread SimThread;
typedef struct SimWarp SimWarp;
typedef struct SimMbarrier SimMbarrier; /* mbarrier.c */
typedef struct SimStale SimStale;       /* below */
typedef struct SimHints SimHints;       /* hints.c */
typedef struct SimShared SimShared;     /* below */
typedef struct SimOwnMap SimOwnMap;     /* own_maps.c */

/* A register of a load that a store's operand is computed from (replicas.c). */
typedef struct SimFeed {
   uint32_t value; /* its number among those of all loads */
   bool in_warp;   /* through shuffles: of any lane */
} SimFeed;
typedef struct SimFeeds {
   const SimFeed *feed;
   uint32_t num;
} SimFeeds;

/* A site decoded once.  Registers are counted for one thread. */
typedef struct SimSite {
   const TlOp *op;
   uint32_t accesses;        /* of a memory operation, for each thread */
   uint32_t vec, elem_bytes; /* of one access */
   uint32_t bytes;           /* of one access */
   uint32_t pointee_bytes;   /* an element, of what the first pointer points to; 0: no pointers */
   uint32_t num_addresses;   /* registers of the address operand */
   const int64_t *offsets;   /* of each access, or NULL */
   uint32_t begin, end;      /* shared bytes that may be touched */
   int pred;                 /* operand, or -1 */
   uint32_t num_pred;        /* registers of it */
   bool is_partial;          /* it is a number of bytes */
   int other;                /* ld_global: operand, or -1 */
   uint32_t num_other;
   TlDtype dtype; /* of the data */
   bool is_volatile;
   int64_t word; /* rmw, shuffle mode, mma kind */
   uint32_t width, num;
   TlReps reps;
   bool trans;
   uint32_t count;   /* registers of the result, else of the data operand */
   const TlPtx *ptx; /* inline_asm: its program, or NULL and why not */
   const char *ptx_error;
   uint32_t first_value; /* ld_global: number of its first register */
   uint32_t hint;        /* check_hint: its number */
   SimFeeds *feeds;      /* st_global: by register of the data; NULL = none */
} SimSite;

static inline const SimSite *
sim_site(const TlHostSite *s)
{
   return s->model;
}

struct TlSimKernel {
   TlMem mem;
   jmp_buf oom;
   TlArena *arena;
   TlSources *sources;
   TlDiags diags;
   const TlFunc *func;
   TlHostCode *code;
   size_t mma_room;
   uint32_t granule; /* every shared access is a multiple of it, size and address */
   bool has_shared_atomics;
   uint32_t global_granule; /* as granule, of global accesses */
   uint64_t written;        /* sim_roots: may be written */
   uint64_t waited;         /* and a loop may wait on them */
   uint32_t num_values;     /* registers of all ld_global */
   uint32_t num_hints;      /* check_hint operations */
   size_t stack_bytes;
};

/* An access of global memory by a block, as other blocks meet it (block_races.c). */
typedef struct SimParty {
   uint64_t block;     /* number + 1; 0 = none */
   const char *buffer; /* its name, and where */
   int64_t byte;
   uint64_t value; /* what a write that is no atomic stores; 16 bytes are folded to 8 */
   uint32_t site;
   uint32_t syncs; /* as SimBlock.syncs, before it */
   uint16_t thread;
   bool is_set, is_write, is_atomic;
   bool is_mixed; /* the block stores other values there later */
   bool syncs_before, syncs_after;
} SimParty;
typedef struct SimMeeting SimMeeting;

/* What the race check does with the accesses of a buffer. */
typedef enum SimWatch {
   SIM_UNCHANGED, /* nothing: the kernel does not write it */
   SIM_RACES,     /* looks for races */
   SIM_ORDERS,    /* takes each for an order between programs: one may wait for another's */
} SimWatch;

/* ---- one launch ---- */
typedef struct SimWarning {
   uint64_t block; /* number + 1; 0 = none */
   TlExecFault fault;
} SimWarning;

typedef struct SimLaunch {
   const TlSimKernel *kernel;
   const TlExecArg *args;
   unsigned num_args;
   const uint64_t *bits;  /* of each argument: virtual address or scalar */
   const SimWatch *watch; /* by argument */
   SimMeeting *meetings;  /* of blocks, under `lock`; NULL: races between them are not looked for */
   uint32_t num_meetings; /* a power of two */
   uint32_t grid[3];
   uint64_t num_blocks; /* or clusters */
   const TlSimOptions *opts;
   SimWarning *warnings;    /* by hint, under `lock`; NULL: not wanted */
   uint8_t **written;       /* by argument: by byte of one that is_empty; NULL: there is none */
   SimWarning *unwritten;   /* by argument, under `lock`: the first read of what nothing wrote */
   bool count;              /* statistics are wanted */
   uint64_t deadline_ns;    /* 0 = none */
   _Atomic uint64_t next;   /* block to be handed out */
   _Atomic uint64_t failed; /* lowest block that failed so far; UINT64_MAX = none */
   pthread_mutex_t lock;    /* result and print */
   TlSimFault fault;
   TlExecStatus status;
   TlSimStats stats;
   pthread_mutex_t atomic_lock[SIM_ATOMIC_LOCKS];
} SimLaunch;

/* ---- asynchronous copies of one thread ---- */
typedef struct SimCopy {
   const TlHostSite *site;
   const uint8_t *from; /* NULL: zeros */
   uint32_t len;        /* bytes from there, zeros after them */
   uint32_t to;
   uint32_t epoch; /* in which it counts as written, 0 = when it lands */
} SimCopy;

typedef struct SimCopies {
   SimCopy *copy; /* [first, len) in flight */
   uint32_t first, len, cap;
   uint32_t *group_end; /* [first_group, num_groups) committed, not complete */
   uint32_t first_group, num_groups, cap_groups;
   uint32_t num_arrivals; /* at mbarriers, that wait for copies */
   uint32_t arriving;     /* copies below it are waited for by these */
} SimCopies;

/* ---- groups of wgmma of one thread, by number from 1 ---- */
typedef struct SimWgmmas {
   uint32_t issued, done;
   uint32_t *value[SIM_WGMMA_GROUPS]; /* by number modulo: registers of the result */
} SimWgmmas;

/* What the groups of a warp read. */
typedef struct SimAsyncReads {
   uint32_t *cell; /* of groups that are not done, in order */
   uint32_t len, cap;
   uint32_t end[SIM_WGMMA_GROUPS]; /* by number modulo: where its cells end */
   uint32_t group, done;
} SimAsyncReads;

/* ---- threads and warps ---- */
typedef enum SimState { SIM_READY, SIM_AT_WARP, SIM_AT_BARRIER, SIM_ENDED } SimState;

/* What the boxes that a thread stored are read from, until it waits. */
typedef struct SimStored {
   uint32_t *cell, len, cap;
   const TlHostSite *site; /* of the last one */
} SimStored;

struct SimThread {
   TlHostThread host; /* first: generated code sees it */
   SimBlock *block;
   SimWarp *warp;
   SimShared *shared;    /* its own block's */
   uint32_t index, lane; /* among all threads of the cluster */
   SimState state;
   TlFiber fiber;
   bool is_started;
   const TlHostSite *site; /* where it waits */
   unsigned char *frame;
   SimCopies copies;
   SimWgmmas wgmmas;
   SimStored stored;
   uint32_t num_fences;
   uint32_t fence_epoch[SIM_FENCES]; /* by number modulo */
   uint32_t loading;                 /* number of the first register of the load under way */
   SimStale *stale;                  /* by number of the register; NULL = none yet */
};

struct SimWarp {
   SimThread *thread; /* 32 */
   uint32_t index;    /* among all warps of the cluster */
   uint32_t rank;     /* which of its blocks it is of */
   uint32_t arrived;  /* lanes at `site` */
   const TlHostSite *site;
   int at_barrier; /* id, SIM_AT_MBARRIER, or -1 */
   SimMbarrier *waits_for;
   uint32_t parity;
   uint32_t reached_epoch;         /* when it last reached another block's memory; 0: not yet */
   const TlHostSite *reached_site; /* and where */
   SimAsyncReads reads;
};

/* ---- shared memory and who touched it ----
 * Time is counted in epochs of a warp: each barrier it takes part in begins a new one.
 * clock[w][v]: warp w knows that warp v has finished the epochs below it.  An access in epoch e of
 * warp v is ordered before what warp w does now when clock[w][v] > e. */
enum { SIM_IN_FLIGHT = UINT32_MAX };

typedef struct SimWrite {
   uint32_t epoch; /* 0 = never written, SIM_IN_FLIGHT */
   uint32_t site;
   uint32_t fences; /* of its thread, before it */
   uint16_t thread;
} SimWrite;

typedef struct SimRead {
   uint32_t epoch; /* 0 = none since the last write */
   uint32_t site : 25;
   uint32_t many : 1; /* lanes */
   uint32_t lane : 5;
   uint32_t atomic : 1;
} SimRead;

struct SimShared {
   uint8_t *byte;
   uint32_t bytes, granule, cells;
   SimWrite *write; /* by cell */
   SimRead *read;   /* by cell * warps + warp */
};

/* Global memory that this block touched (global_races.c). */
typedef struct SimGlobal {
   unsigned char *cells;
   uint32_t len, cap; /* of `block`; a power of two */
   uint64_t block;    /* number + 1 */
} SimGlobal;

typedef struct SimBarrier {
   uint32_t arrived;       /* warps */
   const TlHostSite *site; /* of the first */
} SimBarrier;

typedef struct SimCounter SimCounter;

/* A block, or those of a cluster, whose threads, warps and times are counted together. */
struct SimBlock {
   SimLaunch *launch;
   uint32_t cluster; /* blocks */
   TlMem mem;
   jmp_buf oom;
   TlArena *arena;
   TlFiber scheduler;
   SimThread *thread;
   SimWarp *warp;
   uint32_t num_threads, num_warps;
   void **free_stack; /* stacks nobody runs on */
   uint32_t num_free, num_stacks, cap_stacks;
   void **all_stack;
   uint32_t program[3];
   uint64_t number; /* of the block, or of the cluster */
   SimThread *running;
   uint64_t steps;    /* of this block */
   uint64_t together; /* operations of whole warps */
   uint32_t syncs;    /* atomics, volatile loads, accesses of what is waited on so far */
   bool has_yielded;  /* the running thread gave its turn away */
   size_t want_bytes; /* sim_alloc: asked of the scheduler */
   void *got;
   bool wants_memory; /* sim_memory: the same, what lies at want_address */
   uint64_t want_address;
   TilecMemory memories[SIM_MEMORIES]; /* what opts->memory has answered, the last ones */
   unsigned next_memory;
   bool has_fault;
   TlSimFault fault;
   TlExecStatus status;
   bool has_unwritten;   /* a read of what nothing had written: reported at the end, as a write */
   TlSimFault unwritten; /* by another thread later shows that it is a race */
   SimShared shared[SIM_MAX_CLUSTER];
   SimGlobal global;
   SimBarrier barrier[SIM_BARRIERS];
   SimMbarrier *mbarriers;
   SimOwnMap *own_maps;
   SimBarrier wgmma_group[SIM_MAX_WARPS / 4];
   uint32_t epoch[SIM_MAX_WARPS];
   uint32_t clock[SIM_MAX_WARPS][SIM_MAX_WARPS];
   TlSimStats stats;
   void *mma_room;      /* operands of one mma, decoded */
   SimCounter *counter; /* statistics of accesses; NULL when not counted */
   SimHints *hints;     /* NULL = none yet */
};

static inline SimThread *
sim_thread(TlHostThread *t)
{
   return (SimThread *)t;
}

/* The models: one for each name in the model column of ops.def. */
#define TL_OP(id, name, args, n, infer, layout, eval, fold, exec, lower, emit, how, model, ...)    \
   TlHostModel sim_##model;
#include "ir/ops.def"

/* block.c */
bool sim_block_init(SimBlock *b, SimLaunch *launch); /* false: no memory for stacks */
void sim_block_run(SimBlock *b, uint64_t number);
void sim_block_free(SimBlock *b);
void *sim_alloc(SimThread *t, size_t bytes); /* zeroed; lives as long as the worker */
/* The allocation of the process that holds the byte at that address of the host's, or NULL. */
const TilecMemory *sim_memory(SimThread *t, uint64_t address);
/* The thread's program is wrong: the block ends here.  The fault's place and thread are filled
 * in. */
_Noreturn void sim_fault(SimThread *t, const TlHostSite *s, TlSimFault fault);
_Noreturn void sim_base_fault(SimThread *t, const TlHostSite *s, TlExecFault fault,
                              TlExecStatus status);
/* What a warp does together: run by its last lane to come. */
typedef void SimWarpFn(SimWarp *w, const TlHostSite *s);
void sim_together(SimThread *t, const TlHostSite *s, unsigned char *frame, SimWarpFn *fn);
void sim_release(SimWarp *w); /* from where all its lanes wait */
_Noreturn void sim_diverged(SimThread *t, const TlHostSite *s, const TlHostSite *other,
                            uint32_t other_thread);
/* The thread reaches shared memory of a block of its cluster, which must still run. */
void sim_reach_block(SimThread *t, const TlHostSite *s, uint32_t rank);
void sim_step(TlHostThread *t, const TlHostSite *loop);
TlSimFault sim_place(SimThread *t, const TlHostSite *s, TlSimFault fault);

/* shared.c */
bool sim_shared_init(SimBlock *b);
void sim_shared_clear(SimBlock *b);
/* The copies so far are known, where an mbarrier is waited for, as of this epoch; which of those
 * that the thread holds they are. */
uint32_t sim_copies_arrive(SimThread *t);
/* The thread's copies up to number `end` of those it holds land. */
void sim_land_copies(SimThread *t, uint32_t end);
/* Bytes that a group of wgmma of t's warp reads from now until sim_end_reads of it. */
const uint8_t *sim_read_async(SimThread *t, const TlHostSite *s, uint32_t at, uint32_t bytes,
                              const uint32_t extent[2]);
void sim_begin_reads(SimWarp *w, uint32_t group);
void sim_end_reads(SimWarp *w, uint32_t last_group);

/* Room for more elements than the *cap there were; `len` of them are kept. */
void *sim_grown(SimThread *t, void *old, uint32_t len, uint32_t *cap, size_t elem);
/* 16 bytes of a box: a copy of thread t to them begins; its data arrive, as written in an
 * epoch. */
void sim_begin_box(SimThread *t, SimShared *to, const TlHostSite *s, uint32_t at,
                   const uint8_t *data);
void sim_land_box(SimShared *to, uint32_t at, const uint8_t *data, uint32_t epoch);

/* 16 bytes of a box that the thread stores: they are being read until sim_end_stored. */
const uint8_t *sim_begin_stored(SimThread *t, const TlHostSite *s, uint32_t at);
void sim_end_stored(SimThread *t);

/* A copy of a box that t sent for, or to which it stores. */
typedef struct SimBox {
   SimThread *t;
   const TlHostSite *site;
   uint32_t rank;                 /* of the block to which it goes */
   uint32_t at;                   /* shared address of the box */
   uint32_t epoch;                /* of the warp, when it did */
   int64_t map[2 * TL_TMAP_RANK]; /* base, sizes, strides */
   int32_t coordinate[TL_TMAP_RANK];
   SimOwnMap *own; /* the map, where the kernel made it, or NULL */
} SimBox;
/* own_maps.c: what is wrong with a map; the one that is operand 1 of a box is in use from here on,
 * until the box has landed, or all that the thread's warp stored is written. */
typedef enum SimMapFault { SIM_MAP_UNWRITTEN, SIM_MAP_UNFENCED, SIM_MAP_IN_USE } SimMapFault;
SimOwnMap *sim_use_own_map(SimThread *t, const TlHostSite *s, const unsigned char *frame);
void sim_own_map_landed(SimOwnMap *m);
void sim_own_maps_written(const SimThread *t);
void sim_own_maps_clear(SimBlock *b);
/* mbarrier.c: its bytes count for the phase of the mbarrier at the address. */
void sim_mbarrier_takes(uint32_t mbarrier, const SimBox *box);
/* tma.c */
uint32_t sim_box_bytes(const SimBox *box);
void sim_box_arrives(const SimBox *box);

/* global.c */
typedef enum SimUse {
   SIM_READS,
   SIM_WRITES,
   SIM_UPDATES, /* atomic, and volatile loads */
   SIM_LANDS,   /* the data of a copy, for which SIM_READS was noted when it began */
} SimUse;
/* data: what a write will bring. */
uint8_t *sim_global(SimThread *t, const TlHostSite *s, uint64_t address, uint32_t bytes, SimUse use,
                    const unsigned char *data);
TlBits sim_rmw(int64_t rmw, TlDtype d, TlBits old, TlBits v);

/* global_races.c: of the threads of a block; it keeps the table that the next two read as well. */
void sim_global_prepare(TlSimKernel *k);
/* The parameters that a pointer may come from, a bit each. */
enum { SIM_MAX_ROOTS = 63 };
#define SIM_ANY_ROOT (1ull << SIM_MAX_ROOTS) /* from those beyond, or it is not known */
uint64_t sim_roots(const TlFunc *f, const TlValue *v);
/* By argument: memory that two of them share is written through both. */
const SimWatch *sim_global_watch(TlArena *arena, const TlSimKernel *k, const TlExecArg *args,
                                 unsigned num_args);
typedef struct SimGlobalTouch {
   SimThread *t;
   const TlHostSite *site;
   SimUse use;
   const uint8_t *at;
   const unsigned char *data; /* of a write */
   const char *buffer;
   int64_t byte; /* in the buffer */
   uint32_t bytes;
} SimGlobalTouch;
void sim_global_touch(const SimGlobalTouch *x);
_Noreturn void sim_global_race(const SimGlobalTouch *x, uint32_t site, uint32_t thread,
                               bool is_write);
/* At a block's end: does it race with a block that has ended? */
bool sim_global_meets(SimBlock *b, TlSimFault *fault);

/* global_waits.c: buffers that a loop may wait on, as sim_roots. */
uint64_t sim_waits_on(TlArena *arena, const TlFunc *f);

/* replicas.c: a register whose thread loaded it behind another thread's store. */
struct SimStale {
   SimGlobalTouch read;
   uint32_t writer_site;
   uint16_t writer;
   bool is_set;
};
void sim_replicas_prepare(TlSimKernel *k);
void sim_replica_clear(SimThread *t);
/* Before each access of a load, made or not. */
void sim_replica_loads(SimThread *t, const SimSite *s, uint32_t access);
/* `bytes` of the access from `from` on were stored before. */
void sim_replica_is_stale(const SimGlobalTouch *x, uint32_t from, uint32_t bytes,
                          uint32_t writer_site, uint32_t writer);
/* What a store's access uses of it, or NULL. */
const SimStale *sim_replica_used(const SimThread *t, const SimSite *s, uint32_t access);

/* hints.c */
void sim_hints_clear(SimBlock *b);

/* block_races.c: of blocks. */
void sim_meetings_init(TlArena *arena, SimLaunch *l);
/* The block's access of row i of its table; false: none. */
typedef bool SimMeetingCell(const SimBlock *b, uint32_t i, uintptr_t *key, SimParty *out);
bool sim_blocks_meet(SimBlock *b, SimMeetingCell *cell, TlSimFault *fault);

/* sim.c: of an element of what the first pointer among the operands points to; 0: none. */
uint32_t sim_pointee_bytes(const TlOp *op);

/* warp.c */
double sim_decode(TlDtype t, const unsigned char *p); /* fp32: as tf32 */
size_t sim_mma_room(const SimSite *s);                /* bytes that an mma needs, aligned to 64 */

/* mbarrier.c */
void sim_mbarriers_clear(SimBlock *b);

/* wgmma.c */
size_t sim_wgmma_room(void);

/* count.c: what accesses of a warp cost, gathered lane by lane. */
typedef enum SimCount {
   SIM_COUNT_LOAD,
   SIM_COUNT_STORE,
   SIM_COUNT_SHARED_LOAD,
   SIM_COUNT_SHARED_STORE,
   SIM_COUNT_SHARED_ATOMIC,
} SimCount;
void sim_count_init(SimBlock *b);
/* is_on: false when the lane's predicate keeps it from taking part. */
void sim_count_access(SimThread *t, const TlHostSite *s, SimCount kind, uint32_t access, bool is_on,
                      uint64_t address);
void sim_count_flush(SimBlock *b);
void sim_count_rows(SimBlock *b, const uint32_t *row, unsigned matrices, bool is_store);

static inline void
sim_count(SimThread *t, const TlHostSite *s, SimCount kind, uint32_t access, bool is_on,
          uint64_t address)
{
   if (t->block->counter)
      sim_count_access(t, s, kind, access, is_on, address);
}

static inline bool
sim_pred(const SimSite *s, const TlHostSite *h, const unsigned char *frame, uint32_t access)
{
   assert(!s->is_partial);
   return s->pred < 0 || frame[h->arg_at[s->pred] + (s->num_pred == 1 ? 0 : access)] != 0;
}

/* Bytes of the access that are made, whole elements from the first on. */
static inline uint32_t
sim_part(const SimSite *s, const TlHostSite *h, const unsigned char *frame, uint32_t access)
{
   int32_t bytes;
   if (!s->is_partial)
      return sim_pred(s, h, frame, access) ? s->bytes : 0;
   memcpy(&bytes, frame + h->arg_at[s->pred] + (s->num_pred == 1 ? 0 : 4 * (size_t)access), 4);
   if (bytes <= 0)
      return 0;
   return (uint32_t)bytes < s->bytes ? (uint32_t)bytes - (uint32_t)bytes % s->pointee_bytes
                                     : s->bytes;
}

#endif
