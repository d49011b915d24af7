/* The CPU executor: runs TYPED (and LAID: layouts are ignored) IR, whole tiles at a time, with the
 * exact element models of ir/dtype.h and ir/eval.h.  It is the meaning of the language: every
 * memory access is checked, and whatever goes wrong is reported with source range, program id,
 * element of the tile, buffer and index.
 *
 * Pointers are virtual: argument i, when a buffer, lives at (i + 17) << 44 plus the low 12 bits of
 * its host address, so that alignment facts hold and an index that runs out of bounds on either
 * side still belongs to its own buffer.  tl_exec_address() gives that address, for tables of
 * pointers.  Below 16 << 44 = 2^48 are the addresses of the process itself: what a kernel reads
 * from a table that its host filled.  Whose they are TlExecOptions.memory is asked; the same of
 * bytes in front of an argument, which may begin in the middle of its allocation.
 *
 * Order and accuracy: memory operations of one program happen in program order, element 0 first;
 * programs are independent and spread over threads; atomics are atomic between them.  `dot` sums
 * exact products in double, starting from the accumulator, k ascending, and rounds once to the
 * accumulator's type (fp32 inputs are first rounded to tf32 unless precision says otherwise).
 * `reduce` folds a balanced tree that keeps element order; `scan` folds from its end of the axis,
 * one by one. */
#ifndef TL_EXEC_CPU_H
#define TL_EXEC_CPU_H

#include "ir/ir.h"
#include "tilec/arg.h"

enum {
   TL_EXEC_BUFFER_BITS = 44,
   TL_EXEC_HOST_BUFFERS = 16, /* numbers of buffers that addresses of the process would have */
};

/* One for each run-time parameter, in order. */
typedef struct TlExecArg {
   bool is_buffer;
   bool is_writable; /* buffer: stores and atomics are allowed */
   bool is_empty;    /* buffer: nothing is in it that means anything (checked, watched) */
   bool is_fresh;    /* buffer: made for the run; elements that it leaves out are told (likewise) */
   bool is_asked;    /* buffer: that nothing touches it is told (likewise) */
   unsigned rank; /* buffer: of the array in it; rows and the like that a kernel which reads it */
   const uint64_t *dims;  /* leaves out are told (likewise).  NULL: they are not */
   unsigned shape_rank;   /* buffer: of the array in it, for words alone */
   const uint64_t *shape; /* its sizes; NULL: they are not known */
   TlBits bits;    /* not a buffer: the scalar, or an address made by tl_exec_address, 0 = null */
   void *data;     /* buffer: first byte */
   uint64_t bytes; /* buffer: size, below 2^43 */
   uint64_t unwritten; /* buffer that is older than the run: bytes at its end, all of them at most,
                          that nothing has written (checked, watched; not on the simulator, where
                          reading is told of whatever becomes of it) */
   const char *name;   /* for reports; NULL = the parameter's name */
} TlExecArg;

typedef enum TlExecStatus {
   TL_EXEC_OK,
   TL_EXEC_FAULT,        /* the program broke a rule */
   TL_EXEC_LIMIT,        /* steps, time or memory ran out */
   TL_EXEC_BAD_ARGUMENT, /* arguments do not fit the parameters */
   TL_EXEC_UNSUPPORTED,  /* an operation that only a GPU can run */
} TlExecStatus;

/* The place in the grid of the program with that number: x goes round first. */
static inline void
tl_exec_program(const uint32_t grid[3], uint64_t number, uint32_t program[3])
{
   program[0] = (uint32_t)(number % grid[0]);
   program[1] = (uint32_t)(number / grid[0] % grid[1]);
   program[2] = (uint32_t)(number / grid[0] / grid[1]);
}

