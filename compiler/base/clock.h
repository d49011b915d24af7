/* The clock of deadlines and measurements: monotonic, from some point in the past. */
#ifndef TL_BASE_CLOCK_H
#define TL_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t
tl_now_ns(void)
{
   struct timespec t;
   clock_gettime(CLOCK_MONOTONIC, &t);
   return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline double
tl_now_ms(void)
{
   return (double)tl_now_ns() * 1e-6;
}

#endif
