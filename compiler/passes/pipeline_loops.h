/* Loads that run ahead of their iteration: what the passes about pipelined loops share. */
#ifndef TL_PASSES_PIPELINE_LOOPS_H
#define TL_PASSES_PIPELINE_LOOPS_H

#include "passes/pass.h"

/* Operations of a loop's body that compute values from the index, from carried values and from what
 * is defined outside, without effects: they can be computed for a later iteration.  A carried value
 * in the slice brings the computation of its next one with it. */
typedef struct TlSlice {
   TlArena *arena;
   TlOp *loop;
   TlMap members;            /* TlOp * or carried TlValue * -> itself */
   TL_VEC(TlOp *) ops;       /* in program order */
   TL_VEC(unsigned) carried; /* positions among the carried values */
   bool has_load;            /* why adding failed: a load is in the way, else some other effect */
} TlSlice;

void tl_slice_init(TlSlice *s, TlArena *arena, TlOp *loop);
/* Adds what v needs; false, and the slice is spoilt, when that has effects or reads memory. */
bool tl_slice_add(TlSlice *s, TlValue *v);
/* Copies the operations; map holds the index and the carried values of an iteration (keys: the
 * arguments of the old body) and receives the copies. */
void tl_slice_clone(const TlSlice *s, TlBuilder *b, TlMap *map);
/* What v became: itself when it is defined outside. */
TlValue *tl_slice_mapped(const TlMap *map, TlValue *v);

/* The loop with more carried values and an empty body, before b's cursor; the caller moves the body
 * and the uses of the results over. */
TlOp *tl_for_with_more(TlBuilder *b, const TlOp *old, TlValue *const *more, unsigned num_more);

#endif
