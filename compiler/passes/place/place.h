/* Layout rules and costs of place_layouts, for passes that run after it. */
#ifndef TL_PASSES_PLACE_H
#define TL_PASSES_PLACE_H

#include "layout/convert_plan.h"
#include "passes/pass.h"

/* The layout of operand 0 that gives the result of a trans, reshape or expand_dims this layout (the
 * interned one); NULL when there is none. */
const TlLinear *tl_place_renamed_source(TlPassCx *cx, TlFunc *f, const TlOp *op,
                                        const TlLinear *result);

/* Wavefronts of all warps of a block that store a tile in layout `regs` to an arrangement, or load
 * it from there; of warps that hold the same elements one stores. */
typedef enum TlTileMove { TL_TILE_STORE, TL_TILE_LOAD } TlTileMove;
int64_t tl_place_shared_wavefronts(const TlLinear *regs, const TlLinear *memory,
                                   unsigned elem_bytes, TlTileMove move);
/* Of a planned conversion, in wavefronts, barriers included. */
int64_t tl_place_conversion_wavefronts(const TlConvertPlan *plan, unsigned elem_bytes);

#endif
