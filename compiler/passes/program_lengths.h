/* How the lengths of a kernel's loops go with the place of its program in the grid. */
#ifndef TL_PASSES_PROGRAM_LENGTHS_H
#define TL_PASSES_PROGRAM_LENGTHS_H

#include "ir/analysis.h"

/* Of a value, or of a length, along an axis; both: nobody knows. */
typedef enum TlWay {
   TL_STAYS = 0,
   TL_GROWS = 1,
   TL_SHRINKS = 2,
   TL_WAY_UNKNOWN = TL_GROWS | TL_SHRINKS
} TlWay;

/* Of all loops of f together, in loops and in roles, too; those that have few iterations whatever
 * their bounds do not count.  What bounds rest on must be in the function's text: of what is loaded
 * it is known that it stays where it is loaded from the same place. */
TlWay tl_way_of_lengths(TlArena *arena, TlAnalysis *facts, const TlFunc *f, int64_t axis);

#endif
