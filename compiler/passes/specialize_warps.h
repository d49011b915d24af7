/* What roles leave to the warps that compute. */
#ifndef TL_PASSES_SPECIALIZE_WARPS_H
#define TL_PASSES_SPECIALIZE_WARPS_H

#include "passes/pass.h"

enum { TL_CONSUMER_WARPS = 8 }; /* two groups that multiply by wgmma */

/* The most 32-bit words of a thread that the results of one loop's products may take for its warps
 * to have roles, where the copies go as the context says: by boxes or by threads. */
unsigned tl_most_words_of_products(const TlPassCx *cx);

#endif