typedef enum TlFaultKind {
   TL_FAULT_NONE,
   TL_FAULT_BOUNDS, /* outside its buffer */
   TL_FAULT_WILD,   /* an address that belongs to no buffer */
   TL_FAULT_MISALIGNED,
   TL_FAULT_READ_ONLY,
   TL_FAULT_INDEX, /* histogram value outside the bins */
   TL_FAULT_ASSERT,
   TL_FAULT_ASSERT_SEEN,    /* watched, a warning: the same of one that would be left out */
   TL_FAULT_ASSUME,         /* checked: a promise that does not hold */
   TL_FAULT_UNDEFINED,      /* checked: an undefined value decides or is stored */
   TL_FAULT_UNDEFINED_SEEN, /* watched, a warning: the same */
   TL_FAULT_RACE,           /* watched or checked, a warning: programs access one element */
   TL_FAULT_TWICE,          /* likewise: a store has two values for one element */
   TL_FAULT_UNWRITTEN,      /* likewise: elements of a fresh buffer are left out */
   TL_FAULT_UNREAD,         /* likewise: nothing reads a row or column of a buffer */
   TL_FAULT_UNTOUCHED,      /* likewise: nothing reads or writes a buffer */
   TL_FAULT_WRAP,           /* checked, a warning: an int32 index wrapped */
   TL_FAULT_SIGN,           /* checked, a warning: an index that is divided is negative */
   TL_FAULT_OVERFLOW,       /* watched, a warning: a sum of finite numbers is infinite */
   TL_FAULT_UNFIT,          /* watched, a warning: an integer does not hold what it is made of */
   TL_FAULT_NOT_FINITE, /* watched, a warning: NaN or infinity is stored, made of finite numbers */
   TL_FAULT_CUT,        /* watched, a warning: a quotient or remainder of a negative number */
   TL_FAULT_LONG_SUM,   /* watched, a warning: a sum of int32 wraps */
   TL_FAULT_STEP,       /* a loop whose step is zero */
   TL_FAULT_STEPS,
   TL_FAULT_TIME,
   TL_FAULT_MEMORY,
   TL_FAULT_ARGUMENT,
   TL_FAULT_GRID, /* more programs than 64 bits can count */
   TL_FAULT_UNSUPPORTED,
} TlFaultKind;

/* Of an access: what may keep elements from being accessed. */
typedef enum TlExecMask {
   TL_EXEC_MASK_UNKNOWN = 0,
   TL_EXEC_MASK_NONE,
   TL_EXEC_MASK_TRUE,     /* there is one, and it is true at the element */
   TL_EXEC_MASK_BLOCK,    /* of a block with a shape, which is larger than what is there */
   TL_EXEC_MASK_NO_CHECK, /* of a block whose bounds are not checked */
} TlExecMask;

typedef struct TlExecFault {
   TlFaultKind kind;
   TlRange range;  /* of the operation */
   const char *op; /* its name: "load" */
   uint32_t program[3];
   uint32_t rank;                 /* of the tile; 0 = scalar */
   uint32_t element[TL_MAX_RANK]; /* index within the tile */
   uint32_t other[3];             /* RACE: the other program, when `limit` is not -1 */
   uint32_t peer[TL_MAX_RANK];    /* TWICE: the other element of the tile */
   const char *buffer;            /* its name, of faults of an access, RACE, TWICE, UNWRITTEN */
   int64_t byte;                  /* offset of the access from the start of the buffer; UNWRITTEN:
                                     of the first element that is left out */
   uint32_t bytes;                /* accessed; UNREAD: 1 where the last ones are left out */
   uint32_t elem_bytes;           /* of an element of the buffer; 0: as many as `bytes` */
   uint64_t buffer_bytes;
   TlExecMask mask;  /* BOUNDS */
   uint64_t address; /* WILD: as the kernel computed it */
   int64_t value,
      limit; /* INDEX: value, number of bins; WRAP: full result; SIGN: value; CUT: operands; STEPS,
                TIME (ms), MEMORY: the limit; ARGUMENT: value, divisor; UNFIT: value, the greatest;
                UNWRITTEN: elements, and are they all from the first on?  UNREAD: how many are
                read, and of how many; NOT_FINITE: with is_shifted the axis of the maximum, and how
                many axes its tile has; UNDEFINED, of a gather: the index, how many there are */
   TlRange origin; /* UNDEFINED, NOT_FINITE: where the value comes from */
   const char *origin_op;
   bool is_unwritten; /* UNDEFINED: the memory was never written */
   bool is_shifted;   /* NOT_FINITE: made by exp(x - maximum) .. */
   bool is_of_nan;    /* .. by exp of NaN */
   TlRange left_out;  /* .. of a maximum of what a mask leaves out: where; empty: not known */
   bool is_chosen;    /* .. by where, not by a load */
   bool is_filled;    /* .. by the load's `other`, a finite number */
   bool is_behind;    /* UNREAD: all behind what is left out are read */
   /* ASSERT: message; OVERFLOW, UNFIT: the type; NOT_FINITE: "nan", "inf"; RACE: what the other
    * program does; UNREAD: "rows"; ARGUMENT, UNSUPPORTED: what is wrong; NULL: see `own` */
   const char *text;
   const char *cause; /* BOUNDS, RACE, UNWRITTEN, UNREAD: the likeliest, as a help, or NULL */
   char own[192]; /* UNSUPPORTED: what is wrong, cut, when the words were made by the run; UNREAD:
                     the first that is left out, x[:, 3] */
} TlExecFault;

