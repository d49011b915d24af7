/* What the distributed programs share: their options, how ranks start (threads of this process,
 * mpirun, or processes that find each other by a folder), and a rank's kernels, buffers and events.
 *
 * Errors stick: after the first one every call of that rank does nothing, and rank_main prints it:
 * "rank 2 of 4: …".  So a program is written as if nothing could fail and looks at rank_failed
 * where it loops or reads results. */
#ifndef DISTRIBUTED_RANKS_H
#define DISTRIBUTED_RANKS_H

#include "comm.h"
#include "driver.h"
#include "support.h"

enum { RANK_MAX_DEFINES = 8 };

/* Zero: the program's own default, unless said otherwise. */
typedef struct Options {
   const char *program;
   TilecExecutor executor;
   unsigned threads; /* ranks in this process; 0: one */
   const char *meet; /* a folder where ranks find each other, with rank and ranks */
   unsigned rank, ranks;
   const char *driver; /* path of libcuda.so.1 */
   const char *nccl;   /* path of the library */
   const char *source_dir;
   const char *cache_dir;
   double timeout_s;
   unsigned repeats; /* of the timed part; 0: not timed */
   bool graph;       /* the timed part is one CUDA graph */
   bool no_check;    /* leaves the comparison with one process out */
   bool backward;
   bool time_line;
   bool bandwidth;   /* times the transfers alone as well */
   TilecDtype dtype; /* of the arrays */
   TilecDtype sum;   /* of what is added between ranks */
   unsigned tokens, heads, group, dim, block_m, block_n, block_k;
   unsigned hidden, wide, chunks; /* of the tensor-parallel pair */
   int fault_rank;                /* -1: none */
   unsigned fault_step;
   char fault[8]; /* "die", "hang" or "fail" */
} Options;

typedef struct Rank {
   const Options *options;
   Comm *comm;
   unsigned rank, size;
   TilecRuntime *rt;
   Driver driver;       /* on a GPU */
   TilecStream work;    /* kernels are launched on it; NULL on host executors */
   uint64_t held, sent; /* bytes of the arrays made so far; handed to the transport so far */
   bool has_abandoned;  /* a GPU whose kernel does not end */
   char error[COMM_ERROR_BYTES];
} Rank;

/* Reads the options, starts the ranks, runs `body` on each; the exit status: 0, 1 a wrong result,
 * 2 wrong usage, 3 a rank failed.  `body` returns whether its results are right. */
int rank_main(Options *defaults, int argc, char **argv, bool (*body)(Rank *r));

static inline bool
rank_failed(const Rank *r)
{
   return r->error[0] != 0;
}
__attribute__((format(printf, 2, 3))) void rank_fail(Rank *r, const char *format, ...);
/* Checks a status of the runtime. */
void rank_must(Rank *r, TilecStatus status, const char *what);
/* Compares what all ranks are about to run: the options that matter, and these sources. */
void rank_compare_kernels(Rank *r, const char *const *files, unsigned num_files);
/* Rank 0 prints; "" for the others. */
__attribute__((format(printf, 2, 3))) void rank_say(const Rank *r, const char *format, ...);
/* Dies, hangs or fails here when the options ask this rank to. */
void rank_fault(Rank *r, unsigned step);

/* ---- Kernels, buffers ------------------------------------------------------------------------ */

/* `defines`: "D=64 CAUSAL=True", or "". */
ExKernel rank_kernel(Rank *r, const char *file, const char *kernel, const char *defines);
void rank_launch(Rank *r, const ExKernel *k, const TilecArg *args, size_t num_args);
#define RANK_LAUNCH(r, k, ...)                                                                     \
   rank_launch((r), (k), TILEC_ARGS(__VA_ARGS__), TILEC_COUNT(__VA_ARGS__))

/* Memory with its element type. */
typedef struct Array {
   TilecDtype dtype;
   TilecBuffer *buffer;
} Array;
Array rank_array(Rank *r, TilecDtype dtype, size_t elems);
void rank_free_array(Array *a);
/* The array from an element on. */
TilecArg rank_at(const Array *a, size_t elem);
char *rank_address(const Array *a, size_t elem);

/* ---- Transfers, which are the communicator's ------------------------------------------------- */

void rank_after(Rank *r);
void rank_before(Rank *r);
void rank_exchange(Rank *r, const CommPart *parts, unsigned count);
void rank_reduce_scatter(Rank *r, const void *send, void *recv, size_t elems, TilecDtype dtype);
/* Waits for all launches and transfers. */
void rank_sync(Rank *r);
void rank_gather(Rank *r, const void *mine, size_t bytes, void *all);
/* The largest of all ranks' values. */
double rank_max(Rank *r, double mine);

/* ---- Comparing ------------------------------------------------------------------------------- */

/* What programs of arrays.tile's `differences` write: two sums each. */
typedef struct RankSums {
   Array array;
   size_t programs;
} RankSums;
RankSums rank_sums_open(Rank *r, size_t programs);
TilecArg rank_sums_at(const RankSums *s, size_t program);
/* The relative L2 distance, the largest of all ranks'. */
double rank_sums_close(Rank *r, RankSums *s);
/* Prints the distance from what one process computes; false when it is too large. */
bool rank_is_near(Rank *r, const char *what, double distance, double allowed);

/* ---- Time ------------------------------------------------------------------------------------ */

/* Events of one run: MARKS for each step, on the work's stream and around transfers. */
typedef enum Mark { MARK_WORK_BEGIN, MARK_WORK_END, MARK_MOVE_BEGIN, MARK_MOVE_END, MARKS } Mark;
/* `marks` NULL: nothing is recorded. */
void rank_mark(Rank *r, TilecEvent **marks, size_t step, Mark which);
/* Runs with *marks set, and prints for every rank when kernels and transfers of its `steps` ran,
 * the last `unmoved` of which have no transfer. */
void rank_time_line(Rank *r, void (*run)(Rank *r, void *user), void *user, TilecEvent ***marks,
                    unsigned steps, unsigned unmoved);

/* The median over `repeats` of how long `run` takes, of the slowest rank, in milliseconds; as one
 * CUDA graph where the options ask for it. */
double rank_time(Rank *r, void (*run)(Rank *r, void *user), void *user);
#endif
