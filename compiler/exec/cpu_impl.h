/* Inside the CPU executor: the plan that a function is compiled to, and the thread that runs it.
 *
 * Every SSA value has a slot: a place in the thread's frame, dense elements in row-major order,
 * each in its native storage (i1: a byte 0 or 1; pointers: 8 bytes).  In checked mode the elements
 * are followed by one shadow byte each: 0 = defined, else the number of the source of
 * undefinedness. */
#ifndef TL_EXEC_CPU_IMPL_H
#define TL_EXEC_CPU_IMPL_H

#include "exec/cpu.h"
#include "exec/ptx.h"
#include "ir/analysis.h"

#include <stdatomic.h>

enum {
   TL_EXEC_CHUNK = 1024,    /* elements a batched region handles at once */
   TL_EXEC_MAX_UNDEF = 255, /* sources of undefined values that are told apart */
   TL_EXEC_LOCKS = 256,
   TL_EXEC_MEMORIES = 8, /* allocations beside the arguments that a thread remembers */
};

typedef struct TlExecThread TlExecThread;
typedef struct TlExecInst TlExecInst;
typedef struct TlExecBlock TlExecBlock;
typedef struct TlExecCell TlExecCell;

/* false: the program stops; the thread's fault is set. */
typedef bool TlExecRule(TlExecThread *t, const TlExecInst *inst);
/* r[i] = op(a[0][i], a[1][i], ...) for i < n; r overlaps no operand, or is one. */
typedef void TlExecKernel(void *r, const void *const *a, size_t n);

typedef struct TlExecSlot {
   const TlType *type;
   TlDtype dtype; /* pointers: TL_U64 */
   uint32_t elem_bytes;
   uint32_t n;      /* elements; of a batched slot: capacity */
   bool is_batched; /* a scalar of a region that is run for many elements at once */
   uint32_t root;   /* number of the storage: slots that share it hold the same elements */
   size_t offset;   /* in the frame */
   size_t shadow;
} TlExecSlot;

/* Parallel assignment at the end of a region. */
typedef struct TlExecCopies {
   uint32_t num;
   const TlExecSlot **from, **to;
   const TlExecSlot *
      *via; /* NULL, or a scratch slot where `from` shares storage with another `to` */
} TlExecCopies;

struct TlExecInst {
   TlExecRule *run;
   const TlOp *op;
   uint32_t num_args, num_results;
   const TlExecSlot **arg, **result;
   TlExecBlock **block;        /* regions */
   TlExecCopies copies, leave; /* yield, condition (go on, stop); for, while: initial values */
   TlExecKernel *kernel;       /* elementwise: native loop or NULL */
   TlExecKernel *half;         /* elementwise on fp16, bf16: the fp32 loop to widen for, or NULL */
   const TlExecSlot **scratch; /* reduce, scan: one for each operand */
   const TlExecInst *direct;   /* reduce, scan: the only operation of the region */
   bool is_swapped;            /* direct: operands are (new, accumulated) */
   bool watch_wrap;            /* checked: an int32 result that reaches an address */
   bool watch_sign;            /* checked: a dividend taken as an index, of an address or mask */
   uint8_t source;             /* checked: number as a source of undefined values */
   uint8_t cut_source;         /* the same for quotients and remainders that floor() changes */
   uint8_t empty_source;       /* the same for what it reads of memory that was never written */
   const TlPtx *ptx;           /* inline_asm: its program, or NULL and why not */
   const char *ptx_error;
   uint32_t number; /* in program order */
};

struct TlExecBlock {
   TlExecInst *inst;
   uint32_t num;
   bool is_batched;
   const TlExecSlot **arg; /* region arguments */
   const TlExecSlot **out; /* what the terminator yields */
   uint32_t num_args, num_outs;
   TlExecCopies captures; /* batched: outer scalars spread over a batch */
};

typedef struct TlExecPlan {
   TlArena *arena;
   const TlFunc *func;
   bool checked;          /* shadows are kept: of a checked or a watched run */
   bool is_strict;        /* of a checked run */
   bool spares_asserts;   /* TlExecOptions */
   bool has_empty;        /* buffers of which reads may be of nothing */
   bool has_nan;          /* a constant is NaN */
   TlExecBlock *prologue; /* constants: once for each thread */
   TlExecBlock *body;
   size_t frame_bytes;
   uint32_t num_roots, num_insts;
   const TlExecInst *source[TL_EXEC_MAX_UNDEF + 1]; /* by source number */
   bool is_empty[TL_EXEC_MAX_UNDEF + 1];            /* by source number: an empty_source */
   bool is_cut[TL_EXEC_MAX_UNDEF + 1];              /* the same: a cut_source */
   unsigned num_sources;
   const char *unsupported; /* set when the function cannot be run; then where and which */
   const TlOp *unsupported_op;
} TlExecPlan;

