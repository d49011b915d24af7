/* One block for many programs: a loop over the tiles of a grid, for kernels whose warps have roles.
 * While the consumers store a tile, the producer already copies for the next one; and no block
 * starts or ends in between. */
#ifndef TL_PASSES_PERSIST_GRID_H
#define TL_PASSES_PERSIST_GRID_H

#include "ir/target.h"
#include "passes/program_lengths.h"

/* What the programs of a grid are to each other. */
typedef struct TlTilePlan {
   TlOp *const *loops; /* those that roles share */
   size_t num;
   TlWay way; /* of their lengths along axis 0: where they differ, long and short ones take turns */
   const char *short_when; /* TlFunc.short_when; NULL: it pays however long programs are */
} TlTilePlan;

/* Cycles of a program's products below which it is short.  A block's beginning and end, some 4,000
 * cycles, are hidden where it runs many programs, but each n-th program to a block is a worse share
 * than the GPU's own, which costs 4 %.  Measured on attention, D 128, of 16 (less), 32 (equal) and
 * 128 iterations (more) of 2,048 cycles. */
enum { TL_SHORT_PROGRAM = 50000 };

/* NULL when the programs of f may run one after the other in one block; the plan has the loops, and
 * gets the rest.  only_sums: they do nothing but add up products.  Else why not. */
const char *tl_why_not_persistent(TlArena *arena, const TlFunc *f, const TlTarget *target,
                                  bool only_sums, TlTilePlan *plan);

/* for tile in range(block_id, num_programs, num_blocks): the kernel, program_id from the tile.
 * What is scalar and the same in all tiles stays in front. */
void tl_persist_grid(TlArena *scratch, TlFunc *f, const TlTarget *target, const TlTilePlan *plan);

/* Of a role in such a kernel that loop; NULL: it has none. */
TlOp *tl_loop_over_tiles(const TlOp *role);

#endif
