/* How a tile lies in registers and shared memory once it is lowered: what the passes before `lower`
 * ask it, so that they decide and count by what it will do. */
#ifndef TL_PASSES_LOWER_H
#define TL_PASSES_LOWER_H

#include "ir/analysis.h"
#include "layout/convert_plan.h"
#include "passes/pass.h"

/* Layout of a tile with repeats folded: one register for each bit that is left. */
TlLinear tl_layout_of(const TlType *t);
/* What shared memory and shuffles carry for an element: i1 as i8, pointers as i64. */
TlDtype tl_memory_dtype(const TlType *elem);

uint32_t tl_axis_mask(const TlLinear *l, unsigned axis); /* element bits of the axis */
/* Every hardware bit moves along the axis by one bit, or not at all; no two by the same. */
bool tl_axis_is_separate(const TlLinear *l, unsigned axis);

/* How a tile of `elem` gets from one layout to the other; false when there is no way. */
bool tl_plan_conversion(const TlType *elem, const TlLinear *from, const TlLinear *to,
                        TlConvertPlan *plan);
/* Bytes of one access when the load is a copy to that buffer: below 4 it is not asynchronous. */
unsigned tl_async_copy_bytes(TlArena *arena, TlAnalysis *facts, const TlOp *load,
                             const TlType *buffer);

uint32_t tl_memdesc_stage_bytes(const TlType *memdesc);
/* Scratch bytes that lowering this operation needs. */
uint32_t tl_scratch_bytes(TlArena *arena, const TlFunc *f, const TlOp *op);
/* Shared memory of a block that lowering f (LAID), as it stands, would take. */
uint64_t tl_shared_bytes_for(TlPassCx *cx, TlFunc *f);

#endif
