/* The clock of measurements: monotonic, from some point in the past. */
#ifndef TL_RT_CLOCK_H
#define TL_RT_CLOCK_H

#include <time.h>

static inline double
tl_rt_now_ms(void)
{
   struct timespec t;
   clock_gettime(CLOCK_MONOTONIC, &t);
   return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

#endif
