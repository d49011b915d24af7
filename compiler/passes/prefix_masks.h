/* Masks whose true elements come first: `i < n`, with i counting up along a dimension and n the
 * same for neighbours, as the last tile of a row has.  A vector of such an access is inside,
 * outside or begins inside, and one number says how much of it is. */
#ifndef TL_PASSES_PREFIX_MASKS_H
#define TL_PASSES_PREFIX_MASKS_H

#include "ir/analysis.h"
#include "ir/ir.h"

/* Along `dim`, in each aligned group of this many elements, no true element follows a false one. */
uint32_t tl_mask_prefix(TlAnalysis *facts, const TlValue *mask, unsigned dim);

/* i32, of the mask's shape: how many of the `vec` elements from this one on are inside, times
 * elem_bytes; 0 where the mask is false.  It holds for the first element of each aligned group of
 * `vec`, at most tl_mask_prefix.  Built at the cursor. */
TlValue *tl_mask_bytes(TlAnalysis *facts, TlBuilder *b, TlValue *mask, unsigned dim, uint32_t vec,
                       unsigned elem_bytes);

#endif
