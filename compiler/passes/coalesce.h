/* Global memory accesses: how many elements one instruction may take, and the register layout that
 * makes accesses wide and neighbouring lanes touch neighbouring addresses. */
#ifndef TL_PASSES_COALESCE_H
#define TL_PASSES_COALESCE_H

#include "ir/analysis.h"
#include "ir/ir.h"
#include "ir/target.h"

/* What the addresses of a tile allow, whatever its layout. */
typedef struct TlAccess {
   unsigned dim;         /* dimension along which addresses are contiguous */
   uint32_t contiguity;  /* neighbouring elements along it, a power of two */
   uint32_t align_bytes; /* of the first of them, a power of two, at most 16 counts */
   uint32_t mask_run;    /* neighbouring elements that share one mask value */
   uint32_t mask_prefix; /* .. or of which the first some are accessed; at least mask_run */
   unsigned elem_bytes;
   unsigned order[TL_MAX_RANK]; /* dimensions, most contiguous first */
   uint32_t equal[TL_MAX_RANK]; /* neighbours for which a load gives the same, a power of two */
} TlAccess;
/* Of an operation on a tile of pointers. */
TlAccess tl_access_of(TlAnalysis *facts, const TlOp *op);
/* Register bits whose elements a load need not fetch: copies, and what equals its neighbour. */
uint32_t tl_access_equal_regs(const TlAccess *a, const TlLinear *layout);
/* Elements of one access of at most 16 bytes, a power of two. */
unsigned tl_access_vec(const TlAccess *a);
/* At most `vec`; vectors below 4 bytes are not accessed in part. */
unsigned tl_access_vec_of(const TlAccess *a, unsigned vec);
/* The same bounded by what the layout puts in consecutive registers of a thread. */
unsigned tl_access_vec_in(const TlAccess *a, const TlLinear *layout);

/* May one instruction of the access take several elements?  Of atomics only float sums whose old
 * values nobody asks for. */
bool tl_access_has_vectors(const TlTarget *target, const TlOp *op);

/* Fewer rows (along `dim`) than warps, and long ones: several warps have a row together whatever is
 * done, so all of them best have every row.  None is idle then where rows are masked, and what
 * belongs to a column (weights, sums) is in one thread, not again in those of each row; but lanes
 * exchange the sums of all rows, which loops may do in each iteration.  Long: a thread has at least
 * as many elements of a row as there are rows, or what belongs to a row (its address, its factor)
 * would take more registers than that saves, and 4 for the lanes to exchange one sum. */
bool tl_rows_are_shared(const TlType *tile, unsigned dim, unsigned num_warps);

/* Blocked layout: vec elements a thread along order[0], lanes along order[0] and on, warps over
 * what is left of the slowest dimensions first. */
TlLinear tl_blocked_layout(unsigned rank, const uint32_t *shape, const unsigned *order,
                           unsigned vec, unsigned num_warps);
/* The same, but all warps along every row of order[0] where rows are shared. */
TlLinear tl_shared_blocked_layout(unsigned rank, const uint32_t *shape, const unsigned *order,
                                  unsigned vec, unsigned num_warps);
/* The same with warps beside the lanes, along order[0] first: a thread has few indices of that
 * dimension and more of the others. */
TlLinear tl_long_blocked_layout(unsigned rank, const uint32_t *shape, const unsigned *order,
                                unsigned vec, unsigned num_warps);
/* The layout of tiles that nothing else decides. */
TlLinear tl_default_layout(unsigned rank, const uint32_t *shape, unsigned num_warps);

#endif
