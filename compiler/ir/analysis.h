/* Compile-time facts about values: how elements of a tile relate to their neighbours, and integer
 * ranges.  Computed once for a function as it stands; editing the function makes the facts stale.
 *
 * Along each dimension d, with aligned groups of elements (0..g-1, g..2g-1, ...):
 *    contiguity[d]    in each group of this many elements every element is its predecessor plus 1
 *                     (pointers: plus one pointee)
 *    divisibility[d]  divides the first element of each such contiguity group (pointers: the
 *                     address in bytes); with contiguity 1 that is every element
 *    constancy[d]     the elements of each group of this many are equal
 * All are powers of two, at least 1; contiguity and constancy at most the dimension.  Entries past
 * the rank are 1; of a scalar entry 0 counts.  Example: p + row * 64 + column with p: ptr<fp16>
 * divisible by 16 and column in 0..63 has along columns contiguity 64 and divisibility 16.
 *
 * Assumption, as in Triton: signed arithmetic does not overflow (the CPU executor's checked mode
 * reports where it does) and nothing is divided by zero.  Unsigned arithmetic may wrap.
 *
 * A second one, for addresses and masks only: where consecutive signed integers are divided, and
 * nothing bounds them from below, they are not negative.  They are indices then (an offset modulo a
 * dimension, a block number from a quotient whose sign no range shows), and a negative one would
 * leave its buffer.  Facts that rest on it have `assumes_index` set: they may choose the width of
 * an access and what it fetches once, never merge computations.  The checked mode reports where it
 * does not hold. */
#ifndef TL_IR_ANALYSIS_H
#define TL_IR_ANALYSIS_H

#include "ir/ir.h"

enum { TL_MAX_DIVISIBILITY = 1 << 30 }; /* of zero */

typedef struct TlAxisInfo {
   uint32_t contiguity[TL_MAX_RANK];
   uint32_t divisibility[TL_MAX_RANK];
   uint32_t constancy[TL_MAX_RANK];
   bool has_range; /* integers only: every element lies in lo..hi */
   bool assumes_index;
   int64_t lo, hi;
} TlAxisInfo;

typedef struct TlAnalysis TlAnalysis;

/* Lives in the arena; the function is not kept. */
TlAnalysis *tl_analysis_new(TlArena *arena, const TlFunc *f);
/* Never NULL; of a value made after the analysis: nothing known. */
const TlAxisInfo *tl_axis_info(TlAnalysis *a, const TlValue *v);
/* True when all elements have one known integer value. */
bool tl_axis_known(const TlAxisInfo *info, int64_t *value);
/* True for a division or remainder whose dividend is taken as an index, so as not negative. */
bool tl_axis_takes_index(TlAnalysis *a, const TlOp *op);

#endif
