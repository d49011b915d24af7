/* One block for many programs: a loop over the tiles of a grid, for kernels whose warps have roles.
 * While the consumers store a tile, the producer already copies for the next one; and no block
 * starts or ends in between. */
#ifndef TL_PASSES_PERSIST_GRID_H
#define TL_PASSES_PERSIST_GRID_H

#include "ir/ir.h"

/* The loop, and what stands for the program's place on each axis in it. */
typedef struct TlTileLoop {
   TlOp *loop;
   TlValue *place[3];
} TlTileLoop;

/* NULL when the programs of f may run one after the other in one block, and all have about the same
 * to do in the given loops; else why not. */
const char *tl_why_not_persistent(TlArena *arena, const TlFunc *f, TlOp *const *loops, size_t num);

/* for tile in range(block_id, num_programs, num_blocks): the kernel, program_id from the tile.
 * What is scalar and the same in all tiles stays in front. */
TlTileLoop tl_persist_grid(TlArena *scratch, TlFunc *f);
/* The kernel as it was; nothing may have been rewritten in between. */
void tl_unpersist_grid(const TlTileLoop *tiles);

#endif
