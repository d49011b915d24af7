/* How often a loop runs, as far as its bounds show. */
#ifndef TL_IR_TRIPS_H
#define TL_IR_TRIPS_H

#include "ir/analysis.h"

/* How often a `for` with constant bounds and a constant step runs; UINT64_MAX: they are not. */
uint64_t tl_known_trips(const TlOp *loop);
/* How often it runs at most, whatever its bounds are; UINT64_MAX: nobody knows.  What a loop over
 * whole blocks leaves has one iteration: for i in range(n // 64 * 64, n, 64).  Signed arithmetic is
 * taken not to overflow, as in analysis.h, which knows what divides the bounds. */
uint64_t tl_most_trips(TlAnalysis *facts, const TlOp *loop);

/* Does a `for` with a constant step certainly run a multiple of `by` times, a power of two?  What
 * divides its bounds says so. */
bool tl_trips_are_multiple(TlAnalysis *facts, const TlOp *loop, unsigned by);

#endif
