/* Between convert_plan.c and convert_shared.c. */
#ifndef TL_LAYOUT_CONVERT_SHARED_H
#define TL_LAYOUT_CONVERT_SHARED_H

#include "layout/convert_plan.h"

/* Fills plan->shared.  plan->src, dst and dst_live are set; x is their conversion map.  False when
 * the budget does not hold one vector. */
bool tl_convert_build_shared(TlConvertPlan *plan, const uint64_t *x, unsigned elem_bytes,
                             uint32_t budget);

#endif
