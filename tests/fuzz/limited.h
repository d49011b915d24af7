/* One input with an arena of its own, whose memory is limited. */
#ifndef TESTS_FUZZ_LIMITED_H
#define TESTS_FUZZ_LIMITED_H

#include "base/arena.h"

#include <setjmp.h>
#include <stdint.h>

/* The input has a first byte. */
typedef void FuzzBody(TlArena *arena, const uint8_t *data, size_t size);

static inline void
fuzz_limited(size_t limit_bytes, FuzzBody *body, const uint8_t *data, size_t size)
{
   TlMem mem;
   jmp_buf oom;
   if (size < 1)
      return;
   tl_mem_init(&mem);
   mem.limit_bytes = limit_bytes;
   mem.oom = &oom;
   TlArena *volatile arena = NULL;
   if (!setjmp(oom)) {
      arena = tl_arena_new(&mem);
      body(arena, data, size);
   }
   tl_arena_free(arena);
}

#endif
