/* An arena with its accounting, for the tests of this folder. */
#ifndef TEST_BASE_FIXTURE_H
#define TEST_BASE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/arena.h"

#include <string.h>

typedef struct Fixture {
   TlMem mem;
   jmp_buf oom;
   TlArena *arena;
} Fixture;

static inline void
fixture_open(Fixture *f)
{
   tl_mem_init(&f->mem);
   f->mem.oom = &f->oom;
   f->arena = tl_arena_new(&f->mem);
}

static inline void
fixture_close(Fixture *f)
{
   tl_arena_free(f->arena);
   assert_int_equal(f->mem.used_bytes, 0);
}

#endif