typedef struct TlExecBuffer {
   uint8_t *data;
   uint64_t base; /* virtual address */
   uint64_t bytes;
   bool is_writable, is_valid;
   const char *name;
   uint32_t elem_bytes; /* of what its parameter points to */
   uint8_t *written;    /* byte by byte, of an empty one in a checked or watched run; or NULL */
   uint8_t *reached;    /* the same, of a fresh one as well: where something was stored */
   _Atomic(const TlExecInst *) store; /* to a reached one: the first of the program's text */
   atomic_bool is_read;               /* by a load or an atomic */
   uint8_t *seen;                     /* by element, of one with dims: where something was loaded */
   _Atomic(const TlExecInst *) load;  /* from it: the first of the program's text */
   atomic_bool is_chosen;             /* what was loaded decides what is loaded from it */
   atomic_bool is_touched;            /* by any access */
   TlExecCell *cells;                 /* one for each element; NULL: races are not looked for */
} TlExecBuffer;

typedef struct TlExecWarning {
   uint64_t program;
   TlExecFault fault;
} TlExecWarning;

/* One launch; shared by its threads. */
typedef struct TlExecRun {
   const TlExecPlan *plan;
   const TlExecOptions *opts;
   const TlExecArg *args;
   TlExecBuffer *buffers; /* by argument */
   TlMap reads;           /* TlOp of a load -> TlExecReads; where buffers have `seen` */
   struct TlExecReads *first_reads;
   const bool *loaded; /* by value id: does what was loaded decide it?  Where buffers have `seen` */
   unsigned num_args;
   uint32_t grid[3];
   uint64_t num_programs;
   uint64_t end_ns;             /* of the monotonic clock; 0 = no deadline */
   bool is_shared;              /* more than one thread */
   atomic_uint_fast64_t next;   /* program */
   atomic_uint_fast64_t failed; /* lowest failed program so far */
   atomic_flag locks[TL_EXEC_LOCKS];
   atomic_flag print_lock;
   atomic_bool has_read_odd;    /* a NaN or infinity was loaded */
   bool has_cells, has_races;   /* these are looked for in the cells */
   _Atomic uint32_t num_stores; /* that were run, where there are cells */
   TlExecWarning *warnings;     /* two by instruction number, the second of races; kind NONE = none;
                               under print_lock */
} TlExecRun;

typedef int64_t TlOperands[2];

struct TlExecThread {
   TlExecRun *run;
   const TlExecPlan *plan;
   uint8_t *frame;
   bool *undef;           /* by root: some element is undefined */
   TlOperands *operands;  /* by source number, the last: of a division that was cut; the index of
                             a gather that is outside, and how many there are; of memory that was
                             never written the argument, from 1 on, and the byte in it */
   bool checked;          /* may end before the run does: shadows are looked at no more */
   uint64_t watch_end_ns; /* of the thread's own time; 0 = it does not */
   uint32_t program[3];
   uint64_t program_number;
   uint64_t steps, ticks;
   uint32_t store;        /* that is run: its number */
   const TlExecInst *odd; /* the first of the program to make NaN or infinity of finite numbers */
   bool odd_of_nan;       /* an exponential whose operand was NaN: infinity less infinity */
   uint64_t work;         /* elements since the clock was looked at */
   uint32_t batch;        /* elements in batched slots now */
   TlExecFault fault;
   uint64_t fault_program;
   bool counts; /* into stats */
   TlExecStats stats;
   TilecMemory memories[TL_EXEC_MEMORIES]; /* what opts->memory has answered, the last ones */
   unsigned next_memory;
   char line[512]; /* device_print */
};

/* ---- cpu_cut.c: quotients of negative numbers, which are cut towards zero ---- */
/* May the division be of negative numbers, and does nothing in the kernel look at their sign? */
bool tl_cpu_may_cut(TlArena *arena, TlAnalysis *facts, const TlFunc *f, const TlOp *division);
/* Is floor() another number for these operands of the division?  They are kept for the report. */
bool tl_cpu_is_cut(TlExecThread *t, const TlExecInst *inst, size_t i);
/* Warns of the division that the source is. */
void tl_cpu_warn_cut(TlExecThread *t, uint8_t source, const TlExecSlot *slot, size_t i);

/* ---- cpu_plan.c ---- */
/* has_empty: some buffer has nothing in it. */
TlExecPlan *tl_cpu_plan(TlArena *arena, const TlFunc *f, const TlExecOptions *o, bool has_empty);

/* ---- cpu.c ---- */
bool tl_cpu_block(TlExecThread *t, const TlExecBlock *block);
/* Counts a round of a loop: false at a limit, or when a program before this one has failed. */
bool tl_cpu_tick(TlExecThread *t, const TlExecInst *inst);
/* False when the time is over, or what this program does is no longer wanted: for long work. */
bool tl_cpu_look(TlExecThread *t, const TlExecInst *inst);
bool tl_cpu_fail(TlExecThread *t, const TlExecInst *inst, TlFaultKind kind);
/* The same for element `i` of the tile in slot. */
bool tl_cpu_fail_at(TlExecThread *t, const TlExecInst *inst, const TlExecSlot *slot, size_t i,
                    TlFaultKind kind);
