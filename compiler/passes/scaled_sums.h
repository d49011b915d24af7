/* Sums that a loop keeps relative to a running statistic, as the online softmax does:
 *
 *    m'   = max(m, row maxima of s)                    the statistic
 *    p    = exp2(s - m')                               a weight
 *    l'   = l * exp2(m - m') + sum(p)                  scaled sums
 *    acc' = dot(p, v, acc * exp2(m - m'))
 *
 * Whatever m' is, each sum is 2^-m' times the sum, over all iterations so far, of terms that do not
 * depend on it: 2^s, and 2^s times v.  So iterations may be taken together, with one statistic and
 * one scaling for all of them; the numbers differ by rounding alone. */
#ifndef TL_PASSES_SCALED_SUMS_H
#define TL_PASSES_SCALED_SUMS_H

#include "ir/ir.h"

typedef enum TlLoopSum {
   TL_NO_SUM,
   TL_STATISTIC,
   TL_SCALED_SUM,
} TlLoopSum;

typedef struct TlScaledSums {
   const TlBlock *body;
   const TlValue *before, *after; /* the statistic, as carried and as yielded */
   TlOpcode exp;                  /* exp or exp2 */
   const TlValue *by;             /* what the exponents are multiplied by; NULL: 1 */
   TlLoopSum *sums;               /* of each number that the loop carries */
   const TlOp **folds; /* reductions that add weights up, and that the statistic reads; they and
                        * the products of scaled sums are all that sees elements together */
   unsigned num_folds;
} TlScaledSums;

/* The sums of a `for` in the TYPED state; false: it keeps none. */
bool tl_find_scaled_sums(TlArena *arena, const TlOp *loop, TlScaledSums *out);
/* Made of the statistic after the iteration, and of what the loop does not change. */
bool tl_is_of_statistic(const TlScaledSums *s, const TlValue *v);
/* The addition or maximum that it folds one tile by: the operation; TL_OP_COUNT: something else. */
TlOpcode tl_reduce_opcode(const TlOp *reduce);

#endif
