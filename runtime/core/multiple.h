/* By what an integer argument is divisible, as a fact of a variant. */
#ifndef TL_RT_MULTIPLE_H
#define TL_RT_MULTIPLE_H

#include <stdint.h>

/* 16, 8, 4 or 0: the largest that divides it.  Triton has 16 alone; 8 and 4 are what rows of
 * elements of two and four bytes need to begin at multiples of 16 bytes (decision 0034). */
static inline uint8_t
tl_multiple(uint64_t value)
{
   return value % 16 == 0 ? 16 : value % 8 == 0 ? 8 : value % 4 == 0 ? 4 : 0;
}

#endif
