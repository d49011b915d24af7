/* How often a loop runs, as far as its bounds show. */
#ifndef TL_IR_TRIPS_H
#define TL_IR_TRIPS_H

#include "ir/analysis.h"

/* Does the `for` have one iteration at most, whatever its bounds are?  for i in range(n // 64 * 64,
 * n, 64) does: what a loop over whole blocks leaves.  Signed arithmetic is taken not to overflow,
 * as in analysis.h, which knows what divides the bounds. */
bool tl_runs_once_at_most(TlAnalysis *facts, const TlOp *loop);

/* How often a `for` with constant bounds and a constant step runs; UINT64_MAX: they are not. */
uint64_t tl_known_trips(const TlOp *loop);

#endif
