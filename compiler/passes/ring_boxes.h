/* Stages of rings that boxes of a tensor fill, in place of copies by threads. */
#ifndef TL_PASSES_RING_BOXES_H
#define TL_PASSES_RING_BOXES_H

#include "passes/box_access.h"
#include "passes/pipeline_loops.h"

/* NULL when boxes can fill the load's stage. */
const char *tl_why_no_boxes(const TlPipe *p, const TlRingLoad *l);
/* How they fill it, the map and the coordinates made; NULL with *why. */
TlBoxAccess *tl_ring_boxes(TlPipe *p, const TlRingLoad *l, const char **why);
/* Says that boxes copy what `load` reads. */
void tl_boxes_remark(const TlPassCx *cx, const TlOp *load, const TlBoxes *boxes);
/* Says how the load is copied: `why` not by boxes, NULL where they copy it. */
void tl_ring_boxes_remark(const TlPassCx *cx, const TlRingLoad *l, const char *why);
/* The copy of one stage, where pred is true or NULL; `map` has what the values of the old body
 * became. */
void tl_ring_boxes_copy(TlPipe *p, TlBuilder *b, const TlRingLoad *l, TlValue *view,
                        TlValue *barriers, TlValue *slot, const TlMap *map, TlValue *pred);

#endif
