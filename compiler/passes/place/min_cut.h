/* Minimum cut of a small graph: which of two labels each node takes when labels cost something
 * alone and in pairs.  Integer capacities; everything lives in the arena given. */
#ifndef TL_PASSES_PLACE_MIN_CUT_H
#define TL_PASSES_PLACE_MIN_CUT_H

#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct TlCutEdge {
   uint32_t to;
   int32_t next; /* of the same node, -1 = none */
   int64_t left; /* capacity; edge i ^ 1 runs the other way */
} TlCutEdge;

typedef struct TlCut {
   TlArena *arena;
   uint32_t num; /* nodes; two more are source and sink */
   int32_t *first;
   int32_t *level, *at;
   TL_VEC(TlCutEdge) edges;
   int64_t *cost; /* of label 1 over label 0, by node */
} TlCut;

void tl_cut_init(TlCut *cut, TlArena *arena, uint32_t num_nodes);
/* Label 1 of the node costs this much more than label 0 (negative: less). */
static inline void
tl_cut_add(TlCut *cut, uint32_t node, int64_t cost)
{
   cut->cost[node] += cost;
}
/* Cost of the labels (a, b): cost[label of a][label of b].  Pairs that would rather differ than
 * agree cannot be expressed; that part of their cost is left out. */
void tl_cut_add_pair(TlCut *cut, uint32_t a, uint32_t b, int64_t cost[2][2]);
/* label[node] of a cheapest labelling; of equal ones the one with the fewest nodes at 1. */
void tl_cut_solve(TlCut *cut, bool *label);

#endif