bool tl_cpu_fail_undefined(TlExecThread *t, const TlExecInst *inst, const TlExecSlot *slot,
                           size_t i, uint8_t source);
void tl_cpu_warn(TlExecThread *t, const TlExecInst *inst, const TlExecSlot *slot, size_t i,
                 TlFaultKind kind, int64_t value);
/* The same with all that the fault `what` says besides the place. */
void tl_cpu_warn_of(TlExecThread *t, const TlExecInst *inst, const TlExecSlot *slot, size_t i,
                    const TlExecFault *what);
void tl_cpu_lock(atomic_flag *lock);
void tl_cpu_unlock(atomic_flag *lock);

/* ---- cpu_stats.c: adds what the instruction, which is about to run, moves and computes ---- */
void tl_cpu_count_inst(TlExecThread *t, const TlExecInst *inst);

/* ---- cpu_races.c ---- */
/* Gives the buffers cells where races, and stores that meet themselves, can be told. */
void tl_cpu_races_open(TlArena *arena, const TlFunc *f, TlExecRun *run);
/* Elements i to i + n of the tile, side by side in one buffer, are about to be loaded or stored. */
void tl_cpu_see_load(TlExecThread *t, const TlExecInst *inst, size_t i, size_t n, uint32_t bytes);
void tl_cpu_see_store(TlExecThread *t, const TlExecInst *inst, size_t i, size_t n, uint32_t bytes,
                      const uint8_t *from, const uint8_t *to);

/* ---- cpu_unwritten.c: warns of them, after a run that went well ---- */
bool tl_cpu_tell_unwritten(TlArena *arena, const TlExecRun *run); /* was there any? */
/* By value id: does what was loaded decide it?  Stays in the arena. */
const bool *tl_cpu_loaded_values(TlArena *arena, const TlFunc *f);
/* Is it done, or of what elements, only where that says so? */
bool tl_cpu_is_chosen(const bool *loaded, const TlOp *op);

/* ---- cpu_unread.c: the same of rows that nothing reads, arrays that nothing touches ---- */
void tl_cpu_unread_open(TlArena *arena, const TlFunc *f, TlExecRun *run);
void tl_cpu_see_read(TlExecThread *t, const TlExecInst *inst, TlExecBuffer *b, uint64_t p, size_t n,
                     uint32_t bytes);
void tl_cpu_tell_unread(TlArena *arena, const TlExecRun *run);

/* ---- rules: one for each name in the exec column of ops.def ---- */
#define TL_OP(id, name, args, n, infer, layout, eval, fold, exec, ...) TlExecRule tl_cpu_##exec;
#include "ir/ops.def"

/* ---- cpu_eltwise.c, cpu_cast.c ---- */
void tl_cpu_pick_kernel(TlExecInst *inst);
TlExecKernel *tl_cpu_cast_kernel(TlDtype from, TlDtype to, TlRounding rounding);
/* How many of the numbers are NaN or infinite; of types that have neither: none. */
size_t tl_cpu_num_odd(TlDtype t, const void *data, size_t n);
/* The operation of an elementwise instruction on raw arrays. */
void tl_cpu_apply(const TlExecInst *inst, void *r, const void *const *a, size_t n);
void tl_cpu_widen(TlDtype t, float *to, const void *from, size_t n);  /* fp16 or bf16 */
void tl_cpu_narrow(TlDtype t, void *to, const float *from, size_t n); /* rounds to nearest even */

/* ---- cpu_shape.c ---- */
void tl_cpu_fill(void *to, const void *value, uint32_t elem_bytes, size_t n);
void tl_cpu_copies(TlExecThread *t, const TlExecCopies *c);
void tl_cpu_copy(TlExecThread *t, const TlExecSlot *from, const TlExecSlot *to);

/* ---- access ---- */
static inline void *
tl_cpu_data(TlExecThread *t, const TlExecSlot *s)
{
   return t->frame + s->offset;
}
static inline uint8_t *
tl_cpu_shadow(TlExecThread *t, const TlExecSlot *s)
{
   return t->frame + s->shadow;
}
static inline bool
tl_cpu_is_undef(const TlExecThread *t, const TlExecSlot *s)
{
   return t->checked && t->undef[s->root];
}
static inline size_t
tl_cpu_count(const TlExecThread *t, const TlExecSlot *s)
{
   return s->is_batched ? t->batch : s->n;
}
/* Marks every element of the slot, or none. */
void tl_cpu_mark(TlExecThread *t, const TlExecSlot *s, uint8_t source);
/* An operand that decides something: false (with a fault) if its first element is undefined. */
bool tl_cpu_want_defined(TlExecThread *t, const TlExecInst *inst, unsigned arg);

#endif
