/* What memory accesses of one warp cost, counted from the addresses of its 32 lanes.
 * Shared memory has 32 banks of 4 bytes; a warp access is served in groups of lanes (32 lanes for
 * up to 4 bytes each, 16 for 8, 8 for 16), each group in as many wavefronts as the most loaded bank
 * has different words.  Global memory is read in sectors of 32 bytes, tagged in lines of 128. */
#ifndef TL_LAYOUT_COST_H
#define TL_LAYOUT_COST_H

#include "layout/linear.h"

typedef struct TlSharedCost {
   unsigned wavefronts; /* of one warp access */
   unsigned minimum;    /* without conflicts: the number of lane groups */
} TlSharedCost;

/* bytes: 1..16, a power of two; every address a multiple of it. */
TlSharedCost tl_cost_shared(const uint32_t lane_addr[32], unsigned bytes);
/* Of ldmatrix and stmatrix: rows of 16 bytes, eight of a matrix, which are served together. */
TlSharedCost tl_cost_matrices(const uint32_t *row_addr, unsigned matrices);
/* Lane addresses that are linear: address = XOR of lane_col[i] over set lane bits. */
TlSharedCost tl_cost_shared_linear(const uint32_t *lane_col, unsigned lane_bits, unsigned bytes);

typedef struct TlGlobalCost {
   unsigned sectors; /* distinct 32-byte sectors of one warp access */
   unsigned lines;   /* distinct 128-byte lines */
} TlGlobalCost;

TlGlobalCost tl_cost_global(const uint64_t lane_addr[32], unsigned bytes);

/* Shared address columns (bytes) of every hardware bit of l in arrangement `shared`: the address of
 * an element is the XOR over set bits.  False when `shared` is not a bijection. */
bool tl_cost_offset_columns(const TlLinear *l, const TlLinear *shared, unsigned elem_bytes,
                            uint32_t *col);

#endif
