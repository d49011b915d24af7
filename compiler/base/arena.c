/* Bump arenas over blocks taken from TlMem.  Invariant: blocks form a stack, the newest first; a
 * mark names a block of the stack and how much of it was used. */
#include "base/arena.h"
#include "base/clock.h"

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ARENA_ALIGN = 16, ARENA_FIRST_BLOCK = 16 * 1024, ARENA_MAX_BLOCK = 1024 * 1024 };

typedef struct Block {
   struct Block *older;
   size_t size; /* usable bytes after the header */
   size_t used;
   size_t pad;
} Block;

struct TlArena {
   TlMem *mem;
   Block *top;
   size_t next_size;
};

static void *
libc_alloc(void *user, size_t bytes)
{
   (void)user;
   return malloc(bytes);
}

static void
libc_release(void *user, void *block)
{
   (void)user;
   free(block);
}

void
tl_mem_init(TlMem *mem)
{
   *mem = (TlMem){.alloc = libc_alloc, .release = libc_release, .fail_at = -1};
}

static _Noreturn void
out_of_memory(TlMem *mem)
{
   if (mem->oom)
      longjmp(*mem->oom, 1);
   abort(); /* a TlMem used without an oom target is a bug in tilec */
}

void
tl_mem_check(TlMem *mem)
{
   bool is_over =
      (mem->cancel && *mem->cancel) || (mem->deadline_ms > 0 && tl_now_ms() > mem->deadline_ms);
   if (!is_over)
      return;
   mem->is_late = true;
   out_of_memory(mem);
}

static void *
mem_take(TlMem *mem, size_t bytes)
{
   assert(mem->alloc);
   tl_mem_check(mem);
   if (mem->fail_at >= 0 && mem->fail_at-- == 0)
      out_of_memory(mem);
   if (mem->limit_bytes && bytes > mem->limit_bytes - mem->used_bytes)
      out_of_memory(mem);
   void *p = mem->alloc(mem->user, bytes);
   if (!p)
      out_of_memory(mem);
   mem->used_bytes += bytes;
   if (mem->used_bytes > mem->peak_bytes)
      mem->peak_bytes = mem->used_bytes;
   return p;
}

static void
mem_give(TlMem *mem, void *p, size_t bytes)
{
   assert(mem->used_bytes >= bytes);
   mem->used_bytes -= bytes;
   mem->release(mem->user, p);
}

TlArena *
tl_arena_new(TlMem *mem)
{
   assert(mem->alloc && mem->release);
   TlArena *a = mem_take(mem, sizeof *a);
   *a = (TlArena){.mem = mem, .next_size = ARENA_FIRST_BLOCK};
   return a;
}

static void
drop_top(TlArena *a)
{
   Block *b = a->top;
   a->top = b->older;
   mem_give(a->mem, b, sizeof(Block) + b->size);
}

void
tl_arena_free(TlArena *a)
{
   if (!a)
      return;
   while (a->top)
      drop_top(a);
   mem_give(a->mem, a, sizeof *a);
}

TlMem *
tl_arena_mem(TlArena *a)
{
   return a->mem;
}

void *
tl_arena_alloc(TlArena *a, size_t bytes)
{
   if (bytes > SIZE_MAX / 2)
      out_of_memory(a->mem);
   size_t need = (bytes + ARENA_ALIGN - 1) & ~(size_t)(ARENA_ALIGN - 1);
   if (!a->top || a->top->size - a->top->used < need) {
      size_t size = a->next_size > need ? a->next_size : need;
      Block *b = mem_take(a->mem, sizeof(Block) + size);
      *b = (Block){.older = a->top, .size = size};
      a->top = b;
      if (a->next_size < ARENA_MAX_BLOCK)
         a->next_size *= 2;
   }
   char *p = (char *)(a->top + 1) + a->top->used;
   a->top->used += need;
   return memset(p, 0, need);
}

void *
tl_arena_array(TlArena *a, size_t count, size_t size)
{
   size_t bytes;
   if (__builtin_mul_overflow(count, size, &bytes))
      out_of_memory(a->mem);
   return tl_arena_alloc(a, bytes);
}

char *
tl_arena_strndup(TlArena *a, const char *s, size_t len)
{
   char *p = tl_arena_alloc(a, len + 1);
   if (len)
      memcpy(p, s, len);
   return p;
}

char *
tl_arena_strdup(TlArena *a, const char *s)
{
   return tl_arena_strndup(a, s, strlen(s));
}

char *
tl_arena_vprintf(TlArena *a, const char *fmt, va_list ap)
{
   va_list again;
   va_copy(again, ap);
   int n = vsnprintf(NULL, 0, fmt, ap);
   assert(n >= 0 && "the format is one of tilec's own");
   char *p = tl_arena_alloc(a, (size_t)(n < 0 ? 0 : n) + 1);
   if (n > 0)
      vsnprintf(p, (size_t)n + 1, fmt, again);
   va_end(again);
   return p;
}

char *
tl_arena_printf(TlArena *a, const char *fmt, ...)
{
   va_list ap;
   va_start(ap, fmt);
   char *p = tl_arena_vprintf(a, fmt, ap);
   va_end(ap);
   return p;
}

TlArenaMark
tl_arena_mark(TlArena *a)
{
   return (TlArenaMark){a->top, a->top ? a->top->used : 0};
}

void
tl_arena_reset(TlArena *a, TlArenaMark mark)
{
   while (a->top != mark.block)
      drop_top(a);
   assert((!a->top || mark.used <= a->top->used) && "the mark was made in this arena, and earlier");
   if (a->top)
      a->top->used = mark.used;
}
