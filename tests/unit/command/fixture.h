/* An arena for a test, and the name of a file that is gone after it. */
#ifndef TL_TESTS_COMMAND_FIXTURE_H
#define TL_TESTS_COMMAND_FIXTURE_H

#include "base/arena.h"

#include <setjmp.h>
#include <stdio.h>
#include <unistd.h>

typedef struct Fixture {
   TlMem mem;
   jmp_buf oom;
   TlArena *arena;
   char path[64];
} Fixture;

static inline int
setup(void **state)
{
   static Fixture f;
   f = (Fixture){0};
   tl_mem_init(&f.mem);
   f.mem.oom = &f.oom;
   if (setjmp(f.oom))
      return -1;
   f.arena = tl_arena_new(&f.mem);
   snprintf(f.path, sizeof f.path, "/tmp/tilec-test-%ld.npy", (long)getpid());
   *state = &f;
   return 0;
}

static inline int
teardown(void **state)
{
   Fixture *f = *state;
   unlink(f->path);
   tl_arena_free(f->arena);
   return 0;
}

#endif