/* What a launch moved and computed: the bytes of elements that masks left on, and operations on
 * floats (one for each element, two of fma, 2 * M * N * K of dot, none of conversions). */
typedef struct TlExecStats {
   uint64_t load_bytes, store_bytes, flops;
} TlExecStats;

typedef struct TlExecOptions {
   unsigned threads;    /* 0 = one for each core that this process may use */
   bool checked;        /* look for undefined values, wrapped indices, broken promises as well */
   bool spares_asserts; /* those of the program would be left out: watched, they are warnings */
   bool watched;        /* undefined values and races are warnings, and the run goes on */
   uint64_t watch_ms;   /* watched: each thread does so for so much of its own time, and races are
                          not looked for in large arrays; 0 = of all of the launch */
   uint64_t max_steps;  /* operations one program may run; 0 = no limit */
   uint64_t max_ms;     /* wall time of the launch; 0 = no limit */
   uint64_t max_bytes;  /* tile memory of all threads; 0 = 4 GiB */
   const volatile int *cancel; /* non-zero: no further program is begun; may be NULL */
   /* device_print; one call at a time; the line has its newline; NULL = dropped */
   void (*print)(void *user, const char *line, size_t len);
   /* checked, watched; after the run, in source order, of each operation at most one, and one of
    * races: of the programs that give it, up to one that fails, the one with the lowest number */
   void (*warn)(void *user, const TlExecFault *warning);
   /* The allocation that holds the byte at that address of the process; false = nobody's.  Called
    * by any thread, only where an access would be a fault otherwise; NULL = false. */
   TilecMemoryFn *memory;
   TlExecStats *stats; /* added up here; NULL = not counted */
   void *user;
} TlExecOptions;

/* Runs grid[0] * grid[1] * grid[2] programs.  opts may be NULL.  When the result is not TL_EXEC_OK,
 * *fault says why: of all programs that fail the one with the lowest number is reported, whatever
 * the number of threads.  Texts of the fault live as long as f and args.  f must verify. */
TlExecStatus tl_exec_cpu(const TlFunc *f, const TlExecArg *args, unsigned num_args,
                         const uint32_t grid[3], const TlExecOptions *opts, TlExecFault *fault);

/* The virtual address of the first byte of buffer argument `index`. */
uint64_t tl_exec_address(const TlExecArg *args, unsigned index);
/* Of the buffer that a virtual address lies in or beside, from 0 on; all others have numbers that
 * no argument has. */
static inline uint64_t
tl_exec_buffer_number(uint64_t address)
{
   uint64_t half = (uint64_t)1 << (TL_EXEC_BUFFER_BITS - 1);
   return ((address + half) >> TL_EXEC_BUFFER_BITS) - 1 - TL_EXEC_HOST_BUFFERS;
}

/* The function of the language that makes the promise of a hint: "max_contiguous". */
const char *tl_exec_promise(const TlOp *hint);
/* Copies words that die with the run into the fault. */
void tl_exec_own_text(TlExecFault *fault);
/* Turns a fault or warning into a diagnostic with its notes and help. */
void tl_exec_report(TlDiags *diags, const TlExecFault *fault);

/* The argument of f that the pointers come of; -1: it is not known. */
int tl_exec_argument_of(const TlFunc *f, const TlValue *v);

#endif
