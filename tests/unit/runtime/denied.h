/* Allocations that fail on demand: for one file of a program that is linked with --wrap=malloc and
 * --wrap=calloc.  Those of the runtime and of the tests pass here, not the stand-in driver's. */
#ifndef TL_TEST_RUNTIME_DENIED_H
#define TL_TEST_RUNTIME_DENIED_H

#include <stdbool.h>
#include <stddef.h>

static int allocations_left = -1; /* negative: never fail */
void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);

static bool
denied(void)
{
   return allocations_left >= 0 && allocations_left-- == 0;
}

void *
__wrap_malloc(size_t bytes)
{
   return denied() ? NULL : __real_malloc(bytes);
}

void *
__wrap_calloc(size_t count, size_t bytes)
{
   return denied() ? NULL : __real_calloc(count, bytes);
}

#endif
