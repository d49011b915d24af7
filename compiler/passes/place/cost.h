/* What layouts cost, for the choice between them.  The unit is a quarter of a cycle of one
 * multiprocessor: an instruction of one warp on the arithmetic pipes costs 1, a wavefront of shared
 * memory or a shuffle 4, a sector of 32 bytes of global memory 2, or 4 of a store that leaves a
 * part of it.  The figures are rates of sm_80 to sm_90, not latencies; what counts is that one
 * block's costs are comparable.  A barrier is charged as a fixed number of cycles.
 * docs/decisions/0009-layouts-by-cost.md gives reasons. */
#ifndef TL_PASSES_PLACE_COST_H
#define TL_PASSES_PLACE_COST_H

#include "passes/coalesce.h"
#include "passes/place/impl.h"
#include "passes/place/place.h"

typedef struct TlPlaceCosts TlPlaceCosts;

TlPlaceCosts *tl_place_costs_new(TlPlace *p, TlArena *arena);
/* Small number of an interned layout: equal layouts, equal numbers. */
unsigned tl_place_layout_index(TlPlaceCosts *c, const TlLinear *layout);
/* Of a tile of `elem` from one layout to the other, in registers, by shuffles or through shared
 * memory; INT64_MAX / 4 when there is no way. */
int64_t tl_place_cost_convert(TlPlaceCosts *c, const TlType *elem, const TlLinear *from,
                              const TlLinear *to);
/* What a load that is copied to a ring takes to be read in a layout, from rows that lie as they
 * do in global memory, or swizzled. */
int64_t tl_place_cost_ring_read(TlPlaceCosts *c, const TlOp *load, const TlLinear *to);
/* Operand `index` of a dot, from a value in layout `from`. */
int64_t tl_place_cost_dot_operand(TlPlaceCosts *c, const TlDotForm *f, unsigned index,
                                  const TlType *tile, const TlLinear *from);
/* The operation itself with this home: memory accesses by instructions and sectors, elementwise
 * work by registers (copies included), reductions by what crosses lanes and warps. */
int64_t tl_place_cost_op(TlPlaceCosts *c, const TlOp *op, const TlLinear *home);
/* Does an elementwise operation take longer than a value's exchange between lanes, as a 64-bit
 * quotient by what is not known does? */
bool tl_place_is_long(const TlOp *op);

/* How one warp of a layout accesses memory. */
typedef struct TlAccessCost {
   unsigned vec;          /* elements of one instruction */
   unsigned instructions; /* of one warp */
   unsigned sectors;      /* of one instruction of the first warp */
   bool fills_sectors;    /* every byte of them is its own */
} TlAccessCost;
TlAccessCost tl_place_access_cost(const TlAccess *a, const TlLinear *layout, unsigned vec);

#endif
