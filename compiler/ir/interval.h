/* Arithmetic on what integers can be: [lo, hi] of both operands gives that of the result, as if
 * numbers had no limit.  What lies outside the result's type is the caller's to judge. */
#ifndef TL_IR_INTERVAL_H
#define TL_IR_INTERVAL_H

#include "ir/ir.h"

__extension__ typedef __int128 TlWide;

typedef struct TlInterval {
   TlWide lo, hi; /* of operands: within 64 bits */
} TlInterval;

/* False where nothing is known: other operations, remainders by 0, shifts by what is not known. */
bool tl_interval_of(TlOpcode op, TlInterval x, TlInterval y, TlInterval *out);

#endif
