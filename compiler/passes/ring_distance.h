/* How far apart in time a ring's stage is read and written again. */
#ifndef TL_PASSES_RING_DISTANCE_H
#define TL_PASSES_RING_DISTANCE_H

#include "ir/ir.h"

enum { TL_NEAREST_COPY = 2 };

/* Does the write leave alone what the iteration before may still be reading? */
static inline bool
tl_is_far(const TlExtent *write, const TlExtent *read)
{
   if (write->begin >= read->end || read->begin >= write->end)
      return true;
   if (write->begin != read->begin || write->end != read->end || read->stages < TL_NEAREST_COPY ||
       write->stages != read->stages || write->phase < 0 || read->phase < 0)
      return false;
   int64_t ahead = (write->phase - read->phase + read->stages) % read->stages;
   return read->stages - ahead >= TL_NEAREST_COPY;
}

/* In the same iteration: does the write meet what is read?  Another stage of the ring is another
 * place. */
static inline bool
tl_meets_here(const TlExtent *w, const TlExtent *r)
{
   bool is_other_stage = w->begin == r->begin && w->end == r->end && w->stages == r->stages &&
                         w->phase >= 0 && r->phase >= 0 && w->phase != r->phase;
   return w->begin < r->end && r->begin < w->end && !is_other_stage;
}

#endif
